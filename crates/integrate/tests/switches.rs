//! Kinks of a model: located, passed, or told.

use crate::common::Case;
use daelight_integrate::StopReason;

#[test]
fn a_kink_is_located_and_passed() {
    // x = cos t until abs(x) switches at pi/2; y' = abs(x) is sin t, then 2 - sin t.
    let text = "model K Real x(start = 1, fixed = true), v(start = 0, fixed = true), y(start = 0, fixed = true);
                equation der(x) = v; der(v) = -x; der(y) = abs(x); end K;";
    let case = Case::text(text);
    let run = case.run(0.0, 3.0, 1e-10);
    assert_eq!(run.stop, StopReason::Finished, "{:?}", run.stop);
    assert_eq!(run.switches.len(), 1);
    assert!((run.switches[0].time - std::f64::consts::FRAC_PI_2).abs() < 1e-9);
    assert!((case.value(&run, 3.0, "y") - (2.0 - 3f64.sin())).abs() < 1e-9);
}

#[test]
fn an_algebraic_unknown_may_jump() {
    // Index 2: x = u(t), u' has a jump at t = 1, y = x' jumps with it.
    let text = "model J Real x(start = 0), y;
                equation der(x) = y; x = if time < 1 then time else 3*time - 2; end J;";
    let case = Case::text(text);
    let run = case.run(0.0, 2.0, 1e-8);
    assert_eq!(run.stop, StopReason::Finished, "{:?}", run.stop);
    assert!((run.switches[0].time - 1.0).abs() < 1e-12);
    assert!((case.value(&run, 0.5, "y") - 1.0).abs() < 1e-12);
    assert!((case.value(&run, 1.5, "y") - 3.0).abs() < 1e-12);
    assert!((case.value(&run, 2.0, "x") - 4.0).abs() < 1e-12);
}

#[test]
fn a_relay_slides() {
    let text = "model R Real x(start = 1, fixed = true); equation der(x) = -sign(x); end R;";
    let case = Case::text(text);
    let run = case.run(0.0, 3.0, 1e-8);
    assert_eq!(run.stop, StopReason::Finished);
    assert!((run.slides[0].from - 1.0).abs() < 1e-12 && run.slides[0].to == 3.0);
    assert!(case.value(&run, 3.0, "x").abs() < 1e-12);
}

/// Both sides push back, but the branch cannot be mixed: the run ends and says so.
#[test]
fn what_cannot_slide_is_told() {
    let text = "model R Real x(start = 1, fixed = true);
                equation der(x) = if x > 0 and time > 0.5 then -1 else 1; end R;";
    let case = Case::text(text);
    let run = case.run(0.0, 3.0, 1e-8);
    let StopReason::Chattering { time, .. } = run.stop else {
        panic!("{:?}", run.stop);
    };
    assert!((time - 2.0).abs() < 1e-9, "{time}");
}

#[test]
fn a_start_on_a_kink_takes_the_side_it_moves_to() {
    for (slope, end) in [(1.0, 1.0), (-1.0, 1.0)] {
        let text = format!("model S Real y; equation y = abs({slope}*time); end S;");
        let case = Case::text(&text);
        let run = case.run(0.0, 1.0, 1e-8);
        assert_eq!(run.stop, StopReason::Finished, "{:?}", run.stop);
        assert!((case.value(&run, 1.0, "y") - end).abs() < 1e-14);
    }
}

#[test]
fn an_expression_without_a_value_ends_the_run() {
    let text =
        "model F Real x(start = 1, fixed = true), y; equation der(x) = -1; y = sqrt(x) + x; end F;";
    let case = Case::text(text);
    let run = case.run(0.0, 2.0, 1e-8);
    assert_ne!(run.stop, StopReason::Finished);
}
