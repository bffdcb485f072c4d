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
            structure: Structure::of_equations(system.equations()).ok(),
            written: Problem::new(system.equations(), parameters).ok(),
            problem: Problem::new(reduced.equations(), parameters)
                .ok()
                .map(|problem| problem.smooth_as(&reduced)),
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

    /// The equations with nothing removed, where the removed unknowns would be read from derivatives that the reduced
    /// equations do not hold: implicit methods do not know these between their steps.
    pub(super) fn whole(&self, system: &System) -> Option<Arc<Reduced>> {
        let offsets = self.problem.as_ref()?.structure().offsets();
        let is_read = self.reduced.read_beyond(&offsets.variable);
        (!is_read.is_empty()).then(|| Arc::new(Reduced::nothing(system)))
    }

    /// The reduced equations at the values of a system.
    pub(super) fn problem(&self, system: &System) -> Result<Problem, ProblemError> {
        let parameters = system.parameters().values();
        match &self.problem {
            Some(problem) => problem.with_parameters(parameters),
            None => {
                let problem = Problem::new(self.reduced.equations(), parameters)?;
                Ok(problem.smooth_as(&self.reduced))
            }
        }
    }
}
