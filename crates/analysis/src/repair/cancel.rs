//! Cancelling in expressions: quotients of polynomials in the parts that are no sums, products or quotients.
//!
//! A null vector comes out of an elimination with divisions, and most of what is divided by cancels. Cancelling is
//! allowed here, unlike in [`Graph::tidy`]: any multiple of a null vector is one. Where an equation is simplified, the
//! factors that cancelled are kept for the list of suspects.

use crate::tolerances::ROUNDING;
use daelight_algebra::{RBig, integer};
use daelight_expr::{BinaryOp, ExprId, FastMap, Graph, Node, UnaryOp, Walker};
use daelight_symbolic::{
    Algebra, ConversionBudget, Converter, Reading, Size, Unconverted, rational_constant,
    rational_operation,
};
use std::collections::BTreeMap;

/// Most terms of a polynomial; beyond, the expression stays as it is.
const MAX_TERMS: usize = 150;

/// A number, and the size of what it was summed up from. Numbers of a text are exact, and so is what is made of them;
/// numbers that were computed, such as the null vectors of numbers, cancel up to rounding only.
#[derive(Clone, Debug)]
struct Factor {
    value: RBig,
    size: f64,
}

impl Factor {
    fn exact(value: RBig) -> Self {
        let size = integer::rational_to_f64(&value).abs();
        Self { value, size }
    }

    fn is_rounding(&self) -> bool {
        self.value.is_zero() || self.magnitude() <= ROUNDING * self.size
    }

    fn magnitude(&self) -> f64 {
        integer::rational_to_f64(&self.value).abs()
    }

    fn plus(&self, other: &Self) -> Self {
        Self {
            value: &self.value + &other.value,
            size: self.size + other.size,
        }
    }

    fn times(&self, other: &Self) -> Self {
        let size = (self.magnitude() * other.size).max(self.size * other.magnitude());
        Self {
            value: &self.value * &other.value,
            size,
        }
    }

    fn scaled(&self, number: &RBig) -> Self {
        self.times(&Self::exact(number.clone()))
    }

    fn negated(&self) -> Self {
        Self {
            value: -self.value.clone(),
            size: self.size,
        }
    }
}

/// Powers of atoms, the youngest atom first, so that the order of these lists is a lexicographic order of monomials.
type Monomial = Vec<(ExprId, u32)>;

/// A polynomial: each monomial once, with a factor that is not zero.
#[derive(Clone, Debug, Default)]
struct Poly(BTreeMap<Monomial, Factor>);

impl Poly {
    fn constant(value: RBig) -> Self {
        let mut poly = Self::default();
        if !value.is_zero() {
            poly.0.insert(Vec::new(), Factor::exact(value));
        }
        poly
    }

    fn term(monomial: Monomial, factor: RBig) -> Self {
        Self(BTreeMap::from([(monomial, Factor::exact(factor))]))
    }

    fn atom(atom: ExprId) -> Self {
        Self::term(vec![(atom, 1)], RBig::ONE)
    }

    fn is_zero(&self) -> bool {
        self.0.is_empty()
    }

    /// The number, if the polynomial is one.
    fn as_constant(&self) -> Option<RBig> {
        match self.0.len() {
            0 => Some(RBig::ZERO),
            1 => self.0.get(&Vec::new()).map(|factor| factor.value.clone()),
            _ => None,
        }
    }

    fn n_terms(&self) -> usize {
        self.0.len()
    }

    fn lead(&self) -> Option<(&Monomial, &Factor)> {
        self.0.last_key_value()
    }

    fn add_term(&mut self, monomial: Monomial, factor: Factor) {
        use std::collections::btree_map::Entry;
        match self.0.entry(monomial) {
            Entry::Vacant(place) => {
                if !factor.value.is_zero() {
                    place.insert(factor);
                }
            }
            Entry::Occupied(mut place) => {
                let sum = place.get().plus(&factor);
                if sum.is_rounding() {
                    place.remove();
                } else {
                    place.insert(sum);
                }
            }
        }
    }

    fn scaled(&self, factor: &RBig) -> Self {
        Self(
            self.0
                .iter()
                .map(|(m, f)| (m.clone(), f.scaled(factor)))
                .collect(),
        )
    }

    fn plus(&self, other: &Self) -> Self {
        let mut sum = self.clone();
        for (monomial, factor) in &other.0 {
            sum.add_term(monomial.clone(), factor.clone());
        }
        sum
    }

    /// Whether two polynomials are the same up to rounding.
    fn same(&self, other: &Self) -> bool {
        self.0.len() == other.0.len()
            && self
                .0
                .iter()
                .zip(&other.0)
                .all(|((m, f), (n, g))| m == n && f.plus(&g.negated()).is_rounding())
    }

    /// The atoms that every term has, with their least powers.
    fn content(&self) -> Monomial {
        let mut terms = self.0.keys();
        let mut common = terms.next().cloned().unwrap_or_default();
        for monomial in terms {
            common.retain_mut(|(atom, power)| {
                let here = monomial.iter().find(|(other, _)| other == atom);
                *power = here.map_or(0, |&(_, p)| p.min(*power));
                *power > 0
            });
        }
        common
    }

    /// The quotient by another polynomial, if the division leaves nothing.
    fn exact_quotient(&self, divisor: &Self) -> Option<Self> {
        let (lead, lead_factor) = divisor.lead()?;
        let inverse = RBig::ONE / &lead_factor.value;
        let mut rest = self.clone();
        let mut quotient = Self::default();
        // The leading term goes by construction, whatever its rounding.
        while let Some((monomial, factor)) = rest.0.pop_last() {
            let shift = monomial_quotient(&monomial, lead)?;
            let factor = factor.scaled(&inverse);
            if quotient.n_terms() == MAX_TERMS {
                return None;
            }
            for (other, of_other) in &divisor.0 {
                if other != lead {
                    let product = factor.times(of_other).negated();
                    rest.add_term(monomial_product(&shift, other), product);
                }
            }
            quotient.add_term(shift, factor);
        }
        Some(quotient)
    }
}

fn monomial_product(a: &Monomial, b: &Monomial) -> Monomial {
    let mut product = a.clone();
    for &(atom, power) in b {
        match product.binary_search_by(|(other, _)| atom.cmp(other)) {
            Ok(at) => product[at].1 += power,
            Err(at) => product.insert(at, (atom, power)),
        }
    }
    product
}

fn monomial_quotient(a: &Monomial, b: &Monomial) -> Option<Monomial> {
    let mut quotient = a.clone();
    for &(atom, power) in b {
        let at = quotient
            .binary_search_by(|(other, _)| atom.cmp(other))
            .ok()?;
        quotient[at].1 = quotient[at].1.checked_sub(power)?;
    }
    quotient.retain(|&(_, power)| power > 0);
    Some(quotient)
}

/// A polynomial over powers of polynomials whose leading factor is 1.
#[derive(Clone, Debug)]
struct Fraction {
    numerator: Poly,
    denominator: Vec<(Poly, u32)>,
}

impl Fraction {
    fn whole(numerator: Poly) -> Self {
        Self {
            numerator,
            denominator: Vec::new(),
        }
    }
}

/// Computes with fractions over the expressions of a graph. `None` anywhere means: too large.
struct Fractions<'g> {
    graph: &'g mut Graph,
    /// The cosine that belongs to an atom that is a sine.
    cosines: FastMap<ExprId, Option<ExprId>>,
    /// Denominators that cancelled.
    cancelled: Vec<Poly>,
}

impl Fractions<'_> {
    fn cosine(&mut self, atom: ExprId) -> Option<ExprId> {
        let graph = &mut *self.graph;
        *self
            .cosines
            .entry(atom)
            .or_insert_with(|| match graph.node(atom) {
                Node::Unary(UnaryOp::Sin, angle) => Some(graph.unary(UnaryOp::Cos, angle)),
                _ => None,
            })
    }

    /// Adds a term with all squares of sines replaced, sin^2 = 1 - cos^2.
    fn add_reduced(&mut self, poly: &mut Poly, monomial: Monomial, factor: Factor) {
        let mut pending = vec![(monomial, factor)];
        while let Some((mut monomial, factor)) = pending.pop() {
            let square = (0..monomial.len())
                .filter(|&at| monomial[at].1 >= 2)
                .find_map(|at| Some((at, self.cosine(monomial[at].0)?)));
            match square {
                None => poly.add_term(monomial, factor),
                Some((at, cosine)) => {
                    monomial[at].1 -= 2;
                    monomial.retain(|&(_, power)| power > 0);
                    let with = monomial_product(&monomial, &vec![(cosine, 2)]);
                    pending.push((with, factor.negated()));
                    pending.push((monomial, factor));
                }
            }
        }
    }

    fn multiply(&mut self, a: &Poly, b: &Poly) -> Option<Poly> {
        let mut product = Poly::default();
        for (m, f) in &a.0 {
            for (n, g) in &b.0 {
                self.add_reduced(&mut product, monomial_product(m, n), f.times(g));
            }
        }
        (product.n_terms() <= MAX_TERMS).then_some(product)
    }

    fn multiply_factors(&mut self, poly: Poly, factors: &[(Poly, u32)]) -> Option<Poly> {
        let mut product = poly;
        for (factor, power) in factors {
            for _ in 0..*power {
                product = self.multiply(&product, factor)?;
            }
        }
        Some(product)
    }

    /// Divides the numerator by whatever stands below and divides it.
    fn cancel(&mut self, mut numerator: Poly, mut denominator: Vec<(Poly, u32)>) -> Fraction {
        for (factor, power) in &mut denominator {
            while *power > 0 {
                let Some(quotient) = numerator.exact_quotient(factor) else {
                    break;
                };
                numerator = quotient;
                *power -= 1;
                if !self.cancelled.iter().any(|other| other.same(factor)) {
                    self.cancelled.push(factor.clone());
                }
                if numerator.is_zero() {
                    *power = 0;
                }
            }
        }
        denominator.retain(|&(_, power)| power > 0);
        Fraction {
            numerator,
            denominator,
        }
    }

    /// Whole polynomials in the same ratio, without a common factor that is easy to see.
    fn whole_ratio(&mut self, fractions: &[Fraction]) -> Option<Vec<Poly>> {
        let mut denominator = Vec::new();
        for fraction in fractions {
            denominator = union(&denominator, &fraction.denominator);
        }
        let mut polys = Vec::with_capacity(fractions.len());
        for fraction in fractions {
            let factors = missing(&denominator, &fraction.denominator);
            polys.push(self.multiply_factors(fraction.numerator.clone(), &factors)?);
        }
        // Atoms that all have, then the shortest of them and its parts if they divide all.
        let mut common: Option<Monomial> = None;
        for poly in polys.iter().filter(|poly| !poly.is_zero()) {
            let content = poly.content();
            common = Some(match common {
                None => content,
                Some(before) => before
                    .into_iter()
                    .filter_map(|(atom, power)| {
                        let here = content.iter().find(|(other, _)| *other == atom)?;
                        Some((atom, power.min(here.1)))
                    })
                    .collect(),
            });
        }
        let mut divisors = vec![Poly::term(common?, RBig::ONE)];
        let shortest = polys.iter().filter(|poly| !poly.is_zero());
        divisors.extend(shortest.min_by_key(|poly| poly.n_terms()).cloned());
        divisors.extend(self.cancelled.iter().cloned());
        for divisor in divisors {
            if divisor.as_constant().is_some() {
                continue;
            }
            let quotients: Option<Vec<Poly>> =
                polys.iter().map(|p| p.exact_quotient(&divisor)).collect();
            if let Some(quotients) = quotients {
                polys = quotients;
            }
        }
        // A number among them becomes 1.
        let number = polys
            .iter()
            .filter_map(Poly::as_constant)
            .find(|number| !number.is_zero());
        if let Some(number) = number {
            let inverse = RBig::ONE / number;
            for poly in &mut polys {
                *poly = poly.scaled(&inverse);
            }
        }
        Some(polys)
    }

    /// The expression of a polynomial, terms of low degree first.
    fn poly_expression(&mut self, poly: &Poly) -> ExprId {
        let mut terms: Vec<(&Monomial, &RBig)> =
            poly.0.iter().map(|(m, f)| (m, &f.value)).collect();
        // A sum reads best when it begins without a minus.
        if let Some(first) = terms.iter().position(|&(_, factor)| *factor > RBig::ZERO) {
            terms[..=first].rotate_right(1);
        }
        let mut sum = None;
        for (monomial, factor) in terms {
            let mut term = None;
            for &(atom, power) in monomial.iter().rev() {
                let exponent = self.graph.constant(f64::from(power));
                let part = self.graph.pow(atom, exponent);
                term = Some(match term {
                    None => part,
                    Some(term) => self.graph.mul(term, part),
                });
            }
            let is_negative = *factor < RBig::ZERO;
            let size = if is_negative {
                -factor.clone()
            } else {
                factor.clone()
            };
            let magnitude = rational_constant(self.graph, &size);
            let term = match term {
                None => magnitude,
                Some(term) => self.graph.mul(magnitude, term),
            };
            sum = Some(match (sum, is_negative) {
                (None, false) => term,
                (None, true) => self.graph.neg(term),
                (Some(sum), false) => self.graph.add(sum, term),
                (Some(sum), true) => self.graph.sub(sum, term),
            });
        }
        sum.unwrap_or_else(|| self.graph.constant(0.0))
    }

    fn expression(&mut self, fraction: &Fraction) -> ExprId {
        let mut result = self.poly_expression(&fraction.numerator);
        for (factor, power) in &fraction.denominator {
            let factor = self.poly_expression(factor);
            let exponent = self.graph.constant(f64::from(*power));
            let divisor = self.graph.pow(factor, exponent);
            result = self.graph.div(result, divisor);
        }
        result
    }

    /// Denominators that cancelled on the way and do not stand in the result.
    fn lost(&mut self, result: &Fraction) -> Vec<ExprId> {
        let kept = |poly: &Poly| result.denominator.iter().any(|(other, _)| other.same(poly));
        let cancelled = std::mem::take(&mut self.cancelled);
        cancelled
            .iter()
            .filter(|poly| !kept(poly))
            .map(|poly| self.poly_expression(poly))
            .collect()
    }
}

impl Algebra for Fractions<'_> {
    type Value = Fraction;

    fn read(&self, id: ExprId) -> Reading {
        use BinaryOp::{Add, Div, Mul, Pow, Sub};
        let node = rational_operation(self.graph, id);
        let is_whole = |power: f64| power.fract() == 0.0;
        match node {
            Node::Constant(_)
            | Node::Unary(UnaryOp::Neg, _)
            | Node::Binary(Add | Sub | Mul | Div, ..) => Reading::Operation(node),
            Node::Binary(Pow, _, b) if self.graph.as_constant(b).is_some_and(is_whole) => {
                Reading::Operation(node)
            }
            _ => Reading::Whole,
        }
    }

    fn alone(&mut self, id: ExprId) -> Result<Fraction, Unconverted> {
        Ok(Fraction::whole(Poly::atom(id)))
    }

    fn number(&mut self, value: &RBig) -> Fraction {
        Fraction::whole(Poly::constant(value.clone()))
    }

    fn as_number(&self, value: &Fraction) -> Option<RBig> {
        let number = value.numerator.as_constant();
        number.filter(|_| value.denominator.is_empty())
    }

    fn negated(&mut self, a: &Fraction) -> Fraction {
        Fraction {
            numerator: a.numerator.scaled(&-RBig::ONE),
            denominator: a.denominator.clone(),
        }
    }

    fn sum(&mut self, a: &Fraction, b: &Fraction) -> Option<Fraction> {
        let denominator = union(&a.denominator, &b.denominator);
        let left = missing(&denominator, &a.denominator);
        let right = missing(&denominator, &b.denominator);
        let left = self.multiply_factors(a.numerator.clone(), &left)?;
        let right = self.multiply_factors(b.numerator.clone(), &right)?;
        let numerator = left.plus(&right);
        Some(self.cancel(numerator, denominator))
    }

    fn product(&mut self, a: &Fraction, b: &Fraction) -> Option<Fraction> {
        let numerator = self.multiply(&a.numerator, &b.numerator)?;
        let mut denominator = a.denominator.clone();
        for (factor, power) in &b.denominator {
            include(&mut denominator, factor, *power);
        }
        Some(self.cancel(numerator, denominator))
    }

    fn quotient(&mut self, a: &Fraction, b: &Fraction) -> Option<Fraction> {
        let lead = b.numerator.lead()?.1.value.clone();
        let mut denominator = a.denominator.clone();
        // Factors that stand below both cancel before anything is multiplied out.
        let mut above = b.denominator.clone();
        for (factor, power) in &mut above {
            if let Some((_, below)) = denominator.iter_mut().find(|(other, _)| other.same(factor)) {
                let common = (*power).min(*below);
                *power -= common;
                *below -= common;
                if !self.cancelled.iter().any(|other| other.same(factor)) {
                    self.cancelled.push(factor.clone());
                }
            }
        }
        denominator.retain(|&(_, power)| power > 0);
        let numerator = self.multiply_factors(a.numerator.scaled(&(RBig::ONE / &lead)), &above)?;
        let content = b.numerator.content();
        for &(atom, power) in &content {
            include(&mut denominator, &Poly::atom(atom), power);
        }
        let rest = Poly::term(content, lead);
        let rest = b.numerator.exact_quotient(&rest)?;
        if rest.as_constant().is_none() {
            include(&mut denominator, &rest, 1);
        }
        Some(self.cancel(numerator, denominator))
    }

    fn size(&self, value: &Fraction) -> Size {
        let degree = |poly: &Poly| {
            let degrees = poly
                .0
                .keys()
                .map(|m| m.iter().map(|&(_, power)| power).sum());
            degrees.max().unwrap_or(0)
        };
        let below = value.denominator.iter();
        let below: u32 = below.map(|(factor, power)| degree(factor) * power).sum();
        Size {
            top: value.numerator.n_terms(),
            bottom: 1,
            degree: degree(&value.numerator).max(below),
        }
    }
}

fn converter(graph: &mut Graph) -> Converter<Fractions<'_>> {
    let fractions = Fractions {
        graph,
        cosines: FastMap::default(),
        cancelled: Vec::new(),
    };
    let budget = ConversionBudget {
        terms: MAX_TERMS,
        products: usize::MAX,
        deadline: None,
    };
    Converter::new(fractions, budget)
}

/// A simpler form of an expression with what cancelled in it, or `None` when it is too large or not simpler.
pub(super) fn simplified(graph: &mut Graph, expr: ExprId) -> Option<(ExprId, Vec<ExprId>)> {
    let before = Walker::new().reachable(graph, &[expr]).len();
    let mut converter = converter(graph);
    let fraction = converter.convert(expr).ok()?;
    let simple = converter.algebra.expression(&fraction);
    let lost = converter.algebra.lost(&fraction);
    let after = Walker::new().reachable(graph, &[simple]).len();
    (after < before).then_some((simple, lost))
}

/// Expressions without denominators in the same ratio, without a common factor that is easy to see; `None` when they are too
/// large.
pub(super) fn whole_ratio(graph: &mut Graph, exprs: &[ExprId]) -> Option<Vec<ExprId>> {
    let mut converter = converter(graph);
    let fractions: Option<Vec<Fraction>> = (exprs.iter())
        .map(|&expr| converter.convert(expr).ok())
        .collect();
    let algebra = &mut converter.algebra;
    let polys = algebra.whole_ratio(&fractions?)?;
    Some(
        polys
            .iter()
            .map(|poly| algebra.poly_expression(poly))
            .collect(),
    )
}

fn include(factors: &mut Vec<(Poly, u32)>, factor: &Poly, power: u32) {
    match factors.iter_mut().find(|(other, _)| other.same(factor)) {
        Some((_, before)) => *before += power,
        None => factors.push((factor.clone(), power)),
    }
}

/// The least common multiple of two products.
fn union(a: &[(Poly, u32)], b: &[(Poly, u32)]) -> Vec<(Poly, u32)> {
    let mut all = a.to_vec();
    for (factor, power) in b {
        match all.iter_mut().find(|(other, _)| other.same(factor)) {
            Some((_, before)) => *before = (*before).max(*power),
            None => all.push((factor.clone(), *power)),
        }
    }
    all
}

/// What a product lacks of a multiple of it.
fn missing(all: &[(Poly, u32)], part: &[(Poly, u32)]) -> Vec<(Poly, u32)> {
    all.iter()
        .map(|(factor, power)| {
            let here = part.iter().find(|(other, _)| other.same(factor));
            (factor.clone(), power - here.map_or(0, |&(_, p)| p))
        })
        .filter(|&(_, power)| power > 0)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use daelight_expr::SymbolId;

    fn text(graph: &Graph, expr: ExprId) -> String {
        let name = |symbol: SymbolId, text: &mut String| {
            text.push(['x', 'y', 'z'][symbol.0 as usize]);
        };
        graph.modelica(expr, 1000, name).expect("short")
    }

    #[test]
    fn quotients_cancel() {
        // (2/d + cos(x)/d) / (2/d) with d = 1 + sin(x)^2
        let mut graph = Graph::new();
        let x = graph.symbol(SymbolId(0));
        let (one, two) = (graph.constant(1.0), graph.constant(2.0));
        let (sine, cosine) = (graph.unary(UnaryOp::Sin, x), graph.unary(UnaryOp::Cos, x));
        let square = graph.mul(sine, sine);
        let d = graph.add(one, square);
        let a = graph.div(two, d);
        let b = graph.div(cosine, d);
        let sum = graph.add(a, b);
        let ratio = graph.div(sum, a);
        let (simple, lost) = simplified(&mut graph, ratio).expect("simpler");
        assert_eq!(text(&graph, simple), "1 + 0.5*cos(x)");
        let lost: Vec<String> = lost.into_iter().map(|expr| text(&graph, expr)).collect();
        assert_eq!(lost, ["cos(x)^2 - 2"]);
    }

    #[test]
    fn cancelled_denominators_are_told() {
        // (x^2 - y^2)/(x + y) = x - y
        let mut graph = Graph::new();
        let [x, y] = [0, 1].map(|k| graph.symbol(SymbolId(k)));
        let (xx, yy) = (graph.mul(x, x), graph.mul(y, y));
        let (above, below) = (graph.sub(xx, yy), graph.add(x, y));
        let ratio = graph.div(above, below);
        let (simple, lost) = simplified(&mut graph, ratio).expect("simpler");
        assert_eq!(text(&graph, simple), "x - y");
        assert_eq!(text(&graph, lost[0]), "x + y");
    }
}
