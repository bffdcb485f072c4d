//! Whether other solutions go through a singular point, (14) of `docs/theory/integration.md` and section 4 of `docs/theory/runs.md`.

use super::{Stages, evaluate_jacobian};
use crate::bordered::{ASIDE, Bordered, CURVED};
use crate::watch::Isolation;
use daelight_expr::JetEvaluator;
use daelight_linalg::Mat;

/// Up to this many unknowns solutions beside a singular point are looked for.
const MAX_SEARCHED: usize = 200;

/// Points at which the multiplier is known along the kernel; it is a polynomial of that degree then.
const N_NODES: usize = 9;

/// The bordered system of a singular point, and the units of its rows and columns.
struct Border {
    bordered: Bordered,
    sizes: Vec<f64>,
    weights: Vec<f64>,
    time: f64,
    point: Vec<f64>,
}

impl Stages<'_> {
    /// Whether the point, at which the system Jacobian is singular, is an isolated solution of stage 0, (14).
    ///
    /// Then it is a multiple one, and other solutions may go through it. The entries last factored must be those of a
    /// regular point beside it: they give the sizes of the rows. `None` without an answer.
    pub fn is_isolated(&mut self) -> Option<bool> {
        let mut border = self.border()?;
        let (time, point) = (border.time, border.point.clone());
        let centre = self.multiplier(&mut border, (time, &point), &vec![0.0; self.n])?;
        let mut answer = None;
        for z in border.bordered.displacements() {
            if let Some(mu) = self.multiplier(&mut border, (time, &point), &z) {
                let differs = |(a, b): (&f64, &f64)| (a - b).abs() > CURVED;
                answer = Some(answer == Some(true) || mu.iter().zip(&centre).any(differs));
            }
        }
        self.set_point(time, &point);
        answer
    }

    /// The greatest number of solutions of stage 0 close to each of some points beside the singular one, (R13).
    ///
    /// Along the kernel the multiplier is a function of one number, whose real zeros are these solutions. `None` for kernels of
    /// more dimensions and where the multiplier could not be found.
    pub fn n_solutions_beside(&mut self, beside: &[(f64, Vec<f64>)]) -> Option<usize> {
        let mut border = self.border()?;
        let (time, point) = (border.time, border.point.clone());
        let counted = self.count_beside(&mut border, beside);
        self.set_point(time, &point);
        counted
    }

    fn count_beside(&mut self, border: &mut Border, beside: &[(f64, Vec<f64>)]) -> Option<usize> {
        let kernel = border.bordered.kernel()?;
        let mut isolation = Isolation::default();
        let mut most = 0;
        for (time, point) in beside {
            let mut values = [0.0; N_NODES];
            for (k, value) in values.iter_mut().enumerate() {
                let beta = ASIDE * (2.0 * k as f64 / (N_NODES - 1) as f64 - 1.0);
                let z: Vec<f64> = kernel.iter().map(|v| beta * v).collect();
                *value = self.multiplier(border, (*time, point), &z)?[0];
            }
            let greatest = values.iter().map(|x| x.abs()).fold(0.0, f64::max);
            isolation.find(&through(&values), f64::EPSILON.sqrt() * greatest.max(1.0));
            most = most.max(isolation.places().len());
        }
        Some(most)
    }

    /// Borders the system Jacobian at the point.
    fn border(&mut self) -> Option<Border> {
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
        Some(Border {
            bordered: Bordered::new(&matrix)?,
            sizes,
            weights,
            time,
            point,
        })
    }

    /// The multiplier for a displacement z of the top coefficients from a point at a time.
    fn multiplier(
        &mut self,
        border: &mut Border,
        (time, point): (f64, &[f64]),
        z: &[f64],
    ) -> Option<Vec<f64>> {
        let mut moved = point.to_vec();
        let (sizes, weights) = (&border.sizes, &border.weights);
        border.bordered.multiplier(z, |z, into| {
            let last = self.scalings.last()?;
            for ((column, z), size) in last.columns.iter().zip(z).zip(sizes) {
                moved[column.place] = point[column.place] + z * size / column.factor;
            }
            self.set_point(time, &moved);
            for scaling in &self.scalings {
                self.jet.extend(scaling.stage).ok()?;
            }
            self.jet.stage_roots(0, into);
            let rows = &self.scalings.last()?.rows;
            for ((place, row), weight) in into.iter_mut().zip(rows).zip(weights) {
                *place *= row.factor * weight;
            }
            Some(())
        })
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

/// The polynomial through values at 0, 1/(m-1), ..., 1, in powers.
fn through(values: &[f64]) -> Vec<f64> {
    let m = values.len();
    let node = |i: usize| i as f64 / (m - 1) as f64;
    let mut differences = values.to_vec();
    for level in 1..m {
        for i in (level..m).rev() {
            differences[i] = (differences[i] - differences[i - 1]) / (node(i) - node(i - level));
        }
    }
    let mut into = vec![0.0; m];
    for i in (0..m).rev() {
        for l in (1..m).rev() {
            into[l] = into[l - 1] - node(i) * into[l];
        }
        into[0] = differences[i] - node(i) * into[0];
    }
    into
}
