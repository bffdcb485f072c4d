//! What code costs: no allocation in evaluate, size in proportion to the tape, memory given back.

#[path = "../../../tests/support/counting.rs"]
mod counting;

use counting::allocations;
use daelight_expr::{ExprId, Graph, Slot, SymbolId, Tape, UnaryOp};
use daelight_native::{CompileReport, NativeCode, NativeValues, Point, Tier};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// One test at a time: one of them counts the mapped code of the whole process.
fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Equation i: x_i' - f(x_i - x_{i-1}) sqrt(x_i), and what its neighbours share with it.
fn chain(n: u32, function: impl Fn(u32) -> UnaryOp) -> Tape {
    let mut graph = Graph::new();
    let residuals: Vec<ExprId> = (0..n)
        .map(|i| {
            let [x, before, rate] =
                [i, (i + n - 1) % n, n + i].map(|symbol| graph.symbol(SymbolId(symbol)));
            let angle = graph.sub(x, before);
            let force = graph.unary(function(i), angle);
            let root = graph.unary(UnaryOp::Sqrt, x);
            let product = graph.mul(force, root);
            graph.sub(rate, product)
        })
        .collect();
    let symbols: Vec<SymbolId> = (0..2 * n).map(SymbolId).collect();
    let jacobian = graph.sparse_jacobian(&residuals, &symbols);
    let mut roots = residuals;
    roots.extend(jacobian.entries);
    Tape::compile(&graph, &roots, |symbol| Slot::Variable {
        index: symbol.0 % n,
        order: symbol.0 / n,
    })
}

/// The same function in every equation, as in a for-equation.
fn regular(_: u32) -> UnaryOp {
    UnaryOp::Sin
}

/// Functions without a pattern; the same thousand again, so that a larger model has as many of each.
fn irregular(i: u32) -> UnaryOp {
    const FUNCTIONS: [UnaryOp; 8] = [
        UnaryOp::Sin,
        UnaryOp::Cos,
        UnaryOp::Tan,
        UnaryOp::Exp,
        UnaryOp::Atan,
        UnaryOp::Sinh,
        UnaryOp::Cosh,
        UnaryOp::Tanh,
    ];
    let i = i % 1000;
    let mixed = (i ^ i >> 7).wrapping_mul(0x9E37_79B1);
    FUNCTIONS[(mixed >> 29) as usize]
}

#[test]
fn evaluation_allocates_nothing() {
    for function in [regular, irregular] {
        check_allocations(chain(2000, function));
    }
}

fn check_allocations(tape: Tape) {
    let _turn = alone();
    assert_eq!(allocations(|| drop(vec![1])), 1, "the counter counts");
    let tape = Arc::new(tape);
    let code = NativeCode::compile(Arc::clone(&tape), Tier::Quick).unwrap();
    assert!(code.report().n_pieces > 2 || code.report().n_loops > 0);
    let mut values = NativeValues::new(Arc::new(code));
    let mut outputs = vec![0.0; tape.n_roots()];
    let mut coefficients = vec![0.5; 4000];
    let count = allocations(|| {
        for (number, is_good) in [(0.25, true), (-0.25, false), (f64::NAN, false)] {
            coefficients[7] = number;
            let point = Point {
                coefficients: &coefficients,
                parameters: &[],
                time: 0.0,
            };
            assert_eq!(values.evaluate(point, &mut outputs).is_ok(), is_good);
        }
    });
    assert_eq!(count, 0);
}

fn report(n: u32, function: fn(u32) -> UnaryOp) -> CompileReport {
    let tape = Arc::new(chain(n, function));
    NativeCode::compile(tape, Tier::Quick).unwrap().report()
}

/// The instances of a for-equation share their code, however many there are; only distances in memory become longer.
#[test]
fn code_of_rows_that_repeat_is_short() {
    let _turn = alone();
    let (small, large) = (report(100, regular), report(1000, regular));
    assert!(small.n_loops > 0 && large.n_loops == small.n_loops);
    assert!(small.n_steps < 100, "{small:?}");
    assert_eq!(large.n_pieces, small.n_pieces);
    assert!(large.n_bytes < small.n_bytes * 5 / 4, "{small:?} {large:?}");
}

/// Code and pieces of ten times the model are ten times as large.
#[test]
fn code_grows_with_the_tape() {
    let _turn = alone();
    let (small, large) = (report(1000, irregular), report(10_000, irregular));
    assert_eq!(large.n_loops, 0);
    assert!(large.n_steps <= 10 * small.n_steps);
    assert!(large.n_bytes <= 11 * small.n_bytes);
    assert_eq!(large.n_pieces, large.n_steps.div_ceil(2000));
}

/// Dropped code leaves no memory mapped.
#[cfg(target_os = "linux")]
#[test]
fn dropped_code_is_freed() {
    let _turn = alone();
    let executable = || {
        std::fs::read_to_string("/proc/self/maps")
            .unwrap()
            .lines()
            .filter(|line| line.contains("r-xp") && line.ends_with(" 0 "))
            .count()
    };
    let tape = Arc::new(chain(10, regular));
    let before = executable();
    let kept: Vec<NativeCode> = (0..20)
        .map(|_| NativeCode::compile(Arc::clone(&tape), Tier::Quick).unwrap())
        .collect();
    let during = executable();
    drop(kept);
    assert!(during > before, "code is mapped while it lives");
    assert!(executable() <= before, "code is still mapped");
}
