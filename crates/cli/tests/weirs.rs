//! Flows that begin with an infinite slope: weirs and orifices, `if h > H then k*(h - H)^1.5 else 0`, in several writings. Below the
//! threshold the branch that is not taken has no value; at it no power series begins. Against a quadrature of the exact solution.

#[path = "common/mod.rs"]
mod common;

use common::{Random, daelight_with_input, document};

/// The time in which u' = q - k u^p comes from 0 to z^2, by Simpson's rule in z, where the integrand is smooth.
fn time_to(z: f64, q: f64, k: f64, p: f64) -> f64 {
    let rate = |z: f64| 2.0 * z / (q - k * z.powf(2.0 * p));
    let n = 2000;
    let h = z / f64::from(n);
    let inner = (1..n).map(|i| (if i % 2 == 1 { 4.0 } else { 2.0 }) * rate(h * f64::from(i)));
    h / 3.0 * (rate(0.0) + inner.sum::<f64>() + rate(z))
}

#[test]
fn weirs_overflow_in_every_writing() {
    let mut random = Random(11);
    let writings = [
        ("if h > H then k*(h - H)^1.5 else 0", 1.5),
        ("if h <= H then 0 else k*(h - H)*sqrt(h - H)", 1.5),
        ("k*max(0, h - H)^1.5", 1.5),
        ("k*(h - H)*sqrt(max(h - H, 0))", 1.5),
        ("if h > H then k*sqrt(h - H) else 0", 0.5),
        ("k*sqrt(max(h - H, 0))", 0.5),
        (
            "if h > H then k*sqrt(h - H) elseif h > H - 10 then 0 else k*log(h - H)*0",
            0.5,
        ),
    ];
    for case in 0..14 {
        let (writing, p) = writings[case % writings.len()];
        let (q, k) = (random.between(0.2, 2.0), random.between(1.0, 6.0));
        let height = random.between(0.3, 3.0);
        let first = height * random.between(0.1, 0.6);
        let z = (0.7 * q / k).powf(0.5 / p);
        let end = (height - first) / q + time_to(z, q, k, p);
        let text = format!(
            "model M\n  parameter Real q = {q}, k = {k}, H = {height};\n  Real h(start = {first}, fixed = true), w;\nequation\n  \
             w = {writing};\n  der(h) = q - w;\nend M;\n"
        );
        for method in ["auto", "taylor", "radau", "bdf"] {
            let to = end.to_string();
            let arguments = ["solve", "-", "--json", "--to", &to, "--method", method];
            let found = document(&daelight_with_input(&arguments, text.as_bytes()));
            assert_eq!(
                found["reason"], "finished",
                "case {case}, {method}: {found}\n{text}"
            );
            let h = found["final"]["h"].as_f64().expect("a value at the end");
            let error = (h - height - z * z).abs();
            assert!(
                error < 1e-6 * height,
                "case {case}, {method}: off by {error:e}\n{text}"
            );
        }
    }
}

/// What flows in flows out in the end, over a weir whose slope is infinite where it begins; fine tolerances enter it very near to that.
#[test]
fn weirs_come_to_rest_at_every_tolerance() {
    let mut random = Random(12);
    for case in 0..4 {
        let (q, k) = (random.between(0.2, 1.0), random.between(2.0, 6.0));
        let height = random.between(0.5, 2.0);
        let weir = [
            "if h > H then k*sqrt(h - H) else 0",
            "k*sqrt(max(h - H, 0))",
        ][case % 2];
        let text = format!(
            "model M\n  parameter Real q = {q}, k = {k}, H = {height};\n  Real h(start = {}, fixed = true), w;\nequation\n  \
             w = {weir};\n  der(h) = q - w;\nend M;\n",
            0.1 * height
        );
        let truth = height + (q / k).powi(2);
        for method in ["radau", "bdf"] {
            for rtol in ["1e-4", "1e-8", "1e-10", "1e-12"] {
                let run = ["solve", "-", "--json", "--to", "30", "--method", method];
                let arguments = [&run[..], &["--rtol", rtol]].concat();
                let found = document(&daelight_with_input(&arguments, text.as_bytes()));
                let label = format!("case {case}, {method} at {rtol}: {found}\n{text}");
                assert_eq!(found["reason"], "finished", "{label}");
                let h = found["final"]["h"].as_f64().expect("a value at the end");
                assert!((h - truth).abs() < 1e-4 * (truth - height), "{label}");
                assert!(!found["warnings"].to_string().contains("grow"), "{label}");
            }
        }
    }
}
