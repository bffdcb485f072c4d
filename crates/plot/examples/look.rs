//! A picture of everything, to look at.
use daelight_plot::*;
fn main() {
    let t: Vec<f64> = (0..400).map(|i| 0.005 * f64::from(i)).collect();
    let f = Figure::new("RoboticArm: singular at t = 1.5446")
        .panel(Panel::new("t [s]", "angle [rad]").curve(Curve::line("x1", t.iter().map(|&t| (t, (3.0*t).sin())))).curve(Curve::line("x3", t.iter().map(|&t| (t, (5.0*t).cos()*t)))).mark(Mark{at:1.5446,label:"5-A".into()}))
        .panel(Panel::new("t [s]", "σ min").y_scale(Scale::Log).curve(Curve::line("", t.iter().map(|&t| (t, (t-1.5446).abs()*1e-3)))).mark(Mark{at:1.5446,label:"5-A".into()}))
        .panel(Panel::new("x [m]", "y [m]").equal_axes().curve(Curve::line("arm", [(0.0,0.0),(1.0,1.0),(2.0,0.5)]).stroke(Stroke::Links)));
    for (name, theme) in [("light", Theme::Light), ("dark", Theme::Dark)] {
        let s = svg(&f, theme);
        std::fs::write(format!("/tmp/look-{name}.svg"), &s).unwrap();
        std::fs::write(format!("/tmp/look-{name}.png"), png(&s, 1.0).unwrap()).unwrap();
    }
}
