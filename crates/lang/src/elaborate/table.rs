//! Tables: interpolation as expressions that are exact on every piece (`docs/theory/components.md`, section 5).
//!
//! Their numbers come from `matrix.rs`.

use super::Elaborator;
use super::matrix::Grid;
use crate::model::Type;
use crate::source::Span;
use daelight_expr::{BinaryOp, ExprId, UnaryOp};

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
    /// Whether it is one over time: its jumps are events.
    pub is_over_time: bool,
    /// Of a table over time: before this it is zero.
    pub start: f64,
    pub shift: f64,
}

/// Points of one argument with the values there, and slopes where the pieces are cubic.
struct Line {
    x: Vec<f64>,
    values: Vec<ExprId>,
    slopes: Vec<ExprId>,
}

/// Slopes at the points of a cubic Hermite interpolation.
///
/// Akima (J. ACM 17, 1970), Fritsch and Butland (SISC 5, 1984), Steffen (A&A 239, 1990).
fn slopes(smoothness: Smoothness, x: &[f64], y: &[f64]) -> Vec<f64> {
    let n = x.len();
    let secant: Vec<f64> = (0..n - 1)
        .map(|at| (y[at + 1] - y[at]) / (x[at + 1] - x[at]))
        .collect();
    let slope = |at: usize| match smoothness {
        Smoothness::Akima | Smoothness::ModifiedAkima => {
            let near = neighbours(at, &secant);
            let [left, right] = weights(smoothness, near);
            match left + right {
                0.0 if smoothness == Smoothness::ModifiedAkima => 0.0,
                0.0 => (near[1] + near[2]) / 2.0,
                sum => (left * near[1] + right * near[2]) / sum,
            }
        }
        _ if at == 0 => secant[0],
        _ if at == n - 1 => secant[n - 2],
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
    };
    (0..n).map(slope).collect()
}

/// The two secants before a point and the two behind it, continued beyond the ends as Akima does.
fn neighbours(at: usize, secant: &[f64]) -> [f64; 4] {
    let m = secant.len();
    let value = |i: isize| -> f64 {
        let last = m as isize - 1;
        let beyond = |steps: f64, end: f64, next: f64| (1.0 + steps) * end - steps * next;
        let (first, end) = (secant[0], secant[m - 1]);
        match i {
            _ if m == 1 => first,
            i if i < 0 => beyond(-i as f64, first, secant[1]),
            i if i > last => beyond((i - last) as f64, end, secant[m - 2]),
            i => secant[i as usize],
        }
    };
    let i = at as isize;
    [value(i - 2), value(i - 1), value(i), value(i + 1)]
}

/// The weights of the secants before and behind a point.
fn weights(smoothness: Smoothness, [a, b, c, d]: [f64; 4]) -> [f64; 2] {
    let (mut left, mut right) = ((d - c).abs(), (b - a).abs());
    if smoothness == Smoothness::ModifiedAkima {
        left += (d + c).abs() / 2.0;
        right += (b + a).abs() / 2.0;
    }
    [left, right]
}

/// The slopes along x, along y and of the twist at the points of a grid, `[row][column]`.
///
/// Akima (Communications of the ACM 17(1), 1974): the twist is the mean of the four cells around a point, each with the
/// product of the weights of its directions.
fn slopes_2(x: &[f64], y: &[f64], z: &[Vec<f64>]) -> [Vec<Vec<f64>>; 3] {
    let (n, m) = (x.len(), y.len());
    let column = |j: usize| z.iter().map(|row| row[j]).collect::<Vec<f64>>();
    let along_y: Vec<Vec<f64>> = z
        .iter()
        .map(|row| slopes(Smoothness::Akima, y, row))
        .collect();
    let by_column: Vec<Vec<f64>> = (0..m)
        .map(|j| slopes(Smoothness::Akima, x, &column(j)))
        .collect();
    let secants = |at: &[f64], values: &[f64]| -> Vec<f64> {
        (0..at.len() - 1)
            .map(|k| (values[k + 1] - values[k]) / (at[k + 1] - at[k]))
            .collect()
    };
    let share = |near: [f64; 4]| match weights(Smoothness::Akima, near) {
        [left, right] if left + right == 0.0 => [0.5, 0.5],
        [left, right] => [left / (left + right), right / (left + right)],
    };
    // Secants along y of every row, and their secants along x: one number for each cell.
    let rows: Vec<Vec<f64>> = z.iter().map(|row| secants(y, row)).collect();
    let cells: Vec<Vec<f64>> = (0..m - 1)
        .map(|j| secants(x, &rows.iter().map(|row| row[j]).collect::<Vec<f64>>()))
        .collect();
    let twist = |i: usize, j: usize| {
        let of_x = share(neighbours(i, &secants(x, &column(j))));
        let of_y = share(neighbours(j, &rows[i]));
        // The cells beside the point along x, for each strip of cells along y.
        let before: Vec<f64> = cells.iter().map(|strip| neighbours(i, strip)[1]).collect();
        let behind: Vec<f64> = cells.iter().map(|strip| neighbours(i, strip)[2]).collect();
        let (before, behind) = (neighbours(j, &before), neighbours(j, &behind));
        of_x[0] * (of_y[0] * before[1] + of_y[1] * before[2])
            + of_x[1] * (of_y[0] * behind[1] + of_y[1] * behind[2])
    };
    let along_x = (0..n)
        .map(|i| by_column.iter().map(|slope| slope[i]).collect())
        .collect();
    let twists = (0..n)
        .map(|i| (0..m).map(|j| twist(i, j)).collect())
        .collect();
    [along_x, along_y, twists]
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
        if column >= table.grid.n_columns {
            return None;
        }
        let rows = 0..table.grid.n_rows;
        let x: Vec<f64> = rows.clone().map(|row| table.grid.at(row, 0)).collect();
        let y: Vec<f64> = rows.map(|row| table.grid.at(row, column)).collect();
        self.over_one(table, x, &y, u, span)
    }

    /// Numbers at points, interpolated.
    fn over_one(
        &mut self,
        table: &Table,
        x: Vec<f64>,
        y: &[f64],
        u: ExprId,
        span: Span,
    ) -> Option<ExprId> {
        let rises = |pair: &[f64]| pair[0] <= pair[1];
        if x.is_empty() || !x.windows(2).all(rises) {
            return None;
        }
        let u = match table.extrapolation {
            Extrapolation::Periodic => self.within_first_period(x[0], x[x.len() - 1], u, span),
            _ => u,
        };
        let smoothness = match (table.smoothness, x.len()) {
            (Smoothness::Constant, _) => Smoothness::Constant,
            (_, ..=2) => Smoothness::Linear,
            (smoothness, _) => smoothness,
        };
        let is_cubic = !matches!(smoothness, Smoothness::Linear | Smoothness::Constant);
        if is_cubic && x.windows(2).any(|pair| pair[0] == pair[1]) {
            return None;
        }
        let slopes = match is_cubic {
            true => slopes(smoothness, &x, y),
            false => Vec::new(),
        };
        let line = Line {
            x,
            values: self.constants(y),
            slopes: self.constants(&slopes),
        };
        let value = self.along(&line, smoothness, table.extrapolation, u, span);
        if !table.is_over_time {
            return Some(value);
        }
        self.note_jumps(&line.x, smoothness, u, span);
        Some(match smoothness {
            // A number that events change is no condition on the equations.
            Smoothness::Constant if self.varies(value) => {
                let name = crate::model::shorten(&self.slice(span), 60);
                let rule = crate::hybrid::Rule::Expression(value);
                let unknown = self.hidden(name, Type::Real, rule, None, span);
                self.unknown_symbol(unknown)
            }
            _ => value,
        })
    }

    /// Where a table over time jumps there is an event; its kinks are met as those of any function of time.
    fn note_jumps(&mut self, x: &[f64], smoothness: Smoothness, u: ExprId, span: Span) {
        for (at, &point) in x.iter().enumerate() {
            let is_double = at > 0 && x[at - 1] == point;
            if is_double || smoothness == Smoothness::Constant {
                let limit = self.graph.constant(point);
                let relation = self.graph.binary(BinaryOp::Less, u, limit);
                self.discrete.relations.entry(relation).or_insert(span);
            }
        }
    }

    /// The argument less whole periods, so that it lies between two ends.
    fn within_first_period(&mut self, first: f64, last: f64, u: ExprId, span: Span) -> ExprId {
        if last <= first {
            return u;
        }
        let (from, length) = (
            self.graph.constant(first),
            self.graph.constant(last - first),
        );
        let distance = self.graph.sub(u, from);
        let periods = self.graph.div(distance, length);
        let periods = self.floor_of(periods, span);
        let whole = self.graph.mul(periods, length);
        self.graph.sub(u, whole)
    }

    fn constants(&mut self, numbers: &[f64]) -> Vec<ExprId> {
        numbers.iter().map(|&x| self.graph.constant(x)).collect()
    }

    /// The pieces of a line, chosen by the argument; section 5 of the theory.
    fn along(
        &mut self,
        line: &Line,
        smoothness: Smoothness,
        extrapolation: Extrapolation,
        u: ExprId,
        span: Span,
    ) -> ExprId {
        let n = line.x.len();
        let (first, last) = (line.x[0], line.x[n - 1]);
        if n == 1 {
            return line.values[0];
        }
        let tangent = |elaborator: &mut Self, at: usize, piece: usize| match line.slopes.get(at) {
            Some(&slope) => elaborator.beyond_point(line, at, slope, u),
            None => {
                let secant = elaborator.secant(line, piece);
                elaborator.beyond_point(line, at, secant, u)
            }
        };
        // A straight last piece goes on as it is: nothing switches at its end.
        let goes_on = smoothness == Smoothness::Linear && line.x[n - 2] < last;
        let (before, behind) = match extrapolation {
            Extrapolation::Hold => (line.values[0], line.values[n - 1]),
            _ if goes_on => (tangent(self, 0, 0), tangent(self, n - 2, n - 2)),
            _ => (tangent(self, 0, 0), tangent(self, n - 1, n - 2)),
        };
        let mut leaves = vec![(f64::NEG_INFINITY, before)];
        for at in 0..n - 1 {
            if line.x[at] < line.x[at + 1] {
                let piece = self.piece(line, smoothness, at, u);
                leaves.push((line.x[at], piece));
            }
        }
        leaves.push((last, behind));
        let mut value = self.leaf_at(&leaves, u, span);
        if extrapolation == Extrapolation::None {
            value = self.only_between(first, last, value, u);
        }
        value
    }

    /// The piece behind a point.
    fn piece(&mut self, line: &Line, smoothness: Smoothness, at: usize, u: ExprId) -> ExprId {
        if smoothness == Smoothness::Constant {
            return line.values[at];
        }
        let secant = self.secant(line, at);
        if line.slopes.is_empty() {
            return self.beyond_point(line, at, secant, u);
        }
        let (a, b) = (line.slopes[at], line.slopes[at + 1]);
        let width = line.x[at + 1] - line.x[at];
        let twice = |elaborator: &mut Self, x: ExprId, factor: f64| {
            let factor = elaborator.graph.constant(factor);
            elaborator.graph.mul(factor, x)
        };
        let (three, two) = (twice(self, secant, 3.0), twice(self, secant, 2.0));
        let both = self.graph.add(a, b);
        let bent = self.graph.add(a, both);
        let square = self.graph.sub(three, bent);
        let cube = self.graph.sub(both, two);
        let coefficients = [
            a,
            twice(self, square, 1.0 / width),
            twice(self, cube, 1.0 / (width * width)),
        ];
        let from = self.graph.constant(line.x[at]);
        let v = self.graph.sub(u, from);
        let (mut value, mut power) = (line.values[at], v);
        for (order, coefficient) in coefficients.into_iter().enumerate() {
            if order > 0 {
                power = self.graph.mul(power, v);
            }
            let term = self.graph.mul(coefficient, power);
            value = self.graph.add(value, term);
        }
        value
    }

    /// The straight line through a point.
    fn beyond_point(&mut self, line: &Line, at: usize, slope: ExprId, u: ExprId) -> ExprId {
        let from = self.graph.constant(line.x[at]);
        let v = self.graph.sub(u, from);
        let rise = self.graph.mul(slope, v);
        self.graph.add(line.values[at], rise)
    }

    /// The secant behind a point; zero at a jump.
    fn secant(&mut self, line: &Line, at: usize) -> ExprId {
        let width = line.x[at + 1] - line.x[at];
        let rise = self.graph.sub(line.values[at + 1], line.values[at]);
        let factor = if width > 0.0 { 1.0 / width } else { 0.0 };
        let factor = self.graph.constant(factor);
        self.graph.mul(rise, factor)
    }

    /// The leaf whose beginning is the last one not behind the argument.
    fn leaf_at(&mut self, leaves: &[(f64, ExprId)], u: ExprId, span: Span) -> ExprId {
        if let [(_, leaf)] = leaves {
            return *leaf;
        }
        let (left, right) = leaves.split_at(leaves.len() / 2);
        let limit = self.graph.constant(right[0].0);
        let condition = self.graph.binary(BinaryOp::Less, u, limit);
        let (a, b) = (self.leaf_at(left, u, span), self.leaf_at(right, u, span));
        self.choose(Type::Real, condition, a, b, span)
    }

    /// A value that ends where the points do: beyond them a root has no value.
    fn only_between(&mut self, first: f64, last: f64, value: ExprId, u: ExprId) -> ExprId {
        let (low, high) = (self.graph.constant(first), self.graph.constant(last));
        let zero = self.graph.constant(0.0);
        let mut value = value;
        for (op, distance) in [
            (BinaryOp::Less, self.graph.sub(u, low)),
            (BinaryOp::Greater, self.graph.sub(high, u)),
        ] {
            let limit = if op == BinaryOp::Less { low } else { high };
            let root = self.graph.unary(UnaryOp::Sqrt, distance);
            let nothing = self.graph.mul(zero, root);
            let outside = self.graph.binary(op, u, limit);
            value = self.graph.select(outside, nothing, value);
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
        let grid = &table.grid;
        if grid.n_rows < 2 || grid.n_columns < 2 {
            return None;
        }
        let x: Vec<f64> = (1..grid.n_rows).map(|row| grid.at(row, 0)).collect();
        let y: Vec<f64> = (1..grid.n_columns).map(|c| grid.at(0, c)).collect();
        let z: Vec<Vec<f64>> = (1..grid.n_rows)
            .map(|row| (1..grid.n_columns).map(|c| grid.at(row, c)).collect())
            .collect();
        if x.len() == 1 {
            return self.over_one(table, y, &z[0], u[1], span);
        }
        if y.len() == 1 {
            let only: Vec<f64> = z.iter().map(|row| row[0]).collect();
            return self.over_one(table, x, &only, u[0], span);
        }
        let rises = |points: &[f64]| points.windows(2).all(|pair| pair[0] < pair[1]);
        if table.extrapolation == Extrapolation::Periodic || !rises(&x) || !rises(&y) {
            return None;
        }
        let smoothness = match table.smoothness {
            Smoothness::Akima if x.len() == 2 && y.len() == 2 => Smoothness::Linear,
            Smoothness::Akima | Smoothness::Linear | Smoothness::Constant => table.smoothness,
            _ => return None,
        };
        let slopes = match smoothness {
            Smoothness::Akima => slopes_2(&x, &y, &z),
            _ => Default::default(),
        };
        // Each row is a line over the second argument; their values and slopes make a line over the first.
        let rule = (smoothness, table.extrapolation);
        let across = Line {
            values: self.rows_along(&y, &z, &slopes[1], rule, u[1], span),
            slopes: self.rows_along(&y, &slopes[0], &slopes[2], rule, u[1], span),
            x,
        };
        Some(self.along(&across, smoothness, table.extrapolation, u[0], span))
    }

    fn rows_along(
        &mut self,
        y: &[f64],
        values: &[Vec<f64>],
        slopes: &[Vec<f64>],
        (smoothness, extrapolation): (Smoothness, Extrapolation),
        u: ExprId,
        span: Span,
    ) -> Vec<ExprId> {
        let mut rows = Vec::with_capacity(values.len());
        for (at, row) in values.iter().enumerate() {
            let line = Line {
                x: y.to_vec(),
                values: self.constants(row),
                slopes: self.constants(slopes.get(at).map_or(&[], Vec::as_slice)),
            };
            rows.push(self.along(&line, smoothness, extrapolation, u, span));
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every rule gives a straight line its own slope.
    #[test]
    fn straight_lines_stay_straight() {
        let x = [0.0, 0.5, 2.0, 3.0, 7.0];
        let y = x.map(|x| 3.0 - 2.0 * x);
        for rule in [
            Smoothness::Akima,
            Smoothness::FritschButland,
            Smoothness::Steffen,
            Smoothness::ModifiedAkima,
        ] {
            for slope in slopes(rule, &x, &y) {
                assert!((slope + 2.0).abs() < 1e-14, "{rule:?}: {slope}");
            }
        }
    }

    /// z = x y has slopes y and x, and the twist 1, at every point of any grid.
    #[test]
    fn surfaces_keep_the_twist_of_a_product() {
        let (x, y) = ([-1.0, 0.0, 2.0, 5.0], [0.0, 1.0, 4.0]);
        let z: Vec<Vec<f64>> = x.iter().map(|x| y.map(|y| x * y).to_vec()).collect();
        let [along_x, along_y, twist] = slopes_2(&x, &y, &z);
        for i in 0..x.len() {
            for j in 0..y.len() {
                assert!((along_x[i][j] - y[j]).abs() < 1e-14);
                assert!((along_y[i][j] - x[i]).abs() < 1e-14);
                assert!((twist[i][j] - 1.0).abs() < 1e-14);
            }
        }
    }

    /// Between rising points no rule that keeps monotony has a falling slope.
    #[test]
    fn slopes_of_rising_points_do_not_fall() {
        let x = [0.0, 1.0, 2.0, 3.0, 4.0];
        let y = [0.0, 0.0, 0.1, 9.0, 9.0];
        for rule in [Smoothness::FritschButland, Smoothness::Steffen] {
            assert!(slopes(rule, &x, &y).iter().all(|slope| *slope >= 0.0));
        }
    }
}
