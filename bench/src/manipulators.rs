//! Inverse dynamics of flexible manipulators: the published ways to solve them side by side, with constant and variable steps.

use crate::peers::Peers;
use crate::table::{print, ratio, time, timed};
use daelight::{
    ConstantSteps, FixedForm, FixedSolution, NoFixedRun, NoRun, Place, Solution, SolveOptions,
};
use daelight_analysis::System;
use daelight_integrate::fixed::StopReason;
use daelight_integrate::implicit::Method;
use daelight_lang::{ArrayStyle, Loaded, Options as Reading};
use serde_json::Value;
use std::path::PathBuf;

/// Tolerances of the solution that errors are measured against; the first one that can be kept to the end counts.
const REFERENCE: [f64; 4] = [1e-12, 1e-11, 1e-10, 1e-9];
/// Tolerances of the runs with variable steps.
const TOLERANCES: [f64; 2] = [1e-6, 1e-8];
/// Times at which variable steps are compared.
const N_COMPARED: usize = 101;

/// A manipulator: the model with its torques, and the forms of it that were made by hand.
struct Machine {
    name: &'static str,
    model: (&'static str, &'static [&'static str]),
    /// Words of the publication, and the setting of the file of forms.
    by_hand: &'static [(&'static str, &'static str, &'static str)],
    /// Orders and steps, with the end of a whole number of them.
    steps: &'static [(usize, f64, f64)],
    torques: &'static [&'static str],
    /// The listed values of the library that the reference must have first.
    listed: &'static str,
    /// Seconds that were published for a method, with its order and step.
    published: (&'static str, usize, f64, f64),
}

const MACHINES: [Machine; 2] = [
    Machine {
        name: "E1",
        model: ("e1", &[]),
        by_hand: &[
            ("HI (40)", "e1-forms", "form=17"),
            ("DD (43)", "e1-forms", "form=43"),
            ("DD (44)", "e1-forms", "form=44"),
            ("DD (48)", "e1-forms", "form=48"),
            ("DD (49)", "e1-forms", "form=49"),
        ],
        steps: &[
            (1, 0.01, 0.1),
            (1, 0.001, 0.1),
            (3, 0.003, 0.099),
            (6, 0.005, 0.1),
        ],
        torques: &["u"],
        listed: "e1",
        published: ("DD (44)", 6, 0.005, 3.3),
    },
    Machine {
        name: "E12",
        model: ("e12-forms", &["form=0"]),
        by_hand: &[
            ("HI I3", "e12-forms", "form=3"),
            ("HI I2", "e12-forms", "form=2"),
            ("HI I1", "e12-forms", "form=1"),
        ],
        steps: &[
            (1, 0.01, 0.3),
            (1, 0.001, 0.3),
            (3, 0.003, 0.3),
            (6, 0.001, 0.3),
        ],
        torques: &["u[1]", "u[2]"],
        listed: "e12-forms",
        published: ("HI I2", 3, 0.003, 34.0),
    },
];

pub fn run() {
    let peers = Peers::environment();
    let mut theirs = Vec::new();
    let texts = modelica(&peers).unwrap_or_else(|why| {
        println!("NO TEXTS for rumoca: {why}");
        Vec::new()
    });
    for (tool, script, packages, models) in [
        (
            "scipy_dae",
            "manipulators_scipy_dae.py",
            &["numpy", "scipy", "scipy_dae"][..],
            &[][..],
        ),
        ("casadi", "manipulators_casadi.py", &["casadi"], &[]),
        ("rumoca", "manipulators_rumoca.py", &["rumoca"], &texts),
    ] {
        println!("running {tool} ...");
        match peers.solver(script, packages, models) {
            Ok(documents) => theirs.extend(documents),
            Err(why) => println!("PEER MISSING: {tool}: {why}"),
        }
    }
    for machine in &MACHINES {
        machine.run(&theirs);
    }
}

/// The models as flat Modelica, for tools that read it: `machine form.mo`.
fn modelica(peers: &Peers) -> Result<Vec<PathBuf>, String> {
    let texts = [
        ("E1 as it stands.mo", "e1", &[][..]),
        ("E1 form (49).mo", "e1-forms", &["form=49"]),
        ("E12 as it stands.mo", "e12-forms", &["form=0"]),
        ("E12 I3 by hand.mo", "e12-forms", &["form=3"]),
        ("E12 I1 by hand.mo", "e12-forms", &["form=1"]),
    ];
    let write = |&(file, model, set): &(&str, &str, &[&str])| {
        let loaded = load(model, set);
        let flat = loaded.model.as_ref().ok_or("no model")?;
        let text = daelight::derive(flat, ArrayStyle::Kept).map_err(|d| d.message.clone())?;
        peers.write("rumoca", file, &text)
    };
    texts.iter().map(write).collect()
}

fn load(name: &str, set: &[&str]) -> Loaded {
    let reading = Reading {
        set: set.iter().map(|s| s.to_string()).collect(),
        ..Reading::default()
    };
    daelight::load(name, &reading).expect("a built-in model")
}

fn system(name: &str, set: &[&str]) -> System {
    let loaded = load(name, set);
    let model = loaded.model.expect("built-in models are right");
    daelight::system(&model).unwrap_or_else(|why| panic!("{why:?}"))
}

/// Errors of a run against the reference: of states absolute, of torques relative to their largest.
#[derive(Clone, Copy, Default)]
struct Errors {
    states: f64,
    torques: Option<f64>,
}

/// The solution that is compared with.
struct Exact<'a> {
    machine: &'a Machine,
    system: &'a System,
    solution: Solution,
    largest_torque: f64,
}

impl Exact<'_> {
    /// Adds what a point with named values misses.
    fn compare<'n>(
        &self,
        errors: &mut Errors,
        time: f64,
        values: impl Iterator<Item = (&'n str, f64)>,
    ) {
        let time = time.min(self.solution.reached());
        let exact = self.solution.reader(self.system).values(time);
        let Some(exact) = exact.ok().flatten() else {
            errors.states = f64::INFINITY;
            return;
        };
        for (name, value) in values {
            let mut unknowns = self.system.unknowns().iter();
            // Unknowns that only a form has are not compared.
            let Some(place) = unknowns.position(|unknown| unknown.name == name) else {
                continue;
            };
            let error = (value - exact[place]).abs();
            let error = if error.is_nan() { f64::INFINITY } else { error };
            if self.machine.torques.contains(&name) {
                let before = errors.torques.unwrap_or(0.0);
                errors.torques = Some(before.max(error / self.largest_torque));
            } else {
                errors.states = errors.states.max(error);
            }
        }
    }
}

/// One line of the table.
struct Line {
    method: String,
    steps: String,
    errors: Option<Errors>,
    time: f64,
    conditions: Option<(f64, f64)>,
    note: String,
}

impl Line {
    fn cells(&self) -> Vec<String> {
        let number = |value: Option<f64>| value.map_or("-".to_string(), |v| format!("{v:.1e}"));
        vec![
            self.method.clone(),
            self.steps.clone(),
            number(self.errors.map(|errors| errors.states)),
            number(self.errors.and_then(|errors| errors.torques)),
            time(self.time),
            number(self.conditions.map(|(plain, _)| plain)),
            number(self.conditions.map(|(_, scaled)| scaled)),
            self.note.clone(),
        ]
    }
}

impl Machine {
    fn run(&self, theirs: &[Value]) {
        println!("\n## {}\n", self.name);
        let system = system(self.model.0, self.model.1);
        let solved = REFERENCE.into_iter().find_map(|tolerance| {
            let wanted = SolveOptions {
                rtol: Some(tolerance),
                method: Some(Method::Taylor),
                ..SolveOptions::default()
            };
            let solution = daelight::solve(&system, &wanted).ok()?;
            let is_whole = solution.run.stop == daelight_integrate::StopReason::Finished;
            is_whole.then_some((solution, tolerance))
        });
        let Some((solution, tolerance)) = solved else {
            println!("NO REFERENCE: the model was not solved");
            return;
        };
        let mut exact = Exact {
            machine: self,
            system: &system,
            solution,
            largest_torque: 1.0,
        };
        let distance = self.confirm(&exact);
        println!(
            "reference: own series with tolerance {tolerance:e}; listed values within {distance:.1e} of it"
        );
        exact.largest_torque = self.largest_torque(&exact);
        let forms: Vec<(&str, System)> = self
            .by_hand
            .iter()
            .map(|&(word, file, set)| (word, crate::manipulators::system(file, &[set])))
            .collect();
        let mut lines = Vec::new();
        for &(order, step, end) in self.steps {
            let own = [
                ("as written, with torques", FixedForm::Original),
                ("DD, own choice", FixedForm::Dummy),
                ("KM", FixedForm::Strangeness),
                ("DC", FixedForm::Decoupled),
            ];
            let given = forms
                .iter()
                .map(|(word, form)| (*word, FixedForm::Given(form)));
            for (word, form) in given.chain(own) {
                lines.push(constant(&exact, word, form, (order, step, end)));
            }
        }
        for (word, method) in [
            ("taylor", Method::Taylor),
            ("radau", Method::Radau),
            ("bdf", Method::Bdf),
        ] {
            for tolerance in TOLERANCES {
                lines.push(variable(&exact, word, method, tolerance));
            }
        }
        let documents = theirs.iter().filter(|d| d["problem"] == self.name);
        lines.extend(documents.map(|document| peer(&exact, document)));
        let rows: Vec<Vec<String>> = lines.iter().map(Line::cells).collect();
        print(
            &[
                "method",
                "steps",
                "states",
                "torques",
                "time",
                "condition",
                "scaled by 1/h",
                "note",
            ],
            &rows,
        );
        let (word, order, step, seconds) = self.published;
        let named = steps_word(order, step);
        if let Some(line) = lines.iter().find(|l| l.method == word && l.steps == named) {
            println!(
                "for colour: {word}, {named}: {} here, {seconds} s published (Matlab, another machine): {} times as fast",
                time(line.time),
                ratio(seconds * 1e9 / line.time)
            );
        }
    }

    /// The largest distance of the reference from the values that the library lists for this model.
    fn confirm(&self, exact: &Exact<'_>) -> f64 {
        let models = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../models");
        let path = models.join(self.listed).join("expected.json");
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let document: Value = serde_json::from_str(&text).unwrap_or_default();
        let number = |value: &Value| match value {
            Value::String(text) => text.parse().unwrap_or(f64::NAN),
            other => other.as_f64().unwrap_or(f64::NAN),
        };
        let solutions = document["solution"].as_array().cloned().unwrap_or_default();
        let mut errors = Errors::default();
        let mut n_compared = 0;
        for solution in solutions {
            // All forms have the same solution.
            let set = solution["set"].as_object();
            if set.is_some_and(|set| set.keys().all(|name| name == "form")) {
                let values = solution["values"].as_object().into_iter().flatten();
                let values = values.map(|(name, value)| (name.as_str(), number(value)));
                exact.compare(&mut errors, number(&solution["time"]), values);
                n_compared += 1;
            }
        }
        if n_compared == 0 {
            return f64::NAN;
        }
        errors.states
    }

    fn largest_torque(&self, exact: &Exact<'_>) -> f64 {
        let mut reader = exact.solution.reader(exact.system);
        let mut largest = 1.0_f64;
        for k in 0..N_COMPARED {
            let (from, to) = (exact.solution.from, exact.solution.to);
            let time = from + (to - from) * k as f64 / (N_COMPARED - 1) as f64;
            let Some(values) = reader.values(time).ok().flatten() else {
                continue;
            };
            for (unknown, value) in exact.system.unknowns().iter().zip(values) {
                if self.torques.contains(&unknown.name.as_str()) {
                    largest = largest.max(value.abs());
                }
            }
        }
        largest
    }
}

fn steps_word(order: usize, step: f64) -> String {
    format!("{order}-step, {} ms", (step * 1e6).round() / 1e3)
}

/// A run with constant steps; the algebraic equations are scaled where there are any.
fn constant(
    exact: &Exact<'_>,
    method: &str,
    form: FixedForm<'_>,
    (order, step, end): (usize, f64, f64),
) -> Line {
    let options = |scale: Option<f64>| ConstantSteps {
        from: None,
        to: Some(end),
        order,
        step,
        scale,
        budget: None,
        place: Place::default(),
    };
    let solve = |scale| daelight::solve_fixed(exact.system, form, &options(scale));
    let (solved, spent) = timed(|| match solve(Some(1.0)) {
        Err(NoFixedRun::NothingToScale) => solve(None),
        other => other,
    });
    let mut line = Line {
        method: method.to_string(),
        steps: steps_word(order, step),
        errors: None,
        time: spent,
        conditions: None,
        note: String::new(),
    };
    match solved {
        Ok(solution) => {
            line.conditions = solution.run.conditioning.map(|c| (c.plain, c.scaled));
            line.note = failure(form, &solution).unwrap_or_default();
            if solution.run.reason == StopReason::Finished {
                let mut errors = Errors::default();
                let points = &solution.run.points;
                let names: Vec<&str> = solution
                    .system
                    .unknowns()
                    .iter()
                    .map(|u| u.name.as_str())
                    .collect();
                for (at, &time) in points.times().iter().enumerate().skip(order) {
                    let values = points.point(at).iter().copied();
                    exact.compare(&mut errors, time, names.iter().copied().zip(values));
                }
                line.errors = Some(errors);
            }
        }
        Err(why) => {
            line.note = match why {
                NoFixedRun::Form(diagnostic) => format!("FAILED: {}", diagnostic.message),
                NoFixedRun::Steps(why) => format!("FAILED: {why}"),
                _ => "FAILED: no start, or not these equations".to_string(),
            }
        }
    }
    line
}

/// Why a run ended early: its own reason, and what the form is at its start.
fn failure(form: FixedForm<'_>, solution: &FixedSolution) -> Option<String> {
    if solution.run.reason == StopReason::Finished {
        return None;
    }
    let mut text = format!("FAILED: {}", solution.run.reason);
    if let FixedForm::Given(form) = form
        && let Err(NoRun::SingularStart(passport)) = daelight::solve(form, &SolveOptions::default())
        && let Ok(point) = &passport.point
        && let Some((locus, _)) = passport.nearest_locus(form, passport.time, &point.jet)
    {
        text += &format!("; its start is singular, where {} = 0", locus.factor);
    }
    Some(text)
}

/// A run of the model as it stands with variable steps.
fn variable(exact: &Exact<'_>, word: &str, method: Method, tolerance: f64) -> Line {
    let wanted = SolveOptions {
        rtol: Some(tolerance),
        method: Some(method),
        ..SolveOptions::default()
    };
    let (solved, spent) = timed(|| daelight::solve(exact.system, &wanted));
    let mut line = Line {
        method: format!("{word}, variable"),
        steps: format!("rtol {tolerance:e}"),
        errors: None,
        time: spent,
        conditions: None,
        note: String::new(),
    };
    let Ok(solution) = solved else {
        line.note = "FAILED: no run".to_string();
        return line;
    };
    line.note = format!("{} steps", solution.run.statistics.steps);
    let mut errors = Errors::default();
    let mut reader = solution.reader(exact.system);
    let (from, to) = (solution.from, solution.to);
    for k in 1..N_COMPARED {
        let time = from + (to - from) * k as f64 / (N_COMPARED - 1) as f64;
        let names = exact.system.unknowns().iter().map(|u| u.name.as_str());
        let missing = || vec![f64::NAN; exact.system.unknowns().len()];
        let values = reader.values(time).ok().flatten().unwrap_or_else(missing);
        exact.compare(&mut errors, time, names.zip(values));
    }
    line.errors = Some(errors);
    line
}

/// A run of another tool: named values at its end.
fn peer(exact: &Exact<'_>, document: &Value) -> Line {
    let text = |name: &str| document[name].as_str().unwrap_or("").to_string();
    let seconds = |name: &str| document[name].as_f64().unwrap_or(f64::NAN) * 1e9;
    let is_success = document["success"] == true;
    let errors = is_success.then(|| {
        let mut errors = Errors::default();
        let values = document["values"].as_object().into_iter().flatten();
        let values = values.map(|(name, v)| (name.as_str(), v.as_f64().unwrap_or(f64::NAN)));
        let end = document["end"].as_f64().unwrap_or(f64::NAN);
        exact.compare(&mut errors, end, values);
        errors
    });
    let note = match is_success {
        true => format!("{}, at the end only", text("form")),
        false => format!("{}, FAILED: {}", text("form"), text("message")),
    };
    Line {
        method: format!("{} {}", text("tool"), text("version")),
        steps: format!(
            "rtol {:e}",
            document["tolerance"].as_f64().unwrap_or(f64::NAN)
        ),
        errors,
        time: seconds("setup") + seconds("solve"),
        conditions: None,
        note,
    }
}
