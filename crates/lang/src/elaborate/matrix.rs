//! Matrices from files: texts, separated values, and the binary files of MATLAB (versions 4, 6 and 7).

use miniz_oxide::inflate::decompress_to_vec_zlib_with_limit;

/// Most bytes that a compressed matrix may unfold to.
const MAX_BYTES: usize = 1 << 28;

/// Rows of numbers.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Grid {
    pub n_rows: usize,
    pub n_columns: usize,
    pub data: Vec<f64>,
}

impl Grid {
    pub fn at(&self, row: usize, column: usize) -> f64 {
        self.data[row * self.n_columns + column]
    }

    /// A matrix whose columns follow each other.
    fn from_columns(n_rows: usize, n_columns: usize, columns: &[f64]) -> Option<Self> {
        if n_rows.checked_mul(n_columns)? != columns.len() {
            return None;
        }
        let at = |position: usize| columns[position % n_columns * n_rows + position / n_columns];
        Some(Self {
            n_rows,
            n_columns,
            data: (0..columns.len()).map(at).collect(),
        })
    }
}

/// A matrix of a binary file.
pub(super) fn read_binary(bytes: &[u8], name: &str) -> Option<Grid> {
    // Files of version 5 and later begin with a text and end their header with the order of bytes.
    match bytes.get(126..128) {
        Some(b"IM") => read_elements(bytes.get(128..)?, name, true),
        Some(b"MI") => read_elements(bytes.get(128..)?, name, false),
        _ => read_version_4(bytes, name),
    }
}

/// Five numbers, a name and columns, one matrix after the other.
fn read_version_4(bytes: &[u8], wanted: &str) -> Option<Grid> {
    let mut rest = bytes;
    while rest.len() >= 20 {
        let number =
            |at: usize| -> Option<[u8; 4]> { rest.get(4 * at..4 * at + 4)?.try_into().ok() };
        // The first number is below 5000 in the order of bytes of the file.
        let is_little = u32::from_le_bytes(number(0)?) < 5000;
        let word = |at: usize| -> Option<usize> {
            let bytes = number(at)?;
            let value = if is_little {
                u32::from_le_bytes(bytes)
            } else {
                u32::from_be_bytes(bytes)
            };
            Some(value as usize)
        };
        let [kind, n_rows, n_columns, imaginary, n_name] =
            [word(0)?, word(1)?, word(2)?, word(3)?, word(4)?];
        let name = rest.get(20..20usize.checked_add(n_name)?)?;
        let size = match kind / 10 % 10 {
            0 => 8,
            1 | 2 => 4,
            3 | 4 => 2,
            5 => 1,
            _ => return None,
        };
        let n_bytes = n_rows.checked_mul(n_columns)?.checked_mul(size)?;
        let from = 20 + n_name;
        let data = rest.get(from..from.checked_add(n_bytes)?)?;
        if name.split(|byte| *byte == 0).next()? == wanted.as_bytes() {
            let columns: Vec<f64> = data
                .chunks_exact(size)
                .map(|chunk| number_4(chunk, kind / 10 % 10, is_little))
                .collect();
            return Grid::from_columns(n_rows, n_columns, &columns);
        }
        let parts = if imaginary == 0 { 1 } else { 2 };
        rest = rest.get(from.checked_add(n_bytes.checked_mul(parts)?)?..)?;
    }
    None
}

/// A number of one of the six kinds of version 4.
fn number_4(chunk: &[u8], kind: usize, is_little: bool) -> f64 {
    let mut bytes = chunk.to_vec();
    if !is_little {
        bytes.reverse();
    }
    number(&bytes, [9, 7, 5, 3, 4, 2].get(kind).copied().unwrap_or(0)).unwrap_or(f64::NAN)
}

/// A number of a numeric kind of version 5, least byte first.
fn number(bytes: &[u8], kind: u32) -> Option<f64> {
    Some(match kind {
        1 => f64::from(i8::from_le_bytes(bytes.try_into().ok()?)),
        2 => f64::from(u8::from_le_bytes(bytes.try_into().ok()?)),
        3 => f64::from(i16::from_le_bytes(bytes.try_into().ok()?)),
        4 => f64::from(u16::from_le_bytes(bytes.try_into().ok()?)),
        5 => f64::from(i32::from_le_bytes(bytes.try_into().ok()?)),
        6 => f64::from(u32::from_le_bytes(bytes.try_into().ok()?)),
        7 => f64::from(f32::from_le_bytes(bytes.try_into().ok()?)),
        9 => f64::from_le_bytes(bytes.try_into().ok()?),
        _ => return None,
    })
}

/// An element of version 5: its kind, its bytes, and what follows it.
fn element(bytes: &[u8], is_little: bool) -> Option<(u32, &[u8], &[u8])> {
    let word = |at: usize| -> Option<u32> {
        let four: [u8; 4] = bytes.get(at..at + 4)?.try_into().ok()?;
        Some(if is_little {
            u32::from_le_bytes(four)
        } else {
            u32::from_be_bytes(four)
        })
    };
    let first = word(0)?;
    if first >> 16 != 0 {
        // A short element: kind and length share a word, the data the next one.
        let data = bytes.get(4..4 + (first >> 16) as usize)?;
        return Some((first & 0xffff, data, bytes.get(8..)?));
    }
    let n = word(4)? as usize;
    let data = bytes.get(8..8usize.checked_add(n)?)?;
    // Only compressed elements are not padded to eight bytes.
    let padded = if first == COMPRESSED {
        n
    } else {
        n.div_ceil(8) * 8
    };
    let rest = bytes.get(8usize.checked_add(padded)?..).unwrap_or(&[]);
    Some((first, data, rest))
}

const MATRIX: u32 = 14;
const COMPRESSED: u32 = 15;

fn read_elements(bytes: &[u8], name: &str, is_little: bool) -> Option<Grid> {
    let mut rest = bytes;
    while let Some((kind, data, next)) = element(rest, is_little) {
        let found = match kind {
            COMPRESSED => {
                let unfolded = decompress_to_vec_zlib_with_limit(data, MAX_BYTES).ok()?;
                let (_, matrix, _) = element(&unfolded, is_little)?;
                read_matrix(matrix, name, is_little)
            }
            MATRIX => read_matrix(data, name, is_little),
            _ => None,
        };
        if found.is_some() {
            return found;
        }
        rest = next;
    }
    None
}

/// Flags, sizes, name and columns.
fn read_matrix(bytes: &[u8], wanted: &str, is_little: bool) -> Option<Grid> {
    let (_, _, rest) = element(bytes, is_little)?;
    let (_, sizes, rest) = element(rest, is_little)?;
    let (_, name, rest) = element(rest, is_little)?;
    let (kind, data, _) = element(rest, is_little)?;
    if name != wanted.as_bytes() {
        return None;
    }
    let width = match kind {
        1 | 2 => 1,
        3 | 4 => 2,
        5..=7 => 4,
        9 => 8,
        _ => return None,
    };
    let value = |chunk: &[u8], kind: u32| {
        let mut bytes = chunk.to_vec();
        if !is_little {
            bytes.reverse();
        }
        number(&bytes, kind)
    };
    let sizes: Vec<usize> = sizes
        .chunks_exact(4)
        .filter_map(|chunk| value(chunk, 5).map(|size| size.max(0.0) as usize))
        .collect();
    let &[n_rows, n_columns] = sizes.as_slice() else {
        return None;
    };
    let columns: Option<Vec<f64>> = data
        .chunks_exact(width)
        .map(|chunk| value(chunk, kind))
        .collect();
    Grid::from_columns(n_rows, n_columns, &columns?)
}

/// A matrix of a text: `double name(2,3)` and its numbers.
pub(super) fn read_text(text: &str, name: &str) -> Option<Grid> {
    let lines: Vec<&str> = text.lines().collect();
    for (at, line) in lines.iter().enumerate() {
        let line = line.trim_start();
        let Some(rest) = line.strip_prefix("double").or(line.strip_prefix("float")) else {
            continue;
        };
        let Some((found, sizes)) = rest.split_once('(') else {
            continue;
        };
        if found.trim() != name {
            continue;
        }
        let sizes = sizes.split(')').next()?;
        let (rows, columns) = sizes.split_once(',')?;
        let n_rows: usize = rows.trim().parse().ok()?;
        let n_columns: usize = columns.trim().parse().ok()?;
        let wanted = n_rows.checked_mul(n_columns)?;
        let mut data = Vec::new();
        for line in &lines[at + 1..] {
            let line = line.split('#').next().unwrap_or("");
            for word in line.split(|c: char| c.is_whitespace() || c == ',' || c == ';') {
                if !word.is_empty() && data.len() < wanted {
                    data.push(word.parse().ok()?);
                }
            }
            if data.len() >= wanted {
                break;
            }
        }
        return (data.len() == wanted).then_some(Grid {
            n_rows,
            n_columns,
            data,
        });
    }
    None
}

/// A matrix of a file of separated values.
pub(super) fn read_separated(text: &str, delimiter: &str, n_header: usize) -> Option<Grid> {
    let mut data = Vec::new();
    let (mut n_rows, mut n_columns) = (0, 0);
    for line in text.lines().skip(n_header) {
        let line = line.trim();
        if line.is_empty() {
            continue;
        }
        let before = data.len();
        for word in line
            .split(delimiter)
            .map(str::trim)
            .filter(|word| !word.is_empty())
        {
            data.push(word.parse().ok()?);
        }
        n_columns = data.len() - before;
        n_rows += 1;
    }
    (n_rows * n_columns == data.len() && n_rows > 0).then_some(Grid {
        n_rows,
        n_columns,
        data,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NUMBERS: [f64; 6] = [1.0, -2.5, 3.0, 4.0, 1e-3, 6.0];

    fn expected() -> Grid {
        Grid {
            n_rows: 2,
            n_columns: 3,
            data: NUMBERS.to_vec(),
        }
    }

    /// The numbers by columns, each as bytes.
    fn columns(bytes: impl Fn(f64) -> [u8; 8]) -> Vec<u8> {
        let order = [0, 3, 1, 4, 2, 5];
        order.iter().flat_map(|&at| bytes(NUMBERS[at])).collect()
    }

    #[test]
    fn texts_are_read_with_comments() {
        let text = "#1\n# a comment\ndouble a(1,1)\n7\ndouble b(2,3) # named\n1 -2.5 3 # first\n4, 1e-3, 6\n";
        assert_eq!(read_text(text, "b"), Some(expected()));
        assert_eq!(read_text(text, "c"), None);
        assert_eq!(read_text("#1\ndouble b(2,3)\n1 2 3", "b"), None);
    }

    #[test]
    fn separated_values_are_read() {
        let text = "a;b;c\n1;-2.5;3\n4;1e-3;6\n";
        assert_eq!(read_separated(text, ";", 1), Some(expected()));
    }

    #[test]
    fn version_4_is_read_in_both_orders_of_bytes() {
        for is_little in [true, false] {
            let word = |x: u32| {
                if is_little {
                    x.to_le_bytes()
                } else {
                    x.to_be_bytes()
                }
            };
            let kind = if is_little { 0 } else { 1000 };
            let mut bytes: Vec<u8> = [kind, 2, 3, 0, 2].iter().flat_map(|&x| word(x)).collect();
            bytes.extend(b"b\0");
            bytes.extend(columns(|x| {
                if is_little {
                    x.to_le_bytes()
                } else {
                    x.to_be_bytes()
                }
            }));
            assert_eq!(read_binary(&bytes, "b"), Some(expected()));
            assert_eq!(read_binary(&bytes, "other"), None);
            // What is cut off is no matrix, and no panic.
            for n in 0..bytes.len() {
                assert_eq!(read_binary(&bytes[..n], "b"), None);
            }
        }
    }

    #[test]
    fn version_5_is_read() {
        let tag = |kind: u32, n: usize| [kind.to_le_bytes(), (n as u32).to_le_bytes()].concat();
        let mut matrix = [tag(6, 8), vec![6, 0, 0, 0, 0, 0, 0, 0]].concat();
        matrix.extend(tag(5, 8));
        matrix.extend([2u32.to_le_bytes(), 3u32.to_le_bytes()].concat());
        // A short element: kind and length in one word.
        matrix.extend([1, 0, 1, 0, b'b', 0, 0, 0]);
        let data = columns(f64::to_le_bytes);
        matrix.extend(tag(9, data.len()));
        matrix.extend(data);
        let mut bytes = vec![b' '; 124];
        bytes.extend([0, 1, b'I', b'M']);
        bytes.extend(tag(MATRIX, matrix.len()));
        bytes.extend(matrix);
        assert_eq!(read_binary(&bytes, "b"), Some(expected()));
        assert_eq!(read_binary(&bytes[..200], "b"), None);
    }
}
