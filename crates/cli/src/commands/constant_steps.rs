//! The command `solve --method bdf-fixed`: options checked, the run of a form reported.

use super::models::load_system;
use super::plot::Picture;
use super::solve::refuse;
use super::values::{check_ending, write_rows};
use crate::cli::{FixedArgs, ModelArgs, RunPictureWord, SolveArgs};
use crate::terminal::{Ended, Status, Terminal, Wrong};
use daelight::{ConstantSteps, FixedForm, NoFixedRun, Relations, SolveOptions, record};
use daelight_analysis::System;
use daelight_integrate::fixed::FixedError;
use daelight_show::{picture, terminal};

/// Refuses the options of constant steps where another method is asked for.
pub fn refuse_without(fixed: &FixedArgs, terminal: &Terminal) -> Result<(), Status> {
    let given = [
        ("--step", fixed.step.is_some()),
        ("--form", fixed.form.is_some()),
        ("--scale", fixed.scale.is_some()),
    ];
    match given.into_iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((name, _)) => Err(terminal.usage(
            &format!("{name} is for constant steps"),
            "add --method bdf-fixed, or leave it out",
        )),
    }
}

pub fn solve(arguments: &SolveArgs, options: &SolveOptions, terminal: &Terminal) -> Ended {
    let SolveArgs {
        model,
        fixed,
        picture,
        ..
    } = arguments;
    let checked = check_ending(model.out.as_deref()).and_then(|()| check(options, arguments));
    let wanted = checked.and_then(|wanted| Ok((wanted, Picture::wanted(&picture.file)?)));
    let (wanted, file) = wanted.map_err(|wrong| terminal.wrong(wrong))?;
    if picture
        .plot_what
        .is_some_and(|what| what != RunPictureWord::Trajectory)
    {
        let usage = "with constant steps --plot shows the trajectory";
        return Err(terminal.usage(usage, "leave out --plot-what"));
    }
    let system = load_system(model, (options.from, Relations::Kinks), terminal)?;
    let word = fixed.form.as_deref().unwrap_or("original");
    let given;
    let form = match word {
        "original" => FixedForm::Original,
        "dummy" => FixedForm::Dummy,
        "strangeness" => FixedForm::Strangeness,
        "strangeness-values" => FixedForm::StrangenessValues,
        "decoupled" => FixedForm::Decoupled,
        path => {
            let file = ModelArgs {
                model: path.to_string(),
                library: model.library.clone(),
                set: Vec::new(),
                class: None,
                free: Default::default(),
                json: model.json,
                out: None,
            };
            given = load_system(&file, (options.from, Relations::Kinks), terminal)?;
            FixedForm::Given(&given)
        }
    };
    let solution = daelight::solve_fixed(&system, form, &wanted)
        .map_err(|no_run| refused(&system, no_run, word, options.from, model, terminal))?;
    if let Some(path) = &model.out {
        let points = &solution.run.points;
        let times = points.times().iter().enumerate();
        let rows: Vec<(f64, Vec<f64>)> = times
            .map(|(at, &time)| (time, points.point(at).to_vec()))
            .collect();
        let unknowns = solution.system.unknowns().iter();
        let names: Vec<String> = unknowns.map(|u| u.name.clone()).collect();
        write_rows(path, &names, &rows, terminal)?;
    }
    if let Some(file) = file {
        let (name, samples) = (solution.system.name(), record::fixed_samples(&solution));
        file.write(picture::unknowns(name, &samples, &[]), terminal)?;
    }
    let report = record::constant_steps(&solution, word, &wanted);
    let text = |report: &_| terminal::solve(report, solution.system.name());
    terminal.print(&report, text, model.json, None)?;
    Ok(match report.status {
        "success" => Status::Done,
        _ => Status::GaveUp,
    })
}

/// The options that constant steps take; those of other methods are refused.
fn check(options: &SolveOptions, arguments: &SolveArgs) -> Result<ConstantSteps, Wrong> {
    let fixed = &arguments.fixed;
    let foreign = [
        ("--rtol", options.rtol.is_some()),
        ("--atol", options.atol.is_some()),
        ("--on-singularity continue", options.continues),
        ("--max-steps", options.max_steps.is_some()),
        ("--points", arguments.points.is_some()),
        ("--save-at", arguments.save_at.is_some()),
        ("--estimate-error", arguments.estimate_error),
        ("--sensitivity", !arguments.sensitivity.is_empty()),
        ("--input", !arguments.input.is_empty()),
        ("--stop-when", arguments.stop_when.is_some()),
    ];
    if let Some((name, _)) = foreign.iter().find(|(_, given)| *given) {
        return Err((
            format!("{name} has no meaning with constant steps"),
            "leave it out; --step alone decides on accuracy and points".to_string(),
        ));
    }
    for (name, value) in [("--from", options.from), ("--to", options.to)] {
        if let Some(value) = value.filter(|value| !value.is_finite()) {
            let help = "give a finite number".to_string();
            return Err((format!("{name} {value} is not a time"), help));
        }
    }
    let order = options.order.unwrap_or(1);
    if !(1..=6).contains(&order) {
        return Err((
            format!("--order {order} is out of range"),
            "backward differentiation is stable for the orders 1 to 6".to_string(),
        ));
    }
    let Some(step) = fixed.step else {
        return Err((
            "bdf-fixed needs a step".to_string(),
            "give one with --step, such as --step 0.01".to_string(),
        ));
    };
    if !(step.is_finite() && step > 0.0) {
        return Err((
            format!("--step {step} is not a step"),
            "give a positive number; --to before --from makes a backward run".to_string(),
        ));
    }
    if let Some(scale) = fixed.scale.filter(|scale| !(0.0..=10.0).contains(scale)) {
        return Err((
            format!("--scale {scale} is out of range"),
            "give a power from 0 to 10; 1 to 3 are useful".to_string(),
        ));
    }
    Ok(ConstantSteps {
        from: options.from,
        to: options.to,
        order,
        step,
        scale: fixed.scale,
        budget: options.budget,
        place: options.place.clone(),
    })
}

/// Says why there is no run.
fn refused(
    system: &System,
    no_run: NoFixedRun,
    form: &str,
    from: Option<f64>,
    arguments: &ModelArgs,
    terminal: &Terminal,
) -> Status {
    let (message, help) = match no_run {
        NoFixedRun::NoRun(no_run) => return refuse(system, no_run, from, arguments, terminal),
        NoFixedRun::Form(diagnostic) => {
            terminal.show(&[*diagnostic], system.sources());
            return Status::ModelAtFault;
        }
        NoFixedRun::Steps(FixedError::Steps { length }) if length < 1.0 => (
            format!("the step is longer than the interval, which has {length} steps"),
            "choose a shorter step".to_string(),
        ),
        NoFixedRun::Steps(FixedError::Steps { length }) => (
            format!(
                "the interval has {} steps, which is no whole number",
                daelight_show::short(length)
            ),
            "choose a step that divides it, and at least as many steps as the order".to_string(),
        ),
        NoFixedRun::Steps(FixedError::Input(error)) => {
            terminal.usage(
                &format!("the form {form} cannot be discretised: {error}"),
                &format!("see `daelight check {form}`"),
            );
            return Status::ModelAtFault;
        }
        NoFixedRun::Steps(FixedError::History { time }) => {
            terminal.usage(
                &format!("the solution that gives the first values does not reach t = {time}"),
                &format!(
                    "see `daelight solve {}` for what ends it; a lower order needs fewer values",
                    arguments.model
                ),
            );
            return Status::GaveUp;
        }
        NoFixedRun::Steps(error) => (error.to_string(), "choose a longer step".to_string()),
        NoFixedRun::NothingToScale => (
            format!("--scale: the form {form} has no equation without derivatives"),
            "leave it out".to_string(),
        ),
        NoFixedRun::Stranger(name) => {
            terminal.usage(
                &format!("{form} differentiates `{name}`, which {} does not have: its first values are unknown", arguments.model),
                "give it the name of an unknown of the model",
            );
            return Status::ModelAtFault;
        }
        NoFixedRun::Parameter(error) => {
            terminal.usage(
                &format!("a parameter of {form} cannot take the model's value: {error}"),
                "declare it as in the model",
            );
            return Status::ModelAtFault;
        }
    };
    terminal.usage(&message, &help)
}
