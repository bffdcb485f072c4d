//! Fewer equations than variables: real zeros that are proved to be part of a manifold of them; section 7 of
//! `docs/theory/real-points.md`.

use super::enclosure::Enclosure;
use super::krawczyk::{Square, inverted};
use super::points::evaluate;
use crate::groebner::Budget;
use crate::random::Random;
use crate::{IBig, Polynomial, RBig, integer};
use std::cmp::Ordering;

/// Most variables: the test grows with their third power.
const MOST_VARIABLES: usize = 80;

/// Most starts of Newton's method.
const MOST_STARTS: u64 = 40;

/// Most steps from one start.
const MOST_STEPS: usize = 40;

/// The longest step.
const LONGEST: f64 = 0.5;

/// The length of a step after which the next one is no longer seen in doubles.
const SHORTEST: f64 = 1e-9;

/// Free variables take multiples of 2 to minus this power.
const FREE_BITS: usize = 20;

/// Least size of a pivot, for equations that are scaled to 1 and variables of about that size.
const LEAST_PIVOT: f64 = 1e-4;

/// A real zero next to which some variables can be chosen freely and determine the others.
#[derive(Clone, Debug)]
pub struct Manifold {
    /// The variables that can be chosen: as many as its dimension.
    pub free: Vec<usize>,
    /// Enclosures of all variables at one of its points, in the order of the question.
    pub point: Vec<Enclosure>,
}

/// Looks for a manifold of real zeros of equations, fewer than variables. Variables at places where `may_be_free` says no
/// are among those that the others determine, and `is_wanted` may refuse points. What is found is proved by Krawczyk's
/// test; `None` proves nothing.
///
/// ```
/// use daelight_algebra::{Budget, Polynomial, real::real_manifold};
///
/// let [x, y] = [0, 1].map(Polynomial::variable);
/// let circle = &(&(&x * &x) + &(&y * &y)) - &Polynomial::constant(2);
/// let find = |p| real_manifold(&[p], &[0, 1], &[true, true], &|_| true, &Budget::default());
/// assert_eq!(find(circle).expect("a curve").free.len(), 1);
/// let nothing = &(&(&x * &x) + &(&y * &y)) + &Polynomial::constant(2);
/// assert!(find(nothing).is_none());
/// ```
pub fn real_manifold(
    equations: &[Polynomial],
    variables: &[usize],
    may_be_free: &[bool],
    is_wanted: &dyn Fn(&Manifold) -> bool,
    budget: &Budget,
) -> Option<Manifold> {
    let dimension = variables.len().checked_sub(equations.len())?;
    let n_may = may_be_free.iter().filter(|may| **may).count();
    if dimension == 0 || n_may < dimension || variables.len() > MOST_VARIABLES {
        return None;
    }
    let system = System::new(equations, variables);
    (0..MOST_STARTS).find_map(|seed| {
        let mut random = Random::new(seed + 1);
        let start = variables
            .iter()
            .map(|_| random.within(1000) as f64 / 1000.0);
        let near = system.newton(start.collect(), &[], budget)?;
        let free = system.free(&near, may_be_free)?;
        let mut rounded = near;
        for &place in &free {
            let unit = 2f64.powi(FREE_BITS as i32);
            rounded[place] = (rounded[place] * unit).round() / unit;
        }
        let point = system.newton(rounded, &free, budget)?;
        let point = system.proved(&point, &free)?;
        let found = Manifold {
            free: free.into_iter().map(|place| variables[place]).collect(),
            point,
        };
        is_wanted(&found).then_some(found)
    })
}

impl Manifold {
    /// The sign of a polynomial in the variables of the question, if it is certain.
    pub fn sign(&self, polynomial: &Polynomial, variables: &[usize]) -> Option<Ordering> {
        evaluate(polynomial, variables, &self.point).sign()
    }
}

/// Equations with their derivatives, all divided by the sizes of the equations.
struct System<'a> {
    equations: &'a [Polynomial],
    variables: &'a [usize],
    /// For each equation the places of its variables with the derivatives by them.
    derivatives: Vec<Vec<(usize, Polynomial)>>,
    scales: Vec<f64>,
}

impl<'a> System<'a> {
    fn new(equations: &'a [Polynomial], variables: &'a [usize]) -> Self {
        let derivatives = |p: &Polynomial| {
            let all = variables.iter().map(|&v| p.derivative(v)).enumerate();
            all.filter(|(_, d)| !d.is_zero()).collect()
        };
        Self {
            derivatives: equations.iter().map(derivatives).collect(),
            scales: (equations.iter())
                .map(|p| 1.0 / integer::to_f64(&p.height()))
                .collect(),
            equations,
            variables,
        }
    }

    /// The values of the variables by their numbers.
    fn by_number(&self, at: &[f64]) -> Vec<f64> {
        let n = self.variables.iter().max().map_or(0, |last| last + 1);
        let mut values = vec![f64::NAN; n];
        for (&variable, &value) in self.variables.iter().zip(at) {
            values[variable] = value;
        }
        values
    }

    fn residuals(&self, at: &[f64]) -> Vec<f64> {
        let values = self.by_number(at);
        let rows = self.equations.iter().zip(&self.scales);
        rows.map(|(p, scale)| scale * p.evaluate_f64(|v| number(&values, v)))
            .collect()
    }

    fn jacobian(&self, at: &[f64]) -> Vec<Vec<f64>> {
        let values = self.by_number(at);
        let rows = self.derivatives.iter().zip(&self.scales);
        rows.map(|(entries, scale)| {
            let mut row = vec![0.0; self.variables.len()];
            for (place, d) in entries {
                row[*place] = scale * d.evaluate_f64(|v| number(&values, v));
            }
            row
        })
        .collect()
    }

    /// Newton's method with shortest steps, in which some variables keep their values; `None` if it does not converge.
    fn newton(&self, mut at: Vec<f64>, kept: &[usize], budget: &Budget) -> Option<Vec<f64>> {
        for _ in 0..MOST_STEPS {
            budget.check_time().ok()?;
            let mut jacobian = self.jacobian(&at);
            for row in &mut jacobian {
                kept.iter().for_each(|&place| row[place] = 0.0);
            }
            let values = self.residuals(&at);
            let dot = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(x, y)| x * y).sum() };
            let products = jacobian.iter();
            let products = products.map(|a| jacobian.iter().map(|b| dot(a, b)).collect());
            let weights: Vec<f64> = (inverted(products.collect())?.iter())
                .map(|row| dot(row, &values))
                .collect();
            let mut step = vec![0.0; at.len()];
            for (row, weight) in jacobian.iter().zip(&weights) {
                for (entry, value) in step.iter_mut().zip(row) {
                    *entry -= weight * value;
                }
            }
            let length = dot(&step, &step).sqrt();
            if !length.is_finite() {
                return None;
            }
            let share = (LONGEST / length).min(1.0);
            for (x, entry) in at.iter_mut().zip(&step) {
                *x += share * entry;
            }
            if length < SHORTEST {
                return Some(at);
            }
        }
        None
    }

    /// The places of variables that can be chosen: those left over when the equations are solved for the others by
    /// elimination with complete pivoting, for variables that may not be free first.
    fn free(&self, at: &[f64], may_be_free: &[bool]) -> Option<Vec<usize>> {
        let mut rows = self.jacobian(at);
        let n = self.variables.len();
        let mut solved: Vec<usize> = Vec::new();
        let n_first = may_be_free.iter().filter(|may| !**may).count();
        while !rows.is_empty() {
            let is_first = solved.len() < n_first;
            let places = (0..rows.len()).flat_map(|row| (0..n).map(move |place| (row, place)));
            let (row, place) = places
                .filter(|(_, place)| !solved.contains(place) && may_be_free[*place] != is_first)
                .max_by(|a, b| rows[a.0][a.1].abs().total_cmp(&rows[b.0][b.1].abs()))?;
            let top = rows.swap_remove(row);
            if top[place].abs() < LEAST_PIVOT {
                return None;
            }
            for entries in &mut rows {
                let factor = entries[place] / top[place];
                for (entry, above) in entries.iter_mut().zip(&top) {
                    *entry -= factor * above;
                }
            }
            solved.push(place);
        }
        Some((0..n).filter(|place| !solved.contains(place)).collect())
    }

    /// Enclosures of the only zero close to a point that has its values of the free variables.
    fn proved(&self, at: &[f64], free: &[usize]) -> Option<Vec<Enclosure>> {
        let mut equations = self.equations.to_vec();
        for &place in free {
            let value = RBig::try_from(at[place]).ok()?;
            let variable = Polynomial::variable(self.variables[place]);
            let below = IBig::from(value.denominator().clone());
            let above = Polynomial::constant(value.numerator().clone());
            equations.push(&variable.scaled(&below) - &above);
        }
        let equations: Vec<&Polynomial> = equations.iter().collect();
        Square::box_with_zero(&equations, self.variables, at)
    }
}

/// The value of a variable; none that is a number if it has none.
fn number(values: &[f64], variable: usize) -> f64 {
    values.get(variable).copied().unwrap_or(f64::NAN)
}
