//! Pictures of what kind of DAE a model is.

use crate::record::{AnalyzeRecord, SignatureRecord};
use daelight_plot::{Curve, Figure, MatrixDrawing, Panel, Stroke, Tone};

/// Most equations of a matrix that is drawn, and most with names.
const MOST_ROWS: usize = 1000;
const MOST_NAMES: usize = 60;
/// Most unknowns of a projector that is drawn.
const MOST_OF_PROJECTOR: usize = 40;

/// The signature matrix with transversal and offsets, and the block-triangular form of the system Jacobian.
pub fn structure(report: &AnalyzeRecord, signature: &SignatureRecord) -> Result<Figure, String> {
    let Some(structural) = &report.structural else {
        return Err("its equations cannot be matched with its unknowns".to_string());
    };
    let n = structural.equation_offsets.len();
    if n > MOST_ROWS {
        return Err(format!(
            "a matrix of {n} rows is too large to be drawn; the most are {MOST_ROWS}"
        ));
    }
    let words = |offsets: &[usize]| offsets.iter().map(usize::to_string).collect::<Vec<_>>();
    let figure = Figure::new(format!("{}: structure", report.model));
    let all: Vec<usize> = (0..n).collect();
    let empty = MatrixDrawing::new(
        names(&signature.equations, &all),
        names(&signature.unknowns, &all),
    )
    .title("Signature matrix: how often each unknown is differentiated")
    .row_notes("c", words(&structural.equation_offsets))
    .column_notes("d", words(&structural.variable_offsets))
    .legend(Tone::Strong, "transversal")
    .legend(Tone::Second, "decides: d − c is its order")
    .legend(Tone::Plain, "other");
    let matrix = signature.entries.iter().fold(empty, |matrix, entry| {
        let tone = match (entry.is_matched, entry.is_in_jacobian) {
            (true, _) => Tone::Strong,
            (false, true) => Tone::Second,
            (false, false) => Tone::Plain,
        };
        matrix.cell(entry.equation, entry.unknown, entry.order.to_string(), tone)
    });
    Ok(figure
        .panel(Panel::matrix(matrix))
        .panel(Panel::matrix(block_form(signature))))
}

/// Names in an order; none for a large matrix.
fn names(of: &[String], order: &[usize]) -> Vec<String> {
    let has_names = of.len() == order.len() && of.len() <= MOST_NAMES;
    let name = |&at: &usize| match has_names {
        true => of[at].clone(),
        false => String::new(),
    };
    order.iter().map(name).collect()
}

fn block_form(signature: &SignatureRecord) -> MatrixDrawing {
    let blocks = &signature.blocks;
    let rows: Vec<usize> = blocks.iter().flat_map(|(rows, _)| rows.clone()).collect();
    let columns: Vec<usize> = blocks.iter().flat_map(|(_, of)| of.clone()).collect();
    let mut places = [vec![0; rows.len()], vec![0; columns.len()]];
    for (place, order) in places.iter_mut().zip([&rows, &columns]) {
        order.iter().enumerate().for_each(|(at, &k)| place[k] = at);
    }
    let count = match blocks.len() {
        1 => "one block".to_string(),
        n => format!("{n} blocks"),
    };
    let mut matrix = MatrixDrawing::new(
        names(&signature.equations, &rows),
        names(&signature.unknowns, &columns),
    )
    .title(format!(
        "System Jacobian: {count}, in the order of solution"
    ));
    let mut entries: Vec<_> = (signature.entries.iter())
        .filter(|entry| entry.is_in_jacobian)
        .collect();
    entries.sort_by_key(|entry| places[0][entry.equation]);
    for entry in entries {
        let tone = match entry.is_matched {
            true => Tone::Strong,
            false => Tone::Second,
        };
        matrix = matrix.cell(
            places[0][entry.equation],
            places[1][entry.unknown],
            "",
            tone,
        );
    }
    let mut first = 0;
    for (rows, _) in blocks {
        let end = first + rows.len();
        matrix = matrix.block((first, end), (first, end));
        first = end;
    }
    matrix
}

/// The projectors T_k and V_k of each level of the derivative array.
pub fn projectors(report: &AnalyzeRecord) -> Result<Figure, String> {
    if report.ranks.is_none() {
        return Err(report.no_ranks.clone());
    }
    let names = &report.unknowns;
    let n = names.len();
    if n > MOST_OF_PROJECTOR {
        return Err(format!(
            "projectors of {n} unknowns are too large to be drawn; the most are {MOST_OF_PROJECTOR}"
        ));
    }
    let drawn = |title: String, matrix: &[Vec<f64>]| {
        let empty = MatrixDrawing::new(names.clone(), names.clone()).title(title);
        let places = (0..n).flat_map(|row| (0..n).map(move |column| (row, column)));
        let filled = places.fold(empty, |drawn, (row, column)| {
            let value = matrix[row][column];
            if value.abs() < 5e-4 {
                return drawn;
            }
            drawn.cell(row, column, entry(value), Tone::Value(value))
        });
        Panel::matrix(filled)
    };
    let found = &report.differentiation;
    if found.levels.is_empty() {
        return Err("the derivative array has no level".to_string());
    }
    let figure = Figure::new(format!("{}: what each level leaves open", report.model)).columns(2);
    let levels = found.levels.iter().zip(found.t.iter().zip(&found.v));
    Ok(levels.fold(figure, |figure, (level, (t, v))| {
        let k = level.order;
        figure
            .panel(drawn(format!("T{k}, rank {}", level.rank_t), t))
            .panel(drawn(format!("V{k}, rank {}", level.rank_v), v))
    }))
}

/// An entry in as few letters as tell it.
fn entry(value: f64) -> String {
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    match text {
        "-0" | "0" | "" => "≈0".to_string(),
        text => text.replace("0.", ".").replace('-', "−"),
    }
}

/// Finite eigenvalues in the complex plane.
pub fn eigenvalues(report: &AnalyzeRecord) -> Result<Figure, String> {
    let found = report.eigenvalues.as_ref().and_then(Option::as_ref);
    let found = found.filter(|found| !found.is_empty());
    let found = found.ok_or("there is no finite eigenvalue")?;
    let points = found.iter().map(|value| (value.re, value.im));
    let panel = Panel::new("real part [1/s]", "imaginary part [1/s]")
        .curve(Curve::line("", points).stroke(Stroke::Dots));
    Ok(Figure::new(format!("{}: finite eigenvalues", report.model))
        .size(560, 420)
        .panel(panel))
}
