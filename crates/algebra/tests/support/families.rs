//! Systems that every algebra program is measured with.

use daelight_algebra::Polynomial;

pub fn cyclic(n: usize) -> Vec<Polynomial> {
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

pub fn katsura(n: usize) -> Vec<Polynomial> {
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

/// Noonburg's neural network.
pub fn noon(n: usize) -> Vec<Polynomial> {
    let x = Polynomial::variable;
    (0..n)
        .map(|i| {
            let squares = (0..n)
                .filter(|&j| j != i)
                .fold(Polynomial::zero(), |sum, j| &sum + &(&x(j) * &x(j)));
            let scaled = (&x(i) * &squares).scaled(&10.into());
            let linear = x(i).scaled(&11.into());
            &(&scaled - &linear) + &Polynomial::constant(10)
        })
        .collect()
}
