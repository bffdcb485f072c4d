//! Gröbner bases: known ones, laws, limits.

mod support;

use daelight_algebra::{
    Basis, Budget, Certificate, IBig, Monomial, Order, OutOfBudget, Polynomial, RBig, basis,
};
use std::time::{Duration, Instant};
use support::{Random, parse};

fn cyclic(n: usize) -> Vec<Polynomial> {
    let x = |k: usize| Polynomial::variable(k % n);
    let mut system: Vec<Polynomial> = (1..n)
        .map(|length| {
            (0..n).fold(Polynomial::zero(), |sum, start| {
                let product = (start..start + length).fold(Polynomial::one(), |p, k| &p * &x(k));
                &sum + &product
            })
        })
        .collect();
    let all = (0..n).fold(Polynomial::one(), |p, k| &p * &x(k));
    system.push(&all - &Polynomial::one());
    system
}

fn katsura(n: usize) -> Vec<Polynomial> {
    let u = |k: i64| match k.unsigned_abs() as usize {
        k if k <= n => Polynomial::variable(k),
        _ => Polynomial::zero(),
    };
    let n = n as i64;
    let mut system: Vec<Polynomial> = (0..n)
        .map(|m| {
            let sum = (-n..=n).fold(Polynomial::zero(), |sum, l| &sum + &(&u(l) * &u(m - l)));
            &sum - &u(m)
        })
        .collect();
    let sum = (-n..=n).fold(Polynomial::zero(), |sum, l| &sum + &u(l));
    system.push(&sum - &Polynomial::one());
    system
}

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
        let start = Instant::now();
        let found = degrevlex(&system, n);
        println!("{name}: {:?} {:?}", start.elapsed(), found.certificate());
        assert_eq!(found.elements().len(), size, "{name}");
        assert_eq!(found.dimension(), Some(dimension), "{name}");
        assert_eq!(found.degree(), Some(IBig::from(degree)), "{name}");
        assert!(found.contains_all(&system), "{name}");
    }
}
