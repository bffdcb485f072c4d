//! The whole answer about a model: constraints, cases, locus, configurations, and what they are worth.

use crate::constraints::{Constraints, Question};
use crate::exact::{ExactCases, exact_cases, is_symbol};
use crate::flats::FlatBudget;
use crate::locus::{Conditioned, Locus};
use crate::mechanism::Mechanism;
use crate::pieces::Piece;
use crate::points::{Configuration, PieceState, join, piece_points};
use crate::regions::Regions;
use crate::ring::Ring;
use crate::words::CaseWords;
use daelight_algebra::{Budget, Polynomial};
use daelight_lang::{Diagnostic, Model};
use std::time::{Duration, Instant};

/// How much work an answer may take.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The time.
    pub time: Duration,
    /// Bytes of memory for bases.
    pub memory: usize,
    /// Most flats.
    pub flats: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            time: Duration::from_secs(60),
            memory: 4_000_000_000,
            flats: 10_000,
        }
    }
}

/// What an answer is worth.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Certain.
    Proved,
    /// Found by computations modulo primes or at random values, which are wrong with a negligible probability.
    Observed,
    /// Not decided, for the reasons given.
    Unknown,
}

impl Verdict {
    /// The word that pages and JSON use.
    pub fn word(self) -> &'static str {
        match self {
            Self::Proved => "proved",
            Self::Observed => "observed",
            Self::Unknown => "unknown",
        }
    }
}

/// The answer.
pub struct Answer {
    /// The constraints with their Jacobian.
    pub mechanism: Mechanism,
    /// Symbols, unknowns and sums of lengths.
    pub ring: Ring,
    /// The cases.
    pub cases: ExactCases,
    /// The cases in words.
    pub words: Vec<CaseWords>,
    /// The parameters of singular configurations, where parameters or other terms are kept as symbols.
    pub locus: Option<Locus>,
    /// Numbers of real configurations over the parameters, where one or two of them are the only symbols.
    pub regions: Option<Regions>,
    /// The pieces that a condition on the parameters does not exclude; empty with symbols.
    pub pieces: Vec<Piece>,
    /// What is known of their points.
    pub states: Vec<PieceState>,
    /// How many choices of senses a condition excludes.
    pub n_excluded: usize,
    /// The real singular configurations that were found.
    pub configurations: Vec<Configuration>,
    /// What the answer is worth.
    pub verdict: Verdict,
    /// Why something is not decided.
    pub reasons: Vec<String>,
    /// Whether the time was over.
    pub time_budget_reached: bool,
}

/// Finds the singular configurations of a model's constraints.
pub fn answer(
    model: &Model,
    question: &Question,
    limits: &Limits,
) -> Result<Answer, Vec<Diagnostic>> {
    let deadline = Instant::now().checked_add(limits.time);
    let is_over = || deadline.is_some_and(|deadline| Instant::now() >= deadline);
    let constraints = Constraints::new(model, question)?;
    let mechanism = Mechanism::new(model, constraints);
    let flat_budget = FlatBudget {
        flats: limits.flats,
        is_over: &is_over,
    };
    let cases = exact_cases(&mechanism, flat_budget);
    let mut reasons = Vec::new();
    if !cases.is_complete {
        reasons.push("the list of cases is not complete".to_string());
    }
    let conditioned = Conditioned::new(&mechanism, &cases, &is_over);
    let words: Vec<CaseWords> = cases
        .list
        .iter()
        .map(|case| CaseWords::new(model, &mechanism, &conditioned.ring, case))
        .collect();
    let has_symbols = mechanism.polynomials().iter().any(|p| {
        let mut variables = p.variables().into_iter();
        variables.any(|v| is_symbol(&mechanism.ring, v))
    });
    let (mut locus, mut regions) = (None, None);
    let (mut pieces, mut states) = (Vec::new(), Vec::new());
    let (mut n_excluded, mut is_proved) = (0, cases.is_proved);
    let mut configurations = Vec::new();
    let budget = Budget {
        deadline,
        memory: limits.memory,
        ..Budget::default()
    };
    if has_symbols {
        let found = conditioned.locus(&cases, &budget);
        for (case, why) in &found.undecided {
            if cases.list[*case].contained_in.is_none() {
                let reason = why.reason();
                reasons.push(format!("case {}: {reason}", case + 1));
            }
        }
        locus = Some(found);
        regions = conditioned.regions(&cases, &budget);
        if let Some(regions) = &regions {
            is_proved &= regions.is_proved;
            for (case, why) in &regions.undecided {
                reasons.push(format!("real configurations of case {}: {why}", case + 1));
            }
        }
    } else {
        let mut found = Vec::new();
        for (number, _) in cases.kept() {
            let choices = match conditioned.choices(number) {
                Ok(choices) => choices,
                Err(why) => {
                    reasons.push(format!("case {}: {}", number + 1, why.reason()));
                    continue;
                }
            };
            for choice in &choices {
                if conditioned.is_excluded(number, choice) == Some(true) {
                    n_excluded += 1;
                    continue;
                }
                let piece = match conditioned.piece(&cases, number, choice) {
                    Ok(piece) => piece,
                    Err(why) => {
                        reasons.push(format!("case {}: {}", number + 1, why.reason()));
                        continue;
                    }
                };
                let (mut state, certain) = piece_points(&piece, &budget);
                is_proved &= certain;
                match &mut state {
                    PieceState::Undecided(why) => {
                        reasons.push(format!("a piece of case {}: {why}", number + 1));
                    }
                    PieceState::Infinite { dimension } => reasons.push(format!(
                        "a piece of case {} has dimension {dimension}; its real points are not decided",
                        number + 1
                    )),
                    PieceState::Finite { real, .. } => {
                        found.push((pieces.len(), std::mem::take(real)));
                    }
                    PieceState::Excluded | PieceState::Empty => {}
                }
                pieces.push(piece);
                states.push(state);
            }
        }
        let joined = join(&mechanism, &pieces, found, &budget);
        if let Some(limit) = joined.limit {
            reasons.push(format!("real points of pieces: {limit}"));
        }
        configurations = joined.configurations;
    }
    reasons.dedup();
    let verdict = match (reasons.is_empty(), is_proved) {
        (false, _) => Verdict::Unknown,
        (true, true) => Verdict::Proved,
        (true, false) => Verdict::Observed,
    };
    let ring = conditioned.ring;
    Ok(Answer {
        mechanism,
        ring,
        cases,
        words,
        locus,
        regions,
        pieces,
        states,
        n_excluded,
        configurations,
        verdict,
        reasons,
        time_budget_reached: is_over(),
    })
}

impl Answer {
    /// A polynomial as text.
    pub fn text(&self, p: &Polynomial) -> String {
        self.ring.text(p)
    }

    /// Polynomials as texts.
    pub fn texts(&self, polynomials: &[Polynomial]) -> Vec<String> {
        polynomials.iter().map(|p| self.text(p)).collect()
    }

    /// Whether there is no real singular configuration; `None` if that is not decided or a matter of parameters.
    pub fn is_empty(&self) -> Option<bool> {
        if !self.configurations.is_empty() {
            return Some(false);
        }
        (self.verdict != Verdict::Unknown && self.locus.is_none()).then_some(true)
    }
}
