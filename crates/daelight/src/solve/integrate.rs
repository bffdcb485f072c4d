//! The run itself: directly, by the judgement of rewritten equations, or with the whole derivative array.

use super::route::Route;
use super::setup::Setup;
use super::watching::{Scans, watch};
use super::{SolveOptions, is_implicit};
use crate::rewriting::{Judge, Settled};
use daelight_analysis::System;
use daelight_analysis::initial::ConsistentPoint;
use daelight_integrate::implicit::{self, Method};
use daelight_integrate::{
    OnSingularity, Options, Problem, Run, Start, StartError, Tolerances, array,
};
use std::time::{Duration, Instant};

/// Most time for the whole derivative array where rewritten equations are singular, unless a budget is given.
const SECOND_OPINION: Duration = Duration::from_secs(60);

/// A run that is about to begin.
pub(super) struct Attempt<'a> {
    pub system: &'a System,
    pub setup: &'a Setup,
    pub options: &'a SolveOptions,
    pub problem: &'a Problem,
    pub point: &'a ConsistentPoint,
    /// What the integrator is asked for.
    pub wanted: Options,
    /// How many times coarser the tolerances of an implicit method are than those of the series.
    pub coarser: f64,
    /// Tolerances of the model's own unknowns, for the whole derivative array.
    pub written: Tolerances,
    /// What looks for the end in the last run that was begun.
    pub scans: Scans,
}

/// A run, and how it came about.
pub(super) struct Integrated {
    pub route: Route,
    pub run: Run,
    pub method: Method,
    pub reason: Option<String>,
    pub warnings: Vec<String>,
}

impl Attempt<'_> {
    /// Integrates the equations of a route from the start, or the derivative array where their structure does not hold.
    pub fn integrate(&mut self, route: Route) -> Result<Integrated, StartError> {
        let start = route.start(self.problem, self.point);
        self.scans = Scans::new((self.system, self.setup), &route, self.options);
        match self.directly(&route, &start) {
            Ok((run, method, reason)) => {
                let found = match &route {
                    Route::Repaired(_) => self.settle(&route, &start, run),
                    Route::Reduced(_) | Route::Array => Settled::as_it_is(run),
                };
                let (route, method, reason) = match found.by_array {
                    true => (Route::Array, Method::Taylor, None),
                    false => (route, method, reason),
                };
                Ok(Integrated {
                    route,
                    run: found.run,
                    method,
                    reason,
                    warnings: found.warnings,
                })
            }
            // The structure may fail at this very start, and hold nowhere along its solution.
            Err(error) if array::is_needed(&error) && !is_implicit(self.options.method) => {
                let run = self.by_array(self.wanted.deadline).map_err(|_| error)?;
                Ok(Integrated {
                    route: Route::Array,
                    run,
                    method: Method::Taylor,
                    reason: None,
                    warnings: vec![
                        "On this solution a block of the system Jacobian is singular all along, and beside it that is regular: \
                         other solutions may leave this one at any time, and nothing says which one is followed. The series \
                         come from the whole derivative array."
                            .to_string(),
                    ],
                })
            }
            Err(error) => Err(error),
        }
    }

    /// By the method that was asked for, or the ones that suit.
    fn directly(
        &mut self,
        route: &Route,
        start: &Start,
    ) -> Result<(Run, Method, Option<String>), StartError> {
        if let Route::Array = route {
            return Err(StartError::StructureFails);
        }
        self.wanted.watch = watch(self.options, &self.scans);
        by_method(
            self.problem,
            start,
            &self.wanted,
            self.options.method,
            self.coarser,
        )
    }

    /// Asks which singular points of rewritten equations are those of the model.
    fn settle(&mut self, route: &Route, start: &Start, run: Run) -> Settled {
        let Route::Repaired(repaired) = route else {
            return Settled::as_it_is(run);
        };
        let judge = Judge::new(self.system, repaired, route.way_back(self.system));
        let mut passing = self.wanted.clone();
        passing.on_singularity = OnSingularity::Pass;
        let scans = Scans::new((self.system, self.setup), route, self.options);
        passing.watch = watch(self.options, &scans);
        let (problem, coarser) = (self.problem, self.coarser);
        let (method, continues) = (self.options.method, self.options.continues);
        let deadline = self.wanted.deadline;
        judge.settle(
            run,
            continues,
            &mut || Some(by_method(problem, start, &passing, method, coarser).ok()?.0),
            &mut || {
                let until = deadline.unwrap_or_else(|| Instant::now() + SECOND_OPINION);
                self.by_array(Some(until)).ok()
            },
        )
    }

    /// The equations as they stand, all derivatives at once.
    fn by_array(&mut self, deadline: Option<Instant>) -> Result<Run, StartError> {
        self.wanted.tolerances = self.written.clone();
        self.wanted.deadline = deadline;
        self.scans = Scans::new((self.system, self.setup), &Route::Array, self.options);
        self.wanted.watch = watch(self.options, &self.scans);
        array::solve(self.system, self.point.time, &self.point.jet, &self.wanted)
    }
}

/// By the method that was asked for, or the ones that suit; with the reason for the choice.
fn by_method(
    problem: &Problem,
    start: &Start,
    wanted: &Options,
    method: Option<Method>,
    coarser: f64,
) -> Result<(Run, Method, Option<String>), StartError> {
    match method {
        Some(method) => {
            let run = implicit::solve(problem, start, wanted, method)?;
            Ok((run, method, None))
        }
        None => {
            let chosen = implicit::solve_by_choice(problem, start, wanted, coarser)?;
            Ok((chosen.run, chosen.method, Some(chosen.why)))
        }
    }
}
