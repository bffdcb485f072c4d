//! Eigenvalues of linearised equations and the smoothness of paths.

use crate::words::{count, cut, short};
use serde::Serialize;

/// An eigenvalue.
#[derive(Serialize, Debug, Clone, Copy)]
pub struct EigenvalueRecord {
    /// Real part, per unit of time.
    pub re: f64,
    /// Imaginary part.
    pub im: f64,
}

/// A prescribed motion.
#[derive(Serialize, Debug, Clone)]
pub struct PathRecord {
    /// The equation that prescribes it, as written.
    pub equation: String,
    /// How often it is differentiated.
    pub times_differentiated: usize,
    /// How many of its derivatives are continuous at its worst seam, -1 for a jump; `null` if it has no seam.
    pub smoothness: Option<i64>,
    /// The time of that seam.
    pub seam: Option<f64>,
}

impl PathRecord {
    /// Whether the derivatives that the forces need are continuous.
    pub fn is_smooth_enough(&self) -> bool {
        self.smoothness
            .is_none_or(|smoothness| smoothness >= self.times_differentiated as i64)
    }

    /// What its smoothness means, in a sentence.
    pub fn sentence(&self) -> String {
        let equation = cut(&self.equation, 60);
        let times = match self.times_differentiated {
            1 => "once".to_string(),
            2 => "twice".to_string(),
            n => format!("{n} times"),
        };
        match (self.smoothness, self.seam) {
            (Some(smoothness), Some(seam)) => {
                let has = match smoothness {
                    -1 => "jumps".to_string(),
                    0 => "is continuous, but its first derivative jumps".to_string(),
                    k => format!("has {}", count(k as usize, "continuous derivative")),
                };
                let rest = if self.is_smooth_enough() {
                    ""
                } else {
                    ": not smooth enough, so what follows from it jumps or has impulses there"
                };
                format!(
                    "The equation `{equation}` is differentiated {times}; at t = {} it {has}{rest}.",
                    short(seam)
                )
            }
            _ => format!(
                "The equation `{equation}` is differentiated {times}; it is smooth enough throughout."
            ),
        }
    }
}

/// The zero dynamics along a run.
#[derive(Serialize, Debug, Clone)]
pub struct ZeroDynamicsRecord {
    /// The start, then points along the run.
    pub points: Vec<PhaseRecord>,
    /// Where the model becomes minimum phase or ceases to be.
    pub changes: Vec<PhaseChangeRecord>,
}

/// The eigenvalues at one time of a run.
#[derive(Serialize, Debug, Clone)]
pub struct PhaseRecord {
    /// When.
    pub time: f64,
    /// Whether all eigenvalues decay; `null` if that is not decided.
    pub minimum_phase: Option<bool>,
    /// The eigenvalues; `null` if they are not known.
    pub eigenvalues: Option<Vec<EigenvalueRecord>>,
}

/// A change between two points of a run.
#[derive(Serialize, Debug, Clone, Copy)]
pub struct PhaseChangeRecord {
    /// The point before.
    pub from: f64,
    /// The point after.
    pub to: f64,
    /// Whether the model is minimum phase after it.
    pub minimum_phase: bool,
}
