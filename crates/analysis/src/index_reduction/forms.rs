//! Minimal extension, and the forms in which reduced equations are written.

use super::Form;
use super::refusal::Refusal;
use super::rows::{Key, Layout, Row, VANISHING, Work};
use crate::system::System;
use daelight_expr::ExprId;
use daelight_lang::Symbol;
use std::collections::BTreeSet;

/// Numbers by which is divided lie between this and its inverse.
const SMALL: f64 = 1e-6;

/// Why an elimination ended early.
#[derive(Debug)]
pub(super) enum Stuck {
    TooLarge,
    /// No equation can be solved for this.
    At(Key),
}

impl Stuck {
    pub fn refusal(self, system: &System) -> Refusal {
        let Self::At((unknown, order)) = self else {
            return Refusal::TooLarge;
        };
        let mut name = String::new();
        let order = order as u32;
        if unknown < system.unknowns().len() {
            system.write_name(Symbol::Unknown { unknown, order }, &mut name);
        } else {
            name.push_str("an unknown that the repair introduced");
        }
        Refusal::NotSolvable { name }
    }
}

/// Whether a factor is a number that is safe to divide by.
pub(super) fn is_safe_number(work: &Work<'_>, factor: ExprId) -> bool {
    let number = work.graph.as_constant(factor);
    number.is_some_and(|number| (SMALL..=1.0 / SMALL).contains(&number.abs()))
}

/// Removes derivatives of order 2 and more that a differentiated equation gives with a constant factor, together with
/// that equation, (5) of `docs/theory/reduction.md`.
pub(super) fn drop_explicit(
    work: &mut Work<'_>,
    rows: &mut Vec<Row>,
    n_states: &[usize],
) -> Result<(), Refusal> {
    let mut at = rows.len();
    while at > 0 {
        at -= 1;
        if rows[at].times == 0 {
            continue;
        }
        let keys = work.row_keys(&rows[at]);
        let mut dummies: Vec<Key> = keys
            .into_iter()
            .filter(|&(unknown, order)| order >= 2 && order > n_states[unknown])
            .collect();
        dummies.sort_by_key(|&(unknown, order)| (std::cmp::Reverse(order), unknown));
        let residual = work.residual(&rows[at]);
        for key in dummies {
            let Some(factor) = work.factor(residual, key) else {
                continue;
            };
            if !is_safe_number(work, factor) {
                continue;
            }
            rows.remove(at);
            let value = work.solution(residual, key, factor);
            for row in rows.iter_mut() {
                work.substitute(row, key, value);
            }
            if work.is_too_large() {
                return Err(Refusal::TooLarge);
            }
            // Rows seen before may have lost what kept them.
            at = rows.len();
            break;
        }
    }
    Ok(())
}

/// Rewrites the rows in a form.
pub(super) fn bring_to(
    form: Form,
    work: &mut Work<'_>,
    rows: &mut [Row],
    layout: &mut Layout,
) -> Result<(), Stuck> {
    match form {
        Form::Implicit => Ok(()),
        Form::SemiExplicit => semi_explicit(work, rows, layout),
        Form::Explicit => explicit(work, rows, layout),
    }
}

/// x' = F, 0 = G: derivatives of states are solved for where their factor is a number, and named otherwise.
fn semi_explicit(work: &mut Work<'_>, rows: &mut [Row], layout: &mut Layout) -> Result<(), Stuck> {
    let leading: Vec<Key> = leading_keys(layout).collect();
    for key in leading {
        let mut best: Option<(usize, usize, ExprId)> = None;
        for (at, row) in rows.iter().enumerate() {
            if row.solved.is_some() || !work.row_keys(row).contains(&key) {
                continue;
            }
            let residual = work.residual(row);
            let Some(factor) = work.factor(residual, key) else {
                continue;
            };
            if is_safe_number(work, factor) {
                // The equation as written and the shortest one reads best.
                let cost = row.times * 1000 + work.size(residual);
                if best.is_none_or(|(least, ..)| cost < least) {
                    best = Some((cost, at, factor));
                }
            }
        }
        match best {
            Some((_, at, factor)) => {
                let value = work.solve(&mut rows[at], key, factor);
                replace_in_others(work, rows, at, key, value);
            }
            None => {
                layout.named.insert(key);
            }
        }
        if work.is_too_large() {
            return Err(Stuck::TooLarge);
        }
    }
    for row in rows.iter_mut().filter(|row| row.solved.is_none()) {
        let residual = work.residual(row);
        row.right = work.graph.tidy(&[residual])[0];
        row.left = work.graph.constant(0.0);
    }
    rows.sort_by_key(|row| row.solved.is_none());
    Ok(())
}

/// The derivative of the last state of each unknown that has states.
fn leading_keys(layout: &Layout) -> impl Iterator<Item = Key> + '_ {
    let states = layout.n_states.iter().copied().enumerate();
    states.filter(|&(_, n)| n > 0)
}

fn replace_in_others(work: &mut Work<'_>, rows: &mut [Row], at: usize, key: Key, value: ExprId) {
    for (other, row) in rows.iter_mut().enumerate() {
        if other == at {
            continue;
        }
        debug_assert_ne!(row.solved, Some(key), "nothing is solved for twice");
        work.substitute(row, key, value);
    }
}

/// x' = F, y = G: each row gives one unknown from states and from what other rows give before it.
///
/// Rows with one unknown are solved first and leave its name in the others. Where there is none, an unknown is eliminated
/// from the others, with a factor that is known and not zero at the point: numbers first, then what is short.
fn explicit(work: &mut Work<'_>, rows: &mut [Row], layout: &Layout) -> Result<(), Stuck> {
    let mut unknown: BTreeSet<Key> = BTreeSet::new();
    for row in rows.iter() {
        let keys = work.row_keys(row).into_iter();
        unknown.extend(keys.filter(|&key| !layout.is_state(key)));
    }
    // Rows in the order in which they can be evaluated: those solved at once, then the eliminated ones backwards.
    let (mut direct, mut eliminated) = (Vec::new(), Vec::new());
    while rows.iter().any(|row| row.solved.is_none()) {
        let (cost, at, key, factor) = cheapest(work, rows, layout, &unknown).map_err(Stuck::At)?;
        let value = work.solve(&mut rows[at], key, factor);
        unknown.remove(&key);
        if cost.eliminates {
            let divisors = rows[at].divisors.clone();
            for row in rows.iter_mut().filter(|row| row.solved.is_none()) {
                if work.row_keys(row).contains(&key) {
                    work.substitute(row, key, value);
                    row.note_divisors(&divisors);
                }
            }
            eliminated.push(key);
        } else {
            direct.push(key);
        }
        if work.is_too_large() {
            return Err(Stuck::TooLarge);
        }
    }
    direct.extend(eliminated.into_iter().rev());
    let place = |row: &Row| direct.iter().position(|key| row.solved == Some(*key));
    rows.sort_by_key(place);
    put_derivatives_left(work, rows, layout)?;
    match unknown.first() {
        None => Ok(()),
        Some(&key) => Err(Stuck::At(key)),
    }
}

/// The unknown of the open rows that is solved for next, from which row and with which factor; the first that is left where
/// none can be solved for.
fn cheapest(
    work: &mut Work<'_>,
    rows: &[Row],
    layout: &Layout,
    unknown: &BTreeSet<Key>,
) -> Result<(Cost, usize, Key, ExprId), Key> {
    let mut best: Option<(Cost, usize, Key, ExprId)> = None;
    let mut first_open = None;
    for (at, row) in rows.iter().enumerate() {
        if row.solved.is_some() {
            continue;
        }
        let keys = work.row_keys(row).into_iter();
        let open: Vec<Key> = keys.filter(|key| unknown.contains(key)).collect();
        first_open = first_open.or(open.first().copied());
        let residual = work.residual(row);
        for &key in &open {
            let Some(factor) = work.factor(residual, key) else {
                continue;
            };
            let in_factor = work.keys(factor);
            if in_factor.iter().any(|key| unknown.contains(key)) {
                continue;
            }
            let value = work.value(factor);
            if !value.is_finite() || value.abs() < VANISHING {
                continue;
            }
            let kind = match work.graph.as_constant(factor) {
                Some(_) if is_safe_number(work, factor) => 0,
                _ if in_factor.is_empty() => 1,
                _ => 2,
            };
            let cost = Cost {
                eliminates: open.len() > 1,
                kind,
                n_open: open.len(),
                is_algebraic: !layout.leads(key),
                size: work.size(factor),
            };
            if best.as_ref().is_none_or(|(least, ..)| cost < *least) {
                best = Some((cost, at, key, factor));
            }
        }
    }
    best.ok_or(first_open.or(unknown.first().copied()).unwrap_or((0, 0)))
}

/// Replaces what rows before give for derivatives, so that these stand on the left only, and puts their rows first.
fn put_derivatives_left(
    work: &mut Work<'_>,
    rows: &mut [Row],
    layout: &Layout,
) -> Result<(), Stuck> {
    for at in 0..rows.len() {
        let Some(key) = rows[at].solved.filter(|&key| layout.leads(key)) else {
            continue;
        };
        let (before, later) = rows.split_at_mut(at + 1);
        let solved = &before[at];
        for row in later {
            if work.row_keys(row).contains(&key) {
                work.substitute(row, key, solved.right);
                row.note_divisors(&solved.divisors);
            }
        }
        if work.is_too_large() {
            return Err(Stuck::TooLarge);
        }
    }
    rows.sort_by_key(|row| row.solved.is_none_or(|key| !layout.leads(key)));
    Ok(())
}

/// What a pivot of [`explicit`] costs, the most important first.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Cost {
    eliminates: bool,
    kind: u8,
    n_open: usize,
    is_algebraic: bool,
    size: usize,
}
