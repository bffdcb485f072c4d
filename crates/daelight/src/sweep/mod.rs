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

mod count;
mod execution;
mod growth;
mod measure;
mod points;
mod store;

pub use count::BoundaryCurve;
pub use execution::SweepEnd;
pub use measure::{Measure, Measured};
pub use points::{Axis, MOST_POINTS, Shard, SweepPoints};
pub use store::{Store, StoreError, header, line, partial_path, read_rows};

use crate::analyze::Place;
use crate::input::ModelText;
use crate::solve::{Setup, SolveOptions};
use crate::system;
use count::Counts;
use daelight_analysis::System;
use daelight_lang::{Code, Diagnostic, Model, Options, Severity, SourceMap, Type, nearest};
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
}

impl Settings {
    /// How long to work at a point where nothing else is said.
    pub const BUDGET: std::time::Duration = std::time::Duration::from_secs(10);

    /// Whether points need a run.
    fn needs_run(&self, measures: &[Measure]) -> bool {
        !self.times.is_empty() || measures.iter().any(Measure::needs_run)
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
    /// The text is read again for every point: its shape depends on the parameters.
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
        settings: Settings,
    ) -> Result<Self, SweepRefusal> {
        if measures.is_empty() {
            let diagnostic = Diagnostic::placeless(Code::BadValue, "nothing is to be measured");
            let help = "name a measure, for example index or final:x";
            return Err(SweepRefusal::of(diagnostic.help(help)));
        }
        let base = daelight_lang::load(&text.name, &text.bytes, options);
        let loaded = match base.model {
            Some(_) => base,
            // A parameter may have no value but that of the points.
            None => {
                let first = points.point(0);
                let set = assignments(points.names(), &first, &[]);
                let options = with_set(options, set);
                let at_first = daelight_lang::load(&text.name, &text.bytes, &options);
                if at_first.model.is_some() {
                    at_first
                } else {
                    base
                }
            }
        };
        let Some(model) = &loaded.model else {
            return Err(SweepRefusal {
                diagnostics: loaded.diagnostics,
                sources: loaded.sources,
            });
        };
        crate::without_events(model.hybrid.as_deref())
            .map_err(|diagnostic| SweepRefusal::of(*diagnostic))?;
        let found: Vec<usize> = (points.names().iter())
            .map(|name| parameter(model, name))
            .collect::<Result<_, _>>()
            .map_err(|diagnostic| SweepRefusal::of(*diagnostic))?;
        let types = found.iter().map(|&at| model.parameters[at].ty).collect();
        let declaration = |&at: &usize| &model.declarations[model.parameters[at].declaration];
        let units = found.iter().map(|at| declaration(at).unit.clone());
        let units = units.collect();
        let is_structural = found.iter().any(|&at| model.parameters[at].is_structural);
        let way = if is_structural {
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
        if let Way::Set(prepared) = &way {
            for name in measures.iter().filter_map(Measure::unknown) {
                unknown(&prepared.system, name)
                    .map_err(|diagnostic| SweepRefusal::of(*diagnostic))?;
            }
        }
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
            counts: measures.iter().any(is_counted).then_some(counts),
            warnings: loaded.diagnostics.into_iter().filter(is_warning).collect(),
            text,
            options: options.clone(),
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

    /// The names of the unknowns whose values rows hold; none where the shape of the model depends on the point.
    pub fn unknowns(&self) -> Vec<String> {
        match &self.way {
            Way::Set(prepared) => {
                let unknowns = prepared.system.unknowns().iter();
                unknowns.map(|unknown| unknown.name.clone()).collect()
            }
            Way::Read => Vec::new(),
        }
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
        if matches!(self.way, Way::Read) {
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
        } = &self.settings;
        let SolveOptions {
            from,
            to,
            rtol,
            atol,
            method,
            order,
            continues,
            max_steps,
            ..
        } = solve;
        let run = format!(
            "{:?}",
            (from, to, rtol, atol, method, order, continues, max_steps)
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

fn unknown(system: &System, name: &str) -> Result<(), Box<Diagnostic>> {
    let names = || system.unknowns().iter().map(|u| u.name.as_str());
    if names().any(|other| other == name) {
        return Ok(());
    }
    let message = format!("the model has no unknown `{name}`");
    let help = match nearest(name, names()) {
        Some(near) => format!("did you mean {near}?"),
        None => format!("its unknowns are {}", few(names())),
    };
    Err(Diagnostic::placeless(Code::UndeclaredName, message)
        .help(help)
        .into())
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
