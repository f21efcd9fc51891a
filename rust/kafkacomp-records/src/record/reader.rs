//! From a batch to its records: decompression into a reused buffer, then iteration without copies.

use super::batch::{Format, LOG_OVERHEAD, RecordBatch};
use super::error::{Error, Result};
use super::layout::v0_v1::RECORD_OVERHEAD_V0;
use super::layout::v2::{LEAST_RECORD, RECORDS_COUNT_OFFSET};
use super::lz4_checksum::decode_options;
use super::partial::PartialRecords;
use super::record::Record;
use super::v0_v1::{V0V1Records, split_wrapper, wrapper_payload};
use super::v2::V2Records;
use crate::CompressionType;
use crate::buffer::OutputBuffer;
use crate::compress::{self, CodecError, CodecFault, Strictness};
use crate::limits::MAX_POOLED_BUFFER;
use crate::memory::{self, OutOfMemory};

/// The most decompressed bytes that are copied for a caller that keeps them. A copy of more takes longer than a new buffer.
const MOST_COPIED: usize = 1 << 20;

/// Reads the records of batches. The buffer for decompressed records is reused for the next batch, unless they are
/// [retained](RecordReader::retaining).
#[derive(Debug)]
pub struct RecordReader {
    strictness: Strictness,
    buffer: OutputBuffer,
    max_output_size: usize,
    retains: bool,
}

impl RecordReader {
    /// A reader that refuses a batch whose records take more than `max_output_size` bytes.
    pub fn new(max_output_size: usize) -> Self {
        Self {
            strictness: Strictness::Tolerant,
            buffer: OutputBuffer::new(max_output_size),
            max_output_size,
            retains: false,
        }
    }

    /// A reader that accepts exactly what a broker accepts: see [`Strictness::Kafka`].
    pub fn as_broker(max_output_size: usize) -> Self {
        Self { strictness: Strictness::Kafka, ..Self::new(max_output_size) }
    }

    /// A reader that writes the decompressed bytes of a batch after those of the batches before, until
    /// [`replace_storage`](Self::replace_storage) takes them: for callers that refer to them.
    pub fn retaining(max_output_size: usize) -> Self {
        Self { retains: true, ..Self::new(max_output_size) }
    }

    /// Makes the buffer ready for the next batch.
    #[inline]
    fn begin(&mut self) {
        if self.retains {
            self.buffer.retain(self.max_output_size);
        } else {
            self.buffer.reset(self.max_output_size);
        }
    }

    /// The number of decompressed bytes that are retained from the batches before the last one: its
    /// [`payload`](Self::payload) begins there in the storage.
    pub fn retained(&self) -> usize {
        self.buffer.start()
    }

    /// The number of decompressed bytes that the storage has room for, after the payload of the last batch.
    pub fn room(&self) -> usize {
        self.buffer.room()
    }

    /// Drops the payload of the last batch, so that it is not retained.
    pub fn drop_payload(&mut self) {
        self.buffer.truncate(0);
    }

    /// Takes the storage with the payloads of all batches since the last call, and gives the reader `next` in its place. The
    /// storage may be longer than the payloads.
    pub fn replace_storage(&mut self, next: Vec<u8>) -> Vec<u8> {
        self.buffer.replace_storage(next)
    }

    /// Sets the limit for the following batches.
    pub fn set_max_output_size(&mut self, max_output_size: usize) {
        self.max_output_size = max_output_size;
    }

    /// The decompressed bytes of the last batch; empty if it was not compressed.
    pub fn payload(&self) -> &[u8] {
        self.buffer.as_slice()
    }

    /// The decompressed bytes of the last batch for a caller that keeps them; empty if it was not compressed. Few bytes are
    /// copied, so that the reader keeps its buffer; many are taken together with it.
    ///
    /// # Errors
    /// The copy cannot be allocated.
    pub fn owned_payload(&mut self) -> core::result::Result<Vec<u8>, OutOfMemory> {
        if self.buffer.len() <= MOST_COPIED {
            return memory::copy_of(self.buffer.as_slice());
        }
        Ok(std::mem::take(&mut self.buffer).into_vec())
    }

    /// Gives the reader memory to reuse, such as [`replace_storage`](Self::replace_storage) has taken. If a pool must not keep
    /// as much, it is freed.
    pub fn reuse_storage(&mut self, storage: Vec<u8>) {
        if storage.capacity() <= MAX_POOLED_BUFFER {
            self.buffer.replace_storage(storage);
        }
    }

    /// The first offset of `batch`. If the header does not contain it (a wrapper of magic 0 or 1), the batch is decompressed.
    ///
    /// # Errors
    /// As [`records`](Self::records), and a first message that is compressed itself.
    pub fn base_offset(&mut self, batch: &RecordBatch<'_>) -> Result<i64> {
        match batch.base_offset() {
            Some(offset) => Ok(offset),
            None => match self.records(batch)? {
                Records::V0V1(records) => records.first_offset().unwrap_or_else(|| Ok(batch.last_offset())),
                Records::V2(_) => Ok(batch.last_offset()),
            },
        }
    }

    /// Opens the compressed records of a `batch` of magic 2. Kafka does this before it reads the number of records, so an
    /// invalid header of the codec is an error even in a batch without records.
    ///
    /// # Errors
    /// The codec's.
    fn open(&mut self, batch: &RecordBatch<'_>, compressed: &[u8]) -> Result<()> {
        self.begin();
        let options = decode_options(batch.magic(), self.strictness);
        compress::open(batch.compression_type()?, options, compressed, &mut self.buffer)
            .map_err(|source| Error::BatchCodec { position: batch.position(), source })
    }

    /// The records of a compressed `batch` of magic 2 without their keys, values and headers, as a broker reads a batch that it
    /// stores unchanged; `None` for a batch that declares no records, and for one of magic 0 or 1.
    ///
    /// # Errors
    /// As [`records`](Self::records).
    pub fn partial_records<'r>(&'r mut self, batch: &RecordBatch<'r>) -> Result<Option<PartialRecords<'r>>> {
        self.begin();
        let Format::V2(fields) = batch.format() else { return Ok(None) };
        let (count, compressed) = (fields.i32::<RECORDS_COUNT_OFFSET>(), fields.body());
        match count {
            0 => return Ok(None),
            ..0 => self.open(batch, compressed)?,
            _ => {}
        }
        let codec_error = self.decompress(batch, batch.compression_type()?, compressed)?;
        PartialRecords::new(batch, count, self.buffer.as_slice(), codec_error).map(Some)
    }

    /// The bytes before the records of `batch`, and the decompressed records. In a wrapper of magic 0 or 1 these are everything
    /// up to its value, and the set inside it. `batch` must not be a plain message.
    ///
    /// # Errors
    /// A wrapper without a value; the codec's errors.
    pub fn decompressed<'r>(&'r mut self, batch: &RecordBatch<'r>) -> Result<(&'r [u8], &'r [u8])> {
        self.begin();
        let compression_type = batch.compression_type()?;
        let (front, stored) = stored_records(batch)?;
        if compression_type == CompressionType::None {
            return Ok((front, stored));
        }
        let options = decode_options(batch.magic(), self.strictness);
        let decompressed = compress::decompress(compression_type, options, stored, &mut self.buffer);
        decompressed.map_err(|source| Error::BatchCodec { position: batch.position(), source })?;
        Ok((front, self.buffer.as_slice()))
    }

    /// The [`records`](Self::records) of an uncompressed batch of magic 2; `None` for any other batch and for a negative number
    /// of records.
    #[inline]
    pub fn plain_records<'r>(&mut self, batch: &RecordBatch<'r>) -> Option<V2Records<'r>> {
        if batch.magic() < 2 || batch.attributes().compression_id() != 0 {
            return None;
        }
        self.begin();
        V2Records::plain(batch)
    }

    /// The record of an uncompressed batch of magic 2 that has only this one, if it has no headers and short numbers. `None`
    /// for any other batch, which [`records`](Self::records) reads.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "batches of one record: the iterator is never stored; one caller")]
    pub fn single_record<'r>(&mut self, batch: &RecordBatch<'r>) -> Option<Record<'r>> {
        if batch.attributes().compression_id() != 0 || batch.records_count() != Some(1) {
            return None;
        }
        let record = V2Records::plain(batch)?.take_single()?;
        self.begin();
        Some(record)
    }

    /// The records of `batch`, by reference to its bytes or to the reader's buffer. As in Kafka's iterators, the checksum is
    /// not verified: see [`RecordBatch::ensure_valid`].
    ///
    /// # Errors
    /// As Kafka's iterator before its first record. The iterator returns later errors.
    #[inline]
    pub fn records<'r>(&'r mut self, batch: &RecordBatch<'r>) -> Result<Records<'r>> {
        self.begin();
        let compression_type = batch.compression_type()?;
        if compression_type == CompressionType::None {
            return match batch.format() {
                Format::V0(_) | Format::V1(_) => Ok(Records::V0V1(V0V1Records::plain(batch))),
                Format::V2(fields) => {
                    let count = fields.i32::<RECORDS_COUNT_OFFSET>();
                    V2Records::new(batch, count, fields.body(), false, None).map(Records::V2)
                }
            };
        }
        self.compressed_records(batch, compression_type)
    }

    /// Decompresses the records of `batch`; returns the fault of the codec, after which the decompressed bytes remain.
    ///
    /// # Errors
    /// Lack of memory, which says nothing about the batch: none of its records is returned.
    fn decompress(
        &mut self,
        batch: &RecordBatch<'_>,
        compression_type: CompressionType,
        compressed: &[u8],
    ) -> Result<Option<CodecError>> {
        let options = decode_options(batch.magic(), self.strictness);
        match compress::decompress(compression_type, options, compressed, &mut self.buffer) {
            Err(source) if source.fault == CodecFault::OutOfMemory => {
                Err(Error::BatchCodec { position: batch.position(), source })
            }
            result => Ok(result.err()),
        }
    }

    /// Begins the payload that [`decompress_both`](Self::decompress_both) has decompressed for the next batch; `false` if it is lost.
    pub(super) fn begin_ahead(&mut self) -> bool {
        self.buffer.begin_ahead(self.max_output_size)
    }

    /// Decompresses the records of a batch and of the next one, both LZ4 and of this `magic`; `false` if that is not faster, or one is
    /// invalid.
    pub(super) fn decompress_both(&mut self, magic: i8, compressed: [&[u8]; 2]) -> bool {
        self.begin();
        // What is retained is not moved to larger storage for this.
        let has_room = !self.retains || self.buffer.room() >= compress::ROOM_FOR_BOTH;
        let options = decode_options(magic, self.strictness);
        has_room && compress::decompress_both(CompressionType::Lz4, options, compressed, &mut self.buffer)
    }

    /// [`records`](Self::records) of a compressed batch.
    fn compressed_records<'r>(
        &'r mut self,
        batch: &RecordBatch<'r>,
        compression_type: CompressionType,
    ) -> Result<Records<'r>> {
        let Format::V2(fields) = batch.format() else {
            let codec_error = self.decompress(batch, compression_type, wrapper_payload(batch, compression_type)?)?;
            return V0V1Records::wrapped(batch, self.buffer.as_slice(), codec_error).map(Records::V0V1);
        };
        let (count, compressed) = (fields.i32::<RECORDS_COUNT_OFFSET>(), fields.body());
        if count <= 0 {
            self.open(batch, compressed)?;
            return V2Records::new(batch, count, &[], true, None).map(Records::V2);
        }
        let codec_error = self.decompress(batch, compression_type, compressed)?;
        V2Records::new(batch, count, self.buffer.as_slice(), true, codec_error).map(Records::V2)
    }
}

/// The records as stored: compressed if the batch is compressed. An uncompressed message of magic 0 or 1 is a record itself.
///
/// # Errors
/// A wrapper without a value, or of an unknown compression type.
pub fn records_as_stored<'a>(batch: &RecordBatch<'a>) -> Result<&'a [u8]> {
    if batch.magic() < 2 && batch.compression_type()? == CompressionType::None {
        return Ok(batch.data());
    }
    stored_records(batch).map(|(_, stored)| stored)
}

/// The bytes before the records of a batch that is not a plain message, and the stored records.
///
/// # Errors
/// A wrapper without a value.
pub(crate) fn stored_records<'a>(batch: &RecordBatch<'a>) -> Result<(&'a [u8], &'a [u8])> {
    match batch.format() {
        Format::V0(_) | Format::V1(_) => split_wrapper(batch, batch.compression_type()?),
        Format::V2(fields) => Ok((fields.header(), fields.body())),
    }
}

/// The records of one batch.
#[derive(Debug)]
pub enum Records<'a> {
    /// Of a batch of magic 2.
    V2(V2Records<'a>),
    /// Of a message or wrapper of magic 0 or 1.
    V0V1(V0V1Records<'a>),
}

impl<'a> Records<'a> {
    /// The number of records, according to the header of the batch for magic 2, and the bytes that they are in; before the
    /// first one is read.
    pub fn content(&self) -> (usize, &'a [u8]) {
        match self {
            Self::V2(records) => (records.remaining().max(0) as usize, records.payload()),
            Self::V0V1(records) => (records.messages(), records.rest()),
        }
    }

    /// Suspends the iteration, without its bytes.
    pub fn pause(self) -> PausedRecords {
        match self {
            Self::V2(records) => {
                let left = records.rest().len();
                PausedRecords { records: Records::V2(records.over_bytes(&[], &[])), left }
            }
            Self::V0V1(records) => {
                let left = records.rest().len();
                PausedRecords { records: Records::V0V1(records.over_bytes(&[])), left }
            }
        }
    }
}

/// A suspended iteration over the records of a batch that borrows nothing: for callers that own the bytes and read a few
/// records at a time.
#[derive(Debug)]
pub struct PausedRecords {
    records: Records<'static>,
    /// The number of bytes not read yet; they are the last ones.
    left: usize,
}

impl PausedRecords {
    /// Continues over `bytes`: the decompressed bytes of the batch, or its own bytes if it is not compressed.
    pub fn resume(self, bytes: &[u8]) -> Records<'_> {
        let (_, rest) = bytes.split_at(bytes.len().saturating_sub(self.left));
        match self.records {
            Records::V2(records) => Records::V2(records.over_bytes(bytes, rest)),
            Records::V0V1(records) => Records::V0V1(records.over_bytes(rest)),
        }
    }

    /// An upper bound of the number of records not read yet.
    pub fn most(&self) -> usize {
        match &self.records {
            Records::V2(records) => (records.remaining().max(0) as usize).min(self.left / LEAST_RECORD),
            Records::V0V1(_) => self.left / (LOG_OVERHEAD + RECORD_OVERHEAD_V0),
        }
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<Record<'a>>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::V2(records) => records.next(),
            Self::V0V1(records) => records.next(),
        }
    }
}
