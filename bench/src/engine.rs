//! The engine: residuals, Jacobians and jets on three back ends, beside CasADi's C and heyoka.

use crate::peers::{CasadiResult, Peers};
use crate::system::{Open, System};
use crate::table::{best, print, ratio, time, timed};
use daelight_expr::{JacobianSeries, Jet, JetEvaluator, PackedJet, Tape, Values};
use daelight_native::{Batch, NativeCode, NativeValues, Point, Points, Tier};
use std::hint::black_box;
use std::sync::Arc;

const ORDER: usize = 20;

/// The model that exists in every size.
const CHAIN: &str = "pendulum-chain/PendulumChain.mo";

/// Relative to the largest output, at least 1: sums of different order and fused products differ.
const AGREEMENT: f64 = 1e-12;

/// The figures of one function of one model, in nanoseconds.
#[derive(Clone, Copy)]
struct Figures {
    plain: f64,
    quick: f64,
    optimised: f64,
    /// Per point, in pairs, on one thread.
    batch: f64,
    /// Per point, in pairs, on two threads.
    threads: f64,
    casadi: f64,
    tape: f64,
    compile_quick: f64,
    compile_optimised: f64,
    n_operations: usize,
}

/// The figures of one model.
#[derive(Clone)]
struct Row {
    name: String,
    residual: Figures,
    jacobian: Figures,
    jet_plain: f64,
    jet_packed: f64,
    jet_matrices: f64,
    plan: f64,
    casadi_build: f64,
    casadi_compile: f64,
}

fn largest_difference(ours: &[f64], theirs: &[f64]) -> f64 {
    assert_eq!(ours.len(), theirs.len(), "as many numbers on both sides");
    let size = ours.iter().fold(1.0, |size: f64, x| size.max(x.abs()));
    let worst = ours.iter().zip(theirs).fold(0.0, |worst: f64, (a, b)| {
        // A NaN must not pass as a small difference.
        let difference = (a - b).abs();
        if difference.is_nan() {
            f64::INFINITY
        } else {
            worst.max(difference)
        }
    });
    worst / size
}

/// Fills in all coefficients of a jet, the unknowns and rates of the point first.
fn fill(jet: &mut impl JetEvaluator, system: &System) {
    let n_unknowns = system.n_unknowns();
    let inputs = jet.inputs_mut();
    for order in 0..inputs.n_orders() {
        for unknown in 0..n_unknowns {
            let wave = (1.7 * (order * n_unknowns + unknown) as f64 + 0.3).sin();
            inputs.set(
                unknown,
                order,
                wave * 0.5f64.powi(order as i32 - 1).min(1.0),
            );
        }
    }
    inputs
        .parameters_mut()
        .copy_from_slice(&system.point.parameters);
    inputs.set_time(system.point.time);
}

fn all_orders(jet: &mut impl JetEvaluator) {
    for order in 0..=ORDER as i32 {
        jet.extend(order).expect("a regular point");
    }
    black_box(jet.root(0, ORDER));
}

/// Compiles and times one function on all back ends, its results compared with the interpreter's.
fn figures(system: &System, make: impl Fn() -> Arc<Tape>) -> (Figures, Vec<f64>) {
    let (tape, tape_time) = timed(make);
    let mut values = Values::new(Arc::clone(&tape));
    let n_unknowns = system.n_unknowns();
    let n_orders = tape.max_slot_order() + 1;
    let coefficients = &system.point.coefficients[..n_orders * n_unknowns];
    for order in 0..n_orders {
        let row = &coefficients[order * n_unknowns..][..n_unknowns];
        values.inputs_mut().row_mut(order).copy_from_slice(row);
    }
    let inputs = values.inputs_mut();
    inputs
        .parameters_mut()
        .copy_from_slice(&system.point.parameters);
    inputs.set_time(system.point.time);
    values.evaluate().expect("a regular point");
    let expected: Vec<f64> = (0..tape.n_roots()).map(|root| values.root(root)).collect();
    let plain = best(|| values.evaluate().expect("a regular point"));

    let point = Point {
        coefficients,
        parameters: &system.point.parameters,
        time: system.point.time,
    };
    let mut outputs = vec![0.0; tape.n_roots()];
    let mut compiled = [0.0; 2];
    let mut called = [0.0; 2];
    for (place, tier) in [Tier::Quick, Tier::Optimised].into_iter().enumerate() {
        let (code, compile) =
            timed(|| NativeCode::compile(Arc::clone(&tape), tier).expect("native code"));
        let mut native = NativeValues::new(Arc::new(code));
        native
            .evaluate(point, &mut outputs)
            .expect("a regular point");
        assert_eq!(outputs, expected, "{tier:?} code and interpreter differ");
        called[place] = best(|| {
            native
                .evaluate(black_box(point), black_box(&mut outputs))
                .expect("a regular point");
        });
        compiled[place] = compile;
    }

    let pairs = NativeCode::compile_pairs(Arc::clone(&tape), Tier::Optimised).expect("native code");
    let pairs = Arc::new(pairs);
    // Enough points for the threads to be worth their start, few enough to stay in the cache.
    let n_points = (400_000 / tape.n_roots().max(20)).next_multiple_of(2);
    let many = coefficients.repeat(n_points);
    let mut outputs = vec![0.0; n_points * tape.n_roots()];
    let points = Points {
        n_points,
        coefficients: &many,
        parameters: &system.point.parameters,
        times: &[system.point.time],
    };
    let mut per_point = [0.0; 2];
    for n_threads in [1, 2] {
        let mut batch = Batch::new(Arc::clone(&pairs), n_threads);
        assert!(batch.evaluate(points, &mut outputs).is_empty());
        for outputs in outputs.chunks_exact(tape.n_roots()) {
            assert_eq!(outputs, expected, "batch and interpreter differ");
        }
        per_point[n_threads - 1] = best(|| {
            assert!(batch.evaluate(points, black_box(&mut outputs)).is_empty());
        }) / n_points as f64;
    }
    let figures = Figures {
        plain,
        quick: called[0],
        optimised: called[1],
        batch: per_point[0],
        threads: per_point[1],
        casadi: f64::NAN,
        tape: tape_time,
        compile_quick: compiled[0],
        compile_optimised: compiled[1],
        n_operations: tape.size().n_operations - tape.size().n_auxiliary,
    };
    (figures, expected)
}

/// What daelight alone needs, with the residuals and the entries of the Jacobian at the point.
fn measure_own(system: &System) -> (Row, Vec<f64>, Vec<f64>) {
    let (residual, residuals) = figures(system, || system.tape(&system.residuals));
    let (jacobian, entries) = figures(system, || system.tape(&system.entries));

    let tape = system.tape(&system.residuals);
    let (mut packed, plan) = timed(|| PackedJet::new(Arc::clone(&tape), ORDER));
    let mut plain = Jet::new(tape, ORDER);
    fill(&mut packed, system);
    fill(&mut plain, system);
    all_orders(&mut packed);
    all_orders(&mut plain);
    for root in 0..system.residuals.len() {
        for order in 0..=ORDER {
            assert_eq!(packed.root(root, order), plain.root(root, order));
        }
    }
    let jet_plain = best(|| all_orders(&mut plain));
    let jet_packed = best(|| all_orders(&mut packed));
    let model = &system.model;
    let slots = |id| system.slot(id);
    let mut graph = system.graph.clone();
    let n_unknowns = model.unknowns.len();
    let mut series: JacobianSeries<PackedJet> =
        JacobianSeries::new(&mut graph, &system.residuals, n_unknowns, ORDER, slots);
    fill(series.jet_mut(), system);
    let jet_matrices = best(|| all_orders(series.jet_mut()));

    let row = Row {
        name: system.name.clone(),
        jet_plain,
        jet_packed,
        jet_matrices,
        plan,
        casadi_build: f64::NAN,
        casadi_compile: f64::NAN,
        residual,
        jacobian,
    };
    (row, residuals, entries)
}

fn measure(system: &System, peers: &Peers) -> Row {
    println!("## {} ({} equations)", system.name, system.residuals.len());
    let (mut row, residuals, entries) = measure_own(system);
    println!("native code and interpreter: the same bits, residual and Jacobian");
    println!("jets to order {ORDER}: plain and packed give the same bits");
    if peers.casadi {
        match beside_casadi(system, peers, &residuals, &entries) {
            Ok(peer) => {
                row.residual.casadi = peer.residual_time;
                row.jacobian.casadi = peer.jacobian_time;
                row.casadi_build = peer.build_seconds * 1e9;
                row.casadi_compile = peer.compile_seconds * 1e9;
            }
            Err(why) => eprintln!("PEER FAILED: casadi on {}: {why}", system.name),
        }
    }
    println!();
    row
}

/// The same functions in CasADi's C: compared with ours, then the best of two runs.
fn beside_casadi(
    system: &System,
    peers: &Peers,
    residuals: &[f64],
    entries: &[f64],
) -> Result<CasadiResult, String> {
    let folder = system.name.replace(' ', "-");
    let listing = system.listing(&system.residuals);
    let point = system.point.text(system.n_unknowns());
    let made = peers.casadi_compile(&folder, &listing, &point)?;
    let mut result = peers.casadi_run(&made)?;
    let again = peers.casadi_run(&made)?;
    result.residual_time = result.residual_time.min(again.residual_time);
    result.jacobian_time = result.jacobian_time.min(again.jacobian_time);

    let difference = largest_difference(residuals, &result.residual);
    assert!(
        difference <= AGREEMENT,
        "residuals differ by {difference:e}"
    );
    let mut ours: Vec<_> = system
        .places()
        .into_iter()
        .zip(entries)
        .map(|((by_rates, row, column), &value)| (by_rates, row, column, value))
        .collect();
    let mut theirs = result.jacobian.clone();
    for list in [&mut ours, &mut theirs] {
        // What one side knows to be zero may be listed by the other.
        list.retain(|entry| entry.3 != 0.0);
        list.sort_unstable_by_key(|&(by_rates, row, column, _)| (by_rates, row, column));
    }
    let place = |list: &[(bool, usize, usize, f64)]| -> Vec<(bool, usize, usize)> {
        list.iter()
            .map(|&(m, row, column, _)| (m, row, column))
            .collect()
    };
    assert_eq!(place(&ours), place(&theirs), "entries at different places");
    let [ours, theirs] = [ours, theirs].map(|list| list.iter().map(|e| e.3).collect::<Vec<f64>>());
    let entry_difference = largest_difference(&ours, &theirs);
    assert!(
        entry_difference <= AGREEMENT,
        "entries differ by {entry_difference:e}"
    );
    println!(
        "casadi {}: {} residuals agree to {difference:.1e}, {} entries to {entry_difference:.1e}",
        result.version,
        residuals.len(),
        ours.len()
    );
    Ok(result)
}

/// Taylor coefficients of x' = f(x), each from the ones before.
fn solve(jet: &mut PackedJet, n_states: usize) {
    for order in 0..ORDER {
        jet.extend(order as i32).expect("a regular point");
        for state in 0..n_states {
            let next = jet.root(state, order) / (order + 1) as f64;
            jet.inputs_mut().set(state, order + 1, next);
        }
    }
}

/// heyoka takes ordinary differential equations only, so the algebraic unknowns are held.
fn beside_heyoka(name: &str, open: &Open, peers: &Peers) -> Option<Vec<String>> {
    let (mut jet, plan) = timed(|| PackedJet::new(Arc::clone(&open.tape), ORDER));
    let inputs = jet.inputs_mut();
    inputs
        .row_mut(0)
        .copy_from_slice(&open.point.coefficients[..open.n_states]);
    inputs
        .parameters_mut()
        .copy_from_slice(&open.point.parameters);
    inputs.set_time(open.point.time);
    solve(&mut jet, open.n_states);
    let ours: Vec<f64> = (0..open.n_states)
        .flat_map(|state| (0..=ORDER).map(move |order| (state, order)))
        .map(|(state, order)| jet.inputs().get(state, order))
        .collect();
    let own = best(|| solve(&mut jet, open.n_states));
    let folder = format!("{}-open", name.replace(' ', "-"));
    let point = open.point.text(open.n_states);
    let peer = match peers.heyoka(&folder, &open.listing, &point, ORDER) {
        Ok(peer) => peer,
        Err(why) => {
            eprintln!("PEER FAILED: heyoka on {name}: {why}");
            return None;
        }
    };
    assert_eq!(peer.order, ORDER, "heyoka works at order {}", peer.order);
    // Coefficients grow like powers of a rate: each is judged by the largest of its order.
    let mut worst = 0.0f64;
    for order in 0..=ORDER {
        let pick = |all: &[f64]| -> Vec<f64> {
            all.iter().skip(order).step_by(ORDER + 1).copied().collect()
        };
        let (a, b) = (pick(&ours), pick(&peer.coefficients));
        let size = a.iter().fold(0.0, |size: f64, x| size.max(x.abs()));
        let scaled = |all: Vec<f64>| -> Vec<f64> {
            all.iter()
                .map(|x| x / size.max(f64::MIN_POSITIVE))
                .collect()
        };
        worst = worst.max(largest_difference(&scaled(a), &scaled(b)));
    }
    assert!(worst <= 1e-9, "{name}: coefficients differ by {worst:e}");
    Some(vec![
        name.to_string(),
        open.n_states.to_string(),
        format!("{worst:.1e}"),
        time(own),
        time(peer.step_time),
        ratio(own / peer.step_time),
        time(plan),
        time(peer.compile_seconds * 1e9),
        peer.version,
    ])
}

fn functions_table(rows: &[Row]) {
    println!("## Values: time of one call, and its ratio to CasADi's C (gcc -O3 -march=native)");
    let mut lines = Vec::new();
    for row in rows {
        for (what, f) in [("residual", &row.residual), ("Jacobian", &row.jacobian)] {
            lines.push(vec![
                format!("{} {what}", row.name),
                f.n_operations.to_string(),
                time(f.casadi),
                time(f.plain),
                time(f.quick),
                time(f.optimised),
                time(f.batch),
                time(f.threads),
                ratio(f.plain / f.casadi),
                ratio(f.quick / f.casadi),
                ratio(f.optimised / f.casadi),
                ratio(f.batch / f.casadi),
            ]);
        }
    }
    let header = [
        "function",
        "operations",
        "casadi C",
        "plain",
        "quick",
        "optimised",
        "batch",
        "2 threads",
        "plain/C",
        "quick/C",
        "optimised/C",
        "batch/C",
    ];
    print(&header, &lines);
}

fn jets_table(rows: &[Row]) {
    println!("## Jets: all coefficients of orders 0 to {ORDER} of all residuals");
    let lines: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            vec![
                row.name.clone(),
                time(row.jet_plain),
                time(row.jet_packed),
                time(row.jet_matrices),
                ratio(row.jet_plain / row.jet_packed),
                ratio(row.jet_packed / (20.0 * row.residual.casadi)),
                time(row.plan),
            ]
        })
        .collect();
    let header = [
        "model",
        "plain",
        "packed",
        "packed with matrices",
        "plain/packed",
        "packed / 20 casadi residuals",
        "plan",
    ];
    print(&header, &lines);
}

fn compile_table(rows: &[Row]) {
    println!("## Time to compile (tape: from the graph; native: from the tape)");
    let mut lines = Vec::new();
    for row in rows {
        for (what, f) in [("residual", &row.residual), ("Jacobian", &row.jacobian)] {
            lines.push(vec![
                format!("{} {what}", row.name),
                time(f.tape),
                time(f.compile_quick),
                time(f.compile_optimised),
                time(f.compile_quick / f.n_operations as f64),
                time(f.compile_optimised / f.n_operations as f64),
                time(row.casadi_build),
                time(row.casadi_compile),
            ]);
        }
    }
    let header = [
        "function",
        "tape",
        "quick",
        "optimised",
        "quick per operation",
        "optimised per operation",
        "casadi, both",
        "gcc -O3, both",
    ];
    print(&header, &lines);
}

/// The figures whose growth is judged, by name.
fn growing(row: &Row) -> Vec<(String, f64)> {
    let mut figures = Vec::new();
    for (what, f) in [("residual", &row.residual), ("Jacobian", &row.jacobian)] {
        for (figure, time) in [
            ("plain", f.plain),
            ("native quick", f.quick),
            ("native optimised", f.optimised),
            ("native batch", f.batch),
            ("tape", f.tape),
            ("compile quick", f.compile_quick),
            ("compile optimised", f.compile_optimised),
        ] {
            figures.push((format!("{what} {figure}"), time));
        }
    }
    for (figure, time) in [
        ("jet plain", row.jet_plain),
        ("jet packed", row.jet_packed),
        ("jet with matrices", row.jet_matrices),
        ("plan of the packed jet", row.plan),
    ] {
        figures.push((figure.to_string(), time));
    }
    figures
}

/// Every figure of a model ten times as large, as a multiple; whether all are at most 11.
fn growth_table([small, large]: [&str; 2], figures: [Vec<(String, f64)>; 2]) -> bool {
    println!("## Growth from {small} to {large} (at most 11)");
    let [a, b] = figures;
    let mut worst = 0.0f64;
    let lines: Vec<Vec<String>> = a
        .into_iter()
        .zip(b)
        .map(|((what, a), (_, b))| {
            worst = worst.max(b / a);
            vec![what, time(a), time(b), ratio(b / a)]
        })
        .collect();
    print(&["figure", small, large, "growth"], &lines);
    worst <= 11.0
}

/// Measures the growth alone, in rounds that alternate between the sizes; each figure is its shortest.
pub fn growth(n_rounds: usize) {
    let names = ["chain 100", "chain 1000"];
    let systems = [100, 1000].map(|n| {
        let set = [format!("N={n}")];
        System::load(&format!("chain {n}"), CHAIN, &set)
    });
    let mut shortest = names.map(|_| Vec::<(String, f64)>::new());
    for _ in 0..n_rounds {
        for (system, shortest) in systems.iter().zip(&mut shortest) {
            let figures = growing(&measure_own(system).0);
            if shortest.is_empty() {
                *shortest = figures;
                continue;
            }
            for (held, (_, time)) in shortest.iter_mut().zip(figures) {
                held.1 = held.1.min(time);
            }
        }
    }
    growth_table(names, shortest);
}

/// From text to code for 100,000 equations.
fn large_model() {
    println!("## 100,000 equations (pendulum-chain, N = 20000)");
    let set = ["N=20000".to_string()];
    let load = || System::load("chain", CHAIN, &set);
    let start = std::time::Instant::now();
    let system = load();
    println!("text to graph and Jacobian: {:.2?}", start.elapsed());
    let roots: Vec<_> = system
        .residuals
        .iter()
        .chain(&system.entries)
        .copied()
        .collect();
    let start = std::time::Instant::now();
    let tape = system.tape(&roots);
    println!(
        "graph to tape of residual and Jacobian: {:.2?}",
        start.elapsed()
    );
    for tier in [Tier::Quick, Tier::Optimised] {
        let code = NativeCode::compile(Arc::clone(&tape), tier).expect("native code");
        println!("{tier:?}: {:?}", code.report());
    }
    println!();
}

fn verdict(what: &str, figure: f64, bound: f64) {
    let word = if figure.is_nan() {
        "NOT MEASURED"
    } else if figure <= bound {
        "met"
    } else {
        "MISSED"
    };
    println!("{word}: {what}: {} (at most {bound})", ratio(figure));
}

/// Measures everything and prints it.
pub fn run() {
    let peers = Peers::install();
    let mut rows = Vec::new();
    let mut beside = Vec::new();
    for (name, file, set, solved) in [
        (
            "robotic-arm",
            "robotic-arm/RoboticArm.mo",
            vec![],
            Some(0..0),
        ),
        ("andrews", "andrews/Andrews.mo", vec![], Some(14..21)),
        ("chain 100", CHAIN, vec!["N=100".to_string()], Some(0..0)),
        ("chain 1000", CHAIN, vec!["N=1000".to_string()], None),
    ] {
        let mut system = System::load(name, file, &set);
        rows.push(measure(&system, &peers));
        if let (Some(solved), true) = (solved, peers.heyoka) {
            let open = system.open(solved);
            beside.extend(beside_heyoka(name, &open, &peers));
        }
    }
    functions_table(&rows);
    jets_table(&rows);
    if beside.is_empty() {
        println!("heyoka: not measured\n");
    } else {
        println!(
            "## Taylor coefficients of x' = f(x) to order {ORDER}, algebraic unknowns held, beside heyoka\n\
             (ours: coefficients; heyoka: one adaptive step, which adds step size and update)"
        );
        let header = [
            "model",
            "states",
            "difference",
            "packed",
            "heyoka",
            "packed/heyoka",
            "our plan",
            "heyoka compiles",
            "version",
        ];
        print(&header, &beside);
    }
    compile_table(&rows);
    let growth_is_met = growth_table(
        [&rows[2].name, &rows[3].name],
        [growing(&rows[2]), growing(&rows[3])],
    );
    large_model();
    println!("## Targets");
    for row in &rows {
        for (what, f) in [("residual", &row.residual), ("Jacobian", &row.jacobian)] {
            let name = format!("native {what} of {} over CasADi's C", row.name);
            verdict(&name, f.optimised / f.casadi, 1.3);
        }
    }
    let andrews = &rows[1];
    verdict(
        "packed jet of andrews over 20 residuals of CasADi's C",
        andrews.jet_packed / (20.0 * andrews.residual.casadi),
        10.0,
    );
    let word = if growth_is_met { "met" } else { "MISSED" };
    println!("{word}: every figure of chain 1000 at most 11 times that of chain 100");
}
