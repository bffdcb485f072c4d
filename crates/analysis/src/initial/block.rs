//! Newton's method inside one block of rows, the unknowns of other blocks being numbers; section 2 of
//! `docs/theory/initial.md`.

use super::Obstacle;
use super::array::{ArrayFault, Column, Row, Selection};
use super::jet::TaylorJet;
use super::order::RowBlock;
use super::rows::{Entry, RowValues};
use crate::tolerances::{
    BACKWARD, BESIDE, DENSE_BLOCK, GAIN, HOLDS, LONG_STEP, MAX_DRAWN, MAX_NEWTON_STEPS, MULTIPLES,
    N_DRAWN, NEARLY_LINEAR, SHORTEST_PART, SLOW, SLOW_STEPS,
};
use daelight_linalg::{CscMat, Lu, Mat, SparseLu};
use std::time::Instant;

/// How the search in a block ended.
pub(super) enum BlockEnd {
    Solved,
    /// No step helps.
    Stalled {
        residual: f64,
        row: usize,
    },
    /// An expression has no value.
    Fault(ArrayFault),
}

/// One block that is being solved.
pub(super) struct BlockSearch<'s> {
    pub values: &'s mut RowValues,
    pub selection: &'s Selection,
    pub block: &'s RowBlock,
    /// Sizes of the unknowns, where the model gives them.
    pub nominal: &'s [Option<f64>],
    /// Unknowns whose values were written: guesses leave them where they are at first.
    pub is_given: &'s [bool],
    pub deadline: Instant,
    /// Whether the last solution was approached slowly to its end: a fold, where values are known to the root of the rounding.
    pub is_fold: bool,
    /// Whether a block of derivatives alone is tried from its present values and no others.
    pub is_brief: bool,
    entries: Vec<Entry>,
    /// The row's block and column of a coefficient: position of each coefficient among the columns of the block.
    places: std::collections::HashMap<(usize, usize), usize>,
}

/// The rows of the block at a jet.
struct Evaluated {
    residuals: Vec<f64>,
    /// Row, column and derivative, in the positions of the block.
    matrix: Vec<(usize, usize, f64)>,
    /// Whether each of these derivatives is the same at all values of the unknowns.
    is_constant: Vec<bool>,
    /// Whether all derivatives in the block are, those that are zero among them.
    is_fixed: bool,
    /// What the residual of each row is to be compared with: the sum of its terms, to first order.
    terms: Vec<f64>,
    /// Whether the derivative of a row alone is nothing beside the others of the row: terms that cancel leave it so, and units do.
    may_be_rounding: bool,
}

impl<'s> BlockSearch<'s> {
    pub fn new(
        values: &'s mut RowValues,
        selection: &'s Selection,
        block: &'s RowBlock,
        nominal: &'s [Option<f64>],
        is_given: &'s [bool],
        deadline: Instant,
    ) -> Self {
        let columns = block.columns.iter().enumerate();
        let places = columns.map(|(at, &column)| {
            let Column { unknown, order } = selection.columns[column];
            ((unknown, order), at)
        });
        Self {
            places: places.collect(),
            values,
            selection,
            block,
            nominal,
            is_given,
            deadline,
            is_fold: false,
            is_brief: false,
            entries: Vec::new(),
        }
    }

    fn column(&self, at: usize) -> Column {
        self.selection.columns[self.block.columns[at]]
    }

    fn row(&self, at: usize) -> Row {
        self.selection.rows[self.block.rows[at]]
    }

    /// The coefficients of the block.
    fn values_in(&self, jet: &TaylorJet) -> Vec<f64> {
        let columns = (0..self.block.columns.len()).map(|at| self.column(at));
        columns.map(|c| jet.get(c.unknown, c.order)).collect()
    }

    /// Sets the coefficients of the block.
    fn put(&self, jet: &mut TaylorJet, values: &[f64]) {
        for (at, value) in values.iter().enumerate() {
            let Column { unknown, order } = self.column(at);
            jet.set(unknown, order, *value);
        }
    }

    /// Evaluates the rows and their derivatives by the columns of the block.
    fn evaluate(&mut self, jet: &TaylorJet) -> Result<Evaluated, ArrayFault> {
        let n = self.block.rows.len();
        let mut found = Evaluated {
            residuals: Vec::with_capacity(n),
            matrix: Vec::new(),
            is_constant: Vec::new(),
            is_fixed: true,
            terms: vec![0.0; n],
            may_be_rounding: false,
        };
        let mut sizes: Vec<f64> = Vec::new();
        let mut small: Vec<(usize, f64, f64)> = Vec::new();
        for at in 0..n {
            let row = self.row(at);
            let residual = self.values.evaluate(&row, jet, &mut self.entries)?;
            found.residuals.push(residual);
            let largest = self.entries.iter().map(|entry| entry.value.abs());
            let rounding = f64::EPSILON * largest.fold(0.0, f64::max);
            for entry in &self.entries {
                let place = self.places.get(&(entry.unknown, entry.order));
                found.is_fixed &= place.is_none() || entry.is_constant;
                if entry.value == 0.0 {
                    continue;
                }
                if let Some(&place) = place {
                    found.matrix.push((at, place, entry.value));
                    found.is_constant.push(entry.is_constant);
                    found.may_be_rounding |=
                        n == 1 && !entry.is_constant && entry.value.abs() <= rounding;
                }
                let size = jet.get(entry.unknown, entry.order).abs();
                sizes.extend((size > 0.0 && entry.order == 0).then_some(size));
                match self.nominal[entry.unknown] {
                    Some(nominal) => found.terms[at] += entry.value.abs() * size.max(nominal),
                    None if entry.order > 0 => found.terms[at] += entry.value.abs() * size.max(1.0),
                    None => small.push((at, entry.value.abs(), size)),
                }
            }
        }
        // Without a nominal size an unknown is not asked to be more exact than its neighbours in the rows usually are, and
        // derivatives, which may all be rounding at rest, are measured by 1.
        let usual = median(&mut sizes).map_or(1.0, |usual| usual.min(1.0));
        for (at, slope, size) in small {
            found.terms[at] += slope * size.max(usual);
        }
        Ok(found)
    }

    /// The largest residual against its terms, and its row.
    fn worst(&self, here: &Evaluated) -> (f64, usize) {
        let mut worst = (0.0, 0);
        for (at, (residual, terms)) in here.residuals.iter().zip(&here.terms).enumerate() {
            let size = match residual.abs() {
                0.0 => 0.0,
                size => size / terms.max(f64::MIN_POSITIVE),
            };
            if size > worst.0 || size.is_nan() {
                worst = (size, at);
            }
        }
        worst
    }

    /// The block as something that stands in the way, with the numbers that it was tried with.
    pub fn obstacle(&mut self, jet: &TaylorJet) -> Obstacle {
        let mut unknowns: Vec<usize> = (0..self.block.columns.len())
            .map(|at| self.column(at).unknown)
            .collect();
        unknowns.sort_unstable();
        unknowns.dedup();
        let rows: Vec<Row> = (0..self.block.rows.len()).map(|at| self.row(at)).collect();
        let mut known: Vec<usize> = Vec::new();
        for row in &rows {
            known.extend(self.values.unknowns_in(row));
        }
        known.sort_unstable();
        known.dedup();
        known.retain(|unknown| !unknowns.contains(unknown));
        Obstacle {
            rows,
            unknowns,
            known: known.into_iter().map(|j| (j, jet.get(j, 0))).collect(),
            fault: None,
            is_forced: false,
            jet: jet.clone(),
        }
    }

    /// Whether the rows are linear in the columns of the block, with factors of numbers and parameters.
    pub fn is_linear(&mut self, jet: &TaylorJet) -> bool {
        let here = self.evaluate(jet);
        here.is_ok_and(|here| here.is_constant.iter().all(|is_constant| *is_constant))
    }

    /// The largest residual of the rows against their terms, and the largest one as it is.
    pub fn residual(&mut self, jet: &TaylorJet) -> Result<(f64, f64), ArrayFault> {
        let here = self.evaluate(jet)?;
        let largest = here.residuals.iter().fold(0.0, |m: f64, f| m.max(f.abs()));
        Ok((self.worst(&here).0, largest))
    }

    /// Solves the block from its present values, then from other guesses. A block that cannot be solved stays as it was.
    pub fn solve(&mut self, jet: &mut TaylorJet) -> BlockEnd {
        let before = self.values_in(jet);
        let mut first = None;
        let n_columns = self.block.columns.len();
        let n_others = match n_columns {
            _ if self.is_brief && (0..n_columns).all(|at| self.column(at).order > 0) => 0,
            ..=MAX_DRAWN => MULTIPLES.len() + N_DRAWN,
            _ => MULTIPLES.len(),
        };
        if self.follow_written(jet) {
            if let BlockEnd::Solved = self.newton(jet, true) {
                return BlockEnd::Solved;
            }
            self.put(jet, &before);
        }
        for attempt in 0..=n_others {
            if attempt > 0 {
                self.put(jet, &before);
                self.guess(jet, attempt);
            }
            match self.newton(jet, attempt == 0) {
                BlockEnd::Solved => return BlockEnd::Solved,
                other => {
                    // A number is more telling than a fault at some other guess.
                    if !matches!(first, Some(BlockEnd::Stalled { .. })) {
                        first = Some(other);
                    }
                }
            }
            if Instant::now() > self.deadline {
                break;
            }
        }
        self.put(jet, &before);
        first.unwrap_or(BlockEnd::Solved)
    }

    /// Gives the columns whose values nobody wrote those that follow from the written ones, row by row; whether there are any.
    ///
    /// A row with one such column is solved for it by one step of Newton's method, rows that are linear in theirs first, since one
    /// step is exact there: of `y = f(v); v = k*y - u` with y written, v is k*y - u, not the v near 0 at which f is steep.
    fn follow_written(&mut self, jet: &mut TaylorJet) -> bool {
        let columns: Vec<Column> = (0..self.block.columns.len())
            .map(|at| self.column(at))
            .collect();
        let mut is_known: Vec<bool> = (columns.iter())
            .map(|column| column.order == 0 && self.is_given[column.unknown])
            .collect();
        let is_value = columns.iter().all(|column| column.order == 0);
        if !is_value || columns.len() > MAX_DRAWN || is_known.iter().all(|known| !known) {
            return false;
        }
        let mut has_followed = false;
        while let Ok(here) = self.evaluate(jet) {
            let mut next: Option<(usize, f64, bool)> = None;
            for row in 0..here.residuals.len() {
                let entries = here.matrix.iter().zip(&here.is_constant);
                let mut open = entries.filter(|((i, j, _), _)| *i == row && !is_known[*j]);
                let (Some((&(_, column, slope), &is_linear)), None) = (open.next(), open.next())
                else {
                    continue;
                };
                let step = here.residuals[row] / slope;
                if step.is_finite() && next.is_none_or(|(.., before)| is_linear && !before) {
                    next = Some((column, step, is_linear));
                }
            }
            let Some((at, step, _)) = next else { break };
            let Column { unknown, order } = columns[at];
            jet.set(unknown, order, jet.get(unknown, order) - step);
            is_known[at] = true;
            has_followed = true;
        }
        has_followed
    }

    /// Solves rows that are linear in the columns of the block, in two steps, the second one a refinement.
    ///
    /// Judged by the backward error alone: what is left of a row against its products. Coefficients of a stiff start grow like
    /// the powers of its fastest rate, and no residual of theirs says anything about the point.
    pub fn solve_linear(&mut self, jet: &mut TaylorJet) -> BlockEnd {
        for _ in 0..2 {
            let here = match self.evaluate(jet) {
                Ok(here) => here,
                Err(fault) => return BlockEnd::Fault(fault),
            };
            if here.residuals.iter().all(|f| *f == 0.0) {
                return BlockEnd::Solved;
            }
            let Some((step, _)) = self.step(jet, &here) else {
                return BlockEnd::Stalled {
                    residual: f64::INFINITY,
                    row: self.block.rows[0],
                };
            };
            for (at, step) in step.iter().enumerate() {
                let Column { unknown, order } = self.column(at);
                jet.set(unknown, order, jet.get(unknown, order) + step);
            }
        }
        let here = match self.evaluate(jet) {
            Ok(here) => here,
            Err(fault) => return BlockEnd::Fault(fault),
        };
        let mut sums = vec![(0.0_f64, 0.0_f64); here.residuals.len()];
        for &(i, j, value) in &here.matrix {
            let Column { unknown, order } = self.column(j);
            let product = value * jet.get(unknown, order);
            sums[i].0 += product;
            sums[i].1 += product.abs();
        }
        let rounding = self.rounding(jet, &here);
        for (at, (f, (sum, size))) in here.residuals.iter().zip(sums).enumerate() {
            let left = f.abs() / (size + (f - sum).abs());
            // A sum without any size is zero, and one of columns that are nothing beside the others of the block is rounding.
            if left > BACKWARD && f.abs() > rounding[at] {
                return BlockEnd::Stalled {
                    residual: left,
                    row: self.block.rows[at],
                };
            }
        }
        BlockEnd::Solved
    }

    /// What an elimination leaves of each row, where a column without a size counts as the largest coefficient of the block, or as 1;
    /// (4a).
    fn rounding(&self, jet: &TaylorJet, here: &Evaluated) -> Vec<f64> {
        let values = self.values_in(jet);
        let largest = values.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
        let part = f64::EPSILON * values.len() as f64;
        let mut rounding = vec![0.0; values.len()];
        for &(i, j, value) in &here.matrix {
            let size = self.nominal[self.column(j).unknown].unwrap_or(largest.min(1.0));
            rounding[i] += part * value.abs() * size.max(values[j].abs());
        }
        rounding
    }

    /// Whether the matrix of the block is singular at a jet and not beside it, where the columns are the highest coefficients.
    /// `at_most` is the part of its usual size below which a pivot is zero.
    pub fn vanishes(&mut self, jet: &TaylorJet, beside: &[TaylorJet], at_most: f64) -> bool {
        let Ok(here) = self.evaluate(jet) else {
            return false;
        };
        let Some((rows, columns)) = self.units(jet, &here) else {
            return true;
        };
        let smallest = |found: &Evaluated| {
            let entries = found.matrix.iter();
            let scaled = entries.map(|&(i, j, value)| (i, j, value / rows[i] * columns[j]));
            smallest_pivot(rows.len(), &scaled.collect::<Vec<_>>())
        };
        let Some(now) = smallest(&here) else {
            return true;
        };
        // It is the same beside the jet.
        if here.is_fixed {
            return false;
        }
        let mut usual: Vec<f64> = Vec::new();
        for beside in beside {
            usual.extend(
                self.evaluate(beside)
                    .ok()
                    .and_then(|found| smallest(&found)),
            );
        }
        median(&mut usual).is_some_and(|usual| now < at_most * usual)
    }

    /// Whether the derivative of a row alone, nothing beside the others of the row, is what its terms cancel to, (4b), and not one in other units.
    fn is_rounding(&mut self, jet: &TaylorJet) -> bool {
        let nominal = self.nominal;
        let beside = beside(jet, |unknown| nominal[unknown].unwrap_or(1.0));
        self.vanishes(jet, &beside, 0.5)
    }

    /// Other values for the columns of the block; those that were written stay for the first guesses.
    fn guess(&mut self, jet: &mut TaylorJet, attempt: usize) {
        let mut state = 0x9E37_79B9_7F4A_7C15_u64.wrapping_mul(attempt as u64);
        let mut random = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        let drawn = attempt > MULTIPLES.len();
        for at in 0..self.block.columns.len() {
            let Column { unknown, order } = self.column(at);
            let (sign, decades) = (random(), random());
            let is_written = order == 0 && self.is_given[unknown];
            let written = jet.get(unknown, 0).abs();
            let size = match self.nominal[unknown] {
                Some(nominal) => nominal,
                None if is_written && written > 0.0 => written,
                None => 1.0,
            };
            let multiple = if !drawn {
                MULTIPLES[attempt - 1]
            } else if sign < 0.5 {
                -(10_f64.powf(6.0 * decades - 3.0))
            } else {
                10_f64.powf(6.0 * decades - 3.0)
            };
            if !is_written || (drawn && attempt.is_multiple_of(2)) {
                jet.set(unknown, order, multiple * size);
            }
        }
    }

    /// How far a step moves a value, in sizes of the unknowns.
    fn length(&self, from: &[f64], step: &[f64]) -> f64 {
        let columns = (0..from.len()).filter(|at| self.column(*at).order == 0);
        columns
            .map(|at| {
                let nominal = self.nominal[self.column(at).unknown].unwrap_or(1.0);
                step[at].abs() / from[at].abs().max(nominal)
            })
            .fold(0.0, f64::max)
    }

    /// Damped steps from the values of the jet.
    ///
    /// With care a long step is taken whole only where the rows are nearly linear along it: otherwise it could jump to another
    /// branch, past the one that the guess belongs to.
    fn newton(&mut self, jet: &mut TaylorJet, with_care: bool) -> BlockEnd {
        let mut n_slow = 0;
        let mut here = match self.evaluate(jet) {
            Ok(here) => here,
            Err(fault) => return BlockEnd::Fault(fault),
        };
        for _ in 0..MAX_NEWTON_STEPS {
            let (worst, row) = self.worst(&here);
            self.is_fold = n_slow >= SLOW_STEPS;
            if worst == 0.0 {
                return BlockEnd::Solved;
            }
            let stalled = if worst <= HOLDS {
                BlockEnd::Solved
            } else {
                BlockEnd::Stalled {
                    residual: worst,
                    row: self.block.rows[row],
                }
            };
            let Some((step, weights)) = self.step(jet, &here) else {
                return stalled;
            };
            let merit = |found: &Evaluated| -> f64 {
                let rows = found.residuals.iter().zip(&weights);
                rows.map(|(f, w)| (f * w).powi(2)).sum::<f64>().sqrt()
            };
            let before = merit(&here);
            let from = self.values_in(jet);
            let mut part = 1.0;
            let length = if with_care {
                self.length(&from, &step)
            } else {
                0.0
            };
            let next = loop {
                let moved = from.iter().zip(&step).map(|(x, step)| x + part * step);
                self.put(jet, &moved.collect::<Vec<f64>>());
                let enough = match part * length > LONG_STEP {
                    true => NEARLY_LINEAR,
                    false => 1.0 - GAIN * part,
                };
                if let Ok(next) = self.evaluate(jet)
                    && merit(&next) <= enough * before
                {
                    let is_slow = part == 1.0 && merit(&next) > SLOW * before;
                    n_slow = if is_slow { n_slow + 1 } else { 0 };
                    break Some(next);
                }
                part *= 0.5;
                // Where rows hold to rounding, parts of a step gain nothing but noise.
                if part < SHORTEST_PART || worst <= HOLDS {
                    break None;
                }
            };
            match next {
                Some(next) => here = next,
                None => {
                    self.put(jet, &from);
                    return stalled;
                }
            }
            if Instant::now() > self.deadline {
                return stalled;
            }
        }
        let (residual, row) = self.worst(&here);
        match residual <= HOLDS {
            true => BlockEnd::Solved,
            false => BlockEnd::Stalled {
                residual,
                row: self.block.rows[row],
            },
        }
    }

    /// Newton's step for the columns of the block, and what the rows are multiplied with when steps are judged; `None`
    /// where the matrix is singular.
    fn step(&mut self, jet: &TaylorJet, here: &Evaluated) -> Option<(Vec<f64>, Vec<f64>)> {
        let n = self.block.rows.len();
        if here.may_be_rounding && self.is_rounding(jet) {
            return None;
        }
        if n == 1 {
            let slope: f64 = here.matrix.iter().map(|entry| entry.2).sum();
            let step = -here.residuals[0] / slope;
            return step
                .is_finite()
                .then(|| (vec![step], vec![1.0 / here.residuals[0].abs()]));
        }
        let (rows, columns) = self.units(jet, here)?;
        let weights: Vec<f64> = rows.iter().map(|size| 1.0 / size).collect();
        let right: Vec<f64> = here
            .residuals
            .iter()
            .zip(&weights)
            .map(|(f, w)| -f * w)
            .collect();
        let entries = here.matrix.iter();
        let scaled: Vec<(usize, usize, f64)> = entries
            .map(|&(i, j, value)| (i, j, value * weights[i] * columns[j]))
            .collect();
        let mut step = solved(n, &scaled, right)?;
        for (step, column) in step.iter_mut().zip(&columns) {
            *step *= column;
        }
        Some((step, weights))
    }

    /// Sizes of the rows and units of the columns that make the largest entries of the matrix 1; `None` where a row is zero.
    fn units(&self, jet: &TaylorJet, here: &Evaluated) -> Option<(Vec<f64>, Vec<f64>)> {
        let n = self.block.rows.len();
        let mut columns: Vec<f64> = (0..n)
            .map(|at| {
                let Column { unknown, order } = self.column(at);
                let size = jet.get(unknown, order).abs();
                size.max(self.nominal[unknown].unwrap_or(0.0))
            })
            .collect();
        for size in &mut columns {
            if *size == 0.0 {
                *size = 1.0;
            }
        }
        let mut rows = vec![0.0_f64; n];
        // Rows by their largest entry, then columns, then rows again.
        for _ in 0..2 {
            rows.fill(0.0);
            for &(i, j, value) in &here.matrix {
                rows[i] = rows[i].max((value * columns[j]).abs());
            }
            if rows.iter().any(|size| !(*size > 0.0 && size.is_finite())) {
                return None;
            }
            let mut largest = vec![0.0_f64; n];
            for &(i, j, value) in &here.matrix {
                largest[j] = largest[j].max((value * columns[j] / rows[i]).abs());
            }
            for (column, largest) in columns.iter_mut().zip(largest) {
                *column /= if largest > 0.0 { largest } else { 1.0 };
            }
        }
        Some((rows, columns))
    }
}

/// The smallest pivot of a scaled matrix; `None` where there is none.
fn smallest_pivot(n: usize, entries: &[(usize, usize, f64)]) -> Option<f64> {
    if n > DENSE_BLOCK {
        let matrix = CscMat::from_triplets(n, n, entries).ok()?;
        let mut lu = SparseLu::new(&matrix).ok()?;
        lu.factor(&matrix).ok()?;
        return lu.smallest_pivot().ok();
    }
    let mut matrix = Mat::zeros(n, n);
    for &(i, j, value) in entries {
        matrix[(i, j)] += value;
    }
    let mut lu = Lu::with_capacity(n);
    lu.factor(matrix.view()).ok()?;
    lu.smallest_pivot().ok()
}

/// The solution of a scaled system; `None` where it is singular.
pub(super) fn solved(
    n: usize,
    entries: &[(usize, usize, f64)],
    mut right: Vec<f64>,
) -> Option<Vec<f64>> {
    if n > DENSE_BLOCK {
        let matrix = CscMat::from_triplets(n, n, entries).ok()?;
        let mut lu = SparseLu::new(&matrix).ok()?;
        lu.factor(&matrix).ok()?;
        lu.solve_unchecked(&mut right).ok()?;
        return right.iter().all(|x| x.is_finite()).then_some(right);
    }
    let mut matrix = Mat::zeros(n, n);
    for &(i, j, value) in entries {
        matrix[(i, j)] += value;
    }
    let mut lu = Lu::with_capacity(n);
    lu.factor(matrix.view()).ok()?;
    // A warning about accuracy is no failure as long as there is a step.
    let _ = lu.solve(&mut right);
    right.iter().all(|x| x.is_finite()).then_some(right)
}

/// Jets a hundredth beside one, on no constraints; `size` is what a value counts at least.
pub(super) fn beside(jet: &TaylorJet, size: impl Fn(usize) -> f64) -> Vec<TaylorJet> {
    let moved = |which: usize| {
        let mut beside = jet.clone();
        for order in 0..jet.n_orders() {
            for unknown in 0..jet.n_unknowns() {
                let value = jet.get(unknown, order);
                let floor = if order == 0 { size(unknown) } else { 0.0 };
                let direction = [0.7, -1.0, 0.4][(unknown + order + which) % 3];
                let step = BESIDE * value.abs().max(floor) * direction;
                beside.set(unknown, order, value + step);
            }
        }
        beside
    };
    (0..3).map(moved).collect()
}

fn median(sizes: &mut [f64]) -> Option<f64> {
    let middle = sizes.len() / 2;
    if sizes.is_empty() {
        return None;
    }
    Some(*sizes.select_nth_unstable_by(middle, f64::total_cmp).1)
}
