//! Signals: every back end reads the same coefficients, and they are those of the function.

use daelight_expr::{
    Dd, DdJet, Graph, Jet, JetEvaluator, PackedJet, Scalar, Side, Signal, Slot, SymbolId, Tape,
    UnaryOp, Values,
};
use std::sync::Arc;

const ORDER: usize = 8;

/// t^3 - 2 t on [0, 1] and its continuation with another third derivative on [1, 3], written around the middles.
fn signal() -> Signal {
    let shifted = |cubic: f64, middle: f64| {
        // (t - 1)^3 cubic + 3 (t - 1)^2 + (t - 1) - 1 around `middle`.
        let d = middle - 1.0;
        [
            cubic * d * d * d + 3.0 * d * d + d - 1.0,
            3.0 * cubic * d * d + 6.0 * d + 1.0,
            3.0 * cubic * d + 3.0,
            cubic,
        ]
    };
    let coefficients = [shifted(1.0, 0.5), shifted(2.0, 2.0)].concat();
    Signal::new(vec![0.0, 1.0, 3.0], 3, coefficients)
}

/// sin(u) u' + x t, with x a variable.
fn tape() -> Tape {
    let mut graph = Graph::new();
    let [u, slope, x, t] = [0, 1, 2, 3].map(|k| graph.symbol(SymbolId(k)));
    let sine = graph.unary(UnaryOp::Sin, u);
    let first = graph.mul(sine, slope);
    let second = graph.mul(x, t);
    let root = graph.add(first, second);
    Tape::compile(&graph, &[root, u, slope], |symbol| match symbol.0 {
        order @ 0..2 => Slot::Signal { index: 0, order },
        2 => Slot::Variable { index: 0, order: 0 },
        _ => Slot::Time,
    })
    .with_signals(&[Arc::new(signal())])
}

#[test]
fn back_ends_agree_on_both_sides_of_a_knot() {
    let tape = Arc::new(tape());
    let mut plain = Jet::new(Arc::clone(&tape), ORDER);
    let mut packed = PackedJet::new(Arc::clone(&tape), ORDER);
    let mut sharp = DdJet::new(Arc::clone(&tape), ORDER);
    let mut values = Values::new(Arc::clone(&tape));
    for (time, side) in [
        (0.3, Side::After),
        (1.0, Side::Before),
        (1.0, Side::After),
        (2.7, Side::Before),
    ] {
        for inputs in [plain.inputs_mut(), packed.inputs_mut(), values.inputs_mut()] {
            inputs.set(0, 0, 0.7);
            inputs.set_side(side);
            inputs.set_time(time);
        }
        sharp.inputs_mut().set(0, 0, Dd::from(0.7));
        sharp.inputs_mut().set_side(side);
        sharp.inputs_mut().set_time(Dd::from(time));
        values.evaluate().expect("values");
        for order in 0..=ORDER {
            plain.extend(order as i32).expect("values");
            packed.extend(order as i32).expect("values");
            sharp.extend(order as i32).expect("values");
            for root in 0..3 {
                let wanted = plain.root(root, order);
                assert_eq!(packed.root(root, order), wanted, "{time} {order} {root}");
                let close = (sharp.root(root, order).to_f64() - wanted).abs();
                assert!(
                    close <= 1e-13 * (1.0 + wanted.abs()),
                    "{time} {order} {root}"
                );
            }
        }
        for root in 0..3 {
            assert_eq!(values.root(root), plain.root(root, 0));
        }
        let d = time - 1.0;
        let cubic = if time < 1.0 || time == 1.0 && side == Side::Before {
            1.0
        } else {
            2.0
        };
        let u = [
            cubic * d * d * d + 3.0 * d * d + d - 1.0,
            3.0 * cubic * d * d + 6.0 * d + 1.0,
            3.0 * cubic * d + 3.0,
            cubic,
            0.0,
        ];
        for (order, wanted) in u.iter().enumerate() {
            assert!(
                (plain.root(1, order) - wanted).abs() < 1e-14,
                "{time} {order}"
            );
        }
        // u' has the coefficients (k + 1) u_(k+1).
        for order in 0..4 {
            let wanted = (order + 1) as f64 * u[order + 1];
            assert!(
                (plain.root(2, order) - wanted).abs() < 1e-13,
                "{time} {order}"
            );
        }
    }
}
