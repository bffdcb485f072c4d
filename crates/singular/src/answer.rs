//! The whole answer about a model: constraints, cases, locus, configurations, and what they are worth.

use crate::assembly::has_solution;
use crate::constraints::{Constraints, Question};
use crate::eliminate::Undecided;
use crate::exact::{ExactCases, exact_cases, is_symbol};
use crate::flats::FlatBudget;
use crate::locus::{Conditioned, ParameterLocus, share};
use crate::mechanism::Mechanism;
use crate::number::{PARTS_OF_TIME, SingularManifold, singular_manifold};
use crate::pieces::Piece;
use crate::points::{Configuration, PieceState, join, points_of};
use crate::regions::Regions;
use crate::ring::{Ring, VariableKind};
use crate::sets::{SingularSet, singular_set};
use crate::words::{CaseWords, senses};
use daelight_algebra::{Budget, OutOfBudget, Polynomial};
use daelight_lang::{Diagnostic, Model};
use std::time::{Duration, Instant};

/// How much work an answer may take.
#[derive(Clone, Copy, Debug)]
pub struct SearchLimits {
    /// The time.
    pub time: Duration,
    /// Bytes of memory for bases.
    pub memory: usize,
    /// Most flats.
    pub flats: usize,
}

impl Default for SearchLimits {
    fn default() -> Self {
        Self {
            time: Duration::from_secs(60),
            memory: 4_000_000_000,
            flats: 10_000,
        }
    }
}

impl SearchLimits {
    /// The part of the time until a deadline that is gone.
    pub(crate) fn spent(&self, deadline: Option<Instant>) -> impl Fn() -> f64 {
        let time = self.time.as_secs_f64();
        move || {
            let left = deadline.map(|end| end.saturating_duration_since(Instant::now()));
            left.map_or(0.0, |left| {
                1.0 - left.as_secs_f64() / time.max(f64::MIN_POSITIVE)
            })
        }
    }

    /// The limits of a list of flats.
    pub(crate) fn of_flats<'a>(&self, spent: &'a dyn Fn() -> f64) -> FlatBudget<'a> {
        FlatBudget {
            flats: self.flats,
            spent,
        }
    }
}

/// What an answer is worth.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SingularVerdict {
    /// Certain.
    Proved,
    /// Found by computations modulo primes or at random values, which are wrong with a negligible probability.
    Observed,
    /// Not decided, for the reasons given.
    Unknown,
}

impl SingularVerdict {
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
pub struct SingularAnswer {
    /// The constraints with their Jacobian.
    pub mechanism: Mechanism,
    /// Symbols, unknowns and sums of lengths.
    pub ring: Ring,
    /// The cases.
    pub cases: ExactCases,
    /// The cases in words.
    pub words: Vec<CaseWords>,
    /// The parameters of singular configurations, where parameters or other terms are kept as symbols.
    pub locus: Option<ParameterLocus>,
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
    /// Real configurations that are a manifold, looked for where bases of pieces took too long.
    pub manifold: Option<SingularManifold>,
    /// Whether the constraints have a real solution, asked where no singular configuration shows one; `None` where that
    /// was not asked or not decided.
    pub has_solutions: Option<bool>,
    /// What the answer is worth.
    pub verdict: SingularVerdict,
    /// Why something is not decided.
    pub reasons: Vec<String>,
    /// Whether the time was over.
    pub time_budget_reached: bool,
}

/// How far an answer is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SearchProgress {
    /// What is done now.
    pub stage: SearchStage,
    /// Parts of it that are done.
    pub done: usize,
    /// All its parts.
    pub total: usize,
}

/// What is done on the way to an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SearchStage {
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

impl SearchStage {
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
    limits: &SearchLimits,
) -> Result<SingularAnswer, Vec<Diagnostic>> {
    answer_with_progress(model, question, limits, &|_| {})
}

/// The same, with a function that is told how far it is.
pub fn answer_with_progress(
    model: &Model,
    question: &Question,
    limits: &SearchLimits,
    progress: &dyn Fn(SearchProgress),
) -> Result<SingularAnswer, Vec<Diagnostic>> {
    let at = |stage: SearchStage, done: usize, total: usize| {
        progress(SearchProgress { stage, done, total })
    };
    at(SearchStage::Cases, 0, 1);
    let deadline = Instant::now().checked_add(limits.time);
    let is_over = || deadline.is_some_and(|deadline| Instant::now() >= deadline);
    let constraints = Constraints::new(model, question)?;
    let mechanism = Mechanism::new(model, constraints);
    let cases = exact_cases(&mechanism, limits.of_flats(&limits.spent(deadline)));
    at(SearchStage::Conditions, 0, cases.list.len());
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
    let n_flats = cases.list.len() + cases.missing.map_or(0, |missing| missing.n_flats);
    let mut found = Found {
        reasons: (cases.missing.map(|missing| missing.to_string()))
            .into_iter()
            .collect(),
        is_proved: cases.is_proved,
        is_short_of_time: cases.missing.is_some() && n_flats < limits.flats,
        ..Found::default()
    };
    let budget = Budget {
        deadline,
        memory: limits.memory,
        ..Budget::default()
    };
    if has_symbols {
        at(SearchStage::Regions, 0, 1);
        found.conditions(model, &conditioned, &cases, question.on_curves, &budget);
    } else {
        found.points(&conditioned, &cases, &budget, &at);
    }
    found.reasons.extend(mechanism.constraints.left_out.clone());
    found.reasons.dedup();
    let verdict = match (found.reasons.is_empty(), found.is_proved) {
        (false, _) => SingularVerdict::Unknown,
        (true, true) => SingularVerdict::Proved,
        (true, false) => SingularVerdict::Observed,
    };
    let ring = conditioned.ring;
    let is_regular =
        verdict != SingularVerdict::Unknown && !has_symbols && found.has_no_configuration();
    let has_solutions = is_regular
        .then(|| has_solution(&mechanism, &[], &share(&budget, PARTS_OF_TIME as usize)))
        .flatten();
    Ok(SingularAnswer {
        mechanism,
        ring,
        cases,
        words,
        locus: found.locus,
        regions: found.regions,
        pieces: found.pieces,
        states: found.states,
        n_excluded: found.n_excluded,
        configurations: found.configurations,
        sets: found.sets,
        manifold: found.manifold,
        has_solutions,
        verdict,
        reasons: found.reasons,
        time_budget_reached: found.is_short_of_time || is_over(),
    })
}

/// What is found about the cases: conditions on symbols, or points at given numbers.
#[derive(Default)]
struct Found {
    locus: Option<ParameterLocus>,
    regions: Option<Regions>,
    pieces: Vec<Piece>,
    states: Vec<PieceState>,
    n_excluded: usize,
    configurations: Vec<Configuration>,
    sets: Vec<SingularSet>,
    manifold: Option<SingularManifold>,
    reasons: Vec<String>,
    is_proved: bool,
    is_short_of_time: bool,
}

impl Found {
    /// Whether no real configuration was found, nor a set that may have some.
    fn has_no_configuration(&self) -> bool {
        self.configurations.is_empty()
            && self.manifold.is_none()
            && self.sets.iter().all(|set| set.is_empty)
    }

    /// What the cases demand of the symbols, and numbers of configurations where one or two parameters are the only ones.
    fn conditions(
        &mut self,
        model: &Model,
        conditioned: &Conditioned<'_>,
        cases: &ExactCases,
        on_curves: bool,
        budget: &Budget,
    ) {
        let locus = conditioned.locus(cases, budget);
        for (case, why) in &locus.undecided {
            if cases.list[*case].contained_in.is_none() {
                let reason = why.reason();
                self.reasons.push(format!("case {}: {reason}", case + 1));
            }
        }
        // Symbols that are numbers are no condition: whether there are real configurations at these numbers is not found out.
        let ring = &conditioned.mechanism.ring;
        let symbols = conditioned.mechanism.polynomials();
        let mut symbols = (symbols.iter().flat_map(|p| p.variables()))
            .filter(|&v| is_symbol(ring, v))
            .peekable();
        if symbols.peek().is_some()
            && symbols.all(|v| {
                ring.variables()[v].meaning == VariableKind::Known
                    && ring.variables()[v].value.is_some()
            })
        {
            self.reasons.push(
                "an angle of the text that is no multiple of 15 degrees is kept as a symbol, and configurations are not counted with it".to_string(),
            );
        }
        self.locus = Some(locus);
        let Some(mut regions) = conditioned.regions(cases, on_curves, budget) else {
            return;
        };
        for piece in &mut regions.pieces {
            if let Ok(legs) = &conditioned.legs[piece.case] {
                let case = &cases.list[piece.case];
                piece.senses = senses(model, conditioned, case, legs, &piece.choice);
            }
        }
        self.is_proved &= regions.is_proved;
        for (case, why) in &regions.undecided {
            self.reasons
                .push(format!("real configurations of case {}: {why}", case + 1));
        }
        for why in &regions.undecided_on_curves {
            self.reasons.push(format!("numbers on the curves: {why}"));
        }
        self.regions = Some(regions);
    }

    /// The pieces of the kept cases that no condition excludes.
    fn make_pieces(&mut self, conditioned: &Conditioned<'_>, cases: &ExactCases) {
        for (number, _) in cases.kept() {
            let not_decided = |why: Undecided| format!("case {}: {}", number + 1, why.reason());
            let choices = match conditioned.choices(number) {
                Ok(choices) => choices,
                Err(why) => {
                    self.reasons.push(not_decided(why));
                    continue;
                }
            };
            for choice in &choices {
                if conditioned.is_excluded(number, choice) == Some(true) {
                    self.n_excluded += 1;
                    continue;
                }
                match conditioned.piece(cases, number, choice) {
                    Ok(piece) => self.pieces.push(piece),
                    Err(why) => self.reasons.push(not_decided(why)),
                }
            }
        }
    }

    /// The real configurations at given numbers.
    fn points(
        &mut self,
        conditioned: &Conditioned<'_>,
        cases: &ExactCases,
        budget: &Budget,
        at: &dyn Fn(SearchStage, usize, usize),
    ) {
        self.make_pieces(conditioned, cases);
        let mechanism = conditioned.mechanism;
        let told = |done: usize| at(SearchStage::Pieces, done, self.pieces.len());
        let solved = solve(&self.pieces, &most_of(budget), &told);
        self.is_proved &= solved.is_proved;
        self.is_short_of_time |= solved.is_short_of_time;
        self.states = solved.states;
        let mut found = Vec::new();
        let mut infinite = Vec::new();
        for (number, state) in self.states.iter_mut().enumerate() {
            match state {
                PieceState::Undecided(why) => {
                    let case = self.pieces[number].case + 1;
                    self.reasons.push(format!("a piece of case {case}: {why}"));
                }
                PieceState::Infinite { dimension } => infinite.push((number, *dimension)),
                PieceState::Finite { real, .. } => found.push((number, std::mem::take(real))),
                PieceState::Excluded | PieceState::Empty => {}
            }
        }
        if self.is_short_of_time {
            self.manifold = singular_manifold(mechanism, budget);
        }
        at(SearchStage::Ranks, 0, 1);
        let joined = join(mechanism, &self.pieces, found, budget);
        if let Some(limit) = joined.limit {
            self.reasons.push(format!("real points of pieces: {limit}"));
        }
        self.configurations = joined.configurations;
        let n_infinite = infinite.len();
        for (done, (piece, dimension)) in infinite.into_iter().enumerate() {
            at(SearchStage::Sets, done, n_infinite);
            let share = share(budget, n_infinite - done);
            self.sample(mechanism, piece, dimension, &share);
        }
    }

    /// Real configurations of a piece of positive dimension.
    fn sample(&mut self, mechanism: &Mechanism, piece: usize, dimension: usize, budget: &Budget) {
        let case = self.pieces[piece].case + 1;
        let open = format!("a piece of case {case} of dimension {dimension}");
        match singular_set(mechanism, &self.pieces, piece, dimension, budget) {
            Err(limit) => self.reasons.push(format!("real points of {open}: {limit}")),
            Ok(set) => {
                if set.samples.is_empty() && !set.is_empty {
                    self.reasons
                        .push(format!("{open}: no real point was found in sections of it"));
                }
                self.is_proved &= set.is_proved;
                self.sets.push(set);
            }
        }
    }
}

/// What is known of the points of pieces.
struct Solved {
    /// For each piece.
    states: Vec<PieceState>,
    /// Whether all steps are proved.
    is_proved: bool,
    /// Whether there was no time for some piece.
    is_short_of_time: bool,
}

/// The points of pieces. Each piece has an equal share of the time, and those that it did not suffice for once more a share
/// of what is left, so that a hard one takes nothing from the others.
fn solve(pieces: &[Piece], budget: &Budget, told: &dyn Fn(usize)) -> Solved {
    let mut found: Vec<Result<(PieceState, bool), OutOfBudget>> =
        pieces.iter().map(|_| Err(OutOfBudget::Time)).collect();
    for _ in 0..2 {
        let is_open = |at: &usize| matches!(found[*at], Err(OutOfBudget::Time));
        let open: Vec<usize> = (0..pieces.len()).filter(is_open).collect();
        for (done, &at) in open.iter().enumerate() {
            told(pieces.len() - open.len() + done);
            found[at] = points_of(&pieces[at], &share(budget, open.len() - done));
        }
    }
    let mut solved = Solved {
        states: Vec::with_capacity(pieces.len()),
        is_proved: true,
        is_short_of_time: false,
    };
    for state in found {
        solved.is_short_of_time |= matches!(state, Err(OutOfBudget::Time));
        let (state, is_proved) =
            state.unwrap_or_else(|why| (PieceState::Undecided(why.to_string()), false));
        solved.is_proved &= is_proved;
        solved.states.push(state);
    }
    solved
}

/// Three quarters of the time that is left: the rest is for what follows.
fn most_of(budget: &Budget) -> Budget {
    let now = Instant::now();
    let deadline = budget.deadline;
    let deadline = deadline.map(|end| end - end.saturating_duration_since(now) / 4);
    Budget {
        deadline,
        ..*budget
    }
}

impl SingularAnswer {
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
        let has_samples = self.sets.iter().any(|set| !set.samples.is_empty());
        if !self.configurations.is_empty() || has_samples || self.manifold.is_some() {
            return Some(false);
        }
        // Without a case there is nothing for symbols to decide.
        let has_none = self.cases.is_complete() && self.cases.kept().next().is_none();
        (self.verdict != SingularVerdict::Unknown && (self.locus.is_none() || has_none))
            .then_some(true)
    }

    /// Symbols that are lengths, by number; they are taken as positive.
    pub fn lengths(&self) -> Vec<usize> {
        crate::eliminate::lengths(&self.mechanism)
    }
}
