//! Which unknown may leave with which equation: offsets that stay valid while equations are removed.
//!
//! The rule of trimming and its proof are in section 3 of `docs/theory/system.md`, (9) to (11). Where the rule refuses, the
//! equations that are left would have another system Jacobian than the written ones, and often a singular one.

use crate::structure::NONE;
use crate::structure::{Offsets, Structure};
use daelight_expr::FastMap;
use std::collections::{BTreeMap, VecDeque};

/// Most entries that one search looks at; where more lie within the slack the unknown stays. Missing offsets are 1 or 2 in the
/// library and the rows within them a handful.
const MAX_VISITS: usize = 1000;

/// Most entries written for each entry of the model, so that a long chain of aliases of an unknown that stands everywhere
/// costs no square of the size; beyond it unknowns stay.
const MOVES_PER_ENTRY: usize = 100;

/// Orders, matching and offsets of the equations that are left.
///
/// The orders may be too high where terms cancelled, never too low: the offsets are then valid all the more.
pub(crate) struct Admission {
    /// Order of each unknown in each equation.
    rows: Vec<BTreeMap<u32, u32>>,
    /// Equations with each unknown; some may have lost it since.
    columns: Vec<Vec<u32>>,
    /// The unknown matched with each equation, and the reverse.
    unknown_of: Vec<u32>,
    equation_of: Vec<u32>,
    offsets: Offsets,
    moves_left: usize,
}

impl Admission {
    /// Starts from the structure of the equations as written.
    pub(crate) fn new(structure: &Structure) -> Self {
        let n = structure.n();
        let (signature, transversal) = (structure.signature(), structure.transversal());
        let mut columns = vec![Vec::new(); n];
        let mut rows = Vec::with_capacity(n);
        for equation in 0..n {
            let row: BTreeMap<u32, u32> = signature
                .row(equation)
                .map(|(unknown, order)| (unknown as u32, order))
                .collect();
            for &unknown in row.keys() {
                columns[unknown as usize].push(equation as u32);
            }
            rows.push(row);
        }
        let each = 0..n;
        Self {
            rows,
            columns,
            unknown_of: each
                .clone()
                .map(|i| transversal.unknown(i) as u32)
                .collect(),
            equation_of: each.map(|j| transversal.equation(j) as u32).collect(),
            offsets: structure.offsets().clone(),
            moves_left: MOVES_PER_ENTRY * (signature.n_entries() + MAX_VISITS),
        }
    }

    /// Raises offsets until an equation may read a derivative that only a condition of it holds; what cannot be so stays.
    ///
    /// The equations are evaluated up to order c_i, conditions among them, and x_j is known up to d_j.
    pub(crate) fn demand(&mut self, equation: usize, unknown: usize, order: u32) {
        let wanted = self.offsets.equation[equation] + order as usize;
        let missing = wanted.saturating_sub(self.offsets.variable[unknown]);
        let owner = self.equation_of[unknown] as usize;
        let Some(raised) = self.within(owner, equation as u32, missing, None) else {
            return;
        };
        self.raise(&raised, missing);
        // As an entry it keeps its room when offsets are raised later.
        let columns = &mut self.columns[unknown];
        let place = self.rows[equation].entry(unknown as u32);
        let place = place.or_insert_with(|| {
            columns.push(equation as u32);
            0
        });
        *place = order.max(*place);
    }

    /// Takes note of the orders at which unknowns still occur in an equation, of each the highest one.
    pub(crate) fn limit(&mut self, equation: usize, occurring: impl Iterator<Item = (usize, u32)>) {
        let mut highest: BTreeMap<u32, u32> = BTreeMap::new();
        for (unknown, order) in occurring {
            let place = highest.entry(unknown as u32).or_default();
            *place = order.max(*place);
        }
        self.rows[equation].retain(|unknown, order| match highest.get(unknown) {
            Some(&occurs) => {
                *order = occurs.min(*order);
                true
            }
            None => false,
        });
        self.match_again(equation);
    }

    /// Lets an unknown leave with an equation in which it stands undifferentiated with a constant factor; `false` where the
    /// rule refuses it, and nothing has changed.
    pub(crate) fn admit(&mut self, equation: usize, unknown: usize) -> bool {
        let missing = self.offsets.variable[unknown] - self.offsets.equation[equation];
        let moves = self.columns[unknown].len() * self.rows[equation].len();
        if moves > self.moves_left {
            return false;
        }
        let target = self.equation_of[unknown];
        let Some(raised) = self.within(equation, target, missing, Some(unknown)) else {
            return false;
        };
        self.moves_left -= moves;
        self.raise(&raised, missing);
        self.remove(equation, unknown);
        true
    }

    /// Raises equations and their unknowns by what is missing beyond their distance, (10).
    fn raise(&mut self, raised: &FastMap<u32, usize>, missing: usize) {
        for (&row, distance) in raised {
            let column = self.unknown_of[row as usize] as usize;
            self.offsets.equation[row as usize] += missing - distance;
            self.offsets.variable[column] += missing - distance;
        }
    }

    /// The equations that chains of entries reach from one with less slack than is missing, (10), with the slack of the
    /// chain; `None` when `target` is among them, or when the search is too long. The entry of the first equation at
    /// `without` is no link.
    fn within(
        &self,
        equation: usize,
        target: u32,
        missing: usize,
        without: Option<usize>,
    ) -> Option<FastMap<u32, usize>> {
        let mut distances: FastMap<u32, usize> = FastMap::default();
        if missing == 0 {
            return Some(distances);
        }
        if equation as u32 == target {
            return None;
        }
        let mut levels: Vec<Vec<u32>> = vec![Vec::new(); missing];
        distances.insert(equation as u32, 0);
        levels[0].push(equation as u32);
        let mut n_visits = 0;
        for level in 0..missing {
            while let Some(row) = levels[level].pop() {
                if distances[&row] != level {
                    continue;
                }
                for (&column, &order) in &self.rows[row as usize] {
                    n_visits += 1;
                    if n_visits > MAX_VISITS {
                        return None;
                    }
                    if row as usize == equation && Some(column as usize) == without {
                        continue;
                    }
                    let offset = self.offsets.variable[column as usize];
                    let slack = offset - self.offsets.equation[row as usize] - order as usize;
                    let distance = level + slack;
                    if distance >= missing {
                        continue;
                    }
                    let next = self.equation_of[column as usize];
                    if next == target {
                        return None;
                    }
                    let known = distances.entry(next).or_insert(usize::MAX);
                    if distance < *known {
                        *known = distance;
                        levels[distance].push(next);
                    }
                }
            }
        }
        Some(distances)
    }

    /// Puts what an equation says for an unknown into all others, and drops both.
    fn remove(&mut self, equation: usize, unknown: usize) {
        let column = unknown as u32;
        let formula = std::mem::take(&mut self.rows[equation]);
        for row in std::mem::take(&mut self.columns[unknown]) {
            let Some(order) = self.rows[row as usize].remove(&column) else {
                continue;
            };
            for (&other, &inner) in &formula {
                if other == column {
                    continue;
                }
                let columns = &mut self.columns[other as usize];
                let place = self.rows[row as usize].entry(other).or_insert_with(|| {
                    columns.push(row);
                    0
                });
                *place = (order + inner).max(*place);
            }
        }
        let free = std::mem::replace(&mut self.unknown_of[equation], NONE);
        let widow = std::mem::replace(&mut self.equation_of[unknown], NONE);
        if free != column {
            self.unknown_of[widow as usize] = free;
            self.equation_of[free as usize] = widow;
            self.match_again(widow as usize);
        }
    }

    fn is_tight(&self, row: usize, column: u32) -> bool {
        let order = self.rows[row].get(&column);
        order.is_some_and(|&order| {
            self.offsets.equation[row] + order as usize == self.offsets.variable[column as usize]
        })
    }

    /// Finds another unknown for an equation whose own has cancelled there, along tight entries.
    ///
    /// Without one the pair stays: the offsets are valid whatever the matching is, only refusals may then be in vain.
    fn match_again(&mut self, equation: usize) {
        let first = equation as u32;
        let free = self.unknown_of[equation];
        if free == NONE || self.is_tight(equation, free) {
            return;
        }
        let mut from: FastMap<u32, u32> = FastMap::default();
        from.insert(first, first);
        let mut queue = VecDeque::from([first]);
        let mut n_visits = 0;
        while let Some(row) = queue.pop_front() {
            for &column in self.rows[row as usize].keys() {
                n_visits += 1;
                if n_visits > MAX_VISITS {
                    return;
                }
                if !self.is_tight(row as usize, column) {
                    continue;
                }
                if column == free {
                    self.exchange(&from, row, column);
                    return;
                }
                let owner = self.equation_of[column as usize];
                if let std::collections::hash_map::Entry::Vacant(place) = from.entry(owner) {
                    place.insert(row);
                    queue.push_back(owner);
                }
            }
        }
    }

    /// Gives every equation of a chain the unknown by which the next one was reached.
    fn exchange(&mut self, from: &FastMap<u32, u32>, mut row: u32, mut column: u32) {
        loop {
            let before = std::mem::replace(&mut self.unknown_of[row as usize], column);
            self.equation_of[column as usize] = row;
            if from[&row] == row {
                return;
            }
            (row, column) = (from[&row], before);
        }
    }

    /// The offsets of the equations and unknowns that are left, in the order given.
    pub(crate) fn offsets(&self, equations: &[usize], unknowns: &[usize]) -> Offsets {
        Offsets {
            equation: equations
                .iter()
                .map(|&i| self.offsets.equation[i])
                .collect(),
            variable: unknowns.iter().map(|&j| self.offsets.variable[j]).collect(),
        }
    }
}
