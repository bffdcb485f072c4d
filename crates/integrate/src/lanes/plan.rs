//! How far each of several runs goes next, and which of them meet something that is looked at one run at a time.
//!
//! Each question is asked as `step.rs`, `monitor.rs` and `stiffness.rs` ask it of a single run, or in a way that is sooner in doubt.

use super::pack::Pack;
use crate::monitor::SUSPICIOUS;
use crate::monitor::ahead::{N_SAMPLES, dip_of, off_parabola};
use crate::step::{AGREEMENT, ALGEBRAIC, StepRule, Tolerance};
use crate::stiffness::is_readable;
use crate::tolerances::DIP;

/// Steps and reaches of several series, (9), and what is in doubt.
pub(super) struct Sizes<const W: usize> {
    pub step: Pack<W>,
    pub reach: Pack<W>,
    /// Runs whose last coefficients may vanish by chance: the rule is to be asked for each alone.
    pub gap: [bool; W],
}

/// What the last two coefficients of every unknown allow.
#[inline(always)]
pub(super) fn sizes<const W: usize>(
    rule: &StepRule,
    series: &[Pack<W>],
    room: &mut Vec<Pack<W>>,
) -> Sizes<W> {
    let (n, first) = (rule.n, rule.n_stages - 1);
    let n_exponents = rule.falling.len() + 1;
    // The greatest weighted coefficient for each exponent, that of the values alone, and the weights of the values.
    room.clear();
    room.resize(2 * n_exponents + n, Pack::ZERO);
    let (worst, rest) = room.split_at_mut(n_exponents);
    let (of_values, weights) = rest.split_at_mut(n_exponents);
    for j in 0..n {
        let d = rule.offsets[j];
        let top = rule.n_stages + d;
        let last = [top, top - 1].map(|m| series[m * n + j].abs());
        let share = Pack::all(if d == 0 { ALGEBRAIC } else { 1.0 });
        for s in 0..d.max(1) {
            let size = series[s * n + j].abs() * rule.falling[s][s] + Pack::all(rule.nominal[s][j]);
            let weight = share / size;
            for (m, x) in [top, top - 1].into_iter().zip(last) {
                let size = x * rule.falling[s][m] * weight;
                let place = &mut worst[m - s - first];
                *place = place.max(size);
                if s == 0 {
                    let place = &mut of_values[m - first];
                    *place = place.max(size);
                }
            }
            if s == 0 {
                weights[j] = weight;
            }
        }
    }
    let step = from_logarithms(rule, &rule.steps, worst);
    let reach = from_logarithms(rule, &rule.reaches, of_values);
    let gap = has_gap(rule, series, weights, [step, reach]);
    Sizes {
        step,
        reach: reach.with(step, |reach, step| reach.max(step)),
        gap,
    }
}

#[inline(always)]
fn from_logarithms<const W: usize>(
    rule: &StepRule,
    tolerance: &Tolerance,
    worst: &[Pack<W>],
) -> Pack<W> {
    let mut least = Pack::all(f64::INFINITY);
    for (exponent, sizes) in (rule.n_stages - 1..).zip(worst) {
        for lane in 0..W {
            if sizes[lane] > 0.0 {
                let log = (tolerance.log - sizes[lane].ln()) / exponent as f64;
                least[lane] = least[lane].min(log);
            }
        }
    }
    least.map(|least| rule.of_logarithm(least))
}

/// Whether terms of the upper half are far above what such steps leave of them.
#[inline(always)]
fn has_gap<const W: usize>(
    rule: &StepRule,
    series: &[Pack<W>],
    weights: &[Pack<W>],
    steps: [Pack<W>; 2],
) -> [bool; W] {
    let n = rule.n;
    let mut peak = Pack::ZERO;
    for (d, (usual, reached)) in rule.steps.usual.iter().zip(&rule.reaches.usual).enumerate() {
        let top = rule.n_stages + d;
        let each = [(steps[0], usual), (steps[1], reached)].map(|(step, usual)| {
            step.with(Pack::all(*usual), |step, usual| step.min(1e300) / usual)
        });
        let begin = each.map(|each| each.power(top / 2));
        for j in (0..n).filter(|&j| rule.offsets[j] == d) {
            let mut powers = begin;
            for m in top / 2..top - 1 {
                let size = series[m * n + j].abs() * weights[j];
                for which in 0..2 {
                    peak = peak.max(size * powers[which]);
                    powers[which] = powers[which] * each[which];
                }
            }
        }
    }
    let mut gap = [false; W];
    for lane in 0..W {
        gap[lane] = peak[lane] > 1.0;
    }
    gap
}

/// Which series may end like (rho - s)^alpha with rho ahead, (12).
#[inline(always)]
pub(super) fn tails<const W: usize>(
    rule: &StepRule,
    series: &[Pack<W>],
    direction: &Pack<W>,
) -> [bool; W] {
    let n = rule.n;
    let mut seen = [false; W];
    for j in 0..n {
        let s = rule.reads[j];
        let top = rule.n_stages + rule.offsets[j] - s;
        if top < 4 {
            continue;
        }
        let x = |m: usize| series[(m + s) * n + j] * rule.falling[s][m + s];
        let last = [x(top), x(top - 1), x(top - 2), x(top - 3)];
        let ratios = [0, 1, 2].map(|back| last[back] / last[back + 1]);
        let inverse = |back: usize| {
            let m = (top - back) as f64;
            ratios[back] * m - ratios[back + 1] * (m - 1.0)
        };
        let (now, before) = (inverse(0), inverse(1));
        for lane in 0..W {
            // A little more than agrees, since this is no division.
            let apart = (now[lane] - before[lane]).abs();
            seen[lane] |=
                apart < 2.0 * AGREEMENT * now[lane].abs() && now[lane] * direction[lane] > 0.0;
        }
    }
    seen
}

/// The unknowns whose last terms are the greatest over steps of lengths h, run by run: they bound the steps. `None` without long series.
#[inline(always)]
pub(super) fn bounding<const W: usize>(
    rule: &StepRule,
    series: &[Pack<W>],
    h: &Pack<W>,
) -> Option<[usize; W]> {
    let n = rule.n;
    let mut found: Option<(Pack<W>, [usize; W])> = None;
    for d in 0..rule.falling.len() {
        let top = rule.n_stages + d;
        if !is_readable(top) {
            continue;
        }
        let powers = [top, top - 1].map(|m| h.power(m));
        for j in (0..n).filter(|&j| rule.offsets[j] == d) {
            let size = series[j].abs() + Pack::all(rule.nominal[0][j]);
            let term = |back: usize| (series[(top - back) * n + j] * powers[back]).abs() / size;
            let last = term(0).max(term(1));
            let (greatest, which) = found.get_or_insert((last, [j; W]));
            for lane in 0..W {
                if last[lane] > greatest[lane] {
                    (greatest[lane], which[lane]) = (last[lane], j);
                }
            }
        }
    }
    found.map(|(_, which)| which)
}

/// The last three values of a quantity of several runs, oldest first.
#[derive(Clone, Copy)]
pub(super) struct History<const W: usize> {
    pub values: [Pack<W>; 3],
}

impl<const W: usize> History<W> {
    pub fn new() -> Self {
        Self {
            values: [Pack::all(1.0); 3],
        }
    }

    /// Which runs may come near a zero within `window` (signed), from their last values.
    #[inline(always)]
    pub fn may_vanish(&self, times: &[Pack<W>; 3], window: &Pack<W>) -> [bool; W] {
        let [a, b, c] = *times;
        let one = Pack::all(1.0);
        let (fa, fb) = (
            self.values[0] / self.values[2],
            self.values[1] / self.values[2],
        );
        let (first, second) = ((fb - fa) / (b - a), (one - fb) / (c - b));
        let curvature = (second - first) / (c - a);
        let slope = first + curvature * (b - a);
        let value = |t: Pack<W>| {
            let s = t - b;
            fb + s * (slope + s * curvature)
        };
        let end = c + *window;
        let turning = b - slope * 0.5 / curvature;
        let (at_end, at_turning) = (value(end), value(turning));
        let mut may = [false; W];
        for lane in 0..W {
            let rests = fa[lane] == 1.0 && fb[lane] == 1.0;
            let falls = 1.0 < DIP * fa[lane].abs().max(fb[lane].abs());
            let turns = (turning[lane] - c[lane]) * (turning[lane] - end[lane]) < 0.0;
            let dips = at_end[lane] < SUSPICIOUS || (turns && at_turning[lane] < SUSPICIOUS);
            let unknown = at_end[lane].is_nan();
            may[lane] = !rests && (falls || dips || unknown);
        }
        may
    }
}

/// Whether samples ahead of a quantity that is 1 here are all clear of zero, and none of them dips.
pub(super) fn is_clear(samples: &[f64; N_SAMPLES], window: f64) -> bool {
    let at = |k: usize| match k {
        0 => (0.0, 1.0),
        k => (window * k as f64 / N_SAMPLES as f64, samples[k - 1]),
    };
    for k in 1..=N_SAMPLES {
        let (s, f) = at(k);
        if f.is_nan() || f <= 0.0 {
            return false;
        }
        if k == 1 {
            continue;
        }
        let before = if k == 2 { f64::NAN } else { at(k - 3).1 };
        let behind = if k < N_SAMPLES { at(k + 1).1 } else { f64::NAN };
        let (earlier, last) = (at(k - 2), at(k - 1));
        let off = off_parabola(before, [earlier.1, last.1, f], behind);
        if dip_of([earlier, last, (s, f)], 1.0, off).is_some() {
            return false;
        }
    }
    true
}
