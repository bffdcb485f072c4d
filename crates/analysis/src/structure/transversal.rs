//! A highest-value transversal: which unknown each equation determines.
//!
//! The steps, with the numbers of `docs/theory/structure.md`: a matching of greatest size tells whether
//! there is a transversal at all; strong components split it into blocks that cannot be split further,
//! and no entry outside them is in any transversal; inside them the assignment problem (2) is solved with
//! prices that satisfy (3). Each phase prices all blocks by shortest paths from their free rows, then matches as
//! many rows as the tight entries allow.

use crate::structure::NONE;
use crate::structure::blocks::strong_components;
use crate::structure::offsets::Offsets;
use crate::structure::queue::MonotoneQueue;
use crate::structure::signature::{SignatureMatrix, SparseRows};
use daelight_lang::{Balance, balance_of};
use std::cmp::Reverse;
use std::fmt;

/// One entry in each row and column of a signature matrix, with the greatest sum of orders.
///
/// There may be several; their [value](Self::value) and the offsets are the same for all.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Transversal {
    pub(crate) column: Vec<u32>,
    pub(crate) owner: Vec<u32>,
    value: u64,
    /// Offsets of equations that satisfy (3), not the smallest ones.
    pub(crate) price: Vec<i64>,
}

/// There is no transversal: some equations are too many for their unknowns, or too few.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StructurallySingular {
    /// The over- and underdetermined parts, and a matching of greatest size.
    pub balance: Balance,
}

impl fmt::Display for StructurallySingular {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "structurally singular: {} overdetermined and {} underdetermined parts",
            self.balance.overdetermined.len(),
            self.balance.underdetermined.len()
        )
    }
}

impl std::error::Error for StructurallySingular {}

impl Transversal {
    /// Finds a transversal of the highest value, or the parts that prevent one.
    pub fn find(signature: &SignatureMatrix) -> Result<Self, StructurallySingular> {
        let pattern = signature.pattern();
        let n = signature.n_equations();
        let incidence: Vec<Vec<usize>> = (0..n)
            .map(|row| pattern.row(row).iter().map(|&c| c as usize).collect())
            .collect();
        let balance = balance_of(&incidence, signature.n_unknowns());
        if !balance.is_balanced() {
            return Err(StructurallySingular { balance });
        }
        let column: Vec<u32> = balance
            .matched
            .iter()
            .map(|column| column.map_or(NONE, |column| column as u32))
            .collect();
        let owner = inverse(&column);

        let components = strong_components(pattern, &owner);
        let of_row = &components.of_row;
        let (inside, positions) = pattern.filtered(|row, at| {
            of_row[owner[pattern.columns[at] as usize] as usize] == of_row[row]
        });
        let orders = signature.orders();
        let mut assignment = Assignment::start(
            inside,
            positions.iter().map(|&at| i64::from(orders[at])).collect(),
        );
        assignment.complete();

        let Assignment {
            column,
            owner,
            row_price,
            column_price,
            ..
        } = assignment;
        let price = join_prices(
            signature,
            of_row,
            components.n_components,
            &owner,
            &row_price,
            &column_price,
        );
        let value = (0..n)
            .map(|row| u64::from(signature.order(row, column[row] as usize).unwrap_or(0)))
            .sum();
        Ok(Self {
            column,
            owner,
            value,
            price,
        })
    }

    /// A transversal of entries that are tight with given offsets, if there is one.
    pub(crate) fn tight(signature: &SignatureMatrix, offsets: &Offsets) -> Option<Self> {
        let n = signature.n_equations();
        let incidence: Vec<Vec<usize>> = (0..n)
            .map(|row| {
                let entries = signature.row(row);
                let tight = entries.filter(|&(j, order)| offsets.is_tight(row, j, order));
                tight.map(|(column, _)| column).collect()
            })
            .collect();
        let matched = balance_of(&incidence, signature.n_unknowns()).matched;
        let column = matched.into_iter().map(|column| Some(column? as u32));
        let column: Vec<u32> = column.collect::<Option<_>>()?;
        if column.len() != signature.n_unknowns() {
            return None;
        }
        let sum = |offsets: &[usize]| offsets.iter().map(|&x| x as u64).sum::<u64>();
        Some(Self {
            owner: inverse(&column),
            column,
            value: sum(&offsets.variable) - sum(&offsets.equation),
            price: offsets.equation.iter().map(|&c| c as i64).collect(),
        })
    }

    /// The unknown that an equation is matched with.
    pub fn unknown(&self, equation: usize) -> usize {
        self.column[equation] as usize
    }

    /// The equation that an unknown is matched with.
    pub fn equation(&self, unknown: usize) -> usize {
        self.owner[unknown] as usize
    }

    /// The sum of the orders on it, which is the number of degrees of freedom by (6).
    pub fn value(&self) -> u64 {
        self.value
    }
}

/// The rows of columns, from the columns of rows.
fn inverse(column: &[u32]) -> Vec<u32> {
    let mut owner = vec![NONE; column.len()];
    for (row, &column) in column.iter().enumerate() {
        owner[column as usize] = row as u32;
    }
    owner
}

/// Prices for the whole matrix from those of its blocks: each block is raised until (3) holds.
///
/// An entry outside the blocks stands in a row of a later block and a column of an earlier one, so raising
/// them from the last to the first settles every entry once.
fn join_prices(
    signature: &SignatureMatrix,
    of_row: &[u32],
    n_components: usize,
    owner: &[u32],
    row_price: &[i64],
    column_price: &[i64],
) -> Vec<i64> {
    let mut by_component: Vec<u32> = (0..of_row.len() as u32).collect();
    by_component.sort_by_key(|&row| Reverse(of_row[row as usize]));
    let mut raise = vec![0i64; n_components];
    let mut price = vec![0i64; of_row.len()];
    for row in by_component {
        let row = row as usize;
        let component = of_row[row];
        price[row] = raise[component as usize] - row_price[row];
        for (column, order) in signature.row(row) {
            let other = of_row[owner[column] as usize];
            if other != component {
                let needed = i64::from(order) + price[row] - column_price[column];
                let raise = &mut raise[other as usize];
                *raise = needed.max(*raise);
            }
        }
    }
    price
}

/// An assignment in the making: prices with `row_price + column_price >= order` everywhere and equality
/// on the matched entries.
struct Assignment {
    rows: SparseRows,
    orders: Vec<i64>,
    column: Vec<u32>,
    owner: Vec<u32>,
    row_price: Vec<i64>,
    column_price: Vec<i64>,
}

impl Assignment {
    /// First prices: the highest order of each column, then what each row needs.
    fn start(rows: SparseRows, orders: Vec<i64>) -> Self {
        let n = rows.n_rows();
        let mut column_price = vec![0i64; n];
        for (&column, &order) in rows.columns.iter().zip(&orders) {
            let price = &mut column_price[column as usize];
            *price = order.max(*price);
        }
        let row_price = (0..n)
            .map(|row| {
                rows.range(row)
                    .map(|at| orders[at] - column_price[rows.columns[at] as usize])
                    .max()
                    .unwrap_or(0)
            })
            .collect();
        Self {
            rows,
            orders,
            column: vec![NONE; n],
            owner: vec![NONE; n],
            row_price,
            column_price,
        }
    }

    fn slack(&self, row: usize, at: usize) -> i64 {
        self.row_price[row] + self.column_price[self.rows.columns[at] as usize] - self.orders[at]
    }

    /// Matches every row. The blocks have a perfect matching, so each phase matches one row more at least.
    fn complete(&mut self) {
        self.match_greedily();
        self.match_tight();
        while self.column.contains(&NONE) {
            self.reprice();
            self.match_tight();
        }
    }

    /// Takes tight entries one by one, rows with few of them first.
    fn match_greedily(&mut self) {
        let n = self.rows.n_rows();
        let count = |row: usize| {
            let range = self.rows.range(row);
            range.filter(|&at| self.slack(row, at) == 0).count()
        };
        let mut order: Vec<(usize, u32)> = (0..n).map(|row| (count(row), row as u32)).collect();
        order.sort_unstable();
        for (_, row) in order {
            let row = row as usize;
            let free = self.rows.range(row).find(|&at| {
                self.slack(row, at) == 0 && self.owner[self.rows.columns[at] as usize] == NONE
            });
            if let Some(at) = free {
                let column = self.rows.columns[at];
                self.column[row] = column;
                self.owner[column as usize] = row as u32;
            }
        }
    }

    /// Moves the prices by the distances from the free rows, (4): then every shortest path is tight.
    ///
    /// In a block with a free row all is reachable, since a set of some but not all rows has more columns than
    /// rows. The search ends when all free columns are reached; whatever is farther moves by the distance of the end.
    fn reprice(&mut self) {
        let n = self.rows.n_rows();
        let mut distance = vec![i64::MAX; n];
        let mut queue = MonotoneQueue::new();
        let mut level: Vec<u32> = Vec::new();
        for (row, distance) in distance.iter_mut().enumerate() {
            if self.column[row] == NONE {
                *distance = 0;
                level.push(row as u32);
            }
        }
        let mut column_distance = vec![i64::MAX; n];
        let mut n_missing = level.len();
        let mut farthest = 0;
        let mut end = 0;
        loop {
            // Rows at the distance of this level are on the stack; farther ones wait in the queue.
            while let Some(row) = level.pop() {
                let row = row as usize;
                let here = distance[row];
                for at in self.rows.range(row) {
                    let column = self.rows.columns[at] as usize;
                    let there = here + self.slack(row, at);
                    if there >= column_distance[column] {
                        continue;
                    }
                    let before = std::mem::replace(&mut column_distance[column], there);
                    match self.owner[column] {
                        NONE if before == i64::MAX => {
                            n_missing -= 1;
                            farthest = there.max(farthest);
                        }
                        NONE => {}
                        owner => {
                            distance[owner as usize] = there;
                            if there == here {
                                level.push(owner);
                            } else {
                                queue.push(there as u64, owner);
                            }
                        }
                    }
                }
            }
            let Some((next, row)) = queue.pop() else {
                break;
            };
            let next = next as i64;
            end = next;
            if n_missing == 0 && next > farthest {
                break;
            }
            if distance[row as usize] == next {
                level.push(row);
            }
        }
        let end = end.max(farthest);
        for (price, &distance) in self.row_price.iter_mut().zip(&distance) {
            *price += distance.min(end);
        }
        for (price, &distance) in self.column_price.iter_mut().zip(&column_distance) {
            *price -= distance.min(end);
        }
    }

    /// Matches as many rows as possible by tight entries, after Pothen and Fan (1990).
    ///
    /// A pass looks for paths from all unmatched rows in depth and visits no row twice; the last finds none.
    fn match_tight(&mut self) {
        let (tight, _) = self.rows.filtered(|row, at| self.slack(row, at) == 0);
        let n = tight.n_rows();
        let mut visited_in = vec![0u32; n];
        // Entries of a row before this place have matched columns for good.
        let mut look: Vec<usize> = (0..n).map(|row| tight.range(row).start).collect();
        let mut n_tried = vec![0usize; n];
        let mut path: Vec<(u32, u32)> = Vec::new();
        let mut free: Vec<u32> = (0..n as u32)
            .filter(|&row| self.column[row as usize] == NONE)
            .collect();
        for pass in 1.. {
            for &start in &free {
                path.push((start, NONE));
                visited_in[start as usize] = pass;
                n_tried[start as usize] = 0;
                while let Some((row, through)) = path.last_mut() {
                    let row = *row as usize;
                    let range = tight.range(row);
                    while look[row] < range.end
                        && self.owner[tight.columns[look[row]] as usize] != NONE
                    {
                        look[row] += 1;
                    }
                    if look[row] < range.end {
                        *through = tight.columns[look[row]];
                        for (row, column) in path.drain(..) {
                            self.column[row as usize] = column;
                            self.owner[column as usize] = row;
                        }
                        break;
                    }
                    if n_tried[row] == range.len() {
                        path.pop();
                        continue;
                    }
                    // Every other pass tries the entries of a row from the end, so that none is always last.
                    let at = if pass % 2 == 0 {
                        range.end - 1 - n_tried[row]
                    } else {
                        range.start + n_tried[row]
                    };
                    n_tried[row] += 1;
                    let column = tight.columns[at];
                    let owner = self.owner[column as usize];
                    if visited_in[owner as usize] != pass {
                        visited_in[owner as usize] = pass;
                        n_tried[owner as usize] = 0;
                        *through = column;
                        path.push((owner, NONE));
                    }
                }
            }
            let before = free.len();
            free.retain(|&row| self.column[row as usize] == NONE);
            if free.is_empty() || free.len() == before {
                return;
            }
        }
    }
}
