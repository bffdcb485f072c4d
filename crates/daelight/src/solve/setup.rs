//! What all runs of a model share, whatever the values of its parameters are.

use super::quick::Reference;
use super::{SolveOptions, span_of_run};
use crate::hybrid::Timed;
use daelight_analysis::prescribed::Prescribed;
use daelight_analysis::{Reduced, System};
use daelight_integrate::Problem;
use daelight_lang::StopCondition;
use std::sync::{Arc, OnceLock};

/// A condition that is looked at along runs.
#[derive(Clone, Copy)]
pub(super) enum Stop {
    /// The stopping condition.
    Asked,
    /// One of the assertions that end a run is broken.
    Broken,
    /// One of the others is.
    Doubtful,
}

/// What all runs of a model share, whatever the values of its parameters are: trivial equations removed, compiled tapes.
pub struct Setup {
    pub(crate) reduced: Arc<Reduced>,
    /// The reduced equations, or why they cannot be compiled.
    problem: Result<Problem, String>,
    /// Whether some equation prescribes a function of time, once that was asked.
    prescribes: OnceLock<bool>,
    /// What functions of time decide of the stopping condition, of assertions that end a run and of the others, once that was asked.
    timed: [OnceLock<Vec<Timed>>; 3],
    /// What quick starts are measured by, where they were prepared.
    pub(super) reference: Option<Reference>,
}

impl Setup {
    /// Prepares runs of a model.
    pub fn new(system: &System) -> Self {
        let reduced = Arc::clone(system.dae().trimmed());
        let problem = Problem::of_reduced(system, &reduced);
        Self {
            problem: problem.map_err(|error| error.to_string()),
            reduced,
            prescribes: OnceLock::new(),
            timed: Default::default(),
            reference: None,
        }
    }

    /// The same for runs at many values of the parameters: those whose start lies straight ahead of the written values need no
    /// search. The start of the model as it is tells which these are, so that no run depends on the others.
    pub fn for_many(system: &System, options: &SolveOptions) -> Self {
        let mut setup = Self::new(system);
        let (from, _) = span_of_run(system, options);
        setup.reference = Reference::new(system, &setup, options, from);
        setup
    }

    /// Whether some equation prescribes a function of time, so that there are zero dynamics to be told.
    pub(super) fn prescribes(&self, system: &System) -> bool {
        *self.prescribes.get_or_init(|| {
            let found = system.structure().map(|structure| {
                let times = &structure.offsets().equation;
                Prescribed::new(system.equations(), structure, times)
            });
            found.is_ok_and(|prescribed| !prescribed.equations.is_empty())
        })
    }

    /// What ends a run or is told of it: the stopping condition, assertions that end it, and the others; with what functions of time decide of it.
    pub(super) fn stop(&self, system: &System, which: Stop) -> Option<(StopCondition, &[Timed])> {
        let condition = match which {
            Stop::Asked => system.stop_when(),
            Stop::Broken => system.breaks(true),
            Stop::Doubtful => system.breaks(false),
        }?;
        let known = &self.timed[which as usize];
        let timed = known.get_or_init(|| Timed::of_stop(system, condition));
        Some((condition, timed))
    }

    /// The equations as they were compiled, at the values of a system. Whether their structure holds is decided by
    /// [`System::dae`].
    pub(super) fn problem(&self, system: &System) -> Result<Problem, String> {
        let problem = self.problem.as_ref().map_err(Clone::clone)?;
        Ok(problem.at_values(system.parameters().values()))
    }

    /// The same for equations along a run: their functions of time prescribe no motion, and hide nothing.
    pub(crate) fn along_a_run(mut self) -> Self {
        self.prescribes = OnceLock::from(false);
        self.problem = self.problem.map(Problem::resolved);
        self
    }
}
