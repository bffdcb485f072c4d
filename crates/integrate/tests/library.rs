//! Every model of the library at several tolerances: right, or told.

use crate::common::{Case, difference, end, library_names};
use daelight_integrate::{Run, StopReason, taylor};

/// A run from the start values of the model, or why there is none.
fn attempt(case: &Case, rtol: f64) -> Result<Run, String> {
    let experiment = case.system.experiment();
    let from = experiment.start_time.unwrap_or(0.0);
    let to = experiment.stop_time.unwrap_or(from + 1.0);
    let mut options = case.options(to, rtol);
    options.max_steps = 3000;
    options.deadline = Some(std::time::Instant::now() + std::time::Duration::from_secs(2));
    taylor::solve(&case.problem, &case.start(from), &options).map_err(|error| error.to_string())
}

/// The greatest difference of two runs at the end of the shorter one, relative to the size of the unknowns.
fn difference_at_end(case: &Case, coarse: &Run, fine: &Run) -> f64 {
    difference(case, coarse, fine, end(coarse).min(end(fine)))
}

#[test]
fn a_model_is_solved_to_its_tolerance_or_it_is_told_why_not() {
    let mut table = String::new();
    let mut wrong: Vec<String> = Vec::new();
    for name in &library_names() {
        let case = match Case::try_library(name) {
            Ok(case) => case,
            Err(error) => {
                table += &format!("{name}: refused, {error}\n");
                continue;
            }
        };
        let fine = attempt(&case, 1e-12);
        // How much larger than the tolerance errors become by the model's own doing, by growth, by stiffnesses that turn errors
        // of positions into forces, or by rounding: 1 for a tame one.
        let growth = [1e-11, 1e-7].map(|rtol| match (&attempt(&case, rtol), &fine) {
            (Ok(run), Ok(fine)) => difference_at_end(&case, run, fine) / (100.0 * rtol),
            _ => 1.0,
        });
        let growth = growth.into_iter().fold(1.0, f64::max);
        assert!(growth < 1e3, "{name}: errors grow by {growth:.1e}");
        for rtol in [1e-3, 1e-6, 1e-9] {
            let told = match (&attempt(&case, rtol), &fine) {
                (Ok(run), Ok(fine)) => {
                    let error = difference_at_end(&case, run, fine);
                    if run.stop == StopReason::Finished && fine.stop == StopReason::Finished {
                        assert!(run.residual() < 1e-10, "{name} at {rtol:e}");
                        if error > 100.0 * rtol * growth {
                            wrong.push(format!("{name} at {rtol:e}: error {error:.1e}"));
                        }
                    }
                    format!(
                        "{:?}, {} steps, error {error:.1e}",
                        run.stop, run.statistics.steps
                    )
                }
                (Ok(_), Err(error)) | (Err(error), _) => error.clone(),
            };
            table += &format!("{name} {rtol:e}: {told}\n");
        }
    }
    println!("{table}");
    assert!(wrong.is_empty(), "{wrong:#?}");
    let finished = table.matches("Finished").count();
    assert!(finished >= 30, "{finished} runs finished\n{table}");
}

/// A front goes through a long cascade: most unknowns rest at any time, and their pieces are thinned where memory is short.
#[test]
fn a_long_run_is_thinned_and_says_the_same() {
    let text = "model Cascade parameter Integer n = 60; Real x[n](each start = 0, each fixed = true); equation \
                der(x[1]) = 1 - x[1]; for i in 2:n loop der(x[i]) = x[i - 1] - x[i]; end for; end Cascade;";
    let case = Case::text(text);
    let mut options = case.options(150.0, 1e-8);
    let whole = case.run_with(0.0, &options);
    let n_stored = |run: &Run| -> usize {
        let pieces = 0..run.trajectory.segments().len();
        pieces.map(|k| run.trajectory.series(k).len()).sum()
    };
    options.max_stored = n_stored(&whole) * 7 / 10;
    let thinned = case.run_with(0.0, &options);
    assert_eq!(thinned.stop, StopReason::Finished);
    assert_eq!(whole.trajectory.segments(), thinned.trajectory.segments());
    for k in 0..=600 {
        let time = 0.25 * f64::from(k);
        for unknown in 0..60 {
            for derivative in 0..2 {
                let at = |run: &Run| run.trajectory.evaluate(time, unknown, derivative);
                let (a, b) = (at(&whole).expect("a value"), at(&thinned).expect("a value"));
                assert!(
                    (a - b).abs() <= 1e-10 * (1.0 + a.abs()),
                    "{time} {unknown}: {a} {b}"
                );
            }
        }
    }
}
