//! Index notions do not depend on how a system is written: random canonical forms in disguise, with known answers.
//!
//! A wrong answer is a failure whatever the disguise. `Unknown` is honest; how often it occurs is printed and bounded.
//! Every case has its own seed, printed where something is wrong.

use crate::random::{self, Disguise, Random, System};
use daelight_analysis::chain::{Chain, kind_of_point};
use daelight_analysis::reduction::Conclusion;
use daelight_analysis::scaling::Scaling;
use daelight_analysis::{Indices, Outcome, Question, decide};

/// Taylor coefficients given: index 5 needs 6.
const ORDER: usize = 8;

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

#[derive(Default, Debug)]
struct Rates {
    array: Rate,
    reduction: Rate,
    /// The final rule in doubles.
    doubles: Rate,
    /// The final rule with the second look in double-double.
    both: Rate,
}

/// Runs all deciders on random regular systems, every second one rectangular.
fn rates(seed: u64, n_cases: usize, disguise: Disguise) -> Rates {
    let mut out = Rates::default();
    let mut n_of_index = [0; 6];
    for case in 0..n_cases {
        let seed = seed + case as u64;
        let system = System::regular(&mut Random::new(seed), case % 2 == 0, disguise);
        n_of_index[system.indices.strangeness.index + 1] += 1;
        let sharp = system.at(0.0, ORDER);
        let series = random::round(&sharp);
        let neighbour = |i: usize| Some(system.rounded_at(0.01 * (1.0 + i as f64), ORDER));
        let question = Question {
            neighbour: &neighbour,
            ..Question::new(&series)
        };
        let decision = decide(&question);
        out.array
            .count(decision.array.conclusion.ok(), system.indices.strangeness);
        match &decision.reduction.conclusion {
            Conclusion::Regular(found) => out.reduction.count(Some(found), &system.indices),
            _ => out.reduction.unknown += 1,
        }
        let judge = |outcome: &Outcome, rate: &mut Rate| match outcome {
            Outcome::Regular(answer) => rate.count(Some(&answer.indices), &system.indices),
            Outcome::Critical { .. } => rate.wrong += 1,
            Outcome::Unknown { .. } => rate.unknown += 1,
        };
        judge(&decision.outcome, &mut out.doubles);
        let again = match decision.outcome {
            Outcome::Regular(_) => decision,
            _ => decide(&Question {
                sharper: &|| Some(sharp.clone()),
                ..question
            }),
        };
        let wrong_before = out.both.wrong;
        judge(&again.outcome, &mut out.both);
        if out.both.wrong > wrong_before {
            println!("seed {seed}: {:?}, not {:?}", again.outcome, system.indices);
        }
    }
    println!("seeds {seed}.. ({n_cases}): {disguise:?}, by index {n_of_index:?}\n  {out:?}");
    out
}

fn disguise(condition: f64, time: f64, near_singular: bool) -> Disguise {
    Disguise {
        condition,
        scaling: 6.0,
        time,
        near_singular,
    }
}

const NEVER: Rate = Rate {
    wrong: 0,
    unknown: 0,
};

#[test]
fn condition_10_is_always_decided() {
    for (seed, near_singular) in [(1_000, false), (2_000, true)] {
        let rates = rates(seed, 300, disguise(10.0, 2.0, near_singular));
        assert_eq!(rates.doubles, NEVER);
        assert_eq!(rates.both, NEVER);
    }
}

#[test]
fn condition_100_is_decided_with_a_second_look() {
    let far = rates(10_000, 300, disguise(100.0, 3.0, false));
    assert_eq!(far.doubles, NEVER);
    let near = rates(11_000, 500, disguise(100.0, 3.0, true));
    assert_eq!(near.doubles.wrong, 0);
    assert!(near.doubles.unknown <= 60);
    assert_eq!(near.both, NEVER);
}

#[test]
fn condition_1000_is_never_wrong() {
    let far = rates(20_000, 300, disguise(1000.0, 6.0, false));
    assert_eq!(far.doubles.wrong, 0);
    assert!(far.doubles.unknown <= 3);
    assert_eq!(far.both, NEVER);
    let near = rates(21_000, 400, disguise(1000.0, 6.0, true));
    assert_eq!(near.doubles.wrong, 0);
    assert!(near.doubles.unknown <= 300);
    assert_eq!(near.both.wrong, 0);
    assert!(near.both.unknown <= 4);
}

#[test]
fn planted_critical_points_are_reported_at_their_level() {
    for (seed, condition, near_singular) in [
        (30_000, 10.0, false),
        (31_000, 100.0, false),
        (32_000, 10.0, true),
        (33_000, 100.0, true),
    ] {
        let mut missed = [0; 2];
        let mut n_kinds = [0; 4];
        for case in 0..100 {
            let seed = seed + case;
            let (system, planted) = System::critical(
                &mut Random::new(seed),
                disguise(condition, 2.0, near_singular),
            );
            let sharp = system.at(0.0, ORDER);
            let series = random::round(&sharp);
            let neighbour = |i: usize| Some(system.rounded_at(0.01 * (1.0 + i as f64), ORDER));
            let doubles = Question {
                neighbour: &neighbour,
                ..Question::new(&series)
            };
            let both = Question {
                sharper: &|| Some(sharp.clone()),
                ..doubles
            };
            for (question, missed) in [doubles, both].iter().zip(&mut missed) {
                match decide(question).outcome {
                    Outcome::Critical {
                        level: found,
                        stage: found_stage,
                        ..
                    } => assert_eq!(
                        (found, found_stage),
                        (planted.level, planted.stage),
                        "seed {seed}"
                    ),
                    Outcome::Regular(answer) => panic!("seed {seed}: {:?}", answer.indices),
                    Outcome::Unknown { .. } => *missed += 1,
                }
            }
            match kind_of_point(&series, 0.0, neighbour) {
                Ok(Some(kind)) if kind == planted.kind => n_kinds[0] += 1,
                Ok(other) => {
                    println!("seed {seed}: {other:?}, not {}", planted.kind);
                    n_kinds[1] += 1;
                }
                Err(_) => {
                    n_kinds[2] += 1;
                    let neighbour = |i: usize| Some(system.at(0.01 * (1.0 + i as f64), ORDER));
                    match kind_of_point(&sharp, 0.0, neighbour) {
                        Ok(again) => assert_eq!(again, Some(planted.kind), "seed {seed}"),
                        Err(_) => n_kinds[3] += 1,
                    }
                }
            }
        }
        println!(
            "seeds {seed}.. condition {condition}, near singular {near_singular}: unconfirmed in doubles {}, \
             with second look {}; kinds right, wrong, unknown, unknown in double-double {n_kinds:?}",
            missed[0], missed[1]
        );
        assert!(missed[0] <= 6);
        assert_eq!(missed[1], 0);
        assert_eq!(n_kinds[1], 0);
        assert!(n_kinds[2] <= 30 && n_kinds[3] <= 1);
    }
}

#[test]
fn chain_agrees_with_the_reduction_on_square_systems() {
    for (seed, condition, most_unknown) in [(40_000, 10.0, 0), (41_000, 100.0, 2)] {
        let mut rate = Rate::default();
        for case in 0..150 {
            let mut random = Random::new(seed + case);
            let system = System::regular(&mut random, true, disguise(condition, 2.0, false));
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
            let system = System::regular(&mut random, case % 2 == 0, disguise(10.0, 2.0, false));
            let series = random::perturbed(&system.rounded_at(0.0, ORDER), noise, &mut random);
            let question = Question {
                relative_error: noise,
                ..Question::new(&series)
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
        ..disguise(10.0, 2.0, false)
    };
    for seed in 60_000..60_100 {
        let mut random = Random::new(seed);
        let system = System::regular(&mut random, seed % 2 == 0, plain);
        let series = system.rounded_at(0.0, ORDER);
        let Outcome::Regular(answer) = decide(&Question::new(&series)).outcome else {
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
