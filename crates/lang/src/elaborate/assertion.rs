//! `assert(condition, text, level)`: what parameters decide is decided here, the rest is for the run.

use super::value::Value;
use super::{Checked, Elaborator};
use crate::ast::{AstId, Expr};
use crate::diagnostic::{Code, Diagnostic};
use crate::model::{Assertion, Type};
use daelight_expr::{BinaryOp, ExprId, Node, UnaryOp};

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
                .help(match name.as_str() {
                    "reinit" => "write `reinit(x, value)`",
                    _ => "write an equation `… = …`",
                }),
            ));
        }
        self.require_arity("assert", 2, 3, positional.len(), span)?;
        let value = self.eval(positional[0])?;
        let at = self.ast.span(positional[0]);
        self.require_type(&value, Type::Boolean, at)?;
        let condition = self.scalar(&value, at)?;
        let varies = self.varies(condition);
        let level = named.iter().find(|(name, ..)| name == "level");
        let level = level.map(|(_, _, level)| level).or(positional.get(2));
        let is_warning = level.is_some_and(|&level| self.is_warning(level));
        let text = self.message(positional[1]);
        let is_broken = !varies && self.parameter_value(condition) == 0.0 && self.is_reached();
        if is_broken && !is_warning {
            return Err(self.assertion_failed(positional, condition));
        }
        let asserted = |condition| Assertion {
            condition,
            text: text.clone(),
            is_error: !is_warning,
            span: at,
        };
        if varies && lasts {
            let condition = self.without_corners(condition);
            let asserted = asserted(condition);
            self.assertions.push(asserted);
        } else if is_broken && lasts {
            let asserted = asserted(condition);
            self.assertions.push(asserted);
        } else if !varies && !is_warning && !self.parameters_in(condition).is_empty() {
            let condition = self.where_reached(condition);
            let asserted = asserted(condition);
            self.demands.push(asserted);
        }
        Ok(())
    }

    /// A condition on parameters that has to hold only where they lead to the branch that is being read.
    fn where_reached(&mut self, condition: ExprId) -> ExprId {
        let path = self.path.clone();
        path.into_iter().fold(condition, |demanded, (step, holds)| {
            let elsewhere = match holds {
                true => self.graph.unary(UnaryOp::Not, step),
                false => step,
            };
            self.graph.binary(BinaryOp::Or, elsewhere, demanded)
        })
    }

    /// Whether the parameters lead to the branch that is being read.
    fn is_reached(&mut self) -> bool {
        let holds = |elaborator: &mut Self, (condition, holds): (ExprId, bool)| {
            let value = elaborator.parameter_value(condition);
            !value.is_nan() && (value != 0.0) == holds
        };
        let path = self.path.clone();
        path.into_iter().all(|step| holds(self, step))
    }

    /// The same condition without `abs`, whose corner no run resolves where its argument rests at zero:
    /// |x| < c is x < c and -c < x.
    fn without_corners(&mut self, condition: ExprId) -> ExprId {
        let (op, a, b) = match self.graph.node(condition) {
            Node::Unary(UnaryOp::Not, a) => {
                let inner = self.without_corners(a);
                return self.graph.unary(UnaryOp::Not, inner);
            }
            Node::Binary(op @ (BinaryOp::And | BinaryOp::Or), a, b) => {
                let (a, b) = (self.without_corners(a), self.without_corners(b));
                return self.graph.binary(op, a, b);
            }
            Node::Binary(op, a, b) => (op, a, b),
            _ => return condition,
        };
        let of_abs = |elaborator: &Self, expr: ExprId| match elaborator.graph.node(expr) {
            Node::Unary(UnaryOp::Abs, x) => Some(x),
            _ => None,
        };
        let is_less = matches!(op, BinaryOp::Less | BinaryOp::LessEqual);
        let is_greater = matches!(op, BinaryOp::Greater | BinaryOp::GreaterEqual);
        let (x, limit, joined) = match (of_abs(self, a), of_abs(self, b)) {
            (Some(x), None) if is_less => (x, b, BinaryOp::And),
            (Some(x), None) if is_greater => (x, b, BinaryOp::Or),
            (None, Some(x)) if is_greater => (x, a, BinaryOp::And),
            (None, Some(x)) if is_less => (x, a, BinaryOp::Or),
            _ => return condition,
        };
        let (first, second) = match of_abs(self, a).is_some() {
            true => {
                let opposite = self.graph.neg(x);
                (
                    self.graph.binary(op, x, limit),
                    self.graph.binary(op, opposite, limit),
                )
            }
            false => {
                let opposite = self.graph.neg(x);
                (
                    self.graph.binary(op, limit, x),
                    self.graph.binary(op, limit, opposite),
                )
            }
        };
        self.graph.binary(joined, first, second)
    }

    /// Whether a level is `AssertionLevel.warning`, written or the value of a parameter.
    pub(super) fn is_warning(&mut self, level: AstId) -> bool {
        let first = |value: Value| value.elements().first().copied();
        let level = self.eval(level).ok().and_then(first);
        level.is_some_and(|level| self.known(level) == Some(1.0))
    }

    /// A text that is known before the run, else what is written.
    fn message(&mut self, text: AstId) -> String {
        let n_errors = self.diagnostics.len();
        let value = self.eval(text);
        self.diagnostics.truncate(n_errors);
        match value {
            Ok(Value::Text(text)) => text.to_string(),
            _ => self.text_in(text),
        }
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
            Ok(Value::Text(text)) => text.to_string(),
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
