//! Many runs of one model: whole sweeps, start and rows included, on one thread and on two; heyoka in batch mode beside them.

use crate::peers::Peers;
use crate::table::time;
use daelight::SolveOptions;
use daelight::sweep::{Axis, Measure, Settings, Sweep, SweepPoints, SweepRow};
use std::time::Instant;

/// A model, what is varied and how often, and what is measured.
struct Case {
    model: &'static str,
    axis: &'static str,
    measure: &'static str,
}

const CASES: [Case; 3] = [
    Case {
        model: "pendulum",
        axis: "L=1:2:4000",
        measure: "final:x",
    },
    Case {
        model: "andrews",
        axis: "mom=0.033:0.036:400",
        measure: "final:q[1]",
    },
    Case {
        model: "robotic-arm-general",
        axis: "l2=0.6:1.1:400",
        measure: "first-singular-time",
    },
];

const TOLERANCES: [f64; 2] = [1e-6, 1e-9];

impl Case {
    fn sweep(&self, rtol: f64, n_threads: usize) -> Result<Sweep, String> {
        let points = SweepPoints::grid(&[Axis::read(self.axis)?])?;
        let text = daelight::find_text(self.model).map_err(|diagnostic| diagnostic.message)?;
        let settings = Settings {
            solve: SolveOptions {
                rtol: Some(rtol),
                ..SolveOptions::default()
            },
            n_threads: Some(n_threads),
            ..Settings::default()
        };
        let measures = vec![Measure::read(self.measure)?];
        Sweep::new(text, &Default::default(), points, measures, settings)
            .map_err(|refusal| refusal.to_string())
    }
}

fn value(row: &SweepRow) -> f64 {
    row.measured[0].number().unwrap_or(f64::NAN)
}

/// The shortest of three sweeps in nanoseconds, preparation included, and the rows.
fn timed(case: &Case, rtol: f64, n_threads: usize) -> Result<(Vec<SweepRow>, f64), String> {
    let mut shortest = f64::INFINITY;
    let mut rows = Vec::new();
    for _ in 0..3 {
        let begin = Instant::now();
        rows = case.sweep(rtol, n_threads)?.all_rows();
        shortest = shortest.min(begin.elapsed().as_nanos() as f64);
    }
    Ok((rows, shortest))
}

fn report(case: &Case) -> Result<(), String> {
    println!("## {}, {}, {}", case.model, case.axis, case.measure);
    let fine = case.sweep(1e-12, 2)?.all_rows();
    for rtol in TOLERANCES {
        let (rows, one) = timed(case, rtol, 1)?;
        let (again, two) = timed(case, rtol, 2)?;
        let n = rows.len() as f64;
        let errors = rows.iter().zip(&fine);
        let error = errors.map(|(row, fine)| (value(row) - value(fine)).abs());
        let error = error.fold(0.0, f64::max);
        let same = if rows == again { "the same" } else { "OTHER" };
        println!(
            "rtol {rtol:.0e}: error at most {error:.1e}; {} a point on one thread, {} on two ({same} rows)",
            time(one / n),
            time(two / n)
        );
    }
    Ok(())
}

/// Measures all cases.
pub fn run() {
    for case in &CASES {
        if let Err(why) = report(case) {
            println!("{}: {why}", case.model);
        }
    }
    let peers = Peers::environment();
    match peers.solver("ensemble_heyoka.py", &["heyoka", "numpy"], &[]) {
        Ok(documents) => {
            println!("## heyoka, 8 lanes on one core, processor time");
            for document in documents {
                let number = |name: &str| document[name].as_f64().unwrap_or(f64::NAN);
                println!(
                    "{} at tolerance {}: {} a run, after {:.2} s of compiling; at the end of the first and the last: {}",
                    document["problem"],
                    document["tolerance"],
                    time(number("solve") * 1e9 / number("runs")),
                    number("setup"),
                    document["values"]
                );
            }
        }
        Err(why) => println!("PEER MISSING: heyoka: {why}"),
    }
}
