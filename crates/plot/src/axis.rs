//! Ranges of values and the ticks on them.

use crate::figure::Scale;

/// Numbers beyond this are not shown: differences of two of them would not be finite.
const LARGEST: f64 = 1e307;
/// Numbers below this are shown as zero.
const SMALLEST: f64 = 1e-300;
/// A range narrower than this beside its values is widened: its ticks could not be told apart.
const NARROWEST: f64 = 1e-11;

/// A value on an axis: where it is, on a linear scale.
pub(crate) fn place(value: f64, scale: Scale) -> Option<f64> {
    match scale {
        Scale::Linear if value.abs() < SMALLEST => Some(0.0),
        Scale::Linear => (value.abs() <= LARGEST).then_some(value),
        Scale::Log => (value > 0.0 && value.is_finite()).then(|| value.log10()),
    }
}

/// A part of an axis, from its low to its high end.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Range {
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl Range {
    /// Around places; `None` if there are none.
    pub(crate) fn around(places: impl IntoIterator<Item = f64>) -> Option<Self> {
        let empty = Self {
            low: f64::INFINITY,
            high: f64::NEG_INFINITY,
        };
        let range = places.into_iter().fold(empty, |range, place| Self {
            low: range.low.min(place),
            high: range.high.max(place),
        });
        (range.low <= range.high).then_some(range)
    }

    /// The smallest range with both.
    pub(crate) fn joined(self, other: Self) -> Self {
        Self {
            low: self.low.min(other.low),
            high: self.high.max(other.high),
        }
    }

    pub(crate) fn width(self) -> f64 {
        self.high - self.low
    }

    /// With a margin on both sides, a share of the width; something to see even if it is a single value.
    pub(crate) fn with_margin(self, share: f64, scale: Scale) -> Self {
        let size = self.low.abs().max(self.high.abs());
        let half = if self.width() > NARROWEST * size {
            share * self.width()
        } else {
            match scale {
                Scale::Linear if size > 0.0 => 0.1 * size,
                Scale::Linear => 1.0,
                Scale::Log => 0.5,
            }
        };
        Self {
            low: self.low - half,
            high: self.high + half,
        }
    }

    /// With another width around the same middle.
    pub(crate) fn with_width(self, width: f64) -> Self {
        let middle = 0.5 * self.low + 0.5 * self.high;
        Self {
            low: middle - 0.5 * width,
            high: middle + 0.5 * width,
        }
    }

    /// How far a place is from the low end, as a share of the width.
    pub(crate) fn share(self, place: f64) -> f64 {
        (place - self.low) / self.width()
    }
}

/// A range with what is written beside it.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    pub(crate) range: Range,
    pub(crate) ticks: Vec<Tick>,
    /// Places of small ticks without words.
    pub(crate) small_ticks: Vec<f64>,
    /// What all numbers are multiplied by, such as ×10⁶, or nothing.
    pub(crate) factor: String,
}

/// A place and the number there.
#[derive(Clone, Debug)]
pub(crate) struct Tick {
    pub(crate) place: f64,
    pub(crate) label: String,
}

impl Axis {
    /// With about `n` ticks.
    pub(crate) fn new(range: Range, scale: Scale, n: usize) -> Self {
        let mut axis = Self {
            range,
            ticks: Vec::new(),
            small_ticks: Vec::new(),
            factor: String::new(),
        };
        match scale {
            Scale::Linear => (axis.ticks, axis.factor) = linear_ticks(range, n),
            Scale::Log if range.high.floor() - range.low.ceil() >= 1.0 => {
                (axis.ticks, axis.small_ticks) = power_ticks(range, n);
            }
            // Less than two powers of ten are in sight: the numbers between them.
            Scale::Log => {
                let values = Range {
                    low: 10f64.powf(range.low).max(SMALLEST),
                    high: 10f64.powf(range.high).min(LARGEST),
                };
                (axis.ticks, axis.factor) = linear_ticks(values, n);
                axis.ticks.retain(|tick| tick.place > 0.0);
                for tick in &mut axis.ticks {
                    tick.place = tick.place.log10();
                }
            }
        }
        axis
    }
}

/// 1, 2 or 5 times a power of ten, the closest to the n-th part of a width.
fn tick_step(width: f64, n: usize) -> f64 {
    let raw = width / n.max(1) as f64;
    let power = 10f64.powf(raw.log10().floor());
    // Between two steps their geometric mean decides.
    let steps = [(1.0, 2f64.sqrt()), (2.0, 10f64.sqrt()), (5.0, 50f64.sqrt())];
    let found = steps.iter().find(|(_, bound)| raw <= bound * power);
    found.map_or(10.0, |(factor, _)| *factor) * power
}

fn linear_ticks(range: Range, n: usize) -> (Vec<Tick>, String) {
    let step = tick_step(range.width(), n);
    // A tick at the very end of the range counts, whichever way it is rounded.
    let rounding = f64::EPSILON.sqrt();
    let first = (range.low / step - rounding).ceil();
    let last = (range.high / step + rounding).floor();
    let size = range.low.abs().max(range.high.abs());
    let exponent = size.log10().floor();
    let exponent = if (-3.0..5.0).contains(&exponent) {
        0.0
    } else {
        exponent
    };
    // Two factors, since one alone may be beyond the numbers there are.
    let (half, rest) = (
        (exponent / 2.0).trunc(),
        exponent - (exponent / 2.0).trunc(),
    );
    let scaled = |value: f64| value / 10f64.powf(half) / 10f64.powf(rest);
    let digits = (-scaled(step).log10() - rounding).ceil().clamp(0.0, 14.0) as usize;
    let mut ticks = Vec::new();
    let mut at = first;
    while at <= last && ticks.len() <= 4 * n.max(1) {
        let place = at * step;
        let label = format!("{:.digits$}", scaled(place) + 0.0);
        let is_zero = label.chars().all(|c| matches!(c, '-' | '0' | '.'));
        let label = if is_zero { "0".to_owned() } else { label };
        ticks.push(Tick {
            place,
            label: label.replace('-', "\u{2212}"),
        });
        at += 1.0;
    }
    let factor = match exponent {
        0.0 => String::new(),
        exponent => format!("×{}", power_of_ten(exponent as i32)),
    };
    (ticks, factor)
}

/// Powers of ten, and the places of their multiples where there is room.
fn power_ticks(range: Range, n: usize) -> (Vec<Tick>, Vec<f64>) {
    let step = (range.width() / n.max(1) as f64).ceil().max(1.0);
    let (first, last) = ((range.low / step).ceil(), (range.high / step).floor());
    let mut ticks = Vec::new();
    let mut at = first;
    while at <= last {
        let exponent = at * step;
        ticks.push(Tick {
            place: exponent,
            label: power_of_ten(exponent as i32),
        });
        at += 1.0;
    }
    let mut small = Vec::new();
    if step == 1.0 {
        for decade in range.low.floor() as i32..=range.high.floor() as i32 {
            let multiples = (2..10).map(|m| f64::from(decade) + f64::from(m).log10());
            small.extend(multiples.filter(|place| (range.low..=range.high).contains(place)));
        }
    } else {
        let decades = range.low.ceil() as i32..=range.high.floor() as i32;
        small.extend(decades.map(f64::from));
    }
    (ticks, small)
}

/// 10 with its exponent raised.
pub(crate) fn power_of_ten(exponent: i32) -> String {
    match exponent {
        0 => return "1".to_owned(),
        1 => return "10".to_owned(),
        _ => {}
    }
    let raised = exponent.to_string();
    let raised = raised.chars().map(|c| match c {
        '-' => '⁻',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        digit => char::from_u32(0x2070 + digit.to_digit(10).unwrap_or(0)).unwrap_or(digit),
    });
    std::iter::once("10".to_owned())
        .chain(raised.map(String::from))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(low: f64, high: f64, scale: Scale) -> (Vec<String>, String) {
        let axis = Axis::new(Range { low, high }, scale, 5);
        let labels = axis.ticks.into_iter().map(|tick| tick.label).collect();
        (labels, axis.factor)
    }

    #[test]
    fn ticks_are_round_numbers() {
        for (low, high, scale, expected, factor) in [
            (0.0, 10.0, Scale::Linear, "0 2 4 6 8 10", ""),
            (-0.3, 0.2, Scale::Linear, "−0.3 −0.2 −0.1 0 0.1 0.2", ""),
            (
                1.0,
                1.002,
                Scale::Linear,
                "1.0000 1.0005 1.0010 1.0015 1.0020",
                "",
            ),
            (0.0, 4e6, Scale::Linear, "0 1 2 3 4", "×10⁶"),
            (0.0, 4e300, Scale::Linear, "0 1 2 3 4", "×10³⁰⁰"),
            (-4e-9, 0.0, Scale::Linear, "−4 −3 −2 −1 0", "×10⁻⁹"),
            (-12.0, 3.0, Scale::Log, "10⁻¹² 10⁻⁹ 10⁻⁶ 10⁻³ 1 10³", ""),
            (-0.1, 0.5, Scale::Log, "1.0 1.5 2.0 2.5 3.0", ""),
            (-300.0, 300.0, Scale::Log, "10⁻²⁴⁰ 10⁻¹²⁰ 1 10¹²⁰ 10²⁴⁰", ""),
        ] {
            let (found, found_factor) = labels(low, high, scale);
            assert_eq!(found.join(" "), expected, "{low} {high}");
            assert_eq!(found_factor, factor, "{low} {high}");
        }
    }

    #[test]
    fn there_are_about_as_many_ticks_as_asked_for() {
        for tenths in 10..100 {
            let half = 0.05 * f64::from(tenths);
            for n in [4, 8] {
                let (low, high) = (-half, 0.97 * half);
                let axis = Axis::new(Range { low, high }, Scale::Linear, n);
                let bounds = n * 7 / 10..=n * 16 / 10 + 1;
                assert!(
                    bounds.contains(&axis.ticks.len()),
                    "{half} {n}: {}",
                    axis.ticks.len()
                );
            }
        }
    }

    #[test]
    fn a_single_value_has_a_range_around_it() {
        for value in [0.0, 1.0, -3e-200, 1e300] {
            let range = Range::around([value])
                .expect("a value")
                .with_margin(0.05, Scale::Linear);
            assert!(range.low < value && value < range.high, "{value}");
            assert!(!Axis::new(range, Scale::Linear, 5).ticks.is_empty());
        }
        assert_eq!(Range::around([]), None);
    }
}
