//! What happened at events, and the modes that a run went through.

use super::equations::cut_off;
use super::passport::MAX_LISTED;
use super::{Element, Grid, Inline, Section};
use crate::record::{Change, EventList, ModeList, SolveRecord};
use crate::words::{count, short, tidy_number};

pub(super) fn section(report: &SolveRecord) -> Option<Section> {
    let events = report.events.as_ref()?;
    let mut section = Section::new("events", "Events and modes");
    section.blocks.push(match events.len() {
        0 => Element::text("Nothing happened along the run."),
        n => Element::text(format!("{}, in their order.", count(n, "event"))),
    });
    if !events.is_empty() {
        section.blocks.push(Element::Grid(table(events)));
    }
    if let Some(modes) = report.modes.as_ref().filter(|modes| !modes.is_empty()) {
        section.blocks.push(Element::Grid(modes_table(modes)));
    }
    Some(section)
}

fn table(events: &EventList) -> Grid {
    let header = ["time", "condition", "line", "what changed"];
    let mut table = Grid::new("Events", &header).numeric(&[0, 2]);
    for event in events.iter().take(MAX_LISTED) {
        let line = event.line.map_or("–".to_string(), |line| line.to_string());
        let mut changes = changed(&event.changed);
        let impulses = event.impulses.iter();
        changes.extend(impulses.map(|(name, size)| format!("impulse of {name}: {}", short(*size))));
        changes.extend(
            event
                .energy_lost
                .map(|lost| format!("energy lost {}", short(lost))),
        );
        table.row([
            Inline::text(event.time.to_string()),
            Inline::code(&*event.condition),
            Inline::text(line),
            Inline::text(changes.join("; ")),
        ]);
    }
    cut_off(&mut table, events.len());
    table
}

/// What changed, each with its values before and behind.
fn changed(all: &[Change]) -> Vec<String> {
    let side = |value: f64| match value.is_finite() {
        true => short(value),
        false => "–".to_string(),
    };
    let sentences = all.iter();
    sentences
        .map(|c| format!("{}: {} → {}", c.name, side(c.from), side(c.to)))
        .collect()
}

fn modes_table(modes: &ModeList) -> Grid {
    let header = ["from", "to", "mode", "where", "index", "degrees of freedom"];
    let mut table = Grid::new("Modes", &header).numeric(&[0, 1, 2, 4, 5]);
    let number = |n: Option<u64>| n.map_or("unknown".to_string(), |n| n.to_string());
    for mode in modes.iter().take(MAX_LISTED) {
        let conditions = match mode.conditions.is_empty() {
            true => Inline::text("the same equations throughout"),
            false => Inline::code(mode.conditions.join(" and ")),
        };
        table.row([
            Inline::text(tidy_number(mode.from)),
            Inline::text(tidy_number(mode.to)),
            Inline::text(mode.mode.to_string()),
            conditions,
            Inline::text(number(mode.index.map(|index| index as u64))),
            Inline::text(number(mode.dof)),
        ]);
    }
    cut_off(&mut table, modes.len());
    table
}
