//! The first point: values near a guess that satisfy all constraints, written and hidden.

use crate::options::Tolerances;
use crate::outcome::Failure;
use crate::problem::Problem;
use crate::stages::{MAX_LEAST_LENGTH, Stages};
use daelight_analysis::{Reduced, System};
use daelight_expr::FaultKind;
use daelight_linalg::LogDet;
use std::fmt;

/// Where a run begins: a time and a guess of x_j, ..., x_j^(d_j).
#[derive(Clone, PartialEq, Debug)]
pub struct Start {
    /// The time.
    pub time: f64,
    /// Coefficients x^(s)/s!, by order and unknown. Missing orders are 0.
    pub coefficients: Vec<Vec<f64>>,
    /// Which of them must stay as they are, by order and unknown. Missing ones may change.
    pub fixed: Vec<Vec<bool>>,
}

impl Start {
    /// A guess from coefficients x^(s)/s!, by order and unknown, nothing fixed.
    pub fn new(time: f64, coefficients: Vec<Vec<f64>>) -> Self {
        Self {
            time,
            coefficients,
            fixed: Vec::new(),
        }
    }

    /// The start values of a model, 0 where it gives none, for the equations of its reduced system.
    ///
    /// An unknown that is a derivative of a kept one gives that derivative's value.
    pub fn of_model(system: &System, reduced: &Reduced, problem: &Problem, time: f64) -> Self {
        let kept = reduced.kept_unknowns();
        let n_orders = problem.max_unknown_offset() + 1;
        let mut coefficients = vec![vec![0.0; kept.len()]; n_orders];
        let mut fixed = vec![vec![false; kept.len()]; n_orders];
        for (unknown, info) in system.unknowns().iter().enumerate() {
            let Some((place, order)) = reduced.derivative_of(unknown) else {
                continue;
            };
            let order = order as usize;
            if let (Some(start), true) = (info.start, order < n_orders) {
                let factorial: f64 = (1..=order).map(|k| k as f64).product();
                // Several names may mean the same derivative: a fixed one wins, then the kept one.
                if !fixed[order][place] || info.fixed {
                    coefficients[order][place] = start / factorial;
                    fixed[order][place] |= info.fixed;
                }
            }
        }
        Self {
            time,
            coefficients,
            fixed,
        }
    }

    /// The coefficients `[order][unknown]` up to the greatest offset d.
    fn point(&self, problem: &Problem) -> Result<Vec<f64>, StartError> {
        let n = problem.n();
        let mut point = vec![0.0; (problem.max_unknown_offset() + 1) * n];
        for (order, row) in self.coefficients.iter().enumerate() {
            if row.len() != n || !row.iter().all(|x| x.is_finite()) {
                return Err(StartError::Guess);
            }
            if let Some(into) = point.get_mut(order * n..(order + 1) * n) {
                into.copy_from_slice(row);
            }
        }
        match self.time.is_finite() {
            true => Ok(point),
            false => Err(StartError::Guess),
        }
    }

    fn is_fixed(&self, order: usize, unknown: usize) -> bool {
        let row = self.fixed.get(order);
        row.and_then(|row| row.get(unknown))
            .copied()
            .unwrap_or(false)
    }
}

/// Why there is no first point.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum StartError {
    /// The guess does not fit the problem, or is not finite.
    Guess,
    /// The tolerances or the end of the run are no sensible numbers.
    Options,
    /// No consistent point was found near the guess.
    NotFound(Failure),
    /// A block of the system Jacobian is singular at the start, to rounding.
    StructureFails,
    /// The method cannot be used on these equations.
    Unsuitable(&'static str),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Guess => write!(
                f,
                "the start values do not fit the equations, or are not finite"
            ),
            Self::Options => write!(
                f,
                "the tolerances or the end of the run are not sensible numbers"
            ),
            Self::StructureFails => write!(
                f,
                "the structure of the equations does not hold at the start: a block of their system Jacobian is singular there"
            ),
            Self::Unsuitable(why) => f.write_str(why),
            Self::NotFound(failure) => {
                write!(
                    f,
                    "no consistent point was found near the start values: {failure}"
                )
            }
        }
    }
}

impl std::error::Error for StartError {}

/// A first point that was found without a search.
#[derive(Clone, Debug)]
pub struct QuickStart {
    /// Coefficients `[order][unknown]`.
    pub series: Vec<f64>,
    /// The greatest scaled residual of each level.
    pub residuals: Vec<f64>,
    /// The determinants of the diagonal blocks.
    pub determinants: Vec<LogDet>,
}

/// The start to which Newton's method leads straight from a guess, with series of some stages; `None` where it does not, where
/// the fixed values do not determine it, or where a branch decides.
pub fn quick_start(
    problem: &Problem,
    start: &Start,
    n_stages: usize,
    tolerances: &Tolerances,
) -> Option<QuickStart> {
    let mut starts = QuickStarts::new(problem, n_stages, tolerances)?;
    starts.find(start, problem.parameters())
}

/// What finds such starts at many values of the parameters.
pub struct QuickStarts<'p> {
    problem: &'p Problem,
    stages: Stages<'p>,
}

impl<'p> QuickStarts<'p> {
    /// `None` for equations whose starts are searched for.
    pub fn new(problem: &'p Problem, n_stages: usize, tolerances: &Tolerances) -> Option<Self> {
        if problem.n() > MAX_LEAST_LENGTH {
            return None;
        }
        let stages = Stages::new(problem, n_stages, tolerances).ok()?;
        (stages.n_branches() == 0).then_some(Self { problem, stages })
    }

    /// The start at some values of the parameters, as [`quick_start`] finds it.
    pub fn find(&mut self, start: &Start, parameters: &[f64]) -> Option<QuickStart> {
        let stages = &mut self.stages;
        stages.set_parameters(parameters);
        stages.forget_sizes();
        stages.set_point(start.time, &start.point(self.problem).ok()?);
        let is_fixed = |order: usize, unknown: usize| start.is_fixed(order, unknown);
        if !stages.project_straight(is_fixed).ok()? {
            return None;
        }
        let mut series = vec![0.0; stages.n_rows() * self.problem.n()];
        stages.expand(&mut series).ok()?;
        let solver = stages.solver();
        let determinants = (0..solver.n_blocks()).map(|block| solver.determinant(block));
        Some(QuickStart {
            determinants: determinants.collect(),
            residuals: stages.levels.clone(),
            series,
        })
    }
}

/// Projects a guess, with minimum change where the stages leave a choice, and leaves the point in the stages.
///
/// On a switch the guess is that of a side, which whoever settles the sides finds. What leads away from there with the side of the text may
/// come across other switches and find no point: then these keep the sides that they have at the guess.
pub(crate) fn project(stages: &mut Stages<'_>, start: &Start) -> Result<(), StartError> {
    let point = start.point(stages.problem())?;
    let is_fixed = |order: usize, unknown: usize| start.is_fixed(order, unknown);
    stages.set_point(start.time, &point);
    let mut projected = stages.project_start(is_fixed);
    if let Err(Failure::NoConvergence { .. }) = projected
        && stages.n_branches() > 0
    {
        stages.set_point(start.time, &point);
        stages.compare();
        stages.hold(true);
        projected = stages.project_start(is_fixed);
    }
    match projected {
        Err(Failure::Fault(fault)) if fault.kind == FaultKind::Kink => {
            stages.set_point(start.time, &point);
            Ok(())
        }
        projected => projected.map_err(StartError::NotFound),
    }
}
