//! How smooth the prescribed motions of a model are, beside how often they are differentiated.
//!
//! An equation that holds the time and is differentiated c times leaves the c-th derivative of its path in the answer. Where
//! the path is pieced together (`if`, `abs`, `min`, `max`, `sign` of the time), the pieces must fit up to that order, or
//! the forces jump. Section 4 of `docs/theory/spectrum.md`.

use crate::equations::Equations;
use crate::prescribed::Prescribed;
use crate::structure::Structure;
use daelight_expr::{Jet, JetEvaluator};
use std::cmp::Ordering;
use std::sync::Arc;

/// Equally spaced times between which seams of a path are looked for.
const N_SAMPLES: usize = 512;
/// Where between two of them a sample lies: seams are often at simple fractions.
const OFFSET: f64 = 0.381_966;
/// Orders beyond those needed that are compared at a seam.
const EXTRA_ORDERS: usize = 4;
/// Pieces fit at an order if they differ by less than this part of the largest coefficient.
const FITS: f64 = 1e-9;

/// A prescribed motion of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// The equation that prescribes it.
    pub equation: usize,
    /// How often it is differentiated: the forces hold this derivative of the path.
    pub times_differentiated: usize,
    /// The seam where the pieces fit worst; `None` if none was found between the times looked at.
    pub seam: Option<Seam>,
}

impl Path {
    /// Whether the derivatives that are needed exist and are continuous.
    pub fn is_smooth_enough(&self) -> bool {
        self.seam
            .as_ref()
            .is_none_or(|seam| seam.n_continuous > self.times_differentiated)
    }
}

/// A time where a path goes from one formula to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seam {
    /// When.
    pub time: f64,
    /// How many derivatives are continuous there, the path itself counted as the first: 6 for five continuous derivatives,
    /// 0 for a jump.
    pub n_continuous: usize,
}

/// The prescribed motions of equations between two times.
///
/// `times` says how often each equation is differentiated; `values` are those of the unknowns, which are kept while the
/// time goes on, names of functions of time excepted.
pub fn paths(
    equations: &Equations,
    structure: &Structure,
    times: &[usize],
    parameters: &[f64],
    values: &[f64],
    (from, to): (f64, f64),
) -> Vec<Path> {
    let prescribed = Prescribed::new(equations, structure, times);
    let path = |&equation: &usize| Path {
        equation,
        times_differentiated: times[equation],
        seam: {
            let order = times[equation] + EXTRA_ORDERS;
            Scan::new(equations, &prescribed, equation, order, parameters, values)
                .worst_seam(from, to)
        },
    };
    prescribed.equations.iter().map(path).collect()
}

/// One equation along the time: root 0 of a jet, behind it residual and slope of each definition of a name.
struct Scan {
    jet: Jet,
    order: usize,
    names: Vec<usize>,
}

impl Scan {
    fn new(
        equations: &Equations,
        prescribed: &Prescribed,
        equation: usize,
        order: usize,
        parameters: &[f64],
        values: &[f64],
    ) -> Self {
        let mut roots = vec![equations.residuals()[equation]];
        let mut names = Vec::new();
        let matrix = equations.jacobian(0);
        for &(name, definition) in &prescribed.names {
            let mut entries = matrix.pattern.iter();
            let slope = entries.find(|&(i, j, _)| (i, j) == (definition, name));
            if let Some((_, _, at)) = slope {
                roots.extend([equations.residuals()[definition], matrix.entries[at]]);
                names.push(name);
            }
        }
        let mut jet = Jet::new(Arc::new(equations.compile(&roots)), order);
        let inputs = jet.inputs_mut();
        inputs.parameters_mut().copy_from_slice(parameters);
        inputs.row_mut(0).copy_from_slice(values);
        Self { jet, order, names }
    }

    /// Computes coefficient k, names of functions of time with it. False where there is none.
    fn extend(&mut self, k: usize) -> bool {
        if k > 0 {
            self.jet.inputs_mut().row_mut(k).fill(0.0);
        }
        // Definitions follow each other, so that each sweep settles one more of them.
        for _ in 0..=self.names.len() {
            if self.jet.extend(k as i32).is_err() {
                return false;
            }
            for (at, &name) in self.names.iter().enumerate() {
                let (residual, slope) =
                    (self.jet.root(1 + 2 * at, k), self.jet.root(2 + 2 * at, 0));
                let change = residual / slope;
                if change.is_finite() {
                    self.jet.inputs_mut().row_mut(k)[name] -= change;
                }
            }
        }
        self.jet.extend(k as i32).is_ok()
    }

    /// The seam with the fewest continuous derivatives, the earliest of these.
    fn worst_seam(&mut self, from: f64, to: f64) -> Option<Seam> {
        if self.jet.tape().branches().len() == 0 {
            return None;
        }
        let at = |k: usize| from + (to - from) * (k as f64 + OFFSET) / N_SAMPLES as f64;
        let mut worst: Option<Seam> = None;
        let (mut before, mut left) = (from, self.sides(from));
        for k in 0..N_SAMPLES {
            let (after, right) = (at(k), self.sides(at(k)));
            // At a seam itself a side is undecided; that of the start does no harm.
            if left != right && !left.contains(&Ordering::Equal) {
                let (time, right) = self.seam_between((before, &left), (after, right.clone()));
                let n_continuous = self.continuous_orders(time, to - from, &left, &right);
                let is_worse = worst.is_none_or(|seam| n_continuous < seam.n_continuous);
                if n_continuous <= self.order && is_worse {
                    worst = Some(Seam { time, n_continuous });
                }
            }
            (before, left) = (after, right);
        }
        worst
    }

    /// The sides of all branches at a time.
    fn sides(&mut self, time: f64) -> Vec<Ordering> {
        self.jet.branches_mut().hold(false);
        self.jet.inputs_mut().set_time(time);
        // Values that do not exist leave their sides undecided.
        self.extend(0);
        self.jet.branches().sides().to_vec()
    }

    /// Where the sides cease to be those on the left, and the sides behind.
    fn seam_between(
        &mut self,
        (mut low, left): (f64, &[Ordering]),
        (mut high, mut right): (f64, Vec<Ordering>),
    ) -> (f64, Vec<Ordering>) {
        loop {
            let middle = 0.5 * (low + high);
            if middle <= low || middle >= high {
                return (high, right);
            }
            let sides = self.sides(middle);
            if sides == left {
                low = middle;
            } else if sides.contains(&Ordering::Equal) {
                return (middle, right);
            } else {
                (high, right) = (middle, sides);
            }
        }
    }

    /// At how many orders from 0 the continuations from both sides agree; one more than there are if at all.
    fn continuous_orders(
        &mut self,
        time: f64,
        unit: f64,
        left: &[Ordering],
        right: &[Ordering],
    ) -> usize {
        let [a, b] = [left, right].map(|sides| self.continuation(time, sides));
        let mut power = 1.0;
        let mut sizes = Vec::with_capacity(a.len());
        let mut differences = Vec::with_capacity(a.len());
        for (a, b) in a.iter().zip(&b) {
            sizes.push(a.abs().max(b.abs()) * power);
            differences.push((a - b).abs() * power);
            power *= unit;
        }
        let largest = sizes.iter().copied().fold(0.0, f64::max);
        let apart = differences.iter().position(|size| *size > FITS * largest);
        // Where one of them has no value they do not fit.
        let missing = (sizes.len() <= self.order).then_some(sizes.len());
        apart.or(missing).unwrap_or(self.order + 1)
    }

    /// The series of the equation with the branches held, as far as it exists.
    fn continuation(&mut self, time: f64, sides: &[Ordering]) -> Vec<f64> {
        let branches = self.jet.branches_mut();
        for (branch, &side) in sides.iter().enumerate() {
            branches.choose(branch, side);
        }
        branches.hold(true);
        self.jet.inputs_mut().set_time(time);
        let mut series = Vec::with_capacity(self.order + 1);
        for k in 0..=self.order {
            if !self.extend(k) {
                break;
            }
            series.push(self.jet.root(0, k));
        }
        series
    }
}
