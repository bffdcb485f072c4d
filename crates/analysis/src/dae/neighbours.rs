//! Jets beside a jet, and sample jets around the start values of a model.

use crate::initial::TaylorJet;
use crate::tolerances::BESIDE;

/// Numbers between -1 and 1 that are the same on every machine.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        2.0 * ((self.0 >> 11) as f64 / (1u64 << 53) as f64) - 1.0
    }
}

/// A jet moved off the point in every coefficient, and a time beside its own, (20) of `docs/theory/indices.md`.
///
/// `sizes` are those of the unknowns, so that the neighbours are as near in any units.
pub(crate) fn beside(jet: &TaylorJet, time: f64, sizes: &[f64], which: usize) -> (f64, TaylorJet) {
    closer(jet, time, sizes, which, (1.0, 1.0))
}

/// The same at these parts of the distance, in the unknowns and in time.
pub(super) fn closer(
    jet: &TaylorJet,
    time: f64,
    sizes: &[f64],
    which: usize,
    (of_unknowns, of_time): (f64, f64),
) -> (f64, TaylorJet) {
    let mut numbers = Numbers(0xC0FF_EE00 + 77 * which as u64);
    let mut beside = jet.clone();
    // Sums of three uniform numbers are normal enough.
    let mut normal = || numbers.next() + numbers.next() + numbers.next();
    for k in 0..beside.n_orders() {
        for (unknown, size) in sizes.iter().enumerate() {
            let value = beside.get(unknown, k);
            let step = BESIDE * of_unknowns * (size + value.abs());
            beside.set(unknown, k, value + step * normal());
        }
    }
    let step = BESIDE * of_time * (1.0 + time.abs());
    (time + step * normal(), beside)
}

/// A jet around given values, as far from them as the unknowns are large, and a time.
pub(super) fn around(values: &[f64], sizes: &[f64]) -> (f64, TaylorJet) {
    const N_ORDERS: usize = 3;
    let mut numbers = Numbers(0x5DEE_CE66);
    let mut jet = TaylorJet::at_rest(values, N_ORDERS);
    for order in 0..N_ORDERS {
        for (unknown, size) in sizes.iter().enumerate() {
            let value = jet.get(unknown, order) + size * numbers.next();
            jet.set(unknown, order, value);
        }
    }
    (numbers.next(), jet)
}
