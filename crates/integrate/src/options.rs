//! What is asked of a run: tolerances, limits, output.

use crate::problem::Problem;
use daelight_analysis::{Reduced, System};
use std::time::Duration;

/// Accuracy asked for, component by component: rtol |x| + atol.
#[derive(Clone, PartialEq, Debug)]
pub struct Tolerances {
    /// Relative part.
    pub rtol: f64,
    /// Absolute part by derivative, then by unknown. A missing row is the one before it.
    pub atol: Vec<Vec<f64>>,
}

impl Tolerances {
    /// The same absolute part for all unknowns and derivatives.
    pub fn uniform(problem: &Problem, rtol: f64, atol: f64) -> Self {
        Self {
            rtol,
            atol: vec![vec![atol; problem.n()]],
        }
    }

    /// Absolute parts rtol times the nominal values of a model, 1 where it gives none.
    ///
    /// A derivative of a kept unknown takes the nominal value of the unknown that it stands for.
    pub fn of_model(system: &System, reduced: &Reduced, rtol: f64) -> Self {
        let kept = reduced.kept_unknowns();
        let infos = system.unknowns();
        let row = |order: u32| -> Vec<f64> {
            let mut row: Vec<f64> = kept
                .iter()
                .map(|&unknown| infos[unknown].nominal.unwrap_or(1.0).abs())
                .collect();
            for (unknown, info) in infos.iter().enumerate() {
                if let (Some((place, at)), Some(nominal)) =
                    (reduced.derivative_of(unknown), info.nominal)
                    && at == order
                {
                    row[place] = nominal.abs();
                }
            }
            row.into_iter().map(|nominal| rtol * nominal).collect()
        };
        Self {
            rtol,
            atol: (0..=4).map(row).collect(),
        }
    }

    /// The absolute part for a derivative of an unknown.
    pub fn absolute(&self, derivative: usize, unknown: usize) -> f64 {
        self.atol
            .get(derivative)
            .or(self.atol.last())
            .and_then(|row| row.get(unknown))
            .copied()
            .unwrap_or(self.rtol)
    }
}

/// What happens at a singularity that the solution passes smoothly.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OnSingularity {
    /// The run ends there.
    #[default]
    Stop,
    /// The run jumps over it and goes on, if both sides fit together.
    Continue,
}

/// What is kept of a run.
#[derive(Clone, PartialEq, Debug, Default)]
pub enum Output {
    /// The series of every step: values at all times.
    #[default]
    Dense,
    /// Values at these times only, in the order of the run.
    Points(Vec<f64>),
}

/// Everything a run is told.
#[derive(Clone, PartialEq, Debug)]
pub struct Options {
    /// Where the run ends; before the start for a backward run.
    pub t_end: f64,
    /// The accuracy.
    pub tolerances: Tolerances,
    /// Order of the shortest series, that of an algebraic unknown, instead of the one that follows from the tolerance.
    pub order: Option<usize>,
    /// The run ends after this many steps.
    pub max_steps: usize,
    /// The run ends after this time.
    pub time_budget: Option<Duration>,
    /// The run ends when its series take this many numbers.
    pub max_stored: usize,
    /// What is kept.
    pub output: Output,
    /// What happens at a removable singularity.
    pub on_singularity: OnSingularity,
}

impl Options {
    /// A run up to `t_end` with these tolerances and default limits.
    pub fn new(t_end: f64, tolerances: Tolerances) -> Self {
        Self {
            t_end,
            tolerances,
            order: None,
            max_steps: 100_000,
            time_budget: None,
            max_stored: 100_000_000,
            output: Output::Dense,
            on_singularity: OnSingularity::Stop,
        }
    }
}
