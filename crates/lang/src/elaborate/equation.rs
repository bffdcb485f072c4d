//! Equations: loops and branches written out, arrays taken apart, `lagrange` expanded.

use super::discrete::DiscreteEquation;
use super::instance::{Instance, Variable};
use super::scope::{Bound, NodeId, What};
use super::value::{Value, describe_dims};
use super::{Checked, Elaborator};
use crate::ast::{self, AstId, EquationKind, Expr};
use crate::diagnostic::{Code, Diagnostic};
use crate::model::{self, DeclaredKind, Equation, LoopIndices, Origin, Type};
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
        for at in 0..self.entries.len() {
            let entry = match self.order.get(at) {
                Some(&entry) => entry,
                None => break,
            };
            let super::State::Ready(value) = &self.entries[entry].state else {
                continue;
            };
            let value = value.clone();
            let Some(&index) = self.declared_at.get(&entry) else {
                continue;
            };
            let variable = self.entries[entry].variable.clone();
            let owner = self.node(variable.owner);
            self.component = owner.path.to_string().into();
            // Each may report a mistake of its own.
            let _ = self.attributes(&variable, index);
            let kind = self.declarations[index].kind;
            if matches!(kind, DeclaredKind::Unknown | DeclaredKind::Input)
                && !variable.is_known()
                && let Some(bound) = &variable.value
            {
                let _ = self.bind(&variable, index, &value, bound);
            }
        }
        self.component = "".into();
    }

    fn bind(
        &mut self,
        variable: &Variable<'a>,
        index: usize,
        target: &Value,
        bound: &Bound,
    ) -> Checked<()> {
        let declaration = variable.declaration;
        let span = self.bound_span(bound);
        let mut value = self.eval_bound(bound, variable.dims.len())?;
        let wanted = match variable.ty() {
            Type::Boolean => Type::Boolean,
            _ => Type::Real,
        };
        self.require_type(&value, wanted, span)?;
        if value.dims().is_empty() && !target.dims().is_empty() && variable.owner != self.root {
            let count = target.elements().len();
            let data = vec![value.elements()[0]; count];
            value = Value::shaped(Type::Real, target.dims().to_vec(), data);
        }
        if !value.fits(target.dims()) {
            let name_span = declaration.name_span;
            return Err(self.size_conflict(&variable.name, name_span, target.dims(), &value, span));
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
            if self.is_discrete_symbol(left) {
                self.push_discrete(left, right, span);
                continue;
            }
            self.bindings.insert(first + position, right);
            let instance = self.instance_of(is_array.then_some(position + 1));
            // A value that a modification gives stands elsewhere than the declaration.
            let place = match declaration
                .binding
                .is_some_and(|ast| self.ast.span(ast) == span)
            {
                true => declaration.span,
                false => span,
            };
            self.push_equation(
                Section::Equation,
                left,
                right,
                place,
                Origin::Binding,
                instance,
            );
        }
        Ok(())
    }

    /// The model and its components, with those that were made for `outer` ones.
    fn all_components(&mut self) -> Vec<NodeId> {
        let mut nodes = Vec::new();
        self.components_of(self.root, &mut nodes);
        for at in 0..self.missing_inners.len() {
            if let Instance::Nodes { list, .. } = self.missing_inners[at].1.clone() {
                for &node in list.iter() {
                    self.components_of(node, &mut nodes);
                }
            }
        }
        nodes
    }

    /// Reads the connections: values of variables may depend on them.
    pub(super) fn read_connections(&mut self) {
        let nodes = self.all_components();
        self.gather_connections(&nodes);
        self.settle_graph();
        self.n_connected = nodes.len();
    }

    pub(super) fn all_equations(&mut self) {
        let nodes = self.all_components();
        if nodes.len() > self.n_connected {
            let new = nodes[self.n_connected..].to_vec();
            self.gather_connections(&new);
            self.settle_graph();
        }
        for section in [Section::Initial, Section::Equation] {
            for &node in &nodes {
                self.component = self.node(node).path.to_string().into();
                for part in self.node(node).parts.clone() {
                    self.part = part;
                    let Some(class) = self.part(part).class else {
                        continue;
                    };
                    let equations = match section {
                        Section::Initial => &class.initial_equations,
                        Section::Equation => &class.equations,
                    };
                    for equation in equations {
                        // The next equation is tried whatever this one reports.
                        let _ = self.equation(section, equation);
                    }
                    for algorithm in &class.algorithms {
                        if algorithm.is_initial == (section == Section::Initial) {
                            let _ = self.algorithm(section, algorithm);
                        }
                    }
                }
            }
            self.component = "".into();
            self.part = self.node(self.root).root;
            if section == Section::Equation {
                for equation in self.joined {
                    let _ = self.equation(section, equation);
                }
            }
        }
        self.connection_equations();
        for (rate, variable) in std::mem::take(&mut self.resting) {
            let zero = self.graph.constant(0.0);
            let span = variable.declaration.span;
            let instance = self.instance_of(None);
            self.push_equation(
                Section::Equation,
                rate,
                zero,
                span,
                Origin::Binding,
                instance,
            );
        }
    }

    /// A component and all inside it, in the order of the text.
    fn components_of(&mut self, node: NodeId, nodes: &mut Vec<NodeId>) {
        nodes.push(node);
        let elements = self.node(node).elements.clone();
        for name in &elements.order {
            let (is_outer, is_inner) = match elements.map.get(name).map(|element| element.what) {
                Some(What::Component(declaration)) => {
                    let prefixes = &declaration.prefixes;
                    (prefixes.is_outer, prefixes.is_inner)
                }
                _ => (true, false),
            };
            let made = match is_outer && is_inner {
                true => self.own_inners.get(&(node, *name)),
                false => self.node(node).components.get(name),
            };
            if (is_inner || !is_outer)
                && let Some(Instance::Nodes { list, .. }) = made
            {
                for &inside in list.clone().iter() {
                    self.components_of(inside, nodes);
                }
            }
        }
    }

    fn equation(&mut self, section: Section, equation: &'a ast::WrittenEquation) -> Checked<()> {
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
                self.branches(section, branches, otherwise, equation.span)
            }
            EquationKind::Connect(..) => Ok(()),
            EquationKind::When { branches } => self.when(branches, equation.span),
        }
    }

    /// The branch that holds, or all of them as one where that changes during a run.
    fn branches(
        &mut self,
        section: Section,
        branches: &'a [(AstId, Vec<ast::WrittenEquation>)],
        otherwise: &'a [ast::WrittenEquation],
        span: Span,
    ) -> Checked<()> {
        let Some(((condition, body), rest)) = branches.split_first() else {
            return self.block(section, otherwise);
        };
        let expr = self.eval_condition(*condition)?;
        match self.known(expr) {
            Some(0.0) => return self.branches(section, rest, otherwise, span),
            Some(_) => return self.block(section, body),
            None => {}
        }
        let before = self.section_mut(section).len();
        let n_rules = self.discrete.equations.len();
        let n_before = self.assertions.len();
        self.block(section, body)?;
        let n_first = self.assertions.len();
        let first = self.section_mut(section).split_off(before);
        let first_rules = self.discrete.equations.split_off(n_rules);
        self.branches(section, rest, otherwise, span)?;
        // What a branch asserts has to hold while the branch does.
        let holds = self.graph.constant(1.0);
        for at in n_before..self.assertions.len() {
            let asserted = self.assertions[at].condition;
            let (a, b) = if at < n_first {
                (asserted, holds)
            } else {
                (holds, asserted)
            };
            self.assertions[at].condition = self.choose(Type::Boolean, expr, a, b, span);
        }
        let second = self.section_mut(section).split_off(before);
        let second_rules = self.discrete.equations.split_off(n_rules);
        let merged = self.merged_rules(expr, first_rules, second_rules, span);
        if first.len() != second.len() || !merged {
            let at = self.ast.span(*condition);
            return Err(self.error(
                Diagnostic::error(
                    Code::NotConstant,
                    at,
                    "which equations hold must be known before the run",
                )
                .label("depends on time or on a variable, and the branches differ in number")
                .note(format!(
                    "{} {} here, {} in the other branches",
                    first.len(),
                    if first.len() == 1 {
                        "equation"
                    } else {
                        "equations"
                    },
                    second.len()
                ))
                .help("give every branch the same number of equations"),
            ));
        }
        for (a, b) in first.into_iter().zip(second) {
            let left = self.choose(Type::Real, expr, a.left, b.left, span);
            let right = self.choose(Type::Real, expr, a.right, b.right, span);
            self.push_equation(section, left, right, span, Origin::Written, a.instance);
        }
        Ok(())
    }

    /// Discrete equations of two branches as one of each pair with the same left side; false if they do not pair.
    fn merged_rules(
        &mut self,
        condition: ExprId,
        first: Vec<DiscreteEquation>,
        mut second: Vec<DiscreteEquation>,
        span: Span,
    ) -> bool {
        if first.len() != second.len() {
            return false;
        }
        for a in first {
            let Some(at) = second.iter().position(|b| b.left == a.left) else {
                return false;
            };
            let b = second.remove(at);
            // Truth values are numbers here.
            let right = self.choose(Type::Real, condition, a.right, b.right, span);
            self.discrete
                .equations
                .push(DiscreteEquation { right, ..a });
        }
        true
    }

    fn section_mut(&mut self, section: Section) -> &mut Vec<Equation> {
        match section {
            Section::Equation => &mut self.equations,
            Section::Initial => &mut self.initial_equations,
        }
    }

    /// ` (in the component a.b)`, for messages.
    pub(super) fn place(&self) -> String {
        match self.component.is_empty() {
            true => String::new(),
            false => format!(" (in the component {})", self.component),
        }
    }

    /// Counts the names in equations as used.
    fn mention(&mut self, equations: impl Iterator<Item = &'a ast::WrittenEquation>) {
        let mut pending: Vec<&'a ast::WrittenEquation> = equations.collect();
        let mut names = Vec::new();
        while let Some(equation) = pending.pop() {
            match &equation.kind {
                EquationKind::Equal(left, right) => self.names_in(&[*left, *right], &mut names),
                EquationKind::Call(call) => self.names_in(&[*call], &mut names),
                EquationKind::For { body, .. } => pending.extend(body),
                EquationKind::Connect(left, right) => self.names_in(&[*left, *right], &mut names),
                EquationKind::When { branches } => {
                    pending.extend(branches.iter().flat_map(|(_, body)| body));
                }
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

    fn block(&mut self, section: Section, body: &'a [ast::WrittenEquation]) -> Checked<()> {
        let mut result = Ok(());
        for equation in body {
            // All equations of the block are tried; the first failure is passed on.
            result = result.and(self.equation(section, equation));
        }
        result
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
        if let Expr::Tuple(targets) = self.ast.expr(left) {
            let Some(results) = self.results(right)? else {
                let at = self.ast.span(right);
                return Err(self.error(
                    Diagnostic::error(Code::Syntax, at, "a list of results needs a call")
                        .label("not a call of a function with several outputs")
                        .help("write one equation for each name"),
                ));
            };
            for (target, result) in targets.iter().zip(results) {
                if let Some(target) = target {
                    let target = self.eval(*target)?;
                    self.equal_values(section, &target, &result, span)?;
                }
            }
            return Ok(());
        }
        let a = self.eval(left);
        let b = self.eval(right);
        let (a, b) = (a?, b?);
        let is_number = |value: &Value| matches!(value.ty(), Some(Type::Real | Type::Integer));
        let is_empty = |value: &Value| value.dims().contains(&0);
        let alike = match (&a, &b) {
            (Value::Record(_), Value::Record(_)) | (Value::List(_), Value::List(_)) => true,
            _ => a.ty() == Some(Type::Boolean) && b.ty() == Some(Type::Boolean),
        };
        let has_discrete = !self.discrete.variables.is_empty() || self.is_inside_component();
        if !(alike && (has_discrete || !matches!(a.ty(), Some(Type::Boolean))))
            && !(is_number(&a) && is_number(&b))
            && !(is_empty(&a) && is_empty(&b))
        {
            self.require_type(&a, Type::Real, self.ast.span(left))?;
            self.require_type(&b, Type::Real, self.ast.span(right))?;
        }
        self.equal_values(section, &a, &b, span)
    }

    /// Two values that are equal: an equation for each pair of numbers in them.
    pub(super) fn equal_values(
        &mut self,
        section: Section,
        a: &Value,
        b: &Value,
        span: Span,
    ) -> Checked<()> {
        if let (Value::Record(x), Value::Record(y)) = (a, b) {
            for (name, value) in &x.fields {
                let other = y.fields.iter().find(|(known, _)| known == name);
                match other {
                    Some((_, other)) => self.equal_values(section, value, other, span)?,
                    None => {
                        return Err(self.error(
                            Diagnostic::error(
                                Code::TypeMismatch,
                                span,
                                format!("the records differ: only the left one has `{name}`"),
                            )
                            .label("both sides must have the same fields")
                            .help("use records of one class"),
                        ));
                    }
                }
            }
            return Ok(());
        }
        if let (Value::List(x), Value::List(y)) = (a, b)
            && x.dims == y.dims
        {
            for (first, second) in x.items.iter().zip(&y.items) {
                self.equal_values(section, first, second, span)?;
            }
            return Ok(());
        }
        if matches!((a, b), (Value::Text(_), Value::Text(_))) {
            return Ok(());
        }
        if !a.fits(b.dims()) {
            let (x, y) = (describe_dims(a.dims()), describe_dims(b.dims()));
            // Brackets that were meant as parentheses make a matrix of one element.
            let is_bracketed = [a, b].iter().any(|value| value.dims() == [1, 1])
                && [a, b].iter().any(|value| value.dims().is_empty());
            return Err(self.error(
                Diagnostic::error(
                    Code::WrongSize,
                    span,
                    format!("the sides differ: {x} on the left, {y} on the right"),
                )
                .label("the sizes do not fit")
                .help(match is_bracketed {
                    true => "write parentheses: brackets make a matrix",
                    false => "give both sides the same sizes",
                }),
            ));
        }
        let is_array = !a.dims().is_empty();
        self.step(a.elements().len() as u64, span)?;
        let is_discrete = a.ty() == Some(Type::Boolean)
            || b.ty() == Some(Type::Boolean)
            || self.is_discrete_pair(a, b);
        for (position, (&x, &y)) in a.elements().iter().zip(b.elements()).enumerate() {
            if is_discrete {
                self.push_discrete_in(section, x, y, span);
                continue;
            }
            let instance = self.instance_of(is_array.then_some(position + 1));
            self.push_equation(section, x, y, span, Origin::Written, instance);
        }
        Ok(())
    }

    /// The loop variables around the current place.
    pub(super) fn instance_of(&mut self, element: Option<usize>) -> model::Instance {
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
        model::Instance {
            indices,
            element,
            component: self.component.clone(),
            flow: None,
        }
    }

    pub(super) fn push_equation(
        &mut self,
        section: Section,
        left: ExprId,
        right: ExprId,
        span: Span,
        origin: Origin,
        instance: model::Instance,
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
                    Code::Syntax,
                    *name_span,
                    format!("`{name}` stands outside a `when`"),
                )
                .label("when does it happen?")
                .help(format!("write `when … then {name}(…); end when;`")),
            )),
            "assert" => self.assertion(call, section == Section::Equation),
            _ if name.starts_with("Connections.") => Ok(()),
            _ if self
                .function(name)
                .is_some_and(|node| self.is_printing(node)) =>
            {
                Ok(())
            }
            _ if self.function(name).is_some() => Err(self.error(
                Diagnostic::error(
                    Code::Syntax,
                    span,
                    format!("the result of `{name}` is not used"),
                )
                .label("a call alone is not an equation")
                .help(format!("write `… = {name}(…);`")),
            )),
            _ => Err(self.unknown_equation(name, *name_span)),
        }
    }

    /// A function without outputs only prints or writes.
    fn is_printing(&mut self, node: NodeId) -> bool {
        self.signature(node).n_outputs() == 0
    }

    fn unknown_equation(&mut self, name: &str, span: Span) -> super::Reported {
        let help = match crate::diagnostic::nearest(name, ["lagrange", "assert", "annotation"]) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "write an equation `… = …`".into(),
        };
        self.error(
            Diagnostic::error(
                Code::UnknownFunction,
                span,
                format!("`{name}(…)` is not an equation"),
            )
            .label("a call without `=`")
            .help(help),
        )
    }
}
