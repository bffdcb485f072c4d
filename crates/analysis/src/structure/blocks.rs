//! Block triangular form: strong components of equations that wait for each other (Tarjan, 1972).

use crate::structure::signature::SparseRows;

/// Stands for an equation or an unknown that is not there.
pub(crate) const NONE: u32 = u32::MAX;

/// Equations and as many unknowns that must be solved together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Block {
    /// Equations of the block, ascending.
    pub equations: Vec<usize>,
    /// Unknowns of the block, ascending.
    pub unknowns: Vec<usize>,
}

/// The block of each row, counted in an order in which a block comes after those it depends on.
pub(crate) struct Components {
    pub of_row: Vec<u32>,
    pub n_components: usize,
}

/// Decides which rows depend on each other: row i waits for the row that owns a column of row i.
///
/// `owner` is the row that each column is matched with. The components do not depend on the choice of a
/// perfect matching (Dulmage and Mendelsohn, 1958), their order may.
pub(crate) fn strong_components(rows: &SparseRows, owner: &[u32]) -> Components {
    let n = rows.n_rows();
    let mut of_row = vec![NONE; n];
    let mut n_components = 0u32;
    // `low` is the smallest arrival number that a row is known to reach among the open ones.
    let mut arrival = vec![NONE; n];
    let mut low = vec![0u32; n];
    let mut arrivals = 0u32;
    let mut open: Vec<u32> = Vec::new();
    // A row of the path with the position of its next entry.
    let mut path: Vec<(u32, usize)> = Vec::new();
    for start in 0..n {
        if arrival[start] != NONE {
            continue;
        }
        path.push((start as u32, rows.range(start).start));
        while let Some(&mut (row, ref mut next)) = path.last_mut() {
            let row_index = row as usize;
            if arrival[row_index] == NONE {
                arrival[row_index] = arrivals;
                low[row_index] = arrivals;
                arrivals += 1;
                open.push(row);
            }
            if *next < rows.range(row_index).end {
                let other = owner[rows.columns[*next] as usize] as usize;
                *next += 1;
                if arrival[other] == NONE {
                    path.push((other as u32, rows.range(other).start));
                } else if of_row[other] == NONE {
                    low[row_index] = low[row_index].min(arrival[other]);
                }
                continue;
            }
            path.pop();
            if let Some(&(parent, _)) = path.last() {
                low[parent as usize] = low[parent as usize].min(low[row_index]);
            }
            if low[row_index] == arrival[row_index] {
                while let Some(member) = open.pop() {
                    of_row[member as usize] = n_components;
                    if member == row {
                        break;
                    }
                }
                n_components += 1;
            }
        }
    }
    Components {
        of_row,
        n_components: n_components as usize,
    }
}

impl Components {
    /// The blocks in solution order; `column` gives the unknown that each equation is matched with.
    pub fn blocks(&self, column: &[u32]) -> Vec<Block> {
        let mut blocks = vec![
            Block {
                equations: Vec::new(),
                unknowns: Vec::new(),
            };
            self.n_components
        ];
        for (equation, &component) in self.of_row.iter().enumerate() {
            let block = &mut blocks[component as usize];
            block.equations.push(equation);
            block.unknowns.push(column[equation] as usize);
        }
        for block in &mut blocks {
            block.unknowns.sort_unstable();
        }
        blocks
    }
}
