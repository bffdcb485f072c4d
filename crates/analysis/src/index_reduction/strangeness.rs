//! The strangeness-free form as text: d equations of the model and a constraints without derivatives.

use super::forms::{self, is_safe_number};
use super::refusal::Refusal;
use super::rows::{Key, Layout, Row, VANISHING, Work};
use super::selection::FIXED;
use super::{Form, Groundwork, IndexReduced, ReduceBy, finish};
use crate::tolerances::{DEPENDENT, VANISHES_AT_FOLD};
use daelight_expr::ExprId;
use daelight_linalg::{Mat, Qr};
use std::collections::BTreeMap;

/// Longest constraint that is written, in nodes.
const MAX_NODES: usize = 20_000;

/// What the equations say about derivatives, and the constraints that are left, (6) of `docs/theory/reduction.md`.
struct Separated {
    /// der(x) = right side, by x.
    rules: BTreeMap<usize, Row>,
    /// Rows without derivatives.
    constraints: Vec<Row>,
}

/// Chooses rows of the model and eliminates derivatives from the differentiated constraints.
pub(super) fn reduce(
    groundwork: &Groundwork<'_>,
    mut work: Work<'_>,
    form: Form,
) -> Result<IndexReduced, Refusal> {
    let n = groundwork.structure.n();
    let n_differential = groundwork.structure.n_degrees_of_freedom() as usize;
    let mut separated = separate(groundwork, &mut work)?;
    let constraints = prolong(groundwork, &mut work, &mut separated)?;
    if constraints.len() + n_differential != n {
        return Err(Refusal::NoText(format!(
            "{} constraints were found without derivatives, and {} are needed",
            constraints.len(),
            n - n_differential
        )));
    }
    let choice = choose(groundwork, &mut work, &constraints, n_differential)?;
    let mut rows = Vec::with_capacity(n);
    if form == Form::Implicit {
        for &equation in &choice.equations {
            rows.push(groundwork.row(&mut work, equation));
        }
    } else {
        for state in &choice.states {
            let rule = separated.rules.get(state);
            rows.push(
                rule.cloned()
                    .ok_or_else(|| unknown_rate(groundwork, *state))?,
            );
        }
    }
    rows.extend(constraints);
    let mut n_states = vec![0; n];
    choice.states.iter().for_each(|&state| n_states[state] = 1);
    let mut layout = Layout::of_states(&n_states);
    layout.keeps_derivatives = form == Form::Implicit;
    if form != Form::Implicit {
        rows.iter_mut().for_each(|row| row.solved = None);
        forms::bring_to(form, &mut work, &mut rows, &mut layout)
            .map_err(|stuck| stuck.refusal(groundwork.system))?;
    }
    let head = groundwork.head(ReduceBy::Strangeness, Some(choice.quality));
    let reduced = finish::model(groundwork, work, rows, &layout, head)?;
    if form != Form::Implicit {
        finish::check_structure(groundwork, &reduced)?;
    }
    Ok(reduced)
}

fn name_of<'g>(groundwork: &'g Groundwork<'_>, unknown: usize) -> &'g str {
    let unknowns = groundwork.system.unknowns();
    unknowns
        .get(unknown)
        .map_or("a new unknown", |u| u.name.as_str())
}

fn unknown_rate(groundwork: &Groundwork<'_>, unknown: usize) -> Refusal {
    let name = name_of(groundwork, unknown);
    Refusal::NoText(format!(
        "der({name}) is needed, and neither an equation nor the derivative of a constraint can be solved for it"
    ))
}

/// Solves the equations for derivatives one after the other: numbers as factors first, then what is short and not
/// zero at the point.
fn separate(groundwork: &Groundwork<'_>, work: &mut Work<'_>) -> Result<Separated, Refusal> {
    let zero = work.graph.constant(0.0);
    let residuals = groundwork.equations().residuals().iter();
    let mut rows: Vec<Row> = residuals
        .enumerate()
        .map(|(equation, &residual)| Row {
            left: residual,
            right: zero,
            note: String::new(),
            equation,
            times: 0,
            solved: None,
            divisors: Vec::new(),
        })
        .collect();
    loop {
        let mut best: Option<((bool, usize), usize, Key, ExprId)> = None;
        let mut left_over: Option<(usize, usize, f64)> = None;
        for (at, row) in rows.iter().enumerate() {
            if row.solved.is_some() {
                continue;
            }
            for key in work.row_keys(row).into_iter().filter(|key| key.1 > 0) {
                let factor = work.factor(row.left, key);
                let value = factor.map_or(f64::NAN, |factor| work.value(factor));
                left_over = Some((key.0, row.equation, value));
                let Some(factor) = factor else {
                    continue;
                };
                let is_rate = work.keys(factor).iter().any(|key| key.1 > 0);
                if key.1 > 1 || is_rate || !value.is_finite() || value.abs() < VANISHING {
                    continue;
                }
                let cost = (!is_safe_number(work, factor), work.size(row.left));
                if best.as_ref().is_none_or(|(least, ..)| cost < *least) {
                    best = Some((cost, at, key, factor));
                }
            }
        }
        let Some((_, at, key, factor)) = best else {
            match left_over {
                None => break,
                Some(left_over) => return Err(not_solvable(groundwork, left_over)),
            }
        };
        let value = work.solve(&mut rows[at], key, factor);
        let divisors = rows[at].divisors.clone();
        for (other, row) in rows.iter_mut().enumerate() {
            if other == at || !work.row_keys(row).contains(&key) {
                continue;
            }
            work.substitute(row, key, value);
            row.note_divisors(&divisors);
        }
        if work.is_too_large() {
            return Err(Refusal::TooLarge);
        }
    }
    let (solved, constraints): (Vec<Row>, Vec<Row>) =
        rows.into_iter().partition(|row| row.solved.is_some());
    let rules = solved.into_iter().filter_map(|mut row| {
        row.note = format!("from equation {}", row.equation + 1);
        Some((row.solved?.0, row))
    });
    Ok(Separated {
        rules: rules.collect(),
        constraints,
    })
}

/// Says that an equation holds the rate of an unknown with a factor by which it cannot be solved.
fn not_solvable(
    groundwork: &Groundwork<'_>,
    (unknown, equation, value): (usize, usize, f64),
) -> Refusal {
    let row = if equation < groundwork.system.written().len() {
        format!("equation {}", equation + 1)
    } else {
        "definition of a new unknown".to_string()
    };
    let factor = match value {
        value if value.is_nan() => "depends on it".to_string(),
        value if value.abs() < VANISHING => format!("is {value:.1e} at the point"),
        value => format!("holds other derivatives (its value is {value:.1e})"),
    };
    let name = name_of(groundwork, unknown);
    Refusal::NoText(format!(
        "the {row} cannot be solved for der({name}): its factor there {factor}"
    ))
}

/// Differentiates each constraint along the rules, level by level and at most as often as the offset of its equation says.
///
/// Where the rate of an unknown is needed that no equation gives, a constraint found before gives it by differentiation;
/// that constraint has then said all it says.
fn prolong(
    groundwork: &Groundwork<'_>,
    work: &mut Work<'_>,
    separated: &mut Separated,
) -> Result<Vec<Row>, Refusal> {
    let offsets = &groundwork.structure.offsets().equation;
    let mut chains: Vec<Chain> = separated
        .constraints
        .iter()
        .map(|row| Chain {
            rows: vec![row.clone()],
            is_spent: false,
        })
        .collect();
    let deepest = separated
        .constraints
        .iter()
        .map(|row| offsets[row.equation]);
    for times in 1..=deepest.max().unwrap_or(0) {
        for at in 0..chains.len() {
            if offsets[chains[at].last().equation] < times {
                continue;
            }
            let rate = work.derivative(chains[at].last().left);
            let moving = work.keys(rate).into_iter().filter(|key| key.1 > 0);
            let moving: Vec<usize> = moving.map(|key| key.0).collect();
            for unknown in open_rates(work, &separated.rules, &moving) {
                // A rate that was found for another one is known by now.
                if !separated.rules.contains_key(&unknown) {
                    rates_from_constraints(work, &mut separated.rules, &mut chains, unknown)
                        .ok_or_else(|| unknown_rate(groundwork, unknown))?;
                }
            }
            if chains[at].is_spent {
                continue;
            }
            let mut row = chains[at].last().clone();
            row.left = rate;
            row.times = times;
            follow(work, &separated.rules, &mut row);
            let nodes = work.size(row.left);
            if nodes > MAX_NODES || work.is_too_large() {
                return Err(Refusal::NoText(format!(
                    "the {} derivative of equation {} has {nodes} operations without derivatives, more than {MAX_NODES}",
                    super::ordinal(times),
                    row.equation + 1
                )));
            }
            chains[at].rows.push(row);
        }
    }
    let mut all: Vec<Row> = chains.into_iter().flat_map(|chain| chain.rows).collect();
    all.sort_by_key(|row| row.times);
    for row in &mut all {
        // (7) asks for constraints that hold no derivative, whatever its factor is at the point.
        if let Some(key) = work.row_keys(row).into_iter().find(|key| key.1 > 0) {
            return Err(unknown_rate(groundwork, key.0));
        }
        let is_written = row.left == groundwork.equations().residuals()[row.equation];
        if is_written {
            *row = groundwork.row(work, row.equation);
            continue;
        }
        row.note = match row.times {
            0 => format!("equation {} without derivatives", row.equation + 1),
            times => groundwork.note(row.equation, times) + ", derivatives replaced",
        };
    }
    Ok(all)
}

/// A constraint and what follows from it by differentiation.
struct Chain {
    rows: Vec<Row>,
    /// Whether its last derivative serves to find the rate of an unknown.
    is_spent: bool,
}

impl Chain {
    fn last(&self) -> &Row {
        self.rows
            .last()
            .expect("a chain begins with its constraint")
    }
}

/// The unknowns whose rates no rule gives, among some and those that the rules for these hold.
fn open_rates(work: &mut Work<'_>, rules: &BTreeMap<usize, Row>, of: &[usize]) -> Vec<usize> {
    let mut open = Vec::new();
    for unknown in of {
        match rules.get(unknown) {
            None => open.push(*unknown),
            // Rules hold the rates of each other no more, but perhaps one that is not known yet.
            Some(rule) => {
                let held = work.keys(rule.right).into_iter();
                open.extend(held.filter(|key| key.1 > 0).map(|key| key.0));
            }
        }
    }
    open.sort_unstable();
    open.dedup();
    open
}

/// Replaces first derivatives by what the rules say.
fn follow(work: &mut Work<'_>, rules: &BTreeMap<usize, Row>, row: &mut Row) {
    for key in work.keys(row.left).into_iter().filter(|key| key.1 > 0) {
        let Some(rule) = rules.get(&key.0) else {
            continue;
        };
        work.substitute(row, key, rule.right);
        row.note_divisors(&rule.divisors);
    }
}

/// The rate of an unknown, and of all others it depends on, from derivatives of constraints: as many constraints as
/// rates. The constraints are then spent.
fn rates_from_constraints(
    work: &mut Work<'_>,
    rules: &mut BTreeMap<usize, Row>,
    chains: &mut [Chain],
    unknown: usize,
) -> Option<()> {
    let (members, wanted) = constraints_for_rates(work, rules, chains, unknown)?;
    let mut rows: Vec<Row> = Vec::new();
    for &at in &members {
        let mut row = chains[at].last().clone();
        row.left = work.derivative(row.left);
        row.note = format!("from the derivative of equation {}", row.equation + 1);
        follow(work, rules, &mut row);
        rows.push(row);
    }
    let solved = solved_for_rates(work, rows, &wanted)?;
    for &at in &members {
        chains[at].is_spent = true;
    }
    // What the rules say of other rates may hold the new ones.
    for rule in rules.values_mut() {
        for (w, row) in &solved {
            if work.keys(rule.right).contains(&(*w, 1)) {
                let left = rule.left;
                work.substitute(rule, (*w, 1), row.right);
                rule.left = left;
                rule.note_divisors(&row.divisors);
            }
        }
    }
    rules.extend(solved);
    Some(())
}

/// Constraints whose derivatives determine the rate of an unknown, and all rates that they determine. Constraints with few
/// further unknowns join first.
fn constraints_for_rates(
    work: &mut Work<'_>,
    rules: &BTreeMap<usize, Row>,
    chains: &[Chain],
    unknown: usize,
) -> Option<(Vec<usize>, Vec<usize>)> {
    let mut wanted = vec![unknown];
    let mut members: Vec<usize> = Vec::new();
    while members.len() < wanted.len() {
        let mut best: Option<(usize, f64, usize, Vec<usize>)> = None;
        for (at, chain) in chains.iter().enumerate() {
            if chain.is_spent || members.contains(&at) {
                continue;
            }
            let keys = work.keys(chain.last().left);
            let open: Vec<usize> = keys.iter().map(|key| key.0).collect();
            let slope = wanted
                .iter()
                .filter(|w| open.contains(w))
                .map(|&w| work.partial_value(chain.last().left, (w, 0)).abs())
                .fold(0.0, f64::max);
            if !slope.is_finite() || slope < VANISHING {
                continue;
            }
            let mut new = open_rates(work, rules, &open);
            new.retain(|j| !wanted.contains(j));
            let is_better = best.as_ref().is_none_or(|(fewest, steepest, ..)| {
                new.len() < *fewest || (new.len() == *fewest && slope > *steepest)
            });
            if is_better {
                best = Some((new.len(), slope, at, new));
            }
        }
        let (_, _, at, new) = best?;
        members.push(at);
        wanted.extend(new);
    }
    Some((members, wanted))
}

/// Rows solved for the rates that they hold, one after the other by the pivots that are largest at the point.
fn solved_for_rates(
    work: &mut Work<'_>,
    mut rows: Vec<Row>,
    wanted: &[usize],
) -> Option<Vec<(usize, Row)>> {
    let mut solved: Vec<(usize, Row)> = Vec::new();
    while !rows.is_empty() {
        let mut best: Option<(f64, usize, usize)> = None;
        for (at, row) in rows.iter().enumerate() {
            let residual = work.residual(row);
            let is_open = |w: &&usize| solved.iter().all(|(j, _)| j != *w);
            for &w in wanted.iter().filter(is_open) {
                let slope = work.partial_value(residual, (w, 1)).abs();
                let is_better = best.is_none_or(|(most, ..)| slope > most);
                if slope.is_finite() && slope > VANISHING && is_better {
                    best = Some((slope, at, w));
                }
            }
        }
        let (_, at, w) = best?;
        let mut row = rows.remove(at);
        let residual = work.residual(&row);
        let factor = work.factor(residual, (w, 1))?;
        let value = work.solve(&mut row, (w, 1), factor);
        for other in rows.iter_mut().chain(solved.iter_mut().map(|(_, row)| row)) {
            let keeps_left = other.solved.is_some().then_some(other.left);
            work.substitute(other, (w, 1), value);
            other.left = keeps_left.unwrap_or(other.left);
            other.note_divisors(&row.divisors);
        }
        solved.push((w, row));
        if work.is_too_large() {
            return None;
        }
    }
    Some(solved)
}

/// Rows of the model and states, both chosen by conditioning.
struct Choice {
    equations: Vec<usize>,
    states: Vec<usize>,
    quality: f64,
}

/// With T2 spanning the directions along the constraints: rows of E T2, and rows of T2, that are far from dependent.
fn choose(
    groundwork: &Groundwork<'_>,
    work: &mut Work<'_>,
    constraints: &[Row],
    n_differential: usize,
) -> Result<Choice, Refusal> {
    let n = groundwork.structure.n();
    let nominal = groundwork.nominal();
    let mut gradient = Mat::zeros(constraints.len(), n);
    for (at, row) in constraints.iter().enumerate() {
        let residual = work.residual(row);
        entries(work, residual, 0, &nominal, &mut gradient, at);
    }
    let mut leading = Mat::zeros(n, n);
    for (at, &residual) in groundwork.equations().residuals().iter().enumerate() {
        entries(work, residual, 1, &nominal, &mut leading, at);
    }
    let undecided = |error| Refusal::Undecided(format!("{error}"));
    let mut qr = Qr::new();
    let mut directions = Mat::zeros(n, n_differential);
    let mut quality = 1.0;
    if !constraints.is_empty() {
        qr.factor(gradient.view()).map_err(undecided)?;
        quality = ratio(&qr, constraints.len()).map_err(undecided)?;
        qr.kernel_basis(constraints.len(), directions.view_mut())
            .map_err(undecided)?;
    } else {
        directions = Mat::identity(n);
    }
    let mut pick = |rows: &Mat| -> Result<(Vec<usize>, f64), Refusal> {
        if n_differential == 0 {
            return Ok((Vec::new(), 1.0));
        }
        qr.factor(rows.transpose().view()).map_err(undecided)?;
        let quality = ratio(&qr, n_differential).map_err(undecided)?;
        let order = qr.permutation().map_err(undecided)?;
        let mut chosen = order[..n_differential].to_vec();
        chosen.sort_unstable();
        Ok((chosen, quality))
    };
    let (equations, of_rows) = pick(&leading.matmul(&directions))?;
    let unknowns = groundwork.system.unknowns();
    let weight = |unknown: usize| {
        let occurs = (0..n).any(|row| leading[(row, unknown)] != 0.0);
        match unknowns.get(unknown) {
            _ if !occurs => 0.0,
            Some(info) if info.fixed => FIXED.recip(),
            _ => 1.0,
        }
    };
    let weighted = Mat::from_fn(n, n_differential, |i, j| weight(i) * directions[(i, j)]);
    let (states, of_states) = pick(&weighted)?;
    let quality = f64::min(quality, f64::min(of_rows, of_states));
    if quality.is_nan() || quality < DEPENDENT {
        return Err(Refusal::NotVerified(format!(
            "the constraints and the rows chosen depend on each other (relative pivot {quality:.1e})"
        )));
    }
    Ok(Choice {
        equations,
        states,
        quality,
    })
}

/// The derivatives of a row by x^(order) at the point, in units of the unknowns and brought to size 1; zeros for a row that
/// vanishes at the point and not beside it, since what is left of it there is rounding.
fn entries(
    work: &mut Work<'_>,
    residual: ExprId,
    order: usize,
    nominal: &[f64],
    matrix: &mut Mat,
    row: usize,
) {
    let keys = work.keys(residual).into_iter().filter(|key| key.1 == order);
    let mut found: Vec<(usize, f64)> = Vec::new();
    let (mut largest, mut beside) = (0.0, 0.0);
    for key in keys {
        let [here, there] = work.partial_here_and_beside(residual, key);
        let unit = nominal[key.0];
        found.push((key.0, here * unit));
        largest = f64::max(largest, (here * unit).abs());
        beside = f64::max(beside, (there * unit).abs());
    }
    if largest <= VANISHES_AT_FOLD * beside {
        return;
    }
    for (column, value) in found {
        matrix[(row, column)] = value / largest;
    }
}

/// The pivot at the end of a rank as a part of the first.
fn ratio(qr: &Qr, rank: usize) -> Result<f64, daelight_linalg::LinalgError> {
    let pivots: Vec<f64> = qr.pivots()?.map(f64::abs).take(rank).collect();
    let first = pivots.first().copied().unwrap_or(1.0);
    let last = pivots.last().copied().unwrap_or(1.0);
    Ok(if pivots.len() < rank {
        0.0
    } else {
        last / first
    })
}
