//! What the series of E and B tell along the jet of a point.

use super::condition::ArrayCondition;
use super::freedom::free_unknowns;
use super::structural::StructuralPart;
use super::{MAX_NUMERICAL, jet_of};
use crate::chain::{Chain, CriticalKind, Kinds, N_NEIGHBOURS, kind_of_point};
use crate::dae::{Regularity, beside};
use crate::decide::{Decision, IndexQuestion, IndexVerdict, Sharper, decide};
use crate::fullness::Fullness;
use crate::initial::{
    ArrayFault, ConsistentPoint, ConstraintArray, Finder, Limits, MAX_DENSE_ROWS, NoPoint, Pin,
    Request, Selection, TaylorJet, nominal,
};
use crate::outcome::{Because, Indices};
use crate::series::MatrixSeries;
use crate::tolerances::FAR_OFF;
use crate::{DerivativeArray, System};
use daelight_linalg::{DdMat, Mat};
use std::time::Instant;

/// Consistent neighbours of a point that outweigh those off the constraints.
const FEWEST_NEIGHBOURS: usize = 2;

/// Most steps onto the constraints from a jet beside a point.
const NEIGHBOUR_STEPS: usize = 20;

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
    pub kind: Option<CriticalKind>,
    /// Unknowns that can be given values together, as many as there are degrees of freedom and free unknowns.
    pub free: Vec<usize>,
}

impl NumericalPart {
    /// The indices that the ranks along the jet lead to, whether or not they are those of the neighbours.
    pub(crate) fn along_the_jet(&self) -> Option<&Indices> {
        match &self.decision.outcome {
            IndexVerdict::Unknown {
                because: Because::NeighboursDisagree,
            } => self.decision.reduction.regular(),
            outcome => outcome.indices(),
        }
    }

    /// Orthonormal directions in which the ranks leave the point open, if it has indices.
    pub(super) fn directions(&self) -> Option<Mat> {
        let decision = &self.decision;
        match &decision.outcome {
            IndexVerdict::Regular(answer) => answer.consistent_directions.clone(),
            _ if self.along_the_jet().is_some() => {
                decision.reduction.consistent_directions(&decision.scaling)
            }
            _ => None,
        }
    }

    /// Whether ranks are others beside the jet, or equations redundant along it.
    pub(super) fn is_special(&self) -> bool {
        let redundant = |indices: &Indices| indices.strangeness.n_redundant > 0;
        self.kind.is_some() || self.along_the_jet().is_some_and(redundant)
    }

    /// Degrees of freedom, where the ranks give a differentiation index.
    pub(super) fn degrees_of_freedom(&self) -> Option<usize> {
        let indices = self.decision.outcome.indices()?;
        (indices.differentiation_index)
            .is_some()
            .then_some(indices.strangeness.n_differential)
    }

    /// How often equations have to be differentiated until all constraints show; unlimited where that is not known.
    pub(super) fn most_differentiations(&self) -> usize {
        match &self.decision.outcome {
            IndexVerdict::Regular(answer) => answer.indices.strangeness.index,
            _ => usize::MAX,
        }
    }

    /// Whether redundant equations may put conditions on f, so that the canonical form is needed to check them.
    pub(crate) fn has_conditions(&self) -> bool {
        let along = self.along_the_jet();
        along.is_none_or(|indices| indices.strangeness.n_redundant > 0)
    }

    /// Why 1-fullness or the chain contradict the indices, if they do.
    pub(super) fn contradiction(&self, indices: &Indices) -> Option<String> {
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

/// The derivative array on the sides of switches that a point lies on.
fn array_on(system: &System, sides: &[Pin], time: f64, order: usize) -> ConstraintArray {
    let mut array = ConstraintArray::new(system, time, order);
    array.pin(system.equations().graph(), sides);
    array
}

fn sides(point: &Result<ConsistentPoint, NoPoint>) -> &[Pin] {
    point.as_ref().map_or(&[], ConsistentPoint::sides)
}

/// The series at a jet beside the point, on its sides.
fn series_beside(
    system: &System,
    sides: &[Pin],
    jet: &TaylorJet,
    time: f64,
    order: usize,
    which: usize,
) -> Option<MatrixSeries> {
    let (time, jet) = beside(jet, time, &nominal(system), which);
    let mut array = array_on(system, sides, time, order);
    array.matrix_series(&jet, order).ok()
}

/// The same at a consistent jet beside the point; `None` where none is found.
///
/// Terms that vanish with the equations themselves, such as an equation multiplied by a function of the unknowns, are there at
/// other jets: ranks that hold on solutions can be others at such jets (section 10 of `docs/theory/indices.md`).
fn consistent_series_beside(
    system: &System,
    sides: &[Pin],
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
    finder.pin(sides);
    finder.settle(&whole, &mut jet, &limits).ok()?;
    let mut array = array_on(system, sides, time, order);
    array.matrix_series(&jet, order).ok()
}

/// Decides a question, and once more with neighbours on the constraints where the first answer may change with them: those
/// off the constraints refute no index, and confirm no critical point. Also the series at those neighbours.
fn decide_on_constraints(
    question: IndexQuestion<'_>,
    sharper: Sharper<'_>,
    beside: impl Fn(usize) -> Option<MatrixSeries>,
) -> (Decision, Vec<MatrixSeries>) {
    let decision = decide(&question);
    if !decision.outcome.may_change() {
        return (decision, Vec::new());
    }
    let consistent: Vec<MatrixSeries> = (0..N_NEIGHBOURS).filter_map(beside).collect();
    let on_constraints = |i: usize| consistent.get(i).cloned();
    let decision = match consistent.len() >= FEWEST_NEIGHBOURS {
        true => decide(&IndexQuestion {
            neighbour: &on_constraints,
            off_constraints: Some(question.neighbour),
            sharper,
            ..question
        }),
        false => decide(&IndexQuestion {
            sharper,
            ..question
        }),
    };
    (decision, consistent)
}

/// Builds the series of E and B at a point and asks for the index notions.
pub(super) fn numerical_part(
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
    let sides = sides(point);
    let mut array = array_on(system, sides, request.time, order);
    let series = match array.matrix_series(jet, order) {
        Ok(series) => series,
        Err(ArrayFault::Equation(fault) | ArrayFault::Initial(fault)) => {
            return Err(system.explain(&fault).sentence);
        }
    };
    let relative_error = match point {
        Ok(point) => point.residual,
        Err(_) => 0.0,
    };
    let sizes = nominal(system);
    let neighbour = |i: usize| series_beside(system, sides, jet, request.time, order, i);
    let beside = |i: usize| {
        let time = request.time;
        consistent_series_beside(system, sides, jet, time, order, i, deadline)
    };
    let sharper = || match point {
        Ok(point) if Instant::now() < deadline => sharper_series(system, point, order),
        _ => None,
    };
    let question = IndexQuestion {
        relative_error,
        nominal: Some(&sizes),
        neighbour: &neighbour,
        ..IndexQuestion::new(&series)
    };
    let consistent = |i: usize| point.as_ref().ok().and_then(|_| beside(i));
    let (decision, consistent) = decide_on_constraints(question, &sharper, consistent);
    let on_constraints = |i: usize| consistent.get(i).cloned();
    let is_on_constraints = consistent.len() >= FEWEST_NEIGHBOURS;
    let scaled = decision.scaling.apply(&series);
    let fullness = Fullness::new(
        &DerivativeArray::new(&scaled, relative_error),
        &decision.scaling,
    );
    let condition =
        ArrayCondition::of_fullness(&fullness).and_then(|condition| condition.of_series(&series));
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
    let is_regular = matches!(part.decision.outcome, IndexVerdict::Regular(_));
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

impl NumericalPart {
    /// A jet that stays inside a critical set has constant ranks and looks regular; the system Jacobian tells.
    pub(super) fn look_around(
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
        let neighbour =
            |i: usize| series_beside(system, sides(point), jet, request.time, request.order, i);
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
    (sharpened.moved < FAR_OFF).then_some(sharpened.series)
}
