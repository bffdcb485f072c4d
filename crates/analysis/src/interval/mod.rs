//! A linear system on an interval of time: where its characteristic quantities are constant, which points lie between, and
//! what fails there.
//!
//! Numbers in parentheses refer to `docs/theory/linear.md`.

mod effect;
mod profile;
mod scan;
mod zeros;

use crate::canonical::{CanonicalForm, ConsistencyVerdict};
use crate::chain::{self, kind_of_point};
use crate::decide::{IndexQuestion, IndexVerdict, decide};
use crate::judgement::MAX_NUMERICAL;
use crate::linear::{LinearFamily, MarkKind};
use crate::outcome::{Because, Indices, Stage};
use crate::reduction::{Conclusion, Reduction};
use crate::scaling::Scaling;
use crate::series::{MatrixSeries, Series};
use crate::tolerances::{FLAT, SAME_INSTANT};
use daelight_linalg::Mat;
use effect::{Effect, Holds};
use profile::Profile;
use scan::{Found, Search, Searched};
use std::fmt;
use std::time::Instant;

/// Evaluations of the series that an analysis may use unless told otherwise.
pub const DEFAULT_BUDGET: usize = 4000;
/// Points of a piece at which the generic ranks are read.
const N_SAMPLES: usize = 7;
/// Points of a piece at which the final rule of the index analysis is asked.
const N_DECISIONS: usize = 3;
/// Distance kept from points where coefficients have no value, relative to the interval.
const DISTANCE: f64 = 1e-4;
/// Highest order of series that is tried for the generic ranks.
const MOST_COEFFICIENTS: usize = 24;
/// A rank that nearly falls is reported if its smallest value comes below this.
const NEARLY: f64 = 1e-8;

/// A subinterval on which all quantities are constant.
#[derive(Clone, Debug, PartialEq)]
pub struct ConstantPiece {
    /// Its beginning.
    pub from: f64,
    /// Its end.
    pub to: f64,
    /// All index notions on it; `None` where they could not be decided.
    pub indices: Option<Indices>,
}

/// What an exceptional point is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PointKind {
    /// A rank of the reduction is smaller than beside it.
    RankChange {
        /// Reduction level.
        level: usize,
        /// Which rank of that level.
        stage: Stage,
        /// The rank at the point.
        rank: usize,
        /// The rank beside it.
        rank_nearby: usize,
        /// The order to which the determinant that decides the rank vanishes.
        order: usize,
        /// The kind in terms of the tractability chain, for square regular systems where it is decided.
        chain: Option<chain::CriticalKind>,
    },
    /// A coefficient has no value.
    Undefined,
    /// A coefficient switches: it has a kink or a jump.
    Switch,
}

impl fmt::Display for PointKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RankChange {
                chain: Some(kind), ..
            } => write!(f, "{kind}"),
            Self::RankChange { .. } => write!(f, "rank change"),
            Self::Undefined => write!(f, "undefined"),
            Self::Switch => write!(f, "switch"),
        }
    }
}

/// What fails at an exceptional point.
#[derive(Clone, Debug, PartialEq)]
pub enum BrokenHypothesis {
    /// Solutions pass only if the right-hand side satisfies conditions at the point.
    InnerCondition {
        /// The highest derivative of f in them.
        order: usize,
        /// How many there are at that order.
        n_conditions: usize,
        /// The condition as a formula, if there is one and it is short.
        text: Option<String>,
    },
    /// Solutions of the homogeneous equation do not extend over the point.
    NotExtended {
        /// They behave like (t - t*)^exponent, where that is known.
        exponent: Option<f64>,
    },
    /// Several solutions have the same value at the point.
    NotUnique {
        /// They behave like (t - t*)^exponent.
        exponent: f64,
    },
    /// What follows from the rank change is not decided.
    Undecided(Because),
}

/// A point between subintervals, or at an end, that is not regular.
#[derive(Clone, Debug, PartialEq)]
pub struct ExceptionalPoint {
    /// Where it is.
    pub time: f64,
    /// An estimate of the error of `time`.
    pub error: f64,
    /// What it is.
    pub kind: PointKind,
    /// What fails; empty if nothing does.
    pub failures: Vec<BrokenHypothesis>,
    /// One sentence with the numbers.
    pub what: String,
}

/// The levels of Kunkel and Mehrmann (2006), Table 2, from the most special one (9).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SolvabilityLevel {
    /// C.0: the strangeness index is defined on the whole interval.
    StrangenessIndex,
    /// B: solution space and consistent right-hand sides are as if it were. No contradiction was found; not a proof.
    B,
    /// A: the solution space is as if it were.
    A,
    /// None of them.
    None,
    /// Undecided.
    Unknown,
}

impl fmt::Display for SolvabilityLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::StrangenessIndex => "C.0",
            Self::B => "B",
            Self::A => "A",
            Self::None => "none",
            Self::Unknown => "unknown",
        })
    }
}

/// The characteristic quantities of a linear system on an interval.
///
/// ```
/// use daelight_analysis::System;
/// use daelight_analysis::interval::{DEFAULT_BUDGET, IntervalAnalysis};
/// use daelight_analysis::linear::LinearSystem;
/// use daelight_lang::{Options, load};
///
/// let text = "model M  Real x;  equation  (time - 1)*der(x) = -x + sin(time);  end M;";
/// let model = load("m.mo", text.as_bytes(), &Options::default()).model.expect("the text is right");
/// let system = System::new(&model)?;
/// let mut linear = LinearSystem::new(&system)?;
/// let found = IntervalAnalysis::new(&mut linear, 0.0, 3.0, DEFAULT_BUDGET);
/// assert_eq!(found.intervals.len(), 2);
/// assert!((found.exceptional[0].time - 1.0).abs() < 1e-14);
/// assert_eq!(
///     found.exceptional[0].what,
///     "at t = 1 the rank of E falls from 1 to 0; solutions of the homogeneous equation behave like (t - 1)^-1 and do not \
///      extend"
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct IntervalAnalysis {
    /// Subintervals in the order of time; what lies between is exceptional, or without coefficients.
    pub intervals: Vec<ConstantPiece>,
    /// Points between them and at the ends.
    pub exceptional: Vec<ExceptionalPoint>,
    /// Which of the levels C.0, B, A holds on the interval.
    pub level: SolvabilityLevel,
    /// Why.
    pub reasons: Vec<String>,
    /// mu-hat: the largest strangeness index of the subintervals; `None` if none is decided.
    pub greatest_index: Option<usize>,
    /// Parts that were not examined or not decided, in the order of time: exceptional points may lie there.
    pub open: Vec<(f64, f64)>,
    /// What is to be said besides.
    pub warnings: Vec<String>,
    /// Evaluations used.
    pub n_evaluations: usize,
}

/// A piece on which coefficients are smooth, with what was found there.
struct Piece {
    from: f64,
    to: f64,
    profile: Profile,
    indices: Option<Indices>,
    searched: Searched,
}

impl IntervalAnalysis {
    /// Analyses a linear system between two times, with at most about `budget` evaluations of its series.
    ///
    /// Points closer together than 1e-4 of the interval are told apart only if the same rank falls there.
    pub fn new<F: LinearFamily + ?Sized>(
        family: &mut F,
        from: f64,
        to: f64,
        budget: usize,
    ) -> Self {
        Self::until(None, family, from, to, budget)
    }

    /// The same, with a time at which the work ends; what is left then is [`open`](Self::open).
    pub fn until<F: LinearFamily + ?Sized>(
        deadline: Option<Instant>,
        family: &mut F,
        from: f64,
        to: f64,
        budget: usize,
    ) -> Self {
        let mut out = Self {
            intervals: Vec::new(),
            exceptional: Vec::new(),
            level: SolvabilityLevel::Unknown,
            reasons: Vec::new(),
            greatest_index: None,
            open: Vec::new(),
            warnings: Vec::new(),
            n_evaluations: 0,
        };
        if !(from < to && (to - from).is_finite()) {
            out.warnings
                .push(format!("{from} to {to} is not an interval"));
            return out;
        }
        let n_unknowns = family.n_unknowns();
        if n_unknowns > MAX_NUMERICAL {
            out.open.push((from, to));
            out.warnings.push(format!(
                "nothing was examined: ranks are decided for {MAX_NUMERICAL} unknowns at most, and there are {n_unknowns}"
            ));
            return out;
        }
        let mut breaks = out.marks(family, from, to);
        let mut search = Search {
            family,
            span: to - from,
            n_evaluations: 0,
            budget,
            deadline,
            is_bounded: true,
        };
        breaks.insert(0, (from, None));
        breaks.push((to, None));
        let mut pieces = Vec::new();
        for pair in breaks.windows(2) {
            let [(from, at_from), (to, at_to)] = [pair[0], pair[1]];
            // The surroundings of a pole are not searched; a switching point itself belongs to neither side.
            let distance = |kind: Option<MarkKind>| match kind {
                None => 0.0,
                Some(MarkKind::Switch) => SAME_INSTANT * search.span,
                Some(MarkKind::Undefined) => DISTANCE * search.span,
            };
            let (low, high) = (from + distance(at_from), to - distance(at_to));
            if high - low > DISTANCE * search.span
                && let Some(piece) = out.piece(&mut search, (from, to), (low, high))
            {
                pieces.push(piece);
            }
        }
        out.greatest_index = pieces
            .iter()
            .filter_map(|piece| piece.indices.as_ref())
            .map(|indices| indices.strangeness.index)
            .max();
        let mut hypotheses = Vec::new();
        for piece in &pieces {
            out.describe(&mut search, piece, &mut hypotheses);
        }
        out.exceptional.sort_by(|a, b| a.time.total_cmp(&b.time));
        out.open = joined(&out.open, 0.0);
        out.n_evaluations = search.n_evaluations;
        let is_bounded = search.is_bounded;
        out.judge(&hypotheses, is_bounded);
        out
    }

    /// Points where coefficients have no value or switch (3), recorded as exceptional.
    fn marks<F: LinearFamily + ?Sized>(
        &mut self,
        family: &mut F,
        from: f64,
        to: f64,
    ) -> Vec<(f64, Option<MarkKind>)> {
        let mut breaks: Vec<(f64, Option<MarkKind>)> = Vec::new();
        for index in 0..family.marks().len() {
            let mark = family.marks()[index].clone();
            for time in zeros::zeros(|t| family.mark(index, t), from, to) {
                let near = |other: f64| (other - time).abs() <= SAME_INSTANT * (to - from);
                if breaks.iter().any(|&(other, _)| near(other)) {
                    continue;
                }
                let undefined = mark.kind == MarkKind::Undefined;
                breaks.push((time, Some(mark.kind)));
                let place = number(time);
                let what = match (undefined, family.at(time, 2)) {
                    (true, Err(undefined)) => {
                        format!("at t = {place} the coefficients have no value: {undefined}")
                    }
                    (true, Ok(_)) => format!(
                        "at t = {place} `{}` vanishes, and the coefficients have no value",
                        mark.text
                    ),
                    (false, _) => format!(
                        "at t = {place} `{}` changes sign and the coefficients switch: they have a kink or a jump",
                        mark.text
                    ),
                };
                self.exceptional.push(ExceptionalPoint {
                    time,
                    error: f64::EPSILON * time.abs(),
                    kind: if undefined {
                        PointKind::Undefined
                    } else {
                        PointKind::Switch
                    },
                    failures: Vec::new(),
                    what,
                });
            }
        }
        breaks.sort_by(|a, b| a.0.total_cmp(&b.0));
        breaks
    }

    /// Reads the generic ranks of a piece, decides its indices and searches it; `None` if there are none.
    fn piece<F: LinearFamily + ?Sized>(
        &mut self,
        search: &mut Search<'_, F>,
        (from, to): (f64, f64),
        (low, high): (f64, f64),
    ) -> Option<Piece> {
        let place = format!("between t = {} and t = {}", number(from), number(to));
        let (profiles, reason) = sampled(search, low, high);
        // Exceptional samples are rare, and so are those that noise misleads: the majority is generic.
        let votes = |profile: &Profile| profiles.iter().filter(|(p, _)| p == profile).count();
        let Some(profile) = (profiles.iter())
            .map(|(profile, _)| profile)
            .max_by_key(|profile| (votes(profile), profile.ranks()))
            .cloned()
        else {
            let because = match search.family.at(0.5 * (low + high), 0) {
                Err(undefined) => undefined.sentence,
                Ok(_) => reason.unwrap_or_default(),
            };
            self.warnings
                .push(format!("nothing is known {place}: {because}"));
            self.open.push((from, to));
            return None;
        };
        let order = profile.n_levels() + 3;
        let alike = profiles.iter().filter(|(other, _)| *other == profile);
        let times = alike.map(|(_, time)| *time).take(N_DECISIONS);
        let doubt = (2 * votes(&profile) <= N_SAMPLES).then_some(Because::MethodsDisagree);
        let mut indices = match agreed_indices(search, times, order, doubt) {
            Ok(indices) => Some(indices),
            Err(because) => {
                self.warnings
                    .push(format!("the quantities {place} are not decided: {because}"));
                None
            }
        };
        if let Some(s) = indices.as_ref().map(|i| i.strangeness)
            && s.n_redundant > 0
        {
            // The conditions hold all over the piece or almost nowhere, so one place is enough.
            let (_, time) = profiles[0];
            let found = search.at(time, 2 * order).and_then(|series| {
                let form = CanonicalForm::new(&series.matrices).ok()?;
                form.consistency(&series.f)
            });
            if let Some(found) = found.filter(|f| f.verdict != ConsistencyVerdict::Satisfied) {
                self.warnings
                    .push(format!("at t = {}: {found}", number(time)));
            }
        }
        let searched = search.piece(low, high, &profile);
        let width: f64 = (searched.undecided.iter())
            .map(|(from, to)| to - from)
            .sum();
        if width > 0.5 * (high - low) && indices.take().is_some() {
            self.warnings.push(format!(
                "the quantities {place} are not decided: most of it is open"
            ));
        }
        Some(Piece {
            from,
            to,
            profile,
            indices,
            searched,
        })
    }

    /// Turns what was found in a piece into intervals, points and warnings.
    fn describe<F: LinearFamily + ?Sized>(
        &mut self,
        search: &mut Search<'_, F>,
        piece: &Piece,
        hypotheses: &mut Vec<(Holds, Holds, f64)>,
    ) {
        let tiny = SAME_INSTANT * search.span;
        let mut start = piece.from;
        for found in &piece.searched.found {
            if found.time - start > tiny {
                self.intervals.push(ConstantPiece {
                    from: start,
                    to: found.time,
                    indices: piece.indices.clone(),
                });
            }
            start = found.time;
            let effect = Effect::new(
                search,
                found,
                &piece.profile,
                piece.indices.as_ref(),
                self.greatest_index.unwrap_or(0),
            );
            hypotheses.push((effect.a3, effect.b3, found.time));
            self.exceptional.push(ExceptionalPoint {
                time: found.time,
                error: found.error,
                kind: PointKind::RankChange {
                    level: found.level,
                    stage: found.stage,
                    rank: found.rank,
                    rank_nearby: found.rank_nearby,
                    order: found.order,
                    chain: chain_kind(search, found, piece),
                },
                failures: effect.failures,
                what: effect.sentence,
            });
        }
        if piece.to - start > tiny {
            self.intervals.push(ConstantPiece {
                from: start,
                to: piece.to,
                indices: piece.indices.clone(),
            });
        }
        self.warn_of(piece, search.span);
        for (list, what) in [
            (&piece.searched.undecided, "the ranks are not decided"),
            (
                &piece.searched.unexamined,
                "the budget was used up and nothing was examined",
            ),
        ] {
            for (from, to) in joined(list, tiny) {
                self.open.push((from, to));
                self.warnings.push(format!(
                    "between t = {} and t = {} {what}",
                    number(from),
                    number(to)
                ));
            }
        }
    }

    /// What is to be said of the points of a piece: those that hide their surroundings, and falls that nearly happen.
    fn warn_of(&mut self, piece: &Piece, span: f64) {
        for found in &piece.searched.found {
            if found.radius > 10.0 * DISTANCE * span
                && found.place + 1 < piece.profile.ranks().len()
            {
                self.warnings.push(format!(
                    "within {:.1e} of t = {} only the rank that falls there was examined",
                    found.radius,
                    number(found.time)
                ));
            }
        }
        for near in &piece.searched.near {
            let by_itself = (piece.searched.found.iter())
                .all(|found| (found.time - near.time).abs() > scan::SHADOW * span);
            if near.value < NEARLY && by_itself {
                let what = match near.stage {
                    Stage::Differential => "E",
                    Stage::Algebraic => "the constraints",
                };
                self.warnings.push(format!(
                    "near t = {} the rank of {what} at level {} nearly falls: its smallest singular value is {:.1e} of the \
                     largest",
                    number(near.time),
                    near.level,
                    near.value
                ));
            }
        }
    }

    /// The level of Table 2 (9).
    fn judge(&mut self, hypotheses: &[(Holds, Holds, f64)], is_bounded: bool) {
        let mut level = SolvabilityLevel::StrangenessIndex;
        let mut reasons = Vec::new();
        let mut worse = |to: SolvabilityLevel, reason: String| {
            level = worse_of(level, to);
            reasons.push(reason);
        };
        for &(a3, b3, time) in hypotheses {
            let place = number(time);
            match (a3, b3) {
                (Holds::Yes, Holds::Yes) => worse(
                    SolvabilityLevel::B,
                    format!("A.3 holds at t = {place}, and no contradiction to B.3 was found"),
                ),
                (Holds::Yes, _) => worse(
                    SolvabilityLevel::A,
                    format!(
                        "A.3 holds at t = {place}, but more rows of the derivative array depend on each other there than \
                         beside it, against B.3"
                    ),
                ),
                (Holds::No, _) => worse(
                    SolvabilityLevel::None,
                    format!("A.3 fails at t = {place}: a or d is different there"),
                ),
                (Holds::Unknown, _) => worse(
                    SolvabilityLevel::Unknown,
                    format!("A.3 is not decided at t = {place}"),
                ),
            }
        }
        for point in &self.exceptional {
            if matches!(point.kind, PointKind::Undefined | PointKind::Switch) {
                worse(
                    SolvabilityLevel::None,
                    format!(
                        "the coefficients are not smooth at t = {}",
                        number(point.time)
                    ),
                );
            }
        }
        let mut known = self.intervals.iter().map(|i| i.indices.as_ref());
        let first = known.next().flatten();
        if self.intervals.iter().any(|i| i.indices.is_none()) {
            worse(
                SolvabilityLevel::Unknown,
                "some quantities are not decided".to_string(),
            );
        } else if known.any(|other| other != first) {
            worse(
                SolvabilityLevel::None,
                "the quantities differ between subintervals".to_string(),
            );
        }
        if self.intervals.is_empty() || !self.open.is_empty() {
            worse(
                SolvabilityLevel::Unknown,
                "parts of the interval are not decided".to_string(),
            );
        }
        if level == SolvabilityLevel::StrangenessIndex {
            reasons.push(if is_bounded {
                "all ranks are constant on the interval".to_string()
            } else {
                format!(
                    "all ranks are the same at the times of {} expansions; the coefficients between them are not bounded",
                    self.n_evaluations
                )
            });
        }
        (self.level, self.reasons) = (level, reasons);
    }
}

/// What the ranks are at samples of a piece, and why there are none where there are none.
fn sampled<F: LinearFamily + ?Sized>(
    search: &mut Search<'_, F>,
    low: f64,
    high: f64,
) -> (Vec<(Profile, f64)>, Option<String>) {
    let mut profiles = Vec::new();
    let mut reason = None;
    for i in 0..N_SAMPLES {
        if search.is_late() {
            reason = reason.or(Some("the budget was used up".to_string()));
            break;
        }
        // Multiples of the golden section, which no model has a reason to avoid or to prefer.
        let fraction = ((i as f64 + 0.5) * 0.618_033_988_749_894_9).fract();
        let time = low + fraction * (high - low);
        match reduce(search, time) {
            Ok(profile) => profiles.push((profile, time)),
            Err(because) => reason = Some(because.to_string()),
        }
    }
    (profiles, reason)
}

/// The indices at some times, or why they are not decided: `doubt` is what was held against them before.
fn agreed_indices<F: LinearFamily + ?Sized>(
    search: &mut Search<'_, F>,
    times: impl Iterator<Item = f64>,
    order: usize,
    mut doubt: Option<Because>,
) -> Result<Indices, Because> {
    let mut indices: Option<Indices> = None;
    for time in times {
        let Some(series) = search.at(time, order) else {
            continue;
        };
        match decide(&IndexQuestion::new(&series.matrices)).outcome {
            IndexVerdict::Regular(answer) => {
                let known = indices.replace(answer.indices);
                if known.is_some() && known != indices {
                    doubt = Some(Because::MethodsDisagree);
                }
            }
            IndexVerdict::Critical { level, .. } => doubt = Some(Because::RankChanges { level }),
            IndexVerdict::Unknown { because } => doubt = doubt.or(Some(because)),
        }
    }
    if doubt == Some(Because::MethodsDisagree) {
        return Err(Because::MethodsDisagree);
    }
    indices.ok_or(doubt.unwrap_or(Because::NotFinite))
}

/// The one of two levels that promises less.
fn worse_of(a: SolvabilityLevel, b: SolvabilityLevel) -> SolvabilityLevel {
    let rank = |level: SolvabilityLevel| match level {
        SolvabilityLevel::StrangenessIndex => 0,
        SolvabilityLevel::B => 1,
        SolvabilityLevel::A => 2,
        SolvabilityLevel::Unknown => 3,
        SolvabilityLevel::None => 4,
    };
    if rank(b) > rank(a) { b } else { a }
}

/// The generic ranks at one time, with as many coefficients as they need.
fn reduce<F: LinearFamily + ?Sized>(
    search: &mut Search<'_, F>,
    time: f64,
) -> Result<Profile, Because> {
    let mut order = 5;
    loop {
        let series = search.at(time, order).ok_or(Because::NotFinite)?;
        let scaled = Scaling::by_low_orders(&series.matrices, None).apply(&series.matrices);
        let reduction = Reduction::new(&scaled, 0.0);
        match reduction.conclusion {
            Conclusion::Unknown(Because::SeriesTooShort { .. }) if order < MOST_COEFFICIENTS => {
                order = (2 * order).min(MOST_COEFFICIENTS);
            }
            Conclusion::Unknown(because) => return Err(because),
            Conclusion::Critical { level, .. } => return Err(Because::RankChanges { level }),
            Conclusion::Regular(_) => return Profile::of(&reduction).ok_or(Because::NotFinite),
        }
    }
}

/// The kind of a point in terms of the tractability chain.
fn chain_kind<F: LinearFamily + ?Sized>(
    search: &mut Search<'_, F>,
    found: &Found,
    piece: &Piece,
) -> Option<chain::CriticalKind> {
    piece.indices.as_ref()?.differentiation_index?;
    let order = piece.profile.n_levels() + 4;
    let point = search.at(found.time, order)?.matrices;
    let point = without_rounding(&point, found.time)?;
    let step = scan::SHADOW * (piece.to - piece.from);
    let towards = if found.time < 0.5 * (piece.from + piece.to) {
        step
    } else {
        -step
    };
    let beside: Vec<_> = (1..=chain::N_NEIGHBOURS)
        .map(|i| {
            let time = found.time + i as f64 * towards;
            Some(search.at(time, order)?.matrices)
        })
        .collect();
    kind_of_point(&point, FLAT, |i| beside[i].clone()).ok()?
}

/// The series at a time that is known to rounding only: entries that vanish there to rounding, vanish.
///
/// Scaling would otherwise blow them up.
fn without_rounding(series: &MatrixSeries, time: f64) -> Option<MatrixSeries> {
    let clean = |s: &Series<Mat>| -> Vec<Mat> {
        let mut out = s.coefficients().to_vec();
        if let [first, second, ..] = &mut out[..] {
            let pairs = first.as_mut_slice().iter_mut().zip(second.as_slice());
            for (value, rate) in pairs {
                if value.abs() <= 8.0 * f64::EPSILON * time.abs() * rate.abs() {
                    *value = 0.0;
                }
            }
        }
        out
    };
    MatrixSeries::new(clean(series.e()), clean(series.b())).ok()
}

/// Neighbouring intervals as one.
fn joined(list: &[(f64, f64)], tiny: f64) -> Vec<(f64, f64)> {
    let mut sorted = list.to_vec();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut out: Vec<(f64, f64)> = Vec::new();
    for (from, to) in sorted {
        match out.last_mut() {
            Some(last) if from <= last.1 + tiny => last.1 = last.1.max(to),
            _ => out.push((from, to)),
        }
    }
    out
}

/// A number in at most 12 digits, as short as possible.
fn number(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}").replace("-0", "0");
    }
    daelight_expr::number(format!("{value:.11e}").parse().unwrap_or(value))
}
