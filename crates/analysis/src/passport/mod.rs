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
use crate::structure::{StructurallySingular, Structure};
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

/// A point with what structure and series tell there, and the request with the order that they needed.
struct Looked {
    request: Request,
    point: Result<ConsistentPoint, NoPoint>,
    numerical: Result<NumericalPart, String>,
    structural: Option<Result<StructuralPart, StructurallySingular>>,
    /// Whether the structure holds, so that the point was found stage by stage.
    has_stages: bool,
}

/// Finds the point by the structure where it holds, and looks at structure and series there.
fn look(system: &System, request: &Request, deadline: Instant) -> Looked {
    let is_square = system.equations().n_equations() == system.equations().n_unknowns();
    let structure = is_square.then(|| system.structure().cloned().map_err(Clone::clone));
    let generic = BlockForm::written(system).map(|form| form.anywhere_in(system).singular);
    let sound = structure.as_ref().and_then(|found| found.as_ref().ok());
    let index = sound.map_or(2, Structure::structural_index);
    let holds = generic.as_ref().is_some_and(Vec::is_empty);
    let offsets = sound.filter(|_| holds).map(StageOffsets::of);
    let has_stages = offsets.is_some();
    let (request, point, mut numerical) = at_point(system, offsets, index, request, deadline);
    let found = numerical.as_ref().ok().filter(|_| point.is_ok());
    let dof = found.and_then(NumericalPart::degrees_of_freedom);
    let structural = structure.map(|structure| {
        structure.map(|structure| {
            let generic = generic.unwrap_or_default();
            let (time, jet) = (request.time, jet_of(&point));
            StructuralPart::new(system, structure, generic, time, jet, dof, deadline)
        })
    });
    if let (Some(Ok(part)), Ok(numbers)) = (&structural, &mut numerical) {
        numbers.look_around(system, &point, &request, part);
    }
    Looked {
        request,
        point,
        numerical,
        structural,
        has_stages,
    }
}

/// The point and what the series tell there, with higher orders as long as they are too short; also the request that this took.
fn at_point(
    system: &System,
    offsets: Option<StageOffsets<'_>>,
    index: usize,
    request: &Request,
    deadline: Instant,
) -> (
    Request,
    Result<ConsistentPoint, NoPoint>,
    Result<NumericalPart, String>,
) {
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
    (request, point, numerical)
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

/// What there is to judge: a point, or what the search for one ended at. The matrices of a linear system need no point.
fn evidence(
    system: &System,
    staged: Option<&Structure>,
    point: &Result<ConsistentPoint, NoPoint>,
    point_matters: bool,
) -> Evidence {
    match point {
        Ok(_) => Evidence::Point,
        Err(_) if !point_matters => Evidence::Point,
        Err(NoPoint::Stalled { row, .. }) if stall_is_singular(system, staged, row) => {
            Evidence::SingularStage
        }
        Err(_) => Evidence::None,
    }
}

/// Why ranks that make a point regular tell nothing: along a jet inside a set such as x^2 = 0 the constraint vanishes from
/// the matrices, but not from the model.
fn vanishes_inside_a_set(
    system: &System,
    part: &NumericalPart,
    point: &ConsistentPoint,
) -> Option<String> {
    let directions = part.is_special().then(|| part.directions()).flatten()?;
    (!freedom_is_real(system, point, &directions)).then(|| {
        "ranks leave directions open that the equations do not: a constraint vanishes together with its derivatives"
            .to_string()
    })
}

/// A point with what its verdict rests on.
struct Weighed<'a> {
    request: Request,
    deadline: Instant,
    point: Result<ConsistentPoint, NoPoint>,
    structural: Option<Result<StructuralPart, StructurallySingular>>,
    numerical: Result<NumericalPart, String>,
    linear: Option<LinearSystem<'a>>,
    verdict: PointVerdict,
}

impl<'a> Weighed<'a> {
    /// Finds the point, asks all deciders and weighs what they say.
    fn new(system: &'a System, request: &Request) -> Self {
        let deadline = Instant::now() + request.budget;
        let Looked {
            request,
            point,
            numerical,
            structural,
            has_stages,
        } = look(system, request, deadline);
        let equations = system.equations();
        let size = equations.n_equations().max(equations.n_unknowns());
        let is_small = size <= MAX_NUMERICAL;
        let linear = is_small.then(|| LinearSystem::new(system).ok()).flatten();
        // The matrices of a linear system are the same at all points of a time.
        let point_matters = linear.is_none();
        let staged = structural.as_ref().and_then(|part| part.as_ref().ok());
        let staged = staged.filter(|_| has_stages).map(|part| &part.structure);
        let evidence = evidence(system, staged, &point, point_matters);
        let mut verdict = verdict(request.time, evidence, structural.as_ref(), &numerical);
        if let (PointVerdict::Regular, Ok(part), Ok(point), true) =
            (&verdict, &numerical, &point, point_matters)
            && let Some(because) = vanishes_inside_a_set(system, part, point)
        {
            verdict = PointVerdict::Unknown { because };
        }
        Self {
            request,
            deadline,
            point,
            structural,
            numerical,
            linear,
            verdict,
        }
    }

    /// Takes note of a determinant that is 0 by algebra.
    fn vanishes(&mut self, because: String) {
        if self.verdict == PointVerdict::Regular {
            self.verdict = PointVerdict::Unknown { because };
        }
    }

    /// Looks for expressions at the edge of their domain, which make the point singular.
    fn look_at_edges(&mut self, system: &System) -> Vec<Edge> {
        let edges = match &self.point {
            Ok(point) => edges(system, self.request.time, &point.jet),
            Err(_) => Vec::new(),
        };
        if !edges.is_empty() {
            self.verdict = PointVerdict::Singular { kind: None };
        }
        edges
    }
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
        let mut weighed = Weighed::new(system, request);
        let (mut hidden, mut loci, mut blocks) = (Vec::new(), Vec::new(), None);
        if let Some(source) = source_of(weighed.structural.as_ref()) {
            let limit = match (&weighed.numerical, &weighed.verdict) {
                (Ok(part), PointVerdict::Regular) => part.most_differentiations(),
                _ => usize::MAX,
            };
            let found = loci_beside(
                system,
                &source,
                &weighed.request,
                jet_of(&weighed.point),
                weighed.deadline,
            );
            hidden = constraints_behind(system, &source, limit);
            if let Some(because) = found.vanishing {
                weighed.vanishes(because);
            }
            (loci, blocks) = (found.loci, Some(Arc::new(found.blocks)));
        }
        let edges = weighed.look_at_edges(system);
        let Weighed {
            request,
            deadline,
            point,
            structural,
            numerical,
            linear,
            verdict,
        } = weighed;
        let has_conditions = numerical.as_ref().is_ok_and(NumericalPart::has_conditions);
        Self {
            time: request.time,
            point,
            structural,
            numerical,
            hidden,
            loci,
            blocks,
            linear: linear.map(|mut linear| {
                let (time, order) = (request.time, request.order);
                LinearPart::new(&mut linear, time, &verdict, order, has_conditions)
            }),
            verdict,
            edges,
            budget_reached: Instant::now() > deadline,
        }
    }

    /// The verdict of the passport alone, and the condition of the derivative array at a regular point: without formulas where they decide
    /// nothing, and without their kinds.
    pub fn verdict_at(system: &System, request: &Request) -> (PointVerdict, Option<f64>) {
        let mut weighed = Weighed::new(system, request);
        weighed.look_at_edges(system);
        if weighed.verdict == PointVerdict::Regular
            && let Some(source) = source_of(weighed.structural.as_ref())
            && let Some(because) = singular_loci(system, &source, None, weighed.deadline).vanishing
        {
            weighed.vanishes(because);
        }
        let regular = weighed.numerical.as_ref().ok();
        let regular = regular.filter(|_| weighed.verdict == PointVerdict::Regular);
        let condition = regular.and_then(|part| part.condition);
        (weighed.verdict, condition)
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
