//! Equations F(t, x, x', ..., x^(s)) = 0 with their Jacobians, and what evaluates them.

use crate::initial::{Pin, pin_branches};
use crate::structure::NONE;
use crate::structure::Walk;
use crate::tolerances::ROUNDING;
use daelight_expr::{
    Dd, DdJet, ExprId, Fault, FaultKind, Graph, Interval, JacobianSeries, JetEvaluator, PlainJet,
    Scalar, SeriesRoot, Signal, Slot, SparseJacobian, Sparsity, SymbolId, Tape, Values,
    series_roots,
};
use daelight_lang::{Symbol, Symbols};
use daelight_linalg::{CscMat, LinalgError};
use std::cmp::Ordering;
use std::sync::Arc;

/// Which variable of the equations each unknown of the model is, if it is one.
#[derive(Clone, Debug)]
pub(crate) struct Variables {
    positions: Vec<u32>,
    n_variables: usize,
}

impl Variables {
    /// All unknowns of the model, in its order.
    pub(crate) fn all(n_unknowns: usize) -> Self {
        Self {
            positions: (0..n_unknowns as u32).collect(),
            n_variables: n_unknowns,
        }
    }

    /// Some unknowns of the model, in the order given.
    pub(crate) fn some(n_unknowns: usize, kept: &[usize]) -> Self {
        let mut positions = vec![NONE; n_unknowns];
        for (position, &unknown) in kept.iter().enumerate() {
            positions[unknown] = position as u32;
        }
        Self {
            positions,
            n_variables: kept.len(),
        }
    }

    /// The same with further unknowns behind: in the model's numbering, and as variables.
    pub(crate) fn extended(&self, n_more: usize) -> Self {
        let n_variables = self.n_variables + n_more;
        let more = self.n_variables as u32..n_variables as u32;
        let positions = self.positions.iter().copied().chain(more).collect();
        Self {
            positions,
            n_variables,
        }
    }

    /// The unknown of the model that each variable is.
    pub(crate) fn unknowns(&self) -> Vec<usize> {
        let mut unknowns = vec![0; self.n_variables];
        for (unknown, &position) in self.positions.iter().enumerate() {
            if position != NONE {
                unknowns[position as usize] = unknown;
            }
        }
        unknowns
    }

    /// Number of unknowns of the model, variables or not.
    pub(crate) fn n_unknowns(&self) -> usize {
        self.positions.len()
    }

    /// What a symbol stands for when these equations are evaluated.
    pub(crate) fn slot(&self, symbols: &Symbols, id: SymbolId) -> Slot {
        match symbols.get(id) {
            Symbol::Time => Slot::Time,
            Symbol::Parameter(index) => Slot::Parameter(index as u32),
            Symbol::Unknown { unknown, order } => {
                let index = self.positions[unknown];
                assert_ne!(index, NONE, "a removed unknown still occurs");
                Slot::Variable { index, order }
            }
            Symbol::Input { input, order } => {
                let index = symbols.signal_of(input);
                let index = index.expect("other inputs were replaced by their definitions");
                Slot::Signal {
                    index: index as u32,
                    order,
                }
            }
        }
    }
}

/// Equations F(t, x, x', ..., x^(s)) = 0 and the matrices dF/dx^(r) as expressions of one graph.
#[derive(Clone)]
pub struct Equations {
    graph: Arc<Graph>,
    symbols: Arc<Symbols>,
    variables: Variables,
    residuals: Vec<ExprId>,
    jacobians: Vec<SparseJacobian>,
    n_parameters: usize,
}

impl Equations {
    /// Joins residuals and matrices that were made in a graph with that graph.
    pub(crate) fn new(
        graph: Arc<Graph>,
        symbols: Arc<Symbols>,
        variables: Variables,
        residuals: Vec<ExprId>,
        jacobians: Vec<SparseJacobian>,
        n_parameters: usize,
    ) -> Self {
        Self {
            graph,
            symbols,
            variables,
            residuals,
            jacobians,
            n_parameters,
        }
    }

    /// The same equations with zeros for derivatives that are written but cancel, given the offsets c and d; `None` when there
    /// are none.
    ///
    /// Such a derivative x_j^(q) in equation i has q > d_j - c_i, where the signature matrix has no entry: the equation does
    /// not depend on it. Solved stage by stage, its coefficients are not known when the equation is evaluated. What only a
    /// condition reads is no such derivative.
    pub(crate) fn without_cancelled(&self, c: &[usize], d: &[usize]) -> Option<Self> {
        let mut walk = Walk::new(&self.graph);
        let mut beyond: Vec<(usize, Vec<SymbolId>)> = Vec::new();
        for (equation, (&root, &c)) in self.residuals.iter().zip(c).enumerate() {
            let mut here = Vec::new();
            walk.leaves(&self.graph, root, |id| match self.slot(id) {
                Slot::Variable { index, order } if order as usize + c > d[index as usize] => {
                    here.push(id);
                }
                _ => {}
            });
            if !here.is_empty() {
                beyond.push((equation, here));
            }
        }
        if beyond.is_empty() {
            return None;
        }
        let mut graph = Graph::clone(&self.graph);
        let mut residuals = self.residuals.clone();
        for (equation, symbols) in beyond {
            let roots = graph.substitute(&[residuals[equation]], |graph, id| {
                symbols.contains(&id).then(|| graph.constant(0.0))
            });
            residuals[equation] = roots[0];
        }
        Some(self.with_residuals(graph, residuals))
    }

    /// Other residuals in the same unknowns, in a graph that has grown from the present one.
    pub(crate) fn with_residuals(&self, mut graph: Graph, residuals: Vec<ExprId>) -> Self {
        let n = self.n_unknowns();
        let jacobians = graph.jacobians(&residuals, n, |id| self.slot(id));
        Self {
            graph: Arc::new(graph),
            residuals,
            jacobians,
            ..self.clone()
        }
    }

    /// The graph of all expressions.
    pub fn graph(&self) -> &Arc<Graph> {
        &self.graph
    }

    /// What the symbols of the graph stand for.
    pub fn symbols(&self) -> &Arc<Symbols> {
        &self.symbols
    }

    /// Which variable each unknown of the model is.
    pub(crate) fn variables(&self) -> &Variables {
        &self.variables
    }

    /// Number of parameters of the model.
    pub(crate) fn n_parameters(&self) -> usize {
        self.n_parameters
    }

    /// Number of equations.
    pub fn n_equations(&self) -> usize {
        self.residuals.len()
    }

    /// Number of unknowns.
    pub fn n_unknowns(&self) -> usize {
        self.variables.n_variables
    }

    /// The highest time derivative by which there is a matrix; 1 at least.
    pub fn order(&self) -> usize {
        self.jacobians.len() - 1
    }

    /// The residual of each equation.
    pub fn residuals(&self) -> &[ExprId] {
        &self.residuals
    }

    /// The matrix dF/dx^(derivative): B for 0, E for 1.
    pub fn jacobian(&self, derivative: usize) -> &SparseJacobian {
        &self.jacobians[derivative]
    }

    /// Where dF/dx^(derivative) has entries: the pattern of B for 0, of E for 1.
    pub fn pattern(&self, derivative: usize) -> &Sparsity {
        &self.jacobians[derivative].pattern
    }

    /// What a symbol stands for in the tapes of these equations.
    pub fn slot(&self, id: SymbolId) -> Slot {
        self.variables.slot(&self.symbols, id)
    }

    /// What a root of any tape of these equations is, for the `root` of a [`Fault`].
    pub fn root(&self, root: usize) -> SeriesRoot {
        SeriesRoot::of(root, self.residuals.len(), &self.jacobians)
    }

    /// Compiles expressions over the unknowns of these equations.
    ///
    /// The inputs have room for all derivatives up to [`Equations::order`], used or not.
    pub fn compile(&self, roots: &[ExprId]) -> Tape {
        self.compile_in(&self.graph, roots)
    }

    /// The same for expressions of a graph that has grown from that of the equations.
    pub fn compile_in(&self, graph: &Graph, roots: &[ExprId]) -> Tape {
        Tape::compile(graph, roots, |id| self.slot(id))
            .with_counts(self.n_unknowns(), self.n_parameters)
            .with_slot_order(self.order())
            .with_signals(&self.signals())
    }

    /// The inputs given by data, in the order of the slots of signals.
    pub fn signals(&self) -> Vec<Arc<Signal>> {
        let signals = self.symbols.signals().iter();
        signals.map(|(_, signal)| Arc::clone(signal)).collect()
    }

    /// Compiles the residuals: root i is equation i.
    pub fn residual_tape(&self) -> Tape {
        self.compile(&self.residuals)
    }

    /// Compiles residuals and entries of all matrices, which [`Equations::root`] tells apart.
    pub fn jacobian_tape(&self) -> Tape {
        self.compile(&series_roots(&self.residuals, &self.jacobians))
    }

    /// The series F_k, B_k, E_k along a jet up to `order`, on either back end.
    pub fn series<J: JetEvaluator>(&self, order: usize, parameters: &[f64]) -> JacobianSeries<J> {
        self.series_in(order, parameters)
    }

    /// The same in double-double, constants and parameters taken as exact.
    pub fn sharp_series(&self, order: usize, parameters: &[f64]) -> JacobianSeries<DdJet, Dd> {
        self.series_in(order, parameters)
    }

    /// The same over stretches of time: coefficients at all their points are enclosed.
    pub fn series_of_intervals(
        &self,
        order: usize,
        parameters: &[f64],
    ) -> JacobianSeries<PlainJet<Interval>, Interval> {
        self.series_in(order, parameters)
    }

    fn series_in<S: Scalar, J: JetEvaluator<S>>(
        &self,
        order: usize,
        parameters: &[f64],
    ) -> JacobianSeries<J, S> {
        let tape = self.jacobian_tape();
        let mut series =
            JacobianSeries::from_tape(tape, self.residuals.len(), &self.jacobians, order);
        copy(series.inputs_mut().parameters_mut(), parameters);
        series
    }

    /// An evaluator for values of the residuals and the matrices.
    pub fn evaluator(&self, parameters: &[f64]) -> Evaluator {
        let mut evaluator = Evaluator {
            residuals: Values::new(Arc::new(self.residual_tape())),
            jacobians: Values::new(Arc::new(self.jacobian_tape())),
            n_equations: self.n_equations(),
            n_entries: self.jacobians.iter().map(|j| j.entries.len()).collect(),
        };
        evaluator.set_parameters(parameters);
        evaluator
    }
}

fn copy(into: &mut [f64], from: &[f64]) {
    assert_eq!(into.len(), from.len(), "one value per parameter");
    into.copy_from_slice(from);
}

/// Values of F and of its matrices at a point (t, x, x', ...). Nothing here allocates.
#[derive(Clone, Debug)]
pub struct Evaluator {
    residuals: Values,
    jacobians: Values,
    n_equations: usize,
    n_entries: Vec<usize>,
}

impl Evaluator {
    /// Sets the parameters, one value for each of the model's.
    pub fn set_parameters(&mut self, parameters: &[f64]) {
        for values in [&mut self.residuals, &mut self.jacobians] {
            copy(values.inputs_mut().parameters_mut(), parameters);
        }
    }

    /// Sets the time.
    pub fn set_time(&mut self, time: f64) {
        for values in [&mut self.residuals, &mut self.jacobians] {
            values.inputs_mut().set_time(time);
        }
    }

    /// Sets the time derivative x^(derivative) of all unknowns, not divided by a factorial.
    ///
    /// The order is at most [`Equations::order`].
    pub fn set(&mut self, derivative: usize, values: &[f64]) {
        let factorial: f64 = (1..=derivative).map(|n| n as f64).product();
        for tape in [&mut self.residuals, &mut self.jacobians] {
            let row = tape.inputs_mut().row_mut(derivative);
            assert_eq!(row.len(), values.len(), "one value per unknown");
            for (coefficient, &value) in row.iter_mut().zip(values) {
                *coefficient = value / factorial;
            }
        }
    }

    /// Keeps switches on sides.
    pub(crate) fn pin(&mut self, graph: &Graph, pins: &[Pin]) {
        for values in [&mut self.residuals, &mut self.jacobians] {
            let exprs: Vec<ExprId> = values.tape().branches().collect();
            pin_branches(&exprs, values.branches_mut(), graph, pins);
        }
    }

    /// Evaluates the residuals into `into`, or says which expression has no value.
    pub fn residuals(&mut self, into: &mut [f64]) -> Result<(), Fault> {
        assert_eq!(into.len(), self.n_equations, "one place per equation");
        self.residuals.evaluate()?;
        for (equation, place) in into.iter_mut().enumerate() {
            *place = self.residuals.root(equation);
        }
        Ok(())
    }

    /// Evaluates all matrices, to be read with [`Evaluator::entries`].
    pub fn jacobians(&mut self) -> Result<(), Fault> {
        self.jacobians.evaluate()
    }

    /// A switch that the point lies on, and from whose sides F or an entry of a matrix is not the same: there is no one linear model.
    pub fn kink(&mut self) -> Option<Fault> {
        let tape = &mut self.jacobians;
        let n_roots = tape.tape().n_roots();
        tape.evaluate().ok()?;
        let on_switch = |side: &Ordering| *side == Ordering::Equal;
        let branches = tape.branches().sides().iter().enumerate();
        let branches: Vec<usize> = branches
            .filter(|(_, s)| on_switch(s))
            .map(|(b, _)| b)
            .collect();
        for branch in branches {
            let [below, above] = [Ordering::Less, Ordering::Greater].map(|side| {
                tape.branches_mut().pin(branch, Some(side));
                let _ = tape.evaluate();
                (0..n_roots)
                    .map(|root| tape.root(root))
                    .collect::<Vec<f64>>()
            });
            tape.branches_mut().pin(branch, None);
            let root = (0..n_roots).find(|&root| {
                let (a, b) = (below[root], above[root]);
                a.is_nan() != b.is_nan() || (a - b).abs() > ROUNDING * (a.abs() + b.abs())
            });
            if let Some(root) = root {
                let expr = tape.tape().branches().nth(branch)?;
                return Some(Fault {
                    expr,
                    kind: FaultKind::Kink,
                    order: 0,
                    root,
                });
            }
        }
        None
    }

    /// The entry of dF/dx^(derivative) at a position of its pattern, as last evaluated.
    pub fn entry(&self, derivative: usize, position: usize) -> f64 {
        let first: usize = self.n_entries[..derivative].iter().sum();
        self.jacobians.root(self.n_equations + first + position)
    }

    /// All entries of dF/dx^(derivative) in the order of its pattern, as last evaluated.
    pub fn entries(&self, derivative: usize, into: &mut [f64]) {
        assert_eq!(into.len(), self.n_entries[derivative], "one place each");
        for (position, place) in into.iter_mut().enumerate() {
            *place = self.entry(derivative, position);
        }
    }
}

/// A sum of the matrices with factors, a_0 dF/dx + a_1 dF/dx' + ..., as a sparse matrix by columns.
///
/// The pattern is fixed once, so that a factorisation can be planned once and repeated.
#[derive(Clone, Debug)]
pub struct Assembly {
    matrix: CscMat,
    /// For each matrix, where in the values each entry of its pattern goes.
    places: Vec<Vec<u32>>,
}

impl Assembly {
    /// Lays out the union of the patterns of all matrices.
    pub fn new(equations: &Equations) -> Result<Self, LinalgError> {
        let (n_rows, n_columns) = (equations.n_equations(), equations.n_unknowns());
        let patterns = || (0..=equations.order()).map(|order| equations.pattern(order));
        let mut columns: Vec<Vec<u32>> = vec![Vec::new(); n_columns];
        for pattern in patterns() {
            for (row, column, _) in pattern.iter() {
                columns[column].push(row as u32);
            }
        }
        let mut starts = vec![0u32];
        let mut rows = Vec::new();
        for column in &mut columns {
            column.sort_unstable();
            column.dedup();
            rows.extend_from_slice(column);
            starts.push(rows.len() as u32);
        }
        let place = |row: usize, column: usize| {
            let first = starts[column] as usize;
            let found = rows[first..starts[column + 1] as usize].binary_search(&(row as u32));
            (first + found.expect("the entry is in the union")) as u32
        };
        let places = patterns()
            .map(|pattern| pattern.iter().map(|(i, j, _)| place(i, j)).collect())
            .collect();
        Ok(Self {
            places,
            matrix: CscMat::from_pattern(n_rows, n_columns, starts.clone(), rows.clone())?,
        })
    }

    /// Adds up factor times matrix from entries in the order of the patterns. Allocates nothing.
    pub fn fill(&mut self, factors: &[f64], entry: impl Fn(usize, usize) -> f64) -> &CscMat {
        let values = self.matrix.values_mut();
        values.fill(0.0);
        for (derivative, (&factor, places)) in factors.iter().zip(&self.places).enumerate() {
            if factor != 0.0 {
                for (position, &place) in places.iter().enumerate() {
                    values[place as usize] += factor * entry(derivative, position);
                }
            }
        }
        &self.matrix
    }

    /// The matrix as last filled.
    pub fn matrix(&self) -> &CscMat {
        &self.matrix
    }
}
