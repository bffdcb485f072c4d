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
use crate::sets::{SingularSet, singular_set};
use crate::words::{CaseWords, senses};
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
    /// The pieces of positive dimension, with real configurations in them.
    pub sets: Vec<SingularSet>,
    /// What the answer is worth.
    pub verdict: Verdict,
    /// Why something is not decided.
    pub reasons: Vec<String>,
    /// Whether the time was over.
    pub time_budget_reached: bool,
}

/// How far an answer is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    /// What is done now.
    pub stage: Stage,
    /// Parts of it that are done.
    pub done: usize,
    /// All its parts.
    pub total: usize,
}

/// What is done on the way to an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// Cases are listed.
    Cases,
    /// Conditions on the parameters are found, case by case.
    Conditions,
    /// Pieces are solved.
    Pieces,
    /// Points of pieces are compared, and ranks decided.
    Ranks,
    /// Pieces of positive dimension are sampled.
    Sets,
    /// Real configurations are counted over the parameters.
    Regions,
}

impl Stage {
    /// What a line of progress calls it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Cases => "cases",
            Self::Conditions => "conditions on parameters",
            Self::Pieces => "pieces",
            Self::Ranks => "ranks",
            Self::Sets => "sets of configurations",
            Self::Regions => "regions of parameters",
        }
    }
}

/// Finds the singular configurations of a model's constraints.
pub fn answer(
    model: &Model,
    question: &Question,
    limits: &Limits,
) -> Result<Answer, Vec<Diagnostic>> {
    answer_with_progress(model, question, limits, &|_| {})
}

/// The same, with a function that is told how far it is.
pub fn answer_with_progress(
    model: &Model,
    question: &Question,
    limits: &Limits,
    progress: &dyn Fn(Progress),
) -> Result<Answer, Vec<Diagnostic>> {
    let at = |stage: Stage, done: usize, total: usize| progress(Progress { stage, done, total });
    at(Stage::Cases, 0, 1);
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
    at(Stage::Conditions, 0, cases.list.len());
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
    let (mut configurations, mut sets) = (Vec::new(), Vec::new());
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
        at(Stage::Regions, 0, 1);
        regions = conditioned.regions(&cases, question.on_curves, &budget);
        if let Some(regions) = &mut regions {
            for piece in &mut regions.pieces {
                if let Ok(legs) = &conditioned.legs[piece.case] {
                    let case = &cases.list[piece.case];
                    piece.senses = senses(model, &conditioned, case, legs, &piece.choice);
                }
            }
            is_proved &= regions.is_proved;
            for (case, why) in &regions.undecided {
                reasons.push(format!("real configurations of case {}: {why}", case + 1));
            }
            for why in &regions.undecided_on_curves {
                reasons.push(format!("numbers on the curves: {why}"));
            }
        }
    } else {
        let mut found = Vec::new();
        let mut infinite = Vec::new();
        let n_kept = cases.kept().count();
        for (done, (number, _)) in cases.kept().enumerate() {
            at(Stage::Pieces, done, n_kept);
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
                    PieceState::Infinite { dimension } => infinite.push((pieces.len(), *dimension)),
                    PieceState::Finite { real, .. } => {
                        found.push((pieces.len(), std::mem::take(real)));
                    }
                    PieceState::Excluded | PieceState::Empty => {}
                }
                pieces.push(piece);
                states.push(state);
            }
        }
        at(Stage::Ranks, 0, 1);
        let joined = join(&mechanism, &pieces, found, &budget);
        if let Some(limit) = joined.limit {
            reasons.push(format!("real points of pieces: {limit}"));
        }
        configurations = joined.configurations;
        let n_infinite = infinite.len();
        for (done, (piece, dimension)) in infinite.into_iter().enumerate() {
            at(Stage::Sets, done, n_infinite);
            let case = pieces[piece].case + 1;
            let open = format!("a piece of case {case} of dimension {dimension}");
            match singular_set(&mechanism, &pieces, piece, dimension, &budget) {
                Err(limit) => reasons.push(format!("real points of {open}: {limit}")),
                Ok(set) => {
                    if set.samples.is_empty() && !set.is_empty {
                        reasons.push(format!("{open}: no real point was found in sections of it"));
                    }
                    is_proved &= set.is_proved;
                    sets.push(set);
                }
            }
        }
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
        sets,
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
        if !self.configurations.is_empty() || self.sets.iter().any(|s| !s.samples.is_empty()) {
            return Some(false);
        }
        (self.verdict != Verdict::Unknown && self.locus.is_none()).then_some(true)
    }
}
