//! Which steps of several runs hold no narrow features of operations on unknowns, (R8) of `docs/theory/runs.md`.
//!
//! As `watch/features.rs` asks it of one run first, by discs of complex times (R7): the same values, the same discs, the same bounds in the
//! same order. A run whose operations have no such bound, or one that is too wide, is looked at alone.

use super::pack::Pack;
use super::program::{Program, Room, Value};
use super::solve::Solver;
use crate::problem::Problem;
use crate::tolerances::{FEATURE, FEATURE_DISCS};
use daelight_expr::{BinaryOp, Disc, Operation, Register, Scalar, Slot, UnaryOp};

/// Discs of several runs; NaN where there is none.
#[derive(Clone, Copy)]
struct Discs<const W: usize> {
    centre: Pack<W>,
    radius: Pack<W>,
}

impl<const W: usize> Discs<W> {
    const ZERO: Self = Self {
        centre: Pack::ZERO,
        radius: Pack::ZERO,
    };

    /// Nothing for the runs whose disc is not finite, as for single ones.
    #[inline(always)]
    fn clean(self) -> Self {
        // A number times 0 is 0, infinity and NaN are not.
        let doubt = self.centre * 0.0 + self.radius * 0.0;
        Self {
            centre: self.centre + doubt,
            radius: self.radius + doubt,
        }
    }

    #[inline(always)]
    fn neg(self) -> Self {
        Self {
            centre: -self.centre,
            radius: self.radius,
        }
    }

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self {
            centre: self.centre + other.centre,
            radius: self.radius + other.radius,
        }
    }

    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        let grown = self.centre.abs() * other.radius + other.centre.abs() * self.radius;
        Self {
            centre: self.centre * other.centre,
            radius: grown + self.radius * other.radius,
        }
    }

    #[inline(always)]
    fn div(self, other: Self) -> Self {
        let one = Pack::all(1.0);
        let part = other.radius / other.centre.abs();
        let inverse = one / other.centre;
        let radius = inverse.abs() * part / (one - part);
        // Where the disc holds zero there is no quotient.
        let inverse = inverse.with(part, |x, part| if part < 1.0 { x } else { f64::NAN });
        self.mul(Self {
            centre: inverse,
            radius,
        })
    }

    /// A function of each disc.
    #[inline(always)]
    fn map(self, f: impl Fn(Disc) -> Disc) -> Self {
        let mut out = self;
        for lane in 0..W {
            let found = f(Disc::new(self.centre[lane], self.radius[lane]));
            (out.centre[lane], out.radius[lane]) = (found.to_f64(), found.radius());
        }
        out
    }
}

/// What asks all runs at once.
pub(super) struct Known<const W: usize> {
    program: Program,
    room: Room<W>,
    discs: Vec<Discs<W>>,
    /// Discs of what follows from the parameters of one run.
    resting: Vec<Disc>,
    nodes: Vec<usize>,
    n_slots: usize,
    point: Vec<Pack<W>>,
    /// The unknowns and their derivatives, `[order][unknown]`.
    unknowns: Vec<Discs<W>>,
    /// The least and the greatest value of each operation that was seen on a step.
    seen: Vec<[Pack<W>; 2]>,
}

impl<const W: usize> Known<W> {
    /// `None` where runs side by side do not evaluate the equations; then each is asked alone.
    pub fn new(problem: &Problem, nodes: &[Register]) -> Option<Self> {
        let tape = problem.plain_tape();
        let program = Program::new(&tape, 0)?;
        let n_slots = tape.max_slot_order() + 1;
        let n = problem.n();
        Some(Self {
            room: program.room(),
            discs: vec![Discs::ZERO; program.n_registers],
            resting: vec![Disc::ZERO; program.n_registers],
            nodes: nodes.iter().map(|node| node.index()).collect(),
            n_slots,
            point: vec![Pack::ZERO; n_slots * n],
            unknowns: vec![Discs::ZERO; n_slots * n],
            seen: vec![[Pack::ZERO; 2]; nodes.len()],
            program,
        })
    }

    /// Gives one run the values of its parameters.
    pub fn set_parameters(&mut self, lane: usize, parameters: &[f64]) {
        self.program
            .set_parameters(&mut self.room, lane, parameters);
        for &(row, operation) in &self.program.resting {
            let at = |register: Register| self.resting[register.index()];
            let found = match operation {
                Operation::Constant(x) => Disc::from(x),
                Operation::Input(Slot::Parameter(index)) => Disc::from(parameters[index as usize]),
                Operation::Unary(op, a) => at(a).unary(op),
                Operation::Binary(op, a, b) => binary(op, at(a), at(b)),
                Operation::Reciprocal(a) => Disc::ONE / at(a),
                // Without a bound the run is asked alone.
                Operation::Input(_) | Operation::One(_) | Operation::Select(..) => Disc::NAN,
            };
            let found = if found.is_finite() { found } else { Disc::NAN };
            self.resting[row] = found;
            let place = &mut self.discs[row];
            (place.centre[lane], place.radius[lane]) = (found.to_f64(), found.radius());
        }
    }

    /// Which series know all operations on steps of lengths h.
    #[inline(always)]
    pub fn of_steps(
        &mut self,
        solver: &Solver<W>,
        series: &[Pack<W>],
        (time, direction): (&Pack<W>, &Pack<W>),
        h: &Pack<W>,
    ) -> [bool; W] {
        let n_rows = series.len() / solver.n;
        if n_rows <= self.n_slots {
            return [false; W];
        }
        let has_values = self.look(solver, series, (time, direction), h);
        let n_known = (n_rows - self.n_slots) as i32;
        let mut known = [false; W];
        for times in FEATURE_DISCS {
            self.encircle(solver.n, series, time, &(*h * times));
            let part = 1.0 / times;
            let left = part.powi(n_known + 1) / (1.0 - part);
            let serves = self.serves(left);
            for lane in 0..W {
                known[lane] |= has_values[lane] && serves[lane];
            }
            if (0..W).all(|lane| known[lane] || !has_values[lane]) {
                break;
            }
        }
        known
    }

    /// Looks at the values of all operations at the beginning, the end and in the middle; which runs have them.
    #[inline(always)]
    fn look(
        &mut self,
        solver: &Solver<W>,
        series: &[Pack<W>],
        (time, direction): (&Pack<W>, &Pack<W>),
        h: &Pack<W>,
    ) -> [bool; W] {
        let mut doubt = Pack::ZERO;
        for (place, part) in [0.0, 1.0, 0.5].into_iter().enumerate() {
            let s = *direction * (*h * part);
            let at = if place == 0 {
                &series[..self.point.len()]
            } else {
                solver.shift(series, &s, self.n_slots, &mut self.point);
                &self.point
            };
            self.program.evaluate(&mut self.room, &(*time + s), at);
            for (&node, [low, high]) in self.nodes.iter().zip(&mut self.seen) {
                let value = *self.program.register(&self.room, node);
                doubt += value * 0.0;
                if place == 0 {
                    (*low, *high) = (value, value);
                } else {
                    *low = low.with(value, |a, b| if b < a { b } else { a });
                    *high = high.max(value);
                }
            }
            for root in 0..self.program.n_roots() {
                doubt += *self.program.root(&self.room, root) * 0.0;
            }
        }
        let mut has_values = [false; W];
        for lane in 0..W {
            has_values[lane] = doubt[lane] == 0.0;
        }
        has_values
    }

    /// Bounds all operations on discs of complex times around the beginnings of the steps.
    #[inline(always)]
    fn encircle(&mut self, n: usize, series: &[Pack<W>], time: &Pack<W>, radius: &Pack<W>) {
        let n_rows = series.len() / n;
        for order in 0..self.n_slots {
            for unknown in 0..n {
                let mut spread = Pack::ZERO;
                let mut power = Pack::all(1.0);
                let mut binomial = 1.0;
                for k in order + 1..n_rows {
                    power = power * *radius;
                    binomial *= k as f64 / (k - order) as f64;
                    spread += Pack::all(binomial) * series[k * n + unknown].abs() * power;
                }
                self.unknowns[order * n + unknown] = Discs {
                    centre: series[order * n + unknown],
                    radius: spread,
                };
            }
        }
        let time = Discs {
            centre: *time,
            radius: *radius,
        };
        for step in &self.program.steps {
            let at = |row: usize| self.discs[row];
            let found = match step.value {
                Value::Known => continue,
                Value::Variable(place, factor) => self.unknowns[place].mul(Discs {
                    centre: Pack::all(factor),
                    radius: Pack::ZERO,
                }),
                Value::Time => time,
                Value::Neg(a) => at(a).neg(),
                Value::Add(a, b) => at(a).add(at(b)),
                Value::Sub(a, b) => at(a).add(at(b).neg()),
                Value::Mul(a, b) => at(a).mul(at(b)),
                Value::Div(a, b) => at(a).div(at(b)),
                Value::Reciprocal(a) => {
                    let one = Pack::all(1.0);
                    let radius = Pack::ZERO;
                    Discs {
                        centre: one,
                        radius,
                    }
                    .div(at(a))
                }
                Value::Root(a) => at(a).map(|disc| disc.unary(UnaryOp::Sqrt)),
                Value::Unary(op, a) => at(a).map(|disc| disc.unary(op)),
            };
            self.discs[step.place()] = found.clean();
        }
    }

    /// For which runs the bounds leave less than the operations vary by, and all equations have one.
    #[inline(always)]
    fn serves(&self, left: f64) -> [bool; W] {
        let mut doubt = Pack::ZERO;
        for root in 0..self.program.n_roots() {
            let Discs { centre, radius } = self.discs[self.program.root_place(root)];
            doubt += centre * 0.0 + radius * 0.0;
        }
        let mut serves = [true; W];
        for (&node, [low, high]) in self.nodes.iter().zip(&self.seen) {
            let bound = self.discs[node].radius * left;
            let most = (*high - *low) * FEATURE;
            for lane in 0..W {
                // NaN does not serve.
                serves[lane] &= bound[lane] <= most[lane];
            }
        }
        for lane in 0..W {
            serves[lane] &= doubt[lane] == 0.0;
        }
        serves
    }
}

/// What follows from two discs, as a tape has it; nothing for what is not smooth.
fn binary(op: BinaryOp, a: Disc, b: Disc) -> Disc {
    match op {
        BinaryOp::Add => a + b,
        BinaryOp::Sub => a - b,
        BinaryOp::Mul => a * b,
        BinaryOp::Div => a / b,
        BinaryOp::Pow if !a.is_nan() && !b.is_nan() => a.power(b),
        _ => Disc::NAN,
    }
}
