//! Equations of any index as a first-order system of index 1: all derivatives the structure asks for, states chosen freely.
//!
//! Equation i is differentiated c_i times and every x_j^(s), s <= d_j, becomes an unknown of its own; the only differential
//! equations left are those of the chosen states. Section 9 of `docs/theory/implicit.md`.

use crate::equations::{Equations, Variables};
use crate::structure::Structure;
use daelight_expr::{ExprId, Graph, SymbolId, Walker};
use daelight_lang::{Symbol, Symbols};
use std::sync::Arc;

/// Equations with all their hidden constraints, in unknowns x_j^(s), s <= d_j.
pub struct Completed {
    graph: Graph,
    symbols: Symbols,
    /// Number of unknowns of the model, behind which those of the constraints are numbered.
    n_unknowns: usize,
    /// Number of x_j^(s): the sum of d_j + 1.
    n: usize,
    /// All constraints, written and hidden, in the new unknowns.
    constraints: Vec<ExprId>,
    /// The unknown that x_j is; x_j', x_j'', ... follow it.
    first: Vec<usize>,
    /// Whether x_j^(d_j) occurs with constant factors only.
    has_constant_factors: Vec<bool>,
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
        let highest: Vec<SymbolId> = (0..first.len())
            .map(|j| {
                let unknown = base + first[j] + offsets.variable[j];
                symbols.id(Symbol::Unknown { unknown, order: 0 })
            })
            .collect();
        let matrix = graph.sparse_jacobian(&constraints, &highest);
        let mut has_constant_factors = vec![true; first.len()];
        let mut walker = Walker::new();
        for (&entry, &column) in matrix.entries.iter().zip(matrix.pattern.columns()) {
            let is_constant = walker
                .symbols(&graph, &[entry])
                .into_iter()
                .all(|id| matches!(symbols.get(id), Symbol::Parameter(_)));
            has_constant_factors[column as usize] &= is_constant;
        }
        Some(Self {
            n_unknowns: base,
            has_constant_factors,
            n,
            n_parameters: equations.n_parameters(),
            graph,
            symbols,
            constraints,
            first,
        })
    }

    /// The equations with der(x_j^(s)) for each of the states (j, s): all constraints, then der(x_j^(s)) = x_j^(s+1).
    ///
    /// Where s + 1 = d_j and x_j^(d_j) occurs with constant factors, the derivative itself takes its place, and the equation
    /// is not needed: a stiff equation x' = f(x) stays what it is, and dF/dX' is constant. The equations are square when
    /// there are as many states as degrees of freedom.
    pub fn with_states(&self, states: &[(usize, usize)]) -> FirstOrder {
        let (mut graph, mut symbols) = (self.graph.clone(), self.symbols.clone());
        let base = self.n_unknowns;
        let last = |unknown: usize| {
            let next = self.first.get(unknown + 1);
            next.copied().unwrap_or(self.n) - 1
        };
        // The derivative of one unknown may be another one, which is then no unknown.
        let mut is_rate = vec![false; self.n];
        let mut pairs = Vec::new();
        for &(unknown, order) in states {
            let place = self.first[unknown] + order;
            if place + 1 == last(unknown) && self.has_constant_factors[unknown] {
                is_rate[place + 1] = true;
            } else {
                pairs.push(place);
            }
        }
        let mut symbol = |graph: &mut Graph, place: usize, order: u32| {
            let id = symbols.id(Symbol::Unknown {
                unknown: base + place,
                order,
            });
            graph.symbol(id)
        };
        let mut images = std::collections::HashMap::new();
        for place in (0..self.n).filter(|&place| is_rate[place]) {
            let old = symbol(&mut graph, place, 0);
            images.insert(old, symbol(&mut graph, place - 1, 1));
        }
        let rows = pairs.into_iter().map(|place| {
            let (rate, next) = (
                symbol(&mut graph, place, 1),
                symbol(&mut graph, place + 1, 0),
            );
            graph.sub(rate, next)
        });
        let mut residuals = self.constraints.clone();
        residuals.extend(rows.collect::<Vec<_>>());
        let residuals = graph.substitute(&residuals, |graph, id| {
            let old = graph.symbol(id);
            images.get(&old).copied()
        });
        let kept: Vec<usize> = (0..self.n)
            .filter(|&place| !is_rate[place])
            .map(|place| base + place)
            .collect();
        let variables = Variables::some(base + self.n, &kept);
        let matrices = graph.jacobians(&residuals, kept.len(), |id| variables.slot(&symbols, id));
        let mut places = vec![None; self.n];
        for (position, unknown) in kept.iter().enumerate() {
            places[unknown - base] = Some(position);
        }
        FirstOrder {
            equations: Equations::new(
                Arc::new(graph),
                Arc::new(symbols),
                variables,
                residuals,
                matrices,
                self.n_parameters,
            ),
            first: self.first.clone(),
            places,
        }
    }
}

/// Equations F(t, X, X') = 0 of index 1, and where the x_j^(s) are among the unknowns X.
pub struct FirstOrder {
    equations: Equations,
    first: Vec<usize>,
    places: Vec<Option<usize>>,
}

impl FirstOrder {
    /// The equations.
    pub fn equations(&self) -> &Equations {
        &self.equations
    }

    /// Which unknown x_j^(order) is; `None` where it is the derivative of the one before.
    pub fn place(&self, unknown: usize, order: usize) -> Option<usize> {
        self.places[self.first[unknown] + order]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Reduced, System};
    use daelight_lang::{Options, load};

    #[test]
    fn a_pendulum_becomes_square_and_of_index_1_with_suitable_states() {
        let text = "model Pendulum  Real x, y, f;
            equation  der(der(x)) = -f*x;  der(der(y)) = -f*y - 9.81;  x^2 + y^2 = 1;  end Pendulum;";
        let model = load("pendulum.mo", text.as_bytes(), &Options::default()).model;
        let system = System::new(&model.expect("a right text")).expect("a system");
        let reduced = Reduced::new(&system);
        let structure = Structure::of_equations(reduced.equations()).expect("a transversal");
        let completed = Completed::new(reduced.equations(), &structure, 1000).expect("small");
        assert!(Completed::new(reduced.equations(), &structure, 0).is_none());
        // x and x' as states; x'' occurs times x, so it stays an unknown.
        let first_order = completed.with_states(&[(0, 0), (0, 1)]);
        let equations = first_order.equations();
        assert_eq!(equations.n_unknowns(), 7);
        assert_eq!(equations.n_equations(), 7);
        assert_eq!(equations.order(), 1);
        let structure = Structure::of_equations(equations).expect("a transversal");
        assert_eq!(structure.structural_index(), 1);
        assert_eq!(structure.n_degrees_of_freedom(), 2);
        assert!((0..3).all(|order| first_order.place(0, order).is_some()));
    }

    #[test]
    fn a_rate_stands_for_the_highest_derivative_where_its_factors_are_constant() {
        let text = "model Decay parameter Real m = 2; Real x; equation m*der(x) = -x^3; end Decay;";
        let model = load("decay.mo", text.as_bytes(), &Options::default()).model;
        let system = System::new(&model.expect("a right text")).expect("a system");
        let structure = Structure::of_equations(system.equations()).expect("a transversal");
        let completed = Completed::new(system.equations(), &structure, 1000).expect("small");
        let first_order = completed.with_states(&[(0, 0)]);
        assert_eq!(first_order.equations().n_unknowns(), 1);
        assert_eq!(
            (first_order.place(0, 0), first_order.place(0, 1)),
            (Some(0), None)
        );
    }
}
