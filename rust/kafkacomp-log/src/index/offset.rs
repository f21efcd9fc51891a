//! `.index`: a sparse map from offsets to batches' byte positions in the segment.
//!
//! ```text
//! entry          8 bytes, big-endian, no header, no checksum
//!   offset       i32   last offset of a batch, relative to the segment's base offset
//!   position     i32   byte position in the segment at which that batch begins
//! ```
//! There is an entry for every `index.interval.bytes` (4096) of the log. Offsets increase strictly, positions never
//! decrease. Brokers before 0.10.1 write the first offset of a batch; look-ups work with both. The index of an active
//! segment is preallocated (`segment.index.bytes`) and ends with zeros, which are trimmed. Kafka checks only the
//! length of the file and its last entry; here every entry is checked, once.
//! (`org.apache.kafka.storage.internals.log.OffsetIndex`)

use super::fault::IndexFault;
use crate::error::{ContentError, fail};

const RELATIVE_OFFSET_OFFSET: usize = 0;
const RELATIVE_OFFSET_LENGTH: usize = 4;
const POSITION_OFFSET: usize = RELATIVE_OFFSET_OFFSET + RELATIVE_OFFSET_LENGTH;
const POSITION_LENGTH: usize = 4;

/// Bytes of an entry.
pub const ENTRY_SIZE: usize = POSITION_OFFSET + POSITION_LENGTH;

/// An entry with its absolute offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OffsetPosition {
    /// The last offset of a batch.
    pub offset: i64,
    /// The byte of the segment at which that batch begins.
    pub position: u32,
}

impl OffsetPosition {
    /// The bytes of the entry in the index of a segment that begins at `base_offset`; `None` if the segment cannot have the
    /// offset.
    pub fn encode(self, base_offset: i64) -> Option<[u8; ENTRY_SIZE]> {
        let offset = relative_offset(self.offset, base_offset)?;
        Some(((offset as u64) << 32 | u64::from(self.position)).to_be_bytes())
    }
}

/// An offset as both indexes store it; `None` if a segment cannot have it (`LogSegment.canConvertToRelativeOffset`).
pub(crate) fn relative_offset(offset: i64, base_offset: i64) -> Option<i32> {
    offset.checked_sub(base_offset).and_then(|delta| i32::try_from(delta).ok()).filter(|&delta| delta >= 0)
}

/// A validated `.index`.
#[derive(Debug, Clone, Copy)]
pub struct OffsetIndex<'a> {
    entries: &'a [[u8; ENTRY_SIZE]],
    base_offset: i64,
}

impl<'a> OffsetIndex<'a> {
    /// Checks the content of an index file whose segment begins at `base_offset` (its file name).
    pub fn parse(data: &'a [u8], base_offset: i64) -> Result<Self, ContentError> {
        let (entries, rest) = trim_zero_tail(data, ENTRY_SIZE).as_chunks();
        if !rest.is_empty() || !data.len().is_multiple_of(ENTRY_SIZE) {
            let fault = IndexFault::Length { length: data.len() as u64, entry_size: ENTRY_SIZE as u64 };
            return fail(data.len() - data.len() % ENTRY_SIZE, fault);
        }
        let mut before: Option<(i32, i32)> = None;
        for (index, entry) in entries.iter().enumerate() {
            let (offset, position) = split(*entry);
            let at = index * ENTRY_SIZE;
            if offset < 0 {
                return fail(at, IndexFault::NegativeOffset { offset });
            }
            if position < 0 {
                return fail(at + POSITION_OFFSET, IndexFault::NegativePosition { position });
            }
            if let Some((previous, previous_position)) = before {
                if offset <= previous {
                    return fail(at, IndexFault::OffsetOrder { previous, offset });
                }
                if position < previous_position {
                    let fault = IndexFault::PositionOrder { previous: previous_position, position };
                    return fail(at + POSITION_OFFSET, fault);
                }
            }
            before = Some((offset, position));
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

    /// The entry with this index.
    pub fn get(&self, index: usize) -> Option<OffsetPosition> {
        self.entries.get(index).map(|entry| absolute(*entry, self.base_offset))
    }

    /// The entries in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = OffsetPosition> + 'a {
        let base_offset = self.base_offset;
        self.entries.iter().map(move |entry| absolute(*entry, base_offset))
    }

    /// The entry with the greatest offset that is not greater than `offset`; if there is none, the first byte of the segment.
    /// The batch that has `offset` begins at its position or after it.
    pub fn lookup(&self, offset: i64) -> OffsetPosition {
        let above = self.entries.partition_point(|entry| absolute(*entry, self.base_offset).offset <= offset);
        let found = above.checked_sub(1).and_then(|index| self.entries.get(index));
        found.map_or(OffsetPosition { offset: self.base_offset, position: 0 }, |e| absolute(*e, self.base_offset))
    }

    /// The entry with the least offset that is not less than `offset`. All batches after the one at its position have greater
    /// offsets.
    pub fn lookup_upper_bound(&self, offset: i64) -> Option<OffsetPosition> {
        let first = self.entries.partition_point(|entry| absolute(*entry, self.base_offset).offset < offset);
        self.entries.get(first).map(|entry| absolute(*entry, self.base_offset))
    }
}

fn split(entry: [u8; ENTRY_SIZE]) -> (i32, i32) {
    let both = u64::from_be_bytes(entry);
    ((both >> 32) as i32, both as i32)
}

fn absolute(entry: [u8; ENTRY_SIZE], base_offset: i64) -> OffsetPosition {
    let (offset, position) = split(entry);
    OffsetPosition { offset: base_offset.saturating_add(i64::from(offset)), position: position.cast_unsigned() }
}

/// The entries of an index, without the zeros after them that a preallocated file has. If all entries are zero, one
/// remains: the index of a closed segment whose records all have the timestamp 0.
pub(super) fn trim_zero_tail(data: &[u8], entry_size: usize) -> &[u8] {
    match entries_before_zeros(data, entry_size) {
        0 if data.len() == entry_size => data,
        entries => data.get(..entries * entry_size).unwrap_or(data),
    }
}

/// The number of entries up to the last one that is not zero.
pub(crate) fn entries_before_zeros(data: &[u8], entry_size: usize) -> usize {
    data.iter().rposition(|&byte| byte != 0).map_or(0, |last| last / entry_size + 1)
}

#[cfg(test)]
mod tests {
    use super::{OffsetIndex, OffsetPosition};
    use crate::error::ContentError;
    use crate::index::IndexFault;
    use proptest::prelude::*;

    fn bytes(entries: &[(i32, i32)]) -> Vec<u8> {
        entries.iter().flat_map(|(o, p)| [o.to_be_bytes(), p.to_be_bytes()].concat()).collect()
    }

    fn fault(data: &[u8]) -> (u64, IndexFault) {
        match OffsetIndex::parse(data, 0).unwrap_err() {
            ContentError::IndexFile { position, fault } => (position, fault),
            other => panic!("{other}"),
        }
    }

    #[test]
    fn look_ups() {
        let data = bytes(&[(4, 100), (9, 200), (20, 300)]);
        let index = OffsetIndex::parse(&data, 1000).unwrap();
        for (offset, found) in
            [(0, (1000, 0)), (1003, (1000, 0)), (1004, (1004, 100)), (1008, (1004, 100)), (5000, (1020, 300))]
        {
            assert_eq!(index.lookup(offset), OffsetPosition { offset: found.0, position: found.1 }, "{offset}");
        }
        for (offset, found) in [(0, Some(100)), (1004, Some(100)), (1005, Some(200)), (1020, Some(300)), (1021, None)] {
            assert_eq!(index.lookup_upper_bound(offset).map(|e| e.position), found, "{offset}");
        }
    }

    #[test]
    fn zero_tails_are_no_entries() {
        let mut data = bytes(&[(4, 256)]);
        data.resize(800, 0);
        assert_eq!(OffsetIndex::parse(&data, 0).unwrap().len(), 1);
        assert!(OffsetIndex::parse(&[0; 800], 0).unwrap().is_empty());
        assert!(OffsetIndex::parse(&[], 0).unwrap().is_empty());
    }

    #[test]
    fn errors_name_the_corrupt_byte() {
        assert_eq!(fault(&[1; 12]), (8, IndexFault::Length { length: 12, entry_size: 8 }));
        assert_eq!(fault(&bytes(&[(5, 1), (5, 2)])), (8, IndexFault::OffsetOrder { previous: 5, offset: 5 }));
        assert_eq!(fault(&bytes(&[(5, 3), (6, 2)])), (12, IndexFault::PositionOrder { previous: 3, position: 2 }));
        assert_eq!(fault(&bytes(&[(-5, 3)])), (0, IndexFault::NegativeOffset { offset: -5 }));
        assert_eq!(fault(&bytes(&[(5, -3)])), (4, IndexFault::NegativePosition { position: -3 }));
        assert_eq!(fault(&bytes(&[(5, 3), (0, 0), (9, 9)])).0, 8);
    }

    proptest! {
        #[test]
        fn any_bytes(data in proptest::collection::vec(any::<u8>(), 0..200), base: i64, offset: i64) {
            if let Ok(index) = OffsetIndex::parse(&data, base) {
                let _ = index.iter().count();
                let _ = (index.lookup(offset), index.lookup_upper_bound(offset));
            }
        }

        #[test]
        fn look_ups_are_those_of_a_linear_search(mut steps in proptest::collection::vec((1..50i32, 0..50i32), 1..40), offset in 0..2000i64) {
            let mut at = (0, 0);
            for step in &mut steps {
                at = (at.0 + step.0, at.1 + step.1);
                *step = at;
            }
            let data = bytes(&steps);
            let index = OffsetIndex::parse(&data, 7).unwrap();
            let below = index.iter().filter(|e| e.offset <= offset).last();
            prop_assert_eq!(index.lookup(offset), below.unwrap_or(OffsetPosition { offset: 7, position: 0 }));
            prop_assert_eq!(index.lookup_upper_bound(offset), index.iter().find(|e| e.offset >= offset));
        }
    }
}
