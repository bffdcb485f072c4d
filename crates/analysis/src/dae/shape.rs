//! What follows from the equations of a model, whatever the values of its parameters are.

use super::standing::BlockForm;
use crate::System;
use crate::elimination::Reduced;
use crate::equations::Equations;
use crate::structure::{Structure, SystemJacobian};
use daelight_expr::{ExprId, Walker};
use daelight_lang::Symbol;
use std::sync::Arc;

/// The equations without the trivial ones, and the system Jacobian whose blocks are judged: made once for all copies of a [`System`].
pub(crate) struct Shape {
    pub(super) trimmed: Arc<Reduced>,
    /// Whether the blocks are those of the trimmed equations. They have the determinant of the written ones, (10) of
    /// `docs/theory/system.md`, and are smaller; but they can hold derivatives that a point of the written ones leaves open.
    is_trimmed: bool,
    /// Entries of the system Jacobian, row by row.
    entries: Vec<ExprId>,
    /// For each block the one of the written equations that most of it is part of, and how many equations it has: what is substituted
    /// can join blocks.
    pub(super) blocks: Vec<(usize, usize)>,
    /// For each unknown the removed ones that stand for its derivatives: order and unknown.
    derivatives: Vec<Vec<(usize, usize)>>,
    /// The parameters in the entries.
    parameters: Vec<usize>,
}

impl Shape {
    pub(crate) fn new(system: &System) -> Self {
        let trimmed = Arc::new(Reduced::new(system));
        let mut shape = Self {
            is_trimmed: true,
            entries: Vec::new(),
            blocks: Vec::new(),
            derivatives: vec![Vec::new(); system.unknowns().len()],
            parameters: Vec::new(),
            trimmed,
        };
        for (removed, _) in shape.trimmed.removed() {
            if let Some((place, order)) = shape.trimmed.derivative_of(removed) {
                let unknown = shape.trimmed.kept_unknowns()[place];
                shape.derivatives[unknown].push((order as usize, removed));
            }
        }
        let Ok(written) = system.structure() else {
            return shape;
        };
        shape.judge(system);
        if !shape.is_trimmed || !shape.is_readable(system, written) {
            shape.is_trimmed = false;
            shape.derivatives.iter_mut().for_each(Vec::clear);
            shape.judge(system);
        }
        shape
    }

    /// Makes the entries of the form that is judged.
    fn judge(&mut self, system: &System) {
        let Ok(written) = system.structure() else {
            return;
        };
        self.is_trimmed &= self.trimmed.structure().is_some();
        let Some((equations, structure)) = self.equations(system) else {
            return;
        };
        let entries = SystemJacobian::new(equations, structure, &[])
            .entries()
            .to_vec();
        let symbols = Walker::new().symbols(equations.graph(), &entries);
        let parameters = symbols
            .into_iter()
            .filter_map(|id| match equations.symbols().get(id) {
                Symbol::Parameter(index) => Some(index),
                _ => None,
            });
        let parameters: Vec<usize> = parameters.collect();
        let blocks = structure.blocks().iter().map(|members| {
            let place = |&equation: &usize| match self.is_trimmed {
                true => written.block_of_equation(self.trimmed.kept_equations()[equation]),
                false => written.block_of_equation(equation),
            };
            let places: Vec<usize> = members.equations.iter().map(place).collect();
            let count = |block: &&usize| places.iter().filter(|other| other == block).count();
            let most = places.iter().max_by_key(count);
            (most.copied().unwrap_or(0), places.len())
        });
        self.blocks = blocks.collect();
        self.entries = entries;
        self.parameters = parameters;
    }

    /// Whether the entries hold only what a point of the written equations determines.
    fn is_readable(&self, system: &System, written: &Structure) -> bool {
        let Some((equations, _)) = self.equations(system) else {
            return false;
        };
        let held = Walker::new().symbols(equations.graph(), &self.entries);
        held.into_iter()
            .all(|id| match equations.symbols().get(id) {
                Symbol::Unknown { unknown, order } => {
                    let (unknown, order) = read_as(&self.derivatives, unknown, order as usize);
                    order <= written.offsets().variable[unknown]
                }
                _ => true,
            })
    }

    fn equations<'a>(&'a self, system: &'a System) -> Option<(&'a Equations, &'a Structure)> {
        match self.is_trimmed {
            true => Some((self.trimmed.equations(), self.trimmed.structure()?)),
            false => Some((system.equations(), system.structure().ok()?)),
        }
    }

    /// The equations whose blocks are judged, at the values of a system; `None` where they have no structure.
    pub(super) fn form<'a>(&'a self, system: &'a System) -> Option<BlockForm<'a>> {
        let (equations, structure) = self.equations(system)?;
        let parameters = system.parameters().values();
        let (graph, symbols) = (equations.graph(), equations.symbols());
        let form = BlockForm::of_entries(graph, symbols, structure, &self.entries, parameters);
        Some(form.reading(&self.derivatives, &self.blocks))
    }

    /// Whether a block depends on a parameter that differs between two lists of values.
    pub(crate) fn depends_on_change(&self, before: &[f64], after: &[f64]) -> bool {
        let mut parameters = self.parameters.iter();
        parameters.any(|&at| before[at].to_bits() != after[at].to_bits())
    }
}

/// The unknown and its derivative that a derivative is read from: of v' for x'' where v = x' was removed, since points hold v' where
/// they may leave x'' open.
pub(super) fn read_as(
    derivatives: &[Vec<(usize, usize)>],
    unknown: usize,
    order: usize,
) -> (usize, usize) {
    let known = derivatives.get(unknown).into_iter().flatten();
    let known = known.filter(|(of, _)| (1..=order).contains(of));
    match known.max() {
        Some(&(of, name)) => (name, order - of),
        None => (unknown, order),
    }
}
