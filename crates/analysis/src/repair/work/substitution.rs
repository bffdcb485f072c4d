//! Steps that put new unknowns for expressions.

use super::{Condition, LONG, NullVector, Row, Work, structure_of, value};
use crate::repair::NotRepaired;
use crate::repair::null::Cost;
use crate::repair::repaired::{Extra, StepKind};
use crate::structure::Structure;
use daelight_expr::{ExprId, FastMap, SymbolId};
use daelight_lang::Symbol;

/// An unknown of a null vector beside its leader.
struct Ratio {
    position: usize,
    /// How often the definition of its new unknown is differentiated at most: cx_j of (4).
    highest: usize,
    /// Its entry over that of the leader.
    expr: ExprId,
}

impl Work<'_> {
    /// Puts new unknowns for expressions, (4) of `docs/theory/repair.md`.
    pub(super) fn substitute(
        &mut self,
        structure: &Structure,
        block: usize,
        matrix: &[Vec<ExprId>],
        condition: Condition,
    ) -> Result<Option<Structure>, NotRepaired> {
        let members = &structure.blocks()[block];
        let transposed: Vec<Vec<ExprId>> = (0..matrix.len())
            .map(|j| matrix.iter().map(|row| row[j]).collect())
            .collect();
        for vector in self.null_vectors(&transposed, &members.unknowns)? {
            let mut leaders: Vec<(Cost, usize)> = vector.costs.iter().copied().zip(0..).collect();
            leaders.sort_unstable();
            for (_, leader) in leaders {
                let found = self.try_substitution(
                    structure,
                    &members.equations,
                    &vector,
                    leader,
                    condition,
                )?;
                if found.is_some() {
                    return Ok(found);
                }
            }
        }
        Ok(None)
    }

    /// Puts new unknowns for all unknowns of a null vector but the leader, and looks whether that helps.
    fn try_substitution(
        &mut self,
        structure: &Structure,
        equations: &[usize],
        vector: &NullVector,
        leader: usize,
        condition: Condition,
    ) -> Result<Option<Structure>, NotRepaired> {
        let touching: Vec<usize> = equations
            .iter()
            .copied()
            .filter(|&row| {
                structure
                    .jacobian_row(row)
                    .any(|p| vector.support.contains(&p))
            })
            .collect();
        let Some(ratios) = self.ratios(structure, &touching, vector, leader) else {
            return Ok(None);
        };
        if self.is_allowed(structure, vector, &ratios) != (condition == Condition::Sufficient) {
            return Ok(None);
        }

        let undo = (self.rows.clone(), self.unknowns.len());
        let first = self.rows.len();
        let leading = vector.support[leader];
        let mut definitions = Vec::new();
        let mut names = Vec::new();
        for ratio in &ratios {
            let (text, value) = self.define(structure, leading, ratio);
            names.push(text);
            definitions.push((ratio.position, ratio.highest, value));
        }
        let mut lost = vec![vector.entries[leader]];
        for &row in &touching {
            lost.extend(self.put_into(structure, row, &definitions));
        }
        self.algebra.check_size()?;

        let labels: Vec<&str> = touching
            .iter()
            .map(|&r| self.rows[r].label.as_str())
            .collect();
        let text = format!(
            "new unknown {}, put into {}",
            names.join(", "),
            labels.join(", ")
        );
        match structure_of(&self.rows) {
            Some(better) if value(&better) < value(structure) => {
                self.suspect(&lost);
                let kind = StepKind::Substitution {
                    first,
                    n_new: ratios.len(),
                    equations: touching,
                };
                self.record(structure, &better, kind, text);
                Ok(Some(better))
            }
            Some(_) => {
                let (rows, n_unknowns) = undo;
                self.rows = rows;
                for unknown in self.unknowns.drain(n_unknowns..) {
                    self.positions.remove(&unknown);
                }
                self.extra.truncate(n_unknowns - self.n_written);
                Ok(None)
            }
            None => Err(NotRepaired::NoTransversal { text }),
        }
    }

    /// The entries of a null vector over that of the leader; `None` if its derivatives are of too low an order.
    fn ratios(
        &mut self,
        structure: &Structure,
        touching: &[usize],
        vector: &NullVector,
        leader: usize,
    ) -> Option<Vec<Ratio>> {
        let offsets = structure.offsets();
        let highest = |position: usize| {
            let rows = touching.iter().copied();
            rows.filter(|&row| structure.jacobian_row(row).any(|p| p == position))
                .map(|row| offsets.equation[row])
                .max()
                .unwrap_or(0)
        };
        let leading = vector.support[leader];
        let mut ratios = Vec::new();
        for (at, &position) in vector.support.iter().enumerate() {
            if at != leader {
                let ratio = self
                    .algebra
                    .graph
                    .div(vector.entries[at], vector.entries[leader]);
                let highest = highest(position);
                if offsets.variable[leading] < highest {
                    return None;
                }
                ratios.push(Ratio {
                    position,
                    highest,
                    expr: self.algebra.simplify(ratio),
                });
            }
        }
        Some(ratios)
    }

    /// Whether the ratios hold no derivatives that the substitution would raise.
    fn is_allowed(&mut self, structure: &Structure, vector: &NullVector, ratios: &[Ratio]) -> bool {
        let offsets = structure.offsets();
        ratios.iter().all(|ratio| {
            let occurring = self.algebra.unknowns(ratio.expr);
            occurring.into_iter().all(|(unknown, order)| {
                let position = self.positions[&unknown];
                let strict = usize::from(vector.support.contains(&position));
                order as usize + strict + ratio.highest <= offsets.variable[position]
            })
        })
    }

    /// Adds a new unknown with its definition; its text, and what the old unknown is in terms of it.
    fn define(&mut self, structure: &Structure, leading: usize, ratio: &Ratio) -> (String, ExprId) {
        let offsets = structure.offsets();
        let [own, leader_leaf] = [ratio.position, leading].map(|position| {
            let order = offsets.variable[position] - ratio.highest;
            self.leaf(self.unknowns[position], order as u32)
        });
        let graph = &mut self.algebra.graph;
        let moved = graph.mul(ratio.expr, leader_leaf);
        let definition = graph.sub(own, moved);
        let name = self.new_name();
        let text = self.text(definition).unwrap_or_else(|| LONG.to_string());
        let unknown = self.n_model_unknowns + self.extra.len();
        let written = self.in_written_unknowns(definition);
        self.positions.insert(unknown, self.unknowns.len());
        self.unknowns.push(unknown);
        self.extra.push(Extra {
            name: name.clone(),
            unknown,
            derivatives: vec![written],
        });
        let new = self.leaf(unknown, 0);
        let graph = &mut self.algebra.graph;
        let value = graph.add(new, moved);
        let residual = graph.sub(new, definition);
        let entries = self.entries(residual);
        self.rows.push(Row {
            residual,
            entries,
            origins: Vec::new(),
            label: format!("definition of {name}"),
            is_clean: false,
        });
        (format!("{name} = {text}"), value)
    }

    /// Puts definitions, each with its unknown and cx_j, into a row; what is lost by cleaning it.
    fn put_into(
        &mut self,
        structure: &Structure,
        row: usize,
        definitions: &[(usize, usize, ExprId)],
    ) -> Vec<ExprId> {
        let mut images: FastMap<SymbolId, ExprId> = FastMap::default();
        for &(position, highest, value) in definitions {
            if let Some(order) = structure.jacobian_order(row, position) {
                let unknown = self.unknowns[position];
                let symbol = self.algebra.symbols.id(Symbol::Unknown { unknown, order });
                let times = highest - structure.offsets().equation[row];
                images.insert(symbol, self.algebra.derivative(value, times));
            }
        }
        let residual = self.rows[row].residual;
        let graph = &mut self.algebra.graph;
        let new = graph.substitute(&[residual], |_, id| images.get(&id).copied())[0];
        let cleaned = self.cleaned(new);
        self.rows[row].residual = cleaned.residual;
        self.rows[row].entries = cleaned.entries;
        self.rows[row].is_clean = true;
        cleaned.lost
    }

    /// A name that nothing else has.
    fn new_name(&self) -> String {
        let unknowns =
            (0..self.n_model_unknowns).map(|unknown| Symbol::Unknown { unknown, order: 0 });
        let parameters = (0..self.n_parameters).map(Symbol::Parameter);
        let taken: Vec<String> = unknowns
            .chain(parameters)
            .map(|symbol| self.names.symbol_text(symbol))
            .chain(self.extra.iter().map(|extra| extra.name.clone()))
            .collect();
        (1usize..)
            .map(|number| format!("y{number}"))
            .find(|name| !taken.contains(name))
            .expect("there are more numbers than names")
    }

    /// An expression with the definitions of new unknowns put in.
    pub(super) fn in_written_unknowns(&mut self, expr: ExprId) -> ExprId {
        let mut images: FastMap<SymbolId, ExprId> = FastMap::default();
        for id in self.algebra.walker.symbols(&self.algebra.graph, &[expr]) {
            if let Symbol::Unknown { unknown, order } = self.algebra.symbols.get(id)
                && let Some(extra) = self.extra.iter().find(|extra| extra.unknown == unknown)
            {
                let definition = extra.derivatives[0];
                images.insert(id, self.algebra.derivative(definition, order as usize));
            }
        }
        let graph = &mut self.algebra.graph;
        graph.substitute(&[expr], |_, id| images.get(&id).copied())[0]
    }

    /// Gives every new unknown as many derivatives as the equations hold.
    pub(super) fn differentiate_extra(&mut self) {
        let mut most = vec![0u32; self.extra.len()];
        for row in 0..self.rows.len() {
            // Also those that do not count, because what they are multiplied by is zero.
            for (unknown, order) in self.algebra.unknowns(self.rows[row].residual) {
                if let Some(at) = unknown.checked_sub(self.n_model_unknowns) {
                    most[at] = order.max(most[at]);
                }
            }
        }
        for (at, most) in most.into_iter().enumerate() {
            for order in 0..most as usize {
                let last = self.extra[at].derivatives[order];
                let next = self.algebra.derivative(last, 1);
                self.extra[at].derivatives.push(next);
            }
        }
    }
}
