//! Pictures of what kind of DAE a model is.

use daelight_analysis::System;
use daelight_analysis::passport::Passport;
use daelight_analysis::spectrum::Spectrum;
use daelight_analysis::structure::Structure;
use daelight_linalg::Mat;
use daelight_plot::{Curve, Figure, Matrix, Panel, Stroke, Tone};

/// Most equations of a matrix that is drawn, and most with names.
const MOST_ROWS: usize = 1000;
const MOST_NAMES: usize = 60;
/// Most unknowns of a projector that is drawn.
const MOST_OF_PROJECTOR: usize = 40;

/// The signature matrix with transversal and offsets, and the block-triangular form of the system Jacobian.
pub fn structure_picture(system: &System, passport: &Passport) -> Result<Figure, String> {
    let Some(part) = passport.structure() else {
        return Err("its equations cannot be matched with its unknowns".to_string());
    };
    let structure = &part.structure;
    let n = structure.n();
    if n > MOST_ROWS {
        return Err(format!(
            "a matrix of {n} rows is too large to be drawn; the most are {MOST_ROWS}"
        ));
    }
    let figure = Figure::new(format!("{}: structure", system.name()));
    let signature = signature_matrix(system, structure);
    let blocks = block_form(system, structure);
    Ok(figure
        .panel(Panel::matrix(signature))
        .panel(Panel::matrix(blocks)))
}

/// The names of equations and unknowns in an order; none for a large matrix.
fn names(
    system: &System,
    structure: &Structure,
    order: &[usize],
    is_equation: bool,
) -> Vec<String> {
    let has_names = structure.n() <= MOST_NAMES && structure.n() == system.unknowns().len();
    let name = |&at: &usize| match (has_names, is_equation) {
        (false, _) => String::new(),
        (true, true) => system.equation_text(at),
        (true, false) => system.unknowns()[at].name.clone(),
    };
    order.iter().map(name).collect()
}

fn signature_matrix(system: &System, structure: &Structure) -> Matrix {
    let all: Vec<usize> = (0..structure.n()).collect();
    let offsets = structure.offsets();
    let words = |offsets: &[usize]| offsets.iter().map(usize::to_string).collect::<Vec<_>>();
    let matrix = Matrix::new(
        names(system, structure, &all, true),
        names(system, structure, &all, false),
    )
    .title("Signature matrix: how often each unknown is differentiated")
    .row_notes("c", words(&offsets.equation))
    .column_notes("d", words(&offsets.variable))
    .legend(Tone::Strong, "transversal")
    .legend(Tone::Second, "decides: d − c is its order")
    .legend(Tone::Plain, "other");
    all.iter().fold(matrix, |matrix, &equation| {
        let row = structure.signature().row(equation);
        row.fold(matrix, |matrix, (unknown, order)| {
            let tone = if structure.transversal().unknown(equation) == unknown {
                Tone::Strong
            } else if structure.jacobian_order(equation, unknown).is_some() {
                Tone::Second
            } else {
                Tone::Plain
            };
            matrix.cell(equation, unknown, order.to_string(), tone)
        })
    })
}

fn block_form(system: &System, structure: &Structure) -> Matrix {
    let blocks = structure.blocks();
    let rows: Vec<usize> = blocks
        .iter()
        .flat_map(|block| block.equations.clone())
        .collect();
    let columns: Vec<usize> = blocks
        .iter()
        .flat_map(|block| block.unknowns.clone())
        .collect();
    let mut place = vec![0; structure.n()];
    for (at, &unknown) in columns.iter().enumerate() {
        place[unknown] = at;
    }
    let count = match blocks.len() {
        1 => "one block".to_string(),
        n => format!("{n} blocks"),
    };
    let mut matrix = Matrix::new(
        names(system, structure, &rows, true),
        names(system, structure, &columns, false),
    )
    .title(format!(
        "System Jacobian: {count}, in the order of solution"
    ));
    for (at, &equation) in rows.iter().enumerate() {
        for unknown in structure.jacobian_row(equation) {
            let tone = if structure.transversal().unknown(equation) == unknown {
                Tone::Strong
            } else {
                Tone::Second
            };
            matrix = matrix.cell(at, place[unknown], "", tone);
        }
    }
    let mut first = 0;
    for block in blocks {
        let end = first + block.equations.len();
        matrix = matrix.block((first, end), (first, end));
        first = end;
    }
    matrix
}

/// The projectors T_k and V_k of each level of the derivative array.
pub fn projector_picture(system: &System, passport: &Passport) -> Result<Figure, String> {
    let part = passport.numerical.as_ref().map_err(Clone::clone)?;
    let n = system.unknowns().len();
    if n > MOST_OF_PROJECTOR {
        return Err(format!(
            "projectors of {n} unknowns are too large to be drawn; the most are {MOST_OF_PROJECTOR}"
        ));
    }
    let names: Vec<String> = system
        .unknowns()
        .iter()
        .map(|info| info.name.clone())
        .collect();
    let drawn = |title: String, matrix: &Mat| {
        let empty = Matrix::new(names.clone(), names.clone()).title(title);
        let places = (0..n).flat_map(|row| (0..n).map(move |column| (row, column)));
        let filled = places.fold(empty, |drawn, (row, column)| {
            let value = matrix[(row, column)];
            if value.abs() < 5e-4 {
                return drawn;
            }
            drawn.cell(row, column, entry(value), Tone::Value(value))
        });
        Panel::matrix(filled)
    };
    let figure = Figure::new(format!("{}: what each level leaves open", system.name())).columns(2);
    let levels = part.fullness.levels.iter();
    if levels.len() == 0 {
        return Err("the derivative array has no level".to_string());
    }
    Ok(levels.fold(figure, |figure, level| {
        let k = level.n_blocks;
        figure
            .panel(drawn(
                format!("T{k}, rank {}", level.t_rank),
                &level.t_projector,
            ))
            .panel(drawn(
                format!("V{k}, rank {}", level.v_rank),
                &level.v_projector,
            ))
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
pub fn eigenvalue_picture(system: &System, spectrum: &Spectrum) -> Result<Figure, String> {
    if spectrum.eigenvalues.is_empty() {
        return Err("there is no finite eigenvalue".to_string());
    }
    let points = spectrum
        .eigenvalues
        .iter()
        .map(|value| (value.re, value.im));
    let panel = Panel::new("real part [1/s]", "imaginary part [1/s]")
        .curve(Curve::line("", points).stroke(Stroke::Dots));
    Ok(
        Figure::new(format!("{}: finite eigenvalues", system.name()))
            .size(560, 420)
            .panel(panel),
    )
}
