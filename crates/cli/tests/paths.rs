//! Prescribed paths with a switching time: runs, derivatives and gradients of what holds their high derivatives, against closed forms
//! and forward derivatives.

use crate::common::{Random, daelight_with_input, json_of, number, stderr};
use serde_json::Value;

/// A path from 0 to 1 in the time T by its coefficients: t^5 and more, or t^3 and more.
fn path(case: usize) -> Vec<f64> {
    match case % 2 {
        0 => vec![0.0, 0.0, 0.0, 10.0, -15.0, 6.0],
        _ => vec![0.0, 0.0, 0.0, 0.0, 0.0, 126.0, -420.0, 540.0, -315.0, 70.0],
    }
}

fn written(path: &[f64]) -> String {
    let terms = path.iter().enumerate().filter(|(_, x)| **x != 0.0);
    let terms: Vec<String> = terms
        .map(|(power, x)| format!("({x})*(time/T)^{power}"))
        .collect();
    format!("p = if time < T then {} else 1", terms.join(" + "))
}

fn slope(path: &[f64]) -> Vec<f64> {
    let terms = path.iter().enumerate().skip(1);
    terms.map(|(power, x)| power as f64 * x).collect()
}

fn value(path: &[f64], t: f64) -> f64 {
    path.iter().rev().fold(0.0, |sum, x| sum * t + x)
}

/// The integral of the square of a polynomial from 0 to 1.
fn square(path: &[f64]) -> f64 {
    let mut sum = 0.0;
    for (i, a) in path.iter().enumerate() {
        for (j, b) in path.iter().enumerate() {
            sum += a * b / (i + j + 1) as f64;
        }
    }
    sum
}

fn solved(text: &str, arguments: &[&str]) -> Value {
    let (code, found) = json_of(text, &[&["solve", "-"], arguments].concat());
    assert_eq!(code, 0, "{found}\n{text}");
    found
}

/// x = a p, and f its derivative of order 1 to 3: the integral of f^2 is a^2 T^(1 - 2 order) times that of the path.
#[test]
fn gradients_over_a_switching_time_are_those_of_closed_forms() {
    let mut random = Random(71);
    for case in 0..12 {
        let order = 1 + case / 2 % 3;
        let path = path(case);
        let (a, t) = (random.between(0.5, 3.0), random.between(0.4, 1.6));
        let names = ["x", "v", "f", "j"];
        let rows: Vec<String> = (1..=order)
            .map(|k| format!("{} = der({});", names[k], names[k - 1]))
            .collect();
        let highest = names[order];
        let text = |integral: &str| {
            let further = match integral {
                "" => "",
                _ => ", E(start = 0, fixed = true)",
            };
            format!(
                "model P parameter Real a = {a}, T = {t}; Real {}, p{further}; equation {}; x = a*p; {} {integral} end P;",
                names[..=order].join(", "),
                written(&path),
                rows.join(" ")
            )
        };
        let derivative = (0..order).fold(path.clone(), |path, _| slope(&path));
        let truth = a * a * t.powi(1 - 2 * order as i32) * square(&derivative);
        let by = [2.0 * truth / a, (1.0 - 2.0 * order as f64) * truth / t];
        let loss = format!("integral({highest}^2)");
        let arguments = ["--to", "2", "--gradient", &loss, "--by", "a,T"];
        let found = solved(&text(""), &arguments);
        let forward = text(&format!("der(E) = {highest}^2;"));
        let carried = solved(&forward, &["--to", "2", "--sensitivity", "a,T"]);
        assert_eq!(carried["sensitivities"]["until"], 2.0, "{carried}");
        for (k, name) in ["a", "T"].into_iter().enumerate() {
            let both = [
                &found["gradient"][name],
                &carried["sensitivities"]["final"]["E"][k],
            ];
            for one in both.map(number) {
                let is_close = (one - by[k]).abs() <= 1e-7 * truth;
                assert!(is_close, "by {name}: {one} for {}\n{}", by[k], text(""));
            }
        }
    }
}

/// A family of models with switches, of index 2 to 4: what stands before the equations, these, the loss, and by what.
fn member(case: usize, random: &mut Random) -> (String, String, &'static str, &'static str) {
    let mut some = |least: f64, most: f64| random.between(least, most);
    let path = written(&path(case / 4));
    match case % 4 {
        0 => (
            format!(
                "parameter Real a = {}, T = {}; Real r(start = 1.2), q(start = -0.5), w, f, p;",
                some(0.5, 3.0),
                some(0.5, 1.4)
            ),
            format!("{path}; r*cos(q) = a; r*sin(q) = -1 + 2*p; w = der(q); f = der(w);"),
            "f^2",
            "a,T",
        ),
        1 => (
            format!(
                "parameter Real a = {}, T = {}, k = {}, d = {}; Real x, v, f, p, z(start = 0.1, fixed = true), tau;",
                some(0.5, 3.0),
                some(0.5, 1.4),
                some(1.0, 20.0),
                some(0.2, 2.0)
            ),
            format!(
                "{path}; x = a*p; v = der(x); d*der(z) = -k*z + v; f = der(v); tau = f + k*z^2;"
            ),
            "tau^2",
            "a,T,k,d,z",
        ),
        2 => (
            format!(
                "parameter Real a = {}, w = {}, c = {}; Real x, v, f, tau;",
                some(0.5, 3.0),
                some(2.0, 5.0),
                some(0.1, 2.0)
            ),
            "x = a*sin(w*time + 0.3); v = der(x); f = der(v); tau = f + c*sign(v) + v*abs(v);"
                .to_string(),
            "tau^2",
            "a,w,c",
        ),
        _ => (
            format!(
                "parameter Real J1 = {}, J2 = {}, k = {}, d = {}, T = {}; Real phi1, phi2, tau, p;",
                some(0.05, 0.5),
                some(1.0, 4.0),
                some(50.0, 600.0),
                some(0.5, 3.0),
                some(0.7, 1.4)
            ),
            format!(
                "J1*der(der(phi1)) = tau - k*(phi1 - phi2) - d*(der(phi1) - der(phi2)); J2*der(der(phi2)) = k*(phi1 - phi2) + d*(der(phi1) - der(phi2)); phi2 = 3*p; {};",
                written(&self::path(1))
            ),
            "tau^2",
            "J1,J2,k,d,T",
        ),
    }
}

#[test]
fn gradients_of_models_with_switches_are_the_forward_derivatives() {
    let mut random = Random(72);
    for case in 0..8 {
        let (head, equations, loss, by) = member(case, &mut random);
        let text = format!("model M {head} equation {equations} end M;");
        let integral = format!("integral({loss})");
        let arguments = ["--to", "1.8", "--gradient", &integral, "--by", by];
        let found = solved(&text, &arguments);
        assert_eq!(
            found["warnings"].as_array().map(Vec::len),
            Some(0),
            "{found}"
        );
        let text = format!(
            "model M {head} Real E(start = 0, fixed = true); equation {equations} der(E) = {loss}; end M;"
        );
        let forward = solved(&text, &["--to", "1.8", "--sensitivity", by]);
        assert_eq!(forward["sensitivities"]["until"], 1.8, "{forward}");
        let row = &forward["sensitivities"]["final"]["E"];
        let found = found["gradient"].as_object().expect("a table");
        let largest = (row.as_array().expect("a row").iter())
            .map(|x| number(x).abs())
            .fold(0.0, f64::max);
        for (k, (name, one)) in found.iter().enumerate() {
            let (one, truth) = (number(one), number(&row[k]));
            let is_close = (one - truth).abs() <= 1e-6 * truth.abs().max(1e-3 * largest);
            assert!(is_close, "by {name}: {one} for {truth}\n{text}");
        }
    }
}

/// The load of an elastic drive follows a path of degree nine: d w' + k w = J2 phi2'' for the twist w = phi1 - phi2, whose solution is a polynomial
/// and exp(-k t/d).
#[test]
fn drives_follow_their_paths_at_fine_tolerances() {
    let mut random = Random(73);
    for case in 0..8 {
        let (j1, j2) = (random.between(0.05, 0.5), random.between(1.0, 4.0));
        let (k, d) = (random.between(100.0, 800.0), random.between(0.5, 2.0));
        let path = path(1);
        let text = format!(
            "model Drive parameter Real J1 = {j1}, J2 = {j2}, k = {k}, d = {d}, T = 1; Real phi1, phi2, tau, p;
             equation J1*der(der(phi1)) = tau - k*(phi1 - phi2) - d*(der(phi1) - der(phi2)); J2*der(der(phi2)) = k*(phi1 - phi2) + d*(der(phi1) - der(phi2));
             phi2 = 3*p; {}; end Drive;",
            written(&path)
        );
        let rtol = ["1e-10", "1e-11"][case % 2];
        let found = solved(
            &text,
            &["--to", "1.5", "--rtol", rtol, "--save-at", "0.5,0.97,1.5"],
        );
        assert_eq!(found["time"], 1.5, "{found}");
        let phi: Vec<f64> = path.iter().map(|x| 3.0 * x).collect();
        let mut force = slope(&slope(&phi));
        force.iter_mut().for_each(|x| *x *= j2);
        let mut twist = vec![0.0; force.len()];
        let mut factor = 1.0 / k;
        while !force.is_empty() {
            (twist.iter_mut().zip(&force)).for_each(|(sum, x)| *sum += factor * x);
            force = slope(&force);
            factor *= -d / k;
        }
        for (at, time) in [0.5_f64, 0.97].into_iter().enumerate() {
            let truth = value(&phi, time) + value(&twist, time) - twist[0] * (-k / d * time).exp();
            let one = number(&found["samples"]["phi1"][at]);
            assert!(
                (one - truth).abs() <= 1e-10,
                "t = {time}: {one} for {truth}\n{text}"
            );
        }
    }
}

#[test]
fn a_number_that_cannot_be_read_is_shown_by_its_option() {
    let text = "model D Real x(start = 1, fixed = true); equation der(x) = -x; end D;";
    let output = daelight_with_input(
        &["solve", "-", "--gradient", "integral(x^2"],
        text.as_bytes(),
    );
    let said = stderr(&output);
    assert!(
        said.contains("--gradient:1:12") && !said.contains("--stop-when"),
        "{said}"
    );
    assert_eq!(output.status.code(), Some(2));
}
