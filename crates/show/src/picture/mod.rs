//! Records as pictures: from runs, passports and tables to a [`Figure`](daelight_plot::Figure).

mod fan;
mod mechanism;
mod response;
mod run;
mod structure;
mod tables;

pub use fan::{FAN_QUANTILES, Fan, fans};
pub use mechanism::{NO_DRAWING, configurations};
pub use response::responses;
pub use run::{MOST_MARKS, RunPicture, feedforward, run, unknowns};
pub use structure::{eigenvalues, projectors, structure};
pub use tables::{LabelledTable, comparison, phase, table, work_precision};

pub(crate) use run::{margin_varies, marks};

use crate::record::TimeSeries;
use crate::words::unit_text;
use daelight_plot::{Curve, Panel, Scale, TimeMark};
use std::collections::BTreeMap;

/// Most curves that share a panel, and most panels of a picture.
const MOST_CURVES: usize = 12;
const MOST_PANELS: usize = 10;
/// Curves of one unit share a panel if none is this much smaller than another.
const SIMILAR: f64 = 25.0;
/// A curve is cut off if a few of its values spread this much wider than the others.
const OUTLIERS: f64 = 6.0;
/// Arrays with this many elements have a panel of their own.
const LARGE_ARRAY: usize = 4;

/// The horizontal axis of everything that depends on time.
const TIME: &str = "time [s]";

/// Names of columns of a run that are no quantities of the model: the least singular value of the blocks that decide, and how
/// the residuals of each level begin.
pub const SINGULAR_VALUE: &str = "sigma_min";
/// See [`SINGULAR_VALUE`].
pub const RESIDUAL: &str = "residual_level_";

impl TimeSeries {
    /// Its sizes instead of its values where a logarithmic axis would leave some of them out.
    fn on(mut self, scale: Scale) -> Self {
        if scale == Scale::Log && self.values.iter().any(|&value| value < 0.0) {
            self.values
                .iter_mut()
                .for_each(|value| *value = value.abs());
            self.name = format!("|{}|", self.name);
        }
        self
    }

    /// Whether it would be a straight line along the axis: it changes by no more than rounding of its values.
    pub(crate) fn rests(&self) -> bool {
        let finite = || {
            self.values
                .iter()
                .copied()
                .filter(|value| value.is_finite())
        };
        let least = finite().fold(f64::INFINITY, f64::min);
        let most = finite().fold(f64::NEG_INFINITY, f64::max);
        let size = least.abs().max(most.abs());
        most - least <= f64::EPSILON.sqrt() * size
    }

    /// The same curve without the rounding of one that rests, which would fill a panel.
    fn without_noise(mut self) -> Self {
        if self.rests()
            && let Some(first) = self.values.iter().copied().find(|value| value.is_finite())
        {
            for value in self.values.iter_mut().filter(|value| value.is_finite()) {
                *value = first;
            }
        }
        self
    }

    /// The size of its values where it is not at its largest: nine tenths of them are smaller.
    fn size(&self, evenly: &[usize]) -> f64 {
        let mut sizes: Vec<f64> = (evenly.iter())
            .map(|&at| self.values[at].abs())
            .filter(|size| size.is_finite())
            .collect();
        sizes.sort_by(f64::total_cmp);
        sizes.get(sizes.len() * 9 / 10).copied().unwrap_or(0.0)
    }
}

/// Series that share a panel.
pub(crate) struct SeriesGroup {
    /// Unit, and name of a large array.
    key: (String, String),
    sizes: (f64, f64),
    /// The series, in their order.
    pub(crate) members: Vec<TimeSeries>,
}

impl SeriesGroup {
    pub(crate) fn curves(&self) -> Vec<&[f64]> {
        let members = self.members.iter();
        members.map(|one| one.values.as_slice()).collect()
    }

    /// What stands at the vertical axis.
    pub(crate) fn label(&self) -> String {
        match &self.members[..] {
            [only] => labelled(&only.name, &self.key.0),
            _ => labelled(&self.key.1, &self.key.0),
        }
    }
}

/// Series of one unit and a similar size together, in their order, in at most so many groups; and how many are left out.
pub(crate) fn groups(
    times: &[f64],
    series: Vec<TimeSeries>,
    scale: Scale,
    most: usize,
) -> (Vec<SeriesGroup>, usize) {
    let evenly = evenly(times);
    let mut n_elements: BTreeMap<String, usize> = BTreeMap::new();
    for one in &series {
        *n_elements.entry(base(&one.name)).or_default() += 1;
    }
    let array = |name: &str| {
        let base = base(name.trim_start_matches('|'));
        let is_large = n_elements.get(&base).is_some_and(|&n| n >= LARGE_ARRAY) && !base.is_empty();
        if is_large { base } else { String::new() }
    };
    let mut groups: Vec<SeriesGroup> = Vec::new();
    let mut n_left_out = 0;
    for one in series.into_iter().map(|one| one.on(scale)) {
        let size = one.size(&evenly);
        let key = (one.unit.clone(), array(&one.name));
        let fits = |group: &SeriesGroup| {
            let (least, most) = (group.sizes.0.min(size), group.sizes.1.max(size));
            let is_similar = scale == Scale::Log || most <= SIMILAR * least || size == 0.0;
            group.key == key && group.members.len() < MOST_CURVES && is_similar
        };
        match groups.iter().position(fits) {
            Some(place) => {
                let group = &mut groups[place];
                if size > 0.0 {
                    group.sizes = (group.sizes.0.min(size), group.sizes.1.max(size));
                }
                group.members.push(one);
            }
            None if groups.len() < most => groups.push(SeriesGroup {
                key,
                sizes: if size > 0.0 {
                    (size, size)
                } else {
                    (f64::INFINITY, 0.0)
                },
                members: vec![one],
            }),
            None => n_left_out += 1,
        }
    }
    (groups, n_left_out)
}

/// Series in panels: those of one unit and a similar size together, in their order.
///
/// Returns the panels and how many series they leave out.
fn grouped(
    times: &[f64],
    series: Vec<TimeSeries>,
    marks: &[TimeMark],
    scale: Scale,
) -> (Vec<Panel>, usize) {
    let evenly = evenly(times);
    let (groups, n_left_out) = groups(times, series, scale, MOST_PANELS);
    let panel = |group: &SeriesGroup| {
        let mut panel = Panel::new(TIME, group.label()).y_scale(scale);
        if scale == Scale::Linear
            && let Some((low, high)) = limits(&group.curves(), &evenly)
        {
            panel = panel.y_limits(low, high).title("axis cut off");
        }
        for one in &group.members {
            let points = times.iter().copied().zip(one.values.iter().copied());
            panel = panel.curve(Curve::line(one.name.as_str(), points));
        }
        marks.iter().cloned().fold(panel, Panel::mark)
    };
    (groups.iter().map(panel).collect(), n_left_out)
}

/// Positions of times that are about evenly spaced: a run has many points where it needs small steps.
pub(crate) fn evenly(times: &[f64]) -> Vec<usize> {
    const N: f64 = 400.0;
    let (Some(first), Some(last)) = (times.first(), times.last()) else {
        return Vec::new();
    };
    let least = (last - first).abs() / N;
    let mut chosen: Vec<usize> = Vec::new();
    for (at, time) in times.iter().enumerate() {
        let is_far = |&before: &usize| (time - times[before]).abs() >= 0.9 * least;
        if chosen.last().is_none_or(is_far) {
            chosen.push(at);
        }
    }
    chosen
}

/// The name of the array that an element belongs to; empty for others.
fn base(name: &str) -> String {
    match name.split_once('[') {
        Some((base, _)) => base.to_string(),
        None => String::new(),
    }
}

/// Where to cut a panel off if a few values are far beyond all others, as beside a pole.
pub(crate) fn limits(curves: &[&[f64]], evenly: &[usize]) -> Option<(f64, f64)> {
    let finite = |value: &f64| value.is_finite();
    let mut values: Vec<f64> = (curves.iter())
        .flat_map(|curve| evenly.iter().map(|&at| curve[at]))
        .filter(finite)
        .collect();
    values.sort_by(f64::total_cmp);
    let n = values.len();
    if n < 50 {
        return None;
    }
    let (low, high) = (values[n * 3 / 100], values[n - 1 - n * 3 / 100]);
    let all = || {
        curves
            .iter()
            .flat_map(|curve| curve.iter().copied())
            .filter(finite)
    };
    let least = all().fold(f64::INFINITY, f64::min);
    let most = all().fold(f64::NEG_INFINITY, f64::max);
    let width = high - low;
    let has_outliers = width > 0.0 && most - least > OUTLIERS * width;
    let margin = 0.5 * width;
    has_outliers.then(|| ((low - margin).max(least), (high + margin).min(most)))
}

/// A name with its unit in brackets.
pub fn labelled(name: &str, unit: &str) -> String {
    match (name, unit) {
        (name, "") => name.to_string(),
        ("", unit) => format!("[{}]", unit_text(unit)),
        (name, unit) => format!("{name} [{}]", unit_text(unit)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pole_is_cut_off() {
        let times: Vec<f64> = (0..400).map(|k| f64::from(k) / 400.0).collect();
        let pole: Vec<f64> = times.iter().map(|t| 1.0 / (0.9976 - t)).collect();
        let (_, high) = limits(&[&pole], &evenly(&times)).expect("a limit");
        assert!((20.0..100.0).contains(&high), "{high}");
        let wave: Vec<f64> = times.iter().map(|t| (20.0 * t).sin()).collect();
        assert_eq!(limits(&[&wave], &evenly(&times)), None);
    }

    #[test]
    fn series_of_one_unit_and_size_share_a_panel() {
        let series = |name: &str, unit: &str, size: f64| TimeSeries {
            name: name.to_string(),
            unit: unit.to_string(),
            values: vec![0.0, size, size],
        };
        let all = vec![
            series("a", "m", 1.0),
            series("b", "m", 2.0),
            series("c", "m", 1e-6),
            series("d", "s", 1.0),
            series("e", "m", 0.0),
        ];
        let (panels, left_out) = grouped(&[0.0, 1.0, 2.0], all, &[], Scale::Linear);
        assert_eq!((panels.len(), left_out), (3, 0));
        let many = (0..200).map(|_| series("x", "", 1.0)).collect();
        let (panels, left_out) = grouped(&[0.0, 1.0, 2.0], many, &[], Scale::Linear);
        assert_eq!(
            (panels.len(), left_out),
            (MOST_PANELS, 200 - MOST_PANELS * MOST_CURVES)
        );
    }
}
