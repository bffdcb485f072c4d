//! Equations of any index as a first-order system of index 1: all derivatives the structure asks for, states chosen freely.
//!
//! Equation i is differentiated c_i times and every x_j^(s), s <= d_j, becomes an unknown of its own; the only differential
//! equations left are those of the chosen states. Section 9 of `docs/theory/implicit.md`.

use crate::equations::{Equations, Variables};
use crate::structure::Structure;
use daelight_expr::{ExprId, Graph};
use daelight_lang::{Symbol, Symbols};
use std::sync::Arc;

/// Equations with all their hidden constraints, in unknowns x_j^(s), s <= d_j.
pub struct Completed {
    graph: Graph,
    symbols: Symbols,
    variables: Variables,
    /// All constraints, written and hidden, in the new unknowns.
    constraints: Vec<ExprId>,
    /// The unknown that x_j is; x_j', x_j'', ... follow it.
    first: Vec<usize>,
    n_parameters: usize,
}

impl Completed {
    /// Differentiates every equation as often as its offset says.
    ///
    /// `None` when the expressions take more than `max_nodes` nodes: high derivatives of large formulas.
    pub fn new(equations: &Equations, structure: &Structure, max_nodes: usize) -> Option<Self> {
        let offsets = structure.offsets();
        let mut graph = Graph::clone(equations.graph());
        let mut symbols = Symbols::clone(equations.symbols());
        let most = graph.len() + max_nodes;
        let mut constraints = equations.residuals().to_vec();
        let mut level: Vec<(usize, ExprId)> = constraints.iter().copied().enumerate().collect();
        for order in 1.. {
            level.retain(|&(equation, _)| offsets.equation[equation] >= order);
            if level.is_empty() {
                break;
            }
            let roots: Vec<ExprId> = level.iter().map(|&(_, root)| root).collect();
            let rates = graph.derivatives_along(&roots, |graph, id| symbols.rate(graph, id));
            for (place, rate) in level.iter_mut().zip(rates) {
                place.1 = rate;
                constraints.push(rate);
            }
            if graph.len() > most {
                return None;
            }
        }
        let mut n = 0;
        let first: Vec<usize> = offsets
            .variable
            .iter()
            .map(|d| {
                n += d + 1;
                n - d - 1
            })
            .collect();
        let written = equations.variables();
        let base = written.n_unknowns();
        let mut place = vec![None; base];
        for (variable, &unknown) in written.unknowns().iter().enumerate() {
            place[unknown] = Some(first[variable]);
        }
        let constraints = graph.substitute(&constraints, |graph, id| match symbols.get(id) {
            Symbol::Unknown { unknown, order } => {
                let unknown = base + place[unknown]? + order as usize;
                let id = symbols.id(Symbol::Unknown { unknown, order: 0 });
                Some(graph.symbol(id))
            }
            _ => None,
        });
        Some(Self {
            variables: Variables::beyond(base, n),
            n_parameters: equations.n_parameters(),
            graph,
            symbols,
            constraints,
            first,
        })
    }

    /// Number of unknowns: the sum of d_j + 1.
    pub fn n(&self) -> usize {
        self.variables.unknowns().len()
    }

    /// Which unknown of the completed equations x_j^(order) is.
    pub fn place(&self, unknown: usize, order: usize) -> usize {
        self.first[unknown] + order
    }

    /// The equations with der(x_j^(s)) = x_j^(s+1) for each of the states (j, s): all constraints first, then these.
    ///
    /// They are square when there are as many states as degrees of freedom.
    pub fn with_states(&self, states: &[(usize, usize)]) -> Equations {
        let (mut graph, mut symbols) = (self.graph.clone(), self.symbols.clone());
        let base = self.variables.n_unknowns() - self.n();
        let mut residuals = self.constraints.clone();
        for &(unknown, order) in states {
            let mut symbol = |unknown: usize, order: u32| {
                let id = symbols.id(Symbol::Unknown {
                    unknown: base + unknown,
                    order,
                });
                graph.symbol(id)
            };
            let place = self.place(unknown, order);
            let (rate, next) = (symbol(place, 1), symbol(place + 1, 0));
            residuals.push(graph.sub(rate, next));
        }
        let variables = &self.variables;
        let matrices = graph.jacobians(&residuals, self.n(), |id| variables.slot(&symbols, id));
        Equations::new(
            Arc::new(graph),
            Arc::new(symbols),
            self.variables.clone(),
            residuals,
            matrices,
            self.n_parameters,
        )
    }
}
