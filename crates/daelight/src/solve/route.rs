//! The equations that are integrated for a model, and the way back to its own.

use super::setup::Setup;
use super::{NoRun, START_ORDER};
use crate::observe::WayBack;
use daelight_analysis::dae::{FormChoice, FormId, RepairPart};
use daelight_analysis::initial::ConsistentPoint;
use daelight_analysis::repair::Repaired;
use daelight_analysis::spectrum::Separation;
use daelight_analysis::structure::Structure;
use daelight_analysis::{Reduced, System};
use daelight_integrate::{Problem, Start};
use std::sync::Arc;

/// The equations that were integrated.
#[derive(Clone)]
pub(crate) enum Route {
    /// Trivial equations removed.
    Reduced(Arc<Reduced>),
    /// Rewritten so that the structure holds.
    Repaired(Box<Repaired>),
    /// As they stand, all derivatives at once.
    Array,
}

impl Route {
    /// The equations of the form that was chosen at a start, compiled; rewritten ones and arrays have another number of unknowns than
    /// the problem of the trimmed form, which tells about the model all the same.
    pub(super) fn of(
        system: &System,
        setup: &Setup,
        choice: FormChoice,
    ) -> Result<(Self, Problem), NoRun> {
        let trimmed = || setup.problem(system).map_err(NoRun::Equations);
        match (choice.form, choice.repair) {
            (Some(FormId::Trimmed), _) => {
                Ok((Self::Reduced(Arc::clone(&setup.reduced)), trimmed()?))
            }
            (
                Some(FormId::Repaired),
                RepairPart::Repaired(repaired) | RepairPart::Unverified(repaired),
            ) => {
                let parameters = system.parameters().values();
                let problem = Problem::new(repaired.equations(), parameters)
                    .map_err(|error| NoRun::Equations(error.to_string()))?;
                Ok((Self::Repaired(repaired), problem))
            }
            (Some(FormId::Repaired | FormId::Array), _) => Ok((Self::Array, trimmed()?)),
            (None, RepairPart::Failed(because)) => Err(NoRun::Equations(because)),
            (None, _) => Err(NoRun::Equations(
                "the system Jacobian is singular, and no combination of equations cures it"
                    .to_string(),
            )),
        }
    }

    /// How the finite eigenvalues are separated: a structure that was repaired does not hold for the model as written.
    pub(super) fn separation<'a>(&self, structure: &'a Structure) -> Option<Separation<'a>> {
        match self {
            Self::Reduced(_) => Some(Separation::Structure(structure)),
            Self::Repaired(repaired) => Some(Separation::Ranks {
                n_degrees_of_freedom: repaired.n_degrees_of_freedom() as usize,
            }),
            Self::Array => None,
        }
    }

    /// From the integrated unknowns to those of the model.
    pub(crate) fn way_back(&self, system: &System) -> WayBack {
        self.way_back_to(system, START_ORDER)
    }

    /// The same for jets up to an order.
    pub(crate) fn way_back_to(&self, system: &System, order: usize) -> WayBack {
        let recovery = match self {
            Self::Reduced(reduced) => Some(reduced.recovery(order, system.parameters().values())),
            Self::Repaired(_) | Self::Array => None,
        };
        WayBack::new(recovery, system.unknowns().len())
    }

    /// The start in the unknowns of the equations.
    pub(super) fn start(&self, problem: &Problem, point: &ConsistentPoint) -> Start {
        let n_orders = problem.max_unknown_offset() + 1;
        let (time, jet) = (point.time, &point.jet);
        let coefficients = match self {
            Self::Array => (0..n_orders)
                .filter_map(|order| jet.row(order).map(<[f64]>::to_vec))
                .collect(),
            Self::Reduced(reduced) => (0..n_orders)
                .map(|order| {
                    let kept = reduced.kept_unknowns().iter();
                    kept.map(|&unknown| jet.get(unknown, order)).collect()
                })
                .collect(),
            Self::Repaired(repaired) => repaired
                .lifted(time, jet, n_orders)
                .unwrap_or_else(|| vec![jet.values().to_vec()]),
        };
        Start::new(time, coefficients)
    }

    /// The equations of the model behind some of those integrated.
    pub(super) fn written_equations(&self, equations: &[usize]) -> Vec<usize> {
        let mut written: Vec<usize> = match self {
            Self::Reduced(reduced) => equations
                .iter()
                .map(|&i| reduced.kept_equations()[i])
                .collect(),
            Self::Repaired(repaired) => equations
                .iter()
                .flat_map(|&i| repaired.origins(i).iter().map(|origin| origin.equation))
                .collect(),
            Self::Array => equations.to_vec(),
        };
        written.sort_unstable();
        written.dedup();
        written
    }

    /// The name of the highest derivative of an unknown in some of the integrated equations, which is what they determine or not:
    /// of V in (V')^2 = x, where the model has y = der(V), the name y. Without such a name, that of the unknown itself.
    pub(super) fn highest_name(
        &self,
        system: &System,
        problem: &Problem,
        equations: &[usize],
        unknown: usize,
    ) -> String {
        let offsets = problem.structure().offsets();
        let least = equations.iter().filter_map(|&i| offsets.equation.get(i));
        let least = least.min().copied().unwrap_or(0);
        let order = (offsets.variable.get(unknown)).map_or(0, |d| d.saturating_sub(least));
        let named = match self {
            Self::Reduced(reduced) if order > 0 => (0..system.unknowns().len())
                .find(|&j| reduced.derivative_of(j) == Some((unknown, order as u32))),
            _ => None,
        };
        match named {
            Some(j) => system.unknowns()[j].name.clone(),
            None => self.unknown_name(system, unknown),
        }
    }

    pub(super) fn unknown_name(&self, system: &System, unknown: usize) -> String {
        match self {
            Self::Reduced(reduced) => system.unknowns()[reduced.kept_unknowns()[unknown]]
                .name
                .clone(),
            Self::Repaired(repaired) if unknown >= repaired.n_written() => repaired
                .extra_unknowns()[unknown - repaired.n_written()]
            .name
            .clone(),
            Self::Repaired(_) | Self::Array => system.unknowns()[unknown].name.clone(),
        }
    }
}
