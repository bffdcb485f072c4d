//! Looking at single points of a solution: how well they satisfy every constraint, and how far they are from singular ones.

use crate::options::Tolerances;
use crate::outcome::Failure;
use crate::problem::{Problem, equilibration, scale};
use crate::stages::Stages;
use crate::tolerances::{MAX_RESIDUAL, UNEVEN};
use daelight_linalg::{LinalgError, Svd};

/// Most unknowns of a block whose singular values are computed at every point.
const MAX_BLOCK: usize = 60;

/// What a point is worth.
#[derive(Clone, PartialEq, Debug)]
pub struct Inspection {
    /// The greatest scaled residual at each level, (10): position m is the m-th derivative.
    pub residuals: Vec<f64>,
    /// The least singular value of the diagonal blocks of the system Jacobian, each with the rows and columns scaled that
    /// it had at the first point. NaN where a block is too large.
    pub sigma_min: f64,
}

/// Inspects points of one problem.
pub struct Inspector<'p> {
    stages: Stages<'p>,
    /// Scales of rows and columns by block, from the first point.
    scales: Vec<(Vec<f64>, Vec<f64>)>,
    svd: Svd,
    rtol: f64,
}

impl<'p> Inspector<'p> {
    /// Residuals are scaled by the tolerances, as in a run.
    pub fn new(problem: &'p Problem, tolerances: &Tolerances) -> Result<Self, LinalgError> {
        Ok(Self {
            stages: Stages::new(problem, 1, tolerances)?,
            scales: Vec::new(),
            svd: Svd::with_capacity(MAX_BLOCK, MAX_BLOCK),
            rtol: tolerances.rtol,
        })
    }

    /// Number of coefficients of a point: `[order][unknown]` up to the greatest offset d.
    pub fn n_coefficients(&self) -> usize {
        let problem = self.stages.problem();
        (problem.max_unknown_offset() + 1) * problem.n()
    }

    /// Brings a point between two steps onto the equations, (24a), where that is possible.
    pub fn settle(&mut self, time: f64, point: &mut [f64]) -> bool {
        self.stages.set_point(time, point);
        let solved = self
            .stages
            .factor()
            .and_then(|()| self.stages.project(false));
        let is_settled = solved.is_ok_and(|projected| projected.residual <= MAX_RESIDUAL);
        if is_settled {
            self.stages.point(point);
        }
        is_settled
    }

    /// What a value may differ by from that of a piece between steps, relative, before neither is believed.
    pub fn most_apart(&self) -> f64 {
        UNEVEN * self.rtol + f64::EPSILON.sqrt()
    }

    /// Looks at a point as it is.
    pub fn inspect(&mut self, time: f64, coefficients: &[f64]) -> Result<Inspection, Failure> {
        self.stages.set_point(time, coefficients);
        let entries = self.stages.inspect()?.to_vec();
        let structure = self.stages.problem().structure();
        let mut sigma_min = f64::INFINITY;
        let is_first = self.scales.is_empty();
        for (block, members) in structure.blocks().iter().enumerate() {
            let n = members.equations.len();
            if n > MAX_BLOCK {
                sigma_min = f64::NAN;
                break;
            }
            let mut matrix = structure.block_matrix(block, &entries);
            if is_first {
                self.scales.push(equilibration(matrix.as_slice(), n));
            }
            scale(matrix.as_mut_slice(), &self.scales[block]);
            self.svd.factor_values(matrix.view())?;
            let least = self.svd.singular_values().last();
            sigma_min = least.map_or(sigma_min, |&least| sigma_min.min(least));
        }
        if is_first && sigma_min.is_nan() {
            self.scales.clear();
        }
        Ok(Inspection {
            residuals: self.stages.levels.clone(),
            sigma_min,
        })
    }
}
