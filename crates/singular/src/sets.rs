//! Pieces of positive dimension: certified real points of them, or a proof that there are none; section 8 of
//! `docs/theory/configurations.md`.

use crate::mechanism::Mechanism;
use crate::pieces::Piece;
use crate::points::{Configuration, Joined, fits, join};
use crate::ring::VariableKind;
use daelight_algebra::real::{RealPoint, Univariate, Zeros, zeros};
use daelight_algebra::{Budget, Certificate, IBig, Ideal, OutOfBudget, Polynomial};

/// Most cuts of a piece by fixed coordinates.
const MOST_CUTS: usize = 48;

/// Most samples of a piece.
const MOST_SAMPLES: usize = 4;

/// A piece with infinitely many complex points.
#[derive(Debug)]
pub struct SingularSet {
    /// The piece, by number.
    pub piece: usize,
    /// The dimension over the complex numbers.
    pub dimension: usize,
    /// The dimension of the real part next to a sample, where that is proved.
    pub real_dimension: Option<usize>,
    /// Real configurations in it.
    pub samples: Vec<Configuration>,
    /// Whether it is proved to have no real configuration.
    pub is_empty: bool,
    /// Whether the bases that the samples come from are proved.
    pub is_proved: bool,
}

/// The variables that a cut fixes: a position, or cosine and sine of a direction.
#[derive(Clone, Copy)]
enum Coordinate {
    Position(usize),
    Direction([usize; 2]),
}

impl Coordinate {
    /// Equations that give it the value number `which` of a fixed list.
    fn fixed(self, which: usize) -> Vec<Polynomial> {
        // Tangents of half angles and positions: small, of both signs, without a pattern that models have.
        const VALUES: [(i32, i32); 16] = [
            (1, 3),
            (-2, 5),
            (7, 5),
            (-9, 4),
            (1, 9),
            (-1, 8),
            (5, 7),
            (-6, 7),
            (3, 1),
            (-4, 1),
            (0, 1),
            (1, 1),
            (-1, 1),
            (8, 1),
            (-7, 1),
            (1, 2),
        ];
        let (above, below) = VALUES[which % VALUES.len()];
        let equation = |variable: usize, above: i32, below: i32| {
            let value = Polynomial::variable(variable).scaled(&IBig::from(below));
            &value - &Polynomial::constant(above)
        };
        match self {
            Self::Position(variable) => vec![equation(variable, above, below)],
            Self::Direction([cosine, sine]) => {
                let (square, other) = (above * above, below * below);
                vec![
                    equation(cosine, other - square, other + square),
                    equation(sine, 2 * above * below, other + square),
                ]
            }
        }
    }
}

/// Looks for real points of a piece of positive dimension.
pub(crate) fn singular_set(
    mechanism: &Mechanism,
    pieces: &[Piece],
    number: usize,
    dimension: usize,
    budget: &Budget,
) -> Result<SingularSet, OutOfBudget> {
    let piece = &pieces[number];
    let ideal = piece.ideal(budget)?;
    let mut set = SingularSet {
        piece: number,
        dimension,
        real_dimension: None,
        samples: Vec::new(),
        is_empty: false,
        is_proved: true,
    };
    let cut = independent(mechanism, piece, &ideal, dimension, budget)?;
    let mut found = Joined::default();
    for attempt in 0..MOST_CUTS {
        if found.configurations.len() >= MOST_SAMPLES {
            break;
        }
        let fixed = cut.iter().enumerate();
        // Each coordinate runs through the list at its own pace.
        let fixed = fixed.flat_map(|(at, c)| c.fixed(attempt * (2 * at + 1) + 5 * at));
        let section = ideal.sum(&Ideal::new(fixed.collect()));
        let basis = section.basis(budget)?;
        let Zeros::Finite(representation) = zeros(&basis, budget)? else {
            continue;
        };
        set.is_proved &= basis.certificate() == Certificate::Exact;
        for mut point in representation.real_points(budget)? {
            if found.configurations.len() < MOST_SAMPLES && fits(piece, &mut point, budget)? {
                let has_all = has_coordinates(&point, piece);
                if set.real_dimension.is_none() && has_all {
                    set.real_dimension = smooth_dimension(piece, &mut point, dimension, budget)?;
                }
                found.add(pieces, number, point, budget)?;
            }
        }
    }
    if found.configurations.is_empty() {
        set.is_empty = has_no_real_point(mechanism, piece, &ideal, budget)?;
    }
    let points = found.configurations.into_iter().map(|c| c.point).collect();
    let joined = join(mechanism, pieces, vec![(number, points)], budget);
    if let Some(limit) = joined.limit {
        return Err(limit);
    }
    set.samples = joined.configurations;
    Ok(set)
}

fn has_coordinates(point: &RealPoint, piece: &Piece) -> bool {
    let known = point.variables();
    piece.variables.iter().all(|v| known.contains(v))
}

/// The coordinates of a piece: its directions, then its positions.
fn coordinates(mechanism: &Mechanism, piece: &Piece) -> Vec<Coordinate> {
    let directions = mechanism.directions.iter().map(|d| [d.cosine, d.sine]);
    let mut all: Vec<Coordinate> = directions.map(Coordinate::Direction).collect();
    let positions = piece.variables.iter().copied();
    let is_position = |v: &usize| {
        matches!(
            mechanism.ring.variables().get(*v).map(|v| &v.meaning),
            Some(VariableKind::Position(_))
        )
    };
    all.extend(positions.filter(is_position).map(Coordinate::Position));
    all
}

/// As many coordinates as the dimension that can take general values together.
fn independent(
    mechanism: &Mechanism,
    piece: &Piece,
    ideal: &Ideal,
    dimension: usize,
    budget: &Budget,
) -> Result<Vec<Coordinate>, OutOfBudget> {
    let mut section = ideal.clone();
    let mut left = dimension;
    let mut chosen = Vec::new();
    for coordinate in coordinates(mechanism, piece) {
        if left == 0 {
            break;
        }
        let next = section.sum(&Ideal::new(coordinate.fixed(chosen.len())));
        if next.basis(budget)?.dimension() == Some(left - 1) {
            (section, left) = (next, left - 1);
            chosen.push(coordinate);
        }
    }
    Ok(chosen)
}

/// The dimension of the piece if its equations have full rank at a point: then the real points next to it are a manifold
/// of that dimension.
fn smooth_dimension(
    piece: &Piece,
    point: &mut RealPoint,
    dimension: usize,
    budget: &Budget,
) -> Result<Option<usize>, OutOfBudget> {
    let jacobian: Vec<Vec<Polynomial>> = (piece.generators.iter())
        .map(|p| piece.variables.iter().map(|&v| p.derivative(v)).collect())
        .collect();
    let Some(most) = piece.variables.len().checked_sub(dimension) else {
        return Ok(None);
    };
    let rank = point.rank(&jacobian, most, budget)?;
    Ok((rank == most).then_some(dimension))
}

/// Whether some variable has no real value that it can have on the piece: its polynomial has no real root, for a cosine or
/// sine none between -1 and 1.
fn has_no_real_point(
    mechanism: &Mechanism,
    piece: &Piece,
    ideal: &Ideal,
    budget: &Budget,
) -> Result<bool, OutOfBudget> {
    for &variable in &piece.variables {
        let others: Vec<usize> = (piece.variables.iter().copied())
            .filter(|&v| v != variable)
            .collect();
        let projected = ideal.elimination(&others, budget)?;
        let Some(p) = projected.generators().iter().find(|p| !p.is_constant()) else {
            continue;
        };
        let p = daelight_algebra::squarefree(&p.renamed(|_| 0));
        let meaning = mechanism.ring.variables().get(variable).map(|v| &v.meaning);
        let is_bounded = matches!(
            meaning,
            Some(VariableKind::Cosine(_) | VariableKind::Sine(_))
        );
        let mut is_possible = false;
        for factor in &p.factors {
            let f = Univariate::from_polynomial(&factor.polynomial);
            for mut root in f.real_roots(budget)? {
                root.refine(&f, 64, budget)?;
                let [lower, upper] = root.ends();
                let one = daelight_algebra::RBig::ONE;
                is_possible |= !is_bounded || (lower <= one && upper >= -one);
            }
        }
        if !is_possible {
            return Ok(true);
        }
    }
    Ok(false)
}
