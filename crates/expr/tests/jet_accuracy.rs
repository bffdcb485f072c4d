//! Every function to order 30 against 1250-bit arithmetic, and in double-double to order 24.
//!
//! The norm: let R be the largest radius such that |g_j| R^j <= max(1, |g_0|) for j = 0..30 and all
//! series g that take part, that is the operands, the auxiliary series and the result h. In the time
//! unit R, in which everything has size 1, every coefficient of h is within 1e-13 of
//! max(1, |h_0|), in double-double within 1e-28: a sum that cancels is judged by its terms, as everywhere in numerics.

use crate::oracle;
use daelight_expr::{
    BinaryOp, DdJet, ExprId, Graph, Jet, JetEvaluator, PlainJet, Scalar, Slot, SymbolId, Tape,
    UnaryOp,
};
use std::sync::Arc;

const ORDER: usize = 30;
const TOLERANCE: f64 = 1e-13;
const DD_ORDER: usize = 24;
const DD_TOLERANCE: f64 = 1e-28;

/// 1/R of one series.
fn inverse_radius(series: impl Iterator<Item = f64>) -> f64 {
    let mut series = series.map(f64::abs);
    let size = series.next().unwrap_or(0.0).max(1.0);
    series
        .zip(1..)
        .map(|(coefficient, k)| (coefficient / size).powf(1.0 / f64::from(k)))
        .fold(0.0, f64::max)
}

/// The largest error of a coefficient in the norm above.
fn scaled_error<S: Scalar>(jet: &PlainJet<S>, exact: &[S]) -> f64 {
    let order = exact.len() - 1;
    let inverse_radius = (0..jet.tape().n_registers())
        .map(|register| {
            let register = jet.tape().register(register);
            inverse_radius((0..=order).map(|k| jet.coefficient(register, k).to_f64()))
        })
        .fold(0.0, f64::max);
    let size = exact[0].to_f64().abs().max(1.0);
    let mut worst = 0.0f64;
    for (k, (&computed, &exact)) in jet.root_series(0).iter().zip(exact).enumerate() {
        if computed != exact {
            let unit = size * inverse_radius.powi(k as i32);
            worst = worst.max((computed - exact).to_f64().abs() / unit);
        }
    }
    worst
}

fn jet_of<S: Scalar>(
    graph: &Graph,
    root: ExprId,
    series: &[Vec<f64>],
    order: usize,
) -> PlainJet<S> {
    let tape = Tape::compile(graph, &[root], |symbol| Slot::Variable {
        index: symbol.0,
        order: 0,
    });
    let mut jet = PlainJet::<S>::new(Arc::new(tape.with_counts(series.len(), 0)), order);
    for k in 0..=order {
        for (variable, coefficients) in series.iter().enumerate() {
            let coefficient = coefficients.get(k).copied().unwrap_or(0.0);
            jet.inputs_mut().set(variable, k, S::from(coefficient));
        }
        jet.extend(k as i32).expect("inside the domain");
    }
    jet
}

/// Checks one expression of x and y along several motions that start at `x` and `y`.
fn check(name: &str, x: f64, y: f64, build: impl Fn(&mut Graph, ExprId, ExprId) -> ExprId) {
    let mut graph = Graph::new();
    let first = graph.symbol(SymbolId(0));
    let second = graph.symbol(SymbolId(1));
    let root = build(&mut graph, first, second);
    // A straight line, a short polynomial, and a long series of radius about 1.25.
    let wave = |start: f64, phase: f64| -> Vec<f64> {
        (0..=ORDER)
            .map(|k| match k {
                0 => start,
                _ => (1.7 * k as f64 + phase).sin() * 0.8f64.powi(k as i32),
            })
            .collect()
    };
    let motions = [
        [vec![x, 1.0], vec![y, -0.75]],
        [vec![x, 0.5, -0.25, 0.125], vec![y, -0.5, 0.25]],
        [wave(x, 0.3), wave(y, 1.1)],
    ];
    for (motion, series) in motions.iter().enumerate() {
        let exact = oracle::taylor(&graph, root, series, ORDER);
        let rounded: Vec<f64> = exact.iter().map(|c| c.hi()).collect();
        let jet: Jet = jet_of(&graph, root, series, ORDER);
        let error = scaled_error(&jet, &rounded);
        let sharp: DdJet = jet_of(&graph, root, series, DD_ORDER);
        let sharp_error = scaled_error(&sharp, &exact[..=DD_ORDER]);
        println!("{name:30} {motion} {error:.1e} {sharp_error:.1e}");
        assert!(
            sharp_error <= DD_TOLERANCE,
            "{name} in double-double, motion {motion}, x = {x}, y = {y}: error {sharp_error:.1e}"
        );
        assert!(
            error <= TOLERANCE,
            "{name}, motion {motion}, x = {x}, y = {y}: error {error:.1e}\n{:?}\n{exact:?}",
            jet.root_series(0)
        );
    }
}

fn check_unary(op: UnaryOp, points: &[f64]) {
    for &x in points {
        check(&format!("{op:?}"), x, 1.0, |graph, x, _| graph.unary(op, x));
    }
}

fn check_binary(op: BinaryOp, points: &[(f64, f64)]) {
    for &(x, y) in points {
        check(&format!("{op:?}"), x, y, |graph, x, y| {
            graph.binary(op, x, y)
        });
    }
}

#[test]
fn sums_products_and_quotients() {
    for op in [BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul, BinaryOp::Div] {
        check_binary(op, &[(0.7, 1.3), (-2.0, 0.9), (0.0, -1.5)]);
    }
    check_unary(UnaryOp::Neg, &[0.4]);
}

#[test]
fn roots_exponentials_and_logarithms() {
    check_unary(UnaryOp::Sqrt, &[0.5, 2.0, 30.0]);
    check_unary(UnaryOp::Exp, &[-3.0, 0.0, 1.2]);
    check_unary(UnaryOp::Log, &[0.5, 1.0, 7.0]);
    check_unary(UnaryOp::Log10, &[0.5, 1.0, 7.0]);
}

#[test]
fn circular_functions() {
    check_unary(UnaryOp::Sin, &[-2.0, 0.0, 0.6]);
    check_unary(UnaryOp::Cos, &[-2.0, 0.0, 0.6]);
    check_unary(UnaryOp::Tan, &[-1.0, 0.0, 0.6]);
    check_unary(UnaryOp::Asin, &[-0.8, 0.0, 0.6]);
    check_unary(UnaryOp::Acos, &[-0.8, 0.0, 0.6]);
    check_unary(UnaryOp::Atan, &[-3.0, 0.0, 0.6]);
}

#[test]
fn angles_in_all_quadrants() {
    check_binary(
        BinaryOp::Atan2,
        &[
            (0.7, 1.3),
            (0.7, -1.3),
            (-0.7, -1.3),
            (-0.7, 1.3),
            (1.0, 0.0),
        ],
    );
}

#[test]
fn hyperbolic_functions() {
    check_unary(UnaryOp::Sinh, &[-2.0, 0.0, 0.6]);
    check_unary(UnaryOp::Cosh, &[-2.0, 0.0, 0.6]);
    check_unary(UnaryOp::Tanh, &[-1.0, 0.0, 0.6]);
}

#[test]
fn whole_powers_also_at_zero() {
    for exponent in [2.0, 3.0, 4.0, 5.0, 7.0, 12.0, 29.0] {
        for x in [0.0, 0.8, -1.1] {
            check(&format!("x^{exponent}"), x, 1.0, |graph, x, _| {
                let exponent = graph.constant(exponent);
                graph.pow(x, exponent)
            });
        }
    }
    for exponent in [-1.0, -2.0, -5.0] {
        for x in [0.8, -1.1] {
            check(&format!("x^{exponent}"), x, 1.0, |graph, x, _| {
                let exponent = graph.constant(exponent);
                graph.pow(x, exponent)
            });
        }
    }
}

#[test]
fn real_and_moving_powers() {
    for exponent in [0.5, 1.5, -0.3, 2.25, 1.0 / 3.0] {
        for x in [0.6, 1.0, 2.5] {
            check(&format!("x^{exponent}"), x, 1.0, |graph, x, _| {
                let exponent = graph.constant(exponent);
                graph.pow(x, exponent)
            });
        }
    }
    check_binary(BinaryOp::Pow, &[(0.6, 1.3), (2.0, -0.7), (1.5, 0.0)]);
    check("2^y", 1.0, 0.4, |graph, _, y| {
        let two = graph.constant(2.0);
        graph.pow(two, y)
    });
}

#[test]
fn branches_away_from_their_kinks() {
    check_unary(UnaryOp::Abs, &[-0.5, 0.5]);
    check_unary(UnaryOp::Sign, &[-0.5, 0.5]);
    check_binary(BinaryOp::Min, &[(0.2, 0.7), (0.7, 0.2)]);
    check_binary(BinaryOp::Max, &[(0.2, 0.7), (0.7, 0.2)]);
    for op in [
        BinaryOp::Less,
        BinaryOp::LessEqual,
        BinaryOp::Greater,
        BinaryOp::GreaterEqual,
        BinaryOp::Equal,
        BinaryOp::NotEqual,
    ] {
        check_binary(op, &[(0.2, 0.7), (0.7, 0.2)]);
        for (x, y) in [(0.2, 0.7), (0.7, 0.2)] {
            check(&format!("if x {op:?} y"), x, y, |graph, x, y| {
                let condition = graph.binary(op, x, y);
                let product = graph.mul(x, y);
                let sine = graph.unary(UnaryOp::Sin, x);
                graph.select(condition, product, sine)
            });
        }
    }
}

#[test]
fn auxiliary_series_are_shared_and_right_together() {
    // Every function beside the expressions that its auxiliary series also compute.
    check("shared", 0.4, 0.7, |graph, x, y| {
        let one = graph.constant(1.0);
        let two = graph.constant(2.0);
        let mut terms = Vec::new();
        for op in [
            UnaryOp::Cos,
            UnaryOp::Sin,
            UnaryOp::Tan,
            UnaryOp::Tanh,
            UnaryOp::Asin,
            UnaryOp::Acos,
            UnaryOp::Atan,
            UnaryOp::Cosh,
            UnaryOp::Sinh,
        ] {
            let value = graph.unary(op, x);
            let square = graph.pow(value, two);
            terms.extend([value, graph.add(one, square), graph.sub(one, square)]);
        }
        let square = graph.mul(x, x);
        let rest = graph.sub(one, square);
        terms.push(graph.unary(UnaryOp::Sqrt, rest));
        terms.push(graph.binary(BinaryOp::Atan2, x, y));
        let other = graph.mul(y, y);
        terms.push(graph.add(square, other));
        terms.push(graph.pow(x, y));
        terms.push(graph.unary(UnaryOp::Log, x));
        graph.sum(terms)
    });
}
