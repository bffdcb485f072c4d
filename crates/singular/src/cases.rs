//! The cases of a singular configuration: what the forces on a flat demand of the bodies, section 5 of
//! `docs/theory/configurations.md`.

use crate::field::{Field, Matrix, rank};
use crate::flats::{Flat, FlatBudget, Flats, Forms, restricted};
use crate::mechanism::Mechanism;
use std::fmt;

/// A number as a rotation with a scale: x + iy stands for [[x, -y], [y, x]].
pub type Rotation<E> = [E; 2];

/// Bodies whose forces are turned copies of each other: they are aligned up to these turns.
#[derive(Clone, PartialEq, Debug)]
pub struct BodyClass<E> {
    /// Columns of the bodies, each with the rotation that turns the force on the first into its own.
    pub members: Vec<(usize, Rotation<E>)>,
}

/// One way to be singular: conditions on directions and positions under which multipliers of a flat exist.
#[derive(Clone, PartialEq, Debug)]
pub struct Case<E> {
    /// The multipliers, and the columns without force.
    pub flat: Flat<E>,
    /// Bodies that are aligned with each other; a class may have one member.
    pub classes: Vec<BodyClass<E>>,
    /// Bodies with a force of fixed direction, which they take, up to its sense.
    pub fixed: Vec<(usize, Rotation<E>)>,
    /// Columns of a single form: the sum of coefficients times functions of the column must vanish.
    pub vanishing: Vec<(usize, Vec<E>)>,
    /// The columns of the matrix whose maximal minors vanish: one for each class, and the others of two or more forms.
    pub rows: Vec<usize>,
    /// A case without minors that holds wherever this one does.
    pub contained_in: Option<usize>,
}

impl<E> Case<E> {
    /// Dimension of the multipliers.
    pub fn dimension(&self) -> usize {
        self.flat.basis.len()
    }

    /// Whether minors have to vanish; otherwise there are fewer rows than multipliers.
    pub fn has_minors(&self) -> bool {
        self.rows.len() >= self.dimension()
    }
}

/// All cases of a mechanism.
#[derive(Clone, Debug)]
pub struct Cases<E> {
    /// The cases.
    pub list: Vec<Case<E>>,
    /// What is missing, if these are not all.
    pub missing: Option<Missing>,
    /// Whether all ranks were decided in the field itself, and not at random values.
    pub is_proved: bool,
}

/// What a list of cases lacks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Missing {
    /// Flats that were found and not written as cases.
    pub n_flats: usize,
    /// All flats that up to so many columns generate were found; `None` if all flats were.
    pub all_up_to: Option<usize>,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the list of cases is not complete")?;
        if self.n_flats > 0 {
            let n = self.n_flats;
            write!(f, "; {n} of the flats that were found are not in it")?;
        }
        match self.all_up_to {
            None => Ok(()),
            Some(0) => f.write_str(
                "; cases in which something is asked to carry no force were not all looked for",
            ),
            Some(n) => write!(
                f,
                "; cases in which more than {n} columns have to be asked to carry no force were not all looked for"
            ),
        }
    }
}

impl<E> Cases<E> {
    /// Whether these are all.
    pub fn is_complete(&self) -> bool {
        self.missing.is_none()
    }
}

impl<E: Clone + PartialEq> Cases<E> {
    /// Finds the cases in a field.
    pub fn new<F: Field<Element = E>>(
        field: &F,
        mechanism: &Mechanism,
        budget: FlatBudget<'_>,
    ) -> Self {
        let forms = Forms::new(field, mechanism);
        let flats = Flats::new(field, &forms, budget);
        let mut n_flats = flats.list.len();
        let mut list: Vec<Case<E>> = Vec::new();
        for flat in flats.list {
            if budget.ends_cases() {
                break;
            }
            n_flats -= 1;
            list.extend(case(field, mechanism, &forms, flat));
        }
        prune(field, &mut list, &|| budget.ends_cases());
        let all_up_to = flats.all_up_to;
        let is_complete = n_flats == 0 && all_up_to.is_none();
        Self {
            list,
            missing: (!is_complete).then_some(Missing { n_flats, all_up_to }),
            is_proved: true,
        }
    }

    /// The cases that are in no other one, with their numbers.
    pub fn kept(&self) -> impl Iterator<Item = (usize, &Case<E>)> {
        let all = self.list.iter().enumerate();
        all.filter(|(_, case)| case.contained_in.is_none())
    }
}

/// The conditions of a flat; `None` when they cannot hold.
pub fn case<F: Field>(
    field: &F,
    mechanism: &Mechanism,
    forms: &Forms<F::Element>,
    flat: Flat<F::Element>,
) -> Option<Case<F::Element>> {
    let mut case = Case {
        flat,
        classes: Vec::new(),
        fixed: Vec::new(),
        vanishing: Vec::new(),
        rows: Vec::new(),
        contained_in: None,
    };
    let mut forces: Vec<[Vec<F::Element>; 2]> = Vec::new();
    for (at, column) in mechanism.columns.iter().enumerate() {
        if case.flat.closed.contains(&at) {
            continue;
        }
        let values: Matrix<F::Element> = forms.columns[at]
            .iter()
            .map(|form| restricted(field, form, &case.flat.basis))
            .collect();
        let n_forms = rank(field, &values);
        if n_forms == 1 {
            // One form times a function: the function is 0.
            let coefficients = single_form(field, &values);
            if column.body.is_some() {
                // C beta - S alpha = 0 for the direction (alpha, beta).
                let direction = [
                    field.sub(&field.zero(), &coefficients[1]),
                    coefficients[0].clone(),
                ];
                case.fixed.push((at, direction));
            } else if column.is_constant_for(|at| !field.is_zero(&coefficients[at])) {
                return None;
            } else {
                case.vanishing.push((at, coefficients));
            }
            continue;
        }
        if column.body.is_none() {
            case.rows.push(at);
            continue;
        }
        let force = force(field, &values);
        let firsts = forces.iter().enumerate();
        let found = firsts
            .filter_map(|(which, first)| Some((which, rotation(field, &force, first)?)))
            .next();
        match found {
            Some((which, rotation)) => case.classes[which].members.push((at, rotation)),
            None => {
                let identity = [field.one(), field.zero()];
                case.classes.push(BodyClass {
                    members: vec![(at, identity)],
                });
                case.rows.push(at);
                forces.push(force);
            }
        }
    }
    Some(case)
}

/// The force on a body: the values of alpha and beta, from the coefficients beta of the cosine and -alpha of the sine.
pub(crate) fn force<F: Field>(field: &F, values: &[Vec<F::Element>]) -> [Vec<F::Element>; 2] {
    let negated = |a: &F::Element| field.sub(&field.zero(), a);
    [values[1].iter().map(negated).collect(), values[0].clone()]
}

/// The coefficients of forms that are all multiples of one.
fn single_form<F: Field>(field: &F, values: &[Vec<F::Element>]) -> Vec<F::Element> {
    let at = |form: &Vec<F::Element>| form.iter().position(|v| !field.is_zero(v));
    let column = values.iter().find_map(at).unwrap_or(0);
    values.iter().map(|form| form[column].clone()).collect()
}

/// The rotation that turns one force into another: as complex forms, the quotient if it is a number.
fn rotation<F: Field>(
    field: &F,
    [a, b]: &[Vec<F::Element>; 2],
    [c, d]: &[Vec<F::Element>; 2],
) -> Option<Rotation<F::Element>> {
    let at = (0..c.len()).find(|&at| !field.is_zero(&c[at]) || !field.is_zero(&d[at]))?;
    let quotient = quotient(field, [&a[at], &b[at]], [&c[at], &d[at]]);
    let [x, y] = &quotient;
    let fits = (0..c.len()).all(|at| {
        let real = field.sub(&field.mul(x, &c[at]), &field.mul(y, &d[at]));
        let imaginary = field.add(&field.mul(y, &c[at]), &field.mul(x, &d[at]));
        real == a[at] && imaginary == b[at]
    });
    fits.then_some(quotient)
}

/// (a + ib) / (c + id); a sum of two squares is 0 only if both are.
pub(crate) fn quotient<F: Field>(
    field: &F,
    [a, b]: [&F::Element; 2],
    [c, d]: [&F::Element; 2],
) -> Rotation<F::Element> {
    let scale = field.inverse(&field.add(&field.mul(c, c), &field.mul(d, d)));
    let real = field.add(&field.mul(a, c), &field.mul(b, d));
    let imaginary = field.sub(&field.mul(b, c), &field.mul(a, d));
    [field.mul(&real, &scale), field.mul(&imaginary, &scale)]
}

/// The Jacobian at a point: one row for each column of the mechanism, in the values that a field has for the unknowns.
pub fn jacobian<F: Field>(
    field: &F,
    mechanism: &Mechanism,
    forms: &Forms<F::Element>,
) -> Matrix<F::Element> {
    let columns = mechanism.columns.iter().zip(&forms.columns);
    columns
        .map(|(column, forms)| {
            let mut row = vec![field.zero(); mechanism.n_constraints()];
            for (function, form) in column.functions.iter().zip(forms) {
                let value = field.element(function);
                for (entry, coefficient) in row.iter_mut().zip(form) {
                    *entry = field.add(entry, &field.mul(&value, coefficient));
                }
            }
            row
        })
        .collect()
}

impl<E: Clone + PartialEq> Case<E> {
    /// Whether the conditions hold at a point, given by the values that a field has for the unknowns.
    pub fn holds<F: Field<Element = E>>(
        &self,
        field: &F,
        mechanism: &Mechanism,
        jacobian: &[Vec<E>],
    ) -> bool {
        let unit = |column: usize| -> [E; 2] {
            let functions = &mechanism.columns[column].functions;
            [0, 1].map(|at| field.element(&functions[at]))
        };
        let parallel = |[x, y]: [E; 2], [u, v]: [E; 2]| field.mul(&x, &v) == field.mul(&y, &u);
        let aligned = self.classes.iter().all(|class| {
            let [c, s] = unit(class.members[0].0);
            class.members[1..].iter().all(|(column, [x, y])| {
                let real = field.sub(&field.mul(x, &c), &field.mul(y, &s));
                let imaginary = field.add(&field.mul(y, &c), &field.mul(x, &s));
                parallel(unit(*column), [real, imaginary])
            })
        });
        let fixed =
            |(column, direction): &(usize, Rotation<E>)| parallel(unit(*column), direction.clone());
        let vanishes = |(column, coefficients): &(usize, Vec<E>)| {
            let functions = mechanism.columns[*column].functions.iter();
            let values: Vec<E> = functions.map(|f| field.element(f)).collect();
            field.is_zero(&crate::field::dot(field, &values, coefficients))
        };
        aligned
            && self.fixed.iter().all(fixed)
            && self.vanishing.iter().all(vanishes)
            && (!self.has_minors() || {
                let rows = self.rows.iter();
                let matrix: Matrix<E> = rows
                    .map(|&column| restricted(field, &jacobian[column], &self.flat.basis))
                    .collect();
                rank(field, &matrix) < self.dimension()
            })
    }
}

/// Marks the cases whose conditions contain all those of a case without minors: (9).
///
/// When the time is over the rest is kept, which is right as well.
fn prune<F: Field>(field: &F, cases: &mut [Case<F::Element>], is_over: &dyn Fn() -> bool) {
    for at in 0..cases.len() {
        if is_over() {
            return;
        }
        let container = (0..cases.len()).find(|&other| {
            other != at
                && cases[other].contained_in.is_none()
                && !cases[other].has_minors()
                && implies(field, &cases[at], &cases[other])
        });
        cases[at].contained_in = container;
    }
}

/// Whether the conditions of the first case contain those of the second, which has no minors.
fn implies<F: Field>(field: &F, a: &Case<F::Element>, b: &Case<F::Element>) -> bool {
    let parallel = |[x, y]: &Rotation<F::Element>, [u, v]: &Rotation<F::Element>| {
        field.mul(x, v) == field.mul(y, u)
    };
    let is_fixed = |(column, direction): &(usize, Rotation<F::Element>)| {
        a.fixed
            .iter()
            .any(|(other, same)| other == column && parallel(direction, same))
    };
    let is_aligned = |class: &BodyClass<F::Element>| {
        let (first, _) = class.members[0];
        class.members[1..].iter().all(|(member, rotation)| {
            relative(field, a, *member, first).is_some_and(|known| parallel(rotation, &known))
        })
    };
    let vanishes = |(column, coefficients): &(usize, Vec<F::Element>)| {
        a.vanishing.iter().any(|(other, known)| {
            other == column && rank(field, &[coefficients.clone(), known.clone()]) == 1
        })
    };
    b.fixed.iter().all(is_fixed)
        && b.classes.iter().all(is_aligned)
        && b.vanishing.iter().all(vanishes)
}

/// The rotation between two bodies that a case demands, up to scale.
fn relative<F: Field>(
    field: &F,
    case: &Case<F::Element>,
    member: usize,
    first: usize,
) -> Option<Rotation<F::Element>> {
    fn find<E>(list: &[(usize, Rotation<E>)], column: usize) -> Option<&Rotation<E>> {
        list.iter()
            .find(|(at, _)| *at == column)
            .map(|(_, rotation)| rotation)
    }
    let lists = case.classes.iter().map(|class| &class.members);
    lists
        .chain([&case.fixed])
        .find_map(|list| Some((find(list, member)?, find(list, first)?)))
        .map(|([a, b], [c, d])| quotient(field, [a, b], [c, d]))
}
