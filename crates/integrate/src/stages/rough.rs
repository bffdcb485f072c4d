//! The stages up to 0 from a rough guess, for the start of a run.

use super::scaling::ScaledColumn;
use super::{ROUNDING, SETTLED, Stages};
use crate::outcome::Failure;
use daelight_linalg::{GapRule, LinalgError, Mat, Qr};

/// Up to this many unknowns the start moves as little as possible, by a full orthogonal factorisation.
const MAX_LEAST_LENGTH: usize = 60;

/// Rounds of the damped method at the start, per stage.
const MAX_START_ROUNDS: usize = 50;

/// Halvings of one step at the start.
const MAX_HALVINGS: usize = 20;

impl Stages<'_> {
    /// Solves the stages up to 0 from a rough guess: damped, each step of least length, the Jacobian always fresh.
    ///
    /// `fixed` says which x_j^(s) must not move. Beyond [`MAX_LEAST_LENGTH`] unknowns the step is that of (4).
    pub fn project_start(&mut self, fixed: impl Fn(usize, usize) -> bool) -> Result<(), Failure> {
        for stage in 0..self.scalings.len() {
            let mut change = f64::INFINITY;
            for round in 0.. {
                self.factor()?;
                let residual = self.residual(stage)?;
                if residual <= ROUNDING || (change <= SETTLED && residual < 1e-11) {
                    break;
                }
                if round == MAX_START_ROUNDS {
                    return Err(Failure::NoConvergence {
                        stage: self.scalings[stage].stage,
                        residual,
                    });
                }
                if self.n <= MAX_LEAST_LENGTH {
                    self.shortest_step(stage, &fixed)?;
                } else {
                    self.solver.solve(&self.right, &mut self.solution)?;
                }
                change = self.damped_update(stage, residual)?;
            }
        }
        self.factor()?;
        self.project(true)?;
        self.factor()
    }

    /// The shortest step that solves the linearised stage with the free unknowns, into the solution.
    fn shortest_step(
        &mut self,
        stage: usize,
        fixed: &impl Fn(usize, usize) -> bool,
    ) -> Result<(), LinalgError> {
        let scaling = &self.scalings[stage];
        let rows: Vec<usize> = scaling.rows.iter().map(|row| row.equation).collect();
        let free = |column: &&ScaledColumn| !fixed(column.order, column.unknown);
        let columns = scaling.columns.iter().filter(free);
        let columns: Vec<usize> = columns.map(|column| column.unknown).collect();
        let mut matrix = Mat::zeros(rows.len(), columns.len());
        for (row, &i) in rows.iter().enumerate() {
            for (&j, entry) in self.rows[i].unknowns.iter().zip(self.rows[i].first..) {
                if let Ok(column) = columns.binary_search(&(j as usize)) {
                    matrix.view_mut().set(row, column, self.entries[entry]);
                }
            }
        }
        let right: Vec<f64> = rows.iter().map(|&i| self.right[i]).collect();
        let mut step = vec![0.0; columns.len()];
        self.solution.fill(0.0);
        if !columns.is_empty() {
            let mut qr = Qr::new();
            qr.factor(matrix.view())?;
            let rule = GapRule::new(rows.len(), columns.len(), matrix.view().norm_frobenius());
            let rank = qr.rank(&rule).decided();
            qr.least_squares(
                rank.unwrap_or(rows.len().min(columns.len())),
                &right,
                &mut step,
            )?;
        }
        for (&j, x) in columns.iter().zip(step) {
            self.solution[j] = x;
        }
        Ok(())
    }

    /// Takes the largest of the steps 1, 1/2, ... times the solution that lessens the residual; gives its size.
    fn damped_update(&mut self, stage: usize, before: f64) -> Result<f64, Failure> {
        let step = self.solution.clone();
        let mut taken = 1.0;
        let add = |stages: &mut Self, factor: f64| {
            for (place, x) in stages.solution.iter_mut().zip(&step) {
                *place = factor * x;
            }
            stages.update(stage).0
        };
        let change = add(self, 1.0);
        // Close to rounding the residual no longer says anything.
        if change <= 1e-6 {
            return Ok(change);
        }
        for _ in 0..MAX_HALVINGS {
            match self.residual(stage) {
                Ok(residual) if residual < before => return Ok(taken * change),
                Ok(_) | Err(Failure::Fault(_)) => {}
                Err(failure) => return Err(failure),
            }
            add(self, -0.5 * taken);
            taken *= 0.5;
        }
        Err(Failure::NoConvergence {
            stage: self.scalings[stage].stage,
            residual: before,
        })
    }
}
