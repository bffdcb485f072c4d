//! The equations that a consistent point satisfies, as rows of the derivative array.

use super::jet::TaylorJet;
use super::newton::WILD;
use super::sides::{Pin, goes_to, pin};
use super::sparse::SparseSteps;
use crate::System;
use crate::equations::Equations;
use crate::scaling::Scaling;
use crate::series::MatrixSeries;
use crate::structure::NONE;
use daelight_expr::{Fault, Graph, JacobianSeries, Jet, JetEvaluator};
use daelight_linalg::Mat;

/// One condition on the jet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Row {
    /// Taylor coefficient `order` of an equation's residual vanishes.
    Equation {
        /// The equation.
        equation: usize,
        /// Which coefficient.
        order: usize,
    },
    /// An initial equation holds.
    Initial {
        /// The initial equation.
        equation: usize,
    },
    /// An unknown has a given value.
    Value {
        /// The unknown.
        unknown: usize,
        /// Its value.
        value: f64,
    },
}

/// A coefficient of the jet that is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// The unknown.
    pub unknown: usize,
    /// Which coefficient.
    pub order: usize,
}

/// Rows and columns of the derivative array that are in play.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// The conditions.
    pub rows: Vec<Row>,
    /// The coefficients looked for.
    pub columns: Vec<Column>,
}

impl Selection {
    /// The same rows with the coefficients that are no values.
    pub fn without_values(&self) -> Self {
        let higher = self.columns.iter().filter(|column| column.order > 0);
        Self {
            rows: self.rows.clone(),
            columns: higher.copied().collect(),
        }
    }

    /// Orders 0 to `c_i + extra` of equation i and coefficients 0 to `d_j + extra` of unknown j, (2) of
    /// `docs/theory/initial.md`; the smallest array that holds all hidden constraints where the structure is right.
    pub fn by_offsets(c: &[usize], d: &[usize], extra: usize) -> Self {
        let highest = c.iter().chain(d).max().copied().unwrap_or(0) + extra;
        let rows = (0..=highest).flat_map(|order| {
            let open = move |&(_, &c): &(usize, &usize)| order <= c + extra;
            let row = move |(equation, _)| Row::Equation { equation, order };
            c.iter().enumerate().filter(open).map(row)
        });
        let columns = (0..=highest).flat_map(|order| {
            let open = move |&(_, &d): &(usize, &usize)| order <= d + extra;
            let column = move |(unknown, _)| Column { unknown, order };
            d.iter().enumerate().filter(open).map(column)
        });
        Self {
            rows: rows.collect(),
            columns: columns.collect(),
        }
    }

    /// Orders 0 to `order` of all equations and coefficients 0 to `order + 1` of all unknowns.
    pub fn whole(n_equations: usize, n_unknowns: usize, order: usize) -> Self {
        let rows = (0..=order).flat_map(|order| {
            (0..n_equations).map(move |equation| Row::Equation { equation, order })
        });
        let columns = (0..=order + 1)
            .flat_map(|order| (0..n_unknowns).map(move |unknown| Column { unknown, order }));
        Self {
            rows: rows.collect(),
            columns: columns.collect(),
        }
    }

    /// The highest order of an equation.
    pub fn order(&self) -> usize {
        let order = |row: &Row| match row {
            Row::Equation { order, .. } => *order,
            _ => 0,
        };
        self.rows.iter().map(order).max().unwrap_or(0)
    }
}

/// Where a fault happened.
#[derive(Clone, Debug)]
pub enum ArrayFault {
    /// In an equation.
    Equation(Fault),
    /// In an initial equation.
    Initial(Fault),
}

/// Evaluates rows of the derivative array, and their derivatives by the jet.
pub struct ConstraintArray {
    series: JacobianSeries<Jet>,
    initial: JacobianSeries<Jet>,
    n_equations: usize,
    n_unknowns: usize,
    max_order: usize,
    is_sparse: bool,
    /// What the rows are to become instead of zero; empty for zero.
    aim: Vec<f64>,
    /// Residuals of the rows last evaluated.
    pub residuals: Vec<f64>,
    /// Entries of the matrix last evaluated.
    pub entries: Vec<(usize, usize, f64)>,
    row_of: Vec<u32>,
    column_of: Vec<u32>,
    /// Factors of large matrices.
    pub(super) steps: SparseSteps,
}

impl ConstraintArray {
    /// Room for equations up to `max_order` of a system with its present parameters.
    pub fn new(system: &System, time: f64, max_order: usize) -> Self {
        let equations: &Equations = system.equations();
        let series = system.series::<Jet>(max_order);
        let parameters = system.parameters().values();
        let initial = system.initial_equations().series::<Jet>(0, parameters);
        let mut array = Self {
            series,
            initial,
            n_equations: equations.n_equations(),
            n_unknowns: equations.n_unknowns(),
            max_order,
            is_sparse: false,
            aim: Vec::new(),
            residuals: Vec::new(),
            entries: Vec::new(),
            row_of: Vec::new(),
            column_of: Vec::new(),
            steps: SparseSteps::default(),
        };
        array.set_time(time);
        array
    }

    /// Moves to another time.
    pub fn set_time(&mut self, time: f64) {
        self.series.inputs_mut().set_time(time);
        self.initial.inputs_mut().set_time(time);
    }

    /// Keeps branches on sides; others follow the values.
    pub(crate) fn pin(&mut self, graph: &Graph, pins: &[Pin]) {
        pin(self.series.jet_mut(), graph, pins);
        pin(self.initial.jet_mut(), graph, pins);
    }

    /// Whether each switch that is pinned lasts along a jet: it moves to its side, or rests at the switch with the text as it
    /// stands, (11) of `docs/theory/initial.md`. `None` where the jet cannot be followed.
    pub(super) fn leads_on(
        &mut self,
        jet: &TaylorJet,
        graph: &Graph,
        pins: &[Pin],
    ) -> Option<Vec<bool>> {
        self.load(jet);
        let n_orders = jet.n_orders().min(self.max_order + 1);
        if (0..n_orders).any(|k| self.series.extend(k).is_err()) {
            return None;
        }
        let jet = self.series.jet();
        let branches: Vec<_> = jet.tape().branches().collect();
        let lasts = |pin: &Pin| {
            let looks = |branch: &usize| pin.is_of(graph, branches[*branch]);
            let looking: Vec<usize> = (0..branches.len()).filter(looks).collect();
            let Some(&branch) = looking.first() else {
                return true;
            };
            let coefficients: Vec<f64> = (0..n_orders).map(|k| jet.switching(branch, k)).collect();
            let sizes: Vec<f64> = (0..n_orders)
                .map(|k| {
                    let (left, right) = jet.compared(branch, k);
                    left.abs().max(right.abs())
                })
                .collect();
            match goes_to(&coefficients, &sizes) {
                Some(side) => pin.side == side,
                None => {
                    let jumps = looking.iter().any(|&branch| jet.tape().jumps(branch));
                    pin.side == std::cmp::Ordering::Equal || !jumps
                }
            }
        };
        Some(pins.iter().map(lasts).collect())
    }

    /// Allows sparse factorisations of large selections: their rows are expected to be independent, or nearly so.
    pub(super) fn allow_sparse(&mut self) {
        self.is_sparse = true;
    }

    /// Whether large selections may be factored sparsely.
    pub(super) fn is_sparse(&self) -> bool {
        self.is_sparse
    }

    /// Sets the values that the rows of the next selections are led to; none for zero.
    pub(super) fn aim(&mut self, values: Vec<f64>) {
        self.aim = values;
    }

    /// The highest order there is room for.
    pub fn max_order(&self) -> usize {
        self.max_order
    }

    /// How many coefficients of the jet the rows up to `max_order` read.
    pub fn n_orders(&self) -> usize {
        self.series.inputs().n_orders()
    }

    /// The highest derivative of an unknown in each initial equation, and of which: `(unknown, order)` of every entry.
    pub fn initial_entries(&self, equation: usize) -> Vec<(usize, usize)> {
        let mut found = Vec::new();
        for order in 0..self.initial.n_matrices() {
            let pattern = self.initial.pattern(order);
            let columns = &pattern.columns()[pattern.row(equation)];
            found.extend(columns.iter().map(|&unknown| (unknown as usize, order)));
        }
        found
    }

    fn load(&mut self, jet: &TaylorJet) {
        for inputs in [self.series.inputs_mut(), self.initial.inputs_mut()] {
            for order in 0..inputs.n_orders() {
                match jet.row(order) {
                    Some(row) => inputs.row_mut(order).copy_from_slice(row),
                    None => inputs.row_mut(order).fill(0.0),
                }
            }
        }
    }

    /// Evaluates the residuals of the selected rows at a jet.
    pub fn evaluate(&mut self, jet: &TaylorJet, selection: &Selection) -> Result<(), ArrayFault> {
        self.load(jet);
        let order = selection.order();
        for k in 0..=order {
            self.series.extend(k).map_err(ArrayFault::Equation)?;
        }
        let has_initial = |row: &Row| matches!(row, Row::Initial { .. });
        if selection.rows.iter().any(has_initial) {
            self.initial.extend(0).map_err(ArrayFault::Initial)?;
        }
        self.residuals.clear();
        for row in &selection.rows {
            self.residuals.push(match *row {
                Row::Equation { equation, order } => self.series.residual(equation, order),
                Row::Initial { equation } => self.initial.residual(equation, 0),
                Row::Value { unknown, value } => jet.get(unknown, 0) - value,
            });
        }
        for (residual, aim) in self.residuals.iter_mut().zip(&self.aim) {
            *residual -= aim;
        }
        Ok(())
    }

    /// Collects the derivatives of the rows last evaluated by the selected columns.
    pub fn differentiate(&mut self, selection: &Selection) {
        let (m, n) = (self.n_equations, self.n_unknowns);
        let n_row_orders = selection.order() + 1;
        let n_orders = selection.columns.iter().map(|c| c.order + 1).max();
        let n_orders = n_orders.unwrap_or(0);
        self.row_of.clear();
        self.row_of.resize(m * n_row_orders, NONE);
        self.column_of.clear();
        self.column_of.resize(n * n_orders, NONE);
        for (at, column) in (0u32..).zip(&selection.columns) {
            self.column_of[column.order * n + column.unknown] = at;
        }
        self.entries.clear();
        let Self {
            entries,
            row_of,
            column_of,
            series,
            initial,
            ..
        } = self;
        for (at, row) in selection.rows.iter().enumerate() {
            match *row {
                Row::Equation { equation, order } => row_of[order * m + equation] = at as u32,
                Row::Initial { equation } => {
                    for order in 0..initial.n_matrices().min(n_orders) {
                        let factor: f64 = (1..=order).map(|k| k as f64).product();
                        let pattern = initial.pattern(order);
                        for position in pattern.row(equation) {
                            let unknown = pattern.columns()[position] as usize;
                            let column = column_of[order * n + unknown];
                            if column != NONE {
                                let value = factor * initial.entry(order, position, 0);
                                entries.push((at, column as usize, value));
                            }
                        }
                    }
                }
                Row::Value { unknown, .. } => {
                    if n_orders > 0 && column_of[unknown] != NONE {
                        entries.push((at, column_of[unknown] as usize, 1.0));
                    }
                }
            }
        }
        for i in 0..n_row_orders {
            for j in 0..n_orders {
                series.array_block(i, j, |equation, unknown, value| {
                    let (row, column) = (row_of[i * m + equation], column_of[j * n + unknown]);
                    if row != NONE && column != NONE && value != 0.0 {
                        entries.push((row as usize, column as usize, value));
                    }
                });
            }
        }
    }

    /// The matrix last collected, rows and columns in units.
    pub fn dense(&self, units: &Units) -> Mat {
        let mut matrix = Mat::zeros(units.rows.len(), units.columns.len());
        for &(i, j, value) in &self.entries {
            matrix[(i, j)] += units.rows[i] * value * units.columns[j];
        }
        matrix
    }

    /// Entries of the matrix last collected, rows and columns in units.
    pub fn scaled_entries(&self, units: &Units) -> impl Iterator<Item = (usize, usize, f64)> {
        let entries = self.entries.iter();
        entries.map(|&(i, j, value)| (i, j, units.rows[i] * value * units.columns[j]))
    }

    /// E and B along a jet, up to `order`.
    pub fn matrix_series(
        &mut self,
        jet: &TaylorJet,
        order: usize,
    ) -> Result<MatrixSeries, ArrayFault> {
        self.load(jet);
        for k in 0..=order {
            self.series.extend(k).map_err(ArrayFault::Equation)?;
        }
        let (m, n) = (self.n_equations, self.n_unknowns);
        let coefficient = |derivative: usize, k: usize| {
            let mut matrix = Mat::zeros(m, n);
            for (row, column, position) in self.series.pattern(derivative).iter() {
                matrix[(row, column)] = self.series.entry(derivative, position, k);
            }
            matrix
        };
        let [b, e] =
            [0, 1].map(|derivative| (0..=order).map(|k| coefficient(derivative, k)).collect());
        Ok(MatrixSeries::new(e, b).expect("all coefficients have one shape"))
    }

    /// Entries of dF/dx^(derivative) at order 0 of the jet last evaluated: `(equation, unknown, value)`.
    pub fn leading(&self, derivative: usize) -> impl Iterator<Item = (usize, usize, f64)> {
        let pattern = self.series.pattern(derivative);
        let value = move |(row, column, position): (usize, usize, usize)| {
            (row, column, self.series.entry(derivative, position, 0))
        };
        pattern.iter().map(value)
    }

    /// Units of rows and columns from the entries of E_0 and B_0 of the jet last evaluated, for systems too large for
    /// dense series.
    pub(super) fn sparse_scaling(&self, nominal: &[f64]) -> Scaling {
        let [b, e] = [0, 1].map(|derivative| self.leading(derivative).collect::<Vec<_>>());
        Scaling::of_entries(self.n_equations, &e, &b, nominal)
    }
}

/// Factors that make rows and columns comparable: row i times `rows[i]`, column j in units of `columns[j]`.
#[derive(Clone, Debug)]
pub struct Units {
    /// Factors of the rows.
    pub rows: Vec<f64>,
    /// Units of the columns.
    pub columns: Vec<f64>,
}

impl Units {
    /// Order a of equation i times R_i rho^a, coefficient b of unknown j in units of C_j rho^-b.
    pub fn of_scaling(scaling: &Scaling, selection: &Selection) -> Self {
        let columns: Vec<f64> = selection
            .columns
            .iter()
            .map(|c| scaling.columns[c.unknown] * scaling.time.powi(-(c.order as i32)))
            .collect();
        let row = |row: &Row| match *row {
            Row::Equation { equation, order } => {
                scaling.rows[equation] * scaling.time.powi(order as i32)
            }
            Row::Initial { .. } => 1.0,
            Row::Value { unknown, .. } => 1.0 / scaling.columns[unknown],
        };
        Self {
            rows: selection.rows.iter().map(row).collect(),
            columns,
        }
    }

    /// Brings the rows of initial equations to size one, and others that are far beyond: they are scaled by their system,
    /// which does not reach units hundreds of powers of ten apart.
    pub fn level_rows(&mut self, array: &ConstraintArray, selection: &Selection) {
        let is_initial = |row: usize| matches!(selection.rows[row], Row::Initial { .. });
        let mut sizes = vec![0.0_f64; selection.rows.len()];
        for &(i, j, value) in &array.entries {
            sizes[i] = sizes[i].max((self.rows[i] * value).abs() * self.columns[j]);
        }
        let usual = WILD..1.0 / WILD;
        for (at, size) in sizes.into_iter().enumerate() {
            let is_level = !is_initial(at) && usual.contains(&size);
            let level = self.rows[at] / size;
            if size > 0.0 && !is_level && level.is_normal() {
                self.rows[at] = level;
            }
        }
    }
}
