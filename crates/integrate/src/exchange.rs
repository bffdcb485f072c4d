//! The equations as x' = f(t, x), for solvers that know ordinary differential equations only.
//!
//! Where the equations that have begun at a stage are fewer than its unknowns, these unknowns are states, all of them: a choice
//! among them would fail somewhere on most solutions, as that of a coordinate of a pendulum does at its turning points. Rates are those of
//! the point next to the states that satisfies all constraints, written and hidden; section 13 of `docs/theory/implicit.md`.

use crate::options::Tolerances;
use crate::outcome::Failure;
use crate::problem::Problem;
use crate::stages::Stages;

/// Equations whose states others integrate.
#[derive(Clone)]
pub struct OrdinaryForm {
    problem: Problem,
    tolerances: Tolerances,
    states: Vec<(usize, usize)>,
    /// Coefficients `[order][unknown]` of the last point, from which the next one is searched.
    point: Vec<f64>,
}

/// Unknown and order of each state, by the structure alone.
pub fn states_of(problem: &Problem) -> Vec<(usize, usize)> {
    let structure = problem.structure();
    let offsets = structure.offsets();
    let mut states = Vec::new();
    for members in structure.blocks() {
        let orders = || {
            members
                .unknowns
                .iter()
                .map(|&unknown| offsets.variable[unknown])
        };
        for behind in 1..=orders().max().unwrap_or(0) {
            let begun = |&&equation: &&usize| offsets.equation[equation] >= behind;
            let n_rows = members.equations.iter().filter(begun).count();
            let columns = || {
                members
                    .unknowns
                    .iter()
                    .filter(|&&j| offsets.variable[j] >= behind)
            };
            if n_rows < columns().count() {
                states.extend(columns().map(|&j| (j, offsets.variable[j] - behind)));
            }
        }
    }
    states.sort_unstable_by_key(|&(unknown, order)| (order, unknown));
    states
}

impl OrdinaryForm {
    /// The equations near a point, given by coefficients x^(s)/s! by order and unknown.
    pub fn new(problem: Problem, tolerances: Tolerances, start: &[Vec<f64>]) -> Self {
        let n = problem.n();
        let mut point = vec![0.0; (problem.max_unknown_offset() + 1) * n];
        for (room, row) in point.chunks_exact_mut(n.max(1)).zip(start) {
            room.copy_from_slice(row);
        }
        Self {
            states: states_of(&problem),
            problem,
            tolerances,
            point,
        }
    }

    /// The equations.
    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    /// The same with other values of parameters.
    pub fn with(self, problem: Problem) -> Self {
        Self { problem, ..self }
    }

    /// Unknown and order of each state.
    pub fn states(&self) -> &[(usize, usize)] {
        &self.states
    }

    /// The last point: coefficients `[order][unknown]` up to the greatest offset d.
    pub fn point(&self) -> &[f64] {
        &self.point
    }

    /// A derivative of an unknown at the last point.
    pub fn derivative(&self, unknown: usize, order: usize) -> f64 {
        let factorial: f64 = (1..=order).map(|k| k as f64).product();
        let coefficient = self.point.get(order * self.problem.n() + unknown);
        factorial * coefficient.copied().unwrap_or(f64::NAN)
    }

    /// Goes to the point next to values of the states that satisfies all constraints.
    pub fn evaluate(&mut self, time: f64, values: &[f64]) -> Result<(), Failure> {
        let n = self.problem.n();
        let mut point = self.point.clone();
        for (&(unknown, order), value) in self.states.iter().zip(values) {
            let factorial: f64 = (1..=order).map(|k| k as f64).product();
            point[order * n + unknown] = value / factorial;
        }
        let mut stages = Stages::new(&self.problem, 1, &self.tolerances)?;
        stages.set_point(time, &point);
        let near = stages.factor().and_then(|()| stages.project(true));
        if near.is_err() {
            // The last point may be far from this one.
            stages.set_point(time, &point);
            stages.project_start(|order, unknown| self.states.contains(&(unknown, order)))?;
        }
        stages.point(&mut self.point);
        Ok(())
    }
}
