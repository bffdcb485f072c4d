//! Circuits of first-year books with Shockley diodes, at random sources, against the current found by bisection.

#[path = "common/mod.rs"]
mod common;

use common::{Random, daelight_with_input, document};

/// The voltage u with is (exp((source - u)/vt) - 1) = u/r, which falls on the left and rises on the right.
fn voltage(source: f64, r: f64, is: f64, vt: f64) -> f64 {
    let excess = |u: f64| u / r - is * (((source - u) / vt).exp() - 1.0);
    let (mut low, mut high) = (-r * is, source.max(0.0));
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if excess(middle) > 0.0 {
            high = middle;
        } else {
            low = middle;
        }
    }
    0.5 * (low + high)
}

#[test]
fn a_source_a_diode_and_a_resistor_run_at_any_frequency() {
    let mut random = Random(5);
    for _ in 0..12 {
        let amplitude = random.between(0.5, 15.0);
        let omega = 10_f64.powf(random.between(1.0, 4.0));
        let r = 10_f64.powf(random.between(0.0, 4.0));
        let is = 10_f64.powf(random.between(-14.0, -9.0));
        let vt = 0.026;
        let end = random.between(1.05, 1.4) * std::f64::consts::TAU / omega;
        let text = format!(
            "model M\n  Real va, vp, i;\nequation\n  va = {amplitude}*sin({omega}*time);\n  \
             i = {is:e}*(exp((va - vp)/{vt}) - 1);\n  i = vp/{r};\nend M;\n"
        );
        let truth = voltage(amplitude * (omega * end).sin(), r, is, vt);
        let to = end.to_string();
        for method in ["auto", "radau", "bdf"] {
            let arguments = ["solve", "-", "--json", "--to", &to, "--method", method];
            let found = document(&daelight_with_input(&arguments, text.as_bytes()));
            assert_eq!(found["reason"], "finished", "{method}: {found}\n{text}");
            let vp = found["final"]["vp"].as_f64().expect("a value at the end");
            assert!(
                (vp - truth).abs() < 1e-5 * (1.0 + truth.abs()),
                "{method}: {vp} for {truth}\n{text}"
            );
        }
    }
}
