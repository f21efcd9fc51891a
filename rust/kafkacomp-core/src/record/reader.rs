//! From a batch to its records: decompression into a kept buffer, then iteration without copies.

use super::batch::{Format, LOG_OVERHEAD, RecordBatch};
use super::error::{Error, Result};
use super::layout::v0_v1::RECORD_OVERHEAD_V0;
use super::layout::v2::RECORDS_COUNT_OFFSET;
use super::lz4_checksum::decode_options;
use super::partial::PartialRecords;
use super::record::Record;
use super::v0_v1::{V0V1Records, split_wrapper, wrapper_payload};
use super::v2::V2Records;
use crate::CompressionType;
use crate::buffer::OutputBuffer;
use crate::compress::{self, CodecError, CodecFault, Strictness};

/// Decompresses batches one after another into one kept buffer.
#[derive(Debug)]
pub struct RecordReader {
    strictness: Strictness,
    buffer: OutputBuffer,
    max_output_size: usize,
}

impl RecordReader {
    /// A reader that refuses a batch whose records take more than `max_output_size` bytes.
    pub fn new(max_output_size: usize) -> Self {
        Self { strictness: Strictness::Tolerant, buffer: OutputBuffer::new(max_output_size), max_output_size }
    }

    /// One that reads what a broker reads and not a byte more: see
    /// [`Strictness::Kafka`].
    pub fn as_broker(max_output_size: usize) -> Self {
        Self { strictness: Strictness::Kafka, ..Self::new(max_output_size) }
    }

    /// Another cap for the batches to come.
    pub fn set_max_output_size(&mut self, max_output_size: usize) {
        self.max_output_size = max_output_size;
    }

    /// The decompressed bytes of the last batch; empty if it was not compressed.
    pub fn payload(&self) -> &[u8] {
        self.buffer.as_slice()
    }

    /// Gives away the decompressed bytes of the last batch, with their memory; empty if it was not compressed.
    pub fn take_payload(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.buffer).into_vec()
    }

    /// The first offset of `batch`: where the header does not tell it (a wrapper of magic 0 or 1), the batch
    /// is decompressed.
    ///
    /// # Errors
    /// As [`records`](Self::records), and what Kafka says of a first message that is compressed again.
    pub fn base_offset(&mut self, batch: &RecordBatch<'_>) -> Result<i64> {
        match batch.base_offset() {
            Some(offset) => Ok(offset),
            None => match self.records(batch)? {
                Records::V0V1(records) => records.first_offset().unwrap_or_else(|| Ok(batch.last_offset())),
                Records::V2(_) => Ok(batch.last_offset()),
            },
        }
    }

    /// Opens the compressed records of a `batch` of magic 2: Kafka does so before it looks at how many records
    /// there are, and so finds a header that is no header of the codec.
    ///
    /// # Errors
    /// The codec's.
    fn open(&mut self, batch: &RecordBatch<'_>, compressed: &[u8]) -> Result<()> {
        self.buffer.reset(self.max_output_size);
        let options = decode_options(batch.magic(), self.strictness);
        compress::open(batch.compression_type()?, options, compressed, &mut self.buffer)
            .map_err(|source| Error::BatchCodec { position: batch.position(), source })
    }

    /// The records of a compressed `batch` of magic 2 without their keys, values and headers, as a broker reads
    /// what it means to keep as it is; `None` for a batch that declares no records, and for one of magic 0 or 1.
    ///
    /// # Errors
    /// As [`records`](Self::records).
    pub fn partial_records<'r>(&'r mut self, batch: &RecordBatch<'r>) -> Result<Option<PartialRecords<'r>>> {
        self.buffer.reset(self.max_output_size);
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

    /// What stands in front of the records of `batch`, and the records, decompressed. Of a wrapper of magic 0 or 1 that
    /// is all up to its value and the set in it; a plain message has nothing of the kind.
    ///
    /// # Errors
    /// A wrapper without a value, and whatever the codec says.
    pub fn decompressed<'r>(&'r mut self, batch: &RecordBatch<'r>) -> Result<(&'r [u8], &'r [u8])> {
        self.buffer.reset(self.max_output_size);
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

    /// The [`records`](Self::records) of an uncompressed batch of magic 2, `None` for any other and for one whose
    /// header is wrong.
    #[inline]
    pub fn plain_records<'r>(&mut self, batch: &RecordBatch<'r>) -> Option<V2Records<'r>> {
        if batch.magic() < 2 || batch.attributes().compression_id() != 0 {
            return None;
        }
        self.buffer.reset(self.max_output_size);
        V2Records::plain(batch)
    }

    /// The records of `batch`, by reference to its bytes or to the reader's buffer. The checksum is not
    /// looked at (Kafka's iterators do not either): see [`RecordBatch::ensure_valid`].
    ///
    /// # Errors
    /// What Kafka's iterator throws before its first record. Errors after it come from the iterator.
    #[inline]
    pub fn records<'r>(&'r mut self, batch: &RecordBatch<'r>) -> Result<Records<'r>> {
        self.buffer.reset(self.max_output_size);
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

    /// Decompresses what `batch` holds, and gives what ended that early.
    ///
    /// # Errors
    /// Lack of memory, which says nothing of the batch: no record of it counts.
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

/// What stands in front of the records of a batch that is no plain message, and the records as they are stored.
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

impl Records<'_> {
    /// The iteration as it stands, without the bytes.
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

/// The bytes of the shortest record of magic 2: seven numbers of one byte.
const LEAST_RECORD: usize = 7;

/// An iteration over the records of a batch that borrows nothing: for those who keep the bytes themselves and read a
/// few records at a time.
#[derive(Debug)]
pub struct PausedRecords {
    records: Records<'static>,
    /// How many bytes are still to be read; they are the last ones.
    left: usize,
}

impl PausedRecords {
    /// Continues over `bytes`: what the reader decompressed, or, where that is nothing, the bytes of the batch.
    pub fn resume(self, bytes: &[u8]) -> Records<'_> {
        let (_, rest) = bytes.split_at(bytes.len().saturating_sub(self.left));
        match self.records {
            Records::V2(records) => Records::V2(records.over_bytes(bytes, rest)),
            Records::V0V1(records) => Records::V0V1(records.over_bytes(rest)),
        }
    }

    /// No more records than this are still to come.
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
