//! What is asked of a run: tolerances, limits, output.

use crate::outcome::StopReason;
use crate::problem::Problem;
use crate::trajectory::Trajectory;
use daelight_analysis::sizes::error_sizes;
use daelight_analysis::{Reduced, System};
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

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

    /// Absolute parts rtol times the sizes of a model's unknowns.
    ///
    /// A derivative of a kept unknown takes the nominal value of the unknown that it stands for.
    pub fn of_model(system: &System, reduced: &Reduced, rtol: f64) -> Self {
        let kept = reduced.kept_unknowns();
        let infos = system.unknowns();
        let sizes = error_sizes(system);
        let row = |order: u32| -> Vec<f64> {
            let mut row: Vec<f64> = kept.iter().map(|&unknown| sizes[unknown]).collect();
            for (unknown, info) in infos.iter().enumerate() {
                let Some((place, at)) = reduced.derivative_of(unknown) else {
                    continue;
                };
                // The nominal value of the kept unknown is that of its derivatives, if these have none.
                let is_own = info.nominal.is_some() || infos[kept[place]].nominal.is_none();
                if at == order && is_own {
                    row[place] = sizes[unknown];
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
    /// As before, and the run goes smoothly on at a bifurcation too: for rewritten equations, whose other solutions may not be
    /// those of the model. Each point that was passed is listed with its nature.
    Pass,
}

impl OnSingularity {
    /// Whether a run goes on behind a singular point at all.
    pub(crate) fn goes_on(self) -> bool {
        self != Self::Stop
    }
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

/// What a [`Watch`] wants.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Watched {
    /// The run goes on.
    GoOn,
    /// The run ends at this time, which lies within what was computed.
    StopAt(f64),
    /// The run ends where it is.
    Interrupt,
}

/// Looks at the solution after every step and may end the run.
///
/// A piece at which an implicit method hands over to series may be shown a second time, slightly changed.
#[derive(Clone)]
pub struct Watch(Arc<dyn Fn(&Trajectory) -> Watched + Send + Sync>);

impl Watch {
    /// Calls a function after every step.
    pub fn new(look: impl Fn(&Trajectory) -> Watched + Send + Sync + 'static) -> Self {
        Self(Arc::new(look))
    }

    /// What the function says of a trajectory.
    pub(crate) fn ask(&self, trajectory: &Trajectory) -> Watched {
        (self.0)(trajectory)
    }

    /// Looks at a trajectory, and shortens it where the run is to end. The reason, if it ends.
    pub(crate) fn look(&self, trajectory: &mut Trajectory) -> Option<StopReason> {
        match self.ask(trajectory) {
            Watched::GoOn => None,
            Watched::Interrupt => Some(StopReason::Interrupted),
            Watched::StopAt(time) => {
                trajectory.end_at(time);
                Some(StopReason::Stopped { time })
            }
        }
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watch")
    }
}

impl PartialEq for Watch {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
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
    /// The run ends when the clock has come to this.
    pub deadline: Option<Instant>,
    /// The run ends when its series take this many numbers.
    pub max_stored: usize,
    /// What is kept.
    pub output: Output,
    /// What happens at a removable singularity.
    pub on_singularity: OnSingularity,
    /// What looks at the run.
    pub watch: Option<Watch>,
    /// How far the states are moved after every step, in tolerances, to see what becomes of small errors. Ordinary runs have 0.
    pub nudge: f64,
}

impl Options {
    /// A run up to `t_end` with these tolerances and default limits.
    pub fn new(t_end: f64, tolerances: Tolerances) -> Self {
        Self {
            t_end,
            tolerances,
            order: None,
            // The ring modulator, whose oscillation is real, takes 110,000 at rtol 1e-4.
            max_steps: 200_000,
            deadline: None,
            max_stored: 100_000_000,
            output: Output::Dense,
            on_singularity: OnSingularity::Stop,
            watch: None,
            nudge: 0.0,
        }
    }
}
