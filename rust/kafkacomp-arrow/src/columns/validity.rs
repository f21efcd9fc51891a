//! The nulls of a column, as runs. In most columns no row or every row is null; then each row costs one comparison.

use arrow_buffer::{BooleanBufferBuilder, NullBuffer};
use kafkacomp_records::memory::{self, OutOfMemory};

/// A growing validity mask. A failed allocation is noted in `out_of_memory`; the number of rows is right then, but the last ones
/// may be null that are not.
#[derive(Debug, Default)]
pub struct Validity {
    runs: Vec<(bool, usize)>,
    valid: bool,
    count: usize,
}

impl Validity {
    /// Appends a row.
    #[inline]
    pub fn push(&mut self, valid: bool, out_of_memory: &mut Option<OutOfMemory>) {
        if valid != self.valid {
            self.turn(valid, out_of_memory);
        }
        self.count += 1;
    }

    /// Appends `rows` rows.
    pub fn push_many(&mut self, valid: bool, rows: usize, out_of_memory: &mut Option<OutOfMemory>) {
        if rows > 0 && valid != self.valid {
            self.turn(valid, out_of_memory);
        }
        self.count += rows;
    }

    fn turn(&mut self, valid: bool, out_of_memory: &mut Option<OutOfMemory>) {
        if self.count > 0
            && let Err(error) = memory::push(&mut self.runs, (self.valid, self.count))
        {
            *out_of_memory = Some(error);
            return;
        }
        (self.valid, self.count) = (valid, 0);
    }

    /// Drops the last `rows` rows.
    pub fn drop_last(&mut self, mut rows: usize) {
        while rows > self.count {
            rows -= self.count;
            let Some((valid, count)) = self.runs.pop() else {
                self.count = 0;
                return;
            };
            (self.valid, self.count) = (valid, count);
        }
        self.count -= rows;
    }

    /// Whether there are rows, and all of them are null.
    pub fn is_null(&self) -> bool {
        self.runs.is_empty() && !self.valid && self.count > 0
    }

    /// Returns the mask, or `None` if no row is null, and leaves it empty.
    pub fn finish(&mut self) -> Option<NullBuffer> {
        let last = (std::mem::take(&mut self.valid), std::mem::take(&mut self.count));
        let runs = std::mem::take(&mut self.runs);
        let runs = || runs.iter().copied().chain([last]).filter(|&(_, count)| count > 0);
        if runs().all(|(valid, _)| valid) {
            return None;
        }
        // An eighth of a byte for each row: a mebibyte for eight million rows.
        let mut bits = BooleanBufferBuilder::new(runs().map(|(_, count)| count).sum());
        for (valid, count) in runs() {
            bits.append_n(count, valid);
        }
        Some(NullBuffer::new(bits.finish()))
    }
}

#[cfg(test)]
mod tests {
    use super::Validity;

    #[test]
    fn runs_become_bits() {
        let rows = [true, true, false, true, false, false];
        let mut validity = Validity::default();
        for row in rows {
            validity.push(row, &mut None);
        }
        validity.drop_last(1);
        let mask = validity.finish().map(|mask| mask.iter().collect::<Vec<_>>());
        assert_eq!(mask.as_deref(), rows.get(..5));
        assert!(validity.finish().is_none());
    }

    #[test]
    fn dropping_goes_over_runs() {
        let mut validity = Validity::default();
        for row in [true, false, true] {
            validity.push(row, &mut None);
        }
        validity.drop_last(2);
        validity.push(true, &mut None);
        assert!(validity.finish().is_none());
        validity.push(false, &mut None);
        validity.drop_last(5);
        assert!(validity.finish().is_none());
    }
}
