//! The polylines of a model's annotation at states.

use daelight::{Drawing, SolveOptions};
use daelight_lang::Model;
use daelight_show::scene::Rectangle;

fn model(text: &str) -> Model {
    let loaded = daelight_lang::load("test", text.as_bytes(), &Default::default());
    loaded.model.expect("a right model")
}

#[test]
fn a_pendulum_keeps_its_length_along_a_run() {
    let loaded = daelight::load("pendulum", &Default::default()).expect("built in");
    let model = loaded.model.expect("a right model");
    let drawing = Drawing::of(&model).expect("a drawing");
    let system = daelight::system(&model).expect("a system");
    let solution = daelight::solve(&system, &SolveOptions::default()).ok();
    let solution = solution.expect("a run");
    let times: Vec<f64> = (0..=100).map(|k| 0.1 * f64::from(k)).collect();
    let frames = drawing.frames(&system, &solution, &times);
    for frame in &frames {
        let [[origin, end]] = [[frame[0][0], frame[0][1]]];
        assert_eq!(origin, [0.0, 0.0]);
        assert!((end[0].hypot(end[1]) - 1.0).abs() < 1e-12);
    }
    let bounds = Rectangle::of(&frames).expect("points");
    assert!(bounds.min[1] < -0.999 && bounds.max[0] > 0.999);
    assert_eq!(drawing.fixed(), [[true, false]]);
    assert_eq!(
        (drawing.unit(), drawing.axes().is_some()),
        (Some("m"), false)
    );
}

#[test]
fn space_is_seen_without_distortion_of_its_axes() {
    let model = model(
        "model M
          input Real h = 2*time;
          Real x(start = 1);
        equation
          der(x) = h;
          annotation(__daelight(draw = {{{0, 0, 0}, {x, h, der(x)}}, {{1, 0}, {0, 1}}}));
        end M;",
    );
    let drawing = Drawing::of(&model).expect("a drawing");
    let frame = drawing.frame(1.5, |_, order| if order == 0 { 2.0 } else { 3.0 });
    let axes = drawing.axes().expect("points in space");
    let seen = |k: usize| 2.0 * axes[0][k] + 3.0 * axes[1][k] + 3.0 * axes[2][k];
    for k in 0..2 {
        assert!((frame[0][1][k] - seen(k)).abs() < 1e-14);
        // The two directions of the plane are orthonormal.
        let length: f64 = axes.iter().map(|axis| axis[k] * axis[k]).sum();
        assert!((length - 1.0).abs() < 1e-14);
        assert_eq!(frame[1][0][k], axes[0][k]);
    }
    assert_eq!(drawing.fixed(), [[true, false], [true, true]]);
}

#[test]
fn what_is_not_known_is_not_drawn() {
    let model = model(
        "model M
          Real x, y;
        equation
          x = time;
          y + y^3 = x;
          annotation(__daelight(draw = {{{x, 0}, {y, 0}}}));
        end M;",
    );
    let drawing = Drawing::of(&model).expect("a drawing");
    let frame = drawing.frame_of_named(0.0, |name| (name == "x").then_some(4.0));
    assert_eq!(frame[0][0], [4.0, 0.0]);
    assert!(frame[0][1][0].is_nan());
    assert_eq!(
        Rectangle::of([&frame]),
        Some(Rectangle {
            min: [4.0, 0.0],
            max: [4.0, 0.0]
        })
    );
}

#[test]
fn what_equations_give_directly_is_drawn() {
    let model = model(
        "model M
          Real q, x, y, tip, t;
        equation
          q = time;
          tip = 2*y;
          x = cos(q);
          sin(q) = y;
          t = time;
          annotation(__daelight(draw = {{{x, y}, {tip, 0}, {t, 0}}}));
        end M;",
    );
    let drawing = Drawing::of(&model).expect("a drawing");
    let frame = drawing.frame_of_named(0.0, |name| (name == "q").then_some(1.0));
    let (sine, cosine) = 1f64.sin_cos();
    assert_eq!(frame[0][..2], [[cosine, sine], [2.0 * sine, 0.0]]);
    assert!(frame[0][2][0].is_nan(), "a configuration has no time");
}
