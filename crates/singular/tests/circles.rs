//! Numbers of configurations against truths found another way: by counting points of a lattice, and by Newton's method from
//! many starts. Section 2 of `docs/theory/configurations.md`.

use crate::common::{Random, model};
use daelight_singular::{Question, SearchLimits, SingularAnswer, SingularVerdict, answer};
use std::f64::consts::{PI, TAU};
use std::time::Duration;

/// Parts of a full turn that shifts are multiples of: cosines of multiples of 15 degrees are written with roots of 2 and 3.
const SHIFTS: i64 = 24;

fn ask(text: &str) -> SingularAnswer {
    let limits = SearchLimits {
        time: Duration::from_secs(5),
        ..SearchLimits::default()
    };
    answer(&model(text, &[]), &Question::default(), &limits)
        .unwrap_or_else(|d| panic!("{d:?}\n{text}"))
}

/// A model with one constraint.
fn one_constraint(n: usize, left: &str, right: &str) -> String {
    let names: Vec<String> = (1..=n).map(|at| format!("y{at}")).collect();
    let names = names.join(", ");
    format!("model Circles\n  Real {names};\nequation\n  {left} = {right};\nend Circles;\n")
}

/// The angle k·y - shift, over a divisor; the shift is in parts of a turn.
fn angle(k: &[i64], shift: i64, over: i64) -> String {
    let mut text = String::new();
    for (at, k) in k.iter().enumerate().filter(|(_, k)| **k != 0) {
        text.push_str(&format!(" + ({k}/{over})*y{}", at + 1));
    }
    if shift != 0 {
        text.push_str(&format!(" - {shift}*{PI}/{}", SHIFTS / 2 * over));
    }
    text.trim_start_matches(" + ").to_string()
}

/// cos(k·y - shift), written in one of several ways that mean the same.
fn cosine(random: &mut Random, k: &[i64], shift: i64) -> String {
    let whole = angle(k, shift, 1);
    let half = angle(k, shift, 2);
    match random.between(0, 5) {
        0 => format!("sin({whole} + {PI}/2)"),
        // Half of a shift by an odd number of parts is none of the shifts.
        1..=3 if shift % 2 != 0 => format!("cos({whole})"),
        1 => format!("(2*cos({half})^2 - 1)"),
        2 => format!("(1 - 2*sin({half})^2)"),
        3 => format!("(cos({half})^2 - sin({half})^2)"),
        4 if k.iter().filter(|k| **k != 0).count() > 1 => {
            let first = k.iter().position(|k| *k != 0).expect("not all are 0");
            let mut rest = k.to_vec();
            rest[first] = 0;
            let mut alone = vec![0; k.len()];
            alone[first] = k[first];
            let (a, b) = (angle(&alone, shift, 1), angle(&rest, 0, 1));
            format!("(cos({a})*cos({b}) - sin({a})*sin({b}))")
        }
        _ => format!("cos({whole})"),
    }
}

/// Rows k, none of them 0, that hold every unknown.
fn combinations(random: &mut Random, n: usize, rows: usize) -> Vec<Vec<i64>> {
    loop {
        let k: Vec<Vec<i64>> = (0..rows)
            .map(|_| (0..n).map(|_| random.between(-2, 2)).collect())
            .collect();
        let used = |at: usize| k.iter().any(|row| row[at] != 0);
        if (0..n).all(used) && k.iter().all(|row| row.iter().any(|k| *k != 0)) {
            return k;
        }
    }
}

fn determinant(rows: &[&Vec<i64>]) -> i64 {
    match rows.len() {
        0 => 1,
        n => (0..n)
            .map(|at| {
                let rest: Vec<Vec<i64>> = rows[1..]
                    .iter()
                    .map(|row| {
                        let others = (0..n).filter(|c| *c != at);
                        others.map(|c| row[c]).collect()
                    })
                    .collect();
                let sign = if at % 2 == 0 { 1 } else { -1 };
                sign * rows[0][at] * determinant(&rest.iter().collect::<Vec<_>>())
            })
            .sum(),
    }
}

/// A minor of n rows that is not 0.
fn minor(k: &[Vec<i64>], n: usize) -> Option<i64> {
    (0..1u32 << k.len())
        .filter(|set| set.count_ones() as usize == n)
        .map(|set| {
            let rows = k.iter().enumerate().filter(|(at, _)| set >> at & 1 == 1);
            determinant(&rows.map(|(_, row)| row).collect::<Vec<_>>()).abs()
        })
        .find(|d| *d != 0)
}

/// How many points z of the torus satisfy a condition on the numbers k·z in half turns, all of them whole; `None` if they
/// are infinitely many. The points lie on the grid that a minor says, which is searched in whole numbers.
fn count(k: &[Vec<i64>], n: usize, holds: impl Fn(&[i64]) -> bool) -> Option<usize> {
    let steps = 2 * minor(k, n)?;
    let mut found = 0;
    for number in 0..steps.pow(n as u32) {
        let z: Vec<i64> = (0..n as u32)
            .map(|at| number / steps.pow(at) % steps)
            .collect();
        let half_turns: Option<Vec<i64>> = k
            .iter()
            .map(|row| {
                let twice: i64 = 2 * row.iter().zip(&z).map(|(k, z)| k * z).sum::<i64>();
                (twice % steps == 0).then_some(twice / steps)
            })
            .collect();
        found += usize::from(half_turns.is_some_and(|h| holds(&h)));
    }
    Some(found)
}

fn check(text: &str, expected: Option<usize>, open: &mut usize) {
    let found = ask(text);
    match (found.verdict, expected) {
        (SingularVerdict::Unknown, _) => *open += 1,
        // Cosines of multiples of pi/24 are symbols: the answer is conditions.
        _ if found.locus.is_some() => *open += 1,
        (_, Some(expected)) => {
            assert_eq!(found.configurations.len(), expected, "{text}");
            assert!(found.sets.iter().all(|set| set.is_empty), "{text}");
        }
        (_, None) => {
            assert!(found.configurations.is_empty(), "{text}");
            assert!(found.sets.iter().any(|set| set.dimension > 0), "{text}");
        }
    }
}

#[test]
fn directions_that_are_no_basis() {
    let two = one_constraint(2, "cos(y1)*cos(y2)", "1");
    let found = ask(&two);
    assert_eq!(found.verdict, SingularVerdict::Proved);
    let mut angles: Vec<Vec<f64>> = (found.configurations.iter())
        .map(|c| c.values.angles(&found.mechanism))
        .collect();
    angles.sort_by(|a, b| a[0].total_cmp(&b[0]));
    assert_eq!(angles, [[0.0, 0.0], [PI, PI]]);
    let mut open = 0;
    check(&one_constraint(2, "cos(y1 - y2)", "1"), None, &mut open);
    check(&one_constraint(1, "cos(2*y1)", "1"), Some(2), &mut open);
    check(&one_constraint(1, "cos(y1/2)", "1"), Some(1), &mut open);
    check(&one_constraint(1, "cos(y1/2)^2", "1"), Some(1), &mut open);
    // Denominators hold directions that the numerators have not.
    let over = |top: &str, bottom: &str| one_constraint(2, &format!("({top})/({bottom})"), "0");
    let top = "cos(y1)*cos(y2) - 1";
    check(&over(top, "cos(y1/2)"), Some(2), &mut open);
    let top = "cos(y1 + y2) + cos(y1) + 2";
    check(&over(top, "1 + cos(y1 - y2)"), Some(0), &mut open);
    check(&over(top, "1 + cos(2*y1 - y2)"), Some(1), &mut open);
    assert_eq!(open, 0);
}

/// Sums of cosines at their largest value, and products of cosines that are 1: every point is singular, and a point of a
/// lattice.
#[test]
fn extreme_values_of_cosines() {
    let mut random = Random(0x5eed_0001);
    let (mut open, n_cases) = (0, 120);
    for case in 0..n_cases {
        let n = 1 + case % 3;
        let rows = random.between(1, n as i64 + 1) as usize;
        let rows = if n == 3 { rows.max(2) } else { rows };
        let k = combinations(&mut random, n, rows);
        // k·(y - shift) of each term.
        let shift: Vec<i64> = (0..n)
            .map(|_| {
                if case % 2 == 0 {
                    0
                } else {
                    random.between(0, 23)
                }
            })
            .collect();
        let terms: Vec<String> = (k.iter())
            .map(|k| {
                let shift: i64 = k.iter().zip(&shift).map(|(k, s)| k * s).sum();
                cosine(&mut random, k, shift.rem_euclid(SHIFTS))
            })
            .collect();
        if case % 3 != 1 {
            let weights: Vec<i64> = k.iter().map(|_| random.between(1, 3)).collect();
            let all = terms.iter().zip(&weights).map(|(t, w)| format!("{w}*{t}"));
            let left = all.collect::<Vec<_>>().join(" + ");
            let right: i64 = weights.iter().sum();
            let expected = count(&k, n, |h| h.iter().all(|h| h % 2 == 0));
            check(
                &one_constraint(n, &left, &right.to_string()),
                expected,
                &mut open,
            );
        } else {
            let expected = count(&k, n, |h| h.iter().sum::<i64>() % 2 == 0);
            check(
                &one_constraint(n, &terms.join("*"), "1"),
                expected,
                &mut open,
            );
        }
    }
    eprintln!("{open} of {n_cases} not decided");
    assert!(10 * open <= n_cases);
}

/// Critical points of a sum of cosines at one of its critical values, by Newton's method from a dense grid.
#[test]
fn critical_points_of_sums() {
    let mut random = Random(0x5eed_0002);
    let (mut n_compared, mut open) = (0, 0);
    for _ in 0..60 {
        let rows = random.between(2, 3) as usize;
        let k = combinations(&mut random, 2, rows);
        let weights: Vec<i64> = k
            .iter()
            .map(|_| [1, 2, 3, -1, -2][random.between(0, 4) as usize])
            .collect();
        let corner = [random.between(0, 1), random.between(0, 1)];
        let value: i64 = (k.iter().zip(&weights))
            .map(|(k, w)| {
                if (k[0] * corner[0] + k[1] * corner[1]) % 2 == 0 {
                    *w
                } else {
                    -w
                }
            })
            .sum();
        let Some(expected) = critical_points(&k, &weights, value as f64) else {
            continue;
        };
        let terms: Vec<String> = (k.iter().zip(&weights))
            .map(|(k, w)| format!("({w})*{}", cosine(&mut random, k, 0)))
            .collect();
        let text = one_constraint(2, &terms.join(" + "), &value.to_string());
        check(&text, Some(expected), &mut open);
        n_compared += 1;
    }
    eprintln!("{open} of {n_compared} not decided");
    assert!(n_compared >= 30 && 10 * open <= n_compared);
}

/// The points where g = sum w cos(k·y) has a value and no slope; `None` if one of them is not simple.
fn critical_points(k: &[Vec<i64>], weights: &[i64], value: f64) -> Option<usize> {
    const STARTS: usize = 48;
    let parts = |y: [f64; 2]| {
        let (mut g, mut slope, mut second) = (0.0, [0.0; 2], [[0.0; 2]; 2]);
        for (k, &w) in k.iter().zip(weights) {
            let (k, w) = ([k[0] as f64, k[1] as f64], w as f64);
            let (sine, cosine) = (k[0] * y[0] + k[1] * y[1]).sin_cos();
            g += w * cosine;
            for i in 0..2 {
                slope[i] -= w * k[i] * sine;
                for j in 0..2 {
                    second[i][j] -= w * k[i] * k[j] * cosine;
                }
            }
        }
        (g, slope, second)
    };
    let mut found: Vec<[f64; 2]> = Vec::new();
    for start in 0..STARTS * STARTS {
        let place = |i: usize| (i as f64 + 0.381) * TAU / STARTS as f64;
        let mut y = [place(start % STARTS), place(start / STARTS)];
        for _ in 0..60 {
            let (_, s, h) = parts(y);
            let d = h[0][0] * h[1][1] - h[0][1] * h[1][0];
            let step = [
                (h[1][1] * s[0] - h[0][1] * s[1]) / d,
                (h[0][0] * s[1] - h[1][0] * s[0]) / d,
            ];
            y = [y[0] - step[0], y[1] - step[1]];
            if step.iter().all(|s| s.abs() < 1e-14) {
                break;
            }
        }
        let (g, s, h) = parts(y);
        if !s.iter().all(|s| s.abs() < 1e-10) || (g - value).abs() > 1e-8 {
            continue;
        }
        if (h[0][0] * h[1][1] - h[0][1] * h[1][0]).abs() < 1e-3 {
            return None;
        }
        let y = y.map(|y| y.rem_euclid(TAU));
        let near = |other: &[f64; 2]| {
            (0..2).all(|i| {
                let apart = (other[i] - y[i]).abs();
                apart.min(TAU - apart) < 1e-6
            })
        };
        if !found.iter().any(near) {
            found.push(y);
        }
    }
    // A sum that cancels has no simple point at all.
    Some(found.len()).filter(|n| *n > 0)
}

/// Angles with offsets are the angles without, elsewhere: the number of configurations is the same, and they are told at the unknowns.
#[test]
fn offsets_change_no_number() {
    let mut random = Random(77);
    for _ in 0..12 {
        let offset = |random: &mut Random| random.between(-300, 300) as f64 / 100.0;
        let [f, g, h] = [0; 3].map(|_| offset(&mut random));
        let lengths: Vec<f64> = (0..4)
            .map(|_| random.between(50, 400) as f64 / 100.0)
            .collect();
        let four_bar = |f: f64, g: f64, h: f64| {
            let [a, b, c, d] = lengths[..] else {
                unreachable!("four lengths")
            };
            format!(
                "model F\n  Real p, q, r;\nequation\n  {a:?}*cos(p + ({f:?})) + {b:?}*cos(p + q + ({g:?})) = {d:?} + {c:?}*cos(r + ({h:?}));\n  {a:?}*sin(p + ({f:?})) + {b:?}*sin(p + q + ({g:?})) = {c:?}*sin(r + ({h:?}));\nend F;\n"
            )
        };
        let (plain, moved) = (ask(&four_bar(0.0, 0.0, 0.0)), ask(&four_bar(f, g, h)));
        assert_eq!(plain.verdict, SingularVerdict::Proved);
        assert_eq!(moved.verdict, SingularVerdict::Proved, "{f} {g} {h}");
        let [plain, moved] = [&plain, &moved].map(|answer| {
            let mut all: Vec<Vec<f64>> = (answer.configurations.iter())
                .map(|found| found.values.angles(&answer.mechanism))
                .collect();
            all.sort_by(|x, y| x.partial_cmp(y).expect("numbers"));
            all
        });
        assert_eq!(plain.len(), moved.len(), "{f} {g} {h}");
        let same = |a: f64, b: f64| ((a - b) / TAU - ((a - b) / TAU).round()).abs() < 1e-9;
        for found in &moved {
            let back = [found[0] + f, found[1] + g - f, found[2] + h];
            let is_there = |known: &Vec<f64>| known.iter().zip(back).all(|(a, b)| same(*a, b));
            assert!(
                plain.iter().any(is_there),
                "{found:?} is not among {plain:?}"
            );
        }
    }
}
