//! A run with the way back to the model's unknowns.

use super::explain::Explained;
use super::route::Route;
use super::setup::{Setup, Stop};
use crate::observe::{ExpressionReader, Reader, Settles, StopScan, Way};
use crate::zero_dynamics::ZeroDynamics;
use daelight_analysis::System;
use daelight_analysis::initial::ConsistentPoint;
use daelight_analysis::repair::Names;
use daelight_expr::{ExprId, Fault, Walker};
use daelight_integrate::implicit::Method;
use daelight_integrate::{Inspector, Problem, Run, StopReason, Tolerances};
use daelight_lang::{Assertion, Symbol};

/// Steps at which the energy is looked at.
const MOST_ENERGIES: usize = 20_000;

/// A run and the way back to the model's unknowns.
pub struct Solution {
    /// The run itself.
    pub run: Run,
    /// The method that did the work.
    pub method: Method,
    /// Why it was chosen, if it was not asked for.
    pub reason: Option<String>,
    /// Where it began.
    pub from: f64,
    /// Where it was to end.
    pub to: f64,
    /// The relative tolerance.
    pub rtol: f64,
    /// Whether it was to pass singularities that the solution passes.
    pub continues: bool,
    /// The consistent start.
    pub start: ConsistentPoint,
    /// The singularities of the run, explained.
    pub singularities: Vec<Explained>,
    /// Eigenvalues along the run of a model that prescribes a motion.
    pub zero_dynamics: Option<ZeroDynamics>,
    /// Assertions of the model that do not hold where the run ended because of that.
    pub broken: Vec<String>,
    /// What to know beside the numbers.
    pub warnings: Vec<String>,
    pub(crate) problem: Problem,
    pub(super) tolerances: Tolerances,
    pub(crate) route: Route,
}

/// The energy of a model along a run.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Energy {
    /// At the start.
    pub start: f64,
    /// At the end.
    pub end: f64,
    /// The greatest difference to the start at any step.
    pub max_drift: f64,
}

impl Solution {
    /// The time reached.
    pub fn reached(&self) -> f64 {
        self.run.trajectory.span().map_or(self.from, |(_, end)| end)
    }

    /// What evaluates the model's unknowns along the run.
    pub fn reader(&self, system: &System) -> Reader<'_> {
        let is_joined = self.method != Method::Taylor && !self.is_by_array();
        let inspector = is_joined.then(|| Inspector::new(&self.problem, &self.tolerances).ok());
        let unknowns = system.unknowns().iter();
        let settles = inspector.flatten().map(|inspector| Settles {
            inspector,
            nominals: unknowns.map(|u| u.nominal.unwrap_or(1.0).abs()).collect(),
        });
        Reader {
            trajectory: &self.run.trajectory,
            way: Way::Own(self.route.way_back(system).into()),
            settles: settles.map(Box::new),
        }
    }

    /// What evaluates expressions of the model along the run.
    pub fn observer(&self, system: &System, exprs: &[ExprId]) -> ExpressionReader {
        ExpressionReader::new(system, exprs, self.route.way_back(system))
    }

    /// Looks which assertions ended the run, and whether those that only warn held along it.
    pub(super) fn judge_assertions(&mut self, (system, setup): (&System, &Setup), rtol: f64) {
        if let StopReason::Stopped { time } = self.run.stop {
            self.broken = self.broken_at(system, time, true);
        }
        if let Some(condition) = setup.stop(system, Stop::Doubtful) {
            let way = |order| self.route.way_back_to(system, order);
            let found = StopScan::new(system, condition, rtol, way).look(&self.run.trajectory);
            let warned = found.map(|time| (time, self.broken_at(system, time, false)));
            let (time, texts) = warned.unwrap_or_default();
            let remark = |text: String| {
                format!(
                    "From t = {} on an assertion does not hold: {text}.",
                    daelight_show::short(time)
                )
            };
            self.warnings.extend(texts.into_iter().map(remark));
        }
    }

    /// The assertions that do not hold at a time, with their conditions.
    fn broken_at(&self, system: &System, time: f64, is_error: bool) -> Vec<String> {
        let of_kind = system
            .assertions()
            .iter()
            .filter(|a| a.is_error == is_error);
        let assertions: Vec<_> = of_kind.collect();
        let conditions: Vec<ExprId> = assertions.iter().map(|a| a.condition).collect();
        let values = self
            .observer(system, &conditions)
            .values(&self.run.trajectory, time);
        let Some(values) = values else {
            return Vec::new();
        };
        let broken = assertions
            .iter()
            .zip(values)
            .filter(|(_, value)| *value == 0.0);
        let text = |(assertion, _): (&&Assertion, f64)| {
            let condition = system.text(assertion.condition, 200);
            let condition =
                condition.unwrap_or_else(|| system.sources().slice(assertion.span).to_string());
            format!("{} (`{condition}`)", assertion.text)
        };
        broken.map(text).collect()
    }

    /// What looks at the constraints and the blocks of the integrated equations at single points.
    pub(crate) fn inspector(&self) -> Option<Inspector<'_>> {
        // The trajectory of the array is that of other unknowns than the problem's.
        if self.is_by_array() {
            return None;
        }
        let mut inspector = Inspector::new(&self.problem, &self.tolerances).ok()?;
        // Singular values are told in the scales of the start, whichever points are asked for.
        let mut point = vec![0.0; inspector.n_coefficients()];
        if self.run.trajectory.coefficients(self.from, &mut point) {
            let _ = inspector.inspect(self.from, &point);
        }
        Some(inspector)
    }

    /// The energy of the model along the run: at the start, at the end, and its greatest change at any step.
    pub fn energy(&self, system: &System) -> Option<Energy> {
        let mut observer = self.observer(system, &[system.energy()?]);
        let trajectory = &self.run.trajectory;
        let (first, last) = trajectory.span()?;
        let mut at = |time: f64| observer.values(trajectory, time).map(|values| values[0]);
        let (start, end) = (at(first)?, at(last)?);
        let segments = trajectory.segments();
        let stride = segments.len().div_ceil(MOST_ENERGIES).max(1);
        let max_drift = segments
            .iter()
            .step_by(stride)
            .filter_map(|segment| at(segment.start))
            .chain([end])
            .map(|value| (value - start).abs())
            .fold(0.0, f64::max);
        Some(Energy {
            start,
            end,
            max_drift,
        })
    }

    /// Whether the structure had to be repaired, and how.
    pub(crate) fn repair_text(&self) -> Option<String> {
        match &self.route {
            Route::Repaired(repaired) => Some(repaired.text()),
            Route::Reduced(_) | Route::Array => None,
        }
    }

    /// Whether the structure does not hold on this solution, so that the whole derivative array was solved.
    pub(crate) fn is_by_array(&self) -> bool {
        matches!(self.route, Route::Array)
    }

    /// An expression of the integrated equations in the user's names.
    pub fn expression_text(&self, system: &System, expr: ExprId) -> String {
        const LIMIT: usize = 200;
        let text = match &self.route {
            Route::Reduced(reduced) => reduced.expression_text(system, expr, LIMIT),
            Route::Repaired(repaired) => {
                repaired.expression_text(&Names::of_system(system), expr, LIMIT)
            }
            Route::Array => None,
        };
        text.unwrap_or_else(|| "a long expression".to_string())
    }

    /// Whether time alone decides an expression of the integrated equations.
    pub(crate) fn is_of_time(&self, expr: ExprId) -> bool {
        let equations = self.problem.equations();
        let held = Walker::new().symbols(equations.graph(), &[expr]);
        held.into_iter().all(|id| {
            matches!(
                equations.symbols().get(id),
                Symbol::Time | Symbol::Parameter(_)
            )
        })
    }

    /// Where a fault of the run stands in the text.
    pub(crate) fn explain_fault(&self, system: &System, fault: &Fault) -> String {
        match &self.route {
            Route::Reduced(reduced) => {
                let expr = self.problem.written(fault.expr);
                reduced.explain(system, &Fault { expr, ..*fault }).sentence
            }
            Route::Repaired(_) | Route::Array => {
                format!("an expression has no value: {}", fault.kind)
            }
        }
    }

    /// An unknown of the integrated equations by name.
    pub(crate) fn unknown_name(&self, system: &System, unknown: usize) -> String {
        self.route.unknown_name(system, unknown)
    }
}
