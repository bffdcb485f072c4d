//! Singular configurations before any run.

use super::equations::cut_off;
use super::passport::MAX_LISTED;
use super::{Element, Fact, Grid, Inline, Mood, Section, Still, capitalised, remarks, verbatim};
use crate::record::{ConfigurationRecord, SingularRecord};
use crate::terminal;
use crate::words::tidy_number;
use daelight_lang::PARAGRAPH;
use serde_json::Value;

/// Most configurations that are drawn.
pub const MAX_DRAWN: usize = 48;
pub(super) fn section(found: &Result<SingularRecord, Vec<Vec<String>>>) -> Section {
    let mut section = Section::new("configurations", "Singular configurations");
    section.blocks.push(Element::text(
        "Where the constraints lose rank, by exact algebra and before any run.",
    ));
    let report = match found {
        Ok(report) => report,
        Err(messages) => {
            // No mistake of the model: most have no constraints of this kind.
            for said in messages {
                let sentences = said.iter().map(|text| format!("{}.", capitalised(text)));
                section.blocks.push(Element::notice(Mood::Plain, sentences));
            }
            return section;
        }
    };
    section.blocks.push(verdict(report));
    section.blocks.extend(cases(report));
    let always = crate::terminal::always_sentence(report);
    let always = always.map(|sentence| Element::text(format!("In general: {sentence}.")));
    section.blocks.extend(always);
    section.blocks.extend(conditions(report));
    section.blocks.extend(configurations(report));
    let undecided = report.reasons.iter();
    let undecided = undecided.map(|reason| format!("Not decided: {reason}."));
    let said: Vec<String> = report.warnings.iter().cloned().chain(undecided).collect();
    remarks(&said, &mut section);
    section
        .blocks
        .push(verbatim("singular", terminal::singular(report)));
    section
}

pub(super) fn fact(report: &SingularRecord) -> Fact {
    let value = match (report.n_configurations, report.empty) {
        (_, Some(true)) => "none".to_string(),
        (Some(_), _) if report.has_sets() => "sets".to_string(),
        (Some(n), _) => format!("{n} real"),
        (None, _) => "on conditions".to_string(),
    };
    // What was found is no answer while others may be missing.
    let (value, remark) = match report.verdict {
        "unknown" => ("unknown".to_string(), format!("{value} found")),
        verdict => (value, verdict.to_string()),
    };
    Fact {
        name: "Singular configurations".to_string(),
        value,
        remark,
        tone: match report.verdict {
            "unknown" => Mood::Warning,
            _ => Mood::Plain,
        },
    }
}

/// The answer in a sentence.
pub(super) fn sentence(report: &SingularRecord) -> Vec<Inline> {
    let found = found(report);
    Inline::sentence(&format!("{found}; verdict: {}.", report.verdict))
}

fn found(report: &SingularRecord) -> String {
    match report.n_configurations {
        _ if report.has_solutions == Some(false) => capitalised(&report.found()),
        _ if report.empty == Some(true) => format!("There is {}", report.found()),
        Some(_) => capitalised(&report.found()),
        None => "Singular configurations depend on conditions".to_string(),
    }
}

fn verdict(report: &SingularRecord) -> Element {
    let found = found(report);
    let mut sentences = vec![format!("{found}; verdict: {}.", report.verdict)];
    let mut certificate = report.certificate.clone();
    certificate.push('.');
    sentences.push(format!("It rests on {certificate}"));
    if report.time_budget_reached {
        sentences.push("The time budget was reached; allow more with --time-budget.".to_string());
    }
    let tone = match (report.verdict, report.time_budget_reached) {
        ("unknown", _) | (_, true) => Mood::Warning,
        _ => Mood::Plain,
    };
    Element::notice(tone, sentences)
}

fn short(text: &str) -> String {
    let n = text.chars().count();
    if n <= PARAGRAPH {
        return text.to_string();
    }
    let cut: String = text.chars().take(PARAGRAPH).collect();
    format!("{cut}… ({n} characters)")
}

fn cases(report: &SingularRecord) -> Option<Element> {
    let kept = || {
        (1_usize..)
            .zip(&report.cases)
            .filter(|(_, case)| case.contained_in.is_none())
    };
    let title = capitalised(report.title_of_cases());
    if kept().next().is_none() {
        return Some(Element::text(format!("{title}.")));
    }
    let header = ["case", "in words", "conditions"];
    let mut table = Grid::new(&title, &header);
    for (number, case) in kept().take(MAX_LISTED) {
        let conditions: Vec<String> = case.conditions.iter().map(|text| short(text)).collect();
        table.row([
            Inline::text(number.to_string()),
            Inline::text(short(&case.text)),
            Inline::code(conditions.join(", ")),
        ]);
    }
    cut_off(&mut table, kept().count());
    Some(Element::Grid(table))
}

/// Conditions on time and parameters that are kept as symbols.
fn conditions(report: &SingularRecord) -> Option<Element> {
    if report.locus.is_empty() {
        return None;
    }
    let header = [
        "condition",
        "for the parts",
        "possible with positive lengths",
    ];
    let caption = "They can occur only where one of these holds";
    let mut table = Grid::new(caption, &header);
    for factor in report.locus.iter().take(MAX_LISTED) {
        table.row([
            Inline::code(short(&factor.condition)),
            Inline::code(factor.subsystem.join(", ")),
            Inline::text(if factor.physical { "yes" } else { "no" }),
        ]);
    }
    cut_off(&mut table, report.locus.len());
    Some(Element::Grid(table))
}

/// Angles and positions of a configuration by name.
fn values<'a>(
    report: &'a SingularRecord,
    configuration: &'a ConfigurationRecord,
) -> impl Iterator<Item = (&'a String, f64)> {
    let positions = configuration
        .values
        .iter()
        .filter(|(name, _)| report.unknowns.contains(name));
    let all = configuration.angles.iter().chain(positions);
    all.filter_map(|(name, value): (&String, &Value)| Some((name, value.as_f64()?)))
}

fn configurations(report: &SingularRecord) -> Vec<Element> {
    let found = &report.configurations;
    let Some(first) = found.first() else {
        return Vec::new();
    };
    let mut blocks = Vec::new();
    blocks.extend(drawn(report));
    let names: Vec<&str> = values(report, first)
        .map(|(name, _)| name.as_str())
        .collect();
    let header: Vec<&str> = ["number", "cases"]
        .into_iter()
        .chain(names.iter().copied())
        .collect();
    let numeric: Vec<usize> = (2..header.len()).collect();
    let mut table = Grid::new("The real singular configurations", &header).numeric(&numeric);
    let header = [
        "number",
        "certified",
        "multiplicity",
        "rank lacking",
        "residual",
    ];
    let mut worth = Grid::new("What each rests on", &header).numeric(&[2, 3, 4]);
    for (number, configuration) in (1..=MAX_LISTED).zip(found) {
        let cases: Vec<String> = configuration.cases.iter().map(usize::to_string).collect();
        let mut row = vec![
            Inline::text(number.to_string()),
            Inline::text(cases.join(", ")),
        ];
        row.extend(names.iter().map(|name| {
            let value = values(report, configuration).find(|(other, _)| other == name);
            Inline::text(value.map_or("–".to_string(), |(_, value)| tidy_number(value)))
        }));
        table.row(row);
        let corank = configuration
            .corank
            .map_or("?".to_string(), |n| n.to_string());
        worth.row([
            Inline::text(number.to_string()),
            Inline::text(if configuration.certified { "yes" } else { "no" }),
            Inline::text(configuration.multiplicity.to_string()),
            Inline::text(corank),
            Inline::text(format!("{:.1e}", configuration.residual)),
        ]);
    }
    cut_off(&mut table, found.len());
    blocks.push(Element::Grid(table));
    blocks.push(Element::details(
        "The numbers behind the configurations",
        vec![Element::Grid(worth)],
    ));
    blocks
}

/// The first configurations, for the summary.
pub(super) fn few(report: &SingularRecord) -> Option<Element> {
    side_by_side(report, 6)
}

/// The configurations side by side, at one scale.
fn drawn(report: &SingularRecord) -> Option<Element> {
    side_by_side(report, MAX_DRAWN)
}

fn side_by_side(report: &SingularRecord, most: usize) -> Option<Element> {
    let n = report.configurations.len().min(most);
    let scene = report.scene.as_ref()?.part(0..n)?;
    let picture = |at: usize| {
        let cases = report.configurations[at].cases.iter();
        let cases: Vec<String> = cases.map(usize::to_string).collect();
        let caption = format!("Configuration {}, case {}", at + 1, cases.join(", "));
        Still::new(&scene, at, caption)
    };
    Some(Element::Gallery((0..n).map(picture).collect()))
}
