//! The simplest of several ways to write a trigonometric polynomial.

use super::circle::angles_of;
use daelight_algebra::{IBig, Monomial, Polynomial, RBig};
use daelight_expr::{ExprId, Graph, UnaryOp};
use daelight_symbolic::{BaseAngle, GeneratorKind, Generators, eliminate_square};
use std::collections::BTreeMap;

/// Most terms of a sum of waves that is looked at.
const MOST_WAVES: usize = 400;

/// Fewer terms, fewer generators, lower degree, smaller numbers: in this order.
fn cost(p: &Polynomial) -> (usize, usize, u32, IBig) {
    (
        p.n_terms(),
        p.variables().len(),
        p.total_degree(),
        p.height(),
    )
}

/// The simplest polynomial of generators with a ratio: p = ratio * result. The result has integer coefficients without
/// common divisor and a positive leading one.
pub(super) fn simplest(
    p: &Polynomial,
    generators: &mut Generators,
    graph: &mut Graph,
) -> (Polynomial, RBig) {
    let mut content = RBig::from(p.integer_content());
    let mut best = p.primitive_over_integers();
    let angles: Vec<BaseAngle> = angles_of(p, generators)
        .into_iter()
        .map(|(_, a)| a)
        .collect();
    for angle in &angles {
        for (s, c) in [(angle.sine, angle.cosine), (angle.cosine, angle.sine)] {
            let other = eliminate_square(&best, s, c);
            let primitive = other.primitive_over_integers();
            if cost(&primitive) < cost(&best) {
                content *= RBig::from(other.integer_content());
                best = primitive;
            }
        }
    }
    if let Some(waves) = waves(&best, &angles)
        && waves.n_terms() < best.n_terms()
    {
        let sum = Polynomial::from_terms(waves.terms.iter().flat_map(|wave| {
            let wave_number = wave.generator(&angles, generators, graph);
            wave.coefficient
                .terms()
                .iter()
                .map(move |(monomial, number)| match wave_number {
                    None => (monomial.clone(), number.clone()),
                    Some(v) => (monomial.times(&Monomial::power(v, 1)), number.clone()),
                })
                .collect::<Vec<_>>()
        }));
        content *= RBig::from(sum.integer_content()) / RBig::from(waves.scale);
        best = sum.primitive_over_integers();
    }
    (best, content)
}

/// coefficient * cos(k·a) or coefficient * sin(k·a).
struct Wave {
    multiples: Vec<i32>,
    is_sine: bool,
    coefficient: Polynomial,
}

/// scale * p as a sum of waves.
struct Waves {
    scale: IBig,
    terms: Vec<Wave>,
}

impl Waves {
    fn n_terms(&self) -> usize {
        self.terms.iter().map(|w| w.coefficient.n_terms()).sum()
    }
}

impl Wave {
    /// The number of the generator; `None` for cos(0).
    fn generator(
        &self,
        angles: &[BaseAngle],
        generators: &mut Generators,
        graph: &mut Graph,
    ) -> Option<usize> {
        let mut sum: Option<ExprId> = None;
        for (angle, &multiple) in angles.iter().zip(&self.multiples) {
            if multiple == 0 {
                continue;
            }
            let term = angle.multiple(graph, multiple.unsigned_abs());
            sum = Some(match (sum, multiple < 0) {
                (None, false) => term,
                (None, true) => graph.neg(term),
                (Some(sum), false) => graph.add(sum, term),
                (Some(sum), true) => graph.sub(sum, term),
            });
        }
        let op = if self.is_sine {
            UnaryOp::Sin
        } else {
            UnaryOp::Cos
        };
        let expr = graph.unary(op, sum?);
        Some(generators.number(expr, || GeneratorKind::Free))
    }
}

/// Multiples k of the angles and a power of i, counted modulo 4, with a number: the number times i^.. exp(i k·a).
type Exponentials = BTreeMap<(Vec<i32>, u8), IBig>;

/// A number times 2^degree times the sines and cosines of a monomial, as a sum of exponentials; `None` if there are too many.
fn exponentials(monomial: &Monomial, number: IBig, angles: &[BaseAngle]) -> Option<Exponentials> {
    let mut product: Exponentials = BTreeMap::from([((vec![0; angles.len()], 0), number)]);
    for (at, angle) in angles.iter().enumerate() {
        for (variable, is_sine) in [(angle.cosine, false), (angle.sine, true)] {
            for _ in 0..monomial.exponent(variable) {
                let mut next = Exponentials::new();
                for ((multiples, turns), value) in &product {
                    for step in [1, -1] {
                        let mut multiples = multiples.clone();
                        multiples[at] += step;
                        // 2 cos = z + 1/z; 2 sin = -i z + i/z.
                        let turn = match (is_sine, step) {
                            (false, _) => 0,
                            (true, 1) => 3,
                            (true, _) => 1,
                        };
                        let place = (multiples, (turns + turn) % 4);
                        *next.entry(place).or_insert(IBig::ZERO) += value;
                    }
                }
                product = next;
                if product.len() > MOST_WAVES {
                    return None;
                }
            }
        }
    }
    Some(product)
}

/// Products of sines and cosines as sums, by the exponentials of the angles: (19).
fn waves(p: &Polynomial, angles: &[BaseAngle]) -> Option<Waves> {
    if angles.is_empty() {
        return None;
    }
    let degree = |m: &Monomial| -> usize {
        let exponents = angles
            .iter()
            .map(|a| m.exponent(a.cosine) + m.exponent(a.sine));
        exponents.map(usize::from).sum()
    };
    let highest = p.terms().iter().map(|(m, _)| degree(m)).max().unwrap_or(0);
    // Coefficients of exp(i k·a): real and imaginary part.
    let mut sums: BTreeMap<Vec<i32>, [Vec<(Monomial, IBig)>; 2]> = BTreeMap::new();
    for (monomial, coefficient) in p.terms() {
        let mut rest = monomial.clone();
        for angle in angles {
            rest = rest.without(angle.cosine).without(angle.sine);
        }
        let start = coefficient * (IBig::ONE << (highest - degree(monomial)));
        for ((multiples, turns), value) in exponentials(monomial, start, angles)? {
            let signed = if turns >= 2 { -value } else { value };
            let part = usize::from(turns % 2);
            sums.entry(multiples).or_default()[part].push((rest.clone(), signed));
            if sums.len() > MOST_WAVES {
                return None;
            }
        }
    }
    let mut terms = Vec::new();
    for (multiples, parts) in sums {
        let first = multiples.iter().find(|k| **k != 0).copied().unwrap_or(0);
        if first < 0 {
            continue;
        }
        // a exp + its conjugate = 2 Re a cos - 2 Im a sin; the constant stands alone.
        let double = IBig::from(if first == 0 { 1 } else { 2 });
        for (part, is_sine) in parts.into_iter().zip([false, true]) {
            let factor = if is_sine { -&double } else { double.clone() };
            let coefficient = Polynomial::from_terms(part).scaled(&factor);
            if coefficient.is_zero() {
                continue;
            }
            terms.push(Wave {
                multiples: multiples.clone(),
                is_sine,
                coefficient,
            });
        }
    }
    Some(Waves {
        scale: IBig::ONE << highest,
        terms,
    })
}
