//! External functions that are part of daelight: elementary functions and texts.

use super::function::Function;
use super::instance::Variable;
use super::matrix::{self, Grid};
use super::scope::{Handle, NodeId};
use super::table::{Extrapolation, Smoothness, Table};
use super::value::Value;
use super::{Checked, Elaborator};
use crate::ast::{AstId, Expr, External};
use crate::diagnostic::{Code, Diagnostic};
use crate::model::Type;
use crate::source::Span;
use daelight_expr::BinaryOp;
use std::rc::Rc;

/// An external object of the model.
pub(super) enum Object {
    Table(Table),
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

    /// An object made by a call: a table of the library.
    pub(super) fn new_object(
        &mut self,
        class: NodeId,
        positional: &[AstId],
        named: &'a [(String, Span, AstId)],
        span: Span,
    ) -> Checked<Value> {
        let name: Rc<str> = self.node(class).path.clone();
        let constructor = self.element(class, "constructor");
        let made = constructor.and_then(|element| self.class_node(class, "constructor", &element));
        let Some(constructor) = made else {
            return Err(self.refuse_object(&name, span, "it has no constructor"));
        };
        let signature = self.signature(constructor);
        let arguments = self.arguments_of(&signature, positional, named, span)?;
        let table = match name.rsplit('.').next() {
            Some("ExternalCombiTable1D") => self.new_table(&arguments, [2, 3, 4, 5], None, span)?,
            Some("ExternalCombiTimeTable") => {
                self.new_table(&arguments, [2, 4, 5, 6], Some([3, 7]), span)?
            }
            Some("ExternalCombiTable2D") => {
                self.new_table(&arguments, [2, usize::MAX, 3, 4], None, span)?
            }
            _ => return Err(self.refuse_object(&name, span, "daelight knows tables only")),
        };
        self.objects.push(Object::Table(table));
        Ok(Value::Object(self.objects.len() - 1))
    }

    fn refuse_object(&mut self, name: &str, span: Span, why: &str) -> super::Reported {
        self.error(
            Diagnostic::error(
                Code::Unsupported,
                span,
                format!(
                    "an external object `{name}` is not supported{}",
                    self.place()
                ),
            )
            .label(why.to_string())
            .help("write the table or data as an expression"),
        )
    }

    /// A table from the arguments of its constructor: places of the matrix, the columns, smoothness and extrapolation, and of
    /// the times.
    fn new_table(
        &mut self,
        arguments: &[Option<Value>],
        places: [usize; 4],
        times: Option<[usize; 2]>,
        span: Span,
    ) -> Checked<Table> {
        let [matrix, columns, smoothness, extrapolation] = places;
        let number = |elaborator: &mut Self, at: usize| -> Checked<f64> {
            match arguments.get(at) {
                Some(Some(value)) => {
                    let expr = elaborator.scalar(value, span)?;
                    elaborator.known_scalar(expr, "the data of a table", span)
                }
                _ => Ok(0.0),
            }
        };
        let smoothness = Smoothness::from_number(number(self, smoothness)?);
        let extrapolation = Extrapolation::from_number(number(self, extrapolation)?);
        let (start, shift) = match times {
            Some([start, shift]) => (number(self, start)?, number(self, shift)?),
            None => (f64::NEG_INFINITY, 0.0),
        };
        let is_over_time = times.is_some();
        let grid = self.grid_of(arguments, matrix, span)?;
        let mut chosen = Vec::new();
        if let Some(Some(value)) = arguments.get(columns) {
            for &element in value.elements() {
                let column = self.known_scalar(element, "the columns of a table", span)?;
                chosen.push(column.max(1.0) as usize - 1);
            }
        }
        match (smoothness, extrapolation) {
            (Some(smoothness), Some(extrapolation)) => Ok(Table {
                grid,
                columns: chosen,
                smoothness,
                extrapolation,
                is_over_time,
                start,
                shift,
            }),
            _ => Err(self.refuse_object("table", span, "its smoothness is not known")),
        }
    }

    /// The numbers of a table, from its parameter or from a file.
    fn grid_of(&mut self, arguments: &[Option<Value>], matrix: usize, span: Span) -> Checked<Grid> {
        let text = |at: usize| match arguments.get(at) {
            Some(Some(Value::Text(text))) => text.clone(),
            _ => "NoName".into(),
        };
        let (name, file) = (text(0), text(1));
        if &*file != "NoName" && !file.trim().is_empty() {
            let last_texts: Vec<Rc<str>> = arguments
                .iter()
                .skip(2)
                .filter_map(|value| match value {
                    Some(Value::Text(text)) => Some(text.clone()),
                    _ => None,
                })
                .collect();
            let delimiter = last_texts.last().map_or(",", |text| text);
            let header = match arguments.last() {
                Some(Some(value)) if value.elements().len() == 1 => {
                    self.known(value.elements()[0]).unwrap_or(0.0)
                }
                _ => 0.0,
            };
            let bytes = match self.ast.data(&file) {
                Ok(bytes) => bytes,
                Err(why) => return Err(self.refuse_object(&file, span, &why)),
            };
            let lower = file.to_lowercase();
            let grid = match lower.ends_with(".mat") {
                true => matrix::read_binary(&bytes, &name),
                false => {
                    let text = String::from_utf8_lossy(&bytes);
                    match lower.ends_with(".csv") {
                        true => matrix::read_separated(&text, delimiter, header as usize),
                        false => matrix::read_text(&text, &name),
                    }
                }
            };
            return match grid {
                Some(grid) => Ok(grid),
                None => Err(self.refuse_object(
                    &file,
                    span,
                    &format!("no matrix `{name}` could be read from it"),
                )),
            };
        }
        let Some(Some(value)) = arguments.get(matrix) else {
            return Err(self.refuse_object("table", span, "it has no data"));
        };
        let value = value.clone();
        let &[n_rows, n_columns] = value.dims() else {
            return Err(self.refuse_object("table", span, "its data are no matrix"));
        };
        let mut data = Vec::with_capacity(n_rows * n_columns);
        for &element in value.elements() {
            data.push(self.known_scalar(element, "the data of a table", span)?);
        }
        Ok(Grid {
            n_rows,
            n_columns,
            data,
        })
    }

    /// The functions of tables.
    fn of_table(
        &mut self,
        name: &str,
        values: &[Option<Value>],
        span: Span,
    ) -> Checked<Option<Value>> {
        let Some(word) = name.strip_prefix("ModelicaStandardTables_") else {
            return Ok(None);
        };
        let Some(Some(Value::Object(at))) = values.first() else {
            return Ok(None);
        };
        let Object::Table(table) = &self.objects[*at];
        let table = table.clone();
        let n = table.grid.n_rows;
        let mut scalars = Vec::new();
        for value in values[1..].iter().flatten() {
            scalars.push(self.scalar(value, span)?);
        }
        let expr = match (word, scalars.as_slice()) {
            ("CombiTable1D_getValue", &[column, u]) => {
                let column = self.known_scalar(column, "the column of a table", span)?;
                self.table_value(&table, column.max(1.0) as usize - 1, u, span)
            }
            ("CombiTimeTable_getValue", &[column, time, ..]) => {
                let column = self.known_scalar(column, "the column of a table", span)?;
                self.time_table(&table, column.max(1.0) as usize - 1, time, span)
            }
            ("CombiTable2D_getValue", &[first, second]) => {
                self.table_value_2(&table, [first, second], span)
            }
            ("CombiTable1D_minimumAbscissa" | "CombiTimeTable_minimumTime", _) if n > 0 => {
                Some(self.graph.constant(table.grid.at(0, 0)))
            }
            ("CombiTable1D_maximumAbscissa" | "CombiTimeTable_maximumTime", _) if n > 0 => {
                Some(self.graph.constant(table.grid.at(n - 1, 0)))
            }
            ("CombiTable2D_minimumAbscissa" | "CombiTable2D_maximumAbscissa", _)
                if n > 1 && table.grid.n_columns > 1 =>
            {
                let last = word.contains("maximum");
                let (row, column) = match last {
                    true => (n - 1, table.grid.n_columns - 1),
                    false => (1, 1),
                };
                let pair = [table.grid.at(row, 0), table.grid.at(0, column)];
                let data = pair.iter().map(|&x| self.graph.constant(x)).collect();
                return Ok(Some(Value::vector(Type::Real, data)));
            }
            // The points of a table are switches of its expression: no other event is due, ever.
            ("CombiTimeTable_nextTimeEvent", _) => Some(self.graph.constant(f64::MAX)),
            _ => return Ok(None),
        };
        match expr {
            Some(expr) => Ok(Some(Value::Scalar(Type::Real, expr))),
            None => Err(self.refuse_object(
                word,
                span,
                &format!(
                    "{:?} interpolation with {:?} extrapolation",
                    table.smoothness, table.extrapolation
                ),
            )),
        }
    }

    /// A table over time: zero before its start, shifted.
    fn time_table(
        &mut self,
        table: &Table,
        column: usize,
        time: daelight_expr::ExprId,
        span: Span,
    ) -> Option<daelight_expr::ExprId> {
        let time = self.as_function_of_time(time);
        let shift = self.graph.constant(table.shift);
        let u = self.graph.sub(time, shift);
        let value = self.table_value(table, column, u, span)?;
        let start = self.graph.constant(table.start);
        let condition = self.graph.binary(BinaryOp::Less, time, start);
        self.discrete.relations.entry(condition).or_insert(span);
        let zero = self.graph.constant(0.0);
        Some(self.choose(Type::Real, condition, zero, value, span))
    }

    /// What an equation `v = …` of time and parameters alone says of a variable.
    fn as_function_of_time(&mut self, variable: daelight_expr::ExprId) -> daelight_expr::ExprId {
        let mut given = self.equations.iter().rev();
        let Some(equation) = given.find(|equation| equation.left == variable) else {
            return variable;
        };
        let right = equation.right;
        let symbols = self.walker.symbols(&self.graph, &[right]);
        let of_time = |id| {
            matches!(
                self.symbols.get(id),
                crate::model::Symbol::Time | crate::model::Symbol::Parameter(_)
            )
        };
        match symbols.into_iter().all(of_time) {
            true => right,
            false => variable,
        }
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
        if self.solve_linear(external, &values, call)? {
            return Ok(());
        }
        let result = match (external.language.as_str(), name) {
            ("builtin", name) => self.built_in_external(name, &values, call)?,
            (_, name) => match self.of_table(name, &values, call)? {
                Some(value) => Some(value),
                None => self.native(name, &values, call)?,
            },
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
    pub(super) fn native(
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
            "loadResource" => match text(0) {
                Some(uri) => Some(Reply::Text(self.ast.resource(&uri))),
                None => None,
            },
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

    pub(super) fn assign_external(
        &mut self,
        target: AstId,
        value: Value,
        span: Span,
    ) -> Checked<()> {
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
