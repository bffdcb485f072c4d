//! The constants by which runs are judged: where each comes from, and where it fails.

/// A function that decides may have last terms of this many tolerances of its own size, (R1): an error of a function of size 1
/// moves its switching time by as much over its slope. 1 takes a tenth more steps on the rectifier and changes no result.
pub(crate) const DECIDER_TOLERANCES: f64 = 10.0;

/// Rounding of a function that decides, relative to its operands: a few units in the last place of each coefficient.
pub(crate) const DECIDER_ROUNDING: f64 = 8.0 * f64::EPSILON;

/// Branches whose switching times agree within this part of the time switch together, and zeros that agree within this part of the
/// range looked at are one singular point: rounding of the time.
pub(crate) const SAME_SWITCH: f64 = 1e-12;

/// A piece of a solution is halved until the last terms of a function along it are below this part of the function. What lies
/// nearer to zero than that is a touch, not a change of sign.
pub(crate) const SCAN_TOLERANCE: f64 = 1e-10;

/// A step may be this many times as long as the last one on which functions of time were bounded.
pub(crate) const FORCING_GROWTH: f64 = 4.0;

/// No shorter steps, relative to the time, are tried for a bound of a function of time.
pub(crate) const FORCING_SHORTEST: f64 = 1e-13;

/// What the remainders of functions of time may move a state by in one step of series, in tolerances of the step: steps are a
/// hundred times finer than what is asked for, and (R5) exceeds the true remainder by 10 to 1000 times.
pub(crate) const FORCING_TOLERANCES: f64 = 10.0;

/// The remainder of a function of time that decides, in tolerances of its size: its switching times are polished on the function.
pub(crate) const FORCING_DECIDING: f64 = 1e3;

/// Within this part of a piece a function that switched at its beginning may still be rounding.
pub(crate) const JUST_SWITCHED: f64 = 1e-6;

/// What a point of a series may be off by, in tolerances of the step: those of the states add up along a run, and algebraic
/// unknowns have ten of them.
pub(crate) const CONFIRM_WEIGHTS: f64 = 30.0;

/// Near a singular point no point is better than this, whatever the tolerance: residuals of 1e-14 are divided by what vanishes. With
/// the tolerance 1e-12 itself two thirds of the passages of the arm were not confirmed.
pub(crate) const CONFIRM_LEAST: f64 = 1e-10;

/// Rounding of a point of a series, relative to its greatest term.
pub(crate) const CONFIRM_ROUNDING: f64 = 1e-14;

/// Highest derivatives are off by this many times as much near a singular point, where they are divided by what vanishes.
pub(crate) const CONFIRM_TOP: f64 = 1e3;

/// A series is good at a point if it is known there to this part of its greatest term: (R10) is not asked further away.
pub(crate) const CONFIRM_MOST: f64 = 1e-3;

/// Parts of the distance of a zero before it at which the equations must hold too, (R20): nearer ones know less, further ones see less.
pub(crate) const CONFIRM_BEFORE: [f64; 4] = [0.5, 0.2, 0.1, 0.03];

/// Parts of the distance on both sides of the zero of an argument, the first of which that tells it from zero counts.
pub(crate) const CONFIRM_BESIDE: [f64; 5] = [1e-6, 1e-5, 1e-4, 1e-3, 1e-2];

/// The least width of a time, relative.
pub(crate) const CONFIRM_WIDTH: f64 = 4.0 * f64::EPSILON;

/// A zero without a sign change is located to this part of where it was looked for: the square root of rounding.
pub(crate) const TOUCH_WIDTH: f64 = 1e-7;

/// Halvings of where a quantity is low until its enclosures say whether it may vanish.
pub(crate) const TOUCH_DEPTH: usize = 8;

/// Nearer than this to a zero that is not confirmed, relative to the time, the run does not go.
pub(crate) const UNCONFIRMED: f64 = 1e-9;

/// No point with a scaled residual above this is accepted, whatever the tolerance.
pub const MAX_RESIDUAL: f64 = 1e-10;

/// Steps that became this many times shorter than earlier ones call for a look at once.
pub(crate) const SHRUNK: f64 = 32.0;

/// The value of a function that decides is zero at a switching point up to this part of its operands: the accuracy of the point.
pub(crate) const SIDE_VALUE: f64 = 1e-9;

/// Its first coefficient above this part of its operands says to which side it goes.
pub(crate) const SIDE_ROUNDING: f64 = 1e-11;

/// Series that differ by less than this are the same solution: a continuous kink, or one that rests on its surface.
pub(crate) const SIDE_SAME: f64 = 1e-10;

/// The same for implicit methods, whose polynomials have the order 4: their own error test watches the ends of steps, so that this
/// is about what lies between them.
pub(crate) const IMPLICIT_FORCING_TOLERANCES: f64 = 1e3;

/// The remainder of a function of time that decides, relative to its size on the step of an implicit method.
pub(crate) const IMPLICIT_FORCING_DECIDING: f64 = 0.05;

/// A start with a function that decides below this part of its operands lies on the switching surface: rounding of the start.
pub(crate) const SIDE_SURFACE: f64 = 1e-12;

/// The same at a switch that was located on a series or a piece, in tolerances of the step: (R1) and errors of the states; no more than the
/// square root of the tolerance. At 1e-4 all of a function counted as zero, and a relation of an unknown that jumps did not follow it.
pub(crate) const SIDE_TOLERANCES: f64 = 1e4;

/// Singular points nearer than this, relative to the time, are one: times from two series differ by the tolerance, and zeros of order 3 of
/// sin(w t)^3 by 2e-8.
pub(crate) const SAME_POINT: f64 = 1e-7;

/// Neighbouring solutions are this far away, in units of the states: their square is what differences leave.
pub(crate) const FAMILY_ASIDE: f64 = 1e-6;

/// Exponents at two distances agree within this part, or say nothing.
pub(crate) const FAMILY_AGREES: f64 = 0.1;

/// Exponents above this are those of families; smaller ones cannot be told from ordinary states, whose exponent is 0.
pub(crate) const FAMILY: f64 = 0.02;

/// A function of time that enters the matrices is followed by a polynomial of degree 8 within this part over the range in which
/// zeros of determinants are looked for: five samples then see every change of sign.
pub(crate) const WINDOW: f64 = 0.05;

/// The range in which zeros are looked for is shortened only if functions of time ask for less than this part of it: fast ones.
pub(crate) const WINDOW_LEAST: f64 = 0.25;

/// A narrow feature of an operation exceeds its known values by this many times, (R8), and moves an unknown by as
/// many tolerances of the step: with less smooth models are looked at for nothing.
pub(crate) const FEATURE: f64 = 3.0;

/// Radii of the discs of times on which operations are bounded, in steps, (R7): twenty terms leave 1e-6 of the bound on the first, and a
/// twentieth on the second, which singular points beside the step leave room for. Neither serves half of the steps of the arm on its safe path.
pub(crate) const FEATURE_DISCS: [f64; 2] = [2.0, 1.25];

/// Where solutions behind a steep point are looked for, in units of how far they are from it in front, (R23): at the mirrored value first, then
/// at the same one, nearer and farther. Solutions beyond ten of these units, or within a hundredth, are not seen.
pub(crate) const STEEP_GUESSES: [f64; 6] = [-1.0, 1.0, -0.3, 0.3, -3.0, 3.0];

/// A step is tried again with half its size, and a piece on which functions are not yet their series is halved, at most this often:
/// 2^-40 of a step is its rounding.
pub(crate) const MAX_HALVINGS: usize = 40;

/// A step is rejected when the projection moves a state by more than this many tolerances.
pub(crate) const REJECT: f64 = 10.0;

/// Determinants, or least singular values, that dip to this part of their surroundings are looked at closely.
pub(crate) const DIP: f64 = 0.3;

/// A step is looked at again when its highest derivatives differ by more than this many tolerances over the step from those of the
/// equations at its end, (R18) and (R24).
pub(crate) const UNEVEN: f64 = 1e3;

/// The finest relative tolerances: of series, whose values are a few units of rounding off, and of points that are solved for.
pub(crate) const FINEST_OF_SERIES: f64 = 1e-15;
pub(crate) const FINEST_OF_POINTS: f64 = 1e-13;

/// Below this tolerance functions of time would need steps without end on an implicit method.
pub(crate) const FORCING_FINEST: f64 = 1e-10;

/// A scaled residual below this may be kept there by rounding of the terms.
pub(crate) const KEPT_BY_ROUNDING: f64 = 1e-11;

/// Branches whose switching times agree within this part of the way to the first one switch together, too.
pub(crate) const SAME_SWITCH_AHEAD: f64 = 1e-9;

/// A step shrinks to no less than this part at once.
pub(crate) const MOST_SHRUNK: f64 = 1e-3;

/// Where exponents of families are read, in parts of the distance from their meeting.
pub(crate) const FAMILY_PLACES: [f64; 2] = [2e-3, 1e-3];

/// A solution is smooth around a point if the last two of twelve terms of its interpolant are below this part of the greatest that moves: powers 7/3
/// of the distance leave 6e-4, 22/3 leave 2e-5, smooth ones with nothing singular within three radii 1e-8.
pub(crate) const SMOOTH_TERMS: f64 = 1e-6;

/// A step is rejected when errors of the states move an algebraic unknown by more than this many tolerances, as long as a
/// shorter step lessens that; ten of them come from its own series. So much, relatively, may the system Jacobian be off, too.
pub(crate) const TRANSMITTED: f64 = 100.0;
