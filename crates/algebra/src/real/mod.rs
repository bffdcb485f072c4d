//! Real points of zero-dimensional ideals, with proofs: nothing here rounds except outwards.

mod counting;
mod enclosure;
mod hermite;
mod krawczyk;
mod manifold;
mod matrix;
mod points;
mod quotient;
mod univariate;

pub use counting::{Ball, BallPolynomial, FormCounter};
pub use enclosure::Enclosure;
pub use hermite::{Characteristic, HermiteForm, ParametricZeros, zeros_over, zeros_where_possible};
pub use manifold::{Manifold, real_manifold};
pub use points::{RealPoint, Representation};
pub use quotient::Quotient;
pub use univariate::{Root, Univariate};

use crate::groebner::{Basis, Budget, OutOfBudget};

/// The complex zeros of an ideal.
#[derive(Debug)]
pub enum Zeros {
    /// None, over whatever field.
    None,
    /// Finitely many.
    Finite(Representation),
    /// A set of this dimension.
    Infinite {
        /// The dimension over the complex numbers; the real part of the set may be smaller.
        dimension: usize,
    },
}

/// The zeros of the ideal of a basis.
///
/// ```
/// use daelight_algebra::{Budget, Order, Polynomial, basis, real::{Zeros, zeros}};
///
/// let [x, y] = [0, 1].map(Polynomial::variable);
/// let circle = &(&(&x * &x) + &(&y * &y)) - &Polynomial::constant(2);
/// let budget = Budget::default();
/// let ideal = basis(&[circle, &x - &y], &Order::degrevlex([0, 1]), &budget)?;
/// let Zeros::Finite(representation) = zeros(&ideal, &budget)? else {
///     panic!("a line meets a circle in finitely many points");
/// };
/// let mut x = Vec::new();
/// for mut point in representation.real_points(&budget)? {
///     x.push(point.coordinates(60, &budget)?[0].middle());
/// }
/// assert_eq!(x, [-1.0, 1.0]);
/// # Ok::<(), daelight_algebra::OutOfBudget>(())
/// ```
pub fn zeros(basis: &Basis, budget: &Budget) -> Result<Zeros, OutOfBudget> {
    if basis.is_unit() {
        return Ok(Zeros::None);
    }
    match Quotient::new(basis, budget)? {
        Some(quotient) => Ok(Zeros::Finite(quotient.representation(budget)?)),
        None => Ok(Zeros::Infinite {
            dimension: basis.dimension().unwrap_or(1),
        }),
    }
}
