//! What a model is at a point: the point, what structure and series tell there, and what outweighs what.
//!
//! Every command that has to decide asks [`Judgement::new`]; [`crate::passport`] only shows what was decided.

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
use crate::dae::BlockForm;
use crate::decide::Outcome;
use crate::edge::{Edge, edges};
use crate::initial::{
    ConsistentPoint, NoPoint, Request, StageOffsets, TaylorJet, consistent_point,
};
use crate::linear::LinearSystem;
use crate::outcome::{Because, Indices};
use crate::singular_loci::{Determinants, Source};
use crate::stall::stall_is_singular;
use crate::structure::{StructurallySingular, Structure};
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

impl<'a> Judgement<'a> {
    /// Finds the point, asks all deciders and weighs what they say.
    ///
    /// The budget of the request bounds all of the work, not the search for the point alone.
    pub fn new(system: &'a System, request: &Request) -> Self {
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
        judgement.ask_determinants();
        judgement
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
