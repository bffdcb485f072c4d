//! Parameters from measured runs: section 5 of `docs/theory/sensitivities.md`.

use crate::files::{MOST_TABLE_BYTES, read_at_most, reason};
use crate::sensitivity::{
    Sensitivities, along_events, differentiated, directions, take_values, varied_system,
};
use crate::tolerances::SLIGHT;
use crate::{Setup, SolveOptions, solve_prepared, span_of_run};
use daelight_analysis::System;
use daelight_lang::{Code, Diagnostic, Model, MovedBy, nearest};
use daelight_linalg::{Magnitudes, Mat, RankDecision, Svd, ThresholdRule};
use daelight_show::{Table, count, short};
use std::path::Path;
use std::time::Instant;

/// What `fit` is asked for.
#[derive(Clone, Debug, Default)]
pub struct FitOptions {
    /// Names of the parameters.
    pub parameters: Vec<String>,
    /// Names of the columns that count; all that are unknowns of the model where none is given.
    pub columns: Vec<String>,
    /// The part of all trials whose interval is to hold the truth.
    pub confidence: f64,
    /// The runs.
    pub run: SolveOptions,
}

/// A parameter that was fitted.
#[derive(Clone, Debug)]
pub struct Fitted {
    /// Its name.
    pub name: String,
    /// Its value before.
    pub start: f64,
    /// Its value now.
    pub value: f64,
    /// Its standard error and half of its interval.
    pub error: Result<(f64, f64), NoInterval>,
}

/// Why a fitted parameter has no interval.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoInterval {
    /// The data do not determine it.
    NotDetermined,
    /// The data ask for a value beyond its `min` or `max`.
    AtBound,
    /// The sum of squares has no minimum here.
    NoMinimum,
}

/// How a fit ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FitEnd {
    /// At a minimum, within the bounds of the parameters.
    Settled,
    /// Beside values with which the model does not run to the end of the data, and why it does not.
    Border(String),
    /// The steps are used up, or none made the sum of squares smaller.
    Open,
}

/// A column of the data.
#[derive(Clone, Debug)]
pub struct FittedColumn {
    /// The unknown.
    pub name: String,
    /// How many values it has.
    pub n: usize,
    /// Root of the mean square of what is left.
    pub rms: f64,
    /// The same for the best constant.
    pub spread: f64,
}

/// Parameters from data.
#[derive(Clone, Debug)]
pub struct Fit {
    /// The parameters.
    pub parameters: Vec<Fitted>,
    /// The columns.
    pub columns: Vec<FittedColumn>,
    /// Changes of the parameters that the data do not see, in the order of the parameters, each of length 1 in units of their values.
    pub unseen: Vec<Vec<f64>>,
    /// What decided how many there are.
    pub rank: RankDecision,
    /// Correlations of the errors, where all parameters are determined.
    pub correlations: Vec<Vec<f64>>,
    /// How many steps it took.
    pub n_steps: usize,
    /// How it ended.
    pub end: FitEnd,
    /// The last time of the data and the end of the experiment, where the data go on behind it.
    pub beyond: Option<(f64, f64)>,
}

fn fault(message: String, help: &str) -> Box<Diagnostic> {
    Box::new(Diagnostic::placeless(Code::BadInput, message).help(help))
}

/// A measured unknown: its number and name, times and values.
type Measured = (usize, String, Vec<(f64, f64)>);

/// Measured values.
struct Data {
    columns: Vec<Measured>,
    last: f64,
}

/// What the table and the model have, for someone whose names do not match.
fn both(table: &Table, model: &Model, name: &str) -> String {
    let unknowns = || model.unknowns.iter().map(|unknown| unknown.name.as_str());
    let columns = || table.names.iter().skip(1).map(String::as_str);
    let mut shared = columns().filter(|column| unknowns().any(|unknown| unknown == *column));
    if let Some(near) = nearest(name, shared.by_ref()) {
        return format!("did you mean {near}?");
    }
    let listed =
        |names: &mut dyn Iterator<Item = &str>| names.take(8).collect::<Vec<&str>>().join(", ");
    format!(
        "the table has {}; the unknowns are {}: name a column like an unknown",
        listed(&mut columns()),
        listed(&mut unknowns())
    )
}

impl Data {
    fn read(path: &Path, model: &Model, wanted: &[String]) -> Result<Self, Box<Diagnostic>> {
        let shown = path.display();
        let bytes = read_at_most(path, MOST_TABLE_BYTES).map_err(|error| {
            let message = format!("`{shown}` cannot be read: {}", reason(&error));
            let found = Diagnostic::placeless(Code::UnreadableFile, message);
            found.help("check the path and its permissions")
        })?;
        let ending = path.extension().and_then(|e| e.to_str()).unwrap_or("");
        let table = Table::read(&bytes, &ending.to_lowercase()).map_err(|what| {
            let help = "give a table whose first line names its columns and whose first column is the time";
            fault(format!("`{shown}` holds no data: {what}"), help)
        })?;
        let unknown = |name: &str| model.unknowns.iter().position(|u| u.name == name);
        let names: Vec<&str> = match wanted.is_empty() {
            true => table.names.iter().skip(1).map(String::as_str).collect(),
            false => wanted.iter().map(String::as_str).collect(),
        };
        let mut data = Self {
            columns: Vec::new(),
            last: f64::NEG_INFINITY,
        };
        for name in names {
            let (Some(unknown), Some(values)) = (unknown(name), table.column(name)) else {
                if wanted.is_empty() {
                    continue;
                }
                let message =
                    format!("`{name}` is no column of `{shown}` that the model has as an unknown");
                return Err(fault(message, &both(&table, model, name)));
            };
            let pairs = table.columns[0].iter().copied().zip(values.iter().copied());
            let known = pairs.filter(|(time, value)| time.is_finite() && value.is_finite());
            let known: Vec<(f64, f64)> = known.collect();
            data.last = known
                .iter()
                .fold(data.last, |last, (time, _)| last.max(*time));
            data.columns.push((unknown, name.to_string(), known));
        }
        if data.columns.is_empty() {
            let message = format!("no column of `{shown}` is an unknown of the model");
            return Err(fault(message, &both(&table, model, "")));
        }
        Ok(data)
    }

    fn n(&self) -> usize {
        self.columns.iter().map(|(_, _, values)| values.len()).sum()
    }

    /// Starts with each column counting by how much it varies.
    fn spreads(&self) -> Vec<f64> {
        let spread = |(_, _, values): &(usize, String, Vec<(f64, f64)>)| {
            let n = values.len().max(1) as f64;
            let mean = values.iter().map(|(_, y)| y).sum::<f64>() / n;
            let square = values.iter().map(|(_, y)| (y - mean).powi(2)).sum::<f64>() / n;
            if square > 0.0 { square.sqrt() } else { 1.0 }
        };
        self.columns.iter().map(spread).collect()
    }
}

/// What is left of the data at values of the parameters, and its derivatives, column by column.
struct Look {
    left: Vec<Vec<f64>>,
    slopes: Vec<Vec<Vec<f64>>>,
}

/// The setup of a model, and its derivatives with theirs.
struct Made {
    setup: Setup,
    varied: System,
    varied_setup: Setup,
}

/// A fit at work.
struct Work<'a> {
    model: &'a Model,
    system: System,
    /// What runs and derivatives are made with; none for a model with events, whose modes have their own.
    made: Option<Made>,
    at: Vec<usize>,
    directions: Vec<MovedBy>,
    data: Data,
    options: SolveOptions,
    began: Instant,
}

impl Work<'_> {
    fn values(&self) -> Vec<f64> {
        let all = self.system.parameters().values();
        self.at.iter().map(|&at| all[at]).collect()
    }

    /// Runs the model at values of the parameters.
    fn look(&mut self, values: &[f64]) -> Result<Look, String> {
        let changes: Vec<(usize, f64)> = self
            .at
            .iter()
            .copied()
            .zip(values.iter().copied())
            .collect();
        let set = self.system.set_parameters(&changes);
        set.map_err(|error| error.to_string())?;
        let options = self.options.after(self.began);
        let Some(made) = &mut self.made else {
            return self.look_with_events(&options);
        };
        take_values(&mut made.varied, &self.system);
        let run = solve_prepared(&self.system, &made.setup, &options, &mut |_| {});
        let Ok(base) = run else {
            return Err("there is no consistent start".to_string());
        };
        if !base.broken.is_empty() {
            let (time, broken) = (short(base.reached()), base.broken.join("; "));
            return Err(format!("an assertion fails at t = {time}: {broken}"));
        }
        if base.reached() < self.data.last {
            return Err(format!("the run ends at t = {}", short(base.reached())));
        }
        let with = (self.directions.clone(), &made.varied, &made.varied_setup);
        let found = differentiated(self.model, &self.system, &base, &options, with);
        let found = found.map_err(|diagnostic| diagnostic.message.clone())?;
        let mut reader = base.reader(&self.system);
        self.compare(&found, |time| reader.values(time).ok().flatten())
    }

    /// The same for a model with events.
    fn look_with_events(&self, options: &SolveOptions) -> Result<Look, String> {
        let with = (self.directions.clone(), &self.at[..]);
        let found = along_events(self.model, &self.system, options, with);
        let (run, found) = found.map_err(|diagnostic| diagnostic.message.clone())?;
        if run.reached < self.data.last {
            return Err(format!("the run ends at t = {}", short(run.reached)));
        }
        self.compare(&found, |time| run.look(time).ok().map(|seen| seen.0))
    }

    /// What a run and its derivatives leave of the data.
    fn compare(
        &self,
        found: &Sensitivities,
        mut values_at: impl FnMut(f64) -> Option<Vec<f64>>,
    ) -> Result<Look, String> {
        let mut slopes = found.reader();
        let mut look = Look {
            left: Vec::new(),
            slopes: Vec::new(),
        };
        for (unknown, name, rows) in &self.data.columns {
            let (mut left, mut by) = (Vec::new(), Vec::new());
            for &(time, measured) in rows {
                let values = values_at(time).ok_or(format!("{name} has no value at t = {time}"))?;
                let parts = found.at(&mut slopes, time).ok_or_else(|| {
                    let why = found.ended.clone().unwrap_or_default();
                    format!("the derivatives end at t = {}: {why}", found.until)
                })?;
                left.push(values[*unknown] - measured);
                by.push(parts.iter().map(|part| part[*unknown]).collect());
            }
            look.left.push(left);
            look.slopes.push(by);
        }
        Ok(look)
    }
}

impl Look {
    /// Residuals over the noise of their columns, and the sum of their squares.
    fn residuals(&self, noise: &[f64]) -> (Vec<f64>, f64) {
        let columns = self.left.iter().zip(noise);
        let all: Vec<f64> = columns
            .flat_map(|(left, s)| left.iter().map(move |r| r / s))
            .collect();
        let cost = all.iter().map(|r| r * r).sum();
        (all, cost)
    }

    /// How much of each column the parameters take up: the sum of |u_i|^2 over its rows, J = U S V^T.
    fn taken(&self, noise: &[f64], sizes: &[f64], rtol: f64) -> Vec<f64> {
        let matrix = self.matrix(noise, sizes);
        let mut svd = Svd::new();
        let factored = svd.factor(matrix.view()).is_ok();
        let rank = svd.rank(&ThresholdRule::with_error(svd.norm(), rtol)).rank;
        let (Ok(u), true) = (svd.u(), factored) else {
            return vec![0.0; self.left.len()];
        };
        let mut row = 0;
        let of_column = |left: &Vec<f64>| {
            let rows = row..row + left.len();
            row = rows.end;
            rows.map(|i| (0..rank).map(|k| u.col(k)[i].powi(2)).sum::<f64>())
                .sum()
        };
        self.left.iter().map(of_column).collect()
    }

    /// Their derivatives by the parameters in units of the sizes.
    fn matrix(&self, noise: &[f64], sizes: &[f64]) -> Mat {
        let columns = self.slopes.iter().zip(noise);
        let rows: Vec<(&Vec<f64>, f64)> = columns
            .flat_map(|(rows, s)| rows.iter().map(move |row| (row, *s)))
            .collect();
        Mat::from_fn(rows.len(), sizes.len(), |i, k| {
            rows[i].0[k] * sizes[k] / rows[i].1
        })
    }
}

/// The step of Levenberg and Marquardt, least |J d + r|^2 + damping |d|^2, along what the data see.
fn damped_step(matrix: &Mat, residuals: &[f64], damping: f64, rtol: f64) -> Option<Vec<f64>> {
    let mut svd = Svd::new();
    svd.factor(matrix.view()).ok()?;
    let rank = svd.rank(&ThresholdRule::with_error(svd.norm(), rtol)).rank;
    let (u, v) = (svd.u().ok()?, svd.v().ok()?);
    let mut step = vec![0.0; matrix.ncols()];
    for (k, sigma) in svd.singular_values().iter().enumerate().take(rank) {
        let along: f64 = u.col(k).iter().zip(residuals).map(|(u, r)| u * r).sum();
        let factor = -sigma * along / (sigma * sigma + damping);
        step.iter_mut()
            .zip(v.col(k))
            .for_each(|(d, v)| *d += factor * v);
    }
    step.iter().all(|d| d.is_finite()).then_some(step)
}

/// The positions of the parameters, of which there are fewer than values.
fn positions(
    model: &Model,
    directions: &[MovedBy],
    n_values: usize,
) -> Result<Vec<usize>, Box<Diagnostic>> {
    let parameter = |direction: &MovedBy| match direction {
        MovedBy::Parameter(at) => Ok(*at),
        MovedBy::Start(unknown) => Err(fault(
            format!(
                "`{}` is an unknown, not a parameter",
                model.unknowns[*unknown].name
            ),
            "declare a parameter and write start = parameter",
        )),
    };
    let at = directions
        .iter()
        .map(parameter)
        .collect::<Result<Vec<usize>, _>>()?;
    if at.is_empty() || n_values <= at.len() {
        let message = format!(
            "{} cannot be fitted to {}",
            count(at.len(), "parameter"),
            count(n_values, "value")
        );
        return Err(fault(
            message,
            match at.is_empty() {
                true => "give at least one parameter",
                false => "give more rows of data than parameters",
            },
        ));
    }
    Ok(at)
}

/// Fits parameters of a model to measured runs.
pub fn fit(
    model: &Model,
    system: &System,
    data: &Path,
    options: &FitOptions,
) -> Result<Fit, Box<Diagnostic>> {
    let data = Data::read(data, model, &options.columns)?;
    let directions = directions(model, system, &options.parameters)?;
    let at = positions(model, &directions, data.n())?;
    let made = match model.hybrid {
        Some(_) => None,
        None => {
            let varied = varied_system(model, system, &directions, &at)?;
            Some(Made {
                setup: Setup::new(system),
                varied_setup: Setup::new(&varied),
                varied,
            })
        }
    };
    let (from, _) = span_of_run(system, &options.run);
    let early = data
        .columns
        .iter()
        .flat_map(|(_, _, rows)| rows)
        .find(|(time, _)| *time < from);
    if let Some((time, _)) = early {
        let message = format!("the data begin at t = {time}, the run at t = {from}");
        return Err(fault(message, "begin the run earlier with --from"));
    }
    let run = SolveOptions {
        to: Some(data.last),
        ..options.run.clone()
    };
    let mut work = Work {
        model,
        made,
        system: system.clone(),
        at,
        directions,
        data,
        options: run,
        began: Instant::now(),
    };
    let start = work.values();
    let mut noise = work.data.spreads();
    let first = work.look(&start);
    let mut look = first.map_err(|why| {
        fault(
            format!("no run with the values given: {why}"),
            "give other values with --set",
        )
    })?;
    let (mut n_steps, mut end) = (0, FitEnd::Open);
    // With several columns each counts by its own noise, which is known when the rest is.
    let n_rounds = if work.data.columns.len() > 1 { 4 } else { 1 };
    for _ in 0..n_rounds {
        let (taken, ended) = work.descend(&mut look, &noise);
        (n_steps, end) = (n_steps + taken, ended);
        if n_rounds > 1 {
            noise = work.noises(&look, &noise);
        }
    }
    Ok(work.judge(&look, &noise, &start, options.confidence, (n_steps, end)))
}

impl Work<'_> {
    /// The noise of each column by what is left of it, (8a); one that is met exactly is known as well as the runs are, to ten
    /// tolerances.
    fn noises(&self, look: &Look, before: &[f64]) -> Vec<f64> {
        let rtol = crate::solve::tolerance(&self.system, &self.options);
        let mean = |sum: f64, n: usize| (sum / n.max(1) as f64).sqrt();
        let one = |((left, (_, _, rows)), taken): ((&Vec<f64>, &Measured), f64)| {
            let square: f64 = left.iter().map(|r| r * r).sum();
            // A column that the parameters take up whole says nothing of its noise.
            let rms = (square / (left.len() as f64 - taken).max(1.0)).sqrt();
            let size = mean(rows.iter().map(|(_, y)| y * y).sum(), rows.len());
            rms.max(10.0 * rtol * size).max(f64::MIN_POSITIVE)
        };
        let taken = look.taken(before, &self.sizes(), rtol);
        let columns = look.left.iter().zip(&self.data.columns);
        columns.zip(taken).map(one).collect()
    }

    /// Sizes of the parameters, in which steps are measured.
    fn sizes(&self) -> Vec<f64> {
        let size = |value: f64| if value == 0.0 { 1.0 } else { value.abs() };
        self.values().into_iter().map(size).collect()
    }

    /// Parameters at a bound beyond which the sum of squares goes on falling: they rest there.
    fn resting(&self, look: &Look, noise: &[f64]) -> Vec<bool> {
        let values = self.values();
        let matrix = look.matrix(noise, &self.sizes());
        let (residuals, _) = look.residuals(noise);
        let rests = |k: usize| {
            let (lower, upper) = self.system.parameter_bounds(self.at[k]);
            let rising: f64 = matrix
                .col(k)
                .iter()
                .zip(&residuals)
                .map(|(j, r)| j * r)
                .sum();
            (values[k] <= lower && rising > 0.0) || (values[k] >= upper && rising < 0.0)
        };
        (0..values.len()).map(rests).collect()
    }

    /// Values within the bounds of the parameters.
    fn within_bounds(&self, values: impl Iterator<Item = f64>) -> Vec<f64> {
        let within = |(value, &at): (f64, &usize)| {
            let (lower, upper) = self.system.parameter_bounds(at);
            value.clamp(lower.min(upper), upper)
        };
        values.zip(&self.at).map(within).collect()
    }

    /// What the sum of squares is known to: the runs are known to a few of their tolerances.
    fn noise_of_cost(&self, residuals: &[f64], noise: &[f64], rtol: f64) -> f64 {
        let columns = self.data.columns.iter().zip(noise);
        let sizes =
            columns.flat_map(|((_, _, rows), s)| rows.iter().map(move |(_, y)| y.abs() / s));
        let parts = residuals.iter().zip(sizes).map(|(r, size)| r.abs() * size);
        20.0 * rtol * parts.sum::<f64>()
    }

    /// Goes down to the least sum of squares: the steps taken, and how it ended.
    fn descend(&mut self, look: &mut Look, noise: &[f64]) -> (usize, FitEnd) {
        let (mut values, mut damping) = (self.values(), 0.0_f64);
        let rtol = crate::solve::tolerance(&self.system, &self.options);
        for taken in 0..100 {
            let sizes = self.sizes();
            let (residuals, cost) = look.residuals(noise);
            let (rests, whole) = (self.resting(look, noise), look.matrix(noise, &sizes));
            let entry = |i, k: usize| if rests[k] { 0.0 } else { whole[(i, k)] };
            let matrix = Mat::from_fn(whole.nrows(), whole.ncols(), entry);
            let freedom = (residuals.len() - sizes.len()) as f64;
            let norm = matrix.view().norm_frobenius();
            // A thousandth of the standard error, or what the runs are known to.
            let is_short = |step: &[f64]| {
                let moved = matrix.mul_vec(step);
                let length = moved.iter().map(|v| v * v).sum::<f64>();
                let relative = step.iter().fold(0.0_f64, |most, v| most.max(v.abs()));
                length.sqrt() <= SLIGHT * (cost / freedom).sqrt() || relative <= rtol
            };
            // The whole step says whether this is a minimum; a damped one may be short for other reasons.
            match damped_step(&matrix, &residuals, 0.0, rtol) {
                None => return (taken, FitEnd::Open),
                Some(whole) if is_short(&whole) => {
                    // Along what the data do not see to first order it may be a maximum.
                    match self.beside((&matrix, &rests), &values, (&residuals, noise), rtol) {
                        None => return (taken, FitEnd::Settled),
                        Some(found) => (values, *look) = found,
                    }
                    continue;
                }
                Some(_) => {}
            }
            let mut refused = None;
            loop {
                let Some(step) = damped_step(&matrix, &residuals, damping, rtol) else {
                    return (taken, FitEnd::Open);
                };
                let next = (0..step.len()).map(|k| values[k] + step[k] * sizes[k]);
                let next = self.within_bounds(next);
                if is_short(&step) || next == values {
                    // What was tried last did not become the values.
                    let _ = self.look(&values);
                    let along: f64 = matrix
                        .mul_vec(&step)
                        .iter()
                        .zip(&residuals)
                        .map(|(a, r)| a * r)
                        .sum();
                    let is_noise = -2.0 * along <= self.noise_of_cost(&residuals, noise, rtol);
                    return (
                        taken,
                        match refused {
                            Some(why) => FitEnd::Border(why),
                            None if is_noise => FitEnd::Settled,
                            None => FitEnd::Open,
                        },
                    );
                }
                match self.look(&next) {
                    Ok(found) if found.residuals(noise).1 < cost => {
                        (*look, values) = (found, next);
                        damping /= 16.0;
                        break;
                    }
                    tried => {
                        refused = tried.err();
                        damping = (8.0 * damping).max(SLIGHT * norm * norm / sizes.len() as f64);
                    }
                }
            }
        }
        (100, FitEnd::Open)
    }

    /// Values beside these, along what the data do not see to first order, with a smaller sum of squares.
    fn beside(
        &mut self,
        (matrix, rests): (&Mat, &[bool]),
        values: &[f64],
        (residuals, noise): (&[f64], &[f64]),
        rtol: f64,
    ) -> Option<(Vec<f64>, Look)> {
        let (sizes, cost) = (self.sizes(), residuals.iter().map(|r| r * r).sum::<f64>());
        let mut svd = Svd::new();
        svd.factor(matrix.view()).ok()?;
        let rank = svd.rank(&ThresholdRule::with_error(svd.norm(), rtol)).rank;
        let v = svd.v().ok()?.to_owned();
        let slack = self.noise_of_cost(residuals, noise, rtol);
        // Far enough that a square shows, and not far in units of the parameters.
        let far = rtol.powf(0.25).max(f64::EPSILON.powf(0.125));
        for (k, sign) in (rank..sizes.len()).flat_map(|k| [(k, 1.0), (k, -1.0)]) {
            let along = |i: usize| if rests[i] { 0.0 } else { v[(i, k)] };
            let next = (0..sizes.len()).map(|i| values[i] + sign * far * along(i) * sizes[i]);
            let next = self.within_bounds(next);
            if next == values {
                continue;
            }
            if let Ok(found) = self.look(&next)
                && found.residuals(noise).1 < cost - slack
            {
                return Some((next, found));
            }
        }
        let _ = self.look(values);
        None
    }

    /// How far the data go on behind the experiment of the model.
    fn beyond(&self) -> Option<(f64, f64)> {
        let (last, stop) = (self.data.last, self.model.experiment.stop_time?);
        (last > stop).then_some((last, stop))
    }

    /// What is left of each column.
    fn left_over(&self, look: &Look) -> Vec<FittedColumn> {
        let columns = look.left.iter().zip(&self.data.columns);
        let columns = columns.zip(self.data.spreads());
        let one = |((left, (_, name, _)), spread): ((&Vec<f64>, &Measured), f64)| FittedColumn {
            name: name.clone(),
            n: left.len(),
            rms: (left.iter().map(|r| r * r).sum::<f64>() / left.len().max(1) as f64).sqrt(),
            spread,
        };
        columns.map(one).collect()
    }

    /// The degrees of freedom behind the error of each parameter, (9a): those of the columns that it comes from.
    fn spread(&self, (svd, v): (&Svd, &Mat), seen: usize, freedom: usize) -> impl Fn(usize) -> f64 {
        let mut parts: Vec<(Vec<f64>, f64)> = Vec::new();
        let (u, mut row) = (svd.u().ok(), 0);
        for (_, _, values) in &self.data.columns {
            let rows = row..row + values.len();
            row = rows.end;
            let Some(u) = u.as_ref().filter(|_| self.data.columns.len() > 1) else {
                continue;
            };
            let taken: f64 = (rows.clone())
                .map(|i| (0..seen).map(|k| u.col(k)[i].powi(2)).sum::<f64>())
                .sum();
            let of_parameter = |p: usize| {
                let weight = |i: usize| -> f64 {
                    let terms = 0..seen;
                    terms
                        .map(|k| v[(p, k)] * u.col(k)[i] / svd.singular_values()[k])
                        .sum()
                };
                rows.clone().map(|i| weight(i).powi(2)).sum()
            };
            let of_all = (0..v.nrows()).map(of_parameter).collect();
            parts.push((of_all, (values.len() as f64 - taken).max(1.0)));
        }
        move |p| {
            let whole: f64 = parts.iter().map(|(of, _)| of[p]).sum();
            let apart: f64 = parts.iter().map(|(of, free)| of[p].powi(2) / free).sum();
            let found = whole * whole / apart;
            if found.is_finite() {
                found.min(freedom as f64)
            } else {
                freedom as f64
            }
        }
    }

    /// What the fit is worth.
    fn judge(
        &self,
        look: &Look,
        noise: &[f64],
        start: &[f64],
        confidence: f64,
        (n_steps, end): (usize, FitEnd),
    ) -> Fit {
        let (sizes, values) = (self.sizes(), self.values());
        let rests = self.resting(look, noise);
        // Parameters that rest at a bound are no longer free.
        let free: Vec<usize> = (0..sizes.len()).filter(|&k| !rests[k]).collect();
        let whole = look.matrix(noise, &sizes);
        let matrix = Mat::from_fn(whole.nrows(), free.len(), |i, k| whole[(i, free[k])]);
        let (residuals, cost) = look.residuals(noise);
        let mut svd = Svd::new();
        let factored = svd.factor(matrix.view()).is_ok();
        let rtol = crate::solve::tolerance(&self.system, &self.options);
        let rule = ThresholdRule::with_error(svd.norm(), rtol);
        let rank = match factored {
            true => svd.rank(&rule),
            false => RankDecision::not_finite(Magnitudes::Singular),
        };
        let v = svd.v().map(|v| v.to_owned());
        let v = v.unwrap_or_else(|_| Mat::identity(free.len()));
        let seen = rank.decided().unwrap_or(0);
        let place = |i: usize| free.iter().position(|&k| k == i);
        let component = |i: usize, j: usize| place(i).map_or(0.0, |i| v[(i, j)]);
        let direction = |j: usize| (0..sizes.len()).map(|i| component(i, j)).collect();
        let unseen: Vec<Vec<f64>> = (seen..free.len()).map(direction).collect();
        let freedom = residuals.len() - seen;
        let variance = cost / freedom as f64;
        let of = |i: usize, j: usize| -> f64 {
            let part = |m: usize| v[(i, m)] * v[(j, m)] / svd.singular_values()[m].powi(2);
            variance * (0..seen).map(part).sum::<f64>()
        };
        let spread = self.spread((&svd, &v), seen, freedom);
        let quantile = |i: usize| student_quantile(0.5 + 0.5 * confidence, spread(i));
        // A parameter is determined where no change that the data do not see moves it by more than its own error of rounding.
        let is_seen = |i: usize| {
            unseen
                .iter()
                .all(|change| change[i].abs() <= f64::EPSILON.sqrt())
        };
        let error = |i: usize| match place(i) {
            None => Err(NoInterval::AtBound),
            Some(_) if end != FitEnd::Settled => Err(NoInterval::NoMinimum),
            Some(_) if !is_seen(i) => Err(NoInterval::NotDetermined),
            Some(at) => {
                let error = of(at, at).sqrt() * sizes[i];
                Ok((error, quantile(at) * error))
            }
        };
        let fitted = |i: usize| Fitted {
            name: self.model.parameters[self.at[i]].name.clone(),
            start: start[i],
            value: values[i],
            error: error(i),
        };
        let correlation = |i: usize, j: usize| of(i, j) / (of(i, i) * of(j, j)).sqrt();
        let correlations = match unseen.is_empty() && free.len() == sizes.len() {
            true => (0..sizes.len())
                .map(|i| (0..sizes.len()).map(|j| correlation(i, j)).collect())
                .collect(),
            false => Vec::new(),
        };
        Fit {
            parameters: (0..sizes.len()).map(fitted).collect(),
            columns: self.left_over(look),
            unseen,
            rank,
            correlations,
            n_steps,
            end,
            beyond: self.beyond(),
        }
    }
}

/// The quantile of Student's distribution: with t = sqrt(n) tan(a) its probability is the integral of cos(a)^(n-1), section 5.
fn student_quantile(probability: f64, freedom: f64) -> f64 {
    let density = |a: f64| a.cos().max(0.0).powf(freedom - 1.0);
    // Simpson's rule over the part that counts; the density is e^(-n a^2/2) and less.
    let widest = std::f64::consts::FRAC_PI_2.min(12.0 / freedom.sqrt());
    let integral = |to: f64| {
        let n = 2000;
        let h = to / f64::from(n);
        let inner: f64 = (1..n)
            .map(|k| density(f64::from(k) * h) * if k % 2 == 0 { 2.0 } else { 4.0 })
            .sum();
        h / 3.0 * (density(0.0) + inner + density(to))
    };
    let wanted = (2.0 * probability - 1.0) * integral(widest);
    let (mut low, mut high) = (0.0, widest);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        match integral(middle) < wanted {
            true => low = middle,
            false => high = middle,
        }
    }
    freedom.sqrt() * (0.5 * (low + high)).tan()
}

#[cfg(test)]
mod tests {
    use super::student_quantile;

    #[test]
    fn quantiles_of_student_are_those_of_tables() {
        for (freedom, truth) in [
            (1.0, 12.7062047),
            (2.0, 4.3026527),
            (5.0, 2.5705818),
            (30.0, 2.0422725),
            (1e6, 1.9599664),
        ] {
            let found = student_quantile(0.975, freedom);
            let off = (found - truth).abs() / truth;
            assert!(off < 2e-6, "{freedom}: {found} for {truth}");
        }
    }
}
