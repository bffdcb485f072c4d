//! Equations: loops and branches written out, arrays taken apart, `lagrange` expanded.

use super::value::{Value, describe_dims};
use super::{Checked, Elaborator};
use crate::ast::{self, AstId, EquationKind, Expr};
use crate::diagnostic::{Code, Diagnostic};
use crate::model::{DeclaredKind, Equation, Instance, LoopIndices, Origin, Type};
use crate::source::Span;
use daelight_expr::ExprId;
use std::sync::Arc;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Section {
    Equation,
    Initial,
}

impl<'a> Elaborator<'a> {
    /// Bindings of variables are equations; those of inputs are signals. Attributes follow.
    pub(super) fn bind_variables(&mut self) {
        let class = self.class;
        for declaration in &class.declarations {
            let Some(&entry) = self.by_name.get(declaration.name.as_str()) else {
                continue;
            };
            let super::State::Ready(value) = &self.entries[entry].state else {
                continue;
            };
            let value = value.clone();
            let Some(&index) = self.declared_at.get(&declaration.name_span.start) else {
                continue;
            };
            // Each may report a mistake of its own.
            let _ = self.attributes(declaration, index);
            let kind = self.declarations[index].kind;
            if matches!(kind, DeclaredKind::Unknown | DeclaredKind::Input)
                && let Some(binding) = declaration.binding
            {
                let _ = self.bind(declaration, index, &value, binding);
            }
        }
    }

    fn bind(
        &mut self,
        declaration: &ast::Declaration,
        index: usize,
        target: &Value,
        binding: AstId,
    ) -> Checked<()> {
        let span = self.ast.span(binding);
        let value = self.eval(binding)?;
        self.require_type(&value, Type::Real, span)?;
        if !value.fits(target.dims()) {
            return Err(self.size_conflict(declaration, target.dims(), &value, span));
        }
        let first = self.declarations[index].first;
        let kind = self.declarations[index].kind;
        let is_array = !target.dims().is_empty();
        for (position, (&left, &right)) in
            target.elements().iter().zip(value.elements()).enumerate()
        {
            if kind == DeclaredKind::Input {
                self.inputs[first + position].definition = Some(right);
                continue;
            }
            self.bindings.insert(first + position, right);
            let element = is_array.then_some(position + 1);
            let instance = Instance {
                indices: Default::default(),
                element,
            };
            self.push_equation(
                Section::Equation,
                left,
                right,
                declaration.span,
                Origin::Binding,
                instance,
            );
        }
        Ok(())
    }

    pub(super) fn all_equations(&mut self) {
        let class = self.class;
        for (section, equations) in [
            (Section::Initial, class.initial_equations.as_slice()),
            (Section::Equation, class.equations.as_slice()),
            (Section::Equation, self.joined),
        ] {
            for equation in equations {
                // The next equation is tried whatever this one reports.
                let _ = self.equation(section, equation);
            }
        }
    }

    fn equation(&mut self, section: Section, equation: &'a ast::Equation) -> Checked<()> {
        self.step(1, equation.span)?;
        match &equation.kind {
            EquationKind::Equal(left, right) => self.equal(section, *left, *right, equation.span),
            EquationKind::Call(call) => self.call_equation(section, *call, equation.span),
            EquationKind::For { iterators, body } => {
                self.each_round(iterators, &mut |elaborator| elaborator.block(section, body))
            }
            EquationKind::If {
                branches,
                otherwise,
            } => {
                // Names in branches that are not taken are used all the same.
                if self.mentioned.insert(equation.span.start, ()).is_none() {
                    self.mention(branches.iter().flat_map(|(_, body)| body).chain(otherwise));
                }
                for (condition, body) in branches {
                    if self.branch_holds(*condition)? {
                        return self.block(section, body);
                    }
                }
                self.block(section, otherwise)
            }
        }
    }

    /// Counts the names in equations as used.
    fn mention(&mut self, equations: impl Iterator<Item = &'a ast::Equation>) {
        let mut pending: Vec<&'a ast::Equation> = equations.collect();
        let mut names = Vec::new();
        while let Some(equation) = pending.pop() {
            match &equation.kind {
                EquationKind::Equal(left, right) => self.names_in(&[*left, *right], &mut names),
                EquationKind::Call(call) => self.names_in(&[*call], &mut names),
                EquationKind::For { body, .. } => pending.extend(body),
                EquationKind::If {
                    branches,
                    otherwise,
                } => {
                    pending.extend(branches.iter().flat_map(|(_, body)| body).chain(otherwise));
                }
            }
        }
        for name in names {
            if let Some(&entry) = self.by_name.get(name) {
                self.entries[entry].used = true;
            }
        }
    }

    fn block(&mut self, section: Section, body: &'a [ast::Equation]) -> Checked<()> {
        let mut result = Ok(());
        for equation in body {
            // All equations of the block are tried; the first failure is passed on.
            result = result.and(self.equation(section, equation));
        }
        result
    }

    fn branch_holds(&mut self, condition: AstId) -> Checked<bool> {
        let span = self.ast.span(condition);
        let value = self.eval(condition)?;
        self.require_type(&value, Type::Boolean, span)?;
        let expr = self.scalar(&value, span)?;
        match self.known(expr) {
            Some(value) => Ok(value != 0.0),
            None => Err(self.error(
                Diagnostic::error(
                    Code::NotConstant,
                    span,
                    "which equations hold must be known before the run",
                )
                .label("depends on time or on a variable")
                .help("use an `if` expression: x = if … then … else …"),
            )),
        }
    }

    /// Does something for every combination of the values of iterators.
    pub(super) fn each_round(
        &mut self,
        iterators: &[ast::Iterator],
        body: &mut dyn FnMut(&mut Self) -> Checked<()>,
    ) -> Checked<()> {
        let Some((first, rest)) = iterators.split_first() else {
            return body(self);
        };
        let (ty, numbers) = self.iterator_values(first)?;
        let name: Arc<str> = first.name.as_str().into();
        for number in numbers {
            self.step(1, first.span)?;
            let number = self.graph.constant(number);
            self.loops.push((name.clone(), Value::Scalar(ty, number)));
            self.indices = None;
            let result = self.each_round(rest, body);
            self.loops.pop();
            self.indices = None;
            // The same mistake would be found in every round.
            result?;
        }
        Ok(())
    }

    fn equal(&mut self, section: Section, left: AstId, right: AstId, span: Span) -> Checked<()> {
        let a = self.eval(left);
        let b = self.eval(right);
        let (a, b) = (a?, b?);
        if a.ty() == Some(Type::Boolean)
            || b.ty() == Some(Type::Boolean)
            || a.ty().is_none()
            || b.ty().is_none()
        {
            self.require_type(&a, Type::Real, self.ast.span(left))?;
            self.require_type(&b, Type::Real, self.ast.span(right))?;
        }
        if !a.fits(b.dims()) {
            let (x, y) = (describe_dims(a.dims()), describe_dims(b.dims()));
            return Err(self.error(
                Diagnostic::error(
                    Code::WrongSize,
                    span,
                    format!("the sides differ: {x} on the left, {y} on the right"),
                )
                .label("the sizes do not fit")
                .help("give both sides the same sizes"),
            ));
        }
        let is_array = !a.dims().is_empty();
        self.step(a.elements().len() as u64, span)?;
        for (position, (&x, &y)) in a.elements().iter().zip(b.elements()).enumerate() {
            let instance = self.instance(is_array.then_some(position + 1));
            self.push_equation(section, x, y, span, Origin::Written, instance);
        }
        Ok(())
    }

    /// The loop variables around the current place.
    pub(super) fn instance(&mut self, element: Option<usize>) -> Instance {
        let indices = match &self.indices {
            Some(indices) => indices.clone(),
            None => {
                let number = |value: &Value| match value.elements() {
                    [expr] => self.graph.as_constant(*expr).unwrap_or(f64::NAN),
                    _ => f64::NAN,
                };
                let indices: LoopIndices = self
                    .loops
                    .iter()
                    .map(|(name, value)| (name.clone(), number(value)))
                    .collect();
                self.indices = Some(indices.clone());
                indices
            }
        };
        Instance { indices, element }
    }

    pub(super) fn push_equation(
        &mut self,
        section: Section,
        left: ExprId,
        right: ExprId,
        span: Span,
        origin: Origin,
        instance: Instance,
    ) {
        let residual = self.graph.sub(left, right);
        let equation = Equation {
            left,
            right,
            residual,
            span,
            origin,
            instance,
        };
        match section {
            Section::Equation => self.equations.push(equation),
            Section::Initial => self.initial_equations.push(equation),
        }
    }

    fn call_equation(&mut self, section: Section, call: AstId, span: Span) -> Checked<()> {
        let Expr::Call {
            name,
            name_span,
            positional,
            named,
        } = self.ast.expr(call)
        else {
            return Ok(());
        };
        match name.as_str() {
            "lagrange" if section == Section::Initial => Err(self.error(
                Diagnostic::error(
                    Code::LagrangeArgument,
                    span,
                    "`lagrange` holds at all times",
                )
                .label("in an initial equation")
                .help("move it to the `equation` section"),
            )),
            "lagrange" => self.lagrange(*name_span, positional, named, span),
            "reinit" | "terminate" => Err(self.error(
                Diagnostic::error(
                    Code::Unsupported,
                    *name_span,
                    format!("`{name}` is not supported"),
                )
                .label("needs events")
                .help("describe the model between events, with equations"),
            )),
            "assert" => self.assertion(call),
            _ if self.functions.contains_key(name.as_str()) => Err(self.error(
                Diagnostic::error(
                    Code::Syntax,
                    span,
                    format!("the result of `{name}` is not used"),
                )
                .label("a call alone is no equation")
                .help(format!("write `… = {name}(…);`")),
            )),
            _ => Err(self.unknown_equation(name, *name_span)),
        }
    }

    fn unknown_equation(&mut self, name: &str, span: Span) -> super::Reported {
        let help = match crate::diagnostic::nearest(name, ["lagrange", "assert"]) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "write an equation `… = …`".into(),
        };
        self.error(
            Diagnostic::error(
                Code::UnknownFunction,
                span,
                format!("`{name}(…)` is no equation"),
            )
            .label("a call without `=`")
            .help(help),
        )
    }
}
