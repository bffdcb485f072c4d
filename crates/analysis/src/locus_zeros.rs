//! Zeros of singular loci that depend on one quantity of the motion alone, such as the cosine of an angle.

use crate::System;
use crate::locus::{BlockLoci, DeterminantFactor, FactorKind, Locus};
use crate::singular_loci::{Source, plain};
use daelight_algebra::real::Univariate;
use daelight_algebra::{Budget, Polynomial, RBig, integer, squarefree};
use daelight_expr::{ExprId, Walker};
use daelight_lang::{LINE, Symbol};
use std::time::Instant;

/// Bits behind the point to which zeros are found.
const BITS: usize = 80;

/// A factor of a singular locus in one quantity of the motion, with its zeros at the present values of the parameters.
#[derive(Clone, PartialEq, Debug)]
pub struct FactorZeros {
    /// The factor.
    pub factor: String,
    /// The quantity, such as `cos(x3)` or `x`.
    pub quantity: String,
    /// Whether parameters occur in the factor.
    pub has_parameters: bool,
    /// Its real zeros in ascending order.
    pub zeros: Vec<f64>,
    /// Whether the quantity is a cosine or a sine, which reach zeros between -1 and 1 only.
    pub is_circular: bool,
}

impl FactorZeros {
    /// The zeros that the quantity can take.
    pub fn reachable(&self) -> impl Iterator<Item = f64> {
        let is_possible = |zero: &f64| !self.is_circular || zero.abs() <= 1.0;
        self.zeros.iter().copied().filter(is_possible)
    }
}

/// The factors of all blocks that depend on one quantity: those that may vanish in the order of the loci, then those that are
/// known not to, whose zeros are out of reach.
pub(crate) fn factor_zeros(
    system: &System,
    source: &Source<'_>,
    loci: &BlockLoci,
    deadline: Instant,
) -> Vec<FactorZeros> {
    let budget = Budget {
        deadline: Some(deadline),
        ..Budget::default()
    };
    let mut found: Vec<FactorZeros> = Vec::new();
    for nature in [FactorKind::Variable, FactorKind::NeverZero] {
        let factors = loci.loci().iter().enumerate().flat_map(|(block, locus)| {
            locus.iter().flat_map(move |locus| {
                let wanted = locus.factors.iter().filter(move |f| f.nature == nature);
                wanted.map(move |factor| (block, locus, factor))
            })
        });
        for (block, locus, factor) in factors {
            let name = |symbol, text: &mut String| source.write_name(system, symbol, text);
            let Some((quantity, mut zeros)) = zeros_of(loci, locus, factor, &budget) else {
                continue;
            };
            let text = (loci.graph()).modelica(quantity, LINE, |id, text| {
                name(loci.symbols().get(id), text);
            });
            let Ok(text) = text else { continue };
            zeros.quantity = plain(&text);
            zeros.factor = plain(&loci.text(block, factor, name));
            if !found.contains(&zeros) {
                found.push(zeros);
            }
        }
    }
    found
}

/// The zeros of a factor, if one quantity of the motion occurs in it, and that quantity; names are left open.
fn zeros_of(
    loci: &BlockLoci,
    locus: &Locus,
    factor: &DeterminantFactor,
    budget: &Budget,
) -> Option<(ExprId, FactorZeros)> {
    let mut walker = Walker::new();
    let mut moves = |expr: ExprId| {
        let symbols = walker.symbols(loci.graph(), &[expr]);
        let is_parameter = |id| matches!(loci.symbols().get(id), Symbol::Parameter(_));
        !symbols.into_iter().all(is_parameter)
    };
    let variables = factor.polynomial.variables();
    let (moving, resting): (Vec<usize>, Vec<usize>) =
        (variables.into_iter()).partition(|&v| moves(locus.generators[v].expr));
    let [quantity] = moving[..] else { return None };
    let value = |variable: usize| {
        let expr = locus.generators[variable].expr;
        integer::decimal(loci.evaluate(expr, |_| f64::NAN)).unwrap_or(RBig::ZERO)
    };
    let coefficients = factor.polynomial.coefficients(quantity);
    let numbers: Vec<RBig> = coefficients.iter().map(|c| c.evaluate(value)).collect();
    let polynomial = Univariate::of_rationals(&numbers);
    let generator = &locus.generators[quantity];
    let zeros = FactorZeros {
        factor: String::new(),
        quantity: String::new(),
        has_parameters: !resting.is_empty(),
        zeros: real_zeros(&polynomial.to_polynomial(), budget)?,
        is_circular: generator.is_circular(),
    };
    Some((generator.expr, zeros))
}

/// The real zeros of a polynomial in variable 0, rounded.
fn real_zeros(p: &Polynomial, budget: &Budget) -> Option<Vec<f64>> {
    if p.is_constant() {
        return Some(Vec::new());
    }
    let parts = squarefree(p);
    let simple = (parts.factors.iter()).fold(Polynomial::one(), |a, f| &a * &f.polynomial);
    let f = Univariate::from_polynomial(&simple);
    let mut roots = f.real_roots(budget).ok()?;
    for root in &mut roots {
        root.refine(&f, BITS, budget).ok()?;
    }
    let middle = |ends: [RBig; 2]| {
        let [lower, upper] = ends;
        integer::rational_to_f64(&((lower + upper) / RBig::from(2)))
    };
    Some(roots.iter().map(|root| middle(root.ends())).collect())
}
