//! The stages of a structure: projecting a point onto all hidden constraints, and expanding it into series.
//!
//! Stage k solves for x_j^(k + d_j) from equation i differentiated k + c_i times, always with the system Jacobian;
//! sections 1 and 2 of `docs/theory/integration.md`.

mod branches;
mod expand;
mod isolated;
pub(crate) mod project;
mod rough;
pub(crate) mod scaling;

use crate::blocks::BlockSolver;
use crate::code::StageCode;
use crate::options::Tolerances;
use crate::outcome::Failure;
use crate::problem::Problem;
pub(crate) use branches::same_branches;
use daelight_expr::{Fault, JetEvaluator, PackedJet, Side, Values};
use daelight_linalg::LinalgError;
use daelight_native::{
    NativeCode, NativeError, NativeSeries, NativeValues, Point, SeriesCode, SeriesShape, Tier,
};
use daelight_stiff::Statistics;
pub(crate) use isolated::Passage;
pub(crate) use project::Projected;
pub(crate) use rough::MAX_LEAST_LENGTH;
use rough::Shortest;
pub(crate) use scaling::Scaling;
use std::borrow::Cow;
use std::sync::Arc;

/// A scaled residual up to this is rounding: four units for each operation of a short equation.
pub(crate) const ROUNDING: f64 = 1e-15;

/// After a relative correction below this the next one would be below rounding (its square).
pub(crate) const SETTLED: f64 = 1e-8;

/// Everything needed to solve the stages; nothing allocates after it is made.
pub(crate) struct Stages<'p> {
    problem: Cow<'p, Problem>,
    jet: PackedJet,
    jacobian: Values,
    /// The same as native code, once it was asked for.
    native: Option<Native>,
    solver: BlockSolver,
    n: usize,
    /// Number of stages above 0.
    n_stages: usize,
    pub rows: Vec<RowPattern>,
    /// The entries of the system Jacobian as last factored.
    entries: Vec<f64>,
    /// Where x_{j,d_j} is among the coefficients `[order][unknown]`.
    pub tops: Vec<usize>,
    /// By stage from the first one to 0.
    pub scalings: Vec<Scaling>,
    /// Factors of the stages above 0: rising factorials for equations, their inverses for unknowns, `[stage][i]`.
    pub rising_rows: Vec<f64>,
    pub rising_columns: Vec<f64>,
    right: Vec<f64>,
    solution: Vec<f64>,
    /// Branch of the residuals' tape for each branch of the Jacobian's, where they decide the same.
    same_branch: Vec<Option<usize>>,
    /// For each branch that lies on its surface the size of what decided it before it came there; 0 for others.
    crossed: Vec<f64>,
    /// The time at which all coefficients are those of the last expansion; none since a point was set.
    expanded_at: Option<f64>,
    /// The greatest scaled residual of each level in the last projection.
    pub levels: Vec<f64>,
    /// The same for the last residual.
    found: Vec<f64>,
    /// Room for steps from rough guesses.
    shortest: Shortest,
    pub statistics: Statistics,
}

/// Series and system Jacobian by native code; the interpreters stay behind it for what has no value.
struct Native {
    series: NativeSeries,
    jacobian: NativeValues,
    /// The inverses of the diagonal blocks.
    matrix: Vec<f64>,
}

/// The entries of one equation in the system Jacobian.
pub(crate) struct RowPattern {
    pub first: usize,
    pub unknowns: Vec<u32>,
}

impl<'p> Stages<'p> {
    /// Room for series with stages up to `n_stages`.
    pub fn new(
        problem: &'p Problem,
        n_stages: usize,
        tolerances: &Tolerances,
    ) -> Result<Self, LinalgError> {
        Self::of(Cow::Borrowed(problem), n_stages, tolerances)
    }

    /// The same for whoever keeps them beside the equations.
    pub fn owning(
        problem: Problem,
        n_stages: usize,
        tolerances: &Tolerances,
    ) -> Result<Stages<'static>, LinalgError> {
        Stages::of(Cow::Owned(problem), n_stages, tolerances)
    }

    fn of(
        problem: Cow<'p, Problem>,
        n_stages: usize,
        tolerances: &Tolerances,
    ) -> Result<Self, LinalgError> {
        let structure = problem.structure();
        let offsets = structure.offsets();
        let (c, d) = (&offsets.equation, &offsets.variable);
        let n = problem.n();
        let mut jet = PackedJet::new(
            Arc::clone(problem.residual_tape()),
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
            .map(|stage| Scaling::new(stage, offsets, tolerances))
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
        let n_branches = jet.tape().branches().len();
        Ok(Self {
            same_branch: same_branches(problem.equations().graph(), jet.tape(), jacobian.tape()),
            rising_rows: table(c, false),
            rising_columns: table(d, true),
            solver: problem.solver()?,
            entries: vec![0.0; structure.n_jacobian_entries()],
            tops: d.iter().enumerate().map(|(j, &d)| d * n + j).collect(),
            right: vec![0.0; n],
            solution: vec![0.0; n],
            levels: vec![0.0; problem.max_equation_offset() + 1],
            found: vec![0.0; problem.max_equation_offset() + 1],
            shortest: Shortest::default(),
            statistics: Statistics::default(),
            native: None,
            crossed: vec![0.0; n_branches],
            expanded_at: None,
            problem,
            jet,
            jacobian,
            n,
            n_stages,
            rows,
            scalings,
        })
    }

    /// Evaluates by native code from now on, and gives that of the system Jacobian. The results are the same numbers.
    pub fn compile(&mut self) -> Result<Arc<NativeCode>, NativeError> {
        // Every number of the sums is read once: nothing is gained by an allocator that weighs its registers.
        let tier = Tier::Quick;
        let problem = &*self.problem;
        let shape = SeriesShape {
            n_stages: self.n_stages,
            offsets: &problem.structure().offsets().variable,
            blocks: &self.solver.shapes(),
        };
        let StageCode { series, jacobian } = problem.code().get(self.n_stages, || {
            let series = SeriesCode::compile(Arc::clone(problem.residual_tape()), &shape, tier)?;
            let jacobian = NativeCode::compile(Arc::clone(problem.jacobian_tape()), tier)?;
            Ok(StageCode {
                series: Arc::new(series),
                jacobian: Arc::new(jacobian),
            })
        })?;
        self.native = Some(Native {
            series: NativeSeries::new(series, problem.parameters()),
            jacobian: NativeValues::new(Arc::clone(&jacobian)),
            matrix: Vec::new(),
        });
        Ok(jacobian)
    }

    /// What is being solved.
    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    /// Gives the parameters other values; native code keeps the old ones and is left.
    pub fn set_parameters(&mut self, values: &[f64]) {
        self.problem.to_mut().set_values(values);
        for inputs in [self.jet.inputs_mut(), self.jacobian.inputs_mut()] {
            let into = inputs.parameters_mut();
            into.copy_from_slice(&values[..into.len()]);
        }
        self.native = None;
    }

    /// Forgets the sizes of equations at earlier points, so that what is found does not depend on them.
    pub fn forget_sizes(&mut self) {
        let rows = self.scalings.iter_mut().flat_map(|s| &mut s.rows);
        rows.for_each(|row| row.size = 0.0);
    }

    /// The factored system Jacobian.
    pub fn solver(&self) -> &BlockSolver {
        &self.solver
    }

    /// The sides of the branches, and the factored system Jacobian to solve with.
    pub fn sides_and_solver(&mut self) -> (&[std::cmp::Ordering], &mut BlockSolver) {
        (self.jet.branches().sides(), &mut self.solver)
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

    /// The time of the point.
    pub fn time(&self) -> f64 {
        self.jet.inputs().time()
    }

    /// Whether the functions that decide branches have the coefficients of an expansion at a time.
    pub fn is_expanded_at(&self, time: f64) -> bool {
        self.expanded_at == Some(time)
    }

    /// Number of coefficients of a point.
    pub fn n_point(&self) -> usize {
        (self.problem.max_unknown_offset() + 1) * self.n
    }

    /// Says on which side of the knots of signals the series are expanded.
    pub fn set_side(&mut self, side: Side) {
        self.jet.inputs_mut().set_side(side);
    }

    /// Sets the point to be solved for: coefficients `[order][unknown]` up to the greatest offset d.
    pub fn set_point(&mut self, time: f64, point: &[f64]) {
        self.expanded_at = None;
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
        let found = match &mut self.native {
            Some(native) => native.jacobian.evaluate(
                Point {
                    coefficients: inputs.rows(),
                    parameters: inputs.parameters(),
                    time: inputs.time(),
                },
                &mut self.entries,
            ),
            None => {
                let row = |order: usize| inputs.row(order);
                evaluate_jacobian(&mut self.jacobian, inputs.time(), row)
                    .map(|()| self.jacobian.roots(&mut self.entries))
            }
        };
        // A fault of an entry is told as one of its equation.
        found.map_err(|fault| {
            let after = self.rows.partition_point(|row| row.first <= fault.root);
            let root = after.saturating_sub(1);
            Fault { root, ..fault }
        })?;
        self.statistics.jacobians += 1;
        Ok(())
    }

    /// The coefficients of the residuals at stage k <= 0, into the right-hand side.
    fn stage_residuals(&mut self, stage: i32) -> Result<(), Failure> {
        if let Some(native) = &mut self.native {
            let inputs = self.jet.inputs_mut();
            let time = inputs.time();
            let coefficients = inputs.rows_mut();
            if native
                .series
                .roots(stage, time, coefficients, &mut self.right)
            {
                return Ok(());
            }
            // The interpreter says why.
            for earlier in self.jet.tape().first_stage()..stage {
                self.jet.extend(earlier)?;
            }
        }
        self.jet.extend(stage)?;
        self.jet.stage_roots(stage, &mut self.right);
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
