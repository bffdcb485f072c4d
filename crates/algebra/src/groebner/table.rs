//! Monomials by number.

use super::order::{Ring, Words, coprime, divides};
use crate::random::Random;

/// The number of a monomial in a [`Table`].
pub(crate) type Id = u32;

/// All monomials of a computation, each stored once.
///
/// The hash of a product is the sum of the hashes, so a product is looked up without a pass over its words.
pub(crate) struct Table {
    ring: Ring,
    words: Vec<i16>,
    hashes: Vec<u64>,
    masks: Vec<u64>,
    /// Open addressing; [`EMPTY`] marks a free slot.
    slots: Vec<Id>,
    weights: Vec<u64>,
    /// Set when a product had too large a degree to be stored: everything since is worthless.
    overflown: bool,
}

const EMPTY: Id = Id::MAX;

impl Table {
    pub(crate) fn new(ring: Ring) -> Self {
        let mut random = Random::new(11);
        let weights = (0..ring.width()).map(|_| random.next()).collect();
        Self {
            ring,
            words: Vec::new(),
            hashes: Vec::new(),
            masks: Vec::new(),
            slots: vec![EMPTY; 1024],
            weights,
            overflown: false,
        }
    }

    pub(crate) fn ring(&self) -> &Ring {
        &self.ring
    }

    pub(crate) fn len(&self) -> usize {
        self.hashes.len()
    }

    pub(crate) fn has_overflown(&self) -> bool {
        self.overflown
    }

    pub(crate) fn words(&self, id: Id) -> &[i16] {
        let (width, at) = (self.ring.width(), id as usize);
        &self.words[at * width..(at + 1) * width]
    }

    /// Bits that are set in a multiple wherever they are set in a divisor.
    pub(crate) fn mask(&self, id: Id) -> u64 {
        self.masks[id as usize]
    }

    pub(crate) fn insert(&mut self, words: &[i16]) -> Id {
        let hash = words
            .iter()
            .zip(&self.weights)
            .fold(0u64, |hash, (&word, &weight)| {
                hash.wrapping_add(weight.wrapping_mul(word as u64))
            });
        match self.find(hash, |stored| stored == words) {
            Ok(id) => id,
            Err(slot) => self.push(words.iter().copied(), hash, slot),
        }
    }

    pub(crate) fn product(&mut self, a: Id, b: Id) -> Id {
        let hash = self.hashes[a as usize].wrapping_add(self.hashes[b as usize]);
        let (x, y) = (self.words(a), self.words(b));
        let found = self.find(hash, |stored| {
            let factors = x.iter().zip(y);
            stored
                .iter()
                .zip(factors)
                .all(|(&z, (&x, &y))| z == x.wrapping_add(y))
        });
        match found {
            Ok(id) => id,
            Err(slot) => {
                let mut sum = Words::with_capacity(x.len());
                let mut overflown = false;
                for (&x, &y) in x.iter().zip(y) {
                    let (word, too_large) = x.overflowing_add(y);
                    overflown |= too_large;
                    sum.push(word);
                }
                self.overflown |= overflown;
                self.push(sum.into_iter(), hash, slot)
            }
        }
    }

    /// The quotient by a divisor.
    pub(crate) fn quotient(&mut self, a: Id, b: Id) -> Id {
        let words = super::order::quotient(self.words(a), self.words(b));
        self.insert(&words)
    }

    pub(crate) fn lcm(&mut self, a: Id, b: Id) -> Id {
        let words = self.ring.lcm(self.words(a), self.words(b));
        self.insert(&words)
    }

    pub(crate) fn divides(&self, a: Id, b: Id) -> bool {
        self.masks[a as usize] & !self.masks[b as usize] == 0
            && divides(self.words(a), self.words(b))
    }

    pub(crate) fn coprime(&self, a: Id, b: Id) -> bool {
        coprime(&self.ring, self.words(a), self.words(b))
    }

    pub(crate) fn degree(&self, a: Id) -> u32 {
        self.ring.degree(self.words(a))
    }

    pub(crate) fn compare(&self, a: Id, b: Id) -> std::cmp::Ordering {
        self.words(a).cmp(self.words(b))
    }

    /// The number of an entry with this hash, or the free slot where it belongs.
    fn find(&self, hash: u64, is_it: impl Fn(&[i16]) -> bool) -> Result<Id, usize> {
        let last = self.slots.len() - 1;
        let mut slot = (hash ^ hash >> 32) as usize & last;
        loop {
            match self.slots[slot] {
                EMPTY => return Err(slot),
                id if self.hashes[id as usize] == hash && is_it(self.words(id)) => return Ok(id),
                _ => slot = (slot + 1) & last,
            }
        }
    }

    fn push(&mut self, words: impl Iterator<Item = i16>, hash: u64, slot: usize) -> Id {
        let id = self.hashes.len() as Id;
        self.words.extend(words);
        self.hashes.push(hash);
        self.masks.push(
            self.ring
                .mask(&self.words[id as usize * self.ring.width()..]),
        );
        self.slots[slot] = id;
        if 2 * self.hashes.len() > self.slots.len() {
            self.grow();
        }
        id
    }

    fn grow(&mut self) {
        let last = 2 * self.slots.len() - 1;
        self.slots = vec![EMPTY; last + 1];
        for (id, &hash) in self.hashes.iter().enumerate() {
            let mut slot = (hash ^ hash >> 32) as usize & last;
            while self.slots[slot] != EMPTY {
                slot = (slot + 1) & last;
            }
            self.slots[slot] = id as Id;
        }
    }
}
