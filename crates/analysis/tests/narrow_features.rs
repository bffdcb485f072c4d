//! Coefficients that change within a small part of an interval: dips to zero, deeper ones, near misses, narrow switches and
//! bumps, at places that no sample meets. What is not found is told as open; nothing is claimed that is not so.

use crate::common::{Random, system};
use daelight_analysis::interval::{DEFAULT_BUDGET, IntervalAnalysis, PointKind, SolvabilityLevel};
use daelight_analysis::linear::LinearSystem;

/// A coefficient, and the places where it vanishes, has no value or switches.
struct Coefficient {
    text: String,
    places: Vec<f64>,
}

/// A function that is 1 almost everywhere and changes within a width of a place.
fn narrow(random: &mut Random, place: f64, width: f64) -> Coefficient {
    let s = format!("((time - {place})/{width})");
    let bell = match random.below(3) {
        0 => format!("exp(-{s}^2)"),
        1 => format!("1/(1 + {s}^2)"),
        _ => format!("1/cosh({s})^2"),
    };
    let (text, places) = match random.below(6) {
        0 => (format!("(1 - {bell})"), vec![place]),
        1 => (format!("(1 - {bell})^2"), vec![place]),
        2 => {
            // exp(-s^2) = 1/2, and so on: the bell is a half at both sides.
            let apart = if bell.starts_with("exp") {
                2f64.ln().sqrt()
            } else if bell.starts_with("1/cosh") {
                2f64.sqrt().acosh()
            } else {
                1.0
            };
            let places = vec![place - apart * width, place + apart * width];
            (format!("(1 - 2*{bell})"), places)
        }
        3 => {
            let distance = 10f64.powf(-1.0 - 5.0 * random.share());
            (format!("(1 - (1 - {distance})*{bell})"), vec![])
        }
        4 => (format!("(2 + {bell})"), vec![]),
        _ => (
            format!("(if abs(time - {place}) < {width} then 2 else 1)"),
            vec![place - width, place + width],
        ),
    };
    Coefficient { text, places }
}

/// A model whose ranks fall where the coefficient vanishes.
fn model(random: &mut Random, c: &str) -> String {
    let (unknowns, equations) = match random.below(4) {
        0 => ("x", format!("{c}*der(x) = -x + 1;")),
        1 => ("x, y", format!("der(x) = y; {c}*y = sin(time) - x;")),
        2 => (
            "x, y",
            format!(
                "der(x) + cos(time)*der(y) = y; cos(time)*der(x) + (cos(time)^2 + {c})*der(y) = x;"
            ),
        ),
        _ => (
            "x, y, z",
            format!("der(x) = y + z; {c}*z = x; der(y) = z - time*x;"),
        ),
    };
    format!("model M  Real {unknowns};  equation  {equations}  end M;")
}

#[test]
fn nothing_narrow_is_stepped_over() {
    let mut random = Random(1_370);
    let (mut n_found, mut n_open, mut n_clear) = (0, 0, 0);
    for case in 0..120 {
        let width = 10f64.powf(-1.0 - 5.0 * random.share());
        let place = 0.2 + 1.6 * random.share();
        let c = narrow(&mut random, place, width);
        let text = model(&mut random, &c.text);
        let system = system(&text);
        let mut linear = LinearSystem::new(&system).expect("linear");
        let found = IntervalAnalysis::new(&mut linear, 0.0, 2.0, DEFAULT_BUDGET);
        let is_open = |t: f64| found.open.iter().any(|&(from, to)| from <= t && t <= to);
        let tolerance = 1e-3 * width + 1e-9;
        for &truth in &c.places {
            let is_told = (found.exceptional.iter()).any(|p| (p.time - truth).abs() <= tolerance);
            assert!(
                is_told || is_open(truth),
                "case {case}: {truth} is missing in {:?}, open {:?}\n{text}",
                found.exceptional.iter().map(|p| p.time).collect::<Vec<_>>(),
                found.open
            );
            n_found += usize::from(is_told);
            n_open += usize::from(!is_told);
        }
        for point in &found.exceptional {
            let is_true = (c.places.iter()).any(|truth| (point.time - truth).abs() <= tolerance);
            let is_rank = matches!(point.kind, PointKind::RankChange { .. });
            assert!(
                is_true || !is_rank,
                "case {case}: {point:?} is invented\n{text}"
            );
        }
        if c.places.is_empty() {
            n_clear += usize::from(found.level == SolvabilityLevel::StrangenessIndex);
        } else {
            assert_ne!(
                found.level,
                SolvabilityLevel::StrangenessIndex,
                "case {case}\n{text}"
            );
        }
    }
    eprintln!("{n_found} places told, {n_open} inside open parts, {n_clear} intervals without any");
    assert!(n_found > n_open && n_clear > 20);
}
