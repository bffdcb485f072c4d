//! `analyze` and `solve` never contradict each other: random DAEs of mixed orders, and models that once did.

use daelight::{NoRun, Place, SolveOptions, analyze, solve, system};
use daelight_analysis::System;
use daelight_analysis::passport::PointVerdict;
use daelight_lang::{Options, load};
use std::time::Duration;

fn read(text: &str) -> System {
    let loaded = load("model.mo", text.as_bytes(), &Options::default());
    let model = loaded.model.unwrap_or_else(|| panic!("{text}"));
    system(&model).expect("a system")
}

/// Numbers that are the same on every machine (xorshift64*).
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % n
    }
}

/// A sparse DAE: two or three terms to an equation, orders 0 to 2, random factors, some cubes.
fn random_text(random: &mut Random, n: usize) -> String {
    let mut equations = String::new();
    for own in 0..n {
        let mut terms = Vec::new();
        for term in 0..2 + random.below(2) {
            let unknown = if term == 0 { own } else { random.below(n) };
            let factor = ["", "2*", "3*", "-", "0.5*", "1.5*"][random.below(6)];
            let name = match random.below(6) {
                0..3 => format!("x{unknown}"),
                3 | 4 => format!("der(x{unknown})"),
                _ => format!("der(der(x{unknown}))"),
            };
            terms.push(format!("{factor}{name}"));
            if random.below(4) == 0 {
                terms.push(format!("x{unknown}^3"));
            }
        }
        let known = ["sin(time)", "cos(time)", "1", "time"][random.below(4)];
        equations += &format!("{} = {known};\n", terms.join(" + "));
    }
    let names: Vec<String> = (0..n).map(|j| format!("x{j}(start = 0.1)")).collect();
    format!(
        "model M\n  Real {};\nequation\n{}end M;",
        names.join(", "),
        equations.replace("+ -", "- ")
    )
}

/// What the two commands say of one model, if it cannot both be true.
fn contradiction(text: &str) -> Option<String> {
    let system = read(text);
    let place = Place {
        budget: Some(Duration::from_secs(5)),
        ..Place::default()
    };
    let passport = analyze(&system, &place).expect("a passport");
    let options = SolveOptions {
        to: Some(0.05),
        budget: Some(Duration::from_secs(5)),
        place,
        ..SolveOptions::default()
    };
    let run = solve(&system, &options);
    match (&passport.verdict, &run) {
        (PointVerdict::Regular, Err(NoRun::Equations(because))) => {
            Some(format!("analyze: regular; solve: {because}"))
        }
        (PointVerdict::Regular, Err(NoRun::SingularStart(_))) => {
            Some("analyze: regular; solve: a singular start".to_string())
        }
        (PointVerdict::Regular, Err(NoRun::NotSquare)) => {
            Some("analyze: regular; solve: no structure".to_string())
        }
        _ => None,
    }
}

#[test]
fn four_hundred_random_models_are_regular_for_both_or_for_neither() {
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let (mut n_contradictions, mut examples) = (0, String::new());
    for case in 0..400 {
        let text = random_text(&mut random, 3 + case % 4);
        if let Some(found) = contradiction(&text) {
            n_contradictions += 1;
            examples += &format!("{found}\n{text}\n");
        }
    }
    assert_eq!(n_contradictions, 0, "{examples}");
}

/// The last values of a run.
fn end(text: &str) -> Vec<f64> {
    let system = read(text);
    let solution = match solve(&system, &SolveOptions::default()) {
        Ok(solution) => solution,
        Err(NoRun::Equations(because)) => panic!("{because}"),
        Err(_) => panic!("no run"),
    };
    let values = solution.reader(&system).values(solution.reached());
    let values = values.expect("the end has values");
    values.expect("the end is part of the run")
}

const CRANE: &str = "model Crane
  parameter Real mt = 20, ml = 100, J = 0.1, rd = 0.1, g = 9.81;
  Real s(start = 0), l(start = 4), x(start = 0), z(start = -4), vx, vz, F, S, M, tau, path;
equation
  tau = time/6;
  path = 70*tau^9 - 315*tau^8 + 540*tau^7 - 420*tau^6 + 126*tau^5;
  der(x) = vx;  der(z) = vz;
  ml*der(vx) = -S*(x - s)/l;  ml*der(vz) = -S*z/l - ml*g;
  mt*der(der(s)) = F + S*(x - s)/l;
  J/rd^2*der(der(l)) = M/rd + S;
  (x - s)^2 + z^2 = l^2;
  x = 5*path;  z = -4 + 3*path;
  annotation(experiment(StopTime = 4));
end Crane;";

#[test]
fn the_crane_solves_with_parameters_as_with_numbers() {
    let literal = CRANE
        .replace("rd = 0.1, ", "")
        .replace("rd^2", "0.1^2")
        .replace("M/rd", "M/0.1");
    assert_eq!(contradiction(CRANE), None);
    assert_eq!(contradiction(&literal), None);
    let (a, b) = (end(CRANE), end(&literal));
    for (a, b) in a.iter().zip(&b) {
        assert!((a - b).abs() <= 1e-12 * a.abs().max(1.0), "{a} and {b}");
    }
}

#[test]
fn the_three_line_model_solves() {
    let text = "model Three  Real a, b, c;  equation  a + a^3 + b = sin(time);
        a + a^3 - 2*b - b^3 + 2*c = cos(time);  a + der(b) + 3*der(c) = 1;  end Three;";
    assert_eq!(contradiction(text), None);
    let parametric = text
        .replace("Real a", "parameter Real k = 1; Real a")
        .replace("a + der(b)", "k*a + der(b)");
    for (a, b) in end(text).iter().zip(&end(&parametric)) {
        assert!((a - b).abs() <= 1e-11 * a.abs().max(1.0), "{a} and {b}");
    }
}

/// x^3 + x = sin(t): der(x) > -0.2 does not hold from t = 1.9 on.
#[test]
fn a_condition_reads_a_derivative_that_no_equation_holds() {
    let text = "model M Real x, y; equation x^3 + x = sin(time);
        y = if der(x) > -0.2 then 1 else 2; annotation(experiment(StopTime = 3)); end M;";
    let system = read(text);
    if let Ok(solution) = solve(&system, &SolveOptions::default()) {
        let reached = solution.reached();
        let values = solution.reader(&system).values(reached);
        let y = values.ok().flatten().expect("the end")[1];
        assert!(reached < 2.0 || y == 2.0, "y = {y} at t = {reached}");
    }
}
