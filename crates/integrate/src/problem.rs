//! What is integrated: square equations with their structure, parameters and compiled tapes.

use crate::arguments::{Argument, critical_arguments, radicand};
use crate::blocks::BlockSolver;
use crate::code::SharedCode;
use daelight_analysis::dae::BlockForm;
use daelight_analysis::structure::{StructurallySingular, Structure, SystemJacobian, settled};
use daelight_analysis::{Equations, Reduced, System};
use daelight_expr::{ExprId, FastMap, Forcing, Node, Side, Slot, Tape, UnaryOp, Values, Walker};
use daelight_linalg::LinalgError;
use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

/// Why equations cannot be integrated as they are.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ProblemError {
    /// There are more or fewer equations than unknowns.
    NotSquare {
        /// Number of equations.
        n_equations: usize,
        /// Number of unknowns.
        n_unknowns: usize,
    },
    /// Some unknowns cannot be matched with equations.
    StructurallySingular(StructurallySingular),
    /// A condition reads a derivative that the equations do not determine before they need the condition.
    Condition {
        /// The unknown.
        unknown: usize,
    },
    /// The linear algebra could not be laid out.
    Linalg(LinalgError),
}

impl fmt::Display for ProblemError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotSquare {
                n_equations,
                n_unknowns,
            } => write!(f, "{n_equations} equations for {n_unknowns} unknowns"),
            Self::StructurallySingular(_) => {
                write!(f, "some unknowns cannot be matched with equations")
            }
            Self::Condition { .. } => write!(
                f,
                "a condition reads a derivative that is found only after the condition is decided"
            ),
            Self::Linalg(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ProblemError {}

impl From<LinalgError> for ProblemError {
    fn from(error: LinalgError) -> Self {
        Self::Linalg(error)
    }
}

/// Square equations of any order and index, ready to be integrated.
///
/// Made of [`System::equations`](daelight_analysis::System::equations) or of repaired equations, or of
/// [`Reduced`] ones (faster).
#[derive(Clone)]
pub struct Problem {
    equations: Arc<Equations>,
    structure: Arc<Structure>,
    parameters: Vec<f64>,
    /// Residuals; root i runs c_i orders ahead of the stage.
    residuals: Arc<Tape>,
    /// Entries of the system Jacobian, row by row.
    jacobian: Arc<Tape>,
    arguments: Arc<[Argument]>,
    /// The values that the arguments are read from.
    argument_tape: Arc<Tape>,
    /// The arguments of sines and cosines in the diagonal blocks.
    phase_tape: Arc<Tape>,
    /// On which sides of the branches of the residuals roots begin.
    root_sides: Arc<[Option<Ordering>]>,
    /// Whether the functions that decide the branches of the residuals hold roots that are not watched.
    rooted: Arc<[bool]>,
    /// What expressions that were made here are in the text.
    written: Arc<FastMap<ExprId, ExprId>>,
    /// Functions of time alone, and their tape.
    forcing: Arc<[Forcing]>,
    forcing_tape: Arc<Tape>,
    /// Whether nothing lies hidden between the knots of its signals.
    is_resolved: bool,
    /// Shared by all copies, at any values of the parameters.
    code: Arc<SharedCode>,
    max_c: usize,
    max_d: usize,
}

impl Problem {
    /// Analyses and compiles the equations. Whether the structure holds anywhere is for [`System::dae`] to decide.
    pub fn new(equations: &Equations, parameters: &[f64]) -> Result<Self, ProblemError> {
        if equations.n_equations() != equations.n_unknowns() {
            return Err(ProblemError::NotSquare {
                n_equations: equations.n_equations(),
                n_unknowns: equations.n_unknowns(),
            });
        }
        let (equations, structure) = settled(equations.clone());
        let structure = structure.map_err(ProblemError::StructurallySingular)?;
        Self::with_structure(equations, structure, parameters)
    }

    /// The equations of a model without the trivial ones, with the offsets that they inherit.
    pub fn of_reduced(system: &System, reduced: &Reduced) -> Result<Self, ProblemError> {
        let parameters = system.parameters().values();
        let Some(structure) = reduced.structure() else {
            return Self::new(reduced.equations(), parameters);
        };
        let equations = reduced.equations().clone();
        Self::with_structure(equations, structure.clone(), parameters)
    }

    /// Compiles equations with a structure that is known; whether their blocks are regular is for the caller to know.
    pub(crate) fn with_structure(
        equations: Equations,
        structure: Structure,
        parameters: &[f64],
    ) -> Result<Self, ProblemError> {
        let (equations, written, conditions) = match equations.with_roots_cut(parameters) {
            Some(cut) => (cut.equations, cut.written, cut.conditions),
            None => (equations, FastMap::default(), FastMap::default()),
        };
        let offsets = structure.offsets();
        let leads: Vec<u32> = offsets.equation.iter().map(|&c| c as u32).collect();
        let residuals =
            Tape::compile_staged(equations.graph(), equations.residuals(), &leads, |id| {
                equations.slot(id)
            })
            .with_counts(equations.n_unknowns(), parameters.len())
            .with_slot_order(equations.order())
            .with_signals(&equations.signals());
        let tops = residuals.tops();
        let mut tops = tops.iter().zip(&offsets.variable);
        if let Some(unknown) = tops.position(|(top, d)| top.is_some_and(|top| top > *d)) {
            return Err(ProblemError::Condition { unknown });
        }
        let entries = SystemJacobian::new(&equations, &structure, parameters);
        let roots = equations.roots_in_choices(&residuals, parameters, &conditions);
        let (mut arguments, argument_tape) = critical_arguments(&equations, roots.unguarded);
        let rooted = rooted(&equations, &arguments);
        for argument in &mut arguments {
            for expr in [&mut argument.operation, &mut argument.argument] {
                *expr = written.get(expr).copied().unwrap_or(*expr);
            }
        }
        // Ranges look at what decides and has no series.
        let mut forcing = residuals.forcing();
        forcing.retain(|function| !(function.decides && rooted[function.expr.index()]));
        let functions: Vec<ExprId> = forcing.iter().map(|function| function.expr).collect();
        let phases = phases(&equations, &structure, entries.entries());
        let rooted: Vec<bool> = (residuals.branches())
            .map(|branch| rooted[branch.index()])
            .collect();
        let problem = Self {
            phase_tape: Arc::new(equations.compile(&phases)),
            jacobian: Arc::new(equations.compile(entries.entries())),
            residuals: Arc::new(residuals),
            arguments: arguments.into(),
            argument_tape: Arc::new(argument_tape),
            root_sides: roots.sides.into(),
            rooted: rooted.into(),
            written: Arc::new(written),
            forcing: forcing.into(),
            forcing_tape: Arc::new(equations.compile(&functions)),
            is_resolved: false,
            parameters: parameters.to_vec(),
            code: Arc::default(),
            max_c: offsets.equation.iter().copied().max().unwrap_or(0),
            max_d: offsets.variable.iter().copied().max().unwrap_or(0),
            equations: Arc::new(equations),
            structure: Arc::new(structure),
        };
        Ok(problem)
    }

    /// The same equations at other values of their parameters, with what was compiled. Whether the blocks are regular there
    /// is for the caller to know.
    pub fn at_values(&self, parameters: &[f64]) -> Self {
        Self {
            parameters: parameters.to_vec(),
            ..self.clone()
        }
    }

    /// The same in place.
    pub(crate) fn set_values(&mut self, parameters: &[f64]) {
        self.parameters.copy_from_slice(parameters);
    }

    /// The same for equations along a run, whose signals are its own pieces: the run has resolved what lies between their knots, and
    /// nobody looks for it again.
    #[must_use]
    pub fn resolved(self) -> Self {
        Self {
            forcing: Arc::from([]),
            forcing_tape: Arc::new(self.equations.compile(&[])),
            is_resolved: true,
            ..self
        }
    }

    pub(crate) fn is_resolved(&self) -> bool {
        self.is_resolved
    }

    /// The residuals without stages.
    pub(crate) fn plain_tape(&self) -> Arc<Tape> {
        let compile = || Arc::new(self.equations.residual_tape());
        Arc::clone(self.code.plain.get_or_init(compile))
    }

    /// Native code of the stages, and the steps that call for it.
    pub(crate) fn code(&self) -> &SharedCode {
        &self.code
    }

    /// The next time at which a signal of the equations goes over to another polynomial.
    pub(crate) fn next_knot(&self, time: f64, side: Side) -> Option<f64> {
        let signals = self.residuals.signals().iter();
        let knots = signals.filter_map(|signal| signal.next_knot(time, side));
        match side {
            Side::After => knots.min_by(f64::total_cmp),
            Side::Before => knots.max_by(f64::total_cmp),
        }
    }

    /// The equations.
    pub fn equations(&self) -> &Equations {
        &self.equations
    }

    /// Offsets and blocks of the equations.
    pub fn structure(&self) -> &Structure {
        &self.structure
    }

    /// The values of the parameters.
    pub fn parameters(&self) -> &[f64] {
        &self.parameters
    }

    /// Number of unknowns.
    pub fn n(&self) -> usize {
        self.structure.n()
    }

    /// The offset d_j: x_j is a state up to its derivative d_j - 1.
    pub(crate) fn unknown_offset(&self, unknown: usize) -> usize {
        self.structure.offsets().variable[unknown]
    }

    /// The highest derivative of each unknown that a determinant or an argument reads.
    pub(crate) fn highest_read(&self) -> Vec<usize> {
        let tapes = [&self.jacobian, &self.argument_tape].map(|tape| tape.tops());
        let read = |j: usize| {
            let tops = tapes.iter().filter_map(|tops| *tops.get(j)?);
            tops.max().unwrap_or(0).min(self.unknown_offset(j))
        };
        (0..self.n()).map(read).collect()
    }

    /// The greatest c_i: the most differentiated equation.
    pub(crate) fn max_equation_offset(&self) -> usize {
        self.max_c
    }

    /// The greatest d_j: a point consists of x_j, ..., x_j^(d_j).
    pub fn max_unknown_offset(&self) -> usize {
        self.max_d
    }

    /// The residuals compiled in stages: root i is wanted at order k + c_i at stage k.
    pub fn residual_tape(&self) -> &Arc<Tape> {
        &self.residuals
    }

    /// The entries of the system Jacobian, row by row.
    pub fn jacobian_tape(&self) -> &Arc<Tape> {
        &self.jacobian
    }

    /// Denominators, radicands and the like: arguments that must not vanish.
    pub fn arguments(&self) -> &[Argument] {
        &self.arguments
    }

    /// The values that the arguments are read from.
    pub(crate) fn argument_tape(&self) -> &Arc<Tape> {
        &self.argument_tape
    }

    /// The arguments of sines and cosines that the diagonal blocks read.
    pub(crate) fn phase_tape(&self) -> &Arc<Tape> {
        &self.phase_tape
    }

    /// An expression of these equations as the equations that they were made from have it.
    pub fn written(&self, expr: ExprId) -> ExprId {
        self.written.get(&expr).copied().unwrap_or(expr)
    }

    /// The branch of the residuals that has a place among them, as it is written.
    pub(crate) fn branch_expr(&self, branch: usize) -> ExprId {
        let mut branches = self.residuals.branches();
        self.written(branches.nth(branch).expect("a branch of the tape"))
    }

    /// The side of a branch on which a root begins with an infinite slope at its surface, as in `if h > 0 then sqrt(h) else 0`.
    pub(crate) fn root_side(&self, branch: usize) -> Option<Ordering> {
        self.root_sides[branch]
    }

    /// Whether the function that decides a branch holds roots that are not watched, such as `sqrt(abs(x))` in a condition.
    pub(crate) fn is_rooted(&self, branch: usize) -> bool {
        self.rooted[branch]
    }

    /// The functions of time alone in the residuals.
    pub(crate) fn forcing(&self) -> &[Forcing] {
        &self.forcing
    }

    /// What evaluates them, in their order.
    pub(crate) fn forcing_tape(&self) -> &Arc<Tape> {
        &self.forcing_tape
    }

    pub(crate) fn solver(&self) -> Result<BlockSolver, LinalgError> {
        BlockSolver::new(&self.structure)
    }

    /// An evaluator for the entries of the system Jacobian.
    pub(crate) fn jacobian_values(&self) -> Values {
        self.values(&self.jacobian)
    }

    /// An evaluator for all arguments that must not vanish; [`Argument::quantity`] reads them.
    pub(crate) fn argument_values(&self) -> Values {
        self.values(&self.argument_tape)
    }

    /// An evaluator for the arguments of sines and cosines in the diagonal blocks.
    pub(crate) fn phase_values(&self) -> Values {
        self.values(&self.phase_tape)
    }

    fn values(&self, tape: &Arc<Tape>) -> Values {
        let mut values = Values::new(Arc::clone(tape));
        let inputs = values.inputs_mut();
        inputs.parameters_mut().copy_from_slice(&self.parameters);
        values
    }

    /// Whether the blocks are regular at some sample jet.
    pub(crate) fn holds_anywhere(&self) -> bool {
        let form = BlockForm::new(&self.equations, &self.structure, &self.parameters);
        form.anywhere(None).holds()
    }
}

/// For each expression whether it holds a root, a broken power or a logarithm whose argument is not watched.
fn rooted(equations: &Equations, watched: &[Argument]) -> Vec<bool> {
    let graph = equations.graph();
    let watched: FastMap<ExprId, ()> = watched.iter().map(|one| (one.argument, ())).collect();
    let mut rooted = vec![false; graph.len()];
    for &id in Walker::new().reachable(graph, equations.residuals()) {
        let node = graph.node(id);
        let own = radicand(graph, node).is_some_and(|argument| {
            graph.as_constant(argument).is_none() && !watched.contains_key(&argument)
        });
        rooted[id.index()] = own || node.arguments().any(|argument| rooted[argument.index()]);
    }
    rooted
}

/// The arguments of sines and cosines in the diagonal blocks that unknowns drive, each once.
///
/// Functions of time alone have bounds of their own, (R3).
fn phases(equations: &Equations, structure: &Structure, entries: &[ExprId]) -> Vec<ExprId> {
    let mut block_of = vec![0; structure.n()];
    for (block, members) in structure.blocks().iter().enumerate() {
        for &unknown in &members.unknowns {
            block_of[unknown] = block;
        }
    }
    let mut rows = vec![0; structure.n()];
    for (block, members) in structure.blocks().iter().enumerate() {
        for &equation in &members.equations {
            rows[equation] = block;
        }
    }
    let places = (0..structure.n()).flat_map(|i| structure.jacobian_row(i).map(move |j| (i, j)));
    let diagonal: Vec<ExprId> = places
        .zip(entries)
        .filter(|((i, j), _)| rows[*i] == block_of[*j])
        .map(|(_, &entry)| entry)
        .collect();
    let graph = equations.graph();
    let mut walker = Walker::new();
    let mut found: Vec<ExprId> = walker
        .reachable(graph, &diagonal)
        .iter()
        .filter_map(|&id| match graph.node(id) {
            Node::Unary(UnaryOp::Sin | UnaryOp::Cos, argument) => Some(argument),
            _ => None,
        })
        .collect();
    found.sort_unstable();
    found.dedup();
    found.retain(|&argument| {
        let symbols = walker.symbols(graph, &[argument]);
        let is_unknown = |symbol| matches!(equations.slot(symbol), Slot::Variable { .. });
        symbols.into_iter().any(is_unknown)
    });
    found
}

/// Powers of two that bring rows, then columns, of a matrix by columns to greatest entries near 1.
pub(crate) fn equilibration(a: &[f64], n: usize) -> (Vec<f64>, Vec<f64>) {
    let power = |size: f64| {
        if size > 0.0 && size.is_finite() {
            (-size.log2().round()).exp2()
        } else {
            1.0
        }
    };
    let size = |entries: &mut dyn Iterator<Item = f64>| entries.map(f64::abs).fold(0.0, f64::max);
    let rows: Vec<f64> = (0..n)
        .map(|i| power(size(&mut (0..n).map(|j| a[j * n + i]))))
        .collect();
    let columns = (0..n)
        .map(|j| power(size(&mut (0..n).map(|i| a[j * n + i] * rows[i]))))
        .collect();
    (rows, columns)
}

/// Multiplies the rows and columns of a matrix by columns.
pub(crate) fn scale(a: &mut [f64], (rows, columns): &(Vec<f64>, Vec<f64>)) {
    for (column, factor) in a.chunks_exact_mut(rows.len().max(1)).zip(columns) {
        for (x, row) in column.iter_mut().zip(rows) {
            *x *= row * factor;
        }
    }
}
