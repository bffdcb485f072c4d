//! What a singular point of rewritten equations is to the model they were made from.
//!
//! A rewriting divides by factors, and where one of them vanishes its equations are singular although the model may be regular
//! (`docs/theory/repair.md`, section 8). No such point is called a singularity of the model without a second opinion.

use crate::observe::WayBack;
use crate::solve::START_ORDER;
use crate::tolerances::FACTOR_VANISHES;
use daelight_analysis::System;
use daelight_analysis::initial::Request;
use daelight_analysis::judgement::{Judgement, PointVerdict};
use daelight_analysis::repair::Repaired;
use daelight_integrate::{Nature, Run, StopReason, Trajectory};
use daelight_lang::Symbol;
use std::time::Duration;

/// How much worse than at the start a model may be conditioned where it still counts as far from its singularities.
const SAME_CONDITION: f64 = 1e3;

/// How long to find out whether the model is singular where its rewritten equations are.
const REGULARITY_BUDGET: Duration = Duration::from_secs(5);

/// Times at which the factors are looked at along a run.
const N_SAMPLES: usize = 16;

/// Singular points of one run that are judged; the next one is left open.
const MAX_JUDGED: usize = 100;

/// Points passed that are told.
const MAX_TOLD: usize = 3;

/// Singular times of two runs that differ by less, in units of the time, are the same.
const SAME_TIME: f64 = 1e-5;

/// What the factors of a rewriting do at a point of a run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Factors {
    /// All keep away from zero, there and along the run, far more than an error of the time explains.
    Stay,
    /// None is zero there.
    Fall,
    /// One vanishes, or has no value.
    Vanish,
}

/// Whose singular point it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Owner {
    Model,
    Rewriting,
    Unknown,
}

/// A singular point of rewritten equations at which their run says nothing about the model.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Doubt {
    /// Its place among the singular points of the run.
    place: usize,
    time: f64,
    /// How far off the time may be.
    uncertainty: f64,
    /// Whether the model is known to be regular there.
    model_is_regular: bool,
}

/// Judges the singular points of one rewriting.
pub(crate) struct Judge<'a> {
    system: &'a System,
    repaired: &'a Repaired,
    way: WayBack,
    /// Condition of the model at the start, once it was asked for.
    usual: Option<Option<f64>>,
    n_judged: usize,
    /// Singular times of the model that a second run confirmed.
    confirmed: Vec<f64>,
    /// Singular times of the rewriting that the run passed.
    passed: Vec<f64>,
}

/// A run of rewritten equations as one of the model.
pub(crate) struct Settled {
    pub run: Run,
    /// Whether it is one of the whole derivative array.
    pub by_array: bool,
    pub warnings: Vec<String>,
}

impl Settled {
    /// A run of equations that were not rewritten.
    pub fn as_it_is(run: Run) -> Self {
        Self {
            run,
            by_array: false,
            warnings: Vec::new(),
        }
    }
}

impl<'a> Judge<'a> {
    pub fn new(system: &'a System, repaired: &'a Repaired, way: WayBack) -> Self {
        Self {
            system,
            repaired,
            way,
            usual: None,
            n_judged: 0,
            confirmed: Vec::new(),
            passed: Vec::new(),
        }
    }

    /// Makes a run of rewritten equations one of the model: passes the singular points that are none of the model, and leaves
    /// open what cannot be decided.
    ///
    /// `passing` is the same run that passes what it can, `by_array` one that divides by nothing.
    pub fn settle(
        mut self,
        mut run: Run,
        continues: bool,
        passing: &mut dyn FnMut() -> Option<Run>,
        by_array: &mut dyn FnMut() -> Option<Run>,
    ) -> Settled {
        let mut warnings = Vec::new();
        let mut has_passed = false;
        let mut array: Option<Option<Run>> = None;
        let by_array = loop {
            let Err(doubt) = self.sort_out(&mut run, continues) else {
                break None;
            };
            if doubt.model_is_regular && !has_passed {
                has_passed = true;
                if let Some(again) = passing() {
                    run = again;
                    continue;
                }
            }
            let other = array.get_or_insert_with(&mut *by_array);
            match other.as_ref().map(|other| doubt.opinion(other)) {
                Some(Opinion::Singular) => self.confirmed.push(doubt.time),
                Some(Opinion::Passed) => {
                    warnings.push(format!(
                        "Rewritten equations are singular at t = {}, where the model itself is regular; the series come from \
                         the whole derivative array instead.",
                        doubt.time
                    ));
                    break array.flatten();
                }
                _ => {
                    doubt.leave_open(&mut run);
                    break None;
                }
            }
        };
        if by_array.is_none() {
            warnings.extend(self.passed.iter().take(MAX_TOLD).map(|time| {
                format!(
                    "Rewritten equations are singular at t = {time}, where the model itself is regular; the run passed it."
                )
            }));
        }
        Settled {
            by_array: by_array.is_some(),
            run: by_array.unwrap_or(run),
            warnings,
        }
    }

    /// Takes the singular points of the rewriting out of a run that passed them, and ends it at the first one of the model that
    /// it was not to pass; gives the point that its equations leave open, if there is one.
    fn sort_out(&mut self, run: &mut Run, continues: bool) -> Result<(), Doubt> {
        self.passed.clear();
        let mut place = 0;
        while let Some(found) = run.singularities.get(place) {
            let (time, nature) = (found.time, found.nature);
            let uncertainty = found.evidence.uncertainty;
            let is_end =
                place + 1 == run.singularities.len() && run.stop == StopReason::Singularity;
            let owner = self.owner(&run.trajectory, time);
            match owner {
                Owner::Rewriting if !is_end => {
                    self.passed.push(time);
                    run.singularities.remove(place);
                }
                Owner::Model
                    if is_end
                        || continues && matches!(nature, Nature::Removable | Nature::Steep) =>
                {
                    place += 1
                }
                Owner::Model => {
                    run.end_at_singularity(place);
                    place += 1;
                }
                Owner::Rewriting | Owner::Unknown => {
                    return Err(Doubt {
                        place,
                        time,
                        uncertainty,
                        model_is_regular: owner == Owner::Rewriting,
                    });
                }
            }
        }
        Ok(())
    }

    /// Whose a singular point is.
    ///
    /// A rewriting whose factors stay away from zero is as good as the model. Otherwise a singular time is known to some digits only, and
    /// beside a singularity of the model there are regular points, but badly conditioned ones: a regular model must be conditioned
    /// about as well as at the start.
    fn owner(&mut self, trajectory: &Trajectory, time: f64) -> Owner {
        if self.confirmed.contains(&time) {
            return Owner::Model;
        }
        self.n_judged += 1;
        let Some((begin, _)) = trajectory.span().filter(|_| self.n_judged <= MAX_JUDGED) else {
            return Owner::Unknown;
        };
        let factors = self.factors(trajectory, time);
        if factors == Factors::Stay {
            return Owner::Model;
        }
        match self.verdict(trajectory, time) {
            Some((PointVerdict::Singular { .. }, _)) => return Owner::Model,
            Some((PointVerdict::Regular, here)) => {
                let usual = match self.usual {
                    Some(usual) => usual,
                    None => self.verdict(trajectory, begin).and_then(|found| found.1),
                };
                self.usual = Some(usual);
                if let (Some(here), Some(usual)) = (here, usual)
                    && here <= SAME_CONDITION * usual
                {
                    return Owner::Rewriting;
                }
            }
            _ => {}
        }
        match factors {
            Factors::Vanish => Owner::Unknown,
            Factors::Fall | Factors::Stay => Owner::Model,
        }
    }

    /// What the model is at a point of the run, and its condition where it is regular.
    fn verdict(
        &mut self,
        trajectory: &Trajectory,
        time: f64,
    ) -> Option<(PointVerdict, Option<f64>)> {
        let jet = self.way.jet(trajectory, time, START_ORDER + 1)?;
        let request = Request {
            time,
            guess: jet.values().to_vec(),
            given: Vec::new(),
            conditions: Vec::new(),
            order: START_ORDER,
            budget: REGULARITY_BUDGET,
        };
        let judgement = Judgement::new(self.system, &request);
        let condition = judgement.condition();
        Some((judgement.verdict, condition))
    }

    /// What the factors of the rewriting do at a time of the run.
    fn factors(&self, trajectory: &Trajectory, time: f64) -> Factors {
        let Some((begin, end)) = trajectory.span() else {
            return Factors::Vanish;
        };
        let here = self.factors_at(trajectory, time);
        let (mut least, mut greatest) = (here.clone(), here.clone());
        let mut has_values = true;
        for k in 0..=N_SAMPLES {
            let time = begin + (end - begin) * k as f64 / N_SAMPLES as f64;
            let values = self.factors_at(trajectory, time);
            for (which, value) in values.into_iter().enumerate() {
                has_values &= value.is_finite();
                least[which] = least[which].min(value);
                greatest[which] = greatest[which].max(value);
            }
        }
        let factors = here.iter().zip(least.iter().zip(&greatest));
        let each = factors.map(|(here, (least, greatest))| {
            let most = greatest.max(-least);
            // One that falls evenly to zero has one part of so many left at the last sample before; what is not a number vanishes.
            let least = N_SAMPLES as f64 * least.max(-greatest);
            let stays = has_values && least >= 2.0 * most;
            match here.abs() > FACTOR_VANISHES * most {
                true if stays => Factors::Stay,
                true => Factors::Fall,
                false => Factors::Vanish,
            }
        });
        each.max().unwrap_or(Factors::Stay)
    }

    /// Values of the factors at a time that may lie a little beyond the end.
    fn factors_at(&self, trajectory: &Trajectory, time: f64) -> Vec<f64> {
        let n = trajectory.n();
        let roots: Vec<_> = self.repaired.suspects().iter().map(|s| s.expr).collect();
        let equations = self.repaired.equations();
        let mut coefficients = vec![0.0; (equations.order() + START_ORDER) * n];
        trajectory.extrapolate(time, &mut coefficients);
        let value = |unknown: usize, order: u32| {
            let mut extra = self.repaired.extra_unknowns().iter();
            let place = match extra.position(|extra| extra.unknown == unknown) {
                Some(place) => self.repaired.n_written() + place,
                None => unknown,
            };
            let factorial: f64 = (1..=order).map(f64::from).product();
            let at = order as usize * n + place;
            coefficients.get(at).map_or(f64::NAN, |c| c * factorial)
        };
        let symbols = equations.symbols();
        let parameters = self.system.parameters().values();
        equations
            .graph()
            .evaluate(&roots, |id| match symbols.get(id) {
                Symbol::Parameter(index) => parameters[index],
                Symbol::Unknown { unknown, order } => value(unknown, order),
                known => symbols.value_at(known, time),
            })
    }
}

/// What a run of the derivative array, which divides by nothing, says about a point in doubt.
enum Opinion {
    /// The model is singular there.
    Singular,
    /// It passed the point.
    Passed,
    /// It did not come there.
    None,
}

impl Doubt {
    /// What another run says.
    fn opinion(&self, other: &Run) -> Opinion {
        let Some((begin, end)) = other.trajectory.span() else {
            return Opinion::None;
        };
        let slack = SAME_TIME * self.time.abs().max(1.0) + self.uncertainty;
        let ended = other.singularities.last().map(|found| found.time);
        match (&other.stop, ended) {
            (StopReason::Singularity, Some(time)) if (time - self.time).abs() <= slack => {
                Opinion::Singular
            }
            _ if (end - begin).abs() > (self.time - begin).abs() + slack => Opinion::Passed,
            _ => Opinion::None,
        }
    }

    /// Ends a run before the point, of which nothing is known.
    fn leave_open(&self, run: &mut Run) {
        run.singularities.truncate(self.place);
        let stop = StopReason::Rewriting {
            time: self.time,
            model_is_regular: self.model_is_regular,
        };
        run.end_at(self.time, stop);
    }
}
