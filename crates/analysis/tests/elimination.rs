//! The reduced form says the same as the model, and leaves with no singularity.

use crate::common;
use crate::common::{Random, random_jet, time};
use daelight_analysis::{Reduced, System};
use daelight_expr::{JacobianSeries, Jet, JetEvaluator, PackedJet};

const ORDER: usize = 4;

/// For a random jet of the kept unknowns: the recovered jet satisfies the removed equations, and the
/// kept equations have the residuals of the model. Differences are relative to the largest term.
fn both_forms_agree<J: JetEvaluator>(name: &str, system: &System) -> Reduced {
    let reduced = Reduced::new(system);
    let parameters = system.parameters().values();
    let mut short = reduced.series::<J>(ORDER, parameters);
    let mut back = reduced.recovery::<J>(ORDER + 1, parameters);
    let mut full = system.series::<J>(ORDER);
    let n_rows = back.inputs().n_orders().max(short.inputs().n_orders());
    let mut random = Random(0xA5A5_1234_5678_0001);
    let at = time(system);
    short.inputs_mut().set_time(at);
    full.inputs_mut().set_time(at);
    back.inputs_mut().set_time(at);
    let n_rows = if n_rows == usize::MAX { 0 } else { n_rows };
    for (order, row) in random_jet(system, n_rows, &mut random).iter().enumerate() {
        if order < short.inputs().n_orders() {
            reduced.restrict(row, short.inputs_mut().row_mut(order));
        }
        if order < back.inputs().n_orders() {
            reduced.restrict(row, back.inputs_mut().row_mut(order));
        }
    }
    for k in 0..=ORDER + 1 {
        back.extend(k).expect("a regular point");
        back.row(k, full.inputs_mut().row_mut(k));
    }
    let removed: Vec<usize> = reduced.removed().map(|(_, equation)| equation).collect();
    assert_eq!(
        removed.len() + reduced.kept_equations().len(),
        system.equations().n_equations(),
        "{name}: every equation is kept or removed"
    );
    assert_eq!(
        removed.len() + reduced.kept_unknowns().len(),
        system.unknowns().len()
    );
    for k in 0..=ORDER {
        short.extend(k).expect("a regular point");
        full.extend(k).expect("a regular point");
        let inputs = full.inputs();
        let rows = inputs.row(k).iter().chain(inputs.row(k + 1));
        let largest = rows.fold(1.0, |most: f64, x| most.max(x.abs()));
        for &equation in &removed {
            let error = full.residual(equation, k).abs() / largest;
            assert!(
                error < 1e-12,
                "{name}: removed {equation}, order {k}: {error:e}"
            );
        }
        for (position, &equation) in reduced.kept_equations().iter().enumerate() {
            let (a, b) = (short.residual(position, k), full.residual(equation, k));
            let error = (a - b).abs() / (1.0 + a.abs().max(b.abs()));
            assert!(
                error < 1e-11,
                "{name}: kept {equation}, order {k}: {a} against {b}"
            );
        }
    }
    reduced
}

#[test]
fn both_forms_agree_on_the_library() {
    for (name, text) in common::library() {
        let system = common::system(&text);
        both_forms_agree::<Jet>(&name, &system);
        let reduced = both_forms_agree::<PackedJet>(&name, &system);
        println!(
            "{name}: {} equations become {} of order {}",
            system.equations().n_equations(),
            reduced.equations().n_equations(),
            reduced.equations().order()
        );
    }
}

#[test]
fn andrews_becomes_thirteen_unknowns_of_second_order() {
    let system = common::system(&common::text("andrews"));
    let reduced = Reduced::new(&system);
    let equations = reduced.equations();
    assert_eq!((equations.n_equations(), equations.n_unknowns()), (13, 13));
    assert_eq!(equations.order(), 2);
    let find = |name: &str| {
        let position = system.unknowns().iter().position(|u| u.name == name);
        position.expect("the name is there")
    };
    assert_eq!(
        reduced.text(&system, find("v[3]"), 80).as_deref(),
        Some("der(q[3])")
    );
    assert_eq!(
        reduced.text(&system, find("w[3]"), 80).as_deref(),
        Some("der(der(q[3]))")
    );
    assert_eq!(reduced.derivative_of(find("w[3]")), Some((2, 2)));
}

/// Unknowns that are left of a text, and the formulas of the others.
fn check(declarations: &str, equations: &str, kept: &[&str], formulas: &[(&str, &str)]) {
    let text = format!("model M\n{declarations}\nequation\n{equations}\nend M;");
    let system = common::system(&text);
    let reduced = both_forms_agree::<Jet>(equations, &system);
    let name = |unknown: usize| system.unknowns()[unknown].name.as_str();
    let left: Vec<&str> = reduced.kept_unknowns().iter().map(|&u| name(u)).collect();
    assert_eq!(left, kept, "{equations}");
    for (unknown, formula) in formulas {
        let position = system.unknowns().iter().position(|u| u.name == *unknown);
        let found = reduced.text(&system, position.expect("an unknown"), 200);
        assert_eq!(found.as_deref(), Some(*formula), "{equations}");
    }
}

#[test]
fn velocities_and_chains_become_derivatives() {
    check(
        "Real x, v;",
        "der(x) = v; der(v) = -x;",
        &["x"],
        &[("v", "der(x)")],
    );
    check(
        "Real x, v, w, l;",
        "der(v) = w; v = der(x); w = -l*x; x^2 + l^3 + l = 1;",
        &["x", "l"],
        &[("v", "der(x)"), ("w", "der(der(x))")],
    );
    check(
        "Real x, v, z;",
        "-2*der(x) = 4*v; der(v) = x*z; z^3 + z = x;",
        &["x", "z"],
        &[("v", "-0.5*der(x)")],
    );
}

#[test]
fn long_chains_of_integrators_are_cut() {
    let declarations = "Real x[12];";
    let equations = "for i in 1:11 loop der(x[i]) = x[i + 1]; end for; x[12] = -x[1]^3;";
    let text = format!("model M {declarations} equation {equations} end M;");
    let system = common::system(&text);
    let reduced = both_forms_agree::<Jet>("chain", &system);
    assert!(reduced.equations().order() <= 4);
    assert!(reduced.equations().n_unknowns() <= 3);
}

#[test]
fn aliases_disappear_with_sign_and_constant() {
    check(
        "Real x(fixed = true, start = 0), y, z;",
        "x = y; z = -y; der(x) = z - x^2;",
        &["x"],
        &[("y", "x"), ("z", "-x")],
    );
    check(
        "Real x, y; parameter Real c = 2;",
        "y = x + c; der(x) = -y*y;",
        &["x"],
        &[("y", "x + c")],
    );
    // A constant of integration is lost when both sides are differentiated.
    check(
        "Real x, y;",
        "der(x) = der(y); x^2 + y = 1;",
        &["x", "y"],
        &[],
    );
}

#[test]
fn explicit_assignments_disappear_where_nothing_can_fail() {
    check(
        "Real x, p;",
        "p = x^2 + sin(x); der(x) = -p*x;",
        &["x"],
        &[("p", "x^2 + sin(x)")],
    );
    check(
        "Real x, p, q, r;",
        "p = x^2 + x; q = p*p + x; r = q*x; der(x) = r + q + p;",
        &["x"],
        &[],
    );
    // An output that nothing else reads.
    check(
        "Real x, u; parameter Real k = 2;",
        "der(x) = -x^3; u = k*der(x) + x/k;",
        &["x"],
        &[],
    );
    // Known functions of time.
    check(
        "Real x, y;",
        "x = sin(time); der(x) = y;",
        &[],
        &[("y", "cos(time)")],
    );
}

#[test]
fn what_can_be_singular_stays() {
    // A product, a root, a quotient, a kink, a parameter that can vanish, a tiny factor.
    check("Real x, y;", "x*y = 1; der(x) = -y*x^3;", &["x", "y"], &[]);
    check(
        "Real x(start = 1), y;",
        "y = sqrt(x); der(x) = -x;",
        &["x", "y"],
        &[],
    );
    check(
        "Real x(start = 1), y;",
        "y = 1/x; der(x) = -x;",
        &["x", "y"],
        &[],
    );
    check(
        "Real x(start = 1), y;",
        "y = abs(x)*x; der(x) = -x;",
        &["x", "y"],
        &[],
    );
    check(
        "Real x(start = 1), y; parameter Real e = 0.1;",
        "e*y = x; der(x) = -y*x;",
        &["x", "y"],
        &[],
    );
    check(
        "Real x(start = 1), y;",
        "1e-9*y = x; der(x) = -y*x;",
        &["x", "y"],
        &[],
    );
}

/// Without a transversal there are no offsets to keep, and nothing to integrate.
#[test]
fn equations_that_do_not_match_the_unknowns_stay() {
    for text in [
        "model M Real x, y; parameter Real p = 1; equation x = sin(time); x = p; der(y) = x*y; end M;",
        "model M Real x, y, z; equation x = y; der(z) = x*z; x + x^3 = z^2; y^2 + z^3 = 1; end M;",
        "model M Real x, y, v; equation der(x) = v; end M;",
        "model M Real x, y; equation x = 1; x = 2; end M;",
    ] {
        let system = common::system(text);
        let reduced = Reduced::new(&system);
        assert_eq!(reduced.removed().count(), 0, "{text}");
        assert!(reduced.structure().is_none(), "{text}");
    }
    // There is one, and it ends with the first removal: the system Jacobian is singular everywhere.
    let system = common::system("model M Real x, y; equation x = y; y = x; end M;");
    let reduced = Reduced::new(&system);
    assert_eq!(reduced.removed().count(), 0);
    assert!(reduced.structure().is_some());
}

#[test]
fn an_assignment_that_fills_the_matrices_stays() {
    // p depends on ten unknowns and is used in ten equations that know one of them each.
    let system = common::system(
        "model M Real x[10](each start = 1), p; equation p = sum(x[i]^2 for i in 1:10);
         for i in 1:10 loop der(x[i]) = -p*x[i]; end for; end M;",
    );
    let reduced = Reduced::new(&system);
    assert_eq!(reduced.equations().n_unknowns(), 11);
}

#[test]
fn parameters_can_change_after_the_elimination() {
    let mut system = common::system(
        "model M parameter Real c = 2, d = 2*c; Real x, y, z; equation y = x + d; z = c*y*x; der(x) = -z*x; end M;",
    );
    let reduced = Reduced::new(&system);
    system.set_parameter("c", 5.0).expect("it can be set");
    let mut back = reduced.recovery::<Jet>(0, system.parameters().values());
    back.inputs_mut().set(0, 0, 3.0);
    back.extend(0).expect("a regular point");
    assert_eq!(
        [0, 1, 2].map(|u| back.coefficient(u, 0)),
        [3.0, 13.0, 195.0]
    );
}

/// A random equation of the kinds that are removed, and of kinds that are not.
fn random_equation(random: &mut Random, n: usize) -> String {
    let mut pick = |n: usize| ((random.next() + 1.0) * 0.5 * n as f64) as usize % n;
    let x: Vec<String> = (0..3).map(|_| format!("x[{}]", pick(n) + 1)).collect();
    let (a, b, c) = (&x[0], &x[1], &x[2]);
    match pick(10) {
        0 => format!("{a} = {b}"),
        1 => format!("{a} + {b} = 0"),
        2 => format!("der({a}) = {b}"),
        3 => format!("{a} = -der({b})"),
        4 => format!("{a} = {b}*{c} + p"),
        5 => format!("2*{a} = {b} - 3*time"),
        6 => format!("der({a}) = -{b}*{c}"),
        7 => format!("{a} = {b} + {c}/4 + sin(time)"),
        8 => format!("{a}*{b} = 1 + {c}^2"),
        _ => format!("{a} = der({b}) + cos({c})"),
    }
}

fn random_model(random: &mut Random, n: usize) -> String {
    let equations: Vec<String> = (0..n).map(|_| random_equation(random, n)).collect();
    let equations = equations.join(";\n");
    format!(
        "model M parameter Real p = 0.5; Real x[{n}](each start = 0.3); equation {equations}; end M;"
    )
}

/// Whatever the model, singular and contradictory ones included.
#[test]
fn both_forms_agree_on_random_models() {
    let mut random = Random(0x0DD0_5EED_0000_0003);
    let mut n_removed = 0;
    for case in 0..400 {
        let n = 2 + case % 7;
        let text = random_model(&mut random, n);
        let reduced = both_forms_agree::<Jet>(&text, &common::system(&text));
        n_removed += reduced.removed().count();
    }
    println!("{n_removed} equations removed from 400 models");
    // 568: nothing is removed from the many that have no transversal.
    assert!(n_removed > 500);
}

/// The determinant of a matrix, by elimination with row exchanges.
fn determinant(mut rows: Vec<Vec<f64>>) -> f64 {
    let n = rows.len();
    let mut product = 1.0;
    for column in 0..n {
        let largest =
            |&a: &usize, &b: &usize| rows[a][column].abs().total_cmp(&rows[b][column].abs());
        let pivot = (column..n).max_by(largest).expect("a row");
        if rows[pivot][column] == 0.0 {
            return 0.0;
        }
        if pivot != column {
            rows.swap(pivot, column);
            product = -product;
        }
        product *= rows[column][column];
        let (done, rest) = rows.split_at_mut(column + 1);
        let pivot = &done[column];
        for row in rest {
            let factor = row[column] / pivot[column];
            for (x, p) in row.iter_mut().zip(pivot) {
                *x -= factor * p;
            }
        }
    }
    product
}

/// det(sum of s^r dF/dx^(r)) at order 0 of a series that was extended.
fn pencil(series: &JacobianSeries<Jet>, s: f64) -> f64 {
    let mut rows = vec![vec![0.0; series.n_unknowns()]; series.n_equations()];
    for derivative in 0..series.n_matrices() {
        for (row, column, position) in series.pattern(derivative).iter() {
            rows[row][column] += s.powi(derivative as i32) * series.entry(derivative, position, 0);
        }
    }
    determinant(rows)
}

/// At a resting point both pencils have the same determinant up to a constant factor, so one is
/// singular exactly where the other is; docs/theory/system.md (8).
#[test]
fn no_singularity_is_lost_or_gained() {
    let mut random = Random(0x0DD0_5EED_0000_0007);
    let (mut n_regular, mut n_singular) = (0, 0);
    for case in 0..400 {
        let n = 2 + case % 7;
        let text = random_model(&mut random, n);
        let system = common::system(&text);
        let reduced = Reduced::new(&system);
        let parameters = system.parameters().values();
        let mut full = system.series::<Jet>(0);
        let mut short = reduced.series::<Jet>(0, parameters);
        let mut back = reduced.recovery::<Jet>(1, parameters);
        let mut factor: Option<f64> = None;
        for s in [0.7, -1.3, 2.1] {
            for kept in 0..reduced.kept_unknowns().len() {
                let value = random.next();
                short.inputs_mut().set(kept, 0, value);
                back.inputs_mut().set(kept, 0, value);
            }
            for k in 0..2 {
                back.extend(k).expect("a regular point");
                back.row(k, full.inputs_mut().row_mut(k));
            }
            full.extend(0).expect("a regular point");
            short.extend(0).expect("a regular point");
            let (a, b) = (pencil(&full, s), pencil(&short, s));
            if a.abs() < 1e-12 || b.abs() < 1e-12 {
                assert!(a.abs() < 1e-10 && b.abs() < 1e-10, "{text}: {a:e}, {b:e}");
                n_singular += 1;
                continue;
            }
            n_regular += 1;
            let ratio = a / b;
            let first = *factor.get_or_insert(ratio);
            assert!(
                (ratio / first - 1.0).abs() < 1e-8,
                "{text}: {ratio}, {first}"
            );
        }
    }
    println!("{n_regular} regular and {n_singular} singular pencils");
    assert!(n_regular > 100 && n_singular > 100);
}
