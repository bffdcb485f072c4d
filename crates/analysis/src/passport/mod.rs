//! The passport of a model: every index notion at a consistent point, with the evidence.
//!
//! [`Passport::new`] finds the point, builds the series of E and B there and asks all deciders; it decides nothing
//! itself. What contradicts what is kept, not smoothed over.

mod condition;
mod freedom;
mod linear;
mod numerical;
mod structural;
mod verdict;

pub use crate::dae::{BlockRank, Regularity, RepairPart};
pub use crate::locus_zeros::FactorZeros;
pub use condition::ArrayCondition;
pub(crate) use freedom::free_unknowns;
pub use linear::LinearPart;
pub use numerical::NumericalPart;
pub use structural::StructuralPart;
pub use verdict::PointVerdict;

use crate::System;
use crate::dae::BlockForm;
use crate::decide::Outcome;
use crate::edge::{Edge, edges};
use crate::hidden::{HiddenConstraint, hidden_constraints, repaired_constraints};
use crate::initial::{
    ConsistentPoint, NoPoint, Request, StageOffsets, TaylorJet, consistent_point,
};
use crate::linear::LinearSystem;
use crate::locus::BlockLoci;
use crate::locus_zeros::factor_zeros;
use crate::outcome::{Because, Indices};
use crate::singular_loci::{
    Around, FoundLoci, SingularLocus, Source, locus_values, nearest_factor, nearest_locus,
    singular_loci,
};
use crate::stall::stall_is_singular;
use crate::structure::StructurallySingular;
use freedom::freedom_is_real;
use numerical::numerical_part;
use std::sync::Arc;
use std::time::{Duration, Instant};
use structural::source_of;
use verdict::{Evidence, verdict};

/// Most unknowns for which the numerical index notions are computed; the cost grows like their third power times that
/// of the orders.
pub const MAX_NUMERICAL: usize = 64;

/// Highest order of the series that is tried.
pub(crate) const MAX_ORDER: usize = 14;

/// Everything that is known about a model at a point.
///
/// ```
/// use daelight_analysis::System;
/// use daelight_analysis::initial::Request;
/// use daelight_analysis::passport::{Passport, PointVerdict};
/// use daelight_lang::{Options, load};
///
/// let text = "model Pendulum  Real x(start = 0.6), y(start = -0.8), u, v, f;
///             equation  der(x) = u;  der(y) = v;  der(u) = -f*x;  der(v) = -f*y - 9.81;
///                       x^2 + y^2 = 1;  end Pendulum;";
/// let model = load("pendulum.mo", text.as_bytes(), &Options::default()).model.expect("the text is right");
/// let system = System::new(&model)?;
/// let passport = Passport::new(&system, &Request::of_model(&system, 0.0, 0));
/// assert_eq!(passport.verdict, PointVerdict::Regular);
/// let indices = passport.indices().expect("the point is regular");
/// assert_eq!(indices.differentiation_index, Some(3));
/// assert_eq!(indices.strangeness.n_differential, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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
    /// The determinants behind these, as far as the budget sufficed: made once, asked by all that follows.
    blocks: Option<Arc<BlockLoci>>,
    /// More about a linear model; `None` if it is not linear.
    pub linear: Option<LinearPart>,
    /// Expressions that are at the edge of their domain at the point, which is singular for that.
    pub edges: Vec<Edge>,
    /// Whether the budget of the request ended some of the work: what is left open may be decided with more time.
    pub budget_reached: bool,
}

/// The jet at which matrices are evaluated: the consistent one, or the best that was reached.
fn jet_of(point: &Result<ConsistentPoint, NoPoint>) -> Option<&TaylorJet> {
    match point {
        Ok(point) => Some(&point.jet),
        Err(NoPoint::Stalled { jet, .. }) => Some(jet),
        Err(_) => None,
    }
}

/// A point with what the series tell there, and the request with the order that they needed.
struct Looked {
    request: Request,
    point: Result<ConsistentPoint, NoPoint>,
    numerical: Result<NumericalPart, String>,
}

/// Finds the point and looks at the series, with higher orders as long as they are too short.
fn look(
    system: &System,
    offsets: Option<StageOffsets<'_>>,
    index: usize,
    request: &Request,
    deadline: Instant,
) -> Looked {
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
    Looked {
        request,
        point,
        numerical,
    }
}

/// The singular loci, with their kinds; these can be looked for beside any jet.
fn loci_beside(
    system: &System,
    source: &Source<'_>,
    request: &Request,
    jet: Option<&TaylorJet>,
    deadline: Instant,
) -> FoundLoci {
    let at_rest = TaylorJet::at_rest(&request.guess, request.order + 2);
    let is_small = system.equations().n_unknowns() <= MAX_NUMERICAL;
    let around = is_small.then(|| Around {
        time: request.time,
        jet: jet.unwrap_or(&at_rest),
        order: request.order,
    });
    singular_loci(system, source, around, deadline)
}

/// The conditions that follow by differentiating up to `limit` times, those of a repair included.
fn constraints_behind(system: &System, source: &Source<'_>, limit: usize) -> Vec<HiddenConstraint> {
    let (mut hidden, times) = match source {
        Source::Written(structure) => (Vec::new(), structure.offsets().equation.clone()),
        Source::Repaired(repaired) => (
            repaired_constraints(system, repaired),
            repaired.times_differentiated(),
        ),
    };
    hidden.extend(hidden_constraints(system, &times, limit));
    hidden.sort_by_key(|constraint| constraint.times_differentiated);
    hidden
}

impl Passport {
    /// The jet at which matrices are evaluated: the consistent one, or the best that was reached.
    pub fn jet(&self) -> Option<&TaylorJet> {
        jet_of(&self.point)
    }

    /// Analyses a system at the consistent point closest to the request.
    ///
    /// The budget of the request bounds all of the work, not the search for the point alone.
    pub fn new(system: &System, request: &Request) -> Self {
        let deadline = Instant::now() + request.budget;
        let equations = system.equations();
        let (m, n) = (equations.n_equations(), equations.n_unknowns());
        let structure = (m == n).then(|| system.structure().cloned().map_err(Clone::clone));
        let generic = BlockForm::written(system).map(|form| form.anywhere_in(system).singular);
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
        let Looked {
            request,
            point,
            mut numerical,
        } = look(system, offsets, index, request, deadline);
        let structural = structure.map(|structure| {
            structure.map(|structure| {
                let generic = generic.unwrap_or_default();
                let dof = numerical.as_ref().ok().and_then(|part| {
                    let indices = part.decision.outcome.indices()?;
                    let square = indices.differentiation_index.is_some() && point.is_ok();
                    square.then_some(indices.strangeness.n_differential)
                });
                let (time, jet) = (request.time, jet_of(&point));
                StructuralPart::new(system, structure, generic, time, jet, dof, deadline)
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
        let (mut hidden, mut loci, mut blocks) = (Vec::new(), Vec::new(), None);
        if let Some(source) = source_of(structural.as_ref()) {
            let limit = match numerical.as_ref().map(|part| &part.decision.outcome) {
                Ok(Outcome::Regular(answer)) if verdict == PointVerdict::Regular => {
                    answer.indices.strangeness.index
                }
                _ => usize::MAX,
            };
            let found = loci_beside(system, &source, &request, jet_of(&point), deadline);
            if let (PointVerdict::Regular, Some(because)) = (&verdict, found.vanishing) {
                verdict = PointVerdict::Unknown { because };
            }
            (loci, blocks) = (found.loci, Some(Arc::new(found.blocks)));
            hidden = constraints_behind(system, &source, limit);
        }
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
            blocks,
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
        let blocks = self.blocks.as_deref()?;
        let (at, distance) = nearest_locus(system, &source, blocks, time, jet)?;
        Some((self.loci.get(at)?, distance))
    }

    /// What comes closest to zero at a jet in the determinant of the block with these equations of the model, and its distance from
    /// zero; also where no finite values make it zero.
    pub fn nearest_factor(
        &self,
        system: &System,
        equations: &[usize],
        time: f64,
        jet: &TaylorJet,
    ) -> Option<(String, f64)> {
        let source = source_of(self.structural.as_ref())?;
        let blocks = self.blocks.as_deref()?;
        nearest_factor(system, &source, blocks, equations, (time, jet))
    }

    /// The expressions that vanish on the singular loci, each with its values at jets of some times.
    pub fn locus_values(
        &self,
        system: &System,
        at: &[(f64, TaylorJet)],
    ) -> Vec<(String, Vec<f64>)> {
        match (source_of(self.structural.as_ref()), self.blocks.as_deref()) {
            (Some(source), Some(blocks)) => locus_values(system, &source, blocks, at),
            _ => Vec::new(),
        }
    }

    /// The factors of the loci that depend on one quantity of the motion alone, with their zeros.
    pub fn factor_zeros(&self, system: &System, budget: Duration) -> Vec<FactorZeros> {
        let deadline = Instant::now() + budget;
        match (source_of(self.structural.as_ref()), self.blocks.as_deref()) {
            (Some(source), Some(blocks)) => factor_zeros(system, &source, blocks, deadline),
            _ => Vec::new(),
        }
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
