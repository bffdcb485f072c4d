//! Calls that are no functions of numbers: constructors of records, and `String`.

use super::instance::Instance;
use super::scope::{Bound, NodeId, What};
use super::value::{Record, Value};
use super::{Checked, Elaborator};
use crate::ast::{Arithmetic, AstId, ClassKind};
use crate::diagnostic::{Code, Diagnostic};
use crate::model::Type;
use crate::source::Span;
use std::rc::Rc;

impl<'a> Elaborator<'a> {
    /// `R(a, b = 2)` of a record `R`; `Integer(e)` of an enumeration.
    pub(super) fn constructed(
        &mut self,
        name: &'a str,
        name_span: Span,
        positional: &[AstId],
        named: &'a [(String, Span, AstId)],
        span: Span,
    ) -> Checked<Option<Value>> {
        if name == "Integer" || name == "Real" {
            let [argument] = positional else {
                return Ok(None);
            };
            return self.eval_number(*argument).map(Some);
        }
        let Some((node, element)) = self.find_path(self.part, name) else {
            return Ok(None);
        };
        let What::Class(class) = element.what else {
            return Ok(None);
        };
        if let Some(literals) = self.literals_of(&element) {
            return self.enumerated(name, literals, positional, span).map(Some);
        }
        let Some(made) = self.class_node(node, &class.name, &element) else {
            return Ok(None);
        };
        match self.node(made).class.map(|class| class.kind) {
            Some(ClassKind::Record | ClassKind::Connector) => {}
            Some(ClassKind::Model)
                if self.node(made).class.is_some_and(|class| {
                    class.extends.iter().any(|e| e.base == "ExternalObject")
                }) =>
            {
                return self.new_object(made, positional, named, span).map(Some);
            }
            _ => return Ok(None),
        }
        // A record can bring its own constructor.
        if let Some(constructor) = self.own_constructor(made, positional.len()) {
            return self
                .inline(constructor, name_span, positional, named, span)
                .map(Some);
        }
        let elements = self.node(made).elements.clone();
        let mut fields: Vec<(Rc<str>, Value)> = Vec::new();
        let mut given = positional.iter();
        for &field in &elements.order {
            let Some(found) = elements.map.get(field) else {
                continue;
            };
            let What::Component(declaration) = found.what else {
                continue;
            };
            let from_name = named.iter().find(|(other, ..)| other == field);
            let value = match (from_name, given.next()) {
                (Some((_, _, argument)), _) => self.eval(*argument)?,
                (None, Some(&argument)) => self.eval(argument)?,
                (None, None) => {
                    let place = (name, name_span, field);
                    self.left_out(found, declaration, place, &fields)?
                }
            };
            fields.push((Rc::from(field), value));
        }
        let is_unknown = |other: &str| !elements.map.contains_key(other);
        if let Some((other, at, _)) = named.iter().find(|(other, ..)| is_unknown(other)) {
            let message = format!("`{name}` has no field `{other}`");
            return Err(self.error(
                Diagnostic::error(Code::WrongArity, *at, message)
                    .label("named here")
                    .help(format!("its fields are {}", elements.order.join(", "))),
            ));
        }
        Ok(Some(Value::Record(Rc::new(Record {
            class: Some(class.name.as_str().into()),
            node: Some(made),
            fields,
        }))))
    }

    /// `E(2)`: the second value of an enumeration.
    fn enumerated(
        &mut self,
        name: &str,
        literals: &[String],
        positional: &[AstId],
        span: Span,
    ) -> Checked<Value> {
        let count = literals.len();
        let [argument] = positional else {
            return Err(self.error(
                Diagnostic::error(
                    Code::WrongArity,
                    span,
                    format!("`{name}` takes one whole number"),
                )
                .label("an enumeration")
                .help(format!("write {name}(1) to {name}({count})")),
            ));
        };
        let value = self.eval_number(*argument)?;
        let expr = self.scalar(&value, span)?;
        if value.ty() != Some(Type::Integer) {
            return Err(self.error(
                Diagnostic::error(
                    Code::TypeMismatch,
                    span,
                    format!("`{name}` takes a whole number"),
                )
                .label("not an Integer")
                .help(format!("write {name}(1) to {name}({count}), or integer(…)")),
            ));
        }
        if let Some(at) = self.known(expr)
            && !(1.0..=count as f64).contains(&at)
        {
            return Err(self.error(
                Diagnostic::error(
                    Code::IndexOutOfRange,
                    span,
                    format!("`{name}` has no value {at}"),
                )
                .label("outside the enumeration")
                .help(format!("its values are 1 to {count}")),
            ));
        }
        Ok(Value::Scalar(Type::Integer, expr))
    }

    /// The default of a field that a constructor is called without.
    fn left_out(
        &mut self,
        found: &super::scope::Element<'a>,
        declaration: &'a crate::ast::Declaration,
        (name, name_span, field): (&str, Span, &str),
        fields: &[(Rc<str>, Value)],
    ) -> Checked<Value> {
        let own = declaration.binding.map(|ast| Bound::Expr {
            ast,
            part: found.part,
            subs: Rc::from([]),
        });
        match found.env.value.clone().or(own) {
            Some(bound) => self.default_field(&bound, declaration.dims.len(), fields),
            None => Err(self.error(
                Diagnostic::error(
                    Code::WrongArity,
                    name_span,
                    format!("`{name}` is made without its field `{field}`"),
                )
                .label("made here")
                .related(declaration.name_span, "this field has no default")
                .help(format!("give `{field}` a value")),
            )),
        }
    }

    /// The default of a field, which may use the fields before it.
    fn default_field(
        &mut self,
        bound: &Bound,
        rank: usize,
        fields: &[(Rc<str>, Value)],
    ) -> Checked<Value> {
        let Bound::Expr { ast, part, .. } = bound else {
            return self.eval_bound(bound, rank);
        };
        let (ast, part) = (*ast, *part);
        let before: Vec<(std::sync::Arc<str>, Value)> = fields
            .iter()
            .map(|(name, value)| ((&**name).into(), value.clone()))
            .collect();
        self.in_part(part, |elaborator| {
            let outer = elaborator.loops.len();
            elaborator.loops.extend(before);
            let value = elaborator.eval(ast);
            elaborator.loops.truncate(outer);
            value
        })
    }

    /// `'constructor'.fromReal` and the like of an operator record, by the number of arguments.
    fn own_constructor(
        &mut self,
        record: super::scope::NodeId,
        n: usize,
    ) -> Option<super::scope::NodeId> {
        let element = self.element(record, "constructor")?;
        let What::Class(class) = element.what else {
            return None;
        };
        let group = self.class_node(record, &class.name, &element)?;
        let elements = self.node(group).elements.clone();
        let mut names: Vec<&'a str> = elements.map.keys().copied().collect();
        names.sort_unstable();
        for name in names {
            let element = elements.map.get(name)?.clone();
            if let Some(function) = self.class_node(group, name, &element) {
                let signature = self.signature(function);
                // A constructor without a body says how fields are filled.
                if signature.accepts(n) && signature.has_body() {
                    return Some(function);
                }
            }
        }
        None
    }

    /// An operator of records: the function that the class of one side defines for it.
    pub(super) fn overloaded(
        &mut self,
        (op, elementwise): (Arithmetic, bool),
        a: &Value,
        b: &Value,
        span: Span,
    ) -> Checked<Option<Value>> {
        let word = match op {
            Arithmetic::Add => "+",
            Arithmetic::Sub => "-",
            Arithmetic::Mul => "*",
            Arithmetic::Div => "/",
        };
        // Arrays of records, element by element or with one side for all.
        if let Value::List(list) = a
            && matches!(list.items.first(), Some(Value::Record(_)))
        {
            return self.overloaded_list((op, elementwise), a, b, span);
        }
        if let Value::List(list) = b
            && matches!(list.items.first(), Some(Value::Record(_)))
        {
            return self.overloaded_list((op, elementwise), a, b, span);
        }
        if !a.dims().is_empty() || !b.dims().is_empty() {
            let is_record = |value: &Value| matches!(value, Value::Record(_));
            if is_record(a) || is_record(b) {
                return self.overloaded_list((op, elementwise), a, b, span);
            }
            return Ok(None);
        }
        self.operated(word, a, b, span)
    }

    /// The same for an operator by its word, of two records or a record and a number.
    pub(super) fn operated(
        &mut self,
        word: &str,
        a: &Value,
        b: &Value,
        span: Span,
    ) -> Checked<Option<Value>> {
        let Some(node) = record_node(a).or(record_node(b)) else {
            return Ok(None);
        };
        let Some(function) = self.operator(node, word, 2) else {
            return Ok(None);
        };
        let a = self.as_operand(node, a, span)?;
        let b = self.as_operand(node, b, span)?;
        self.call_with(function, vec![a, b], span).map(Some)
    }

    fn overloaded_list(
        &mut self,
        (op, elementwise): (Arithmetic, bool),
        a: &Value,
        b: &Value,
        span: Span,
    ) -> Checked<Option<Value>> {
        let (x, y) = (items_of(a), items_of(b));
        // Two vectors multiply to the sum of their products.
        let is_dot =
            op == Arithmetic::Mul && !elementwise && a.dims().len() == 1 && a.dims() == b.dims();
        let dims = match a.dims().is_empty() {
            true => b.dims().to_vec(),
            false => a.dims().to_vec(),
        };
        if !a.dims().is_empty() && !b.dims().is_empty() && a.dims() != b.dims() {
            return Ok(None);
        }
        let count: usize = dims.iter().product();
        let mut items = Vec::with_capacity(count);
        for at in 0..count {
            let first = if a.dims().is_empty() { &x[0] } else { &x[at] };
            let second = if b.dims().is_empty() { &y[0] } else { &y[at] };
            match self.overloaded((op, elementwise), first, second, span)? {
                Some(value) => items.push(value),
                None => return Ok(None),
            }
        }
        if is_dot && let Some((first, rest)) = items.split_first() {
            let mut sum = first.clone();
            for item in rest {
                match self.overloaded((Arithmetic::Add, false), &sum, item, span)? {
                    Some(value) => sum = value,
                    None => return Ok(None),
                }
            }
            return Ok(Some(sum));
        }
        Ok(Some(Value::listed(dims, items)))
    }

    /// The sum of an array of records, by the `+` that they bring.
    pub(super) fn sum_of_records(&mut self, value: &Value, span: Span) -> Checked<Option<Value>> {
        let Value::List(list) = value else {
            return Ok(None);
        };
        let Some((first, rest)) = list.items.split_first() else {
            return Ok(None);
        };
        self.step(list.items.len() as u64, span)?;
        let mut sum = first.clone();
        for item in rest {
            match self.operated("+", &sum, item, span)? {
                Some(value) => sum = value,
                None => return Ok(None),
            }
        }
        Ok(matches!(sum, Value::Record(_)).then_some(sum))
    }

    /// `-a` of a record.
    pub(super) fn negated(&mut self, value: &Value, span: Span) -> Checked<Option<Value>> {
        if let Value::List(list) = value {
            let mut items = Vec::with_capacity(list.items.len());
            for item in &list.items {
                match self.negated(item, span)? {
                    Some(value) => items.push(value),
                    None => return Ok(None),
                }
            }
            return Ok(Some(Value::listed(list.dims.clone(), items)));
        }
        let Some(node) = record_node(value) else {
            return Ok(None);
        };
        match self.operator(node, "-", 1) {
            Some(function) => self
                .call_with(function, vec![value.clone()], span)
                .map(Some),
            None => Ok(None),
        }
    }

    /// A number where a record is needed goes through the constructor of the record.
    pub(super) fn as_operand(&mut self, node: NodeId, value: &Value, span: Span) -> Checked<Value> {
        if matches!(value, Value::Record(_)) {
            return Ok(value.clone());
        }
        match self.own_constructor(node, 1) {
            Some(function) => self.call_with(function, vec![value.clone()], span),
            None => Ok(value.clone()),
        }
    }

    /// The function of an operator with so many operands.
    fn operator(&mut self, record: NodeId, word: &str, n: usize) -> Option<NodeId> {
        let element = self.element(record, word)?;
        let What::Class(class) = element.what else {
            return None;
        };
        let group = self.class_node(record, &class.name, &element)?;
        if self.node(group).class?.kind == ClassKind::Function {
            return Some(group);
        }
        let elements = self.node(group).elements.clone();
        let mut names: Vec<&'a str> = elements.map.keys().copied().collect();
        names.sort_unstable();
        for name in names {
            let element = elements.map.get(name)?.clone();
            if let Some(function) = self.class_node(group, name, &element)
                && self.signature(function).n_inputs() == n
            {
                return Some(function);
            }
        }
        None
    }

    /// `String(x)`: known before the run, for names and messages.
    pub(super) fn eval_string(
        &mut self,
        positional: &[AstId],
        named: &'a [(String, Span, AstId)],
        span: Span,
    ) -> Checked<Value> {
        let Some(&argument) = positional.first() else {
            return Err(self.error(
                Diagnostic::error(Code::WrongArity, span, "`String` takes a value")
                    .label("nothing given")
                    .help("write String(x)"),
            ));
        };
        let literals = self.enumeration_of(argument);
        let value = self.eval(argument)?;
        if let Value::Text(_) = value {
            return Ok(value);
        }
        let ty = value.ty();
        let expr = self.scalar(&value, span)?;
        if self.varies(expr) {
            // Only messages show it, and none is shown during a run.
            return Ok(Value::Text("…".into()));
        }
        let number = self.parameter_value(expr);
        let digits = match named.iter().find(|(name, ..)| name == "significantDigits") {
            Some(&(_, _, digits)) => self.eval_known(digits, "the digits of a text")?,
            None => 6.0,
        };
        let text = match (ty, literals) {
            (_, Some(literals)) if number >= 1.0 && number as usize <= literals.len() => {
                literals[number as usize - 1].clone()
            }
            (Some(Type::Boolean), _) => (number != 0.0).to_string(),
            (Some(Type::Integer), _) => format!("{number}"),
            _ => significant(number, digits as usize),
        };
        let width = match named.iter().find(|(name, ..)| name == "minimumLength") {
            Some(&(_, _, width)) => self.eval_known(width, "the length of a text")? as usize,
            None => 0,
        };
        Ok(Value::Text(
            format!("{text:<width$}", width = width.min(1000)).into(),
        ))
    }

    /// The literals of the type of a variable, if that is an enumeration.
    fn enumeration_of(&mut self, argument: AstId) -> Option<&'a [String]> {
        let crate::ast::Expr::Name { name, path, .. } = self.ast.expr(argument) else {
            return None;
        };
        let (node, element) = match path {
            None => self.find(self.part, name)?,
            Some(_) => {
                let (node, element) = self.find_path(self.part, name)?;
                (node, element)
            }
        };
        let What::Component(declaration) = element.what else {
            return None;
        };
        match self.instance(node, &declaration.name).ok()? {
            Instance::Variable(entry) => match self.entries[entry].variable.simple {
                super::instance::Simple::Enumeration(literals) => Some(literals),
                _ => None,
            },
            _ => None,
        }
    }
}

/// The class of a record.
fn record_node(value: &Value) -> Option<NodeId> {
    match value {
        Value::Record(record) => record.node,
        _ => None,
    }
}

/// The elements of an array as values; a single value is its own element.
fn items_of(value: &Value) -> Vec<Value> {
    match value {
        Value::List(list) => list.items.clone(),
        Value::Array(array) => {
            let item = |&expr| Value::Scalar(array.ty, expr);
            array.data.iter().map(item).collect()
        }
        other => vec![other.clone()],
    }
}

/// A number with so many digits, as C's `%g` writes it.
fn significant(number: f64, digits: usize) -> String {
    let digits = digits.clamp(1, 17);
    if number == 0.0 || !number.is_finite() {
        return format!("{number}");
    }
    let exponent = number.abs().log10().floor() as i32;
    if exponent < -4 || exponent >= digits as i32 {
        let text = format!("{:.*e}", digits - 1, number);
        let (mantissa, power) = text.split_once('e').unwrap_or((&text, "0"));
        let mantissa = match mantissa.contains('.') {
            true => mantissa.trim_end_matches('0').trim_end_matches('.'),
            false => mantissa,
        };
        let power: i32 = power.parse().unwrap_or(0);
        let sign = if power < 0 { '-' } else { '+' };
        return format!("{mantissa}e{sign}{:02}", power.abs());
    }
    let decimals = (digits as i32 - 1 - exponent).max(0) as usize;
    let text = format!("{number:.decimals$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => text,
    }
}
