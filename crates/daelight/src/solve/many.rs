//! Runs of a model at many values of its parameters, side by side: section 4 of `docs/theory/ensembles.md`.

use super::quick::keeps_fixed;
use super::setup::Setup;
use super::{SolveOptions, finer, run_options, span_of_run, tolerance, with_absolute};
use crate::observe::{Reader, Way, WayBack};
use crate::solve::Route;
use daelight_analysis::System;
use daelight_integrate::implicit::Method;
use daelight_integrate::lanes::{self, LaneDone, LaneFeed, LaneSettings, LaneStart};
use daelight_integrate::{Options, Problem, QuickStarts, Start, Tolerances, Trajectory};
use std::sync::Arc;

/// What runs side by side share.
pub(crate) struct Ensemble<'a> {
    setup: &'a Setup,
    solve: &'a SolveOptions,
    problem: Problem,
    options: Options,
    span: (f64, f64),
    settings: LaneSettings,
}

impl<'a> Ensemble<'a> {
    /// `None` where something is asked at every step that runs side by side do not do, or where starts are searched for.
    pub fn new(
        system: &System,
        setup: &'a Setup,
        solve: &'a SolveOptions,
        is_dense: bool,
    ) -> Option<Self> {
        setup.reference.as_ref()?;
        let is_by_series = matches!(solve.method, None | Some(Method::Taylor));
        let is_watched = system.stop_when().is_some()
            || system.breaks(true).is_some()
            || solve.events.is_some()
            || solve.progress.is_some();
        if !is_by_series || is_watched || solve.continues {
            return None;
        }
        let span = span_of_run(system, solve);
        let problem = setup.problem(system).ok()?;
        let options = run_options(solve, span.1, tolerances(system, setup, solve));
        let settings = LaneSettings {
            is_dense,
            ..LaneSettings::default()
        };
        lanes::suits(&problem, &options).then_some(Self {
            setup,
            solve,
            problem,
            options,
            span,
            settings,
        })
    }

    /// What the runs of one thread are begun and read with.
    pub fn bench(&self, system: &System) -> Option<Bench<'_>> {
        let rtol = tolerance(system, self.solve);
        let tolerances = Tolerances::of_model(system, &self.setup.reduced, rtol);
        Some(Bench {
            ensemble: self,
            // Runs need the point alone, not its series.
            starts: QuickStarts::new(&self.problem, 1, &tolerances)?,
            way: Route::Reduced(Arc::clone(&self.setup.reduced)).way_back(system),
            nominal: system.unknowns().iter().map(|u| u.nominal).collect(),
        })
    }

    /// Does runs until there are no more.
    pub fn run(&self, feed: &mut LaneFeed<'_>, done: &mut LaneDone<'_>) {
        lanes::solve_many(&self.problem, &self.options, self.settings, feed, done);
    }
}

/// What the runs of one thread are begun and read with.
pub(crate) struct Bench<'e> {
    ensemble: &'e Ensemble<'e>,
    starts: QuickStarts<'e>,
    way: WayBack,
    /// Sizes that the tolerances rest on.
    nominal: Vec<Option<f64>>,
}

impl Bench<'_> {
    /// The run of a point whose start lies straight ahead; `None` where it is for a single run to begin.
    pub fn start(&mut self, system: &System, number: usize) -> Option<LaneStart> {
        let ensemble = self.ensemble;
        let (time, end) = span_of_run(system, ensemble.solve);
        let nominal = system.unknowns().iter().map(|u| u.nominal);
        if (time, end) != ensemble.span || !nominal.eq(self.nominal.iter().copied()) {
            return None;
        }
        let (reduced, problem) = (&ensemble.setup.reduced, &ensemble.problem);
        let parameters = system.parameters().values();
        let start = Start::of_model(system, reduced, problem, time);
        let found = self.starts.find(&start, parameters)?;
        let n = problem.n();
        let value = |unknown: usize| match reduced.derivative_of(unknown) {
            Some((place, order)) => {
                let order = order as usize;
                let factorial: f64 = (1..=order).map(|k| k as f64).product();
                factorial * found.series[order * n + place]
            }
            None => f64::NAN,
        };
        let is_beside = ensemble.setup.reference.as_ref()?.resembles(&found);
        (is_beside && keeps_fixed(system, value)).then(|| LaneStart {
            number,
            time,
            end,
            point: found.series[..n * (problem.max_unknown_offset() + 1)].to_vec(),
            parameters: parameters.to_vec(),
        })
    }

    /// What evaluates the model's unknowns along a run that ended.
    pub fn reader<'t>(&'t mut self, trajectory: &'t Trajectory) -> Reader<'t> {
        Reader {
            trajectory,
            way: Way::Shared(&mut self.way),
            settles: None,
        }
    }

    /// Reads runs with these parameters.
    pub fn set_parameters(&mut self, parameters: &[f64]) {
        self.way.set_parameters(parameters);
    }
}

/// The tolerances of the steps of series.
fn tolerances(system: &System, setup: &Setup, solve: &SolveOptions) -> Tolerances {
    let rtol = tolerance(system, solve);
    let tolerances = Tolerances::of_model(system, &setup.reduced, finer(rtol));
    with_absolute(tolerances, rtol, solve.atol)
}
