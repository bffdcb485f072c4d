//! What lies ahead: a zero of a determinant or of an argument, and what is made of it.
//!
//! Section 5 of `docs/theory/integration.md`.

use super::tail::nature_of;
use super::{SAME_TIME, STREAK, Taylor};
use crate::arguments::Argument;
use crate::judge::Standing;
use crate::monitor::{AHEAD, Expansion, Zero};
use crate::options::OnSingularity;
use crate::outcome::{Expected, Nature, StopReason};
use crate::stages::Passage;
use crate::step::{AGREEMENT, StepSize};
use crate::tolerances::{TOUCH_WIDTH, UNCONFIRMED};
use crate::trajectory::shift;

/// A series reaches past a zero nearer than this many steps. Set on the arm's point at 1.5446 and checked on others:
/// a true singularity lies at least 2.5 steps away, because the step is below 0.4 of the radius of convergence.
const REACHES: f64 = 1.6;

/// Expansions without getting nearer, in steps, after which a zero ahead counts as unresolved.
const MAX_STUCK: usize = 6;

/// Without a verdict the run does not come nearer to a zero than this part of the longest reach since it was seen:
/// rounding would make any zero look like a pole. Zeros nearer to each other than this part of a jump are jumped over together.
const NEAREST: f64 = 0.05;

/// A jump is judged as if no series reached further than this many times the distance of the zero.
const LONGEST_JUMP: f64 = 10.0;

/// A multiple zero is located by what lies around it, up to this part of the reach of the series.
const AROUND: f64 = 0.3;

/// How near the run goes to a pole whose time is known, as a part of the distance at which it was recognised.
const NEAR_POLE: f64 = 0.02;

/// A zero of a determinant ahead, and what is known of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Approach {
    pub zero: Zero,
    nature: Option<Nature>,
    /// Distance at which the nature was recognised.
    decided_at: f64,
    /// Expansions in a row whose fits point at the zero.
    streak: usize,
    /// Expansions in a row that came no nearer in steps.
    stuck: usize,
    /// Distance in steps at the last expansion.
    ratio: f64,
    /// The longest reach of a series since the zero was seen.
    longest: f64,
    /// Whether the last step before the end was taken.
    last_step: bool,
    /// Jumps that were tried and did not fit.
    pub failed_jumps: usize,
    /// The solutions through the zero that is to be jumped over.
    pub passage: Passage,
}

impl Approach {
    fn new(zero: Zero, distance: f64) -> Self {
        Self {
            zero,
            nature: None,
            decided_at: distance,
            streak: 0,
            stuck: 0,
            ratio: f64::INFINITY,
            longest: 0.0,
            last_step: false,
            failed_jumps: 0,
            passage: Passage::Smooth,
        }
    }

    /// The same after a jump that did not fit.
    pub(super) fn with_failed_jump(self) -> Self {
        Self {
            failed_jumps: self.failed_jumps + 1,
            ..self
        }
    }
}

/// What the zeros ahead allow.
pub(super) enum Verdict {
    Go { limit: f64 },
    Jump { landing: f64 },
    End(StopReason),
}

impl Taylor<'_> {
    /// The singular point that the last series sees behind the end of the run.
    pub(super) fn expected(&mut self) -> Option<Expected> {
        let size = self.rule.step(&self.series);
        let end = self.options.t_end;
        let window = self.direction * AHEAD * size.reach;
        let expansion = Expansion {
            time: self.time,
            series: &self.series,
        };
        let zero = window
            .is_finite()
            .then(|| self.monitor.look_ahead(expansion, window, false))
            .flatten();
        // Beyond the end nobody goes nearer: what is not confirmed from here is not told.
        let zero = zero.filter(|zero| self.standing(*zero) == Standing::Holds);
        let tail = (self.tail.streak >= STREAK).then_some(self.tail.time);
        let time = zero.map(|zero| zero.time).or(tail)?;
        let distance = (time - end) * self.direction;
        // Behind a switch the equations are others.
        let far = (time - self.time).abs();
        if self.stages.n_branches() > 0 && self.first_switch(far * (1.0 + SAME_TIME)).is_some() {
            return None;
        }
        (distance > 0.0).then_some(Expected { time, distance })
    }

    /// Looks for the next zero of a determinant, a little further than one that is already known.
    pub(super) fn zero_ahead(&mut self, size: StepSize, remaining: f64) -> Option<Zero> {
        let known = self
            .approach
            .map_or(0.0, |a| 1.1 * (a.zero.time - self.time).abs());
        let window = (AHEAD * size.reach).max(known).min(remaining);
        let expansion = Expansion {
            time: self.time,
            series: &self.series,
        };
        let always = self.approach.is_some();
        self.monitor
            .look_ahead(expansion, self.direction * window, always)
    }

    /// The step, up to h, that near misses ahead and behind allow, (R11).
    pub(super) fn beside(&mut self, h: f64) -> f64 {
        let (time, direction) = (self.time, self.direction);
        // One that is seen again is known better than before.
        let seen = std::mem::take(&mut self.monitor.near_misses);
        self.near_misses.retain(|near| {
            let is_seen = seen
                .iter()
                .any(|new| (new.time - near.time).abs() <= 0.1 * (near.time - time).abs());
            let is_behind = (near.time - time) * direction < 0.0;
            !(is_seen || is_behind && near.longest_step(time) > h)
        });
        self.near_misses.extend(seen);
        let steps = self.near_misses.iter().map(|near| near.longest_step(time));
        steps.fold(h, f64::min)
    }

    /// How far the series reaches for a quantity that may read derivatives, (R19).
    fn size_for(&mut self, zero: Zero, size: StepSize) -> StepSize {
        if !matches!(&self.reads, Some((quantity, _)) if *quantity == zero.quantity) {
            self.reads = Some((zero.quantity, self.monitor.reads(zero.quantity)));
        }
        let reads = self.reads.as_ref();
        let reads = reads.map_or(&[][..], |(_, reads)| &reads.highest);
        StepSize {
            reach: size.reach.min(self.rule.reach_of(&self.series, reads)),
            ..size
        }
    }

    /// Decides what a zero ahead means, section 5.
    pub(super) fn judge(&mut self, zero: Option<Zero>, size: StepSize) -> Verdict {
        let go = Verdict::Go {
            limit: f64::INFINITY,
        };
        let Some(zero) = zero else {
            self.approach = None;
            return go;
        };
        let distance = (zero.time - self.time).abs();
        let size = self.size_for(zero, size);
        let ratio = distance / size.reach;
        let switch = match self.stages.n_branches() {
            0 => None,
            _ => self.first_switch(distance * (1.0 + SAME_TIME)),
        };
        if let Some((s, _)) = switch
            && (s < distance * (1.0 - SAME_TIME) || self.monitor.block(zero.quantity).is_none())
        {
            // Behind a switch the equations are others; and an argument that vanishes there may be guarded by it.
            self.approach = None;
            return go;
        }
        let tail = self.tail.distance.abs();
        // Behind a singularity of the series themselves a determinant means nothing.
        if self.tail.streak >= STREAK && tail < (1.0 - AGREEMENT) * distance {
            self.approach = None;
            return Verdict::Go { limit: 0.5 * tail };
        }
        let signed = zero.time - self.time;
        let doubtful = self.tail.streak > 0 && tail < 1.2 * distance
            || self
                .rule
                .has_faint_branch(&self.series, signed, &mut self.fits);
        let mut approach = self.nearer(zero, size);
        if self
            .monitor
            .argument(zero.quantity)
            .is_some_and(Argument::is_edge)
        {
            self.approach = Some(approach);
            return self.judge_edge(zero, distance, size);
        }
        let nearer = Verdict::Go {
            limit: 0.5 * distance,
        };
        let is_determinant = self.monitor.block(zero.quantity).is_some();
        let is_given_up = approach.stuck >= MAX_STUCK || distance < NEAREST * approach.longest;
        let scale = UNCONFIRMED * self.time.abs().max(1.0);
        if approach.nature.is_none()
            && approach.streak < STREAK
            && (ratio < REACHES || is_given_up)
            && distance > scale
        {
            match self.standing(zero) {
                Standing::Holds if ratio < REACHES || is_determinant => {}
                // Rounding would soon make any zero of a determinant look like a pole; arguments are evaluated to rounding.
                Standing::Unknown if ratio >= REACHES && is_determinant => {}
                // The point that the series claims does not satisfy the equations, or is not known well enough: nothing is told.
                _ => {
                    self.approach = Some(approach);
                    return nearer;
                }
            }
        }
        if approach.nature.is_none() {
            if approach.streak >= STREAK {
                approach.nature = Some(nature_of(&self.fits));
                approach.decided_at = distance;
            } else if ratio < REACHES && !doubtful {
                // A side that changes at this very time leaves no analytic solution to go on with.
                approach.nature = Some(match switch {
                    None => Nature::Removable,
                    Some(_) => Nature::Unresolved,
                });
            } else if is_given_up {
                if distance > scale && self.is_missed(zero) {
                    self.approach = Some(approach);
                    return nearer;
                }
                approach.nature = Some(Nature::Unresolved);
            }
        }
        self.approach = Some(approach);
        match approach.nature {
            Some(Nature::Removable) => self.judge_removable(approach, distance, size),
            Some(Nature::Unbounded)
                if self.is_near_end(distance)
                    || distance <= NEAR_POLE * approach.decided_at && self.has_grown() =>
            {
                let nature = self.confirmed(Nature::Unbounded);
                Verdict::End(self.end_at(zero, nature, size))
            }
            Some(Nature::Unresolved) => {
                let zero = match ratio < REACHES {
                    true => self.refined(zero, size),
                    false => zero,
                };
                let stop = self.end_at(zero, Nature::Unresolved, size);
                // What the series reaches is located as any zero is.
                if let Some(told) = self.singularities.last_mut()
                    && ratio < REACHES
                {
                    told.evidence.uncertainty = zero.uncertainty;
                }
                // The series serves up to a careful step, and perhaps up to the point.
                let careful = 0.65 * size.step;
                match distance <= careful && ratio < REACHES {
                    true => self.close_at(zero.time, Some(zero.time)),
                    false => self.close(self.time + self.direction * careful.min(0.5 * distance)),
                }
                Verdict::End(stop)
            }
            // Where the step is not bounded by what the quantity reads.
            _ if size.reach < size.step => nearer,
            _ => go,
        }
    }

    /// What the equations say of a zero on the series.
    fn standing(&mut self, zero: Zero) -> Standing {
        let expansion = Expansion {
            time: self.time,
            series: &self.series,
        };
        let sides = self.stages.sides();
        self.monitor.standing(expansion, zero, sides)
    }

    /// What is known of a zero, with what the present expansion adds; leaves the fits that point at it.
    fn nearer(&mut self, zero: Zero, size: StepSize) -> Approach {
        let signed = zero.time - self.time;
        let distance = signed.abs();
        let ratio = distance / size.reach;
        let mut approach = match self.approach {
            Some(known)
                if known.zero.quantity == zero.quantity
                    && (known.zero.time - zero.time).abs()
                        < 0.05 * distance.max(f64::EPSILON.sqrt()) =>
            {
                Approach { zero, ..known }
            }
            _ => Approach::new(zero, distance),
        };
        self.rule.fits(&self.series, self.direction, &mut self.fits);
        self.fits
            .retain(|fit| (fit.distance / signed - 1.0).abs() < AGREEMENT);
        approach.streak = if self.fits.is_empty() {
            0
        } else {
            approach.streak + 1
        };
        // A step that a knot cut short says nothing about what it could have come nearer.
        if !self.cut_short {
            approach.stuck = if ratio > approach.ratio - 0.2 {
                approach.stuck + 1
            } else {
                0
            };
            approach.ratio = ratio;
        }
        approach.longest = approach.longest.max(size.reach);
        approach
    }

    /// Goes up to the zero of an argument beyond which its operation has no value, and ends there, section 5.
    fn judge_edge(&mut self, zero: Zero, distance: f64, size: StepSize) -> Verdict {
        let reached = distance <= 0.65 * size.step;
        if !reached && !self.is_near_end(distance) {
            return Verdict::Go {
                limit: (0.5 * distance).max(distance - 0.55 * size.step),
            };
        }
        let nature = match self.fits.is_empty() {
            true => Nature::Branch,
            false => nature_of(&self.fits),
        };
        let stop = self.end_at(zero, nature, size);
        if reached {
            self.close_at(zero.time, Some(zero.time));
        }
        Verdict::End(stop)
    }

    fn judge_removable(
        &mut self,
        mut approach: Approach,
        distance: f64,
        size: StepSize,
    ) -> Verdict {
        let zero = approach.zero;
        // Rounding near the zero shortens the steps of what is not carried on, the more the nearer the run comes.
        let step = match approach.stuck > 0 {
            true => self.rule.step_of_states(&self.series),
            false => size.step,
        };
        let size = StepSize {
            step: step.max(size.step),
            ..size
        };
        // The series of a polynomial reaches to infinity; a landing point must not.
        let size = StepSize {
            step: size.step.min(LONGEST_JUMP * distance),
            reach: size.reach.min(LONGEST_JUMP * distance),
        };
        let proceed = self.options.on_singularity.goes_on();
        let free = self.stages.problem().structure().n_degrees_of_freedom() > 0;
        let careful = if approach.stuck > 0 { 0.9 } else { 0.65 };
        let near = distance <= careful * size.step;
        let decides = near || proceed && !free || approach.last_step && !proceed;
        let passage = match decides {
            true => self.passage(zero),
            false => Passage::Smooth,
        };
        let is_one = passage == Passage::Smooth;
        // Nearer to the point more is known.
        let decides = decides && (near || approach.last_step || passage.is_told());
        if decides && (is_one || self.is_fold(zero)) && self.is_missed(zero) {
            self.approach = Some(approach);
            return Verdict::Go {
                limit: 0.5 * distance,
            };
        }
        let is_family = decides && is_one && self.is_family(zero);
        let stops = (!is_one || is_family) && self.options.on_singularity != OnSingularity::Pass;
        if proceed && !stops && (near || !free) {
            approach.passage = passage;
            self.approach = Some(approach);
            // States cross with the accuracy of the series itself, hence not further than a careful step.
            let far = if free {
                (0.9 * size.step).max(1.15 * distance)
            } else {
                (distance + distance.max(0.3 * size.reach)).min(3.0 * size.reach)
            };
            let far = self.before_next(distance, far);
            return Verdict::Jump {
                landing: self.time + self.direction * self.before_switch(distance, far),
            };
        }
        if decides {
            let nature = match is_family {
                true => Nature::Family,
                false => passage.nature(),
            };
            let zero = self.refined(zero, size);
            let stop = self.end_at(zero, nature, size);
            if nature == Nature::Removable && !self.goes_on_behind(distance, size) {
                let last = self.singularities.last_mut();
                last.expect("it was just told").nature = Nature::Unresolved;
            }
            self.close_at(zero.time, Some(zero.time));
            return Verdict::End(stop);
        }
        // One more step, to a point from which the series serves up to the zero.
        approach.last_step = true;
        self.approach = Some(approach);
        Verdict::Go {
            limit: (distance - 0.55 * size.step).max(0.1 * size.step),
        }
    }

    /// A zero that the series reaches past, once more as a multiple one.
    pub(super) fn refined(&mut self, zero: Zero, size: StepSize) -> Zero {
        let expansion = Expansion {
            time: self.time,
            series: &self.series,
        };
        let distance = (zero.time - self.time).abs();
        let radius = AROUND * size.reach.min(LONGEST_JUMP * distance);
        self.monitor.refined(expansion, zero, radius)
    }

    /// A distance behind a zero, but not behind the next one that the series sees.
    fn before_next(&mut self, zero: f64, far: f64) -> f64 {
        let expansion = Expansion {
            time: self.time,
            series: &self.series,
        };
        let followed = self.monitor.followed(expansion, self.direction * far).abs();
        let far = far.min(followed.max(2.0 * zero));
        let from = zero + NEAREST * (far - zero);
        let range = (self.direction * from, self.direction * far);
        let next = self.monitor.look_between(expansion, range, true);
        next.map_or(far, |next| 0.5 * (zero + (next.time - self.time).abs()))
    }

    /// A distance behind a zero, but not behind the next switch.
    pub(super) fn before_switch(&mut self, zero: f64, far: f64) -> f64 {
        let switch = match self.stages.n_branches() {
            0 => None,
            _ => self.first_switch(far),
        };
        switch.map_or(far, |(s, _)| zero + 0.5 * (s - zero).max(0.0))
    }

    /// The solutions through the point at which a determinant vanishes, (14) and (R13).
    pub(super) fn passage(&mut self, zero: Zero) -> Passage {
        if self.monitor.block(zero.quantity).is_none() {
            return Passage::Smooth;
        }
        let n = self.trajectory.n();
        let distance = zero.time - self.time;
        shift(&self.series, n, distance, &mut self.point);
        self.stages.set_point(zero.time, &self.point);
        let (series, n_point) = (&self.series, self.point.len());
        let found = self.stages.passage(distance, 0.0, |s, point| {
            point.resize(n_point, 0.0);
            shift(series, n, distance + s, point);
        });
        // The series are left as they were: nothing reads the stages but the switching quantities.
        shift(&self.series, n, 0.0, &mut self.point);
        self.stages.set_point(self.time, &self.point);
        if self.stages.n_branches() > 0 {
            let _ = self.solve_point(false);
        }
        found.unwrap_or(Passage::Smooth)
    }

    /// Whether the determinant of a block does not vanish on the constraints, though it does on the series, (R31).
    ///
    /// y^2 = x^2 + e^2 has no y = 0, however little e is beside the tolerance: a series goes through it, and the constraints do not.
    fn is_missed(&mut self, zero: Zero) -> bool {
        let problem = self.stages.problem();
        let structure = problem.structure();
        let Some(block) = structure.blocks().get(zero.quantity) else {
            return false;
        };
        let offsets = &structure.offsets().equation;
        let is_constraint = block.equations.iter().all(|&i| offsets[i] > 0);
        // Without states nothing is carried on, and what is no fold is known to rounding.
        let is_free = structure.n_degrees_of_freedom() > 0;
        if !(self.is_fold(zero) || is_constraint && is_free) {
            return false;
        }
        self.point.clear();
        self.point
            .extend_from_slice(&self.series[..self.stages.n_point()]);
        let mut nearest = self.point.clone();
        let Some(start) = self.determinant_at(zero.quantity, self.time, &nearest) else {
            return false;
        };
        let vanishes = start + TOUCH_WIDTH.ln();
        let (mut centre, mut least) = (zero.time, f64::INFINITY);
        let mut reach = 0.1 * (zero.time - self.time).abs();
        let shortest = TOUCH_WIDTH * reach;
        // By halves up to where the search begins: Newton's method for a root halves what it is off by.
        let mut left = zero.time - self.time;
        while left.abs() > reach {
            left *= 0.5;
            if self
                .determinant_at(zero.quantity, zero.time - left, &nearest)
                .is_some()
            {
                nearest.clone_from(&self.point);
            }
        }
        while reach > shortest && least > vanishes {
            let mut lowest: Option<(f64, f64, Vec<f64>)> = None;
            for part in [-1.0, -0.5, 0.0, 0.5, 1.0] {
                let time = centre + part * reach;
                if let Some(found) = self.determinant_at(zero.quantity, time, &nearest)
                    && lowest.as_ref().is_none_or(|lowest| found < lowest.1)
                {
                    lowest = Some((time, found, self.point.clone()));
                }
            }
            let Some((time, found, point)) = lowest else {
                least = f64::NEG_INFINITY;
                break;
            };
            (centre, least, nearest) = (time, least.min(found), point);
            reach *= 0.5;
        }
        self.point.clear();
        self.point
            .extend_from_slice(&self.series[..self.stages.n_point()]);
        self.stages.set_point(self.time, &self.point);
        let _ = self.solve_point(false);
        least > vanishes
    }

    /// Whether the determinant that vanishes reads what its own block determines.
    fn is_fold(&self, zero: Zero) -> bool {
        let known = self.reads.as_ref();
        known.is_some_and(|(quantity, reads)| *quantity == zero.quantity && reads.is_fold)
    }

    /// The logarithm of the determinant of a block where the series is brought onto the constraints, and the point there; `None` where it
    /// cannot be. What the equations determine, x_j^(d_j), is looked for from a point that holds, where the series itself is too close to
    /// the zero for Newton's method.
    fn determinant_at(&mut self, block: usize, time: f64, from: &[f64]) -> Option<f64> {
        let n = self.trajectory.n();
        for is_from in [false, true] {
            self.point.resize(from.len(), 0.0);
            shift(&self.series, n, time - self.time, &mut self.point);
            if is_from {
                let problem = self.stages.problem();
                let is_determined = |at: usize| at / n >= problem.unknown_offset(at % n);
                for at in (0..from.len()).filter(|&at| is_determined(at)) {
                    self.point[at] = from[at];
                }
            }
            self.stages.set_point(time, &self.point);
            // Near a fold the Jacobian changes at once where the unknowns hardly do, and one that is kept takes many rounds.
            let mut is_solved = false;
            for _ in 0..4 {
                is_solved = self.stages.factor().is_ok() && self.stages.project(true).is_ok();
                if is_solved {
                    break;
                }
            }
            let is_solved = is_solved && self.stages.factor().is_ok();
            if is_solved {
                let mut solved = std::mem::take(&mut self.point);
                self.stages.point(&mut solved);
                self.point = solved;
                return Some(self.stages.solver().determinant(block).log_abs);
            }
        }
        None
    }

    /// Records a zero at which the run ends, or would end.
    pub(super) fn end_at(&mut self, zero: Zero, nature: Nature, size: StepSize) -> StopReason {
        self.end_with(Some(zero.quantity), zero, nature, size)
    }

    /// Records a singular point of a quantity, or of the series alone.
    pub(super) fn end_with(
        &mut self,
        quantity: Option<usize>,
        zero: Zero,
        nature: Nature,
        size: StepSize,
    ) -> StopReason {
        // What one solution does says nothing of its neighbours: c |t - t*|^lambda is a branch point for each c.
        let nature = match (nature, quantity) {
            (Nature::Branch | Nature::Unresolved, Some(quantity))
                if self.is_family(Zero { quantity, ..zero }) =>
            {
                Nature::Family
            }
            _ => nature,
        };
        let expansion = Expansion {
            time: self.time,
            series: &self.series,
        };
        let mut singularity = self
            .monitor
            .describe(expansion, zero.time, quantity, nature);
        singularity.evidence.step = size.step;
        singularity.evidence.sign_change = zero.sign_change;
        // Of what is not resolved all that is known is that it lies ahead, about as far as the series say.
        singularity.evidence.uncertainty = match nature {
            Nature::Unresolved => zero.uncertainty.max((zero.time - self.time).abs()),
            _ => zero.uncertainty,
        };
        singularity.evidence.fits.clone_from(&self.fits);
        self.singularities.push(singularity);
        StopReason::Singularity
    }
}
