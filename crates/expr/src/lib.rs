//! Expressions as a hash-consed graph: building, safe simplification, symbolic derivatives,
//! evaluation and printing; and tapes, which evaluate them in values and in Taylor jets.
//!
//! The graph knows nothing of differential-algebraic equations. A leaf is a number or a
//! [`SymbolId`]; what a symbol stands for (an unknown, a derivative, a parameter, time) is decided
//! by whoever builds the graph.
//!
//! ```
//! use daelight_expr::{Graph, SymbolId, UnaryOp};
//!
//! let mut graph = Graph::new();
//! let x = graph.symbol(SymbolId(0));
//! let sine = graph.unary(UnaryOp::Sin, x);
//! let product = graph.mul(x, sine);
//! let slope = graph.partial(product, SymbolId(0));
//! let value = graph.evaluate(&[slope], |_| 1.0)[0];
//! assert!((value - (1f64.sin() + 1f64.cos())).abs() < 1e-15);
//! ```
//!
//! From graph to numbers: [`Tape::compile`] lists the operations that some roots need.
//! [`Values`] evaluates them; [`Jet`] and [`PackedJet`] give Taylor coefficients one order at a time
//! ([`JetEvaluator`]), [`DdJet`] the same in double-double; [`JacobianSeries`] gives the residuals of a system with their matrices. What has
//! no value is a [`Fault`] that names the expression. The mathematics is in `docs/theory/jets.md`.

mod abreast;
mod derivative;
mod disc;
mod fault;
mod forcing;
mod graph;
mod inputs;
mod interval;
mod jacobian;
mod jet;
mod kernels;
mod lanes;
mod listing;
mod lower;
mod markup;
mod packed;
mod print;
mod ramp;
mod recurrence;
mod scalar;
mod series;
mod signal;
mod staged;
mod tape;
mod tidy;
mod value;

pub use abreast::Abreast;
pub use daelight_dd::Dd;
pub use disc::Disc;
pub use fault::{Fault, FaultKind};
pub use forcing::Forcing;
pub use graph::{BinaryOp, ExprId, FastMap, Graph, Node, SymbolId, UnaryOp, Walker};
pub use inputs::Inputs;
pub use interval::Interval;
pub use jacobian::{ReverseSweep, SparseJacobian, Sparsity};
pub use jet::{DdJet, Jet, JetEvaluator, PlainJet};
pub use listing::Operation;
pub use markup::Markup;
pub use packed::{InstructionSet, PackedJet};
pub use print::{TooLong, number};
pub use ramp::Ramp;
pub use scalar::Scalar;
pub use series::{JacobianSeries, SeriesRoot, series_roots};
pub use signal::{Side, Signal};
pub use staged::Recurrence;
pub use tape::{Register, Slot, Tape, TapeSize};
pub use value::{Branches, Values};
