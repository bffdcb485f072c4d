//! Eigenvalues of a real square matrix, each with what a change of the matrix does to it.

use crate::scratch::Scratch;
use crate::{LinalgError, Mat, MatRef};
use faer::Par;
use faer::diag::DiagMut;
use faer::linalg::evd::{ComputeEigenvectors, evd_real, evd_scratch};

/// An eigenvalue with its right eigenvector of length 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Eigenvalue {
    /// Real part.
    pub re: f64,
    /// Imaginary part.
    pub im: f64,
    /// ‖y‖ ‖x‖ / |y^H x| for left and right eigenvectors y and x: how far the eigenvalue moves when the matrix moves by 1.
    /// Infinite for a multiple eigenvalue with too few eigenvectors.
    pub condition: f64,
    /// The eigenvector, each component by its real and imaginary part.
    pub vector: Vec<[f64; 2]>,
}

/// Powers of two d such that rows and columns of D⁻¹ A D have comparable sizes: eigenvalues stay, and are found to the rounding of
/// this matrix instead of that of A, whose entries may differ by the units of its unknowns.
///
/// Rows and columns are made equal one after the other as long as that makes their sum smaller (Osborne's iteration). Eigenvectors of the
/// balanced matrix are D⁻¹ times those of A, and less exact in A's own units: [`eigenvalues`] does not balance.
pub fn balancing(a: MatRef<'_>) -> Vec<f64> {
    let n = a.nrows();
    let a = a.to_owned();
    let mut d = vec![1.0_f64; n];
    // Each sweep makes the sum smaller by a constant factor; with n unknowns in a chain it takes about n of them.
    for _ in 0..10 + n {
        let mut is_changed = false;
        for i in 0..n {
            let others = |entry: &dyn Fn(usize) -> f64| -> f64 {
                (0..n).filter(|&j| j != i).map(entry).sum()
            };
            let column = others(&|j| (a[(j, i)] * d[i] / d[j]).abs());
            let row = others(&|j| (a[(i, j)] * d[j] / d[i]).abs());
            let factor = (row / column).sqrt().log2().round().exp2();
            let usable = row > 0.0 && column > 0.0 && factor.is_finite() && factor > 0.0;
            if usable && column * factor + row / factor < 0.95 * (column + row) {
                d[i] *= factor;
                is_changed = true;
            }
        }
        if !is_changed {
            break;
        }
    }
    d
}

/// Computes all eigenvalues, the largest real part first; conjugate pairs stand together, the positive imaginary part first.
///
/// ```
/// use daelight_linalg::{Mat, eigenvalues};
/// let a = Mat::from_rows(&[&[0.0, 1.0], &[-4.0, -2.0]]);
/// let found = eigenvalues(a.view())?;
/// assert!((found[0].re + 1.0).abs() < 1e-14 && (found[0].im - 3.0_f64.sqrt()).abs() < 1e-14);
/// # Ok::<(), daelight_linalg::LinalgError>(())
/// ```
pub fn eigenvalues(a: MatRef<'_>) -> Result<Vec<Eigenvalue>, LinalgError> {
    let n = a.nrows();
    if a.ncols() != n {
        return Err(LinalgError::Shape {
            expected: (n, n),
            found: (n, a.ncols()),
        });
    }
    if !a.is_finite() {
        return Err(LinalgError::InputNotFinite);
    }
    if n == 0 {
        return Ok(Vec::new());
    }
    let mut scratch = Scratch::default();
    let yes = ComputeEigenvectors::Yes;
    scratch.reserve(evd_scratch::<f64>(
        n,
        yes,
        yes,
        Par::Seq,
        Default::default(),
    ));
    let (mut re, mut im) = (vec![0.0; n], vec![0.0; n]);
    let (mut left, mut right) = (Mat::zeros(n, n), Mat::zeros(n, n));
    let matrix = a.to_owned();
    evd_real(
        faer::MatRef::from_column_major_slice(matrix.as_slice(), n, n),
        DiagMut::from_slice_mut(&mut re),
        DiagMut::from_slice_mut(&mut im),
        Some(left.view_mut().into_faer()),
        Some(right.view_mut().into_faer()),
        Par::Seq,
        scratch.stack(),
        Default::default(),
    )
    .map_err(|_| LinalgError::NoConvergence)?;
    let mut found = Vec::with_capacity(n);
    let mut j = 0;
    while j < n {
        // A conjugate pair stores the real and the imaginary part of its vector in two columns.
        let is_pair = im[j] != 0.0 && j + 1 < n;
        let column = |vectors: &Mat, sign: f64| -> Vec<[f64; 2]> {
            let real = vectors.col(j).iter();
            if is_pair {
                let other = vectors.col(j + 1);
                real.zip(other).map(|(&x, &y)| [x, sign * y]).collect()
            } else {
                real.map(|&x| [x, 0.0]).collect()
            }
        };
        let y = column(&left, 1.0);
        for k in 0..if is_pair { 2 } else { 1 } {
            let mut vector = column(&right, if k == 0 { 1.0 } else { -1.0 });
            let condition = condition(&y, &vector);
            let length = norm(&vector);
            for part in vector.iter_mut().flatten() {
                *part /= length;
            }
            found.push(Eigenvalue {
                re: re[j + k],
                im: im[j + k],
                condition,
                vector,
            });
        }
        j += if is_pair { 2 } else { 1 };
    }
    sorted(found)
}

/// Eigenvalues in their order, if all are numbers.
fn sorted(mut found: Vec<Eigenvalue>) -> Result<Vec<Eigenvalue>, LinalgError> {
    let finite = |e: &Eigenvalue| {
        let parts = e.vector.iter().flatten();
        e.re.is_finite() && e.im.is_finite() && parts.into_iter().all(|part| part.is_finite())
    };
    if !found.iter().all(finite) {
        return Err(LinalgError::ResultNotFinite);
    }
    found.sort_by(|a, b| {
        let size = (b.re, a.im.abs(), b.im);
        let other = (a.re, b.im.abs(), a.im);
        size.partial_cmp(&other)
            .unwrap_or(std::cmp::Ordering::Equal)
    });
    Ok(found)
}

fn norm(x: &[[f64; 2]]) -> f64 {
    x.iter().flatten().map(|v| v * v).sum::<f64>().sqrt()
}

/// ‖y‖ ‖x‖ / |y^H x|. A left vector may belong to the conjugate eigenvalue; the other product then vanishes.
fn condition(y: &[[f64; 2]], x: &[[f64; 2]]) -> f64 {
    let product = |sign: f64| {
        let (mut re, mut im) = (0.0, 0.0);
        for (&[a, b], &[c, d]) in y.iter().zip(x) {
            re += a * c - sign * b * d;
            im += a * d + sign * b * c;
        }
        f64::hypot(re, im)
    };
    norm(y) * norm(x) / product(1.0).max(product(-1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(rows: &[&[f64]], expected: &[(f64, f64)], tolerance: f64) -> Vec<Eigenvalue> {
        let a = Mat::from_rows(rows);
        let found = eigenvalues(a.view()).expect("a finite matrix");
        assert_eq!(found.len(), expected.len());
        for (value, &(re, im)) in found.iter().zip(expected) {
            let error = f64::hypot(value.re - re, value.im - im);
            assert!(
                error < tolerance,
                "{} + {}i is not {re} + {im}i",
                value.re,
                value.im
            );
            // A x = lambda x, in real and imaginary parts.
            let parts = [0, 1].map(|k| value.vector.iter().map(|v| v[k]).collect::<Vec<_>>());
            let [real, imaginary] = parts.map(|part| a.mul_vec(&part));
            for ((&[x, y], re), im) in value.vector.iter().zip(real).zip(imaginary) {
                let residual = f64::hypot(
                    re - value.re * x + value.im * y,
                    im - value.re * y - value.im * x,
                );
                assert!(residual < 1e-12 * a.view().norm_frobenius());
            }
        }
        found
    }

    #[test]
    fn eigenvalues_come_sorted_with_their_vectors() {
        check(&[], &[], 0.0);
        let found = check(&[&[-3.0]], &[(-3.0, 0.0)], 1e-15);
        assert!((found[0].condition - 1.0).abs() < 1e-15);
        check(
            &[
                &[0.0, 2.0, 0.0, 0.0],
                &[-2.0, 0.0, 0.0, 0.0],
                &[1.0, 0.0, -1.0, 5.0],
                &[0.0, 0.0, 0.0, 3.0],
            ],
            &[(3.0, 0.0), (0.0, 2.0), (0.0, -2.0), (-1.0, 0.0)],
            1e-13,
        );
    }

    /// In other units, D⁻¹ A D, the eigenvalues are the same.
    #[test]
    fn units_change_no_eigenvalue() {
        let balanced = |a: &Mat| {
            let d = balancing(a.view());
            let matrix = Mat::from_fn(a.nrows(), a.nrows(), |i, j| a[(i, j)] * d[j] / d[i]);
            eigenvalues(matrix.view())
        };
        let a = Mat::from_rows(&[&[0.0, 1e10], &[1e-9, 0.0]]);
        let found = balanced(&a).expect("a finite matrix");
        for (value, sign) in found.iter().zip([1.0, -1.0]) {
            assert!(
                (value.re - sign * 10.0_f64.sqrt()).abs() < 1e-14,
                "{value:?}"
            );
        }
        let mut seed = 7_u64;
        let mut random = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
        };
        for _ in 0..50 {
            let a = Mat::from_fn(5, 5, |_, _| random());
            let units: Vec<f64> = (0..5).map(|_| 10f64.powf(8.0 * random())).collect();
            let b = Mat::from_fn(5, 5, |i, j| a[(i, j)] * units[j] / units[i]);
            let (x, y) = (eigenvalues(a.view()), balanced(&b));
            let (x, y) = (x.expect("finite"), y.expect("finite"));
            for (x, y) in x.iter().zip(&y) {
                let distance = f64::hypot(x.re - y.re, x.im - y.im);
                assert!(distance < 1e-13 * x.condition.max(1.0), "{x:?} {y:?}");
            }
        }
    }

    #[test]
    fn a_defective_eigenvalue_is_known_to_be_sensitive() {
        let found = check(&[&[1.0, 1.0], &[0.0, 1.0]], &[(1.0, 0.0); 2], 1e-7);
        assert!(found.iter().all(|value| value.condition > 1e7));
        let found = check(&[&[1.0, 0.0], &[0.0, 1.0]], &[(1.0, 0.0); 2], 1e-15);
        assert!(found.iter().all(|value| value.condition < 1.1));
    }

    #[test]
    fn bad_input_is_refused() {
        let nan = Mat::from_rows(&[&[f64::NAN]]);
        assert_eq!(eigenvalues(nan.view()), Err(LinalgError::InputNotFinite));
        assert!(eigenvalues(Mat::zeros(2, 3).view()).is_err());
    }
}
