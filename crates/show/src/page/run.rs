//! The run: curves, singularities one by one, the moving mechanism.

use super::{
    Chart, Element, Fact, Film, Grid, Inline, Mood, Section, Still, capitalised, framed, remarks,
    verbatim,
};
use crate::picture::{evenly, limits, marks};
use crate::record::{NoRunRecord, RunView, SingularityRecord, SolveRecord, TimeSeries};
use crate::scene::Scene;
use crate::terminal::{self, nature_words};
use crate::words::{short, tidy_number, unit_text};
use daelight_plot::TimeMark;

/// Points of a curve.
const MAX_POINTS: usize = 1500;
/// Curves of a plot.
const MAX_CURVES: usize = 16;
/// Most singularities that are explained, and drawn.
pub const MAX_EXPLAINED: usize = 40;

pub(super) fn sections(run: &Result<SolveRecord, NoRunRecord>, model: &str) -> Vec<Section> {
    let mut section = Section::new("run", "Run");
    let (report, view) = match run {
        Ok(report) => (report, report.view.as_deref().cloned().unwrap_or_default()),
        Err(no_run) => return vec![section.block(refusal(no_run))],
    };
    let tone = match report.status {
        "success" => Mood::Good,
        "singularity" => Mood::Warning,
        _ => Mood::Bad,
    };
    let message = format!("{}.", capitalised(&report.message));
    section.blocks.push(Element::notice(tone, [message]));
    let marks = marks(report);
    if !marks.is_empty() {
        let text = "Dashed lines in the plots mark singular times.";
        section.blocks.push(Element::text(text));
    }
    let hint = "Drag over a plot to zoom, double-click to see all again; a name below hides its curve. By keyboard: arrow keys \
                move the cursor, + and − zoom, 0 shows all.";
    section.blocks.push(Element::Hint(hint.to_string()));
    let (n, shown) = (view.n_unknowns, view.samples.series.len());
    if n > shown {
        let text = format!("The plots show the first {shown} of {n} unknowns.");
        section.blocks.push(Element::text(text));
    }
    let charts = charts(&view, &marks).into_iter().map(Element::Chart);
    section.blocks.extend(charts);
    if let Some(energy) = &report.energy {
        section.blocks.push(Element::text(terminal::energy(energy)));
    }
    remarks(&report.warnings, &mut section);
    section.blocks.push(last_values(report));
    section.blocks.push(numbers(report, &view, &marks));
    section
        .blocks
        .push(verbatim("solve", terminal::solve(report, &view.model)));
    let mut sections = vec![section];
    sections.extend(super::events::section(report));
    sections.extend(singularities(report));
    let film = (view.scene.as_ref()).map(|scene| film(scene, &view, model, &marks));
    sections.extend(film.map(|film| Section::new("animation", "Animation").block(film)));
    sections
}

pub(super) fn has_film(run: &SolveRecord) -> bool {
    let view = run.view.as_ref();
    view.is_some_and(|view| view.scene.is_some())
}

/// Why there is no run.
fn refusal(no_run: &NoRunRecord) -> Element {
    match no_run {
        NoRunRecord::Framed(message) => framed(message),
        NoRunRecord::Said { message, help } => {
            let sentences = message.lines().map(str::trim).map(str::to_string);
            Element::notice(Mood::Warning, sentences.chain([format!("Help: {help}.")]))
        }
    }
}

pub(super) fn facts(run: &Result<SolveRecord, NoRunRecord>) -> Vec<Fact> {
    let Ok(report) = run else {
        return vec![Fact {
            name: "Run".to_string(),
            value: "none".to_string(),
            remark: "the run's section says why".to_string(),
            tone: Mood::Warning,
        }];
    };
    let (value, tone) = match report.status {
        "success" => ("reaches its end", Mood::Good),
        "singularity" => ("ends at a singularity", Mood::Warning),
        _ => ("fails", Mood::Bad),
    };
    let until = short(report.time);
    let mut facts = vec![Fact {
        name: "Run".to_string(),
        value: value.to_string(),
        remark: format!(
            "t = {} to {until}",
            report
                .view
                .as_ref()
                .map_or(String::new(), |view| short(view.from))
        ),
        tone,
    }];
    if !report.singularities.is_empty() {
        let times: Vec<String> = report
            .singularities
            .iter()
            .take(4)
            .map(|found| {
                let kind = found
                    .kind
                    .as_ref()
                    .map_or(String::new(), |k| format!(" ({k})"));
                format!("t = {}{kind}", short(found.time))
            })
            .collect();
        let more = if report.singularities.len() > 4 {
            ", …"
        } else {
            ""
        };
        facts.push(Fact {
            name: "Singularities met".to_string(),
            value: report.singularities.len().to_string(),
            remark: format!("{}{more}", times.join(", ")),
            tone: Mood::Warning,
        });
    }
    facts
}

/// A plot for each unit.
fn charts(view: &RunView, marks: &[TimeMark]) -> Vec<Chart> {
    let times = &view.samples.times;
    let mut groups: Vec<(String, Vec<&TimeSeries>)> = Vec::new();
    let all = &view.samples.series;
    let (continuous, discrete) = all.split_at(all.len().saturating_sub(view.n_discrete));
    for series in continuous {
        let unit = unit_text(&series.unit);
        match groups.iter_mut().find(|(other, _)| *other == unit) {
            Some((_, members)) => members.push(series),
            None => groups.push((unit, vec![series])),
        }
    }
    groups.push((String::new(), discrete.iter().collect()));
    let mut charts = Vec::new();
    for (unit, members) in &groups {
        for members in members.chunks(MAX_CURVES) {
            let curves: Vec<&[f64]> = members.iter().map(|one| &one.values[..]).collect();
            let kept = Chart::thinned(&curves, times, MAX_POINTS);
            let series = members.iter().map(|one| TimeSeries {
                values: kept.iter().map(|&at| one.values[at]).collect(),
                ..TimeSeries::clone(one)
            });
            let listed: Vec<&str> = members.iter().map(|one| one.name.as_str()).collect();
            let cut = limits(&curves, &evenly(times));
            let remark = cut.map_or("", |_| ", axis cut off");
            charts.push(Chart {
                caption: match unit.as_str() {
                    "" => format!("{}{remark}", listed.join(", ")),
                    unit => format!("{} [{unit}]{remark}", listed.join(", ")),
                },
                x_label: "t [s]".to_string(),
                y_label: if unit.is_empty() {
                    "value".to_string()
                } else {
                    format!("[{unit}]")
                },
                times: kept.iter().map(|&at| times[at]).collect(),
                series: series.collect(),
                marks: marks.to_vec(),
                is_logarithmic: false,
                y_limits: cut,
            });
        }
    }
    charts
}

fn last_values(report: &SolveRecord) -> Element {
    let lead = if report.status == "success" {
        "At the end"
    } else {
        "At the last point"
    };
    let header = ["unknown", "value"];
    let caption = format!("{lead}, t = {}", tidy_number(report.time));
    let mut table = Grid::new(caption.clone(), &header).numeric(&[1]);
    for (name, value) in &report.last {
        let value = value.as_f64().map_or("–".to_string(), tidy_number);
        table.row([Inline::code(name), Inline::text(value)]);
    }
    Element::details(caption, vec![Element::Grid(table)])
}

/// What the run cost, and what its points are worth.
fn numbers(report: &SolveRecord, view: &RunView, marks: &[TimeMark]) -> Element {
    let s = &report.statistics;
    let mut table = Grid::new("What the run cost", &["count", "number"]).numeric(&[1]);
    let counts = [
        (format!("steps by {}", report.method), s.steps),
        ("steps tried again".to_string(), s.rejected),
        ("expansions into series".to_string(), s.jets),
        ("evaluations of the equations".to_string(), s.residuals),
        ("evaluations of the Jacobian".to_string(), s.jacobians),
        ("factorisations".to_string(), s.factorizations),
    ];
    for (name, number) in counts {
        table.row([Inline::Text(name), Inline::text(number.to_string())]);
    }
    let header = ["derivative", "residual"];
    let caption =
        "Largest scaled residual of the equations and their derivatives at accepted points";
    let mut residuals = Grid::new(caption, &header).numeric(&[0, 1]);
    for (order, residual) in report.residuals.iter().enumerate() {
        residuals.row([
            Inline::text(order.to_string()),
            Inline::text(format!("{residual:.1e}")),
        ]);
    }
    let mut blocks = vec![
        Element::text(format!("Relative tolerance {:e}.", view.rtol)),
        Element::Grid(table),
        Element::Grid(residuals),
    ];
    if let Some(chart) = margins(view, marks) {
        blocks.push(Element::Chart(chart));
    }
    Element::details("The numbers behind the run", blocks)
}

/// How far the blocks of the system Jacobian are from singular, along the run.
fn margins(view: &RunView, marks: &[TimeMark]) -> Option<Chart> {
    if !view.margins.iter().any(|(_, sigma)| *sigma > 0.0) {
        return None;
    }
    let (times, values) = view.margins.iter().copied().unzip();
    Some(Chart {
        caption: "Least singular value of the blocks that decide".to_string(),
        x_label: "t [s]".to_string(),
        y_label: "relative".to_string(),
        times,
        series: vec![TimeSeries {
            name: "least singular value".to_string(),
            unit: String::new(),
            values,
        }],
        marks: marks.to_vec(),
        is_logarithmic: true,
        y_limits: None,
    })
}

/// The moving mechanism.
fn film(scene: &Scene, view: &RunView, model: &str, marks: &[TimeMark]) -> Element {
    let (from, to) = (short(view.from), short(view.reached));
    let description = format!("Moving drawing of {model} from t = {from} to {to}");
    let caption = format!(
        "{model} from t = {from} to {to}. Squares do not move; the thin line is the path of the last point."
    );
    Element::Film(Film {
        scene: scene.clone(),
        marks: marks.to_vec(),
        caption: vec![Inline::text(caption)],
        description,
    })
}

/// Every singularity in words, with the mechanism at that instant and the numbers behind it.
fn singularities(report: &SolveRecord) -> Option<Section> {
    if report.singularities.is_empty() {
        return None;
    }
    let mut section = Section::new("singularities", "Singularities met");
    for (number, record) in (1..).zip(&report.singularities).take(MAX_EXPLAINED) {
        let kind = record
            .kind
            .as_ref()
            .map_or(String::new(), |kind| format!(", kind {kind}"));
        let title = format!("{number}. t = {}{kind}", tidy_number(record.time));
        section.blocks.push(Element::Heading(title));
        section.blocks.extend(words(record));
        section.blocks.extend(record.scene.as_ref().map(|scene| {
            let caption = format!(
                "The mechanism at t = {}; faint, a little before and after.",
                tidy_number(record.time)
            );
            let mut picture = Still::new(scene, 0, caption);
            picture.ghosts = scene.frames[1..].to_vec();
            Element::Still(picture)
        }));
        section.blocks.push(evidence(record));
    }
    let n = report.singularities.len();
    if n > MAX_EXPLAINED {
        let more = n - MAX_EXPLAINED;
        section.blocks.push(Element::text(format!(
            "There are {more} more; `daelight solve --json` lists them all."
        )));
    }
    Some(section)
}

fn words(record: &SingularityRecord) -> Vec<Element> {
    let mut first = vec![Inline::Strong(capitalised(&record.nature))];
    let meaning = nature_words(record);
    first.push(match meaning.split_once(": ") {
        Some((_, rest)) => Inline::text(format!(": {rest}.")),
        None => Inline::text(format!(": {meaning}.")),
    });
    if let Some(locus) = &record.locus {
        first.push(Inline::text(" It lies where "));
        first.push(Inline::code(format!("{locus} = 0")));
        first.push(Inline::text(match &record.role {
            Some(role) => format!(", {role}."),
            None => ".".to_string(),
        }));
    }
    let mut blocks = vec![Element::Text(first)];
    blocks.extend(record.kind_words.as_ref().map(Element::text));
    if !record.equations.is_empty() {
        let lead = match record.unknowns.is_empty() {
            true => "It concerns these equations:".to_string(),
            false => format!(
                "These equations do not determine {} there:",
                record.unknowns.join(", ")
            ),
        };
        blocks.push(Element::text(lead));
        let items = record.equations.iter().zip(&record.lines).take(12);
        let items = items.map(|(equation, line)| {
            let place = Inline::text(format!(" (line {line})"));
            vec![Inline::code(equation), place]
        });
        blocks.push(Element::List(items.collect()));
    }
    if let Some(open) = terminal::open_direction(record) {
        let text = format!("Open direction: {open}.");
        blocks.push(Element::text(text));
    }
    blocks
}

/// The numbers behind a singularity.
fn evidence(record: &SingularityRecord) -> Element {
    let header = ["quantity", "value"];
    let mut table = Grid::new("Evidence", &header).numeric(&[1]);
    for (name, value) in &record.numbers {
        table.row([Inline::text(name), Inline::text(value)]);
    }
    Element::details("The numbers behind it", vec![Element::Grid(table)])
}
