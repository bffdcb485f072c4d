//! The stages of a structure: projecting a point onto all hidden constraints, and expanding it into series.
//!
//! Stage k solves for x_j^(k + d_j) from equation i differentiated k + c_i times, always with the system Jacobian;
//! sections 1 and 2 of `docs/theory/integration.md`.

use crate::blocks::BlockSolver;
use crate::bordered::{Bordered, CURVED};
use crate::options::Tolerances;
use crate::outcome::{Failure, Statistics};
use crate::problem::Problem;
use daelight_expr::{Fault, JetEvaluator, Node, PackedJet, Side, Values};
use daelight_linalg::{GapRule, LinalgError, Mat, Qr};
use std::cmp::Ordering;

/// Rounds of Newton's method in one stage before it is given up.
const MAX_ROUNDS: usize = 8;

/// A scaled residual up to this is rounding: four units for each operation of a short equation.
const ROUNDING: f64 = 1e-15;

/// After a relative correction below this the next one would be below rounding (its square).
const SETTLED: f64 = 1e-8;

/// A relative correction above this makes the system Jacobian be evaluated again.
const STALE: f64 = 1e-2;

/// Up to this many unknowns the start moves as little as possible, by a full orthogonal factorisation.
const MAX_LEAST_LENGTH: usize = 60;

/// Rounds of the damped method at the start, per stage.
const MAX_START_ROUNDS: usize = 50;

/// Halvings of one step at the start.
const MAX_HALVINGS: usize = 20;

/// Up to this many unknowns solutions beside a singular point are looked for.
const MAX_SEARCHED: usize = 200;

/// What a projection found.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Projected {
    /// The first correction of the states, relative to their sizes: an estimate of the local error.
    pub state_change: f64,
    /// The first correction of algebraic unknowns: what errors of the states do to them.
    pub algebraic_change: f64,
    /// The first correction of everything, the highest derivatives and algebraic unknowns included.
    pub change: f64,
    /// The greatest scaled residual that is left, (10).
    pub residual: f64,
}

/// Everything needed to solve the stages; nothing allocates after it is made.
pub(crate) struct Stages<'p> {
    problem: &'p Problem,
    jet: PackedJet,
    jacobian: Values,
    solver: BlockSolver,
    n: usize,
    /// Number of stages above 0.
    n_stages: usize,
    rows: Vec<RowPattern>,
    /// The entries of the system Jacobian as last factored.
    entries: Vec<f64>,
    /// Where x_{j,d_j} is among the coefficients `[order][unknown]`.
    tops: Vec<usize>,
    /// By stage from the first one to 0.
    scalings: Vec<Scaling>,
    /// Factors of the stages above 0: rising factorials for equations, their inverses for unknowns, `[stage][i]`.
    rising_rows: Vec<f64>,
    rising_columns: Vec<f64>,
    right: Vec<f64>,
    solution: Vec<f64>,
    /// Branch of the residuals' tape for each branch of the Jacobian's, where they decide the same.
    same_branch: Vec<Option<usize>>,
    /// The greatest scaled residual of each level in the last projection.
    pub levels: Vec<f64>,
    /// The same for the last residual.
    found: Vec<f64>,
    pub statistics: Statistics,
}

/// The entries of one equation in the system Jacobian.
struct RowPattern {
    first: usize,
    unknowns: Vec<u32>,
}

/// Numbers of one stage k <= 0, for what has begun.
struct Scaling {
    stage: i32,
    rows: Vec<ScaledRow>,
    columns: Vec<ScaledColumn>,
}

/// An equation that has begun.
struct ScaledRow {
    equation: usize,
    /// k + c_i: how often it is differentiated.
    level: usize,
    /// (k + c_i)!
    factor: f64,
}

/// An unknown that has begun.
struct ScaledColumn {
    unknown: usize,
    /// k + d_j
    order: usize,
    /// Where x_{j,k + d_j} is among the coefficients.
    place: usize,
    /// (k + d_j)!
    factor: f64,
    /// The size below which x_j^(k + d_j) counts as small.
    nominal: f64,
}

fn factorial(n: usize) -> f64 {
    (1..=n).map(|k| k as f64).product()
}

impl<'p> Stages<'p> {
    /// Room for series with stages up to `n_stages`.
    pub fn new(
        problem: &'p Problem,
        n_stages: usize,
        tolerances: &Tolerances,
    ) -> Result<Self, LinalgError> {
        let structure = problem.structure();
        let offsets = structure.offsets();
        let (c, d) = (&offsets.equation, &offsets.variable);
        let n = problem.n();
        let mut jet = PackedJet::new(
            std::sync::Arc::clone(problem.residual_tape()),
            n_stages + problem.max_equation_offset(),
        );
        jet.inputs_mut()
            .parameters_mut()
            .copy_from_slice(problem.parameters());
        let mut first = 0;
        let rows = (0..n)
            .map(|equation| {
                let unknowns: Vec<u32> =
                    structure.jacobian_row(equation).map(|j| j as u32).collect();
                first += unknowns.len();
                RowPattern {
                    first: first - unknowns.len(),
                    unknowns,
                }
            })
            .collect();
        let first_stage = -(problem.max_equation_offset() as i32);
        let scalings = (first_stage..=0)
            .map(|stage| {
                let order = |offset: usize| usize::try_from(offset as i32 + stage).ok();
                let row = |(equation, &c): (usize, &usize)| {
                    order(c).map(|level| ScaledRow {
                        equation,
                        level,
                        factor: factorial(level),
                    })
                };
                let column = |(unknown, &d): (usize, &usize)| {
                    order(d).map(|order| ScaledColumn {
                        unknown,
                        order,
                        place: order * n + unknown,
                        factor: factorial(order),
                        nominal: tolerances.absolute(order, unknown) / tolerances.rtol,
                    })
                };
                Scaling {
                    stage,
                    rows: c.iter().enumerate().filter_map(row).collect(),
                    columns: d.iter().enumerate().filter_map(column).collect(),
                }
            })
            .collect();
        let rising = |stage: usize, offset: usize| -> f64 {
            (stage + 1..=stage + offset).map(|f| f as f64).product()
        };
        let table = |offsets: &[usize], invert: bool| -> Vec<f64> {
            (1..=n_stages)
                .flat_map(|stage| offsets.iter().map(move |&offset| (stage, offset)))
                .map(|(stage, offset)| rising(stage, offset))
                .map(|factor| if invert { 1.0 / factor } else { -factor })
                .collect()
        };
        let jacobian = problem.jacobian_values();
        Ok(Self {
            same_branch: same_branches(problem, &jet, &jacobian),
            rising_rows: table(c, false),
            rising_columns: table(d, true),
            solver: problem.solver()?,
            entries: vec![0.0; structure.n_jacobian_entries()],
            tops: d.iter().enumerate().map(|(j, &d)| d * n + j).collect(),
            right: vec![0.0; n],
            solution: vec![0.0; n],
            levels: vec![0.0; problem.max_equation_offset() + 1],
            found: vec![0.0; problem.max_equation_offset() + 1],
            statistics: Statistics::default(),
            problem,
            jet,
            jacobian,
            n,
            n_stages,
            rows,
            scalings,
        })
    }

    /// What is being solved.
    pub fn problem(&self) -> &'p Problem {
        self.problem
    }

    /// The factored system Jacobian.
    pub fn solver(&self) -> &BlockSolver {
        &self.solver
    }

    /// The entries of the system Jacobian as last evaluated, row by row.
    pub fn entries(&self) -> Vec<f64> {
        (0..self.problem.structure().n_jacobian_entries())
            .map(|entry| self.jacobian.root(entry))
            .collect()
    }

    /// Number of rows of a series: orders 0 to n_stages + max d.
    pub fn n_rows(&self) -> usize {
        self.n_stages + self.problem.max_unknown_offset() + 1
    }

    /// Number of branches of the model.
    pub fn n_branches(&self) -> usize {
        self.jet.tape().branches().len()
    }

    /// The sides of the branches.
    pub fn sides(&self) -> &[Ordering] {
        self.jet.branches().sides()
    }

    /// Lets the sides follow the values, or holds them.
    pub fn hold(&mut self, held: bool) {
        self.jet.branches_mut().hold(held);
        self.jacobian.branches_mut().hold(held);
        if held {
            for (branch, same) in self.same_branch.iter().enumerate() {
                if let Some(same) = same {
                    let side = self.jet.branches().sides()[*same];
                    self.jacobian.branches_mut().choose(branch, side);
                }
            }
        }
    }

    /// Puts a held branch on a side.
    pub fn choose(&mut self, branch: usize, side: Ordering) {
        self.jet.branches_mut().choose(branch, side);
        self.hold(true);
    }

    /// Coefficients of the quantity that decides a branch, from the last expansion.
    pub fn switching(&self, branch: usize, into: &mut [f64]) {
        for (order, place) in into.iter_mut().enumerate() {
            *place = self.jet.switching(branch, order);
        }
    }

    /// Number of coefficients of [`Stages::switching`].
    pub fn n_switching(&self) -> usize {
        self.n_stages + 1
    }

    /// Says on which side of the knots of signals the series are expanded.
    pub fn set_side(&mut self, side: Side) {
        self.jet.inputs_mut().set_side(side);
    }

    /// Sets the point to be solved for: coefficients `[order][unknown]` up to the greatest offset d.
    pub fn set_point(&mut self, time: f64, point: &[f64]) {
        let inputs = self.jet.inputs_mut();
        inputs.set_time(time);
        for (order, row) in point.chunks_exact(self.n.max(1)).enumerate() {
            inputs.row_mut(order).copy_from_slice(row);
        }
    }

    /// The point as it is now.
    pub fn point(&self, into: &mut [f64]) {
        for (order, row) in into.chunks_exact_mut(self.n.max(1)).enumerate() {
            row.copy_from_slice(self.jet.inputs().row(order));
        }
    }

    /// Evaluates and factors the system Jacobian at the point.
    pub fn factor(&mut self) -> Result<(), Failure> {
        self.evaluate()?;
        self.statistics.factorizations += 1;
        self.solver.factor(&self.entries)?;
        Ok(())
    }

    /// Evaluates the system Jacobian at the point.
    fn evaluate(&mut self) -> Result<(), Failure> {
        let inputs = self.jet.inputs();
        let row = |order: usize| inputs.row(order);
        // A fault of an entry is told as one of its equation.
        evaluate_jacobian(&mut self.jacobian, inputs.time(), row).map_err(|fault| {
            let after = self.rows.partition_point(|row| row.first <= fault.root);
            let root = after.saturating_sub(1);
            Fault { root, ..fault }
        })?;
        self.statistics.jacobians += 1;
        self.jacobian.roots(&mut self.entries);
        Ok(())
    }

    /// Evaluates the point as it is, without moving it: the entries of the system Jacobian, and the scaled residuals of all
    /// levels into `levels`.
    pub fn inspect(&mut self) -> Result<&[f64], Failure> {
        self.evaluate()?;
        self.levels.fill(0.0);
        for stage in 0..self.scalings.len() {
            self.residual(stage)?;
            for (level, found) in self.levels.iter_mut().zip(&self.found) {
                *level = level.max(*found);
            }
        }
        Ok(&self.entries)
    }

    /// Evaluates stage k at the point, and fills the right-hand side of (3). Gives the scaled residual (10).
    fn residual(&mut self, stage: usize) -> Result<f64, Failure> {
        let scaling = &self.scalings[stage];
        self.jet.extend(scaling.stage)?;
        self.statistics.residuals += 1;
        self.jet.stage_roots(scaling.stage, &mut self.right);
        // The sizes x_j^(k + d_j), nominal ones included; the solution is not needed yet.
        let coefficients = self.jet.inputs().rows();
        for column in &scaling.columns {
            self.solution[column.unknown] =
                column.nominal + column.factor * coefficients[column.place].abs();
        }
        let mut worst = 0.0f64;
        self.found.fill(0.0);
        for row in &scaling.rows {
            let right = &mut self.right[row.equation];
            *right *= -row.factor;
            if *right != 0.0 {
                // Rows that have begun hold only unknowns that have begun.
                let pattern = &self.rows[row.equation];
                let entries = &self.entries[pattern.first..];
                let size: f64 = pattern
                    .unknowns
                    .iter()
                    .zip(entries)
                    .map(|(&j, entry)| entry.abs() * self.solution[j as usize])
                    .sum();
                let scaled = right.abs() / size;
                worst = worst.max(scaled);
                self.found[row.level] = self.found[row.level].max(scaled);
            }
        }
        // A row without any size cannot be judged, and a fault would have been an error.
        Ok(if worst.is_nan() { f64::INFINITY } else { worst })
    }

    /// Adds the solution of stage k to the point; gives the greatest relative change, and that of values alone.
    fn update(&mut self, stage: usize) -> (f64, f64) {
        let scaling = &self.scalings[stage];
        let (mut change, mut of_values) = (0.0f64, 0.0f64);
        let coefficients = self.jet.inputs_mut().rows_mut();
        for column in &scaling.columns {
            let delta = self.solution[column.unknown];
            let coefficient = &mut coefficients[column.place];
            *coefficient += delta / column.factor;
            let size = column.factor * coefficient.abs() + column.nominal;
            change = change.max(delta.abs() / size);
            if column.order == 0 {
                of_values = of_values.max(delta.abs() / size);
            }
        }
        (change, of_values)
    }

    /// Projects the point onto all constraints, written and hidden: stages up to 0 with one factorisation, (4).
    ///
    /// The system Jacobian must have been factored at the point or near it. With `refresh` it is evaluated again
    /// after each large correction, for points that are far off.
    pub fn project(&mut self, refresh: bool) -> Result<Projected, Failure> {
        let mut projected = Projected::default();
        self.levels.fill(0.0);
        for stage in 0..self.scalings.len() {
            let mut change = f64::INFINITY;
            let mut before = f64::INFINITY;
            for round in 0.. {
                let residual = self.residual(stage)?;
                let settled = residual <= ROUNDING || change <= SETTLED;
                // Rounding may keep the residual above the mark; it must not grow then.
                let stuck = round > 1 && residual >= before && residual < 1e-11;
                if settled || stuck {
                    projected.residual = projected.residual.max(residual);
                    for (level, found) in self.levels.iter_mut().zip(&self.found) {
                        *level = level.max(*found);
                    }
                    break;
                }
                if round == MAX_ROUNDS || (round > 2 && residual > 2.0 * before) {
                    return Err(Failure::NoConvergence {
                        stage: self.scalings[stage].stage,
                        residual,
                    });
                }
                before = residual;
                self.solver.solve(&self.right, &mut self.solution)?;
                let of_values;
                (change, of_values) = self.update(stage);
                if round == 0 {
                    projected.change = projected.change.max(change);
                    if self.scalings[stage].stage < 0 {
                        projected.state_change = projected.state_change.max(change);
                    } else {
                        projected.algebraic_change = of_values;
                    }
                }
                if !change.is_finite() {
                    return Err(Failure::NoConvergence {
                        stage: self.scalings[stage].stage,
                        residual,
                    });
                }
                if refresh && change > STALE {
                    self.factor()?;
                }
            }
        }
        Ok(projected)
    }

    /// Solves the stages up to 0 from a rough guess: damped, each step of least length, the Jacobian always fresh.
    ///
    /// `fixed` says which x_j^(s) must not move. Beyond [`MAX_LEAST_LENGTH`] unknowns the step is that of (4).
    pub fn project_start(&mut self, fixed: impl Fn(usize, usize) -> bool) -> Result<(), Failure> {
        for stage in 0..self.scalings.len() {
            let mut change = f64::INFINITY;
            for round in 0.. {
                self.factor()?;
                let residual = self.residual(stage)?;
                if residual <= ROUNDING || (change <= SETTLED && residual < 1e-11) {
                    break;
                }
                if round == MAX_START_ROUNDS {
                    return Err(Failure::NoConvergence {
                        stage: self.scalings[stage].stage,
                        residual,
                    });
                }
                if self.n <= MAX_LEAST_LENGTH {
                    self.shortest_step(stage, &fixed)?;
                } else {
                    self.solver.solve(&self.right, &mut self.solution)?;
                }
                change = self.damped_update(stage, residual)?;
            }
        }
        self.factor()?;
        self.project(true)?;
        self.factor()
    }

    /// The shortest step that solves the linearised stage with the free unknowns, into the solution.
    fn shortest_step(
        &mut self,
        stage: usize,
        fixed: &impl Fn(usize, usize) -> bool,
    ) -> Result<(), LinalgError> {
        let scaling = &self.scalings[stage];
        let rows: Vec<usize> = scaling.rows.iter().map(|row| row.equation).collect();
        let free = |column: &&ScaledColumn| !fixed(column.order, column.unknown);
        let columns = scaling.columns.iter().filter(free);
        let columns: Vec<usize> = columns.map(|column| column.unknown).collect();
        let mut matrix = Mat::zeros(rows.len(), columns.len());
        for (row, &i) in rows.iter().enumerate() {
            for (&j, entry) in self.rows[i].unknowns.iter().zip(self.rows[i].first..) {
                if let Ok(column) = columns.binary_search(&(j as usize)) {
                    matrix.view_mut().set(row, column, self.entries[entry]);
                }
            }
        }
        let right: Vec<f64> = rows.iter().map(|&i| self.right[i]).collect();
        let mut step = vec![0.0; columns.len()];
        self.solution.fill(0.0);
        if !columns.is_empty() {
            let mut qr = Qr::new();
            qr.factor(matrix.view())?;
            let rule = GapRule::new(rows.len(), columns.len(), matrix.view().norm_frobenius());
            let rank = qr.rank(&rule).decided();
            qr.least_squares(
                rank.unwrap_or(rows.len().min(columns.len())),
                &right,
                &mut step,
            )?;
        }
        for (&j, x) in columns.iter().zip(step) {
            self.solution[j] = x;
        }
        Ok(())
    }

    /// Takes the largest of the steps 1, 1/2, ... times the solution that lessens the residual; gives its size.
    fn damped_update(&mut self, stage: usize, before: f64) -> Result<f64, Failure> {
        let step = self.solution.clone();
        let mut taken = 1.0;
        let add = |stages: &mut Self, factor: f64| {
            for (place, x) in stages.solution.iter_mut().zip(&step) {
                *place = factor * x;
            }
            stages.update(stage).0
        };
        let change = add(self, 1.0);
        // Close to rounding the residual no longer says anything.
        if change <= 1e-6 {
            return Ok(change);
        }
        for _ in 0..MAX_HALVINGS {
            match self.residual(stage) {
                Ok(residual) if residual < before => return Ok(taken * change),
                Ok(_) | Err(Failure::Fault(_)) => {}
                Err(failure) => return Err(failure),
            }
            add(self, -0.5 * taken);
            taken *= 0.5;
        }
        Err(Failure::NoConvergence {
            stage: self.scalings[stage].stage,
            residual: before,
        })
    }

    /// Whether the point, at which the system Jacobian is singular, is an isolated solution of stage 0, (14).
    ///
    /// Then it is a multiple one, and other solutions go through it. The entries last factored must be those of a
    /// regular point beside it: they give the sizes of the rows. `None` without an answer.
    pub fn is_isolated(&mut self) -> Option<bool> {
        let n = self.n;
        if n == 0 || n > MAX_SEARCHED {
            return None;
        }
        let time = self.jet.inputs().time();
        let n_coefficients = (self.problem.max_unknown_offset() + 1) * n;
        let point = self.jet.inputs().rows()[..n_coefficients].to_vec();
        let columns = &self.scalings.last()?.columns;
        let sizes: Vec<f64> = columns
            .iter()
            .map(|column| column.nominal + column.factor * point[column.place].abs())
            .collect();
        let regular = self.scaled_matrix(&self.entries, &sizes);
        let weights: Vec<f64> = (0..n)
            .map(|i| 1.0 / (0..n).map(|j| regular[(i, j)].abs()).fold(0.0, f64::max))
            .collect();
        evaluate_jacobian(&mut self.jacobian, time, |order| {
            self.jet.inputs().row(order)
        })
        .ok()?;
        let mut matrix = self.scaled_matrix(&self.entries(), &sizes);
        for (i, weight) in weights.iter().enumerate() {
            (0..n).for_each(|j| matrix[(i, j)] *= weight);
        }
        let mut bordered = Bordered::new(&matrix)?;
        let mut moved = point.clone();
        let mut residual = |stages: &mut Self, z: &[f64], into: &mut [f64]| -> Option<()> {
            let last = stages.scalings.last()?;
            for ((column, z), size) in last.columns.iter().zip(z).zip(&sizes) {
                moved[column.place] = point[column.place] + z * size / column.factor;
            }
            stages.set_point(time, &moved);
            for scaling in &stages.scalings {
                stages.jet.extend(scaling.stage).ok()?;
            }
            stages.jet.stage_roots(0, into);
            let rows = &stages.scalings.last()?.rows;
            for ((place, row), weight) in into.iter_mut().zip(rows).zip(&weights) {
                *place *= row.factor * weight;
            }
            Some(())
        };
        let centre = bordered.multiplier(&vec![0.0; n], |z, into| residual(self, z, into))?;
        let mut answer = None;
        for z in bordered.displacements() {
            // A kink in a derivative of which the model holds the next one is no way to go on.
            let mut moves = z.iter().enumerate().filter(|(_, z)| z.abs() > CURVED);
            if moves.any(|(j, _)| self.problem.is_smoother(j)) {
                continue;
            }
            if let Some(mu) = bordered.multiplier(&z, |z, into| residual(self, z, into)) {
                let differs = |(a, b): (&f64, &f64)| (a - b).abs() > CURVED;
                answer = Some(answer == Some(true) || mu.iter().zip(&centre).any(differs));
            }
        }
        self.set_point(time, &point);
        answer
    }

    /// The system Jacobian with its columns in units.
    fn scaled_matrix(&self, entries: &[f64], sizes: &[f64]) -> Mat {
        let mut matrix = Mat::zeros(self.n, self.n);
        for (i, row) in self.rows.iter().enumerate() {
            for (&j, entry) in row.unknowns.iter().zip(&entries[row.first..]) {
                matrix[(i, j as usize)] = entry * sizes[j as usize];
            }
        }
        matrix
    }

    /// Computes all coefficients above the point, (3) for k >= 1, and writes the series `[order][unknown]`.
    pub fn expand(&mut self, series: &mut [f64]) -> Result<(), Failure> {
        let n = self.n;
        self.statistics.jets += 1;
        for k in 1..=self.n_stages {
            let coefficients = &mut self.jet.inputs_mut().rows_mut()[k * n..];
            for &top in &self.tops {
                coefficients[top] = 0.0;
            }
            self.jet.extend(k as i32)?;
            self.jet.stage_roots(k as i32, &mut self.right);
            for (right, factor) in self.right.iter_mut().zip(&self.rising_rows[(k - 1) * n..]) {
                *right *= factor;
            }
            self.solver.solve(&self.right, &mut self.solution)?;
            let coefficients = &mut self.jet.inputs_mut().rows_mut()[k * n..];
            let factors = &self.rising_columns[(k - 1) * n..];
            for ((&top, x), factor) in self.tops.iter().zip(&self.solution).zip(factors) {
                coefficients[top] = x * factor;
            }
            // Nothing is read from the last stage but the switching quantities.
            if k < self.n_stages || self.n_branches() > 0 {
                self.jet.remember(k as i32)?;
            }
        }
        series.copy_from_slice(&self.jet.inputs().rows()[..series.len()]);
        Ok(())
    }
}

/// Evaluates the entries of the system Jacobian at the point whose coefficients `row` gives by order.
pub(crate) fn evaluate_jacobian<'r>(
    jacobian: &mut Values,
    time: f64,
    row: impl Fn(usize) -> &'r [f64],
) -> Result<(), daelight_expr::Fault> {
    let n_orders = jacobian.tape().max_slot_order() + 1;
    let inputs = jacobian.inputs_mut();
    inputs.set_time(time);
    for order in 0..n_orders {
        inputs.row_mut(order).copy_from_slice(row(order));
    }
    jacobian.evaluate()
}

/// Pairs the branches of both tapes that look at the same quantity.
fn same_branches(problem: &Problem, jet: &PackedJet, jacobian: &Values) -> Vec<Option<usize>> {
    let graph = problem.equations().graph();
    let operands = |expr| match graph.node(expr) {
        Node::Unary(_, a) => (Some(a), None),
        Node::Binary(_, a, b) => (Some(a), Some(b)),
        _ => (None, None),
    };
    let known: Vec<_> = jet.tape().branches().map(operands).collect();
    jacobian
        .tape()
        .branches()
        .map(|expr| known.iter().position(|&other| other == operands(expr)))
        .collect()
}
