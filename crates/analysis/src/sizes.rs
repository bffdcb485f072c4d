//! The sizes that errors of unknowns are measured against, section 3 of `docs/theory/integration.md`.

use crate::System;
use crate::tolerances::AMPLIFIES;
use daelight_expr::{SymbolId, Walker};
use daelight_lang::Symbol;

/// Nominal values; where the model gives none, 1, or less where equations amplify an error of the unknown in another one.
///
/// In `u = q/1e-12` an error of 1e-8 in q is one of 1e4 in u: the size of q is 1e-12.
pub fn error_sizes(system: &System) -> Vec<f64> {
    let infos = system.unknowns();
    let mut sizes: Vec<f64> = infos
        .iter()
        .map(|info| info.nominal.unwrap_or(1.0).abs())
        .collect();
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
