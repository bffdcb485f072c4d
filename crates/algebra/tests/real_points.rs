//! Real points against planted ones: all are found, none is invented, multiplicities and signs are right.

use crate::support::{Random, parse};
use daelight_algebra::real::{RealPoint, Zeros, zeros};
use daelight_algebra::{Budget, IBig, Order, Polynomial, RBig, basis};
use std::cmp::Ordering;

fn real_points(generators: &[Polynomial], n_variables: usize) -> (usize, Vec<RealPoint>) {
    let budget = Budget::default();
    let ideal = basis(generators, &Order::degrevlex(0..n_variables), &budget)
        .expect("small ideals are within the budget");
    match zeros(&ideal, &budget).expect("small ideals are within the budget") {
        Zeros::None => (0, Vec::new()),
        Zeros::Finite(representation) => {
            let n_points = representation.n_points();
            let points = representation.real_points(&budget);
            (n_points, points.expect("few points are found soon"))
        }
        Zeros::Infinite { dimension } => panic!("dimension {dimension}"),
    }
}

fn doubles(points: Vec<RealPoint>) -> Vec<(Vec<f64>, u32)> {
    let mut points: Vec<(Vec<f64>, u32)> = points
        .into_iter()
        .map(|mut point| {
            let coordinates = point.coordinates(70, &Budget::default());
            let coordinates = coordinates.expect("there is no deadline");
            let middles = coordinates.iter().map(|x| x.middle()).collect();
            (middles, point.multiplicity())
        })
        .collect();
    points.sort_by(|a, b| a.partial_cmp(b).expect("coordinates are numbers"));
    points
}

#[test]
fn pairs_of_roots_have_their_multiplicities() {
    let (n_points, points) = real_points(&[parse("x^3 - x^2"), parse("y^2 - 2")], 2);
    assert_eq!(n_points, 4);
    let root = std::f64::consts::SQRT_2;
    let expected = [
        ([0.0, -root], 2),
        ([0.0, root], 2),
        ([1.0, -root], 1),
        ([1.0, root], 1),
    ];
    let found = doubles(points);
    assert_eq!(found.len(), 4);
    for (found, expected) in found.iter().zip(expected) {
        assert!((found.0[0] - expected.0[0]).abs() < 1e-20);
        assert!((found.0[1] - expected.0[1]).abs() < 1e-15);
        assert_eq!(found.1, expected.1);
    }
}

#[test]
fn signs_at_points_are_exact() {
    // y - 2 x vanishes at two of the four points, y + 2 x at the others.
    let (_, points) = real_points(&[parse("x^2 - 2"), parse("y^2 - 8")], 2);
    let (difference, sum) = (parse("y - 2*x"), parse("y + 2*x"));
    let mut n_zero = [0, 0];
    let budget = Budget::default();
    for mut point in points {
        for (count, f) in n_zero.iter_mut().zip([&difference, &sum]) {
            *count += usize::from(point.sign(f, &budget) == Ok(Ordering::Equal));
        }
        let near = &difference.scaled(&IBig::from(10).pow(200)) + &Polynomial::one();
        if point.is_zero_of(&difference, &budget) == Ok(true) {
            assert_eq!(point.sign(&near, &budget), Ok(Ordering::Greater));
        }
    }
    assert_eq!(n_zero, [2, 2]);
}

#[test]
fn conjugate_pairs_are_no_real_points() {
    let (n_points, points) = real_points(&[parse("x^2 + 1"), parse("y^3 - 2")], 2);
    assert_eq!((n_points, points.len()), (6, 0));
    let (n_points, points) = real_points(&[parse("x^2 + y^2 + 1"), parse("x - y")], 2);
    assert_eq!((n_points, points.len()), (2, 0));
}

/// A real root with its multiplicity, or a quadratic without real roots.
enum Planted {
    Root(i64, i64, u32),
    Pair(i64, i64),
}

#[test]
fn a_thousand_planted_ideals() {
    let mut random = Random(0x1234_5678_9abc_def1);
    for case in 0..1000 {
        let n = 2 + random.below(2) as usize;
        // f(x_0), and x_k = h_k(x_0), in the variables of a hidden frame.
        let mut planted: Vec<Planted> = Vec::new();
        let mut f = Polynomial::one();
        for _ in 0..1 + random.below(4) {
            let x = Polynomial::variable(0);
            if random.below(4) == 0 {
                let (shift, height) = (random.below(7) as i64 - 3, 1 + random.below(5) as i64);
                let base = &x - &Polynomial::constant(shift);
                f = &f * &(&(&base * &base) + &Polynomial::constant(height));
                planted.push(Planted::Pair(shift, height));
                continue;
            }
            let (p, q) = (random.below(21) as i64 - 10, 1 + random.below(4) as i64);
            let is_known = planted
                .iter()
                .any(|other| matches!(other, Planted::Root(a, b, _) if a * q == p * b));
            if is_known {
                continue;
            }
            let multiplicity = 1 + u32::from(random.below(5) == 0);
            let factor = &x.scaled(&IBig::from(q)) - &Polynomial::constant(p);
            f = &f * &factor.pow(multiplicity);
            planted.push(Planted::Root(p, q, multiplicity));
        }
        let h: Vec<Polynomial> = (1..n).map(|_| random.polynomial(1, 3, 3, 4)).collect();
        // Undo the hiding: x = u - c (other variables), a unimodular change, so points stay rational.
        let hide = |p: &Polynomial| {
            let mut p = p.clone();
            for k in 1..n {
                let sum = &Polynomial::variable(0) + &Polynomial::variable(k);
                p = p.substitute(0, &sum);
            }
            p
        };
        let mut generators = vec![hide(&f)];
        for (k, h) in h.iter().enumerate() {
            generators.push(hide(&(&Polynomial::variable(k + 1) - h)));
        }
        let first = generators[0].clone();
        let last = generators.len() - 1;
        generators[last] = &generators[last] + &first;
        let (n_points, points) = real_points(&generators, n);
        let found = doubles(points);
        let mut expected: Vec<(Vec<f64>, u32)> = Vec::new();
        let mut n_complex = 0;
        let mut pairs: Vec<(i64, i64)> = Vec::new();
        for zero in &planted {
            match *zero {
                Planted::Root(p, q, multiplicity) => {
                    n_complex += 1;
                    let root = RBig::from_parts(p.into(), (q as u64).into());
                    let others: Vec<f64> = (h.iter())
                        .map(|h| h.evaluate(|_| root.clone()).to_f64().value())
                        .collect();
                    let x = p as f64 / q as f64 - others.iter().sum::<f64>();
                    let point = std::iter::once(x).chain(others).collect();
                    expected.push((point, multiplicity));
                }
                Planted::Pair(shift, height) => {
                    if !pairs.contains(&(shift, height)) {
                        pairs.push((shift, height));
                        n_complex += 2;
                    }
                }
            }
        }
        expected.sort_by(|a, b| a.partial_cmp(b).expect("coordinates are numbers"));
        assert_eq!(n_points, n_complex, "case {case}");
        assert_eq!(found.len(), expected.len(), "case {case}");
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!(found.1, expected.1, "case {case}");
            for (a, b) in found.0.iter().zip(&expected.0) {
                assert!((a - b).abs() <= 1e-12 * (1.0 + b.abs()), "case {case}");
            }
        }
    }
}

/// Matrices whose rank at a point differs from that next to it, with entries that vanish there without being 0.
#[test]
fn ranks_at_points_are_exact() {
    let budget = Budget::default();
    let (_, points) = real_points(&[parse("x^2 - 2"), parse("y^2 - 8")], 2);
    let near = "100000000000000000000000000000000000000000000000000*(y - 2*x) + 1";
    let mut found = Vec::new();
    for mut point in points {
        let mut ranks = Vec::new();
        for rows in [
            // (2 x, y) is a multiple of (1, 1) where y = 2 x.
            [["2*x", "y"], ["1", "1"]],
            [["y - 2*x", "x*y - 4"], ["0", "y^2 - 4*x^2"]],
            [[near, "1"], ["1", "1"]],
        ] {
            let matrix = rows.map(|row| row.map(parse).to_vec());
            ranks.push(point.rank(&matrix, 2, &budget).expect("no deadline"));
        }
        found.push((point.is_zero_of(&parse("y - 2*x"), &budget), ranks));
    }
    found.sort_by_key(|(is_double, _)| *is_double == Ok(true));
    assert_eq!(found.len(), 4);
    for (is_double, ranks) in found {
        let expected = if is_double == Ok(true) {
            [1, 0, 1]
        } else {
            [2, 1, 2]
        };
        assert_eq!(ranks, expected);
    }
}

/// A deadline that has passed ends every step of the way from a basis to numbers.
#[test]
fn no_time_is_told() {
    let generators = [parse("x^6 - 3*x*y + 1"), parse("y^6 - 2*x*y^2 - 5")];
    let now = Budget::within(std::time::Duration::ZERO);
    let later = Budget::default();
    let ideal = basis(&generators, &Order::degrevlex(0..2), &later).expect("a small ideal");
    assert!(zeros(&ideal, &now).is_err());
    let Ok(Zeros::Finite(representation)) = zeros(&ideal, &later) else {
        panic!("finitely many zeros");
    };
    assert!(representation.minimal().real_roots(&now).is_err());
    let mut points = representation.real_points(&later).expect("no deadline");
    assert!(points[0].coordinates(200, &now).is_err());
    assert!(points[0].sign(&parse("x - y"), &now).is_err());
    assert!(points[0].is_zero_of(&parse("x - y"), &now).is_err());
    assert!(points[0].rank(&[vec![parse("x*y")]], 1, &now).is_err());
}
