//! What pages and pictures show of a run: samples, margins, the mechanism at instants.

use crate::drawing::Drawing;
use crate::hybrid::{HybridSolution, Instant};
use crate::samples::{NamedRows, samples};
use crate::solve::Solution;
use daelight_analysis::System;
use daelight_analysis::initial::Request;
use daelight_analysis::passport::{ArrayCondition, MAX_NUMERICAL, Passport};
use daelight_integrate::Inspector;
use daelight_lang::Model;
use daelight_show::page::MAX_EXPLAINED;
use daelight_show::picture::{MOST_MARKS, NO_DRAWING, RESIDUAL, RunPicture, SINGULAR_VALUE};
use daelight_show::record::{RunSamples, RunView, SolveRecord, TimePoints, TimeSeries};
use daelight_show::scene::Scene;
use std::collections::HashSet;

/// Evenly spread times at which a page looks at a run, and those inside each step.
const EVEN_TIMES: usize = 1201;
const TIMES_PER_STEP: usize = 4;
/// Most steps that are looked at one by one.
const MAX_STEPS: usize = 1000;
/// Most unknowns of a page's plots.
const MAX_UNKNOWNS: usize = 96;
/// Elements of an array among them, where there are more unknowns than that: a plot tells so many apart.
const MAX_ELEMENTS: usize = 6;
/// Frames of the moving drawing.
const MAX_FRAMES: usize = 241;
/// Times at which the blocks of the system Jacobian are looked at.
const MAX_INSPECTIONS: usize = 301;
/// Time between the faint instants around a singularity, as a part of the run.
const ASIDE: f64 = 0.02;
/// Points of a picture over a run, beside those around singular times.
const N_POINTS: usize = 401;
/// Points at which the condition of the derivative array is computed.
const N_CONDITION_POINTS: usize = 161;
/// Instants of a run that are drawn, and points of the paths between them.
const N_STILLS: usize = 9;
const N_PATH_POINTS: usize = 601;

/// A run with nothing of it shown yet.
fn empty(system: &System, solution: &Solution) -> RunView {
    RunView {
        model: system.name().to_string(),
        from: solution.from,
        reached: solution.reached(),
        rtol: solution.rtol,
        n_unknowns: system.unknowns().len(),
        ..RunView::default()
    }
}

/// Adds to the record of a run what a page shows of it.
pub(super) fn illustrate(
    record: &mut SolveRecord,
    model: &Model,
    system: &System,
    solution: &Solution,
) {
    let mut view = empty(system, solution);
    view.samples = curves(system, solution);
    view.margins = margins(solution);
    // A settled model has other unknowns than the one that is drawn.
    let is_drawn = model.unknowns.len() <= system.unknowns().len();
    if let Some(drawing) = Drawing::of(model).filter(|_| is_drawn) {
        view.scene = film(&drawing, system, solution);
        if let Some(scene) = &view.scene {
            for found in record.singularities.iter_mut().take(MAX_EXPLAINED) {
                found.scene = Some(around(&drawing, scene, system, solution, found.time));
            }
        }
    }
    record.view = Some(Box::new(view));
}

/// The same for a run with events: curves with both sides of each of them.
pub(super) fn illustrate_events(
    record: &mut SolveRecord,
    model: &Model,
    system: &System,
    solution: &HybridSolution,
) {
    let ends = (solution.from, solution.reached);
    let names = HybridSolution::names(model);
    let n_unknowns = model.unknowns.len();
    let instants = instants(solution);
    let rows = solution.rows(model, &instants, false);
    let shown = (0..names.len()).filter(|&at| match at.checked_sub(n_unknowns) {
        None => at < MAX_UNKNOWNS,
        Some(discrete) => discrete < MAX_UNKNOWNS,
    });
    let series: Vec<TimeSeries> = shown
        .map(|at| TimeSeries {
            name: names[at].clone(),
            unit: match at < n_unknowns {
                true => system.unit(at),
                false => String::new(),
            },
            values: rows.iter().map(|row| row[at]).collect(),
        })
        .collect();
    let times = instants.iter().map(|(_, time)| *time).collect();
    let n_discrete = series.len() - n_unknowns.min(MAX_UNKNOWNS);
    let scene = Drawing::of(model).and_then(|drawing| {
        let times = evenly(ends, MAX_FRAMES);
        let frames = drawing.frames_with_events(solution, &times);
        drawing.scene(times, frames, &[])
    });
    record.view = Some(Box::new(RunView {
        model: system.name().to_string(),
        from: solution.from,
        reached: solution.reached,
        rtol: solution.rtol,
        n_unknowns: names.len(),
        n_discrete,
        samples: RunSamples { times, series },
        scene,
        ..RunView::default()
    }));
}

/// The record of a run with events and values that were taken along it, with the mechanism at their times.
pub fn with_rows(record: SolveRecord, model: &Model, (names, rows): &NamedRows) -> SolveRecord {
    let unit = |name: &str| {
        let unknown = model.unknowns.iter().find(|unknown| unknown.name == name);
        unknown.map_or(String::new(), |u| {
            model.declarations[u.declaration].unit.clone()
        })
    };
    let discrete = model.hybrid.iter().flat_map(|hybrid| &hybrid.variables);
    let discrete: HashSet<&str> = discrete.map(|variable| &variable.name[..]).collect();
    let given = model.parameters.iter().map(|parameter| &parameter.name[..]);
    // Parameters of components are among the values.
    let given: HashSet<&str> = given.filter(|name| !discrete.contains(name)).collect();
    let shown = names.iter().enumerate();
    let shown = shown.filter(|(_, name)| !given.contains(&name[..]));
    let series = shown.map(|(at, name)| TimeSeries {
        name: name.clone(),
        unit: unit(name),
        values: rows.iter().map(|row| row.1[at]).collect(),
    });
    let times: Vec<f64> = rows.iter().map(|row| row.0).collect();
    let scene = Drawing::of(model).and_then(|drawing| {
        let frame = |row: &(f64, Vec<f64>)| {
            drawing.frame_of_named(row.0, |name| {
                let at = names.iter().position(|other| other == name)?;
                row.1.get(at).copied()
            })
        };
        drawing.scene(times.clone(), rows.iter().map(frame).collect(), &[])
    });
    let view = RunView {
        model: model.name.clone(),
        n_unknowns: model.unknowns.len(),
        samples: RunSamples {
            series: series.collect(),
            times,
        },
        scene,
        ..RunView::default()
    };
    SolveRecord {
        view: Some(Box::new(view)),
        ..record
    }
}

/// Evenly spread times of a run with events, times inside its steps, and both sides of each event.
fn instants(solution: &HybridSolution) -> Vec<Instant> {
    let mut wanted = evenly((solution.from, solution.reached), EVEN_TIMES);
    let segments = || {
        solution
            .legs
            .iter()
            .flat_map(|leg| leg.trajectory.segments())
    };
    if segments().count() <= MAX_STEPS {
        for segment in segments() {
            let step = (segment.end - segment.start) / TIMES_PER_STEP as f64;
            wanted.extend((0..TIMES_PER_STEP).map(|k| segment.start + k as f64 * step));
        }
    }
    wanted.sort_by(f64::total_cmp);
    solution.with_sides(&wanted)
}

/// `n` times, evenly over a run.
fn evenly((from, to): (f64, f64), n: usize) -> Vec<f64> {
    let share = |k: usize| k as f64 / (n - 1) as f64;
    let mut times: Vec<f64> = (0..n).map(|k| from + (to - from) * share(k)).collect();
    times[n - 1] = to;
    times
}

fn ends(solution: &Solution) -> (f64, f64) {
    (solution.from, solution.reached())
}

/// Times of a run in their order, each once; others are left out.
fn within_run(mut times: Vec<f64>, solution: &Solution) -> Vec<f64> {
    let (from, to) = (solution.from, solution.reached());
    let (low, high) = (from.min(to), from.max(to));
    times.retain(|time| (low..=high).contains(time));
    times.sort_by(f64::total_cmp);
    times.dedup();
    times
}

/// Unknowns at evenly spread times, and inside the steps.
fn curves(system: &System, solution: &Solution) -> RunSamples {
    let mut times = evenly(ends(solution), EVEN_TIMES);
    let segments = solution.run.trajectory.segments();
    if segments.len() <= MAX_STEPS {
        for segment in segments {
            let step = (segment.end - segment.start) / TIMES_PER_STEP as f64;
            times.extend((0..TIMES_PER_STEP).map(|k| segment.start + k as f64 * step));
        }
    }
    let times = within_run(times, solution);
    let shown = shown_unknowns(system);
    let mut series: Vec<TimeSeries> = (shown.iter())
        .map(|&unknown| TimeSeries {
            name: system.unknowns()[unknown].name.clone(),
            unit: system.unit(unknown),
            values: Vec::with_capacity(times.len()),
        })
        .collect();
    let mut reader = solution.reader(system);
    for &time in &times {
        let values = reader.values(time).ok().flatten().unwrap_or_default();
        for (&unknown, one) in shown.iter().zip(&mut series) {
            one.values
                .push(values.get(unknown).copied().unwrap_or(f64::NAN));
        }
    }
    RunSamples { times, series }
}

/// Which unknowns the plots of a page show: all, or where they are too many a few of each array, evenly spread.
fn shown_unknowns(system: &System) -> Vec<usize> {
    let unknowns = system.unknowns();
    if unknowns.len() <= MAX_UNKNOWNS {
        return (0..unknowns.len()).collect();
    }
    let base = |at: usize| unknowns[at].name.split('[').next().unwrap_or_default();
    let mut shown = Vec::new();
    let mut first = 0;
    while first < unknowns.len() {
        let rest = first..unknowns.len();
        let end = rest.take_while(|&at| base(at) == base(first)).count() + first;
        let n = (end - first).min(MAX_ELEMENTS);
        let spread = |k: usize| first + k * (end - first - 1) / (n - 1).max(1);
        shown.extend((0..n).map(spread));
        first = end;
    }
    shown.truncate(MAX_UNKNOWNS);
    shown
}

/// How far the blocks of the system Jacobian are from singular, along the run.
fn margins(solution: &Solution) -> TimePoints {
    let Some(mut inspector) = solution.inspector() else {
        return TimePoints::new();
    };
    let mut point = vec![0.0; Inspector::n_coefficients(&inspector)];
    let mut pairs = TimePoints::new();
    for time in evenly(ends(solution), MAX_INSPECTIONS) {
        if !solution.run.trajectory.coefficients(time, &mut point) {
            continue;
        }
        if let Ok(inspection) = inspector.inspect(time, &point) {
            pairs.push((time, inspection.sigma_min));
        }
    }
    pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
    pairs.dedup_by(|a, b| a.0 == b.0);
    pairs
}

/// The mechanism along a run, at singular times exactly.
fn film(drawing: &Drawing<'_>, system: &System, solution: &Solution) -> Option<Scene> {
    let mut times = evenly(ends(solution), MAX_FRAMES);
    for explained in &solution.singularities {
        let distance = |time: &f64| (time - explained.found.time).abs();
        let near = times
            .iter_mut()
            .min_by(|a, b| distance(a).total_cmp(&distance(b)));
        if let Some(near) = near {
            *near = clamped(explained.found.time, solution);
        }
    }
    times.sort_by(f64::total_cmp);
    times.dedup();
    let frames = drawing.frames(system, solution, &times);
    drawing.scene(times, frames, &[])
}

fn clamped(time: f64, solution: &Solution) -> f64 {
    let (from, to) = (solution.from, solution.reached());
    time.clamp(from.min(to), from.max(to))
}

/// The mechanism at an instant, then a little before and after.
fn around(
    drawing: &Drawing<'_>,
    film: &Scene,
    system: &System,
    solution: &Solution,
    time: f64,
) -> Scene {
    let aside = ASIDE * (solution.reached() - solution.from).abs();
    let times = [0.0, -2.0, -1.0, 1.0, 2.0].map(|k| clamped(time + k * aside, solution));
    Scene {
        stage: film.stage.clone(),
        frames: drawing.frames(system, solution, &times),
        times: times.to_vec(),
    }
}

/// The record of a run with what a picture shows of it; `Err` tells why there is nothing to show.
pub fn run_picture(
    record: &SolveRecord,
    model: &Model,
    system: &System,
    solution: &Solution,
    what: RunPicture,
) -> Result<SolveRecord, String> {
    let mut view = empty(system, solution);
    match what {
        RunPicture::Trajectory | RunPicture::Residuals => sample(&mut view, system, solution)?,
        RunPicture::SingularValue => {
            sample(&mut view, system, solution)?;
            view.conditions = conditions(system, solution);
        }
        RunPicture::Drawing => {
            let drawing = Drawing::of(model).ok_or(NO_DRAWING)?;
            view.along = drawing.frames(system, solution, &evenly(ends(solution), N_PATH_POINTS));
            let stills = evenly(ends(solution), N_STILLS);
            let frames = drawing.frames(system, solution, &stills);
            view.scene = drawing.scene(stills, frames, &view.along);
        }
        RunPicture::Steps => view.steps = steps(solution),
        RunPicture::Loci => view.loci = loci(system, solution),
        RunPicture::Eigenvalues => {}
    }
    Ok(SolveRecord {
        view: Some(Box::new(view)),
        ..record.clone()
    })
}

/// The record of a run with what a page that follows sliders shows of it: values and margins at about `n` times of the run or of a
/// part of it, and the mechanism at the same times.
pub fn live(
    record: SolveRecord,
    model: &Model,
    system: &System,
    solution: &Solution,
    (part, n): (Option<(f64, f64)>, usize),
) -> Result<SolveRecord, String> {
    let mut view = empty(system, solution);
    let times = times_within(solution, part.unwrap_or(ends(solution)), n);
    sample_at(&mut view, system, solution, &times)?;
    // A settled model has other unknowns than the one that is drawn.
    let is_drawn = model.unknowns.len() <= system.unknowns().len();
    view.scene = Drawing::of(model).filter(|_| is_drawn).and_then(|drawing| {
        let times = view.samples.times.clone();
        let frames = drawing.frames(system, solution, &times);
        drawing.scene(times, frames, &[])
    });
    Ok(SolveRecord {
        view: Some(Box::new(view)),
        ..record
    })
}

/// Times over a run: evenly, at the ends of steps, and closer and closer to singular times.
fn times(solution: &Solution, n: usize) -> Vec<f64> {
    times_within(solution, ends(solution), n)
}

/// The same over a part of it.
fn times_within(solution: &Solution, (from, to): (f64, f64), n: usize) -> Vec<f64> {
    let mut times = evenly((from, to), n);
    let is_inside = |time: f64| (from.min(to)..=from.max(to)).contains(&time);
    let ends = solution.run.trajectory.segments().iter();
    let ends: Vec<f64> = (ends.map(|segment| segment.end))
        .filter(|&end| is_inside(end))
        .collect();
    if ends.len() <= 4 * n {
        times.extend(ends);
    }
    // Both sides of a switch, so that what jumps there is drawn as a jump.
    for switch in solution.run.switches.iter().take(MOST_MARKS) {
        let aside = f64::EPSILON.sqrt() * switch.time.abs().max(1.0);
        times.extend([switch.time - aside, switch.time + aside]);
    }
    for explained in solution.singularities.iter().take(MOST_MARKS) {
        let aside = (2..=8).map(|k| (to - from) * 10f64.powi(-k));
        times.extend(aside.flat_map(|d| [explained.found.time - d, explained.found.time + d]));
        times.push(explained.found.time);
    }
    times.retain(|&time| is_inside(time));
    within_run(times, solution)
}

/// Unknowns, inputs, residuals and margins over a run.
fn sample(view: &mut RunView, system: &System, solution: &Solution) -> Result<(), String> {
    sample_at(view, system, solution, &times(solution, N_POINTS))
}

/// Unknowns, inputs, residuals and margins at these times.
fn sample_at(
    view: &mut RunView,
    system: &System,
    solution: &Solution,
    times: &[f64],
) -> Result<(), String> {
    let (names, rows) = samples(system, solution, times)?;
    let points = |at: usize| {
        rows.iter()
            .map(|(time, values)| (*time, values[at]))
            .collect()
    };
    view.samples.times = rows.iter().map(|(time, _)| *time).collect();
    for (at, name) in names.iter().enumerate() {
        if name == SINGULAR_VALUE {
            view.margins = points(at);
        } else if name.starts_with(RESIDUAL) {
            view.residuals.push(points(at));
        } else {
            view.samples.series.push(TimeSeries {
                name: name.clone(),
                unit: match at < view.n_unknowns {
                    true => system.unit(at),
                    false => String::new(),
                },
                values: rows.iter().map(|(_, values)| values[at]).collect(),
            });
        }
    }
    Ok(())
}

/// The passport of the point where a run starts.
fn passport_of_start(system: &System, solution: &Solution) -> Passport {
    let mut request = Request::of_model(system, solution.from, 0);
    request.guess.copy_from_slice(solution.start.jet.values());
    request.given.clear();
    request.conditions.clear();
    Passport::new(system, &request)
}

/// The condition of the derivative array along a run of a small model.
fn conditions(system: &System, solution: &Solution) -> TimePoints {
    if system.unknowns().len() > MAX_NUMERICAL {
        return TimePoints::new();
    }
    let Some(condition) = ArrayCondition::of(&passport_of_start(system, solution)) else {
        return TimePoints::new();
    };
    let mut reader = solution.reader(system);
    let at = |time| {
        let jet = reader.jet(time);
        let value = jet.and_then(|jet| condition.at(system, time, &jet));
        (time, value.unwrap_or(f64::NAN))
    };
    times(solution, N_CONDITION_POINTS)
        .into_iter()
        .map(at)
        .collect()
}

/// The factors of the determinants whose zeros are the singular points.
fn loci(system: &System, solution: &Solution) -> Vec<(String, TimePoints)> {
    let mut reader = solution.reader(system);
    let times = times(solution, N_POINTS).into_iter();
    let jets: Vec<_> = times
        .filter_map(|time| Some((time, reader.jet(time)?)))
        .collect();
    let found = passport_of_start(system, solution).locus_values(system, &jets);
    let times = || jets.iter().map(|(time, _)| *time);
    let points = |(factor, values): (String, Vec<f64>)| (factor, times().zip(values).collect());
    found.into_iter().map(points).collect()
}

/// Begin, end and degree of each step.
fn steps(solution: &Solution) -> Vec<(f64, f64, usize)> {
    let trajectory = &solution.run.trajectory;
    let n = trajectory.n().max(1);
    let degree = |at: usize| (trajectory.series(at).len() / n).saturating_sub(1);
    (trajectory.segments().iter().enumerate())
        .map(|(at, segment)| (segment.start, segment.end, degree(at)))
        .collect()
}

/// Unknowns at the points of a run with constant steps.
pub fn fixed_samples(solution: &crate::FixedSolution) -> RunSamples {
    let (system, points) = (&solution.system, &solution.run.points);
    let n = points.times().len();
    let unknowns = system.unknowns().iter().enumerate();
    RunSamples {
        times: points.times().to_vec(),
        series: unknowns
            .map(|(unknown, info)| TimeSeries {
                name: info.name.clone(),
                unit: system.unit(unknown),
                values: (0..n).map(|at| points.point(at)[unknown]).collect(),
            })
            .collect(),
    }
}
