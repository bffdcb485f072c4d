//! Nothing within a step is missed: random switches, pulses and fast forcing with known integrals.

use crate::common::Case;
use daelight_integrate::implicit::Method;
use daelight_integrate::{Nature, StopReason};
use std::f64::consts::{PI, TAU};

/// Repeatable numbers between two bounds.
struct Random(u64);

impl Random {
    fn between(&mut self, low: f64, high: f64) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        low + (high - low) * ((self.0 >> 11) as f64 / (1u64 << 53) as f64)
    }

    /// Evenly spread on a logarithmic scale.
    fn decades(&mut self, low: f64, high: f64) -> f64 {
        self.between(low.ln(), high.ln()).exp()
    }
}

/// Runs a model and compares one unknown at the end with the truth.
fn expect(text: &str, methods: &[Method], to: f64, rtol: f64, name: &str, truth: f64, within: f64) {
    let case = Case::text(text);
    for &method in methods {
        let run = case.run_by(method, 0.0, &case.options(to, rtol));
        assert_eq!(run.stop, StopReason::Finished, "{method:?}: {text}");
        let found = case.value(&run, to, name);
        assert!(
            (found - truth).abs() <= within,
            "{method:?}: {found} instead of {truth}, {} switches\n{text}",
            run.switches.len()
        );
    }
}

/// The part of [0, t] in which cos(w t + p) > c, as a length.
fn above(w: f64, p: f64, c: f64, t: f64) -> f64 {
    let angle = f64::acos(c);
    let measure = |a: f64| {
        let turns = (a / TAU).floor();
        let rest = a - turns * TAU;
        2.0 * angle * turns + rest.min(angle) + (rest - (TAU - angle)).max(0.0)
    };
    (measure(w * t + p) - measure(p)) / w
}

const SERIES: [Method; 1] = [Method::Taylor];
const ALL: [Method; 3] = [Method::Taylor, Method::Radau, Method::Bdf];

#[test]
fn pulse_width_modulation_has_all_its_switches() {
    let mut random = Random(11);
    for _ in 0..30 {
        let (w, p) = (random.between(1.0, 60.0), random.between(0.1, 6.0));
        let c = random.between(-0.95, 0.95);
        let text = format!(
            "model M Real x(start = 0, fixed = true);
             equation der(x) = if cos({w}*time + {p}) > {c} then 1 else 0; end M;"
        );
        expect(&text, &ALL, 10.0, 1e-8, "x", above(w, p, c, 10.0), 1e-6);
    }
}

#[test]
fn narrow_windows_of_a_slow_oscillation_are_met() {
    let mut random = Random(12);
    for _ in 0..30 {
        let d = random.decades(0.002, 0.3);
        let p = random.between(0.0, 1.0);
        let text = format!(
            "model M Real z(start = 0, fixed = true), x(start = sin({p}), fixed = true), v(start = cos({p}), fixed = true);
             equation der(x) = v; der(v) = -x; der(z) = if x > {} then {} else 0; end M;",
            d.cos(),
            0.5 / d
        );
        expect(&text, &SERIES, 4.0, 1e-9, "z", 1.0, 1e-2);
        expect(&text, &ALL[1..], 4.0, 1e-9, "z", 1.0, 0.15);
    }
}

#[test]
fn pulses_of_time_are_not_stepped_over() {
    let mut random = Random(13);
    for k in 0..40 {
        // cosh overflows far away from a narrower pulse.
        let w = random.decades(if k % 4 == 2 { 0.02 } else { 1e-3 }, 1.0);
        let t0 = random.between(3.0, 7.0);
        let u = format!("((time - {t0})/{w})");
        let (pulse, integral) = match k % 4 {
            0 => (format!("exp(-{u}^2)"), PI.sqrt()),
            1 => (format!("1/(1 + {u}^2)^4"), 5.0 * PI / 16.0),
            2 => (format!("1/cosh({u})^2"), 2.0),
            _ => (
                format!("exp(-{u}^2)*cos(3*{u})"),
                PI.sqrt() * (-2.25f64).exp(),
            ),
        };
        // A power law reaches the ends: its tails are 1e-2 at w = 1.
        let within = if k % 4 == 1 {
            1e-6 + 0.2 * (w / 3.0).powi(7)
        } else {
            1e-6
        };
        let text = format!(
            "model M Real x(start = 0, fixed = true); equation der(x) = {pulse}/{w}; end M;"
        );
        // Gaussians and cosh still reach the ends a little at w = 1.
        let within = within + 1e-3 * f64::from(w > 0.4);
        expect(&text, &ALL, 10.0, 1e-8, "x", integral, within);
    }
}

/// x' = 1 + A/w g((x - c)/w): t = x less the integral of what g adds, D, so that x(10) = 10 + D. Pulses near the middles of steps and
/// their quarters, single ones and differences of two steps, in five writings.
#[test]
fn pulses_of_states_are_not_stepped_over() {
    let mut random = Random(29);
    for k in 0..60 {
        let w = random.decades(0.012, 0.15);
        let part = [0.5, 0.25, 0.75, random.between(0.2, 0.8)][k % 4];
        let c = 10.0 * part + w * random.between(-2.0, 2.0);
        let height = random.decades(0.1, 3.0) / w;
        let u = format!("((x - {c})/{w})");
        let (pulse, value): (String, fn(f64) -> f64) = match k / 4 % 3 {
            0 => (format!("exp(-{u}^2)"), |u| (-u * u).exp()),
            1 => (format!("(tanh({u} + 2) - tanh({u} - 2))"), |u| {
                (u + 2.0).tanh() - (u - 2.0).tanh()
            }),
            _ => (format!("{u}^2*exp(-{u}^2)"), |u| u * u * (-u * u).exp()),
        };
        let rate = format!("(1 + {height}*{pulse})");
        let (more, equations) = match k % 5 {
            0 => ("", format!("der(x) = {rate};")),
            1 => (", r", format!("der(x) = r; r - {rate} = 0;")),
            2 => (
                "",
                format!("(2 + sin(time))*der(x) - (2 + sin(time))*{rate} = 0;"),
            ),
            3 => (
                ", p, q",
                format!("der(x) + p - 2*q = {rate}; p = 2*q; p + q = 3*cos(time);"),
            ),
            _ => ("", format!("exp(-x/10)*der(x) = exp(-x/10)*{rate};")),
        };
        let text =
            format!("model M Real x(start = 0, fixed = true){more}; equation {equations} end M;");
        let added = |u: f64| {
            let g = height * value(u);
            w * g / (1.0 + g)
        };
        // The trapezoidal rule is exact but for rounding: all falls off at both ends.
        let n = 20_000;
        let sum: f64 = (0..=n)
            .map(|i| added(-12.0 + 24.0 * f64::from(i) / f64::from(n)))
            .sum();
        let truth = 10.0 + sum * 24.0 / f64::from(n);
        expect(&text, &SERIES, 10.0, 1e-8, "x", truth, 1e-5);
        if k % 5 != 2 {
            expect(&text, &ALL[1..2], 10.0, 1e-8, "x", truth, 1e-5);
        }
    }
}

/// max(0, u - v) as a diode: between the switches all is linear, so that each stretch has a formula.
#[test]
fn a_rectifier_has_all_its_switches() {
    let text = "model R Real v(start = 0.1, fixed = true);
                equation 1e-3*der(v) = max(0, 325*sin(314.159*time + 0.2) - v) - v/100; end R;";
    let case = Case::text(text);
    for method in ALL {
        let run = case.run_by(method, 0.0, &case.options(0.2, 1e-8));
        assert_eq!(run.stop, StopReason::Finished, "{method:?}");
        assert_eq!(run.switches.len(), 19, "{method:?}");
        let found = case.value(&run, 0.2, "v");
        assert!((found - 268.754).abs() < 1e-3, "{method:?}: {found}");
    }
}

/// A continuous right-hand side never slides, however often it switches.
#[test]
fn continuous_kinks_never_slide() {
    let mut random = Random(14);
    for _ in 0..10 {
        let (w, b) = (random.between(1.0, 40.0), random.between(0.5, 5.0));
        let text = format!(
            "model C Real x(start = 0.3, fixed = true);
             equation der(x) = abs(x - sin({w}*time)) - {b}*x; end C;"
        );
        let case = Case::text(&text);
        let ends = ALL.map(|method| {
            let run = case.run_by(method, 0.0, &case.options(5.0, 1e-9));
            assert_eq!(run.stop, StopReason::Finished, "{method:?}: {text}");
            case.value(&run, 5.0, "x")
        });
        assert!((ends[0] - ends[1]).abs() < 1e-6, "{ends:?} {text}");
        assert!((ends[0] - ends[2]).abs() < 1e-5, "{ends:?} {text}");
    }
}

/// Denominators that come near zero and stay clear of it are no singular points.
#[test]
fn what_is_never_zero_is_never_told() {
    let mut random = Random(15);
    for k in 0..12 {
        let d = random.decades(1e-6, 0.3);
        let c = random.between(0.7, 1.3);
        let (text, truth, within) = match k % 3 {
            0 => (
                format!(
                    "model N Real x(start = {c}*{c} + {d}*{d}, fixed = true);
                     equation ((time - {c})^2 + {d}^2)*der(x) = 2*(time - {c})*x; end N;"
                ),
                (2.0 - c) * (2.0 - c) + d * d,
                1e-5,
            ),
            1 => {
                let a = 5.0 + 200.0 * d;
                let text = format!(
                    "model L Real x(start = 0, fixed = true);
                     equation der(x) = 1/(1 + exp(-{a}*(sin(time) - {}))); end L;",
                    c - 0.5
                );
                (text, f64::NAN, 0.0)
            }
            _ => (
                format!(
                    "model Y Real y(start = sqrt({c}^2 + {d}^2)); equation y^2 = (time - {c})^2 + {d}^2; end Y;"
                ),
                ((2.0 - c) * (2.0 - c) + d * d).sqrt(),
                1e-6,
            ),
        };
        let case = Case::text(&text);
        let run = case.run(0.0, 2.0, 1e-10);
        assert_eq!(
            run.stop,
            StopReason::Finished,
            "{:?} {text}",
            run.singularities
        );
        assert!(
            run.singularities.is_empty(),
            "{:?} {text}",
            run.singularities
        );
        if truth.is_finite() {
            let found = case.value(&run, 2.0, if k % 3 == 0 { "x" } else { "y" });
            assert!((found - truth).abs() < within, "{found} {truth} {text}");
        }
    }
}

/// Coulomb's friction: rest after v/k, until a force that grows breaks loose.
#[test]
fn friction_rests_and_breaks_loose() {
    let mut random = Random(16);
    for _ in 0..8 {
        let (v, k) = (random.between(0.5, 2.0), random.between(1.0, 4.0));
        let force = random.between(0.3, 1.5);
        // The force is zero until t = 3, then grows like force (t - 3); it breaks loose at 3 + k/force.
        let text = format!(
            "model F Real v(start = {v}, fixed = true);
             equation der(v) = max(0, {force}*(time - 3)) - {k}*sign(v); end F;"
        );
        let case = Case::text(&text);
        let end = 5.0 + k / force;
        // The implicit methods give up at some of the times where it breaks loose, and say so.
        for method in SERIES {
            let run = case.run_by(method, 0.0, &case.options(end, 1e-8));
            assert_eq!(run.stop, StopReason::Finished, "{method:?} {text}");
            assert!(
                (run.slides[0].from - v / k).abs() < 1e-7,
                "{method:?} {:?} {text}",
                run.slides
            );
            let loose = run.slides.last().expect("a stretch").to;
            assert!(
                (loose - 3.0 - k / force).abs() < 1e-4,
                "{method:?} {:?} {text}",
                run.slides
            );
            let found = case.value(&run, end, "v");
            assert!(
                (found - 2.0 * force).abs() < 1e-5,
                "{method:?}: {found} {text}"
            );
        }
    }
}

/// Switches that are located to rounding only, a narrow window of time and a complementarity, are passed once and do not slide.
#[test]
fn switches_within_rounding_are_passed_once() {
    let mut random = Random(28);
    for k in 0..16 {
        let (at, w) = (
            random.between(0.5, 2.0),
            10f64.powf(random.between(-5.0, -3.0)),
        );
        let rtol = 10f64.powf(random.between(-11.0, -6.0));
        let window = format!(
            "model W Real z(start = 0, fixed = true);
             equation der(z) = if (time - {at})^2 > {w}^2 then 1 else 1/{w}; end W;"
        );
        // v + r i - d is driven; d and i are never positive at once.
        let (slope, r) = (
            random.between(-0.2, 0.2),
            10f64.powf(random.between(-2.0, 0.0)),
        );
        let omega = random.between(1.0, 3.0);
        let diode = format!(
            "model D Real v(start = 0.3, fixed = true), i, d;
             equation min(i, d) = 0; sin({omega}*time) = -d + {r}*i + v; der(v) = {slope}; end D;"
        );
        let over = (omega * 3.0f64).sin() - 0.3 - 3.0 * slope;
        for method in ALL {
            for (text, name, truth) in [
                (&window, "z", 3.0 - 2.0 * w + 2.0),
                (&diode, "i", over.max(0.0) / r),
                (&diode, "d", (-over).max(0.0)),
            ] {
                let case = Case::text(text);
                let run = case.run_by(method, 0.0, &case.options(3.0, rtol));
                assert_eq!(
                    run.stop,
                    StopReason::Finished,
                    "{k} {method:?} {rtol:e} {text}"
                );
                assert!(run.switches.len() < 9, "{k} {method:?} {rtol:e} {text}");
                let found = case.value(&run, 3.0, name);
                let allowed = 1e-5 * truth.abs().max(1.0) + 1e3 * rtol / r;
                assert!(
                    (found - truth).abs() < allowed,
                    "{k} {method:?} {rtol:e}: {found} {truth} {text}"
                );
            }
        }
    }
}

/// Two capacitors that are joined at a time: their voltages would have to jump. Time does not switch back.
#[test]
fn time_does_not_switch_back() {
    let mut random = Random(29);
    for k in 0..9 {
        let (at, c) = (random.between(0.5, 2.0), random.between(0.5, 2.0));
        let text = format!(
            "model S Real u1(start = 1, fixed = true), u2(start = 0, fixed = true), i;
             equation der(u1) = -i; {c}*der(u2) = i;
             if time < {at} then i = 0; else u1 = u2; end if; end S;"
        );
        let case = Case::text(&text);
        let run = case.run_by(ALL[k % 3], 0.0, &case.options(3.0, 1e-8));
        let StopReason::Chattering {
            time,
            leads_back: false,
            ..
        } = run.stop
        else {
            panic!("{:?} {text}", run.stop);
        };
        assert!((time - at).abs() < 1e-9, "{time} {text}");
    }
}

/// A point passes the origin in a distance of e, in polar coordinates: its angle turns by half a circle and is bounded. A true pole
/// on top of a constant grows without bound, and a faint one is not told as passed.
#[test]
fn near_passes_are_bounded_and_poles_are_not() {
    let mut random = Random(35);
    for k in 0..24 {
        let e = 10f64.powf(random.between(-9.0, -2.0));
        let (at, c) = (random.between(0.5, 1.5), random.between(-2.0, 2.0));
        let speed = random.between(0.5, 2.0);
        let angle = |time: f64| e.atan2(speed * (at - time)) + c;
        let equations = match k % 2 {
            0 => format!("r*cos(a - {c}) = {speed}*({at} - time); r*sin(a - {c}) = {e};"),
            _ => format!("r = {speed}*({at} - time); r*sin(a - {c}) = {e}*cos(a - {c});"),
        };
        let (first, radius) = (angle(0.0), speed * at);
        let text = format!(
            "model A Real r(start = {radius}), a(start = {first}); equation {equations} end A;"
        );
        let case = Case::text(&text);
        for method in ALL {
            let run = case.run_by(method, 0.0, &case.options(2.0, 1e-8));
            assert_eq!(run.stop, StopReason::Finished, "{method:?} {text}");
            let found = case.value(&run, 2.0, "a");
            assert!(
                (found - angle(2.0)).abs() < 1e-7,
                "{method:?} {found} {text}"
            );
        }
        let faint = k % 3 == 0;
        let residue = if faint {
            1e-14
        } else {
            random.between(0.1, 2.0)
        };
        let start = c + residue / at;
        let text = format!(
            "model P Real x(start = {start}); equation ({at} - time)*(x - {c}) = {residue}; end P;"
        );
        let case = Case::text(&text);
        let run = case.run_by(Method::Taylor, 0.0, &case.options(2.0, 1e-8));
        assert_eq!(run.stop, StopReason::Singularity, "{text}");
        let last = run.singularities.last().expect("a pole");
        assert!((last.time - at).abs() < 1e-6, "{last:?} {text}");
        assert!(faint || last.nature == Nature::Unbounded, "{last:?} {text}");
    }
}

/// Several blocks with Coulomb's friction come to rest, at different times or all at once; one of them breaks loose again. The
/// same blocks in other unknowns, p = v1 + c v2, are coupled surfaces with the same truth.
#[test]
fn several_blocks_rest_and_one_breaks_loose() {
    let mut random = Random(61);
    for k in 0..24 {
        let n = 2 + k % 3;
        let together = random.between(0.5, 2.0);
        let c = if k % 4 < 2 {
            0.0
        } else {
            random.between(-1.0, 1.0)
        };
        let force = if k % 2 == 0 {
            0.0
        } else {
            random.between(0.5, 1.5)
        };
        let (mut names, mut equations) = (String::new(), String::new());
        let mut blocks = Vec::new();
        for i in 0..n {
            let mu = random.between(0.5, 2.0);
            let v = mu
                * if k % 6 < 3 {
                    together
                } else {
                    random.between(0.3, 2.5)
                };
            let v = if random.between(0.0, 1.0) < 0.5 {
                v
            } else {
                -v
            };
            blocks.push((v, mu, format!("v{i}")));
        }
        // Block 0 is told as p = v0 + c v1.
        blocks[0].2 = format!("(p - {c}*v1)");
        let pull = format!("max(0, {force}*(time - 3))");
        for (i, (v, mu, name)) in blocks.iter().enumerate() {
            let (unknown, start, right) = match i {
                0 => {
                    let (v1, mu1, name1) = &blocks[1];
                    let right = format!("{pull} - {mu}*sign({name}) - {c}*{mu1}*sign({name1})");
                    ("p".to_owned(), v + c * v1, right)
                }
                _ => (name.clone(), *v, format!("-{mu}*sign({name})")),
            };
            names += &format!(
                "Real {unknown}(start = {start}, fixed = true), x{i}(start = 0, fixed = true);"
            );
            equations += &format!("der({unknown}) = {right}; der(x{i}) = {name};");
        }
        let text = format!("model B {names} equation {equations} end B;");
        let case = Case::text(&text);
        let (end, pushed) = match force {
            0.0 => (6.0, 0.0),
            // It breaks loose at 3 + mu/force, two before the end.
            _ => (5.0 + blocks[0].1 / force, 2.0 * force),
        };
        let methods: &[Method] = if force == 0.0 { &ALL } else { &SERIES };
        for &method in methods {
            let run = case.run_by(method, 0.0, &case.options(end, 1e-8));
            assert_eq!(run.stop, StopReason::Finished, "{method:?} {text}");
            assert!(
                (case.value(&run, end, "p") - pushed).abs() < 1e-5,
                "{method:?} {text}"
            );
            for (i, (v, mu, _)) in blocks.iter().enumerate().skip(1) {
                let x = case.value(&run, end, &format!("x{i}"));
                let truth = v * v.abs() / (2.0 * mu);
                assert!(
                    (x - truth).abs() < 1e-5,
                    "{method:?} x{i} {x} {truth} {text}"
                );
            }
        }
    }
}

/// One surface, written as a sign and as a relation, has one share: half, and w falls like the mean of both sides.
#[test]
fn a_sign_and_a_relation_are_one_surface() {
    let mut random = Random(62);
    for _ in 0..8 {
        let (v, mu) = (random.between(0.5, 2.0), random.between(0.5, 2.0));
        let (p, q) = (random.between(0.0, 1.0), random.between(0.0, 1.0));
        let text = format!(
            "model W Real v(start = {v}, fixed = true), w(start = 1, fixed = true);
             equation der(v) = -{mu}*sign(v); der(w) = if v > 0 then -{p}*w else -{q}*w; end W;"
        );
        let case = Case::text(&text);
        let rest = v / mu;
        let run = case.run_by(Method::Taylor, 0.0, &case.options(rest + 2.0, 1e-8));
        assert_eq!(run.stop, StopReason::Finished, "{text}");
        let truth = (-p * rest - (p + q)).exp();
        let found = case.value(&run, rest + 2.0, "w");
        assert!((found - truth).abs() < 1e-7, "{found} {truth} {text}");
    }
}

/// A relay that follows q sin(w t): it slides while it is fast enough, and leaves where it is not.
#[test]
fn a_relay_slides_and_leaves() {
    let text = "model R Real x(start = -1, fixed = true);
                equation der(x) = if x > sin(time) then -0.8 else 0.8; end R;";
    let case = Case::text(text);
    let ends = ALL.map(|method| {
        let run = case.run_by(method, 0.0, &case.options(12.0, 1e-9));
        assert_eq!(run.stop, StopReason::Finished, "{method:?}");
        assert!(run.slides.len() > 1, "{:?}", run.slides);
        // It leaves where |cos t| = 0.8.
        for slide in &run.slides[..run.slides.len() - 1] {
            assert!(
                (slide.to.cos().abs() - 0.8).abs() < 1e-5,
                "{:?}",
                run.slides
            );
        }
        case.value(&run, 12.0, "x")
    });
    assert!(
        (ends[0] - ends[1]).abs() < 1e-6 && (ends[0] - ends[2]).abs() < 1e-5,
        "{ends:?}"
    );
}

/// Singular points of every kind: one solution, several, a family.
#[test]
fn singular_points_are_counted() {
    use daelight_integrate::Nature;
    for (text, natures) in [
        (
            "model A Real y(start = -1); equation y^3 = (time - 1)^3; end A;",
            vec![Nature::Removable],
        ),
        (
            "model B Real y(start = -1); equation y^2 = (time - 1)^2; end B;",
            vec![Nature::Bifurcation],
        ),
        (
            "model C Real y(start = 0); equation y^3 = y*(time - 1)^2; end C;",
            vec![Nature::Bifurcation],
        ),
        (
            "model D Real x(start = 1, fixed = true); equation (time - 1)*der(x) = x; end D;",
            vec![Nature::Family],
        ),
    ] {
        let case = Case::text(text);
        let run = case.run(0.0, 2.0, 1e-10);
        let found: Vec<Nature> = run.singularities.iter().map(|point| point.nature).collect();
        assert_eq!(found, natures, "{text}");
        assert!((run.singularities[0].time - 1.0).abs() < 1e-6, "{text}");
    }
}

/// A coefficient that oscillates vanishes often: all its zeros are listed, each once, in order.
#[test]
fn all_zeros_of_a_fast_coefficient_are_listed() {
    for (w, p) in [(50.0, 0.0), (23.0, 0.4), (120.0, 1.0)] {
        let text = format!(
            "model Z Real y(start = 1); equation cos({w}*time + {p})*(y - 1 - time^2) = 0; end Z;"
        );
        let case = Case::text(&text);
        let run = case.run_on(0.0, 1.0, 1e-10);
        assert_eq!(run.stop, StopReason::Finished, "{text}");
        let first = ((p - PI / 2.0) / PI).ceil();
        let wanted: Vec<f64> = (0..)
            .map(|k| (PI / 2.0 + PI * (first + f64::from(k)) - p) / w)
            .skip_while(|t| *t <= 0.0)
            .take_while(|t| *t < 1.0)
            .collect();
        let times: Vec<f64> = run.singularities.iter().map(|point| point.time).collect();
        assert_eq!(times.len(), wanted.len(), "{text}: {times:?} {wanted:?}");
        for (found, wanted) in times.iter().zip(&wanted) {
            assert!((found - wanted).abs() < 1e-8, "{text}: {times:?}");
        }
    }
}
