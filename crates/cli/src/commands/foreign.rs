//! FMUs of others: `check` reads them, `solve` runs them by co-simulation in a process of their own.

use super::plot::Picture;
use super::solve::{check as check_numbers, exit_status, output_times, to_standard_output};
use super::values::write_rows;
use crate::cli::{Method, ModelArgs, SolveArgs};
use crate::terminal::{Ended, Status, Terminal, Wrong};
use daelight::{InputColumn, SolveOptions};
use daelight_fmu::{FmuDescription, FmuKind, FmuVariable, ForeignFmu, Version, system_word};
use daelight_host::{
    GuestEnd, GuestInput, GuestJob, GuestRun, GuestValue, GuestVariable, ValueType,
};
use daelight_lang::{Code, Diagnostic, Severity, SourceMap, nearest};
use daelight_plot::Scale;
use daelight_show::record::{CheckRecord, SolveRecord};
use daelight_show::{Table, count, picture, table_value, terminal as words};
use std::path::Path;

/// What of a command on models has no meaning for an FMU.
pub fn refuse_flags(model: &ModelArgs, takes_values: bool) -> Result<(), (String, String)> {
    let given = [
        ("--library", !model.library.is_empty()),
        ("--set", !model.set.is_empty() && !takes_values),
        ("--free", !model.free.is_empty()),
        ("--model", model.class.is_some()),
    ];
    match given.iter().find(|(_, is_given)| *is_given) {
        Some((flag, _)) => Err((
            format!("{flag} has no meaning for an FMU here"),
            "it is for models in Modelica".to_string(),
        )),
        None => Ok(()),
    }
}

/// Reads an FMU and says what it is and what is wrong with it.
pub fn check(model: &ModelArgs, terminal: &Terminal) -> Ended {
    refuse_flags(model, false).map_err(|wrong| terminal.wrong(wrong))?;
    let print = |ok: bool, found: &[Diagnostic], sources: &SourceMap, text: String| {
        let record = CheckRecord::new(ok, found, sources);
        if !model.json {
            terminal.show(found, sources);
        }
        terminal.print(&record, |_| text, model.json, model.out.as_deref())
    };
    let fmu = match ForeignFmu::read(Path::new(&model.model)) {
        Ok(fmu) => fmu,
        Err(diagnostic) => {
            let status = match diagnostic.code {
                daelight_lang::Code::UnreadableFile => Status::WrongUsage,
                _ => Status::ModelAtFault,
            };
            print(false, &[*diagnostic], &SourceMap::default(), String::new())?;
            return Err(status);
        }
    };
    let ok = fmu.diagnostics.is_empty();
    let text = match terminal.quiet {
        true => String::new(),
        false => summary(&model.model, &fmu),
    };
    print(ok, &fmu.diagnostics, &fmu.sources, text)?;
    match ok {
        true => Ok(Status::Done),
        false => Err(Status::ModelAtFault),
    }
}

/// What an FMU is, in a few lines.
fn summary(path: &str, fmu: &ForeignFmu) -> String {
    let Some(said) = &fmu.description else {
        return String::new();
    };
    let version = match said.version {
        Version::Two => "2.0",
        Version::Three => "3.0",
    };
    let tool = match said.tool.as_str() {
        "" => String::new(),
        tool => format!(", made by {tool}"),
    };
    let kinds = said.kinds.iter().map(|(kind, _)| match kind {
        FmuKind::ModelExchange => "model exchange",
        FmuKind::CoSimulation => "co-simulation",
        FmuKind::ScheduledExecution => "scheduled execution",
    });
    let kinds: Vec<&str> = kinds.collect();
    let n = |causality: &str| {
        let is_it = |v: &&daelight_fmu::FmuVariable| v.causality == causality;
        said.variables.iter().filter(is_it).count()
    };
    let (parameters, inputs, outputs) = (n("parameter"), n("input"), n("output"));
    let others = said.variables.len() - parameters - inputs - outputs;
    let systems = fmu.binaries.iter();
    let systems: Vec<&str> = systems.map(|b| system_word(&b.platform)).collect();
    let mut lines = vec![
        format!("{path}: {}, FMI {version}{tool}", said.name),
        format!("  for {}", kinds.join(" and ")),
        format!(
            "  {}, {}, {}, {}; {}",
            count(parameters, "parameter"),
            count(inputs, "input"),
            count(outputs, "output"),
            count(others, "other variable"),
            count(said.n_states, "state"),
        ),
    ];
    if !systems.is_empty() {
        lines.push(format!("  libraries for {}", systems.join(", ")));
    }
    lines.push(match fmu.diagnostics.len() {
        0 => "  its description keeps the rules of FMI".to_string(),
        n => format!("  {} in it", count(n, "mistake")),
    });
    lines.join("\n") + "\n"
}

/// Runs an FMU for co-simulation.
pub fn solve(arguments: &SolveArgs, terminal: &Terminal) -> Ended {
    if arguments.guest {
        // Nobody is left to tell if the pipe is closed.
        let _ = daelight_host::work(std::io::stdin(), std::io::stdout());
        return Ok(Status::Done);
    }
    let wrong = |wrong| terminal.wrong(wrong);
    let wanted = asked(arguments).and_then(|()| Picture::wanted(&arguments.picture.file));
    let wanted = wanted.map_err(wrong)?;
    let model = &arguments.model;
    let refused = |found: Box<Diagnostic>| terminal.refuse(*found, &SourceMap::default());
    let fmu = ForeignFmu::read(Path::new(&model.model)).map_err(refused)?;
    let (said, identifier) = for_co_simulation(&fmu).map_err(|found| {
        terminal.show(&fmu.diagnostics, &fmu.sources);
        refused(found)
    })?;
    let library = fmu.library(identifier).map_err(refused)?;
    let folder = tempfile::tempdir();
    let folder = folder.map_err(|error| terminal.unwritable("a temporary folder", &error))?;
    let beside = format!("binaries/{}/", library.platform);
    let needed = |name: &str| name.starts_with(&beside) || name.starts_with("resources/");
    let unpacked = fmu.archive.unpack(folder.path(), needed);
    unpacked.map_err(|error| match error.kind() {
        std::io::ErrorKind::InvalidData => refused(fault(
            error.to_string(),
            "get the file again from whoever made it",
        )),
        _ => terminal.unwritable("the files of the FMU", &error),
    })?;
    let shown = shown(said);
    let mut job = job(said, arguments, &shown).map_err(wrong)?;
    move_inputs(&mut job, said, &arguments.input).map_err(refused)?;
    job.library = folder.path().join(&library.path);
    job.resources = folder.path().join("resources");
    // A library may look for a folder that its archive left out.
    let _ = std::fs::create_dir_all(&job.resources);
    let mut program = super::studio::this_program();
    program.extend(["solve", "--guest", "--", &model.model].map(Into::into));
    let run = daelight_host::run(&program, &job, arguments.budget).map_err(|error| {
        terminal.usage(
            &format!("the process of the FMU cannot be started: {error}"),
            "see that this program may start itself",
        )
    })?;
    report(arguments, (said, &fmu, &shown), run, wanted, terminal)
}

/// What of `solve` an FMU takes: it brings its own method along.
fn asked(arguments: &SolveArgs) -> Result<(), Wrong> {
    refuse_flags(&arguments.model, true)?;
    let options = SolveOptions {
        from: arguments.from,
        to: arguments.to,
        rtol: arguments.rtol,
        ..SolveOptions::default()
    };
    check_numbers(arguments, &options)?;
    let given = [
        ("--method", arguments.method != Method::Auto),
        ("--order", arguments.order.is_some()),
        ("--atol", arguments.atol.is_some()),
        ("--point", arguments.point.is_some()),
        ("--max-steps", arguments.max_steps.is_some()),
        ("--estimate-error", arguments.estimate_error),
        ("--sensitivity", !arguments.sensitivity.is_empty()),
        ("--gradient", arguments.gradient.is_some()),
        ("--stop-when", arguments.stop_when.is_some()),
        ("--step", arguments.fixed.step.is_some()),
    ];
    match given.iter().find(|(_, is_given)| *is_given) {
        Some((flag, _)) => Err((
            format!("{flag} has no meaning for an FMU, which brings its own method along"),
            "give --from, --to, --rtol, --set, --input, --points or --save-at".to_string(),
        )),
        None => Ok(()),
    }
}

fn fault(message: String, help: &str) -> Box<Diagnostic> {
    Box::new(Diagnostic::placeless(Code::BadFmu, message).help(help))
}

/// The description of an FMU that can be run, and the name of its library.
fn for_co_simulation(fmu: &ForeignFmu) -> Result<(&FmuDescription, &str), Box<Diagnostic>> {
    let Some(said) = &fmu.description else {
        return Err(fault(
            "the FMU cannot be run: its description cannot be read".to_string(),
            "`daelight check` shows where",
        ));
    };
    let kinds = &mut said.kinds.iter();
    match kinds.find(|(kind, _)| *kind == FmuKind::CoSimulation) {
        Some((_, identifier)) => Ok((said, identifier)),
        None => Err(fault(
            "the FMU is not for co-simulation".to_string(),
            "ask for one that brings its own solver along; model exchange of others is not offered",
        )),
    }
}

/// The variables that a run tells, with how they are passed: numbers that change.
fn shown(said: &FmuDescription) -> Vec<(&FmuVariable, GuestVariable)> {
    let changes = |v: &&FmuVariable| matches!(v.variability.as_str(), "continuous" | "discrete");
    let all = said.variables.iter().filter(changes);
    let all = all.filter(|v| v.causality != "independent");
    let passed = |v| {
        let ty = ValueType::of(v).filter(|ty| *ty != ValueType::String)?;
        let length = said.sizes(v)?.iter().product();
        let reference = v.reference;
        Some((
            v,
            GuestVariable {
                reference,
                ty,
                length,
            },
        ))
    };
    all.filter_map(passed).collect()
}

/// The names of the elements of a variable, in the order in which their values come.
fn elements(said: &FmuDescription, variable: &FmuVariable) -> Vec<String> {
    let sizes = said.sizes(variable).unwrap_or_default();
    if sizes.is_empty() {
        return vec![variable.name.clone()];
    }
    let n: usize = sizes.iter().product();
    let element = |at: usize| {
        let mut rest = at;
        let mut indices: Vec<String> = Vec::new();
        for size in sizes.iter().rev() {
            indices.push((rest % size + 1).to_string());
            rest /= size;
        }
        indices.reverse();
        format!("{}[{}]", variable.name, indices.join(","))
    };
    (0..n).map(element).collect()
}

/// What is asked of the process.
fn job(
    said: &FmuDescription,
    arguments: &SolveArgs,
    shown: &[(&FmuVariable, GuestVariable)],
) -> Result<GuestJob, Wrong> {
    let [from, to, tolerance, step] = said.experiment;
    let from = arguments.from.or(from).unwrap_or(0.0);
    let to = arguments.to.or(to).unwrap_or(from + 1.0);
    if to < from {
        return Err((
            format!("an FMU does not run backwards, from t = {from} to {to}"),
            "give an end that comes after the start".to_string(),
        ));
    }
    let mut times = output_times(step, (from, to, to), arguments);
    times.retain(|time| (from..=to).contains(time));
    times.insert(0, from);
    times.push(to);
    times.sort_by(f64::total_cmp);
    times.dedup();
    let set = arguments.model.set.iter().map(|text| setting(said, text));
    Ok(GuestJob {
        is_three: said.version == Version::Three,
        library: Default::default(),
        resources: Default::default(),
        name: said.name.clone(),
        token: said.token.clone(),
        tolerance: arguments.rtol.or(tolerance),
        set: set.collect::<Result<_, _>>()?,
        shown: shown.iter().map(|(_, passed)| *passed).collect(),
        inputs: Vec::new(),
        takes_rates: said.takes_rates,
        times,
        to,
    })
}

/// Lets inputs move as columns of tables say; where one jumps, a step ends.
fn move_inputs(
    job: &mut GuestJob,
    said: &FmuDescription,
    texts: &[String],
) -> Result<(), Box<Diagnostic>> {
    let is_input = |v: &&FmuVariable| v.causality == "input" && !v.is_array();
    let number = |v: &FmuVariable| ValueType::of(v).filter(|ty| *ty != ValueType::String);
    let inputs = || said.variables.iter().filter(is_input);
    let mut columns = Vec::new();
    for text in texts {
        let mut moved = None;
        let column = InputColumn::read_for(text, |name| {
            let found = inputs().find(|v| v.name == name);
            moved = found.and_then(|v| Some((v.reference, number(v)?)));
            moved.map(|_| ()).ok_or_else(|| {
                let help = match nearest(name, inputs().map(|v| v.name.as_str())) {
                    Some(near) => format!("did you mean {near}?"),
                    None => "`daelight check` reads its description".to_string(),
                };
                let message = format!("the FMU has no input `{name}` that is a number");
                Box::new(Diagnostic::placeless(Code::UnknownInput, message).help(help))
            })
        })?;
        if let Some((reference, ty)) = moved {
            let length = 1;
            columns.push((
                GuestVariable {
                    reference,
                    ty,
                    length,
                },
                column,
            ));
        }
    }
    let (first, last) = (job.times[0], job.to);
    let jumps = columns.iter().flat_map(|(_, column)| column.jumps());
    job.times
        .extend(jumps.filter(|time| (first..=last).contains(time)));
    job.times.sort_by(f64::total_cmp);
    job.times.dedup();
    for (variable, column) in columns {
        let values = column.along(&job.times)?;
        job.inputs.push(GuestInput { variable, values });
    }
    Ok(())
}

/// A value of `--set` for a variable of an FMU.
fn setting(said: &FmuDescription, text: &str) -> Result<(GuestVariable, GuestValue), Wrong> {
    let Some((name, value)) = text.split_once('=') else {
        return Err((
            format!("`{text}` holds no `=`"),
            "write --set name=value".to_string(),
        ));
    };
    let (name, value) = (name.trim(), value.trim());
    let Some(variable) = said.variables.iter().find(|v| v.name == name) else {
        let names = said.variables.iter().map(|v| v.name.as_str());
        let help = match nearest(name, names) {
            Some(near) => format!("did you mean {near}?"),
            None => "`daelight check` reads its description".to_string(),
        };
        return Err((format!("the FMU has no variable `{name}`"), help));
    };
    let can_be_set =
        matches!(variable.initial.as_str(), "exact" | "approx") || variable.causality == "input";
    let ty = ValueType::of(variable).filter(|_| !variable.is_array());
    let (true, Some(ty), true) = (can_be_set, ty, variable.variability != "constant") else {
        return Err((
            format!(
                "`{name}` cannot be set: it is {} and {}",
                variable.causality, variable.variability
            ),
            "set parameters, inputs and start values".to_string(),
        ));
    };
    let number = match (ty, value) {
        (ValueType::String, _) => Some(GuestValue::Text(value.to_string())),
        (ValueType::Boolean, "true") => Some(GuestValue::Number(1.0)),
        (ValueType::Boolean, "false") => Some(GuestValue::Number(0.0)),
        _ => value
            .parse()
            .ok()
            .filter(|x: &f64| x.is_finite())
            .map(GuestValue::Number),
    };
    let number = number.ok_or_else(|| {
        let message = format!(
            "`{value}` is no value for `{name}`, which is {}",
            variable.ty
        );
        (message, "give a number, or true and false".to_string())
    })?;
    Ok((
        GuestVariable {
            reference: variable.reference,
            ty,
            length: 1,
        },
        number,
    ))
}

/// Why a run ended: its status, a word and a sentence.
fn ending(run: &GuestRun, to: f64) -> (&'static str, &'static str, String) {
    let reached = run.rows.last().map_or(f64::NAN, |row| row.0);
    let kept = match run.rows.is_empty() {
        true => "before the first value".to_string(),
        false => format!("after t = {reached}; values up to there are kept"),
    };
    match &run.end {
        GuestEnd::Finished => ("success", "finished", format!("the run reached t = {to}")),
        GuestEnd::Ended(time) => (
            "failure",
            "fmu_ended",
            format!("the FMU ended the run at t = {time}, before {to}"),
        ),
        GuestEnd::Failed(why) => ("failure", "fmu_failed", format!("{why}, {kept}")),
        GuestEnd::Died(how) => (
            "failure",
            "fmu_crashed",
            format!("the library of the FMU crashed ({how}) {kept}"),
        ),
        GuestEnd::TooLong => (
            "failure",
            "budget",
            format!("the time allowed was over {kept}"),
        ),
    }
}

/// That an FMU breaks the rules of FMI.
fn broken_rules(fmu: &ForeignFmu) -> Option<String> {
    let errors = fmu.diagnostics.iter();
    let n = errors.filter(|d| d.severity == Severity::Error).count();
    let places = count(n, "place");
    (n > 0).then(|| {
        format!("The FMU breaks the rules of FMI in {places}; `daelight check` shows them.")
    })
}

/// Writes and prints what came of a run.
fn report(
    arguments: &SolveArgs,
    (said, fmu, shown): (
        &FmuDescription,
        &ForeignFmu,
        &[(&FmuVariable, GuestVariable)],
    ),
    run: GuestRun,
    wanted: Option<Picture>,
    terminal: &Terminal,
) -> Ended {
    let model = &arguments.model;
    let names = shown.iter().flat_map(|(v, _)| elements(said, v));
    let names: Vec<String> = names.collect();
    let to = arguments.to.or(said.experiment[1]).unwrap_or(f64::NAN);
    let (status, reason, message) = ending(&run, to);
    let mut warnings: Vec<String> = broken_rules(fmu).into_iter().collect();
    warnings.extend(run.messages.iter().cloned());
    let moves_by_steps = !arguments.input.is_empty() && !said.takes_rates;
    warnings.extend(moves_by_steps.then(|| {
        "The FMU takes no rates of its inputs: each rests within a step at the mean of both ends; more --points make steps shorter."
            .to_string()
    }));
    let last = run.rows.last();
    let in_document = model.json && (arguments.save_at.is_some() || arguments.points.is_some());
    let record = SolveRecord {
        status,
        reason,
        message,
        method: "co-simulation".to_string(),
        time: last.map_or(f64::NAN, |row| row.0),
        last: last
            .into_iter()
            .flat_map(|row| names.iter().cloned().zip(row.1.iter().map(|x| (*x).into())))
            .collect(),
        samples: in_document.then(|| table_value(&names, &run.rows)),
        warnings,
        ..SolveRecord::default()
    };
    let mut ended = exit_status(status);
    if let Some(path) = &model.out {
        ended = write_rows(path, &names, &run.rows, terminal)
            .err()
            .unwrap_or(ended);
    }
    if let Some(wanted) = wanted {
        let column = |at: usize| run.rows.iter().map(|row| row.1[at]).collect();
        let times: Vec<f64> = run.rows.iter().map(|row| row.0).collect();
        let table = Table {
            columns: std::iter::once(times)
                .chain((0..names.len()).map(column))
                .collect(),
            names: std::iter::once("time".to_string()).chain(names).collect(),
        };
        let figure = picture::table(&table, &[], Scale::Linear, &[]);
        ended = wanted
            .write_or_note(figure, terminal)
            .err()
            .unwrap_or(ended);
    }
    let text = |record: &SolveRecord| words::guest(record, &said.name);
    match to_standard_output(model) {
        // The values are there already.
        true => terminal.aside(&text(&record)),
        false => terminal.print(&record, text, model.json, None)?,
    }
    Ok(ended)
}
