//! What a linear model tells besides.

use super::PointVerdict;
use crate::canonical::{CanonicalForm, Consistency};
use crate::index_reduction::{LinearReduction, TimeCondition};
use crate::interval::{DEFAULT_BUDGET, IntervalAnalysis};
use crate::linear::{LinearFamily, LinearSystem};

/// Half the width of the surroundings of a singular point that are looked at, relative to its time.
const SURROUNDINGS: f64 = 0.1;

/// What a linear model tells besides.
#[derive(Clone, Debug)]
pub struct LinearPart {
    /// The conditions that redundant equations impose on the right-hand side; `None` at a singular point, or if no equation
    /// is redundant.
    pub consistency: Option<Consistency>,
    /// The same conditions as formulas, where they can be written.
    pub conditions: Vec<TimeCondition>,
    /// The surroundings of a singular point.
    pub around: Option<IntervalAnalysis>,
}

impl LinearPart {
    pub(super) fn new(
        linear: &mut LinearSystem<'_>,
        time: f64,
        verdict: &PointVerdict,
        order: usize,
        has_conditions: bool,
    ) -> Self {
        let mut consistency = || {
            let series = linear.at(time, 2 * order + 3).ok()?;
            let form = CanonicalForm::new(&series.matrices).ok()?;
            form.consistency(&series.f)
        };
        match verdict {
            PointVerdict::Regular => {
                let consistency = has_conditions.then(&mut consistency).flatten();
                let found = consistency.as_ref().filter(|c| c.n_conditions > 0);
                let reduction =
                    found.and_then(|_| LinearReduction::new(linear.system(), time).ok());
                Self {
                    conditions: reduction.map_or(Vec::new(), |r| r.conditions().to_vec()),
                    consistency,
                    around: None,
                }
            }
            PointVerdict::Singular { .. } => {
                let width = SURROUNDINGS * (1.0 + time.abs());
                let (from, to) = (time - width, time + width);
                Self {
                    consistency: None,
                    conditions: Vec::new(),
                    around: Some(IntervalAnalysis::new(linear, from, to, DEFAULT_BUDGET)),
                }
            }
            PointVerdict::Unknown { .. } => Self {
                consistency: None,
                conditions: Vec::new(),
                around: None,
            },
        }
    }
}
