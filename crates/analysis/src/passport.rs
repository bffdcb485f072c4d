//! The passport of a model: every index notion at a consistent point, with the evidence.
//!
//! [`Passport::new`] finds the point, builds the series of E and B there and asks all deciders; it decides nothing
//! itself. What contradicts what is kept, not smoothed over.

use crate::canonical::{CanonicalForm, Consistency};
use crate::chain::{Chain, Kind, Kinds, N_NEIGHBOURS, kind_of_point};
use crate::decide::{Decision, Outcome, Question, decide};
use crate::edge::{Edge, edges};
use crate::fullness::{Fullness, condition};
use crate::hidden::{HiddenConstraint, hidden_constraints, repaired_constraints};
use crate::index_reduction::{LinearReduction, TimeCondition};
use crate::initial::{
    ConsistentPoint, ConstraintArray, Finder, Limits, MAX_DENSE_ROWS, NoPoint, Request, Selection,
    StageOffsets, TaylorJet, consistent_point, nominal,
};
use crate::interval::{DEFAULT_BUDGET, IntervalAnalysis};
use crate::linear::{LinearFamily, LinearSystem};
use crate::locus_zeros::factor_zeros;
use crate::outcome::{Because, Indices};
use crate::regularity::{beside, regularity, singular_anywhere};
use crate::repair::{Budget, Names, Repair, Repaired, repair};
use crate::series::MatrixSeries;
use crate::sharpen::sharpen_beside;
use crate::singular_loci::{
    Around, SingularLocus, Source, locus_values, nearest_locus, singular_loci,
};
use crate::stall::stall_is_singular;
use crate::structure::{StructurallySingular, Structure};
use crate::{DerivativeArray, System};
use daelight_lang::Symbol;
use daelight_linalg::{DdMat, Mat, Qr, Verdict};
use std::time::{Duration, Instant};

pub use crate::locus_zeros::FactorZeros;
pub use crate::regularity::{BlockRank, MAX_BLOCK, Regularity};

/// Most unknowns for which the numerical index notions are computed; the cost grows like their third power times that
/// of the orders.
pub const MAX_NUMERICAL: usize = 64;
/// Half the width of the surroundings of a singular point that are looked at, relative to its time.
const SURROUNDINGS: f64 = 0.1;
/// Units of time below this part of the time itself are not told apart from it.
const UNRESOLVED: f64 = 1e-11;
/// Consistent neighbours of a point that outweigh those off the constraints.
const FEWEST_NEIGHBOURS: usize = 2;
/// Most steps onto the constraints from a jet beside a point.
const NEIGHBOUR_STEPS: usize = 20;
/// Highest order of the series that is tried.
const MAX_ORDER: usize = 14;

/// What the pattern of the equations tells.
#[derive(Clone, Debug)]
pub struct StructuralPart {
    /// Offsets, blocks and index of the model as written.
    pub structure: Structure,
    /// Whether they hold at the point.
    pub regularity: Regularity,
    /// The structure of equivalent equations that holds, where that of the model does not.
    pub repair: RepairPart,
}

impl StructuralPart {
    /// How often each equation of the model is differentiated, after a repair where one was needed.
    pub fn times_differentiated(&self) -> Vec<usize> {
        match &self.repair {
            RepairPart::Repaired(repaired) => repaired.times_differentiated(),
            _ => self.structure.offsets().equation.clone(),
        }
    }

    /// Why the structure contradicts the indices, if it does; (6), (7) and (9) of `docs/theory/structure.md`.
    ///
    /// A nonsingular system Jacobian proves its degrees of freedom, a singular one that there are fewer.
    fn contradiction(&self, indices: &Indices) -> Option<String> {
        let nu = indices.differentiation_index?;
        let dof = indices.strangeness.n_differential as u64;
        let structural = self.structure.n_degrees_of_freedom();
        match self.regularity {
            Regularity::Regular if dof != structural => Some(format!(
                "the structure proves {structural} degrees of freedom, the ranks say {dof}"
            )),
            Regularity::Regular if nu > self.structure.structural_index() => Some(format!(
                "the structure proves an index of at most {}, the ranks say {nu}",
                self.structure.structural_index()
            )),
            Regularity::SingularHere(_) if dof >= structural => Some(
                "the ranks are those of a regular point, but the system Jacobian is nearly singular: a singular point is close by"
                    .to_string(),
            ),
            _ => None,
        }
    }
}

/// What kind of point it is.
#[derive(Clone, Debug, PartialEq)]
pub enum PointVerdict {
    /// All deciders agree on constant ranks: the indices exist.
    Regular,
    /// Ranks change at the point: no index exists there.
    Singular {
        /// How, if the matrix chain tells.
        kind: Option<Kind>,
    },
    /// Not decided, and why.
    Unknown {
        /// One sentence.
        because: String,
    },
}

/// What the series of E and B tell.
#[derive(Clone, Debug)]
pub struct NumericalPart {
    /// E and B along the jet.
    pub series: MatrixSeries,
    /// The index notions, or why there are none.
    pub decision: Decision,
    /// 1-fullness, projectors and degrees of freedom.
    pub fullness: Fullness,
    /// Condition of the array that is 1-full first, written in derivatives.
    pub condition: Option<f64>,
    /// The matrix chain; `None` for rectangular systems.
    pub chain: Option<Chain>,
    /// How the ranks at the point differ from those beside it, if they do. At a regular point: the ranks hold on a set
    /// that the solution stays in, and the kind of the model depends on the point.
    pub kind: Option<Kind>,
    /// Unknowns that can be given values together, as many as there are degrees of freedom and free unknowns.
    pub free: Vec<usize>,
}

impl NumericalPart {
    /// The indices that the ranks along the jet lead to, whether or not they are those of the neighbours.
    fn along_the_jet(&self) -> Option<&Indices> {
        match &self.decision.outcome {
            Outcome::Unknown {
                because: Because::NeighboursDisagree,
            } => self.decision.reduction.regular(),
            outcome => outcome.indices(),
        }
    }

    /// Orthonormal directions in which the ranks leave the point open, if it has indices.
    fn directions(&self) -> Option<Mat> {
        let decision = &self.decision;
        match &decision.outcome {
            Outcome::Regular(answer) => answer.consistent_directions.clone(),
            _ if self.along_the_jet().is_some() => {
                decision.reduction.consistent_directions(&decision.scaling)
            }
            _ => None,
        }
    }

    /// Whether ranks are others beside the jet, or equations redundant along it.
    fn is_special(&self) -> bool {
        let redundant = |indices: &Indices| indices.strangeness.n_redundant > 0;
        self.kind.is_some() || self.along_the_jet().is_some_and(redundant)
    }

    /// Why 1-fullness or the chain contradict the indices, if they do.
    fn contradiction(&self, indices: &Indices) -> Option<String> {
        let (nu, d) = (
            indices.differentiation_index,
            indices.strangeness.n_differential,
        );
        if let (Ok(found), Some(index)) = (&self.fullness.conclusion, nu)
            && *found != Some((index, d))
        {
            return Some(match found {
                Some((other, dof)) => format!(
                    "1-fullness says index {other} with {dof} degrees of freedom, the reduction index {index} with {d}"
                ),
                None => "1-fullness finds no index, the reduction does".to_string(),
            });
        }
        let chain = self.chain.as_ref()?.characteristic_values()?;
        let values = indices.characteristic_values.as_deref();
        (values != Some(chain)).then(|| "the matrix chain and the reduction disagree".to_string())
    }
}

/// Everything that is known about a model at a point.
#[derive(Clone, Debug)]
pub struct Passport {
    /// The time of the point.
    pub time: f64,
    /// The point, or why there is none.
    pub point: Result<ConsistentPoint, NoPoint>,
    /// The structure, or where the equations do not match the unknowns; `None` when their numbers differ.
    pub structural: Option<Result<StructuralPart, StructurallySingular>>,
    /// The numerical part, or why there is none.
    pub numerical: Result<NumericalPart, String>,
    /// What kind of point it is.
    pub verdict: PointVerdict,
    /// Conditions that follow by differentiation.
    pub hidden: Vec<HiddenConstraint>,
    /// Where the model becomes singular.
    pub loci: Vec<SingularLocus>,
    /// More about a linear model; `None` if it is not linear.
    pub linear: Option<LinearPart>,
    /// Expressions that are at the edge of their domain at the point, which is singular for that.
    pub edges: Vec<Edge>,
    /// Whether the budget of the request ended some of the work: what is left open may be decided with more time.
    pub budget_reached: bool,
}

/// What a linear model tells besides.
#[derive(Clone, Debug)]
pub struct LinearPart {
    /// The conditions that redundant equations impose on the right-hand side; `None` at a singular point, or if no equation
    /// is redundant.
    pub consistency: Option<Consistency>,
    /// The same conditions as formulas, where they can be written.
    pub conditions: Vec<TimeCondition>,
    /// The surroundings of a singular point.
    pub around: Option<IntervalAnalysis>,
}

/// The jet at which matrices are evaluated: the consistent one, or the best that was reached.
fn jet_of(point: &Result<ConsistentPoint, NoPoint>) -> Option<&TaylorJet> {
    match point {
        Ok(point) => Some(&point.jet),
        Err(NoPoint::Stalled { jet, .. }) => Some(jet),
        Err(_) => None,
    }
}

impl Passport {
    /// Analyses a system at the consistent point closest to the request.
    ///
    /// The budget of the request bounds all of the work, not the search for the point alone.
    pub fn new(system: &System, request: &Request) -> Self {
        let deadline = Instant::now() + request.budget;
        let equations = system.equations();
        let (m, n) = (equations.n_equations(), equations.n_unknowns());
        let structure = (m == n).then(|| Structure::of_equations(equations));
        let generic = match &structure {
            Some(Ok(structure)) => Some(singular_anywhere(system, structure)),
            _ => None,
        };
        let offsets = match (&structure, &generic) {
            (Some(Ok(structure)), Some(singular)) if singular.is_empty() => {
                Some(StageOffsets::of(structure))
            }
            _ => None,
        };
        let has_stages = offsets.is_some();
        let index = match &structure {
            Some(Ok(structure)) => structure.structural_index(),
            _ => 2,
        };
        // The reduction needs two orders more than the strangeness index, and one more shows that ranks stay.
        let mut request = request.clone();
        request.order = request.order.max(index + 3).clamp(5, MAX_ORDER);
        let mut point = consistent_point(system, offsets, &request);
        let mut numerical = numerical_part(system, &point, &request, deadline);
        while let Ok(part) = &numerical
            && let Outcome::Unknown {
                because: Because::SeriesTooShort { .. },
            } = part.decision.outcome
            && request.order < MAX_ORDER
            && Instant::now() < deadline
        {
            request.budget = deadline.saturating_duration_since(Instant::now());
            request.order = (request.order + 3).min(MAX_ORDER);
            point = consistent_point(system, offsets, &request);
            numerical = numerical_part(system, &point, &request, deadline);
        }
        let structural = structure.map(|structure| {
            structure.map(|structure| {
                let singular_generically = generic.unwrap_or_default();
                let mut regularity = regularity(
                    system,
                    &structure,
                    request.time,
                    jet_of(&point),
                    singular_generically,
                );
                let decided = numerical.as_ref().ok().and_then(|part| {
                    let indices = part.decision.outcome.indices()?;
                    let square = indices.differentiation_index.is_some() && point.is_ok();
                    square.then_some(indices.strangeness.n_differential)
                });
                let repair = repair_part(
                    system,
                    &structure,
                    &regularity,
                    request.time,
                    jet_of(&point),
                    decided,
                    deadline,
                );
                // What a repair cures was singular along all solutions, not at this point only.
                if let (Regularity::SingularHere(blocks), RepairPart::Repaired(_)) =
                    (&regularity, &repair)
                {
                    regularity = Regularity::SingularEverywhere(blocks.clone());
                }
                StructuralPart {
                    structure,
                    regularity,
                    repair,
                }
            })
        });
        if let (Some(Ok(part)), Ok(numbers)) = (&structural, &mut numerical) {
            numbers.look_around(system, &point, &request, part);
        }
        let mut linear = None;
        if n.max(m) <= MAX_NUMERICAL {
            linear = LinearSystem::new(system).ok();
        }
        // The matrices of a linear system are the same at all points of a time.
        let point_matters = linear.is_none();
        let staged = structural.as_ref().and_then(|part| part.as_ref().ok());
        let staged = staged.filter(|_| has_stages).map(|part| &part.structure);
        let evidence = match &point {
            Ok(_) => Evidence::Point,
            Err(_) if !point_matters => Evidence::Point,
            Err(NoPoint::Stalled { row, .. }) if stall_is_singular(system, staged, row) => {
                Evidence::SingularStage
            }
            Err(_) => Evidence::None,
        };
        let mut verdict = verdict(request.time, evidence, structural.as_ref(), &numerical);
        // Along a jet inside a set such as x^2 = 0 the constraint vanishes from the matrices, but not from the model.
        if let (PointVerdict::Regular, Ok(part), Ok(point), true) =
            (&verdict, &numerical, &point, point_matters)
            && part.is_special()
            && let Some(directions) = part.directions()
            && !freedom_is_real(system, point, &directions)
        {
            verdict = PointVerdict::Unknown {
                because: "ranks leave directions open that the equations do not: a constraint vanishes together with its derivatives"
                    .to_string(),
            };
        }
        let source = source_of(structural.as_ref());
        let (hidden, loci) = match &source {
            Some(source) => {
                let limit = match numerical.as_ref().map(|part| &part.decision.outcome) {
                    Ok(Outcome::Regular(answer)) if verdict == PointVerdict::Regular => {
                        answer.indices.strangeness.index
                    }
                    _ => usize::MAX,
                };
                let times = match source {
                    Source::Written(structure) => structure.offsets().equation.clone(),
                    Source::Repaired(repaired) => repaired.times_differentiated(),
                };
                // Kinds of loci can be looked for beside any jet.
                let at_rest = TaylorJet::at_rest(&request.guess, request.order + 2);
                let around = (n <= MAX_NUMERICAL).then(|| Around {
                    time: request.time,
                    jet: jet_of(&point).unwrap_or(&at_rest),
                    order: request.order,
                });
                let found = singular_loci(system, source, around, deadline);
                if let (PointVerdict::Regular, Some(because)) = (&verdict, found.vanishing) {
                    verdict = PointVerdict::Unknown { because };
                }
                let mut hidden = match source {
                    Source::Written(_) => Vec::new(),
                    Source::Repaired(repaired) => repaired_constraints(system, repaired),
                };
                hidden.extend(hidden_constraints(system, &times, limit));
                hidden.sort_by_key(|constraint| constraint.times_differentiated);
                (hidden, found.loci)
            }
            None => (Vec::new(), Vec::new()),
        };
        let edges = match &point {
            Ok(point) => edges(system, request.time, &point.jet),
            Err(_) => Vec::new(),
        };
        if !edges.is_empty() {
            verdict = PointVerdict::Singular { kind: None };
        }
        // Where no equation is redundant there are no conditions to check, and the canonical form is not needed.
        let has_conditions = numerical.as_ref().is_ok_and(|part| {
            part.along_the_jet()
                .is_none_or(|i| i.strangeness.n_redundant > 0)
        });
        Self {
            time: request.time,
            point,
            structural,
            numerical,
            hidden,
            loci,
            linear: linear.map(|mut linear| {
                LinearPart::new(
                    &mut linear,
                    request.time,
                    &verdict,
                    request.order,
                    has_conditions,
                )
            }),
            verdict,
            edges,
            budget_reached: Instant::now() > deadline,
        }
    }

    /// All index notions, where the point is regular.
    pub fn indices(&self) -> Option<&Indices> {
        match (&self.numerical, &self.verdict) {
            (Ok(part), PointVerdict::Regular) => part.along_the_jet(),
            _ => None,
        }
    }

    /// The locus that a jet lies on or closest to, and its distance.
    pub fn nearest_locus(
        &self,
        system: &System,
        time: f64,
        jet: &TaylorJet,
    ) -> Option<(&SingularLocus, f64)> {
        let source = source_of(self.structural.as_ref())?;
        let (at, distance) = nearest_locus(system, &source, time, jet)?;
        Some((self.loci.get(at)?, distance))
    }

    /// The expressions that vanish on the singular loci, each with its values at jets of some times.
    pub fn locus_values(
        &self,
        system: &System,
        at: &[(f64, TaylorJet)],
    ) -> Vec<(String, Vec<f64>)> {
        let source = source_of(self.structural.as_ref());
        source.map_or(Vec::new(), |source| locus_values(system, &source, at))
    }

    /// The factors of the loci that depend on one quantity of the motion alone, with their zeros.
    pub fn factor_zeros(&self, system: &System, budget: Duration) -> Vec<FactorZeros> {
        let deadline = Instant::now() + budget;
        let source = source_of(self.structural.as_ref());
        source.map_or(Vec::new(), |source| factor_zeros(system, &source, deadline))
    }

    /// The structural part, if equations and unknowns match.
    pub fn structure(&self) -> Option<&StructuralPart> {
        self.structural.as_ref()?.as_ref().ok()
    }

    /// The consistent values, if there are any.
    pub fn values(&self) -> Option<&[f64]> {
        self.point.as_ref().ok().map(|point| point.jet.values())
    }
}

/// The structure whose blocks have loci: the repaired one, or that of the model where it is right.
fn source_of(
    structural: Option<&Result<StructuralPart, StructurallySingular>>,
) -> Option<Source<'_>> {
    let part = structural?.as_ref().ok()?;
    match (&part.repair, &part.regularity) {
        (RepairPart::Repaired(repaired) | RepairPart::Unverified(repaired), _) => {
            Some(Source::Repaired(repaired))
        }
        (_, Regularity::SingularEverywhere(_)) => None,
        _ => Some(Source::Written(&part.structure)),
    }
}

/// What the jet stands for at which the ranks were looked at.
#[derive(Clone, Copy, PartialEq)]
enum Evidence {
    /// A consistent point, or a linear system, whose matrices are the same at all points of a time.
    Point,
    /// The search ended at a linear stage without a solution: the matrix of the point is singular.
    SingularStage,
    /// The search ended somewhere.
    None,
}

/// Weighs what the parts say. Doubt anywhere is doubt.
fn verdict(
    time: f64,
    evidence: Evidence,
    structural: Option<&Result<StructuralPart, StructurallySingular>>,
    numerical: &Result<NumericalPart, String>,
) -> PointVerdict {
    let part = match numerical {
        Ok(part) => part,
        Err(because) => {
            return PointVerdict::Unknown {
                because: because.clone(),
            };
        }
    };
    let singular_here = matches!(
        structural,
        Some(Ok(StructuralPart {
            regularity: Regularity::SingularHere(_),
            ..
        }))
    );
    let kind = part.kind;
    // Changes faster than the time can be told apart are no evidence of a regular point.
    let resolved = part.decision.scaling.time > UNRESOLVED * time.abs();
    match &part.decision.outcome {
        _ if evidence == Evidence::None => PointVerdict::Unknown {
            because: "no consistent point was found; ranks at other points prove nothing"
                .to_string(),
        },
        Outcome::Critical { .. } => PointVerdict::Singular { kind },
        Outcome::Regular(_) if singular_here && !resolved => PointVerdict::Singular { kind },
        Outcome::Unknown { .. }
            if singular_here && kind.is_some() && part.along_the_jet().is_none() =>
        {
            PointVerdict::Singular { kind }
        }
        _ if evidence == Evidence::SingularStage && singular_here && kind.is_some() => {
            PointVerdict::Singular { kind }
        }
        _ if evidence == Evidence::SingularStage => PointVerdict::Unknown {
            because: "no consistent point was found; ranks at other points prove nothing"
                .to_string(),
        },
        _ if !resolved => PointVerdict::Unknown {
            because: format!(
                "the coefficients change within {:.0e} of the time, which rounding blurs",
                part.decision.scaling.time
            ),
        },
        outcome => match (part.along_the_jet(), outcome) {
            (Some(indices), _) => match part
                .contradiction(indices)
                .or_else(|| structural?.as_ref().ok()?.contradiction(indices))
            {
                Some(because) => PointVerdict::Unknown { because },
                None => PointVerdict::Regular,
            },
            (None, Outcome::Unknown { because }) => PointVerdict::Unknown {
                because: because.to_string(),
            },
            (None, _) => PointVerdict::Unknown {
                because: "the ranks along the jet are not decided".to_string(),
            },
        },
    }
}

/// What came of repairing the structure.
#[derive(Clone)]
pub enum RepairPart {
    /// The structure holds as written.
    NotNeeded,
    /// The repaired structure, verified at the consistent point.
    Repaired(Box<Repaired>),
    /// A repair that the point cannot confirm, because it is singular or not known: its blocks tell where the model can
    /// become singular, its index is not claimed.
    Unverified(Box<Repaired>),
    /// No repair that can be relied on, and why.
    Failed(String),
}

impl std::fmt::Debug for RepairPart {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotNeeded => write!(f, "NotNeeded"),
            Self::Repaired(repaired) => write!(f, "Repaired({})", repaired.text()),
            Self::Unverified(repaired) => write!(f, "Unverified({})", repaired.text()),
            Self::Failed(because) => write!(f, "Failed({because})"),
        }
    }
}

/// Repairs a structure that is singular everywhere, or along the solution, and compares the result with the array.
fn repair_part(
    system: &System,
    structure: &Structure,
    regularity: &Regularity,
    time: f64,
    jet: Option<&TaylorJet>,
    dof: Option<usize>,
    deadline: Instant,
) -> RepairPart {
    let is_needed = match regularity {
        Regularity::Regular => false,
        Regularity::SingularEverywhere(_) => true,
        _ => jet.is_some(),
    };
    if !is_needed {
        return RepairPart::NotNeeded;
    }
    let symbols = system.equations().symbols();
    let point = |symbol: Symbol| match (symbol, jet) {
        (Symbol::Unknown { unknown, order }, Some(jet)) => jet.derivative(unknown, order as usize),
        (known, _) => symbols.value_at(known, time),
    };
    let known: Option<&dyn Fn(Symbol) -> f64> = jet.is_some().then_some(&point);
    let parameters = system.parameters().values();
    let names = Names::of_system(system);
    let budget = Budget {
        deadline: Some(deadline),
        ..Budget::default()
    };
    match repair(
        system.equations(),
        structure,
        parameters,
        known,
        &names,
        &budget,
    ) {
        Repair::Repaired(repaired) => {
            let found = repaired.n_degrees_of_freedom();
            match dof {
                Some(dof) if dof as u64 != found => RepairPart::Failed(format!(
                    "the repaired structure has {found} degrees of freedom, the derivative array {dof}"
                )),
                None if repaired.verdict() == Verdict::Unknown => RepairPart::Unverified(repaired),
                _ => RepairPart::Repaired(repaired),
            }
        }
        Repair::Unknown { because, .. } => RepairPart::Failed(because.to_string()),
        Repair::NotNeeded | Repair::SingularHere { .. } => RepairPart::NotNeeded,
    }
}

/// The series at a jet beside the point.
fn series_beside(
    system: &System,
    jet: &TaylorJet,
    time: f64,
    order: usize,
    which: usize,
) -> Option<MatrixSeries> {
    let (time, jet) = beside(jet, time, &nominal(system), which);
    let mut array = ConstraintArray::new(system, time, order);
    array.matrix_series(&jet, order).ok()
}

/// The same at a consistent jet beside the point; `None` where none is found.
///
/// Terms that vanish with the equations themselves, such as an equation multiplied by a function of the unknowns, are there at
/// other jets: ranks that hold on solutions can be others at such jets (section 10 of `docs/theory/indices.md`).
fn consistent_series_beside(
    system: &System,
    jet: &TaylorJet,
    time: f64,
    order: usize,
    which: usize,
    deadline: Instant,
) -> Option<MatrixSeries> {
    let equations = system.equations();
    let whole = Selection::whole(equations.n_equations(), equations.n_unknowns(), order);
    if whole.rows.len() > MAX_DENSE_ROWS {
        return None;
    }
    let (time, mut jet) = beside(jet, time, &nominal(system), which);
    let limits = Limits {
        steps: NEIGHBOUR_STEPS,
        deadline,
    };
    let mut finder = Finder::new(system, None, time, order);
    finder.settle(&whole, &mut jet, &limits).ok()?;
    let mut array = ConstraintArray::new(system, time, order);
    array.matrix_series(&jet, order).ok()
}

fn numerical_part(
    system: &System,
    point: &Result<ConsistentPoint, NoPoint>,
    request: &Request,
    deadline: Instant,
) -> Result<NumericalPart, String> {
    let n = system.equations().n_unknowns();
    let m = system.equations().n_equations();
    if n.max(m) > MAX_NUMERICAL {
        return Err(format!(
            "the numerical index notions are computed up to {MAX_NUMERICAL} unknowns; this model has {n}"
        ));
    }
    let Some(jet) = jet_of(point) else {
        return Err("there is no point to look at".to_string());
    };
    let order = request.order;
    let mut array = ConstraintArray::new(system, request.time, order);
    let series = match array.matrix_series(jet, order) {
        Ok(series) => series,
        Err(
            crate::initial::ArrayFault::Equation(fault)
            | crate::initial::ArrayFault::Initial(fault),
        ) => {
            return Err(system.explain(&fault).sentence);
        }
    };
    let relative_error = match point {
        Ok(point) => point.residual,
        Err(_) => 0.0,
    };
    let sizes = nominal(system);
    let neighbour = |i: usize| series_beside(system, jet, request.time, order, i);
    let sharper = || match point {
        Ok(point) if Instant::now() < deadline => sharper_series(system, point, order),
        _ => None,
    };
    let question = Question {
        relative_error,
        nominal: Some(&sizes),
        neighbour: &neighbour,
        ..Question::new(&series)
    };
    let mut decision = decide(&question);
    // Neighbours off the constraints refute no index, and confirm no critical point.
    let may_change = decision.outcome.may_change();
    let mut consistent = Vec::new();
    if point.is_ok() && may_change {
        consistent.extend((0..N_NEIGHBOURS).filter_map(|which| {
            consistent_series_beside(system, jet, request.time, order, which, deadline)
        }));
    }
    let on_constraints = |i: usize| consistent.get(i).cloned();
    let is_on_constraints = consistent.len() >= FEWEST_NEIGHBOURS;
    if is_on_constraints {
        decision = decide(&Question {
            neighbour: &on_constraints,
            off_constraints: Some(&neighbour),
            sharper: &sharper,
            ..question
        });
    } else if may_change {
        decision = decide(&Question {
            sharper: &sharper,
            ..question
        });
    }
    let scaled = decision.scaling.apply(&series);
    let fullness = Fullness::new(
        &DerivativeArray::new(&scaled, relative_error),
        &decision.scaling,
    );
    let condition = fullness_condition(&series, &fullness);
    let chain = (m == n)
        .then(|| Chain::new(&scaled, relative_error))
        .flatten();
    let mut part = NumericalPart {
        free: Vec::new(),
        condition,
        fullness,
        chain,
        kind: None,
        decision,
        series,
    };
    let is_regular = matches!(part.decision.outcome, Outcome::Regular(_));
    if m == n && is_on_constraints && !is_regular {
        part.kind = kind_of_point(&part.series, relative_error, on_constraints).unwrap_or(None);
    } else if m == n && (is_on_constraints || !is_regular) {
        part.kind = kind_of_point(&part.series, relative_error, neighbour).unwrap_or(None);
    }
    if let Some(directions) = part.directions() {
        part.free = free_unknowns(system, &directions, &part.decision.scaling.columns);
    }
    Ok(part)
}

impl LinearPart {
    fn new(
        linear: &mut LinearSystem<'_>,
        time: f64,
        verdict: &PointVerdict,
        order: usize,
        has_conditions: bool,
    ) -> Self {
        let mut consistency = || {
            let series = linear.at(time, 2 * order + 3).ok()?;
            let form = CanonicalForm::new(&series.matrices).ok()?;
            form.consistency(&series.f)
        };
        match verdict {
            PointVerdict::Regular => {
                let consistency = has_conditions.then(&mut consistency).flatten();
                let found = consistency.as_ref().filter(|c| c.n_conditions > 0);
                let reduction =
                    found.and_then(|_| LinearReduction::new(linear.system(), time).ok());
                Self {
                    conditions: reduction.map_or(Vec::new(), |r| r.conditions().to_vec()),
                    consistency,
                    around: None,
                }
            }
            PointVerdict::Singular { .. } => {
                let width = SURROUNDINGS * (1.0 + time.abs());
                let (from, to) = (time - width, time + width);
                Self {
                    consistency: None,
                    conditions: Vec::new(),
                    around: Some(IntervalAnalysis::new(linear, from, to, DEFAULT_BUDGET)),
                }
            }
            PointVerdict::Unknown { .. } => Self {
                consistency: None,
                conditions: Vec::new(),
                around: None,
            },
        }
    }
}

impl NumericalPart {
    /// A jet that stays inside a critical set has constant ranks and looks regular; the system Jacobian tells.
    fn look_around(
        &mut self,
        system: &System,
        point: &Result<ConsistentPoint, NoPoint>,
        request: &Request,
        part: &StructuralPart,
    ) {
        if !matches!(part.regularity, Regularity::SingularHere(_)) || self.kind.is_some() {
            return;
        }
        let Some(jet) = jet_of(point) else { return };
        let error = point.as_ref().map_or(0.0, |point| point.residual);
        let neighbour = |i: usize| series_beside(system, jet, request.time, request.order, i);
        // A block is singular here: units taken from the point itself may hide it.
        self.kind = match Kinds::new(&self.series, error, neighbour) {
            Ok(kinds) => kinds.agreed().or(kinds.usual).unwrap_or(None),
            Err(_) => None,
        };
    }
}

/// The series at the point with twice the digits, if the jet can be sharpened without moving away.
fn sharper_series(
    system: &System,
    point: &ConsistentPoint,
    order: usize,
) -> Option<MatrixSeries<DdMat>> {
    let rows: Vec<Vec<f64>> = (0..=order + 1)
        .map(|k| point.jet.row(k).map(<[f64]>::to_vec))
        .collect::<Option<_>>()?;
    let sharpened = system.sharpen(point.time, &rows).ok()?;
    (sharpened.moved < 1e-6).then_some(sharpened.series)
}

/// Whether the equations can be satisfied at points moved in each of the directions that the ranks leave open.
fn freedom_is_real(system: &System, point: &ConsistentPoint, directions: &Mat) -> bool {
    const STEP: f64 = 1e-4;
    const KEPT_WAY: f64 = 0.1;
    const SEEN_WAY: f64 = 0.01;
    let Some(rows) = (0..=point.order + 1)
        .map(|k| point.jet.row(k).map(<[f64]>::to_vec))
        .collect::<Option<Vec<_>>>()
    else {
        return false;
    };
    let size = point
        .jet
        .values()
        .iter()
        .fold(1.0_f64, |m, v| m.max(v.abs()));
    let (equations, parameters) = (system.equations(), system.parameters().values());
    let step = STEP * size;
    (0..directions.ncols()).all(|k| {
        let mut moved = rows.clone();
        for (value, along) in moved[0].iter_mut().zip(directions.col(k)) {
            *value += step * along;
        }
        for _ in 0..2 {
            // With the array of the point a constraint that vanishes from it is never met again.
            let Ok(found) = sharpen_beside(equations, parameters, point.time, &rows, &moved) else {
                return false;
            };
            // The shortest way back to the equations may undo a part of the step, but not all of it.
            let way: f64 = found.jet[0]
                .iter()
                .zip(&rows[0])
                .zip(directions.col(k))
                .map(|((now, before), along)| (now.hi() - before) * along)
                .sum();
            if way > KEPT_WAY * step {
                return true;
            }
            // It undoes most of it where rates have to move along: then once more in the direction found.
            if way < SEEN_WAY * step {
                return false;
            }
            for (moved, (found, row)) in moved.iter_mut().zip(found.jet.iter().zip(&rows)) {
                let changes = found.iter().zip(row).map(|(now, before)| now.hi() - before);
                for (place, (change, before)) in moved.iter_mut().zip(changes.zip(row)) {
                    *place = before + step / way * change;
                }
            }
        }
        false
    })
}

/// Unknowns whose values can be chosen: the rows of the consistent directions that span best, differentiated unknowns
/// before others.
pub(crate) fn free_unknowns(system: &System, directions: &Mat, units: &[f64]) -> Vec<usize> {
    let n = directions.nrows();
    let mut is_differentiated = vec![false; n];
    for &column in system.equations().pattern(1).columns() {
        is_differentiated[column as usize] = true;
    }
    // The preference must not outweigh a clear difference in how well an unknown suits.
    let weight = |j: usize| if is_differentiated[j] { 1.0 } else { 1e-3 } / units[j];
    let rows = Mat::from_fn(directions.ncols(), n, |k, j| weight(j) * directions[(j, k)]);
    let mut qr = Qr::new();
    if directions.ncols() == 0 || qr.factor(rows.view()).is_err() {
        return Vec::new();
    }
    match qr.permutation() {
        Ok(permutation) => {
            let count = directions.ncols().min(permutation.len());
            let mut chosen = permutation[..count].to_vec();
            chosen.sort_unstable();
            chosen
        }
        Err(_) => Vec::new(),
    }
}

/// The condition of the derivative array at other points of a model, with the index and the ranks of a regular one.
///
/// Where a point is singular the ranks are smaller, and this condition grows without bound: it shows singularities from afar.
#[derive(Clone, Copy, Debug)]
pub struct ArrayCondition {
    index: usize,
    leading_rank: usize,
    whole_rank: usize,
}

impl ArrayCondition {
    /// Takes index and ranks from a regular point; `None` if it has none.
    pub fn of(passport: &Passport) -> Option<Self> {
        let fullness = &passport.numerical.as_ref().ok()?.fullness;
        let (index, _) = fullness.conclusion.ok().flatten()?;
        let level = fullness.levels.get(index.checked_sub(1)?)?;
        Some(Self {
            index,
            leading_rank: fullness.leading.as_ref()?.rank,
            whole_rank: level.whole.rank,
        })
    }

    /// The condition along a jet; `None` where the equations have no value, or the jet is too short for the index.
    pub fn at(&self, system: &System, time: f64, jet: &TaylorJet) -> Option<f64> {
        let order = self.index - 1;
        if jet.n_orders() < order + 2 {
            return None;
        }
        let mut array = ConstraintArray::new(system, time, order);
        let series = array.matrix_series(jet, order).ok()?;
        condition(
            &series,
            self.index,
            self.leading_rank,
            self.whole_rank,
            true,
        )
    }
}

fn fullness_condition(series: &MatrixSeries, fullness: &Fullness) -> Option<f64> {
    let (index, _) = fullness.conclusion.ok().flatten()?;
    let level = fullness.levels.get(index.checked_sub(1)?)?;
    let leading = fullness.leading.as_ref()?.rank;
    condition(series, index, leading, level.whole.rank, true)
}
