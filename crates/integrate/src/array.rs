//! Series from the whole derivative array, for solutions on which the structure does not hold.
//!
//! Where a diagonal block of the system Jacobian is singular all along a solution, the stages cannot be solved, although
//! the equations and their derivatives together may well determine everything. Then the coefficients are found from all
//! rows of the array at once, and how many of them are determined is read off its kernel; section 10 of
//! `docs/theory/integration.md`. Full matrices: for small systems.

use crate::locate;
use crate::options::{Options, Output};
use crate::outcome::{BudgetKind, Evidence, Failure, Nature, Run, Singularity, StopReason};
use crate::start::StartError;
use crate::step;
use crate::tolerances::{DIP, MAX_HALVINGS, MAX_RESIDUAL, REJECT};
use crate::trajectory::{SavedPoint, Segment, Trajectory, shift};
use daelight_analysis::System;
use daelight_analysis::initial::{Column, Finder, Limits, Selection, TaylorJet};
use daelight_linalg::{ConditionRule, GapRule, Svd};
use daelight_stiff::Statistics;
use std::time::{Duration, Instant};

/// Most rows of an array.
const MAX_ROWS: usize = 400;

/// The shortest series that are worth a step.
const MIN_ORDER: usize = 4;

/// Derivatives of the equations beyond the order of the series: the highest index that is tried.
const MAX_EXTRA: usize = 6;

/// Derivatives of the equations that a point is projected onto.
const LOW: usize = 4;

/// Singular values below this part of the greatest are zero; those up to [`CLEAR`] leave the rank unclear, and so does a
/// step to the first zero that is less than that of [`GapRule`].
const ZERO: f64 = 1e-11;
const CLEAR: f64 = 1e-9;

/// Why a run does not begin where ranks are not decided.
const UNCLEAR: &str = "the singular values of the derivative array leave no gap at the start, so its ranks are unknown";

/// Components of kernel vectors below this are zero.
const DETERMINED: f64 = 1e-6;

/// Points of a step at which the least singular value is looked at.
const N_SAMPLES: usize = 8;

/// A least singular value that dips to this part of its surroundings vanishes.
const TOUCHING: f64 = 1e-5;

/// The part of an interval in which the last digits of a least value are looked for.
const LAST_DIGITS: f64 = 1e-7;

/// Newton steps of one projection.
const MAX_ROUNDS: usize = 30;

/// What the array says of a point.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Ranks {
    /// Degrees of freedom.
    n_free: usize,
    /// The highest order of coefficients that are determined by the values.
    order: usize,
}

/// Integrates from a consistent jet of the model's unknowns, which chooses the solution where there are several.
///
/// The trajectory is that of the unknowns of the model. Nothing but ranks is watched: a run ends where they change.
pub fn solve(
    system: &System,
    time: f64,
    jet: &TaylorJet,
    options: &Options,
) -> Result<Run, StartError> {
    let rtol = options.tolerances.rtol;
    if !(rtol > 0.0 && rtol < 1.0 && options.t_end.is_finite()) {
        return Err(StartError::Options);
    }
    let n = system.equations().n_unknowns();
    let wanted = options.order.unwrap_or(step::order(rtol));
    let room = (MAX_ROWS / n.max(1)).saturating_sub(1 + MAX_EXTRA);
    let order = wanted.min(room);
    if order < MIN_ORDER {
        return Err(StartError::Unsuitable(
            "the system is too large for the whole derivative array",
        ));
    }
    let mut run = ArrayRun::new(system, time, order, options);
    run.begin(jet).map_err(StartError::Unsuitable)?;
    let stop = loop {
        if let Some(stop) = run.advance() {
            break stop;
        }
        if let Some(watch) = &options.watch
            && let Some(stop) = watch.look(&mut run.trajectory)
        {
            break stop;
        }
    };
    if let (0, StopReason::IndexChange { after, .. }) = (run.statistics.steps, &stop) {
        return Err(StartError::Unsuitable(match after {
            Some(_) => {
                "the start is a singular point of the equations: beside it they have other ranks"
            }
            None => UNCLEAR,
        }));
    }
    Ok(run.finish(stop))
}

struct ArrayRun<'a> {
    finder: Finder<'static>,
    options: &'a Options,
    n: usize,
    /// The highest derivative of the equations in the array.
    depth: usize,
    /// The derivatives of the equations that a point is projected onto.
    low: usize,
    time: f64,
    direction: f64,
    jet: TaylorJet,
    ranks: Ranks,
    svd: Svd,
    trajectory: Trajectory,
    n_saved: usize,
    singularities: Vec<Singularity>,
    residuals: Vec<f64>,
    statistics: Statistics,
}

impl<'a> ArrayRun<'a> {
    fn new(system: &System, time: f64, order: usize, options: &'a Options) -> Self {
        let n = system.equations().n_unknowns();
        let depth = order + MAX_EXTRA;
        Self {
            finder: Finder::new(system, None, time, depth),
            options,
            n,
            depth,
            low: LOW.min(depth),
            time,
            direction: if options.t_end >= time { 1.0 } else { -1.0 },
            jet: TaylorJet::at_rest(&vec![0.0; n], depth + 2),
            ranks: Ranks {
                n_free: 0,
                order: 0,
            },
            svd: Svd::new(),
            trajectory: Trajectory::new(n, options.output == Output::Dense),
            n_saved: 0,
            singularities: Vec::new(),
            residuals: vec![0.0; LOW.min(depth) + 1],
            statistics: Statistics::default(),
        }
    }

    fn limits(&self) -> Limits {
        let deadline = self.options.deadline;
        Limits {
            steps: MAX_ROUNDS,
            deadline: deadline.unwrap_or_else(|| Instant::now() + Duration::from_secs(3600)),
        }
    }

    /// Rows up to a derivative, and the coefficients in them; those of order 0 only if they may move.
    fn selection(&self, depth: usize, values_move: bool) -> Selection {
        let mut selection = Selection::whole(self.n, self.n, depth);
        if !values_move {
            selection.columns.retain(|column| column.order > 0);
        }
        selection
    }

    fn begin(&mut self, start: &TaylorJet) -> Result<(), &'static str> {
        const SINGULAR: &str = "the start is a singular point of the equations: their derivatives do not determine how it goes on";
        let mut jet = start.clone();
        jet.resize(self.depth + 2);
        let low = self.selection(self.low, true);
        let limits = self.limits();
        let settled = self.finder.settle(&low, &mut jet, &limits);
        settled.map_err(|_| SINGULAR)?;
        self.expand(&mut jet).ok_or(SINGULAR)?;
        self.ranks = self.ranks_at(&jet).ok_or(UNCLEAR)?;
        if self.ranks.order < MIN_ORDER || self.keep_residuals(&jet).is_none() {
            return Err(SINGULAR);
        }
        self.jet = jet;
        Ok(())
    }

    /// All coefficients above the values, order by order.
    fn expand(&mut self, jet: &mut TaylorJet) -> Option<()> {
        self.statistics.jets += 1;
        let limits = self.limits();
        for depth in self.low..=self.depth {
            let selection = self.selection(depth, false);
            self.statistics.residuals += 1;
            self.statistics.factorizations += 1;
            self.finder.settle(&selection, jet, &limits).ok()?;
        }
        jet.is_finite().then_some(())
    }

    /// Singular values of the array by the coefficients above the values, and its rank; `None` if that is unclear.
    fn factor(&mut self, selection: &Selection, jet: &TaylorJet) -> Option<usize> {
        let (matrix, _) = self.finder.matrix(selection, jet)?;
        self.statistics.jacobians += 1;
        self.svd.factor(matrix.view()).ok()?;
        let rule = ConditionRule::new(ZERO).with_band(CLEAR, GapRule::LEAST_RATIO);
        self.svd.rank(&rule).decided()
    }

    /// Degrees of freedom, and how many coefficients the values determine, (16).
    fn ranks_at(&mut self, jet: &TaylorJet) -> Option<Ranks> {
        let (held, free) = (
            self.selection(self.depth, false),
            self.selection(self.depth, true),
        );
        let whole = self.factor(&free, jet)?;
        let rank = self.factor(&held, jet)?;
        let kernel = self.svd.kernel_basis(rank).ok()?;
        let open =
            |column: usize| (0..kernel.ncols()).any(|k| kernel.at(column, k).abs() > DETERMINED);
        let columns = held.columns.iter().enumerate();
        let first_open = columns
            .filter(|(at, _)| open(*at))
            .map(|(_, column): (usize, &Column)| column.order)
            .min();
        Some(Ranks {
            n_free: self.n.checked_sub(whole.checked_sub(rank)?)?,
            order: first_open.unwrap_or(self.depth + 2) - 1,
        })
    }

    fn keep_residuals(&mut self, jet: &TaylorJet) -> Option<()> {
        let rows = self.selection(self.low, true).rows;
        let found = self.finder.residuals(&rows, jet)?;
        for (at, (relative, _)) in found.into_iter().enumerate() {
            let kept = &mut self.residuals[at / self.n];
            *kept = kept.max(relative);
        }
        (self.residuals.iter().all(|r| *r <= MAX_RESIDUAL)).then_some(())
    }

    /// The coefficients that count, `[order][unknown]`.
    fn series(&self) -> Vec<f64> {
        let rows = (0..=self.ranks.order).filter_map(|order| self.jet.row(order));
        rows.flatten().copied().collect()
    }

    /// The step at which the last two determined terms are below the tolerance, (9).
    fn step(&self) -> f64 {
        let tolerances = &self.options.tolerances;
        let p = self.ranks.order;
        let mut h = f64::INFINITY;
        for j in 0..self.n {
            let weight = tolerances.rtol * self.jet.get(j, 0).abs() + tolerances.absolute(0, j);
            for m in [p, p - 1] {
                let x = self.jet.get(j, m).abs();
                if x > 0.0 {
                    h = h.min((weight / x).powf(1.0 / m as f64));
                }
            }
        }
        (-0.7 / p as f64).exp() * h
    }

    /// One step; the reason if the run ends.
    fn advance(&mut self) -> Option<StopReason> {
        let remaining = (self.options.t_end - self.time).abs();
        if remaining == 0.0 {
            self.close(self.time);
            return Some(StopReason::Finished);
        }
        if self.statistics.steps + self.statistics.rejected >= self.options.max_steps {
            return Some(StopReason::Budget(BudgetKind::Steps));
        }
        if Instant::now() > self.limits().deadline {
            return Some(StopReason::Budget(BudgetKind::Time));
        }
        let mut h = self.step().min(remaining);
        if let Some((time, uncertainty)) = self.vanishing(h) {
            return Some(self.end_at(time, uncertainty));
        }
        for _ in 0..MAX_HALVINGS {
            let target = if h >= remaining {
                self.options.t_end
            } else {
                self.time + self.direction * h
            };
            if target == self.time {
                break;
            }
            if let Some(jet) = self.attempt(target) {
                let ranks = self.ranks_at(&jet);
                if ranks != Some(self.ranks) {
                    return Some(StopReason::IndexChange {
                        time: target,
                        before: self.ranks.n_free,
                        after: ranks.map(|ranks| ranks.n_free),
                    });
                }
                if self.keep_residuals(&jet).is_some() {
                    self.close(target);
                    self.statistics.steps += 1;
                    self.time = target;
                    self.jet = jet;
                    return None;
                }
            }
            self.statistics.rejected += 1;
            h *= 0.5;
        }
        Some(StopReason::AccuracyLost {
            time: self.time,
            step: h,
            residual: self.residuals.iter().copied().fold(0.0, f64::max),
        })
    }

    /// The jet at the end of a step: predicted, projected and expanded; `None` if it does not fit.
    fn attempt(&mut self, target: f64) -> Option<TaylorJet> {
        let mut jet = self.predicted(target);
        let predicted = jet.values().to_vec();
        self.finder.set_time(target);
        let low = self.selection(self.low, true);
        let limits = self.limits();
        self.finder.settle(&low, &mut jet, &limits).ok()?;
        let tolerances = &self.options.tolerances;
        let mut moved = jet.values().iter().zip(&predicted).enumerate();
        let fits = |(j, (x, y)): (usize, (&f64, &f64))| {
            (x - y).abs() <= REJECT * (tolerances.rtol * y.abs() + tolerances.absolute(0, j))
        };
        moved.all(fits).then_some(())?;
        self.expand(&mut jet)?;
        Some(jet)
    }

    fn predicted(&self, target: f64) -> TaylorJet {
        let mut rows = vec![0.0; (self.depth + 2) * self.n];
        shift(&self.series(), self.n, target - self.time, &mut rows);
        let mut jet = TaylorJet::at_rest(&rows[..self.n], self.depth + 2);
        for (at, value) in rows.iter().enumerate() {
            jet.set(at % self.n, at / self.n, *value);
        }
        jet
    }

    /// A time within the next step at which the least singular value that counts vanishes.
    ///
    /// With it goes how far off it may be.
    fn vanishing(&mut self, h: f64) -> Option<(f64, f64)> {
        let selection = self.selection(self.low, false);
        let here = self.jet.clone();
        let rank = self.factor(&selection, &here)?;
        let (_, units) = self.finder.matrix(&selection, &here)?;
        // In the units of the step's beginning: those of a singular point would hide what vanishes.
        let least = |run: &mut Self, s: f64| {
            let time = run.time + run.direction * s;
            let jet = run.predicted(time);
            run.finder.set_time(time);
            let found = run
                .finder
                .matrix(&selection, &jet)
                .and_then(|(mut matrix, there)| {
                    for j in 0..matrix.ncols() {
                        for i in 0..matrix.nrows() {
                            let rows = units.rows[i] / there.rows[i];
                            matrix[(i, j)] *= rows * units.columns[j] / there.columns[j];
                        }
                    }
                    run.svd.factor_values(matrix.view()).ok()?;
                    run.svd.singular_values().get(rank.checked_sub(1)?).copied()
                });
            found.unwrap_or(f64::NAN)
        };
        let step = h / N_SAMPLES as f64;
        let samples: Vec<f64> = (0..=N_SAMPLES + 1)
            .map(|k| least(self, k as f64 * step))
            .collect();
        let mut found = None;
        for (k, window) in samples.windows(3).enumerate() {
            let around = window[0].min(window[2]);
            // A value that is less than its neighbours and falls towards zero between them like a line.
            if window[1] < around || window[1] < DIP * window[0].max(window[2]) {
                let (a, b) = (k as f64 * step, (k + 2) as f64 * step);
                let (s, low) = locate::least(a, b, |s| least(self, s));
                if low < TOUCHING * window[0].max(window[2]) && s > 0.0 && s <= h {
                    // It falls and rises like lines: what is left of the interval narrows further.
                    let aside = LAST_DIGITS * step;
                    let (s, _) = locate::least(s - aside, s + aside, |s| least(self, s));
                    found = Some(locate::refined(s, step, |s| least(self, s)));
                    break;
                }
            }
        }
        self.finder.set_time(self.time);
        found.map(|zero| (self.time + self.direction * zero.at, zero.uncertainty))
    }

    /// Ends the run at a singular point.
    fn end_at(&mut self, time: f64, uncertainty: f64) -> StopReason {
        self.close(time);
        self.singularities.push(Singularity {
            time,
            block: None,
            argument: None,
            equations: Vec::new(),
            unknowns: Vec::new(),
            offset: 0,
            nature: Nature::Unresolved,
            null_vector: Vec::new(),
            evidence: Evidence {
                distance: time - self.time,
                singular_ratio: f64::NAN,
                uncertainty,
                ..Evidence::default()
            },
        });
        StopReason::Singularity
    }

    /// Adds the piece of the present series up to `end`, and the points asked for in it.
    fn close(&mut self, end: f64) {
        let series = self.series();
        let segment = Segment {
            centre: self.time,
            start: self.time,
            end,
        };
        self.trajectory.push(segment, &series);
        let Output::Points(times) = &self.options.output else {
            return;
        };
        while let Some(&time) = times.get(self.n_saved) {
            if (end - time) * self.direction < 0.0 {
                break;
            }
            self.n_saved += 1;
            let mut coefficients = vec![0.0; 2 * self.n];
            shift(&series, self.n, time - self.time, &mut coefficients);
            self.trajectory
                .push_point(SavedPoint { time, coefficients });
        }
    }

    fn finish(mut self, stop: StopReason) -> Run {
        if self.trajectory.segments().is_empty() {
            self.close(self.time);
        }
        Run {
            trajectory: self.trajectory,
            stop,
            singularities: self.singularities,
            slides: Vec::new(),
            switches: Vec::new(),
            expected: None,
            residuals: self.residuals,
            statistics: self.statistics,
        }
    }
}

/// Whether a start failed because the system Jacobian is singular at it.
pub fn is_needed(error: &StartError) -> bool {
    matches!(
        error,
        StartError::StructureFails
            | StartError::NotFound(Failure::Linalg(_) | Failure::NoConvergence { .. })
    )
}
