//! `while`: repeated as often as parameters say, searched through as often as an array has elements, or solved for what it
//! converges to (`docs/theory/components.md`, section 7).

use super::End;
use super::local::{Local, Numbers};
use crate::ast::{AstId, Expr, Statement, StatementKind};
use crate::elaborate::value::Value;
use crate::elaborate::{Checked, Elaborator};
use crate::model::Type;
use crate::source::Span;
use daelight_expr::{BinaryOp, ExprId, Node, UnaryOp};

/// What there was before a loop.
struct Before {
    frame: Option<super::Frame>,
    n_errors: usize,
    n_unknowns: usize,
    n_declarations: usize,
    n_equations: usize,
    n_solved_loops: usize,
}

/// A loop in whose place stands what it converges to.
pub(in crate::elaborate) struct SolvedLoop {
    /// The unknowns for its numbers, what they are before it, and what a round makes of them.
    pub unknowns: Vec<usize>,
    pub starts: Vec<ExprId>,
    pub round: Vec<ExprId>,
    /// Whether it is entered, and whether it goes on after a round.
    pub enters: ExprId,
    pub goes_on: ExprId,
    /// Whether a branch around the call decides that it is needed.
    pub is_conditional: bool,
    pub span: Span,
}

impl<'a> Elaborator<'a> {
    pub(super) fn repeat(&mut self, condition: AstId, body: &'a [Statement]) -> Checked<End> {
        // At an event a loop is run with numbers: its conditions are what they are there.
        let quiet = usize::from(self.discrete.in_body);
        self.repeating += 1;
        self.discrete.quiet += quiet;
        let end = self.repeat_inside(condition, body);
        self.discrete.quiet -= quiet;
        self.repeating -= 1;
        end
    }

    fn repeat_inside(&mut self, condition: AstId, body: &'a [Statement]) -> Checked<End> {
        let span = self.ast.span(condition);
        loop {
            self.step(1, span)?;
            let expr = self.eval_condition(condition)?;
            let Some(holds) = self.known(expr) else {
                return self.repeat_open(condition, expr, body);
            };
            if holds == 0.0 {
                return Ok(End::Through);
            }
            match self.statements(body)? {
                End::Through => {}
                End::Break => return Ok(End::Through),
                End::Return => return Ok(End::Return),
                End::Perhaps(_) => return Err(self.left_perhaps(span)),
            }
        }
    }

    /// Whether a condition is settled before the run; within a `while` that repeats as parameters say, by all of them.
    pub(in crate::elaborate) fn settled(&mut self, condition: ExprId) -> Option<bool> {
        match self.repeating {
            0 => self.decided(condition),
            _ => self.known(condition).map(|holds| holds != 0.0),
        }
    }

    /// A loop that repeats as often as variables say.
    fn repeat_open(
        &mut self,
        condition: AstId,
        holds: ExprId,
        body: &'a [Statement],
    ) -> Checked<End> {
        let mut names = Vec::new();
        self.names_assigned(body, &mut names);
        let frame = self.frame.as_ref();
        let is_whole = |name: &&str| {
            let local = frame.and_then(|frame| frame.locals.get(*name));
            matches!(local, Some(Local::Numbers(numbers)) if numbers.ty != Type::Real)
        };
        if names.iter().all(is_whole) {
            return self.write_out(condition, holds, body, &names);
        }
        if self.converge(condition, holds, body, &names) {
            return Ok(End::Through);
        }
        // Rounds that converge have the value of what they converge to, and not its derivatives: along a motion they would be wrong.
        if self.discrete.in_body {
            let before = self.before_loop();
            let n_unknowns = self.unknowns.len();
            let end = self.write_out(condition, holds, body, &names);
            // What is solved for inside would be solved for in every round.
            if end.is_ok() && self.unknowns.len() == n_unknowns {
                return Ok(End::Through);
            }
            self.take_back(before);
        }
        self.forget(&names, self.ast.span(condition));
        Ok(End::Through)
    }

    fn before_loop(&self) -> Before {
        Before {
            frame: self.frame.clone(),
            n_errors: self.diagnostics.len(),
            n_unknowns: self.unknowns.len(),
            n_declarations: self.declarations.len(),
            n_equations: self.equations.len(),
            n_solved_loops: self.solved_loops.len(),
        }
    }

    /// A loop that is not understood reports nothing but itself, and leaves nothing behind.
    fn take_back(&mut self, before: Before) {
        self.frame = before.frame;
        self.diagnostics.truncate(before.n_errors);
        self.unknowns.truncate(before.n_unknowns);
        self.declarations.truncate(before.n_declarations);
        self.equations.truncate(before.n_equations);
        self.solved_loops.truncate(before.n_solved_loops);
    }

    /// A loop round by round, each behind its condition: as many rounds as the longest array has elements, and at events 64, which no bisection
    /// of numbers exceeds; and, where elements are read at places that vary, no more than write out so many numbers 64 times. A loop that goes
    /// on after that gives nothing: a run that needs its result ends there.
    fn write_out(
        &mut self,
        condition: AstId,
        mut holds: ExprId,
        body: &'a [Statement],
        names: &[&'a str],
    ) -> Checked<End> {
        let span = self.ast.span(condition);
        let locals = self.frame.iter().flat_map(|frame| frame.locals.values());
        let longest = locals.flat_map(Local::dims).max().unwrap_or(0);
        let longest = longest.max(if self.discrete.in_body { 64 } else { 0 });
        let most_nodes = self.graph.len() + 64 * longest;
        let mut left = Vec::new();
        let mut ends = false;
        for _ in 0..=longest {
            left.push((holds, self.frame.clone()));
            match self.statements(body)? {
                End::Through => {}
                _ => return Err(self.left_perhaps(span)),
            }
            holds = self.eval_condition(condition)?;
            ends = self.known(holds) == Some(0.0);
            if ends || self.graph.len() > most_nodes {
                break;
            }
        }
        if !ends {
            let before = self.frame.clone();
            self.forget(names, span);
            let beyond = std::mem::replace(&mut self.frame, before);
            self.merge_frames(holds, beyond, span);
        }
        for (holds, frame) in left.into_iter().rev() {
            let further = std::mem::replace(&mut self.frame, frame);
            self.merge_frames(holds, further, span);
        }
        Ok(End::Through)
    }

    /// A loop of Newton's kind, x := x - step(x) until |e| is small, where the step is made of e: what it converges to is the
    /// x whose step is zero. False for any other loop, which leaves nothing behind.
    fn converge(
        &mut self,
        condition: AstId,
        enters: ExprId,
        body: &'a [Statement],
        names: &[&'a str],
    ) -> bool {
        let span = self.ast.span(condition);
        let before = self.before_loop();
        let mut carried = Vec::new();
        for &name in names {
            let local = self.frame.as_ref().and_then(|frame| frame.locals.get(name));
            if let Some(Local::Numbers(numbers)) = local
                && numbers.ty == Type::Real
                && numbers.dims.is_empty()
                && let [Some(start)] = numbers.elements[..]
            {
                carried.push((name, start));
            }
        }
        let mut symbols = Vec::with_capacity(carried.len());
        for &(name, start) in &carried {
            let symbol = self.new_implicit(name, start, span);
            self.set_number(name, symbol);
            symbols.push(symbol);
        }
        let end = self.statements(body);
        let after = self.eval_condition(condition);
        let steps: Vec<Option<ExprId>> = carried
            .iter()
            .map(|&(name, _)| self.number_of(name))
            .collect();
        let goes_on = match (end, after) {
            (Ok(End::Through), Ok(after)) if self.leaves_where_small(after, &symbols, &steps) => {
                after
            }
            _ => {
                self.take_back(before);
                return false;
            }
        };
        let round = symbols.iter().zip(&steps);
        let round = round.map(|(&symbol, step)| step.unwrap_or(symbol));
        self.solved_loops.push(SolvedLoop {
            unknowns: (before.n_unknowns..before.n_unknowns + symbols.len()).collect(),
            starts: carried.iter().map(|&(_, start)| start).collect(),
            round: round.collect(),
            enters,
            goes_on,
            is_conditional: !self.path.is_empty(),
            span,
        });
        for ((&(name, start), &symbol), step) in carried.iter().zip(&symbols).zip(steps) {
            self.require_implicit(symbol, step.unwrap_or(symbol), start, span);
            self.set_number(name, symbol);
        }
        true
    }

    /// Whether a loop with the condition `holds` ends where |e| is small, with e in each of the steps.
    fn leaves_where_small(
        &mut self,
        holds: ExprId,
        symbols: &[ExprId],
        after: &[Option<ExprId>],
    ) -> bool {
        let mut small = Vec::new();
        for id in self.walker.reachable(&self.graph, &[holds]).to_vec() {
            if let Node::Binary(
                BinaryOp::Less | BinaryOp::LessEqual | BinaryOp::Greater | BinaryOp::GreaterEqual,
                a,
                b,
            ) = self.graph.node(id)
            {
                for side in [a, b] {
                    if let Node::Unary(UnaryOp::Abs, e) = self.graph.node(side) {
                        // A relative error is small where the error is.
                        small.push(match self.graph.node(e) {
                            Node::Binary(BinaryOp::Div, e, _) => e,
                            _ => e,
                        });
                    }
                }
            }
        }
        let mut steps = Vec::new();
        for (&symbol, after) in symbols.iter().zip(after) {
            let Some(after) = *after else {
                return false;
            };
            self.steps_in(symbol, after, &mut steps);
        }
        let is_made_of = |elaborator: &mut Self, step: &ExprId| {
            let below = elaborator.walker.reachable(&elaborator.graph, &[*step]);
            small.iter().any(|e| below.contains(e))
        };
        !steps.is_empty() && !small.is_empty() && {
            let steps = steps;
            steps.iter().all(|step| is_made_of(self, step))
        }
    }

    /// The steps s of `symbol ± s` in the branches of an expression.
    fn steps_in(&self, symbol: ExprId, after: ExprId, steps: &mut Vec<ExprId>) {
        let mut pending = vec![after];
        let mut seen = std::collections::HashSet::new();
        while let Some(id) = pending.pop() {
            if !seen.insert(id) {
                continue;
            }
            match self.graph.node(id) {
                Node::Select(_, a, b) => pending.extend([a, b]),
                Node::Binary(BinaryOp::Sub | BinaryOp::Add, a, b) if a == symbol => steps.push(b),
                _ => {}
            }
        }
    }

    fn number_of(&self, name: &str) -> Option<ExprId> {
        match self.frame.as_ref()?.locals.get(name)? {
            Local::Numbers(numbers) => numbers.elements.first().copied().flatten(),
            _ => None,
        }
    }

    fn set_number(&mut self, name: &str, value: ExprId) {
        let frame = self.frame.as_mut();
        if let Some(Local::Numbers(numbers)) = frame.and_then(|frame| frame.locals.get_mut(name)) {
            numbers.elements = vec![Some(value)];
        }
    }

    /// Takes the values of locals away that a loop assigns.
    fn forget(&mut self, names: &[&'a str], span: Span) {
        let nothing = self.nothing(span);
        let Some(frame) = &mut self.frame else {
            return;
        };
        for &name in names {
            if let Some(local) = frame.locals.get_mut(name) {
                local.fill(nothing);
            }
        }
    }

    /// A number that has no value: a run that needs it ends there, at this place.
    pub(in crate::elaborate) fn nothing(&mut self, span: Span) -> ExprId {
        // Each place has a number of its own.
        let place = 2.0 + f64::from(span.start) + f64::from(span.source.0) * f64::from(u32::MAX);
        let below = self.graph.constant(-place);
        let nothing = self.graph.unary(UnaryOp::Sqrt, below);
        self.mark(nothing, span)
    }

    /// What a path through the function being run did not assign; each function has a number of its own.
    pub(in crate::elaborate) fn unassigned(&mut self) -> ExprId {
        let function = self.calls.last().map_or(0, |node| node.0);
        let below = self
            .graph
            .constant(-1.0 - 1.0 / (2.0 + f64::from(function)));
        self.graph.unary(UnaryOp::Sqrt, below)
    }

    /// Whether some path to the end of a function leaves a number unassigned.
    pub(super) fn is_left_open(&mut self, value: &Value) -> bool {
        let unassigned = self.unassigned();
        let mut pending = value.elements().to_vec();
        let mut seen = std::collections::HashSet::new();
        while let Some(id) = pending.pop() {
            if id == unassigned {
                return true;
            }
            if let Node::Select(_, a, b) = self.graph.node(id)
                && seen.insert(id)
            {
                pending.extend([a, b]);
            }
        }
        false
    }

    /// The names that statements assign.
    fn names_assigned(&self, body: &'a [Statement], names: &mut Vec<&'a str>) {
        let mut note = |target: AstId| {
            if let Expr::Name { name, path, .. } = self.ast.expr(target) {
                let first = path.as_ref().map_or(name.as_str(), |path| &path[0].name);
                if !names.contains(&first) {
                    names.push(first);
                }
            }
        };
        for statement in body {
            if let StatementKind::Assign { target, .. } = &statement.kind {
                match self.ast.expr(*target) {
                    Expr::Tuple(items) => items.iter().flatten().for_each(|&item| note(item)),
                    _ => note(*target),
                }
            }
        }
        for statement in body {
            match &statement.kind {
                StatementKind::For { body, .. } | StatementKind::While { body, .. } => {
                    self.names_assigned(body, names);
                }
                StatementKind::If {
                    branches,
                    otherwise,
                } => {
                    for (_, body) in branches {
                        self.names_assigned(body, names);
                    }
                    self.names_assigned(otherwise, names);
                }
                _ => {}
            }
        }
    }
}

impl Local {
    /// Gives all numbers of a local one value.
    fn fill(&mut self, value: ExprId) {
        match self {
            Local::Numbers(Numbers { elements, .. }) => elements.fill(Some(value)),
            Local::Record(_, fields) => fields.iter_mut().for_each(|(_, local)| local.fill(value)),
            Local::Other { .. } => {}
        }
    }

    /// The value, with `nothing` for what is not assigned.
    pub(super) fn value_or(&self, nothing: ExprId) -> Option<Value> {
        let mut local = self.clone();
        local.fill_open(nothing);
        local.value()
    }

    fn fill_open(&mut self, nothing: ExprId) {
        match self {
            Local::Numbers(Numbers { elements, .. }) => {
                for element in elements {
                    element.get_or_insert(nothing);
                }
            }
            Local::Record(_, fields) => {
                fields
                    .iter_mut()
                    .for_each(|(_, local)| local.fill_open(nothing));
            }
            Local::Other { .. } => {}
        }
    }
}
