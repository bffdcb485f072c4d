//! Jumps that a new mode forces: the model's own equations integrated over the instant.
//!
//! Implicit Euler steps of F(t, x, x') = 0 in the new mode, as many as the index asks for, with h towards 0; section 3 of
//! `docs/theory/hybrid.md`.

use super::MAX_ROUNDS;
use crate::record::JUMP;
use daelight_analysis::System;
use daelight_analysis::initial::MAX_DENSE_ROWS;
use daelight_linalg::{Lu, Mat};

/// Values after a jump, and the impulses of unknowns that have them.
pub(super) struct Jumped {
    pub values: Vec<f64>,
    pub impulses: Vec<(usize, f64)>,
    /// Equations in which an impulse meets what jumps with it, and which give no work: their jumps hang on the course of the impulse.
    open: Vec<usize>,
}

impl Jumped {
    /// Names the equations whose jumps hang on the course of the impulse.
    pub fn tell(&self, system: &System, time: f64, warnings: &mut Vec<String>) {
        for &row in &self.open {
            let line = system.equation_line(row);
            let text = system.equation_text(row);
            let told = format!(
                "At t = {time} `{text}`, line {line}, multiplies an impulse by what jumps with it: what it determines hangs on the course of the impulse, and is taken with the values behind it; give it with reinit if you know better."
            );
            super::values::note_once(warnings, &told);
        }
    }
}

/// The values just after a change of mode; `None` where steps that shrink lead to no limit.
pub(super) fn jump(
    system: &System,
    index: usize,
    time: f64,
    from: &[f64],
    span: f64,
) -> Option<Jumped> {
    let n = from.len();
    if n > MAX_DENSE_ROWS {
        return None;
    }
    let mut is_differentiated = vec![false; n];
    for &unknown in system.equations().pattern(1).columns() {
        is_differentiated[unknown as usize] = true;
    }
    // The part of the run that is no jump is no step either.
    let n_steps = index.saturating_sub(1).max(1);
    let mut found = Vec::with_capacity(3);
    for h in [JUMP * span, 0.5 * JUMP * span, 0.25 * JUMP * span] {
        let mut x = from.to_vec();
        let mut impulses = vec![0.0; n];
        let mut on_the_way = Vec::with_capacity(n * n_steps);
        for _ in 0..n_steps {
            x = step(system, &is_differentiated, time, &x, h)?;
            on_the_way.extend_from_slice(&x);
            for (impulse, value) in impulses.iter_mut().zip(&x) {
                *impulse += h * value;
            }
        }
        found.push((on_the_way, impulses));
    }
    let [(first, _), (second, before), (third, after)] = &found[..] else {
        return None;
    };
    // Halving the step halves what is left, after each of the steps; anything else is no jump of the model: positions that do
    // not meet are brought together by velocities that grow without bound.
    for at in (0..n * n_steps).filter(|at| is_differentiated[at % n]) {
        let size = from[at % n].abs().max(third[at].abs()).max(1.0);
        let early = (second[at] - first[at]).abs();
        let late = (third[at] - second[at]).abs();
        if late > 0.75 * early + JUMP * size {
            return None;
        }
    }
    let tail = n * (n_steps - 1);
    let mut values = third[tail..].to_vec();
    for unknown in (0..n).filter(|&u| is_differentiated[u]) {
        values[unknown] = 2.0 * values[unknown] - second[tail + unknown];
    }
    let impulses: Vec<(usize, f64)> = (0..n)
        .filter(|&u| !is_differentiated[u])
        .filter(|&u| after[u].abs() > JUMP * span && after[u].abs() > 0.75 * before[u].abs())
        .map(|u| (u, 2.0 * after[u] - before[u]))
        .collect();
    let open = take_work(system, time, from, (&mut values, &impulses), JUMP * span);
    Some(Jumped {
        values,
        impulses,
        open: open.unwrap_or_default(),
    })
}

/// Gives integrals that nothing else reads (`der(W) = F*v`) the work of the impulses, (H4a), and tells the other equations in which an
/// impulse meets what jumps with it.
fn take_work(
    system: &System,
    time: f64,
    from: &[f64],
    (values, impulses): (&mut [f64], &[(usize, f64)]),
    h: f64,
) -> Option<Vec<usize>> {
    let equations = system.equations();
    let wide = over_the_instant(system, time, (from, values), impulses, h)?;
    let narrow = over_the_instant(system, time, (from, values), impulses, 0.5 * h)?;
    let mut evaluator = system.evaluator();
    evaluator.set_time(time);
    evaluator.set(0, values);
    evaluator.set(1, &vec![0.0; values.len()]);
    evaluator.jacobians().ok()?;
    let rates = equations.pattern(1);
    let is_read = |unknown: u32| {
        let read = rates.columns().iter().filter(|&&c| c == unknown);
        equations.pattern(0).columns().contains(&unknown) || read.count() > 1
    };
    let greatest = impulses.iter().map(|(_, size)| size.abs());
    let greatest = greatest.fold(0.0, f64::max);
    let mut open = Vec::new();
    for row in (0..values.len()).filter(|&row| !rates.row(row).is_empty()) {
        let left = 2.0 * narrow[row] - wide[row];
        let moved = rates.row(row).map(|position| {
            let unknown = rates.columns()[position] as usize;
            (evaluator.entry(1, position) * (values[unknown] - from[unknown])).abs()
        });
        // Rounding of what else jumps is nothing either.
        let least = moved.fold(JUMP * greatest, f64::max);
        if left.abs() <= JUMP * least {
            continue;
        }
        let position = rates.row(row).start;
        let unknown = rates.columns()[position];
        let slope = evaluator.entry(1, position);
        match rates.row(row).len() == 1 && !is_read(unknown) && slope != 0.0 {
            true => values[unknown as usize] -= left / slope,
            false => open.push(row),
        }
    }
    Some(open)
}

/// What equations with derivatives leave over the instant, if all that jumps goes straight from before to after, with the impulses
/// spread evenly: by Simpson's rule, times h.
fn over_the_instant(
    system: &System,
    time: f64,
    (from, to): (&[f64], &[f64]),
    impulses: &[(usize, f64)],
    h: f64,
) -> Option<Vec<f64>> {
    let mut evaluator = system.evaluator();
    let mut residuals = vec![0.0; from.len()];
    let mut sums = vec![0.0; from.len()];
    let steps = from.iter().zip(to).map(|(a, b)| (b - a) / h);
    let rates: Vec<f64> = steps.collect();
    let is_differentiated = |u: usize| {
        system
            .equations()
            .pattern(1)
            .columns()
            .contains(&(u as u32))
    };
    for (place, weight) in [(0.0, 1.0), (0.5, 4.0), (1.0, 1.0)] {
        let mut x: Vec<f64> = (0..from.len())
            .map(|u| match is_differentiated(u) {
                true => from[u] + place * (to[u] - from[u]),
                false => to[u],
            })
            .collect();
        for &(unknown, impulse) in impulses {
            x[unknown] = impulse / h;
        }
        evaluator.set_time(time);
        evaluator.set(0, &x);
        evaluator.set(1, &rates);
        evaluator.residuals(&mut residuals).ok()?;
        for (sum, residual) in sums.iter_mut().zip(&residuals) {
            *sum += weight / 6.0 * h * residual;
        }
    }
    Some(sums)
}

/// One implicit Euler step: F(t, x, (x - from)/h) = 0. Unknowns without a derivative are scaled by h, as are equations with one.
fn step(
    system: &System,
    is_differentiated: &[bool],
    time: f64,
    from: &[f64],
    h: f64,
) -> Option<Vec<f64>> {
    let n = from.len();
    let equations = system.equations();
    let mut evaluator = system.evaluator();
    let has_derivative: Vec<bool> = (0..n)
        .map(|row| !equations.pattern(1).row(row).is_empty())
        .collect();
    let mut x = from.to_vec();
    let mut residuals = vec![0.0; n];
    let mut lu = Lu::new();
    for _ in 0..MAX_ROUNDS {
        let rates: Vec<f64> = x.iter().zip(from).map(|(a, b)| (a - b) / h).collect();
        evaluator.set_time(time);
        evaluator.set(0, &x);
        evaluator.set(1, &rates);
        evaluator.residuals(&mut residuals).ok()?;
        evaluator.jacobians().ok()?;
        let mut matrix = Mat::zeros(n, n);
        for (order, factor) in [(0, 1.0), (1, 1.0 / h)] {
            for (row, column, position) in equations.pattern(order).iter() {
                let row_scale = if has_derivative[row] { h } else { 1.0 };
                let column_scale = if is_differentiated[column] {
                    1.0
                } else {
                    1.0 / h
                };
                let entry = factor * evaluator.entry(order, position);
                matrix[(row, column)] += row_scale * column_scale * entry;
            }
        }
        let mut scales = vec![0.0f64; n];
        for row in 0..n {
            let entries = (0..n).map(|column| matrix[(row, column)].abs());
            let greatest = entries.fold(0.0, f64::max);
            scales[row] = if greatest > 0.0 { 1.0 / greatest } else { 1.0 };
            for column in 0..n {
                matrix[(row, column)] *= scales[row];
            }
        }
        let mut change: Vec<f64> = (0..n)
            .map(|row| {
                let row_scale = if has_derivative[row] { h } else { 1.0 };
                row_scale * scales[row] * residuals[row]
            })
            .collect();
        lu.factor(matrix.view()).ok()?;
        lu.solve(&mut change).ok()?;
        let mut moved = 0.0f64;
        for unknown in 0..n {
            let scale = if is_differentiated[unknown] {
                1.0
            } else {
                1.0 / h
            };
            x[unknown] -= scale * change[unknown];
            moved = moved.max(change[unknown].abs() / (1.0 + x[unknown].abs() / scale));
        }
        if !moved.is_finite() {
            return None;
        }
        if moved <= 64.0 * f64::EPSILON {
            break;
        }
    }
    Some(x)
}
