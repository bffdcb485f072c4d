//! Expressions as exact polynomials, quotients and trigonometric polynomials.
//!
//! [`Converter`] walks over an expression, each node once, and asks a [`Algebra`] what becomes of its parts: which symbols
//! and functions are generators, how angles and roots are related, how sums, products and quotients are kept. The walk,
//! the numbers, the powers and the [`ConversionBudget`] are the same for all targets; so is what makes a conversion exact: numbers
//! are read as the decimals they are written as, and everything else is exact algebra or stands for itself.
//!
//! The targets are in the crates that compute with them: quotients in lowest terms for determinants and quotients with
//! their denominators in factors for repairs (`analysis`), sums of waves for singular configurations (`singular`).

#![forbid(unsafe_code)]

mod convert;
mod generators;
mod multiples;

pub use convert::{
    Algebra, ConversionBudget, Converter, Reading, Size, Unconverted, rational_constant,
    rational_operation,
};
pub use generators::{
    BaseAngle, Generator, GeneratorKind, Generators, eliminate_square, multiple_of,
};
pub use multiples::BaseMultiples;
