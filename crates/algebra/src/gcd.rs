//! Greatest common divisors by sparse modular interpolation, checked by division.
//!
//! The divisor is normalised to have the leading coefficient γ = gcd(lc a, lc b), and its coefficients are interpolated
//! modulo primes of 61 bits, one variable after the other (Zippel 1979). What comes out is a guess until it divides
//! both polynomials; its degree in the main variable is then at least that of every common divisor, so it is the
//! greatest: formulas (2) to (4) of `docs/theory/locus.md`.

use crate::integer;
use crate::monomial::Monomial;
use crate::polynomial::Polynomial;
use crate::prime_field::{Dense, PrimeField, prime_fields, trim};
use crate::random::Random;
use dashu_int::IBig;

/// The greatest common divisor over Z, its leading coefficient positive; 0 only if both are 0.
pub fn gcd(a: &Polynomial, b: &Polynomial) -> Polynomial {
    if a.is_zero() || b.is_zero() {
        let other = if a.is_zero() { b } else { a };
        return positive(other);
    }
    let numbers = integer::gcd(&a.integer_content(), &b.integer_content());
    let (monomial_a, monomial_b) = (a.common_monomial(), b.common_monomial());
    let monomial = monomial_a.common(&monomial_b);
    let strip = |p: &Polynomial, monomial: &Monomial| {
        p.primitive_over_integers()
            .divide_exactly(&Polynomial::term(monomial.clone(), IBig::ONE))
            .expect("the common monomial divides")
    };
    let core = gcd_primitive(&strip(a, &monomial_a), &strip(b, &monomial_b));
    core.times_term(&monomial, &numbers)
}

/// The greatest common divisor of the coefficients with respect to a variable.
pub fn content(a: &Polynomial, variable: usize) -> Polynomial {
    if a.degree(variable) == 0 {
        return positive(a);
    }
    gcd_of_all(a.coefficients(variable), Polynomial::zero())
}

/// The polynomial without its content with respect to a variable.
pub fn primitive(a: &Polynomial, variable: usize) -> Polynomial {
    if a.is_zero() {
        return Polynomial::zero();
    }
    a.divide_exactly(&content(a, variable))
        .expect("the content divides")
}

fn positive(a: &Polynomial) -> Polynomial {
    if integer::is_negative(&a.leading_number()) {
        -a
    } else {
        a.clone()
    }
}

/// The greatest common divisor of a start and many polynomials, small ones first.
fn gcd_of_all(mut all: Vec<Polynomial>, start: Polynomial) -> Polynomial {
    all.retain(|p| !p.is_zero());
    all.sort_by_key(Polynomial::n_terms);
    let mut common = start;
    for p in &all {
        common = gcd(&common, p);
        if common.is_one() {
            break;
        }
    }
    common
}

/// The same for polynomials without common integers or monomials.
fn gcd_primitive(a: &Polynomial, b: &Polynomial) -> Polynomial {
    if a.is_constant() || b.is_constant() {
        return Polynomial::one();
    }
    if a == b {
        return positive(a);
    }
    let (variables_a, variables_b) = (a.variables(), b.variables());
    // A variable of one of them only does not occur in the divisor: go to the coefficients.
    for (p, q, variables) in [(a, b, &variables_b), (b, a, &variables_a)] {
        if let Some(v) = p.variables().into_iter().find(|v| !variables.contains(v)) {
            return gcd_of_all(p.coefficients(v), q.clone());
        }
    }
    let mut random = Random::new(a.n_terms() as u64 * 31 + b.n_terms() as u64);
    let bounds = degree_bounds(a, b, &variables_a, &mut random);
    if bounds.iter().all(|&bound| bound == 0) {
        return Polynomial::one();
    }
    if let Some(at) = bounds.iter().position(|&bound| bound == 0) {
        let v = variables_a[at];
        let mut all = a.coefficients(v);
        all.extend(b.coefficients(v));
        return gcd_of_all(all, Polynomial::zero());
    }
    // One may divide the other.
    for (p, q) in [(a, b), (b, a)] {
        let possible = variables_a
            .iter()
            .zip(&bounds)
            .all(|(&v, &bound)| bound == p.degree(v));
        if possible && q.divide_exactly(p).is_some() {
            return positive(p);
        }
    }
    let main = (0..bounds.len())
        .min_by_key(|&at| (bounds[at], a.degree(variables_a[at])))
        .unwrap_or(0);
    let x = variables_a[main];
    let (content_a, content_b) = (content(a, x), content(b, x));
    let contents = gcd(&content_a, &content_b);
    let over = |p: &Polynomial, c: &Polynomial| p.divide_exactly(c).expect("the content divides");
    let (a, b) = (over(a, &content_a), over(b, &content_b));
    let gamma = gcd(&a.leading_coefficient(x), &b.leading_coefficient(x));
    let others: Vec<usize> = variables_a.iter().copied().filter(|&v| v != x).collect();
    // The normalised divisor has at most the degree of its cofactor-free part plus that of γ.
    let limits: Vec<u16> = variables_a
        .iter()
        .zip(&bounds)
        .filter(|pair| *pair.0 != x)
        .map(|(&v, &bound)| bound + gamma.degree(v))
        .collect();
    let mut problem = Problem {
        a: &a,
        b: &b,
        gamma: &gamma,
        x,
        others: &others,
        limits: &limits,
        degree: bounds[main],
    };
    let core = problem.solve(&mut random);
    positive(&(&core * &contents))
}

/// Upper bounds of the divisor's degree in each variable: those of images modulo a prime whose leading
/// coefficients do not vanish.
fn degree_bounds(
    a: &Polynomial,
    b: &Polynomial,
    variables: &[usize],
    random: &mut Random,
) -> Vec<u16> {
    let field = prime_fields().next().expect("there are primes");
    let n = variables.iter().max().map_or(0, |v| v + 1);
    variables
        .iter()
        .map(|&x| {
            let least = a.degree(x).min(b.degree(x));
            for _ in 0..20 {
                let point: Vec<u64> = (0..n).map(|_| field.random(random)).collect();
                let images = [a, b].map(|p| image(field, p, x, &point));
                if (images[0].len(), images[1].len())
                    == (usize::from(a.degree(x)) + 1, usize::from(b.degree(x)) + 1)
                {
                    let degree = field.poly_gcd(&images[0], &images[1]).len() - 1;
                    return least.min(degree as u16);
                }
            }
            least
        })
        .collect()
}

/// The polynomial in `x` with the other variables at a point.
fn image(field: PrimeField, p: &Polynomial, x: usize, point: &[u64]) -> Dense {
    let mut image = vec![0; usize::from(p.degree(x)) + 1];
    for (monomial, coefficient) in p.terms() {
        let value = field.mul(
            integer::remainder(coefficient, field.prime()),
            monomial_value(field, monomial, |v| v != x, point),
        );
        let slot = &mut image[usize::from(monomial.exponent(x))];
        *slot = field.add(*slot, value);
    }
    trim(&mut image);
    image
}

/// The product of the powers of the chosen variables.
fn monomial_value(
    field: PrimeField,
    monomial: &Monomial,
    chosen: impl Fn(usize) -> bool,
    point: &[u64],
) -> u64 {
    let mut value = 1;
    for (v, &exponent) in monomial.exponents().iter().enumerate() {
        if exponent > 0 && chosen(v) {
            value = field.mul(value, field.pow(point[v], exponent.into()));
        }
    }
    value
}

/// Two polynomials, primitive in `x`, whose divisor times γ / lc is to be interpolated.
struct Problem<'a> {
    a: &'a Polynomial,
    b: &'a Polynomial,
    gamma: &'a Polynomial,
    x: usize,
    others: &'a [usize],
    /// Degree bounds of the normalised divisor in the other variables.
    limits: &'a [u16],
    /// Degree in `x`: an upper bound that falls when a smaller one is met.
    degree: u16,
}

/// Why an image modulo a prime did not come about.
enum Failure {
    /// A smaller degree was met, or the guess was wrong: start again.
    Again,
    /// The divisor does not depend on the main variable.
    Trivial,
}

/// Coefficients modulo a prime: for each power of x, monomials of the other variables with their coefficients.
type Skeleton = Vec<Vec<(Monomial, u64)>>;

/// A polynomial as terms at a point that moves in geometric steps.
struct Moving {
    powers: Vec<usize>,
    values: Vec<u64>,
    ratios: Vec<u64>,
    degree: usize,
}

impl Moving {
    /// Variables in `moving` are at the i-th power of their value at `point` in step i = 1, 2, …; the others stay there.
    fn new(field: PrimeField, p: &Polynomial, x: usize, moving: &[usize], point: &[u64]) -> Self {
        let terms = p.terms();
        let moves = |v: usize| moving.contains(&v);
        Self {
            powers: terms.iter().map(|t| t.0.exponent(x).into()).collect(),
            values: terms
                .iter()
                .map(|(m, c)| {
                    let number = integer::remainder(c, field.prime());
                    let fixed = monomial_value(field, m, |v| v != x && !moves(v), point);
                    field.mul(number, fixed)
                })
                .collect(),
            ratios: terms
                .iter()
                .map(|(m, _)| monomial_value(field, m, moves, point))
                .collect(),
            degree: p.degree(x).into(),
        }
    }

    /// One step, and the polynomial in `x` there.
    fn step(&mut self, field: PrimeField) -> Dense {
        let mut image = vec![0; self.degree + 1];
        for ((&power, value), &ratio) in self.powers.iter().zip(&mut self.values).zip(&self.ratios)
        {
            *value = field.mul(*value, ratio);
            image[power] = field.add(image[power], *value);
        }
        trim(&mut image);
        image
    }
}

impl Problem<'_> {
    fn solve(&mut self, random: &mut Random) -> Polynomial {
        let limit = self.coefficient_bound();
        let mut modulus = IBig::ONE;
        let mut joined = Polynomial::zero();
        let mut degree = self.degree;
        for field in prime_fields() {
            let image = match self.modular(field, random) {
                Ok(image) => image,
                Err(Failure::Again) => continue,
                Err(Failure::Trivial) => break,
            };
            // Images of too high a degree, or a wrong one among them: begin again.
            if degree != self.degree || modulus > limit {
                (modulus, degree) = (IBig::ONE, self.degree);
                joined = Polynomial::zero();
            }
            let next = chinese(&joined, &modulus, &image, self.x, field);
            // A divisor with small coefficients is complete after one prime.
            let worth_a_try = modulus.is_one() || next == joined;
            modulus *= IBig::from(field.prime());
            joined = next;
            if worth_a_try {
                let guess = primitive(&joined, self.x).primitive_over_integers();
                if self.a.divide_exactly(&guess).is_some()
                    && self.b.divide_exactly(&guess).is_some()
                {
                    return guess;
                }
            }
        }
        Polynomial::one()
    }

    /// More than twice the square of any coefficient of the normalised divisor (Gelfond's bound, (3)).
    fn coefficient_bound(&self) -> IBig {
        let degrees: u32 = self
            .a
            .variables()
            .iter()
            .map(|&v| u32::from(self.a.degree(v)))
            .sum();
        let gamma = self.gamma.height() * IBig::from(self.gamma.n_terms());
        let bound = (self.a.height() * gamma) << (2 * degrees as usize + 1);
        &bound * &bound
    }

    /// The normalised divisor modulo one prime.
    fn modular(&mut self, field: PrimeField, random: &mut Random) -> Result<Skeleton, Failure> {
        let n = self
            .others
            .iter()
            .chain([&self.x])
            .max()
            .map_or(0, |v| v + 1);
        let base: Vec<u64> = (0..n).map(|_| field.random(random)).collect();
        let start = self.univariate(
            field,
            &image(field, self.a, self.x, &base),
            &image(field, self.b, self.x, &base),
            &image(field, self.gamma, self.x, &base),
        )?;
        let mut skeleton: Skeleton = start
            .iter()
            .map(|&value| match value {
                0 => Vec::new(),
                _ => vec![(Monomial::one(), value)],
            })
            .collect();
        for stage in 0..self.others.len() {
            skeleton = self.next_variable(field, &skeleton, stage, &base, random)?;
        }
        Ok(skeleton)
    }

    /// The image of the divisor with leading coefficient γ.
    fn univariate(
        &mut self,
        field: PrimeField,
        a: &[u64],
        b: &[u64],
        gamma: &[u64],
    ) -> Result<Dense, Failure> {
        let full = |p: &Polynomial| usize::from(p.degree(self.x)) + 1;
        if gamma.is_empty() || a.len() != full(self.a) || b.len() != full(self.b) {
            return Err(Failure::Again);
        }
        let monic = field.poly_gcd(a, b);
        let degree = (monic.len() - 1) as u16;
        if degree == 0 {
            return Err(Failure::Trivial);
        }
        if degree != self.degree {
            self.degree = self.degree.min(degree);
            return Err(Failure::Again);
        }
        Ok(field.poly_scale(&monic, gamma[0]))
    }

    /// Interpolates in one more variable: the known monomials at further values of it, then each coefficient.
    fn next_variable(
        &mut self,
        field: PrimeField,
        skeleton: &Skeleton,
        stage: usize,
        base: &[u64],
        random: &mut Random,
    ) -> Result<Skeleton, Failure> {
        let v = self.others[stage];
        let n_steps = skeleton.iter().map(Vec::len).max().unwrap_or(0);
        let mut nodes = vec![base[v]];
        // values[power][monomial][node]
        let mut values: Vec<Vec<Vec<u64>>> = skeleton
            .iter()
            .map(|terms| terms.iter().map(|term| vec![term.1]).collect())
            .collect();
        for _ in 0..self.limits[stage] {
            let mut point = base.to_vec();
            point[v] = loop {
                let value = field.random(random);
                if !nodes.contains(&value) {
                    break value;
                }
            };
            nodes.push(point[v]);
            let moving = &self.others[..stage];
            for &w in moving {
                point[w] = field.random(random);
            }
            let [mut a, mut b, mut gamma] =
                [self.a, self.b, self.gamma].map(|p| Moving::new(field, p, self.x, moving, &point));
            let mut images = Vec::with_capacity(n_steps);
            for _ in 0..n_steps {
                let (a, b, gamma) = (a.step(field), b.step(field), gamma.step(field));
                images.push(self.univariate(field, &a, &b, &gamma)?);
            }
            for (power, terms) in skeleton.iter().enumerate() {
                let roots: Vec<u64> = terms
                    .iter()
                    .map(|(m, _)| monomial_value(field, m, |_| true, &point))
                    .collect();
                let right: Vec<u64> = images[..terms.len()].iter().map(|i| i[power]).collect();
                let solution = vandermonde(field, &roots, &right).ok_or(Failure::Again)?;
                for (list, value) in values[power].iter_mut().zip(solution) {
                    list.push(value);
                }
            }
        }
        Ok(skeleton
            .iter()
            .zip(&values)
            .map(|(terms, values)| {
                terms
                    .iter()
                    .zip(values)
                    .flat_map(|((monomial, _), values)| {
                        let powers = interpolate(field, &nodes, values);
                        (0u16..)
                            .zip(powers)
                            .filter(|p| p.1 != 0)
                            .map(|(power, value)| {
                                (monomial.times(&Monomial::power(v, power)), value)
                            })
                    })
                    .collect()
            })
            .collect())
    }
}

/// Solves sum_l c_l r_l^i = b_i for i = 1, …, n; `None` when roots coincide.
fn vandermonde(field: PrimeField, roots: &[u64], right: &[u64]) -> Option<Vec<u64>> {
    let mut master: Dense = vec![1];
    for &root in roots {
        master = field.poly_mul(&master, &[field.neg(root), 1]);
    }
    roots
        .iter()
        .map(|&root| {
            let basis = field.poly_div_rem(&master, &[field.neg(root), 1]).0;
            let dot = basis
                .iter()
                .zip(right)
                .fold(0, |sum, (&b, &r)| field.add(sum, field.mul(b, r)));
            let value = basis
                .iter()
                .rev()
                .fold(0, |sum, &b| field.add(field.mul(sum, root), b));
            let scale = field.mul(value, root);
            (scale != 0).then(|| field.mul(dot, field.inverse(scale)))
        })
        .collect()
}

/// The coefficients of the polynomial with given values (Newton).
fn interpolate(field: PrimeField, nodes: &[u64], values: &[u64]) -> Dense {
    let mut result: Dense = Vec::new();
    let mut newton: Dense = vec![1];
    for (&node, &value) in nodes.iter().zip(values) {
        let at = |p: &[u64]| {
            p.iter()
                .rev()
                .fold(0, |sum, &c| field.add(field.mul(sum, node), c))
        };
        let slope = field.mul(field.sub(value, at(&result)), field.inverse(at(&newton)));
        result.resize(newton.len(), 0);
        for (slot, &c) in result.iter_mut().zip(&newton) {
            *slot = field.add(*slot, field.mul(slope, c));
        }
        newton = field.poly_mul(&newton, &[field.neg(node), 1]);
    }
    result
}

/// Joins an image modulo a prime to what is known modulo a product of other primes; coefficients of smallest
/// magnitude.
fn chinese(
    joined: &Polynomial,
    modulus: &IBig,
    image: &Skeleton,
    x: usize,
    field: PrimeField,
) -> Polynomial {
    let inverse = field.inverse(integer::remainder(modulus, field.prime()));
    let fresh = Polynomial::from_terms((0u16..).zip(image).flat_map(|(power, terms)| {
        terms.iter().map(move |(monomial, value)| {
            (
                monomial.times(&Monomial::power(x, power)),
                IBig::from(*value),
            )
        })
    }));
    let product = modulus * IBig::from(field.prime());
    // joined + modulus ((fresh - joined) / modulus mod p)
    let step = (&fresh - joined).map_coefficients(|c| {
        let residue = integer::remainder(c, field.prime());
        IBig::from(field.mul(residue, inverse)) * modulus
    });
    (joined + &step).map_coefficients(|c| integer::symmetric_remainder(c, &product))
}
