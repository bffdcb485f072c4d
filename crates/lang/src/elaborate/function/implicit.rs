//! Unknowns that functions bring: the results of calls that solve an equation (`docs/theory/components.md`, section 7).

use super::Function;
use crate::ast::Causality;
use crate::elaborate::value::{Closure, Value};
use crate::elaborate::{Checked, Elaborator};
use crate::model::{Declared, DeclaredKind, Equation, Origin, Symbol, Type, Unknown};
use crate::source::Span;
use daelight_expr::{BinaryOp, ExprId, UnaryOp};

/// A function f and an interval whose ends give it different signs: its result is a root of f.
const ROOT_FINDER: &str = "Modelica.Math.Nonlinear.solveOneNonlinearEquation";

impl<'a> Elaborator<'a> {
    /// Under which conditions the statements being run are needed; `None` where they always are.
    fn path_condition(&mut self) -> Option<ExprId> {
        let mut joined = None;
        for (condition, holds) in self.path.clone() {
            let condition = match holds {
                true => condition,
                false => self.graph.unary(UnaryOp::Not, condition),
            };
            joined = Some(match joined {
                Some(before) => self.graph.binary(BinaryOp::And, before, condition),
                None => condition,
            });
        }
        joined
    }

    /// A new unknown for a local of the function being run.
    pub(super) fn new_implicit(&mut self, local: &str, start: ExprId, span: Span) -> ExprId {
        let function = self.calls.last().map(|&node| self.node(node).path.clone());
        let function = function.as_deref().and_then(|path| path.rsplit('.').next());
        let base = [&*self.component, function.unwrap_or(""), local].join(".");
        let base = base.trim_start_matches('.').replace("..", ".");
        let taken = |name: &str| {
            let mut unknowns = self.unknowns.iter();
            self.by_name.contains_key(name) || unknowns.any(|unknown| unknown.name == name)
        };
        let mut name = base.clone();
        let mut count = 1;
        while taken(&name) {
            count += 1;
            name = format!("{base}{count}");
        }
        let first = self.unknowns.len();
        self.declarations.push(Declared {
            name: name.clone(),
            dims: Vec::new(),
            kind: DeclaredKind::Unknown,
            first,
            ty: Type::Real,
            comment: String::new(),
            unit: String::new(),
            is_output: false,
            is_output_of_component: false,
            is_input_of_component: false,
            is_protected: true,
            is_final: false,
            span,
        });
        let start = self.resting_place(start);
        self.unknowns.push(Unknown {
            start: Some(start),
            start_is_default: true,
            ..Unknown::plain(name, self.declarations.len() - 1)
        });
        let id = self.symbols.id(Symbol::Unknown {
            unknown: first,
            order: 0,
        });
        self.graph.symbol(id)
    }

    /// Where an unknown rests that is not needed: what varies need not have a value there, so it is a number.
    fn resting_place(&mut self, guess: ExprId) -> ExprId {
        match self.varies(guess) {
            true => self.graph.constant(1.0),
            false => guess,
        }
    }

    /// `symbol = value` on the path on which the function is called; elsewhere the symbol rests at its start.
    pub(super) fn require_implicit(
        &mut self,
        symbol: ExprId,
        value: ExprId,
        start: ExprId,
        span: Span,
    ) {
        let value = match self.path_condition() {
            Some(path) => {
                let rest = self.resting_place(start);
                self.choose(Type::Real, path, value, rest, span)
            }
            None => value,
        };
        self.push_implicit(symbol, value, span);
    }

    fn push_implicit(&mut self, left: ExprId, right: ExprId, span: Span) {
        let residual = self.graph.sub(left, right);
        let instance = self.instance_of(None);
        self.equations.push(Equation {
            left,
            right,
            residual,
            span,
            origin: Origin::Written,
            instance,
        });
    }

    /// Whether a function finds roots of another one, in which it can stand itself.
    pub(super) fn finds_roots(&self, function: &Function<'a>) -> bool {
        *self.node(function.node).path == *ROOT_FINDER && function.of(Causality::Input).count() >= 3
    }

    /// The root that a root finder is asked for, as an unknown, if its function or interval varies.
    pub(super) fn implicit_root(
        &mut self,
        function: &Function<'a>,
        arguments: &[Option<Value>],
        span: Span,
    ) -> Checked<Option<Vec<Value>>> {
        if !self.finds_roots(function) {
            return Ok(None);
        }
        let [
            Some(Value::Function(closure)),
            Some(Value::Scalar(_, low)),
            Some(Value::Scalar(_, high)),
            ..,
        ] = arguments
        else {
            return Ok(None);
        };
        let (closure, low, high) = (closure.clone(), *low, *high);
        let bound = closure.bound.iter().flat_map(|(_, value)| value.elements());
        let key: Vec<ExprId> = bound.copied().chain([low, high]).collect();
        if !key.iter().any(|&expr| self.varies(expr)) {
            return Ok(None);
        }
        let key = (closure.function, key);
        if let Some(&known) = self.roots.get(&key) {
            return Ok(Some(vec![Value::Scalar(Type::Real, known)]));
        }
        let root = self.new_root(&closure, [low, high], span)?;
        // What one path needs another need not have.
        if self.path.is_empty() {
            self.roots.insert(key, root);
        }
        Ok(Some(vec![Value::Scalar(Type::Real, root)]))
    }

    fn new_root(
        &mut self,
        closure: &Closure,
        [low, high]: [ExprId; 2],
        span: Span,
    ) -> Checked<ExprId> {
        let two = self.graph.constant(2.0);
        let sum = self.graph.add(low, high);
        let middle = self.graph.div(sum, two);
        let root = self.new_implicit("u", middle, span);
        let Some(unknown) = self.unknowns.last_mut() else {
            return Ok(root);
        };
        (unknown.min, unknown.max) = (Some(low), Some(high));
        let is_known = !self.varies(low) && !self.varies(high);
        if !is_known && let Some(unknown) = self.unknowns.last_mut() {
            (unknown.min, unknown.max) = (None, None);
        }
        let argument = Value::Scalar(Type::Real, root);
        let value = self.call_closure_with(closure, argument, span)?;
        let value = self.scalar(&value, span)?;
        let zero = self.graph.constant(0.0);
        match self.path_condition() {
            Some(path) => {
                let rest = self.resting_place(middle);
                let rests = self.graph.sub(root, rest);
                let left = self.choose(Type::Real, path, value, rests, span);
                self.push_implicit(left, zero, span);
            }
            None => self.push_implicit(value, zero, span),
        }
        Ok(root)
    }
}
