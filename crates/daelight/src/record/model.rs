//! The record of what a model's text says.

use daelight_expr::{ExprId, Markup, SymbolId};
use daelight_lang::{Equation, Model, Origin, PAGE, shorten};
use daelight_show::record::{EquationRecord, ModelRecord};
use daelight_show::{tidy_number, unit_text};

/// Most rows of a table of declarations.
const MAX_ROWS: usize = 60;
/// Most equations that are shown.
const MAX_EQUATIONS: usize = 80;
/// Longest of all formulas together, in bytes of MathML.
const MAX_FORMULAS: usize = 500_000;
/// Longest text of an equation.
const MAX_SOURCE: usize = 600;

/// What a model's text says, as far as a page shows it.
pub(super) fn model(model: &Model, unit: impl Fn(usize) -> String) -> ModelRecord {
    let is_velocity = |equation: &&Equation| matches!(equation.origin, Origin::Velocity { .. });
    let equations = model.equations.iter();
    let (velocities, equations): (Vec<&Equation>, Vec<&Equation>) =
        equations.partition(is_velocity);
    let shown = model.parameters.iter().filter(|p| !p.is_constant);
    ModelRecord {
        name: model.name.clone(),
        comment: model.comment.clone(),
        n_equations: model.equations.len(),
        n_velocities: velocities.len(),
        equations: equation_records(model, &equations),
        initial: equation_records(model, &model.initial_equations.iter().collect::<Vec<_>>()),
        n_unknowns: model.unknowns.len(),
        unknowns: (0..model.unknowns.len().min(MAX_ROWS))
            .map(|unknown| unknown_row(model, unknown, unit(unknown)))
            .collect(),
        n_parameters: shown.clone().count(),
        parameters: shown
            .take(MAX_ROWS)
            .map(|parameter| {
                let declared = &model.declarations[parameter.declaration];
                [
                    parameter.name.clone(),
                    tidy_number(parameter.value),
                    unit_text(&declared.unit),
                    declared.comment.clone(),
                ]
            })
            .collect(),
    }
}

/// Name, unit, start value and meaning of an unknown.
fn unknown_row(model: &Model, at: usize, unit: String) -> [String; 4] {
    let unknown = &model.unknowns[at];
    let start = unknown.start.map(|start| model.parameter_value(start));
    let fixed = if unknown.fixed { ", fixed" } else { "" };
    let start = start.map_or(String::new(), |start| {
        format!("{}{fixed}", tidy_number(start))
    });
    let meaning = match unknown.velocity_of {
        Some(of) => format!("velocity of {}", model.unknowns[of].name),
        None => model.declarations[unknown.declaration].comment.clone(),
    };
    [unknown.name.clone(), unit, start, meaning]
}

/// Equations as formulas, with their text.
fn equation_records(model: &Model, equations: &[&Equation]) -> Vec<EquationRecord> {
    let mut room = MAX_FORMULAS;
    let mut shown = Vec::new();
    for equation in equations.iter().take(MAX_EQUATIONS) {
        let limit = PAGE.min(room);
        let math = equation_mathml(model, equation, limit);
        room -= math.as_ref().map_or(0, String::len);
        let (line, _) = model
            .sources
            .get(equation.span.source)
            .line_column(equation.span.start);
        // What stands in the text is shown whole; other equations are named.
        let is_written = matches!(equation.origin, Origin::Written | Origin::Binding);
        let is_copy = !equation.instance.indices.is_empty() || equation.instance.element.is_some();
        shown.push(EquationRecord {
            mathml: math,
            source: if is_written && !is_copy {
                shorten(model.sources.slice(equation.span), MAX_SOURCE)
            } else {
                model.equation_text(equation)
            },
            line,
        });
    }
    shown
}

/// An equation as MathML without the `math` element, if it is short enough.
pub fn equation_mathml(model: &Model, equation: &Equation, limit: usize) -> Option<String> {
    let name = |id: SymbolId| model.dotted_name(model.symbols.get(id));
    let side = |side: ExprId| model.graph.markup(side, Markup::MathMl, limit, name).ok();
    let (left, right) = (side(equation.left)?, side(equation.right)?);
    let math = format!("<mrow>{left}<mo>=</mo>{right}</mrow>");
    (math.len() <= limit).then_some(math)
}
