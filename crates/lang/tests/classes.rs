//! Classes that stand for others: `outer` ones, replaceable ones and what their constraining clauses modify.

use daelight_lang::{ArrayStyle, Code, Loaded, Model, Options, Symbol, flat_modelica, load};

fn loaded(text: &str) -> Loaded {
    load("test.mo", text.as_bytes(), &Options::default())
}

fn model(text: &str) -> Model {
    let Loaded {
        model, diagnostics, ..
    } = loaded(text);
    model.unwrap_or_else(|| panic!("{diagnostics:#?}\n{text}"))
}

fn value(model: &Model, name: &str) -> f64 {
    let parameter = model.parameters.iter().find(|it| it.name == name);
    parameter.unwrap_or_else(|| panic!("no `{name}`")).value
}

/// Each kind of class as an `outer` one, at some depths below the class that is meant, in both writings of the `inner` one.
#[test]
fn outer_classes_are_the_inner_ones_around_them() {
    // Kind; the default and the other class of it; what an `outer` class of that kind is used for, with the name `It`.
    let kinds = [
        (
            "model",
            "model One parameter Real y = 1; end One; model Two parameter Real y = 2; Real u = y; end Two;",
            "It it; parameter Real z = it.y; Real w = z*time;",
        ),
        (
            "record",
            "record One parameter Real y = 1; end One; record Two parameter Real y = 2; end Two;",
            "It it; parameter Real z = it.y; Real w = z*time;",
        ),
        (
            "package",
            "package One constant Real y = 1; end One; package Two constant Real y = 2; end Two;",
            "parameter Real z = It.y; Real w = z*time;",
        ),
        (
            "function",
            "partial function Any input Real u; output Real y; end Any; function One extends Any; algorithm y := u; end One;
             function Two extends Any; algorithm y := 2*u; end Two;",
            "parameter Real z = It(1.0); Real w = z*time;",
        ),
        (
            "type",
            "type One = Real(min = 1); type Two = Real(min = 2);",
            "parameter It it = 5; parameter Real z = it.min; Real w = z*time;",
        ),
    ];
    for (kind, classes, used) in kinds.iter().filter(|(kind, ..)| *kind != "type") {
        for depth in 0..3 {
            let mut text = format!("{classes} model L0 outer {kind} It = One; {used} end L0;");
            for level in 1..=depth {
                let below = level - 1;
                text += &format!("model L{level} L{below} l; end L{level};");
            }
            let path = "l.".repeat(depth + 1);
            let inners = [
                format!("inner {kind} It = Two;"),
                format!("inner replaceable {kind} It = Two;"),
                format!("inner {kind} It extends Two; end It;"),
            ];
            for inner in &inners {
                let read = model(&format!("{text} model M {inner} L{depth} l; end M;"));
                assert_eq!(
                    value(&read, &format!("{path}z")),
                    2.0,
                    "{kind} {depth} {inner}"
                );
            }
            // The nearest one counts; one that is declared again is still `inner`; without any the class is its own.
            let read = model(&format!(
                "{text} model N inner {kind} It = Two; L{depth} l; end N; model M inner {kind} It = One; N n; end M;"
            ));
            assert_eq!(value(&read, &format!("n.{path}z")), 2.0, "{kind} {depth}");
            let read = model(&format!(
                "{text} model N inner replaceable {kind} It = One; L{depth} l; end N;
                 model M N n(redeclare {kind} It = Two); N o; end M;"
            ));
            assert_eq!(value(&read, &format!("n.{path}z")), 2.0, "{kind} {depth}");
            assert_eq!(value(&read, &format!("o.{path}z")), 1.0, "{kind} {depth}");
            let alone = loaded(&format!("{text} model M L{depth} l; end M;"));
            let told: Vec<Code> = alone.diagnostics.iter().map(|it| it.code).collect();
            assert_eq!(told, [Code::MissingInner], "{kind} {depth}");
            let alone = alone.model.expect("a model");
            assert_eq!(value(&alone, &format!("{path}z")), 1.0, "{kind} {depth}");
        }
    }
    let (_, classes, _) = kinds[4];
    let read = model(&format!(
        "{classes} model T outer type It = One; It x = time; end T; model M inner type It = Two; T t; end M;"
    ));
    let least = read.unknowns[0].min.map(|it| read.parameter_value(it));
    assert_eq!(least, Some(2.0));
}

/// An `outer` class can be partial: what is used is the `inner` one. Between them a class can be both.
#[test]
fn outer_classes_may_be_partial_and_handed_on() {
    let base = "partial function A input Real u; output Real y; end A; function B extends A; algorithm y := 3*u; end B;
        function C extends A; algorithm y := 5*u; end C; model D outer function f = A; parameter Real y = f(1.0); Real w = y*time; end D;";
    let read = model(&format!("{base} model M inner function f = B; D d; end M;"));
    assert_eq!(value(&read, "d.y"), 3.0);
    let read = model(&format!(
        "{base} model E inner outer function f = C; D d; parameter Real own = f(1.0); Real w = own*time; end E; model M inner function f = B; E e; D d; end M;"
    ));
    assert_eq!(value(&read, "e.d.y"), 5.0);
    assert_eq!(value(&read, "e.own"), 3.0);
    assert_eq!(value(&read, "d.y"), 3.0);
    assert!(
        loaded(&format!("{base} model M D d; end M;"))
            .model
            .is_none()
    );
}

/// The modifications of a constraining clause reach the class that is declared and every class in its place, below the
/// modifications that these bring themselves (specification, 7.3.2). The truth is a chain of who speaks.
#[test]
fn constraining_clauses_modify_whatever_stands_there() {
    // Kind of class, and how a component of the class `It` gives the number that is modified.
    let kinds = [
        (
            "model",
            "parameter Real y = T;",
            "It it; parameter Real z = it.y; Real w = z*time;",
        ),
        (
            "record",
            "",
            "It it; parameter Real z = it.T; Real w = z*time;",
        ),
        ("package", "", "parameter Real z = It.T; Real w = z*time;"),
    ];
    for (kind, rest, used) in kinds {
        let what = if kind == "package" {
            "constant"
        } else {
            "parameter"
        };
        let classes = format!(
            "{kind} Any {what} Real T = 1; {rest} end Any; {kind} One extends Any; end One; {kind} Two extends Any(T = 4); end Two;"
        );
        for (own, clause) in [
            ("", "constrainedby Any(T = 9)"),
            ("(T = 2)", "constrainedby Any(T = 9)"),
            ("", "\"text\" constrainedby Any(T = 9) \"text\""),
            ("(T = 2)", "constrainedby Any"),
            ("(T = 2)", ""),
            ("", ""),
        ] {
            let host = format!(
                "{classes} model H replaceable {kind} It = One{own} {clause}; {used} end H;"
            );
            let clause_gives = clause.contains('9').then_some(9.0);
            // Without a clause the declaration is what constrains.
            let handed = match (clause.is_empty(), own) {
                (true, "(T = 2)") => Some(2.0),
                _ => clause_gives,
            };
            let declared = if own.is_empty() {
                clause_gives.unwrap_or(1.0)
            } else {
                2.0
            };
            for (by, expected) in [
                (None, declared),
                (Some("Two"), handed.unwrap_or(4.0)),
                (Some("Two(T = 6)"), 6.0),
                (Some("One"), handed.unwrap_or(1.0)),
            ] {
                let writings = match by {
                    None => vec![
                        ("model M H h; end M;".to_string(), "h.z"),
                        ("model M extends H; end M;".to_string(), "z"),
                    ],
                    Some(by) => vec![
                        (
                            format!("model M H h(redeclare {kind} It = {by}); end M;"),
                            "h.z",
                        ),
                        (
                            format!("model M extends H(redeclare {kind} It = {by}); end M;"),
                            "z",
                        ),
                        (
                            format!("model M extends H; redeclare {kind} It = {by}; end M;"),
                            "z",
                        ),
                        (
                            format!("model G = H(redeclare {kind} It = {by}); model M G h; end M;"),
                            "h.z",
                        ),
                        (
                            format!(
                                "model G extends H; redeclare replaceable {kind} It = One(T = 8); end G; model M G h(redeclare {kind} It = {by}); end M;"
                            ),
                            if by.contains('6') { "h.z" } else { "" },
                        ),
                    ],
                };
                for (text, name) in writings.into_iter().filter(|(_, name)| !name.is_empty()) {
                    let text = format!("{host} {text}");
                    assert_eq!(value(&model(&text), name), expected, "{text}");
                }
            }
            // What is modified farther inside is so of the class that is replaced.
            let text = format!(
                "{host} model G = H(It(T = 7)); model M G h(redeclare {kind} It = Two(T = 6)); end M;"
            );
            assert_eq!(value(&model(&text), "h.z"), 6.0, "{text}");
        }
        // The long writing of a class can have the clause too.
        let text = format!(
            "{classes} model H replaceable {kind} It extends One; end It constrainedby Any(T = 9); {used} end H;
             model M H h; H g(redeclare {kind} It = Two); end M;"
        );
        assert_eq!(value(&model(&text), "h.z"), 9.0, "{text}");
        assert_eq!(value(&model(&text), "g.z"), 9.0, "{text}");
    }
}

/// An added `inner` component is one like any other: its variables have their equations, its own `outer` ones are found.
#[test]
fn an_added_inner_is_whole() {
    let classes =
        "model Field parameter Real g = 3; Real h = g*time + 1; Real k; equation k = h; end Field;
        model Mass outer Field field; Real v = field.k; end Mass;";
    for text in [
        "model M Mass m; end M;",
        "model Group Mass m; end Group; model M Group m[2]; end M;",
        "model World outer Field field; Real w = field.h; end World;
         model User outer World world; Real u = world.w; end User; model M User u; Mass m; end M;",
    ] {
        let read = model(&format!("{classes} {text}"));
        assert!(daelight_lang::balance(&read).is_balanced(), "{text}");
        let mut names = read.unknowns.iter().map(|it| it.name.as_str());
        assert!(names.any(|name| name == "field.h"), "{text}");
        assert_eq!(read.unknowns.len(), read.equations.len(), "{text}");
    }
}

/// A class of the text is asked for by its name, by its path or by a part of it, behind what `within` says.
#[test]
fn a_class_has_a_full_name() {
    let text = "package A package B model M Real x = 1; end M; model N Real y = 2; end N; end B; model M Real z = 3; end M; end A;";
    let first = |within: &str, name: &str| {
        let options = Options {
            model: Some(name.to_string()),
            ..Options::default()
        };
        let read = load("test.mo", format!("{within} {text}").as_bytes(), &options);
        let model = read.model?;
        Some(model.unknowns[0].name.clone())
    };
    for (name, expected) in [
        ("A.B.M", Some("x")),
        ("B.M", Some("x")),
        ("A.M", Some("z")),
        ("A.B.N", Some("y")),
        ("N", Some("y")),
        ("A.N", None),
        ("B", None),
        (".M", None),
        ("", None),
    ] {
        assert_eq!(first("", name).as_deref(), expected, "{name}");
    }
    assert_eq!(first("within Q;", "Q.A.B.M").as_deref(), Some("x"));
    assert_eq!(first("within Q;", "R.A.B.M"), None);
}

/// `E(2)` is the second value of an enumeration (specification, 4.9.5.3): of numbers, parameters, loops; nothing outside of it.
#[test]
fn whole_numbers_become_values_of_enumerations() {
    let text = |argument: &str| {
        format!(
            "package P type E = enumeration(one, two, three); end P;
             model M import P.E; parameter Integer n = 3; parameter E e = {argument}; E all[3] = {{E(i) for i in 1:3}};
               Real x = (if e == E.two then 2 else 0) + time; Real y = Integer(P.E(n)) + Integer(all[1]); end M;"
        )
    };
    for (argument, expected) in [
        ("E(2)", Some(2.0)),
        ("P.E(n)", Some(3.0)),
        ("E(n - 2)", Some(1.0)),
        ("E(Integer(E.two))", Some(2.0)),
    ] {
        let read = model(&text(argument));
        assert_eq!(Some(value(&read, "e")), expected, "{argument}");
    }
    for (argument, code) in [
        ("E(0)", Code::IndexOutOfRange),
        ("E(n + 1)", Code::IndexOutOfRange),
        ("E(1.5)", Code::TypeMismatch),
        ("E()", Code::WrongArity),
        ("E(1, 2)", Code::WrongArity),
    ] {
        let told = loaded(&text(argument));
        assert!(told.model.is_none(), "{argument}");
        assert_eq!(told.diagnostics[0].code, code, "{argument}");
    }
}

/// `sum` of records adds them by the `+` that they bring, whatever they are arranged in.
#[test]
fn records_are_summed_by_their_own_plus() {
    let record = "operator record R Real a; Real b;
          operator '+' function add input R x; input R y; output R z; algorithm z := R(x.a + y.a, x.b*y.b); end add; end '+';
          operator '0' function zero output R z; algorithm z := R(0, 1); end zero; end '0'; end R;";
    for n in 1..5 {
        for (given, call) in [
            ("r", "sum(r)"),
            ("r", "sum(r[i] for i in 1:n)"),
            ("r", "sum({r[i] for i in 1:n})"),
        ] {
            let read = model(&format!(
                "{record} model M parameter Integer n = {n}; parameter R {given}[n](a = {{i for i in 1:n}}, b = {{i + 1 for i in 1:n}});
                 parameter R s = {call}; Real x = (s.a + s.b)*time; end M;"
            ));
            let (a, b) = (n * (n + 1) / 2, (1..=n).map(|i| i + 1).product::<i32>());
            assert_eq!(value(&read, "s.a"), f64::from(a), "{call}");
            assert_eq!(value(&read, "s.b"), f64::from(b), "{call}");
        }
    }
}

/// Constants of packages that several components choose have names of their own, so that a flat text reads back to the same values.
#[test]
fn constants_of_chosen_packages_have_names_of_their_own() {
    let classes = "package A constant Real k = 2; constant Real g = 5; end A; package B extends A(k = 3); constant Real h = k + 1; end B;
        model Sub replaceable package M = A constrainedby A; Real y = M.k*time + M.g; end Sub; model Two Sub s; Sub t(redeclare package M = B(k = 7)); end Two;";
    for text in [
        "model T Sub a; Sub b(redeclare package M = B); Sub c(redeclare package M = B); Sub d(redeclare package M = A(k = 9)); end T;",
        "model T Two a; Two b; Sub c(redeclare package M = B); Real z = A.k*time; end T;",
        "model T Sub a[2]; Sub b[3](redeclare package M = B(g = 1)); end T;",
    ] {
        for text in [
            format!("{classes} {text}"),
            format!("package Q {classes} {text} end Q;"),
        ] {
            let first = model(&text);
            let flat = |model: &Model| flat_modelica(model, ArrayStyle::Kept).expect("short");
            let second = model(&flat(&first));
            assert_eq!(rates(&first), rates(&second), "{}", flat(&first));
            // The names are those of one number each.
            let mut names: Vec<&str> = first.parameters.iter().map(|it| it.name.as_str()).collect();
            let n = names.len();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), n, "{}", flat(&first));
        }
    }
}

/// The values of all right sides at time 1.
fn rates(model: &Model) -> Vec<f64> {
    let value = |id| match model.symbols.get(id) {
        Symbol::Time => 1.0,
        Symbol::Parameter(index) => model.parameters[index].value,
        _ => 0.0,
    };
    let sides: Vec<_> = model.equations.iter().map(|it| it.right).collect();
    model.graph.evaluate(&sides, value)
}
