//! What a run reports: the trajectory, why it ended, what was met on the way and what it cost.

use crate::tolerances::SAME_POINT;
use crate::trajectory::Trajectory;
use daelight_expr::{ExprId, Fault, FaultKind};
use daelight_linalg::LinalgError;
use daelight_stiff::Statistics;
use std::fmt;

/// How the solution behaves at a singular point.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Nature {
    /// The solution passes smoothly.
    Removable,
    /// The solution ends like a root: its slope grows without bound, or it turns back.
    Branch,
    /// The solution goes on, and the slope of an unknown is infinite there, like that of a cubic root.
    Steep,
    /// The solution grows without bound.
    Unbounded,
    /// Other solutions go through the same point: the equations do not say which one goes on.
    Bifurcation,
    /// Neighbouring solutions run into the same point: what goes on behind it is not determined.
    Family,
    /// The evidence does not decide.
    Unresolved,
}

impl fmt::Display for Nature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Removable => "removable",
            Self::Branch => "branch",
            Self::Steep => "steep",
            Self::Unbounded => "unbounded",
            Self::Bifurcation => "bifurcation",
            Self::Family => "family",
            Self::Unresolved => "unresolved",
        })
    }
}

/// A fit x ~ (rho - s)^exponent to the last coefficients of one unknown.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RatioFit {
    /// The unknown.
    pub unknown: usize,
    /// Signed distance of the singularity from the expansion point.
    pub distance: f64,
    /// The exponent; negative for a pole.
    pub exponent: f64,
}

/// A jump over a singular point.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Jump {
    /// The last expansion point before the singular one.
    pub from: f64,
    /// The first one after it.
    pub to: f64,
    /// Scaled residual of all equations at the landing point.
    pub residual: f64,
    /// Greatest difference of the series from both sides at the singular time, relative to the size of the unknowns,
    /// over the unknowns of the singular block.
    pub mismatch: f64,
}

/// The numbers behind a finding.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Evidence {
    /// Distance from the expansion point at which the nature was decided.
    pub distance: f64,
    /// The step that the series allow there.
    pub step: f64,
    /// Whether the determinant changes its sign.
    pub sign_change: bool,
    /// How far off the time may be because the determinant vanishes like a power of the distance; 0 at a simple zero. What
    /// errors of the states do comes on top.
    pub uncertainty: f64,
    /// Least over greatest singular value of the equilibrated block at the singular time.
    pub singular_ratio: f64,
    /// Fits that point at the singular time.
    pub fits: Vec<RatioFit>,
    /// The jump, if there was one.
    pub jump: Option<Jump>,
}

/// A point at which a diagonal block of the system Jacobian is singular.
#[derive(Clone, PartialEq, Debug)]
pub struct Singularity {
    /// When.
    pub time: f64,
    /// The diagonal block in the order of the structure; `None` when no determinant vanishes.
    pub block: Option<usize>,
    /// The argument that vanishes, in the order of [`Problem::arguments`](crate::Problem::arguments), if there is one.
    pub argument: Option<usize>,
    /// Equations of the block, or those that hold the argument.
    pub equations: Vec<usize>,
    /// Unknowns of the block.
    pub unknowns: Vec<usize>,
    /// The greatest offset c of these equations; the observed kind is k = c + 1.
    pub offset: usize,
    /// How the solution behaves there.
    pub nature: Nature,
    /// A direction of the unknowns of the block that the equations do not determine, of length 1.
    pub null_vector: Vec<f64>,
    /// The numbers behind it.
    pub evidence: Evidence,
}

/// A time at which a branch of the model changes its side.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Switch {
    /// When.
    pub time: f64,
    /// The branch, in the order of the tape of the residuals.
    pub branch: usize,
    /// The expression that decides: abs, sign, min, max or a relation.
    pub expr: ExprId,
    /// The greatest relative jump of a state: zero up to rounding unless a constraint changed.
    pub state_change: f64,
    /// Whether the solution ended there and another one was taken, (R27) of `docs/theory/runs.md`.
    pub is_jump: bool,
}

/// A stretch along the switching surface of a branch.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Slide {
    /// The expression that would decide.
    pub expr: ExprId,
    /// When it begins.
    pub from: f64,
    /// When it ends.
    pub to: f64,
}

/// What ran out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BudgetKind {
    /// The number of steps.
    Steps,
    /// The time.
    Time,
    /// The memory for the series.
    Memory,
}

/// Why a point or a step could not be solved.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Failure {
    /// An expression has no value.
    Fault(Fault),
    /// An expression of equations made on the way has no value.
    Undefined(FaultKind),
    /// The linear algebra has no answer.
    Linalg(LinalgError),
    /// Newton's method does not converge.
    NoConvergence {
        /// The stage that was being solved.
        stage: i32,
        /// The last scaled residual.
        residual: f64,
    },
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl From<LinalgError> for Failure {
    fn from(error: LinalgError) -> Self {
        Self::Linalg(error)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fault(fault) => write!(f, "an expression has no value: {}", fault.kind),
            Self::Undefined(kind) => write!(f, "an expression has no value: {kind}"),
            Self::Linalg(error) => error.fmt(f),
            Self::NoConvergence { stage, residual } => {
                write!(
                    f,
                    "stage {stage} does not converge (residual {residual:.1e})"
                )
            }
        }
    }
}

impl std::error::Error for Failure {}

/// Why a run ended.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum StopReason {
    /// The end was reached.
    Finished,
    /// At a singularity, the last one of the list.
    Singularity,
    /// The solution grows without bound although every block stays regular.
    FiniteEscape {
        /// The time it does not reach.
        time: f64,
        /// The unknowns that grow, with their exponents.
        fits: Vec<RatioFit>,
    },
    /// What was computed grows without bound, and a finer run does so at another time or not at all: it is the errors that grow.
    ErrorsGrow {
        /// The time it does not reach.
        time: f64,
        /// How far the finer run came.
        finer: f64,
    },
    /// Steps became too small, or residuals too large, for the accuracy asked for.
    AccuracyLost {
        /// When.
        time: f64,
        /// The step that was left.
        step: f64,
        /// The scaled constraint residual.
        residual: f64,
    },
    /// At a switch the solution goes on to no side.
    Chattering {
        /// When.
        time: f64,
        /// The expression that decides.
        expr: ExprId,
        /// Whether every side leads back at once: the solution would slide along the switching surface. Otherwise the equations of a
        /// side have no solution that begins here.
        leads_back: bool,
    },
    /// Two solutions meet at a kink and end, and there is none or more than one other with the same states, (R27).
    Meeting {
        /// When.
        time: f64,
        /// The expression that decides.
        expr: ExprId,
    },
    /// Several solutions begin at a switching point, one on each side.
    Ambiguous {
        /// When.
        time: f64,
        /// The expression that decides.
        expr: ExprId,
    },
    /// The ranks of the derivative array change: before and after the equations are of different kinds.
    IndexChange {
        /// When.
        time: f64,
        /// Degrees of freedom before.
        before: usize,
        /// Degrees of freedom there; `None` where the ranks are unclear.
        after: Option<usize>,
    },
    /// Rewritten equations are singular: where a factor of the rewriting vanishes they say nothing about the model.
    Rewriting {
        /// When.
        time: f64,
        /// Whether the model is known to be regular there.
        model_is_regular: bool,
    },
    /// Something ran out.
    Budget(BudgetKind),
    /// At a time that a [`Watch`](crate::Watch) asked for.
    Stopped {
        /// When.
        time: f64,
    },
    /// A [`Watch`](crate::Watch) ended the run where it was.
    Interrupted,
    /// A step could not be solved, however small.
    Failed {
        /// When.
        time: f64,
        /// Why.
        failure: Failure,
    },
}

/// A singular point that lies behind the end of a run.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Expected {
    /// When, as far as the last series can tell.
    pub time: f64,
    /// How far behind the end.
    pub distance: f64,
}

/// A run: what came out, and what it is worth.
#[derive(Clone, Debug)]
pub struct Run {
    /// The solution.
    pub trajectory: Trajectory,
    /// Why it ended.
    pub stop: StopReason,
    /// Singular points in the order they were met.
    pub singularities: Vec<Singularity>,
    /// Switching times in the order they were met.
    pub switches: Vec<Switch>,
    /// Stretches along switching surfaces.
    pub slides: Vec<Slide>,
    /// The next singular point, if the last series sees one behind the end.
    pub expected: Option<Expected>,
    /// The greatest scaled residual of the equations at each level, (10): position m is the m-th derivative.
    pub residuals: Vec<f64>,
    /// What it cost.
    pub statistics: Statistics,
}

impl Run {
    /// Ends a run at one of its singular points, as if it had not gone on.
    pub fn end_at_singularity(&mut self, place: usize) {
        let Some(time) = self.singularities.get(place).map(|found| found.time) else {
            return;
        };
        self.end_at(time, StopReason::Singularity);
        self.singularities.truncate(place + 1);
    }

    /// Ends a run at an earlier time, and forgets what was found behind it.
    pub fn end_at(&mut self, time: f64, stop: StopReason) {
        self.trajectory.end_at(time);
        self.expected = None;
        self.stop = StopReason::Stopped { time };
        self.forget_beyond_stop();
        self.stop = stop;
    }

    /// Forgets what was found beyond the end of a run that was stopped.
    pub(crate) fn forget_beyond_stop(&mut self) {
        let StopReason::Stopped { time } = self.stop else {
            return;
        };
        let start = self.trajectory.span().map_or(time, |(start, _)| start);
        let before = |other: f64| (other - start).abs() <= (time - start).abs();
        self.singularities.retain(|found| before(found.time));
        self.switches.retain(|found| before(found.time));
    }

    /// Sorts the singular points by time, each once, none behind the end of a run that was finished.
    pub(crate) fn put_in_order(&mut self) {
        let Some((start, end)) = self.trajectory.span() else {
            return;
        };
        let direction = if end >= start { 1.0 } else { -1.0 };
        if self.stop == StopReason::Finished {
            self.singularities
                .retain(|found| (found.time - end) * direction <= 0.0);
        }
        // Stable, so that a run still ends with the last one that it met.
        self.singularities
            .sort_by(|a, b| (a.time * direction).total_cmp(&(b.time * direction)));
        self.singularities.dedup_by(|later, earlier| {
            let width = SAME_POINT * later.time.abs().max((end - start).abs().min(1.0))
                + 3.0 * (later.evidence.uncertainty + earlier.evidence.uncertainty);
            let is_same = later.block == earlier.block && later.argument == earlier.argument;
            is_same && (later.time - earlier.time).abs() <= width
        });
    }

    /// The greatest scaled residual over all levels.
    pub fn residual(&self) -> f64 {
        self.residuals.iter().copied().fold(0.0, f64::max)
    }
}
