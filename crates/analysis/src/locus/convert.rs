//! Entries as quotients of polynomials in generators, in lowest terms.

use super::{Incomplete, LocusOptions, Role};
use daelight_algebra::{Fraction, Polynomial, RBig, integer};
use daelight_expr::{BinaryOp, ExprId, Graph, Node, SymbolId, UnaryOp};
use daelight_symbolic::{
    Algebra, BaseMultiples, ConversionBudget, Converter, GeneratorKind, Generators, Reading, Size,
    Unconverted, multiple_of,
};

/// Largest multiple of a base angle that is expanded; beyond it the angle stands for itself.
const MOST_MULTIPLE: i32 = 12;

/// Expressions as quotients in normal form, `None` as 0, and the generators they are made of.
pub(super) fn quotients(
    graph: &mut Graph,
    role: &dyn Fn(SymbolId) -> Role,
    options: &LocusOptions,
    exprs: &[Option<ExprId>],
) -> Result<(Vec<Fraction>, Generators), Incomplete> {
    let incomplete = |because| match because {
        Unconverted::Terms => Incomplete::Terms {
            limit: options.terms,
        },
        Unconverted::Products => Incomplete::Products {
            limit: options.products,
        },
        Unconverted::Degree => Incomplete::Magnitude,
        Unconverted::Time => Incomplete::Time,
        Unconverted::Undefined(_) | Unconverted::NotAlgebraic(..) => Incomplete::Undefined,
    };
    let quotients = Quotients {
        graph,
        role,
        keep_parameters: options.keep_parameters,
        generators: Generators::default(),
        multiples: BaseMultiples::default(),
    };
    let budget = ConversionBudget {
        terms: options.terms,
        products: options.products,
        deadline: options.deadline,
    };
    let mut converter = Converter::new(quotients, budget);
    if let Some((_, because)) = (converter
        .survey(exprs.iter().copied().flatten())
        .into_iter())
    .next()
    {
        return Err(incomplete(because));
    }
    converter.algebra.generators = Generators::default();
    let mut found = Vec::with_capacity(exprs.len());
    for expr in exprs {
        found.push(match expr {
            None => Fraction::from(Polynomial::zero()),
            Some(expr) => converter.convert(*expr).map_err(incomplete)?,
        });
    }
    Ok((found, converter.algebra.generators))
}

/// Quotients in normal form modulo the relations of the generators.
struct Quotients<'a> {
    graph: &'a mut Graph,
    role: &'a dyn Fn(SymbolId) -> Role,
    keep_parameters: bool,
    generators: Generators,
    /// Of the products of generators that occur in angles.
    multiples: BaseMultiples<ExprId>,
}

impl Quotients<'_> {
    /// An expression that stands for itself.
    fn free(&mut self, id: ExprId) -> Fraction {
        let generator = self.generators.number(id, || GeneratorKind::Free);
        Fraction::from(Polynomial::variable(generator))
    }

    /// The terms of an angle: products of generators with rational factors. `None` if there is a denominator.
    fn terms(&mut self, argument: &Fraction) -> Option<Vec<(ExprId, RBig)>> {
        let denominator = RBig::from(argument.denominator().as_constant()?);
        let terms = argument.numerator().terms().iter();
        let term = |(monomial, coefficient): &(_, _)| {
            let base = self.generators.product(self.graph, monomial, 1.0);
            (
                base,
                RBig::from(daelight_algebra::IBig::clone(coefficient)) / &denominator,
            )
        };
        Some(terms.map(term).collect())
    }

    /// An angle as whole multiples of base angles.
    fn parts(&mut self, id: ExprId, argument: &Fraction) -> Vec<Part> {
        let alone = |base: ExprId, multiple: i32| Part {
            base,
            over: 1,
            multiple,
        };
        let Some(terms) = self.terms(argument) else {
            let whole = self.graph.node(id).arguments().next();
            return whole.map(|whole| alone(whole, 1)).into_iter().collect();
        };
        let mut parts = Vec::with_capacity(terms.len());
        for (base, ratio) in terms {
            let multiple = self.multiples.multiple(base, &ratio);
            let multiple = multiple.and_then(|multiple| i32::try_from(&multiple).ok());
            let over = self
                .multiples
                .over(&base)
                .and_then(|over| u32::try_from(over).ok());
            parts.push(match (multiple, over) {
                (Some(multiple), Some(over)) if multiple.abs() <= MOST_MULTIPLE => Part {
                    base,
                    over,
                    multiple,
                },
                _ => {
                    let number = integer::rational_to_f64(&ratio);
                    let size = self.graph.constant(number.abs());
                    let term = self.graph.mul(size, base);
                    alone(term, if number < 0.0 { -1 } else { 1 })
                }
            });
        }
        parts
    }

    fn reduced(&self, value: &Fraction) -> Option<Fraction> {
        self.generators.reduce_fraction(value)
    }
}

impl Algebra for Quotients<'_> {
    type Value = Fraction;

    fn read(&self, id: ExprId) -> Reading {
        let node = self.graph.node(id);
        match node {
            Node::Symbol(symbol) => match (self.role)(symbol) {
                Role::Parameter(value) if !self.keep_parameters => {
                    Reading::Operation(Node::Constant(value.to_bits()))
                }
                _ => Reading::Whole,
            },
            // Whole powers, and half ones as powers of roots.
            Node::Binary(BinaryOp::Pow, _, b)
                if (self.graph.as_constant(b)).is_none_or(|b| (2.0 * b).fract() != 0.0) =>
            {
                Reading::Whole
            }
            _ => Reading::Operation(node),
        }
    }

    fn alone(&mut self, id: ExprId) -> Result<Fraction, Unconverted> {
        Ok(self.free(id))
    }

    fn number(&mut self, value: &RBig) -> Fraction {
        Fraction::number(value)
    }

    fn as_number(&self, value: &Fraction) -> Option<RBig> {
        let (top, bottom) = (value.numerator(), value.denominator());
        Some(RBig::from(top.as_constant()?) / RBig::from(bottom.as_constant()?))
    }

    fn negated(&mut self, a: &Fraction) -> Fraction {
        a.negated()
    }

    fn sum(&mut self, a: &Fraction, b: &Fraction) -> Option<Fraction> {
        self.reduced(&a.plus(b))
    }

    fn product(&mut self, a: &Fraction, b: &Fraction) -> Option<Fraction> {
        self.reduced(&a.times(b))
    }

    fn quotient(&mut self, a: &Fraction, b: &Fraction) -> Option<Fraction> {
        self.reduced(&a.over(b)?)
    }

    fn size(&self, value: &Fraction) -> Size {
        let [top, bottom] = [value.numerator(), value.denominator()];
        Size {
            top: top.n_terms(),
            bottom: bottom.n_terms(),
            degree: top.total_degree().max(bottom.total_degree()),
        }
    }

    /// With its relation when the radicand is a polynomial.
    fn root(
        &mut self,
        id: ExprId,
        argument: ExprId,
        radicand: &Fraction,
    ) -> Result<Fraction, Unconverted> {
        let id = match self.graph.node(id) {
            Node::Unary(UnaryOp::Sqrt, _) => id,
            _ => self.graph.unary(UnaryOp::Sqrt, argument),
        };
        let kind = match radicand.denominator().as_constant() {
            Some(scale) => GeneratorKind::Root {
                radicand: radicand.numerator().clone(),
                scale,
            },
            None => GeneratorKind::Free,
        };
        let generator = self.generators.number(id, || kind);
        Ok(Fraction::from(Polynomial::variable(generator)))
    }

    fn survey(&mut self, id: ExprId, argument: &Fraction) -> Result<Fraction, Unconverted> {
        for (base, ratio) in self.terms(argument).unwrap_or_default() {
            self.multiples.note(base, &ratio);
        }
        Ok(self.free(id))
    }

    /// Expanded to base angles: (12) of `docs/theory/locus.md`.
    fn circle(&mut self, id: ExprId, argument: &Fraction) -> Result<[Fraction; 2], Unconverted> {
        let [mut cosine, mut sine] = [Polynomial::one(), Polynomial::zero()];
        for part in self.parts(id, argument) {
            let angle = self.generators.angle(self.graph, part.base, part.over);
            let mut unit_sine = Polynomial::variable(angle.sine);
            if part.multiple < 0 {
                unit_sine = -&unit_sine;
            }
            let unit_cosine = Polynomial::variable(angle.cosine);
            for _ in 0..part.multiple.unsigned_abs() {
                let turned = [
                    &(&cosine * &unit_cosine) - &(&sine * &unit_sine),
                    &(&cosine * &unit_sine) + &(&sine * &unit_cosine),
                ];
                [cosine, sine] = turned.map(|part| self.generators.reduce(&part).0);
            }
        }
        Ok([cosine, sine].map(Fraction::from))
    }

    /// Powers of the exponentials of the terms of its argument.
    fn exponential(&mut self, id: ExprId, argument: &Fraction) -> Result<Fraction, Unconverted> {
        let mut total = Fraction::from(Polynomial::one());
        for part in self.parts(id, argument) {
            let base = multiple_of(self.graph, part.base, 1, part.over);
            let exponential = self.graph.unary(UnaryOp::Exp, base);
            let generator = self.generators.number(exponential, || GeneratorKind::Free);
            let power = Polynomial::variable(generator).pow(part.multiple.unsigned_abs());
            let power = Fraction::from(power);
            total = if part.multiple < 0 {
                total.over(&power).ok_or(Unconverted::Undefined(id))?
            } else {
                total.times(&power)
            };
        }
        Ok(total)
    }
}

/// `multiple * (base / over)`.
struct Part {
    base: ExprId,
    over: u32,
    multiple: i32,
}
