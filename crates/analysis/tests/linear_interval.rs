//! Linear systems on an interval: where quantities are constant, which points lie between them, and what fails there.

use crate::common;
use crate::indices::random;
use crate::indices::random::{Disguise, Random};
#[allow(dead_code, reason = "shared with the index tests")]
use daelight_analysis::chain::CriticalKind;
use daelight_analysis::interval::{
    BrokenHypothesis, DEFAULT_BUDGET, ExceptionalPoint, IntervalAnalysis, PointKind,
    SolvabilityLevel,
};
use daelight_analysis::linear::{LinearFamily, LinearSeries, LinearSystem, Undefined};
use daelight_analysis::{MatrixSeries, Stage};
use daelight_linalg::Mat;

fn analyse_with(n: usize, rows: &[&str], from: f64, to: f64, budget: usize) -> IntervalAnalysis {
    let names: Vec<String> = (1..=n).map(|i| format!("x{i}")).collect();
    let equations: String = rows.iter().map(|row| format!("  {row};\n")).collect();
    let text = format!(
        "model M\n  Real {};\nequation\n{equations}end M;\n",
        names.join(", ")
    );
    let system = common::system(&text);
    let mut linear = LinearSystem::new(&system).expect("linear");
    IntervalAnalysis::new(&mut linear, from, to, budget)
}

fn analyse(n: usize, rows: &[&str], from: f64, to: f64) -> IntervalAnalysis {
    analyse_with(n, rows, from, to, DEFAULT_BUDGET)
}

/// The points in order, to 1e-10, and the subintervals between them.
fn check_points(found: &IntervalAnalysis, expected: &[f64], (from, to): (f64, f64)) {
    let times: Vec<f64> = found.exceptional.iter().map(|p| p.time).collect();
    assert_eq!(
        times.len(),
        expected.len(),
        "{times:?} {:?}",
        found.warnings
    );
    for (found, expected) in times.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-10, "{found} {expected}");
    }
    let mut cuts = vec![from];
    cuts.extend(expected.iter().filter(|t| **t != from && **t != to));
    cuts.push(to);
    assert_eq!(found.intervals.len(), cuts.len() - 1);
    for (interval, cut) in found.intervals.iter().zip(cuts.windows(2)) {
        assert!((interval.from - cut[0]).abs() < 1e-10 && (interval.to - cut[1]).abs() < 1e-10);
    }
    assert!(found.warnings.is_empty(), "{:?}", found.warnings);
}

/// mu, d, a, u, v on every subinterval.
fn check_quantities(found: &IntervalAnalysis, expected: [usize; 5]) {
    for interval in &found.intervals {
        let s = interval.indices.as_ref().expect("decided").strangeness;
        let quantities = [
            s.index,
            s.n_differential,
            s.n_algebraic,
            s.n_free,
            s.n_redundant,
        ];
        assert_eq!(quantities, expected);
    }
}

fn order(point: &ExceptionalPoint) -> usize {
    match point.kind {
        PointKind::RankChange { order, .. } => order,
        _ => 0,
    }
}

#[test]
fn solutions_that_do_not_extend() {
    for (from, to) in [(-1.0, 1.0), (-1.0, 2.5), (0.0, 1.0), (-3.0, 0.0)] {
        let found = analyse(1, &["time*der(x1) = -x1 + sin(time)"], from, to);
        check_points(&found, &[0.0], (from, to));
        check_quantities(&found, [0, 1, 0, 0, 0]);
        assert_eq!(
            found.exceptional[0].what,
            "at t = 0 the rank of E falls from 1 to 0; solutions of the homogeneous equation behave like t^-1 and do not extend"
        );
        assert_eq!(found.level, SolvabilityLevel::None);
        assert_eq!(found.exceptional[0].kind.to_string(), "0-A");
    }
}

#[test]
fn inner_condition_on_the_right_hand_side() {
    let found = analyse(1, &["time*der(x1) = x1 + sin(time)"], -1.0, 2.0);
    check_points(&found, &[0.0], (-1.0, 2.0));
    let failures = &found.exceptional[0].failures;
    assert!(failures.contains(&BrokenHypothesis::InnerCondition {
        order: 1,
        n_conditions: 1,
        text: Some("f'(0) = 0".to_string()),
    }));
    assert!(failures.iter().any(
        |f| matches!(f, BrokenHypothesis::NotUnique { exponent } if (exponent - 1.0).abs() < 1e-12)
    ));
    // A constraint that vanishes at t = 0.3 asks for f2 to vanish there.
    let rows = [
        "der(x1) = x2 + sin(time)",
        "0 = (time - 0.3)*x1 + cos(time)",
    ];
    let found = analyse(2, &rows, -1.0, 1.5);
    check_points(&found, &[0.3], (-1.0, 1.5));
    check_quantities(&found, [1, 0, 2, 0, 0]);
    assert!(found.exceptional[0].what.contains("needs f2(0.3) = 0"));
    // A hidden constraint: x2 (t^2 - 1/2) = -f2' - f1.
    let rows = [
        "der(x1) = (time^2 - 0.5)*x2 + sin(time)",
        "0 = x1 + cos(time)",
    ];
    let found = analyse(2, &rows, -1.0, 1.5);
    let root = 0.5_f64.sqrt();
    check_points(&found, &[-root, root], (-1.0, 1.5));
    for point in &found.exceptional {
        assert!(matches!(
            point.kind,
            PointKind::RankChange {
                level: 1,
                stage: Stage::Algebraic,
                rank: 0,
                rank_nearby: 1,
                ..
            }
        ));
        assert!(matches!(
            point.failures[0],
            BrokenHypothesis::InnerCondition { order: 1, .. }
        ));
    }
}

#[test]
fn zeros_of_the_leading_coefficient() {
    let pi = std::f64::consts::PI;
    let sqrt2 = 2.0_f64.sqrt();
    let cases: [(&str, f64, f64, &[f64], usize); 9] = [
        ("sin(time)", 0.0, 10.0, &[0.0, pi, 2.0 * pi, 3.0 * pi], 1),
        ("(time - 1)^2", -1.0, 4.0, &[1.0], 2),
        ("(time - 1)^3", -1.0, 4.0, &[1.0], 3),
        ("(time^2 - 2)", -3.0, 3.0, &[-sqrt2, sqrt2], 1),
        ("(time^2 - 1e-10)", -3.0, 3.0, &[-1e-5, 1e-5], 1),
        ("(time*(time - 0.001))", -3.0, 3.0, &[0.0, 0.001], 1),
        ("sin(time)^2", 1.0, 7.0, &[pi, 2.0 * pi], 2),
        ("(exp(time) - 2)", -3.0, 3.0, &[std::f64::consts::LN_2], 1),
        ("1e-7*(time - 2)*exp(5*time)", -3.0, 3.0, &[2.0], 1),
    ];
    for (u, from, to, expected, multiplicity) in cases {
        let found = analyse(1, &[&format!("{u}*der(x1) + x1 = 0")], from, to);
        check_points(&found, expected, (from, to));
        for point in &found.exceptional {
            assert_eq!(order(point), multiplicity, "{u} at {}", point.time);
        }
    }
    // Points of different order close together.
    let found = analyse(1, &["time^2*(time - 1e-3)*der(x1) + x1 = 0"], -3.0, 3.0);
    check_points(&found, &[0.0, 1e-3], (-3.0, 3.0));
    // 160 of them.
    let found = analyse(1, &["sin(50*time)*der(x1) + x1 = 0"], 0.0, 10.0);
    let expected: Vec<f64> = (0..160).map(|i| pi / 50.0 * f64::from(i)).collect();
    check_points(&found, &expected, (0.0, 10.0));
}

#[test]
fn no_zero_is_invented() {
    for u in [
        "(time^2 + 0.01)",
        "(2 + sin(3*time))",
        "exp(-time^2)",
        "1e-9",
    ] {
        let found = analyse(1, &[&format!("{u}*der(x1) + x1 = 0")], -4.0, 4.1);
        check_points(&found, &[], (-4.0, 4.1));
        assert_eq!(found.level, SolvabilityLevel::StrangenessIndex);
    }
    // So close to one that it is said.
    let found = analyse(1, &["(time^2 + 1e-12)*der(x1) + x1 = 0"], -3.0, 3.0);
    assert!(found.exceptional.is_empty());
    assert!(found.warnings[0].contains("near t = 0 the rank of E at level 0 nearly falls"));
}

#[test]
fn d4_keeps_its_solutions_where_its_index_is_undefined() {
    let rows = ["time*der(x2) = x1 + sin(time)", "0 = x2 + cos(time)"];
    let found = analyse(2, &rows, -1.0, 1.5);
    check_points(&found, &[0.0], (-1.0, 1.5));
    check_quantities(&found, [1, 0, 2, 0, 0]);
    assert_eq!(
        found.intervals[0]
            .indices
            .as_ref()
            .and_then(|i| i.differentiation_index),
        Some(2)
    );
    assert_eq!(found.greatest_index, Some(1));
    assert_eq!(found.level, SolvabilityLevel::B);
    assert!(found.reasons[0].contains("no contradiction to B.3"));
    let point = &found.exceptional[0];
    assert!(point.failures.is_empty());
    assert!(
        point.what.contains("solutions pass unharmed"),
        "{}",
        point.what
    );
    assert!(matches!(
        point.kind,
        PointKind::RankChange {
            level: 0,
            stage: Stage::Differential,
            chain: Some(CriticalKind::RankDrop(0)),
            ..
        }
    ));
    // Away from it the strangeness index is defined.
    let found = analyse(2, &rows, 0.5, 1.5);
    assert_eq!(found.level, SolvabilityLevel::StrangenessIndex);
}

#[test]
fn reference_problems_are_regular_everywhere() {
    let example = [
        "-time*der(x1) + time^2*der(x2) = -x1 + time*sin(time) + cos(time)",
        "-der(x1) + time*der(x2) = -x2 + sin(time)",
    ];
    let d1 = [
        "(time^3/2 - time)*der(x1) + (1 - time^2)*der(x2) + time*der(x3) = (2 - 2*time^2)*x1 + 2*time*x2",
        "time^2/2*der(x1) - time*der(x2) + der(x3) = -2*time*x1 + 2*x2",
        "time^3/2*der(x1) - time^2*der(x2) + time*der(x3) = -3*time^2/2*x1 + time*x2 + x3",
    ];
    let d2 = [
        "der(x1) = x2 + sin(time)",
        "0 = x1 + time^2",
        "0 = x2 + sin(time) + 2*time",
    ];
    let d3b = ["der(x1) = x2 + sin(time)", "0 = x1"];
    // mu, d, a, u, v.
    let cases: [(usize, &[&str], [usize; 5]); 5] = [
        (2, &example, [1, 0, 1, 1, 1]),
        (3, &d1, [2, 0, 3, 0, 0]),
        (2, &d2, [1, 0, 2, 0, 1]),
        (2, &["der(x1) = time*x2"], [0, 1, 0, 1, 0]),
        (3, &d3b, [1, 0, 2, 1, 0]),
    ];
    for (n, rows, expected) in cases {
        let found = analyse(n, rows, -1.0, 2.0);
        check_points(&found, &[], (-1.0, 2.0));
        check_quantities(&found, expected);
        assert_eq!(found.level, SolvabilityLevel::StrangenessIndex);
        assert_eq!(found.greatest_index, Some(expected[0]));
    }
    // Equations that contradict each other are noticed.
    let found = analyse(2, &["der(x1) = x2", "0 = x1 + time^2", "0 = x2"], -1.0, 2.0);
    assert!(
        found.warnings[0].contains("violated"),
        "{:?}",
        found.warnings
    );
}

#[test]
fn poles_and_switches_cut_the_interval() {
    let found = analyse(1, &["der(x1) = x1/time + 1/(time - 1)^2"], -1.0, 2.0);
    let times: Vec<f64> = found.exceptional.iter().map(|p| p.time).collect();
    assert_eq!(times.len(), 2);
    assert!(times[0] == 0.0 && (times[1] - 1.0).abs() < 1e-10);
    assert!(
        found
            .exceptional
            .iter()
            .all(|p| p.kind == PointKind::Undefined)
    );
    assert!(found.exceptional[0].what.contains("division by zero"));
    assert_eq!(found.intervals.len(), 3);
    assert_eq!(found.level, SolvabilityLevel::None);

    let rows = [
        "(if time > 0.25 then 1 else 0)*der(x1) = x2",
        "0 = x1 + time",
    ];
    let found = analyse(2, &rows, -1.0, 2.0);
    assert_eq!(found.exceptional[0].kind, PointKind::Switch);
    assert!((found.exceptional[0].time - 0.25).abs() < 1e-10);
    let index = |i: usize| {
        let indices = found.intervals[i].indices.as_ref();
        indices.and_then(|i| i.differentiation_index)
    };
    assert_eq!((index(0), index(1)), (Some(1), Some(2)));

    let found = analyse(1, &["sqrt(time)*der(x1) = x1"], -1.0, 2.0);
    assert!(found.warnings[0].contains("sqrt of a negative number"));
    assert_eq!(found.intervals.len(), 1);
    assert_eq!(found.intervals[0].from, 0.0);
}

#[test]
fn a_budget_that_is_used_up_is_stated() {
    let found = analyse_with(1, &["sin(50*time)*der(x1) + x1 = 0"], 0.0, 10.0, 100);
    assert!(found.warnings.iter().any(|w| w.contains("budget")));
    assert_ne!(found.level, SolvabilityLevel::StrangenessIndex);
    let found = analyse(1, &["der(x1) = x1"], 0.0, 1e308);
    assert_eq!(found.intervals.len(), 1, "lengths do not overflow");
    let many: Vec<String> = (1..=65).map(|i| format!("der(x{i}) = x{i}")).collect();
    let rows: Vec<&str> = many.iter().map(String::as_str).collect();
    let found = analyse(65, &rows, 0.0, 1.0);
    assert!(found.warnings[0].contains("64 unknowns at most, and there are 65"));
    assert_eq!(found.open, [(0.0, 1.0)]);
    let system = common::system("model M Real x; equation der(x) = x; end M;");
    let mut linear = LinearSystem::new(&system).expect("linear");
    let now = Some(std::time::Instant::now());
    let found = IntervalAnalysis::until(now, &mut linear, 0.0, 1.0, DEFAULT_BUDGET);
    assert!(found.warnings[0].contains("the budget was used up"));
    assert_eq!(found.open, [(0.0, 1.0)]);
    for (from, to) in [
        (1.0, 1.0),
        (2.0, 1.0),
        (0.0, f64::NAN),
        (0.0, f64::INFINITY),
        (-1e308, 1e308),
    ] {
        let found = analyse(1, &["der(x1) = x1"], from, to);
        assert!(found.warnings[0].contains("is not an interval"));
    }
}

/// A random system with its critical point moved to another time.
struct Moved {
    system: random::System,
    to: f64,
}

impl LinearFamily for Moved {
    fn n_equations(&self) -> usize {
        self.system.n_equations()
    }

    fn n_unknowns(&self) -> usize {
        self.system.n_unknowns()
    }

    fn at(&mut self, time: f64, order: usize) -> Result<LinearSeries, Undefined> {
        let matrices = self.system.rounded_at(time - self.to, order);
        let f = vec![vec![0.0; matrices.nrows()]; order + 1];
        Ok(LinearSeries { matrices, f })
    }
}

fn disguise(condition: f64) -> Disguise {
    Disguise {
        condition,
        scaling: 2.0,
        time: 0.0,
        shape: random::Shape::Far,
    }
}

#[test]
fn random_systems_without_points_have_none() {
    let mut undecided = 0;
    for seed in 0..60 {
        let mut random = Random::new(80_000 + seed);
        let condition = [10.0, 100.0][seed as usize % 2];
        let system = random::System::regular(&mut random, seed % 3 == 0, disguise(condition));
        let indices = system.indices.clone();
        let mut family = Moved { system, to: 0.0 };
        let found = IntervalAnalysis::new(&mut family, -0.1, 0.1, DEFAULT_BUDGET);
        assert!(
            found.exceptional.is_empty(),
            "seed {seed}: {:?}",
            found.exceptional
        );
        match &found.intervals[..] {
            [only] if found.warnings.is_empty() => {
                assert_eq!(only.indices.as_ref(), Some(&indices), "seed {seed}");
                assert_eq!(found.level, SolvabilityLevel::StrangenessIndex);
            }
            _ => {
                println!("seed {seed}: {:?}", found.warnings);
                undecided += 1;
            }
        }
    }
    println!("{undecided} undecided");
    assert!(undecided <= 2);
}

#[test]
fn planted_points_are_found_to_ten_digits() {
    let (mut worst, mut missed, mut most) = (0.0_f64, 0, 0);
    for seed in 0..60 {
        let mut random = Random::new(90_000 + seed);
        let condition = [10.0, 100.0][seed as usize % 2];
        let (system, planted) = random::System::critical(&mut random, false, disguise(condition));
        let to = random.between(-0.05, 0.05);
        let mut family = Moved { system, to };
        let found = IntervalAnalysis::new(&mut family, -0.1, 0.1, DEFAULT_BUDGET);
        most = most.max(found.n_evaluations);
        let here = found
            .exceptional
            .iter()
            .find(|p| (p.time - to).abs() < 1e-10);
        let Some(point) = here else {
            println!(
                "seed {seed}: {planted:?} {:?} {:?}",
                found.exceptional, found.warnings
            );
            assert_ne!(
                found.level,
                SolvabilityLevel::StrangenessIndex,
                "seed {seed}"
            );
            missed += 1;
            continue;
        };
        worst = worst.max((point.time - to).abs());
        match point.kind {
            PointKind::RankChange {
                level,
                stage,
                chain,
                ..
            } => {
                assert_eq!(
                    (level, stage),
                    (planted.level, planted.stage),
                    "seed {seed}"
                );
                assert!(
                    chain.is_none_or(|kind| planted.kind.is_none_or(|planted| planted == kind)),
                    "seed {seed}"
                );
            }
            other => panic!("seed {seed}: {other:?}"),
        }
        assert_eq!(
            found.exceptional.len(),
            1,
            "seed {seed}: {:?}",
            found.exceptional
        );
    }
    println!("worst {worst:.1e}, {missed} not located, at most {most} evaluations");
    assert!(missed <= 3);
}

/// A polynomial in t, lowest coefficient first.
type Polynomial = Vec<f64>;

/// A system with polynomial coefficients, hidden behind unimodular P(t) and Q(t): P and Q have determinant 1 everywhere, so
/// that all exceptional points are those planted.
struct Polynomials {
    shape: (usize, usize),
    /// E and B by entry, row by row.
    e: Vec<Polynomial>,
    b: Vec<Polynomial>,
}

impl LinearFamily for Polynomials {
    fn n_equations(&self) -> usize {
        self.shape.0
    }

    fn n_unknowns(&self) -> usize {
        self.shape.1
    }

    fn at(&mut self, time: f64, order: usize) -> Result<LinearSeries, Undefined> {
        let (m, n) = self.shape;
        let expand = |list: &[Polynomial]| -> Vec<Mat> {
            (0..=order)
                .map(|q| Mat::from_fn(m, n, |i, j| taylor(&list[i * n + j], time, q)))
                .collect()
        };
        let matrices = MatrixSeries::new(expand(&self.e), expand(&self.b)).expect("equal shapes");
        let f = vec![vec![0.0; m]; order + 1];
        Ok(LinearSeries { matrices, f })
    }
}

/// Coefficient q of a polynomial expanded at t, by Horner's rule.
fn taylor(p: &[f64], t: f64, q: usize) -> f64 {
    let binomial = |n: usize| (0..q).fold(1.0, |b, i| b * (n - i) as f64 / (i + 1) as f64);
    (q..p.len())
        .rev()
        .fold(0.0, |sum, n| sum * t + p[n] * binomial(n))
}

fn times(a: &[f64], b: &[f64]) -> Polynomial {
    if a.is_empty() || b.is_empty() {
        return vec![];
    }
    let mut out = vec![0.0; a.len() + b.len() - 1];
    for (i, x) in a.iter().enumerate() {
        for (j, y) in b.iter().enumerate() {
            out[i + j] += x * y;
        }
    }
    out
}

/// An m x n matrix of polynomials, row by row.
#[derive(Clone)]
struct PolyMat(usize, usize, Vec<Polynomial>);

impl PolyMat {
    fn zeros(m: usize, n: usize) -> Self {
        Self(m, n, vec![vec![]; m * n])
    }

    fn product(&self, other: &Self) -> Self {
        let mut out = Self::zeros(self.0, other.1);
        for i in 0..self.0 {
            for j in 0..other.1 {
                let sum = &mut out.2[i * other.1 + j];
                for k in 0..self.1 {
                    let term = times(&self.2[i * self.1 + k], &other.2[k * other.1 + j]);
                    sum.resize(sum.len().max(term.len()), 0.0);
                    sum.iter_mut().zip(&term).for_each(|(s, t)| *s += t);
                }
            }
        }
        out
    }

    fn derivative(&self) -> Self {
        let rate = |p: &Polynomial| -> Polynomial {
            p.iter()
                .enumerate()
                .skip(1)
                .map(|(k, c)| k as f64 * c)
                .collect()
        };
        Self(self.0, self.1, self.2.iter().map(rate).collect())
    }

    /// Lower times upper triangular with ones on the diagonal.
    fn unimodular(random: &mut Random, n: usize) -> Self {
        let mut triangular = |lower: bool| {
            let mut out = Self::zeros(n, n);
            for i in 0..n {
                for j in 0..n {
                    if i == j {
                        out.2[i * n + j] = vec![1.0];
                    } else if (i > j) == lower && random.below(2) == 0 {
                        out.2[i * n + j] = (0..3).map(|_| random.between(-0.7, 0.7)).collect();
                    }
                }
            }
            out
        };
        let (lower, upper) = (triangular(true), triangular(false));
        lower.product(&upper)
    }
}

/// A random system with points planted at several levels, and where they are.
fn several_points(random: &mut Random) -> (Polynomials, Vec<f64>, [usize; 5]) {
    let mut times_planted: Vec<f64> = Vec::new();
    let mut polynomial = |random: &mut Random| -> Polynomial {
        let mut out = vec![random.between(0.5, 2.0)];
        for _ in 0..random.below(3) {
            let zero = random.between(-1.0, 1.0);
            if times_planted.iter().all(|t| (t - zero).abs() > 0.08) {
                times_planted.push(zero);
                for _ in 0..[1, 1, 2, 3][random.below(4)] {
                    out = times(&out, &[-zero, 1.0]);
                }
            }
        }
        out
    };
    // Entries (row, column, polynomial) of E and A; blocks of known quantities.
    let (mut m, mut n) = (0, 0);
    let (mut e, mut a) = (Vec::new(), Vec::new());
    let mut quantities = [0; 5];
    let one = || vec![1.0];
    for _ in 0..1 + random.below(4) {
        match random.below(6) {
            0 => {
                e.push((m, n, polynomial(random)));
                a.push((m, n, vec![random.between(0.3, 2.0)]));
                quantities[1] += 1;
                (m, n) = (m + 1, n + 1);
            }
            1 => {
                a.push((m, n, polynomial(random)));
                quantities[2] += 1;
                (m, n) = (m + 1, n + 1);
            }
            2 => {
                // x2' = w x1, 0 = x2.
                e.push((m, n + 1, one()));
                a.extend([(m, n, polynomial(random)), (m + 1, n + 1, one())]);
                quantities[2] += 2;
                quantities[0] = quantities[0].max(1);
                (m, n) = (m + 2, n + 2);
            }
            3 => {
                // w x2' = x1, 0 = x2.
                e.push((m, n + 1, polynomial(random)));
                a.extend([(m, n, one()), (m + 1, n + 1, one())]);
                quantities[2] += 2;
                quantities[0] = quantities[0].max(1);
                (m, n) = (m + 2, n + 2);
            }
            4 => {
                // x1' = x2 with x2 free.
                e.push((m, n, one()));
                a.push((m, n + 1, one()));
                quantities[1] += 1;
                quantities[3] += 1;
                (m, n) = (m + 1, n + 2);
            }
            _ => {
                // 0 = x1, x1' = 0: one too many.
                e.push((m, n, one()));
                a.push((m + 1, n, one()));
                quantities[2] += 1;
                quantities[4] += 1;
                quantities[0] = quantities[0].max(1);
                (m, n) = (m + 2, n + 1);
            }
        }
    }
    let matrix = |entries: Vec<(usize, usize, Polynomial)>| {
        let mut out = PolyMat::zeros(m, n);
        for (i, j, p) in entries {
            out.2[i * n + j] = p;
        }
        out
    };
    let (e, a) = (matrix(e), matrix(a));
    let (p, q) = (
        PolyMat::unimodular(random, m),
        PolyMat::unimodular(random, n),
    );
    let new_e = p.product(&e).product(&q);
    let minus = p.product(&a).product(&q);
    let rate = p.product(&e).product(&q.derivative());
    let b = (rate.2.iter().zip(&minus.2))
        .map(|(r, a)| {
            let get = |p: &Polynomial, k: usize| p.get(k).copied().unwrap_or(0.0);
            (0..r.len().max(a.len()))
                .map(|k| get(r, k) - get(a, k))
                .collect()
        })
        .collect();
    times_planted.sort_by(f64::total_cmp);
    let family = Polynomials {
        shape: (m, n),
        e: new_e.2,
        b,
    };
    (family, times_planted, quantities)
}

/// How many systems to try: few in every run, more on request.
fn n_cases() -> u64 {
    let asked = std::env::var("DAELIGHT_CASES").ok();
    asked.and_then(|n| n.parse().ok()).unwrap_or(120)
}

#[test]
fn several_planted_points_at_several_levels() {
    let (mut n_points, mut worst, mut n_open, mut most) = (0, 0.0_f64, 0, 0);
    for seed in 0..n_cases() {
        let mut random = Random::new(110_000 + seed);
        let (mut family, planted, quantities) = several_points(&mut random);
        let found = IntervalAnalysis::new(&mut family, -1.0, 1.0, DEFAULT_BUDGET);
        most = most.max(found.n_evaluations);
        let times: Vec<f64> = found.exceptional.iter().map(|p| p.time).collect();
        let right = times.len() == planted.len()
            && times
                .iter()
                .zip(&planted)
                .all(|(a, b)| (a - b).abs() < 1e-10);
        if !right {
            println!(
                "seed {seed}: {:?} planted {planted:?} {:?}",
                &times[..times.len().min(6)],
                &found.warnings[..found.warnings.len().min(4)]
            );
            // Nothing is invented, and what is missed lies where nothing was claimed.
            for t in &times {
                assert!(
                    planted.iter().any(|p| (t - p).abs() < 1e-10),
                    "seed {seed}: {t}"
                );
            }
            for p in &planted {
                let is_found = times.iter().any(|t| (t - p).abs() < 1e-10);
                let is_open = found.open.iter().any(|(l, r)| l <= p && p <= r);
                assert!(is_found || is_open, "seed {seed}: {p}");
            }
            n_open += 1;
            continue;
        }
        n_points += planted.len();
        let off = times.iter().zip(&planted).map(|(a, b)| (a - b).abs());
        worst = worst.max(off.fold(0.0, f64::max));
        for interval in &found.intervals {
            if let Some(indices) = &interval.indices {
                let s = indices.strangeness;
                let here = [
                    s.index,
                    s.n_differential,
                    s.n_algebraic,
                    s.n_free,
                    s.n_redundant,
                ];
                assert_eq!(here, quantities, "seed {seed}");
            }
        }
    }
    println!(
        "{n_points} points, worst {worst:.1e}, {n_open} cases open, at most {most} evaluations"
    );
    // 4 % remain open, in part: points of order 3, and disguises that cost many digits.
    assert!(n_open * 12 <= n_cases());
}
