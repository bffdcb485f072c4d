//! The stages up to 0 from a rough guess, for the start of a run.

use super::scaling::ScaledColumn;
use super::{ROUNDING, SETTLED, Stages};
use crate::outcome::Failure;
use crate::tolerances::{KEPT_BY_ROUNDING, MAX_RESIDUAL};
use daelight_linalg::{GapRule, LinalgError, Mat, Qr};

/// Up to this many unknowns the start moves as little as possible, by a full orthogonal factorisation.
pub(crate) const MAX_LEAST_LENGTH: usize = 60;

/// Rounds of the damped method at the start, per stage.
const MAX_START_ROUNDS: usize = 50;

/// Halvings of one step at the start.
const MAX_HALVINGS: usize = 20;

/// Room for the shortest steps of stages.
#[derive(Debug, Default)]
pub(super) struct Shortest {
    columns: Vec<usize>,
    matrix: Mat,
    right: Vec<f64>,
    step: Vec<f64>,
    qr: Qr,
}

impl Stages<'_> {
    /// Solves the stages up to 0 from a rough guess: damped, each step of least length, the Jacobian always fresh.
    ///
    /// `fixed` says which x_j^(s) must not move. Beyond [`MAX_LEAST_LENGTH`] unknowns the step is that of (4).
    pub fn project_start(&mut self, fixed: impl Fn(usize, usize) -> bool) -> Result<(), Failure> {
        for stage in 0..self.scalings.len() {
            let mut change = f64::INFINITY;
            let mut is_solved = false;
            for round in 0.. {
                self.factor()?;
                let residual = self.residual(stage)?;
                // Behind a small step that solves every row the next one is its square: what is left is rounding of the terms, as of a
                // voltage divided by a small resistance. A row that is not solved must hold by itself.
                let least = if is_solved { SETTLED } else { KEPT_BY_ROUNDING };
                if residual <= ROUNDING || (change <= SETTLED && residual < least) {
                    break;
                }
                if round == MAX_START_ROUNDS {
                    return Err(Failure::NoConvergence {
                        stage: self.scalings[stage].stage,
                        residual,
                    });
                }
                if self.n <= MAX_LEAST_LENGTH {
                    is_solved = self.shortest_step(stage, &fixed)?;
                } else {
                    self.solver.solve(&self.right, &mut self.solution)?;
                    is_solved = true;
                }
                change = self.damped_update(stage, residual)?;
            }
        }
        self.factor()?;
        self.project(true)?;
        self.factor()
    }

    /// Solves the stages up to 0 from a guess that leads straight to one solution; false where it may not be the only one near it.
    ///
    /// Every stage has as many free unknowns as rows, of full rank, and each of Newton's undamped steps is at most half the one
    /// before it: section 1 of `docs/theory/ensembles.md`.
    pub fn project_straight(
        &mut self,
        fixed: impl Fn(usize, usize) -> bool,
    ) -> Result<bool, Failure> {
        self.evaluate()?;
        for stage in 0..self.scalings.len() {
            let scaling = &self.scalings[stage];
            let free = |column: &&ScaledColumn| !fixed(column.order, column.unknown);
            if scaling.columns.iter().filter(free).count() != scaling.rows.len() {
                return Ok(false);
            }
            let mut change = f64::INFINITY;
            loop {
                let residual = self.residual(stage)?;
                if residual <= ROUNDING || (change <= SETTLED && residual < SETTLED) {
                    break;
                }
                let before = change;
                if !self.shortest_step(stage, &fixed)? {
                    return Ok(false);
                }
                change = self.update(stage).0;
                if change.is_nan() || change >= 0.5 * before {
                    return Ok(false);
                }
                self.evaluate()?;
            }
        }
        self.factor()?;
        let projected = self.project(false)?;
        self.factor()?;
        Ok(projected.residual <= MAX_RESIDUAL)
    }

    /// The shortest step that solves the linearised stage with the free unknowns, into the solution; whether it solves every row.
    fn shortest_step(
        &mut self,
        stage: usize,
        fixed: &impl Fn(usize, usize) -> bool,
    ) -> Result<bool, LinalgError> {
        let mut room = std::mem::take(&mut self.shortest);
        let is_solved = self.shortest_step_in(stage, fixed, &mut room);
        self.shortest = room;
        is_solved
    }

    fn shortest_step_in(
        &mut self,
        stage: usize,
        fixed: &impl Fn(usize, usize) -> bool,
        room: &mut Shortest,
    ) -> Result<bool, LinalgError> {
        let Shortest {
            columns,
            matrix,
            right,
            step,
            qr,
        } = room;
        let scaling = &self.scalings[stage];
        let rows = &scaling.rows;
        let free = |column: &&ScaledColumn| !fixed(column.order, column.unknown);
        columns.clear();
        columns.extend((scaling.columns.iter().filter(free)).map(|column| column.unknown));
        matrix.reset(rows.len(), columns.len());
        right.clear();
        for (row, scaled) in rows.iter().enumerate() {
            let pattern = &self.rows[scaled.equation];
            for (&j, entry) in pattern.unknowns.iter().zip(pattern.first..) {
                if let Ok(column) = columns.binary_search(&(j as usize)) {
                    matrix[(row, column)] = self.entries[entry];
                }
            }
            right.push(self.right[scaled.equation]);
        }
        // The step is the same for rows of any size; their rank is clear where all have one.
        for (row, right) in right.iter_mut().enumerate() {
            let entries = (0..columns.len()).map(|column| matrix[(row, column)].abs());
            let greatest = entries.fold(0.0, f64::max);
            if greatest > 0.0 {
                *right /= greatest;
                for column in 0..columns.len() {
                    matrix[(row, column)] /= greatest;
                }
            }
        }
        let mut is_solved = rows.is_empty();
        step.clear();
        step.resize(columns.len(), 0.0);
        self.solution.fill(0.0);
        if !columns.is_empty() {
            qr.factor(matrix.view())?;
            let rule = GapRule::new(rows.len(), columns.len(), matrix.view().norm_frobenius());
            let most = rows.len().min(columns.len());
            let rank = qr.rank(&rule).decided().unwrap_or(most);
            is_solved = rank == rows.len();
            qr.least_squares(rank, right, step)?;
        }
        for (&j, x) in columns.iter().zip(&*step) {
            self.solution[j] = *x;
        }
        Ok(is_solved)
    }

    /// Takes the largest of the steps 1, 1/2, ... times the solution that lessens the residual; gives its size.
    fn damped_update(&mut self, stage: usize, before: f64) -> Result<f64, Failure> {
        let step = self.solution.clone();
        self.size_rows(stage);
        let mut taken = 1.0;
        let add = |stages: &mut Self, factor: f64| {
            for (place, x) in stages.solution.iter_mut().zip(&step) {
                *place = factor * x;
            }
            stages.update(stage).0
        };
        let change = add(self, 1.0);
        // Where the next step, its square, is close to rounding the residual no longer says anything.
        if change * change <= 4096.0 * f64::EPSILON {
            return Ok(change);
        }
        for _ in 0..MAX_HALVINGS {
            // By the sizes before the step: those behind it may shrink with the unknowns.
            match self.evaluate_stage(stage) {
                Ok(()) if self.against_sizes(stage) < before => return Ok(taken * change),
                Ok(()) | Err(Failure::Fault(_)) => {}
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
