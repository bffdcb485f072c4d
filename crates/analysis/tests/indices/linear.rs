//! Linear reference problems E(t) x' = A(t) x + f(t) with published characteristic quantities, at several points.
//!
//! P. Kunkel and V. Mehrmann, *Differential-Algebraic Equations* (2006), and hand computation; every line is confirmed by
//! reduction, derivative array and, where square and regular, 1-fullness and chain.

use daelight_analysis::array::{
    DerivativeArray, consistency_conditions, hypothesis_level, hypothesis_order,
};
use daelight_analysis::chain::{Chain, CriticalKind, kind_of_point};
use daelight_analysis::decide::Support;
use daelight_analysis::fullness::Fullness;
use daelight_analysis::scaling::Scaling;
use daelight_analysis::{Because, IndexQuestion, IndexVerdict, MatrixSeries, Stage, decide};
use daelight_linalg::Mat;

/// Coefficients of a polynomial in t, lowest first.
type Polynomial = &'static [f64];

struct Problem {
    e: &'static [&'static [Polynomial]],
    a: &'static [&'static [Polynomial]],
    n_unknowns: usize,
}

const ORDER: usize = 6;

impl Problem {
    /// Taylor coefficients at t of E and of B = -A.
    fn at(&self, t: f64) -> MatrixSeries {
        let series = |rows: &[&[Polynomial]], sign: f64| -> Vec<Mat> {
            (0..=ORDER)
                .map(|q| {
                    Mat::from_fn(rows.len(), self.n_unknowns, |i, j| {
                        sign * taylor(rows[i][j], t, q)
                    })
                })
                .collect()
        };
        MatrixSeries::new(series(self.e, 1.0), series(self.a, -1.0)).expect("equal shapes")
    }
}

/// Coefficient q of a polynomial expanded at t.
fn taylor(p: Polynomial, t: f64, q: usize) -> f64 {
    let binomial = |n: usize| (0..q).fold(1.0, |b, i| b * (n - i) as f64 / (i + 1) as f64);
    (q..p.len())
        .map(|n| p[n] * binomial(n) * t.powi((n - q) as i32))
        .sum()
}

const O: Polynomial = &[];
const I: Polynomial = &[1.0];
const T: Polynomial = &[0.0, 1.0];

/// mu, d, a, u, v and the differentiation index at each of the points.
fn check(problem: &Problem, points: &[f64], expected: [usize; 5], nu: Option<usize>) {
    for &t in points {
        let series = problem.at(t);
        let decision = decide(&IndexQuestion::new(&series));
        let indices = match &decision.outcome {
            IndexVerdict::Regular(answer) => {
                assert_eq!(answer.support, Support::ReductionAndArray);
                &answer.indices
            }
            other => panic!("t = {t}: {other:?}"),
        };
        let s = indices.strangeness;
        let found = [
            s.index,
            s.n_differential,
            s.n_algebraic,
            s.n_free,
            s.n_redundant,
        ];
        assert_eq!(found, expected, "t = {t}");
        assert_eq!(indices.differentiation_index, nu, "t = {t}");
        let scaled = decision.scaling.apply(&series);
        let array = DerivativeArray::new(&scaled, 0.0);
        let level = hypothesis_level(&array, s.index).expect("decided");
        assert_eq!(
            level.n_differential, s.n_differential,
            "rank E T at t = {t}"
        );
        if let Some(nu) = nu {
            let fullness = Fullness::new(&array, &decision.scaling);
            assert_eq!(fullness.conclusion, Ok(Some((nu, s.n_differential))));
            let chain = Chain::new(&scaled, 0.0).expect("square");
            let values = indices.characteristic_values.as_deref();
            assert_eq!(
                chain.characteristic_values(),
                values,
                "{:?}",
                chain.conclusion
            );
            let near = kind_of_point(&series, 0.0, |i| {
                Some(problem.at(t + 0.01 * (1.0 + i as f64)))
            });
            assert_eq!(near, Ok(None));
        }
    }
}

#[test]
fn km_singular_has_a_free_unknown_and_a_redundant_equation() {
    let problem = Problem {
        e: &[&[&[0.0, -1.0], &[0.0, 0.0, 1.0]], &[&[-1.0], T]],
        a: &[&[&[-1.0], O], &[O, &[-1.0]]],
        n_unknowns: 2,
    };
    check(&problem, &[-1.0, 0.0, 0.5, 2.0], [1, 0, 1, 1, 1], None);
    // The hypothesis holds literally one level earlier, before the redundant equation shows.
    let series = problem.at(0.5);
    let scaled = Scaling::by_low_orders(&series, None).apply(&series);
    assert_eq!(
        hypothesis_order(&DerivativeArray::new(&scaled, 0.0), 0),
        Ok(0)
    );
    // Solutions need h1' - t h2' = 0.
    for t in [-1.0, 0.0, 0.5, 200.0] {
        let series = problem.at(t);
        let scaling = Scaling::by_low_orders(&series, None);
        let array = DerivativeArray::new(&scaling.apply(&series), 0.0);
        let conditions = consistency_conditions(&array, &scaling, 1).expect("decided");
        assert_eq!(conditions.ncols(), 1);
        let on_h: Vec<f64> = (conditions.col(0).iter())
            .map(|v| v / conditions.col(0)[2])
            .collect();
        for (found, expected) in on_h.iter().zip([0.0, 0.0, 1.0, -t]) {
            assert!(
                (found - expected).abs() < 1e-12 * (1.0 + t.abs()),
                "{on_h:?}"
            );
        }
    }
}

#[test]
fn time_dependent_pair_of_index_three() {
    let problem = Problem {
        e: &[
            &[&[0.0, -1.0, 0.0, 0.5], &[1.0, 0.0, -1.0], T],
            &[&[0.0, 0.0, 0.5], &[0.0, -1.0], I],
            &[&[0.0, 0.0, 0.0, 0.5], &[0.0, 0.0, -1.0], T],
        ],
        a: &[
            &[&[2.0, 0.0, -2.0], &[0.0, 2.0], O],
            &[&[0.0, -2.0], &[2.0], O],
            &[&[0.0, 0.0, -1.5], T, I],
        ],
        n_unknowns: 3,
    };
    check(&problem, &[-1.0, 0.0, 0.5, 2.0], [2, 0, 3, 0, 0], Some(3));
}

#[test]
fn overdetermined_pair() {
    let problem = Problem {
        e: &[&[I, O], &[O, O], &[O, O]],
        a: &[&[O, I], &[I, O], &[O, I]],
        n_unknowns: 2,
    };
    check(&problem, &[0.0, 1.0], [1, 0, 2, 0, 1], None);
    let kind = kind_of_point(&problem.at(0.0), 0.0, |_| Some(problem.at(0.01)));
    assert_eq!(kind, Err(Because::NotSquare));
}

#[test]
fn underdetermined_equation() {
    let problem = Problem {
        e: &[&[I, O]],
        a: &[&[O, T]],
        n_unknowns: 2,
    };
    check(&problem, &[-1.0, 0.0, 1.0], [0, 1, 0, 1, 0], None);
}

#[test]
fn free_unknown_beside_a_hidden_constraint() {
    let problem = Problem {
        e: &[&[I, O, O], &[O, O, O]],
        a: &[&[O, I, O], &[I, O, O]],
        n_unknowns: 3,
    };
    check(&problem, &[0.0, 1.0], [1, 0, 2, 1, 0], None);
}

#[test]
fn rank_change_at_zero_is_a_critical_point() {
    let problem = Problem {
        e: &[&[O, T], &[O, O]],
        a: &[&[I, O], &[O, I]],
        n_unknowns: 2,
    };
    check(&problem, &[-1.0, 0.25, 3.0], [1, 0, 2, 0, 0], Some(2));
    let series = problem.at(0.0);
    let neighbour = |i: usize| Some(problem.at(0.01 * (1.0 + i as f64)));
    let question = IndexQuestion {
        neighbour: &neighbour,
        ..IndexQuestion::new(&series)
    };
    match decide(&question).outcome {
        IndexVerdict::Critical {
            level: 0,
            stage: Stage::Differential,
            rank: 0,
            rank_nearby: 1,
            nearby: Some(nearby),
        } => assert_eq!(nearby.differentiation_index, Some(2)),
        other => panic!("{other:?}"),
    }
    assert_eq!(
        kind_of_point(&series, 0.0, neighbour),
        Ok(Some(CriticalKind::RankDrop(0)))
    );
    // Without neighbours nothing is claimed.
    let outcome = decide(&IndexQuestion::new(&series)).outcome;
    let because = Because::CriticalUnconfirmed { level: 0 };
    assert!(matches!(outcome, IndexVerdict::Unknown { because: b } if b == because));
    // Nor with too few coefficients to see the change, although the array alone would be sure of mu = 0.
    let short = decide(&IndexQuestion::new(&series.truncated(1)));
    assert_eq!(short.array.conclusion.map(|s| s.index), Ok(0));
    let because = Because::SeriesTooShort { order: 2 };
    assert!(matches!(short.outcome, IndexVerdict::Unknown { because: b } if b == because));
    // The hypothesis A.3 holds at t = 0 from order 1 on: a = 2, d = 0 as beside it.
    let array = DerivativeArray::new(&series, 0.0);
    let level = hypothesis_level(&array, 1).expect("decided");
    assert_eq!((level.n_algebraic, level.n_differential), (2, 0));
}

#[test]
fn empty_rectangular_and_not_finite_input_has_an_outcome() {
    for (m, n) in [(0, 0), (0, 3), (3, 0), (1, 4), (4, 1), (2, 2)] {
        for value in [0.0, 1.0, f64::NAN, f64::INFINITY, 1e308, 1e-308] {
            for order in [0, 1, 4] {
                let c = Mat::from_fn(m, n, |_, _| value);
                let series = MatrixSeries::constant(c.clone(), c, order).expect("shapes");
                let outcome = decide(&IndexQuestion::new(&series)).outcome;
                if !value.is_finite() && m * n > 0 {
                    assert!(
                        matches!(
                            outcome,
                            IndexVerdict::Unknown {
                                because: Because::NotFinite
                            }
                        ),
                        "{m} x {n} of {value}: {outcome:?}"
                    );
                }
                if let Some(indices) = outcome.indices() {
                    let s = indices.strangeness;
                    assert_eq!(s.n_differential + s.n_algebraic + s.n_free, n);
                    assert_eq!(s.n_differential + s.n_algebraic + s.n_redundant, m);
                }
                let scaling = Scaling::by_low_orders(&series, None);
                let array = DerivativeArray::new(&scaling.apply(&series), 0.0);
                assert!(Fullness::new(&array, &scaling).levels.len() <= n);
                assert_eq!(Chain::new(&series, 0.0).is_some(), m == n);
            }
        }
    }
    assert!(MatrixSeries::<Mat>::new(vec![], vec![]).is_err());
    assert!(MatrixSeries::new(vec![Mat::zeros(1, 2)], vec![Mat::zeros(2, 1)]).is_err());
}
