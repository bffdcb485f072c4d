//! What is wrong on the right of the equations, and what it moves the solution by within a stretch of a step, (R3).

use super::forcing::At;
use crate::options::Tolerances;
use crate::problem::Problem;

/// How long something acts, how it grows, and how much of it is allowed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stretch {
    pub h: f64,
    /// It is below its greatest value times (s/h)^power.
    pub power: usize,
    /// How many times the equations are yet to be differentiated for the stage.
    pub lag: usize,
    /// What an unknown may be moved by, in tolerances.
    pub tolerances: f64,
}

/// Room for a solution.
pub(crate) struct Effect {
    moved: Vec<f64>,
}

impl Effect {
    pub fn new(n: usize) -> Self {
        Self {
            moved: vec![0.0; n],
        }
    }

    /// The greatest change of an unknown, in units of what is allowed; `right` is what the differentiated equations are off by.
    pub fn of(
        &mut self,
        problem: &Problem,
        at: &mut At<'_>,
        tolerances: &Tolerances,
        right: &[f64],
        stretch: Stretch,
    ) -> f64 {
        if right.iter().all(|x| *x == 0.0) {
            return 0.0;
        }
        if right.iter().any(|x| !x.is_finite()) {
            return f64::INFINITY;
        }
        if at.solver.solve(right, &mut self.moved).is_err() {
            return 0.0;
        }
        let n = problem.n();
        let offsets = &problem.structure().offsets().variable;
        let mut excess = 0.0f64;
        for (j, moved) in self.moved.iter().enumerate() {
            let d = offsets[j];
            if *moved == 0.0 {
                continue;
            }
            // x_j^(s) follows from x_j^(top) by top - s integrations.
            let top = d.saturating_sub(stretch.lag);
            let (mut factor, mut factorial) = (1.0, (1..=top).map(|f| f as f64).product::<f64>());
            for s in (0..=top).rev() {
                if s < top {
                    factor *= stretch.h / (stretch.power + top - s) as f64;
                    factorial /= (s + 1) as f64;
                }
                if s == d && d > 0 {
                    continue;
                }
                let known = at.series.get(s * n + j);
                let size = known.map_or(0.0, |x| x.abs() * factorial);
                let weight = tolerances.rtol * size + tolerances.absolute(s, j);
                let allowed = stretch.tolerances * if d == 0 { 10.0 } else { 1.0 } * weight;
                excess = excess.max(moved.abs() * factor / allowed);
            }
        }
        excess
    }
}
