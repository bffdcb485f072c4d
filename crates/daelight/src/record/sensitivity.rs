//! The record of derivatives of a run.

use crate::sensitivity::Sensitivities;
use crate::singular_time::TimeDerivative;
use daelight_analysis::System;
use daelight_show::record::{SensitivityRecord, SingularTimeRecord, SolveRecord};
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
        by: found
            .by
            .iter()
            .map(|by| by.as_ref().ok().copied())
            .collect(),
        because: found.by.iter().find_map(|by| by.as_ref().err().cloned()),
    };
    report.warnings.extend(found.warnings.iter().cloned());
    report.sensitivities = Some(SensitivityRecord {
        by: found.by.clone(),
        until: found.until,
        ended: found.ended.clone(),
        last,
        singular_times: found.times.iter().map(time).collect(),
    });
}
