//! Real singular configurations at given parameters, with certificates: section 8 of `docs/theory/configurations.md`.

use crate::conditions::LEVEL_BITS;
use crate::mechanism::{JacobianColumn, Mechanism};
use crate::pieces::Piece;
use daelight_algebra::real::{RealPoint, Zeros, zeros};
use daelight_algebra::{Budget, Certificate, OutOfBudget, Polynomial};
use std::cmp::Ordering;

/// What is known of the points of a piece.
#[derive(Debug)]
pub enum PieceState {
    /// No point, over the complex numbers: a condition on the parameters does not hold.
    Excluded,
    /// No point, over the complex numbers: the basis is 1.
    Empty,
    /// Finitely many points.
    Finite {
        /// Different complex ones.
        n_complex: usize,
        /// The real ones.
        real: Vec<RealPoint>,
    },
    /// A set of points of this dimension, over the complex numbers.
    Infinite {
        /// The dimension.
        dimension: usize,
    },
    /// Not decided.
    Undecided(String),
}

/// The points of a piece, and whether all steps are proved.
pub(crate) fn points_of(piece: &Piece, budget: &Budget) -> Result<(PieceState, bool), OutOfBudget> {
    let ideal = piece.ideal(budget)?;
    let basis = ideal.basis(budget)?;
    let is_proved = basis.certificate() == Certificate::Exact;
    let state = match zeros(&basis, budget)? {
        Zeros::None => PieceState::Empty,
        Zeros::Infinite { dimension } => PieceState::Infinite { dimension },
        Zeros::Finite(representation) => {
            let n_complex = representation.n_points();
            let mut real = Vec::new();
            for mut point in representation.real_points(budget)? {
                if fits(piece, &mut point, budget)? {
                    real.push(point);
                }
            }
            PieceState::Finite { n_complex, real }
        }
    };
    Ok((state, is_proved))
}

/// Whether the square roots of a piece are positive at a point of its closure, and no divisor is zero there.
pub(crate) fn fits(
    piece: &Piece,
    point: &mut RealPoint,
    budget: &Budget,
) -> Result<bool, OutOfBudget> {
    for &root in &piece.positive {
        if point.sign(&Polynomial::variable(root), budget)? != Ordering::Greater {
            return Ok(false);
        }
    }
    for divisor in &piece.nonzero {
        if point.is_zero_of(divisor, budget)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// A real singular configuration.
#[derive(Debug)]
pub struct Configuration {
    /// The point, exactly.
    pub point: RealPoint,
    /// Pieces that it belongs to, by number.
    pub pieces: Vec<usize>,
    /// The values of the variables, each rounded from an enclosure.
    pub values: Coordinates,
    /// How much rank the Jacobian lacks, decided exactly; `None` if a limit kept it from being decided.
    pub corank: Option<usize>,
    /// Half the width of a box of cosines, sines and positions in which its piece has no other configuration, by
    /// Krawczyk's test; `None` for multiple points.
    pub unique_within: Option<f64>,
}

/// The configurations of several pieces.
#[derive(Debug, Default)]
pub struct Joined {
    /// Each once.
    pub configurations: Vec<Configuration>,
    /// The limit that kept points from being told apart or a corank from being decided.
    pub limit: Option<OutOfBudget>,
}

/// Joins the real points of pieces: those that several pieces share are one configuration.
pub fn join(
    mechanism: &Mechanism,
    pieces: &[Piece],
    found: Vec<(usize, Vec<RealPoint>)>,
    budget: &Budget,
) -> Joined {
    let mut joined = Joined::default();
    for (at, points) in found {
        for point in points {
            if let Err(limit) = joined.add(pieces, at, point, budget) {
                joined.limit.get_or_insert(limit);
            }
        }
    }
    let jacobian = jacobian_rows(mechanism);
    for configuration in &mut joined.configurations {
        match corank(&mut configuration.point, &jacobian, budget) {
            Ok(corank) => configuration.corank = corank,
            Err(limit) => {
                joined.limit.get_or_insert(limit);
            }
        }
        if let ([first, ..], 1) = (
            &configuration.pieces[..],
            configuration.point.multiplicity(),
        ) {
            let generators = &pieces[*first].generators;
            // What the time does not allow is not told; the point is proved already.
            let isolation = configuration.point.isolation(generators, budget);
            configuration.unique_within = isolation.ok().flatten();
        }
    }
    joined
}

impl Joined {
    /// Adds a point of a piece, unless it is known from another one.
    pub(crate) fn add(
        &mut self,
        pieces: &[Piece],
        at: usize,
        mut point: RealPoint,
        budget: &Budget,
    ) -> Result<(), OutOfBudget> {
        let mine = point.coordinates(LEVEL_BITS, budget)?;
        let variables = point.variables().to_vec();
        for other in &mut self.configurations {
            let theirs = other.point.coordinates(LEVEL_BITS, budget)?;
            let known = other.point.variables();
            let meets = variables.iter().zip(&mine).all(|(variable, value)| {
                let position = known.iter().position(|v| v == variable);
                position.is_none_or(|position| theirs[position].meets(value))
            });
            if !meets {
                continue;
            }
            // Close points are one if the older one satisfies the equations of the new one's piece.
            let mut is_same = true;
            for p in &pieces[at].generators {
                let has_all = p.variables().iter().all(|v| known.contains(v));
                is_same = is_same && (!has_all || other.point.is_zero_of(p, budget)?);
            }
            if is_same {
                if !other.pieces.contains(&at) {
                    other.pieces.push(at);
                }
                return Ok(());
            }
        }
        let last = variables.iter().max().map_or(0, |v| v + 1);
        let mut values = vec![None; last];
        for (&variable, value) in variables.iter().zip(&mine) {
            values[variable] = Some(value.middle());
        }
        self.configurations.push(Configuration {
            point,
            pieces: vec![at],
            values: Coordinates(values),
            corank: None,
            unique_within: None,
        });
        Ok(())
    }
}

/// The columns of the Jacobian, one entry for each constraint.
fn jacobian_rows(mechanism: &Mechanism) -> Vec<Vec<Polynomial>> {
    let entry = |column: &JacobianColumn, constraint: usize| {
        let terms = column.functions.iter().zip(&column.forms);
        terms.fold(Polynomial::zero(), |sum, (function, form)| {
            &sum + &(function * &form[constraint])
        })
    };
    let columns = mechanism.columns.iter();
    columns
        .map(|column| {
            (0..mechanism.n_constraints())
                .map(|at| entry(column, at))
                .collect()
        })
        .collect()
}

/// How much rank the Jacobian lacks at a point of a piece, where it lacks some by section 5 of
/// `docs/theory/configurations.md`; `None` if it has variables that the point has not.
fn corank(
    point: &mut RealPoint,
    jacobian: &[Vec<Polynomial>],
    budget: &Budget,
) -> Result<Option<usize>, OutOfBudget> {
    let n_constraints = jacobian.first().map_or(0, Vec::len);
    let mut entries = jacobian.iter().flatten();
    if entries.any(|p| p.variables().iter().any(|v| !point.variables().contains(v))) {
        return Ok(None);
    }
    let rank = point.rank(jacobian, n_constraints.saturating_sub(1), budget)?;
    Ok(Some(n_constraints - rank))
}

/// Values of variables by number; `None` for those that have none.
#[derive(Clone, Debug)]
pub struct Coordinates(pub Vec<Option<f64>>);

impl Coordinates {
    /// The values of cosine and sine of each direction.
    pub fn unit_vectors(&self, mechanism: &Mechanism) -> Vec<[f64; 2]> {
        let directions = mechanism.directions.iter();
        directions
            .map(|d| [self.value(d.cosine), self.value(d.sine)])
            .collect()
    }

    fn value(&self, variable: usize) -> f64 {
        let value = self.0.get(variable).copied().flatten();
        value.unwrap_or(f64::NAN)
    }

    /// The unknowns that are angles in (-pi, pi], times what they are divided by; with their shifts where these are no numbers.
    pub fn angles(&self, mechanism: &Mechanism) -> Vec<f64> {
        let directions: Vec<f64> = self
            .unit_vectors(mechanism)
            .into_iter()
            .map(|[c, s]| s.atan2(c))
            .collect();
        let turn = 2.0 * std::f64::consts::PI;
        let rows = mechanism.angles_from_directions.iter();
        rows.zip(&mechanism.constraints.angles)
            .map(|(row, angle)| {
                let terms = row.iter().zip(&directions);
                let sum: f64 = terms.map(|(&k, d)| f64::from(k) * d).sum();
                let over = f64::from(angle.over);
                let sum = sum - angle.shift.value.unwrap_or(0.0) / over;
                let wrapped = sum - turn * (sum / turn).round();
                let wrapped = if wrapped <= -std::f64::consts::PI {
                    wrapped + turn
                } else {
                    wrapped
                };
                wrapped * over
            })
            .collect()
    }

    /// The largest residual of the constraints at the values in double precision.
    pub fn residual(&self, constraints: &[Polynomial]) -> f64 {
        constraints
            .iter()
            .map(|p| {
                let scale = p.height();
                let scale = daelight_algebra::integer::to_f64(&scale);
                (p.evaluate_f64(|v| self.value(v)) / scale).abs()
            })
            .fold(0.0, f64::max)
    }
}
