//! Angles, lengths and quotients that nothing depends on: set aside, and computed from the rest when they are written
//! (`docs/theory/components.md`, section 6).
//!
//! An angle of a vector jumps where the vector crosses the axis, and has no value where the vector is zero; a length has no
//! derivative there. That stops no component from working as long as no equation needs them.

use super::declare::element_name;
use super::{Elaborator, State};
use crate::model::{DeclaredKind, Symbol, Type, View};
use daelight_expr::{BinaryOp, ExprId, Node, UnaryOp};
use std::collections::{HashMap, HashSet};

/// An unknown that one equation gives and no other equation needs, but those of unknowns set aside before it.
struct Aside {
    unknown: usize,
    equation: usize,
    value: ExprId,
    needs: Vec<usize>,
}

impl Elaborator<'_> {
    /// Sets aside what may have no value in components and nothing depends on, and what follows from it alone.
    pub(super) fn set_views_aside(&mut self) {
        if self.has_errors() {
            return;
        }
        self.show_settled();
        let n_settled = self.views.len();
        let mut found = self.not_needed();
        // Those set aside first need those set aside later.
        let mut chosen: HashSet<usize> = HashSet::new();
        for aside in found.iter().rev() {
            let follows = aside.needs.iter().any(|needed| chosen.contains(needed));
            if follows || self.may_have_no_value(aside.value) {
                chosen.insert(aside.unknown);
            }
        }
        self.keep_arrays_whole(&found, &mut chosen);
        found.retain(|aside| chosen.contains(&aside.unknown));
        if found.is_empty() {
            return;
        }
        let mut values: HashMap<usize, ExprId> = HashMap::new();
        for aside in found.iter().rev() {
            let value = self.put_in(&[aside.value], &values)[0];
            values.insert(aside.unknown, value);
            self.views.push(View {
                name: self.unknowns[aside.unknown].name.clone(),
                ty: Type::Real,
                value,
            });
        }
        // A truth that nothing needs may tell of a length that nothing else needs.
        let settled: Vec<ExprId> = self.views[..n_settled].iter().map(|v| v.value).collect();
        let settled = self.put_in(&settled, &values);
        for (view, value) in self.views.iter_mut().zip(settled) {
            view.value = value;
        }
        let gone: HashSet<usize> = found.iter().map(|aside| aside.equation).collect();
        let mut at = 0;
        self.equations.retain(|_| {
            at += 1;
            !gone.contains(&(at - 1))
        });
        self.drop_unknowns(|unknown| chosen.contains(&unknown));
    }

    /// Whole numbers, enumerations and truths that are names for expressions stand in no equation, and are shown beside the unknowns.
    fn show_settled(&mut self) {
        let mut listed: HashSet<String> = self.views.iter().map(|view| view.name.clone()).collect();
        if let Some(hybrid) = &self.hybrid {
            listed.extend(
                hybrid
                    .variables
                    .iter()
                    .map(|variable| variable.name.clone()),
            );
        }
        let mut settled: Vec<(String, Type, ExprId)> = Vec::new();
        for entry in &self.entries {
            let variable = &entry.variable;
            let State::Ready(value) = &entry.state else {
                continue;
            };
            let (Some(ty), dims) = (value.ty(), value.dims().to_vec()) else {
                continue;
            };
            if ty == Type::Real || variable.is_known() {
                continue;
            }
            for (position, &value) in value.elements().iter().enumerate() {
                settled.push((element_name(&variable.name, &dims, position), ty, value));
            }
        }
        // All at once: they share most of what they are made of.
        let values: Vec<ExprId> = settled.iter().map(|view| view.2).collect();
        let values = self.with_held(&values);
        let gone = self.reading_what_is_gone(&values);
        for ((name, ty, _), value) in settled.into_iter().zip(values) {
            if !gone.contains(&value) && listed.insert(name.clone()) {
                self.views.push(View { name, ty, value });
            }
        }
    }

    /// Expressions with the relations that are held between events as they are held.
    fn with_held(&mut self, roots: &[ExprId]) -> Vec<ExprId> {
        let relations: HashMap<ExprId, usize> = (self.hybrid.iter())
            .flat_map(|hybrid| &hybrid.relations)
            .map(|relation| (relation.expr, relation.parameter))
            .collect();
        if relations.is_empty() {
            return roots.to_vec();
        }
        self.rebuilt(roots, |elaborator, _, plain| match relations.get(&plain) {
            Some(&parameter) => {
                let symbol = elaborator.symbols.id(Symbol::Parameter(parameter));
                elaborator.graph.symbol(symbol)
            }
            None => plain,
        })
    }

    /// The expressions below these that read an unknown that was dropped.
    fn reading_what_is_gone(&mut self, roots: &[ExprId]) -> HashSet<ExprId> {
        let n = self.unknowns.len();
        let mut gone: HashSet<ExprId> = HashSet::new();
        for &id in self.walker.reachable(&self.graph, roots) {
            let is_gone = self.graph.as_symbol(id).is_some_and(|symbol| {
                let symbol = self.symbols.get(symbol);
                matches!(symbol, Symbol::Unknown { unknown, .. } if unknown >= n)
            });
            let mut arguments = self.graph.node(id).arguments();
            if is_gone || arguments.any(|argument| gone.contains(&argument)) {
                gone.insert(id);
            }
        }
        gone
    }

    /// Whether an expression contains an operation on what changes that has no value, or no derivative, in some place.
    fn may_have_no_value(&mut self, expr: ExprId) -> bool {
        let mut open = vec![expr];
        let mut seen: HashSet<ExprId> = HashSet::new();
        while let Some(expr) = open.pop() {
            if !seen.insert(expr) || !self.varies(expr) {
                continue;
            }
            let node = self.graph.node(expr);
            let is_partial = match node {
                Node::Binary(BinaryOp::Atan2, ..) => true,
                Node::Binary(BinaryOp::Div, _, below) => self.varies(below),
                Node::Binary(BinaryOp::Pow, base, exponent) => {
                    let power = self.graph.as_constant(exponent);
                    let is_plain = power.is_some_and(|p| p >= 1.0 && p.fract() == 0.0);
                    self.varies(base) && !is_plain
                }
                Node::Unary(op, _) => matches!(
                    op,
                    UnaryOp::Sqrt | UnaryOp::Log | UnaryOp::Log10 | UnaryOp::Asin | UnaryOp::Acos
                ),
                _ => false,
            };
            if is_partial {
                return true;
            }
            open.extend(node.arguments());
        }
        false
    }

    /// Unknowns of components, or of a class of a library, that can be taken from the equations one after the other, with their equations.
    fn not_needed(&mut self) -> Vec<Aside> {
        let n = self.unknowns.len();
        let mut is_bound = vec![false; n];
        let mut of_equation: Vec<Vec<usize>> = Vec::with_capacity(self.equations.len());
        let mut equations_of: Vec<Vec<usize>> = vec![Vec::new(); n];
        for at in 0..self.equations.len() {
            let residual = self.equations[at].residual;
            let mut unknowns = Vec::new();
            for (unknown, order) in self.unknowns_in(&[residual]) {
                is_bound[unknown] |= order > 0;
                unknowns.push(unknown);
            }
            unknowns.sort_unstable();
            unknowns.dedup();
            for &unknown in &unknowns {
                equations_of[unknown].push(at);
            }
            of_equation.push(unknowns);
        }
        let mut elsewhere: Vec<ExprId> =
            self.initial_equations.iter().map(|e| e.residual).collect();
        elsewhere.extend(self.assertions.iter().map(|assertion| assertion.condition));
        elsewhere.extend(self.energy);
        if let Some(hybrid) = &mut self.hybrid {
            elsewhere.extend(hybrid.exprs_mut().map(|expr| *expr));
        }
        elsewhere.extend(self.stop_when.map(|stop| stop.expr));
        for (unknown, _) in self.unknowns_in(&elsewhere) {
            is_bound[unknown] = true;
        }
        let is_of_package = self.is_of_package;
        let is_of_component = |name: &str| is_of_package || name.contains('.');
        let open: Vec<bool> = self
            .unknowns
            .iter()
            .zip(&is_bound)
            .map(|(it, is_bound)| !is_bound && !it.fixed && is_of_component(&it.name))
            .collect();
        let mut count: Vec<usize> = equations_of.iter().map(Vec::len).collect();
        let mut is_gone = vec![false; self.equations.len()];
        let mut queue: Vec<usize> = (0..n).filter(|&u| count[u] == 1 && open[u]).collect();
        let mut found = Vec::new();
        while let Some(unknown) = queue.pop() {
            let Some(&equation) = equations_of[unknown].iter().find(|at| !is_gone[**at]) else {
                continue;
            };
            let Some(value) = self.given_by(equation, unknown) else {
                continue;
            };
            is_gone[equation] = true;
            let needs = of_equation[equation]
                .iter()
                .copied()
                .filter(|&it| it != unknown);
            let needs: Vec<usize> = needs.collect();
            for &needed in &needs {
                count[needed] -= 1;
                if count[needed] == 1 && open[needed] {
                    queue.push(needed);
                }
            }
            found.push(Aside {
                unknown,
                equation,
                value,
                needs,
            });
        }
        found
    }

    fn unknowns_in(&mut self, roots: &[ExprId]) -> Vec<(usize, u32)> {
        let symbols = self.walker.symbols(&self.graph, roots);
        let unknown = |id| match self.symbols.get(id) {
            Symbol::Unknown { unknown, order } => Some((unknown, order)),
            _ => None,
        };
        symbols.into_iter().filter_map(unknown).collect()
    }

    /// The other side of an equation of which an unknown is one side alone.
    fn given_by(&mut self, equation: usize, unknown: usize) -> Option<ExprId> {
        let (left, right) = (
            self.equations[equation].left,
            self.equations[equation].right,
        );
        for (side, other) in [(left, right), (right, left)] {
            let id = self.graph.as_symbol(side);
            let is_it =
                id.is_some_and(|id| self.symbols.get(id) == Symbol::Unknown { unknown, order: 0 });
            if is_it && !self.unknowns_in(&[other]).contains(&(unknown, 0)) {
                return Some(other);
            }
        }
        None
    }

    /// Leaves out arrays that would be set aside in part, and what others than those set aside need.
    fn keep_arrays_whole(&self, found: &[Aside], chosen: &mut HashSet<usize>) {
        loop {
            let before = chosen.len();
            for declared in &self.declarations {
                let count: usize = declared.dims.iter().product();
                let scalars = declared.first..declared.first + count;
                let is_part = declared.kind == DeclaredKind::Unknown
                    && !scalars.clone().all(|unknown| chosen.contains(&unknown));
                if is_part {
                    scalars.for_each(|unknown| {
                        chosen.remove(&unknown);
                    });
                }
            }
            for aside in found {
                if !chosen.contains(&aside.unknown) {
                    aside.needs.iter().for_each(|needed| {
                        chosen.remove(needed);
                    });
                }
            }
            if chosen.len() == before {
                return;
            }
        }
    }
}
