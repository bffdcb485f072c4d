//! The Jacobian of the constraints in absolute directions: sections 2 and 3 of `docs/theory/configurations.md`.

use crate::constraints::Constraints;
use crate::field::{ExactField, echelon};
use crate::ring::{Ring, VariableKind};
use crate::waves::{Multiples, Waves, by_positions};
use daelight_algebra::{IBig, Monomial, Polynomial, RBig, integer};
use daelight_lang::Model;
use std::collections::BTreeMap;

/// A direction: a whole combination of angles whose cosine and sine are unknowns.
#[derive(Clone, PartialEq, Debug)]
pub struct Direction {
    /// Its multiples of the angles.
    pub multiples: Multiples,
    /// The angle as text, such as `y[4] + y[5]`.
    pub name: String,
    /// The variable of its cosine.
    pub cosine: usize,
    /// The variable of its sine.
    pub sine: usize,
}

/// A column of the Jacobian, transposed and applied to multipliers: a sum of functions times linear forms.
#[derive(Clone, Debug)]
pub struct JacobianColumn {
    /// What the constraints are differentiated by, as text.
    pub name: String,
    /// The direction that the column belongs to, when the column is that of a body: its functions are then the cosine
    /// and the sine of the direction, with forms of parameters alone.
    pub body: Option<usize>,
    /// Independent functions of the unknowns.
    pub functions: Vec<Polynomial>,
    /// For each function its form: one coefficient for each constraint.
    pub forms: Vec<Vec<Polynomial>>,
}

impl JacobianColumn {
    /// Whether it is the same everywhere: its forms must vanish in every singular configuration.
    pub fn is_constant(&self) -> bool {
        self.is_constant_for(|_| true)
    }

    /// Whether the functions that count are the same everywhere: a sum of them that is not 0 never vanishes.
    pub fn is_constant_for(&self, counts: impl Fn(usize) -> bool) -> bool {
        let functions = self.functions.iter().enumerate();
        let mut counting = functions.filter(|&(at, _)| counts(at));
        counting.all(|(_, function)| function.is_constant())
    }
}

/// Constraints with their Jacobian.
#[derive(Clone, Debug)]
pub struct Mechanism {
    /// The constraints.
    pub constraints: Constraints,
    /// Symbols and unknowns, those of the directions included.
    pub ring: Ring,
    /// The directions.
    pub directions: Vec<Direction>,
    /// Whether the directions are the combinations of angles that occur; otherwise they are the angles themselves.
    pub is_absolute: bool,
    /// The whole matrix that gives the angles from the directions: section 2 of `docs/theory/configurations.md`.
    pub angles_from_directions: Vec<Vec<i32>>,
    /// The columns, those of locked coordinates left out.
    pub columns: Vec<JacobianColumn>,
}

impl Mechanism {
    /// Finds the directions of constraints and makes their Jacobian.
    pub fn new(model: &Model, constraints: Constraints) -> Self {
        let mut multiples: Vec<Multiples> = Vec::new();
        for (k, _) in constraints.rows.iter().flat_map(|row| row.waves.terms()) {
            if !k.is_empty() && !multiples.contains(k) {
                multiples.push(k.clone());
            }
        }
        // By angles, as in y[1], y[1] + y[2], y[3].
        multiples.sort_by_key(|k| (k.iter().position(|m| *m != 0), k.len(), k.clone()));
        let n_angles = constraints.angles.len();
        let absolute = lattice_basis(&multiples, n_angles).and_then(|basis| {
            let movable = unlocked_directions(&basis.directions, &constraints)?;
            Some((basis, movable))
        });
        let is_absolute = absolute.is_some();
        let (basis, movable) = match absolute {
            Some((basis, movable)) => (basis, Some(movable)),
            None => (LatticeBasis::of_angles(n_angles), None),
        };
        let mut ring = constraints.ring.clone();
        let directions: Vec<Direction> = basis
            .directions
            .into_iter()
            .enumerate()
            .map(|(at, multiples)| {
                let name = combination(model, &constraints, &multiples);
                Direction {
                    cosine: ring.add(format!("cos({name})"), VariableKind::Cosine(at), None),
                    sine: ring.add(format!("sin({name})"), VariableKind::Sine(at), None),
                    multiples,
                    name,
                }
            })
            .collect();
        let mut mechanism = Self {
            constraints,
            ring,
            directions,
            is_absolute,
            angles_from_directions: basis.inverse,
            columns: Vec::new(),
        };
        mechanism.columns = mechanism.make_columns(model, movable.as_deref());
        mechanism
    }

    /// Number of constraints.
    pub fn n_constraints(&self) -> usize {
        self.constraints.rows.len()
    }

    /// The constraints as polynomials, primitive over the integers.
    pub fn polynomials(&self) -> Vec<Polynomial> {
        let rows = self.constraints.rows.iter();
        rows.map(|row| self.polynomial(&row.waves).primitive_over_integers())
            .collect()
    }

    /// A trigonometric polynomial as a polynomial in the cosines and sines of the directions.
    pub fn polynomial(&self, waves: &Waves) -> Polynomial {
        self.polynomial_without(waves, &[])
    }

    /// The same without the terms of some directions.
    pub(crate) fn polynomial_without(&self, waves: &Waves, directions: &[usize]) -> Polynomial {
        let mut sum = Polynomial::zero();
        for (multiples, [a, b]) in waves.terms() {
            let mut left_out = directions.iter().map(|&at| &self.directions[at].multiples);
            if left_out.any(|own| own == multiples) {
                continue;
            }
            let [cosine, sine] = self.unit(multiples);
            sum = &sum + &(&(a * &cosine) + &(b * &sine));
        }
        sum
    }

    /// Cosine and sine of a combination of angles.
    fn unit(&self, multiples: &Multiples) -> [Polynomial; 2] {
        if multiples.is_empty() {
            return [Polynomial::one(), Polynomial::zero()];
        }
        // In the directions it is k V θ, with V the matrix that gives the angles.
        let parts = times_matrix(multiples, &self.angles_from_directions);
        let mut total = [Polynomial::one(), Polynomial::zero()];
        for (direction, multiple) in self.directions.iter().zip(parts) {
            let [cosine, sine] = [direction.cosine, direction.sine].map(Polynomial::variable);
            let sine = if multiple < 0 { -&sine } else { sine };
            for _ in 0..multiple.unsigned_abs() {
                let [c, s] = &total;
                total = [&(c * &cosine) - &(s * &sine), &(s * &cosine) + &(c * &sine)];
            }
        }
        total
    }

    /// The equations c^2 + s^2 = 1 of the directions.
    pub fn circle(&self, direction: usize) -> Polynomial {
        let Direction { cosine, sine, .. } = self.directions[direction];
        let [c, s] = [cosine, sine].map(|v| Polynomial::variable(v).pow(2));
        &(&c + &s) - &Polynomial::one()
    }

    fn make_columns(&self, model: &Model, movable: Option<&[usize]>) -> Vec<JacobianColumn> {
        let constraints = &self.constraints;
        let rows: Vec<&Waves> = constraints.rows.iter().map(|row| &row.waves).collect();
        let mut columns = Vec::new();
        match movable {
            Some(movable) => {
                for &at in movable {
                    let direction = &self.directions[at];
                    let parts: Vec<Waves> = rows
                        .iter()
                        .map(|waves| waves.derivative_by_direction(&direction.multiples))
                        .collect();
                    columns.push(self.column(direction.name.clone(), &parts, Some(at)));
                }
            }
            None => {
                for (at, angle) in constraints.angles.iter().enumerate() {
                    if constraints.locked.contains(&angle.unknown) {
                        continue;
                    }
                    let parts: Vec<Waves> = rows.iter().map(|waves| waves.derivative(at)).collect();
                    let name = model.unknowns[angle.unknown].name.clone();
                    columns.push(self.column(name, &parts, None));
                }
            }
        }
        for &(unknown, variable) in &constraints.positions {
            if constraints.locked.contains(&unknown) {
                continue;
            }
            let parts: Vec<Waves> = rows
                .iter()
                .map(|waves| waves.map(|p| p.derivative(variable)))
                .collect();
            let name = model.unknowns[unknown].name.clone();
            columns.push(self.column(name, &parts, None));
        }
        columns
    }

    /// Collects the functions of a column.
    fn column(&self, name: String, parts: &[Waves], direction: Option<usize>) -> JacobianColumn {
        type Key = (Multiples, bool, Monomial);
        let mut forms: BTreeMap<Key, Vec<Polynomial>> = BTreeMap::new();
        for (row, waves) in parts.iter().enumerate() {
            for (multiples, pair) in waves.terms() {
                for (is_sine, p) in [false, true].into_iter().zip(pair) {
                    for (positions, coefficient) in by_positions(p, &self.ring) {
                        let key = (multiples.clone(), is_sine, positions);
                        let form = forms
                            .entry(key)
                            .or_insert_with(|| vec![Polynomial::zero(); parts.len()]);
                        form[row] = coefficient;
                    }
                }
            }
        }
        if let Some(at) = direction
            && forms.keys().all(|(_, _, positions)| positions.is_one())
        {
            let multiples = &self.directions[at].multiples;
            let form = |is_sine| {
                let key = (multiples.clone(), is_sine, Monomial::one());
                let none = || vec![Polynomial::zero(); parts.len()];
                forms.get(&key).cloned().unwrap_or_else(none)
            };
            return JacobianColumn {
                name,
                body: Some(at),
                functions: self.unit(multiples).to_vec(),
                forms: vec![form(false), form(true)],
            };
        }
        let (functions, forms) = forms
            .into_iter()
            .map(|((multiples, is_sine, positions), form)| {
                let unit = &self.unit(&multiples)[usize::from(is_sine)];
                (unit.times_term(&positions, &IBig::ONE), form)
            })
            .unzip();
        JacobianColumn {
            name,
            body: None,
            functions,
            forms,
        }
    }
}

impl Waves {
    /// The derivative by a direction that is a coordinate.
    fn derivative_by_direction(&self, multiples: &Multiples) -> Self {
        let first = multiples.iter().position(|k| *k != 0).unwrap_or(0);
        let only = self.only(multiples);
        let number = Polynomial::constant(multiples.get(first).copied().unwrap_or(1));
        only.derivative(first)
            .map(|p| p.divide_exactly(&number).expect("multiples divide"))
    }
}

/// The directions that move when some coordinates are locked, if the others move them one by one: the columns of the
/// unlocked angles span coordinate axes.
fn unlocked_directions(directions: &[Multiples], constraints: &Constraints) -> Option<Vec<usize>> {
    let is_locked = |at: &usize| {
        constraints
            .locked
            .contains(&constraints.angles[*at].unknown)
    };
    let transposed: Vec<Vec<_>> = (0..constraints.angles.len())
        .filter(|at| !is_locked(at))
        .map(|at| {
            let multiple = |k: &Multiples| k.get(at).copied().unwrap_or(0);
            let column = directions.iter().map(multiple);
            column.map(|n| Polynomial::constant(n).into()).collect()
        })
        .collect();
    let field = ExactField {
        ring: &constraints.ring,
    };
    let (rows, pivots) = echelon(&field, &transposed);
    let is_unit = |row: &Vec<daelight_algebra::Fraction>| {
        row.iter().filter(|entry| !entry.is_zero()).count() == 1
    };
    rows.iter().all(is_unit).then_some(pivots)
}

/// Directions that determine the angles up to full turns and are determined by them.
struct LatticeBasis {
    directions: Vec<Multiples>,
    /// The matrix V with y = V θ.
    inverse: Vec<Vec<i32>>,
}

impl LatticeBasis {
    /// The angles themselves.
    fn of_angles(n: usize) -> Self {
        let inverse = (0..n).map(|at| unit_row(at, n)).collect();
        let directions = (0..n).map(|at| unit_row(at, at + 1)).collect();
        Self {
            directions,
            inverse,
        }
    }
}

fn unit_row(at: usize, n: usize) -> Vec<i32> {
    (0..n).map(|other| i32::from(other == at)).collect()
}

/// The product of a row with a matrix; a shorter row ends with zeros.
fn times_matrix(row: &[i32], matrix: &[Vec<i32>]) -> Vec<i32> {
    let n = matrix.first().map_or(0, Vec::len);
    let column = |at: usize| row.iter().zip(matrix).map(|(k, v)| k * v[at]).sum();
    (0..n).map(column).collect()
}

/// Combinations of n angles as part of a basis of all whole combinations, completed by angles: `None` where they are
/// dependent, where a part of a basis would have to be finer than they are, or where single angles do not complete it.
///
/// Column operations on V = 1 bring the combinations K to K V = 1 one by one; then V is the inverse of K.
fn lattice_basis(combinations: &[Multiples], n: usize) -> Option<LatticeBasis> {
    let mut v: Vec<Vec<IBig>> = (0..n)
        .map(|at| unit_row(at, n).into_iter().map(IBig::from).collect())
        .collect();
    let mut directions: Vec<Multiples> = Vec::new();
    let units = (0..n).map(|at| unit_row(at, at + 1));
    let candidates = combinations.iter().cloned().map(|k| (k, true));
    for (k, is_needed) in candidates.chain(units.map(|k| (k, false))) {
        let at = directions.len();
        if bring_to_unit(&k, at, &mut v) {
            directions.push(k);
        } else if is_needed {
            return None;
        }
    }
    let whole = |row: &Vec<IBig>| -> Option<Vec<i32>> {
        row.iter().map(|entry| i32::try_from(entry).ok()).collect()
    };
    let inverse = v.iter().map(whole).collect::<Option<_>>()?;
    (directions.len() == n).then_some(LatticeBasis {
        directions,
        inverse,
    })
}

/// Changes the columns of V from `at` on, by whole combinations that can be undone, until k V is the unit row of `at`;
/// `false` if the entries from there on have another greatest common divisor than 1.
fn bring_to_unit(k: &[i32], at: usize, v: &mut [Vec<IBig>]) -> bool {
    let n = v.len();
    let mut row: Vec<IBig> = (0..n)
        .map(|column| {
            let terms = k.iter().zip(v.iter());
            terms.fold(IBig::ZERO, |sum, (k, v)| sum + IBig::from(*k) * &v[column])
        })
        .collect();
    loop {
        let entries = (at..n).filter(|&column| !row[column].is_zero());
        let Some(smallest) = entries.min_by_key(|&column| integer::abs(&row[column])) else {
            return false;
        };
        row.swap(at, smallest);
        v.iter_mut().for_each(|row| row.swap(at, smallest));
        for column in at + 1..n {
            let factor = &row[column] / &row[at];
            subtract_column(&factor, at, column, &mut row, v);
        }
        if row[at + 1..].iter().all(IBig::is_zero) {
            break;
        }
    }
    if !integer::abs(&row[at]).is_one() {
        return false;
    }
    if integer::is_negative(&row[at]) {
        row[at] = IBig::ONE;
        v.iter_mut().for_each(|row| row[at] = -&row[at]);
    }
    for column in 0..at {
        let factor = row[column].clone();
        subtract_column(&factor, at, column, &mut row, v);
    }
    true
}

/// Subtracts a multiple of one column from another.
fn subtract_column(
    factor: &IBig,
    from: usize,
    column: usize,
    row: &mut Vec<IBig>,
    v: &mut [Vec<IBig>],
) {
    if factor.is_zero() {
        return;
    }
    for row in v.iter_mut().chain(std::iter::once(row)) {
        let change = factor * &row[from];
        row[column] -= change;
    }
}

/// A combination of angles as text.
fn combination(model: &Model, constraints: &Constraints, multiples: &[i32]) -> String {
    let mut text = String::new();
    for (angle, &multiple) in constraints.angles.iter().zip(multiples) {
        if multiple == 0 {
            continue;
        }
        text.push_str(match (text.is_empty(), multiple < 0) {
            (true, false) => "",
            (true, true) => "-",
            (false, false) => " + ",
            (false, true) => " - ",
        });
        let ratio = RBig::from_parts(IBig::from(multiple.abs()), angle.over.into());
        if !ratio.numerator().is_one() {
            text.push_str(&format!("{}*", ratio.numerator()));
        }
        let name = &model.unknowns[angle.unknown].name;
        let is_alone = ratio.is_one() && multiples.iter().filter(|k| **k != 0).count() == 1;
        match angle.shift.text.as_str() {
            "" => text.push_str(name),
            shift if is_alone && multiple > 0 => text.push_str(&format!("{name}{shift}")),
            shift => text.push_str(&format!("({name}{shift})")),
        }
        if !ratio.denominator().is_one() {
            text.push_str(&format!("/{}", ratio.denominator()));
        }
    }
    text
}

/// The difference of two combinations as text, and whether its sign was changed so that it begins with a plus.
pub(crate) fn difference(
    model: &Model,
    constraints: &Constraints,
    a: &[i32],
    b: &[i32],
) -> (String, bool) {
    let entry = |k: &[i32], at: usize| k.get(at).copied().unwrap_or(0);
    let mut difference: Vec<i32> = (0..a.len().max(b.len()))
        .map(|at| entry(a, at) - entry(b, at))
        .collect();
    let is_negative = difference.iter().find(|k| **k != 0).is_some_and(|k| *k < 0);
    if is_negative {
        difference.iter_mut().for_each(|k| *k = -*k);
    }
    (combination(model, constraints, &difference), is_negative)
}
