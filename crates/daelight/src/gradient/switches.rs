//! Switches that move with parameters, (7) and (15) of `docs/theory/sensitivities.md`.

use super::{Term, Work, refused};
use crate::corner::{Corner, corners};
use daelight_lang::{Diagnostic, Symbol};

/// A switch at which rates jump.
pub(super) struct Switching {
    /// How much each rate falls there.
    falls: Vec<f64>,
    /// The rate of what decides.
    rate: f64,
    /// The derivatives of what decides.
    pub(super) by_value: Vec<f64>,
    pub(super) by_parameter: Vec<f64>,
}

impl Switching {
    /// kappa of (15), from the adjoint values behind the switch.
    pub(super) fn kappa(&self, m: &[f64]) -> f64 {
        let fall: f64 = m.iter().zip(&self.falls).map(|(m, f)| m * f).sum();
        fall / self.rate
    }
}

impl Work {
    /// The switches of the run at which rates jump.
    pub(super) fn switches(&self) -> Result<Vec<Term>, Box<Diagnostic>> {
        let n = self.model.unknowns.len();
        let (corners, ended) = corners(&self.system, &self.base);
        if let Some((_, why)) = ended {
            return Err(refused(why));
        }
        let term = |corner: Corner| {
            let parameters = self.read.iter().map(|&p| Symbol::Parameter(p));
            let switch = Switching {
                by_value: corner
                    .slopes((0..n).map(|unknown| Symbol::Unknown { unknown, order: 0 })),
                by_parameter: corner.slopes(parameters),
                falls: corner.falls,
                rate: corner.rate,
            };
            Term {
                switch: Some(switch),
                ..Term::joint(corner.time, n)
            }
        };
        Ok(corners.into_iter().map(term).collect())
    }
}
