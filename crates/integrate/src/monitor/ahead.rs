//! Zeros of the quantities ahead of a run, looked for on the series; section 4 of `docs/theory/integration.md`.
//!
//! All quantities are read from the same evaluations, and none is looked at closely that vanishes behind another one.

use super::{Expansion, Monitor, NearMiss, Parabola, Zero, sign_and_logarithm};
use crate::locate;
use crate::tolerances::{DIP, SAME_SWITCH, TOUCH_DEPTH, TOUCH_WIDTH};
use daelight_linalg::LogDet;

/// Points at which the determinant of a small block is evaluated ahead: two for each reach of the series.
pub(crate) const N_SAMPLES: usize = 5;

/// What the argument of a sine or cosine may change by between two samples, (R29): a product of two has ten samples in each turn.
pub(crate) const PHASE: f64 = 0.6;

/// The last values of three steps tell what follows while arguments change by less than this many [`PHASE`] over the range ahead: of
/// sin(u)^2 a parabola misses the fall from its greatest value to zero. With 1 every step of the slider-crank is looked at.
pub(crate) const TREND: f64 = 2.0;

/// Blocks beyond this size are looked at in fewer points.
const LARGE: usize = 64;

/// Watched arguments are evaluated to rounding: a dip above this part of the surroundings does not touch zero.
const TOUCHED_ARGUMENT: f64 = 1e-13;

/// Determinants of blocks up to this size are as accurate, absolutely, as the states that they depend on.
const SMALL: usize = 4;

/// Parts that a dip between samples is divided into.
const N_PARTS: usize = 8;

/// A dip that stays above this part of its surroundings is no zero.
const CLEAR: f64 = 0.05;

/// The part of the distance between samples over which it is seen whether a quantity falls.
const SHORTLY: f64 = 1e-3;

/// The most points at which it is evaluated, where sines and cosines of unknowns turn fast: as many as a dip is looked at in.
pub(super) const fn most_samples() -> usize {
    N_PARTS * N_SAMPLES
}

/// What all quantities are read from at one distance ahead: evaluated once, where many of them are looked at.
pub(super) struct Look {
    s: f64,
    /// Entries of the system Jacobian, once they were asked for; empty where one has no value.
    entries: Option<Vec<f64>>,
    /// Roots of the tape of arguments, once they were asked for.
    arguments: Option<Vec<f64>>,
}

/// A quantity that is looked at ahead, in units of what it is at the expansion point.
#[derive(Clone, Copy)]
struct Watched {
    quantity: usize,
    sign: f64,
    /// Logarithm of the unit.
    reference: f64,
    n_samples: usize,
    /// The distance from which it is looked at.
    from: f64,
    /// A dip to this part of its surroundings counts as touching zero.
    touching: f64,
    /// What else the surroundings are, beside the samples around a dip.
    scale: f64,
}

impl Watched {
    /// A value in these units, NaN where there is none.
    fn scaled(&self, value: Option<LogDet>) -> f64 {
        value.map_or(f64::NAN, |d| d.sign * (d.log_abs - self.reference).exp())
    }

    /// The distance of a sample ahead.
    fn distance(&self, k: usize, window: f64) -> f64 {
        self.from + (window - self.from) * k as f64 / self.n_samples as f64
    }
}

/// The distance, signed, over which zeros are one singular point.
fn same_point(expansion: Expansion<'_>, window: f64) -> f64 {
    let rounding = 4.0 * f64::EPSILON * expansion.time.abs();
    SAME_SWITCH * window + rounding.copysign(window)
}

/// Where three samples dip towards zero, if they do; the parabola through them may be too high by `off`. One that still falls may
/// have touched zero just before the last of them.
pub(crate) fn dip_of(samples: [(f64, f64); 3], sign: f64, off: f64) -> Option<f64> {
    let [(a, fa), (_, fb), (c, fc)] = samples;
    let parabola = Parabola::through(samples);
    let turning = parabola.turning().filter(|t| (t - a) * (t - c) < 0.0);
    let falls = (fc.abs() < fb.abs()).then_some((c, fc));
    let (at, least) = turning.map(|t| (t, parabola.value(t))).or(falls)?;
    (least * sign - off < DIP * fa.abs().min(fc.abs())).then_some(at)
}

/// What a parabola through three even samples may be off by between them, (R25), from the third differences with the samples beside
/// them; those that are not known are NaN.
pub(crate) fn off_parabola(before: f64, [a, b, c]: [f64; 3], behind: f64) -> f64 {
    let third = |[a, b, c, d]: [f64; 4]| (d - a + 3.0 * (b - c)).abs();
    0.25 * third([before, a, b, c])
        .max(third([a, b, c, behind]))
        .max(0.0)
}

impl Monitor<'_> {
    /// Looks for the first zero of a quantity within `window` (signed) ahead of the expansion point.
    ///
    /// Samples are shared by all quantities, and no zero is located that lies behind another one: the work grows like
    /// the model, not like its number of blocks times its size.
    pub fn look_ahead(
        &mut self,
        expansion: Expansion<'_>,
        window: f64,
        always: bool,
    ) -> Option<Zero> {
        self.look_between(expansion, (0.0, window), always)
    }

    /// The same between two distances ahead.
    pub fn look_between(
        &mut self,
        expansion: Expansion<'_>,
        (from, window): (f64, f64),
        always: bool,
    ) -> Option<Zero> {
        self.looks.clear();
        self.near_misses.clear();
        let quantities = 0..self.history.len();
        let turns = self.phase_change(expansion, window) / PHASE;
        let n_samples = (turns.ceil() as usize).clamp(N_SAMPLES, most_samples());
        // Where three steps do not follow the blocks their last values say nothing.
        let always = always || turns > TREND;
        let suspicious = quantities
            .filter(|&q| self.varies[q] && (always || self.is_suspicious(q, window)))
            .collect::<Vec<_>>();
        let mut watched: Vec<Watched> = suspicious
            .into_iter()
            .filter_map(|quantity| self.watched(expansion, quantity, (from, n_samples)))
            .collect();
        if watched.len() > 1 {
            let estimates = watched.iter().map(|w| self.estimate(expansion, w, window));
            let estimates: Vec<f64> = estimates.collect();
            let distances = estimates.iter().enumerate();
            if let Some((likely, _)) = distances.min_by(|a, b| a.1.total_cmp(b.1)) {
                watched[..=likely].rotate_right(1);
            }
        }
        let mut first: Option<Zero> = None;
        for watched in &watched {
            let held = first.map(|held| held.time - expansion.time);
            if let Some(zero) = self.first_zero(expansion, watched, window, held)
                && first.is_none_or(|held| (zero.time - held.time) * window < 0.0)
            {
                first = Some(zero);
            }
        }
        let zero = first?;
        if !zero.sign_change {
            return first;
        }
        // Of several that vanish together it is always the same one, so that a run recognises it.
        let behind = zero.time - expansion.time + same_point(expansion, window);
        watched.sort_unstable_by_key(|w| w.quantity);
        let together = watched
            .iter()
            .take_while(|w| w.quantity < zero.quantity)
            .find(|w| self.shared(expansion, w, behind) * w.sign < 0.0);
        let earliest = together.and_then(|w| self.first_zero(expansion, w, window, None));
        earliest.or(first)
    }

    /// A quantity to be looked at; `None` without a value here.
    fn watched(
        &mut self,
        expansion: Expansion<'_>,
        quantity: usize,
        (from, n_samples): (f64, usize),
    ) -> Option<Watched> {
        let blocks = self.problem.structure().blocks();
        let size = blocks.get(quantity).map_or(1, |b| b.equations.len());
        let here = match self.history[quantity].last() {
            Some(sample) if from == 0.0 && sample.time == expansion.time => sample.determinant,
            _ => self.shared_value(expansion, quantity, from)?,
        };
        // The error of a state is one of its size, not of what is left of a determinant close to zero.
        let (touching, scale) = match self.block(quantity) {
            None => (TOUCHED_ARGUMENT, 0.0),
            Some(block) if size > SMALL => (self.touching(block), 0.0),
            Some(block) => {
                let highest = self.highest[quantity];
                (self.touching(block), (highest - here.log_abs).exp())
            }
        };
        Some(Watched {
            quantity,
            sign: here.sign,
            reference: here.log_abs,
            n_samples: if size > LARGE && n_samples == N_SAMPLES {
                2
            } else {
                n_samples
            },
            from,
            touching,
            scale,
        })
    }

    /// How far ahead a line through two samples vanishes, or three of them dip; infinitely far if none do.
    fn estimate(&mut self, expansion: Expansion<'_>, watched: &Watched, window: f64) -> f64 {
        let sign = watched.sign;
        let mut samples = [(watched.from, sign); 3];
        for k in 1..=watched.n_samples {
            let s = watched.distance(k, window);
            let f = self.shared(expansion, watched, s);
            samples = [samples[1], samples[2], (s, f)];
            let (before, fb) = samples[1];
            if f * sign <= 0.0 {
                return (before + (s - before) * fb / (fb - f)).abs();
            }
            if k > 1
                && let Some(bottom) = dip_of(samples, sign, 0.0)
            {
                return bottom.abs();
            }
        }
        f64::INFINITY
    }

    /// The first zero of one quantity within `window`, unless it lies behind one that is `held` already.
    fn first_zero(
        &mut self,
        expansion: Expansion<'_>,
        watched: &Watched,
        window: f64,
        held: Option<f64>,
    ) -> Option<Zero> {
        let (quantity, sign) = (watched.quantity, watched.sign);
        let found =
            |s: f64, sign_change: bool| Some(Zero::of(quantity, expansion.time + s, sign_change));
        // What has not vanished shortly before the zero that is held vanishes there or behind it.
        let brink = held.map(|s| s - same_point(expansion, window));
        let begin = (watched.from, sign);
        let mut samples: [(f64, f64); 3] = [(watched.from, f64::NAN), begin, begin];
        for k in 1..=watched.n_samples {
            let [(_, first), (earlier, fe), (before, fb)] = samples;
            let s = watched.distance(k, window);
            let brink = brink.filter(|brink| brink.abs() <= s.abs());
            if brink.is_some_and(|brink| brink.abs() <= earlier.abs()) {
                return None;
            }
            let f = self.shared(expansion, watched, s);
            if f.is_nan() {
                return None;
            }
            let at_brink = brink.map(|brink| self.shared(expansion, watched, brink) * sign);
            if f * sign <= 0.0 {
                if at_brink.is_some_and(|value| value > 0.0) {
                    return None;
                }
                let value = |s| watched.scaled(self.value(expansion, quantity, s));
                return found(locate::zero(before, s, fb, f, value), true);
            }
            let behind = match (2..watched.n_samples).contains(&k) {
                true => self.shared(expansion, watched, watched.distance(k + 1, window)),
                false => f64::NAN,
            };
            let off = off_parabola(first, [fe, fb, f], behind);
            let dips = match k {
                // Far lower here than at the first sample, it may have touched zero in between.
                1 => DIP * f * sign > 1.0 && self.falls_at_once(expansion, watched, s - before),
                _ => dip_of([(earlier, fe), (before, fb), (s, f)], sign, off).is_some(),
            };
            if dips {
                let surroundings = fe.abs().max(f.abs()).max(watched.scale);
                let low = watched.touching * surroundings;
                // It vanishes at the zero that is held, or still falls there and is least behind it.
                let is_behind = brink.zip(at_brink).is_some_and(|(brink, value)| {
                    let shortly_before =
                        brink - SHORTLY * (watched.distance(1, window) - watched.from);
                    let was = self.shared(expansion, watched, shortly_before) * sign;
                    value.abs() <= low || value < was
                });
                if is_behind {
                    return None;
                }
                let dip = [(earlier, fe), (s, f)];
                if !self.stays_clear(expansion, watched, dip, low)
                    && let Some((s, sign_change)) = self.bottom(expansion, watched, dip, low)
                {
                    return found(s, sign_change);
                }
            }
            samples = match k {
                1 => [(watched.from, f64::NAN), begin, (s, f)],
                _ => [samples[1], samples[2], (s, f)],
            };
        }
        None
    }

    /// Whether a quantity falls so fast from where it is looked at that it may have risen again at the first sample.
    fn falls_at_once(&mut self, expansion: Expansion<'_>, watched: &Watched, spacing: f64) -> bool {
        let shortly = watched.from + SHORTLY * spacing;
        let left = self.shared(expansion, watched, shortly) * watched.sign;
        (1.0 - left) / SHORTLY > 1.0 - DIP
    }

    /// Whether a dip between two samples stays far above zero, by values in between that all quantities share.
    fn stays_clear(
        &mut self,
        expansion: Expansion<'_>,
        watched: &Watched,
        [(a, fa), (b, fb)]: [(f64, f64); 2],
        low: f64,
    ) -> bool {
        let at = |k: usize| a + (b - a) * k as f64 / N_PARTS as f64;
        let mut values = [fa * watched.sign; N_PARTS + 1];
        values[N_PARTS] = fb * watched.sign;
        for (k, value) in values.iter_mut().enumerate().take(N_PARTS).skip(1) {
            *value = self.shared(expansion, watched, at(k)) * watched.sign;
        }
        let clear = (CLEAR * fa.abs().max(fb.abs())).max(2.0 * low);
        values.windows(3).enumerate().all(|(k, f)| {
            let points = [0, 1, 2].map(|m| (at(k + m), f[m]));
            let parabola = Parabola::through(points);
            let turning = parabola
                .turning()
                .filter(|t| (t - points[0].0) * (t - points[2].0) < 0.0);
            let least = turning.map_or(f64::INFINITY, |t| parabola.value(t));
            f.iter().all(|value| *value > clear) && least > clear
        })
    }

    /// The zero at the bottom of a dip, and whether the sign changes there: `None` if it does not come as low as `low`.
    fn bottom(
        &mut self,
        expansion: Expansion<'_>,
        watched: &Watched,
        [(a, fa), (b, _)]: [(f64, f64); 2],
        low: f64,
    ) -> Option<(f64, bool)> {
        let mut value = |s| watched.scaled(self.value(expansion, watched.quantity, s));
        let mut crossed = None;
        let (least, reached) = locate::least(a, b, |s| {
            let f = value(s) * watched.sign;
            if f < 0.0 {
                crossed = Some(s);
            }
            f.abs()
        });
        if let Some(s) = crossed {
            let f = value(s);
            return Some((locate::zero(a, s, fa, f, value), true));
        }
        let radius = 0.1 * (b - a);
        let is_at = |end: f64| (least - end).abs() <= TOUCH_WIDTH * (b - a).abs();
        // It rises from the first sample, or falls beyond the last.
        if is_at(a) || is_at(b) {
            return None;
        }
        if reached > low {
            self.keep_near_miss(expansion, watched, least, radius);
            return None;
        }
        // A low value is no zero if its enclosures stay clear of zero wherever it is low, (R10).
        let mut width = TOUCH_WIDTH * (b - a);
        while width.abs() < 0.5 * (b - a).abs()
            && [least - width, least + width]
                .into_iter()
                .any(|s| value(s).abs() <= low)
        {
            width *= 2.0;
        }
        let at = locate::touching_zero(least, radius, value);
        let around = (least - width, least + width);
        let is_clear = self.is_clear(expansion, watched.quantity, around, TOUCH_DEPTH);
        if is_clear {
            self.keep_near_miss(expansion, watched, least, radius);
        }
        (!is_clear).then_some((at, false))
    }

    /// Keeps a dip that is no zero as a pair of complex ones: f ~ f0 (1 + (s/d)^2) around its bottom, by values no further away than
    /// it doubles or triples.
    fn keep_near_miss(
        &mut self,
        expansion: Expansion<'_>,
        watched: &Watched,
        bottom: f64,
        radius: f64,
    ) {
        let mut value =
            |s| watched.scaled(self.value(expansion, watched.quantity, s)) * watched.sign;
        let least = value(bottom);
        let mut aside = radius.abs();
        for _ in 0..f64::MANTISSA_DIGITS {
            let rise = value(bottom - aside) + value(bottom + aside) - 2.0 * least;
            if rise <= 6.0 * least {
                let width = aside * (2.0 * least / rise).sqrt();
                if width.is_finite() {
                    let time = expansion.time + bottom;
                    self.near_misses.push(NearMiss { time, width });
                }
                return;
            }
            aside *= 0.5;
        }
    }

    /// Whether the signs of some quantities change between two distances ahead, and not before.
    pub fn change_between(
        &mut self,
        expansion: Expansion<'_>,
        quantities: &[usize],
        [before, behind]: [f64; 2],
    ) -> bool {
        self.looks.clear();
        quantities.iter().all(|&quantity| {
            let sign = self.sign(quantity);
            let mut at = |s| {
                self.shared_value(expansion, quantity, s)
                    .map(|d| d.sign * sign)
            };
            at(before).is_some_and(|sign| sign > 0.0) && at(behind).is_some_and(|sign| sign < 0.0)
        })
    }

    /// A quantity on the series at a distance at which many are looked at; `None` where it has no value.
    fn shared_value(
        &mut self,
        expansion: Expansion<'_>,
        quantity: usize,
        s: f64,
    ) -> Option<LogDet> {
        let known = self.looks.iter().position(|look| look.s == s);
        let place = known.unwrap_or(self.looks.len());
        if known.is_none() {
            self.looks.push(Look {
                s,
                entries: None,
                arguments: None,
            });
        }
        if let Some(argument) = self.argument(quantity) {
            if self.looks[place].arguments.is_none() {
                self.evaluate_arguments(expansion, s);
                self.looks[place].arguments = Some(self.roots.clone());
            }
            let roots = self.looks[place].arguments.as_deref()?;
            return sign_and_logarithm(argument.quantity(roots));
        }
        if self.looks[place].entries.is_none() {
            let evaluated = self.evaluate_entries(expansion, s);
            let entries = evaluated.map(|()| self.entries.clone());
            self.looks[place].entries = Some(entries.unwrap_or_default());
        }
        let entries = self.looks[place].entries.as_deref()?;
        if entries.is_empty() {
            return None;
        }
        self.solver
            .block_determinant(quantity, |entry| entries[entry])
            .ok()
    }

    /// The same in units of a quantity.
    fn shared(&mut self, expansion: Expansion<'_>, watched: &Watched, s: f64) -> f64 {
        watched.scaled(self.shared_value(expansion, watched.quantity, s))
    }
}
