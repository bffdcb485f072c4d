//! What time alone decides cannot be stepped over: on each step every function of time is its polynomial, by proof.
//!
//! Section 3 of `docs/theory/runs.md`: the bounds (R5) and (R6) of the remainder, and what they may do to the solution, (R3).

use super::effect::{Effect, Stretch};
use crate::blocks::BlockSolver;
use crate::options::Tolerances;
use crate::problem::Problem;
use crate::stages::same_branches;
use crate::tolerances::{FORCING_GROWTH, FORCING_SHORTEST, WINDOW};
use crate::trajectory::shift;
use daelight_expr::{ExprId, Forcing, Interval, Jet, JetEvaluator, PlainJet};
use std::cmp::Ordering;
use std::sync::Arc;

/// Degree of the polynomials that functions of time are to look like where zeros of determinants are looked for.
const LOW: usize = 8;

/// How much the functions of time may be off.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allowance {
    /// Order of the polynomials that are to follow them.
    pub order: usize,
    /// What their remainders may move an unknown by within one step, in tolerances.
    pub tolerances: f64,
    /// The greatest remainder of a function that decides, relative to the function on the step.
    pub deciding: f64,
}

/// Where a step begins.
pub(crate) struct At<'a> {
    pub time: f64,
    pub direction: f64,
    /// The solution from there on, `[order][unknown]`.
    pub series: &'a [f64],
    /// The sides of the branches of the residuals, which are held.
    pub sides: &'a [Ordering],
    /// Factors of the system Jacobian there.
    pub solver: &'a mut BlockSolver,
}

/// The functions of time of a problem, and how the equations follow them.
pub(crate) struct Forced<'p> {
    problem: &'p Problem,
    allowance: Allowance,
    functions: &'p [Forcing],
    /// Their series at a time, and enclosures of all their series within a step.
    series: Jet,
    enclosed: PlainJet<Interval>,
    /// Branches of the residuals for those of the functions.
    same_branch: Vec<Option<usize>>,
    /// The residuals as values, whose derivatives by the functions are asked for.
    residuals: Jet,
    same_residual_branch: Vec<Option<usize>>,
    /// Derivatives of all equations by each function, the greatest ones on the step; those that never change are kept.
    responses: Vec<Vec<f64>>,
    known: Vec<bool>,
    /// The greatest that each coefficient of each function is on the step, `[function][order]`.
    greatest: Vec<f64>,
    /// The last step that was proved.
    last: f64,
    last_window: f64,
    response: Vec<f64>,
    effect: Effect,
    right: Vec<f64>,
    point: Vec<f64>,
    /// A function that had no bound on any step, and when.
    pub unbounded: Option<(f64, ExprId)>,
}

impl<'p> Forced<'p> {
    /// `None` for equations without functions of time.
    pub fn new(problem: &'p Problem, allowance: Allowance) -> Option<Self> {
        let functions = problem.forcing();
        if functions.is_empty() {
            return None;
        }
        let tape = problem.forcing_tape();
        let max_lead = functions.iter().map(|f| f.lead).max().unwrap_or(0);
        let top = allowance.order + 1 + max_lead;
        let mut series = Jet::new(Arc::clone(tape), top);
        let mut enclosed = PlainJet::<Interval>::new(Arc::clone(tape), top.max(LOW + 1));
        let plain = problem.plain_tape();
        let n_slots = plain.max_slot_order() + 1;
        let mut residuals = Jet::new(plain, 0);
        let parameters = problem.parameters();
        let fill = |into: &mut [f64]| into.copy_from_slice(&parameters[..into.len()]);
        fill(series.inputs_mut().parameters_mut());
        fill(enclosed.inputs_mut().parameters_mut());
        fill(residuals.inputs_mut().parameters_mut());
        let n = problem.n();
        let staged = problem.residual_tape();
        let graph = problem.equations().graph();
        Some(Self {
            same_branch: same_branches(graph, staged, tape),
            same_residual_branch: same_branches(graph, staged, residuals.tape()),
            responses: vec![vec![0.0; n]; functions.len()],
            known: vec![false; functions.len()],
            greatest: Vec::new(),
            last: f64::INFINITY,
            last_window: f64::INFINITY,
            response: vec![0.0; n],
            effect: Effect::new(n),
            right: vec![0.0; n],
            point: vec![0.0; n_slots * n],
            unbounded: None,
            problem,
            allowance,
            functions,
            series,
            enclosed,
            residuals,
        })
    }

    /// Forgets the last step: what follows is no continuation of it.
    pub fn forget(&mut self) {
        self.last = f64::INFINITY;
        self.last_window = f64::INFINITY;
        self.known.fill(false);
    }

    /// The step, up to h, on which all functions of time are their polynomials as well as the tolerances ask, (R3).
    pub fn limit(&mut self, mut at: At<'_>, tolerances: &Tolerances, h: f64) -> f64 {
        let sides = at.sides;
        let branches = |known: &[Option<usize>]| -> Vec<(usize, Ordering)> {
            let known = known.iter().enumerate();
            known
                .filter_map(|(branch, same)| Some((branch, *sides.get((*same)?)?)))
                .collect()
        };
        for (branch, side) in branches(&self.same_branch) {
            self.series.branches_mut().choose(branch, side);
            self.enclosed.branches_mut().choose(branch, side);
        }
        self.series.branches_mut().hold(true);
        self.enclosed.branches_mut().hold(true);
        for (branch, side) in branches(&self.same_residual_branch) {
            self.residuals.branches_mut().choose(branch, side);
        }
        self.residuals.branches_mut().hold(true);
        let order = self.series.max_order();
        self.series.inputs_mut().set_time(at.time);
        if (0..=order).any(|k| self.series.extend(k as i32).is_err()) {
            // Without a value here the step itself will tell.
            return h;
        }
        let shortest = FORCING_SHORTEST * at.time.abs().max(h.min(1.0));
        let mut step = h.min(FORCING_GROWTH * self.last);
        while step > shortest {
            match self.excess(&mut at, tolerances, step) {
                None => {
                    self.last = step;
                    return step;
                }
                Some(excess) => step *= self.shortening(excess).clamp(0.25, 0.9),
            }
        }
        self.last = f64::INFINITY;
        h
    }

    /// The range ahead, up to h, on which the functions that enter the matrices are polynomials of low degree.
    pub fn window(&mut self, time: f64, direction: f64, h: f64) -> f64 {
        if self.functions.iter().all(|function| function.linear) {
            return h;
        }
        let shortest = FORCING_SHORTEST * time.abs().max(h.min(1.0));
        let mut step = h.min(FORCING_GROWTH * self.last_window);
        if !step.is_finite() {
            step = 1e6 * time.abs().max(1.0);
        }
        while step > shortest {
            let stretch = Interval::new(time, time + direction * step);
            self.enclosed.inputs_mut().set_time(stretch);
            for k in 0..=LOW + 1 {
                let _ = self.enclosed.extend(k as i32);
            }
            let serves = self.functions.iter().enumerate().all(|(which, function)| {
                let top = self.enclosed.root(which, LOW + 1).magnitude();
                let size = self.enclosed.root(which, 0).magnitude();
                let rest = top * step.powi(LOW as i32 + 1);
                function.linear || rest <= WINDOW * size
            });
            if serves {
                self.last_window = step;
                return step.min(h);
            }
            step *= 0.6;
        }
        self.last_window = f64::INFINITY;
        h
    }

    /// By how much a step is too long for some function; `None` if it serves.
    ///
    /// What intervals add to a bound falls with their width, so that a step that just fails is looked at in parts.
    fn excess(&mut self, at: &mut At<'_>, tolerances: &Tolerances, h: f64) -> Option<f64> {
        let mut n_parts = 1;
        loop {
            self.enclose(at, h, n_parts);
            let Some(excess) = self.first_excess(at, tolerances, h) else {
                self.unbounded = None;
                return None;
            };
            // With one part alone the arm on its safe path takes 35 steps instead of 31.
            if n_parts == 4 || self.shortening(excess) < 0.7 {
                return Some(excess);
            }
            n_parts *= 2;
        }
    }

    /// What a step is to be multiplied by: the remainder falls like a power of it.
    fn shortening(&self, excess: f64) -> f64 {
        let power = 1.0 / (self.allowance.order + 1) as f64;
        0.9 * excess.powf(-power)
    }

    /// The excess of the first function that has one.
    fn first_excess(&mut self, at: &mut At<'_>, tolerances: &Tolerances, h: f64) -> Option<f64> {
        for which in 0..self.functions.len() {
            let excess = self.excess_of(which, at, tolerances, h);
            if excess.is_nan() || excess > 1.0 {
                self.unbounded
                    .get_or_insert((at.time, self.functions[which].expr));
                let has_bound = !excess.is_nan();
                return Some(if has_bound { excess } else { f64::INFINITY });
            }
        }
        None
    }

    /// Bounds all coefficients of all functions over a step, part by part.
    fn enclose(&mut self, at: &At<'_>, h: f64, n_parts: usize) {
        let n_orders = self.series.max_order() + 1;
        self.greatest.clear();
        self.greatest.resize(self.functions.len() * n_orders, 0.0);
        let end = |part: usize| at.time + at.direction * h * part as f64 / n_parts as f64;
        for part in 0..n_parts {
            let stretch = Interval::new(end(part), end(part + 1));
            self.enclosed.inputs_mut().set_time(stretch);
            for k in 0..n_orders {
                // A function without an enclosure has no bound, which is seen later.
                let _ = self.enclosed.extend(k as i32);
            }
            for (place, greatest) in self.greatest.iter_mut().enumerate() {
                let root = self.enclosed.root(place / n_orders, place % n_orders);
                let magnitude = root.magnitude();
                if magnitude.is_nan() || magnitude > *greatest {
                    *greatest = magnitude;
                }
            }
        }
    }

    fn greatest(&self, which: usize, order: usize) -> f64 {
        self.greatest[which * (self.series.max_order() + 1) + order]
    }

    /// The remainder of the c-th derivative of a function at the end of the step, (R5), and over the step, (R6).
    fn remainders(&self, which: usize, c: usize, h: f64) -> [f64; 2] {
        let order = self.allowance.order;
        let rising = |m: usize| (m + 1..=m + c).map(|f| f as f64).product::<f64>();
        let top = self.greatest(which, order + 1 + c);
        let by_last = top * rising(order + 1) * h.powi(order as i32 + 1);
        let mut trivial = self.greatest(which, c) * rising(0);
        let mut power = 1.0;
        for m in 0..=order {
            trivial += self.series.root(which, m + c).abs() * rising(m) * power;
            power *= h;
        }
        [by_last, trivial]
    }

    /// What the remainder of one function does to the solution, in units of what is allowed.
    fn excess_of(&mut self, which: usize, at: &mut At<'_>, tolerances: &Tolerances, h: f64) -> f64 {
        let function = &self.functions[which];
        let mut excess = 0.0f64;
        if function.decides {
            let mut size = 0.0f64;
            let mut power = 1.0;
            for m in 0..=self.allowance.order {
                size = size.max(self.series.root(which, m).abs() * power);
                power *= h;
            }
            let size = size.max(self.greatest(which, 0));
            let [by_last, trivial] = self.remainders(which, 0, h);
            let remainder = by_last.min(trivial);
            if remainder > 0.0 {
                excess = remainder / (self.allowance.deciding * size);
            }
        }
        let Some(()) = self.respond(which, at, h) else {
            return excess;
        };
        let remainders: Vec<[f64; 2]> = (0..=function.lead)
            .map(|c| self.remainders(which, c, h))
            .collect();
        let offsets = &self.problem.structure().offsets().equation;
        // (R5) falls towards the beginning of the step like a power, (R6) does not.
        let moved = [self.allowance.order + 1, 0].map(|power| {
            let bound = usize::from(power == 0);
            for (i, right) in self.right.iter_mut().enumerate() {
                let response = self.responses[which][i];
                *right = match response {
                    0.0 => 0.0,
                    _ => response * remainders[offsets[i].min(remainders.len() - 1)][bound],
                };
            }
            let stretch = Stretch {
                h,
                power,
                lag: 0,
                tolerances: self.allowance.tolerances,
            };
            self.effect
                .of(self.problem, at, tolerances, &self.right, stretch)
        });
        excess.max(moved[0].min(moved[1]))
    }

    /// The greatest derivatives of the equations by a function at the ends and in the middle of a step; `None` without values.
    fn respond(&mut self, which: usize, at: &At<'_>, h: f64) -> Option<()> {
        let function = &self.functions[which];
        if self.known[which] {
            return Some(());
        }
        self.responses[which].fill(0.0);
        let places: &[f64] = if function.linear {
            &[0.0]
        } else {
            &[0.0, 0.5, 1.0]
        };
        let n = self.problem.n();
        let mut any = None;
        for part in places {
            let s = at.direction * h * part;
            shift(at.series, n, s, &mut self.point);
            let inputs = self.residuals.inputs_mut();
            inputs.set_time(at.time + s);
            for (order, row) in self.point.chunks_exact(n.max(1)).enumerate() {
                inputs.row_mut(order).copy_from_slice(row);
            }
            // A fault of one equation leaves the others.
            let _ = self.residuals.extend(0);
            self.residuals.response(function, &mut self.response);
            for (kept, found) in self.responses[which].iter_mut().zip(&self.response) {
                if found.is_finite() && found.abs() > kept.abs() {
                    *kept = *found;
                }
            }
            any = Some(());
        }
        self.known[which] = function.linear;
        any
    }
}
