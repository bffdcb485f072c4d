//! One equation at a time: a row of the derivative array is evaluated without those that have no value yet.

use super::array::{ArrayFault, Column, Row, Selection};
use super::jet::TaylorJet;
use super::order::{pattern, read};
use super::sides::{Pin, pin};
use crate::System;
use crate::equations::Equations;
use crate::roots::denominators_of_exponent;
use crate::structure::SparseRows;
use crate::tolerances::FAR_OFF;
use daelight_expr::{
    BinaryOp, ExprId, Graph, JacobianSeries, Jet, JetEvaluator, Node, Slot, Tape, UnaryOp, Walker,
    series_roots,
};
use daelight_lang::Symbol;
use std::sync::Arc;

/// A coefficient of the jet and the derivative of a row by it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub unknown: usize,
    pub order: usize,
    pub value: f64,
    /// Whether it follows from parameters alone wherever it is evaluated.
    pub is_constant: bool,
}

/// Evaluates single rows at a time.
pub(super) struct RowValues {
    equations: Family,
    initial: Family,
    time: f64,
}

/// Equations of one kind, compiled one by one when they are asked for.
struct Family {
    equations: Equations,
    parameters: Vec<f64>,
    max_order: usize,
    compiled: Vec<Option<Box<OneEquation>>>,
    pins: Vec<Pin>,
}

struct OneEquation {
    series: JacobianSeries<Jet>,
    /// The unknowns it holds, ascending; the variables of its tape.
    unknowns: Vec<u32>,
    /// Whether all derivatives by an unknown follow from parameters alone.
    is_constant: Vec<bool>,
}

impl RowValues {
    /// Of a system with its present parameters, equations up to `max_order`.
    pub fn new(system: &System, time: f64, max_order: usize) -> Self {
        let parameters = system.parameters().values();
        Self {
            equations: Family::new(system.equations(), parameters, max_order),
            initial: Family::new(system.initial_equations(), parameters, 0),
            time,
        }
    }

    pub fn set_time(&mut self, time: f64) {
        self.time = time;
    }

    /// The graph of all expressions.
    pub fn graph(&self) -> Arc<Graph> {
        Arc::clone(self.equations.equations.graph())
    }

    /// Whether an expression stands in an equation, and not only in a derivative of one.
    pub fn is_written(&self, expr: ExprId) -> bool {
        let equations = &self.equations.equations;
        let mut walker = Walker::new();
        let written = walker.reachable(equations.graph(), equations.residuals());
        written.contains(&expr)
    }

    /// Whether a division without a value stands in exponents that fall beyond all bounds towards it from later times: there the
    /// exponentials and all their derivatives are zero.
    pub fn is_essential_zero(&self, division: ExprId, jet: &TaylorJet) -> bool {
        let equations = &self.equations.equations;
        let graph = equations.graph();
        let Node::Binary(BinaryOp::Div, _, _) = graph.node(division) else {
            return false;
        };
        let mut walker = Walker::new();
        let nodes = walker.reachable(graph, equations.residuals()).to_vec();
        let exponents = nodes.iter().filter_map(|&id| match graph.node(id) {
            Node::Unary(UnaryOp::Exp, exponent) => Some((id, exponent)),
            _ => None,
        });
        let mut exponents = exponents.filter(|&(id, exponent)| {
            !denominators_of_exponent(graph, graph.node(id)).is_empty()
                && walker.reachable(graph, &[exponent]).contains(&division)
        });
        let value = |exponent: ExprId, aside: f64| {
            let time = self.time + aside;
            graph.evaluate(&[exponent], |id| match equations.symbols().get(id) {
                Symbol::Parameter(index) => self.equations.parameters[index],
                Symbol::Unknown { unknown, order } => {
                    jet.derivative_beside(unknown, order as usize, aside)
                }
                known => equations.symbols().value_at(known, time),
            })[0]
        };
        let falls = |exponent: ExprId| {
            let near = f64::EPSILON.sqrt() * (1.0 + self.time.abs());
            let values = [4.0, 2.0, 1.0].map(|times| value(exponent, times * near));
            // Like the first negative power of the distance, or a higher one.
            values[0] < 0.0 && values.windows(2).all(|pair| pair[1] < 1.5 * pair[0])
        };
        exponents.next().is_some_and(|(_, first)| falls(first))
            && exponents.all(|(_, exponent)| falls(exponent))
    }

    /// Keeps branches on sides; others follow the values.
    pub fn pin(&mut self, pins: &[Pin]) {
        for family in [&mut self.equations, &mut self.initial] {
            family.pins = pins.to_vec();
            for one in family.compiled.iter_mut().flatten() {
                pin(one.series.jet_mut(), family.equations.graph(), pins);
            }
        }
    }

    /// Which columns of a selection each of its rows can depend on.
    pub fn pattern(&self, selection: &Selection) -> SparseRows {
        pattern(
            &self.equations.equations,
            &self.initial.equations,
            selection,
        )
    }

    /// The same with what conditions read; `None` where that is nothing more.
    pub fn read(&self, pattern: &SparseRows, selection: &Selection) -> Option<SparseRows> {
        read(&self.equations.equations, pattern, selection)
    }

    /// The coefficients that an expression of the equations holds.
    pub fn columns_in(&self, expr: ExprId) -> Vec<Column> {
        let equations = &self.equations.equations;
        let symbols = Walker::new().symbols(equations.graph(), &[expr]);
        let held = symbols.into_iter();
        held.filter_map(|id| match equations.symbols().get(id) {
            Symbol::Unknown { unknown, order } => Some(Column {
                unknown,
                order: order as usize,
            }),
            _ => None,
        })
        .collect()
    }

    /// The unknowns that a row holds.
    pub fn unknowns_in(&self, row: &Row) -> Vec<usize> {
        let (family, equation) = match *row {
            Row::Value { unknown, .. } => return vec![unknown],
            Row::Equation { equation, .. } => (&self.equations, equation),
            Row::Initial { equation } => (&self.initial, equation),
        };
        let matrices = 0..=family.equations.order();
        let held = matrices.flat_map(|derivative| {
            let pattern = family.equations.pattern(derivative);
            pattern.columns()[pattern.row(equation)].iter()
        });
        held.map(|&unknown| unknown as usize).collect()
    }

    /// The jump of an equation that is off by `size` on whose other side it would hold, with the side to which the jet leads.
    ///
    /// Rounding, or the way along the rows, has put its quantity on the wrong side; jumps that are kept on a side are left out.
    pub fn hidden_jump(&mut self, row: &Row, size: f64, jet: &TaylorJet) -> Option<Pin> {
        let Row::Equation { equation, .. } = *row else {
            return None;
        };
        let graph = self.graph();
        let series = self.equations.compiled[equation].as_ref()?.series.jet();
        let (tape, sides) = (series.tape(), series.branches().sides());
        let pins = &self.equations.pins;
        let jumps: Vec<Pin> = tape
            .branches()
            .enumerate()
            .filter(|&(branch, expr)| {
                tape.jumps(branch) && !pins.iter().any(|pin| pin.is_of(&graph, expr))
            })
            .filter_map(|(branch, expr)| Pin::new(&graph, expr, sides[branch].reverse()))
            .collect();
        let before = pins.clone();
        let found = jumps.into_iter().find(|jump| {
            self.pin_equation(equation, &[&before[..], &[*jump]].concat());
            let there = self.evaluate(row, jet, &mut Vec::new());
            there.is_ok_and(|residual| residual.abs() <= FAR_OFF * size)
        });
        self.pin_equation(equation, &before);
        let found = found?;
        // Where it goes, not where it came from.
        let order = self.equations.max_order.min(1);
        let higher = Row::Equation { equation, order };
        self.evaluate(&higher, jet, &mut Vec::new()).ok()?;
        let series = self.equations.compiled[equation].as_ref()?.series.jet();
        let branch = series
            .tape()
            .branches()
            .position(|expr| expr == found.expr)?;
        let rate = series.switching(branch, order);
        Pin::new(&graph, found.expr, rate.partial_cmp(&0.0)?)
    }

    /// Keeps branches of one equation on sides.
    fn pin_equation(&mut self, equation: usize, pins: &[Pin]) {
        if let Some(one) = self.equations.compiled[equation].as_mut() {
            pin(one.series.jet_mut(), self.equations.equations.graph(), pins);
        }
    }

    /// The residual of a row at a jet, and its derivatives into `entries`.
    pub fn evaluate(
        &mut self,
        row: &Row,
        jet: &TaylorJet,
        entries: &mut Vec<Entry>,
    ) -> Result<f64, ArrayFault> {
        entries.clear();
        match *row {
            Row::Value { unknown, value } => {
                entries.push(Entry {
                    unknown,
                    order: 0,
                    value: 1.0,
                    is_constant: true,
                });
                Ok(jet.get(unknown, 0) - value)
            }
            Row::Equation { equation, order } => self
                .equations
                .evaluate(equation, order, self.time, jet, entries)
                .map_err(ArrayFault::Equation),
            Row::Initial { equation } => self
                .initial
                .evaluate(equation, 0, self.time, jet, entries)
                .map_err(ArrayFault::Initial),
        }
    }
}

impl Family {
    fn new(equations: &Equations, parameters: &[f64], max_order: usize) -> Self {
        Self {
            equations: equations.clone(),
            parameters: parameters.to_vec(),
            max_order,
            compiled: (0..equations.n_equations()).map(|_| None).collect(),
            pins: Vec::new(),
        }
    }

    fn evaluate(
        &mut self,
        equation: usize,
        order: usize,
        time: f64,
        jet: &TaylorJet,
        entries: &mut Vec<Entry>,
    ) -> Result<f64, daelight_expr::Fault> {
        if self.compiled[equation].is_none() {
            let mut compiled =
                OneEquation::new(&self.equations, &self.parameters, equation, self.max_order);
            pin(
                compiled.series.jet_mut(),
                self.equations.graph(),
                &self.pins,
            );
            self.compiled[equation] = Some(Box::new(compiled));
        }
        let one = self.compiled[equation].as_mut().expect("just compiled");
        let inputs = one.series.inputs_mut();
        inputs.set_time(time);
        // Coefficient k of a derivative is coefficient k + r of its unknown, and no later ones are read.
        let highest = order + self.equations.order();
        for k in 0..=highest.min(inputs.n_orders() - 1) {
            for (place, &unknown) in inputs.row_mut(k).iter_mut().zip(&one.unknowns) {
                *place = jet.get(unknown as usize, k);
            }
        }
        for k in 0..=order {
            one.series.extend(k).map_err(|fault| daelight_expr::Fault {
                root: equation,
                ..fault
            })?;
        }
        let highest = order + one.series.n_matrices();
        for k in 0..highest {
            one.series.array_block(order, k, |_, variable, value| {
                entries.push(Entry {
                    unknown: one.unknowns[variable] as usize,
                    order: k,
                    value,
                    is_constant: one.is_constant[variable],
                });
            });
        }
        Ok(one.series.residual(0, order))
    }
}

impl OneEquation {
    fn new(equations: &Equations, parameters: &[f64], equation: usize, max_order: usize) -> Self {
        let matrices = 0..=equations.order();
        let mut unknowns: Vec<u32> = matrices
            .clone()
            .flat_map(|derivative| {
                let pattern = equations.pattern(derivative);
                pattern.columns()[pattern.row(equation)].iter().copied()
            })
            .collect();
        unknowns.sort_unstable();
        unknowns.dedup();
        let jacobians: Vec<_> = matrices
            .map(|derivative| equations.jacobian(derivative).row(equation, &unknowns))
            .collect();
        let mut is_constant = vec![true; unknowns.len()];
        let mut walker = Walker::new();
        for jacobian in &jacobians {
            for (&column, &entry) in jacobian.pattern.columns().iter().zip(&jacobian.entries) {
                let held = walker.symbols(equations.graph(), &[entry]);
                let rests = |id| matches!(equations.symbols().get(id), Symbol::Parameter(_));
                is_constant[column as usize] &= held.into_iter().all(rests);
            }
        }
        let residuals = [equations.residuals()[equation]];
        let roots = series_roots(&residuals, &jacobians);
        // What cancels may be written and is read by the tape, though no derivative depends on it.
        let mut others: Vec<u32> = Vec::new();
        let n_known = unknowns.len();
        // Each tape has room for the parameters that it reads: those of all equations would be as many again for each of them.
        let mut read: Vec<u32> = Vec::new();
        let tape = Tape::compile(equations.graph(), &roots, |id| match equations.slot(id) {
            Slot::Variable { index, order } => Slot::Variable {
                index: match unknowns.binary_search(&index) {
                    Ok(at) => at as u32,
                    Err(_) => (n_known + place(&mut others, index)) as u32,
                },
                order,
            },
            Slot::Parameter(index) => Slot::Parameter(place(&mut read, index) as u32),
            slot => slot,
        });
        unknowns.extend(others);
        let tape = tape
            .with_counts(unknowns.len(), read.len())
            .with_slot_order(equations.order())
            .with_signals(&equations.signals());
        let mut series = JacobianSeries::from_tape(tape, 1, &jacobians, max_order);
        let places = series.inputs_mut().parameters_mut().iter_mut();
        places
            .zip(&read)
            .for_each(|(place, &index)| *place = parameters[index as usize]);
        Self {
            series,
            unknowns,
            is_constant,
        }
    }
}

/// The position of an index among those met so far, at their end if it is new.
fn place(met: &mut Vec<u32>, index: u32) -> usize {
    let at = met.iter().position(|other| *other == index);
    at.unwrap_or_else(|| {
        met.push(index);
        met.len() - 1
    })
}
