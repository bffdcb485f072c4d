//! Factorisations against products of known factors.

use crate::support::{Random, parse, text};
use daelight_algebra::{FactorBudget, Factorization, IBig, Polynomial, factor, gcd, squarefree};

fn factors(f: &Polynomial) -> Factorization {
    let result = factor(f, &FactorBudget::default());
    assert_eq!(result.product(), *f, "{}", text(f));
    for factor in &result.factors {
        assert!(!factor.polynomial.is_constant());
        assert_eq!(
            factor.polynomial.primitive_over_integers(),
            factor.polynomial
        );
    }
    result
}

/// The text of a product, and its irreducible factors as texts with their multiplicities.
fn check(product: &str, expected: &[(&str, u32)]) {
    let result = factors(&parse(product));
    let mut found: Vec<(String, u32)> = result
        .factors
        .iter()
        .map(|f| (text(&f.polynomial), f.multiplicity))
        .collect();
    let mut expected: Vec<(String, u32)> = expected
        .iter()
        .map(|(f, m)| (text(&parse(f).primitive_over_integers()), *m))
        .collect();
    found.sort();
    expected.sort();
    assert_eq!(found, expected, "{product}");
    assert!(result.is_proved(), "{product}");
}

#[test]
fn in_one_variable() {
    check("x^2 - 1", &[("x - 1", 1), ("x + 1", 1)]);
    check("6*x^2 + 5*x - 6", &[("2*x + 3", 1), ("3*x - 2", 1)]);
    check("x^4 + 4", &[("x^2 + 2*x + 2", 1), ("x^2 - 2*x + 2", 1)]);
    check(
        "x^3*(x + 1)^2*(x^2 + 1)^5",
        &[("x", 3), ("x + 1", 2), ("x^2 + 1", 5)],
    );
    check("x^2 - 6*x + 4", &[("x^2 - 6*x + 4", 1)]);
    // Reducible modulo every prime.
    check("x^4 + 1", &[("x^4 + 1", 1)]);
    check("x^4 - 10*x^2 + 1", &[("x^4 - 10*x^2 + 1", 1)]);
    check("12", &[]);
}

#[test]
fn large_coefficients() {
    check(
        "(123456789012345678901234567890*x^3 - 98765432109876543210987*x + 1)*(99999999999999999999*x^2 + 7)",
        &[
            (
                "123456789012345678901234567890*x^3 - 98765432109876543210987*x + 1",
                1,
            ),
            ("99999999999999999999*x^2 + 7", 1),
        ],
    );
    check(
        "(123456789012345678901234567890*x^2*y - 98765432109876543210987*x + z)*(99999999999999999999*x^2*z + 7*y + 1)",
        &[
            (
                "123456789012345678901234567890*x^2*y - 98765432109876543210987*x + z",
                1,
            ),
            ("99999999999999999999*x^2*z + 7*y + 1", 1),
        ],
    );
}

/// The number of cyclotomic factors of x^n - 1 is that of the divisors of n; degrees are Euler's function.
#[test]
fn cyclotomic() {
    for n in 1u32..=48 {
        let f = &Polynomial::variable(0).pow(n) - &Polynomial::one();
        let result = factors(&f);
        assert!(result.is_proved());
        let mut degrees: Vec<u32> = result
            .factors
            .iter()
            .map(|f| f.polynomial.total_degree())
            .collect();
        let mut totients: Vec<u32> = (1..=n)
            .filter(|d| n.is_multiple_of(*d))
            .map(|d| (1..=d).filter(|k| greatest(*k, d) == 1).count() as u32)
            .collect();
        degrees.sort_unstable();
        totients.sort_unstable();
        assert_eq!(degrees, totients, "x^{n} - 1");
    }
}

fn greatest(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { greatest(b, a % b) }
}

/// Products of x ± √2 ± √3 ± √5 ± √7 are irreducible but fall into quadratic factors modulo every prime.
#[test]
fn swinnerton_dyer() {
    let mut f = Polynomial::variable(0);
    let (x, r) = (Polynomial::variable(0), Polynomial::variable(1));
    for prime in [2, 3, 5, 7] {
        // f(x - r) f(x + r) with r^2 = prime is the resultant with r^2 - prime.
        let shifted = f.substitute(0, &(&x + &r));
        let relation = &r.pow(2) - &Polynomial::constant(prime);
        f = daelight_algebra::resultant(&shifted, &relation, 1);
        let result = factors(&f);
        assert_eq!(result.factors.len(), 1);
        assert!(result.is_proved());
    }
    assert_eq!(f.degree(0), 16);
    // A product of two such polynomials needs recombination.
    let shifted = f.substitute(0, &(&x + &Polynomial::one()));
    let result = factors(&(&f * &shifted));
    assert_eq!(result.factors.len(), 2);
}

#[test]
fn a_spent_budget_is_said() {
    let budget = FactorBudget {
        subsets: 3,
        ..FactorBudget::default()
    };
    let f = parse("x^8 - 40*x^6 + 352*x^4 - 960*x^2 + 576");
    let result = factor(&f, &budget);
    assert_eq!(result.product(), f);
    assert!(!result.is_proved());
    let tight = FactorBudget {
        terms: 2,
        ..FactorBudget::default()
    };
    let result = factor(&parse("(x^2 + y^2 + 1)*(x^2 - y^2 + 3)"), &tight);
    assert!(!result.is_proved());
    let zero = factor(&Polynomial::zero(), &budget);
    assert!(zero.unit == IBig::ZERO && zero.factors.is_empty());
}

#[test]
fn in_several_variables() {
    check("x^2 - y^2", &[("x - y", 1), ("x + y", 1)]);
    check("x^2 + y^2 - 1", &[("x^2 + y^2 - 1", 1)]);
    check(
        "(x^2*y + z)^2*(x - y*z + 3)",
        &[("x^2*y + z", 2), ("x - y*z + 3", 1)],
    );
    check(
        "x*y*z*(x*y + 1)",
        &[("x", 1), ("y", 1), ("z", 1), ("x*y + 1", 1)],
    );
    check(
        "x^3 + y^3 + z^3 - 3*x*y*z",
        &[("x + y + z", 1), ("x^2 + y^2 + z^2 - x*y - y*z - x*z", 1)],
    );
    check(
        "((y + 2)*x^2 + 3*z)*((y + 2)*(z - 1)*x^2 - y^2*z + 5)*(6*x*z^2 - 1)",
        &[
            ("(y + 2)*x^2 + 3*z", 1),
            ("(y + 2)*(z - 1)*x^2 - y^2*z + 5", 1),
            ("6*x*z^2 - 1", 1),
        ],
    );
    check(
        "x^4 + 4*y^4",
        &[("x^2 + 2*x*y + 2*y^2", 1), ("x^2 - 2*x*y + 2*y^2", 1)],
    );
    check(
        "x^4 - 2*(y + z)*x^2 + (y - z)^2",
        &[("x^4 - 2*(y + z)*x^2 + (y - z)^2", 1)],
    );
}

/// Sixteen times the square of a triangle's area, and its analogue with four signs.
#[test]
fn products_over_signs() {
    check(
        "(x + y + z)*(x + y - z)*(x - y + z)*(x - y - z)",
        &[
            ("x + y + z", 1),
            ("x + y - z", 1),
            ("x - y + z", 1),
            ("x - y - z", 1),
        ],
    );
    let mut product = Polynomial::one();
    for signs in 0..8 {
        let sign = |bit: u32| if signs >> bit & 1 == 1 { "-" } else { "+" };
        product = &product * &parse(&format!("x {} y {} z {} u", sign(0), sign(1), sign(2)));
    }
    assert_eq!((product.n_terms(), product.total_degree()), (35, 8));
    let result = factors(&product);
    assert!(result.is_proved());
    assert_eq!(result.factors.len(), 8);
}

/// Every factor of a random polynomial that is proved irreducible stays one in products with others.
fn products_come_back(seed: u64, n_cases: usize, n_variables: usize, degree: u64, n_terms: u64) {
    let mut random = Random(seed);
    for case in 0..n_cases {
        let n_factors = 2 + random.below(2) as usize;
        let mut expected: Vec<(Polynomial, u32)> = Vec::new();
        let mut product = Polynomial::constant(1 + random.below(6) as i64);
        for _ in 0..n_factors {
            let multiplicity = 1 + u32::from(random.below(5) == 0);
            let piece = random.polynomial(n_variables, degree, n_terms, 9);
            product = &product * &piece.pow(multiplicity);
            for part in factors(&piece).factors {
                assert!(part.is_proved, "{}", text(&piece));
                let power = part.multiplicity * multiplicity;
                match expected.iter_mut().find(|e| e.0 == part.polynomial) {
                    Some(known) => known.1 += power,
                    None => expected.push((part.polynomial, power)),
                }
            }
        }
        let result = factors(&product);
        assert!(
            result.is_proved(),
            "seed {seed} case {case}: {}",
            text(&product)
        );
        let mut found: Vec<(Polynomial, u32)> = result
            .factors
            .into_iter()
            .map(|f| (f.polynomial, f.multiplicity))
            .collect();
        found.sort();
        expected.sort();
        assert_eq!(
            found,
            expected,
            "seed {seed} case {case}: {}",
            text(&product)
        );
    }
}

#[test]
fn random_products_in_one_variable() {
    products_come_back(11, 600, 1, 6, 5);
}

#[test]
fn random_products_in_two_variables() {
    products_come_back(12, 600, 2, 4, 5);
}

#[test]
fn random_products_in_three_variables() {
    products_come_back(13, 400, 3, 4, 5);
}

#[test]
fn random_products_in_four_variables() {
    products_come_back(14, 600, 4, 3, 5);
}

#[test]
fn random_products_in_five_variables() {
    products_come_back(15, 500, 5, 3, 5);
}

#[test]
fn squarefree_parts_are_coprime() {
    let mut random = Random(21);
    for _ in 0..200 {
        let [p, q, r] = [1, 2, 3].map(|_| random.polynomial(3, 2, 3, 5));
        let f = &(&p * &q.pow(2)) * &r.pow(3);
        let parts = squarefree(&f);
        assert_eq!(parts.product(), f);
        for (i, a) in parts.factors.iter().enumerate() {
            assert!(
                squarefree(&a.polynomial)
                    .factors
                    .iter()
                    .all(|part| part.multiplicity == 1)
            );
            for b in &parts.factors[i + 1..] {
                assert!(gcd(&a.polynomial, &b.polynomial).is_constant());
            }
        }
    }
}
