//! Unknowns that the equations see only through their differences, such as the potentials of a circuit without a ground.
//!
//! Let w be a constant vector over unknowns that are differentiated nowhere. If F(t, x + c w, x') = F(t, x, x') for all c, then x + c(t) w
//! is a solution beside x for every function c: nothing fixes these unknowns. Such w are the common kernel of dF/dx at all points;
//! it is computed at random jets, and confirmed by residuals at jets moved along it. Section 5 of `docs/theory/structure.md`.

use crate::System;
use crate::dae::LARGEST_DENSE;
use crate::equations::Equations;
use crate::repair::jets::{Jets, N_JETS, Value};
use daelight_lang::Symbol;
use daelight_linalg::{Mat, Qr, ThresholdRule};

/// Unknowns that can be moved together without a change of any equation, those that move one after the other; empty where there are
/// none, or where too many would have to be looked at.
pub fn floating(system: &System) -> Vec<usize> {
    let equations = system.equations();
    let candidates = candidates(equations);
    if candidates.is_empty() || candidates.len() > LARGEST_DENSE {
        return Vec::new();
    }
    let jets = Jets::new(system.parameters().values());
    let Some(kernel) = common_kernel(equations, &jets, &candidates) else {
        return Vec::new();
    };
    let directions: Vec<Vec<f64>> = (0..kernel.ncols())
        .map(|k| kernel.col(k).to_vec())
        .filter(|w| changes_nothing(equations, &jets, &candidates, w))
        .collect();
    let moves = |at: &usize| {
        let mut parts = directions.iter().map(|w| w[*at].abs());
        parts.any(|part| part > f64::EPSILON.sqrt())
    };
    let moving = (0..candidates.len()).filter(moves);
    moving.map(|at| candidates[at]).collect()
}

/// Unknowns that are differentiated nowhere and do not stand alone among such in any equation: one that does is fixed by it, and so
/// are those that it leaves alone in others.
fn candidates(equations: &Equations) -> Vec<usize> {
    let mut is_open = vec![true; equations.n_unknowns()];
    for order in 1..=equations.order() {
        for &j in equations.pattern(order).columns() {
            is_open[j as usize] = false;
        }
    }
    let pattern = equations.pattern(0);
    let mut rows_of = vec![Vec::new(); equations.n_unknowns()];
    let mut n_open = vec![0_usize; equations.n_equations()];
    for (i, j, _) in pattern.iter() {
        rows_of[j].push(i);
        n_open[i] += usize::from(is_open[j]);
    }
    let mut alone: Vec<usize> = (0..n_open.len()).filter(|i| n_open[*i] == 1).collect();
    while let Some(i) = alone.pop() {
        let mut columns = pattern.row(i).map(|at| pattern.columns()[at] as usize);
        let Some(fixed) = columns.find(|j| is_open[*j]) else {
            continue;
        };
        is_open[fixed] = false;
        for &row in &rows_of[fixed] {
            n_open[row] -= 1;
            if n_open[row] == 1 {
                alone.push(row);
            }
        }
    }
    (0..is_open.len()).filter(|j| is_open[*j]).collect()
}

/// The common kernel of dF/dx at random jets, restricted to some unknowns; `None` where it is empty or not decided.
fn common_kernel(equations: &Equations, jets: &Jets, candidates: &[usize]) -> Option<Mat> {
    let entries: Vec<(usize, usize, usize)> = equations
        .pattern(0)
        .iter()
        .filter_map(|(i, j, at)| Some((i, candidates.binary_search(&j).ok()?, at)))
        .collect();
    let roots: Vec<_> = (entries.iter())
        .map(|&(.., at)| equations.jacobian(0).entries[at])
        .collect();
    let n = equations.n_equations();
    let samples: Vec<Vec<Value>> = (0..N_JETS)
        .map(|jet| jets.values(equations.graph(), equations.symbols(), &roots, jet))
        .filter(|values| values.iter().all(|value| value.is_finite()))
        .take(3)
        .collect();
    if samples.len() < 3 {
        return None;
    }
    // The transposed matrix, each of its columns an equation at one jet, of size one: its left kernel is what is wanted.
    let mut matrix = Mat::zeros(candidates.len(), n * samples.len());
    let mut error = 0.0_f64;
    for (sample, values) in samples.iter().enumerate() {
        let mut sizes = vec![0.0_f64; n];
        for (&(i, ..), value) in entries.iter().zip(values) {
            sizes[i] = sizes[i].max(value.value.abs());
        }
        for (&(i, j, _), value) in entries.iter().zip(values) {
            if sizes[i] > 0.0 {
                matrix[(j, sample * n + i)] += value.value / sizes[i];
                error = error.max(value.error / sizes[i]);
            }
        }
    }
    let mut qr = Qr::new();
    qr.factor(matrix.view()).ok()?;
    let norm = matrix.view().norm_frobenius();
    let rank = qr.rank(&ThresholdRule::with_error(norm, error / norm));
    let rank = rank.decided().filter(|rank| *rank < candidates.len())?;
    let mut kernel = Mat::zeros(candidates.len(), candidates.len() - rank);
    qr.left_null_basis(rank, kernel.view_mut()).ok()?;
    Some(kernel)
}

/// Whether the residuals stay what they are when the unknowns are moved along a direction, at two jets where they are numbers.
fn changes_nothing(equations: &Equations, jets: &Jets, candidates: &[usize], w: &[f64]) -> bool {
    let (graph, symbols, residuals) = (
        equations.graph(),
        equations.symbols(),
        equations.residuals(),
    );
    let mut n_alike = 0;
    for jet in 0..N_JETS {
        let here = jets.values(graph, symbols, residuals, jet);
        let moved = jets.values_at(graph, symbols, residuals, &|symbol| {
            let value = jets.symbol(jet, symbol);
            match symbol {
                Symbol::Unknown { unknown, order: 0 } => match candidates.binary_search(&unknown) {
                    Ok(at) => value + w[at],
                    Err(_) => value,
                },
                _ => value,
            }
        });
        if !here.iter().chain(&moved).all(|value| value.is_finite()) {
            continue;
        }
        // The direction itself is known to rounding.
        let is_alike = |(a, b): (&Value, &Value)| {
            let size = a.size.max(b.size);
            (a.value - b.value).abs() <= a.error + b.error + f64::EPSILON.sqrt() * size
        };
        if !here.iter().zip(&moved).all(is_alike) {
            return false;
        }
        n_alike += 1;
        if n_alike == 2 {
            return true;
        }
    }
    false
}
