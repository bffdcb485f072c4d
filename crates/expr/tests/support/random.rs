//! Random graphs over x_0..x_2, their derivatives, a parameter and the time.

use daelight_expr::{BinaryOp, ExprId, Graph, JetEvaluator, Slot, SymbolId, UnaryOp};
use proptest::prelude::*;

pub const N_VARIABLES: usize = 3;

/// What the symbols stand for: x_0..x_2, x_0'..x_2', a parameter, the time.
pub fn slot(symbol: SymbolId) -> Slot {
    match symbol.0 {
        index @ 0..3 => Slot::Variable { index, order: 0 },
        index @ 3..6 => Slot::Variable {
            index: index - 3,
            order: 1,
        },
        6 => Slot::Parameter(0),
        _ => Slot::Time,
    }
}

/// One operation: which one, and which of the expressions so far it takes.
pub type Choice = (u8, u16, u16, u16);

pub fn choices(n: usize) -> impl Strategy<Value = Vec<Choice>> {
    prop::collection::vec(any::<Choice>(), 1..n)
}

/// A jet with values of order 1 and coefficients that decay like 0.7^k.
pub fn coefficients(n_orders: usize) -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(-1.0..1.0f64, n_orders * N_VARIABLES).prop_map(|mut numbers| {
        for (place, number) in numbers.iter_mut().enumerate() {
            *number *= 0.7f64.powi((place / N_VARIABLES) as i32);
        }
        numbers
    })
}

/// Builds a graph; with `smooth` every operation is defined and smooth for all arguments.
pub fn build(graph: &mut Graph, choices: &[Choice], smooth: bool) -> Vec<ExprId> {
    let mut pool: Vec<ExprId> = (0..8).map(|s| graph.symbol(SymbolId(s))).collect();
    pool.extend([0.5, 1.0, 2.0, -1.5].map(|value| graph.constant(value)));
    for &(op, i, j, k) in choices {
        let pick = |pool: &[ExprId], place: u16| {
            // Prefer recent expressions, so that graphs grow deep.
            let reach = pool.len().min(24);
            pool[pool.len() - 1 - place as usize % reach]
        };
        let (a, b, c) = (pick(&pool, i), pick(&pool, j), pick(&pool, k));
        let new = if smooth {
            tame(graph, op, a, b)
        } else {
            wild(graph, op, a, b, c)
        };
        pool.push(new);
    }
    pool
}

/// Operations that are analytic on the whole line, with moderate values.
fn tame(graph: &mut Graph, op: u8, a: ExprId, b: ExprId) -> ExprId {
    let one = graph.constant(1.0);
    let two = graph.constant(2.0);
    let bounded = |graph: &mut Graph, x: ExprId| {
        let square = graph.pow(x, two);
        graph.add(one, square)
    };
    match op % 18 {
        0 => graph.add(a, b),
        1 => graph.sub(a, b),
        2 | 3 => graph.mul(a, b),
        4 => {
            let below = bounded(graph, b);
            graph.div(a, below)
        }
        5 => graph.unary(UnaryOp::Sin, a),
        6 => graph.unary(UnaryOp::Cos, a),
        7 => graph.unary(UnaryOp::Tanh, a),
        8 => graph.unary(UnaryOp::Atan, a),
        9 => {
            let above = bounded(graph, a);
            graph.unary(UnaryOp::Sqrt, above)
        }
        10 => {
            let above = bounded(graph, a);
            graph.unary(UnaryOp::Log, above)
        }
        11 => {
            let sine = graph.unary(UnaryOp::Sin, a);
            graph.unary(UnaryOp::Exp, sine)
        }
        12 => {
            let sine = graph.unary(UnaryOp::Sin, a);
            let half = graph.constant(0.5);
            let small = graph.mul(half, sine);
            graph.unary(UnaryOp::Asin, small)
        }
        13 => graph.pow(a, two),
        14 => {
            let (above, exponent) = (bounded(graph, a), graph.constant(-0.75));
            graph.pow(above, exponent)
        }
        15 => {
            let (above, exponent) = (bounded(graph, a), graph.unary(UnaryOp::Sin, b));
            graph.pow(above, exponent)
        }
        16 => {
            let below = bounded(graph, b);
            graph.binary(BinaryOp::Atan2, a, below)
        }
        _ => graph.neg(a),
    }
}

/// Every operation there is, with no care for its domain.
fn wild(graph: &mut Graph, op: u8, a: ExprId, b: ExprId, c: ExprId) -> ExprId {
    const UNARY: [UnaryOp; 17] = [
        UnaryOp::Neg,
        UnaryOp::Sqrt,
        UnaryOp::Exp,
        UnaryOp::Log,
        UnaryOp::Log10,
        UnaryOp::Sin,
        UnaryOp::Cos,
        UnaryOp::Tan,
        UnaryOp::Asin,
        UnaryOp::Acos,
        UnaryOp::Atan,
        UnaryOp::Sinh,
        UnaryOp::Cosh,
        UnaryOp::Tanh,
        UnaryOp::Abs,
        UnaryOp::Sign,
        UnaryOp::Not,
    ];
    const BINARY: [BinaryOp; 16] = [
        BinaryOp::Add,
        BinaryOp::Sub,
        BinaryOp::Mul,
        BinaryOp::Div,
        BinaryOp::Pow,
        BinaryOp::Atan2,
        BinaryOp::Min,
        BinaryOp::Max,
        BinaryOp::Less,
        BinaryOp::LessEqual,
        BinaryOp::Greater,
        BinaryOp::GreaterEqual,
        BinaryOp::Equal,
        BinaryOp::NotEqual,
        BinaryOp::And,
        BinaryOp::Or,
    ];
    match op as usize % 38 {
        op @ 0..17 => graph.unary(UNARY[op], a),
        op @ 17..33 => graph.binary(BINARY[op - 17], a, b),
        33 => graph.select(a, b, c),
        34 => {
            let two = graph.constant(2.0);
            graph.pow(a, two)
        }
        35 => {
            let three = graph.constant(-3.0);
            graph.pow(a, three)
        }
        _ => graph.mul(a, b),
    }
}

/// Copies a jet given as [order][variable] into the inputs.
pub fn set_inputs(jet: &mut impl JetEvaluator, coefficients: &[f64]) {
    for (place, &coefficient) in coefficients.iter().enumerate() {
        let (order, variable) = (place / N_VARIABLES, place % N_VARIABLES);
        if order < jet.inputs().n_orders() {
            jet.inputs_mut().set(variable, order, coefficient);
        }
    }
    jet.inputs_mut().parameters_mut()[0] = 0.75;
    jet.inputs_mut().set_time(0.3);
}
