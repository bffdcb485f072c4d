//! daelight tried on problems whose answers are known: the library with its references, and random DAEs with planted
//! solutions, indices and singular times, runs with closed forms, and hybrid DAEs with planted events and modes.

mod families;
mod hybrid;
mod library;
mod random;
mod tally;

pub use families::{FamilyRun, family_run, try_family};
pub use hybrid::{HybridRun, hybrid_run, try_hybrid};
pub use library::{LibraryRow, library};
pub use random::{Planted, planted, try_planted};
pub use tally::{RandomTally, problem_text, random_problems};

/// What came of a problem with a known answer.
#[derive(Clone, PartialEq, Debug)]
pub enum SelftestOutcome {
    /// Right; the largest error, in units of the value or of `nominal`.
    Right(f64),
    /// No answer, and the reason that was given.
    Open(String),
    /// An answer, and a wrong one: what was found.
    Wrong(String),
}

/// The sequence of SplitMix64 (Steele, Lea and Flood 2014): small, and the same on every machine.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below a bound.
    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    /// A number between two others, with three digits.
    fn between(&mut self, low: f64, high: f64) -> f64 {
        let unit = (self.next() >> 11) as f64 / (1_u64 << 53) as f64;
        ((low + (high - low) * unit) * 1e3).round() / 1e3
    }
}
