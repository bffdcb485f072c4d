//! What every reduction needs: a consistent point, and equations whose structure holds there.

use super::ReduceBy;
use super::refusal::Refusal;
use super::rows::{Key, VANISHING};
use super::selection::{Preference, StateChoice};
use crate::dae::{BlockForm, Regularity, RepairPart};
use crate::equations::Equations;
use crate::initial::{ConsistentPoint, Request, StageOffsets, consistent_point, nominal};
use crate::judgement::{Judgement, PointVerdict};
use crate::outcome::Indices;
use crate::repair::Repaired;
use crate::structure::{Structure, SystemJacobian};
use crate::system::System;
use daelight_expr::{ExprId, FastMap, Graph, Walker};
use daelight_lang::{Symbol, Symbols};

/// A consistent point, and equations whose structure holds there.
pub struct Groundwork<'a> {
    pub(super) system: &'a System,
    pub(super) point: ConsistentPoint,
    /// The differentiation index, or where that was not computed the structural one.
    pub(super) index: usize,
    pub(super) structure: Structure,
    pub(super) repaired: Option<Box<Repaired>>,
    /// Why the structure does not hold, in a model that needs no reduction.
    pub(super) obstacle: Option<Refusal>,
    /// Derivatives of all unknowns at the point, those that a repair introduced included.
    pub(super) values: FastMap<Key, f64>,
}

impl<'a> Groundwork<'a> {
    /// Finds the point closest to the request and decides whether the structure holds there.
    pub fn new(system: &'a System, request: &Request) -> Result<Self, Refusal> {
        let written = system.equations();
        let (m, n) = (written.n_equations(), written.n_unknowns());
        if m != n {
            return Err(Refusal::Rectangular { m, n });
        }
        if n == 0 {
            return Err(Refusal::Empty);
        }
        (system.structure()).map_err(|_| Refusal::StructurallySingular)?;
        let judgement = Judgement::new(system, request);
        let part = judgement.structure().ok_or(Refusal::StructurallySingular)?;
        let point = match (&judgement.point, &judgement.verdict) {
            (_, PointVerdict::Singular { .. }) => return Err(Refusal::Singular),
            (Err(no_point), _) => return Err(Refusal::NoPoint(no_point.clone())),
            (Ok(point), _) => point,
        };
        let at_point = |symbol: Symbol| match symbol {
            Symbol::Unknown { unknown, order } => point.jet.derivative(unknown, order as usize),
            known => written.symbols().value_at(known, point.time),
        };
        let structure = part.structure.clone();
        let form = BlockForm::new(written, &structure, system.parameters().values());
        // Models too large for the numerical notions are judged by their structure alone.
        let is_large = judgement.numerical.is_err();
        let holds = match part.regularity {
            Regularity::Regular => true,
            Regularity::Unknown(_) => is_large,
            _ => false,
        } && form.uncertain_at(&at_point).is_empty();
        if let PointVerdict::Unknown { because } = &judgement.verdict
            && !(is_large && holds)
        {
            return Err(Refusal::Undecided(because.clone()));
        }
        let indices = judgement.indices();
        let found = if holds {
            Ok((structure.clone(), None))
        } else {
            repaired_structure(&part.repair, judgement.verdict == PointVerdict::Regular)
        };
        let found = found.and_then(|(structure, repaired)| {
            let promised = structure.n_degrees_of_freedom();
            match indices.map(Indices::degrees_of_freedom) {
                Some(dof) if dof as u64 != promised => Err(Refusal::Undecided(format!(
                    "the structure promises {promised} degrees of freedom, the ranks at the point {dof}"
                ))),
                _ => Ok((structure, repaired)),
            }
        });
        let index = indices.and_then(|indices| indices.differentiation_index);
        let (structure, repaired, obstacle) = match (found, index) {
            (Ok((structure, repaired)), _) => (structure, repaired, None),
            // A model that needs no reduction needs no structure either.
            (Err(refusal), Some(0 | 1)) => (structure, None, Some(refusal)),
            (Err(refusal), _) => return Err(refusal),
        };
        let index = index.unwrap_or(match &repaired {
            Some(repaired) => repaired.structural_index(),
            None => structure.structural_index(),
        });
        let mut groundwork = Self {
            system,
            point: point.clone(),
            index,
            structure,
            repaired,
            obstacle,
            values: FastMap::default(),
        };
        if groundwork.obstacle.is_some() {
            return Ok(groundwork);
        }
        groundwork.reach(request)?;
        groundwork.check_regular()?;
        Ok(groundwork)
    }

    /// Whether there is a structure that holds at the point.
    pub(super) fn check_structure(&self) -> Result<(), Refusal> {
        self.obstacle.clone().map_or(Ok(()), Err)
    }

    /// The equations that are reduced: as written, or repaired.
    pub fn equations(&self) -> &Equations {
        match &self.repaired {
            Some(repaired) => repaired.equations(),
            None => self.system.equations(),
        }
    }

    /// Their structure, which holds at the point unless [`Groundwork::selection`] says otherwise.
    pub fn structure(&self) -> &Structure {
        &self.structure
    }

    /// The repair, where the written equations needed one.
    pub fn repaired(&self) -> Option<&Repaired> {
        self.repaired.as_deref()
    }

    /// The inputs of which reduced equations hold signals, or derivatives of signals, in place of their names.
    pub fn inputs_written_out(&self, method: ReduceBy) -> Vec<usize> {
        let all = method == ReduceBy::Strangeness || self.repaired.is_some();
        let offsets = &self.structure.offsets().equation;
        let written = self.system.written().iter().enumerate();
        let changed = written.filter(|(at, _)| all || offsets.get(*at).is_some_and(|c| *c > 0));
        let exprs: Vec<ExprId> = changed.flat_map(|(_, e)| [e.left, e.right]).collect();
        let equations = self.system.equations();
        let symbols = Walker::new().symbols(equations.graph(), &exprs);
        let input = |id| match equations.symbols().get(id) {
            Symbol::Input { input, .. } => Some(input),
            _ => None,
        };
        let mut inputs: Vec<usize> = symbols.into_iter().filter_map(input).collect();
        inputs.sort_unstable();
        inputs.dedup();
        inputs
    }

    /// The point.
    pub fn point(&self) -> &ConsistentPoint {
        &self.point
    }

    /// The differentiation index of the model at the point; the structural one for models too large for the other.
    pub fn index(&self) -> usize {
        self.index
    }

    /// Values of the system Jacobian at the point.
    pub fn jacobian(&self) -> Vec<f64> {
        let parameters = self.system.parameters().values();
        let jacobian = SystemJacobian::new(self.equations(), &self.structure, parameters);
        jacobian.evaluate(|symbol| self.value(symbol))
    }

    /// Typical sizes of the unknowns, those that a repair introduced included.
    pub fn nominal(&self) -> Vec<f64> {
        let mut sizes = nominal(self.system);
        sizes.resize(self.structure.n(), 1.0);
        sizes
    }

    /// The choice of states at the point.
    pub fn selection(&self) -> Result<StateChoice, Refusal> {
        self.check_structure()?;
        let mut fixed: Vec<bool> = self.system.unknowns().iter().map(|u| u.fixed).collect();
        fixed.resize(self.structure.n(), false);
        let nominal = self.nominal();
        let preference = Preference {
            nominal: &nominal,
            fixed: &fixed,
        };
        StateChoice::at(&self.structure, &self.jacobian(), preference).map_err(Refusal::NoSelection)
    }

    fn value(&self, symbol: Symbol) -> f64 {
        match symbol {
            Symbol::Unknown { unknown, order } => {
                let value = self.values.get(&(unknown, order as usize));
                value.copied().unwrap_or(f64::NAN)
            }
            known => self.equations().symbols().value_at(known, self.point.time),
        }
    }

    /// Computes the jet as far as the differentiated equations reach, and all values from it.
    fn reach(&mut self, request: &Request) -> Result<(), Refusal> {
        let n_written = self.system.unknowns().len();
        let offsets = self.structure.offsets();
        let mut symbols = Symbols::clone(self.equations().symbols());
        let mut graph = Graph::clone(self.equations().graph());
        // What the new unknowns are, as often differentiated as they occur.
        let mut extra = Vec::new();
        for new in self.repaired.iter().flat_map(|r| r.extra_unknowns()) {
            let mut expr = new.derivatives[0];
            for order in 0..=offsets.variable[new.unknown] {
                extra.push(((new.unknown, order), expr));
                let symbols = &mut symbols;
                expr = graph.derivatives_along(&[expr], |graph, id| symbols.rate(graph, id))[0];
            }
        }
        let roots: Vec<_> = extra.iter().map(|(_, expr)| *expr).collect();
        let orders = Walker::new().symbols(&graph, &roots);
        let orders = orders.into_iter().map(|id| match symbols.get(id) {
            Symbol::Unknown { order, .. } => order as usize,
            _ => 0,
        });
        let highest = offsets.variable[..n_written]
            .iter()
            .copied()
            .chain(orders)
            .max()
            .unwrap_or(0);
        let (stages, times) = match &self.repaired {
            None => (Some(StageOffsets::of(&self.structure)), &offsets.equation),
            Some(repaired) => (None, &repaired.times_differentiated()),
        };
        let order = highest + times.iter().copied().max().unwrap_or(0);
        if self.point.order < order {
            let request = Request {
                guess: self.point.jet.values().to_vec(),
                given: Vec::new(),
                order,
                ..request.clone()
            };
            self.point =
                consistent_point(self.system, stages, &request).map_err(Refusal::NoPoint)?;
        }
        let jet = &self.point.jet;
        for unknown in 0..n_written {
            for order in 0..=highest {
                let value = jet.derivative(unknown, order);
                self.values.insert((unknown, order), value);
            }
        }
        let parameters = self.system.parameters().values();
        let values = graph.evaluate(&roots, |id| match symbols.get(id) {
            Symbol::Parameter(index) => parameters[index],
            symbol => self.value(symbol),
        });
        let keys = extra.into_iter().map(|(key, _)| key);
        self.values.extend(keys.zip(values));
        Ok(())
    }

    /// The structure must hold at the point itself, and no factor of the repair may vanish there.
    fn check_regular(&self) -> Result<(), Refusal> {
        let parameters = self.system.parameters().values();
        let at_point = |symbol: Symbol| self.value(symbol);
        let form = BlockForm::new(self.equations(), &self.structure, parameters);
        if !form.uncertain_at(&at_point).is_empty() {
            return Err(Refusal::Singular);
        }
        let Some(repaired) = &self.repaired else {
            return Ok(());
        };
        let suspects: Vec<_> = repaired.suspects().iter().map(|s| s.expr).collect();
        let symbols = repaired.equations().symbols();
        let values = repaired
            .equations()
            .graph()
            .evaluate(&suspects, |id| match symbols.get(id) {
                Symbol::Parameter(index) => parameters[index],
                symbol => self.value(symbol),
            });
        let vanishing = |value: &f64| value.is_nan() || value.abs() < VANISHING;
        match values.iter().position(vanishing) {
            None => Ok(()),
            Some(at) => Err(Refusal::Undecided(format!(
                "the structure was repaired with the factor {}, which is zero at the point",
                repaired.suspects()[at]
                    .text
                    .as_deref()
                    .unwrap_or("of a step")
            ))),
        }
    }
}

/// What a repair made of a structure that does not hold at the point.
fn repaired_structure(
    repair: &RepairPart,
    has_index: bool,
) -> Result<(Structure, Option<Box<Repaired>>), Refusal> {
    match repair {
        RepairPart::Repaired(repaired) | RepairPart::Unverified(repaired) => {
            Ok((repaired.structure().clone(), Some(repaired.clone())))
        }
        // The pattern is right in general: the point is special, or all of the solution is.
        RepairPart::NotNeeded if has_index => Err(Refusal::StructureFails),
        RepairPart::NotNeeded => Err(Refusal::Singular),
        RepairPart::Failed(because) => Err(Refusal::Undecided(format!(
            "the structure misleads and was not repaired: {because}"
        ))),
    }
}
