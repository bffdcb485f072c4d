//! Frequency and step responses of linear models.

use super::MOST_PANELS;
use crate::record::{ResponseRecord, ResponsesRecord};
use daelight_plot::{Curve, Figure, Panel, Scale};

/// Gain, phase and step response in panels above each other, a curve for each output and input.
pub fn responses(found: &ResponsesRecord, name: &str) -> Figure {
    let shown = found.curves.iter().take(MOST_PANELS);
    let shown: Vec<&ResponseRecord> = shown.collect();
    let over = |x: &[f64], y: &[f64]| -> Vec<(f64, f64)> {
        x.iter().copied().zip(y.iter().copied()).collect()
    };
    let frequency = "angular frequency";
    let mut gain = Panel::new(frequency, "gain")
        .x_scale(Scale::Log)
        .y_scale(Scale::Log);
    let mut phase = Panel::new(frequency, "phase in degrees").x_scale(Scale::Log);
    let mut step = Panel::new("time", "after a step by 1");
    for curve in &shown {
        // A gain of zero has no place on a logarithmic scale.
        let gains = over(&found.frequencies, &curve.gain).into_iter();
        let gains = gains.filter(|(_, gain)| *gain > 0.0);
        gain = gain.curve(Curve::line(&curve.name, gains));
        phase = phase.curve(Curve::line(
            &curve.name,
            over(&found.frequencies, &curve.phase),
        ));
        if let Some(values) = &curve.step {
            step = step.curve(Curve::line(&curve.name, over(&found.times, values)));
        }
    }
    let mut notes = vec![name.to_string()];
    if shown.iter().any(|curve| curve.step.is_none()) {
        notes.push("a step of an input that is differentiated has no response".to_string());
    }
    if shown.len() < found.curves.len() {
        notes.push(format!(
            "{} responses more",
            found.curves.len() - shown.len()
        ));
    }
    let panels = [gain, phase, step].into_iter();
    let panels = panels.filter(Panel::shows_something);
    panels.fold(Figure::new(notes.join("; ")).size(840, 220), Figure::panel)
}
