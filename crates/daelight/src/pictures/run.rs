//! Pictures of runs.

use super::mechanism::drawing_picture;
use super::{SIMILAR, Series, TIME, grouped};
use crate::feedforward::Feedforward;
use crate::fixed::FixedSolution;
use crate::samples::{RESIDUAL, SINGULAR_VALUE, samples};
use crate::solve::Solution;
use daelight_analysis::initial::Request;
use daelight_analysis::passport::{ArrayCondition, MAX_NUMERICAL, Passport};
use daelight_analysis::{FiniteEigenvalue, System};
use daelight_integrate::StopReason;
use daelight_integrate::implicit::Method;
use daelight_lang::Model;
use daelight_plot::{Curve, Figure, Mark, Panel, Scale, Stroke};

/// Points over a run, beside those around singular times.
const N_POINTS: usize = 401;
/// Points at which the condition of the derivative array is computed.
const N_CONDITION_POINTS: usize = 161;
/// Condition numbers beyond this cannot be told apart in double precision.
const RESOLVED: f64 = 1e18;
/// Singular times and switches that are marked.
const MOST_MARKS: usize = 200;

/// What of a run is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum RunPicture {
    /// All unknowns, those of one unit together, and the least singular value.
    #[default]
    Trajectory,
    /// The mechanism at several instants.
    Drawing,
    /// The least singular value, and the condition of the derivative array.
    SingularValue,
    /// Sizes of steps and orders of series.
    Steps,
    /// Residuals of the equations and of their derivatives.
    Residuals,
    /// Eigenvalues of the zero dynamics along the run.
    Eigenvalues,
    /// The expressions that vanish where the model is singular.
    Loci,
}

/// A run of a model as a picture; `Err` tells why there is nothing to show.
pub fn run_picture(
    model: &Model,
    system: &System,
    solution: &Solution,
    what: RunPicture,
) -> Result<Figure, String> {
    let marks = marks(solution);
    let name = system.name();
    match what {
        RunPicture::Drawing => drawing_picture(model, system, solution),
        RunPicture::Trajectory => trajectory(system, solution, &marks),
        RunPicture::SingularValue => singular_value(system, solution, &marks),
        RunPicture::Steps => Ok(steps(solution, name, &marks)),
        RunPicture::Residuals => {
            let (names, rows) = samples(system, solution, &times(solution, N_POINTS))?;
            let panel = Panel::new(TIME, "scaled residual").y_scale(Scale::Log);
            let levels = (names.iter().enumerate())
                .filter_map(|(at, name)| Some((at, name.strip_prefix(RESIDUAL)?)));
            let panel = levels.fold(panel, |panel, (at, level)| {
                let name = match level {
                    "0" => "equations".to_string(),
                    "1" => "first derivatives".to_string(),
                    "2" => "second derivatives".to_string(),
                    "3" => "third derivatives".to_string(),
                    level => format!("{level}th derivatives"),
                };
                panel.curve(column(&rows, at, name))
            });
            let panel = marks.into_iter().fold(panel, Panel::mark);
            shown(
                Figure::new(format!("{name}: how well the constraints hold")),
                panel,
            )
        }
        RunPicture::Eigenvalues => eigenvalues(solution, name),
        RunPicture::Loci => loci(system, solution, &marks),
    }
}

/// The singular times of a run with their kinds, and what ended it.
fn marks(solution: &Solution) -> Vec<Mark> {
    let singular = solution.singularities.iter().map(|explained| Mark {
        at: explained.found.time,
        label: match explained.kind {
            Some(kind) => kind.to_string(),
            None => explained.found.nature.to_string(),
        },
    });
    let end = match solution.run.stop {
        StopReason::FiniteEscape { time, .. } => Some((time, "unbounded")),
        StopReason::IndexChange { time, .. } => Some((time, "index changes")),
        _ => None,
    };
    let end = end.map(|(at, word)| Mark {
        at,
        label: word.to_string(),
    });
    singular.chain(end).take(MOST_MARKS).collect()
}

/// Times over a run: evenly, at the ends of steps, and closer and closer to singular times.
fn times(solution: &Solution, n: usize) -> Vec<f64> {
    let (from, to) = (solution.from, solution.reached());
    let at = |share: f64| from + (to - from) * share;
    let mut times: Vec<f64> = (0..n).map(|k| at(k as f64 / (n - 1) as f64)).collect();
    let segments = solution.run.trajectory.segments();
    if segments.len() <= 4 * n {
        times.extend(segments.iter().map(|segment| segment.end));
    }
    for explained in solution.singularities.iter().take(MOST_MARKS) {
        let aside = (2..=8).map(|k| (to - from) * 10f64.powi(-k));
        times.extend(aside.flat_map(|d| [explained.found.time - d, explained.found.time + d]));
        times.push(explained.found.time);
    }
    let (low, high) = (from.min(to), from.max(to));
    times.retain(|time| (low..=high).contains(time));
    times.sort_by(f64::total_cmp);
    times.dedup();
    times
}

fn column(rows: &[(f64, Vec<f64>)], at: usize, name: impl Into<String>) -> Curve {
    Curve::line(name, rows.iter().map(|(time, values)| (*time, values[at])))
}

/// A figure with a panel, if that shows anything.
fn shown(figure: Figure, panel: Panel) -> Result<Figure, String> {
    if panel.shows_something() {
        Ok(figure.panel(panel))
    } else {
        Err("there is no finite value to show".to_string())
    }
}

/// The least singular value of the samples.
fn singular_value_panel(
    names: &[String],
    rows: &[(f64, Vec<f64>)],
    marks: &[Mark],
) -> Option<Panel> {
    let at = names.iter().position(|name| name == SINGULAR_VALUE)?;
    let panel = Panel::new(TIME, "least singular value")
        .y_scale(Scale::Log)
        .curve(column(rows, at, ""));
    let panel = marks.iter().cloned().fold(panel, Panel::mark);
    panel.shows_something().then_some(panel)
}

fn trajectory(system: &System, solution: &Solution, marks: &[Mark]) -> Result<Figure, String> {
    let (names, rows) = samples(system, solution, &times(solution, N_POINTS))?;
    let times: Vec<f64> = rows.iter().map(|(time, _)| *time).collect();
    let n_unknowns = system.unknowns().len();
    let quantities = |name: &&String| !name.starts_with(RESIDUAL) && *name != SINGULAR_VALUE;
    let series = names.iter().take_while(quantities).enumerate();
    let series = series.map(|(at, name)| Series {
        name: name.clone(),
        unit: if at < n_unknowns {
            system.unit(at)
        } else {
            String::new()
        },
        values: rows.iter().map(|(_, values)| values[at]).collect(),
    });
    let (panels, n_left_out) = grouped(&times, series.collect(), marks, Scale::Linear);
    let figure = Figure::new(titled(system.name(), n_left_out)).size(840, 200);
    let panels = panels
        .into_iter()
        .chain(singular_value_panel(&names, &rows, marks));
    Ok(panels.fold(figure, Figure::panel))
}

fn titled(name: &str, n_left_out: usize) -> String {
    match n_left_out {
        0 => name.to_string(),
        n => format!("{name} ({n} unknowns more are not shown)"),
    }
}

fn singular_value(system: &System, solution: &Solution, marks: &[Mark]) -> Result<Figure, String> {
    let (names, rows) = samples(system, solution, &times(solution, N_POINTS))?;
    let figure = Figure::new(format!("{}: how far from singular", system.name()));
    let first = singular_value_panel(&names, &rows, marks);
    let second = condition_panel(system, solution, marks);
    if first.is_none() && second.is_none() {
        return Err("its blocks are too large for singular values at every point".to_string());
    }
    Ok([first, second]
        .into_iter()
        .flatten()
        .fold(figure, Figure::panel))
}

/// The passport of the point where a run starts.
fn passport_of_start(system: &System, solution: &Solution) -> Passport {
    let mut request = Request::of_model(system, solution.from, 0);
    request.guess.copy_from_slice(solution.start.jet.values());
    request.conditions.clear();
    Passport::new(system, &request)
}

/// The factors of the determinants whose zeros are the singular points, a panel for each.
fn loci(system: &System, solution: &Solution, marks: &[Mark]) -> Result<Figure, String> {
    let mut reader = solution.reader(system);
    let times = times(solution, N_POINTS).into_iter();
    let jets: Vec<_> = times
        .filter_map(|time| Some((time, reader.jet(time)?)))
        .collect();
    let found = passport_of_start(system, solution).locus_values(system, &jets);
    let title = format!("{}: singular where one of these is 0", system.name());
    let mut figure = Figure::new(title).size(840, 220);
    let mut n_panels = 0;
    for (factor, values) in found.into_iter().take(super::MOST_PANELS) {
        let points = jets.iter().map(|(time, _)| *time).zip(values);
        let panel = Panel::new(TIME, "").title(factor);
        let panel = panel.curve(Curve::line("", points));
        let panel = marks.iter().cloned().fold(panel, Panel::mark);
        if panel.shows_something() {
            figure = figure.panel(panel);
            n_panels += 1;
        }
    }
    match n_panels {
        0 => Err("no formula is known for where this model is singular".to_string()),
        _ => Ok(figure),
    }
}

/// The condition of the derivative array along a run of a small model.
fn condition_panel(system: &System, solution: &Solution, marks: &[Mark]) -> Option<Panel> {
    if system.unknowns().len() > MAX_NUMERICAL {
        return None;
    }
    let condition = ArrayCondition::of(&passport_of_start(system, solution))?;
    let mut reader = solution.reader(system);
    let points: Vec<(f64, f64)> = (times(solution, N_CONDITION_POINTS).into_iter())
        .map(|time| {
            let jet = reader.jet(time);
            let value = jet.and_then(|jet| condition.at(system, time, &jet));
            (time, value.unwrap_or(f64::NAN))
        })
        .collect();
    let values = || points.iter().map(|point| point.1);
    let least = values().fold(f64::INFINITY, f64::min);
    let mut panel = Panel::new(TIME, "condition of the array").y_scale(Scale::Log);
    if least < RESOLVED && values().any(|value| value > RESOLVED) {
        panel = panel.y_limits(least, RESOLVED);
    }
    let panel = panel.curve(Curve::line("", points));
    let panel = marks.iter().cloned().fold(panel, Panel::mark);
    panel.shows_something().then_some(panel)
}

fn steps(solution: &Solution, name: &str, marks: &[Mark]) -> Figure {
    let trajectory = &solution.run.trajectory;
    let segments = trajectory.segments();
    let n = trajectory.n().max(1);
    // Each step is a level line from its start to its end.
    let level = |value: &dyn Fn(usize) -> f64| -> Vec<(f64, f64)> {
        (segments.iter().enumerate())
            .flat_map(|(at, segment)| [(segment.start, value(at)), (segment.end, value(at))])
            .collect()
    };
    let sizes = level(&|at| (segments[at].end - segments[at].start).abs());
    let orders = level(&|at| (trajectory.series(at).len() / n) as f64 - 1.0);
    let marked = |panel: Panel| marks.iter().cloned().fold(panel, Panel::mark);
    let sizes = Panel::new(TIME, "step [s]")
        .y_scale(Scale::Log)
        .curve(Curve::line("", sizes));
    let degree = match solution.method {
        Method::Taylor => "order of the series",
        _ => "degree of the polynomials",
    };
    let orders = Panel::new(TIME, degree).curve(Curve::line("", orders));
    Figure::new(format!("{name}: {} steps", segments.len()))
        .panel(marked(sizes))
        .panel(marked(orders))
}

fn eigenvalues(solution: &Solution, name: &str) -> Result<Figure, String> {
    let Some(found) = &solution.zero_dynamics else {
        return Err("this model prescribes no motion, so there are no zero dynamics".to_string());
    };
    let known: Vec<(f64, &[FiniteEigenvalue])> = (found.points.iter())
        .filter_map(|point| {
            let values = &point.spectrum.as_ref().ok()?.eigenvalues;
            Some((point.time, values.as_slice()))
        })
        .collect();
    let paths = eigenvalue_paths(&known);
    if paths.is_empty() {
        return Err("no eigenvalue is known along the run".to_string());
    }
    let everything: Vec<usize> = (0..paths.len()).collect();
    let panel = |x: &str, y: &str, members: &[usize], place: fn(&PathPoint) -> (f64, f64)| {
        members.iter().fold(Panel::new(x, y), |panel, &number| {
            let curve = Curve::line("", paths[number].iter().map(place)).stroke(Stroke::Links);
            panel.curve(curve.colour(number))
        })
    };
    let (real, imaginary) = ("real part [1/s]", "imaginary part [1/s]");
    let title = format!("{name}: eigenvalues of the zero dynamics");
    let by_time = |(time, value): &PathPoint| (*time, value.re);
    let mut figure = Figure::new(title).size(840, 220);
    // The sign of slow ones decides, and beside fast ones it would not be seen.
    let groups = by_size(&paths);
    for members in &groups {
        figure = figure.panel(panel(TIME, real, members, by_time));
    }
    let slow = groups.first().unwrap_or(&everything);
    let in_plane = panel(real, imaginary, slow, |(_, value)| (value.re, value.im));
    let of_which = match groups.len() {
        0 | 1 => "in the complex plane".to_string(),
        _ => "the slow ones in the complex plane".to_string(),
    };
    Ok(figure
        .panel(panel(TIME, imaginary, &everything, |(time, value)| {
            (*time, value.im)
        }))
        .panel(in_plane.title(of_which)))
}

/// Paths whose real parts are of similar size together, the slowest first.
fn by_size(paths: &[Vec<PathPoint>]) -> Vec<Vec<usize>> {
    let size = |number: usize| {
        let sizes = paths[number].iter().map(|(_, value)| value.re.abs());
        sizes.fold(0.0, f64::max)
    };
    let mut order: Vec<usize> = (0..paths.len()).collect();
    order.sort_by(|&a, &b| size(a).total_cmp(&size(b)));
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for number in order {
        let first = groups.last().map(|group| size(group[0]));
        match (first, groups.last_mut()) {
            (Some(first), Some(group)) if size(number) <= SIMILAR * first => group.push(number),
            _ => groups.push(vec![number]),
        }
    }
    groups
}

/// An eigenvalue at a time.
type PathPoint = (f64, FiniteEigenvalue);

/// Eigenvalues at one time after the other as paths: each goes on at the nearest one that is left.
fn eigenvalue_paths(points: &[(f64, &[FiniteEigenvalue])]) -> Vec<Vec<PathPoint>> {
    let mut paths: Vec<Vec<PathPoint>> = Vec::new();
    for &(time, values) in points {
        let mut left = values.to_vec();
        for path in &mut paths {
            let Some((_, last)) = path.last().copied() else {
                continue;
            };
            let distance =
                |other: &FiniteEigenvalue| (other.re - last.re).hypot(other.im - last.im);
            let nearest =
                (0..left.len()).min_by(|&a, &b| distance(&left[a]).total_cmp(&distance(&left[b])));
            if let Some(nearest) = nearest {
                path.push((time, left.remove(nearest)));
            }
        }
        paths.extend(left.into_iter().map(|value| vec![(time, value)]));
    }
    paths
}

/// A run with constant steps as a picture of its unknowns.
pub fn fixed_picture(solution: &FixedSolution) -> Figure {
    let system = &solution.system;
    let points = &solution.run.points;
    let series = (system.unknowns().iter().enumerate()).map(|(unknown, info)| Series {
        name: info.name.clone(),
        unit: system.unit(unknown),
        values: (0..points.times().len())
            .map(|at| points.point(at)[unknown])
            .collect(),
    });
    let (panels, n_left_out) = grouped(points.times(), series.collect(), &[], Scale::Linear);
    let figure = Figure::new(titled(system.name(), n_left_out)).size(840, 200);
    panels.into_iter().fold(figure, Figure::panel)
}

/// Forces of an inverse model, and how far the motion that they cause is from the prescribed one.
pub fn feedforward_picture(system: &System, found: &Feedforward) -> Figure {
    let forces = found.inputs.iter().enumerate().map(|(at, name)| {
        let unknown = system.unknowns().iter().position(|info| info.name == *name);
        Series {
            name: name.clone(),
            unit: unknown.map_or(String::new(), |unknown| system.unit(unknown)),
            values: found.forces.iter().map(|values| values[at]).collect(),
        }
    });
    let (panels, _) = grouped(&found.times, forces.collect(), &[], Scale::Linear);
    let errors = Panel::new(TIME, "error of the path").y_scale(Scale::Log);
    let errors = found.paths.iter().fold(errors, |panel, path| {
        let sizes = path.errors.iter().map(|error| error.abs());
        let points = found.times.iter().copied().zip(sizes);
        panel.curve(Curve::line(system.equation_text(path.equation), points))
    });
    let figure = Figure::new(format!(
        "{}: forces, and the motion they cause",
        system.name()
    ));
    let errors = Some(errors).filter(Panel::shows_something);
    panels.into_iter().chain(errors).fold(figure, Figure::panel)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_eigenvalues_have_a_panel_of_their_own() {
        let path = |re: f64| {
            vec![(
                0.0,
                FiniteEigenvalue {
                    re,
                    im: 1.0,
                    uncertainty: 0.0,
                },
            )]
        };
        let paths = [-2000.0, -0.6, -1990.0, -1.2].map(path);
        assert_eq!(by_size(&paths), [vec![1, 3], vec![2, 0]]);
        assert_eq!(by_size(&[]), Vec::<Vec<usize>>::new());
    }
}
