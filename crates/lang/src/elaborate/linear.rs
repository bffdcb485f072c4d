//! Linear systems that libraries solve while a model is made: `dgesv` and `dgelsy` of known numbers.

use super::value::Value;
use super::{Checked, Elaborator};
use crate::ast::External;
use crate::diagnostic::{Code, Diagnostic};
use crate::model::Type;
use crate::source::Span;

/// Minimises |A X - B| for `m` by `n` numbers A and `m` by `k` numbers B, both by rows: X by rows.
///
/// Householder's QR with the longest column first; `None` where columns depend on each other up to `rcond`.
fn least_squares(a: &[f64], b: &[f64], [m, n, k]: [usize; 3], rcond: f64) -> Option<Vec<f64>> {
    let (mut a, mut b) = (a.to_vec(), b.to_vec());
    let mut order: Vec<usize> = (0..n).collect();
    let mut diagonal = Vec::with_capacity(n);
    if m < n {
        return None;
    }
    for step in 0..n {
        let length = |a: &[f64], column: usize| -> f64 {
            let squares = (step..m).map(|row| a[row * n + column].powi(2));
            squares.sum::<f64>().sqrt()
        };
        let longest = (step..n).max_by(|&i, &j| length(&a, i).total_cmp(&length(&a, j)))?;
        order.swap(step, longest);
        for row in 0..m {
            a.swap(row * n + step, row * n + longest);
        }
        let norm = length(&a, step);
        let first = *diagonal.first().unwrap_or(&norm);
        if norm == 0.0 || norm <= rcond.max(f64::EPSILON) * f64::abs(first) {
            return None;
        }
        let head = a[step * n + step];
        let image = if head > 0.0 { -norm } else { norm };
        diagonal.push(image);
        let mut v: Vec<f64> = (step..m).map(|row| a[row * n + step]).collect();
        v[0] -= image;
        let square: f64 = v.iter().map(|x| x * x).sum();
        let reflect = |data: &mut [f64], width: usize, column: usize| {
            let at = |row: usize| (step + row) * width + column;
            let product: f64 = v.iter().enumerate().map(|(row, x)| x * data[at(row)]).sum();
            for (row, x) in v.iter().enumerate() {
                data[at(row)] -= 2.0 * product / square * x;
            }
        };
        (step..n).for_each(|column| reflect(&mut a, n, column));
        (0..k).for_each(|column| reflect(&mut b, k, column));
    }
    let mut x = vec![0.0; n * k];
    for column in 0..k {
        for row in (0..n).rev() {
            let known = (row + 1..n).map(|j| a[row * n + j] * x[order[j] * k + column]);
            let rest = b[row * k + column] - known.sum::<f64>();
            x[order[row] * k + column] = rest / diagonal[row];
        }
    }
    Some(x)
}

impl<'a> Elaborator<'a> {
    /// `dgesv` and `dgelsy`, which give their results in their arguments; whether the function is one of them.
    pub(super) fn solve_linear(
        &mut self,
        external: &'a External,
        values: &[Option<Value>],
        call: Span,
    ) -> Checked<bool> {
        // Places of the matrix, the right sides and the answer, and of how much of 1 counts as zero.
        let (matrix, sides, info, rcond, rank) = match external.name.as_deref() {
            Some("dgesv") => (2, 5, 7, None, None),
            Some("dgelsy") => (3, 5, 12, Some(8), Some(9)),
            _ => return Ok(false),
        };
        let (Some(Some(a)), Some(Some(b))) = (values.get(matrix), values.get(sides)) else {
            return Ok(false);
        };
        let &[m, n] = a.dims() else {
            return Ok(false);
        };
        let k = b.dims().get(1).copied().unwrap_or(1);
        let (a, b_dims, b) = (a.clone(), b.dims().to_vec(), b.clone());
        let mut numbers = [Vec::new(), Vec::new()];
        for (value, into) in [&a, &b].into_iter().zip(&mut numbers) {
            for &element in value.elements() {
                into.push(self.known_scalar(element, "a linear system of a function", call)?);
            }
        }
        let rcond = match rcond.and_then(|at: usize| values.get(at)?.as_ref()) {
            Some(value) => {
                let expr = self.scalar(value, call)?;
                self.known_scalar(expr, "how exact a linear system is", call)?
            }
            None => 0.0,
        };
        let Some(found) = least_squares(&numbers[0], &numbers[1], [m, n, k], rcond) else {
            return Err(self.error(
                Diagnostic::error(
                    Code::BadValue,
                    call,
                    format!("a linear system has no single solution{}", self.place()),
                )
                .label(format!("{m} equations for {n} unknowns"))
                .help("give it numbers that determine its unknowns"),
            ));
        };
        let mut data = numbers[1].clone();
        data[..found.len()].copy_from_slice(&found);
        let data = data.iter().map(|&x| self.graph.constant(x)).collect();
        let solution = Value::shaped(Type::Real, b_dims, data);
        self.assign_external(external.arguments[sides], solution, call)?;
        let zero = self.graph.constant(0.0);
        let zero = Value::Scalar(Type::Integer, zero);
        self.assign_external(external.arguments[info], zero, call)?;
        if let Some(at) = rank {
            let rank = self.graph.constant(n as f64);
            let rank = Value::Scalar(Type::Integer, rank);
            self.assign_external(external.arguments[at], rank, call)?;
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::least_squares;

    /// A line through points that lie on it, and the mean where nothing but a constant is asked for.
    #[test]
    fn lines_and_means_are_found() {
        let a = [1.0, 0.0, 1.0, 1.0, 1.0, 3.0];
        let x = least_squares(&a, &[2.0, 5.0, 11.0], [3, 2, 1], 0.0).expect("a line");
        assert!((x[0] - 2.0).abs() < 1e-13 && (x[1] - 3.0).abs() < 1e-13);
        let x = least_squares(&[1.0, 1.0, 1.0, 1.0], &[1.0, 2.0, 3.0, 6.0], [4, 1, 1], 0.0);
        assert!((x.expect("a mean")[0] - 3.0).abs() < 1e-13);
    }

    #[test]
    fn columns_that_depend_on_each_other_are_refused() {
        assert!(least_squares(&[1.0, 2.0, 2.0, 4.0], &[1.0, 1.0], [2, 2, 1], 0.0).is_none());
    }
}
