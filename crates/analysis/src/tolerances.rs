//! Numbers that decide, each with its reason.

/// A row holds when its residual is below this part of its terms, to first order: chosen, 10^4 units of rounding, so that
/// sums of a few thousand terms of one size pass and nothing that a user would call a violation does.
pub(crate) const HOLDS: f64 = 1e-12;

/// A linear system for coefficients of a series is solved when what is left of each row is below this part of the sizes of
/// its products: chosen, far above the backward error of a factorisation (10^-15 times the number of unknowns) and far
/// below that of equations that contradict each other.
pub(crate) const BACKWARD: f64 = 1e-10;

/// Jets on two sides of a switch are the same solution if they agree to this part.
pub(crate) const SAME_JET: f64 = 1e-10;

/// A block is singular at a point when its smallest pivot is below this part of what it is at points a hundredth beside:
/// chosen, above rounding (10^-16) and below the square root of it, to which values at a fold are known.
pub(crate) const VANISHES: f64 = 1e-11;

/// The same where values may belong to a fold, and are known to the root of the rounding.
pub(crate) const VANISHES_AT_FOLD: f64 = 1e-5;

/// A step is slow that leaves more than this part of the residuals (a quarter is left at a double root); so many of them
/// at the end of a search mean a fold.
pub(crate) const SLOW: f64 = 0.1;
pub(crate) const SLOW_STEPS: usize = 4;

/// A step of a value longer than this part of its size must leave at most [`NEARLY_LINEAR`] of the residuals.
pub(crate) const LONG_STEP: f64 = 0.3;
pub(crate) const NEARLY_LINEAR: f64 = 0.02;

/// No point is accepted with a row that is further off than this part of its terms, however it was found: values at a fold
/// are known to the root of the rounding, and more than a hundred times that is no rounding. Conditions on right-hand sides are
/// violated from there on.
pub(crate) const FAR_OFF: f64 = 1e-6;

/// Steps from one guess inside a block. Newton's method doubles the digits; the rest is for the way there.
pub(crate) const MAX_NEWTON_STEPS: usize = 60;

/// The shortest part of such a step that is tried, and the part of the residuals that a whole one must gain.
pub(crate) const SHORTEST_PART: f64 = 1e-9;
pub(crate) const GAIN: f64 = 0.05;

/// Above this many rows a block is factored sparsely.
pub(crate) const DENSE_BLOCK: usize = 200;

/// Multiples of the size of an unknown from which a block is tried after its own values, then so many draws over six
/// decades; with more unknowns than [`MAX_DRAWN`] draws hardly help. Measured on 500 random models with undefined guesses
/// (`tests/starts.rs`): all start; without the draws those fail whose solution is decades away.
pub(crate) const MULTIPLES: [f64; 4] = [1.0, -1.0, 1e-2, 1e2];
pub(crate) const N_DRAWN: usize = 24;
pub(crate) const MAX_DRAWN: usize = 30;

/// How far beside a point neighbours are taken, relative to the sizes of the unknowns.
pub(crate) const BESIDE: f64 = 1e-2;

/// What a guess counts that nobody gave, beside those that somebody did, where both are weighed at once.
pub(crate) const NOT_GIVEN: f64 = 1e-3;

/// Distances that differ by less than this part are the same: a few units of rounding of a sum of squares.
pub(crate) const FLAT: f64 = 1e-14;

/// An unknown without a nominal value whose errors another one amplifies by more than this takes its size from there. Below it
/// a tolerance means what it means for an unknown of size 1; linear springs of the library, 10 to 200, stay as they were.
pub(crate) const AMPLIFIES: f64 = 1e3;

/// Numbers this small beside what they were summed up from are rounding: some hundred additions of 1e-16 each.
pub(crate) const ROUNDING: f64 = 1e-13;

/// A sum is zero below this part of its terms, a coefficient of a switching quantity below this part of its operands, and a value below this part of those nearby: some thousand roundings. A rank that
/// nearly falls, by less than this, cannot be told from one that does.
pub(crate) const ZERO: f64 = 1e-11;

/// Two times of an interval are one when they are closer than this part of it: Newton's method places a zero to 5e-11 and better.
pub(crate) const SAME_INSTANT: f64 = 1e-11;

/// Steps of difference quotients beside sizes: between the root of the rounding, best from one side, and its cube root, best from two.
pub(crate) const DIFFERENCE: f64 = 1e-6;

/// Distances and slopes below this are measured as if they were this large: a thousandth of a value of size 1.
pub(crate) const NEAR: f64 = 1e-3;

/// Pivots below this part of the largest are zero: rows that depend on each other, a stage that selects nothing, or a
/// singular choice of states.
pub(crate) const DEPENDENT: f64 = 1e-10;

/// Up to this size whole matrices are decomposed at a point: some twenty decompositions of 400 unknowns take two seconds.
pub const LARGEST_DENSE: usize = 400;

/// What exceeds this many noise levels is there: chosen, two decimal digits above what rounding leaves.
pub(crate) const NOISE_LEVELS: f64 = 100.0;
