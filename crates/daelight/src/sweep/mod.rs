//! One model at many values of its parameters: points in, rows out, in order.
//!
//! A [`Sweep`] is a model with [`SweepPoints`] and [`Measure`]s. Its [`rows`](Sweep::rows) are the same whatever the number of
//! threads; a point that fails is a row with its reason. [`Store`] keeps them in a file that an interrupted sweep goes on
//! with.
//!
//! ```
//! use daelight::sweep::{Axis, Measure, SweepPoints, Settings, Sweep};
//!
//! let points = SweepPoints::grid(&[Axis::read("L=0.5:2:4")?])?;
//! let measures = vec![Measure::read("dof")?, Measure::read("index")?];
//! let text = daelight::find_text("pendulum").expect("a built-in model");
//! let sweep = Sweep::new(text, &Default::default(), points, measures, Settings::default());
//! let sweep = sweep.map_err(|refusal| refusal.to_string())?;
//! let rows = sweep.all_rows();
//! assert_eq!(rows.len(), 4);
//! assert!(rows.iter().all(|row| row.measured[0].number() == Some(2.0)));
//! assert!(rows.iter().all(|row| row.measured[1].number() == Some(3.0)));
//! # Ok::<(), String>(())
//! ```

mod along;
mod bands;
mod count;
mod execution;
mod growth;
mod measure;
mod points;
mod run;
mod store;

pub use count::BoundaryCurve;
pub use execution::SweepEnd;
pub use measure::{Measure, Measured};
pub use points::{Axis, MOST_POINTS, Shard, SweepPoints};
pub use store::{Store, StoreError, header, line, partial_path, read_rows};

use crate::analyze::Place;
use crate::hybrid::HybridSolution;
use crate::input::ModelText;
use crate::solve::{Setup, SolveOptions, span_of};
use crate::{Relations, load_text, system};
use count::Counts;
use daelight_analysis::System;
use daelight_lang::{Code, Diagnostic, Loaded, Model, Options, Severity, SourceMap, Type, nearest};
use std::collections::HashSet;
use std::fmt;
use std::sync::OnceLock;

/// How points are measured.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// How runs are done.
    pub solve: SolveOptions,
    /// Where index and degrees of freedom are looked at.
    pub place: Place,
    /// How much work singular configurations may take, for each point that is asked for alone.
    pub limits: daelight_singular::SearchLimits,
    /// Coordinates that are driven from outside, for singular configurations.
    pub locked: Vec<String>,
    /// How many points are measured at the same time; by default as many as there are processors.
    pub n_threads: Option<usize>,
    /// The times at which the values of all unknowns are kept with each row.
    pub times: Vec<f64>,
    /// Where these are none: how many even ones of the run.
    pub n_times: usize,
}

impl Settings {
    /// How long to work at a point where nothing else is said.
    pub const BUDGET: std::time::Duration = std::time::Duration::from_secs(10);

    /// Whether points need a run.
    fn needs_run(&self, measures: &[Measure]) -> bool {
        let keeps_values = !self.times.is_empty() || self.n_times > 0;
        keeps_values || measures.iter().any(Measure::needs_run)
    }

    /// How many points are measured at the same time, at least one.
    fn n_threads(&self) -> usize {
        let available = || std::thread::available_parallelism().map_or(1, usize::from);
        self.n_threads.unwrap_or_else(available).max(1)
    }
}

/// A point with what was measured there.
#[derive(Clone, PartialEq, Debug)]
pub struct SweepRow {
    /// The number of the point.
    pub number: usize,
    /// The values of the parameters.
    pub point: Vec<f64>,
    /// One entry for each measure.
    pub measured: Vec<Measured>,
    /// Why entries are missing, why a run did not succeed, or how far errors that grew have taken it; empty otherwise.
    pub reason: String,
    /// All unknowns at the times of the [`Settings`], time by time; NaN outside the run.
    pub values: Vec<f64>,
}

/// Why there is no sweep.
#[derive(Clone)]
pub struct SweepRefusal {
    /// What is wrong.
    pub diagnostics: Vec<Diagnostic>,
    /// The texts that the diagnostics point into.
    pub sources: SourceMap,
}

impl SweepRefusal {
    fn of(diagnostic: Diagnostic) -> Self {
        Self {
            diagnostics: vec![diagnostic],
            sources: SourceMap::default(),
        }
    }
}

impl fmt::Display for SweepRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let messages: Vec<&str> = (self.diagnostics.iter())
            .map(|diagnostic| diagnostic.message.as_str())
            .collect();
        f.write_str(&messages.join("; "))
    }
}

impl fmt::Debug for SweepRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// How the model takes the values of a point.
enum Way {
    /// They are set; what was prepared is shared.
    Set(Box<Prepared>),
    /// The text is read again for every point: its shape depends on the parameters, or it has events.
    Read,
}

/// A model that is prepared for other values of its parameters.
struct Prepared {
    system: System,
    /// The parameters of the points, by position.
    places: Vec<usize>,
    /// For runs, if measures need some.
    setup: Option<Setup>,
}

/// A model, points and measures.
pub struct Sweep {
    text: ModelText,
    options: Options,
    points: SweepPoints,
    measures: Vec<Measure>,
    settings: Settings,
    name: String,
    types: Vec<Type>,
    /// Units of the parameters that change.
    units: Vec<String>,
    way: Way,
    /// What relations are in the text.
    relations: Relations,
    /// The names of the values that rows hold; none where the shape of the model depends on the point.
    unknowns: Vec<String>,
    has_events: bool,
    counts: Option<Counts>,
    warnings: Vec<Diagnostic>,
    /// Whether small errors grow in some of the runs, once it was asked.
    grows: OnceLock<bool>,
}

impl Sweep {
    /// Reads the model and prepares what all points share.
    pub fn new(
        text: ModelText,
        options: &Options,
        points: SweepPoints,
        measures: Vec<Measure>,
        mut settings: Settings,
    ) -> Result<Self, SweepRefusal> {
        if measures.is_empty() {
            let diagnostic = Diagnostic::placeless(Code::BadValue, "nothing is to be measured");
            let help = "name a measure, for example index or final:x";
            return Err(SweepRefusal::of(diagnostic.help(help)));
        }
        let mut options = options.clone();
        let relations = match settings.needs_run(&measures) {
            true => Relations::Modes,
            false => Relations::Kinks,
        };
        let loaded = loaded_with_values(&text, &options, relations, &points);
        let loaded = observing(loaded, &measures, &mut options, |options| {
            loaded_with_values(&text, options, relations, &points)
        })?;
        let Some(model) = &loaded.model else {
            return Err(SweepRefusal {
                diagnostics: loaded.diagnostics,
                sources: loaded.sources,
            });
        };
        if settings.times.is_empty() {
            let (from, to) = span_of(&model.experiment, &settings.solve);
            let last = settings.n_times.saturating_sub(1) as f64;
            let even = |k: usize| from + (to - from) * (k as f64 / last);
            settings.times = (0..settings.n_times).map(even).collect();
        }
        let has_events = model.hybrid.is_some();
        if has_events {
            crate::hybrid::needs_condition(model).map_err(|found| SweepRefusal::of(*found))?;
        }
        if has_events && !measures.iter().all(Measure::is_told_by_run) {
            crate::without_events(model.hybrid.as_deref())
                .map_err(|diagnostic| SweepRefusal::of(of_runs_only(*diagnostic)))?;
        }
        let found: Vec<usize> = (points.names().iter())
            .map(|name| parameter(model, name))
            .collect::<Result<_, _>>()
            .map_err(|diagnostic| SweepRefusal::of(*diagnostic))?;
        let types = found.iter().map(|&at| model.parameters[at].ty).collect();
        let declaration = |&at: &usize| &model.declarations[model.parameters[at].declaration];
        let units = found.iter().map(|at| declaration(at).unit.clone());
        let units = units.collect();
        let is_structural = found.iter().any(|&at| model.parameters[at].is_structural);
        let way = if is_structural || has_events {
            Way::Read
        } else {
            let system = system(model).map_err(|diagnostic| SweepRefusal {
                diagnostics: vec![*diagnostic],
                sources: loaded.sources.clone(),
            })?;
            let needs_run = settings.needs_run(&measures);
            let is_square = system.equations().n_equations() == system.equations().n_unknowns();
            Way::Set(Box::new(Prepared {
                setup: (needs_run && is_square).then(|| Setup::for_many(&system, &settings.solve)),
                places: found,
                system,
            }))
        };
        let unknowns = match is_structural {
            false => HybridSolution::names(model),
            true => Vec::new(),
        };
        let is_counted = |measure: &Measure| matches!(measure, Measure::SingularCount(_));
        let counts = match (measures.iter().any(is_counted), &way) {
            (true, Way::Set(_)) => Counts::new(model, &points, &measures, &settings),
            (true, Way::Read) => Ok(Counts::each(
                "the shape of the model depends on the parameters".to_string(),
            )),
            (false, _) => Ok(Counts::each(String::new())),
        };
        let counts = counts.map_err(|diagnostics| SweepRefusal {
            diagnostics,
            sources: loaded.sources.clone(),
        })?;
        counts
            .check(&measures)
            .map_err(|diagnostic| SweepRefusal::of(*diagnostic))?;
        let is_warning = |d: &Diagnostic| d.severity == Severity::Warning;
        Ok(Self {
            grows: OnceLock::new(),
            name: model.name.clone(),
            types,
            units,
            way,
            relations,
            unknowns,
            has_events,
            counts: measures.iter().any(is_counted).then_some(counts),
            warnings: loaded.diagnostics.into_iter().filter(is_warning).collect(),
            text,
            options,
            points,
            measures,
            settings,
        })
    }

    /// The name of the model.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The name of a parameter that changes, by its place in a point, with its unit.
    pub fn label(&self, at: usize) -> String {
        daelight_show::picture::labelled(&self.points.names()[at], &self.units[at])
    }

    /// The points.
    pub fn points(&self) -> &SweepPoints {
        &self.points
    }

    /// The names of the unknowns whose values rows hold, and of discrete variables; none where the shape of the model depends on the
    /// point.
    pub fn unknowns(&self) -> &[String] {
        &self.unknowns
    }

    /// The place of a name among them.
    pub fn place_of(&self, name: &str) -> Result<usize, Box<Diagnostic>> {
        let found = self.unknowns.iter().position(|unknown| unknown == name);
        found.ok_or_else(|| {
            let names: Vec<&str> = self.unknowns.iter().map(String::as_str).collect();
            unknown(&names, name)
        })
    }

    /// What is measured.
    pub fn measures(&self) -> &[Measure] {
        &self.measures
    }

    /// Warnings about the text of the model.
    pub fn warnings(&self) -> &[Diagnostic] {
        &self.warnings
    }

    /// What to know about the way points are measured.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if matches!(self.way, Way::Read) && !self.has_events {
            notes.push(
                "the text is read again for every point: its shape depends on the parameters"
                    .to_string(),
            );
        }
        if let Some(why) = self.counts.as_ref().and_then(Counts::why_each) {
            notes.push(format!(
                "singular configurations are found at every point alone: {why}"
            ));
        }
        if self
            .counts
            .as_ref()
            .is_some_and(|counts| !counts.is_proved())
        {
            notes.push(
                "numbers of singular configurations rest on computations modulo primes: observed, not proved"
                    .to_string(),
            );
        }
        notes
    }

    /// The curves in the plane of two parameters on which numbers of singular configurations change.
    pub fn curves(&self) -> Vec<BoundaryCurve> {
        let counts = self.counts.as_ref();
        counts.map_or(Vec::new(), |counts| counts.curves(&self.points))
    }

    /// A number that other sweeps do not have: of the text, the points, the measures and what they depend on.
    pub fn fingerprint(&self) -> String {
        let Settings {
            solve,
            place,
            limits: _,
            locked,
            n_threads: _,
            times,
            n_times: _,
        } = &self.settings;
        let SolveOptions {
            from,
            to,
            rtol,
            atol,
            method,
            order,
            continues,
            rests_at_zeno,
            max_steps,
            ..
        } = solve;
        let run = format!(
            "{:?}",
            (
                from,
                to,
                rtol,
                atol,
                method,
                order,
                (continues, rests_at_zeno),
                max_steps
            )
        );
        let Options {
            model, set, free, ..
        } = &self.options;
        let parts = [
            env!("CARGO_PKG_VERSION").as_bytes().to_vec(),
            self.text.bytes.clone(),
            format!("{model:?} {set:?} {free:?} {:?}", self.options.stop_when).into_bytes(),
            format!("{:?} {:?}", self.points, self.measures).into_bytes(),
            format!("{run} {place:?} {:?} {locked:?} {times:?}", solve.place).into_bytes(),
        ];
        // FNV-1a, with a mark between the parts.
        let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
        for byte in parts.iter().flat_map(|part| part.iter().chain(&[0xff])) {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
        format!("{hash:016x}")
    }
}

/// The first names of a list.
pub(crate) fn few<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    let more = if names.len() > 8 { ", …" } else { "" };
    format!("{}{more}", names[..names.len().min(8)].join(", "))
}

/// The position of a parameter that points may give values.
fn parameter(model: &Model, name: &str) -> Result<usize, Box<Diagnostic>> {
    let names = || model.parameters.iter().map(|p| p.name.as_str());
    let Some(at) = names().position(|other| other == name) else {
        let message = format!("the model has no parameter `{name}`");
        let element = names().find(|other| {
            other
                .strip_prefix(name)
                .is_some_and(|rest| rest.starts_with('['))
        });
        let is_unknown = model.unknowns.iter().any(|unknown| unknown.name == name);
        let help = match (element, nearest(name, names())) {
            _ if is_unknown => format!(
                "`{name}` is an unknown; to vary its start write `parameter Real {name}0 = …;` and `{name}(start = {name}0)`, and sweep {name}0"
            ),
            (Some(element), _) => format!("name an element of the array, such as {element}"),
            (None, Some(near)) => format!("did you mean {near}?"),
            (None, None) if model.parameters.is_empty() => {
                "it has no parameters; declare one, as in `parameter Real w = 1;`".to_string()
            }
            (None, None) => {
                let own = model.own_parameters().map(|p| p.name.as_str());
                format!("its parameters are {}", few(own))
            }
        };
        return Err(Diagnostic::placeless(Code::UnknownParameter, message)
            .help(help)
            .into());
    };
    let found = &model.parameters[at];
    let is_final = model.declarations[found.declaration].is_final;
    let why = match (found.is_constant, is_final) {
        (true, _) => "a constant",
        (_, true) => "final",
        _ => return Ok(at),
    };
    let message = format!("`{name}` is {why} and keeps its value");
    Err(Diagnostic::placeless(Code::BadValue, message)
        .help("sweep over parameters that it follows from")
        .into())
}

/// Reads the text; a parameter may have no value but that of the points.
fn loaded_with_values(
    text: &ModelText,
    options: &Options,
    relations: Relations,
    points: &SweepPoints,
) -> Loaded {
    let base = load_text(text, options.clone(), relations);
    if base.model.is_some() {
        return base;
    }
    let set = assignments(points.names(), &points.point(0), &[]);
    let at_first = load_text(text, with_set(options, set), relations);
    match at_first.model {
        Some(_) => at_first,
        None => base,
    }
}

/// Reads the text again with what is measured along runs and is neither an unknown nor a view of it.
fn observing(
    loaded: Loaded,
    measures: &[Measure],
    options: &mut Options,
    load: impl FnOnce(&Options) -> Loaded,
) -> Result<Loaded, SweepRefusal> {
    let Some(model) = &loaded.model else {
        return Ok(loaded);
    };
    let unknowns = model.unknowns.iter().map(|unknown| &unknown.name);
    let known: Vec<&String> = unknowns
        .chain(model.views.iter().map(|v| &v.name))
        .collect();
    let is_known: HashSet<&String> = known.iter().copied().collect();
    let mut observed: Vec<String> = Vec::new();
    for name in measures.iter().filter_map(Measure::quantity) {
        let name = name.to_string();
        if is_known.contains(&name) || observed.contains(&name) {
            continue;
        }
        // A name alone is told beside the names that there are.
        if name.chars().all(|c| c.is_alphanumeric() || c == '_')
            && !model.parameters.iter().any(|p| p.name == name)
            && !is_declared(model, &name)
        {
            let names: Vec<&str> = known.iter().map(|known| known.as_str()).collect();
            return Err(SweepRefusal::of(*unknown(&names, &name)));
        }
        observed.push(name);
    }
    if observed.is_empty() {
        return Ok(loaded);
    }
    options.observed = observed;
    Ok(load(options))
}

/// Whether a name stands for something that has a value along runs, though it is no unknown: the time, or what the text declares.
fn is_declared(model: &Model, name: &str) -> bool {
    name == "time" || model.declarations.iter().any(|d| d.name == name)
}

fn unknown(names: &[&str], name: &str) -> Box<Diagnostic> {
    let message = format!("the model has no unknown `{name}`");
    let help = match nearest(name, names.iter().copied()) {
        Some(near) => format!("did you mean {near}?"),
        None if names.is_empty() => {
            "a parameter decides the shape of the model: sweep over others".to_string()
        }
        None => format!("its unknowns are {}", few(names.iter().copied())),
    };
    Diagnostic::placeless(Code::UndeclaredName, message)
        .help(help)
        .into()
}

/// What a model with events can be asked.
fn of_runs_only(refused: Diagnostic) -> Diagnostic {
    let help = "measure its runs: final, max, min, max-abs, status or first-singular-time";
    refused.help(help)
}

/// Values of parameters as `--set` takes them.
fn assignments(names: &[String], point: &[f64], types: &[Type]) -> Vec<String> {
    let text = |(at, (name, value)): (usize, (&String, &f64))| match types.get(at) {
        Some(Type::Boolean) if *value == 1.0 => format!("{name}=true"),
        Some(Type::Boolean) if *value == 0.0 => format!("{name}=false"),
        Some(Type::Integer) if value.fract() == 0.0 => format!("{name}={value:.0}"),
        _ => format!("{name}={value:e}"),
    };
    names.iter().zip(point).enumerate().map(text).collect()
}

fn with_set(options: &Options, set: Vec<String>) -> Options {
    let mut options = options.clone();
    options.set.extend(set);
    options
}
