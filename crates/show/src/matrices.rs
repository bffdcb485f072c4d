//! Matrices in files of other tools: MATLAB's level 4 and NumPy's npz.

use crate::record::{LinearRecord, Rows};
use crate::zip::zip;

/// The matrices of a linear model by name, D with one page for each power of s.
fn named(report: &LinearRecord) -> Vec<(String, &Rows, usize)> {
    let (n, m) = (report.states.len(), report.inputs.len());
    let unknowns = report.descriptor.unknowns.len();
    let mut list = vec![
        ("A".to_string(), &report.a, n),
        ("B".to_string(), &report.b, m),
        ("C".to_string(), &report.c, n),
    ];
    for (power, d) in report.d.iter().enumerate() {
        let name = match power {
            0 => "D".to_string(),
            _ => format!("D{power}"),
        };
        list.push((name, d, m));
    }
    list.push(("E_written".to_string(), &report.descriptor.e, unknowns));
    list.push(("A_written".to_string(), &report.descriptor.a, unknowns));
    list.push(("B_written".to_string(), &report.descriptor.b, m));
    list
}

/// A file that MATLAB, Octave and SciPy load: one matrix after the other, by columns.
pub fn mat(report: &LinearRecord) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, rows, n_columns) in named(report) {
        // Little-endian doubles, full matrix; rows, columns, no imaginary part, length of the name with its zero.
        let header = [
            0,
            rows.len() as u32,
            n_columns as u32,
            0,
            name.len() as u32 + 1,
        ];
        header
            .iter()
            .for_each(|word| bytes.extend(word.to_le_bytes()));
        bytes.extend(name.as_bytes());
        bytes.push(0);
        for column in 0..n_columns {
            rows.iter()
                .for_each(|row| bytes.extend(row[column].to_le_bytes()));
        }
    }
    bytes
}

/// A file that `numpy.load` reads: a stored zip of one npy file for each matrix.
pub fn npz(report: &LinearRecord) -> Vec<u8> {
    let file = |(name, rows, n_columns): (String, &Rows, usize)| {
        (format!("{name}.npy"), npy(rows, n_columns))
    };
    let files: Vec<(String, Vec<u8>)> = named(report).into_iter().map(file).collect();
    zip(&files, false)
}

fn npy(rows: &Rows, n_columns: usize) -> Vec<u8> {
    let shape = format!("({}, {n_columns})", rows.len());
    let mut header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}");
    while (10 + header.len() + 1) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    let values = rows.iter().flatten();
    values.for_each(|value| bytes.extend(value.to_le_bytes()));
    bytes
}
