//! Verifies a log file of Kafka 0.7: every checksum, and every wrapper down to its innermost level.
//!
//! The counterpart of [`verify_segment`](crate::log::verify_segment); see [`crate::message_set::entries`] for the layout.

use std::ops::ControlFlow;

use super::verify::{CodecCounts, FindingFile, SegmentReport, VerifyOptions};
use crate::log::ReadAt;
use crate::log::continuity::missing::{MissingRange, MissingReason};
use crate::log::continuity::missing_ranges::MissingRanges;
use crate::log::error::{ContentError, Error};
use crate::log::read::chunk::ChunkEnd;
use crate::log::read::chunk_buffer::ChunkBuffer;
use crate::log::read::entry_chunk::EntryChunkReader;
use crate::log::read::summary::BatchFormat;
use crate::message_set::{Entry, MessageSetReader};

/// Verifies a log file or a message set of 0.7. In the report, a batch is a top-level message and a record is a message. The
/// uncompressed bytes of a wrapper are those of all its levels. `base_offset` is the position in the file's name, and offsets
/// are the positions of the first and the last byte.
///
/// # Errors
/// The file cannot be read. Corruption is not an error but a finding.
pub fn verify_message_set<B>(
    source: &dyn ReadAt,
    options: VerifyOptions<'_>,
    progress: &mut dyn FnMut(u64) -> ControlFlow<B>,
) -> Result<ControlFlow<B, SegmentReport>, Error> {
    let end = source.length()?;
    let mut report = SegmentReport::new(end);
    let mut reader = MessageSetReader::new(options.max_output_size);
    let mut chunks = EntryChunkReader::new(0, end, true);
    let mut buffer = ChunkBuffer::default();
    let positions = Positions { base: options.base_offset, end: options.next_base_offset };
    loop {
        let begin = chunks.position();
        let (entries, ended) = chunks.entries(source, &mut buffer)?;
        for entry in entries {
            count(&mut report, &mut reader, &entry, begin, positions);
        }
        if let ControlFlow::Break(ended) = progress(chunks.position()) {
            return Ok(ControlFlow::Break(ended));
        }
        let is_truncated = matches!(ended, ChunkEnd::Truncated(_));
        match ended {
            ChunkEnd::More => {}
            ChunkEnd::End => break,
            ChunkEnd::Truncated(error) if options.may_be_truncated => {
                let length = end.saturating_sub(chunks.position());
                report.unreadable_bytes += length;
                report.is_truncated = true;
                report.add(FindingFile::Log, chunks.position(), false, cut(&error, length));
                break;
            }
            ChunkEnd::Truncated(error) | ChunkEnd::Corrupt(error) => {
                let position = chunks.position();
                let next = chunks.resync(source)?;
                let length = next.saturating_sub(position);
                report.corrupt_batches += 1;
                report.unreadable_bytes += length;
                let is_cut = next >= end && is_truncated;
                report.is_truncated = is_cut;
                let left_out = if is_cut {
                    cut(&error, length)
                } else {
                    format!("{error}; {length} bytes left out, up to byte {next}")
                };
                let missing = positions.lose(&mut report.sequence.missing, position, next);
                report.add_error(position, left_out, missing);
            }
        }
    }
    if let Some(base) = options.base_offset.filter(|_| end > 0) {
        report.sequence.first_offset = Some(base);
        report.sequence.last_offset = Some(base.saturating_add_unsigned(end).saturating_sub(1));
    }
    Ok(progress(end).map_continue(|()| report))
}

fn cut(error: &ContentError, length: u64) -> String {
    format!("a message is cut by the file's end: {error}; {length} bytes left out")
}

/// The positions of a file in the log.
#[derive(Debug, Clone, Copy)]
struct Positions {
    /// The position of its first byte.
    base: Option<i64>,
    /// The position of the first byte of the next file.
    end: Option<i64>,
}

impl Positions {
    /// Adds the bytes `[from, until)` of the file to the missing ones, and returns their first and last position. Bytes after
    /// the start of the next file are not missing.
    fn lose(self, missing: &mut MissingRanges, from: u64, until: u64) -> Option<(i64, i64)> {
        let base = self.base?;
        let until = base.saturating_add_unsigned(until);
        let until = self.end.map_or(until, |end| until.min(end));
        let range = MissingRange::between(base.saturating_add_unsigned(from), until, MissingReason::Corrupt)?;
        missing.push(range);
        Some((range.first_offset, range.last_offset))
    }
}

fn count(
    report: &mut SegmentReport,
    reader: &mut MessageSetReader,
    entry: &Entry<'_>,
    begin: u64,
    positions: Positions,
) {
    let stored = (entry.end - entry.position) as u64;
    let compression_type = entry.message.compression_type();
    let unwrapped = reader.unwrap(entry);
    let (records, decompressed) = (unwrapped.len() as u64, unwrapped.content().len() as u64);
    if let Some(error) = unwrapped.error {
        report.corrupt_batches += 1;
        let position = begin.saturating_add(entry.position as u64);
        let missing = positions.lose(&mut report.sequence.missing, position, begin.saturating_add(entry.end as u64));
        report.add_error(position, error.in_file(begin).to_string(), missing);
    } else if let Ok(compression_type) = compression_type {
        let format = BatchFormat { magic: None, compression_id: compression_type.id() };
        let records_bytes = if decompressed == 0 { stored } else { decompressed };
        let counts = CodecCounts { batches: 1, records, stored_bytes: stored, records_bytes };
        report.count(format, counts, Some(records));
        let position = begin.saturating_add(entry.position as u64);
        report.last_message = Some(positions.base.unwrap_or_default().saturating_add_unsigned(position));
    }
}
