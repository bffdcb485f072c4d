//! One leg of an implicit method on the completed equations, with states chosen at its start.

use super::{Course, Event, MAX_RESIDUAL, Method};
use crate::hermite::N_NODES;
use crate::outcome::{BudgetKind, Failure};
use crate::start::StartError;
use crate::states;
use crate::trajectory::shift;
use daelight_analysis::{Completed, FirstOrder};
use daelight_stiff as stiff;
use std::cell::RefCell;

/// A piece may be off by this many tolerances in the middle of a step.
const BETWEEN: f64 = 10.0;

/// The part of what is left of a run at which sides are looked at, ahead of a switch just made.
const SHORTLY: f64 = 1e-8;

/// Pieces shorter than this part of what is left of the run are not looked at.
const SHORTEST_PIECE: f64 = 1e-7;

/// Steps of limited length after which a longer one is tried.
const PATIENCE: usize = 20;

/// Absolute tolerances are never coarser than this part of the nominal values. Stiff kinetics are unstable for negative
/// amounts: Robertson's reactions run away with 1e-6 and a tolerance of 1e-4.
const COARSEST: f64 = 3e-8;

/// Steps are never asked for more digits than these.
const FINEST: f64 = 1e-14;

/// Highest derivatives of differential unknowns are not carried on: this many times their tolerance serves.
const RELAXED: f64 = 1e3;

impl Course<'_> {
    /// One leg of the implicit method, with the states that suit the present point.
    pub(super) fn leg(&mut self, completed: &Completed) -> Result<Event, StartError> {
        let tolerances = &self.options.tolerances;
        let n = self.problem.n();
        shift(&self.series, n, 0.0, &mut self.point);
        self.stages.set_point(self.time, &self.point);
        if let Err(failure) = self.stages.factor() {
            return Ok(Event::Failed(Some(failure)));
        }
        let entries = self.stages.entries();
        let selection = match states::select(self.problem, tolerances, &entries) {
            Ok(Some(selection)) => selection,
            Ok(None) => {
                return Err(StartError::Unsuitable(
                    "too many equations depend on each other for a choice of states; use taylor",
                ));
            }
            Err(error) => return Ok(Event::Failed(Some(error.into()))),
        };
        let first_order = completed.with_states(&selection.states);
        let equations = first_order.equations();
        self.selection = Some(selection);
        self.n_unchecked = 0;
        let (x, xp, atol) = self.first_values(&first_order);
        let indices = vec![1; equations.n_unknowns()];
        let mut problem =
            stiff::Problem::with_indices(equations, self.problem.parameters(), &indices)
                .map_err(|_| StartError::Options)?;
        if self.branches.is_some() {
            // Sides are those shortly ahead, and held: a stage beyond a switch would spoil the step.
            let span = (self.options.t_end - self.time).abs();
            let aside =
                self.direction * (SHORTLY * span).max(64.0 * f64::EPSILON * self.time.abs());
            let there: Vec<f64> = x.iter().zip(&xp).map(|(x, xp)| x + aside * xp).collect();
            problem.hold_sides(self.time + aside, &there, &xp);
        }
        let mut options = self.leg_options(atol);
        if let Some(most) = self.longest_forced() {
            let first = options.h0.unwrap_or(f64::INFINITY).min(most);
            let natural = 1e-3 * (self.options.t_end - self.time).abs();
            // Without a wish the method finds its own first step, which is shorter than that.
            options.h0 = (options.h0.is_some() || most < natural).then_some(first);
        }
        self.event = None;
        let t = self.time;
        let end = self.options.t_end;
        let method = self.method;
        let course = RefCell::new(&mut *self);
        let mut projection = |t: f64, x: &mut [f64], xp: &mut [f64]| {
            course.borrow_mut().project(&first_order, t, x, xp)
        };
        let mut observer = |step: &stiff::Step<'_>| {
            let course = &mut *course.borrow_mut();
            course.event = course.observe(&first_order, step);
            if course.event.is_some() {
                return stiff::Control::Stop;
            }
            match course.longest_forced() {
                Some(most) => stiff::Control::Within(most),
                None => stiff::Control::Continue,
            }
        };
        let mut hooks = stiff::Hooks {
            projection: Some(&mut projection),
            observer: Some(&mut observer),
        };
        let start = stiff::Start { t, x: &x, xp: &xp };
        let run = match method {
            Method::Bdf => stiff::bdf(&mut problem, start, end, &options, &mut hooks),
            _ => stiff::radau(&mut problem, start, end, &options, &mut hooks),
        };
        let run = run.map_err(|_| StartError::Options)?;
        self.work.rejected += run.statistics.rejected + run.statistics.newton_failures;
        self.work.residuals += run.statistics.residuals;
        self.work.jacobians += run.statistics.jacobians;
        self.work.factorizations += run.statistics.factorizations;
        if let Some(event) = self.event.take() {
            return Ok(event);
        }
        Ok(event_of(run.reason))
    }

    /// Values, derivatives and absolute tolerances of the unknowns of a leg, from the present series.
    fn first_values(&self, first_order: &FirstOrder) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
        let n = self.problem.n();
        let size = first_order.equations().n_unknowns();
        let [mut x, mut xp, mut atol] = [(); 3].map(|()| vec![0.0; size]);
        let tolerances = &self.options.tolerances;
        let inner = self.method.inner();
        for j in 0..n {
            let d = self.problem.unknown_offset(j);
            let mut factorial = 1.0;
            for s in 0..=d {
                let value = factorial * self.series[s * n + j];
                factorial *= (s + 1) as f64;
                let Some(place) = first_order.place(j, s) else {
                    continue;
                };
                x[place] = value;
                xp[place] = factorial * self.series[(s + 1) * n + j];
                let nominal = tolerances.absolute(s, j) / tolerances.rtol;
                atol[place] = (inner * tolerances.rtol).min(COARSEST) * nominal;
                if s == d && d > 0 {
                    atol[place] = RELAXED * atol[place] + inner * tolerances.rtol * x[place].abs();
                }
            }
        }
        (x, xp, atol)
    }

    /// What is left of the budgets, for a leg.
    fn leg_options(&self, atol: Vec<f64>) -> stiff::Options {
        let spent = self.work.steps + self.work.rejected;
        stiff::Options {
            rtol: (self.method.inner() * self.options.tolerances.rtol).max(FINEST),
            atol,
            h0: self.step,
            hmax: self.longest_piece,
            max_steps: self.options.max_steps.saturating_sub(spent).max(1),
            budget: self
                .options
                .time_budget
                .map(|budget| budget.saturating_sub(self.began.elapsed())),
            ..stiff::Options::default()
        }
    }

    /// Brings a point of the completed equations onto all constraints.
    pub(super) fn project(
        &mut self,
        first_order: &FirstOrder,
        t: f64,
        x: &mut [f64],
        xp: &mut [f64],
    ) -> Result<(), String> {
        let n = self.problem.n();
        self.point.fill(0.0);
        for j in 0..n {
            let mut factorial = 1.0;
            let mut rate = 0.0;
            for s in 0..=self.problem.unknown_offset(j) {
                let value = match first_order.place(j, s) {
                    Some(place) => {
                        rate = xp[place];
                        x[place]
                    }
                    None => rate,
                };
                self.point[s * n + j] = value / factorial;
                factorial *= (s + 1) as f64;
            }
        }
        self.stages.set_point(t, &self.point);
        let projected = self
            .stages
            .factor()
            .and_then(|()| self.stages.project(false))
            .map_err(|failure| failure.to_string())?;
        if projected.residual > MAX_RESIDUAL {
            return Err(format!("residual {:.1e}", projected.residual));
        }
        self.stages.point(&mut self.point);
        for j in 0..n {
            let mut factorial = 1.0;
            let mut before = None;
            for s in 0..=self.problem.unknown_offset(j) {
                let value = factorial * self.point[s * n + j];
                if let Some(place) = before {
                    xp[place] = value;
                }
                before = first_order.place(j, s);
                if let Some(place) = before {
                    x[place] = value;
                }
                factorial *= (s + 1) as f64;
            }
        }
        Ok(())
    }

    /// Makes a piece of an accepted step and looks at it.
    fn observe(&mut self, first_order: &FirstOrder, step: &stiff::Step<'_>) -> Option<Event> {
        if let Err(failure) = self.stages.expand(&mut self.next) {
            return Some(Event::Failed(Some(failure)));
        }
        let n = self.problem.n();
        let h = step.t - self.time;
        self.pieces
            .between(&self.series, &self.next, h, &mut self.piece);
        // The method's own polynomial tells whether the derivatives at the ends mean anything.
        let rtol = self.options.tolerances.rtol;
        let slack = match self.method {
            Method::Radau => rtol.powf(2.0 / 3.0),
            _ => 10.0 * rtol,
        };
        let mut nodes = vec![0.0; N_NODES * n];
        let mut own = vec![0.0; first_order.equations().n_unknowns()];
        let (mut agrees, mut is_close) = (true, true);
        for (k, row) in nodes.chunks_exact_mut(n.max(1)).enumerate() {
            let s = k as f64 / (N_NODES - 1) as f64;
            step.interpolant.value(self.time + s * h, &mut own);
            for (j, place) in row.iter_mut().enumerate() {
                *place = match k {
                    0 => self.series[j],
                    _ if k == N_NODES - 1 => self.next[j],
                    // x_j itself is always an unknown.
                    _ => first_order.place(j, 0).map_or(f64::NAN, |place| own[place]),
                };
            }
            if k == 0 || k == N_NODES - 1 {
                continue;
            }
            shift(&self.piece, n, s * h, &mut self.point);
            let tolerances = &self.options.tolerances;
            let differs_by = |part: f64| {
                (0..n).all(|j| {
                    let size = row[j].abs() + tolerances.absolute(0, j) / rtol;
                    (self.point[j] - row[j]).abs() <= part * size
                })
            };
            agrees &= differs_by(slack);
            is_close &= differs_by(BETWEEN * rtol);
        }
        if !agrees {
            self.pieces
                .stiff(&self.series, &self.next, &nodes, h, &mut self.piece);
        }
        if !self.piece.iter().all(|x| x.is_finite()) {
            return Some(Event::Failed(None));
        }
        // The error test looks at the ends of a step: where the motion is simple there, nothing bounds what is in between.
        let is_long = h.abs() > SHORTEST_PIECE * (self.options.t_end - self.time).abs();
        if self.method == Method::Radau && !is_close && is_long {
            match self.holds_between(first_order, step) {
                Ok(true) => {}
                Ok(false) => {
                    self.longest_piece = Some(0.5 * h.abs());
                    self.step = self.longest_piece;
                    self.longest = 0.0;
                    self.n_pieces = 0;
                    self.work.rejected += 1;
                    return Some(Event::Reselect);
                }
                Err(failure) => return Some(Event::Failed(Some(failure))),
            }
        }
        let event = self.accept(step.t);
        if event.is_some() {
            return event;
        }
        let longest = self.longest_piece?;
        self.n_pieces += 1;
        if self.n_pieces < PATIENCE {
            return None;
        }
        self.longest_piece = Some(2.0 * longest);
        self.n_pieces = 0;
        Some(Event::Reselect)
    }

    /// Whether the piece is right in the middle, where the method's own polynomial is brought onto the constraints. The stages
    /// hold the end of the step again afterwards.
    fn holds_between(
        &mut self,
        first_order: &FirstOrder,
        step: &stiff::Step<'_>,
    ) -> Result<bool, Failure> {
        let n = self.problem.n();
        let h = step.t - self.time;
        let middle = self.time + 0.5 * h;
        let size = first_order.equations().n_unknowns();
        let [mut x, mut before, mut rates] = [(); 3].map(|()| vec![0.0; size]);
        let aside = 1e-3 * h;
        step.interpolant.value(middle - aside, &mut before);
        step.interpolant.value(middle + aside, &mut rates);
        for (rate, before) in rates.iter_mut().zip(&before) {
            *rate = (*rate - before) / (2.0 * aside);
        }
        step.interpolant.value(middle, &mut x);
        // A middle that cannot be projected is no middle of a good piece.
        let is_projected = self
            .project(first_order, middle, &mut x, &mut rates)
            .is_ok();
        let wanted = self.point.clone();
        shift(&self.piece, n, 0.5 * h, &mut self.point);
        let tolerances = &self.options.tolerances;
        let holds = is_projected
            && (0..n).all(|j| {
                let size = tolerances.rtol * wanted[j].abs() + tolerances.absolute(0, j);
                (self.point[j] - wanted[j]).abs() <= BETWEEN * size
            });
        shift(&self.next, n, 0.0, &mut self.point);
        self.stages.set_point(step.t, &self.point);
        self.stages.factor()?;
        self.stages.project(false)?;
        Ok(holds)
    }
}

/// Why a method ended that nobody stopped.
fn event_of(reason: stiff::StopReason) -> Event {
    match reason {
        stiff::StopReason::Finished => Event::End,
        stiff::StopReason::TooManySteps { .. } => Event::Budget(BudgetKind::Steps),
        stiff::StopReason::Budget { .. } => Event::Budget(BudgetKind::Time),
        // Its place is one in the completed equations, which nobody wrote.
        stiff::StopReason::Fault { fault, .. } => {
            Event::Failed(Some(Failure::Undefined(fault.kind)))
        }
        _ => Event::Failed(None),
    }
}
