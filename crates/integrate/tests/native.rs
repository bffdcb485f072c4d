//! Native code gives the numbers of the interpreter, and leaves to it what it cannot do.

use crate::common::Case;
use daelight_integrate::taylor::Taylor;
use daelight_integrate::{Options, Run, StopReason};

/// The same run by the interpreter and by native code.
fn both(case: &Case, options: &Options) -> [Run; 2] {
    let start = case.start(0.0);
    let mut taylor = Taylor::new(&case.problem, options).expect("a regular layout");
    let interpreted = taylor.run(&start).expect("a consistent start");
    taylor.compile().expect("native code");
    [interpreted, taylor.run(&start).expect("a consistent start")]
}

fn expect_same([interpreted, native]: &[Run; 2], name: &str) {
    assert_eq!(interpreted.stop, native.stop, "{name}");
    assert_eq!(interpreted.statistics, native.statistics, "{name}");
    let [one, other] = [interpreted, native].map(|run| &run.trajectory);
    assert_eq!(one.segments(), other.segments(), "{name}");
    for segment in 0..one.segments().len() {
        // Equal numbers; a zero may have the other sign.
        assert_eq!(one.series(segment), other.series(segment), "{name}");
    }
}

#[test]
fn runs_of_the_library_are_the_same() {
    for (name, end, rtol) in [
        ("pendulum", 10.0, 1e-6),
        ("pendulum", 2.0, 1e-11),
        ("andrews", 0.01, 1e-6),
        ("robotic-arm", 1.5, 1e-9),
        ("akzo-nobel", 20.0, 1e-6),
        ("delta-robot", 0.5, 1e-8),
    ] {
        let case = Case::library(name, &[]);
        expect_same(&both(&case, &case.options(end, rtol)), name);
    }
}

/// A singular point ends both runs at the same time.
#[test]
fn the_monitor_sees_the_same() {
    let case = Case::library("robotic-arm", &[]);
    let runs = both(&case, &case.options(2.0, 1e-8));
    expect_same(&runs, "robotic-arm");
    let [one, other] = runs.map(|run| run.singularities);
    assert!(!one.is_empty());
    assert_eq!(one[0].time, other[0].time);
}

/// Every recurrence, with the unknowns that are solved for inside and outside of it.
#[test]
fn all_functions_are_the_same() {
    let models = [
        "der(x) = exp(-x)*y - log(2 + x)/(3 + y); der(y) = sqrt(4 + x*y) - tan(y/8) + time^2;",
        "der(x) = y; der(y) = sinh(x/4) - cosh(y/4)*tanh(x) + 1/(2 + x^2)^2;",
        "der(x) = asin(x/9) - acos(y/9) + atan(x - y); der(y) = log10(5 + x) - y^3/7;",
    ];
    for equations in models {
        let text = format!(
            "model M Real x(start = 0.5, fixed = true); Real y(start = 0.25, fixed = true); \
             equation {equations} end M;"
        );
        let case = Case::text(&text);
        expect_same(&both(&case, &case.options(1.0, 1e-9)), equations);
    }
    let implicit = [
        "exp(z) + z/(1 + x) = 3",
        "sqrt(z + 2) + (1 + z)/(2 + z*x) = 2",
        "log(2 + z) + 1/(1 + z) - z/7 = x",
        "sin(z) + z*cos(z/3) - atan(z) = x/2 + asin(z/5)",
        "z^2 + z + tan(z/9) - (z - x) - (-z) = 1 + x",
    ];
    for equation in implicit {
        let text = format!(
            "model M Real x(start = 0.5, fixed = true); Real z(start = 1.0); \
             equation der(x) = z - x*z; {equation}; end M;"
        );
        let case = Case::text(&text);
        expect_same(&both(&case, &case.options(1.0, 1e-9)), equation);
    }
}

/// Where something has no value, the fault is the interpreter's.
#[test]
fn faults_are_the_same() {
    let case = Case::text(
        "model M Real x(start = 1.0, fixed = true); Real y(start = 1.0); \
         equation der(x) = -1; y^2 = x; end M;",
    );
    let runs = both(&case, &case.options(3.0, 1e-8));
    assert_ne!(runs[0].stop, StopReason::Finished);
    expect_same(&runs, "branch point");
}

#[test]
fn what_native_code_cannot_do_is_refused() {
    for equation in ["der(x) = abs(x - 0.5)", "der(x) = -(x + 2)^time"] {
        let case = Case::text(&format!(
            "model M Real x(start = 0.25, fixed = true); equation {equation}; end M;"
        ));
        let options = case.options(0.2, 1e-6);
        let mut taylor = Taylor::new(&case.problem, &options).expect("a regular layout");
        assert!(taylor.compile().is_err(), "{equation}");
        let run = taylor.run(&case.start(0.0)).expect("a consistent start");
        assert_eq!(run.stop, StopReason::Finished, "{equation}");
    }
}

/// A long run goes over to native code on its way, and nobody notices.
#[test]
fn a_long_run_is_the_same_all_the_way() {
    let case = Case::text(
        "model M Real x(start = 1.0, fixed = true); Real v(start = 0.0, fixed = true); \
         equation der(x) = v; der(v) = -x; end M;",
    );
    let options = Options {
        order: Some(4),
        ..case.options(240.0, 1e-6)
    };
    let runs = both(&case, &options);
    assert!(runs[0].statistics.steps > 2500, "{:?}", runs[0].statistics);
    expect_same(&runs, "oscillator");
}
