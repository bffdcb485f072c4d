//! The passport of a model: every index notion at a consistent point, with the evidence.
//!
//! It decides nothing: [`Passport::of`] shows a [`Judgement`], with the formulas that belong to it. What contradicts what is
//! kept, not smoothed over.

mod linear;

pub use crate::dae::{BlockRank, Regularity, RepairPart};
pub use crate::judgement::{
    ArrayCondition, MAX_NUMERICAL, NumericalPart, PointVerdict, StructuralPart,
};
pub use crate::locus_zeros::FactorZeros;
pub use linear::LinearPart;

use crate::System;
use crate::edge::Edge;
use crate::hidden::{HiddenConstraint, hidden_constraints, repaired_constraints};
use crate::initial::{ConsistentPoint, NoPoint, Request, TaylorJet};
use crate::judgement::{Judgement, jet_of};
use crate::locus::BlockLoci;
use crate::locus_zeros::factor_zeros;
use crate::outcome::Indices;
use crate::singular_loci::{
    Around, Determinants, SingularLocus, Source, locus_values, nearest_factor, nearest_locus,
    singular_loci,
};
use crate::structure::StructurallySingular;
use std::sync::Arc;
use std::time::{Duration, Instant};

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

/// The singular loci, with their kinds; these can be looked for beside any jet.
fn loci_beside(
    judgement: &Judgement<'_>,
    source: &Source<'_>,
    blocks: &BlockLoci,
) -> Vec<SingularLocus> {
    let (system, request) = (judgement.system, &judgement.request);
    let at_rest = TaylorJet::at_rest(&request.guess, request.order + 2);
    let is_small = system.equations().n_unknowns() <= MAX_NUMERICAL;
    let around = is_small.then(|| Around {
        time: request.time,
        jet: judgement.jet().unwrap_or(&at_rest),
        order: request.order,
    });
    singular_loci(system, source, blocks, around, judgement.deadline)
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
        Self::of(Judgement::new(system, request))
    }

    /// Shows what was decided, with hidden constraints and loci.
    pub fn of(mut judgement: Judgement<'_>) -> Self {
        let (system, deadline) = (judgement.system, judgement.deadline);
        let determinants = judgement.determinants.take();
        let (mut hidden, mut loci, mut blocks) = (Vec::new(), Vec::new(), None);
        if let Some(source) = judgement.source() {
            let found =
                determinants.unwrap_or_else(|| Determinants::new(system, &source, deadline));
            loci = loci_beside(&judgement, &source, &found.blocks);
            hidden = constraints_behind(system, &source, judgement.n_differentiations);
            blocks = Some(Arc::new(found.blocks));
        }
        let plain = Self::without_formulas(judgement);
        Self {
            hidden,
            loci,
            blocks,
            budget_reached: Instant::now() > deadline,
            ..plain
        }
    }

    /// Shows what was decided, without hidden constraints and loci, which may take longer than all the rest: for measures.
    pub fn without_formulas(judgement: Judgement<'_>) -> Self {
        let Judgement {
            request,
            deadline,
            point,
            structural,
            numerical,
            linear,
            verdict,
            edges,
            ..
        } = judgement;
        let has_conditions = numerical.as_ref().is_ok_and(NumericalPart::has_conditions);
        Self {
            time: request.time,
            point,
            structural,
            numerical,
            hidden: Vec::new(),
            loci: Vec::new(),
            blocks: None,
            linear: linear.map(|mut linear| {
                let (time, order) = (request.time, request.order);
                LinearPart::new(&mut linear, time, &verdict, order, has_conditions)
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
        let source = self.source()?;
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
        let source = self.source()?;
        let blocks = self.blocks.as_deref()?;
        nearest_factor(system, &source, blocks, equations, (time, jet))
    }

    /// The expressions that vanish on the singular loci, each with its values at jets of some times.
    pub fn locus_values(
        &self,
        system: &System,
        at: &[(f64, TaylorJet)],
    ) -> Vec<(String, Vec<f64>)> {
        match (self.source(), self.blocks.as_deref()) {
            (Some(source), Some(blocks)) => locus_values(system, &source, blocks, at),
            _ => Vec::new(),
        }
    }

    /// The factors of the loci that depend on one quantity of the motion alone, with their zeros.
    pub fn factor_zeros(&self, system: &System, budget: Duration) -> Vec<FactorZeros> {
        let deadline = Instant::now() + budget;
        match (self.source(), self.blocks.as_deref()) {
            (Some(source), Some(blocks)) => factor_zeros(system, &source, blocks, deadline),
            _ => Vec::new(),
        }
    }

    fn source(&self) -> Option<Source<'_>> {
        self.structure()?.source()
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
