//! Sparse Jacobians straight from the graph: the pattern, and the entries as expressions.

use crate::graph::{BinaryOp, ExprId, FastMap, Graph, Node, SymbolId, UnaryOp, Walker};

/// Which entries of a Jacobian can differ from zero, row by row (compressed rows).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sparsity {
    n_columns: usize,
    row_starts: Vec<usize>,
    columns: Vec<u32>,
}

impl Sparsity {
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
    pub pattern: Sparsity,
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
            pattern: Sparsity {
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
    pub fn sparsity(&self, roots: &[ExprId], symbols: &[SymbolId]) -> Sparsity {
        let columns = columns_of(symbols);
        let mut pattern = Sparsity::new(symbols.len());
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
        let mut pattern = Sparsity::new(symbols.len());
        let mut entries = Vec::new();
        let mut sweep = ReverseSweep::default();
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
#[derive(Debug, Default)]
pub struct ReverseSweep {
    walker: Walker,
    /// Place of a node among those of the current root; stale for all others.
    place: Vec<u32>,
    active: Vec<bool>,
    adjoint: Vec<Option<Share>>,
}

/// What the root owes to a node: `weight` where `guard` holds, nothing elsewhere (`docs/theory/jets.md`, (30a)).
///
/// The weight is not asked for where the guard does not hold: there the node need not have a value.
#[derive(Clone, Copy, Debug)]
struct Share {
    weight: ExprId,
    /// `None` where the node is always needed.
    guard: Option<ExprId>,
}

impl Share {
    /// The share as one expression.
    fn expr(self, graph: &mut Graph) -> ExprId {
        let zero = graph.constant(0.0);
        match self.guard {
            None => self.weight,
            Some(_) if self.weight == zero => zero,
            Some(guard) => match graph.node(guard) {
                Node::Unary(UnaryOp::Not, below) => graph.select(below, zero, self.weight),
                _ => graph.select(guard, self.weight, zero),
            },
        }
    }

    /// The share of a branch that is taken where `condition` holds.
    fn within(self, graph: &mut Graph, condition: ExprId) -> Self {
        let guard = match self.guard {
            None => condition,
            Some(guard) => graph.binary(BinaryOp::And, guard, condition),
        };
        Self {
            guard: Some(guard),
            ..self
        }
    }

    fn plus(self, graph: &mut Graph, other: Self) -> Self {
        if self.guard == other.guard {
            let weight = graph.add(self.weight, other.weight);
            return Self { weight, ..self };
        }
        if let (Some(a), Some(b)) = (self.guard, other.guard)
            && let Some((guard, condition)) = alternatives(graph, a, b)
        {
            let weight = match graph.node(condition) {
                Node::Unary(UnaryOp::Not, below) => graph.select(below, other.weight, self.weight),
                _ => graph.select(condition, self.weight, other.weight),
            };
            return Self { weight, guard };
        }
        let (first, second) = (self.expr(graph), other.expr(graph));
        let guard = match (self.guard, other.guard) {
            (Some(a), Some(b)) => Some(graph.binary(BinaryOp::Or, a, b)),
            _ => None,
        };
        Self {
            weight: graph.add(first, second),
            guard,
        }
    }
}

/// Two guards that are the two sides of one condition: what they have in common, and the condition of the first.
fn alternatives(graph: &Graph, a: ExprId, b: ExprId) -> Option<(Option<ExprId>, ExprId)> {
    let is_not = |a, b| graph.node(a) == Node::Unary(UnaryOp::Not, b);
    if is_not(a, b) || is_not(b, a) {
        return Some((None, a));
    }
    match (graph.node(a), graph.node(b)) {
        (Node::Binary(BinaryOp::And, common, a), Node::Binary(BinaryOp::And, same, b))
            if common == same && (is_not(a, b) || is_not(b, a)) =>
        {
            Some((Some(common), a))
        }
        _ => None,
    }
}

impl ReverseSweep {
    /// Derivatives of `root` by each of the symbols.
    pub fn gradient(
        &mut self,
        graph: &mut Graph,
        root: ExprId,
        symbols: &[SymbolId],
    ) -> Vec<ExprId> {
        let mut gradient = vec![graph.constant(0.0); symbols.len()];
        let mut row = Vec::new();
        self.run(graph, root, &columns_of(symbols), &mut row);
        for (column, entry) in row {
            gradient[column as usize] = entry;
        }
        gradient
    }

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
        self.adjoint[nodes.len() - 1] = Some(Share {
            weight: graph.constant(1.0),
            guard: None,
        });
        for (place, &id) in nodes.iter().enumerate().rev() {
            let Some(share) = self.adjoint[place] else {
                continue;
            };
            let active = |id: ExprId| self.active[self.place[id.index()] as usize];
            if let Node::Symbol(symbol) = graph.node(id) {
                if let Some(&column) = columns.get(&symbol) {
                    row.push((column, share.expr(graph)));
                }
                continue;
            }
            for (argument, share) in shares(graph, id, share, active).into_iter().flatten() {
                let adjoint = &mut self.adjoint[self.place[argument.index()] as usize];
                *adjoint = Some(match *adjoint {
                    None => share,
                    Some(before) => before.plus(graph, share),
                });
            }
        }
    }
}

/// What the arguments of a node get of its share.
fn shares(
    graph: &mut Graph,
    id: ExprId,
    share: Share,
    active: impl Fn(ExprId) -> bool,
) -> [Option<(ExprId, Share)>; 2] {
    let mut shares = [None; 2];
    if let Node::Select(condition, a, b) = graph.node(id) {
        if active(a) {
            shares[0] = Some((a, share.within(graph, condition)));
        }
        if active(b) {
            let otherwise = graph.unary(UnaryOp::Not, condition);
            shares[1] = Some((b, share.within(graph, otherwise)));
        }
        return shares;
    }
    let mut moves = [false; 2];
    let mut arguments = [id; 2];
    for (position, argument) in graph.node(id).arguments().enumerate() {
        moves[position] = active(argument);
        arguments[position] = argument;
    }
    let slopes = graph.local_slopes(id, moves);
    for (position, slope) in slopes.into_iter().enumerate() {
        if let Some(slope) = slope {
            let weight = graph.chain(slope, share.weight);
            shares[position] = Some((arguments[position], Share { weight, ..share }));
        }
    }
    shares
}
