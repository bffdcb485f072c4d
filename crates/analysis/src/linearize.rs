//! The linear model of a DAE of any index at a point: states, inputs, outputs, and what is improper.
//!
//! Numbers in parentheses refer to `docs/theory/linearize.md`.

use crate::System;
use crate::initial::{ConstraintArray, Row, Selection, Spot, TaylorJet, nominal};
use crate::judgement::free_unknowns;
use crate::spectrum::{FiniteEigenvalue, MAX_DERIVATIVES, eigenvalues_within};
use crate::structure::{Offsets, Structure};
use daelight_linalg::{GapRule, Lu, Mat, Qr, Svd};

/// Errors of A above this part of its largest entry: the point is too close to a singular one. Directions along which a value or
/// a rate is open move it by more than this, in units; the others by rounding.
const TOO_UNCERTAIN: f64 = 1e-6;

/// z' = A z + B v, w = C z + (D_0 + D_1 s + …) v, for small changes v of inputs and w of outputs, (5).
#[derive(Clone, Debug, PartialEq)]
pub struct LinearModel {
    /// The unknowns whose changes are the states, up to [`LinearModel::shifts`].
    pub states: Vec<usize>,
    /// A.
    pub a: Mat,
    /// B.
    pub b: Mat,
    /// C.
    pub c: Mat,
    /// D_0, D_1, …: the coefficients of the powers of s; at least one.
    pub d: Vec<Mat>,
    /// N_0, N_1, …: the states are the changes of the unknowns less N_0 v, N_1 v', …, (4); empty where they are these changes.
    pub shifts: Vec<Mat>,
    /// The eigenvalues of A, the largest real part first.
    pub poles: Vec<FiniteEigenvalue>,
}

/// What a linear model is read off.
#[derive(Clone, Copy, Debug)]
pub enum LinearForm<'a> {
    /// The derivatives that a structure asks for, which holds at the point, section 2.
    Structure(&'a Structure),
    /// All derivatives of all equations, section 2b.
    Array {
        /// The order from which on the array determines rates and constraints: the index.
        order: usize,
        /// Degrees of freedom.
        n_states: usize,
    },
}

impl LinearForm<'_> {
    /// The coefficients of a jet that are needed.
    pub fn n_coefficients(&self) -> usize {
        match self {
            Self::Structure(structure) => {
                let offsets = structure.offsets().variable.iter();
                1 + offsets.max().copied().unwrap_or(0)
            }
            Self::Array { order, .. } => order + 4,
        }
    }
}

/// A matrix with a bound of the error of each entry, (6).
#[derive(Clone, Debug)]
struct Known {
    values: Mat,
    errors: Mat,
}

impl Known {
    fn zeros(nrows: usize, ncols: usize) -> Self {
        Self {
            values: Mat::zeros(nrows, ncols),
            errors: Mat::zeros(nrows, ncols),
        }
    }

    /// The sum with a product, errors carried along.
    fn plus_product(&self, a: &Self, b: &Self) -> Self {
        let (n, m) = (self.values.nrows(), self.values.ncols());
        let mut sum = self.clone();
        for i in 0..n {
            for j in 0..m {
                for k in 0..a.values.ncols() {
                    let (x, y) = (a.values[(i, k)], b.values[(k, j)]);
                    sum.values[(i, j)] += x * y;
                    sum.errors[(i, j)] += a.errors[(i, k)] * y.abs()
                        + x.abs() * b.errors[(k, j)]
                        + 2.0 * f64::EPSILON * (x * y).abs();
                }
            }
        }
        sum
    }

    /// The matrix with zeros where nothing else is known.
    fn rounded(&self) -> Mat {
        Mat::from_fn(self.values.nrows(), self.values.ncols(), |i, j| {
            let value = self.values[(i, j)];
            if value.abs() <= self.errors[(i, j)] {
                0.0
            } else {
                value
            }
        })
    }

    fn is_zero(&self) -> bool {
        self.rounded().as_slice().iter().all(|value| *value == 0.0)
    }
}

/// The linear model at a jet, by the structure where it holds, else by the whole derivative array up to an order.
///
/// `inputs` are the equations that give signals, `outputs` unknowns. `Err` tells why there is none.
pub fn linearize(
    system: &System,
    form: &LinearForm<'_>,
    at: Spot<'_>,
    inputs: &[usize],
    outputs: &[usize],
) -> Result<LinearModel, String> {
    let (array, states, solved) = match *form {
        LinearForm::Structure(structure) => {
            let array = Array::new(system, structure.offsets(), at, &[])?;
            let states = array.states(system)?;
            let solved = array.solved(&states, inputs)?;
            (array, states, solved)
        }
        LinearForm::Array { order, n_states } => {
            solved_whole(system, (order, n_states), at, inputs)?
        }
    };
    let n_orders = inputs.iter().map(|&row| array.row_of[row].1);
    let n_orders = n_orders.max().unwrap_or(1);
    let n_states = states.len();
    let part = |unknowns: &[usize], order: usize, of: &dyn Fn(usize) -> Option<usize>, n: usize| {
        let mut part = Known::zeros(unknowns.len(), n);
        for (i, &unknown) in unknowns.iter().enumerate() {
            for j in 0..n {
                let Some(column) = of(j) else { continue };
                let place = (array.first[unknown] + order, column);
                part.values[(i, j)] = array.unscaled(&solved.values, unknown, order, place);
                part.errors[(i, j)] = array.unscaled(&solved.errors, unknown, order, place);
            }
        }
        part
    };
    let of_state = |j: usize| Some(j);
    let of_input = |m: usize| {
        let columns = array.input_columns(inputs, n_states);
        move |j: usize| columns[j].get(m).copied()
    };
    let a = part(&states, 1, &of_state, n_states);
    let c = part(outputs, 0, &of_state, n_states);
    let largest = a.values.view().norm_max();
    if a.errors.view().norm_max() > TOO_UNCERTAIN * largest && largest > 0.0 {
        return Err("the point is too close to a singular one".to_string());
    }
    let b: Vec<Known> = (0..n_orders)
        .map(|m| part(&states, 1, &of_input(m), inputs.len()))
        .collect();
    // (4), from the last derivative down.
    let mut shift = Known::zeros(n_states, inputs.len());
    let mut shifts = vec![shift.clone()];
    for b in b.iter().skip(1).rev() {
        shift = b.plus_product(&a, &shift);
        shifts.insert(0, shift.clone());
    }
    let d: Vec<Known> = (0..n_orders)
        .map(|m| part(outputs, 0, &of_input(m), inputs.len()).plus_product(&c, &shifts[m]))
        .collect();
    let n_powers = 1 + d.iter().rposition(|d| !d.is_zero()).unwrap_or(0);
    let n_shifts = shifts.iter().rposition(|n| !n.is_zero());
    let n_shifts = n_shifts.map_or(0, |last| last + 1);
    Ok(LinearModel {
        poles: eigenvalues_within(&a.rounded(), &a.errors)?,
        b: b[0].plus_product(&a, &shifts[0]).rounded(),
        a: a.rounded(),
        c: c.rounded(),
        d: d[..n_powers].iter().map(Known::rounded).collect(),
        shifts: shifts[..n_shifts].iter().map(Known::rounded).collect(),
        states,
    })
}

/// Solutions of M X = R with a (generalised) inverse of M, refined once, and their errors by (6).
fn answers(matrix: &Mat, inverse: &Mat, right: &[(usize, f64)]) -> Known {
    let (n_rows, n) = (matrix.nrows(), matrix.ncols());
    let mut found = Known::zeros(n, right.len());
    let mut size = vec![0.0; n_rows];
    for (column, &(row, factor)) in right.iter().enumerate() {
        let mut x: Vec<f64> = (0..n).map(|i| inverse[(i, row)] * factor).collect();
        let mut residual: Vec<f64> = matrix.mul_vec(&x).iter().map(|value| -value).collect();
        residual[row] += factor;
        let correction = inverse.mul_vec(&residual);
        (x.iter_mut().zip(&correction)).for_each(|(x, change)| *x += change);
        for (i, value) in x.into_iter().enumerate() {
            found.values[(i, column)] = value;
        }
        for (i, size) in size.iter_mut().enumerate() {
            let terms = (0..n).map(|j| (matrix[(i, j)] * found.values[(j, column)]).abs());
            *size = terms.sum::<f64>() + if i == row { factor.abs() } else { 0.0 };
        }
        for i in 0..n {
            let bound: f64 = (0..n_rows).map(|j| inverse[(i, j)].abs() * size[j]).sum();
            found.errors[(i, column)] = 4.0 * n as f64 * f64::EPSILON * bound;
        }
    }
    found
}

/// The whole array, the states and the answers, section 2b: the lowest order that determines values and rates.
fn solved_whole(
    system: &System,
    (order, n_states): (usize, usize),
    at: Spot<'_>,
    inputs: &[usize],
) -> Result<(Array, Vec<usize>, Known), String> {
    let (n, m) = (
        system.equations().n_unknowns(),
        system.equations().n_equations(),
    );
    let mut why = String::new();
    for order in order.max(1)..=order + 2 {
        let offsets = Offsets {
            equation: vec![order; m],
            variable: vec![order + 1; n],
        };
        let array = Array::new(system, &offsets, at, &[])?;
        match array.solved_by_ranks(system, n_states, inputs) {
            Ok((states, solved)) => return Ok((array, states, solved)),
            Err(because) => why = because,
        }
    }
    Err(why)
}

/// The derivatives x_j^(s) in the units of the unknowns and of time, and the Jacobian by them.
struct Array {
    /// Entries of J in these units, each row brought to size 1.
    entries: Vec<(usize, usize, f64)>,
    /// Factors of the rows.
    rows: Vec<f64>,
    /// Place of the value of each unknown among the columns.
    first: Vec<usize>,
    /// Where each equation has its first row, and how many rows.
    row_of: Vec<(usize, usize)>,
    n_columns: usize,
    offsets: Vec<usize>,
    sizes: Vec<f64>,
    /// The unit of time.
    unit: f64,
}

impl Array {
    /// The equations at a jet, then conditions.
    fn new(
        system: &System,
        offsets: &Offsets,
        at: Spot<'_>,
        conditions: &[Row],
    ) -> Result<Self, String> {
        let (c, d) = (&offsets.equation, &offsets.variable);
        let n_columns: usize = d.iter().map(|d| d + 1).sum();
        if n_columns > MAX_DERIVATIVES {
            return Err(format!(
                "{n_columns} derivatives are more than {MAX_DERIVATIVES}"
            ));
        }
        let most = d.iter().copied().max().unwrap_or(0);
        if at.jet.n_orders() <= most {
            return Err(format!("the point has no derivatives of order {most}"));
        }
        // Rows equation by equation, columns unknown by unknown.
        let mut selection = Selection::default();
        let mut row_of = Vec::with_capacity(c.len());
        for (equation, &c) in c.iter().enumerate() {
            row_of.push((selection.rows.len(), c + 1));
            let rows = (0..=c).map(|order| Row::Equation { equation, order });
            selection.rows.extend(rows);
        }
        selection.rows.extend_from_slice(conditions);
        let mut first = Vec::with_capacity(d.len());
        for (unknown, &d) in d.iter().enumerate() {
            first.push(selection.columns.len());
            let columns = (0..=d).map(|order| crate::initial::Column { unknown, order });
            selection.columns.extend(columns);
        }
        let mut array = ConstraintArray::new(system, at.time, selection.order());
        array.pin(system.equations().graph(), at.sides);
        let fault = |_| "an equation has no value at the point".to_string();
        array.evaluate(at.jet, &selection).map_err(fault)?;
        array.differentiate(&selection);
        let sizes: Vec<f64> = nominal(system);
        let unit = unit_of_time(&array.entries, &selection, &sizes);
        let mut rows = vec![0.0_f64; selection.rows.len()];
        let mut entries = array.entries.clone();
        for (i, j, value) in &mut entries {
            let column = &selection.columns[*j];
            *value *= sizes[column.unknown] / unit.powi(column.order as i32);
            rows[*i] = rows[*i].max(value.abs());
        }
        let rows: Vec<f64> = (rows.into_iter())
            .map(|size| if size > 0.0 { 1.0 / size } else { 1.0 })
            .collect();
        (entries.iter_mut()).for_each(|(i, _, value)| *value *= rows[*i]);
        Ok(Self {
            entries,
            rows,
            first,
            row_of,
            n_columns,
            offsets: d.clone(),
            sizes,
            unit,
        })
    }

    /// The unknowns that are states: rows of the kernel of J that span it best.
    fn states(&self, system: &System) -> Result<Vec<usize>, String> {
        let n_rows = self.rows.len();
        let mut transposed = Mat::zeros(self.n_columns, n_rows);
        for &(i, j, value) in &self.entries {
            transposed[(j, i)] += value;
        }
        let words = |error: daelight_linalg::LinalgError| error.to_string();
        let n_states = self.n_columns - n_rows;
        let mut kernel = Mat::zeros(self.n_columns, n_states);
        let mut qr = Qr::new();
        if n_rows > 0 {
            qr.factor(transposed.view()).map_err(words)?;
            qr.left_null_basis(n_rows, kernel.view_mut())
                .map_err(words)?;
        } else {
            kernel = Mat::identity(self.n_columns);
        }
        let n = self.first.len();
        // What has no derivative in the array cannot be a state.
        let values = Mat::from_fn(n, n_states, |j, k| match self.offsets[j] {
            0 => 0.0,
            _ => kernel[(self.first[j], k)],
        });
        let states = free_unknowns(system, &values, &vec![1.0; n]);
        if states.len() == n_states {
            Ok(states)
        } else {
            Err("no unknowns determine the solutions nearby".to_string())
        }
    }

    /// The same without a structure: J has dependent rows, and derivatives of high order stay open. (7) decides which values and
    /// rates do not.
    fn solved_by_ranks(
        &self,
        system: &System,
        n_states: usize,
        inputs: &[usize],
    ) -> Result<(Vec<usize>, Known), String> {
        let words = |error: daelight_linalg::LinalgError| error.to_string();
        let undecided =
            || "the ranks of the equations and their derivatives are not decided".to_string();
        let matrix = self.matrix(&[]);
        let mut svd = Svd::new();
        svd.factor(matrix.view()).map_err(words)?;
        let rule = |matrix: &Mat, norm: f64| GapRule::new(matrix.nrows(), matrix.ncols(), norm);
        let rank = svd.rank(&rule(&matrix, svd.norm())).decided();
        let kernel = svd
            .kernel_basis(rank.ok_or_else(undecided)?)
            .map_err(words)?;
        let n = self.first.len();
        let values = Mat::from_fn(n, kernel.ncols(), |j, k| kernel.at(self.first[j], k));
        let mut open = Svd::new();
        open.factor(values.view()).map_err(words)?;
        if n > 0 && open.rank(&rule(&values, 1.0)).decided() != Some(n_states) {
            return Err(undecided());
        }
        let directions = values.matmul(&open.v().map_err(words)?.to_owned());
        let directions = Mat::from_fn(n, n_states, |j, k| directions[(j, k)]);
        let states = free_unknowns(system, &directions, &vec![1.0; n]);
        if states.len() != n_states {
            return Err("no unknowns determine the solutions nearby".to_string());
        }
        let matrix = self.matrix(&states);
        svd.factor(matrix.view()).map_err(words)?;
        let rank = svd
            .rank(&rule(&matrix, svd.norm()))
            .decided()
            .ok_or_else(undecided)?;
        let kernel = svd.kernel_basis(rank).map_err(words)?;
        let is_open = |j: usize| {
            let place = self.first[j];
            (0..kernel.ncols()).any(|k| {
                kernel.at(place, k).abs().max(kernel.at(place + 1, k).abs()) > TOO_UNCERTAIN
            })
        };
        if (0..n).any(is_open) {
            return Err("the equations do not determine all rates".to_string());
        }
        let (u, v) = (svd.u().map_err(words)?, svd.v().map_err(words)?);
        let sigma = svd.singular_values();
        let inverse = Mat::from_fn(matrix.ncols(), matrix.nrows(), |i, j| {
            (0..rank).map(|k| v.at(i, k) * u.at(j, k) / sigma[k]).sum()
        });
        let right = self.right_sides(&states, inputs);
        let found = answers(&matrix, &inverse, &right);
        for (column, &(row, factor)) in right.iter().enumerate() {
            let left = matrix.mul_vec(found.values.col(column));
            let off =
                |(i, value): (usize, &f64)| (value - if i == row { factor } else { 0.0 }).abs();
            if left.iter().enumerate().map(off).fold(0.0, f64::max) > TOO_UNCERTAIN * factor.abs() {
                return Err("the equations contradict a change of an input".to_string());
            }
        }
        Ok((states, found))
    }

    /// Columns of the solution that belong to each input, by the derivative of its signal.
    fn input_columns(&self, inputs: &[usize], n_states: usize) -> Vec<Vec<usize>> {
        let mut next = n_states;
        let columns = inputs.iter().map(|&equation| {
            let (_, count) = self.row_of[equation];
            next += count;
            (next - count..next).collect()
        });
        columns.collect()
    }

    /// (J; S) of (2).
    fn matrix(&self, states: &[usize]) -> Mat {
        let n_rows = self.rows.len();
        let mut matrix = Mat::zeros(n_rows + states.len(), self.n_columns);
        for &(i, j, value) in &self.entries {
            matrix[(i, j)] += value;
        }
        for (k, &state) in states.iter().enumerate() {
            matrix[(n_rows + k, self.first[state])] = 1.0;
        }
        matrix
    }

    /// The right sides of (2), each in one row: a unit change of each state, then of each derivative of each input.
    fn right_sides(&self, states: &[usize], inputs: &[usize]) -> Vec<(usize, f64)> {
        let n_rows = self.rows.len();
        let mut right: Vec<(usize, f64)> = (states.iter().enumerate())
            .map(|(k, &state)| (n_rows + k, 1.0 / self.sizes[state]))
            .collect();
        for &equation in inputs {
            let (row, count) = self.row_of[equation];
            let mut factorial = 1.0;
            for order in 0..count {
                factorial *= order.max(1) as f64;
                right.push((row + order, self.rows[row + order] / factorial));
            }
        }
        right
    }

    /// The answers y of (2) to the right sides.
    fn solved(&self, states: &[usize], inputs: &[usize]) -> Result<Known, String> {
        let matrix = self.matrix(states);
        let words = |error: daelight_linalg::LinalgError| error.to_string();
        let mut lu = Lu::new();
        lu.factor(matrix.view()).map_err(words)?;
        let mut inverse = Mat::identity(self.n_columns);
        lu.solve_many(inverse.view_mut()).map_err(words)?;
        Ok(answers(
            &matrix,
            &inverse,
            &self.right_sides(states, inputs),
        ))
    }

    /// A derivative in the user's units.
    fn unscaled(&self, of: &Mat, unknown: usize, order: usize, place: (usize, usize)) -> f64 {
        let factorial: f64 = (1..=order).map(|k| k as f64).product();
        of[place] * self.sizes[unknown] * factorial / self.unit.powi(order as i32)
    }
}

/// The solutions beside a given one at a time: J y = r, with conditions, and the values of some unknowns chosen, (11) of
/// `docs/theory/sensitivities.md`.
pub struct Variations {
    array: Array,
    n_conditions: usize,
    chosen: Vec<usize>,
    lu: Lu,
}

/// What right sides count for a sum of values, (12) of `docs/theory/sensitivities.md`.
pub struct Weights {
    /// Of the Taylor coefficients of each equation.
    pub equations: Vec<Vec<f64>>,
    /// Of each condition.
    pub conditions: Vec<f64>,
    /// Of each value that is chosen.
    pub chosen: Vec<f64>,
}

impl Variations {
    /// With as many values chosen as the structure leaves free.
    pub fn new(
        system: &System,
        structure: &Structure,
        at: (f64, &TaylorJet),
    ) -> Result<Self, String> {
        let array = Array::new(system, structure.offsets(), Spot::plain(at), &[])?;
        let chosen = array.states(system)?;
        Self::factored(array, 0, chosen)
    }

    /// With conditions, and the values that they leave free.
    pub fn with_conditions(
        system: &System,
        structure: &Structure,
        at: (f64, &TaylorJet),
        conditions: &[Row],
        free: &[usize],
    ) -> Result<Self, String> {
        let array = Array::new(system, structure.offsets(), Spot::plain(at), conditions)?;
        Self::factored(array, conditions.len(), free.to_vec())
    }

    fn factored(array: Array, n_conditions: usize, chosen: Vec<usize>) -> Result<Self, String> {
        let (n, n_rows) = (array.n_columns, array.rows.len());
        if n_rows + chosen.len() != n {
            return Err("what is free there is not known".to_string());
        }
        let mut matrix = Mat::zeros(n, n);
        for &(i, j, value) in &array.entries {
            matrix[(i, j)] += value;
        }
        for (k, &unknown) in chosen.iter().enumerate() {
            matrix[(n_rows + k, array.first[unknown])] = 1.0;
        }
        let mut lu = Lu::new();
        lu.factor(matrix.view()).map_err(|e| e.to_string())?;
        Ok(Self {
            array,
            n_conditions,
            chosen,
            lu,
        })
    }

    /// The unknowns whose values are chosen.
    pub fn chosen(&self) -> &[usize] {
        &self.chosen
    }

    /// How many values are chosen.
    pub fn n_chosen(&self) -> usize {
        self.chosen.len()
    }

    /// The change of all unknowns, with their derivatives, that goes with changes of the chosen ones alone.
    pub fn jet(&mut self, changes: &[f64]) -> Result<TaylorJet, String> {
        let array = &self.array;
        let n_rows = array.rows.len();
        let mut y = vec![0.0; array.n_columns];
        for ((k, &unknown), change) in self.chosen.iter().enumerate().zip(changes) {
            y[n_rows + k] = change / array.sizes[unknown];
        }
        self.lu.solve(&mut y).map_err(|e| e.to_string())?;
        let most = array.offsets.iter().max().copied().unwrap_or(0);
        let n = array.first.len();
        let mut jet = TaylorJet::at_rest(&vec![0.0; n], most + 1);
        for unknown in 0..n {
            for order in 0..=array.offsets[unknown] {
                let scale = array.sizes[unknown] / array.unit.powi(order as i32);
                jet.set(unknown, order, scale * y[array.first[unknown] + order]);
            }
        }
        Ok(jet)
    }

    /// The changes of all values that go with a unit change of each chosen one, one column each.
    pub fn kernel(&mut self) -> Result<Mat, String> {
        let (n, n_chosen) = (self.array.first.len(), self.chosen.len());
        let mut kernel = Mat::zeros(n, n_chosen);
        for k in 0..n_chosen {
            let mut unit = vec![0.0; n_chosen];
            unit[k] = 1.0;
            let jet = self.jet(&unit)?;
            for (j, value) in jet.values().iter().enumerate() {
                kernel[(j, k)] = *value;
            }
        }
        Ok(kernel)
    }

    /// What the right sides count for the sum of e_j times the change of unknown j.
    pub fn weights(&mut self, e: &[f64]) -> Result<Weights, String> {
        let array = &self.array;
        let mut y = vec![0.0; array.n_columns];
        for (j, value) in e.iter().enumerate() {
            y[array.first[j]] = value * array.sizes[j];
        }
        self.lu.solve_transpose(&mut y).map_err(|e| e.to_string())?;
        let n_rows = array.rows.len();
        let row = |at: usize| y[at] * array.rows[at];
        let of_equation = |&(first, count): &(usize, usize)| (first..first + count).map(row);
        let equations = array.row_of.iter();
        let chosen = self.chosen.iter().enumerate();
        Ok(Weights {
            equations: equations.map(|rows| of_equation(rows).collect()).collect(),
            conditions: (n_rows - self.n_conditions..n_rows).map(row).collect(),
            chosen: chosen
                .map(|(k, &unknown)| y[n_rows + k] / array.sizes[unknown])
                .collect(),
        })
    }
}

/// A power of two in which rates and values are of comparable size in the rows that hold both.
fn unit_of_time(entries: &[(usize, usize, f64)], selection: &Selection, sizes: &[f64]) -> f64 {
    let n_rows = selection.rows.len();
    let mut by_order = vec![[0.0_f64; 2]; n_rows];
    for &(i, j, value) in entries {
        let Row::Equation { order: 0, .. } = selection.rows[i] else {
            continue;
        };
        let column = &selection.columns[j];
        if let Some(most) = by_order[i].get_mut(column.order) {
            *most = most.max((value * sizes[column.unknown]).abs());
        }
    }
    let ratios = by_order
        .iter()
        .filter(|[value, rate]| *value > 0.0 && *rate > 0.0);
    let logs: Vec<f64> = ratios.map(|[value, rate]| (rate / value).log2()).collect();
    match logs.len() {
        0 => 1.0,
        n => (logs.iter().sum::<f64>() / n as f64).round().exp2(),
    }
}
