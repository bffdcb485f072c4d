//! Small linear algebra for the whole workbench: factor, solve, decide a rank, and say what the answer is worth.
//!
//! One type per factorisation, each an object that keeps its buffers: [`Lu`], [`Qr`], [`Svd`], [`SparseLu`]. The first
//! `factor` of a size allocates (or `with_capacity` does), every later `factor` and `solve` of that size does not; only faer
//! allocates one packing buffer per thread, at the thread's first blocked product. Small matrices go through plain loops,
//! larger ones through faer run sequentially; `examples/crossover.rs` measures where the one overtakes the other. The loops
//! use wide vector registers where the processor has them, and give the same digits where it has not.
//!
//! Three habits hold everywhere:
//!
//! - A solve is checked. It returns its backward error, or a [`LinalgError`] and an untouched right-hand side. A solution
//!   with NaN is never called a success.
//! - A rank is a [`RankDecision`]: the values it rests on, the threshold, the gap, and a [`Verdict`] that may be `Unknown`.
//! - NaN, infinities, empty and rectangular matrices are ordinary input with an ordinary answer. Only an index out of
//!   range panics.
//!
//! ```
//! use daelight_linalg::{GapRule, Lu, Mat, Svd};
//!
//! let a = Mat::from_rows(&[&[2.0, 1.0], &[1.0, 3.0]]);
//! let mut lu = Lu::new();
//! lu.factor(a.view())?;
//! let mut x = [3.0, 5.0];
//! let solved = lu.solve(&mut x)?;
//! assert!((x[0] - 0.8).abs() < 1e-15 && solved.backward_error < 1e-15);
//!
//! let mut svd = Svd::new();
//! svd.factor(a.view())?;
//! let decision = svd.rank(&GapRule::new(2, 2, svd.norm()));
//! assert_eq!(decision.decided(), Some(2));
//! # Ok::<(), daelight_linalg::LinalgError>(())
//! ```

#![forbid(unsafe_code)]

mod condition;
mod csc;
pub mod dd;
pub mod dense;
pub mod eigen;
mod error;
mod kernels;
pub mod lu;
mod lu_loops;
pub mod qr;
pub mod rank;
mod scratch;
pub mod sparse;
pub mod spline;
pub mod svd;

pub use csc::CscMat;
pub use dd::{Dd, DdMat, DdSvd};
pub use dense::{Mat, MatMut, MatRef};
pub use eigen::{Eigenvalue, balancing, eigenvalues};
pub use error::{LinalgError, Solved};
pub use lu::{LogDet, Lu};
pub use qr::Qr;
pub use rank::{
    AngleRule, ConditionRule, Doubt, GapRule, GivenRule, Magnitudes, RankDecision, RankRule,
    ShareRule, ThresholdRule, Verdict,
};
pub use sparse::{Pivoting, SparseLu};
pub use svd::Svd;
