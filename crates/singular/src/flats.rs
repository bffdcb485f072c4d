//! The flats of the forms of a Jacobian: section 4 of `docs/theory/configurations.md`.

use crate::field::{Field, Matrix, dot, kernel};
use crate::mechanism::Mechanism;
use std::collections::{BTreeSet, VecDeque};

/// The forms of the columns as elements of a field.
#[derive(Clone, Debug)]
pub struct Forms<E> {
    /// For each column and function, one coefficient for each constraint.
    pub columns: Vec<Matrix<E>>,
    /// Number of constraints.
    pub n_constraints: usize,
    /// Columns that are the same everywhere.
    pub constant: Vec<bool>,
}

impl<E: Clone> Forms<E> {
    /// The forms of a mechanism in a field.
    pub fn new<F: Field<Element = E>>(field: &F, mechanism: &Mechanism) -> Self {
        let columns = mechanism.columns.iter().map(|column| {
            let forms = column.forms.iter();
            let elements = |form: &Vec<_>| form.iter().map(|p| field.element(p)).collect();
            forms.map(elements).collect()
        });
        Self {
            columns: columns.collect(),
            n_constraints: mechanism.n_constraints(),
            constant: mechanism.columns.iter().map(|c| c.is_constant()).collect(),
        }
    }
}

/// How many flats may be listed, and until when.
#[derive(Clone, Copy)]
pub struct FlatBudget<'a> {
    /// Most flats.
    pub flats: usize,
    /// The part of the time that is gone: 1 when it is over.
    pub spent: &'a dyn Fn() -> f64,
}

impl FlatBudget<'_> {
    /// Whether no more flats are listed: the rest of the time is for what they say.
    pub(crate) fn ends_flats(&self) -> bool {
        (self.spent)() >= 0.5
    }

    /// Whether no more cases are made of them: the rest of the time is for what cases demand.
    pub(crate) fn ends_cases(&self) -> bool {
        (self.spent)() >= 0.75
    }
}

/// Multipliers on which the columns of a set vanish, and no others.
#[derive(Clone, PartialEq, Debug)]
pub struct Flat<E> {
    /// The columns that vanish, ascending.
    pub closed: Vec<usize>,
    /// A basis of the multipliers.
    pub basis: Matrix<E>,
}

/// The flats, or as many as the budget allows.
#[derive(Clone, Debug)]
pub struct Flats<E> {
    /// The flats, largest space first.
    pub list: Vec<Flat<E>>,
    /// If these are not all: those that up to so many columns generate are.
    pub all_up_to: Option<usize>,
}

impl<E: Clone + PartialEq> Flats<E> {
    /// Enumerates the flats, breadth first.
    pub fn new<F: Field<Element = E>>(field: &F, forms: &Forms<E>, budget: FlatBudget<'_>) -> Self {
        let forced: Matrix<E> = (0..forms.columns.len())
            .filter(|&column| forms.constant[column])
            .flat_map(|column| forms.columns[column].clone())
            .collect();
        let basis = kernel(field, &forced, forms.n_constraints);
        let mut flats = Self {
            list: Vec::new(),
            all_up_to: None,
        };
        if basis.is_empty() {
            return flats;
        }
        let first = closed(field, forms, basis);
        let mut seen = BTreeSet::from([first.closed.clone()]);
        // With the least number of columns that generate them, which never falls.
        let mut queue = VecDeque::from([(first, 0)]);
        'all: while let Some((flat, n_columns)) = queue.pop_front() {
            if flats.list.len() == budget.flats {
                flats.all_up_to = Some(n_columns - 1);
                break;
            }
            for column in 0..forms.columns.len() {
                if budget.ends_flats() {
                    // All that as many columns generate are known, only the next ones are not.
                    flats.all_up_to = Some(n_columns);
                    let known =
                        std::iter::once(flat).chain(queue.into_iter().map(|(flat, _)| flat));
                    let room = budget.flats - flats.list.len();
                    flats.list.extend(known.take(room));
                    break 'all;
                }
                if flat.closed.contains(&column) {
                    continue;
                }
                let basis = vanishing(field, &forms.columns[column], &flat.basis);
                if basis.is_empty() {
                    continue;
                }
                let next = closed(field, forms, basis);
                if seen.insert(next.closed.clone()) {
                    queue.push_back((next, n_columns + 1));
                }
            }
            flats.list.push(flat);
        }
        flats
            .list
            .sort_by_key(|flat| std::cmp::Reverse(flat.basis.len()));
        flats
    }
}

/// A form on a space: its values on the basis.
pub(crate) fn restricted<F: Field>(
    field: &F,
    form: &[F::Element],
    basis: &[Vec<F::Element>],
) -> Vec<F::Element> {
    basis
        .iter()
        .map(|vector| dot(field, form, vector))
        .collect()
}

/// The part of a space on which forms vanish.
fn vanishing<F: Field>(
    field: &F,
    forms: &[Vec<F::Element>],
    basis: &[Vec<F::Element>],
) -> Matrix<F::Element> {
    let rows: Matrix<F::Element> = forms
        .iter()
        .map(|form| restricted(field, form, basis))
        .collect();
    let n = basis.first().map_or(0, Vec::len);
    kernel(field, &rows, basis.len())
        .into_iter()
        .map(|weights| {
            let entry = |at: usize| {
                let column: Vec<F::Element> = basis.iter().map(|v| v[at].clone()).collect();
                dot(field, &weights, &column)
            };
            (0..n).map(entry).collect()
        })
        .collect()
}

/// The flat of a space: all columns that vanish on it.
fn closed<F: Field>(
    field: &F,
    forms: &Forms<F::Element>,
    basis: Matrix<F::Element>,
) -> Flat<F::Element> {
    let vanishes = |column: &usize| {
        forms.columns[*column].iter().all(|form| {
            let values = restricted(field, form, &basis);
            values.iter().all(|value| field.is_zero(value))
        })
    };
    Flat {
        closed: (0..forms.columns.len()).filter(vanishes).collect(),
        basis,
    }
}

/// The flat of a set of columns in another field, where the same columns are closed.
pub fn flat_of<F: Field>(
    field: &F,
    forms: &Forms<F::Element>,
    columns: &[usize],
) -> Flat<F::Element> {
    let rows: Matrix<F::Element> = (0..forms.columns.len())
        .filter(|column| forms.constant[*column] || columns.contains(column))
        .flat_map(|column| forms.columns[column].clone())
        .collect();
    closed(field, forms, kernel(field, &rows, forms.n_constraints))
}
