//! The search for the points of a piece of time where a rank falls: cells that a Taylor expansion covers, zeros refined by
//! Newton's method at any multiplicity.
//!
//! Numbers in parentheses refer to `docs/theory/linear.md`.

use super::profile::{Profile, StageMatrix, Walk};
use crate::dense::Dense;
use crate::linear::{Bounds, LinearFamily, LinearSeries};
use crate::outcome::Stage;
use crate::reduction::references;
use crate::scaling::Scaling;
use crate::series::{MatrixSeries, Series};
use crate::tolerances::{FAR_OFF, SAME_INSTANT, ZERO};
use daelight_linalg::Mat;
use std::time::Instant;

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
/// The same in the shadow of a point found at an earlier stage, where later stages lose their digits.
const COARSE: f64 = 1e-5;
/// How far such a shadow may reach.
pub(super) const SHADOW: f64 = 1e-2;
/// Newton steps per zero.
const N_STEPS: usize = 20;
/// Highest multiplicity of a zero that is looked for.
const MOST_ORDER: usize = 6;
/// A zero whose place is not known this well, relative to the interval, is not reported.
const LOCATED: f64 = 5e-11;
/// A failed search is repeated in cells this many times smaller.
const FINER: f64 = 16.0;
/// A value that falls below this many noise levels has vanished.
const VANISHED: f64 = 30.0;
/// Noise above which nothing is read.
const UNREADABLE: f64 = 1e-7;
/// How far from a suspected zero units are taken, relative to the piece.
const ASIDE: f64 = 0.02;
/// How far aside matrices are looked at to judge rounding errors, relative to the piece.
const NEIGHBOURHOOD: f64 = 0.1;
/// How much longer than the unit that balances E and A the unit of time may be.
const IMBALANCE: f64 = 1e6;
/// How much shorter than the reach of a search it may be for coefficients that grow.
const GROWTH: f64 = 1e-2;
/// What the polynomials of a cell leave out of E and A is at most this part of the smallest singular value that counts.
const LEFT_OUT: f64 = 1e-3;

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
    pub(super) radius: f64,
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

impl Searched {
    /// Puts a cell among the undecided. A zone that is met again doubles, so that it costs few cells however wide it is.
    fn give_up(&mut self, l: f64, r: f64, (low, high): (f64, f64), span: f64) {
        let near = |zone: &(f64, f64)| l <= zone.1 + SHADOW * span && r >= zone.0 - SHADOW * span;
        let (mut from, mut to) = (l, r);
        if let Some(i) = self.undecided.iter().position(near) {
            let zone = self.undecided.swap_remove(i);
            (from, to) = (from.min(zone.0), to.max(zone.1));
        }
        let margin = (to - from).max(COARSE * span) / 2.0;
        self.undecided
            .push(((from - margin).max(low), (to + margin).min(high)));
    }
}

/// Whether a Taylor expansion covers a cell.
enum Cell {
    /// All ranks stay.
    Covered,
    /// The rank of a stage may fall, perhaps at a time guessed.
    Open {
        place: Option<usize>,
        guess: Option<f64>,
    },
}

impl Cell {
    /// Nothing is known of it.
    const UNREADABLE: Self = Self::Open {
        place: None,
        guess: None,
    };
}

/// The outcome of a refinement.
enum Refined {
    Zero(Found),
    Near(Near),
    Lost,
}

/// The cells in which the search of a piece begins, the first one last.
fn cells(low: f64, high: f64, span: f64) -> Vec<(f64, f64)> {
    let n_cells = (N_CELLS * ((high - low) / span)).ceil().max(4.0) as usize;
    let width = (high - low) / n_cells as f64;
    let left = |i: usize| match i == n_cells {
        true => high,
        false => low + i as f64 * width,
    };
    let cells = (0..n_cells).rev();
    cells.map(|i| (left(i), left(i + 1))).collect()
}

/// Evaluates a family with a budget.
pub(super) struct Search<'a, F: ?Sized> {
    pub(super) family: &'a mut F,
    /// Length of the whole interval.
    pub(super) span: f64,
    pub(super) n_evaluations: usize,
    pub(super) budget: usize,
    pub(super) deadline: Option<Instant>,
    /// Whether the coefficients were bounded between the times at which they were expanded.
    pub(super) is_bounded: bool,
}

impl<F: LinearFamily + ?Sized> Search<'_, F> {
    /// The series at a time, counted; `None` if undefined or not finite.
    pub(super) fn at(&mut self, time: f64, order: usize) -> Option<LinearSeries> {
        self.n_evaluations += 1;
        let series = self.family.at(time, order).ok()?;
        series.matrices.is_finite().then_some(series)
    }

    pub(super) fn is_late(&self) -> bool {
        self.deadline
            .is_some_and(|deadline| Instant::now() > deadline)
    }

    /// Searches a piece on which the coefficients are smooth and the ranks of the profile are the generic ones.
    pub(super) fn piece(&mut self, low: f64, high: f64, profile: &Profile) -> Searched {
        let mut cells = cells(low, high, self.span);
        let mut out = Searched::default();
        let mut failed = Vec::new();
        while let Some(cell) = cells.pop() {
            let Some((l, r)) = self.trimmed(cell, &out, &mut cells) else {
                continue;
            };
            if self.n_evaluations >= self.budget || self.is_late() {
                out.unexamined.push((l, r));
                continue;
            }
            let Cell::Open { place, guess } = self.cell((l, r), (low, high), profile, &out.found)
            else {
                continue;
            };
            let refined = match (guess, place) {
                // A search that failed is tried again when it can see finer.
                (Some(guess), Some(place))
                    if !failed
                        .iter()
                        .any(|&(other, time, width): &(usize, f64, f64)| {
                            let near = (time - guess).abs() <= width;
                            other == place && near && width < FINER * (r - l)
                        }) =>
                {
                    let refined = self.refine(guess, place, profile, (low, high), 2.0 * (r - l));
                    if matches!(refined, Refined::Lost) {
                        failed.push((place, guess, r - l));
                    }
                    refined
                }
                _ => Refined::Lost,
            };
            match refined {
                Refined::Zero(found) if !is_known(&out.found, &found, self.span) => {
                    out.found.push(found);
                    cells.push((l, r));
                    continue;
                }
                Refined::Near(near) => {
                    let far = |other: &Near| {
                        let known = other.level == near.level && other.stage == near.stage;
                        !known || (other.time - near.time).abs() > COARSE * self.span
                    };
                    if near.time >= low && near.time <= high && out.near.iter().all(far) {
                        out.near.push(near);
                    }
                }
                _ => {}
            }
            if r - l < SMALLEST * self.span {
                out.give_up(l, r, (low, high), self.span);
            } else if r - l < COARSE * self.span
                && let Some(point) = shadowing(&mut out.found, place, (l, r), self.span)
            {
                point.radius = (r - point.time).abs().max((l - point.time).abs());
            } else {
                let middle = l + CENTRE * (r - l);
                cells.push((middle, r));
                cells.push((l, middle));
            }
        }
        // Where the surroundings stay undecided a point is not to be trusted either: it may be noise around another one.
        let zones = &out.undecided;
        out.found
            .retain(|point| !zones.iter().any(|z| z.0 <= point.time && point.time <= z.1));
        out.found.sort_by(|a, b| a.time.total_cmp(&b.time));
        out
    }

    /// A cell without the surroundings of points found and without what is undecided; what lies on their far side goes back to the list.
    fn trimmed(
        &self,
        (mut l, mut r): (f64, f64),
        out: &Searched,
        cells: &mut Vec<(f64, f64)>,
    ) -> Option<(f64, f64)> {
        let around = out
            .found
            .iter()
            .map(|point| (point.time - point.radius, point.time + point.radius));
        for (from, to) in around.chain(out.undecided.iter().copied()) {
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
        (r - l > SAME_INSTANT * self.span).then_some((l, r))
    }

    /// Whether all ranks stay in a cell (10).
    fn cell(
        &mut self,
        (l, r): (f64, f64),
        piece: (f64, f64),
        profile: &Profile,
        found: &[Found],
    ) -> Cell {
        let centre = l + CENTRE * (r - l);
        let Some(series) = self.at(centre, profile.n_levels() + CELL_ORDER) else {
            return Cell::UNREADABLE;
        };
        let reach = (r - centre).max(centre - l);
        let scaling = units(&series.matrices, reach);
        let scaled = scaling.apply(&series.matrices);
        let reference = references(&scaled);
        let rounding = self.rounding(centre, piece, &scaling, reference);
        let Some(walk) = Walk::new(&scaled, profile, None, reference, rounding) else {
            return Cell::UNREADABLE;
        };
        if walk.broken {
            return Cell::Open {
                place: Some(walk.stages.len() - 1),
                guess: Some(centre),
            };
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
            return Cell::Open {
                place: Some(place),
                guess: (inside && !known).then_some(guess),
            };
        }
        let margin = walk.stages.iter().map(StageMatrix::smallest_kept);
        let margin = LEFT_OUT * margin.fold(1.0, f64::min);
        let order = profile.n_levels() + CELL_ORDER + 1;
        let is_complete = match self.family.bounds(l, r, order) {
            Bounds::Known(bounds) => {
                self.n_evaluations += 1;
                let n_rates = profile.n_levels();
                left_out(&bounds, &scaling, reach, order, n_rates, reference) <= margin
            }
            Bounds::Open => false,
            Bounds::NotKnown => {
                self.is_bounded = false;
                self.reproduces(&series, &scaling, centre, l, r)
            }
        };
        if is_complete {
            Cell::Covered
        } else {
            Cell::UNREADABLE
        }
    }

    /// Whether the Taylor polynomials of E and A reproduce them at the ends of the cell: all that can be asked where the
    /// coefficients have no bounds.
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
            off(here.e(), there.e()) / scaling.time <= LEFT_OUT * size_e
                && off(here.b(), there.b()) <= LEFT_OUT * size_b
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
        let rounding = self.rounding(time, (low, high), &scaling, reference);
        let view = View {
            order,
            scaling,
            reference,
            rounding,
            place,
        };
        let mut last_step = f64::INFINITY;
        let mut single = false;
        let mut n_outside = 0;
        for _ in 0..N_STEPS {
            let Some(stage) = self.stage(time, &view, profile) else {
                return Refined::Lost;
            };
            let zero = Zero::of(&stage, view.scaling.time, time, single);
            if zero.noise > UNREADABLE {
                return Refined::Lost;
            }
            let step = zero.step;
            let settled =
                step.is_nan() || step.abs() <= 4.0 * f64::EPSILON * time.abs().max(SHADOW * span);
            let stagnant = step.abs() < SMALLEST * span && step.abs() >= 0.5 * last_step;
            if settled || stagnant {
                if let Some(apart) = zero.pair().filter(|_| !single) {
                    // Two zeros close together look like a double one from afar.
                    single = true;
                    time = (time + apart).clamp(low, high);
                    last_step = f64::INFINITY;
                    continue;
                }
                return zero.judge(&stage, &view, time, (low, high), span);
            }
            last_step = step.abs();
            let limit = 0.25 * (high - low);
            let next = time + step.clamp(-limit, limit);
            time = next.clamp(low, high);
            if (next - time).abs() > SMALLEST * span {
                n_outside += 1;
                if n_outside > 2 {
                    return Refined::Lost;
                }
            }
        }
        Refined::Lost
    }

    /// Rounding errors relative to the reference.
    ///
    /// They are relative to what the entries are computed from, and of that the entries in some distance are a measure: next
    /// to a zero the entries themselves can be all noise, however well they look when scaled.
    fn rounding(
        &mut self,
        time: f64,
        (low, high): (f64, f64),
        scaling: &Scaling,
        reference: (f64, f64),
    ) -> f64 {
        let distance = NEIGHBOURHOOD * (high - low);
        let mut ratio: f64 = 1.0;
        for beside in [time - distance, time + distance] {
            if beside > low
                && beside < high
                && let Ok(series) = self.family.at(beside, 0)
            {
                let (e, a) = references(&scaling.apply(&series.matrices));
                ratio = ratio.max(e / reference.0).max(a / reference.1);
            }
        }
        4.0 * f64::EPSILON * ratio
    }

    /// One stage of the reduction at a time, in given units.
    fn stage(&mut self, time: f64, view: &View, profile: &Profile) -> Option<StageMatrix> {
        let series = self.at(time, view.order)?;
        let scaled = view.scaling.apply(&series.matrices);
        let until = Some(view.place);
        let mut walk = Walk::new(&scaled, profile, until, view.reference, view.rounding)?;
        (walk.stages.len() == view.place + 1 && !walk.broken)
            .then(|| walk.stages.pop())
            .flatten()
    }
}

/// How a zero is looked at: units, sizes, and the stage of the reduction whose rank falls.
struct View {
    order: usize,
    scaling: Scaling,
    reference: (f64, f64),
    rounding: f64,
    place: usize,
}

/// The determinant that vanishes, seen from a time nearby (11).
struct Zero {
    /// Its coefficients, in units of time.
    g: Vec<f64>,
    unit: f64,
    /// The multiplicity of the zero.
    order: usize,
    /// The way to it.
    step: f64,
    noise: f64,
    /// How many singular values have vanished.
    n_dropped: usize,
    /// Whether they are no larger than their rounding errors.
    is_sure: bool,
}

impl Zero {
    fn of(stage: &StageMatrix, unit: f64, time: f64, single: bool) -> Self {
        let g = stage.determinant();
        // The time itself is rounded.
        let late = f64::EPSILON * time.abs() / unit;
        let noise = stage.noise.max(late);
        let order = if single { 1 } else { multiplicity(&g, noise) };
        let noise_of_values = VANISHED * (stage.noise + late * slope_size(stage));
        let values = &stage.factors.values[..stage.rank];
        let below = |tolerance: f64| {
            let small = |v: &&f64| **v <= tolerance * stage.reference;
            values.iter().filter(small).count()
        };
        let n_dropped = below(ZERO.max(noise_of_values));
        let is_sure = below(noise_of_values) == n_dropped;
        Self {
            step: unit * derivative_zero(&g, order),
            g,
            unit,
            order,
            noise,
            n_dropped,
            is_sure,
        }
    }

    /// The way to one of two simple zeros, if this is the extremum between them.
    fn pair(&self) -> Option<f64> {
        let apart = -self.g[0] / self.g.get(2)?;
        let is_pair = self.order == 2 && self.n_dropped == 0 && apart > 0.0 && apart.is_finite();
        is_pair.then(|| self.unit * apart.sqrt())
    }

    /// What was found, once the way is no longer.
    fn judge(
        &self,
        stage: &StageMatrix,
        view: &View,
        time: f64,
        (low, high): (f64, f64),
        span: f64,
    ) -> Refined {
        if self.n_dropped == 0 {
            return Refined::Near(Near {
                time,
                value: stage.smallest_kept(),
                level: stage.level,
                stage: stage.stage,
            });
        }
        if !self.is_sure {
            // Neither zero nor certainly not: the surroundings stay undecided.
            return Refined::Lost;
        }
        let k = self.order;
        // The coefficient that places the zero is known to the noise.
        let uncertain = self.unit * self.noise / (k as f64 * self.g[k].abs());
        let error = uncertain.max(self.step.abs());
        if error.is_nan() || error > LOCATED * span {
            return Refined::Lost;
        }
        let is_at_zero = time.abs() <= SAME_INSTANT * span && low <= 0.0 && high >= 0.0;
        let room = 0.5 * self.unit * deflated_radius(&self.g, k);
        Refined::Zero(Found {
            time: if is_at_zero { 0.0 } else { time },
            error: error.max(f64::EPSILON * time.abs()),
            place: view.place,
            level: stage.level,
            stage: stage.stage,
            rank_nearby: stage.rank,
            rank: stage.rank - self.n_dropped,
            order: k,
            radius: room.min(span * SHADOW * 0.1_f64.powi(3 - k.clamp(1, 3) as i32)),
        })
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

/// What the Taylor polynomials of degree `order` - 1, and their derivatives up to `n_rates`, leave out of E and A within
/// `reach`, relative to their sizes: (10a).
fn left_out(
    [e, b]: &[Mat; 2],
    scaling: &Scaling,
    reach: f64,
    order: usize,
    n_rates: usize,
    (size_e, size_b): (f64, f64),
) -> f64 {
    let binomial = (0..n_rates).fold(1.0, |c, i| c * (order - i) as f64 / (i + 1) as f64);
    let rates = (scaling.time / reach).max(1.0).powi(n_rates as i32);
    let factor = binomial * rates * reach.powi(order as i32);
    let norm = |m: &Mat| m.scaled(&scaling.rows, &scaling.columns, factor).norm();
    // A matrix without entries leaves nothing out.
    let part = |rest: f64, size: f64| if rest == 0.0 { 0.0 } else { rest / size };
    part(norm(e) / scaling.time, size_e).max(part(norm(b), size_b))
}

fn is_known(found: &[Found], new: &Found, span: f64) -> bool {
    found
        .iter()
        .any(|point| (point.time - new.time).abs() <= SMALLEST * span)
}

/// The point in whose shadow a cell lies that is open at a later stage.
fn shadowing(
    found: &mut [Found],
    place: Option<usize>,
    (l, r): (f64, f64),
    span: f64,
) -> Option<&mut Found> {
    found.iter_mut().find(|point| {
        let distance = (l - point.time).abs().max((r - point.time).abs());
        place.is_some_and(|place| place > point.place) && distance <= SHADOW * span
    })
}

/// Takes a zero at s of order k out of the coefficients of a logarithmic derivative.
fn deflate(slope: &mut [f64], s: f64, k: usize) {
    let mut term = k as f64;
    for p in slope {
        term /= s;
        *p += term;
        if p.abs() <= FAR_OFF * term.abs() {
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

/// How many zeros of a polynomial lie together near 0 (11).
///
/// From afar g'^2/(g'^2 - g g'') tells, exactly so for one multiple zero. At the zero itself g is noise; there the place of
/// the widest gap between the moduli |g_{q-1}/g_q| of its zeros tells, within the unit of time.
fn multiplicity(g: &[f64], noise: f64) -> usize {
    let most = MOST_ORDER.min(g.len() - 2);
    if let [g0, g1, g2, ..] = *g
        && g0.abs() > 1e4 * noise
    {
        let k = g1 * g1 / (g1 * g1 - 2.0 * g0 * g2);
        let is_whole = (k - k.round()).abs() <= 0.25 && k > 0.5;
        return if is_whole {
            (k.round() as usize).min(most)
        } else {
            1
        };
    }
    let size: Vec<f64> = g.iter().map(|g| g.abs().max(noise)).collect();
    let modulus = |q: usize| (size[q - 1] / size[q]).min(1.0);
    (1..=most)
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
