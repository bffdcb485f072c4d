//! A map: one measure over two parameters.

use super::{Answered, SIZES, numbers, shown_text};
use crate::folder::Folder;
use crate::question::PageQuestion;
use crate::worker::{Lines, write};
use daelight::sweep::{Axis, Measure, Measured, Settings, Sweep, SweepPoints};
use daelight::{Place, SolveOptions};
use daelight_show::terminal::frame;
use daelight_singular::SearchLimits;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// How long one point may take.
const BUDGET: Duration = Duration::from_secs(5);

/// A map, with the reason of every point that has no value.
pub fn map(question: &PageQuestion, folder: &Folder, out: &Lines) -> Answered {
    let refused = |why: String| json!({ "refused": why });
    let axes = question.over.iter().map(|text| Axis::read(text));
    let axes: Vec<Axis> = axes.collect::<Result<_, _>>().map_err(refused)?;
    let points = SweepPoints::grid(&axes).map_err(refused)?;
    if axes.len() != 2 || points.len() > SIZES.points {
        let why = format!(
            "A map has two parameters and {} points at most.",
            SIZES.points
        );
        return Err(refused(why));
    }
    let measure = Measure::read(&question.measure).map_err(refused)?;
    let settings = Settings {
        solve: SolveOptions {
            to: question.to,
            continues: question.passes,
            budget: Some(BUDGET),
            ..SolveOptions::default()
        },
        place: Place {
            budget: Some(BUDGET),
            ..Place::default()
        },
        limits: SearchLimits {
            time: BUDGET,
            memory: 1 << 30,
            ..SearchLimits::default()
        },
        ..Settings::default()
    };
    let (text, mut options) = shown_text(question, folder)?;
    let swept = |set: &String| {
        let name = set.split('=').next();
        points
            .names()
            .iter()
            .any(|other| name == Some(other.as_str()))
    };
    options.set.retain(|set| !swept(set));
    let sweep = Sweep::new(text, &options, points, vec![measure], settings);
    let sweep = sweep.map_err(|refusal| match refusal.diagnostics.first() {
        Some(first) => json!({
            "refused": first.message, "help": first.help, "frame": frame(first, &refusal.sources, false),
        }),
        None => json!({ "refused": refusal.to_string() }),
    })?;
    Ok(rows(&sweep, out))
}

fn rows(sweep: &Sweep, out: &Lines) -> Value {
    let n = sweep.points().len();
    let mut told = Instant::now();
    let mut values = Vec::with_capacity(n);
    let mut reasons: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    sweep.rows(0..n, None, &mut |row| {
        if told.elapsed() > Duration::from_millis(200) {
            told = Instant::now();
            let _ = write(out, &format!("progress {}", 1000 * row.number / n.max(1)));
        }
        values.push(match &row.measured[0] {
            Measured::Number(value) => json!(value.is_finite().then_some(value)),
            Measured::Word(word) => json!(word),
            Measured::Missing => Value::Null,
        });
        if !row.reason.is_empty() {
            reasons.entry(row.reason).or_default().push(row.number);
        }
        ControlFlow::Continue(())
    });
    let curves = sweep.curves();
    let lines = curves.iter().flat_map(|curve| &curve.lines);
    let lines = lines.map(|line| numbers(line.iter().flat_map(|&(x, y)| [x, y])));
    json!({
        "names": sweep.points().names(),
        "labels": [sweep.label(0), sweep.label(1)],
        "axes": sweep.points().axes(),
        "values": values,
        "reasons": reasons,
        "curves": lines.collect::<Vec<_>>(),
        "warnings": sweep.notes(),
    })
}
