//! Consistent initial values: the point closest to the guess that satisfies all constraints, hidden ones included.
//!
//! The unknowns are the coefficients of a jet, the equations are rows of the derivative array (`docs/theory/initial.md`).
//! Where the structure is right they are solved stage by stage first, which is nearly linear; then the whole is moved
//! along the constraints to the point closest to the guess.

mod array;
mod block;
mod closest;
mod finder;
mod homotopy;
mod jet;
mod known;
mod near;
mod newton;
mod order;
mod rewritten;
mod rows;
mod sides;
mod sparse;

pub use array::{ArrayFault, Column, ConstraintArray, Row, Selection, Units};
pub use closest::{Closeness, Target};
pub use finder::Finder;
pub use homotopy::{Followed, follow};
pub use jet::TaylorJet;
pub use near::NearPoints;
pub use newton::{Landing, Limits};
pub(crate) use rewritten::by_rewriting;
pub(crate) use sides::pin_branches;
pub use sides::{Pin, SideChoice, Spot};

use crate::System;
use crate::structure::Structure;
use std::time::{Duration, Instant};

/// Most rows of a dense array; above, only sparse structure helps.
pub const MAX_DENSE_ROWS: usize = 1200;

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Request {
    /// The time of the point.
    pub time: f64,
    /// Guesses for all unknowns.
    pub guess: Vec<f64>,
    /// Which guesses somebody gave. Others weigh nothing: they are where a search begins. Empty for all of them.
    pub given: Vec<bool>,
    /// What must hold beside the equations: fixed values and initial equations.
    pub conditions: Vec<Row>,
    /// F_0 to F_order are to vanish.
    pub order: usize,
    /// How long to search.
    pub budget: Duration,
}

impl Request {
    /// The start of a model: its start values, fixed ones held, and its initial equations.
    pub fn of_model(system: &System, time: f64, order: usize) -> Self {
        let guess = system.unknowns().iter().map(|u| u.start.unwrap_or(0.0));
        let mut request = Self {
            time,
            guess: guess.collect(),
            given: system
                .unknowns()
                .iter()
                .map(|u| u.start.is_some() && !u.start_is_default)
                .collect(),
            conditions: Vec::new(),
            order,
            budget: Duration::from_secs(10),
        };
        request.conditions_of_model(system);
        request
    }

    /// Whether somebody gave the guess of an unknown.
    pub fn is_given(&self, unknown: usize) -> bool {
        self.given.get(unknown).copied().unwrap_or(true)
    }

    /// Guesses a value that somebody gave.
    pub fn give(&mut self, unknown: usize, value: f64) {
        self.guess[unknown] = value;
        if let Some(given) = self.given.get_mut(unknown) {
            *given = true;
        }
    }

    /// Takes the conditions of the model: fixed unknowns keep their guess, and the initial equations hold.
    pub fn conditions_of_model(&mut self, system: &System) {
        let unknowns = system.unknowns().iter().enumerate();
        let fixed = unknowns.filter(|(_, u)| u.fixed);
        let values = fixed.map(|(unknown, _)| Row::Value {
            unknown,
            value: self.guess[unknown],
        });
        let initial = (0..system.written_initial().len()).map(|equation| Row::Initial { equation });
        self.conditions = values.chain(initial).collect();
    }
}

/// A point that satisfies the model's equations and what follows from them by differentiation.
#[derive(Clone, Debug)]
pub struct ConsistentPoint {
    /// The time.
    pub time: f64,
    /// Taylor coefficients; F_0 to F_order vanish on them.
    pub jet: TaylorJet,
    /// The highest order of the equations that holds.
    pub order: usize,
    /// Largest residual of the orders 0 to `order`, relative to its terms.
    pub residual: f64,
    /// Largest relative residual of each order.
    pub residuals: Vec<f64>,
    /// Whether it is the closest one to the guess.
    pub closeness: Closeness,
    /// Weighted distance from the guess in the differentiated unknowns.
    pub distance: f64,
    /// Which of the deterministic starts led here; 0 is the guess itself.
    pub attempt: usize,
    /// Whether the system Jacobian of the structure is singular here, so that the whole array was needed.
    pub structure_fails: bool,
    /// The switches that the point lies on, and the sides that its higher coefficients belong to.
    pub pins: Vec<Pin>,
    /// Whether these sides are the only ones.
    pub choice: SideChoice,
    /// How many steps led here from the simplified equations of `homotopy`, where it was followed.
    pub followed: Option<usize>,
}

impl ConsistentPoint {
    /// The sides of the switches that the point lies on, where one combination leads on: what is told of the point is told of them.
    pub fn sides(&self) -> &[Pin] {
        match self.choice {
            SideChoice::One => &self.pins,
            _ => &[],
        }
    }

    /// The sides of later times of the switches that the time alone drives.
    pub fn sides_of_time(&self, system: &System) -> Vec<Pin> {
        let of_time = |pin: &&Pin| pin.is_of_time(system.equations());
        self.pins.iter().filter(of_time).copied().collect()
    }
}

/// Why there is no consistent point.
#[derive(Clone, Debug)]
pub enum NoPoint {
    /// An expression has no value at the guess and beside it.
    Fault(ArrayFault),
    /// The search ended where no step leads closer to the constraints.
    Stalled {
        /// The last jet that satisfied the lower orders, or the one where the search ended.
        jet: TaylorJet,
        /// The largest relative residual where the search ended.
        residual: f64,
        /// Its row.
        row: Row,
    },
    /// The budget is used up.
    Budget {
        /// The largest relative residual reached.
        residual: f64,
    },
    /// The system is too large for the dense array, and its structure does not help.
    TooLarge {
        /// Number of rows that would be needed.
        rows: usize,
    },
}

/// The first block of rows that could not be solved, and the numbers that came before it.
#[derive(Clone, Debug)]
pub struct Obstacle {
    /// The rows, none of which can be left out: each is needed to determine the unknowns of the block.
    pub rows: Vec<Row>,
    /// The unknowns of the block.
    pub unknowns: Vec<usize>,
    /// Other unknowns in these rows, with the values that they have.
    pub known: Vec<(usize, f64)>,
    /// The expression that has no value, if that is what failed.
    pub fault: Option<ArrayFault>,
    /// Whether the numbers in it follow from conditions and linear equations alone: no other guess helps.
    pub is_forced: bool,
    /// The jet on which all blocks before it hold.
    pub jet: TaylorJet,
}

/// Offsets of a structure whose system Jacobian is nonsingular at the point, or generically.
#[derive(Clone, Copy, Debug)]
pub struct StageOffsets<'a> {
    /// c_i of the equations.
    pub equation: &'a [usize],
    /// d_j of the unknowns.
    pub variable: &'a [usize],
}

impl<'a> StageOffsets<'a> {
    /// The offsets of a structure.
    pub fn of(structure: &'a Structure) -> Self {
        Self {
            equation: &structure.offsets().equation,
            variable: &structure.offsets().variable,
        }
    }
}

/// Finds the consistent point closest to the guess.
///
/// `offsets` are those of the structure, if it is right for the system; without them the whole derivative array is
/// solved, order by order.
pub fn consistent_point(
    system: &System,
    offsets: Option<StageOffsets<'_>>,
    request: &Request,
) -> Result<ConsistentPoint, NoPoint> {
    let began = Instant::now();
    let found = Finder::new(system, offsets, request.time, request.order).closest(request);
    found.or_else(|end| {
        let left = request.budget.saturating_sub(began.elapsed());
        by_rewriting(system, request, &end, left).ok_or(end)
    })
}

/// The same where a run begins: if the search fails, `homotopy` is followed from the simplified equations to the actual ones.
pub fn consistent_start(
    system: &System,
    offsets: Option<StageOffsets<'_>>,
    request: &Request,
) -> Result<ConsistentPoint, NoPoint> {
    consistent_point(system, offsets, request).or_else(|no_point| {
        let Some(Followed { values, n_steps }) = follow(system, request) else {
            return Err(no_point);
        };
        let request = Request {
            guess: values,
            ..request.clone()
        };
        let point = consistent_point(system, offsets, &request)?;
        Ok(ConsistentPoint {
            followed: Some(n_steps),
            ..point
        })
    })
}

/// Sizes of the unknowns: `nominal` where the model gives one, otherwise 1.
pub fn nominal(system: &System) -> Vec<f64> {
    let sizes = written_nominal(system).into_iter();
    sizes.map(|size| size.unwrap_or(1.0)).collect()
}

/// Sizes of the unknowns, where the model gives them.
fn written_nominal(system: &System) -> Vec<Option<f64>> {
    let usable = |v: &f64| *v > 0.0 && v.is_finite();
    let unknowns = system.unknowns().iter();
    unknowns
        .map(|u| u.nominal.map(f64::abs).filter(usable))
        .collect()
}
