//! Tables: interpolation as expressions that are exact on every piece (`docs/theory/components.md`, section 5).

use super::Elaborator;
use crate::model::Type;
use crate::source::Span;
use daelight_expr::{BinaryOp, ExprId};

/// Rows of numbers.
#[derive(Clone, Debug)]
pub(super) struct Grid {
    pub n_rows: usize,
    pub n_columns: usize,
    pub data: Vec<f64>,
}

impl Grid {
    pub fn at(&self, row: usize, column: usize) -> f64 {
        self.data[row * self.n_columns + column]
    }
}

/// How values between the points are found; the numbers are those of the library's enumeration.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Smoothness {
    Linear,
    Akima,
    Constant,
    FritschButland,
    Steffen,
    ModifiedAkima,
}

impl Smoothness {
    pub fn from_number(number: f64) -> Option<Self> {
        Some(match number as i64 {
            1 => Smoothness::Linear,
            2 => Smoothness::Akima,
            3 => Smoothness::Constant,
            4 => Smoothness::FritschButland,
            5 => Smoothness::Steffen,
            6 => Smoothness::ModifiedAkima,
            _ => return None,
        })
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Extrapolation {
    Hold,
    LastTwoPoints,
    Periodic,
    None,
}

impl Extrapolation {
    pub fn from_number(number: f64) -> Option<Self> {
        Some(match number as i64 {
            1 => Extrapolation::Hold,
            2 => Extrapolation::LastTwoPoints,
            3 => Extrapolation::Periodic,
            4 => Extrapolation::None,
            _ => return None,
        })
    }
}

/// A table of the library.
#[derive(Clone, Debug)]
pub(super) struct Table {
    pub grid: Grid,
    pub columns: Vec<usize>,
    pub smoothness: Smoothness,
    pub extrapolation: Extrapolation,
    /// Of a table over time: before this it is zero.
    pub start: f64,
    pub shift: f64,
}

/// A cubic on one piece: value, slope and further coefficients at its left end.
#[derive(Clone, Copy, Debug)]
struct Piece {
    from: f64,
    coefficients: [f64; 4],
}

/// The pieces of one column, with those outside the points.
fn pieces(table: &Table, column: usize) -> Option<Vec<Piece>> {
    let n = table.grid.n_rows;
    let x: Vec<f64> = (0..n).map(|row| table.grid.at(row, 0)).collect();
    let y: Vec<f64> = (0..n).map(|row| table.grid.at(row, column)).collect();
    if n == 0 || x.windows(2).any(|pair| pair[0] > pair[1]) {
        return None;
    }
    if n == 1 {
        return Some(vec![flat(f64::NEG_INFINITY, y[0])]);
    }
    let smoothness = match n {
        2 if table.smoothness != Smoothness::Constant => Smoothness::Linear,
        _ => table.smoothness,
    };
    let mut inner: Vec<Piece> = Vec::with_capacity(n + 1);
    let slopes = match smoothness {
        Smoothness::Linear | Smoothness::Constant => Vec::new(),
        _ => end_slopes(smoothness, &x, &y),
    };
    for at in 0..n - 1 {
        let (h, rise) = (x[at + 1] - x[at], y[at + 1] - y[at]);
        if h == 0.0 {
            continue;
        }
        let coefficients = match smoothness {
            Smoothness::Constant => [y[at], 0.0, 0.0, 0.0],
            Smoothness::Linear => [y[at], rise / h, 0.0, 0.0],
            _ => {
                let (a, b, secant) = (slopes[at], slopes[at + 1], rise / h);
                [
                    y[at],
                    a,
                    (3.0 * secant - 2.0 * a - b) / h,
                    (a + b - 2.0 * secant) / (h * h),
                ]
            }
        };
        inner.push(Piece {
            from: x[at],
            coefficients,
        });
    }
    let (first, last) = (*inner.first()?, *inner.last()?);
    let holds = table.extrapolation == Extrapolation::Hold || smoothness == Smoothness::Constant;
    let before = match holds {
        true => flat(f64::NEG_INFINITY, y[0]),
        false => Piece {
            from: f64::NEG_INFINITY,
            coefficients: [y[0], first.coefficients[1], 0.0, 0.0],
        },
    };
    let end = x[n - 1];
    let width = end - last.from;
    let [_, b, c, d] = last.coefficients;
    let tangent = b + width * (2.0 * c + 3.0 * d * width);
    let behind = match holds {
        true => flat(end, y[n - 1]),
        false => Piece {
            from: end,
            coefficients: [y[n - 1], tangent, 0.0, 0.0],
        },
    };
    let mut all = vec![before];
    all.extend(inner);
    all.push(behind);
    Some(all)
}

fn flat(from: f64, value: f64) -> Piece {
    Piece {
        from,
        coefficients: [value, 0.0, 0.0, 0.0],
    }
}

/// Slopes at the points of a cubic Hermite interpolation.
///
/// Akima (J. ACM 17, 1970), Fritsch and Butland (SISC 5, 1984), Steffen (A&A 239, 1990).
fn end_slopes(smoothness: Smoothness, x: &[f64], y: &[f64]) -> Vec<f64> {
    let n = x.len();
    let secant: Vec<f64> = (0..n - 1)
        .map(|at| (y[at + 1] - y[at]) / (x[at + 1] - x[at]))
        .collect();
    let m = secant.len();
    // Secants beyond the ends, as Akima continues them.
    let beyond = |at: isize| -> f64 {
        let last = m as isize - 1;
        match at {
            -1 => 2.0 * secant[0] - secant[1],
            -2 => 3.0 * secant[0] - 2.0 * secant[1],
            at if at == last + 1 => 2.0 * secant[m - 1] - secant[m - 2],
            at if at == last + 2 => 3.0 * secant[m - 1] - 2.0 * secant[m - 2],
            at => secant[at as usize],
        }
    };
    (0..n)
        .map(|at| {
            let i = at as isize;
            match smoothness {
                Smoothness::Akima | Smoothness::ModifiedAkima => {
                    let (a, b) = (beyond(i - 2), beyond(i - 1));
                    let (c, d) = (beyond(i), beyond(i + 1));
                    let (mut left, mut right) = ((d - c).abs(), (b - a).abs());
                    if smoothness == Smoothness::ModifiedAkima {
                        left += (d + c).abs() / 2.0;
                        right += (b + a).abs() / 2.0;
                    }
                    match left + right {
                        0.0 if smoothness == Smoothness::ModifiedAkima => 0.0,
                        0.0 => (b + c) / 2.0,
                        sum => (left * b + right * c) / sum,
                    }
                }
                _ if at == 0 => secant[0],
                _ if at == n - 1 => secant[m - 1],
                _ => {
                    let (b, c) = (secant[at - 1], secant[at]);
                    let (h0, h1) = (x[at] - x[at - 1], x[at + 1] - x[at]);
                    if b * c <= 0.0 {
                        0.0
                    } else if smoothness == Smoothness::FritschButland {
                        3.0 * (h0 + h1) / ((2.0 * h1 + h0) / b + (h1 + 2.0 * h0) / c)
                    } else {
                        let parabola = (b * h1 + c * h0) / (h0 + h1);
                        let limit = b.abs().min(c.abs()).min(parabola.abs() / 2.0);
                        2.0 * b.signum() * limit
                    }
                }
            }
        })
        .collect()
}

impl<'a> Elaborator<'a> {
    /// A column of a table as an expression of its argument; `None` where the table is not one of ours.
    pub(super) fn table_value(
        &mut self,
        table: &Table,
        output: usize,
        u: ExprId,
        span: Span,
    ) -> Option<ExprId> {
        let column = *table.columns.get(output)?;
        if column >= table.grid.n_columns || table.extrapolation == Extrapolation::Periodic {
            return None;
        }
        let pieces = pieces(table, column)?;
        Some(self.piecewise(&pieces, u, span))
    }

    fn piecewise(&mut self, pieces: &[Piece], u: ExprId, span: Span) -> ExprId {
        if let [piece] = pieces {
            return self.cubic(piece, u);
        }
        let middle = pieces.len() / 2;
        let limit = self.graph.constant(pieces[middle].from);
        let left = match middle {
            // What lies before the first point continues from it.
            1 if pieces[0].from == f64::NEG_INFINITY => {
                let first = Piece {
                    from: pieces[1].from,
                    ..pieces[0]
                };
                self.cubic(&first, u)
            }
            _ => self.piecewise(&pieces[..middle], u, span),
        };
        let right = self.piecewise(&pieces[middle..], u, span);
        let condition = self.graph.binary(BinaryOp::Less, u, limit);
        self.choose(Type::Real, condition, left, right, span)
    }

    fn cubic(&mut self, piece: &Piece, u: ExprId) -> ExprId {
        let [a, b, c, d] = piece.coefficients;
        let mut value = self.graph.constant(a);
        if b == 0.0 && c == 0.0 && d == 0.0 {
            return value;
        }
        let from = self.graph.constant(if piece.from.is_finite() {
            piece.from
        } else {
            0.0
        });
        let x = self.graph.sub(u, from);
        let mut power = x;
        for (at, coefficient) in [b, c, d].into_iter().enumerate() {
            if at > 0 {
                power = self.graph.mul(power, x);
            }
            if coefficient != 0.0 {
                let factor = self.graph.constant(coefficient);
                let term = self.graph.mul(factor, power);
                value = self.graph.add(value, term);
            }
        }
        value
    }

    /// A table over two arguments: the first column and the first row are the points.
    pub(super) fn table_value_2(
        &mut self,
        table: &Table,
        u: [ExprId; 2],
        span: Span,
    ) -> Option<ExprId> {
        let Grid {
            n_rows, n_columns, ..
        } = table.grid;
        let is_plain = matches!(table.smoothness, Smoothness::Linear | Smoothness::Constant)
            || (n_rows <= 3 && n_columns <= 3);
        let is_open = matches!(table.extrapolation, Extrapolation::Periodic);
        if n_rows < 2 || n_columns < 2 || !is_plain || is_open {
            return None;
        }
        // Each row is a table over the second argument; their values are interpolated over the first.
        let mut rows = Vec::with_capacity(n_rows - 1);
        for row in 1..n_rows {
            let mut data = Vec::with_capacity(2 * (n_columns - 1));
            for column in 1..n_columns {
                data.extend([table.grid.at(0, column), table.grid.at(row, column)]);
            }
            let line = Table {
                grid: Grid {
                    n_rows: n_columns - 1,
                    n_columns: 2,
                    data,
                },
                columns: vec![1],
                smoothness: plain(table.smoothness),
                ..table.clone()
            };
            rows.push(self.table_value(&line, 0, u[1], span)?);
        }
        let points: Vec<f64> = (1..n_rows).map(|row| table.grid.at(row, 0)).collect();
        Some(self.between_rows(table, &points, &rows, u[0], span))
    }

    fn between_rows(
        &mut self,
        table: &Table,
        points: &[f64],
        rows: &[ExprId],
        u: ExprId,
        span: Span,
    ) -> ExprId {
        let n = points.len();
        if n == 1 {
            return rows[0];
        }
        let is_constant = plain(table.smoothness) == Smoothness::Constant;
        let holds = table.extrapolation == Extrapolation::Hold || is_constant;
        let mut value = match holds {
            true => rows[n - 1],
            false => self.line(points, rows, n - 2, u),
        };
        if holds {
            let inner = match is_constant {
                true => rows[n - 2],
                false => self.line(points, rows, n - 2, u),
            };
            value = self.unless_below(points[n - 1], u, inner, value, span);
        }
        for at in (0..n - 2).rev() {
            let piece = match is_constant {
                true => rows[at],
                false => self.line(points, rows, at, u),
            };
            value = self.unless_below(points[at + 1], u, piece, value, span);
        }
        if holds {
            value = self.unless_below(points[0], u, rows[0], value, span);
        }
        value
    }

    fn unless_below(
        &mut self,
        limit: f64,
        u: ExprId,
        below: ExprId,
        above: ExprId,
        span: Span,
    ) -> ExprId {
        let limit = self.graph.constant(limit);
        let condition = self.graph.binary(BinaryOp::Less, u, limit);
        self.choose(Type::Real, condition, below, above, span)
    }

    fn line(&mut self, points: &[f64], rows: &[ExprId], at: usize, u: ExprId) -> ExprId {
        let from = self.graph.constant(points[at]);
        let width = self.graph.constant(1.0 / (points[at + 1] - points[at]));
        let offset = self.graph.sub(u, from);
        let share = self.graph.mul(offset, width);
        let rise = self.graph.sub(rows[at + 1], rows[at]);
        let term = self.graph.mul(share, rise);
        self.graph.add(rows[at], term)
    }
}

fn plain(smoothness: Smoothness) -> Smoothness {
    match smoothness {
        Smoothness::Constant => Smoothness::Constant,
        _ => Smoothness::Linear,
    }
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
