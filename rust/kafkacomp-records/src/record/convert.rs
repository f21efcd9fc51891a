//! Conversion from one message format to another.
//!
//! Down-conversion is `MemoryRecords.downConvert`, which Kafka uses for old consumers (KIP-31, KIP-32, KIP-98, KIP-110):
//!
//! | | |
//! |---|---|
//! | magic at or below the target's | copied |
//! | control batch | dropped, before anything else is checked |
//! | zstd | refused (Kafka's code 76), even if every other batch can be converted |
//! | uncompressed magic 2 | one message per record, beginning at the requested first offset |
//! | compressed | one wrapper with all records, with the codec's default level and the target's LZ4 header checksum (KIP-57) |
//! | headers, producer, leader epoch | lost; in magic 0 the timestamps too |
//!
//! Kafka up-converts only a producer's set (`LogValidator`); here logs can be up-converted: each wrapper becomes one batch with its
//! codec, a run of plain messages becomes batches of at most `batch_bytes`. Offsets and their gaps stay, timestamps of
//! magic 0 become -1. A run ends if the next message cannot be in the same batch (another append time, a lower offset), and at
//! missing offsets: in a batch, they would look like records that compaction removed.
//! Up-converted batches must have right checksums: the new ones would hide that they were wrong.
//! Source: `RecordsUtil`.

use super::batch::NO_TIMESTAMP;
use super::build_fault::BuildFault;
use super::builder::{BatchSettings, RecordBatchBuilder};
use super::error::{Error, Result};
use super::{Batches, Headers, Record, RecordBatch, RecordReader, TimestampType};
use crate::CompressionType;
use crate::compress::Compression;
use crate::error_kind::ErrorKind;
use crate::limits::DEFAULT_MAX_OUTPUT_SIZE;
use crate::memory;

/// The target of a conversion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConvertOptions {
    /// The highest format of the result: 0, 1 or 2.
    pub to_magic: i8,
    /// Records before this offset are dropped from uncompressed batches of magic 2 that are down-converted.
    pub first_offset: i64,
    /// Whether batches below the format are up-converted.
    pub upgrade: bool,
    /// The most bytes of a batch made from plain messages that are up-converted to magic 2; one message always fits.
    pub batch_bytes: i32,
    /// The most bytes that the records of one batch may decompress to.
    pub max_output_size: usize,
}

impl Default for ConvertOptions {
    fn default() -> Self {
        Self {
            to_magic: 2,
            first_offset: 0,
            upgrade: false,
            batch_bytes: 16 << 10,
            max_output_size: DEFAULT_MAX_OUTPUT_SIZE,
        }
    }
}

/// Converts all whole batches of `data`; a truncated one at the end is ignored, as in Kafka.
///
/// # Errors
/// The errors of reading, [`Error::DownConvertZstd`], [`Error::Rebuild`]. As in Kafka, an error of reading takes precedence over
/// an error of writing.
pub fn convert(data: &[u8], options: ConvertOptions) -> Result<Vec<u8>> {
    let mut converter = Converter::new(options);
    let mut out = memory::with_capacity(data.len()).map_err(|error| Error::out_of_memory(error, 0))?;
    let mut first_rebuild = None;
    for batch in Batches::new(data, 0) {
        match converter.push(&batch?, &mut out) {
            Err(error @ Error::Rebuild { .. }) if error.kind() != ErrorKind::OutOfMemory => {
                first_rebuild.get_or_insert(error);
            }
            other => other?,
        }
    }
    converter.finish(&mut out)?;
    first_rebuild.map_or(Ok(out), Err)
}

/// Converts batch by batch.
#[derive(Debug)]
pub struct Converter {
    options: ConvertOptions,
    reader: RecordReader,
    writer: Writer,
}

/// The batch that is being written.
#[derive(Debug)]
struct Writer {
    builder: RecordBatchBuilder,
    /// The position of the source of the current run; `None` if there is no run.
    run: Option<u64>,
}

impl Converter {
    /// A converter without a run.
    pub fn new(options: ConvertOptions) -> Self {
        let writer = Writer { builder: RecordBatchBuilder::default(), run: None };
        Self { options, reader: RecordReader::new(options.max_output_size), writer }
    }

    /// Appends the converted `batch` to `out`, or adds it to the current run.
    ///
    /// # Errors
    /// As [`convert`]. Then nothing of the batch is in the run or in `out`.
    pub fn push(&mut self, batch: &RecordBatch<'_>, out: &mut Vec<u8>) -> Result<()> {
        let ConvertOptions { to_magic, upgrade, .. } = self.options;
        if to_magic < 2 {
            if batch.is_control_batch() {
                return Ok(());
            }
            if batch.compression_type()? == CompressionType::Zstd {
                return Err(Error::DownConvertZstd { position: batch.position() });
            }
        }
        let raised = upgrade && batch.magic() < to_magic;
        if raised && batch.compression_type()? == CompressionType::None {
            return self.raise_plain(batch, out);
        }
        self.writer.finish(out)?;
        if !raised && batch.magic() <= to_magic {
            return memory::append(out, batch.data()).map_err(|error| Error::out_of_memory(error, batch.position()));
        }
        let converted = if raised { self.raise_wrapper(batch) } else { self.lower(batch) };
        match converted {
            Ok(()) => self.writer.finish(out),
            Err(error) => {
                self.writer.run = None;
                Err(error)
            }
        }
    }

    /// Appends the current run to `out`, if there is one.
    ///
    /// # Errors
    /// [`Error::Rebuild`].
    pub fn finish(&mut self, out: &mut Vec<u8>) -> Result<()> {
        self.writer.finish(out)
    }

    /// Down-converts a batch.
    fn lower(&mut self, batch: &RecordBatch<'_>) -> Result<()> {
        // Plain messages can be dropped one by one; a wrapper must be complete.
        let is_compressed = batch.compression_type()? != CompressionType::None;
        let first_offset = if is_compressed { i64::MIN } else { self.options.first_offset };
        self.rewrite(batch, |record| Ok(record.offset >= first_offset))
    }

    /// Up-converts a wrapper.
    fn raise_wrapper(&mut self, batch: &RecordBatch<'_>) -> Result<()> {
        batch.ensure_valid()?;
        let position = batch.position();
        self.rewrite(batch, |record| {
            record.message.map_or(Ok(()), |message| message.ensure_valid(position)).map(|()| true)
        })
    }

    /// Makes one batch of the wanted records. All records are read even after an error of the builder, because an error of
    /// reading takes precedence.
    fn rewrite(&mut self, batch: &RecordBatch<'_>, wanted: impl Fn(&Record<'_>) -> Result<bool>) -> Result<()> {
        let Self { options, reader, writer } = self;
        // Kafka's conversion does not open the codec's stream of a batch without records; a consumer does.
        if batch.records_count() == Some(0) {
            return Ok(());
        }
        let mut written = Ok(());
        for record in reader.records(batch)? {
            let record = record?;
            if wanted(&record)? && written.is_ok() {
                written = writer.append_to_one(batch, options.to_magic, &record);
            }
        }
        written
    }

    /// Up-converts a plain message: it continues the run or begins a new one.
    fn raise_plain(&mut self, batch: &RecordBatch<'_>, out: &mut Vec<u8>) -> Result<()> {
        batch.ensure_valid()?;
        let Self { options, reader, writer } = self;
        reader.records(batch)?.try_for_each(|record| {
            let record = record?;
            let settings = converted_settings(batch, options.to_magic, record.offset)?;
            let settings = BatchSettings { write_limit: options.batch_bytes, ..settings };
            if !writer.continues(&settings, &record) {
                writer.finish(out)?;
                writer.begin(batch, settings)?;
            }
            writer.append(batch, &record)
        })
    }
}

impl Writer {
    fn begin(&mut self, batch: &RecordBatch<'_>, settings: BatchSettings) -> Result<()> {
        self.builder.reset(settings).map_err(|fault| rebuild(batch, fault))?;
        self.run = Some(batch.position());
        Ok(())
    }

    fn append(&mut self, batch: &RecordBatch<'_>, record: &Record<'_>) -> Result<()> {
        let Record { offset, timestamp, key, value, .. } = *record;
        // Only magic 2 has headers, and it is only down-converted: they are lost.
        self.builder.append(offset, timestamp, key, value, Headers::EMPTY).map_err(|fault| rebuild(batch, fault))
    }

    /// Appends a record to the batch that `batch` is converted to, which begins with its first record.
    fn append_to_one(&mut self, batch: &RecordBatch<'_>, to_magic: i8, record: &Record<'_>) -> Result<()> {
        if self.run.is_none() {
            self.begin(batch, converted_settings(batch, to_magic, record.offset)?)?;
        }
        self.append(batch, record)
    }

    /// Whether the current run can contain this record of a batch with these settings.
    fn continues(&self, settings: &BatchSettings, record: &Record<'_>) -> bool {
        let under_way = self.builder.settings();
        self.run.is_some()
            && (under_way.magic, under_way.timestamp_type, under_way.log_append_time)
                == (settings.magic, settings.timestamp_type, settings.log_append_time)
            && record.offset == self.builder.next_offset()
            && self.builder.has_room_for(record.timestamp, record.key, record.value, Headers::EMPTY)
    }

    /// Appends the current run to `out`, if there is one.
    fn finish(&mut self, out: &mut Vec<u8>) -> Result<()> {
        let Some(position) = self.run.take() else { return Ok(()) };
        let built = self.builder.finish(out);
        built.map(drop).map_err(|fault| Error::Rebuild { position, fault })
    }
}

fn rebuild(batch: &RecordBatch<'_>, fault: BuildFault) -> Error {
    Error::Rebuild { position: batch.position(), fault }
}

/// The settings of `batch` in another format: its codec at the default level, and its timestamp type if it has one.
pub(super) fn converted_settings(batch: &RecordBatch<'_>, to_magic: i8, base_offset: i64) -> Result<BatchSettings> {
    let (timestamp_type, log_append_time) = match batch.timestamp_type() {
        TimestampType::LogAppendTime => (TimestampType::LogAppendTime, batch.max_timestamp()),
        TimestampType::CreateTime | TimestampType::NoTimestampType => (TimestampType::CreateTime, NO_TIMESTAMP),
    };
    Ok(BatchSettings {
        magic: to_magic,
        compression: Compression::of(batch.compression_type()?),
        timestamp_type,
        base_offset,
        log_append_time,
        ..BatchSettings::default()
    })
}
