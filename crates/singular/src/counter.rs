//! Numbers of real singular configurations at many values of one or two parameters, without solving at each of them:
//! section 9 of `docs/theory/configurations.md`.

use crate::answer::SearchLimits;
use crate::constraints::{Constraints, Question};
use crate::exact::{exact_cases, is_symbol};
use crate::locus::Conditioned;
use crate::mechanism::{JacobianColumn, Mechanism};
use crate::regions::Regions;
use crate::ring::{Ring, VariableKind};
use daelight_algebra::real::{BallPolynomial, FormCounter};
use daelight_algebra::{Budget, Monomial, Polynomial, RBig, integer};
use daelight_lang::Model;
use std::time::Instant;

/// Counts at decimal values of the parameters: with doubles where these decide, with exact numbers otherwise.
pub struct Counter {
    regions: Regions,
    /// The parameters by name, in the order of the values.
    names: Vec<String>,
    pieces: Vec<FormCounter>,
    common: Vec<FormCounter>,
    overlaps: Vec<BallPolynomial>,
    only: Vec<Vec<BallPolynomial>>,
    is_length: Vec<bool>,
}

/// What is counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Counted {
    /// All singular configurations.
    All,
    /// Those of a piece that has some for general values, by number.
    Piece(usize),
}

impl Counter {
    /// Prepares counting over the parameters of a question, one or two. Says why that is not possible: every point has to be
    /// asked for then.
    pub fn new(model: &Model, question: &Question, limits: &SearchLimits) -> Result<Self, String> {
        let deadline = Instant::now().checked_add(limits.time);
        let is_over = || deadline.is_some_and(|deadline| Instant::now() >= deadline);
        let budget = &Budget {
            deadline,
            memory: limits.memory,
            ..Budget::default()
        };
        let constraints = Constraints::new(model, question).map_err(|diagnostics| {
            let first = diagnostics.into_iter().next();
            first.map_or(String::new(), |diagnostic| diagnostic.message)
        })?;
        let mechanism = Mechanism::new(model, constraints);
        let cases = exact_cases(&mechanism, limits.of_flats(&limits.spent(deadline)));
        if let Some(missing) = cases.missing {
            return Err(missing.to_string());
        }
        let conditioned = Conditioned::new(&mechanism, &cases, &is_over);
        let regions = (conditioned.undivided(&cases, budget))
            .ok_or("there are more than two symbols, or none, or one that is no parameter")?;
        if let Some((case, why)) = regions.undecided.first() {
            return Err(format!("case {}: {why}", case + 1));
        }
        if let Some(column) = uneven_column(&mechanism, regions.lengths()) {
            return Err(format!(
                "the cases depend on the values of the parameters in the column of {}",
                column.name
            ));
        }
        let parameters = &regions.parameters;
        let form =
            |form| FormCounter::new(form, parameters, budget).map_err(|limit| limit.to_string());
        let ball = |p: &Polynomial| BallPolynomial::new(p, parameters);
        let pieces = regions.pieces.iter().map(|piece| form(&piece.form));
        let common = regions.common.iter().map(|part| form(&part.form));
        Ok(Self {
            names: names(&mechanism.ring, parameters),
            pieces: pieces.collect::<Result<_, _>>()?,
            common: common.collect::<Result<_, _>>()?,
            overlaps: regions.overlaps.iter().map(ball).collect(),
            only: (regions.only.iter())
                .map(|(_, list)| list.iter().map(ball).collect())
                .collect(),
            is_length: (parameters.iter())
                .map(|v| regions.lengths().contains(v))
                .collect(),
            regions,
        })
    }

    /// The parameters that the numbers depend on, in the order of the values.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// What the numbers rest on.
    pub fn regions(&self) -> &Regions {
        &self.regions
    }

    /// The number at decimal values of the parameters; `None` where it is not that of general values close by.
    pub fn count(&self, counted: Counted, values: &[f64]) -> Option<usize> {
        if values.len() != self.names.len() {
            return None;
        }
        let quickly = match counted {
            Counted::All => self.sum(values),
            Counted::Piece(at) => self.pieces.get(at)?.count(values),
        };
        quickly.or_else(|| {
            let exact: Vec<RBig> = (values.iter())
                .map(|&value| integer::decimal(value))
                .collect::<Option<_>>()?;
            match counted {
                Counted::All => self.regions.count_at(&exact),
                Counted::Piece(at) => self.regions.count_of_piece_at(at, &exact),
            }
        })
    }

    fn sum(&self, values: &[f64]) -> Option<usize> {
        let mut lengths = values.iter().zip(&self.is_length);
        if lengths.any(|(value, is_length)| *is_length && *value <= 0.0) {
            return None;
        }
        let is_not_zero = |p: &BallPolynomial| p.evaluate(values).is_positive().is_some();
        let is_general = self.overlaps.iter().all(is_not_zero)
            && self.only.iter().all(|list| list.iter().any(is_not_zero));
        if !is_general {
            return None;
        }
        // Inclusion and exclusion, as in the regions.
        let mut sum = 0;
        for piece in &self.pieces {
            sum += piece.count(values)? as i64;
        }
        for (part, counter) in self.regions.common.iter().zip(&self.common) {
            let count = counter.count(values)? as i64;
            sum += if part.pieces.len() % 2 == 1 {
                count
            } else {
                -count
            };
        }
        usize::try_from(sum).ok()
    }

    /// The curves on which numbers change or are others than beside them: boundaries of pieces, with their numbers, and
    /// conditions of further pieces.
    pub fn curves(&self) -> Vec<(Option<usize>, Polynomial)> {
        let mut curves: Vec<(Option<usize>, Polynomial)> = Vec::new();
        for (at, piece) in self.regions.pieces.iter().enumerate() {
            curves.extend(piece.boundary.iter().map(|p| (Some(at), p.clone())));
        }
        for (_, list) in &self.regions.only {
            if let [single] = list.as_slice()
                && curves.iter().all(|(_, known)| known != single)
            {
                curves.push((None, single.clone()));
            }
        }
        curves
    }

    /// The value of a curve's polynomial in double precision.
    pub fn curve_value(&self, curve: &Polynomial, values: &[f64]) -> f64 {
        let place = |v: usize| self.regions.parameters.iter().position(|&p| p == v);
        curve.evaluate_f64(|v| place(v).map_or(0.0, |at| values[at]))
    }
}

fn names(ring: &Ring, parameters: &[usize]) -> Vec<String> {
    let name = |&v: &usize| ring.variables()[v].name.clone();
    parameters.iter().map(name).collect()
}

/// A column whose forms are not all multiples of one product of lengths. The cases, which are found for general values,
/// are those of all positive lengths only where there is none: a factor of a column does not change its flats.
fn uneven_column<'a>(mechanism: &'a Mechanism, lengths: &[usize]) -> Option<&'a JacobianColumn> {
    let ring = &mechanism.ring;
    mechanism.columns.iter().find(|column| {
        let mut factor: Option<Monomial> = None;
        let mut monomials = (column.forms.iter().flatten())
            .flat_map(|p| p.terms())
            .map(|(monomial, _)| symbols_of(ring, monomial));
        monomials.any(|(monomial, has_others)| {
            let exponents = monomial.exponents().iter().enumerate();
            let mut occurring = exponents.filter(|(_, e)| **e > 0).map(|(v, _)| v);
            let are_lengths = occurring.all(|v| lengths.contains(&v));
            let is_same = *factor.get_or_insert_with(|| monomial.clone()) == monomial;
            has_others || !are_lengths || !is_same
        })
    })
}

/// The part of a monomial that consists of kept parameters, and whether other symbols belong to it.
fn symbols_of(ring: &Ring, monomial: &Monomial) -> (Monomial, bool) {
    let mut parameters = Monomial::one();
    let mut has_others = false;
    for (variable, &exponent) in monomial.exponents().iter().enumerate() {
        if exponent == 0 || !is_symbol(ring, variable) {
            continue;
        }
        match ring.variables()[variable].meaning {
            VariableKind::Parameter(_) => parameters.set(variable, exponent),
            _ => has_others = true,
        }
    }
    (parameters, has_others)
}
