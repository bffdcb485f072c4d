//! Flows that begin with an infinite slope: weirs and orifices, `if h > H then k*(h - H)^1.5 else 0`, in several writings. Below the
//! threshold the branch that is not taken has no value; at it no power series begins. Against a quadrature of the exact solution.

use crate::common::{Random, daelight_with_input, document};

/// The time in which u' = q - k u^p comes from 0 to z^2, by Simpson's rule in z, where the integrand is smooth.
fn time_to(z: f64, q: f64, k: f64, p: f64) -> f64 {
    let rate = |z: f64| 2.0 * z / (q - k * z.powf(2.0 * p));
    let n = 2000;
    let h = z / f64::from(n);
    let inner = (1..n).map(|i| (if i % 2 == 1 { 4.0 } else { 2.0 }) * rate(h * f64::from(i)));
    h / 3.0 * (rate(0.0) + inner.sum::<f64>() + rate(z))
}

const ALL: [&str; 4] = ["auto", "taylor", "radau", "bdf"];

/// A run to its end by each method; an unknown there is the truth up to what is allowed.
fn ends_at(text: &str, to: f64, (name, truth, allowed): (&str, f64, f64)) {
    for method in ALL {
        let to = to.to_string();
        let arguments = ["solve", "-", "--json", "--to", &to, "--method", method];
        let found = document(&daelight_with_input(&arguments, text.as_bytes()));
        assert_eq!(found["reason"], "finished", "{method}: {found}\n{text}");
        let value = found["final"][name].as_f64().expect("a value at the end");
        let error = (value - truth).abs();
        assert!(error < allowed, "{method}: off by {error:e}\n{text}");
    }
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
        ends_at(&text, end, ("h", height + z * z, 1e-6 * height));
    }
}

/// A pump that trips: the pressure jumps to 0, and with it the condition under which the flow is a root; s = sqrt((P - g h)/k) falls
/// with the constant rate g/(2 k). Behind the trip nothing flows, or sqrt(h) falls with the constant rate sqrt(g/k)/2.
#[test]
fn a_pump_that_trips_takes_its_flow_along() {
    let mut random = Random(23);
    let writings = [
        ("q = if dp - g*h > 0 then sqrt((dp - g*h)/k) else 0;", false),
        ("q = sqrt(max(dp - g*h, 0)/k);", false),
        (
            "q = noEvent(if dp > g*h then sqrt((dp - g*h)/k) else 0);",
            false,
        ),
        (
            "if dp > g*h then k*q^2 = dp - g*h; else q = 0; end if;",
            false,
        ),
        (
            "q = if dp > g*h then sqrt((dp - g*h)/k) else -sqrt((g*h - dp)/k);",
            true,
        ),
        ("q = sign(dp - g*h)*sqrt(abs(dp - g*h)/k);", true),
    ];
    for case in 0..12 {
        let (writing, flows_back) = writings[case % writings.len()];
        let (k, g) = (random.between(1.0, 8.0), random.between(2.0, 12.0));
        let (first, trip) = (random.between(0.5, 1.5), random.between(0.3, 0.9));
        // The flow is half of what it was at the trip; the run ends as long after it.
        let speed = g / k * trip;
        let pressure = g * first + k * speed * speed;
        let higher = (pressure - 0.25 * k * speed * speed) / g;
        let end = if flows_back {
            (higher.sqrt() - 0.5 * (g / k).sqrt() * trip).max(0.1)
        } else {
            higher.sqrt()
        };
        let until = trip + (higher.sqrt() - end) / (0.5 * (g / k).sqrt());
        let to = if flows_back { until } else { 2.0 * trip };
        let text = format!(
            "model M\n  parameter Real P = {pressure}, k = {k}, g = {g};\n  Real h(start = {first}, fixed = true), q(start = {speed}), dp;\nequation\n  \
             dp = if time > {trip} then 0 else P;\n  {writing}\n  der(h) = q;\nend M;\n"
        );
        ends_at(&text, to, ("h", end * end, 1e-6 * higher));
    }
}

/// A signal that jumps takes unknowns of nonlinear equations along, far and across their kinks; each has one solution, by bisection.
#[test]
fn unknowns_of_nonlinear_equations_jump_with_a_signal() {
    let mut random = Random(31);
    let root = |f: &dyn Fn(f64) -> f64| {
        let (mut low, mut high) = (-100.0, 100.0);
        for _ in 0..200 {
            let middle = 0.5 * (low + high);
            match f(middle) < 0.0 {
                true => low = middle,
                false => high = middle,
            }
        }
        low
    };
    for case in 0..12 {
        let (a, jump) = (random.between(0.5, 3.0), random.between(0.3, 0.8));
        let (before, after) = (random.between(3.0, 9.0), -random.between(3.0, 40.0));
        let signal = format!("(if time < {jump} then {before} else {after})");
        let (equation, f): (String, Box<dyn Fn(f64) -> f64>) = match case % 4 {
            0 => (
                format!("q^3 + {a}*q = {signal}"),
                Box::new(move |q| q.powi(3) + a * q),
            ),
            1 => (
                format!("q*abs(q) = {a}*{signal}"),
                Box::new(move |q| q * q.abs() / a),
            ),
            2 => (
                format!("(-{signal} - q)/100 = 1e-12*(exp(q/0.026) - 1)"),
                Box::new(|q: f64| -((100.0 * 1e-12 * ((q / 0.026).min(600.0).exp() - 1.0)) + q)),
            ),
            _ => (
                format!("sinh({a}*q) + max(q, 0) = {signal}"),
                Box::new(move |q| (a * q).clamp(-300.0, 300.0).sinh() + q.max(0.0)),
            ),
        };
        let at = |signal: f64| match case % 4 {
            2 => root(&|q| -f(q) + signal),
            _ => root(&|q| f(q) - signal),
        };
        let truth = at(before) * jump + at(after) * (1.0 - jump);
        let text = format!(
            "model M\n  Real q(start = {}), x(start = 0, fixed = true);\nequation\n  {equation};\n  der(x) = q;\nend M;\n",
            at(before)
        );
        ends_at(&text, 1.0, ("x", truth, 1e-6 * (1.0 + truth.abs())));
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
