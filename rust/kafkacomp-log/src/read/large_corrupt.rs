//! Corrupt batches that are too large to be kept in memory, so that a second pass over the file does not read them again.

use kafkacomp_records::record::{self, Error, RecordFault};

/// A batch is recorded if that saves reading at least this many bytes, which keeps their number small.
const LEAST: u64 = 1 << 20;

/// What a pass over a file has found.
#[derive(Debug, Clone, Default)]
pub struct LargeCorrupt(Vec<Corrupt>);

#[derive(Debug, Clone)]
struct Corrupt {
    position: u64,
    /// The checksum in the header. If the file has another one there, it was replaced in the meantime.
    stored: u32,
    fault: Fault,
    next_intact: Option<u64>,
}

/// What is wrong with a batch that may be larger than the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// The checksum of its bytes, which is not the stored one.
    Checksum(u32),
    /// The batch cannot have this size.
    Size(u64),
}

impl Fault {
    /// The error for the batch at `position`.
    pub(super) fn error(self, position: u64, stored: u32) -> record::Error {
        match self {
            Self::Checksum(computed) => Error::CrcMismatch { position, stored, computed },
            Self::Size(size) => Error::Invalid { position, fault: RecordFault::ImplausibleSize { size } },
        }
    }
}

impl LargeCorrupt {
    /// Whether a batch at `position` is recorded.
    pub(super) fn has(&self, position: u64) -> bool {
        self.0.binary_search_by_key(&position, |corrupt| corrupt.position).is_ok()
    }

    fn find(&self, position: u64, stored: u32) -> Option<&Corrupt> {
        let at = self.0.binary_search_by_key(&position, |corrupt| corrupt.position).ok()?;
        self.0.get(at).filter(|corrupt| corrupt.stored == stored)
    }

    /// What is wrong with the batch at `position`, if that is known.
    pub(super) fn fault(&self, position: u64, stored: u32) -> Option<Fault> {
        self.find(position, stored).map(|corrupt| corrupt.fault)
    }

    /// Where the first intact batch after the one at `position` begins, if that is known.
    pub(super) fn next_intact(&self, position: u64, stored: u32) -> Option<u64> {
        self.find(position, stored)?.next_intact
    }

    pub(super) fn add(&mut self, position: u64, stored: u32, fault: Fault) {
        let at = self.0.partition_point(|corrupt| corrupt.position < position);
        if self.0.get(at).is_none_or(|corrupt| corrupt.position != position) {
            self.0.insert(at, Corrupt { position, stored, fault, next_intact: None });
        }
    }

    /// Sets the position of the next intact batch, or drops the batch at `position` if the next one is near.
    pub(super) fn set_next_intact(&mut self, position: u64, next: u64) {
        let Ok(at) = self.0.binary_search_by_key(&position, |corrupt| corrupt.position) else { return };
        if next.saturating_sub(position) < LEAST {
            self.0.remove(at);
        } else if let Some(corrupt) = self.0.get_mut(at) {
            corrupt.next_intact = Some(next);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_another_file_has_at_the_place_is_not_known() {
        let mut found = LargeCorrupt::default();
        found.add(500, 7, Fault::Checksum(8));
        found.add(100, 1, Fault::Size(9 << 20));
        found.set_next_intact(500, 500 + LEAST);
        assert_eq!((found.fault(500, 7), found.next_intact(500, 7)), (Some(Fault::Checksum(8)), Some(500 + LEAST)));
        assert_eq!((found.fault(500, 6), found.next_intact(500, 6)), (None, None));
        found.set_next_intact(100, 200);
        assert_eq!((found.fault(100, 1), found.fault(501, 7)), (None, None));
    }
}
