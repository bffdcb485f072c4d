//! Calls: `der`, elementary functions, array functions, and what Modelica has beyond them.

use super::value::{Value, describe_dims};
use super::{Checked, Elaborator, Reported};
use crate::ast::{AstId, Expr, Relation};
use crate::diagnostic::{Code, Diagnostic, nearest};
use crate::model::{Symbol, Type};
use crate::source::Span;
use daelight_expr::{BinaryOp, ExprId, SymbolId, UnaryOp};

/// Elementary functions of one argument.
const ELEMENTARY: &[(&str, UnaryOp)] = &[
    ("sqrt", UnaryOp::Sqrt),
    ("exp", UnaryOp::Exp),
    ("log", UnaryOp::Log),
    ("log10", UnaryOp::Log10),
    ("sin", UnaryOp::Sin),
    ("cos", UnaryOp::Cos),
    ("tan", UnaryOp::Tan),
    ("asin", UnaryOp::Asin),
    ("acos", UnaryOp::Acos),
    ("atan", UnaryOp::Atan),
    ("sinh", UnaryOp::Sinh),
    ("cosh", UnaryOp::Cosh),
    ("tanh", UnaryOp::Tanh),
    ("abs", UnaryOp::Abs),
    ("sign", UnaryOp::Sign),
];

/// The other functions, with the numbers of arguments they take.
const OTHERS: &[(&str, usize, usize)] = &[
    ("der", 1, 1),
    ("noEvent", 1, 1),
    ("pure", 1, 1),
    ("semiLinear", 3, 3),
    ("terminal", 0, 0),
    ("getInstanceName", 0, 0),
    ("symmetric", 1, 1),
    ("smooth", 2, 2),
    ("homotopy", 2, 2),
    ("realParameterEqual", 2, 2),
    ("atan2", 2, 2),
    ("min", 1, 2),
    ("max", 1, 2),
    ("mod", 2, 2),
    ("rem", 2, 2),
    ("div", 2, 2),
    ("floor", 1, 1),
    ("ceil", 1, 1),
    ("integer", 1, 1),
    ("sum", 1, 1),
    ("product", 1, 1),
    ("transpose", 1, 1),
    ("cross", 2, 2),
    ("skew", 1, 1),
    ("outerProduct", 2, 2),
    ("diagonal", 1, 1),
    ("identity", 1, 1),
    ("zeros", 1, usize::MAX),
    ("ones", 1, usize::MAX),
    ("fill", 2, usize::MAX),
    ("linspace", 3, 3),
    ("size", 1, 2),
    ("ndims", 1, 1),
    ("scalar", 1, 1),
    ("vector", 1, 1),
    ("matrix", 1, 1),
    ("cat", 2, usize::MAX),
    ("array", 1, usize::MAX),
    ("virtualWork", 2, 2),
];

/// The names of all functions that every text knows.
pub fn built_in_functions() -> impl Iterator<Item = &'static str> {
    let elementary = ELEMENTARY.iter().map(|&(name, _)| name);
    let events = [
        "pre", "edge", "change", "initial", "sample", "delay", "reinit",
    ];
    let others = OTHERS.iter().map(|&(name, ..)| name);
    let equations = ["assert", "terminate", "connect", "lagrange"];
    elementary.chain(others).chain(events).chain(equations)
}

/// Functions of Modelica that need more than the time between events.
const BEYOND: &[&str] = &["spatialDistribution"];

/// What functions of other languages are called here.
const ELSEWHERE: &[(&str, &str)] = &[
    ("ln", "`log(x)`"),
    ("lg", "`log10(x)`"),
    ("pow", "`x^y`"),
    ("power", "`x^y`"),
    ("sqr", "`sqrt(x)` for a root, `x^2` for a square"),
    ("fabs", "`abs(x)`"),
    ("sgn", "`sign(x)`"),
    ("sinus", "`sin(x)`"),
    ("arcsin", "`asin(x)`"),
    ("arccos", "`acos(x)`"),
    ("arctan", "`atan(x)`"),
    ("arctan2", "`atan2(y, x)`"),
    ("dot", "`u*v`"),
    ("eye", "`identity(n)`"),
    ("diff", "`der(x)`"),
];

/// The arguments of a call of `homotopy` that names some of them.
fn homotopy_by_name(
    function: &str,
    positional: &[AstId],
    named: &[(String, Span, AstId)],
) -> Option<(AstId, AstId)> {
    let argument = |at: usize, word: &str| {
        let by_name = named.iter().find(|(name, ..)| name == word);
        let by_name = by_name.map(|&(_, _, argument)| argument);
        positional.get(at).copied().or(by_name)
    };
    let is_it = function == "homotopy" && !named.is_empty();
    let arguments = argument(0, "actual").zip(argument(1, "simplified"));
    arguments.filter(|_| is_it)
}

impl<'a> Elaborator<'a> {
    pub(super) fn eval_call(
        &mut self,
        name: &'a str,
        name_span: Span,
        positional: &[AstId],
        named: &'a [(String, Span, AstId)],
        span: Span,
    ) -> Checked<Value> {
        if let Some(closure) = self.local_closure(name) {
            return self.call_closure(&closure, name_span, positional, named, span);
        }
        if let Some(function) = self.function(name) {
            return self.inline(function, name_span, positional, named, span);
        }
        if let Some(value) = self.constructed(name, name_span, positional, named, span)? {
            return Ok(value);
        }
        let short = self.library_function(name);
        if let Some((actual, simplified)) = homotopy_by_name(&short, positional, named) {
            return self.homotopy(actual, simplified, span);
        }
        if let Some(value) = self.event_call(&short, positional, span)? {
            return Ok(value);
        }
        if short == "String" {
            return self.eval_string(positional, named, span);
        }
        if let Some(value) = self.connection_call(&short, positional, span)? {
            return Ok(value);
        }
        if let Some(value) = self.stream_call(&short, positional, span)? {
            return Ok(value);
        }
        if let Some((other, other_span, _)) = named.first() {
            return Err(self.error(
                Diagnostic::error(
                    Code::WrongArity,
                    *other_span,
                    format!("`{short}` has no argument named `{other}`"),
                )
                .label("built-in functions take arguments by position")
                .help(format!("leave out `{other} =`")),
            ));
        }
        if let Some(&(_, op)) = ELEMENTARY.iter().find(|(known, _)| *known == short) {
            self.require_arity(&short, 1, 1, positional.len(), span)?;
            return self.elementary(op, positional[0], span);
        }
        match OTHERS.iter().find(|(known, ..)| *known == short) {
            Some(&(known, least, most)) => {
                self.require_arity(known, least, most, positional.len(), span)?;
                self.built_in(known, positional, span)
            }
            None if short == "lagrange" => Err(self.error(
                Diagnostic::error(Code::Syntax, span, "`lagrange` is an equation, not a value")
                    .label("used as a value")
                    .help("write `lagrange(T, V, q);` on a line of its own"),
            )),
            None if BEYOND.contains(&short.as_str()) => Err(self.error(
                Diagnostic::error(
                    Code::Unsupported,
                    name_span,
                    format!("`{short}` is not supported{}", self.place()),
                )
                .label("needs the past of the run at a speed that may change")
                .help("write `delay(u, T)` if the speed is constant"),
            )),
            None => {
                let unknown = self.unknown_function(name, name_span);
                // The mistakes inside it are told with it.
                for &argument in positional {
                    let _ = self.eval(argument);
                }
                Err(unknown)
            }
        }
    }

    /// `Modelica.Math.sin`, or `Math.sin` after an import, is `sin`.
    fn library_function(&self, name: &str) -> String {
        let path = self.full_path(name, self.part);
        let path = path.trim_start_matches('.');
        path.strip_prefix("Modelica.Math.")
            .unwrap_or(path)
            .to_string()
    }

    pub(super) fn unknown_function(&mut self, name: &str, span: Span) -> Reported {
        if self.ast.is_unread(name) {
            return Reported;
        }
        let known = ELEMENTARY.iter().map(|(known, _)| *known);
        let others = OTHERS.iter().map(|(known, ..)| *known);
        let own = self.function_names();
        let help = if self.by_name.contains_key(name) {
            format!("`{name}` is a variable; write `{name}*(…)` to multiply")
        } else if let Some((_, here)) = ELSEWHERE.iter().find(|(known, _)| *known == name) {
            format!("write {here}")
        } else {
            match nearest(name, known.chain(others).chain(own.iter().copied())) {
                _ if name.contains('.') => {
                    format!(
                        "give the folder of its library with --library, or check the name `{name}`"
                    )
                }
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("write `function {name} … end {name};` in the same text"),
            }
        };
        self.error(
            Diagnostic::error(
                Code::UnknownFunction,
                span,
                format!("there is no function `{name}`"),
            )
            .label("called here")
            .help(help),
        )
    }

    pub(super) fn require_arity(
        &mut self,
        name: &str,
        least: usize,
        most: usize,
        given: usize,
        span: Span,
    ) -> Checked<()> {
        if (least..=most).contains(&given) {
            return Ok(());
        }
        let plural = |count: usize| if count == 1 { "" } else { "s" };
        let wanted = match (least, most) {
            _ if least == most => format!("{least} argument{}", plural(least)),
            (_, usize::MAX) => format!("at least {least} argument{}", plural(least)),
            _ => format!("{least} to {most} arguments"),
        };
        Err(self.error(
            Diagnostic::error(
                Code::WrongArity,
                span,
                format!("`{name}` takes {wanted}, {given} given"),
            )
            .label(format!("{given} argument{} here", plural(given)))
            .help(match name {
                "der" => "write `der(der(x))` for the second derivative of `x`".to_string(),
                _ => format!("call it with {wanted}"),
            }),
        ))
    }

    fn elementary(&mut self, op: UnaryOp, argument: AstId, span: Span) -> Checked<Value> {
        let value = self.eval(argument)?;
        self.require_type(&value, Type::Real, self.ast.span(argument))?;
        self.elementary_of(op, &value, span)
    }

    /// An elementary function of the name that external functions use.
    pub(super) fn elementary_named(name: &str) -> Option<UnaryOp> {
        let found = ELEMENTARY.iter().find(|(known, _)| *known == name);
        found.map(|&(_, op)| op)
    }

    /// The functions around the current place, for proposals.
    fn function_names(&self) -> Vec<&'a str> {
        let mut names = Vec::new();
        let mut at = Some(self.part);
        while let Some(part) = at {
            let part = self.part(part);
            for (name, element) in &self.node(part.node).elements.map {
                if let super::scope::What::Class(class) = element.what
                    && class.kind == crate::ast::ClassKind::Function
                {
                    names.push(*name);
                }
            }
            at = part.around;
        }
        names
    }

    /// `semiLinear(x, a, b)`: a*x where x is positive, b*x elsewhere.
    fn semi_linear(&mut self, arguments: &[AstId], span: Span) -> Checked<Value> {
        let mut values = Vec::with_capacity(3);
        for &argument in arguments {
            values.push(self.eval_number(argument)?);
        }
        // Element by element where it is given arrays.
        let longest = values.iter().max_by_key(|value| value.dims().len());
        let dims = longest.map_or(Vec::new(), |value| value.dims().to_vec());
        for (value, &argument) in values.iter().zip(arguments) {
            if value.dims() != dims {
                self.scalar(value, self.ast.span(argument))?;
            }
        }
        let count: usize = dims.iter().product();
        let mut data = Vec::with_capacity(count);
        for position in 0..count {
            let at = |value: &Value| match value.elements() {
                [only] if value.dims().is_empty() => *only,
                elements => elements[position],
            };
            let [x, above, below] = [at(&values[0]), at(&values[1]), at(&values[2])];
            let zero = self.graph.constant(0.0);
            let condition = self.graph.binary(BinaryOp::GreaterEqual, x, zero);
            let (up, down) = (self.graph.mul(x, above), self.graph.mul(x, below));
            data.push(self.choose(Type::Real, condition, up, down, span));
        }
        Ok(Value::shaped(Type::Real, dims, data))
    }

    /// The actual expression, or what leads to it from the simplified one.
    fn homotopy(&mut self, actual: AstId, simplified: AstId, span: Span) -> Checked<Value> {
        let value = self.eval(actual)?;
        self.homotopy.is_met.set(true);
        if !self.homotopy.leads || value.ty() != Some(Type::Real) {
            return Ok(value);
        }
        let other = self.eval_number(simplified)?;
        if other.dims() != value.dims() {
            return Ok(value);
        }
        let parameter = match self.homotopy.parameter.get() {
            Some(parameter) => parameter,
            None => self.held_parameter("homotopy", Type::Real, None, span),
        };
        self.homotopy.parameter.set(Some(parameter));
        let symbol = self.symbols.id(Symbol::Parameter(parameter));
        let (q, zero) = (self.graph.symbol(symbol), self.graph.constant(0.0));
        let is_led = self.graph.binary(BinaryOp::GreaterEqual, q, zero);
        let pairs = value.elements().iter().zip(other.elements());
        let pairs: Vec<(ExprId, ExprId)> = pairs.map(|(a, b)| (*a, *b)).collect();
        let mut data = Vec::with_capacity(pairs.len());
        for (actual, simplified) in pairs {
            let whole = self.graph.sub(actual, simplified);
            let part = self.graph.mul(q, whole);
            let sum = self.graph.add(simplified, part);
            data.push(self.graph.select(is_led, sum, simplified));
        }
        Ok(Value::shaped(Type::Real, value.dims().to_vec(), data))
    }

    /// The upper triangle mirrored.
    fn symmetric(&mut self, argument: AstId, span: Span) -> Checked<Value> {
        let value = self.eval_number(argument)?;
        let &[n, m] = value.dims() else {
            return Err(self.wrong_shapes("symmetric", &[(value, span)], span));
        };
        if n != m {
            return Err(self.wrong_shapes("symmetric", &[(value, span)], span));
        }
        let x = value.elements();
        let data = (0..n * n)
            .map(|at| x[(at / n).min(at % n) * n + (at / n).max(at % n)])
            .collect();
        Ok(Value::shaped(
            value.ty().unwrap_or(Type::Real),
            vec![n, n],
            data,
        ))
    }

    pub(super) fn elementary_of(
        &mut self,
        op: UnaryOp,
        value: &Value,
        span: Span,
    ) -> Checked<Value> {
        self.step(value.elements().len() as u64, span)?;
        let ty = match (op, value.ty()) {
            (UnaryOp::Sign, _) | (UnaryOp::Abs, Some(Type::Integer)) => Type::Integer,
            _ => Type::Real,
        };
        let data = value
            .elements()
            .iter()
            .map(|&element| {
                let expr = self.graph.unary(op, element);
                self.mark(expr, span)
            })
            .collect();
        Ok(Value::shaped(ty, value.dims().to_vec(), data))
    }

    fn built_in(&mut self, name: &str, arguments: &[AstId], span: Span) -> Checked<Value> {
        match name {
            "der" => self.derivative(arguments[0], span),
            "pure" => self.eval(arguments[0]),
            "noEvent" => self.quietly(arguments[0]),
            "smooth" => self.quietly(arguments[1]),
            "semiLinear" => self.semi_linear(arguments, span),
            "getInstanceName" => {
                let path = self.component.to_string();
                Ok(Value::Text(path.into()))
            }
            "symmetric" => self.symmetric(arguments[0], span),
            "homotopy" => self.homotopy(arguments[0], arguments[1], span),
            "realParameterEqual" => {
                self.eval_relation(Relation::Equal, arguments[0], arguments[1], span)
            }
            "virtualWork" => self.virtual_work(arguments[0], arguments[1], span),
            "size" | "ndims" => self.sizes_of(name, arguments, span),
            "zeros" | "ones" | "fill" | "identity" | "linspace" => {
                self.constructor(name, arguments, span)
            }
            "mod" | "rem" | "div" | "floor" | "ceil" | "integer" => {
                self.whole(name, arguments, span)
            }
            _ => {
                let mut values = Vec::with_capacity(arguments.len());
                for &argument in arguments {
                    values.push((self.eval(argument)?, self.ast.span(argument)));
                }
                if let Some(truth) = self.least_truth(name, &values) {
                    return Ok(truth);
                }
                if let ("sum", [(value, at)]) = (name, &values[..])
                    && let Some(sum) = self.sum_of_records(value, *at)?
                {
                    return Ok(sum);
                }
                for (value, at) in &values {
                    self.require_type(value, Type::Real, *at)?;
                }
                self.of_numbers(name, values, span)
            }
        }
    }

    /// `min` and `max` of truth values: false is less than true.
    fn least_truth(&mut self, name: &str, values: &[(Value, Span)]) -> Option<Value> {
        let op = match name {
            "min" => BinaryOp::And,
            "max" => BinaryOp::Or,
            _ => return None,
        };
        let mut elements = Vec::new();
        for (value, _) in values {
            let is_truth = value.ty() == Some(Type::Boolean);
            if !is_truth || (values.len() > 1 && !value.dims().is_empty()) {
                return None;
            }
            elements.extend_from_slice(value.elements());
        }
        let (&first, rest) = elements.split_first()?;
        let result = rest.iter().fold(first, |result, &element| {
            self.graph.binary(op, result, element)
        });
        Some(Value::Scalar(Type::Boolean, result))
    }

    /// Relations in here make no events.
    fn quietly(&mut self, argument: AstId) -> Checked<Value> {
        self.discrete.quiet += 1;
        let value = self.eval(argument);
        self.discrete.quiet -= 1;
        value
    }

    /// Functions of numbers and arrays of numbers.
    fn of_numbers(&mut self, name: &str, values: Vec<(Value, Span)>, span: Span) -> Checked<Value> {
        let first = values[0].0.clone();
        let shape = first.dims().to_vec();
        let ty = first.ty().unwrap_or(Type::Real);
        match (name, shape.as_slice()) {
            ("atan2", _) => self.pair(BinaryOp::Atan2, &values, span),
            ("min", _) if values.len() == 2 => self.pair(BinaryOp::Min, &values, span),
            ("max", _) if values.len() == 2 => self.pair(BinaryOp::Max, &values, span),
            ("sum" | "product" | "min" | "max", _) => self.reduce(name, span, &first, span),
            ("transpose", &[n, m]) => {
                let x = first.elements();
                let data = (0..n * m).map(|at| x[at % n * m + at / n]).collect();
                Ok(Value::shaped(ty, vec![m, n], data))
            }
            ("diagonal", &[n]) => {
                let zero = self.graph.constant(0.0);
                self.step((n * n) as u64, span)?;
                let data = (0..n * n)
                    .map(|at| {
                        if at / n == at % n {
                            first.elements()[at % n]
                        } else {
                            zero
                        }
                    })
                    .collect();
                Ok(Value::shaped(ty, vec![n, n], data))
            }
            ("skew", &[3]) => {
                let &[a, b, c] = first.elements() else {
                    return Err(Reported);
                };
                let zero = self.graph.constant(0.0);
                let (na, nb, nc) = (self.graph.neg(a), self.graph.neg(b), self.graph.neg(c));
                Ok(Value::shaped(
                    ty,
                    vec![3, 3],
                    vec![zero, nc, b, c, zero, na, nb, a, zero],
                ))
            }
            ("cross", &[3]) if values[1].0.dims() == [3] => {
                let (x, y) = (first.elements(), values[1].0.elements());
                let data = [(1, 2), (2, 0), (0, 1)]
                    .into_iter()
                    .map(|(i, j)| {
                        let plus = self.graph.mul(x[i], y[j]);
                        let minus = self.graph.mul(x[j], y[i]);
                        self.graph.sub(plus, minus)
                    })
                    .collect();
                Ok(Value::vector(Type::Real, data))
            }
            ("outerProduct", &[n]) if values[1].0.dims().len() == 1 => {
                let m = values[1].0.dims()[0];
                self.step((n * m) as u64, span)?;
                let (x, y) = (first.elements(), values[1].0.elements());
                let data = (0..n * m)
                    .map(|at| self.graph.mul(x[at / m], y[at % m]))
                    .collect();
                Ok(Value::shaped(Type::Real, vec![n, m], data))
            }
            ("scalar", _) if first.elements().len() == 1 => {
                Ok(Value::Scalar(ty, first.elements()[0]))
            }
            ("vector", dims) if dims.iter().filter(|&&size| size != 1).count() <= 1 => {
                Ok(Value::vector(ty, first.elements().to_vec()))
            }
            ("matrix", dims) if dims.len() <= 2 => {
                let dims = match dims {
                    [] => vec![1, 1],
                    &[n] => vec![n, 1],
                    dims => dims.to_vec(),
                };
                Ok(Value::shaped(ty, dims, first.elements().to_vec()))
            }
            ("cat", []) => self.concatenate(values, span),
            ("array", _) => self.stack(values, span),
            _ => Err(self.wrong_shapes(name, &values, span)),
        }
    }

    /// `cat(dimension, arrays…)`.
    fn concatenate(&mut self, mut values: Vec<(Value, Span)>, span: Span) -> Checked<Value> {
        let (first, at) = values.remove(0);
        let along = self.known_scalar(first.elements()[0], "the dimension of cat", at)?;
        if along < 1.0 || along.fract() != 0.0 {
            return Err(self.error(
                Diagnostic::error(
                    Code::BadValue,
                    at,
                    format!("`cat` joins along dimension 1, 2, …, not {along}"),
                )
                .label(format!("this is {along}"))
                .help("write cat(1, a, b) to join vectors"),
            ));
        }
        self.join(along as usize - 1, values, span)
    }

    fn wrong_shapes(&mut self, name: &str, values: &[(Value, Span)], span: Span) -> Reported {
        let found: Vec<String> = values
            .iter()
            .map(|(value, _)| describe_dims(value.dims()))
            .collect();
        let found = found.join(" and ");
        let wanted = match name {
            "cross" => "two vectors of 3 elements",
            "skew" => "a vector of 3 elements",
            "transpose" => "a matrix",
            "outerProduct" => "two vectors",
            "diagonal" => "a vector",
            "scalar" => "an array of one element",
            "cat" => "a dimension, then arrays",
            _ => "another shape",
        };
        self.error(
            Diagnostic::error(
                Code::WrongSize,
                span,
                format!("`{name}` does not take {found}"),
            )
            .label(found)
            .help(format!("give it {wanted}")),
        )
    }

    fn pair(&mut self, op: BinaryOp, values: &[(Value, Span)], span: Span) -> Checked<Value> {
        let (a, b) = (&values[0].0, &values[1].0);
        if a.dims() != b.dims() && !a.dims().is_empty() && !b.dims().is_empty() {
            let (x, y) = (describe_dims(a.dims()), describe_dims(b.dims()));
            return Err(self.error(
                Diagnostic::error(
                    Code::WrongSize,
                    span,
                    format!("the arguments differ: {x} and {y}"),
                )
                .label("the sizes do not fit")
                .help("give both the same sizes"),
            ));
        }
        let value = self.zip(op, a, b, span)?;
        for &element in value.elements() {
            self.mark(element, span);
        }
        Ok(value)
    }

    /// `der` of any expression, element by element.
    fn derivative(&mut self, argument: AstId, span: Span) -> Checked<Value> {
        let value = self.eval(argument)?;
        let at = self.ast.span(argument);
        self.require_type(&value, Type::Real, at)?;
        self.step(value.elements().len() as u64, span)?;
        let mut data = Vec::with_capacity(value.elements().len());
        for &element in value.elements() {
            if !self.varies(element) && self.is_inside_component() {
                data.push(self.graph.constant(0.0));
                continue;
            }
            if !self.varies(element) {
                let help = match self.ast.expr(argument) {
                    Expr::Name { name, .. } if self.by_name.contains_key(name.as_str()) => {
                        format!(
                            "if `{name}` changes, declare it without `parameter`; if not, leave this out: it is 0"
                        )
                    }
                    _ => "write 0".to_string(),
                };
                return Err(self.error(
                    Diagnostic::error(
                        Code::DerOfParameter,
                        at,
                        "`der` of something that does not change in time",
                    )
                    .label("only parameters and numbers here")
                    .help(help),
                ));
            }
            data.push(self.time_derivative(element));
        }
        Ok(Value::shaped(Type::Real, value.dims().to_vec(), data))
    }

    fn sizes_of(&mut self, name: &str, arguments: &[AstId], span: Span) -> Checked<Value> {
        // Only the sizes count: a local of a function needs no value for them.
        let local = match self.ast.expr(arguments[0]) {
            Expr::Name {
                name, subscripts, ..
            } if subscripts.is_empty() => self.local_dims(name),
            _ => None,
        };
        let dims = match local {
            Some(dims) => dims,
            None => match self.dims_by_name(arguments[0])? {
                Some(dims) => dims,
                None => self.eval(arguments[0])?.dims().to_vec(),
            },
        };
        if name == "ndims" {
            return Ok(self.number(dims.len() as f64));
        }
        let Some(&which) = arguments.get(1) else {
            let data = dims
                .iter()
                .map(|&size| self.graph.constant(size as f64))
                .collect();
            return Ok(Value::vector(Type::Integer, data));
        };
        let which = self.eval_known(which, "the dimension of size")?;
        if which.fract() != 0.0 || which < 1.0 || which > dims.len() as f64 {
            let found = describe_dims(&dims);
            return Err(self.error(
                Diagnostic::error(
                    Code::WrongSize,
                    span,
                    format!("{found} has no dimension {which}"),
                )
                .label(found)
                .help(if dims.is_empty() {
                    "use an array".to_string()
                } else {
                    format!("use a dimension from 1 to {}", dims.len())
                }),
            ));
        }
        Ok(self.number(dims[which as usize - 1] as f64))
    }

    /// The sizes of a variable or component whose value is not known yet.
    fn dims_by_name(&mut self, argument: AstId) -> Checked<Option<Vec<usize>>> {
        let span = self.ast.span(argument);
        let Expr::Name {
            name,
            subscripts,
            path: None,
        } = self.ast.expr(argument)
        else {
            return Ok(None);
        };
        let is_loop = self.loops.iter().any(|(known, _)| **known == **name);
        if !subscripts.is_empty() || self.frame.is_some() || is_loop {
            return Ok(None);
        }
        let Some((node, element)) = self.find(self.part, name) else {
            return Ok(None);
        };
        let super::scope::What::Component(declaration) = element.what else {
            return Ok(None);
        };
        match self.instance(node, &declaration.name)? {
            super::instance::Instance::Variable(entry) => {
                self.entries[entry].used = true;
                self.entry_dims(entry, name, span).map(Some)
            }
            super::instance::Instance::Nodes { dims, .. } => Ok(Some(dims.to_vec())),
            _ => Ok(None),
        }
    }

    /// `zeros`, `ones`, `fill`, `identity`, `linspace`.
    fn constructor(&mut self, name: &str, arguments: &[AstId], span: Span) -> Checked<Value> {
        let skip = usize::from(name == "fill");
        if name == "linspace" {
            return self.linspace(arguments, span);
        }
        let mut dims = Vec::new();
        for &argument in &arguments[skip..] {
            let size = self.eval_known(argument, "a size")?;
            if size < 0.0 || size.fract() != 0.0 || !size.is_finite() {
                let at = self.ast.span(argument);
                return Err(self.error(
                    Diagnostic::error(Code::WrongSize, at, format!("{size} is not a size"))
                        .label(format!("this is {size}"))
                        .help("a size is 0, 1, 2, …"),
                ));
            }
            dims.push(size.min(1e15) as usize);
        }
        if name == "identity" {
            dims.push(dims[0]);
        }
        let count = dims
            .iter()
            .try_fold(1usize, |product, &size| product.checked_mul(size));
        let Some(count) = count.filter(|&count| count <= self.limits.elements) else {
            return Err(self.error(
                Diagnostic::error(
                    Code::TooLarge,
                    span,
                    format!("an array of more than {} elements", self.limits.elements),
                )
                .label("too large")
                .help("use a smaller size"),
            ));
        };
        self.step(count as u64, span)?;
        let (ty, element) = match name {
            "identity" => return Ok(self.identity(dims[0])),
            "zeros" => (Type::Integer, self.graph.constant(0.0)),
            "ones" => (Type::Integer, self.graph.constant(1.0)),
            _ => {
                let value = self.eval(arguments[0])?;
                let at = self.ast.span(arguments[0]);
                if value.ty().is_none() {
                    return Ok(Value::listed(dims, vec![value; count]));
                }
                if !value.dims().is_empty() {
                    // An array of arrays.
                    let mut all = dims;
                    all.extend(value.dims());
                    let elements = value.elements();
                    self.step((count * elements.len()) as u64, span)?;
                    let data = elements
                        .iter()
                        .copied()
                        .cycle()
                        .take(count * elements.len());
                    let ty = value.ty().unwrap_or(Type::Real);
                    return Ok(Value::shaped(ty, all, data.collect()));
                }
                (value.ty().unwrap_or(Type::Real), self.scalar(&value, at)?)
            }
        };
        Ok(Value::shaped(ty, dims, vec![element; count]))
    }

    fn linspace(&mut self, arguments: &[AstId], span: Span) -> Checked<Value> {
        let from = self.eval_known(arguments[0], "an end of linspace")?;
        let to = self.eval_known(arguments[1], "an end of linspace")?;
        let count = self.eval_known(arguments[2], "the length of linspace")?;
        if count < 2.0 || count.fract() != 0.0 || count > self.limits.elements as f64 {
            return Err(self.error(
                Diagnostic::error(Code::BadValue, span, format!("linspace of {count} points"))
                    .label("needs a whole number of points, at least 2")
                    .help("give it at least 2 points"),
            ));
        }
        self.step(count as u64, span)?;
        let data = (0..count as usize)
            .map(|k| {
                self.graph
                    .constant(from + (to - from) * k as f64 / (count - 1.0))
            })
            .collect();
        Ok(Value::vector(Type::Real, data))
    }

    /// Functions that jump: of variables they make events.
    fn whole(&mut self, name: &str, arguments: &[AstId], span: Span) -> Checked<Value> {
        let mut exprs = Vec::with_capacity(arguments.len());
        let mut are_whole = true;
        for &argument in arguments {
            let value = self.eval(argument)?;
            let at = self.ast.span(argument);
            self.require_type(&value, Type::Real, at)?;
            are_whole &= value.ty() == Some(Type::Integer);
            let expr = self.scalar(&value, at)?;
            exprs.push(expr);
        }
        // Beside a variable a parameter is no number that the model is built with.
        if exprs.iter().any(|&expr| self.varies(expr)) {
            return Ok(self.stepped(name, &exprs, are_whole, span));
        }
        let numbers = exprs
            .iter()
            .map(|&expr| self.known(expr).unwrap_or(f64::NAN));
        let numbers: Vec<f64> = numbers.collect();
        let second = numbers.get(1).copied().unwrap_or(1.0);
        let result = match name {
            "mod" => numbers[0] - (numbers[0] / second).floor() * second,
            "rem" => numbers[0] - (numbers[0] / second).trunc() * second,
            "div" => (numbers[0] / second).trunc(),
            "ceil" => numbers[0].ceil(),
            _ => numbers[0].floor(),
        };
        if !result.is_finite() {
            return Err(self.error(
                Diagnostic::error(Code::BadValue, span, format!("`{name}` has no value here"))
                    .label("division by zero or overflow")
                    .help("use a divisor that is not 0"),
            ));
        }
        Ok(self.number(result))
    }

    /// `floor` and its relatives of variables, by whole numbers that change at events.
    fn stepped(&mut self, name: &str, exprs: &[ExprId], are_whole: bool, span: Span) -> Value {
        let x = exprs[0];
        let quotient = exprs.get(1).map(|&y| self.graph.div(x, y));
        let ty = if name == "integer" || (quotient.is_some() && are_whole) {
            Type::Integer
        } else {
            Type::Real
        };
        let expr = match (name, quotient) {
            ("ceil", _) => {
                let below = self.graph.neg(x);
                let below = self.floor_of(below, span);
                self.graph.neg(below)
            }
            ("div" | "rem", Some(q)) => {
                let zero = self.graph.constant(0.0);
                let is_positive = self.graph.binary(BinaryOp::GreaterEqual, q, zero);
                self.note_relation(is_positive, span);
                let (up, negative) = (self.floor_of(q, span), self.graph.neg(q));
                let down = self.floor_of(negative, span);
                let down = self.graph.neg(down);
                let whole = self.choose(Type::Real, is_positive, up, down, span);
                self.remainder(name == "rem", exprs, whole)
            }
            ("mod", Some(q)) => {
                let whole = self.floor_of(q, span);
                self.remainder(true, exprs, whole)
            }
            _ => self.floor_of(x, span),
        };
        Value::Scalar(ty, expr)
    }

    fn remainder(&mut self, wanted: bool, exprs: &[ExprId], whole: ExprId) -> ExprId {
        if !wanted {
            return whole;
        }
        let product = self.graph.mul(whole, exprs[1]);
        self.graph.sub(exprs[0], product)
    }

    pub(super) fn floor_of(&mut self, x: ExprId, span: Span) -> ExprId {
        let name = crate::model::shorten(&self.slice(span), 60);
        let rule = crate::hybrid::Rule::Floor(x);
        let unknown = self.hidden(name, Type::Integer, rule, None, span);
        self.unknown_symbol(unknown)
    }

    /// A relation that makes events, unless `noEvent` or a function is around it.
    pub(super) fn note_relation(&mut self, expr: ExprId, span: Span) {
        let in_function = self.frame.is_some() && !self.in_section;
        if self.discrete.quiet == 0 && !in_function {
            self.discrete.relations.entry(expr).or_insert(span);
        }
    }

    /// The generalised forces of a force at a point, for the coordinates of the `lagrange` around it.
    ///
    /// A force f at the point p(q) does the work f'(dp/dq) dq, so the forces are (dp/dq)' f.
    fn virtual_work(&mut self, force: AstId, point: AstId, span: Span) -> Checked<Value> {
        let Some(coordinates) = self.coordinates.clone() else {
            return Err(self.error(
                Diagnostic::error(
                    Code::LagrangeArgument,
                    span,
                    "`virtualWork` stands outside the forces of `lagrange`",
                )
                .label("no coordinates are known here")
                .help("use it in the sixth argument of lagrange"),
            ));
        };
        let f = self.eval(force)?;
        let p = self.eval(point)?;
        self.require_type(&f, Type::Real, self.ast.span(force))?;
        self.require_type(&p, Type::Real, self.ast.span(point))?;
        if f.dims() != p.dims() {
            let (x, y) = (describe_dims(f.dims()), describe_dims(p.dims()));
            return Err(self.error(
                Diagnostic::error(
                    Code::WrongSize,
                    span,
                    format!("the force is {x}, the point is {y}"),
                )
                .label("the sizes do not fit")
                .help("give force and point the same number of components"),
            ));
        }
        let zero = self.graph.constant(0.0);
        let mut forces = vec![zero; coordinates.len()];
        for (&component, &place) in f.elements().iter().zip(p.elements()) {
            let place = self.resolve_bindings(&[place], span)?[0];
            let q = self.coordinate_unknowns(&coordinates);
            self.note_foreign(&[place], &q, &[], span);
            let lever = self.graph.gradient(place, &coordinates);
            for (total, slope) in forces.iter_mut().zip(lever) {
                let share: ExprId = self.graph.mul(slope, component);
                *total = self.graph.add(*total, share);
            }
        }
        Ok(Value::vector(Type::Real, forces))
    }

    /// Coordinates as unknowns with their symbols.
    fn coordinate_unknowns(&self, coordinates: &[SymbolId]) -> Vec<(usize, SymbolId)> {
        let unknown = |&id: &SymbolId| match self.symbols.get(id) {
            Symbol::Unknown { unknown, .. } => Some((unknown, id)),
            _ => None,
        };
        coordinates.iter().filter_map(unknown).collect()
    }
}
