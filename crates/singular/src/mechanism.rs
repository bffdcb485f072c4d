//! The Jacobian of the constraints in absolute directions: sections 2 and 3 of `docs/theory/configurations.md`.

use crate::constraints::Constraints;
use crate::field::{ExactField, echelon};
use crate::ring::{Meaning, Ring};
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
pub struct Column {
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

impl Column {
    /// Whether it is the same everywhere: its forms must vanish in every singular configuration.
    pub fn is_constant(&self) -> bool {
        self.functions.iter().all(Polynomial::is_constant)
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
    /// Whether the directions are independent combinations of the angles; otherwise they are the angles themselves.
    pub is_absolute: bool,
    /// Whether directions and angles determine each other up to full turns.
    pub is_lattice_basis: bool,
    /// The columns, those of locked coordinates left out.
    pub columns: Vec<Column>,
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
        let padded = |k: &Multiples| -> Vec<Polynomial> {
            let entry = |at| Polynomial::constant(k.get(at).copied().unwrap_or(0));
            (0..n_angles).map(entry).collect()
        };
        let matrix: Vec<Vec<Polynomial>> = multiples.iter().map(padded).collect();
        let mut is_absolute = row_rank(&matrix, &constraints.ring) == multiples.len();
        let unlocked = is_absolute.then(|| unlocked_directions(&matrix, &constraints));
        let movable = unlocked.flatten();
        is_absolute &= movable.is_some();
        if !is_absolute {
            multiples = (0..n_angles)
                .map(|at| {
                    let mut unit = vec![0; at + 1];
                    unit[at] = 1;
                    unit
                })
                .collect();
        }
        let is_lattice_basis = !is_absolute || common_minor(&matrix, &constraints.ring).is_one();
        let mut ring = constraints.ring.clone();
        let directions: Vec<Direction> = multiples
            .into_iter()
            .enumerate()
            .map(|(at, multiples)| {
                let name = combination(model, &constraints, &multiples);
                Direction {
                    cosine: ring.add(format!("cos({name})"), Meaning::Cosine(at), None),
                    sine: ring.add(format!("sin({name})"), Meaning::Sine(at), None),
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
            is_lattice_basis,
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
        let own = self.directions.iter().find(|d| d.multiples == *multiples);
        if let Some(direction) = own {
            return [direction.cosine, direction.sine].map(Polynomial::variable);
        }
        let mut total = [Polynomial::one(), Polynomial::zero()];
        for (direction, &multiple) in self.directions.iter().zip(multiples) {
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

    fn make_columns(&self, model: &Model, movable: Option<&[usize]>) -> Vec<Column> {
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
    fn column(&self, name: String, parts: &[Waves], direction: Option<usize>) -> Column {
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
            return Column {
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
        Column {
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

fn row_rank(matrix: &[Vec<Polynomial>], ring: &Ring) -> usize {
    let field = ExactField { ring };
    let fractions: Vec<Vec<_>> = matrix
        .iter()
        .map(|row| row.iter().cloned().map(Into::into).collect())
        .collect();
    echelon(&field, &fractions).1.len()
}

/// The directions that move when some coordinates are locked, if the others move them one by one: the columns of the
/// unlocked angles span coordinate axes.
fn unlocked_directions(
    matrix: &[Vec<Polynomial>],
    constraints: &Constraints,
) -> Option<Vec<usize>> {
    let is_locked = |at: &usize| {
        constraints
            .locked
            .contains(&constraints.angles[*at].unknown)
    };
    let transposed: Vec<Vec<_>> = (0..constraints.angles.len())
        .filter(|at| !is_locked(at))
        .map(|at| matrix.iter().map(|row| row[at].clone().into()).collect())
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

/// The greatest common divisor of the maximal minors of a matrix of whole numbers of full row rank, by its Hermite form.
fn common_minor(matrix: &[Vec<Polynomial>], ring: &Ring) -> IBig {
    debug_assert_eq!(row_rank(matrix, ring), matrix.len());
    let entry = |p: &Polynomial| p.as_constant().unwrap_or(IBig::ZERO);
    let mut rows: Vec<Vec<IBig>> = matrix
        .iter()
        .map(|row| row.iter().map(entry).collect())
        .collect();
    let n_columns = rows.first().map_or(0, Vec::len);
    let mut product = IBig::ONE;
    for at in 0..rows.len() {
        // Column operations bring the greatest common divisor of the rest of the row to the diagonal.
        loop {
            let smallest = (at..n_columns)
                .filter(|&column| !rows[at][column].is_zero())
                .min_by_key(|&column| integer::abs(&rows[at][column]));
            let Some(smallest) = smallest else { break };
            rows.iter_mut().for_each(|row| row.swap(at, smallest));
            let mut is_done = true;
            for column in at + 1..n_columns {
                let factor = &rows[at][column] / &rows[at][at];
                for row in &mut rows {
                    let change = &factor * &row[at];
                    row[column] -= change;
                }
                is_done &= rows[at][column].is_zero();
            }
            if is_done {
                break;
            }
        }
        if at < n_columns {
            product *= integer::abs(&rows[at][at]);
        }
    }
    product
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
        text.push_str(&model.unknowns[angle.unknown].name);
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
