//! What the model says: unknowns, parameters, equations as formulas beside their text.

use super::unit_text;
use daelight_expr::{ExprId, Markup, SymbolId};
use daelight_lang::{Model, Origin, SourceId, SourceMap, shorten};
use daelight_show::page::{Block, Equation, MathMl, Section, Span, Table};
use daelight_show::{count, tidy_number};

/// Most rows of a table of declarations.
const MAX_ROWS: usize = 60;
/// Most equations that are shown.
const MAX_EQUATIONS: usize = 80;
/// Longest formula, and all formulas together, in bytes of MathML.
const MAX_FORMULA: usize = 24_000;
const MAX_FORMULAS: usize = 500_000;
/// Longest text of an equation.
const MAX_SOURCE: usize = 600;

/// The section of a model's text.
pub(super) fn section(model: &Model) -> Section {
    let mut section = Section::new("equations", "Equations");
    let is_velocity =
        |equation: &&daelight_lang::Equation| matches!(equation.origin, Origin::Velocity { .. });
    let equations: Vec<_> = (model.equations.iter())
        .filter(|equation| !is_velocity(equation))
        .collect();
    let formulas = set_equations(model, &equations);
    section.blocks.push(Block::Equations(formulas.clone()));
    let n_velocities = model.equations.len() - equations.len();
    if n_velocities > 0 {
        let text = format!(
            "{} that bring second derivatives to first order, such as der(x) = velocity of x, {} left out here.",
            count(n_velocities, "equation"),
            if n_velocities == 1 { "is" } else { "are" }
        );
        section.blocks.push(Block::text(text));
    }
    if formulas.iter().any(|equation| equation.math.is_none()) {
        let text = "What is too long here `daelight derive` writes out.";
        section.blocks.push(Block::text(text));
    }
    if equations.len() > MAX_EQUATIONS {
        let more = count(equations.len() - MAX_EQUATIONS, "equation");
        let text = format!("{more} not shown; `daelight derive` writes them all.");
        section.blocks.push(Block::text(text));
    }
    if !model.initial_equations.is_empty() {
        let initial = model.initial_equations.iter().collect::<Vec<_>>();
        section
            .blocks
            .push(Block::Heading("At the start only".to_string()));
        section
            .blocks
            .push(Block::Equations(set_equations(model, &initial)));
    }
    section.blocks.push(Block::Heading("Unknowns".to_string()));
    section.blocks.push(Block::Table(unknowns(model)));
    let parameters = parameters(model);
    if !parameters.rows.is_empty() {
        section
            .blocks
            .push(Block::Heading("Parameters".to_string()));
        section.blocks.push(Block::Table(parameters));
    }
    if let Some(code) = text(&model.sources) {
        section
            .blocks
            .push(Block::details("The text of the model", vec![code]));
    }
    section
}

/// The text alone, where there is no model.
pub(super) fn source(sources: &SourceMap) -> Option<Section> {
    Some(Section::new("equations", "Text").block(text(sources)?))
}

/// The text with numbers of lines.
fn text(sources: &SourceMap) -> Option<Block> {
    let text = sources.get(SourceId(0)).text();
    if text.trim().is_empty() {
        return None;
    }
    let lines = text.lines().enumerate();
    let numbered = lines.map(|(k, line)| format!("{:>4}  {line}\n", k + 1));
    Some(Block::code(
        "Modelica text of the model",
        numbered.collect::<String>(),
    ))
}

/// Equations as formulas, with their text.
fn set_equations(model: &Model, equations: &[&daelight_lang::Equation]) -> Vec<Equation> {
    let mut room = MAX_FORMULAS;
    let mut shown = Vec::new();
    for equation in equations.iter().take(MAX_EQUATIONS) {
        let limit = MAX_FORMULA.min(room);
        let left = mathml(model, equation.left, limit);
        let right = mathml(model, equation.right, limit);
        let math = left
            .zip(right)
            .map(|(left, right)| format!("<mrow>{left}<mo>=</mo>{right}</mrow>"))
            .filter(|math| math.len() <= limit);
        room -= math.as_ref().map_or(0, String::len);
        let (line, _) = model
            .sources
            .get(equation.span.source)
            .line_column(equation.span.start);
        // What stands in the text is shown whole; other equations are named.
        let is_written = matches!(equation.origin, Origin::Written | Origin::Binding);
        let is_copy = !equation.instance.indices.is_empty() || equation.instance.element.is_some();
        shown.push(Equation {
            math: math.as_deref().map(MathMl::new),
            source: if is_written && !is_copy {
                shorten(model.sources.slice(equation.span), MAX_SOURCE)
            } else {
                model.equation_text(equation)
            },
            line: Some(line),
        });
    }
    shown
}

/// An expression as MathML, if it is short enough.
fn mathml(model: &Model, expr: ExprId, limit: usize) -> Option<String> {
    let name = |id: SymbolId| model.dotted_name(model.symbols.get(id));
    model.graph.markup(expr, Markup::MathMl, limit, name).ok()
}

/// The unit of an unknown; that of an introduced velocity is per second.
pub(super) fn unit_of(model: &Model, unknown: usize) -> String {
    let record = &model.unknowns[unknown];
    if let Some(of) = record.velocity_of {
        let unit = unit_of(model, of);
        return match unit.split_once("/s") {
            _ if unit.is_empty() => unit,
            Some((length, "")) => format!("{length}/s²"),
            _ => format!("{unit}/s"),
        };
    }
    unit_text(&model.declarations[record.declaration].unit)
}

fn unknowns(model: &Model) -> Table {
    let header = ["unknown", "unit", "start", "meaning"];
    let mut table = Table::new(count(model.unknowns.len(), "unknown"), &header).numeric(&[2]);
    for (k, unknown) in model.unknowns.iter().enumerate().take(MAX_ROWS) {
        let start = unknown.start.map(|start| model.parameter_value(start));
        let fixed = if unknown.fixed { ", fixed" } else { "" };
        let start = start.map_or(String::new(), |start| {
            format!("{}{fixed}", tidy_number(start))
        });
        let comment = match unknown.velocity_of {
            Some(of) => format!("velocity of {}", model.unknowns[of].name),
            None => model.declarations[unknown.declaration].comment.clone(),
        };
        table.row([
            Span::code(unknown.name.clone()),
            Span::text(unit_of(model, k)),
            Span::text(start),
            Span::text(comment),
        ]);
    }
    cut_off(&mut table, model.unknowns.len());
    table
}

fn parameters(model: &Model) -> Table {
    let header = ["parameter", "value", "unit", "meaning"];
    let shown = model.parameters.iter().filter(|p| !p.is_constant);
    let n = shown.clone().count();
    let mut table = Table::new(count(n, "parameter"), &header).numeric(&[1]);
    for parameter in shown.take(MAX_ROWS) {
        let declared = &model.declarations[parameter.declaration];
        table.row([
            Span::code(parameter.name.clone()),
            Span::text(tidy_number(parameter.value)),
            Span::text(unit_text(&declared.unit)),
            Span::text(declared.comment.clone()),
        ]);
    }
    cut_off(&mut table, n);
    table
}

/// Says in the caption that rows are missing.
pub(super) fn cut_off(table: &mut Table, n: usize) {
    if n > table.rows.len() {
        table.caption = format!("{}, the first {} of them", table.caption, table.rows.len());
    }
}
