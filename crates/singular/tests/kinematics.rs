//! Which equations are the configuration of a model: mechanisms that follow a path, with forces and torques written in many ways.

use crate::common::{Random, model};
use daelight_singular::{
    Number, Question, SearchLimits, SingularAnswer, SingularVerdict, answer, number,
};

fn ask(text: &str, locked: &[&str]) -> SingularAnswer {
    let question = Question {
        locked: locked.iter().map(|s| s.to_string()).collect(),
        ..Question::default()
    };
    answer(&model(text, &[]), &question, &SearchLimits::default())
        .unwrap_or_else(|d| panic!("{d:?}\n{text}"))
}

/// Cases, conditions on the path and configurations: what no rewriting may change.
fn told(found: &SingularAnswer) -> (Vec<String>, Vec<String>, usize) {
    let factors = found.locus.iter().flat_map(|locus| &locus.factors);
    let mut factors: Vec<String> = factors.map(|f| found.text(&f.polynomial)).collect();
    factors.sort();
    let mut cases: Vec<String> = found.words.iter().map(|w| w.sentence()).collect();
    cases.sort();
    (cases, factors, found.configurations.len())
}

/// The equations of a model in a random order.
fn shuffled(random: &mut Random, equations: &[String]) -> String {
    let mut left = equations.to_vec();
    let mut text = String::new();
    while !left.is_empty() {
        let at = random.between(0, left.len() as i64 - 1) as usize;
        text.push_str(&left.remove(at));
        text.push_str(";\n");
    }
    text
}

/// A lift on links of length L that follows a path is singular where the path is at L or -L, however the loop is written, whatever
/// follows from the motion, and wherever the angle occurs beside a derivative.
#[test]
fn a_lift_is_answered_alike_in_all_writings() {
    let mut random = Random(0x5eed_0c0f);
    for _ in 0..6 {
        let [length, from, speed, g] = [2, 1, 1, 5].map(|low| random.between(low, 9));
        let path = format!("{from}/10 + {speed}/10*time");
        let loops = [
            format!("h = {length}*sin(th)"),
            format!("sin(th) = h/{length}"),
            format!("0 = {length}*sin(th) - h"),
            format!("h/2 - {length}/2*sin(th) = 0"),
        ];
        let forces = [
            "F = acc".to_string(),
            "F = acc*cos(th)".to_string(),
            format!("F + {g}*sin(th) = acc"),
            "F*(2 + sin(th)) = acc".to_string(),
            format!("F*sin(th) = ({g} + acc)*cos(th)"),
            format!("F = {g}*cos(th)"),
            "F/cos(th) = acc + d".to_string(),
            "F = acc*d - der(th)".to_string(),
        ];
        for own in &loops {
            for force in &forces {
                // The acceleration is an unknown, or a derivative in the force itself.
                let is_named = random.between(0, 1) == 0;
                let force = force.replace("acc", if is_named { "a" } else { "der(vh)" });
                let mut equations = vec![
                    own.clone(),
                    format!("h = {path}"),
                    "vh = der(h)".to_string(),
                    format!("d = {length}*cos(th)"),
                    force,
                ];
                let unknowns = match is_named {
                    true => "th, h, vh, d, F, a",
                    false => "th, h, vh, d, F",
                };
                equations.extend(is_named.then(|| "a = der(vh)".to_string()));
                let body = shuffled(&mut random, &equations);
                let text = format!("model Lift Real {unknowns}; equation {body} end Lift;");
                let found = ask(&text, &[]);
                assert_eq!(found.verdict, SingularVerdict::Proved, "{text}");
                assert_eq!(found.is_empty(), None, "{text}");
                let (cases, factors, _) = told(&found);
                assert_eq!(cases, ["th in a fixed direction"], "{text}");
                let end = |text: &String| text.rsplit(')').next().unwrap_or("").to_string();
                let ends: Vec<String> = factors.iter().map(end).collect();
                let expected = [format!(" + {length}"), format!(" - {length}")];
                assert_eq!(ends, expected, "{factors:?}\n{text}");
                // Asked for every place of the path there are two configurations, straight up and straight down.
                let question = Question {
                    paths_locked: true,
                    ..Question::default()
                };
                let counted = number(&model(&text, &[]), &question, &SearchLimits::default());
                assert_eq!(counted.expect("algebraic"), Number::Finite(2), "{text}");
            }
        }
    }
}

/// An arm of two links whose hand follows a line at a height: aligned links, at the same places of the path whether torques are
/// written with angles and derivatives together or not.
#[test]
fn an_arm_is_answered_alike_in_all_writings() {
    let mut random = Random(0x5eed_0a2c);
    for _ in 0..5 {
        let [first, second, height] = [3, 1, 1].map(|low| random.between(low, 6));
        let torques = [
            "M = x*fy - y*fx; fx = der(vx); fy = der(vy) + 10",
            "M = x*(der(vy) + 10) - y*der(vx)",
            "M = cos(a + b)*(der(vy) + 10) - sin(a + b)*der(vx)",
            "M*(3 + cos(a)) = der(vx) + der(vy)",
            "M = cos(a)",
        ];
        let mut answers = Vec::new();
        for torque in torques {
            let equations: Vec<String> = [
                &format!("x = {first}*cos(a) + {second}*cos(a + b)"),
                &format!("y = {first}*sin(a) + {second}*sin(a + b)"),
                "vx = der(x)",
                "vy = der(y)",
                "x = 5 - time",
                &format!("y = {height}/2"),
            ]
            .into_iter()
            .chain(torque.split("; "))
            .map(str::to_string)
            .collect();
            let forces = if torque.contains("fx") {
                ", fx, fy"
            } else {
                ""
            };
            let body = shuffled(&mut random, &equations);
            let text =
                format!("model Arm Real a, b, x, y, vx, vy, M{forces}; equation {body} end Arm;");
            let found = ask(&text, &[]);
            assert_eq!(found.is_empty(), None, "{text}");
            assert_eq!(found.verdict, SingularVerdict::Proved, "{text}");
            answers.push((told(&found), text));
        }
        for (other, text) in &answers[1..] {
            assert_eq!(answers[0].0, *other, "{text}");
        }
    }
}

/// A crank that turns, by an equation of its own or by integration, is the loop with its crank locked; forces along the rod do not change
/// that. With a rod shorter than the crank there are singular configurations, with a longer one none.
#[test]
fn a_driven_crank_is_the_loop_with_its_crank_locked() {
    let mut random = Random(0x5eed_c4a0);
    for case in 0..8 {
        let [crank, rod] = match case % 2 {
            0 => [random.between(1, 4), random.between(5, 9)],
            _ => [random.between(5, 9), random.between(1, 4)],
        };
        let own = format!("{crank}*sin(p) = {rod}*sin(q); x = {crank}*cos(p) + {rod}*cos(q)");
        let alone = ask(
            &format!("model M Real p, q, x; equation {own}; end M;"),
            &["p"],
        );
        for drive in ["p = 3*time", "der(p) = 3", "der(p) = w; der(w) = -p"] {
            for force in ["S = der(v)", "S*cos(q) = der(v)", "S + sin(p + q) = der(v)"] {
                let w = if drive.contains('w') { ", w" } else { "" };
                let text = format!(
                    "model M Real p, q, x, v, S{w}; equation {drive}; {own}; v = der(x); {force}; end M;"
                );
                let found = ask(&text, &[]);
                assert_eq!(found.verdict, SingularVerdict::Proved, "{text}");
                assert_eq!(found.is_empty(), Some(rod > crank), "{text}");
                assert_eq!(told(&found), told(&alone), "{text}");
            }
        }
    }
}

/// A loop that a free pendulum drags along is not among its constraints: nothing is proved, and the loop is named.
#[test]
fn what_a_free_mechanism_drags_along_is_told_as_left_out() {
    let pendulum = "x^2 + y^2 = 4; der(x) = u; der(y) = v; der(u) = -z*x; der(v) = -z*y - 10";
    for (dragged, is_left_out) in [
        ("x = 3*sin(q)", true),
        ("q = x*y", false),
        ("q*(x - 5) = y", true),
    ] {
        let text = format!("model M Real x, y, u, v, z, q; equation {pendulum}; {dragged}; end M;");
        let found = ask(&text, &[]);
        let expected = if is_left_out {
            SingularVerdict::Unknown
        } else {
            SingularVerdict::Proved
        };
        assert_eq!(found.verdict, expected, "{text}");
        let is_named = found.reasons.iter().any(|reason| reason.contains(dragged));
        assert_eq!(is_named, is_left_out, "{:?}", found.reasons);
        assert_eq!(found.is_empty(), (!is_left_out).then_some(true));
    }
}
