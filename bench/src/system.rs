//! A model of the repository as residuals, Jacobian entries and a point to evaluate them at.

use daelight_expr::{ExprId, Graph, Node, Slot, Sparsity, SymbolId, Tape, Walker};
use daelight_lang::{Model, Options, Symbol, load};
use std::fmt::Write;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// Residuals and Jacobians of a model, ready to be compiled.
pub struct System {
    pub name: String,
    pub model: Model,
    pub graph: Graph,
    pub residuals: Vec<ExprId>,
    /// dF/dx and dF/dx'.
    pub patterns: [Sparsity; 2],
    /// Their entries, in the order of the patterns.
    pub entries: Vec<ExprId>,
    pub point: Numbers,
}

/// Unknowns, rates, parameters and time.
pub struct Numbers {
    /// `[order][unknown]`.
    pub coefficients: Vec<f64>,
    pub parameters: Vec<f64>,
    pub time: f64,
}

impl Numbers {
    /// Unknowns and rates that take all signs, away from every special point.
    fn new(n_unknowns: usize, parameters: Vec<f64>) -> Self {
        Self {
            coefficients: (0..2 * n_unknowns)
                .map(|place| (1.7 * place as f64 + 0.3).sin())
                .collect(),
            parameters,
            time: 0.25,
        }
    }

    /// As text for the peers: x, x', parameters, time, each after its count.
    pub fn text(&self, n_unknowns: usize) -> String {
        let mut text = String::new();
        let (x, d) = self.coefficients.split_at(n_unknowns);
        for part in [x, d, &self.parameters, &[self.time]] {
            let _ = writeln!(text, "{}", part.len());
            for number in part {
                let _ = writeln!(text, "{number:e}");
            }
        }
        text
    }
}

impl System {
    /// Reads a model of `models/`, with parameters set, and differentiates it.
    pub fn load(name: &str, file: &str, set: &[String]) -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../models")
            .join(file);
        let text = std::fs::read(&path).unwrap_or_else(|error| panic!("{file}: {error}"));
        let options = Options {
            set: set.to_vec(),
            ..Options::default()
        };
        let model = load(file, &text, &options)
            .model
            .unwrap_or_else(|| panic!("{file} has errors"));
        let mut graph = model.graph.clone();
        let residuals: Vec<ExprId> = model.equations.iter().map(|e| e.residual).collect();
        let residuals = graph.substitute(&residuals, |_, id| match model.symbols.get(id) {
            Symbol::Input { input, order: 0 } => model.inputs[input].definition,
            Symbol::Input { .. } => panic!("{file} differentiates an input"),
            _ => None,
        });
        let mut by_order: [Vec<(usize, SymbolId)>; 2] = Default::default();
        for symbol in Walker::new().symbols(&graph, &residuals) {
            if let Symbol::Unknown { unknown, order } = model.symbols.get(symbol) {
                by_order[order as usize].push((unknown, symbol));
            }
        }
        let mut entries = Vec::new();
        let patterns = by_order.map(|mut columns| {
            columns.sort_unstable();
            let symbols: Vec<SymbolId> = columns.iter().map(|&(_, symbol)| symbol).collect();
            let jacobian = graph.sparse_jacobian(&residuals, &symbols);
            entries.extend(jacobian.entries);
            jacobian.pattern
        });
        let parameters = model.parameters.iter().map(|p| p.value).collect();
        Self {
            name: name.to_string(),
            point: Numbers::new(model.unknowns.len(), parameters),
            model,
            graph,
            residuals,
            patterns,
            entries,
        }
    }

    pub fn n_unknowns(&self) -> usize {
        self.model.unknowns.len()
    }

    /// What a symbol stands for.
    pub fn slot(&self, id: SymbolId) -> Slot {
        match self.model.symbols.get(id) {
            Symbol::Unknown { unknown, order } => Slot::Variable {
                index: unknown as u32,
                order,
            },
            Symbol::Parameter(index) => Slot::Parameter(index as u32),
            Symbol::Time => Slot::Time,
            Symbol::Input { .. } => unreachable!("inputs were replaced by their definitions"),
        }
    }

    pub fn tape(&self, roots: &[ExprId]) -> Arc<Tape> {
        let tape = Tape::compile(&self.graph, roots, |id| self.slot(id));
        Arc::new(tape.with_counts(self.n_unknowns(), self.model.parameters.len()))
    }

    /// Row and unknown of every entry, dF/dx first: (is a rate, row, unknown).
    pub fn places(&self) -> Vec<(bool, usize, usize)> {
        let mut places = Vec::new();
        for (order, pattern) in self.patterns.iter().enumerate() {
            // The columns of the pattern are the unknowns that occur, in ascending order.
            let occurring: Vec<usize> = self.occurring(order as u32);
            places.extend(
                pattern
                    .iter()
                    .map(|(row, column, _)| (order == 1, row, occurring[column])),
            );
        }
        places
    }

    fn occurring(&self, wanted: u32) -> Vec<usize> {
        let mut unknowns: Vec<usize> = Walker::new()
            .symbols(&self.graph, &self.residuals)
            .into_iter()
            .filter_map(|id| match self.model.symbols.get(id) {
                Symbol::Unknown { unknown, order } if order == wanted => Some(unknown),
                _ => None,
            })
            .collect();
        unknowns.sort_unstable();
        unknowns
    }

    /// The graph below the roots as text for the peers, one node per line.
    pub fn listing(&self, roots: &[ExprId]) -> String {
        let counts = (self.n_unknowns(), self.model.parameters.len());
        self.listing_with(roots, counts, |id| self.slot(id))
    }

    fn listing_with(
        &self,
        roots: &[ExprId],
        (n_unknowns, n_parameters): (usize, usize),
        slot: impl Fn(SymbolId) -> Slot,
    ) -> String {
        let mut text = format!("unknowns {n_unknowns} parameters {n_parameters}\n");
        let mut walker = Walker::new();
        let nodes = walker.reachable(&self.graph, roots);
        let mut places = vec![0; self.graph.len()];
        for (place, &id) in nodes.iter().enumerate() {
            places[id.index()] = place;
            let at = |id: ExprId| places[id.index()];
            let _ = match self.graph.node(id) {
                Node::Constant(bits) => writeln!(text, "c {:e}", f64::from_bits(bits)),
                Node::Symbol(symbol) => match slot(symbol) {
                    Slot::Variable { index, order: 0 } => writeln!(text, "x {index}"),
                    Slot::Variable { index, .. } => writeln!(text, "d {index}"),
                    Slot::Parameter(index) => writeln!(text, "p {index}"),
                    Slot::Time => writeln!(text, "t 0"),
                    Slot::Signal { .. } => unreachable!("no model of the bench reads data"),
                },
                Node::Unary(op, a) => writeln!(text, "u {op:?} {}", at(a)),
                Node::Binary(op, a, b) => writeln!(text, "b {op:?} {} {}", at(a), at(b)),
                Node::Select(c, a, b) => writeln!(text, "s {} {} {}", at(c), at(a), at(b)),
            };
        }
        for root in roots {
            let _ = writeln!(text, "r {}", places[root.index()]);
        }
        text
    }

    /// The differential part as x' = f(x), what is algebraic held at its value of the point.
    ///
    /// `solved` are algebraic unknowns that are not held but solved for, from the equations of the
    /// same positions, in which they are linear.
    pub fn open(&mut self, solved: Range<usize>) -> Open {
        let symbols: Vec<SymbolId> = solved
            .clone()
            .map(|unknown| self.model.symbols.id(Symbol::Unknown { unknown, order: 0 }))
            .collect();
        let rates: Vec<SymbolId> = (0..self.n_unknowns())
            .map(|unknown| self.model.symbols.id(Symbol::Unknown { unknown, order: 1 }))
            .collect();
        let rows = self.residuals[solved].to_vec();
        let (graph, symbol_of) = (&mut self.graph, &self.model.symbols);
        let solution = solve_linear(graph, &rows, &symbols);
        let zero = graph.constant(0.0);
        let mut states = Vec::new();
        let mut field = Vec::new();
        let jacobian = graph.sparse_jacobian(&self.residuals, &rates);
        for (row, unknown, position) in jacobian.pattern.iter() {
            let rest = graph.substitute(&[self.residuals[row]], |_, id| {
                matches!(symbol_of.get(id), Symbol::Unknown { order: 1, .. }).then_some(zero)
            })[0];
            let quotient = graph.div(rest, jacobian.entries[position]);
            states.push(unknown);
            field.push(graph.neg(quotient));
        }
        let field = graph.substitute(&field, |_, symbol| {
            let place = symbols.iter().position(|&other| other == symbol)?;
            Some(solution[place])
        });
        let mut places = vec![Slot::Time; self.n_unknowns()];
        let mut parameters = self.point.parameters.clone();
        let mut start = Vec::new();
        for (unknown, place) in places.iter_mut().enumerate() {
            let value = self.point.coefficients[unknown];
            *place = match states.iter().position(|&state| state == unknown) {
                Some(index) => Slot::Variable {
                    index: index as u32,
                    order: 0,
                },
                None => {
                    parameters.push(value);
                    Slot::Parameter(parameters.len() as u32 - 1)
                }
            };
        }
        start.extend(states.iter().map(|&state| self.point.coefficients[state]));
        start.extend(std::iter::repeat_n(0.0, states.len()));
        let slot = |id: SymbolId| match self.slot(id) {
            Slot::Variable { index, .. } => places[index as usize],
            slot => slot,
        };
        let counts = (states.len(), parameters.len());
        let tape = Tape::compile(&self.graph, &field, slot).with_counts(counts.0, counts.1);
        Open {
            tape: Arc::new(tape),
            listing: self.listing_with(&field, counts, slot),
            n_states: states.len(),
            point: Numbers {
                coefficients: start,
                parameters,
                time: self.point.time,
            },
        }
    }
}

/// An ordinary differential equation x' = f(x).
pub struct Open {
    pub tape: Arc<Tape>,
    pub listing: String,
    pub n_states: usize,
    /// The rates are not used.
    pub point: Numbers,
}

/// The symbols from equations that are linear in them, by elimination on the graph.
fn solve_linear(graph: &mut Graph, rows: &[ExprId], symbols: &[SymbolId]) -> Vec<ExprId> {
    let n = rows.len();
    let zero = graph.constant(0.0);
    let mut matrix = vec![vec![zero; n]; n];
    let jacobian = graph.sparse_jacobian(rows, symbols);
    for (row, column, position) in jacobian.pattern.iter() {
        matrix[row][column] = jacobian.entries[position];
    }
    let rest = graph.substitute(rows, |_, symbol| symbols.contains(&symbol).then_some(zero));
    let mut right: Vec<ExprId> = rest.iter().map(|&expr| graph.neg(expr)).collect();
    for pivot in 0..n {
        let above = matrix[pivot].clone();
        for row in pivot + 1..n {
            if matrix[row][pivot] == zero {
                continue;
            }
            let factor = graph.div(matrix[row][pivot], above[pivot]);
            for (column, &entry) in above.iter().enumerate().skip(pivot + 1) {
                if entry != zero {
                    let product = graph.mul(factor, entry);
                    matrix[row][column] = graph.sub(matrix[row][column], product);
                }
            }
            let product = graph.mul(factor, right[pivot]);
            right[row] = graph.sub(right[row], product);
        }
    }
    for row in (0..n).rev() {
        for column in row + 1..n {
            if matrix[row][column] != zero {
                let product = graph.mul(matrix[row][column], right[column]);
                right[row] = graph.sub(right[row], product);
            }
        }
        right[row] = graph.div(right[row], matrix[row][row]);
    }
    right
}
