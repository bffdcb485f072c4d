//! Equations after a repair, and the way between them and the ones as written.

use super::Names;
use crate::dae::BlockForm;
use crate::equations::Equations;
use crate::initial::TaylorJet;
use crate::structure::Structure;
use daelight_expr::{ExprId, Jet, JetEvaluator, Walker};
use daelight_lang::Symbol;
use daelight_linalg::Verdict;
use std::sync::Arc;

/// An equation as written that another one was made from, and how often it was differentiated for that.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EquationOrigin {
    /// Position of the equation before the repair.
    pub equation: usize,
    /// The highest derivative of it that entered.
    pub times_differentiated: usize,
}

/// One summand of a combination: `factor` times a derivative of an equation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Term {
    /// Position of the equation, as it stood before the step.
    pub equation: usize,
    /// How often it is differentiated.
    pub times_differentiated: usize,
    /// What it is multiplied by.
    pub factor: ExprId,
}

/// What one step did.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum StepKind {
    /// Unknowns were taken out of equations in which they cancel.
    Cancellation {
        /// Equations that were rewritten.
        equations: Vec<usize>,
    },
    /// An equation was replaced by a combination of equations and their derivatives.
    Combination {
        /// The equation that was replaced; it is one of the terms, not differentiated.
        replaced: usize,
        /// The combination.
        terms: Vec<Term>,
    },
    /// New unknowns stand for expressions.
    Substitution {
        /// Position of the first new unknown, and of the equation that defines it.
        first: usize,
        /// Number of new unknowns.
        n_new: usize,
        /// Equations that were rewritten.
        equations: Vec<usize>,
    },
}

/// A step of a repair.
#[derive(Clone, PartialEq, Debug)]
pub struct RepairStep {
    /// What was done.
    pub kind: StepKind,
    /// The same in the user's names.
    pub text: String,
    /// Degrees of freedom that the structure promised before.
    pub value_before: u64,
    /// Degrees of freedom that it promises since.
    pub value_after: u64,
}

/// An expression at whose zeros the rewritten equations may not be the written ones.
#[derive(Clone, PartialEq, Debug)]
pub struct Suspect {
    /// The expression, in the graph of the repaired equations.
    pub expr: ExprId,
    /// The same in the user's names, if it is short.
    pub text: Option<String>,
}

/// An unknown that a repair introduced.
#[derive(Clone, PartialEq, Debug)]
pub struct Extra {
    /// Its name, which no other symbol has.
    pub name: String,
    /// The number it has in [`Symbol::Unknown`].
    pub unknown: usize,
    /// It and its derivatives as expressions of the unknowns as written, as far as the equations hold them.
    pub derivatives: Vec<ExprId>,
}

/// Equations with a structure that holds at random jets, and the way back.
///
/// Unknowns keep their positions, new ones stand behind them. Equations keep their positions too; the definitions
/// of new unknowns stand behind them.
#[derive(Clone)]
pub struct Repaired {
    pub(super) equations: Equations,
    pub(super) structure: Structure,
    pub(super) steps: Vec<RepairStep>,
    pub(super) suspects: Vec<Suspect>,
    pub(super) origins: Vec<Vec<EquationOrigin>>,
    pub(super) extra: Vec<Extra>,
    pub(super) n_written: usize,
    pub(super) parameters: Vec<f64>,
    pub(super) verdict: Verdict,
}

impl Repaired {
    /// The equations after the repair.
    pub fn equations(&self) -> &Equations {
        &self.equations
    }

    /// Their structure. Its index counts from the rewritten equations: see [`Repaired::structural_index`].
    pub fn structure(&self) -> &Structure {
        &self.structure
    }

    /// What was done, in order.
    pub fn steps(&self) -> &[RepairStep] {
        &self.steps
    }

    /// All steps in one text, for the user.
    pub fn text(&self) -> String {
        let texts: Vec<&str> = self.steps.iter().map(|step| step.text.as_str()).collect();
        texts.join("; ")
    }

    /// Expressions at whose zeros the rewritten equations may not be the written ones.
    pub fn suspects(&self) -> &[Suspect] {
        &self.suspects
    }

    /// The equations as written that an equation comes from; none for the definition of a new unknown.
    pub fn origins(&self, equation: usize) -> &[EquationOrigin] {
        &self.origins[equation]
    }

    /// The new unknowns, in the order of their positions.
    pub fn extra_unknowns(&self) -> &[Extra] {
        &self.extra
    }

    /// Number of unknowns, and of equations, before the repair.
    pub fn n_written(&self) -> usize {
        self.n_written
    }

    /// How often each equation as written is differentiated in all, (5) of `docs/theory/repair.md`.
    pub fn times_differentiated(&self) -> Vec<usize> {
        let mut times = vec![0; self.n_written];
        for (origins, &offset) in self.origins.iter().zip(&self.structure.offsets().equation) {
            for origin in origins {
                let all = offset + origin.times_differentiated;
                times[origin.equation] = all.max(times[origin.equation]);
            }
        }
        times
    }

    /// The structural index of the equations as written, (6) of `docs/theory/repair.md`: an upper bound of the
    /// differentiation index where the repaired system Jacobian is nonsingular.
    pub fn structural_index(&self) -> usize {
        let most = self.times_differentiated().into_iter().max().unwrap_or(0);
        let written = &self.structure.offsets().variable[..self.n_written];
        most + usize::from(written.contains(&0))
    }

    /// What the index and the degrees of freedom are worth: observed if the caller gave a consistent point and the
    /// repaired system Jacobian is nonsingular there, else unknown.
    ///
    /// Random jets alone do not decide: entries may vanish along solutions (section 5 of `docs/theory/repair.md`).
    pub fn verdict(&self) -> Verdict {
        self.verdict
    }

    /// Degrees of freedom, right where the repaired system Jacobian is nonsingular at a consistent point.
    pub fn n_degrees_of_freedom(&self) -> u64 {
        self.structure.n_degrees_of_freedom()
    }

    /// Values of the new unknowns that belong to a jet of the unknowns as written.
    pub fn lift<'a>(&self, point: &'a dyn Fn(Symbol) -> f64) -> Lift<'a> {
        let roots: Vec<ExprId> = self
            .extra
            .iter()
            .flat_map(|extra| extra.derivatives.iter().copied())
            .collect();
        let symbols = self.equations.symbols();
        let values = self
            .equations
            .graph()
            .evaluate(&roots, |id| match symbols.get(id) {
                Symbol::Parameter(index) => self.parameters[index],
                symbol => point(symbol),
            });
        let mut values = values.into_iter();
        let of_extra = |extra: &Extra| values.by_ref().take(extra.derivatives.len()).collect();
        Lift {
            point,
            first: self.extra.first().map_or(usize::MAX, |extra| extra.unknown),
            values: self.extra.iter().map(of_extra).collect(),
        }
    }

    /// Coefficients 0 to `n_orders - 1` of all unknowns, new ones behind the written ones, along a jet of the unknowns as
    /// written at a time; by order and unknown.
    ///
    /// `None` where a definition of a new unknown has no value, or the jet is too short: it needs
    /// [`Repaired::definition_order`] coefficients more.
    pub fn lifted(&self, time: f64, jet: &TaylorJet, n_orders: usize) -> Option<Vec<Vec<f64>>> {
        let needed = n_orders + self.definition_order();
        if n_orders == 0 || jet.n_orders() < needed {
            return None;
        }
        let definitions = self.definitions();
        let tape = self.equations.compile(&definitions);
        let mut series: Jet = JetEvaluator::new(Arc::new(tape), n_orders - 1);
        let inputs = series.inputs_mut();
        inputs.parameters_mut().copy_from_slice(&self.parameters);
        inputs.set_time(time);
        for order in 0..inputs.n_orders().min(needed) {
            let row = inputs.row_mut(order);
            row[..self.n_written].copy_from_slice(jet.row(order)?);
        }
        let mut coefficients = Vec::with_capacity(n_orders);
        for order in 0..n_orders {
            series.extend(i32::try_from(order).ok()?).ok()?;
            let mut row = jet.row(order)?.to_vec();
            row.extend((0..definitions.len()).map(|extra| series.root(extra, order)));
            coefficients.push(row);
        }
        Some(coefficients)
    }

    /// The highest derivative of an unknown as written in the definitions of new unknowns.
    pub fn definition_order(&self) -> usize {
        let symbols = self.equations.symbols();
        let held = Walker::new().symbols(self.equations.graph(), &self.definitions());
        let orders = held.into_iter().map(|id| match symbols.get(id) {
            Symbol::Unknown { order, .. } => order as usize,
            _ => 0,
        });
        orders.max().unwrap_or(0)
    }

    /// What the new unknowns stand for.
    fn definitions(&self) -> Vec<ExprId> {
        let extra = self.extra.iter();
        extra.map(|extra| extra.derivatives[0]).collect()
    }

    /// Blocks of the repaired system Jacobian that are not certainly nonsingular at a jet of the unknowns as written.
    ///
    /// None at a consistent point proves the degrees of freedom there.
    pub fn irregular_blocks(&self, point: &dyn Fn(Symbol) -> f64) -> Vec<usize> {
        let lift = self.lift(point);
        let form = BlockForm::new(&self.equations, &self.structure, &self.parameters);
        form.uncertain_at(&|symbol| lift.value(symbol))
    }

    /// Appends the name of a symbol of the repaired equations.
    pub fn write_name(&self, names: &Names<'_>, symbol: Symbol, text: &mut String) {
        write_name(names, &self.extra, symbol, text);
    }

    /// An expression of the repaired equations in the user's names, if that takes at most `limit` bytes.
    pub fn expression_text(&self, names: &Names<'_>, expr: ExprId, limit: usize) -> Option<String> {
        let symbols = self.equations.symbols();
        let write = |id, text: &mut String| self.write_name(names, symbols.get(id), text);
        self.equations.graph().modelica(expr, limit, write).ok()
    }
}

/// Appends the name of a symbol that may be a new unknown.
pub(super) fn write_name(names: &Names<'_>, extra: &[Extra], symbol: Symbol, text: &mut String) {
    if let Symbol::Unknown { unknown, order } = symbol
        && let Some(extra) = extra.iter().find(|extra| extra.unknown == unknown)
    {
        text.extend(std::iter::repeat_n("der(", order as usize));
        text.push_str(&extra.name);
        text.extend(std::iter::repeat_n(')', order as usize));
    } else {
        (names.symbol)(symbol, text);
    }
}

/// A jet of the unknowns as written with the new unknowns that belong to it.
pub struct Lift<'a> {
    point: &'a dyn Fn(Symbol) -> f64,
    /// The number of the first new unknown.
    first: usize,
    /// Derivatives of each new unknown.
    values: Vec<Vec<f64>>,
}

impl Lift<'_> {
    /// The derivatives of each new unknown, from order 0 on.
    pub(crate) fn into_values(self) -> Vec<Vec<f64>> {
        self.values
    }

    /// The value of a symbol; NaN for a derivative of a new unknown that the equations do not hold.
    pub fn value(&self, symbol: Symbol) -> f64 {
        match symbol {
            Symbol::Unknown { unknown, order } if unknown >= self.first => {
                let of_unknown = self.values.get(unknown - self.first);
                let value = of_unknown.and_then(|values| values.get(order as usize));
                value.copied().unwrap_or(f64::NAN)
            }
            symbol => (self.point)(symbol),
        }
    }
}
