//! The order in which sizes and parameter values become known, and circles in it.

use super::{Elaborator, State};
use crate::ast::{AstId, Declaration, Expr, Variability};
use crate::diagnostic::{Code, Diagnostic};

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
        if cycle
            .iter()
            .any(|&entry| matches!(self.entries[entry].state, State::Broken))
        {
            return;
        }
        let declarations: Vec<&Declaration> = cycle
            .iter()
            .map(|&entry| self.entries[entry].declaration)
            .collect();
        let mut names: Vec<&str> = declarations
            .iter()
            .map(|d| d.name.as_str())
            .take(8)
            .collect();
        names.push(declarations[0].name.as_str());
        let message = if cycle.len() == 1 {
            format!("`{}` is defined by itself", names[0])
        } else {
            format!(
                "parameters are defined by each other: {}",
                names.join(" needs ")
            )
        };
        let mut diagnostic =
            Diagnostic::error(Code::CyclicParameters, declarations[0].span, message)
                .label("the circle begins here")
                .help(format!(
                    "give `{}` a value that does not need the others",
                    names[0]
                ));
        for declaration in declarations.iter().skip(1).take(4) {
            diagnostic = diagnostic.related(declaration.span, "and goes through this");
        }
        self.error(diagnostic);
        for &entry in cycle {
            self.entries[entry].state = State::Broken;
        }
    }

    /// The entries whose sizes or values an entry's own size (and value, if a parameter) needs.
    pub(super) fn needs(&self, entry: usize) -> Vec<usize> {
        let declaration = self.entries[entry].declaration;
        let mut roots = declaration.dims.clone();
        let is_parameter = matches!(
            declaration.variability,
            Variability::Parameter | Variability::Constant
        );
        let open = declaration
            .dims
            .iter()
            .any(|&dim| matches!(self.ast.expr(dim), Expr::Colon));
        if is_parameter || open {
            match self.whole_override(&declaration.name) {
                Some(item) => roots.push(item.value),
                None => roots.extend(declaration.binding),
            }
            roots.extend(
                self.element_overrides(&declaration.name)
                    .map(|item| item.value),
            );
            roots.extend(
                declaration
                    .modifications
                    .iter()
                    .filter(|m| matches!(m.name.as_str(), "start" | "min" | "max"))
                    .filter_map(|m| m.value),
            );
        }
        let mut names = Vec::new();
        self.names_in(&roots, &mut names);
        let mut needs: Vec<usize> = names
            .iter()
            .filter_map(|name| {
                let by_path = self.by_name.get(self.without_package(name));
                self.by_name.get(name).or(by_path).copied()
            })
            .collect();
        needs.sort_unstable();
        needs.dedup();
        needs
    }

    pub(super) fn names_in(&self, roots: &[AstId], names: &mut Vec<&'a str>) {
        let mut stack = roots.to_vec();
        while let Some(id) = stack.pop() {
            match self.ast.expr(id) {
                Expr::Number(_) | Expr::Boolean(_) | Expr::Text(_) | Expr::Colon | Expr::End => {}
                Expr::Name { name, subscripts } => {
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
                    positional, named, ..
                } => {
                    stack.extend(positional);
                    stack.extend(named.iter().map(|&(_, _, value)| value));
                }
                Expr::Comprehension {
                    body, iterators, ..
                } => {
                    // Loop variables hide the names around them.
                    let mut inside = Vec::new();
                    self.names_in(&[*body], &mut inside);
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
