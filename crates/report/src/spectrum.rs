//! Eigenvalues of linearised equations and the smoothness of paths, in records and in words.

use crate::page::{short, wrapped};
use crate::words::{count, cut};
use daelight_analysis::System;
use daelight_analysis::smoothness::Path;
use daelight_analysis::spectrum::{FiniteEigenvalue, Spectrum, written};
use serde::Serialize;

/// Most eigenvalues on a page; JSON has them all.
const MAX_LISTED: usize = 16;

/// An eigenvalue.
#[derive(Serialize, Debug, Clone, Copy)]
pub struct EigenvalueRecord {
    /// Real part, per unit of time.
    pub re: f64,
    /// Imaginary part.
    pub im: f64,
}

impl From<&FiniteEigenvalue> for EigenvalueRecord {
    fn from(e: &FiniteEigenvalue) -> Self {
        Self { re: e.re, im: e.im }
    }
}

/// A prescribed motion.
#[derive(Serialize, Debug, Clone)]
pub struct PathRecord {
    /// The equation that prescribes it, as written.
    pub equation: String,
    /// How often it is differentiated.
    pub times_differentiated: usize,
    /// How many of its derivatives are continuous at its worst seam, -1 for a jump; `null` if it has no seam.
    pub smoothness: Option<i64>,
    /// The time of that seam.
    pub seam: Option<f64>,
}

impl PathRecord {
    /// The record of a path.
    pub fn new(system: &System, path: &Path) -> Self {
        Self {
            equation: system.equation_text(path.equation),
            times_differentiated: path.times_differentiated,
            smoothness: path.seam.map(|seam| seam.n_continuous as i64 - 1),
            seam: path.seam.map(|seam| seam.time),
        }
    }

    /// Whether the derivatives that the forces need are continuous.
    pub fn is_smooth_enough(&self) -> bool {
        self.smoothness
            .is_none_or(|smoothness| smoothness >= self.times_differentiated as i64)
    }

    /// What its smoothness means, in a sentence.
    pub fn sentence(&self) -> String {
        let equation = cut(&self.equation, 60);
        let times = match self.times_differentiated {
            1 => "once".to_string(),
            2 => "twice".to_string(),
            n => format!("{n} times"),
        };
        match (self.smoothness, self.seam) {
            (Some(smoothness), Some(seam)) => {
                let has = match smoothness {
                    -1 => "jumps".to_string(),
                    0 => "is continuous, but its first derivative jumps".to_string(),
                    k => format!("has {}", count(k as usize, "continuous derivative")),
                };
                let rest = if self.is_smooth_enough() {
                    ""
                } else {
                    ": too few, the forces jump or have impulses there"
                };
                format!(
                    "The motion of `{equation}` is differentiated {times}; at t = {} it {has}{rest}.",
                    short(seam)
                )
            }
            _ => format!(
                "The motion of `{equation}` is differentiated {times}; it is smooth enough throughout."
            ),
        }
    }
}

/// What a spectrum means, in one or two sentences. `is_inverse` says that the model prescribes a motion.
pub fn spectrum_words(spectrum: &Spectrum, is_inverse: bool) -> String {
    let n = spectrum.eigenvalues.len();
    let phase = spectrum.minimum_phase();
    if n == 0 {
        return if is_inverse {
            "No zero dynamics: the prescribed motion determines everything. Minimum phase."
                .to_string()
        } else {
            "No finite eigenvalues: the constraints determine everything.".to_string()
        };
    }
    let listed: Vec<String> = spectrum
        .eigenvalues
        .iter()
        .take(MAX_LISTED)
        .map(written)
        .collect();
    let more = if n > MAX_LISTED { ", …" } else { "" };
    let listed = format!("{}{more}", listed.join(", "));
    let verdict = match (&phase, is_inverse) {
        (Ok(true), true) => "The zero dynamics are stable: minimum phase.".to_string(),
        (Ok(true), false) => "All decay.".to_string(),
        (Ok(false), true) => {
            "The zero dynamics are unstable, not minimum phase: forces that follow the motion exactly grow without bound."
                .to_string()
        }
        (Ok(false), false) => "Neighbouring solutions move apart.".to_string(),
        (Err(because), true) => format!("Whether it is minimum phase is not decided: {because}."),
        (Err(because), false) => format!("Whether all decay is not decided: {because}."),
    };
    let what = if is_inverse {
        "of the zero dynamics"
    } else {
        "of the linearised equations"
    };
    format!("{} {what}: {listed}. {verdict}", count(n, "eigenvalue"))
}

/// Paths and eigenvalues as part of a page.
pub(crate) fn section(paths: &[PathRecord], words: Option<&str>) -> String {
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

/// The zero dynamics along a run.
#[derive(Serialize, Debug, Clone)]
pub struct ZeroDynamicsRecord {
    /// The start, then points along the run.
    pub points: Vec<PhaseRecord>,
    /// Where the model becomes minimum phase or ceases to be.
    pub changes: Vec<PhaseChangeRecord>,
}

/// The eigenvalues at one time of a run.
#[derive(Serialize, Debug, Clone)]
pub struct PhaseRecord {
    /// When.
    pub time: f64,
    /// Whether all eigenvalues decay; `null` if that is not decided.
    pub minimum_phase: Option<bool>,
    /// The eigenvalues; `null` if they are not known.
    pub eigenvalues: Option<Vec<EigenvalueRecord>>,
}

/// A change between two points of a run.
#[derive(Serialize, Debug, Clone, Copy)]
pub struct PhaseChangeRecord {
    /// The point before.
    pub from: f64,
    /// The point after.
    pub to: f64,
    /// Whether the model is minimum phase after it.
    pub minimum_phase: bool,
}

/// The zero dynamics along a run in a sentence; `None` if there are none.
pub(crate) fn zero_dynamics_text(found: &ZeroDynamicsRecord) -> Option<String> {
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
        (0, 0, _) => "Whether the model is minimum phase is not decided along the run.".to_string(),
        (yes, no, open) => {
            let open = if open > 0 {
                format!(", not decided at {open}")
            } else {
                String::new()
            };
            format!("Minimum phase at {yes} of {n} points looked at, not at {no}{open}.")
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
