//! How long the passport takes: the whole process, from text to page, beside a script of the usual tools.

use crate::peers::Peers;
use crate::table;
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

/// Runs of each process.
const N_RUNS: usize = 30;
/// Condition of the arm's derivative array at t = 0.5, from `models/robotic-arm/expected.json`.
const CONDITION: f64 = 135_866.179_931_007_27;

fn binary() -> PathBuf {
    let built = Command::new(env!("CARGO"))
        .args(["build", "--release", "-q", "-p", "daelight"])
        .status();
    assert!(
        built.is_ok_and(|status| status.success()),
        "daelight could not be built"
    );
    let this = std::env::current_exe().expect("this program has a path");
    this.with_file_name("daelight")
}

/// Shortest and median wall time of a command, in milliseconds.
fn time_of(binary: &PathBuf, arguments: &[&str]) -> (f64, f64) {
    let mut times: Vec<f64> = (0..N_RUNS)
        .map(|_| {
            let begin = Instant::now();
            let output = Command::new(binary).args(arguments).output();
            let elapsed = begin.elapsed().as_secs_f64() * 1e3;
            assert!(output.is_ok_and(|output| output.status.success()));
            elapsed
        })
        .collect();
    times.sort_by(f64::total_cmp);
    (times[0], times[N_RUNS / 2])
}

/// Checks the arm's condition, then prints process times.
pub fn run() {
    let binary = binary();
    let arm = ["analyze", "robotic-arm", "--at", "0.5", "--json"];
    let output = Command::new(&binary).args(arm).output();
    let text = String::from_utf8(output.expect("daelight runs").stdout).expect("text");
    let found = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("\"condition\": "))
        .and_then(|value| value.trim_end_matches(',').parse::<f64>().ok())
        .expect("a condition");
    assert!(
        (found / CONDITION - 1.0).abs() < 1e-6,
        "the condition is wrong: {found}"
    );
    let mut rows = Vec::new();
    let mut arm_time = f64::NAN;
    for arguments in [
        &["analyze", "robotic-arm"][..],
        &["analyze", "robotic-arm-torques"],
        &["analyze", "andrews"],
        &["analyze", "delta-robot"],
        &["analyze", "pendulum-chain"],
        &["analyze", "pendulum-chain", "--set", "N=1000"],
    ] {
        let (least, median) = time_of(&binary, arguments);
        if arguments == ["analyze", "robotic-arm"] {
            arm_time = least;
        }
        rows.push(vec![
            format!("daelight {}", arguments.join(" ")),
            format!("{least:.1} ms"),
            format!("{median:.1} ms"),
            String::new(),
        ]);
    }
    match Peers::install().derivative_array() {
        Ok((rank, condition, seconds)) => {
            assert_eq!(rank, 40, "the script's rank");
            assert!((condition / CONDITION - 1.0).abs() < 1e-6);
            rows.push(vec![
                "sympy + numpy: rank and condition of the arm's B^[5] only".to_string(),
                format!("{:.1} ms", seconds * 1e3),
                String::new(),
                table::ratio(seconds * 1e3 / arm_time),
            ]);
        }
        Err(why) => eprintln!("PEER MISSING: {why}"),
    }
    table::print(&["process", "shortest", "median", "ratio to ours"], &rows);
}
