//! For which values of one or two parameters there are real singular configurations, and how many: section 9 of
//! `docs/theory/configurations.md`.

use crate::assembly::has_solution;
use crate::conditions::{Conditions, quantities};
use crate::curves::CurveCount;
use crate::exact::{ExactCases, is_symbol};
use crate::locus::{Choice, Conditioned, share};
use crate::mechanism::Mechanism;
use crate::number::PARTS_OF_TIME;
use daelight_algebra::real::{HermiteForm, ParametricZeros, Root, Univariate, zeros_over};
use daelight_algebra::{
    Budget, Certificate, FactorBudget, IBig, Ideal, OutOfBudget, Polynomial, RBig, factor, integer,
    resultant,
};
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// Most parameters whose values are divided into regions.
const MOST_PARAMETERS: usize = 2;

/// Values of the parameters in a cell, and its number of configurations.
type Cell = (Vec<RBig>, usize);

/// Most sets of pieces that have configurations in common.
const MOST_COMMON: usize = 64;

/// A piece with finitely many configurations for general values of the parameters.
#[derive(Clone, Debug)]
pub struct CountedPiece {
    /// The case, by number.
    pub case: usize,
    /// The senses of its aligned bodies.
    pub choice: Choice,
    /// The senses as equations.
    pub senses: Vec<String>,
    /// What counts its real configurations.
    pub form: HermiteForm,
    /// Irreducible polynomials: the number changes only where one vanishes, or an exceptional one of the form.
    pub boundary: Vec<Polynomial>,
    /// The numbers by the signs of the boundary polynomials, for positive lengths.
    pub regions: Vec<Region>,
    /// The numbers by inequalities, for positive lengths; `None` if they were not found.
    pub conditions: Option<Conditions>,
}

/// The configurations that belong to several pieces.
#[derive(Clone, Debug)]
pub struct CommonPart {
    /// The pieces, by number.
    pub pieces: Vec<usize>,
    /// What counts the real ones.
    pub form: HermiteForm,
    /// Where their number changes.
    pub boundary: Vec<Polynomial>,
}

/// The equations of a piece, and its square roots.
#[derive(Clone)]
struct PieceIdeal {
    ideal: Ideal,
    positive: Vec<usize>,
}

/// Open cells of the parameters with the same number of real configurations.
#[derive(Clone, PartialEq, Debug)]
pub struct Region {
    /// The signs of the boundary polynomials; empty for regions of the whole mechanism.
    pub signs: Vec<Ordering>,
    /// Values of the parameters in one of the cells.
    pub sample: Vec<RBig>,
    /// The number of real configurations.
    pub count: usize,
    /// The number of cells.
    pub n_cells: usize,
    /// Whether the constraints have a real solution in them, for regions of the whole mechanism; `None` if that was not
    /// decided.
    pub has_solutions: Option<bool>,
}

impl Region {
    /// The values of the sample, rounded.
    pub fn sample_values(&self) -> Vec<f64> {
        self.sample.iter().map(integer::rational_to_f64).collect()
    }
}

/// Real configurations over the parameters.
#[derive(Clone, Debug)]
pub struct Regions {
    /// The parameters, as variables of the ring.
    pub parameters: Vec<usize>,
    /// The pieces that have configurations for general values.
    pub pieces: Vec<CountedPiece>,
    /// Pieces that have configurations only where all of these vanish, each with its case.
    pub only: Vec<(usize, Vec<Polynomial>)>,
    /// What several pieces have in common for general values.
    pub common: Vec<CommonPart>,
    /// Polynomials at whose zeros pieces may have further configurations in common.
    pub overlaps: Vec<Polynomial>,
    /// The numbers of the whole mechanism, for positive lengths; empty if something is not decided.
    pub total: Vec<Region>,
    /// The same by inequalities; `None` if they were not found.
    pub conditions: Option<Conditions>,
    /// Why cases are not decided.
    pub undecided: Vec<(usize, String)>,
    /// The numbers on the curves between the regions and at their common points, where they were counted.
    pub on_curves: Vec<CurveCount>,
    /// Why numbers on curves are not decided.
    pub undecided_on_curves: Vec<String>,
    /// Whether all bases are proved.
    pub is_proved: bool,
    /// Parameters that are lengths.
    pub(crate) lengths: Vec<usize>,
}

impl Conditioned<'_> {
    /// The regions of the parameters that are kept, if these are one or two and nothing else is a symbol; with the numbers
    /// on the curves between them if these are asked for.
    pub fn regions(
        &self,
        cases: &ExactCases,
        with_curves: bool,
        budget: &Budget,
    ) -> Option<Regions> {
        let (mut regions, special) = self.undivided_with_special(cases, budget)?;
        if let Err(limit) = regions.divide(self.mechanism, budget) {
            regions.undecided.push((0, limit.to_string()));
        }
        regions.undecided.dedup();
        if with_curves && regions.undecided.is_empty() {
            self.count_on_curves(cases, &mut regions, &special, budget);
        }
        Some(regions)
    }

    /// The same without the list of cells: enough to count at given values.
    pub fn undivided(&self, cases: &ExactCases, budget: &Budget) -> Option<Regions> {
        self.undivided_with_special(cases, budget)
            .map(|(regions, _)| regions)
    }

    /// The regions before they are divided, and the choices that have configurations only where conditions hold.
    fn undivided_with_special(
        &self,
        cases: &ExactCases,
        budget: &Budget,
    ) -> Option<(Regions, Vec<(usize, Choice)>)> {
        let parameters = self.mechanism.constraints.parameters.clone();
        let mut variables: Vec<usize> = (self.mechanism.polynomials().iter())
            .flat_map(Polynomial::variables)
            .filter(|&v| is_symbol(&self.ring, v))
            .collect();
        variables.sort_unstable();
        variables.dedup();
        let are_parameters = variables.iter().all(|v| parameters.contains(v));
        if !are_parameters || variables.is_empty() || variables.len() > MOST_PARAMETERS {
            return None;
        }
        let mut regions = Regions {
            lengths: (self.lengths.iter().copied())
                .filter(|v| variables.contains(v))
                .collect(),
            parameters: variables,
            pieces: Vec::new(),
            only: Vec::new(),
            common: Vec::new(),
            overlaps: Vec::new(),
            total: Vec::new(),
            conditions: None,
            undecided: Vec::new(),
            on_curves: Vec::new(),
            undecided_on_curves: Vec::new(),
            is_proved: cases.is_proved,
        };
        let mut ideals = Vec::new();
        let mut special = Vec::new();
        for (number, _) in cases.kept() {
            match self.choices(number) {
                Err(why) => regions.undecided.push((number, why.reason().to_string())),
                Ok(choices) => {
                    for choice in choices {
                        let added = self.add_piece(
                            cases,
                            number,
                            choice,
                            &mut regions,
                            &mut ideals,
                            budget,
                        );
                        match added {
                            Ok(Some(choice)) => special.push((number, choice)),
                            Ok(None) => {}
                            Err(why) => regions.undecided.push((number, why)),
                        }
                    }
                }
            }
        }
        if let Err(limit) = regions.find_overlaps(&ideals, budget) {
            regions.undecided.push((0, limit.to_string()));
        }
        Some((regions, special))
    }

    /// Adds a choice of senses; the choice itself, if it has configurations only where conditions hold.
    fn add_piece(
        &self,
        cases: &ExactCases,
        case: usize,
        choice: Choice,
        regions: &mut Regions,
        ideals: &mut Vec<PieceIdeal>,
        budget: &Budget,
    ) -> Result<Option<Choice>, String> {
        if self.is_excluded(case, &choice) == Some(true) {
            return Ok(None);
        }
        // Conditions that are known already need no basis.
        if let Ok(conditions) = &self.conditions[case] {
            let lists: Vec<Vec<Polynomial>> = (conditions.lists.iter())
                .map(|list| {
                    let values = list.iter().map(|p| self.at_choice(p, case, &choice));
                    values.filter(|p| !p.is_zero()).collect()
                })
                .collect();
            if lists.iter().all(|list: &Vec<Polynomial>| !list.is_empty()) {
                let possible = |list: &Vec<Polynomial>| list.iter().all(|p| !p.is_constant());
                for list in lists.into_iter().filter(possible) {
                    regions.add_only(case, list);
                }
                for p in &conditions.exceptional {
                    let p = self.at_choice(p, case, &choice);
                    if !p.is_zero() && !p.is_constant() {
                        regions.add_only(case, vec![p]);
                    }
                }
                return Ok(Some(choice));
            }
        }
        let piece = self
            .piece(cases, case, &choice)
            .map_err(|why| why.reason().to_string())?;
        let told = |limit: OutOfBudget| limit.to_string();
        let ideal = piece.ideal(budget).map_err(told)?;
        let parameters = &regions.parameters;
        match zeros_over(&ideal, parameters, &piece.positive, budget).map_err(told)? {
            ParametricZeros::Only(list) => {
                regions.add_only(case, list);
                return Ok(Some(choice));
            }
            ParametricZeros::Infinite => {
                return Err("a piece has infinitely many configurations".to_string());
            }
            ParametricZeros::Finite(form) => {
                regions.is_proved &= form.certificate == Certificate::Exact;
                let boundary = form.boundary(budget).map_err(told)?;
                regions.pieces.push(CountedPiece {
                    case,
                    choice,
                    senses: Vec::new(),
                    form,
                    boundary,
                    regions: Vec::new(),
                    conditions: None,
                });
                ideals.push(PieceIdeal {
                    ideal,
                    positive: piece.positive,
                });
            }
        }
        Ok(None)
    }
}

impl Regions {
    fn add_only(&mut self, case: usize, conditions: Vec<Polynomial>) {
        let entry = (case, conditions);
        if !self.only.contains(&entry) {
            self.only.push(entry);
        }
    }

    /// What pieces have in common: for general values, or only at zeros of polynomials in the parameters.
    fn find_overlaps(&mut self, ideals: &[PieceIdeal], budget: &Budget) -> Result<(), OutOfBudget> {
        let mut open: Vec<(Vec<usize>, PieceIdeal)> = (ideals.iter().cloned().enumerate())
            .map(|(at, ideal)| (vec![at], ideal))
            .collect();
        while let Some((members, ideal)) = open.pop() {
            let next = members.last().map_or(0, |last| last + 1);
            for (at, other) in ideals.iter().enumerate().skip(next) {
                let mut positive = [ideal.positive.as_slice(), &other.positive].concat();
                positive.sort_unstable();
                positive.dedup();
                let sum = PieceIdeal {
                    ideal: ideal.ideal.sum(&other.ideal),
                    positive,
                };
                let members = [members.as_slice(), &[at]].concat();
                match zeros_over(&sum.ideal, &self.parameters, &sum.positive, budget)? {
                    ParametricZeros::Only(list) => {
                        // One condition that does not hold excludes a common configuration.
                        let simplest = list.into_iter().min_by_key(Polynomial::n_terms);
                        let new = simplest.filter(|p| !p.is_constant());
                        let new = new.filter(|p| !self.overlaps.contains(p));
                        self.overlaps.extend(new);
                    }
                    ParametricZeros::Finite(form) => {
                        if self.common.len() >= MOST_COMMON {
                            return Err(OutOfBudget::Steps);
                        }
                        self.is_proved &= form.certificate == Certificate::Exact;
                        let boundary = form.boundary(budget)?;
                        self.common.push(CommonPart {
                            pieces: members.clone(),
                            form,
                            boundary,
                        });
                        open.push((members, sum));
                    }
                    // Both pieces have finitely many configurations.
                    ParametricZeros::Infinite => return Err(OutOfBudget::Steps),
                }
            }
        }
        Ok(())
    }

    /// The number of real singular configurations at values of the parameters. `None` where it is not a matter of general
    /// values: at zeros of exceptional polynomials, of conditions of further pieces and of overlaps, for lengths that are
    /// not positive, or when a case is not decided.
    pub fn count_at(&self, values: &[RBig]) -> Option<usize> {
        if values.len() != self.parameters.len() || !self.undecided.is_empty() {
            return None;
        }
        self.sum_at(values)
    }

    /// The number of real configurations of a piece alone; `None` where an exceptional polynomial vanishes.
    pub fn count_of_piece_at(&self, piece: usize, values: &[RBig]) -> Option<usize> {
        let form = &self.pieces.get(piece)?.form;
        form.count_at(|variable| value_of(&self.parameters, values, variable))
    }

    /// The parameters that are lengths, which are positive.
    pub fn lengths(&self) -> &[usize] {
        &self.lengths
    }

    fn sum_at(&self, values: &[RBig]) -> Option<usize> {
        let value = |variable: usize| value_of(&self.parameters, values, variable);
        let vanishes = |p: &Polynomial| p.evaluate(value) == RBig::ZERO;
        let is_special = self.overlaps.iter().any(vanishes)
            || self.only.iter().any(|(_, list)| list.iter().all(vanishes))
            || self.lengths.iter().any(|&v| value(v) <= RBig::ZERO);
        if is_special {
            return None;
        }
        // Inclusion and exclusion.
        let mut sum = 0;
        for piece in &self.pieces {
            sum += piece.form.count_at(value)?;
        }
        let (odd, even): (Vec<&CommonPart>, Vec<&CommonPart>) =
            (self.common.iter()).partition(|part| part.pieces.len() % 2 == 1);
        for part in odd {
            sum += part.form.count_at(value)?;
        }
        for part in even {
            sum = sum.checked_sub(part.form.count_at(value)?)?;
        }
        Some(sum)
    }

    /// Divides the parameters into cells, for each piece and for all.
    fn divide(&mut self, mechanism: &Mechanism, budget: &Budget) -> Result<(), OutOfBudget> {
        let mut all: Vec<Polynomial> = Vec::new();
        let mut pieces = std::mem::take(&mut self.pieces);
        for piece in &mut pieces {
            let cuts = [piece.boundary.as_slice(), &piece.form.exceptional].concat();
            let value = |sample: &[RBig], variable| value_of(&self.parameters, sample, variable);
            let count = |sample: &[RBig]| piece.form.count_at(|v| value(sample, v));
            let cells = self.cells(&cuts, &count, budget)?;
            let mut found = BTreeMap::new();
            for (sample, count) in &cells {
                let sign = |p: &Polynomial| p.evaluate(|v| value(sample, v)).cmp(&RBig::ZERO);
                let signs: Vec<Ordering> = piece.boundary.iter().map(sign).collect();
                add_cell(&mut found, signs, sample.clone(), *count, None);
            }
            piece.conditions = self.conditions(&cuts, cells, &count, budget)?;
            piece.regions = found.into_values().collect();
            let new: Vec<Polynomial> = cuts.into_iter().filter(|p| !all.contains(p)).collect();
            all.extend(new);
        }
        self.pieces = pieces;
        for part in &self.common {
            let cuts = part.boundary.iter().chain(&part.form.exceptional);
            let new: Vec<Polynomial> = cuts.filter(|p| !all.contains(p)).cloned().collect();
            all.extend(new);
        }
        if !self.undecided.is_empty() {
            return Ok(());
        }
        let count = |sample: &[RBig]| self.sum_at(sample);
        let cells = self.cells(&all, &count, budget)?;
        // Between all values with singular configurations solutions neither appear nor vanish. One parameter is cut at all
        // of them; for two that would be many curves.
        let knows_all = self.only.is_empty() || self.parameters.len() == 1;
        let mut finer = all.clone();
        finer.extend(self.simplest_conditions().filter(|_| knows_all));
        let mut found = BTreeMap::new();
        for (sample, count) in &self.cells(&finer, &count, budget)? {
            let has_solutions = match count {
                0 if knows_all => {
                    let values = self.parameters.iter().copied().zip(sample.iter().cloned());
                    let values: Vec<(usize, RBig)> = values.collect();
                    has_solution(mechanism, &values, &share(budget, PARTS_OF_TIME as usize))
                }
                0 => None,
                _ => Some(true),
            };
            let sample = sample.clone();
            add_cell(&mut found, Vec::new(), sample, *count, has_solutions);
        }
        let conditions = self.conditions(&all, cells, &count, budget)?;
        self.total = found.into_values().collect();
        self.conditions = conditions;
        Ok(())
    }

    /// For each piece that has configurations only where conditions hold, the shortest of these.
    fn simplest_conditions(&self) -> impl Iterator<Item = Polynomial> {
        let lists = self.only.iter().map(|(_, list)| list.iter());
        lists.filter_map(|list| list.min_by_key(|p| p.n_terms()).cloned())
    }

    /// A point of each cell that polynomials cut out, with its number of configurations.
    fn cells(
        &self,
        cuts: &[Polynomial],
        count: &dyn Fn(&[RBig]) -> Option<usize>,
        budget: &Budget,
    ) -> Result<Vec<Cell>, OutOfBudget> {
        let mut cells = Vec::new();
        for sample in self.samples(cuts, budget)? {
            budget.check_time()?;
            if let Some(count) = count(&sample) {
                cells.push((sample, count));
            }
        }
        Ok(cells)
    }

    /// The numbers of cells as inequalities. Where the sides of the cutting polynomials do not tell cells apart, their
    /// derivatives are added; those with respect to the second parameter and all values of the first one where something
    /// changes tell all cells apart (Thom's lemma). `None` if a part of the time does not suffice for that.
    fn conditions(
        &self,
        cuts: &[Polynomial],
        cells: Vec<Cell>,
        count: &dyn Fn(&[RBig]) -> Option<usize>,
        budget: &Budget,
    ) -> Result<Option<Conditions>, OutOfBudget> {
        if let Some(found) = self.conditions_by(cuts, &cells, budget)? {
            return Ok(Some(found));
        }
        let share = share(budget, PARTS_OF_TIME as usize);
        for is_complete in [false, true] {
            match self.conditions_with_derivatives(cuts, is_complete, count, &share) {
                Ok(None) => {}
                Ok(found) => return Ok(found),
                Err(_) => break,
            }
        }
        Ok(None)
    }

    fn conditions_with_derivatives(
        &self,
        cuts: &[Polynomial],
        is_complete: bool,
        count: &dyn Fn(&[RBig]) -> Option<usize>,
        budget: &Budget,
    ) -> Result<Option<Conditions>, OutOfBudget> {
        let last = *self.parameters.last().ok_or(OutOfBudget::Steps)?;
        let mut all = cuts.to_vec();
        if is_complete {
            let mut at = 0;
            while at < all.len() {
                let derivative = all[at].derivative(last);
                all.extend(Some(derivative).filter(|p| !p.is_constant()));
                at += 1;
            }
        } else {
            let of_all = cuts
                .iter()
                .flat_map(|p| self.parameters.iter().map(|&v| p.derivative(v)));
            all.extend(of_all);
        }
        let mut more = distinct_factors(&all, budget)?;
        if is_complete {
            let projected = distinct_factors(&projection(&more, last, budget)?, budget)?;
            more.extend(projected);
        }
        let cells = self.cells(&more, count, budget)?;
        self.conditions_by(&more, &cells, budget)
    }

    fn conditions_by(
        &self,
        cuts: &[Polynomial],
        cells: &[Cell],
        budget: &Budget,
    ) -> Result<Option<Conditions>, OutOfBudget> {
        let quantities = quantities(cuts, &self.parameters, budget)?;
        let value = |sample: &'_ [RBig], v: usize| value_of(&self.parameters, sample, v);
        let cells: Vec<_> = (cells.iter())
            .map(|(sample, count)| (move |v: usize| value(sample, v), *count))
            .collect();
        Conditions::new(quantities, &cells, budget)
    }

    /// A point in every cell of the plane, or of the line, that polynomials cut out, for positive lengths.
    fn samples(&self, cuts: &[Polynomial], budget: &Budget) -> Result<Vec<Vec<RBig>>, OutOfBudget> {
        let mut cuts = cuts.to_vec();
        for &length in &self.lengths {
            let axis = Polynomial::variable(length);
            if !cuts.contains(&axis) {
                cuts.push(axis);
            }
        }
        let is_possible = |variable: usize, value: &RBig| {
            !self.lengths.contains(&variable) || *value > RBig::ZERO
        };
        // Samples are general values: away from the conditions of further pieces, and of overlaps.
        let mut avoided: Vec<Polynomial> = self.simplest_conditions().collect();
        avoided.extend(self.overlaps.iter().cloned());
        let x = self.parameters[0];
        let Some(&y) = self.parameters.get(1) else {
            let samples = between_roots(&cuts, x, &avoided, budget)?;
            let samples = samples.into_iter().filter(|value| is_possible(x, value));
            return Ok(samples.map(|value| vec![value]).collect());
        };
        let mut samples = Vec::new();
        for first in between_roots(&projection(&cuts, y, budget)?, x, &avoided, budget)? {
            if !is_possible(x, &first) {
                continue;
            }
            let on_line: Vec<Polynomial> = cuts.iter().map(|p| at(p, x, &first)).collect();
            let avoided: Vec<Polynomial> = avoided.iter().map(|p| at(p, x, &first)).collect();
            for second in between_roots(&on_line, y, &avoided, budget)? {
                if is_possible(y, &second) {
                    samples.push(vec![first.clone(), second]);
                }
            }
        }
        Ok(samples)
    }
}

fn value_of(parameters: &[usize], values: &[RBig], variable: usize) -> RBig {
    let place = parameters.iter().position(|&p| p == variable);
    place.map_or(RBig::ZERO, |place| values[place].clone())
}

fn add_cell(
    found: &mut BTreeMap<(Vec<Ordering>, usize, Option<bool>), Region>,
    signs: Vec<Ordering>,
    sample: Vec<RBig>,
    count: usize,
    has_solutions: Option<bool>,
) {
    let key = (signs.clone(), count, has_solutions);
    let region = found.entry(key).or_insert(Region {
        signs,
        sample,
        count,
        n_cells: 0,
        has_solutions,
    });
    region.n_cells += 1;
}

/// Polynomials without `y` between whose zeros the curves keep their order: leading coefficients, discriminants and
/// resultants (Collins 1975).
fn projection(
    cuts: &[Polynomial],
    y: usize,
    budget: &Budget,
) -> Result<Vec<Polynomial>, OutOfBudget> {
    let mut result = Vec::new();
    let (curves, lines): (Vec<&Polynomial>, Vec<&Polynomial>) =
        cuts.iter().partition(|p| p.degree(y) > 0);
    result.extend(lines.into_iter().cloned());
    for (place, p) in curves.iter().enumerate() {
        budget.check_time()?;
        result.push(p.leading_coefficient(y));
        if p.degree(y) > 1 {
            result.push(resultant(p, &p.derivative(y), y));
        }
        for q in &curves[..place] {
            budget.check_time()?;
            result.push(resultant(p, q, y));
        }
    }
    Ok(result)
}

/// The different factors of polynomials.
fn distinct_factors(
    polynomials: &[Polynomial],
    budget: &Budget,
) -> Result<Vec<Polynomial>, OutOfBudget> {
    let mut found: Vec<Polynomial> = Vec::new();
    for p in polynomials.iter().filter(|p| !p.is_constant()) {
        budget.check_time()?;
        let factors = factor(p, &FactorBudget::until(budget.deadline)).factors;
        for factor in factors {
            if !found.contains(&factor.polynomial) {
                found.push(factor.polynomial);
            }
        }
    }
    Ok(found)
}

/// A polynomial at a rational value of a variable, with whole coefficients.
fn at(p: &Polynomial, variable: usize, value: &RBig) -> Polynomial {
    let numerator = Polynomial::constant(value.numerator().clone());
    let denominator = Polynomial::constant(IBig::from(value.denominator().clone()));
    crate::eliminate::substituted(p, variable, &numerator, &denominator).primitive_over_integers()
}

/// A simple number in each interval between real roots of polynomials in one variable, and beyond the first and the last,
/// at which no polynomial in this variable alone vanishes that is to be avoided.
pub(crate) fn between_roots(
    polynomials: &[Polynomial],
    variable: usize,
    avoided: &[Polynomial],
    budget: &Budget,
) -> Result<Vec<RBig>, OutOfBudget> {
    let avoided = avoided.iter().filter(|p| p.variables() == [variable]);
    let avoided: Vec<&Polynomial> = avoided.collect();
    let mut factors: Vec<Polynomial> = Vec::new();
    let mut open = Polynomial::one();
    for p in polynomials.iter().filter(|p| !p.is_constant()) {
        for factor in factor(p, &FactorBudget::until(budget.deadline)).factors {
            if !factor.is_proved {
                open = &open * &factor.polynomial;
            } else if !factors.contains(&factor.polynomial) {
                factors.push(factor.polynomial);
            }
        }
    }
    budget.check_time()?;
    // Irreducible factors have roots of their own; what may not be irreducible is made so that it has.
    for factor in &factors {
        while let Some(rest) = open.divide_exactly(factor) {
            open = rest;
        }
    }
    let squarefree = daelight_algebra::squarefree(&open).factors;
    factors.extend(squarefree.into_iter().map(|f| f.polynomial));
    let mut roots: Vec<(Univariate, Root)> = Vec::new();
    for factor in &factors {
        let f = Univariate::from_polynomial(&factor.renamed(|v| if v == variable { 0 } else { v }));
        let found = f.real_roots(budget)?;
        roots.extend(found.into_iter().map(|root| (f.clone(), root)));
    }
    let Some(last) = roots.len().checked_sub(1) else {
        return Ok(vec![simplest_between(
            &RBig::ZERO,
            &RBig::from(2),
            &avoided,
        )]);
    };
    let one = RBig::ONE;
    // Narrow intervals leave room between them.
    let mut bits = 16;
    loop {
        for (f, root) in &mut roots {
            root.refine(f, bits, budget)?;
        }
        let mut ends: Vec<[RBig; 2]> = roots.iter().map(|(_, root)| root.ends()).collect();
        ends.sort();
        if ends.windows(2).all(|pair| pair[0][1] < pair[1][0]) {
            let between = |lower: &RBig, upper: &RBig| simplest_between(lower, upper, &avoided);
            let mut samples = vec![between(&(&ends[0][0] - &one), &ends[0][0])];
            let pairs = ends.windows(2);
            samples.extend(pairs.map(|pair| between(&pair[0][1], &pair[1][0])));
            samples.push(between(&ends[last][1], &(&ends[last][1] + &one)));
            return Ok(samples);
        }
        bits *= 2;
    }
}

/// A number strictly between two others with as few decimals as possible, at which some polynomials do not vanish.
fn simplest_between(lower: &RBig, upper: &RBig, avoided: &[&Polynomial]) -> RBig {
    let is_general = |candidate: &RBig| {
        let mut values = avoided.iter().map(|p| p.evaluate(|_| candidate.clone()));
        values.all(|value| value != RBig::ZERO)
    };
    let mut scale = IBig::ONE;
    loop {
        let whole = RBig::from(scale.clone());
        let middle = ((lower + upper) / RBig::from(2) * &whole).round();
        let candidates =
            [0, 1, -1, 2, -2].map(|step| RBig::from(&middle + IBig::from(step)) / &whole);
        let is_between = |candidate: &&RBig| *lower < **candidate && **candidate < *upper;
        // The neighbours are for middles that are to be avoided.
        if is_between(&&candidates[0]) {
            let mut possible = candidates.iter().filter(is_between);
            if let Some(found) = possible.find(|candidate| is_general(candidate)) {
                return found.clone();
            }
        }
        scale *= IBig::from(10);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// One of two ovals: the sign of the boundary polynomial does not tell them apart, those of its derivatives do.
    #[test]
    fn conditions_where_one_sign_is_not_enough() {
        let [x, y] = [0, 1].map(Polynomial::variable);
        let four = IBig::from(4);
        let sides = &x.pow(2) - &Polynomial::one();
        let ovals = &(&sides.pow(2).scaled(&four) + &y.pow(2).scaled(&four)) - &Polynomial::one();
        let regions = Regions {
            parameters: vec![0, 1],
            pieces: Vec::new(),
            only: Vec::new(),
            common: Vec::new(),
            overlaps: Vec::new(),
            total: Vec::new(),
            conditions: None,
            undecided: Vec::new(),
            on_curves: Vec::new(),
            undecided_on_curves: Vec::new(),
            is_proved: true,
            lengths: Vec::new(),
        };
        let is_inside = |sample: &[RBig]| {
            let value = ovals.evaluate(|v| sample[v].clone());
            value < RBig::ZERO && sample[0] > RBig::ZERO
        };
        let count = |sample: &[RBig]| Some(2 * usize::from(is_inside(sample)));
        let budget = Budget::within(Duration::from_secs(60));
        let cuts = [ovals.clone()];
        let cells = regions.cells(&cuts, &count, &budget).expect("time");
        let conditions = regions.conditions(&cuts, cells, &count, &budget);
        let conditions = conditions.expect("time").expect("derivatives suffice");
        let complete = regions.conditions_with_derivatives(&cuts, true, &count, &budget);
        let complete = complete.expect("time").expect("all derivatives suffice");
        assert_eq!(conditions.list.len(), 1);
        for k in 0..900 {
            let sample = [k / 30, k % 30].map(|n| {
                let shifted = IBig::from(11 * n - 163);
                RBig::from_parts(shifted, 100_u32.into())
            });
            let expected = count(&sample);
            for found in [&conditions, &complete] {
                let found = found
                    .count_at(|v| sample[v].clone(), &budget)
                    .expect("time");
                assert!(found.is_none() || found == expected, "{sample:?}");
            }
        }
    }
}
