//! The search for the points of a piece of time where a rank falls: cells that a Taylor expansion covers, zeros refined by
//! Newton's method at any multiplicity.
//!
//! Numbers in parentheses refer to `docs/theory/linear.md`.

use super::profile::{Profile, StageMatrix, Walk};
use crate::dense::Dense;
use crate::linear::{LinearFamily, LinearSeries};
use crate::outcome::Stage;
use crate::reduction::references;
use crate::scaling::Scaling;
use crate::series::{MatrixSeries, Series};
use daelight_linalg::Mat;

/// Coefficients beyond the levels of the reduction, for a cell.
const CELL_ORDER: usize = 6;
/// The same for a zero, whose multiplicity must be seen: up to about this one.
const ZERO_ORDER: usize = 10;
/// Cells at the start, for the whole interval.
const N_CELLS: f64 = 16.0;
/// A cell is covered if it stays within this fraction of the distance to the nearest zero of any determinant.
const COVERED: f64 = 0.6;
/// Centres lie a little off the middle, where models like to have their symmetries.
const CENTRE: f64 = 0.487_123;
/// Smallest cell and nearest point, relative to the interval.
const SMALLEST: f64 = 1e-9;
/// Newton steps per zero.
const N_STEPS: usize = 30;
/// A value that falls below this many noise levels has vanished.
const VANISHED: f64 = 30.0;
/// How far from a suspected zero units are taken, relative to the piece.
const ASIDE: f64 = 0.02;
/// How much longer than the unit that balances E and A the unit of time may be.
const IMBALANCE: f64 = 1e6;
/// How much shorter than the reach of a search it may be for coefficients that grow.
const GROWTH: f64 = 1e-2;
/// The polynomial of a cell must reproduce E and A at its ends to this part of their size.
const REPRODUCED: f64 = 1e-3;

/// A point where a rank falls.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) time: f64,
    /// The last correction: what its place is worth.
    pub(super) error: f64,
    /// Position among the stages of the reduction.
    pub(super) place: usize,
    pub(super) level: usize,
    pub(super) stage: Stage,
    /// The rank beside the point.
    pub(super) rank_nearby: usize,
    /// The rank at the point.
    pub(super) rank: usize,
    /// The order of the zero of the determinant.
    pub(super) order: usize,
    /// Nothing else is searched this close to it.
    radius: f64,
}

/// A place where a rank nearly falls.
#[derive(Clone, Copy, Debug)]
pub(super) struct Near {
    pub(super) time: f64,
    /// The smallest singular value relative to its reference.
    pub(super) value: f64,
    pub(super) level: usize,
    pub(super) stage: Stage,
}

/// What a search brought.
#[derive(Clone, Debug, Default)]
pub(super) struct Searched {
    pub(super) found: Vec<Found>,
    pub(super) near: Vec<Near>,
    /// Intervals that could not be decided, smaller than can be resolved.
    pub(super) undecided: Vec<(f64, f64)>,
    /// Intervals left when the budget was used up.
    pub(super) unexamined: Vec<(f64, f64)>,
}

/// The outcome of a refinement.
enum Refined {
    Zero(Found),
    Near(Near),
    Lost,
}

/// Evaluates a family with a budget.
pub(super) struct Search<'a, F: ?Sized> {
    pub(super) family: &'a mut F,
    /// Length of the whole interval.
    pub(super) span: f64,
    pub(super) n_evaluations: usize,
    pub(super) budget: usize,
}

impl<F: LinearFamily + ?Sized> Search<'_, F> {
    /// The series at a time, counted; `None` if undefined or not finite.
    pub(super) fn at(&mut self, time: f64, order: usize) -> Option<LinearSeries> {
        self.n_evaluations += 1;
        let series = self.family.at(time, order).ok()?;
        series.matrices.is_finite().then_some(series)
    }

    /// Searches a piece on which the coefficients are smooth and the ranks of the profile are the generic ones.
    pub(super) fn piece(&mut self, low: f64, high: f64, profile: &Profile) -> Searched {
        let n_cells = (N_CELLS * (high - low) / self.span).ceil().max(4.0) as usize;
        let width = (high - low) / n_cells as f64;
        let mut cells: Vec<(f64, f64)> = (0..n_cells)
            .rev()
            .map(|i| {
                let right = if i + 1 == n_cells {
                    high
                } else {
                    low + (i + 1) as f64 * width
                };
                (low + i as f64 * width, right)
            })
            .collect();
        let mut out = Searched::default();
        while let Some(cell) = cells.pop() {
            let Some((l, r)) = self.trimmed(cell, &out.found, &mut cells) else {
                continue;
            };
            if self.n_evaluations >= self.budget {
                out.unexamined.push((l, r));
                continue;
            }
            let (covered, candidate) = self.cell(l, r, profile, &out.found);
            if covered {
                continue;
            }
            let refined = candidate.map_or(Refined::Lost, |(start, place)| {
                self.refine(start, place, profile, (low, high), 2.0 * (r - l))
            });
            match refined {
                Refined::Zero(found) if !is_known(&out.found, &found, self.span) => {
                    out.found.push(found);
                    cells.push((l, r));
                    continue;
                }
                Refined::Near(near) => {
                    let far = |other: &Near| {
                        let known = other.level == near.level && other.stage == near.stage;
                        !known || (other.time - near.time).abs() > 1e-6 * self.span
                    };
                    if near.time >= low && near.time <= high && out.near.iter().all(far) {
                        out.near.push(near);
                    }
                }
                _ => {}
            }
            if r - l < SMALLEST * self.span {
                out.undecided.push((l, r));
            } else {
                let middle = l + CENTRE * (r - l);
                cells.push((middle, r));
                cells.push((l, middle));
            }
        }
        out.found.sort_by(|a, b| a.time.total_cmp(&b.time));
        out
    }

    /// A cell without the surroundings of points found; what lies on their far side goes back to the list.
    fn trimmed(
        &self,
        (mut l, mut r): (f64, f64),
        found: &[Found],
        cells: &mut Vec<(f64, f64)>,
    ) -> Option<(f64, f64)> {
        for point in found {
            let (from, to) = (point.time - point.radius, point.time + point.radius);
            if to <= l || from >= r {
                continue;
            }
            match (from <= l, to >= r) {
                (true, true) => return None,
                (true, false) => l = to,
                (false, true) => r = from,
                (false, false) => {
                    cells.push((to, r));
                    r = from;
                }
            }
        }
        (r - l > 1e-12 * self.span).then_some((l, r))
    }

    /// Whether all ranks stay in a cell (10); if not, where and at which stage a zero is suspected.
    fn cell(
        &mut self,
        l: f64,
        r: f64,
        profile: &Profile,
        found: &[Found],
    ) -> (bool, Option<(f64, usize)>) {
        let centre = l + CENTRE * (r - l);
        let Some(series) = self.at(centre, profile.n_levels() + CELL_ORDER) else {
            return (false, None);
        };
        let reach = (r - centre).max(centre - l);
        let scaling = units(&series.matrices, reach);
        let scaled = scaling.apply(&series.matrices);
        let Some(walk) = Walk::new(&scaled, profile, None, None) else {
            return (false, None);
        };
        if walk.broken {
            return (false, Some((centre, walk.stages.len() - 1)));
        }
        let half = reach / scaling.time;
        for (place, stage) in walk.stages.iter().enumerate() {
            let mut slope = stage.log_slope();
            for point in found.iter().filter(|point| point.place == place) {
                deflate(
                    &mut slope,
                    (point.time - centre) / scaling.time,
                    point.order,
                );
            }
            if half <= COVERED * radius(&slope) {
                continue;
            }
            // The zero of k/(s - s*) from its first two coefficients.
            let guess = match slope[..] {
                [p0, p1, ..] if p1 != 0.0 => centre + scaling.time * p0 / p1,
                _ => centre,
            };
            let margin = r - l;
            let inside = guess >= l - margin && guess <= r + margin;
            let known = found
                .iter()
                .any(|point| (point.time - guess).abs() <= point.radius);
            return (false, (inside && !known).then_some((guess, place)));
        }
        (self.reproduces(&series, &scaling, centre, l, r), None)
    }

    /// Whether the Taylor polynomials of E and A reproduce them at the ends of the cell.
    fn reproduces(
        &mut self,
        series: &LinearSeries,
        scaling: &Scaling,
        centre: f64,
        l: f64,
        r: f64,
    ) -> bool {
        let (size_e, size_b) = references(&scaling.apply(&series.matrices));
        [l, r].into_iter().all(|end| {
            // An end without a value is the end of a piece.
            let Ok(there) = self.family.at(end, 0) else {
                return true;
            };
            let step = end - centre;
            let off = |polynomial: &Series<Mat>, value: &Series<Mat>| {
                let mut sum = value.coefficient(0).clone();
                let mut power = -1.0;
                for c in polynomial.coefficients() {
                    sum.add_multiple(power, c);
                    power *= step;
                }
                sum.scaled(&scaling.rows, &scaling.columns, 1.0).norm()
            };
            let (here, there) = (&series.matrices, &there.matrices);
            off(here.e(), there.e()) / scaling.time <= REPRODUCED * size_e
                && off(here.b(), there.b()) <= REPRODUCED * size_b
        })
    }

    /// Walks to the zero of a determinant near a time (11).
    fn refine(
        &mut self,
        start: f64,
        place: usize,
        profile: &Profile,
        (low, high): (f64, f64),
        reach: f64,
    ) -> Refined {
        let span = self.span;
        let mut time = start.clamp(low, high);
        // Units and sizes from a little aside: at the zero itself the matrices are too small to give any.
        let reach = reach.min(ASIDE * (high - low));
        let aside = if time < 0.5 * (low + high) {
            reach
        } else {
            -reach
        };
        let order = profile.n_levels() + ZERO_ORDER;
        let Some(beside) = self.at(time + aside, order) else {
            return Refined::Lost;
        };
        let scaling = units(&beside.matrices, reach);
        let reference = references(&scaling.apply(&beside.matrices));
        let rho = scaling.time;
        let mut last_step = f64::INFINITY;
        let mut single = false;
        let mut n_outside = 0;
        let mut step_no = 0;
        loop {
            let Some(stage) = self.stage(time, order, &scaling, reference, profile, place) else {
                return Refined::Lost;
            };
            let (g, _) = stage.determinant();
            let noise = stage.noise.max(f64::EPSILON * time.abs() / rho);
            let k = if single { 1 } else { multiplicity(&g, noise) };
            let step = rho * derivative_zero(&g, k);
            let settled = !(step.abs() > 1e-15 * time.abs().max(1e-3 * span));
            let stagnant = step.abs() < 1e-9 * span && step.abs() >= 0.5 * last_step;
            if settled || stagnant {
                let tolerance =
                    VANISHED * (stage.noise + f64::EPSILON * time.abs() / rho * slope_size(&stage));
                let vanished = |s: &StageMatrix| {
                    let values = &s.factors.values[..s.rank];
                    values
                        .iter()
                        .filter(|v| **v <= tolerance * s.reference)
                        .count()
                };
                let dropped = vanished(&stage);
                if dropped == 0 {
                    // Two zeros close together look like a double one from afar.
                    let apart = -g[0] / g.get(2).copied().unwrap_or(0.0);
                    if k == 2 && !single && apart > 0.0 && apart.is_finite() {
                        single = true;
                        time += rho * apart.sqrt();
                        last_step = f64::INFINITY;
                        continue;
                    }
                    return Refined::Near(Near {
                        time,
                        value: stage.smallest_kept(),
                        level: stage.level,
                        stage: stage.stage,
                    });
                }
                if time < low - 1e-11 * span || time > high + 1e-11 * span {
                    return Refined::Lost;
                }
                let mut snapped = time.clamp(low, high);
                if snapped.abs() <= 1e-11 * span && low <= 0.0 && high >= 0.0 {
                    snapped = 0.0;
                }
                let room = 0.5 * rho * deflated_radius(&g, k);
                return Refined::Zero(Found {
                    time: snapped,
                    error: step.abs().max(f64::EPSILON * time.abs()),
                    place,
                    level: stage.level,
                    stage: stage.stage,
                    rank_nearby: stage.rank,
                    rank: stage.rank - dropped,
                    order: k,
                    radius: room.min(span * [1e-4, 1e-3, 1e-2][k.clamp(1, 3) - 1]),
                });
            }
            step_no += 1;
            if step_no > N_STEPS {
                return Refined::Lost;
            }
            last_step = step.abs();
            let limit = 0.25 * (high - low);
            let next = time + step.clamp(-limit, limit);
            time = next.clamp(low, high);
            if time != next && (next - time).abs() > 1e-9 * span {
                n_outside += 1;
                if n_outside > 2 {
                    return Refined::Lost;
                }
            }
        }
    }

    /// One stage of the reduction at a time, in given units.
    pub(super) fn stage(
        &mut self,
        time: f64,
        order: usize,
        scaling: &Scaling,
        reference: (f64, f64),
        profile: &Profile,
        place: usize,
    ) -> Option<StageMatrix> {
        let series = self.at(time, order)?;
        let scaled = scaling.apply(&series.matrices);
        let mut walk = Walk::new(&scaled, profile, Some(place), Some(reference))?;
        (walk.stages.len() == place + 1 && !walk.broken)
            .then(|| walk.stages.pop())
            .flatten()
    }
}

/// Units for a search that reaches this far: those of the series, but the time that of the search.
///
/// Close to a point where E vanishes, the unit of time that balances E and A shrinks with E, and with it everything that is
/// to be seen of the point. It is shortened where the coefficients grow, and not further than balance allows.
pub(super) fn units(series: &MatrixSeries, reach: f64) -> Scaling {
    let mut scaling = Scaling::by_low_orders(series, None);
    let norm = |c: &Mat| c.scaled(&scaling.rows, &scaling.columns, 1.0).norm();
    let mut time = reach.min(IMBALANCE * scaling.time);
    for s in [series.e(), series.b()] {
        let first = norm(s.coefficient(0));
        for (q, c) in s.coefficients().iter().enumerate().skip(1) {
            let decay = (first / norm(c)).powf(1.0 / q as f64);
            if decay > 0.0 {
                time = time.min(decay.max(GROWTH * reach));
            }
        }
    }
    scaling.time = time.log2().round().exp2();
    scaling
}

fn is_known(found: &[Found], new: &Found, span: f64) -> bool {
    found
        .iter()
        .any(|point| (point.time - new.time).abs() <= 1e-9 * span)
}

/// Takes a zero at s of order k out of the coefficients of a logarithmic derivative.
fn deflate(slope: &mut [f64], s: f64, k: usize) {
    let mut term = k as f64;
    for p in slope {
        term /= s;
        *p += term;
        if p.abs() <= 1e-6 * term.abs() {
            *p = 0.0;
        }
    }
}

/// The distance to the nearest zero, from the growth of the last coefficients of a logarithmic derivative (10).
fn radius(slope: &[f64]) -> f64 {
    let first = slope.len().saturating_sub(3);
    (first..slope.len())
        .map(|q| slope[q].abs().powf(-1.0 / (q + 1) as f64))
        .fold(f64::INFINITY, f64::min)
}

/// The same for g(s)/s^k.
fn deflated_radius(g: &[f64], k: usize) -> f64 {
    let h = &g[k.min(g.len() - 1)..];
    if h[0] == 0.0 {
        return 0.0;
    }
    let mut slope: Vec<f64> = Vec::new();
    for q in 0..h.len() - 1 {
        let known: f64 = (0..q).map(|i| slope[i] * h[q - i]).sum();
        slope.push(((q + 1) as f64 * h[q + 1] - known) / h[0]);
    }
    radius(&slope)
}

/// How many zeros of a polynomial lie together near 0: the place of the widest gap between the moduli of its zeros (11).
fn multiplicity(g: &[f64], noise: f64) -> usize {
    let size: Vec<f64> = g.iter().map(|g| g.abs().max(noise)).collect();
    let modulus = |q: usize| size[q - 1] / size[q];
    (1..g.len() - 1)
        .max_by(|&i, &j| {
            let gap = |q: usize| modulus(q + 1) / modulus(q);
            // The first of equal gaps.
            gap(i).total_cmp(&gap(j)).then(j.cmp(&i))
        })
        .unwrap_or(1)
}

/// The zero near 0 of the (k-1)-th derivative of a polynomial, by Newton's method.
fn derivative_zero(g: &[f64], k: usize) -> f64 {
    // Coefficients of the derivative over (k-1)!.
    let d: Vec<f64> = (k - 1..g.len())
        .map(|q| {
            let binomial = (1..k).fold(1.0, |b, i| b * (q + 1 - i) as f64 / i as f64);
            binomial * g[q]
        })
        .collect();
    let mut s = 0.0;
    for _ in 0..8 {
        let (mut value, mut rate) = (0.0, 0.0);
        for &c in d.iter().rev() {
            rate = rate * s + value;
            value = value * s + c;
        }
        let step = -value / rate;
        if !step.is_finite() {
            break;
        }
        s += step;
        // Beyond its own unit a polynomial of few terms is not to be trusted.
        if s.abs() > 1.0 {
            return -d[0] / d.get(1).copied().unwrap_or(f64::NAN);
        }
    }
    s
}

/// How fast the values change, relative to the reference.
fn slope_size(stage: &StageMatrix) -> f64 {
    let coefficients = stage.matrix.coefficients();
    coefficients.get(1).map_or(0.0, Mat::norm) / stage.reference
}
