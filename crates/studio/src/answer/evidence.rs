//! What kind of model it is, and where it is singular, each with its evidence.

use super::{Answered, read, said, scene_value, wrong};
use crate::folder::Folder;
use crate::question::PageQuestion;
use daelight::hybrid::equations_at_start;
use daelight::{Place, Relations, record};
use daelight_analysis::System;
use daelight_lang::Diagnostic;
use daelight_show::record::SingularRecord;
use daelight_show::terminal::{self, passport_summary};
use daelight_singular::{Question, SearchLimits};
use serde_json::{Value, json};
use std::time::Duration;

/// How long each may take: as long as a page waits for it.
const BUDGET: Duration = Duration::from_secs(20);

/// The passport at the start.
pub fn passport(question: &PageQuestion, folder: &Folder) -> Answered {
    let loaded = read(question, folder, Relations::Modes);
    let model = loaded.model.as_ref().ok_or_else(|| wrong(&loaded))?;
    let told = |d: Box<Diagnostic>| said(&d, &loaded.sources);
    let system = daelight::system(model).map_err(told)?;
    let (system, mode) = equations_at_start(model, system, None).map_err(told)?;
    let conditions = mode.map(|mode| record::start_conditions(&mode));
    let place = Place {
        budget: Some(BUDGET),
        ..Place::default()
    };
    let passport = daelight::analyze(&system, &place).map_err(told)?;
    let report = record::analyze(&system, &passport, false);
    let loci = report.singular_loci.iter();
    let loci: Vec<String> = loci.map(|locus| format!("{} = 0", locus.factor)).collect();
    let hidden = report.hidden_constraints.iter().map(|hidden| {
        json!({
            "text": hidden.text,
            "line": line_of(&system, &hidden.from_equation),
            "times": hidden.times_differentiated,
        })
    });
    let blocks = report.structural.iter().flat_map(|s| &s.blocks);
    let blocks = blocks.map(|block| {
        let lines = block.equations.iter().map(|text| line_of(&system, text));
        json!({ "lines": lines.collect::<Vec<_>>(), "unknowns": block.unknowns })
    });
    Ok(json!({
        "summary": passport_summary(&report).trim(),
        "verdict": report.verdict,
        "index": report.differentiation.index,
        "dof": report.differentiation.dof,
        "free": report.free,
        "point": report.point,
        "loci": loci,
        "hidden": hidden.collect::<Vec<_>>(),
        "blocks": blocks.collect::<Vec<_>>(),
        "mode": conditions,
        "text": terminal::analyze(&report, false),
    }))
}

/// The line of an equation of the model, by its text.
fn line_of(system: &System, text: &str) -> Option<usize> {
    let n = system.equations().n_equations();
    let at = (0..n).find(|&at| system.equation_text(at) == text)?;
    Some(system.equation_line(at))
}

/// The singular configurations of the constraints, as a record.
pub fn configurations(question: &PageQuestion, folder: &Folder) -> Result<SingularRecord, Value> {
    let loaded = read(question, folder, Relations::Kinks);
    let model = loaded.model.as_ref().ok_or_else(|| wrong(&loaded))?;
    let limits = SearchLimits {
        time: BUDGET,
        memory: 1 << 30,
        ..SearchLimits::default()
    };
    let answer = daelight::singular(model, &Question::default(), &limits, &|_| {});
    let answer = answer.map_err(|diagnostics| match diagnostics.first() {
        Some(first) => said(first, &loaded.sources),
        None => json!({ "refused": "There is no answer." }),
    })?;
    Ok(record::singular(model, &answer))
}

/// The singular configurations of the constraints.
pub fn singular(question: &PageQuestion, folder: &Folder) -> Answered {
    let report = configurations(question, folder)?;
    let samples = report.sets.iter().flat_map(|set| &set.samples);
    let configurations = report.configurations.iter().chain(samples).map(|found| {
        json!({
            "values": found.values,
            "angles": found.angles,
            "certified": found.certified,
            "cases": found.cases.iter().filter_map(|case| report.cases.get(case - 1)).map(|c| &c.text).collect::<Vec<_>>(),
        })
    });
    Ok(json!({
        "found": report.found(),
        "verdict": report.verdict,
        "cases_title": report.title_of_cases(),
        "cases": report.cases.iter().map(|case| &case.text).collect::<Vec<_>>(),
        "n_configurations": report.n_configurations,
        "configurations": configurations.collect::<Vec<Value>>(),
        "scene": report.scene.as_ref().map(scene_value),
        "text": terminal::singular(&report),
    }))
}
