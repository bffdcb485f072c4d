//! Expressions: names, subscripts, operators, conditions, arrays, ranges and comprehensions.

use super::scope::{Element, NodeId, TOP, What};
use super::value::{Array, Closure, Value, common};
use super::{Checked, Elaborator, MAX_DEPTH, Reported};
use crate::ast::{AstId, ClassKind, Expr, PathPart, Relation, Variability};
use crate::diagnostic::{Code, Diagnostic};
use crate::model::{Symbol, Type};
use crate::source::Span;
use crate::tolerances::SMALL;
use daelight_expr::{BinaryOp, ExprId, Node, UnaryOp};
use std::collections::HashSet;
use std::rc::Rc;

impl<'a> Elaborator<'a> {
    /// The value of an expression.
    pub(super) fn eval(&mut self, id: AstId) -> Checked<Value> {
        let span = self.ast.span(id);
        self.step(1, span)?;
        if self.depth >= MAX_DEPTH {
            return Err(self.too_deep(span));
        }
        self.depth += 1;
        let value = self.eval_inner(id, span);
        self.depth -= 1;
        value
    }

    pub(super) fn too_deep(&mut self, span: Span) -> Reported {
        self.stopped = true;
        self.error(
            Diagnostic::error(
                Code::NestingTooDeep,
                span,
                format!("more than {MAX_DEPTH} levels of expressions and calls"),
            )
            .label("this level is one too many")
            .help("name a part of the expression with a variable of its own"),
        )
    }

    pub(super) fn eval_inner(&mut self, id: AstId, span: Span) -> Checked<Value> {
        let ast = self.ast;
        match ast.expr(id) {
            &Expr::Number(value) => Ok(self.number(value)),
            &Expr::Boolean(value) => Ok(Value::Scalar(
                Type::Boolean,
                self.graph.constant(f64::from(u8::from(value))),
            )),
            Expr::Text(text) => Ok(Value::Text(text.as_str().into())),
            Expr::Name {
                name,
                subscripts,
                path,
            } => self.eval_name(name, subscripts, path.as_deref(), span),
            Expr::Tuple(_) => Err(self.error(
                Diagnostic::error(Code::Syntax, span, "a list of results is not a value")
                    .label("used as a value")
                    .help("write `(a, b) = f(x);`"),
            )),
            Expr::FunctionArgument {
                name,
                name_span,
                named,
            } => self.eval_closure(name, *name_span, named),
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
                Diagnostic::error(Code::Syntax, span, "`:` alone is not a value")
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
                    .help(match other {
                        Value::Text(_) => "write a number, without quotes",
                        _ => "choose an element with a subscript, or use sum(…)",
                    }),
                ))
            }
        }
    }

    /// Rejects texts and truth values where numbers are needed, and the other way round.
    pub(super) fn require_type(&mut self, value: &Value, wanted: Type, span: Span) -> Checked<()> {
        let fits = match (value.ty(), wanted) {
            (Some(Type::Boolean), Type::Boolean) => true,
            (Some(Type::Boolean), _) | (_, Type::Boolean) | (None, _) => false,
            // Numbers are judged by their value, where that is known.
            (Some(Type::Real), Type::Integer) => {
                let number = |&element: &ExprId| self.graph.as_constant(element).is_some();
                value.elements().iter().all(number)
            }
            _ => true,
        };
        if fits {
            return Ok(());
        }
        let found = value.describe();
        let (needed, help) = match wanted {
            Type::Boolean => ("a truth value", "compare it, for example `x > 0`"),
            _ if value.ty().is_none() => ("a number", "write it without quotation marks"),
            Type::Integer if value.ty() == Some(Type::Real) => (
                "a whole number",
                "use an Integer, or integer(…) of a parameter",
            ),
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

    /// Rejects numbers with a fraction where a whole one is declared.
    pub(super) fn require_whole(&mut self, value: &Value, ty: Type, span: Span) -> Checked<()> {
        if ty != Type::Integer {
            return Ok(());
        }
        for &element in value.elements() {
            if let Some(number) = self.graph.as_constant(element)
                && number.fract() != 0.0
            {
                return Err(self.not_whole(number, span));
            }
        }
        Ok(())
    }

    /// The same of what defines a whole number, in all branches of choices, as far as it is known before any run.
    pub(super) fn require_whole_branches(&mut self, value: ExprId, span: Span) -> Checked<()> {
        let mut open = vec![value];
        let mut seen = HashSet::new();
        while let Some(expr) = open.pop() {
            if !seen.insert(expr) {
                continue;
            }
            if let Node::Select(_, a, b) = self.graph.node(expr) {
                open.extend([a, b]);
            } else if let Some(number) = self
                .known(expr)
                .filter(|n| n.is_finite() && n.fract() != 0.0)
            {
                return Err(self.not_whole(number, span));
            }
        }
        Ok(())
    }

    fn not_whole(&mut self, number: f64, span: Span) -> Reported {
        let message = format!("expected a whole number, found {number}");
        self.error(
            Diagnostic::error(Code::TypeMismatch, span, message)
                .label(format!("this is {number}"))
                .help("declare it Real, or use integer(…)"),
        )
    }

    pub(super) fn eval_number(&mut self, id: AstId) -> Checked<Value> {
        let value = self.eval(id)?;
        let span = self.ast.span(id);
        self.require_type(&value, Type::Real, span)?;
        Ok(value)
    }

    pub(super) fn eval_condition(&mut self, id: AstId) -> Checked<ExprId> {
        let value = self.eval(id)?;
        let span = self.ast.span(id);
        self.require_type(&value, Type::Boolean, span)?;
        self.scalar(&value, span)
    }

    /// What a name stands for: loop variable, local of a function, component, constant, time.
    pub(super) fn eval_name(
        &mut self,
        name: &'a str,
        subscripts: &[AstId],
        path: Option<&'a [PathPart]>,
        span: Span,
    ) -> Checked<Value> {
        let (first, first_subs, rest): (&'a str, &[AstId], &'a [PathPart]) = match path {
            None => (name, subscripts, &[]),
            Some(path) => (&path[0].name, &path[0].subscripts, &path[1..]),
        };
        if let Some((_, value)) = self
            .loops
            .iter()
            .rev()
            .find(|(loop_name, _)| **loop_name == *first)
        {
            let mut value = value.clone();
            if !first_subs.is_empty() {
                value = self.select(&value, first_subs, first, span)?;
            }
            return self.fields(value, rest, span);
        }
        if self.frame.is_some()
            && let Some(value) = self.local_value(first, first_subs, rest, span)?
        {
            return Ok(value);
        }
        let part = match name.starts_with('.') {
            true => TOP,
            false => self.part,
        };
        // Flat text declares names with dots.
        let at = self.node(self.part(part).node);
        if path.is_some() && at.elements.is_flat && at.elements.map.contains_key(name) {
            let node = self.part(part).node;
            let instance = self.instance(node, name)?;
            return self.project(&instance, name, subscripts, &[], span);
        }
        if let Some((node, element)) = self.find(part, first.trim_start_matches('.')) {
            return self.eval_element(node, &element, name, first_subs, rest, span);
        }
        if name == "time" {
            let id = self.symbols.id(Symbol::Time);
            return Ok(Value::Scalar(Type::Real, self.graph.symbol(id)));
        }
        if let Some(value) = self.library_constant(name) {
            return Ok(Value::Scalar(Type::Real, self.graph.constant(value)));
        }
        if let Some(value) = self.built_in_literal(name) {
            return Ok(value);
        }
        Err(self.undeclared(name, span))
    }

    fn eval_element(
        &mut self,
        node: NodeId,
        element: &Element<'a>,
        name: &str,
        subscripts: &[AstId],
        rest: &'a [PathPart],
        span: Span,
    ) -> Checked<Value> {
        match element.what {
            What::Component(declaration) => {
                // A function sees constants of the classes around it, and nothing else.
                if self.frame.is_some() && !self.in_section && self.node(node).is_component {
                    let constant = declaration.variability == Variability::Constant;
                    if !constant && !self.is_function_scope(node) {
                        return Err(self.undeclared(name, span));
                    }
                }
                let instance = self.instance(node, &declaration.name)?;
                self.project(&instance, name, subscripts, rest, span)
            }
            What::Class(class) => {
                if let Some(value) = self.literal(element, rest) {
                    return Ok(value);
                }
                let Some(inside) = self.class_node(node, &class.name, element) else {
                    if rest.is_empty() {
                        return Err(self.undeclared(name, span));
                    }
                    return Err(self.unknown_class(name, span, self.part));
                };
                if !rest.is_empty() {
                    return self.inside(inside, rest, span);
                }
                match self.node(inside).class.map(|class| class.kind) {
                    Some(ClassKind::Function) => Ok(Value::Function(Rc::new(Closure {
                        function: inside,
                        bound: Vec::new(),
                    }))),
                    _ => Err(self.undeclared(name, span)),
                }
            }
        }
    }

    /// Whether a component's class is the scope of a function that is looked at through it.
    fn is_function_scope(&self, node: NodeId) -> bool {
        self.calls.last().is_some_and(|&function| {
            let root = self.node(function).root;
            let around = self.part(root).around.map(|part| self.part(part).node);
            around == Some(node) && node != self.root
        })
    }

    /// `StateSelect.prefer` and the like.
    fn built_in_literal(&mut self, name: &str) -> Option<Value> {
        let (ty, literal) = name.split_once('.')?;
        let literals = match ty {
            "StateSelect" => super::scope::STATE_SELECT,
            "AssertionLevel" => super::scope::ASSERTION_LEVEL,
            _ => return None,
        };
        let at = literals.iter().position(|known| *known == literal)?;
        Some(Value::Scalar(
            Type::Integer,
            self.graph.constant(at as f64 + 1.0),
        ))
    }

    /// `function f(a = 1)`.
    fn eval_closure(
        &mut self,
        name: &'a str,
        name_span: Span,
        named: &'a [(String, Span, AstId)],
    ) -> Checked<Value> {
        let (function, mut bound) = match (self.local_closure(name), self.function(name)) {
            (Some(closure), _) => (closure.function, closure.bound.clone()),
            (None, Some(function)) => (function, Vec::new()),
            (None, None) => return Err(self.unknown_function(name, name_span)),
        };
        for (input, _, value) in named {
            let value = self.eval(*value)?;
            bound.push((Rc::from(input.as_str()), value));
        }
        Ok(Value::Function(Rc::new(Closure { function, bound })))
    }

    /// Constants of the Modelica Standard Library, by full or imported name.
    pub(super) fn library_constant(&self, name: &str) -> Option<f64> {
        let path = self.full_path(name, self.part);
        Some(match path.strip_prefix("Modelica.Constants.")? {
            "pi" => std::f64::consts::PI,
            "e" => std::f64::consts::E,
            "D2R" => std::f64::consts::PI / 180.0,
            "R2D" => 180.0 / std::f64::consts::PI,
            "eps" => f64::EPSILON,
            "small" => SMALL,
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

    pub(super) fn eval_sign(&mut self, negative: bool, operand: AstId) -> Checked<Value> {
        let value = self.eval(operand)?;
        if negative && let Some(value) = self.negated(&value, self.ast.span(operand))? {
            return Ok(value);
        }
        self.require_type(&value, Type::Real, self.ast.span(operand))?;
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
            other => other.clone(),
        }
    }

    pub(super) fn eval_not(&mut self, operand: AstId) -> Checked<Value> {
        let value = self.eval(operand)?;
        self.require_type(&value, Type::Boolean, self.ast.span(operand))?;
        Ok(self.map(&value, |graph, x| graph.unary(UnaryOp::Not, x)))
    }

    pub(super) fn eval_logical(&mut self, op: BinaryOp, items: &[AstId]) -> Checked<Value> {
        let mut result = self.eval_condition(items[0])?;
        for &item in &items[1..] {
            let next = self.eval_condition(item)?;
            result = self.graph.binary(op, result, next);
        }
        Ok(Value::Scalar(Type::Boolean, result))
    }

    pub(super) fn eval_relation(
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
        if let (Value::Text(a), Value::Text(b)) = (&a, &b) {
            let holds = match op {
                BinaryOp::Less => a < b,
                BinaryOp::LessEqual => a <= b,
                BinaryOp::Greater => a > b,
                BinaryOp::GreaterEqual => a >= b,
                BinaryOp::Equal => a == b,
                _ => a != b,
            };
            let truth = self.graph.constant(f64::from(u8::from(holds)));
            return Ok(Value::Scalar(Type::Boolean, truth));
        }
        let word = match op {
            BinaryOp::Equal => "==",
            BinaryOp::NotEqual => "<>",
            BinaryOp::Less => "<",
            BinaryOp::LessEqual => "<=",
            BinaryOp::Greater => ">",
            _ => ">=",
        };
        if let Some(value) = self.operated(word, &a, &b, span)? {
            return Ok(value);
        }
        // Truth values may be compared with each other.
        let wanted = match a.ty() {
            Some(Type::Boolean) => Type::Boolean,
            _ => Type::Real,
        };
        self.require_type(&a, wanted, self.ast.span(left))?;
        self.require_type(&b, wanted, self.ast.span(right))?;
        let are_whole = a.ty() == Some(Type::Integer) && b.ty() == Some(Type::Integer);
        let (a, b) = (
            self.scalar(&a, self.ast.span(left))?,
            self.scalar(&b, self.ast.span(right))?,
        );
        if wanted == Type::Boolean
            && let Some(expr) = self.compare_truth(op, a, b)
        {
            return Ok(Value::Scalar(Type::Boolean, expr));
        }
        if let Some(expr) = self.compared_cases(op, a, b, span) {
            return Ok(Value::Scalar(Type::Boolean, expr));
        }
        if are_whole && let Some(expr) = self.compared_whole(op, a, b) {
            return Ok(Value::Scalar(Type::Boolean, self.mark(expr, span)));
        }
        let expr = self.graph.binary(op, a, b);
        if wanted == Type::Real && matches!(op, BinaryOp::Equal | BinaryOp::NotEqual) {
            self.equalities.push((expr, span));
        }
        self.note_relation(expr, span);
        Ok(Value::Scalar(Type::Boolean, self.mark(expr, span)))
    }

    /// `b == true` is `b`, `b <> true` is `not b`: numbers never stand for truth values in text.
    pub(super) fn compare_truth(&mut self, op: BinaryOp, a: ExprId, b: ExprId) -> Option<ExprId> {
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

    pub(super) fn eval_if(
        &mut self,
        branches: &[(AstId, AstId)],
        otherwise: AstId,
        span: Span,
    ) -> Checked<Value> {
        let depth = self.path.len();
        let result = self.eval_branches(branches, otherwise, span);
        self.path.truncate(depth);
        result
    }

    fn eval_branches(
        &mut self,
        branches: &[(AstId, AstId)],
        otherwise: AstId,
        span: Span,
    ) -> Checked<Value> {
        let mut pending: Vec<(ExprId, Value)> = Vec::new();
        let mut last = None;
        for &(condition, value) in branches {
            let expr = self.eval_condition(condition)?;
            match self.settled(expr) {
                Some(false) => {}
                Some(true) => {
                    last = Some(self.eval(value)?);
                    break;
                }
                None => {
                    self.path.push((expr, true));
                    let value = self.eval(value)?;
                    self.path.pop();
                    pending.push((expr, value));
                    self.path.push((expr, false));
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

    /// `if condition then a else b` of scalars. Truth values are combined by `and` and `or`, so that
    /// text never shows them as numbers.
    pub(super) fn choose(
        &mut self,
        ty: Type,
        condition: ExprId,
        a: ExprId,
        b: ExprId,
        span: Span,
    ) -> ExprId {
        let expr = if a == b {
            a
        } else if ty == Type::Boolean {
            let first = self.graph.binary(BinaryOp::And, condition, a);
            let otherwise = self.graph.unary(UnaryOp::Not, condition);
            let second = self.graph.binary(BinaryOp::And, otherwise, b);
            self.graph.binary(BinaryOp::Or, first, second)
        } else {
            self.graph.select(condition, a, b)
        };
        self.mark(expr, span)
    }

    /// `if condition then a else b`, element by element.
    pub(super) fn merge(
        &mut self,
        condition: ExprId,
        a: &Value,
        b: &Value,
        span: Span,
    ) -> Checked<Value> {
        if let (Value::Record(x), Value::Record(y)) = (a, b)
            && x.fields.len() == y.fields.len()
        {
            let mut fields = Vec::with_capacity(x.fields.len());
            for ((name, first), (_, second)) in x.fields.iter().zip(&y.fields) {
                fields.push((name.clone(), self.merge(condition, first, second, span)?));
            }
            return Ok(Value::Record(Rc::new(super::value::Record {
                class: x.class.clone(),
                node: x.node,
                fields,
            })));
        }
        if let (Value::Text(x), Value::Text(y)) = (a, b) {
            let holds = match self.known(condition) {
                Some(holds) => holds != 0.0,
                None => x == y,
            };
            if holds || x == y {
                return Ok(a.clone());
            }
            if self.known(condition).is_some() {
                return Ok(b.clone());
            }
        }
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
            data.push(self.choose(ty, condition, x, y, span));
        }
        Ok(Value::shaped(ty, a.dims().to_vec(), data))
    }
}
