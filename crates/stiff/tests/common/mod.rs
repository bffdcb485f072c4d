//! Models with consistent starts and reference values at the end.
#![allow(dead_code, reason = "each test uses a part")]
#![allow(
    clippy::excessive_precision,
    reason = "reference values keep the digits of their source"
)]

use daelight_analysis::System;
use daelight_lang::{Options as Reading, load};
use daelight_linalg::{Lu, Mat};
use daelight_stiff::{Hooks, InputError, Options, Problem, Run, Start, StopReason};

/// A model, a consistent point and what the unknowns should be at the end.
pub struct Case {
    pub system: System,
    pub t: f64,
    pub x: Vec<f64>,
    pub xp: Vec<f64>,
    pub end: f64,
    /// Unknown and value.
    pub expected: Vec<(usize, f64)>,
    /// Magnitude of each unknown, for absolute tolerances.
    pub nominal: Vec<f64>,
}

impl Case {
    pub fn problem(&self) -> Problem {
        Problem::new(self.system.equations(), self.system.parameters().values())
            .expect("the model can be integrated")
    }

    pub fn start(&self) -> Start<'_> {
        Start {
            t: self.t,
            x: &self.x,
            xp: &self.xp,
        }
    }

    /// Options with absolute tolerances in proportion to the magnitudes.
    pub fn options(&self, rtol: f64) -> Options {
        Options {
            rtol,
            atol: self.nominal.iter().map(|size| rtol * size).collect(),
            ..Options::default()
        }
    }

    /// The largest error, relative to max(nominal, |value|).
    pub fn error(&self, x: &[f64]) -> f64 {
        let errors = self.expected.iter().map(|&(unknown, value)| {
            (x[unknown] - value).abs() / self.nominal[unknown].max(value.abs())
        });
        errors.fold(0.0, f64::max)
    }
}

/// One of the methods with variable steps.
pub type Method =
    fn(&mut Problem, Start<'_>, f64, &Options, &mut Hooks<'_>) -> Result<Run, InputError>;

/// A run that must end at its end.
pub fn finish(method: Method, case: &Case, options: &Options) -> Run {
    let mut problem = case.problem();
    let run = method(
        &mut problem,
        case.start(),
        case.end,
        options,
        &mut Hooks::default(),
    )
    .expect("the start fits");
    assert_eq!(run.reason, StopReason::Finished, "{:?}", run.statistics);
    assert!(run.x.iter().all(|value| value.is_finite()));
    run
}

/// The system of a text.
pub fn system(text: &str, set: &[String]) -> System {
    let options = Reading {
        set: set.to_vec(),
        ..Reading::default()
    };
    let loaded = load("test.mo", text.as_bytes(), &options);
    let model = loaded
        .model
        .unwrap_or_else(|| panic!("{:?}", loaded.diagnostics));
    System::new(&model).expect("a system")
}

/// The system of a model of the library.
pub fn library(name: &str, set: &[String]) -> System {
    let folder = format!("{}/../../models/{name}", env!("CARGO_MANIFEST_DIR"));
    let path = std::fs::read_dir(&folder)
        .expect("the library has the model")
        .map(|entry| entry.expect("a file").path())
        .find(|path| path.extension().is_some_and(|extension| extension == "mo"))
        .expect("a Modelica text");
    system(&std::fs::read_to_string(path).expect("a text"), set)
}

/// The document of expected values of a model of the library.
pub fn document(name: &str) -> serde_json::Value {
    let folder = env!("CARGO_MANIFEST_DIR");
    let text = std::fs::read_to_string(format!("{folder}/../../models/{name}/expected.json"));
    serde_json::from_str(&text.expect("a text")).expect("JSON")
}

fn nominals(system: &System) -> Vec<f64> {
    let sizes = system.unknowns().iter();
    sizes
        .map(|unknown| unknown.nominal.unwrap_or(1.0))
        .collect()
}

/// The derivatives of unknowns that stand in `der(x) = f(t, x)`, all others 0, for a system with E = diag(1 or 0).
pub fn explicit_rates(system: &System, t: f64, x: &[f64]) -> Vec<f64> {
    let mut evaluator = system.evaluator();
    let mut residuals = vec![0.0; x.len()];
    evaluator.set_time(t);
    evaluator.set(0, x);
    evaluator.set(1, &vec![0.0; x.len()]);
    evaluator
        .residuals(&mut residuals)
        .expect("a regular point");
    evaluator.jacobians().expect("a regular point");
    let mut rates = vec![0.0; x.len()];
    for (row, column, position) in system.equations().pattern(1).iter() {
        rates[column] = -residuals[row] / evaluator.entry(1, position);
    }
    rates
}

/// The Chemical Akzo Nobel problem; end values of the IVP test set.
pub fn akzo() -> Case {
    let system = library("akzo-nobel", &[]);
    let x = vec![0.444, 0.00123, 0.0, 0.007, 0.0, 0.35999964];
    let mut xp = explicit_rates(&system, 0.0, &x);
    xp[5] = 115.83 * (xp[0] * x[3] + x[0] * xp[3]);
    let values = document("akzo-nobel")["solution"][1]["values"].clone();
    let expected = (0..6)
        .map(|j| {
            let text = values[format!("y{}", j + 1)].as_str().expect("a number");
            (j, text.parse().expect("a number"))
        })
        .collect();
    // The end values are between 4e-4 and 0.2: errors are taken relative to each of them.
    Case {
        nominal: vec![0.1, 1e-3, 0.1, 1e-4, 1e-2, 1e-3],
        system,
        t: 0.0,
        x,
        xp,
        end: 180.0,
        expected,
    }
}

/// Andrews' squeezing mechanism; angles at the end from a reference computation of more digits than the test set's.
pub fn andrews() -> Case {
    let system = library("andrews", &[]);
    let mut x: Vec<f64> = system
        .unknowns()
        .iter()
        .map(|unknown| unknown.start.expect("all start values are given"))
        .collect();
    x[14] = 14222.443919954114;
    x[15] = -10666.832939965585;
    x[21] = 98.56687039624109;
    x[22] = -6.122688344255662;
    let mut xp = vec![0.0; 27];
    xp[..14].copy_from_slice(&x[7..21]);
    let end = [
        15.810771195153711,
        -15.756371058411844,
        0.040822240119645865,
        -0.53473011634207956,
        0.52440996587995403,
        0.53473011634207956,
        1.0480807410419379,
    ];
    Case {
        nominal: nominals(&system),
        system,
        t: 0.0,
        x,
        xp,
        end: 0.03,
        expected: end.into_iter().enumerate().collect(),
    }
}

/// The pendulum to t = 10; end values from the angle equation in 30-digit arithmetic.
pub fn pendulum() -> Case {
    let system = library("pendulum", &[]);
    let end = [
        0.27508746257611685693,
        -0.96141920509912506516,
        -4.1755981009517288415,
        -1.1947490545604752584,
    ];
    Case {
        nominal: nominals(&system),
        system,
        t: 0.0,
        x: vec![1.0, 0.0, 0.0, 0.0, 0.0],
        xp: vec![0.0, 0.0, 0.0, -9.81, 0.0],
        end: 10.0,
        expected: end.into_iter().enumerate().collect(),
    }
}

/// Projects a pendulum's point onto all its constraints, exactly.
pub fn project_pendulum(_: f64, x: &mut [f64], xp: &mut [f64]) -> Result<(), String> {
    let length = x[0].hypot(x[1]);
    x[0] /= length;
    x[1] /= length;
    let radial = x[0] * x[2] + x[1] * x[3];
    x[2] -= radial * x[0];
    x[3] -= radial * x[1];
    x[4] = x[2] * x[2] + x[3] * x[3] - 9.81 * x[1];
    xp[0] = x[2];
    xp[1] = x[3];
    xp[2] = -x[4] * x[0];
    xp[3] = -x[4] * x[1] - 9.81;
    Ok(())
}

/// A chain of n pendulums at rest, straight at 45 degrees. The forces follow from the second derivative of the constraints.
pub fn chain(n: usize) -> Case {
    let system = library("pendulum-chain", &[format!("N={n}")]);
    let side = 0.5f64.sqrt();
    let mut x: Vec<f64> = vec![0.0; 5 * n];
    for i in 0..n {
        x[i] = (i + 1) as f64 * side;
        x[n + i] = -((i + 1) as f64) * side;
    }
    // All links point along (side, -side). With forces f_i the masses accelerate along the chain by
    // -f_i + f_{i+1} and by g's component; link i keeps its length: a_i = a_{i-1} along the chain.
    let pull = 9.81 * side;
    let mut matrix = Mat::zeros(n, n);
    let mut forces = vec![0.0; n];
    {
        let mut view = matrix.view_mut();
        for i in 0..n {
            view.set(i, i, if i == 0 { -1.0 } else { -2.0 });
            if i > 0 {
                view.set(i, i - 1, 1.0);
            }
            if i + 1 < n {
                view.set(i, i + 1, 1.0);
            }
        }
    }
    forces[0] = -pull;
    let mut lu = Lu::new();
    lu.factor(matrix.view()).expect("square");
    lu.solve(&mut forces).expect("regular");
    x[4 * n..].copy_from_slice(&forces);
    let mut xp = explicit_rates(&system, 0.0, &x);
    xp[4 * n..].fill(0.0);
    Case {
        nominal: vec![1.0; 5 * n],
        system,
        t: 0.0,
        x,
        xp,
        end: 1.0,
        expected: Vec::new(),
    }
}

/// Robertson's reactions with the sum as algebraic equation.
pub fn robertson(end: f64, expected: [f64; 3], nominal: [f64; 3]) -> Case {
    let system = system(
        "model Robertson  Real a(start = 1), b(start = 0), c(start = 0);
         equation
           der(a) = -0.04*a + 1e4*b*c;
           der(b) = 0.04*a - 1e4*b*c - 3e7*b^2;
           a + b + c = 1;
         end Robertson;",
        &[],
    );
    Case {
        system,
        t: 0.0,
        x: vec![1.0, 0.0, 0.0],
        xp: vec![-0.04, 0.04, 0.0],
        end,
        expected: expected.into_iter().enumerate().collect(),
        nominal: nominal.to_vec(),
    }
}
