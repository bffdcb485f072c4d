//! Andrews' squeezing mechanism against the reference values of its model.

use crate::common::{library, model};
use daelight_algebra::Polynomial;
use daelight_singular::{Kept, Question, SearchLimits, SingularAnswer, SingularVerdict, answer};
use serde_json::Value;
use std::time::{Duration, Instant};

fn solve(set: &[&str]) -> SingularAnswer {
    let model = model(&library("andrews-constraints"), set);
    answer(&model, &Question::default(), &SearchLimits::default())
        .expect("the constraints are algebraic")
}

/// The entries `singular` of the model's expected answers: reference computation, angles to 1e-15.
fn reference() -> Vec<Value> {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../models/andrews-constraints/expected.json"
    );
    let text = std::fs::read_to_string(path).expect("the file exists");
    let all: Value = serde_json::from_str(&text).expect("JSON");
    all["singular"].as_array().expect("a list").clone()
}

/// The largest difference of angles, full turns apart.
fn distance(found: &[f64], point: &Value) -> f64 {
    let turn = 2.0 * std::f64::consts::PI;
    let difference = |(at, angle): (usize, &f64)| {
        let wanted = point[format!("y[{}]", at + 1)].as_f64().expect("an angle");
        let difference = angle - wanted;
        (difference - turn * (difference / turn).round()).abs()
    };
    found.iter().enumerate().map(difference).fold(0.0, f64::max)
}

fn check(set: &[&str], expected: &Value) {
    let found = solve(set);
    assert_eq!(
        found.verdict,
        SingularVerdict::Proved,
        "{set:?}: {:?}",
        found.reasons
    );
    let n_points = expected["real_points"].as_u64().expect("a number") as usize;
    assert_eq!(found.configurations.len(), n_points, "{set:?}");
    assert_eq!(found.is_empty(), Some(n_points == 0));
    let mechanism = &found.mechanism;
    let angles: Vec<Vec<f64>> = found
        .configurations
        .iter()
        .map(|c| c.values.angles(mechanism))
        .collect();
    for point in expected["points"].as_array().into_iter().flatten() {
        let nearest = angles.iter().map(|a| distance(a, point));
        let nearest = nearest.fold(f64::INFINITY, f64::min);
        assert!(nearest < 1e-12, "{set:?}: {point} missed by {nearest}");
    }
    let corank = expected["corank"].as_u64().unwrap_or(1) as usize;
    for configuration in &found.configurations {
        assert!(configuration.values.residual(&mechanism.polynomials()) < 1e-15);
        assert_eq!(configuration.corank, Some(corank), "{set:?}");
        // Simple points have a box of their own.
        let is_isolated = configuration.unique_within.is_some_and(|w| w > 1e-6);
        assert_eq!(
            is_isolated,
            configuration.point.multiplicity() == 1,
            "{set:?}"
        );
    }
}

#[test]
fn configurations_at_given_values() {
    let reference = reference();
    check(&[], &reference[0]);
    check(&["a[1]=0.03", "a[2]=0.055"], &reference[1]);
    // The number of the reference is rounded; the expression is exact, and only with it there are singular points.
    check(
        &["a[1]=0.02", "a[2]=0.055", "b[1]=-0.06934+0.03*sqrt(2)"],
        &reference[2],
    );
    let none = solve(&["a[1]=0.02", "a[2]=0.055", "b[1]=-0.026913593"]);
    assert_eq!(
        (none.is_empty(), none.verdict),
        (Some(true), SingularVerdict::Proved)
    );
}

/// With four equal rods both legs fold and turn freely: sets of configurations, each with certified points in it.
#[test]
fn folded_legs_leave_sets_of_configurations() {
    let found = solve(&[
        "a={1/10, 1/2, 1/2, 3/20, 3/20, 3/20, 3/20}",
        "b={-1/10, 1/5}",
        "w={-2/5, -1/5}",
    ]);
    assert_eq!(found.is_empty(), Some(false));
    let mut dimensions: Vec<usize> = found.sets.iter().map(|set| set.dimension).collect();
    dimensions.sort();
    assert_eq!(dimensions, [1, 1, 1, 1, 2]);
    let equations = found.mechanism.polynomials();
    for set in &found.sets {
        assert_eq!(set.real_dimension, Some(set.dimension));
        assert_eq!(set.samples.len(), 4);
        for sample in &set.samples {
            assert!(sample.values.residual(&equations) < 1e-15);
            assert!(sample.corank.is_some_and(|corank| corank >= 1));
        }
    }
    assert_eq!(
        found.verdict,
        SingularVerdict::Proved,
        "{:?}",
        found.reasons
    );
}

/// Theorems 1 and 3 of Arponen, Piipponen and Tuomela (2006) and section 4.6: the factors t_i and z_i, and those of the
/// other loops, each with its subsystem.
#[test]
fn the_locus_over_all_parameters() {
    let start = Instant::now();
    let model = model(&library("andrews-constraints"), &[]);
    let question = Question {
        parameters: Kept::All,
        ..Question::default()
    };
    let found = answer(&model, &question, &SearchLimits::default()).expect("algebraic");
    assert!(start.elapsed() < Duration::from_secs(5));
    assert_eq!(
        found.verdict,
        SingularVerdict::Proved,
        "{:?}",
        found.reasons
    );
    assert_eq!(
        (found.cases.list.len(), found.cases.kept().count()),
        (11, 6)
    );
    let locus = found.locus.as_ref().expect("parameters are symbols");
    let variable = |name: &str| {
        let all = found.ring.variables().iter();
        let at = all
            .clone()
            .position(|v| v.name == name)
            .expect("a parameter");
        Polynomial::variable(at)
    };
    let has = |p: &Polynomial, bodies: &[&str]| {
        let p = p.primitive_over_integers();
        let factor = locus.factors.iter().find(|f| f.polynomial == p);
        let factor = factor.unwrap_or_else(|| panic!("{} is missing", found.text(&p)));
        assert!(factor.is_irreducible);
        let belongs = factor.cases.iter().any(|&case| {
            let mut carrying = found.words[case].carrying.clone();
            carrying.sort();
            carrying == bodies
        });
        assert!(belongs, "{}: no case with {bodies:?}", found.text(&p));
        factor.is_physical
    };
    // (± a_i ± …)^2 - |v|^2, or the sum itself where no pivots are between.
    let check = |lengths: &[usize], pivots: Option<[Polynomial; 2]>, bodies: &[&str]| {
        let mut n_physical = 0;
        for signs in 0..1usize << (lengths.len() - 1) {
            let mut sum = Polynomial::zero();
            for (at, length) in lengths.iter().enumerate() {
                let length = variable(&format!("a[{length}]"));
                sum = if signs << 1 >> at & 1 == 1 {
                    &sum - &length
                } else {
                    &sum + &length
                };
            }
            let p = match &pivots {
                None => sum,
                Some([x, y]) => &(&sum * &sum) - &(&(x * x) + &(y * y)),
            };
            n_physical += usize::from(has(&p, bodies));
        }
        n_physical
    };
    let [b1, b2, w1, w2] = ["b[1]", "b[2]", "w[1]", "w[2]"].map(variable);
    let between = [&b1 - &w1, &b2 - &w2];
    let [y1, y2, y3, y4, y5, y6, y7] = [
        "y[1]",
        "y[1] + y[2]",
        "y[3]",
        "y[4] + y[5]",
        "y[5]",
        "y[6] + y[7]",
        "y[7]",
    ];
    assert_eq!(check(&[4, 5, 6, 7], None, &[y4, y5, y6, y7]), 7);
    assert_eq!(check(&[3, 6, 7], Some(between.clone()), &[y3, y6, y7]), 4);
    assert_eq!(check(&[3, 4, 5], Some(between), &[y3, y4, y5]), 4);
    assert_eq!(check(&[1, 2, 3], Some([b1, b2]), &[y1, y2, y3]), 4);
    let w = [w1, w2];
    assert_eq!(check(&[1, 2, 4, 5], Some(w.clone()), &[y1, y2, y4, y5]), 8);
    assert_eq!(check(&[1, 2, 6, 7], Some(w), &[y1, y2, y6, y7]), 8);
}
