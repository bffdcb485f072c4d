//! The strangeness-free form of random DAEs of index 2 and 3, analysed again: its index is 1 or 0, or it is refused.

use crate::common;
use crate::common::{Random, system};
use daelight_analysis::index_reduction::{Form, Groundwork, ReduceBy};
use daelight_analysis::initial::Request;
use daelight_analysis::passport::Passport;
use std::fmt::Write;

const NUMBERS: [&str; 6] = ["1", "2", "3", "-1", "-2", "0.5"];
const FORCING: [&str; 4] = ["sin(time)", "cos(time)", "exp(-time)", "1"];
const OF_TIME: [&str; 7] = [
    "sin(time)",
    "cos(time)",
    "time",
    "exp(-time)",
    "1",
    "(2 + time)",
    "(1 + time^2)",
];
const OF_STATE: [&str; 4] = ["#^2/4", "sin(#)", "#", "#^3/9"];

/// A chain z_1 = f_1, z_1' - z_2 = f_2, ... beside differential equations, in unknowns x with z triangular in them, and with
/// equations added to each other; linear with factors of time, or nonlinear.
fn mixed_chain(random: &mut Random) -> String {
    let is_linear = random.one_in(2);
    let index = 2 + random.below(2);
    let n = index + random.below(5 - index);
    let mut z = Vec::new();
    for k in 0..n {
        let mut sum = format!("x{k}");
        let others = if random.one_in(2) { k + 1..n } else { 0..k };
        for j in others.filter(|_| random.one_in(2)).collect::<Vec<_>>() {
            let part = if is_linear {
                format!("{}*x{j}", random.pick(&OF_TIME))
            } else {
                random.pick(&OF_STATE).replace('#', &format!("x{j}"))
            };
            let _ = write!(sum, " + ({})*{part}", random.pick(&NUMBERS));
        }
        z.push(format!("({sum})"));
    }
    let mut equations = Vec::new();
    for k in 0..n {
        let left = match k {
            0 => z[0].clone(),
            k if k < index => format!("der({}) - {}", z[k - 1], z[k]),
            k => {
                let other = &z[random.below(n)];
                format!("der({}) + ({})*{other}", z[k], random.pick(&NUMBERS))
            }
        };
        let right = format!("({})*{}", random.pick(&NUMBERS), random.pick(&FORCING));
        equations.push(format!("({left} - {right})"));
    }
    let mut rows = Vec::new();
    for k in 0..n {
        let mut row = equations[k].clone();
        for other in &equations[k + 1..] {
            if random.below(10) < 3 {
                let factor = match (is_linear, random.below(3)) {
                    (true, _) => random.pick(&OF_TIME).to_string(),
                    (false, 0) => "x0".to_string(),
                    (false, 1) => format!("cos(x{})", n - 1),
                    _ => "1".to_string(),
                };
                let _ = write!(row, " + ({})*{factor}*{other}", random.pick(&NUMBERS));
            }
        }
        rows.insert(random.below(rows.len() + 1), format!("  {row} = 0;\n"));
    }
    let names: Vec<String> = (0..n).map(|k| format!("x{k}")).collect();
    let (names, rows) = (names.join(", "), rows.concat());
    format!("model Mixed\n  Real {names};\nequation\n{rows}end Mixed;\n")
}

/// The index of what a reduction wrote, when it wrote something.
fn index_of_reduced(text: &str) -> Option<Option<usize>> {
    let system = system(text);
    let groundwork = Groundwork::new(&system, &Request::of_model(&system, 0.0, 0)).ok()?;
    let reduced = groundwork
        .reduce(ReduceBy::Strangeness, Form::Implicit)
        .ok()?;
    let written = reduced.text().ok()?;
    let again = common::system(&written);
    let passport = Passport::new(&again, &Request::of_model(&again, 0.0, 0));
    Some(
        passport
            .indices()
            .and_then(|indices| indices.differentiation_index),
    )
}

#[test]
fn the_index_is_at_most_one() {
    let mut random = Random(20_261_116);
    let (mut n_written, n_models) = (0, 150);
    let mut wrong = Vec::new();
    for _ in 0..n_models {
        let text = mixed_chain(&mut random);
        if let Some(index) = index_of_reduced(&text) {
            n_written += 1;
            if !matches!(index, Some(0 | 1)) {
                wrong.push(format!("{index:?} of\n{text}"));
            }
        }
    }
    eprintln!("{n_written} of {n_models} written");
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(2 * n_written > n_models);
}

/// The factor of der(x1) in the first equation vanishes at the start, and the rate of x1 is found only with the constraints:
/// what was known before of der(x2) holds it.
#[test]
fn rates_that_vanish_at_the_point_are_replaced() {
    let text = "model Rates
      Real x1, x2, x3;
    equation
      der(x2 + 0.5*sin(time)*x1) - x3 = 0.5*sin(time);
      der(x1 - x2) - (x2 + 0.5*sin(time)*x1) = cos(time);
      x1 - x2 = 0.5*cos(time);
    end Rates;";
    assert!(matches!(index_of_reduced(text), None | Some(Some(1))));
}

/// One equation holds der(x3) with a factor that is zero at the start; another has it with the factor 1.
#[test]
fn rows_that_vanish_at_the_point_are_not_chosen() {
    let text = "model Rows
      Real x1, x2, x3;
    equation
      der(x1 + x2^2/4) - (x2 + 0.5*x3^2/4) = -2;
      der(x3) - (x2 + 0.5*x3^2/4) = 2*exp(-time);
      x1 + x2^2/4 + 2*sin(time) + x1*(der(x1 + x2^2/4) - (x2 + 0.5*x3^2/4) + 2)
        - cos(x3)*(der(x3) - (x2 + 0.5*x3^2/4) - 2*exp(-time)) = 0;
    end Rows;";
    assert!(matches!(index_of_reduced(text), None | Some(Some(1))));
}
