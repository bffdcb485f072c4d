//! The record of a fit.

use crate::fit::{Fit, FitEnd, Fitted, FittedColumn, NoInterval};
use daelight_linalg::Verdict;
use daelight_show::record::{FitRecord, FittedColumnRecord, FittedRecord};
use daelight_show::short;

/// Parts of a combination below this are not told: they are what runs are known to.
fn is_told(part: &f64) -> bool {
    part.abs() > f64::EPSILON.sqrt()
}

/// A change that the data do not see, in words.
fn change(fit: &Fit, unseen: &[f64]) -> String {
    let largest = unseen
        .iter()
        .fold(0.0_f64, |most, part| most.max(part.abs()));
    let parts = fit
        .parameters
        .iter()
        .zip(unseen)
        .filter(|(_, part)| is_told(part));
    let parts = parts.map(|(fitted, part)| {
        let share = part / largest * 100.0;
        let sign = if share < 0.0 { "" } else { "+" };
        format!(
            "{} {sign}{} %",
            fitted.name,
            short((share * 1e4).round() / 1e4)
        )
    });
    let parts: Vec<String> = parts.collect();
    parts.join(" together with ")
}

/// A fit as a record.
pub fn fit(found: &Fit, confidence: f64) -> FitRecord {
    let mut warnings = Vec::new();
    if let Some((last, stop)) = found.beyond {
        let (last, stop) = (short(last), short(stop));
        warnings.push(format!("The data go on to t = {last}, the experiment of the model to {stop}: look whether their times have the same unit."));
    }
    for column in found
        .columns
        .iter()
        .filter(|column| column.n > 1 && column.rms >= column.spread)
    {
        let (name, left, spread) = (&column.name, short(column.rms), short(column.spread));
        warnings.push(format!("What is left of {name} ({left}) is no less than the data vary ({spread}): a constant would fit as well. Look at the units of times and values, and begin with other values (--set)."));
    }
    if found.rank.verdict == Verdict::Unknown {
        warnings.push(format!(
            "How many combinations of these parameters the data determine is not clear ({}): no interval is told. Fit fewer parameters, or run with a smaller --rtol.",
            found.rank
        ));
    } else {
        warnings.extend(found.unseen.iter().map(|unseen| {
            format!("The data do not determine these parameters: a small change of {} leaves every value as it is.", change(found, unseen))
        }));
    }
    let at_bound = |fitted: &&Fitted| fitted.error == Err(NoInterval::AtBound);
    warnings.extend(found.parameters.iter().filter(at_bound).map(|fitted| {
        format!(
            "{} rests at its bound {}: the data ask for a value beyond it.",
            fitted.name,
            short(fitted.value)
        )
    }));
    match &found.end {
        FitEnd::Settled => {}
        FitEnd::Border(why) => warnings.push(format!("The values are not those of a minimum: the data ask for values with which the model does not run to the end of the data ({why}). Begin with other values (--set), or let the model run with those that the data ask for.")),
        FitEnd::Open => warnings.push("The sum of squares was still falling, or no step made it smaller: the values are not those of a minimum. Begin with other values (--set).".to_string()),
    }
    let parameter = |fitted: &Fitted| FittedRecord {
        name: fitted.name.clone(),
        start: fitted.start,
        value: fitted.value,
        error: fitted.error.ok().map(|(error, _)| error),
        interval: (fitted.error.ok()).map(|(_, half)| [fitted.value - half, fitted.value + half]),
        no_interval: fitted.error.err().map(|why| {
            let word = match why {
                NoInterval::NotDetermined => "not determined",
                NoInterval::AtBound => "at its bound",
                NoInterval::NoMinimum => "no minimum",
            };
            word.to_string()
        }),
    };
    let column = |column: &FittedColumn| FittedColumnRecord {
        name: column.name.clone(),
        n: column.n,
        rms: column.rms,
    };
    FitRecord {
        settled: found.end == FitEnd::Settled,
        steps: found.n_steps,
        confidence,
        parameters: found.parameters.iter().map(parameter).collect(),
        columns: found.columns.iter().map(column).collect(),
        unseen: found.unseen.clone(),
        rank: found.rank.to_string(),
        correlations: found.correlations.clone(),
        warnings,
    }
}
