//! The consistent start, or why there is none.

use super::sketch::{picture, stage};
use super::{PageOptions, refusal, remarks, verbatim};
use crate::{
    Drawing, InitOptions, conflict_diagnostic, contradiction, init, missing_diagnostic,
    rectangular, singular_diagnostic, start_request,
};
use daelight_analysis::System;
use daelight_analysis::start::{Outcome, Start, StartRequest};
use daelight_lang::{Diagnostic, Model};
use daelight_show::page::{Block, Section, Span, Table};
use daelight_show::terminal::{self, freedom_sentences};
use daelight_show::{count, short, tidy_number};
use serde_json::Value;

/// Most rows of the table of values.
const MAX_ROWS: usize = 80;

/// The section, and the mechanism at the start.
pub(super) struct Started {
    pub(super) section: Section,
    pub(super) picture: Option<Block>,
}

pub(super) fn section(model: &Model, system: &System, options: &PageOptions) -> Started {
    let mut section = Section::new("start", "Start");
    let wanted = InitOptions {
        at: options.solve.from,
        point: options.solve.place.point.clone(),
        order: 1,
        all: false,
        nearest_regular: false,
        budget: options.budget,
    };
    let request = match start_request(system, &wanted) {
        Ok(request) => request,
        Err(diagnostic) => return without(section, *diagnostic, system),
    };
    let time = request.time;
    match init(system, &request) {
        Outcome::Found(start) => {
            describe(system, &start, &request, &mut section);
            Started {
                section,
                picture: drawn(model, &start),
            }
        }
        Outcome::Conflict(conflict) => {
            let diagnostic = conflict_diagnostic(system, &conflict);
            without(section, diagnostic, system)
        }
        Outcome::Singular(singular) => {
            let diagnostic = singular_diagnostic(system, &singular);
            without(section, diagnostic, system)
        }
        Outcome::Missing {
            no_point,
            budget_reached,
        } => {
            let budget = budget_reached.then_some(request.budget);
            let reduction = rectangular(system, time).ok().flatten();
            let contradicted =
                reduction.and_then(|found| contradiction(system, &found, (time, time)));
            let missing = || missing_diagnostic(system, time, &no_point, budget);
            without(section, contradicted.unwrap_or_else(missing), system)
        }
    }
}

fn without(section: Section, diagnostic: Diagnostic, system: &System) -> Started {
    Started {
        section: section.block(refusal(&diagnostic, system.sources())),
        picture: None,
    }
}

fn describe(system: &System, start: &Start, request: &StartRequest, section: &mut Section) {
    let report = crate::record::start(system, start, &request.guess);
    let mut sentences = freedom_sentences(&report);
    if !report.adjusted.is_empty() {
        sentences.push(format!(
            "{} adjusted, to the closest consistent point: distance {} in the differentiated components.",
            count(report.adjusted.len(), "start value"),
            short(report.distance)
        ));
    }
    if !report.others.is_empty() {
        let other = "Other solutions exist for these start values; `daelight init --all` lists those that are found.";
        sentences.push(other.to_string());
    }
    section.blocks.push(Block::text(sentences.join(" ")));
    let number = |value: &Value| value.as_f64().map_or("–".to_string(), tidy_number);
    let header = ["unknown", "value", "derivative", "start value"];
    let caption = format!("Consistent values at t = {}", report.time);
    let mut table = Table::new(caption, &header).numeric(&[1, 2, 3]);
    for (name, value) in report.values.iter().take(MAX_ROWS) {
        let given = match report.adjusted.get(name) {
            Some(record) => format!("{}, adjusted", number(&record["from"])),
            None => "kept".to_string(),
        };
        table.row([
            Span::code(name),
            Span::text(number(value)),
            Span::text(report.derivatives.get(name).map_or("–".to_string(), number)),
            Span::text(given),
        ]);
    }
    super::equations::cut_off(&mut table, report.values.len());
    section.blocks.push(Block::Table(table));
    remarks(&report.notes, section);
    let mut levels = Table::new(
        "Largest residual of the equations and of their derivatives, relative to their terms",
        &["derivative", "residual"],
    )
    .numeric(&[0, 1]);
    for level in &report.levels {
        levels.row([
            Span::text(level.order.to_string()),
            Span::text(format!("{:.1e}", level.residual)),
        ]);
    }
    section.blocks.push(Block::details(
        "The numbers behind the start",
        vec![Block::Table(levels)],
    ));
    section
        .blocks
        .push(verbatim("init", terminal::init(&report, false)));
}

/// The mechanism at the start.
fn drawn(model: &Model, start: &Start) -> Option<Block> {
    let drawing = Drawing::of(model)?;
    let point = &start.point;
    let frame = drawing.frame(point.time, |unknown, order| {
        point.jet.derivative(unknown, order as usize)
    });
    let stage = stage(&drawing, [&frame])?;
    let caption = format!(
        "{} at the consistent start, t = {}.",
        model.name, point.time
    );
    let picture = picture(&stage, &frame, vec![Span::text(caption.clone())], caption);
    Some(Block::Picture(picture))
}
