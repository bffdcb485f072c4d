//! The run: curves, singularities one by one, the moving mechanism.

use super::equations::unit_of;
use super::sketch::{picture, stage};
use super::{PageOptions, capitalised, refusal, remarks, verbatim};
use crate::pictures::{evenly, limits};
use crate::record::{self, RunRefusal};
use crate::{Drawing, Explained, Solution, solve};
use daelight_analysis::System;
use daelight_integrate::{Inspector, StopReason};
use daelight_lang::Model;
use daelight_show::page::{
    Block, Chart, Fact, Film, Mark, Section, Series, Span, Stage, Table, Tone,
};
use daelight_show::record::{SingularityRecord, SolveRecord};
use daelight_show::terminal::{self, nature_words};
use daelight_show::{short, tidy_number};

/// Points of a curve.
const MAX_POINTS: usize = 1500;
/// Evenly spread times at which a run is looked at, and those inside each step.
const EVEN_TIMES: usize = 1201;
const TIMES_PER_STEP: usize = 4;
/// Most steps that are looked at one by one.
const MAX_STEPS: usize = 1000;
/// Curves of a plot, and of all plots.
const MAX_CURVES: usize = 16;
const MAX_UNKNOWNS: usize = 96;
/// Frames of the moving drawing.
const MAX_FRAMES: usize = 241;
/// Times at which the blocks of the system Jacobian are looked at.
const MAX_INSPECTIONS: usize = 301;
/// Time between the faint instants around a singularity, as a part of the run.
const ASIDE: f64 = 0.02;
/// Most singularities that are explained with a picture.
const MAX_EXPLAINED: usize = 40;

/// What a run gives to the page.
pub(super) struct Ran {
    pub(super) facts: Vec<Fact>,
    pub(super) sections: Vec<Section>,
    pub(super) has_film: bool,
}

pub(super) fn sections(
    model: &Model,
    system: &System,
    options: &PageOptions,
    notes: Vec<String>,
) -> Ran {
    let mut section = Section::new("run", "Run");
    let solution = match solve(system, &options.solve) {
        Ok(solution) => solution,
        Err(no_run) => {
            let block = match record::refusal(system, no_run, &options.model) {
                RunRefusal::Diagnostic(diagnostic) => refusal(&diagnostic, system.sources()),
                RunRefusal::Said { message, help, .. } => {
                    let sentences = message.lines().map(str::trim).map(str::to_string);
                    Block::notice(Tone::Warning, sentences.chain([format!("Help: {help}.")]))
                }
            };
            let fact = Fact {
                name: "Run".to_string(),
                value: "none".to_string(),
                remark: "the run's section says why".to_string(),
                tone: Tone::Warning,
            };
            return Ran {
                facts: vec![fact],
                sections: vec![section.block(block)],
                has_film: false,
            };
        }
    };
    let mut report = record::solve(system, &solution, None);
    report.warnings.extend(notes);
    let tone = match report.status {
        "success" => Tone::Good,
        "singularity" => Tone::Warning,
        _ => Tone::Bad,
    };
    let message = format!("{}.", capitalised(&report.message));
    section.blocks.push(Block::notice(tone, [message]));
    let marks = marks(&solution, &report);
    if !marks.is_empty() {
        let text = "Dashed lines in the plots mark singular times.";
        section.blocks.push(Block::text(text));
    }
    let hint = "Drag over a plot to zoom, double-click to see all again; a name below hides its curve. By keyboard: arrow keys \
                move the cursor, + and − zoom, 0 shows all.";
    section.blocks.push(Block::Hint(hint.to_string()));
    for chart in charts(model, system, &solution, &marks, &mut section) {
        section.blocks.push(Block::Chart(chart));
    }
    if let Some(energy) = &report.energy {
        section.blocks.push(Block::text(format!(
            "Energy T + V: {} at the start, {} at the end; it changes by {:.1e} at most.",
            short(energy.start),
            short(energy.end),
            energy.max_drift
        )));
    }
    remarks(&report.warnings, &mut section);
    section.blocks.push(last_values(&report));
    section.blocks.push(numbers(&report, &solution, &marks));
    section
        .blocks
        .push(verbatim("solve", terminal::solve(&report, system.name())));
    let mut sections = vec![section];
    let scene = Scene::new(model, system, &solution);
    sections.extend(singularities(system, &solution, &report, scene.as_ref()));
    let film = scene.as_ref().map(|scene| scene.film(model, &marks));
    let has_film = film.is_some();
    sections.extend(film.map(|film| Section::new("animation", "Animation").block(film)));
    Ran {
        facts: facts(&report, &solution),
        sections,
        has_film,
    }
}

fn facts(report: &SolveRecord, solution: &Solution) -> Vec<Fact> {
    let (value, tone) = match report.status {
        "success" => ("reaches its end", Tone::Good),
        "singularity" => ("ends at a singularity", Tone::Warning),
        _ => ("fails", Tone::Bad),
    };
    let until = short(report.time);
    let mut facts = vec![Fact {
        name: "Run".to_string(),
        value: value.to_string(),
        remark: format!("t = {} to {until}", short(solution.from)),
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
            tone: Tone::Warning,
        });
    }
    facts
}

/// The times worth a line in every plot.
fn marks(solution: &Solution, report: &SolveRecord) -> Vec<Mark> {
    let word =
        |found: &SingularityRecord| found.kind.clone().unwrap_or_else(|| found.nature.clone());
    let found = report.singularities.iter().map(|found| Mark {
        time: found.time,
        label: word(found),
    });
    let mut marks: Vec<Mark> = found.collect();
    if let StopReason::FiniteEscape { time, .. } = solution.run.stop {
        marks.push(Mark {
            time,
            label: "without bound".to_string(),
        });
    }
    marks
}

/// Times at which a run is looked at: evenly spread, and inside its steps.
fn fine_times(solution: &Solution) -> Vec<f64> {
    let (from, to) = (solution.from, solution.reached());
    let even = (0..EVEN_TIMES).map(|k| from + (to - from) * k as f64 / (EVEN_TIMES - 1) as f64);
    let mut times: Vec<f64> = even.collect();
    times[EVEN_TIMES - 1] = to;
    let segments = solution.run.trajectory.segments();
    if segments.len() <= MAX_STEPS {
        for segment in segments {
            let step = (segment.end - segment.start) / TIMES_PER_STEP as f64;
            times.extend((0..TIMES_PER_STEP).map(|k| segment.start + k as f64 * step));
        }
    }
    let (low, high) = (from.min(to), from.max(to));
    times.retain(|time| (low..=high).contains(time));
    times.sort_by(f64::total_cmp);
    times.dedup();
    times
}

/// A plot for each unit.
fn charts(
    model: &Model,
    system: &System,
    solution: &Solution,
    marks: &[Mark],
    section: &mut Section,
) -> Vec<Chart> {
    let names: Vec<&str> = system.unknowns().iter().map(|u| u.name.as_str()).collect();
    let n = names.len().min(MAX_UNKNOWNS);
    if names.len() > n {
        let text = format!("The plots show the first {n} of {} unknowns.", names.len());
        section.blocks.push(Block::text(text));
    }
    let times = fine_times(solution);
    let mut curves = vec![Vec::with_capacity(times.len()); n];
    let mut reader = solution.reader(system);
    for &time in &times {
        let values = reader.values(time).ok().flatten().unwrap_or_default();
        for (k, curve) in curves.iter_mut().enumerate() {
            curve.push(values.get(k).copied().unwrap_or(f64::NAN));
        }
    }
    let mut groups: Vec<(String, Vec<usize>)> = Vec::new();
    for k in 0..n {
        let unit = if k < model.unknowns.len() {
            unit_of(model, k)
        } else {
            String::new()
        };
        match groups.iter_mut().find(|(other, _)| *other == unit) {
            Some((_, members)) => members.push(k),
            None => groups.push((unit, vec![k])),
        }
    }
    let mut charts = Vec::new();
    for (unit, members) in &groups {
        for members in members.chunks(MAX_CURVES) {
            let shown: Vec<Vec<f64>> = members.iter().map(|&k| curves[k].clone()).collect();
            let kept = Chart::thinned(&shown, times.len(), MAX_POINTS);
            let series = members.iter().zip(&shown).map(|(&k, curve)| Series {
                name: names[k].to_string(),
                values: kept.iter().map(|&at| curve[at]).collect(),
            });
            let listed: Vec<&str> = members.iter().map(|&k| names[k]).collect();
            let slices: Vec<&[f64]> = shown.iter().map(Vec::as_slice).collect();
            let cut = limits(&slices, &evenly(&times));
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

fn last_values(report: &SolveRecord) -> Block {
    let lead = if report.status == "success" {
        "At the end"
    } else {
        "At the last point"
    };
    let header = ["unknown", "value"];
    let caption = format!("{lead}, t = {}", tidy_number(report.time));
    let mut table = Table::new(caption.clone(), &header).numeric(&[1]);
    for (name, value) in &report.last {
        let value = value.as_f64().map_or("–".to_string(), tidy_number);
        table.row([Span::code(name), Span::text(value)]);
    }
    Block::details(caption, vec![Block::Table(table)])
}

/// What the run cost, and what its points are worth.
fn numbers(report: &SolveRecord, solution: &Solution, marks: &[Mark]) -> Block {
    let s = &report.statistics;
    let mut table = Table::new("What the run cost", &["count", "number"]).numeric(&[1]);
    let counts = [
        (format!("steps by {}", report.method), s.steps),
        ("steps tried again".to_string(), s.rejected),
        ("expansions into series".to_string(), s.jets),
        ("evaluations of the equations".to_string(), s.residuals),
        ("evaluations of the Jacobian".to_string(), s.jacobians),
        ("factorisations".to_string(), s.factorizations),
    ];
    for (name, number) in counts {
        table.row([Span::Text(name), Span::text(number.to_string())]);
    }
    let header = ["derivative", "residual"];
    let caption =
        "Largest scaled residual of the equations and their derivatives at accepted points";
    let mut residuals = Table::new(caption, &header).numeric(&[0, 1]);
    for (order, residual) in report.residuals.iter().enumerate() {
        residuals.row([
            Span::text(order.to_string()),
            Span::text(format!("{residual:.1e}")),
        ]);
    }
    let mut blocks = vec![
        Block::text(format!("Relative tolerance {:e}.", solution.rtol)),
        Block::Table(table),
        Block::Table(residuals),
    ];
    if let Some(chart) = inspected(solution, marks) {
        blocks.push(Block::Chart(chart));
    }
    Block::details("The numbers behind the run", blocks)
}

/// How far the blocks of the system Jacobian are from singular, along the run.
fn inspected(solution: &Solution, marks: &[Mark]) -> Option<Chart> {
    let mut inspector = solution.inspector()?;
    let mut point = vec![0.0; Inspector::n_coefficients(&inspector)];
    let (from, to) = (solution.from, solution.reached());
    let n = MAX_INSPECTIONS;
    let times = (0..n).map(|k| from + (to - from) * k as f64 / (n - 1) as f64);
    let mut pairs: Vec<(f64, f64)> = Vec::new();
    for time in times {
        if !solution.run.trajectory.coefficients(time, &mut point) {
            continue;
        }
        if let Ok(inspection) = inspector.inspect(time, &point) {
            pairs.push((time, inspection.sigma_min));
        }
    }
    pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
    pairs.dedup_by(|a, b| a.0 == b.0);
    if !pairs.iter().any(|(_, sigma)| *sigma > 0.0) {
        return None;
    }
    let (times, values) = pairs.into_iter().unzip();
    Some(Chart {
        caption: "Least singular value of the blocks that decide".to_string(),
        x_label: "t [s]".to_string(),
        y_label: "relative".to_string(),
        times,
        series: vec![Series {
            name: "least singular value".to_string(),
            values,
        }],
        marks: marks.to_vec(),
        is_logarithmic: true,
        y_limits: None,
    })
}

/// The mechanism along a run.
struct Scene<'a> {
    drawing: Drawing<'a>,
    system: &'a System,
    solution: &'a Solution,
    stage: Stage,
    times: Vec<f64>,
    frames: Vec<crate::Frame>,
}

impl<'a> Scene<'a> {
    fn new(model: &'a Model, system: &'a System, solution: &'a Solution) -> Option<Self> {
        // A settled model has other unknowns than the one that is drawn.
        if model.unknowns.len() > system.unknowns().len() {
            return None;
        }
        let drawing = Drawing::of(model)?;
        let (from, to) = (solution.from, solution.reached());
        let n = MAX_FRAMES;
        let even = (0..n).map(|k| from + (to - from) * k as f64 / (n - 1) as f64);
        let mut times: Vec<f64> = even.collect();
        times[n - 1] = to;
        // Singular times are met exactly.
        for explained in &solution.singularities {
            let distance = |time: &f64| (time - explained.found.time).abs();
            let near = times
                .iter_mut()
                .min_by(|a, b| distance(a).total_cmp(&distance(b)));
            if let Some(near) = near {
                *near = within(explained.found.time, from, to);
            }
        }
        times.sort_by(f64::total_cmp);
        times.dedup();
        let frames = drawing.frames(system, solution, &times);
        let stage = stage(&drawing, &frames)?;
        Some(Self {
            drawing,
            system,
            solution,
            stage,
            times,
            frames,
        })
    }

    fn film(&self, model: &Model, marks: &[Mark]) -> Block {
        let (from, to) = (self.solution.from, self.solution.reached());
        let description = format!(
            "Moving drawing of {} from t = {} to {}",
            model.name,
            short(from),
            short(to)
        );
        let caption = format!(
            "{} from t = {} to {}. Squares rest; the thin line is the way of the last point.",
            model.name,
            short(from),
            short(to)
        );
        Block::Film(Film {
            stage: self.stage.clone(),
            times: self.times.clone(),
            frames: self.frames.clone(),
            marks: marks.to_vec(),
            caption: vec![Span::text(caption)],
            description,
        })
    }

    /// The mechanism at an instant, and faint a little before and after.
    fn at(&self, time: f64, caption: String) -> Option<Block> {
        let (from, to) = (self.solution.from, self.solution.reached());
        let aside = ASIDE * (to - from).abs();
        let times = [0.0, -2.0, -1.0, 1.0, 2.0].map(|k| within(time + k * aside, from, to));
        let frames = self.drawing.frames(self.system, self.solution, &times);
        let (frame, ghosts) = frames.split_first()?;
        let mut picture = picture(
            &self.stage,
            frame,
            vec![Span::text(caption.clone())],
            caption,
        );
        picture.ghosts = ghosts.to_vec();
        Some(Block::Picture(picture))
    }
}

fn within(time: f64, from: f64, to: f64) -> f64 {
    time.clamp(from.min(to), from.max(to))
}

/// Every singularity in words, with the mechanism at that instant and the numbers behind it.
fn singularities(
    system: &System,
    solution: &Solution,
    report: &SolveRecord,
    scene: Option<&Scene<'_>>,
) -> Option<Section> {
    if report.singularities.is_empty() {
        return None;
    }
    let mut section = Section::new("singularities", "Singularities met");
    let all = report.singularities.iter().zip(&solution.singularities);
    for (number, (record, explained)) in (1..).zip(all).take(MAX_EXPLAINED) {
        let kind = record
            .kind
            .as_ref()
            .map_or(String::new(), |kind| format!(", kind {kind}"));
        let title = format!("{number}. t = {}{kind}", tidy_number(record.time));
        section.blocks.push(Block::Heading(title));
        section.blocks.extend(words(system, record, explained));
        let caption = format!(
            "The mechanism at t = {}; faint, a little before and after.",
            tidy_number(record.time)
        );
        section
            .blocks
            .extend(scene.and_then(|scene| scene.at(record.time, caption)));
        section.blocks.push(evidence(system, solution, explained));
    }
    let n = report.singularities.len();
    if n > MAX_EXPLAINED {
        let more = n - MAX_EXPLAINED;
        section.blocks.push(Block::text(format!(
            "There are {more} more; `daelight solve --json` lists them all."
        )));
    }
    Some(section)
}

fn words(system: &System, record: &SingularityRecord, explained: &Explained) -> Vec<Block> {
    let mut first = vec![Span::Strong(capitalised(&record.nature))];
    let meaning = nature_words(record);
    first.push(match meaning.split_once(": ") {
        Some((_, rest)) => Span::text(format!(": {rest}.")),
        None => Span::text(format!(": {meaning}.")),
    });
    if let Some(locus) = &record.locus {
        first.push(Span::text(" It lies where "));
        first.push(Span::code(format!("{locus} = 0")));
        first.push(Span::text(match &record.role {
            Some(role) => format!(", {role}."),
            None => ".".to_string(),
        }));
    }
    let mut blocks = vec![Block::Text(first)];
    if let Some(kind) = explained.kind {
        blocks.push(Block::text(match kind {
            daelight_analysis::chain::Kind::RankDrop(k) => {
                format!("Kind {kind}: the matrix chain loses rank at its level {k}.")
            }
            daelight_analysis::chain::Kind::KernelsMeet(k) => {
                format!(
                    "Kind {kind}: at level {k} of the matrix chain a kernel meets the earlier ones."
                )
            }
        }));
    }
    if !explained.equations.is_empty() {
        let lead = match record.unknowns.is_empty() {
            true => "It concerns these equations:".to_string(),
            false => format!(
                "These equations do not determine {} there:",
                record.unknowns.join(", ")
            ),
        };
        blocks.push(Block::text(lead));
        let item = |&i: &usize| {
            let line = system.equation_line(i);
            vec![
                Span::code(system.equation_text(i)),
                Span::text(format!(" (line {line})")),
            ]
        };
        blocks.push(Block::List(
            explained.equations.iter().take(12).map(item).collect(),
        ));
    }
    let open: Vec<String> = record
        .null_vector
        .iter()
        .filter_map(|(name, value)| Some((name, value.as_f64()?)))
        .filter(|(_, value)| value.abs() > 1e-6)
        .map(|(name, value)| format!("{name}: {value:.4}"))
        .collect();
    if !open.is_empty() && open.len() <= 12 {
        let text = format!("Open direction: {}.", open.join(", "));
        blocks.push(Block::text(text));
    }
    blocks
}

/// The numbers behind a singularity.
fn evidence(system: &System, solution: &Solution, explained: &Explained) -> Block {
    let evidence = &explained.found.evidence;
    let header = ["quantity", "value"];
    let mut table = Table::new("Evidence", &header).numeric(&[1]);
    let yes = |is: bool| if is { "yes" } else { "no" }.to_string();
    let mut row = |name: &str, value: String| table.row([Span::text(name), Span::Text(value)]);
    row("time", format!("{}", explained.found.time));
    row(
        "least over greatest singular value of the equilibrated block there",
        format!("{:.1e}", evidence.singular_ratio),
    );
    row(
        "the determinant changes its sign",
        yes(evidence.sign_change),
    );
    row(
        "distance at which the nature was decided",
        format!("{:.1e}", evidence.distance),
    );
    row(
        "step that the series allow there",
        format!("{:.1e}", evidence.step),
    );
    if let Some(jump) = &evidence.jump {
        row("last expansion before", format!("{}", jump.from));
        row("first expansion after", format!("{}", jump.to));
        row("residual after the jump", format!("{:.1e}", jump.residual));
        row(
            "difference of the series from both sides",
            format!("{:.1e}", jump.mismatch),
        );
    }
    for fit in &evidence.fits {
        row(
            &format!(
                "exponent of {} towards the singularity",
                solution.unknown_name(system, fit.unknown)
            ),
            format!("{:.3}", fit.exponent),
        );
    }
    Block::details("The numbers behind it", vec![Block::Table(table)])
}
