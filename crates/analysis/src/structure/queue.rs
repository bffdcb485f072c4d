//! A queue for shortest paths: what is pushed is never smaller than what was popped last.

/// A radix heap (Ahuja, Mehlhorn, Orlin and Tarjan, 1990): keys that share more leading bits with the last popped
/// key lie in an earlier bucket.
pub(crate) struct MonotoneQueue {
    last: u64,
    buckets: [Vec<(u64, u32)>; 65],
}

impl MonotoneQueue {
    pub fn new() -> Self {
        Self {
            last: 0,
            buckets: [const { Vec::new() }; 65],
        }
    }

    /// Adds a row; `key` must not be smaller than the last one popped.
    pub fn push(&mut self, key: u64, row: u32) {
        debug_assert!(key >= self.last, "keys must not fall");
        let bucket = 64 - (key ^ self.last).leading_zeros();
        self.buckets[bucket as usize].push((key, row));
    }

    /// Takes an entry with the smallest key.
    pub fn pop(&mut self) -> Option<(u64, u32)> {
        if let Some(entry) = self.buckets[0].pop() {
            return Some(entry);
        }
        let bucket = self.buckets.iter().position(|bucket| !bucket.is_empty())?;
        let entries = std::mem::take(&mut self.buckets[bucket]);
        self.last = entries.iter().map(|&(key, _)| key).min()?;
        for &(key, row) in &entries {
            self.push(key, row);
        }
        self.buckets[0].pop()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_leave_in_order() {
        let mut queue = MonotoneQueue::new();
        let mut state = 1u64;
        let mut waiting: Vec<(u64, u32)> = Vec::new();
        let mut last = 0;
        for step in 0..5000u32 {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            if state >> 62 != 0 {
                let key = last + (state >> 40) % (1 << (step % 20));
                queue.push(key, step);
                waiting.push((key, step));
            } else if let Some(entry) = queue.pop() {
                let least = waiting.iter().map(|&(key, _)| key).min();
                assert_eq!(Some(entry.0), least);
                last = entry.0;
                waiting.retain(|&other| other != entry);
            }
        }
        while let Some(entry) = queue.pop() {
            assert!(entry.0 >= last);
            last = entry.0;
            waiting.retain(|&other| other != entry);
        }
        assert!(waiting.is_empty());
    }
}
