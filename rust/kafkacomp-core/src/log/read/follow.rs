//! Following a log that a broker is writing: finds its end from what was appended since the last call.
//!
//! Only headers are read, from the position where the last call ended, and the bodies of control batches. A batch counts once
//! it is complete. A broker writes in order, so a batch is complete if a header follows it. The last batch is verified by its
//! checksum, because a preallocated file (`log.preallocate`) may have zeros in place of a batch that is still to be written.
//! An incomplete batch is examined again by the next call.
//!
//! The last stable offset (KIP-98) is the first offset of the earliest open transaction. A transaction begins with its
//! producer's first transactional batch and ends with a marker. See [`super::transactions`].

use super::batch_headers::{BatchHeader, HeaderWalk, Hop};
use super::resync::Resync;
use super::source::{ReadAt, read_part};
use super::transactions::{AbortedRange, TransactionCollector};
use crate::log::error::{ContentError, ReadError};
use crate::memory::{self, OutOfMemory};
use crate::record::batch::HEADER_SIZE_UP_TO_MAGIC;
use crate::record::{RecordBatch, RecordReader};

/// The largest decompressed size of a control batch. The value of a marker has 6 bytes.
const CONTROL_BYTES: usize = 64 << 10;
/// If this many zeros follow an invalid header, the rest of the file is preallocated. It is the size of a page.
const RESERVED: usize = 4 << 10;

/// Why following a segment ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FollowEnd {
    /// At the end of the segment, or at preallocated zeros.
    End,
    /// At an incomplete batch.
    Truncated,
    /// At a corrupt batch.
    Corrupt(ContentError),
    /// The segment is shorter than before: it was replaced or truncated.
    Shrunk,
}

impl FollowEnd {
    /// The name in the Python package.
    pub fn name(&self) -> &'static str {
        match self {
            Self::End => "end",
            Self::Truncated => "truncated",
            Self::Corrupt(_) => "corrupt",
            Self::Shrunk => "shrunk",
        }
    }
}

/// Follows one partition, segment by segment.
#[derive(Debug)]
pub struct Follower {
    position: u64,
    end_offset: Option<i64>,
    transactions: Option<Transactions>,
    buffer: Vec<u8>,
}

#[derive(Debug)]
struct Transactions {
    collector: TransactionCollector,
    reader: RecordReader,
}

impl Follower {
    /// A follower at the start of a segment. With `with_transactions`, it collects transactions for a committed reader.
    pub fn new(with_transactions: bool) -> Self {
        let transactions = with_transactions.then(|| Transactions {
            collector: TransactionCollector::default(),
            reader: RecordReader::new(CONTROL_BYTES),
        });
        Self { position: 0, end_offset: None, transactions, buffer: Vec::new() }
    }

    /// Continues at the start of another segment.
    pub fn enter(&mut self) {
        self.position = 0;
    }

    /// Where in the segment the next batch begins.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// The offset after the last batch; `None` before the first batch.
    pub fn end_offset(&self) -> Option<i64> {
        self.end_offset
    }

    /// The first offset of the earliest open transaction.
    pub fn first_open(&self) -> Option<i64> {
        self.transactions.as_ref().and_then(|transactions| transactions.collector.first_open())
    }

    /// The aborted transactions so far that overlap `start..end`, with their producer ids.
    ///
    /// # Errors
    /// There is not enough memory for them.
    pub fn aborted(&self, start: i64, end: i64) -> Result<Vec<(i64, AbortedRange)>, OutOfMemory> {
        let mut found = Vec::new();
        for range in self.transactions.iter().flat_map(|transactions| transactions.collector.aborted(start, end)) {
            memory::push(&mut found, range)?;
        }
        found.sort_unstable();
        Ok(found)
    }

    /// Drops the aborted transactions that end before `offset`.
    pub fn forget(&mut self, offset: i64) {
        if let Some(transactions) = &mut self.transactions {
            transactions.collector.forget(offset);
        }
    }

    /// Reads what was appended. With `skip`, a corrupt range is skipped if an intact batch follows it. A batch that is larger than
    /// the rest of the file counts as one that is being written.
    ///
    /// # Errors
    /// [`ReadError`] if the bytes cannot be read.
    pub fn follow(&mut self, source: &dyn ReadAt, skip: bool) -> Result<FollowEnd, ReadError> {
        let length = source.length()?;
        if length < self.position {
            return Ok(FollowEnd::Shrunk);
        }
        let mut walk = HeaderWalk::new(source, self.position, length);
        let mut search: Resync = Resync::new(self.position, length);
        let mut last: Option<BatchHeader> = None;
        loop {
            let position = walk.position();
            let stop = match walk.next_batch()? {
                Hop::Batch(header) => {
                    if let Some(whole) = last.replace(header) {
                        self.take(source, &whole)?;
                    }
                    continue;
                }
                Hop::End => FollowEnd::End,
                Hop::Truncated => FollowEnd::Truncated,
                Hop::Corrupt(_) if self.is_reserved(source, position, length)? => FollowEnd::End,
                Hop::Corrupt(error) => {
                    let (next, is_last_corrupt) = if skip {
                        search.next_intact_of_walk(source, position, last.as_ref())?
                    } else {
                        (length, false)
                    };
                    if next < length {
                        last = last.filter(|_| !is_last_corrupt);
                        walk.seek(next);
                        continue;
                    }
                    FollowEnd::Corrupt(error)
                }
            };
            let Some(header) = last else { return Ok(stop) };
            let verified = match search.verify(source, header.position, header.size) {
                // The file has become shorter in the meantime; the next call reports it.
                Err(ReadError::Shrunk { .. }) => return Ok(FollowEnd::Truncated),
                verified => verified?,
            };
            if verified.is_err() {
                return Ok(if matches!(stop, FollowEnd::Corrupt(_)) { stop } else { FollowEnd::Truncated });
            }
            self.take(source, &header)?;
            return Ok(stop);
        }
    }

    /// Adds a complete batch.
    fn take(&mut self, source: &dyn ReadAt, header: &BatchHeader) -> Result<(), ReadError> {
        self.position = header.end();
        let end = header.last_offset.saturating_add(1);
        self.end_offset = Some(self.end_offset.map_or(end, |before| before.max(end)));
        if !header.is_transactional || self.transactions.is_none() {
            return Ok(());
        }
        let marker = if header.is_control_batch && header.size <= CONTROL_BYTES as u64 {
            let data = read_part(source, header.position, header.size as usize, &mut self.buffer)?;
            RecordBatch::new(data, header.position).ok()
        } else {
            None
        };
        if let Some(Transactions { collector, reader }) = &mut self.transactions {
            match marker {
                Some(marker) => collector.observe(&marker, reader),
                None if header.is_control_batch => {}
                None => collector.begin(header.producer_id, header.offset_field),
            }
        }
        Ok(())
    }

    /// Whether zeros follow the invalid header at `position`: at most, a batch is being written there.
    fn is_reserved(&mut self, source: &dyn ReadAt, position: u64, length: u64) -> Result<bool, ReadError> {
        let after = position.saturating_add(HEADER_SIZE_UP_TO_MAGIC as u64);
        let size = length.saturating_sub(after).min(RESERVED as u64) as usize;
        let data = read_part(source, after, size, &mut self.buffer)?;
        Ok(data.iter().all(|&byte| byte == 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::InMemory;
    use crate::record::Error;
    use crate::record::batch::LOG_OVERHEAD;
    use crate::record::layout::v2::{ATTRIBUTES_OFFSET, CRC_OFFSET, RECORD_BATCH_OVERHEAD};

    /// A batch of `count` offsets without records, with the right checksum.
    fn batch(base_offset: i64, count: i32, producer: Option<i64>) -> Vec<u8> {
        let mut data = vec![0; RECORD_BATCH_OVERHEAD];
        data[..8].copy_from_slice(&base_offset.to_be_bytes());
        data[8..12].copy_from_slice(&((RECORD_BATCH_OVERHEAD - LOG_OVERHEAD) as i32).to_be_bytes());
        data[16] = 2;
        data[22] = if producer.is_some() { 0x10 } else { 0 };
        data[23..27].copy_from_slice(&(count - 1).to_be_bytes());
        data[RECORD_BATCH_OVERHEAD - 1] = 1; // no zero at the end
        data[43..51].copy_from_slice(&producer.unwrap_or(-1).to_be_bytes());
        let crc = crate::checksum::crc32c(&data[ATTRIBUTES_OFFSET..]);
        data[CRC_OFFSET..CRC_OFFSET + 4].copy_from_slice(&crc.to_be_bytes());
        data
    }

    fn look(follower: &mut Follower, data: &[u8]) -> FollowEnd {
        follower.follow(&InMemory(data), false).unwrap()
    }

    #[test]
    fn a_batch_counts_when_its_last_byte_is_there() {
        let data = [batch(7, 3, None), batch(10, 1, None), batch(15, 2, None)].concat();
        for reserved in [0, 10_000] {
            let mut follower = Follower::new(false);
            for length in 0..=data.len() {
                let mut file = data[..length].to_vec();
                file.resize(length + reserved, 0);
                let stop = look(&mut follower, &file);
                let whole = length / RECORD_BATCH_OVERHEAD;
                assert_eq!(follower.position(), (whole * RECORD_BATCH_OVERHEAD) as u64, "{length} bytes: {stop:?}");
                assert_eq!(follower.end_offset(), [None, Some(10), Some(11), Some(17)][whole]);
                assert!(matches!(stop, FollowEnd::End | FollowEnd::Truncated));
            }
        }
    }

    #[test]
    fn corruption_is_reported_or_skipped() {
        let mut bad = batch(10, 1, None);
        bad[16] = 9;
        let data = [batch(7, 3, None), bad, batch(15, 2, None)].concat();
        let mut follower = Follower::new(false);
        assert!(matches!(
            look(&mut follower, &data),
            FollowEnd::Corrupt(ContentError::Record(Error::UnknownMagic { position: 61, magic: 9 }))
        ));
        assert_eq!((follower.position(), follower.end_offset()), (61, Some(10)));
        assert_eq!(follower.follow(&InMemory(&data), true).unwrap(), FollowEnd::End);
        assert_eq!((follower.position(), follower.end_offset()), (183, Some(17)));
    }

    /// A file that is not read at once.
    struct File(Vec<u8>);
    impl ReadAt for File {
        fn read_at(&self, buffer: &mut [u8], position: u64) -> std::io::Result<usize> {
            assert!(buffer.len() <= 16 << 20, "{} bytes at once", buffer.len());
            InMemory(&self.0).read_at(buffer, position)
        }

        fn length(&self) -> std::io::Result<u64> {
            Ok(self.0.len() as u64)
        }
    }

    #[test]
    fn a_large_batch_leaves_no_buffer() {
        let mut large = batch(7, 1, None);
        large.resize(40 << 20, 3);
        let size = (large.len() - LOG_OVERHEAD) as i32;
        large[8..12].copy_from_slice(&size.to_be_bytes());
        large[RECORD_BATCH_OVERHEAD - 1] = 1;
        large[RECORD_BATCH_OVERHEAD] = 0x40;
        let crc = crate::checksum::crc32c(&large[ATTRIBUTES_OFFSET..]);
        large[CRC_OFFSET..CRC_OFFSET + 4].copy_from_slice(&crc.to_be_bytes());
        let mut follower = Follower::new(true);
        assert_eq!(follower.follow(&File(large), false).unwrap(), FollowEnd::End);
        assert_eq!(follower.end_offset(), Some(8));
        assert!(follower.buffer.capacity() <= CONTROL_BYTES);
    }

    #[test]
    fn a_shorter_file_is_another_one() {
        let data = [batch(7, 3, None), batch(10, 1, None)].concat();
        let mut follower = Follower::new(false);
        assert_eq!(look(&mut follower, &data), FollowEnd::End);
        assert_eq!(look(&mut follower, &data[..61]), FollowEnd::Shrunk);
        follower.enter();
        assert_eq!(look(&mut follower, &batch(11, 4, None)), FollowEnd::End);
        assert_eq!(follower.end_offset(), Some(15));
    }

    #[test]
    fn the_earliest_open_transaction_is_known() {
        let data = [batch(0, 5, None), batch(5, 5, Some(1)), batch(10, 2, Some(2)), batch(12, 1, Some(1))].concat();
        let mut follower = Follower::new(true);
        assert_eq!(look(&mut follower, &data), FollowEnd::End);
        assert_eq!((follower.first_open(), follower.end_offset()), (Some(5), Some(13)));
        assert!(follower.aborted(0, i64::MAX).unwrap().is_empty());
    }
}
