//! Checks the leader epochs of a partition's batches.
//!
//! No checksum covers the leader epoch, and no record depends on it. Epochs do not decrease along a log. If they do, the epoch of
//! one of the two batches was altered.

/// The value of a missing leader epoch.
const NONE: i32 = -1;

/// The leader epochs up to a batch.
#[derive(Debug, Clone, Copy)]
pub struct LeaderEpochs {
    current: i32,
    wrong: u64,
    /// The first decrease: its position, the epoch, and the one before it.
    first: (u64, i32, i32),
}

impl Default for LeaderEpochs {
    fn default() -> Self {
        Self { current: NONE, wrong: 0, first: (0, NONE, NONE) }
    }
}

impl LeaderEpochs {
    /// Whether a batch has the epoch of the one before.
    #[inline]
    pub fn continues(&self, epoch: i32) -> bool {
        epoch == self.current
    }

    /// Adds the batch at `position`.
    pub fn accept(&mut self, epoch: i32, position: u64) {
        if epoch == NONE {
            return;
        }
        if epoch < self.current || epoch < NONE {
            if self.wrong == 0 {
                self.first = (position, epoch, self.current);
            }
            self.wrong = self.wrong.saturating_add(1);
        }
        self.current = epoch.max(NONE);
    }

    /// Takes the warning about the leader epochs of `segment`.
    pub fn take_warning(&mut self, segment: &str) -> Option<String> {
        let (position, epoch, before) = self.first;
        let more = match std::mem::take(&mut self.wrong) {
            0 => return None,
            1 => String::new(),
            more => format!(", and so on at {} more places", more.saturating_sub(1)),
        };
        Some(format!(
            "{segment}: leader epoch {epoch} of the batch at byte {position} follows leader epoch {before}{more}: one of \
             them was altered, leader epochs do not decrease"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn warning(epochs: &[i32]) -> Option<String> {
        let mut all = LeaderEpochs::default();
        for (&epoch, position) in epochs.iter().zip(0..) {
            all.accept(epoch, position);
        }
        all.take_warning("a")
    }

    #[test]
    fn epochs_that_do_not_decrease_are_right() {
        assert_eq!(warning(&[-1, 0, 0, 3, -1, 3, 7]), None);
    }

    #[test]
    fn an_altered_epoch_is_reported_once() {
        for (epochs, at) in
            [([3, 3, 1027, 3, 3], 3), ([3, 3, 1, 3, 3], 2), ([1027, 3, 3, 3, 3], 1), ([3, 3, 3, 3, 1], 4)]
        {
            let found = warning(&epochs).unwrap_or_default();
            assert!(found.contains(&format!("byte {at} follows")), "{found}");
            assert!(!found.contains("more places"), "{found}");
        }
        assert!(warning(&[3, -2, 3]).is_some());
    }
}
