//! The runs of a pack: who is in it, how far each goes, who leaves and who comes in.

use super::known::Known;
use super::pack::Pack;
use super::plan::{self, History};
use super::program::{Program, Room};
use super::solve::Solver;
use super::{LaneDone, LaneEnd, LaneFeed, LaneReached, LaneSettings, LaneStart};
use crate::arguments::Argument;
use crate::implicit::choice::Pace;
use crate::monitor::AHEAD;
use crate::monitor::ahead::{N_SAMPLES, PHASE, TREND};
use crate::options::Options;
use crate::outcome::RatioFit;
use crate::problem::Problem;
use crate::step::StepRule;
use crate::taylor::ordinary::ROUNDED_SLOPE;
use crate::taylor::tail::Tail;
use crate::taylor::{NEAR_END, STREAK, n_stages};
use crate::tolerances::{MAX_RESIDUAL, REJECT, TRANSMITTED, UNEVEN};
use crate::trajectory::{Segment, Trajectory};
use crate::watch::features::{ConfirmedBy, Features};
use crate::watch::forcing::At;
use pulp::Simd;

/// Watched arguments of several runs.
struct Arguments<'p, const W: usize> {
    watched: &'p [Argument],
    program: Program,
    room: Room<W>,
    roots: Vec<f64>,
}

impl<'p, const W: usize> Arguments<'p, W> {
    /// `None` where runs side by side do not evaluate them; `Some(None)` without any.
    fn new(problem: &'p Problem) -> Option<Option<Self>> {
        let watched = problem.arguments();
        if watched.is_empty() {
            return Some(None);
        }
        let program = Program::new(problem.argument_tape(), 0)?;
        Some(Some(Self {
            watched,
            roots: vec![0.0; program.n_roots()],
            room: program.room(),
            program,
        }))
    }
}

/// Arguments of sines and cosines in the blocks of several runs.
struct Phases<const W: usize> {
    program: Program,
    room: Room<W>,
    /// The arguments here, in the middle and at the end of a window.
    values: [Vec<Pack<W>>; 3],
}

impl<const W: usize> Phases<W> {
    /// `None` without any, or where runs side by side do not evaluate them.
    fn new(problem: &Problem) -> Option<Option<Self>> {
        let tape = problem.phase_tape();
        if tape.n_roots() == 0 {
            return Some(None);
        }
        let program = Program::new(tape, 0)?;
        let n_roots = program.n_roots();
        Some(Some(Self {
            room: program.room(),
            values: [0; 3].map(|_| vec![Pack::ZERO; n_roots]),
            program,
        }))
    }

    /// Keeps the arguments at points.
    #[inline(always)]
    fn keep(&mut self, place: usize, time: &Pack<W>, point: &[Pack<W>]) {
        self.program.evaluate(&mut self.room, time, point);
        for (root, into) in self.values[place].iter_mut().enumerate() {
            *into = *self.program.root(&self.room, root);
        }
    }

    /// The most that an argument of a run changes by over the window.
    fn change(&self, lane: usize) -> f64 {
        let [here, middle, there] = &self.values;
        let changes = (0..here.len()).map(|k| {
            let [a, b, c] = [here, middle, there].map(|values| values[k][lane]);
            (b - a).abs() + (c - b).abs()
        });
        changes.fold(0.0, f64::max)
    }
}

/// One run of the pack.
struct Lane {
    number: usize,
    parameters: Vec<f64>,
    /// Whether its first point is still to be expanded.
    is_fresh: bool,
    is_busy: bool,
    /// What it met that is for a single run to tell.
    leaves: Option<&'static str>,
    tail: Tail,
    pace: Pace,
    n_steps: usize,
    n_samples: usize,
    /// Whether the last values of its quantities tell what follows.
    has_trend: bool,
    trajectory: Trajectory,
}

impl Lane {
    fn is_under_way(&self) -> bool {
        self.is_busy && self.leaves.is_none()
    }

    fn leave_if(&mut self, holds: bool, why: &'static str) {
        if holds {
            self.leaves.get_or_insert(why);
        }
    }
}

/// A pack of runs.
pub(super) struct Drive<'p, const W: usize> {
    options: &'p Options,
    is_dense: bool,
    rule: StepRule,
    solver: Solver<W>,
    arguments: Option<Arguments<'p, W>>,
    phases: Option<Phases<W>>,
    features: Option<Features<'p>>,
    /// What asks the same of all runs at once; those that it does not know are asked alone.
    known: Option<Known<W>>,
    /// Whether stability may bound the steps at all.
    has_states: bool,
    lanes: Vec<Lane>,
    arch: pulp::Arch,
    time: Pack<W>,
    end: Pack<W>,
    direction: Pack<W>,
    /// The next steps, and where they end.
    h: Pack<W>,
    target: Pack<W>,
    series: Vec<Pack<W>>,
    next: Vec<Pack<W>>,
    /// The predicted points.
    point: Vec<Pack<W>>,
    /// Starts of fresh runs.
    starts: Vec<Pack<W>>,
    /// Determinants of the blocks that can change, then the watched arguments.
    quantities: Vec<usize>,
    n_blocks: usize,
    times: [Pack<W>; 3],
    histories: Vec<History<W>>,
    /// Orders that the system Jacobian and the arguments read.
    n_read: usize,
    room: Vec<Pack<W>>,
    ahead: Vec<Pack<W>>,
    entries: Vec<Pack<W>>,
    values: Vec<Pack<W>>,
    samples: Vec<Pack<W>>,
    one: Vec<f64>,
    fits: Vec<RatioFit>,
}

/// Plans and does one step of all runs, in the best instructions that the processor has.
struct Step<'a, 'p, const W: usize>(&'a mut Drive<'p, W>);

impl<const W: usize> pulp::WithSimd for Step<'_, '_, W> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        self.0.plan(simd);
        self.0.step(simd);
    }
}

impl<'p, const W: usize> Drive<'p, W> {
    /// `None` for equations that runs side by side do not do.
    pub fn new(problem: &'p Problem, options: &'p Options, settings: LaneSettings) -> Option<Self> {
        let n_stages = n_stages(problem, options);
        let solver = Solver::<W>::new(problem, n_stages, options)?;
        let watched = problem.arguments();
        let arguments = Arguments::new(problem)?;
        let phases = Phases::new(problem)?;
        let n = problem.n();
        let n_blocks = problem.structure().blocks().len();
        let tape = problem.jacobian_tape();
        let single = problem.solver().ok()?;
        let varies = |&block: &usize| single.has_entry(block, |entry| tape.is_moving(entry));
        let n_quantities = n_blocks + watched.len();
        let slots = [
            tape.max_slot_order(),
            problem.argument_tape().max_slot_order(),
            problem.phase_tape().max_slot_order(),
        ];
        let n_read = slots.into_iter().max().unwrap_or(0) + 1;
        let n_point = problem.max_unknown_offset() + 1;
        let lane = || Lane {
            number: 0,
            parameters: Vec::new(),
            is_fresh: false,
            is_busy: false,
            leaves: None,
            tail: Tail::default(),
            pace: Pace::default(),
            n_steps: 0,
            n_samples: 0,
            has_trend: true,
            trajectory: Trajectory::new(n, settings.is_dense),
        };
        let features = Features::new(problem, ConfirmedBy::Defect);
        let known = (features.as_ref()).and_then(|features| Known::new(problem, features.nodes()));
        Some(Self {
            rule: StepRule::new(problem, n_stages, &options.tolerances),
            features,
            known,
            has_states: problem.structure().n_degrees_of_freedom() > 0,
            lanes: (0..W).map(|_| lane()).collect(),
            arch: pulp::Arch::new(),
            time: Pack::ZERO,
            end: Pack::ZERO,
            direction: Pack::all(1.0),
            h: Pack::ZERO,
            target: Pack::ZERO,
            series: vec![Pack::ZERO; solver.n_rows * n],
            next: vec![Pack::ZERO; solver.n_rows * n],
            point: vec![Pack::ZERO; n_point * n],
            starts: vec![Pack::ZERO; n_point * n],
            quantities: (0..n_blocks)
                .filter(varies)
                .chain(n_blocks..n_quantities)
                .collect(),
            n_blocks,
            times: [Pack::ZERO; 3],
            histories: vec![History::new(); n_quantities],
            n_read,
            room: Vec::new(),
            ahead: vec![Pack::ZERO; n_read.max(n_point) * n],
            entries: vec![Pack::ZERO; problem.structure().n_jacobian_entries()],
            values: vec![Pack::ZERO; n_quantities],
            samples: vec![Pack::ZERO; N_SAMPLES * n_quantities],
            one: vec![0.0; solver.n_rows * n],
            fits: Vec::new(),
            options,
            is_dense: settings.is_dense,
            solver,
            arguments,
            phases,
        })
    }

    /// Does all runs that are handed out.
    pub fn run(&mut self, feed: &mut LaneFeed<'_>, done: &mut LaneDone<'_>) {
        for lane in 0..W {
            if !self.take_in(lane, feed) {
                if lane == 0 {
                    return;
                }
                // Numbers that make sense, which nobody looks at.
                self.repeat(lane);
            }
        }
        while self.lanes.iter().any(|lane| lane.is_busy) {
            self.arch.dispatch(Step(self));
            for lane in 0..W {
                if self.lanes[lane].is_busy
                    && let Some(ended) = self.ended(lane)
                {
                    self.lanes[lane].is_busy = false;
                    if !done(ended) {
                        return;
                    }
                    self.take_in(lane, feed);
                }
            }
        }
    }

    /// Takes the next run in; false if there is none.
    fn take_in(&mut self, lane: usize, feed: &mut LaneFeed<'_>) -> bool {
        let Some(start) = feed() else {
            return false;
        };
        self.begin(lane, start);
        true
    }

    fn begin(&mut self, lane: usize, start: LaneStart) {
        self.solver.set_parameters(lane, &start.parameters);
        if let Some(arguments) = &mut self.arguments {
            let room = &mut arguments.room;
            arguments
                .program
                .set_parameters(room, lane, &start.parameters);
        }
        if let Some(Phases { program, room, .. }) = &mut self.phases {
            program.set_parameters(room, lane, &start.parameters);
        }
        if let Some(known) = &mut self.known {
            known.set_parameters(lane, &start.parameters);
        }
        for (into, x) in self.starts.iter_mut().zip(&start.point) {
            into[lane] = *x;
        }
        self.time[lane] = start.time;
        self.end[lane] = start.end;
        self.direction[lane] = if start.end >= start.time { 1.0 } else { -1.0 };
        let held = &mut self.lanes[lane];
        let trajectory = Trajectory::new(self.solver.n, self.is_dense);
        *held = Lane {
            number: start.number,
            parameters: start.parameters,
            is_fresh: true,
            is_busy: true,
            leaves: None,
            tail: Tail::default(),
            pace: Pace::default(),
            n_steps: 0,
            n_samples: 0,
            has_trend: true,
            trajectory,
        };
    }

    /// Lets an idle place begin the first run too, unseen.
    fn repeat(&mut self, lane: usize) {
        let first = &self.lanes[0];
        let copy = LaneStart {
            number: first.number,
            time: self.time[0],
            end: self.end[0],
            point: self.starts.iter().map(|x| x[0]).collect(),
            parameters: first.parameters.clone(),
        };
        self.begin(lane, copy);
        self.lanes[lane].is_busy = false;
    }

    /// A run that has left or come to its end.
    fn ended(&mut self, lane: usize) -> Option<LaneEnd> {
        let held = &mut self.lanes[lane];
        let is_there = !held.is_fresh && self.time[lane] == self.end[lane];
        if held.leaves.is_none() && !is_there {
            return None;
        }
        let reached = match held.leaves {
            Some(why) => Err(why),
            None => Ok({
                for (into, x) in self.one.iter_mut().zip(&self.series) {
                    *into = x[lane];
                }
                // A piece of no length, so that the last point is the projected one.
                let time = self.time[lane];
                let piece = Segment {
                    centre: time,
                    start: time,
                    end: time,
                };
                held.trajectory.push(piece, &self.one);
                let fresh = Trajectory::new(self.solver.n, self.is_dense);
                LaneReached {
                    trajectory: std::mem::replace(&mut held.trajectory, fresh),
                    n_steps: held.n_steps,
                }
            }),
        };
        Some(LaneEnd {
            number: held.number,
            parameters: std::mem::take(&mut held.parameters),
            reached,
        })
    }

    /// The series of one run.
    fn gather(&mut self, lane: usize) {
        for (into, x) in self.one.iter_mut().zip(&self.series) {
            *into = x[lane];
        }
    }

    /// Which runs are under way, behind their first point.
    #[inline(always)]
    fn planned(&self) -> [bool; W] {
        let mut planned = [false; W];
        for (lane, held) in self.lanes.iter().enumerate() {
            planned[lane] = held.is_under_way() && !held.is_fresh;
        }
        planned
    }

    /// Finds how far each run goes; those that meet something leave.
    #[inline(always)]
    fn plan<S: Simd>(&mut self, simd: S) {
        let planned = self.planned();
        let mut sizes = plan::sizes(&self.rule, &self.series, &mut self.room);
        let seen = plan::tails(&self.rule, &self.series, &self.direction);
        let remaining = (self.end - self.time).abs();
        for lane in (0..W).filter(|&lane| planned[lane]) {
            if sizes.gap[lane] {
                self.gather(lane);
                let size = self.rule.step(&self.one);
                (sizes.step[lane], sizes.reach[lane]) = (size.step, size.reach);
            }
            if seen[lane] {
                self.follow_tail(lane);
            } else {
                self.lanes[lane].tail.streak = 0;
            }
        }
        let mut window: Pack<W> = Pack::ZERO;
        let mut h: Pack<W> = Pack::ZERO;
        for lane in 0..W {
            let far = (AHEAD * sizes.reach[lane]).min(remaining[lane]);
            window[lane] = self.direction[lane] * far;
            h[lane] = sizes.step[lane].min(remaining[lane]);
            let tail = &self.lanes[lane].tail;
            if tail.streak >= STREAK {
                h[lane] = h[lane].min(0.5 * tail.distance.abs());
            }
        }
        self.watch_phases(&planned, &window);
        self.look_ahead(simd, &planned, &window);
        let known = self.known(&h);
        for lane in 0..W {
            if planned[lane] {
                self.h[lane] = h[lane];
                if self.lanes[lane].leaves.is_none() && !known[lane] {
                    self.h[lane] = self.featureless(lane, h[lane]);
                }
            }
        }
    }

    /// On which steps of lengths h no operation on unknowns does what the series do not know, (R7).
    #[inline(always)]
    fn known(&mut self, h: &Pack<W>) -> [bool; W] {
        match &mut self.known {
            Some(known) => {
                let at = (&self.time, &self.direction);
                known.of_steps(&self.solver, &self.series, at, h)
            }
            None => [self.features.is_none(); W],
        }
    }

    /// Watches a singularity that the coefficients of one run may point at.
    #[inline(never)]
    fn follow_tail(&mut self, lane: usize) {
        self.gather(lane);
        self.rule
            .fits(&self.one, self.direction[lane], &mut self.fits);
        let held = &mut self.lanes[lane];
        held.tail.follow(self.time[lane], &self.fits);
        let left = (self.end[lane] - self.time[lane]).abs();
        let near = NEAR_END * self.time[lane].abs().max(NEAR_END * left);
        held.leave_if(
            held.tail.streak >= STREAK && held.tail.distance.abs() <= near,
            "a singular point of the series",
        );
    }

    /// The step, up to h, on which no operation on unknowns does what the series of one run does not know, (R8).
    #[inline(never)]
    fn featureless(&mut self, lane: usize, h: f64) -> f64 {
        self.gather(lane);
        let Some(features) = &mut self.features else {
            return h;
        };
        features.set_parameters(&self.lanes[lane].parameters);
        let at = At {
            time: self.time[lane],
            direction: self.direction[lane],
            series: &self.one,
            sides: &[],
            solver: self.solver.factors.single(lane),
        };
        features.limit(at, &self.options.tolerances, h)
    }

    /// Runs whose blocks turn faster than the samples follow, (R29), leave.
    #[inline(always)]
    fn watch_phases(&mut self, planned: &[bool; W], window: &Pack<W>) {
        let Some(phases) = &mut self.phases else {
            return;
        };
        for (place, part) in [0.0, 0.5, 1.0].into_iter().enumerate() {
            let s = *window * part;
            self.solver
                .shift(&self.series, &s, self.n_read, &mut self.ahead);
            phases.keep(place, &(self.time + s), &self.ahead);
        }
        for lane in (0..W).filter(|&lane| planned[lane]) {
            let turns = phases.change(lane) / PHASE;
            let is_fast = turns > N_SAMPLES as f64;
            self.lanes[lane].leave_if(is_fast, "sines and cosines that turn fast");
            self.lanes[lane].has_trend = turns <= TREND;
        }
    }

    /// Looks for zeros ahead where the last values of a quantity say that there may be one.
    #[inline(always)]
    fn look_ahead<S: Simd>(&mut self, simd: S, planned: &[bool; W], window: &Pack<W>) {
        let mut suspects = [false; W];
        for &quantity in &self.quantities {
            let may = self.histories[quantity].may_vanish(&self.times, window);
            for lane in 0..W {
                let unknown = self.lanes[lane].n_samples < 3 || !self.lanes[lane].has_trend;
                suspects[lane] |= planned[lane] && (may[lane] || unknown);
            }
        }
        if !suspects.iter().any(|suspect| *suspect) {
            return;
        }
        let n_quantities = self.values.len();
        for k in 1..=N_SAMPLES {
            let s = *window * (k as f64 / N_SAMPLES as f64);
            let mut ahead = std::mem::take(&mut self.ahead);
            self.solver.shift(&self.series, &s, self.n_read, &mut ahead);
            let time = self.time + s;
            self.quantities_at(simd, &time, &ahead);
            self.ahead = ahead;
            self.samples[(k - 1) * n_quantities..][..n_quantities].copy_from_slice(&self.values);
        }
        for lane in (0..W).filter(|&lane| suspects[lane]) {
            let is_clear = self.quantities.iter().all(|&quantity| {
                let here = self.histories[quantity].values[2][lane];
                let sample = |k: usize| self.samples[k * n_quantities + quantity][lane] / here;
                plan::is_clear(&std::array::from_fn(sample), window[lane])
            });
            self.lanes[lane].leave_if(!is_clear, "a zero ahead, or a dip towards it");
        }
    }

    /// All quantities at points that are not factored.
    #[inline(always)]
    fn quantities_at<S: Simd>(&mut self, simd: S, time: &Pack<W>, point: &[Pack<W>]) {
        self.solver.entries_at(time, point, &mut self.entries);
        self.solver
            .factors
            .determinants_of(simd, &self.entries, &mut self.values[..self.n_blocks]);
        self.arguments_at(time, point);
    }

    /// The watched arguments at points.
    #[inline(always)]
    fn arguments_at(&mut self, time: &Pack<W>, point: &[Pack<W>]) {
        let Some(arguments) = &mut self.arguments else {
            return;
        };
        arguments.program.evaluate(&mut arguments.room, time, point);
        for lane in 0..W {
            for (root, into) in arguments.roots.iter_mut().enumerate() {
                *into = arguments.program.root(&arguments.room, root)[lane];
            }
            let quantities = arguments
                .watched
                .iter()
                .map(|a| a.quantity(&arguments.roots));
            for (into, value) in self.values[self.n_blocks..].iter_mut().zip(quantities) {
                into[lane] = value;
            }
        }
    }

    /// One attempt at a step of all runs: predict, project, expand.
    #[inline(always)]
    fn step<S: Simd>(&mut self, simd: S) {
        let n_point = self.point.len();
        for lane in 0..W {
            let held = &self.lanes[lane];
            let remaining = (self.end[lane] - self.time[lane]).abs();
            self.target[lane] = if held.is_fresh || !held.is_busy {
                self.time[lane]
            } else if self.h[lane] >= remaining {
                self.end[lane]
            } else {
                self.time[lane] + self.direction[lane] * self.h[lane]
            };
        }
        let s = self.target - self.time;
        let n_orders = self.solver.max_d + 1;
        self.solver
            .shift(&self.series, &s, n_orders, &mut self.point);
        self.put_fresh();
        let time = self.target;
        let point = std::mem::take(&mut self.point);
        self.arguments_at(&time, &point);
        self.solver.factor(simd, &time, &point, &[true; W]);
        let determinants = &self.solver.factors.determinants;
        self.values[..self.n_blocks].copy_from_slice(determinants);
        self.point = point;
        let surprised = self.changed();
        self.next[..n_point].copy_from_slice(&self.point);
        let found = self.solver.project(&time, &mut self.next);
        let rtol = self.options.tolerances.rtol;
        let (mut stale, mut is_any) = ([false; W], false);
        let changes = &found.state_change;
        for lane in 0..W {
            let is_off = found.contraction[lane] > TRANSMITTED * rtol;
            stale[lane] = changes[lane] > rtol || is_off;
            is_any |= stale[lane];
        }
        if is_any {
            self.solver.factor(simd, &time, &self.next, &stale);
        }
        self.solver.expand(simd, &time, &mut self.next);
        let ends_agree = self.ends_agree(&s);
        let finite = self.finite();
        let mut good = [false; W];
        for lane in 0..W {
            let held = &mut self.lanes[lane];
            let fits = !found.failed[lane]
                && found.state_change[lane] <= REJECT * rtol
                && found.residual[lane] <= MAX_RESIDUAL
                && found.algebraic_change[lane] <= TRANSMITTED * rtol;
            good[lane] = fits && finite[lane] && (ends_agree[lane] || held.is_fresh);
            let is_on = !held.is_fresh;
            held.leave_if(is_on && surprised[lane], "a quantity that changes its sign");
            // Whether it is refused for rounding alone, or for good, is for a single run to say.
            held.leave_if(held.is_busy && !good[lane], "a step that is refused");
            let is_stuck = self.target[lane] == self.time[lane];
            held.leave_if(is_on && is_stuck, "a step of no length");
            good[lane] &= held.is_under_way();
        }
        self.accept(&good);
    }

    /// Puts the starts of fresh runs in the places of predicted points.
    #[inline(always)]
    fn put_fresh(&mut self) {
        for lane in 0..W {
            if self.lanes[lane].is_fresh {
                for (into, start) in self.point.iter_mut().zip(&self.starts) {
                    into[lane] = start[lane];
                }
            }
        }
    }

    /// Which runs have a quantity whose sign at the predicted point differs from the last one, or that has no value.
    #[inline(always)]
    fn changed(&self) -> [bool; W] {
        let mut changed = [false; W];
        for (value, history) in self.values.iter().zip(&self.histories) {
            let product = *value * history.values[2];
            for lane in 0..W {
                // What is not a number is not above zero either.
                let same = product[lane] > 0.0 && value[lane].abs() < f64::INFINITY;
                changed[lane] |= !same;
            }
        }
        changed
    }

    /// Which series are numbers throughout.
    #[inline(always)]
    fn finite(&self) -> [bool; W] {
        let mut doubt = Pack::ZERO;
        for x in &self.next {
            doubt += *x * 0.0;
        }
        let mut finite = [false; W];
        for lane in 0..W {
            finite[lane] = doubt[lane] == 0.0;
        }
        finite
    }

    /// Which new series begin with the highest derivatives that the present ones end with, (R18).
    #[inline(always)]
    fn ends_agree(&self, s: &Pack<W>) -> [bool; W] {
        let n = self.solver.n;
        let tolerances = &self.options.tolerances;
        let mut agree = [true; W];
        for (j, &d) in self.solver.offsets.iter().enumerate() {
            if d == 0 {
                continue;
            }
            let below = (1..d).map(|f| f as f64).product::<f64>();
            let at = (d - 1) * n + j;
            let slope = self.point[at + n] * d as f64;
            let (value, there) = (self.next[at], self.next[at + n] * d as f64);
            let size =
                value.abs() * tolerances.rtol + Pack::all(tolerances.absolute(d - 1, j) / below);
            let rounding = (value.abs() + (there * *s).abs()) * ROUNDED_SLOPE;
            let apart = ((slope - there) * *s).abs();
            let most = size * UNEVEN + rounding;
            for lane in 0..W {
                agree[lane] &= apart[lane] <= most[lane];
            }
        }
        agree
    }

    /// Takes the steps that are good.
    #[inline(always)]
    fn accept(&mut self, good: &[bool; W]) {
        // The arguments of the projected points.
        let time = self.target;
        let next = std::mem::take(&mut self.next);
        self.arguments_at(&time, &next);
        self.next = next;
        let determinants = &self.solver.factors.determinants;
        self.values[..self.n_blocks].copy_from_slice(determinants);
        for (history, value) in self.histories.iter_mut().zip(&self.values) {
            let [a, b, c] = history.values;
            history.values = [a.or(good, b), b.or(good, c), c.or(good, *value)];
        }
        let [a, b, c] = self.times;
        self.times = [a.or(good, b), b.or(good, c), c.or(good, time)];
        let is_all = good.iter().all(|good| *good);
        if self.is_dense {
            self.keep_pieces(good);
        }
        let bounding = self.bounding(&(time - self.time));
        for lane in (0..W).filter(|&lane| good[lane]) {
            let held = &mut self.lanes[lane];
            held.n_samples += 1;
            if held.is_fresh {
                held.is_fresh = false;
            } else {
                held.n_steps += 1;
                held.leave_if(held.n_steps >= self.options.max_steps, "too many steps");
                self.judge_pace(lane, bounding[lane]);
            }
        }
        self.time = self.time.or(good, time);
        if is_all {
            std::mem::swap(&mut self.series, &mut self.next);
        } else {
            for (series, next) in self.series.iter_mut().zip(&self.next) {
                *series = series.or(good, *next);
            }
        }
    }

    /// The unknowns whose modes may bound steps of lengths h.
    #[inline(always)]
    fn bounding(&self, h: &Pack<W>) -> [Option<usize>; W] {
        let mut found = [None; W];
        if !self.has_states {
            return found;
        }
        if let Some(unknowns) = plan::bounding(&self.rule, &self.series, h) {
            let may_be = plan::may_be_stiff(&self.rule, &self.series, h, &unknowns);
            for lane in 0..W {
                if may_be[lane] {
                    found[lane] = Some(unknowns[lane]);
                }
            }
        }
        found
    }

    /// Whether stability bounds the steps of one run, given the unknown that bounds the last one, or they are very many: then other
    /// methods are to be tried.
    #[inline(always)]
    fn judge_pace(&mut self, lane: usize, bounding: Option<usize>) {
        if !self.has_states {
            return;
        }
        let h = self.target[lane] - self.time[lane];
        let remaining = (self.end[lane] - self.target[lane]).abs();
        let (n, series, held) = (self.solver.n, &self.series, &mut self.lanes[lane]);
        if held.pace.step(h.abs(), remaining) {
            let is_stiff = bounding.is_some_and(|unknown| {
                let coefficient = |m: usize| series[m * n + unknown][lane];
                self.rule.is_bound_by(unknown, coefficient, h)
            });
            held.pace.hit(is_stiff);
        }
        held.leave_if(
            held.pace.calls_for_trial(),
            "steps that another method may better",
        );
    }

    /// Keeps the pieces of the steps that are good.
    #[inline(never)]
    fn keep_pieces(&mut self, good: &[bool; W]) {
        for lane in (0..W).filter(|&lane| good[lane]) {
            if self.lanes[lane].is_fresh {
                continue;
            }
            self.gather(lane);
            let piece = Segment {
                centre: self.time[lane],
                start: self.time[lane],
                end: self.target[lane],
            };
            let held = &mut self.lanes[lane];
            held.trajectory.push(piece, &self.one);
            let is_long = held.trajectory.n_stored() > self.options.max_stored / 4;
            held.leave_if(is_long, "a solution that takes much memory");
        }
    }
}
