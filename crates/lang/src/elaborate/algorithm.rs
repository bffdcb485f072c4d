//! Algorithm sections: what they assign equals the values at their end.

use super::equation::Section;
use super::value::Value;
use super::{Checked, Elaborator};
use crate::ast::{self, AstId, Expr, StatementKind};
use crate::diagnostic::{Code, Diagnostic};
use crate::model::{Symbol, Type};
use daelight_expr::ExprId;

/// A variable that a section assigns.
pub(super) struct Target {
    pub name: String,
    pub value: Value,
    /// What its elements are before the section: `pre` of those that rest between events.
    pub before: Vec<Option<ExprId>>,
}

impl<'a> Elaborator<'a> {
    pub(super) fn algorithm(
        &mut self,
        section: Section,
        algorithm: &'a ast::Algorithm,
    ) -> Checked<()> {
        let mut names = Vec::new();
        assigned_in(self, &algorithm.body, false, &mut names);
        let mut targets: Vec<Target> = Vec::new();
        for &(name, target, in_when) in &names {
            if let Some(known) = targets.iter().position(|known| known.name == name) {
                let value = targets[known].value.clone();
                self.note_discrete(&value, in_when);
                continue;
            }
            let Expr::Name { path: None, .. } = self.ast.expr(target) else {
                let span = self.ast.span(target);
                return Err(self.error(
                    Diagnostic::error(
                        Code::Unsupported,
                        span,
                        "an algorithm section can assign the variables of its own class only",
                    )
                    .label("a variable of a component")
                    .help("write an equation"),
                ));
            };
            let value = self.whole_variable(target)?;
            self.note_discrete(&value, in_when);
            targets.push(Target {
                name: name.to_string(),
                value,
                before: Vec::new(),
            });
        }
        // Before the start there is no event that could have left a value.
        if section == Section::Equation {
            for target in &mut targets {
                target.before = self.values_before(&target.value.clone(), algorithm.span);
            }
        }
        let values = self.run_section(&targets, &algorithm.body)?;
        for (target, value) in targets.iter().zip(values) {
            let Some(value) = value else {
                let name = &target.name;
                return Err(self.error(
                    Diagnostic::error(
                        Code::Unassigned,
                        algorithm.span,
                        format!(
                            "`{name}` keeps its old value in some branch{}",
                            self.place()
                        ),
                    )
                    .label("not assigned on every path of this section")
                    .help(format!("assign `{name} := …` in every branch")),
                ));
            };
            self.equal_values(section, &target.value, &value, algorithm.span)?;
        }
        Ok(())
    }

    /// What a `when` assigns rests between events.
    fn note_discrete(&mut self, value: &Value, in_when: bool) {
        if !in_when {
            return;
        }
        for &element in value.elements() {
            if let Some(id) = self.graph.as_symbol(element)
                && let Symbol::Unknown { unknown, order: 0 } = self.symbols.get(id)
            {
                self.make_discrete(unknown);
            }
        }
    }

    fn values_before(&mut self, value: &Value, span: crate::source::Span) -> Vec<Option<ExprId>> {
        let ty = value.ty().unwrap_or(Type::Real);
        let elements = value.elements().to_vec();
        let mut before = Vec::with_capacity(elements.len());
        for element in elements {
            let is_discrete = self.is_discrete_symbol(element);
            before.push(is_discrete.then(|| self.previous_of(element, ty, span)));
        }
        before
    }

    /// The whole variable that an assignment names, without its subscripts.
    fn whole_variable(&mut self, target: AstId) -> Checked<Value> {
        let span = self.ast.span(target);
        match self.ast.expr(target) {
            Expr::Name { name, .. } => self.eval_name(name, &[], None, span),
            _ => Err(super::Reported),
        }
    }
}

/// The names that statements assign, and whether a `when` is around them.
fn assigned_in<'a>(
    elaborator: &Elaborator<'a>,
    body: &'a [ast::Statement],
    in_when: bool,
    names: &mut Vec<(&'a str, AstId, bool)>,
) {
    for statement in body {
        match &statement.kind {
            StatementKind::Assign { target, .. } => match elaborator.ast.expr(*target) {
                Expr::Name { name, .. } => names.push((name, *target, in_when)),
                Expr::Tuple(items) => {
                    for &item in items.iter().flatten() {
                        if let Expr::Name { name, .. } = elaborator.ast.expr(item) {
                            names.push((name, item, in_when));
                        }
                    }
                }
                _ => {}
            },
            StatementKind::For { body, .. } | StatementKind::While { body, .. } => {
                assigned_in(elaborator, body, in_when, names);
            }
            StatementKind::If {
                branches,
                otherwise,
            } => {
                for (_, body) in branches {
                    assigned_in(elaborator, body, in_when, names);
                }
                assigned_in(elaborator, otherwise, in_when, names);
            }
            StatementKind::When { branches } => {
                for (_, body) in branches {
                    assigned_in(elaborator, body, true, names);
                }
            }
            StatementKind::Call(_) | StatementKind::Return | StatementKind::Break => {}
        }
    }
}
