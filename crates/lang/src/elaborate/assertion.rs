//! `assert(condition, text, level)`: what parameters decide is decided here, the rest is for the run.

use super::{Checked, Elaborator};
use crate::ast::{AstId, Expr};
use crate::diagnostic::{Code, Diagnostic};
use crate::model::{Assertion, Type};
use daelight_expr::ExprId;

impl Elaborator<'_> {
    /// An assertion, checked at once where parameters settle it, else kept for the run if it `lasts`.
    pub(super) fn assertion(&mut self, call: AstId, lasts: bool) -> Checked<()> {
        let span = self.ast.span(call);
        let Expr::Call {
            name,
            name_span,
            positional,
            named,
        } = self.ast.expr(call)
        else {
            return Ok(());
        };
        if name != "assert" {
            return Err(self.error(
                Diagnostic::error(
                    Code::Unsupported,
                    *name_span,
                    format!("`{name}` has no meaning here"),
                )
                .label("a call whose result is not used")
                .help("write an equation `… = …`"),
            ));
        }
        self.require_arity("assert", 2, 3, positional.len(), span)?;
        let value = self.eval(positional[0])?;
        let at = self.ast.span(positional[0]);
        self.require_type(&value, Type::Boolean, at)?;
        let condition = self.scalar(&value, at)?;
        let varies = self.varies(condition);
        if !varies && self.parameter_value(condition) == 0.0 {
            return Err(self.assertion_failed(positional, condition));
        }
        if varies && lasts {
            let level = named.iter().find(|(name, ..)| name == "level");
            let level = level.map(|(_, _, level)| level).or(positional.get(2));
            let is_warning = level.is_some_and(|&level| {
                matches!(self.ast.expr(level), Expr::Name { name, .. } if name.ends_with("AssertionLevel.warning"))
            });
            self.assertions.push(Assertion {
                condition,
                text: self.text_in(positional[1]),
                is_error: !is_warning,
                span: at,
            });
        }
        Ok(())
    }

    /// What is written in a text; what is put together during a run is left open.
    fn text_in(&self, text: AstId) -> String {
        match self.ast.expr(text) {
            Expr::Text(text) => text.clone(),
            Expr::Chain { first, rest } => {
                let parts = std::iter::once(first).chain(rest.iter().map(|link| &link.operand));
                parts.map(|&part| self.text_in(part)).collect()
            }
            _ => "…".to_string(),
        }
    }

    fn assertion_failed(&mut self, positional: &[AstId], condition: ExprId) -> super::Reported {
        let text = match self.eval(positional[1]) {
            Ok(super::value::Value::Text(text)) => text.to_string(),
            Ok(_) => String::new(),
            Err(reported) => return reported,
        };
        let names = self.parameters_in(condition);
        let help = if names.is_empty() {
            "correct the condition, which holds for no value of the parameters".to_string()
        } else {
            format!("change {}", names.join(", "))
        };
        let at = self.ast.span(positional[0]);
        self.error(
            Diagnostic::error(
                Code::AssertionFailed,
                at,
                format!("assertion failed: {text}"),
            )
            .label("does not hold")
            .help(help),
        )
    }
}
