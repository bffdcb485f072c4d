//! The record of a run with constant steps.

use crate::{ConstantSteps, FixedSolution};
use daelight_integrate::fixed::StopReason;
use daelight_show::record::{DiscretisationRecord, SolveRecord, StatisticsRecord, named_values};

/// How a run with constant steps went.
pub fn constant_steps(solution: &FixedSolution, form: &str, wanted: &ConstantSteps) -> SolveRecord {
    let run = &solution.run;
    let at = run.points.times().len() - 1;
    let (reached, last) = (run.points.times()[at], run.points.point(at));
    let names = solution.system.unknowns().iter().map(|u| u.name.as_str());
    let s = &run.statistics;
    let conditioning = run.conditioning;
    let singular = conditioning
        .map(|c| c.plain)
        .filter(|c| c.is_nan() || *c >= f64::EPSILON.recip());
    let is_solved = run.reason.is_success() && last.iter().all(|value| value.is_finite());
    let status = match (is_solved, singular) {
        (true, _) if solution.has_drifted() => "drifted",
        (true, None) => "success",
        _ => "failure",
    };
    let mut message = ending(solution, form, wanted, reached);
    match status {
        "drifted" => message.push_str(", which do not keep all constraints of the model"),
        "failure" if is_solved => message.push_str(", whose equations do not determine the values"),
        _ => {}
    }
    let mut warnings = solution.warnings.clone();
    if run.n_stagnant > 0 {
        warnings.push(format!(
            "In {} steps rounding ended the iterations above their tolerance: the equations are badly conditioned.",
            run.n_stagnant
        ));
    }
    if let Some(condition) = singular {
        warnings.push(format!(
            "The discretised equations are singular to working precision (condition {condition:.1e}): they do not determine the \
             values, which cannot be relied on. Another form, or a longer step, may serve."
        ));
    }
    SolveRecord {
        status,
        reason: match &run.reason {
            StopReason::Finished if status == "failure" => "unsolved",
            StopReason::Finished if status == "drifted" => "residual",
            StopReason::Finished => "finished",
            StopReason::Observer => "budget",
            StopReason::Fault { .. } => "fault",
            _ => "unsolved",
        },
        message,
        method: "bdf-fixed".to_string(),
        time: reached,
        last: named_values(names.zip(last.iter().copied())),
        statistics: StatisticsRecord {
            steps: s.steps,
            implicit_steps: s.steps,
            rejected: 0,
            residuals: s.residuals,
            jacobians: s.jacobians,
            factorizations: s.factorizations,
            jets: 0,
        },
        max_constraint_residual: solution.residuals.iter().copied().fold(0.0, f64::max),
        residuals: solution.residuals.clone(),
        discretisation: Some(DiscretisationRecord {
            form: form.to_string(),
            order: wanted.order,
            step: wanted.step,
            scale: wanted.scale.unwrap_or(0.0),
            n_unknowns: solution.n_discretised,
            n_algebraic: solution.n_algebraic,
            condition: conditioning.map(|c| c.plain),
            condition_scaled: conditioning.map(|c| c.scaled),
        }),
        warnings,
        ..SolveRecord::default()
    }
}

/// How the run ended, in a sentence.
fn ending(solution: &FixedSolution, form: &str, wanted: &ConstantSteps, reached: f64) -> String {
    let (run, (from, to)) = (&solution.run, solution.interval);
    match &run.reason {
        StopReason::Finished => format!(
            "{} constant steps of {} from t = {from} to {to}",
            run.statistics.steps, wanted.step
        ),
        StopReason::Observer => {
            format!("the run ended at t = {reached}: the time is used up; allow more with --budget")
        }
        StopReason::SingularMatrix { t } => format!(
            "the discretised equations of the form {form} are singular in the step from t = {t}"
        ),
        StopReason::NewtonFailed { t, .. } => format!(
            "the discretised equations of the form {form} were not solved in the step from t = {t}"
        ),
        other => format!("the run ended at t = {reached}: {other}"),
    }
}
