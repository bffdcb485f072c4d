//! Cases in words, conditions on parameters, and what is refused.

use crate::common::{Random, library, mechanism, mechanisms, model, symbolic};
use daelight_algebra::integer::decimal;
use daelight_algebra::{Budget, Ideal};
use daelight_singular::{
    Conditioned, FlatBudget, Kept, Question, SearchLimits, SingularAnswer, SingularVerdict, answer,
    exact_cases,
};
use std::time::Duration;

fn ask(text: &str, parameters: Kept, locked: &[&str], seconds: u64) -> SingularAnswer {
    let question = Question {
        parameters,
        locked: locked.iter().map(|s| s.to_string()).collect(),
        ..Question::default()
    };
    let limits = SearchLimits {
        time: Duration::from_secs(seconds),
        ..SearchLimits::default()
    };
    answer(&model(text, &[]), &question, &limits).unwrap_or_else(|d| panic!("{d:?}"))
}

fn factors(answer: &SingularAnswer) -> Vec<String> {
    let locus = answer.locus.as_ref().expect("symbols are kept");
    let mut texts: Vec<String> = locus
        .factors
        .iter()
        .map(|f| answer.text(&f.polynomial))
        .collect();
    texts.sort();
    texts
}

/// The column of y of a parabolic cylinder is a constant where no force acts through the sphere: no case, which was told as `1 = 0`.
#[test]
fn sums_that_are_numbers_make_no_case() {
    let text = "model M  Real x, y, z;  equation  x^2 - 3*y = 0;  x^2 + y^2 + z^2 = 4;  end M;";
    let budget = FlatBudget {
        flats: 1000,
        spent: &|| 0.0,
    };
    let cases = exact_cases(&mechanism(text, &symbolic(&[])), budget);
    assert_eq!(cases.list.len(), 2);
    let found = ask(text, Kept::None, &[], 20);
    assert_eq!(found.verdict, SingularVerdict::Proved);
}

/// Flats and kept cases for general parameters.
#[test]
fn the_number_of_cases() {
    let expected = [
        ("2R arm", 1, 1),
        ("four-bar", 1, 1),
        ("slider-crank", 1, 1),
        ("Stephenson III", 5, 5),
        ("Watt II", 4, 3),
        ("3-RRR", 5, 5),
        ("3-RRR, driven", 5, 5),
        ("chain of four-bars", 12, 6),
        ("Andrews", 11, 6),
        ("Scotch yoke", 0, 0),
        ("delta robot", 7, 7),
    ];
    for (name, text, locked) in mechanisms() {
        let Some(&(_, flats, kept)) = expected.iter().find(|(known, ..)| *known == name) else {
            continue;
        };
        let budget = FlatBudget {
            flats: 1000,
            spent: &|| 0.0,
        };
        let cases = exact_cases(&mechanism(&text, &symbolic(&locked)), budget);
        assert!(cases.is_complete() && cases.is_proved, "{name}");
        assert_eq!(
            (cases.list.len(), cases.kept().count()),
            (flats, kept),
            "{name}"
        );
    }
}

#[test]
fn grashof_factors() {
    let found = ask(&library("four-bar"), Kept::All, &[], 10);
    assert_eq!(found.verdict, SingularVerdict::Proved);
    let mut expected = Vec::new();
    for signs in 0..8 {
        let mut text = "l[1]".to_string();
        for (at, name) in ["l[2]", "l[3]", "l[4]"].iter().enumerate() {
            let sign = if signs >> at & 1 == 1 { '-' } else { '+' };
            text.push_str(&format!(" {sign} {name}"));
        }
        expected.push(text);
    }
    expected.sort();
    assert_eq!(factors(&found), expected);
    let physical = found.locus.iter().flat_map(|l| &l.factors);
    assert_eq!(physical.filter(|f| f.is_physical).count(), 8);

    let found = ask(&library("slider-crank"), Kept::All, &[], 10);
    assert_eq!(
        factors(&found),
        [
            "l[1] + l[2] + e",
            "l[1] + l[2] - e",
            "l[1] - l[2] + e",
            "l[1] - l[2] - e"
        ]
    );
    assert_eq!(
        found.words[0].conditions,
        ["cos(q[1]) = 0", "cos(q[2]) = 0"]
    );
}

#[test]
fn some_parameters_kept_and_coordinates_locked() {
    let text = library("four-bar");
    let found = ask(&text, Kept::Named(vec!["l[1]".to_string()]), &[], 10);
    assert_eq!(
        factors(&found),
        [
            "20*l[1] + 21",
            "20*l[1] + 7",
            "20*l[1] + 9",
            "20*l[1] - 21",
            "20*l[1] - 7",
            "20*l[1] - 9",
            "4*l[1] + 1",
            "4*l[1] - 1"
        ]
    );
    // The motor at the crank does not hold the linkage where coupler and rocker are on one line.
    let found = ask(&text, Kept::None, &["q[1]"], 10);
    assert_eq!(found.words[0].conditions, ["sin(q[2] - q[3]) = 0"]);
    let locus_of_driven = ask(&text, Kept::All, &["q[1]"], 10);
    assert!(
        locus_of_driven
            .locus
            .is_some_and(|l| !l.always.is_empty() || !l.factors.is_empty())
    );
}

/// What a motor moves is no constant: coupler and rocker of a driven four-bar are on one line where the crank brings the
/// pivots to the distance l[2] + l[3] or |l[2] - l[3]|, which is a matter of l[1] and l[4].
#[test]
fn a_motor_brings_a_linkage_to_its_dead_centres() {
    let text = library("four-bar");
    // l[2] + l[3] = 0.65 and |l[2] - l[3]| = 0.05; the pivots are between |l[4] - l[1]| and l[4] + l[1] apart.
    for (crank, count) in [("0.1", 0), ("0.3", 2), ("0.4", 4), ("0.25", 1), ("1.1", 0)] {
        let text = text.replace(
            "{0.1, 0.35, 0.3, 0.4}",
            &format!("{{{crank}, 0.35, 0.3, 0.4}}"),
        );
        let found = ask(&text, Kept::None, &["q[1]"], 10);
        assert_eq!(found.configurations.len(), count, "crank {crank}");
        assert_ne!(found.verdict, SingularVerdict::Unknown);
        let kept = ["l[1]", "l[4]"].map(String::from).to_vec();
        let found = ask(&text, Kept::Named(kept), &["q[1]"], 10);
        let regions = found.regions.expect("two symbols");
        let value = |text: &str| decimal(text.parse().expect("a number")).expect("finite");
        let counted = regions.count_at(&[value(crank), value("0.4")]);
        // On the boundary, where l[1] + l[4] = 0.65, two points have become one.
        assert_eq!(counted, Some(count), "crank {crank}");
    }
    // A crank that drives a slide: the rod stands across it.
    let crank = library("slider-crank").replace("{0.1, 0.3}", "{0.5, 0.3}");
    let found = ask(&crank, Kept::None, &["q[1]"], 10);
    assert_eq!(found.configurations.len(), 4);
    // The slide drives the crank: dead centres where crank and rod are on one line.
    let found = ask(&library("slider-crank"), Kept::None, &["x"], 10);
    assert_eq!(found.configurations.len(), 4);
}

/// The force of a driven linkage passes through its motor: locked bodies stay in the loops.
#[test]
fn dead_centres_of_driven_linkages() {
    let text = library("four-bar");
    // The coupler turns fully: coupler and rocker align at two distances, each with the crank on either side.
    let question = Question {
        locked: vec!["q[1]".to_string()],
        ..Question::default()
    };
    let ask = |set: &[&str], question: &Question| {
        let found = answer(&model(&text, set), question, &SearchLimits::default());
        found.unwrap_or_else(|d| panic!("{d:?}"))
    };
    let found = ask(&["l={0.35, 0.1, 0.3, 0.4}"], &question);
    assert_eq!(
        found.verdict,
        SingularVerdict::Proved,
        "{:?}",
        found.reasons
    );
    assert_eq!(found.configurations.len(), 4);
    for configuration in &found.configurations {
        let angles = configuration.values.angles(&found.mechanism);
        assert!((angles[1] - angles[2]).sin().abs() < 1e-15);
    }
    // A crank that turns fully never meets a dead centre, though there are complex ones.
    let found = ask(&[], &question);
    assert_eq!(found.is_empty(), Some(true));
    assert_eq!(found.n_excluded, 0);
    // Nothing can move: every configuration is singular.
    let all = ["q[1]", "q[2]", "q[3]"].map(str::to_string).to_vec();
    let question = Question {
        locked: all,
        ..Question::default()
    };
    let found = ask(&[], &question);
    assert_eq!(found.is_empty(), Some(false));
    assert_eq!(found.sets[0].real_dimension, Some(1));
}

/// What a condition on the parameters excludes has no complex point: the basis of the piece is 1.
#[test]
fn excluded_pieces_have_no_points() {
    let mut n_checked = 0;
    for (name, text, locked) in mechanisms() {
        let question = Question {
            locked: locked.iter().map(|s| s.to_string()).collect(),
            ..Question::default()
        };
        let mechanism = mechanism(&text, &question);
        let budget = FlatBudget {
            flats: 100,
            spent: &|| 0.0,
        };
        let cases = exact_cases(&mechanism, budget);
        let conditioned = Conditioned::new(&mechanism, &cases, &|| false);
        for (number, _) in cases.kept() {
            let choices = conditioned.choices(number).unwrap_or_default();
            for choice in choices.iter().step_by(5) {
                if conditioned.is_excluded(number, choice) != Some(true) {
                    continue;
                }
                let piece = conditioned.piece(&cases, number, choice);
                let ideal = Ideal::new(piece.expect("a piece").generators);
                let basis = ideal.basis(&Budget::within(Duration::from_secs(5)));
                assert!(
                    basis.is_ok_and(|b| b.is_unit()),
                    "{name}, case {number}: {choice:?}"
                );
                n_checked += 1;
            }
        }
    }
    assert!(n_checked > 30, "{n_checked}");
}

#[test]
fn a_path_makes_the_arm_singular_when_it_is_stretched() {
    let found = ask(&library("robotic-arm"), Kept::None, &[], 10);
    assert_eq!(found.mechanism.n_constraints(), 2);
    assert_eq!(found.words[0].conditions, ["sin(x3) = 0"]);
    assert_eq!(factors(&found).len(), 2);
}

/// Thirds of a turn are exact: with sqrt(3) the arms of the delta robot are equal, with a decimal they are not.
#[test]
fn postures_of_the_delta_robot() {
    let found = ask(&library("delta-robot"), Kept::None, &[], 60);
    assert_eq!(
        found.verdict,
        SingularVerdict::Proved,
        "{:?}",
        found.reasons
    );
    assert!(found.mechanism.constraints.warnings.is_empty());
    // As many real points as the ideal of the constraints and all 20 minors has: a computation of its own, 7 minutes.
    assert_eq!(found.configurations.len(), 24);
    for configuration in &found.configurations {
        assert!(configuration.corank.is_some_and(|corank| corank >= 1));
        assert!(
            configuration
                .values
                .residual(&found.mechanism.polynomials())
                < 1e-14
        );
    }
    assert_eq!(found.words[0].conditions.len(), 4);
    assert_eq!(
        found.words[6].conditions[2..],
        ["p[2] = 0", "20*p[1] - 6*cos(alpha[1]) - 3 = 0"]
    );
}

#[test]
fn conditions_beyond_alignments_are_left_to_a_basis() {
    let found = ask(&library("pendulum"), Kept::All, &[], 10);
    assert_eq!(
        found.verdict,
        SingularVerdict::Proved,
        "{:?}",
        found.reasons
    );
    assert!(found.locus.as_ref().is_some_and(|l| l.always.is_empty()));
    // One free length: the determinant of the ternary coupler gives one polynomial in it.
    let free = Kept::Named(vec!["l[5]".to_string()]);
    let found = ask(&library("stephenson"), free, &[], 20);
    assert!(found.locus.is_some_and(|l| !l.factors.is_empty()));
}

#[test]
fn what_is_not_algebraic_is_named() {
    for (equations, message) in [
        (
            "exp(q) + x = 1;",
            "`exp(q)` is not algebraic in the positions",
        ),
        (
            "cos(q) + q = x;",
            "`q` is an angle and occurs outside sine and cosine too",
        ),
        (
            "sqrt(x) = cos(q);",
            "`sqrt(x)` is not algebraic in the positions",
        ),
        (
            "cos(q*x) = 1;",
            "`cos(q*x)` is not algebraic in the positions",
        ),
        ("x^q = 1;", "`x^q` is not algebraic in the positions"),
        (
            "((((x^16)^16)^16)^16)^2 + cos(q) = 1;",
            "the degree of a constraint is too high",
        ),
    ] {
        let text = format!("model M Real q, x; equation {equations} end M;");
        let refused = answer(
            &model(&text, &[]),
            &Question::default(),
            &SearchLimits::default(),
        );
        let diagnostics = refused.err().expect("a refusal");
        assert_eq!(diagnostics[0].message, message);
        assert!(diagnostics[0].span.is_some() && diagnostics[0].help.is_some());
    }
    let text = library("four-bar");
    for (question, message) in [
        (
            Question {
                locked: vec!["q[4]".to_string()],
                ..Question::default()
            },
            "--locked: the model has no unknown `q[4]`",
        ),
        (
            Question {
                parameters: Kept::Named(vec!["k".to_string()]),
                ..Question::default()
            },
            "--parameters: the model has no parameter `k`",
        ),
    ] {
        let refused = answer(&model(&text, &[]), &question, &SearchLimits::default());
        assert_eq!(refused.err().expect("a refusal")[0].message, message);
    }
    let no_constraints = "model M Real x; equation der(x) = -x; end M;";
    let refused = answer(
        &model(no_constraints, &[]),
        &Question::default(),
        &SearchLimits::default(),
    );
    assert_eq!(
        refused.err().expect("a refusal")[0].message,
        "no constraints between positions were found in the model"
    );
}

#[test]
fn no_time_is_no_answer_and_no_wrong_one() {
    let found = ask(&library("three-rrr"), Kept::All, &[], 0);
    assert_eq!(found.verdict, SingularVerdict::Unknown);
    assert!(found.time_budget_reached);
    assert_eq!(found.is_empty(), None);
}

/// A piece that takes far longer ends with its budget, not some time later; the rest of the second is for a busy machine.
#[test]
fn the_time_budget_holds() {
    let start = std::time::Instant::now();
    let locked = ["q[1]", "q[2]", "q[3]"];
    let found = ask(&library("three-rrr"), Kept::None, &locked, 1);
    assert!(start.elapsed() < std::time::Duration::from_millis(1600));
    assert!(found.time_budget_reached);
    assert_eq!(found.verdict, SingularVerdict::Unknown);
}

/// Angles in halves, multiples, with parameters and time, tangents and quotients.
#[test]
fn forms_of_angles() {
    for (equations, conditions) in [
        // sin(q/2)^2 = (1 - cos q)/2: one direction.
        ("sin(q/2)^2 = 0.25;", vec!["sin(q) = 0"]),
        // Two configurations for each value of 2q: the angle itself is the coordinate.
        ("cos(2*q) = sin(time);", vec!["cos(q)*sin(q) = 0"]),
        ("cos(q - 0.5*time) = 0.1;", vec!["sin(q - 0.5*time) = 0"]),
        ("2*cos(q)/sqrt(8) = 0.5;", vec!["sin(q) = 0"]),
    ] {
        let text = format!("model M Real q; equation {equations} end M;");
        let found = ask(&text, Kept::None, &[], 10);
        let words: Vec<&String> = found.words.iter().flat_map(|w| &w.conditions).collect();
        assert_eq!(words, conditions.iter().collect::<Vec<_>>(), "{equations}");
    }
}

/// A shift that is itself the cosine of a known angle, an algebraic number, is known only once that is expanded.
#[test]
fn shifts_by_cosines_of_known_angles() {
    for (n, over) in (1..=12).flat_map(|n| [1, 2, 3].map(|over| (n, over))) {
        let shift = format!("cos({n}*3.141592653589793/12)/{over}");
        let text = format!("model M Real q; equation cos(q + {shift}) = 0.1; end M;");
        let found = ask(&text, Kept::None, &[], 10);
        let n_conditions = found.words.iter().flat_map(|w| &w.conditions).count();
        assert_eq!(n_conditions, 1, "{text}");
    }
}

/// The limit is asked for each column of each flat, not for each flat: the work between two questions is small.
#[test]
fn a_limit_ends_the_list_of_cases_at_once() {
    let mechanism = mechanism(&library("pendulum-chain"), &Question::default());
    let asked = std::cell::Cell::new(0);
    let spent = || {
        asked.set(asked.get() + 1);
        if asked.get() > 3 { 1.0 } else { 0.0 }
    };
    let budget = FlatBudget {
        flats: 1000,
        spent: &spent,
    };
    let cases = exact_cases(&mechanism, budget);
    assert!(!cases.is_complete() && cases.list.is_empty());
    assert!(asked.get() < 10, "{}", asked.get());
}

/// Constraints and parameters that say little: words instead of empty lists.
#[test]
fn odd_constraints_are_told() {
    let ask = |text: &str| {
        let model = model(text, &[]);
        answer(&model, &Question::default(), &SearchLimits::default()).expect("algebraic")
    };
    let twice = ask("model Twice Real x, y; equation x + y = 1; x + y = 2; end Twice;");
    assert!(twice.words[0].sentence().starts_with("everywhere"));
    assert_eq!(twice.is_empty(), Some(true));
    let gone = ask("model Gone parameter Real k = 0; Real p, q;
         equation k*cos(p) + cos(q) = 1; k*sin(p) + sin(q) = 0; end Gone;");
    let warnings = &gone.mechanism.constraints.warnings;
    assert!(
        warnings.iter().any(|w| w.contains("`p` has no influence")),
        "{warnings:?}"
    );
}

/// A motor on a loop does not take the loop away: the constraints are the same with and without the equations that drive
/// it, and so are the answers, with what the motor moves locked unless others are; what only defines an output is no constraint.
#[test]
fn driven_loops_are_answered_like_the_loop_alone() {
    let loop_equations = "a*cos(p) + b*cos(q) = d + c*cos(r); a*sin(p) + b*sin(q) = c*sin(r);";
    let lengths = "parameter Real a = 0.4, b = 1, c = 0.8, d = 0.6;";
    let alone = format!("model M {lengths} Real p, q, r; equation {loop_equations} end M;");
    let driven = format!(
        "model M {lengths} Real p, q, r, w, high; equation der(p) = w; der(w) = -p; {loop_equations} \
         high = a*sin(p) + b*sin(q)/2; end M;"
    );
    for locked in [vec![], vec!["p"], vec!["r"]] {
        let with_motor = ask(&driven, Kept::None, &locked, 20);
        let locked = if locked.is_empty() { vec!["p"] } else { locked };
        let bare = ask(&alone, Kept::None, &locked, 20);
        assert_eq!(bare.verdict, with_motor.verdict, "{locked:?}");
        assert_eq!(bare.is_empty(), with_motor.is_empty(), "{locked:?}");
        let cases = |found: &SingularAnswer| -> Vec<String> {
            found.words.iter().map(|words| words.sentence()).collect()
        };
        assert_eq!(cases(&bare), cases(&with_motor), "{locked:?}");
    }
}

/// y g(x)/h(x) = 0 twice, with roots drawn at random: y = 0 is a line of singular configurations, without the poles; where a divisor of one
/// equation is its own numerator's factor the line keeps its dimension.
#[test]
fn lines_of_configurations_with_denominators() {
    let mut random = Random(0x5eed_0f11);
    for trial in 0..40 {
        let mut root = || format!("{}/{}", random.between(-9, 9), random.between(1, 4));
        let [a, b, c, d] = [root(), root(), root(), root()];
        let power = random.between(1, 2);
        let text = format!(
            "model M Real x, y; equation y^{power}*(x - {a})/(x - {b}) = 0; y*(x - {a} - 1)*(x - {c})/((x - {c})*(x - {d})) = 0; end M;"
        );
        let told = ask(&text, Kept::None, &[], 20);
        assert_eq!(told.verdict, SingularVerdict::Proved, "{trial}: {text}");
        assert!(told.configurations.is_empty(), "{trial}: {text}");
        assert!(!told.sets.is_empty(), "{trial}: {text}");
        for set in &told.sets {
            assert_eq!(set.dimension, 1, "{trial}: {text}");
            assert!(!set.samples.is_empty(), "{trial}: {text}");
        }
    }
}
