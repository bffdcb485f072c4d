//! Whole multiples of what angles are made of.

use daelight_algebra::{IBig, RBig, integer};
use std::collections::BTreeMap;

/// For each part of angles the fraction of it that all its occurrences are whole multiples of: x and x/2 are multiples of
/// x/2.
///
/// Parts are noted before any multiple is asked for, since the fraction is known only after all were seen.
#[derive(Debug)]
pub struct BaseMultiples<K> {
    noted: BTreeMap<K, Noted>,
}

#[derive(Debug)]
struct Noted {
    /// The least common denominator.
    over: IBig,
    /// The greatest common divisor of the numerators over it.
    common: IBig,
}

impl<K> Default for BaseMultiples<K> {
    fn default() -> Self {
        Self {
            noted: BTreeMap::new(),
        }
    }
}

impl<K: Ord> BaseMultiples<K> {
    /// Notes that `ratio` times a part occurs.
    pub fn note(&mut self, part: K, ratio: &RBig) {
        let divisor = IBig::from(ratio.denominator().clone());
        let noted = self.noted.entry(part).or_insert(Noted {
            over: IBig::ONE,
            common: IBig::ZERO,
        });
        let factor = &divisor / integer::gcd(&noted.over, &divisor);
        noted.over = &noted.over * &factor;
        let numerator = ratio.numerator() * (&noted.over / divisor);
        noted.common = integer::gcd(&(&noted.common * factor), &numerator);
    }

    /// What a part is divided by; `None` if it was never noted.
    pub fn over(&self, part: &K) -> Option<&IBig> {
        self.noted.get(part).map(|noted| &noted.over)
    }

    /// The greatest common divisor of all multiples of `part / over`, 1 if there is none but 0.
    pub fn common(&self, part: &K) -> IBig {
        let common = self.noted.get(part).map(|noted| &noted.common);
        common
            .filter(|common| !common.is_zero())
            .map_or(IBig::ONE, IBig::clone)
    }

    /// The whole number k with `ratio = k / over`.
    ///
    /// A part that was never noted, since it came up only when the angles inside an angle were expanded, is noted now.
    /// `None` where there is no such number: another multiple of the part was the first of its kind.
    pub fn multiple(&mut self, part: K, ratio: &RBig) -> Option<IBig>
    where
        K: Clone,
    {
        if !self.noted.contains_key(&part) {
            self.note(part.clone(), ratio);
        }
        let whole = ratio * RBig::from(self.noted[&part].over.clone());
        whole
            .denominator()
            .is_one()
            .then(|| whole.numerator().clone())
    }
}
