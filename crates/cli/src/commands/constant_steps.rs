//! The command `solve --method bdf-fixed`: options checked, the run of a form reported.

use super::models::load_system;
use super::plot::Picture;
use super::solve::refuse;
use super::values::{check_ending, write_rows};
use crate::cli::{FixedArgs, ModelArgs, RunPictureWord, SolveArgs};
use crate::terminal::{Status, Terminal, Wrong};
use daelight::{FixedForm, FixedOptions, FixedSolution, NoFixedRun, SolveOptions, record};
use daelight_analysis::System;
use daelight_integrate::fixed::{FixedError, StopReason};
use daelight_show::record::{
    DiscretisationRecord, SolveRecord, StatisticsRecord, named_values, to_json,
};
use daelight_show::{picture, terminal};

/// A condition number from which double precision keeps no digit.
const SINGULAR: f64 = 1e16;

/// Refuses the options of constant steps where another method is asked for.
pub fn refuse_without(fixed: &FixedArgs, terminal: &Terminal) -> Option<Status> {
    let given = [
        ("--step", fixed.step.is_some()),
        ("--form", fixed.form.is_some()),
        ("--scale", fixed.scale.is_some()),
    ];
    let (name, _) = given.into_iter().find(|(_, given)| *given)?;
    Some(terminal.usage(
        &format!("{name} is for constant steps"),
        "add --method bdf-fixed, or leave it out",
    ))
}

pub fn solve(arguments: &SolveArgs, options: &SolveOptions, terminal: &Terminal) -> Status {
    let SolveArgs {
        model,
        fixed,
        picture,
        ..
    } = arguments;
    let checked = check_ending(model.out.as_deref()).and_then(|()| check(options, arguments));
    let wanted = checked.and_then(|wanted| Ok((wanted, Picture::wanted(&picture.file)?)));
    let (wanted, picture_wanted) = match wanted {
        Ok(wanted) => wanted,
        Err((message, help)) => return terminal.usage(&message, &help),
    };
    if picture
        .plot_what
        .is_some_and(|what| what != RunPictureWord::Trajectory)
    {
        return terminal.usage(
            "with constant steps --plot shows the trajectory",
            "leave out --plot-what",
        );
    }
    let system = match load_system(model, options.from, terminal) {
        Ok(system) => system,
        Err(status) => return status,
    };
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
                set: Vec::new(),
                class: None,
                free: Default::default(),
                json: model.json,
                out: None,
            };
            given = match load_system(&file, options.from, terminal) {
                Ok(given) => given,
                Err(status) => return status,
            };
            FixedForm::Given(&given)
        }
    };
    let solution = match daelight::solve_fixed(&system, form, &wanted) {
        Ok(solution) => solution,
        Err(no_run) => return refused(&system, no_run, word, options.from, model, terminal),
    };
    if let Some(path) = &model.out {
        let points = &solution.run.points;
        let times = points.times().iter().enumerate();
        let rows: Vec<(f64, Vec<f64>)> = times
            .map(|(at, &time)| (time, points.point(at).to_vec()))
            .collect();
        let unknowns = solution.system.unknowns().iter();
        let names: Vec<String> = unknowns.map(|u| u.name.clone()).collect();
        match write_rows(path, &names, &rows, terminal) {
            Status::Done => {}
            failed => return failed,
        }
    }
    if let Some(file) = picture_wanted {
        let (name, samples) = (solution.system.name(), record::fixed_samples(&solution));
        match file.write(picture::unknowns(name, &samples, &[]), terminal) {
            Status::Done => {}
            failed => return failed,
        }
    }
    let report = report(&solution, word, &wanted);
    let answer = if model.json {
        to_json(&report)
    } else {
        terminal::solve(&report, system.name())
    };
    match terminal.answer(answer.as_bytes(), None) {
        Status::Done if report.status == "success" => Status::Done,
        Status::Done => Status::GaveUp,
        failed => failed,
    }
}

/// The options that constant steps take; those of other methods are refused.
fn check(options: &SolveOptions, arguments: &SolveArgs) -> Result<FixedOptions, Wrong> {
    let fixed = &arguments.fixed;
    let foreign = [
        ("--rtol", options.rtol.is_some()),
        ("--atol", options.atol.is_some()),
        ("--on-singularity continue", options.continues),
        ("--max-steps", options.max_steps.is_some()),
        ("--points", arguments.points.is_some()),
        ("--save-at", arguments.save_at.is_some()),
        ("--estimate-error", arguments.estimate_error),
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
            return Err((format!("{name} {value} is no time"), help));
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
            format!("--step {step} is no step"),
            "give a positive number; --to before --from makes a backward run".to_string(),
        ));
    }
    if let Some(scale) = fixed.scale.filter(|scale| !(0.0..=10.0).contains(scale)) {
        return Err((
            format!("--scale {scale} is out of range"),
            "give a power from 0 to 10; 1 to 3 are useful".to_string(),
        ));
    }
    Ok(FixedOptions {
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
            format!("the interval has {length} steps"),
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

fn report(solution: &FixedSolution, form: &str, wanted: &FixedOptions) -> SolveRecord {
    let run = &solution.run;
    let (from, to) = solution.interval;
    let at = run.points.times().len() - 1;
    let (reached, last) = (run.points.times()[at], run.points.point(at));
    let names = solution.system.unknowns().iter().map(|u| u.name.as_str());
    let s = &run.statistics;
    let conditioning = run.conditioning;
    let singular = conditioning
        .map(|c| c.plain)
        .filter(|c| c.is_nan() || *c >= SINGULAR);
    let is_solved = run.reason.is_success() && last.iter().all(|value| value.is_finite());
    let status = match (is_solved, singular) {
        (true, _) if solution.has_drifted() => "drifted",
        (true, None) => "success",
        _ => "failure",
    };
    let mut message = match &run.reason {
        StopReason::Finished => format!(
            "{} constant steps of {} from t = {from} to {to}",
            s.steps, wanted.step
        ),
        StopReason::Observer => {
            format!("the run ended at t = {reached}: the time is used up; allow more with --budget")
        }
        StopReason::SingularMatrix { t } => format!(
            "the discretised equations of the form {form} are singular in the step from t = {t}"
        ),
        StopReason::NewtonFailed { t, .. } => format!(
            "the discretised equations of the form {form} were not solved in the step from t = {t}"
        ),
        other => format!("the run ended at t = {reached}: {other}"),
    };
    match status {
        "drifted" => message.push_str(", which do not keep all constraints of the model"),
        "failure" if is_solved => message.push_str(", whose equations do not determine the values"),
        _ => {}
    }
    let mut warnings = solution.warnings.clone();
    if run.n_stagnant > 0 {
        warnings.push(format!(
            "In {} steps rounding ended the iterations above their tolerance: the equations are badly conditioned.",
            run.n_stagnant
        ));
    }
    if let Some(condition) = singular {
        warnings.push(format!(
            "The discretised equations are singular to working precision (condition {condition:.1e}): they do not determine the \
             values, which cannot be relied on. Another form, or a longer step, may serve."
        ));
    }
    SolveRecord {
        status,
        reason: match &run.reason {
            StopReason::Finished if status == "failure" => "unsolved",
            StopReason::Finished if status == "drifted" => "residual",
            StopReason::Finished => "finished",
            StopReason::Observer => "budget",
            StopReason::Fault { .. } => "fault",
            _ => "unsolved",
        },
        message,
        method: "bdf-fixed".to_string(),
        time: reached,
        last: named_values(names.zip(last.iter().copied())),
        statistics: StatisticsRecord {
            steps: s.steps,
            rejected: 0,
            residuals: s.residuals,
            jacobians: s.jacobians,
            factorizations: s.factorizations,
            jets: 0,
        },
        max_constraint_residual: solution.residuals.iter().copied().fold(0.0, f64::max),
        residuals: solution.residuals.clone(),
        discretisation: Some(DiscretisationRecord {
            form: form.to_string(),
            order: wanted.order,
            step: wanted.step,
            scale: wanted.scale.unwrap_or(0.0),
            n_unknowns: solution.n_discretised,
            n_algebraic: solution.n_algebraic,
            condition: conditioning.map(|c| c.plain),
            condition_scaled: conditioning.map(|c| c.scaled),
        }),
        warnings,
        ..SolveRecord::default()
    }
}
