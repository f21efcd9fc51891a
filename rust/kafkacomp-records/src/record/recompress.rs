//! Recompressing a batch with another compression type or level.
//!
//! Only compression type, size and checksum of a batch change. Offsets, timestamps, producer, sequences, epochs, flags, unused bits
//! and the bytes of the records stay as they are.
//!
//! | | |
//! |---|---|
//! | control batch, batch without records | copied: Kafka never compresses them |
//! | magic 2 | the header, and the records recompressed |
//! | wrapper of magic 0, 1 | the wrapper, and its set recompressed (magic 0: the LZ4 header checksum of KIP-57) |
//! | wrapper to none | its messages, with absolute offsets and the append time of the wrapper |
//! | plain message to a codec | a wrapper of one message |
//!
//! The old checksum must be right: the new one would hide that it was wrong.

use super::batch::increment_sequence;
use super::batch::{LOG_OVERHEAD, NO_SEQUENCE, SIZE_LENGTH, SIZE_OFFSET};
use super::build_fault::{BuildFault, Feature};
use super::builder::{BatchSettings, RecordBatchBuilder};
use super::convert::converted_settings;
use super::error::{Error, Result};
use super::layout::v0_v1;
use super::layout::v2::ATTRIBUTES_OFFSET;
use super::lz4_checksum::written_header_checksum;
use super::merge::merged_settings;
use super::{Headers, MutableRecordBatch, RecordBatch, RecordReader};
use crate::CompressionType;
use crate::compress::{Compression, compress};
use crate::limits::DEFAULT_MAX_OUTPUT_SIZE;
use crate::memory;

/// The bits of the compression type in the attributes.
const COMPRESSION_CODEC_MASK: u8 = 0x07;

/// Recompresses batches; contexts and buffers are reused. One per thread.
#[derive(Debug)]
pub struct Recompressor {
    compression: Compression,
    reader: RecordReader,
    builder: RecordBatchBuilder,
}

impl Recompressor {
    /// A recompressor for this type and level. It refuses a batch whose records take more than `max_output_size` bytes.
    pub fn new(compression: Compression, max_output_size: usize) -> Self {
        Self { compression, reader: RecordReader::new(max_output_size), builder: RecordBatchBuilder::default() }
    }

    /// The compression of the result.
    pub fn compression(&self) -> Compression {
        self.compression
    }

    /// The reader and the builder, for merging.
    pub(super) fn parts(&mut self) -> (&mut RecordReader, &mut RecordBatchBuilder) {
        (&mut self.reader, &mut self.builder)
    }

    /// Appends the recompressed `batch` to `out`.
    ///
    /// # Errors
    /// A wrong checksum, records that do not decompress, [`Error::Rebuild`] for zstd before magic 2 and for a batch
    /// of more than 2^31 - 1 bytes. `out` is unchanged then.
    pub fn push(&mut self, batch: &RecordBatch<'_>, out: &mut Vec<u8>) -> Result<()> {
        batch.ensure_valid()?;
        let (from, to) = (batch.compression_type()?, self.compression.compression_type());
        let stays = from == CompressionType::None && to == CompressionType::None;
        if stays || batch.is_control_batch() || batch.records_count() == Some(0) {
            return memory::append(out, batch.data()).map_err(|error| Error::out_of_memory(error, batch.position()));
        }
        let start = out.len();
        let is_message = from == CompressionType::None || to == CompressionType::None;
        let written = match batch.magic() {
            0 | 1 if is_message => self.rebuild(batch, out),
            _ => self.replace(batch, out, start),
        };
        written.inspect_err(|_| out.truncate(start))
    }

    /// Appends the records of `batch` from offset `first` on to `out`, as a batch with the same codec at the default level.
    ///
    /// # Errors
    /// As [`push`](Self::push); [`Error::Rebuild`] for records that the builder refuses.
    pub fn push_from(&mut self, batch: &RecordBatch<'_>, first: i64, out: &mut Vec<u8>) -> Result<()> {
        batch.ensure_valid()?;
        let start = out.len();
        self.rebuild_from(batch, first, out).inspect_err(|_| out.truncate(start))
    }

    fn rebuild_from(&mut self, batch: &RecordBatch<'_>, first: i64, out: &mut Vec<u8>) -> Result<()> {
        let Self { reader, builder, .. } = self;
        let position = batch.position();
        let fail = |fault| Error::Rebuild { position, fault };
        let mut begun = false;
        for record in reader.records(batch)? {
            let record = record?;
            record.message.map_or(Ok(()), |message| message.ensure_valid(position))?;
            if record.offset < first {
                continue;
            }
            if !begun {
                let settings = merged_settings(batch, first)?;
                let skipped = batch.base_offset().map_or(0, |base| first.saturating_sub(base));
                let base_sequence = match settings.base_sequence {
                    NO_SEQUENCE => NO_SEQUENCE,
                    base => {
                        let skipped = i32::try_from(skipped).map_err(|_| {
                            fail(BuildFault::OffsetDelta { offset: first, base_offset: first.saturating_sub(skipped) })
                        })?;
                        increment_sequence(base, skipped)
                    }
                };
                builder.reset(BatchSettings { base_sequence, ..settings }).map_err(fail)?;
                begun = true;
            }
            builder.append_record(&record).map_err(fail)?;
        }
        if !begun {
            return Ok(());
        }
        if batch.magic() >= 2 {
            builder.override_last_offset(batch.last_offset()).map_err(fail)?;
        }
        builder.build(out).map(drop).map_err(fail)
    }

    /// Keeps the header and recompresses the records.
    fn replace(&mut self, batch: &RecordBatch<'_>, out: &mut Vec<u8>, start: usize) -> Result<()> {
        let (magic, to) = (batch.magic(), self.compression.compression_type());
        let fail = |fault| Error::Rebuild { position: batch.position(), fault };
        if magic < 2 && to == CompressionType::Zstd {
            return Err(fail(BuildFault::Unsupported { magic, feature: Feature::Zstd }));
        }
        let (head, records) = self.reader.decompressed(batch)?;
        memory::append(out, head).map_err(|error| Error::out_of_memory(error, batch.position()))?;
        let compressed = compress(self.compression, written_header_checksum(magic), records, out);
        compressed.map_err(|error| fail(BuildFault::Codec(error)))?;
        let (_, written) = out.split_at_mut(start);
        let size = written.len() as u64;
        if size > DEFAULT_MAX_OUTPUT_SIZE as u64 {
            return Err(fail(BuildFault::BatchTooLarge { size, limit: DEFAULT_MAX_OUTPUT_SIZE as u64 }));
        }
        seal(written, magic, to, head.len())
    }

    /// Converts a wrapper to plain messages, or a plain message to a wrapper.
    fn rebuild(&mut self, batch: &RecordBatch<'_>, out: &mut Vec<u8>) -> Result<()> {
        let Self { compression, reader, builder } = self;
        let position = batch.position();
        let fail = |fault| Error::Rebuild { position, fault };
        let mut begun = false;
        for record in reader.records(batch)? {
            let record = record?;
            record.message.map_or(Ok(()), |message| message.ensure_valid(position))?;
            if !begun {
                let settings = converted_settings(batch, batch.magic(), record.offset)?;
                builder.reset(BatchSettings { compression: *compression, ..settings }).map_err(fail)?;
                begun = true;
            }
            let appended = builder.append(record.offset, record.timestamp, record.key, record.value, Headers::EMPTY);
            appended.map_err(fail)?;
        }
        if begun { builder.build(out).map(drop).map_err(fail) } else { Ok(()) }
    }
}

/// Sets compression type, sizes and checksum of the batch that is all of `data`; the records begin after `head` bytes.
fn seal(data: &mut [u8], magic: i8, to: CompressionType, head: usize) -> Result<()> {
    let attributes = if magic < 2 { LOG_OVERHEAD + v0_v1::ATTRIBUTES_OFFSET } else { ATTRIBUTES_OFFSET + 1 };
    if let Some(attributes) = data.get_mut(attributes) {
        *attributes = *attributes & !COMPRESSION_CODEC_MASK | to.id();
    }
    // The caller has checked the size.
    let size = (data.len().saturating_sub(LOG_OVERHEAD) as i32).to_be_bytes();
    put(data, SIZE_OFFSET..SIZE_OFFSET + SIZE_LENGTH, size);
    if magic < 2 {
        let value_size = (data.len().saturating_sub(head) as i32).to_be_bytes();
        put(data, head.saturating_sub(v0_v1::SIZE_OF_LENGTH)..head, value_size);
    }
    MutableRecordBatch::new(data, 0)?.update_checksum();
    Ok(())
}

fn put(data: &mut [u8], place: std::ops::Range<usize>, bytes: [u8; 4]) {
    if let Some(place) = data.get_mut(place) {
        place.copy_from_slice(&bytes);
    }
}
