//! Rewritings that mean nothing change nothing, and no two commands contradict each other.
//!
//! Random systems of mixed orders are written in nine ways and given to `analyze`, `init` and `solve`. Index, degrees of
//! freedom and verdict must be the same, starts agree to 1e-9, ends to ten tolerances, singular times to 1e-9. Where an
//! answer is "unknown" for one writing and known for another, that counts as open. `DAELIGHT_METAMORPHIC=FIRST:COUNT` chooses
//! other systems.

mod system;

use crate::common::{daelight_with_input, document, status};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write;
use system::{Rewriting, System};

/// Systems tried by default.
const SYSTEMS: (u64, u64) = (0, 40);
/// Writings of these systems that have another answer. The number may only fall; 0 is the aim.
const MAX_OTHER: usize = 2;
/// Tolerance of runs.
const RTOL: f64 = 1e-8;
/// Starts agree to this.
const SAME_START: f64 = 1e-9;
/// Singular times agree to this.
const SAME_TIME: f64 = 1e-9;

/// What the three commands say of one text.
#[derive(Clone, Debug)]
struct Answers {
    /// `None` where it is not known.
    index: Option<u64>,
    dof: Option<u64>,
    regular: Option<bool>,
    /// Start values by the names of the system as it is, or why there is none.
    start: Result<Vec<f64>, String>,
    /// How the run ended, when, and the last values.
    reason: String,
    time: f64,
    last: Vec<f64>,
    singular_times: Vec<f64>,
    message: String,
}

fn ask(command: &str, more: &[&str], text: &str) -> Value {
    let mut arguments = vec![command, "-", "--json"];
    arguments.extend_from_slice(more);
    let output = daelight_with_input(&arguments, text.as_bytes());
    assert!(
        (0..5).contains(&status(&output)),
        "{command}: {output:?}\n{text}"
    );
    document(&output)
}

fn values(document: &Value, names: &[String]) -> Vec<f64> {
    let value = |name: &String| document[name.as_str()].as_f64().unwrap_or(f64::NAN);
    names.iter().map(value).collect()
}

impl Answers {
    fn of(system: &System, rewriting: Rewriting, number: u64) -> Self {
        let text = rewriting.text(system, number);
        let names: Vec<String> = (0..system.starts.len())
            .map(|i| rewriting.name(i))
            .collect();
        let analysis = ask("analyze", &[], &text);
        let start = ask("init", &["--budget", "5s"], &text);
        let rtol = RTOL.to_string();
        let run = ask(
            "solve",
            &[
                "--to", "0.5", "--rtol", &rtol, "--atol", &rtol, "--budget", "10s",
            ],
            &text,
        );
        let times = run["singularities"].as_array().into_iter().flatten();
        Self {
            index: analysis["differentiation"]["index"].as_u64(),
            dof: analysis["differentiation"]["dof"].as_u64(),
            regular: analysis["structural"]["regular"].as_bool(),
            start: match start["status"].as_str() {
                Some("success") => Ok(values(&start["values"], &names)),
                _ => Err(start["message"]
                    .as_str()
                    .unwrap_or("no message")
                    .to_string()),
            },
            reason: run["reason"].as_str().unwrap_or_default().to_string(),
            time: run["time"].as_f64().unwrap_or(f64::NAN),
            last: values(&run["final"], &names),
            singular_times: times.filter_map(|found| found["time"].as_f64()).collect(),
            message: run["message"].as_str().unwrap_or_default().to_string(),
        }
    }

    /// Whether one command says of a model what another denies.
    fn contradiction(&self) -> Option<String> {
        let refused = self.message.contains("Jacobian is singular");
        if self.regular == Some(true) && self.index.is_some() && refused {
            return Some(format!(
                "analyze: regular, index {:?}; solve: {}",
                self.index, self.message
            ));
        }
        let no_start = self.message.contains("consistent start");
        if self.start.is_ok() && no_start {
            return Some(format!("init starts; solve: {}", self.message));
        }
        None
    }
}

#[derive(Debug)]
enum Comparison {
    Same,
    Open(String),
    Other(String),
}

/// Largest difference in units of the tolerance, sizes up to 1 being absolute.
fn distance(a: &[f64], b: &[f64]) -> f64 {
    let part = |(a, b): (&f64, &f64)| (a - b).abs() / a.abs().max(b.abs()).max(1.0);
    a.iter().zip(b).map(part).fold(0.0, |most, part| {
        if part.is_nan() {
            f64::INFINITY
        } else {
            most.max(part)
        }
    })
}

fn compare(one: &Answers, other: &Answers, rewriting: Rewriting) -> Comparison {
    // A new unknown is an algebraic one: what had index 0 has index 1 with it.
    let adds = matches!(
        rewriting,
        Rewriting::Alias | Rewriting::NamedSum | Rewriting::Chain
    );
    let index = |answers: &Answers| {
        answers
            .index
            .map(|index| if adds { index.max(1) } else { index })
    };
    for (what, a, b) in [
        ("index", index(one), index(other)),
        ("dof", one.dof, other.dof),
    ] {
        match (a, b) {
            (Some(a), Some(b)) if a != b => {
                return Comparison::Other(format!("{what} {a} and {b}"));
            }
            (Some(_), None) | (None, Some(_)) => {
                return Comparison::Open(format!("{what} known for one"));
            }
            _ => {}
        }
    }
    if let (Some(a), Some(b)) = (one.regular, other.regular)
        && a != b
    {
        return Comparison::Other(format!("regular {a} and {b}"));
    }
    match (&one.start, &other.start) {
        (Ok(a), Ok(b)) => {
            let off = distance(a, b);
            if off > SAME_START {
                return Comparison::Other(format!("starts {off:.1e} apart: {a:?} {b:?}"));
            }
        }
        (Ok(_), Err(because)) | (Err(because), Ok(_)) => {
            return Comparison::Open(format!("start of one only: {because}"));
        }
        _ => return Comparison::Same,
    }
    if one.reason != other.reason {
        let (a, b) = (&one.message, &other.message);
        return Comparison::Open(format!(
            "ends {} ({a}) and {} ({b})",
            one.reason, other.reason
        ));
    }
    if one.singular_times.len() != other.singular_times.len() {
        return Comparison::Other(format!(
            "{:?} and {:?}",
            one.singular_times, other.singular_times
        ));
    }
    if distance(&one.singular_times, &other.singular_times) > SAME_TIME {
        return Comparison::Other(format!(
            "singular at {:?} and {:?}",
            one.singular_times, other.singular_times
        ));
    }
    if one.reason == "end" || one.reason == "finished" || one.time == other.time {
        let off = distance(&one.last, &other.last);
        if off > 10.0 * RTOL {
            return Comparison::Other(format!("ends {off:.1e} apart at {}", one.time));
        }
    }
    Comparison::Same
}

fn range() -> (u64, u64) {
    let given = std::env::var("DAELIGHT_METAMORPHIC").ok();
    let pair = given.as_deref().and_then(|text| text.split_once(':'));
    pair.and_then(|(first, count)| Some((first.parse().ok()?, count.parse().ok()?)))
        .unwrap_or(SYSTEMS)
}

#[test]
fn rewritings_that_mean_nothing_change_nothing() {
    let (first, count) = range();
    let (mut same, mut open, mut other) = (0, BTreeMap::<String, usize>::new(), String::new());
    let mut contradictions = String::new();
    let (mut n_open, mut n_other) = (0, 0);
    for number in first..first + count {
        let system = System::random(number);
        if count == 1 {
            println!("{}", Rewriting::AsItIs.text(&system, number));
        }
        let one = Answers::of(&system, Rewriting::AsItIs, number);
        let mut all = vec![(Rewriting::AsItIs, one.clone())];
        for rewriting in Rewriting::ALL {
            let answers = Answers::of(&system, rewriting, number);
            match compare(&one, &answers, rewriting) {
                Comparison::Same => same += 1,
                Comparison::Open(because) => {
                    n_open += 1;
                    *open.entry(format!("{rewriting:?}: {because}")).or_default() += 1;
                    writeln!(other, "open {number} {rewriting:?}: {because}").expect("a string");
                }
                Comparison::Other(because) => {
                    n_other += 1;
                    writeln!(other, "{number} {rewriting:?}: {because}").expect("a string");
                }
            }
            all.push((rewriting, answers));
        }
        for (rewriting, answers) in all {
            if let Some(found) = answers.contradiction() {
                writeln!(contradictions, "{number} {rewriting:?}: {found}").expect("a string");
            }
        }
    }
    println!("{same} the same, {n_open} open, {n_other} other\n{other}{contradictions}");
    assert!(
        contradictions.is_empty(),
        "two commands contradict each other:\n{contradictions}"
    );
    assert!(n_other <= MAX_OTHER, "{other}");
    // 2 in 100 may be open.
    assert!(50 * n_open <= same + n_open, "{open:#?}");
}
