//! The run: curves, singularities one by one, the moving mechanism.

use super::start::MAX_ROWS;
use super::{
    Chart, Element, Fact, Film, Grid, Inline, Mood, Section, Still, capitalised, framed, remarks,
    verbatim,
};
use crate::picture::{SeriesGroup, evenly, groups, limits, margin_varies, marks};
use crate::record::{NoRunRecord, RunView, SingularityRecord, SolveRecord, TimeSeries};
use crate::scene::Scene;
use crate::terminal::{self, nature_words};
use crate::words::{short, tidy_number, unit_text};
use daelight_plot::{Scale, TimeMark};
use std::collections::HashMap;

/// Points of a curve.
const MAX_POINTS: usize = 1500;
/// Numbers in all plots of a page together, so that it stays below 600 kB.
const MOST_NUMBERS: usize = 14_000;
/// Plots of a page.
const MOST_PLOTS: usize = 16;
/// Singularities in the summary.
const SUMMARISED: usize = 3;
/// Most singularities that are explained, and drawn.
pub const MAX_EXPLAINED: usize = 40;

/// What a run gives a page.
#[derive(Default)]
pub(super) struct Parts {
    /// Items of the summary.
    pub words: Vec<Vec<Inline>>,
    /// The moving mechanism.
    pub film: Option<Element>,
    /// The first plot.
    pub first: Option<Element>,
    pub sections: Vec<Section>,
}

pub(super) fn sections(
    run: &Result<SolveRecord, NoRunRecord>,
    model: &str,
    is_free: bool,
) -> Parts {
    let mut section = Section::new("run", "Run");
    let (report, view) = match run {
        Ok(report) => (report, report.view.as_deref().cloned().unwrap_or_default()),
        Err(no_run) => {
            return Parts {
                sections: vec![section.block(refusal(no_run, is_free))],
                ..Parts::default()
            };
        }
    };
    let tone = match report.status {
        "success" => Mood::Good,
        "singularity" => Mood::Warning,
        _ => Mood::Bad,
    };
    let message = format!("{}.", capitalised(&report.message));
    let mut words = vec![Inline::sentence(&message)];
    words.extend(report.singularities.iter().take(SUMMARISED).map(in_short));
    section.blocks.push(Element::notice(tone, [message]));
    let marks = marks(report);
    if !marks.is_empty() {
        let text = "Dashed lines in the plots mark singular times.";
        section.blocks.push(Element::text(text));
    }
    let hint = "Drag over a plot to zoom, double-click to see all again; a name below hides its curve. Each plot can be saved as a table \
                (CSV). By keyboard: arrow keys move the cursor, + and − zoom, 0 shows all.";
    section.blocks.push(Element::Hint(hint.to_string()));
    let Plots {
        mut charts,
        resting,
        same,
        n_left_out,
    } = charts(&view, &marks);
    let (n, shown) = (view.n_unknowns, view.samples.series.len() - n_left_out);
    if n > shown {
        let text = format!("The plots show {shown} of {n} unknowns.");
        section.blocks.push(Element::text(text));
    }
    if let [first, ..] = &same[..] {
        let n = same.len();
        let text =
            format!("Curves that are the same are drawn once: {n} names more, such as {first}.");
        section.blocks.push(Element::text(text));
    }
    if !resting.is_empty() {
        let text = format!("Constant: {}.", resting.join(", "));
        section.blocks.push(Element::text(text));
    }
    let first = (!charts.is_empty()).then(|| Element::Chart(charts.remove(0)));
    if first.is_some() {
        let text = "The first plot is in the summary.";
        section.blocks.push(Element::text(text));
    }
    section
        .blocks
        .extend(charts.into_iter().map(Element::Chart));
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
    Parts {
        words,
        film: (view.scene.as_ref()).map(|scene| film(scene, &view, model, &marks)),
        first,
        sections,
    }
}

/// A singularity in a line.
fn in_short(record: &SingularityRecord) -> Vec<Inline> {
    let kind = record
        .kind
        .as_ref()
        .map_or(String::new(), |k| format!(" ({k})"));
    let mut line = vec![
        Inline::Strong(format!("t = {}{kind}", short(record.time))),
        Inline::text(format!(": {}", record.nature)),
    ];
    if let Some(locus) = &record.locus {
        line.push(Inline::text(", where "));
        line.push(Inline::code(format!("{locus} = 0")));
    }
    line.push(Inline::text("."));
    line
}

/// Why there is no run.
fn refusal(no_run: &NoRunRecord, is_free: bool) -> Element {
    let tone = if is_free { Mood::Plain } else { Mood::Warning };
    match no_run {
        NoRunRecord::Framed(message) => framed(message),
        NoRunRecord::Said { message, help } => {
            let sentences = message.lines().map(str::trim).map(str::to_string);
            Element::notice(tone, sentences.chain([format!("Help: {help}.")]))
        }
    }
}

pub(super) fn facts(run: &Result<SolveRecord, NoRunRecord>, is_free: bool) -> Vec<Fact> {
    let Ok(report) = run else {
        let (remark, tone) = match is_free {
            true => ("nothing says how it moves", Mood::Plain),
            false => ("the run's section says why", Mood::Warning),
        };
        return vec![Fact {
            name: "Run".to_string(),
            value: "none".to_string(),
            remark: remark.to_string(),
            tone,
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

/// A curve and its number.
type Numbered<'a> = (usize, &'a TimeSeries);

/// The plots of a run: one for each unit and size.
struct Plots {
    charts: Vec<Chart>,
    /// Names and values of what rests.
    resting: Vec<String>,
    /// Names whose curve stands under another name.
    same: Vec<String>,
    /// How many curves are not drawn.
    n_left_out: usize,
}

/// Connectors carry the same values under many names: each curve once, under the name with the fewest parts, and the other names.
fn once(moving: Vec<Numbered<'_>>) -> (Vec<Numbered<'_>>, Vec<String>) {
    let mut found: Vec<Numbered<'_>> = Vec::new();
    let mut places: HashMap<(&str, Vec<u64>), usize> = HashMap::new();
    let mut same = Vec::new();
    let n_parts = |series: &TimeSeries| series.name.split('.').count();
    for (at, series) in moving {
        let bits = series.values.iter().map(|value| value.to_bits());
        let place = places.entry((&series.unit, bits.collect()));
        let place = *place.or_insert(found.len());
        match found.get_mut(place) {
            None => found.push((at, series)),
            Some((_, other)) if n_parts(series) < n_parts(other) => {
                same.push(other.name.clone());
                *other = series;
            }
            Some(_) => same.push(series.name.clone()),
        }
    }
    (found, same)
}

fn charts(view: &RunView, marks: &[TimeMark]) -> Plots {
    let times = &view.samples.times;
    let all = &view.samples.series;
    let n_continuous = all.len().saturating_sub(view.n_discrete);
    let (resting, moving): (Vec<Numbered<'_>>, Vec<Numbered<'_>>) =
        all.iter().enumerate().partition(|(_, one)| one.rests());
    let resting = resting.iter().map(|(_, one)| match one.values.first() {
        Some(value) => format!("{} = {}", one.name, short(*value)),
        None => one.name.clone(),
    });
    let of_components = moving.iter().any(|(_, one)| one.name.contains('.'));
    let (moving, same) = match of_components {
        true => once(moving),
        false => (moving, Vec::new()),
    };
    let points = (MOST_NUMBERS / moving.len().max(1)).min(MAX_POINTS);
    // What is discrete has plots of its own.
    let (continuous, discrete): (Vec<_>, Vec<_>) =
        moving.into_iter().partition(|(at, _)| *at < n_continuous);
    let owned = |list: Vec<Numbered<'_>>| -> Vec<TimeSeries> {
        list.into_iter().map(|(_, one)| one.clone()).collect()
    };
    let discrete = owned(discrete);
    let room = MOST_PLOTS - usize::from(!discrete.is_empty());
    let (mut plots, n_out) = groups(times, owned(continuous), Scale::Linear, room);
    let (steps, n_steps_out) = groups(times, discrete, Scale::Linear, MOST_PLOTS - plots.len());
    plots.extend(steps);
    let n_left_out = n_out + n_steps_out;
    let chart = |group: &SeriesGroup| {
        let curves = group.curves();
        let kept = Chart::thinned(&curves, times, points);
        let series = group.members.iter().map(|one| TimeSeries {
            values: kept.iter().map(|&at| one.values[at]).collect(),
            ..one.clone()
        });
        let unit = unit_text(&group.members[0].unit);
        let cut = limits(&curves, &evenly(times));
        let remark = cut.map_or("", |_| ", axis cut off");
        let listed = listed(&group.members);
        Chart {
            caption: match unit.as_str() {
                "" => format!("{listed}{remark}"),
                unit => format!("{listed} [{unit}]{remark}"),
            },
            x_label: "t [s]".to_string(),
            y_label: group.label(),
            times: kept.iter().map(|&at| times[at]).collect(),
            series: series.collect(),
            marks: marks.to_vec(),
            is_logarithmic: false,
            y_limits: cut,
        }
    };
    Plots {
        charts: plots.iter().map(chart).collect(),
        resting: resting.collect(),
        same,
        n_left_out,
    }
}

/// The names of curves; of many the first and the last.
fn listed(members: &[TimeSeries]) -> String {
    let names: Vec<&str> = members.iter().map(|one| one.name.as_str()).collect();
    match &names[..] {
        [first, second, .., last] if names.len() > 6 => format!("{first}, {second}, …, {last}"),
        _ => names.join(", "),
    }
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
    for (name, value) in report.last.iter().take(MAX_ROWS) {
        let value = value.as_f64().map_or("–".to_string(), tidy_number);
        table.row([Inline::code(name), Inline::text(value)]);
    }
    super::equations::cut_off(&mut table, report.last.len());
    Element::details(caption, vec![Element::Grid(table)])
}

/// What the run cost, and what its points are worth.
fn numbers(report: &SolveRecord, view: &RunView, marks: &[TimeMark]) -> Element {
    let s = &report.statistics;
    let mut table = Grid::new("What the run cost", &["count", "number"]).numeric(&[1]);
    let counts = [
        ("steps".to_string(), s.steps),
        ("of them by radau or bdf".to_string(), s.implicit_steps),
        ("steps rejected".to_string(), s.rejected),
        ("jets".to_string(), s.jets),
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
    if !margin_varies(view) {
        return None;
    }
    let (times, values) = view.margins.iter().copied().unzip();
    Some(Chart {
        caption: "Least singular value of the blocks that decide: 0 where the equations no longer determine the unknowns; small values warn of that, and are no distance from it".to_string(),
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
            // Seen as close as these instants allow.
            let close = scene.part(0..scene.frames.len());
            let scene = close.as_ref().unwrap_or(scene);
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
