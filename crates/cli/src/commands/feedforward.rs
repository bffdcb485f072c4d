//! The command `feedforward`: an inverse model solved, its forces verified with a forward model.

use super::models::{load_model, load_system, options as options_of};
use super::plot::Picture;
use super::solve::{check_numbers, exit_status, refuse};
use super::values::{check_ending, write_rows};
use crate::cli::{FeedforwardArgs, Method, ModelArgs};
use crate::terminal::{Ended, Status, Terminal};
use daelight::{FeedforwardOptions, NoFeedforward, SolveOptions, ZeroDynamics, record};
use daelight_show::{picture, terminal};

/// Solves an inverse model and verifies its forces with a forward model.
pub fn feedforward(arguments: &FeedforwardArgs, terminal: &Terminal) -> Ended {
    if arguments.method == Method::BdfFixed {
        return Err(terminal.usage(
            "feedforward does not take constant steps",
            "run solve --method bdf-fixed --out forces.csv, then solve the forward model with --input",
        ));
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
    let wanted = checked.and_then(|()| Picture::wanted(&arguments.picture));
    let wanted = wanted.map_err(|wrong| terminal.wrong(wrong))?;
    let system = load_system(model, (None, daelight::Relations::Kinks), terminal)?;
    let forward = forward_model(arguments);
    let loaded = load_model(&forward, daelight::Relations::Kinks, terminal)?;
    let forward_model = loaded.model.as_ref().ok_or(Status::ModelAtFault)?;
    let mut announce = |found: &ZeroDynamics| terminal.note(&record::phase_warnings(found));
    let found = daelight::feedforward(&system, forward_model, &options, &mut announce);
    let report = match &found {
        Ok(found) => record::feedforward(&system, found),
        Err(NoFeedforward::Ended(solution)) => record::no_feedforward(&system, solution),
        Err(_) => Default::default(),
    };
    let found = match found {
        Ok(found) => Some(found),
        Err(NoFeedforward::Ended(_)) => None,
        Err(NoFeedforward::Fault(diagnostic)) => {
            terminal.show(&[*diagnostic], &loaded.sources);
            return Err(Status::ModelAtFault);
        }
        Err(NoFeedforward::Inverse(no_run)) => {
            let from = options.solve.from;
            return Err(refuse(&system, no_run, from, model, terminal));
        }
        Err(NoFeedforward::Forward(driven, no_run)) => {
            let from = options.solve.from;
            return Err(refuse(&driven, no_run, from, &forward, terminal));
        }
    };
    if let (Some(found), Some(path)) = (&found, &model.out) {
        let (names, rows) = found.table();
        write_rows(path, &names, &rows, terminal)?;
    }
    if let (Some(found), Some(wanted)) = (&found, wanted) {
        let forces = record::forces(&system, found);
        let figure = picture::feedforward(&report, system.name(), &forces);
        wanted.write(figure, terminal)?;
    }
    let text = |report: &_| terminal::feedforward(report, system.name(), &forward_model.name);
    terminal.print(&report, text, model.json, None)?;
    Ok(exit_status(report.status))
}

/// What the flags say of the forward model; parameters that both models have are the same in both.
fn forward_model(arguments: &FeedforwardArgs) -> ModelArgs {
    let mut forward = ModelArgs {
        model: arguments.forward.clone(),
        library: arguments.model.library.clone(),
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
