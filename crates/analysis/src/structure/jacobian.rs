//! The system Jacobian as expressions of the model's symbols, and its values.

use crate::structure::Structure;
use daelight_expr::{ExprId, FastMap, Graph, SymbolId, Walker};
use daelight_lang::{Model, Symbol, Symbols};

/// The entries df_i / dx_j^(d_j - c_i) of the system Jacobian, (9) of `docs/theory/structure.md`.
///
/// ```
/// use daelight_analysis::structure::{Structure, SystemJacobian};
/// use daelight_lang::{Options, Symbol, load};
///
/// let text = "model Root  Real x, y;  equation  der(x) = y;  y^2 = x;  end Root;";
/// let model = load("root.mo", text.as_bytes(), &Options::default()).model.expect("the text is right");
/// let structure = Structure::of_model(&model)?;
/// let jacobian = SystemJacobian::new(&model, &structure);
/// let values = jacobian.evaluate(|symbol| match symbol {
///     Symbol::Unknown { unknown: 1, order: 0 } => 3.0,
///     _ => 0.0,
/// });
/// // The derivatives by x', by y in the first equation, and by y in the second.
/// assert_eq!(values, [1.0, -1.0, 6.0]);
/// # Ok::<(), daelight_analysis::structure::StructurallySingular>(())
/// ```
#[derive(Clone)]
pub struct SystemJacobian {
    graph: Graph,
    symbols: Symbols,
    parameters: Vec<f64>,
    entries: Vec<ExprId>,
}

impl SystemJacobian {
    /// Differentiates every equation by the highest derivatives of its row.
    ///
    /// The expressions live in a copy of the model's graph. Inputs that the model defines are replaced by
    /// what defines them.
    ///
    /// # Panics
    ///
    /// When the structure has another number of equations than the model.
    pub fn new(model: &Model, structure: &Structure) -> Self {
        assert_eq!(
            model.equations.len(),
            structure.n(),
            "the structure belongs to another model"
        );
        let mut graph = model.graph.clone();
        let mut symbols = model.symbols.clone();
        let mut entries = Vec::with_capacity(structure.n_jacobian_entries());
        let mut walker = Walker::new();
        let mut row: Vec<SymbolId> = Vec::new();
        for (index, equation) in model.equations.iter().enumerate() {
            row.clear();
            for unknown in structure.jacobian_row(index) {
                let order = structure.jacobian_order(index, unknown).unwrap_or(0);
                row.push(symbols.id(Symbol::Unknown { unknown, order }));
            }
            entries.extend(graph.gradient_with(&mut walker, equation.residual, &row));
        }
        let entries = define_inputs(model, &mut graph, &mut symbols, entries);
        Self {
            graph,
            symbols,
            parameters: model.parameters.iter().map(|p| p.value).collect(),
            entries,
        }
    }

    /// The entries row by row, in the order of [`Structure::jacobian_row`].
    pub fn entries(&self) -> &[ExprId] {
        &self.entries
    }

    /// The graph that holds the entries: the model's, and more.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// What the symbols of the graph stand for: those of the model, and derivatives of inputs.
    pub fn symbols(&self) -> &Symbols {
        &self.symbols
    }

    /// The same matrix with other values of the parameters, in the order of [`Model::parameters`].
    ///
    /// # Panics
    ///
    /// When the number of values is another.
    pub fn with_parameters(mut self, values: Vec<f64>) -> Self {
        assert_eq!(
            values.len(),
            self.parameters.len(),
            "one value for each parameter"
        );
        self.parameters = values;
        self
    }

    /// Values of the entries, row by row; NaN or infinite where an entry has none.
    ///
    /// `value` is asked for the time, for derivatives of unknowns, and for inputs that the model leaves open.
    pub fn evaluate(&self, mut value: impl FnMut(Symbol) -> f64) -> Vec<f64> {
        self.graph
            .evaluate(&self.entries, |id| match self.symbols.get(id) {
                Symbol::Parameter(index) => self.parameters[index],
                symbol => value(symbol),
            })
    }
}

/// The expressions with defined inputs, and their derivatives, replaced by their definitions.
fn define_inputs(
    model: &Model,
    graph: &mut Graph,
    symbols: &mut Symbols,
    mut roots: Vec<ExprId>,
) -> Vec<ExprId> {
    // A definition may use other inputs; each round replaces those of one level.
    for _ in 0..=model.inputs.len() {
        let mut definitions: FastMap<SymbolId, ExprId> = FastMap::default();
        for id in Walker::new().symbols(graph, &roots) {
            if let Symbol::Input { input, order } = symbols.get(id)
                && let Some(mut expr) = model.inputs[input].definition
            {
                for _ in 0..order {
                    expr = graph.derivatives_along(&[expr], |graph, id| symbols.rate(graph, id))[0];
                }
                definitions.insert(id, expr);
            }
        }
        if definitions.is_empty() {
            break;
        }
        roots = graph.substitute(&roots, |_, id| definitions.get(&id).copied());
    }
    roots
}
