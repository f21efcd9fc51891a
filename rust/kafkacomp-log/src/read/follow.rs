//! Following a log that a broker is writing: finds its end from what was appended since the last call.
//!
//! Only headers are read, from the position where the last call ended, and the bodies of control batches. A batch counts once
//! it is complete. A broker writes in order, so a batch is complete if a header follows it. The last batch is verified by its
//! checksum, because a preallocated file (`log.preallocate`) may have zeros in place of a batch that is still to be written.
//! An incomplete batch is examined again by the next call.
//!
//! The log ends after a batch that continues the one before. A batch after a gap counts once one above it follows, or the next call
//! finds nothing appended: no checksum covers its base offset, and where that is too high, whatever is appended would be below the
//! end. A batch that is below such a one, below the end, or more than 2^31 - 1 above the name of the segment is
//! [disorder](Disorder): only all files of the partition show where the log ends.
//!
//! The last stable offset (KIP-98) is the first offset of the earliest open transaction. A transaction begins with its
//! producer's first transactional batch and ends with a marker. See [`super::transactions`].

use super::batch_headers::{BatchHeader, HeaderWalk, Hop};
use super::resync::Resync;
use super::source::{ReadAt, read_part};
use super::transactions::{AbortedRange, TransactionCollector};
use crate::error::{ContentError, ReadError};
use crate::index::MAX_RELATIVE_OFFSET;
use crate::map::in_order::{InOrder, Place};
use kafkacomp_records::memory::{self, OutOfMemory};
use kafkacomp_records::record::batch::HEADER_SIZE_UP_TO_MAGIC;
use kafkacomp_records::record::{RecordBatch, RecordReader};

/// The largest decompressed size of a control batch. The value of a marker has 6 bytes.
const CONTROL_BYTES: usize = 64 << 10;
/// If this many zeros follow an invalid header, and as many are at the end of the file, the rest of it is preallocated. File systems lose fewer
/// pages at once.
const RESERVED: usize = 64 << 10;

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

/// A batch that is not above those before it, or too far above the name of the segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Disorder {
    /// Its position in the segment.
    pub position: u64,
    /// Its first offset; of a compressed message of formats 0 and 1, its last one.
    pub first: i64,
    /// The offset that was expected.
    pub expected: i64,
}

/// Follows one partition, segment by segment.
#[derive(Debug)]
pub struct Follower {
    position: u64,
    /// The base offset of the segment.
    base_offset: i64,
    end_offset: Option<i64>,
    /// The offset after a batch that follows a gap, and after which nothing came yet.
    pending: Option<i64>,
    /// The first one that was found since it was taken.
    disorder: Option<Disorder>,
    /// Where the last call ended.
    looked_to: Option<u64>,
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
        Self {
            position: 0,
            base_offset: 0,
            end_offset: None,
            pending: None,
            disorder: None,
            looked_to: None,
            transactions,
            buffer: Vec::new(),
        }
    }

    /// Continues at the start of another segment.
    pub fn enter(&mut self, base_offset: i64) {
        (self.position, self.base_offset, self.looked_to) = (0, base_offset, None);
    }

    /// Where in the segment the next batch begins.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// The offset after the last batch that counts; `None` before the first one.
    pub fn end_offset(&self) -> Option<i64> {
        self.end_offset
    }

    /// Whether the last batch follows a gap, so that another call must show that nothing below it is appended.
    pub fn is_pending(&self) -> bool {
        self.pending.is_some()
    }

    /// The first batch since the last call of this method that is not above those before it.
    pub fn take_disorder(&mut self) -> Option<Disorder> {
        self.disorder.take()
    }

    /// Sets the end of the log, as all files of the partition show it.
    pub fn set_end_offset(&mut self, end: i64) {
        (self.end_offset, self.pending) = (Some(end), None);
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
        let before = self.looked_to;
        let stop = self.read(source, length, skip)?;
        if before == Some(self.position)
            && let Some(end) = self.pending.take()
        {
            self.end_offset = Some(end);
        }
        self.looked_to = Some(self.position);
        Ok(stop)
    }

    fn read(&mut self, source: &dyn ReadAt, length: u64, skip: bool) -> Result<FollowEnd, ReadError> {
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
        // The header of a corrupt batch may be that of another place.
        if self.is_after_gap(header)
            && <Resync>::new(header.position, header.end()).verify(source, header.position, header.size)?.is_err()
        {
            return Ok(());
        }
        self.place(header);
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

    /// Whether offsets are missing before a batch.
    fn is_after_gap(&self, header: &BatchHeader) -> bool {
        let expected = self.pending.or(self.end_offset).unwrap_or(self.base_offset).max(self.base_offset);
        InOrder::new(expected, i64::MAX).place(header.span.first, header.last_offset) == Place::AfterGap
    }

    /// Compares the offsets of a batch with those before it.
    fn place(&mut self, header: &BatchHeader) {
        let (first, last) = (header.span.first, header.last_offset);
        let until = self.base_offset.saturating_add(MAX_RELATIVE_OFFSET).saturating_add(1);
        let place = |expected: i64| InOrder::new(expected, until).place(first, last);
        let mut disordered_at = None;
        if let Some(pending) = self.pending.take() {
            if place(pending) == Place::OutOfOrder {
                disordered_at = Some(pending);
            } else {
                self.end_offset = Some(pending);
            }
        }
        let expected = self.end_offset.map_or(self.base_offset, |end| end.max(self.base_offset));
        match place(expected) {
            Place::Next => self.end_offset = Some(last.saturating_add(1)),
            Place::AfterGap => self.pending = Some(last.saturating_add(1)),
            Place::OutOfOrder => disordered_at = Some(expected),
        }
        if let Some(expected) = disordered_at {
            let first = first.unwrap_or_else(|| last.min(expected));
            self.disorder.get_or_insert(Disorder { position: header.position, first, expected });
        }
    }

    /// Whether zeros follow the invalid header at `position`, and the file ends with zeros: at most, a batch is being written there.
    fn is_reserved(&mut self, source: &dyn ReadAt, position: u64, length: u64) -> Result<bool, ReadError> {
        let after = position.saturating_add(HEADER_SIZE_UP_TO_MAGIC as u64);
        let size = length.saturating_sub(after).min(RESERVED as u64);
        for start in [after, length.saturating_sub(size)] {
            let data = read_part(source, start, size as usize, &mut self.buffer)?;
            if data.iter().any(|&byte| byte != 0) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::InMemory;
    use kafkacomp_records::record::Error;
    use kafkacomp_records::record::batch::LOG_OVERHEAD;
    use kafkacomp_records::record::layout::v2::{ATTRIBUTES_OFFSET, CRC_OFFSET, RECORD_BATCH_OVERHEAD};

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
        let crc = kafkacomp_records::checksum::crc32c(&data[ATTRIBUTES_OFFSET..]);
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
            follower.enter(7);
            for length in 0..=data.len() {
                let mut file = data[..length].to_vec();
                file.resize(length + reserved, 0);
                let stop = look(&mut follower, &file);
                let whole = length / RECORD_BATCH_OVERHEAD;
                assert_eq!(follower.position(), (whole * RECORD_BATCH_OVERHEAD) as u64, "{length} bytes: {stop:?}");
                assert_eq!(follower.end_offset(), [None, Some(10), Some(11), Some(11)][whole]);
                assert!(matches!(stop, FollowEnd::End | FollowEnd::Truncated));
            }
            let mut file = data.clone();
            file.resize(data.len() + reserved, 0);
            look(&mut follower, &file);
            assert_eq!(follower.end_offset(), Some(17));
        }
    }

    #[test]
    fn corruption_is_reported_or_skipped() {
        let mut bad = batch(10, 1, None);
        bad[16] = 9;
        let data = [batch(7, 3, None), bad, batch(15, 2, None)].concat();
        let mut follower = Follower::new(false);
        follower.enter(7);
        assert!(matches!(
            look(&mut follower, &data),
            FollowEnd::Corrupt(ContentError::Record(Error::UnknownMagic { position: 61, magic: 9 }))
        ));
        assert_eq!((follower.position(), follower.end_offset()), (61, Some(10)));
        assert_eq!(follower.follow(&InMemory(&data), true).unwrap(), FollowEnd::End);
        assert_eq!((follower.position(), follower.end_offset(), follower.is_pending()), (183, Some(10), true));
        assert_eq!(follower.follow(&InMemory(&data), true).unwrap(), FollowEnd::End);
        assert_eq!(follower.end_offset(), Some(17));
    }

    #[test]
    fn zeros_within_a_file_are_not_preallocated() {
        let data = [batch(7, 3, None), vec![0; 3 * RESERVED], batch(20, 1, None), batch(21, 1, None)].concat();
        let mut follower = Follower::new(false);
        follower.enter(7);
        assert_eq!(follower.follow(&InMemory(&data), true).unwrap(), FollowEnd::End);
        assert_eq!(follower.end_offset(), Some(22));
    }

    #[test]
    fn a_corrupt_batch_after_a_gap_is_not_the_end() {
        let mut far = batch(1000, 2, None);
        far[50] ^= 1;
        let mut data = [batch(7, 3, None), far].concat();
        let mut follower = Follower::new(false);
        follower.enter(7);
        data.extend(batch(10, 2, None));
        look(&mut follower, &data);
        assert_eq!((follower.end_offset(), follower.is_pending(), follower.take_disorder()), (Some(12), false, None));
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
    fn a_batch_after_a_gap_counts_once_nothing_contradicts_it() {
        let (first, far, next) = (batch(7, 3, None), batch(1000, 2, None), batch(10, 4, None));
        let mut follower = Follower::new(false);
        follower.enter(7);
        let mut data = [first, far].concat();
        look(&mut follower, &data);
        assert_eq!((follower.end_offset(), follower.is_pending()), (Some(10), true));
        // What is appended contradicts it.
        data.extend(next);
        look(&mut follower, &data);
        assert_eq!((follower.end_offset(), follower.is_pending()), (Some(14), false));
        let disorder = Disorder { position: 2 * RECORD_BATCH_OVERHEAD as u64, first: 10, expected: 1002 };
        assert_eq!(follower.take_disorder(), Some(disorder));
        // Nothing is appended.
        data.extend(batch(20, 1, None));
        look(&mut follower, &data);
        assert_eq!(follower.end_offset(), Some(14));
        look(&mut follower, &data);
        assert_eq!((follower.end_offset(), follower.is_pending()), (Some(21), false));
        // Something above it is appended, after a gap, too.
        data.extend([batch(30, 1, None), batch(40, 1, None)].concat());
        look(&mut follower, &data);
        assert_eq!((follower.end_offset(), follower.is_pending()), (Some(31), true));
    }

    #[test]
    fn a_batch_below_the_end_is_disorder() {
        let data = [batch(7, 3, None), batch(5, 1, None), batch(10, 1, None)].concat();
        let mut follower = Follower::new(false);
        follower.enter(7);
        look(&mut follower, &data);
        let disorder = Disorder { position: RECORD_BATCH_OVERHEAD as u64, first: 5, expected: 10 };
        assert_eq!((follower.take_disorder(), follower.end_offset()), (Some(disorder), Some(11)));
        assert_eq!(follower.take_disorder(), None);
        follower.set_end_offset(20);
        assert_eq!(follower.end_offset(), Some(20));
    }

    #[test]
    fn a_large_batch_leaves_no_buffer() {
        let mut large = batch(7, 1, None);
        large.resize(40 << 20, 3);
        let size = (large.len() - LOG_OVERHEAD) as i32;
        large[8..12].copy_from_slice(&size.to_be_bytes());
        large[RECORD_BATCH_OVERHEAD - 1] = 1;
        large[RECORD_BATCH_OVERHEAD] = 0x40;
        let crc = kafkacomp_records::checksum::crc32c(&large[ATTRIBUTES_OFFSET..]);
        large[CRC_OFFSET..CRC_OFFSET + 4].copy_from_slice(&crc.to_be_bytes());
        let mut follower = Follower::new(true);
        follower.enter(7);
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
        follower.enter(11);
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
