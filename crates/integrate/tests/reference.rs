//! Models with known answers, orders, and counters.

use crate::common::{Case, assert_close};
use daelight_integrate::StopReason;

#[test]
fn the_pendulum_agrees_with_its_reference() {
    // The angle equation in 30-digit arithmetic: x, y, vx, vy at t = 10.
    let reference = [
        0.275_087_462_576_116_9,
        -0.961_419_205_099_125_1,
        -4.175_598_100_951_729,
        -1.194_749_054_560_475_3,
    ];
    let pendulum = Case::library("pendulum", &[]);
    for (rtol, error) in [(1e-3, 1e-2), (1e-6, 1e-5), (1e-9, 5e-9), (1e-11, 1e-10)] {
        let run = pendulum.run(0.0, 10.0, rtol);
        assert_eq!(run.stop, StopReason::Finished);
        assert_close(&pendulum.values(&run, 10.0)[..4], &reference, error);
        assert!(run.residual() < 1e-10);
    }
}

#[test]
fn the_pendulum_keeps_its_constraints_and_its_energy_for_long() {
    let pendulum = Case::library("pendulum", &[]);
    let run = pendulum.run(0.0, 1000.0, 1e-9);
    assert_eq!(run.stop, StopReason::Finished);
    assert!(run.residuals.iter().all(|&residual| residual < 1e-10));
    let values = pendulum.values(&run, 1000.0);
    let energy = 0.5 * (values[2].powi(2) + values[3].powi(2)) + 9.81 * values[1];
    assert!(energy.abs() < 1e-5, "energy drift {energy:e}");
}

#[test]
fn a_run_can_go_back() {
    let pendulum = Case::library("pendulum", &[]);
    let run = pendulum.run(0.0, -10.0, 1e-10);
    assert_eq!(run.stop, StopReason::Finished);
    // At rest at the start, the motion is even in time.
    let values = pendulum.values(&run, -10.0);
    assert_close(
        &values[..2],
        &[0.275_087_462_576_116_9, -0.961_419_205_099_125_1],
        1e-8,
    );
}

#[test]
fn the_squeezer_agrees_with_its_reference() {
    // Reference computation with smaller error than the published one of the IVP test set.
    let reference = [
        15.810_771_195_153_71,
        -15.756_371_058_411_844,
        0.040_822_240_119_645_865,
        -0.534_730_116_342_079_6,
        0.524_409_965_879_954,
        0.534_730_116_342_079_6,
        1.048_080_741_041_938,
    ];
    let squeezer = Case::library("andrews", &[]);
    for (rtol, error) in [(1e-6, 1e-6), (1e-9, 1e-9)] {
        let run = squeezer.run(0.0, 0.03, rtol);
        assert_eq!(run.stop, StopReason::Finished);
        assert_eq!(run.singularities, []);
        assert_close(&squeezer.values(&run, 0.03)[..7], &reference, error);
        assert!(run.residual() < 1e-10);
    }
}

#[test]
fn chains_of_any_length_agree_with_finer_runs() {
    for (length, fine) in [("N=10", 1e-12), ("N=100", 1e-9), ("N=1000", 1e-8)] {
        let chain = Case::library("pendulum-chain", &[length]);
        let run = chain.run(0.0, 1.0, 1e-6);
        assert_eq!(run.stop, StopReason::Finished);
        let finer = chain.run(0.0, 1.0, fine);
        let n = chain.system.unknowns().len() / 5;
        let (found, wanted) = (chain.values(&run, 1.0), chain.values(&finer, 1.0));
        assert_close(&found[..2 * n], &wanted[..2 * n], 1e-5);
        assert!(run.residual() < 1e-10 && finer.residual() < 1e-10);
    }
}

#[test]
fn polynomials_up_to_the_order_are_exact() {
    let polynomials: [(&str, i32, usize); 2] = [
        ("der(x) = 3*time^2 - 4*time^3; y = x - time^5;", 4, 2),
        // Terms in the upper half of the orders could as well have a gap behind them: shorter steps, as exact.
        ("der(x) = 3*time^2 - 8*time^7; y = x - time^9;", 8, 30),
    ];
    for (equations, degree, most) in polynomials {
        let text =
            format!("model P Real x(start = 1, fixed = true), y; equation {equations} end P;");
        let case = Case::text(&text);
        let run = case.run(0.0, 2.0, 1e-6);
        assert_eq!(run.stop, StopReason::Finished);
        assert!(run.statistics.steps <= most, "{:?}", run.statistics);
        let t = 2.0f64;
        let x = 1.0 + t.powi(3) - t.powi(degree);
        assert_close(&case.values(&run, t), &[x, x - t.powi(degree + 1)], 4e-16);
    }
}

#[test]
fn the_error_falls_with_the_order_of_the_series() {
    // x'' = -x in one step: cos has no term of order 9, so the error of x falls with power 10.
    let case = Case::text(
        "model O Real x(start = 1, fixed = true), v(start = 0, fixed = true);
                           equation der(x) = v; der(v) = -x; end O;",
    );
    let mut options = case.options(0.8, 1e-3);
    options.order = Some(6);
    let run = case.run_with(0.0, &options);
    assert_eq!(run.statistics.steps, 1);
    let error = |t: f64| (run.trajectory.evaluate(t, 0, 0).expect("inside") - t.cos()).abs();
    let slope = (error(0.8) / error(0.4)).log2();
    assert!((slope - 10.0).abs() < 0.2, "{slope}");
}

/// Steps, rejected steps, residuals, Jacobians, factorisations and jets. A change that is meant is written down here.
#[test]
fn counters_do_not_change_unnoticed() {
    let expected = [
        ("pendulum", 10.0, 1e-6, "84 0 518 102 92 85"),
        ("pendulum", 10.0, 1e-9, "87 0 532 105 95 88"),
        ("andrews", 0.03, 1e-6, "50 0 317 143 58 51"),
        ("andrews", 0.03, 1e-9, "59 0 362 182 67 60"),
        ("robotic-arm", 2.0, 1e-8, "13 0 125 110 25 14"),
        ("robotic-arm-safe-path", 5.0, 1e-8, "14 0 149 79 34 15"),
        ("cart-pendulum", 1.0, 1e-8, "15 0 35 56 21 16"),
        ("delta-robot", 1.0, 1e-8, "27 0 162 88 38 28"),
        ("akzo-nobel", 180.0, 1e-8, "106 0 216 112 112 107"),
        ("pendulum-chain", 1.0, 1e-6, "15 0 104 34 24 16"),
    ];
    let counted = expected.map(|(name, t_end, rtol, _)| {
        let s = Case::library(name, &[]).run(0.0, t_end, rtol).statistics;
        let counts = [
            s.steps,
            s.rejected,
            s.residuals,
            s.jacobians,
            s.factorizations,
            s.jets,
        ];
        (
            name,
            t_end,
            rtol,
            counts.map(|count| count.to_string()).join(" "),
        )
    });
    for (found, wanted) in counted.iter().zip(expected) {
        assert_eq!(
            found.3, wanted.3,
            "{} at {:e}; all: {counted:#?}",
            found.0, found.2
        );
    }
}
