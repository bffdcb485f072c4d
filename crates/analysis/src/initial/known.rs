//! Whether the values of a point are known: what the rounding of the rows makes of them; section 2c of
//! `docs/theory/initial.md`.

use super::array::{ArrayFault, Column, Selection};
use super::block::solved;
use super::jet::TaylorJet;
use super::order::{RowBlock, SolveOrder};
use super::rows::{Entry, RowValues};
use crate::tolerances::BESIDE;
use daelight_expr::FastMap;

/// What an order of the rows says of a point.
pub(super) enum Known<'o> {
    /// Rounding moves no value far.
    Yes,
    /// Rounding decides the values of a block.
    No(&'o RowBlock),
    /// A block determines nothing here, so that this order says nothing.
    Singular(&'o RowBlock),
}

/// The rows of a block at a jet.
struct Rows {
    residuals: Vec<f64>,
    /// What rounding makes of each row, what is left of it included.
    rounding: Vec<f64>,
    /// Row and column in the block, and derivative.
    inside: Vec<(usize, usize, f64)>,
    /// Row in the block, unknown and order outside of it, and derivative.
    outside: Vec<(usize, (usize, usize), f64)>,
    /// Whether the derivatives inside follow from parameters alone.
    is_linear: bool,
}

/// Errors by unknown and order.
type ErrorsOf = FastMap<(usize, usize), f64>;

impl Rows {
    /// What the errors of columns outside make of each row.
    fn inherited(&self, errors: &ErrorsOf) -> Vec<f64> {
        let mut inherited = vec![0.0; self.residuals.len()];
        for (at, key, value) in &self.outside {
            if let Some(error) = errors.get(key) {
                inherited[*at] += value * error;
            }
        }
        inherited
    }

    /// The largest term of each row, with columns of these sizes.
    fn largest(&self, sizes: &[f64]) -> Vec<f64> {
        let mut largest = vec![0.0_f64; self.residuals.len()];
        for &(i, j, value) in &self.inside {
            largest[i] = largest[i].max((value * sizes[j]).abs());
        }
        largest
    }
}

/// Errors of the columns of a selection, found block by block.
pub(super) struct Errors<'s> {
    pub values: &'s mut RowValues,
    pub base: &'s Selection,
    /// Sizes of the unknowns.
    pub nominal: &'s [f64],
}

impl Errors<'_> {
    /// Asks with two patterns of signs: rounding has no sign, and one of them may cancel.
    pub fn judge<'o>(
        &mut self,
        order: &'o SolveOrder,
        jet: &TaylorJet,
    ) -> Result<Known<'o>, ArrayFault> {
        let mut both: [ErrorsOf; 2] = Default::default();
        for block in &order.blocks {
            let here = self.evaluate(block, jet)?;
            for (errors, period) in both.iter_mut().zip([1, 2]) {
                let Some(moved) = self.moved(block, jet, &here, errors, period)? else {
                    return Ok(Known::Singular(block));
                };
                let is_far = block.columns.iter().zip(&moved).any(|(&at, error)| {
                    let Column { unknown, order } = self.base.columns[at];
                    let size = jet.get(unknown, order).abs().max(self.nominal[unknown]);
                    error.abs() > BESIDE * size
                });
                if is_far && !self.is_linear(block, jet, &here, errors)? {
                    return Ok(Known::No(block));
                }
                for (&at, error) in block.columns.iter().zip(moved) {
                    let Column { unknown, order } = self.base.columns[at];
                    errors.insert((unknown, order), error);
                }
            }
        }
        Ok(Known::Yes)
    }

    /// Whether a block answers errors before it alike where they have moved it. Then it is badly conditioned and no more, and a solution
    /// exists, which twice the digits find; else what is divided by is itself rounding.
    fn is_linear(
        &mut self,
        block: &RowBlock,
        jet: &TaylorJet,
        here: &Rows,
        errors: &ErrorsOf,
    ) -> Result<bool, ArrayFault> {
        let mut moved = jet.clone();
        for (&(unknown, order), error) in errors {
            moved.set(unknown, order, jet.get(unknown, order) + error);
        }
        let Ok(there) = self.evaluate(block, &moved) else {
            return Ok(false);
        };
        let answer = |rows: &Rows| {
            let inherited = rows.inherited(errors);
            let change = inherited.iter().zip(&here.rounding);
            let change = change.map(|(inherited, own)| inherited + own.copysign(*inherited));
            self.solve(block, jet, rows, change.collect())
        };
        let (Some(here), Some(there)) = (answer(here), answer(&there)) else {
            return Ok(false);
        };
        let largest = here.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
        let mut both = here.iter().zip(&there);
        Ok(both.all(|(a, b)| (a - b).abs() <= BESIDE * largest))
    }

    /// How far rounding moves the columns of a block, given how far it moved those before; `None` where they are not determined.
    fn moved(
        &mut self,
        block: &RowBlock,
        jet: &TaylorJet,
        here: &Rows,
        errors: &ErrorsOf,
        period: usize,
    ) -> Result<Option<Vec<f64>>, ArrayFault> {
        let inherited = here.inherited(errors);
        let is_still = |v: &f64| *v == 0.0;
        if here.rounding.iter().all(is_still) && inherited.iter().all(is_still) {
            return Ok(Some(vec![0.0; block.columns.len()]));
        }
        let own = here.rounding.iter().enumerate();
        let own = own.map(
            |(at, size)| match (at + block.rows[0]) % (2 * period) < period {
                true => *size,
                false => -size,
            },
        );
        let Some(mut own) = self.solve(block, jet, here, own.collect()) else {
            return Ok(None);
        };
        // Rows that are linear in their columns answer as the step says.
        if !here.is_linear {
            self.shorten(block, jet, here, &mut own)?;
        }
        let inherited = inherited.iter().map(|change| -change).collect();
        let Some(inherited) = self.solve(block, jet, here, inherited) else {
            return Ok(None);
        };
        // Rounding has no sign: it joins what was inherited.
        let joined = own
            .iter()
            .zip(inherited)
            .map(|(own, inherited)| match inherited {
                0.0 => *own,
                _ => inherited + own.abs().copysign(inherited),
            });
        Ok(Some(joined.collect()))
    }

    /// At a fold the linear step is longer than what rounding allows: the rows tell how far it is.
    fn shorten(
        &mut self,
        block: &RowBlock,
        jet: &TaylorJet,
        here: &Rows,
        step: &mut [f64],
    ) -> Result<(), ArrayFault> {
        // Where all is at rest rows have no rounding at all, and the rounding of rounding is nothing: of v^2 = 0 at v = 0.
        let largest = here.largest(&self.sizes(block, jet)).into_iter();
        let allowed = largest.zip(&here.rounding);
        let allowed = allowed.map(|(size, own)| 4.0 * (own + f64::EPSILON.powi(2) * size));
        let allowed: Vec<f64> = allowed.collect();
        let mut beside = jet.clone();
        loop {
            let mut is_moved = false;
            for (&at, step) in block.columns.iter().zip(step.iter()) {
                let Column { unknown, order } = self.base.columns[at];
                let value = jet.get(unknown, order);
                beside.set(unknown, order, value + step);
                is_moved |= value + step != value;
            }
            if !is_moved {
                return Ok(());
            }
            // Where an expression has no value the step is too long as well.
            if let Ok(there) = self.evaluate(block, &beside) {
                let mut rows = there.residuals.iter().zip(&allowed);
                if rows.all(|(f, allowed)| f.abs() <= *allowed) {
                    return Ok(());
                }
            }
            step.iter_mut().for_each(|step| *step *= 0.5);
        }
    }

    /// Sizes of the columns of a block.
    fn sizes(&self, block: &RowBlock, jet: &TaylorJet) -> Vec<f64> {
        let size = |&at: &usize| {
            let Column { unknown, order } = self.base.columns[at];
            match jet.get(unknown, order).abs() {
                0.0 => self.nominal[unknown],
                size => size,
            }
        };
        block.columns.iter().map(size).collect()
    }

    fn solve(
        &self,
        block: &RowBlock,
        jet: &TaylorJet,
        here: &Rows,
        mut right: Vec<f64>,
    ) -> Option<Vec<f64>> {
        let n = block.rows.len();
        let sizes = self.sizes(block, jet);
        let largest = here.largest(&sizes);
        if largest
            .iter()
            .any(|size| !(*size > 0.0 && size.is_finite()))
        {
            return None;
        }
        let entries = here.inside.iter();
        let scaled: Vec<(usize, usize, f64)> = entries
            .map(|&(i, j, value)| (i, j, value * sizes[j] / largest[i]))
            .collect();
        right
            .iter_mut()
            .zip(&largest)
            .for_each(|(f, size)| *f /= size);
        let step = solved(n, &scaled, right)?;
        Some(
            step.iter()
                .zip(&sizes)
                .map(|(step, size)| step * size)
                .collect(),
        )
    }

    fn evaluate(&mut self, block: &RowBlock, jet: &TaylorJet) -> Result<Rows, ArrayFault> {
        let places: FastMap<(usize, usize), usize> = (block.columns.iter().enumerate())
            .map(|(place, &at)| {
                let Column { unknown, order } = self.base.columns[at];
                ((unknown, order), place)
            })
            .collect();
        let n = block.rows.len();
        let mut found = Rows {
            residuals: vec![0.0; n],
            rounding: vec![0.0; n],
            inside: Vec::new(),
            outside: Vec::new(),
            is_linear: true,
        };
        let mut entries: Vec<Entry> = Vec::new();
        for (at, &row) in block.rows.iter().enumerate() {
            let residual = self
                .values
                .evaluate(&self.base.rows[row], jet, &mut entries)?;
            found.residuals[at] = residual;
            found.rounding[at] = residual.abs();
            for entry in &entries {
                let key = (entry.unknown, entry.order);
                let term = entry.value * jet.get(entry.unknown, entry.order);
                found.rounding[at] += f64::EPSILON * term.abs();
                match places.get(&key) {
                    Some(&place) => {
                        found.inside.push((at, place, entry.value));
                        found.is_linear &= entry.is_constant;
                    }
                    None => found.outside.push((at, key, entry.value)),
                }
            }
        }
        Ok(found)
    }
}
