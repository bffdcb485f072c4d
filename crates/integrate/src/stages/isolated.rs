//! Whether other solutions go through a singular point, (14) of `docs/theory/integration.md`.

use super::{Stages, evaluate_jacobian};
use crate::bordered::{Bordered, CURVED};
use daelight_expr::JetEvaluator;
use daelight_linalg::Mat;

/// Up to this many unknowns solutions beside a singular point are looked for.
const MAX_SEARCHED: usize = 200;

impl Stages<'_> {
    /// Whether the point, at which the system Jacobian is singular, is an isolated solution of stage 0, (14).
    ///
    /// Then it is a multiple one, and other solutions go through it. The entries last factored must be those of a
    /// regular point beside it: they give the sizes of the rows. `None` without an answer.
    pub fn is_isolated(&mut self) -> Option<bool> {
        let n = self.n;
        if n == 0 || n > MAX_SEARCHED {
            return None;
        }
        let time = self.jet.inputs().time();
        let n_coefficients = (self.problem.max_unknown_offset() + 1) * n;
        let point = self.jet.inputs().rows()[..n_coefficients].to_vec();
        let columns = &self.scalings.last()?.columns;
        let sizes: Vec<f64> = columns
            .iter()
            .map(|column| column.nominal + column.factor * point[column.place].abs())
            .collect();
        let regular = self.scaled_matrix(&self.entries, &sizes);
        let weights: Vec<f64> = (0..n)
            .map(|i| 1.0 / (0..n).map(|j| regular[(i, j)].abs()).fold(0.0, f64::max))
            .collect();
        evaluate_jacobian(&mut self.jacobian, time, |order| {
            self.jet.inputs().row(order)
        })
        .ok()?;
        let mut matrix = self.scaled_matrix(&self.entries(), &sizes);
        for (i, weight) in weights.iter().enumerate() {
            (0..n).for_each(|j| matrix[(i, j)] *= weight);
        }
        let mut bordered = Bordered::new(&matrix)?;
        let mut moved = point.clone();
        let mut residual = |stages: &mut Self, z: &[f64], into: &mut [f64]| -> Option<()> {
            let last = stages.scalings.last()?;
            for ((column, z), size) in last.columns.iter().zip(z).zip(&sizes) {
                moved[column.place] = point[column.place] + z * size / column.factor;
            }
            stages.set_point(time, &moved);
            for scaling in &stages.scalings {
                stages.jet.extend(scaling.stage).ok()?;
            }
            stages.jet.stage_roots(0, into);
            let rows = &stages.scalings.last()?.rows;
            for ((place, row), weight) in into.iter_mut().zip(rows).zip(&weights) {
                *place *= row.factor * weight;
            }
            Some(())
        };
        let centre = bordered.multiplier(&vec![0.0; n], |z, into| residual(self, z, into))?;
        let mut answer = None;
        for z in bordered.displacements() {
            if let Some(mu) = bordered.multiplier(&z, |z, into| residual(self, z, into)) {
                let differs = |(a, b): (&f64, &f64)| (a - b).abs() > CURVED;
                answer = Some(answer == Some(true) || mu.iter().zip(&centre).any(differs));
            }
        }
        self.set_point(time, &point);
        answer
    }

    /// The system Jacobian with its columns in units.
    fn scaled_matrix(&self, entries: &[f64], sizes: &[f64]) -> Mat {
        let mut matrix = Mat::zeros(self.n, self.n);
        for (i, row) in self.rows.iter().enumerate() {
            for (&j, entry) in row.unknowns.iter().zip(&entries[row.first..]) {
                matrix[(i, j as usize)] = entry * sizes[j as usize];
            }
        }
        matrix
    }
}
