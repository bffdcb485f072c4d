//! Real singular configurations at given parameters, with certificates: section 8 of `docs/theory/configurations.md`.

use crate::mechanism::Mechanism;
use crate::pieces::Piece;
use daelight_algebra::real::{RealPoint, Zeros, zeros};
use daelight_algebra::{Budget, Certificate, IBig, Ideal, OutOfBudget, Polynomial};
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

/// The points of a piece within a budget, and whether all steps are proved.
pub fn piece_points(piece: &Piece, budget: &Budget) -> (PieceState, bool) {
    try_points(piece, budget).unwrap_or_else(|why| (PieceState::Undecided(why.to_string()), false))
}

fn try_points(piece: &Piece, budget: &Budget) -> Result<(PieceState, bool), OutOfBudget> {
    let mut ideal = Ideal::new(piece.generators.clone());
    if !piece.nonzero.is_empty() {
        ideal = ideal.saturation_by_all(&piece.nonzero, budget)?;
    }
    let basis = ideal.basis(budget)?;
    let is_proved = basis.certificate() == Certificate::Exact;
    let state = match zeros(&basis, budget)? {
        Zeros::None => PieceState::Empty,
        Zeros::Infinite { dimension } => PieceState::Infinite { dimension },
        Zeros::Finite(representation) => {
            let n_complex = representation.n_points();
            let mut real = representation.real_points();
            real.retain_mut(|point| {
                let mut roots = piece.positive.iter();
                roots.all(|&root| point.sign(&Polynomial::variable(root)) == Ordering::Greater)
            });
            PieceState::Finite { n_complex, real }
        }
    };
    Ok((state, is_proved))
}

/// A real singular configuration.
#[derive(Debug)]
pub struct Configuration {
    /// The point, exactly.
    pub point: RealPoint,
    /// Pieces that it belongs to, by number.
    pub pieces: Vec<usize>,
}

/// Joins the real points of pieces: those that several pieces share are one configuration.
pub fn join(pieces: &[Piece], found: Vec<(usize, Vec<RealPoint>)>) -> Vec<Configuration> {
    /// Bits at which different points of one piece are certainly apart in practice; equality is decided exactly.
    const BITS: usize = 96;
    let mut all: Vec<Configuration> = Vec::new();
    for (at, points) in found {
        for mut point in points {
            let mine = point.coordinates(BITS);
            let variables = point.variables().to_vec();
            let same = all.iter_mut().position(|other| {
                let theirs = other.point.coordinates(BITS);
                let known = other.point.variables();
                let meets = variables.iter().zip(&mine).all(|(variable, value)| {
                    let position = known.iter().position(|v| v == variable);
                    position.is_none_or(|position| theirs[position].meets(value))
                });
                // Close points are one if the older one satisfies the equations of the new one's piece.
                meets
                    && pieces[at].generators.iter().all(|p| {
                        let has_all = p.variables().iter().all(|v| known.contains(v));
                        !has_all || other.point.is_zero_of(p)
                    })
            });
            match same {
                Some(other) if !all[other].pieces.contains(&at) => all[other].pieces.push(at),
                Some(_) => {}
                None => all.push(Configuration {
                    point,
                    pieces: vec![at],
                }),
            }
        }
    }
    all
}

impl Configuration {
    /// The values of cosine and sine of each direction.
    pub fn unit_vectors(&mut self, mechanism: &Mechanism) -> Vec<[f64; 2]> {
        let values = self.values();
        let value = |variable: usize| values.get(variable).copied().flatten().unwrap_or(f64::NAN);
        let directions = mechanism.directions.iter();
        directions
            .map(|d| [value(d.cosine), value(d.sine)])
            .collect()
    }

    /// The values of the variables, by number.
    pub fn values(&mut self) -> Vec<Option<f64>> {
        let coordinates = self.point.coordinates(64);
        let variables = self.point.variables();
        let last = variables.iter().max().map_or(0, |v| v + 1);
        let mut values = vec![None; last];
        for (&variable, value) in variables.iter().zip(&coordinates) {
            values[variable] = Some(value.middle());
        }
        values
    }

    /// The angles of the mechanism in (-pi, pi], where directions and angles determine each other.
    pub fn angles(&mut self, mechanism: &Mechanism) -> Option<Vec<f64>> {
        let inverse = inverse(mechanism)?;
        let directions: Vec<f64> = self
            .unit_vectors(mechanism)
            .into_iter()
            .map(|[c, s]| s.atan2(c))
            .collect();
        let turn = 2.0 * std::f64::consts::PI;
        let angles = inverse.iter().zip(&mechanism.constraints.angles);
        Some(
            angles
                .map(|(row, angle)| {
                    let sum: f64 = row.iter().zip(&directions).map(|(k, d)| k * d).sum();
                    let wrapped = sum - turn * (sum / turn).round();
                    let wrapped = if wrapped <= -std::f64::consts::PI {
                        wrapped + turn
                    } else {
                        wrapped
                    };
                    wrapped * f64::from(angle.over)
                })
                .collect(),
        )
    }

    /// How much rank the Jacobian lacks at the values in double precision: a decision by size, not a proof.
    pub fn corank(&mut self, mechanism: &Mechanism) -> usize {
        /// Pivots below this, relative to the largest entry, are 0: unit vectors are known to 2^-64.
        const SMALL: f64 = 1e-9;
        let values = self.values();
        let value = |v: usize| {
            let own = values.get(v).copied().flatten();
            own.or(mechanism.ring.variables().get(v).and_then(|v| v.value))
                .unwrap_or(f64::NAN)
        };
        let mut rows: Vec<Vec<f64>> = mechanism
            .columns
            .iter()
            .map(|column| {
                let mut row = vec![0.0; mechanism.n_constraints()];
                for (function, form) in column.functions.iter().zip(&column.forms) {
                    let scale = function.evaluate_f64(value);
                    for (entry, coefficient) in row.iter_mut().zip(form) {
                        *entry += scale * coefficient.evaluate_f64(value);
                    }
                }
                row
            })
            .collect();
        let largest = rows.iter().flatten().fold(0.0_f64, |a, b| a.max(b.abs()));
        let mut rank = 0;
        // Elimination with complete pivoting.
        while rank < mechanism.n_constraints() {
            let entries = (rank..rows.len())
                .flat_map(|row| (rank..rows[row].len()).map(move |column| (row, column)));
            let pivot =
                entries.max_by(|a, b| rows[a.0][a.1].abs().total_cmp(&rows[b.0][b.1].abs()));
            let Some((row, column)) = pivot else { break };
            // Not a number counts as no pivot.
            let is_pivot = rows[row][column].abs() > SMALL * largest;
            if !is_pivot {
                break;
            }
            rows.swap(rank, row);
            rows.iter_mut().for_each(|row| row.swap(rank, column));
            let top = rows[rank].clone();
            for row in &mut rows[rank + 1..] {
                let factor = row[rank] / top[rank];
                for (entry, above) in row.iter_mut().zip(&top) {
                    *entry -= factor * above;
                }
            }
            rank += 1;
        }
        mechanism.n_constraints() - rank
    }

    /// The largest residual of the constraints at the values in double precision.
    pub fn residual(&mut self, constraints: &[Polynomial]) -> f64 {
        let values = self.values();
        let value = |v: usize| values.get(v).copied().flatten().unwrap_or(f64::NAN);
        constraints
            .iter()
            .map(|p| {
                let scale = p.height();
                let scale = daelight_algebra::integer::to_f64(&scale);
                (p.evaluate_f64(value) / scale).abs()
            })
            .fold(0.0, f64::max)
    }
}

/// The whole matrix that gives the angles from the directions; `None` unless both are equally many and determine each
/// other up to full turns.
fn inverse(mechanism: &Mechanism) -> Option<Vec<Vec<f64>>> {
    use crate::field::{ExactField, Field, echelon};
    let n = mechanism.constraints.angles.len();
    if mechanism.directions.len() != n || !mechanism.is_lattice_basis {
        return None;
    }
    let field = ExactField {
        ring: &mechanism.ring,
    };
    let rows: Vec<Vec<_>> = mechanism
        .directions
        .iter()
        .enumerate()
        .map(|(at, direction)| {
            let multiple = |j: usize| direction.multiples.get(j).copied().unwrap_or(0);
            let left = (0..n).map(|j| field.element(&Polynomial::constant(multiple(j))));
            let right = (0..n).map(|j| if j == at { field.one() } else { field.zero() });
            left.chain(right).collect()
        })
        .collect();
    let (reduced, pivots) = echelon(&field, &rows);
    if pivots != (0..n).collect::<Vec<_>>() {
        return None;
    }
    let number = |f: &daelight_algebra::Fraction| {
        let value: IBig = f.numerator().as_constant()?;
        Some(daelight_algebra::integer::to_f64(&value))
    };
    reduced
        .iter()
        .map(|row| row[n..].iter().map(number).collect())
        .collect()
}
