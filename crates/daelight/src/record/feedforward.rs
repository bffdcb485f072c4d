//! The record of inverse dynamics verified.

use super::{solve, status_of};
use crate::{Feedforward, Solution};
use daelight_analysis::System;
use daelight_show::record::{FeedforwardRecord, PathErrorRecord, TimeSeries};

/// How well the forces of an inverse model make the forward model follow its motion.
pub fn feedforward(system: &System, found: &Feedforward) -> FeedforwardRecord {
    let paths: Vec<PathErrorRecord> = found
        .paths
        .iter()
        .filter_map(|path| {
            let worst = path.worst()?;
            Some(PathErrorRecord {
                equation: system.equation_text(path.equation),
                largest: path.errors[worst].abs(),
                time: found.times[worst],
                last: path.errors.last()?.abs(),
                errors: path.errors.clone(),
            })
        })
        .collect();
    let largest = paths.iter().map(|path| path.largest).fold(0.0, f64::max);
    let status = status_of(&found.forward);
    let message = match (status, paths.is_empty()) {
        ("success", false) => {
            format!("the forward model leaves the prescribed motion by {largest:.1e} at most")
        }
        ("success", true) => "no prescribed motion could be compared".to_string(),
        _ => "the run of the forward model did not reach its end".to_string(),
    };
    FeedforwardRecord {
        status,
        message,
        inputs: found.inputs.clone(),
        paths,
        times: found.times.clone(),
        inverse: solve(system, &found.inverse, None),
        forward: Some(solve(&found.forward_system, &found.forward, None)),
        warnings: found.warnings.clone(),
    }
}

/// The same where the run of the inverse model did not reach its end.
pub fn no_feedforward(system: &System, solution: &Solution) -> FeedforwardRecord {
    FeedforwardRecord {
        status: status_of(solution),
        message: "the run of the inverse model did not reach its end".to_string(),
        inverse: solve(system, solution, None),
        ..FeedforwardRecord::default()
    }
}

/// The forces over time.
pub fn forces(system: &System, found: &Feedforward) -> Vec<TimeSeries> {
    let unit = |name: &String| {
        let unknown = system.unknowns().iter().position(|info| info.name == *name);
        unknown.map_or(String::new(), |unknown| system.unit(unknown))
    };
    let inputs = found.inputs.iter().enumerate();
    let series = inputs.map(|(at, name)| TimeSeries {
        name: name.clone(),
        unit: unit(name),
        values: found.forces.iter().map(|values| values[at]).collect(),
    });
    series.collect()
}
