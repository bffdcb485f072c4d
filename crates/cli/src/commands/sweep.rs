//! The command `sweep`: points and measures read, rows written, a summary.

use super::models::{asks_for_least_norm, options as options_of};
use super::plot::Picture;
use super::progress::{CountLine, StageLine, interrupt_by_ctrl_c};
use super::solve::{DEFAULT_POINTS, MAX_POINTS, check_numbers};
use super::sweep_picture;
use super::values::{Format, check_ending};
use crate::cli::{Method, OnSingularity, OnZeno, SweepArgs};
use crate::terminal::{self as own, Status, Terminal, Wrong};
use daelight::files::{MOST_TABLE_BYTES, read_at_most, write_whole};
use daelight::sweep::{
    Axis, Measure, Settings, Shard, Store, StoreError, Sweep, SweepEnd, SweepPoints, SweepRefusal,
    SweepRow,
};
use daelight::{SolveOptions, record};
use daelight_lang::{Code, Loaded, Options};
use daelight_show::record::to_json;
use daelight_show::terminal;
use daelight_show::{Table, columns_json, columns_parquet};
use std::ops::{ControlFlow, Range};
use std::path::Path;

/// Measures the points, keeps the rows, and draws them.
pub fn sweep(arguments: &SweepArgs, terminal: &Terminal) -> own::Ended {
    let model = &arguments.model;
    if asks_for_least_norm(model) {
        return Err(terminal.no_least_norm());
    }
    let Prepared {
        points,
        measures,
        settings,
        shard,
        picture,
    } = prepare(arguments).map_err(|wrong| terminal.wrong(wrong))?;
    let mut options = Options {
        stop_when: arguments.stop_when.clone(),
        ..options_of(model)
    };
    let text = daelight::text_of(&model.model, &mut options).map_err(|diagnostic| {
        terminal.show(&[*diagnostic], &Default::default());
        Status::WrongUsage
    })?;
    let line = StageLine::new("preparing", terminal);
    let sweep = Sweep::new(text, &options, points, measures, settings);
    drop(line);
    let sweep = sweep.map_err(|refusal| refuse(refusal, terminal))?;
    terminal.note(&sweep.notes());
    let bands = bands(&sweep, arguments, terminal)?;
    let n_points = sweep.points().len();
    let range = shard.map_or(0..n_points, |shard| shard.range(n_points));
    if range.len() > MAX_POINTS {
        let n = range.len();
        return Err(terminal.usage(
            &format!("there are {n} points, and {MAX_POINTS} are measured in one go"),
            &format!(
                "measure them in parts: --shard 1/{}",
                n.div_ceil(MAX_POINTS)
            ),
        ));
    }
    let out = model.out.as_deref();
    let measured = measure(&sweep, range.clone(), out, arguments.resume, terminal);
    let (rows, ended) = measured.map_err(|wrong| terminal.wrong(wrong))?;
    if let Some(picture) = picture {
        let figure = match bands.is_empty() {
            true => sweep_picture::figure(&sweep, &rows),
            false => sweep_picture::bands(&sweep, &rows, &bands),
        };
        picture.write(figure, terminal)?;
    }
    let partial = out.map(daelight::sweep::partial_path);
    let kept = match ended {
        SweepEnd::Interrupted => partial.as_deref(),
        SweepEnd::Finished => out,
    };
    let mut report = record::sweep(&sweep, &rows, range.len(), kept);
    report.warnings.extend(shard.map(|shard| {
        let (first, n) = (range.start, n_points);
        format!(
            "Part {} of {}: points from {first} on, of {n} in all.",
            shard.number, shard.of
        )
    }));
    if ended == SweepEnd::Interrupted {
        let how = match out {
            Some(_) => "what was measured is kept; the same command with --resume goes on",
            None => "with --out FILE, what was measured would be kept for --resume",
        };
        report.warnings.push(format!("Interrupted: {how}."));
    }
    terminal.print(&report, terminal::sweep, model.json, None)?;
    Ok(match ended {
        SweepEnd::Interrupted => Status::GaveUp,
        SweepEnd::Finished => Status::Done,
    })
}

struct Prepared {
    points: SweepPoints,
    measures: Vec<Measure>,
    settings: Settings,
    shard: Option<Shard>,
    picture: Option<Picture>,
}

/// Whether the rows have a file that can hold them, if they need one.
fn check_file(wanted: &SweepArgs) -> Result<(), Wrong> {
    let out = wanted.model.out.as_deref();
    check_ending(out)?;
    if out == Some(Path::new(own::STANDARD_OUTPUT)) {
        return Err((
            "the rows of a sweep are kept in a file while it runs".to_string(),
            "name one: --out rows.csv".to_string(),
        ));
    }
    if wanted.resume && out.is_none() {
        return Err((
            "--resume goes on with a file, and none is named".to_string(),
            "name it with --out".to_string(),
        ));
    }
    Ok(())
}

/// Reads what the flags say.
fn prepare(wanted: &SweepArgs) -> Result<Prepared, Wrong> {
    check_file(wanted)?;
    if wanted.method == Method::BdfFixed {
        return Err((
            "bdf-fixed has no meaning here".to_string(),
            "choose auto, taylor, radau or bdf".to_string(),
        ));
    }
    let points = points(wanted)?;
    let picture = Picture::wanted(&wanted.picture)?;
    if picture.is_some() && wanted.bands.is_empty() {
        sweep_picture::check(points.names().len(), points.axes().is_some())?;
    }
    for name in points.names() {
        let is_set = |text: &&String| text.split('=').next().is_some_and(|n| n.trim() == name);
        if let Some(text) = wanted.model.set.iter().find(is_set) {
            return Err((
                format!(
                    "`{name}` changes from point to point, and --set {text} gives it one value"
                ),
                "leave one of both out".to_string(),
            ));
        }
    }
    let measures = measures(wanted)?;
    let shard = (wanted.shard.as_deref())
        .map(Shard::read)
        .transpose()
        .map_err(|message| (message, "the first of eight parts is 1/8".to_string()))?;
    let solve = SolveOptions {
        to: wanted.to,
        rtol: wanted.rtol,
        method: wanted.method.chosen(),
        continues: wanted.on_singularity == OnSingularity::Continue,
        rests_at_zeno: wanted.on_zeno == OnZeno::Rest,
        max_steps: wanted.max_steps,
        budget: Some(wanted.budget),
        ..SolveOptions::default()
    };
    check_numbers(&solve)?;
    Ok(Prepared {
        points,
        measures,
        settings: Settings {
            solve,
            place: daelight::Place {
                budget: Some(wanted.budget),
                ..Default::default()
            },
            limits: daelight_singular::SearchLimits {
                time: wanted.budget,
                ..Default::default()
            },
            locked: (wanted.locked.iter())
                .flat_map(|names| names.0.iter().cloned())
                .collect(),
            n_threads: wanted.threads.map(|n| n as usize),
            times: Vec::new(),
            n_times: if wanted.bands.is_empty() {
                0
            } else {
                DEFAULT_POINTS
            },
        },
        shard,
        picture,
    })
}

/// What is measured; how runs end where only quantiles are drawn.
fn measures(wanted: &SweepArgs) -> Result<Vec<Measure>, Wrong> {
    let form = |message: String| (message, MEASURES.to_string());
    let mut measures = (wanted.measure.iter())
        .map(|text| Measure::read(text))
        .collect::<Result<Vec<Measure>, String>>()
        .map_err(form)?;
    if measures.is_empty() {
        measures.push(Measure::Status);
    }
    for (at, measure) in measures.iter().enumerate() {
        if measures[..at].contains(measure) {
            return Err((
                format!("{measure} is measured twice"),
                "name it once".to_string(),
            ));
        }
    }
    Ok(measures)
}

/// The positions of the unknowns whose quantiles are drawn.
fn bands(sweep: &Sweep, wanted: &SweepArgs, terminal: &Terminal) -> Result<Vec<usize>, Status> {
    let places = (wanted.bands.iter().flat_map(|names| &names.0)).map(|name| sweep.place_of(name));
    let found: Result<Vec<usize>, _> = places.collect();
    let found = found.map_err(|diagnostic| terminal.refuse(*diagnostic, &Default::default()))?;
    // So many runs leave as many numbers as twenty files of the largest size: 1.6 GB.
    let most = 20 * MAX_POINTS / (sweep.unknowns().len() * sweep.times().len()).max(1);
    if !found.is_empty() && sweep.points().len() > most {
        return Err(terminal.usage(
            "the values of so many runs do not fit into the memory",
            &format!("draw quantiles of at most {most} runs"),
        ));
    }
    Ok(found)
}

/// The list of measures for help.
const MEASURES: &str = "measures are index, dof, singular-count, first-singular-time, sigma-min, locus-zero, final:EXPR, \
                        max:EXPR, min:EXPR, max-abs:EXPR and status";

fn points(wanted: &SweepArgs) -> Result<SweepPoints, Wrong> {
    let axes = (wanted.over.iter())
        .map(|text| Axis::read(text))
        .collect::<Result<Vec<Axis>, String>>()
        .map_err(|message| {
            (
                message,
                format!("write --over {}", like(wanted, "0.5:2:40")),
            )
        })?;
    let found = match (&wanted.list, wanted.random) {
        (Some(path), _) => list(path),
        (None, Some(n)) => SweepPoints::random(&axes, n, wanted.seed),
        (None, None) if axes.is_empty() => {
            return Err((
                "the sweep has no points".to_string(),
                "name a range with --over L=0.5:2:40, or a table with --list".to_string(),
            ));
        }
        (None, None) => SweepPoints::grid(&axes),
    };
    found.map_err(|message| {
        let help = match &wanted.list {
            Some(_) => "the first line names parameters, each other line is a point",
            None => &format!(
                "write --over {}, or --over {} --random 1000",
                like(wanted, "0.5:2:40"),
                like(wanted, "0.5:2")
            ),
        };
        (message, help.to_string())
    })
}

/// A range as an example, of the parameter that `--over` names first.
fn like(wanted: &SweepArgs, range: &str) -> String {
    let named = wanted.over.first().and_then(|text| text.split_once('='));
    let name = named.map_or("L", |(name, _)| name.trim());
    format!("{name}={range}")
}

/// Points from a table whose columns are parameters.
fn list(path: &Path) -> Result<SweepPoints, String> {
    let place = path.display();
    let bytes = read_at_most(path, MOST_TABLE_BYTES)
        .map_err(|error| format!("cannot read {place}: {error}"))?;
    let format = path.extension().and_then(|e| e.to_str()).unwrap_or("");
    let table = Table::read_list(&bytes, format).map_err(|why| format!("{place}: {why}"))?;
    let n = table.columns.first().map_or(0, Vec::len);
    let rows = (0..n)
        .map(|k| table.columns.iter().map(|column| column[k]).collect())
        .collect();
    SweepPoints::list(table.names, rows).map_err(|why| format!("{place}: {why}"))
}

fn refuse(refusal: SweepRefusal, terminal: &Terminal) -> Status {
    terminal.show(&refusal.diagnostics, &refusal.sources);
    let is_usage = |code: Code| matches!(code, Code::UnknownParameter | Code::MalformedSet);
    let is_of_names = refusal.diagnostics.iter().all(|d| is_usage(d.code));
    let read = Loaded {
        model: None,
        diagnostics: refusal.diagnostics,
        sources: refusal.sources,
    };
    match is_of_names || read.usage_is_wrong() {
        true => Status::WrongUsage,
        false => Status::ModelAtFault,
    }
}

/// Measures what is not in the file yet, and keeps it there.
fn measure(
    sweep: &Sweep,
    range: Range<usize>,
    out: Option<&Path>,
    resume: bool,
    terminal: &Terminal,
) -> Result<(Vec<SweepRow>, SweepEnd), Wrong> {
    let unwritable = |place: &Path, error: &StoreError| {
        let help = match error {
            StoreError::File(_) => "choose another place with --out",
            StoreError::Foreign(_) => "leave --resume out to begin anew, or name another file",
        };
        let what = match error {
            StoreError::File(_) => "cannot use",
            StoreError::Foreign(_) => "cannot go on with",
        };
        (
            format!("{what} {}: {error}", place.display()),
            help.to_string(),
        )
    };
    let mut rows = Vec::new();
    let mut store = None;
    if let Some(out) = out {
        if resume && let Some(finished) = finished(sweep, range.clone(), out)? {
            return Ok((finished, SweepEnd::Finished));
        }
        let opened = Store::open(out, sweep, range.clone(), resume);
        let (opened, old) = opened.map_err(|error| unwritable(out, &error))?;
        if resume && !terminal.quiet {
            let n = old.len();
            terminal.note(&[format!("{n} of {} points are there already", range.len())]);
        }
        rows = old;
        store = Some(opened);
    }
    let next = range.start + rows.len();
    let interrupt = interrupt_by_ctrl_c();
    let mut progress = CountLine::new(range.len(), terminal);
    let mut failed: Option<std::io::Error> = None;
    let ended = sweep.rows(next..range.end, Some(&interrupt), &mut |row| {
        if let Some(progress) = &mut progress {
            progress.tell(row.number + 1 - range.start);
        }
        if let Some(store) = &mut store
            && let Err(error) = store.push(&row)
        {
            failed = Some(error);
            return ControlFlow::Break(());
        }
        rows.push(row);
        ControlFlow::Continue(())
    });
    if let Some(progress) = progress {
        progress.clear();
    }
    if let (Some(store), Some(out)) = (store, out) {
        let path = store.path().to_path_buf();
        let kept = match (failed, ended) {
            (Some(error), _) => Err(error),
            (None, SweepEnd::Interrupted) => { store }.flush(),
            (None, SweepEnd::Finished) => write_finished(sweep, &rows, store, out),
        };
        kept.map_err(|error| unwritable(&path, &StoreError::File(error)))?;
    }
    Ok((rows, ended))
}

/// The rows of a complete file, if there is one and nothing is under way.
fn finished(
    sweep: &Sweep,
    range: Range<usize>,
    out: &Path,
) -> Result<Option<Vec<SweepRow>>, Wrong> {
    let is_csv = matches!(Format::of(out), Ok(Format::Csv));
    if !is_csv || !out.exists() || daelight::sweep::partial_path(out).exists() {
        return Ok(None);
    }
    let place = out.display();
    let wrong = |error: &dyn std::fmt::Display| {
        (
            format!("cannot go on with {place}: {error}"),
            "leave --resume out to begin anew, or name another file".to_string(),
        )
    };
    let text = std::fs::read_to_string(out).map_err(|error| wrong(&error))?;
    let n = range.len();
    let (rows, _) = daelight::sweep::read_rows(&text, sweep, range).map_err(|e| wrong(&e))?;
    if rows.len() < n {
        return Err(wrong(&format!("it has {} rows of {n}", rows.len())));
    }
    Ok(Some(rows))
}

/// The complete rows as a file of the kind that its name asks for.
fn write_finished(
    sweep: &Sweep,
    rows: &[SweepRow],
    store: Store,
    out: &Path,
) -> std::io::Result<()> {
    let bytes = match Format::of(out) {
        Ok(Format::Parquet) => {
            columns_parquet(&record::sweep_columns(sweep, rows)).map_err(std::io::Error::other)?
        }
        Ok(Format::Json) => {
            to_json(&columns_json(&record::sweep_columns(sweep, rows))).into_bytes()
        }
        _ => return store.finish(out),
    };
    write_whole(out, &bytes)?;
    store.remove()
}
