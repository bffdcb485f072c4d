//! The SIMD kernels of the lane-packed back end: one convolution for many operations at once.
//!
//! A group of operations of one kind is a row of lanes. Its operands are rows too, one per order, and
//! the kernel runs acc[lane] += left[i][lane] * right[k-i][lane] over i. The sum runs in the order of
//! `recurrence.rs` and multiplication and addition stay separate, so the bits are the same; two loads
//! per term are the bottleneck, not the arithmetic.

use pulp::Simd;

/// Lanes come in blocks of this many, the widest register of any instruction set used.
pub(crate) const BLOCK: usize = 8;

/// The shapes of recurrence that run in lanes; numbers are formulas of docs/theory/jets.md.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Kernel {
    /// (6): the product of left and right.
    Product,
    /// (7): the square of left, half the work.
    Square,
    /// (8), (9): numerator over left; right holds the own lower coefficients.
    Quotient,
    /// (10): the root of the numerator; left holds the own lower coefficients.
    Root,
    /// (14) to (21): h' = factor x' g, left holds i x_i and right g.
    SlopeProduct,
    /// (22) to (26): q h' = factor x', left holds i h_i and right q.
    SlopeQuotient,
}

/// Rows of lanes, one per order, seen as SIMD registers.
pub(crate) struct Rows<'a, S: Simd> {
    data: &'a [S::f64s],
    stride: usize,
    start: usize,
}

impl<S: Simd> Clone for Rows<'_, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S: Simd> Copy for Rows<'_, S> {}

impl<'a, S: Simd> Rows<'a, S> {
    /// Row i begins at `data[i * stride + start]`; both are multiples of [`BLOCK`].
    #[inline(always)]
    pub(crate) fn new(data: &'a [f64], stride: usize, start: usize) -> Self {
        Self {
            data: S::as_simd_f64s(data).0,
            stride: stride / S::F64_LANES,
            start: start / S::F64_LANES,
        }
    }

    #[inline(always)]
    fn at(&self, row: usize, chunk: usize) -> S::f64s {
        self.data[row * self.stride + self.start + chunk]
    }

    #[inline(always)]
    fn chunks<const N: usize>(&self, row: usize, chunk: usize) -> &'a [S::f64s; N] {
        let start = row * self.stride + self.start + chunk;
        self.data[start..start + N]
            .try_into()
            .expect("the slice has N elements")
    }
}

/// What a kernel reads; operands that its kind does not have are never touched.
pub(crate) struct Operands<'a, S: Simd> {
    pub left: Rows<'a, S>,
    pub right: Rows<'a, S>,
    /// Coefficient k of the numerators, and the factors: two rows.
    pub extra: Rows<'a, S>,
}

/// Row of the numerators among the extra rows.
pub(crate) const NUMERATOR: usize = 0;
/// Row of the factors among the extra rows.
pub(crate) const FACTOR: usize = 1;

/// Coefficient k >= 1 of a whole group.
///
/// Four chunks at a time hide the latency of the additions.
#[inline(always)]
pub(crate) fn run<S: Simd>(
    simd: S,
    kernel: Kernel,
    k: usize,
    operands: &Operands<'_, S>,
    out: &mut [f64],
) {
    let out = S::as_mut_simd_f64s(out).0;
    let Operands { left, right, .. } = *operands;
    let half = (k - 1) / 2;
    let (right, first, last) = match kernel {
        Kernel::Product => (right, 0, k),
        Kernel::Square => (left, 0, half),
        Kernel::Root => (left, 1, half),
        Kernel::Quotient | Kernel::SlopeProduct => (right, 1, k),
        Kernel::SlopeQuotient => (right, 1, k - 1),
    };
    let mut chunk = 0;
    while chunk + 4 <= out.len() {
        let sums = dots::<S, 4>(simd, left, right, first, last, k, chunk);
        for (place, sum) in sums.into_iter().enumerate() {
            out[chunk + place] = finish(simd, kernel, k, operands, chunk + place, sum);
        }
        chunk += 4;
    }
    while chunk + 2 <= out.len() {
        let sums = dots::<S, 2>(simd, left, right, first, last, k, chunk);
        for (place, sum) in sums.into_iter().enumerate() {
            out[chunk + place] = finish(simd, kernel, k, operands, chunk + place, sum);
        }
        chunk += 2;
    }
    if chunk < out.len() {
        let [sum] = dots::<S, 1>(simd, left, right, first, last, k, chunk);
        out[chunk] = finish(simd, kernel, k, operands, chunk, sum);
    }
}

/// The coefficient from the sum of the convolution.
#[inline(always)]
fn finish<S: Simd>(
    simd: S,
    kernel: Kernel,
    k: usize,
    operands: &Operands<'_, S>,
    chunk: usize,
    sum: S::f64s,
) -> S::f64s {
    let Operands { left, right, extra } = *operands;
    match kernel {
        Kernel::Product => sum,
        Kernel::Square => doubled(simd, k, left, chunk, sum),
        Kernel::Quotient => {
            let rest = simd.sub_f64s(extra.at(NUMERATOR, chunk), sum);
            simd.div_f64s(rest, left.at(0, chunk))
        }
        Kernel::Root => {
            let sum = doubled(simd, k, left, chunk, sum);
            let rest = simd.sub_f64s(extra.at(NUMERATOR, chunk), sum);
            let twice = simd.mul_f64s(simd.splat_f64s(2.0), left.at(0, chunk));
            simd.div_f64s(rest, twice)
        }
        Kernel::SlopeProduct => {
            let signed = simd.mul_f64s(extra.at(FACTOR, chunk), sum);
            simd.div_f64s(signed, simd.splat_f64s(k as f64))
        }
        Kernel::SlopeQuotient => {
            let top = simd.mul_f64s(extra.at(FACTOR, chunk), extra.at(NUMERATOR, chunk));
            let rest = simd.sub_f64s(top, simd.div_f64s(sum, simd.splat_f64s(k as f64)));
            simd.div_f64s(rest, right.at(0, chunk))
        }
    }
}

/// Twice the half sum, and the square in the middle when k is even.
#[inline(always)]
fn doubled<S: Simd>(simd: S, k: usize, rows: Rows<'_, S>, chunk: usize, sum: S::f64s) -> S::f64s {
    let sum = simd.mul_f64s(simd.splat_f64s(2.0), sum);
    if k.is_multiple_of(2) {
        let middle = rows.at(k / 2, chunk);
        simd.add_f64s(sum, simd.mul_f64s(middle, middle))
    } else {
        sum
    }
}

/// The sums of left_i right_{k-i} for i in first..=last, for N chunks at once.
#[inline(always)]
fn dots<S: Simd, const N: usize>(
    simd: S,
    left: Rows<'_, S>,
    right: Rows<'_, S>,
    first: usize,
    last: usize,
    k: usize,
    chunk: usize,
) -> [S::f64s; N] {
    let mut sums = [simd.splat_f64s(0.0); N];
    for i in first..=last {
        let a = left.chunks::<N>(i, chunk);
        let b = right.chunks::<N>(k - i, chunk);
        for n in 0..N {
            sums[n] = simd.add_f64s(sums[n], simd.mul_f64s(a[n], b[n]));
        }
    }
    sums
}
