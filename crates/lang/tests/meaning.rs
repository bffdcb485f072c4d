//! What the language means: values of expressions, equations of models, and what is refused.

use daelight_lang::{ArrayStyle, Loaded, Model, Options, flat_modelica, load};

fn loaded(text: &str) -> Loaded {
    load("test.mo", text.as_bytes(), &Options::default())
}

fn model(text: &str) -> Model {
    let Loaded {
        model, diagnostics, ..
    } = loaded(text);
    model.unwrap_or_else(|| panic!("{diagnostics:#?}\n{text}"))
}

/// The value of an expression of numbers.
fn value(expression: &str) -> f64 {
    let text = format!(
        "function twice input Real u; input Real factor = 2; output Real y; algorithm y := factor*u; end twice;
         function total input Real v[:]; output Real y; algorithm y := 0;
           for i in 1:size(v, 1) loop y := y + v[i]; end for; end total;
         function step input Real u; output Real y; algorithm
           if u > 1 then y := 10; elseif u > 0 then y := 5; else y := -1; end if; end step;
         model M parameter Real p = {expression}; Real x = p; end M;"
    );
    model(&text).parameters[0].value
}

#[test]
fn expressions_have_the_values_of_modelica() {
    let cases: &[(&str, f64)] = &[
        ("-2^2", -4.0),
        ("2^(-1)", 0.5),
        ("2^-1", 0.5),
        ("(-2)^2", 4.0),
        ("7/2", 3.5),
        ("1 - 2 - 3", -4.0),
        ("12/2/3", 2.0),
        ("2*3^2", 18.0),
        ("- 3 + 5", 2.0),
        ("3 - -2", 5.0),
        ("div(-7, 2)", -3.0),
        ("mod(-7, 2)", 1.0),
        ("rem(-7, 2)", -1.0),
        ("integer(-2.5)", -3.0),
        ("{1, 2, 3}*{4, 5, 6}", 32.0),
        ("sum([1, 2; 3, 4]*{1, 10})", 64.0),
        ("sum({1, 10}*[1, 2; 3, 4])", 73.0),
        ("sum([1, 2; 3, 4]*[0, 1; 1, 0])", 10.0),
        ("sum([1, 2; 3, 4]^2)", 54.0),
        ("sum({1, 2} .* {3, 4})", 11.0),
        ("sum({1, 2} .^ 2)", 5.0),
        ("sum(2 ./ {1, 2})", 3.0),
        ("sum({1, 2} .+ 1)", 5.0),
        ("sum(transpose([1, 2; 3, 4])*{1, 0})", 3.0),
        ("sum(cross({1, 0, 0}, {0, 1, 0}) .* {1, 10, 100})", 100.0),
        ("sum(identity(3))", 3.0),
        ("sum(zeros(2, 3)) + sum(ones(2, 3)) + sum(fill(2, 2))", 10.0),
        ("size([1, 2, 3; 4, 5, 6], 2)", 3.0),
        ("sum({10*i + j for i in 1:2, j in 1:3})", 102.0),
        ("size({i + j for i in 1:2, j in 1:3}, 1)", 3.0),
        ("sum(i^2 for i in 1:3)", 14.0),
        ("product(i for i in {2, 3, 5})", 30.0),
        ("max(i*(4 - i) for i in 1:3)", 4.0),
        ("min({3, 1, 2}) + max(3, 5)", 6.0),
        ("sum(1:2:7)", 16.0),
        ("sum(5:-1:3)", 12.0),
        ("sum(1:0)", 0.0),
        ("sum([[1, 2; 3, 4], [5; 6]; 7, 8, 9])", 45.0),
        ("sum(cat(1, {1, 2}, {3}))", 6.0),
        ("if 1 > 2 then 1 elseif 2 > 1 then 2 else 3", 2.0),
        ("if true and not false then 1 else 0", 1.0),
        ("if 1 <> 1 or 2 >= 2 then 1 else 0", 1.0),
        ("atan2(1, -1)", 2.356194490192345),
        ("log10(1000) + sign(-2) + abs(-3)", 5.0),
        ("twice(3)", 6.0),
        ("twice(factor = 5, u = 2)", 10.0),
        ("twice(2, factor = 3)", 6.0),
        ("total({1, 2, 3})", 6.0),
        ("step(2) + step(0.5) + step(-1)", 14.0),
        ("linspace(0, 1, 3)*{1, 1, 1}", 1.5),
        ("1e3 + .5 + 2.", 1002.5),
        ("Modelica.Constants.pi", std::f64::consts::PI),
        ("Modelica.Math.sin(0)", 0.0),
        ("noEvent(if 1 > 0 then 2 else 3)", 2.0),
    ];
    for (expression, expected) in cases {
        let found = value(expression);
        assert!(
            (found - expected).abs() <= 1e-14 * expected.abs(),
            "{expression} = {found}, not {expected}"
        );
    }
}

/// The equations of the flat text, in order.
fn check(text: &str, expected: &[&str]) {
    let flat = flat_modelica(&model(text), ArrayStyle::Kept).expect("short");
    let behind = flat
        .split_once("\nequation\n")
        .expect("a section of equations")
        .1;
    let equations: Vec<&str> = behind
        .lines()
        .filter_map(|line| line.trim().strip_suffix(';'))
        .filter(|line| line.contains(" = ") && !line.starts_with("annotation"))
        .collect();
    assert_eq!(equations, expected, "{flat}");
}

#[test]
fn loops_branches_and_arrays_are_written_out() {
    check(
        "model M parameter Integer n = 2; Real x[n, 2]; equation
           for i in 1:n, j in 1:2 loop x[i, j] = i*time + j; end for; end M;",
        &[
            "x[1,1] = time + 1",
            "x[1,2] = time + 2",
            "x[2,1] = 2*time + 1",
            "x[2,2] = 2*time + 2",
        ],
    );
    check(
        "model M parameter Boolean slow = true; Real x, y; equation
           if slow then der(x) = -x; y = 1; else x = 0; y = 2; end if; end M;",
        &["der(x) = -x", "y = 1"],
    );
    check(
        "model M Real x[3]; equation x[1:2] = {1, 2}*time; x[end] = x[1]; end M;",
        &["x[1] = time", "x[2] = 2*time", "x[3] = x[1]"],
    );
    check(
        "model M Real A[2, 2], v[2] = A[:, 1]; equation A = [1, time; 2, 3]; end M;",
        &[
            "v[1] = A[1,1]",
            "v[2] = A[2,1]",
            "A[1,1] = 1",
            "A[1,2] = time",
            "A[2,1] = 2",
            "A[2,2] = 3",
        ],
    );
    check(
        "model M Real i; equation sum(i for i in 1:3)*i = time; end M;",
        &["6*i = time"],
    );
}

#[test]
fn derivatives_of_expressions_are_expanded() {
    check(
        "model M Real x, y; equation y = der(x*time); der(x) = y^2; end M;",
        &["y = time*der(x) + x", "der(x) = y^2"],
    );
    check(
        "model M Real x; equation der(der(x)) + der(x) = 0; end M;",
        &["der('der(x)') + 'der(x)' = 0", "der(x) = 'der(x)'"],
    );
}

#[test]
fn packages_give_functions_and_constants() {
    check(
        "package P constant Real g = 9.81; function f input Real u; output Real y; algorithm y := g*u; end f;
         model M Real x; equation der(x) = P.f(x) + f(1) + P.g; end M; end P;",
        &["der(x) = g*x + g + g"],
    );
}

#[test]
fn structural_parameters_are_final_in_flat_text() {
    let text = "model M parameter Integer m = 1; parameter Integer n = 2*m; parameter Real k = 3; Real x[n];
        equation x = k*time*ones(n); end M;";
    let model = model(text);
    let structural: Vec<&str> = model
        .parameters
        .iter()
        .filter(|p| p.is_structural)
        .map(|p| p.name.as_str())
        .collect();
    assert_eq!(structural, ["m", "n"]);
    let flat = flat_modelica(&model, ArrayStyle::Kept).unwrap();
    assert!(
        flat.contains("final parameter Integer n = 2*m;")
            && flat.contains("  parameter Real k = 3;"),
        "{flat}"
    );
}

#[test]
fn attributes_survive() {
    let text = "model M parameter Real k(min = 0, max = 9) = 3; type Angle = Real(unit = \"rad\", min = -4);
        Real x[2](each start = k, fixed = {true, false}, nominal = {1, 10}); Angle a(max = 4); input Real u = sin(time);
        equation x = {1, 2}*u; a = u; end M;";
    let flat = flat_modelica(&model(text), ArrayStyle::Kept).unwrap();
    for piece in [
        "parameter Real k(min = 0, max = 9) = 3;",
        "Real x[2](each start = k, nominal = {1, 10}, fixed = {true, false});",
        "Real a(unit = \"rad\", min = -4, max = 4);",
        "input Real u = sin(time);",
    ] {
        assert!(flat.contains(piece), "{piece} is not in\n{flat}");
    }
}

#[test]
fn annotations_are_read_whatever_stands_beside_them() {
    let text = "model M Real x; equation x = 1;
        annotation(Icon(graphics = {Rectangle(extent = {{-1, 1}, {2, 3}})}), choices(redeclare A b), experiment(StartTime = 1, StopTime = 3)); end M;";
    let experiment = model(text).experiment;
    assert_eq!(
        (experiment.start_time, experiment.stop_time),
        (Some(1.0), Some(3.0))
    );
}

/// What would be given another meaning is refused, with this code.
#[test]
fn no_text_gets_a_wrong_meaning() {
    let cases: &[(&str, &str)] = &[
        (
            "model M Real q, p; equation p = cos(q); lagrange(der(q)^2, 0, {q}, F = virtualWork({1}, {p})); end M;",
            "foreign-variable",
        ),
        (
            "model M Real x, y, z; equation lagrange(der(x)^2 + der(y)^2, 0, {x, y}, {der(x) - y}, {z}); end M;",
            "lagrange-argument",
        ),
        (
            "model M Real x; equation lagrange(der(der(x))^2, 0, {x}); end M;",
            "lagrange-argument",
        ),
        (
            "model M Real x, z = x^2; equation lagrange(der(x)^2, 0, {x}, {x - 1}, {z}); end M;",
            "lagrange-argument",
        ),
        (
            "model M Real x, y, z; equation lagrange(der(x)^2 + der(y)^2, 0, {x, y}, {x, y}, {z, z}); end M;",
            "lagrange-argument",
        ),
        (
            "model M Real x; equation lagrange(der(x)^2, 0, {x}, {x - 1}, {x}); end M;",
            "lagrange-argument",
        ),
        (
            "function f input Real u; output Integer n; algorithm n := u; end f; model M Real x = f(2.5); end M;",
            "type-mismatch",
        ),
        (
            "model M parameter Real p = 2; parameter Integer n = p; Real x = n; end M;",
            "type-mismatch",
        ),
        (
            "function f input Real u, v = 3; output Real y; algorithm y := u + v; end f; model M Real x = f(1, u = 2); end M;",
            "wrong-arity",
        ),
        (
            "model M Real x, 'der(x)'; equation der(der(x)) = -x; 'der(x)' = 5; end M;",
            "duplicate-name",
        ),
        ("model M Real x; equation x = 2^3^2; end M;", "syntax"),
        (
            "model M Real x; equation x = {1, 2} + 1; end M;",
            "wrong-size",
        ),
        ("model M Real x; equation x == 1; end M;", "syntax"),
        ("model M Real x; equation x := 1; end M;", "syntax"),
    ];
    for (text, code) in cases {
        let loaded = loaded(text);
        let codes: Vec<&str> = loaded.diagnostics.iter().map(|d| d.code.word()).collect();
        assert!(
            loaded.model.is_none() && codes.contains(code),
            "{text}\n{codes:?}"
        );
    }
}

#[test]
fn numbers_without_a_value_are_pointed_at() {
    let text = "model M parameter Real p = 0; Real x, y, z; equation x = 1/0; y = 1/p; z = if p > 0 then 1/p else 2; end M;";
    let loaded = loaded(text);
    let places: Vec<&str> = loaded
        .diagnostics
        .iter()
        .filter(|d| d.code.word() == "bad-value")
        .map(|d| loaded.sources.slice(d.span.expect("a place")))
        .collect();
    assert_eq!(places, ["1/0", "1/p"]);
}

/// Classes that several tests use.
const PARTS: &str = "
  connector Pin Real v; flow Real i; end Pin;
  partial model OnePort Pin p; Pin n; Real v; Real i; equation v = p.v - n.v; 0 = p.i + n.i; i = p.i; end OnePort;
  model Resistor extends OnePort; parameter Real R = 1; equation v = R*i; end Resistor;
  model Capacitor extends OnePort(v(start = 1, fixed = true)); parameter Real C = 1; equation C*der(v) = i; end Capacitor;
  model Ground Pin p; equation p.v = 0; end Ground;
  model Unused extends Nowhere.Found; Strange x; end Unused;";

fn parts(text: &str) -> Model {
    model(&format!("{PARTS}{text}"))
}

fn names(model: &Model) -> Vec<&str> {
    model.unknowns.iter().map(|it| it.name.as_str()).collect()
}

#[test]
fn components_and_connections_become_equations() {
    let circuit = parts(
        "model Circuit Resistor r(R = 2); Capacitor c(C = 3, v(start = 5)); Ground g;
         equation connect(r.p, c.p); connect(r.n, c.n); connect(c.n, g.p); end Circuit;",
    );
    assert_eq!(circuit.unknowns.len(), circuit.equations.len());
    assert!(daelight_lang::balance(&circuit).is_balanced());
    let start = circuit
        .unknowns
        .iter()
        .find(|it| it.name == "c.v")
        .and_then(|it| it.start);
    assert_eq!(start.map(|it| circuit.parameter_value(it)), Some(5.0));
    assert!(names(&circuit).contains(&"r.p.i"));
    let flows: Vec<String> = circuit
        .equations
        .iter()
        .filter(|it| it.instance.flow.is_some())
        .map(|it| circuit.equation_text(it))
        .collect();
    assert_eq!(flows.len(), 2, "{flows:#?}");
    assert!(flows[1].contains("the sum of"), "{flows:#?}");
}

#[test]
fn arrays_of_components_take_their_share_of_modifications() {
    let ladder = parts(
        "model Ladder parameter Integer n = 3; Resistor r[n](R = {1, 2, 3}); Capacitor c[n](each C = 7); Ground g;
         equation for i in 1:n loop connect(r[i].n, c[i].p); connect(c[i].n, g.p); end for;
         for i in 1:n - 1 loop connect(r[i].n, r[i + 1].p); end for; connect(r[1].p, g.p); end Ladder;",
    );
    assert!(daelight_lang::balance(&ladder).is_balanced());
    let value = |name: &str| {
        ladder
            .parameters
            .iter()
            .find(|it| it.name == name)
            .map(|it| it.value)
    };
    assert_eq!(value("r[2].R"), Some(2.0));
    assert_eq!(value("c[3].C"), Some(7.0));
}

/// What is declared again keeps the condition, the sizes, the prefixes and the value of what it replaces.
#[test]
fn redeclarations_keep_what_they_do_not_give() {
    let text = |on: bool, values: bool| {
        let given = if values { "= {1, 2, 3}" } else { "" };
        format!(
            "record Data parameter Real a = 1; end Data; record Other extends Data(a = 4); Real b = 2; end Other;
             model Base parameter Boolean on = {on}; replaceable Data d[2] = {{Other(b = 5), Other(b = 6)}}; replaceable Data e if on;
               replaceable parameter Real p[3] {given}; end Base;
             model M extends Base(redeclare Other d, redeclare Other e, redeclare Real p); Real x = p[3]; end M;"
        )
    };
    let read = model(&text(false, true));
    let has = |model: &Model, name: &str| {
        let known = model.parameters.iter().map(|it| &it.name);
        known
            .chain(model.unknowns.iter().map(|it| &it.name))
            .any(|known| known == name)
    };
    assert!(has(&read, "d[2].b"));
    assert!(!has(&read, "e.a") && !has(&read, "e.b"));
    assert!(has(&model(&text(true, true)), "e.b"));
    let parameter = |name: &str| read.parameters.iter().find(|it| it.name == name);
    assert_eq!(parameter("p[3]").map(|it| it.value), Some(3.0));
    // A parameter without a value is one still, and told.
    assert!(loaded(&text(false, false)).model.is_none());
}

/// A whole parameter as an exponent is a number: x^2 is smooth where x vanishes.
#[test]
fn whole_exponents_are_numbers() {
    let text = |ty: &str| {
        format!("model M parameter {ty} n = 2; Real x, y; equation x = time; y = x^n; end M;")
    };
    let whole = model(&text("Integer"));
    assert!(whole.parameters[0].is_structural);
    assert!(!model(&text("Real")).parameters[0].is_structural);
}

#[test]
fn inheritance_redeclaration_and_conditions() {
    let chosen = parts(
        "model Load replaceable Resistor part(R = 4) constrainedby OnePort; Ground g; Capacitor c; parameter Boolean extra = false;
         Resistor more if extra; equation connect(part.p, c.p); connect(part.n, c.n); connect(g.p, c.n); connect(more.p, c.p);
         connect(more.n, c.n); end Load;
         model Conductor extends OnePort; parameter Real G = 0.5; equation i = G*v; end Conductor;
         model Chosen extends Load(redeclare Conductor part(G = 0.25)); end Chosen;",
    );
    assert!(daelight_lang::balance(&chosen).is_balanced());
    assert!(
        chosen
            .parameters
            .iter()
            .any(|it| it.name == "part.G" && it.value == 0.25)
    );
    assert!(names(&chosen).iter().all(|name| !name.starts_with("more.")));
    let more = loaded(&format!(
        "{PARTS} model M Resistor r; Capacitor c; Ground g; parameter Boolean b = true; Resistor s if b;
         equation connect(r.p, c.p); connect(r.n, c.n); connect(g.p, c.n); connect(s.p, c.p); connect(s.n, c.n); end M;"
    ));
    assert!(more.model.is_some_and(|it| names(&it).contains(&"s.v")));
}

#[test]
fn packages_imports_records_enumerations_and_functions() {
    let text = "package P constant Real k = 2; type Mode = enumeration(slow, fast);
          record Point Real x; Real y = 1; end Point;
          function both input Real u; output Real a; output Real b; algorithm a := u + 1; b := u*k; end both;
          function far input Point p; output Real r; algorithm r := p.x^2 + p.y^2; end far;
          function until input Real limit; output Integer n; algorithm n := 0; while n^2 < limit loop n := n + 1; end while; end until;
          package Q model M import P.Mode; parameter Mode mode = Mode.fast; Point p(x = time); Real a, b, r; parameter Integer n = until(10);
            equation (a, b) = both(time); r = if mode == Mode.fast then far(p) else far(Point(1)); end M; end Q; end P;";
    let read = model(text);
    assert!(daelight_lang::balance(&read).is_balanced());
    let value = |name: &str| {
        read.parameters
            .iter()
            .find(|it| it.name == name)
            .map(|it| it.value)
    };
    assert_eq!(value("mode"), Some(2.0));
    assert_eq!(value("n"), Some(4.0));
    check(
        text,
        &[
            "p.x = time",
            "p.y = 1",
            "a = time + 1",
            "b = time*k",
            "r = p.x^2 + p.y^2",
        ]
        .map(|it| match it {
            "p.x = time" => "'p.x' = time",
            "p.y = 1" => "'p.y' = 1",
            "r = p.x^2 + p.y^2" => "r = 'p.x'^2 + 'p.y'^2",
            other => other,
        }),
    );
}

#[test]
fn a_class_can_be_another_one_with_modifications() {
    let short = model("model B parameter Real p = 1; Real x = p*time; end B; model A = B(p = 3);");
    assert_eq!(short.name, "A");
    assert_eq!(short.parameters[0].value, 3.0);
}

#[test]
fn the_surroundings_are_found_up_the_components() {
    let fall = model(
        "model Field parameter Real g = 1; end Field;
         model Mass outer Field field; Real v(start = 0, fixed = true); equation der(v) = -field.g; end Mass;
         model Group Mass m; end Group;
         model Fall inner Field field(g = 3); Group group; end Fall;",
    );
    assert_eq!(names(&fall), ["group.m.v"]);
    assert!(
        fall.parameters
            .iter()
            .any(|it| it.name == "field.g" && it.value == 3.0)
    );
}

#[test]
fn a_parameter_that_is_found_at_the_start_rests() {
    check(
        "model Aim parameter Real v(fixed = false); Real x(start = 0, fixed = true);
         initial equation der(x) = 2; equation der(x) = v; end Aim;",
        &["der(x) = v", "der(v) = 0"],
    );
}

/// A spring; each mistake below changes one place of it.
const SPRING: &str = "model S \"a spring\"
  parameter Real k = 4, m = 1;
  Real x(start = 1, fixed = true), v(start = 0, fixed = true);
equation
  der(x) = v;
  m*der(v) = -k*x;
end S;
";

#[test]
fn each_mistake_is_told_once_with_what_to_write() {
    for (right, wrong, help) in [
        ("parameter Real", "parameter", "write `parameter Real k`"),
        ("1, fixed", "1 fixed", "put a comma before `fixed`"),
        ("1, fixed", "1; fixed", "write a comma instead of `;`"),
        ("start = 1", "start == 1", "write `start = …`"),
        ("m = 1", "m(unit = kg) = 1", "write the unit in quotes"),
        ("-k*x", "-k*[x - 1]", "write parentheses"),
        (
            "-k*x",
            "if 0 < x < 1 then 0 else 1",
            "write `0 < x and x < 1`",
        ),
        (
            "-k*x",
            "if x > 0: -k*x else 0",
            "write `then` instead of `:`",
        ),
        ("equation", "equations", "write `equation`"),
        ("equation", "Equation", "write `equation`"),
        (
            "\"a spring\"",
            "'a spring'",
            "write a comment in double quotes",
        ),
        ("S \"a spring\"", "S Spring", "write `SSpring`"),
        (
            "end S;",
            "end S;\nend S;",
            "remove it, or the `end` before it",
        ),
        ("Real x", "Real end, x", "choose another name"),
        ("Real x", "Real 1x, x", "put a letter before it"),
    ] {
        let text = SPRING.replacen(right, wrong, 1);
        let loaded = load("spring", text.as_bytes(), &Options::default());
        let told: Vec<&str> = (loaded.diagnostics.iter())
            .filter_map(|diagnostic| diagnostic.help.as_deref())
            .collect();
        assert!(
            told.len() == 1 && told[0].starts_with(help),
            "{wrong}: {told:?}"
        );
    }
}

#[test]
fn what_a_when_assigns_has_no_derivative() {
    for assigned in ["v = -0.7*v", "v = -0.7*pre(v)", "v = 1"] {
        let text = format!(
            "model B Real h(start = 1), v; equation der(h) = v; der(v) = -9.81; when h < 0 then {assigned}; end when; end B;"
        );
        let loaded = load("ball", text.as_bytes(), &Options::default());
        let told = loaded.diagnostics.first();
        let help = told.and_then(|told| told.help.as_deref());
        assert!(
            help.is_some_and(|help| help.contains("reinit(v")),
            "{told:?}"
        );
    }
}

#[test]
fn sizes_of_units_are_compared() {
    let told = |unit: &str| {
        let text = format!(
            "model U parameter Real L(unit = \"{unit}\") = 1; Real u(unit = \"V\"), i(unit = \"A\", start = 0); equation u = L*der(i); u = 5; end U;"
        );
        let loaded = load("coil", text.as_bytes(), &Options::default());
        let Some(model) = loaded.model else {
            panic!("{unit}: {:?}", loaded.diagnostics);
        };
        let found = daelight_lang::check_units(&model, daelight_lang::UnitCheck::Warn);
        let labels = found.into_iter().map(|one| one.label);
        labels.collect::<Vec<String>>()
    };
    assert_eq!(told("H"), Vec::<String>::new());
    assert_eq!(told("mH"), ["left V, right 0.001 kg.m2/(s3.A)"]);
    assert_eq!(told("Henry"), ["this quantity is not compared with others"]);
}

/// Every number that a formula may have keeps the comparison of units, every other one lets it go, in all places of a product: an inertia
/// without its square is found for the first, and the right one is never told.
#[test]
fn numbers_of_formulas_hide_no_unit() {
    let told = |definition: &str| {
        let text = format!(
            "model U parameter Real L(unit = \"m\") = 2, m(unit = \"kg\") = 1;
               parameter Real J(unit = \"kg.m2\") = {definition}; Real y(unit = \"kg.m2\"); equation y = J; end U;"
        );
        let loaded = load("test.mo", text.as_bytes(), &Options::default());
        let Some(model) = loaded.model else {
            panic!("{definition}: {:?}", loaded.diagnostics);
        };
        !daelight_lang::check_units(&model, daelight_lang::UnitCheck::Warn).is_empty()
    };
    for p in 1..=12 {
        for q in (1..=12).filter(|q| p % q != 0) {
            assert!(told(&format!("{p}/{q}*m*L")), "{p}/{q}");
            assert!(!told(&format!("{p}/{q}*m*L^2")), "{p}/{q}");
        }
        assert!(told(&format!("m*L/{p}")), "{p}");
        assert!(!told(&format!("m*L^2/{p}")), "{p}");
        assert_eq!(told(&format!("{p}*m*L")), p != 10, "{p}");
    }
    for hiding in [
        "9.81", "3600", "1000", "273.15", "0.0254", "0.4", "1e-3", "10",
    ] {
        for product in [
            format!("{hiding}*m*L"),
            format!("m*{hiding}*L"),
            format!("m*L*{hiding}"),
        ] {
            assert!(!told(&product), "{product}");
        }
    }
}

/// The branches of an equation are compared one by one, each side with its own.
#[test]
fn units_of_branches_are_compared_one_by_one() {
    let told = |equations: &str| {
        let text = format!(
            "model U Real u(unit = \"V\"), v(unit = \"V\"), i(unit = \"A\"), k(unit = \"A\"); equation {equations} end U;"
        );
        let loaded = load("test.mo", text.as_bytes(), &Options::default());
        let Some(model) = loaded.model else {
            panic!("{equations}: {:?}", loaded.diagnostics);
        };
        daelight_lang::check_units(&model, daelight_lang::UnitCheck::Warn).len()
    };
    for (equation, n) in [
        ("if time > 1 then u = 0; else i = 0; end if;", 0),
        ("0 = if time > 1 then u else i;", 0),
        ("if time > 1 then u = v; else i = k; end if;", 0),
        (
            "if time > 1 then u = v; elseif time > 2 then i = k; else u = 0; end if;",
            0,
        ),
        ("if time > 1 then u = i; else i = k; end if;", 1),
        (
            "if time > 1 then u = v; elseif time > 2 then i = v; else k = u; end if;",
            2,
        ),
        ("u = if time > 1 then v else i;", 1),
        ("u = v + (if time > 1 then v else i);", 1),
    ] {
        assert_eq!(told(equation), n, "{equation}");
    }
}
