//! What a model is at a point: the point, what structure and series tell there, and what outweighs what.
//!
//! Every command that has to decide asks [`Judgement::new`]; [`crate::passport`] only shows what was decided.

mod ahead;
mod condition;
mod freedom;
mod numerical;
mod structural;
mod verdict;

pub use condition::ArrayCondition;
pub(crate) use freedom::free_unknowns;
pub use numerical::NumericalPart;
pub use structural::StructuralPart;
pub use verdict::PointVerdict;

use crate::System;
use crate::dae::Regularity;
use crate::decide::IndexVerdict;
use crate::edge::{Edge, edges};
use crate::initial::{
    ConsistentPoint, NoPoint, Request, StageOffsets, TaylorJet, consistent_point,
};
use crate::linear::LinearSystem;
use crate::outcome::{Because, Indices};
use crate::singular_loci::{Determinants, Source};
use crate::stall::stall_is_singular;
use crate::structure::StructurallySingular;
use ahead::leaves_the_set;
use freedom::freedom_is_real;
use numerical::numerical_part;
use std::time::Instant;
use verdict::{Evidence, verdict};

/// Most unknowns for which the numerical index notions are computed; the cost grows like their third power times that
/// of the orders.
pub const MAX_NUMERICAL: usize = 64;

/// Highest order of the series that is tried.
pub(crate) const MAX_ORDER: usize = 14;

/// What a model is at the consistent point closest to a request.
///
/// ```
/// use daelight_analysis::System;
/// use daelight_analysis::initial::Request;
/// use daelight_analysis::judgement::{Judgement, PointVerdict};
/// use daelight_lang::{Options, load};
///
/// let text = "model Fold  Real x(start = 1), y(start = 0);  equation  der(x) = y;  y^2 = x - 1;  end Fold;";
/// let model = load("fold.mo", text.as_bytes(), &Options::default()).model.expect("the text is right");
/// let system = System::new(&model)?;
/// let mut request = Request::of_model(&system, 0.0, 0);
/// request.guess = vec![2.0, 1.0];
/// assert_eq!(Judgement::new(&system, &request).verdict, PointVerdict::Regular);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Judgement<'a> {
    pub(crate) system: &'a System,
    pub(crate) request: Request,
    pub(crate) deadline: Instant,
    /// The point, or why there is none.
    pub point: Result<ConsistentPoint, NoPoint>,
    /// The structure, or where the equations do not match the unknowns; `None` when their numbers differ.
    pub structural: Option<Result<StructuralPart, StructurallySingular>>,
    /// The numerical part, or why there is none.
    pub numerical: Result<NumericalPart, String>,
    pub(crate) linear: Option<LinearSystem<'a>>,
    /// What kind of point it is.
    pub verdict: PointVerdict,
    /// Expressions that are at the edge of their domain at the point, which is singular for that.
    pub(crate) edges: Vec<Edge>,
    /// How often equations have to be differentiated to find all constraints, where the ranks tell it.
    pub(crate) n_differentiations: usize,
    /// The determinants, where the verdict had to ask them.
    pub(crate) determinants: Option<Determinants>,
}

/// The jet at which matrices are evaluated: the consistent one, or the best that was reached.
pub(crate) fn jet_of(point: &Result<ConsistentPoint, NoPoint>) -> Option<&TaylorJet> {
    match point {
        Ok(point) => Some(&point.jet),
        Err(NoPoint::Stalled { jet, .. }) => Some(jet),
        Err(_) => None,
    }
}

/// The point and what the series tell there, with higher orders as long as they are too short; also the request that this took.
fn at_point(
    system: &System,
    offsets: Option<StageOffsets<'_>>,
    index: usize,
    request: &Request,
    (deadline, ended): (Instant, Option<&NoPoint>),
) -> (
    Request,
    Result<ConsistentPoint, NoPoint>,
    Result<NumericalPart, String>,
) {
    // The reduction needs two orders more than the strangeness index, and one more shows that ranks stay.
    let mut request = request.clone();
    let asked = request.order;
    request.order = asked.max(index + 3).clamp(5, MAX_ORDER);
    let mut point = match ended {
        Some(end) if request.order == asked => Err(end.clone()),
        _ => consistent_point(system, offsets, &request),
    };
    let mut numerical = numerical_part(system, &point, &request, deadline);
    while let Ok(part) = &numerical
        && let IndexVerdict::Unknown {
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

impl<'a> Judgement<'a> {
    /// Finds the point, asks all deciders and weighs what they say.
    ///
    /// The budget of the request bounds all of the work, not the search for the point alone.
    pub fn new(system: &'a System, request: &Request) -> Self {
        Self::after(system, request, None)
    }

    /// The same where [`consistent_start`](crate::initial::consistent_start) was asked for the same point, and ended so.
    pub fn after(system: &'a System, request: &Request, ended: Option<&NoPoint>) -> Self {
        let deadline = Instant::now() + request.budget;
        let is_told = |end: &&NoPoint| {
            system.model().homotopy.is_none() && !matches!(end, NoPoint::Budget { .. })
        };
        let ended = ended.filter(is_told);
        let equations = system.equations();
        let (m, n) = (equations.n_equations(), equations.n_unknowns());
        let structure = (m == n).then(|| system.structure().cloned().map_err(Clone::clone));
        let index = match &structure {
            Some(Ok(structure)) => structure.structural_index(),
            _ => 2,
        };
        let dae = system.dae();
        let offsets = dae.sound().map(StageOffsets::of);
        let (request, point, mut numerical) =
            at_point(system, offsets, index, request, (deadline, ended));
        let found = numerical.as_ref().ok().filter(|_| point.is_ok());
        let dof = found.and_then(NumericalPart::degrees_of_freedom);
        let structural = structure.map(|structure| {
            let choice = || match &point {
                Ok(point) => dae.form_at(point, Some(deadline)),
                Err(_) => dae.form_near(request.time, jet_of(&point), deadline),
            };
            structure.map(|structure| StructuralPart::new(structure, choice(), dof))
        });
        if let (Some(Ok(part)), Ok(numbers)) = (&structural, &mut numerical) {
            numbers.look_around(system, &point, &request, part);
        }
        let is_small = m.max(n) <= MAX_NUMERICAL;
        let linear = is_small.then(|| LinearSystem::new(system).ok()).flatten();
        let is_stall = |row| stall_is_singular(system, dae.sound(), row);
        let evidence = match &point {
            Ok(_) => Evidence::Point,
            // The matrices of a linear system are the same at all points of a time.
            Err(_) if linear.is_some() => Evidence::Point,
            Err(NoPoint::Stalled { row, .. }) if is_stall(row) => Evidence::SingularStage,
            Err(_) => Evidence::None,
        };
        let mut verdict = verdict(request.time, evidence, structural.as_ref(), &numerical);
        if let (PointVerdict::Regular, Ok(part), Ok(point), None) =
            (&verdict, &numerical, &point, &linear)
            && let Some(because) = vanishes_inside_a_set(system, part, point)
        {
            verdict = PointVerdict::Unknown { because };
        }
        let n_differentiations = match (&numerical, &verdict) {
            (Ok(part), PointVerdict::Regular) => part.most_differentiations(),
            _ => usize::MAX,
        };
        let mut judgement = Self {
            system,
            request,
            deadline,
            point,
            structural,
            numerical,
            linear,
            verdict,
            edges: Vec::new(),
            n_differentiations,
            determinants: None,
        };
        if let Ok(point) = &judgement.point {
            let edges = edges(system, judgement.request.time, &point.jet);
            judgement.lie_on(edges);
        }
        judgement.look_ahead();
        judgement.ask_determinants();
        judgement
    }

    /// Ranks along a jet inside a singular set are no evidence where the solution leaves it.
    fn look_ahead(&mut self) {
        let (PointVerdict::Regular, Ok(point), Ok(numbers)) =
            (&self.verdict, &self.point, &self.numerical)
        else {
            return;
        };
        let is_singular =
            |part: &StructuralPart| matches!(part.regularity, Regularity::SingularHere(_));
        if !self.structure().is_some_and(is_singular) {
            return;
        }
        let unit = numbers.decision.scaling.time;
        if leaves_the_set(self.system, point, &self.request, unit, self.deadline) {
            self.verdict = PointVerdict::Singular { kind: numbers.kind };
            self.n_differentiations = usize::MAX;
        }
    }

    /// Takes note of expressions at the edge of their domain, which make the point singular.
    pub(crate) fn lie_on(&mut self, edges: Vec<Edge>) {
        if !edges.is_empty() {
            self.verdict = PointVerdict::Singular { kind: None };
        }
        self.edges = edges;
    }

    /// A determinant that is 0 by algebra contradicts ranks that make the point regular.
    fn ask_determinants(&mut self) {
        if self.verdict != PointVerdict::Regular {
            return;
        }
        let source = self.source();
        let found = source.map(|source| Determinants::new(self.system, &source, self.deadline));
        if let Some(because) = found.as_ref().and_then(|found| found.vanishing.clone()) {
            self.verdict = PointVerdict::Unknown { because };
        }
        self.determinants = found;
    }

    /// The structure whose blocks have loci.
    pub(crate) fn source(&self) -> Option<Source<'_>> {
        self.structure()?.source()
    }

    /// The jet at which matrices are evaluated: the consistent one, or the best that was reached.
    pub fn jet(&self) -> Option<&TaylorJet> {
        jet_of(&self.point)
    }

    /// All index notions, where the point is regular.
    pub fn indices(&self) -> Option<&Indices> {
        match (&self.numerical, &self.verdict) {
            (Ok(part), PointVerdict::Regular) => part.along_the_jet(),
            _ => None,
        }
    }

    /// The condition of the derivative array, where the point is regular.
    pub fn condition(&self) -> Option<f64> {
        let regular = self.numerical.as_ref().ok();
        let regular = regular.filter(|_| self.verdict == PointVerdict::Regular);
        regular.and_then(|part| part.condition)
    }

    /// The structural part, if equations and unknowns match.
    pub fn structure(&self) -> Option<&StructuralPart> {
        self.structural.as_ref()?.as_ref().ok()
    }
}
