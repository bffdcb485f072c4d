//! Linear systems of any shape by elimination with functions of time: what is determined, what is free, and what the
//! right-hand side must satisfy, as formulas. Section 7 of `docs/theory/linear.md`.

use super::finish::{equation, take_parameters};
use super::rows::MAX_NODES;
use super::{IndexReduced, Meaning, Refusal, listed, ordinal};
use crate::canonical::SATISFIED;
use crate::initial::nominal;
use crate::judgement::MAX_NUMERICAL;
use crate::linear::LinearSystem;
use crate::system::System;
use crate::tolerances::{FAR_OFF, ROUNDING, ZERO};
use daelight_expr::{BinaryOp, ExprId, Graph, Node, UnaryOp};
use daelight_lang::{Equation, PARAGRAPH, Remarks, Span, Symbol, Symbols};
use std::collections::BTreeMap;

/// A sum is zero below [`ZERO`] of its terms at all samples, and not zero above this part at one of them.
const NOT_ZERO: f64 = 1e-7;
/// A pivot at the point must not be smaller than this part of its row.
const SMALLEST_PIVOT: f64 = 1e-8;
/// How much worse a pivot may be that is a number, or at least constant, before another one is preferred.
const NUMBERS_FIRST: f64 = 0.1;
/// Times around the point at which functions are compared with zero, in units of 1 + |t|.
const SAMPLES: [f64; 9] = [
    0.0, 0.0173, -0.0119, 0.1417, -0.0937, 0.7321, -0.6113, 1.9153, -1.7271,
];
/// Fewest samples with values that a decision rests on.
const FEWEST_SAMPLES: usize = 3;

/// An equation sum e_j x_j' + sum b_j x_j + rest = 0; an entry that vanishes is the constant 0.
#[derive(Clone)]
struct LinearRow {
    e: Vec<ExprId>,
    b: Vec<ExprId>,
    rest: ExprId,
    /// The equations it is a combination of, and how often each was differentiated.
    origins: BTreeMap<usize, usize>,
    /// What was divided by, where that is no number.
    divisors: Vec<ExprId>,
}

/// A row solved for an unknown, or for its derivative: that entry is 1.
struct Solved {
    row: LinearRow,
    pivot: usize,
}

/// Which entries of a row.
#[derive(Clone, Copy)]
enum Part {
    /// Those of the derivatives.
    Derivatives,
    /// Those of the unknowns themselves.
    Unknowns,
}

impl LinearRow {
    fn entries(&self, part: Part) -> &[ExprId] {
        match part {
            Part::Derivatives => &self.e,
            Part::Unknowns => &self.b,
        }
    }
}

/// A condition on the right-hand side: a function of time that vanishes where the system has solutions.
#[derive(Clone, Debug)]
pub struct TimeCondition {
    /// The function as text, if that is short.
    pub text: Option<String>,
    /// Whether it says 0 = 0, as far as samples tell.
    pub is_identity: bool,
    /// Where it comes from, in words.
    pub origin: String,
    /// The equations it comes from.
    pub equations: Vec<usize>,
    expr: ExprId,
}

/// How well the conditions hold.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ConditionResidual {
    /// Which condition is violated most.
    pub condition: usize,
    /// The time of the largest relative residual.
    pub time: f64,
    /// The residual there.
    pub residual: f64,
    /// Relative to the terms that it is the sum of.
    pub relative: f64,
}

impl ConditionResidual {
    /// Whether it is rounding.
    pub fn is_satisfied(&self) -> bool {
        self.relative <= SATISFIED
    }

    /// Whether it is more than rounding.
    pub fn is_violated(&self) -> bool {
        self.relative >= FAR_OFF
    }
}

/// The reduced equations of a linear system, (8) of `docs/theory/linear.md` as formulas.
pub struct LinearReduction<'a> {
    system: &'a System,
    time: f64,
    graph: Graph,
    symbols: Symbols,
    most_nodes: usize,
    /// Solved for derivatives of states; no unknown of `algebraic` occurs.
    differential: Vec<Solved>,
    /// Solved for unknowns that do not occur in each other's rows.
    algebraic: Vec<Solved>,
    conditions: Vec<TimeCondition>,
    /// Unknowns that no row is solved for.
    free: Vec<usize>,
}

impl<'a> LinearReduction<'a> {
    /// Whether something may be free or redundant: the structure fails, and not at single points only.
    pub fn may_be_needed(system: &System) -> bool {
        system.dae().sound().is_none()
    }

    /// Reduces a system whose equations are linear, near a time.
    pub fn new(system: &'a System, time: f64) -> Result<Self, Refusal> {
        LinearSystem::new(system).map_err(|not_linear| Refusal::NotLinear(not_linear.sentence))?;
        let equations = system.equations();
        let (m, n) = (equations.n_equations(), equations.n_unknowns());
        if m.max(n) > MAX_NUMERICAL {
            return Err(Refusal::Undecided(format!(
                "rectangular models are reduced up to {MAX_NUMERICAL} unknowns; this one has {n}"
            )));
        }
        let graph = Graph::clone(equations.graph());
        let mut reduction = Self {
            system,
            time,
            most_nodes: graph.len() + MAX_NODES,
            graph,
            symbols: Symbols::clone(equations.symbols()),
            differential: Vec::new(),
            algebraic: Vec::new(),
            conditions: Vec::new(),
            free: Vec::new(),
        };
        let rows = reduction.written_rows();
        reduction.eliminate(rows)?;
        let solved = reduction.differential.iter().chain(&reduction.algebraic);
        let pivots: Vec<usize> = solved.map(|solved| solved.pivot).collect();
        reduction.free = (0..n).filter(|j| !pivots.contains(j)).collect();
        Ok(reduction)
    }

    /// d, a, u, v: differential and algebraic equations, free unknowns, conditions on the right-hand side.
    pub fn quantities(&self) -> [usize; 4] {
        [
            self.differential.len(),
            self.algebraic.len(),
            self.free.len(),
            self.conditions.len(),
        ]
    }

    /// Unknowns that the equations leave open, as the elimination chose them.
    pub fn free(&self) -> &[usize] {
        &self.free
    }

    /// The conditions on the right-hand side.
    pub fn conditions(&self) -> &[TimeCondition] {
        &self.conditions
    }

    /// The largest relative residual of the conditions at some times; `None` without conditions or values.
    pub fn worst_residual(
        &self,
        times: impl IntoIterator<Item = f64>,
    ) -> Option<ConditionResidual> {
        let mut worst: Option<ConditionResidual> = None;
        for time in times {
            for (condition, found) in self.conditions.iter().enumerate() {
                let (residual, size) = self.sum_and_size(found.expr, time);
                let relative = if residual == 0.0 {
                    0.0
                } else {
                    residual.abs() / size
                };
                let is_worse = worst.is_none_or(|worst| relative > worst.relative);
                if residual.is_finite() && is_worse {
                    worst = Some(ConditionResidual {
                        condition,
                        time,
                        residual,
                        relative,
                    });
                }
            }
        }
        worst
    }

    fn written_rows(&mut self) -> Vec<LinearRow> {
        let equations = self.system.equations();
        let n = equations.n_unknowns();
        let zero = self.graph.constant(0.0);
        let symbols = &self.symbols;
        let rests = self.graph.substitute(equations.residuals(), |_, id| {
            matches!(symbols.get(id), Symbol::Unknown { .. }).then_some(zero)
        });
        let rests = self.graph.tidy(&rests);
        let mut rows: Vec<LinearRow> = rests
            .into_iter()
            .enumerate()
            .map(|(equation, rest)| LinearRow {
                e: vec![zero; n],
                b: vec![zero; n],
                rest,
                origins: BTreeMap::from([(equation, 0)]),
                divisors: Vec::new(),
            })
            .collect();
        for (derivative, jacobian) in [0, 1].map(|k| (k, equations.jacobian(k))) {
            let entries = self.graph.tidy(&jacobian.entries);
            for (row, column, position) in jacobian.pattern.iter() {
                let place = match derivative {
                    0 => &mut rows[row].b,
                    _ => &mut rows[row].e,
                };
                place[column] = entries[position];
            }
        }
        rows
    }

    /// Levels of elimination, (13) of `docs/theory/linear.md`.
    fn eliminate(&mut self, rows: Vec<LinearRow>) -> Result<(), Refusal> {
        let mut pending = rows;
        loop {
            let mut differential = self.solve_for(Part::Derivatives, &mut pending)?;
            let constraints = self.solve_for(Part::Unknowns, &mut pending)?;
            for row in pending {
                let condition = self.condition(&row);
                self.conditions.push(condition);
            }
            if constraints.is_empty() {
                self.differential = differential;
                return Ok(());
            }
            for constraint in &constraints {
                let rate = self.differentiated(&constraint.row);
                let by_rate = (Part::Derivatives, constraint.pivot, &rate);
                let by_row = (Part::Unknowns, constraint.pivot, &constraint.row);
                for (part, pivot, by) in [by_rate, by_row] {
                    for solved in &mut differential {
                        self.clear(&mut solved.row, part, pivot, by)?;
                    }
                }
                let mut earlier = std::mem::take(&mut self.algebraic);
                for solved in &mut earlier {
                    let by = &constraint.row;
                    self.clear(&mut solved.row, Part::Unknowns, constraint.pivot, by)?;
                }
                self.algebraic = earlier;
            }
            self.algebraic.extend(constraints);
            pending = differential.into_iter().map(|solved| solved.row).collect();
        }
    }

    /// Takes rows out that can be solved for different unknowns of a part; none of the others holds these any more.
    fn solve_for(
        &mut self,
        part: Part,
        pending: &mut Vec<LinearRow>,
    ) -> Result<Vec<Solved>, Refusal> {
        let mut solved: Vec<Solved> = Vec::new();
        while let Some((at, pivot)) = self.best_pivot(part, pending)? {
            let mut row = pending.remove(at);
            self.divide(&mut row, part, pivot);
            let others = solved.iter_mut().map(|solved| &mut solved.row);
            for other in others.chain(pending.iter_mut()) {
                self.clear(other, part, pivot, &row)?;
            }
            solved.push(Solved { row, pivot });
        }
        Ok(solved)
    }

    /// The entry that is largest at the point, numbers and parameters first.
    fn best_pivot(
        &self,
        part: Part,
        rows: &[LinearRow],
    ) -> Result<Option<(usize, usize)>, Refusal> {
        let sizes = nominal(self.system);
        let mut best: Option<(f64, usize, usize)> = None;
        let mut is_empty = true;
        for (at, row) in rows.iter().enumerate() {
            let entries = row.entries(part);
            let values = self.values(entries, self.time);
            let value = |j: usize| (values[j] * sizes[j]).abs();
            let largest = (0..entries.len()).map(value).fold(0.0, f64::max);
            for (j, &entry) in entries.iter().enumerate() {
                if self.is_zero(entry) {
                    continue;
                }
                is_empty = false;
                let relative = value(j) / largest;
                let is_constant = self.is_constant(entry);
                let score = relative * if is_constant { 1.0 } else { NUMBERS_FIRST };
                let is_better = best.is_none_or(|(best, ..)| score > best * (1.0 + ROUNDING));
                if relative > SMALLEST_PIVOT && largest > f64::MIN_POSITIVE && is_better {
                    best = Some((score, at, j));
                }
            }
        }
        match best {
            Some((_, at, j)) => Ok(Some((at, j))),
            None if is_empty => Ok(None),
            None => Err(Refusal::Singular),
        }
    }

    fn divide(&mut self, row: &mut LinearRow, part: Part, pivot: usize) {
        let divisor = row.entries(part)[pivot];
        if self.graph.as_constant(divisor) == Some(1.0) {
            return;
        }
        if self.graph.as_constant(divisor).is_none() {
            row.divisors.push(divisor);
        }
        let graph = &mut self.graph;
        let mut by = |expr: &mut ExprId| {
            if graph.as_constant(*expr) != Some(0.0) {
                let quotient = graph.div(*expr, divisor);
                *expr = graph.tidy(&[quotient])[0];
            }
        };
        row.e.iter_mut().chain(&mut row.b).for_each(&mut by);
        by(&mut row.rest);
        let one = self.graph.constant(1.0);
        match part {
            Part::Derivatives => row.e[pivot] = one,
            Part::Unknowns => row.b[pivot] = one,
        }
    }

    /// Clears an entry of a row with another row, in which it is 1.
    fn clear(
        &mut self,
        row: &mut LinearRow,
        part: Part,
        pivot: usize,
        by: &LinearRow,
    ) -> Result<(), Refusal> {
        let factor = row.entries(part)[pivot];
        if self.is_zero(factor) {
            return Ok(());
        }
        for j in 0..row.e.len() {
            row.e[j] = self.minus(row.e[j], factor, by.e[j])?;
            row.b[j] = self.minus(row.b[j], factor, by.b[j])?;
        }
        let zero = self.graph.constant(0.0);
        match part {
            Part::Derivatives => row.e[pivot] = zero,
            Part::Unknowns => row.b[pivot] = zero,
        }
        // A rest is judged by its terms in the end, whatever the order in which they came together.
        let product = self.graph.mul(factor, by.rest);
        let rest = self.graph.sub(row.rest, product);
        row.rest = self.graph.tidy(&[rest])[0];
        for (&equation, &times) in &by.origins {
            let known = row.origins.entry(equation).or_insert(times);
            *known = times.max(*known);
        }
        for &divisor in &by.divisors {
            if !row.divisors.contains(&divisor) {
                row.divisors.push(divisor);
            }
        }
        if self.graph.len() > self.most_nodes {
            return Err(Refusal::TooLarge);
        }
        Ok(())
    }

    /// `a - factor*b`, the constant 0 where that vanishes at all samples.
    fn minus(&mut self, a: ExprId, factor: ExprId, b: ExprId) -> Result<ExprId, Refusal> {
        if self.is_zero(b) {
            return Ok(a);
        }
        let product = self.graph.mul(factor, b);
        let difference = self.graph.sub(a, product);
        let difference = self.graph.tidy(&[difference])[0];
        if self.graph.as_constant(difference).is_some() && self.is_constant(a) {
            // Differences of numbers round too.
            let (x, y) = (
                self.values(&[a], self.time)[0],
                self.values(&[product], self.time)[0],
            );
            let size = x.abs() + y.abs();
            let value = (x - y).abs();
            return Ok(if value <= ZERO * size {
                self.graph.constant(0.0)
            } else {
                difference
            });
        }
        let (mut n_samples, mut largest) = (0, 0.0_f64);
        for offset in SAMPLES {
            let time = self.time + offset * (1.0 + self.time.abs());
            let values = self.values(&[a, product, difference], time);
            if values.iter().all(|value| value.is_finite()) {
                n_samples += 1;
                let size = values[0].abs() + values[1].abs();
                if size > 0.0 {
                    largest = largest.max(values[2].abs() / size);
                }
            }
        }
        if n_samples < FEWEST_SAMPLES {
            return Err(Refusal::Undecided(
                "coefficients have no values around the time".to_string(),
            ));
        }
        if largest <= ZERO {
            Ok(self.graph.constant(0.0))
        } else if largest >= NOT_ZERO {
            Ok(difference)
        } else {
            Err(Refusal::Undecided(format!(
                "a coefficient cancels to {largest:.1e} of its terms, which is neither zero nor clearly not"
            )))
        }
    }

    fn differentiated(&mut self, row: &LinearRow) -> LinearRow {
        let mut exprs = row.b.clone();
        exprs.push(row.rest);
        let symbols = &mut self.symbols;
        let rates = self
            .graph
            .derivatives_along(&exprs, |graph, id| symbols.rate(graph, id));
        let mut rates = self.graph.tidy(&rates);
        let rest = rates.pop().expect("the rest is the last");
        LinearRow {
            e: row.b.clone(),
            b: rates,
            rest,
            origins: row
                .origins
                .iter()
                .map(|(&i, &times)| (i, times + 1))
                .collect(),
            divisors: row.divisors.clone(),
        }
    }

    fn is_zero(&self, expr: ExprId) -> bool {
        self.graph.as_constant(expr) == Some(0.0)
    }

    /// Whether it does not depend on time.
    fn is_constant(&self, expr: ExprId) -> bool {
        let symbols = daelight_expr::Walker::new().symbols(&self.graph, &[expr]);
        symbols
            .into_iter()
            .all(|id| matches!(self.symbols.get(id), Symbol::Parameter(_)))
    }

    fn values(&self, exprs: &[ExprId], time: f64) -> Vec<f64> {
        let parameters = self.system.parameters().values();
        self.graph.evaluate(exprs, |id| match self.symbols.get(id) {
            Symbol::Time => time,
            Symbol::Parameter(index) => parameters[index],
            _ => f64::NAN,
        })
    }

    /// The value of a sum, and the sum of the sizes of its terms.
    fn sum_and_size(&self, expr: ExprId, time: f64) -> (f64, f64) {
        let mut terms = Vec::new();
        let mut open = vec![expr];
        while let Some(expr) = open.pop() {
            match self.graph.node(expr) {
                Node::Binary(BinaryOp::Add | BinaryOp::Sub, a, b) => open.extend([a, b]),
                Node::Unary(UnaryOp::Neg, a) => open.push(a),
                _ => terms.push(expr),
            }
        }
        let size = self
            .values(&terms, time)
            .iter()
            .map(|term| term.abs())
            .sum();
        (self.values(&[expr], time)[0], size)
    }

    fn condition(&mut self, row: &LinearRow) -> TimeCondition {
        let is_rounding = |offset: f64| {
            let time = self.time + offset * (1.0 + self.time.abs());
            let (value, size) = self.sum_and_size(row.rest, time);
            value.is_nan() || value.abs() <= ZERO * size
        };
        let expr = if SAMPLES.into_iter().all(is_rounding) {
            self.graph.constant(0.0)
        } else {
            row.rest
        };
        TimeCondition {
            text: self
                .system
                .write_in(&self.graph, &self.symbols, expr, PARAGRAPH),
            is_identity: self.is_zero(expr),
            origin: origin(row, |equation| self.system.equation_name(equation)),
            equations: row.origins.keys().copied().collect(),
            expr,
        }
    }

    /// Equations that make the free part as small as possible in units of nominal, (14) of `docs/theory/linear.md`.
    fn least_norm(&mut self) -> Result<Vec<(ExprId, ExprId)>, Refusal> {
        let sizes = nominal(self.system);
        let free = self.free.clone();
        // The rows that must keep their value: states as they are, unknowns without those states.
        let mut kept: Vec<(usize, Vec<ExprId>)> = Vec::new();
        for at in 0..self.differential.len() {
            let solved = &self.differential[at];
            kept.push((solved.pivot, solved.row.e.clone()));
        }
        let n_states = kept.len();
        for at in 0..self.algebraic.len() {
            let (pivot, mut row) = (self.algebraic[at].pivot, self.algebraic[at].row.b.clone());
            for (state, e) in &kept[..n_states] {
                let factor = row[*state];
                for (entry, &by) in row.iter_mut().zip(e) {
                    *entry = self.minus(*entry, factor, by)?;
                }
            }
            kept.push((pivot, row));
        }
        let mut equations = Vec::new();
        for j in free {
            let mut terms = Vec::new();
            for (pivot, row) in &kept {
                if !self.is_zero(row[j]) {
                    let weight = self.graph.constant((sizes[j] / sizes[*pivot]).powi(2));
                    let weighted = self.graph.mul(weight, row[j]);
                    let unknown = self.unknown(*pivot, 0);
                    terms.push(self.graph.mul(weighted, unknown));
                }
            }
            let sum = self.graph.sum(terms);
            let right = self.graph.tidy(&[sum])[0];
            equations.push((self.unknown(j, 0), right));
        }
        Ok(equations)
    }

    fn unknown(&mut self, unknown: usize, order: u32) -> ExprId {
        let id = self.symbols.id(Symbol::Unknown { unknown, order });
        self.graph.symbol(id)
    }

    /// The sides of a row solved for an unknown or its derivative.
    fn sides(&mut self, row: &LinearRow, pivot: usize, order: u32) -> (ExprId, ExprId) {
        let mut sum = row.rest;
        for (list, k) in [(&row.e, 1), (&row.b, 0)] {
            for (j, &entry) in list.iter().enumerate() {
                if !self.is_zero(entry) && (j, k) != (pivot, order) {
                    let unknown = self.unknown(j, k);
                    let term = self.graph.mul(entry, unknown);
                    sum = self.graph.add(sum, term);
                }
            }
        }
        let minus = self.graph.neg(sum);
        (self.unknown(pivot, order), self.graph.tidy(&[minus])[0])
    }

    /// The model as written with equations that make the free part as small as possible.
    pub fn with_least_norm(mut self) -> Result<IndexReduced, Refusal> {
        let system = self.system;
        let sides = self.least_norm()?;
        let written = system.written().iter();
        let mut equations = written.cloned().collect::<Vec<_>>();
        let mut remarks = vec![String::new(); equations.len()];
        let span = self.span(0);
        for (left, right) in sides {
            equations.push(equation(&mut self.graph, left, right, span));
            remarks.push("the smallest free part".to_string());
        }
        let head = vec!["The free part is the smallest one, in units of nominal.".to_string()];
        Ok(self.finish(equations, remarks, head, Vec::new()))
    }

    fn span(&self, equation: usize) -> Span {
        let written = self.system.written();
        written[equation.min(written.len() - 1)].span
    }

    fn finish(
        self,
        equations: Vec<Equation>,
        remarks: Vec<String>,
        head: Vec<String>,
        states: Vec<usize>,
    ) -> IndexReduced {
        let mut model = self.system.model().clone();
        model.graph = self.graph;
        model.symbols = self.symbols;
        take_parameters(&mut model, self.system);
        model.equations = equations;
        let n = model.unknowns.len();
        IndexReduced {
            model,
            remarks: Remarks {
                head,
                equations: remarks,
            },
            meanings: (0..n)
                .map(|unknown| Meaning { unknown, order: 0 })
                .collect(),
            states,
            is_unchanged: false,
        }
    }

    /// The reduced equations as a model, in which the free part is open.
    ///
    /// Conditions on the right-hand side are left out: they hold no unknowns.
    pub fn model(mut self) -> Result<IndexReduced, Refusal> {
        let system = self.system;
        let (time, quantities) = (self.time, self.quantities());
        let head = self.head();
        let (mut equations, mut remarks) = (Vec::new(), Vec::new());
        let states: Vec<usize> = self
            .differential
            .iter()
            .map(|solved| solved.pivot)
            .collect();
        for (list, order) in [
            (std::mem::take(&mut self.differential), 1),
            (std::mem::take(&mut self.algebraic), 0),
        ] {
            for solved in list {
                let (left, right) = self.sides(&solved.row, solved.pivot, order);
                let mut remark =
                    origin(&solved.row, |equation| format!("equation {}", equation + 1));
                let divisors = solved.row.divisors.iter().map(|&divisor| {
                    let text = system.write_in(&self.graph, &self.symbols, divisor, PARAGRAPH);
                    text.unwrap_or_else(|| "a long divisor".to_string())
                });
                let divisors: Vec<String> = divisors.collect();
                if !divisors.is_empty() {
                    remark.push_str(&format!("; must not vanish: {}", divisors.join(", ")));
                }
                let span = self.span(equations.len());
                equations.push(equation(&mut self.graph, left, right, span));
                remarks.push(remark);
            }
        }
        let reduced = self.finish(equations, remarks, head, states);
        verify(&reduced, time, quantities)?;
        Ok(reduced)
    }

    fn head(&self) -> Vec<String> {
        let [d, a, u, v] = self.quantities();
        let mut head = vec![format!(
            "{} reduced by `daelight reduce`: d = {d}, a = {a}, u = {u}, v = {v}.",
            self.system.name()
        )];
        if u > 0 {
            let names = self
                .free
                .iter()
                .map(|&j| self.system.unknowns()[j].name.clone());
            let names: Vec<String> = names.collect();
            head.push(format!("Free, as functions of time: {}.", listed(&names)));
        }
        for condition in &self.conditions {
            head.push(format!(
                "Left out: {} = 0, {}.",
                condition
                    .text
                    .as_deref()
                    .unwrap_or("a long function of time"),
                condition.origin
            ));
        }
        head
    }
}

/// What is written must have the quantities that it was made with.
fn verify(reduced: &IndexReduced, time: f64, [d, a, u, _]: [usize; 4]) -> Result<(), Refusal> {
    let not_verified = |what: String| Refusal::NotVerified(what);
    let system = System::new(&reduced.model).map_err(|error| not_verified(error.to_string()))?;
    let again = LinearReduction::new(&system, time)?;
    let expected = [d, a, u, 0];
    if again.quantities() != expected {
        return Err(not_verified(format!(
            "it has d, a, u, v = {:?}, not {expected:?}",
            again.quantities()
        )));
    }
    Ok(())
}

/// "a combination of line 4 and the first derivative of line 5".
fn origin(row: &LinearRow, name: impl Fn(usize) -> String) -> String {
    let names = row.origins.iter().map(|(&equation, &times)| match times {
        0 => name(equation),
        _ => format!("the {} derivative of {}", ordinal(times), name(equation)),
    });
    let names: Vec<String> = names.collect();
    match names.len() {
        1 => format!("from {}", names[0]),
        _ => format!("a combination of {}", listed(&names)),
    }
}
