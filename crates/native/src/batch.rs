//! Many points at once, on several threads, for sweeps.
//!
//! Every point is computed on its own, so the results do not depend on the number of threads or on
//! which points share a vector.

use crate::code::NativeCode;
use crate::evaluate::{NativeValues, Oracle, Point, all_finite, n_coefficients};
use daelight_expr::{Fault, Tape};
use std::sync::Arc;

/// Many points; what they share is given once.
#[derive(Clone, Copy, Debug)]
pub struct Points<'a> {
    /// How many.
    pub n_points: usize,
    /// Coefficients of the variables, `[point][order][variable]`.
    pub coefficients: &'a [f64],
    /// Parameters, `[point][parameter]`, or one set for all points.
    pub parameters: &'a [f64],
    /// One time per point, or one for all points.
    pub times: &'a [f64],
}

impl<'a> Points<'a> {
    /// One of the points.
    fn get(&self, tape: &Tape, point: usize) -> Point<'a> {
        let (n_coefficients, n_parameters) = (n_coefficients(tape), tape.n_parameters());
        let parameters = if self.shares_parameters(tape) {
            self.parameters
        } else {
            &self.parameters[point * n_parameters..][..n_parameters]
        };
        Point {
            coefficients: &self.coefficients[point * n_coefficients..][..n_coefficients],
            parameters,
            time: self.times[if self.times.len() == 1 { 0 } else { point }],
        }
    }

    fn shares_parameters(&self, tape: &Tape) -> bool {
        self.parameters.len() == tape.n_parameters()
    }

    fn check(&self, tape: &Tape) {
        assert_eq!(
            self.coefficients.len(),
            self.n_points * n_coefficients(tape),
            "coefficients are [point][order][variable]"
        );
        assert!(
            self.shares_parameters(tape)
                || self.parameters.len() == self.n_points * tape.n_parameters(),
            "parameters are one set, or one set per point"
        );
        assert!(
            self.times.len() == 1 || self.times.len() == self.n_points,
            "times are one, or one per point"
        );
    }
}

/// A point of a batch that has no values.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PointFault {
    /// Which point.
    pub point: usize,
    /// What failed there.
    pub fault: Fault,
}

/// Evaluates code at many points on a fixed number of threads.
///
/// ```
/// use daelight_expr::{Graph, Slot, SymbolId, Tape};
/// use daelight_native::{Batch, NativeCode, Points, Tier};
/// use std::sync::Arc;
///
/// let mut graph = Graph::new();
/// let [x, p] = [0, 1].map(|symbol| graph.symbol(SymbolId(symbol)));
/// let root = graph.div(p, x);
/// let tape = Tape::compile(&graph, &[root], |symbol| match symbol.0 {
///     0 => Slot::Variable { index: 0, order: 0 },
///     _ => Slot::Parameter(0),
/// });
/// let code = NativeCode::compile_pairs(Arc::new(tape), Tier::Quick)?;
/// let mut batch = Batch::new(Arc::new(code), 2);
/// let mut outputs = [0.0; 3];
/// let points =
///     Points { n_points: 3, coefficients: &[1.0, 0.0, 4.0], parameters: &[2.0], times: &[0.0] };
/// let faults = batch.evaluate(points, &mut outputs);
/// assert_eq!((outputs[0], outputs[2]), (2.0, 0.5));
/// assert_eq!((faults.len(), faults[0].point), (1, 1));
/// # Ok::<(), daelight_native::NativeError>(())
/// ```
#[derive(Debug)]
pub struct Batch {
    code: Arc<NativeCode>,
    workers: Vec<Worker>,
    faults: Vec<PointFault>,
}

/// What one thread needs.
#[derive(Debug)]
struct Worker {
    code: Arc<NativeCode>,
    room: Room,
    faults: Vec<PointFault>,
}

#[derive(Debug)]
enum Room {
    Single(Box<NativeValues>),
    Pairs {
        table: Vec<f64>,
        oracle: Box<Oracle>,
        /// Outputs of the missing partner of a last point.
        spare: Vec<f64>,
    },
}

impl Batch {
    /// Room for `n_threads` threads, at least one.
    pub fn new(code: Arc<NativeCode>, n_threads: usize) -> Self {
        let workers = (0..n_threads.max(1))
            .map(|_| Worker {
                code: Arc::clone(&code),
                room: if code.n_lanes() == 1 {
                    Room::Single(Box::new(NativeValues::new(Arc::clone(&code))))
                } else {
                    Room::Pairs {
                        table: code.table(),
                        oracle: Box::new(Oracle::new(code.tape())),
                        spare: vec![0.0; code.tape().n_roots()],
                    }
                },
                faults: Vec::new(),
            })
            .collect();
        Self {
            code,
            workers,
            faults: Vec::new(),
        }
    }

    /// Computes all roots at all points, `[point][root]`; returns the points that have no values.
    ///
    /// The faults are in the order of the points. The outputs of such a point are NaN, so that
    /// nobody takes them for results.
    ///
    /// # Panics
    ///
    /// When inputs or outputs do not have the length that the points ask for.
    #[must_use = "points can have no values"]
    pub fn evaluate(&mut self, points: Points<'_>, outputs: &mut [f64]) -> &[PointFault] {
        let tape = self.code.tape();
        points.check(tape);
        let n_roots = tape.n_roots();
        assert_eq!(
            outputs.len(),
            points.n_points * n_roots,
            "outputs are [point][root]"
        );
        self.faults.clear();
        if n_roots == 0 || points.n_points == 0 {
            return &self.faults;
        }
        // An even number of points per thread, so that pairs stay together.
        let share = points.n_points.div_ceil(self.workers.len());
        let share = share.next_multiple_of(2);
        if share >= points.n_points {
            self.workers[0].run(points, 0, outputs);
        } else {
            let jobs = outputs.chunks_mut(share * n_roots).enumerate();
            std::thread::scope(|scope| {
                for ((chunk, outputs), worker) in jobs.zip(&mut self.workers) {
                    scope.spawn(move || worker.run(points, chunk * share, outputs));
                }
            });
        }
        for worker in &mut self.workers {
            self.faults.append(&mut worker.faults);
        }
        &self.faults
    }
}

impl Worker {
    fn run(&mut self, points: Points<'_>, first: usize, outputs: &mut [f64]) {
        let tape = Arc::clone(self.code.tape());
        let n_roots = tape.n_roots();
        match &mut self.room {
            Room::Single(values) => {
                for (place, outputs) in outputs.chunks_exact_mut(n_roots).enumerate() {
                    let point = first + place;
                    let outcome = values.evaluate(points.get(&tape, point), outputs);
                    note(&mut self.faults, point, outcome, outputs);
                }
            }
            Room::Pairs {
                table,
                oracle,
                spare,
            } => {
                for (place, pair) in outputs.chunks_mut(2 * n_roots).enumerate() {
                    let point = first + 2 * place;
                    let (left, right) = pair.split_at_mut(n_roots);
                    let is_pair = !right.is_empty();
                    let a = points.get(&tape, point);
                    let b = points.get(&tape, point + usize::from(is_pair));
                    let second = if is_pair { &mut *right } else { &mut **spare };
                    // What depends on the parameters alone stays in the table.
                    let n_settled = if place > 0 && points.shares_parameters(&tape) {
                        self.code.n_resting_pieces()
                    } else {
                        0
                    };
                    let outputs = [&mut *left, second];
                    let sums = call_pair(&self.code, n_settled, table, [&a, &b], outputs);
                    if !sums[0].is_finite() && !all_finite(left) {
                        let outcome = oracle.evaluate(&a, left);
                        note(&mut self.faults, point, outcome, left);
                    }
                    if !sums[1].is_finite() && !all_finite(right) {
                        let outcome = oracle.evaluate(&b, right);
                        note(&mut self.faults, point + 1, outcome, right);
                    }
                }
            }
        }
    }
}

fn note(
    faults: &mut Vec<PointFault>,
    point: usize,
    outcome: Result<(), Fault>,
    outputs: &mut [f64],
) {
    if let Err(fault) = outcome {
        outputs.fill(f64::NAN);
        faults.push(PointFault { point, fault });
    }
}

/// Runs the pieces after the first `n_settled` ones at two points; the sums of the outputs.
fn call_pair(
    code: &NativeCode,
    n_settled: usize,
    table: &mut [f64],
    [a, b]: [&Point<'_>; 2],
    [left, right]: [&mut [f64]; 2],
) -> [f64; 2] {
    let tape = code.tape();
    a.check(tape);
    b.check(tape);
    assert!(left.len() >= tape.n_roots() && right.len() >= tape.n_roots());
    code.sums(table).fill(0.0);
    for piece in code.two_points().skip(n_settled) {
        // SAFETY: the function reads and writes the table, which has the length the code asked for,
        // reads the inputs of both points and writes one number per root for each, all checked above.
        unsafe {
            piece(
                table.as_mut_ptr(),
                a.coefficients.as_ptr(),
                a.parameters.as_ptr(),
                left.as_mut_ptr(),
                a.time,
                b.coefficients.as_ptr(),
                b.parameters.as_ptr(),
                right.as_mut_ptr(),
                b.time,
            );
        }
    }
    let sums = code.sums(table);
    [sums[0], sums[1]]
}
