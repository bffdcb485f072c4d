//! The order in which rows can be solved: which coefficients are kept as they are, and blocks of rows that need each other.
//!
//! Section 2 of `docs/theory/initial.md`.

use super::array::{Column, Row, Selection};
use crate::equations::Equations;
use crate::structure::NONE;
use crate::structure::{SparseRows, strong_components};
use daelight_expr::{Node, Walker};
use daelight_lang::Symbol;
use std::collections::HashMap;

/// Rows and as many columns that must be solved together; positions in the selection.
pub(super) struct RowBlock {
    pub rows: Vec<usize>,
    pub columns: Vec<usize>,
}

/// The rows of a selection as blocks, each after those it depends on. Columns of no block keep their values.
pub(super) struct SolveOrder {
    pub blocks: Vec<RowBlock>,
    /// Whether a column keeps its value.
    pub is_kept: Vec<bool>,
}

impl SolveOrder {
    /// Chooses the columns that the rows determine, the first ones of `by_wish` as far as possible, and puts the rows in
    /// order; `None` where some row has no column of its own.
    ///
    /// The sets of columns that rows can determine are the independent sets of a transversal matroid (Edmonds and Fulkerson,
    /// 1965), so taking them one after the other keeps the last ones of `by_wish`, as many and as late as can be.
    ///
    /// A row has to wait for what its conditions read as well, though no derivative tells: `b = if a > 0 then 1/a else 0` with a at its
    /// guess would be 0. `read` are the columns of each row with these, where there are any. Blocks are put in order by them as far as that
    /// leaves no circle.
    pub fn new(rows: &SparseRows, read: Option<&SparseRows>, by_wish: &[usize]) -> Option<Self> {
        let n_columns = by_wish.len();
        let mut adjacent: Vec<Vec<u32>> = vec![Vec::new(); n_columns];
        for row in 0..rows.n_rows() {
            for &column in rows.row(row) {
                adjacent[column as usize].push(row as u32);
            }
        }
        let matching = Matching::new(rows.n_rows(), n_columns, &adjacent, by_wish)?;
        // Columns that are kept are numbers: nothing waits for them.
        let is_determined = |column: u32| matching.row_of[column as usize] != NONE;
        let (waiting, _) = rows.filtered(|_, at| is_determined(rows.columns[at]));
        let components = strong_components(&waiting, &matching.row_of);
        let mut blocks = components.blocks(&matching.column_of);
        if let Some(read) = read {
            let (waiting, _) = read.filtered(|_, at| is_determined(read.columns[at]));
            let wider = strong_components(&waiting, &matching.row_of);
            let mut turn = vec![0; rows.n_rows()];
            for (at, block) in wider.blocks(&matching.column_of).iter().enumerate() {
                block.equations.iter().for_each(|&row| turn[row] = at);
            }
            // Blocks lie within wider ones, so that this keeps each after those it depends on.
            blocks.sort_by_key(|block| block.equations.first().map(|&row| turn[row]));
        }
        Some(Self {
            blocks: blocks
                .into_iter()
                .map(|block| RowBlock {
                    rows: block.equations,
                    columns: block.unknowns,
                })
                .collect(),
            is_kept: matching.row_of.iter().map(|row| *row == NONE).collect(),
        })
    }

    /// Counts a failure of the block of some columns against these, and half of it against what follows from them: a velocity
    /// that is determined by a rate which its constraint does not determine could be kept as well.
    pub fn blame(&self, rows: &SparseRows, columns: &[usize], failed: &mut [usize]) {
        let mut follows = vec![false; failed.len()];
        for &at in columns {
            follows[at] = true;
            failed[at] += 1;
        }
        for block in &self.blocks {
            let mut held = block.rows.iter().flat_map(|&row| rows.row(row));
            if held.any(|&column| follows[column as usize]) {
                for &at in &block.columns {
                    follows[at] = true;
                    failed[at] += 1;
                }
            }
        }
    }
}

/// A column for every row.
struct Matching {
    row_of: Vec<u32>,
    column_of: Vec<u32>,
}

impl Matching {
    /// Takes the columns in turn, each by an augmenting path if there is one; `None` unless all rows get a column.
    fn new(
        n_rows: usize,
        n_columns: usize,
        adjacent: &[Vec<u32>],
        in_turn: &[usize],
    ) -> Option<Self> {
        let mut found = Self {
            row_of: vec![NONE; n_columns],
            column_of: vec![NONE; n_rows],
        };
        // From which column a row was reached, and in which search. A search that fails has seen rows from which no path
        // will ever lead out; they stay marked.
        let mut reached_from = vec![NONE; n_rows];
        let mut seen = vec![0_u32; n_rows];
        const NEVER_AGAIN: u32 = u32::MAX;
        let mut n_matched = 0;
        for (search, &start) in (1_u32..).zip(in_turn) {
            if n_matched == n_rows {
                break;
            }
            let mut queue = vec![start as u32];
            let mut reached = Vec::new();
            let mut end = None;
            let mut next = 0;
            'search: while next < queue.len() {
                let column = queue[next];
                next += 1;
                for &row in &adjacent[column as usize] {
                    let row_index = row as usize;
                    if seen[row_index] == search || seen[row_index] == NEVER_AGAIN {
                        continue;
                    }
                    seen[row_index] = search;
                    reached_from[row_index] = column;
                    reached.push(row);
                    if found.column_of[row_index] == NONE {
                        end = Some(row);
                        break 'search;
                    }
                    queue.push(found.column_of[row_index]);
                }
            }
            let Some(mut row) = end else {
                for row in reached {
                    seen[row as usize] = NEVER_AGAIN;
                }
                continue;
            };
            n_matched += 1;
            loop {
                let column = reached_from[row as usize];
                let before = std::mem::replace(&mut found.row_of[column as usize], row);
                found.column_of[row as usize] = column;
                if before == NONE {
                    break;
                }
                row = before;
            }
        }
        (n_matched == n_rows).then_some(found)
    }
}

/// Which columns of a selection each of its rows can depend on.
///
/// Differentiated a times, an equation that holds x^(s) with a constant factor holds x^(s+a) and no lower derivative.
pub(super) fn pattern(
    equations: &Equations,
    initial: &Equations,
    selection: &Selection,
) -> SparseRows {
    let rests = resting(equations);
    let at: HashMap<(usize, usize), u32> = selection
        .columns
        .iter()
        .zip(0_u32..)
        .map(|(column, at)| ((column.unknown, column.order), at))
        .collect();
    let mut rows = SparseRows::default();
    let mut held: Vec<u32> = Vec::new();
    for row in &selection.rows {
        held.clear();
        match *row {
            Row::Value { unknown, .. } => held.extend(at.get(&(unknown, 0))),
            Row::Initial { equation } => {
                for order in 0..=initial.order() {
                    let pattern = initial.pattern(order);
                    let unknowns = &pattern.columns()[pattern.row(equation)];
                    held.extend(
                        unknowns
                            .iter()
                            .filter_map(|&j| at.get(&(j as usize, order))),
                    );
                }
            }
            Row::Equation { equation, order } => {
                for derivative in 0..=equations.order() {
                    let jacobian = equations.jacobian(derivative);
                    for position in jacobian.pattern.row(equation) {
                        let unknown = jacobian.pattern.columns()[position] as usize;
                        let is_constant = rests[jacobian.entries[position].index()];
                        let lowest = if is_constant { order } else { 0 };
                        held.extend(
                            (lowest..=order).filter_map(|k| at.get(&(unknown, derivative + k))),
                        );
                    }
                }
            }
        }
        held.sort_unstable();
        held.dedup();
        rows.columns.extend(&held);
        rows.end_row();
    }
    rows
}

/// The same with the columns that are read by conditions alone, which no derivative shows; `None` where there are none.
pub(super) fn read(
    equations: &Equations,
    pattern: &SparseRows,
    selection: &Selection,
) -> Option<SparseRows> {
    let graph = equations.graph();
    let mut walker = Walker::new();
    let residuals = equations.residuals().iter();
    let hidden: Vec<Vec<(usize, usize)>> = residuals
        .enumerate()
        .map(|(equation, &residual)| {
            let symbols = walker.symbols(graph, &[residual]).into_iter();
            let unknown = symbols.filter_map(|id| match equations.symbols().get(id) {
                Symbol::Unknown { unknown, order } => Some((unknown, order as usize)),
                _ => None,
            });
            let is_hidden = |&(unknown, order): &(usize, usize)| {
                let shown = equations.pattern(order);
                !shown.columns()[shown.row(equation)].contains(&(unknown as u32))
            };
            unknown.filter(is_hidden).collect()
        })
        .collect();
    if hidden.iter().all(Vec::is_empty) {
        return None;
    }
    let columns = selection.columns.iter().zip(0_u32..);
    let at: HashMap<(usize, usize), u32> = columns
        .map(|(column, at)| ((column.unknown, column.order), at))
        .collect();
    let mut rows = SparseRows::default();
    for (position, row) in selection.rows.iter().enumerate() {
        let mut held = pattern.row(position).to_vec();
        if let Row::Equation { equation, order } = *row {
            for &(unknown, derivative) in &hidden[equation] {
                held.extend((0..=order).filter_map(|k| at.get(&(unknown, derivative + k))));
            }
        }
        held.sort_unstable();
        held.dedup();
        rows.columns.extend(&held);
        rows.end_row();
    }
    Some(rows)
}

/// For every expression whether it is a number that follows from parameters alone.
fn resting(equations: &Equations) -> Vec<bool> {
    let graph = equations.graph();
    let mut rests = vec![true; graph.len()];
    for position in 0..graph.len() {
        let node = graph.node(graph.id(position));
        rests[position] = match node {
            Node::Symbol(id) => matches!(equations.symbols().get(id), Symbol::Parameter(_)),
            _ => node.arguments().all(|argument| rests[argument.index()]),
        };
    }
    rests
}

/// What is wished of a column, the least first: coefficients of high order give way before those of low order, these before
/// values, and values that nobody wrote before those that somebody did. Of one rank those come last with which it
/// `failed` most often.
pub(super) fn by_wish(
    columns: &[Column],
    is_given: &[bool],
    is_differentiated: &[bool],
    failed: &[usize],
) -> Vec<usize> {
    let wish = |column: &Column| {
        let j = column.unknown;
        let class = match (column.order, is_given[j], is_differentiated[j]) {
            (0, false, false) => 1,
            (0, false, true) => 2,
            (0, true, false) => 3,
            (0, true, true) => 4,
            _ => 0,
        };
        (class, std::cmp::Reverse(column.order))
    };
    let mut order: Vec<usize> = (0..columns.len()).collect();
    order.sort_by_key(|&at| (wish(&columns[at]), failed[at]));
    order
}
