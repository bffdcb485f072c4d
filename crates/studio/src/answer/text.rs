//! What a text says, and what is wrong with it: the diagnostics of `check`, the names, and what sliders move.

use super::read;
use crate::folder::Folder;
use crate::question::PageQuestion;
use daelight::Relations;
use daelight_lang::{
    Code, DeclaredKind, Diagnostic, Model, Severity, SourceId, SourceMap, Symbol, Type, UnitCheck,
};
use daelight_show::terminal::frame;
use daelight_show::unit_text;
use serde_json::{Value, json};

/// The text with its diagnostics, and the model if it is one.
pub fn text(question: &PageQuestion, folder: &Folder) -> Value {
    let mut loaded = read(question, folder, Relations::Modes);
    let balance = daelight::check(&mut loaded);
    daelight::check_units(&mut loaded, UnitCheck::default());
    let is_wrong = |d: &Diagnostic| {
        d.code == Code::Overdetermined
            || (d.code == Code::UnitMismatch && d.severity == Severity::Error)
    };
    let diagnostics = loaded.diagnostics.iter();
    let records = diagnostics.map(|d| diagnostic(d, &loaded.sources));
    json!({
        "ok": balance.is_some() && !loaded.diagnostics.iter().any(is_wrong),
        "diagnostics": records.collect::<Vec<_>>(),
        "model": loaded.model.as_ref().map(model),
    })
}

/// A diagnostic with its place in the text, in the units of the editor (UTF-16).
fn diagnostic(diagnostic: &Diagnostic, sources: &SourceMap) -> Value {
    let own = diagnostic.span.filter(|span| span.source == SourceId(0));
    let place = own.map(|span| {
        let text = sources.get(span.source).text();
        let units = |byte: u32| {
            let before = text.get(..byte as usize).unwrap_or(text);
            before.encode_utf16().count()
        };
        [units(span.start), units(span.end)]
    });
    json!({
        "severity": diagnostic.severity.word(),
        "code": diagnostic.code.word(),
        "message": diagnostic.message,
        "label": diagnostic.label,
        "help": diagnostic.help,
        "place": place,
        "frame": frame(diagnostic, sources, false),
    })
}

/// What the model consists of.
fn model(model: &Model) -> Value {
    let value = |expr| {
        let known = |id| match model.symbols.get(id) {
            Symbol::Parameter(at) => model.parameters[at].value,
            _ => f64::NAN,
        };
        let found = model.graph.evaluate(&[expr], known)[0];
        found.is_finite().then_some(found)
    };
    let parameters = model.parameters.iter().filter(|p| !p.is_constant).map(|p| {
        let declared = &model.declarations[p.declaration];
        json!({
            "name": p.name,
            "value": p.value,
            "unit": unit_text(&declared.unit),
            "comment": declared.comment,
            "min": p.min.and_then(value),
            "max": p.max.and_then(value),
            "slides": p.ty == Type::Real && !p.is_structural && !declared.is_final,
        })
    });
    let starts = model.unknowns.iter().filter(|u| !u.start_is_default);
    let starts = starts.filter_map(|u| {
        let declared = &model.declarations[u.declaration];
        Some(json!({
            "name": u.name,
            "value": u.start.and_then(value)?,
            "unit": unit_text(&declared.unit),
            "comment": declared.comment,
            "fixed": u.fixed,
            "min": u.min.and_then(value),
            "max": u.max.and_then(value),
        }))
    });
    let names = model.declarations.iter().map(|d| {
        json!({
            "name": d.name,
            "kind": match d.kind {
                DeclaredKind::Parameter => "parameter",
                DeclaredKind::Constant => "constant",
                DeclaredKind::Input => "input",
                DeclaredKind::Unknown => "unknown",
            },
            "type": d.ty.word(),
            "dims": d.dims,
            "unit": unit_text(&d.unit),
            "comment": d.comment,
        })
    });
    json!({
        "name": model.name,
        "comment": model.comment,
        "n_equations": model.equations.len(),
        "n_unknowns": model.unknowns.len(),
        "from": model.experiment.start_time,
        "to": model.experiment.stop_time,
        "draws": !model.drawing.iter().all(Vec::is_empty),
        "events": model.hybrid.is_some(),
        "unknowns": model.unknowns.iter().map(|u| &u.name).collect::<Vec<_>>(),
        "parameters": parameters.collect::<Vec<_>>(),
        "starts": starts.collect::<Vec<_>>(),
        "names": names.collect::<Vec<_>>(),
    })
}
