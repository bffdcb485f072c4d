//! Index notions do not depend on how a system is written: random canonical forms in disguise, with known answers.
//!
//! A wrong answer is a failure whatever the disguise. `Unknown` is honest; how often it occurs is printed and bounded.
//! Every case is derived from a master seed, which is printed: `DAELIGHT_TEST_SEED` sets another one, `DAELIGHT_TEST_FACTOR`
//! multiplies the number of cases.

use super::random::{self, Disguise, Planted, Random, Shape, System};
use daelight_analysis::chain::{Chain, kind_of_point};
use daelight_analysis::reduction::Conclusion;
use daelight_analysis::scaling::Scaling;
use daelight_analysis::{IndexQuestion, IndexVerdict, Indices, decide};
use std::ops::AddAssign;

/// Taylor coefficients given: index 5 needs 6.
const ORDER: usize = 8;

/// A number from the environment, or the one given.
fn setting(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text.parse().expect("a whole number"),
        Err(_) => default,
    }
}

fn master_seed() -> u64 {
    setting("DAELIGHT_TEST_SEED", 20_240_601)
}

/// Runs the cases of a group on a few threads and adds up what they report.
fn over_cases<T: Default + AddAssign + Send>(
    group: usize,
    n_cases: usize,
    run: impl Fn(usize, &mut Random) -> T + Sync,
) -> T {
    let n_cases = n_cases * setting("DAELIGHT_TEST_FACTOR", 1) as usize;
    let n_threads = std::thread::available_parallelism().map_or(1, |n| n.get().min(4));
    let master = master_seed();
    let mut total = T::default();
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..n_threads)
            .map(|first| {
                let run = &run;
                scope.spawn(move || {
                    let mut sum = T::default();
                    for case in (first..n_cases).step_by(n_threads) {
                        sum += run(case, &mut Random::of_case(master, group, case));
                    }
                    sum
                })
            })
            .collect();
        for worker in workers {
            total += worker.join().expect("a case failed");
        }
    });
    total
}

/// Says which case something was wrong with.
fn report(group: usize, case: usize, found: &dyn std::fmt::Debug, expected: &dyn std::fmt::Debug) {
    let master = master_seed();
    println!("master seed {master}, group {group}, case {case}: {found:?}, not {expected:?}");
}

/// Wrong answers and abstentions.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
struct Rate {
    wrong: usize,
    unknown: usize,
}

impl Rate {
    fn count<T: PartialEq>(&mut self, found: Option<T>, expected: T) {
        match found {
            Some(found) if found == expected => {}
            Some(_) => self.wrong += 1,
            None => self.unknown += 1,
        }
    }
}

impl AddAssign for Rate {
    fn add_assign(&mut self, other: Self) {
        self.wrong += other.wrong;
        self.unknown += other.unknown;
    }
}

impl std::fmt::Display for Rate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.wrong, self.unknown)
    }
}

/// What all deciders made of a group of cases.
#[derive(Clone, Copy, Default, Debug)]
struct Rates {
    n_cases: usize,
    /// Of differentiation index, or strangeness index plus one, 0 to 6.
    n_of_index: [usize; 7],
    array: Rate,
    reduction: Rate,
    /// The final rule in doubles.
    doubles: Rate,
    /// The final rule with the second look in double-double.
    both: Rate,
}

impl AddAssign for Rates {
    fn add_assign(&mut self, other: Self) {
        self.n_cases += other.n_cases;
        for (sum, n) in self.n_of_index.iter_mut().zip(other.n_of_index) {
            *sum += n;
        }
        self.array += other.array;
        self.reduction += other.reduction;
        self.doubles += other.doubles;
        self.both += other.both;
    }
}

/// Runs the deciders on a system and its neighbours at t, in doubles and with the second look where doubles give no index.
///
/// `judge` says how an outcome counts: `None` for undecided, otherwise whether it is right.
fn examine(
    system: &System,
    t: f64,
    judge: impl Fn(&IndexVerdict) -> Option<bool>,
) -> (Rates, IndexVerdict) {
    let sharp = system.at(t, ORDER);
    let series = random::round(&sharp);
    let neighbour = |i: usize| Some(system.rounded_at(t + 0.01 * (1.0 + i as f64), ORDER));
    let question = IndexQuestion {
        neighbour: &neighbour,
        ..IndexQuestion::new(&series)
    };
    let decision = decide(&question);
    let mut rates = Rates {
        n_cases: 1,
        ..Rates::default()
    };
    rates.n_of_index[system.indices.strangeness.index + 1] += 1;
    rates
        .array
        .count(decision.array.conclusion.ok(), system.indices.strangeness);
    match &decision.reduction.conclusion {
        Conclusion::Regular(found) => rates.reduction.count(Some(found), &system.indices),
        _ => rates.reduction.unknown += 1,
    }
    rates.doubles.count(judge(&decision.outcome), true);
    let outcome = match decision.outcome {
        IndexVerdict::Regular(_) => decision.outcome,
        _ => {
            let question = IndexQuestion {
                sharper: &|| Some(sharp.clone()),
                ..question
            };
            decide(&question).outcome
        }
    };
    rates.both.count(judge(&outcome), true);
    (rates, outcome)
}

fn disguise(condition: f64, time: f64, shape: Shape) -> Disguise {
    Disguise {
        condition,
        scaling: 6.0,
        time,
        shape,
    }
}

/// Conditions, units of time 10^-x to 10^x, shapes, and cases of every group.
const GROUPS: [(f64, f64, Shape, usize); 9] = [
    (10.0, 2.0, Shape::Far, 150),
    (10.0, 2.0, Shape::Near, 150),
    (10.0, 2.0, Shape::Sparse, 150),
    (100.0, 3.0, Shape::Far, 240),
    (100.0, 3.0, Shape::Near, 240),
    (100.0, 3.0, Shape::Sparse, 150),
    (1000.0, 6.0, Shape::Far, 120),
    (1000.0, 6.0, Shape::Near, 120),
    (1000.0, 6.0, Shape::Sparse, 120),
];

/// No wrong answer, and up to condition 100 at most one of a hundred cases undecided.
fn check(found: &[(f64, Rates)]) {
    let mut common = Rates::default();
    for (condition, rates) in found {
        assert_eq!((rates.doubles.wrong, rates.both.wrong), (0, 0));
        if *condition <= 100.0 {
            common += *rates;
        }
    }
    assert!(100 * common.both.unknown <= common.n_cases, "{common:?}");
}

fn header(what: &str) {
    println!("{what}, master seed {}; wrong/undecided", master_seed());
    println!("| condition | shape | cases | by index 0..6 | array | reduction | doubles | both |");
}

fn print(condition: f64, shape: Shape, rates: &Rates) {
    println!(
        "| {condition} | {shape:?} | {} | {:?} | {} | {} | {} | {} |",
        rates.n_cases, rates.n_of_index, rates.array, rates.reduction, rates.doubles, rates.both
    );
}

#[test]
fn disguised_systems_are_recognised() {
    header("regular");
    let mut all = Vec::new();
    for (group, (condition, time, shape, n_cases)) in GROUPS.into_iter().enumerate() {
        let disguise = disguise(condition, time, shape);
        let rates = over_cases(group, n_cases, |case, random| {
            let system = System::regular(random, case % 2 == 0, disguise);
            let (rates, outcome) = examine(&system, 0.0, |outcome| match outcome {
                IndexVerdict::Regular(answer) => Some(answer.indices == system.indices),
                IndexVerdict::Critical { .. } => Some(false),
                IndexVerdict::Unknown { .. } => None,
            });
            if rates.doubles.wrong + rates.both.wrong > 0 || rates.both.unknown > 0 {
                report(group, case, &outcome, &system.indices);
            }
            rates
        });
        print(condition, shape, &rates);
        all.push((condition, rates));
    }
    check(&all);
}

/// How the kinds of planted critical points were found, where they are known.
#[derive(Clone, Copy, Default, Debug)]
struct Kinds {
    right: usize,
    wrong: usize,
    unknown: usize,
    /// Still unknown in double-double.
    unknown_twice: usize,
}

impl AddAssign for Kinds {
    fn add_assign(&mut self, other: Self) {
        self.right += other.right;
        self.wrong += other.wrong;
        self.unknown += other.unknown;
        self.unknown_twice += other.unknown_twice;
    }
}

fn kind(system: &System, planted: &Planted) -> Kinds {
    let mut kinds = Kinds::default();
    if planted.kind.is_none() {
        return kinds;
    }
    let beside = |i: usize| 0.01 * (1.0 + i as f64);
    let neighbour = |i: usize| Some(system.rounded_at(beside(i), ORDER));
    match kind_of_point(&system.rounded_at(0.0, ORDER), 0.0, neighbour) {
        Ok(kind) if kind == planted.kind => kinds.right += 1,
        Ok(_) => kinds.wrong += 1,
        Err(_) => {
            kinds.unknown += 1;
            let neighbour = |i: usize| Some(system.at(beside(i), ORDER));
            match kind_of_point(&system.at(0.0, ORDER), 0.0, neighbour) {
                Ok(kind) if kind == planted.kind => {}
                Ok(_) => kinds.wrong += 1,
                Err(_) => kinds.unknown_twice += 1,
            }
        }
    }
    kinds
}

#[derive(Default)]
struct Critical {
    rates: Rates,
    kinds: Kinds,
}

impl AddAssign for Critical {
    fn add_assign(&mut self, other: Self) {
        self.rates += other.rates;
        self.kinds += other.kinds;
    }
}

#[test]
fn planted_critical_points_are_reported_at_their_level() {
    header("critical");
    let mut all = Vec::new();
    for (group, (condition, time, shape, n_cases)) in GROUPS.into_iter().enumerate() {
        let group = 100 + group;
        let disguise = disguise(condition, time, shape);
        let found = over_cases(group, n_cases / 3, |case, random| {
            let (system, planted) = System::critical(random, case % 3 > 0, disguise);
            let (rates, outcome) = examine(&system, 0.0, |outcome| match outcome {
                IndexVerdict::Critical { level, stage, .. } => {
                    Some((*level, *stage) == (planted.level, planted.stage))
                }
                IndexVerdict::Regular(_) => Some(false),
                IndexVerdict::Unknown { .. } => None,
            });
            let kinds = kind(&system, &planted);
            if rates.doubles.wrong + rates.both.wrong + kinds.wrong > 0 || rates.both.unknown > 0 {
                report(group, case, &outcome, &planted);
            }
            Critical { rates, kinds }
        });
        print(condition, shape, &found.rates);
        println!("  {:?}", found.kinds);
        assert_eq!(found.kinds.wrong, 0);
        all.push((condition, found.rates));
    }
    check(&all);
}

#[test]
fn beside_a_critical_point_there_is_no_wrong_answer() {
    header("beside a critical point, at 1e-1 to 1e-9");
    for (group, (condition, time, shape, n_cases)) in GROUPS.into_iter().enumerate() {
        let group = 200 + group;
        let disguise = disguise(condition, time, shape);
        let rates = over_cases(group, n_cases / 3, |case, random| {
            let (system, planted) = System::critical(random, case % 3 > 0, disguise);
            let distance = 10_f64.powf(random.between(-9.0, -1.0));
            let (rates, outcome) = examine(&system, distance, |outcome| match outcome {
                IndexVerdict::Regular(answer) => Some(answer.indices == system.indices),
                // So close that the point cannot be told from the critical one.
                IndexVerdict::Critical { level, stage, .. } => {
                    Some(distance < 1e-6 && (*level, *stage) == (planted.level, planted.stage))
                }
                IndexVerdict::Unknown { .. } => None,
            });
            if rates.doubles.wrong + rates.both.wrong > 0 {
                report(
                    group,
                    case,
                    &(distance, outcome),
                    &(planted, system.indices),
                );
            }
            rates
        });
        print(condition, shape, &rates);
        assert_eq!(rates.doubles.wrong, 0);
        assert_eq!(rates.both.wrong, 0);
    }
}

#[test]
fn chain_agrees_with_the_reduction_on_square_systems() {
    for (seed, condition, most_unknown) in [(40_000, 10.0, 0), (41_000, 100.0, 2)] {
        let mut rate = Rate::default();
        for case in 0..150 {
            let mut random = Random::new(seed + case);
            let system = System::regular(&mut random, true, disguise(condition, 2.0, Shape::Far));
            let series = system.rounded_at(0.0, ORDER);
            let scaled = Scaling::by_low_orders(&series, None).apply(&series);
            let chain = Chain::new(&scaled, 0.0).expect("square");
            let expected = system.indices.characteristic_values.expect("regular");
            rate.count(
                chain.characteristic_values().map(<[usize]>::to_vec),
                expected,
            );
        }
        println!("seeds {seed}.. condition {condition}: chain {rate:?}");
        assert_eq!(rate.wrong, 0);
        assert!(rate.unknown <= most_unknown);
    }
}

#[test]
fn noise_in_the_coefficients_is_accounted_for() {
    for (seed, noise, most_unknown) in [(50_000, 1e-13, 0), (51_000, 1e-11, 2), (52_000, 1e-9, 15)]
    {
        let mut rate = Rate::default();
        for case in 0..100 {
            let mut random = Random::new(seed + case);
            let system =
                System::regular(&mut random, case % 2 == 0, disguise(10.0, 2.0, Shape::Far));
            let series = random::perturbed(&system.rounded_at(0.0, ORDER), noise, &mut random);
            let question = IndexQuestion {
                relative_error: noise,
                ..IndexQuestion::new(&series)
            };
            let outcome = decide(&question).outcome;
            rate.count::<Option<&Indices>>(outcome.indices().map(Some), Some(&system.indices));
        }
        println!("seeds {seed}.. relative noise {noise:e}: {rate:?}");
        assert_eq!(rate.wrong, 0);
        assert!(rate.unknown <= most_unknown);
    }
}

#[test]
fn consistent_directions_satisfy_the_constraints() {
    // Directions are orthonormal in the units given, so units 1e12 apart would leave few digits to check.
    let plain = Disguise {
        scaling: 2.0,
        ..disguise(10.0, 2.0, Shape::Far)
    };
    for seed in 60_000..60_100 {
        let mut random = Random::new(seed);
        let system = System::regular(&mut random, seed % 2 == 0, plain);
        let series = system.rounded_at(0.0, ORDER);
        let IndexVerdict::Regular(answer) = decide(&IndexQuestion::new(&series)).outcome else {
            panic!("seed {seed} is undecided");
        };
        let directions = answer.consistent_directions.expect("the reduction decided");
        let s = answer.indices.strangeness;
        assert_eq!(directions.ncols(), s.n_differential + s.n_free);
        let canonical = system.to_canonical.matmul(&directions);
        for j in 0..canonical.ncols() {
            let column = canonical.col(j);
            let size = column.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
            for &i in &system.algebraic {
                assert!(column[i].abs() < 1e-8 * size, "seed {seed}: {column:?}");
            }
        }
    }
}
