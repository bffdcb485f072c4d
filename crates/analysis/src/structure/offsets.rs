//! The smallest offsets: how often each equation is differentiated, and how far each unknown is known then.

use crate::structure::queue::MonotoneQueue;
use crate::structure::signature::SignatureMatrix;
use crate::structure::transversal::Transversal;

/// The smallest offsets of equations and unknowns, by (3) of `docs/theory/structure.md`.
///
/// They do not depend on the transversal they were computed from (Pryce, 2001).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Offsets {
    /// c: how often each equation is differentiated.
    pub equation: Vec<usize>,
    /// d: up to which order each unknown is then determined.
    pub variable: Vec<usize>,
}

impl Offsets {
    /// Finds the smallest offsets.
    ///
    /// The fixed point that Pryce iterates towards is reached in one pass: the prices of the transversal make
    /// every step of the iteration a length that is not negative, so that shortest paths (5) give it at once.
    /// The cost is that of one sort of the entries, whatever the size of the offsets.
    pub fn smallest(signature: &SignatureMatrix, transversal: &Transversal) -> Self {
        let n = signature.n_equations();
        // Prices count from the least one, so that no key of the queue is negative.
        let least = transversal.price.iter().copied().min().unwrap_or(0);
        let price: Vec<i64> = transversal
            .price
            .iter()
            .map(|price| price - least)
            .collect();
        // What each unknown's price would be with the prices as offsets.
        let mut column_price = vec![0i64; n];
        for (row, &price) in price.iter().enumerate() {
            let column = transversal.unknown(row);
            let order = signature.order(row, column).map_or(0, i64::from);
            column_price[column] = price + order;
        }
        // By how much each price can be lowered.
        let mut lower = price.clone();
        let mut queue = MonotoneQueue::new();
        for (&price, row) in price.iter().zip(0..) {
            queue.push(price as u64, row);
        }
        let mut level: Vec<u32> = Vec::new();
        while let Some((key, row)) = queue.pop() {
            let key = key as i64;
            if lower[row as usize] != key {
                continue;
            }
            level.push(row);
            while let Some(row) = level.pop() {
                let row = row as usize;
                for (column, order) in signature.row(row) {
                    let slack = column_price[column] - price[row] - i64::from(order);
                    let owner = transversal.equation(column);
                    if key + slack < lower[owner] {
                        lower[owner] = key + slack;
                        if slack == 0 {
                            level.push(owner as u32);
                        } else {
                            queue.push((key + slack) as u64, owner as u32);
                        }
                    }
                }
            }
        }
        let natural = |value: i64| usize::try_from(value).expect("offsets are not negative");
        let equation = (0..n).map(|row| natural(price[row] - lower[row])).collect();
        let variable = (0..n)
            .map(|column| natural(column_price[column] - lower[transversal.equation(column)]))
            .collect();
        Self { equation, variable }
    }

    /// Whether the order of an entry is the greatest that the offsets allow: a place of the system Jacobian.
    pub(crate) fn is_tight(&self, equation: usize, unknown: usize, order: u32) -> bool {
        self.equation[equation] + order as usize == self.variable[unknown]
    }
}

/// The index of each unknown, (8): one more than the number of differentiations its value needs.
///
/// How many differentiations the unknowns of an equation need at the stage of that equation is found from the
/// greatest need down, since every step to another equation costs the slack of the entry it takes.
pub(crate) fn unknown_indices(
    signature: &SignatureMatrix,
    transversal: &Transversal,
    offsets: &Offsets,
) -> Vec<usize> {
    let n = signature.n_equations();
    // Entries by columns: who asks for an unknown, and with which slack.
    let mut starts = vec![0usize; n + 1];
    for row in 0..n {
        for (column, _) in signature.row(row) {
            starts[column + 1] += 1;
        }
    }
    for column in 0..n {
        starts[column + 1] += starts[column];
    }
    let mut next = starts.clone();
    let mut asking = vec![(0u32, 0usize); signature.n_entries()];
    for row in 0..n {
        for (column, order) in signature.row(row) {
            let slack = offsets.variable[column] - offsets.equation[row] - order as usize;
            asking[next[column]] = (row as u32, slack);
            next[column] += 1;
        }
    }

    let mut need = offsets.equation.clone();
    let highest = need.iter().copied().max().unwrap_or(0);
    let mut queue = MonotoneQueue::new();
    for (&need, row) in need.iter().zip(0..) {
        queue.push((highest - need) as u64, row);
    }
    while let Some((below, row)) = queue.pop() {
        let most = highest - below as usize;
        if need[row as usize] != most {
            continue;
        }
        let column = transversal.unknown(row as usize);
        for &(user, slack) in &asking[starts[column]..starts[column + 1]] {
            let user_need = &mut need[user as usize];
            if most.saturating_sub(slack) > *user_need {
                *user_need = most - slack;
                queue.push((highest - (most - slack)) as u64, user);
            }
        }
    }
    (0..n)
        .map(|column| {
            let need = need[transversal.equation(column)];
            1 + need.saturating_sub(offsets.variable[column])
        })
        .collect()
}
