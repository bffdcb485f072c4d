//! The passport: index notions, hidden constraints, singular sets, and the ranks behind them.

use super::equations::{cut_off, formulas};
use super::{Element, Fact, Grid, Inline, Mood, Section, framed, remarks, verbatim};
use crate::record::{AnalyzeRecord, EquationRecord, FramedRecord};
use crate::terminal::{self, index_rows, passport_summary};
use crate::words::{count, ordinal, short};
use daelight_lang::{PARAGRAPH, shorten};

/// Most rows of a list.
pub(super) const MAX_LISTED: usize = 30;

pub(super) fn sections(passport: &Result<AnalyzeRecord, FramedRecord>) -> Vec<Section> {
    let mut section = Section::new("passport", "Passport");
    let report = match passport {
        Ok(report) => report,
        Err(message) => return vec![section.block(framed(message))],
    };
    let tone = match report.verdict {
        "regular" | "not-unique" => Mood::Plain,
        _ => Mood::Warning,
    };
    let summary = passport_summary(report).trim().to_string();
    section.blocks.push(Element::notice(tone, [summary]));
    section.blocks.push(Element::Grid(indices(report)));
    if matches!(report.verdict, "regular" | "not-unique") {
        let free = match report.free.as_slice() {
            [] => "Nothing can be chosen: the constraints fix every unknown.".to_string(),
            free => format!("Free to choose together: {}.", free.join(", ")),
        };
        section.blocks.push(Element::text(free));
    }
    for path in &report.paths {
        section.blocks.push(Element::text(path.sentence()));
    }
    remarks(&report.warnings, &mut section);
    section.blocks.extend(structure(report));
    section.blocks.extend(ranks(report));
    let text = terminal::analyze(report, false);
    section.blocks.push(verbatim("analyze", text));
    let mut sections = vec![section];
    sections.extend(hidden(report));
    sections.extend(loci(report));
    sections
}

/// The passport in a sentence.
pub(super) fn sentence(report: &AnalyzeRecord) -> Vec<Inline> {
    Inline::sentence(passport_summary(report).trim())
}

pub(super) fn fact(report: &AnalyzeRecord) -> Fact {
    let (value, remark, tone) = match (report.verdict, report.differentiation.index) {
        ("regular", Some(index)) => {
            let dof = report.differentiation.dof.unwrap_or(0);
            let remark = format!("{} of freedom", count(dof, "degree"));
            (format!("index {index}"), remark, Mood::Plain)
        }
        ("not-unique", _) => {
            let free = report.strangeness.u.unwrap_or(0);
            let value = format!("{} free", count(free, "unknown"));
            let them = if free == 1 { "it" } else { "them" };
            (value, format!("nothing determines {them}"), Mood::Plain)
        }
        ("singular", _) => {
            let kind = report.critical.as_ref().and_then(|c| c.kind.clone());
            let remark = kind.map_or(String::new(), |kind| format!("kind {kind}"));
            ("singular point".to_string(), remark, Mood::Warning)
        }
        _ => {
            let remark = "the passport says why".to_string();
            ("unknown".to_string(), remark, Mood::Warning)
        }
    };
    Fact {
        name: format!("Passport at t = {}", report.time),
        value,
        remark,
        tone,
    }
}

fn indices(report: &AnalyzeRecord) -> Grid {
    let header = ["notion", "index", "degrees of freedom", "evidence"];
    let mut table = Grid::new("Index notions", &header).numeric(&[1, 2]);
    for row in index_rows(report) {
        table.row(row.map(Inline::Text));
    }
    table
}

fn structure(report: &AnalyzeRecord) -> Option<Element> {
    let structural = report.structural.as_ref()?;
    let header = ["block", "unknowns", "equations"];
    let mut table = Grid::new(
        "Diagonal blocks of the system Jacobian, in the order of solution",
        &header,
    );
    for (k, block) in structural.blocks.iter().enumerate().take(MAX_LISTED) {
        table.row([
            Inline::text((k + 1).to_string()),
            Inline::code(shorten(&block.unknowns.join(", "), PARAGRAPH)),
            Inline::code(shorten(&block.equations.join("; "), PARAGRAPH)),
        ]);
    }
    cut_off(&mut table, structural.blocks.len());
    let summary = format!("Structure: {}", count(structural.blocks.len(), "block"));
    Some(Element::details(summary, vec![Element::Grid(table)]))
}

/// Every rank decision with what it rests on.
fn ranks(report: &AnalyzeRecord) -> Option<Element> {
    let decisions = report.ranks.as_ref()?;
    let header = [
        "matrix",
        "rank",
        "smallest kept",
        "largest dropped",
        "gap",
        "threshold",
        "verdict",
    ];
    let mut table = Grid::new("Rank decisions, in scaled units", &header).numeric(&[1, 2, 3, 4, 5]);
    let mut values = String::new();
    let scientific = |value: f64| match value {
        v if v.is_finite() => format!("{v:.1e}"),
        _ => "–".to_string(),
    };
    let number = |value: Option<f64>| Inline::text(value.map_or("–".to_string(), scientific));
    for found in decisions {
        table.row([
            Inline::text(&found.matrix),
            Inline::text(found.rank.to_string()),
            number(found.rank.checked_sub(1).map(|k| found.values[k])),
            number(found.values.get(found.rank).copied()),
            number(Some(found.gap)),
            number(Some(found.threshold)),
            Inline::text(found.verdict),
        ]);
        let list: Vec<String> = found.values.iter().map(|v| format!("{v:.4e}")).collect();
        values.push_str(&format!("{}\n  {}\n", found.matrix, wrap(&list)));
    }
    let mut blocks = vec![Element::Grid(table)];
    if !values.is_empty() {
        let code = Element::code("All singular values or pivots", values);
        blocks.push(Element::details("All singular values", vec![code]));
    }
    if let Some(condition) = report.differentiation.condition {
        blocks.push(Element::text(format!(
            "Condition of the derivative array that determines the solution: {}.",
            short(condition)
        )));
    }
    let summary = format!(
        "The numbers behind the indices: {}",
        count(decisions.len(), "rank decision")
    );
    Some(Element::details(summary, blocks))
}

/// Eight numbers a line.
fn wrap(numbers: &[String]) -> String {
    let lines: Vec<String> = numbers.chunks(8).map(|chunk| chunk.join("  ")).collect();
    lines.join("\n  ")
}

fn hidden(report: &AnalyzeRecord) -> Option<Section> {
    let all = &report.hidden_constraints;
    if all.is_empty() {
        return None;
    }
    let mut section = Section::new("hidden", "Hidden constraints");
    section.blocks.push(Element::text(format!(
        "{} that no equation of the model states, found by differentiation. Consistent values satisfy them too.",
        count(all.len(), "condition")
    )));
    let shown = all.iter().take(MAX_LISTED).map(|hidden| {
        let order = format!("{} derivative", ordinal(hidden.times_differentiated));
        let left = (hidden.mathml.as_ref()).filter(|math| math.len() <= MAX_FORMULA);
        EquationRecord {
            mathml: left.map(|left| format!("<mrow>{left}<mo>=</mo><mn>0</mn></mrow>")),
            source: format!("{order} of {}", hidden.from_equation),
            line: hidden.line,
        }
    });
    let mut blocks = vec![formulas(&shown.collect::<Vec<_>>())];
    if all.len() > MAX_LISTED {
        let more = count(all.len() - MAX_LISTED, "condition");
        blocks.push(Element::text(format!(
            "{more} not shown; `daelight analyze --json` lists them all."
        )));
    }
    let texts = all.iter().take(MAX_LISTED);
    let texts: Vec<String> = texts.map(|hidden| shortened(&hidden.text)).collect();
    let code = Element::code("Hidden constraints as text", texts.join("\n"));
    let as_formulas = Element::details(count(all.len(), "condition"), blocks);
    let as_text = Element::details("The same as text", vec![code]);
    section.blocks.extend([as_formulas, as_text]);
    Some(section)
}

/// Longest formula, in bytes of MathML.
const MAX_FORMULA: usize = 12_000;

/// Longest condition that is written out.
const MAX_CONDITION: usize = 1200;

fn shortened(text: &str) -> String {
    let n = text.chars().count();
    if n <= MAX_CONDITION {
        return text.to_string();
    }
    let cut: String = text.chars().take(MAX_CONDITION).collect();
    format!("{cut}… ({n} characters)")
}

fn loci(report: &AnalyzeRecord) -> Option<Section> {
    if report.singular_loci.is_empty() {
        return None;
    }
    let mut section = Section::new("loci", "Where it can become singular");
    section.blocks.push(Element::text(
        "Factors of the determinants of the blocks. Where one vanishes, the equations of its block no longer determine its \
         unknowns. Kind k-A: a rank of the matrix chain drops at level k; k-B: a kernel meets the earlier ones.",
    ));
    let header = ["singular where", "kind", "unknowns", "equations"];
    let mut table = Grid::new("Singular sets", &header);
    for locus in report.singular_loci.iter().take(MAX_LISTED) {
        table.row([
            Inline::code(format!("{} = 0", shortened(&locus.factor))),
            Inline::text(locus.kind.clone().unwrap_or_else(|| "?".to_string())),
            Inline::code(shorten(&locus.unknowns.join(", "), PARAGRAPH)),
            Inline::code(shorten(&locus.equations.join("; "), PARAGRAPH)),
        ]);
    }
    cut_off(&mut table, report.singular_loci.len());
    section.blocks.push(Element::Grid(table));
    Some(section)
}
