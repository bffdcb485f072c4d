//! The zero dynamics of an inverse model along a run: what its forces do that the prescribed motion does not show.

use crate::observe::Reader;
use daelight_analysis::System;
use daelight_analysis::initial::Spot;
use daelight_analysis::judgement::MAX_NUMERICAL;
use daelight_analysis::spectrum::{Separation, Spectrum, rest_point, spectrum};

/// Points along a run at which a small model is linearised.
const N_POINTS: usize = 20;
/// The same for a model with more unknowns than [`MAX_NUMERICAL`], where each point takes some time.
const N_POINTS_LARGE: usize = 4;

/// Finite eigenvalues at points of a run.
#[derive(Clone, Debug)]
pub struct ZeroDynamics {
    /// The start, then points along the run.
    pub points: Vec<PointSpectrum>,
}

/// The eigenvalues at one time.
#[derive(Clone, Debug)]
pub struct PointSpectrum {
    /// When.
    pub time: f64,
    /// The eigenvalues, or why they are not known.
    pub spectrum: Result<Spectrum, String>,
}

impl PointSpectrum {
    /// Whether the model is minimum phase there; `None` if that is not decided.
    pub fn minimum_phase(&self) -> Option<bool> {
        self.spectrum.as_ref().ok()?.minimum_phase().ok()
    }
}

/// The eigenvalues at a point of a run, or where it is in motion, with everything brought to rest there.
fn decisive_spectrum(
    system: &System,
    separation: Separation<'_>,
    spot: Spot<'_>,
) -> Result<Spectrum, String> {
    let moving = spectrum(system, separation, spot);
    if moving.as_ref().is_ok_and(|found| found.is_decisive) {
        return moving;
    }
    match rest_point(system, spot) {
        Some(rest) => spectrum(system, separation, Spot { jet: &rest, ..spot }),
        None => moving,
    }
}

/// A change between two neighbouring points of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PhaseChange {
    /// The point before.
    pub from: f64,
    /// The point after.
    pub to: f64,
    /// Whether the model is minimum phase after it.
    pub minimum_phase: bool,
}

impl ZeroDynamics {
    /// The eigenvalues at the start.
    pub(crate) fn at_start(system: &System, separation: Separation<'_>, start: Spot<'_>) -> Self {
        Self {
            points: vec![PointSpectrum {
                time: start.time,
                spectrum: decisive_spectrum(system, separation, start),
            }],
        }
    }

    /// Adds points along a run.
    pub(crate) fn follow(
        &mut self,
        system: &System,
        separation: Separation<'_>,
        reader: &mut Reader<'_>,
        (from, to): (f64, f64),
    ) {
        let n = if system.unknowns().len() > MAX_NUMERICAL {
            N_POINTS_LARGE
        } else {
            N_POINTS
        };
        for k in 1..=n {
            let time = from + (to - from) * k as f64 / n as f64;
            let spectrum = match reader.jet(time) {
                Some(jet) => decisive_spectrum(system, separation, Spot::plain((time, &jet))),
                None => Err("the run has no values there".to_string()),
            };
            self.points.push(PointSpectrum { time, spectrum });
        }
    }

    /// Where that changes along the run, undecided points left out.
    pub fn changes(&self) -> Vec<PhaseChange> {
        let decided: Vec<(f64, bool)> = self
            .points
            .iter()
            .filter_map(|point| Some((point.time, point.minimum_phase()?)))
            .collect();
        decided
            .windows(2)
            .filter(|pair| pair[0].1 != pair[1].1)
            .map(|pair| PhaseChange {
                from: pair[0].0,
                to: pair[1].0,
                minimum_phase: pair[1].1,
            })
            .collect()
    }
}
