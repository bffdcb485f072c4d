//! Finite eigenvalues of models whose zeros can be computed by hand, and the smoothness of their paths.

use daelight_analysis::System;
use daelight_analysis::initial::{Request, Spot, TaylorJet};
use daelight_analysis::passport::Passport;
use daelight_analysis::smoothness::{Path, paths};
use daelight_analysis::spectrum::{Spectrum, rest_point};
use daelight_lang::{Options, load};

fn system(text: &str) -> System {
    let loaded = load("test.mo", text.as_bytes(), &Options::default());
    let model = loaded
        .model
        .unwrap_or_else(|| panic!("{:#?}\n{text}", loaded.diagnostics));
    System::new(&model).expect("a system")
}

fn spectrum(text: &str) -> Result<Spectrum, String> {
    let system = system(text);
    let passport = Passport::new(&system, &Request::of_model(&system, 0.0, 0));
    passport.spectrum(&system)
}

/// Checks eigenvalues and whether all of them decay; `None` where that cannot be decided.
fn check(text: &str, expected: &[(f64, f64)], minimum_phase: Option<bool>, digits: f64) {
    let found = spectrum(text).unwrap_or_else(|because| panic!("{because}\n{text}"));
    assert_eq!(found.eigenvalues.len(), expected.len(), "{text}");
    for &(re, im) in expected {
        let distance = |e: &daelight_analysis::FiniteEigenvalue| f64::hypot(e.re - re, e.im - im);
        let nearest = found
            .eigenvalues
            .iter()
            .map(distance)
            .fold(f64::INFINITY, f64::min);
        assert!(
            nearest <= digits * f64::hypot(re, im).max(1e-300),
            "{re} + {im}i is missed by {nearest:e}: {found:?}\n{text}"
        );
    }
    assert_eq!(
        found.minimum_phase().ok(),
        minimum_phase,
        "{found:?}\n{text}"
    );
}

/// Two masses, a spring and a damper; the force on the first one is asked for.
fn two_masses(prescribed: &str, unit: f64, factor: f64) -> String {
    format!(
        "model TwoMasses
           parameter Real m1 = 2, m2 = 3, k = 50, d = 4, length = {unit:e}, f = {factor:e};
           Real x1, x2, v1, v2, u;
         equation
           f*der(x1) = f*v1;
           der(x2)/length = v2/length;
           f*m1*der(v1)/length = f*(u - k*(x1 - x2)/length - d*(v1 - v2)/length);
           m2*der(v2)/length = k*(x1 - x2)/length + d*(v1 - v2)/length;
           {prescribed} = length*sin(time);
         end TwoMasses;"
    )
}

#[test]
fn zeros_of_two_masses_do_not_depend_on_units() {
    // Collocated: 3 s^2 + 4 s + 50 = 0. Not collocated: 4 s + 50 = 0.
    let im = (4.0 * 3.0 * 50.0 - 16.0_f64).sqrt() / 6.0;
    for unit in [1.0, 1e-6, 1e5] {
        for factor in [1.0, 1e-8, 1e7] {
            let text = two_masses("x1", unit, factor);
            check(
                &text,
                &[(-2.0 / 3.0, im), (-2.0 / 3.0, -im)],
                Some(true),
                1e-12,
            );
            let text = two_masses("x2", unit, factor);
            check(&text, &[(-12.5, 0.0)], Some(true), 1e-12);
        }
    }
    // A damper with a negative constant pumps energy in.
    let text = two_masses("x1", 1.0, 1.0).replace("d = 4", "d = -4");
    check(
        &text,
        &[(2.0 / 3.0, im), (2.0 / 3.0, -im)],
        Some(false),
        1e-12,
    );
    // Without one the eigenvalues are on the axis, and nothing is claimed.
    let text = two_masses("x1", 1.0, 1.0).replace("d = 4", "d = 0");
    let im = (50.0_f64 / 3.0).sqrt();
    check(&text, &[(0.0, im), (0.0, -im)], None, 1e-9);
}

#[test]
fn a_prescribed_motion_may_determine_everything() {
    let text = "model Mass Real x, v, u; equation der(x) = v; der(v) = u; x = time^3; end Mass;";
    check(text, &[], Some(true), 0.0);
}

/// The cart of a pendulum is moved; the pendulum swings, or falls.
#[test]
fn a_pendulum_on_a_moved_cart() {
    let text = |angle: f64, c: f64| {
        format!(
            "model Cart
               parameter Real M = 5, m = 1, l = 2, g = 9.81, c = {c};
               Real x, theta(start = {angle}), u;
             initial equation
               der(theta) = 0;
               der(der(theta)) = 0;
             equation
               lagrange(0.5*M*der(x)^2 + 0.5*m*(der(x + l*sin(theta))^2 + der(l*cos(theta))^2),
                        -m*g*l*cos(theta), {{x, theta}}, zeros(0), zeros(0), {{u, -c*der(theta)}});
               x = time^4;
             end Cart;"
        )
    };
    let omega = (9.81_f64 / 2.0).sqrt();
    check(&text(0.0, 0.0), &[(0.0, omega), (0.0, -omega)], None, 1e-9);
    let pi = std::f64::consts::PI;
    check(
        &text(pi, 0.0),
        &[(omega, 0.0), (-omega, 0.0)],
        Some(false),
        1e-9,
    );
    // 4 s^2 + c s + 4 omega^2 = 0.
    let im = (omega * omega - 0.0625 * 0.0625 * 4.0).sqrt();
    check(
        &text(0.0, 1.0),
        &[(-0.125, im), (-0.125, -im)],
        Some(true),
        1e-9,
    );
}

/// Names for functions of time do not move.
#[test]
fn a_named_time_does_not_hide_a_rest() {
    let text = two_masses("x1", 1.0, 1.0)
        .replace("v1, v2, u;", "v1, v2, u, s = time/3, path = s^3;")
        .replace("length*sin(time)", "path");
    let im = (4.0 * 3.0 * 50.0 - 16.0_f64).sqrt() / 6.0;
    check(
        &text,
        &[(-2.0 / 3.0, im), (-2.0 / 3.0, -im)],
        Some(true),
        1e-12,
    );
}

#[test]
fn frozen_coefficients_in_motion_decide_nothing() {
    let text =
        "model Swing Real x(start = 1, fixed = true), y; equation der(x) = -x^3; y = x; end Swing;";
    let found = spectrum(text).expect("a spectrum");
    assert!(!found.is_decisive && found.minimum_phase().is_err());
    assert!((found.eigenvalues[0].re + 3.0).abs() < 1e-12);
    let text = "model Rest Real x, y; equation der(x) = 2 - x - x^3; y = x; end Rest;";
    let system = system(text);
    let rest = rest_point(
        &system,
        Spot::plain((0.0, &TaylorJet::at_rest(&[0.0, 0.0], 2))),
    )
    .expect("x = 1 is at rest");
    assert!((rest.get(0, 0) - 1.0).abs() < 1e-12);
    let text = "model NoRest Real x; equation der(x) = 1; end NoRest;";
    let system = self::system(text);
    assert!(rest_point(&system, Spot::plain((0.0, &TaylorJet::at_rest(&[0.0], 2)))).is_none());
}

#[test]
fn where_there_are_no_eigenvalues_the_reason_is_told() {
    for (text, reason) in [
        (
            "model M Real x, y; equation der(x) = y; end M;",
            "do not match",
        ),
        (
            "model M Real x, y; equation der(x) = 1; x^2 + y^2 = 1; y^2 = x + 3; end M;",
            "no consistent point",
        ),
        (
            "model M Real x(start = 0, fixed = true), y; equation y*der(x) = 1; y = x; end M;",
            "",
        ),
    ] {
        let because = spectrum(text).expect_err(text);
        assert!(because.contains(reason), "{because}: {text}");
    }
}

fn paths_of(path: &str) -> Vec<Path> {
    let text = "model Mass Real x, v, u; equation der(x) = v; der(v) = u; x = PATH; end Mass;";
    let found = paths_in(&text.replace("PATH", path));
    // A path through names is the same path.
    let named = "model Mass Real t = time, x, v, u, path = PATH;
        equation der(x) = v; der(v) = u; x = path; end Mass;";
    let through_names = paths_in(&named.replace("PATH", &path.replace("time", "t")));
    assert_eq!(through_names.len(), 1, "{path}");
    assert_eq!(through_names[0].seam, found[0].seam, "{path}");
    found
}

fn paths_in(text: &str) -> Vec<Path> {
    let system = system(text);
    let passport = Passport::new(&system, &Request::of_model(&system, 0.0, 0));
    let part = passport.structure().expect("square");
    let times = part.times_differentiated();
    paths(
        system.equations(),
        &part.structure,
        &times,
        system.parameters().values(),
        &vec![0.1; system.unknowns().len()],
        (0.0, 1.0),
    )
}

#[test]
fn seams_of_paths_are_found_with_their_smoothness() {
    for (path, seam, is_smooth_enough) in [
        ("sin(time)", None, true),
        (
            "if time < 0.5 then 0 else (time - 0.5)^4",
            Some((0.5, 4)),
            true,
        ),
        (
            "if time < 0.5 then 0 else (time - 0.5)^3",
            Some((0.5, 3)),
            true,
        ),
        (
            "if time < 0.5 then 0 else (time - 0.5)^2",
            Some((0.5, 2)),
            false,
        ),
        ("if time < 0.5 then 0 else 1", Some((0.5, 0)), false),
        (
            "if time > 0.25 and time < 0.75 then (time - 0.25)^3*(time - 0.75)^5 else 0",
            Some((0.25, 3)),
            true,
        ),
        ("abs(time - 0.3)^3", Some((0.3, 3)), true),
        ("max(0, time - 0.7)^4", Some((0.7, 4)), true),
        ("(time - 0.3)*abs(time - 0.3)", Some((0.3, 2)), false),
        // Both branches are the same.
        ("if time < 0.5 then time^2 else time^2", None, true),
        // Beyond the run.
        ("if time < 2 then 0 else 1", None, true),
    ] {
        let found = paths_of(path);
        assert_eq!(found.len(), 1, "{path}");
        assert_eq!(found[0].times_differentiated, 2, "{path}");
        let found_seam = found[0].seam.map(|seam| (seam.time, seam.n_continuous));
        match (found_seam, seam) {
            (Some((time, n)), Some((expected, orders))) => {
                assert!((time - expected).abs() < 1e-12, "{path}: {time}");
                assert_eq!(n, orders, "{path}");
            }
            (found, expected) => assert_eq!(found, expected, "{path}"),
        }
        assert_eq!(found[0].is_smooth_enough(), is_smooth_enough, "{path}");
    }
}

/// A rest is an eigenvalue 0 whose vector leaves nothing but rounding in all equations.
#[test]
fn a_motion_that_decays_and_a_rest_are_both_found() {
    for (mass, damping) in [(1.0, 1.0), (0.02, 3.7), (51.0, 0.4), (1e-6, 2e-4)] {
        let text = format!(
            "model Slide Real x(start = 1), v(start = 1); equation der(x) = v; {mass}*der(v) = -{damping}*v; end Slide;"
        );
        let found = spectrum(&text).unwrap_or_else(|because| panic!("{because}\n{text}"));
        let mut values: Vec<f64> = found.eigenvalues.iter().map(|e| e.re).collect();
        values.sort_by(f64::total_cmp);
        let rate = damping / mass;
        assert!(
            (values[0] + rate).abs() <= 1e-12 * rate,
            "{values:?}\n{text}"
        );
        assert!(values[1].abs() <= 1e-12 * rate, "{values:?}\n{text}");
    }
}
