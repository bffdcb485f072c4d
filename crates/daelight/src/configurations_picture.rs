//! The picture of a mechanism in its singular configurations.

use crate::Drawing;
use daelight_lang::Model;
use daelight_plot::{Curve, Figure, Panel, Stroke};
use daelight_report::{ConfigurationRecord, SingularReport};

/// Most configurations in one picture.
const MOST_PANELS: usize = 24;

/// The polylines of a model in each singular configuration, and in samples of sets of them; `Err` says why there is no
/// picture.
pub fn configurations_picture(model: &Model, report: &SingularReport) -> Result<Figure, String> {
    let drawing = Drawing::of(model)
        .ok_or("the model has no annotation `__daelight(draw = ...)` to draw from")?;
    let isolated = report.configurations.iter();
    let samples = report.sets.iter().flat_map(|set| &set.samples);
    let mut titles_and_frames = Vec::new();
    for (number, configuration) in (1..).zip(isolated.chain(samples).take(MOST_PANELS)) {
        let frame = drawing.frame_of_named(0.0, |name| value(configuration, name));
        let is_seen = |point: &[f64; 2]| point.iter().all(|x| x.is_finite());
        if !frame.iter().flatten().any(is_seen) {
            return Err("the configurations do not determine the unknowns of the drawing".into());
        }
        let cases: Vec<String> = configuration.cases.iter().map(usize::to_string).collect();
        titles_and_frames.push((format!("{number}: case {}", cases.join(", ")), frame));
    }
    if titles_and_frames.is_empty() {
        return Err("there is no real singular configuration".into());
    }
    let n_columns = match titles_and_frames.len() {
        1 => 1,
        2 | 4 => 2,
        _ => 3,
    };
    let title = format!("{} in its singular configurations", report.model);
    let mut figure = Figure::new(title).columns(n_columns);
    for (title, frame) in titles_and_frames {
        let mut panel = Panel::new(title, "").equal_axes();
        for (colour, line) in frame.into_iter().enumerate() {
            let points = line.into_iter().map(|[x, y]| (x, y));
            let curve = Curve::line("", points).stroke(Stroke::Links);
            panel = panel.curve(curve.colour(colour));
        }
        figure = figure.panel(panel);
    }
    Ok(figure)
}

fn value(configuration: &ConfigurationRecord, name: &str) -> Option<f64> {
    let angle = configuration.angles.get(name);
    let value = angle.or_else(|| configuration.values.get(name))?;
    value.as_f64()
}
