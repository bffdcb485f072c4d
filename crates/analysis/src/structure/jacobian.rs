//! The system Jacobian as expressions of the model's symbols, and its values.

use crate::equations::Equations;
use crate::structure::Structure;
use daelight_expr::{ExprId, Graph};
use daelight_lang::{Symbol, Symbols};
use std::sync::Arc;

/// The entries df_i / dx_j^(d_j - c_i) of the system Jacobian, (9) of `docs/theory/structure.md`.
///
/// ```
/// use daelight_analysis::System;
/// use daelight_analysis::structure::{Structure, SystemJacobian};
/// use daelight_lang::{Options, Symbol, load};
///
/// let text = "model Root  Real x, y;  equation  der(x) = y;  y^2 = x;  end Root;";
/// let model = load("root.mo", text.as_bytes(), &Options::default()).model.expect("the text is right");
/// let system = System::new(&model)?;
/// let structure = Structure::of_equations(system.equations())?;
/// let jacobian = SystemJacobian::new(system.equations(), &structure, system.parameters().values());
/// let values = jacobian.evaluate(|symbol| match symbol {
///     Symbol::Unknown { unknown: 1, order: 0 } => 3.0,
///     _ => 0.0,
/// });
/// // The derivatives by x', by y in the first equation, and by y in the second.
/// assert_eq!(values, [1.0, -1.0, 6.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct SystemJacobian {
    graph: Arc<Graph>,
    symbols: Arc<Symbols>,
    parameters: Vec<f64>,
    entries: Vec<ExprId>,
}

impl SystemJacobian {
    /// Picks the entries out of the matrices of the equations.
    ///
    /// # Panics
    ///
    /// When the structure is not that of the equations.
    pub fn new(equations: &Equations, structure: &Structure, parameters: &[f64]) -> Self {
        let n = equations.n_equations();
        assert_eq!(n, structure.n(), "the structure belongs to other equations");
        let mut entries = Vec::with_capacity(structure.n_jacobian_entries());
        for row in 0..n {
            for unknown in structure.jacobian_row(row) {
                let order = structure.jacobian_order(row, unknown).unwrap_or(0);
                let matrix = equations.jacobian(order as usize);
                let range = matrix.pattern.row(row);
                let columns = &matrix.pattern.columns()[range.clone()];
                let at = columns.binary_search(&(unknown as u32));
                let at = at.expect("the structure belongs to these equations");
                entries.push(matrix.entries[range.start + at]);
            }
        }
        Self {
            graph: Arc::clone(equations.graph()),
            symbols: Arc::clone(equations.symbols()),
            parameters: parameters.to_vec(),
            entries,
        }
    }

    /// The entries row by row, in the order of [`Structure::jacobian_row`].
    pub fn entries(&self) -> &[ExprId] {
        &self.entries
    }

    /// The graph that holds the entries: that of the equations.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// What the symbols of the graph stand for.
    pub fn symbols(&self) -> &Symbols {
        &self.symbols
    }

    /// The values of the parameters.
    pub fn parameters(&self) -> &[f64] {
        &self.parameters
    }

    /// Values of the entries, row by row; NaN or infinite where an entry has none.
    ///
    /// `value` is asked for the time and for derivatives of unknowns.
    pub fn evaluate(&self, mut value: impl FnMut(Symbol) -> f64) -> Vec<f64> {
        self.graph
            .evaluate(&self.entries, |id| match self.symbols.get(id) {
                Symbol::Parameter(index) => self.parameters[index],
                symbol => value(symbol),
            })
    }
}
