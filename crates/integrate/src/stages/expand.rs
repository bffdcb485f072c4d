//! The stages above 0: series from a projected point.

use super::Stages;
use crate::outcome::Failure;
use crate::trajectory::shift;
use daelight_expr::JetEvaluator;

impl Stages<'_> {
    /// Moves series by s: the point that they predict, (5).
    pub fn predict(&mut self, series: &[f64], s: f64, point: &mut [f64]) {
        let native = self.native.as_mut();
        if !native.is_some_and(|native| native.series.shift(series, s, point)) {
            shift(series, self.n, s, point);
        }
    }

    /// Computes all coefficients above the point, (3) for k >= 1, and writes the series `[order][unknown]`.
    pub fn expand(&mut self, series: &mut [f64]) -> Result<(), Failure> {
        self.statistics.jets += 1;
        self.expanded_at = None;
        if self.expand_natively(series)? {
            return Ok(());
        }
        let n = self.n;
        for k in 1..=self.n_stages {
            let coefficients = &mut self.jet.inputs_mut().rows_mut()[k * n..];
            for &top in &self.tops {
                coefficients[top] = 0.0;
            }
            self.jet.extend(k as i32)?;
            self.jet.stage_roots(k as i32, &mut self.right);
            for (right, factor) in self.right.iter_mut().zip(&self.rising_rows[(k - 1) * n..]) {
                *right *= factor;
            }
            self.solver.solve(&self.right, &mut self.solution)?;
            let coefficients = &mut self.jet.inputs_mut().rows_mut()[k * n..];
            let factors = &self.rising_columns[(k - 1) * n..];
            for ((&top, x), factor) in self.tops.iter().zip(&self.solution).zip(factors) {
                coefficients[top] = x * factor;
            }
            // Nothing is read from the last stage but the switching quantities.
            if k < self.n_stages || self.n_branches() > 0 {
                self.jet.remember(k as i32)?;
            }
        }
        series.copy_from_slice(&self.jet.inputs().rows()[..series.len()]);
        self.expanded_at = Some(self.time());
        Ok(())
    }
}

impl Stages<'_> {
    /// The same by native code; false without it, or if something has no value. Then the interpreter is ready to say what.
    fn expand_natively(&mut self, series: &mut [f64]) -> Result<bool, Failure> {
        let Some(native) = &mut self.native else {
            return Ok(false);
        };
        let coefficients = self.jet.inputs_mut().rows_mut();
        if native.series.code().is_fused() {
            self.solver.numbers(&mut native.matrix)?;
            native.series.expand(coefficients, &native.matrix);
        } else {
            let solver = &mut self.solver;
            native.series.expand_with(
                coefficients,
                &mut self.right,
                &mut self.solution,
                |right, solution| solver.solve(right, solution),
            )?;
        }
        series.copy_from_slice(&coefficients[..series.len()]);
        if series.iter().fold(0.0, |doubt, x| doubt + 0.0 * x) == 0.0 {
            return Ok(true);
        }
        for stage in self.jet.tape().first_stage()..=0 {
            self.jet.extend(stage)?;
        }
        Ok(false)
    }
}
