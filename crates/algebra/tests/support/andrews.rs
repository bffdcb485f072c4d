//! Andrews' squeezing mechanism: constraints as polynomials in cosines, sines and parameters.

use super::parse_in;
use daelight_algebra::Polynomial;

/// Cosines and sines of the angles 1 to 7, then lengths and pivots.
pub const NAMES: [&str; 25] = [
    "c1", "s1", "c2", "s2", "c3", "s3", "c4", "s4", "c5", "s5", "c6", "s6", "c7", "s7", "a1", "a2",
    "a3", "a4", "a5", "a6", "a7", "b1", "b2", "w1", "w2",
];

pub fn p(text: &str) -> Polynomial {
    parse_in(text, &NAMES)
}

pub fn variables(names: &str) -> Vec<usize> {
    names
        .split_whitespace()
        .map(|name| NAMES.iter().position(|n| *n == name).unwrap())
        .collect()
}

pub fn circle(k: usize) -> Polynomial {
    p(&format!("c{k}^2 + s{k}^2 - 1"))
}

/// The equations (3) of the document.
pub fn loops() -> [Polynomial; 6] {
    [
        "a1*c1 - a2*(c1*c2 - s1*s2) - a3*s3 - b1",
        "a1*s1 - a2*(s1*c2 + c1*s2) + a3*c3 - b2",
        "a1*c1 - a2*(c1*c2 - s1*s2) - a4*(s4*c5 + c4*s5) - a5*c5 - w1",
        "a1*s1 - a2*(s1*c2 + c1*s2) + a4*(c4*c5 - s4*s5) - a5*s5 - w2",
        "a1*c1 - a2*(c1*c2 - s1*s2) - a6*(c6*c7 - s6*s7) - a7*s7 - w1",
        "a1*s1 - a2*(s1*c2 + c1*s2) - a6*(s6*c7 + c6*s7) + a7*c7 - w2",
    ]
    .map(p)
}

/// Loop equations with the circles of the angles that occur, and the maximal minors of the Jacobian by cosines and sines.
pub fn with_minors(
    equations: &[Polynomial],
    angles: &[usize],
) -> (Vec<Polynomial>, Vec<Polynomial>) {
    let mut ideal = equations.to_vec();
    ideal.extend(angles.iter().map(|&k| circle(k)));
    let columns: Vec<usize> = angles
        .iter()
        .flat_map(|&k| [2 * k - 2, 2 * k - 1])
        .collect();
    let jacobian: Vec<Vec<Polynomial>> = ideal
        .iter()
        .map(|f| columns.iter().map(|&v| f.derivative(v)).collect())
        .collect();
    let minors = maximal_minors(&jacobian);
    (ideal, minors)
}

/// Loop equations with the circles of all angles, and the maximal minors of the Jacobian by the angles themselves:
/// d/dy = c d/ds - s d/dc.
pub fn with_angular_minors(equations: &[Polynomial]) -> Vec<Polynomial> {
    let by_angle = |f: &Polynomial, k: usize| {
        let [c, s] = [2 * k - 2, 2 * k - 1];
        &(&Polynomial::variable(c) * &f.derivative(s))
            - &(&Polynomial::variable(s) * &f.derivative(c))
    };
    let jacobian: Vec<Vec<Polynomial>> = equations
        .iter()
        .map(|f| (1..8).map(|k| by_angle(f, k)).collect())
        .collect();
    let mut ideal = equations.to_vec();
    ideal.extend((1..8).map(circle));
    ideal.extend(maximal_minors(&jacobian));
    ideal
}

/// By expansion along the rows, sharing minors of the first rows.
pub fn maximal_minors(matrix: &[Vec<Polynomial>]) -> Vec<Polynomial> {
    use std::collections::BTreeMap;
    let mut minors: BTreeMap<u32, Polynomial> = BTreeMap::from([(0, Polynomial::one())]);
    for row in matrix {
        let mut larger: BTreeMap<u32, Polynomial> = BTreeMap::new();
        for (columns, minor) in &minors {
            for (column, entry) in row.iter().enumerate() {
                if columns >> column & 1 == 1 || entry.is_zero() {
                    continue;
                }
                let behind = (columns >> column).count_ones();
                let product = minor * entry;
                let sum = larger.entry(columns | 1 << column).or_default();
                *sum = if behind % 2 == 0 {
                    &*sum + &product
                } else {
                    &*sum - &product
                };
            }
        }
        minors = larger;
    }
    let mut minors: Vec<Polynomial> = minors.into_values().filter(|m| !m.is_zero()).collect();
    minors.sort();
    minors.dedup();
    minors
}

/// A polynomial at rational numbers for some names, over Z.
pub fn at(f: &Polynomial, values: &[(&str, i64, i64)]) -> Polynomial {
    values
        .iter()
        .fold(f.clone(), |f, &(name, numerator, denominator)| {
            let v = variables(name)[0];
            let linear = &Polynomial::variable(v).scaled(&denominator.into())
                - &Polynomial::constant(numerator);
            f.pseudo_remainder(&linear, v).primitive_over_integers()
        })
}

/// The benchmark's values, in units of 1e-5.
pub const ORIGINAL: [(&str, i64, i64); 11] = [
    ("a1", 700, 100_000),
    ("a2", 2800, 100_000),
    ("a3", 3500, 100_000),
    ("a4", 2000, 100_000),
    ("a5", 4000, 100_000),
    ("a6", 2000, 100_000),
    ("a7", 4000, 100_000),
    ("b1", -3635, 100_000),
    ("b2", 3273, 100_000),
    ("w1", -6934, 100_000),
    ("w2", -227, 100_000),
];
