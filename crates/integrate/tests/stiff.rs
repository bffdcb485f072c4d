//! The stiff problems that every solver is tried on first: by default settings, against values that others published.
//!
//! Values and where they come from: `stiff/references.txt`.

use crate::common::{Case, library_names};
use daelight_integrate::implicit::{self, Method};
use daelight_integrate::{Statistics, StopReason};

/// Part of the tolerance that one step of the series has under the automatic choice.
const SERIES: f64 = 0.01;

/// A model beside this file.
fn written(name: &str) -> Case {
    let path = format!("{}/tests/stiff/{name}.mo", env!("CARGO_MANIFEST_DIR"));
    Case::text(&std::fs::read_to_string(path).expect("the model is there"))
}

/// The listed solutions of a model: times and first unknowns.
fn listed(name: &str) -> Vec<(f64, Vec<f64>)> {
    let path = format!("{}/tests/stiff/references.txt", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect("the references are there");
    let line = |line: &str| {
        let mut words = line.split_whitespace();
        let numbers = (words.next() == Some(name)).then_some(words)?;
        let numbers: Result<Vec<f64>, _> = numbers.map(str::parse).collect();
        let mut numbers = numbers.expect("numbers");
        Some((numbers.remove(0), numbers))
    };
    text.lines().filter_map(line).collect()
}

/// Runs by choice; the end must be right within ten tolerances rtol (|x| + nominal), and the steps few.
fn check(case: &Case, name: &str, rtols: &[f64], most_steps: usize) {
    let listed = listed(name);
    assert!(!listed.is_empty(), "{name}");
    for ((to, wanted), &rtol) in listed
        .iter()
        .flat_map(|l| rtols.iter().map(move |r| (l, r)))
    {
        let to = *to;
        let options = case.options(to, SERIES * rtol);
        let chosen =
            implicit::solve_by_choice(&case.problem, &case.start(0.0), &options, 1.0 / SERIES)
                .expect("it has a start");
        let label = format!("{} at {rtol:e}: {}", case.system.name(), chosen.why);
        println!("{label}: {:?}", chosen.run.statistics);
        assert_eq!(chosen.run.stop, StopReason::Finished, "{label}");
        let values = case.values(&chosen.run, to);
        let unknowns = case.system.unknowns().iter().zip(&values).zip(wanted);
        let error = unknowns
            .map(|((unknown, value), wanted)| {
                let unit = wanted.abs() + unknown.nominal.unwrap_or(1.0);
                (value - wanted).abs() / (rtol * unit)
            })
            .fold(0.0, f64::max);
        println!("    {error:.3} tolerances");
        assert!(error <= 10.0, "{label}: off by {error:.1} tolerances");
        let steps = chosen.run.statistics.steps;
        assert!(steps <= most_steps, "{label}: {steps} steps");
    }
}

#[test]
fn robertson_is_solved_to_1e6_and_1e11() {
    let rtols = [1e-4, 1e-6, 1e-7, 1e-8];
    check(&written("Robertson"), "Robertson", &rtols, 1_000);
}

#[test]
fn the_oregonator_is_solved() {
    check(
        &written("Oregonator"),
        "Oregonator",
        &[1e-4, 1e-6, 1e-8],
        4_000,
    );
}

#[test]
fn hires_is_solved() {
    check(&written("Hires"), "Hires", &[1e-4, 1e-6, 1e-8], 1_000);
}

#[test]
fn van_der_pol_is_solved() {
    check(
        &written("VanDerPol"),
        "VanDerPol",
        &[1e-4, 1e-6, 1e-8],
        4_000,
    );
}

#[test]
fn e5_is_solved() {
    check(&written("E5"), "E5", &[1e-4, 1e-6, 1e-8], 1_500);
}

#[test]
fn pollution_is_solved() {
    check(
        &written("Pollution"),
        "Pollution",
        &[1e-4, 1e-6, 1e-8],
        1_000,
    );
}

#[test]
fn akzo_nobel_is_solved() {
    let case = Case::library("akzo-nobel", &[]);
    check(&case, "akzo-nobel", &[1e-4, 1e-6, 1e-8], 500);
}

#[test]
fn the_ring_modulator_is_solved() {
    check(&written("RingModulator"), "RingModulator", &[1e-4], 150_000);
}

/// Work in units of a step of the series, roughly: a jet, some residuals and a factorisation.
fn cost(work: &Statistics) -> f64 {
    0.5 * work.jets as f64 + 0.1 * work.residuals as f64 + 0.25 * work.factorizations as f64
}

/// Steps that a single method may take before it counts as hopeless.
const HOPELESS: usize = 20_000;

#[test]
fn the_choice_costs_little_more_than_the_best_method() {
    let mut cases: Vec<Case> = [
        "Robertson",
        "Oregonator",
        "Hires",
        "VanDerPol",
        "E5",
        "Pollution",
    ]
    .map(written)
    .into();
    let names = library_names();
    cases.extend(names.iter().filter_map(|name| Case::try_library(name).ok()));
    let mut worst = (0.0, String::new());
    for case in &cases {
        let to = case.system.experiment().stop_time.unwrap_or(1.0);
        for rtol in [1e-4, 1e-6, 1e-9] {
            let mut options = case.options(to, SERIES * rtol);
            let start = case.start(0.0);
            let chosen = implicit::solve_by_choice(&case.problem, &start, &options, 1.0 / SERIES);
            let Ok(chosen) = chosen else {
                continue;
            };
            options.max_steps = HOPELESS;
            let series = case.run_by(Method::Taylor, 0.0, &options);
            let mut coarse = case.options(to, rtol);
            coarse.max_steps = HOPELESS;
            let radau = case.run_by(Method::Radau, 0.0, &coarse);
            let best = [series, radau]
                .iter()
                .filter(|run| run.stop == chosen.run.stop)
                .map(|run| cost(&run.statistics))
                .fold(f64::INFINITY, f64::min);
            let ratio = cost(&chosen.run.statistics) / best;
            let label = format!("{} at {rtol:e}: {}", case.system.name(), chosen.why);
            println!("{ratio:.2} {label}");
            if ratio > worst.0 {
                worst = (ratio, label);
            }
        }
    }
    assert!(worst.0 <= 1.5, "{} for {}", worst.0, worst.1);
}
