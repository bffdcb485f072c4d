//! Reference values of benchmarks, and errors against tolerances.

#![allow(
    clippy::excessive_precision,
    reason = "reference values keep the digits of their source"
)]

use crate::common;
use crate::common::{
    Case, Method, akzo, andrews, chain, finish, pendulum, project_pendulum, robertson,
};
use daelight_stiff::{Hooks, StopReason, bdf, radau};

#[test]
fn akzo_nobel_to_nine_digits() {
    let case = akzo();
    for (method, rtol) in [(radau as Method, 1e-11), (bdf, 1e-12)] {
        let run = finish(method, &case, &case.options(rtol));
        assert!(case.error(&run.x) < 1e-9, "{:e}", case.error(&run.x));
    }
}

#[test]
fn andrews_as_it_stands() {
    let case = andrews();
    let run = finish(radau, &case, &case.options(1e-9));
    assert!(case.error(&run.x) < 1e-6, "{:e}", case.error(&run.x));
}

/// The torque that moves a flexible arm (index 3, two degrees of freedom); values in 30-digit arithmetic.
#[test]
fn flexible_arm_as_it_stands() {
    let values = common::document("e1")["solution"][2]["values"].clone();
    let names = ["x1", "x2", "x3", "x4", "u"];
    let expected = names.iter().enumerate().map(|(j, &name)| {
        let text = values[name].as_str().expect("a number");
        (j, text.parse::<f64>().expect("a number"))
    });
    let case = Case {
        system: common::library("e1", &[]),
        t: 0.0,
        x: vec![std::f64::consts::FRAC_PI_4, 0.0, 0.0, 0.0, 0.0],
        xp: vec![0.0; 5],
        end: 0.05,
        expected: expected.collect(),
        nominal: vec![1.0, 1.0, 1.0, 1.0, 1e5],
    };
    let run = finish(radau, &case, &case.options(1e-9));
    let joints = case.expected[..2].iter();
    let error = joints.map(|&(j, value)| (run.x[j] - value).abs());
    assert!(error.fold(0.0, f64::max) < 1e-9);
    // Velocities and the torque are accurate to order 3 and 2 without a projection.
    assert!(case.error(&run.x) < 1e-4, "{:e}", case.error(&run.x));
}

/// At index 1, and in positions at index 3, the error at the end is below 100 times the tolerance.
#[test]
fn errors_follow_the_tolerance() {
    // Without a projection only the positions of the pendulum are of full order.
    let mut swing = pendulum();
    swing.expected.truncate(2);
    let cases: [(&str, Case, &[Method]); 4] = [
        ("akzo", akzo(), &[radau, bdf]),
        ("robertson", at_40(), &[radau, bdf]),
        ("pendulum", swing, &[radau]),
        ("andrews", andrews(), &[radau]),
    ];
    for (name, case, methods) in cases {
        for method in methods {
            for exponent in 3..=11 {
                let rtol = 10f64.powi(-exponent);
                let run = finish(*method, &case, &case.options(rtol));
                let error = case.error(&run.x);
                assert!(error < 100.0 * rtol, "{name}: {error:e} at {rtol:e}");
            }
        }
    }
}

/// Robertson at t = 40: Taylor series in 25 digits; two orders and step sizes agree in the digits given.
fn at_40() -> Case {
    robertson(
        40.0,
        [0.71582706871940, 9.1855347645577e-6, 0.28416374574583],
        [1.0, 1e-6, 1e-2],
    )
}

/// Robertson at t = 1e11, the value of the IVP test set: twelve decades of time, unknowns down to 1e-13.
#[test]
fn robertson_to_the_very_end() {
    let case = robertson(
        1e11,
        [
            0.2083340149701255e-7,
            0.8333360770334713e-13,
            0.9999999791665050,
        ],
        [1e-8, 1e-13, 1.0],
    );
    for method in [radau as Method, bdf] {
        for rtol in [1e-4, 1e-6, 1e-8] {
            let run = finish(method, &case, &case.options(rtol));
            let error = case.error(&run.x);
            assert!(error < 100.0 * rtol, "{error:e} at {rtol:e}");
            assert!(run.statistics.steps < 5000);
        }
    }
}

/// With a projection every unknown of the pendulum follows the tolerance.
#[test]
fn pendulum_with_projection() {
    let case = pendulum();
    for exponent in 3..=11 {
        let rtol = 10f64.powi(-exponent);
        let mut projection = project_pendulum;
        let mut hooks = Hooks {
            projection: Some(&mut projection),
            ..Hooks::default()
        };
        let run = radau(
            &mut case.problem(),
            case.start(),
            case.end,
            &case.options(rtol),
            &mut hooks,
        )
        .expect("the start fits");
        assert_eq!(run.reason, StopReason::Finished);
        let error = case.error(&run.x);
        assert!(error < 100.0 * rtol, "{error:e} at {rtol:e}");
        let length = run.x[0].hypot(run.x[1]);
        assert!((length - 1.0).abs() < 1e-15);
    }
}

/// Van der Pol's relaxation oscillator with mu = 1000 in the scaled form, at t = 2 (IVP test set).
#[test]
fn van_der_pol() {
    let system = common::system(
        "model VanDerPol  parameter Real eps = 1e-6;  Real y(start = 2), z(start = 0);
         equation  der(y) = z;  eps*der(z) = (1 - y^2)*z - y;  end VanDerPol;",
        &[],
    );
    let case = Case {
        system,
        t: 0.0,
        x: vec![2.0, 0.0],
        xp: vec![0.0, -2e6],
        end: 2.0,
        expected: vec![(0, 0.1706167732170483e1), (1, -0.8928097010247975)],
        nominal: vec![1.0; 2],
    };
    for method in [radau as Method, bdf] {
        for rtol in [1e-5, 1e-8] {
            let run = finish(method, &case, &case.options(rtol));
            let error = case.error(&run.x);
            assert!(error < 100.0 * rtol, "{error:e} at {rtol:e}");
        }
    }
}

/// A rod of 60 nodes cools: the first mode of the discrete heat equation decays like an exponential. Sparse matrices.
#[test]
fn heat_rod() {
    let n = 60;
    let system = common::system(
        "model Rod  parameter Integer n = 60;  Real u[n];
         equation
           der(u[1]) = (n + 1)^2*(u[2] - 2*u[1]);
           for i in 2:n - 1 loop
             der(u[i]) = (n + 1)^2*(u[i + 1] - 2*u[i] + u[i - 1]);
           end for;
           der(u[n]) = (n + 1)^2*(u[n - 1] - 2*u[n]);
         end Rod;",
        &[],
    );
    let mode = |i: usize| (std::f64::consts::PI * (i + 1) as f64 / (n + 1) as f64).sin();
    let half = std::f64::consts::FRAC_PI_2 / (n + 1) as f64;
    let rate = 4.0 * ((n + 1) as f64 * half.sin()).powi(2);
    let case = Case {
        system,
        t: 0.0,
        x: (0..n).map(mode).collect(),
        xp: (0..n).map(|i| -rate * mode(i)).collect(),
        end: 0.5,
        expected: (0..n).map(|i| (i, (-0.5 * rate).exp() * mode(i))).collect(),
        nominal: vec![1e-2; n],
    };
    for method in [radau as Method, bdf] {
        for rtol in [1e-4, 1e-7, 1e-10] {
            let run = finish(method, &case, &case.options(rtol));
            let error = case.error(&run.x);
            assert!(error < 100.0 * rtol, "{error:e} at {rtol:e}");
        }
    }
}

/// A chain of 100 links, 500 unknowns: energy and the lengths of the links are kept.
#[test]
fn chain_of_100_links() {
    let n = 100;
    let case = chain(n);
    let run = finish(radau, &case, &case.options(1e-6));
    let x = &run.x;
    let energy = |x: &[f64]| {
        let kinetic: f64 = x[2 * n..4 * n].iter().map(|v| 0.5 * v * v).sum();
        let potential: f64 = x[n..2 * n].iter().map(|y| 9.81 * y).sum();
        kinetic + potential
    };
    let before = energy(&case.x);
    assert!((energy(x) - before).abs() < 1e-5 * before.abs());
    for i in 0..n {
        let back = |values: &[f64]| values[i] - if i == 0 { 0.0 } else { values[i - 1] };
        let length = back(&x[..n]).hypot(back(&x[n..2 * n]));
        assert!((length - 1.0).abs() < 1e-8, "{length}");
    }
    let coarse = finish(radau, &case, &case.options(1e-4));
    let difference = (0..2 * n).map(|j| (coarse.x[j] - x[j]).abs());
    assert!(difference.fold(0.0, f64::max) < 1e-2);
}
