//! What the model says: unknowns, parameters, equations as formulas beside their text.

use super::{Element, Formula, Grid, Inline, MathMl, Section};
use crate::record::{EquationRecord, ModelRecord};
use crate::words::count;

/// The section of a model's text, all of it folded.
pub(super) fn section(model: &ModelRecord, text: &str) -> Section {
    let mut section = Section::new("equations", "Equations");
    let mut blocks = vec![formulas(&model.equations)];
    if model.n_velocities > 0 {
        let text = format!(
            "{} that bring second derivatives to first order, such as der(x) = velocity of x, {} left out here.",
            count(model.n_velocities, "equation"),
            if model.n_velocities == 1 { "is" } else { "are" }
        );
        blocks.push(Element::text(text));
    }
    let n_left_out = model.n_equations - model.n_velocities - model.equations.len();
    if n_left_out > 0 {
        let more = count(n_left_out, "equation");
        let text = format!("{more} not shown; `daelight derive` writes them all.");
        blocks.push(Element::text(text));
    }
    if !model.initial.is_empty() {
        let title = "At the start only".to_string();
        blocks.push(Element::Heading(title));
        blocks.push(formulas(&model.initial));
    }
    let equations = count(model.n_equations, "equation");
    section.blocks.push(Element::details(equations, blocks));
    let header = ["unknown", "unit", "start", "meaning"];
    let unknowns = count(model.n_unknowns, "unknown");
    let table = Grid::new(unknowns.clone(), &header).numeric(&[2]);
    let table = declarations(table, &model.unknowns, model.n_unknowns);
    section.blocks.push(Element::details(unknowns, vec![table]));
    if !model.parameters.is_empty() {
        let header = ["parameter", "value", "unit", "meaning"];
        let parameters = count(model.n_parameters, "parameter");
        let table = Grid::new(parameters.clone(), &header).numeric(&[1]);
        let table = declarations(table, &model.parameters, model.n_parameters);
        section
            .blocks
            .push(Element::details(parameters, vec![table]));
    }
    if let Some(code) = numbered(text) {
        let details = Element::details("The text of the model", vec![code]);
        section.blocks.push(details);
    }
    section
}

/// The text alone, where there is no model.
pub(super) fn source(text: &str) -> Option<Section> {
    Some(Section::new("equations", "Text").block(numbered(text)?))
}

/// The text with numbers of lines.
fn numbered(text: &str) -> Option<Element> {
    if text.trim().is_empty() {
        return None;
    }
    let lines = text.lines().enumerate();
    let numbered = lines.map(|(k, line)| format!("{:>4}  {line}\n", k + 1));
    Some(Element::code(
        "Modelica text of the model",
        numbered.collect::<String>(),
    ))
}

/// Equations as formulas, with their text.
pub(super) fn formulas(equations: &[EquationRecord]) -> Element {
    let formula = |found: &EquationRecord| Formula {
        math: found.mathml.as_deref().map(MathMl::new),
        source: found.source.clone(),
        line: Some(found.line),
    };
    Element::Equations(equations.iter().map(formula).collect())
}

fn declarations(mut table: Grid, rows: &[[String; 4]], n: usize) -> Element {
    for [name, rest @ ..] in rows {
        let rest = rest.iter().map(Inline::text);
        table.row([Inline::code(name)].into_iter().chain(rest));
    }
    cut_off(&mut table, n);
    Element::Grid(table)
}

/// Says in the caption that rows are missing.
pub(super) fn cut_off(table: &mut Grid, n: usize) {
    if n > table.rows.len() {
        table.caption = format!("{}, the first {} of them", table.caption, table.rows.len());
    }
}
