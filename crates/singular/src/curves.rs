//! Numbers of real configurations on the curves between regions, and at the points where curves meet: section 10 of
//! `docs/theory/configurations.md`.

use crate::conditions::LEVEL_BITS;
use crate::exact::ExactCases;
use crate::locus::{Choice, Conditioned};
use crate::pieces::Piece;
use crate::points::fits;
use crate::regions::{Regions, between_roots};
use daelight_algebra::real::{
    Characteristic, Enclosure, HermiteForm, ParametricZeros, RealPoint, Zeros, zeros, zeros_over,
    zeros_where_possible,
};
use daelight_algebra::{
    Budget, Certificate, FactorBudget, IBig, Ideal, OutOfBudget, Polynomial, RBig, factor, gcd,
    resultant,
};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The number of real configurations on arcs of curves or at single points.
#[derive(Clone, PartialEq, Debug)]
pub struct CurveCount {
    /// 1 on arcs, 0 at points.
    pub dimension: usize,
    /// The number of real configurations.
    pub count: usize,
    /// Values of the parameters there, rounded.
    pub sample: Vec<f64>,
    /// The curves that the sample is on.
    pub curves: Vec<Polynomial>,
    /// Number of arcs, which special points may divide further, or of points.
    pub n_cells: usize,
}

/// A piece, and where in the parameters it has configurations.
struct Member {
    piece: Piece,
    ideal: Ideal,
    /// All of them vanish where there are configurations.
    conditions: Vec<Polynomial>,
    /// What counts them: in general, or on each curve of the conditions.
    parts: Vec<Part>,
}

/// A piece on a curve.
struct Part {
    /// The irreducible polynomial of the curve; `None` for a piece that has configurations for general parameters.
    curve: Option<Polynomial>,
    form: HermiteForm,
    characteristic: Characteristic,
}

impl Part {
    /// Where the number of configurations may change along a curve.
    fn changes_on(&self, curve: &Polynomial, budget: &Budget) -> Result<Vec<Polynomial>, String> {
        let rank = self.characteristic.rank_on(curve);
        if rank == 0 {
            return Ok(self.form.exceptional.clone());
        }
        self.form.changes_on(curve, rank, budget).map_err(told)
    }
}

/// Points of the parameters: the real zeros of an ideal.
struct Places {
    ideal: Ideal,
    points: Vec<RealPoint>,
}

/// The numbers found, by dimension and number.
type Found = BTreeMap<(usize, usize), CurveCount>;

/// Why a number is not known.
fn told(limit: OutOfBudget) -> String {
    limit.to_string()
}

impl Conditioned<'_> {
    /// Counts on the curves of regions; what is not decided is told there.
    pub(crate) fn count_on_curves(
        &self,
        cases: &ExactCases,
        regions: &mut Regions,
        special: &[(usize, Choice)],
        budget: &Budget,
    ) {
        let mut counting = Counting {
            parameters: regions.parameters.clone(),
            lengths: regions.lengths.clone(),
            members: Vec::new(),
            common: BTreeMap::new(),
            is_proved: true,
            budget,
        };
        let mut found = Found::new();
        let done = self
            .members(cases, regions, special, &mut counting)
            .and_then(|()| counting.run(regions, &mut found));
        if let Err(why) = done {
            regions.undecided_on_curves.push(why);
        }
        regions.is_proved &= counting.is_proved;
        regions.on_curves = found.into_values().rev().collect();
    }

    fn members(
        &self,
        cases: &ExactCases,
        regions: &Regions,
        special: &[(usize, Choice)],
        counting: &mut Counting<'_>,
    ) -> Result<(), String> {
        let general = regions.pieces.iter().map(|p| (p.case, &p.choice));
        let special = special.iter().map(|(case, choice)| (*case, choice));
        for (case, choice) in general.chain(special) {
            let piece = self.piece(cases, case, choice);
            let piece = piece.map_err(|why| why.reason().to_string())?;
            let member = counting.member(piece);
            let member = member.map_err(|why| format!("case {}: {why}", case + 1))?;
            counting.members.extend(member.map(Arc::new));
        }
        Ok(())
    }
}

struct Counting<'a> {
    parameters: Vec<usize>,
    lengths: Vec<usize>,
    members: Vec<Arc<Member>>,
    /// What several of them have in common, as far as it was asked for.
    common: BTreeMap<Vec<usize>, Option<Arc<Member>>>,
    is_proved: bool,
    budget: &'a Budget,
}

impl Counting<'_> {
    /// A piece with its parts; `None` if it has no points.
    fn member(&mut self, piece: Piece) -> Result<Option<Member>, String> {
        let ideal = piece.ideal(self.budget).map_err(told)?;
        let general = zeros_over(&ideal, &self.parameters, &piece.positive, self.budget);
        let mut parts = Vec::new();
        let conditions = match general.map_err(told)? {
            ParametricZeros::Only(conditions) => conditions,
            general => {
                parts.push(self.part(None, general)?);
                Vec::new()
            }
        };
        if conditions.iter().any(Polynomial::is_constant) {
            return Ok(None);
        }
        let shared = greatest_divisor(&conditions);
        for curve in self.irreducible(&shared) {
            if let Some((_, on_curve)) = self.zeros(&ideal.with(&curve), &piece)? {
                parts.push(self.part(Some(curve), on_curve)?);
            }
        }
        Ok(Some(Member {
            piece,
            ideal,
            conditions,
            parts,
        }))
    }

    /// What several pieces have in common; `None` if that is nothing anywhere.
    fn common(&mut self, numbers: &[usize]) -> Result<Option<Arc<Member>>, String> {
        if let Some(known) = self.common.get(numbers) {
            return Ok(known.clone());
        }
        let mut piece = self.members[numbers[0]].piece.clone();
        for &number in &numbers[1..] {
            let other = &self.members[number].piece;
            piece.generators.extend(other.generators.iter().cloned());
            piece.positive.extend(&other.positive);
            piece.nonzero.extend(other.nonzero.iter().cloned());
            piece.variables.extend(&other.variables);
        }
        for list in [&mut piece.positive, &mut piece.variables] {
            list.sort_unstable();
            list.dedup();
        }
        let member = self.member(piece)?.map(Arc::new);
        self.common.insert(numbers.to_vec(), member.clone());
        Ok(member)
    }

    fn zeros(
        &mut self,
        ideal: &Ideal,
        piece: &Piece,
    ) -> Result<Option<(Vec<Polynomial>, ParametricZeros)>, String> {
        zeros_where_possible(ideal, &self.parameters, &piece.positive, self.budget).map_err(told)
    }

    fn part(&mut self, curve: Option<Polynomial>, zeros: ParametricZeros) -> Result<Part, String> {
        let ParametricZeros::Finite(form) = zeros else {
            return Err("a piece has infinitely many configurations on a curve".to_string());
        };
        self.is_proved &= form.certificate == Certificate::Exact;
        Ok(Part {
            curve,
            characteristic: form.characteristic(self.budget).map_err(told)?,
            form,
        })
    }

    /// The irreducible factors of a polynomial that are no lengths.
    fn irreducible(&self, p: &Polynomial) -> Vec<Polynomial> {
        if p.is_zero() || p.is_constant() {
            return Vec::new();
        }
        let is_length = |f: &Polynomial| {
            let mut lengths = self.lengths.iter();
            lengths.any(|&length| *f == Polynomial::variable(length))
        };
        let factors = factor(p, &FactorBudget::until(self.budget.deadline)).factors;
        let factors = factors.into_iter().map(|factor| factor.polynomial);
        factors.filter(|f| !is_length(f)).collect()
    }

    fn run(&mut self, regions: &Regions, found: &mut Found) -> Result<(), String> {
        let mut curves: Vec<Polynomial> = Vec::new();
        let mut add = |p: &Polynomial| {
            if !curves.contains(p) {
                curves.push(p.clone());
            }
        };
        for piece in &regions.pieces {
            piece.boundary.iter().for_each(&mut add);
            for p in &piece.form.exceptional {
                self.irreducible(p).iter().for_each(&mut add);
            }
        }
        for part in &regions.common {
            part.boundary.iter().for_each(&mut add);
        }
        let parts = self.members.iter().flat_map(|member| &member.parts);
        parts
            .filter_map(|part| part.curve.as_ref())
            .for_each(&mut add);
        for [first, second] in self.general_pairs() {
            if let Some(shared) = self.common(&[first, second])? {
                let divisor = greatest_divisor(&shared.conditions);
                self.irreducible(&divisor).iter().for_each(&mut add);
            }
        }
        // Points: where two curves meet, or the number may change along one of them.
        let mut meetings: Vec<Vec<Polynomial>> = Vec::new();
        if self.parameters.len() == 1 {
            meetings.extend(curves.iter().map(|curve| vec![curve.clone()]));
        } else {
            for (at, curve) in curves.iter().enumerate() {
                let changes = self.changes_on(curve)?;
                self.count_arcs(curve, &changes, &curves, found)?;
                let others = curves[at + 1..].iter().chain(&changes);
                meetings.extend(others.map(|other| vec![curve.clone(), other.clone()]));
                let slope = curve.derivative(self.parameters[1]);
                meetings.push(vec![curve.clone(), slope]);
            }
        }
        meetings.extend(self.members.iter().map(|member| member.conditions.clone()));
        let mut seen: Vec<Vec<f64>> = Vec::new();
        for generators in meetings {
            let mut places = match self.places(&generators)? {
                Some(places) => places,
                None => continue,
            };
            for at in 0..places.points.len() {
                let sample = self.sample(&mut places.points[at])?;
                if seen.contains(&sample) {
                    continue;
                }
                self.count_at(&mut places, at, 0, &curves, found)?;
                seen.push(sample);
            }
        }
        Ok(())
    }

    /// Polynomials at whose zeros the number of configurations may change along a curve.
    fn changes_on(&mut self, curve: &Polynomial) -> Result<Vec<Polynomial>, String> {
        let mut changes: Vec<Polynomial> = Vec::new();
        let mut on_curve: Vec<usize> = Vec::new();
        for (at, member) in self.members.iter().enumerate() {
            for part in &member.parts {
                if part.curve.as_ref().is_some_and(|own| own != curve) {
                    continue;
                }
                on_curve.push(at);
                changes.extend(part.changes_on(curve, self.budget)?);
            }
        }
        // Points of two pieces stay different, or one, where the number of common ones does not change.
        for (place, &second) in on_curve.iter().enumerate() {
            for &first in &on_curve[..place] {
                let Some(shared) = self.common(&[first, second])? else {
                    continue;
                };
                let vanishes = |p: &Polynomial| p.divide_exactly(curve).is_some();
                if let Some(condition) = shared.conditions.iter().find(|p| !vanishes(p)) {
                    changes.push(condition.clone());
                    continue;
                }
                let parts = shared.parts.iter();
                for part in parts.filter(|part| part.curve.as_ref().is_none_or(|c| c == curve)) {
                    changes.extend(part.changes_on(curve, self.budget)?);
                }
            }
        }
        let mut irreducible: Vec<Polynomial> = Vec::new();
        for change in &changes {
            for factor in self.irreducible(change) {
                if factor != *curve && !irreducible.contains(&factor) {
                    irreducible.push(factor);
                }
            }
        }
        Ok(irreducible)
    }

    /// All pairs of pieces that have configurations for general parameters.
    fn general_pairs(&self) -> Vec<[usize; 2]> {
        let is_general = |at: &usize| self.members[*at].conditions.is_empty();
        let general: Vec<usize> = (0..self.members.len()).filter(is_general).collect();
        let pairs = |(place, &at): (usize, &usize)| {
            let earlier = general[..place].iter();
            earlier.map(|&before| [before, at]).collect::<Vec<_>>()
        };
        general.iter().enumerate().flat_map(pairs).collect()
    }

    /// Counts at a point of every arc of a curve.
    fn count_arcs(
        &mut self,
        curve: &Polynomial,
        changes: &[Polynomial],
        curves: &[Polynomial],
        found: &mut Found,
    ) -> Result<(), String> {
        let [x, y] = [self.parameters[0], self.parameters[1]];
        // Over the first parameter, unless the curve is a line on which it is constant.
        let (x, y) = if curve.degree(y) == 0 { (y, x) } else { (x, y) };
        let mut special = vec![curve.leading_coefficient(y), Polynomial::variable(x)];
        if curve.degree(y) > 1 {
            special.push(resultant(curve, &curve.derivative(y), y));
        }
        special.extend(changes.iter().map(|p| resultant(curve, p, y)));
        for value in between_roots(&special, x, &[], self.budget).map_err(told)? {
            if self.lengths.contains(&x) && value <= RBig::ZERO {
                continue;
            }
            let line = line(x, &value);
            let Some(mut places) = self.places(&[line, curve.clone()])? else {
                continue;
            };
            for at in 0..places.points.len() {
                self.count_at(&mut places, at, 1, curves, found)?;
            }
        }
        Ok(())
    }

    /// The real zeros of polynomials in the parameters at which all lengths are positive; `None` if these are infinitely
    /// many.
    fn places(&self, generators: &[Polynomial]) -> Result<Option<Places>, String> {
        let ideal = Ideal::new(generators.to_vec());
        if ideal.generators().is_empty() {
            return Ok(None);
        }
        let order = daelight_algebra::Order::degrevlex(self.parameters.iter().copied());
        let basis = ideal.basis_in(&order, self.budget).map_err(told)?;
        let mut points = Vec::new();
        match zeros(&basis, self.budget).map_err(told)? {
            Zeros::None => {}
            Zeros::Infinite { .. } => return Ok(None),
            Zeros::Finite(representation) => {
                for mut point in representation.real_points(self.budget).map_err(told)? {
                    let mut is_possible = true;
                    for &length in &self.lengths {
                        let length = Polynomial::variable(length);
                        let sign = point.sign(&length, self.budget).map_err(told)?;
                        is_possible &= sign == Ordering::Greater;
                    }
                    if is_possible {
                        points.push(point);
                    }
                }
            }
        }
        Ok(Some(Places { ideal, points }))
    }

    /// The parameters of a point as numbers.
    fn sample(&self, point: &mut RealPoint) -> Result<Vec<f64>, String> {
        let known = point.variables().to_vec();
        let values = point.coordinates(LEVEL_BITS, self.budget).map_err(told)?;
        let value = |parameter: &usize| {
            let place = known.iter().position(|v| v == parameter);
            place.map_or(f64::NAN, |place| values[place].middle())
        };
        Ok(self.parameters.iter().map(value).collect())
    }

    /// Counts at a place and notes the number.
    fn count_at(
        &mut self,
        places: &mut Places,
        at: usize,
        dimension: usize,
        curves: &[Polynomial],
        found: &mut Found,
    ) -> Result<(), String> {
        let count = self.union_count(places, at)?;
        let sample = self.sample(&mut places.points[at])?;
        if let Some(known) = found.get_mut(&(dimension, count)) {
            known.n_cells += 1;
            return Ok(());
        }
        let mut through = Vec::new();
        for curve in curves {
            if self.all_vanish(std::slice::from_ref(curve), &mut places.points[at])? {
                through.push(curve.clone());
            }
        }
        let entry = CurveCount {
            dimension,
            count,
            sample,
            curves: through,
            n_cells: 1,
        };
        found.insert((dimension, count), entry);
        Ok(())
    }

    /// The different configurations of all pieces at a place, by inclusion and exclusion.
    fn union_count(&mut self, places: &mut Places, at: usize) -> Result<usize, String> {
        let (mut sum, mut sign) = (0_i64, 1);
        let mut sets: Vec<Vec<usize>> = (0..self.members.len()).map(|n| vec![n]).collect();
        while !sets.is_empty() {
            let mut present: Vec<Vec<usize>> = Vec::new();
            for set in sets {
                let member = match set[..] {
                    [number] => Some(Arc::clone(&self.members[number])),
                    _ => self.common(&set)?,
                };
                let Some(member) = member else { continue };
                let count = self.count_of(&member, places, at)?;
                sum += sign * count as i64;
                if count > 0 {
                    present.push(set);
                }
            }
            // A set of pieces can have points in common only if it has without its last piece, or the one before.
            sets = Vec::new();
            for (place, set) in present.iter().enumerate() {
                let prefix = &set[..set.len() - 1];
                let later = present[place + 1..].iter();
                for other in later.filter(|other| other.starts_with(prefix)) {
                    let mut next = set.clone();
                    next.extend(other.last());
                    sets.push(next);
                }
            }
            sign = -sign;
        }
        usize::try_from(sum).map_err(|_| "counts contradict each other".to_string())
    }

    fn all_vanish(&self, list: &[Polynomial], point: &mut RealPoint) -> Result<bool, String> {
        for p in list {
            if point.sign(p, self.budget).map_err(told)? != Ordering::Equal {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The configurations of one piece at a place.
    fn count_of(&self, member: &Member, places: &mut Places, at: usize) -> Result<usize, String> {
        let point = &mut places.points[at];
        if !self.all_vanish(&member.conditions, point)? {
            return Ok(0);
        }
        for part in &member.parts {
            if let Some(curve) = &part.curve
                && !self.all_vanish(std::slice::from_ref(curve), point)?
            {
                continue;
            }
            let mut is_general = true;
            for p in &part.form.exceptional {
                is_general &= point.sign(p, self.budget).map_err(told)? != Ordering::Equal;
            }
            if is_general {
                let count = part.characteristic.count(|p| point.sign(p, self.budget));
                return count.map_err(told);
            }
        }
        self.solved_count(member, places, at)
    }

    /// The configurations of one piece at a place, by solving it there.
    fn solved_count(
        &self,
        member: &Member,
        places: &mut Places,
        at: usize,
    ) -> Result<usize, String> {
        let mut here: Vec<Vec<Enclosure>> = Vec::new();
        for point in &mut places.points {
            here.push(point.coordinates(LEVEL_BITS, self.budget).map_err(told)?);
        }
        let known = places.points[at].variables().to_vec();
        let meets = |a: &[Enclosure], b: &[Enclosure]| a.iter().zip(b).all(|(a, b)| a.meets(b));
        let ideal = member.ideal.sum(&places.ideal);
        let basis = ideal.basis(self.budget).map_err(told)?;
        let representation = match zeros(&basis, self.budget).map_err(told)? {
            Zeros::None => return Ok(0),
            Zeros::Infinite { .. } => {
                return Err("there are points with infinitely many configurations".to_string());
            }
            Zeros::Finite(representation) => representation,
        };
        let mut count = 0;
        for mut point in representation.real_points(self.budget).map_err(told)? {
            let values = point.coordinates(LEVEL_BITS, self.budget).map_err(told)?;
            let own: Vec<Enclosure> = (known.iter())
                .filter_map(|v| point.variables().iter().position(|own| own == v))
                .map(|place| values[place].clone())
                .collect();
            if !meets(&own, &here[at]) {
                continue;
            }
            let mut others = here.iter().enumerate().filter(|(other, _)| *other != at);
            if others.any(|(_, other)| meets(&own, other)) {
                return Err("points are too close to be told apart".to_string());
            }
            count += usize::from(fits(&member.piece, &mut point, self.budget).map_err(told)?);
        }
        Ok(count)
    }
}

/// The greatest common divisor of polynomials.
fn greatest_divisor(list: &[Polynomial]) -> Polynomial {
    list.iter().fold(Polynomial::zero(), |a, b| gcd(&a, b))
}

/// The line on which a variable has a rational value.
fn line(variable: usize, value: &RBig) -> Polynomial {
    let denominator = Polynomial::constant(IBig::from(value.denominator().clone()));
    let numerator = Polynomial::constant(value.numerator().clone());
    &(&denominator * &Polynomial::variable(variable)) - &numerator
}
