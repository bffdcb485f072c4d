//! What looks at a run while it goes on.

use super::SolveOptions;
use crate::observe::StopScan;
use daelight_integrate::{Watch, Watched};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Everything that looks at a run while it goes on.
pub(super) fn watch(options: &SolveOptions, scan: Option<Arc<Mutex<StopScan>>>) -> Option<Watch> {
    let (interrupt, progress) = (options.interrupt.clone(), options.progress.clone());
    if scan.is_none() && interrupt.is_none() && progress.is_none() {
        return None;
    }
    if let Some(interrupt) = &interrupt {
        interrupt.begin();
    }
    Some(Watch::new(move |trajectory| {
        if let Some(scan) = &scan
            && let Some(time) = lock(scan).look(trajectory)
        {
            return Watched::StopAt(time);
        }
        if let (Some(progress), Some((_, reached))) = (&progress, trajectory.span()) {
            progress.tell(reached);
        }
        match &interrupt {
            Some(interrupt) if interrupt.is_asked() => Watched::Interrupt,
            _ => Watched::GoOn,
        }
    }))
}

/// Nothing can be half done behind these locks: a panic elsewhere does not matter.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
