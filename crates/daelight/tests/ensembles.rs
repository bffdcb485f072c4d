//! Rows of sweeps, whose runs are done side by side, against the same runs alone.

use daelight::sweep::{Axis, Measure, Measured, Settings, Sweep, SweepPoints};
use daelight::{ModelText, SolveOptions, solve};
use daelight_integrate::StopReason;

/// A model, what is varied, what is read at the end, and where runs end.
struct Case {
    text: &'static str,
    axes: &'static [&'static str],
    measure: &'static str,
    to: f64,
}

/// Ten models: polynomials, functions and quotients of unknowns; some points end at singular ones, switch, are stiff or have no start.
const CASES: [Case; 10] = [
    Case {
        text: "model Pendulum parameter Real L = 1, g = 9.81;
               Real x(start = 1), y(start = 0, fixed = true), u(start = 0), v(start = 0, fixed = true), f(start = 0);
               equation der(x) = u; der(y) = v; der(u) = -f*x; der(v) = -f*y - g; x^2 + y^2 = L^2; end Pendulum;",
        axes: &["L=0.6:2.5", "g=2:20"],
        measure: "final:x",
        to: 4.0,
    },
    Case {
        text: "model Prey parameter Real a = 1.5, b = 1; Real x(start = 1, fixed = true), y(start = 0.5, fixed = true);
               equation der(x) = a*x - b*x*y; der(y) = b*x*y - 3*y; end Prey;",
        axes: &["a=0.5:3", "b=0.3:2"],
        measure: "final:y",
        to: 5.0,
    },
    Case {
        text: "model Swing parameter Real w = 2; Real p(start = 1, fixed = true), q(start = 0, fixed = true);
               equation der(p) = q; der(q) = -w^2*sin(p); end Swing;",
        axes: &["w=0.5:6"],
        measure: "final:p",
        to: 3.0,
    },
    Case {
        text: "model Escape parameter Real a = 0.5; Real x(start = 0, fixed = true); equation der(x) = a + x^2; end Escape;",
        axes: &["a=0.1:3"],
        measure: "final:x",
        to: 2.0,
    },
    Case {
        text: "model Fold parameter Real c = 4; Real x(start = c, fixed = true), y(start = 2); equation der(x) = -1; y^2 = x; end Fold;",
        axes: &["c=1:6"],
        measure: "final:y",
        to: 3.0,
    },
    Case {
        text: "model Switch parameter Real k = 1; Real x(start = 1, fixed = true); equation der(x) = if x > 0.5 then -k*x else -0.5*k; end Switch;",
        axes: &["k=0.2:3"],
        measure: "final:x",
        to: 1.0,
    },
    Case {
        text: "model Orbit parameter Real v = 1; Real x(start = 1, fixed = true), y(start = 0, fixed = true),
               p(start = 0, fixed = true), q(start = v, fixed = true), r(start = 1);
               equation der(x) = p; der(y) = q; der(p) = -x/r^3; der(q) = -y/r^3; r = sqrt(x^2 + y^2); end Orbit;",
        axes: &["v=0.4:1.3"],
        measure: "final:x",
        to: 6.0,
    },
    Case {
        text: "model Stiff parameter Real k = 100; Real x(start = 1, fixed = true); equation der(x) = -k*(x - x^3/2); end Stiff;",
        axes: &["k=1:3000"],
        measure: "final:x",
        to: 2.0,
    },
    Case {
        text: "model Circle parameter Real r = 1; Real x(start = 0.5, fixed = true), y(start = 1); equation der(x) = 0.1*y; x^2 + y^2 = r^2; end Circle;",
        axes: &["r=0.3:2"],
        measure: "final:y",
        to: 2.0,
    },
    Case {
        text: "model Growth parameter Real r = 1, m = 3; Real x(start = 0.1, fixed = true); equation der(x) = r*x*exp(-x)*(1 - x/m); end Growth;",
        axes: &["r=0.1:8", "m=0.5:5"],
        measure: "final:x",
        to: 3.0,
    },
];

fn sweep(case: &Case, n: usize, seed: u64, n_threads: usize) -> Sweep {
    let axes: Vec<Axis> = (case.axes.iter())
        .map(|axis| Axis::read(axis).expect("an axis"))
        .collect();
    let settings = Settings {
        solve: options(case),
        n_threads: Some(n_threads),
        ..Settings::default()
    };
    let measures = ["status", case.measure].map(|m| Measure::read(m).expect("a measure"));
    let text = ModelText {
        name: "case.mo".to_string(),
        bytes: case.text.as_bytes().to_vec(),
    };
    let points = SweepPoints::random(&axes, n, seed).expect("points");
    Sweep::new(
        text,
        &Default::default(),
        points,
        measures.to_vec(),
        settings,
    )
    .unwrap_or_else(|why| panic!("{why}"))
}

fn options(case: &Case) -> SolveOptions {
    SolveOptions {
        to: Some(case.to),
        rtol: Some(1e-7),
        ..SolveOptions::default()
    }
}

/// Compares rows of random points with runs alone; how many came to their ends.
fn compare(case: &Case, n: usize, seed: u64) -> usize {
    let sweep = sweep(case, n, seed, 2);
    let loaded = daelight_lang::load("case.mo", case.text.as_bytes(), &Default::default());
    let model = loaded.model.expect("the text is right");
    let mut system = daelight::system(&model).expect("equations");
    let name = case.measure.strip_prefix("final:").expect("a name");
    let unknown = (system.unknowns().iter()).position(|u| u.name == name);
    let mut n_ended = 0;
    for row in sweep.all_rows() {
        let places = (sweep.points().names().iter())
            .map(|name| model.parameters.iter().position(|p| p.name == *name));
        let values: Vec<(usize, f64)> = (places.map(|place| place.expect("a parameter")))
            .zip(row.point.iter().copied())
            .collect();
        system.set_parameters(&values).expect("values");
        let told = format!("{} at {:?}: {:?}", model.name, row.point, row.measured);
        let alone = match solve(&system, &options(case)) {
            Ok(solution) if solution.run.stop == StopReason::Finished => solution,
            _ => {
                assert_ne!(
                    row.measured[0],
                    Measured::Word("success".to_string()),
                    "{told}"
                );
                continue;
            }
        };
        n_ended += 1;
        let mut reader = alone.reader(&system);
        let values = reader.values(alone.reached()).ok().flatten();
        let wanted = values.expect("within the run")[unknown.expect("an unknown")];
        let found = row.measured[1].number().unwrap_or(f64::NAN);
        let within = 1e-11 * wanted.abs().max(1.0);
        assert!(
            (found - wanted).abs() <= within,
            "{told} instead of {wanted}"
        );
    }
    n_ended
}

#[test]
fn rows_are_those_of_runs_alone() {
    let ended: Vec<usize> = CASES.iter().map(|case| compare(case, 40, 7)).collect();
    // Some of the points are singular, of others all come to their ends.
    assert_eq!(ended[0], 40, "{ended:?}");
    assert!(ended[3] < 40 && ended[4] < 40, "{ended:?}");
}

#[test]
fn rows_of_many_points_are_those_of_runs_alone() {
    for case in &CASES {
        compare(case, 500, 11);
    }
}

#[test]
fn rows_are_the_same_on_any_number_of_threads() {
    for case in &CASES {
        let one = sweep(case, 37, 3, 1).all_rows();
        let two = sweep(case, 37, 3, 2).all_rows();
        assert_eq!(one, two, "{}", case.text);
    }
}
