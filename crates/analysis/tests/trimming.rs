//! What the written equations and those without the trivial ones have in common: offsets, freedom, determinants.
//!
//! `docs/theory/system.md`, section 3, (9) to (11).

use crate::common;
use crate::common::{Random, random_jet, time};
use daelight_analysis::structure::{Structure, SystemJacobian};
use daelight_analysis::{Equations, Reduced, System};
use daelight_expr::Jet;
use daelight_lang::Symbol;

/// What rounding leaves of the last pivot of a singular matrix, at most.
const NOISE: f64 = 1e-9;

/// log |det J|; `None` where rounding may be all of it, the rows brought to size one.
fn log_determinant(structure: &Structure, values: &[f64]) -> Option<f64> {
    let n = structure.n();
    let mut rows = vec![vec![0.0; n]; n];
    let mut at = 0;
    for (i, row) in rows.iter_mut().enumerate() {
        for j in structure.jacobian_row(i) {
            row[j] = values[at];
            at += 1;
        }
    }
    let (mut sizes, mut sum) = (0.0, 0.0);
    for row in &mut rows {
        let size = row.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
        sizes += size.ln();
        row.iter_mut().for_each(|x| *x /= size);
    }
    for column in 0..n {
        let largest =
            |&a: &usize, &b: &usize| rows[a][column].abs().total_cmp(&rows[b][column].abs());
        let pivot = (column..n).max_by(largest)?;
        rows.swap(pivot, column);
        if rows[column][column].abs() <= NOISE {
            return None;
        }
        sum += rows[column][column].abs().ln();
        let (done, rest) = rows.split_at_mut(column + 1);
        let pivot = &done[column];
        for row in rest {
            let factor = row[column] / pivot[column];
            if factor != 0.0 {
                (column..n).for_each(|k| row[k] -= factor * pivot[k]);
            }
        }
    }
    Some(sizes + sum)
}

/// log |det J| of some equations of a system at coefficients of all its unknowns.
fn at_jet(
    system: &System,
    equations: &Equations,
    structure: &Structure,
    time: f64,
    jet: &[Vec<f64>],
) -> Option<f64> {
    let jacobian = SystemJacobian::new(equations, structure, system.parameters().values());
    let values = jacobian.evaluate(|symbol| match symbol {
        Symbol::Unknown { unknown, order } => {
            let factorial: f64 = (1..=order).map(f64::from).product();
            factorial * jet[order as usize][unknown]
        }
        known => system.equations().symbols().value_at(known, time),
    });
    log_determinant(structure, &values)
}

/// Coefficients of all unknowns that satisfy the removed equations: random ones for those that are kept.
fn lifted(system: &System, reduced: &Reduced, order: usize, random: &mut Random) -> Vec<Vec<f64>> {
    let mut back = reduced.recovery::<Jet>(order, system.parameters().values());
    back.inputs_mut().set_time(time(system));
    let n_rows = match back.inputs().n_orders() {
        usize::MAX => 0,
        n_orders => n_orders,
    };
    for (k, row) in random_jet(system, n_rows, random).iter().enumerate() {
        reduced.restrict(row, back.inputs_mut().row_mut(k));
    }
    (0..=order)
        .map(|k| {
            back.extend(k).expect("a regular point");
            let mut row = vec![0.0; system.unknowns().len()];
            back.row(k, &mut row);
            row
        })
        .collect()
}

/// Both forms have the same freedom, valid offsets, formulas within the offsets, and the same determinant up to a constant.
/// Tells whether there was a determinant to compare.
fn agree(name: &str, system: &System, random: &mut Random) -> bool {
    let Ok(written) = system.structure() else {
        return false;
    };
    let reduced = Reduced::new(system);
    let trimmed = reduced.structure().expect("there are offsets to inherit");
    assert_eq!(
        written.n_degrees_of_freedom(),
        trimmed.n_degrees_of_freedom(),
        "{name}"
    );
    let offsets = trimmed.offsets();
    for (i, &c) in offsets.equation.iter().enumerate() {
        for (j, order) in trimmed.signature().row(i) {
            assert!(
                c + order as usize <= offsets.variable[j],
                "{name}: {i}, {j}"
            );
        }
    }
    let most = written.offsets().variable.iter().max().map_or(0, |&d| d);
    let most = offsets.variable.iter().fold(most, |a, &d| a.max(d));
    let mut difference: Option<f64> = None;
    for _ in 0..3 {
        let jet = lifted(system, &reduced, most, random);
        let at = time(system);
        let before = at_jet(system, system.equations(), written, at, &jet);
        let after = at_jet(system, reduced.equations(), trimmed, at, &jet);
        let (Some(before), Some(after)) = (before, after) else {
            continue;
        };
        let first = *difference.get_or_insert(before - after);
        assert!(
            (before - after - first).abs() < 1e-6,
            "{name}: {before} and {after}, {first} apart before"
        );
    }
    difference.is_some()
}

#[test]
fn written_and_trimmed_form_of_the_library_have_one_determinant() {
    let mut random = Random(0x5EED_0000_0000_0019);
    let mut n_compared = 0;
    for (name, text) in common::library() {
        let compared = agree(&name, &common::system(&text), &mut random);
        n_compared += usize::from(compared);
    }
    println!("{n_compared} models compared");
    assert!(n_compared > 20);
}

/// An equation of a sparse random DAE: derivatives up to order 2 with factors, some cubes, a known function.
fn random_equation(random: &mut Random, n: usize, own: usize) -> String {
    let mut pick = |n: usize| ((random.next() + 1.0) * 0.5 * n as f64) as usize % n;
    let n_terms = 2 + pick(2);
    let mut terms = Vec::new();
    for term in 0..n_terms {
        let unknown = if term == 0 { own } else { pick(n) };
        let name = match pick(6) {
            0..3 => format!("x{unknown}"),
            3 | 4 => format!("der(x{unknown})"),
            _ => format!("der(der(x{unknown}))"),
        };
        let factor = ["", "2*", "3*", "-", "0.5*", "p*"][pick(6)];
        terms.push(format!("{factor}{name}"));
        if pick(4) == 0 {
            terms.push(format!("x{unknown}^3"));
        }
    }
    let known = ["sin(time)", "cos(time)", "1", "time"][pick(4)];
    format!("{} = {known};", terms.join(" + ").replace("+ -", "- "))
}

#[test]
fn written_and_trimmed_form_of_random_models_have_one_determinant() {
    let mut random = Random(0x5EED_0000_0000_0020);
    let mut n_compared = 0;
    for case in 0..600 {
        let n = 3 + case % 4;
        let names: Vec<String> = (0..n).map(|j| format!("x{j}")).collect();
        let equations: Vec<String> = (0..n)
            .map(|own| random_equation(&mut random, n, own))
            .collect();
        let text = format!(
            "model M parameter Real p = 1.5; Real {}; equation {} end M;",
            names.join(", "),
            equations.join(" ")
        );
        let compared = agree(&text, &common::system(&text), &mut random);
        n_compared += usize::from(compared);
    }
    println!("{n_compared} of 600 models compared");
    assert!(n_compared > 200);
}

/// In both an unknown would be taken out of an entry that is never tight, which makes the others dependent.
#[test]
fn an_unknown_that_would_spoil_the_structure_stays() {
    let three = "model M Real a, b, c; equation a + a^3 + b = sin(time);
         a + a^3 - 2*b - b^3 + 2*c = cos(time); a + der(b) + 3*der(c) = 1; end M;";
    let crane = "model M parameter Real mt = 20, ml = 100, J = 0.1, rd = 0.1, g = 9.81;
         Real s, l(start = 4), x, z(start = -4), vx, vz, F, S, M, path;
         equation path = sin(time)^5; der(x) = vx; der(z) = vz; ml*der(vx) = -S*(x - s)/l;
         ml*der(vz) = -S*z/l - ml*g; mt*der(der(s)) = F + S*(x - s)/l; J/rd^2*der(der(l)) = M/rd + S;
         (x - s)^2 + z^2 = l^2; x = 5*path; z = -4 + 3*path; end M;";
    for (text, stays) in [(three, "a"), (crane, "S")] {
        let system = common::system(text);
        let reduced = Reduced::new(&system);
        let kept = reduced.kept_unknowns();
        let names: Vec<&str> = kept
            .iter()
            .map(|&u| system.unknowns()[u].name.as_str())
            .collect();
        assert!(names.contains(&stays), "{names:?}");
        let structure = reduced.structure().expect("offsets");
        let written = system.structure().expect("a transversal");
        assert_eq!(
            structure.n_degrees_of_freedom(),
            written.n_degrees_of_freedom()
        );
    }
}

/// What only a condition reads is part of a point.
#[test]
fn a_condition_has_room_in_the_offsets() {
    let system = common::system(
        "model M Real x, y; equation x^3 + x = sin(time); y = if der(x) > -0.2 then 1 else 2*x; end M;",
    );
    let reduced = Reduced::new(&system);
    let structure = reduced.structure().expect("offsets");
    let x = reduced
        .kept_unknowns()
        .iter()
        .position(|&unknown| unknown == 0);
    assert_eq!(structure.offsets().variable[x.expect("x stays")], 1);
    assert_eq!(
        system
            .structure()
            .expect("a transversal")
            .offsets()
            .variable[0],
        0
    );
}
