//! Random models and a mechanism, shared by the tests and the speed example.
#![allow(dead_code, reason = "each test uses a part of it")]

pub mod andrews;
pub mod random;

use daelight_expr::JetEvaluator;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

/// The same cases in every run: the seed is 7, thirty-two times.
pub fn runner(cases: u32) -> TestRunner {
    let config = Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    };
    TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]))
}

/// 1/R, with R the radius at which every series of the jet has size at most max(1, its value).
pub fn inverse_radius(jet: &impl JetEvaluator, order: usize) -> f64 {
    let tape = jet.tape();
    let mut rate = 0.0f64;
    for register in (0..tape.n_registers()).map(|index| tape.register(index)) {
        let size = jet.coefficient(register, 0).abs().max(1.0);
        for k in 1..=order {
            let coefficient = jet.coefficient(register, k).abs() / size;
            rate = rate.max(coefficient.powf(1.0 / k as f64));
        }
    }
    rate
}

/// The largest value of order 0 in the jet, at least 1: the unit for errors of cancelling sums.
pub fn largest_value(jet: &impl JetEvaluator) -> f64 {
    let tape = jet.tape();
    (0..tape.n_registers())
        .map(|index| jet.coefficient(tape.register(index), 0).abs())
        .fold(1.0, f64::max)
}
