//! Order and step of a series, and what its coefficients tell of the nearest singularity.

use crate::options::Tolerances;
use crate::outcome::RatioFit;
use crate::problem::Problem;
use crate::stiffness::{factorial_root, is_bound, is_readable};
use crate::tolerances::CONFIRM_LEAST;

/// Algebraic unknowns are not carried on, so ten times the tolerance serves them; with it the dense output of the
/// forces of the squeezer stays within the tolerance.
pub(crate) const ALGEBRAIC: f64 = 0.1;

/// No step is chosen for a coarser tolerance: it would hardly be longer, and errors add up.
const COARSEST: f64 = 1e-4;

/// A step this many times longer than earlier coefficients suggest means that the last two vanish by chance.
const LACUNARY: f64 = 3.0;

/// Tolerance at which a series is asked whether it reaches past a point; tighter ones would measure rounding.
const REACH: f64 = 1e-8;

/// The order of the highest series for a tolerance, (8).
///
/// Jorba and Zou (2005) have ceil(1 - ln(tol)/2); here a step has fixed costs (Jacobian, projection), which five more
/// orders share. Measured on pendulum and squeezer.
pub(crate) fn order(rtol: f64) -> usize {
    let jorba_zou = (1.0 - 0.5 * rtol.ln()).ceil().max(1.0) as usize;
    (jorba_zou + 5).clamp(12, 40)
}

/// What the last coefficients allow.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct StepSize {
    /// The step at the tolerance, (9).
    pub step: f64,
    /// How far the values alone are good to the tolerance, or to [`REACH`]: whether a series reaches past a point.
    pub reach: f64,
}

/// A tolerance, and what follows from it alone.
pub(crate) struct Tolerance {
    pub log: f64,
    /// [`LACUNARY`] times what a step leaves of a coefficient, by offset: tol^(1/top).
    pub usual: Vec<f64>,
}

impl Tolerance {
    fn new(tolerance: f64, n_stages: usize, max_d: usize) -> Self {
        let log = tolerance.ln();
        let usual = |d: usize| LACUNARY * (log / (n_stages + d) as f64).exp();
        Self {
            log,
            usual: (0..=max_d).map(usual).collect(),
        }
    }
}

/// Finds the step from the last two coefficients of every unknown, (9), unless both vanish by chance.
pub(crate) struct StepRule {
    pub n: usize,
    pub n_stages: usize,
    rtol: f64,
    /// The tolerance of steps, and that of what a series reaches.
    pub steps: Tolerance,
    pub reaches: Tolerance,
    /// The tolerance of states that are carried over a singular point, near which no point is better than that.
    carried: Tolerance,
    pub offsets: Vec<usize>,
    /// The highest derivative of each unknown that a determinant or an argument reads.
    pub reads: Vec<usize>,
    /// Sizes below which x_j^(s) counts as small, `[s][j]`.
    pub nominal: Vec<Vec<f64>>,
    /// m!/(m - s)!, `[s][m]`.
    pub falling: Vec<Vec<f64>>,
    /// The greatest weighted coefficient for each exponent, and that of the values alone.
    worst: Vec<f64>,
    worst_value: Vec<f64>,
    /// (K!)^(1/K) of the last orders K, by offset.
    pub roots: Vec<f64>,
    /// What steps and reaches make of terms, by offset.
    ratios: Vec<[Ratio; 2]>,
}

/// A step over what a step usually is, and its power for the first term looked at.
#[derive(Clone, Copy, Default)]
struct Ratio {
    each: f64,
    first: f64,
}

impl StepRule {
    pub fn new(problem: &Problem, n_stages: usize, tolerances: &Tolerances) -> Self {
        let max_d = problem.max_unknown_offset();
        let n = problem.n();
        let rtol = tolerances.rtol.min(COARSEST);
        let nominal = |s: usize| -> Vec<f64> {
            (0..n)
                .map(|j| tolerances.absolute(s, j) / tolerances.rtol)
                .collect()
        };
        let falling = |s: usize| -> Vec<f64> {
            (0..=n_stages + max_d)
                .map(|m| (m.saturating_sub(s) + 1..=m).map(|f| f as f64).product())
                .collect()
        };
        Self {
            n,
            n_stages,
            rtol,
            reads: problem.highest_read(),
            steps: Tolerance::new(rtol, n_stages, max_d),
            reaches: Tolerance::new(rtol.max(REACH), n_stages, max_d),
            carried: Tolerance::new(rtol.max(CONFIRM_LEAST), n_stages, max_d),
            offsets: (0..n).map(|j| problem.unknown_offset(j)).collect(),
            nominal: (0..=max_d).map(nominal).collect(),
            falling: (0..=max_d).map(falling).collect(),
            worst: vec![0.0; n_stages + max_d + 1],
            worst_value: vec![0.0; n_stages + max_d + 1],
            roots: (0..=max_d).map(|d| factorial_root(n_stages + d)).collect(),
            ratios: vec![Default::default(); max_d + 1],
        }
    }

    /// The size of x_j^(s) at the expansion point.
    fn size(&self, series: &[f64], s: usize, j: usize) -> f64 {
        self.falling[s][s] * series[s * self.n + j].abs() + self.nominal[s][j]
    }

    /// The step that a series allows; infinite for a polynomial.
    pub fn step(&mut self, series: &[f64]) -> StepSize {
        self.step_with(series, false)
    }

    /// The step that the series of the states alone allow: what is carried on.
    pub fn step_of_states(&mut self, series: &[f64]) -> f64 {
        self.step_with(series, true).step
    }

    /// The step that all unknowns allow, or the states that are carried over a singular point.
    fn step_with(&mut self, series: &[f64], of_states: bool) -> StepSize {
        self.worst.fill(0.0);
        self.worst_value.fill(0.0);
        for j in 0..self.n {
            let d = self.offsets[j];
            if of_states && d == 0 {
                continue;
            }
            let top = self.n_stages + d;
            let coefficients = [
                (top, series[top * self.n + j].abs()),
                (top - 1, series[(top - 1) * self.n + j].abs()),
            ];
            if coefficients[0].1 == 0.0 && coefficients[1].1 == 0.0 {
                continue;
            }
            for s in 0..d.max(1) {
                let weight = if d == 0 { ALGEBRAIC } else { 1.0 } / self.size(series, s, j);
                for (m, x) in coefficients {
                    let size = x * self.falling[s][m] * weight;
                    self.worst[m - s] = self.worst[m - s].max(size);
                    if s == 0 {
                        self.worst_value[m] = self.worst_value[m].max(size);
                    }
                }
            }
        }
        // The least exponent is that of the last coefficient but one of an algebraic unknown.
        let first = self.n_stages - 1;
        let at = |worst: &[f64], tolerance: &Tolerance| {
            let least = (first..)
                .zip(&worst[first..])
                .filter(|&(_, &size)| size > 0.0)
                .map(|(exponent, size)| (tolerance.log - size.ln()) / exponent as f64)
                .fold(f64::INFINITY, f64::min);
            self.of_logarithm(least)
        };
        let step = at(&self.worst, self.tolerance(of_states));
        let reach = at(&self.worst_value, &self.reaches);
        let [step, reach] = self.without_gap(series, of_states, [step, reach]);
        StepSize {
            step,
            reach: reach.max(step),
        }
    }

    fn tolerance(&self, of_states: bool) -> &Tolerance {
        match of_states {
            true => &self.carried,
            false => &self.steps,
        }
    }

    /// The step from the least logarithm of what the last coefficients allow.
    #[inline(always)]
    pub fn of_logarithm(&self, least: f64) -> f64 {
        (least - 0.7 / self.n_stages as f64).exp()
    }

    /// How many coefficients of an unknown are needed over a step of length h: what the others add to its value, or to a derivative
    /// that is a state or follows from them, is unnoticeable beside a tenth of the tolerance; all of it together is below a hundredth.
    pub fn n_needed(&self, series: &[f64], h: f64, unknown: usize) -> usize {
        let h = h.abs();
        let adds = |m: usize| {
            let x = series[m * self.n + unknown].abs();
            (0..=self.offsets[unknown].min(m)).any(|s| {
                let size = self.size(series, s, unknown);
                let term = x * self.falling[s][m] * h.powi((m - s) as i32);
                // A size that is no number keeps everything.
                term > NOTICEABLE * ALGEBRAIC * self.rtol * size || size.is_nan()
            })
        };
        let top = self.n_stages + self.offsets[unknown];
        let last = (0..=top).rev().find(|&m| adds(m));
        last.map_or(0, |m| m + 1)
    }

    /// How far the derivatives that a quantity reads are good, as `reach` is for the values: whether they go on smoothly past a
    /// point, (R19).
    pub fn reach_of(&self, series: &[f64], reads: &[usize]) -> f64 {
        let mut least = f64::INFINITY;
        for (j, &s) in reads.iter().enumerate().filter(|(_, s)| **s > 0) {
            let top = self.n_stages + self.offsets[j];
            let size = self.size(series, s, j);
            for m in [top - 1, top] {
                let term = series[m * self.n + j].abs() * self.falling[s][m] / size;
                if term > 0.0 {
                    let log = self.reaches.log - term.ln();
                    least = least.min((log / (m - s) as f64).exp());
                }
            }
        }
        least
    }

    /// The offset d_j of an unknown.
    pub fn offset(&self, unknown: usize) -> usize {
        self.offsets[unknown]
    }

    /// Whether the mode of the unknown that bounds a step of length h decays and is what bounds it.
    pub fn is_stiff(&self, series: &[f64], h: f64) -> bool {
        let last = |j: usize| {
            let top = self.n_stages + self.offsets[j];
            let size = self.size(series, 0, j);
            let term = |m: usize| (series[m * self.n + j] * h.powi(m as i32)).abs() / size;
            term(top).max(term(top - 1))
        };
        let readable = (0..self.n).filter(|&j| is_readable(self.n_stages + self.offsets[j]));
        let terms = readable.map(|j| (j, last(j)));
        let bounding = terms.max_by(|(_, a), (_, b)| a.total_cmp(b));
        bounding.is_some_and(|(j, _)| self.is_bound_by(j, |m| series[m * self.n + j], h))
    }

    /// The same for an unknown that bounds a step, with its coefficients.
    pub fn is_bound_by(&self, unknown: usize, coefficient: impl Fn(usize) -> f64, h: f64) -> bool {
        let d = self.offsets[unknown];
        is_bound((self.n_stages + d, self.roots[d]), coefficient, h)
    }

    /// Whether a derivative of an unknown occurs.
    pub fn is_differentiated(&self, unknown: usize) -> bool {
        self.offsets[unknown] > 0
    }

    /// A step that earlier coefficients allow too.
    ///
    /// Series such as that of sin t + cos t - exp(-t) have gaps, and the last two coefficients may lie in one: they then
    /// say nothing. Terms of the upper half that are far above what such a step leaves of them, tol^(m/top), show it.
    fn without_gap(&mut self, series: &[f64], of_states: bool, steps: [f64; 2]) -> [f64; 2] {
        let step = match of_states {
            true => &self.carried,
            false => &self.steps,
        };
        let tolerances = [step, &self.reaches];
        // A polynomial allows any step; then whatever there is of the upper half counts.
        let tried = steps.map(|step| step.min(1e300));
        for (d, ratios) in self.ratios.iter_mut().enumerate() {
            let first = (self.n_stages + d) / 2;
            for ((ratio, tolerance), step) in ratios.iter_mut().zip(tolerances).zip(tried) {
                ratio.each = step / tolerance.usual[d];
                ratio.first = ratio.each.powi(first as i32);
            }
        }
        let mut least = steps;
        for j in 0..self.n {
            let d = self.offsets[j];
            if of_states && d == 0 {
                continue;
            }
            let top = self.n_stages + d;
            let weight = if d == 0 { ALGEBRAIC } else { 1.0 } / self.size(series, 0, j);
            let ratios = &self.ratios[d];
            let mut powers = [0, 1].map(|which| ratios[which].first);
            for m in top / 2..top - 1 {
                let size = series[m * self.n + j].abs() * weight;
                for which in 0..2 {
                    if size > 0.0 && size * powers[which] > 1.0 {
                        let log = tolerances[which].log - size.ln();
                        least[which] = least[which].min((log / m as f64).exp());
                    }
                    powers[which] *= ratios[which].each;
                }
            }
        }
        least
    }

    /// Unknowns whose last coefficients look like (rho - s)^alpha with rho ahead in this direction, (12).
    pub fn fits(&self, series: &[f64], direction: f64, into: &mut Vec<RatioFit>) {
        self.fits_above(NOTICEABLE, true, series, direction, into);
    }

    /// Whether some unknown has a faint part like (rho - s)^alpha with alpha > 0 and rho at a distance: a branch point, though
    /// nearly smooth. Rounding looks like poles there, which do not count.
    pub fn has_faint_branch(
        &self,
        series: &[f64],
        distance: f64,
        into: &mut Vec<RatioFit>,
    ) -> bool {
        self.fits_above(FAINT, false, series, distance, into);
        let is_there = |fit: &RatioFit| (fit.distance / distance - 1.0).abs() < AGREEMENT;
        into.iter().any(|fit| is_there(fit) && fit.exponent > 0.0)
    }

    /// Fits whose singular part is above a share of what the unknown does, or of what the derivative that is `read` does, (R19).
    fn fits_above(
        &self,
        share: f64,
        read: bool,
        series: &[f64],
        direction: f64,
        into: &mut Vec<RatioFit>,
    ) {
        into.clear();
        for j in 0..self.n {
            let s = if read { self.reads[j] } else { 0 };
            let top = self.n_stages + self.offsets[j] - s;
            let x = |m: usize| self.falling[s][m + s] * series[(m + s) * self.n + j];
            if top < 4 || (0..4).any(|back| x(top - back) == 0.0) {
                continue;
            }
            let ratio = |m: usize| x(m) / x(m - 1);
            let inverse = |m: usize| m as f64 * ratio(m) - (m - 1) as f64 * ratio(m - 1);
            let (rho, before) = (1.0 / inverse(top), 1.0 / inverse(top - 1));
            let agree = (rho / before - 1.0).abs() < AGREEMENT;
            if !agree || rho * direction <= 0.0 {
                continue;
            }
            // The singular part must be a noticeable part of what the unknown does within that distance; its value at the
            // expansion point is no part of that.
            let term = |m: usize| x(m).abs() * rho.abs().powi(m as i32);
            let size = (1..4).map(term).fold(0.0, f64::max);
            if term(top) <= share * size {
                continue;
            }
            let m = top as f64;
            let exponent = s as f64 - (m * (ratio(top) * rho - 1.0) + 1.0);
            // What rounding leaves of an unknown that is zero looks like a pole.
            if exponent < 0.0 && term(top) <= FAINT * self.size(series, s, j) {
                continue;
            }
            into.push(RatioFit {
                unknown: j,
                distance: rho,
                exponent,
            });
        }
    }
}

/// Two estimates of a distance agree within this; tuned on the arm's singular points, where true ones agree to 1e-3.
pub(crate) const AGREEMENT: f64 = 0.02;

/// A singular part below this share of an unknown is not believed.
const NOTICEABLE: f64 = 1e-3;

/// A part below this share may be rounding.
const FAINT: f64 = 1e-9;
