//! Laws of arithmetic, divisors and resultants.

use crate::support::{Random, parse, text};
use daelight_algebra::{Fraction, IBig, Polynomial, RBig, content, gcd, primitive, resultant};

#[test]
fn ring_laws() {
    let mut random = Random(1);
    for _ in 0..300 {
        let [a, b, c] = [0, 1, 2].map(|_| random.polynomial(4, 4, 6, 20));
        assert_eq!(&(&a + &b) * &c, &(&a * &c) + &(&b * &c));
        assert_eq!(&a * &(&b * &c), &(&a * &b) * &c);
        assert!((&a - &a).is_zero());
        assert_eq!((&a * &b).divide_exactly(&b), Some(a.clone()));
        let product = (&a * &b).derivative(1);
        assert_eq!(product, &(&a.derivative(1) * &b) + &(&a * &b.derivative(1)));
        let point = |v: usize| RBig::from(IBig::from(2 * v as i64 - 3)) / RBig::from(IBig::from(7));
        assert_eq!(
            (&a * &b).evaluate(point),
            a.evaluate(point) * b.evaluate(point)
        );
        let near = a.evaluate_f64(|v| (2.0 * v as f64 - 3.0) / 7.0);
        let exact = daelight_algebra::integer::rational_to_f64(&a.evaluate(point));
        assert!((near - exact).abs() <= 1e-13 * (1.0 + exact.abs()));
        assert_eq!(a.substitute(0, &b).at(1, &IBig::from(3)), {
            let a = a.at(1, &IBig::from(3));
            a.substitute(0, &b.at(1, &IBig::from(3)))
        });
        assert_eq!(Polynomial::from_coefficients(2, &a.coefficients(2)), a);
        assert_eq!(parse(&text(&a)), a);
    }
}

#[test]
fn what_does_not_divide() {
    let a = parse("x^2 + y");
    assert_eq!(a.divide_exactly(&parse("x + y")), None);
    assert_eq!(a.divide_exactly(&Polynomial::zero()), None);
    assert_eq!(
        Polynomial::zero().divide_exactly(&a),
        Some(Polynomial::zero())
    );
    assert_eq!(parse("3*x").divide_exactly(&parse("2")), None);
}

#[test]
fn texts() {
    assert_eq!(text(&parse("4 - 6*x + x^2")), "x^2 - 6*x + 4");
    assert_eq!(text(&parse("-x*y^3 + y - 1")), "-x*y^3 + y - 1");
    assert_eq!(text(&Polynomial::zero()), "0");
    assert_eq!(text(&Polynomial::constant(-1)), "-1");
}

/// gcd(a c, b c) is a multiple of c, divides both, and is c when a and b are coprime.
#[test]
fn greatest_common_divisors() {
    let mut random = Random(2);
    for case in 0..1500 {
        let n = 1 + case % 6;
        let terms = 2 + random.below(6);
        let [a, b, c] = [0, 1, 2].map(|_| random.polynomial(n, 4, terms, 30));
        let (ac, bc) = (&a * &c, &b * &c);
        let common = gcd(&ac, &bc);
        assert!(ac.divide_exactly(&common).is_some() && bc.divide_exactly(&common).is_some());
        assert!(
            common.divide_exactly(&c).is_some(),
            "{} | {}",
            text(&c),
            text(&common)
        );
        assert_eq!(common, gcd(&bc, &ac));
        let rest = [&ac, &bc].map(|p| p.divide_exactly(&common).expect("divides"));
        assert!(gcd(&rest[0], &rest[1]).is_one());
        assert_eq!(gcd(&a, &Polynomial::zero()), gcd(&Polynomial::zero(), &a));
    }
}

#[test]
fn divisors_with_large_coefficients_and_leading_coefficients() {
    let c = parse(
        "(y^2 - 3*z)*x^2 + 123456789123456789123456789123456789*x*z - 98765432198765432198765432*y + 1",
    );
    let a = parse("(y + z)*x^3 - 777777777777777777777777777*x + z^2");
    let b = parse("(y + z)*(y - 1)*x^2 + 5*x - 333333333333333333333*y");
    assert_eq!(gcd(&(&a * &c), &(&b * &c)), c);
    let contents = parse("6*(y + z)^2*(y - z)");
    let p = &c * &contents;
    assert_eq!(content(&p, 0), contents);
    assert_eq!(primitive(&p, 0), c);
}

#[test]
fn resultants() {
    assert_eq!(
        resultant(&parse("x^2 + y^2 - 1"), &parse("x - y"), 0),
        parse("2*y^2 - 1")
    );
    // The discriminant of a quadratic polynomial.
    let f = parse("a*x^2 + b*x + c");
    assert_eq!(resultant(&f, &f.derivative(0), 0), parse("a*(4*a*c - b^2)"));
    assert_eq!(resultant(&parse("x^3 - y"), &parse("7"), 0), parse("343"));
    let mut random = Random(3);
    for _ in 0..100 {
        let [a, b, c] = [0, 1, 2].map(|_| random.polynomial(2, 3, 4, 5));
        let product = resultant(&(&a * &b), &c, 0);
        assert_eq!(product, &resultant(&a, &c, 0) * &resultant(&b, &c, 0));
        assert!(resultant(&(&a * &parse("x + y")), &(&b * &parse("x + y")), 0).is_zero());
    }
}

#[test]
fn fractions() {
    let half = Fraction::new(parse("x"), parse("2*x")).expect("a fraction");
    assert_eq!(
        (half.numerator(), half.denominator()),
        (&parse("1"), &parse("2"))
    );
    let mut random = Random(4);
    for _ in 0..100 {
        let [a, b, c, d] = [0, 1, 2, 3].map(|_| random.polynomial(3, 2, 3, 5));
        let p = Fraction::new(a.clone(), b.clone()).expect("a fraction");
        let q = Fraction::new(c.clone(), d.clone()).expect("a fraction");
        assert_eq!(p.plus(&q).minus(&q), p);
        assert_eq!(p.times(&q).over(&q), Some(p.clone()));
        assert_eq!(p.plus(&p.negated()), Fraction::from(Polynomial::zero()));
        let sum = Fraction::new(&(&a * &d) + &(&b * &c), &b * &d);
        assert_eq!(Some(p.plus(&q)), sum);
    }
    assert!(Fraction::new(parse("x"), Polynomial::zero()).is_none());
}
