//! Pictures of runs.

use super::mechanism::instants;
use super::{SIMILAR, TIME, grouped};
use crate::record::{
    EigenvalueRecord, FeedforwardRecord, RunSamples, RunView, SolveRecord, TimePoints, TimeSeries,
};
use daelight_plot::{Curve, Figure, Panel, Scale, Stroke, TimeMark};

/// Condition numbers beyond this cannot be told apart in double precision.
const RESOLVED: f64 = 1e18;
/// Singular times that are marked, and looked at closely.
pub const MOST_MARKS: usize = 200;

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
pub fn run(report: &SolveRecord, what: RunPicture) -> Result<Figure, String> {
    let Some(view) = &report.view else {
        return Err("nothing of the run was kept".to_string());
    };
    let marks = marks(report);
    let name = &view.model;
    match what {
        RunPicture::Drawing => instants(view),
        RunPicture::Trajectory => {
            let figure = unknowns(name, &view.samples, &marks);
            Ok(margin_panel(view, &marks)
                .into_iter()
                .fold(figure, Figure::panel))
        }
        RunPicture::SingularValue => singular_value(view, &marks),
        RunPicture::Steps => Ok(steps(view, &report.method, &marks)),
        RunPicture::Residuals => residuals(view, &marks),
        RunPicture::Eigenvalues => eigenvalues(report, name),
        RunPicture::Loci => loci(view, &marks),
    }
}

/// The singular times of a run with their kinds, and what ended it.
pub(crate) fn marks(report: &SolveRecord) -> Vec<TimeMark> {
    let singular = report.singularities.iter().map(|found| TimeMark {
        at: found.time,
        label: found.kind.clone().unwrap_or_else(|| found.nature.clone()),
    });
    let end = match report.reason {
        "escape" => Some("unbounded"),
        "index_change" => Some("index changes"),
        _ => None,
    };
    let end = end.map(|word| TimeMark {
        at: report.time,
        label: word.to_string(),
    });
    singular.chain(end).take(MOST_MARKS).collect()
}

fn marked(panel: Panel, marks: &[TimeMark]) -> Panel {
    marks.iter().cloned().fold(panel, Panel::mark)
}

/// A figure with a panel, if that shows anything.
fn shown(figure: Figure, panel: Panel) -> Result<Figure, String> {
    if panel.shows_something() {
        Ok(figure.panel(panel))
    } else {
        Err("there is no finite value to show".to_string())
    }
}

/// Whether the least singular value tells anything: one that stays the same is no news.
pub(crate) fn margin_varies(view: &RunView) -> bool {
    let values = || view.margins.iter().map(|(_, sigma)| *sigma);
    let least = values().fold(f64::INFINITY, f64::min);
    let most = values().fold(0.0, f64::max);
    most > 2.0 * least
}

/// What the least singular value tells, for those who meet it in a picture.
pub(super) const MARGIN_MEANS: &str =
    "0 where the equations no longer determine the unknowns; small values warn of that";

/// The least singular value of the samples, if it changes.
fn margin_panel(view: &RunView, marks: &[TimeMark]) -> Option<Panel> {
    if !margin_varies(view) {
        return None;
    }
    let panel = Panel::new(TIME, "least singular value")
        .title(MARGIN_MEANS)
        .y_scale(Scale::Log)
        .curve(Curve::line("", view.margins.iter().copied()));
    let panel = marked(panel, marks);
    panel.shows_something().then_some(panel)
}

/// Unknowns over time, those of one unit together.
pub fn unknowns(name: &str, samples: &RunSamples, marks: &[TimeMark]) -> Figure {
    let series = samples.series.iter().cloned();
    let series = series.map(TimeSeries::without_noise).collect();
    let (panels, n_left_out) = grouped(&samples.times, series, marks, Scale::Linear);
    let title = match n_left_out {
        0 => name.to_string(),
        n => format!("{name} ({n} unknowns more are not shown)"),
    };
    let figure = Figure::new(title).size(840, 200);
    panels.into_iter().fold(figure, Figure::panel)
}

fn residuals(view: &RunView, marks: &[TimeMark]) -> Result<Figure, String> {
    let panel = Panel::new(TIME, "scaled residual").y_scale(Scale::Log);
    let levels = view.residuals.iter().enumerate();
    let panel = levels.fold(panel, |panel, (level, points)| {
        let name = match level {
            0 => "equations".to_string(),
            1 => "first derivatives".to_string(),
            2 => "second derivatives".to_string(),
            3 => "third derivatives".to_string(),
            level => format!("{level}th derivatives"),
        };
        panel.curve(Curve::line(name, points.iter().copied()))
    });
    let title = format!("{}: how well the constraints hold", view.model);
    shown(Figure::new(title), marked(panel, marks))
}

fn singular_value(view: &RunView, marks: &[TimeMark]) -> Result<Figure, String> {
    let figure = Figure::new(format!("{}: where it becomes singular", view.model));
    let first = margin_panel(view, marks);
    let second = condition_panel(&view.conditions, marks);
    if first.is_none() && second.is_none() {
        return Err("its blocks are too large for singular values at every point".to_string());
    }
    let panels = [first, second].into_iter().flatten();
    Ok(panels.fold(figure, Figure::panel))
}

/// The factors of the determinants whose zeros are the singular points, a panel for each.
fn loci(view: &RunView, marks: &[TimeMark]) -> Result<Figure, String> {
    let title = format!("{}: singular where one of these is 0", view.model);
    let mut figure = Figure::new(title).size(840, 220);
    let mut n_panels = 0;
    for (factor, points) in view.loci.iter().take(super::MOST_PANELS) {
        let panel = Panel::new(TIME, "").title(factor);
        let panel = panel.curve(Curve::line("", points.iter().copied()));
        let panel = marked(panel, marks);
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
fn condition_panel(points: &TimePoints, marks: &[TimeMark]) -> Option<Panel> {
    let values = || points.iter().map(|point| point.1);
    let least = values().fold(f64::INFINITY, f64::min);
    let mut panel = Panel::new(TIME, "condition of the array").y_scale(Scale::Log);
    if least < RESOLVED && values().any(|value| value > RESOLVED) {
        panel = panel.y_limits(least, RESOLVED);
    }
    let panel = marked(panel.curve(Curve::line("", points.iter().copied())), marks);
    panel.shows_something().then_some(panel)
}

fn steps(view: &RunView, method: &str, marks: &[TimeMark]) -> Figure {
    // Each step is a level line from its start to its end.
    let level = |value: &dyn Fn(&(f64, f64, usize)) -> f64| -> TimePoints {
        let steps = view.steps.iter();
        let ends = |step: &(f64, f64, usize)| [(step.0, value(step)), (step.1, value(step))];
        steps.flat_map(ends).collect()
    };
    let sizes = level(&|(begin, end, _)| (end - begin).abs());
    let degrees = level(&|&(_, _, degree)| degree as f64);
    let sizes = Panel::new(TIME, "step [s]")
        .y_scale(Scale::Log)
        .curve(Curve::line("", sizes));
    let degree = match method {
        "taylor" => "order of the series",
        _ => "degree of the polynomials",
    };
    let degrees = Panel::new(TIME, degree).curve(Curve::line("", degrees));
    Figure::new(format!("{}: {} steps", view.model, view.steps.len()))
        .panel(marked(sizes, marks))
        .panel(marked(degrees, marks))
}

fn eigenvalues(report: &SolveRecord, name: &str) -> Result<Figure, String> {
    let Some(found) = &report.zero_dynamics else {
        return Err("this model prescribes no motion, so there are no zero dynamics".to_string());
    };
    let known: Vec<(f64, &[EigenvalueRecord])> = (found.points.iter())
        .filter_map(|point| Some((point.time, point.eigenvalues.as_deref()?)))
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
type PathPoint = (f64, EigenvalueRecord);

/// Eigenvalues at one time after the other as paths: each goes on at the nearest one that is left.
fn eigenvalue_paths(points: &[(f64, &[EigenvalueRecord])]) -> Vec<Vec<PathPoint>> {
    let mut paths: Vec<Vec<PathPoint>> = Vec::new();
    for &(time, values) in points {
        let mut left = values.to_vec();
        for path in &mut paths {
            let Some((_, last)) = path.last().copied() else {
                continue;
            };
            let distance =
                |other: &EigenvalueRecord| (other.re - last.re).hypot(other.im - last.im);
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

/// Forces of an inverse model, and how far the motion that they cause is from the prescribed one.
pub fn feedforward(report: &FeedforwardRecord, name: &str, forces: &[TimeSeries]) -> Figure {
    let (panels, _) = grouped(&report.times, forces.to_vec(), &[], Scale::Linear);
    let errors = Panel::new(TIME, "error of the path").y_scale(Scale::Log);
    let errors = report.paths.iter().fold(errors, |panel, path| {
        let sizes = path.errors.iter().map(|error| error.abs());
        let points = report.times.iter().copied().zip(sizes);
        panel.curve(Curve::line(path.equation.as_str(), points))
    });
    let figure = Figure::new(format!("{name}: forces, and the motion they cause"));
    let errors = Some(errors).filter(Panel::shows_something);
    panels.into_iter().chain(errors).fold(figure, Figure::panel)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_eigenvalues_have_a_panel_of_their_own() {
        let path = |re: f64| vec![(0.0, EigenvalueRecord { re, im: 1.0 })];
        let paths = [-2000.0, -0.6, -1990.0, -1.2].map(path);
        assert_eq!(by_size(&paths), [vec![1, 3], vec![2, 0]]);
        assert_eq!(by_size(&[]), Vec::<Vec<usize>>::new());
    }
}
