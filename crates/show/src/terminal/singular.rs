//! Singular configurations for a terminal.

use super::start::MAX_LISTED;
use crate::record::{
    ConfigurationRecord, CountConditionRecord, PieceRegionsRecord, QuantityRecord, RegionRecord,
    SingularCaseRecord, SingularRecord, inequalities,
};
use crate::words::{count, tidy_number};
use daelight_lang::LINE;
use serde_json::{Map, Value};

/// Longest polynomial inside an inequality on a page.
const MAX_QUANTITY: usize = 60;

/// The page of an answer.
pub fn singular(report: &SingularRecord) -> String {
    let mut lines = vec![format!(
        "{}: singular configurations of its constraints",
        report.model
    )];
    page_of_cases(report, &mut lines);
    page_of_locus(report, &mut lines);
    page_of_regions(report, &mut lines);
    for (number, configuration) in (1..).zip(report.configurations.iter().take(MAX_LISTED)) {
        let title = format!("configuration {number}");
        lines.push(line_of_configuration(report, &title, configuration));
    }
    page_of_sets(report, &mut lines);
    let found = report.found();
    lines.push(format!("{found}; verdict: {}", report.verdict));
    lines.push(wrapped(&report.certificate));
    for reason in report.reasons.iter().take(MAX_LISTED) {
        lines.push(wrapped(&format!("not decided: {reason}")));
    }
    for warning in &report.warnings {
        lines.push(wrapped(&format!("note: {warning}")));
    }
    if report.time_budget_reached {
        lines.push("  the time budget was reached".to_string());
    }
    lines.join("\n") + "\n"
}

/// The constraints, and the ways in which their Jacobian loses rank.
fn page_of_cases(report: &SingularRecord, lines: &mut Vec<String>) {
    let list = |names: &[String]| names.join(", ");
    lines.push(format!(
        "  {} in {}",
        count(report.constraints.len(), "constraint"),
        list(&report.unknowns)
    ));
    for constraint in report.constraints.iter().take(MAX_LISTED) {
        lines.push(format!("    {constraint}"));
    }
    if !report.locked.is_empty() {
        lines.push(format!("  locked: {}", list(&report.locked)));
    }
    if !report.parameters.is_empty() {
        lines.push(format!("  kept as symbols: {}", list(&report.parameters)));
    }
    if !report.positive.is_empty() {
        lines.push(format!(
            "  taken as positive, as lengths: {}",
            list(&report.positive)
        ));
    }
    if !report.directions.is_empty() {
        lines.push(format!(
            "  directions of the bodies: {}",
            list(&report.directions)
        ));
    }
    let kept: Vec<(usize, &SingularCaseRecord)> = (1..)
        .zip(&report.cases)
        .filter(|(_, case)| case.contained_in.is_none())
        .collect();
    let end = if kept.is_empty() { "" } else { ":" };
    lines.push(format!("{}{end}", report.title_of_cases()));
    for (number, case) in kept.iter().take(MAX_LISTED) {
        lines.push(wrapped(&format!("{number}. {}", case.text)));
        for condition in &case.conditions {
            lines.push(format!("       {}", short(condition)));
        }
    }
}

fn page_of_sets(report: &SingularRecord, lines: &mut Vec<String>) {
    for set in report.sets.iter().take(MAX_LISTED) {
        lines.push(wrapped(&format!(
            "case {} holds on a set of dimension {}{}",
            set.case,
            set.dimension,
            match (set.empty, set.real_dimension) {
                (true, _) => ", without real configurations",
                (_, Some(_)) => ", over the real numbers too, such as at",
                _ if set.samples.is_empty() => " over the complex numbers",
                _ => " over the complex numbers, with real configurations such as",
            }
        )));
        for sample in &set.samples {
            lines.push(line_of_configuration(report, "  sample", sample));
        }
    }
    if let Some(found) = &report.manifold {
        let values = point_text(report, &found.angles, &found.values);
        lines.push(wrapped(&format!(
            "infinitely many real singular configurations: a manifold of dimension {}, proved next to {values}",
            found.dimension
        )));
    }
}

/// Where in the parameters how many real configurations are.
fn page_of_regions(report: &SingularRecord, lines: &mut Vec<String>) {
    for piece in &report.regions {
        page_of_piece(piece, lines);
    }
    if !report.counts.is_empty() {
        lines.push("in all, for general values:".to_string());
        let counts = report.counts.iter();
        lines.extend(counts.map(|region| format!("    {}", in_cells(region))));
        if report.regions.len() > 1 {
            let most = report.counts.iter().map(|region| region.count).max();
            page_of_conditions(&report.conditions, &report.quantities, most, lines);
        }
    }
    for (dimension, title, noun) in [
        (1, "on the curves:", "arc"),
        (
            0,
            "at single points, most of them where curves meet:",
            "point",
        ),
    ] {
        let mut on_curves = report.curve_counts.iter();
        if on_curves.any(|record| record.dimension == dimension) {
            lines.push(title.to_string());
        }
        let records = report.curve_counts.iter().rev();
        for record in records.filter(|record| record.dimension == dimension) {
            let cells = count(record.cells, noun);
            let text = at_sample(configurations(record.count), &record.sample, cells);
            lines.push(format!("    {text}"));
        }
    }
}

/// The numbers of one piece of the singular configurations: by conditions, or by the signs of polynomials.
fn page_of_piece(piece: &PieceRegionsRecord, lines: &mut Vec<String>) {
    let senses = match piece.senses.is_empty() {
        true => String::new(),
        false => format!(" with {}", piece.senses.join(", ")),
    };
    let title = format!(
        "case {}{senses}: up to {}",
        piece.case,
        count(piece.complex_points, "real configuration")
    );
    if !piece.conditions.is_empty() {
        lines.push(wrapped(&title));
        let most = piece.counts.iter().map(|region| region.count).max();
        page_of_conditions(&piece.conditions, &piece.quantities, most, lines);
        let not_counted = piece.exceptional.iter().take(MAX_LISTED);
        lines.extend(not_counted.map(|p| format!("    not counted where {} = 0", short(p))));
        return;
    }
    if !piece.counts.iter().any(|region| region.count > 0) {
        lines.push(wrapped(&format!("{title}, none in open regions")));
        return;
    }
    lines.push(wrapped(&format!("{title}, by the signs of")));
    for (number, p) in (1..).zip(&piece.boundary) {
        lines.push(format!("    p{number} = {}", short(p)));
    }
    for region in piece.counts.iter().take(MAX_LISTED) {
        let signs: Vec<String> = (1..)
            .zip(&region.signs)
            .map(|(number, sign)| format!("p{number} {sign} 0"))
            .collect();
        lines.push(format!("    {}: {}", signs.join(", "), in_cells(region)));
    }
}

/// What holds in some cells, with one place.
fn at_sample(what: String, sample: &Map<String, Value>, cells: String) -> String {
    let sample: Vec<String> = (sample.iter())
        .map(|(name, value)| {
            let value = value.as_f64().unwrap_or(f64::NAN);
            format!("{name} = {}", tidy_number(value))
        })
        .collect();
    format!("{what} in {cells}, for example at {}", sample.join(", "))
}

fn configurations(number: usize) -> String {
    match number {
        0 => "no real configuration".to_string(),
        number => count(number, "real configuration"),
    }
}

fn in_cells(region: &RegionRecord) -> String {
    let what = match region.has_solutions {
        Some(false) => "no solution of the constraints at all".to_string(),
        Some(true) if region.count == 0 => "solutions, none of them singular,".to_string(),
        _ => configurations(region.count),
    };
    let noun = if region.sample.len() == 1 {
        "interval"
    } else {
        "region"
    };
    at_sample(what, &region.sample, count(region.cells, noun))
}

/// Real conditions, with short names for long quantities. Where the greatest number is reached it is the number.
fn page_of_conditions(
    conditions: &[CountConditionRecord],
    quantities: &[QuantityRecord],
    most: Option<usize>,
    lines: &mut Vec<String>,
) {
    let mut names: Vec<(&str, String)> = Vec::new();
    for (number, record) in (1..).zip(quantities) {
        let text = record.quantity.as_str();
        if text.chars().count() <= MAX_QUANTITY {
            names.push((text, text.to_string()));
        } else {
            lines.push(format!("    q{number} = {}", short(text)));
            names.push((text, format!("q{number}")));
        }
    }
    let name = |quantity| {
        let named = names.iter().find(|(text, _)| *text == quantity);
        named.map_or(quantity, |(_, name)| name.as_str())
    };
    for condition in conditions {
        let mut lists = condition.any_of.iter();
        let first = lists.next().map(|all| inequalities(all, &name));
        let number = match most == Some(condition.at_least) {
            true => condition.at_least.to_string(),
            false => format!("at least {}", condition.at_least),
        };
        lines.push(match first.filter(|text| !text.is_empty()) {
            Some(first) if first == "everywhere" => format!("    {number} everywhere"),
            Some(first) => format!("    {number} where {first}"),
            None => format!("    {number} for all values"),
        });
        for all in lists.by_ref().take(MAX_LISTED) {
            lines.push(format!("        or {}", inequalities(all, &name)));
        }
        if lists.len() > 0 {
            lines.push(format!(
                "        or {} more; --json lists them all",
                lists.len()
            ));
        }
    }
}

/// What is said of cases that need no condition on the symbols.
pub(crate) fn always_sentence(report: &SingularRecord) -> Option<String> {
    let cases: Vec<String> = report.always.iter().map(usize::to_string).collect();
    match cases.as_slice() {
        [] => None,
        [one] => Some(format!(
            "case {one} occurs, over the complex numbers, whatever the symbols are"
        )),
        _ => Some(format!(
            "cases {} occur, over the complex numbers, whatever the symbols are",
            cases.join(", ")
        )),
    }
}

fn page_of_locus(report: &SingularRecord, lines: &mut Vec<String>) {
    lines.extend(always_sentence(report));
    if !report.locus.is_empty() {
        let more = if report.always.is_empty() {
            "they occur"
        } else {
            "more occur"
        };
        lines.push(format!(
            "{more}, over the complex numbers, where one of these holds:"
        ));
    }
    let mut subsystem: Option<&[String]> = None;
    for factor in report.locus.iter().take(2 * MAX_LISTED) {
        if subsystem != Some(&factor.subsystem) {
            lines.push(format!("  for the parts {}", factor.subsystem.join(", ")));
            subsystem = Some(&factor.subsystem);
        }
        let remark = if factor.physical {
            ""
        } else {
            "   (not with positive lengths)"
        };
        lines.push(format!("    {}{remark}", short(&factor.condition)));
    }
    if report.locus.len() > 2 * MAX_LISTED {
        let more = report.locus.len() - 2 * MAX_LISTED;
        lines.push(format!("    and {more} more; --json lists them all"));
    }
    if !report.components.is_empty() {
        lines.push(format!(
            "  or, with a folded leg, where {} of conditions holds; --json lists them",
            match report.components.len() {
                1 => "another set".to_string(),
                n => format!("one of {n} other sets"),
            }
        ));
    }
    for p in report.exceptional.iter().take(MAX_LISTED) {
        lines.push(format!("  not decided where {} = 0", short(p)));
    }
}

fn line_of_configuration(
    report: &SingularRecord,
    title: &str,
    configuration: &ConfigurationRecord,
) -> String {
    let values = point_text(report, &configuration.angles, &configuration.values);
    let cases: Vec<String> = configuration.cases.iter().map(usize::to_string).collect();
    wrapped(&format!("{title} (case {}): {values}", cases.join(", ")))
}

/// Angles and positions in one line.
fn point_text(
    report: &SingularRecord,
    angles: &Map<String, Value>,
    values: &Map<String, Value>,
) -> String {
    let is_unknown = |(name, _): &(&String, &Value)| report.unknowns.contains(name);
    let told = (angles.iter().chain(values.iter().filter(is_unknown))).map(|(name, value)| {
        let value = value.as_f64().unwrap_or(f64::NAN);
        format!("{name} = {}", tidy_number(value))
    });
    told.collect::<Vec<String>>().join(", ")
}

/// A sentence as one or several lines.
fn wrapped(sentence: &str) -> String {
    super::wrapped(sentence).trim_end().to_string()
}

fn short(text: &str) -> String {
    if text.chars().count() <= LINE {
        return text.to_string();
    }
    let cut: String = text.chars().take(LINE).collect();
    format!("{cut}… ({} characters)", text.chars().count())
}
