//! What all runs of a model share, whatever the values of its parameters are.

use daelight_analysis::structure::Structure;
use daelight_analysis::{Reduced, System};
use daelight_integrate::{Problem, ProblemError};
use std::sync::Arc;

/// What all runs of a model share, whatever the values of its parameters are: trivial equations removed, compiled tapes.
pub struct Setup {
    pub(super) structure: Option<Structure>,
    /// The equations as written; `None` where they are singular everywhere at the first values.
    written: Option<Problem>,
    pub(super) reduced: Arc<Reduced>,
    /// The reduced equations; `None` likewise.
    problem: Option<Problem>,
}

impl Setup {
    /// Prepares runs of a model.
    pub fn new(system: &System) -> Self {
        let parameters = system.parameters().values();
        let reduced = Arc::new(Reduced::new(system));
        Self {
            structure: system.structure().ok().cloned(),
            written: Problem::new(system.equations(), parameters).ok(),
            problem: Problem::of_reduced(&reduced, parameters).ok(),
            reduced,
        }
    }

    /// Whether the structure of the equations as written holds somewhere at these values.
    pub(super) fn is_regular(&self, system: &System) -> bool {
        let parameters = system.parameters().values();
        match &self.written {
            Some(problem) => problem.with_parameters(parameters).is_ok(),
            None => Problem::new(system.equations(), parameters).is_ok(),
        }
    }

    /// The reduced equations at the values of a system.
    pub(super) fn problem(&self, system: &System) -> Result<Problem, ProblemError> {
        let parameters = system.parameters().values();
        match &self.problem {
            Some(problem) => problem.with_parameters(parameters),
            None => Problem::of_reduced(&self.reduced, parameters),
        }
    }
}
