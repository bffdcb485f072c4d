//! Singular points with known times: located, told apart, passed or not.

use crate::common::{Case, assert_close};
use daelight_integrate::{Nature, Output, StopReason};

/// The first 5-A point of the robotic arm, where sin(x3) = 0 (reference computation in 25 digits).
const ARM_5A: f64 = 1.544_626_000_035_211_4;

/// The 3-B point behind it, where cos(x3) = 3 - sqrt(5).
const ARM_3B: f64 = 2.029_650_268_169_82;

/// x1 to x8 at t = 1.5 on the exact solution x1 = 1 - e^t, x3 = e^t - t (40 digits, this many kept).
const ARM_AT_1_5: [f64; 8] = [
    -3.481_689_070_338_065,
    5.311_338_020_351_910_8,
    2.981_689_070_338_065,
    -4.481_689_070_338_064_8,
    15.980_656_522_571_287,
    3.481_689_070_338_065,
    -0.886_555_289_157_735_1,
    36.773_568_640_429_92,
];

/// The same at t = 2.
const ARM_AT_2: [f64; 8] = [
    -6.389_056_098_930_65,
    137.578_691_180_305_98,
    5.389_056_098_930_65,
    -7.389_056_098_930_65,
    4_177.570_540_686_978,
    6.389_056_098_930_65,
    214.370_231_708_633_1,
    273_625.244_552_547_8,
];

#[test]
fn the_arm_stops_at_its_first_singular_point() {
    let arm = Case::library("robotic-arm", &[]);
    for rtol in [1e-6, 1e-8, 1e-10, 1e-12] {
        let run = arm.run(0.0, 2.0, rtol);
        assert_eq!(run.stop, StopReason::Singularity, "rtol {rtol:e}");
        let [point] = run.singularities.as_slice() else {
            panic!("one singular point: {:?}", run.singularities);
        };
        assert!(
            (point.time - ARM_5A).abs() < 1e-12,
            "{rtol:e}: {}",
            point.time
        );
        assert_eq!(point.nature, Nature::Removable);
        assert_eq!(point.offset, 4);
        let names: Vec<&str> = point
            .unknowns
            .iter()
            .map(|&j| arm.reduced.kept_unknowns()[j])
            .map(|j| arm.system.unknowns()[j].name.as_str())
            .collect();
        assert_eq!(names, ["x1", "x3"]);
        assert!(point.evidence.sign_change && point.evidence.singular_ratio < 1e-10);
        assert!(run.residual() < 1e-10);
    }
}

#[test]
fn the_arm_is_accurate_before_its_first_singular_point() {
    let arm = Case::library("robotic-arm", &[]);
    let run = arm.run(0.0, 2.0, 1e-10);
    assert_close(&arm.values(&run, 1.5), &ARM_AT_1_5, 1e-8);
    // A point that is asked for is solved for, so that a coarse tolerance does not show in it.
    let mut options = arm.options(2.0, 1e-8);
    options.output = Output::Points(vec![0.5, 1.5]);
    let run = arm.run_with(0.0, &options);
    let point = &run.trajectory.points()[1];
    let x1 = point.coefficients[0];
    assert!((x1 - ARM_AT_1_5[0]).abs() < 1e-13);
    let n = run.trajectory.n();
    let x8 = arm.reduced.derivative_of(7).expect("x8 is kept").0;
    assert!((point.coefficients[x8] - ARM_AT_1_5[7]).abs() < 1e-8, "{n}");
}

#[test]
fn the_arm_passes_its_first_singular_point_on_the_exact_branch() {
    let arm = Case::library("robotic-arm", &[]);
    for rtol in [1e-8, 1e-10, 1e-12] {
        let run = arm.run_on(0.0, 2.2, rtol);
        assert_eq!(run.stop, StopReason::Singularity);
        let [first, second] = run.singularities.as_slice() else {
            panic!("two singular points: {:?}", run.singularities);
        };
        assert!((first.time - ARM_5A).abs() < 1e-12);
        assert_eq!(first.nature, Nature::Removable);
        assert!((second.time - ARM_3B).abs() < 1e-12, "{}", second.time);
        assert_eq!(second.nature, Nature::Unbounded);
        assert_eq!(second.offset, 2);
        let values = arm.values(&run, 2.0);
        for j in [0, 2, 3, 5] {
            assert!(
                (values[j] - ARM_AT_2[j]).abs() < 1e-8,
                "x{}: {}",
                j + 1,
                values[j]
            );
        }
        assert_close(&values, &ARM_AT_2, 1e-6);
        // x8 on both sides of the singular time, where the run jumped (40 digits, this many kept).
        for (time, x8) in [
            (1.5, 36.773_568_640_429_93),
            (1.53, 49.716_658_029_168_18),
            (1.56, 69.279_938_056_071_9),
            (1.6, 109.535_378_472_175_1),
        ] {
            let found = arm.value(&run, time, "x8");
            assert!(
                (found / x8 - 1.0).abs() < 1e-7,
                "{rtol:e} at {time}: {found:e}"
            );
        }
        assert!(run.residual() < 1e-10);
    }
}

#[test]
fn the_arm_on_its_safe_path_meets_nothing() {
    // Exact solution of the path (reference computation), from -5 to 5 and back.
    let at_start = [
        6.0,
        4.918_546_395_953_173,
        2.479_462_137_331_569,
        -1.0,
        0.325_075_238_900_547_2,
        0.141_831_092_731_613_13,
        -0.218_862_311_653_056_3,
        -1.031_796_251_489_925_2,
    ];
    let at_end = [
        -4.0,
        2.242_953_927_918_780_4,
        1.520_537_862_668_430_8,
        -1.0,
        0.532_805_892_352_471_3,
        0.141_831_092_731_613_13,
        -1.598_828_185_688_309_5,
        2.521_226_756_942_895,
    ];
    let arm = Case::library("robotic-arm-safe-path", &[]);
    let mut start = arm.start(-5.0);
    set_start(&arm, &mut start, &at_start);
    for rtol in [1e-6, 1e-9, 1e-11] {
        let options = arm.options(5.0, rtol);
        let run =
            daelight_integrate::taylor::solve(&arm.problem, &start, &options).expect("a start");
        assert_eq!(run.stop, StopReason::Finished);
        assert_eq!(run.singularities, []);
        assert_close(&arm.values(&run, 5.0), &at_end, 1e-9);
        assert!(run.residual() < 1e-10);
    }
}

fn set_start(case: &Case, start: &mut daelight_integrate::Start, values: &[f64]) {
    for (unknown, &value) in values.iter().enumerate() {
        if let Some((place, order)) = case.reduced.derivative_of(unknown) {
            let order = order as usize;
            if order < start.coefficients.len() {
                start.coefficients[order][place] = value;
            }
        }
    }
}

#[test]
fn a_root_ends_in_a_branch_point() {
    let text = "model Root Real x(start = 1, fixed = true), y(start = 1);
                equation der(x) = -1; y^2 = x; end Root;";
    let root = Case::text(text);
    for rtol in [1e-6, 1e-8, 1e-10] {
        for on in [false, true] {
            let run = if on {
                root.run_on(0.0, 2.0, rtol)
            } else {
                root.run(0.0, 2.0, rtol)
            };
            assert_eq!(run.stop, StopReason::Singularity, "{rtol:e}");
            let [point] = run.singularities.as_slice() else {
                panic!("one singular point: {:?}", run.singularities);
            };
            assert_eq!(point.nature, Nature::Branch);
            assert!((point.time - 1.0).abs() < 1e-8, "{rtol:e}: {}", point.time);
            assert!(point.block.is_some());
        }
    }
}

#[test]
fn growth_without_bound_is_no_singularity_of_the_equations() {
    let escape =
        Case::text("model E Real x(start = 1, fixed = true); equation der(x) = x^2; end E;");
    let run = escape.run(0.0, 2.0, 1e-10);
    let StopReason::FiniteEscape { time, fits } = &run.stop else {
        panic!("{:?}", run.stop);
    };
    assert!((time - 1.0).abs() < 1e-8, "{time}");
    assert!((fits[0].exponent + 1.0).abs() < 0.05);
    assert_eq!(run.singularities, []);
}

#[test]
fn a_touched_zero_is_found() {
    // (t - 1)^2 x = (t - 1)^2 (t - 2): the factor of x touches zero at 1, x = t - 2 passes.
    let text = "model Graze Real x(start = -2); equation (time - 1)^2*x = (time - 1)^2*(time - 2) ; end Graze;";
    let graze = Case::text(text);
    let run = graze.run(0.0, 3.0, 1e-8);
    assert_eq!(run.stop, StopReason::Singularity, "{run:?}");
    let point = &run.singularities[0];
    assert!(
        (point.time - 1.0).abs() < 1e-8 && !point.evidence.sign_change,
        "{point:?}"
    );
}

#[test]
fn equations_that_depend_on_each_other_are_refused() {
    let text = "model Twice Real x, y; equation (x + y)^3 + x + y = time; exp(x + y) = 1 + time; end Twice;";
    let refused = Case::new(text, &[]).err().unwrap_or_default();
    assert!(refused.contains("singular everywhere"), "{refused}");
}

/// Every removable point of the arm, with orders 8 to 20 and tolerances 1e-6 to 1e-12: passed rightly, or told.
#[test]
fn no_order_and_no_tolerance_passes_a_singular_point_silently_wrong() {
    // Start, singular time, end, and x8 there on the exact solution (40 digits, this many kept).
    let passages = [
        (-4.0, -3.096_380_081_228_228, -2.0, 0.12417742953120622),
        (1.0, ARM_5A, 1.8, 915.0741471777442),
        (2.08, 2.129_773_196_104_886_2, 2.17, 58752.68273569232),
    ];
    let arm = Case::library("robotic-arm", &[]);
    let mut unresolved = Vec::new();
    for (from, singular, to, x8) in passages {
        let mut start = arm.start(from);
        set_start(
            &arm,
            &mut start,
            &[1.0 - from.exp(), 0.0, from.exp() - from],
        );
        for order in (8..=20).step_by(2) {
            for rtol in [1e-6, 1e-8, 1e-10, 1e-12] {
                let mut options = arm.options(to, rtol);
                options.order = Some(order);
                options.on_singularity = daelight_integrate::OnSingularity::Continue;
                options.output = Output::Points(vec![to]);
                let run = daelight_integrate::taylor::solve(&arm.problem, &start, &options);
                let run = run.expect("a start");
                let told = format!(
                    "{from} order {order} rtol {rtol:e}: {:?}, {:?}",
                    run.stop, run.singularities
                );
                if run.stop == StopReason::Finished {
                    assert_eq!(run.singularities.len(), 1, "{told}");
                    assert!(
                        (run.singularities[0].time - singular).abs() < 1e-11,
                        "{told}"
                    );
                    let place = arm.reduced.derivative_of(7).expect("x8 is kept").0;
                    let found = run.trajectory.points()[0].coefficients[place];
                    assert!((found / x8 - 1.0).abs() < 1e-8, "{told}: {found:e}");
                } else {
                    unresolved.push(told);
                }
            }
        }
    }
    assert!(
        unresolved.len() <= 3,
        "{}: {unresolved:#?}",
        unresolved.len()
    );
}

/// Singular points that states pass with: x = cos t and z = x, or z = x' + 1, or both.
#[test]
fn states_pass_a_singular_point() {
    let oscillator = "Real x(start = 1, fixed = true), v(start = 0, fixed = true)";
    let motion = "der(x) = v; der(v) = -x;";
    let cases = [
        // An odd zero at t = 1.
        ("z", "(time - 1)*z = (time - 1)*x;", true),
        // One where the state vanishes: v = 0 at pi.
        ("z", "sin(time)*z = sin(time)*(x + 2);", true),
        // A touched zero at t = 1.
        ("z", "(time - 1)^2*z = (time - 1)^2*x;", false),
        // Corank 2 at t = 1.
        (
            "z, w",
            "(time - 1)*(z + w) = (time - 1)*(x + v); (time - 1)*(z - w) = (time - 1)*(x - v);",
            false,
        ),
    ];
    for (unknowns, equations, sign_change) in cases {
        let text =
            format!("model S {oscillator}; Real {unknowns}; equation {motion} {equations} end S;");
        let case = Case::text(&text);
        // The factor sin(time) vanishes at 0 as well, so the run begins behind it.
        for rtol in [1e-6, 1e-9] {
            let mut start = case.start(0.25);
            set_start(&case, &mut start, &[0.25f64.cos(), -0.25f64.sin()]);
            let mut options = case.options(4.0, rtol);
            options.on_singularity = daelight_integrate::OnSingularity::Continue;
            let run = daelight_integrate::taylor::solve(&case.problem, &start, &options)
                .expect("a start");
            assert_eq!(
                run.stop,
                StopReason::Finished,
                "{equations} {:?}",
                run.singularities
            );
            let [point] = run.singularities.as_slice() else {
                panic!("{equations}: {:?}", run.singularities);
            };
            let expected = if equations.contains("sin") {
                std::f64::consts::PI
            } else {
                1.0
            };
            assert!(
                (point.time - expected).abs() < 1e-9,
                "{equations}: {}",
                point.time
            );
            assert_eq!(point.nature, Nature::Removable);
            assert_eq!(point.evidence.sign_change, sign_change);
            for time in [1.0, 3.9] {
                assert!(
                    (case.value(&run, time, "x") - time.cos()).abs() < 20.0 * rtol,
                    "{equations}"
                );
            }
        }
    }
}

/// A slider-crank of equal lengths can fold: at phi = pi/2 the two rods lie on each other, a change point.
#[test]
fn a_mechanism_with_masses_swings_through_its_change_point() {
    // psi = -phi on the branch of the start; the other branch, x = 0, begins at phi = pi/2. phi = pi/3 + t.
    let change = std::f64::consts::FRAC_PI_6;
    let unknowns = "Real phi, psi(start = -1.0471975511965976), x(start = 1)";
    let loop_ = "phi = 1.0471975511965976 + time; sin(phi) + sin(psi) = 0; x = cos(phi) + cos(psi)";
    // Without masses the slider may as well rest from there on.
    let driven = Case::text(&format!("model C {unknowns}; equation {loop_}; end C;"));
    for run in [driven.run(0.0, 1.0, 1e-9), driven.run_on(0.0, 1.0, 1e-9)] {
        assert_eq!(run.stop, StopReason::Singularity);
        let point = &run.singularities[0];
        assert_eq!(point.nature, Nature::Bifurcation);
        assert!((point.time - change).abs() < 1e-12);
    }
    // A mass on the slider needs a velocity, which does not jump.
    let mass = "der(x) = v; f = der(v)";
    let heavy = format!("model C {unknowns}, v, f; equation {loop_}; {mass}; end C;");
    let heavy = Case::text(&heavy);
    let run = heavy.run_on(0.0, 1.0, 1e-9);
    assert_eq!(run.stop, StopReason::Finished, "{:?}", run.singularities);
    assert_eq!(run.singularities[0].nature, Nature::Removable);
    assert!((run.singularities[0].time - change).abs() < 1e-12);
    let phi = std::f64::consts::FRAC_PI_3 + 1.0;
    for (name, wanted) in [("x", phi.cos()), ("v", -phi.sin()), ("f", -phi.cos())] {
        let found = heavy.value(&run, 1.0, name);
        assert!((found - 2.0 * wanted).abs() < 1e-7, "{name}: {found}");
    }
}

/// All six singular times of the arm between -6 and 2.22, met by forward and backward runs (25-digit reference).
#[test]
fn all_singular_times_of_the_arm_are_met() {
    let poles = [-5.577_993_525_171_187, ARM_3B, 2.219_666_830_742_804];
    let smooth = [-3.096_380_081_228_228, ARM_5A, 2.129_773_196_104_886];
    let arm = Case::library("robotic-arm", &[]);
    let runs = [
        (-6.0, 0.0, vec![poles[0]]),
        (-5.0, 3.0, vec![smooth[0], smooth[1], poles[1]]),
        (2.08, 3.0, vec![smooth[2], poles[2]]),
        (0.0, -6.0, vec![smooth[0], poles[0]]),
    ];
    for (from, to, expected) in runs {
        let mut start = arm.start(from);
        set_start(
            &arm,
            &mut start,
            &[1.0 - f64::exp(from), 0.0, f64::exp(from) - from],
        );
        let mut options = arm.options(to, 1e-10);
        options.on_singularity = daelight_integrate::OnSingularity::Continue;
        let run =
            daelight_integrate::taylor::solve(&arm.problem, &start, &options).expect("a start");
        assert_eq!(run.stop, StopReason::Singularity, "from {from}");
        assert_eq!(
            run.singularities.len(),
            expected.len(),
            "from {from}: {:?}",
            run.singularities
        );
        for (point, time) in run.singularities.iter().zip(expected) {
            assert!(
                (point.time - time).abs() < 1e-12,
                "from {from}: {} {time}",
                point.time
            );
            let pole = poles.contains(&time);
            let nature = if pole {
                Nature::Unbounded
            } else {
                Nature::Removable
            };
            assert_eq!(point.nature, nature, "{time}");
        }
    }
}

/// Blocks are looked at together: the evaluations ahead do not grow with their number, wherever their determinants vanish.
#[test]
fn many_blocks_share_their_looks_ahead() {
    for equation in [
        "(2 + sin(x[i] + time))*der(x[i]) = -x[i]",
        "(1 - time*(1 + 0.001*i))*der(x[i]) = -x[i]",
        "cos(time)*der(x[i]) = -x[i]*cos(time)",
        "(1 - cos(time - 1))*der(x[i]) = -x[i]*(1 - cos(time - 1))",
        "(1.01 - cos(time - 1 + 0.0001*i))*der(x[i]) = -x[i]",
    ] {
        let [few, many] = [10, 200].map(|n| {
            let text = format!(
                "model M Real x[{n}](each start = 1); equation for i in 1:{n} loop {equation}; end for; end M;"
            );
            let run = Case::text(&text).run(0.0, 2.0, 1e-8);
            (run.statistics.jacobians, run.stop)
        });
        assert!(
            many.0 < 2 * few.0 + 100,
            "{equation}: {few:?}, with 200 blocks {many:?}"
        );
        assert_eq!(few.1, many.1, "{equation}");
    }
}

/// (1 - c t)^(1/c) is nearly a line for c near 1, and yet no smooth solution goes on behind t = 1/c.
#[test]
fn a_faint_branch_point_is_not_passed() {
    for c in [0.97, 1.005, 1.02, 1.05, 1.1] {
        let text = format!(
            "model M Real x(start = 1, fixed = true); equation (1 - {c}*time)*der(x) = -x; end M;"
        );
        let run = Case::text(&text).run_on(0.0, 2.0, 1e-8);
        assert_eq!(run.stop, StopReason::Singularity, "{c}");
        let [point] = run.singularities.as_slice() else {
            panic!("{c}: {:?}", run.singularities);
        };
        assert!((point.time - 1.0 / c).abs() < 1e-9, "{c}: {}", point.time);
        assert_ne!(point.nature, Nature::Removable, "{c}");
    }
    // With c = 1 and c = 1/2 the solutions 1 - t and (1 - t/2)^2 are smooth, and so are all their multiples.
    for c in [1.0, 0.5] {
        let text = format!(
            "model M Real x(start = 1, fixed = true); equation (1 - {c}*time)*der(x) = -x; end M;"
        );
        let run = Case::text(&text).run(0.0, 3.0, 1e-8);
        assert_eq!(run.singularities[0].nature, Nature::Family, "{c}");
    }
}
