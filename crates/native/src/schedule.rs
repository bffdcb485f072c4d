//! In which order the operations of a tape become code, and where the code is cut into pieces.
//!
//! A tape lists all residuals first and all entries of the Jacobian after them, so what an entry
//! shares with its residual would wait long for its use. Here the roots are brought together that
//! share work, each with its operations just before it, so that most values live in a processor's
//! register from their birth to their last use. Calls of functions come first where the tape is short.

use crate::functions;
use crate::repeat::{Repeat, Repeats, Stretch, cost};
use daelight_expr::{BinaryOp, Operation, Register, Slot, Tape, UnaryOp};
use std::ops::Range;

/// One step of the code.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    /// Compute one register.
    Compute(Register, Operation),
    /// Compute the sine and the cosine of a register together.
    SineCosine {
        sine: Register,
        cosine: Register,
        of: Register,
    },
    /// Write a register to an output.
    Write {
        root: u32,
        register: Register,
        /// What must be a number for the output to be one, unless others vouch for it.
        witness: Option<Register>,
    },
    /// Run a loop of [`Schedule::loops`].
    Repeat { place: usize },
}

/// Where a value stands when another piece needs it.
pub(crate) const NOWHERE: u32 = u32::MAX;

/// The order of the steps, the pieces, and the values that cross from one piece to another.
#[derive(Debug)]
pub(crate) struct Schedule {
    pub steps: Vec<Step>,
    pub pieces: Vec<Range<usize>>,
    /// The first pieces, which read parameters only and need not run again for the same ones.
    pub n_resting_pieces: usize,
    /// The place among the kept values, or [`NOWHERE`], by register.
    pub kept: Vec<u32>,
    pub n_kept: usize,
    pub loops: Vec<Repeat>,
    /// Numbers that differ from instance to instance of a loop.
    pub loop_numbers: Vec<f64>,
}

/// Constants and inputs are read from memory where they are used, and never scheduled.
pub(crate) fn is_leaf(operation: Operation) -> bool {
    matches!(operation, Operation::Constant(_) | Operation::Input(_))
}

impl Schedule {
    /// Orders the work for all roots; no piece has more than about `piece_length` steps.
    ///
    /// `bounds` are those of [`bounds`]. Rows that repeat become loops.
    pub(crate) fn new(tape: &Tape, bounds: &[f64], piece_length: usize) -> Self {
        let mut steps = Vec::new();
        let mut walk = Walk::new(tape);
        let rests = resting(tape);
        for (place, &rests) in rests.iter().enumerate() {
            if rests {
                walk.visit(tape.register(place), &mut steps);
            }
        }
        let n_resting = steps.len();
        let witnesses = witnesses(tape);
        let mut places = Places {
            kept: vec![NOWHERE; tape.n_registers()],
            n_kept: 0,
        };
        let (mut loops, mut loop_numbers) = (Vec::new(), Vec::new());
        if let Some(repeats) = Repeats::find(tape, &rests, bounds) {
            walk.visit_rows(&repeats, &witnesses, &mut steps);
            places = Places {
                kept: repeats.kept,
                n_kept: repeats.n_kept,
            };
            (loops, loop_numbers) = (repeats.loops, repeats.numbers);
        } else {
            // In a long tape what waits for a call would be far from it.
            if tape.n_registers() <= piece_length {
                for register in calls_by_urgency(tape) {
                    walk.visit(register, &mut steps);
                }
            }
            for root in roots_by_kinship(tape) {
                let register = tape.root(root as usize);
                walk.visit(register, &mut steps);
                steps.push(Step::Write {
                    root,
                    register,
                    witness: witnesses[root as usize],
                });
            }
        }
        let mut pieces: Vec<_> = cut(0..n_resting, piece_length).collect();
        let n_resting_pieces = pieces.len();
        pieces.extend(cut(n_resting..steps.len(), piece_length));
        places.keep_crossings(&steps, &pieces);
        Self {
            steps,
            pieces,
            n_resting_pieces,
            kept: places.kept,
            n_kept: places.n_kept,
            loops,
            loop_numbers,
        }
    }

    /// Operations and writes in the code.
    pub(crate) fn n_steps(&self) -> usize {
        let lengths = self.steps.iter().map(|&step| match step {
            Step::Repeat { place } => self.loops[place].n_steps(),
            _ => 1,
        });
        lengths.sum()
    }

    /// Whether most of the work is done in loops.
    pub(crate) fn is_mostly_loops(&self) -> bool {
        let bodies = self.loops.iter();
        let in_loops = bodies.map(|repeat| repeat.n_trips * repeat.n_steps());
        in_loops.sum::<usize>() > self.steps.len()
    }
}

/// Cuts steps into pieces.
fn cut(range: Range<usize>, piece_length: usize) -> impl Iterator<Item = Range<usize>> {
    let end = range.end;
    range
        .step_by(piece_length)
        .map(move |start| start..end.min(start + piece_length))
}

/// Which registers depend on parameters and numbers only, and are not one of them.
fn resting(tape: &Tape) -> Vec<bool> {
    let mut is_fixed = vec![false; tape.n_registers()];
    let mut rests = vec![false; tape.n_registers()];
    for place in 0..tape.n_registers() {
        let Some(operation) = tape.operation(tape.register(place)) else {
            continue;
        };
        is_fixed[place] = match operation {
            Operation::Constant(_) | Operation::Input(Slot::Parameter(_)) => true,
            Operation::Input(_) => false,
            operation => operation
                .operands()
                .all(|operand| is_fixed[operand.index()]),
        };
        rests[place] = is_fixed[place] && !is_leaf(operation);
    }
    rests
}

/// What a step reads.
fn reads(step: Step) -> impl Iterator<Item = Register> {
    let (operation, others) = match step {
        Step::Compute(_, operation) => (Some(operation), [None; 2]),
        Step::SineCosine { of, .. } => (None, [Some(of), None]),
        Step::Write {
            register, witness, ..
        } => (None, [Some(register), witness]),
        // What loops read from the table has its place already.
        Step::Repeat { .. } => (None, [None; 2]),
    };
    operation
        .into_iter()
        .flat_map(Operation::operands)
        .chain(others.into_iter().flatten())
}

/// For each root the register that has to be looked at, so that all roots are known to be numbers.
///
/// An operation is no number where an operand is none, except that and, or and if may not need an operand. So a root that
/// is a number vouches for all roots that it is computed from, and only the last ones of such chains have witnesses;
/// docs/theory/jets.md, (31a). The witness of -a is a, which may have been vouched for.
fn witnesses(tape: &Tape) -> Vec<Option<Register>> {
    let mut witnesses = vec![None; tape.n_roots()];
    let mut root_of = vec![NOWHERE; tape.n_registers()];
    for root in 0..tape.n_roots() {
        root_of[tape.root(root).index()] = root as u32;
    }
    let mut is_vouched = vec![false; tape.n_registers()];
    for place in (0..tape.n_registers()).rev() {
        let register = tape.register(place);
        let Some(operation) = tape.operation(register) else {
            continue;
        };
        let root = root_of[place];
        if root != NOWHERE && !is_vouched[place] {
            match operation {
                Operation::Constant(number) if number.is_finite() => {}
                Operation::Unary(UnaryOp::Neg, a) => root_of[a.index()] = root,
                _ => {
                    witnesses[root as usize] = Some(register);
                    is_vouched[place] = true;
                }
            }
        }
        if is_vouched[place] && needs_all_operands(operation) {
            for operand in operation.operands() {
                is_vouched[operand.index()] = true;
            }
        }
    }
    witnesses
}

/// Whether an operation is no number wherever an operand is none.
fn needs_all_operands(operation: Operation) -> bool {
    !matches!(
        operation,
        Operation::Select(..) | Operation::Binary(BinaryOp::And | BinaryOp::Or, ..)
    )
}

/// Which values have a place in the table.
struct Places {
    kept: Vec<u32>,
    n_kept: usize,
}

impl Places {
    fn keep(&mut self, register: Register) {
        let place = &mut self.kept[register.index()];
        if *place == NOWHERE {
            *place = self.n_kept as u32;
            self.n_kept += 1;
        }
    }

    /// Gives a place to every value that is used in a later piece than the one that computes it, and
    /// to all sines and cosines that are computed together.
    fn keep_crossings(&mut self, steps: &[Step], pieces: &[Range<usize>]) {
        let mut born = vec![NOWHERE; self.kept.len()];
        for (piece, range) in pieces.iter().enumerate() {
            for &step in &steps[range.clone()] {
                for register in reads(step) {
                    let born = born[register.index()];
                    if born != NOWHERE && born != piece as u32 {
                        self.keep(register);
                    }
                }
                match step {
                    Step::Compute(register, _) => born[register.index()] = piece as u32,
                    // They are written to memory by the function, and read from there.
                    Step::SineCosine { sine, cosine, .. } => {
                        for register in [sine, cosine] {
                            born[register.index()] = piece as u32;
                            self.keep(register);
                        }
                    }
                    Step::Write { .. } | Step::Repeat { .. } => {}
                }
            }
        }
    }
}

/// The roots, those that share work side by side; otherwise in their own order.
///
/// A root that is the first to read some variable keeps its place. Any other one goes to the latest
/// root that computed a part of it: an entry of the Jacobian to its residual. This is one pass over
/// the tape.
fn roots_by_kinship(tape: &Tape) -> Vec<u32> {
    let mut home = vec![NOWHERE; tape.n_registers()];
    let mut keys = Vec::with_capacity(tape.n_roots());
    let mut pending = Vec::new();
    let mut fresh = Vec::new();
    for root in 0..tape.n_roots() {
        let mut reads_new_variable = false;
        let mut latest = None;
        fresh.clear();
        pending.push(tape.root(root));
        while let Some(register) = pending.pop() {
            let known = home[register.index()];
            let operation = operation(tape, register);
            if matches!(operation, Operation::Constant(_)) {
                continue;
            }
            if known != NOWHERE {
                if known != root as u32 {
                    latest = latest.max(Some(known));
                }
                continue;
            }
            home[register.index()] = root as u32;
            fresh.push(register);
            reads_new_variable |= matches!(operation, Operation::Input(Slot::Variable { .. }));
            pending.extend(operation.operands());
        }
        let key = match latest {
            Some(latest) if !reads_new_variable => latest,
            _ => root as u32,
        };
        for register in &fresh {
            home[register.index()] = key;
        }
        keys.push(key);
    }
    let mut order: Vec<u32> = (0..tape.n_roots() as u32).collect();
    order.sort_by_key(|&root| keys[root as usize]);
    order
}

/// The registers that are calls of functions, those first on which the longest chain of operations waits.
///
/// The calls of a short tape come before everything else. So the processor works on a call while it still waits for the
/// one before, no value has to survive a call in a register, and the chains behind the calls overlap: 45 ns instead
/// of 55 for the Jacobian of the robotic arm, whose 15 divisions wait for one of three calls.
fn calls_by_urgency(tape: &Tape) -> Vec<Register> {
    let mut waits = vec![0u32; tape.n_registers()];
    let mut calls = Vec::new();
    for place in (0..tape.n_registers()).rev() {
        let register = tape.register(place);
        let Some(operation) = tape.operation(register) else {
            continue;
        };
        let longest = waits[place].saturating_add(cost(operation));
        for operand in operation.operands() {
            let waits = &mut waits[operand.index()];
            *waits = longest.max(*waits);
        }
        if functions::is_call(operation) {
            calls.push(register);
        }
    }
    calls.sort_by_key(|register| std::cmp::Reverse(waits[register.index()]));
    calls
}

/// What a register that a root needs holds.
pub(crate) fn operation(tape: &Tape, register: Register) -> Operation {
    tape.operation(register)
        .expect("the roots need no companion of a Taylor series")
}

/// Operands before what needs them, each register once, without recursion.
struct Walk<'a> {
    tape: &'a Tape,
    done: Vec<bool>,
    /// The register that holds the other one of sine and cosine of the same operand.
    partner: Vec<u32>,
    stack: Vec<(Register, bool)>,
}

/// For the sine or the cosine of an operand, the register that holds the other one.
pub(crate) fn partners(tape: &Tape) -> Vec<u32> {
    let n_registers = tape.n_registers();
    let mut partner = vec![NOWHERE; n_registers];
    let mut angle = vec![NOWHERE; n_registers];
    for place in 0..n_registers {
        let register = tape.register(place);
        if let Some(Operation::Unary(UnaryOp::Sin | UnaryOp::Cos, of)) = tape.operation(register) {
            let first = angle[of.index()];
            if first == NOWHERE {
                angle[of.index()] = place as u32;
            } else {
                partner[first as usize] = place as u32;
                partner[place] = first;
            }
        }
    }
    partner
}

impl<'a> Walk<'a> {
    fn new(tape: &'a Tape) -> Self {
        Self {
            tape,
            done: vec![false; tape.n_registers()],
            partner: partners(tape),
            stack: Vec::new(),
        }
    }

    /// The roots in their own order, loops among them.
    fn visit_rows(
        &mut self,
        repeats: &Repeats,
        witnesses: &[Option<Register>],
        steps: &mut Vec<Step>,
    ) {
        for stretch in &repeats.stretches {
            match stretch {
                Stretch::Single(range) => {
                    for item in &repeats.items[range.clone()] {
                        let register = item.register;
                        self.visit(register, steps);
                        if let Some(root) = item.root {
                            steps.push(Step::Write {
                                root,
                                register,
                                witness: witnesses[root as usize],
                            });
                        }
                    }
                }
                Stretch::Repeated(range, place) => {
                    steps.push(Step::Repeat { place: *place });
                    // Of what a loop computes, only the kept parts can be read afterwards.
                    for item in &repeats.items[range.clone()] {
                        self.done[item.register.index()] |= item.root.is_none();
                    }
                }
            }
        }
    }

    fn visit(&mut self, root: Register, steps: &mut Vec<Step>) {
        self.stack.push((root, false));
        while let Some((register, ready)) = self.stack.pop() {
            if self.done[register.index()] {
                continue;
            }
            let operation = operation(self.tape, register);
            if is_leaf(operation) {
                continue;
            }
            if ready {
                self.compute(register, operation, steps);
            } else {
                self.stack.push((register, true));
                self.stack
                    .extend(operation.operands().rev().map(|operand| (operand, false)));
            }
        }
    }

    fn compute(&mut self, register: Register, operation: Operation, steps: &mut Vec<Step>) {
        self.done[register.index()] = true;
        let partner = self.partner[register.index()];
        let step = match operation {
            Operation::Unary(function @ (UnaryOp::Sin | UnaryOp::Cos), of)
                if partner != NOWHERE =>
            {
                let other = self.tape.register(partner as usize);
                self.done[partner as usize] = true;
                let (sine, cosine) = if function == UnaryOp::Sin {
                    (register, other)
                } else {
                    (other, register)
                };
                Step::SineCosine { sine, cosine, of }
            }
            _ => Step::Compute(register, operation),
        };
        steps.push(step);
    }
}

/// An upper bound of the magnitude of every register that is a number; infinity where there is none.
///
/// Where a bound is finite the result cannot overflow, and needs no check before an operation that
/// would turn infinity into a number again.
pub(crate) fn bounds(tape: &Tape) -> Vec<f64> {
    use daelight_expr::BinaryOp as B;
    use daelight_expr::UnaryOp as U;
    /// Room for the rounding of the bounds themselves.
    const SAFE: f64 = 1e300;
    let mut bounds = vec![f64::INFINITY; tape.n_registers()];
    for place in 0..tape.n_registers() {
        let Some(operation) = tape.operation(tape.register(place)) else {
            continue;
        };
        let of = |register: Register| bounds[register.index()];
        let bound = match operation {
            Operation::Constant(value) => value.abs(),
            Operation::Input(_) | Operation::Reciprocal(_) => f64::INFINITY,
            Operation::Unary(op, a) => match op {
                U::Neg | U::Abs => of(a),
                U::Sin | U::Cos | U::Tanh | U::Sign | U::Not => 1.0,
                U::Asin | U::Acos | U::Atan => 4.0,
                U::Sqrt => of(a).max(1.0),
                _ => f64::INFINITY,
            },
            Operation::Binary(op, a, b) => match op {
                B::Add | B::Sub => of(a) + of(b),
                B::Mul => of(a) * of(b),
                B::Min | B::Max => of(a).max(of(b)),
                B::Div | B::Pow => f64::INFINITY,
                B::Atan2 => 4.0,
                _ => 1.0,
            },
            Operation::One(_) => 1.0,
            Operation::Select(_, a, b) => of(a).max(of(b)),
        };
        // Zero times infinity is no bound.
        bounds[place] = if bound < SAFE { bound } else { f64::INFINITY };
    }
    bounds
}
