//! Paths and zero dynamics for a terminal.

use super::wrapped;
use crate::record::{PathRecord, ZeroDynamicsRecord};
use crate::words::short;

/// Paths and eigenvalues as part of a page.
pub(super) fn section(paths: &[PathRecord], words: Option<&str>) -> String {
    let mut text = String::new();
    if paths.is_empty() && words.is_none() {
        return text;
    }
    text.push('\n');
    for path in paths.iter().filter(|path| path.is_smooth_enough()) {
        text.push_str(&wrapped(&path.sentence()));
    }
    if let Some(words) = words {
        text.push_str(&wrapped(words));
    }
    text
}

/// The zero dynamics along a run in a sentence; `None` if there are none.
pub(super) fn zero_dynamics_text(found: &ZeroDynamicsRecord) -> Option<String> {
    let n = found.points.len();
    let is = |phase: Option<bool>| {
        found
            .points
            .iter()
            .filter(|p| p.minimum_phase == phase)
            .count()
    };
    let mut known = found
        .points
        .iter()
        .filter_map(|p| p.eigenvalues.as_ref())
        .peekable();
    if known.peek().is_some() && known.all(Vec::is_empty) {
        return None;
    }
    let mut text = match (is(Some(true)), is(Some(false)), is(None)) {
        (all, 0, 0) if all == n => format!("Minimum phase at all {n} points looked at."),
        (0, all, 0) if all == n => format!("Not minimum phase at any of {n} points looked at."),
        // Nobody asked: the passport says why it is open.
        (0, 0, _) => return None,
        (yes, no, open) => {
            let part = |what: &str, k: usize| match k {
                0 => String::new(),
                _ => format!("; {what} at {k}"),
            };
            let (no, open) = (part("not minimum phase", no), part("not decided", open));
            format!("Minimum phase at {yes} of {n} points looked at{no}{open}.")
        }
    };
    for change in found.changes.iter().take(4) {
        let becomes = if change.minimum_phase {
            "becomes"
        } else {
            "ceases to be"
        };
        text.push_str(&format!(
            " It {becomes} minimum phase between t = {} and {}.",
            short(change.from),
            short(change.to)
        ));
    }
    Some(text)
}
