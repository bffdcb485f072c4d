//! Factors that the equations without derivatives keep from vanishing: (21) of `docs/theory/locus.md`.

use super::convert::quotients;
use super::{BlockLoci, FactorKind, Locus, LocusOptions, Role};
use crate::tolerances::ROUNDING;
use daelight_algebra::{Budget, Ideal, Polynomial, integer};
use daelight_expr::{ExprId, Graph, SymbolId, Walker};
use daelight_lang::Symbol;
use std::time::Instant;

impl BlockLoci {
    /// Notes factors that have no zero where the constraints hold, over the complex numbers, at the present parameters.
    pub(crate) fn exclude(&mut self, constraints: &[ExprId], deadline: Instant) {
        let symbols = &self.symbols;
        let parameters = &self.parameters;
        let role = |id| match symbols.get(id) {
            Symbol::Parameter(index) => Role::Parameter(parameters[index]),
            _ => Role::Variable,
        };
        let factors = || self.loci.iter().flatten().flat_map(Locus::vanishing);
        let mut left = factors().count() as u32;
        for locus in self.loci.iter_mut().flatten() {
            for factor in &mut locus.factors {
                if factor.nature != FactorKind::Variable {
                    continue;
                }
                // A small part of the time, shared by all; what is not excluded by then is told as a locus.
                let share = deadline.saturating_duration_since(Instant::now()) / (64 * left);
                left -= 1;
                let connected = connected(&self.graph, factor.expr, constraints, &role);
                if connected.is_empty() {
                    continue;
                }
                let deadline = Instant::now() + share;
                let roots: Vec<ExprId> = std::iter::once(factor.expr).chain(connected).collect();
                let excluded = is_impossible(&mut self.graph, &roots, &role, deadline);
                if excluded == Some(true) {
                    factor.nature = FactorKind::Excluded;
                }
            }
        }
    }
}

/// The constraints that share variables with an expression, directly or through others.
fn connected(
    graph: &Graph,
    factor: ExprId,
    constraints: &[ExprId],
    role: &dyn Fn(SymbolId) -> Role,
) -> Vec<ExprId> {
    let mut walker = Walker::new();
    let mut moving = |expr: ExprId| -> Vec<SymbolId> {
        let symbols = walker.symbols(graph, &[expr]).into_iter();
        symbols.filter(|&id| role(id) == Role::Variable).collect()
    };
    let mut reached = moving(factor);
    let mut left: Vec<(ExprId, Vec<SymbolId>)> = (constraints.iter())
        .map(|&expr| (expr, moving(expr)))
        .collect();
    let mut found = Vec::new();
    while let Some(at) =
        (left.iter()).position(|(_, own)| own.iter().any(|id| reached.contains(id)))
    {
        let (expr, own) = left.swap_remove(at);
        found.push(expr);
        reached.extend(own);
    }
    found
}

/// Whether expressions have no common zero; `None` if that was not decided.
fn is_impossible(
    graph: &mut Graph,
    roots: &[ExprId],
    role: &dyn Fn(SymbolId) -> Role,
    deadline: Instant,
) -> Option<bool> {
    let options = LocusOptions {
        deadline: Some(deadline),
        ..LocusOptions::default()
    };
    let entries: Vec<Option<ExprId>> = roots.iter().copied().map(Some).collect();
    let (converted, generators) = quotients(graph, role, &options, &entries).ok()?;
    let mut polynomials: Vec<Polynomial> = (converted.iter())
        .map(|quotient| quotient.numerator().clone())
        .collect();
    // A number with more than half of its bits may be the rounding of another one, whose relations it breaks.
    let most_bits = f64::MANTISSA_DIGITS as usize / 2;
    if (polynomials.iter()).any(|p| integer::bit_length(&p.height()) > most_bits) {
        return None;
    }
    polynomials.extend(generators.relations());
    let values: Vec<f64> = (0..generators.n())
        .map(|v| value(graph, generators.expr(v), role))
        .collect();
    let moving: Vec<usize> = (0..values.len()).filter(|&v| values[v].is_nan()).collect();
    let budget = Budget {
        deadline: Some(deadline),
        ..Budget::default()
    };
    let conditions = Ideal::new(polynomials).elimination(&moving, &budget).ok()?;
    let at = |v: usize| values[v];
    Some((conditions.generators().iter()).any(|p| is_surely_not_zero(p, &at)))
}

/// The value of an expression of parameters; not a number if it moves.
fn value(graph: &Graph, expr: ExprId, role: &dyn Fn(SymbolId) -> Role) -> f64 {
    let symbols = Walker::new().symbols(graph, &[expr]);
    if symbols.into_iter().any(|id| role(id) == Role::Variable) {
        return f64::NAN;
    }
    graph.evaluate(&[expr], |id| match role(id) {
        Role::Parameter(value) => value,
        Role::Variable => f64::NAN,
    })[0]
}

/// Whether a polynomial of the parameters is not zero, rounding of the parameters considered.
fn is_surely_not_zero(p: &Polynomial, at: &dyn Fn(usize) -> f64) -> bool {
    let size: f64 = (p.terms().iter())
        .map(|term| {
            Polynomial::from_terms([term.clone()])
                .evaluate_f64(at)
                .abs()
        })
        .sum();
    p.evaluate_f64(at).abs() > ROUNDING * f64::from(p.total_degree() + 1) * size
}
