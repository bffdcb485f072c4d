//! Truth values and whole numbers that are variables: each is defined by one equation and put in its place.
//!
//! A variable that keeps its value between events has no such equation; models with events are refused by name.

use super::instance::Variable;
use super::value::Value;
use super::{Checked, Elaborator, declare};
use crate::ast::AstId;
use crate::diagnostic::{Code, Diagnostic};
use crate::model::{DeclaredKind, Symbol, Type, Unknown};
use crate::source::Span;
use daelight_expr::ExprId;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

#[derive(Default)]
pub(super) struct Discrete<'a> {
    /// Unknowns that are not numbers of the continuous model.
    pub variables: HashMap<usize, Rc<Variable<'a>>>,
    pub equations: Vec<(ExprId, ExprId, Span)>,
    /// Unknowns that change at events, with the construct that makes them, its place and its component.
    refused: HashMap<usize, (Rc<str>, Span, Arc<str>)>,
}

impl<'a> Elaborator<'a> {
    /// Symbols for a variable that is no unknown of the continuous equations.
    pub(super) fn declare_discrete(
        &mut self,
        variable: &Rc<Variable<'a>>,
        dims: Vec<usize>,
    ) -> Value {
        let count: usize = dims.iter().product();
        let index = self.new_declaration(variable, dims.clone(), DeclaredKind::Unknown);
        let mut symbols = Vec::with_capacity(count);
        for position in 0..count {
            let name = declare::element_name(&variable.name, &dims, position);
            self.unknowns.push(Unknown::plain(name, index));
            let unknown = self.unknowns.len() - 1;
            self.discrete.variables.insert(unknown, variable.clone());
            let id = self.symbols.id(Symbol::Unknown { unknown, order: 0 });
            symbols.push(self.graph.symbol(id));
        }
        Value::shaped(variable.ty(), dims, symbols)
    }

    /// What only events can tell; it is an error if an equation needs it.
    pub(super) fn event_value(
        &mut self,
        ty: Type,
        dims: &[usize],
        what: &str,
        span: Span,
    ) -> Value {
        let count: usize = dims.iter().product();
        let mut symbols = Vec::with_capacity(count);
        for _ in 0..count {
            self.unknowns.push(Unknown::plain(what.to_string(), 0));
            let unknown = self.unknowns.len() - 1;
            let place = (Rc::from(what), span, self.component.clone());
            self.discrete.refused.insert(unknown, place);
            let id = self.symbols.id(Symbol::Unknown { unknown, order: 0 });
            symbols.push(self.graph.symbol(id));
        }
        Value::shaped(ty, dims.to_vec(), symbols)
    }

    /// Marks variables that a `when` assigns.
    pub(super) fn changed_by_event(&mut self, value: &Value, what: &str, span: Span) {
        for &element in value.elements() {
            if let Some(id) = self.graph.as_symbol(element)
                && let Symbol::Unknown { unknown, .. } = self.symbols.get(id)
            {
                let place = (Rc::from(what), span, self.component.clone());
                self.discrete.refused.insert(unknown, place);
            }
        }
    }

    /// `pre`, `initial()` and the like.
    pub(super) fn event_call(
        &mut self,
        name: &str,
        positional: &[AstId],
        span: Span,
    ) -> Checked<Option<Value>> {
        let what = format!("`{name}`");
        match (name, positional) {
            ("pre", [argument]) => {
                let value = self.eval(*argument)?;
                let ty = value.ty().unwrap_or(Type::Real);
                let dims = value.dims().to_vec();
                self.refuse_at_top(name, span)?;
                Ok(Some(self.event_value(ty, &dims, &what, span)))
            }
            ("sample", [argument, ..]) => {
                self.refuse_at_top(name, span)?;
                let value = self.eval(*argument)?;
                let is_signal = value.elements().iter().any(|&expr| self.varies(expr));
                let ty = match value.ty() {
                    Some(ty) if is_signal || positional.len() == 1 => ty,
                    _ => Type::Boolean,
                };
                let dims = if is_signal {
                    value.dims().to_vec()
                } else {
                    Vec::new()
                };
                Ok(Some(self.event_value(ty, &dims, &what, span)))
            }
            ("edge" | "change", [_]) | ("initial", []) => {
                self.refuse_at_top(name, span)?;
                Ok(Some(self.event_value(Type::Boolean, &[], &what, span)))
            }
            _ => Ok(None),
        }
    }

    /// In the model itself such calls are refused where they stand.
    fn refuse_at_top(&mut self, name: &str, span: Span) -> Checked<()> {
        if self.is_inside_component() || self.frame.is_some() {
            return Ok(());
        }
        Err(self.error(
            Diagnostic::error(
                Code::Unsupported,
                span,
                format!("`{name}` is not supported"),
            )
            .label("needs events or connections")
            .help("describe the model between events, with equations"),
        ))
    }

    /// Whether an unknown is left out of the continuous model.
    fn is_dropped(&self, unknown: usize) -> bool {
        self.discrete.variables.contains_key(&unknown)
            || self.discrete.refused.contains_key(&unknown)
    }

    /// Reports the constructs with events that equations need.
    fn report_events(&mut self) {
        let roots: Vec<ExprId> = self
            .equations
            .iter()
            .chain(&self.initial_equations)
            .map(|equation| equation.residual)
            .collect();
        let mut found: Vec<usize> = Vec::new();
        for id in self.walker.symbols(&self.graph, &roots) {
            if let Symbol::Unknown { unknown, .. } = self.symbols.get(id)
                && self.discrete.refused.contains_key(&unknown)
            {
                found.push(unknown);
            }
        }
        found.sort_unstable();
        for unknown in found {
            let (what, span, component) = self.discrete.refused[&unknown].clone();
            let place = match component.is_empty() {
                true => String::new(),
                false => format!(" (in the component {component})"),
            };
            self.error(
                Diagnostic::error(
                    Code::Unsupported,
                    span,
                    format!("{what} is not supported{place}"),
                )
                .label("needs events")
                .help("describe the model between events, with equations"),
            );
        }
    }

    /// The discrete unknown that an expression is.
    fn discrete_unknown(&self, expr: ExprId) -> Option<usize> {
        match self.symbols.get(self.graph.as_symbol(expr)?) {
            Symbol::Unknown { unknown, order: 0 } => {
                let known = self.discrete.variables.contains_key(&unknown);
                known.then_some(unknown)
            }
            _ => None,
        }
    }

    pub(super) fn is_discrete_symbol(&self, expr: ExprId) -> bool {
        self.discrete_unknown(expr).is_some()
    }

    /// Whether an equation of numbers defines something discrete.
    pub(super) fn is_discrete_pair(&self, a: &Value, b: &Value) -> bool {
        let is_discrete = |value: &Value| {
            let elements = value.elements();
            !elements.is_empty() && elements.iter().all(|&expr| self.is_discrete_symbol(expr))
        };
        is_discrete(a) || is_discrete(b)
    }

    pub(super) fn push_discrete(&mut self, left: ExprId, right: ExprId, span: Span) {
        self.discrete.equations.push((left, right, span));
    }

    /// Puts the definitions of discrete variables in their place.
    pub(super) fn settle_discrete(&mut self) {
        if self.discrete.variables.is_empty() && self.discrete.refused.is_empty() {
            for (.., span) in std::mem::take(&mut self.discrete.equations) {
                self.error(
                    Diagnostic::error(
                        Code::TypeMismatch,
                        span,
                        "expected a number, found a truth value",
                    )
                    .label("an equation between conditions")
                    .help("write `if … then 1 else 0` to make a number of a condition"),
                );
            }
            return;
        }
        if self.has_errors() {
            return;
        }
        let Some(definitions) = self.match_discrete() else {
            return;
        };
        let Some(order) = self.discrete_order(&definitions) else {
            return;
        };
        let mut values: HashMap<usize, ExprId> = HashMap::new();
        for unknown in order {
            let value = self.put_in(&[definitions[&unknown]], &values)[0];
            values.insert(unknown, value);
        }
        let mut roots: Vec<ExprId> = Vec::new();
        for equation in self.equations.iter().chain(&self.initial_equations) {
            roots.extend([equation.left, equation.right]);
        }
        let images = self.put_in(&roots, &values);
        let mut images = images.into_iter();
        let n_equations = self.equations.len();
        for at in 0..n_equations + self.initial_equations.len() {
            let (Some(left), Some(right)) = (images.next(), images.next()) else {
                return;
            };
            let residual = self.graph.sub(left, right);
            let equation = match at < n_equations {
                true => &mut self.equations[at],
                false => &mut self.initial_equations[at - n_equations],
            };
            (equation.left, equation.right, equation.residual) = (left, right, residual);
        }
        for at in 0..self.entries.len() {
            let super::State::Ready(value) = &self.entries[at].state else {
                continue;
            };
            let (Some(ty), dims) = (value.ty(), value.dims().to_vec()) else {
                continue;
            };
            if self.entries[at].variable.is_known() || value.elements().is_empty() {
                continue;
            }
            let elements = value.elements().to_vec();
            let data = self.put_in(&elements, &values);
            let symbols = self.walker.symbols(&self.graph, &data);
            let needs_events = symbols.iter().any(|&id| match self.symbols.get(id) {
                Symbol::Unknown { unknown, .. } => self.discrete.refused.contains_key(&unknown),
                _ => false,
            });
            if needs_events {
                self.entries[at].state = super::State::Broken;
                continue;
            }
            self.entries[at].state = super::State::Ready(Value::shaped(ty, dims, data));
        }
        self.report_events();
        if !self.has_errors() {
            self.drop_discrete();
        }
    }

    pub(super) fn put_in(
        &mut self,
        roots: &[ExprId],
        values: &HashMap<usize, ExprId>,
    ) -> Vec<ExprId> {
        let symbols = &self.symbols;
        let pairs = self
            .graph
            .substitution(roots, |_, id| match symbols.get(id) {
                Symbol::Unknown { unknown, order: 0 } => values.get(&unknown).copied(),
                _ => None,
            });
        let image: HashMap<ExprId, ExprId> = pairs.into_iter().collect();
        for (&old, &new) in &image {
            if let Some(&span) = self.spans.get(&old) {
                self.spans.entry(new).or_insert(span);
            }
        }
        roots
            .iter()
            .map(|root| image.get(root).copied().unwrap_or(*root))
            .collect()
    }

    /// The equation of each discrete variable: one side is the variable alone.
    fn match_discrete(&mut self) -> Option<HashMap<usize, ExprId>> {
        let equations = self.discrete.equations.clone();
        let sides: Vec<Vec<(usize, ExprId)>> = equations
            .iter()
            .map(|&(left, right, _)| {
                let one = self.discrete_unknown(left).map(|unknown| (unknown, right));
                let other = self.discrete_unknown(right).map(|unknown| (unknown, left));
                one.into_iter().chain(other).collect()
            })
            .collect();
        let mut matched: HashMap<usize, usize> = HashMap::new();
        for (at, (.., span)) in equations.iter().enumerate() {
            let mut visited = vec![false; equations.len()];
            if !augment(at, &sides, &mut matched, &mut visited) {
                self.error(
                    Diagnostic::error(
                        Code::Overdetermined,
                        *span,
                        "this equation defines no truth value or whole number that is still open",
                    )
                    .label("its variables are defined elsewhere")
                    .help("define each of them once, as `name = …`"),
                );
                return None;
            }
        }
        let mut definitions = HashMap::new();
        let mut unknowns: Vec<usize> = self.discrete.variables.keys().copied().collect();
        unknowns.sort_unstable();
        for unknown in unknowns {
            match matched.get(&unknown) {
                Some(&equation) => {
                    let side = sides[equation]
                        .iter()
                        .find(|(other, _)| *other == unknown)?;
                    definitions.insert(unknown, side.1);
                }
                None if self.discrete.refused.contains_key(&unknown) => {}
                None => {
                    let variable = self.discrete.variables[&unknown].clone();
                    self.undefined_discrete(&variable, unknown);
                    return None;
                }
            }
        }
        Some(definitions)
    }

    fn undefined_discrete(&mut self, variable: &Variable<'a>, unknown: usize) {
        let name = self.unknowns[unknown].name.clone();
        let ty = variable.ty();
        self.error(
            Diagnostic::error(
                Code::Unsupported,
                variable.declaration.name_span,
                format!("a variable of type {} is not supported", ty.word()),
            )
            .label(format!("`{name}` has no equation `{name} = …`"))
            .help(match ty {
                Type::Boolean => "write its condition as a binding, as in `Boolean b = x > 0;`",
                _ => "make it a parameter, or declare it Real",
            }),
        );
    }

    /// An order in which each definition needs only earlier ones.
    fn discrete_order(&mut self, definitions: &HashMap<usize, ExprId>) -> Option<Vec<usize>> {
        let mut unknowns: Vec<usize> = definitions.keys().copied().collect();
        unknowns.sort_unstable();
        let mut needs: HashMap<usize, Vec<usize>> = HashMap::new();
        for &unknown in &unknowns {
            let symbols = self.walker.symbols(&self.graph, &[definitions[&unknown]]);
            let list = symbols
                .into_iter()
                .filter_map(|id| match self.symbols.get(id) {
                    Symbol::Unknown { unknown, .. } if definitions.contains_key(&unknown) => {
                        Some(unknown)
                    }
                    _ => None,
                });
            needs.insert(unknown, list.collect());
        }
        let mut order = Vec::with_capacity(unknowns.len());
        let mut mark: HashMap<usize, u8> = HashMap::new();
        for &root in &unknowns {
            if mark.contains_key(&root) {
                continue;
            }
            mark.insert(root, 1);
            let mut path = vec![(root, 0)];
            while let Some(&mut (unknown, ref mut next)) = path.last_mut() {
                match needs[&unknown].get(*next) {
                    Some(&needed) => {
                        *next += 1;
                        match mark.get(&needed) {
                            None => {
                                mark.insert(needed, 1);
                                path.push((needed, 0));
                            }
                            Some(1) => {
                                self.discrete_cycle(needed, &path);
                                return None;
                            }
                            _ => {}
                        }
                    }
                    None => {
                        mark.insert(unknown, 2);
                        order.push(unknown);
                        path.pop();
                    }
                }
            }
        }
        Some(order)
    }

    fn discrete_cycle(&mut self, closed: usize, path: &[(usize, usize)]) {
        let start = path.iter().position(|&(on, _)| on == closed).unwrap_or(0);
        let mut names: Vec<String> = path[start..]
            .iter()
            .take(8)
            .map(|&(unknown, _)| self.unknowns[unknown].name.clone())
            .collect();
        names.push(self.unknowns[closed].name.clone());
        let span = self.discrete.variables[&closed].declaration.name_span;
        self.error(
            Diagnostic::error(
                Code::CyclicParameters,
                span,
                format!(
                    "conditions are defined by each other: {}",
                    names.join(" needs ")
                ),
            )
            .label("the circle begins here")
            .help("define one of them by quantities that do not need the others"),
        );
    }

    /// Leaves discrete variables out of the unknowns.
    fn drop_discrete(&mut self) {
        let dropped: Vec<bool> = (0..self.unknowns.len())
            .map(|unknown| self.is_dropped(unknown))
            .collect();
        self.drop_unknowns(|unknown| dropped[unknown]);
    }

    /// Leaves unknowns out that no equation contains any more; whole arrays of them.
    pub(super) fn drop_unknowns(&mut self, is_dropped: impl Fn(usize) -> bool) {
        let n = self.unknowns.len();
        let mut new_place: Vec<Option<usize>> = Vec::with_capacity(n);
        let mut kept = 0;
        for unknown in 0..n {
            let is_kept = !is_dropped(unknown);
            new_place.push(is_kept.then_some(kept));
            kept += usize::from(is_kept);
        }
        let mut at = 0;
        self.unknowns.retain(|_| {
            at += 1;
            new_place[at - 1].is_some()
        });
        let mut declaration_place = Vec::with_capacity(self.declarations.len());
        let old = std::mem::take(&mut self.declarations);
        let mut n_kept = 0;
        for mut declared in old {
            let count: usize = declared.dims.iter().product();
            let mut stays = true;
            if declared.kind == DeclaredKind::Unknown && count > 0 {
                match new_place[declared.first] {
                    Some(first) => declared.first = first,
                    None => stays = false,
                }
            }
            declaration_place.push(stays.then_some(n_kept));
            if stays {
                n_kept += 1;
                self.declarations.push(declared);
            }
        }
        let place = |declaration: usize| declaration_place[declaration].unwrap_or(0);
        for parameter in &mut self.parameters {
            parameter.declaration = place(parameter.declaration);
        }
        for input in &mut self.inputs {
            input.declaration = place(input.declaration);
        }
        for unknown in &mut self.unknowns {
            unknown.declaration = place(unknown.declaration);
        }
        let bindings = std::mem::take(&mut self.bindings);
        for (unknown, expr) in bindings {
            if let Some(new) = new_place[unknown] {
                self.bindings.insert(new, expr);
            }
        }
        self.symbols.renumber_unknowns(&new_place);
    }
}

/// An augmenting path of the matching between equations and variables.
fn augment(
    start: usize,
    sides: &[Vec<(usize, ExprId)>],
    matched: &mut HashMap<usize, usize>,
    visited: &mut [bool],
) -> bool {
    // The path is explicit: chains of connections are long.
    let mut path: Vec<(usize, usize)> = vec![(start, 0)];
    visited[start] = true;
    while let Some(&mut (equation, ref mut next)) = path.last_mut() {
        let Some(&(unknown, _)) = sides[equation].get(*next) else {
            path.pop();
            continue;
        };
        *next += 1;
        match matched.get(&unknown).copied() {
            None => {
                // Every equation on the path takes the variable it was looking at.
                for &(on, next) in &path {
                    matched.insert(sides[on][next - 1].0, on);
                }
                return true;
            }
            Some(other) if !visited[other] => {
                visited[other] = true;
                path.push((other, 0));
            }
            Some(_) => {}
        }
    }
    false
}
