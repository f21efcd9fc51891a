//! The nulls of a column, as runs. In most columns no row or every row is null; then each row costs one comparison.

use arrow_buffer::{BooleanBufferBuilder, NullBuffer};

/// A growing validity mask.
#[derive(Debug, Default)]
pub struct Validity {
    runs: Vec<(bool, usize)>,
    valid: bool,
    count: usize,
}

impl Validity {
    /// Appends a row.
    #[inline]
    pub fn push(&mut self, valid: bool) {
        if valid != self.valid {
            self.turn(valid);
        }
        self.count += 1;
    }

    /// Appends `rows` rows.
    pub fn push_many(&mut self, valid: bool, rows: usize) {
        if rows > 0 && valid != self.valid {
            self.turn(valid);
        }
        self.count += rows;
    }

    fn turn(&mut self, valid: bool) {
        if self.count > 0 {
            self.runs.push((self.valid, self.count));
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
        self.turn(false);
        let runs = std::mem::take(&mut self.runs);
        if runs.iter().all(|(valid, _)| *valid) {
            return None;
        }
        let mut bits = BooleanBufferBuilder::new(runs.iter().map(|(_, count)| count).sum());
        for (valid, count) in runs {
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
            validity.push(row);
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
            validity.push(row);
        }
        validity.drop_last(2);
        validity.push(true);
        assert!(validity.finish().is_none());
        validity.push(false);
        validity.drop_last(5);
        assert!(validity.finish().is_none());
    }
}
