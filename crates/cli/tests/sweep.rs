//! Sweeps: rows against formulas and single runs, whatever the number of threads.

use crate::common;
use crate::common::{built_in, number};
use daelight::ModelText;
use daelight::sweep::{
    Axis, Measure, Measured, Settings, Shard, Store, Sweep, SweepPoints, SweepRow, header, line,
    read_rows,
};
use daelight_lang::Options;
use serde_json::json;
use std::ops::ControlFlow;

fn axis(text: &str) -> Axis {
    Axis::read(text).unwrap_or_else(|error| panic!("{error}"))
}

fn grid(axes: &[&str]) -> SweepPoints {
    let axes: Vec<Axis> = axes.iter().map(|text| axis(text)).collect();
    SweepPoints::grid(&axes).unwrap_or_else(|error| panic!("{error}"))
}

fn random(axes: &[&str], n: usize) -> SweepPoints {
    let axes: Vec<Axis> = axes.iter().map(|text| axis(text)).collect();
    SweepPoints::random(&axes, n, 1).unwrap_or_else(|error| panic!("{error}"))
}

fn text(model: &str) -> ModelText {
    ModelText {
        name: "test.mo".to_string(),
        bytes: model.as_bytes().to_vec(),
    }
}

fn settings(locked: &[&str], n_threads: usize) -> Settings {
    Settings {
        locked: locked.iter().map(|name| name.to_string()).collect(),
        n_threads: Some(n_threads),
        ..Settings::default()
    }
}

fn sweep_with(
    model: &str,
    set: &[&str],
    points: SweepPoints,
    measures: &[&str],
    s: Settings,
) -> Sweep {
    let options = Options {
        set: set.iter().map(|item| item.to_string()).collect(),
        ..Options::default()
    };
    let measures = measures
        .iter()
        .map(|word| Measure::read(word).expect("a measure"));
    let sweep = Sweep::new(text(model), &options, points, measures.collect(), s);
    sweep.unwrap_or_else(|refusal| panic!("{refusal}"))
}

fn sweep(model: &str, points: SweepPoints, measures: &[&str]) -> Sweep {
    sweep_with(model, &[], points, measures, settings(&[], 2))
}

fn value(row: &SweepRow) -> f64 {
    let found = row.measured[0].number();
    found.unwrap_or_else(|| panic!("{:?}: {}", row.point, row.reason))
}

/// The singular configurations of Andrews' mechanism for other rods 1 and 2, by circles: rods 4 to 7 lie on one line, so that
/// P2 is at the distance a7 - a6 or a7 + a6 from A and at a3 from B; rods 1 and 2 reach it in two ways, or not at all.
fn andrews(a1: f64, a2: f64) -> f64 {
    let [b, w] = [(-0.03635, 0.03273), (-0.06934, -0.00227)];
    let distance = f64::hypot(b.0 - w.0, b.1 - w.1);
    let mut count = 0.0;
    for radius in [0.02, 0.06] {
        let along = (distance * distance + radius * radius - 0.035 * 0.035) / (2.0 * distance);
        let across = (radius * radius - along * along).sqrt();
        let unit = ((b.0 - w.0) / distance, (b.1 - w.1) / distance);
        for side in [-1.0, 1.0] {
            let x = w.0 + along * unit.0 - side * across * unit.1;
            let y = w.1 + along * unit.1 + side * across * unit.0;
            let reach = x.hypot(y);
            count += if (a1 - a2).abs() < reach && reach < a1 + a2 {
                2.0
            } else {
                0.0
            };
        }
    }
    count
}

#[test]
fn the_map_of_andrews_mechanism_is_that_of_the_formulas() {
    let model = built_in("andrews-constraints");
    let points = random(&["a[1]=0.001:0.1", "a[2]=0.001:0.1"], 1000);
    let measures = ["singular-count", "singular-count:1", "singular-count:2"];
    let sweep = sweep(model, points, &measures);
    assert_eq!(sweep.notes(), Vec::<String>::new());
    let rows = sweep.all_rows();
    let mut seen = [0; 9];
    for row in &rows {
        let found = value(row);
        assert_eq!(
            found,
            andrews(row.point[0], row.point[1]),
            "{:?}",
            row.point
        );
        let parts: Vec<f64> = row.measured.iter().filter_map(Measured::number).collect();
        assert_eq!(parts[1] + parts[2], found);
        seen[found as usize] += 1;
    }
    assert_eq!(rows.len(), 1000);
    assert!([0, 2, 4, 6, 8].iter().all(|&n| seen[n] > 10), "{seen:?}");
}

/// Points on both sides of the boundary, as close as decimals of 15 digits come, and on curves with more configurations.
#[test]
fn numbers_are_right_beside_and_on_the_boundary() {
    let model = built_in("andrews-constraints");
    // E_1 = E_2 = 0 of the paper.
    let (a1, a2) = (0.059_859_430_800_218_81, 0.010_353_196_560_888_93);
    let list = |rows: Vec<Vec<f64>>| {
        SweepPoints::list(vec!["a[1]".to_string(), "a[2]".to_string()], rows).expect("a list")
    };
    let near = [-1e-12, -1e-15, 1e-15, 1e-12];
    let rows: Vec<Vec<f64>> = (near.iter())
        .flat_map(|&d| near.map(|e| vec![a1 + d, a2 + e]))
        .collect();
    for row in sweep(model, list(rows), &["singular-count"]).all_rows() {
        let [d, e] = [row.point[0] - a1, row.point[1] - a2];
        // Doubles of the formula do not resolve 1e-15.
        if d.abs().max(e.abs()) > 1e-13 && (d + e).abs() > 1e-13 && (d - e).abs() > 1e-13 {
            assert_eq!(
                value(&row),
                andrews(row.point[0], row.point[1]),
                "{d:e} {e:e}"
            );
        }
        assert!([0.0, 2.0, 4.0].contains(&value(&row)));
    }
    // The lengths of a four-bar that can be flat: l1 + l4 = l2 + l3 with one way to be so.
    let flat = sweep(
        built_in("four-bar"),
        grid(&["l[1]=0.05:0.45:9", "l[4]=0.1:0.7:7"]),
        &["singular-count"],
    );
    for row in flat.all_rows() {
        let (l1, l4) = (
            (100.0 * row.point[0]).round(),
            (100.0 * row.point[1]).round(),
        );
        let mut count = 0.0;
        for choice in 0..8 {
            let sign = |at: usize| if choice >> at & 1 == 0 { 1.0 } else { -1.0 };
            let end = sign(0) * l1 + sign(1) * 35.0 + sign(2) * 30.0;
            count += if end == l4 { 1.0 } else { 0.0 };
        }
        assert_eq!(value(&row), count, "{:?}", row.point);
    }
}

/// Figure 7 of the paper on Andrews' mechanism: rods 3, 6 and 7 are aligned, which puts their common end at a distance r from
/// the origin, and rods 1 and 2 reach it in the ring |a1 - a2| < r < a1 + a2. Conjugates of its boundary, with the other sign
/// of the root, are no boundary.
#[test]
fn boundaries_are_where_numbers_change() {
    let points = || grid(&["a[1]=0.001:0.1:3", "a[2]=0.001:0.1:3"]);
    let model = built_in("andrews-constraints");
    let set = ["b[1]=-0.06934+0.03*sqrt(2)"];
    // The pivots are 0.055 apart, and rod 6 folded over rod 7 is 0.02 long.
    let (x, y) = (0.03 * 2f64.sqrt(), 0.035);
    let r = (-0.06934 + x * 0.02 / 0.055).hypot(-0.00227 + y * 0.02 / 0.055);
    let ring = sweep_with(
        model,
        &set,
        points(),
        &["singular-count:3"],
        settings(&[], 2),
    );
    let curves = ring.curves();
    let of_piece = curves.iter().filter(|curve| curve.piece == Some(3));
    let on_ring: Vec<(f64, f64)> = of_piece
        .flat_map(|curve| curve.lines.iter().flatten().copied())
        .collect();
    assert!(on_ring.len() > 400, "{}", on_ring.len());
    for (a1, a2) in on_ring {
        let off = (a1 + a2 - r).abs().min(((a1 - a2).abs() - r).abs());
        assert!(off < 1e-8, "{a1} {a2}");
    }
    // Conditions of further pieces are told apart from boundaries, which they often lie on.
    let original = sweep(model, points(), &["singular-count"]).curves();
    let (others, boundaries): (Vec<_>, Vec<_>) =
        original.iter().partition(|curve| curve.piece.is_none());
    let all = |curves: &[&daelight::sweep::BoundaryCurve]| -> Vec<(f64, f64)> {
        (curves.iter().flat_map(|curve| &curve.lines).flatten())
            .copied()
            .collect()
    };
    let (others, boundaries) = (all(&others), all(&boundaries));
    let is_on = |one: &&(f64, f64)| {
        (boundaries.iter()).any(|other| (one.0 - other.0).hypot(one.1 - other.1) < 1e-9)
    };
    let n_on = others.iter().filter(is_on).count();
    assert!(50 * n_on <= others.len(), "{n_on} of {}", others.len());
}

/// Dead centres of linkages with a motor, by elementary geometry.
#[test]
fn maps_of_driven_linkages() {
    let model = built_in("four-bar");
    let points = || grid(&["l[1]=0.05:0.8:16", "l[4]=0.05:0.8:16"]);
    let driven = settings(&["q[1]"], 2);
    for row in sweep_with(model, &[], points(), &["singular-count"], driven).all_rows() {
        // In units of 0.01: coupler and rocker span 65 or 5 where the crank takes its end there.
        let (l1, l4) = (
            (100.0 * row.point[0]).round(),
            (100.0 * row.point[1]).round(),
        );
        let ways = |d: f64| match ((l1 - l4).abs(), l1 + l4) {
            (least, most) if least < d && d < most => 2.0,
            (least, most) if least == d || d == most => 1.0,
            _ => 0.0,
        };
        assert_eq!(value(&row), ways(65.0) + ways(5.0), "{:?}", row.point);
    }
    let model = built_in("slider-crank");
    let points = grid(&["l[1]=0.05:0.6:12", "e=-0.3:0.3:13"]);
    let driven = settings(&["q[1]"], 2);
    for row in sweep_with(model, &[], points, &["singular-count"], driven).all_rows() {
        // The rod stands across the slide: l1 sin q1 = e - 0.3 or e + 0.3.
        let (l1, e) = (
            (100.0 * row.point[0]).round(),
            (100.0 * row.point[1]).round(),
        );
        let ways = |height: f64| match height.abs() {
            h if h < l1 => 2.0,
            h if h == l1 => 1.0,
            _ => 0.0,
        };
        assert_eq!(
            value(&row),
            ways(e - 30.0) + ways(e + 30.0),
            "{:?}",
            row.point
        );
    }
}

/// A run of a sweep is a run: that of `solve` alone, whatever is shared.
#[test]
fn shared_preparation_changes_nothing() {
    let points = random(&["L=0.5:2", "g=5:15"], 12);
    let swept = sweep(built_in("pendulum"), points, &["final:x", "status"]).all_rows();
    for row in &swept {
        let set = [
            format!("L={:e}", row.point[0]),
            format!("g={:e}", row.point[1]),
        ];
        let set: Vec<&str> = set.iter().map(String::as_str).collect();
        let model = common::model_with("pendulum", built_in("pendulum"), &set);
        let system = daelight::system(&model).expect("a system");
        let solution = daelight::solve(&system, &Default::default());
        let solution = solution.unwrap_or_else(|_| panic!("{set:?}"));
        let values = solution.reader(&system).values(solution.reached());
        let place = system
            .unknowns()
            .iter()
            .position(|u| u.name == "x")
            .expect("x");
        let alone = values.expect("values").expect("within the run")[place];
        assert!((alone - value(row)).abs() <= 1e-12 * alone.abs().max(1.0));
        assert_eq!(row.measured[1], Measured::Word("success".to_string()));
    }
}

/// What ensembles of all sorts are made of: a model, ranges of its parameters, the end of a run, a number of points.
const MIXED: [(&str, &[&str], f64, usize); 12] = [
    ("pendulum", &["L=0.3:3", "g=-5:15"], 1.0, 40),
    ("andrews", &["mom=-0.05:0.05"], 0.004, 6),
    ("spring-mass", &["m=0.2:3", "k=1:50"], 0.5, 40),
    ("akzo-nobel", &["k1=5:40"], 20.0, 4),
    ("cart-pendulum", &["m=0.2:2", "L=0.3:2"], 0.5, 10),
    ("robotic-arm-general", &["l2=0.3:1.1"], 1.0, 12),
    // A switch at a time that depends on the point, or none.
    (
        "model M parameter Real p = 1; Real x(start = 0, fixed = true); equation der(x) = if x < p then 1 else -x; end M;",
        &["p=-1:3"],
        2.0,
        40,
    ),
    // It grows without bound at t = 1/p, or never.
    (
        "model M parameter Real p = 1; Real x(start = 1, fixed = true); equation der(x) = p*x^2; end M;",
        &["p=-2:2"],
        1.0,
        40,
    ),
    // No real start for p < 0; two of them elsewhere, of which the written value is near to neither when p is large.
    (
        "model M parameter Real p = 1; Real x(start = 0, fixed = true); Real y(start = 1); equation der(x) = y; y^2 = p; end M;",
        &["p=-1:40"],
        1.0,
        60,
    ),
    // The start is free, and moves to the closest point.
    (
        "model M parameter Real p = 1; Real x(start = 1), y(start = 2), z(start = 0); equation der(x) = -y*z; der(y) = x*z; x^2 + y^2 = p^2*(1 + 0.1*time); end M;",
        &["p=0.5:3"],
        1.0,
        20,
    ),
    // The determinant at the start has either sign, and vanishes at p = 0: singular where x comes to p.
    (
        "model M parameter Real p = 1; Real x(start = 0, fixed = true), z; equation der(x) = 1 + 0*z; (x - p)*z = 1; end M;",
        &["p=-2:2"],
        1.0,
        40,
    ),
    // Three real solutions for the algebraic unknown at some points.
    (
        "model M parameter Real p = 1; Real x(start = 0.1, fixed = true); Real w(start = 0.5); equation der(x) = w - x; w^3 - p*w = x; end M;",
        &["p=-2:2"],
        0.5,
        60,
    ),
];

/// Singular points, switches, starts that fail: each row is what its single run gives.
#[test]
fn rows_of_mixed_ensembles_are_those_of_single_runs() {
    for (model, ranges, to, n) in MIXED {
        let text = match model.starts_with("model") {
            true => model,
            false => built_in(model),
        };
        let points = random(ranges, n);
        let names = points.names().to_vec();
        let mut wanted = settings(&[], 2);
        wanted.solve.to = Some(to);
        wanted.times = vec![0.0, 0.5 * to, to];
        let options = wanted.solve.clone();
        let times = wanted.times.clone();
        let measures = ["status", "first-singular-time"];
        let swept = sweep_with(text, &[], points, &measures, wanted).all_rows();
        for row in &swept {
            let set = names.iter().zip(&row.point);
            let set: Vec<String> = set.map(|(name, x)| format!("{name}={x:e}")).collect();
            let set: Vec<&str> = set.iter().map(String::as_str).collect();
            let system = daelight::system(&common::model_with("m", text, &set)).expect("a system");
            let at = format!("{model} at {set:?}: {}", row.reason);
            let Ok(solution) = daelight::solve(&system, &options) else {
                assert_eq!(
                    row.measured[0],
                    Measured::Word("failure".to_string()),
                    "{at}"
                );
                assert!(!row.reason.is_empty(), "{at}");
                continue;
            };
            let mut reader = solution.reader(&system);
            let mut values = Vec::new();
            for &time in &times {
                let found = reader.values(time).ok().flatten();
                values.extend(found.unwrap_or_else(|| vec![f64::NAN; system.unknowns().len()]));
            }
            // Other values may lead to other equivalent equations, and to other rounding.
            let is_same = |(a, b): (&f64, &f64)| {
                a.to_bits() == b.to_bits() || (a - b).abs() <= 1e-10 * b.abs().max(1.0)
            };
            assert_eq!(row.values.len(), values.len(), "{at}");
            let mut pairs = row.values.iter().zip(&values);
            assert!(pairs.all(is_same), "{at}: {:?}, {values:?}", row.values);
            let is_whole = solution.reached() == to && solution.singularities.is_empty();
            let success = Measured::Word("success".to_string());
            assert_eq!(row.measured[0] == success, is_whole, "{at}");
            if let Some(met) = solution.singularities.first() {
                let found = row.measured[1].number().unwrap_or(f64::NAN);
                let met = met.found.time;
                assert!(
                    (found - met).abs() <= 1e-9 * met.abs().max(1.0),
                    "{at}: {met}"
                );
            }
        }
    }
}

#[test]
fn threads_and_parts_give_the_same_rows() {
    let points = || random(&["L=0.5:2"], 40);
    let measures = ["final:x", "max:y", "index"];
    let model = built_in("pendulum");
    let rows = |n| sweep_with(model, &[], points(), &measures, settings(&[], n)).all_rows();
    let one = rows(1);
    assert_eq!(one, rows(3));
    let sweep = sweep(model, points(), &measures);
    let mut joined = Vec::new();
    for number in 1..=3 {
        let range = Shard { number, of: 3 }.range(40);
        sweep.rows(range, None, &mut |row| {
            joined.push(row);
            ControlFlow::Continue(())
        });
    }
    assert_eq!(one, joined);
    // The greatest height of a pendulum that starts at rest is that of its start.
    for row in &one {
        assert!(
            row.measured[1]
                .number()
                .is_some_and(|most| most.abs() < 1e-6),
            "{row:?}"
        );
    }
}

/// Where a parameter changes the kind of the model, and where a point cannot be measured.
#[test]
fn kinds_and_failures() {
    let stiff = "model Stiff
        parameter Real e = 1;
        Real x(start = 1), y(start = 1);
      equation
        der(x) = -x + y;
        e*der(y) = sin(time) - y;
      end Stiff;";
    let rows = sweep(stiff, grid(&["e=0:1:3"]), &["index", "dof"]).all_rows();
    let numbers = |row: &SweepRow| -> Vec<Option<f64>> {
        row.measured.iter().map(Measured::number).collect()
    };
    assert_eq!(
        numbers(&rows[0]),
        [Some(1.0), Some(1.0)],
        "{}",
        rows[0].reason
    );
    for row in &rows[1..] {
        assert_eq!(numbers(row), [Some(0.0), Some(2.0)], "{}", row.reason);
    }
    let root = "model Root
        parameter Real c(max = 2) = 1;
        Real x(start = 1, fixed = true);
      equation
        der(x) = -sqrt(c) - 1/(x + 3);
        annotation(experiment(StopTime = 2));
      end Root;";
    let measures = ["final:x", "status", "first-singular-time"];
    let rows = sweep(root, grid(&["c=-1:3:5"]), &measures).all_rows();
    let word = |row: &SweepRow| match &row.measured[1] {
        Measured::Word(word) => word.clone(),
        other => format!("{other:?}"),
    };
    assert_eq!(word(&rows[0]), "failure");
    assert!(rows[0].measured[0] == Measured::Missing && !rows[0].reason.is_empty());
    assert_eq!(word(&rows[2]), "success");
    assert!(
        rows[2].reason.contains("no singularity up to t = 2"),
        "{}",
        rows[2].reason
    );
    assert!(
        rows[4].reason.contains("beyond its bound 2"),
        "{}",
        rows[4].reason
    );
    assert_eq!(rows[4].measured, vec![Measured::Missing; 3]);
}

/// Parameters that decide the shape, and assertions: the text is read again.
#[test]
fn shapes_are_read_again() {
    let chain = sweep(built_in("pendulum-chain"), grid(&["N=1:3:3"]), &["dof"]);
    assert!(chain.notes()[0].contains("read again"));
    let dofs: Vec<f64> = chain.all_rows().iter().map(value).collect();
    assert_eq!(dofs, [2.0, 4.0, 6.0]);
    let asserting = "model Positive
        parameter Real k = 1;
        Real x(start = 1);
      equation
        assert(k > 0, \"k must be positive\");
        der(x) = -k*x;
      end Positive;";
    let rows = sweep(asserting, grid(&["k=-1:1:3"]), &["final:x"]).all_rows();
    assert!(
        rows[0].reason.contains("k must be positive"),
        "{}",
        rows[0].reason
    );
    assert!((value(&rows[2]) - (-1.0f64).exp()).abs() < 1e-8);
}

/// Table 3 of the paper on the robotic arm; the reference computation has A5 = (m1 + mp) l1^2.
#[test]
fn critical_configurations_of_the_robotic_arm() {
    let table = json!([
        [1, 1, 1, 1.0, 1.0, "0.47213595499957939282"],
        [1, 10, 1, 1.0, 1.0, "0.25967477524976866605"],
        [10, 10, 1, 1.0, 1.0, "0.45329983228431987929"],
        [1, 1, 1, 2.0, 1.0, "0.24404424085075773496"],
        [1, 1, 1, 0.5, 1.0, "0.91607978309961604257"],
        [1, 1, 1, 0.3, 1.0, "1.5098170635448049136"],
        [1, 1, 1, 1.0, 0.9, "0.47083130081252448432"],
        [1, 1, 1, 1.0, 1.1, "0.47332857821916904426"]
    ]);
    let rows: Vec<Vec<f64>> = (table.as_array().expect("rows").iter())
        .map(|row| row.as_array().expect("a row").iter().map(number).collect())
        .collect();
    let names = ["m1", "mp", "l1", "l2", "JRp"].map(String::from).to_vec();
    let points = SweepPoints::list(names, rows.iter().map(|row| row[..5].to_vec()).collect());
    let arm = built_in("robotic-arm-general");
    let found = sweep(
        arm,
        points.expect("a list"),
        &["locus-zero", "locus-zero:sin(x3)"],
    );
    for (row, expected) in found.all_rows().iter().zip(&rows) {
        match row.measured[0].number() {
            Some(zero) => assert!((zero - expected[5]).abs() < 1e-14, "{row:?}"),
            None => {
                assert!(expected[5].abs() > 1.0, "{row:?}");
                assert!(
                    row.reason.contains("cos(x3) would have to be"),
                    "{}",
                    row.reason
                );
                assert!(row.reason.contains("1.509817"), "{}", row.reason);
            }
        }
        assert_eq!(row.measured[1], Measured::Number(0.0));
    }
}

/// Whatever was written when a sweep was cut off: going on gives the same file, byte for byte.
#[test]
fn a_file_that_was_cut_off_goes_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("rows.csv");
    let model = "model Odd
        parameter Real c = 1;
        Real x(start = 1);
      equation
        der(x) = -sqrt(c)*x;
      end Odd;";
    let new = |to: &str| {
        sweep(
            model,
            grid(&[&format!("c=-1:{to}:9")]),
            &["final:x", "status"],
        )
    };
    let sweep = new("1");
    let keep = |resume: bool| -> usize {
        let (mut store, old) = Store::open(&out, &sweep, 0..9, resume).expect("a store");
        sweep.rows(old.len()..9, None, &mut |row| {
            store.push(&row).expect("room");
            ControlFlow::Continue(())
        });
        store.finish(&out).expect("a file");
        old.len()
    };
    assert_eq!(keep(false), 0);
    let whole = std::fs::read(&out).expect("the file");
    let partial = daelight::sweep::partial_path(&out);
    assert!(!partial.exists());
    let lengths = [
        0,
        3,
        whole.len() / 3,
        whole.len() / 2,
        whole.len() - 1,
        whole.len(),
    ];
    for length in lengths {
        std::fs::write(&partial, &whole[..length]).expect("room");
        std::fs::remove_file(&out).expect("the file");
        let found = keep(true);
        assert!(found < 9 || length == whole.len());
        assert_eq!(
            std::fs::read(&out).expect("the file"),
            whole,
            "cut at {length}"
        );
    }
    let text = String::from_utf8(whole).expect("text");
    let (rows, length) = read_rows(&text, &sweep, 0..9).expect("rows");
    assert_eq!((rows.len(), length), (9, text.len()));
    let written: String = rows
        .iter()
        .map(|row| line(row, &sweep.fingerprint()))
        .collect();
    assert_eq!(header(&sweep) + &written, text);
    // Rows of other points are not gone on with.
    let error = read_rows(&text, &new("2"), 0..9).expect_err("other points");
    assert!(error.to_string().contains("another sweep"), "{error}");
}

#[test]
fn names_that_do_not_exist_are_refused() {
    let refusal = |model: &str, over: &str, measure: &str| {
        let measures = vec![Measure::read(measure).expect("a measure")];
        let sweep = Sweep::new(
            text(built_in(model)),
            &Options::default(),
            grid(&[over]),
            measures,
            Settings::default(),
        );
        let refusal = sweep.err().expect("a refusal");
        let help = refusal.diagnostics[0].help.clone().unwrap_or_default();
        format!("{refusal}: {help}")
    };
    assert!(refusal("pendulum", "l=1:2:2", "index").contains("did you mean L?"));
    assert!(refusal("andrews-constraints", "a=1:2:2", "index").contains("such as a[1]"));
    assert!(refusal("pendulum", "L=1:2:2", "final:lamda").contains("did you mean lambda?"));
    assert!(refusal("robotic-arm-general", "A2=1:2:2", "index").contains("final"));
    let many = refusal(
        "andrews-constraints",
        "a[1]=0.01:0.02:2",
        "singular-count:9",
    );
    assert!(many.contains("there is no piece 9"), "{many}");
}

/// Whether forms over the parameters are used or not changes no number: with a third parameter they are not.
#[test]
fn numbers_are_the_same_with_forms_and_point_by_point() {
    let model = built_in("four-bar");
    let axes = ["l[1]=0.05:0.65:4", "l[4]=0.1:0.7:4", "l[2]=0.35:0.36:2"];
    let counted = |axes: &[&str], set: &[&str], driven: &[&str]| -> Vec<Measured> {
        let driven = settings(driven, 2);
        let sweep = sweep_with(model, set, grid(axes), &["singular-count"], driven);
        assert_eq!(sweep.notes().is_empty(), axes.len() == 2);
        let rows = sweep.all_rows().into_iter();
        rows.map(|row| row.measured[0].clone()).collect()
    };
    for driven in [&["q[1]"][..], &[]] {
        let alone = counted(&axes, &[], driven);
        let formed = counted(&axes[..2], &["l[2]=0.35"], driven);
        let every_other: Vec<Measured> = alone.into_iter().step_by(2).collect();
        assert_eq!(every_other, formed);
        assert!(formed.iter().all(|count| count.number().is_some()));
    }
}

/// What has no number is a row with its reason: infinitely many configurations, or no time.
#[test]
fn points_without_a_number_of_configurations_say_why() {
    let model = built_in("three-rrr");
    let points = || grid(&["a[1]=0.15:0.25:2", "b[1]=0.15:0.25:2"]);
    let driven = settings(&["q[1]", "q[2]", "q[3]"], 2);
    for row in sweep_with(model, &[], points(), &["singular-count"], driven).all_rows() {
        let why = "infinitely many singular configurations: a set of dimension 2";
        assert_eq!(
            (&row.measured[0], row.reason.as_str()),
            (&Measured::Missing, why)
        );
    }
    let mut brief = settings(&[], 2);
    brief.limits.time = std::time::Duration::ZERO;
    for row in sweep_with(model, &[], points(), &["singular-count"], brief).all_rows() {
        assert_eq!(row.measured[0], Measured::Missing);
        assert!(row.reason.starts_with("unknown: "), "{}", row.reason);
    }
}

/// A planar 3-RRR robot with whole lengths. Legs 1 and 2 and the side of the platform between them can lie on the line of
/// their pivots; then leg 3 reaches its joint in two ways, or not at all.
#[test]
fn a_map_of_a_parallel_robot() {
    let model = "model Robot
        parameter Real a = 1, b = 1;
        Real q[3], p[3], r[2], phi;
      equation
        a*cos(q[1]) + b*cos(p[1]) = r[1];
        a*sin(q[1]) + b*sin(p[1]) = r[2];
        10 + 2*cos(q[2]) + cos(p[2]) = r[1] + 2*cos(phi);
        2*sin(q[2]) + sin(p[2]) = r[2] + 2*sin(phi);
        7 + 2*cos(q[3]) + cos(p[3]) = r[1] + cos(phi) - sin(phi);
        2.5 + 2*sin(q[3]) + sin(p[3]) = r[2] + sin(phi) + cos(phi);
      end Robot;";
    let signs = [-1.0, 1.0];
    let expected = |a: f64, b: f64| {
        let mut count = 0.0;
        for choice in 0..32 {
            let sign = |at: usize| signs[choice >> at & 1];
            let (end, turn) = (sign(0) * a + sign(1) * b, sign(2));
            if end + 2.0 * turn + sign(3) + 2.0 * sign(4) != 10.0 {
                continue;
            }
            let joint = (end + turn, turn);
            let reach = f64::hypot(7.0 - joint.0, 2.5 - joint.1);
            count += if 1.0 < reach && reach < 3.0 { 2.0 } else { 0.0 };
        }
        count
    };
    let points = grid(&["a=1:5:5", "b=1:5:5"]);
    // Forms over the parameters take more than all points together, and are given up.
    let began = std::time::Instant::now();
    let robot = sweep(model, points, &["singular-count"]);
    assert!(robot.notes()[0].contains("at every point alone"));
    assert!(began.elapsed() < std::time::Duration::from_secs(20));
    let rows = robot.all_rows();
    let mut seen = 0;
    for row in &rows {
        let count = expected(row.point[0], row.point[1]);
        assert_eq!(value(row), count, "{:?}", row.point);
        seen += usize::from(count > 0.0);
    }
    assert!(seen > 3 && seen < 20, "{seen}");
}

/// x = cos(t) solves all of them, and errors grow like exp(a t): rows that are off say so, and rows that are not are left alone.
#[test]
fn rows_whose_errors_have_grown_say_so() {
    let model = "model M\n  parameter Real a = 1;\n  Real x(start = 1, fixed = true), y;\nequation\n  \
                 der(x) = a*(x - cos(time)) - sin(time);\n  y = 2*x;\n  annotation(experiment(StopTime = 20, Tolerance = 1e-6));\nend M;\n";
    let rows = sweep(model, random(&["a=-1:2"], 40), &["final:x"]).all_rows();
    let is_told = |row: &SweepRow| row.reason.contains("small errors grow");
    for row in &rows {
        let off = (value(row) - 20.0_f64.cos()).abs();
        assert!(off < 1e-4 || is_told(row), "{off}: {:?}", row.point);
        assert!(row.point[0] > 0.0 || !is_told(row), "{}", row.reason);
    }
    let n_told = rows.iter().filter(|row| is_told(row)).count();
    assert!((5..35).contains(&n_told), "{n_told}");
    // Where nothing grows no row has a word, and parts of a sweep are those of the whole.
    let harmless = sweep(model, grid(&["a=-1:-0.1:50"]), &["final:x"]).all_rows();
    assert!(harmless.iter().all(|row| row.reason.is_empty()));
    let whole = sweep(model, grid(&["a=-1:2:20"]), &["final:x"]);
    let mut part = Vec::new();
    whole.rows(3..8, None, &mut |row| {
        part.push(row);
        ControlFlow::Continue(())
    });
    assert_eq!(part, whole.all_rows()[3..8]);
}
