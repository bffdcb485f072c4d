//! Gröbner bases: known ones, laws, limits.

use crate::support::families::{cyclic, katsura};
use crate::support::{Random, parse};
use daelight_algebra::{
    Assumptions, Basis, Budget, Certificate, IBig, Ideal, Monomial, Order, OutOfBudget, Polynomial,
    RBig, Sign, basis, components, sign,
};
use std::time::{Duration, Instant};

fn degrevlex(generators: &[Polynomial], n: usize) -> Basis {
    basis(generators, &Order::degrevlex(0..n), &Budget::default()).unwrap()
}

#[test]
fn systems_with_known_bases() {
    // Elements of the reduced degrevlex basis, dimension and degree, from the literature.
    for (name, system, n, size, dimension, degree) in [
        ("cyclic4", cyclic(4), 4, 7, 1, 4),
        ("cyclic5", cyclic(5), 5, 20, 0, 70),
        ("cyclic6", cyclic(6), 6, 45, 0, 156),
        ("katsura4", katsura(4), 5, 13, 0, 16),
        ("katsura5", katsura(5), 6, 22, 0, 32),
        ("katsura6", katsura(6), 7, 41, 0, 64),
    ] {
        let found = degrevlex(&system, n);
        assert_eq!(found.elements().len(), size, "{name}");
        assert_eq!(found.dimension(), Some(dimension), "{name}");
        assert_eq!(found.degree(), Some(IBig::from(degree)), "{name}");
        assert!(found.contains_all(&system), "{name}");
    }
}

#[test]
fn a_proof_changes_nothing_but_the_certificate() {
    for (system, n) in [(cyclic(5), 5), (katsura(5), 6)] {
        let with = |exact| {
            let budget = Budget {
                exact,
                ..Budget::default()
            };
            basis(&system, &Order::degrevlex(0..n), &budget).unwrap()
        };
        let (proved, modular) = (with(u64::MAX), with(0));
        assert_eq!(proved.certificate(), Certificate::Exact);
        assert!(matches!(modular.certificate(), Certificate::Modular { primes } if primes > 1));
        assert_eq!(proved.elements(), modular.elements());
    }
}

#[test]
fn conversions_agree_with_direct_computations() {
    // FGLM and F4 have to give the same basis: it is unique.
    for (system, n) in [(cyclic(5), 5), (katsura(4), 5), (katsura(3), 4)] {
        let graded = degrevlex(&system, n);
        let order = Order::lex(0..n);
        let by_fglm = graded.in_order(&order, &Budget::default()).unwrap();
        assert_eq!(by_fglm.certificate(), Certificate::Exact);
        let block = Order::degrevlex(0..2).product(Order::lex(2..n));
        let by_block = by_fglm.in_order(&block, &Budget::default()).unwrap();
        let back = by_block
            .in_order(&Order::degrevlex(0..n), &Budget::default())
            .unwrap();
        assert_eq!(back.elements(), graded.elements());
        assert_eq!(by_fglm.degree(), graded.degree());
        let eliminants = by_fglm.elements()[0].variables();
        assert_eq!(
            eliminants,
            [n - 1],
            "the lowest element is in the last variable alone"
        );
    }
    // With infinitely many points the second basis comes from matrices; every element is in the first ideal and back.
    let system = cyclic(4);
    let graded = degrevlex(&system, 4);
    let lex = basis(&system, &Order::lex(0..4), &Budget::default()).unwrap();
    assert!(graded.contains_all(lex.elements()) && lex.contains_all(graded.elements()));
    assert_eq!(lex.dimension(), Some(1));
    assert_eq!(lex.degree(), None);
}

#[test]
fn textbook_basis() {
    // Cox, Little and O'Shea, chapter 2, section 8: x^2 + y^2 + z^2 = 1, x^2 + z^2 = y, x = z.
    let system = ["x^2 + y^2 + z^2 - 1", "x^2 + z^2 - y", "x - z"].map(parse);
    let found = basis(&system, &Order::lex(0..3), &Budget::default()).unwrap();
    assert_eq!(
        found.elements(),
        ["4*z^4 + 2*z^2 - 1", "y - 2*z^2", "x - z"].map(parse)
    );
    assert_eq!(found.standard_monomials().unwrap().len(), 4);
    let remainder = found.normal_form(&parse("x^4 + x*y*u"));
    assert_eq!(remainder.polynomial, parse("8*z^3*u - 2*z^2 + 1"));
    assert_eq!(remainder.denominator, IBig::from(4));
}

#[test]
fn random_ideals_obey_the_laws() {
    let mut random = Random(7);
    let budget = Budget::within(Duration::from_secs(20));
    for round in 0..60 {
        let n = 2 + round % 2;
        let f: Vec<Polynomial> = (0..2).map(|_| random.polynomial(n, 3, 4, 5)).collect();
        let g: Vec<Polynomial> = (0..2).map(|_| random.polynomial(n, 2, 3, 5)).collect();
        let [i, j] = [f, g].map(Ideal::new);
        let (basis_i, basis_j) = (i.basis(&budget).unwrap(), j.basis(&budget).unwrap());
        // Combinations lie in the ideal; the certificate is a proof.
        assert_eq!(basis_i.certificate(), Certificate::Exact);
        let combination = i.generators().iter().fold(Polynomial::zero(), |sum, f| {
            &sum + &(f * &random.polynomial(n, 3, 4, 9))
        });
        assert!(basis_i.contains(&combination));
        // The order of the generators and doubled ones do not matter.
        let shuffled = [
            i.generators()[i.generators().len() - 1].clone(),
            combination,
        ];
        let again = Ideal::new([&shuffled, i.generators()].concat())
            .basis(&budget)
            .unwrap();
        assert_eq!(again.elements(), basis_i.elements());
        // I J ⊂ I ∩ J ⊂ I, J.
        let both = i.intersection(&j, &budget).unwrap();
        assert!(basis_i.contains_all(both.generators()) && basis_j.contains_all(both.generators()));
        let basis_both = both.basis(&budget).unwrap();
        for f in i.generators() {
            for g in j.generators() {
                assert!(basis_both.contains(&(f * g)));
            }
        }
        // f (I : f) ⊂ I ⊂ I : f ⊂ I : f^∞.
        let f = random.polynomial(n, 1, 2, 3);
        let quotient = i.quotient(&f, &budget).unwrap();
        let saturation = i.saturation(&f, &budget).unwrap();
        assert!(
            quotient
                .generators()
                .iter()
                .all(|q| basis_i.contains(&(q * &f)))
        );
        assert!(
            quotient
                .basis(&budget)
                .unwrap()
                .contains_all(i.generators())
        );
        assert!(
            saturation
                .basis(&budget)
                .unwrap()
                .contains_all(quotient.generators())
        );
        for g in saturation.generators() {
            assert!(i.radical_contains(&(g * &f), &budget).unwrap());
        }
    }
}

#[test]
fn multiplication_matrices_satisfy_the_equations() {
    let system = katsura(2);
    let found = degrevlex(&system, 3);
    let matrices: Vec<Vec<Vec<RBig>>> = (0..3)
        .map(|v| {
            found
                .multiplication_matrix(&Polynomial::variable(v))
                .unwrap()
        })
        .collect();
    let n = matrices[0].len();
    assert_eq!(found.degree(), Some(IBig::from(n)));
    let times = |a: &[Vec<RBig>], b: &[Vec<RBig>]| -> Vec<Vec<RBig>> {
        let entry =
            |i: usize, j: usize| (0..n).fold(RBig::ZERO, |sum, k| sum + &a[i][k] * &b[k][j]);
        (0..n)
            .map(|i| (0..n).map(|j| entry(i, j)).collect())
            .collect()
    };
    assert_eq!(
        times(&matrices[0], &matrices[1]),
        times(&matrices[1], &matrices[0])
    );
    let product = &Polynomial::variable(0) * &Polynomial::variable(2);
    let direct = found.multiplication_matrix(&product).unwrap();
    assert_eq!(times(&matrices[0], &matrices[2]), direct);
    for f in &system {
        let zero = found.multiplication_matrix(f).unwrap();
        assert!(zero.iter().flatten().all(|entry| entry.is_zero()));
    }
}

#[test]
fn dimension_and_degree() {
    for (system, n, dimension, degree) in [
        ("", 3, Some(3), 1),
        ("1", 3, None, 0),
        ("x*y*z", 3, Some(2), 3),
        ("x*y; x*z; y*z", 3, Some(1), 3),
        // The twisted cubic; two skew lines; a plane and a line.
        ("y - x^2; z - x^3", 3, Some(1), 3),
        ("x*z; x*u; y*z; y*u", 4, Some(2), 2),
        ("x*y; x*z", 3, Some(2), 1),
        ("x^2 + y^2 - 1; z^2 + u^2 - 1", 4, Some(2), 4),
    ] {
        let system: Vec<Polynomial> = system
            .split(';')
            .filter(|t| !t.is_empty())
            .map(parse)
            .collect();
        let found = degrevlex(&system, n);
        assert_eq!(found.dimension(), dimension);
        assert_eq!(found.degree(), dimension.map(|_| IBig::from(degree)));
        assert_eq!(found.is_unit(), dimension.is_none());
    }
}

#[test]
fn limits_are_kept_and_told() {
    let system = cyclic(8);
    let order = Order::degrevlex(0..8);
    let start = Instant::now();
    let budget = Budget::within(Duration::from_millis(200));
    assert_eq!(
        basis(&system, &order, &budget).unwrap_err(),
        OutOfBudget::Time
    );
    assert!(start.elapsed() < Duration::from_secs(2));
    let budget = Budget {
        memory: 100_000,
        ..Budget::within(Duration::from_secs(20))
    };
    assert_eq!(
        basis(&system, &order, &budget).unwrap_err(),
        OutOfBudget::Memory
    );
    let high = Polynomial::term(Monomial::power(0, 60_000), IBig::ONE);
    let budget = Budget::default();
    assert_eq!(
        basis(&[high], &order, &budget).unwrap_err(),
        OutOfBudget::Degree
    );
    let limited = components(
        &Ideal::new(system),
        &Assumptions::default(),
        &Budget::within(Duration::from_millis(100)),
    );
    assert_eq!(limited.limit, Some(OutOfBudget::Time));
    assert!(!limited.is_complete() && limited.undecided.len() == 1);
}

#[test]
fn planted_components_are_found() {
    // Linear spaces, circles, and points with coordinates of degree 2 and 3, united by products of their equations.
    let pool = [
        "x - 1; y + 2*z",
        "x^2 + y^2 - 1; z",
        "z - x*y; x + y - 3",
        "x^2 - 2; y - x; z + 1",
        "x^3 - x - 1; y - x^2; z",
        "y^2 - x^3; z - 2",
        "x^2 + 1; y^2 + 1 + x*y; z",
        "x^2 + y^2 - z^2",
        "x - z; y",
    ];
    let budget = Budget::within(Duration::from_secs(20));
    let parts: Vec<Ideal> = pool
        .iter()
        .map(|text| Ideal::new(text.split(';').map(parse).collect()))
        .collect();
    let mut random = Random(3);
    for round in 0..40 {
        let first = random.below(pool.len() as u64) as usize;
        let second = (first + 1 + random.below(pool.len() as u64 - 1) as usize) % pool.len();
        let union = parts[first].intersection(&parts[second], &budget).unwrap();
        // Half of the time not the radical.
        let union = if round % 2 == 0 {
            union
        } else {
            let powers = union.generators().iter().map(|f| f.pow(2));
            Ideal::new(powers.chain([union.generators()[0].clone()]).collect())
        };
        let found = components(&union, &Assumptions::default(), &budget);
        assert!(found.is_complete(), "{first} {second}");
        let mut expected: Vec<Basis> = [first, second]
            .iter()
            .map(|&k| basis(parts[k].generators(), &Order::degrevlex(0..3), &budget).unwrap())
            .collect();
        // One of the pool may contain another.
        let inside = |a: &Basis, b: &Basis| a.contains_all(b.elements());
        if inside(&expected[0], &expected[1]) {
            expected.remove(0);
        } else if inside(&expected[1], &expected[0]) {
            expected.remove(1);
        }
        assert_eq!(found.components.len(), expected.len(), "{first} {second}");
        for part in &expected {
            let same = |c: &Basis| inside(c, part) && inside(part, c);
            assert!(
                found.components.iter().any(|c| same(&c.basis)),
                "{first} {second}"
            );
        }
    }
}

#[test]
fn primes_that_only_projections_prove_or_split() {
    for (text, n_components) in [
        // sqrt 2 and sqrt 3 are independent; sqrt 2 and sqrt 8 are not.
        ("x^2 - 2; y^2 - 3", 1),
        ("x^2 - 2; y^2 - 8", 2),
        // Over the rational functions of z.
        ("x^2 - z; y^2 - z - 1", 1),
        ("x^2 - z; y^2 - 4*z", 2),
        ("x^2 + z^2; y^2 + z^2", 2),
        ("x^2 - 2; y^2 - 3; u^2 - 6", 2),
        // The twisted cubic with an extra line.
        ("x*z - y^2; z^2 - y*u", 2),
    ] {
        let ideal = Ideal::new(text.split(';').map(parse).collect());
        let found = components(&ideal, &Assumptions::default(), &Budget::default());
        assert!(found.is_complete(), "{text}");
        assert_eq!(found.components.len(), n_components, "{text}");
    }
}

#[test]
fn signs_are_told_only_when_they_are_certain() {
    let positive = [0, 1];
    for (text, expected) in [
        ("x + y", Sign::Positive),
        ("-x*y - 3", Sign::Negative),
        ("x - y", Sign::Unknown),
        ("x + z^2", Sign::Positive),
        ("x*z^2 + u^4", Sign::Unknown),
        ("x + z", Sign::Unknown),
        ("x - x", Sign::Zero),
    ] {
        assert_eq!(sign(&parse(text), &positive), expected, "{text}");
    }
}
