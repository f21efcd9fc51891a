//! `.timeindex` (KIP-33, since 0.10.1): a sparse map from timestamps to offsets.
//!
//! ```text
//! entry          12 bytes, big-endian, no header, no checksum
//!   timestamp    i64   the greatest timestamp of the segment so far, in milliseconds
//!   offset       i32   the offset that has it, relative to the segment's base offset
//! ```
//! No record before that offset has a greater timestamp. Timestamps increase strictly, offsets never decrease. When a
//! segment is closed, its greatest timestamp is appended as the last entry. An active or preallocated file ends with
//! zeros, which are trimmed. (`org.apache.kafka.storage.internals.log.TimeIndex`)

use super::fault::IndexFault;
use super::offset::{relative_offset, trim_zero_tail};
use crate::error::{ContentError, fail};

const TIMESTAMP_OFFSET: usize = 0;
const TIMESTAMP_LENGTH: usize = 8;
const RELATIVE_OFFSET_OFFSET: usize = TIMESTAMP_OFFSET + TIMESTAMP_LENGTH;
const RELATIVE_OFFSET_LENGTH: usize = 4;

/// Bytes of an entry.
pub const ENTRY_SIZE: usize = RELATIVE_OFFSET_OFFSET + RELATIVE_OFFSET_LENGTH;

/// Kafka's value for a missing timestamp.
pub const NO_TIMESTAMP: i64 = -1;

/// An entry with its absolute offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimestampOffset {
    /// Milliseconds since the epoch.
    pub timestamp: i64,
    /// The offset that has it.
    pub offset: i64,
}

impl TimestampOffset {
    /// The bytes of the entry in the index of a segment that begins at `base_offset`; `None` if the segment cannot have the
    /// offset.
    pub fn encode(self, base_offset: i64) -> Option<[u8; ENTRY_SIZE]> {
        let mut entry = [0; ENTRY_SIZE];
        let (timestamp, offset) = entry.split_at_mut(RELATIVE_OFFSET_OFFSET);
        timestamp.copy_from_slice(&self.timestamp.to_be_bytes());
        offset.copy_from_slice(&relative_offset(self.offset, base_offset)?.to_be_bytes());
        Some(entry)
    }
}

/// A validated `.timeindex`.
#[derive(Debug, Clone, Copy)]
pub struct TimeIndex<'a> {
    entries: &'a [[u8; ENTRY_SIZE]],
    base_offset: i64,
}

impl<'a> TimeIndex<'a> {
    /// Checks the content of a time index whose segment begins at `base_offset` (its file name).
    pub fn parse(data: &'a [u8], base_offset: i64) -> Result<Self, ContentError> {
        let (entries, rest) = trim_zero_tail(data, ENTRY_SIZE).as_chunks();
        if !rest.is_empty() || !data.len().is_multiple_of(ENTRY_SIZE) {
            let fault = IndexFault::Length { length: data.len() as u64, entry_size: ENTRY_SIZE as u64 };
            return fail(data.len() - data.len() % ENTRY_SIZE, fault);
        }
        let mut before: Option<(i64, i32)> = None;
        for (index, entry) in entries.iter().enumerate() {
            let (timestamp, offset) = split(*entry);
            let at = index * ENTRY_SIZE;
            if offset < 0 {
                return fail(at + RELATIVE_OFFSET_OFFSET, IndexFault::NegativeOffset { offset });
            }
            if let Some((previous, previous_offset)) = before {
                if timestamp <= previous {
                    return fail(at, IndexFault::TimestampOrder { previous, timestamp });
                }
                if offset < previous_offset {
                    let fault = IndexFault::OffsetOrder { previous: previous_offset, offset };
                    return fail(at + RELATIVE_OFFSET_OFFSET, fault);
                }
            }
            before = Some((timestamp, offset));
        }
        Ok(Self { entries, base_offset })
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether the index has no entries.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Whether all entries are zero: there is one, or none.
    pub(crate) fn is_zero(&self) -> bool {
        self.entries.iter().all(|entry| *entry == [0; ENTRY_SIZE])
    }

    /// The entries in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = TimestampOffset> + 'a {
        let base_offset = self.base_offset;
        self.entries.iter().map(move |entry| absolute(*entry, base_offset))
    }

    /// The last entry: the segment's greatest timestamp if the segment is closed.
    pub fn last(&self) -> Option<TimestampOffset> {
        self.entries.last().map(|entry| absolute(*entry, self.base_offset))
    }

    /// The entry with the greatest timestamp that is not greater than `timestamp`; if there is none, the segment's first
    /// offset. The first record with a greater timestamp has the offset of this entry or a greater one. A record whose
    /// timestamp equals that of the entry may come before it.
    ///
    /// To find the first record whose timestamp is at least `t`, look up `t - 1`.
    pub fn lookup(&self, timestamp: i64) -> TimestampOffset {
        let above = self.entries.partition_point(|entry| split(*entry).0 <= timestamp);
        let found = above.checked_sub(1).and_then(|index| self.entries.get(index));
        let start = TimestampOffset { timestamp: NO_TIMESTAMP, offset: self.base_offset };
        found.map_or(start, |entry| absolute(*entry, self.base_offset))
    }
}

fn split(entry: [u8; ENTRY_SIZE]) -> (i64, i32) {
    let [t0, t1, t2, t3, t4, t5, t6, t7, o0, o1, o2, o3] = entry;
    (i64::from_be_bytes([t0, t1, t2, t3, t4, t5, t6, t7]), i32::from_be_bytes([o0, o1, o2, o3]))
}

fn absolute(entry: [u8; ENTRY_SIZE], base_offset: i64) -> TimestampOffset {
    let (timestamp, offset) = split(entry);
    TimestampOffset { timestamp, offset: base_offset.saturating_add(i64::from(offset)) }
}

#[cfg(test)]
mod tests {
    use super::{NO_TIMESTAMP, TimeIndex, TimestampOffset};
    use crate::error::ContentError;
    use crate::index::IndexFault;
    use proptest::prelude::*;

    fn bytes(entries: &[(i64, i32)]) -> Vec<u8> {
        entries.iter().flat_map(|(t, o)| [&t.to_be_bytes()[..], &o.to_be_bytes()].concat()).collect()
    }

    fn fault(data: &[u8]) -> (u64, IndexFault) {
        match TimeIndex::parse(data, 0).unwrap_err() {
            ContentError::IndexFile { position, fault } => (position, fault),
            other => panic!("{other}"),
        }
    }

    #[test]
    fn look_ups() {
        let data = bytes(&[(1000, 3), (1500, 3), (2000, 9)]);
        let index = TimeIndex::parse(&data, 50).unwrap();
        for (timestamp, found) in
            [(999, (NO_TIMESTAMP, 50)), (1000, (1000, 53)), (1999, (1500, 53)), (i64::MAX, (2000, 59))]
        {
            let found = TimestampOffset { timestamp: found.0, offset: found.1 };
            assert_eq!(index.lookup(timestamp), found, "{timestamp}");
        }
        assert_eq!(index.last().map(|e| e.offset), Some(59));
    }

    #[test]
    fn zero_tails_are_no_entries_but_a_single_zero_entry_is() {
        let mut data = bytes(&[(1 << 40, 256)]);
        data.resize(1200, 0);
        assert_eq!(TimeIndex::parse(&data, 0).unwrap().len(), 1);
        assert!(TimeIndex::parse(&[0; 24], 0).unwrap().is_empty());
        assert_eq!(TimeIndex::parse(&[0; 12], 0).unwrap().len(), 1);
        assert_eq!(TimeIndex::parse(&bytes(&[(0, 0), (1, 1)]), 0).unwrap().len(), 2);
    }

    #[test]
    fn errors_name_the_corrupt_byte() {
        assert_eq!(fault(&[1; 16]), (12, IndexFault::Length { length: 16, entry_size: 12 }));
        assert_eq!(fault(&bytes(&[(5, 1), (5, 2)])), (12, IndexFault::TimestampOrder { previous: 5, timestamp: 5 }));
        assert_eq!(fault(&bytes(&[(5, 3), (6, 2)])), (20, IndexFault::OffsetOrder { previous: 3, offset: 2 }));
        assert_eq!(fault(&bytes(&[(5, -3)])), (8, IndexFault::NegativeOffset { offset: -3 }));
    }

    proptest! {
        #[test]
        fn any_bytes(data in proptest::collection::vec(any::<u8>(), 0..200), base: i64, timestamp: i64) {
            if let Ok(index) = TimeIndex::parse(&data, base) {
                let _ = (index.iter().count(), index.last(), index.lookup(timestamp));
            }
        }
    }
}
