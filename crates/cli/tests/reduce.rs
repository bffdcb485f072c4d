//! `reduce`: the written model has index 1 or 0, the same degrees of freedom and the same consistent points.

use crate::common::{Random, built_in, daelight, daelight_with_input, model_of, stderr, stdout};
use daelight_analysis::index_reduction::{
    Form, Groundwork, IndexReduced, Preference, ReduceBy, Refusal, StateChoice, StrangenessFree,
};
use daelight_analysis::initial::{
    ConsistentPoint, ConstraintArray, Request, Row, Selection as Rows, StageOffsets, TaylorJet,
    consistent_point,
};
use daelight_analysis::passport::Passport;
use daelight_analysis::structure::{Structure, SystemJacobian};
use daelight_analysis::{IndexVerdict, System};
use daelight_lang::{Model, Symbol};
use daelight_linalg::{Mat, Svd};

/// Models that need a reduction, among them one whose structure misleads.
const MODELS: [&str; 9] = [
    "pendulum",
    "pendulum-3d",
    "andrews",
    "robotic-arm",
    "robotic-arm-torques",
    "e12",
    "index3-toy",
    "cstr",
    "delta-robot",
];

/// Largest residual, relative to the terms of its row.
const RESIDUAL: f64 = 1e-10;

fn system_of(name: &str, text: &str) -> System {
    System::new(&model_of(name, text)).expect("a system")
}

fn start(system: &System) -> Request {
    let time = system.experiment().start_time.unwrap_or(0.0);
    Request::of_model(system, time, 0)
}

fn groundwork(system: &System) -> Groundwork<'_> {
    Groundwork::new(system, &start(system)).unwrap_or_else(|refusal| panic!("{refusal}"))
}

/// Index and degrees of freedom that `analyze` decides on.
fn index_and_dof(system: &System) -> (usize, usize) {
    let passport = Passport::new(system, &start(system));
    let indices = passport
        .indices()
        .unwrap_or_else(|| panic!("{}: {:?}", system.name(), passport.verdict));
    let index = indices.differentiation_index.expect("square and regular");
    (index, indices.degrees_of_freedom())
}

/// The largest residual of rows of the derivative array on a jet, relative to the terms of its row.
fn largest_residual(system: &System, time: f64, jet: &TaylorJet, rows: Vec<Row>) -> f64 {
    let n = system.equations().n_unknowns();
    let order = Rows {
        rows: rows.clone(),
        columns: Vec::new(),
    }
    .order();
    let columns = Rows::whole(0, n, order).columns;
    let selection = Rows { rows, columns };
    let mut array = ConstraintArray::new(system, time, order);
    array.evaluate(jet, &selection).expect("values");
    array.differentiate(&selection);
    let mut sizes = vec![1.0; selection.rows.len()];
    for &(row, column, value) in &array.entries {
        let column = selection.columns[column];
        sizes[row] += (value * jet.get(column.unknown, column.order)).abs();
    }
    let relative = array.residuals.iter().zip(&sizes);
    relative
        .map(|(residual, size)| residual.abs() / size)
        .fold(0.0, f64::max)
}

/// A consistent point of a reduced model away from its start: states moved, or another time where there are none.
fn other_point(system: &System, states: &[usize], random: &mut Random) -> ConsistentPoint {
    let structure = Structure::of_equations(system.equations()).expect("a transversal");
    let mut request = start(system);
    request.order = 6;
    request.time += 0.01;
    request.conditions.clear();
    for &state in states {
        request.given.clear();
        request.guess[state] +=
            1e-3 * (0.1 + request.guess[state].abs()) * random.between(-1.0, 1.0);
        request.conditions.push(Row::Value {
            unknown: state,
            value: request.guess[state],
        });
    }
    let offsets = Some(StageOffsets::of(&structure));
    consistent_point(system, offsets, &request)
        .unwrap_or_else(|no_point| panic!("{}: {no_point:?}", system.name()))
}

/// Every consistent point of the reduced model satisfies the original and its hidden constraints.
fn check_forth(name: &str, system: &System, reduced: &IndexReduced, again: &System) {
    let groundwork = groundwork(system);
    let times = match groundwork.repaired() {
        Some(repaired) => repaired.times_differentiated(),
        None => groundwork.structure().offsets().equation.clone(),
    };
    let mut random = Random(11);
    for _ in 0..3 {
        let point = other_point(again, &reduced.states, &mut random);
        let n = system.unknowns().len();
        let mut jet = TaylorJet::at_rest(&vec![0.0; n], point.jet.n_orders());
        for unknown in 0..n {
            assert_eq!(
                system.unknowns()[unknown].name,
                again.unknowns()[unknown].name
            );
            for order in 0..jet.n_orders() {
                jet.set(unknown, order, point.jet.get(unknown, order));
            }
        }
        let rows = times.iter().enumerate().flat_map(|(equation, &times)| {
            (0..=times).map(move |order| Row::Equation { equation, order })
        });
        let residual = largest_residual(system, point.time, &jet, rows.collect());
        assert!(residual < RESIDUAL, "{name}: {residual:e}");
    }
}

/// Every consistent point of the original satisfies the reduced model.
fn check_back(name: &str, system: &System, reduced: &IndexReduced, again: &System) {
    let mut random = Random(5);
    for attempt in 0..3 {
        let mut request = start(system);
        request.conditions.clear();
        request.time += 0.02 * f64::from(attempt);
        request.given.clear();
        for guess in &mut request.guess {
            *guess += 0.01 * (0.1 + guess.abs()) * random.between(-1.0, 1.0);
        }
        let groundwork = Groundwork::new(system, &request).expect("a regular point");
        let point = groundwork.point();
        let value = |unknown: usize, more: usize| {
            let meaning = &reduced.meanings[unknown];
            assert!(
                meaning.unknown < system.unknowns().len(),
                "no new unknowns here"
            );
            point.jet.derivative(meaning.unknown, meaning.order + more)
        };
        let n = reduced.meanings.len();
        let values: Vec<f64> = (0..n).map(|unknown| value(unknown, 0)).collect();
        let mut jet = TaylorJet::at_rest(&values, 2);
        (0..n).for_each(|unknown| jet.set(unknown, 1, value(unknown, 1)));
        let rows = (0..n).map(|equation| Row::Equation { equation, order: 0 });
        let residual = largest_residual(again, point.time, &jet, rows.collect());
        assert!(residual < RESIDUAL, "{name}: {residual:e}");
    }
}

/// Reduces, reads the text back and compares with the original.
fn check(name: &str, method: ReduceBy, form: Form) {
    let system = system_of(name, built_in(name));
    let reduced = groundwork(&system)
        .reduce(method, form)
        .unwrap_or_else(|refusal| panic!("{name}: {refusal}"));
    let text = reduced.text().expect("not too long");
    let again = system_of(name, &text);
    let names: Vec<&str> = reduced
        .model
        .unknowns
        .iter()
        .map(|u| u.name.as_str())
        .collect();
    let read: Vec<&str> = again.unknowns().iter().map(|u| u.name.as_str()).collect();
    assert_eq!(names, read, "{name}");
    assert_eq!(system.experiment(), again.experiment(), "{name}");
    let (_, dof) = index_and_dof(&system);
    let (index_after, dof_after) = index_and_dof(&again);
    assert!(index_after <= 1, "{name}: index {index_after}\n{text}");
    assert_eq!(dof_after, dof, "{name}\n{text}");
    assert_eq!(reduced.states.len(), dof, "{name}");
    check_forth(name, &system, &reduced, &again);
    check_back(name, &system, &reduced, &again);
    let twice = groundwork(&again).reduce(method, Form::Implicit);
    assert!(twice.is_ok_and(|twice| twice.is_unchanged), "{name}");
}

#[test]
fn dummy_derivatives_keep_the_solutions() {
    for name in MODELS {
        check(name, ReduceBy::Dummy, Form::Implicit);
    }
}

#[test]
fn minimal_extensions_keep_the_solutions() {
    for name in MODELS {
        check(name, ReduceBy::Minimal, Form::Implicit);
    }
}

#[test]
fn strangeness_free_forms_keep_the_solutions() {
    for name in [
        "pendulum",
        "pendulum-3d",
        "andrews",
        "index3-toy",
        "cstr",
        "delta-robot",
        "robotic-arm",
    ] {
        check(name, ReduceBy::Strangeness, Form::Implicit);
    }
}

#[test]
fn semi_explicit_forms_keep_the_solutions() {
    for name in [
        "pendulum",
        "pendulum-3d",
        "index3-toy",
        "cstr",
        "delta-robot",
    ] {
        for method in [ReduceBy::Dummy, ReduceBy::Minimal, ReduceBy::Strangeness] {
            check(name, method, Form::SemiExplicit);
        }
    }
}

#[test]
fn explicit_forms_keep_the_solutions() {
    for name in ["cstr", "index3-toy", "cart-pendulum", "spring-mass"] {
        check(name, ReduceBy::Dummy, Form::Explicit);
    }
}

/// What occurs differentiated in an expression.
fn has_derivative(model: &Model, expr: daelight_expr::ExprId) -> bool {
    let symbols = daelight_expr::Walker::new().symbols(&model.graph, &[expr]);
    let differentiated =
        |&id: &_| matches!(model.symbols.get(id), Symbol::Unknown { order, .. } if order > 0);
    symbols.iter().any(differentiated)
}

#[test]
fn forms_have_derivatives_where_they_belong() {
    for (name, form) in [
        ("pendulum", "semi-explicit"),
        ("delta-robot", "semi-explicit"),
        ("andrews", "semi-explicit"),
        ("cstr", "explicit"),
        ("cart-pendulum", "explicit"),
    ] {
        let output = daelight(&["reduce", name, "--form", form]);
        assert!(output.status.success(), "{}", stderr(&output));
        let model = model_of(name, &stdout(&output));
        let mut given = Vec::new();
        for equation in &model.equations {
            assert!(
                !has_derivative(&model, equation.right),
                "{name}: a derivative on the right"
            );
            match model.graph.as_symbol(equation.left) {
                Some(symbol) => given.push(symbol),
                None => {
                    assert_eq!(form, "semi-explicit", "{name}: not solved");
                    assert_eq!(model.graph.as_constant(equation.left), Some(0.0), "{name}");
                }
            }
        }
        if form == "explicit" {
            let n = given.len();
            given.sort();
            given.dedup();
            assert_eq!((n, given.len()), (model.unknowns.len(), n), "{name}");
        }
    }
}

/// Kunkel and Mehrmann count n + (rank E - d) equations.
#[test]
fn a_minimal_extension_is_minimal() {
    for (name, n) in [
        ("pendulum", 7),
        ("pendulum-3d", 9),
        ("index3-toy", 5),
        ("cstr", 7),
    ] {
        let system = system_of(name, built_in(name));
        let reduced = groundwork(&system).reduce(ReduceBy::Minimal, Form::Implicit);
        assert_eq!(
            reduced.expect("reducible").model.equations.len(),
            n,
            "{name}"
        );
    }
}

#[test]
fn every_new_equation_names_its_origin() {
    let output = daelight(&["reduce", "pendulum"]);
    let text = stdout(&output);
    for expected in [
        "  // first derivative of equation 1: der(x) = vx\n  der2_x = der_vx;\n",
        "  // second derivative of equation 5: x^2 + y^2 = L^2\n",
        "  Real y(unit = \"m\", start = 0, fixed = true);\n",
        "experiment(StartTime = 0, StopTime = 10, Tolerance = 1e-8)",
    ] {
        assert!(text.contains(expected), "{expected}\n{text}");
    }
    assert!(
        stderr(&output).contains("note: States: y, vy.\n"),
        "{}",
        stderr(&output)
    );
    assert!(stderr(&output).contains("note: New unknowns: der_x, der2_x, der2_y, der_vx.\n"));
}

/// Another parameter, another time: both arrive in the text.
#[test]
fn parameters_and_times_are_taken_over() {
    let output = daelight(&["reduce", "robotic-arm", "--at", "0.5", "--quiet"]);
    let text = stdout(&output);
    assert!(text.contains("experiment(StartTime = 0.5, "), "{text}");
    assert!(stderr(&output).is_empty(), "{}", stderr(&output));
    let output = daelight(&["reduce", "pendulum", "--set", "L=2"]);
    let text = stdout(&output);
    assert!(
        text.contains("parameter Real L(unit = \"m\") = 2 "),
        "{text}"
    );
    let (index, dof) = index_and_dof(&system_of("pendulum", &text));
    assert_eq!((index, dof), (1, 2));
}

/// A system whose parameters were set after the text was read is written with these values.
#[test]
fn parameters_that_were_set_are_written() {
    for (name, parameter) in [("pendulum", "L"), ("spring-mass", "k")] {
        let mut system = system_of(name, built_in(name));
        system.set_parameter(parameter, 1.25).expect("free");
        let reduced = groundwork(&system).reduce(ReduceBy::Dummy, Form::Implicit);
        let text = reduced.expect("regular").text().expect("short");
        let again = system_of(name, &text);
        assert_eq!(
            system.parameters().values(),
            again.parameters().values(),
            "{text}"
        );
    }
}

#[test]
fn names_are_unique() {
    let text = "model Clash  Real x, y, der_x, 'x.1'(start = 1), z;  parameter Real der_x_2 = 1;
        equation  der(x) = y;  x = sin(time)*der_x_2;  der_x = y + x;  der('x.1') = z;  'x.1' = cos(time);  end Clash;";
    let output = daelight_with_input(&["reduce", "-"], text.as_bytes());
    let reduced = stdout(&output);
    assert!(
        reduced.contains("  Real der_x_3("),
        "{reduced}{}",
        stderr(&output)
    );
    assert!(reduced.contains("  Real der_x_1("), "{reduced}");
    assert_eq!(index_and_dof(&system_of("clash", &reduced)), (1, 0));
}

#[test]
fn inputs_are_differentiated_through_their_definitions() {
    let text = "model Driven  input Real u = sin(2*time);  Real x(start = 0), y;
        equation  der(x) = y;  x = u;  end Driven;";
    for method in ["dummy", "minimal", "strangeness"] {
        let output = daelight_with_input(&["reduce", "-", "--method", method], text.as_bytes());
        let reduced = stdout(&output);
        assert!(
            reduced.contains("input Real u = sin(2*time);"),
            "{reduced}{}",
            stderr(&output)
        );
        assert!(reduced.contains("cos(2*time)"), "{reduced}");
        assert_eq!(
            index_and_dof(&system_of("driven", &reduced)),
            (1, 0),
            "{reduced}"
        );
    }
}

/// New unknowns of a repair become unknowns of the reduced model.
#[test]
fn a_repair_with_new_unknowns_is_reduced_too() {
    let text = "model Exponent  Real a(start = -1), b(start = 1), w(start = 1);
        equation  der(b) = w;  a + exp(-der(a) - b*der(w)) = sin(time);
        a + b*w + b^2 = cos(time);  end Exponent;";
    let system = system_of("exponent", text);
    let ground = groundwork(&system);
    assert!(
        !ground
            .repaired()
            .expect("needed")
            .extra_unknowns()
            .is_empty()
    );
    for method in [ReduceBy::Dummy, ReduceBy::Minimal] {
        let reduced = ground.reduce(method, Form::Implicit);
        let reduced = reduced.unwrap_or_else(|refusal| panic!("{refusal}"));
        let again = system_of("exponent", &reduced.text().expect("short"));
        assert_eq!(index_and_dof(&again), (1, 1));
        check_forth("exponent", &system, &reduced, &again);
    }
}

/// x (1 + y) = sin(t) lets x or 1 + y vanish at t = 0: what follows by differentiation is not determined there.
#[test]
fn a_singular_point_is_refused_though_its_pattern_is_right() {
    let text = "model Corner  Real x(start = 0), y(start = -1), z;
        equation  der(x) + der(y)*x = z;  x + x*y = sin(time);  der(y) + z = x;  end Corner;";
    // Off the corner one of them does not vanish: x = 1, y = -1 is regular, and x is kept because it is written.
    let beside = text.replace("x(start = 0), y(start = -1)", "x(start = 1), y");
    let beside = system_of("corner", &beside);
    assert!(Groundwork::new(&beside, &start(&beside)).is_ok());
    let system = system_of("corner", text);
    let refused = Groundwork::new(&system, &start(&system)).err();
    // The point is known to the root of the rounding only, so that "close to a singular one" is an honest answer too.
    assert!(
        matches!(
            refused,
            Some(Refusal::Singular | Refusal::StructureFails | Refusal::Undecided(_))
        ),
        "{refused:?}"
    );
}

#[test]
fn models_of_index_1_and_0_stay_as_written() {
    for name in ["akzo-nobel", "cart-pendulum", "spring-mass"] {
        let output = daelight(&["reduce", name]);
        assert!(output.status.success());
        assert!(
            stderr(&output).contains("needs no reduction: its index is "),
            "{name}"
        );
        let derived = stdout(&daelight(&["derive", name]));
        let text = stdout(&output);
        let (remark, rest) = text.split_once('\n').expect("a remark");
        assert!(remark.starts_with("// "), "{remark}");
        assert_eq!(rest, derived, "{name}");
    }
}

#[test]
fn refusals_say_why_and_what_to_do() {
    for (arguments, reason, help) in [
        (
            &["reduce", "andrews-constraints"][..],
            "6 equations for 7 unknowns",
            "daelight check",
        ),
        (
            &["reduce", "robotic-arm", "--at", "1.5446260000352114"],
            "the point is singular",
            "--at",
        ),
        (
            &["reduce", "pendulum", "--form", "explicit"],
            "no equation is linear in x",
            "--form semi-explicit",
        ),
        (
            &["reduce", "robotic-arm-torques", "--method", "strangeness"],
            "cannot be written as text",
            "--method minimal",
        ),
    ] {
        let output = daelight(arguments);
        let message = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{message}");
        assert!(message.contains("error[not-reducible]"), "{message}");
        assert!(message.contains(reason), "{message}");
        assert!(message.contains(help), "{message}");
        assert!(output.stdout.is_empty());
    }
    let output = daelight(&["reduce", "pendulum", "--json"]);
    assert_eq!(output.status.code(), Some(2));
    let output = daelight(&["reduce", "pendulum", "--at", "nan"]);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn a_structurally_singular_model_is_refused() {
    let text = "model Twice  Real x, y;  equation  x = sin(time);  x + time = 0;  end Twice;";
    let system = system_of("twice", text);
    let refused = Groundwork::new(&system, &start(&system)).err();
    assert!(matches!(refused, Some(Refusal::StructurallySingular)));
}

#[test]
fn a_model_without_unknowns_is_refused() {
    let system = system_of("empty", "model Empty  end Empty;");
    let refused = Groundwork::new(&system, &start(&system)).err();
    assert!(matches!(refused, Some(Refusal::Empty)));
}

/// Where the pendulum passes the lowest point the best states are others; a run sees it and selects afresh.
#[test]
fn a_selection_degrades_and_is_made_afresh() {
    let system = system_of("pendulum", built_in("pendulum"));
    let ground = groundwork(&system);
    let structure = ground.structure();
    let selection = ground.selection().expect("a regular point");
    let states: Vec<_> = selection.states().collect();
    assert_eq!(states, [(1, 0), (3, 0)], "y and vy at x = 1, y = 0");
    let parameters = system.parameters().values();
    let jacobian = SystemJacobian::new(system.equations(), structure, parameters);
    let at_angle = |angle: f64| {
        jacobian.evaluate(|symbol| match symbol {
            Symbol::Unknown {
                unknown: 0,
                order: 0,
            } => angle.cos(),
            Symbol::Unknown {
                unknown: 1,
                order: 0,
            } => angle.sin(),
            _ => 0.0,
        })
    };
    let nominal = ground.nominal();
    let quality = |angle: f64| {
        let quality = selection.quality_at(structure, &at_angle(angle), &nominal);
        quality.expect("finite")
    };
    assert_eq!(quality(0.0), selection.quality());
    assert!(quality(-1.2) < quality(-0.6) && quality(-1.5) < 0.1 * selection.quality());
    let preference = Preference {
        nominal: &nominal,
        fixed: &[false; 5],
    };
    let afresh = StateChoice::at(structure, &at_angle(-1.5), preference).expect("regular");
    assert_eq!(afresh.states().collect::<Vec<_>>(), [(0, 0), (2, 0)]);
    assert!(afresh.quality() > 0.3);
}

/// The strangeness-free form as values: zero at consistent points, regular, and with selectors that move smoothly.
#[test]
fn selectors_single_out_constraints_and_dynamics() {
    for name in [
        "pendulum",
        "delta-robot",
        "robotic-arm",
        "e1",
        "andrews-constraints",
    ] {
        let system = system_of(name, built_in(name));
        let mut request = start(&system);
        let passport = Passport::new(&system, &request);
        let numerical = passport.numerical.as_ref().expect("small");
        let IndexVerdict::Regular(answer) = &numerical.decision.outcome else {
            panic!("{name}: {:?}", numerical.decision.outcome);
        };
        let quantities = answer.indices.strangeness;
        let mut form = StrangenessFree::new(&system, quantities);
        let jet = &passport.point.as_ref().expect("a point").jet;
        let first = form.selectors(request.time, jet, None).expect("regular");
        let values = form.values(request.time, jet, &first).expect("values");
        let largest = values.residuals.iter().fold(0.0_f64, |a, b| a.max(b.abs()));
        assert!(largest < 1e-9, "{name}: {largest:e}");
        // [Z1'E; Z2'F_x], brought to one size, has full row rank: that is what strangeness-free means.
        let n = system.unknowns().len();
        let (d, a) = (quantities.n_differential, quantities.n_algebraic);
        let mut stacked = Mat::from_fn(d + a, n, |i, j| {
            if i < d {
                values.leading[(i, j)]
            } else {
                values.trailing[(i, j)]
            }
        });
        for _ in 0..3 {
            let rows = Mat::from_fn(d + a, n, |i, j| {
                let largest = (0..n).map(|k| stacked[(i, k)].abs()).fold(0.0, f64::max);
                stacked[(i, j)] / largest
            });
            stacked = Mat::from_fn(d + a, n, |i, j| {
                let largest = rows.col(j).iter().map(|v| v.abs()).fold(0.0, f64::max);
                rows[(i, j)] / largest
            });
        }
        let mut svd = Svd::new();
        svd.factor_values(stacked.view()).expect("finite");
        let singular = svd.singular_values();
        assert!(
            singular[d + a - 1] > 1e-6 * singular[0],
            "{name}: {singular:?}"
        );
        // A little later the selectors are a little different.
        let structure = Structure::of_equations(system.equations()).ok();
        request.guess = jet.values().to_vec();
        request.given.clear();
        request.order = passport.point.as_ref().expect("a point").order;
        let mut difference = |step: f64, request: &mut Request| {
            request.time = passport.time + step;
            request.conditions.clear();
            let offsets = structure.as_ref().map(StageOffsets::of);
            let point = consistent_point(&system, offsets, request).expect("a point");
            let then = form
                .selectors(request.time, &point.jet, Some(&first))
                .expect("regular");
            let change = |now: &Mat, before: &Mat| {
                let pairs = now.as_slice().iter().zip(before.as_slice());
                pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
            };
            change(&then.algebraic, &first.algebraic)
                .max(change(&then.kernel, &first.kernel))
                .max(change(&then.differential, &first.differential))
        };
        let change = difference(1e-6, &mut request);
        assert!(change < 1e-3, "{name}: {change:e}");
    }
}

/// A random DAE as text: differential equations and chains v_1 = f(t), v_{i+1} = der(v_i), with multiples of equations
/// and of unknowns added to others, which may spoil the structure. Also its index and degrees of freedom.
fn random_dae(random: &mut Random) -> (String, usize, usize) {
    let n_differential = random.below(3);
    let chains: Vec<usize> = (0..1 + random.below(2))
        .map(|_| 2 + random.below(2))
        .collect();
    let n = n_differential + chains.iter().sum::<usize>();
    // y = x + multiples of earlier unknowns: `terms[i]` is y_i in the x, to be read as text.
    let mut terms: Vec<Vec<(i64, usize)>> = (0..n).map(|i| vec![(1, i)]).collect();
    for (i, term) in terms.iter_mut().enumerate().skip(1) {
        if random.below(2) == 0 {
            term.push((1 + random.below(3) as i64, random.below(i)));
        }
    }
    let text = |i: usize, rate: bool| {
        let part = |&(factor, j): &(i64, usize)| match rate {
            true => format!("{factor}*der(x[{}])", j + 1),
            false => format!("{factor}*x[{}]", j + 1),
        };
        let parts: Vec<String> = terms[i].iter().map(part).collect();
        format!("({})", parts.join(" + "))
    };
    let mut rows = Vec::new();
    for i in 0..n_differential {
        let other = text(random.below(n), false);
        rows.push(format!(
            "{} + {} - 0.5*sin({other})",
            text(i, true),
            text(i, false)
        ));
    }
    let mut first = n_differential;
    for &length in &chains {
        rows.push(format!(
            "{} - sin({}*time)",
            text(first, false),
            1 + random.below(3)
        ));
        for i in first + 1..first + length {
            rows.push(format!("{} - {}", text(i, false), text(i - 1, true)));
        }
        first += length;
    }
    for _ in 0..random.below(3) {
        let (to, from) = (random.below(n), random.below(n));
        if to != from {
            rows[to] = format!("{} + {}*({})", rows[to], 1 + random.below(2), rows[from]);
        }
    }
    let rows: Vec<String> = rows.iter().map(|row| format!("{row} = 0;")).collect();
    let model = format!(
        "model Random  Real x[{n}];  equation  {}  end Random;",
        rows.join("\n  ")
    );
    let index = chains.into_iter().max().unwrap_or(1);
    (model, index, n_differential)
}

/// What is reduced has the right degrees of freedom and index 1 at most; what is not is refused, and rarely.
#[test]
fn random_models_are_reduced_or_refused() {
    let mut random = Random(2026);
    let (mut right, mut refused) = (0, 0);
    for case in 0..120 {
        let (text, index, dof) = random_dae(&mut random);
        let system = system_of("random", &text);
        let request = Request::of_model(&system, 0.3, 0);
        let reduced = Groundwork::new(&system, &request).and_then(|ground| {
            assert_eq!(ground.index(), index, "case {case}\n{text}");
            ground.reduce(
                [ReduceBy::Dummy, ReduceBy::Minimal][case % 2],
                Form::Implicit,
            )
        });
        match reduced {
            Err(_) => refused += 1,
            Ok(reduced) => {
                let again = system_of("random", &reduced.text().expect("short"));
                let (index, dof_after) = index_and_dof(&again);
                assert!(index <= 1, "case {case}: index {index}\n{text}");
                assert_eq!(dof_after, dof, "case {case}\n{text}");
                right += 1;
            }
        }
    }
    assert!(refused * 20 <= right, "{right} reduced, {refused} refused");
}

/// A second reader, where it can be had: the Modelica compiler rumoca from the Python package index.
#[test]
fn another_parser_reads_the_text() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let Some(python) = python_with_rumoca(folder.path()) else {
        eprintln!("note: skipped, the package rumoca cannot be installed here");
        return;
    };
    for name in MODELS {
        let path = folder.path().join(format!("{name}.mo"));
        let written = daelight(&["-q", "reduce", name, "--out", path.to_str().expect("UTF-8")]);
        assert!(written.status.success(), "{}", stderr(&written));
        let script = "import rumoca, sys; found = rumoca.validate_source(open(sys.argv[1]).read()); \
                      sys.exit('\\n'.join(map(str, found)) or 0)";
        let output = std::process::Command::new(&python)
            .args(["-c", script])
            .arg(&path)
            .output()
            .expect("python runs");
        assert!(output.status.success(), "{name}: {}", stderr(&output));
    }
}

/// A Python that knows rumoca: the system's, or one made for this test.
fn python_with_rumoca(folder: &std::path::Path) -> Option<std::path::PathBuf> {
    let succeeds = |command: &mut std::process::Command| {
        let command = command
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    let system = std::path::PathBuf::from("python3");
    if succeeds(std::process::Command::new(&system).args(["-c", "import rumoca"])) {
        return Some(system);
    }
    let made = folder.join("venv");
    if !succeeds(
        std::process::Command::new(&system)
            .args(["-m", "venv"])
            .arg(&made),
    ) {
        return None;
    }
    let python = made.join("bin/python");
    let install = [
        "-m",
        "pip",
        "install",
        "-q",
        "--timeout",
        "3",
        "--retries",
        "0",
        "rumoca==0.10.2",
    ];
    succeeds(std::process::Command::new(&python).args(install)).then_some(python)
}
