//! Modelica text to a checked, scalar, first-order [`Model`], with diagnostics that point at the text.
//!
//! The stages are `Source` → words → tree → [`Model`]; nothing here reads files or does numerics
//! beyond the values of parameters.
//!
//! ```
//! use daelight_lang::{Options, load};
//!
//! let text = "model Decay  Real x(start = 1);  equation  der(x) = -x;  end Decay;";
//! let loaded = load("decay.mo", text.as_bytes(), &Options::default());
//! let model = loaded.model.expect("the text is right");
//! assert_eq!(model.unknowns[0].name, "x");
//! assert_eq!(model.equations.len(), 1);
//! ```

mod adjoint;
mod ast;
mod balance;
mod components;
mod diagnostic;
mod elaborate;
mod forest;
mod hybrid;
mod model;
mod outline;
mod parse;
mod released;
mod source;
mod token;
mod tolerances;
mod units;
mod varied;
mod write;

pub use adjoint::AdjointModel;
pub use balance::{Balance, Part, balance, balance_of};
pub use diagnostic::{Code, Diagnostic, Severity, nearest};
pub use elaborate::{ATTRIBUTES, ElaborationLimits, built_in_functions};
pub use forest::Files;
pub use hybrid::{
    ChangedBy, Check, CheckKind, Delay, DiscreteVariable, HeldRelation, Hybrid, Reinit, Rule,
    Sample,
};
pub use model::{
    Assertion, Declared, DeclaredKind, Equation, Experiment, Homotopy, Input, Instance,
    LoopIndices, Model, Origin, Parameter, Polyline, StopCondition, StopKind, Submodel, Symbol,
    Symbols, Type, Unknown, View, shorten,
};
pub use outline::{
    LoopVariable, Outline, OutlinedClass, OutlinedDeclaration, Word, WordRole, outline, retokenizes,
};
pub use source::{MAX_SOURCE_BYTES, Source, SourceId, SourceMap, Span};
pub use tolerances::{LINE, PAGE, PARAGRAPH, PHRASE, SMALL};
pub use units::{BaseUnits, UnitCheck, base_units, check_units};
pub use varied::{MovedBy, Variation};
pub use write::{ArrayStyle, Remarks, flat_modelica, remarked_modelica};

use ast::{Ast, AstId, Class, ClassKind};
use forest::Forest;
use std::sync::Arc;

/// What to make of a text.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The model to take; the last one of the text when `None`.
    pub model: Option<String>,
    /// Values for parameters, each as `name=value` or `name[2]=value`.
    pub set: Vec<String>,
    /// An expression of the model: a run ends where it changes its sign, or a condition where it begins to hold.
    pub stop_when: Option<String>,
    /// Whether that expression is the number of a gradient: by what name messages show it.
    pub gradient: Option<&'static str>,
    /// Expressions of the model whose values are wanted along runs: they are views, named by their texts.
    pub observed: Vec<String>,
    /// Equations that join those of the text, each as `x = expression` in its names.
    pub free: Vec<String>,
    /// Where libraries stand; without it only the text itself is read.
    pub files: Option<Arc<dyn Files>>,
    /// Whether relations of unknowns are held between events even where nothing but equations reads them.
    pub holds_relations: bool,
    /// Whether `min` and `max` of different unknowns are such relations too, and relations of `noEvent`.
    pub holds_kinks: bool,
    /// Bounds on the work.
    pub limits: ElaborationLimits,
}

/// What became of a text.
#[derive(Clone)]
pub struct Loaded {
    /// The model; `None` when there were errors.
    pub model: Option<Model>,
    /// Errors and warnings, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
    /// The texts that the diagnostics point into.
    pub sources: SourceMap,
}

/// The names under which texts from outside are shown.
const SET: &str = "--set";
/// The name of the text of equations that join those of a model.
pub const FREE: &str = "--free";
const STOP_WHEN: &str = "--stop-when";
/// The name of the text of an expression that is looked at along runs.
pub const MEASURE: &str = "--measure";
/// The same for the number of a gradient.
pub const GRADIENT: &str = "--gradient";

impl Loaded {
    /// Whether the only mistakes are in what was given beside the text.
    ///
    /// A value of a parameter that can be read and does not suit the model is a fault of the model's values, not of the
    /// usage.
    pub fn usage_is_wrong(&self) -> bool {
        let is_error = |diagnostic: &&Diagnostic| diagnostic.severity == Severity::Error;
        let mut errors = self.diagnostics.iter().filter(is_error).peekable();
        errors.peek().is_some()
            && errors.all(|error| {
                let source = error.span.map(|span| self.sources.get(span.source).name());
                match source {
                    Some(FREE | STOP_WHEN | MEASURE | GRADIENT) => true,
                    Some(SET) => matches!(error.code, Code::MalformedSet | Code::Syntax),
                    _ => false,
                }
            })
    }
}

/// What was given beside the text.
struct Outside<'a> {
    overrides: &'a [Override],
    /// Equations that join those of the text.
    joined: &'a [ast::WrittenEquation],
    stop_when: Option<AstId>,
    /// Views by their names.
    observed: &'a [(String, AstId)],
    holds_relations: bool,
    holds_kinks: bool,
    homotopy: &'a Blend,
}

/// What becomes of `homotopy(actual, simplified)`.
#[derive(Default)]
struct Blend {
    /// Whether a parameter leads from one to the other; else the actual one counts.
    leads: bool,
    /// Whether there is one.
    is_met: std::cell::Cell<bool>,
    /// That parameter.
    parameter: std::cell::Cell<Option<usize>>,
}

/// A value given for a parameter from outside.
struct Override {
    name: String,
    name_span: Span,
    subscripts: Vec<usize>,
    value: AstId,
    span: Span,
}

/// Reads a text and makes its model.
pub fn load(name: &str, bytes: &[u8], options: &Options) -> Loaded {
    let mut sources = SourceMap::default();
    let mut diagnostics = Vec::new();
    let model = load_into(name, bytes, options, &mut sources, &mut diagnostics);
    diagnostics.extend(model.iter().flat_map(balance::repeated));
    diagnostics.sort_by_key(|diagnostic| {
        diagnostic
            .span
            .map_or((0, 0), |span| (span.source.0, span.start))
    });
    Loaded {
        model,
        diagnostics,
        sources,
    }
}

fn load_into(
    name: &str,
    bytes: &[u8],
    options: &Options,
    sources: &mut SourceMap,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Model> {
    let id = sources.add(decode(name, bytes, diagnostics));
    if !diagnostics.is_empty() {
        return None;
    }
    let mut ast = parse::parse(sources.get(id), id, 0, diagnostics);
    let mut overrides = parse_overrides(&options.set, sources, &mut ast, diagnostics);
    let stop_when = options.stop_when.as_ref().and_then(|text| {
        let name = options.gradient.unwrap_or(STOP_WHEN);
        let id = sources.add(Source::new(name, text.as_str()));
        parse::parse_expression(sources.get(id), id, 0, &mut ast, diagnostics)
    });
    let observed = parse_observed(&options.observed, sources, &mut ast, diagnostics);
    let joined = parse_joined(&options.free, sources, &mut ast, diagnostics);
    // What could be read is checked even if something could not, so that all mistakes are told.
    let unread = diagnostics
        .iter()
        .any(|diagnostic| diagnostic.severity == Severity::Error);
    let mut forest = Forest::new(
        options.files.as_deref().map(|files| files as _),
        sources.clone(),
    );
    forest.add(ast);
    let chosen = choose_class(
        forest.ast(0),
        options.model.as_deref(),
        sources.get(id),
        id,
        diagnostics,
    );
    let Some(class) = chosen else {
        if unread {
            diagnostics.retain(|diagnostic| diagnostic.code != Code::NoModel);
        }
        return None;
    };
    for item in &mut overrides {
        name_listed_element(item, class);
    }
    let mut enclosing = Vec::new();
    find_enclosing(&forest.ast(0).classes, class, &mut enclosing);
    let actual = Blend::default();
    let outside = Outside {
        overrides: &overrides,
        joined: &joined,
        stop_when,
        observed: &observed,
        holds_relations: options.holds_relations,
        holds_kinks: options.holds_kinks,
        homotopy: &actual,
    };
    let mut found = std::mem::take(diagnostics);
    let limits = options.limits;
    let mut model = elaborate::elaborate(&forest, &enclosing, class, &outside, limits, &mut found);
    *diagnostics = found;
    let in_libraries = forest.diagnostics.take();
    let leads = |model: &&mut Model| actual.is_met.get() && model.hybrid.is_none();
    if let Some(model) = model.as_mut().filter(leads) {
        model.homotopy = homotopy(&forest, &enclosing, class, outside, limits);
    }
    let is_broken = in_libraries
        .iter()
        .any(|diagnostic| diagnostic.severity == Severity::Error);
    diagnostics.extend(in_libraries);
    let is_told = diagnostics
        .iter()
        .any(|diagnostic| diagnostic.severity == Severity::Error);
    if model.is_none() && !is_told {
        diagnostics.push(not_put_together(class));
    }
    *sources = std::mem::take(forest.sources.get_mut());
    model.filter(|_| !is_broken)
}

fn not_put_together(class: &Class) -> Diagnostic {
    let message = format!("`{}` cannot be put together", class.name);
    Diagnostic::error(Code::UnknownType, class.name_span, message)
        .label("a class that it is made of is missing or defined by itself")
        .help("check the classes that it extends and the packages around it")
}

/// The model of a class that leads from simplified equations to the actual ones; none where events decide which equations hold.
fn homotopy(
    forest: &Forest<'_>,
    enclosing: &[&Class],
    class: &Class,
    outside: Outside<'_>,
    limits: ElaborationLimits,
) -> Option<Homotopy> {
    let blend = Blend {
        leads: true,
        ..Blend::default()
    };
    let outside = Outside {
        stop_when: None,
        observed: &[],
        homotopy: &blend,
        ..outside
    };
    // What is wrong with it is wrong with the model, and told.
    let mut told = Vec::new();
    let model = elaborate::elaborate(forest, enclosing, class, &outside, limits, &mut told)?;
    let parameter = blend.parameter.get()?;
    let is_smooth = model.hybrid.is_none();
    let model = Arc::new(model);
    is_smooth.then_some(Homotopy { model, parameter })
}

/// The classes around a class, outermost first.
fn find_enclosing<'a>(
    classes: &'a [Class],
    wanted: &Class,
    enclosing: &mut Vec<&'a Class>,
) -> bool {
    for class in classes {
        if std::ptr::eq(class, wanted) {
            return true;
        }
        enclosing.push(class);
        if find_enclosing(&class.classes, wanted, enclosing) {
            return true;
        }
        enclosing.pop();
    }
    false
}

/// Whether a dotted name ends with the path of a class in its text, behind what stands in `within`.
fn has_full_name(ast: &Ast, class: &Class, name: &str) -> bool {
    let mut around = Vec::new();
    find_enclosing(&ast.classes, class, &mut around);
    around.push(class);
    let names: Vec<&str> = around.iter().map(|class| class.name.as_str()).collect();
    let path = names.join(".");
    let full = match &ast.within {
        Some(within) => format!("{within}.{path}"),
        None => path,
    };
    // A part of the path is as good where it is one of whole names.
    full == name
        || full
            .strip_suffix(name)
            .is_some_and(|before| before.ends_with('.'))
}

/// The text, up to where it stops being one.
fn decode(name: &str, bytes: &[u8], diagnostics: &mut Vec<Diagnostic>) -> Source {
    if bytes.len() > MAX_SOURCE_BYTES {
        diagnostics.push(
            Diagnostic::placeless(
                Code::TooLarge,
                format!(
                    "the text has {} bytes, the limit is {MAX_SOURCE_BYTES}",
                    bytes.len()
                ),
            )
            .help("write repeated parts as loops over arrays"),
        );
        return Source::new(name, "");
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => Source::new(name, text),
        Err(error) => {
            let good = error.valid_up_to();
            let text = String::from_utf8_lossy(&bytes[..good]).into_owned();
            let source = Source::new(name, text + "\u{FFFD}");
            let span = Span {
                source: SourceId(0),
                start: good as u32,
                end: good as u32 + 3,
            };
            diagnostics.push(
                Diagnostic::error(
                    Code::NotUtf8,
                    span,
                    format!("byte {:#04x} at position {good} is not UTF-8", bytes[good]),
                )
                .label("here the text stops making sense")
                .help("save the file as UTF-8"),
            );
            source
        }
    }
}

/// The model asked for, or the last one of the text.
fn choose_class<'a>(
    ast: &'a Ast,
    wanted: Option<&str>,
    source: &Source,
    id: SourceId,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<&'a Class> {
    let all = ast.all_classes();
    let models = || {
        all.iter()
            .copied()
            .filter(|class| class.kind == ClassKind::Model)
    };
    let found = match wanted {
        None => models().next_back(),
        Some(name) => models()
            .rfind(|class| class.name == name)
            .or_else(|| models().rfind(|class| has_full_name(ast, class, name))),
    };
    if found.is_none() {
        let place = Span {
            source: id,
            start: 0,
            end: source.text().len().min(1) as u32,
        };
        let names: Vec<&str> = models().map(|class| class.name.as_str()).collect();
        let (message, help) = match wanted {
            Some(name) => (
                format!("the text has no model `{name}`"),
                match nearest(name, names.iter().copied()) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None if names.is_empty() => "write `model Name … end Name;`".to_string(),
                    None => format!("its models are {}", names.join(", ")),
                },
            ),
            None => (
                "the text has no model".to_string(),
                "write `model Name … equation … end Name;`".to_string(),
            ),
        };
        let label = if names.is_empty() {
            "no model in this text"
        } else {
            "not in this text"
        };
        diagnostics.push(
            Diagnostic::error(Code::NoModel, place, message)
                .label(label)
                .help(help),
        );
    }
    found
}

/// Reads `name=value` items; the value is any expression.
fn parse_overrides(
    items: &[String],
    sources: &mut SourceMap,
    ast: &mut Ast,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<Override> {
    let mut overrides = Vec::new();
    for item in items.iter().take(usize::from(u16::MAX) / 4) {
        let id = sources.add(Source::new(SET, item.as_str()));
        let source = sources.get(id);
        let whole = Span {
            source: id,
            start: 0,
            end: item.len() as u32,
        };
        let Some((left, right)) = item.split_once('=') else {
            let why = format!("`{}` holds no `=`", shorten(item, 60));
            diagnostics.push(malformed(whole, &why));
            continue;
        };
        if right.starts_with('=') {
            diagnostics.push(malformed(whole, "`==` compares; a value is given with `=`"));
            continue;
        }
        let target = left.trim();
        let start = left.len() - left.trim_start().len();
        let name_span = Span {
            source: id,
            start: start as u32,
            end: (start + target.len()) as u32,
        };
        let Some((name, subscripts)) = split_target(target) else {
            let why = format!("`{}` is not the name of a parameter", shorten(target, 60));
            diagnostics.push(malformed(name_span, &why));
            continue;
        };
        let value = parse::parse_expression(source, id, left.len() + 1, ast, diagnostics);
        if let Some(value) = value {
            overrides.push(Override {
                name,
                name_span,
                subscripts,
                value,
                span: ast.span(value),
            });
        }
    }
    overrides
}

/// Reads expressions that are looked at along runs, with their names.
fn parse_observed(
    texts: &[String],
    sources: &mut SourceMap,
    ast: &mut Ast,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<(String, AstId)> {
    let mut observed = Vec::new();
    for text in texts.iter().take(usize::from(u16::MAX) / 4) {
        let id = sources.add(Source::new(MEASURE, text.as_str()));
        let expression = parse::parse_expression(sources.get(id), id, 0, ast, diagnostics);
        observed.extend(expression.map(|expression| (text.clone(), expression)));
    }
    observed
}

/// Reads equations that join those of the text.
fn parse_joined(
    items: &[String],
    sources: &mut SourceMap,
    ast: &mut Ast,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<ast::WrittenEquation> {
    let mut equations = Vec::new();
    for item in items.iter().take(usize::from(u16::MAX) / 4) {
        let id = sources.add(Source::new(FREE, item.as_str()));
        let equation = parse::parse_equation(sources.get(id), id, ast, diagnostics);
        equations.extend(equation);
    }
    equations
}

/// `a[2]` is a name of its own where the text declares the elements of `a` one by one.
fn name_listed_element(item: &mut Override, class: &Class) {
    let is_declared = |name: &str| class.declarations.iter().any(|d| d.name == name);
    if item.subscripts.is_empty() || is_declared(&item.name) {
        return;
    }
    let subscripts: Vec<String> = item.subscripts.iter().map(usize::to_string).collect();
    let element = format!("{}[{}]", item.name, subscripts.join(","));
    if is_declared(&element) {
        item.name = element;
        item.subscripts.clear();
    }
}

fn malformed(span: Span, why: &str) -> Diagnostic {
    Diagnostic::error(Code::MalformedSet, span, why)
        .label("here")
        .help("write --set name=value, or --set name[2]=value for an element")
}

/// `a[2,3]` as its name and subscripts.
fn split_target(target: &str) -> Option<(String, Vec<usize>)> {
    if let Some(quoted) = target.strip_prefix('\'') {
        return Some((quoted.strip_suffix('\'')?.to_string(), Vec::new()));
    }
    let (name, list) = match target.strip_suffix(']') {
        None => (target, None),
        Some(open) => {
            let (name, list) = open.rsplit_once('[')?;
            (name, Some(list))
        }
    };
    let mut subscripts = Vec::new();
    for part in list.into_iter().flat_map(|list| list.split(',')) {
        subscripts.push(part.trim().parse().ok()?);
    }
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '[' | ']' | ',');
    (!name.is_empty() && name.chars().all(plain)).then(|| (name.trim().to_string(), subscripts))
}
