//! The consistent start, or why there is none.

use super::{Element, Grid, Inline, Section, Still, framed, remarks, verbatim};
use crate::record::{FramedRecord, StartRecord};
use crate::terminal::{self, adjusted_sentence, freedom_sentences};
use crate::words::tidy_number;
use serde_json::Value;

/// Rows beyond which the table of values is folded.
const MAX_OPEN: usize = 16;
/// Most rows of the table of values.
pub(super) const MAX_ROWS: usize = 80;

pub(super) fn section(start: &Result<StartRecord, FramedRecord>) -> Section {
    let mut section = Section::new("start", "Start");
    match start {
        Ok(record) => describe(record, &mut section),
        Err(message) => section.blocks.push(framed(message)),
    }
    section
}

fn describe(report: &StartRecord, section: &mut Section) {
    let mut sentences = freedom_sentences(report);
    sentences.extend(adjusted_sentence(report));
    if !report.others.is_empty() {
        let other = "Other solutions exist for these start values; `daelight init --all` lists those that are found.";
        sentences.push(other.to_string());
    }
    section.blocks.push(Element::text(sentences.join(" ")));
    let number = |value: &Value| value.as_f64().map_or("–".to_string(), tidy_number);
    let header = ["unknown", "value", "derivative", "start value"];
    let caption = format!("Consistent values at t = {}", report.time);
    let mut table = Grid::new(caption, &header).numeric(&[1, 2, 3]);
    for (name, value) in report.values.iter().take(MAX_ROWS) {
        let given = match report.adjusted.get(name) {
            Some(record) => format!("{}, adjusted", number(&record["from"])),
            None if report.computed.contains(name) => "computed".to_string(),
            None => "kept".to_string(),
        };
        table.row([
            Inline::code(name),
            Inline::text(number(value)),
            Inline::text(report.derivatives.get(name).map_or("–".to_string(), number)),
            Inline::text(given),
        ]);
    }
    super::equations::cut_off(&mut table, report.values.len());
    section.blocks.push(match table.rows.len() > MAX_OPEN {
        true => Element::details(table.caption.clone(), vec![Element::Grid(table)]),
        false => Element::Grid(table),
    });
    remarks(&report.notes, section);
    let mut levels = Grid::new(
        "Largest residual of the equations and of their derivatives, relative to their terms",
        &["derivative", "residual"],
    )
    .numeric(&[0, 1]);
    for level in &report.levels {
        levels.row([
            Inline::text(level.order.to_string()),
            Inline::text(format!("{:.1e}", level.residual)),
        ]);
    }
    section.blocks.push(Element::details(
        "The numbers behind the start",
        vec![Element::Grid(levels)],
    ));
    section
        .blocks
        .push(verbatim("init", terminal::init(report, false)));
}

/// The mechanism at the start.
pub(super) fn drawn(report: &StartRecord) -> Option<Element> {
    let caption = format!(
        "{} at the consistent start, t = {}.",
        report.model, report.time
    );
    let picture = Still::new(report.scene.as_ref()?, 0, caption);
    Some(Element::Still(picture))
}
