//! The sizes that errors of unknowns are measured against, section 3 of `docs/theory/integration.md`.

use crate::System;
use crate::tolerances::AMPLIFIES;
use daelight_expr::{BinaryOp, ExprId, Node, SymbolId, Walker};
use daelight_lang::Symbol;

/// Nominal values; where the model gives none, 1, or less where equations amplify an error of the unknown in another one.
///
/// In `u = q/1e-12` an error of 1e-8 in q is one of 1e4 in u: the size of q is 1e-12. A quotient `1e-14/h` is of size 1 where h is of size 1e-14.
pub fn error_sizes(system: &System) -> Vec<f64> {
    let infos = system.unknowns();
    let mut sizes: Vec<f64> = infos
        .iter()
        .map(|info| info.nominal.unwrap_or(1.0).abs())
        .collect();
    for (j, size) in denominators(system) {
        if infos[j].nominal.is_none() && AMPLIFIES * size < sizes[j] {
            sizes[j] = size;
        }
    }
    let rows = constant_rows(system);
    // A size can follow from another one that was lowered; a chain is as long as the model at most.
    for _ in 0..infos.len() {
        let before = sizes.clone();
        for row in &rows {
            for &(j, factor) in row {
                let others = row.iter().filter(|(k, _)| *k != j);
                let felt = others
                    .map(|&(k, factor)| (factor * sizes[k]).abs())
                    .fold(0.0, f64::max);
                let size = felt / factor.abs();
                if infos[j].nominal.is_none() && size > 0.0 && AMPLIFIES * size < sizes[j] {
                    sizes[j] = size;
                }
            }
        }
        if before == sizes {
            break;
        }
    }
    sizes
}

/// The unknowns that numbers and parameters are divided by, with the values of these.
fn denominators(system: &System) -> Vec<(usize, f64)> {
    let equations = system.equations();
    let (graph, symbols) = (equations.graph(), equations.symbols());
    let parameters = system.parameters().values();
    let mut walker = Walker::new();
    let nodes = walker.reachable(graph, equations.residuals()).to_vec();
    let quotient = |id: ExprId| {
        let Node::Binary(BinaryOp::Div, above, below) = graph.node(id) else {
            return None;
        };
        let Node::Symbol(symbol) = graph.node(below) else {
            return None;
        };
        let Symbol::Unknown { unknown, order: 0 } = symbols.get(symbol) else {
            return None;
        };
        // Whatever else is above the line makes it no number.
        let value = |id: SymbolId| match symbols.get(id) {
            Symbol::Parameter(index) => parameters[index],
            _ => f64::NAN,
        };
        let size = graph.evaluate(&[above], value)[0].abs();
        (size.is_finite() && size > 0.0).then_some((unknown, size))
    };
    nodes.into_iter().filter_map(quotient).collect()
}

/// The rows without derivatives whose factors are numbers and parameters: unknowns with their factors.
fn constant_rows(system: &System) -> Vec<Vec<(usize, f64)>> {
    let equations = system.equations();
    let (graph, symbols) = (equations.graph(), equations.symbols());
    let parameters = system.parameters().values();
    let is_parameter = |id: &SymbolId| matches!(symbols.get(*id), Symbol::Parameter(_));
    let value = |id: SymbolId| match symbols.get(id) {
        Symbol::Parameter(index) => parameters[index],
        _ => f64::NAN,
    };
    let jacobian = equations.jacobian(0);
    let mut walker = Walker::new();
    let rows = 0..equations.n_equations();
    let mut of_row = |row: usize| -> Option<Vec<(usize, f64)>> {
        if !equations.pattern(1).row(row).is_empty() {
            return None;
        }
        let positions = jacobian.pattern.row(row);
        positions
            .map(|position| {
                let entry = jacobian.entries[position];
                let held = walker.symbols(graph, &[entry]);
                let factor = held
                    .iter()
                    .all(is_parameter)
                    .then(|| graph.evaluate(&[entry], value)[0])?;
                let column = jacobian.pattern.columns()[position] as usize;
                (factor.is_finite() && factor != 0.0).then_some((column, factor))
            })
            .collect()
    };
    rows.filter_map(&mut of_row).collect()
}
