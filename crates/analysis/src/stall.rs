//! What a failed search for a consistent point proves; `docs/theory/initial.md`, section 4.

use crate::System;
use crate::initial::Row;
use crate::structure::{Structure, SystemJacobian};
use daelight_expr::Walker;
use daelight_lang::Symbol;

/// Whether a search that stalled at a row proves that the point is singular.
///
/// Least squares stall only where the matrix of a stage is singular, solution or not: at z = 0 for z^2 = -1 as well as
/// for z^2 = 1. Only where the stage is linear in its own unknowns does its matrix belong to the point. `structure`: the one
/// whose stages were solved; without it all rows of an order were, and the equations as written must hold.
pub(crate) fn stall_is_singular(system: &System, structure: Option<&Structure>, row: &Row) -> bool {
    let Row::Equation { equation, order } = *row else {
        return false;
    };
    let Some(structure) = structure else {
        return order > 0;
    };
    let offsets = structure.offsets();
    let block = structure
        .blocks()
        .iter()
        .find(|block| block.equations.contains(&equation));
    let Some(block) = block else { return false };
    // The stage is k = order - c_i; its rows with k + c_i > 0 were differentiated and are linear.
    let written = |i: usize| offsets.equation[i] + order == offsets.equation[equation];
    let jacobian = SystemJacobian::new(system.equations(), structure, system.parameters().values());
    let mut walker = Walker::new();
    let mut next = 0;
    for i in 0..structure.n() {
        let entries = &jacobian.entries()[next..next + structure.jacobian_row(i).len()];
        next += entries.len();
        if !written(i) || !block.equations.contains(&i) {
            continue;
        }
        let symbols = walker.symbols(jacobian.graph(), entries);
        let is_own = |symbol: Symbol| {
            matches!(symbol, Symbol::Unknown { unknown, order }
                if block.unknowns.contains(&unknown)
                    && order as usize + offsets.equation[i] == offsets.variable[unknown])
        };
        if symbols.iter().any(|&id| is_own(jacobian.symbols().get(id))) {
            return false;
        }
    }
    true
}
