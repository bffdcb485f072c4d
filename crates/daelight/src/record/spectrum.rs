//! Eigenvalues and prescribed motions as records and in words.

use daelight_analysis::System;
use daelight_analysis::smoothness::Path;
use daelight_analysis::spectrum::{FiniteEigenvalue, Spectrum, written};
use daelight_show::count;
use daelight_show::record::{EigenvalueRecord, PathRecord};

/// Most eigenvalues that are listed; JSON has them all.
const MAX_LISTED: usize = 16;

pub(super) fn eigenvalue_record(found: &FiniteEigenvalue) -> EigenvalueRecord {
    EigenvalueRecord {
        re: found.re,
        im: found.im,
    }
}

pub(super) fn path_record(system: &System, path: &Path) -> PathRecord {
    PathRecord {
        equation: system.equation_text(path.equation),
        times_differentiated: path.times_differentiated,
        smoothness: path.seam.map(|seam| seam.n_continuous as i64 - 1),
        seam: path.seam.map(|seam| seam.time),
    }
}

/// What a spectrum means, in one or two sentences. `is_inverse` says that the model prescribes a motion.
pub(super) fn spectrum_words(spectrum: &Spectrum, is_inverse: bool) -> String {
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
