//! Errors fall with the order of the method when the step is halved.

use crate::common;
use crate::common::{Case, pendulum, project_pendulum, system};
use daelight_stiff::{
    Control, FixedOptions, Hooks, Options, Problem, StopReason, bdf_fixed, radau,
};

/// Radau of order 5 with constant steps: tolerances that never bind, equations solved to rounding.
fn constant_steps(case: &Case, n_steps: usize, projected: bool) -> Vec<f64> {
    with_stages(3, case, n_steps, projected)
}

fn with_stages(stages: usize, case: &Case, n_steps: usize, projected: bool) -> Vec<f64> {
    let h = (case.end - case.t).abs() / n_steps as f64;
    let options = Options {
        rtol: 0.5,
        atol: vec![1.0],
        h0: Some(h),
        hmax: Some(h),
        newton_tolerance: Some(1e-15),
        stages,
        ..Options::default()
    };
    let mut projection = project_pendulum;
    let mut hooks = Hooks::default();
    if projected {
        hooks.projection = Some(&mut projection);
    }
    let run = radau(
        &mut case.problem(),
        case.start(),
        case.end,
        &options,
        &mut hooks,
    )
    .expect("the start fits");
    assert_eq!(run.reason, StopReason::Finished);
    assert_eq!(run.statistics.steps, n_steps);
    run.x
}

/// log2 of the ratio of the errors with n and with 2 n steps, for each unknown.
fn slopes(exact: &[f64], mut solve: impl FnMut(usize) -> Vec<f64>, n_steps: usize) -> Vec<f64> {
    let [coarse, fine] = [n_steps, 2 * n_steps].map(|n_steps| {
        let x = solve(n_steps);
        let errors = x.iter().zip(exact).map(|(x, exact)| (x - exact).abs());
        errors.collect::<Vec<f64>>()
    });
    let pairs = coarse.iter().zip(&fine);
    pairs.map(|(coarse, fine)| (coarse / fine).log2()).collect()
}

fn check(found: &[f64], expected: &[f64]) {
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() < 0.35, "{found} is not {expected}");
    }
}

/// A nonlinear system with the solution x = 2 + sin t, y = cos t by construction.
fn smooth(end: f64) -> (Case, Vec<f64>) {
    let system = system(
        "model Smooth  Real x, y;
         equation
           der(x) = cos(time) - (x - 2 - sin(time))*y;
           der(y) = -sin(time) + (x - 2 - sin(time)) - 3*(y^3 - cos(time)^3);
         end Smooth;",
        &[],
    );
    let case = Case {
        system,
        t: 0.0,
        x: vec![2.0, 1.0],
        xp: vec![1.0, 0.0],
        end,
        expected: Vec::new(),
        nominal: vec![1.0; 2],
    };
    (case, vec![2.0 + end.sin(), end.cos()])
}

#[test]
fn radau_has_orders_5_and_9_on_an_ode() {
    let system = system(
        "model Oscillator  Real x, y;  equation  der(x) = y;  der(y) = -x*(1 + 0.1*x^2);  end Oscillator;",
        &[],
    );
    let case = Case {
        system,
        t: 0.0,
        x: vec![1.0, 0.0],
        xp: vec![0.0, -1.1],
        end: 4.0,
        expected: Vec::new(),
        nominal: vec![1.0; 2],
    };
    let exact = constant_steps(&case, 640, false);
    let found = slopes(&exact, |n| constant_steps(&case, n, false), 20);
    check(&found, &[5.0, 5.0]);
    let found = slopes(&exact, |n| with_stages(5, &case, n, false), 6);
    for order in found {
        assert!(order > 8.5, "{order} is not 9");
    }
}

/// Hairer, Lubich and Roche (1989), and (10) of `docs/theory/implicit.md`.
#[test]
fn radau_has_orders_5_3_2_on_an_index_3_pendulum() {
    let mut case = pendulum();
    case.end = 1.0;
    // The exact values, from a fine run on which every point is projected.
    let exact = constant_steps(&case, 2560, true);
    let found = slopes(&exact, |n| constant_steps(&case, n, false), 80);
    check(&found[2..], &[3.0, 3.0, 2.0]);
    for order in &found[..2] {
        assert!(*order > 4.5, "{found:?}");
    }
}

/// Projected onto all constraints, velocity and force are as accurate as the position.
#[test]
fn projection_lifts_all_unknowns_to_order_5() {
    let mut case = pendulum();
    case.end = 1.0;
    let exact = constant_steps(&case, 2560, true);
    let found = slopes(&exact, |n| constant_steps(&case, n, true), 80);
    for order in &found {
        assert!(*order > 4.5, "{found:?}");
    }
}

/// Constant steps of order k from exact start values.
fn fixed(
    problem: &mut Problem,
    order: usize,
    exact: &dyn Fn(f64) -> Vec<f64>,
    end: f64,
    n_steps: usize,
    scale: f64,
) -> Vec<f64> {
    let step = end / n_steps as f64;
    let history: Vec<Vec<f64>> = (0..order).map(|i| exact(i as f64 * step)).collect();
    let history: Vec<&[f64]> = history.iter().map(Vec::as_slice).collect();
    let options = FixedOptions {
        order,
        step,
        n_steps: n_steps + 1 - order,
        scale,
        newton_tolerance: 1e-12,
        ..FixedOptions::default()
    };
    let run = bdf_fixed(problem, 0.0, &history, &options, &mut |_, _| {
        Control::Continue
    })
    .expect("the start fits");
    assert_eq!(run.reason, StopReason::Finished);
    run.points.point(n_steps).to_vec()
}

#[test]
fn bdf_has_order_k_on_an_ode() {
    let (case, exact) = smooth(2.0);
    let solution = |t: f64| vec![2.0 + t.sin(), t.cos()];
    for order in 1..=6 {
        let mut problem = case.problem();
        let n_steps = [320, 320, 160, 80, 80, 40][order - 1];
        let solve = |n| fixed(&mut problem, order, &solution, 2.0, n, 0.0);
        let found = slopes(&exact, solve, n_steps);
        check(&found, &[order as f64; 2]);
    }
}

/// The index-3 toy: k-step differences of an exact position are of order k in velocity and acceleration.
#[test]
fn bdf_has_order_k_at_index_3() {
    let system = common::library("index3-toy", &["signal=2".to_string()]);
    let mut problem =
        Problem::new(system.equations(), system.parameters().values()).expect("square");
    let solution = |t: f64| vec![-t.exp(); 3];
    for order in 1..=6 {
        let n_steps = [200, 100, 40, 20, 16, 12][order - 1];
        for scale in [0.0, 2.0] {
            let solve = |n| fixed(&mut problem, order, &solution, 1.0, n, scale);
            let found = slopes(&solution(1.0), solve, n_steps);
            check(&found[..2], &[order as f64; 2]);
        }
    }
}

/// Two unknowns with a given sum, kept by a force: x = 2 + sin t, y = cos t, f = exp(-t), the force of index 2.
#[test]
fn bdf_has_order_k_at_index_2() {
    let system = system(
        "model Sum  Real x, y, f;
         equation
           der(x) = y + f - exp(-time);
           der(y) = -x*f + (2 + sin(time))*exp(-time) - sin(time);
           x + y = 2 + sin(time) + cos(time);
         end Sum;",
        &[],
    );
    let mut problem =
        Problem::new(system.equations(), system.parameters().values()).expect("square");
    assert_eq!(problem.indices(), [1, 1, 2]);
    let solution = |t: f64| vec![2.0 + t.sin(), t.cos(), (-t).exp()];
    for order in 1..=6 {
        let n_steps = [640, 160, 80, 40, 40, 30][order - 1];
        for scale in [0.0, 1.0] {
            let solve = |n| fixed(&mut problem, order, &solution, 1.0, n, scale);
            let found = slopes(&solution(1.0), solve, n_steps);
            check(&found, &[order as f64; 3]);
        }
    }
}
