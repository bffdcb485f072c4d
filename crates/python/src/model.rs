//! Models: their text, what was made of it, and every question that a command answers.

use crate::errors::{of_diagnostics, of_refusal, of_text, usage};
use crate::run::{Frames, Run};
use daelight::hybrid::{StartMode, equations_at_start, solve_hybrid};
use daelight::record::{self, PageOptions, RefusalKind};
use daelight::sweep::{Measure, Measured, Settings, Sweep, SweepPoints, SweepRow};
use daelight::{
    Driven, FeedforwardOptions, InitOptions, Interrupt, ModelText, NoFeedforward, NoRun, Place,
    Progress, Relations, Setup, SolveOptions, built_in_models as library, solve_prepared,
};
use daelight_analysis::System;
use daelight_analysis::index_reduction::{Form, LinearReduction, ReduceBy as Reduction};
use daelight_integrate::implicit::Method;
use daelight_lang::{ArrayStyle, Diagnostic, Loaded, Options, PAGE, StopCondition, StopKind};
use daelight_show::record::{CheckRecord, to_json};
use daelight_show::{page, terminal};
use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// How often a run looks whether the interpreter was asked to stop.
const SIGNALS_EVERY: Duration = Duration::from_millis(50);
/// How long a search may take unless asked otherwise.
pub(crate) const BUDGET: f64 = 60.0;
/// Samples of forces that are fed forward, and times at which motions are compared: as the command has it.
const FORCE_SAMPLES: usize = 2001;
const MOTION_POINTS: usize = 201;

/// Names and descriptions of the built-in models.
#[pyfunction]
pub fn built_in_models() -> Vec<(&'static str, String)> {
    let entry = |model: &daelight::BuiltIn| (model.name, model.description());
    library().iter().map(entry).collect()
}

/// What a word of the output means: the word itself, other words for it, the text.
#[pyfunction]
pub fn explanation(word: &str) -> Option<(&'static str, Vec<&'static str>, String)> {
    daelight::explain(word).map(|found| (found.word, found.also, found.text))
}

/// A model: its text with values for parameters, and the equations made of it.
#[pyclass(module = "daelight._daelight", frozen)]
pub struct Model {
    name: String,
    bytes: Vec<u8>,
    options: Options,
    loaded: Loaded,
    /// Made when a question first needs it, then shared by all runs.
    system: OnceLock<Result<Arc<System>, Box<Diagnostic>>>,
    /// What all runs share.
    setup: OnceLock<Setup>,
    /// The same with relations as conditions of modes, if it has events or such modes.
    held: OnceLock<Option<Arc<daelight_lang::Model>>>,
    /// Whether unknowns may be free or equations redundant, which takes longer to find out than a short run.
    may_be_free: OnceLock<bool>,
    /// What runs tell of its units.
    units: OnceLock<Option<String>>,
}

impl Model {
    fn read(name: String, bytes: Vec<u8>, mut options: Options) -> PyResult<Self> {
        // Classes of libraries stand in the folders of MODELICAPATH and beside the text.
        let folders = || daelight::library_folders(&[], &name);
        options.files.get_or_insert_with(folders);
        let loaded = daelight_lang::load(&name, &bytes, &options);
        if let Some(unknown) = daelight::unknown_class(&name, &loaded) {
            let sources = Default::default();
            return Err(of_diagnostics("ModelError", &[unknown], &sources, None));
        }
        if loaded.model.is_none() {
            return Err(of_text(&loaded));
        }
        Ok(Self {
            name,
            bytes,
            options,
            loaded,
            system: OnceLock::new(),
            setup: OnceLock::new(),
            held: OnceLock::new(),
            may_be_free: OnceLock::new(),
            units: OnceLock::new(),
        })
    }

    pub(crate) fn model(&self) -> &daelight_lang::Model {
        // A model without equations is refused by `read`.
        self.loaded
            .model
            .as_ref()
            .unwrap_or_else(|| unreachable!("a model that was read"))
    }

    fn text(&self) -> ModelText {
        ModelText {
            name: self.name.clone(),
            bytes: self.bytes.clone(),
        }
    }

    /// The model with its events and modes; `None` if it has none.
    fn with_events(&self) -> Option<&Arc<daelight_lang::Model>> {
        let held = self.held.get_or_init(|| {
            let plain = self.model();
            if plain.hybrid.is_some() {
                return Some(Arc::new(plain.clone()));
            }
            if !daelight::hybrid::switches_unknowns(plain, daelight::Deciders::Kinks) {
                return None;
            }
            let options = self.options.clone();
            let loaded = daelight::load_text(&self.text(), options, Relations::Modes);
            loaded.model.filter(|m| m.hybrid.is_some()).map(Arc::new)
        });
        held.as_ref()
    }

    /// The equations that hold at the start, and what is discrete there.
    fn at_start(&self, at: Option<f64>) -> PyResult<(Arc<System>, Option<StartMode>)> {
        let Some(model) = self.with_events() else {
            return Ok((Arc::clone(self.system()?), None));
        };
        let found =
            daelight::system(model).and_then(|system| equations_at_start(model, system, at));
        let (system, start) = found.map_err(|diagnostic| self.at_fault(*diagnostic))?;
        Ok((Arc::new(system), start))
    }

    fn system(&self) -> PyResult<&Arc<System>> {
        let made = self
            .system
            .get_or_init(|| daelight::system(self.model()).map(Arc::new));
        made.as_ref()
            .map_err(|diagnostic| self.at_fault(diagnostic.as_ref().clone()))
    }

    pub(crate) fn at_fault(&self, diagnostic: Diagnostic) -> PyErr {
        of_diagnostics("ModelError", &[diagnostic], &self.loaded.sources, None)
    }

    pub(crate) fn place(
        &self,
        at: Option<f64>,
        point: Vec<(String, f64)>,
        budget: Option<f64>,
    ) -> PyResult<Place> {
        finite("at", at)?;
        known(self.system()?, &point)?;
        Ok(Place {
            at,
            values: point,
            budget: budget.map(seconds).transpose()?,
            ..Place::default()
        })
    }
}

/// Refuses names that are no unknowns.
fn known(system: &System, point: &[(String, f64)]) -> PyResult<()> {
    for (name, value) in point {
        if !system
            .unknowns()
            .iter()
            .any(|unknown| unknown.name == *name)
        {
            let names = system
                .unknowns()
                .iter()
                .map(|unknown| unknown.name.as_str());
            let near = daelight_lang::nearest(name, names)
                .map_or(String::new(), |near| format!("; did you mean `{near}`?"));
            return Err(usage(format!(
                "`{name}` is not an unknown of the model{near}"
            )));
        }
        if !value.is_finite() {
            return Err(usage(format!("`{name}` is given the value {value}")));
        }
    }
    Ok(())
}

fn finite(what: &str, value: Option<f64>) -> PyResult<()> {
    match value.filter(|value| !value.is_finite()) {
        Some(value) => Err(usage(format!("{what} = {value} is not a time"))),
        None => Ok(()),
    }
}

fn seconds(value: f64) -> PyResult<Duration> {
    // Far longer ones are beyond what clocks can add.
    if (0.0..1e9).contains(&value) {
        Ok(Duration::from_secs_f64(value))
    } else {
        Err(usage(format!("{value} s is not a time budget")))
    }
}

/// A number, its derivatives by name, and what to know beside them.
type GradientParts = (f64, Vec<(String, f64)>, Vec<String>);

/// Start, end and tolerance of a run.
type Span = (Option<f64>, Option<f64>, Option<f64>);

impl Model {
    /// The derivatives of a number by parameters, by default all of them.
    fn differentiated(
        &self,
        loss: &daelight::Loss,
        names: Option<Vec<String>>,
        (from, to, rtol): Span,
    ) -> PyResult<GradientParts> {
        let at_fault = |diagnostic: Box<Diagnostic>| self.at_fault(*diagnostic);
        let model = self.model();
        let system = daelight::system(model).map_err(at_fault)?;
        let names = names.unwrap_or_else(|| daelight::all_parameters(model, &system));
        let options = SolveOptions {
            from,
            to,
            rtol,
            ..SolveOptions::default()
        };
        let found = daelight::gradient(model, &system, &options, loss, &names);
        let found = found.map_err(at_fault)?;
        let pairs = found.by.into_iter().zip(found.gradient).collect();
        Ok((found.value, pairs, found.warnings))
    }
}

#[pymethods]
impl Model {
    /// Reads a text.
    #[staticmethod]
    #[pyo3(signature = (text, name, class_name=None, parameters=Vec::new(), stop_when=None, free=Vec::new()))]
    fn from_source(
        py: Python<'_>,
        text: String,
        name: String,
        class_name: Option<String>,
        parameters: Vec<String>,
        stop_when: Option<String>,
        free: Vec<String>,
    ) -> PyResult<Self> {
        let options = Options {
            model: class_name,
            set: parameters,
            stop_when,
            free,
            ..Options::default()
        };
        py.detach(|| Self::read(name, text.into_bytes(), options))
    }

    /// Reads a file or a built-in model.
    #[staticmethod]
    #[pyo3(signature = (model, class_name=None))]
    fn load(py: Python<'_>, model: String, class_name: Option<String>) -> PyResult<Self> {
        py.detach(|| {
            let mut options = Options {
                model: class_name,
                ..Options::default()
            };
            let text = daelight::text_of(&model, &mut options).map_err(|diagnostic| {
                of_diagnostics("ModelError", &[*diagnostic], &Default::default(), None)
            })?;
            Self::read(text.name, text.bytes, options)
        })
    }

    /// The same text with other values, each as `name=value`, after those given before.
    #[pyo3(signature = (parameters, stop_when=None, free=Vec::new()))]
    fn with_parameters(
        &self,
        py: Python<'_>,
        parameters: Vec<String>,
        stop_when: Option<String>,
        free: Vec<String>,
    ) -> PyResult<Self> {
        let mut options = self.options.clone();
        options.set.extend(parameters);
        options.free.extend(free);
        if stop_when.is_some() {
            options.stop_when = stop_when;
        }
        py.detach(|| Self::read(self.name.clone(), self.bytes.clone(), options))
    }

    /// The name under which messages speak of the text.
    #[getter]
    fn file(&self) -> &str {
        &self.name
    }

    /// The text.
    #[getter(text)]
    fn shown_text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }

    /// What `from_source` needs to make the same model: class, parameters, stopping condition, equations that join the text.
    #[getter]
    fn recipe(&self) -> Recipe {
        let options = &self.options;
        (
            options.model.clone(),
            options.set.clone(),
            options.stop_when.clone(),
            options.free.clone(),
        )
    }

    /// The name of the model.
    #[getter]
    fn name(&self) -> &str {
        &self.model().name
    }

    /// Its comment.
    #[getter]
    fn comment(&self) -> &str {
        &self.model().comment
    }

    /// Names of all unknowns.
    #[getter]
    fn unknowns(&self) -> Vec<String> {
        let unknowns = self.model().unknowns.iter();
        unknowns.map(|unknown| unknown.name.clone()).collect()
    }

    /// Names of the inputs.
    #[getter]
    fn inputs(&self) -> Vec<String> {
        let inputs = self.model().inputs.iter();
        inputs.map(|input| input.name.clone()).collect()
    }

    /// Names and values of the parameters that can be set.
    #[getter]
    fn parameters(&self) -> Vec<(String, f64)> {
        let parameters = self.model().parameters.iter();
        parameters
            .filter(|parameter| !parameter.is_constant)
            .map(|parameter| (parameter.name.clone(), parameter.value))
            .collect()
    }

    /// Start, stop, tolerance and interval of the experiment.
    #[getter]
    fn experiment(&self) -> (Option<f64>, Option<f64>, Option<f64>, Option<f64>) {
        let found = &self.model().experiment;
        (
            found.start_time,
            found.stop_time,
            found.tolerance,
            found.interval,
        )
    }

    /// All equations as text.
    #[getter]
    fn equations(&self) -> Vec<String> {
        let model = self.model();
        let equations = model.equations.iter();
        equations
            .map(|equation| model.equation_text(equation))
            .collect()
    }

    /// The first equations as MathML, without the `math` element; `None` where one is too long.
    fn equations_mathml(&self, most: usize) -> Vec<Option<String>> {
        let model = self.model();
        let equations = model.equations.iter().take(most);
        equations
            .map(|equation| record::equation_mathml(model, equation, PAGE))
            .collect()
    }

    /// The document of `check --json`.
    fn check(&self, py: Python<'_>) -> String {
        py.detach(|| {
            let model = self.model();
            let mut diagnostics = self.loaded.diagnostics.clone();
            diagnostics.extend(daelight_lang::balance(model).diagnostics(model));
            let units = daelight_lang::UnitCheck::default();
            diagnostics.extend(daelight_lang::check_units(model, units));
            to_json(&CheckRecord::new(true, &diagnostics, &self.loaded.sources))
        })
    }

    /// Flat Modelica text.
    fn derive(&self, py: Python<'_>, scalar: bool, base: bool) -> PyResult<String> {
        let style = match (base, scalar) {
            (true, _) => ArrayStyle::Base,
            (false, true) => ArrayStyle::Scalarised,
            (false, false) => ArrayStyle::Kept,
        };
        py.detach(|| {
            daelight::derive(self.model(), style).map_err(|diagnostic| self.at_fault(*diagnostic))
        })
    }

    /// A number and its derivatives by many parameters: a text, or samples (time, unknown, value).
    #[pyo3(signature = (loss, samples, names, from=None, to=None, rtol=None))]
    #[allow(
        clippy::too_many_arguments,
        reason = "the options of a command, given by name in Python"
    )]
    fn gradient(
        &self,
        py: Python<'_>,
        loss: Option<String>,
        samples: Vec<(f64, String, f64)>,
        names: Option<Vec<String>>,
        from: Option<f64>,
        to: Option<f64>,
        rtol: Option<f64>,
    ) -> PyResult<GradientParts> {
        finite("the start", from)?;
        finite("the end", to)?;
        if let Some(rtol) = rtol.filter(|rtol| !(*rtol > 0.0 && *rtol < 1.0)) {
            return Err(usage(format!(
                "rtol = {rtol} is not a tolerance: give a number between 0 and 1"
            )));
        }
        py.detach(|| match loss {
            Some(text) => {
                let inside = daelight::inside_integral(&text).map(str::to_string);
                let mut options = self.options.clone();
                options.stop_when = Some(inside.clone().unwrap_or(text));
                options.gradient = Some("gradient");
                let read = Self::read(self.name.clone(), self.bytes.clone(), options)?;
                let Some(number) = read.model().stop_when else {
                    return Err(usage("the loss is no number".to_string()));
                };
                let loss = match inside {
                    Some(_) => daelight::Loss::Integral(number.expr),
                    None => daelight::Loss::Final(number.expr),
                };
                read.differentiated(&loss, names, (from, to, rtol))
            }
            None => {
                let unknowns = &self.model().unknowns;
                let sample = |(time, name, value): (f64, String, f64)| {
                    let at = unknowns.iter().position(|unknown| unknown.name == name);
                    let at = at.ok_or_else(|| usage(format!("there is no unknown `{name}`")))?;
                    Ok((time, at, value))
                };
                let samples: PyResult<Vec<_>> = samples.into_iter().map(sample).collect();
                let loss = daelight::Loss::Squares(samples?);
                self.differentiated(&loss, names, (from, to, rtol))
            }
        })
    }

    /// The document of `analyze --json` and its page.
    #[pyo3(signature = (at=None, point=Vec::new(), interval=None, projectors=false, eigenvalues=false, budget=None))]
    #[allow(
        clippy::too_many_arguments,
        reason = "the options of a command, given by name in Python"
    )]
    fn analyze(
        &self,
        py: Python<'_>,
        at: Option<f64>,
        point: Vec<(String, f64)>,
        interval: Option<(f64, f64)>,
        projectors: bool,
        eigenvalues: bool,
        budget: Option<f64>,
    ) -> PyResult<(String, String)> {
        py.detach(|| {
            let place = self.place(at, point, Some(budget.unwrap_or(BUDGET)))?;
            let (system, start) = self.at_start(at)?;
            let system = &*system;
            let passport = daelight::analyze(system, &place)
                .map_err(|diagnostic| self.at_fault(*diagnostic))?;
            let mut report = record::analyze(system, &passport, projectors);
            let said = start.as_ref().map(record::start_conditions);
            report.warnings.extend(said);
            if eigenvalues {
                record::add_spectrum(&mut report, &passport.spectrum(system));
            }
            if let Some(times) = interval {
                let found =
                    daelight::analyze_interval(system, times, seconds(budget.unwrap_or(BUDGET))?)
                        .map_err(|not_linear| {
                        usage(format!(
                            "an interval is for linear models; {}",
                            not_linear.sentence
                        ))
                    })?;
                record::add_interval(&mut report, &found);
            }
            Ok((to_json(&report), terminal::analyze(&report, projectors)))
        })
    }

    /// The document of `init --json` and its page.
    #[pyo3(signature = (at=None, point=Vec::new(), order=1, all=false, nearest_regular=false, budget=None))]
    #[allow(
        clippy::too_many_arguments,
        reason = "the options of a command, given by name in Python"
    )]
    fn init(
        &self,
        py: Python<'_>,
        at: Option<f64>,
        point: Vec<(String, f64)>,
        order: usize,
        all: bool,
        nearest_regular: bool,
        budget: Option<f64>,
    ) -> PyResult<(String, String)> {
        py.detach(|| {
            finite("at", at)?;
            let (system, start) = self.at_start(at)?;
            let system = &*system;
            known(system, &point)?;
            let file = point_file(&point)?;
            let options = InitOptions {
                at,
                point: file.as_ref().map(|file| PathBuf::from(file.path())),
                order,
                all,
                nearest_regular,
                budget: seconds(budget.unwrap_or(BUDGET))?,
            };
            let request = daelight::start_request(system, &options)
                .map_err(|diagnostic| self.at_fault(*diagnostic))?;
            match record::outcome(system, &request, &daelight::start(system, &request)) {
                Ok(mut report) => {
                    if let Some(start) = &start {
                        record::add_discrete_start(&mut report, start);
                    }
                    Ok((to_json(&report), terminal::init(&report, all)))
                }
                Err(no_start) => {
                    let class = match no_start.kind {
                        RefusalKind::ModelAtFault => "StartError",
                        RefusalKind::SingularStart => "SingularityError",
                        RefusalKind::GaveUp => "NumericsError",
                    };
                    let document = to_json(&no_start.record);
                    let said = [no_start.diagnostic];
                    Err(of_diagnostics(
                        class,
                        &said,
                        system.sources(),
                        Some(&document),
                    ))
                }
            }
        })
    }

    /// An equivalent model of low index as text.
    fn reduce(
        &self,
        py: Python<'_>,
        method: &str,
        form: &str,
        at: Option<f64>,
        budget: Option<f64>,
    ) -> PyResult<String> {
        let method = match method {
            "dummy" => Reduction::Dummy,
            "strangeness" => Reduction::Strangeness,
            "minimal" => Reduction::Minimal,
            other => return Err(usage(format!("there is no reduction `{other}`"))),
        };
        let form = match form {
            "implicit" => Form::Implicit,
            "semi-explicit" => Form::SemiExplicit,
            "explicit" => Form::Explicit,
            other => return Err(usage(format!("there is no form `{other}`"))),
        };
        py.detach(|| {
            let place = self.place(at, Vec::new(), Some(budget.unwrap_or(BUDGET)))?;
            let hybrid = self.with_events().and_then(|model| model.hybrid.as_deref());
            daelight::without_events(hybrid).map_err(|diagnostic| self.at_fault(*diagnostic))?;
            daelight::reduce(self.system()?, &place, method, form)
                .map(|written| written.text)
                .map_err(|diagnostic| self.at_fault(*diagnostic))
        })
    }

    /// The document of `singular --json` and its page.
    fn singular(
        &self,
        py: Python<'_>,
        parameters: Option<Vec<String>>,
        locked: Vec<String>,
        curves: bool,
        time_budget: f64,
    ) -> PyResult<(String, String)> {
        use daelight_singular::{Kept, Question, SearchLimits};
        let parameters = match parameters {
            None => Kept::None,
            Some(names) if names == ["all"] => Kept::All,
            Some(names) => Kept::Named(names),
        };
        let question = Question {
            parameters,
            locked,
            on_curves: curves,
            paths_locked: false,
        };
        let limits = SearchLimits {
            time: seconds(time_budget)?,
            ..SearchLimits::default()
        };
        py.detach(|| {
            let found = daelight::singular(self.model(), &question, &limits, &|_| {});
            let found = found.map_err(|diagnostics| {
                of_diagnostics("ModelError", &diagnostics, &self.loaded.sources, None)
            })?;
            let report = record::singular(self.model(), &found);
            Ok((to_json(&report), terminal::singular(&report)))
        })
    }

    /// The polylines of the drawing at times of a run, and which of their points rest; `None` without a drawing.
    fn frames(&self, py: Python<'_>, run: &Run, times: Vec<f64>) -> Option<Frames> {
        py.detach(|| {
            let model = self.with_events().map_or(self.model(), Arc::as_ref);
            run.frames(model, &times)
        })
    }

    /// The document of `feedforward --json`, its page, and the forces over time.
    #[allow(clippy::type_complexity, reason = "what Python takes apart at once")]
    fn feedforward(
        &self,
        py: Python<'_>,
        forward: &Model,
        to: Option<f64>,
        rtol: Option<f64>,
    ) -> PyResult<(String, String, Vec<String>, Vec<(f64, Vec<f64>)>)> {
        finite("the end", to)?;
        let options = FeedforwardOptions {
            solve: SolveOptions {
                to,
                rtol,
                ..SolveOptions::default()
            },
            n_samples: FORCE_SAMPLES,
            n_points: MOTION_POINTS,
        };
        py.detach(|| {
            let system = self.system()?;
            let said = |system: &System, no_run| {
                of_refusal(
                    record::refusal(system, no_run, &self.name),
                    system.sources(),
                    None,
                )
            };
            let found = daelight::feedforward(system, forward.model(), &options, &mut |_| {});
            let found = found.map_err(|none| match none {
                NoFeedforward::Fault(diagnostic) => forward.at_fault(*diagnostic),
                NoFeedforward::Inverse(no_run) => said(system, no_run),
                NoFeedforward::Forward(driven, no_run) => said(&driven, no_run),
                NoFeedforward::Ended(_) => usage(
                    "the run of the inverse model does not reach its end: see solve()".to_string(),
                ),
            })?;
            let report = record::feedforward(system, &found);
            let page = terminal::feedforward(&report, system.name(), &forward.model().name);
            let (names, rows) = found.table();
            Ok((to_json(&report), page, names, rows))
        })
    }

    /// Everything about the model as one HTML page.
    fn report(
        &self,
        py: Python<'_>,
        to: Option<f64>,
        rtol: Option<f64>,
        continues: bool,
        with_run: bool,
        time_budget: f64,
    ) -> PyResult<String> {
        finite("the end", to)?;
        let mut options = PageOptions::new(self.name.clone());
        options.reading = self.options.clone();
        options.solve.to = to;
        options.solve.rtol = rtol;
        options.solve.continues = continues;
        options.with_run = with_run;
        options.time_budget = seconds(time_budget)?;
        Ok(py.detach(|| {
            let reading = self.options.clone();
            let loaded = daelight::load_text(&self.text(), reading, Relations::Modes);
            page::html(&page::model(&record::page(&loaded, &options)))
        }))
    }

    /// What was measured at each point, a number or a word or nothing for each measure, and the reasons.
    #[allow(
        clippy::too_many_arguments,
        reason = "the options of a command, given by name in Python"
    )]
    fn sweep(
        &self,
        py: Python<'_>,
        names: Vec<String>,
        rows: Vec<Vec<f64>>,
        measures: Vec<String>,
        from: Option<f64>,
        to: Option<f64>,
        rtol: Option<f64>,
        n_threads: Option<usize>,
    ) -> PyResult<Vec<(Vec<Cell>, String)>> {
        py.detach(|| {
            let points = SweepPoints::list(names, rows).map_err(usage)?;
            let measures: Result<Vec<Measure>, String> =
                measures.iter().map(|text| Measure::read(text)).collect();
            let solve = SolveOptions {
                from,
                to,
                rtol,
                ..SolveOptions::default()
            };
            let settings = Settings {
                solve,
                n_threads,
                ..Settings::default()
            };
            let n = points.len();
            let sweep = self.prepared_sweep(points, measures.map_err(usage)?, settings)?;
            let mut found = Vec::with_capacity(n);
            every_row(&sweep, n, &mut |row| {
                let cells = row.measured.into_iter().map(cell).collect();
                found.push((cells, row.reason));
            })?;
            Ok(found)
        })
    }

    /// Runs at many points: the values of all unknowns at some times, point by point and time by time, the names of the unknowns, how
    /// each run ended, and why.
    #[allow(
        clippy::too_many_arguments,
        reason = "the options of a command, given by name in Python"
    )]
    fn solve_many<'py>(
        &self,
        py: Python<'py>,
        names: Vec<String>,
        rows: PyReadonlyArray2<'py, f64>,
        times: PyReadonlyArray1<'py, f64>,
        span: (Option<f64>, Option<f64>),
        rtol: Option<f64>,
        n_threads: Option<usize>,
    ) -> PyResult<Many<'py>> {
        let rows: Vec<Vec<f64>> = (rows.as_array().outer_iter())
            .map(|row| row.to_vec())
            .collect();
        let times = times.as_array().to_vec();
        let n_times = times.len();
        let settings = Settings {
            solve: SolveOptions {
                from: span.0,
                to: span.1,
                rtol,
                ..SolveOptions::default()
            },
            n_threads,
            times,
            ..Settings::default()
        };
        let (values, names, ends, reasons) = py.detach(|| {
            let points = SweepPoints::list(names, rows).map_err(usage)?;
            let sweep = self.prepared_sweep(points, vec![Measure::Status], settings)?;
            let names = sweep.unknowns().to_vec();
            if names.is_empty() {
                return Err(usage(
                    "a parameter decides the shape of the model; use `sweep`".to_string(),
                ));
            }
            let width = names.len() * n_times;
            let n = sweep.points().len();
            let (mut values, mut ends, mut reasons) = (Vec::new(), Vec::new(), Vec::new());
            every_row(&sweep, n, &mut |row| {
                // A point that cannot even be set has none.
                let missing = width - row.values.len();
                values.extend(row.values);
                values.extend(std::iter::repeat_n(f64::NAN, missing));
                let end = row.measured.into_iter().next();
                ends.push(end.and_then(|end| cell(end).1).unwrap_or_default());
                reasons.push(row.reason);
            })?;
            Ok::<_, PyErr>((values, names, ends, reasons))
        })?;
        Ok((PyArray1::from_vec(py, values), names, ends, reasons))
    }

    /// Integrates the model.
    #[pyo3(signature = (from, to, rtol, atol, method, continues, order, max_steps, budget, point, times, inputs=Vec::new(), rests=false))]
    #[allow(
        clippy::too_many_arguments,
        reason = "the options of a run, given by name in Python"
    )]
    fn solve(
        &self,
        py: Python<'_>,
        from: Option<f64>,
        to: Option<f64>,
        rtol: Option<f64>,
        atol: Option<f64>,
        method: Option<&str>,
        continues: bool,
        order: Option<usize>,
        max_steps: Option<usize>,
        budget: Option<f64>,
        point: Vec<(String, f64)>,
        times: Option<PyReadonlyArray1<'_, f64>>,
        inputs: Vec<Input>,
        rests: bool,
    ) -> PyResult<Run> {
        finite("the start", from)?;
        finite("the end", to)?;
        for (what, value) in [("rtol", rtol), ("atol", atol)] {
            if let Some(value) = value.filter(|value| !(*value > 0.0 && *value < 1.0)) {
                return Err(usage(format!(
                    "{what} = {value} is not a tolerance: give a number between 0 and 1"
                )));
            }
        }
        if let Some(order) = order.filter(|order| !(4..=60).contains(order)) {
            return Err(usage(format!("the order {order} is not between 4 and 60")));
        }
        let method = method_named(method)?;
        let times = times
            .map(|times| times.as_slice().map(<[f64]>::to_vec))
            .transpose()?;
        let budget = budget.map(seconds).transpose()?;
        py.detach(|| {
            let system = self.system()?;
            known(system, &point)?;
            let interrupt = Arc::new(Interrupt::default());
            let signals = Signals::new(interrupt.clone());
            let asked = signals.clone();
            let options = SolveOptions {
                from,
                to,
                rtol,
                atol,
                method,
                order,
                continues,
                rests_at_zeno: rests,
                max_steps,
                budget,
                place: Place {
                    values: point,
                    ..Place::default()
                },
                events: None,
                interrupt: Some(interrupt),
                nudge: 0.0,
                progress: Some(Progress::new(move |_| asked.look())),
                unexplained: false,
                is_inverse: false,
            };
            let run = if let Some(model) = self.with_events() {
                self.integrate_with_events(model, &inputs, &options, times.as_deref())
            } else if inputs.is_empty() {
                self.integrate(system, &options, times.as_deref())
            } else {
                self.integrate_driven(&inputs, &options, times.as_deref())
            };
            signals.raised()?;
            run
        })
    }
}

/// The method that is asked for, if it is not left to the program.
fn method_named(name: Option<&str>) -> PyResult<Option<Method>> {
    match name {
        None | Some("auto") => Ok(None),
        Some("taylor") => Ok(Some(Method::Taylor)),
        Some("radau") => Ok(Some(Method::Radau)),
        Some("bdf") => Ok(Some(Method::Bdf)),
        Some(other) => Err(usage(format!(
            "there is no method `{other}`: use auto, taylor, radau or bdf"
        ))),
    }
}

/// An input: its name, times and values.
type Input = (String, Vec<f64>, Vec<f64>);

impl Model {
    /// A run of a model with events.
    fn integrate_with_events(
        &self,
        model: &Arc<daelight_lang::Model>,
        inputs: &[Input],
        options: &SolveOptions,
        times: Option<&[f64]>,
    ) -> PyResult<Run> {
        let is_condition = |stop: &StopCondition| stop.kind == StopKind::Condition;
        if model
            .stop_when
            .as_ref()
            .is_some_and(|stop| !is_condition(stop))
        {
            return Err(usage(
                "stop_when needs a condition where a model has events: write a relation, such as x > 1"
                    .to_string(),
            ));
        }
        let driven = self.driven(model, inputs)?;
        let began = Instant::now();
        let found = solve_hybrid(model, &driven.system, options);
        let elapsed = began.elapsed();
        let solution = found.map_err(|(mode, no_run)| {
            let system = mode.as_deref().unwrap_or(&driven.system);
            let refusal = record::refusal(system, no_run, &self.name);
            of_refusal(refusal, system.sources(), None)
        })?;
        let of = (Arc::clone(model), Arc::new(driven.system));
        let stop_when = self.options.stop_when.clone();
        let notes = driven.warnings;
        Ok(Run::with_events(
            of, solution, stop_when, notes, elapsed, times,
        ))
    }

    /// The equations of a model with inputs that are splines through samples.
    fn driven(&self, model: &daelight_lang::Model, inputs: &[Input]) -> PyResult<Driven> {
        let column = |(name, times, values): &Input| daelight::InputColumn {
            input: name.clone(),
            name: name.clone(),
            source: "inputs".to_string(),
            times: times.clone(),
            values: values.clone(),
        };
        let columns: Vec<daelight::InputColumn> = inputs.iter().map(column).collect();
        daelight::drive(model, &columns).map_err(|diagnostic| self.at_fault(*diagnostic))
    }

    /// A run with inputs that are splines through samples.
    fn integrate_driven(
        &self,
        inputs: &[Input],
        options: &SolveOptions,
        times: Option<&[f64]>,
    ) -> PyResult<Run> {
        let driven = self.driven(self.model(), inputs)?;
        let system = Arc::new(driven.system);
        let began = Instant::now();
        let solution = daelight::solve(&system, options).map_err(|no_run| {
            let refusal = record::refusal(&system, no_run, &self.name);
            of_refusal(refusal, system.sources(), None)
        })?;
        let stop_when = self.options.stop_when.clone();
        let elapsed = began.elapsed();
        Ok(Run::new(
            system,
            solution,
            stop_when,
            driven.warnings,
            elapsed,
            times,
        ))
    }

    fn prepared_sweep(
        &self,
        points: SweepPoints,
        measures: Vec<Measure>,
        settings: Settings,
    ) -> PyResult<Sweep> {
        Sweep::new(self.text(), &self.options, points, measures, settings).map_err(|refusal| {
            of_diagnostics("ModelError", &refusal.diagnostics, &refusal.sources, None)
        })
    }

    fn integrate(
        &self,
        system: &Arc<System>,
        options: &SolveOptions,
        times: Option<&[f64]>,
    ) -> PyResult<Run> {
        let refuse = |system: &System, no_run: NoRun| {
            let document = match &no_run {
                NoRun::SingularStart(passport) | NoRun::NoStart(passport) => {
                    Some(to_json(&record::analyze(system, passport, false)))
                }
                _ => None,
            };
            let at_start = options.place.point.is_none();
            let named = match &no_run {
                NoRun::NoStart(passport) if at_start && !passport.budget_reached => {
                    daelight::refused_at_start(system, options.from, options.budget)
                }
                _ => None,
            };
            let (sources, document) = (system.sources(), document.as_deref());
            match named {
                Some(found) => of_diagnostics("StartError", &[found], sources, document),
                None => of_refusal(
                    record::refusal(system, no_run, &self.name),
                    sources,
                    document,
                ),
            }
        };
        let span = daelight::span_of_run(system, options);
        let may_be_free = || LinearReduction::may_be_needed(system);
        let settled = match self.options.stop_when {
            None if *self.may_be_free.get_or_init(may_be_free) => daelight::settled(system, span),
            _ => Ok(None),
        };
        let settled = settled.map_err(|diagnostic| refuse(system, NoRun::Fault(diagnostic)))?;
        let began = Instant::now();
        let (system, notes, run) = match settled {
            None => {
                let setup = self.setup.get_or_init(|| Setup::new(system));
                let run = solve_prepared(system, setup, options, &mut |_| {});
                (system.clone(), Vec::new(), run)
            }
            Some((square, notes)) => {
                let run = daelight::solve(&square, options);
                (Arc::new(square), notes, run)
            }
        };
        let elapsed = began.elapsed();
        let solution = run.map_err(|no_run| refuse(&system, no_run))?;
        let units = || daelight::unit_remark(self.model());
        let notes = notes
            .into_iter()
            .chain(self.units.get_or_init(units).clone());
        let notes = notes.collect();
        let stop_when = self.options.stop_when.clone();
        let run = Run::new(system, solution, stop_when, notes, elapsed, times);
        Ok(run)
    }
}

/// What makes a model of a text: class, parameters, stopping condition, equations that join it.
type Recipe = (Option<String>, Vec<String>, Option<String>, Vec<String>);

/// Values point by point, names of the unknowns, how each run ended, and why.
type Many<'py> = (
    Bound<'py, PyArray1<f64>>,
    Vec<String>,
    Vec<String>,
    Vec<String>,
);

/// Hands out the rows of a sweep, until the interpreter is asked to stop; its signals are looked at now and then.
fn every_row(sweep: &Sweep, n: usize, each: &mut dyn FnMut(SweepRow)) -> PyResult<()> {
    let mut raised = None;
    let mut looked = Instant::now();
    sweep.rows(0..n, None, &mut |row| {
        each(row);
        if looked.elapsed() < SIGNALS_EVERY {
            return ControlFlow::Continue(());
        }
        looked = Instant::now();
        match Python::attach(|py| py.check_signals()) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                raised = Some(error);
                ControlFlow::Break(())
            }
        }
    });
    raised.map_or(Ok(()), Err)
}

/// A number, a word, or neither.
type Cell = (Option<f64>, Option<String>);

fn cell(measured: Measured) -> Cell {
    match measured {
        Measured::Number(number) => (Some(number), None),
        Measured::Word(word) => (None, Some(word)),
        Measured::Missing => (None, None),
    }
}

/// Values by name as a file, which is how a start is told of them.
fn point_file(point: &[(String, f64)]) -> PyResult<Option<tempfile::NamedTempFile>> {
    if point.is_empty() {
        return Ok(None);
    }
    let values: serde_json::Map<String, serde_json::Value> = point
        .iter()
        .map(|(name, value)| (name.clone(), (*value).into()))
        .collect();
    let mut file = tempfile::NamedTempFile::new()?;
    file.write_all(serde_json::Value::Object(values).to_string().as_bytes())?;
    file.flush()?;
    Ok(Some(file))
}

/// Looks now and then whether the interpreter was asked to stop, by Ctrl-C for example.
#[derive(Clone)]
struct Signals {
    interrupt: Arc<Interrupt>,
    state: Arc<Mutex<(Instant, Option<PyErr>)>>,
}

impl Signals {
    fn new(interrupt: Arc<Interrupt>) -> Self {
        let state = Arc::new(Mutex::new((Instant::now(), None)));
        Self { interrupt, state }
    }

    fn look(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.1.is_none() && state.0.elapsed() >= SIGNALS_EVERY {
            state.0 = Instant::now();
            if let Err(error) = Python::attach(|py| py.check_signals()) {
                state.1 = Some(error);
                self.interrupt.ask();
            }
        }
    }

    fn raised(&self) -> PyResult<()> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.1.take().map_or(Ok(()), Err)
    }
}
