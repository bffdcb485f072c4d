//! The components of a model in its passport: which ones constraints tie together, and which a singular block goes through.

use daelight_analysis::System;
use daelight_analysis::structure::Structure;
use daelight_show::record::TieRecord;

/// The components of the model itself that equations belong to, in the order of the equations.
///
/// What is inside a component counts for it; connections belong to none.
pub(super) fn components_of(system: &System, equations: &[usize]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for &equation in equations {
        let component = &*system.written()[equation].instance.component;
        let top = component.split('.').next().unwrap_or_default();
        if !top.is_empty() && !found.iter().any(|known| known == top) {
            found.push(top.to_string());
        }
    }
    found
}

/// Equations that are differentiated and share unknowns, as the components that they tie together.
///
/// These are the parts of the model that raise its index: what is hidden in one of them involves its components alone.
pub(super) fn ties(system: &System, structure: &Structure) -> Vec<TieRecord> {
    let offsets = &structure.offsets().equation;
    let n = system.equations().n_unknowns();
    let mut piece: Vec<usize> = (0..n).collect();
    fn top(piece: &mut [usize], mut at: usize) -> usize {
        while piece[at] != at {
            piece[at] = piece[piece[at]];
            at = piece[at];
        }
        at
    }
    let differentiated: Vec<usize> = (0..offsets.len()).filter(|&i| offsets[i] > 0).collect();
    for &i in &differentiated {
        let mut row = structure.signature().row(i).map(|(j, _)| j);
        if let Some(first) = row.next() {
            for j in row {
                let (a, b) = (top(&mut piece, first), top(&mut piece, j));
                piece[a.max(b)] = a.min(b);
            }
        }
    }
    let mut groups: Vec<(usize, Vec<usize>)> = Vec::new();
    let mut at_piece = vec![usize::MAX; n];
    for &i in &differentiated {
        let Some((first, _)) = structure.signature().row(i).next() else {
            continue;
        };
        let here = top(&mut piece, first);
        if at_piece[here] == usize::MAX {
            at_piece[here] = groups.len();
            groups.push((0, Vec::new()));
        }
        let (most, members) = &mut groups[at_piece[here]];
        *most = (*most).max(offsets[i]);
        members.push(i);
    }
    let record = |(times, equations): (usize, Vec<usize>)| TieRecord {
        components: components_of(system, &equations),
        equations: equations.len(),
        times_differentiated: times,
    };
    let ties = groups.into_iter().map(record);
    ties.filter(|tie| tie.components.len() > 1).collect()
}
