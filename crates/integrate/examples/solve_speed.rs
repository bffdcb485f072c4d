//! Solve times and errors of the Taylor method on models of the library, set-up apart.
//!
//! `cargo run --release -p daelight-integrate --example solve_speed [model ...] [order]`: a number is the order of the
//! shortest series, instead of the one that follows from the tolerance.

use daelight_analysis::{Reduced, System};
use daelight_expr::Jet;
use daelight_integrate::{Options, Output, Problem, Start, Tolerances, taylor::Taylor};
use daelight_lang::{Options as Reading, load};
use std::time::Instant;

/// A model of the library, its parameters, the end, and reference values of its first unknowns.
struct Case {
    name: &'static str,
    set: &'static [&'static str],
    t_end: f64,
    reference: &'static [f64],
}

const CASES: &[Case] = &[
    Case {
        name: "pendulum",
        set: &[],
        t_end: 10.0,
        // The angle equation in 30-digit arithmetic.
        reference: &[0.275_087_462_576_116_9, -0.961_419_205_099_125_1],
    },
    Case {
        name: "andrews",
        set: &[],
        t_end: 0.03,
        // Reference computation with smaller error than the published one of the IVP test set.
        reference: &[
            15.810_771_195_153_71,
            -15.756_371_058_411_844,
            0.040_822_240_119_645_865,
            -0.534_730_116_342_079_6,
            0.524_409_965_879_954,
            0.534_730_116_342_079_6,
            1.048_080_741_041_938,
        ],
    },
    Case {
        name: "robotic-arm",
        set: &[],
        t_end: 1.5,
        reference: &[],
    },
    Case {
        name: "pendulum-chain",
        set: &["N=10"],
        t_end: 1.0,
        reference: &[],
    },
    Case {
        name: "pendulum-chain",
        set: &["N=100"],
        t_end: 1.0,
        reference: &[],
    },
    Case {
        name: "pendulum-chain",
        set: &["N=1000"],
        t_end: 1.0,
        reference: &[],
    },
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (orders, only): (Vec<String>, Vec<String>) = std::env::args()
        .skip(1)
        .partition(|argument| argument.parse::<usize>().is_ok());
    let order = orders.first().and_then(|order| order.parse().ok());
    println!(
        "{:<22} {:>7} {:>9} {:>9} {:>9} {:>9} {:>6} {:>4} {:>6} {:>6} {:>6} {:>9} {:>9}",
        "model",
        "rtol",
        "set-up ms",
        "solve ms",
        "compile",
        "native",
        "steps",
        "rej",
        "res",
        "jac",
        "fact",
        "error",
        "residual"
    );
    for case in CASES {
        if !only.is_empty() && !only.iter().any(|name| name == case.name) {
            continue;
        }
        for rtol in [1e-6, 1e-9] {
            measure(case, rtol, order)?;
        }
    }
    Ok(())
}

/// The least time of many runs, in milliseconds.
fn fastest(
    taylor: &mut Taylor<'_>,
    problem: &Problem,
    start: &Start,
) -> Result<f64, Box<dyn std::error::Error>> {
    let mut best = f64::INFINITY;
    let repeats = if problem.n() > 1000 { 8 } else { 200 };
    for _ in 0..repeats {
        let began = Instant::now();
        taylor.run(start)?;
        best = best.min(began.elapsed().as_secs_f64() * 1e3);
    }
    Ok(best)
}

fn measure(case: &Case, rtol: f64, order: Option<usize>) -> Result<(), Box<dyn std::error::Error>> {
    let folder = format!("{}/../../models/{}", env!("CARGO_MANIFEST_DIR"), case.name);
    let path = std::fs::read_dir(folder)?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .find(|path| path.extension().is_some_and(|e| e == "mo"))
        .ok_or("no model")?;
    let reading = Reading {
        set: case.set.iter().map(|s| s.to_string()).collect(),
        ..Reading::default()
    };
    let model = load(case.name, &std::fs::read(path)?, &reading)
        .model
        .ok_or("no model")?;
    let began = Instant::now();
    let system = System::new(&model)?;
    let reduced = Reduced::new(&system);
    let parameters = system.parameters().values();
    let problem = Problem::of_reduced(&system, &reduced)?;
    let start = Start::of_model(
        &system,
        &reduced,
        &problem,
        system.experiment().start_time.unwrap_or(0.0),
    );
    let mut options = Options::new(case.t_end, Tolerances::of_model(&system, &reduced, rtol));
    options.output = Output::Points(vec![case.t_end]);
    options.order = order;
    let mut taylor = Taylor::new(&problem, &options)?;
    let set_up = began.elapsed().as_secs_f64() * 1e3;
    let interpreted = fastest(&mut taylor, &problem, &start)?;
    let began = Instant::now();
    let compiled = taylor.compile();
    let compile = began.elapsed().as_secs_f64() * 1e3;
    let native = match &compiled {
        Ok(()) => fastest(&mut taylor, &problem, &start)?,
        Err(_) => f64::NAN,
    };
    let run = taylor.run(&start)?;
    let mut values = vec![0.0; system.unknowns().len()];
    let mut recovery = reduced.recovery::<Jet>(0, parameters);
    let reached = run
        .trajectory
        .recover(&mut recovery, case.t_end, &mut values)
        .map_err(|fault| format!("{:?}", fault.kind))?;
    let error = case
        .reference
        .iter()
        .zip(&values)
        .map(|(wanted, found)| (wanted - found).abs() / wanted.abs().max(1.0))
        .fold(0.0, f64::max);
    let s = run.statistics;
    println!(
        "{:<22} {:>7.0e} {:>9.3} {:>9.4} {:>9.3} {:>9.4} {:>6} {:>4} {:>6} {:>6} {:>6} {:>9.1e} {:>9.1e} {}{}",
        format!("{} {}", case.name, case.set.join(" ")),
        rtol,
        set_up,
        interpreted,
        compile,
        native,
        s.steps,
        s.rejected,
        s.residuals,
        s.jacobians,
        s.factorizations,
        error,
        run.residual(),
        if reached { "" } else { "not reached: " },
        if reached {
            String::new()
        } else {
            format!("{:?}", run.stop)
        },
    );
    Ok(())
}
