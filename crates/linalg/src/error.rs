//! What can go wrong, and what a successful solve reports.

use std::fmt;

/// Says why a factorisation or a solve has no answer.
///
/// These are numerical outcomes, not bugs: the caller turns them into a message with names and source lines.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum LinalgError {
    /// The sizes do not fit together.
    Shape {
        /// Rows and columns asked for.
        expected: (usize, usize),
        /// Rows and columns given.
        found: (usize, usize),
    },
    /// The input holds NaN or an infinity, or a norm of it overflows.
    InputNotFinite,
    /// The solution or a factor overflowed.
    ResultNotFinite,
    /// The pivot of this elimination step is exactly zero.
    Singular {
        /// Zero-based elimination step; earlier steps had nonzero pivots.
        step: usize,
    },
    /// The pattern alone makes the matrix singular: no choice of nonzero values would help.
    StructurallySingular {
        /// Zero-based elimination step at which no row was left.
        step: usize,
    },
    /// The solution does not satisfy the equations, even after refinement.
    Residual {
        /// Backward error of the best solution found.
        backward_error: f64,
        /// Largest accepted backward error.
        tolerance: f64,
    },
    /// An iteration did not converge within its limit of sweeps.
    NoConvergence,
    /// A sparse pattern is malformed, or a different one than the symbolic factorisation was made for.
    Pattern,
    /// There is no factorisation yet, or the last one failed.
    NotFactored,
    /// Memory or the index type is exhausted.
    TooLarge,
}

impl fmt::Display for LinalgError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Shape {
                expected: (m, n),
                found: (p, q),
            } => write!(f, "size is {p} x {q}, not {m} x {n}"),
            Self::InputNotFinite => write!(f, "the input is not finite"),
            Self::ResultNotFinite => write!(f, "the result is not finite"),
            Self::Singular { step } => write!(f, "the matrix is singular: pivot {step} is zero"),
            Self::StructurallySingular { step } => {
                write!(
                    f,
                    "the pattern is singular: no row is left for pivot {step}"
                )
            }
            Self::Residual {
                backward_error,
                tolerance,
            } => {
                write!(
                    f,
                    "the solution is wrong: backward error {backward_error:.1e} exceeds {tolerance:.1e}"
                )
            }
            Self::NoConvergence => write!(f, "the iteration did not converge"),
            Self::Pattern => write!(f, "the sparse pattern is malformed or has changed"),
            Self::NotFactored => write!(f, "there is no factorisation to solve with"),
            Self::TooLarge => write!(
                f,
                "the problem is too large for the index type or the memory"
            ),
        }
    }
}

impl std::error::Error for LinalgError {}

/// Reports what a solve achieved.
///
/// The backward error is the size of the smallest relative change of A and b that makes the answer exact, in the maximum
/// norm: ‖b - A x‖ / (‖A‖ ‖x‖ + ‖b‖) (Rigal and Gaches 1967). It says nothing about the distance to the true solution;
/// multiply by the condition number for that.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Solved {
    /// Backward error of the returned solution, the largest over all right-hand sides.
    pub backward_error: f64,
    /// Whether a step of iterative refinement was needed to get there.
    pub refined: bool,
}

impl Solved {
    /// Adds the outcome of another right-hand side.
    pub(crate) fn include(&mut self, other: Solved) {
        self.backward_error = self.backward_error.max(other.backward_error);
        self.refined |= other.refined;
    }
}

/// Largest accepted backward error of a solve with n unknowns: 1000 n u with u = 2.2e-16, and n taken as at most 64.
///
/// Elimination with partial pivoting has a backward error of at most about 3 n g u with growth factor g (Higham,
/// *Accuracy and Stability of Numerical Algorithms*, 2002, theorem 9.5), and g rarely exceeds 10. The factor 1000 leaves
/// room for a growth of some hundreds. In practice errors do not grow like n but like its root at most, hence the bound 64:
/// no system, however large, passes with a backward error above 1.4e-11.
pub(crate) fn residual_tolerance(n: usize) -> f64 {
    1000.0 * f64::EPSILON * n.clamp(1, 64) as f64
}

/// Backward error from the norms of residual, matrix, solution and right-hand side, formed without needless overflow.
pub(crate) fn backward_error(residual: f64, matrix: f64, solution: f64, rhs: f64) -> f64 {
    if residual == 0.0 {
        0.0
    } else if matrix > 0.0 {
        (residual / matrix) / (solution + rhs / matrix)
    } else {
        residual / rhs
    }
}
