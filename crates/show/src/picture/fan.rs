//! The fan of many runs: quantiles of unknowns over time.

use super::TIME;
use daelight_plot::{Curve, Figure, Panel};

/// The quantiles that a fan shows: half of the runs are in the inner band, nine of ten in the outer one.
pub const FAN_QUANTILES: [f64; 5] = [0.05, 0.25, 0.5, 0.75, 0.95];

/// Pixels of a panel.
const SIZE: (u32, u32) = (720, 300);

/// The quantiles [`FAN_QUANTILES`] of a quantity over many runs, at some times.
#[derive(Clone, PartialEq, Debug)]
pub struct Fan {
    /// What it is.
    pub name: String,
    /// For each time the quantiles there.
    pub quantiles: Vec<[f64; 5]>,
}

/// Fans at the same times, one panel each.
pub fn fans(title: &str, times: &[f64], fans: Vec<Fan>) -> Figure {
    let mut figure = Figure::new(title);
    for Fan { name, quantiles } in fans {
        let at_times = || times.iter().copied().zip(&quantiles);
        let band = |low: usize, high: usize| -> Vec<(f64, f64, f64)> {
            at_times().map(|(t, q)| (t, q[low], q[high])).collect()
        };
        let panel = Panel::new(TIME, name)
            .curve(Curve::band("5 to 95 %", &band(0, 4)).colour(0).faded(0.25))
            .curve(Curve::band("25 to 75 %", &band(1, 3)).colour(0).faded(0.5))
            .curve(Curve::line("median", at_times().map(|(t, q)| (t, q[2]))).colour(0));
        figure = figure.panel(panel);
    }
    let (width, height) = SIZE;
    figure.size(width, height)
}
