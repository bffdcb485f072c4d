//! Linkages that turn through singular positions, against closed forms.

use crate::common::{Random, json_of};
use std::f64::consts::PI;

/// Runs over all singular points; their times, and the values at the end.
fn passed(text: &str, end: f64, rtol: &str) -> (Vec<f64>, serde_json::Value) {
    let end = end.to_string();
    let how = ["--rtol", rtol, "--on-singularity", "continue"];
    let command = [&["solve", "-", "--to", &end][..], &how].concat();
    let (code, found) = json_of(text, &command);
    assert_eq!(code, 0, "{rtol}: {}\n{text}", found["message"]);
    let told = found["singularities"].as_array().expect("a list");
    let times = told.iter().map(|one| one["time"].as_f64().expect("a time"));
    (times.collect(), found["final"].clone())
}

fn agree(times: &[f64], wanted: &[f64], text: &str) {
    let all = times.iter().zip(wanted);
    let near = all.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(
        times.len() == wanted.len() && near < 1e-7,
        "{times:?}, not {wanted:?}\n{text}"
    );
}

/// A parallelogram turns evenly, without forces, p = s = p_0 + w t and q = 0: whatever its sizes, its bars lie on one line where sin(p) = 0.
#[test]
fn a_parallelogram_turns_through_all_its_singular_positions() {
    let mut random = Random(51);
    for case in 0..24 {
        let a = random.between(0.3, 3.0);
        let d = a * random.between(0.4, 3.0);
        let (j, m) = (random.between(0.1, 3.0), random.between(0.1, 3.0));
        let (p, w) = (random.between(0.3, 2.8), random.between(1.0, 6.0));
        let text = format!(
            "model P parameter Real a = {a}, d = {d}, J = {j}, m = {m};
             Real p(start = {p}, fixed = true), q(start = 0), s(start = {p}), z[2];
             initial equation der(p) = {w};
             equation lagrange(J/2*(der(p)^2 + der(q)^2 + der(s)^2) + m/2*(a*der(p))^2, 0, {{p, q, s}},
               {{a*cos(p) + d*cos(q) - a*cos(s) - d, a*sin(p) + d*sin(q) - a*sin(s)}}, z);
             end P;"
        );
        let end = 4.0;
        let wanted: Vec<f64> = (1..20)
            .map(|n| (f64::from(n) * PI - p) / w)
            .filter(|time| *time < end)
            .collect();
        let rtol = ["1e-6", "1e-8"][case % 2];
        let (times, last) = passed(&text, end, rtol);
        agree(&times, &wanted, &text);
        let angle = last["p"].as_f64().expect("a value");
        assert!((angle - p - w * end).abs() < 1e-6, "{angle}\n{text}");
    }
}

/// A crank with a rod of its own length r and a spring k at the slider x = 2 r cos(phi): with E its energy
/// (J + 4 m r^2 sin^2) phi'^2 = 2 E - 4 k r^2 cos^2, and the rod stands upright where cos(phi) = 0.
#[test]
fn a_free_crank_turns_through_its_dead_centres() {
    let mut random = Random(52);
    for case in 0..8 {
        let r = random.between(0.05, 0.5);
        let (m, j) = (random.between(0.5, 3.0), r * r * random.between(2.0, 8.0));
        let (phi, w) = (random.between(0.2, 1.2), random.between(4.0, 7.0));
        let k = j * w * w / (r * r) * random.between(0.02, 0.1);
        let inertia = |at: f64| j + 4.0 * m * (r * at.sin()).powi(2);
        let spring = |at: f64| k * (2.0 * r * at.cos()).powi(2);
        let energy = inertia(phi) * w * w + spring(phi);
        let slowness = |at: f64| (inertia(at) / (energy - spring(at))).sqrt();
        let time_to = |at: f64| {
            let (n, h) = (4000, (at - phi) / 4000.0);
            let inner =
                (1..n).map(|i| f64::from(2 + 2 * (i % 2)) * slowness(phi + h * f64::from(i)));
            h / 3.0 * (slowness(phi) + inner.sum::<f64>() + slowness(at))
        };
        let text = format!(
            "model Crank parameter Real r = {r}, m = {m}, J = {j}, k = {k};
             Real phi(start = {phi}, fixed = true), beta(start = {phi}), x(start = {r}), z[2];
             initial equation der(phi) = {w};
             equation lagrange(J/2*der(phi)^2 + m/2*der(x)^2, k/2*x^2, {{phi, beta, x}},
               {{r*cos(phi) + r*cos(beta) - x, r*sin(phi) - r*sin(beta)}}, z);
             end Crank;"
        );
        let end = 2.0;
        let wanted: Vec<f64> = (0..20)
            .map(|n| time_to((f64::from(n) + 0.5) * PI))
            .filter(|time| *time < end)
            .collect();
        let (times, last) = passed(&text, end, ["1e-6", "1e-8"][case % 2]);
        agree(&times, &wanted, &text);
        let angle = last["phi"].as_f64().expect("a value");
        assert!((time_to(angle) - end).abs() < 1e-6, "{angle}\n{text}");
    }
}
