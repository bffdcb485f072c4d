//! Clocks: which variables tick together, when, and what becomes of their equations (`docs/theory/hybrid.md`, section 6).
//!
//! An operator of clocks is a stand-in while equations are read. Afterwards the clocks are inferred, and every clocked
//! variable is one that a `when` on its clock assigns.

use super::discrete::{DiscreteEquation, Own};
use super::equation::Section;
use super::value::Value;
use super::{Checked, Elaborator};
use crate::ast::AstId;
use crate::diagnostic::{Code, Diagnostic};
use crate::hybrid::Rule;
use crate::model::{self, Symbol, Type};
use crate::source::Span;
use daelight_expr::{BinaryOp, ExprId, UnaryOp};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The instants `start + n*interval`.
#[derive(Clone, Copy)]
struct Ticks {
    start: f64,
    interval: f64,
}

/// From the clock of the argument to that of the result: `interval*factor`, later by `shift` intervals of the argument.
#[derive(Clone, Copy)]
struct Change {
    factor: f64,
    shift: f64,
}

impl Change {
    fn of(self, ticks: Ticks) -> Ticks {
        Ticks {
            start: ticks.start + self.shift * ticks.interval,
            interval: ticks.interval * self.factor,
        }
    }

    fn before(self, ticks: Ticks) -> Ticks {
        let interval = ticks.interval / self.factor;
        Ticks {
            start: ticks.start - self.shift * interval,
            interval,
        }
    }
}

/// What a stand-in is.
#[derive(Clone, Copy)]
enum Operator {
    /// `sample(u)`; the clock may be told.
    Sample(Option<ExprId>),
    Hold,
    /// `subSample` and its relatives; how the clocks differ may be left to inference.
    Convert(Option<Change>),
    Interval,
    /// `firstTick(u)`: whether the clock ticks for the first time.
    First,
    /// `Clock()` takes the clock of what stands with it.
    Inferred,
    Periodic(Ticks),
    /// `Clock(c)`: a clock again, or a condition that makes one.
    Of,
}

struct Operation {
    operator: Operator,
    argument: ExprId,
    span: Span,
}

#[derive(Default)]
pub(super) struct Clocks {
    /// Operators, by the unknowns that stand for them.
    operations: BTreeMap<usize, Operation>,
    /// Variables that `previous` is taken of.
    previous: BTreeSet<usize>,
}

/// When a set of clocked variables ticks.
#[derive(Clone, Copy)]
enum Clock {
    Ticks(Ticks),
    Condition(ExprId),
}

/// Sets of unknowns that tick together.
#[derive(Default)]
struct Sets {
    parent: HashMap<usize, usize>,
}

impl Sets {
    fn contains(&self, unknown: usize) -> bool {
        self.parent.contains_key(&unknown)
    }

    fn root(&mut self, unknown: usize) -> usize {
        let mut at = unknown;
        while let Some(&next) = self.parent.get(&at)
            && next != at
        {
            at = next;
        }
        self.parent.insert(unknown, at);
        self.parent.entry(at).or_insert(at);
        at
    }

    fn join(&mut self, unknowns: &[usize]) {
        let Some((&first, rest)) = unknowns.split_first() else {
            return;
        };
        for &other in rest {
            let (a, b) = (self.root(first), self.root(other));
            self.parent.insert(b, a);
        }
        self.root(first);
    }
}

impl<'a> Elaborator<'a> {
    /// The operators of clocks.
    pub(super) fn clock_call(
        &mut self,
        name: &str,
        positional: &[AstId],
        span: Span,
    ) -> Checked<Option<Value>> {
        let operator = match (name, positional) {
            ("sample" | "hold" | "noClock" | "interval" | "previous" | "firstTick", [_])
            | ("Clock", _) => None,
            ("firstTick", []) => return Ok(Some(self.clock_stand_in(Operator::First, span))),
            ("interval", []) => return Ok(Some(self.clock_stand_in(Operator::Interval, span))),
            ("subSample" | "superSample", [_]) => Some(Operator::Convert(None)),
            ("subSample" | "superSample" | "shiftSample" | "backSample", [_, rest @ ..]) => {
                Some(Operator::Convert(self.change(name, rest)?))
            }
            _ => return Ok(None),
        };
        let [first, ..] = positional else {
            return Ok(Some(self.clock_stand_in(Operator::Inferred, span)));
        };
        let value = self.eval(*first)?;
        if let ("sample", &[element]) = (name, value.elements())
            && let Some(interval) = self.graph.as_constant(element)
        {
            let number = daelight_expr::number(interval);
            return Err(self.error(
                Diagnostic::error(
                    Code::WrongArity,
                    span,
                    "`sample` takes a start and an interval",
                )
                .label("one number was given")
                .help(format!(
                    "write `sample(0, {number})` for every {number} seconds"
                )),
            ));
        }
        let operator = match (operator, name) {
            (Some(operator), _) => operator,
            (None, "sample") => Operator::Sample(None),
            (None, "hold" | "noClock") => Operator::Hold,
            (None, "interval") => Operator::Interval,
            (None, "firstTick") => Operator::First,
            (None, "previous") => {
                for &element in value.elements() {
                    let symbol = self.graph.as_symbol(element).map(|id| self.symbols.get(id));
                    if let Some(Symbol::Unknown { unknown, order: 0 }) = symbol {
                        self.clocks.previous.insert(unknown);
                    }
                }
                return self.past("pre", &value, span).map(Some);
            }
            _ if value.ty() == Some(Type::Boolean) => Operator::Of,
            _ => {
                let ticks = self.periodic(&value, positional.get(1), span)?;
                return Ok(Some(self.clock_stand_in(Operator::Periodic(ticks), span)));
            }
        };
        Ok(Some(self.clock_value(operator, &value, span)))
    }

    /// `sample(u, clock)`.
    pub(super) fn clocked_sample(
        &mut self,
        u: &Value,
        clock: &Value,
        span: Span,
    ) -> Checked<Value> {
        let clock = self.scalar(clock, span)?;
        Ok(self.clock_value(Operator::Sample(Some(clock)), u, span))
    }

    fn periodic(&mut self, first: &Value, second: Option<&AstId>, span: Span) -> Checked<Ticks> {
        let counter = self.scalar(first, span)?;
        let counter = self.known_scalar(counter, "the interval of a clock", span)?;
        let resolution = match second {
            Some(&second) => self.eval_known(second, "the resolution of a clock")?,
            None => 1.0,
        };
        let interval = counter / resolution;
        if !(interval > 0.0 && interval.is_finite()) {
            return Err(self.error(
                Diagnostic::error(
                    Code::BadValue,
                    span,
                    format!("the interval of a clock is {interval}"),
                )
                .help("give it a positive interval"),
            ));
        }
        Ok(Ticks {
            start: 0.0,
            interval,
        })
    }

    /// How a conversion changes a clock; `None` where the text leaves the factor to inference.
    fn change(&mut self, name: &str, numbers: &[AstId]) -> Checked<Option<Change>> {
        let mut known = Vec::with_capacity(numbers.len());
        for &number in numbers {
            known.push(self.eval_known(number, "how a clock is converted")?);
        }
        let first = known.first().copied().unwrap_or(0.0);
        let shift = first / known.get(1).copied().unwrap_or(1.0);
        let plain = Change {
            factor: 1.0,
            shift: 0.0,
        };
        Ok(match name {
            "shiftSample" => Some(Change { shift, ..plain }),
            "backSample" => Some(Change {
                shift: -shift,
                ..plain
            }),
            _ if first < 1.0 => None,
            "subSample" => Some(Change {
                factor: first,
                ..plain
            }),
            _ => Some(Change {
                factor: 1.0 / first,
                ..plain
            }),
        })
    }

    fn clock_stand_in(&mut self, operator: Operator, span: Span) -> Value {
        let nothing = self.graph.constant(0.0);
        self.clock_value(operator, &Value::Scalar(Type::Boolean, nothing), span)
    }

    /// Stand-ins for an operator, element by element.
    fn clock_value(&mut self, operator: Operator, value: &Value, span: Span) -> Value {
        let ty = match operator {
            Operator::Interval => Type::Real,
            Operator::First => Type::Boolean,
            _ => value.ty().unwrap_or(Type::Real),
        };
        let mut data = Vec::with_capacity(value.elements().len());
        for &argument in value.elements() {
            let unknown = self.stand_in(model::shorten(&self.slice(span), 60));
            let own = Own { ty, span };
            self.discrete.stand_ins.insert(unknown, own);
            let operation = Operation {
                operator,
                argument,
                span,
            };
            self.clocks.operations.insert(unknown, operation);
            data.push(self.unknown_symbol(unknown));
        }
        Value::shaped(ty, value.dims().to_vec(), data)
    }

    /// Gives every clocked variable its clock and the rule that goes with it.
    pub(super) fn settle_clocks(&mut self) {
        let is_used = !self.clocks.operations.is_empty() || !self.clocks.previous.is_empty();
        if !is_used || self.has_errors() {
            return;
        }
        let is_clock = self.clock_variables();
        let mut sets = Sets::default();
        let clocked = self.clocked_equations(&mut sets, &is_clock);
        let Some(clocks) = self.known_clocks(&mut sets, &is_clock) else {
            return;
        };
        let mut ticking = HashMap::new();
        for (&root, &clock) in &clocks {
            ticking.insert(root, self.ticking(root, clock));
        }
        self.replace_operators(&mut sets, &clocks, &ticking);
        self.rules_of_clocked(&clocked, &mut sets, &ticking, &is_clock);
    }

    fn unknown_of(&self, expr: ExprId) -> Option<usize> {
        match self.symbols.get(self.graph.as_symbol(expr)?) {
            Symbol::Unknown { unknown, order: 0 } => Some(unknown),
            _ => None,
        }
    }

    /// Unknowns that are clocks themselves: what `Clock` makes, and what is equal to it.
    fn clock_variables(&mut self) -> BTreeSet<usize> {
        let mut found: BTreeSet<usize> = BTreeSet::new();
        let mut pairs: Vec<(usize, usize)> = Vec::new();
        for (&stand_in, operation) in &self.clocks.operations {
            let argument = self.unknown_of(operation.argument);
            match operation.operator {
                Operator::Inferred | Operator::Periodic(_) | Operator::Of => {
                    found.insert(stand_in);
                }
                Operator::Sample(Some(clock)) => found.extend(self.unknown_of(clock)),
                Operator::Convert(_) => pairs.extend(argument.map(|of| (stand_in, of))),
                _ => {}
            }
        }
        for equation in &self.discrete.equations {
            let sides = (
                self.unknown_of(equation.left),
                self.unknown_of(equation.right),
            );
            if let (Some(a), Some(b)) = sides {
                pairs.push((a, b));
            }
        }
        loop {
            let before = found.len();
            for &(a, b) in &pairs {
                if found.contains(&a) || found.contains(&b) {
                    found.extend([a, b]);
                }
            }
            if found.len() == before {
                return found;
            }
        }
    }

    /// The variables in expressions that tick; `pre(v)` counts as v.
    fn ticking_in(&mut self, exprs: &[ExprId]) -> Vec<usize> {
        let mut found = BTreeSet::new();
        for id in self.walker.symbols(&self.graph, exprs) {
            let Symbol::Unknown { unknown, .. } = self.symbols.get(id) else {
                continue;
            };
            let operation = self.clocks.operations.get(&unknown);
            let is_held = operation.is_some_and(|o| matches!(o.operator, Operator::Hold));
            if is_held || self.discrete.settled.contains(&unknown) {
                continue;
            }
            let mut before = self.discrete.previous.iter();
            let of = before.find(|(_, (before, _))| *before == unknown);
            found.insert(of.map_or(unknown, |(&of, _)| of));
        }
        found.into_iter().collect()
    }

    /// Joins what ticks together; the numbers of the clocked equations, discrete ones counted behind the continuous.
    fn clocked_equations(
        &mut self,
        sets: &mut Sets,
        is_clock: &BTreeSet<usize>,
    ) -> BTreeSet<usize> {
        let continuous = self.equations.iter().map(|e| (e.left, e.right, true));
        let discrete = self.discrete.equations.iter();
        let discrete = discrete.map(|e| (e.left, e.right, e.section == Section::Equation));
        let sides: Vec<(ExprId, ExprId, bool)> = continuous.chain(discrete).collect();
        let mut open: Vec<(usize, Vec<usize>)> = Vec::new();
        for (at, (left, right, is_equation)) in sides.into_iter().enumerate() {
            if is_equation {
                open.push((at, self.ticking_in(&[left, right])));
            }
        }
        self.join_operators(sets, is_clock);
        self.join_whens(sets, is_clock);
        for &unknown in &self.clocks.previous {
            sets.root(unknown);
        }
        let mut clocked = BTreeSet::new();
        loop {
            let before = open.len();
            open.retain(|(at, unknowns)| {
                let ticks = unknowns.iter().any(|&unknown| sets.contains(unknown));
                if ticks {
                    sets.join(unknowns);
                    clocked.insert(*at);
                }
                !ticks
            });
            if open.len() == before {
                return clocked;
            }
        }
    }

    fn join_operators(&mut self, sets: &mut Sets, is_clock: &BTreeSet<usize>) {
        let operations = std::mem::take(&mut self.clocks.operations);
        for (&stand_in, operation) in &operations {
            let mut of_argument = self.ticking_in(&[operation.argument]);
            match operation.operator {
                Operator::Sample(clock) => {
                    let mut together = vec![stand_in];
                    if let Some(clock) = clock {
                        together.extend(self.ticking_in(&[clock]));
                    }
                    sets.join(&together);
                }
                Operator::Hold => sets.join(&of_argument),
                Operator::Convert(_) => {
                    sets.join(&of_argument);
                    sets.root(stand_in);
                }
                Operator::Of if !of_argument.iter().all(|of| is_clock.contains(of)) => {
                    sets.root(stand_in);
                }
                Operator::Interval | Operator::First | Operator::Of => {
                    of_argument.push(stand_in);
                    sets.join(&of_argument);
                }
                Operator::Inferred | Operator::Periodic(_) => {
                    sets.root(stand_in);
                }
            }
        }
        self.clocks.operations = operations;
    }

    /// What a `when` on a clock assigns and reads ticks with the clock.
    fn join_whens(&mut self, sets: &mut Sets, is_clock: &BTreeSet<usize>) {
        let mut clock_of: HashMap<usize, usize> = HashMap::new();
        for hidden in &self.discrete.hidden {
            if let Some(clock) = self.unknown_of(hidden.rule.expr())
                && is_clock.contains(&clock)
            {
                clock_of.insert(hidden.unknown, clock);
            }
        }
        let assigned = self.discrete.assigned.iter();
        let branches: Vec<(usize, ExprId, ExprId)> = assigned
            .flat_map(|(&unknown, it)| it.branches.iter().map(move |&(a, v)| (unknown, a, v)))
            .collect();
        for (unknown, active, value) in branches {
            let conditions = self.ticking_in(&[active]);
            let clock = conditions.iter().find_map(|on| clock_of.get(on));
            if let Some(&clock) = clock {
                let mut together = self.ticking_in(&[value]);
                together.extend([unknown, clock]);
                sets.join(&together);
            }
        }
    }

    /// The clock of every set, from those that are told and the conversions between them.
    fn known_clocks(
        &mut self,
        sets: &mut Sets,
        is_clock: &BTreeSet<usize>,
    ) -> Option<BTreeMap<usize, Clock>> {
        let mut known: BTreeMap<usize, Clock> = BTreeMap::new();
        let mut changes: Vec<(usize, usize, Change)> = Vec::new();
        let operations = std::mem::take(&mut self.clocks.operations);
        for (&stand_in, operation) in &operations {
            if matches!(operation.operator, Operator::Hold) {
                continue;
            }
            let root = sets.root(stand_in);
            let of_argument = self.ticking_in(&[operation.argument]);
            match operation.operator {
                Operator::Periodic(ticks) => {
                    known.insert(root, Clock::Ticks(ticks));
                }
                Operator::Of if !of_argument.iter().all(|of| is_clock.contains(of)) => {
                    known.insert(root, Clock::Condition(operation.argument));
                }
                Operator::Convert(Some(change)) => {
                    if let Some(&of) = of_argument.first() {
                        changes.push((sets.root(of), root, change));
                    }
                }
                _ => {}
            }
        }
        self.clocks.operations = operations;
        loop {
            let before = known.len();
            for &(from, to, change) in &changes {
                if let Some(&Clock::Ticks(ticks)) = known.get(&from) {
                    known.entry(to).or_insert(Clock::Ticks(change.of(ticks)));
                } else if let Some(&Clock::Ticks(ticks)) = known.get(&to) {
                    known
                        .entry(from)
                        .or_insert(Clock::Ticks(change.before(ticks)));
                }
            }
            if known.len() == before {
                break;
            }
        }
        self.check_clocks(sets, &known, &changes).then_some(known)
    }

    /// Reports sets without a clock, and conversions that contradict the clocks they join.
    fn check_clocks(
        &mut self,
        sets: &mut Sets,
        known: &BTreeMap<usize, Clock>,
        changes: &[(usize, usize, Change)],
    ) -> bool {
        for &(from, to, change) in changes {
            let fits = match (known.get(&from), known.get(&to)) {
                (Some(&Clock::Ticks(from)), Some(&Clock::Ticks(to))) => {
                    let wanted = change.of(from);
                    // A conversion rounds its start and its interval, those around it did so before.
                    let size = wanted.start.abs() + wanted.interval;
                    let near = |a: f64, b: f64| (a - b).abs() <= 8.0 * f64::EPSILON * size;
                    near(wanted.interval, to.interval) && near(wanted.start, to.start)
                }
                (None, None) => true,
                _ => false,
            };
            if !fits {
                let told = |clock: Option<&Clock>| match clock {
                    Some(Clock::Ticks(ticks)) => {
                        format!("{} + n*{}", ticks.start, ticks.interval)
                    }
                    _ => "a condition".to_string(),
                };
                let (one, other) = (told(known.get(&from)), told(known.get(&to)));
                let what = format!("a conversion joins clocks that do not fit: {one} and {other}");
                self.clock_error(to, &what);
                return false;
            }
        }
        let mut members: Vec<usize> = sets.parent.keys().copied().collect();
        members.sort_unstable();
        for unknown in members {
            let root = sets.root(unknown);
            if !known.contains_key(&root) {
                self.clock_error(unknown, "nothing tells this clock");
                return false;
            }
        }
        true
    }

    fn clock_error(&mut self, unknown: usize, what: &str) {
        let operation = self.clocks.operations.get(&unknown).map(|o| o.span);
        let variable = self.discrete.variables.get(&unknown).map(|own| own.span);
        let declared = &self.declarations[self.unknowns[unknown].declaration];
        let span = operation.or(variable).unwrap_or(declared.span);
        let name = self.unknowns[unknown].name.clone();
        self.error(
            Diagnostic::error(Code::Unsupported, span, format!("{what} (at `{name}`)"))
                .label("clocked")
                .help("give the set of variables one clock, as in `sample(u, Clock(0.1))`"),
        );
    }

    /// The truth that is there while a clock ticks, and the one that fires once.
    fn ticking(&mut self, root: usize, clock: Clock) -> (ExprId, ExprId) {
        let declared = &self.declarations[self.unknowns[root].declaration];
        let operation = self.clocks.operations.get(&root);
        let span = operation.map_or(declared.span, |operation| operation.span);
        let truth = match clock {
            Clock::Condition(condition) => condition,
            Clock::Ticks(ticks) => {
                let unknown = self.stand_in("sample".to_string());
                let start = self.graph.constant(ticks.start);
                let interval = self.graph.constant(ticks.interval);
                let sample = (unknown, start, interval, span);
                self.discrete.samples.push(sample);
                self.unknown_symbol(unknown)
            }
        };
        let rule = Rule::Expression(truth);
        let name = format!("clock of {}", self.unknowns[root].name);
        let hidden = self.hidden(name, Type::Boolean, rule, Some(false), span);
        let now = self.unknown_symbol(hidden);
        let before = self.previous_of(now, Type::Boolean, span);
        (truth, self.rises(now, before))
    }

    /// Puts what operators mean in their places.
    fn replace_operators(
        &mut self,
        sets: &mut Sets,
        clocks: &BTreeMap<usize, Clock>,
        ticking: &HashMap<usize, (ExprId, ExprId)>,
    ) {
        let operations = std::mem::take(&mut self.clocks.operations);
        let mut values: HashMap<usize, ExprId> = HashMap::new();
        for (&stand_in, operation) in &operations {
            let argument = self.put_in(&[operation.argument], &values)[0];
            let root = match operation.operator {
                Operator::Hold => stand_in,
                _ => sets.root(stand_in),
            };
            let value = match operation.operator {
                Operator::Sample(_) => match self.discrete_unknown(argument) {
                    // The value before the tick: what changes at the same instant is seen at the next one.
                    Some(unknown) if !sets.contains(unknown) => {
                        let ty = self.discrete.variables[&unknown].ty;
                        self.previous_of(argument, ty, operation.span)
                    }
                    _ => argument,
                },
                Operator::Hold | Operator::Convert(_) => argument,
                Operator::Interval => match clocks.get(&root) {
                    Some(Clock::Ticks(ticks)) => self.graph.constant(ticks.interval),
                    _ => {
                        self.clock_error(
                            stand_in,
                            "the interval of a clock that a condition makes is not known",
                        );
                        argument
                    }
                },
                Operator::First => match ticking.get(&root) {
                    Some(&(_, fires)) => self.first_tick(fires, operation.span),
                    None => argument,
                },
                Operator::Inferred | Operator::Periodic(_) | Operator::Of => {
                    ticking.get(&root).map_or(argument, |ticking| ticking.0)
                }
            };
            values.insert(stand_in, value);
        }
        self.clocks.operations = operations;
        self.replace_everywhere(&values);
    }

    /// Whether something that fires has not fired before.
    fn first_tick(&mut self, fires: ExprId, span: Span) -> ExprId {
        let name = "ticked".to_string();
        let never = Rule::Expression(fires);
        let ticked = self.hidden(name, Type::Boolean, never, None, span);
        let now = self.unknown_symbol(ticked);
        let before = self.previous_of(now, Type::Boolean, span);
        let rule = self.graph.binary(BinaryOp::Or, fires, before);
        if let Some(hidden) = self.discrete.hidden.last_mut() {
            hidden.rule = Rule::Expression(rule);
        }
        self.graph.unary(UnaryOp::Not, before)
    }

    /// Puts expressions in the place of unknowns, wherever these stand.
    fn replace_everywhere(&mut self, values: &HashMap<usize, ExprId>) {
        let mut roots: Vec<ExprId> = Vec::new();
        self.each_place(&mut |place| roots.push(*place));
        let relations: Vec<(ExprId, Span)> = self
            .discrete
            .relations
            .iter()
            .map(|(&e, &s)| (e, s))
            .collect();
        roots.extend(relations.iter().map(|(expr, _)| *expr));
        let mut images = self.put_in(&roots, values);
        let new_relations = images.split_off(images.len() - relations.len());
        for (image, (_, span)) in new_relations.into_iter().zip(relations) {
            self.discrete.relations.entry(image).or_insert(span);
        }
        let mut images = images.into_iter();
        self.each_place(&mut |place| {
            if let Some(image) = images.next() {
                *place = image;
            }
        });
        for at in 0..self.equations.len() {
            let (left, right) = (self.equations[at].left, self.equations[at].right);
            self.equations[at].residual = self.graph.sub(left, right);
        }
        for at in 0..self.initial_equations.len() {
            let equation = &self.initial_equations[at];
            let residual = self.graph.sub(equation.left, equation.right);
            self.initial_equations[at].residual = residual;
        }
    }

    /// Every expression that the model keeps.
    fn each_place(&mut self, visit: &mut dyn FnMut(&mut ExprId)) {
        for equation in self.equations.iter_mut().chain(&mut self.initial_equations) {
            visit(&mut equation.left);
            visit(&mut equation.right);
        }
        let discrete = &mut self.discrete;
        for equation in &mut discrete.equations {
            visit(&mut equation.left);
            visit(&mut equation.right);
        }
        for hidden in &mut discrete.hidden {
            match &mut hidden.rule {
                Rule::Expression(expr) | Rule::Floor(expr) => visit(expr),
            }
        }
        for assigned in discrete.assigned.values_mut() {
            for (active, value) in &mut assigned.branches {
                visit(active);
                visit(value);
            }
        }
        for reinit in &mut discrete.reinits {
            visit(&mut reinit.condition);
            visit(&mut reinit.value);
        }
        for check in &mut discrete.checks {
            visit(&mut check.condition);
            if let Some(guard) = &mut check.guard {
                visit(guard);
            }
        }
        for assertion in &mut self.assertions {
            visit(&mut assertion.condition);
        }
        for binding in self.bindings.values_mut() {
            visit(binding);
        }
    }

    /// Clocked equations as rules: a new value at each tick, the old one between them.
    fn rules_of_clocked(
        &mut self,
        clocked: &BTreeSet<usize>,
        sets: &mut Sets,
        ticking: &HashMap<usize, (ExprId, ExprId)>,
        is_clock: &BTreeSet<usize>,
    ) {
        let mut members: Vec<usize> = sets.parent.keys().copied().collect();
        members.sort_unstable();
        let hidden: BTreeSet<usize> = self.discrete.hidden.iter().map(|h| h.unknown).collect();
        members.retain(|unknown| {
            !hidden.contains(unknown) && !self.discrete.stand_ins.contains_key(unknown)
        });
        for &unknown in &members {
            self.make_discrete(unknown);
            self.bindings.remove(&unknown);
        }
        let of_clocks = |elaborator: &Self, left, right| {
            let sides = [elaborator.unknown_of(left), elaborator.unknown_of(right)];
            sides.iter().flatten().any(|side| is_clock.contains(side))
        };
        let n = self.equations.len();
        let mut taken: Vec<DiscreteEquation> = Vec::new();
        let mut kept = Vec::new();
        for (at, equation) in std::mem::take(&mut self.equations).into_iter().enumerate() {
            match clocked.contains(&at) {
                true => taken.push(DiscreteEquation {
                    left: equation.left,
                    right: equation.right,
                    span: equation.span,
                    section: Section::Equation,
                    instance: equation.instance,
                }),
                false => kept.push(equation),
            }
        }
        self.equations = kept;
        let mut kept = Vec::new();
        for (at, equation) in std::mem::take(&mut self.discrete.equations)
            .into_iter()
            .enumerate()
        {
            match clocked.contains(&(n + at)) {
                true if of_clocks(self, equation.left, equation.right) => {}
                true => taken.push(equation),
                false => kept.push(equation),
            }
        }
        self.discrete.equations = kept;
        for &unknown in members.iter().filter(|unknown| is_clock.contains(unknown)) {
            let symbol = self.unknown_symbol(unknown);
            let span = self.discrete.variables[&unknown].span;
            if let Some(&(truth, _)) = ticking.get(&sets.root(unknown)) {
                self.push_discrete(symbol, truth, span);
            }
        }
        if !self.has_clocked_derivative(&taken) {
            self.define_clocked(&taken, sets, ticking);
        }
    }

    /// Reports a derivative among clocked equations: solver methods of clocks are not read.
    fn has_clocked_derivative(&mut self, equations: &[DiscreteEquation]) -> bool {
        for equation in equations {
            let symbols = self
                .walker
                .symbols(&self.graph, &[equation.left, equation.right]);
            let is_rate = |&id: &_| matches!(self.symbols.get(id), Symbol::Unknown { order, .. } if order > 0);
            if symbols.iter().any(is_rate) {
                self.error(
                    Diagnostic::error(
                        Code::Unsupported,
                        equation.span,
                        "a derivative in a clocked equation is not supported",
                    )
                    .label("clocked")
                    .help("write the method out, as in `x = previous(x) + interval(x)*…`"),
                );
                return true;
            }
        }
        false
    }

    /// Which clocked equation defines which variable.
    fn define_clocked(
        &mut self,
        equations: &[DiscreteEquation],
        sets: &mut Sets,
        ticking: &HashMap<usize, (ExprId, ExprId)>,
    ) {
        let (definitions, left_over) = self.matched(equations);
        for at in left_over {
            self.error(
                Diagnostic::error(
                    Code::Unsupported,
                    equations[at].span,
                    format!(
                        "a clocked equation that has to be solved is not supported{}",
                        self.place()
                    ),
                )
                .label("defines no clocked variable that is still open")
                .help("write it as `name = …`"),
            );
        }
        let mut definitions: Vec<(usize, ExprId)> = definitions.into_iter().collect();
        definitions.sort_unstable();
        for (unknown, value) in definitions {
            let Own { ty, span } = self.discrete.variables[&unknown];
            let symbol = self.unknown_symbol(unknown);
            let before = self.previous_of(symbol, ty, span);
            if let Some(&(_, fires)) = ticking.get(&sets.root(unknown)) {
                let rule = self.choose(ty, fires, value, before, span);
                self.push_discrete(symbol, rule, span);
            }
        }
    }
}
