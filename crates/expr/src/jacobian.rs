//! Sparse Jacobians straight from the graph: the pattern, and the entries as expressions.

use crate::graph::{ExprId, FastMap, Graph, Node, SymbolId, Walker};

/// Which entries of a Jacobian can differ from zero, row by row (compressed rows).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pattern {
    n_columns: usize,
    row_starts: Vec<usize>,
    columns: Vec<u32>,
}

impl Pattern {
    /// A pattern without rows.
    fn new(n_columns: usize) -> Self {
        Self {
            n_columns,
            row_starts: vec![0],
            columns: Vec::new(),
        }
    }

    fn end_row(&mut self) {
        self.row_starts.push(self.columns.len());
    }

    /// The same entries in a matrix with `n_columns` columns, column c moved to `targets[c]`.
    ///
    /// The targets ascend, so that the columns of a row stay in order.
    pub(crate) fn with_columns(mut self, n_columns: usize, targets: &[u32]) -> Self {
        self.n_columns = n_columns;
        for column in &mut self.columns {
            *column = targets[*column as usize];
        }
        self
    }

    /// Number of rows: the roots.
    pub fn n_rows(&self) -> usize {
        self.row_starts.len() - 1
    }

    /// Number of columns: the symbols.
    pub fn n_columns(&self) -> usize {
        self.n_columns
    }

    /// Number of entries.
    pub fn n_entries(&self) -> usize {
        self.columns.len()
    }

    /// Where the entries of each row begin, and their end.
    pub fn row_starts(&self) -> &[usize] {
        &self.row_starts
    }

    /// The column of every entry, ascending within a row.
    pub fn columns(&self) -> &[u32] {
        &self.columns
    }

    /// The positions of a row's entries.
    pub fn row(&self, row: usize) -> std::ops::Range<usize> {
        self.row_starts[row]..self.row_starts[row + 1]
    }

    /// Row, column and position of every entry.
    pub fn iter(&self) -> impl Iterator<Item = (usize, usize, usize)> {
        (0..self.n_rows()).flat_map(move |row| {
            self.row(row)
                .map(move |position| (row, self.columns[position] as usize, position))
        })
    }
}

/// A Jacobian whose entries are expressions of the graph.
#[derive(Clone, Debug)]
pub struct SparseJacobian {
    /// Where the entries are.
    pub pattern: Pattern,
    /// The entries, in the order of the pattern.
    pub entries: Vec<ExprId>,
}

impl SparseJacobian {
    /// One row, its columns numbered by their places in `columns`, which ascend and hold all of them.
    pub fn row(&self, row: usize, columns: &[u32]) -> Self {
        let positions = self.pattern.row(row);
        let place = |column: &u32| columns.partition_point(|other| other < column) as u32;
        let held = &self.pattern.columns[positions.clone()];
        Self {
            pattern: Pattern {
                n_columns: columns.len(),
                row_starts: vec![0, held.len()],
                columns: held.iter().map(place).collect(),
            },
            entries: self.entries[positions].to_vec(),
        }
    }
}

/// The column of each symbol.
type Columns = FastMap<SymbolId, u32>;

fn columns_of(symbols: &[SymbolId]) -> Columns {
    symbols
        .iter()
        .enumerate()
        .map(|(column, &symbol)| (symbol, column as u32))
        .collect()
}

impl Graph {
    /// Which of the symbols occur in each of the roots.
    pub fn sparsity(&self, roots: &[ExprId], symbols: &[SymbolId]) -> Pattern {
        let columns = columns_of(symbols);
        let mut pattern = Pattern::new(symbols.len());
        let mut walker = Walker::new();
        for &root in roots {
            let start = pattern.columns.len();
            let found = walker.reachable(self, &[root]);
            pattern.columns.extend(
                found
                    .iter()
                    .filter_map(|&id| columns.get(&self.as_symbol(id)?).copied()),
            );
            pattern.columns[start..].sort_unstable();
            pattern.end_row();
        }
        pattern
    }

    /// The derivatives of all roots by all symbols, sharing subexpressions with the roots.
    ///
    /// One reverse sweep per root, over the expressions of that root and only for the symbols that
    /// occur in it, so the cost is linear in the size of the model as long as each equation is
    /// small. Entries that simplify to zero are left out of the pattern.
    ///
    /// ```
    /// use daelight_expr::{Graph, SymbolId};
    ///
    /// let mut graph = Graph::new();
    /// let [x, y] = [0, 1].map(|symbol| graph.symbol(SymbolId(symbol)));
    /// let product = graph.mul(x, y);
    /// let jacobian = graph.sparse_jacobian(&[product, x], &[SymbolId(0), SymbolId(1)]);
    /// assert_eq!(jacobian.pattern.row_starts(), [0, 2, 3]);
    /// assert_eq!(jacobian.entries[..2], [y, x]);
    /// ```
    pub fn sparse_jacobian(&mut self, roots: &[ExprId], symbols: &[SymbolId]) -> SparseJacobian {
        let columns = columns_of(symbols);
        let mut pattern = Pattern::new(symbols.len());
        let mut entries = Vec::new();
        let mut sweep = Sweep::default();
        let mut row = Vec::new();
        for &root in roots {
            row.clear();
            sweep.run(self, root, &columns, &mut row);
            row.sort_unstable();
            for &(column, entry) in &row {
                if self.as_constant(entry) != Some(0.0) {
                    pattern.columns.push(column);
                    entries.push(entry);
                }
            }
            pattern.end_row();
        }
        SparseJacobian { pattern, entries }
    }
}

/// One reverse sweep after another, with buffers that are kept.
#[derive(Default)]
struct Sweep {
    walker: Walker,
    /// Place of a node among those of the current root; stale for all others.
    place: Vec<u32>,
    active: Vec<bool>,
    adjoint: Vec<Option<ExprId>>,
}

impl Sweep {
    /// Appends (column, derivative of `root`) for the symbols that occur in it.
    fn run(
        &mut self,
        graph: &mut Graph,
        root: ExprId,
        columns: &Columns,
        row: &mut Vec<(u32, ExprId)>,
    ) {
        let nodes = self.walker.reachable(graph, &[root]);
        if self.place.len() < graph.len() {
            self.place.resize(graph.len(), 0);
        }
        self.active.clear();
        for (place, &id) in nodes.iter().enumerate() {
            self.place[id.index()] = place as u32;
            let depends = match graph.node(id) {
                Node::Symbol(symbol) => columns.contains_key(&symbol),
                node => node
                    .arguments()
                    .any(|argument| self.active[self.place[argument.index()] as usize]),
            };
            self.active.push(depends);
        }
        if self.active.last() != Some(&true) {
            return;
        }
        self.adjoint.clear();
        self.adjoint.resize(nodes.len(), None);
        // The root has the largest id of all its nodes.
        self.adjoint[nodes.len() - 1] = Some(graph.constant(1.0));
        for (place, &id) in nodes.iter().enumerate().rev() {
            let Some(weight) = self.adjoint[place] else {
                continue;
            };
            let active = |id: ExprId| self.active[self.place[id.index()] as usize];
            let mut shares = [None; 2];
            match graph.node(id) {
                Node::Constant(_) => {}
                Node::Symbol(symbol) => {
                    if let Some(&column) = columns.get(&symbol) {
                        row.push((column, weight));
                    }
                }
                Node::Select(condition, a, b) => {
                    if active(a) {
                        shares[0] = Some((a, graph.weight_of_branch(condition, weight, true)));
                    }
                    if active(b) {
                        shares[1] = Some((b, graph.weight_of_branch(condition, weight, false)));
                    }
                }
                node => {
                    let mut moves = [false; 2];
                    let mut arguments = [id; 2];
                    for (position, argument) in node.arguments().enumerate() {
                        moves[position] = active(argument);
                        arguments[position] = argument;
                    }
                    let slopes = graph.local_slopes(id, moves);
                    for (position, slope) in slopes.into_iter().enumerate() {
                        if let Some(slope) = slope {
                            let share = graph.weighted(slope, weight);
                            shares[position] = Some((arguments[position], share));
                        }
                    }
                }
            }
            for (argument, share) in shares.into_iter().flatten() {
                let adjoint = &mut self.adjoint[self.place[argument.index()] as usize];
                *adjoint = Some(match *adjoint {
                    None => share,
                    Some(before) => graph.sum_of_weights(before, share),
                });
            }
        }
    }
}
