//! Unique factorisation of trigonometric polynomials through the tangents of half the angles.
//!
//! With t = tan(a/2) a polynomial in cos a and sin a of degree d is P(t) / (1 + t^2)^d, and P factors uniquely. Seen as
//! forms of degree 2 d in cos(a/2) and sin(a/2), products of factors of even degree are trigonometric polynomials again:
//! (15) to (18) of `docs/theory/locus.md`. In tangent polynomials the number of the cosine stands for t.

use super::LocusOptions;
use daelight_algebra::{IBig, Monomial, Polynomial, RBig, factor};
use daelight_symbolic::{BaseAngle, GeneratorKind, Generators};
use std::collections::BTreeMap;

/// A factor in the tangents of half the angles.
#[derive(Clone, PartialEq)]
enum Form {
    /// A polynomial that is no multiple of 1 + t^2.
    Tangents(Polynomial),
    /// The cosine of half an angle: the root at infinity.
    Infinity(usize),
    /// A polynomial of the generators that was too large to go on with.
    Large(Polynomial),
}

struct Entry {
    form: Form,
    exponent: i32,
    is_irreducible: bool,
}

/// A product of powers of factors.
pub(super) struct Collection<'a> {
    options: &'a LocusOptions,
    constant: RBig,
    entries: Vec<Entry>,
}

/// A factor as a polynomial of the generators.
pub(super) struct Group {
    pub(super) polynomial: Polynomial,
    pub(super) exponent: i32,
    pub(super) is_irreducible: bool,
}

/// A number times powers of polynomials of the generators.
pub(super) struct Groups {
    pub(super) constant: RBig,
    pub(super) groups: Vec<Group>,
}

impl<'a> Collection<'a> {
    pub(super) fn new(options: &'a LocusOptions) -> Self {
        Self {
            options,
            constant: RBig::ONE,
            entries: Vec::new(),
        }
    }

    /// Multiplies by a power of a polynomial of the generators.
    pub(super) fn multiply(&mut self, p: &Polynomial, exponent: i32, generators: &Generators) {
        let (p, scale) = generators.reduce(p);
        self.scale(&scale, -exponent);
        let parts = factor(&p, &self.options.factor_budget());
        self.scale(&parts.unit, exponent);
        for part in parts.factors {
            let exponent = exponent * part.multiplicity as i32;
            self.multiply_factor(&part.polynomial, exponent, part.is_proved, generators);
        }
    }

    fn scale(&mut self, unit: &IBig, exponent: i32) {
        if unit.is_zero() {
            self.constant = RBig::ZERO;
        } else {
            self.constant *= RBig::from(unit.clone()).pow(exponent as isize);
        }
    }

    fn multiply_factor(
        &mut self,
        p: &Polynomial,
        exponent: i32,
        is_proved: bool,
        generators: &Generators,
    ) {
        let angles: Vec<(usize, BaseAngle)> = angles_of(p, generators);
        // With square roots the ring has no unique factorisation: nothing is claimed.
        let rooted = p
            .variables()
            .iter()
            .any(|&v| matches!(generators.kind(v), GeneratorKind::Root { .. }));
        if angles.is_empty() {
            let is_irreducible = is_proved && !rooted;
            self.push(Form::Tangents(p.clone()), exponent, is_irreducible);
            return;
        }
        let Some((tangents, degrees)) = to_tangents(p, &angles, self.options) else {
            self.push(Form::Large(p.clone()), exponent, false);
            return;
        };
        let parts = factor(&tangents, &self.options.factor_budget());
        self.scale(&parts.unit, exponent);
        let mut left: Vec<i32> = degrees.iter().map(|&d| 2 * i32::from(d)).collect();
        for part in &parts.factors {
            let q = &part.polynomial;
            let power = part.multiplicity as i32;
            for (left, (_, angle)) in left.iter_mut().zip(&angles) {
                *left -= power * i32::from(q.degree(angle.cosine));
            }
            if angles.iter().any(|(_, angle)| *q == norm(angle.cosine)) {
                // 1 + t^2 is a unit: cos^2 + sin^2 of half the angle.
                continue;
            }
            let is_irreducible = part.is_proved && !rooted;
            self.push(Form::Tangents(q.clone()), exponent * power, is_irreducible);
        }
        for (left, (number, _)) in left.iter().zip(&angles) {
            self.push(Form::Infinity(*number), exponent * left, true);
        }
    }

    fn push(&mut self, form: Form, exponent: i32, is_irreducible: bool) {
        if exponent == 0 {
            return;
        }
        match self.entries.iter_mut().find(|entry| entry.form == form) {
            Some(entry) => entry.exponent += exponent,
            None => self.entries.push(Entry {
                form,
                exponent,
                is_irreducible,
            }),
        }
    }

    /// Joins factors of odd degree so that every group is a polynomial of the generators: (18).
    pub(super) fn groups(mut self, generators: &Generators) -> Groups {
        self.entries.retain(|entry| entry.exponent != 0);
        let parities: Vec<u128> = self
            .entries
            .iter()
            .map(|entry| parity(&entry.form, generators))
            .collect();
        let mut left: Vec<i32> = self.entries.iter().map(|entry| entry.exponent).collect();
        let mut members: Vec<(Vec<usize>, i32)> = Vec::new();
        let n = left.len();
        for i in 0..n {
            if parities[i] == 0 {
                members.push((vec![i], std::mem::take(&mut left[i])));
            }
        }
        // Two factors of equal parity and sign: sin a rather than (1 - cos a) (1 + cos a).
        for i in 0..n {
            for j in i + 1..n {
                if parities[i] == parities[j] && left[i].signum() * left[j].signum() == 1 {
                    let common = left[i].abs().min(left[j].abs()) * left[i].signum();
                    members.push((vec![i, j], common));
                    left[i] -= common;
                    left[j] -= common;
                }
            }
        }
        // Squares; what remains has exponent 1.
        for (i, left) in left.iter_mut().enumerate() {
            let half = left.div_euclid(2);
            if half != 0 {
                members.push((vec![i, i], half));
                *left -= 2 * half;
            }
        }
        let mut single: Vec<usize> = (0..n).filter(|&i| left[i] == 1).collect();
        while let Some(group) = even_subset(&single, &parities) {
            single.retain(|i| !group.contains(i));
            members.push((group, 1));
        }
        assert!(
            single.is_empty(),
            "trigonometric polynomials have even degree in half angles"
        );
        let mut groups = Vec::new();
        let mut constant = self.constant;
        for (indices, exponent) in members {
            if exponent == 0 {
                continue;
            }
            let forms: Vec<&Form> = indices.iter().map(|&i| &self.entries[i].form).collect();
            let (polynomial, power_of_two) = from_tangents(&forms, generators);
            constant *= RBig::from(IBig::ONE << power_of_two).pow(-exponent as isize);
            groups.push(Group {
                polynomial,
                exponent,
                is_irreducible: indices.iter().all(|&i| self.entries[i].is_irreducible),
            });
        }
        groups.sort_by(|a, b| {
            let key = |g: &Group| (g.polynomial.total_degree(), g.polynomial.n_terms());
            key(a)
                .cmp(&key(b))
                .then_with(|| a.polynomial.cmp(&b.polynomial))
        });
        Groups { constant, groups }
    }
}

/// The smallest subset whose parities add up to even; `None` when nothing is left or nothing fits.
fn even_subset(single: &[usize], parities: &[u128]) -> Option<Vec<usize>> {
    // Beyond 16 factors of odd degree all of them are one group.
    if single.len() > 16 {
        return Some(single.to_vec());
    }
    (1u32..1 << single.len())
        .filter(|subset| {
            let chosen = (0..single.len()).filter(|k| subset >> k & 1 == 1);
            chosen.fold(0, |sum, k| sum ^ parities[single[k]]) == 0
        })
        .min_by_key(|subset| subset.count_ones())
        .map(|subset| {
            let chosen = (0..single.len()).filter(|k| subset >> k & 1 == 1);
            chosen.map(|k| single[k]).collect()
        })
}

/// The polynomial 1 + t^2.
fn norm(t: usize) -> Polynomial {
    &Polynomial::variable(t).pow(2) + &Polynomial::one()
}

/// The angles whose sine or cosine occurs.
pub(super) fn angles_of(p: &Polynomial, generators: &Generators) -> Vec<(usize, BaseAngle)> {
    let variables = p.variables();
    let occurs =
        |angle: &BaseAngle| variables.contains(&angle.cosine) || variables.contains(&angle.sine);
    let angles = generators.angles().iter().copied().enumerate();
    angles.filter(|(_, angle)| occurs(angle)).collect()
}

/// For each angle one bit: whether the degree in half the angle is odd.
fn parity(form: &Form, generators: &Generators) -> u128 {
    match form {
        Form::Large(_) => 0,
        Form::Infinity(angle) => 1 << angle,
        Form::Tangents(q) => (0u32..)
            .zip(generators.angles())
            .filter(|(_, angle)| q.degree(angle.cosine) % 2 == 1)
            .fold(0, |bits, (number, _)| bits | 1 << number),
    }
}

/// p ∏ (1 + t^2)^d in the tangents, and the degrees d: (15). `None` beyond the limits of terms and degrees or 128 angles.
fn to_tangents(
    p: &Polynomial,
    angles: &[(usize, BaseAngle)],
    options: &LocusOptions,
) -> Option<(Polynomial, Vec<u16>)> {
    let mut result = p.clone();
    let mut degrees = Vec::new();
    for (number, angle) in angles {
        if *number >= 128 {
            return None;
        }
        let exponents = |m: &Monomial| (m.exponent(angle.cosine), m.exponent(angle.sine));
        let degree = result
            .terms()
            .iter()
            .map(|(m, _)| exponents(m).0 + exponents(m).1)
            .max()
            .unwrap_or(0);
        if 2 * degree > options.factor.degree {
            return None;
        }
        let mut pieces: BTreeMap<(u16, u16), Vec<(Monomial, IBig)>> = BTreeMap::new();
        for (monomial, coefficient) in result.terms() {
            let rest = monomial.without(angle.cosine).without(angle.sine);
            let piece = pieces.entry(exponents(monomial)).or_default();
            piece.push((rest, coefficient.clone()));
        }
        let t = Polynomial::variable(angle.cosine);
        let cosine = &Polynomial::one() - &t.pow(2);
        let sine = t.scaled(&IBig::from(2));
        let mut sum = Polynomial::zero();
        for ((c, s), terms) in pieces {
            let tangents = &(&cosine.pow(c.into()) * &sine.pow(s.into()))
                * &norm(angle.cosine).pow((degree - c - s).into());
            sum = &sum + &(&Polynomial::from_terms(terms) * &tangents);
            if sum.n_terms() > options.terms {
                return None;
            }
        }
        result = sum;
        degrees.push(degree);
    }
    Some((result, degrees))
}

/// The product of forms, of even degree in every half angle, as a polynomial of the generators times a power of 2,
/// whose exponent is returned: (16).
fn from_tangents(forms: &[&Form], generators: &Generators) -> (Polynomial, usize) {
    let mut product = Polynomial::one();
    let mut degrees = vec![0u16; generators.angles().len()];
    for form in forms {
        match form {
            Form::Large(p) => return (p.clone(), 0),
            Form::Infinity(angle) => degrees[*angle] += 1,
            Form::Tangents(q) => {
                for (degree, angle) in degrees.iter_mut().zip(generators.angles()) {
                    *degree += q.degree(angle.cosine);
                }
                product = &product * q;
            }
        }
    }
    let mut power_of_two = 0;
    for (&degree, angle) in degrees.iter().zip(generators.angles()) {
        if degree == 0 {
            continue;
        }
        let half = degree / 2;
        power_of_two += usize::from(half);
        let c = Polynomial::variable(angle.cosine);
        let (minus, plus) = (&Polynomial::one() - &c, &Polynomial::one() + &c);
        let mut sum = Polynomial::zero();
        for (j, coefficient) in (0u16..).zip(product.coefficients(angle.cosine)) {
            if coefficient.is_zero() {
                continue;
            }
            // 2^k sin^j cos^(2k - j) of half the angle.
            let low = j / 2;
            let high = (degree - j) / 2;
            let mut piece = &minus.pow(low.into()) * &plus.pow(high.into());
            if j % 2 == 1 {
                piece = &piece * &Polynomial::variable(angle.sine);
            }
            sum = &sum + &(&coefficient * &piece);
        }
        product = sum;
    }
    (product, power_of_two)
}
