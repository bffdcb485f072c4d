//! Whether other solutions go through a singular point, (14) of `docs/theory/integration.md` and section 4 of `docs/theory/runs.md`.

use super::scaling::ScaledColumn;
use super::{Stages, evaluate_jacobian};
use crate::bordered::{ASIDE, Bordered, CURVED};
use crate::locate::{self, NODES, angle, chebyshev};
use crate::outcome::Nature;
use crate::tolerances::SMOOTH_TERMS;
use daelight_expr::JetEvaluator;
use daelight_linalg::Mat;

/// Up to this many unknowns solutions beside a singular point are looked for.
const MAX_SEARCHED: usize = 200;

/// Where solutions beside a singular point are counted: parts of its distance, to both sides.
const BESIDE: [f64; 5] = [0.5, 0.1, 0.03, 0.01, 1e-3];

/// Places along the kernel, each half as far as the one before; the last ninth of them are the nearest.
type Octaves = [f64; 36];

/// Intervals on which a solution may show that it is smooth, in parts of the distance.
const RADII: [f64; 3] = [0.1, 0.025, 0.006];

/// The bordered system of a singular point, and the units of its rows and columns.
struct Border {
    bordered: Bordered,
    sizes: Vec<f64>,
    weights: Vec<f64>,
    time: f64,
    point: Vec<f64>,
}

/// What is known of the solutions that go through a singular point, (R13).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Passage {
    /// One to each side, and both are one smooth function; or the equations leave a direction open at the point alone.
    Smooth,
    /// Some come to the point, and none goes on.
    Ends,
    /// More than one goes on, or comes together with one that does.
    Several,
    /// One to each side, which is not smooth there.
    Rough,
    /// The kernel has more dimensions, and nothing is counted.
    Wide,
    /// Rounding hides it.
    Undecided,
}

impl Passage {
    /// Whether nothing more is known nearer to the point.
    pub fn is_told(self) -> bool {
        self.nature() != Nature::Unresolved
    }

    /// What it makes of a zero that the series reach past.
    pub fn nature(self) -> Nature {
        match self {
            Self::Smooth => Nature::Removable,
            Self::Ends => Nature::Branch,
            Self::Several => Nature::Bifurcation,
            Self::Rough | Self::Wide | Self::Undecided => Nature::Unresolved,
        }
    }
}

impl Border {
    /// How far a point is from the singular one along the kernel, in units.
    fn distance(&self, kernel: &[f64], columns: &[ScaledColumn], point: &[f64]) -> f64 {
        let moved = columns.iter().zip(&self.sizes).zip(kernel);
        moved
            .map(|((column, size), v)| {
                v * (point[column.place] - self.point[column.place]) * column.factor / size
            })
            .sum()
    }
}

impl Stages<'_> {
    /// The solutions through the point, at which the system Jacobian is singular, (14) and (R13).
    ///
    /// `base` gives a point beside it at a distance in time, negative before it as the run goes. The entries last factored must be
    /// those of a regular point beside it: they give the sizes of the rows. `None` without an answer.
    pub fn passage(
        &mut self,
        distance: f64,
        falling: f64,
        base: impl Fn(f64, &mut Vec<f64>),
    ) -> Option<Passage> {
        let mut border = self.border(falling)?;
        let found = match self.is_isolated(&mut border) {
            Some(true) => {
                let found = self.count(&mut border, distance, &base);
                Some(found.unwrap_or(Passage::Undecided))
            }
            Some(false) => Some(Passage::Smooth),
            None => None,
        };
        self.set_point(border.time, &border.point);
        found
    }

    /// Whether the point is an isolated solution of stage 0, (14): then it is a multiple one. What is linear along the kernel is an
    /// error of the time.
    fn is_isolated(&mut self, border: &mut Border) -> Option<bool> {
        let (time, point) = (border.time, border.point.clone());
        let centre = self.multiplier(border, (time, &point), &vec![0.0; self.n])?;
        let mut answer = None;
        for z in border.bordered.displacements() {
            let mut at = |length: f64| {
                let z: Vec<f64> = z.iter().map(|z| length * z).collect();
                self.multiplier(border, (time, &point), &z)
            };
            let [Some(a), Some(b), Some(c), Some(d)] = [-2.0, -1.0, 1.0, 2.0].map(&mut at) else {
                continue;
            };
            let is_curved = centre.iter().enumerate().any(|(k, centre)| {
                let even = a[k] + d[k] - 2.0 * centre;
                let odd = d[k] - a[k] - 2.0 * (c[k] - b[k]);
                even.abs().max(odd.abs()) > CURVED
            });
            answer = Some(answer == Some(true) || is_curved);
        }
        answer
    }

    /// Counts the solutions on both sides of the point; `None` where that is not known.
    fn count(
        &mut self,
        border: &mut Border,
        distance: f64,
        base: &impl Fn(f64, &mut Vec<f64>),
    ) -> Option<Passage> {
        let Some(kernel) = border.bordered.kernel() else {
            return Some(Passage::Wide);
        };
        let (time, mut point) = (border.time, Vec::new());
        base(0.0, &mut point);
        let edges = self.edges(border, &kernel, (time, &point))?;
        let mut counts = [None; 2];
        for (count, side) in counts.iter_mut().zip([-1.0, 1.0]) {
            for part in BESIDE {
                let s = side * part * distance;
                base(s, &mut point);
                let at = (time + s, &point[..]);
                // Whether nothing has come in or gone out far from the point.
                let is_apart = self.edges(border, &kernel, at) == Some(edges);
                let n = is_apart
                    .then(|| self.n_roots(border, &kernel, at))
                    .flatten();
                // None far off and some close by, or the reverse: the time is off by as much.
                *count = match (*count, n) {
                    (Some(0), _) | (Some(_), Some(0)) => *count,
                    (_, n) => n.max(*count),
                };
            }
        }
        let [Some(before), Some(behind)] = counts else {
            return None;
        };
        Some(match (before, behind) {
            (0, _) => Passage::Undecided,
            (_, 0) => Passage::Ends,
            (1, 1) if self.is_smooth(border, &kernel, distance, base)? => Passage::Smooth,
            (1, 1) => Passage::Rough,
            _ => Passage::Several,
        })
    }

    /// The signs of the multiplier at the ends of the range that is looked at.
    fn edges(
        &mut self,
        border: &mut Border,
        kernel: &[f64],
        at: (f64, &[f64]),
    ) -> Option<[f64; 2]> {
        let [left, right] = [-ASIDE, ASIDE].map(|beta| self.along(border, kernel, at, beta));
        Some([left?.signum(), right?.signum()])
    }

    /// The multiplier at a place along the kernel.
    fn along(
        &mut self,
        border: &mut Border,
        kernel: &[f64],
        at: (f64, &[f64]),
        beta: f64,
    ) -> Option<f64> {
        let z: Vec<f64> = kernel.iter().map(|v| beta * v).collect();
        Some(self.multiplier(border, at, &z)?[0])
    }

    /// The number of zeros of the multiplier along the kernel, whose places are tried in octaves.
    fn n_roots(&mut self, border: &mut Border, kernel: &[f64], at: (f64, &[f64])) -> Option<usize> {
        let mut sides: [Octaves; 2] = [[0.0; 36]; 2];
        let n_nearest = sides[0].len() / 9;
        for (values, side) in sides.iter_mut().zip([-1.0, 1.0]) {
            let mut beta = side * ASIDE;
            for value in values.iter_mut() {
                *value = self.along(border, kernel, at, beta)?;
                beta *= 0.5;
            }
        }
        let nearest = sides
            .iter()
            .flat_map(|values| &values[values.len() - n_nearest..]);
        let (least, greatest) = nearest.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), &x| {
            (a.min(x), b.max(x))
        });
        // What the nearest places differ by is rounding, or too little to be told from it.
        let noise = 4.0 * (greatest - least);
        let far = sides.iter().flat_map(|values| &values[..n_nearest]);
        if far.clone().any(|x| x.abs() <= noise) {
            return None;
        }
        let [left, right] = sides;
        let all = left.into_iter().chain(right.into_iter().rev());
        let (mut count, mut last, mut skipped) = (0, 0.0, false);
        for x in all {
            if x.abs() <= noise {
                skipped = true;
                continue;
            }
            let changes = x * last < 0.0;
            if skipped && !changes {
                return None;
            }
            count += usize::from(changes);
            (last, skipped) = (x, false);
        }
        Some(count)
    }

    /// Whether the one solution to both sides is smooth: the last terms of its interpolant around the point are small.
    fn is_smooth(
        &mut self,
        border: &mut Border,
        kernel: &[f64],
        distance: f64,
        base: &impl Fn(f64, &mut Vec<f64>),
    ) -> Option<bool> {
        let mut point = Vec::new();
        if !self.is_least_between(border, kernel, RADII[0] * distance, base)? {
            return None;
        }
        for part in RADII {
            let radius = part * distance;
            // The distance in time is known to its rounding only.
            if f64::EPSILON * border.time.abs() > SMOOTH_TERMS * radius.abs() {
                return None;
            }
            let mut values = [0.0; NODES];
            for (k, value) in values.iter_mut().enumerate() {
                let s = radius * angle(k).cos();
                base(s, &mut point);
                let at = (border.time + s, &point[..]);
                *value = self.root(border, kernel, at)?
                    + border.distance(kernel, &self.scalings.last()?.columns, &point);
            }
            let terms = chebyshev(&values);
            let greatest = |terms: &[f64]| terms.iter().map(|x| x.abs()).fold(0.0, f64::max);
            let rounding = NODES as f64 * f64::EPSILON;
            if greatest(&terms[NODES - 2..]) <= SMOOTH_TERMS * greatest(&terms[1..]) + rounding {
                return Some(true);
            }
        }
        Some(false)
    }

    /// Whether the multiplier has less of a slope at the point than at a distance to both sides: otherwise the point is elsewhere.
    fn is_least_between(
        &mut self,
        border: &mut Border,
        kernel: &[f64],
        radius: f64,
        base: &impl Fn(f64, &mut Vec<f64>),
    ) -> Option<bool> {
        let places = [-radius, 0.0, radius];
        let mut points = [(); 3].map(|()| Vec::new());
        let (mut roots, mut moved) = ([0.0; 3], [0.0; 3]);
        for (k, s) in places.into_iter().enumerate() {
            base(s, &mut points[k]);
            roots[k] = self.root(border, kernel, (border.time + s, &points[k]))?;
            let columns = &self.scalings.last()?.columns;
            moved[k] = roots[k] + border.distance(kernel, columns, &points[k]);
        }
        let aside = (moved[2] - moved[0]).abs().max((moved[1] - moved[0]).abs());
        let aside = (SMOOTH_TERMS.sqrt() * aside).max(ASIDE * f64::EPSILON.sqrt());
        let mut slopes = [0.0; 3];
        for (k, s) in places.into_iter().enumerate() {
            let at = (border.time + s, &points[k][..]);
            let mut value = |beta: f64| self.along(border, kernel, at, roots[k] + beta);
            slopes[k] = (value(aside)? - value(-aside)?).abs();
        }
        Some(slopes[1] <= 0.5 * slopes[0].min(slopes[2]))
    }

    /// The only zero of the multiplier along the kernel.
    fn root(&mut self, border: &mut Border, kernel: &[f64], at: (f64, &[f64])) -> Option<f64> {
        let mut beta = ASIDE * f64::EPSILON.powf(0.75);
        while beta < 2.0 * ASIDE {
            let [left, right] = [-beta, beta].map(|beta| self.along(border, kernel, at, beta));
            let (left, right) = (left?, right?);
            if left * right <= 0.0 {
                let value = |beta: f64| self.along(border, kernel, at, beta).unwrap_or(f64::NAN);
                return Some(locate::zero(-beta, beta, left, right, value));
            }
            beta *= 4.0;
        }
        None
    }

    /// Borders the system Jacobian at the point.
    fn border(&mut self, falling: f64) -> Option<Border> {
        let n = self.n;
        if n == 0 || n > MAX_SEARCHED {
            return None;
        }
        let time = self.jet.inputs().time();
        let n_coefficients = (self.problem.max_unknown_offset() + 1) * n;
        let point = self.jet.inputs().rows()[..n_coefficients].to_vec();
        let columns = &self.scalings.last()?.columns;
        let sizes: Vec<f64> = columns
            .iter()
            .map(|column| column.nominal + column.factor * point[column.place].abs())
            .collect();
        let mut regular = self.scaled_matrix(&self.entries, &sizes);
        let weights: Vec<f64> = (0..n)
            .map(|i| 1.0 / (0..n).map(|j| regular[(i, j)].abs()).fold(0.0, f64::max))
            .collect();
        evaluate_jacobian(&mut self.jacobian, time, |order| {
            self.jet.inputs().row(order)
        })
        .ok()?;
        let mut matrix = self.scaled_matrix(&self.entries(), &sizes);
        for (i, weight) in weights.iter().enumerate() {
            for j in 0..n {
                matrix[(i, j)] *= weight;
                regular[(i, j)] *= weight;
            }
        }
        Some(Border {
            bordered: Bordered::new(&matrix, &regular, falling)?,
            sizes,
            weights,
            time,
            point,
        })
    }

    /// The multiplier for a displacement z of the top coefficients from a point at a time.
    fn multiplier(
        &mut self,
        border: &mut Border,
        (time, point): (f64, &[f64]),
        z: &[f64],
    ) -> Option<Vec<f64>> {
        let mut moved = point.to_vec();
        let (sizes, weights) = (&border.sizes, &border.weights);
        border.bordered.multiplier(z, |z, into| {
            let last = self.scalings.last()?;
            for ((column, z), size) in last.columns.iter().zip(z).zip(sizes) {
                moved[column.place] = point[column.place] + z * size / column.factor;
            }
            self.set_point(time, &moved);
            for scaling in &self.scalings {
                self.jet.extend(scaling.stage).ok()?;
            }
            self.jet.stage_roots(0, into);
            let rows = &self.scalings.last()?.rows;
            for ((place, row), weight) in into.iter_mut().zip(rows).zip(weights) {
                *place *= row.factor * weight;
            }
            Some(())
        })
    }

    /// The system Jacobian with its columns in units.
    fn scaled_matrix(&self, entries: &[f64], sizes: &[f64]) -> Mat {
        let mut matrix = Mat::zeros(self.n, self.n);
        for (i, row) in self.rows.iter().enumerate() {
            for (&j, entry) in row.unknowns.iter().zip(&entries[row.first..]) {
                matrix[(i, j as usize)] = entry * sizes[j as usize];
            }
        }
        matrix
    }
}
