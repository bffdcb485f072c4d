//! The order in which sizes and parameter values become known, and circles in it.

use super::scope::Bound;
use super::{Elaborator, State};
use crate::ast::{AstId, Expr};
use crate::diagnostic::{Code, Diagnostic};
use crate::source::Span;

impl<'a> Elaborator<'a> {
    /// Entries in an order in which sizes and parameter values become known; cycles are reported.
    pub(super) fn dependency_order(&mut self) -> Vec<usize> {
        let n = self.entries.len();
        let needs: Vec<Vec<usize>> = (0..n).map(|entry| self.needs(entry)).collect();
        let mut order = Vec::with_capacity(n);
        // 0 new, 1 on the path, 2 done. The path is explicit: chains can be long.
        let mut mark = vec![0u8; n];
        for root in 0..n {
            if mark[root] != 0 {
                continue;
            }
            let mut path: Vec<(usize, usize)> = vec![(root, 0)];
            mark[root] = 1;
            while let Some(&mut (entry, ref mut next)) = path.last_mut() {
                if let Some(&needed) = needs[entry].get(*next) {
                    *next += 1;
                    match mark[needed] {
                        0 => {
                            mark[needed] = 1;
                            path.push((needed, 0));
                        }
                        1 => {
                            let start = path.iter().position(|&(on, _)| on == needed).unwrap_or(0);
                            let cycle: Vec<usize> =
                                path[start..].iter().map(|&(on, _)| on).collect();
                            self.report_cycle(&cycle);
                        }
                        _ => {}
                    }
                } else {
                    mark[entry] = 2;
                    order.push(entry);
                    path.pop();
                }
            }
        }
        order
    }

    pub(super) fn report_cycle(&mut self, cycle: &[usize]) {
        if cycle.is_empty() {
            return;
        }
        if cycle
            .iter()
            .any(|&entry| matches!(self.entries[entry].state, State::Broken))
        {
            return;
        }
        let places: Vec<Span> = cycle.iter().map(|&entry| self.definition(entry)).collect();
        let variables: Vec<_> = cycle
            .iter()
            .map(|&entry| self.entries[entry].variable.clone())
            .collect();
        let mut names: Vec<&str> = variables.iter().map(|v| &*v.name).take(8).collect();
        names.push(&variables[0].name);
        let message = if cycle.len() == 1 {
            format!("`{}` is defined by itself", names[0])
        } else {
            format!(
                "parameters are defined by each other: {}",
                names.join(" needs ")
            )
        };
        let mut diagnostic = Diagnostic::error(Code::CyclicParameters, places[0], message)
            .label("the circle begins here")
            .help(format!(
                "give `{}` a value that does not need the others",
                names[0]
            ));
        for (place, name) in places.iter().zip(&names).skip(1).take(4) {
            diagnostic = diagnostic.related(*place, format!("and goes through `{name}`"));
        }
        self.error(diagnostic);
        for &entry in cycle {
            self.entries[entry].state = State::Broken;
        }
    }

    /// Where a variable gets its value: the modification that gives it, or its declaration.
    fn definition(&self, entry: usize) -> Span {
        let variable = &self.entries[entry].variable;
        let declared = variable.declaration.span;
        match &variable.value {
            Some(Bound::Expr { ast, .. }) => {
                let value = self.ast.span(*ast);
                let inside = value.source == declared.source
                    && (declared.start..declared.end).contains(&value.start);
                if inside { declared } else { value }
            }
            _ => declared,
        }
    }

    /// The entries whose sizes or values an entry's own size (and value, if a parameter) needs.
    pub(super) fn needs(&self, entry: usize) -> Vec<usize> {
        let variable = &self.entries[entry].variable;
        if variable.owner != self.root {
            return Vec::new();
        }
        let mut roots: Vec<AstId> = variable.dims.iter().map(|&(dim, _)| dim).collect();
        if variable.is_known() || self.has_open(&variable.dims) {
            match (self.whole_override(&variable.name), &variable.value) {
                (Some(item), _) => roots.push(item.value),
                (None, Some(Bound::Expr { ast, .. })) => roots.push(*ast),
                _ => {}
            }
            roots.extend(
                self.element_overrides(&variable.name)
                    .map(|item| item.value),
            );
            for name in ["start", "min", "max"] {
                if let Some(Bound::Expr { ast, .. }) = variable.attribute(name) {
                    roots.push(ast);
                }
            }
        }
        let mut names = Vec::new();
        self.names_in(&roots, &mut names);
        let mut needs: Vec<usize> = names
            .iter()
            .filter_map(|name| self.by_name.get(*name).copied())
            .filter(|&other| self.entries[other].variable.owner == self.root)
            .collect();
        needs.sort_unstable();
        needs.dedup();
        needs
    }

    pub(super) fn names_in(&self, roots: &[AstId], names: &mut Vec<&'a str>) {
        self.names_and_calls_in(roots, names, &mut Vec::new());
    }

    /// The names that expressions mention, and the functions that they call.
    pub(super) fn names_and_calls_in(
        &self,
        roots: &[AstId],
        names: &mut Vec<&'a str>,
        calls: &mut Vec<&'a str>,
    ) {
        let mut stack = roots.to_vec();
        while let Some(id) = stack.pop() {
            match self.ast.expr(id) {
                Expr::Number(_) | Expr::Boolean(_) | Expr::Text(_) | Expr::Colon | Expr::End => {}
                Expr::Tuple(items) => stack.extend(items.iter().flatten()),
                Expr::FunctionArgument { named, .. } => {
                    stack.extend(named.iter().map(|&(_, _, value)| value));
                }
                Expr::Name {
                    name, subscripts, ..
                } => {
                    names.push(name);
                    stack.extend(subscripts);
                }
                Expr::Sign { operand, .. } | Expr::Not(operand) => stack.push(*operand),
                Expr::Chain { first, rest } => {
                    stack.push(*first);
                    stack.extend(rest.iter().map(|link| link.operand));
                }
                Expr::Power { base, exponent, .. } => stack.extend([base, exponent]),
                Expr::Relation { left, right, .. } => stack.extend([left, right]),
                Expr::And(items) | Expr::Or(items) | Expr::Array(items) => stack.extend(items),
                Expr::If {
                    branches,
                    otherwise,
                } => {
                    stack.extend(
                        branches
                            .iter()
                            .flat_map(|&(condition, value)| [condition, value]),
                    );
                    stack.push(*otherwise);
                }
                Expr::Call {
                    name,
                    positional,
                    named,
                    ..
                } => {
                    calls.push(name);
                    stack.extend(positional);
                    stack.extend(named.iter().map(|&(_, _, value)| value));
                }
                Expr::Comprehension {
                    body, iterators, ..
                } => {
                    // Loop variables hide the names around them.
                    let mut inside = Vec::new();
                    self.names_and_calls_in(&[*body], &mut inside, calls);
                    inside.retain(|name| iterators.iter().all(|iterator| iterator.name != **name));
                    names.extend(inside);
                    stack.extend(iterators.iter().filter_map(|iterator| iterator.range));
                }
                Expr::Matrix(rows) => stack.extend(rows.iter().flatten()),
                Expr::Range { start, step, stop } => {
                    stack.extend([start, stop]);
                    stack.extend(step);
                }
            }
        }
    }
}
