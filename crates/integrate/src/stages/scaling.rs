//! Which equations and unknowns have begun at a stage, with the numbers that scale them.

use crate::options::Tolerances;
use daelight_analysis::structure::Offsets;

/// Numbers of one stage k <= 0, for what has begun.
pub(crate) struct Scaling {
    pub stage: i32,
    pub rows: Vec<ScaledRow>,
    pub columns: Vec<ScaledColumn>,
}

impl Scaling {
    pub fn new(stage: i32, offsets: &Offsets, tolerances: &Tolerances) -> Self {
        let n = offsets.variable.len();
        let order = |offset: usize| usize::try_from(offset as i32 + stage).ok();
        let row = |(equation, &c): (usize, &usize)| {
            order(c).map(|level| ScaledRow {
                equation,
                level,
                factor: factorial(level),
                size: 0.0,
            })
        };
        let column = |(unknown, &d): (usize, &usize)| {
            order(d).map(|order| ScaledColumn {
                unknown,
                order,
                place: order * n + unknown,
                factor: factorial(order),
                nominal: tolerances.absolute(order, unknown) / tolerances.rtol,
            })
        };
        let (c, d) = (&offsets.equation, &offsets.variable);
        Self {
            stage,
            rows: c.iter().enumerate().filter_map(row).collect(),
            columns: d.iter().enumerate().filter_map(column).collect(),
        }
    }
}

/// An equation that has begun.
pub(crate) struct ScaledRow {
    pub equation: usize,
    /// k + c_i: how often it is differentiated.
    pub level: usize,
    /// (k + c_i)!
    pub factor: f64,
    /// Its size in (10) when it was last found.
    pub size: f64,
}

/// An unknown that has begun.
pub(crate) struct ScaledColumn {
    pub unknown: usize,
    /// k + d_j
    pub order: usize,
    /// Where x_{j,k + d_j} is among the coefficients.
    pub place: usize,
    /// (k + d_j)!
    pub factor: f64,
    /// The size below which x_j^(k + d_j) counts as small.
    pub nominal: f64,
}

fn factorial(n: usize) -> f64 {
    (1..=n).map(|k| k as f64).product()
}
