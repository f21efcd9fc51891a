//! The batches of a file that is compared with others, as hashes.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::sync::Arc;

use crate::error_kind::Category;
use crate::log::error::{Error, ReadError};
use crate::log::read::chunk::{ChunkEnd, ChunkReader, chunk_bytes};
use crate::log::read::chunk_buffer::ChunkBuffer;
use crate::log::read::placement::Span;
use crate::log::read::source::{ReadAt, read_part};
use crate::memory::{self, OutOfMemory};
use crate::record::batch::MAGIC_OFFSET;
use crate::record::{Batches, RecordBatch, RecordReader};

/// The least number of bytes of a read.
const CHUNK: usize = 128 << 10;

/// The most batches that are kept of a file.
const MOST_BATCHES: usize = 1 << 19;

/// The most records whose hashes are kept of a file.
const MOST_RECORDS: usize = 1 << 20;

/// The offset and the hash of each record of a batch.
pub(super) type RecordHashes = Arc<Vec<(i64, u64)>>;

/// An intact batch. Those of two files are equal if their bytes are, except for the leader epoch, which brokers set.
#[derive(Debug, Clone, Copy)]
pub(super) struct ComparedBatch {
    pub position: u64,
    pub size: usize,
    /// The first offset; `None` for a wrapper.
    pub first: Option<i64>,
    pub last: i64,
    /// The greatest last offset of the batches up to this one.
    reach: i64,
    epoch: i32,
    crc: u32,
    hash: u64,
}

impl ComparedBatch {
    fn of(batch: &RecordBatch<'_>, before: Option<i64>, hashing: &RandomState) -> Self {
        let data = batch.data();
        let mut hasher = hashing.build_hasher();
        hasher.write_i64(batch.offset_field());
        // Before the magic is the leader epoch, or in magic 0 and 1 the checksum.
        hasher.write(&data[if batch.magic() >= 2 { MAGIC_OFFSET } else { 0 }..]);
        Self {
            position: batch.position(),
            size: data.len(),
            first: batch.base_offset(),
            last: batch.last_offset(),
            reach: batch.last_offset().max(before.unwrap_or(i64::MIN)),
            epoch: batch.partition_leader_epoch(),
            crc: batch.crc(),
            hash: hasher.finish(),
        }
    }

    /// Its offsets as its header states them.
    pub(super) fn span(&self) -> Span {
        Span { first: self.first, last: self.last, crc: self.crc }
    }

    /// Whether `next` begins where it ends.
    pub(super) fn is_before(&self, next: &Self) -> bool {
        self.position.checked_add(self.size as u64) == Some(next.position)
    }

    /// Whether two batches are equal except for the leader epoch.
    pub(super) fn has_same_records(&self, other: &Self) -> bool {
        (self.size, self.hash) == (other.size, other.hash)
    }
}

/// Whether two batches are equal, and at the same position.
impl PartialEq for ComparedBatch {
    fn eq(&self, other: &Self) -> bool {
        self.has_same_records(other) && (self.position, self.epoch) == (other.position, other.epoch)
    }
}

/// What is needed to read a file.
pub(super) struct FileReader<'r> {
    pub(super) source: &'r dyn ReadAt,
    hashing: &'r RandomState,
    records: RecordReader,
    pub(super) scratch: Vec<u8>,
}

impl<'r> FileReader<'r> {
    pub(super) fn new(source: &'r dyn ReadAt, hashing: &'r RandomState, max_output_size: usize) -> Self {
        Self { source, hashing, records: RecordReader::new(max_output_size), scratch: Vec::new() }
    }
}

/// The batches of a file as far as they were read.
#[derive(Debug)]
pub(super) struct ComparedFile {
    /// Batches that end before this offset are left out.
    from: i64,
    batches: Vec<ComparedBatch>,
    /// The number of batches that were dropped because there are too many.
    dropped: usize,
    /// The records of batches that were decoded, by the index of the batch.
    records: HashMap<usize, RecordHashes>,
    kept_records: usize,
    chunks: ChunkReader,
    /// The bytes of the last chunk, and its position.
    buffer: ChunkBuffer,
    chunk: u64,
    is_corrupt_inside: bool,
    ended: bool,
}

impl ComparedFile {
    /// A file that is read from the batch at `start` on, before which it has no offset from `from` on.
    pub(super) fn new(start: u64, length: u64, from: i64) -> Self {
        Self {
            from,
            batches: Vec::new(),
            dropped: 0,
            records: HashMap::new(),
            kept_records: 0,
            chunks: ChunkReader::new(start, length, true),
            buffer: ChunkBuffer::default(),
            chunk: start,
            is_corrupt_inside: false,
            ended: false,
        }
    }

    /// Whether all batches with offsets from this one on are known, or can be read.
    pub(super) fn has(&self, offset: i64) -> bool {
        self.from <= offset
    }

    /// Whether no batch was dropped.
    pub(super) fn is_complete(&self) -> bool {
        self.dropped == 0
    }

    /// Whether a corrupt range comes before an intact batch, as far as the file was read.
    pub(super) fn is_corrupt_inside(&self) -> bool {
        self.is_corrupt_inside
    }

    /// The memory that is kept, without that of the chunk.
    pub(super) fn kept_bytes(&self) -> usize {
        let batches = self.batches.capacity().saturating_mul(size_of::<ComparedBatch>());
        batches.saturating_add(self.kept_records.saturating_mul(size_of::<(i64, u64)>()))
    }

    /// Frees the memory of the chunk.
    pub(super) fn drop_chunk(&mut self) {
        self.buffer = ChunkBuffer::default();
        let known = self.chunks.take_large_corrupt();
        self.chunks = ChunkReader::new(self.chunks.position(), self.chunks.end(), true).with_large_corrupt(known);
    }

    /// An index before which no known batch has this offset or one after it.
    pub(super) fn index_before(&self, offset: i64) -> usize {
        self.dropped.saturating_add(self.batches.partition_point(|batch| batch.reach < offset))
    }

    /// The batch with this index, in the order of the file; `None` at the end.
    pub(super) fn batch(
        &mut self,
        index: usize,
        reader: &mut FileReader<'_>,
    ) -> Result<Option<ComparedBatch>, ReadError> {
        loop {
            let known = index.checked_sub(self.dropped).and_then(|at| self.batches.get(at));
            if known.is_some() || self.ended {
                return Ok(known.copied());
            }
            self.read_chunk(reader)?;
        }
    }

    fn read_chunk(&mut self, reader: &FileReader<'_>) -> Result<(), ReadError> {
        let position = self.chunks.position();
        let target = CHUNK.max(reader.source.worth_reading());
        let from = self.from;
        let check = |batch: &RecordBatch<'_>| if batch.last_offset() < from { Ok(()) } else { batch.ensure_valid() };
        let (used, end) = self.chunks.read(reader.source, &mut self.buffer, target, check)?;
        self.chunk = position;
        if self.batches.len() >= MOST_BATCHES {
            self.dropped = self.dropped.saturating_add(self.batches.len());
            self.batches.clear();
            self.records.clear();
            self.kept_records = 0;
        }
        let data = chunk_bytes(reader.source, &self.buffer, position, used);
        for batch in Batches::whole(data, position) {
            if batch.last_offset() >= from {
                let before = self.batches.last().map(|before| before.reach);
                let found = ComparedBatch::of(&batch, before, reader.hashing);
                memory::push(&mut self.batches, found).map_err(io::Error::from)?;
            }
        }
        match end {
            ChunkEnd::More => {}
            ChunkEnd::End | ChunkEnd::Truncated(_) => self.ended = true,
            ChunkEnd::Corrupt(_) => {
                self.ended = self.chunks.resync(reader.source)? >= self.chunks.end();
                self.is_corrupt_inside |= !self.ended;
            }
        }
        Ok(())
    }

    /// The bytes of a batch: of the last chunk, or read again.
    pub(super) fn bytes<'b>(
        &'b self,
        batch: &ComparedBatch,
        source: &'b dyn ReadAt,
        scratch: &'b mut Vec<u8>,
    ) -> io::Result<&'b [u8]> {
        let at = batch.position.checked_sub(self.chunk).and_then(|at| usize::try_from(at).ok());
        let data = at.and_then(|at| self.buffer.get(at..at.checked_add(batch.size)?));
        match data.filter(|_| source.as_slice().is_none()) {
            Some(data) => Ok(data),
            None => read_part(source, batch.position, batch.size, scratch),
        }
    }

    /// The records of a batch; none if it is corrupt.
    pub(super) fn records(
        &mut self,
        index: usize,
        batch: &ComparedBatch,
        reader: &mut FileReader<'_>,
    ) -> Result<RecordHashes, Error> {
        if let Some(known) = self.records.get(&index) {
            return Ok(Arc::clone(known));
        }
        let FileReader { source, hashing, records, scratch } = reader;
        let data = self.bytes(batch, *source, scratch)?;
        let found = Arc::new(record_hashes(&RecordBatch::new(data, batch.position)?, records, hashing)?);
        if self.kept_records.saturating_add(found.len()) <= MOST_RECORDS {
            self.kept_records = self.kept_records.saturating_add(found.len());
            self.records.insert(index, Arc::clone(&found));
        }
        Ok(found)
    }
}

fn record_hashes(
    batch: &RecordBatch<'_>,
    reader: &mut RecordReader,
    hashing: &RandomState,
) -> Result<Vec<(i64, u64)>, Error> {
    let mut found = Vec::new();
    let mut exhausted: Option<OutOfMemory> = None;
    let decoded = reader.records(batch).and_then(|records| {
        for record in records {
            let record = record?;
            let mut hasher = hashing.build_hasher();
            hasher.write_i64(record.timestamp);
            for field in [record.key, record.value] {
                // The length distinguishes null from empty.
                hasher.write_usize(field.map_or(usize::MAX, <[u8]>::len));
                hasher.write(field.unwrap_or(&[]));
            }
            hasher.write_usize(record.headers.len());
            hasher.write(record.headers.raw());
            if let Err(error) = memory::push(&mut found, (record.offset, hasher.finish())) {
                exhausted = Some(error);
                break;
            }
        }
        Ok(())
    });
    if let Some(error) = exhausted {
        return Err(io::Error::from(error).into());
    }
    match decoded {
        Err(error) if error.category() != Category::Corrupt => Err(error.into()),
        Err(_) => Ok(Vec::new()),
        Ok(()) => Ok(found),
    }
}
