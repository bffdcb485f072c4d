//! Whether neighbouring solutions run into the same singular point, (R14) of `docs/theory/runs.md`.

use super::Taylor;
use crate::arguments::Argument;
use crate::monitor::Zero;
use crate::tolerances::{FAMILY, FAMILY_AGREES, FAMILY_ASIDE, FAMILY_PLACES};
use crate::trajectory::shift;

/// Rounds of the power method.
const N_ROUNDS: usize = 4;

impl Taylor<'_> {
    /// Whether infinitely many solutions run into a zero of a determinant or of a denominator ahead.
    pub(super) fn is_family(&mut self, zero: Zero) -> bool {
        // Beyond an edge there is nothing to go on with in any case.
        let argument = self.monitor.argument(zero.quantity);
        !argument.is_some_and(Argument::is_edge)
            && self.stages.problem().structure().n_degrees_of_freedom() > 0
            && self
                .exponent(zero)
                .is_some_and(|exponent| exponent > FAMILY)
    }

    /// The exponent lambda of (t - t*)^lambda by which neighbouring solutions come together at a zero ahead: the greatest
    /// eigenvalue of (t - t*) dx'/dx on the states. `None` where two distances disagree.
    fn exponent(&mut self, zero: Zero) -> Option<f64> {
        let distance = zero.time - self.time;
        let found = FAMILY_PLACES.map(|part| self.exponent_at(zero.time, part * distance));
        // The series are left as they were: nothing reads the stages but the switching quantities.
        let n = self.trajectory.n();
        shift(&self.series, n, 0.0, &mut self.point);
        self.stages.set_point(self.time, &self.point);
        if self.stages.n_branches() > 0 {
            let _ = self.solve_point(false);
        } else {
            let _ = self.stages.factor();
        }
        let [Some(far), Some(near)] = found else {
            return None;
        };
        // Ordinary states have exponents that fall with the distance.
        let agree = (near - far).abs() < FAMILY_AGREES * near.abs();
        agree.then_some(2.0 * near - far)
    }

    /// The same at one distance before the zero, by differences of solved points.
    fn exponent_at(&mut self, zero: f64, before: f64) -> Option<f64> {
        let n = self.trajectory.n();
        let time = zero - before;
        shift(&self.series, n, time - self.time, &mut self.point);
        let predicted = self.point.clone();
        let base = self.solved(time, &predicted)?;
        let states: Vec<(usize, usize)> = (0..n)
            .flat_map(|j| (0..self.rule.offset(j)).map(move |s| (j, s)))
            .collect();
        let tolerances = &self.options.tolerances;
        let derivative = |point: &[f64], j: usize, s: usize| {
            point[s * n + j] * (1..=s).map(|f| f as f64).product::<f64>()
        };
        let sizes: Vec<f64> = states
            .iter()
            .map(|&(j, s)| {
                derivative(&base, j, s).abs() + tolerances.absolute(s, j) / tolerances.rtol
            })
            .collect();
        // A direction without meaning.
        let mut direction: Vec<f64> = (0..states.len()).map(|k| (1.0 + k as f64).sin()).collect();
        let mut exponent = 0.0;
        for _ in 0..N_ROUNDS {
            let mut moved = base.clone();
            for ((&(j, s), size), d) in states.iter().zip(&sizes).zip(&direction) {
                let factorial = (1..=s).map(|f| f as f64).product::<f64>();
                moved[s * n + j] += FAMILY_ASIDE * d * size / factorial;
            }
            let there = self.solved(time, &moved)?;
            let change = |k: usize, up: usize| {
                let (j, s) = states[k];
                (derivative(&there, j, s + up) - derivative(&base, j, s + up)) / sizes[k]
            };
            let (mut along, mut length) = (0.0, 0.0);
            for k in 0..states.len() {
                along += change(k, 0) * change(k, 1);
                length += change(k, 0) * change(k, 0);
            }
            exponent = -before * along / length;
            let rates: Vec<f64> = (0..states.len()).map(|k| change(k, 1)).collect();
            let greatest = rates.iter().map(|x| x.abs()).fold(0.0, f64::max);
            if !(greatest > 0.0 && exponent.is_finite()) {
                return Some(0.0);
            }
            direction = rates.iter().map(|rate| rate / greatest).collect();
        }
        Some(exponent)
    }

    /// A point brought onto all constraints.
    fn solved(&mut self, time: f64, point: &[f64]) -> Option<Vec<f64>> {
        self.stages.set_point(time, point);
        self.stages.factor().ok()?;
        self.stages.project(true).ok()?;
        let mut solved = point.to_vec();
        self.stages.point(&mut solved);
        Some(solved)
    }
}
