//! Inputs given by data: a column of a table becomes a spline that is smooth enough for the model.

use crate::analyze::system_error;
use crate::files::{MOST_TABLE_BYTES, read_at_most, reason};
use daelight_analysis::{System, signal_orders};
use daelight_expr::Signal;
use daelight_lang::{Code, Diagnostic, Model, nearest};
use daelight_linalg::spline::{MAX_DEGREE, SplineSamples};
use daelight_show::Table;
use std::fmt::Display;
use std::path::Path;
use std::sync::Arc;

/// A derivative is rough when this part of it changes with half of the samples, (13) of docs/theory/integration.md.
const ROUGH: f64 = 0.1;

/// Derivatives that a spline has at least, for models whose structure does not tell how many they need.
const UNKNOWN_ORDER: usize = 4;

/// Samples of an input.
#[derive(Clone, PartialEq, Debug)]
pub struct InputColumn {
    /// The input that they are for.
    pub input: String,
    /// The name of the column.
    pub name: String,
    /// Where it comes from, for messages.
    pub source: String,
    /// Increasing times.
    pub times: Vec<f64>,
    /// The values at these times.
    pub values: Vec<f64>,
}

/// A model whose inputs are given by data.
pub struct Driven {
    /// The equations.
    pub system: System,
    /// What to know about the data.
    pub warnings: Vec<String>,
}

fn fault(source: &str, input: &str, what: impl Display, help: &str) -> Box<Diagnostic> {
    let message = format!("`{source}` cannot drive `{input}`: {what}");
    Box::new(Diagnostic::placeless(Code::BadInput, message).help(help))
}

impl InputColumn {
    /// Reads the column that `NAME=FILE` or `NAME=FILE:COLUMN` asks for, for an input of the model.
    pub fn read(model: &Model, text: &str) -> Result<Self, Box<Diagnostic>> {
        Self::read_for(text, |input| position(model, input).map(|_| ()))
    }

    /// The same for something else that knows its inputs by name.
    pub fn read_for(
        text: &str,
        is_input: impl FnOnce(&str) -> Result<(), Box<Diagnostic>>,
    ) -> Result<Self, Box<Diagnostic>> {
        let (input, place) = text.split_once('=').ok_or_else(|| {
            Diagnostic::placeless(Code::BadInput, format!("`{text}` holds no `=`"))
                .help("write --input name=run.csv, or --input name=run.csv:column")
        })?;
        let input = input.trim();
        is_input(input)?;
        // A path may hold a colon too.
        let (path, name) = match place.rsplit_once(':') {
            Some((path, column)) if !column.is_empty() && !Path::new(place).exists() => {
                (path, column)
            }
            _ => (place, input),
        };
        let table = read_table(path, input)?;
        let Some(values) = table.column(name) else {
            let names = || table.names.iter().skip(1).map(String::as_str);
            let help = match nearest(name, names()) {
                Some(near) => format!("did you mean {input}={path}:{near}?"),
                None => {
                    let mut listed: Vec<&str> = names().take(8).collect();
                    if table.names.len() > 9 {
                        listed.push("…");
                    }
                    match listed[..] {
                        [one] => format!("write --input {input}={path}:{one}"),
                        _ => format!("name one of its columns: {}", listed.join(", ")),
                    }
                }
            };
            let what = format!("it has no column `{name}`");
            return Err(fault(path, input, what, &help));
        };
        Ok(Self {
            input: input.to_string(),
            name: name.to_string(),
            source: path.to_string(),
            values: values.to_vec(),
            times: table.columns[0].clone(),
        })
    }

    fn fault(&self, what: impl Display, help: &str) -> Box<Diagnostic> {
        fault(&self.source, &self.input, what, help)
    }

    /// The spline through the column, with at least `order` continuous derivatives, and what to know about it.
    fn signal(&self, order: usize) -> Result<(Signal, Option<String>), Box<Diagnostic>> {
        if let Some(jump) = self.first_jump() {
            if order > 0 {
                return Err(self.fault(
                    format!("it jumps at t = {jump}, and the model takes its derivative of order {order}"),
                    "give the jump a width: two times a little apart",
                ));
            }
            return Ok((self.straight_lines(), None));
        }
        let samples = SplineSamples::new(&self.times, &self.values)
            .map_err(|error| self.fault(error, "give increasing times and finite values"))?;
        if order + 1 > MAX_DEGREE {
            let most = MAX_DEGREE - 1;
            return Err(self.fault(
                format!("the model differentiates it {order} times, and splines are made for {most} at most"),
                "give the input as an expression in the model",
            ));
        }
        let spline = samples
            .best_spline(order + 1)
            .map_err(|error| self.fault(error, "write more and evenly spaced samples"))?;
        let column = format!("The column `{}` of {}", self.name, self.source);
        let derivative = match order {
            // Straight lines between samples are what a table means.
            0 if spline.degree == 1 => {
                let signal = Signal::new(spline.knots, spline.degree, spline.coefficients);
                return Ok((signal, None));
            }
            0 => "value, which the model needs,".to_string(),
            order => format!("derivative of order {order}, which the model needs,"),
        };
        let warning = match samples.roughness(&spline, order) {
            None => Some(format!(
                "{column} has too few samples to tell how far its {derivative} can be relied on."
            )),
            Some(found) if found.relative() > ROUGH => Some(format!(
                "{column} is too rough: its {derivative} changes by {:.0} % when every second sample is left out; errors \
                 of the samples enter it with a factor of {:.1e}.",
                100.0 * found.relative(),
                found.amplification()
            )),
            Some(_) => None,
        };
        let signal = Signal::new(spline.knots, spline.degree, spline.coefficients);
        Ok((signal, warning))
    }
}

/// Tables with jumps: a time that stands twice has a value before and one behind.
impl InputColumn {
    /// Values by straight lines at the ends of each of these steps, the first behind a jump there and the second before one; the times
    /// at which the column jumps are looked up in [`InputColumn::jumps`].
    pub fn along(&self, times: &[f64]) -> Result<Vec<(f64, f64)>, Box<Diagnostic>> {
        let is_right = |(time, value): (&f64, &f64)| time.is_finite() && value.is_finite();
        let grows = self.times.windows(2).all(|two| two[0] <= two[1]);
        if !grows || !self.times.iter().zip(&self.values).all(is_right) {
            let help = "give increasing times and finite values";
            return Err(self.fault("its times do not grow, or a value is missing", help));
        }
        let (first, last) = (self.times.first(), self.times.last());
        let (Some(&first), Some(&last)) = (first, last) else {
            return Err(self.fault("it is empty", "give at least one time"));
        };
        let outside = times.iter().find(|time| !(first..=last).contains(*time));
        if let Some(time) = outside {
            let what = format!("it goes from t = {first} to {last}, and the run needs t = {time}");
            let help = "give samples for the whole run, or end the run with --to";
            return Err(self.fault(what, help));
        }
        let at = |time: f64, behind: usize| {
            let before = behind - 1;
            let (from, to) = (self.times[before], self.times[behind]);
            let share = if to > from {
                (time - from) / (to - from)
            } else {
                0.0
            };
            self.values[before] + share * (self.values[behind] - self.values[before])
        };
        let most = self.times.len() - 1;
        let value = |time: f64, is_behind: bool| match most {
            0 => self.values[0],
            _ => {
                let passed = |t: &f64| if is_behind { *t <= time } else { *t < time };
                at(time, self.times.partition_point(passed).clamp(1, most))
            }
        };
        let ends = times
            .iter()
            .map(|&time| (value(time, true), value(time, false)));
        Ok(ends.collect())
    }

    /// The times at which the column jumps.
    pub fn jumps(&self) -> impl Iterator<Item = f64> {
        let pairs = self.times.windows(2).filter(|two| two[0] == two[1]);
        pairs.map(|two| two[0])
    }

    /// The first time that stands twice, in a column that is right otherwise.
    fn first_jump(&self) -> Option<f64> {
        let is_right = |(time, value): (&f64, &f64)| time.is_finite() && value.is_finite();
        if !self.times.iter().zip(&self.values).all(is_right) {
            return None;
        }
        let mut pairs = self.times.windows(2);
        // Three of one time have no order, and falling times are a mistake.
        let is_mistake = |three: &[f64]| three[0] >= three[2] || three[1] > three[2];
        if self.times.windows(3).any(is_mistake) || self.times.first() == self.times.last() {
            return None;
        }
        pairs.find(|two| two[0] == two[1]).map(|two| two[0])
    }

    /// Straight lines between the samples.
    fn straight_lines(&self) -> Signal {
        let mut knots = Vec::new();
        let mut coefficients = Vec::new();
        let samples: Vec<(f64, f64)> = self
            .times
            .iter()
            .copied()
            .zip(self.values.iter().copied())
            .collect();
        for two in samples.windows(2) {
            let [(from, before), (to, behind)] = [two[0], two[1]];
            if to > from {
                knots.push(from);
                coefficients.extend([0.5 * (before + behind), (behind - before) / (to - from)]);
            }
        }
        knots.extend(self.times.last());
        Signal::new(knots, 1, coefficients)
    }
}

fn read_table(path: &str, input: &str) -> Result<Table, Box<Diagnostic>> {
    let unreadable = |error: std::io::Error| {
        let message = format!("`{path}` cannot be read: {}", reason(&error));
        let found = Diagnostic::placeless(Code::UnreadableFile, message);
        match path.parse::<f64>() {
            Ok(value) => found.help(format!(
                "--input takes a table; for a constant write `input Real {input} = {value};`"
            )),
            Err(_) if path.contains('(') => found.help(format!(
                "--input takes a table; for a formula write `input Real {input} = {path};`"
            )),
            Err(_) => found.help("check the path and its permissions"),
        }
    };
    let bytes = read_at_most(Path::new(path), MOST_TABLE_BYTES).map_err(unreadable)?;
    let format = Path::new(path).extension().and_then(|e| e.to_str());
    Table::read(&bytes, &format.unwrap_or("").to_lowercase()).map_err(|what| {
        let help =
            "give a table whose first line names its columns and whose first column is the time";
        fault(path, input, what, help)
    })
}

/// The position of an input in the model.
fn position(model: &Model, name: &str) -> Result<usize, Box<Diagnostic>> {
    let names = || model.inputs.iter().map(|input| input.name.as_str());
    names().position(|other| other == name).ok_or_else(|| {
        let help = match nearest(name, names()) {
            Some(near) => format!("did you mean {near}?"),
            None if model.inputs.is_empty() => {
                format!("declare it in the model, `input Real {name}`")
            }
            None => format!("its inputs are {}", names().collect::<Vec<_>>().join(", ")),
        };
        let message = format!("the model has no input `{name}`");
        Box::new(Diagnostic::placeless(Code::UnknownInput, message).help(help))
    })
}

/// The equations of a model with some inputs given by data.
///
/// The spline through a column has as many continuous derivatives as the model takes of the input.
pub fn drive(model: &Model, columns: &[InputColumn]) -> Result<Driven, Box<Diagnostic>> {
    let mut positions = Vec::new();
    for column in columns {
        let position = position(model, &column.input)?;
        if positions.contains(&position) {
            let message = format!("`{}` is given twice", column.input);
            return Err(Diagnostic::placeless(Code::BadInput, message)
                .help("give each input once")
                .into());
        }
        positions.push(position);
    }
    let system = |signals: Vec<Signal>| {
        let signals = signals.into_iter().map(Arc::new);
        let signals = positions.iter().copied().zip(signals).collect();
        System::driven(model, signals).map_err(system_error)
    };
    let mut warnings: Vec<String> = crate::unit_remark(model).into_iter().collect();
    if columns.is_empty() {
        return Ok(Driven {
            system: system(Vec::new())?,
            warnings,
        });
    }
    let orders = times_differentiated(model, &positions)?;
    let mut signals = Vec::new();
    for (column, order) in columns.iter().zip(orders) {
        let (signal, warning) = column.signal(order)?;
        signals.push(signal);
        warnings.extend(warning);
    }
    Ok(Driven {
        system: system(signals)?,
        warnings,
    })
}

/// How often a model differentiates inputs.
pub fn times_differentiated(
    model: &Model,
    inputs: &[usize],
) -> Result<Vec<usize>, Box<Diagnostic>> {
    // The structure does not depend on the data: zeros tell it.
    let zero = Arc::new(Signal::new(vec![0.0, 1.0], 0, vec![0.0]));
    let signals = inputs.iter().map(|&input| (input, Arc::clone(&zero)));
    let probe = System::driven(model, signals.collect()).map_err(system_error)?;
    Ok(match probe.structure() {
        Ok(structure) => signal_orders(probe.equations(), structure),
        Err(_) => vec![UNKNOWN_ORDER; inputs.len()],
    })
}
