//! Producer `.snapshot`: the state of the partition's producers before the offset in the file's name. After a restart, a
//! broker reads it to continue checking sequence numbers and transactions.
//!
//! ```text
//! version                   i16   1
//! crc                       u32   CRC-32C of all that follows it
//! count                     i32
//! entry                     46 bytes, big-endian, one per producer id
//!   producerId              i64
//!   epoch                   i16
//!   lastSequence            i32   -1: no batch since the last transaction ended
//!   lastOffset              i64   -1: no batch since the last transaction ended
//!   offsetDelta             i32   last batch's number of offsets - 1
//!   timestamp               i64   greatest of the last batch
//!   coordinatorEpoch        i32   of the last marker, -1: none
//!   currentTxnFirstOffset   i64   -1: no open transaction
//! ```
//! Kafka ignores bytes after the last entry if the checksum is right; here they are an error.
//! (`ProducerStateManager.readSnapshot`; schema `ProducerSnapshot.json`)

use super::fault::IndexFault;
use crate::error::{ContentError, fail};
use kafkacomp_records::checksum::crc32c;
use kafkacomp_records::fields::Fields;
use kafkacomp_records::memory;

const VERSION_OFFSET: usize = 0;
const VERSION_LENGTH: usize = 2;
const CRC_OFFSET: usize = VERSION_OFFSET + VERSION_LENGTH;
const CRC_LENGTH: usize = 4;
const COUNT_OFFSET: usize = CRC_OFFSET + CRC_LENGTH;
const COUNT_LENGTH: usize = 4;
const ENTRIES_OFFSET: usize = COUNT_OFFSET + COUNT_LENGTH;
const ENTRY_SIZE: usize = 8 + 2 + 4 + 8 + 4 + 8 + 4 + 8;

/// The only version so far.
pub const CURRENT_VERSION: i16 = 1;

/// The state of one producer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProducerEntry {
    /// The producer id.
    pub producer_id: i64,
    /// Its epoch.
    pub epoch: i16,
    /// The sequence number of its last record; -1 if there is none since the last transaction ended.
    pub last_sequence: i32,
    /// The offset of its last record; -1 if there is none since the last transaction ended.
    pub last_offset: i64,
    /// The last offset of its last batch minus the first one.
    pub offset_delta: i32,
    /// The greatest timestamp of the last batch.
    pub timestamp: i64,
    /// The coordinator epoch of its last marker; -1 if there is none.
    pub coordinator_epoch: i32,
    /// The first offset of its open transaction; -1 if there is none.
    pub current_txn_first_offset: i64,
}

impl ProducerEntry {
    /// The first offset of its open transaction, if there is one.
    pub fn open_transaction(&self) -> Option<i64> {
        Some(self.current_txn_first_offset).filter(|&offset| offset >= 0)
    }

    /// The first sequence number of the last batch. After 2^31 - 1, sequence numbers continue at 0.
    pub fn first_sequence(&self) -> i32 {
        if self.last_offset < 0 {
            return -1;
        }
        let difference = self.last_sequence.wrapping_sub(self.offset_delta);
        if self.offset_delta > self.last_sequence { difference.wrapping_sub(i32::MIN) } else { difference }
    }
}

impl ProducerEntry {
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.producer_id.to_be_bytes());
        out.extend_from_slice(&self.epoch.to_be_bytes());
        out.extend_from_slice(&self.last_sequence.to_be_bytes());
        out.extend_from_slice(&self.last_offset.to_be_bytes());
        out.extend_from_slice(&self.offset_delta.to_be_bytes());
        out.extend_from_slice(&self.timestamp.to_be_bytes());
        out.extend_from_slice(&self.coordinator_epoch.to_be_bytes());
        out.extend_from_slice(&self.current_txn_first_offset.to_be_bytes());
    }
}

/// The content of a snapshot file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProducerSnapshot {
    /// The file's version.
    pub version: i16,
    /// The stored checksum, which has been verified.
    pub crc: u32,
    /// The producers, in the order of the file.
    pub producers: Vec<ProducerEntry>,
}

impl ProducerSnapshot {
    /// Parses the content of a snapshot file.
    pub fn parse(data: &[u8]) -> Result<Self, ContentError> {
        let mut fields = Fields::at(data, VERSION_OFFSET);
        let (Some(version), Some(crc), Some(count), Some(covered)) =
            (fields.i16(), fields.u32(), fields.i32(), data.get(COUNT_OFFSET..))
        else {
            return fail(0, IndexFault::Truncated { needed: ENTRIES_OFFSET as u64, available: data.len() as u64 });
        };
        if version != CURRENT_VERSION {
            return fail(VERSION_OFFSET, IndexFault::Version { version: i64::from(version) });
        }
        let computed = crc32c(covered);
        let Ok(expected) = u64::try_from(count) else {
            return fail(COUNT_OFFSET, IndexFault::NegativeCount { count: i64::from(count) });
        };
        let needed = expected * ENTRY_SIZE as u64;
        let available = fields.remaining() as u64;
        if available < needed {
            return fail(ENTRIES_OFFSET, IndexFault::Truncated { needed, available });
        }
        if crc != computed {
            return fail(CRC_OFFSET, IndexFault::Crc { stored: crc, computed });
        }
        // The entries have been found to be there, so their number is bounded by the size of the file.
        let mut producers = memory::with_capacity(expected as usize)?;
        while let Some(entry) = (producers.len() < expected as usize).then(|| decode(&mut fields)).flatten() {
            producers.push(entry);
        }
        if available > needed {
            return fail(fields.position(), IndexFault::TrailingBytes { length: available - needed });
        }
        Ok(Self { version, crc, producers })
    }
}

/// Encodes a snapshot file of these producers.
pub fn encode_producer_snapshot(producers: &[ProducerEntry]) -> Vec<u8> {
    let mut body = Vec::with_capacity(COUNT_LENGTH + producers.len() * ENTRY_SIZE);
    body.extend_from_slice(&(producers.len() as i32).to_be_bytes());
    for producer in producers {
        producer.encode(&mut body);
    }
    let mut file = CURRENT_VERSION.to_be_bytes().to_vec();
    file.extend_from_slice(&crc32c(&body).to_be_bytes());
    file.extend_from_slice(&body);
    file
}

fn decode(fields: &mut Fields<'_>) -> Option<ProducerEntry> {
    Some(ProducerEntry {
        producer_id: fields.i64()?,
        epoch: fields.i16()?,
        last_sequence: fields.i32()?,
        last_offset: fields.i64()?,
        offset_delta: fields.i32()?,
        timestamp: fields.i64()?,
        coordinator_epoch: fields.i32()?,
        current_txn_first_offset: fields.i64()?,
    })
}

#[cfg(test)]
mod tests {
    use super::{ENTRY_SIZE, ProducerSnapshot};
    use crate::error::ContentError;
    use crate::index::IndexFault;
    use kafkacomp_records::checksum::crc32c;
    use proptest::prelude::*;

    fn snapshot(count: i32, entries: &[u8]) -> Vec<u8> {
        let body = [&count.to_be_bytes()[..], entries].concat();
        [&1i16.to_be_bytes()[..], &crc32c(&body).to_be_bytes(), &body].concat()
    }

    fn fault(data: &[u8]) -> (u64, IndexFault) {
        match ProducerSnapshot::parse(data).unwrap_err() {
            ContentError::IndexFile { position, fault } => (position, fault),
            other => panic!("{other}"),
        }
    }

    #[test]
    fn sequence_numbers_wrap() {
        let mut entry = Vec::new();
        entry.extend_from_slice(&9i64.to_be_bytes());
        entry.extend_from_slice(&3i16.to_be_bytes());
        entry.extend_from_slice(&2i32.to_be_bytes());
        entry.extend_from_slice(&100i64.to_be_bytes());
        entry.extend_from_slice(&5i32.to_be_bytes());
        entry.extend_from_slice(&77i64.to_be_bytes());
        entry.extend_from_slice(&(-1i32).to_be_bytes());
        entry.extend_from_slice(&95i64.to_be_bytes());
        let read = ProducerSnapshot::parse(&snapshot(1, &entry)).unwrap();
        let producer = read.producers[0];
        assert_eq!((producer.producer_id, producer.epoch, producer.last_sequence), (9, 3, 2));
        assert_eq!((producer.timestamp, producer.coordinator_epoch, producer.current_txn_first_offset), (77, -1, 95));
        assert_eq!(producer.first_sequence(), i32::MAX - 2);
    }

    #[test]
    fn errors_name_the_corrupt_byte() {
        let good = snapshot(2, &[7; 2 * ENTRY_SIZE]);
        assert_eq!(ProducerSnapshot::parse(&good).unwrap().producers.len(), 2);
        for cut in 0..good.len() {
            assert!(matches!(fault(&good[..cut]).1, IndexFault::Truncated { .. }), "{cut}");
        }
        for bit in 0..good.len() * 8 {
            let mut flipped = good.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(ProducerSnapshot::parse(&flipped).is_err(), "{bit}");
        }
        assert_eq!(fault(&snapshot(-1, &[])), (6, IndexFault::NegativeCount { count: -1 }));
        assert_eq!(fault(&snapshot(0, &[1])), (10, IndexFault::TrailingBytes { length: 1 }));
        let huge = snapshot(i32::MAX, &[]);
        let needed = u64::from(i32::MAX.cast_unsigned()) * ENTRY_SIZE as u64;
        assert_eq!(fault(&huge), (10, IndexFault::Truncated { needed, available: 0 }));
    }

    proptest! {
        #[test]
        fn any_bytes(data in proptest::collection::vec(any::<u8>(), 0..200), count: i32) {
            let _ = ProducerSnapshot::parse(&data);
            if let Ok(read) = ProducerSnapshot::parse(&snapshot(count % 5, &data)) {
                for producer in read.producers {
                    let _ = producer.first_sequence();
                }
            }
        }
    }
}
