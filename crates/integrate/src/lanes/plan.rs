//! How far each of several runs goes next, and which of them meet something that is looked at one run at a time.
//!
//! Each question is asked as `step.rs`, `monitor.rs` and `stiffness.rs` ask it of a single run, or in a way that is sooner in doubt.

use super::pack::Pack;
use crate::monitor::SUSPICIOUS;
use crate::monitor::ahead::{N_SAMPLES, dip_of, off_parabola};
use crate::step::{AGREEMENT, ALGEBRAIC, StepRule, Tolerance};
use crate::stiffness::{BOUND, PAIR, REAL, WINDOW, is_readable};
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
        let last = [series[top * n + j].abs(), series[(top - 1) * n + j].abs()];
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
        let ratio = |step: Pack<W>, usual: f64| step.map(|step| step.min(1e300)) / Pack::all(usual);
        let each = [ratio(steps[0], *usual), ratio(steps[1], *reached)];
        let begin = [each[0].power(top / 2), each[1].power(top / 2)];
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
        let ratios = [last[0] / last[1], last[1] / last[2], last[2] / last[3]];
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
        let powers = [h.power(top), h.power(top - 1)];
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

/// Which runs may have a mode that bounds their steps of lengths h, (31) of `docs/theory/implicit.md`, given the unknown of each.
#[inline(always)]
pub(super) fn may_be_stiff<const W: usize>(
    rule: &StepRule,
    series: &[Pack<W>],
    h: &Pack<W>,
    unknowns: &[usize; W],
) -> [bool; W] {
    let mut last: [Pack<W>; WINDOW] = [Pack::ZERO; WINDOW];
    let (mut top, mut least): (Pack<W>, Pack<W>) = (Pack::ZERO, Pack::ZERO);
    for lane in 0..W {
        let d = rule.offsets[unknowns[lane]];
        let first = (rule.n_stages + d + 1 - WINDOW) * rule.n + unknowns[lane];
        for k in 0..WINDOW {
            last[k][lane] = series[first + k * rule.n][lane];
        }
        top[lane] = (rule.n_stages + d) as f64;
        least[lane] = BOUND * rule.roots[d];
    }
    let scale = (top * last[WINDOW - 1] / last[WINDOW - 2]).abs();
    let mut y = [Pack::ZERO; WINDOW];
    let mut factor = Pack::all(1.0);
    for back in 0..WINDOW {
        let k = WINDOW - 1 - back;
        y[k] = last[k] / last[WINDOW - 1] * factor;
        factor = factor * (scale / (top - Pack::all(back as f64)));
    }
    // Rates are those of single runs up to rounding.
    let nearly = 1.0 + f64::EPSILON.sqrt();
    let reach = scale * h.abs() * nearly;
    let (real, real_left, real_total) = real_rate(&y);
    let (pair, pair_left, pair_total) = pair_rate(&y);
    let mut may = [false; W];
    for lane in 0..W {
        let is_near = |rate: f64| rate * reach[lane] > least[lane];
        let is_real = real_left[lane] <= nearly * REAL * REAL * real_total[lane];
        let is_pair = pair_left[lane] <= nearly * PAIR * PAIR * pair_total[lane];
        may[lane] = is_real && is_near(real[lane]) || is_pair && is_near(pair[lane]);
    }
    may
}

/// The size of the rate of a real mode, what it leaves and of how much.
#[inline(always)]
fn real_rate<const W: usize>(y: &[Pack<W>; WINDOW]) -> (Pack<W>, Pack<W>, Pack<W>) {
    let (mut cross, mut square, mut total) = (Pack::ZERO, Pack::ZERO, Pack::ZERO);
    for k in 1..WINDOW {
        cross += y[k - 1] * y[k];
        square += y[k - 1] * y[k - 1];
        total += y[k] * y[k];
    }
    let rate = cross / square;
    let mut left = Pack::ZERO;
    for k in 1..WINDOW {
        let off = y[k] - rate * y[k - 1];
        left += off * off;
    }
    (rate.abs(), left, total)
}

/// The same of a pair of modes, the larger one.
#[inline(always)]
fn pair_rate<const W: usize>(y: &[Pack<W>; WINDOW]) -> (Pack<W>, Pack<W>, Pack<W>) {
    let [mut a, mut b, mut c, mut f, mut g, mut total] = [Pack::ZERO; 6];
    for k in 2..WINDOW {
        a += y[k - 1] * y[k - 1];
        b += y[k - 2] * y[k - 1];
        c += y[k - 2] * y[k - 2];
        f += y[k - 1] * y[k];
        g += y[k - 2] * y[k];
        total += y[k] * y[k];
    }
    let determinant = b * b - a * c;
    let (p, q) = ((b * g - c * f) / determinant, (a * g - b * f) / determinant);
    let mut left = Pack::ZERO;
    for k in 2..WINDOW {
        let off = y[k] - p * y[k - 1] + q * y[k - 2];
        left += off * off;
    }
    let under = p * p * 0.25 - q;
    let mut rate = Pack::ZERO;
    for lane in 0..W {
        let (under, half) = (under[lane], 0.5 * p[lane].abs());
        rate[lane] = if under < 0.0 {
            q[lane].sqrt()
        } else {
            half + under.sqrt()
        };
    }
    (rate, left, total)
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
