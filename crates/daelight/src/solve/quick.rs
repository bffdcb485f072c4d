//! Starts to which Newton's method leads straight, and runs from them without a search: section 1 of `docs/theory/ensembles.md`.

use super::route::Route;
use super::setup::Setup;
use super::start::{SAME_POINT, start_point, start_request};
use super::{START_ORDER, SolveOptions, tolerance};
use daelight_analysis::System;
use daelight_analysis::dae::FormId;
use daelight_analysis::initial::{
    Closeness, ConsistentPoint, Request, SideChoice, TaylorJet, nominal,
};
use daelight_integrate::{QuickStart, Start, Tolerances, quick_start};

/// A determinant below this part of what it is at the first start may be one beside a singular point.
const SHRUNK: f64 = 1e-3;

/// The start at the values of the parameters that the model came with, as a search found it.
pub(crate) struct Reference(QuickStart);

/// A start straight ahead of the written values, with the jet of all unknowns of the model.
struct Straight {
    found: QuickStart,
    jet: TaylorJet,
}

impl Reference {
    /// The reference of a model; `None` where its start needs a search.
    pub(super) fn new(
        system: &System,
        setup: &Setup,
        options: &SolveOptions,
        from: f64,
    ) -> Option<Self> {
        system.dae().sound()?;
        let straight = Straight::new(system, setup, options, from)?;
        let (point, _) = start_point(system, options, from).ok()?;
        let choice = system.dae().form_at(&point, None);
        let is_plain = choice.form == Some(FormId::Trimmed)
            && !point.structure_fails
            && point.pins.is_empty()
            && point.attempt == 0;
        (is_plain && straight.is_at(system, &point)).then_some(Self(straight.found))
    }

    /// Whether a start is like that of the model, (3): every determinant has its sign and is not much smaller.
    pub fn resembles(&self, start: &QuickStart) -> bool {
        let pairs = start.determinants.iter().zip(&self.0.determinants);
        let mut alike = pairs.map(|(here, there)| {
            here.sign == there.sign && here.log_abs >= there.log_abs + SHRUNK.ln()
        });
        alike.all(|is_alike| is_alike)
    }
}

impl Straight {
    /// The start straight ahead, where the fixed values determine it, (1) and (2).
    fn new(system: &System, setup: &Setup, options: &SolveOptions, from: f64) -> Option<Self> {
        if !can_be_straight(system, setup, options) {
            return None;
        }
        let problem = setup.problem(system).ok()?;
        let start = Start::of_model(system, &setup.reduced, &problem, from);
        let tolerances = Tolerances::of_model(system, &setup.reduced, tolerance(system, options));
        let found = quick_start(&problem, &start, START_ORDER, &tolerances)?;
        let route = Route::Reduced(std::sync::Arc::clone(&setup.reduced));
        let mut way_back = route.way_back(system);
        let jet = way_back.jet_of(from, (&found.series, problem.n()), START_ORDER)?;
        keeps_fixed(system, |unknown| jet.values()[unknown]).then_some(Self { found, jet })
    }

    /// Whether it has the values of a point that was found by search.
    fn is_at(&self, system: &System, point: &ConsistentPoint) -> bool {
        let values = point.jet.values().iter().zip(self.jet.values());
        let mut sized = values.zip(nominal(system));
        sized.all(|((a, b), size)| (a - b).abs() <= SAME_POINT * (size + a.abs()))
    }
}

/// Whether the fixed values of a model may determine its start, whatever its parameters are.
fn can_be_straight(system: &System, setup: &Setup, options: &SolveOptions) -> bool {
    let Ok(structure) = system.structure() else {
        return false;
    };
    let place = &options.place;
    let is_of_model = place.point.is_none() && place.values.is_empty();
    let n_fixed = system.unknowns().iter().filter(|u| u.fixed).count() as u64;
    let has_more = system.hybrid().is_some() || !system.written_initial().is_empty();
    // Otherwise a start value that was written, or the 0 that stands for it, would be no part of the guess.
    let is_guessed = |unknown: usize| setup.reduced.derivative_of(unknown).is_some();
    is_of_model
        && !has_more
        && n_fixed == structure.n_degrees_of_freedom()
        && (0..system.unknowns().len()).all(is_guessed)
}

/// Whether values of the unknowns are those that the model fixes.
pub(super) fn keeps_fixed(system: &System, value: impl Fn(usize) -> f64) -> bool {
    let unknowns = system.unknowns().iter().enumerate();
    let mut fixed = unknowns.filter(|(_, info)| info.fixed);
    fixed.all(|(unknown, info)| {
        let wanted = info.start.unwrap_or(0.0);
        (value(unknown) - wanted).abs() <= SAME_POINT * wanted.abs().max(1.0)
    })
}

impl Setup {
    /// The start of a run without a search, if it resembles that of the model.
    pub(super) fn quick_start(
        &self,
        system: &System,
        options: &SolveOptions,
        from: f64,
    ) -> Option<(ConsistentPoint, Request)> {
        let reference = self.reference.as_ref()?;
        let Straight { found, jet } = Straight::new(system, self, options, from)?;
        if !reference.resembles(&found) {
            return None;
        }
        let request = start_request(system, options, from).ok()?;
        let residual = found.residuals.iter().copied().fold(0.0, f64::max);
        let values = jet.values().iter().zip(&request.guess);
        let moved = values.zip(nominal(system));
        let squares = moved.map(|((value, guess), size)| ((value - guess) / size).powi(2));
        let point = ConsistentPoint {
            time: from,
            order: 1,
            residual,
            residuals: vec![residual; 2],
            closeness: Closeness::Closest,
            distance: squares.sum::<f64>().sqrt(),
            jet,
            attempt: 0,
            structure_fails: false,
            pins: Vec::new(),
            choice: SideChoice::Decided,
            followed: None,
        };
        Some((point, request))
    }
}
