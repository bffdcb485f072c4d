//! Equations beside their derivatives along a direction: what small changes of states and parameters do to everything else.
//!
//! F(t, x, x', …, p) = 0 stands beside Σ dF/dx^(s) v^(s) + dF/dp q = 0, where q are rates of the parameters. Offsets are those of F,
//! twice: dF/dx^(s) is that of the same unknown and order. `docs/theory/implicit.md`, section 13.

use crate::elimination::Reduced;
use crate::equations::{Equations, Variables};
use crate::structure::{Offsets, Structure};
use daelight_expr::{ExprId, Graph, SymbolId};
use daelight_lang::{Symbol, Symbols};
use std::sync::Arc;

/// Equations beside their derivatives along a direction.
#[derive(Clone)]
pub struct Tangents {
    /// Both, over the unknowns and behind them their derivatives; parameters have their rates behind them, too.
    pub equations: Equations,
    /// Their structure.
    pub structure: Structure,
    /// The derivative of each unknown of the model.
    pub slopes: Vec<ExprId>,
}

/// What a symbol becomes in the derivative: those of the model, then their changes.
fn change(
    graph: &mut Graph,
    symbols: &mut Symbols,
    (n_unknowns, n_parameters): (usize, usize),
    id: SymbolId,
) -> Option<ExprId> {
    let moved = match symbols.get(id) {
        Symbol::Unknown { unknown, order } => Symbol::Unknown {
            unknown: n_unknowns + unknown,
            order,
        },
        Symbol::Parameter(at) => Symbol::Parameter(n_parameters + at),
        Symbol::Time | Symbol::Input { .. } => return None,
    };
    let moved = symbols.id(moved);
    Some(graph.symbol(moved))
}

impl Tangents {
    /// Those of equations without trivial ones; `None` where these have no structure.
    pub fn new(reduced: &Reduced) -> Option<Self> {
        let own = reduced.equations();
        let offsets = reduced.structure()?.offsets();
        let (n, n_parameters) = (own.variables().n_unknowns(), own.n_parameters());
        let counts = (n, n_parameters);
        let mut graph = Graph::clone(own.graph());
        let mut symbols = Symbols::clone(own.symbols());
        let formulas: Vec<ExprId> = (0..n).map(|unknown| reduced.formula(unknown)).collect();
        let mut along = |roots: &[ExprId]| {
            graph.derivatives_along(roots, |graph, id| change(graph, &mut symbols, counts, id))
        };
        let slopes = along(&formulas);
        let changes = along(own.residuals());
        let residuals = [own.residuals(), &changes].concat();
        let kept = own.variables().unknowns();
        let partners = kept.iter().map(|unknown| n + unknown);
        let both: Vec<usize> = kept.iter().copied().chain(partners).collect();
        let variables = Variables::some(2 * n, &both);
        let jacobians = graph.jacobians(&residuals, both.len(), |id| variables.slot(&symbols, id));
        let equations = Equations::new(
            Arc::new(graph),
            Arc::new(symbols),
            variables,
            residuals,
            jacobians,
            2 * n_parameters,
        );
        let twice = |list: &[usize]| [list, list].concat();
        let offsets = Offsets {
            equation: twice(&offsets.equation),
            variable: twice(&offsets.variable),
        };
        let structure = Structure::inherited(&equations, offsets)?;
        Some(Self {
            equations,
            structure,
            slopes,
        })
    }
}
