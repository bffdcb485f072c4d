//! The two-link arm of `models/robotic-arm` along its exact solution and on critical jets: index 5, with published numbers.
//!
//! Characteristic values, ranks of the projectors and kinds of singular points are those of D. Estévez Schwarz and R. Lamour
//! (`models/robotic-arm/SOURCE.md`). The condition numbers and the ranks at critical points were computed independently, in
//! 40-digit arithmetic.

use super::random::Random;
use crate::common;
use daelight_analysis::array::DerivativeArray;
use daelight_analysis::chain::{CriticalKind, kind_of_point};
use daelight_analysis::fullness::{Fullness, condition};
use daelight_analysis::scaling::Scaling;
use daelight_analysis::{IndexQuestion, IndexVerdict, MatrixSeries, decide};
use daelight_linalg::Mat;
use std::ops::{Add, Mul, Sub};

const ORDER: usize = 8;
const N: usize = 8;

/// A Taylor polynomial with its derivatives by the eight unknowns, or with none of them.
#[derive(Clone, Debug)]
struct Jet {
    value: Vec<f64>,
    partials: Vec<Vec<f64>>,
}

fn combine(a: &[f64], b: &[f64], f: impl Fn(f64, f64) -> f64) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| f(*a, *b)).collect()
}

fn convolve(a: &[f64], b: &[f64]) -> Vec<f64> {
    (0..a.len().min(b.len()))
        .map(|k| (0..=k).map(|i| a[i] * b[k - i]).sum())
        .collect()
}

fn divide(a: &[f64], b: &[f64]) -> Vec<f64> {
    let mut out = Vec::new();
    for k in 0..a.len().min(b.len()) {
        let known: f64 = (1..=k).map(|i| b[i] * out[k - i]).sum();
        out.push((a[k] - known) / b[0]);
    }
    out
}

fn sine_and_cosine(a: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let (mut s, mut c) = (vec![a[0].sin()], vec![a[0].cos()]);
    for k in 1..a.len() {
        let sum = |other: &[f64]| (1..=k).map(|i| i as f64 * a[i] * other[k - i]).sum::<f64>();
        let (next_s, next_c) = (sum(&c) / k as f64, -sum(&s) / k as f64);
        s.push(next_s);
        c.push(next_c);
    }
    (s, c)
}

fn rate(a: &[f64]) -> Vec<f64> {
    (1..a.len()).map(|k| k as f64 * a[k]).collect()
}

impl Jet {
    fn plain(value: Vec<f64>) -> Self {
        Self {
            value,
            partials: Vec::new(),
        }
    }

    fn number(&self, value: f64) -> Self {
        let zeros = vec![0.0; self.value.len()];
        let mut out = zeros.clone();
        out[0] = value;
        Self {
            value: out,
            partials: vec![zeros; self.partials.len()],
        }
    }

    fn div(&self, b: &Self) -> Self {
        let value = divide(&self.value, &b.value);
        let partials = (self.partials.iter().zip(&b.partials))
            .map(|(da, db)| {
                let rest = combine(da, &convolve(&value, db), |x, y| x - y);
                divide(&rest, &b.value)
            })
            .collect();
        Self { value, partials }
    }

    fn sin_cos(&self) -> (Self, Self) {
        let (s, c) = sine_and_cosine(&self.value);
        let minus_s: Vec<f64> = s.iter().map(|v| -v).collect();
        let chain = |outer: &[f64]| self.partials.iter().map(|d| convolve(outer, d)).collect();
        let (ds, dc) = (chain(&c), chain(&minus_s));
        (
            Self {
                value: s,
                partials: ds,
            },
            Self {
                value: c,
                partials: dc,
            },
        )
    }
}

impl Add for &Jet {
    type Output = Jet;
    fn add(self, b: &Jet) -> Jet {
        let sum = |a: &Vec<f64>, b: &Vec<f64>| combine(a, b, |x, y| x + y);
        Jet {
            value: sum(&self.value, &b.value),
            partials: (self.partials.iter().zip(&b.partials))
                .map(|(a, b)| sum(a, b))
                .collect(),
        }
    }
}

impl Sub for &Jet {
    type Output = Jet;
    fn sub(self, b: &Jet) -> Jet {
        self + &(b * &b.number(-1.0))
    }
}

impl Mul for &Jet {
    type Output = Jet;
    fn mul(self, b: &Jet) -> Jet {
        Jet {
            value: convolve(&self.value, &b.value),
            partials: (self.partials.iter().zip(&b.partials))
                .map(|(da, db)| {
                    combine(
                        &convolve(da, &b.value),
                        &convolve(&self.value, db),
                        |x, y| x + y,
                    )
                })
                .collect(),
        }
    }
}

/// The functions a, b, c, d of the model at x3.
fn coefficients(x3: &Jet) -> [Jet; 4] {
    let (sin, cos) = x3.sin_cos();
    let below = &x3.number(2.0) - &(&cos * &cos);
    [
        x3.number(2.0).div(&below),
        cos.div(&below),
        sin.div(&below),
        (&cos * &sin).div(&below),
    ]
}

/// Forces that do not depend on x2, x7, x8: of the first link and of the second.
fn velocity_terms(x3: &Jet, x4: &Jet, x6: &Jet) -> [Jet; 2] {
    let [_, _, c, d] = coefficients(x3);
    let two = x3.number(2.0);
    let sum = x4 + x6;
    let (sum2, x42) = (&sum * &sum, x4 * x4);
    let first = &(&(&two * &c) * &sum2) + &(&x42 * &d);
    let extra = &(&d * &sum2) + &(&(&two * &x42) * &c);
    let second = &(&first * &two.number(-1.0)) - &extra;
    [first, second]
}

/// The right-hand sides of the six differential equations and the left-hand sides of the two constraints.
fn arm(x: &[Jet]) -> Vec<Jet> {
    let [a, b, ..] = coefficients(&x[2]);
    let number = |v: f64| x[0].number(v);
    let spring = &(&number(2.0) * &x[2]) - &x[1];
    let [first, second] = velocity_terms(&x[2], &x[3], &x[5]);
    let two_b = &number(2.0) * &b;
    let f4 = &(&first + &(&spring * &(&a + &two_b))) + &(&a * &x[6]);
    let stiffness = &(&number(1.0) - &(&number(3.0) * &a)) - &two_b;
    let f5 = &(&(&x[7] - &first) + &(&spring * &stiffness)) - &(&a * &x[6]);
    let f6 = &(&second + &(&spring * &(&a - &(&number(9.0) * &b)))) - &(&(&a + &b) * &x[6]);
    let outer = &x[0] + &x[2];
    let ((sin_1, cos_1), (sin_13, cos_13)) = (x[0].sin_cos(), outer.sin_cos());
    vec![
        x[3].clone(),
        x[4].clone(),
        x[5].clone(),
        f4,
        f5,
        f6,
        &cos_1 + &cos_13,
        &sin_1 + &sin_13,
    ]
}

/// E and B along the jets of the eight unknowns.
fn series(x: &[Vec<f64>]) -> MatrixSeries {
    let jets: Vec<Jet> = (0..N)
        .map(|j| {
            let zeros = vec![0.0; ORDER + 1];
            let mut partials = vec![zeros; N];
            partials[j][0] = 1.0;
            Jet {
                value: x[j][..=ORDER].to_vec(),
                partials,
            }
        })
        .collect();
    let f = arm(&jets);
    let sign = |i: usize| if i < 6 { -1.0 } else { 1.0 };
    let b = (0..=ORDER)
        .map(|q| Mat::from_fn(N, N, |i, j| sign(i) * f[i].partials[j][q]))
        .collect();
    let mut e = vec![Mat::zeros(N, N); ORDER + 1];
    e[0] = Mat::from_fn(N, N, |i, j| f64::from(i == j && i < 6));
    MatrixSeries::new(e, b).expect("equal shapes")
}

/// The solution at t: x1 = 1 - exp(t), x3 = exp(t) - t, and the rest from the equations.
fn solution(t: f64) -> Vec<Vec<f64>> {
    let mut factorial = 1.0;
    let exponential: Vec<f64> = (0..ORDER + 8)
        .map(|k| {
            factorial *= (k as f64).max(1.0);
            t.exp() / factorial
        })
        .collect();
    let mut x1: Vec<f64> = exponential.iter().map(|v| -v).collect();
    x1[0] += 1.0;
    let mut x3 = exponential;
    x3[0] -= t;
    x3[1] -= 1.0;
    let (x4, x6) = (rate(&x1), rate(&x3));
    let [j3, j4, j6] = [&x3, &x4, &x6].map(|v| Jet::plain(v.clone()));
    let [a, b, ..] = coefficients(&j3);
    let [first, second] = velocity_terms(&j3, &j4, &j6);
    // (a + 2b) y + a x7 = r1, (a - 9b) y - (a + b) x7 = r2 with y = 2 x3 - x2.
    let r1 = &Jet::plain(rate(&x4)) - &first;
    let r2 = &Jet::plain(rate(&x6)) - &second;
    let (k1, k2) = (&a + &(&b.number(2.0) * &b), &a - &(&b.number(9.0) * &b));
    let ab = &a + &b;
    let det = &(&k1 * &ab) + &(&a * &k2);
    let y = (&(&r1 * &ab) + &(&a * &r2)).div(&det);
    let x7 = (&(&k2 * &r1) - &(&k1 * &r2)).div(&det);
    let x2 = &(&j3.number(2.0) * &j3) - &y;
    let x5 = rate(&x2.value);
    let zero = Jet::plain(vec![0.0; x5.len()]);
    let known: Vec<Jet> = [&x1, &x2.value, &x3, &x4, &x5, &x6, &x7.value]
        .map(|v| Jet::plain(v.clone()))
        .into_iter()
        .chain([zero])
        .collect();
    let x8 = combine(&rate(&x5), &arm(&known)[4].value, |v, f| v - f);
    vec![x1, x2.value, x3, x4, x5, x6, x7.value, x8]
}

#[test]
fn solution_agrees_with_its_reference() {
    // 25 digits at t = -1, computed with another program.
    let expected = [
        0.632_120_558_828_557_7,
        2.668_728_508_953_876_6,
        1.367_879_441_171_442_3,
        -0.367_879_441_171_442_3,
        -1.412_552_021_154_016,
        -0.632_120_558_828_557_7,
        -1.433_787_871_635_088,
        -0.012_800_737_362_576_62,
    ];
    for (x, expected) in solution(-1.0).iter().zip(expected) {
        assert!((x[0] - expected).abs() < 1e-13, "{} {expected}", x[0]);
    }
}

#[test]
fn index_five_by_every_notion() {
    for (t, kappa) in [
        (-1.0, Some(4402.500527491441)),
        (0.5, Some(135866.17993100727)),
        (1.0, Some(11235517.716454817)),
        (1.4, None),
    ] {
        let series = series(&solution(t));
        let neighbour = |i: usize| Some(self::series(&solution(t + 0.01 * (1.0 + i as f64))));
        let question = IndexQuestion {
            neighbour: &neighbour,
            ..IndexQuestion::new(&series)
        };
        let decision = decide(&question);
        let IndexVerdict::Regular(answer) = &decision.outcome else {
            panic!("t = {t}: {:?}", decision.outcome);
        };
        assert_eq!(answer.indices.differentiation_index, Some(5));
        assert_eq!(
            answer.indices.characteristic_values.as_deref(),
            Some(&[6, 6, 6, 7, 7, 8][..])
        );
        assert_eq!(
            answer.indices.strangeness.to_string(),
            "mu = 4, d = 0, a = 8, u = 0, v = 0"
        );
        assert_eq!(kind_of_point(&series, 0.0, neighbour), Ok(None));

        let array = DerivativeArray::new(&decision.scaling.apply(&series), 0.0);
        let fullness = Fullness::new(&array, &decision.scaling);
        assert_eq!(fullness.conclusion, Ok(Some((5, 0))));
        let ranks: Vec<[usize; 3]> = (fullness.levels.iter())
            .map(|level| [level.t_rank, level.v_rank, level.whole.rank])
            .collect();
        let expected = [[2, 4, 12], [2, 2, 18], [1, 1, 25], [1, 0, 32], [0, 0, 40]];
        assert_eq!(ranks, expected, "t = {t}");
        for level in &fullness.levels {
            for p in [&level.t_projector, &level.v_projector] {
                let square = p.matmul(p);
                let off = (square.as_slice().iter().zip(p.as_slice()))
                    .fold(0.0, |m: f64, (a, b)| m.max((a - b).abs()));
                assert!(off < 1e-12);
            }
        }
        // Unknowns left open: among x1..x6 by V_k, among x7, x8 by T_k; the projectors of this model are diagonal.
        let open: [(&[usize], &[usize]); 4] = [
            (&[7, 8], &[2, 4, 5, 6]),
            (&[7, 8], &[2, 5]),
            (&[8], &[5]),
            (&[8], &[]),
        ];
        for (level, (by_t, by_v)) in fullness.levels.iter().zip(open) {
            for (p, names) in [(&level.t_projector, by_t), (&level.v_projector, by_v)] {
                for i in 0..N {
                    for j in 0..N {
                        let expected = f64::from(i == j && names.contains(&(i + 1)));
                        assert!((p[(i, j)] - expected).abs() < 1e-10, "t = {t}: {p:?}");
                    }
                }
            }
        }
        if let Some(kappa) = kappa {
            let found = condition(&series, 5, 6, 40, true).expect("long enough");
            assert!(
                (found / kappa - 1.0).abs() < 1e-8,
                "t = {t}: {found} {kappa}"
            );
        }
    }
}

/// Jets off the solution whose x3 passes through, or stays on, a critical value.
#[test]
fn critical_jets_have_their_published_kinds() {
    let meet = (3.0 - 5_f64.sqrt()).acos();
    let pi = std::f64::consts::PI;
    let mut n_unknown = 0;
    for (x3, kind) in [
        (0.0, Some(CriticalKind::RankDrop(5))),
        (pi, Some(CriticalKind::RankDrop(5))),
        (-pi, Some(CriticalKind::RankDrop(5))),
        (meet, Some(CriticalKind::KernelsMeet(3))),
        (-meet, Some(CriticalKind::KernelsMeet(3))),
        (1.1, None),
    ] {
        for seed in 0..5 {
            let mut random = Random::new(70_000 + seed);
            let stays = seed == 4;
            let mut x: Vec<Vec<f64>> = (0..N)
                .map(|_| (0..=ORDER).map(|_| random.between(-1.0, 1.0)).collect())
                .collect();
            if stays {
                x[2] = vec![0.0; ORDER + 1];
            }
            x[2][0] = x3;
            let neighbour = |i: usize| {
                let mut random = Random::new(71_000 + 10 * seed + i as u64);
                let moved: Vec<Vec<f64>> = (x.iter())
                    .map(|c| {
                        c.iter()
                            .map(|v| v + 1e-2 * (1.0 + v.abs()) * random.between(-2.0, 2.0))
                            .collect()
                    })
                    .collect();
                Some(series(&moved))
            };
            let point = series(&x);
            match kind_of_point(&point, 0.0, neighbour) {
                Ok(found) => assert_eq!(found, kind, "x3 = {x3}, seed {seed}"),
                Err(because) => {
                    println!("x3 = {x3}, seed {seed}: {because}");
                    n_unknown += 1;
                }
            }
            let question = IndexQuestion {
                neighbour: &neighbour,
                ..IndexQuestion::new(&point)
            };
            match (decide(&question).outcome, kind) {
                (IndexVerdict::Regular(answer), None) => {
                    assert_eq!(answer.indices.differentiation_index, Some(5));
                }
                (IndexVerdict::Regular(_), Some(kind)) => assert!(
                    stays,
                    "x3 = {x3}, seed {seed}: called regular at a point of kind {kind}"
                ),
                (IndexVerdict::Critical { .. }, kind) => assert!(kind.is_some()),
                (IndexVerdict::Unknown { because }, _) => {
                    println!("x3 = {x3}, seed {seed}: {because}")
                }
            }
        }
    }
    assert!(n_unknown <= 1);
}

#[test]
fn ranks_at_critical_points_are_those_of_forty_digits() {
    let meet = (3.0 - 5_f64.sqrt()).acos();
    for (x3, expected) in [
        (
            std::f64::consts::PI,
            [
                [2, 5, 12],
                [2, 3, 18],
                [1, 2, 25],
                [1, 1, 32],
                [1, 0, 39],
                [0, 0, 47],
            ],
        ),
        (
            meet,
            [
                [2, 4, 12],
                [2, 2, 18],
                [1, 2, 25],
                [1, 1, 32],
                [1, 0, 39],
                [0, 0, 47],
            ],
        ),
    ] {
        let mut random = Random::new(72_000);
        let mut x: Vec<Vec<f64>> = (0..N)
            .map(|_| (0..=ORDER).map(|_| random.between(-1.0, 1.0)).collect())
            .collect();
        x[2][0] = x3;
        let series = series(&x);
        let scaling = Scaling::by_low_orders(&series, None);
        let array = DerivativeArray::new(&scaling.apply(&series), 0.0);
        let fullness = Fullness::new(&array, &scaling);
        let ranks: Vec<[usize; 3]> = (fullness.levels.iter())
            .map(|level| [level.t_rank, level.v_rank, level.whole.rank])
            .collect();
        assert_eq!(ranks, expected, "x3 = {x3}: {:?}", fullness.conclusion);
    }
}

/// exp(t) - t = x3 near a guess.
fn time_of(x3: f64, guess: f64) -> f64 {
    (0..50).fold(guess, |t, _| t - (t.exp() - t - x3) / (t.exp() - 1.0))
}

#[test]
fn no_wrong_answer_close_to_singular_times() {
    let pi = std::f64::consts::PI;
    let meet = (3.0 - 5_f64.sqrt()).acos();
    let system = common::system(&common::text("robotic-arm"));
    let mut n_outcomes = [[0; 3]; 2];
    let mut n_sharp = [[0; 3]; 2];
    for (pole, x3) in [(0, pi), (1, 2.0 * pi - meet), (1, 2.0 * pi + meet)] {
        for guess in [-4.0, 2.0] {
            let singular = time_of(x3, guess);
            for (power, side) in (1..=8).flat_map(|p| [(p, -1.0), (p, 1.0)]) {
                let t = singular + side * 10_f64.powi(-power);
                let point = series(&solution(t));
                let neighbour = |i: usize| Some(series(&solution(t + 0.01 * (1.0 + i as f64))));
                let doubles = IndexQuestion {
                    neighbour: &neighbour,
                    ..IndexQuestion::new(&point)
                };
                // The same jet in double-double, from the text of the model.
                let sharper = || {
                    let columns = solution(t);
                    let row = |k: usize| columns.iter().map(|x| x[k]).collect();
                    let jet: Vec<Vec<f64>> = (0..ORDER + 2).map(row).collect();
                    Some(system.sharpen(t, &jet).ok()?.series)
                };
                let both = IndexQuestion {
                    sharper: &sharper,
                    ..doubles
                };
                for (question, n_outcomes) in [(doubles, &mut n_outcomes), (both, &mut n_sharp)] {
                    match decide(&question).outcome {
                        IndexVerdict::Regular(answer) => {
                            n_outcomes[pole][0] += 1;
                            assert_eq!(answer.indices.differentiation_index, Some(5), "t = {t}");
                        }
                        IndexVerdict::Critical { .. } => {
                            println!("critical at distance 1e-{power} of x3 = {x3}");
                            n_outcomes[pole][1] += 1;
                            assert!(power >= 7, "t = {t}");
                        }
                        IndexVerdict::Unknown { .. } => n_outcomes[pole][2] += 1,
                    }
                }
            }
        }
    }
    println!(
        "regular, critical, unknown: rank drops {:?}, with a second look {:?}; poles {:?}, {:?}",
        n_outcomes[0], n_sharp[0], n_outcomes[1], n_sharp[1]
    );
    assert!(n_outcomes[0][0] >= 20);
    assert!(n_sharp[0][0] >= n_outcomes[0][0] && n_sharp[1][0] > n_outcomes[1][0]);
}
