//! What has no value is reported as an outcome that names the expression.

use crate::support::{random, runner};
use daelight_expr::{
    BinaryOp, ExprId, Fault, FaultKind, Graph, JacobianSeries, Jet, JetEvaluator, PackedJet,
    SeriesRoot, Slot, SymbolId, Tape, UnaryOp, Values,
};
use proptest::prelude::*;
use std::cmp::Ordering;
use std::sync::Arc;

/// Symbols 0, 1, 2 are moving variables and symbol 3 is a parameter.
fn slot(symbol: SymbolId) -> Slot {
    match symbol.0 {
        3 => Slot::Parameter(0),
        index => Slot::Variable { index, order: 0 },
    }
}

/// An expression, the part of it that fails, why, and at which order.
struct Case {
    name: &'static str,
    /// x, y and the parameter; x and y move with speed 1 and 0.5.
    at: [f64; 3],
    build: fn(&mut Graph, [ExprId; 3]) -> (ExprId, ExprId),
    expected: Option<(FaultKind, usize)>,
}

fn outcome<J: JetEvaluator>(tape: &Arc<Tape>, at: [f64; 3]) -> Result<(), Fault> {
    let mut jet = J::new(Arc::clone(tape), 4);
    for (variable, coefficient) in [(0, at[0]), (1, at[1])] {
        jet.inputs_mut().set(variable, 0, coefficient);
    }
    jet.inputs_mut().set(0, 1, 1.0);
    jet.inputs_mut().set(1, 1, 0.5);
    jet.inputs_mut().parameters_mut()[0] = at[2];
    for order in 0..=4 {
        jet.extend(order)?;
        assert!((0..tape.n_roots()).all(|root| jet.root(root, order as usize).is_finite()));
    }
    Ok(())
}

fn check(case: &Case) {
    let mut graph = Graph::new();
    let symbols = [0, 1, 3].map(|symbol| graph.symbol(SymbolId(symbol)));
    let (inner, failing) = (case.build)(&mut graph, symbols);
    // The failure is deep inside, and another root is sound.
    let half = graph.constant(0.5);
    let sum = graph.mul(inner, symbols[0]);
    let root = graph.add(sum, half);
    let tape = Tape::compile(&graph, &[half, root], slot).with_counts(2, 1);
    let tape = Arc::new(tape);
    let expected = match case.expected {
        None => Ok(()),
        Some((kind, order)) => Err(Fault {
            expr: failing,
            kind,
            order,
            root: 1,
        }),
    };
    assert_eq!(outcome::<Jet>(&tape, case.at), expected, "{}", case.name);
    assert_eq!(
        outcome::<PackedJet>(&tape, case.at),
        expected,
        "{}",
        case.name
    );
    let mut values = Values::new(Arc::clone(&tape));
    values.inputs_mut().set(0, 0, case.at[0]);
    values.inputs_mut().set(1, 0, case.at[1]);
    values.inputs_mut().parameters_mut()[0] = case.at[2];
    let at_order_0 = expected.err().filter(|fault| fault.order == 0);
    assert_eq!(values.evaluate().err(), at_order_0, "{}, value", case.name);
}

/// The expression and the failing part are the same.
fn whole(expr: ExprId) -> (ExprId, ExprId) {
    (expr, expr)
}

#[test]
fn domain_errors_name_the_expression() {
    use FaultKind::*;
    let cases = [
        Case {
            name: "sqrt of a negative",
            at: [-1.0, 0.0, 0.0],
            build: |g, [x, ..]| whole(g.unary(UnaryOp::Sqrt, x)),
            expected: Some((SqrtOfNegative, 0)),
        },
        Case {
            name: "sqrt at zero has a value and no slope",
            at: [0.0, 0.0, 0.0],
            build: |g, [x, ..]| whole(g.unary(UnaryOp::Sqrt, x)),
            expected: Some((SingularSlope, 1)),
        },
        Case {
            name: "sqrt of a resting zero",
            at: [1.0, 0.0, 0.0],
            build: |g, [.., p]| whole(g.unary(UnaryOp::Sqrt, p)),
            expected: None,
        },
        Case {
            name: "log of zero",
            at: [1.0, 0.0, 0.0],
            build: |g, [_, y, _]| whole(g.unary(UnaryOp::Log, y)),
            expected: Some((LogOfNonPositive, 0)),
        },
        Case {
            name: "log10 of a negative",
            at: [1.0, -2.0, 0.0],
            build: |g, [_, y, _]| whole(g.unary(UnaryOp::Log10, y)),
            expected: Some((LogOfNonPositive, 0)),
        },
        Case {
            name: "division by zero inside a sine",
            at: [1.0, 0.0, 0.0],
            build: |g, [x, y, _]| {
                let quotient = g.div(x, y);
                (g.unary(UnaryOp::Sin, quotient), quotient)
            },
            expected: Some((DivisionByZero, 0)),
        },
        Case {
            name: "division by a parameter that is zero",
            at: [1.0, 1.0, 0.0],
            build: |g, [x, _, p]| whole(g.div(x, p)),
            expected: Some((DivisionByZero, 0)),
        },
        Case {
            name: "infinity is not turned back into a number",
            at: [1.0, 0.0, 0.0],
            build: |g, [x, y, _]| {
                let quotient = g.div(x, y);
                (g.unary(UnaryOp::Atan, quotient), quotient)
            },
            expected: Some((DivisionByZero, 0)),
        },
        Case {
            name: "zero to a negative whole power",
            at: [1.0, 0.0, 0.0],
            build: |g, [_, y, _]| {
                let exponent = g.constant(-3.0);
                whole(g.pow(y, exponent))
            },
            expected: Some((NegativePowerOfZero, 0)),
        },
        Case {
            name: "zero to a negative real power",
            at: [1.0, 0.0, -0.5],
            build: |g, [_, y, p]| whole(g.pow(y, p)),
            expected: Some((NegativePowerOfZero, 0)),
        },
        Case {
            name: "a negative number to a real power",
            at: [1.0, -1.0, 0.5],
            build: |g, [_, y, p]| whole(g.pow(y, p)),
            expected: Some((PowerOfNegative, 0)),
        },
        Case {
            name: "a negative number to a whole parameter",
            at: [1.0, -1.0, 3.0],
            build: |g, [_, y, p]| whole(g.pow(y, p)),
            expected: None,
        },
        Case {
            name: "zero to a whole parameter",
            at: [1.0, 0.0, 3.0],
            build: |g, [_, y, p]| whole(g.pow(y, p)),
            expected: None,
        },
        Case {
            name: "zero to a real power",
            at: [1.0, 0.0, 1.5],
            build: |g, [_, y, p]| whole(g.pow(y, p)),
            expected: Some((SingularSlope, 1)),
        },
        Case {
            name: "a moving exponent needs the logarithm from order 1 on",
            at: [2.0, -1.0, 0.0],
            build: |g, [x, y, _]| whole(g.pow(y, x)),
            expected: Some((LogOfNonPositive, 1)),
        },
        Case {
            name: "asin outside",
            at: [1.0, 1.5, 0.0],
            build: |g, [_, y, _]| whole(g.unary(UnaryOp::Asin, y)),
            expected: Some((OutsideUnitInterval, 0)),
        },
        Case {
            name: "acos at its end has no slope",
            at: [1.0, -1.0, 0.0],
            build: |g, [_, y, _]| whole(g.unary(UnaryOp::Acos, y)),
            expected: Some((SingularSlope, 1)),
        },
        Case {
            name: "the angle of the origin",
            at: [0.0, 0.0, 0.0],
            build: |g, [x, y, _]| whole(g.binary(BinaryOp::Atan2, x, y)),
            expected: Some((AngleOfOrigin, 0)),
        },
        Case {
            name: "overflow of a value",
            at: [1.0, 800.0, 0.0],
            build: |g, [_, y, _]| whole(g.unary(UnaryOp::Exp, y)),
            expected: Some((Overflow, 0)),
        },
        Case {
            name: "overflow of a coefficient",
            at: [1.0, 1e-200, 0.0],
            build: |g, [x, y, _]| whole(g.div(x, y)),
            expected: Some((Overflow, 1)),
        },
        Case {
            name: "an undefined power of zero",
            at: [1.0, -1.0, 0.0],
            build: |g, [_, y, _]| {
                let root = g.unary(UnaryOp::Sqrt, y);
                let zero = g.constant(0.0);
                (g.pow(root, zero), root)
            },
            expected: Some((SqrtOfNegative, 0)),
        },
    ];
    for case in &cases {
        check(case);
    }
}

#[test]
fn kinks_stop_jets_and_not_values() {
    use FaultKind::Kink;
    let cases = [
        Case {
            name: "abs",
            at: [0.0, 1.0, 0.0],
            build: |g, [x, ..]| whole(g.unary(UnaryOp::Abs, x)),
            expected: Some((Kink, 1)),
        },
        Case {
            name: "sign",
            at: [0.0, 1.0, 0.0],
            build: |g, [x, ..]| whole(g.unary(UnaryOp::Sign, x)),
            expected: Some((Kink, 1)),
        },
        Case {
            name: "min",
            at: [2.0, 2.0, 0.0],
            build: |g, [x, y, _]| whole(g.binary(BinaryOp::Min, x, y)),
            expected: Some((Kink, 1)),
        },
        Case {
            name: "if",
            at: [2.0, 2.0, 0.0],
            build: |g, [x, y, _]| {
                let relation = g.binary(BinaryOp::Less, x, y);
                (g.select(relation, x, y), relation)
            },
            expected: Some((Kink, 1)),
        },
        Case {
            name: "a relation between parameters never switches",
            at: [2.0, 2.0, 1.0],
            build: |g, [x, y, p]| {
                let one = g.constant(1.0);
                let relation = g.binary(BinaryOp::Equal, p, one);
                whole(g.select(relation, x, y))
            },
            expected: None,
        },
        Case {
            name: "a false side hides the kink of the other",
            at: [2.0, 0.0, 1.0],
            build: |g, [x, y, _]| {
                let zero = g.constant(0.0);
                let no = g.binary(BinaryOp::Less, x, zero);
                let kink = g.binary(BinaryOp::Less, y, zero);
                let both = g.binary(BinaryOp::And, no, kink);
                whole(g.select(both, x, y))
            },
            expected: None,
        },
    ];
    for case in &cases {
        check(case);
    }
}

#[test]
fn the_branch_not_taken_harms_nobody() {
    let cases = [
        Case {
            name: "if x > 0 then sqrt(x) else abs(y), x < 0",
            at: [-1.0, 2.0, 0.0],
            build: |g, [x, y, _]| {
                let zero = g.constant(0.0);
                let relation = g.binary(BinaryOp::Greater, x, zero);
                let root = g.unary(UnaryOp::Sqrt, x);
                let other = g.unary(UnaryOp::Abs, y);
                (g.select(relation, root, other), other)
            },
            expected: None,
        },
        Case {
            name: "the same where the taken branch has a kink",
            at: [-1.0, 0.0, 0.0],
            build: |g, [x, y, _]| {
                let zero = g.constant(0.0);
                let relation = g.binary(BinaryOp::Greater, x, zero);
                let root = g.unary(UnaryOp::Sqrt, x);
                let other = g.unary(UnaryOp::Abs, y);
                (g.select(relation, root, other), other)
            },
            expected: Some((FaultKind::Kink, 1)),
        },
        Case {
            name: "a condition without a value",
            at: [-1.0, 2.0, 0.0],
            build: |g, [x, y, _]| {
                let logarithm = g.unary(UnaryOp::Log, x);
                let relation = g.binary(BinaryOp::Greater, logarithm, y);
                (g.select(relation, x, y), logarithm)
            },
            expected: Some((FaultKind::LogOfNonPositive, 0)),
        },
    ];
    for case in &cases {
        check(case);
    }
}

#[test]
fn inputs_that_are_no_numbers_are_named() {
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        check(&Case {
            name: "variable",
            at: [1.0, bad, 0.0],
            build: |g, [x, y, _]| {
                let product = g.mul(x, y);
                (g.unary(UnaryOp::Atan, product), y)
            },
            expected: Some((FaultKind::NonFiniteInput, 0)),
        });
        check(&Case {
            name: "parameter",
            at: [1.0, 1.0, bad],
            build: |g, [x, _, p]| (g.mul(p, x), p),
            expected: Some((FaultKind::NonFiniteInput, 0)),
        });
    }
}

/// Abs and if at a switching point continue on the side that the caller chooses.
#[test]
fn held_branches_continue_smoothly() {
    fn check<J: JetEvaluator>() {
        let mut graph = Graph::new();
        let [x, y] = [0, 1].map(|symbol| graph.symbol(SymbolId(symbol)));
        let absolute = graph.unary(UnaryOp::Abs, x);
        let relation = graph.binary(BinaryOp::Less, x, y);
        let chosen = graph.select(relation, x, y);
        let tape = Arc::new(Tape::compile(&graph, &[absolute, chosen], slot));
        assert_eq!(tape.branches().collect::<Vec<_>>(), [absolute, relation]);
        let mut jet = J::new(Arc::clone(&tape), 2);
        jet.inputs_mut().set(0, 1, 3.0);
        jet.inputs_mut().set(1, 0, 1.0);
        jet.extend(0).unwrap();
        assert_eq!(jet.branches().sides(), [Ordering::Equal, Ordering::Less]);
        assert_eq!(jet.extend(1).unwrap_err().kind, FaultKind::Kink);
        assert_eq!(jet.switching(0, 1), 3.0);
        assert_eq!(jet.switching(1, 0), -1.0);
        // Along the motion x becomes positive, so the caller chooses that side.
        jet.branches_mut().hold(true);
        jet.branches_mut().choose(0, Ordering::Greater);
        jet.extend(0).unwrap();
        jet.extend(1).unwrap();
        assert_eq!(jet.root(0, 1), 3.0);
        // Held sides do not follow the values.
        jet.inputs_mut().set(0, 0, -2.0);
        jet.extend(0).unwrap();
        assert_eq!(jet.root(0, 0), -2.0);
        jet.branches_mut().hold(false);
        jet.extend(0).unwrap();
        assert_eq!(jet.root(0, 0), 2.0);
        assert_eq!(jet.branches().sides(), [Ordering::Less, Ordering::Less]);
    }
    check::<Jet>();
    check::<PackedJet>();
}

#[test]
fn a_fault_of_a_matrix_entry_is_placed() {
    let mut graph = Graph::new();
    let [x, y] = [0, 1].map(|symbol| graph.symbol(SymbolId(symbol)));
    let exponent = graph.constant(0.5);
    let power = graph.pow(y, exponent);
    let residual = graph.add(x, power);
    let mut series: JacobianSeries<Jet> =
        JacobianSeries::new(&mut graph, &[x, residual], 2, 1, slot);
    // At y = 0 the residual has a value and its derivative 0.5 y^-0.5 has not.
    let fault = series.extend(0).unwrap_err();
    assert_eq!(fault.kind, FaultKind::NegativePowerOfZero);
    assert_eq!(
        series.root(fault.root),
        SeriesRoot::Entry {
            equation: 1,
            unknown: 1,
            derivative: 0
        }
    );
    assert_eq!(series.root(1), SeriesRoot::Residual { equation: 1 });
}

/// Whatever the inputs are: no panic, and an `Ok` comes with finite numbers only.
#[test]
fn no_input_makes_the_engine_panic() {
    let number = prop_oneof![
        4 => -2.0..2.0f64,
        1 => prop::sample::select(vec![
            0.0, -0.0, 1.0, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX,
            f64::MIN_POSITIVE, 5e-324, 1e300, -1e300,
        ]),
    ];
    let inputs = (
        random::choices(40),
        prop::collection::vec(number, 3 * 6 + 2),
    );
    runner(1500)
        .run(&inputs, |(choices, numbers)| {
            let mut graph = Graph::new();
            let pool = random::build(&mut graph, &choices, false);
            let roots = &pool[pool.len() - 2..];
            let tape = Arc::new(Tape::compile(&graph, roots, random::slot).with_counts(3, 1));
            let mut plain = Jet::new(Arc::clone(&tape), 4);
            let mut packed = PackedJet::new(Arc::clone(&tape), 4);
            random::set_inputs(&mut plain, &numbers[2..]);
            random::set_inputs(&mut packed, &numbers[2..]);
            plain.inputs_mut().set_time(numbers[0]);
            plain.inputs_mut().parameters_mut()[0] = numbers[1];
            packed.inputs_mut().set_time(numbers[0]);
            packed.inputs_mut().parameters_mut()[0] = numbers[1];
            for order in 0..=4 {
                let outcome = plain.extend(order);
                prop_assert_eq!(outcome, packed.extend(order));
                if outcome.is_ok() {
                    for root in 0..2 {
                        prop_assert!(plain.root(root, order as usize).is_finite());
                    }
                }
                if outcome.is_err() {
                    break;
                }
                if order > 0 {
                    // With nothing changed a correction changes nothing.
                    prop_assert_eq!(plain.correct(order), Ok(()));
                    prop_assert_eq!(packed.correct(order), Ok(()));
                }
            }
            Ok(())
        })
        .unwrap();
}
