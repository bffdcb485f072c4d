//! The parts of the document of `analyze`.

use super::spectrum::{EigenvalueRecord, PathRecord};
use serde::Serialize;
use serde_json::{Map, Value};

/// What `daelight analyze --json` prints.
#[derive(Serialize, Debug, Clone)]
pub struct AnalyzeRecord {
    /// Name of the model.
    pub model: String,
    /// Number of equations, as written.
    pub n_equations: usize,
    /// Number of unknowns, velocities named by `lagrange` included.
    pub n_unknowns: usize,
    /// Time of the point.
    pub time: f64,
    /// What the pattern of the equations tells; `null` when equations and unknowns do not match.
    pub structural: Option<StructuralRecord>,
    /// The differentiation index and its evidence.
    pub differentiation: DifferentiationRecord,
    /// The tractability index.
    pub tractability: TractabilityRecord,
    /// The strangeness index and its quantities.
    pub strangeness: StrangenessRecord,
    /// Unknowns whose values can be chosen together.
    pub free: Vec<String>,
    /// At which level each unknown is determined.
    pub decoupling: Vec<DecouplingRecord>,
    /// Conditions that follow by differentiation.
    pub hidden_constraints: Vec<HiddenRecord>,
    /// Where the model can become singular.
    pub singular_loci: Vec<LocusRecord>,
    /// The singularity at the point, if it is one.
    pub critical: Option<CriticalRecord>,
    /// Subintervals of constant quantities, with `--interval`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intervals: Option<Vec<IntervalRecord>>,
    /// Points between them, with `--interval`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exceptional: Option<Vec<ExceptionalRecord>>,
    /// Prescribed motions: how often they are differentiated, and how smooth they are.
    pub paths: Vec<PathRecord>,
    /// Finite eigenvalues of the linearised equations, with `--eigenvalues`; `null` if they are not decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eigenvalues: Option<Option<Vec<EigenvalueRecord>>>,
    /// Whether all of them decay, with `--eigenvalues`; `null` if that is not decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimum_phase: Option<Option<bool>>,
    /// The same in words.
    #[serde(skip)]
    pub spectrum_words: Option<String>,
    /// Whether conditions of a linear model on its right-hand side are violated: it has no solution.
    #[serde(skip)]
    pub contradicts: bool,
    /// Every rank decision behind the indices, if they were computed.
    #[serde(skip)]
    pub ranks: Option<Vec<RankRecord>>,
    /// Why they were not.
    #[serde(skip)]
    pub no_ranks: String,
    /// The unknowns, in the order of the model.
    #[serde(skip)]
    pub unknowns: Vec<String>,
    /// The consistent values at the point, in the order of the model.
    pub point: Map<String, Value>,
    /// `regular`, `singular` or `unknown`.
    pub verdict: &'static str,
    /// What to know beside the numbers.
    pub warnings: Vec<String>,
}

/// The structural part.
#[derive(Serialize, Debug, Clone)]
pub struct StructuralRecord {
    /// The structural index of the model as written.
    pub index: usize,
    /// Its degrees of freedom.
    pub dof: u64,
    /// How often each equation is differentiated.
    pub equation_offsets: Vec<usize>,
    /// The highest derivative of each unknown that then occurs.
    pub variable_offsets: Vec<usize>,
    /// Whether the system Jacobian is nonsingular at the point; `null` if not decided.
    pub regular: Option<bool>,
    /// The repaired structure, where the one of the model as written is singular everywhere.
    pub repaired: Option<RepairedRecord>,
    /// Diagonal blocks of the system Jacobian, in the order of solution.
    pub blocks: Vec<BlockRecord>,
    /// Components that differentiated equations tie together.
    pub ties: Vec<TieRecord>,
}

/// Components that equations with shared unknowns tie together, so that the index rises.
#[derive(Serialize, Debug, Clone)]
pub struct TieRecord {
    /// The components of the model itself.
    pub components: Vec<String>,
    /// How many equations tie them.
    pub equations: usize,
    /// How often the one is differentiated that is differentiated most.
    pub times_differentiated: usize,
}

/// A repaired structure.
#[derive(Serialize, Debug, Clone)]
pub struct RepairedRecord {
    /// The structural index after the repair.
    pub index: usize,
    /// The degrees of freedom after the repair.
    pub dof: u64,
    /// What was done, in the user's names.
    pub text: String,
    /// Each step.
    pub steps: Vec<String>,
}

/// A diagonal block.
#[derive(Serialize, Debug, Clone)]
pub struct BlockRecord {
    /// Its equations, as written.
    pub equations: Vec<String>,
    /// Its unknowns.
    pub unknowns: Vec<String>,
}

/// The differentiation index.
#[derive(Serialize, Debug, Clone, Default)]
pub struct DifferentiationRecord {
    /// The index, or `null`.
    pub index: Option<usize>,
    /// Degrees of freedom, or `null`.
    pub dof: Option<usize>,
    /// Condition of the array that determines the solution, written in derivatives.
    pub condition: Option<f64>,
    /// The levels that were looked at.
    pub levels: Vec<LevelRecord>,
    /// The projector T_k of each level.
    #[serde(rename = "T")]
    pub t: Vec<Vec<Vec<f64>>>,
    /// The projector V_k of each level.
    #[serde(rename = "V")]
    pub v: Vec<Vec<Vec<f64>>>,
}

/// One level of the derivative array.
#[derive(Serialize, Debug, Clone)]
pub struct LevelRecord {
    /// k, the number of blocks of equations.
    pub order: usize,
    /// Whether they determine the unknowns.
    pub one_full: bool,
    /// Rank of T_k.
    #[serde(rename = "rank_T")]
    pub rank_t: usize,
    /// Rank of V_k.
    #[serde(rename = "rank_V")]
    pub rank_v: usize,
    /// Ratio between the smallest singular value kept and the largest dropped.
    pub gap: Option<f64>,
}

/// The tractability index.
#[derive(Serialize, Debug, Clone, Default)]
pub struct TractabilityRecord {
    /// The index, or `null`.
    pub index: Option<usize>,
    /// Ranks of the matrix chain.
    pub characteristic_values: Vec<usize>,
}

/// The strangeness index.
#[derive(Serialize, Debug, Clone, Default)]
pub struct StrangenessRecord {
    /// mu, or `null`.
    pub index: Option<usize>,
    /// Differential equations that remain.
    pub d: Option<usize>,
    /// Constraints, hidden ones included.
    pub a: Option<usize>,
    /// Unknowns that nothing determines.
    pub u: Option<usize>,
    /// Equations that repeat others.
    pub v: Option<usize>,
}

/// At which level an unknown is determined.
#[derive(Serialize, Debug, Clone)]
pub struct DecouplingRecord {
    /// The unknown.
    pub unknown: String,
    /// The level from which its component outside ker E is fixed by constraints; `null` if part of it stays free.
    pub constrained_at: Option<usize>,
    /// The level from which its component in ker E is determined; `null` if it is not, 0 if it has none.
    pub determined_at: Option<usize>,
}

/// A hidden constraint.
#[derive(Serialize, Debug, Clone)]
pub struct HiddenRecord {
    /// The condition.
    pub text: String,
    /// The equation it comes from, as written.
    pub from_equation: String,
    /// How often that equation was differentiated.
    pub times_differentiated: usize,
    /// Its left side as MathML, unless it is too long.
    #[serde(skip)]
    pub mathml: Option<String>,
    /// The line of the equation.
    #[serde(skip)]
    pub line: usize,
}

/// A factor of a determinant whose zeros are singular.
#[derive(Serialize, Debug, Clone)]
pub struct LocusRecord {
    /// The factor; for a block too large to expand, a description.
    pub factor: String,
    /// k-A or k-B, or `null` when not decided.
    pub kind: Option<String>,
    /// Equations of the block.
    pub equations: Vec<String>,
    /// Unknowns of the block.
    pub unknowns: Vec<String>,
    /// Components that its equations belong to; empty in a model without components.
    pub components: Vec<String>,
}

/// The singularity at the point.
#[derive(Serialize, Debug, Clone)]
pub struct CriticalRecord {
    /// k-A or k-B, or `null` when not decided.
    pub kind: Option<String>,
    /// The rank at the point and beside it, where the reduction found the change.
    pub rank: Option<usize>,
    /// The rank beside the point.
    pub rank_nearby: Option<usize>,
    /// Equations of the singular blocks.
    pub equations: Vec<String>,
    /// Unknowns of the singular blocks.
    pub unknowns: Vec<String>,
}

/// A subinterval on which all quantities are constant.
#[derive(Serialize, Debug, Clone)]
pub struct IntervalRecord {
    /// Its left end.
    pub from: f64,
    /// Its right end.
    pub to: f64,
    /// The strangeness index there.
    pub index: Option<usize>,
    /// Differential equations.
    pub d: Option<usize>,
    /// Constraints.
    pub a: Option<usize>,
    /// Unknowns that nothing determines.
    pub u: Option<usize>,
    /// Equations that repeat others.
    pub v: Option<usize>,
}

/// A point between subintervals.
#[derive(Serialize, Debug, Clone)]
pub struct ExceptionalRecord {
    /// Where it is.
    pub time: f64,
    /// What changes.
    pub kind: String,
    /// What that means for solutions.
    pub what: String,
}

/// A rank decision with what it rests on.
#[derive(Debug, Clone)]
pub struct RankRecord {
    /// The matrix.
    pub matrix: String,
    /// Its rank.
    pub rank: usize,
    /// Its singular values or pivots, the largest first.
    pub values: Vec<f64>,
    /// Ratio between the smallest value kept and the largest dropped.
    pub gap: f64,
    /// Below this a value counts as zero.
    pub threshold: f64,
    /// `proved`, `observed` or `unknown`.
    pub verdict: &'static str,
}
