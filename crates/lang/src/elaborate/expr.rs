//! Expressions: names, subscripts, operators, conditions, arrays, ranges and comprehensions.

use super::value::{Array, Value, common, describe_dims};
use super::{Checked, Elaborator, MAX_DEPTH, Reported, State};
use crate::ast::{Arithmetic, AstId, Expr, Iterator, Relation};
use crate::diagnostic::{Code, Diagnostic};
use crate::model::{Symbol, Type};
use crate::source::Span;
use daelight_expr::{BinaryOp, ExprId, UnaryOp};
use std::rc::Rc;
use std::sync::Arc;

impl<'a> Elaborator<'a> {
    /// The value of an expression.
    pub(super) fn eval(&mut self, id: AstId) -> Checked<Value> {
        let span = self.ast.span(id);
        self.step(1, span)?;
        if self.depth >= MAX_DEPTH {
            self.stopped = true;
            return Err(self.error(
                Diagnostic::error(
                    Code::NestingTooDeep,
                    span,
                    format!("more than {MAX_DEPTH} levels of expressions and calls"),
                )
                .label("this level is one too many")
                .help("name a part of the expression with a variable of its own"),
            ));
        }
        self.depth += 1;
        let value = self.eval_inner(id, span);
        self.depth -= 1;
        value
    }

    fn eval_inner(&mut self, id: AstId, span: Span) -> Checked<Value> {
        let ast = self.ast;
        match ast.expr(id) {
            &Expr::Number(value) => Ok(self.number(value)),
            &Expr::Boolean(value) => Ok(Value::Scalar(
                Type::Boolean,
                self.graph.constant(f64::from(u8::from(value))),
            )),
            Expr::Text(text) => Ok(Value::Text(text.as_str().into())),
            Expr::Name { name, subscripts } => self.eval_name(name, subscripts, span),
            &Expr::Sign { negative, operand } => self.eval_sign(negative, operand),
            &Expr::Not(operand) => self.eval_not(operand),
            Expr::Chain { first, rest } => self.eval_chain(*first, rest),
            &Expr::Power {
                base,
                exponent,
                elementwise,
            } => self.eval_power(base, exponent, elementwise, span),
            &Expr::Relation { op, left, right } => self.eval_relation(op, left, right, span),
            Expr::And(items) => self.eval_logical(BinaryOp::And, items),
            Expr::Or(items) => self.eval_logical(BinaryOp::Or, items),
            Expr::If {
                branches,
                otherwise,
            } => self.eval_if(branches, *otherwise, span),
            Expr::Call {
                name,
                name_span,
                positional,
                named,
            } => self.eval_call(name, *name_span, positional, named, span),
            Expr::Array(items) => self.eval_array(items, span),
            Expr::Comprehension {
                reduction,
                body,
                iterators,
            } => self.eval_comprehension(reduction.as_ref(), *body, iterators, span),
            Expr::Matrix(rows) => self.eval_matrix(rows, span),
            &Expr::Range { start, step, stop } => self.eval_range(start, step, stop, span),
            Expr::Colon => Err(self.error(
                Diagnostic::error(Code::Syntax, span, "`:` alone is no value")
                    .label("only a subscript can be `:`")
                    .help("write a range such as 1:3"),
            )),
            Expr::End => match self.ends.last() {
                Some(&size) => Ok(self.number(size as f64)),
                None => Err(self.error(
                    Diagnostic::error(Code::Syntax, span, "`end` stands outside a subscript")
                        .label("no array to end here")
                        .help("write the subscript as a number"),
                )),
            },
        }
    }

    /// A number: whole ones can be used as subscripts.
    pub(super) fn number(&mut self, value: f64) -> Value {
        let ty = if value.fract() == 0.0 && value.abs() < 9e15 {
            Type::Integer
        } else {
            Type::Real
        };
        Value::Scalar(ty, self.graph.constant(value))
    }

    /// The value of an expression that must be known before a run.
    pub(super) fn eval_known(&mut self, id: AstId, what: &str) -> Checked<f64> {
        let value = self.eval(id)?;
        let span = self.ast.span(id);
        let expr = self.scalar(&value, span)?;
        self.known_scalar(expr, what, span)
    }

    pub(super) fn known_scalar(&mut self, expr: ExprId, what: &str, span: Span) -> Checked<f64> {
        match self.known(expr) {
            Some(value) => Ok(value),
            None => Err(self.error(
                Diagnostic::error(
                    Code::NotConstant,
                    span,
                    format!("{what} must be known before the run"),
                )
                .label("depends on time or on a variable")
                .help("use numbers and parameters only"),
            )),
        }
    }

    /// The one element of a scalar value.
    pub(super) fn scalar(&mut self, value: &Value, span: Span) -> Checked<ExprId> {
        match value {
            Value::Scalar(_, expr) => Ok(*expr),
            other => {
                let found = other.describe();
                Err(self.error(
                    Diagnostic::error(
                        Code::WrongSize,
                        span,
                        format!("expected a scalar, found {found}"),
                    )
                    .label(found)
                    .help("choose an element with a subscript, or use sum(…)"),
                ))
            }
        }
    }

    /// Rejects texts and truth values where numbers are needed, and the other way round.
    pub(super) fn require_type(&mut self, value: &Value, wanted: Type, span: Span) -> Checked<()> {
        let fits = match (value.ty(), wanted) {
            (Some(Type::Boolean), Type::Boolean) => true,
            (Some(Type::Boolean), _) | (_, Type::Boolean) | (None, _) => false,
            _ => true,
        };
        if fits {
            return Ok(());
        }
        let found = value.describe();
        let (needed, help) = match wanted {
            Type::Boolean => ("a truth value", "compare it, for example `x > 0`"),
            _ if value.ty().is_none() => ("a number", "write it without quotation marks"),
            _ => (
                "a number",
                "write `if … then 1 else 0` to make a number of a condition",
            ),
        };
        Err(self.error(
            Diagnostic::error(
                Code::TypeMismatch,
                span,
                format!("expected {needed}, found {found}"),
            )
            .label(found)
            .help(help),
        ))
    }

    fn eval_number(&mut self, id: AstId) -> Checked<Value> {
        let value = self.eval(id)?;
        let span = self.ast.span(id);
        self.require_type(&value, Type::Real, span)?;
        Ok(value)
    }

    fn eval_condition(&mut self, id: AstId) -> Checked<ExprId> {
        let value = self.eval(id)?;
        let span = self.ast.span(id);
        self.require_type(&value, Type::Boolean, span)?;
        self.scalar(&value, span)
    }

    // ---- names -------------------------------------------------------------------------------

    fn eval_name(&mut self, name: &str, subscripts: &[AstId], span: Span) -> Checked<Value> {
        if let Some(value) = self.local_elements(name, subscripts, span)? {
            return Ok(value);
        }
        let value = self.lookup(name, span)?;
        if subscripts.is_empty() {
            Ok(value)
        } else {
            self.select(&value, subscripts, name, span)
        }
    }

    /// What a name stands for: loop variable, local of a function, declaration, time, constant.
    pub(super) fn lookup(&mut self, name: &str, span: Span) -> Checked<Value> {
        if let Some((_, value)) = self
            .loops
            .iter()
            .rev()
            .find(|(loop_name, _)| **loop_name == *name)
        {
            return Ok(value.clone());
        }
        if let Some(value) = self.lookup_local(name, span)? {
            return Ok(value);
        }
        if self.frame.is_none()
            && let Some(&entry) = self.by_name.get(name)
        {
            let entry = &mut self.entries[entry];
            entry.used = true;
            return match &entry.state {
                State::Ready(value) => Ok(value.clone()),
                State::Broken => Err(Reported),
                State::Pending => {
                    let message = format!("`{name}` is a variable, not known before the run");
                    Err(self.error(
                        Diagnostic::error(Code::NotConstant, span, message)
                            .label("needed here for a size or a parameter")
                            .help("use parameters and constants only"),
                    ))
                }
            };
        }
        if name == "time" {
            let id = self.symbols.id(Symbol::Time);
            return Ok(Value::Scalar(Type::Real, self.graph.symbol(id)));
        }
        if let Some(value) = self.library_constant(name) {
            return Ok(Value::Scalar(Type::Real, self.graph.constant(value)));
        }
        Err(self.undeclared(name, span))
    }

    /// Constants of the Modelica Standard Library, by full or imported name.
    fn library_constant(&self, name: &str) -> Option<f64> {
        let path = match name.split_once('.') {
            None => self.imports.get(name)?.to_string(),
            Some((head, rest)) => match self.imports.get(head) {
                Some(path) => format!("{path}.{rest}"),
                None => name.to_string(),
            },
        };
        Some(match path.strip_prefix("Modelica.Constants.")? {
            "pi" => std::f64::consts::PI,
            "e" => std::f64::consts::E,
            "D2R" => std::f64::consts::PI / 180.0,
            "R2D" => 180.0 / std::f64::consts::PI,
            "eps" => f64::EPSILON,
            "small" => 1e-60,
            "inf" => 1e60,
            "g_n" => 9.80665,
            "c" => 299_792_458.0,
            "h" => 6.626_070_15e-34,
            "k" => 1.380_649e-23,
            "R" => 8.314_462_618_153_24,
            "N_A" => 6.022_140_76e23,
            "F" => 96_485.332_123_310_02,
            "sigma" => 5.670_374_419_184_43e-8,
            "T_zero" => -273.15,
            _ => return None,
        })
    }

    /// Elements and slices of an array.
    pub(super) fn select(
        &mut self,
        value: &Value,
        subscripts: &[AstId],
        name: &str,
        span: Span,
    ) -> Checked<Value> {
        let Value::Array(array) = value else {
            return Err(self.error(
                Diagnostic::error(
                    Code::WrongSubscript,
                    span,
                    format!("`{name}` is not an array"),
                )
                .label("has a subscript")
                .help("remove the subscript"),
            ));
        };
        if subscripts.len() > array.dims.len() {
            return Err(self.error(
                Diagnostic::error(
                    Code::WrongSubscript,
                    span,
                    format!(
                        "`{name}` is {}, {} subscripts are too many",
                        describe_dims(&array.dims),
                        subscripts.len()
                    ),
                )
                .label(describe_dims(&array.dims))
                .help(match array.dims.len() {
                    1 => "use one subscript".to_string(),
                    most => format!("use at most {most} subscripts"),
                }),
            ));
        }
        // The common case of one element needs no lists.
        let mut offset = 0;
        let mut picks: Vec<Option<Vec<usize>>> = Vec::with_capacity(array.dims.len());
        for (position, &size) in array.dims.iter().enumerate() {
            let pick = match subscripts.get(position) {
                None => Pick::All,
                Some(&subscript) => self.pick(subscript, size, name)?,
            };
            offset *= size;
            match pick {
                Pick::One(index) => {
                    offset += index;
                    picks.push(None);
                }
                Pick::Many(indices) => picks.push(Some(indices)),
                Pick::All => picks.push(Some((0..size).collect())),
            }
        }
        if picks.iter().all(Option::is_none) {
            return Ok(Value::Scalar(array.ty, array.data[offset]));
        }
        let dims: Vec<usize> = picks.iter().flatten().map(Vec::len).collect();
        self.step(dims.iter().product::<usize>() as u64, span)?;
        let mut offsets = vec![offset];
        let mut stride: usize = array.dims.iter().product();
        for (pick, &size) in picks.iter().zip(&array.dims) {
            stride /= size.max(1);
            if let Some(indices) = pick {
                offsets = offsets
                    .iter()
                    .flat_map(|&base| indices.iter().map(move |&index| base + index * stride))
                    .collect();
            }
        }
        let data = offsets.into_iter().map(|at| array.data[at]).collect();
        Ok(Value::shaped(array.ty, dims, data))
    }

    fn pick(&mut self, subscript: AstId, size: usize, name: &str) -> Checked<Pick> {
        let span = self.ast.span(subscript);
        if matches!(self.ast.expr(subscript), Expr::Colon) {
            return Ok(Pick::All);
        }
        if let Some(value) = self.plain_number(subscript) {
            return Ok(Pick::One(self.position(value, size, name, span)?));
        }
        self.ends.push(size);
        let value = self.eval(subscript);
        self.ends.pop();
        let value = value?;
        self.require_type(&value, Type::Integer, span)?;
        match &value {
            Value::Scalar(_, expr) => Ok(Pick::One(self.index(*expr, size, name, span)?)),
            Value::Array(array) if array.dims.len() == 1 => {
                let mut indices = Vec::with_capacity(array.data.len());
                for &expr in &array.data {
                    indices.push(self.index(expr, size, name, span)?);
                }
                Ok(Pick::Many(indices))
            }
            other => {
                let found = other.describe();
                Err(self.error(
                    Diagnostic::error(
                        Code::WrongSubscript,
                        span,
                        format!("a subscript cannot be {found}"),
                    )
                    .label(found)
                    .help("use a whole number, a range or `:`"),
                ))
            }
        }
    }

    /// The position that a subscript stands for.
    fn index(&mut self, expr: ExprId, size: usize, name: &str, span: Span) -> Checked<usize> {
        let value = self.known_scalar(expr, "a subscript", span)?;
        self.position(value, size, name, span)
    }

    /// The value of a subscript such as `i - 1`, without making nodes for it.
    fn plain_number(&self, id: AstId) -> Option<f64> {
        match self.ast.expr(id) {
            Expr::Number(value) => Some(*value),
            Expr::Name { name, subscripts } if subscripts.is_empty() => {
                let (_, value) = self
                    .loops
                    .iter()
                    .rev()
                    .find(|(known, _)| **known == **name)?;
                match value {
                    Value::Scalar(_, expr) => self.graph.as_constant(*expr),
                    _ => None,
                }
            }
            Expr::Chain { first, rest } => {
                let mut result = self.plain_number(*first)?;
                for link in rest {
                    let operand = self.plain_number(link.operand)?;
                    match link.op {
                        Arithmetic::Add => result += operand,
                        Arithmetic::Sub => result -= operand,
                        Arithmetic::Mul => result *= operand,
                        Arithmetic::Div => return None,
                    }
                }
                Some(result)
            }
            _ => None,
        }
    }

    /// A subscript from 1 as a position from 0.
    fn position(&mut self, value: f64, size: usize, name: &str, span: Span) -> Checked<usize> {
        if value.fract() != 0.0 || !value.is_finite() {
            return Err(self.error(
                Diagnostic::error(
                    Code::WrongSubscript,
                    span,
                    format!("subscript {value} of `{name}` is not a whole number"),
                )
                .label(format!("this is {value}"))
                .help("use a whole number; div(a, b) is the whole part of a/b"),
            ));
        }
        if value < 1.0 || value > size as f64 {
            return Err(self.out_of_range(value, size, name, span));
        }
        Ok(value as usize - 1)
    }

    pub(super) fn out_of_range(
        &mut self,
        value: f64,
        size: usize,
        name: &str,
        span: Span,
    ) -> Reported {
        let loops: Vec<String> = self
            .loops
            .iter()
            .map(|(name, value)| {
                let number = value
                    .elements()
                    .first()
                    .map_or(f64::NAN, |&e| self.parameter_value(e));
                format!("{name} = {number}")
            })
            .collect();
        let mut diagnostic = Diagnostic::error(
            Code::IndexOutOfRange,
            span,
            format!("subscript {value} is outside `{name}`, which has {size} elements here"),
        )
        .label(format!("this is {value}"))
        .help(if size == 0 {
            format!("`{name}` is empty; give it a size")
        } else {
            format!("use a subscript from 1 to {size}")
        });
        if !loops.is_empty() {
            diagnostic = diagnostic.note(format!("in the loop with {}", loops.join(", ")));
        }
        self.error(diagnostic)
    }

    // ---- operators ---------------------------------------------------------------------------

    fn eval_sign(&mut self, negative: bool, operand: AstId) -> Checked<Value> {
        let value = self.eval_number(operand)?;
        if negative {
            Ok(self.map(&value, |graph, x| graph.neg(x)))
        } else {
            Ok(value)
        }
    }

    /// The same operation on every element.
    pub(super) fn map(
        &mut self,
        value: &Value,
        mut f: impl FnMut(&mut daelight_expr::Graph, ExprId) -> ExprId,
    ) -> Value {
        match value {
            Value::Scalar(ty, expr) => Value::Scalar(*ty, f(&mut self.graph, *expr)),
            Value::Array(array) => {
                let data = array
                    .data
                    .iter()
                    .map(|&expr| f(&mut self.graph, expr))
                    .collect();
                Value::Array(Rc::new(Array {
                    ty: array.ty,
                    dims: array.dims.clone(),
                    data,
                }))
            }
            Value::Text(text) => Value::Text(text.clone()),
        }
    }

    fn eval_not(&mut self, operand: AstId) -> Checked<Value> {
        let expr = self.eval_condition(operand)?;
        Ok(Value::Scalar(
            Type::Boolean,
            self.graph.unary(UnaryOp::Not, expr),
        ))
    }

    fn eval_logical(&mut self, op: BinaryOp, items: &[AstId]) -> Checked<Value> {
        let mut result = self.eval_condition(items[0])?;
        for &item in &items[1..] {
            let next = self.eval_condition(item)?;
            result = self.graph.binary(op, result, next);
        }
        Ok(Value::Scalar(Type::Boolean, result))
    }

    fn eval_relation(
        &mut self,
        op: Relation,
        left: AstId,
        right: AstId,
        span: Span,
    ) -> Checked<Value> {
        let op = match op {
            Relation::Less => BinaryOp::Less,
            Relation::LessEqual => BinaryOp::LessEqual,
            Relation::Greater => BinaryOp::Greater,
            Relation::GreaterEqual => BinaryOp::GreaterEqual,
            Relation::Equal => BinaryOp::Equal,
            Relation::NotEqual => BinaryOp::NotEqual,
        };
        let (a, b) = (self.eval(left)?, self.eval(right)?);
        // Truth values may be compared with each other.
        let wanted = match a.ty() {
            Some(Type::Boolean) => Type::Boolean,
            _ => Type::Real,
        };
        self.require_type(&a, wanted, self.ast.span(left))?;
        self.require_type(&b, wanted, self.ast.span(right))?;
        let (a, b) = (
            self.scalar(&a, self.ast.span(left))?,
            self.scalar(&b, self.ast.span(right))?,
        );
        if wanted == Type::Boolean
            && let Some(expr) = self.compare_truth(op, a, b)
        {
            return Ok(Value::Scalar(Type::Boolean, expr));
        }
        let expr = self.graph.binary(op, a, b);
        Ok(Value::Scalar(Type::Boolean, self.mark(expr, span)))
    }

    /// `b == true` is `b`, `b <> true` is `not b`: numbers never stand for truth values in text.
    fn compare_truth(&mut self, op: BinaryOp, a: ExprId, b: ExprId) -> Option<ExprId> {
        let (side, value) = match (self.graph.as_constant(a), self.graph.as_constant(b)) {
            (None, Some(value)) => (a, value),
            (Some(value), None) => (b, value),
            _ => return None,
        };
        match op {
            BinaryOp::Equal | BinaryOp::NotEqual => {
                let keeps = (op == BinaryOp::Equal) == (value != 0.0);
                Some(if keeps {
                    side
                } else {
                    self.graph.unary(UnaryOp::Not, side)
                })
            }
            _ => None,
        }
    }

    fn eval_if(
        &mut self,
        branches: &[(AstId, AstId)],
        otherwise: AstId,
        span: Span,
    ) -> Checked<Value> {
        let mut pending: Vec<(ExprId, Value)> = Vec::new();
        let mut last = None;
        for &(condition, value) in branches {
            let expr = self.eval_condition(condition)?;
            match self.decided(expr) {
                Some(false) => {}
                Some(true) => {
                    last = Some(self.eval(value)?);
                    break;
                }
                None => {
                    let value = self.eval(value)?;
                    pending.push((expr, value));
                }
            }
        }
        let mut result = match last {
            Some(value) => value,
            None => self.eval(otherwise)?,
        };
        for (condition, value) in pending.into_iter().rev() {
            result = self.merge(condition, &value, &result, span)?;
        }
        Ok(result)
    }

    /// Whether a condition is settled by numbers and by Boolean or Integer parameters.
    ///
    /// Conditions on Real parameters stay in the model, so that they can be swept.
    pub(super) fn decided(&mut self, condition: ExprId) -> Option<bool> {
        if let Some(value) = self.graph.as_constant(condition) {
            return Some(value != 0.0);
        }
        let symbols = self.walker.symbols(&self.graph, &[condition]);
        let discrete = symbols.into_iter().all(|id| match self.symbols.get(id) {
            Symbol::Parameter(index) => self.parameters[index].ty != Type::Real,
            _ => false,
        });
        if discrete {
            self.known(condition).map(|value| value != 0.0)
        } else {
            None
        }
    }

    /// `if condition then a else b`, element by element.
    pub(super) fn merge(
        &mut self,
        condition: ExprId,
        a: &Value,
        b: &Value,
        span: Span,
    ) -> Checked<Value> {
        let (Some(first), Some(second)) = (a.ty(), b.ty()) else {
            return Err(self.error(
                Diagnostic::error(
                    Code::TypeMismatch,
                    span,
                    "a text cannot depend on a condition",
                )
                .label("here")
                .help("use a fixed text"),
            ));
        };
        if a.dims() != b.dims() || (first == Type::Boolean) != (second == Type::Boolean) {
            let (x, y) = (a.describe(), b.describe());
            return Err(self.error(
                Diagnostic::error(
                    Code::WrongSize,
                    span,
                    format!("the branches differ: {x} and {y}"),
                )
                .label("both branches must have the same type and sizes")
                .help("make the branches alike"),
            ));
        }
        let ty = if first == Type::Boolean {
            first
        } else {
            common(first, second)
        };
        let mut data = Vec::with_capacity(a.elements().len());
        for (&x, &y) in a.elements().iter().zip(b.elements()) {
            let expr = if ty == Type::Boolean {
                let first = self.graph.binary(BinaryOp::And, condition, x);
                let otherwise = self.graph.unary(UnaryOp::Not, condition);
                let second = self.graph.binary(BinaryOp::And, otherwise, y);
                self.graph.binary(BinaryOp::Or, first, second)
            } else {
                self.graph.select(condition, x, y)
            };
            data.push(self.mark(expr, span));
        }
        Ok(Value::shaped(ty, a.dims().to_vec(), data))
    }

    // ---- arrays ------------------------------------------------------------------------------

    fn eval_array(&mut self, items: &[AstId], span: Span) -> Checked<Value> {
        let mut values = Vec::with_capacity(items.len());
        for &item in items {
            values.push((self.eval(item)?, self.ast.span(item)));
        }
        self.stack(values, span)
    }

    /// An array of equally shaped values, with one more dimension in front.
    pub(super) fn stack(&mut self, values: Vec<(Value, Span)>, span: Span) -> Checked<Value> {
        let Some((first, first_span)) = values.first() else {
            return Ok(Value::shaped(Type::Real, vec![0], Vec::new()));
        };
        let dims = first.dims().to_vec();
        let first_span = *first_span;
        let Some(mut ty) = first.ty() else {
            return Err(self.error(
                Diagnostic::error(
                    Code::TypeMismatch,
                    first_span,
                    "an array of texts has no meaning here",
                )
                .label("a text")
                .help("use numbers"),
            ));
        };
        let mut data = Vec::with_capacity(values.len() * first.elements().len());
        let count = values.len();
        for (value, at) in &values {
            self.require_type(
                value,
                if ty == Type::Boolean { ty } else { Type::Real },
                *at,
            )?;
            if value.dims() != dims {
                let (x, y) = (describe_dims(&dims), describe_dims(value.dims()));
                return Err(self.error(
                    Diagnostic::error(
                        Code::WrongSize,
                        *at,
                        format!("elements of an array differ: {x} and {y}"),
                    )
                    .label(y)
                    .related(first_span, x)
                    .help("give all elements the same sizes"),
                ));
            }
            if let Some(other) = value.ty()
                && ty != Type::Boolean
            {
                ty = common(ty, other);
            }
            data.extend_from_slice(value.elements());
        }
        self.step(data.len() as u64, span)?;
        let mut all = vec![count];
        all.extend(dims);
        Ok(Value::shaped(ty, all, data))
    }

    /// `[a, b; c, d]`: rows are joined, then stacked; scalars and vectors count as columns.
    fn eval_matrix(&mut self, rows: &[Vec<AstId>], span: Span) -> Checked<Value> {
        let mut joined_rows = Vec::with_capacity(rows.len());
        for row in rows {
            let mut parts = Vec::with_capacity(row.len());
            for &item in row {
                let at = self.ast.span(item);
                let value = self.eval_number(item)?;
                parts.push((self.as_matrix(value, at)?, at));
            }
            joined_rows.push((self.join(1, parts, span)?, span));
        }
        self.join(0, joined_rows, span)
    }

    fn as_matrix(&mut self, value: Value, span: Span) -> Checked<Value> {
        let ty = value.ty().unwrap_or(Type::Real);
        match value.dims() {
            [] => Ok(Value::shaped(ty, vec![1, 1], value.elements().to_vec())),
            &[n] => Ok(Value::shaped(ty, vec![n, 1], value.elements().to_vec())),
            [_, _] => Ok(value),
            dims => {
                let found = describe_dims(dims);
                Err(self.error(
                    Diagnostic::error(
                        Code::WrongSize,
                        span,
                        format!("a matrix cannot hold {found}"),
                    )
                    .label(found)
                    .help("use scalars, vectors and matrices"),
                ))
            }
        }
    }

    /// Joins arrays along one dimension.
    pub(super) fn join(
        &mut self,
        along: usize,
        parts: Vec<(Value, Span)>,
        span: Span,
    ) -> Checked<Value> {
        // An empty array of another rank adds nothing.
        let rank = parts
            .iter()
            .map(|(value, _)| value.dims().len())
            .max()
            .unwrap_or(1);
        let parts: Vec<(Value, Span)> = parts
            .into_iter()
            .filter(|(value, _)| value.dims().len() == rank || !value.elements().is_empty())
            .collect();
        let Some((first, _)) = parts.first() else {
            return Ok(Value::shaped(Type::Real, vec![0], Vec::new()));
        };
        let mut dims = first.dims().to_vec();
        if along >= dims.len() {
            let found = describe_dims(&dims);
            return Err(self.error(
                Diagnostic::error(
                    Code::WrongSize,
                    span,
                    format!("{found} has no dimension {}", along + 1),
                )
                .label(found)
                .help("join vectors along 1, matrices along 1 or 2"),
            ));
        }
        dims[along] = 0;
        let mut ty = first.ty().unwrap_or(Type::Real);
        for (value, at) in &parts {
            self.require_type(value, Type::Real, *at)?;
            let fits = value.dims().len() == dims.len()
                && value
                    .dims()
                    .iter()
                    .enumerate()
                    .all(|(k, &size)| k == along || size == dims[k]);
            if !fits {
                let (x, y) = (
                    describe_dims(parts[0].0.dims()),
                    describe_dims(value.dims()),
                );
                return Err(self.error(
                    Diagnostic::error(Code::WrongSize, *at, format!("{y} cannot be joined to {x}"))
                        .label(y)
                        .help("the other sizes must agree"),
                ));
            }
            dims[along] += value.dims()[along];
            ty = common(ty, value.ty().unwrap_or(ty));
        }
        let outer: usize = dims[..along].iter().product();
        let mut data = Vec::with_capacity(dims.iter().product());
        for block in 0..outer {
            for (value, _) in &parts {
                let chunk = value.dims()[along..].iter().product::<usize>();
                data.extend_from_slice(&value.elements()[block * chunk..(block + 1) * chunk]);
            }
        }
        self.step(data.len() as u64, span)?;
        Ok(Value::shaped(ty, dims, data))
    }

    fn eval_range(
        &mut self,
        start: AstId,
        step: Option<AstId>,
        stop: AstId,
        span: Span,
    ) -> Checked<Value> {
        let (ty, numbers) = self.range_numbers(start, step, stop, span)?;
        let data = numbers
            .into_iter()
            .map(|number| self.graph.constant(number))
            .collect();
        Ok(Value::vector(ty, data))
    }

    /// The numbers of a range.
    fn range_numbers(
        &mut self,
        start: AstId,
        step: Option<AstId>,
        stop: AstId,
        span: Span,
    ) -> Checked<(Type, Vec<f64>)> {
        let first = self.eval_known(start, "a range")?;
        let increment = match step {
            Some(step) => self.eval_known(step, "a range")?,
            None => 1.0,
        };
        let last = self.eval_known(stop, "a range")?;
        if increment == 0.0
            || ![first, increment, last]
                .iter()
                .all(|value| value.is_finite())
        {
            return Err(self.error(
                Diagnostic::error(Code::BadValue, span, "this range has no end")
                    .label(format!("from {first} in steps of {increment} to {last}"))
                    .help("use a step that is not 0 and finite ends"),
            ));
        }
        let count = ((last - first) / increment * (1.0 + 1e-15)).floor() + 1.0;
        if count > self.limits.elements as f64 {
            return Err(self.error(
                Diagnostic::error(
                    Code::TooLarge,
                    span,
                    format!("this range has more than {} elements", self.limits.elements),
                )
                .label(format!("from {first} in steps of {increment} to {last}"))
                .help("use a shorter range"),
            ));
        }
        let count = count.max(0.0) as usize;
        self.step(count as u64, span)?;
        let whole = first.fract() == 0.0 && increment.fract() == 0.0;
        let numbers = (0..count).map(|k| first + k as f64 * increment).collect();
        Ok((if whole { Type::Integer } else { Type::Real }, numbers))
    }

    /// The values a loop variable takes.
    pub(super) fn iterator_values(&mut self, iterator: &Iterator) -> Checked<(Type, Vec<f64>)> {
        let Some(range) = iterator.range else {
            return Err(self.error(
                Diagnostic::error(
                    Code::Unsupported,
                    iterator.span,
                    format!("`{}` has no range", iterator.name),
                )
                .label("the range is not found from the sizes")
                .help(format!("write `{} in 1:n`", iterator.name)),
            ));
        };
        if let Expr::Range { start, step, stop } = *self.ast.expr(range) {
            return self.range_numbers(start, step, stop, self.ast.span(range));
        }
        let value = self.eval(range)?;
        let span = self.ast.span(range);
        match &value {
            Value::Array(array) if array.dims.len() == 1 => {
                let mut data = Vec::with_capacity(array.data.len());
                for &expr in &array.data {
                    data.push(self.known_scalar(expr, "a range", span)?);
                }
                Ok((array.ty, data))
            }
            other => {
                let found = other.describe();
                Err(self.error(
                    Diagnostic::error(
                        Code::WrongSize,
                        span,
                        format!("a loop cannot run over {found}"),
                    )
                    .label(found)
                    .help("loop over a range such as 1:n"),
                ))
            }
        }
    }

    fn eval_comprehension(
        &mut self,
        reduction: Option<&(String, Span)>,
        body: AstId,
        iterators: &[Iterator],
        span: Span,
    ) -> Checked<Value> {
        let outer = self.loops.len();
        let value = self.comprehend(body, iterators, span);
        self.loops.truncate(outer);
        let value = value?;
        match reduction {
            None => Ok(value),
            Some((name, name_span)) => self.reduce(name, *name_span, &value, span),
        }
    }

    /// `{body for i in a, j in b}` is `{{body for i in a} for j in b}`.
    fn comprehend(&mut self, body: AstId, iterators: &[Iterator], span: Span) -> Checked<Value> {
        let Some((last, inner)) = iterators.split_last() else {
            return self.eval(body);
        };
        let (ty, numbers) = self.iterator_values(last)?;
        let name: Arc<str> = last.name.as_str().into();
        let mut values = Vec::with_capacity(numbers.len());
        let body_span = self.ast.span(body);
        for number in numbers {
            let number = self.graph.constant(number);
            self.loops.push((name.clone(), Value::Scalar(ty, number)));
            let value = self.comprehend(body, inner, span);
            self.loops.pop();
            values.push((value?, body_span));
        }
        self.stack(values, span)
    }

    /// `sum(… for …)` and its relatives.
    pub(super) fn reduce(
        &mut self,
        name: &str,
        name_span: Span,
        value: &Value,
        span: Span,
    ) -> Checked<Value> {
        self.require_type(value, Type::Real, span)?;
        let ty = value.ty().unwrap_or(Type::Real);
        let elements = value.elements();
        let expr = match name {
            "sum" => self.graph.sum(elements.iter().copied()),
            "product" => {
                let one = self.graph.constant(1.0);
                elements
                    .iter()
                    .fold(one, |product, &element| self.graph.mul(product, element))
            }
            "min" | "max" => {
                let op = if name == "min" {
                    BinaryOp::Min
                } else {
                    BinaryOp::Max
                };
                let Some((&first, rest)) = elements.split_first() else {
                    return Err(self.error(
                        Diagnostic::error(Code::WrongSize, span, format!("`{name}` of nothing"))
                            .label("an empty array")
                            .help("give it at least one element"),
                    ));
                };
                let mut result = first;
                for &element in rest {
                    result = self.graph.binary(op, result, element);
                    self.mark(result, span);
                }
                result
            }
            "array" => return Ok(value.clone()),
            _ => return Err(self.unknown_function(name, name_span)),
        };
        Ok(Value::Scalar(ty, expr))
    }
}

enum Pick {
    One(usize),
    Many(Vec<usize>),
    All,
}
