//! Hidden constraints in the user's symbols: what equations without derivatives imply when they are differentiated.
//!
//! Derivatives that an equation gives explicitly, der(v) = ..., are replaced by what they equal, so that the result
//! speaks of the unknowns themselves wherever the model allows it; `docs/theory/initial.md`, section 5.

use crate::System;
use crate::repair::{Names, Repaired};
use daelight_expr::{ExprId, FastMap, Graph, Markup, SymbolId, Walker};
use daelight_lang::{PAGE, Symbol, Symbols};

/// Largest number of nodes that one differentiated constraint may have before it is described instead of written.
const MAX_NODES: usize = 4000;
/// Longest text of a constraint, in bytes.
const MAX_TEXT: usize = 8000;
/// Most constraints that are written out.
const MAX_LISTED: usize = 200;

/// A condition on the unknowns that no single equation of the model states.
#[derive(Clone, Debug, PartialEq)]
pub struct HiddenConstraint {
    /// `... = 0` in the user's names, or a description when that would be too long.
    pub text: String,
    /// Its left side as presentation MathML, without the `math` element, if that is short enough.
    pub mathml: Option<String>,
    /// The equation it comes from.
    pub equation: usize,
    /// How often that equation was differentiated.
    pub times_differentiated: usize,
    /// Whether derivatives remain in it: it then fixes them together with the unknowns.
    pub has_derivatives: bool,
}

/// Differentiates every equation without derivatives as often as `times` says, and at most `limit` times.
pub fn hidden_constraints(system: &System, times: &[usize], limit: usize) -> Vec<HiddenConstraint> {
    let equations = system.equations();
    let mut work = Work {
        graph: Graph::clone(equations.graph()),
        symbols: Symbols::clone(equations.symbols()),
        explicit: FastMap::default(),
        walker: Walker::new(),
    };
    work.collect_explicit(system);
    let mut found = Vec::new();
    for (equation, &residual) in equations.residuals().iter().enumerate() {
        let pattern = equations.pattern(1);
        if !pattern.row(equation).is_empty() || times[equation] == 0 {
            continue;
        }
        let mut expr = Some(residual);
        for q in 1..=times[equation].min(limit) {
            if found.len() == MAX_LISTED {
                return found;
            }
            expr = expr.and_then(|expr| work.differentiated(expr));
            let written =
                expr.and_then(|expr| system.write_in(&work.graph, &work.symbols, expr, MAX_TEXT));
            let mathml = expr.and_then(|expr| {
                let name = |id| system.model().dotted_name(work.symbols.get(id));
                let markup = work.graph.markup(expr, Markup::MathMl, PAGE, name);
                markup.ok()
            });
            let has_derivatives = expr.is_none_or(|expr| work.has_derivatives(expr));
            let text = match written {
                Some(text) => format!("{} = 0", without_quotes(&text)),
                None => format!("derivative {q} of ({})", system.equation_text(equation)),
            };
            found.push(HiddenConstraint {
                text,
                mathml,
                equation,
                times_differentiated: q,
                has_derivatives,
            });
        }
    }
    found.sort_by_key(|constraint| constraint.times_differentiated);
    found
}

/// Equations of a repair that hold no derivatives although derivatives of equations went into them: they are constraints
/// that no equation of the model states.
pub(crate) fn repaired_constraints(system: &System, repaired: &Repaired) -> Vec<HiddenConstraint> {
    let equations = repaired.equations();
    let names = Names::of_system(system);
    let mut walker = Walker::new();
    let mut found = Vec::new();
    for (i, &residual) in equations.residuals().iter().enumerate() {
        let origins = repaired.origins(i).iter();
        let Some(origin) = origins.max_by_key(|origin| origin.times_differentiated) else {
            continue;
        };
        let is_written_value = |id: &SymbolId| match equations.symbols().get(*id) {
            Symbol::Unknown { unknown, order } => order == 0 && unknown < repaired.n_written(),
            _ => true,
        };
        let symbols = walker.symbols(equations.graph(), &[residual]);
        if origin.times_differentiated == 0 || !symbols.iter().all(is_written_value) {
            continue;
        }
        if let Some(text) = repaired.expression_text(&names, residual, MAX_TEXT) {
            found.push(HiddenConstraint {
                text: format!("{} = 0", without_quotes(&text)),
                mathml: None,
                equation: origin.equation,
                times_differentiated: origin.times_differentiated,
                has_derivatives: false,
            });
        }
    }
    found
}

/// Velocities are quoted names in Modelica text, 'der(p)'; people read them without the quotes.
pub(crate) fn without_quotes(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("'der(") {
        let name = &rest[at + 1..];
        let Some(end) = name.find('\'') else { break };
        plain.push_str(&rest[..at]);
        plain.push_str(&name[..end]);
        rest = &name[end + 1..];
    }
    plain + rest
}

struct Work {
    graph: Graph,
    symbols: Symbols,
    /// Derivatives that an equation gives, and what they equal.
    explicit: FastMap<SymbolId, ExprId>,
    walker: Walker,
}

impl Work {
    /// Finds equations a der(x) + rest = 0, a of numbers and parameters and not 0, with no other derivative.
    fn collect_explicit(&mut self, system: &System) {
        let equations = system.equations();
        let leading = equations.jacobian(1);
        for (equation, &residual) in equations.residuals().iter().enumerate() {
            let row = leading.pattern.row(equation);
            if row.len() != 1 {
                continue;
            }
            let unknown = leading.pattern.columns()[row.start] as usize;
            let factor = leading.entries[row.start];
            let Some(size) = self.constant_value(system, factor) else {
                continue;
            };
            let symbol = self.symbols.id(Symbol::Unknown { unknown, order: 1 });
            if size == 0.0 || !size.is_finite() || self.explicit.contains_key(&symbol) {
                continue;
            }
            let zero = self.graph.constant(0.0);
            let rest = self
                .graph
                .substitute(&[residual], |_, id| (id == symbol).then_some(zero))[0];
            let divisor = self.graph.neg(factor);
            let value = match self.graph.as_constant(factor) {
                Some(-1.0) => rest,
                Some(1.0) => self.graph.neg(rest),
                _ => self.graph.div(rest, divisor),
            };
            let value = self.graph.tidy(&[value])[0];
            self.explicit.insert(symbol, value);
        }
    }

    /// The value of an expression of numbers and parameters alone.
    fn constant_value(&mut self, system: &System, expr: ExprId) -> Option<f64> {
        let values = system.parameters().values();
        let ids = self.walker.symbols(&self.graph, &[expr]);
        let is_parameter = |id: &SymbolId| matches!(self.symbols.get(*id), Symbol::Parameter(_));
        let value = |id: SymbolId| match self.symbols.get(id) {
            Symbol::Parameter(index) => values[index],
            _ => f64::NAN,
        };
        let all = ids.iter().all(is_parameter);
        all.then(|| self.graph.evaluate(&[expr], value)[0])
    }

    /// The time derivative, with the derivatives that equations give replaced; `None` when it grows too large.
    fn differentiated(&mut self, expr: ExprId) -> Option<ExprId> {
        let symbols = &mut self.symbols;
        let rate = self
            .graph
            .derivatives_along(&[expr], |graph, id| symbols.rate(graph, id))[0];
        let explicit = &self.explicit;
        let replaced = self
            .graph
            .substitute(&[rate], |_, id| explicit.get(&id).copied());
        let tidy = self.graph.tidy(&replaced)[0];
        (self.walker.reachable(&self.graph, &[tidy]).len() <= MAX_NODES).then_some(tidy)
    }

    fn has_derivatives(&mut self, expr: ExprId) -> bool {
        let symbols = self.walker.symbols(&self.graph, &[expr]);
        let derivative = |id: &SymbolId| matches!(self.symbols.get(*id), Symbol::Unknown { order, .. } if order > 0);
        symbols.iter().any(derivative)
    }
}
