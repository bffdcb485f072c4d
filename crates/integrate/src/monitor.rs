//! The monitor: determinants of the diagonal blocks and arguments that must not vanish, and their zeros ahead.
//!
//! A singular point is a zero of such a quantity. It is looked for on the series, before the run gets there;
//! section 4 of `docs/theory/integration.md`.

pub(crate) mod ahead;

use crate::arguments::Argument;
use crate::blocks::BlockSolver;
use crate::judge::{Claim, Confirm, Standing, TimeAlone};
use crate::locate;
use crate::options::Tolerances;
use crate::outcome::{Evidence, Nature, Singularity};
use crate::problem::{Problem, equilibration, scale};
use crate::stages::{Stages, evaluate_jacobian, same_branches};
use crate::tolerances::{CONFIRM_LEAST, DIP, SIDE_SURFACE};
use crate::trajectory::shift;
use ahead::{Look, PHASE, most_samples};

use daelight_expr::{ExprId, Values};
use daelight_linalg::{LinalgError, LogDet, Mat, Svd};
use daelight_native::{NativeCode, NativeValues, Point};
use std::cmp::Ordering;
use std::sync::Arc;

/// How far ahead determinants are looked at, in steps.
pub(crate) const AHEAD: f64 = 2.5;

/// A forecast below this part of the last determinant calls for a look ahead.
pub(crate) const SUSPICIOUS: f64 = 0.1;

/// The series around one point, `[order][unknown]`.
#[derive(Clone, Copy)]
pub(crate) struct Expansion<'s> {
    pub time: f64,
    pub series: &'s [f64],
}

/// A parabola through three points.
struct Parabola {
    at: f64,
    value: f64,
    slope: f64,
    curvature: f64,
}

impl Parabola {
    fn through([(a, fa), (b, fb), (c, fc)]: [(f64, f64); 3]) -> Self {
        let (first, second) = ((fb - fa) / (b - a), (fc - fb) / (c - b));
        let curvature = (second - first) / (c - a);
        Self {
            at: b,
            value: fb,
            slope: first + curvature * (b - a),
            curvature,
        }
    }

    fn value(&self, t: f64) -> f64 {
        let s = t - self.at;
        self.value + s * (self.slope + s * self.curvature)
    }

    /// Where it is least or greatest, unless it is a line.
    fn turning(&self) -> Option<f64> {
        let t = self.at - 0.5 * self.slope / self.curvature;
        t.is_finite().then_some(t)
    }
}

/// A zero of a quantity ahead: of the determinant of a block, or behind the blocks of a watched argument.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Zero {
    pub quantity: usize,
    pub time: f64,
    pub sign_change: bool,
    /// How far off the time may be at a multiple zero.
    pub uncertainty: f64,
}

impl Zero {
    fn of(quantity: usize, time: f64, sign_change: bool) -> Self {
        Self {
            quantity,
            time,
            sign_change,
            uncertainty: 0.0,
        }
    }

    /// A change of sign.
    pub fn crossing(quantity: usize, time: f64) -> Self {
        Self::of(quantity, time, true)
    }

    /// A zero without a change of sign.
    pub fn touching(quantity: usize, time: f64) -> Self {
        Self::of(quantity, time, false)
    }
}

/// What a quantity reads.
pub(crate) struct Reads {
    /// The highest derivative of each unknown.
    pub highest: Vec<usize>,
    /// Whether a determinant reads what its own block determines, as that of a fold does.
    pub is_fold: bool,
}

/// A pair of complex zeros beside the real times: a quantity that comes near zero and turns.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct NearMiss {
    pub time: f64,
    /// Their distance from the real times.
    pub width: f64,
}

impl NearMiss {
    /// The longest step from a time, (R11): the solution may be singular there, however little of it a series shows.
    pub fn longest_step(&self, time: f64) -> f64 {
        (self.time - time).hypot(self.width) / AHEAD
    }
}

#[derive(Clone, Copy, Debug)]
struct Sample {
    time: f64,
    determinant: LogDet,
}

/// A watched argument as sign and logarithm; `None` where it has no value.
fn sign_and_logarithm(value: f64) -> Option<LogDet> {
    value.is_finite().then(|| LogDet {
        sign: if value == 0.0 { 0.0 } else { value.signum() },
        log_abs: value.abs().ln(),
    })
}

/// Whether three determinants, continued as a parabola, come near zero within `window`; `None` if there are fewer.
fn may_vanish(samples: &[Sample], window: f64) -> Option<bool> {
    let [a, b, c] = samples else {
        return None;
    };
    let reference = c.determinant.log_abs;
    let value = |s: &Sample| s.determinant.sign * (s.determinant.log_abs - reference).exp();
    let (fa, fb, fc) = (value(a), value(b), c.determinant.sign);
    if fa == fb && fb == fc {
        return Some(false);
    }
    // A parabola through values much greater than the last one says nothing of what follows. A decay, whose logarithm falls evenly,
    // touches nothing.
    let rate = |(from, to): (f64, f64), span: f64| (from / to).abs().ln() / span.abs();
    let rates = [
        rate((fa, fb), b.time - a.time),
        rate((fb, fc), c.time - b.time),
    ];
    let is_decay = (rates[1] - rates[0]).abs() <= 0.01 * rates[0].abs();
    if fc.abs() < DIP * fa.abs().max(fb.abs()) && !is_decay {
        return Some(true);
    }
    let parabola = Parabola::through([(a.time, fa), (b.time, fb), (c.time, fc)]);
    let end = c.time + window;
    let turning = parabola
        .turning()
        .filter(|t| (t - c.time) * (t - end) < 0.0);
    let near = |time: f64| parabola.value(time) * fc.signum() < SUSPICIOUS;
    let dips = [Some(end), turning].into_iter().flatten().any(near);
    Some(dips || falls_like_a_power(samples, window))
}

/// Whether three determinants fall like (t* - t)^m with t* within `window`, whatever m is.
///
/// The slope of the logarithm is m/(t - t*), so that one over it is a line with its zero at t*. Of a zero of order 4 a parabola sees
/// nothing: it turns before the last point.
fn falls_like_a_power(samples: &[Sample], window: f64) -> bool {
    let slope = |pair: &[Sample]| {
        let change = pair[1].determinant.log_abs - pair[0].determinant.log_abs;
        let middle = 0.5 * (pair[0].time + pair[1].time);
        (middle, (pair[1].time - pair[0].time) / change)
    };
    let slopes: Vec<(f64, f64)> = samples.windows(2).map(slope).collect();
    let [(early, before), (late, now)] = slopes[..] else {
        return false;
    };
    let fall = samples[samples.len() - 1].determinant.log_abs - samples[0].determinant.log_abs;
    if fall > SUSPICIOUS.ln() {
        return false;
    }
    // Relative to the window: how far behind the later middle the line vanishes.
    let zero = now * (late - early) / (before - now);
    let last = samples[samples.len() - 1].time;
    let end = (last + window - late) / window;
    now * window < 0.0 && (0.0..=end).contains(&(zero / window))
}

/// Determinants at three points some steps apart: what methods of short steps forecast zeros from.
#[derive(Default)]
pub(crate) struct Trend {
    blocks: Vec<Vec<Sample>>,
    times: Vec<f64>,
    /// Logarithm of the greatest determinant of each block since it was last noticed to fall.
    highest: Vec<f64>,
}

impl Trend {
    /// Forgets the points, but not how great the determinants were.
    pub fn forget(&mut self) {
        self.blocks.iter_mut().for_each(Vec::clear);
        self.times.clear();
    }

    /// Keeps the determinants of a point just factored, as far as they vary.
    pub fn record(&mut self, time: f64, solver: &BlockSolver, varies: &[bool]) {
        self.blocks
            .resize_with(varies.len(), || Vec::with_capacity(3));
        self.highest.resize(varies.len(), f64::NEG_INFINITY);
        let blocks = self.blocks.iter_mut().zip(&mut self.highest).enumerate();
        for (block, (samples, highest)) in blocks.filter(|(block, _)| varies[*block]) {
            *highest = highest.max(solver.determinant(block).log_abs);
            keep_three(
                samples,
                Sample {
                    time,
                    determinant: solver.determinant(block),
                },
            );
        }
        keep_three(&mut self.times, time);
    }

    /// The distance between the last two points, signed; zero without them.
    pub fn spacing(&self) -> f64 {
        match self.times.as_slice() {
            [.., b, c] => c - b,
            _ => 0.0,
        }
    }

    /// Whether a determinant fell to a tenth of what it was, and then how far its zero is if it goes on like that.
    ///
    /// However short the steps, a zero that is approached is noticed, once for each tenth.
    pub fn falls(&mut self) -> Option<f64> {
        let mut nearest: Option<f64> = None;
        for (samples, highest) in self.blocks.iter().zip(&mut self.highest) {
            let [.., b, c] = samples.as_slice() else {
                continue;
            };
            let log = c.determinant.log_abs;
            if log > *highest + SUSPICIOUS.ln() {
                continue;
            }
            *highest = log;
            let before = (b.determinant.log_abs - log).exp();
            let distance = (c.time - b.time) / (before - 1.0);
            if before > 1.0 && nearest.is_none_or(|held| distance.abs() < held) {
                nearest = Some(distance.abs());
            }
        }
        nearest
    }

    /// Whether some determinant may come near zero within `window`.
    pub fn expects_zero(&self, window: f64) -> bool {
        self.blocks
            .iter()
            .any(|samples| may_vanish(samples, window) == Some(true))
    }
}

fn keep_three<T>(list: &mut Vec<T>, new: T) {
    if list.len() == 3 {
        list.remove(0);
    }
    list.push(new);
}

/// Determinants of the diagonal blocks at the last points, and a second set of factors to look ahead with.
pub(crate) struct Monitor<'p> {
    problem: &'p Problem,
    /// The system Jacobian on the sides that held at the last point kept.
    jacobian: Values,
    sides: Vec<Ordering>,
    /// Branch of the residuals' tape for each branch of the Jacobian's, where they decide the same.
    same_branch: Vec<Option<usize>>,
    /// The same Jacobian as native code, once it was asked for.
    native: Option<NativeValues>,
    entries: Vec<f64>,
    solver: BlockSolver,
    /// Evaluator of the watched arguments, and its roots.
    arguments: Values,
    roots: Vec<f64>,
    /// Evaluator of the arguments of sines and cosines in the blocks.
    phases: Values,
    /// What they are here, in the middle and at the end of a range ahead.
    phase_roots: [Vec<f64>; 3],
    /// A time, a range ahead of it, and what the arguments change by over it.
    last_change: (f64, f64, f64),
    point: Vec<f64>,
    /// What the present look ahead evaluated for all quantities.
    looks: Vec<Look>,
    /// The last three samples of each quantity, oldest first.
    history: Vec<Vec<Sample>>,
    /// Logarithm of the greatest value of each quantity along the run.
    highest: Vec<f64>,
    /// Whether each quantity can change at all.
    varies: Vec<bool>,
    /// A determinant that dips to this part of its surroundings may touch zero.
    touching: f64,
    time_alone: TimeAlone,
    /// Whether each quantity follows time alone, once that was asked.
    follows_time: Vec<Option<bool>>,
    confirm: Option<Confirm<'p>>,
    /// Near misses that the last look ahead saw.
    pub near_misses: Vec<NearMiss>,
    tolerances: Tolerances,
    pub n_evaluations: usize,
}

impl<'p> Monitor<'p> {
    pub fn new(problem: &'p Problem, tolerances: &Tolerances) -> Result<Self, LinalgError> {
        let jacobian = problem.jacobian_values();
        let n_orders = jacobian.tape().max_slot_order() + 1;
        let n_rows = n_orders.max(problem.max_unknown_offset() + 1);
        let arguments = problem.argument_values();
        let phases = problem.phase_values();
        let n_rows = n_rows.max(phases.tape().max_slot_order() + 1);
        let n_blocks = problem.structure().blocks().len();
        let n_quantities = n_blocks + problem.arguments().len();
        let solver = problem.solver()?;
        let tape = jacobian.tape();
        let varies = (0..n_quantities).map(|quantity| {
            quantity >= n_blocks || solver.has_entry(quantity, |entry| tape.is_moving(entry))
        });
        let graph = problem.equations().graph();
        Ok(Self {
            varies: varies.collect(),
            solver,
            sides: Vec::new(),
            same_branch: same_branches(graph, problem.residual_tape(), tape),
            roots: vec![0.0; arguments.tape().n_roots()],
            arguments,
            phase_roots: [0; 3].map(|_| vec![0.0; phases.tape().n_roots()]),
            phases,
            last_change: (f64::NAN, 0.0, 0.0),
            point: vec![0.0; n_rows * problem.n()],
            looks: Vec::new(),
            history: vec![Vec::with_capacity(4); n_quantities],
            highest: vec![f64::NEG_INFINITY; n_quantities],
            touching: (10.0 * tolerances.rtol).max(SIDE_SURFACE),
            time_alone: TimeAlone::of(problem),
            follows_time: vec![None; n_quantities],
            confirm: None,
            near_misses: Vec::new(),
            tolerances: tolerances.clone(),
            n_evaluations: 0,
            native: None,
            entries: vec![0.0; problem.structure().n_jacobian_entries()],
            problem,
            jacobian,
        })
    }

    /// Evaluates the system Jacobian by native code from now on.
    pub fn use_native(&mut self, code: Arc<NativeCode>) {
        self.native = Some(NativeValues::new(code));
    }

    /// The block whose determinant a quantity is.
    pub fn block(&self, quantity: usize) -> Option<usize> {
        (quantity < self.solver.n_blocks()).then_some(quantity)
    }

    /// The watched argument that a quantity is.
    pub fn argument(&self, quantity: usize) -> Option<&'p Argument> {
        let place = quantity.checked_sub(self.solver.n_blocks())?;
        self.problem.arguments().get(place)
    }

    /// What a determinant reads, or what the equations of an argument determine.
    pub fn reads(&self, quantity: usize) -> Reads {
        let problem = self.problem;
        let mut highest = vec![0; problem.n()];
        if let Some(argument) = self.argument(quantity) {
            for &equation in &argument.equations {
                for j in problem.structure().jacobian_row(equation) {
                    highest[j] = problem.unknown_offset(j);
                }
            }
            return Reads {
                highest,
                is_fold: false,
            };
        }
        let tops = self.tops_of_block(quantity);
        for (j, (read, top)) in highest.iter_mut().zip(&tops).enumerate() {
            *read = top.unwrap_or(0).min(problem.unknown_offset(j));
        }
        let own = &problem.structure().blocks()[quantity].unknowns;
        let is_own_top =
            |&j: &usize| tops.get(j).copied().flatten() >= Some(problem.unknown_offset(j));
        Reads {
            highest,
            is_fold: own.iter().any(is_own_top),
        }
    }

    /// The highest derivative of each unknown that the entries of a block read.
    fn tops_of_block(&self, block: usize) -> Vec<Option<usize>> {
        let tape = self.problem.jacobian_tape();
        let entries: Vec<ExprId> = (0..tape.n_roots())
            .filter(|&entry| self.solver.has_entry(block, |other| other == entry))
            .map(|entry| tape.expr(tape.root(entry)))
            .collect();
        self.problem.equations().compile(&entries).tops()
    }

    /// The part of its surroundings to which the determinant of a block may dip without touching zero: where time alone decides it is known
    /// better than the tolerance, as in (R10).
    fn touching(&mut self, block: usize) -> f64 {
        if self.follows_time[block].is_none() {
            let tops = self.tops_of_block(block);
            let mut read = tops.iter().enumerate().filter(|(_, top)| top.is_some());
            self.follows_time[block] = Some(read.all(|(j, _)| self.time_alone.holds(j, 0)));
        }
        match self.follows_time[block] {
            Some(true) => self.touching.min(10.0 * CONFIRM_LEAST),
            _ => self.touching,
        }
    }

    /// A quantity of the point at which the arguments were evaluated; a determinant only if it is factored.
    fn quantity(&self, quantity: usize, solver: Option<&BlockSolver>) -> Option<LogDet> {
        match self.argument(quantity) {
            None => Some(solver?.determinant(quantity)),
            Some(argument) => sign_and_logarithm(argument.quantity(&self.roots)),
        }
    }

    /// Whether the determinant of each block can change at all.
    pub fn varying_blocks(&self) -> &[bool] {
        &self.varies[..self.solver.n_blocks()]
    }

    /// What the equations say of a zero of the series that it was read from; `sides` hold on it, (R10) and (R20).
    pub fn standing(
        &mut self,
        expansion: Expansion<'_>,
        zero: Zero,
        sides: &[Ordering],
    ) -> Standing {
        let claim = Claim {
            time: expansion.time,
            series: expansion.series,
            s: zero.time - expansion.time,
            width: 0.0,
            rest: 2.0,
            sides,
        };
        let problem = self.problem;
        let confirm = self.confirm.get_or_insert_with(|| Confirm::new(problem));
        confirm.standing(&claim, zero.quantity, &self.tolerances)
    }

    /// Whether no quantity, or not this one, can vanish up to a point at which the solution is like a power of the distance, (R21).
    pub fn has_no_branch(
        &mut self,
        expansion: Expansion<'_>,
        (distance, power): (f64, f64),
        quantity: Option<usize>,
        sides: &[Ordering],
    ) -> bool {
        let claim = Claim {
            time: expansion.time,
            series: expansion.series,
            s: distance,
            width: 0.0,
            rest: 1.0 / power,
            sides,
        };
        let problem = self.problem;
        let confirm = self.confirm.get_or_insert_with(|| Confirm::new(problem));
        confirm.has_no_branch(&claim, quantity)
    }

    /// Whether a quantity is proved not to vanish between two distances ahead, in parts that are halved up to a depth, (R10).
    fn is_clear(
        &mut self,
        expansion: Expansion<'_>,
        quantity: usize,
        (from, to): (f64, f64),
        depth: usize,
    ) -> bool {
        let claim = Claim {
            time: expansion.time,
            series: expansion.series,
            s: 0.5 * (from + to),
            width: 0.5 * (to - from).abs(),
            rest: 2.0,
            sides: &self.sides,
        };
        let problem = self.problem;
        let confirm = self.confirm.get_or_insert_with(|| Confirm::new(problem));
        if !confirm.may_vanish(&claim, quantity, &self.tolerances) {
            return true;
        }
        let middle = claim.s;
        depth > 0
            && self.is_clear(expansion, quantity, (from, middle), depth - 1)
            && self.is_clear(expansion, quantity, (middle, to), depth - 1)
    }

    /// Keeps the quantities of a point that the stages hold, just factored, whose coefficients are the first ones of its series.
    ///
    /// Ahead of it determinants are those of the sides that hold there: where a branch will have switched, other equations hold.
    pub fn record(&mut self, expansion: Expansion<'_>, stages: &Stages<'_>) {
        self.hold(stages.sides());
        self.evaluate_arguments(expansion, 0.0);
        for quantity in 0..self.history.len() {
            // What cannot change is kept once.
            if !self.varies[quantity] && !self.history[quantity].is_empty() {
                continue;
            }
            let determinant = self.quantity(quantity, Some(stages.solver()));
            let samples = &mut self.history[quantity];
            let Some(determinant) = determinant else {
                samples.clear();
                continue;
            };
            let highest = &mut self.highest[quantity];
            *highest = highest.max(determinant.log_abs);
            let time = expansion.time;
            keep_three(samples, Sample { time, determinant });
        }
    }

    /// Holds branches of the system Jacobian on sides.
    fn hold(&mut self, sides: &[Ordering]) {
        self.sides.clear();
        self.sides.extend_from_slice(sides);
        let branches = self.jacobian.branches_mut();
        for (branch, same) in self.same_branch.iter().enumerate() {
            branches.pin(branch, same.map(|same| sides[same]));
        }
    }

    /// Forgets the past, after a switch or a jump.
    pub fn forget(&mut self) {
        self.highest.fill(f64::NEG_INFINITY);
        for samples in &mut self.history {
            samples.clear();
        }
    }

    /// The sign of a quantity at the last point kept; 0 if there is none.
    pub fn sign(&self, quantity: usize) -> f64 {
        self.history[quantity]
            .last()
            .map_or(0.0, |sample| sample.determinant.sign)
    }

    /// A quantity whose sign at a point differs from that at the last point kept; determinants only if it is factored.
    pub fn changed(
        &mut self,
        time: f64,
        point: &[f64],
        solver: Option<&BlockSolver>,
    ) -> Option<usize> {
        let there = Expansion {
            time,
            series: point,
        };
        self.evaluate_arguments(there, 0.0);
        (0..self.history.len()).find(|&quantity| {
            let was = self.history[quantity].last();
            was.zip(self.quantity(quantity, solver))
                .is_some_and(|(was, value)| value.sign * was.determinant.sign <= 0.0)
        })
    }

    /// The quantities whose signs at a factored point differ from those at the last point kept; `None` if one has no value.
    pub fn flipped(&mut self, point: Expansion<'_>, solver: &BlockSolver) -> Option<Vec<usize>> {
        let mut flipped = Vec::new();
        self.evaluate_arguments(point, 0.0);
        for quantity in 0..self.history.len() {
            let value = self.quantity(quantity, Some(solver));
            if self.sign(quantity) * value?.sign < 0.0 {
                flipped.push(quantity);
            }
        }
        Some(flipped)
    }

    /// Whether a quantity may come near zero within `window`, from its last values; unknown ones may.
    fn is_suspicious(&self, quantity: usize, window: f64) -> bool {
        may_vanish(&self.history[quantity], window).unwrap_or(true)
    }

    /// Moves to a point on the series.
    fn move_to(&mut self, expansion: Expansion<'_>, s: f64) {
        if s == 0.0 {
            let n_known = self.point.len().min(expansion.series.len());
            self.point[..n_known].copy_from_slice(&expansion.series[..n_known]);
            self.point[n_known..].fill(0.0);
        } else {
            shift(expansion.series, self.problem.n(), s, &mut self.point);
        }
    }

    /// Evaluates the system Jacobian on the series; `None` where an entry has no value.
    fn evaluate_entries(&mut self, expansion: Expansion<'_>, s: f64) -> Option<()> {
        self.move_to(expansion, s);
        self.n_evaluations += 1;
        let (n, point) = (self.problem.n(), &self.point);
        let time = expansion.time + s;
        match &mut self.native {
            Some(native) => {
                let point = Point {
                    coefficients: point,
                    parameters: self.problem.parameters(),
                    time,
                };
                native.evaluate(point, &mut self.entries).ok()
            }
            None => {
                evaluate_jacobian(&mut self.jacobian, time, |order| &point[order * n..][..n])
                    .ok()?;
                self.jacobian.roots(&mut self.entries);
                Some(())
            }
        }
    }

    /// Evaluates all watched arguments on the series, to NaN where one has no value.
    fn evaluate_arguments(&mut self, expansion: Expansion<'_>, s: f64) {
        if self.roots.is_empty() {
            return;
        }
        self.move_to(expansion, s);
        let (n, point) = (self.problem.n(), &self.point);
        let time = expansion.time + s;
        // The fault is that of one argument; the others have their values.
        let _ = evaluate_jacobian(&mut self.arguments, time, |order| &point[order * n..][..n]);
        self.arguments.roots(&mut self.roots);
    }

    /// By how much the arguments of sines and cosines in the blocks change up to a distance ahead, (R29); the most of any.
    fn phase_change(&mut self, expansion: Expansion<'_>, window: f64) -> f64 {
        if self.phase_roots[0].is_empty() {
            return 0.0;
        }
        let (time, range, change) = self.last_change;
        if time == expansion.time && range == window {
            return change;
        }
        for (place, s) in [0.0, 0.5 * window, window].into_iter().enumerate() {
            self.move_to(expansion, s);
            let (n, point) = (self.problem.n(), &self.point);
            let time = expansion.time + s;
            // One without a value counts for nothing; the others have theirs.
            let _ = evaluate_jacobian(&mut self.phases, time, |order| &point[order * n..][..n]);
            self.phases.roots(&mut self.phase_roots[place]);
        }
        let [here, middle, there] = &self.phase_roots;
        let paths = here.iter().zip(middle).zip(there);
        let paths = paths.map(|((a, b), c)| (b - a).abs() + (c - b).abs());
        let change = paths.fold(0.0, f64::max);
        self.last_change = (expansion.time, window, change);
        change
    }

    /// The range, up to `window` (signed), over which samples follow the sines and cosines in the blocks, (R29).
    pub fn followed(&mut self, expansion: Expansion<'_>, window: f64) -> f64 {
        let most = most_samples() as f64 * PHASE;
        let mut range = window;
        for _ in 0..f64::MANTISSA_DIGITS {
            let change = self.phase_change(expansion, range);
            if change <= most {
                break;
            }
            range *= (0.9 * most / change).max(0.1);
        }
        range
    }

    /// A quantity on the series, as sign and logarithm; `None` where it has no value.
    pub fn value(&mut self, expansion: Expansion<'_>, quantity: usize, s: f64) -> Option<LogDet> {
        if let Some(argument) = self.argument(quantity) {
            self.evaluate_arguments(expansion, s);
            return sign_and_logarithm(argument.quantity(&self.roots));
        }
        self.evaluate_entries(expansion, s)?;
        let entries = &self.entries;
        self.solver
            .block_determinant(quantity, |entry| entries[entry])
            .ok()
    }

    /// A zero of a quantity in (0, s], where its sign is known to differ from that at 0.
    pub fn locate(&mut self, expansion: Expansion<'_>, quantity: usize, s: f64) -> Option<Zero> {
        let here = self.value(expansion, quantity, 0.0)?;
        let there = self.value(expansion, quantity, s)?;
        if here.sign * there.sign > 0.0 {
            return None;
        }
        let reference = here.log_abs;
        let time = locate::zero(
            0.0,
            s,
            here.sign,
            there.sign * (there.log_abs - reference).exp(),
            |s| {
                self.value(expansion, quantity, s)
                    .map_or(f64::NAN, |d| d.sign * (d.log_abs - reference).exp())
            },
        );
        Some(Zero::crossing(quantity, expansion.time + time))
    }

    /// The same zero where the m-th root of a quantity that vanishes like s^m has it, (17); values within `radius` tell.
    pub fn refined(&mut self, expansion: Expansion<'_>, zero: Zero, radius: f64) -> Zero {
        let near = zero.time - expansion.time;
        let mut reference = None;
        let refined = locate::refined(near, radius, |s| {
            let Some(value) = self.value(expansion, zero.quantity, s) else {
                return f64::NAN;
            };
            let reference = *reference.get_or_insert(value.log_abs);
            value.sign * (value.log_abs - reference).exp()
        });
        Zero {
            time: expansion.time + refined.at,
            uncertainty: refined.uncertainty,
            ..zero
        }
    }

    /// How fast the logarithm of each quantity falls with the logarithm of the distance; the fastest one.
    pub fn vanishing(&self, end: f64) -> Option<(usize, f64)> {
        let exponent = |samples: &Vec<Sample>| {
            let [a, .., b] = samples.as_slice() else {
                return 0.0;
            };
            let distances = ((end - b.time) / (end - a.time)).ln();
            (b.determinant.log_abs - a.determinant.log_abs) / distances
        };
        self.history
            .iter()
            .map(exponent)
            .enumerate()
            .filter(|(_, exponent)| exponent.is_finite())
            .max_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// Describes a singular point on a series: what vanishes, what is undetermined there, and how singular it is.
    pub fn describe(
        &mut self,
        expansion: Expansion<'_>,
        time: f64,
        quantity: Option<usize>,
        nature: Nature,
    ) -> Singularity {
        let block = quantity.and_then(|quantity| self.block(quantity));
        let mut singularity = Singularity {
            time,
            block,
            argument: quantity.and_then(|quantity| quantity.checked_sub(self.solver.n_blocks())),
            equations: Vec::new(),
            unknowns: Vec::new(),
            offset: 0,
            nature,
            null_vector: Vec::new(),
            evidence: Evidence {
                distance: time - expansion.time,
                singular_ratio: f64::NAN,
                ..Evidence::default()
            },
        };
        if let Some(watched) = quantity.and_then(|quantity| self.argument(quantity)) {
            singularity.equations.clone_from(&watched.equations);
        }
        let Some(block) = block else {
            return singularity;
        };
        let structure = self.problem.structure();
        let members = &structure.blocks()[block];
        singularity.equations.clone_from(&members.equations);
        singularity.unknowns.clone_from(&members.unknowns);
        let offsets = &structure.offsets().equation;
        singularity.offset = members
            .equations
            .iter()
            .map(|&i| offsets[i])
            .max()
            .unwrap_or(0);
        let n = members.equations.len();
        if n > MAX_DESCRIBED {
            return singularity;
        }
        let (Some(regular), Some(mut singular)) = (
            self.block_matrix(expansion, block, 0.0),
            self.block_matrix(expansion, block, time - expansion.time),
        ) else {
            return singularity;
        };
        // Scales of the regular point: those of the singular one would hide what vanishes.
        let scales = equilibration(regular.as_slice(), n);
        let mut svd = Svd::with_capacity(n, n);
        if svd.factor(singular.view()).is_ok()
            && let Ok(v) = svd.v()
        {
            singularity.null_vector = v.col(n - 1).to_vec();
        }
        let mut extremes = |matrix: &mut Mat| {
            scale(matrix.as_mut_slice(), &scales);
            svd.factor_values(matrix.view()).ok()?;
            Some((svd.singular_values()[0], svd.singular_values()[n - 1]))
        };
        let mut regular = regular;
        if let (Some((greatest, _)), Some((_, least))) =
            (extremes(&mut regular), extremes(&mut singular))
        {
            singularity.evidence.singular_ratio = least / greatest;
        }
        singularity
    }

    /// A diagonal block on the series; `None` where it has no value.
    fn block_matrix(&mut self, expansion: Expansion<'_>, block: usize, s: f64) -> Option<Mat> {
        self.value(expansion, block, s)?;
        let structure = self.problem.structure();
        Some(structure.block_matrix(block, &self.entries))
    }
}

/// Blocks beyond this size get no null vector.
const MAX_DESCRIBED: usize = 400;
