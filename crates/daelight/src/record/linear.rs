//! The record of a linear model.

use super::spectrum::eigenvalue_record;
use crate::linearize::Linearization;
use daelight_analysis::FiniteEigenvalue;
use daelight_linalg::Mat;
use daelight_show::record::{DescriptorRecord, EigenvalueRecord, LinearRecord, Rows, named_values};

fn rows(matrix: &Mat) -> Rows {
    let row = |i: usize| (0..matrix.ncols()).map(|j| matrix[(i, j)]).collect();
    (0..matrix.nrows()).map(row).collect()
}

/// Eigenvalues, with zeros where rounding leaves nothing else.
fn eigenvalues(found: &[FiniteEigenvalue]) -> Vec<EigenvalueRecord> {
    let one = |value: &FiniteEigenvalue| {
        let known = |part: f64| {
            if part.abs() <= value.uncertainty {
                0.0
            } else {
                part
            }
        };
        eigenvalue_record(&FiniteEigenvalue {
            re: known(value.re),
            im: known(value.im),
            ..*value
        })
    };
    found.iter().map(one).collect()
}

/// A linear model as a record.
pub fn linearize(found: &Linearization) -> LinearRecord {
    let unknowns = found.system.unknowns();
    let names = |of: &[usize]| of.iter().map(|&j| unknowns[j].name.clone()).collect();
    let n = unknowns.len() - found.inputs.len();
    let mut warnings = Vec::from_iter(found.what_could_drive());
    if !found.decides && !found.model.states.is_empty() {
        warnings.push(
            "The point is in motion: the matrices hold at this instant, and their eigenvalues decide nothing; --rest goes to the point at rest nearby."
                .to_string(),
        );
    }
    if let Some(switch) = &found.switch {
        warnings.push(format!(
            "The point lies on the switch where `{switch}`; the matrices are those of later times."
        ));
    }
    if found.model.d.len() > 1 {
        warnings.push(format!(
            "The model is improper: an output holds derivatives of inputs up to order {}.",
            found.model.d.len() - 1
        ));
    }
    if !found.model.shifts.is_empty() {
        warnings.push(
            "The states are the changes of these unknowns less a part of the inputs (`shifts`), so that no derivative of an input moves them."
                .to_string(),
        );
    }
    let asks_for_zeros = !found.inputs.is_empty() && found.inputs.len() == found.outputs.len();
    if let (Err(because), true) = (&found.zeros, asks_for_zeros) {
        warnings.push(format!("The zeros are not known: {because}."));
    }
    let values = unknowns.iter().map(|u| u.name.as_str());
    let [e, a, b] = &found.descriptor;
    LinearRecord {
        time: found.time,
        at_rest: found.is_at_rest,
        point: named_values(values.zip(found.values.iter().copied())),
        states: names(&found.model.states),
        inputs: names(&found.inputs),
        outputs: names(&found.outputs),
        a: rows(&found.model.a),
        b: rows(&found.model.b),
        c: rows(&found.model.c),
        d: found.model.d.iter().map(rows).collect(),
        shifts: found.model.shifts.iter().map(rows).collect(),
        poles: eigenvalues(&found.model.poles),
        zeros: found.zeros.as_ref().ok().map(|all| eigenvalues(all)),
        descriptor: DescriptorRecord {
            unknowns: names(&(0..n).collect::<Vec<usize>>()),
            e: e.clone(),
            a: a.clone(),
            b: b.clone(),
        },
        warnings,
    }
}
