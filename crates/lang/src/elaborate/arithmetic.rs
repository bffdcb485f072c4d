//! Sums, products, quotients and powers of scalars and arrays, with Modelica's meaning.

use super::value::{Value, common, describe_dims};
use super::{Checked, Elaborator, Reported};
use crate::ast::{Arithmetic, AstId, ChainLink};
use crate::diagnostic::{Code, Diagnostic};
use crate::model::Type;
use crate::source::Span;
use daelight_expr::{BinaryOp, ExprId};

impl<'a> Elaborator<'a> {
    /// Evaluates what stands beside a mistake, for the mistakes that are in it.
    fn look_at(&mut self, rest: &[ChainLink]) {
        for link in rest {
            let _ = self.eval(link.operand);
        }
    }

    pub(super) fn eval_chain(&mut self, first: AstId, rest: &[ChainLink]) -> Checked<Value> {
        let start = self.ast.span(first);
        let begun = self.eval(first);
        if begun.is_err() {
            self.look_at(rest);
        }
        let mut result = begun?;
        if !matches!(result, Value::Text(_) | Value::Record(_) | Value::List(_)) {
            self.require_type(&result, Type::Real, start)?;
        }
        for (at, link) in rest.iter().enumerate() {
            let span = self.ast.span(link.operand);
            let operand = self.eval(link.operand);
            if operand.is_err() {
                self.look_at(&rest[at + 1..]);
            }
            let operand = operand?;
            if let (Value::Text(a), Value::Text(b), Arithmetic::Add) = (&result, &operand, link.op)
            {
                result = Value::Text(format!("{a}{b}").into());
                continue;
            }
            let word = (link.op, link.elementwise);
            if let Some(value) = self.overloaded(word, &result, &operand, start.to(span))? {
                result = value;
                continue;
            }
            self.require_type(&result, Type::Real, start)?;
            self.require_type(&operand, Type::Real, span)?;
            result = self.combine(link, &result, &operand, start.to(span))?;
        }
        Ok(result)
    }

    fn combine(&mut self, link: &ChainLink, a: &Value, b: &Value, span: Span) -> Checked<Value> {
        let op = match link.op {
            Arithmetic::Add => BinaryOp::Add,
            Arithmetic::Sub => BinaryOp::Sub,
            Arithmetic::Mul => BinaryOp::Mul,
            Arithmetic::Div => BinaryOp::Div,
        };
        if let (Value::Scalar(x, left), Value::Scalar(y, right)) = (a, b) {
            let ty = if op == BinaryOp::Div {
                Type::Real
            } else {
                common(*x, *y)
            };
            return Ok(Value::Scalar(ty, self.apply(op, *left, *right, span)));
        }
        if a.dims() == b.dims() && (link.elementwise || matches!(op, BinaryOp::Add | BinaryOp::Sub))
        {
            return self.zip(op, a, b, span);
        }
        let scalar_side = a.dims().is_empty() || b.dims().is_empty();
        match op {
            _ if link.elementwise && scalar_side => self.zip(op, a, b, span),
            BinaryOp::Mul if scalar_side => self.zip(op, a, b, span),
            BinaryOp::Div if b.dims().is_empty() => self.zip(op, a, b, span),
            BinaryOp::Mul if !link.elementwise => self.matrix_product(a, b, link.op_span),
            _ => Err(self.misfit(link, a, b)),
        }
    }

    fn misfit(&mut self, link: &ChainLink, a: &Value, b: &Value) -> Reported {
        let (x, y) = (describe_dims(a.dims()), describe_dims(b.dims()));
        let with_scalar = a.dims().is_empty() || b.dims().is_empty();
        let help = match link.op {
            Arithmetic::Div if a.dims().is_empty() => "write ./ to divide by each element",
            Arithmetic::Add if with_scalar => "write .+ to add a scalar to each element",
            Arithmetic::Sub if with_scalar => "write .- to subtract element by element",
            _ => "give both the same sizes",
        };
        let message = match link.op {
            Arithmetic::Add => format!("cannot add {x} and {y}"),
            Arithmetic::Sub => format!("cannot subtract {y} from {x}"),
            Arithmetic::Mul => format!("cannot multiply {x} and {y}"),
            Arithmetic::Div => format!("cannot divide {x} by {y}"),
        };
        self.error(
            Diagnostic::error(Code::WrongSize, link.op_span, message)
                .label("the sizes do not fit")
                .help(help),
        )
    }

    fn apply(&mut self, op: BinaryOp, a: ExprId, b: ExprId, span: Span) -> ExprId {
        let expr = self.graph.binary(op, a, b);
        if op == BinaryOp::Div || op == BinaryOp::Pow {
            self.mark(expr, span)
        } else {
            expr
        }
    }

    /// An operation element by element; a scalar side is used for every element.
    pub(super) fn zip(&mut self, op: BinaryOp, a: &Value, b: &Value, span: Span) -> Checked<Value> {
        let dims = if a.dims().is_empty() {
            b.dims()
        } else {
            a.dims()
        }
        .to_vec();
        let count: usize = dims.iter().product();
        self.step(count as u64, span)?;
        let ty = match op {
            BinaryOp::Div | BinaryOp::Pow | BinaryOp::Atan2 => Type::Real,
            _ => common(a.ty().unwrap_or(Type::Real), b.ty().unwrap_or(Type::Real)),
        };
        let (x, y) = (a.elements(), b.elements());
        let at = |side: &Value, elements: &[ExprId], k: usize| {
            if side.dims().is_empty() {
                elements[0]
            } else {
                elements[k]
            }
        };
        let data = (0..count)
            .map(|k| self.apply(op, at(a, x, k), at(b, y, k), span))
            .collect();
        Ok(Value::shaped(ty, dims, data))
    }

    /// Vector times vector, matrix times vector, vector times matrix, matrix times matrix.
    fn matrix_product(&mut self, a: &Value, b: &Value, span: Span) -> Checked<Value> {
        let ty = common(a.ty().unwrap_or(Type::Real), b.ty().unwrap_or(Type::Real));
        let (rows, inner, columns, dims) = match (a.dims(), b.dims()) {
            (&[n], &[m]) if n == m => (1, n, 1, vec![]),
            (&[n, k], &[m]) if k == m => (n, k, 1, vec![n]),
            (&[k], &[m, n]) if k == m => (1, k, n, vec![n]),
            (&[n, k], &[m, p]) if k == m => (n, k, p, vec![n, p]),
            (x, y) => {
                let help = match (x, y) {
                    (&[n], &[m]) => format!("give both as many elements; they have {n} and {m}"),
                    _ => "write .* to multiply element by element, or transpose(…) one of them"
                        .to_string(),
                };
                let (x, y) = (describe_dims(x), describe_dims(y));
                return Err(self.error(
                    Diagnostic::error(
                        Code::WrongSize,
                        span,
                        format!("cannot multiply {x} and {y}"),
                    )
                    .label("the inner sizes differ")
                    .help(help),
                ));
            }
        };
        self.step((rows * inner * columns) as u64, span)?;
        let (x, y) = (a.elements(), b.elements());
        let mut data = Vec::with_capacity(rows * columns);
        for row in 0..rows {
            for column in 0..columns {
                let mut sum = None;
                for k in 0..inner {
                    let term = self.graph.mul(x[row * inner + k], y[k * columns + column]);
                    sum = Some(match sum {
                        None => term,
                        Some(sum) => self.graph.add(sum, term),
                    });
                }
                data.push(sum.unwrap_or_else(|| self.graph.constant(0.0)));
            }
        }
        Ok(Value::shaped(ty, dims, data))
    }

    pub(super) fn eval_power(
        &mut self,
        base: AstId,
        exponent: AstId,
        elementwise: bool,
        span: Span,
    ) -> Checked<Value> {
        let a = self.eval(base)?;
        let b = self.eval(exponent)?;
        if let Some(value) = self.operated("^", &a, &b, span)? {
            return Ok(value);
        }
        self.require_type(&a, Type::Real, self.ast.span(base))?;
        self.require_type(&b, Type::Real, self.ast.span(exponent))?;
        let fits = a.dims() == b.dims() || a.dims().is_empty() || b.dims().is_empty();
        if (a.dims().is_empty() && b.dims().is_empty()) || (elementwise && fits) {
            let b = self.whole_exponent(&a, b);
            return self.zip(BinaryOp::Pow, &a, &b, span);
        }
        match (a.dims(), &b) {
            (&[n, m], Value::Scalar(_, power)) if n == m && !elementwise => {
                let power = self.known_scalar(*power, "the power of a matrix", span)?;
                if power < 0.0 || power.fract() != 0.0 || power > 1000.0 {
                    return Err(self.error(
                        Diagnostic::error(
                            Code::BadValue,
                            span,
                            format!("the power {power} of a matrix has no meaning here"),
                        )
                        .label("must be 0, 1, 2, …")
                        .help("use a whole, nonnegative power"),
                    ));
                }
                let mut result = self.identity(n);
                for _ in 0..power as usize {
                    result = self.matrix_product(&result, &a, span)?;
                }
                Ok(result)
            }
            _ => {
                let (x, y) = (describe_dims(a.dims()), describe_dims(b.dims()));
                let help = match a.dims().len() {
                    1 => {
                        "write `v*v` for the square of a vector's length, or `.^` to raise each element"
                    }
                    _ => "write .^ to raise each element",
                };
                Err(self.error(
                    Diagnostic::error(Code::WrongSize, span, format!("cannot raise {x} to {y}"))
                        .label("the sizes do not fit")
                        .help(help),
                ))
            }
        }
    }

    /// The exponents of variables as numbers, where whole parameters are exponents: x^2 is smooth where x vanishes, and x^p is not for
    /// every p.
    fn whole_exponent(&mut self, base: &Value, exponent: Value) -> Value {
        let is_varied = base.elements().iter().any(|&expr| self.varies(expr));
        if exponent.ty() != Some(Type::Integer) || !is_varied {
            return exponent;
        }
        let elements: Vec<ExprId> = exponent.elements().to_vec();
        let known: Option<Vec<f64>> = elements.iter().map(|&expr| self.known(expr)).collect();
        let Some(known) = known else {
            return exponent;
        };
        let data = known.iter().map(|&n| self.graph.constant(n)).collect();
        Value::shaped(Type::Integer, exponent.dims().to_vec(), data)
    }

    pub(super) fn identity(&mut self, n: usize) -> Value {
        let (zero, one) = (self.graph.constant(0.0), self.graph.constant(1.0));
        let data = (0..n * n)
            .map(|at| if at / n == at % n { one } else { zero })
            .collect();
        Value::shaped(Type::Integer, vec![n, n], data)
    }
}
