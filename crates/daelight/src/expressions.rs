//! Columns that are computed from others: `daelight plot run.csv "l1*cos(x1) + l2*cos(x2)"`.

use daelight_analysis::System;
use daelight_lang::{Options, Severity, load};
use daelight_show::Table;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Most elements of an array whose columns are read: an index of a table may be any number.
const MOST_ELEMENTS: usize = 100_000;

/// Adds a column for every name that is an expression in the columns that are there; what is wrong with one, otherwise.
///
/// Where an expression has no value its column has none.
pub fn add_expressions(table: &mut Table, names: &[String]) -> Result<(), String> {
    for name in names {
        if is_expression(table, name) {
            let values = values(table, name).map_err(|because| format!("`{name}`: {because}"))?;
            table.names.push(name.clone());
            table.columns.push(values);
        }
    }
    Ok(())
}

/// Whether a name is more than that: what is a column already is one, whatever it is called.
fn is_expression(table: &Table, name: &str) -> bool {
    table.column(name).is_none() && name.contains(['+', '-', '*', '/', '^', '('])
}

/// The values of an expression in every row.
fn values(table: &Table, expression: &str) -> Result<Vec<f64>, String> {
    let text = format!(
        "model Columns{}\nequation\n  ({expression}) = 0;\nend Columns;",
        declarations(table, expression)
    );
    let loaded = load("columns", text.as_bytes(), &Options::default());
    let mut errors = loaded.diagnostics.iter();
    let Some(model) = loaded.model else {
        let error = errors.find(|one| one.severity == Severity::Error);
        // Help is for models: here nothing can be declared.
        return Err(error.map_or("no expression".to_string(), |error| {
            let undeclared = "is not declared";
            error
                .message
                .replace(undeclared, "is not a column of the table")
                // The parentheses are put around it here.
                .replace("found `)`", "found its end")
        }));
    };
    let system = System::new(&model).map_err(|error| error.to_string())?;
    let equations = system.equations();
    if equations.n_equations() != 1 {
        return Err("that is more than one expression".to_string());
    }
    // The columns of the unknowns, and of their derivatives.
    let mut columns = vec![Vec::new(); equations.order() + 1];
    for (derivative, columns) in columns.iter_mut().enumerate() {
        let name = |unknown: &str| match derivative {
            0 => unknown.to_string(),
            _ => format!(
                "{}{unknown}{}",
                "der(".repeat(derivative),
                ")".repeat(derivative)
            ),
        };
        let unknowns = system.unknowns().iter();
        columns.extend(unknowns.map(|unknown| table.column(&name(&unknown.name))));
        for &unknown in equations.pattern(derivative).columns() {
            if columns[unknown as usize].is_none() {
                let missing = name(&system.unknowns()[unknown as usize].name);
                return Err(format!("there is no column `{missing}`"));
            }
        }
    }
    let mut evaluator = system.evaluator();
    let mut here = vec![0.0; system.unknowns().len()];
    let rows = table.columns[0].iter().enumerate();
    let value = |(row, &time): (usize, &f64)| {
        evaluator.set_time(time);
        for (derivative, columns) in columns.iter().enumerate() {
            for (value, column) in here.iter_mut().zip(columns) {
                *value = column.map_or(0.0, |column| column[row]);
            }
            evaluator.set(derivative, &here);
        }
        let mut residual = [f64::NAN];
        match evaluator.residuals(&mut residual) {
            Ok(()) => residual[0],
            Err(_) => f64::NAN,
        }
    };
    Ok(rows.map(value).collect())
}

/// Declarations of the columns whose names occur in an expression, elements as their arrays.
fn declarations(table: &Table, expression: &str) -> String {
    let is_in_word = |c: char| c.is_alphanumeric() || c == '_';
    let words: Vec<&str> = expression.split(|c| !is_in_word(c)).collect();
    // The largest index in each place, none for a scalar.
    let mut arrays: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for name in table.names.iter().skip(1) {
        let (base, indices) = match name.strip_suffix(']').and_then(|name| name.split_once('[')) {
            Some((base, indices)) => (base, indices),
            None => (name.as_str(), ""),
        };
        let indices = indices.split(',').filter(|index| !index.is_empty());
        let indices: Result<Vec<usize>, _> = indices.map(|index| index.trim().parse()).collect();
        let Ok(indices) = indices else { continue };
        let product = indices
            .iter()
            .try_fold(1, |size: usize, &n| size.checked_mul(n));
        let is_small = product.is_some_and(|size| (1..=MOST_ELEMENTS).contains(&size));
        if words.contains(&base) && is_small {
            let sizes = arrays.entry(base).or_insert_with(|| indices.clone());
            if sizes.len() == indices.len() {
                let larger = sizes.iter_mut().zip(indices);
                larger.for_each(|(size, index)| *size = index.max(*size));
            }
        }
    }
    let mut text = String::new();
    for (base, sizes) in arrays {
        let sizes: Vec<String> = sizes.iter().map(usize::to_string).collect();
        let sizes = match &sizes[..] {
            [] => String::new(),
            sizes => format!("[{}]", sizes.join(", ")),
        };
        // Nothing can go wrong when text is written to a string.
        let _ = write!(text, "\n  Real {base}{sizes};");
    }
    text
}
