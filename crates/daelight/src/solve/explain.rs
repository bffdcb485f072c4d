//! The singularities of a run in the user's terms: names, loci and kinds.

use super::solution::Solution;
use daelight_analysis::System;
use daelight_analysis::chain::CriticalKind;
use daelight_analysis::initial::{Request, TaylorJet};
use daelight_analysis::judgement::{Judgement, PointVerdict};
use daelight_analysis::passport::Passport;
use daelight_analysis::start::ON_LOCUS;
use daelight_integrate::Singularity;
use std::time::Instant;

/// A factor closer to zero than [`ON_LOCUS`] at a singular time is its locus; so is one this close that belongs to the very equations that are singular: series do not reach a branch point.
const NEAR_LOCUS: f64 = 1e-2;

/// A singular time is told with its uncertainty if that is above this many tolerances of the steps, and not below all digits.
const LOST_DIGITS: f64 = 10.0;

const ALL_DIGITS: f64 = 1e-12;

/// A singularity in the user's terms.
#[derive(Clone, Debug)]
pub struct Explained {
    /// The finding of the run.
    pub found: Singularity,
    /// How far off its time may be, if that is more than ten tolerances of the steps.
    pub uncertainty: Option<f64>,
    /// How the matrix chain changes, if known.
    pub kind: Option<CriticalKind>,
    /// The factor that vanishes, if there is a formula.
    pub locus: Option<String>,
    /// What it is to an operation that has no value there, such as "the denominator of `1/x`".
    pub role: Option<String>,
    /// Equations of the model that are singular together.
    pub equations: Vec<usize>,
    /// Names of the unknowns of the singular block.
    pub unknowns: Vec<String>,
}

impl Solution {
    /// Names, loci and kinds of the singularities met; names alone where no more is asked for.
    pub(super) fn explain(&mut self, system: &System, request: &Request, names_alone: bool) {
        if self.run.singularities.is_empty() {
            return;
        }
        let deadline = Instant::now() + request.budget;
        let passport = (!names_alone).then(|| Passport::new(system, request));
        let mut explained = Vec::new();
        for found in &self.run.singularities {
            let mut record = Explained {
                kind: None,
                locus: None,
                role: None,
                equations: self.route.written_equations(&found.equations),
                unknowns: found
                    .unknowns
                    .iter()
                    .map(|&j| {
                        self.route
                            .highest_name(system, &self.problem, &found.equations, j)
                    })
                    .collect(),
                uncertainty: Some(found.evidence.uncertainty).filter(|uncertainty| {
                    let digits = (LOST_DIGITS * self.tolerances.rtol).max(ALL_DIGITS);
                    *uncertainty > digits * found.time.abs().max(1.0)
                }),
                found: found.clone(),
            };
            if let Some(argument) = found
                .argument
                .and_then(|place| self.problem.arguments().get(place))
            {
                let text = |expr| self.expression_text(system, expr);
                record.locus = Some(argument.locus(&text(argument.argument)));
                let operation = text(argument.operation);
                record.role = Some(format!("{} of `{operation}`", argument.role()));
            } else if let Some(passport) = &passport
                && let Some(jet) = self.reader(system).jet(found.time)
            {
                record.place(system, passport, &jet, deadline);
            }
            explained.push(record);
        }
        self.singularities = explained;
    }
}

impl Explained {
    /// The locus and the kind, and the first equations in the order of evaluation that are singular by it.
    fn place(&mut self, system: &System, passport: &Passport, jet: &TaylorJet, deadline: Instant) {
        let time = self.found.time;
        let is_near = |distance: f64| distance < NEAR_LOCUS;
        let own = (passport.nearest_factor(system, &self.equations, time, jet))
            .filter(|(_, distance)| is_near(*distance))
            .map(|(text, _)| text);
        let kind = || kind_at(system, time, jet, deadline);
        match passport.nearest_locus(system, time, jet) {
            Some((locus, distance))
                if distance < ON_LOCUS
                    || (is_near(distance)
                        && (locus.equations == self.equations
                            || own.as_ref() == Some(&locus.factor))) =>
            {
                self.kind = locus.kind.or_else(kind);
                // What one factor makes singular in several blocks begins in the first: a force that a jammed loop makes infinite is
                // not the cause.
                if own.as_ref() == Some(&locus.factor) && locus.equations != self.equations {
                    self.equations.clone_from(&locus.equations);
                    self.unknowns.clone_from(&locus.unknowns);
                    let n = self.unknowns.len();
                    self.found.null_vector = if n == 1 { vec![1.0] } else { Vec::new() };
                }
                self.locus = Some(locus.factor.clone());
            }
            _ => {
                self.locus = own;
                self.kind = kind();
            }
        }
    }
}

/// The kind of a singular point without a formula, from its ranks.
fn kind_at(system: &System, time: f64, jet: &TaylorJet, deadline: Instant) -> Option<CriticalKind> {
    let mut request = Request::of_model(system, time, 0);
    request.guess = jet.values().to_vec();
    request.budget = deadline.saturating_duration_since(Instant::now());
    request.given.clear();
    request.conditions.clear();
    if !request.guess.iter().all(|value| value.is_finite()) {
        return None;
    }
    match Judgement::new(system, &request).verdict {
        PointVerdict::Singular { kind } => kind,
        _ => None,
    }
}
