//! How many singular configurations there are, and lists of cases that are cut short.

use crate::common::{library, mechanism, model};
use daelight_singular::{
    Case, ExactCases, FlatBudget, Kept, Number, Question, SearchLimits, answer, exact_cases, number,
};
use std::time::Duration;

fn locking(locked: &[&str]) -> Question {
    Question {
        locked: locked.iter().map(|s| s.to_string()).collect(),
        ..Question::default()
    }
}

/// Two cranks with motors, and rods that meet: dead centres are where the rods are on one line, a curve of them, if the
/// cranks take their ends to that distance.
const FIVE_BAR: &str = "model FiveBar
    parameter Real crank = 1, rod = 2, width = 1;
    Real q[2], p[2], x, y;
  equation
    crank*cos(q[1]) + rod*cos(p[1]) = x;  crank*sin(q[1]) + rod*sin(p[1]) = y;
    width + crank*cos(q[2]) + rod*cos(p[2]) = x;  crank*sin(q[2]) + rod*sin(p[2]) = y;
  end FiveBar;";

#[test]
fn finitely_or_infinitely_many() {
    let (infinite, finite) = (|dimension| Number::Infinite { dimension }, Number::Finite);
    let motors = ["q[1]", "q[2]", "q[3]"];
    for (text, set, locked, expected) in [
        // The lines of the three rods meet in a point: one condition on three motors.
        (library("three-rrr"), &[][..], &motors[..], infinite(2)),
        (
            library("three-rrr"),
            &["a[1]=sqrt(0.05)"],
            &motors,
            infinite(2),
        ),
        (library("three-rrr"), &[], &[], finite(0)),
        // Legs 1 and 2 on the line of their pivots: 0.17 + 0.25 + 0.16 + 0.25 - 0.23 = 0.6; leg 3 reaches in two ways.
        (
            library("three-rrr"),
            &["a[1]=0.17", "a[2]=0.23"],
            &[],
            finite(2),
        ),
        (FIVE_BAR.to_string(), &[], &motors[..2], infinite(1)),
        // On one line all four span an even length, and the pivots are 1 apart.
        (FIVE_BAR.to_string(), &["rod=10"], &[], finite(0)),
        (
            library("four-bar"),
            &["l[1]=0.4", "l[4]=0.4"],
            &["q[1]"],
            finite(4),
        ),
        // Nothing moves: all configurations are singular.
        (library("four-bar"), &[], &motors, infinite(1)),
    ] {
        let found = number(
            &model(&text, set),
            &locking(locked),
            &SearchLimits::default(),
        );
        assert_eq!(found.expect("algebraic"), expected, "{set:?} {locked:?}");
    }
}

/// Where bases take too long, the manifold is told, and what is not decided.
#[test]
fn a_manifold_beside_what_is_not_decided() {
    let text = model(&library("three-rrr"), &[]);
    let question = locking(&["q[1]", "q[2]", "q[3]"]);
    let limits = SearchLimits {
        time: Duration::from_millis(700),
        ..SearchLimits::default()
    };
    let found = answer(&text, &question, &limits).expect("algebraic");
    let manifold = found.manifold.as_ref().expect("a manifold");
    assert_eq!(manifold.dimension, 2);
    assert!(manifold.values.residual(&found.mechanism.polynomials()) < 1e-13);
    assert_eq!(found.is_empty(), Some(false));
    assert!(found.time_budget_reached && !found.reasons.is_empty());
    // The lines of the three rods meet, or are parallel.
    let [q1, q2, q3, p1, p2, p3, phi] = manifold.values.angles(&found.mechanism)[..] else {
        panic!("seven angles");
    };
    let pivots = [(0.0, 0.0), (0.6, 0.0), (0.3, 0.5)];
    let lines: Vec<[f64; 3]> = (pivots.iter().zip([(q1, p1), (q2, p2), (q3, p3)]))
        .map(|(&(x, y), (q, p))| {
            let (x, y) = (x + 0.2 * q.cos(), y + 0.2 * q.sin());
            [p.cos(), p.sin(), x * p.sin() - y * p.cos()]
        })
        .collect();
    let minor = |i: usize, j: usize| lines[i][0] * lines[j][1] - lines[i][1] * lines[j][0];
    let determinant =
        lines[0][2] * minor(1, 2) - lines[1][2] * minor(0, 2) + lines[2][2] * minor(0, 1);
    assert!(
        determinant.abs() < 1e-12 && phi.is_finite(),
        "{determinant}"
    );
}

fn listed(budget_ends_after: usize, spent: f64, flats: usize) -> ExactCases {
    let mechanism = mechanism(&library("andrews-constraints"), &Question::default());
    let asked = std::cell::Cell::new(0);
    let spent = || {
        asked.set(asked.get() + 1);
        if asked.get() > budget_ends_after {
            spent
        } else {
            0.0
        }
    };
    let budget = FlatBudget {
        flats,
        spent: &spent,
    };
    exact_cases(&mechanism, budget)
}

/// Flats that were found before the time for them ended are cases, those of few columns all of them.
#[test]
fn a_list_that_was_cut_short_is_told_as_such() {
    let all = listed(usize::MAX, 0.0, 1000);
    assert!(all.is_complete());
    let columns = |case: &Case<_>| case.flat.closed.clone();
    let known: Vec<Vec<usize>> = all.list.iter().map(columns).collect();
    for ends_after in [1, 5, 9, 20] {
        let part = listed(ends_after, 0.5, 1000);
        let missing = part.missing.expect("something is missing");
        assert_eq!((missing.n_flats, missing.all_up_to.is_some()), (0, true));
        assert!(!part.list.is_empty() && part.list.len() <= known.len());
        assert!(part.list.iter().all(|case| known.contains(&columns(case))));
        let told = missing.to_string();
        assert!(
            told.starts_with("the list of cases is not complete; cases in which"),
            "{told}"
        );
    }
    // The number of flats is a limit, too, and so is the time for cases.
    let few = listed(usize::MAX, 0.0, 3);
    assert_eq!(
        (few.list.len(), few.missing.map(|m| m.n_flats)),
        (3, Some(0))
    );
    let none = listed(9, 1.0, 1000);
    let n_flats = none.missing.map_or(0, |missing| missing.n_flats);
    assert!(none.list.is_empty() && n_flats > 0);
}

/// Links of 0.2, 0.6 and 0.4 reach 1.2 at most, and close at 0.7.
#[test]
fn whether_there_are_solutions_at_all() {
    let text = "model Wiper  parameter Real a = 0.2, b = 0.6, c = 0.4, d = 0.7;  Real p, q, r;
        equation  a*cos(p) + b*cos(q) = d + c*cos(r);  a*sin(p) + b*sin(q) = c*sin(r);  end Wiper;";
    let ask = |text: &str, set: &[&str], question: &Question| {
        answer(&model(text, set), question, &SearchLimits::default()).expect("an answer")
    };
    for locked in [&["p"][..], &[]] {
        let found = ask(text, &[], &locking(locked));
        assert_eq!(
            (found.is_empty(), found.has_solutions),
            (Some(true), Some(true))
        );
        let found = ask(text, &["d=5"], &locking(locked));
        assert_eq!(
            (found.is_empty(), found.has_solutions),
            (Some(true), Some(false))
        );
    }
    // Positions instead of directions: two circles that do not meet.
    let circles = "model Circles  parameter Real d = 3;  Real x, y;
        equation  x^2 + y^2 = 1;  (x - d)^2 + y^2 = 1;  end Circles;";
    for (set, expected) in [("d=3", Some(false)), ("d=1.5", Some(true))] {
        let found = ask(circles, &[set], &Question::default());
        assert_eq!(found.has_solutions, expected, "{set}");
    }
    let question = Question {
        parameters: Kept::Named(vec!["d".to_string()]),
        ..locking(&["p"])
    };
    let found = ask(text, &[], &question);
    let regions = found.regions.expect("one parameter is a symbol").total;
    let told: Vec<(usize, Option<bool>, usize)> = (regions.iter())
        .map(|region| (region.count, region.has_solutions, region.n_cells))
        .collect();
    let expected = [(0, Some(false), 2), (0, Some(true), 2), (2, Some(true), 4)];
    assert_eq!(told, expected);
}

/// A path is never singular by itself; the arm that follows it is, where it is folded (at 0) or stretched (at 2 and -2).
#[test]
fn the_arm_that_follows_a_path_is_looked_at() {
    let text = "model Arm  Real a, b, x, y, vx, F;
        equation  x = cos(a) + cos(a + b);  y = sin(a) + sin(a + b);
          vx = der(x);  F = der(vx);  x = 1.5 - time;  y = 0;  end Arm;";
    let found = answer(
        &model(text, &[]),
        &Question::default(),
        &SearchLimits::default(),
    );
    let found = found.expect("an answer");
    assert_eq!(found.is_empty(), None);
    assert_eq!(found.mechanism.n_constraints(), 4);
    assert_eq!(found.words[0].conditions, ["sin(b) = 0"]);
    assert_eq!(found.locus.expect("time is a symbol").factors.len(), 3);
}
