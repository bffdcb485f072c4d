//! The stages up to 0: a point is moved onto all constraints, written and hidden.

use super::{ROUNDING, SETTLED, Stages};
use crate::outcome::Failure;
use crate::tolerances::{KEPT_BY_ROUNDING, TRANSMITTED};
use daelight_expr::JetEvaluator;

/// Rounds of Newton's method in one stage before it is given up.
pub(crate) const MAX_ROUNDS: usize = 8;

/// A residual this many times above rounding is no rounding, whatever became of the sizes since the last point.
pub(crate) const FAR_OFF: f64 = 1e3;

/// A relative correction above this makes the system Jacobian be evaluated again.
const STALE: f64 = 1e-2;

/// Whether a scaled residual above the mark may be kept there by rounding.
#[inline(always)]
pub(crate) fn is_rounding(residual: f64) -> bool {
    residual < KEPT_BY_ROUNDING
}

/// What a projection found.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Projected {
    /// The first correction of the states, relative to their sizes: an estimate of the local error.
    pub state_change: f64,
    /// The first correction of algebraic unknowns: what errors of the states do to them.
    pub algebraic_change: f64,
    /// The first correction of everything, the highest derivatives and algebraic unknowns included.
    pub change: f64,
    /// The greatest part of a first correction that the second one was, where it is no rounding: how far the system Jacobian is off.
    pub contraction: f64,
    /// The greatest scaled residual that is left, (10).
    pub residual: f64,
}

impl Projected {
    /// Whether coefficients from the system Jacobian of the predicted point would not be as good as the tolerance asks, (5b).
    pub fn needs_new_jacobian(&self, rtol: f64) -> bool {
        self.state_change > rtol || self.contraction > TRANSMITTED * rtol
    }
}

/// The part of a first correction that a second one is, unless it is rounding.
#[inline(always)]
pub(crate) fn contraction(first: f64, second: f64) -> f64 {
    // The equations are summed up with some hundred roundings.
    match second > 1024.0 * f64::EPSILON {
        true => second / first,
        false => 0.0,
    }
}

impl Stages<'_> {
    /// Evaluates the point as it is, without moving it: the entries of the system Jacobian, and the scaled residuals of all
    /// levels into `levels`.
    pub fn inspect(&mut self) -> Result<&[f64], Failure> {
        self.evaluate()?;
        self.levels.fill(0.0);
        for stage in 0..self.scalings.len() {
            self.residual(stage)?;
            for (level, found) in self.levels.iter_mut().zip(&self.found) {
                *level = level.max(*found);
            }
        }
        Ok(&self.entries)
    }

    /// Evaluates stage k at the point, and fills the right-hand side of (3). Gives the scaled residual (10).
    pub(super) fn residual(&mut self, stage: usize) -> Result<f64, Failure> {
        self.evaluate_stage(stage)?;
        Ok(self.scaled_residual(stage))
    }

    /// Evaluates stage k at the point, and fills the right-hand side of (3).
    pub(super) fn evaluate_stage(&mut self, stage: usize) -> Result<(), Failure> {
        self.stage_residuals(self.scalings[stage].stage)?;
        self.statistics.residuals += 1;
        for row in &self.scalings[stage].rows {
            self.right[row.equation] *= -row.factor;
        }
        Ok(())
    }

    /// The sizes of all rows of a stage at the point; the solution is not needed.
    pub(super) fn size_rows(&mut self, stage: usize) {
        let scaling = &mut self.scalings[stage];
        let coefficients = self.jet.inputs().rows();
        for column in &scaling.columns {
            self.solution[column.unknown] =
                column.nominal + column.factor * coefficients[column.place].abs();
        }
        for row in &mut scaling.rows {
            let pattern = &self.rows[row.equation];
            let entries = self.entries[pattern.first..].iter();
            let sizes = pattern.unknowns.iter().zip(entries);
            row.size = sizes
                .map(|(&j, entry)| entry.abs() * self.solution[j as usize])
                .sum();
        }
    }

    /// How far the states are from those of another point, relative to their sizes.
    pub fn states_moved(&self, from: &[f64]) -> f64 {
        let rows = self.jet.inputs().rows();
        let states = self.scalings.iter().filter(|scaling| scaling.stage < 0);
        let columns = states.flat_map(|scaling| &scaling.columns);
        let moved = columns.map(|column| {
            let change = column.factor * (rows[column.place] - from[column.place]).abs();
            change / (column.factor * rows[column.place].abs() + column.nominal)
        });
        moved.fold(0.0, f64::max)
    }

    /// Evaluates what branches compare at the point as it is, as far as the equations have values there.
    pub fn compare(&mut self) {
        for stage in 0..self.scalings.len() {
            if self.evaluate_stage(stage).is_err() {
                return;
            }
        }
    }

    /// Whether a residual of stage k is far above rounding, by the sizes of the point before: then it need not be scaled.
    fn is_off(&self, stage: usize) -> bool {
        let rows = &self.scalings[stage].rows;
        rows.iter().any(|row| {
            let right = self.right[row.equation].abs();
            right > FAR_OFF * ROUNDING * row.size && row.size > 0.0 && right < f64::INFINITY
        })
    }

    /// The right-hand side against the sizes that rows last had; infinite where a row without a size is off.
    pub(super) fn against_sizes(&self, stage: usize) -> f64 {
        let rows = self.scalings[stage].rows.iter();
        let off = rows.filter(|row| self.right[row.equation] != 0.0);
        let worst = off.map(|row| self.right[row.equation].abs() / row.size);
        worst.fold(0.0, |most, off| {
            if off.is_nan() {
                f64::INFINITY
            } else {
                most.max(off)
            }
        })
    }

    /// The scaled residual (10) of the right-hand side.
    fn scaled_residual(&mut self, stage: usize) -> f64 {
        let scaling = &mut self.scalings[stage];
        // The sizes x_j^(k + d_j), nominal ones included; the solution is not needed yet.
        let coefficients = self.jet.inputs().rows();
        for column in &scaling.columns {
            self.solution[column.unknown] =
                column.nominal + column.factor * coefficients[column.place].abs();
        }
        let mut worst = 0.0f64;
        self.found.fill(0.0);
        for row in &mut scaling.rows {
            let right = self.right[row.equation];
            if right != 0.0 {
                // Rows that have begun hold only unknowns that have begun.
                let pattern = &self.rows[row.equation];
                let entries = &self.entries[pattern.first..];
                let size: f64 = pattern
                    .unknowns
                    .iter()
                    .zip(entries)
                    .map(|(&j, entry)| entry.abs() * self.solution[j as usize])
                    .sum();
                row.size = size;
                let scaled = right.abs() / size;
                worst = worst.max(scaled);
                self.found[row.level] = self.found[row.level].max(scaled);
            }
        }
        // A row without any size cannot be judged, and a fault would have been an error.
        if worst.is_nan() { f64::INFINITY } else { worst }
    }

    /// Adds the solution of stage k to the point; gives the greatest relative change, and that of values alone.
    pub(super) fn update(&mut self, stage: usize) -> (f64, f64) {
        let scaling = &self.scalings[stage];
        let (mut change, mut of_values) = (0.0f64, 0.0f64);
        let coefficients = self.jet.inputs_mut().rows_mut();
        for column in &scaling.columns {
            let delta = self.solution[column.unknown];
            let coefficient = &mut coefficients[column.place];
            *coefficient += delta / column.factor;
            let size = column.factor * coefficient.abs() + column.nominal;
            change = change.max(delta.abs() / size);
            if column.order == 0 {
                of_values = of_values.max(delta.abs() / size);
            }
        }
        (change, of_values)
    }

    /// Projects the point onto all constraints, written and hidden: stages up to 0 with one factorisation, (4).
    ///
    /// The system Jacobian must have been factored at the point or near it. With `refresh` it is evaluated again
    /// after each large correction, for points that are far off.
    pub fn project(&mut self, refresh: bool) -> Result<Projected, Failure> {
        let mut projected = Projected::default();
        self.levels.fill(0.0);
        for stage in 0..self.scalings.len() {
            let mut change = f64::INFINITY;
            let mut before = f64::INFINITY;
            for round in 0.. {
                self.evaluate_stage(stage)?;
                // A predicted point is never as good as rounding; what it is then is of no use to anybody.
                let residual = if round == 0 && self.is_off(stage) {
                    f64::INFINITY
                } else {
                    self.scaled_residual(stage)
                };
                let settled = residual <= ROUNDING || change <= SETTLED;
                // Rounding may keep the residual above the mark; it must not grow then.
                let stuck = round > 1 && residual >= before && is_rounding(residual);
                if settled || stuck {
                    projected.residual = projected.residual.max(residual);
                    for (level, found) in self.levels.iter_mut().zip(&self.found) {
                        *level = level.max(*found);
                    }
                    break;
                }
                if round == MAX_ROUNDS || (round > 2 && residual > 2.0 * before) {
                    return Err(Failure::NoConvergence {
                        stage: self.scalings[stage].stage,
                        residual,
                    });
                }
                before = residual;
                self.solver.solve(&self.right, &mut self.solution)?;
                let first = change;
                let of_values;
                (change, of_values) = self.update(stage);
                if round == 1 {
                    let found = contraction(first, change);
                    projected.contraction = projected.contraction.max(found);
                }
                if round == 0 {
                    projected.change = projected.change.max(change);
                    if self.scalings[stage].stage < 0 {
                        projected.state_change = projected.state_change.max(change);
                    } else {
                        projected.algebraic_change = of_values;
                    }
                }
                if !change.is_finite() {
                    return Err(Failure::NoConvergence {
                        stage: self.scalings[stage].stage,
                        residual,
                    });
                }
                if refresh && change > STALE {
                    self.factor()?;
                }
            }
        }
        Ok(projected)
    }
}
