//! Expressions as a hash-consed graph: building, safe simplification, symbolic derivatives,
//! evaluation and printing.
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

mod derivative;
mod graph;
mod print;
mod tidy;

pub use graph::{BinaryOp, ExprId, FastMap, Graph, Node, SymbolId, UnaryOp, Walker};
pub use print::{TooLong, number};
