//! Arrays: elements and slices, constructors, ranges, loops and comprehensions.

use super::value::{Array, Value, common, describe_dims};
use super::{Checked, Elaborator, Reported};
use crate::ast::{Arithmetic, AstId, Expr, Iterator};
use crate::diagnostic::{Code, Diagnostic};
use crate::model::Type;
use crate::source::Span;
use daelight_expr::{BinaryOp, ExprId, Node, UnaryOp};
use std::sync::Arc;

impl<'a> Elaborator<'a> {
    /// Elements and slices of an array.
    pub(super) fn select(
        &mut self,
        value: &Value,
        subscripts: &[AstId],
        name: &str,
        span: Span,
    ) -> Checked<Value> {
        if let Value::List(list) = value {
            let (dims, positions) = self.chosen(&list.dims, subscripts, name, span)?;
            let items = positions.iter().map(|&at| list.items[at].clone()).collect();
            return Ok(Value::listed(dims, items));
        }
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
        let array = array.clone();
        let picks = self.picks(&array.dims, subscripts, name, span)?;
        self.element_at(&array, picks, span)
    }

    /// The elements that subscripts pick; one that changes during a run chooses among all elements of its dimension.
    pub(super) fn element_at(
        &mut self,
        array: &Array,
        mut picks: Vec<Pick>,
        span: Span,
    ) -> Checked<Value> {
        let varying = picks.iter().enumerate().find_map(|(at, pick)| match pick {
            Pick::Varying(expr) => Some((at, *expr)),
            _ => None,
        });
        let Some((at, subscript)) = varying else {
            let (dims, positions) = self.positions(&array.dims, &picks, span)?;
            let data = positions.into_iter().map(|at| array.data[at]).collect();
            return Ok(Value::shaped(array.ty, dims, data));
        };
        if let Some(tree) = self.cases(subscript, 4 * array.dims[at]) {
            return self.element_of_cases(array, picks, at, &tree, span);
        }
        let mut parts = Vec::with_capacity(array.dims[at]);
        for index in 0..array.dims[at] {
            picks[at] = Pick::One(index);
            parts.push(self.element_at(array, picks.clone(), span)?);
        }
        let value = self.one_of(&parts, 1, subscript, span)?;
        Ok(self.within(array.dims[at], subscript, value))
    }

    /// A whole number as choices among numbers, with at most `most` of them; `None` if it is anything else.
    ///
    /// A subscript that jumps where a condition changes is chosen by that condition, not compared: a comparison of it would
    /// be a second switch at the same place.
    fn cases(&self, expr: ExprId, most: usize) -> Option<Cases> {
        match self.graph.node(expr) {
            Node::Constant(bits) => Some(Cases::One(f64::from_bits(bits))),
            Node::Select(condition, a, b) if most > 1 => {
                let first = self.cases(a, most - 1)?;
                let second = self.cases(b, most - first.count())?;
                Some(Cases::Either(condition, Box::new([first, second])))
            }
            Node::Binary(op @ (BinaryOp::Add | BinaryOp::Sub), a, b) => {
                let (shift, of) = match (self.graph.as_constant(a), self.graph.as_constant(b)) {
                    (Some(shift), None) if op == BinaryOp::Add => (shift, b),
                    (None, Some(shift)) if op == BinaryOp::Add => (shift, a),
                    (None, Some(shift)) => (-shift, a),
                    _ => return None,
                };
                let mut cases = self.cases(of, most)?;
                cases.shift(shift);
                Some(cases)
            }
            _ => None,
        }
    }

    /// A comparison of whole numbers that vary within a function, made between whole numbers: one that jumps onto the other
    /// would come to rest where the comparison changes.
    pub(super) fn compared_whole(&mut self, op: BinaryOp, a: ExprId, b: ExprId) -> Option<ExprId> {
        if self.calls.is_empty() || !(self.varies(a) || self.varies(b)) {
            return None;
        }
        let half = self.graph.constant(0.5);
        let (below, above) = (self.graph.sub(b, half), self.graph.add(b, half));
        let greater = |it: &mut Self, limit| it.graph.binary(BinaryOp::Greater, a, limit);
        let less = |it: &mut Self, limit| it.graph.binary(BinaryOp::Less, a, limit);
        Some(match op {
            BinaryOp::Less => less(self, below),
            BinaryOp::LessEqual => less(self, above),
            BinaryOp::Greater => greater(self, above),
            BinaryOp::GreaterEqual => greater(self, below),
            BinaryOp::Equal | BinaryOp::NotEqual => {
                let (low, high) = (greater(self, below), less(self, above));
                let equal = self.graph.binary(BinaryOp::And, low, high);
                match op {
                    BinaryOp::Equal => equal,
                    _ => self.graph.unary(UnaryOp::Not, equal),
                }
            }
            _ => return None,
        })
    }

    /// A comparison of a number with choices among numbers, by the conditions that choose.
    pub(super) fn compared_cases(
        &mut self,
        op: BinaryOp,
        a: ExprId,
        b: ExprId,
        span: Span,
    ) -> Option<ExprId> {
        let (chosen, is_first) = match (self.graph.as_constant(a), self.graph.as_constant(b)) {
            (None, Some(_)) => (a, true),
            (Some(_), None) => (b, false),
            _ => return None,
        };
        // Few choices: more would be a search of its own.
        let cases = self.cases(chosen, 32)?;
        Some(self.compare_each(op, &cases, if is_first { b } else { a }, is_first, span))
    }

    fn compare_each(
        &mut self,
        op: BinaryOp,
        cases: &Cases,
        other: ExprId,
        is_first: bool,
        span: Span,
    ) -> ExprId {
        match cases {
            &Cases::One(value) => {
                let value = self.graph.constant(value);
                match is_first {
                    true => self.graph.binary(op, value, other),
                    false => self.graph.binary(op, other, value),
                }
            }
            Cases::Either(condition, both) => {
                let [first, second] = &**both;
                let first = self.compare_each(op, first, other, is_first, span);
                let second = self.compare_each(op, second, other, is_first, span);
                self.choose(Type::Boolean, *condition, first, second, span)
            }
        }
    }

    fn element_of_cases(
        &mut self,
        array: &Array,
        mut picks: Vec<Pick>,
        at: usize,
        cases: &Cases,
        span: Span,
    ) -> Checked<Value> {
        match cases {
            &Cases::One(value) => {
                let is_inside = value >= 1.0 && value <= array.dims[at] as f64;
                if !is_inside && array.ty == Type::Real {
                    // A path that leaves the array has no value there.
                    picks[at] = Pick::One(0);
                    let shape = self.element_at(array, picks, span)?;
                    let nothing = self.nothing(span);
                    let data = vec![nothing; shape.elements().len()];
                    return Ok(Value::shaped(array.ty, shape.dims().to_vec(), data));
                }
                picks[at] = Pick::One(self.position(value, array.dims[at], "array", span)?);
                self.element_at(array, picks, span)
            }
            Cases::Either(condition, both) => {
                let [first, second] = &**both;
                let first = self.element_of_cases(array, picks.clone(), at, first, span)?;
                let second = self.element_of_cases(array, picks, at, second, span)?;
                self.merge(*condition, &first, &second, span)
            }
        }
    }

    /// A number that ends where its subscript leaves the array: beyond it a root has no value.
    fn within(&mut self, size: usize, subscript: ExprId, value: Value) -> Value {
        let Value::Scalar(Type::Real, inside) = value else {
            return value;
        };
        let [zero, one, last] = [0.0, 1.0, size as f64].map(|x| self.graph.constant(x));
        let (left, right) = (
            self.graph.sub(subscript, one),
            self.graph.sub(last, subscript),
        );
        let distance = self.graph.mul(left, right);
        let outside = self.graph.binary(BinaryOp::Less, distance, zero);
        let root = self.graph.unary(UnaryOp::Sqrt, distance);
        let nothing = self.graph.mul(zero, root);
        Value::Scalar(Type::Real, self.graph.select(outside, nothing, inside))
    }

    /// Part number `subscript` of parts of equal shape, the first of which has the number `from`.
    fn one_of(
        &mut self,
        parts: &[Value],
        from: usize,
        subscript: ExprId,
        span: Span,
    ) -> Checked<Value> {
        if let [only] = parts {
            return Ok(only.clone());
        }
        let half = parts.len() / 2;
        let (left, right) = parts.split_at(half);
        // Between whole numbers: a subscript that jumps would come to rest on one.
        let limit = self.graph.constant((from + half) as f64 - 0.5);
        let condition = self.graph.binary(BinaryOp::Less, subscript, limit);
        let left = self.one_of(left, from, subscript, span)?;
        let right = self.one_of(right, from + half, subscript, span)?;
        self.merge(condition, &left, &right, span)
    }

    /// Sizes and row-major positions of what subscripts choose from an array.
    pub(super) fn chosen(
        &mut self,
        sizes: &[usize],
        subscripts: &[AstId],
        name: &str,
        span: Span,
    ) -> Checked<(Vec<usize>, Vec<usize>)> {
        let picks = self.picks(sizes, subscripts, name, span)?;
        self.positions(sizes, &picks, span)
    }

    /// What each subscript picks.
    pub(super) fn picks(
        &mut self,
        sizes: &[usize],
        subscripts: &[AstId],
        name: &str,
        span: Span,
    ) -> Checked<Vec<Pick>> {
        if subscripts.len() > sizes.len() {
            return Err(self.error(
                Diagnostic::error(
                    Code::WrongSubscript,
                    span,
                    format!(
                        "`{name}` is {}, {} subscripts are too many",
                        describe_dims(sizes),
                        subscripts.len()
                    ),
                )
                .label(describe_dims(sizes))
                .help(format!("use at most {} subscripts", sizes.len())),
            ));
        }
        let mut picks = Vec::with_capacity(sizes.len());
        for (position, &size) in sizes.iter().enumerate() {
            picks.push(match subscripts.get(position) {
                None => Pick::All,
                Some(&subscript) => self.pick(subscript, size, name)?,
            });
        }
        Ok(picks)
    }

    /// Sizes and row-major positions of what subscripts that are known pick.
    pub(super) fn positions(
        &mut self,
        sizes: &[usize],
        picks: &[Pick],
        span: Span,
    ) -> Checked<(Vec<usize>, Vec<usize>)> {
        let mut positions = vec![0];
        let mut dims = Vec::new();
        for (&size, pick) in sizes.iter().zip(picks) {
            let indices: Vec<usize> = match pick {
                // The common case of one element needs no lists.
                Pick::One(index) => {
                    for at in &mut positions {
                        *at = *at * size + index;
                    }
                    continue;
                }
                Pick::Varying(expr) => {
                    let value = self.known_scalar(*expr, "a subscript", span)?;
                    vec![self.position(value, size, "array", span)?]
                }
                Pick::Many(indices) => indices.clone(),
                Pick::All => (0..size).collect(),
            };
            dims.push(indices.len());
            self.step((positions.len() * indices.len()) as u64, span)?;
            positions = positions
                .iter()
                .flat_map(|&at| indices.iter().map(move |&index| at * size + index))
                .collect();
        }
        Ok((dims, positions))
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
        self.require_type(&value, Type::Real, span)?;
        match &value {
            Value::Scalar(Type::Integer, expr) if self.varies(*expr) => Ok(Pick::Varying(*expr)),
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
    pub(super) fn index(
        &mut self,
        expr: ExprId,
        size: usize,
        name: &str,
        span: Span,
    ) -> Checked<usize> {
        let value = self.known_scalar(expr, "a subscript", span)?;
        self.position(value, size, name, span)
    }

    /// The value of a subscript such as `i - 1`, without making nodes for it.
    pub(super) fn plain_number(&self, id: AstId) -> Option<f64> {
        match self.ast.expr(id) {
            Expr::Number(value) => Some(*value),
            Expr::Name {
                name, subscripts, ..
            } if subscripts.is_empty() => {
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
    pub(super) fn position(
        &mut self,
        value: f64,
        size: usize,
        name: &str,
        span: Span,
    ) -> Checked<usize> {
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
        let instance = self.instance_of(None);
        let loops: Vec<String> = instance
            .indices
            .iter()
            .map(|(name, value)| format!("{name} = {value}"))
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

    pub(super) fn eval_array(&mut self, items: &[AstId], span: Span) -> Checked<Value> {
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
            let mut all = vec![values.len()];
            all.extend(&dims);
            let items = values.into_iter().flat_map(|(value, _)| match value {
                Value::List(list) => list.items.clone(),
                other => vec![other],
            });
            return Ok(Value::listed(all, items.collect()));
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
    pub(super) fn eval_matrix(&mut self, rows: &[Vec<AstId>], span: Span) -> Checked<Value> {
        let mut joined_rows = Vec::with_capacity(rows.len());
        for row in rows {
            let mut parts = Vec::with_capacity(row.len());
            for &item in row {
                let at = self.ast.span(item);
                let value = self.eval(item)?;
                parts.push((Self::as_matrix(value), at));
            }
            joined_rows.push((self.join(1, parts, span)?, span));
        }
        self.join(0, joined_rows, span)
    }

    /// At least two dimensions; an array of more keeps them.
    pub(super) fn as_matrix(value: Value) -> Value {
        let ty = value.ty().unwrap_or(Type::Real);
        match value.dims() {
            [] => Value::shaped(ty, vec![1, 1], value.elements().to_vec()),
            &[n] => Value::shaped(ty, vec![n, 1], value.elements().to_vec()),
            _ => value,
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
        let wanted = match ty {
            Type::Boolean => Type::Boolean,
            _ => Type::Real,
        };
        for (value, at) in &parts {
            self.require_type(value, wanted, *at)?;
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
            if ty != Type::Boolean {
                ty = common(ty, value.ty().unwrap_or(ty));
            }
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

    pub(super) fn eval_range(
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
    pub(super) fn range_numbers(
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
        let count = ((last - first) / increment * (1.0 + 4.0 * f64::EPSILON)).floor() + 1.0;
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

    /// Loops can run over Boolean and over enumerations.
    fn type_range(&mut self, range: AstId) -> Option<(Type, usize)> {
        let Expr::Name { name, .. } = self.ast.expr(range) else {
            return None;
        };
        if name == "Boolean" {
            return Some((Type::Boolean, 2));
        }
        if self.frame.is_some() && self.local_dims(name.split('.').next()?).is_some() {
            return None;
        }
        let (_, element) = self.find_path(self.part, name)?;
        let literals = self.literals_of(&element)?;
        Some((Type::Integer, literals.len()))
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
        if let Some(count) = self.type_range(range) {
            let from = f64::from(u8::from(!matches!(count.0, Type::Boolean)));
            let numbers = (0..count.1).map(|at| at as f64 + from).collect();
            return Ok((count.0, numbers));
        }
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

    pub(super) fn eval_comprehension(
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
    pub(super) fn comprehend(
        &mut self,
        body: AstId,
        iterators: &[Iterator],
        span: Span,
    ) -> Checked<Value> {
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
            self.indices = None;
            let value = self.comprehend(body, inner, span);
            self.loops.pop();
            self.indices = None;
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
        if name == "sum"
            && let Some(sum) = self.sum_of_records(value, span)?
        {
            return Ok(sum);
        }
        self.require_type(value, Type::Real, span)?;
        let ty = value.ty().unwrap_or(Type::Real);
        let elements = value.elements();
        self.step(elements.len() as u64, span)?;
        let expr = match name {
            "sum" => self.graph.sum(elements.iter().copied()),
            "product" => {
                let one = self.graph.constant(1.0);
                elements
                    .iter()
                    .fold(one, |product, &element| self.graph.mul(product, element))
            }
            // Functions of libraries take it as the number itself.
            "min" | "max" if matches!(value, Value::Scalar(..)) && self.frame.is_none() => {
                return Err(self.error(
                    Diagnostic::error(
                        Code::WrongSize,
                        span,
                        format!("`{name}` of one number"),
                    )
                    .label("a single number")
                    .help(format!(
                        "give it two numbers or an array; the extreme value of a run is `sweep --measure {name}:NAME`"
                    )),
                ));
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

#[derive(Clone)]
pub(super) enum Pick {
    One(usize),
    /// A whole number that is known during a run only.
    Varying(ExprId),
    Many(Vec<usize>),
    All,
}

/// A whole number by the conditions that choose it.
enum Cases {
    One(f64),
    Either(ExprId, Box<[Cases; 2]>),
}

impl Cases {
    fn count(&self) -> usize {
        match self {
            Cases::One(_) => 1,
            Cases::Either(_, both) => both.iter().map(Cases::count).sum(),
        }
    }

    fn shift(&mut self, by: f64) {
        match self {
            Cases::One(value) => *value += by,
            Cases::Either(_, both) => both.iter_mut().for_each(|cases| cases.shift(by)),
        }
    }
}

impl Pick {
    pub(super) fn varies(&self) -> bool {
        matches!(self, Pick::Varying(_))
    }
}
