//! Reads the batches that begin in a range of bytes of a segment, for sampling; and finds the message format of its last batch.
//!
//! The offset index gives the position of a batch before the range; from there, headers lead to the first batch of the range.
//! Records before the range are not read.

use std::fmt;
use std::sync::Arc;

use kafkacomp_log::index::offset::OffsetIndex;
use kafkacomp_log::read::source::read_full;
use kafkacomp_log::{
    ChunkBuffer, ChunkEnd, EntryChunkReader, HeaderWalk, Hop, InMemory, LogFormat, ReadAt, next_entry_from,
};
use kafkacomp_records::memory;
use kafkacomp_records::message_set::entries::Entries;

use crate::lookup::log_format::log_format_of;
use crate::options::{ScanOptions, Segment};
use crate::report::ScanError;

/// If this many zeros are at a position, the rest of the file is preallocated.
const ZEROS: usize = 17;

/// The number of bytes of a read when searching for corruption.
const CHUNK: usize = 1 << 20;

/// The batches that begin in a range of bytes.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ByteRange {
    /// The position of the first batch, or of the first message of Kafka 0.7.
    pub position: u64,
    /// Complete batches or messages, and then corrupt bytes up to the end of the range, if there are any.
    pub bytes: Vec<u8>,
    /// Whether the segment ends within a batch or message of the range.
    pub is_truncated: bool,
}

/// Reads the batches, or messages of Kafka 0.7, that begin at `begin` or after it and before `end`.
///
/// # Errors
/// An I/O error; a log format that cannot be determined; or corruption before the range, so that the position of its first batch
/// is unknown.
pub fn read_range(segment: &Segment, begin: u64, end: u64, options: &ScanOptions) -> Result<ByteRange, ScanError> {
    let opened = Opened::new(segment, options)?;
    let end = end.min(opened.length);
    let Some(position) = opened.first_from(begin)?.filter(|&position| position < end) else {
        return Ok(ByteRange { position: end, ..ByteRange::default() });
    };
    let (mut bytes, mut is_truncated) = (Vec::new(), false);
    opened.read_on(&mut bytes, position, end)?;
    let whole = opened.complete(&bytes)?;
    let complete_end = position.saturating_add(whole as u64);
    if complete_end < end {
        match opened.end_of(complete_end)? {
            Some(end) if end <= opened.length => opened.read_on(&mut bytes, position, end)?,
            Some(_) => {
                is_truncated = true;
                bytes.truncate(whole);
            }
            None => {}
        }
    }
    Ok(ByteRange { position, bytes, is_truncated })
}

/// The message format of the last batch of a segment; `None` if it has no batch. Corruption counts as the end.
///
/// # Errors
/// An I/O error, or a log format that cannot be determined.
pub fn newest_message_format(segment: &Segment, options: &ScanOptions) -> Result<Option<MessageFormat>, ScanError> {
    let opened = Opened::new(segment, options)?;
    if opened.log_format == LogFormat::MessageSet {
        return Ok(Some(MessageFormat::MessageSet));
    }
    let mut walk = opened.walk(opened.indexed(opened.length)?, opened.length);
    let mut newest = None;
    while let Hop::Batch(header) = walk.next_batch().map_err(|error| opened.chunk(error))? {
        newest = Some(MessageFormat::Magic(header.magic));
    }
    Ok(newest)
}

/// The message format of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageFormat {
    /// That of Kafka 0.7.
    MessageSet,
    /// Those since Kafka 0.8.
    Magic(i8),
}

impl fmt::Display for MessageFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MessageSet => f.write_str(LogFormat::MessageSet.name()),
            Self::Magic(magic) => write!(f, "{magic}"),
        }
    }
}

struct Opened<'s> {
    segment: &'s Segment,
    source: Arc<dyn ReadAt>,
    length: u64,
    log_format: LogFormat,
}

impl<'s> Opened<'s> {
    fn new(segment: &'s Segment, options: &ScanOptions) -> Result<Self, ScanError> {
        let source = segment.files.open().map_err(|error| ScanError::io(&segment.name, error))?;
        let length = source.length().map_err(|error| ScanError::io(&segment.name, error))?;
        let log_format = log_format_of(segment, source.as_ref(), length, options)?;
        Ok(Self { segment, source, length, log_format })
    }

    fn chunk(&self, error: kafkacomp_log::ReadError) -> ScanError {
        ScanError::chunk(&self.segment.name, error)
    }

    fn walk(&self, position: u64, end: u64) -> HeaderWalk<'_> {
        HeaderWalk::new(self.source.as_ref(), position, end)
    }

    /// The position of the first batch or message at `target` or after it; `None` if there is none.
    fn first_from(&self, target: u64) -> Result<Option<u64>, ScanError> {
        if self.log_format == LogFormat::MessageSet {
            let source = self.source.as_ref();
            let found = next_entry_from(source, 0, target, u64::MAX).map_err(|error| self.chunk(error))?;
            return if found.is_some() { Ok(found) } else { self.corrupt_message(target) };
        }
        let mut walk = self.walk(self.indexed(target)?, self.length);
        while walk.position() < target {
            match walk.next_batch().map_err(|error| self.chunk(error))? {
                Hop::Batch(_) => {}
                Hop::End | Hop::Truncated => return Ok(None),
                Hop::Corrupt(_) if self.is_zero(walk.position())? => return Ok(None),
                Hop::Corrupt(error) => return Err(ScanError::record(&self.segment.name, error)),
            }
        }
        Ok(Some(walk.position()))
    }

    /// The error for the message before `target` that has an invalid size.
    fn corrupt_message(&self, target: u64) -> Result<Option<u64>, ScanError> {
        let mut reader = EntryChunkReader::new(0, self.length, false);
        let mut buffer = ChunkBuffer::default();
        loop {
            let read = reader.read(self.source.as_ref(), &mut buffer, CHUNK, |position| position < target);
            match read.map_err(|error| self.chunk(error))?.1 {
                ChunkEnd::Corrupt(error) => return Err(ScanError::record(&self.segment.name, error)),
                ChunkEnd::More if reader.position() < target => {}
                _ => return Ok(None),
            }
        }
    }

    /// The position of a batch at `target` or before it, by the offset index; 0 if the index does not have it.
    fn indexed(&self, target: u64) -> Result<u64, ScanError> {
        let Some(base_offset) = self.segment.base_offset else { return Ok(0) };
        // An index that cannot be read is ignored.
        let index = self.segment.files.offset_index();
        let Ok(index) = OffsetIndex::parse(&index, base_offset) else { return Ok(0) };
        let before = index.iter().take_while(|entry| u64::from(entry.position) <= target).last();
        let Some(entry) = before else { return Ok(0) };
        let position = u64::from(entry.position);
        let hop = self.walk(position, self.length).next_batch().map_err(|error| self.chunk(error))?;
        let is_meant = matches!(hop, Hop::Batch(header) if header.last_offset <= entry.offset);
        Ok(if is_meant { position } else { 0 })
    }

    /// Extends `bytes`, which are the first ones of `[begin, end)`, to the whole range.
    fn read_on(&self, bytes: &mut Vec<u8>, begin: u64, end: u64) -> Result<(), ScanError> {
        let io = |error| ScanError::io(&self.segment.name, error);
        let known = bytes.len();
        let length = usize::try_from(end.saturating_sub(begin)).unwrap_or(usize::MAX);
        memory::resize(bytes, length.max(known)).map_err(|error| io(error.into()))?;
        let read =
            read_full(self.source.as_ref(), &mut bytes[known..], begin.saturating_add(known as u64)).map_err(io)?;
        bytes.truncate(known.saturating_add(read));
        Ok(())
    }

    /// The length of the complete batches or messages at the start of `bytes`.
    fn complete(&self, bytes: &[u8]) -> Result<usize, ScanError> {
        if self.log_format == LogFormat::MessageSet {
            return Ok(Entries::unverified(bytes).map_while(Result::ok).last().map_or(0, |entry| entry.end));
        }
        let memory = InMemory(bytes);
        let mut walk = HeaderWalk::new(&memory, 0, bytes.len() as u64);
        while let Hop::Batch(_) = walk.next_batch().map_err(|error| self.chunk(error))? {}
        Ok(usize::try_from(walk.position()).unwrap_or(usize::MAX).min(bytes.len()))
    }

    /// The end of the batch or message that begins at `position`, which may be after the end of the segment; `None` if it is
    /// corrupt.
    fn end_of(&self, position: u64) -> Result<Option<u64>, ScanError> {
        if self.log_format == LogFormat::MessageSet {
            let after = position.saturating_add(1);
            let next = next_entry_from(self.source.as_ref(), position, after, u64::MAX);
            return next.map_err(|error| self.chunk(error));
        }
        Ok(match self.walk(position, self.length).next_batch().map_err(|error| self.chunk(error))? {
            Hop::Batch(header) => Some(header.end()),
            Hop::Truncated => Some(u64::MAX),
            Hop::End | Hop::Corrupt(_) => None,
        })
    }

    /// Whether `position` is in the preallocated part of the file.
    fn is_zero(&self, position: u64) -> Result<bool, ScanError> {
        let mut start = [0; ZEROS];
        let read = read_full(self.source.as_ref(), &mut start, position);
        read.map_err(|error| ScanError::io(&self.segment.name, error))?;
        Ok(start == [0; ZEROS])
    }
}

#[cfg(test)]
mod tests {
    use kafkacomp_log::MemorySegment;
    use kafkacomp_records::CompressionType;
    use kafkacomp_records::compress::Compression;
    use kafkacomp_records::record::{BatchSettings, Headers, RecordBatchBuilder};

    use super::*;

    fn segment(data: &[u8], name: &str) -> Segment {
        Segment {
            name: Arc::from(name),
            base_offset: None,
            size: data.len() as u64,
            files: Arc::new(MemorySegment(Arc::new(data.to_vec()))),
            range: None,
            offsets: None,
            boundaries: crate::lookup::split_boundaries::SplitBoundaries::default(),
            active: false,
            transactions_in: crate::options::TransactionsIn::default(),
        }
    }

    fn batch_of(magic: i8, value: &[u8]) -> Vec<u8> {
        let compression = Compression::of(CompressionType::None);
        let mut builder =
            RecordBatchBuilder::new(BatchSettings { magic, compression, ..BatchSettings::default() }).unwrap();
        builder.append(0, 0, None, Some(value), Headers::EMPTY).unwrap();
        let mut data = Vec::new();
        builder.build(&mut data).unwrap();
        data
    }

    fn batch(value: &[u8]) -> Vec<u8> {
        batch_of(2, value)
    }

    fn message(payload: &[u8]) -> Vec<u8> {
        let size = (5 + payload.len()) as i32;
        let crc = kafkacomp_records::checksum::crc32(payload).to_be_bytes();
        [&size.to_be_bytes()[..], &[0], &crc, payload].concat()
    }

    fn read(data: &[u8], begin: u64, end: u64) -> ByteRange {
        read_range(&segment(data, "x.log"), begin, end, &ScanOptions::default()).unwrap()
    }

    /// Two adjacent ranges together contain the whole log, and each batch is in one of them.
    fn check_every_split(parts: &[Vec<u8>]) {
        let data = parts.concat();
        let length = data.len() as u64;
        for middle in 0..=length {
            let (first, second) = (read(&data, 0, middle), read(&data, middle, length + 5));
            assert_eq!([first.bytes.clone(), second.bytes.clone()].concat(), data, "at {middle}");
            let begins = parts.iter().scan(0, |at, part| Some(std::mem::replace(at, *at + part.len() as u64)));
            let taken: u64 =
                begins.filter(|&at| at < middle).map(|at| end_of_part(parts, at)).max().unwrap_or_default();
            assert_eq!(first.bytes.len() as u64, taken, "at {middle}");
            assert!(second.bytes.is_empty() || second.position == taken);
            assert!(!first.is_truncated && !second.is_truncated);
        }
    }

    fn end_of_part(parts: &[Vec<u8>], begin: u64) -> u64 {
        let mut at = 0;
        for part in parts {
            let end = at + part.len() as u64;
            if at == begin {
                return end;
            }
            at = end;
        }
        at
    }

    #[test]
    fn each_batch_is_in_one_range() {
        check_every_split(&[batch(b"one"), batch(b"more than one"), batch(b""), batch(&[7; 90])]);
    }

    #[test]
    fn each_message_of_0_7_is_in_one_range() {
        check_every_split(&[message(b"one"), message(b"more than one"), message(b""), message(&[7; 90])]);
    }

    #[test]
    fn what_the_end_truncates_is_left_out() {
        for parts in [[batch(b"one"), batch(b"two")], [message(b"one"), message(b"two")]] {
            let data = parts.concat();
            for length in parts[0].len() + 5..data.len() {
                let found = read(&data[..length], 0, data.len() as u64);
                assert_eq!((found.bytes, found.is_truncated), (parts[0].clone(), true), "{length}");
            }
        }
    }

    #[test]
    fn corruption_before_a_range_is_an_error_and_in_it_bytes() {
        let size_at = [8, 0];
        for (parts, at) in [[batch(b"one"), batch(b"two")], [message(b"one"), message(b"two")]].iter().zip(size_at) {
            let mut data = parts.concat();
            let bad = parts[0].len();
            data[bad + at..bad + at + 4].fill(0xff);
            let length = data.len() as u64;
            assert_eq!(read(&data, 0, length).bytes, data);
            let options = ScanOptions::default();
            let error = read_range(&segment(&data, "x.log"), length - 1, length, &options).unwrap_err();
            assert!(matches!(error, ScanError::Record { .. }), "{error:?}");
        }
    }

    #[test]
    fn zeros_of_a_preallocated_file_are_no_batches() {
        let data = [batch(b"one"), vec![0; 500]].concat();
        assert_eq!(read(&data, data.len() as u64 - 100, data.len() as u64).bytes, b"");
    }

    #[test]
    fn the_last_batch_has_the_message_format() {
        let format = |data: &[u8], name| newest_message_format(&segment(data, name), &ScanOptions::default()).unwrap();
        let old = batch_of(1, b"old");
        assert_eq!(format(&old, "x.log"), Some(MessageFormat::Magic(1)));
        assert_eq!(format(&[old, batch(b"new"), vec![0; 40]].concat(), "x.log"), Some(MessageFormat::Magic(2)));
        assert_eq!(format(&message(b"older"), "x.kafka"), Some(MessageFormat::MessageSet));
        assert_eq!(format(b"", "x.log"), None);
    }
}
