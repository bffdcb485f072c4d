//! Native code for tapes: the values of residuals and Jacobians at the speed of the processor.
//!
//! [`NativeCode::compile`] turns a [`Tape`](daelight_expr::Tape) into machine instructions through
//! Cranelift, in two tiers: [`Tier::Quick`] is ready within microseconds per operation,
//! [`Tier::Optimised`] takes several times as long and runs faster. [`NativeValues`] evaluates the
//! code at one point, [`Batch`] at many, on several threads and two points to a vector.
//!
//! The meaning is that of the plain interpreter [`Values`](daelight_expr::Values), which stays behind
//! the code: when an output is not a finite number the interpreter is asked for the
//! [`Fault`](daelight_expr::Fault). Functions such as sine are those of the standard library, sums and
//! products are not rearranged or fused, so the results are the same numbers.
//!
//! Rows that repeat, as the instances of a for-equation do, become loops, whose code does not grow with
//! the number of rows. What else is on a tape is written out.
//!
//! Large tapes are cut into functions of about 2000 operations, so the time to compile grows with the
//! length of the tape and no faster.

mod batch;
mod code;
mod emit;
mod evaluate;
mod functions;
mod repeat;
mod schedule;
mod series;

pub use batch::{Batch, PointFault, Points};
pub use code::{CompileReport, NativeCode, NativeError, Tier};
pub use evaluate::{NativeValues, Point};
pub use series::{BlockShape, NativeSeries, SeriesCode, SeriesShape};
