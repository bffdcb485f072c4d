//! Trivial equations removed before evaluation, and the way back to the user's unknowns.
//!
//! An equation is removed together with an unknown that it gives as a formula of the others: aliases
//! v = ±x + c, velocities v = der(x), and explicit assignments v = g(...). The unknown enters such an
//! equation with a constant factor, so nothing is divided by what could vanish, and the formula is
//! defined and smooth everywhere, so that no singularity leaves with it. The offsets of the model as
//! written must stay valid (`Admission`), and the form inherits them: degrees of freedom and singular
//! points are those of the model, and every formula reads derivatives that are part of a point.
//! `docs/theory/system.md`, section 3, has the argument. The analysis counts on [`System`].

use crate::admission::Admission;
use crate::affine::{Affine, Manner, manner, may_divide_by, scaled};
use crate::equations::{Equations, Variables};
use crate::explain::{FaultPlace, Subject};
use crate::inputs::move_along;
use crate::structure::Structure;
use crate::system::System;
use daelight_expr::{
    BinaryOp, ExprId, FastMap, Fault, Graph, Inputs, JacobianSeries, JetEvaluator, Node,
    SeriesRoot, SymbolId, Tape, UnaryOp, Walker,
};
use daelight_lang::{Span, Symbol, Symbols};
use std::sync::{Arc, OnceLock};

/// Highest derivative of an unknown that removal may create: longer chains of integrators are cut,
/// because coefficient k of x^(s) carries the factor (k+s)!/k!.
const MAX_ORDER: u32 = 4;

/// Largest power of ten between an unknown and an alias of it, however long the chain.
const MAX_SPREAD: f64 = 6.0;

/// Most unknowns in an equation that is solved for one of them, and most other equations with it.
const MAX_COLUMNS: usize = 12;

/// How often explicit assignments are looked for; each round can shorten a chain of them by half.
const MAX_ROUNDS: usize = 4;

/// A system without its trivial equations: fewer unknowns, derivatives of order above 1.
#[derive(Clone)]
pub struct Reduced {
    equations: Equations,
    /// With the offsets of the model as written, raised where the rule of trimming asked for it.
    structure: Option<Structure>,
    kept_unknowns: Vec<usize>,
    kept_equations: Vec<usize>,
    /// Every unknown of the model as an expression of the kept ones.
    formulas: Vec<ExprId>,
    /// What evaluates them, once it was asked for.
    formula_tape: OnceLock<Arc<Tape>>,
    /// The equation that gives each removed unknown.
    given_by: Vec<Option<usize>>,
    spans: FastMap<ExprId, Span>,
    /// What decides between branches, as it was before unknowns were replaced in it.
    written: FastMap<ExprId, ExprId>,
}

impl Reduced {
    /// Removes the trivial equations of a system. The cost is linear in its size.
    ///
    /// Nothing is removed where the equations have no transversal: there are no offsets then, and no form to integrate.
    pub fn new(system: &System) -> Self {
        let Ok(structure) = system.structure() else {
            return Elimination::new(system).finish(system, None);
        };
        let mut work = Elimination::new(system);
        let mut admission = Admission::new(structure);
        work.demand_conditions(&mut admission);
        work.remove_aliases(&mut admission);
        for _ in 0..MAX_ROUNDS {
            if !work.remove_assignments(&mut admission) {
                break;
            }
        }
        let trimmed = work.finish(system, Some(&admission));
        match trimmed.structure {
            Some(_) => trimmed,
            // No transversal is left: the system Jacobian is singular everywhere, (9), and so is the written one.
            None => Self::nothing(system),
        }
    }

    /// The system as it is: nothing removed.
    pub fn nothing(system: &System) -> Self {
        let mut whole = Elimination::new(system).finish(system, None);
        whole.structure = system.structure().ok().cloned();
        whole
    }

    /// Offsets and blocks of the equations that are left; `None` where the model has no transversal.
    pub fn structure(&self) -> Option<&Structure> {
        self.structure.as_ref()
    }

    /// The equations that are left, over the unknowns that are left.
    pub fn equations(&self) -> &Equations {
        &self.equations
    }

    /// The unknowns that are left, by position in the model.
    pub fn kept_unknowns(&self) -> &[usize] {
        &self.kept_unknowns
    }

    /// The equations that are left, by position in the model.
    pub fn kept_equations(&self) -> &[usize] {
        &self.kept_equations
    }

    /// Removed unknowns with the equations that give them, by position in the model.
    pub fn removed(&self) -> impl Iterator<Item = (usize, usize)> {
        self.given_by
            .iter()
            .enumerate()
            .filter_map(|(unknown, given_by)| Some((unknown, (*given_by)?)))
    }

    /// An unknown of the model as an expression of the kept ones and their derivatives.
    pub fn formula(&self, unknown: usize) -> ExprId {
        self.formulas[unknown]
    }

    /// The formula of an unknown in the user's names, if that takes at most `limit` bytes.
    pub fn text(&self, system: &System, unknown: usize, limit: usize) -> Option<String> {
        system.write(&self.equations, self.formulas[unknown], limit)
    }

    /// An expression of the kept equations in the user's names, if that takes at most `limit` bytes.
    ///
    /// What decides between branches is shown as it was written, with the unknowns that were removed.
    pub fn expression_text(&self, system: &System, expr: ExprId, limit: usize) -> Option<String> {
        let written = self.written.get(&expr).copied().unwrap_or(expr);
        let text = system.write(&self.equations, written, limit);
        // What is too long to write out is shown as it stands in the text.
        text.or_else(|| {
            let place = self.spans.get(&written).or(self.spans.get(&expr))?;
            Some(daelight_lang::shorten(
                system.sources().slice(*place),
                limit,
            ))
        })
    }

    /// The kept unknown, by position among the kept, and its derivative that an unknown equals.
    ///
    /// `None` when its formula is not that simple.
    pub fn derivative_of(&self, unknown: usize) -> Option<(usize, u32)> {
        let symbol = self.equations.graph().as_symbol(self.formulas[unknown])?;
        match self.equations.slot(symbol) {
            daelight_expr::Slot::Variable { index, order } => Some((index as usize, order)),
            _ => None,
        }
    }

    /// The series of residuals and matrices along a jet of the kept unknowns.
    pub fn series<J: JetEvaluator>(&self, order: usize, parameters: &[f64]) -> JacobianSeries<J> {
        self.equations.series(order, parameters)
    }

    /// The way back: series of all unknowns of the model from those of the kept ones.
    pub fn recovery<J: JetEvaluator>(&self, order: usize, parameters: &[f64]) -> Recovery<J> {
        let compile = || Arc::new(self.equations.compile(&self.formulas));
        let tape = self.formula_tape.get_or_init(compile);
        let mut jet = J::new(Arc::clone(tape), order);
        jet.inputs_mut()
            .parameters_mut()
            .copy_from_slice(parameters);
        Recovery { jet }
    }

    /// Picks the kept unknowns out of values for all unknowns.
    pub fn restrict(&self, all: &[f64], kept: &mut [f64]) {
        for (place, &unknown) in kept.iter_mut().zip(&self.kept_unknowns) {
            *place = all[unknown];
        }
    }

    /// Says where a fault of the kept equations stands in the text.
    pub fn explain(&self, system: &System, fault: &Fault) -> FaultPlace {
        let (kept, by) = match self.equations.root(fault.root) {
            SeriesRoot::Residual { equation } => (equation, None),
            SeriesRoot::Entry {
                equation,
                unknown,
                derivative,
            } => (equation, Some((self.kept_unknowns[unknown], derivative))),
        };
        let equation = self.kept_equations[kept];
        let subject = Subject {
            equation,
            written: &system.written()[equation],
            by,
        };
        system.describe(&self.equations, &self.spans, fault, &subject)
    }

    /// Says where a fault of a [`Recovery`] stands in the text.
    ///
    /// `None` when the unknown was kept: then its own value was no finite number.
    pub fn explain_recovery(&self, system: &System, fault: &Fault) -> Option<FaultPlace> {
        let equation = self.given_by[fault.root]?;
        let subject = Subject {
            equation,
            written: &system.written()[equation],
            by: None,
        };
        Some(system.describe(&self.equations, &self.spans, fault, &subject))
    }
}

/// Series of all unknowns of the model along a jet of the kept ones.
#[derive(Clone, Debug)]
pub struct Recovery<J> {
    jet: J,
}

impl<J: JetEvaluator> Recovery<J> {
    /// The coefficients of the kept unknowns, the parameters and the time.
    pub fn inputs(&self) -> &Inputs {
        self.jet.inputs()
    }

    /// The coefficients of the kept unknowns, the parameters and the time, to be written.
    pub fn inputs_mut(&mut self) -> &mut Inputs {
        self.jet.inputs_mut()
    }

    /// How many rows of coefficients of the kept unknowns the first coefficients of all unknowns need.
    pub fn rows_for(&self, n_orders: usize) -> usize {
        let needed = n_orders + self.jet.tape().max_slot_order();
        needed.min(self.inputs().n_orders())
    }

    /// Computes coefficient k of all unknowns; needs x_{k+s} where a formula holds x^(s).
    ///
    /// Allocates nothing.
    pub fn extend(&mut self, k: usize) -> Result<(), Fault> {
        self.jet
            .extend(i32::try_from(k).expect("orders are small numbers"))
    }

    /// Coefficient k of an unknown of the model.
    pub fn coefficient(&self, unknown: usize, k: usize) -> f64 {
        self.jet.root(unknown, k)
    }

    /// Coefficient k of all unknowns of the model.
    pub fn row(&self, k: usize, into: &mut [f64]) {
        for (unknown, place) in into.iter_mut().enumerate() {
            *place = self.coefficient(unknown, k);
        }
    }
}

/// A removed unknown: `factor * of^(order) + offset`, or the offset alone.
#[derive(Clone, Copy, Debug)]
struct Alias {
    of: Option<usize>,
    order: u32,
    factor: f64,
    /// An expression of time and parameters; `None` is 0.
    offset: Option<ExprId>,
}

/// The state of one elimination.
struct Elimination {
    graph: Graph,
    symbols: Symbols,
    spans: FastMap<ExprId, Span>,
    written: FastMap<ExprId, ExprId>,
    walker: Walker,
    n_unknowns: usize,
    fixed: Vec<bool>,
    /// The equations that are left, with their residuals as they stand now.
    rows: Vec<(usize, ExprId)>,
    aliases: Vec<Option<Alias>>,
    /// Explicit assignments of each round; later rounds replace what earlier ones mention.
    assigned: Vec<Vec<(usize, ExprId)>>,
    given_by: Vec<Option<usize>>,
    /// Highest derivative of an unknown that will be needed.
    highest: Vec<u32>,
    /// Largest |log10| of a factor by which an alias of an unknown differs from it.
    spread: Vec<f64>,
}

impl Elimination {
    fn new(system: &System) -> Self {
        let equations = system.equations();
        let n_unknowns = system.unknowns().len();
        let mut highest = vec![0; n_unknowns];
        for &column in equations.pattern(1).columns() {
            highest[column as usize] = 1;
        }
        Self {
            graph: Graph::clone(equations.graph()),
            symbols: Symbols::clone(equations.symbols()),
            spans: system.spans().clone(),
            written: FastMap::default(),
            walker: Walker::new(),
            n_unknowns,
            fixed: system.unknowns().iter().map(|u| u.fixed).collect(),
            rows: equations.residuals().iter().copied().enumerate().collect(),
            aliases: vec![None; n_unknowns],
            assigned: Vec::new(),
            given_by: vec![None; n_unknowns],
            highest,
            spread: vec![0.0; n_unknowns],
        }
    }

    /// Lets the offsets reach the derivatives that only conditions read.
    fn demand_conditions(&mut self, admission: &mut Admission) {
        let occurrences = Occurrences::new(self);
        for (&(equation, _), here) in self.rows.iter().zip(&occurrences.of_row) {
            for &(unknown, order) in here {
                admission.demand(equation, unknown, order);
            }
        }
    }

    /// Unknown and order of a symbol that is an unknown.
    fn unknown(&self, id: SymbolId) -> Option<(usize, u32)> {
        match self.symbols.get(id) {
            Symbol::Unknown { unknown, order } => Some((unknown, order)),
            _ => None,
        }
    }

    fn derivative(&mut self, expr: ExprId, order: u32) -> ExprId {
        let symbols = &mut self.symbols;
        (0..order).fold(expr, |expr, _| {
            self.graph
                .derivatives_along(&[expr], |graph, id| symbols.rate(graph, id))[0]
        })
    }

    /// Follows aliases to what is kept, and shortens the way for the next time.
    fn resolve(&mut self, unknown: usize) -> Alias {
        let mut chain = Vec::new();
        let mut at = unknown;
        while let Some(alias) = self.aliases[at] {
            chain.push(at);
            match alias.of {
                Some(next) => at = next,
                None => break,
            }
        }
        let mut found = Alias {
            of: Some(at),
            order: 0,
            factor: 1.0,
            offset: None,
        };
        for link in chain.into_iter().rev() {
            let alias = self.aliases[link].expect("links are aliases");
            found = match alias.of {
                None => alias,
                Some(_) => self.compose(alias, found),
            };
            self.aliases[link] = Some(found);
        }
        found
    }

    /// An alias of an alias.
    fn compose(&mut self, outer: Alias, inner: Alias) -> Alias {
        let moved = inner.offset.map(|offset| {
            let derivative = self.derivative(offset, outer.order);
            scaled(&mut self.graph, outer.factor, derivative)
        });
        Alias {
            of: inner.of,
            order: inner.order + outer.order,
            factor: outer.factor * inner.factor,
            offset: self.plus(outer.offset, moved),
        }
    }

    fn plus(&mut self, a: Option<ExprId>, b: Option<ExprId>) -> Option<ExprId> {
        match (a, b) {
            (Some(a), Some(b)) => Some(self.graph.add(a, b)),
            (a, b) => a.or(b),
        }
    }

    /// The expression of `alias` differentiated `order` times.
    fn expression(&mut self, alias: Alias, order: u32) -> ExprId {
        let base = alias.of.map(|unknown| {
            let order = alias.order + order;
            let symbol = self.symbols.id(Symbol::Unknown { unknown, order });
            let leaf = self.graph.symbol(symbol);
            scaled(&mut self.graph, alias.factor, leaf)
        });
        let offset = alias.offset.map(|offset| self.derivative(offset, order));
        match self.plus(base, offset) {
            Some(sum) => sum,
            None => self.graph.constant(0.0),
        }
    }

    /// Removes aliases and velocities: equations of one or two unknowns with constant factors.
    fn remove_aliases(&mut self, admission: &mut Admission) {
        let mut rows = std::mem::take(&mut self.rows);
        let n_before = rows.len();
        rows.retain(|&(equation, residual)| !self.try_alias(admission, equation, residual));
        self.rows = rows;
        if self.rows.len() < n_before {
            self.substitute(|work, unknown, order| {
                work.aliases[unknown]?;
                let alias = work.resolve(unknown);
                Some(work.expression(alias, order))
            });
        }
    }

    /// Takes one equation as the definition of an unknown, if it is an alias or a velocity.
    fn try_alias(&mut self, admission: &mut Admission, equation: usize, residual: ExprId) -> bool {
        let occurring = self.walker.symbols(&self.graph, &[residual]);
        let n_unknowns = occurring
            .iter()
            .filter(|&&id| self.unknown(id).is_some())
            .count();
        if n_unknowns == 0 || n_unknowns > 2 {
            return false;
        }
        let Some(sum) = Affine::of(&self.graph, &self.symbols, residual) else {
            return false;
        };
        // All unknowns must be in the linear part, once each.
        let rest = self.manner(&sum.rest);
        let names: Vec<ExprId> = sum.rest.iter().map(|&(expr, _)| expr).collect();
        let hidden = self.walker.symbols(&self.graph, &names);
        if rest == Manner::Rough || hidden.iter().any(|&id| self.unknown(id).is_some()) {
            return false;
        }
        let mut offset = None;
        for (expr, factor) in sum.rest {
            let term = scaled(&mut self.graph, factor, expr);
            offset = self.plus(offset, Some(term));
        }
        let mut terms: Vec<(usize, u32, f64)> = Vec::new();
        for (symbol, factor) in sum.terms {
            let (unknown, order) = self.unknown(symbol).expect("terms are unknowns");
            let outer = Alias {
                of: Some(unknown),
                order,
                factor,
                offset: None,
            };
            let inner = self.resolve(unknown);
            let term = self.compose(outer, inner);
            offset = self.plus(offset, term.offset);
            if let Some(base) = term.of {
                let same = |t: &&mut (usize, u32, f64)| (t.0, t.1) == (base, term.order);
                match terms.iter_mut().find(same) {
                    Some(before) => before.2 += term.factor,
                    None => terms.push((base, term.order, term.factor)),
                }
            }
        }
        terms.retain(|&(.., factor)| factor != 0.0);
        admission.limit(
            equation,
            terms.iter().map(|&(base, order, _)| (base, order)),
        );
        let choices = match terms[..] {
            [only] => vec![(only, None)],
            [a, b] if a.0 != b.0 && self.is_better_removed(a, b) => {
                vec![(a, Some(b)), (b, Some(a))]
            }
            [a, b] if a.0 != b.0 => vec![(b, Some(a)), (a, Some(b))],
            _ => return false,
        };
        choices
            .into_iter()
            .any(|(removed, other)| self.take_alias(admission, equation, removed, other, offset))
    }

    /// Removes an unknown with an equation that makes it `other` times a number plus an offset, if it may leave.
    fn take_alias(
        &mut self,
        admission: &mut Admission,
        equation: usize,
        (unknown, order, divisor): (usize, u32, f64),
        other: Option<(usize, u32, f64)>,
        offset: Option<ExprId>,
    ) -> bool {
        let beyond = other.map_or(0, |(_, order, _)| order) + self.highest[unknown];
        if order != 0 || !may_divide_by(divisor) || beyond > MAX_ORDER {
            return false;
        }
        let spread = other.map_or(0.0, |(.., factor)| {
            (factor / divisor).abs().log10().abs() + self.spread[unknown]
        });
        if spread.is_nan() || spread > MAX_SPREAD || !admission.admit(equation, unknown) {
            return false;
        }
        if let Some((base, ..)) = other {
            self.spread[base] = self.spread[base].max(spread);
            self.highest[base] = self.highest[base].max(beyond);
        }
        self.aliases[unknown] = Some(Alias {
            of: other.map(|(base, ..)| base),
            order: other.map_or(0, |(_, order, _)| order),
            factor: other.map_or(0.0, |(.., factor)| -factor / divisor),
            offset: offset.map(|offset| scaled(&mut self.graph, -1.0 / divisor, offset)),
        });
        self.given_by[unknown] = Some(equation);
        true
    }

    /// Which of two terms to solve for: never a derivative, rather not a fixed value or a state.
    fn is_better_removed(&self, a: (usize, u32, f64), b: (usize, u32, f64)) -> bool {
        let cost = |(unknown, order, divisor): (usize, u32, f64)| {
            (
                order != 0 || !may_divide_by(divisor),
                self.fixed[unknown],
                self.highest[unknown],
                usize::MAX - unknown,
            )
        };
        cost(a) < cost(b)
    }

    fn manner(&mut self, terms: &[(ExprId, f64)]) -> Manner {
        manner(&self.graph, &self.symbols, &mut self.walker, terms)
    }

    /// Removes explicit assignments v = g(...) of unknowns that are never differentiated.
    ///
    /// Within a round a formula mentions only unknowns that stay, so that no circle can arise.
    fn remove_assignments(&mut self, admission: &mut Admission) -> bool {
        let occurrences = Occurrences::new(self);
        for (&(equation, _), here) in self.rows.iter().zip(&occurrences.of_row) {
            admission.limit(equation, here.iter().copied());
        }
        let mut locked = vec![false; self.n_unknowns];
        let mut gone = vec![false; self.n_unknowns];
        let mut assigned = Vec::new();
        let mut is_left = vec![true; self.rows.len()];
        // Formulas without derivatives first: what an unknown stands in, a switch above all, keeps its order.
        for has_derivatives in [false, true] {
            for (row, here) in occurrences.of_row.iter().enumerate() {
                if here.iter().any(|&(_, order)| order > 0) != has_derivatives {
                    continue;
                }
                let found = self.find_assignment(admission, &occurrences, row, &locked, &gone);
                let Some((unknown, formula)) = found else {
                    continue;
                };
                for &(other, _) in here {
                    locked[other] = true;
                }
                gone[unknown] = true;
                is_left[row] = false;
                self.given_by[unknown] = Some(self.rows[row].0);
                assigned.push((unknown, formula));
            }
        }
        if assigned.is_empty() {
            return false;
        }
        let mut is_left = is_left.into_iter();
        self.rows.retain(|_| is_left.next() == Some(true));
        let formulas: FastMap<usize, ExprId> = assigned.iter().copied().collect();
        self.substitute(|_, unknown, order| {
            let formula = formulas.get(&unknown).copied();
            debug_assert!(formula.is_none() || order == 0, "used algebraically");
            formula
        });
        self.assigned.push(assigned);
        true
    }

    /// The unknown that a row gives best among those that may leave, with its formula.
    fn find_assignment(
        &mut self,
        admission: &mut Admission,
        occurrences: &Occurrences,
        row: usize,
        locked: &[bool],
        gone: &[bool],
    ) -> Option<(usize, ExprId)> {
        let here = &occurrences.of_row[row];
        let is_free = |unknown: usize| {
            !locked[unknown]
                && occurrences.highest[unknown] == 0
                && occurrences.rows[unknown].len() <= MAX_COLUMNS
        };
        if here.len() > MAX_COLUMNS
            || here.iter().any(|&(unknown, _)| gone[unknown])
            || !here.iter().any(|&(unknown, _)| is_free(unknown))
        {
            return None;
        }
        let sum = Affine::of(&self.graph, &self.symbols, self.rows[row].1)?;
        if self.manner(&sum.rest) == Manner::Rough {
            return None;
        }
        let names: Vec<ExprId> = sum.rest.iter().map(|&(expr, _)| expr).collect();
        let elsewhere: Vec<(usize, u32)> = self
            .walker
            .symbols(&self.graph, &names)
            .into_iter()
            .filter_map(|id| self.unknown(id))
            .collect();
        let mut choices: Vec<(usize, f64, SymbolId)> = sum
            .terms
            .iter()
            .filter_map(|&(symbol, factor)| {
                let (unknown, order) = self.unknown(symbol)?;
                let fits = order == 0
                    && may_divide_by(factor)
                    && is_free(unknown)
                    && !elsewhere.iter().any(|&(other, _)| other == unknown)
                    && occurrences.stays_sparse(row, unknown);
                fits.then_some((unknown, factor, symbol))
            })
            .collect();
        choices.sort_by_key(|&(unknown, ..)| occurrences.rows[unknown].len());
        let equation = self.rows[row].0;
        let (best, divisor, symbol) = choices
            .into_iter()
            .find(|&(unknown, ..)| admission.admit(equation, unknown))?;
        let others = sum
            .terms
            .iter()
            .filter(|&&(other, factor)| other != symbol && factor != 0.0);
        let terms: Vec<(ExprId, f64)> = others
            .map(|&(other, factor)| (self.graph.symbol(other), factor))
            .chain(sum.rest.iter().copied())
            .map(|(expr, factor)| (expr, -factor / divisor))
            .collect();
        let mut total = None;
        for (expr, factor) in terms {
            let term = scaled(&mut self.graph, factor, expr);
            total = self.plus(total, Some(term));
        }
        let formula = match total {
            Some(total) => total,
            None => self.graph.constant(0.0),
        };
        Some((best, formula))
    }

    /// Replaces unknowns in all rows that are left.
    fn substitute(&mut self, mut formula: impl FnMut(&mut Self, usize, u32) -> Option<ExprId>) {
        let mut roots: Vec<ExprId> = self.rows.iter().map(|&(_, residual)| residual).collect();
        let mut images = FastMap::default();
        for id in self.walker.symbols(&self.graph, &roots) {
            if let Some((unknown, order)) = self.unknown(id)
                && let Some(expr) = formula(self, unknown, order)
            {
                images.insert(id, expr);
            }
        }
        let pairs = self
            .graph
            .substitution(&roots, |_, id| images.get(&id).copied());
        for &(old, new) in &pairs {
            if old != new && decides(self.graph.node(old)) {
                let first = self.written.get(&old).copied().unwrap_or(old);
                self.written.entry(new).or_insert(first);
            }
        }
        move_along(&pairs, &mut self.spans, &mut roots);
        for (row, root) in self.rows.iter_mut().zip(roots) {
            row.1 = root;
        }
    }

    /// Every unknown of the model as an expression of those that are kept.
    fn formulas(&mut self) -> Vec<ExprId> {
        let mut formulas = Vec::with_capacity(self.n_unknowns);
        for unknown in 0..self.n_unknowns {
            let alias = self.resolve(unknown);
            formulas.push(self.expression(alias, 0));
        }
        // An assignment of an early round can mention what a later one removed, never the reverse.
        let rounds = std::mem::take(&mut self.assigned);
        let mut known: FastMap<(usize, u32), ExprId> = FastMap::default();
        for round in rounds.into_iter().rev() {
            let mut roots: Vec<ExprId> = round.iter().map(|&(_, formula)| formula).collect();
            self.replace_known(&mut known, &mut roots);
            for (&(unknown, _), formula) in round.iter().zip(roots) {
                known.insert((unknown, 0), formula);
            }
        }
        if !known.is_empty() {
            self.replace_known(&mut known, &mut formulas);
        }
        formulas
    }

    /// Replaces assigned unknowns and their derivatives in the roots.
    fn replace_known(&mut self, known: &mut FastMap<(usize, u32), ExprId>, roots: &mut [ExprId]) {
        let mut images = FastMap::default();
        for id in self.walker.symbols(&self.graph, roots) {
            let Some((unknown, order)) = self.unknown(id) else {
                continue;
            };
            let Some(&formula) = known.get(&(unknown, 0)) else {
                continue;
            };
            let derivative = match known.get(&(unknown, order)) {
                Some(&derivative) => derivative,
                None => self.derivative(formula, order),
            };
            known.insert((unknown, order), derivative);
            images.insert(id, derivative);
        }
        let pairs = self
            .graph
            .substitution(roots, |_, id| images.get(&id).copied());
        move_along(&pairs, &mut self.spans, roots);
    }

    fn finish(mut self, system: &System, admission: Option<&Admission>) -> Reduced {
        let formulas = self.formulas();
        let kept_unknowns: Vec<usize> = (0..self.n_unknowns)
            .filter(|&unknown| self.given_by[unknown].is_none())
            .collect();
        let (kept_equations, residuals): (Vec<usize>, Vec<ExprId>) = self.rows.into_iter().unzip();
        let variables = Variables::some(self.n_unknowns, &kept_unknowns);
        let symbols = &self.symbols;
        let matrices = self.graph.jacobians(&residuals, kept_unknowns.len(), |id| {
            variables.slot(symbols, id)
        });
        let equations = Equations::new(
            Arc::new(self.graph),
            Arc::new(self.symbols),
            variables,
            residuals,
            matrices,
            system.parameters().len(),
        );
        let structure = admission.and_then(|admission| {
            let offsets = admission.offsets(&kept_equations, &kept_unknowns);
            Structure::inherited(&equations, offsets)
        });
        Reduced {
            equations,
            structure,
            kept_unknowns,
            kept_equations,
            formulas,
            formula_tape: OnceLock::new(),
            given_by: self.given_by,
            spans: self.spans,
            written: self.written,
        }
    }
}

/// Whether a node decides between branches: abs, sign, min, max or a relation.
fn decides(node: Node) -> bool {
    match node {
        Node::Unary(op, _) => matches!(op, UnaryOp::Abs | UnaryOp::Sign),
        Node::Binary(op, ..) => matches!(
            op,
            BinaryOp::Min
                | BinaryOp::Max
                | BinaryOp::Less
                | BinaryOp::LessEqual
                | BinaryOp::Greater
                | BinaryOp::GreaterEqual
                | BinaryOp::Equal
                | BinaryOp::NotEqual
        ),
        _ => false,
    }
}

/// Which unknowns occur in which rows, at which orders.
struct Occurrences {
    /// Unknowns and orders of each row, ascending.
    of_row: Vec<Vec<(usize, u32)>>,
    /// Rows of each unknown, ascending.
    rows: Vec<Vec<usize>>,
    /// Highest order of each unknown.
    highest: Vec<u32>,
}

impl Occurrences {
    fn new(work: &mut Elimination) -> Self {
        let mut rows = vec![Vec::new(); work.n_unknowns];
        let mut highest = vec![0; work.n_unknowns];
        let mut of_row = Vec::with_capacity(work.rows.len());
        for (row, &(_, residual)) in work.rows.iter().enumerate() {
            let mut here: Vec<(usize, u32)> = work
                .walker
                .symbols(&work.graph, &[residual])
                .into_iter()
                .filter_map(|id| match work.symbols.get(id) {
                    Symbol::Unknown { unknown, order } => Some((unknown, order)),
                    _ => None,
                })
                .collect();
            here.sort_unstable();
            for &(unknown, order) in &here {
                highest[unknown] = order.max(highest[unknown]);
                if rows[unknown].last() != Some(&row) {
                    rows[unknown].push(row);
                }
            }
            of_row.push(here);
        }
        Self {
            of_row,
            rows,
            highest,
        }
    }

    /// Whether putting the formula from `row` for an unknown makes no matrix fuller than it was.
    fn stays_sparse(&self, row: usize, unknown: usize) -> bool {
        let new = &self.of_row[row];
        let others = self.rows[unknown].iter().filter(|&&other| other != row);
        let (mut fill, mut saved) = (0, new.len());
        for &other in others {
            let there = &self.of_row[other];
            fill += new
                .iter()
                .filter(|entry| there.binary_search(entry).is_err())
                .count();
            saved += 1;
        }
        fill <= saved
    }
}
