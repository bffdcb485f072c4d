//! The `daelight` command.

mod cli;
mod constant_steps;
mod run;

use clap::{ColorChoice, CommandFactory, Parser};
use cli::{Cli, Command, ModelArgs, ReduceForm, ReduceMethod};
use daelight::Checked;
use daelight_analysis::index_reduction::{Form, Method};
use daelight_analysis::start::Outcome;
use daelight_lang::{ArrayStyle, Diagnostic, Loaded, Model, Options, SourceMap, Symbol, shorten};
use daelight_report::{
    AnalyzeReport, CheckReport, DiagnosticRecord, ExampleRecord, StartFailure, StartReport, frame,
    passport_page, start_page, to_json,
};
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

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
    let status = match &cli.command {
        Command::Check(arguments) => check(arguments, &terminal),
        Command::Derive { model, scalar } => derive(model, *scalar, &terminal),
        Command::Analyze {
            model,
            at,
            point,
            interval,
            projectors,
        } => {
            let place = daelight::Place {
                at: *at,
                point: point.clone(),
            };
            analyze(model, &place, *interval, *projectors, &terminal)
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
        } => {
            let options = daelight::SolveOptions {
                from: *from,
                to: *to,
                rtol: *rtol,
                atol: *atol,
                method: match method {
                    cli::Method::Auto | cli::Method::BdfFixed => None,
                    cli::Method::Taylor => Some(daelight_integrate::implicit::Method::Taylor),
                    cli::Method::Radau => Some(daelight_integrate::implicit::Method::Radau),
                    cli::Method::Bdf => Some(daelight_integrate::implicit::Method::Bdf),
                },
                order: *order,
                continues: *on_singularity == cli::OnSingularity::Continue,
                max_steps: *max_steps,
                budget: *budget,
                place: daelight::Place {
                    at: None,
                    point: point.clone(),
                },
            };
            let output = run::Output {
                points: *points,
                save_at: save_at.clone(),
                estimate_error: *estimate_error,
            };
            if *method == cli::Method::BdfFixed {
                constant_steps::solve(model, &options, fixed, &output, &terminal)
            } else {
                constant_steps::refuse_without(fixed, &terminal)
                    .unwrap_or_else(|| run::solve(model, &options, &output, &terminal))
            }
        }
        Command::Reduce {
            model,
            method,
            form,
            at,
        } => reduce(model, *method, *form, *at, &terminal),
        Command::Examples { name, json } => examples(name.as_deref(), *json, &terminal),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut Cli::command(), "daelight", &mut script);
            terminal.answer(&script, None)
        }
    };
    ExitCode::from(status as u8)
}

fn options(arguments: &ModelArgs) -> Options {
    Options {
        model: arguments.class.clone(),
        set: arguments.set.clone(),
        ..Options::default()
    }
}

fn check(arguments: &ModelArgs, terminal: &Terminal) -> Status {
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
            let status = if checked.is_ok() {
                Status::Done
            } else {
                Status::ModelAtFault
            };
            let loaded = &checked.loaded;
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
        None => Status::ModelAtFault,
        Some(Ok(text)) => terminal.answer(text.as_bytes(), arguments.out.as_deref()),
        Some(Err(diagnostic)) => {
            terminal.show(&[*diagnostic], &loaded.sources);
            Status::ModelAtFault
        }
    }
}

/// Reads a model for a command that works with its equations; says what is wrong where it cannot.
fn load_system(
    arguments: &ModelArgs,
    terminal: &Terminal,
) -> Result<daelight_analysis::System, Status> {
    let loaded = daelight::load(&arguments.model, &options(arguments)).map_err(|diagnostic| {
        terminal.show(&[*diagnostic], &SourceMap::default());
        Status::WrongUsage
    })?;
    terminal.show(&loaded.diagnostics, &loaded.sources);
    let model = loaded.model.as_ref().ok_or(Status::ModelAtFault)?;
    daelight::system(model).map_err(|diagnostic| {
        terminal.show(&[*diagnostic], &loaded.sources);
        Status::ModelAtFault
    })
}

fn analyze(
    arguments: &ModelArgs,
    place: &daelight::Place,
    interval: Option<(f64, f64)>,
    projectors: bool,
    terminal: &Terminal,
) -> Status {
    if let Some(time) = place.at.filter(|time| !time.is_finite()) {
        return terminal.usage(&format!("--at {time} is no time"), "give a finite number");
    }
    let system = match load_system(arguments, terminal) {
        Ok(system) => system,
        Err(status) => return status,
    };
    let passport = match daelight::analyze(&system, place) {
        Ok(passport) => passport,
        Err(diagnostic) => {
            terminal.show(&[*diagnostic], system.sources());
            return Status::ModelAtFault;
        }
    };
    let mut report = AnalyzeReport::new(&system, &passport, projectors);
    if let Some(times) = interval {
        match daelight::analyze_interval(&system, times) {
            Ok(found) => report.add_interval(&found),
            Err(not_linear) => {
                return terminal.usage(
                    &format!("--interval is for linear models; {}", not_linear.sentence),
                    "leave it out, or use --at for single times",
                );
            }
        }
    }
    let answer = if arguments.json {
        to_json(&report)
    } else {
        passport_page(&report, projectors)
    };
    terminal.answer(answer.as_bytes(), arguments.out.as_deref())
}

fn init(arguments: &ModelArgs, options: &daelight::InitOptions, terminal: &Terminal) -> Status {
    if let Some(time) = options.at.filter(|time| !time.is_finite()) {
        return terminal.usage(&format!("--at {time} is no time"), "give a finite number");
    }
    let system = match load_system(arguments, terminal) {
        Ok(system) => system,
        Err(status) => return status,
    };
    let request = match daelight::start_request(&system, options) {
        Ok(request) => request,
        Err(diagnostic) => {
            terminal.show(&[*diagnostic], system.sources());
            return Status::ModelAtFault;
        }
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
            let diagnostic = daelight::singular_diagnostic(&system, singular);
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
            let diagnostic = daelight::missing_diagnostic(&system, time, no_point, budget);
            (Status::GaveUp, "failure", None, None, diagnostic)
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

fn reduce(
    arguments: &ModelArgs,
    method: ReduceMethod,
    form: ReduceForm,
    at: Option<f64>,
    terminal: &Terminal,
) -> Status {
    if arguments.json {
        let usage = "reduce writes Modelica text; --json has no meaning here";
        return terminal.usage(usage, "use `analyze --json` for the index and the point");
    }
    if let Some(time) = at.filter(|time| !time.is_finite()) {
        return terminal.usage(&format!("--at {time} is no time"), "give a finite number");
    }
    let system = match load_system(arguments, terminal) {
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
    let place = daelight::Place { at, point: None };
    match daelight::reduce(&system, &place, method, form) {
        Ok(written) => {
            terminal.note(&written.notes);
            terminal.answer(written.text.as_bytes(), arguments.out.as_deref())
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

    /// Prints remarks on an answer to standard error, unless quiet.
    fn note(&self, lines: &[String]) {
        if !self.quiet {
            let text: String = lines.iter().map(|line| format!("note: {line}\n")).collect();
            let _ = std::io::stderr().write_all(text.as_bytes());
        }
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
                self.usage(
                    &format!("cannot write {place}: {error}"),
                    "choose another place with --out",
                )
            }
        }
    }
}

/// Writes a file whole or not at all: under another name first, then renamed.
fn write_whole(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    // Something like /dev/stdout cannot be replaced by renaming.
    if path.exists() && !path.is_file() {
        return std::fs::write(path, bytes);
    }
    if !folder.is_dir() {
        return Err(std::io::Error::other("the folder does not exist"));
    }
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let permissions = std::fs::metadata(path)
            .map_or(std::fs::Permissions::from_mode(0o644), |existing| {
                existing.permissions()
            });
        file.as_file().set_permissions(permissions)?;
    }
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}
