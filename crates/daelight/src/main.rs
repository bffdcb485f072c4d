//! The `daelight` command.

mod cli;
mod constant_steps;
mod plot;
mod progress;
mod report;
mod run;
mod self_test;
mod sweep_picture;
mod sweeping;

use clap::{ColorChoice, CommandFactory, Parser};
use cli::{Cli, Command, ModelArgs, ReduceForm, ReduceMethod, StructurePictureWord};
use daelight::files::{check_writable, write_whole};
use daelight::{Checked, Column};
use daelight_analysis::index_reduction::{Form, Method};
use daelight_analysis::start::Outcome;
use daelight_integrate::implicit;
use daelight_lang::{
    ArrayStyle, Code, Diagnostic, Loaded, Model, Options, SourceMap, Symbol, shorten,
};
use daelight_report::{
    AnalyzeReport, CheckReport, DiagnosticRecord, ExampleRecord, SingularReport, StartFailure,
    StartReport, frame, passport_page, singular_page, start_page, to_json,
};
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// What a command ends with; the numbers are part of the interface.
#[derive(Clone, Copy)]
enum Status {
    Done = 0,
    ModelAtFault = 1,
    WrongUsage = 2,
    Singularity = 3,
    GaveUp = 4,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let terminal = Terminal {
        color: match cli.color {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => {
                std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none()
            }
        },
        quiet: cli.quiet,
    };
    let outputs = cli.command.outputs();
    if !outputs.is_empty() {
        progress::interrupt_by_ctrl_c();
    }
    for path in outputs {
        if let Err(error) = check_writable(path) {
            let status = terminal.unwritable(&path.display().to_string(), &error);
            return ExitCode::from(status as u8);
        }
    }
    let status = match &cli.command {
        Command::Check(arguments) => check(arguments, &terminal),
        Command::Derive { model, scalar } => derive(model, *scalar, &terminal),
        Command::Analyze {
            model,
            at,
            point,
            interval,
            projectors,
            eigenvalues,
            picture,
            plot_what,
            budget,
        } => {
            let place = daelight::Place {
                at: *at,
                point: point.clone(),
                budget: Some(*budget),
                ..Default::default()
            };
            let wanted = Wanted {
                interval: *interval,
                projectors: *projectors,
                eigenvalues: *eigenvalues,
                budget: *budget,
            };
            match plot::Picture::wanted(picture) {
                Ok(picture) => {
                    let picture = picture.map(|picture| (picture, *plot_what));
                    analyze(model, &place, &wanted, picture, &terminal)
                }
                Err((message, help)) => terminal.usage(&message, &help),
            }
        }
        Command::Init {
            model,
            at,
            point,
            order,
            all,
            nearest_regular,
            budget,
        } => {
            let options = daelight::InitOptions {
                at: *at,
                point: point.clone(),
                order: usize::from(*order),
                all: *all,
                nearest_regular: *nearest_regular,
                budget: *budget,
            };
            init(model, &options, &terminal)
        }
        Command::Solve {
            model,
            from,
            to,
            rtol,
            atol,
            method,
            on_singularity,
            order,
            points,
            save_at,
            point,
            max_steps,
            budget,
            estimate_error,
            fixed,
            input,
            stop_when,
            picture,
        } => {
            let options = daelight::SolveOptions {
                from: *from,
                to: *to,
                rtol: *rtol,
                atol: *atol,
                method: method.chosen(),
                order: *order,
                continues: *on_singularity == cli::OnSingularity::Continue,
                max_steps: *max_steps,
                budget: *budget,
                place: daelight::Place {
                    point: point.clone(),
                    budget: *budget,
                    ..Default::default()
                },
                ..Default::default()
            };
            let output = run::Output {
                points: *points,
                save_at: save_at.clone(),
                estimate_error: *estimate_error,
                inputs: input.clone(),
                stop_when: stop_when.clone(),
            };
            if *method == cli::Method::BdfFixed {
                constant_steps::solve(model, &options, fixed, &output, picture, &terminal)
            } else {
                constant_steps::refuse_without(fixed, &terminal)
                    .unwrap_or_else(|| run::solve(model, &options, &output, picture, &terminal))
            }
        }
        Command::Feedforward {
            method: cli::Method::BdfFixed,
            ..
        } => terminal.usage(
            "feedforward does not take constant steps",
            "run solve --method bdf-fixed --out forces.csv, then solve the forward model with --input",
        ),
        Command::Feedforward {
            model,
            forward,
            forward_model,
            forward_set,
            to,
            rtol,
            atol,
            method,
            samples,
            points,
            picture,
        } => {
            let forward = ModelArgs {
                model: forward.clone(),
                set: forward_set.clone(),
                class: forward_model.clone(),
                json: model.json,
                out: None,
                free: Vec::new(),
            };
            let options = daelight::FeedforwardOptions {
                solve: daelight::SolveOptions {
                    to: *to,
                    rtol: *rtol,
                    atol: *atol,
                    method: varying_steps(*method),
                    ..Default::default()
                },
                n_samples: *samples as usize,
                n_points: *points as usize,
            };
            run::feedforward(model, forward, &options, picture, &terminal)
        }
        Command::Reduce {
            model,
            method,
            form,
            at,
            budget,
        } => {
            let place = daelight::Place {
                at: *at,
                point: None,
                budget: Some(*budget),
                ..Default::default()
            };
            reduce(model, *method, *form, &place, &terminal)
        }
        Command::Singular {
            model,
            picture,
            locked,
            parameters,
            curves,
            time_budget,
            memory_budget,
        } => {
            let question = daelight_singular::Question {
                parameters: kept_parameters(parameters.as_ref()),
                locked: locked
                    .as_ref()
                    .map(|names| names.0.clone())
                    .unwrap_or_default(),
                on_curves: *curves,
            };
            let limits = daelight_singular::Limits {
                time: *time_budget,
                memory: *memory_budget,
                ..daelight_singular::Limits::default()
            };
            singular(model, &question, &limits, picture, &terminal)
        }
        Command::Plot(arguments) => plot::plot(arguments, &terminal),
        Command::Sweep { model, sweep } => sweeping::sweep(model, sweep, &terminal),
        Command::Report {
            model,
            to,
            rtol,
            method,
            on_singularity,
            no_run,
            time_budget,
        } => {
            let wanted = report::Wanted {
                to: *to,
                rtol: *rtol,
                method: *method,
                continues: *on_singularity == cli::OnSingularity::Continue,
                with_run: !no_run,
                time_budget: *time_budget,
            };
            report::report(model, &wanted, &terminal)
        }
        Command::Examples { name, json } => examples(name.as_deref(), *json, &terminal),
        Command::Selftest {
            random,
            first,
            print,
            json,
        } => match print {
            Some(number) => {
                let problem = daelight::selftest::planted(*number);
                terminal.answer(problem.text.as_bytes(), None)
            }
            None => self_test::self_test(*random, *first, *json, &terminal),
        },
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut Cli::command(), "daelight", &mut script);
            terminal.answer(&script, None)
        }
        Command::Man { command } => manual(command.as_deref(), &terminal),
    };
    ExitCode::from(status as u8)
}

/// Prints a manual page, made of the same words as `--help`.
fn manual(name: Option<&str>, terminal: &Terminal) -> Status {
    let mut whole = Cli::command();
    whole.build();
    let page = match name {
        None => Some(whole),
        Some(name) => whole.find_subcommand(name).cloned(),
    };
    let Some(page) = page else {
        let name = name.unwrap_or_default();
        return terminal.usage(
            &format!("daelight has no command `{name}`"),
            "`daelight --help` lists them",
        );
    };
    let mut text = Vec::new();
    match clap_mangen::Man::new(page).render(&mut text) {
        Ok(()) => terminal.answer(&text, None),
        Err(error) => {
            terminal.usage(
                &format!("the page cannot be written: {error}"),
                "use --help instead",
            );
            Status::GaveUp
        }
    }
}

/// The word of `--free` that asks for the smallest free part.
const LEAST_NORM: &str = "least-norm";

fn asks_for_least_norm(arguments: &ModelArgs) -> bool {
    arguments.free.iter().any(|item| item == LEAST_NORM)
}

fn options(arguments: &ModelArgs) -> Options {
    Options {
        model: arguments.class.clone(),
        set: arguments.set.clone(),
        free: arguments
            .free
            .iter()
            .filter(|item| *item != LEAST_NORM)
            .cloned()
            .collect(),
        ..Options::default()
    }
}

fn check(arguments: &ModelArgs, terminal: &Terminal) -> Status {
    if asks_for_least_norm(arguments) {
        return terminal.no_least_norm();
    }
    let (report, status, summary) = match daelight::check(&arguments.model, &options(arguments)) {
        Err(diagnostic) => {
            if !arguments.json {
                terminal.show(&[*diagnostic], &SourceMap::default());
                return Status::WrongUsage;
            }
            (
                record(false, &[*diagnostic], &SourceMap::default()),
                Status::WrongUsage,
                String::new(),
            )
        }
        Ok(checked) => {
            let loaded = &checked.loaded;
            let status = if checked.is_ok() {
                Status::Done
            } else {
                fault_status(loaded)
            };
            if !arguments.json {
                terminal.show(&loaded.diagnostics, &loaded.sources);
            }
            let report = record(checked.is_ok(), &loaded.diagnostics, &loaded.sources);
            (report, status, summary(&checked))
        }
    };
    let answer = if arguments.json {
        to_json(&report)
    } else if terminal.quiet {
        String::new()
    } else {
        summary
    };
    match terminal.answer(answer.as_bytes(), arguments.out.as_deref()) {
        Status::Done => status,
        failed => failed,
    }
}

fn record(ok: bool, diagnostics: &[Diagnostic], sources: &SourceMap) -> CheckReport {
    let diagnostics = diagnostics
        .iter()
        .map(|diagnostic| DiagnosticRecord::new(diagnostic, sources));
    CheckReport {
        ok,
        diagnostics: diagnostics.collect(),
    }
}

/// What the model consists of, in a few lines.
fn summary(checked: &Checked) -> String {
    let Some(model) = &checked.loaded.model else {
        return String::new();
    };
    let title = if model.comment.is_empty() {
        model.name.clone()
    } else {
        format!("{}: {}", model.name, shorten(&model.comment, 200))
    };
    let differentiated = differentiated(model);
    let mut lines = vec![
        title,
        format!(
            "  {} for {} ({differentiated} differentiated)",
            count(model.equations.len(), "equation"),
            count(model.unknowns.len(), "unknown"),
        ),
    ];
    let free = model
        .parameters
        .iter()
        .filter(|parameter| !parameter.is_constant)
        .count();
    let mut rest = vec![count(free, "parameter")];
    if !model.inputs.is_empty() {
        rest.push(count(model.inputs.len(), "input"));
    }
    if !model.initial_equations.is_empty() {
        rest.push(count(model.initial_equations.len(), "initial equation"));
    }
    lines.push(format!("  {}", rest.join(", ")));
    if checked
        .balance
        .as_ref()
        .is_some_and(daelight_lang::Balance::is_balanced)
    {
        lines.push("  every unknown can be matched with an equation".to_string());
    } else {
        lines.push("  equations and unknowns do not match; see the warnings".to_string());
    }
    lines.join("\n") + "\n"
}

/// How many unknowns occur differentiated.
fn differentiated(model: &Model) -> usize {
    let residuals: Vec<_> = model
        .equations
        .iter()
        .map(|equation| equation.residual)
        .collect();
    daelight_expr::Walker::new()
        .symbols(&model.graph, &residuals)
        .into_iter()
        .filter(|&id| matches!(model.symbols.get(id), Symbol::Unknown { order: 1, .. }))
        .count()
}

fn count(number: usize, word: &str) -> String {
    if number == 1 {
        format!("1 {word}")
    } else {
        format!("{number} {word}s")
    }
}

fn derive(arguments: &ModelArgs, scalar: bool, terminal: &Terminal) -> Status {
    if arguments.json {
        let usage = "derive writes Modelica text; --json has no meaning here";
        return terminal.usage(usage, "use `check --json` for diagnostics");
    }
    if asks_for_least_norm(arguments) {
        return terminal.no_least_norm();
    }
    let loaded: Loaded = match daelight::load(&arguments.model, &options(arguments)) {
        Ok(loaded) => loaded,
        Err(diagnostic) => {
            terminal.show(&[*diagnostic], &SourceMap::default());
            return Status::WrongUsage;
        }
    };
    terminal.show(&loaded.diagnostics, &loaded.sources);
    let style = if scalar {
        ArrayStyle::Scalarised
    } else {
        ArrayStyle::Kept
    };
    match daelight::derive(&loaded, style) {
        None => fault_status(&loaded),
        Some(Ok(text)) => terminal.answer(text.as_bytes(), arguments.out.as_deref()),
        Some(Err(diagnostic)) => {
            terminal.show(&[*diagnostic], &loaded.sources);
            Status::ModelAtFault
        }
    }
}

/// The method of a run whose steps vary, unless the model is to decide.
fn varying_steps(method: cli::Method) -> Option<implicit::Method> {
    match method {
        cli::Method::Auto | cli::Method::BdfFixed => None,
        cli::Method::Taylor => Some(implicit::Method::Taylor),
        cli::Method::Radau => Some(implicit::Method::Radau),
        cli::Method::Bdf => Some(implicit::Method::Bdf),
    }
}

/// Reads a model for a command that works with its equations; says what is wrong where it cannot.
fn load_system(
    arguments: &ModelArgs,
    at: Option<f64>,
    terminal: &Terminal,
) -> Result<daelight_analysis::System, Status> {
    load_driven(arguments, &[], None, at, terminal).map(|(_, driven)| driven.system)
}

/// Reads the text of a model; says what is wrong where it cannot.
fn load_model(
    arguments: &ModelArgs,
    stop_when: Option<&str>,
    terminal: &Terminal,
) -> Result<Loaded, Status> {
    let options = Options {
        stop_when: stop_when.map(str::to_string),
        ..options(arguments)
    };
    let loaded = daelight::load(&arguments.model, &options).map_err(|diagnostic| {
        terminal.show(&[*diagnostic], &SourceMap::default());
        Status::WrongUsage
    })?;
    terminal.show(&loaded.diagnostics, &loaded.sources);
    Ok(loaded)
}

/// The same with inputs from files and a condition that ends runs.
fn load_driven(
    arguments: &ModelArgs,
    inputs: &[String],
    stop_when: Option<&str>,
    at: Option<f64>,
    terminal: &Terminal,
) -> Result<(Loaded, daelight::Driven), Status> {
    let loaded = load_model(arguments, stop_when, terminal)?;
    let model = loaded.model.as_ref().ok_or(fault_status(&loaded))?;
    let at_fault = |diagnostic: Box<Diagnostic>| terminal.refuse(*diagnostic, &loaded.sources);
    let columns = inputs.iter().map(|text| {
        Column::read(model, text).map_err(|diagnostic| match (text.contains('='), diagnostic) {
            (true, diagnostic) => at_fault(diagnostic),
            (false, diagnostic) => {
                at_fault(diagnostic);
                Status::WrongUsage
            }
        })
    });
    let columns: Vec<Column> = columns.collect::<Result<_, _>>()?;
    let mut driven = daelight::drive(model, &columns).map_err(at_fault)?;
    if asks_for_least_norm(arguments) {
        if !inputs.is_empty() || stop_when.is_some() {
            return Err(terminal.not_rectangular());
        }
        let system = &driven.system;
        let time = at.or(system.experiment().start_time).unwrap_or(0.0);
        if let Some(joined) = daelight::least_norm(system, time).map_err(at_fault)? {
            driven.system = joined;
        }
    }
    Ok((loaded, driven))
}

/// Whether the model or its values are at fault, or how the command was written.
fn fault_status(loaded: &Loaded) -> Status {
    if loaded.usage_is_wrong() {
        Status::WrongUsage
    } else {
        Status::ModelAtFault
    }
}

/// What `analyze` is to tell beside the passport.
struct Wanted {
    interval: Option<(f64, f64)>,
    projectors: bool,
    eigenvalues: bool,
    /// For the interval; the passport has its own.
    budget: Duration,
}

fn analyze(
    arguments: &ModelArgs,
    place: &daelight::Place,
    wanted: &Wanted,
    picture: Option<(plot::Picture, StructurePictureWord)>,
    terminal: &Terminal,
) -> Status {
    if let Some(time) = place.at.filter(|time| !time.is_finite()) {
        return terminal.usage(&format!("--at {time} is no time"), "give a finite number");
    }
    let system = match load_system(arguments, place.at, terminal) {
        Ok(system) => system,
        Err(status) => return status,
    };
    let passport = match daelight::analyze(&system, place) {
        Ok(passport) => passport,
        Err(diagnostic) => return terminal.refuse(*diagnostic, system.sources()),
    };
    let mut report = AnalyzeReport::new(&system, &passport, wanted.projectors);
    report.add_paths(&system, &daelight::paths(&system, &passport));
    if wanted.eigenvalues {
        report.add_spectrum(&passport.spectrum(&system));
    }
    if let Some(times) = wanted.interval {
        match daelight::analyze_interval(&system, times, wanted.budget) {
            Ok(found) => report.add_interval(&found),
            Err(not_linear) => {
                return terminal.usage(
                    &format!("--interval is for linear models; {}", not_linear.sentence),
                    "leave it out, or use --at for single times",
                );
            }
        }
    }
    if let Some((picture, what)) = picture {
        let figure = match what {
            StructurePictureWord::Structure => daelight::structure_picture(&system, &passport),
            StructurePictureWord::Projectors => daelight::projector_picture(&system, &passport),
            StructurePictureWord::Eigenvalues => (passport.spectrum(&system))
                .and_then(|spectrum| daelight::eigenvalue_picture(&system, &spectrum)),
        };
        match picture.write_or_note(figure, terminal) {
            Status::Done => {}
            failed => return failed,
        }
    }
    let answer = if arguments.json {
        to_json(&report)
    } else {
        passport_page(&report, wanted.projectors)
    };
    let is_known = passport.point.is_ok() || passport.indices().is_some();
    match terminal.answer(answer.as_bytes(), arguments.out.as_deref()) {
        Status::Done if passport.budget_reached && !is_known => Status::GaveUp,
        status => status,
    }
}

fn init(arguments: &ModelArgs, options: &daelight::InitOptions, terminal: &Terminal) -> Status {
    if let Some(time) = options.at.filter(|time| !time.is_finite()) {
        return terminal.usage(&format!("--at {time} is no time"), "give a finite number");
    }
    let system = match load_system(arguments, options.at, terminal) {
        Ok(system) => system,
        Err(status) => return status,
    };
    let request = match daelight::start_request(&system, options) {
        Ok(request) => request,
        Err(diagnostic) => return terminal.refuse(*diagnostic, system.sources()),
    };
    let time = request.time;
    let outcome = daelight::init(&system, &request);
    let (status, word, conflict, passport, diagnostic) = match &outcome {
        Outcome::Found(start) => {
            let report = StartReport::new(&system, start, &request.guess);
            let answer = if arguments.json {
                to_json(&report)
            } else {
                start_page(&report, options.all)
            };
            return terminal.answer(answer.as_bytes(), arguments.out.as_deref());
        }
        Outcome::Conflict(conflict) => {
            let diagnostic = daelight::conflict_diagnostic(&system, conflict);
            (
                Status::ModelAtFault,
                "conflict",
                Some(&**conflict),
                None,
                diagnostic,
            )
        }
        Outcome::Singular(singular) => {
            let passport = &singular.passport;
            let mut diagnostic = daelight::singular_diagnostic(&system, singular);
            if options.nearest_regular {
                diagnostic = diagnostic.help("no regular start was found nearby: start at another time with --at, or free a fixed value");
            }
            (
                Status::Singularity,
                "singular",
                None,
                Some(passport),
                diagnostic,
            )
        }
        Outcome::Missing {
            no_point,
            budget_reached,
        } => {
            let budget = budget_reached.then_some(request.budget);
            let rectangular = daelight::rectangular(&system, time).ok().flatten();
            let contradiction = rectangular
                .and_then(|found| daelight::contradiction(&system, &found, (time, time)));
            if let Some(diagnostic) = contradiction {
                (Status::ModelAtFault, "conflict", None, None, diagnostic)
            } else {
                let diagnostic = daelight::missing_diagnostic(&system, time, no_point, budget);
                (Status::GaveUp, "failure", None, None, diagnostic)
            }
        }
    };
    if arguments.json {
        let record = DiagnosticRecord::new(&diagnostic, system.sources());
        let report = StartFailure::new(&system, word, time, conflict, passport, record);
        // The file of --out is for a start; a failure must not replace one.
        terminal.answer(to_json(&report).as_bytes(), None);
    } else {
        terminal.show(&[diagnostic], system.sources());
    }
    status
}

/// The parameters that `--parameters` names.
fn kept_parameters(names: Option<&cli::Names>) -> daelight_singular::Kept {
    use daelight_singular::Kept;
    match names.map(|names| names.0.as_slice()) {
        None => Kept::None,
        Some([all]) if all == "all" => Kept::All,
        Some(names) => Kept::Named(names.to_vec()),
    }
}

fn singular(
    arguments: &ModelArgs,
    question: &daelight_singular::Question,
    limits: &daelight_singular::Limits,
    picture: &cli::PictureArgs,
    terminal: &Terminal,
) -> Status {
    let picture = match plot::Picture::wanted(picture) {
        Ok(picture) => picture,
        Err((message, help)) => return terminal.usage(&message, &help),
    };
    let loaded = match daelight::load(&arguments.model, &options(arguments)) {
        Ok(loaded) => loaded,
        Err(diagnostic) => {
            terminal.show(&[*diagnostic], &SourceMap::default());
            return Status::WrongUsage;
        }
    };
    terminal.show(&loaded.diagnostics, &loaded.sources);
    let Some(model) = &loaded.model else {
        return Status::ModelAtFault;
    };
    let line = progress::StageLine::new("", terminal);
    let tell = |progress| {
        if let Some(line) = &line {
            line.tell(progress);
        }
    };
    let answer = daelight_singular::answer_with_progress(model, question, limits, &tell);
    drop(line);
    let answer = match answer {
        Ok(answer) => answer,
        Err(diagnostics) => {
            terminal.show(&diagnostics, &loaded.sources);
            return Status::ModelAtFault;
        }
    };
    let report = SingularReport::new(model, &answer);
    let text = if arguments.json {
        to_json(&report)
    } else {
        singular_page(&report)
    };
    let mut status = terminal.answer(text.as_bytes(), arguments.out.as_deref());
    if let (Status::Done, Some(picture)) = (status, &picture) {
        let figure = daelight::configurations_picture(model, &report);
        status = picture.write_or_note(figure, terminal);
    }
    match status {
        Status::Done if report.time_budget_reached => Status::GaveUp,
        status => status,
    }
}

fn reduce(
    arguments: &ModelArgs,
    method: ReduceMethod,
    form: ReduceForm,
    place: &daelight::Place,
    terminal: &Terminal,
) -> Status {
    if arguments.json {
        let usage = "reduce writes Modelica text; --json has no meaning here";
        return terminal.usage(usage, "use `analyze --json` for the index and the point");
    }
    if let Some(time) = place.at.filter(|time| !time.is_finite()) {
        return terminal.usage(&format!("--at {time} is no time"), "give a finite number");
    }
    let system = match load_system(arguments, place.at, terminal) {
        Ok(system) => system,
        Err(status) => return status,
    };
    let method = match method {
        ReduceMethod::Dummy => Method::Dummy,
        ReduceMethod::Strangeness => Method::Strangeness,
        ReduceMethod::Minimal => Method::Minimal,
    };
    let form = match form {
        ReduceForm::Implicit => Form::Implicit,
        ReduceForm::SemiExplicit => Form::SemiExplicit,
        ReduceForm::Explicit => Form::Explicit,
    };
    let began = Instant::now();
    match daelight::reduce(&system, place, method, form) {
        Ok(written) => {
            terminal.note(&written.notes);
            terminal.answer(written.text.as_bytes(), arguments.out.as_deref())
        }
        Err(refusal) if place.budget.is_some_and(|most| began.elapsed() > most) => {
            let budget = place.budget.unwrap_or_default();
            let message = format!("the budget of {budget:?} ended the analysis of the model");
            let diagnostic = Diagnostic::placeless(Code::NotReducible, message)
                .note(refusal.message)
                .help("allow more time with --budget");
            terminal.show(&[diagnostic], system.sources());
            Status::GaveUp
        }
        Err(diagnostic) => {
            terminal.show(&[*diagnostic], system.sources());
            Status::ModelAtFault
        }
    }
}

fn examples(name: Option<&str>, json: bool, terminal: &Terminal) -> Status {
    let models = daelight::built_in_models();
    let Some(name) = name else {
        let records: Vec<ExampleRecord> = models
            .iter()
            .map(|model| ExampleRecord {
                name: model.name,
                description: model.description(),
            })
            .collect();
        let answer = if json {
            to_json(&records)
        } else {
            let width = models
                .iter()
                .map(|model| model.name.len())
                .max()
                .unwrap_or(0);
            let row = |record: &ExampleRecord| {
                format!("{:width$}  {}\n", record.name, record.description)
            };
            records.iter().map(row).collect()
        };
        return terminal.answer(answer.as_bytes(), None);
    };
    match models.iter().find(|model| model.name == name) {
        Some(model) if json => {
            let record = ExampleRecord {
                name: model.name,
                description: model.description(),
            };
            terminal.answer(to_json(&record).as_bytes(), None)
        }
        Some(model) => terminal.answer(model.text.as_bytes(), None),
        None => {
            let help = match daelight_lang::nearest(name, models.iter().map(|model| model.name)) {
                Some(near) => format!("did you mean {near}?"),
                None => "see `daelight examples` for the list".to_string(),
            };
            terminal.usage(&format!("there is no built-in model `{name}`"), &help)
        }
    }
}

/// Where answers and messages go.
struct Terminal {
    color: bool,
    quiet: bool,
}

impl Terminal {
    /// Prints diagnostics to standard error; warnings only when not quiet.
    fn show(&self, diagnostics: &[Diagnostic], sources: &SourceMap) {
        let mut text = String::new();
        for diagnostic in diagnostics {
            if self.quiet && diagnostic.severity == daelight_lang::Severity::Warning {
                continue;
            }
            text.push_str(&frame(diagnostic, sources, self.color));
        }
        // Nobody is left to tell if standard error is closed.
        let _ = std::io::stderr().write_all(text.as_bytes());
    }

    /// Prints why there is no answer; a file that cannot be read is a matter of how the command was written.
    fn refuse(&self, diagnostic: Diagnostic, sources: &SourceMap) -> Status {
        let status = match diagnostic.code {
            Code::UnreadableFile => Status::WrongUsage,
            _ => Status::ModelAtFault,
        };
        self.show(&[diagnostic], sources);
        status
    }

    /// Prints remarks on an answer to standard error, unless quiet.
    fn note(&self, lines: &[String]) {
        if !self.quiet {
            let text: String = lines.iter().map(|line| format!("note: {line}\n")).collect();
            let _ = std::io::stderr().write_all(text.as_bytes());
        }
    }

    /// For commands that do not look at a point.
    fn no_least_norm(&self) -> Status {
        self.usage(
            "--free least-norm has no meaning here",
            "it is for analyze, init, reduce and solve",
        )
    }

    /// For what only square models take.
    fn not_rectangular(&self) -> Status {
        self.usage(
            "--input and --stop-when are for models with as many equations as unknowns",
            "write what --free gives as equations of the model",
        )
    }

    fn usage(&self, message: &str, help: &str) -> Status {
        let _ = writeln!(std::io::stderr(), "error: {message}\n  help: {help}");
        Status::WrongUsage
    }

    /// Writes the answer to a file or to standard output.
    fn answer(&self, bytes: &[u8], out: Option<&Path>) -> Status {
        let result = match out {
            Some(path) => write_whole(path, bytes),
            None => {
                let mut stdout = std::io::stdout().lock();
                stdout.write_all(bytes).and_then(|()| stdout.flush())
            }
        };
        match result {
            Ok(()) => Status::Done,
            // The reader of a pipe has seen enough.
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Status::Done,
            Err(error) => {
                let place = out.map_or("standard output".to_string(), |path| {
                    path.display().to_string()
                });
                self.unwritable(&place, &error)
            }
        }
    }

    fn unwritable(&self, place: &str, error: &std::io::Error) -> Status {
        self.usage(
            &format!("cannot write {place}: {error}"),
            "choose another place",
        )
    }
}
