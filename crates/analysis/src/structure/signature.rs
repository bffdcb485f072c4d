//! The signature matrix: how often each unknown is differentiated in each equation.

use crate::equations::Equations;
use daelight_expr::{BinaryOp, ExprId, Graph, Node, UnaryOp};
use daelight_lang::{Model, Symbol};
use std::fmt;

/// The highest derivative order of each unknown in each equation, stored by rows.
///
/// An unknown that does not occur has no entry (in the literature: minus infinity). This is (1) of
/// `docs/theory/structure.md`.
///
/// ```
/// use daelight_analysis::structure::SignatureMatrix;
///
/// // x' = y, x = 1
/// let signature = SignatureMatrix::from_entries(2, 2, [(0, 0, 1), (0, 1, 0), (1, 0, 0)])?;
/// assert_eq!(signature.order(0, 0), Some(1));
/// assert_eq!(signature.order(1, 1), None);
/// # Ok::<(), daelight_analysis::structure::BadEntry>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SignatureMatrix {
    pattern: SparseRows,
    /// Beside the columns of `pattern`.
    orders: Vec<u32>,
    n_unknowns: usize,
}

/// An entry that lies outside the matrix.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BadEntry {
    /// Row of the entry.
    pub equation: usize,
    /// Column of the entry.
    pub unknown: usize,
}

impl fmt::Display for BadEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { equation, unknown } = self;
        write!(
            f,
            "the entry ({equation}, {unknown}) lies outside the matrix"
        )
    }
}

impl std::error::Error for BadEntry {}

impl SignatureMatrix {
    /// Reads the orders off the equations of a model.
    ///
    /// Only occurrences that the value of the equation follows count: what stands in the condition of an
    /// `if` or in a comparison chooses a branch, and the derivative by it is zero where it exists.
    /// The cost is the size of the equations, shared parts counted once for each equation.
    pub fn from_model(model: &Model) -> Self {
        let mut walk = Walk::new(&model.graph);
        let mut pattern = SparseRows::default();
        let mut orders = Vec::new();
        let mut row: Vec<(u32, u32)> = Vec::new();
        for equation in &model.equations {
            row.clear();
            walk.leaves(&model.graph, equation.residual, |symbol| {
                if let Symbol::Unknown { unknown, order } = model.symbols.get(symbol) {
                    row.push((unknown as u32, order));
                }
            });
            push_row(&mut row, &mut pattern, &mut orders);
        }
        Self {
            pattern,
            orders,
            n_unknowns: model.unknowns.len(),
        }
    }

    /// Reads the orders off the matrices of equations: where dF/dx^(r) has an entry, x^(r) occurs.
    pub(crate) fn from_equations(equations: &Equations) -> Self {
        let mut pattern = SparseRows::default();
        let mut orders = Vec::new();
        let mut row: Vec<(u32, u32)> = Vec::new();
        for equation in 0..equations.n_equations() {
            row.clear();
            for order in 0..=equations.order() {
                let matrix = equations.pattern(order);
                let columns = &matrix.columns()[matrix.row(equation)];
                row.extend(columns.iter().map(|&column| (column, order as u32)));
            }
            push_row(&mut row, &mut pattern, &mut orders);
        }
        Self {
            pattern,
            orders,
            n_unknowns: equations.n_unknowns(),
        }
    }

    /// Builds the matrix from `(equation, unknown, order)`; of several orders in one place the highest counts.
    pub fn from_entries(
        n_equations: usize,
        n_unknowns: usize,
        entries: impl IntoIterator<Item = (usize, usize, u32)>,
    ) -> Result<Self, BadEntry> {
        let mut rows: Vec<Vec<(u32, u32)>> = vec![Vec::new(); n_equations];
        for (equation, unknown, order) in entries {
            let outside = BadEntry { equation, unknown };
            let column = u32::try_from(unknown).map_err(|_| outside)?;
            if unknown >= n_unknowns {
                return Err(outside);
            }
            let row = rows.get_mut(equation).ok_or(outside)?;
            row.push((column, order));
        }
        let mut pattern = SparseRows::default();
        let mut orders = Vec::new();
        for mut row in rows {
            push_row(&mut row, &mut pattern, &mut orders);
        }
        Ok(Self {
            pattern,
            orders,
            n_unknowns,
        })
    }

    /// Number of rows.
    pub fn n_equations(&self) -> usize {
        self.pattern.n_rows()
    }

    /// Number of columns.
    pub fn n_unknowns(&self) -> usize {
        self.n_unknowns
    }

    /// Number of entries.
    pub fn n_entries(&self) -> usize {
        self.orders.len()
    }

    /// The unknowns of an equation, ascending, each with its order.
    pub fn row(&self, equation: usize) -> impl Iterator<Item = (usize, u32)> {
        self.pattern
            .range(equation)
            .map(|at| (self.pattern.columns[at] as usize, self.orders[at]))
    }

    /// The order of an unknown in an equation; `None` when it does not occur there.
    pub fn order(&self, equation: usize, unknown: usize) -> Option<u32> {
        let row = self.pattern.row(equation);
        let column = u32::try_from(unknown).ok()?;
        let at = row.binary_search(&column).ok()?;
        Some(self.orders[self.pattern.range(equation).start + at])
    }

    /// Where the unknowns occur, by rows.
    pub(crate) fn pattern(&self) -> &SparseRows {
        &self.pattern
    }

    /// The orders, beside the columns of the pattern.
    pub(crate) fn orders(&self) -> &[u32] {
        &self.orders
    }
}

/// Appends a row, sorted by columns, with the highest order of each.
fn push_row(row: &mut [(u32, u32)], pattern: &mut SparseRows, orders: &mut Vec<u32>) {
    row.sort_unstable();
    for (at, &(column, order)) in row.iter().enumerate() {
        if row.get(at + 1).is_none_or(|next| next.0 != column) {
            pattern.columns.push(column);
            orders.push(order);
        }
    }
    pattern.end_row();
}

/// The places of the entries of a sparse matrix, by rows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct SparseRows {
    /// Where each row begins in `columns`; one more than there are rows.
    starts: Vec<usize>,
    /// Columns of all rows.
    pub columns: Vec<u32>,
}

impl Default for SparseRows {
    fn default() -> Self {
        Self {
            starts: vec![0],
            columns: Vec::new(),
        }
    }
}

impl SparseRows {
    /// Makes one row of the columns pushed since the last.
    pub fn end_row(&mut self) {
        self.starts.push(self.columns.len());
    }

    pub fn n_rows(&self) -> usize {
        self.starts.len() - 1
    }

    /// Positions of a row's entries.
    pub fn range(&self, row: usize) -> std::ops::Range<usize> {
        self.starts[row]..self.starts[row + 1]
    }

    pub fn row(&self, row: usize) -> &[u32] {
        &self.columns[self.range(row)]
    }

    /// The entries that `keep` accepts by row and position, and where they stood.
    pub fn filtered(&self, mut keep: impl FnMut(usize, usize) -> bool) -> (Self, Vec<usize>) {
        let mut kept = Self::default();
        let mut positions = Vec::new();
        for row in 0..self.n_rows() {
            for at in self.range(row) {
                if keep(row, at) {
                    kept.columns.push(self.columns[at]);
                    positions.push(at);
                }
            }
            kept.end_row();
        }
        (kept, positions)
    }
}

/// Visits the symbols below a root that its value follows; keeps its buffers between roots.
pub(crate) struct Walk {
    /// The number of the walk that met a node last.
    stamps: Vec<u32>,
    current: u32,
    stack: Vec<ExprId>,
}

impl Walk {
    pub(crate) fn new(graph: &Graph) -> Self {
        Self {
            stamps: vec![0; graph.len()],
            current: 0,
            stack: Vec::new(),
        }
    }

    pub(crate) fn leaves(
        &mut self,
        graph: &Graph,
        root: ExprId,
        mut visit: impl FnMut(daelight_expr::SymbolId),
    ) {
        self.current = self.current.wrapping_add(1);
        if self.current == 0 {
            self.stamps.fill(0);
            self.current = 1;
        }
        self.stack.push(root);
        while let Some(id) = self.stack.pop() {
            let stamp = &mut self.stamps[id.index()];
            if *stamp == self.current {
                continue;
            }
            *stamp = self.current;
            match graph.node(id) {
                Node::Symbol(symbol) => visit(symbol),
                Node::Select(_, a, b) => self.stack.extend([a, b]),
                node if !is_choice(node) => self.stack.extend(node.arguments()),
                _ => {}
            }
        }
    }
}

/// Whether the value of an operation is constant between jumps.
fn is_choice(node: Node) -> bool {
    match node {
        Node::Unary(op, _) => matches!(op, UnaryOp::Sign | UnaryOp::Not),
        Node::Binary(op, ..) => matches!(
            op,
            BinaryOp::Less
                | BinaryOp::LessEqual
                | BinaryOp::Greater
                | BinaryOp::GreaterEqual
                | BinaryOp::Equal
                | BinaryOp::NotEqual
                | BinaryOp::And
                | BinaryOp::Or
        ),
        _ => false,
    }
}
