//! Krawczyk's test: a box holds exactly one zero of a square system; section 7 of `docs/theory/real-points.md`.

use super::enclosure::Enclosure;
use super::points::{RealPoint, evaluate};
use crate::groebner::{Budget, OutOfBudget};
use crate::{Polynomial, RBig, integer};

/// Bits of the enclosures.
const BITS: usize = 160;

/// Bits of the half widths that are tried, widest first.
const HALF_WIDTHS: [usize; 8] = [3, 5, 8, 12, 17, 24, 34, 48];

impl RealPoint {
    /// A half width of a box around the point in which equations that it satisfies have no other real zero, by Krawczyk's
    /// test; `None` if their Jacobian has no full rank there, or no width that is tried is small enough.
    pub fn isolation(
        &mut self,
        equations: &[Polynomial],
        budget: &Budget,
    ) -> Result<Option<f64>, OutOfBudget> {
        let variables = self.variables().to_vec();
        let known = |p: &&Polynomial| p.variables().iter().all(|v| variables.contains(v));
        let equations: Vec<&Polynomial> = equations.iter().filter(known).collect();
        let center: Vec<Enclosure> = (self.coordinates(BITS / 2, budget)?.iter())
            .map(|x| x.with_bits(BITS).at_middle())
            .collect();
        let Some(system) = Square::new(&equations, &variables, &center) else {
            return Ok(None);
        };
        for bits in HALF_WIDTHS {
            budget.check_time()?;
            if system.has_one_zero(&variables, &center, bits) {
                return Ok(Some(0.5_f64.powi(bits as i32)));
            }
        }
        Ok(None)
    }
}

/// As many equations as variables whose Jacobian is far from singular at a point, scaled to similar size.
pub(super) struct Square<'a> {
    equations: Vec<&'a Polynomial>,
    /// Each equation is divided by 2 to this power.
    shifts: Vec<usize>,
    derivatives: Vec<Vec<Polynomial>>,
    /// An approximate inverse of the Jacobian at the point.
    inverse: Vec<Vec<Enclosure>>,
}

impl<'a> Square<'a> {
    /// The smallest box around a point, among those that are tried, that holds exactly one zero of as many equations as
    /// variables.
    pub(super) fn box_with_zero(
        equations: &[&'a Polynomial],
        variables: &[usize],
        point: &[f64],
    ) -> Option<Vec<Enclosure>> {
        if equations.len() != variables.len() {
            return None;
        }
        let exact = |x: &f64| Some(Enclosure::rational(&RBig::try_from(*x).ok()?, BITS));
        let center: Vec<Enclosure> = point.iter().map(exact).collect::<Option<_>>()?;
        let system = Self::new(equations, variables, &center)?;
        let passes = |bits: &&usize| system.has_one_zero(variables, &center, **bits);
        let bits = *HALF_WIDTHS.iter().rev().find(passes)?;
        Some(center.iter().map(|y| y.around_middle(bits)).collect())
    }

    fn new(
        equations: &[&'a Polynomial],
        variables: &[usize],
        center: &[Enclosure],
    ) -> Option<Self> {
        let n = variables.len();
        let shift = |p: &Polynomial| integer::bit_length(&p.height());
        let gradient = |p: &Polynomial| -> Vec<Polynomial> {
            variables.iter().map(|&v| p.derivative(v)).collect()
        };
        let value = |p: &Polynomial, shift: usize| {
            evaluate(p, variables, center).shifted_down(shift).middle()
        };
        let mut open: Vec<(&'a Polynomial, Vec<f64>)> = (equations.iter())
            .map(|p| {
                let row = gradient(p).iter().map(|d| value(d, shift(p))).collect();
                (*p, row)
            })
            .collect();
        // Rows by elimination with complete pivoting.
        let mut chosen: Vec<&'a Polynomial> = Vec::new();
        let mut used: Vec<usize> = Vec::new();
        for _ in 0..n {
            let places = (0..open.len()).flat_map(|row| (0..n).map(move |column| (row, column)));
            let (row, column) = places
                .filter(|(_, column)| !used.contains(column))
                .max_by(|a, b| open[a.0].1[a.1].abs().total_cmp(&open[b.0].1[b.1].abs()))?;
            let (equation, top) = open.swap_remove(row);
            // Below half of the digits a pivot may be what was left of larger numbers.
            if top[column].abs() < f64::EPSILON.sqrt() || !top[column].is_finite() {
                return None;
            }
            for (_, entries) in &mut open {
                let factor = entries[column] / top[column];
                for (entry, above) in entries.iter_mut().zip(&top) {
                    *entry -= factor * above;
                }
            }
            used.push(column);
            chosen.push(equation);
        }
        let derivatives: Vec<Vec<Polynomial>> = chosen.iter().map(|p| gradient(p)).collect();
        let shifts: Vec<usize> = chosen.iter().map(|p| shift(p)).collect();
        let rows = derivatives.iter().zip(&shifts);
        let jacobian: Vec<Vec<f64>> = rows
            .map(|(row, &shift)| row.iter().map(|d| value(d, shift)).collect())
            .collect();
        let number = |x: f64| Some(Enclosure::rational(&RBig::try_from(x).ok()?, BITS));
        let inverse = inverted(jacobian)?;
        let inverse = inverse
            .into_iter()
            .map(|row| row.into_iter().map(number).collect())
            .collect::<Option<_>>()?;
        Some(Self {
            equations: chosen,
            shifts,
            derivatives,
            inverse,
        })
    }

    /// Whether K(X) = y - Y f(y) + (1 - Y f'(X)) (X - y) lies inside X, the numbers within 2^-bits of y.
    fn has_one_zero(&self, variables: &[usize], center: &[Enclosure], bits: usize) -> bool {
        let n = variables.len();
        let around: Vec<Enclosure> = center.iter().map(|y| y.around_middle(bits)).collect();
        let offsets: Vec<Enclosure> = (around.iter().zip(center))
            .map(|(x, y)| x.minus(y))
            .collect();
        let values: Vec<Enclosure> = (self.equations.iter().zip(&self.shifts))
            .map(|(p, &shift)| evaluate(p, variables, center).shifted_down(shift))
            .collect();
        let slopes: Vec<Vec<Enclosure>> = (self.derivatives.iter().zip(&self.shifts))
            .map(|(row, &shift)| {
                let entries = row.iter();
                entries
                    .map(|d| evaluate(d, variables, &around).shifted_down(shift))
                    .collect()
            })
            .collect();
        let zero = || Enclosure::whole(&crate::IBig::ZERO, BITS);
        (0..n).all(|i| {
            let row = &self.inverse[i];
            let terms = row.iter().zip(&values);
            let step = terms.fold(zero(), |sum, (y, f)| sum.plus(&y.times(f)));
            let mut image = center[i].minus(&step);
            for (j, offset) in offsets.iter().enumerate() {
                let unit = Enclosure::whole(&crate::IBig::from(u8::from(i == j)), BITS);
                let product = (row.iter().zip(&slopes))
                    .fold(zero(), |sum, (y, slope)| sum.plus(&y.times(&slope[j])));
                image = image.plus(&unit.minus(&product).times(offset));
            }
            image.is_inside(&around[i])
        })
    }
}

/// The inverse of a matrix, rounded; `None` if a pivot vanishes.
pub(super) fn inverted(mut a: Vec<Vec<f64>>) -> Option<Vec<Vec<f64>>> {
    let n = a.len();
    for (at, row) in a.iter_mut().enumerate() {
        row.extend((0..n).map(|j| f64::from(u8::from(j == at))));
    }
    for column in 0..n {
        let pivot =
            (column..n).max_by(|&i, &j| a[i][column].abs().total_cmp(&a[j][column].abs()))?;
        a.swap(column, pivot);
        let scale = a[column][column];
        if scale == 0.0 || !scale.is_finite() {
            return None;
        }
        a[column].iter_mut().for_each(|entry| *entry /= scale);
        let top = a[column].clone();
        for (row, entries) in a.iter_mut().enumerate() {
            let factor = entries[column];
            if row != column && factor != 0.0 {
                for (entry, above) in entries.iter_mut().zip(&top) {
                    *entry -= factor * above;
                }
            }
        }
    }
    Some(a.into_iter().map(|row| row[n..].to_vec()).collect())
}

#[cfg(test)]
mod tests {
    use super::super::{Zeros, zeros};
    use super::*;
    use crate::Ideal;

    fn points(generators: &[Polynomial]) -> Vec<RealPoint> {
        let budget = Budget::default();
        let basis = Ideal::new(generators.to_vec())
            .basis(&budget)
            .expect("small");
        match zeros(&basis, &budget).expect("small") {
            Zeros::Finite(found) => found.real_points(&budget).expect("small"),
            _ => panic!("finitely many"),
        }
    }

    /// A circle and a line that meet far apart, close by, and touching.
    #[test]
    fn boxes_hold_one_point_and_shrink_with_the_distance() {
        let [x, y] = [0, 1].map(Polynomial::variable);
        let circle = &(&(&x * &x) + &(&y * &y)) - &Polynomial::one();
        let budget = Budget::default();
        let half_widths = |line: Polynomial| -> Vec<Option<f64>> {
            let generators = [circle.clone(), line];
            let all = points(&generators).into_iter();
            all.map(|mut p| p.isolation(&generators, &budget).expect("small"))
                .collect()
        };
        let far = half_widths(y.clone());
        assert_eq!(far.len(), 2);
        // The points (-1, 0) and (1, 0) are 2 apart.
        assert!(
            far.iter()
                .all(|w| w.is_some_and(|w| (0.1..1.0).contains(&w))),
            "{far:?}"
        );
        // 1000 y = 999: 0.089 apart.
        let thousand = crate::IBig::from(1000);
        let close = half_widths(&y.scaled(&thousand) - &Polynomial::constant(999));
        assert!(
            close.iter().all(|w| w.is_some_and(|w| w < 0.045)),
            "{close:?}"
        );
        // The tangent: a double point has no box of its own by this test.
        let tangent = half_widths(&y - &Polynomial::one());
        assert_eq!(tangent, [None]);
    }
}
