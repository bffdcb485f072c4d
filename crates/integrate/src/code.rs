//! What is compiled once for all runs of the same equations, whatever their parameters are: native code of the stages above all.
//!
//! It gives the numbers of the interpreter, so that no run depends on whether another one came before it.

use daelight_expr::Tape;
use daelight_native::{NativeCode, NativeError, SeriesCode};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The stages and the system Jacobian as native code.
#[derive(Clone)]
pub(crate) struct StageCode {
    pub series: Arc<SeriesCode>,
    pub jacobian: Arc<NativeCode>,
}

/// What the runs of the same equations share: tapes, the steps that they took, and native code once these were many.
#[derive(Default)]
pub(crate) struct SharedCode {
    n_steps: AtomicUsize,
    /// By number of stages; what was refused once is refused again.
    made: Mutex<Vec<(usize, Result<StageCode, NativeError>)>>,
    /// The residuals without stages, once they were asked for.
    pub plain: OnceLock<Arc<Tape>>,
}

impl SharedCode {
    /// The steps of all runs that came to an end.
    pub fn n_steps(&self) -> usize {
        self.n_steps.load(Ordering::Relaxed)
    }

    /// Counts the steps of a run.
    pub fn count(&self, n_steps: usize) {
        self.n_steps.fetch_add(n_steps, Ordering::Relaxed);
    }

    /// The code for a number of stages; whoever comes while it is made waits for it.
    pub fn get(
        &self,
        n_stages: usize,
        make: impl FnOnce() -> Result<StageCode, NativeError>,
    ) -> Result<StageCode, NativeError> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, known)) = made.iter().find(|(stages, _)| *stages == n_stages) {
            return known.clone();
        }
        let code = make();
        made.push((n_stages, code.clone()));
        code
    }
}
