//! Models for the tests, and runs of them.
#![allow(dead_code, reason = "each test uses a part of it")]

use daelight_analysis::{Reduced, System};
use daelight_expr::Jet;
use daelight_integrate::implicit::{self, Chosen, Method};
use daelight_integrate::{OnSingularity, Options, Problem, Run, Start, Tolerances, taylor};
use daelight_lang::{Model, Options as Reading, load};

/// A model made ready to be integrated.
pub struct Case {
    pub system: System,
    pub reduced: Reduced,
    pub problem: Problem,
}

impl Case {
    /// A model of the library, with parameters set.
    pub fn library(name: &str, set: &[&str]) -> Self {
        Self::new(&library_text(name), set).expect("it can be integrated")
    }

    /// A model of the library, or why it cannot be integrated as it stands.
    pub fn try_library(name: &str) -> Result<Self, String> {
        Self::new(&library_text(name), &[])
    }

    /// The model of a text.
    pub fn text(text: &str) -> Self {
        Self::new(text, &[]).expect("it can be integrated")
    }

    pub fn new(text: &str, set: &[&str]) -> Result<Self, String> {
        let system = System::new(&read(text, set)).expect("a system");
        let reduced = Reduced::new(&system);
        if system.dae().sound().is_none() {
            return Err("the structure is singular everywhere".to_string());
        }
        let problem = Problem::of_reduced(&system, &reduced).map_err(|error| error.to_string())?;
        Ok(Self {
            system,
            reduced,
            problem,
        })
    }

    pub fn start(&self, time: f64) -> Start {
        Start::of_model(&self.system, &self.reduced, &self.problem, time)
    }

    pub fn options(&self, t_end: f64, rtol: f64) -> Options {
        Options::new(
            t_end,
            Tolerances::of_model(&self.system, &self.reduced, rtol),
        )
    }

    /// A run from the start values.
    pub fn run(&self, from: f64, to: f64, rtol: f64) -> Run {
        self.run_with(from, &self.options(to, rtol))
    }

    pub fn run_on(&self, from: f64, to: f64, rtol: f64) -> Run {
        let mut options = self.options(to, rtol);
        options.on_singularity = OnSingularity::Continue;
        self.run_with(from, &options)
    }

    pub fn run_with(&self, from: f64, options: &Options) -> Run {
        taylor::solve(&self.problem, &self.start(from), options).expect("a consistent start")
    }

    /// A run by any method from the start values.
    pub fn run_by(&self, method: Method, from: f64, options: &Options) -> Run {
        implicit::solve(&self.problem, &self.start(from), options, method)
            .expect("a consistent start")
    }

    /// A run from the start values at time 0 by the method that suits.
    pub fn run_by_choice(&self, options: &Options) -> Chosen {
        implicit::solve_by_choice(&self.problem, &self.start(0.0), options, 1.0)
            .expect("a consistent start")
    }

    /// All unknowns of the model at a time.
    pub fn values(&self, run: &Run, time: f64) -> Vec<f64> {
        let parameters = self.system.parameters().values();
        let mut recovery = self.reduced.recovery::<Jet>(0, parameters);
        let mut values = vec![0.0; self.system.unknowns().len()];
        let inside = run.trajectory.recover(&mut recovery, time, &mut values);
        assert_eq!(
            inside,
            Ok(true),
            "{time} is within {:?}",
            run.trajectory.span()
        );
        values
    }

    pub fn position(&self, name: &str) -> usize {
        let mut unknowns = self.system.unknowns().iter();
        unknowns
            .position(|unknown| unknown.name == name)
            .expect("an unknown of this name")
    }

    pub fn value(&self, run: &Run, time: f64, name: &str) -> f64 {
        self.values(run, time)[self.position(name)]
    }
}

/// The names of all models of the library.
pub fn library_names() -> Vec<String> {
    let folder = format!("{}/../../models", env!("CARGO_MANIFEST_DIR"));
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .expect("the library is there")
        .map(|entry| entry.expect("an entry"))
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// Where a run ended.
pub fn end(run: &Run) -> f64 {
    run.trajectory.span().expect("a trajectory").1
}

/// The greatest difference of two runs at a time, relative to the size of the unknowns.
pub fn difference(case: &Case, run: &Run, fine: &Run, time: f64) -> f64 {
    let (found, wanted) = (case.values(run, time), case.values(fine, time));
    assert!(found.iter().all(|x| x.is_finite()));
    let infos = case.system.unknowns();
    (0..found.len())
        .map(|j| (found[j] - wanted[j]).abs() / (wanted[j].abs() + infos[j].nominal.unwrap_or(1.0)))
        .fold(0.0, f64::max)
}

fn library_text(name: &str) -> String {
    let folder = format!("{}/../../models/{name}", env!("CARGO_MANIFEST_DIR"));
    let file = std::fs::read_dir(&folder)
        .expect("the library has the model")
        .map(|entry| entry.expect("a file").path())
        .find(|path| path.extension().is_some_and(|extension| extension == "mo"))
        .expect("a Modelica text");
    std::fs::read_to_string(file).expect("the text can be read")
}

/// A model of the library as it is read.
pub fn library_model(name: &str) -> Model {
    read(&library_text(name), &[])
}

/// The model of a text as it is read.
pub fn model_of(text: &str) -> Model {
    read(text, &[])
}

fn read(text: &str, set: &[&str]) -> Model {
    let options = Reading {
        set: set.iter().map(|s| s.to_string()).collect(),
        ..Reading::default()
    };
    let loaded = load("test.mo", text.as_bytes(), &options);
    loaded
        .model
        .unwrap_or_else(|| panic!("{:?}", loaded.diagnostics))
}

/// Asserts that numbers agree within `tolerance`, relative to numbers above 1.
pub fn assert_close(found: &[f64], wanted: &[f64], tolerance: f64) {
    assert_eq!(found.len(), wanted.len());
    for (position, (found, wanted)) in found.iter().zip(wanted).enumerate() {
        let error = (found - wanted).abs() / wanted.abs().max(1.0);
        assert!(
            error <= tolerance,
            "value {position}: {found:e} instead of {wanted:e}, error {error:.1e}"
        );
    }
}
