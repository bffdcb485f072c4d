//! Whether constraints without real singular configurations have a real solution at all: section 8.1 of
//! `docs/theory/configurations.md`.

use crate::mechanism::Mechanism;
use crate::ring::{Ring, VariableKind};
use daelight_algebra::real::{Manifold, Zeros, real_manifold, zeros};
use daelight_algebra::{Budget, Certificate, IBig, Ideal, OutOfBudget, Polynomial, RBig};
use std::cmp::Ordering;

/// The constraints as polynomials, with numbers in place of parameters.
struct Assembly<'a> {
    mechanism: &'a Mechanism,
    constraints: Vec<Polynomial>,
    /// What must not be zero.
    denominators: Vec<Polynomial>,
    /// Square roots of numbers: unknowns with an equation, and positive.
    roots: Vec<usize>,
}

/// Whether the constraints have a real solution where parameters have these values, and no solution is singular; `None`
/// if that was not decided within the budget. Both answers are proved.
pub(crate) fn has_solution(
    mechanism: &Mechanism,
    values: &[(usize, RBig)],
    budget: &Budget,
) -> Option<bool> {
    let assembly = Assembly::new(mechanism, values)?;
    if assembly.has_manifold(budget) {
        return Some(true);
    }
    assembly.has_closest_point(budget).ok().flatten()
}

impl<'a> Assembly<'a> {
    /// `None` where symbols are left.
    fn new(mechanism: &'a Mechanism, values: &[(usize, RBig)]) -> Option<Self> {
        let ring = &mechanism.ring;
        let with_values = |p: Polynomial| {
            let start = p.primitive_over_integers();
            (values.iter()).fold(start, |p, (v, value)| at_rational(&p, *v, value))
        };
        let rows = &mechanism.constraints.rows;
        let denominators = rows.iter().filter_map(|row| row.denominator.as_ref());
        let constraints: Vec<Polynomial> = (mechanism.polynomials().into_iter())
            .map(with_values)
            .collect();
        let denominators: Vec<Polynomial> = denominators
            .map(|waves| with_values(mechanism.polynomial(waves)))
            .collect();
        let mut roots: Vec<usize> = Vec::new();
        let mut pending = [constraints.clone(), denominators.clone()].concat();
        while let Some(p) = pending.pop() {
            for v in p.variables() {
                if !ring.is_unknown(v) && !roots.contains(&v) {
                    let VariableKind::Root(square) = &ring.variables()[v].meaning else {
                        return None;
                    };
                    roots.push(v);
                    pending.push(square.clone());
                }
            }
        }
        Some(Self {
            mechanism,
            constraints,
            denominators,
            roots,
        })
    }

    fn ring(&self) -> &Ring {
        &self.mechanism.ring
    }

    /// Constraints, circles, and what the squares of roots are.
    fn equations(&self) -> Vec<Polynomial> {
        let mut all = self.constraints.clone();
        all.extend((0..self.mechanism.directions.len()).map(|at| self.mechanism.circle(at)));
        for &root in &self.roots {
            let square = self.ring().square(root).unwrap_or_default();
            all.push(&Polynomial::variable(root).pow(2) - &square);
        }
        all.retain(|p| !p.is_zero());
        all
    }

    /// Whether Newton's method finds a manifold of solutions, proved by Krawczyk's test.
    fn has_manifold(&self, budget: &Budget) -> bool {
        let equations = self.equations();
        let variables = occurring(&equations);
        let may_be_free: Vec<bool> = (variables.iter())
            .map(|v| !self.roots.contains(v))
            .collect();
        let is_wanted = |found: &Manifold| {
            let sign = |p: &Polynomial| found.sign(p, &variables);
            let is_positive =
                |&r: &usize| sign(&Polynomial::variable(r)) == Some(Ordering::Greater);
            let is_not_zero = |p| sign(p).is_some_and(|sign| sign != Ordering::Equal);
            self.roots.iter().all(is_positive) && self.denominators.iter().all(is_not_zero)
        };
        real_manifold(&equations, &variables, &may_be_free, &is_wanted, budget).is_some()
    }

    /// Whether some solution is closest to a general configuration. Solutions are a closed set, which has a closest
    /// point if it is not empty; where no solution is singular, that point has Lagrange multipliers.
    fn has_closest_point(&self, budget: &Budget) -> Result<Option<bool>, OutOfBudget> {
        if !self.denominators.is_empty() {
            return Ok(None);
        }
        let mut equations = self.equations();
        let first = self.ring().variables().len();
        let mut goals = (1..).map(|n: i32| [(7 * n) % 11 - 5, (5 * n) % 13 - 6]);
        let balance = |derivative: &dyn Fn(&Polynomial) -> Polynomial, pull: Polynomial| {
            let forces = self.constraints.iter().enumerate().map(|(at, p)| {
                let multiplier = Polynomial::variable(first + at);
                &multiplier * &derivative(p)
            });
            forces.fold(pull, |sum, force| &sum + &force)
        };
        for direction in &self.mechanism.directions {
            // The distance of unit vectors grows as minus their scalar product.
            let [x, y] = goals.next().unwrap_or([1, 1]).map(Polynomial::constant);
            let [c, s] = [direction.cosine, direction.sine];
            let turned = |p: &Polynomial| {
                let [by_c, by_s] = [p.derivative(c), p.derivative(s)];
                &(&Polynomial::variable(c) * &by_s) - &(&Polynomial::variable(s) * &by_c)
            };
            let product = &(&Polynomial::variable(c) * &x) + &(&Polynomial::variable(s) * &y);
            equations.push(balance(&turned, -&turned(&product)));
        }
        for &(_, position) in &self.mechanism.constraints.positions {
            let [above, below] = goals.next().unwrap_or([1, 1]);
            let below = IBig::from(below * below + 1);
            let pull = Polynomial::variable(position).scaled(&below);
            let pull = &pull - &Polynomial::constant(above);
            equations.push(balance(&|p: &Polynomial| p.derivative(position), pull));
        }
        equations.retain(|p| !p.is_zero());
        let variables = occurring(&equations);
        let basis = Ideal::new(equations).in_space(&variables).basis(budget)?;
        if basis.certificate() != Certificate::Exact {
            return Ok(None);
        }
        match zeros(&basis, budget)? {
            Zeros::None => Ok(Some(false)),
            Zeros::Infinite { .. } => Ok(None),
            Zeros::Finite(representation) => {
                for mut point in representation.real_points(budget)? {
                    let mut is_wanted = true;
                    for &root in &self.roots {
                        let sign = point.sign(&Polynomial::variable(root), budget)?;
                        is_wanted &= sign == Ordering::Greater;
                    }
                    if is_wanted {
                        return Ok(Some(true));
                    }
                }
                Ok(Some(false))
            }
        }
    }
}

/// The polynomial with a number in place of a variable, times a power of the number's denominator.
fn at_rational(p: &Polynomial, variable: usize, value: &RBig) -> Polynomial {
    let (above, below) = (value.numerator(), IBig::from(value.denominator().clone()));
    let coefficients = p.coefficients(variable);
    let mut sum = Polynomial::zero();
    let mut power = IBig::ONE;
    for coefficient in coefficients.iter().rev() {
        // Horner's rule for the homogeneous form.
        sum = &sum.scaled(above) + &coefficient.scaled(&power);
        power *= &below;
    }
    sum.primitive_over_integers()
}

fn occurring(equations: &[Polynomial]) -> Vec<usize> {
    let mut found: Vec<usize> = equations.iter().flat_map(Polynomial::variables).collect();
    found.sort_unstable();
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::at_rational;
    use daelight_algebra::{IBig, Polynomial, RBig};

    #[test]
    fn numbers_take_the_place_of_variables() {
        let [x, y] = [0, 1].map(Polynomial::variable);
        // x^2 y - 3 x + 1 at x = 2/3, times 9.
        let p = &(&(&x.pow(2) * &y) - &x.scaled(&IBig::from(3))) + &Polynomial::one();
        let value = RBig::from_parts(IBig::from(2), 3u32.into());
        let expected = &y.scaled(&IBig::from(4)) - &Polynomial::constant(9);
        assert_eq!(at_rational(&p, 0, &value), expected);
    }
}
