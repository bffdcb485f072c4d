//! Base Modelica: what its texts hold beside plain Modelica, and that what is written reads back.

use crate::common;
use crate::common::{Point, Random, daelight_with_input, document, model_of, number, stdout};
use daelight_lang::{ArrayStyle, Model, flat_modelica};
use serde_json::Value;

/// A text with the header of Base Modelica around the elements of a package.
fn base(elements: &str) -> String {
    format!("//! base 0.1.0\npackage 'Try'\n{elements}\nend 'Try';\n")
}

/// The run of a text to t = 1.
fn run(elements: &str) -> Value {
    let text = base(elements);
    let arguments = ["solve", "-", "--json", "--rtol", "1e-11", "--to", "1"];
    let found = document(&daelight_with_input(&arguments, text.as_bytes()));
    assert_eq!(found["status"], "success", "{found}\n{text}");
    found
}

fn close(found: &Value, name: &str, truth: f64) {
    let value = number(&found["final"][name]);
    assert!((value - truth).abs() < 1e-9, "{name}: {value} for {truth}");
}

/// What is said of a text that is not read.
fn refused(text: &str) -> String {
    let output = daelight_with_input(&["check", "-"], text.as_bytes());
    assert!(!output.status.success(), "{}", stdout(&output));
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn names_with_dollars_quotes_and_elements() {
    let found = run("  model 'Try'
    parameter Real $rate = 2.0;
    parameter Real 'gain[\\'low\\']' = 3.0;
    Real '$cse1';
    Real $PRE.v(start = 1.0, fixed = true);
    Real x[1](start = 1.0, fixed = true);
    Real x[2];
    Real 'pipe.cell[1,2].T'(start = 4.0, fixed = true);
  equation
    der($PRE.v) = -$rate*'$cse1';
    '$cse1' = $PRE.v;
    der(x[1]) = -x[1];
    x[2] = 'gain[\\'low\\']'*x[1];
    der('pipe.cell[1,2].T') = 1.0;
  end 'Try';");
    let e = (-1.0_f64).exp();
    close(&found, "$PRE.v", e * e);
    close(&found, "x[2]", 3.0 * e);
    close(&found, "pipe.cell[1,2].T", 5.0);
}

#[test]
fn records_enumerations_types_and_constants() {
    let found = run("  record 'Lib.State' \"two numbers\"
    Real 'a';
    Real[2] 'b';
  end 'Lib.State';
  type 'Lib.Mode' = enumeration('off', 'slow' \"not fast\", 'fast');
  type 'Lib.Length' = Real(unit = \"m\", min = 0.0);
  constant Real 'Lib.two' = 2.0;
  function '-Lib.State' \"makes one of all its members\"
    input Real 'a';
    input Real[2] 'b';
    output 'Lib.State' _result('a' = 'a', 'b' = 'b');
  end '-Lib.State';
  model 'Try'
    parameter 'Lib.State' 'p' = '-Lib.State'(1.0, {2.0, 3.0});
    parameter 'Lib.Mode' 'mode' = 'Lib.Mode'.'slow';
    'Lib.State' 's'('a'(start = 1.0, fixed = true));
    'Lib.Length' 'len';
  equation
    der('s'.'a') = -'p'.'b'[2]*'s'.'a';
    's'.'b' = {'Lib.two', 's'.'a'};
    'len' = if 'mode' == 'Lib.Mode'.'slow' then 5.0 else 7.0;
  end 'Try';");
    close(&found, "s.a", (-3.0_f64).exp());
    close(&found, "s.b[1]", 2.0);
    close(&found, "s.b[2]", (-3.0_f64).exp());
    close(&found, "len", 5.0);
}

#[test]
fn functions_of_their_own_and_built_in_ones() {
    let found = run("  pure constant function 'Lib.next'
    input Real 'u';
    output Real 'y' = 'u' + 1.0;
  end 'Lib.next';
  function 'Lib.angle' \"by a function that every tool has\"
    input Real 'y';
    input Real 'x';
    output Real 'phi';
  external \"builtin\" 'phi' = atan2('y', 'x');
  end 'Lib.angle';
  function 'Lib.norm'
    input Real[:] 'u';
    output Real 'y';
    Real 'sum' = 0.0;
  algorithm
    for 'i' in 1:size('u', 1) loop
      'sum' := 'sum' + 'u'['i']^2;
    end for;
    'y' := sqrt('sum');
  end 'Lib.norm';
  model 'Try'
    Real 'a';
    Real 'b'(start = 0.0, fixed = true);
    Real 'c'(start = 0.0, fixed = true);
  equation
    'a' = 'Lib.next'(time);
    der('b') = 'Lib.angle'(1.0 + time, 1.0 + time);
    der('c') = 'Lib.norm'({3.0*(1.0 + time), 4.0*(1.0 + time)});
    assert(realParameterEqual(1.5, 1.5), \"they are equal\");
  end 'Try';");
    close(&found, "a", 2.0);
    close(&found, "b", std::f64::consts::FRAC_PI_4);
    close(&found, "c", 7.5);
}

#[test]
fn guesses_priorities_and_parameters_that_initial_equations_determine() {
    let found = run("  model 'Try'
    Real 'x';
    Real 'y';
    parameter Real 'half' = 0.5;
    parameter Real 'rate';
    parameter Real 'sum';
    parameter equation guess('x') = 6.0*'half';
    parameter equation guess('y') = prioritize(-2.5, 1);
  initial equation
    2.0*'half' = 'rate';
    prioritize('x', 2);
  initial algorithm
    'sum' := 'half';
    'sum' := 'sum' + 1.0;
  equation
    der('x') = -'rate'*'x';
    'y'^2 = 4.0*'sum';
  end 'Try';");
    close(&found, "x", 3.0 * (-1.0_f64).exp());
    close(&found, "y", -6.0_f64.sqrt());
}

#[test]
fn decorations_comments_and_annotations_are_passed_over() {
    let found = run("  @1 model 'Try' \"one\" + \" comment\"
    @2 Real 'x'(@3 start = 1.0, fixed = true) annotation(Evaluate = false);
  equation
    @4 der('x') = -'x' @5 \"decay\" annotation(__tool = true);
    annotation(experiment(StopTime = 2.0));
  end 'Try';
  annotation(version = \"1\");");
    close(&found, "x", (-1.0_f64).exp());
}

#[test]
fn what_is_not_read_is_named() {
    let partition = base(
        "  model 'Try'
    Real 'x'(start = 1.0);
  equation
    der('x') = -'x';
  partition \"slow\"
    Clock _c = Clock(0.1);
    subpartition (clock = _c)
    equation
      'u' = sample('x');
  end 'Try';",
    );
    let said = refused(&partition);
    assert!(said.contains("partitions are not read"), "{said}");
    let guess = base(
        "  model 'Try'
    Real 'x';
    parameter equation guess('z') = 1.0;
  equation
    der('x') = -'x';
  end 'Try';",
    );
    let said = refused(&guess);
    assert!(
        said.contains("a guess is given to a whole variable"),
        "{said}"
    );
    // Plain Modelica has none of it.
    for text in [
        "model M Real x; equation @1 x = 1; end M;",
        "model M parameter Real p; Real x; initial equation p = 1; equation x = p; end M;",
    ] {
        refused(text);
    }
}

/// Writes a model as Base Modelica, reads it, and compares residuals and starts.
fn reads_back(name: &str, model: &Model, random: &mut Random) {
    let text = flat_modelica(model, ArrayStyle::Base).expect("not too long");
    assert!(text.starts_with("//! base 0.1.0\npackage '"), "{text}");
    for word in ["protected", "public", "final", "each"] {
        let is_word = |line: &str| line.trim_start().split(' ').next() == Some(word);
        assert!(!text.lines().any(is_word), "{name} has `{word}`\n{text}");
    }
    let again = model_of(name, &text);
    assert_eq!(model.equations.len(), again.equations.len(), "{name}");
    for _ in 0..5 {
        let point = Point::random(model, random);
        for (old, new) in model.equations.iter().zip(&again.equations) {
            let (a, b) = (
                point.value(model, old.residual).expect("given"),
                point.value(&again, new.residual).expect("given"),
            );
            let sides = [old.left, old.right].map(|side| point.value(model, side));
            let size = sides
                .into_iter()
                .flatten()
                .map(f64::abs)
                .fold(1.0, f64::max);
            let is_equal = (a - b).abs() <= 1e-13 * size || (!a.is_finite() && !b.is_finite());
            assert!(
                is_equal,
                "{name}: {a:e} for {b:e} in {}",
                model.equation_text(old)
            );
        }
    }
    let start = |model: &Model, at: usize| {
        let start = model.unknowns[at].start;
        start.map(|start| model.parameter_value(start))
    };
    for at in 0..model.unknowns.len() {
        let (old, new) = (&model.unknowns[at], &again.unknowns[at]);
        assert_eq!(old.name, new.name, "{name}");
        assert_eq!(old.fixed, new.fixed, "{name}: {}", old.name);
        assert_eq!(start(model, at), start(&again, at), "{name}: {}", old.name);
    }
}

#[test]
fn the_whole_library_reads_back() {
    let mut random = Random(31);
    for model in daelight::built_in_models() {
        let read = model_of(model.name, model.text);
        reads_back(model.name, &read, &mut random);
    }
}

#[test]
fn models_of_components_read_back() {
    let mut random = Random(32);
    let parts = common::root().join("crates/daelight/library");
    let mut folders = vec![parts.clone()];
    let mut n_read = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let below = path.strip_prefix(&parts).expect("below");
            let name = below.with_extension("").to_string_lossy().replace('/', ".");
            if !name.contains(".Examples.") || name.ends_with(".package") {
                continue;
            }
            let loaded = daelight::load(&name, &daelight_lang::Options::default());
            let model = loaded.ok().and_then(|loaded| loaded.model);
            reads_back(&name, &model.expect("an example"), &mut random);
            n_read += 1;
        }
    }
    assert!(n_read > 20, "{n_read} examples");
}

/// Far from its solution an exponential has no value: the simplified equations lead there, with arguments by name in any order.
#[test]
fn a_homotopy_is_followed_where_the_start_is_not_found_directly() {
    let chain = |law: &str| {
        format!(
            "package 'P' model 'P' Real 'd.v'[5](each start = 80.0); Real 'i'; Real 'z'(start = 0.0, fixed = true); \
             equation der('z') = 'i' - 'z'; for k in 1:5 loop 'i' = {law}; end for; sum('d.v') + 1000.0*'i' = 400.0; end 'P'; end 'P';"
        )
    };
    let actual = "1e-14*(exp('d.v'[k]/0.025) - 1.0)";
    let run = |law: &str| {
        let text = chain(law);
        daelight_with_input(&["solve", "-", "--to", "1", "--json"], text.as_bytes())
    };
    let directly = run(actual);
    assert!(!directly.status.success(), "{directly:?}");
    for law in [
        format!("homotopy({actual}, 'd.v'[k] - 0.7)"),
        format!("homotopy(simplified = 'd.v'[k] - 0.7, actual = {actual})"),
    ] {
        let output = run(&law);
        assert!(output.status.success(), "{law}: {output:?}");
        let found = document(&output);
        // i = 1e-14 (e^(v/0.025) - 1) and 5 v + 1000 i = 400.
        let v = number(&found["final"]["d.v[3]"]);
        let i = 1e-14 * ((v / 0.025).exp() - 1.0);
        assert!((5.0 * v + 1000.0 * i - 400.0).abs() < 1e-9, "{found}");
        let warnings = found["warnings"].to_string();
        assert!(warnings.contains("`homotopy` was followed"), "{warnings}");
    }
    // Where the start is found directly nothing is said.
    let easy = "model E Real x(start = 1); Real z(start = 0, fixed = true); equation der(z) = x; homotopy(x^3, x) = 8; end E;";
    let found = document(&daelight_with_input(
        &["solve", "-", "--to", "1", "--json"],
        easy.as_bytes(),
    ));
    assert!(
        !found["warnings"].to_string().contains("homotopy"),
        "{found}"
    );
    assert!(
        (number(&found["final"]["x"]) - 2.0).abs() < 1e-12,
        "{found}"
    );
}
