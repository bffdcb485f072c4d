//! Which inputs an unknown depends on at once, from the structure of the equations.

use crate::variables::inputs_in;
use daelight_analysis::System;
use daelight_expr::Walker;
use daelight_lang::Model;
use std::collections::BTreeSet;

/// For each unknown the inputs that it depends on without delay; `None` where the structure says nothing or changes at events.
///
/// Diagonal blocks are solved one after the other: an unknown depends on the inputs in the equations of its block, and on those of
/// the unknowns that these equations hold in their highest derivatives.
pub fn dependencies(model: &Model, system: &System) -> Option<Vec<BTreeSet<usize>>> {
    if model.hybrid.is_some() {
        return None;
    }
    let structure = system.structure().ok()?;
    let mut walker = Walker::new();
    let mut found: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); model.unknowns.len()];
    for block in structure.blocks() {
        let mut inputs = BTreeSet::new();
        for &equation in &block.equations {
            let residual = model.equations.get(equation)?.residual;
            inputs.extend(inputs_in(model, &mut walker, residual));
            for unknown in structure.jacobian_row(equation) {
                inputs.extend(found.get(unknown)?.iter().copied());
            }
        }
        for &unknown in &block.unknowns {
            found.get_mut(unknown)?.clone_from(&inputs);
        }
    }
    Some(found)
}
