//! Relations that an event leads to their border or takes away from it, and what falls on the end of a run: at random constants against
//! what the text says.

use crate::common::Random;
use crate::instants::{METHODS, last, solve};

/// Before, at and behind the event a relation has three truths; each change to true lets its `when` act. A `reinit`, or a limit that an
/// event sets to the present value, leads it to its border.
#[test]
fn relations_that_are_led_to_their_border_act_as_often_as_they_become_true() {
    let mut random = Random(91);
    for n in 0..128 {
        let (operator, at_equality) =
            [("<", false), ("<=", true), (">", false), (">=", true)][n % 4];
        let (before, behind) = ([-1.0, 1.0][n / 4 % 2], [-1.0, 1.0][n / 8 % 2]);
        let holds = |side: f64| (side > 0.0) == operator.starts_with('>');
        let truths = [holds(before), at_equality, holds(behind)];
        let times = truths.windows(2).filter(|w| !w[0] && w[1]).count();
        let c = (random.between(-3.0, 3.0) * 1e3).round() / 1e3;
        let rate = random.between(0.3, 3.0);
        let at = random.between(0.2, 0.8);
        let distance = before * (4.0 + random.between(0.0, 1.0));
        let relation = [
            format!("x {operator} r"),
            format!("x - r {operator} 0"),
            format!("{rate}*(x - r) {operator} 0"),
        ];
        let (relation, is_set) = (&relation[n / 16 % 3], n / 48 % 2 == 0);
        let (set, limit) = match is_set {
            true => ("reinit(x, r)".to_string(), format!("r = {c};")),
            false => ("r = x".to_string(), String::new()),
        };
        let start = c + distance;
        let text = format!(
            "model M\n  Real x(start = {start}, fixed = true){};\n  discrete Real {}s(start = 1, fixed = true);\n  \
             discrete Integer n(start = 0, fixed = true);\nequation\n  {limit}\n  der(x) = {rate}*s;\n  \
             when {relation} then\n    n = pre(n) + 1;\n  end when;\n  \
             when time >= {at} then\n    s = {behind};\n    {set};\n  end when;\nend M;\n",
            if is_set { ", r" } else { "" },
            match is_set {
                true => String::new(),
                false => format!("r(start = {c}, fixed = true), "),
            },
        );
        let method = METHODS[random.below(4)];
        let found = solve(&text, &["--to", "1", "--method", method]);
        assert_eq!(last(&found, "n"), times as f64, "{method}: {found}\n{text}");
    }
}

/// Numbers of periods are counted as decimals: whether n times the period is the end, or a bit more, is rounding.
#[test]
fn what_falls_on_the_end_up_to_rounding_happens() {
    let mut random = Random(92);
    for n in 0..120 {
        let digits = 1 + random.below(3);
        let part = 1 + random.below(97);
        let count = 1 + random.below(40);
        let decimal = |whole: usize| {
            let unit = 10usize.pow(digits as u32);
            format!("{}.{:0digits$}", whole / unit, whole % unit)
        };
        let (period, to) = (decimal(part), decimal(part * count));
        let (condition, expected) = match n % 2 {
            0 => (format!("sample(0, {period})"), count + 1),
            _ => (format!("time >= {period}*(pre(n) + 1)"), count),
        };
        let text = format!(
            "model M\n  Real x(start = 0, fixed = true);\n  discrete Integer n(start = 0, fixed = true);\nequation\n  der(x) = n;\n  \
             when {condition} then\n    n = pre(n) + 1;\n  end when;\nend M;\n"
        );
        let found = solve(&text, &["--to", &to, "--method", METHODS[n / 2 % 4]]);
        assert_eq!(last(&found, "n"), expected as f64, "{to}: {found}\n{text}");
    }
}

/// A counter of ways ticks where the way since its last tick is longer than a width. At the time of a tick the width changes: what the
/// equations say at that time counts, with the new width.
#[test]
fn what_time_changes_at_an_instant_counts_for_relations_of_that_instant() {
    let mut random = Random(93);
    for n in 0..60 {
        let (narrow, ticks) = ((1 + random.below(30)) as f64 / 10.0, 2 + random.below(5));
        let speed = (1 + random.below(20)) as f64 / 10.0;
        let change = narrow * ticks as f64 / speed;
        let factor = [random.between(1.3, 1.7), random.between(0.6, 0.9)][n % 2];
        let (wide, to) = (
            factor * narrow,
            change + narrow * factor.max(1.0) * 2.45 / speed,
        );
        let width = [
            format!("w = if time < {change} then {narrow} else {wide};"),
            format!(
                "w = if time < begin + long then {narrow} else {wide};\n  long = {change} - begin;\n  begin = 0.1;"
            ),
        ];
        let (width, more) = (&width[n / 2 % 2], ["", ", begin, long"][n / 2 % 2]);
        let text = format!(
            "model M\n  Real s, w, d{more};\n  discrete Real o(start = 0, fixed = true);\n  discrete Integer n(start = 0, fixed = true);\n\
             equation\n  s = {speed}*time;\n  {width}\n  d = s - o;\n  when d > w then\n    o = s;\n    n = pre(n) + 1;\n  end when;\nend M;\n"
        );
        let (mut place, mut expected) = (narrow * (ticks - 1) as f64, ticks - 1);
        if factor < 1.0 {
            // The way is longer than the new width.
            (place, expected) = (narrow * ticks as f64, ticks);
        }
        expected += ((speed * to - place) / wide).floor() as usize;
        let found = solve(
            &text,
            &["--to", &to.to_string(), "--method", METHODS[n / 4 % 4]],
        );
        assert_eq!(last(&found, "n"), expected as f64, "{found}\n{text}");
    }
}

/// An ideal diode by an equation: while it conducts the mode keeps its voltage at zero, and `ud > 0` does not hold. It held as it had when the
/// voltage crossed zero, and the diode never switched off.
#[test]
fn ideal_diodes_written_as_equations_switch_off() {
    let mut random = Random(94);
    for n in 0..36 {
        let (v, w) = (random.between(1.0, 20.0), random.between(100.0, 500.0));
        let (c, r) = (
            10_f64.powf(random.between(-4.5, -3.5)),
            10_f64.powf(random.between(1.5, 3.0)),
        );
        let rule = [
            "Boolean on(start = false, fixed = true); equation on = ud > 0 or pre(on) and i > 0;",
            "Boolean on(start = false, fixed = true); equation on = not (ud <= 0 and (not pre(on) or i <= 0));",
            "Boolean off(start = true, fixed = true); Boolean on; equation on = not off; off = ud <= 0 and (pre(off) or i <= 0);",
        ][n % 3];
        let text = format!(
            "model M\n  Real us, uC(start = 0, fixed = true), ud, i; {rule}\n  us = {v}*sin({w}*time);\n  ud = us - uC;\n  \
             {c}*der(uC) = i - uC/{r};\n  if on then\n    ud = 0;\n  else\n    i = 0;\n  end if;\nend M;\n"
        );
        let period = std::f64::consts::TAU / w;
        let source = |t: f64| v * (w * t).sin();
        // It switches off where C w V cos(w t) + V sin(w t)/R vanishes, and on where the source is above what is left.
        let off = |k: f64| k * period + (std::f64::consts::PI - (w * r * c).atan()) / w;
        let left = |k: f64, t: f64| source(off(k)) * (-(t - off(k)) / (r * c)).exp();
        let end = random.between(1.0, 3.0) * period;
        let k = (end / period).floor();
        let (mut low, mut high) = (k * period, k * period + 0.25 * period);
        for _ in 0..100 {
            let middle = 0.5 * (low + high);
            match source(middle) > left(k - 1.0, middle) {
                true => high = middle,
                false => low = middle,
            }
        }
        let truth = match end {
            end if end < high => left(k - 1.0, end),
            end if end < off(k) => source(end),
            end => left(k, end),
        };
        let method = METHODS[n / 3 % 4];
        let found = solve(&text, &["--to", &end.to_string(), "--method", method]);
        let error = (last(&found, "uC") - truth).abs() / v;
        assert!(error < 3e-7, "{method}, off by {error:e}: {found}\n{text}");
    }
}
