//! Statements: run one after the other, branches merged, loops repeated.

use super::local::{Local, Numbers};
use super::{End, Frame, Function};
use crate::ast::{AstId, Causality, Expr, PathPart, Statement, StatementKind};
use crate::diagnostic::{Code, Diagnostic};
use crate::elaborate::algorithm::Target;
use crate::elaborate::value::{Value, describe_dims};
use crate::elaborate::{Checked, Elaborator, Reported};
use crate::model::Type;
use crate::source::Span;
use daelight_expr::ExprId;

impl<'a> Elaborator<'a> {
    pub(in crate::elaborate) fn statements(&mut self, statements: &'a [Statement]) -> Checked<End> {
        for (position, statement) in statements.iter().enumerate() {
            let rest = &statements[position + 1..];
            match self.statement(statement, rest)? {
                End::Through => {}
                end => return Ok(end),
            }
        }
        Ok(End::Through)
    }

    pub(super) fn statement(
        &mut self,
        statement: &'a Statement,
        rest: &'a [Statement],
    ) -> Checked<End> {
        self.step(1, statement.span)?;
        match &statement.kind {
            StatementKind::Assign { target, value } => {
                self.assign(*target, *value)?;
                Ok(End::Through)
            }
            StatementKind::Call(call) => {
                self.call_statement(*call)?;
                Ok(End::Through)
            }
            StatementKind::For { iterators, body } => {
                let mut end = End::Through;
                // Frames of rounds that were perhaps the last, with the conditions for that.
                let mut left: Vec<(ExprId, Option<Frame>)> = Vec::new();
                self.each_round(iterators, &mut |elaborator| {
                    if let End::Perhaps(leaves) = end {
                        left.push((leaves, elaborator.frame.clone()));
                        end = End::Through;
                    }
                    if end == End::Through {
                        end = elaborator.statements(body)?;
                    }
                    Ok(())
                })?;
                for (leaves, frame) in left.into_iter().rev() {
                    self.merge_frames(leaves, frame, statement.span);
                }
                Ok(match end {
                    End::Return => End::Return,
                    _ => End::Through,
                })
            }
            StatementKind::While { condition, body } => self.repeat(*condition, body),
            StatementKind::If {
                branches,
                otherwise,
            } => self.branch(branches, otherwise, rest, statement.span),
            StatementKind::When { branches } if self.in_section => {
                self.when_statement(branches, statement.span)?;
                Ok(End::Through)
            }
            StatementKind::When { .. } => Err(self.error(
                Diagnostic::error(
                    Code::Syntax,
                    statement.span,
                    "a function has no `when`: it knows no time",
                )
                .label("inside a function")
                .help("move it to an algorithm section of a model"),
            )),
            StatementKind::Return => Ok(End::Return),
            StatementKind::Break => Ok(End::Break),
        }
    }

    /// Runs the branches on copies of the locals and merges what they assign.
    ///
    /// Where a branch can leave, what follows belongs to the branches that do not.
    pub(super) fn branch(
        &mut self,
        branches: &'a [(AstId, Vec<Statement>)],
        otherwise: &'a [Statement],
        rest: &'a [Statement],
        span: Span,
    ) -> Checked<End> {
        let Some(((condition, body), others)) = branches.split_first() else {
            return self.statements(otherwise);
        };
        let condition = self.eval_condition(*condition)?;
        match self.settled(condition) {
            Some(true) => return self.statements(body),
            Some(false) => return self.branch(others, otherwise, rest, span),
            None => {}
        }
        let leaves = can_leave(body)
            || others.iter().any(|(_, body)| can_leave(body))
            || can_leave(otherwise);
        let before = self.frame.clone();
        self.path.push((condition, true));
        let mut then_end = self.statements(body)?;
        if leaves && then_end == End::Through {
            then_end = self.statements(rest)?;
        }
        let then_frame = std::mem::replace(&mut self.frame, before);
        self.path.pop();
        self.path.push((condition, false));
        let mut else_end = self.branch(others, otherwise, rest, span)?;
        if leaves && else_end == End::Through {
            else_end = self.statements(rest)?;
        }
        self.path.pop();
        self.merge_frames(condition, then_frame, span);
        match (leaves, then_end, else_end) {
            (false, ..) => Ok(End::Through),
            (true, End::Return, End::Return) => Ok(End::Return),
            (true, End::Break, End::Break) => Ok(End::Break),
            // What follows in this list was run in the branches; where the list ends the function does.
            (true, End::Through | End::Return, End::Through | End::Return) => Ok(End::Return),
            (true, End::Return, _) | (true, _, End::Return) => Err(self.left_perhaps(span)),
            (true, then_end, else_end) => {
                let broke = |elaborator: &mut Self, end: End| match end {
                    End::Perhaps(leaves) => leaves,
                    end => elaborator
                        .graph
                        .constant(f64::from(u8::from(end == End::Break))),
                };
                let (a, b) = (broke(self, then_end), broke(self, else_end));
                let leaves = self.choose(Type::Boolean, condition, a, b, span);
                Ok(End::Perhaps(leaves))
            }
        }
    }

    pub(super) fn left_perhaps(&mut self, span: Span) -> Reported {
        self.error(
            Diagnostic::error(
                Code::NotConstant,
                span,
                format!(
                    "whether a loop is left must be known before the run{}",
                    self.place()
                ),
            )
            .label("the condition depends on time or on a variable")
            .help("use an `if` expression"),
        )
    }

    /// Joins what two branches assign; the present frame is that of the second one.
    pub(in crate::elaborate) fn merge_frames(
        &mut self,
        condition: ExprId,
        then_frame: Option<Frame>,
        span: Span,
    ) {
        let (Some(then_frame), Some(mut frame)) = (then_frame, self.frame.take()) else {
            return;
        };
        for (name, local) in &mut frame.locals {
            if let Some(other) = then_frame.locals.get(name) {
                self.merge_locals(condition, other, local, span);
            }
        }
        self.frame = Some(frame);
    }

    /// A number behind an `if`. What only one branch of a function assigns has no value where the other was taken.
    fn either(
        &mut self,
        ty: Type,
        condition: ExprId,
        [first, second]: [Option<ExprId>; 2],
        span: Span,
    ) -> Option<ExprId> {
        let (a, b) = match (first, second) {
            (Some(a), Some(b)) => return Some(self.choose(ty, condition, a, b, span)),
            (None, None) => return None,
            // A section of a model keeps what was before.
            _ if self.calls.is_empty() => return None,
            (a, b) => {
                let nothing = self.unassigned();
                (a.unwrap_or(nothing), b.unwrap_or(nothing))
            }
        };
        let expr = self.graph.select(condition, a, b);
        Some(self.mark(expr, span))
    }

    /// Joins two values of a local.
    pub(super) fn merge_locals(
        &mut self,
        condition: ExprId,
        then: &Local,
        local: &mut Local,
        span: Span,
    ) {
        match (then, local) {
            (Local::Numbers(then), Local::Numbers(local)) if then.dims == local.dims => {
                for (slot, first) in local.elements.iter_mut().zip(&then.elements) {
                    *slot = self.either(local.ty, condition, [*first, *slot], span);
                }
            }
            (Local::Record(_, then), Local::Record(_, fields)) => {
                for ((_, first), (_, second)) in then.iter().zip(fields) {
                    self.merge_locals(condition, first, second, span);
                }
            }
            (then, local) => {
                let merged = match (then.value(), local.value()) {
                    // Functions are not assigned, and what a text says nothing depends on.
                    (Some(Value::Function(a)), Some(Value::Function(_))) => {
                        Some(Value::Function(a))
                    }
                    (Some(Value::Text(a)), Some(Value::Text(b))) if a != b => None,
                    (Some(a), Some(b)) => self.merge(condition, &a, &b, span).ok(),
                    _ => None,
                };
                *local = match merged {
                    Some(value) => Local::of(&value, None, false),
                    None => Local::Other {
                        value: None,
                        is_input: false,
                    },
                };
            }
        }
    }

    pub(super) fn assign(&mut self, target: AstId, value: AstId) -> Checked<()> {
        let at = self.ast.span(value);
        if let Expr::Tuple(targets) = self.ast.expr(target) {
            let Some(results) = self.results(value)? else {
                return Err(self.error(
                    Diagnostic::error(Code::Syntax, at, "a list of results needs a call")
                        .label("not a call of a function with several outputs")
                        .help("assign each name on a line of its own"),
                ));
            };
            for (target, result) in targets.iter().zip(results) {
                if let Some(target) = target {
                    self.assign_value(*target, result, at)?;
                }
            }
            return Ok(());
        }
        let value = self.eval(value)?;
        self.assign_value(target, value, at)
    }

    pub(in crate::elaborate) fn assign_value(
        &mut self,
        target: AstId,
        value: Value,
        at: Span,
    ) -> Checked<()> {
        let name_span = self.ast.span(target);
        let Expr::Name {
            name,
            subscripts,
            path,
        } = self.ast.expr(target)
        else {
            return Err(self.error(
                Diagnostic::error(Code::Syntax, name_span, "only names can be assigned")
                    .label("not a name")
                    .help("write a name before `:=`"),
            ));
        };
        let (first, first_subs, rest): (&str, &[AstId], &[PathPart]) = match path {
            None => (name, subscripts, &[]),
            Some(path) => (&path[0].name, &path[0].subscripts, &path[1..]),
        };
        let found = self.local_at(first, first_subs, rest);
        let Some((local, last, last_subs, left)) = found else {
            return Err(self.undeclared(name, name_span));
        };
        if local.is_input() {
            return Err(self.error(
                Diagnostic::error(
                    Code::NotAssignable,
                    name_span,
                    format!("`{name}` is an input"),
                )
                .label("assigned here")
                .help("assign an output or a protected local"),
            ));
        }
        if !left.is_empty() {
            return Err(self.undeclared(name, name_span));
        }
        let updated = match local {
            Local::Numbers(numbers) => {
                let numbers = numbers.clone();
                Local::Numbers(self.assigned(numbers, last, last_subs, &value, name_span, at)?)
            }
            Local::Other { value: old, .. } if !last_subs.is_empty() => {
                let Some(Value::List(list)) = old.clone() else {
                    return Err(self.undeclared(name, name_span));
                };
                let (_, positions) = self.chosen(&list.dims, last_subs, last, name_span)?;
                let mut items = list.items.clone();
                for at in positions {
                    items[at] = value.clone();
                }
                Local::of(&Value::listed(list.dims.clone(), items), None, false)
            }
            Local::Record(record, _) => {
                let mut updated = Local::of(&value, None, false);
                if let Local::Record(kept, _) = &mut updated {
                    *kept = record.clone();
                }
                updated
            }
            Local::Other { .. } => Local::of(&value, None, false),
        };
        if let Some(frame) = &mut self.frame
            && let Some(mut local) = frame.locals.get_mut(first)
        {
            let mut rest = rest;
            while let [next, others @ ..] = rest {
                match local {
                    Local::Record(_, fields) => {
                        let found = fields.iter_mut().find(|(known, _)| **known == *next.name);
                        match found {
                            Some((_, inside)) => local = inside,
                            None => return Ok(()),
                        }
                    }
                    _ => return Ok(()),
                }
                rest = others;
            }
            *local = updated;
        }
        Ok(())
    }

    /// Numbers with a value assigned to the elements that subscripts choose.
    pub(super) fn assigned(
        &mut self,
        mut numbers: Numbers,
        name: &str,
        subscripts: &[AstId],
        value: &Value,
        name_span: Span,
        at: Span,
    ) -> Checked<Numbers> {
        self.require_type(value, numbers.ty, at)?;
        self.require_whole(value, numbers.ty, at)?;
        let is_open = numbers.elements.is_empty() && numbers.dims.iter().all(|&size| size == 0);
        if is_open && subscripts.is_empty() && value.dims().len() == numbers.dims.len() {
            numbers.dims = value.dims().to_vec();
            numbers.elements = value
                .elements()
                .iter()
                .map(|&element| Some(element))
                .collect();
            return Ok(numbers);
        }
        let (dims, positions) = match subscripts.is_empty() {
            true => (numbers.dims.clone(), (0..numbers.elements.len()).collect()),
            false => self.chosen(&numbers.dims, subscripts, name, name_span)?,
        };
        if !value.fits(&dims) {
            let (x, y) = (describe_dims(&dims), describe_dims(value.dims()));
            return Err(self.error(
                Diagnostic::error(
                    Code::WrongSize,
                    at,
                    format!("`{name}` is {x} here, its value is {y}"),
                )
                .label(y)
                .help("give both the same sizes"),
            ));
        }
        for (&position, &element) in positions.iter().zip(value.elements()) {
            numbers.elements[position] = Some(element);
        }
        Ok(numbers)
    }

    /// The values of the inputs of the function being run.
    pub(in crate::elaborate) fn inputs_of(&self, function: &Function<'a>) -> Vec<Option<Value>> {
        let frame = self.frame.as_ref();
        function
            .of(Causality::Input)
            .map(|slot| frame?.locals.get(&slot.declaration.name)?.value())
            .collect()
    }

    /// Gives the first output of the function being run its value.
    pub(in crate::elaborate) fn assign_first_output(
        &mut self,
        function: &Function<'a>,
        value: Value,
        _span: Span,
    ) -> Checked<()> {
        if let Some(slot) = function.of(Causality::Output).next() {
            self.insert_local(slot.declaration, Local::of(&value, None, false));
        }
        Ok(())
    }

    /// A call whose result is not used: `assert`, or something that prints.
    pub(super) fn call_statement(&mut self, call: AstId) -> Checked<()> {
        if let Expr::Call { name, .. } = self.ast.expr(call)
            && name != "assert"
            && self.function(name).is_some()
        {
            // What it would print or write is not for translating.
            return Ok(());
        }
        self.assertion(call, false)
    }

    /// An algorithm section of a model as one function: the values of what it assigns.
    pub(in crate::elaborate) fn run_section(
        &mut self,
        targets: &[Target],
        body: &'a [Statement],
    ) -> Checked<Vec<Option<Value>>> {
        let mut frame = Frame::default();
        for target in targets {
            let value = &target.value;
            let mut elements = target.before.clone();
            elements.resize(value.elements().len(), None);
            frame.locals.insert(
                target.name.clone(),
                Local::Numbers(Numbers {
                    elements,
                    dims: value.dims().to_vec(),
                    ty: value.ty().unwrap_or(Type::Real),
                    is_input: false,
                }),
            );
        }
        let outer = self.frame.replace(frame);
        self.in_section = true;
        let result = self.statements(body);
        self.in_section = false;
        let frame = std::mem::replace(&mut self.frame, outer);
        result?;
        let frame = frame.unwrap_or_default();
        let values = targets
            .iter()
            .map(|target| frame.locals.get(&target.name)?.value());
        Ok(values.collect())
    }
}

/// Whether statements can leave the function or the loop around them.
fn can_leave(statements: &[Statement]) -> bool {
    statements.iter().any(|statement| match &statement.kind {
        StatementKind::Return | StatementKind::Break => true,
        StatementKind::If {
            branches,
            otherwise,
        } => branches.iter().any(|(_, body)| can_leave(body)) || can_leave(otherwise),
        StatementKind::For { body, .. } | StatementKind::While { body, .. } => {
            body.iter().any(returns)
        }
        _ => false,
    })
}

fn returns(statement: &Statement) -> bool {
    match &statement.kind {
        StatementKind::Return => true,
        StatementKind::If {
            branches,
            otherwise,
        } => {
            branches.iter().flat_map(|(_, body)| body).any(returns) || otherwise.iter().any(returns)
        }
        StatementKind::For { body, .. } | StatementKind::While { body, .. } => {
            body.iter().any(returns)
        }
        _ => false,
    }
}
