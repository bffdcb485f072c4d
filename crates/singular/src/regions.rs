//! For which values of one or two parameters there are real singular configurations, and how many: section 9 of
//! `docs/theory/configurations.md`.

use crate::exact::{ExactCases, is_symbol};
use crate::locus::{Choice, Conditioned};
use daelight_algebra::real::{HermiteForm, ParametricZeros, Univariate, zeros_over};
use daelight_algebra::{
    Budget, Certificate, FactorBudget, IBig, Ideal, OutOfBudget, Polynomial, RBig, factor, integer,
    resultant,
};
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// Most parameters whose values are divided into regions.
const MOST_PARAMETERS: usize = 2;

/// Most sets of pieces that have configurations in common.
const MOST_COMMON: usize = 64;

/// A piece with finitely many configurations for general values of the parameters.
#[derive(Clone, Debug)]
pub struct CountedPiece {
    /// The case, by number.
    pub case: usize,
    /// The senses of its aligned bodies.
    pub choice: Choice,
    /// What counts its real configurations.
    pub form: HermiteForm,
    /// Irreducible polynomials: the number changes only where one vanishes, or an exceptional one of the form.
    pub boundary: Vec<Polynomial>,
    /// The numbers by the signs of the boundary polynomials, for positive lengths.
    pub regions: Vec<Region>,
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
    /// Why cases are not decided.
    pub undecided: Vec<(usize, String)>,
    /// Whether all bases are proved.
    pub is_proved: bool,
    /// Parameters that are lengths.
    lengths: Vec<usize>,
}

impl Conditioned<'_> {
    /// The regions of the parameters that are kept, if these are one or two and nothing else is a symbol.
    pub fn regions(&self, cases: &ExactCases, budget: &Budget) -> Option<Regions> {
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
            undecided: Vec::new(),
            is_proved: cases.is_proved,
        };
        let mut ideals = Vec::new();
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
                        if let Err(why) = added {
                            regions.undecided.push((number, why));
                        }
                    }
                }
            }
        }
        if let Err(limit) = regions.find_overlaps(&ideals, budget) {
            regions.undecided.push((0, limit.to_string()));
        }
        if let Err(limit) = regions.divide(budget) {
            regions.undecided.push((0, limit.to_string()));
        }
        regions.undecided.dedup();
        Some(regions)
    }

    fn add_piece(
        &self,
        cases: &ExactCases,
        case: usize,
        choice: Choice,
        regions: &mut Regions,
        ideals: &mut Vec<PieceIdeal>,
        budget: &Budget,
    ) -> Result<(), String> {
        if self.is_excluded(case, &choice) == Some(true) {
            return Ok(());
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
                return Ok(());
            }
        }
        let piece = self
            .piece(cases, case, &choice)
            .map_err(|why| why.reason().to_string())?;
        let told = |limit: OutOfBudget| limit.to_string();
        let mut ideal = Ideal::new(piece.generators.clone());
        if !piece.nonzero.is_empty() {
            let saturated = ideal.saturation_by_all(&piece.nonzero, budget);
            ideal = saturated.map_err(told)?;
        }
        let parameters = &regions.parameters;
        match zeros_over(&ideal, parameters, &piece.positive, budget).map_err(told)? {
            ParametricZeros::Only(list) => regions.add_only(case, list),
            ParametricZeros::Infinite => {
                return Err("a piece has infinitely many configurations".to_string());
            }
            ParametricZeros::Finite(form) => {
                regions.is_proved &= form.certificate == Certificate::Exact;
                let boundary = form.boundary(budget).map_err(told)?;
                regions.pieces.push(CountedPiece {
                    case,
                    choice,
                    form,
                    boundary,
                    regions: Vec::new(),
                });
                ideals.push(PieceIdeal {
                    ideal,
                    positive: piece.positive,
                });
            }
        }
        Ok(())
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
    fn divide(&mut self, budget: &Budget) -> Result<(), OutOfBudget> {
        let mut all: Vec<Polynomial> = Vec::new();
        let mut pieces = std::mem::take(&mut self.pieces);
        for piece in &mut pieces {
            let cuts = [piece.boundary.as_slice(), &piece.form.exceptional].concat();
            let mut found: BTreeMap<(Vec<Ordering>, usize), Region> = BTreeMap::new();
            for sample in self.samples(&cuts, budget)? {
                budget.check_time()?;
                let value = |variable: usize| value_of(&self.parameters, &sample, variable);
                let Some(count) = piece.form.count_at(value) else {
                    continue;
                };
                let sign = |p: &Polynomial| p.evaluate(value).cmp(&RBig::ZERO);
                let signs: Vec<Ordering> = piece.boundary.iter().map(sign).collect();
                add_cell(&mut found, signs, sample, count);
            }
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
        let mut found = BTreeMap::new();
        for sample in self.samples(&all, budget)? {
            budget.check_time()?;
            if let Some(count) = self.sum_at(&sample) {
                add_cell(&mut found, Vec::new(), sample, count);
            }
        }
        self.total = found.into_values().collect();
        Ok(())
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
        let x = self.parameters[0];
        let Some(&y) = self.parameters.get(1) else {
            let samples = between_roots(&cuts, x, budget)?;
            let samples = samples.into_iter().filter(|value| is_possible(x, value));
            return Ok(samples.map(|value| vec![value]).collect());
        };
        let mut samples = Vec::new();
        for first in between_roots(&projection(&cuts, y, budget)?, x, budget)? {
            if !is_possible(x, &first) {
                continue;
            }
            let on_line: Vec<Polynomial> = cuts.iter().map(|p| at(p, x, &first)).collect();
            for second in between_roots(&on_line, y, budget)? {
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
    found: &mut BTreeMap<(Vec<Ordering>, usize), Region>,
    signs: Vec<Ordering>,
    sample: Vec<RBig>,
    count: usize,
) {
    let region = (found.entry((signs.clone(), count))).or_insert(Region {
        signs,
        sample,
        count,
        n_cells: 0,
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

/// A polynomial at a rational value of a variable, with whole coefficients.
fn at(p: &Polynomial, variable: usize, value: &RBig) -> Polynomial {
    let numerator = Polynomial::constant(value.numerator().clone());
    let denominator = Polynomial::constant(IBig::from(value.denominator().clone()));
    crate::eliminate::substituted(p, variable, &numerator, &denominator).primitive_over_integers()
}

/// A simple number in each interval between real roots of polynomials in one variable, and beyond the first and the last.
fn between_roots(
    polynomials: &[Polynomial],
    variable: usize,
    budget: &Budget,
) -> Result<Vec<RBig>, OutOfBudget> {
    let mut factors: Vec<Polynomial> = Vec::new();
    for p in polynomials.iter().filter(|p| !p.is_constant()) {
        for factor in factor(p, &FactorBudget::until(budget.deadline)).factors {
            if !factors.contains(&factor.polynomial) {
                factors.push(factor.polynomial);
            }
        }
    }
    budget.check_time()?;
    // Different factors, even if one is not proved to be irreducible, have a squarefree product after this.
    let product = factors.iter().fold(Polynomial::one(), |a, b| &a * b);
    let squarefree =
        daelight_algebra::squarefree(&product.renamed(|v| if v == variable { 0 } else { v }));
    let squarefree = (squarefree.factors.iter()).fold(Polynomial::one(), |a, f| &a * &f.polynomial);
    let f = Univariate::from_polynomial(&squarefree);
    let mut roots = f.real_roots(budget)?;
    let Some(last) = roots.len().checked_sub(1) else {
        return Ok(vec![RBig::ONE]);
    };
    let one = RBig::ONE;
    // Narrow intervals leave room between them.
    let mut bits = 16;
    loop {
        for root in &mut roots {
            root.refine(&f, bits, budget)?;
        }
        let ends: Vec<[RBig; 2]> = roots.iter().map(|root| root.ends()).collect();
        if ends.windows(2).all(|pair| pair[0][1] < pair[1][0]) {
            let mut samples = vec![simplest_between(&(&ends[0][0] - &one), &ends[0][0])];
            samples.extend(
                ends.windows(2)
                    .map(|pair| simplest_between(&pair[0][1], &pair[1][0])),
            );
            samples.push(simplest_between(&ends[last][1], &(&ends[last][1] + &one)));
            return Ok(samples);
        }
        bits *= 2;
    }
}

/// A number strictly between two others with as few decimals as possible.
fn simplest_between(lower: &RBig, upper: &RBig) -> RBig {
    let mut scale = IBig::ONE;
    loop {
        let whole = RBig::from(scale.clone());
        let middle = (lower + upper) / RBig::from(2) * &whole;
        let candidate = RBig::from(middle.round()) / whole;
        if *lower < candidate && candidate < *upper {
            return candidate;
        }
        scale *= IBig::from(10);
    }
}
