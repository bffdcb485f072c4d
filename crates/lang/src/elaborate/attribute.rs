//! Attributes of declarations, and the annotations that daelight reads.

use super::instance::{Instance, Variable};
use super::scope::Bound;
use super::value::Value;
use super::{Checked, Elaborator};
use crate::ast::{AstId, Expr, Modification};
use crate::diagnostic::{Code, Diagnostic, nearest};
use crate::model::{DeclaredKind, Experiment, Polyline, Symbol, Type};
use crate::source::Span;
use daelight_expr::ExprId;
use std::rc::Rc;

/// The attributes of Real. Those without an effect here are kept by other tools.
pub const ATTRIBUTES: &[&str] = &[
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
    /// Reads the attributes of a variable, wherever they are given.
    pub(super) fn attributes(&mut self, variable: &Rc<Variable<'a>>, index: usize) -> Checked<()> {
        let mut result = Ok(());
        for layer in &variable.layers {
            for item in layer.mods {
                if !ATTRIBUTES.contains(&item.name.as_str()) {
                    result = Err(self.unknown_attribute(item, index));
                }
            }
        }
        for name in ["unit", "start", "fixed", "nominal", "min", "max"] {
            if let Some(bound) = variable.attribute(name) {
                result = result.and(self.attribute(variable, index, name, &bound));
            }
        }
        result
    }

    /// The unit of a variable where it is a plain text. Parameters of components are declared when their values are first
    /// needed, after the attributes of the others were read.
    pub(super) fn written_unit(&self, variable: &Variable<'a>) -> String {
        match variable.attribute("unit") {
            Some(Bound::Expr { ast, .. }) => match self.ast.expr(ast) {
                Expr::Text(text) => text.clone(),
                _ => String::new(),
            },
            _ => String::new(),
        }
    }

    fn unknown_attribute(&mut self, item: &Modification, index: usize) -> super::Reported {
        let name = item.name.as_str();
        let begun = ATTRIBUTES.iter().find(|whole| whole.starts_with(name));
        let help = match nearest(name, ATTRIBUTES.iter().copied()) {
            _ if matches!(name, "init" | "initial" | "guess" | "value" | "ic") => {
                "did you mean `start`?".to_string()
            }
            Some(near) => format!("did you mean `{near}`?"),
            None => match begun {
                Some(whole) => format!("did you mean `{whole}`?"),
                None => format!("its attributes are {}", ATTRIBUTES[..6].join(", ")),
            },
        };
        let word = self.declarations[index].ty.word();
        self.error(
            Diagnostic::error(
                Code::UnknownAttribute,
                item.span,
                format!("`{word}` has no attribute `{name}`"),
            )
            .label("not an attribute")
            .help(help),
        )
    }

    fn attribute(
        &mut self,
        variable: &Rc<Variable<'a>>,
        index: usize,
        name: &str,
        bound: &Bound,
    ) -> Checked<()> {
        if name != "unit" {
            return self.numeric_attribute(variable, index, name, bound);
        }
        let before = self.diagnostics.len();
        let value = self.eval_bound(bound, 0);
        // A name that nobody declared, `unit = kg`, is a unit without its quotes.
        if value.is_err()
            && let [.., last] = &mut self.diagnostics[before..]
            && last.code == Code::UndeclaredName
        {
            last.help = Some("write the unit in quotes, for example unit = \"kg\"".into());
        }
        match value? {
            Value::Text(text) => {
                self.declarations[index].unit = text.to_string();
                Ok(())
            }
            // Units of an array, one for each element.
            Value::List(_) => Ok(()),
            _ => {
                let span = self.bound_span(bound);
                Err(self.error(
                    Diagnostic::error(Code::TypeMismatch, span, "a unit is written in quotes")
                        .label("not in quotes")
                        .help("write for example unit = \"m/s\""),
                ))
            }
        }
    }

    fn numeric_attribute(
        &mut self,
        variable: &Rc<Variable<'a>>,
        index: usize,
        name: &str,
        bound: &Bound,
    ) -> Checked<()> {
        let span = self.bound_span(bound);
        let value = self.eval_bound(bound, variable.dims.len())?;
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
            let name_span = variable.declaration.name_span;
            return Err(self.size_conflict(&variable.name, name_span, &dims, &value, span));
        }
        let is_default = name == "start" && !self.is_of_model(bound);
        let count: usize = dims.iter().product();
        for position in 0..count {
            let element = if value.dims().is_empty() { 0 } else { position };
            let expr = value.elements()[element];
            if self.varies(expr) {
                if matches!(name, "start" | "nominal") && self.rests(expr) {
                    continue;
                }
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
            if matches!(name, "start" | "fixed") && kind == DeclaredKind::Unknown {
                self.note_start(first + position, name, is_default, span);
            }
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

    /// Notes who gave a start value or `fixed`, and where, if that is not in the declaration.
    fn note_start(&mut self, unknown: usize, name: &str, is_default: bool, span: Span) {
        let unknown = &mut self.unknowns[unknown];
        if name == "start" {
            unknown.start_is_default = is_default;
        }
        let declared = self.declarations[unknown.declaration].span;
        let is_inside = declared.start <= span.start && span.end <= declared.end;
        if span.source != declared.source || !is_inside {
            unknown.start_span.get_or_insert(span);
        }
    }

    /// Whether a value was written in the model itself, or is that of a parameter whose value was.
    fn is_of_model(&mut self, bound: &Bound) -> bool {
        let mut bound = bound.clone();
        // A chain of parameters, each with the name of the next as its value.
        for _ in 0..super::MAX_DEPTH {
            let Bound::Expr { ast, part, .. } = bound else {
                return false;
            };
            if self.part(part).node == self.root {
                return true;
            }
            let Expr::Name { name, path, .. } = self.ast.expr(ast) else {
                return false;
            };
            let found = match path {
                None => self.find(part, name),
                Some(_) => None,
            };
            let Some((node, _)) = found else {
                return false;
            };
            let Ok(Instance::Variable(entry)) = self.instance(node, name) else {
                return false;
            };
            match &self.entries[entry].variable.value {
                Some(next) => bound = next.clone(),
                None => return false,
            }
        }
        false
    }

    /// Whether an expression depends on parameters alone, those computed at the start included.
    pub(super) fn rests(&mut self, expr: ExprId) -> bool {
        let resting: Vec<usize> = self
            .resting
            .iter()
            .filter_map(
                |(rate, _)| match self.symbols.get(self.graph.as_symbol(*rate)?) {
                    Symbol::Unknown { unknown, .. } => Some(unknown),
                    _ => None,
                },
            )
            .collect();
        let symbols = self.walker.symbols(&self.graph, &[expr]);
        symbols.into_iter().all(|id| match self.symbols.get(id) {
            Symbol::Parameter(_) => true,
            Symbol::Unknown { unknown, .. } => resting.contains(&unknown),
            _ => false,
        })
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

    /// An annotation of the class, or of the nearest base that has it.
    fn annotation(&self, name: &str) -> Option<&'a Modification> {
        let parts = self.node(self.root).parts.iter().rev();
        parts
            .filter_map(|&part| self.part(part).class)
            .flat_map(|class| &class.annotations)
            .find(|annotation| annotation.name == name)
    }

    /// Warns of a misspelt entry of `experiment`: the run would silently be another one. Entries of other tools pass.
    fn unknown_entry(&mut self, name: &str, span: Span) {
        if name == "__daelight" {
            self.error(
                Diagnostic::warning(
                    Code::UnknownAttribute,
                    span,
                    "`__daelight` stands inside `experiment`, so it is left out",
                )
                .label("not read here")
                .help("close `experiment(…)` before it"),
            );
            return;
        }
        if let Some(near) = nearest(name, ["StartTime", "StopTime", "Tolerance", "Interval"]) {
            self.error(
                Diagnostic::warning(
                    Code::UnknownAttribute,
                    span,
                    format!("`experiment` has no entry `{name}`, so it is left out"),
                )
                .label("not known")
                .help(format!("did you mean `{near}`?")),
            );
        }
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
                other => {
                    self.unknown_entry(other, item.span);
                    continue;
                }
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
