//! Linear systems: recognition, series, the canonical form with its solutions, the reduced system, conditions on f.
//!
//! The reference problems D1, D2, D3, D3b, D4 and Example 6.1 of Kunkel and Mehrmann (2006) have quantities and closed
//! solutions from an independent reference computation; they are repeated in `docs/theory/linear.md`.

use crate::common;
use crate::indices::random;
use crate::indices::random::{Disguise, Random};
#[allow(dead_code, reason = "shared with the index tests")]
use daelight_analysis::canonical::{CanonicalForm, ConsistencyVerdict};
use daelight_analysis::dense::Dense;
use daelight_analysis::linear::{LinearFamily, LinearSeries, LinearSystem, MarkKind};
use daelight_analysis::series::Series;
use daelight_analysis::{Because, System};
use daelight_linalg::Mat;

const ORDER: usize = 14;

/// The text of a linear model from the rows of E x' - A x = f.
fn text(n: usize, rows: &[&str]) -> String {
    let names: Vec<String> = (1..=n).map(|i| format!("x{i}")).collect();
    let equations: String = rows.iter().map(|row| format!("  {row};\n")).collect();
    format!(
        "model M\n  Real {};\nequation\n{equations}end M;\n",
        names.join(", ")
    )
}

fn example_6_1(h1: &str) -> String {
    text(
        2,
        &[
            &format!("-time*der(x1) + time^2*der(x2) = -x1 + ({h1})"),
            "-der(x1) + time*der(x2) = -x2 + sin(time)",
        ],
    )
}

/// D1: x = T y with T = [1 0 0; t 1 0; t^2/2 t 1], f = P g, P = [1 t 0; 0 1 0; 0 t 1], g = (sin t, cos t, t^3), whose
/// solution is y = (-6 t, -3 t^2 - cos t, -t^3).
fn d1() -> String {
    text(
        3,
        &[
            "(time^3/2 - time)*der(x1) + (1 - time^2)*der(x2) + time*der(x3) = (2 - 2*time^2)*x1 + 2*time*x2 + sin(time) + time*cos(time)",
            "time^2/2*der(x1) - time*der(x2) + der(x3) = -2*time*x1 + 2*x2 + cos(time)",
            "time^3/2*der(x1) - time^2*der(x2) + time*der(x3) = -3*time^2/2*x1 + time*x2 + x3 + time*cos(time) + time^3",
        ],
    )
}

fn at(system: &System, t: f64) -> LinearSeries {
    let mut linear = LinearSystem::new(system).expect("linear");
    linear.at(t, ORDER).expect("defined")
}

fn size(s: &Series<Mat>) -> f64 {
    let largest = |c: &Mat| c.as_slice().iter().fold(0.0_f64, |m, v| m.max(v.abs()));
    s.coefficients().iter().map(largest).fold(0.0, f64::max)
}

/// E x' - A x - f along a series.
fn residual(series: &LinearSeries, x: &Series<Mat>) -> Series<Mat> {
    let f: Vec<Mat> = (series.f.iter())
        .map(|c| Mat::from_fn(c.len(), 1, |i, _| c[i]))
        .collect();
    let (e, b) = (series.matrices.e(), series.matrices.b());
    let left = e
        .product(&x.derivative().expect("long"))
        .plus(1.0, &b.product(x));
    let f = Mat::from_fn(f[0].nrows(), f.len(), |i, k| f[k][(i, 0)]);
    let mut k = 0;
    left.map(|c| {
        let mut out = c.clone();
        out.add_multiple(-1.0, &f.block(0, k, f.nrows(), 1));
        k += 1;
        out
    })
}

fn value(x: &Series<Mat>, i: usize, k: usize) -> f64 {
    x.coefficient(k)[(i, 0)]
}

/// The solution space by substitution: E Phi' = A Phi, E Psi = 0, E (Phi L + Psi') = A Psi; [Phi Psi Theta] regular.
fn check_form(series: &LinearSeries, form: &CanonicalForm, tolerance: f64) {
    let (e, b) = (series.matrices.e(), series.matrices.b());
    let (phi, psi) = (form.phi(), form.psi());
    let rate = |x: &Series<Mat>| x.derivative().expect("long");
    let scale = |x: &Series<Mat>| size(x).max(1.0) * (size(e) + size(b));
    let first = e.product(&rate(&phi)).plus(1.0, &b.product(&phi));
    assert!(size(&first) <= tolerance * scale(&phi), "{}", size(&first));
    assert!(size(&e.product(&psi)) <= tolerance * scale(&psi));
    let moved = phi.product(&form.l).plus(1.0, &rate(&psi));
    let second = e.product(&moved).plus(1.0, &b.product(&psi));
    let both = scale(&psi) + size(&phi) * size(&form.l) * size(e);
    assert!(size(&second) <= tolerance * both, "{}", size(&second));
    assert!(form.q.inverse().is_ok() && form.p.inverse().is_ok());
    assert!(form.defect <= tolerance, "{:e}", form.defect);
    // G is nilpotent: its power mu + 1 vanishes, for every coefficient of the product.
    let mut power = form.g.clone();
    for _ in 0..form.indices.strangeness.index {
        power = power.product(&form.g);
    }
    let g = size(&form.g).max(1.0);
    assert!(size(&power) <= tolerance * g.powi(form.indices.strangeness.index as i32 + 1));
}

fn check(text: &str, t: f64, expected: [usize; 5]) -> (LinearSeries, CanonicalForm) {
    let system = common::system(text);
    let series = at(&system, t);
    let form = CanonicalForm::new(&series.matrices).expect("regular");
    let s = form.indices.strangeness;
    let found = [
        s.index,
        s.n_differential,
        s.n_algebraic,
        s.n_free,
        s.n_redundant,
    ];
    assert_eq!(found, expected);
    check_form(&series, &form, 1e-10);
    // Any choice of the free quantities solves the equations.
    let alpha = vec![0.7; s.n_differential];
    let free: Vec<Vec<f64>> = (0..ORDER)
        .map(|k| vec![0.3 - 0.1 * k as f64; s.n_free])
        .collect();
    let consistency = form.consistency(&series.f).expect("long enough");
    assert_eq!(consistency.n_conditions, s.n_redundant);
    if consistency.verdict == ConsistencyVerdict::Satisfied {
        let x = form
            .solution(&series.f, &alpha, &free)
            .expect("long enough");
        assert!(size(&residual(&series, &x)) < 1e-10);
        let reduced = form.reduced(&series).expect("long enough");
        let first = reduced
            .e1
            .product(&x.derivative().expect("long"))
            .plus(-1.0, &reduced.a1.product(&x))
            .plus(-1.0, &reduced.f1);
        let second = reduced.a2.product(&x).plus(1.0, &reduced.f2);
        assert!(size(&first) < 1e-10 && size(&second) < 1e-10 && size(&reduced.f3) < 1e-10);
    }
    (series, form)
}

#[test]
fn example_6_1_is_consistent_only_with_the_right_h() {
    for t in [-1.0, 0.0, 0.5, 2.0] {
        let (series, form) = check(
            &example_6_1("time*sin(time) + cos(time)"),
            t,
            [1, 0, 1, 1, 1],
        );
        let good = form.consistency(&series.f).expect("long enough");
        assert_eq!(good.verdict, ConsistencyVerdict::Satisfied);
        assert!(good.relative < 1e-13);
        let (series, form) = check(
            &example_6_1("time*sin(time) + cos(time) + time"),
            t,
            [1, 0, 1, 1, 1],
        );
        let bad = form.consistency(&series.f).expect("long enough");
        assert_eq!(bad.verdict, ConsistencyVerdict::Violated);
        assert!(bad.to_string().contains("no solution"));
        // The solution x1 = t x2 + cos t with any x2: Psi spans (t, 1), Theta determines x1 - t x2.
        let psi = form.psi();
        assert!((psi.coefficient(0)[(0, 0)] - t * psi.coefficient(0)[(1, 0)]).abs() < 1e-13);
    }
}

#[test]
fn library_model_knows_whether_it_is_consistent() {
    for (defect, verdict) in [
        (0.0, ConsistencyVerdict::Satisfied),
        (1.0, ConsistencyVerdict::Violated),
        (1e-3, ConsistencyVerdict::Violated),
    ] {
        let mut system = common::system(&common::text("km-singular"));
        system.set_parameter("defect", defect).expect("a parameter");
        let series = at(&system, 0.3);
        let form = CanonicalForm::new(&series.matrices).expect("regular");
        assert_eq!(
            form.indices.strangeness.to_string(),
            "mu = 1, d = 0, a = 1, u = 1, v = 1"
        );
        let found = form.consistency(&series.f).expect("long enough");
        assert_eq!(found.verdict, verdict, "defect {defect}: {found}");
    }
}

#[test]
fn d1_has_its_closed_solution() {
    for t in [-1.0, 0.0, 0.5, 2.0] {
        let (series, form) = check(&d1(), t, [2, 0, 3, 0, 0]);
        assert_eq!(form.indices.differentiation_index, Some(3));
        let x = form.solution(&series.f, &[], &[]).expect("long enough");
        let y = [-6.0 * t, -3.0 * t * t - t.cos(), -t * t * t];
        let expected = [y[0], t * y[0] + y[1], t * t / 2.0 * y[0] + t * y[1] + y[2]];
        for (i, expected) in expected.into_iter().enumerate() {
            assert!((value(&x, i, 0) - expected).abs() < 1e-12 * (1.0 + expected.abs()));
        }
    }
}

#[test]
fn overdetermined_d2_needs_f1_minus_f3_plus_the_rate_of_f2_to_vanish() {
    for (f3, verdict) in [
        ("sin(time) + 2*time", ConsistencyVerdict::Satisfied),
        ("sin(time)", ConsistencyVerdict::Violated),
    ] {
        let rows = [
            "der(x1) = x2 + sin(time)",
            "0 = x1 + time^2",
            &format!("0 = x2 + {f3}"),
        ];
        let (series, form) = check(&text(2, &rows), 0.4, [1, 0, 2, 0, 1]);
        let found = form.consistency(&series.f).expect("long enough");
        assert_eq!(found.verdict, verdict);
        // The residual is the condition itself, up to a factor: here f1 - f3 + f2' is 2 t or 0.
        let x = form.solution(&series.f, &[], &[]).expect("long enough");
        if verdict == ConsistencyVerdict::Satisfied {
            assert!((value(&x, 0, 0) + 0.16).abs() < 1e-14);
            assert!((value(&x, 1, 0) + 0.4_f64.sin() + 0.8).abs() < 1e-14);
        }
    }
}

#[test]
fn underdetermined_problems_have_free_unknowns() {
    check(
        &text(2, &["der(x1) = time*x2 + cos(time)"]),
        0.3,
        [0, 1, 0, 1, 0],
    );
    let rows = ["der(x1) = x2 + exp(time)", "0 = x1 + sin(time)"];
    let (series, form) = check(&text(3, &rows), 0.3, [1, 0, 2, 1, 0]);
    let x = form
        .solution(&series.f, &[], &[vec![2.0]])
        .expect("long enough");
    assert!((value(&x, 0, 0) + 0.3_f64.sin()).abs() < 1e-14);
    assert!((value(&x, 1, 0) + 0.3_f64.cos() + 0.3_f64.exp()).abs() < 1e-13);
}

#[test]
fn no_form_where_a_rank_changes() {
    let d4 = text(2, &["time*der(x2) = x1 + sin(time)", "0 = x2 + cos(time)"]);
    check(&d4, 0.5, [1, 0, 2, 0, 0]);
    let system = common::system(&d4);
    let found = CanonicalForm::new(&at(&system, 0.0).matrices);
    assert_eq!(found.err(), Some(Because::RankChanges { level: 0 }));
    let short = at(&system, 0.5).matrices.truncated(2);
    let found = CanonicalForm::new(&short).err();
    assert!(
        matches!(found, Some(Because::SeriesTooShort { .. })),
        "{found:?}"
    );
}

#[test]
fn what_is_not_linear_is_named() {
    let system = common::system(&text(2, &["der(x1) = x2", "x1*x2 = time"]));
    let found = LinearSystem::new(&system).err().expect("not linear");
    assert_eq!((found.equation, found.derivative), (1, 0));
    assert_eq!(
        found.to_string(),
        "not linear: the derivative of `x1*x2 = time` by `x1` is `x2`, which holds unknowns"
    );
    for not in [
        "x1 = max(x2, 0)",
        "der(x1)^2 = x2",
        "x1 = if x2 > 0 then 1 else 2*x2",
    ] {
        let system = common::system(&text(2, &[not, "x2 = time"]));
        assert!(LinearSystem::new(&system).is_err(), "{not}");
    }
    // Linear in disguise: the squares cancel.
    let system = common::system(&text(1, &["der(x1) = if time > 1 then x1 else -x1"]));
    let linear = LinearSystem::new(&system).expect("linear");
    assert_eq!(linear.marks().len(), 1);
    assert_eq!(linear.marks()[0].kind, MarkKind::Switch);
}

#[test]
fn a_pole_of_the_coefficients_is_explained() {
    let system = common::system(&text(1, &["der(x1) = x1/time + log(2 - time)"]));
    let mut linear = LinearSystem::new(&system).expect("linear");
    let found = linear.at(0.0, 3).expect_err("a pole");
    assert!(found.sentence.contains("division by zero"), "{found}");
    let found = linear.at(3.0, 3).expect_err("no logarithm");
    assert!(found.sentence.contains("log of a number"), "{found}");
    let series = linear.at(1.0, 3).expect("defined");
    assert_eq!(series.f[0], [0.0]);
    assert_eq!(series.f[1], [-1.0]);
    assert_eq!(series.matrices.b().coefficient(0)[(0, 0)], -1.0);
    assert_eq!(series.matrices.b().coefficient(1)[(0, 0)], 1.0);
    assert_eq!(linear.marks().len(), 2);
}

#[test]
fn random_systems_satisfy_their_form() {
    let mut worst: f64 = 0.0;
    for seed in 0..200 {
        let mut random = Random::new(70_000 + seed);
        let disguise = Disguise {
            condition: [10.0, 100.0][seed as usize % 2],
            scaling: 0.0,
            time: 0.0,
            shape: random::Shape::Far,
        };
        let system = random::System::regular(&mut random, seed % 4 == 0, disguise);
        let matrices = system.rounded_at(0.0, ORDER);
        let form = match CanonicalForm::new(&matrices) {
            Ok(form) => form,
            Err(because) => panic!("seed {seed}: {because}"),
        };
        assert_eq!(form.indices, system.indices, "seed {seed}");
        worst = worst.max(form.defect);
        // Every level solves once with a matrix of the condition of the disguise.
        let amplified = disguise
            .condition
            .powi(form.indices.strangeness.index as i32 + 1);
        let bound = (1e-14 * amplified).clamp(1e-10, 1e-8);
        assert!(form.defect < bound, "seed {seed}: {:e}", form.defect);
        // A right-hand side that belongs to a solution is consistent, and one that does not is not.
        let x: Vec<Mat> = (0..=ORDER + 1)
            .map(|_| Mat::from_fn(matrices.ncols(), 1, |_, _| random.between(-1.0, 1.0)))
            .collect();
        let mut f: Vec<Vec<f64>> = (0..=ORDER)
            .map(|k| {
                let mut sum = Mat::zeros(matrices.nrows(), 1);
                for i in 0..=k {
                    let (e, b) = (matrices.e().coefficient(i), matrices.b().coefficient(i));
                    sum.add_multiple((k - i + 1) as f64, &e.product(&x[k - i + 1]));
                    sum.add_multiple(1.0, &b.product(&x[k - i]));
                }
                sum.col(0).to_vec()
            })
            .collect();
        let good = form.consistency(&f).expect("long enough");
        assert_eq!(
            good.verdict,
            ConsistencyVerdict::Satisfied,
            "seed {seed}: {good}"
        );
        if good.n_conditions > 0 {
            for c in &mut f {
                c.iter_mut().for_each(|v| *v += random.between(-1.0, 1.0));
            }
            let bad = form.consistency(&f).expect("long enough");
            assert_eq!(
                bad.verdict,
                ConsistencyVerdict::Violated,
                "seed {seed}: {bad}"
            );
        }
    }
    println!("largest defect {worst:.1e}");
}
