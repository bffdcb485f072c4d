//! Laws that jets and Jacobian series obey on random models.
//!
//! Errors are judged in the time unit R in which every series of the evaluation has size at most
//! max(1, its value), and relative to the largest value that takes part.

use crate::support::{inverse_radius, largest_value, random, runner};
use daelight_expr::{
    BinaryOp, ExprId, Graph, JacobianSeries, Jet, JetEvaluator, PackedJet, ReverseSweep,
    SeriesRoot, Slot, SymbolId, Tape, UnaryOp,
};
use proptest::prelude::*;
use std::sync::Arc;

const ORDER: usize = 10;

/// The slots of random models, and x'' for symbols 8..11.
fn slot(symbol: SymbolId) -> Slot {
    match symbol.0 {
        index @ 8.. => Slot::Variable {
            index: index - 8,
            order: 2,
        },
        _ => random::slot(symbol),
    }
}

fn jet_of(graph: &Graph, roots: &[ExprId], coefficients: &[f64]) -> Jet {
    let tape = Tape::compile(graph, roots, slot).with_counts(random::N_VARIABLES, 1);
    let mut jet = Jet::new(Arc::new(tape), ORDER);
    random::set_inputs(&mut jet, coefficients);
    for k in 0..=ORDER {
        jet.extend(k as i32)
            .expect("smooth models have jets everywhere");
    }
    jet
}

fn close(jet: &Jet, k: usize, a: f64, b: f64, tolerance: f64) -> Result<(), TestCaseError> {
    let rate = inverse_radius(jet, ORDER).max(1.0);
    let unit = largest_value(jet) * rate.powi(k as i32);
    prop_assert!(
        (a - b).abs() <= tolerance * unit,
        "order {}: {:e} against {:e}, unit {:e}",
        k,
        a,
        b,
        unit
    );
    Ok(())
}

#[test]
fn the_jet_of_a_product_is_leibniz() {
    let inputs = (random::choices(30), random::coefficients(ORDER + 3));
    runner(200)
        .run(&inputs, |(choices, coefficients)| {
            let mut graph = Graph::new();
            let pool = random::build(&mut graph, &choices, true);
            let (a, b) = (pool[pool.len() - 1], pool[pool.len() - 2]);
            let product = graph.mul(a, b);
            let jet = jet_of(&graph, &[a, b, product], &coefficients);
            for k in 0..=ORDER {
                let sum: f64 = (0..=k).map(|i| jet.root(0, i) * jet.root(1, k - i)).sum();
                close(&jet, k, sum, jet.root(2, k), 1e-13)?;
            }
            Ok(())
        })
        .unwrap();
}

/// (k+1) f_{k+1} = (f')_k, where f' is the symbolic total time derivative.
#[test]
fn the_jet_obeys_the_chain_rule() {
    let inputs = (random::choices(30), random::coefficients(ORDER + 4));
    runner(200)
        .run(&inputs, |(choices, coefficients)| {
            let mut graph = Graph::new();
            let root = *random::build(&mut graph, &choices, true)
                .last()
                .expect("never empty");
            let rate = graph.derivatives_along(&[root], |graph, symbol| match symbol.0 {
                index @ 0..3 => Some(graph.symbol(SymbolId(index + 3))),
                index @ 3..6 => Some(graph.symbol(SymbolId(index + 5))),
                6 => None,
                _ => Some(graph.constant(1.0)),
            })[0];
            let jet = jet_of(&graph, &[root, rate], &coefficients);
            for k in 0..ORDER {
                let shifted = (k + 1) as f64 * jet.root(0, k + 1);
                close(&jet, k, shifted, jet.root(1, k), 1e-11)?;
            }
            Ok(())
        })
        .unwrap();
}

#[test]
fn inverse_functions_undo_each_other() {
    type Build = fn(&mut Graph, ExprId) -> ExprId;
    let pairs: [(&str, Build); 11] = [
        ("log exp", |g, x| {
            let inner = g.unary(UnaryOp::Exp, x);
            g.unary(UnaryOp::Log, inner)
        }),
        ("exp log", |g, x| {
            let inner = g.unary(UnaryOp::Log, x);
            g.unary(UnaryOp::Exp, inner)
        }),
        ("tan atan", |g, x| {
            let inner = g.unary(UnaryOp::Atan, x);
            g.unary(UnaryOp::Tan, inner)
        }),
        ("atan tan", |g, x| {
            let inner = g.unary(UnaryOp::Tan, x);
            g.unary(UnaryOp::Atan, inner)
        }),
        ("sin asin", |g, x| {
            let inner = g.unary(UnaryOp::Asin, x);
            g.unary(UnaryOp::Sin, inner)
        }),
        ("cos acos", |g, x| {
            let inner = g.unary(UnaryOp::Acos, x);
            g.unary(UnaryOp::Cos, inner)
        }),
        ("sqrt square", |g, x| {
            let inner = g.mul(x, x);
            g.unary(UnaryOp::Sqrt, inner)
        }),
        ("square sqrt", |g, x| {
            let inner = g.unary(UnaryOp::Sqrt, x);
            g.mul(inner, inner)
        }),
        ("cube cube root", |g, x| {
            let (third, three) = (g.constant(1.0 / 3.0), g.constant(3.0));
            let inner = g.pow(x, third);
            g.pow(inner, three)
        }),
        ("atan2 of sine and cosine", |g, x| {
            let (sine, cosine) = (g.unary(UnaryOp::Sin, x), g.unary(UnaryOp::Cos, x));
            g.binary(BinaryOp::Atan2, sine, cosine)
        }),
        ("log10 of a power of ten", |g, x| {
            let ten = g.constant(10.0);
            let inner = g.pow(ten, x);
            g.unary(UnaryOp::Log10, inner)
        }),
    ];
    let inputs = (0.3..0.8f64, random::coefficients(ORDER + 3));
    for (name, build) in pairs {
        runner(50)
            .run(&inputs, |(start, mut coefficients)| {
                coefficients[0] = start;
                let mut graph = Graph::new();
                let x = graph.symbol(SymbolId(0));
                let root = build(&mut graph, x);
                // Roots and quotients spread rounding errors like 1/x: its series takes part too.
                let one = graph.constant(1.0);
                let inverse = graph.div(one, x);
                let jet = jet_of(&graph, &[root, x, inverse], &coefficients);
                for k in 0..=ORDER {
                    close(&jet, k, jet.root(0, k), jet.root(1, k), 1e-13)?;
                }
                Ok(())
            })
            .unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

fn series_of<J: JetEvaluator>(
    graph: &mut Graph,
    residuals: &[ExprId],
    coefficients: &[f64],
) -> JacobianSeries<J> {
    let mut series =
        JacobianSeries::new(graph, residuals, random::N_VARIABLES, ORDER, random::slot);
    if !series.inputs().parameters().is_empty() {
        series.inputs_mut().parameters_mut()[0] = 0.75;
    }
    series.inputs_mut().set_time(0.3);
    for (place, &coefficient) in coefficients.iter().enumerate() {
        let (order, variable) = (place / random::N_VARIABLES, place % random::N_VARIABLES);
        if order < series.inputs().n_orders() {
            series.inputs_mut().set(variable, order, coefficient);
        }
    }
    for k in 0..=ORDER {
        series
            .extend(k)
            .expect("smooth models have jets everywhere");
    }
    series
}

/// dF_i/dx_j = B_{i-j} + j E_{i-j+1}, against central differences of jets.
#[test]
fn the_matrix_series_hold_the_jacobian_of_the_derivative_array() {
    const N_BLOCKS: usize = 5;
    let inputs = (random::choices(30), random::coefficients(ORDER + 3));
    runner(60)
        .run(&inputs, |(choices, coefficients)| {
            let mut graph = Graph::new();
            let pool = random::build(&mut graph, &choices, true);
            let residuals = &pool[pool.len() - 3..];
            let series: JacobianSeries<Jet> = series_of(&mut graph, residuals, &coefficients);
            let rate = inverse_radius(series.jet(), ORDER).max(1.0);
            let size = largest_value(series.jet());
            for j in 0..=N_BLOCKS {
                for unknown in 0..random::N_VARIABLES {
                    // In the time unit 1/rate, a step of 1e-5 in the scaled coefficient.
                    let step = 1e-5 * rate.powi(j as i32);
                    let mut sides = [1.0, -1.0].map(|sign| {
                        let mut moved = coefficients.clone();
                        moved[j * random::N_VARIABLES + unknown] += sign * step;
                        jet_of(&graph, residuals, &moved)
                    });
                    let [high, low] = &mut sides;
                    for i in 0..=N_BLOCKS {
                        let mut block = [0.0; 3];
                        series.array_block(i, j, |equation, column, value| {
                            if column == unknown {
                                block[equation] += value;
                            }
                        });
                        for (equation, &entry) in block.iter().enumerate() {
                            let change = high.root(equation, i) - low.root(equation, i);
                            let error = (change / (2.0 * step) - entry).abs();
                            // The third derivative of the difference and its rounding.
                            let unit = size * rate.powi(i as i32 - j as i32 + 1) * (1 + j) as f64;
                            prop_assert!(
                                error <= 1e-6 * unit.max(entry.abs()),
                                "dF_{}/dx_{}, equation {}, unknown {}: {:e} against {:e}, unit {:e}",
                                i, j, equation, unknown, change / (2.0 * step), entry, unit
                            );
                        }
                    }
                }
            }
            Ok(())
        })
        .unwrap();
}

/// The entries are the jets of the partial derivatives that forward differentiation gives.
#[test]
fn the_matrix_series_are_jets_of_the_symbolic_derivatives() {
    let inputs = (random::choices(30), random::coefficients(ORDER + 3));
    runner(100)
        .run(&inputs, |(choices, coefficients)| {
            let mut graph = Graph::new();
            let pool = random::build(&mut graph, &choices, true);
            let residuals = &pool[pool.len() - 3..];
            let series: JacobianSeries<PackedJet> = series_of(&mut graph, residuals, &coefficients);
            for derivative in 0..series.n_matrices() {
                let mut dense = [[None; 3]; 3];
                for (row, column, position) in series.pattern(derivative).iter() {
                    dense[row][column] = Some(position);
                }
                for (row, &residual) in residuals.iter().enumerate() {
                    for (column, position) in dense[row].into_iter().enumerate() {
                        let symbol = SymbolId((3 * derivative + column) as u32);
                        let partial = graph.partial(residual, symbol);
                        let Some(position) = position else {
                            prop_assert_eq!(graph.as_constant(partial), Some(0.0));
                            continue;
                        };
                        let jet = jet_of(&graph, &[partial], &coefficients);
                        let rate = inverse_radius(series.jet(), ORDER)
                            .max(inverse_radius(&jet, ORDER))
                            .max(1.0);
                        let size = largest_value(series.jet()).max(largest_value(&jet));
                        for k in 0..=ORDER {
                            let entry = series.entry(derivative, position, k);
                            let unit = size * rate.powi(k as i32);
                            prop_assert!((entry - jet.root(0, k)).abs() <= 1e-12 * unit);
                        }
                        let root = residuals.len()
                            + (0..derivative)
                                .map(|other| series.pattern(other).n_entries())
                                .sum::<usize>()
                            + position;
                        prop_assert_eq!(
                            series.root(root),
                            SeriesRoot::Entry {
                                equation: row,
                                unknown: column,
                                derivative
                            }
                        );
                    }
                }
            }
            Ok(())
        })
        .unwrap();
}

/// A second-order system: dF_i/dx_j = A_{i-j} + j B_{i-j+1} + j (j-1) C_{i-j+2}, exactly, on a
/// polynomial whose matrices are known.
#[test]
fn second_order_systems_have_three_matrices() {
    let mut graph = Graph::new();
    let [x, rate, acceleration] = [0, 3, 8].map(|symbol| graph.symbol(SymbolId(symbol)));
    let product = graph.mul(x, acceleration);
    let square = graph.mul(rate, rate);
    let residual = graph.add(product, square);
    let mut series: JacobianSeries<Jet> = JacobianSeries::new(&mut graph, &[residual], 1, 3, slot);
    for (order, coefficient) in [2.0, 3.0, 5.0, 7.0, 11.0, 13.0].into_iter().enumerate() {
        series.inputs_mut().set(0, order, coefficient);
    }
    for k in 0..=3 {
        series.extend(k).unwrap();
    }
    // x x'' + x'^2 = (x^2)''/2, so F_i = (i+1)(i+2)/2 sum_m x_m x_{i+2-m}.
    assert_eq!(series.residual(0, 0), 2.0 * 2.0 * 5.0 + 9.0);
    for i in 0..=1 {
        for j in 0..=i + 2 {
            let mut entry = 0.0;
            series.array_block(i, j, |_, _, value| entry += value);
            let exact = ((i + 1) * (i + 2)) as f64 * series.inputs().get(0, i + 2 - j);
            assert_eq!(entry, exact, "dF_{i}/dx_{j}");
        }
    }
}

#[test]
fn patterns_list_what_occurs() {
    let mut graph = Graph::new();
    let [x, y, z] = [0, 1, 2].map(|symbol| graph.symbol(SymbolId(symbol)));
    let sign = graph.unary(UnaryOp::Sign, y);
    let product = graph.mul(x, z);
    let first = graph.add(product, sign);
    let symbols = [SymbolId(2), SymbolId(1), SymbolId(0)];
    let pattern = graph.sparsity(&[first, y], &symbols);
    assert_eq!(pattern.row_starts(), [0, 3, 4]);
    assert_eq!(pattern.columns(), [0, 1, 2, 1]);
    // The slope of sign is zero, so the derivative has no entry there.
    let jacobian = graph.sparse_jacobian(&[first, y], &symbols);
    assert_eq!(jacobian.pattern.columns(), [0, 2, 1]);
    assert_eq!(jacobian.entries[..2], [x, z]);
}

/// Random expressions with branches of which one side often has no value, against the forward derivative.
#[test]
fn a_branch_that_is_not_taken_harms_no_derivative() {
    let mut state = 1_u64;
    let mut random = |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(9);
        (state >> 33) as usize % below
    };
    let symbols = [SymbolId(0), SymbolId(1)];
    let mut sweep = ReverseSweep::default();
    let mut n_finite = 0;
    for _ in 0..400 {
        let mut graph = Graph::new();
        let mut pool: Vec<ExprId> = symbols.map(|symbol| graph.symbol(symbol)).to_vec();
        pool.push(graph.constant(0.5));
        for _ in 0..24 {
            let [a, b, c, d] = [0; 4].map(|_| pool[random(pool.len())]);
            pool.push(match random(6) {
                0 => graph.unary(UnaryOp::Sqrt, a),
                1 => graph.unary(UnaryOp::Log, a),
                2 => graph.div(a, b),
                3 => graph.sub(a, b),
                _ => {
                    let holds = graph.binary(BinaryOp::Less, a, b);
                    graph.select(holds, c, d)
                }
            });
        }
        let root = pool[pool.len() - 1];
        let reverse = sweep.gradient(&mut graph, root, &symbols);
        for point in [[0.3, 0.7], [-0.8, 0.45], [2.0, -1.5]] {
            for (axis, &entry) in reverse.iter().enumerate() {
                let forward = graph.partial(root, symbols[axis]);
                let at = |symbol: SymbolId| point[symbol.0 as usize];
                let [value, forward, entry] = graph.evaluate(&[root, forward, entry], at)[..]
                else {
                    unreachable!("three roots")
                };
                if value.is_finite() && forward.is_finite() {
                    let error = (entry - forward).abs();
                    let size = 1.0 + forward.abs();
                    assert!(error <= 1e-9 * size, "{entry} against {forward}");
                    n_finite += 1;
                }
            }
        }
    }
    assert!(n_finite > 500, "{n_finite}");
}
