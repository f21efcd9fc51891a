//! `.txnindex` (KIP-98): the aborted transactions whose abort marker is in the segment.
//!
//! ```text
//! entry                34 bytes, big-endian, no header, no checksum
//!   version            i16   0
//!   producerId         i64
//!   firstOffset        i64   of the transaction; may lie in an earlier segment
//!   lastOffset         i64   of the abort marker
//!   lastStableOffset   i64   the partition's last stable offset once this transaction had ended
//! ```
//! Entries are in the order of their markers. A consumer that has read up to offset `e` needs the entries of this
//! segment and of later ones, until the last stable offset of an entry reaches `e`. The file is never preallocated;
//! an incomplete entry at its end was being written, and is ignored, as in Kafka. Kafka checks only the first byte
//! of the version; here both are checked.
//! (`org.apache.kafka.storage.internals.log.TransactionIndex`, `AbortedTxn`)

use super::fault::IndexFault;
use crate::error::{ContentError, fail};
use kafkacomp_records::bytes::field;

const VERSION_OFFSET: usize = 0;
const VERSION_LENGTH: usize = 2;
const PRODUCER_ID_OFFSET: usize = VERSION_OFFSET + VERSION_LENGTH;
const PRODUCER_ID_LENGTH: usize = 8;
const FIRST_OFFSET_OFFSET: usize = PRODUCER_ID_OFFSET + PRODUCER_ID_LENGTH;
const FIRST_OFFSET_LENGTH: usize = 8;
const LAST_OFFSET_OFFSET: usize = FIRST_OFFSET_OFFSET + FIRST_OFFSET_LENGTH;
const LAST_OFFSET_LENGTH: usize = 8;
const LAST_STABLE_OFFSET_OFFSET: usize = LAST_OFFSET_OFFSET + LAST_OFFSET_LENGTH;
const LAST_STABLE_OFFSET_LENGTH: usize = 8;

/// Bytes of an entry.
pub const ENTRY_SIZE: usize = LAST_STABLE_OFFSET_OFFSET + LAST_STABLE_OFFSET_LENGTH;

/// The only version so far.
pub const CURRENT_VERSION: i16 = 0;

/// One aborted transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AbortedTxn {
    /// The entry's version.
    pub version: i16,
    /// The producer of the transaction.
    pub producer_id: i64,
    /// Its first offset.
    pub first_offset: i64,
    /// The offset of its abort marker.
    pub last_offset: i64,
    /// The partition's last stable offset after it.
    pub last_stable_offset: i64,
}

impl AbortedTxn {
    /// The entry.
    pub fn encode(self) -> [u8; ENTRY_SIZE] {
        let mut entry = [0; ENTRY_SIZE];
        let (version, mut rest) = entry.split_at_mut(VERSION_LENGTH);
        version.copy_from_slice(&self.version.to_be_bytes());
        for value in [self.producer_id, self.first_offset, self.last_offset, self.last_stable_offset] {
            let (field, behind) = rest.split_at_mut(PRODUCER_ID_LENGTH);
            field.copy_from_slice(&value.to_be_bytes());
            rest = behind;
        }
        entry
    }
}

/// The aborted transactions that overlap a range of offsets.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AbortedTxns {
    /// The transactions, in the order of their markers.
    pub transactions: Vec<AbortedTxn>,
    /// Whether no later segment can have another one.
    pub is_complete: bool,
}

/// A checked `.txnindex`.
#[derive(Debug, Clone, Copy)]
pub struct TransactionIndex<'a> {
    entries: &'a [[u8; ENTRY_SIZE]],
    trailing_bytes: usize,
}

impl<'a> TransactionIndex<'a> {
    /// Checks the content of a transaction index whose segment begins at `base_offset` (its file name).
    pub fn parse(data: &'a [u8], base_offset: i64) -> Result<Self, ContentError> {
        let (entries, rest) = data.as_chunks();
        for (index, entry) in entries.iter().enumerate() {
            let txn = decode(entry);
            let at = index * ENTRY_SIZE;
            if txn.version != CURRENT_VERSION {
                return fail(at, IndexFault::Version { version: i64::from(txn.version) });
            }
            if txn.last_offset < base_offset {
                let fault = IndexFault::BelowBaseOffset { last_offset: txn.last_offset, base_offset };
                return fail(at + LAST_OFFSET_OFFSET, fault);
            }
        }
        Ok(Self { entries, trailing_bytes: rest.len() })
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether the index has no entries.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The number of bytes of an incomplete entry at the end, which is ignored.
    pub fn trailing_bytes(&self) -> usize {
        self.trailing_bytes
    }

    /// The entries in the order of their markers.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = AbortedTxn> + 'a {
        self.entries.iter().map(decode)
    }

    /// The aborted transactions that overlap `fetch_offset <= offset < upper_bound_offset`.
    pub fn collect_aborted_txns(&self, fetch_offset: i64, upper_bound_offset: i64) -> AbortedTxns {
        let mut found = AbortedTxns::default();
        for txn in self.iter() {
            if txn.last_offset >= fetch_offset && txn.first_offset < upper_bound_offset {
                found.transactions.push(txn);
            }
            if txn.last_stable_offset >= upper_bound_offset {
                found.is_complete = true;
                break;
            }
        }
        found
    }
}

/// The fields of an entry.
fn decode(entry: &[u8; ENTRY_SIZE]) -> AbortedTxn {
    AbortedTxn {
        version: i16::from_be_bytes(field::<VERSION_OFFSET, VERSION_LENGTH, ENTRY_SIZE>(entry)),
        producer_id: i64::from_be_bytes(field::<PRODUCER_ID_OFFSET, PRODUCER_ID_LENGTH, ENTRY_SIZE>(entry)),
        first_offset: i64::from_be_bytes(field::<FIRST_OFFSET_OFFSET, FIRST_OFFSET_LENGTH, ENTRY_SIZE>(entry)),
        last_offset: i64::from_be_bytes(field::<LAST_OFFSET_OFFSET, LAST_OFFSET_LENGTH, ENTRY_SIZE>(entry)),
        last_stable_offset: i64::from_be_bytes(
            field::<LAST_STABLE_OFFSET_OFFSET, LAST_STABLE_OFFSET_LENGTH, ENTRY_SIZE>(entry),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::{AbortedTxn, TransactionIndex};
    use crate::error::ContentError;
    use crate::index::IndexFault;
    use proptest::prelude::*;

    fn bytes(entries: &[(i16, i64, i64, i64, i64)]) -> Vec<u8> {
        let one = |e: &(i16, i64, i64, i64, i64)| {
            let longs = [e.1, e.2, e.3, e.4].map(i64::to_be_bytes).concat();
            [&e.0.to_be_bytes()[..], &longs].concat()
        };
        entries.iter().flat_map(one).collect()
    }

    #[test]
    fn which_transactions_a_range_needs() {
        let data = bytes(&[(0, 1, 10, 19, 20), (0, 2, 15, 30, 20), (0, 3, 20, 40, 41), (0, 4, 50, 60, 61)]);
        let index = TransactionIndex::parse(&data, 0).unwrap();
        let producers = |from, to| {
            let found = index.collect_aborted_txns(from, to);
            (found.transactions.iter().map(|t| t.producer_id).collect::<Vec<_>>(), found.is_complete)
        };
        assert_eq!(producers(0, 12), (vec![1], true));
        assert_eq!(producers(20, 41), (vec![2, 3], true));
        assert_eq!(producers(0, 1000), (vec![1, 2, 3, 4], false));
        assert_eq!(producers(61, 62), (vec![], false));
    }

    #[test]
    fn an_incomplete_last_entry_is_left_unread() {
        let data = bytes(&[(0, 7, 1, 2, 3), (0, 7, 1, 2, 3)]);
        let index = TransactionIndex::parse(&data[..50], 0).unwrap();
        assert_eq!((index.len(), index.trailing_bytes(), index.is_empty()), (1, 16, false));
        let txn = AbortedTxn { version: 0, producer_id: 7, first_offset: 1, last_offset: 2, last_stable_offset: 3 };
        assert_eq!(index.iter().next(), Some(txn));
    }

    #[test]
    fn errors_name_the_corrupt_byte() {
        let data = bytes(&[(0, 1, 10, 19, 20), (1, 1, 10, 19, 20)]);
        let fault = IndexFault::Version { version: 1 };
        assert_eq!(TransactionIndex::parse(&data, 0).unwrap_err(), ContentError::IndexFile { position: 34, fault });
        let fault = IndexFault::BelowBaseOffset { last_offset: 19, base_offset: 20 };
        assert_eq!(TransactionIndex::parse(&data, 20).unwrap_err(), ContentError::IndexFile { position: 18, fault });
    }

    proptest! {
        #[test]
        fn any_bytes(data in proptest::collection::vec(any::<u8>(), 0..200), from: i64, to: i64) {
            if let Ok(index) = TransactionIndex::parse(&data, i64::MIN) {
                let _ = (index.iter().count(), index.collect_aborted_txns(from, to));
            }
        }
    }
}
