//! The part of a flat model that changes at events, as text: discrete variables, `when`, `reinit`, asserts.
//!
//! The rule of a variable that a `when` assigns reads the edges of hidden conditions; with one of them put to "fires" and the
//! earlier ones to "does not" it is the value in that branch. Section 1 of `docs/theory/hybrid.md`.

use super::{ArrayStyle, EXPRESSION_LIMIT, Writer, comment, list, string};
use crate::hybrid::{CheckKind, Hybrid, Rule};
use crate::model::{Model, Symbol, Type};
use daelight_expr::{BinaryOp, ExprId, Graph, Node, TooLong, Walker};
use std::collections::{BTreeSet, HashMap, HashSet};

/// How a parameter that is held between events is written.
enum Held {
    Name(String),
    Previous(String),
    /// A relation.
    Relation(ExprId),
    Floor(ExprId),
    Sample(ExprId, ExprId),
    Flag(&'static str),
}

/// Something that a branch of a `when` holds.
#[derive(Clone, PartialEq)]
enum Line {
    Assign {
        variable: usize,
        value: ExprId,
    },
    Reinit {
        condition: ExprId,
        unknown: ExprId,
        value: ExprId,
    },
    Check {
        check: usize,
        guard: ExprId,
        condition: ExprId,
    },
}

/// The branches of a `when`: the hidden conditions that fire them, and what they hold.
struct When {
    fired_by: Vec<usize>,
    branches: Vec<(Vec<usize>, Vec<Line>)>,
}

/// What changes at events, ready to be written.
pub(super) struct Discrete<'a> {
    hybrid: &'a Hybrid,
    held: HashMap<usize, Held>,
    whens: Vec<When>,
    /// Variables with an equation of their own.
    plain: Vec<usize>,
    /// Declarations of the model that stand for what is held.
    pub declarations: HashSet<usize>,
}

/// The model with expressions for the branches of its `when`s, and how to write it.
pub(super) fn discrete<'a>(
    model: &mut Model,
    hybrid: &'a Hybrid,
    style: ArrayStyle,
) -> Discrete<'a> {
    let mut found = Discrete {
        hybrid,
        held: held(model, hybrid, style),
        whens: Vec::new(),
        plain: Vec::new(),
        declarations: hybrid
            .held_parameters()
            .map(|p| model.parameters[p].declaration)
            .collect(),
    };
    let mut read = BTreeSet::new();
    for (at, variable) in hybrid.variables.iter().enumerate() {
        let Rule::Expression(rule) = variable.rule else {
            continue;
        };
        if variable.when.is_some() {
            continue;
        }
        let fired_by = found.conditions_in(model, &[rule]);
        let rests = found.fired(model, &[rule], &fired_by, None)[0];
        let is_kept = is_parameter(model, rests, variable.previous);
        if fired_by.is_empty() || !is_kept {
            found.plain.push(at);
            read.extend(fired_by);
            continue;
        }
        found.add(model, &[rule], fired_by, |exprs| Line::Assign {
            variable: at,
            value: exprs[0],
        });
    }
    for reinit in &hybrid.reinits {
        let fired_by = found.conditions_in(model, &[reinit.condition]);
        let exprs = [reinit.condition, reinit.value];
        found.add(model, &exprs, fired_by, |exprs| Line::Reinit {
            condition: exprs[0],
            unknown: reinit.unknown,
            value: exprs[1],
        });
    }
    for (at, check) in hybrid.checks.iter().enumerate() {
        let guard = check.guard.unwrap_or(check.condition);
        let fired_by = found.conditions_in(model, &[guard]);
        let exprs = [guard, check.condition];
        found.add(model, &exprs, fired_by, |exprs| Line::Check {
            check: at,
            guard: exprs[0],
            condition: exprs[1],
        });
    }
    // Conditions that are read outside their own branch have a name.
    for when in &found.whens {
        for (_, lines) in &when.branches {
            let exprs: Vec<ExprId> = lines.iter().flat_map(Line::exprs).collect();
            read.extend(found.conditions_in(model, &exprs));
        }
    }
    found.plain.extend(read);
    found.plain.sort_unstable();
    found
}

fn held(model: &Model, hybrid: &Hybrid, style: ArrayStyle) -> HashMap<usize, Held> {
    let mut all = HashMap::new();
    let mut taken: HashSet<String> = model.unknowns.iter().map(|u| u.name.clone()).collect();
    taken.extend(model.declarations.iter().map(|d| d.name.clone()));
    for variable in &hybrid.variables {
        let mut name = variable.name.clone();
        if variable.is_hidden {
            let mut n = 1;
            while !taken.insert(name.clone()) {
                n += 1;
                name = format!("{} ({n})", variable.name);
            }
        }
        let name = style.name(&name);
        all.insert(variable.previous, Held::Previous(name.clone()));
        all.insert(
            variable.parameter,
            match variable.rule {
                Rule::Floor(x) => Held::Floor(x),
                Rule::Expression(_) => Held::Name(name),
            },
        );
    }
    for relation in &hybrid.relations {
        all.insert(relation.parameter, Held::Relation(relation.expr));
    }
    for sample in &hybrid.samples {
        all.insert(
            sample.parameter,
            Held::Sample(sample.start, sample.interval),
        );
    }
    all.extend(hybrid.initial.map(|p| (p, Held::Flag("initial()"))));
    all.extend(hybrid.terminal.map(|p| (p, Held::Flag("terminal()"))));
    all
}

impl Line {
    fn exprs(&self) -> Vec<ExprId> {
        match *self {
            Line::Assign { value, .. } => vec![value],
            Line::Reinit {
                condition, value, ..
            } => vec![condition, value],
            Line::Check {
                guard, condition, ..
            } => vec![guard, condition],
        }
    }

    /// Whether it never happens.
    fn is_idle(&self, graph: &Graph) -> bool {
        match self {
            Line::Assign { .. } => false,
            Line::Reinit { condition, .. } => graph.as_constant(*condition) == Some(0.0),
            Line::Check { guard, .. } => graph.as_constant(*guard) == Some(0.0),
        }
    }
}

fn is_parameter(model: &Model, expr: ExprId, parameter: usize) -> bool {
    let symbol = model.graph.as_symbol(expr).map(|id| model.symbols.get(id));
    symbol == Some(Symbol::Parameter(parameter))
}

impl Discrete<'_> {
    /// The hidden conditions of `when`s that expressions read, in the order of the text.
    fn conditions_in(&self, model: &Model, exprs: &[ExprId]) -> Vec<usize> {
        let symbols = Walker::new().symbols(&model.graph, exprs);
        let read: HashSet<usize> = symbols
            .into_iter()
            .filter_map(|id| match model.symbols.get(id) {
                Symbol::Parameter(index) => Some(index),
                _ => None,
            })
            .collect();
        let variables = self.hybrid.variables.iter().enumerate();
        let mut found: Vec<usize> = variables
            .filter(|(_, v)| v.when.is_some())
            .filter(|(_, v)| read.contains(&v.parameter) || read.contains(&v.previous))
            .map(|(at, _)| at)
            .collect();
        found.sort_by_key(|&at| (self.hybrid.variables[at].span.start, at));
        found
    }

    /// Expressions where one of these conditions fires and those before it do not; without one, where none fires.
    fn fired(
        &self,
        model: &mut Model,
        exprs: &[ExprId],
        conditions: &[usize],
        fires: Option<usize>,
    ) -> Vec<ExprId> {
        let mut values: HashMap<usize, f64> = HashMap::new();
        for &at in conditions {
            let variable = &self.hybrid.variables[at];
            let is_it = fires == Some(at);
            values.insert(variable.parameter, f64::from(u8::from(is_it)));
            values.insert(variable.previous, 0.0);
            if is_it {
                break;
            }
        }
        let symbols = &model.symbols;
        model
            .graph
            .substitute(exprs, |graph, id| match symbols.get(id) {
                Symbol::Parameter(index) => values.get(&index).map(|v| graph.constant(*v)),
                _ => None,
            })
    }

    /// Adds what happens where conditions fire, to the `when` of the same conditions if there is one.
    fn add(
        &mut self,
        model: &mut Model,
        exprs: &[ExprId],
        fired_by: Vec<usize>,
        line: impl Fn(&[ExprId]) -> Line,
    ) {
        let known = self.whens.iter().position(|when| when.fired_by == fired_by);
        let place = known.unwrap_or_else(|| {
            self.whens.push(When {
                branches: fired_by.iter().map(|&at| (vec![at], Vec::new())).collect(),
                fired_by: fired_by.clone(),
            });
            self.whens.len() - 1
        });
        for (k, &at) in fired_by.iter().enumerate() {
            let exprs = self.fired(model, exprs, &fired_by, Some(at));
            let line = line(&exprs);
            if !line.is_idle(&model.graph) {
                self.whens[place].branches[k].1.push(line);
            }
        }
    }
}

impl Writer<'_> {
    /// Declares what is discrete.
    pub(super) fn discrete_declarations(&mut self) -> Result<(), TooLong> {
        let Some(discrete) = self.discrete else {
            return Ok(());
        };
        let mut hidden = Vec::new();
        for (at, variable) in discrete.hybrid.variables.iter().enumerate() {
            let Some(Held::Name(name)) = discrete.held.get(&variable.parameter) else {
                continue;
            };
            if variable.is_hidden {
                if discrete.plain.contains(&at) {
                    hidden.push(format!("  {} {name};\n", variable.ty.word()));
                }
                continue;
            }
            let start = self.model.parameters[variable.parameter].definition;
            let mut items = vec![format!("start = {}", self.typed(start, variable.ty)?)];
            if variable.is_fixed {
                items.push("fixed = true".to_string());
            }
            let prefix = match variable.ty {
                Type::Real => "discrete ",
                _ => "",
            };
            let line = format!("  {prefix}{} {name}{};\n", variable.ty.word(), list(&items));
            self.text.push_str(&line);
        }
        if !hidden.is_empty() {
            if self.style != ArrayStyle::Base {
                self.text.push_str("protected\n");
            }
            self.text.push_str(&hidden.concat());
        }
        Ok(())
    }

    /// Start values of discrete variables, as initial equations.
    pub(super) fn discrete_starts(&mut self) -> Result<(), TooLong> {
        let Some(discrete) = self.discrete else {
            return Ok(());
        };
        let mut seen = HashSet::new();
        for &(at, start) in &discrete.hybrid.starts {
            let variable = &discrete.hybrid.variables[at];
            if let Some(Held::Previous(name)) = discrete.held.get(&variable.previous)
                && !variable.is_hidden
                && seen.insert((at, start))
            {
                let line = format!("  pre({name}) = {};\n", self.typed(start, variable.ty)?);
                self.text.push_str(&line);
            }
        }
        Ok(())
    }

    /// Equations of discrete variables, and what happens at events.
    pub(super) fn discrete_equations(&mut self) -> Result<(), TooLong> {
        for assertion in self.model.assertions.iter().chain(&self.model.demands) {
            let condition = self.typed(assertion.condition, Type::Boolean)?;
            let level = match assertion.is_error {
                true => "",
                false => ", AssertionLevel.warning",
            };
            let text = string(&assertion.text);
            let line = format!("  assert({condition}, {text}{level});\n");
            self.text.push_str(&line);
        }
        let Some(discrete) = self.discrete else {
            return Ok(());
        };
        for &at in &discrete.plain {
            let variable = &discrete.hybrid.variables[at];
            if let Some(Held::Name(name)) = discrete.held.get(&variable.parameter) {
                let value = self.typed(variable.rule.expr(), variable.ty)?;
                let line = format!("  {name} = {value}{};\n", comment(""));
                self.text.push_str(&line);
            }
        }
        for when in &discrete.whens {
            self.when(when)?;
        }
        Ok(())
    }

    fn when(&mut self, when: &When) -> Result<(), TooLong> {
        let Some(discrete) = self.discrete else {
            return Ok(());
        };
        let mut branches: Vec<(Vec<usize>, &[Line])> = Vec::new();
        for (conditions, lines) in &when.branches {
            match branches.last_mut() {
                Some((before, same)) if *same == &lines[..] => before.extend(conditions),
                _ => branches.push((conditions.clone(), lines)),
            }
        }
        // What nothing follows is no branch.
        while branches.last().is_some_and(|(_, lines)| lines.is_empty()) {
            branches.pop();
        }
        for (k, (conditions, lines)) in branches.iter().enumerate() {
            let mut texts = Vec::with_capacity(conditions.len());
            for &at in conditions {
                let rule = discrete.hybrid.variables[at].rule.expr();
                texts.push(self.typed(rule, Type::Boolean)?);
            }
            let condition = match &texts[..] {
                [one] => one.clone(),
                all => format!("{{{}}}", all.join(", ")),
            };
            let word = if k == 0 { "when" } else { "elsewhen" };
            self.text.push_str(&format!("  {word} {condition} then\n"));
            for line in *lines {
                self.line(line)?;
            }
        }
        if !branches.is_empty() {
            self.text.push_str("  end when;\n");
        }
        Ok(())
    }

    fn line(&mut self, line: &Line) -> Result<(), TooLong> {
        let Some(discrete) = self.discrete else {
            return Ok(());
        };
        let (condition, said) = match *line {
            Line::Assign { variable, value } => {
                let variable = &discrete.hybrid.variables[variable];
                let Some(Held::Name(name)) = discrete.held.get(&variable.parameter) else {
                    return Ok(());
                };
                (
                    None,
                    format!("{name} = {}", self.typed(value, variable.ty)?),
                )
            }
            Line::Reinit {
                condition,
                unknown,
                value,
            } => {
                let (name, value) = (self.expression(unknown)?, self.expression(value)?);
                (Some(condition), format!("reinit({name}, {value})"))
            }
            Line::Check {
                check,
                guard,
                condition,
            } => {
                let check = &discrete.hybrid.checks[check];
                let message = string(&check.message);
                let said = match check.kind {
                    CheckKind::Terminate => format!("terminate({message})"),
                    kind => {
                        let level = match kind {
                            CheckKind::Warning => ", AssertionLevel.warning",
                            _ => "",
                        };
                        let condition = self.typed(condition, Type::Boolean)?;
                        format!("assert({condition}, {message}{level})")
                    }
                };
                (Some(guard), said)
            }
        };
        let open = condition.filter(|&c| self.model.graph.as_constant(c).is_none());
        match open {
            Some(condition) => {
                let condition = self.typed(condition, Type::Boolean)?;
                let text = format!("    if {condition} then\n      {said};\n    end if;\n");
                self.text.push_str(&text);
            }
            None => self.text.push_str(&format!("    {said};\n")),
        }
        Ok(())
    }

    /// A value of a type.
    pub(super) fn typed(&self, expr: ExprId, ty: Type) -> Result<String, TooLong> {
        let graph = &self.model.graph;
        let symbol = graph.as_symbol(expr).map(|id| self.model.symbols.get(id));
        let held = self.discrete.map(|discrete| &discrete.held);
        let held = held.zip(symbol).and_then(|(held, symbol)| match symbol {
            Symbol::Parameter(index) => held.get(&index),
            _ => None,
        });
        match (ty, graph.as_constant(expr), held) {
            (Type::Boolean, Some(value), _) => Ok((value != 0.0).to_string()),
            (_, _, Some(Held::Relation(relation))) => self.expression(*relation),
            _ => self.expression(expr),
        }
    }

    /// A part of an expression.
    fn inner(&self, expr: ExprId) -> String {
        let written = self.expression(expr);
        if written.is_err() {
            self.is_too_long.set(true);
        }
        written.unwrap_or_default()
    }

    /// Writes a call of `delay`; false for other inputs.
    pub(super) fn delayed(&self, input: usize, text: &mut String) -> bool {
        let mut delays = self.discrete.iter().flat_map(|d| &d.hybrid.delays);
        let Some(delay) = delays.find(|delay| delay.input == input) else {
            return false;
        };
        let (what, by) = (self.inner(delay.expr), self.inner(delay.by));
        text.push_str(&format!("delay({what}, {by})"));
        true
    }

    /// Writes what is held between events; false for other parameters.
    pub(super) fn held_symbol(&self, parameter: usize, text: &mut String) -> bool {
        let held = self
            .discrete
            .and_then(|discrete| discrete.held.get(&parameter));
        let Some(held) = held else {
            return false;
        };
        let written = match held {
            Held::Name(name) => name.clone(),
            Held::Previous(name) => format!("pre({name})"),
            Held::Relation(expr) => format!("({})", self.inner(*expr)),
            Held::Floor(x) => format!("floor({})", self.inner(*x)),
            Held::Sample(start, interval) => {
                format!("sample({}, {})", self.inner(*start), self.inner(*interval))
            }
            Held::Flag(name) => (*name).to_string(),
        };
        text.push_str(&written);
        true
    }

    /// Whether an expression is a relation of unknowns that makes no event.
    fn is_quiet(&self, expr: ExprId) -> bool {
        let Node::Binary(op, ..) = self.model.graph.node(expr) else {
            return false;
        };
        let is_relation = !matches!(
            op,
            BinaryOp::Add
                | BinaryOp::Sub
                | BinaryOp::Mul
                | BinaryOp::Div
                | BinaryOp::Pow
                | BinaryOp::Atan2
                | BinaryOp::Min
                | BinaryOp::Max
                | BinaryOp::And
                | BinaryOp::Or
        );
        let is_held = |discrete: &Discrete<'_>| {
            let mut held = discrete.held.values();
            held.any(|held| matches!(held, Held::Relation(known) if *known == expr))
        };
        is_relation
            && self.discrete.is_some_and(|discrete| !is_held(discrete))
            && Walker::new()
                .symbols(&self.model.graph, &[expr])
                .into_iter()
                .any(|id| matches!(self.model.symbols.get(id), Symbol::Unknown { .. }))
    }

    /// An expression as text, relations that make no event as such.
    pub(super) fn expression(&self, expr: ExprId) -> Result<String, TooLong> {
        let graph = &self.model.graph;
        let text = graph.modelica_quiet(
            expr,
            EXPRESSION_LIMIT,
            |id| self.is_quiet(id),
            |id, text| self.symbol(id, text),
        )?;
        match self.is_too_long.get() {
            true => Err(TooLong),
            false => Ok(text),
        }
    }
}
