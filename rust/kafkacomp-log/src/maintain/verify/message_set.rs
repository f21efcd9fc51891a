//! Reads a log file of Kafka 0.7: every checksum, and every wrapper down to its innermost level.
//!
//! The counterpart of [`read_file`](super::read::read_file) for batches; see [`kafkacomp_records::message_set::entries`] for the layout. Offsets
//! are the positions of bytes: each stretch of intact messages is like a batch that has these offsets, so that the map of the
//! partition shows which bytes are missing.

use super::FileToVerify;
use super::file_read::FileRead;
use super::options::{Bounds, VerifyOptions};
use super::report::{CodecCounts, FindingFile, SegmentReport};
use super::threads::Step;
use crate::ReadAt;
use crate::error::{ContentError, Error};
use crate::map::{BatchFact, ByteRange, Fact, OffsetRange, Survey};
use crate::read::chunk::ChunkEnd;
use crate::read::chunk_buffer::ChunkBuffer;
use crate::read::entry_chunk::EntryChunkReader;
use crate::read::log_format::LogFormat;
use crate::read::summary::BatchFormat;
use crate::read::walk::CorruptRange;
use kafkacomp_records::message_set::{Entry, MessageSetReader};

/// Reads a log file or a message set of 0.7; `None` if `step` has ended it. In the report, a batch is a top-level message and a
/// record is a message. The uncompressed bytes of a wrapper are those of all its levels. `base_offset` is the position in the file's
/// name, and offsets are the positions of the first and the last byte.
///
/// # Errors
/// The file cannot be read. Corruption is not an error but a finding.
pub(super) fn read_message_set(
    source: &dyn ReadAt,
    file: &FileToVerify,
    bounds: Bounds,
    options: &VerifyOptions<'_>,
    step: &Step,
) -> Result<Option<FileRead>, Error> {
    let end = source.length()?;
    let mut set = MessageSet {
        report: SegmentReport::new(end),
        reader: MessageSetReader::new(options.max_output_size),
        survey: Survey::default(),
        intact_from: 0,
        base: file.base_offset,
        next: bounds.next,
        number: bounds.number,
    };
    let mut chunks = EntryChunkReader::new(0, end, true);
    let mut buffer = ChunkBuffer::default();
    loop {
        let begin = chunks.position();
        let (entries, ended) = chunks.entries(source, &mut buffer)?;
        for entry in entries {
            set.count(&entry, begin)?;
        }
        if !step.done(chunks.position().saturating_sub(begin)) {
            return Ok(None);
        }
        let is_cut = matches!(ended, ChunkEnd::Truncated(_));
        match ended {
            ChunkEnd::More => {}
            ChunkEnd::End => break,
            ChunkEnd::Truncated(error) if file.may_be_truncated => {
                let length = end.saturating_sub(chunks.position());
                set.report.unreadable_bytes += length;
                set.report.is_truncated = true;
                set.report.add(FindingFile::Log, chunks.position(), false, cut(&error, length));
                break;
            }
            ChunkEnd::Truncated(error) | ChunkEnd::Corrupt(error) => {
                let position = chunks.position();
                let next = chunks.resync(source)?;
                let length = next.saturating_sub(position);
                set.report.corrupt_batches += 1;
                set.report.unreadable_bytes += length;
                set.report.is_truncated = is_cut && next >= end;
                let (is_truncated, is_tail) = (set.report.is_truncated, next >= end);
                set.lose(CorruptRange { position, length, error, is_truncated, is_tail, is_batch: false })?;
            }
        }
    }
    set.intact_to(chunks.position())?;
    let MessageSet { mut report, survey, .. } = set;
    if let Some(base) = file.base_offset.filter(|_| end > 0) {
        report.extend((base, base.saturating_add_unsigned(end).saturating_sub(1)));
    }
    Ok(Some(FileRead { log_format: LogFormat::MessageSet, report, survey, indexes: None }))
}

/// What is reported of corrupt bytes.
pub(super) fn lost_text(range: &CorruptRange) -> String {
    let CorruptRange { position, length, error, is_truncated, is_batch, .. } = range;
    match (is_batch, is_truncated) {
        (true, _) => error.to_string(),
        (false, true) => cut(error, *length),
        (false, false) => {
            format!("{error}; {length} bytes left out, up to byte {}", position.saturating_add(*length))
        }
    }
}

fn cut(error: &ContentError, length: u64) -> String {
    format!("a message is cut by the file's end: {error}; {length} bytes left out")
}

/// What was read so far.
struct MessageSet {
    report: SegmentReport,
    reader: MessageSetReader,
    survey: Survey,
    /// Where the stretch of intact messages begins that ends at the position that was reached.
    intact_from: u64,
    /// The position of the first byte in the log.
    base: Option<i64>,
    /// That of the next file.
    next: Option<i64>,
    number: usize,
}

impl MessageSet {
    /// Ends the stretch of intact messages before a position. What the next file has as well is a stretch by itself.
    fn intact_to(&mut self, position: u64) -> Result<(), Error> {
        let base = self.base.unwrap_or_default();
        let border = self.next.and_then(|next| u64::try_from(next.saturating_sub(base)).ok()).unwrap_or(position);
        let border = border.clamp(self.intact_from, position);
        for (from, until) in [(self.intact_from, border), (border, position)] {
            let offsets = OffsetRange::new(base.saturating_add_unsigned(from), base.saturating_add_unsigned(until));
            // The checksum tells stretches of different files apart.
            let fact = ByteRange::new(from, until)
                .zip(offsets)
                .and_then(|(bytes, offsets)| BatchFact::new(bytes, offsets, self.number as u32, None, 0));
            if let Some(fact) = fact {
                self.survey.add(Fact::Batch(fact))?;
            }
        }
        Ok(())
    }

    /// Adds corrupt bytes.
    fn lose(&mut self, range: CorruptRange) -> Result<(), Error> {
        self.intact_to(range.position)?;
        self.intact_from = range.position.saturating_add(range.length);
        self.survey.add_corrupt(range)
    }

    fn count(&mut self, entry: &Entry<'_>, begin: u64) -> Result<(), Error> {
        let stored = (entry.end - entry.position) as u64;
        let compression_type = entry.message.compression_type();
        let unwrapped = self.reader.unwrap(entry);
        let (records, decompressed) = (unwrapped.len() as u64, unwrapped.content().len() as u64);
        let position = begin.saturating_add(entry.position as u64);
        if let Some(error) = unwrapped.error {
            self.report.corrupt_batches += 1;
            let error = ContentError::from(error.in_file(begin));
            return self.lose(CorruptRange::of_batch(position, position.saturating_add(stored), error));
        }
        if let Ok(compression_type) = compression_type {
            let format = BatchFormat { magic: None, compression_id: compression_type.id() };
            let records_bytes = if decompressed == 0 { stored } else { decompressed };
            let counts = CodecCounts { batches: 1, records, stored_bytes: stored, records_bytes };
            self.report.count(format, counts, Some(records));
            self.report.last_message = Some(self.base.unwrap_or_default().saturating_add_unsigned(position));
        }
        Ok(())
    }
}
