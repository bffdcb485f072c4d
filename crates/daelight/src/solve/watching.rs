//! What looks at a run while it goes on.

use super::route::Route;
use super::setup::{Setup, Stop};
use super::{SolveOptions, tolerance};
use crate::hybrid::EventScan;
use crate::observe::StopScan;
use daelight_analysis::System;
use daelight_integrate::{Watch, Watched};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What may end a run, looked for in the last one that was begun.
#[derive(Default)]
pub(super) struct Scans {
    /// The stopping condition.
    pub stop: Option<Arc<Mutex<StopScan>>>,
    /// Assertions of the model.
    pub broken: Option<Arc<Mutex<StopScan>>>,
    /// What ends a leg of a run with events.
    pub events: Option<Arc<Mutex<EventScan>>>,
}

impl Scans {
    pub fn new((system, setup): (&System, &Setup), route: &Route, options: &SolveOptions) -> Self {
        let scan = |which| {
            let way = |order| route.way_back_to(system, order);
            let condition = setup.stop(system, which)?;
            let scan = StopScan::new(system, condition, tolerance(system, options), way);
            Some(Arc::new(Mutex::new(scan)))
        };
        Self {
            stop: scan(Stop::Asked),
            broken: scan(Stop::Broken),
            events: options.events.as_ref().map(|events| {
                let way = route.way_back_to(system, events.order());
                let scan = EventScan::new(system, Arc::clone(events), way);
                Arc::new(Mutex::new(scan))
            }),
        }
    }

    /// Where they could not be looked for.
    pub fn remarks(&self) -> Vec<String> {
        let named = [
            ("The stopping condition", &self.stop),
            ("An assertion of the model", &self.broken),
        ];
        let mut remarks = Vec::new();
        for (name, scan) in named {
            let Some(scan) = scan.as_ref().map(|scan| lock(scan)) else {
                continue;
            };
            remarks.extend(scan.no_value_at().map(|time| {
                format!("{name} has no value at t = {time}; it was not looked at there.")
            }));
            remarks
                .extend(scan.unresolved_at().map(|time| {
                    format!("{name} changes too fast to be followed near t = {time}.")
                }));
        }
        if let Some(scan) = &self.events {
            remarks.extend(lock(scan).unresolved().map(|(text, time)| {
                format!("`{text}` changes too fast to be followed near t = {time}.")
            }));
        }
        remarks
    }
}

/// Everything that looks at a run while it goes on.
pub(super) fn watch(options: &SolveOptions, scans: &Scans) -> Option<Watch> {
    let (interrupt, progress) = (options.interrupt.clone(), options.progress.clone());
    let events = scans.events.clone();
    let scans: Vec<_> = [&scans.stop, &scans.broken]
        .into_iter()
        .flatten()
        .cloned()
        .collect();
    if scans.is_empty() && events.is_none() && interrupt.is_none() && progress.is_none() {
        return None;
    }
    if let Some(interrupt) = &interrupt {
        interrupt.begin();
    }
    Some(Watch::new(move |trajectory| {
        let found = scans.iter().filter_map(|scan| lock(scan).look(trajectory));
        let events = events.iter();
        let found = found.chain(events.filter_map(|scan| lock(scan).look(trajectory)));
        let start = trajectory.span().map_or(0.0, |(start, _)| start);
        let distance = |time: &f64| (time - start).abs();
        if let Some(time) = found.min_by(|a, b| distance(a).total_cmp(&distance(b))) {
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
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
