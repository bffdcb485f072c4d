//! Native code gives the numbers and the faults of the plain interpreter, in all its forms.

#[path = "../../expr/tests/support/mod.rs"]
mod support;

use daelight_expr::{
    BinaryOp, ExprId, Fault, FaultKind, Graph, Slot, SymbolId, Tape, UnaryOp, Values,
};
use daelight_native::{Batch, NativeCode, NativeValues, Point, Points, Tier};
use proptest::prelude::*;
use std::cell::Cell;
use std::sync::Arc;
use support::{andrews, random, runner};

type Outcome = Result<Vec<f64>, Fault>;

/// What the interpreter says.
fn interpreted(tape: &Arc<Tape>, point: Point<'_>) -> Outcome {
    let mut values = Values::new(Arc::clone(tape));
    let n_variables = tape.n_variables();
    for order in 0..=tape.max_slot_order() {
        let row = &point.coefficients[order * n_variables..][..n_variables];
        values.inputs_mut().row_mut(order).copy_from_slice(row);
    }
    values
        .inputs_mut()
        .parameters_mut()
        .copy_from_slice(&point.parameters[..tape.n_parameters()]);
    values.inputs_mut().set_time(point.time);
    values.evaluate()?;
    Ok((0..tape.n_roots()).map(|root| values.root(root)).collect())
}

/// What native code says: both tiers, whole and in small pieces, and as the points of a batch.
fn compiled(tape: &Arc<Tape>, point: Point<'_>) -> Vec<(String, Outcome)> {
    let mut outcomes = Vec::new();
    let outcome = |result: Result<(), Fault>, outputs: &[f64]| result.map(|()| outputs.to_vec());
    for tier in [Tier::Quick, Tier::Optimised] {
        for length in [5, 2000] {
            let code = NativeCode::compile_in_pieces(Arc::clone(tape), tier, length).unwrap();
            let mut values = NativeValues::new(Arc::new(code));
            let mut outputs = vec![0.0; tape.n_roots()];
            let result = values.evaluate(point, &mut outputs);
            let name = format!("{tier:?} in pieces of {length}");
            // The numbers are those of the code, and not of the interpreter behind it.
            assert_eq!(values.n_detours(), u64::from(result.is_err()), "{name}");
            outcomes.push((name, outcome(result, &outputs)));
        }
    }
    let code = NativeCode::compile_pairs(Arc::clone(tape), Tier::Quick).unwrap();
    let mut batch = Batch::new(Arc::new(code), 1);
    let mut outputs = vec![0.0; 3 * tape.n_roots()];
    let n_coefficients = tape.n_variables() * (tape.max_slot_order() + 1);
    let points = Points {
        n_points: 3,
        coefficients: &point.coefficients[..n_coefficients].repeat(3),
        parameters: &point.parameters[..tape.n_parameters()],
        times: &[point.time],
    };
    let faults = batch.evaluate(points, &mut outputs).to_vec();
    for (place, outputs) in outputs.chunks_exact(tape.n_roots()).enumerate() {
        let fault = faults.iter().find(|fault| fault.point == place);
        let result = fault.map_or(Ok(()), |fault| Err(fault.fault));
        outcomes.push((
            format!("point {place} of a batch"),
            outcome(result, outputs),
        ));
    }
    outcomes
}

fn same_numbers(a: &Outcome, b: &Outcome) -> bool {
    match (a, b) {
        (Ok(a), Ok(b)) => a.iter().zip(b).all(|(x, y)| x.to_bits() == y.to_bits()),
        (a, b) => a == b,
    }
}

/// Compares everything with the interpreter, and says whether there was a fault.
fn compare(tape: &Arc<Tape>, point: Point<'_>) -> Result<bool, TestCaseError> {
    let expected = interpreted(tape, point);
    for (name, outcome) in compiled(tape, point) {
        prop_assert!(
            same_numbers(&expected, &outcome),
            "{name}: {outcome:?}, the interpreter: {expected:?}"
        );
    }
    Ok(expected.is_err())
}

fn random_point(coefficients: &[f64]) -> Point<'_> {
    Point {
        coefficients,
        parameters: &[0.75],
        time: 0.3,
    }
}

#[test]
fn random_smooth_graphs_agree() {
    let inputs = (random::choices(80), random::coefficients(2));
    runner(100)
        .run(&inputs, |(choices, coefficients)| {
            let mut graph = Graph::new();
            let roots = random::build(&mut graph, &choices, true);
            let tape = Arc::new(Tape::compile(&graph, &roots, random::slot).with_counts(3, 1));
            prop_assert!(!compare(&tape, random_point(&coefficients))?);
            Ok(())
        })
        .unwrap();
}

#[test]
fn random_wild_graphs_agree_on_values_and_faults() {
    let inputs = (random::choices(40), random::coefficients(2));
    let counts = [Cell::new(0), Cell::new(0)];
    runner(500)
        .run(&inputs, |(choices, coefficients)| {
            let mut graph = Graph::new();
            let pool = random::build(&mut graph, &choices, false);
            let root = *pool.last().expect("never empty");
            let tape = Arc::new(Tape::compile(&graph, &[root], random::slot).with_counts(3, 1));
            let count = &counts[usize::from(compare(&tape, random_point(&coefficients))?)];
            count.set(count.get() + 1);
            Ok(())
        })
        .unwrap();
    // Both outcomes are well represented.
    assert!(counts.iter().all(|count| count.get() > 50), "{counts:?}");
}

/// Arguments at which an operation meets zeros of both signs, overflow, and what is no number.
const AWKWARD: [f64; 10] = [
    0.0,
    -0.0,
    1.0,
    -2.5,
    1e200,
    -1e308,
    5e-324,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
];

fn check_everywhere(build: impl Fn(&mut Graph, ExprId, ExprId) -> ExprId) {
    let mut graph = Graph::new();
    let [x, y] = [0, 1].map(|symbol| graph.symbol(SymbolId(symbol)));
    let root = build(&mut graph, x, y);
    let slot = |symbol: SymbolId| Slot::Variable {
        index: symbol.0,
        order: 0,
    };
    let tape = Arc::new(Tape::compile(&graph, &[root], slot).with_counts(2, 0));
    let codes = [Tier::Quick, Tier::Optimised]
        .map(|tier| Arc::new(NativeCode::compile(Arc::clone(&tape), tier).unwrap()));
    let pairs = Arc::new(NativeCode::compile_pairs(Arc::clone(&tape), Tier::Optimised).unwrap());
    for a in AWKWARD {
        for b in AWKWARD {
            let point = Point {
                coefficients: &[a, b],
                parameters: &[],
                time: 0.0,
            };
            let expected = interpreted(&tape, point);
            for code in &codes {
                let mut outputs = [0.0];
                let mut values = NativeValues::new(Arc::clone(code));
                let outcome = values
                    .evaluate(point, &mut outputs)
                    .map(|()| outputs.to_vec());
                assert_eq!(values.n_detours(), u64::from(outcome.is_err()));
                assert!(
                    same_numbers(&expected, &outcome),
                    "at {a:e}, {b:e}: {outcome:?}, the interpreter: {expected:?}"
                );
            }
            // The partner in the vector is another point, and must not matter.
            let mut outputs = [0.0; 2];
            let mut batch = Batch::new(Arc::clone(&pairs), 1);
            let faults = batch.evaluate(
                Points {
                    n_points: 2,
                    coefficients: &[a, b, 0.5, 0.25],
                    parameters: &[],
                    times: &[0.0],
                },
                &mut outputs,
            );
            let outcome = match faults.iter().find(|fault| fault.point == 0) {
                Some(fault) => Err(fault.fault),
                None => Ok(vec![outputs[0]]),
            };
            assert!(
                same_numbers(&expected, &outcome),
                "in a pair at {a:e}, {b:e}: {outcome:?}, the interpreter: {expected:?}"
            );
        }
    }
}

/// Infinity never becomes a number again, and zeros keep their signs.
#[test]
fn awkward_arguments_agree() {
    use BinaryOp as B;
    use UnaryOp as U;
    for op in [
        U::Neg,
        U::Sqrt,
        U::Exp,
        U::Log,
        U::Log10,
        U::Sin,
        U::Cos,
        U::Tan,
        U::Asin,
        U::Acos,
        U::Atan,
        U::Sinh,
        U::Cosh,
        U::Tanh,
        U::Abs,
        U::Sign,
        U::Not,
    ] {
        check_everywhere(|graph, x, _| graph.unary(op, x));
        check_everywhere(|graph, x, y| {
            let large = graph.mul(x, y);
            let first = graph.unary(op, large);
            graph.binary(B::Atan2, first, y)
        });
    }
    for op in [
        B::Add,
        B::Sub,
        B::Mul,
        B::Div,
        B::Pow,
        B::Atan2,
        B::Min,
        B::Max,
        B::Less,
        B::LessEqual,
        B::Greater,
        B::GreaterEqual,
        B::Equal,
        B::NotEqual,
        B::And,
        B::Or,
    ] {
        check_everywhere(|graph, x, y| graph.binary(op, x, y));
        check_everywhere(|graph, x, y| {
            let large = graph.mul(x, y);
            let test = graph.binary(op, large, y);
            let root = graph.unary(U::Sqrt, y);
            graph.select(test, root, x)
        });
    }
    for exponent in [0.0, -1.0, 3.0, 0.5] {
        check_everywhere(|graph, x, y| {
            let large = graph.mul(x, y);
            let exponent = graph.constant(exponent);
            graph.pow(large, exponent)
        });
    }
}

/// A branch that is not taken may fail, and costs no detour through the interpreter's verdict.
#[test]
fn a_branch_not_taken_harms_nobody() {
    let mut graph = Graph::new();
    let x = graph.symbol(SymbolId(0));
    let zero = graph.constant(0.0);
    let positive = graph.binary(BinaryOp::Greater, x, zero);
    let root = graph.unary(UnaryOp::Sqrt, x);
    let chosen = graph.select(positive, root, x);
    let tape = Tape::compile(&graph, &[chosen, root], |_| Slot::Time);
    let code = NativeCode::compile(Arc::new(tape), Tier::Quick).unwrap();
    let mut values = NativeValues::new(Arc::new(code));
    let mut at = |time: f64| {
        let mut outputs = [0.0; 2];
        let point = Point {
            coefficients: &[],
            parameters: &[],
            time,
        };
        values.evaluate(point, &mut outputs).map(|()| outputs)
    };
    assert_eq!(at(4.0), Ok([2.0, 2.0]));
    let fault = at(-4.0).unwrap_err();
    assert_eq!(
        (fault.expr, fault.kind, fault.root),
        (root, FaultKind::SqrtOfNegative, 1)
    );
}

/// A root without a value is noticed whatever the others make of it: an operation that needs it passes the news on, one
/// that may not need it does not.
#[test]
fn roots_that_others_read_are_noticed() {
    type Reader = fn(&mut Graph, ExprId, ExprId) -> ExprId;
    let readers: [Reader; 7] = [
        |graph, root, _| graph.neg(root),
        |graph, root, x| graph.mul(root, x),
        |graph, root, x| graph.div(x, root),
        |graph, root, _| graph.unary(UnaryOp::Tanh, root),
        |graph, root, x| graph.binary(BinaryOp::And, x, root),
        |graph, root, x| graph.binary(BinaryOp::Or, root, x),
        |graph, root, x| graph.select(x, x, root),
    ];
    for reader in readers {
        let mut graph = Graph::new();
        let [x, y] = [0, 1].map(|symbol| graph.symbol(SymbolId(symbol)));
        let root = graph.unary(UnaryOp::Exp, y);
        let read = reader(&mut graph, root, x);
        let opposite = graph.neg(read);
        let tape = Tape::compile(&graph, &[root, read, opposite], |symbol| Slot::Variable {
            index: symbol.0,
            order: 0,
        });
        let tape = Arc::new(tape);
        for x in [0.0, 1.0] {
            for (y, is_fault) in [(0.5, false), (1e3, true), (f64::NAN, true)] {
                let coefficients = [x, y];
                let outcome = compare(&tape, random_point(&coefficients)).unwrap();
                assert_eq!(outcome, is_fault, "{:?} at {x}, {y}", graph.node(read));
            }
        }
    }
}

/// Outputs whose sum is no number, though each of them is one: the code itself gives them.
#[test]
fn large_outputs_are_numbers() {
    let mut graph = Graph::new();
    let x = graph.symbol(SymbolId(0));
    let [one, other] = [2.0, 2.1].map(|factor| {
        let factor = graph.constant(factor);
        graph.mul(x, factor)
    });
    let tape = Tape::compile(&graph, &[one, other, one, x], |_| Slot::Variable {
        index: 0,
        order: 0,
    });
    for x in [0.8e308, -0.8e308] {
        let has_fault = compare(&Arc::new(tape.clone()), random_point(&[x]));
        assert!(!has_fault.unwrap());
    }
}

/// Signals are read by the interpreter alone, and that is said when code is to be made.
#[test]
fn a_tape_with_signals_is_refused() {
    let mut graph = Graph::new();
    let root = graph.symbol(SymbolId(0));
    let signal = daelight_expr::Signal::new(vec![0.0, 1.0], 1, vec![0.5, 1.0]);
    let slot = |_| Slot::Signal { index: 0, order: 0 };
    let tape = Tape::compile(&graph, &[root], slot).with_signals(&[Arc::new(signal)]);
    assert!(NativeCode::compile(Arc::new(tape), Tier::Quick).is_err());
}

/// The mechanism and its Jacobian: second derivatives, many roots, shared work.
#[test]
fn the_squeezer_agrees() {
    let mut graph = Graph::new();
    let mut roots = andrews::residuals(&mut graph);
    let symbols: Vec<SymbolId> = (0..39).map(SymbolId).collect();
    let jacobian = graph.sparse_jacobian(&roots, &symbols);
    roots.extend(jacobian.entries);
    let tape = Arc::new(Tape::compile(&graph, &roots, andrews::slot));
    let coefficients: Vec<f64> = (0..39).map(|place| f64::from(place).sin()).collect();
    let point = Point {
        coefficients: &coefficients,
        parameters: &[],
        time: 0.0,
    };
    assert!(!compare(&tape, point).unwrap());
}

/// Threads and pairs change nothing, and faults come in the order of the points.
#[test]
fn batches_do_not_depend_on_threads() {
    let mut graph = Graph::new();
    let roots = andrews::residuals(&mut graph);
    let tape = Arc::new(Tape::compile(&graph, &roots, andrews::slot));
    let n_points = 37;
    let mut coefficients: Vec<f64> = (0..39 * n_points).map(|i| (i as f64).sin()).collect();
    for bad in [5, 6, 30] {
        coefficients[39 * bad] = f64::NAN;
    }
    let points = Points {
        n_points,
        coefficients: &coefficients,
        parameters: &[],
        times: &[0.0],
    };
    let mut first: Option<Vec<u64>> = None;
    for pairs in [false, true] {
        let tape = Arc::clone(&tape);
        let code = if pairs {
            NativeCode::compile_pairs(tape, Tier::Quick)
        } else {
            NativeCode::compile(tape, Tier::Optimised)
        };
        let code = Arc::new(code.unwrap());
        for n_threads in [1, 2, 5, 100] {
            let mut outputs = vec![0.0; n_points * roots.len()];
            let mut batch = Batch::new(Arc::clone(&code), n_threads);
            let faults = batch.evaluate(points, &mut outputs);
            let failed: Vec<usize> = faults.iter().map(|fault| fault.point).collect();
            assert_eq!(failed, [5, 6, 30]);
            assert!(
                faults
                    .iter()
                    .all(|f| f.fault.kind == FaultKind::NonFiniteInput)
            );
            let bits: Vec<u64> = outputs.iter().map(|number| number.to_bits()).collect();
            assert_eq!(first.get_or_insert_with(|| bits.clone()), &bits);
        }
    }
}

/// What depends on parameters alone is computed again when they change, and only then.
#[test]
fn changed_parameters_are_noticed() {
    let mut graph = Graph::new();
    let [x, p, q] = [0, 1, 2].map(|symbol| graph.symbol(SymbolId(symbol)));
    let quotient = graph.div(p, q);
    let root = graph.unary(UnaryOp::Sqrt, quotient);
    let product = graph.mul(root, x);
    let tape = Arc::new(Tape::compile(
        &graph,
        &[product, root],
        |symbol| match symbol.0 {
            0 => Slot::Variable { index: 0, order: 0 },
            index => Slot::Parameter(index - 1),
        },
    ));
    let code = NativeCode::compile(Arc::clone(&tape), Tier::Quick).unwrap();
    let mut values = NativeValues::new(Arc::new(code));
    let sets = [
        [4.0, 1.0],
        [4.0, 1.0],
        [9.0, 1.0],
        [-9.0, 1.0],
        [9.0, 1.0],
        [0.0, -0.0],
    ];
    for parameters in sets
        .iter()
        .chain(&[[0.0, 0.0], [f64::NAN, 1.0], [4.0, 4.0]])
    {
        for x in [1.0, 3.0] {
            let point = Point {
                coefficients: &[x],
                parameters,
                time: 0.0,
            };
            let mut outputs = [0.0; 2];
            let outcome = values.evaluate(point, &mut outputs);
            let outcome = outcome.map(|()| outputs.to_vec());
            assert!(same_numbers(&interpreted(&tape, point), &outcome));
        }
    }
    // Points of a batch have parameters of their own, or share one set.
    let code = NativeCode::compile_pairs(Arc::clone(&tape), Tier::Quick).unwrap();
    let mut batch = Batch::new(Arc::new(code), 1);
    let mut points = Points {
        n_points: 5,
        coefficients: &[1.0, 2.0, 3.0, 4.0, 5.0],
        parameters: &[4.0, 1.0, 9.0, 1.0, 16.0, 1.0, 25.0, 1.0, 36.0, 1.0],
        times: &[0.0],
    };
    let mut outputs = [0.0; 10];
    assert!(batch.evaluate(points, &mut outputs).is_empty());
    assert_eq!(
        outputs,
        [2.0, 2.0, 6.0, 3.0, 12.0, 4.0, 20.0, 5.0, 30.0, 6.0]
    );
    points.parameters = &[4.0, 1.0];
    assert!(batch.evaluate(points, &mut outputs).is_empty());
    assert_eq!(outputs, [2.0, 2.0, 4.0, 2.0, 6.0, 2.0, 8.0, 2.0, 10.0, 2.0]);
}

/// Rows of one form, as a for-equation gives them: row i reads x_i, x_{i+1}, y_i, their rates, the time,
/// and a parameter or a number of its own. Neighbours share what they compute of x alone.
struct Rows {
    n_rows: usize,
    has_numbers: bool,
    coefficients: Vec<f64>,
}

impl Rows {
    fn new(n_rows: usize, has_numbers: bool) -> Self {
        let n_coefficients = 2 * 2 * (n_rows + 1);
        Self {
            n_rows,
            has_numbers,
            coefficients: (0..n_coefficients)
                .map(|i| (1.3 * i as f64).sin())
                .collect(),
        }
    }

    fn n_variables(&self) -> u32 {
        2 * (self.n_rows as u32 + 1)
    }

    /// What a symbol of the pattern stands for in a row.
    fn symbol(&self, graph: &mut Graph, row: usize, symbol: SymbolId) -> ExprId {
        let (row, n_variables) = (row as u32, self.n_variables());
        let variable = |place: u32| match place {
            0 | 1 => row + place,
            _ => n_variables / 2 + row,
        };
        match symbol.0 {
            place @ 0..3 => graph.symbol(SymbolId(variable(place))),
            place @ 3..6 => graph.symbol(SymbolId(n_variables + variable(place - 3))),
            6 if self.has_numbers => graph.constant(0.3 + 0.01 * f64::from(row)),
            rest => graph.symbol(SymbolId(2 * n_variables + rest - 6)),
        }
    }

    fn repeat(&self, graph: &mut Graph, pattern: &[ExprId]) -> Vec<ExprId> {
        (0..self.n_rows)
            .flat_map(|row| {
                graph.substitute(pattern, |graph, symbol| {
                    Some(self.symbol(graph, row, symbol))
                })
            })
            .collect()
    }

    fn tape(&self, graph: &Graph, roots: &[ExprId]) -> Arc<Tape> {
        let n_variables = self.n_variables();
        let tape = Tape::compile(graph, roots, |symbol| match symbol.0 / n_variables {
            order @ 0..2 => Slot::Variable {
                index: symbol.0 % n_variables,
                order,
            },
            _ if symbol.0 == 2 * n_variables => Slot::Parameter(0),
            _ => Slot::Time,
        });
        Arc::new(tape.with_counts(n_variables as usize, 1).with_slot_order(1))
    }

    fn point(&self) -> Point<'_> {
        random_point(&self.coefficients)
    }
}

fn n_loops(tape: &Arc<Tape>) -> usize {
    let code = NativeCode::compile(Arc::clone(tape), Tier::Quick).unwrap();
    code.report().n_loops
}

/// Rows of every form give the interpreter's numbers and faults, in loops.
#[test]
fn random_rows_agree() {
    let inputs = (random::choices(12), 8..19usize, any::<(bool, bool)>());
    let (n_in_loops, n_faults) = (Cell::new(0), Cell::new(0));
    runner(300)
        .run(&inputs, |(choices, n_rows, (is_smooth, has_numbers))| {
            let mut graph = Graph::new();
            let pool = random::build(&mut graph, &choices, is_smooth);
            let rows = Rows::new(n_rows, has_numbers);
            let roots = rows.repeat(&mut graph, &pool[pool.len() - 3..]);
            let tape = rows.tape(&graph, &roots);
            n_in_loops.set(n_in_loops.get() + u32::from(n_loops(&tape) > 0));
            n_faults.set(n_faults.get() + u32::from(compare(&tape, rows.point())?));
            Ok(())
        })
        .unwrap();
    // Numbers of a row that meet others of the pattern may end a loop, so not all have one.
    assert!(n_in_loops.get() > 240, "{n_in_loops:?}");
    assert!(n_faults.get() > 10, "{n_faults:?}");
}

/// Rows beside much that does not repeat: loops for pairs of points.
#[test]
fn rows_among_others_agree() {
    let inputs = (random::choices(60), 8..12usize, any::<bool>());
    runner(60)
        .run(&inputs, |(choices, n_rows, has_numbers)| {
            let mut graph = Graph::new();
            let pool = random::build(&mut graph, &choices, true);
            let rows = Rows::new(n_rows, has_numbers);
            let others =
                graph.substitute(&pool, |graph, symbol| Some(rows.symbol(graph, 2, symbol)));
            let mut roots = rows.repeat(&mut graph, &pool[14.min(pool.len() - 1)..][..1]);
            roots.extend(others);
            let tape = rows.tape(&graph, &roots);
            prop_assert!(!compare(&tape, rows.point())?);
            Ok(())
        })
        .unwrap();
}

/// A row that reads what the row before has computed: instances cannot run side by side.
#[test]
fn rows_that_wait_for_each_other_agree() {
    let rows = Rows::new(101, false);
    let mut graph = Graph::new();
    let mut roots: Vec<ExprId> = Vec::new();
    for row in 0..101 {
        let [x, y] = [0, 2].map(|place| rows.symbol(&mut graph, row, SymbolId(place)));
        let before = roots.last().copied().unwrap_or(y);
        let sum = graph.mul(before, x);
        let sine = graph.unary(UnaryOp::Sin, sum);
        let cosine = graph.unary(UnaryOp::Cos, sum);
        let product = graph.mul(sine, cosine);
        roots.push(graph.add(product, y));
    }
    let tape = rows.tape(&graph, &roots);
    assert_eq!(n_loops(&tape), 1);
    assert!(!compare(&tape, rows.point()).unwrap());
}

/// A fault in any of many outputs is noticed.
#[test]
fn faults_in_long_loops_are_noticed() {
    let mut rows = Rows::new(3001, true);
    let mut graph = Graph::new();
    let [x, y, p] = [0, 2, 6].map(|symbol| graph.symbol(SymbolId(symbol)));
    let quotient = graph.div(p, y);
    let sum = graph.add(quotient, x);
    let roots = rows.repeat(&mut graph, &[sum, quotient]);
    let tape = rows.tape(&graph, &roots);
    assert_eq!(n_loops(&tape), 1);
    assert!(!compare(&tape, rows.point()).unwrap());
    for row in [0, 1, 2047, 2048, 2999, 3000] {
        rows.coefficients[3002 + row] = 0.0;
        let fault = interpreted(&tape, rows.point()).unwrap_err();
        assert_eq!(fault.root, 2 * row);
        assert!(compare(&tape, rows.point()).unwrap());
        rows.coefficients[3002 + row] = 1.0;
    }
}
