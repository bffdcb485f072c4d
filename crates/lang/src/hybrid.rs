//! What changes at events: discrete variables, held relations, `sample`, `reinit`, asserts.
//!
//! Between events all of it rests, so each quantity is a parameter of the continuous equations; `docs/theory/hybrid.md`.

use crate::model::Type;
use crate::source::Span;
use daelight_expr::ExprId;
use std::sync::Arc;

/// The part of a model that changes at events.
#[derive(Clone, Debug, Default)]
pub struct Hybrid {
    /// Variables that keep their values between events.
    pub variables: Vec<DiscreteVariable>,
    /// Positions in [`Hybrid::variables`], so that each needs only earlier ones.
    pub order: Vec<usize>,
    /// Relations whose truth is held between events.
    pub relations: Vec<HeldRelation>,
    /// Calls of `sample`.
    pub samples: Vec<Sample>,
    /// The parameter that is true at the start only.
    pub initial: Option<usize>,
    /// The parameter that is true at the end only.
    pub terminal: Option<usize>,
    /// New values for differentiated unknowns.
    pub reinits: Vec<Reinit>,
    /// Asserts, and `terminate`.
    pub checks: Vec<Check>,
    /// Values of variables at the start, from initial equations.
    pub starts: Vec<(usize, ExprId)>,
    /// Calls of `delay`.
    pub delays: Vec<Delay>,
    /// Parameters of truth that decide which continuous equations hold: their values are the mode.
    pub mode: Vec<usize>,
}

/// How a discrete variable gets its value at an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rule {
    /// The value of an expression.
    Expression(ExprId),
    /// The greatest whole number that is not above the expression.
    Floor(ExprId),
}

impl Rule {
    /// The expression behind it.
    pub fn expr(self) -> ExprId {
        match self {
            Rule::Expression(expr) | Rule::Floor(expr) => expr,
        }
    }
}

/// A variable that keeps its value between events.
#[derive(Clone, Debug)]
pub struct DiscreteVariable {
    /// The name; conditions of `when` have their text.
    pub name: String,
    /// The type.
    pub ty: Type,
    /// Its value, in [`Model::parameters`](crate::Model::parameters).
    pub parameter: usize,
    /// Its value before the event, there as well.
    pub previous: usize,
    /// How it gets its value.
    pub rule: Rule,
    /// Whether the model does not name it.
    pub is_hidden: bool,
    /// Whether its start value is a condition (`fixed = true`), not a guess.
    pub is_fixed: bool,
    /// For the condition of a `when`: whether `initial()` is part of it.
    pub when: Option<bool>,
    /// The declaration, or the place of what made it.
    pub span: Span,
    /// The component it stands in; empty for the model itself.
    pub component: Arc<str>,
}

/// A relation whose truth is held between events.
#[derive(Clone, Debug)]
pub struct HeldRelation {
    /// Its truth, in [`Model::parameters`](crate::Model::parameters).
    pub parameter: usize,
    /// The relation.
    pub expr: ExprId,
    /// What makes it change.
    pub by: ChangedBy,
    /// Its place.
    pub span: Span,
}

/// What makes a relation change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChangedBy {
    /// The continuous unknowns.
    Unknowns,
    /// The time passes the value of an expression of discrete quantities.
    Time {
        /// The expression.
        limit: ExprId,
        /// Whether the relation is true afterwards.
        after: bool,
    },
    /// Discrete variables alone.
    Events,
}

/// `sample(start, interval)`.
#[derive(Clone, Debug)]
pub struct Sample {
    /// Whether it is true, in [`Model::parameters`](crate::Model::parameters).
    pub parameter: usize,
    /// The first time.
    pub start: ExprId,
    /// The distance of the others.
    pub interval: ExprId,
    /// Its place.
    pub span: Span,
}

/// `delay(expr, by)`: an input that a run knows from its own past.
#[derive(Clone, Debug)]
pub struct Delay {
    /// The input, in [`Model::inputs`](crate::Model::inputs).
    pub input: usize,
    /// What is delayed.
    pub expr: ExprId,
    /// By how much: an expression of parameters.
    pub by: ExprId,
    /// Its place.
    pub span: Span,
}

/// `reinit(x, value)`.
#[derive(Clone, Debug)]
pub struct Reinit {
    /// When it happens.
    pub condition: ExprId,
    /// The unknown.
    pub unknown: ExprId,
    /// Its new value.
    pub value: ExprId,
    /// Its place.
    pub span: Span,
}

/// What may end a run.
#[derive(Clone, Debug)]
pub struct Check {
    /// For an assert what must hold; for `terminate` when it happens.
    pub condition: ExprId,
    /// When an assert counts: where its `when` fires.
    pub guard: Option<ExprId>,
    /// What it is.
    pub kind: CheckKind,
    /// The message, as far as it is known before the run.
    pub message: String,
    /// Its place.
    pub span: Span,
}

/// What a check does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CheckKind {
    /// Ends the run with an error where it does not hold.
    Error,
    /// Is told where it does not hold.
    Warning,
    /// Ends the run.
    Terminate,
}

impl Hybrid {
    /// Positions of all parameters that are held between events.
    pub fn held_parameters(&self) -> impl Iterator<Item = usize> + '_ {
        let variables = self.variables.iter();
        let variables = variables.flat_map(|v| [v.parameter, v.previous]);
        variables
            .chain(self.relations.iter().map(|r| r.parameter))
            .chain(self.samples.iter().map(|s| s.parameter))
            .chain(self.initial)
            .chain(self.terminal)
    }

    /// All expressions, to be replaced.
    pub(crate) fn exprs_mut(&mut self) -> impl Iterator<Item = &mut ExprId> {
        let rules = self.variables.iter_mut().map(|v| match &mut v.rule {
            Rule::Expression(expr) | Rule::Floor(expr) => expr,
        });
        let relations = self.relations.iter_mut().flat_map(|r| {
            let limit = match &mut r.by {
                ChangedBy::Time { limit, .. } => Some(limit),
                _ => None,
            };
            [Some(&mut r.expr), limit].into_iter().flatten()
        });
        let samples = self.samples.iter_mut();
        let samples = samples.flat_map(|s| [&mut s.start, &mut s.interval]);
        let reinits = self.reinits.iter_mut();
        let reinits = reinits.flat_map(|r| [&mut r.condition, &mut r.unknown, &mut r.value]);
        let checks = self.checks.iter_mut();
        let checks = checks.flat_map(|c| [Some(&mut c.condition), c.guard.as_mut()]);
        let starts = self.starts.iter_mut().map(|(_, expr)| expr);
        let delays = self.delays.iter_mut();
        let delays = delays.flat_map(|d| [&mut d.expr, &mut d.by]);
        rules
            .chain(relations)
            .chain(samples)
            .chain(reinits)
            .chain(checks.flatten())
            .chain(starts)
            .chain(delays)
    }
}
