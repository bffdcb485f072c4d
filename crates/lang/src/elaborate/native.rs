//! External functions that are part of daelight: elementary functions and texts.

use super::function::Function;
use super::instance::Variable;
use super::scope::{Handle, NodeId};
use super::value::Value;
use super::{Checked, Elaborator};
use crate::ast::{AstId, Expr, External};
use crate::diagnostic::{Code, Diagnostic};
use crate::model::Type;
use crate::source::Span;
use daelight_expr::BinaryOp;
use std::rc::Rc;

/// An external object of the model.
pub(super) struct Object {
    /// The class of the object.
    #[expect(dead_code, reason = "tables read it")]
    pub class: Rc<str>,
}

impl<'a> Elaborator<'a> {
    /// An external object: its constructor is called once.
    pub(super) fn declared_object(
        &mut self,
        _entry: usize,
        variable: &Rc<Variable<'a>>,
        handle: &Handle<'a>,
    ) -> Checked<Value> {
        match &variable.value {
            Some(bound) => self.eval_bound(bound, 0),
            None => Err(self.error(
                Diagnostic::error(
                    Code::MissingValue,
                    variable.declaration.name_span,
                    format!("object `{}` has no value", variable.name),
                )
                .label(format!(
                    "an object of `{}` is made by a call",
                    handle.class.name
                ))
                .help(format!("write `= {}(…)`", handle.class.name)),
            )),
        }
    }

    pub(super) fn new_object(
        &mut self,
        class: NodeId,
        _positional: &[AstId],
        _named: &'a [(String, Span, AstId)],
        span: Span,
    ) -> Checked<Value> {
        let name: Rc<str> = self.node(class).path.clone();
        Err(self.error(
            Diagnostic::error(
                Code::Unsupported,
                span,
                format!(
                    "external objects of `{name}` are not supported{}",
                    self.place()
                ),
            )
            .label("made here")
            .help("write the table or data as an expression"),
        ))
    }

    /// Runs an external function on the locals of its frame.
    pub(super) fn external(
        &mut self,
        function: &Function<'a>,
        external: &'a External,
        call: Span,
    ) -> Checked<()> {
        let name = external.name.as_deref().unwrap_or(function.name);
        let mut values = Vec::with_capacity(external.arguments.len());
        if external.name.is_some() {
            for &argument in &external.arguments {
                // Outputs are passed by their place.
                values.push(self.eval_quietly(argument));
            }
        } else {
            values = self.inputs_of(function);
        }
        let result = match (external.language.as_str(), name) {
            ("builtin", name) => self.built_in_external(name, &values, call)?,
            (_, name) => self.native(name, &values, call)?,
        };
        let Some(value) = result else {
            return Err(self.error(
                Diagnostic::error(
                    Code::Unsupported,
                    external.span,
                    format!(
                        "the external function `{name}` is not supported{}",
                        self.place()
                    ),
                )
                .label("called")
                .related(call, "from here")
                .help("write the function in Modelica"),
            ));
        };
        match external.result {
            Some(target) => self.assign_external(target, value, call),
            None => self.assign_first_output(function, value, call),
        }
    }

    fn built_in_external(
        &mut self,
        name: &str,
        values: &[Option<Value>],
        span: Span,
    ) -> Checked<Option<Value>> {
        if let (Some(op), [Some(value)]) = (Self::elementary_named(name), values) {
            return self.elementary_of(op, value, span).map(Some);
        }
        if let ("atan2", [Some(a), Some(b)]) = (name, values) {
            let (a, b) = (self.scalar(a, span)?, self.scalar(b, span)?);
            let expr = self.graph.binary(BinaryOp::Atan2, a, b);
            let expr = self.mark(expr, span);
            return Ok(Some(Value::Scalar(Type::Real, expr)));
        }
        Ok(None)
    }

    /// Functions of texts that libraries call while a model is made.
    fn native(
        &mut self,
        name: &str,
        values: &[Option<Value>],
        span: Span,
    ) -> Checked<Option<Value>> {
        let text = |at: usize| match values.get(at) {
            Some(Some(Value::Text(text))) => Some(text.clone()),
            _ => None,
        };
        let mut number = |at: usize| match values.get(at) {
            Some(Some(value)) if value.elements().len() == 1 => self.known(value.elements()[0]),
            _ => None,
        };
        let result = match name {
            "ModelicaStrings_length" => text(0).map(|text| Reply::Number(text.len() as f64)),
            "ModelicaStrings_isEmpty" => text(0).map(|text| Reply::Truth(text.trim().is_empty())),
            "ModelicaStrings_substring" => {
                let (from, to) = (number(1), number(2));
                match (text(0), from, to) {
                    (Some(text), Some(from), Some(to)) => {
                        let from = (from.max(1.0) as usize - 1).min(text.len());
                        let to = (to.max(0.0) as usize).clamp(from, text.len());
                        Some(Reply::Text(text.get(from..to).unwrap_or("").to_string()))
                    }
                    _ => None,
                }
            }
            "ModelicaStrings_compare" => {
                let cased = number(2).unwrap_or(1.0) != 0.0;
                match (text(0), text(1)) {
                    (Some(a), Some(b)) => {
                        let order = match cased {
                            true => a.cmp(&b),
                            false => a.to_lowercase().cmp(&b.to_lowercase()),
                        };
                        // Less, Equal, Greater are the first three values of the enumeration.
                        Some(Reply::Number(order as i32 as f64 + 2.0))
                    }
                    _ => None,
                }
            }
            "ModelicaStrings_skipWhiteSpace" => {
                let from = number(1).unwrap_or(1.0);
                text(0).map(|text| {
                    let start = (from.max(1.0) as usize - 1).min(text.len());
                    let rest = text.get(start..).unwrap_or("");
                    let skipped = rest.len() - rest.trim_start().len();
                    Reply::Number((start + skipped + 1) as f64)
                })
            }
            "ModelicaInternal_print" => Some(Reply::Number(0.0)),
            "ModelicaInternal_fullPathName" => text(0).map(|text| Reply::Text(text.to_string())),
            _ => return Ok(None),
        };
        match result {
            Some(Reply::Number(number)) => Ok(Some(Value::Scalar(
                Type::Integer,
                self.graph.constant(number),
            ))),
            Some(Reply::Truth(truth)) => Ok(Some(Value::Scalar(
                Type::Boolean,
                self.graph.constant(f64::from(u8::from(truth))),
            ))),
            Some(Reply::Text(text)) => Ok(Some(Value::Text(text.into()))),
            None => Err(self.error(
                Diagnostic::error(
                    Code::NotConstant,
                    span,
                    format!("the arguments of `{name}` must be known before the run"),
                )
                .label("called here")
                .help("use texts and parameters only"),
            )),
        }
    }

    /// An argument of an external function; `None` where it is an output without a value.
    fn eval_quietly(&mut self, argument: AstId) -> Option<Value> {
        let n = self.diagnostics.len();
        let value = self.eval(argument).ok();
        if value.is_none() {
            self.diagnostics.truncate(n);
        }
        value
    }

    fn assign_external(&mut self, target: AstId, value: Value, span: Span) -> Checked<()> {
        match self.ast.expr(target) {
            Expr::Name { .. } => self.assign_value(target, value, span),
            _ => Ok(()),
        }
    }
}

enum Reply {
    Number(f64),
    Truth(bool),
    Text(String),
}
