//! Inputs from files: a column of a table becomes a spline that is smooth enough for the model.

use crate::analyze::system_error;
use daelight_analysis::structure::Structure;
use daelight_analysis::{System, signal_orders};
use daelight_expr::Signal;
use daelight_lang::{Code, Diagnostic, Model, nearest};
use daelight_linalg::spline::{MAX_DEGREE, Samples};
use daelight_report::Table;
use std::path::Path;
use std::sync::Arc;

/// Longest file that is read, in bytes.
const MAX_BYTES: u64 = 1 << 30;

/// A derivative is rough when this part of it changes with half of the samples.
const ROUGH: f64 = 0.1;

/// Derivatives that a spline has at least, for models whose structure does not tell how many they need.
const UNKNOWN_ORDER: usize = 4;

/// A model whose inputs are given by files.
pub struct Driven {
    /// The equations.
    pub system: System,
    /// What to know about the data.
    pub warnings: Vec<String>,
}

/// One `--input NAME=FILE[:COLUMN]`.
struct Request<'a> {
    input: usize,
    name: &'a str,
    path: &'a str,
    column: &'a str,
}

impl<'a> Request<'a> {
    fn new(model: &Model, text: &'a str) -> Result<Self, Box<Diagnostic>> {
        let (name, place) = text.split_once('=').ok_or_else(|| {
            Diagnostic::placeless(Code::BadInput, format!("`{text}` holds no `=`"))
                .help("write --input name=run.csv, or --input name=run.csv:column")
        })?;
        let name = name.trim();
        let names = || model.inputs.iter().map(|input| input.name.as_str());
        let Some(input) = names().position(|other| other == name) else {
            let help = match nearest(name, names()) {
                Some(near) => format!("did you mean {near}?"),
                None if model.inputs.is_empty() => {
                    format!("declare it in the model, `input Real {name}`")
                }
                None => format!("its inputs are {}", names().collect::<Vec<_>>().join(", ")),
            };
            let message = format!("the model has no input `{name}`");
            return Err(Box::new(
                Diagnostic::placeless(Code::UnknownInput, message).help(help),
            ));
        };
        // A name of a column may hold dots and brackets, that of a file a colon.
        let (path, column) = match place.rsplit_once(':') {
            Some((path, column)) if !column.is_empty() && !Path::new(place).exists() => {
                (path, column)
            }
            _ => (place, name),
        };
        Ok(Self {
            input,
            name,
            path,
            column,
        })
    }

    fn fault(&self, what: impl std::fmt::Display, help: &str) -> Box<Diagnostic> {
        let message = format!("`{}` cannot drive `{}`: {what}", self.path, self.name);
        Box::new(Diagnostic::placeless(Code::BadInput, message).help(help))
    }

    fn table(&self) -> Result<Table, Box<Diagnostic>> {
        let unreadable = |error: &dyn std::fmt::Display| {
            let message = format!("`{}` cannot be read: {error}", self.path);
            Box::new(
                Diagnostic::placeless(Code::UnreadableFile, message)
                    .help("check the path and its permissions"),
            )
        };
        let path = Path::new(self.path);
        let size = std::fs::metadata(path).map_err(|error| unreadable(&error))?;
        if size.len() > MAX_BYTES {
            return Err(self.fault("it is larger than 1 GB", "write fewer samples"));
        }
        let bytes = std::fs::read(path).map_err(|error| unreadable(&error))?;
        let format = path.extension().and_then(|e| e.to_str()).unwrap_or("");
        Table::read(&bytes, &format.to_lowercase()).map_err(|what| {
            let help = "give a table whose first line names its columns and whose first column is the time";
            self.fault(what, help)
        })
    }

    /// The column that was asked for.
    fn values<'t>(&self, table: &'t Table) -> Result<&'t [f64], Box<Diagnostic>> {
        table.column(self.column).ok_or_else(|| {
            let names = || table.names.iter().skip(1).map(String::as_str);
            let help = match nearest(self.column, names()) {
                Some(near) => format!("did you mean {}={}:{near}?", self.name, self.path),
                None => {
                    let mut listed: Vec<&str> = names().take(8).collect();
                    if table.names.len() > 9 {
                        listed.push("…");
                    }
                    format!("name one of its columns: {}", listed.join(", "))
                }
            };
            self.fault(format!("it has no column `{}`", self.column), &help)
        })
    }

    /// The spline through the column, with at least `order` continuous derivatives, and what to know about it.
    fn signal(
        &self,
        table: &Table,
        order: usize,
    ) -> Result<(Signal, Option<String>), Box<Diagnostic>> {
        let values = self.values(table)?;
        let samples = Samples::new(&table.columns[0], values)
            .map_err(|error| self.fault(error, "give increasing times and finite values"))?;
        if order + 1 > MAX_DEGREE {
            return Err(self.fault(
                format!(
                    "the model differentiates the input {order} times, and splines are made for {} at most",
                    MAX_DEGREE - 1
                ),
                "give the input as an expression in the model",
            ));
        }
        let spline = samples
            .best_spline(order + 1)
            .map_err(|error| self.fault(error, "write more and evenly spaced samples"))?;
        let column = format!("The column `{}` of {}", self.column, self.path);
        let derivative = match order {
            0 => "value, which the model needs,".to_string(),
            order => format!("derivative of order {order}, which the model needs,"),
        };
        let warning = match samples.roughness(&spline, order) {
            None => Some(format!(
                "{column} has too few samples to tell how far its {derivative} can be relied on."
            )),
            Some(found) if found.relative() > ROUGH => Some(format!(
                "{column} is too rough: its {derivative} changes by {:.0} % when every second sample is left out; an error \
                 in the samples is {:.1e} times larger in it.",
                100.0 * found.relative().min(100.0),
                found.amplification()
            )),
            Some(_) => None,
        };
        let signal = Signal::new(spline.knots, spline.degree, spline.coefficients);
        Ok((signal, warning))
    }
}

/// The equations of a model with inputs from files, each given as `NAME=FILE` or `NAME=FILE:COLUMN`.
///
/// The spline through a column has as many continuous derivatives as the model takes of the input.
pub fn drive(model: &Model, inputs: &[String]) -> Result<Driven, Box<Diagnostic>> {
    let mut requests: Vec<Request<'_>> = Vec::new();
    for text in inputs {
        let request = Request::new(model, text)?;
        if requests.iter().any(|other| other.input == request.input) {
            let message = format!("`{}` is given twice", request.name);
            return Err(Diagnostic::placeless(Code::BadInput, message)
                .help("give each input once")
                .into());
        }
        requests.push(request);
    }
    let tables: Vec<Table> = requests
        .iter()
        .map(Request::table)
        .collect::<Result<_, _>>()?;
    let tables: Vec<&Table> = tables.iter().collect();
    driven(model, &requests, &tables)
}

/// The equations of a model whose inputs with these names are columns of one table; `place` is what messages call it.
pub fn drive_by_table(
    model: &Model,
    names: &[String],
    table: &Table,
    place: &str,
) -> Result<Driven, Box<Diagnostic>> {
    let requests: Vec<Request<'_>> = names
        .iter()
        .filter_map(|name| {
            let input = model.inputs.iter().position(|input| input.name == *name)?;
            Some(Request {
                input,
                name,
                path: place,
                column: name,
            })
        })
        .collect();
    driven(model, &requests, &vec![table; requests.len()])
}

fn driven(
    model: &Model,
    requests: &[Request<'_>],
    tables: &[&Table],
) -> Result<Driven, Box<Diagnostic>> {
    let system = |signals: Vec<Signal>| {
        let positions = requests.iter().map(|request| request.input);
        let signals = positions.zip(signals.into_iter().map(Arc::new)).collect();
        System::driven(model, signals).map_err(system_error)
    };
    // The structure does not depend on the data: zeros tell how often each input is differentiated.
    let zero = Signal::new(vec![0.0, 1.0], 0, vec![0.0]);
    let probe = system(vec![zero; requests.len()])?;
    let orders = match Structure::of_equations(probe.equations()) {
        Ok(structure) => signal_orders(probe.equations(), &structure),
        Err(_) => vec![UNKNOWN_ORDER; requests.len()],
    };
    let mut warnings = Vec::new();
    let mut signals = Vec::new();
    for ((request, table), order) in requests.iter().zip(tables).zip(orders) {
        let (signal, warning) = request.signal(table, order)?;
        signals.push(signal);
        warnings.extend(warning);
    }
    Ok(Driven {
        system: system(signals)?,
        warnings,
    })
}
