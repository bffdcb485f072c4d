//! Numbers that the language fixes, and how much of a formula is shown.

/// `Modelica.Constants.small`: no value that a model means is smaller.
pub const SMALL: f64 = 1e-60;

/// Longest formula inside a sentence.
pub const PHRASE: usize = 80;

/// Longest formula or line that has a line of a terminal or a comment to itself.
pub const LINE: usize = 160;

/// Longest text of a cell, a condition or a message: a few lines.
pub const PARAGRAPH: usize = 400;

/// Longest formula in a document, in bytes of markup: what is longer fills a page and is described instead.
pub const PAGE: usize = 24_000;

/// A loop whose result can be off by more of its size is not what it converges to: three digits are coarser than any result of a
/// run that is asked for, and Newton's steps that stop at 1e-2 are within it.
pub const LOOSE_LOOP: f64 = 1e-3;
