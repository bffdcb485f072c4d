//! Andrews' squeezing mechanism against reference values.

mod common;

use common::{library, model};
use daelight_singular::{Kept, Limits, Question, answer};

#[test]
fn explore() {
    for set in [
        vec![],
        vec!["a[1]=0.03", "a[2]=0.055"],
        vec!["a[1]=0.02", "a[2]=0.055", "b[1]=-0.06934+0.03*sqrt(2)"],
        vec!["a[1]=0.02", "a[2]=0.055", "b[1]=-0.026913593"],
    ] {
        let start = std::time::Instant::now();
        let model = model(&library("andrews-constraints"), &set);
        let mut answer = answer(&model, &Question::default(), &Limits::default())
            .unwrap_or_else(|d| panic!("{d:?}"));
        println!(
            "{set:?}: {} configurations {:?} excluded {} pieces {} states {:?} {:?} {:?}",
            answer.configurations.len(),
            answer.verdict,
            answer.n_excluded,
            answer.pieces.len(),
            answer.states.len(),
            answer.reasons,
            start.elapsed()
        );
        for configuration in &mut answer.configurations {
            println!(
                "  {:?} {:?}",
                configuration.angles(&answer.mechanism),
                configuration.pieces
            );
        }
    }
    for name in [
        "four-bar",
        "slider-crank",
        "stephenson",
        "three-rrr",
        "robotic-arm",
        "delta-robot",
        "pendulum",
        "pendulum-3d",
        "andrews",
    ] {
        for parameters in [Kept::None, Kept::All] {
            let start = std::time::Instant::now();
            let model = model(&library(name), &[]);
            let question = Question {
                parameters: parameters.clone(),
                locked: vec![],
            };
            let limits = Limits {
                time: std::time::Duration::from_secs(10),
                ..Limits::default()
            };
            match answer(&model, &question, &limits) {
                Err(d) => println!(
                    "{name}: {:?}",
                    d.iter().map(|d| d.message.clone()).collect::<Vec<_>>()
                ),
                Ok(answer) => {
                    println!(
                        "{name} {parameters:?}: {} constraints, {} configurations {:?} excluded {} pieces {} {:?} {:?}",
                        answer.mechanism.n_constraints(),
                        answer.configurations.len(),
                        answer.verdict,
                        answer.n_excluded,
                        answer.pieces.len(),
                        answer.reasons,
                        start.elapsed()
                    );
                    for (at, w) in answer.words.iter().enumerate() {
                        println!(
                            "   {} {} | {:?}",
                            answer.cases.list[at].contained_in.is_none(),
                            w.sentence(),
                            w.conditions
                        );
                    }
                    if let Some(l) = &answer.locus {
                        for f in l.factors.iter().take(12) {
                            let t = answer.text(&f.polynomial);
                            println!(
                                "      {} {:?} {}",
                                f.is_physical,
                                f.cases,
                                t.chars().take(150).collect::<String>()
                            );
                        }
                    }
                }
            }
        }
    }
}
