//! The record of derivatives of a run.

use crate::sensitivity::Sensitivities;
use crate::singular_time::TimeDerivative;
use crate::stop_time::StopDerivative;
use daelight_analysis::System;
use daelight_show::record::{SensitivityRecord, SingularTimeRecord, SolveRecord, StopTimeRecord};
use serde_json::{Map, Value};

/// Adds the derivatives of a run to its report.
pub fn add_sensitivities(report: &mut SolveRecord, system: &System, found: &Sensitivities) {
    let mut last = Map::new();
    if let Some(parts) = found.at(&mut found.reader(), found.until) {
        for (j, unknown) in system.unknowns().iter().enumerate() {
            let row = parts.iter().map(|part| Value::from(part[j])).collect();
            last.insert(unknown.name.clone(), Value::Array(row));
        }
    }
    let time = |found: &TimeDerivative| SingularTimeRecord {
        time: found.time,
        by: known(&found.by),
        because: because(&found.by),
    };
    report.warnings.extend(found.warnings.iter().cloned());
    report.sensitivities = Some(SensitivityRecord {
        by: found.by.clone(),
        until: found.until,
        ended: found.ended.clone(),
        last,
        singular_times: found.times.iter().map(time).collect(),
        stop: found.stop.as_ref().map(|stop| stop_time(system, stop)),
    });
}

fn known(by: &[Result<f64, String>]) -> Vec<Option<f64>> {
    by.iter().map(|by| by.as_ref().ok().copied()).collect()
}

fn because(by: &[Result<f64, String>]) -> Option<String> {
    by.iter().find_map(|by| by.as_ref().err().cloned())
}

/// How the end of a run moves.
fn stop_time(system: &System, found: &StopDerivative) -> StopTimeRecord {
    let mut last = Map::new();
    for (j, unknown) in system.unknowns().iter().enumerate() {
        let total = |moved: &Option<Vec<f64>>| Value::from(moved.as_ref().map(|moved| moved[j]));
        let row = found.values.iter().map(total).collect();
        last.insert(unknown.name.clone(), Value::Array(row));
    }
    StopTimeRecord {
        time: found.time,
        by: known(&found.by),
        because: because(&found.by),
        last,
    }
}
