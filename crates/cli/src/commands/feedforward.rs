//! The command `feedforward`: an inverse model solved, its forces verified with a forward model.

use super::models::{load_model, load_system, options as options_of};
use super::plot::Picture;
use super::solve::{check_numbers, exit_status, refuse};
use super::values::{check_ending, write_rows};
use crate::cli::{FeedforwardArgs, Method, ModelArgs};
use crate::terminal::{Status, Terminal};
use daelight::{
    Feedforward, FeedforwardOptions, NamedRows, NoFeedforward, SolveOptions, ZeroDynamics, record,
};
use daelight_analysis::System;
use daelight_show::record::{FeedforwardRecord, PathErrorRecord, Series, to_json};
use daelight_show::{picture, terminal};

/// Solves an inverse model and verifies its forces with a forward model.
pub fn feedforward(arguments: &FeedforwardArgs, terminal: &Terminal) -> Status {
    if arguments.method == Method::BdfFixed {
        return terminal.usage(
            "feedforward does not take constant steps",
            "run solve --method bdf-fixed --out forces.csv, then solve the forward model with --input",
        );
    }
    let model = &arguments.model;
    let options = FeedforwardOptions {
        solve: SolveOptions {
            to: arguments.to,
            rtol: arguments.rtol,
            atol: arguments.atol,
            method: arguments.method.chosen(),
            ..Default::default()
        },
        n_samples: arguments.samples as usize,
        n_points: arguments.points as usize,
    };
    let checked = check_ending(model.out.as_deref()).and_then(|()| check_numbers(&options.solve));
    let wanted = match checked.and_then(|()| Picture::wanted(&arguments.picture)) {
        Ok(wanted) => wanted,
        Err((message, help)) => return terminal.usage(&message, &help),
    };
    let system = match load_system(model, None, terminal) {
        Ok(system) => system,
        Err(status) => return status,
    };
    let forward = forward_model(arguments);
    let loaded = match load_model(&forward, None, terminal) {
        Ok(loaded) => loaded,
        Err(status) => return status,
    };
    let Some(forward_model) = &loaded.model else {
        return Status::ModelAtFault;
    };
    let mut announce = |found: &ZeroDynamics| terminal.note(&record::phase_warnings(found));
    let found = match daelight::feedforward(&system, forward_model, &options, &mut announce) {
        Ok(found) => found,
        Err(NoFeedforward::Fault(diagnostic)) => {
            terminal.show(&[*diagnostic], &loaded.sources);
            return Status::ModelAtFault;
        }
        Err(NoFeedforward::Inverse(no_run)) => {
            return refuse(&system, no_run, options.solve.from, model, terminal);
        }
        Err(NoFeedforward::Forward(driven, no_run)) => {
            return refuse(&driven, no_run, options.solve.from, &forward, terminal);
        }
        Err(NoFeedforward::Ended(solution)) => {
            let report = FeedforwardRecord {
                status: record::status_of(&solution),
                message: "the run of the inverse model did not reach its end".to_string(),
                inputs: Vec::new(),
                paths: Vec::new(),
                times: Vec::new(),
                inverse: record::solve(&system, &solution, None),
                forward: None,
                warnings: Vec::new(),
            };
            return feedforward_answer(&report, &system, &forward_model.name, model.json, terminal);
        }
    };
    let report = feedforward_report(&system, &found);
    if let Some(path) = &model.out {
        let (names, rows) = table(&found);
        match write_rows(path, &names, &rows, terminal) {
            Status::Done => {}
            failed => return failed,
        }
    }
    if let Some(wanted) = wanted {
        let forces = forces(&system, &found);
        let figure = picture::feedforward(&report, system.name(), &forces);
        match wanted.write(figure, terminal) {
            Status::Done => {}
            failed => return failed,
        }
    }
    feedforward_answer(&report, &system, &forward_model.name, model.json, terminal)
}

/// What the flags say of the forward model; parameters that both models have are the same in both.
fn forward_model(arguments: &FeedforwardArgs) -> ModelArgs {
    let mut forward = ModelArgs {
        model: arguments.forward.clone(),
        set: arguments.forward_set.clone(),
        class: arguments.forward_model.clone(),
        json: arguments.model.json,
        out: None,
        free: Vec::new(),
    };
    let mut plain = options_of(&forward);
    plain.set.clear();
    let known = daelight::load(&forward.model, &plain);
    let names: Vec<String> = match known.as_ref().map(|loaded| &loaded.model) {
        Ok(Some(model)) => model.parameters.iter().map(|p| p.name.clone()).collect(),
        _ => Vec::new(),
    };
    let base = |text: &str| {
        text.split(['=', '['])
            .next()
            .unwrap_or("")
            .trim()
            .to_string()
    };
    let shared = arguments
        .model
        .set
        .iter()
        .filter(|text| names.iter().any(|name| base(name) == base(text)));
    forward.set.splice(0..0, shared.cloned());
    forward
}

/// The forces over time.
fn forces(system: &System, found: &Feedforward) -> Vec<Series> {
    let unit = |name: &String| {
        let unknown = system.unknowns().iter().position(|info| info.name == *name);
        unknown.map_or(String::new(), |unknown| system.unit(unknown))
    };
    let inputs = found.inputs.iter().enumerate();
    let series = inputs.map(|(at, name)| Series {
        name: name.clone(),
        unit: unit(name),
        values: found.forces.iter().map(|values| values[at]).collect(),
    });
    series.collect()
}

/// Forces and errors over time, with the names of their columns.
fn table(found: &Feedforward) -> NamedRows {
    let errors = (1..=found.paths.len()).map(|k| format!("error {k}"));
    let names: Vec<String> = found.inputs.iter().cloned().chain(errors).collect();
    let row = |(k, time): (usize, &f64)| {
        let errors = found.paths.iter().map(|path| path.errors[k]);
        (
            *time,
            found.forces[k].iter().copied().chain(errors).collect(),
        )
    };
    let rows: Vec<(f64, Vec<f64>)> = found.times.iter().enumerate().map(row).collect();
    (names, rows)
}

fn feedforward_report(system: &System, found: &Feedforward) -> FeedforwardRecord {
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
    let status = record::status_of(&found.forward);
    let message = match (status, paths.is_empty()) {
        ("success", false) => {
            format!("the forward model follows the prescribed motion within {largest:.1e}")
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
        inverse: record::solve(system, &found.inverse, None),
        forward: Some(record::solve(&found.forward_system, &found.forward, None)),
        warnings: found.warnings.clone(),
    }
}

fn feedforward_answer(
    report: &FeedforwardRecord,
    system: &System,
    forward: &str,
    json: bool,
    terminal: &Terminal,
) -> Status {
    let answer = if json {
        to_json(report)
    } else {
        terminal::feedforward(report, system.name(), forward)
    };
    match terminal.answer(answer.as_bytes(), None) {
        Status::Done => exit_status(report.status),
        failed => failed,
    }
}
