//! What can be chosen: directions that are open, and the unknowns that span them.

use crate::System;
use crate::initial::ConsistentPoint;
use crate::sharpen::sharpen_beside;
use crate::tolerances::NOT_GIVEN;
use daelight_linalg::{Mat, Qr};

/// Whether the equations can be satisfied at points moved in each of the directions that the ranks leave open.
pub(super) fn freedom_is_real(system: &System, point: &ConsistentPoint, directions: &Mat) -> bool {
    const STEP: f64 = 1e-4;
    const KEPT_WAY: f64 = 0.1;
    const SEEN_WAY: f64 = 0.01;
    let Some(rows) = (0..=point.order + 1)
        .map(|k| point.jet.row(k).map(<[f64]>::to_vec))
        .collect::<Option<Vec<_>>>()
    else {
        return false;
    };
    let size = point
        .jet
        .values()
        .iter()
        .fold(1.0_f64, |m, v| m.max(v.abs()));
    let (equations, parameters) = (system.equations(), system.parameters().values());
    let step = STEP * size;
    (0..directions.ncols()).all(|k| {
        let mut moved = rows.clone();
        for (value, along) in moved[0].iter_mut().zip(directions.col(k)) {
            *value += step * along;
        }
        for _ in 0..2 {
            // With the array of the point a constraint that vanishes from it is never met again.
            let Ok(found) = sharpen_beside(equations, parameters, point.time, &rows, &moved) else {
                return false;
            };
            // The shortest way back to the equations may undo a part of the step, but not all of it.
            let way: f64 = found.jet[0]
                .iter()
                .zip(&rows[0])
                .zip(directions.col(k))
                .map(|((now, before), along)| (now.hi() - before) * along)
                .sum();
            if way > KEPT_WAY * step {
                return true;
            }
            // It undoes most of it where rates have to move along: then once more in the direction found.
            if way < SEEN_WAY * step {
                return false;
            }
            for (moved, (found, row)) in moved.iter_mut().zip(found.jet.iter().zip(&rows)) {
                let changes = found.iter().zip(row).map(|(now, before)| now.hi() - before);
                for (place, (change, before)) in moved.iter_mut().zip(changes.zip(row)) {
                    *place = before + step / way * change;
                }
            }
        }
        false
    })
}

/// Unknowns whose values can be chosen: the rows of the consistent directions that span best, those that the model fixes before
/// others, then differentiated unknowns.
pub(crate) fn free_unknowns(system: &System, directions: &Mat, units: &[f64]) -> Vec<usize> {
    let n = directions.nrows();
    let mut is_differentiated = vec![false; n];
    for &column in system.equations().pattern(1).columns() {
        is_differentiated[column as usize] = true;
    }
    // The preference must not outweigh a clear difference in how well an unknown suits.
    let weight = |j: usize| {
        let preferences = [system.unknowns()[j].fixed, is_differentiated[j]];
        let lacking = preferences
            .into_iter()
            .filter(|&is_preferred| !is_preferred);
        NOT_GIVEN.powi(lacking.count() as i32) / units[j]
    };
    let rows = Mat::from_fn(directions.ncols(), n, |k, j| weight(j) * directions[(j, k)]);
    let mut qr = Qr::new();
    if directions.ncols() == 0 || qr.factor(rows.view()).is_err() {
        return Vec::new();
    }
    match qr.permutation() {
        Ok(permutation) => {
            let count = directions.ncols().min(permutation.len());
            let mut chosen = permutation[..count].to_vec();
            chosen.sort_unstable();
            chosen
        }
        Err(_) => Vec::new(),
    }
}
