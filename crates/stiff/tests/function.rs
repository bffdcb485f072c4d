//! Equations given by a function: the same answers as those given by expressions.

use daelight_stiff::{Function, Hooks, Options, Pattern, Problem, Start, bdf, radau};

struct Plain<F>(F);

impl<F: FnMut(f64, &[f64], &[f64], &mut [f64]) + Send> Function for Plain<F> {
    fn residuals(&mut self, t: f64, x: &[f64], xp: &[f64], into: &mut [f64]) {
        (self.0)(t, x, xp, into);
    }
}

fn problem(
    f: impl FnMut(f64, &[f64], &[f64], &mut [f64]) + Send + 'static,
    start: Start<'_>,
) -> Problem {
    let n = start.x.len();
    let function = Box::new(Plain(f));
    Problem::of_function(function, Pattern::full(n), vec![1.0; n], start, None)
        .expect("lengths agree")
}

fn robertson(_: f64, x: &[f64], xp: &[f64], into: &mut [f64]) {
    let rates = [0.04 * x[0], 1e4 * x[1] * x[2], 3e7 * x[1] * x[1]];
    into[0] = xp[0] + rates[0] - rates[1];
    into[1] = xp[1] - rates[0] + rates[1] + rates[2];
    into[2] = x[0] + x[1] + x[2] - 1.0;
}

/// The value at t = 4 is a reference computation: Taylor series of order 30 with 30 digits.
#[test]
fn robertson_at_4() {
    let start = Start {
        t: 0.0,
        x: &[1.0, 0.0, 0.0],
        xp: &[-0.04, 0.04, 0.0],
    };
    let options = Options {
        rtol: 1e-8,
        atol: vec![1e-8, 1e-13, 1e-8],
        ..Options::default()
    };
    for method in [radau, bdf] {
        let mut problem = problem(robertson, start);
        assert_eq!(problem.indices(), [1, 1, 1]);
        assert!(problem.is_algebraic(2) && !problem.is_differentiated(2));
        let run = method(&mut problem, start, 4.0, &options, &mut Hooks::default())
            .expect("a right start");
        assert!(run.reason.is_success(), "{}", run.reason);
        assert!(
            (run.x[0] - 0.905_518_678_584_254).abs() < 1e-7,
            "{:?}",
            run.x
        );
        assert!(problem.n_evaluations() > 100);
    }
}

/// A pendulum as it stands: the pattern near the start tells index 3 of the force.
#[test]
fn indices_come_from_the_pattern() {
    let pendulum = |_: f64, x: &[f64], xp: &[f64], into: &mut [f64]| {
        into[0] = xp[0] - x[2];
        into[1] = xp[1] - x[3];
        into[2] = xp[2] + x[4] * x[0];
        into[3] = xp[3] + x[4] * x[1] + 9.81;
        into[4] = x[0] * x[0] + x[1] * x[1] - 1.0;
    };
    let start = Start {
        t: 0.0,
        x: &[1.0, 0.0, 0.0, 0.0, 0.0],
        xp: &[0.0, 0.0, 0.0, -9.81, 0.0],
    };
    let mut problem = problem(pendulum, start);
    assert_eq!(problem.indices(), [1, 1, 2, 2, 3]);
    let options = Options {
        rtol: 1e-7,
        atol: vec![1e-7],
        ..Options::default()
    };
    let run = radau(&mut problem, start, 1.0, &options, &mut Hooks::default()).expect("index 3");
    assert!(run.reason.is_success(), "{}", run.reason);
    let energy = 0.5 * (run.x[2].powi(2) + run.x[3].powi(2)) + 9.81 * run.x[1];
    assert!(energy.abs() < 1e-5, "{energy:e}");
}

/// A function without a value ends the run, and says so.
#[test]
fn a_function_without_values_ends_the_run() {
    let start = Start {
        t: 0.0,
        x: &[1.0],
        xp: &[-1.0],
    };
    let f = |t: f64, x: &[f64], xp: &[f64], into: &mut [f64]| {
        into[0] = if t > 0.5 { f64::NAN } else { xp[0] + x[0] };
    };
    for method in [radau, bdf] {
        let mut problem = problem(f, start);
        let run = method(
            &mut problem,
            start,
            1.0,
            &Options::default(),
            &mut Hooks::default(),
        )
        .expect("a right start");
        assert!(!run.reason.is_success());
        assert!(run.t <= 0.5 && run.t > 0.4, "{}", run.t);
    }
}
