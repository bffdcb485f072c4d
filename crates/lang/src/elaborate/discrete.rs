//! Truth values and whole numbers that are variables.
//!
//! Without `when`, `pre` and the like each is defined by one equation and put in its place; with them they are held between
//! events (`held.rs`).

use super::equation::Section;
use super::instance::Variable;
use super::scope::Bound;
use super::value::Value;
use super::{Checked, Elaborator, declare};
use crate::ast::AstId;
use crate::diagnostic::{Code, Diagnostic};
use crate::hybrid::{Check, Delay, Reinit, Rule};
use crate::model::{self, DeclaredKind, Input, Symbol, Type, Unknown, View};
use crate::source::Span;
use daelight_expr::{BinaryOp, ExprId, FastMap, Node, UnaryOp};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;

/// A variable that is no unknown of the continuous equations.
#[derive(Clone, Copy)]
pub(super) struct Own {
    pub ty: Type,
    pub span: Span,
}

/// An equation between discrete quantities.
#[derive(Clone)]
pub(super) struct DiscreteEquation {
    pub left: ExprId,
    pub right: ExprId,
    pub span: Span,
    pub section: Section,
    pub instance: model::Instance,
}

/// A discrete variable that the text does not name: the condition of a `when`, `floor` of a variable, what `pre` is taken of.
pub(super) struct Hidden {
    pub unknown: usize,
    pub rule: Rule,
    /// For the condition of a `when`: whether `initial()` is part of it.
    pub when: Option<bool>,
    pub component: Arc<str>,
}

/// What a `when` assigns: the conditions and values of its branches, first ones first.
pub(super) struct Assigned {
    pub branches: Vec<(ExprId, ExprId)>,
    /// Where each of them stands, and the branches around it.
    pub places: Vec<(Span, Branches)>,
    /// The `when` it stands in.
    pub span: Span,
}

/// The branches around a place in a `when`, outermost first: which choice, and which of its branches.
pub(super) type Branches = Vec<(usize, usize)>;

#[derive(Default)]
pub(super) struct Discrete {
    /// Unknowns that are not numbers of the continuous model.
    pub variables: HashMap<usize, Own>,
    pub equations: Vec<DiscreteEquation>,
    pub hidden: Vec<Hidden>,
    /// Unknowns that stand for `pre` of others, by these, with where `pre` was first written.
    pub previous: BTreeMap<usize, (usize, Span)>,
    /// Unknowns whose `pre` stands outside the body of a `when`, with its place.
    pub previous_outside: BTreeMap<usize, Span>,
    /// Unknowns that stood for something else and are replaced.
    pub stand_ins: HashMap<usize, Own>,
    /// Whether the present place is the body of a `when`.
    pub in_body: bool,
    /// The branches around the present place in a `when`, and how many choices there were so far.
    pub inside: Branches,
    pub choices: usize,
    /// Equalities in the conditions of `when`s.
    pub equalities: Vec<(ExprId, Span)>,
    /// Unknowns that stand for `initial()` and `terminal()`.
    pub flags: BTreeMap<&'static str, usize>,
    /// Parameters with `fixed = false`: unknowns that the start settles for the whole run.
    pub settled: HashSet<usize>,
    /// Unknowns that stand for `sample`, with start and interval.
    pub samples: Vec<(usize, ExprId, ExprId, Span)>,
    pub delays: Vec<Delay>,
    pub assigned: BTreeMap<usize, Assigned>,
    pub reinits: Vec<Reinit>,
    pub checks: Vec<Check>,
    /// Relations that make events, with their places.
    pub relations: FastMap<ExprId, Span>,
    /// Whether relations are held even where nothing but equations reads them.
    pub holds_relations: bool,
    /// Whether kinks that choose between different unknowns are relations as well.
    pub holds_kinks: bool,
    /// Relations by which `min` and `max` are their first arguments.
    pub firsts: HashSet<ExprId>,
    /// How many `noEvent` and the like are around the present place.
    pub quiet: usize,
    /// Conditions of the `when`s around the present statement.
    pub guards: Vec<ExprId>,
}

impl<'a> Elaborator<'a> {
    /// Symbols for a variable that is no unknown of the continuous equations.
    pub(super) fn declare_discrete(
        &mut self,
        variable: &Rc<Variable<'a>>,
        dims: Vec<usize>,
    ) -> Value {
        let count: usize = dims.iter().product();
        let index = self.new_declaration(variable, dims.clone(), DeclaredKind::Unknown);
        let own = Own {
            ty: variable.ty(),
            span: variable.declaration.name_span,
        };
        let mut symbols = Vec::with_capacity(count);
        for position in 0..count {
            let name = declare::element_name(&variable.name, &dims, position);
            self.unknowns.push(Unknown::plain(name, index));
            let unknown = self.unknowns.len() - 1;
            self.discrete.variables.insert(unknown, own);
            symbols.push(self.unknown_symbol(unknown));
        }
        Value::shaped(variable.ty(), dims, symbols)
    }

    pub(super) fn unknown_symbol(&mut self, unknown: usize) -> ExprId {
        let id = self.symbols.id(Symbol::Unknown { unknown, order: 0 });
        self.graph.symbol(id)
    }

    /// A stand-in for something that changes at events.
    pub(super) fn stand_in(&mut self, name: String) -> usize {
        self.unknowns.push(Unknown::plain(name, 0));
        self.unknowns.len() - 1
    }

    /// A discrete variable that the text does not name.
    pub(super) fn hidden(
        &mut self,
        name: String,
        ty: Type,
        rule: Rule,
        when: Option<bool>,
        span: Span,
    ) -> usize {
        let unknown = self.stand_in(name);
        self.discrete.variables.insert(unknown, Own { ty, span });
        let component = self.component.clone();
        self.discrete.hidden.push(Hidden {
            unknown,
            rule,
            when,
            component,
        });
        unknown
    }

    /// `pre`, `initial()` and the like.
    pub(super) fn event_call(
        &mut self,
        name: &str,
        positional: &[AstId],
        span: Span,
    ) -> Checked<Option<Value>> {
        match (name, positional) {
            ("pre" | "edge" | "change", [argument]) => {
                // In an algorithm these mean the variable itself, not what it was assigned last.
                let frame = match self.in_section {
                    true => self.frame.take(),
                    false => None,
                };
                let value = self.eval(*argument);
                if frame.is_some() {
                    self.frame = frame;
                }
                self.past(name, &value?, span).map(Some)
            }
            ("sample", [start, interval]) => {
                let (first, second) = (self.eval(*start)?, self.eval(*interval)?);
                if second.ty() == Some(Type::Boolean) {
                    return self.clocked_sample(&first, &second, span).map(Some);
                }
                let start = self.scalar(&first, span)?;
                self.require_type(&second, Type::Real, span)?;
                let interval = self.scalar(&second, span)?;
                if !self.is_settled_by_start(&[start, interval]) {
                    return Err(self.error(
                        Diagnostic::error(
                            Code::NotConstant,
                            span,
                            format!("`sample` at times that change{}", self.place()),
                        )
                        .label("depends on time or on a variable")
                        .help("use parameters for its start and interval"),
                    ));
                }
                let value = self.parameter_value(interval);
                if value <= 0.0 {
                    let message = format!("the interval of `sample` is {value}");
                    return Err(self.error(
                        Diagnostic::error(Code::BadValue, span, message)
                            .label("events would follow each other without end")
                            .help("write `sample(start, interval)` with a positive interval"),
                    ));
                }
                let unknown = self.stand_in("sample".to_string());
                let sample = (unknown, start, interval, span);
                self.discrete.samples.push(sample);
                let symbol = self.unknown_symbol(unknown);
                Ok(Some(Value::Scalar(Type::Boolean, symbol)))
            }
            ("delay", [argument, by] | [argument, by, _]) => {
                let (value, by) = (self.eval(*argument)?, self.eval_number(*by)?);
                let by = self.scalar(&by, span)?;
                self.delay(&value, by, span).map(Some)
            }
            ("initial", []) => Ok(Some(self.flag("initial()"))),
            ("terminal", []) => Ok(Some(self.flag("terminal()"))),
            _ => self.clock_call(name, positional, span),
        }
    }

    /// `delay(e, T)`, element by element: inputs that a run knows from its own past.
    fn delay(&mut self, value: &Value, by: ExprId, span: Span) -> Checked<Value> {
        self.require_type(value, Type::Real, span)?;
        if !self.is_settled_by_start(&[by]) {
            return Err(self.error(
                Diagnostic::error(
                    Code::NotConstant,
                    span,
                    format!("`delay` by a time that changes{}", self.place()),
                )
                .label("its time depends on time or on a variable")
                .help("use a parameter for the time; delayMax does not help"),
            ));
        }
        let mut data = Vec::with_capacity(value.elements().len());
        for &expr in value.elements() {
            if !self.varies(expr) {
                data.push(expr);
                continue;
            }
            let input = self.inputs.len();
            self.inputs.push(Input {
                name: model::shorten(&self.slice(span), 60),
                definition: None,
                declaration: 0,
            });
            self.discrete.delays.push(Delay {
                input,
                expr,
                by,
                span,
            });
            let id = self.symbols.id(Symbol::Input { input, order: 0 });
            data.push(self.graph.symbol(id));
        }
        Ok(Value::shaped(Type::Real, value.dims().to_vec(), data))
    }

    /// Whether expressions keep the values that they have after the start.
    fn is_settled_by_start(&mut self, exprs: &[ExprId]) -> bool {
        let symbols = self.walker.symbols(&self.graph, exprs);
        symbols.into_iter().all(|id| match self.symbols.get(id) {
            Symbol::Parameter(_) => true,
            Symbol::Unknown { unknown, order: 0 } => self.discrete.settled.contains(&unknown),
            _ => false,
        })
    }

    fn flag(&mut self, name: &'static str) -> Value {
        let unknown = match self.discrete.flags.get(name) {
            Some(&unknown) => unknown,
            None => {
                let unknown = self.stand_in(name.to_string());
                self.discrete.flags.insert(name, unknown);
                unknown
            }
        };
        let symbol = self.unknown_symbol(unknown);
        Value::Scalar(Type::Boolean, symbol)
    }

    /// `pre(v)`, `edge(v)` and `change(v)`, element by element.
    pub(super) fn past(&mut self, name: &str, value: &Value, span: Span) -> Checked<Value> {
        let Some(ty) = value.ty() else {
            return Err(self.error(
                Diagnostic::error(
                    Code::TypeMismatch,
                    span,
                    format!("`{name}` needs a variable, found {}", value.describe()),
                )
                .help("name a discrete variable"),
            ));
        };
        if name == "edge" {
            self.require_type(value, Type::Boolean, span)?;
        }
        let mut data = Vec::with_capacity(value.elements().len());
        for &now in value.elements() {
            let before = self.previous_of(now, ty, span);
            data.push(match name {
                "pre" => before,
                "edge" => self.rises(now, before),
                _ => self.graph.binary(BinaryOp::NotEqual, now, before),
            });
        }
        let ty = if name == "pre" { ty } else { Type::Boolean };
        Ok(Value::shaped(ty, value.dims().to_vec(), data))
    }

    /// Whether a condition holds and did not before.
    pub(super) fn rises(&mut self, now: ExprId, before: ExprId) -> ExprId {
        let not_before = self.graph.unary(UnaryOp::Not, before);
        self.graph.binary(BinaryOp::And, now, not_before)
    }

    /// The value before the event.
    pub(super) fn previous_of(&mut self, now: ExprId, ty: Type, span: Span) -> ExprId {
        if self.graph.as_constant(now).is_some() || !self.varies(now) {
            return now;
        }
        let symbol = self.graph.as_symbol(now).map(|id| self.symbols.get(id));
        let unknown = match symbol {
            Some(Symbol::Unknown { unknown, order: 0 }) => unknown,
            _ => {
                let name = model::shorten(&self.slice(span), 60);
                self.hidden(name, ty, Rule::Expression(now), None, span)
            }
        };
        if !self.discrete.in_body {
            let outside = &mut self.discrete.previous_outside;
            outside.entry(unknown).or_insert(span);
        }
        let before = match self.discrete.previous.get(&unknown) {
            Some(&(before, _)) => before,
            None => {
                let name = format!("pre({})", self.unknowns[unknown].name);
                let before = self.stand_in(name);
                self.discrete.previous.insert(unknown, (before, span));
                before
            }
        };
        self.unknown_symbol(before)
    }

    /// The text of a place.
    pub(super) fn slice(&self, span: Span) -> String {
        self.ast.sources.borrow().slice(span).to_string()
    }

    /// Unknowns that are left out of the continuous model.
    fn dropped(&self) -> HashSet<usize> {
        let discrete = &self.discrete;
        let mut all: HashSet<usize> = discrete.variables.keys().copied().collect();
        all.extend(discrete.stand_ins.keys());
        all.extend(discrete.previous.values().map(|(before, _)| before));
        all.extend(discrete.flags.values());
        all.extend(discrete.samples.iter().map(|sample| sample.0));
        all
    }

    /// Whether a value is told by what was before an event, so that it cannot be put in the place of its name.
    pub(super) fn reads_the_past(&self, bound: &Bound) -> bool {
        let calls = self.calls_in(bound);
        let is_past =
            |name: &&str| matches!(*name, "pre" | "edge" | "change" | "sample" | "initial");
        matches!(bound, Bound::Expr { .. }) && calls.iter().any(is_past)
    }

    /// Whether a value needs what arrives at a connector, which the connections tell later.
    pub(super) fn reads_streams(&self, bound: &Bound) -> bool {
        let calls = self.calls_in(bound);
        self.n_connected == 0
            && calls
                .iter()
                .any(|name| matches!(*name, "inStream" | "actualStream"))
    }

    fn calls_in(&self, bound: &Bound) -> Vec<&'a str> {
        match bound {
            Bound::Expr { ast, .. } => {
                let mut calls = Vec::new();
                self.names_and_calls_in(&[*ast], &mut Vec::new(), &mut calls);
                calls
            }
            Bound::Field(whole, _) => self.calls_in(whole),
        }
    }

    /// The discrete unknown that an expression is.
    pub(super) fn discrete_unknown(&self, expr: ExprId) -> Option<usize> {
        match self.symbols.get(self.graph.as_symbol(expr)?) {
            Symbol::Unknown { unknown, order: 0 } => {
                let known = self.discrete.variables.contains_key(&unknown);
                known.then_some(unknown)
            }
            _ => None,
        }
    }

    pub(super) fn is_discrete_symbol(&self, expr: ExprId) -> bool {
        self.discrete_unknown(expr).is_some()
    }

    /// Whether an equation of numbers defines something discrete.
    pub(super) fn is_discrete_pair(&self, a: &Value, b: &Value) -> bool {
        let is_discrete = |value: &Value| {
            let elements = value.elements();
            let is_one = |&expr: &ExprId| self.is_discrete_symbol(expr) || self.is_previous(expr);
            !elements.is_empty() && elements.iter().all(is_one)
        };
        is_discrete(a) || is_discrete(b)
    }

    /// Whether an expression is `pre` of a variable.
    fn is_previous(&self, expr: ExprId) -> bool {
        self.previous_variable(expr).is_some()
    }

    /// The variable whose `pre` an expression is.
    pub(super) fn previous_variable(&self, expr: ExprId) -> Option<usize> {
        let Symbol::Unknown { unknown, order: 0 } = self.symbols.get(self.graph.as_symbol(expr)?)
        else {
            return None;
        };
        let mut all = self.discrete.previous.iter();
        all.find_map(|(&of, &(before, _))| (before == unknown).then_some(of))
    }

    pub(super) fn push_discrete(&mut self, left: ExprId, right: ExprId, span: Span) {
        self.push_discrete_in(Section::Equation, left, right, span);
    }

    pub(super) fn push_discrete_in(
        &mut self,
        section: Section,
        left: ExprId,
        right: ExprId,
        span: Span,
    ) {
        let instance = self.instance_of(None);
        self.discrete.equations.push(DiscreteEquation {
            left,
            right,
            span,
            section,
            instance,
        });
    }

    /// Puts the definitions of discrete variables in their place.
    pub(super) fn settle_discrete(&mut self) {
        if !self.has_errors() {
            self.check_derivatives();
        }
        if self.discrete.holds_kinks {
            self.kinks_as_relations();
        }
        if self.is_hybrid() {
            return self.settle_hybrid();
        }
        if self.discrete.variables.is_empty() {
            for DiscreteEquation { span, .. } in std::mem::take(&mut self.discrete.equations) {
                self.error(
                    Diagnostic::error(
                        Code::TypeMismatch,
                        span,
                        "expected a number, found a truth value",
                    )
                    .label("an equation between conditions")
                    .help("write `if … then 1 else 0` to make a number of a condition"),
                );
            }
            return;
        }
        if self.has_errors() {
            return;
        }
        let Some(definitions) = self.match_discrete() else {
            return;
        };
        let Some(order) = self.discrete_order(&definitions) else {
            return;
        };
        let mut values: HashMap<usize, ExprId> = HashMap::new();
        for unknown in order {
            let value = self.put_in(&[definitions[&unknown]], &values)[0];
            values.insert(unknown, value);
        }
        let mut roots: Vec<ExprId> = Vec::new();
        for equation in self.equations.iter().chain(&self.initial_equations) {
            roots.extend([equation.left, equation.right]);
        }
        roots.extend(self.assertions.iter().map(|assertion| assertion.condition));
        let mut images = self.put_in(&roots, &values);
        let conditions = images.split_off(images.len() - self.assertions.len());
        for (assertion, condition) in self.assertions.iter_mut().zip(conditions) {
            assertion.condition = condition;
        }
        let mut images = images.into_iter();
        let n_equations = self.equations.len();
        for at in 0..n_equations + self.initial_equations.len() {
            let (Some(left), Some(right)) = (images.next(), images.next()) else {
                return;
            };
            let residual = self.graph.sub(left, right);
            let equation = match at < n_equations {
                true => &mut self.equations[at],
                false => &mut self.initial_equations[at - n_equations],
            };
            (equation.left, equation.right, equation.residual) = (left, right, residual);
        }
        self.put_into_entries(&values);
        if !self.has_errors() {
            self.view_discrete(&values);
            self.drop_discrete();
        }
    }

    /// What changes at events alone has no derivative.
    fn check_derivatives(&mut self) {
        let dropped = self.dropped();
        if dropped.is_empty() {
            return;
        }
        let equations = self.equations.iter().chain(&self.initial_equations);
        let places: Vec<(ExprId, Span)> = equations.map(|e| (e.residual, e.span)).collect();
        for (residual, span) in places {
            let found = self.walker.symbols(&self.graph, &[residual]);
            let unknown = found.into_iter().find_map(|id| match self.symbols.get(id) {
                Symbol::Unknown { unknown, order } if order > 0 && dropped.contains(&unknown) => {
                    Some(unknown)
                }
                _ => None,
            });
            let Some(unknown) = unknown else {
                continue;
            };
            let name = self.unknowns[unknown].name.clone();
            let mut diagnostic = Diagnostic::error(
                Code::TypeMismatch,
                span,
                format!("`{name}` changes at events alone and has no derivative"),
            )
            .label(format!("`der({name})` is used here"));
            diagnostic = match self.discrete.assigned.get(&unknown) {
                Some(assigned) => diagnostic
                    .related(assigned.span, format!("`{name}` is assigned here"))
                    .help(format!(
                        "write `reinit({name}, …)` in the `when` if `{name}` moves between events"
                    )),
                None => diagnostic.help("declare it as Real if it moves between events"),
            };
            self.error(diagnostic);
        }
    }

    /// Truth values and whole numbers are shown beside the unknowns.
    fn view_discrete(&mut self, values: &HashMap<usize, ExprId>) {
        let mut unknowns: Vec<usize> = values.keys().copied().collect();
        unknowns.sort_unstable();
        for unknown in unknowns {
            let Some(variable) = self.discrete.variables.get(&unknown) else {
                continue;
            };
            let (ty, value) = (variable.ty, values[&unknown]);
            let name = self.unknowns[unknown].name.clone();
            self.views.push(View { name, ty, value });
        }
    }

    /// Names stand for their definitions from now on.
    fn put_into_entries(&mut self, values: &HashMap<usize, ExprId>) {
        for at in 0..self.entries.len() {
            let super::State::Ready(value) = &self.entries[at].state else {
                continue;
            };
            let (Some(ty), dims) = (value.ty(), value.dims().to_vec()) else {
                continue;
            };
            if self.entries[at].variable.is_known() || value.elements().is_empty() {
                continue;
            }
            let elements = value.elements().to_vec();
            let data = self.put_in(&elements, values);
            self.entries[at].state = super::State::Ready(Value::shaped(ty, dims, data));
        }
    }

    pub(super) fn put_in(
        &mut self,
        roots: &[ExprId],
        values: &HashMap<usize, ExprId>,
    ) -> Vec<ExprId> {
        let symbols = &self.symbols;
        let pairs = self
            .graph
            .substitution(roots, |_, id| match symbols.get(id) {
                Symbol::Unknown { unknown, order: 0 } => values.get(&unknown).copied(),
                _ => None,
            });
        let image: HashMap<ExprId, ExprId> = pairs.into_iter().collect();
        for (&old, &new) in &image {
            if let Some(&span) = self.spans.get(&old) {
                self.spans.entry(new).or_insert(span);
            }
        }
        roots
            .iter()
            .map(|root| image.get(root).copied().unwrap_or(*root))
            .collect()
    }

    /// The equation of each discrete variable: one side is the variable alone.
    fn match_discrete(&mut self) -> Option<HashMap<usize, ExprId>> {
        let equations = self.discrete.equations.clone();
        let (definitions, left_over) = self.matched(&equations);
        let left_over: Vec<DiscreteEquation> =
            left_over.iter().map(|&at| equations[at].clone()).collect();
        let mut unknowns: Vec<usize> = self.discrete.variables.keys().copied().collect();
        unknowns.sort_unstable();
        for unknown in unknowns {
            if !definitions.contains_key(&unknown) {
                self.undefined_discrete(unknown, &left_over);
                return None;
            }
        }
        for equation in &left_over {
            self.as_continuous(equation);
        }
        (!self.has_errors()).then_some(definitions)
    }

    pub(super) fn nothing_to_define(&mut self, span: Span) {
        self.error(
            Diagnostic::error(
                Code::Overdetermined,
                span,
                "this equation defines no truth value or whole number that is still open",
            )
            .label("its variables are defined elsewhere")
            .help("define each of them once, as `name = …`"),
        );
    }

    /// Which equation defines which discrete variable that no `when` assigns, and the equations that define none.
    pub(super) fn matched(
        &self,
        equations: &[DiscreteEquation],
    ) -> (HashMap<usize, ExprId>, Vec<usize>) {
        let open = |expr: ExprId| {
            let unknown = self.discrete_unknown(expr)?;
            let is_taken = self.discrete.assigned.contains_key(&unknown)
                || self.discrete.hidden.iter().any(|h| h.unknown == unknown);
            (!is_taken).then_some(unknown)
        };
        let sides: Vec<Vec<(usize, ExprId)>> = equations
            .iter()
            .map(|equation| {
                let one = open(equation.left).map(|unknown| (unknown, equation.right));
                let other = open(equation.right).map(|unknown| (unknown, equation.left));
                let both = one.into_iter().chain(other);
                both.filter(|&(unknown, value)| {
                    self.discrete.variables[&unknown].ty != Type::Integer || !self.is_smooth(value)
                })
                .collect()
            })
            .collect();
        let mut matched: HashMap<usize, usize> = HashMap::new();
        let mut left_over = Vec::new();
        for at in 0..equations.len() {
            let mut visited = vec![false; equations.len()];
            if !augment(at, &sides, &mut matched, &mut visited) {
                left_over.push(at);
            }
        }
        let value = |(&unknown, &equation): (&usize, &usize)| {
            let side = sides[equation].iter().find(|(other, _)| *other == unknown);
            side.map(|side| (unknown, side.1))
        };
        (matched.iter().filter_map(value).collect(), left_over)
    }

    /// Whether a value varies with an unknown or with time, not in steps alone: no whole number can.
    pub(super) fn is_smooth(&self, value: ExprId) -> bool {
        let mut open = vec![value];
        let mut seen = HashSet::new();
        while let Some(expr) = open.pop() {
            if !seen.insert(expr) {
                continue;
            }
            match self.graph.node(expr) {
                Node::Symbol(id) => match self.symbols.get(id) {
                    Symbol::Time => return true,
                    Symbol::Unknown { unknown, order } => {
                        let is_held = self.discrete.variables.contains_key(&unknown)
                            || self.discrete.hidden.iter().any(|h| h.unknown == unknown)
                            || self.is_previous(expr);
                        if order > 0 || !is_held {
                            return true;
                        }
                    }
                    _ => {}
                },
                Node::Constant(_) | Node::Unary(UnaryOp::Not | UnaryOp::Sign, _) => {}
                Node::Binary(
                    BinaryOp::Less
                    | BinaryOp::LessEqual
                    | BinaryOp::Greater
                    | BinaryOp::GreaterEqual
                    | BinaryOp::Equal
                    | BinaryOp::NotEqual
                    | BinaryOp::And
                    | BinaryOp::Or,
                    ..,
                ) => {}
                Node::Select(_, a, b) => open.extend([a, b]),
                other => open.extend(other.arguments()),
            }
        }
        false
    }

    /// Says that nothing defines a discrete variable; `left_over` are equations that define none.
    pub(super) fn undefined_discrete(&mut self, unknown: usize, left_over: &[DiscreteEquation]) {
        let name = self.unknowns[unknown].name.clone();
        let Own { ty, span } = self.discrete.variables[&unknown];
        let is_it = |&expr: &ExprId| self.discrete_unknown(expr) == Some(unknown);
        let mut real = left_over.iter();
        if let Some(real) = real.find(|e| [e.left, e.right].iter().any(is_it)) {
            let span = real.span;
            self.error(
                Diagnostic::error(
                    Code::TypeMismatch,
                    span,
                    format!("`{name}` is a whole number, and the other side varies continuously"),
                )
                .label(format!("nothing else defines `{name}`"))
                .help(format!(
                    "round it, as in `{name} = integer(…)`, or declare `{name}` as Real"
                )),
            );
            return;
        }
        self.error(
            Diagnostic::error(
                Code::Unsupported,
                span,
                format!("nothing gives the discrete variable `{name}` a value"),
            )
            .label(format!("`{name}` has no equation `{name} = …`"))
            .help(match ty {
                Type::Boolean => format!(
                    "write its condition, as in `Boolean {name} = x > 0;`, or `{name} = …` in a `when`"
                ),
                _ => format!("write `{name} = …` in a `when`, or make it a parameter"),
            }),
        );
    }

    /// An order in which each definition needs only earlier ones.
    pub(super) fn discrete_order(
        &mut self,
        definitions: &HashMap<usize, ExprId>,
    ) -> Option<Vec<usize>> {
        let mut unknowns: Vec<usize> = definitions.keys().copied().collect();
        unknowns.sort_unstable();
        for unknown in &unknowns {
            if let Some(&Own { ty, span }) = self.discrete.variables.get(unknown)
                && ty == Type::Integer
            {
                let value = definitions[unknown];
                let span = self.spans.get(&value).copied().unwrap_or(span);
                self.require_whole_branches(value, span).ok()?;
            }
        }
        let mut needs: HashMap<usize, Vec<usize>> = HashMap::new();
        for &unknown in &unknowns {
            let symbols = self.walker.symbols(&self.graph, &[definitions[&unknown]]);
            let list = symbols
                .into_iter()
                .filter_map(|id| match self.symbols.get(id) {
                    Symbol::Unknown { unknown, .. } if definitions.contains_key(&unknown) => {
                        Some(unknown)
                    }
                    _ => None,
                });
            needs.insert(unknown, list.collect());
        }
        let mut order = Vec::with_capacity(unknowns.len());
        let mut mark: HashMap<usize, u8> = HashMap::new();
        for &root in &unknowns {
            if mark.contains_key(&root) {
                continue;
            }
            mark.insert(root, 1);
            let mut path = vec![(root, 0)];
            while let Some(&mut (unknown, ref mut next)) = path.last_mut() {
                match needs[&unknown].get(*next) {
                    Some(&needed) => {
                        *next += 1;
                        match mark.get(&needed) {
                            None => {
                                mark.insert(needed, 1);
                                path.push((needed, 0));
                            }
                            Some(1) => {
                                self.discrete_cycle(needed, &path);
                                return None;
                            }
                            _ => {}
                        }
                    }
                    None => {
                        mark.insert(unknown, 2);
                        order.push(unknown);
                        path.pop();
                    }
                }
            }
        }
        Some(order)
    }

    fn discrete_cycle(&mut self, closed: usize, path: &[(usize, usize)]) {
        let start = path.iter().position(|&(on, _)| on == closed).unwrap_or(0);
        let mut names: Vec<String> = path[start..]
            .iter()
            .take(8)
            .map(|&(unknown, _)| self.unknowns[unknown].name.clone())
            .collect();
        names.push(self.unknowns[closed].name.clone());
        let span = self.discrete.variables[&closed].span;
        self.error(
            Diagnostic::error(
                Code::CyclicParameters,
                span,
                format!(
                    "conditions are defined by each other: {}",
                    names.join(" needs ")
                ),
            )
            .label("the circle begins here")
            .help("define one of them by quantities that do not need the others, or by their values before the event: pre(…)"),
        );
    }

    /// Leaves discrete variables out of the unknowns.
    pub(super) fn drop_discrete(&mut self) {
        let dropped = self.dropped();
        self.drop_unknowns(|unknown| dropped.contains(&unknown));
    }

    /// Leaves unknowns out that no equation contains any more; whole arrays of them.
    pub(super) fn drop_unknowns(&mut self, is_dropped: impl Fn(usize) -> bool) {
        let n = self.unknowns.len();
        let mut new_place: Vec<Option<usize>> = Vec::with_capacity(n);
        let mut kept = 0;
        for unknown in 0..n {
            let is_kept = !is_dropped(unknown);
            new_place.push(is_kept.then_some(kept));
            kept += usize::from(is_kept);
        }
        let mut at = 0;
        self.unknowns.retain(|_| {
            at += 1;
            new_place[at - 1].is_some()
        });
        let mut declaration_place = Vec::with_capacity(self.declarations.len());
        let old = std::mem::take(&mut self.declarations);
        let mut n_kept = 0;
        for mut declared in old {
            let count: usize = declared.dims.iter().product();
            let mut stays = true;
            if declared.kind == DeclaredKind::Unknown && count > 0 {
                match new_place[declared.first] {
                    Some(first) => declared.first = first,
                    None => stays = false,
                }
            }
            declaration_place.push(stays.then_some(n_kept));
            if stays {
                n_kept += 1;
                self.declarations.push(declared);
            }
        }
        let place = |declaration: usize| declaration_place[declaration].unwrap_or(0);
        for parameter in &mut self.parameters {
            parameter.declaration = place(parameter.declaration);
        }
        for input in &mut self.inputs {
            input.declaration = place(input.declaration);
        }
        for unknown in &mut self.unknowns {
            unknown.declaration = place(unknown.declaration);
        }
        let bindings = std::mem::take(&mut self.bindings);
        for (unknown, expr) in bindings {
            if let Some(new) = new_place[unknown] {
                self.bindings.insert(new, expr);
            }
        }
        self.symbols.renumber_unknowns(&new_place);
    }
}

/// An augmenting path of the matching between equations and variables.
fn augment(
    start: usize,
    sides: &[Vec<(usize, ExprId)>],
    matched: &mut HashMap<usize, usize>,
    visited: &mut [bool],
) -> bool {
    // The path is explicit: chains of connections are long.
    let mut path: Vec<(usize, usize)> = vec![(start, 0)];
    visited[start] = true;
    while let Some(&mut (equation, ref mut next)) = path.last_mut() {
        let Some(&(unknown, _)) = sides[equation].get(*next) else {
            path.pop();
            continue;
        };
        *next += 1;
        match matched.get(&unknown).copied() {
            None => {
                // Every equation on the path takes the variable it was looking at.
                for &(on, next) in &path {
                    matched.insert(sides[on][next - 1].0, on);
                }
                return true;
            }
            Some(other) if !visited[other] => {
                visited[other] = true;
                path.push((other, 0));
            }
            Some(_) => {}
        }
    }
    false
}
