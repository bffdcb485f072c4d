//! A passport for a terminal.

use super::{WIDTH, spectrum, table, wrapped};
use crate::record::{AnalyzeRecord, StructuralRecord};
use crate::words::{count, cut, ordinal, short};

/// Most rows of a list on a page, or of a matrix and its columns; JSON has them all.
pub(crate) const MAX_LISTED: usize = 12;

fn number(value: Option<usize>) -> String {
    value.map_or("–".to_string(), |value| value.to_string())
}

fn list(values: &[usize]) -> String {
    let texts: Vec<String> = values.iter().map(usize::to_string).collect();
    texts.join(", ")
}

/// The passport as a page. `matrices` adds the projectors.
pub fn analyze(report: &AnalyzeRecord, matrices: bool) -> String {
    let mut page = format!(
        "{}: {} for {}, at t = {}\n",
        report.model,
        count(report.n_equations, "equation"),
        count(report.n_unknowns, "unknown"),
        report.time
    );
    page.push_str(&passport_summary(report));
    page.push('\n');
    indices(report, &mut page);
    levels(report, &mut page);
    if let Some(structural) = &report.structural {
        structure(structural, &mut page);
        ties(structural, &mut page);
    }
    point(report, &mut page);
    hidden(report, &mut page);
    loci(report, &mut page);
    intervals(report, &mut page);
    page.push_str(&spectrum::section(
        &report.paths,
        report.spectrum_words.as_deref(),
    ));
    if matrices {
        projectors(report, &mut page);
    }
    if !report.warnings.is_empty() {
        page.push_str("\nRemarks\n");
        for warning in &report.warnings {
            page.push_str(&wrapped(warning));
        }
    }
    page
}

/// One or two sentences with the answer of a passport.
pub fn passport_summary(report: &AnalyzeRecord) -> String {
    match report.verdict {
        _ if report.contradicts => {
            "No solution: the equations contradict each other; the remarks say where.\n".to_string()
        }
        "singular" => {
            let kind = report.critical.as_ref().and_then(|c| c.kind.as_deref());
            let kind = kind.map_or(String::new(), |kind| format!(" of kind {kind}"));
            format!("A singular point{kind}: no index exists here.\n")
        }
        "regular" | "not-unique" => {
            match (report.differentiation.index, report.differentiation.dof) {
                (Some(0), Some(dof)) => format!(
                    "An ordinary differential equation in implicit form, with {} of freedom.\n",
                    count(dof, "degree")
                ),
                (Some(index), Some(dof)) => format!(
                    "A regular DAE of index {index} with {} of freedom.\n",
                    count(dof, "degree")
                ),
                _ => format!(
                    "Not uniquely solvable: {} free and {} redundant.\n",
                    count(report.strangeness.u.unwrap_or(0), "unknown"),
                    count(report.strangeness.v.unwrap_or(0), "equation")
                ),
            }
        }
        _ => "No index is claimed here; the remarks say why.\n".to_string(),
    }
}

/// The index notions: name, index, degrees of freedom, evidence.
pub fn index_rows(report: &AnalyzeRecord) -> Vec<[String; 4]> {
    let mut rows = Vec::new();
    if let Some(structural) = &report.structural {
        let evidence = match structural.regular {
            Some(true) => "the system Jacobian is nonsingular at the point",
            Some(false) => "the system Jacobian is singular: not valid here",
            None => "not decided at the point",
        };
        rows.push([
            "structural".to_string(),
            structural.index.to_string(),
            structural.dof.to_string(),
            evidence.to_string(),
        ]);
        if let Some(repaired) = &structural.repaired {
            rows.push([
                "  repaired".to_string(),
                repaired.index.to_string(),
                repaired.dof.to_string(),
                cut(&repaired.text, 200),
            ]);
        }
    }
    let differentiation = &report.differentiation;
    let condition = differentiation
        .condition
        .map_or(String::new(), |condition| {
            format!("1-full; condition {}", short(condition))
        });
    rows.push([
        "differentiation".to_string(),
        number(differentiation.index),
        number(differentiation.dof),
        condition,
    ]);
    let tractability = &report.tractability;
    let ranks = if tractability.characteristic_values.is_empty() {
        String::new()
    } else {
        format!("ranks {}", list(&tractability.characteristic_values))
    };
    let dof = number(tractability.index.and(differentiation.dof));
    rows.push([
        "tractability".to_string(),
        number(tractability.index),
        dof,
        ranks,
    ]);
    let s = &report.strangeness;
    let quantities = match (s.d, s.a, s.u, s.v) {
        (Some(d), Some(a), Some(u), Some(v)) => format!("d = {d}, a = {a}, u = {u}, v = {v}"),
        _ => String::new(),
    };
    rows.push([
        "strangeness".to_string(),
        number(s.index),
        number(s.d),
        quantities,
    ]);
    rows
}

fn indices(report: &AnalyzeRecord, page: &mut String) {
    let mut table = table(&["notion", "index", "dof", "evidence"]);
    for row in index_rows(report) {
        table.add_row(row);
    }
    page.push_str(&format!("{table}\n"));
}

fn levels(report: &AnalyzeRecord, page: &mut String) {
    if report.differentiation.levels.is_empty() {
        return;
    }
    let mut table = table(&["level", "1-full", "rank T", "rank V", "gap"]);
    for level in &report.differentiation.levels {
        table.add_row([
            level.order.to_string(),
            if level.one_full { "yes" } else { "no" }.to_string(),
            level.rank_t.to_string(),
            level.rank_v.to_string(),
            level.gap.map_or(String::new(), |gap| format!("{gap:.0e}")),
        ]);
    }
    page.push_str(&format!(
        "\nThe derivative array, level by level\n{table}\n"
    ));
}

fn structure(structural: &StructuralRecord, page: &mut String) {
    let blocks = &structural.blocks;
    if blocks.len() > MAX_LISTED || blocks.iter().all(|block| block.equations.len() == 1) {
        let largest = blocks.iter().map(|b| b.equations.len()).max().unwrap_or(0);
        page.push_str(&format!(
            "\nThe system Jacobian falls into {}, the largest of {}.\n",
            count(blocks.len(), "block"),
            count(largest, "equation")
        ));
        return;
    }
    let mut table = table(&["block", "unknowns", "equations"]);
    for (at, block) in blocks.iter().enumerate() {
        let equations: Vec<String> = block.equations.iter().take(4).map(|e| cut(e, 60)).collect();
        let mut equations = equations.join("\n");
        if block.equations.len() > 4 {
            equations.push_str(&format!("\nand {} more", block.equations.len() - 4));
        }
        table.add_row([
            (at + 1).to_string(),
            cut(&block.unknowns.join(", "), 120),
            equations,
        ]);
    }
    page.push_str(&format!(
        "\nBlocks of the system Jacobian, in the order of solution\n{table}\n"
    ));
}

/// Which components constraints tie together, for a model that has some.
fn ties(structural: &StructuralRecord, page: &mut String) {
    if structural.ties.is_empty() {
        return;
    }
    page.push_str("\nTied together by constraints\n");
    for tie in structural.ties.iter().take(MAX_LISTED) {
        let times = match tie.times_differentiated {
            1 => "once".to_string(),
            2 => "twice".to_string(),
            k => format!("{k} times"),
        };
        page.push_str(&wrapped(&format!(
            "{}: {}, differentiated {times}.",
            cut(&tie.components.join(", "), 300),
            count(tie.equations, "equation")
        )));
    }
}

fn point(report: &AnalyzeRecord, page: &mut String) {
    if matches!(report.verdict, "regular" | "not-unique") && !report.contradicts {
        let free = if report.free.is_empty() {
            "Nothing can be chosen: the constraints fix every unknown.".to_string()
        } else {
            format!(
                "Free to choose together: {}.",
                cut(&report.free.join(", "), 300)
            )
        };
        page.push_str(&format!("\n{}", wrapped(&free)));
    }
    if !report.point.is_empty() && report.point.len() <= super::start::MAX_LISTED {
        let values: Vec<String> = report
            .point
            .iter()
            .map(|(name, value)| format!("{name} = {}", value.as_f64().map_or("?".into(), short)))
            .collect();
        page.push_str(&wrapped(&format!("At {}.", values.join(", "))));
    }
}

fn hidden(report: &AnalyzeRecord, page: &mut String) {
    let all = &report.hidden_constraints;
    if all.is_empty() {
        return;
    }
    page.push_str(&format!("\nHidden constraints ({})\n", all.len()));
    for hidden in all.iter().take(MAX_LISTED) {
        page.push_str(&format!(
            "  {}\n      {} derivative of {}\n",
            cut(&hidden.text, WIDTH - 2),
            ordinal(hidden.times_differentiated),
            cut(&hidden.from_equation, WIDTH - 28)
        ));
    }
    if all.len() > MAX_LISTED {
        page.push_str(&format!(
            "  and {} more; --json has them all\n",
            all.len() - MAX_LISTED
        ));
    }
}

fn loci(report: &AnalyzeRecord, page: &mut String) {
    if report.singular_loci.is_empty() {
        return;
    }
    let has_components = (report.singular_loci.iter()).any(|locus| !locus.components.is_empty());
    let last = match has_components {
        true => "in the components",
        false => "equations",
    };
    let mut table = table(&["singular where", "kind", "unknowns", last]);
    for locus in report.singular_loci.iter().take(MAX_LISTED) {
        let equations: Vec<String> = match has_components {
            true => vec![cut(&locus.components.join(", "), 200)],
            false => locus.equations.iter().take(3).map(|e| cut(e, 44)).collect(),
        };
        table.add_row([
            format!("{} = 0", cut(&locus.factor, 160)),
            locus.kind.clone().unwrap_or_else(|| "?".to_string()),
            cut(&locus.unknowns.join(", "), 60),
            equations.join("\n"),
        ]);
    }
    page.push_str(&format!("\nWhere it becomes singular\n{table}\n"));
}

fn intervals(report: &AnalyzeRecord, page: &mut String) {
    if let Some(intervals) = &report.intervals {
        let mut table = table(&["from", "to", "strangeness", "d", "a", "u", "v"]);
        for part in intervals {
            table.add_row([
                short(part.from),
                short(part.to),
                number(part.index),
                number(part.d),
                number(part.a),
                number(part.u),
                number(part.v),
            ]);
        }
        page.push_str(&format!("\nIntervals of constant quantities\n{table}\n"));
    }
    for point in report.exceptional.iter().flatten() {
        page.push_str(&wrapped(&format!(
            "t = {}: {} ({})",
            point.time, point.what, point.kind
        )));
    }
}

fn projectors(report: &AnalyzeRecord, page: &mut String) {
    let both = [
        ("T", &report.differentiation.t),
        ("V", &report.differentiation.v),
    ];
    for (name, matrices) in both {
        for (k, matrix) in matrices.iter().enumerate() {
            page.push_str(&format!("\n{name}_{}\n", k + 1));
            for row in matrix {
                let row: Vec<String> = row.iter().map(|v| format!("{v:>9.5}")).collect();
                page.push_str(&format!("  {}\n", row.join(" ")));
            }
        }
    }
}
