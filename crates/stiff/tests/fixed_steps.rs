//! Constant steps: implicit Euler's table on the index-3 toy, conditioning, bad input.

use crate::common::{document, library};
use daelight_stiff::{Control, FixedOptions, FixedRun, InputError, Problem, StopReason, bdf_fixed};

fn toy(signal: usize) -> Problem {
    let system = library("index3-toy", &[format!("signal={signal}")]);
    Problem::new(system.equations(), system.parameters().values()).expect("square")
}

fn euler(problem: &mut Problem, start: &[f64], h: f64) -> FixedRun {
    let options = FixedOptions {
        step: h,
        n_steps: (1.0 / h).round() as usize,
        ..FixedOptions::default()
    };
    let run = bdf_fixed(problem, 0.0, &[start], &options, &mut |_, _| {
        Control::Continue
    });
    let run = run.expect("the start fits");
    assert_eq!(run.reason, StopReason::Finished);
    run
}

/// Compares errors at one point with a row of the table; rounding grows like 1/h^2.
fn check(run: &FixedRun, at: usize, exact: &dyn Fn(f64) -> [f64; 3], row: &serde_json::Value) {
    let (t, x) = (run.points.times()[at], run.points.point(at));
    for (j, expected) in exact(t).into_iter().enumerate() {
        let error = x[j] - expected;
        let printed = row[j].as_f64().expect("a number");
        let slack = 1e-11 * printed.abs().max(1.0);
        assert!((error - printed).abs() < slack, "{error} for {printed}");
    }
}

#[test]
fn implicit_euler_reproduces_the_reference_table() {
    let table = document("index3-toy")["implicit_euler"].clone();
    let sine = |t: f64| [t.sin(), -t.cos(), -t.sin()];
    let exponential = |t: f64| [-t.exp(); 3];
    type Exact<'a> = &'a dyn Fn(f64) -> [f64; 3];
    for (name, signal, exact) in [
        ("consistent_sin", 1, &sine as Exact<'_>),
        ("consistent_exp", 2, &exponential),
    ] {
        let rows = table[name].as_array().expect("rows");
        assert_eq!(rows.len(), 4);
        for row in rows {
            let h = row["h"].as_f64().expect("a step");
            let run = euler(&mut toy(signal), &exact(0.0), h);
            check(&run, 1, exact, &row["err_first"]);
            check(&run, 2, exact, &row["err_second"]);
            check(&run, run.points.times().len() - 1, exact, &row["err_end"]);
        }
    }
    let inconsistent = &table["inconsistent_sin"];
    let rows = inconsistent["runs"].as_array().expect("rows");
    assert_eq!(rows.len(), 4);
    for row in rows {
        let h = row["h"].as_f64().expect("a step");
        let run = euler(&mut toy(1), &[0.3, 0.5, 0.2], h);
        for (at, name) in [(1, "first"), (2, "second"), (3, "third")] {
            check(&run, at, &sine, &row[name]);
        }
    }
}

/// (21) of `docs/theory/implicit.md`: the condition of the toy's matrix grows like h^-3 as it stands, like h^-2 for p = 1,
/// and no better for p = 2, where the scaled row is the largest.
#[test]
fn scaling_mends_the_condition() {
    let mut problem = toy(1);
    let mut condition = |h: f64, scale: f64| {
        let options = FixedOptions {
            step: h,
            n_steps: 3,
            scale,
            condition_every: 1,
            ..FixedOptions::default()
        };
        let start: &[f64] = &[0.0, -1.0, 0.0];
        let run = bdf_fixed(&mut problem, 0.0, &[start], &options, &mut |_, _| {
            Control::Continue
        });
        run.expect("the start fits")
            .conditioning
            .expect("looked at")
    };
    for (scale, growth) in [(0.0, 3.0), (1.0, 2.0), (2.0, 3.0)] {
        let [coarse, fine] = [1e-2, 1e-3].map(|h| condition(h, scale));
        let plain = (fine.plain / coarse.plain).log10();
        let scaled = (fine.scaled / coarse.scaled).log10();
        assert!((plain - 3.0).abs() < 0.2, "{plain}");
        assert!((scaled - growth).abs() < 0.2, "{scaled} for p = {scale}");
        assert!(scale != 1.0 || fine.scaled < 0.01 * fine.plain);
    }
}

/// The flexible arm E1 (index 3, two degrees of freedom) from rest, at t = 0.05: errors of joints and torque fall with the
/// order, and the constraint scaled by 1/h lowers the condition without changing the result.
#[test]
fn flexible_arm_by_constant_steps() {
    let system = library("e1", &[]);
    let mut problem =
        Problem::new(system.equations(), system.parameters().values()).expect("square");
    let solution = document("e1")["solution"][2].clone();
    assert_eq!(solution["time"], "0.05");
    let exact = ["x1", "x2", "x3", "x4", "u"].map(|name| {
        let text = solution["values"][name].as_str().expect("a number");
        text.parse::<f64>().expect("a number")
    });
    let rest = [std::f64::consts::FRAC_PI_4, 0.0, 0.0, 0.0, 0.0];
    let mut errors = |order: usize, step: f64, scale: f64| {
        let n_steps = (0.05 / step).round() as usize;
        let options = FixedOptions {
            order,
            step,
            n_steps,
            scale,
            condition_every: 10,
            ..FixedOptions::default()
        };
        // The arm is at rest before the path begins.
        let begin = -((order - 1) as f64) * step;
        let history = vec![&rest[..]; order];
        let run = bdf_fixed(&mut problem, begin, &history, &options, &mut |_, _| {
            Control::Continue
        });
        let run = run.expect("the start fits");
        assert_eq!(run.reason, StopReason::Finished);
        let x = run.points.point(n_steps + order - 1);
        let sizes = [1.0, 1.0, 1.0, 1.0, 1e5];
        let errors: [f64; 5] = std::array::from_fn(|j| (x[j] - exact[j]).abs() / sizes[j]);
        (errors, run.conditioning.expect("looked at"))
    };
    for order in 1..=3 {
        let (coarse, _) = errors(order, 5e-4, 1.0);
        let (fine, condition) = errors(order, 2.5e-4, 1.0);
        for (j, (coarse, fine)) in coarse.iter().zip(&fine).enumerate() {
            let slope = (coarse / fine).log2();
            assert!(
                (slope - order as f64).abs() < 0.5,
                "{slope} for unknown {j}, order {order}"
            );
        }
        assert!(condition.scaled < 0.01 * condition.plain, "{condition:?}");
        let (unscaled, _) = errors(order, 2.5e-4, 0.0);
        for (a, b) in fine.iter().zip(unscaled) {
            assert!((a - b).abs() < 1e-7, "{a} and {b}");
        }
    }
}

#[test]
fn bad_input_is_refused() {
    let start: &[f64] = &[0.0, -1.0, 0.0];
    let mut problem = toy(1);
    let mut run = |history: &[&[f64]], options: FixedOptions| {
        bdf_fixed(&mut problem, 0.0, history, &options, &mut |_, _| {
            Control::Continue
        })
        .map(|run| run.reason)
    };
    let with = |order, step| FixedOptions {
        order,
        step,
        ..FixedOptions::default()
    };
    for order in [0, 7] {
        let found = run(&[start], with(order, 0.1));
        assert_eq!(found, Err(InputError::BadNumber("the order")));
    }
    for step in [0.0, f64::NAN, f64::INFINITY] {
        let found = run(&[start], with(1, step));
        assert_eq!(found, Err(InputError::BadNumber("the step")));
    }
    assert!(matches!(
        run(&[start], with(2, 0.1)),
        Err(InputError::Length { expected: 2, .. })
    ));
    assert!(matches!(
        run(&[&start[..2]], with(1, 0.1)),
        Err(InputError::Length { expected: 3, .. })
    ));
    let nan: &[f64] = &[f64::NAN, 0.0, 0.0];
    assert_eq!(
        run(&[nan], with(1, 0.1)),
        Err(InputError::BadNumber("a start value"))
    );
}
