//! Attributes of declarations, and the annotations that daelight reads.

use super::value::Value;
use super::{Checked, Elaborator};
use crate::ast::{AstId, Declaration, Expr, Modification};
use crate::diagnostic::{Code, Diagnostic, nearest};
use crate::model::{DeclaredKind, Experiment, Polyline, Type};
use crate::source::Span;
use daelight_expr::ExprId;

/// The attributes of Real. Those without an effect here are kept by other tools.
const ATTRIBUTES: &[&str] = &[
    "start",
    "fixed",
    "nominal",
    "min",
    "max",
    "unit",
    "displayUnit",
    "quantity",
    "stateSelect",
    "unbounded",
];

impl<'a> Elaborator<'a> {
    pub(super) fn attributes(&mut self, declaration: &'a Declaration, index: usize) -> Checked<()> {
        let resolved = self.resolve_type(declaration)?;
        // Aliases come first, so that the declaration itself has the last word.
        let all: Vec<&'a Modification> = resolved
            .attributes
            .iter()
            .rev()
            .copied()
            .chain(&declaration.modifications)
            .collect();
        let mut result = Ok(());
        for modification in all {
            result = result.and(self.attribute(declaration, index, modification));
        }
        result
    }

    fn attribute(
        &mut self,
        declaration: &Declaration,
        index: usize,
        modification: &'a Modification,
    ) -> Checked<()> {
        let name = modification.name.as_str();
        if !ATTRIBUTES.contains(&name) {
            let help = match nearest(name, ATTRIBUTES.iter().copied()) {
                _ if matches!(name, "init" | "initial" | "guess" | "value" | "ic") => {
                    "did you mean `start`?".to_string()
                }
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("its attributes are {}", ATTRIBUTES[..6].join(", ")),
            };
            return Err(self.error(
                Diagnostic::error(
                    Code::UnknownAttribute,
                    modification.span,
                    format!(
                        "`{}` has no attribute `{name}`",
                        self.declarations[index].ty.word()
                    ),
                )
                .label("not an attribute")
                .help(help),
            ));
        }
        let Some(value) = modification.value else {
            return Ok(());
        };
        match name {
            "unit" => {
                if let Value::Text(text) = self.eval(value)? {
                    self.declarations[index].unit = text.to_string();
                    return Ok(());
                }
                let span = self.ast.span(value);
                Err(self.error(
                    Diagnostic::error(Code::TypeMismatch, span, "a unit is a text")
                        .label("not a text")
                        .help("write it in quotes, for example unit = \"m/s\""),
                ))
            }
            "start" | "fixed" | "nominal" | "min" | "max" => {
                self.numeric_attribute(declaration, index, name, value)
            }
            _ => Ok(()),
        }
    }

    fn numeric_attribute(
        &mut self,
        declaration: &Declaration,
        index: usize,
        name: &str,
        ast: AstId,
    ) -> Checked<()> {
        let span = self.ast.span(ast);
        let value = self.eval(ast)?;
        let is_fixed = name == "fixed";
        let wanted = if is_fixed || self.declarations[index].ty == Type::Boolean {
            Type::Boolean
        } else {
            Type::Real
        };
        if is_fixed && value.ty() != Some(Type::Boolean) {
            let found = value.describe();
            return Err(self.error(
                Diagnostic::error(
                    Code::TypeMismatch,
                    span,
                    format!("`fixed` is a truth value, found {found}"),
                )
                .label(found)
                .help("write true or false"),
            ));
        }
        self.require_type(&value, wanted, span)?;
        let declared = &self.declarations[index];
        let (dims, first, kind) = (declared.dims.clone(), declared.first, declared.kind);
        if !value.dims().is_empty() && !value.fits(&dims) {
            return Err(self.size_conflict(declaration, &dims, &value, span));
        }
        let count: usize = dims.iter().product();
        for position in 0..count {
            let element = if value.dims().is_empty() { 0 } else { position };
            let expr = value.elements()[element];
            if self.varies(expr) {
                return Err(self.error(
                    Diagnostic::error(
                        Code::NotConstant,
                        span,
                        format!("the attribute `{name}` changes during a run"),
                    )
                    .label("depends on time or on a variable")
                    .help("use numbers and parameters only"),
                ));
            }
            self.check_attribute(name, expr, span)?;
            match kind {
                DeclaredKind::Unknown => self.set_attribute(first + position, name, expr),
                DeclaredKind::Parameter if name == "min" => {
                    self.parameters[first + position].min = Some(expr);
                }
                DeclaredKind::Parameter if name == "max" => {
                    self.parameters[first + position].max = Some(expr);
                }
                // The start of an input is its default.
                DeclaredKind::Input if name == "start" => {
                    let definition = &mut self.inputs[first + position].definition;
                    *definition = definition.or(Some(expr));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Attributes are finite; a nominal value is not zero. Bounds may be as large as they like.
    fn check_attribute(&mut self, name: &str, expr: ExprId, span: Span) -> Checked<()> {
        let value = self.parameter_value(expr);
        let wrong = if value.is_nan() || (value.is_infinite() && !matches!(name, "min" | "max")) {
            "not a finite number"
        } else if name == "nominal" && value == 0.0 {
            "zero"
        } else {
            return Ok(());
        };
        Err(self.error(
            Diagnostic::error(
                Code::BadValue,
                span,
                format!("the attribute `{name}` is {wrong}"),
            )
            .label(format!("evaluates to {value}"))
            .help(if name == "nominal" {
                "give the typical magnitude".to_string()
            } else {
                format!("give `{name}` a finite value")
            }),
        ))
    }

    fn set_attribute(&mut self, unknown: usize, name: &str, expr: ExprId) {
        let value = self.parameter_value(expr);
        let unknown = &mut self.unknowns[unknown];
        match name {
            "start" => unknown.start = Some(expr),
            "fixed" => unknown.fixed = value != 0.0,
            "nominal" => unknown.nominal = Some(expr),
            "min" => unknown.min = Some(expr),
            _ => unknown.max = Some(expr),
        }
    }

    fn annotation(&self, name: &str) -> Option<&'a Modification> {
        self.class
            .annotations
            .iter()
            .find(|annotation| annotation.name == name)
    }

    /// Start, stop, tolerance and interval of the `experiment` annotation.
    pub(super) fn experiment(&mut self) -> Experiment {
        let mut experiment = Experiment::default();
        let Some(annotation) = self.annotation("experiment") else {
            return experiment;
        };
        for item in &annotation.nested {
            let slot = match item.name.as_str() {
                "StartTime" => &mut experiment.start_time,
                "StopTime" => &mut experiment.stop_time,
                "Tolerance" => &mut experiment.tolerance,
                "Interval" => &mut experiment.interval,
                _ => continue,
            };
            if let Some(value) = item.value
                && let Ok(number) = self.eval_known(value, "the experiment")
            {
                *slot = Some(number);
            }
        }
        for (name, value, positive) in [
            ("StartTime", experiment.start_time, false),
            ("StopTime", experiment.stop_time, false),
            ("Tolerance", experiment.tolerance, true),
            ("Interval", experiment.interval, true),
        ] {
            if value.is_some_and(|value| !value.is_finite() || (positive && value <= 0.0)) {
                self.error(
                    Diagnostic::error(
                        Code::BadValue,
                        annotation.span,
                        format!("{name} of the experiment is {}", value.unwrap_or(f64::NAN)),
                    )
                    .label("in this annotation")
                    .help(if positive {
                        "give a positive number"
                    } else {
                        "give a finite number"
                    }),
                );
            }
        }
        experiment
    }

    /// The polylines of `__daelight(draw = {{point, …}, …})`; the energy beside them takes the place of that of `lagrange`.
    pub(super) fn drawing(&mut self) -> Vec<Polyline> {
        let mut drawing = Vec::new();
        let Some(annotation) = self.annotation("__daelight") else {
            return drawing;
        };
        for item in &annotation.nested {
            match (item.name.as_str(), item.value) {
                ("draw", Some(value)) => {
                    // A mistake has been reported; there is no drawing then.
                    let _ = self.polylines(value, &mut drawing);
                }
                ("energy", Some(value)) => {
                    if let Ok(energy) = self.energy(value) {
                        self.energy = Some(energy);
                    }
                }
                ("draw" | "energy", None) => {}
                (other, _) => {
                    self.error(
                        Diagnostic::error(
                            Code::UnknownAttribute,
                            item.span,
                            format!("`__daelight` has no entry `{other}`"),
                        )
                        .label("not known")
                        .help("its entries are draw = {{point, point, …}, …} and energy = T + V"),
                    );
                }
            }
        }
        drawing
    }

    fn polylines(&mut self, value: AstId, drawing: &mut Vec<Polyline>) -> Checked<()> {
        match self.ast.expr(value) {
            Expr::Array(items) => {
                for &item in items {
                    let polyline = self.polyline(item)?;
                    drawing.push(polyline);
                }
                Ok(())
            }
            // One polyline per value of the loop variable.
            _ => {
                let span = self.ast.span(value);
                let lines = self.eval(value)?;
                match lines.dims() {
                    &[_, points, coordinates] if (2..=3).contains(&coordinates) => {
                        if points * coordinates > 0 {
                            for line in lines.elements().chunks(points * coordinates) {
                                drawing.push(
                                    line.chunks(coordinates).map(<[ExprId]>::to_vec).collect(),
                                );
                            }
                        }
                        Ok(())
                    }
                    _ => Err(self.not_a_polyline(&lines, span)),
                }
            }
        }
    }

    /// A list of points, each a vector; an array of points is spliced in.
    fn polyline(&mut self, id: AstId) -> Checked<Polyline> {
        let items: Vec<AstId> = match self.ast.expr(id) {
            Expr::Array(items) => items.clone(),
            _ => vec![id],
        };
        let mut points: Polyline = Vec::new();
        for item in items {
            let span = self.ast.span(item);
            let value = self.eval(item)?;
            self.require_type(&value, Type::Real, span)?;
            match value.dims() {
                [2 | 3] => points.push(value.elements().to_vec()),
                &[_, coordinates] if (2..=3).contains(&coordinates) => {
                    points.extend(value.elements().chunks(coordinates).map(<[ExprId]>::to_vec));
                }
                _ => return Err(self.not_a_polyline(&value, span)),
            }
        }
        Ok(points)
    }

    fn not_a_polyline(&mut self, value: &Value, span: Span) -> super::Reported {
        let found = value.describe();
        self.error(
            Diagnostic::error(
                Code::WrongSize,
                span,
                format!("{found} is not a point of a drawing"),
            )
            .label(found)
            .help("a point is {x, y} or {x, y, z}; a polyline is a list of points"),
        )
    }
}
