//! `when`: conditions whose rising edges fire, and what happens then.

use super::discrete::{Assigned, Branches, Own};
use super::value::Value;
use super::{Checked, Elaborator};
use crate::ast::{self, AstId, EquationKind, Expr, Statement};
use crate::diagnostic::{Code, Diagnostic};
use crate::hybrid::{Check, CheckKind, Reinit, Rule};
use crate::model::{Symbol, Type, shorten};
use crate::source::Span;
use daelight_expr::{BinaryOp, ExprId, Node, UnaryOp};
use std::collections::HashSet;

impl<'a> Elaborator<'a> {
    /// A `when` among the equations: each branch fires unless an earlier one does.
    pub(super) fn when(
        &mut self,
        branches: &'a [(AstId, Vec<ast::WrittenEquation>)],
        span: Span,
    ) -> Checked<()> {
        let mut earlier: Option<ExprId> = None;
        let choice = self.new_choice();
        for (branch, (condition, body)) in branches.iter().enumerate() {
            let fires = self.fires(*condition)?;
            let active = self.unless(fires, earlier);
            self.discrete.in_body = true;
            let result = self.when_equations(active, body, (choice, branch), span);
            self.discrete.in_body = false;
            result?;
            earlier = Some(match earlier {
                Some(other) => self.graph.binary(BinaryOp::Or, other, fires),
                None => fires,
            });
        }
        Ok(())
    }

    fn new_choice(&mut self) -> usize {
        self.discrete.choices += 1;
        self.discrete.choices
    }

    /// The equations of one branch inside a `when`.
    fn when_equations(
        &mut self,
        active: ExprId,
        body: &'a [ast::WrittenEquation],
        branch: (usize, usize),
        when: Span,
    ) -> Checked<()> {
        self.discrete.inside.push(branch);
        let mut result = Ok(());
        for equation in body {
            result = result.and(self.when_equation(active, equation, when));
        }
        self.discrete.inside.pop();
        result
    }

    fn unless(&mut self, condition: ExprId, other: Option<ExprId>) -> ExprId {
        match other {
            Some(other) => {
                let not = self.graph.unary(UnaryOp::Not, other);
                self.graph.binary(BinaryOp::And, condition, not)
            }
            None => condition,
        }
    }

    /// Whether the condition of a `when`, or one of several, becomes true.
    pub(super) fn fires(&mut self, condition: AstId) -> Checked<ExprId> {
        let first = self.equalities.len();
        let value = self.eval(condition)?;
        self.refuse_equalities_of_time(first)?;
        let span = self.ast.span(condition);
        self.require_type(&value, Type::Boolean, span)?;
        let name = shorten(&self.slice(span), 60);
        let mut all: Option<ExprId> = None;
        for &element in value.elements() {
            let at_start = self.discrete.flags.get("initial()").copied();
            let symbols = self.walker.symbols(&self.graph, &[element]);
            let has_initial = symbols.into_iter().any(|id| {
                matches!(self.symbols.get(id), Symbol::Unknown { unknown, .. } if Some(unknown) == at_start)
            });
            let rule = Rule::Expression(element);
            let unknown = self.hidden(name.clone(), Type::Boolean, rule, Some(has_initial), span);
            let now = self.unknown_symbol(unknown);
            let before = self.previous_of(now, Type::Boolean, span);
            let edge = self.rises(now, before);
            all = Some(match all {
                Some(other) => self.graph.binary(BinaryOp::Or, other, edge),
                None => edge,
            });
        }
        let never = self.graph.constant(0.0);
        Ok(all.unwrap_or(never))
    }

    /// Refuses `x == 0.5` in the condition of a `when` where x moves between events: no run meets the single times at which it holds.
    pub(super) fn refuse_equalities_of_unknowns(&mut self) {
        let equalities = std::mem::take(&mut self.discrete.equalities);
        if equalities.is_empty() {
            return;
        }
        let resting = self.resting_unknowns();
        for (expr, span) in equalities {
            if self.moves_beside(expr, &resting) {
                self.error(
                    Diagnostic::error(
                        Code::TypeMismatch,
                        span,
                        "an equality of numbers that move holds at single times, and no `when` sees it become true",
                    )
                    .label("true at single times alone")
                    .help("write `>=` or `<=`: a `when` acts once, where its condition becomes true"),
                );
            }
        }
    }

    /// Whether an expression reads a number that moves between events, other than these unknowns.
    fn moves_beside(&mut self, expr: ExprId, resting: &HashSet<usize>) -> bool {
        let symbols = self.walker.symbols(&self.graph, &[expr]);
        symbols.into_iter().any(|id| match self.symbols.get(id) {
            Symbol::Unknown { unknown, order } => order > 0 || !resting.contains(&unknown),
            Symbol::Time => true,
            Symbol::Parameter(_) | Symbol::Input { .. } => false,
        })
    }

    /// Unknowns that change at events alone: discrete ones, and names for what is made of them.
    fn resting_unknowns(&mut self) -> HashSet<usize> {
        let discrete = &self.discrete;
        let mut resting: HashSet<usize> = discrete.variables.keys().copied().collect();
        resting.extend(discrete.stand_ins.keys());
        resting.extend(discrete.hidden.iter().map(|hidden| hidden.unknown));
        resting.extend(discrete.previous.values().map(|(before, _)| *before));
        resting.extend(discrete.flags.values());
        resting.extend(discrete.samples.iter().map(|sample| sample.0));
        resting.extend(&discrete.settled);
        let others = discrete.equations.iter().map(|e| [e.left, e.right]);
        let sides = self.equations.iter().map(|e| [e.left, e.right]);
        let sides: Vec<[ExprId; 2]> = sides.chain(others).collect();
        loop {
            let before = resting.len();
            for &[left, right] in &sides {
                for (name, value) in [(left, right), (right, left)] {
                    let symbol = self.graph.as_symbol(name).map(|id| self.symbols.get(id));
                    if let Some(Symbol::Unknown { unknown, order: 0 }) = symbol
                        && !resting.contains(&unknown)
                        && !self.moves_beside(value, &resting)
                    {
                        resting.insert(unknown);
                    }
                }
            }
            if resting.len() == before {
                return resting;
            }
        }
    }

    /// Refuses `time == 0.5` in the condition of a `when`, from the `first` that was met: it never becomes true.
    fn refuse_equalities_of_time(&mut self, first: usize) -> Checked<()> {
        for (expr, span) in self.equalities.split_off(first) {
            let symbols = self.walker.symbols(&self.graph, &[expr]);
            if symbols
                .into_iter()
                .any(|id| self.symbols.get(id) == Symbol::Time)
            {
                return Err(self.error(
                    Diagnostic::error(
                        Code::TypeMismatch,
                        span,
                        "an equality with the time holds at a single time, and no `when` sees it become true",
                    )
                    .label("true at one time alone")
                    .help("write `>=`: a `when` acts once, where its condition becomes true"),
                ));
            }
            if matches!(self.graph.node(expr), Node::Binary(BinaryOp::Equal, ..)) {
                self.discrete.equalities.push((expr, span));
            }
        }
        Ok(())
    }

    /// An equation inside a `when`.
    fn when_equation(
        &mut self,
        active: ExprId,
        equation: &'a ast::WrittenEquation,
        when: Span,
    ) -> Checked<()> {
        self.step(1, equation.span)?;
        match &equation.kind {
            EquationKind::Equal(left, right) => self.when_equal(active, *left, *right, when),
            EquationKind::Call(call) => self.when_call(active, *call, equation.span),
            EquationKind::For { iterators, body } => {
                self.each_round(iterators, &mut |elaborator| {
                    for equation in body {
                        elaborator.when_equation(active, equation, when)?;
                    }
                    Ok(())
                })
            }
            EquationKind::If {
                branches,
                otherwise,
            } => {
                let mut earlier: Option<ExprId> = None;
                let choice = self.new_choice();
                for (branch, (condition, body)) in branches.iter().enumerate() {
                    let condition = self.eval_condition(*condition)?;
                    let decided = self.decided(condition);
                    if decided == Some(false) {
                        continue;
                    }
                    let alone = self.unless(condition, earlier);
                    let both = self.graph.binary(BinaryOp::And, active, alone);
                    self.when_equations(both, body, (choice, branch), when)?;
                    if decided == Some(true) {
                        return Ok(());
                    }
                    earlier = Some(match earlier {
                        Some(other) => self.graph.binary(BinaryOp::Or, other, condition),
                        None => condition,
                    });
                }
                let rest = self.unless(active, earlier);
                self.when_equations(rest, otherwise, (choice, branches.len()), when)
            }
            EquationKind::Connect(..) | EquationKind::When { .. } => Err(self.error(
                Diagnostic::error(
                    Code::Syntax,
                    equation.span,
                    "a `when` holds equations `name = …`, `reinit`, `assert` and `terminate`",
                )
                .label("not among them")
                .help("move it out of the `when`"),
            )),
        }
    }

    fn when_equal(&mut self, active: ExprId, left: AstId, right: AstId, when: Span) -> Checked<()> {
        let pairs: Vec<(Value, Value)> = match self.ast.expr(left) {
            Expr::Tuple(targets) => {
                let Some(results) = self.results(right)? else {
                    let at = self.ast.span(right);
                    return Err(self.error(
                        Diagnostic::error(Code::Syntax, at, "a list of results needs a call")
                            .label("not a call of a function with several outputs")
                            .help("write one equation for each name"),
                    ));
                };
                let mut pairs = Vec::new();
                for (target, result) in targets.iter().zip(results) {
                    if let Some(target) = target {
                        pairs.push((self.eval(*target)?, result));
                    }
                }
                pairs
            }
            _ => vec![(self.eval(left)?, self.eval(right)?)],
        };
        let span = self.ast.span(left);
        for (target, value) in pairs {
            if !target.fits(value.dims()) {
                let (message, help) = ("the sides differ in size", "give both the same sizes");
                return Err(
                    self.error(Diagnostic::error(Code::WrongSize, span, message).help(help))
                );
            }
            if let Some(ty) = target.ty() {
                let is_truth = |ty: Option<Type>| ty == Some(Type::Boolean);
                if is_truth(Some(ty)) != is_truth(value.ty()) {
                    self.require_type(&value, ty, self.ast.span(right))?;
                }
                self.require_whole(&value, ty, self.ast.span(right))?;
            }
            for (&target, &value) in target.elements().iter().zip(value.elements()) {
                self.when_assigns(active, target, value, span, when)?;
            }
        }
        Ok(())
    }

    /// One scalar that a `when` assigns.
    fn when_assigns(
        &mut self,
        active: ExprId,
        target: ExprId,
        value: ExprId,
        span: Span,
        when: Span,
    ) -> Checked<()> {
        let symbol = self.graph.as_symbol(target).map(|id| self.symbols.get(id));
        let Some(Symbol::Unknown { unknown, order: 0 }) = symbol else {
            return Err(self.error(
                Diagnostic::error(
                    Code::Syntax,
                    span,
                    "a `when` assigns variables: `name = …` with the variable on the left",
                )
                .label("no variable")
                .help("write the variable alone on the left"),
            ));
        };
        self.make_discrete(unknown);
        let known = self.discrete.assigned.entry(unknown).or_insert(Assigned {
            branches: Vec::new(),
            places: Vec::new(),
            span: when,
        });
        let first = known.span;
        known.branches.push((active, value));
        let inside = self.discrete.inside.clone();
        let mut places = known.places.iter();
        let again = places.find(|(_, other)| go_together(other, &inside));
        let again = again.map(|(place, _)| *place);
        known.places.push((span, inside));
        if let Some(earlier) = again.filter(|_| first == when) {
            let name = self.unknowns[unknown].name.clone();
            return Err(self.error(
                Diagnostic::error(
                    Code::Overdetermined,
                    span,
                    format!("`{name}` has two equations in one `when`"),
                )
                .label("set again here")
                .related(earlier, "first here")
                .help("remove one, or say with `if` or `elsewhen` which one counts"),
            ));
        }
        if first != when {
            let name = self.unknowns[unknown].name.clone();
            return Err(self.error(
                Diagnostic::error(
                    Code::Overdetermined,
                    span,
                    format!("`{name}` is assigned in two `when`s"),
                )
                .label("assigned again here")
                .related(first, "first here")
                .help("join them with `elsewhen`, which says which one counts"),
            ));
        }
        Ok(())
    }

    /// What a `when` assigns keeps its value between events, however it was declared.
    pub(super) fn make_discrete(&mut self, unknown: usize) {
        let declared = &self.declarations[self.unknowns[unknown].declaration];
        let own = Own {
            ty: declared.ty,
            span: declared.span,
        };
        self.discrete.variables.entry(unknown).or_insert(own);
    }

    /// `reinit`, `assert` and `terminate` inside a `when`.
    pub(super) fn when_call(&mut self, active: ExprId, call: AstId, span: Span) -> Checked<()> {
        let Expr::Call {
            name, positional, ..
        } = self.ast.expr(call)
        else {
            return Ok(());
        };
        match (name.as_str(), positional.as_slice()) {
            ("reinit", [target, value]) => {
                let (target, value) = (self.eval_number(*target)?, self.eval_number(*value)?);
                for (&unknown, &value) in target.elements().iter().zip(value.elements()) {
                    self.discrete.reinits.push(Reinit {
                        condition: active,
                        unknown,
                        value,
                        span,
                    });
                }
                Ok(())
            }
            ("assert", [condition, ..]) => {
                let condition = self.eval_condition(*condition)?;
                self.check(condition, Some(active), positional, span);
                Ok(())
            }
            ("terminate", _) => {
                self.check(active, None, positional, span);
                Ok(())
            }
            _ => self.assertion(call, false),
        }
    }

    /// Notes an assert or `terminate` that is looked at during a run.
    pub(super) fn check(
        &mut self,
        condition: ExprId,
        guard: Option<ExprId>,
        arguments: &'a [AstId],
        span: Span,
    ) {
        let is_assert = arguments.len() > 1;
        let text = arguments.get(usize::from(is_assert)).copied();
        // A message of variables is shown as it is written.
        let n_errors = self.diagnostics.len();
        let message = match text.map(|text| (self.eval(text), text)) {
            Some((Ok(Value::Text(text)), _)) => text.to_string(),
            Some((_, text)) => self.slice(self.ast.span(text)),
            None => String::new(),
        };
        self.diagnostics.truncate(n_errors);
        let is_warning = arguments
            .get(2)
            .is_some_and(|&level| self.is_warning(level));
        let kind = match (is_assert, is_warning) {
            (false, _) => CheckKind::Terminate,
            (true, true) => CheckKind::Warning,
            (true, false) => CheckKind::Error,
        };
        self.discrete.checks.push(Check {
            condition,
            guard,
            kind,
            message,
            span,
        });
    }

    /// A `when` in an algorithm: an `if` on the rising edge.
    pub(super) fn when_statement(
        &mut self,
        branches: &'a [(AstId, Vec<Statement>)],
        span: Span,
    ) -> Checked<()> {
        let Some(((condition, body), others)) = branches.split_first() else {
            return Ok(());
        };
        let fires = self.fires(*condition)?;
        let before = self.frame.clone();
        self.discrete.guards.push(fires);
        self.discrete.in_body = true;
        let end = self.statements(body);
        self.discrete.in_body = false;
        self.discrete.guards.pop();
        end?;
        let then_frame = std::mem::replace(&mut self.frame, before);
        self.when_statement(others, span)?;
        self.merge_frames(fires, then_frame, span);
        Ok(())
    }
}

/// Whether two places in a `when` may be reached together: not from different branches of one choice.
fn go_together(a: &Branches, b: &Branches) -> bool {
    a.iter()
        .zip(b)
        .find(|(a, b)| a != b)
        .is_none_or(|(a, b)| a.0 != b.0)
}
