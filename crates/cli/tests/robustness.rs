//! No text makes the front end panic, hang or exhaust the stack; each gets a model or a diagnostic.

use crate::common::{Random, built_in};
use daelight_lang::{ElaborationLimits, Loaded, Options, Severity, balance, load};
use daelight_show::terminal::frame;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use std::time::{Duration, Instant};

fn small() -> Options {
    let limits = ElaborationLimits {
        steps: 200_000,
        elements: 10_000,
        nodes: 200_000,
    };
    Options {
        limits,
        ..Options::default()
    }
}

/// Loads any bytes and looks at everything that comes out.
fn check(bytes: &[u8], options: &Options) -> Loaded {
    let loaded = load("any.mo", bytes, options);
    let errors = loaded
        .diagnostics
        .iter()
        .filter(|d| d.severity == Severity::Error)
        .count();
    assert_eq!(
        loaded.model.is_none(),
        errors > 0,
        "a model, or an error that says why not"
    );
    for diagnostic in loaded.diagnostics.iter().take(3) {
        assert!(!frame(diagnostic, &loaded.sources, false).is_empty());
        if let Some(span) = diagnostic.span {
            let source = loaded.sources.get(span.source);
            assert!(span.start as usize <= source.text().len(), "{diagnostic:?}");
            let (line, column) = source.line_column(span.start);
            assert!(line >= 1 && column >= 1);
        }
        if diagnostic.severity == Severity::Error {
            assert!(diagnostic.help.is_some(), "no help: {diagnostic:?}");
        }
    }
    if let Some(model) = &loaded.model {
        balance(model).diagnostics(model);
    }
    loaded
}

fn run<S: Strategy>(cases: u32, strategy: S, test: impl Fn(S::Value)) {
    let config = Config {
        cases,
        failure_persistence: None,
        max_shrink_iters: 2000,
        ..Config::default()
    };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    TestRunner::new_with_rng(config, rng)
        .run(&strategy, |value| {
            test(value);
            Ok(())
        })
        .unwrap_or_else(|failure| panic!("{failure}"));
}

#[test]
fn random_bytes() {
    run(
        30_000,
        proptest::collection::vec(any::<u8>(), 0..200),
        |bytes| {
            check(&bytes, &small());
        },
    );
}

const WORDS: &[&str] = &[
    "model",
    "M",
    "end",
    "M;",
    "end M;",
    "equation",
    "initial equation",
    "parameter",
    "constant",
    "Real",
    "Integer",
    "Boolean",
    "String",
    "input",
    "output",
    "x",
    "y",
    "z",
    "p",
    "n",
    "f",
    "i",
    "'q w'",
    "a.b",
    "der",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    ";",
    ":",
    "=",
    ":=",
    "==",
    "<>",
    "<",
    "+",
    "-",
    "*",
    "/",
    "^",
    ".*",
    ".^",
    "./",
    "1",
    "2",
    "3.5",
    "1e-3",
    "1e99",
    "-1",
    "0",
    "true",
    "false",
    "\"text\"",
    "if",
    "then",
    "else",
    "elseif",
    "end if;",
    "for",
    "in",
    "loop",
    "end for;",
    "1:3",
    "function",
    "algorithm",
    "end f;",
    "protected",
    "public",
    "each",
    "start",
    "fixed",
    "annotation",
    "experiment(StopTime = 1)",
    "__daelight(draw = {{x, y}})",
    "sum",
    "size",
    "zeros",
    "ones",
    "identity",
    "transpose",
    "cross",
    "cat",
    "min",
    "max",
    "sin",
    "sqrt",
    "time",
    "lagrange",
    "virtualWork",
    "and",
    "or",
    "not",
    "noEvent",
    "when",
    "connect",
    "extends",
    "import",
    "package",
    "type",
    "within",
    "//",
    "/*",
    "*/",
    "Real x;",
    "Real x[3];",
    "parameter Integer n = 3;",
    "x = y;",
    "der(x) = y;",
    "lagrange(x, y, {z});",
    "[1, 2; 3, 4]",
    "{i for i in 1:n}",
    "x[end]",
    "x[:]",
    "x[1:2]",
    "ö",
    "$",
    "\\",
    "'",
    "\"",
];

#[test]
fn token_soup() {
    let word = (0..WORDS.len()).prop_map(|k| WORDS[k]);
    let framed = (
        proptest::collection::vec(word, 0..60),
        any::<bool>(),
        any::<bool>(),
    );
    run(40_000, framed, |(words, in_model, in_equations)| {
        let mut text = words.join(" ");
        if in_model {
            let section = if in_equations {
                "Real x, y, z[3]; parameter Integer n = 3; equation"
            } else {
                ""
            };
            text = format!("model M {section} {text} end M;");
        }
        check(text.as_bytes(), &small());
    });
}

#[test]
fn mutated_models() {
    let models: Vec<&str> = daelight::built_in_models()
        .iter()
        .map(|model| model.text)
        .filter(|text| text.len() < 4000)
        .collect();
    let count = models.len();
    run(
        40_000,
        (0..count, any::<u64>(), 1..6usize),
        |(which, seed, edits)| {
            let mut bytes = models[which].as_bytes().to_vec();
            let mut random = Random(seed);
            for _ in 0..edits {
                let at = random.below(bytes.len());
                let to = (at + 1 + random.below(12)).min(bytes.len());
                match random.below(6) {
                    0 => {
                        bytes.drain(at..to);
                    }
                    1 => {
                        let piece: Vec<u8> = bytes[at..to].to_vec();
                        let there = random.below(bytes.len());
                        bytes.splice(there..there, piece);
                    }
                    2 => bytes[at] = random.next() as u8,
                    3 => {
                        let word = WORDS[random.below(WORDS.len())].as_bytes();
                        bytes.splice(at..to, word.iter().copied());
                    }
                    4 => {
                        let digit = b"0123456789-.e"[random.below(13)];
                        bytes[at] = digit;
                    }
                    _ => bytes.truncate(at.max(1)),
                }
                if bytes.is_empty() {
                    bytes.push(b' ');
                }
            }
            check(&bytes, &small());
        },
    );
}

/// Loads a text within a time and expects a diagnostic of one of the codes.
fn expect(name: &str, text: &str, codes: &[&str]) {
    let start = Instant::now();
    let loaded = check(text.as_bytes(), &Options::default());
    let elapsed = start.elapsed();
    assert!(elapsed < Duration::from_secs(20), "{name} took {elapsed:?}");
    let first = loaded
        .diagnostics
        .first()
        .map(|diagnostic| diagnostic.code.word());
    assert!(
        first.is_some_and(|code| codes.contains(&code)),
        "{name}: {first:?}"
    );
}

/// A model around one equation.
fn equation(text: &str) -> String {
    format!("model M Real x; equation {text}; end M;")
}

#[test]
fn deep_nesting() {
    let n = 100_000;
    let deep = |open: &str, inside: &str, close: &str| {
        equation(&format!(
            "x = {}{inside}{}",
            open.repeat(n),
            close.repeat(n)
        ))
    };
    let codes = &["nesting-too-deep"];
    expect("parentheses", &deep("(", "1", ")"), codes);
    expect("braces", &deep("{", "1", "}"), codes);
    expect("brackets", &deep("[", "1", "]"), codes);
    expect("calls", &deep("sin(", "1", ")"), codes);
    expect("conditions", &deep("if x > 0 then 1 else ", "1", ""), codes);
    expect("subscripts", &deep("x[", "1", "]"), codes);
    expect(
        "open parentheses",
        &equation(&format!("x = {}", "(".repeat(n))),
        codes,
    );
    let loops = format!(
        "{}x = 1;{}",
        "for i in 1:1 loop ".repeat(n),
        " end for;".repeat(n)
    );
    expect(
        "loops",
        &format!("model M Real x; equation {loops} end M;"),
        codes,
    );
    let classes = "package P ".repeat(n);
    expect("classes", &classes, codes);
    let annotation = format!("annotation({}1{});", "a(b=".repeat(n), ")".repeat(n));
    check(
        format!("model M Real x; equation x = 1; {annotation} end M;").as_bytes(),
        &Options::default(),
    );
    // These are long but flat.
    check(
        equation(&format!("x = {}1", "- ".repeat(n))).as_bytes(),
        &Options::default(),
    );
    check(
        equation(&format!("x = 1{}", " + x".repeat(n))).as_bytes(),
        &Options::default(),
    )
    .model
    .expect("a long sum is fine");
    check(
        equation(&format!("x = {}true", "not ".repeat(n))).as_bytes(),
        &Options::default(),
    );
}

#[test]
fn long_lines_and_many_lines() {
    let long = equation(&format!("x = 1{}", " + 2*x".repeat(1_700_000)));
    assert!(long.len() > 10_000_000);
    check(long.as_bytes(), &Options::default())
        .model
        .expect("a long line is fine");
    expect(
        "a long line with a mistake",
        &long.replace("+ 2*x;", "+ y;"),
        &["undeclared-name"],
    );
    expect(
        "10 MB of noise",
        &"#".repeat(10_000_000),
        &["unexpected-character"],
    );
    expect(
        "10 MB of mistakes",
        &"x = ;\n".repeat(1_700_000),
        &["syntax"],
    );
    let many: String = (0..100_000)
        .map(|k| format!("  Real x{k} = {k};\n"))
        .collect();
    let model = check(
        format!("model M\n{many}end M;").as_bytes(),
        &Options::default(),
    )
    .model;
    assert_eq!(
        model.expect("many declarations are fine").unknowns.len(),
        100_000
    );
}

#[test]
fn values_out_of_bounds() {
    expect("a large literal", &equation("x = 1e400"), &["number-range"]);
    expect(
        "a small literal",
        &equation("x = 1e-400"),
        &["number-range"],
    );
    let parameter = |value: &str| format!("model M parameter Real p = {value}; Real x = p; end M;");
    expect("NaN", &parameter("0/0"), &["bad-value"]);
    expect("infinity", &parameter("1/0"), &["bad-value"]);
    expect("a square root", &parameter("sqrt(-1)"), &["bad-value"]);
    expect("overflow", &parameter("1e300*1e300"), &["bad-value"]);
    expect("a logarithm", &parameter("log(0)"), &["bad-value"]);
    let size =
        |size: &str| format!("model M Real x[{size}]; equation x = fill(1, size(x, 1)); end M;");
    expect("a negative size", &size("-1"), &["wrong-size"]);
    expect("a size that is not whole", &size("2.5"), &["wrong-size"]);
    expect("a large size", &size("1000000000"), &["too-large"]);
    expect(
        "two large sizes",
        &equation("x = sum(zeros(100000, 100000))"),
        &["too-large"],
    );
    expect(
        "overflowing sizes",
        &equation("x = sum(zeros(4000000000, 4000000000, 4000000000))"),
        &["too-large"],
    );
    expect("a long range", &equation("x = sum(1:1e12)"), &["too-large"]);
    expect(
        "a range without end",
        &equation("x = sum(1:0:2)"),
        &["bad-value"],
    );
    let empty =
        "model M Real x; equation x = 1; for i in 1:9000000, j in 1:9000000 loop end for; end M;";
    expect("a long loop", empty, &["too-large"]);
    check(equation("x = 2^1e9").as_bytes(), &Options::default());
    check(equation("der(x) = x^1e9").as_bytes(), &Options::default());
}

#[test]
fn functions_that_never_end() {
    let f = |body: &str, rest: &str| {
        format!(
            "function f input Real u; output Real y; algorithm y := {body}; end f; {rest}
             model M Real x; equation x = f(x); end M;"
        )
    };
    expect("recursion", &f("f(u - 1)", ""), &["recursive-function"]);
    expect(
        "mutual recursion",
        &f(
            "g(u)",
            "function g input Real u; output Real y; algorithm y := f(u); end g;",
        ),
        &["recursive-function"],
    );
    // Each level calls the one below twice: 2^60 calls if followed to the end.
    let mut text =
        String::from("function f0 input Real u; output Real y; algorithm y := sin(u); end f0;\n");
    for k in 1..60 {
        text += &format!(
            "function f{k} input Real u; output Real y; algorithm y := f{j}(u) + f{j}(u + {k}); end f{k};\n",
            j = k - 1
        );
    }
    text += "model M Real x; equation x = f59(x); end M;";
    let start = Instant::now();
    let loaded = check(text.as_bytes(), &small());
    assert!(start.elapsed() < Duration::from_secs(10));
    assert_eq!(loaded.diagnostics[0].code.word(), "too-large");
}

#[test]
fn parameters_in_a_circle() {
    let n = 100_000;
    let mut text = String::from("model M\n");
    for k in 0..n {
        text += &format!("  parameter Real p{k} = p{};\n", (k + 1) % n);
    }
    text += "  Real x = p0;\nend M;";
    expect("a long circle", &text, &["cyclic-parameters"]);
    let chain = text.replace(&format!("p{} = p0;", n - 1), &format!("p{} = 2;", n - 1));
    let model = check(chain.as_bytes(), &Options::default())
        .model
        .expect("a long chain is fine");
    assert_eq!(model.parameters[0].value, 2.0);
}

#[test]
fn strange_files() {
    expect("nothing", "", &["no-model"]);
    expect("only a comment", "// nothing here\n", &["no-model"]);
    expect("a byte order mark alone", "\u{feff}", &["no-model"]);
    expect("an open comment", "/* no end", &["unterminated"]);
    expect("an open string", "model M \"text", &["unterminated"]);
    let windows = built_in("pendulum").replace('\n', "\r\n");
    check(windows.as_bytes(), &Options::default())
        .model
        .expect("line ends do not matter");
    let marked = format!("\u{feff}{}", built_in("pendulum"));
    check(marked.as_bytes(), &Options::default())
        .model
        .expect("a byte order mark does not matter");
    let loaded = check(b"model M Real x\xff; end M;", &Options::default());
    assert_eq!(loaded.diagnostics[0].code.word(), "not-utf8");
}

#[test]
fn derivatives_of_high_order() {
    let deep = format!("{}x{}", "der(".repeat(150), ")".repeat(150));
    let model = check(
        equation(&format!("{deep} = 1")).as_bytes(),
        &Options::default(),
    )
    .model;
    assert_eq!(model.expect("a high order is fine").unknowns.len(), 150);
    // Repeated differentiation of products grows; the limits stop it.
    let mut text = String::from("x*sin(x)*exp(x)/(1 + x^2)");
    for _ in 0..60 {
        text = format!("der({text})");
    }
    let start = Instant::now();
    check(equation(&format!("{text} = 1")).as_bytes(), &small());
    assert!(start.elapsed() < Duration::from_secs(20));
}

/// Texts whose work once grew with the square of their length, or worse.
#[test]
fn long_texts_cost_what_they_are_long() {
    let quick = |name: &str, text: &str| {
        let start = Instant::now();
        let loaded = check(text.as_bytes(), &Options::default());
        let elapsed = start.elapsed();
        assert!(elapsed < Duration::from_secs(10), "{name} took {elapsed:?}");
        loaded
    };
    let chain: String = (1..20_000)
        .map(|k| format!("Real x{k} = x{} + 1; ", k - 1))
        .collect();
    let text = format!(
        "model M Real q; Real x0 = q; {chain} equation lagrange(0.5*der(q)^2, x19999, {{q}}); end M;"
    );
    assert!(quick("a chain of bindings", &text).model.is_some());
    let text = "model M parameter Integer N = 500; Real q[N];
        Real s[N] = {if i == 1 then sin(q[1]) else s[max(i - 1, 1)] + sin(q[i]) for i in 1:N};
        equation lagrange(0.5*sum(der(s[i])^2 for i in 1:N), sum(s), q); end M;";
    assert!(quick("a chain of joints", text).model.is_some());
    let function = |locals: &str, body: &str| {
        format!(
            "function f input Real x; output Real y; {locals} algorithm {body} end f;
             model M Real x; equation der(x) = f(x); end M;"
        )
    };
    let body =
        "y := x; for i in 1:50000 loop if y > i then y := y + 1; else y := y*2; end if; end for;";
    assert!(
        quick("branches in a loop", &function("", body))
            .model
            .is_some()
    );
    let body = "for i in 1:10000 loop a[i] := x*i; end for; y := sum(a);";
    assert!(
        quick("a local array", &function("protected Real a[10000];", body))
            .model
            .is_some()
    );
    let loaded = quick(
        "open quotes",
        &format!("model M\n{}", "x '\n".repeat(300_000)),
    );
    assert!(
        loaded.diagnostics.len() <= 250,
        "{}",
        loaded.diagnostics.len()
    );
}

/// Whatever `--set` is given.
#[test]
fn strange_overrides() {
    run(5_000, "[a-zNgL\\[\\]=0-9.,+*/(){}'\"-]{0,12}", |item| {
        let options = Options {
            set: vec![item],
            ..small()
        };
        check(built_in("pendulum-chain").as_bytes(), &options);
    });
}
