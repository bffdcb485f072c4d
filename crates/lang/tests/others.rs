//! Plain Modelica as others write it: textbook models and the output of flattening tools.
//!
//! Each file under `modelica/` says in a line `// count: …` how many equations and unknowns it has,
//! worked out by hand. The models load without a diagnostic, are balanced, and written back as flat
//! Modelica they read as the same equations.

use daelight_expr::ExprId;
use daelight_lang::{
    ArrayStyle, Code, Equation, Loaded, Model, Options, Symbol, Unknown, balance, flat_modelica,
    load,
};
use std::collections::HashMap;
use std::path::Path;

/// Points at which the residuals are compared.
const POINTS: u64 = 20;

/// Loads a text that must be right. Written-back text may hold parameters that only sizes and
/// branches depended on; nothing uses them any more.
fn read(name: &str, text: &str, written_back: bool) -> Model {
    let Loaded {
        model, diagnostics, ..
    } = load(name, text.as_bytes(), &Options::default());
    let messages: Vec<&str> = diagnostics
        .iter()
        .filter(|diagnostic| !(written_back && diagnostic.code == Code::UnusedName))
        .map(|diagnostic| diagnostic.message.as_str())
        .collect();
    assert!(messages.is_empty(), "{name}: {messages:?}");
    model.unwrap_or_else(|| panic!("{name}: no model"))
}

/// The numbers of the line `// count: N equations, M unknowns (how)`.
fn counts(name: &str, text: &str) -> (usize, usize) {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("// count: "))
        .unwrap_or_else(|| panic!("{name}: no line `// count: `"));
    let numbers: Vec<usize> = line
        .split('(')
        .next()
        .unwrap_or("")
        .split_whitespace()
        .filter_map(|word| word.parse().ok())
        .collect();
    assert_eq!(numbers.len(), 2, "{name}: {line}");
    (numbers[0], numbers[1])
}

/// A number between 0.5 and 1.5 that depends on the name, the order and the point alone.
fn value_at(name: &str, order: u32, point: u64) -> f64 {
    // Fowler, Noll and Vo's hash, then Steele, Lea and Flood's mixer.
    let mut state = 0xcbf2_9ce4_8422_2325_u64;
    for byte in name.bytes().chain([order as u8]) {
        state = (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    state = state.wrapping_add(point.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^= state >> 31;
    0.5 + (state >> 11) as f64 / (1u64 << 53) as f64
}

/// Left side, right side and residual of every equation at a point.
fn evaluate(model: &Model, equations: &[Equation], point: u64) -> Vec<f64> {
    let roots: Vec<ExprId> = equations
        .iter()
        .flat_map(|equation| [equation.left, equation.right, equation.residual])
        .collect();
    model
        .graph
        .evaluate(&roots, |id| match model.symbols.get(id) {
            // From 0 to 30, so that both sides of conditions on time are met.
            Symbol::Time => 30.0 * (value_at("time", 0, point) - 0.5),
            Symbol::Parameter(index) => model.parameters[index].value,
            Symbol::Input { input, order } => value_at(&model.inputs[input].name, order, point),
            Symbol::Unknown { unknown, order } => {
                value_at(&model.unknowns[unknown].name, order, point)
            }
        })
}

fn check_equations(name: &str, a: (&Model, &[Equation]), b: (&Model, &[Equation])) {
    assert_eq!(a.1.len(), b.1.len(), "{name}: equations");
    for point in 0..POINTS {
        let first = evaluate(a.0, a.1, point);
        let second = evaluate(b.0, b.1, point);
        for (k, (x, y)) in first.chunks(3).zip(second.chunks(3)).enumerate() {
            let scale = x[0].abs().max(x[1].abs()).max(1.0);
            assert!(
                x.iter().all(|side| side.is_finite()),
                "{name}: equation {k}"
            );
            let error = (x[2] - y[2]).abs() / scale;
            assert!(error <= 1e-13, "{name}: equation {k} differs by {error:e}");
        }
    }
}

/// Attributes as numbers, so that models with different graphs can be compared.
fn attributes(model: &Model, unknown: &Unknown) -> (Vec<Option<f64>>, bool) {
    let numbers = [unknown.start, unknown.nominal, unknown.min, unknown.max]
        .into_iter()
        .map(|attribute| attribute.map(|expr| model.parameter_value(expr)))
        .collect();
    (numbers, unknown.fixed)
}

fn check_same(name: &str, a: &Model, b: &Model) {
    let names = |model: &Model| -> Vec<String> {
        let unknowns = model.unknowns.iter().map(|unknown| unknown.name.clone());
        unknowns.collect()
    };
    assert_eq!(names(a), names(b), "{name}: unknowns");
    let values = |model: &Model| -> HashMap<String, f64> {
        let parameters = model.parameters.iter();
        parameters.map(|p| (p.name.clone(), p.value)).collect()
    };
    assert_eq!(values(a), values(b), "{name}: parameters");
    let inputs = |model: &Model| -> Vec<String> {
        let inputs = model.inputs.iter().map(|input| input.name.clone());
        inputs.collect()
    };
    assert_eq!(inputs(a), inputs(b), "{name}: inputs");
    for (x, y) in a.unknowns.iter().zip(&b.unknowns) {
        let at = format!("{name}: {}", x.name);
        assert_eq!(attributes(a, x), attributes(b, y), "{at}: attributes");
        let unit = |model: &Model, unknown: &Unknown| -> String {
            model.declarations[unknown.declaration].unit.clone()
        };
        if x.velocity_of.is_none() {
            assert_eq!(unit(a, x), unit(b, y), "{at}: unit");
        }
    }
    assert_eq!(a.experiment, b.experiment, "{name}: experiment");
    check_equations(name, (a, &a.equations), (b, &b.equations));
    check_equations(name, (a, &a.initial_equations), (b, &b.initial_equations));
}

/// Loads a file, checks its counts and balance, and reads it back in both styles.
fn check(name: &str, text: &str) {
    let model = read(name, text, false);
    let (n_equations, n_unknowns) = counts(name, text);
    assert_eq!(model.equations.len(), n_equations, "{name}: equations");
    assert_eq!(model.unknowns.len(), n_unknowns, "{name}: unknowns");
    assert!(balance(&model).is_balanced(), "{name}: balance");
    for style in [ArrayStyle::Kept, ArrayStyle::Scalarised] {
        let flat = flat_modelica(&model, style).expect("short expressions");
        let again = read(&format!("{name}, {style:?}"), &flat, true);
        check_same(&format!("{name}, {style:?}"), &model, &again);
    }
}

#[test]
fn files_of_others_load_and_read_back() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/modelica");
    let mut count = 0;
    for entry in std::fs::read_dir(&folder).expect("the folder of files") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().and_then(|name| name.to_str());
        let name = name.expect("a plain name");
        let text = std::fs::read_to_string(&path).expect("a readable file");
        check(name, &text);
        count += 1;
    }
    assert!(count >= 10, "{count} files");
}

#[test]
fn elements_declared_one_by_one_can_be_set() {
    let text = include_str!("modelica/flat_names.mo");
    let options = Options {
        set: vec!["body.d[2]=0.7".into(), "motor[1].J=2".into()],
        ..Options::default()
    };
    let model = load("flat_names.mo", text.as_bytes(), &options).model;
    let model = model.expect("both are parameters");
    let value = |name: &str| {
        let parameter = model.parameters.iter().find(|p| p.name == name);
        parameter.map(|p| p.value)
    };
    assert_eq!(value("body.d[1]"), Some(0.1));
    assert_eq!(value("body.d[2]"), Some(0.7));
    assert_eq!(value("motor[1].J"), Some(2.0));
}
