//! Summaries of a partition's segments by the headers of their batches.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use kafkacomp_log::index::MAX_RELATIVE_OFFSET;
use kafkacomp_log::map::truncation::truncation;
use kafkacomp_log::{
    Compaction, LogFormat, OpenTransaction, OpenTransactions, ReadAt, SegmentSummary, SourceTraits, Summarizer,
};

use crate::lookup::log_format::log_format_of;
use crate::missing::{MissingOffsets, PartitionId};
use crate::options::{Partition, ScanOptions, Segment};
use crate::plan::judged::judge;
use crate::report::ScanError;

/// The summary of a segment.
#[derive(Debug)]
pub struct Summarized {
    /// What it contains.
    pub summary: SegmentSummary,
    /// The number of bytes that were read for it.
    pub bytes_read: u64,
    /// Whether its offset index shows that its end is gone. In object stores, the index is not read for that.
    pub is_cut: bool,
}

/// The offsets of a partition, as a scan that judges it delivers them.
#[derive(Debug)]
pub struct JudgedOffsets {
    /// The first one and the one after the last.
    pub span: Option<(i64, i64)>,
    /// The offsets that are missing, as far as headers show.
    pub missing: MissingOffsets,
}

/// Judges a partition of which not all headers continue one another. `None` if segments are in an object store and beyond the horizon.
///
/// # Errors
/// A segment cannot be read.
pub fn judged_offsets(partition: &Partition, options: &ScanOptions) -> Result<Option<JudgedOffsets>, ScanError> {
    for segment in &partition.segments {
        let source = segment.files.open().map_err(|error| ScanError::io(&segment.name, error))?;
        if source.traits().is_remote() && !partition.is_within(options.horizon) {
            return Ok(None);
        }
    }
    let judged = judge(partition, partition.compaction(), options)?;
    let id = PartitionId { index: 0, topic: partition.topic.clone(), partition: partition.partition };
    let mut missing = MissingOffsets::default();
    judged.between((i64::MIN, i64::MAX), &mut |segment, range| missing.add(&id, segment, range));
    Ok(Some(JudgedOffsets { span: judged.span, missing }))
}

/// Takes a segment and its summary, or its error.
pub type Each<'e, B> = &'e mut dyn FnMut(&Segment, Result<Summarized, ScanError>) -> ControlFlow<B>;

/// Summarizes segments in order, and returns the transactions without an end marker by their first offsets. `each` is called
/// with every segment and its summary, or the error of a segment that cannot be read; [`ControlFlow::Break`] ends the work.
pub fn summarize_partition<B>(
    segments: &[Segment],
    compaction: Compaction,
    options: &ScanOptions,
    each: Each<'_, B>,
) -> ControlFlow<B, Vec<(i64, OpenTransaction)>> {
    let mut transactions = OpenTransactions::default();
    let mut counted_to = None;
    let following = segments.iter().skip(1).map(|segment| segment.base_offset).chain([None]);
    for (segment, next_base) in segments.iter().zip(following) {
        let mut summarized = summarize(segment, options, counted_to, compaction, &mut transactions);
        if let Ok(found) = &mut summarized {
            found.is_cut = is_cut(segment, &found.summary, next_base);
        }
        if let Ok(Summarized { summary, .. }) = &summarized {
            counted_to = counted_to.max(believed_end(segment, summary));
        }
        each(segment, summarized)?;
    }
    ControlFlow::Continue(transactions.in_order())
}

/// The offset after the last one of a segment of batches, unless its headers contradict one another.
fn believed_end(segment: &Segment, summary: &SegmentSummary) -> Option<i64> {
    let base = segment.base_offset?;
    let is_believed = |last: i64| summary.repeated_batches == 0 && last.saturating_sub(base) <= MAX_RELATIVE_OFFSET;
    let is_of_batches = summary.counts.keys().all(|format| format.magic.is_some());
    let last = summary.last_offset.filter(|&last| is_of_batches && is_believed(last))?;
    Some(last.saturating_add(1))
}

/// Whether the offset index of a segment shows that its end is gone, where offsets are missing up to the next one.
fn is_cut(segment: &Segment, summary: &SegmentSummary, next_base: Option<i64>) -> bool {
    let Some((base, next_base)) = segment.base_offset.zip(next_base).filter(|_| segment.files.is_local()) else {
        return false;
    };
    let expected = summary.last_offset.map_or(base, |last| last.saturating_add(1));
    if expected >= next_base || summary.counts.keys().any(|format| format.magic.is_none()) {
        return false;
    }
    let files = segment.files.as_ref();
    // What cannot be read is no evidence.
    truncation(files, base, || files.open(), (expected, next_base)).ok().flatten().is_some()
}

fn summarize(
    segment: &Segment,
    options: &ScanOptions,
    counted_to: Option<i64>,
    compaction: Compaction,
    transactions: &mut OpenTransactions,
) -> Result<Summarized, ScanError> {
    let io = |error| ScanError::io(&segment.name, error);
    let source = Counted { source: segment.files.open().map_err(io)?, bytes: AtomicU64::new(0) };
    let length = source.length().map_err(io)?;
    let log_format = log_format_of(segment, &source, length, options)?;
    let summarizer = Summarizer::new(segment.base_offset, segment.offsets, counted_to, compaction, transactions);
    let summary = match log_format {
        LogFormat::MessageSet => summarizer.messages(&source),
        LogFormat::Records => summarizer.batches(&source),
    };
    let summary = summary.map_err(|error| ScanError::chunk(&segment.name, error))?;
    Ok(Summarized { summary, bytes_read: source.bytes.load(Ordering::Relaxed), is_cut: false })
}

/// A source that counts the bytes that are read.
struct Counted {
    source: Arc<dyn ReadAt>,
    bytes: AtomicU64,
}

impl ReadAt for Counted {
    fn read_at(&self, buffer: &mut [u8], position: u64) -> std::io::Result<usize> {
        let read = self.source.read_at(buffer, position)?;
        self.bytes.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }

    fn length(&self) -> std::io::Result<u64> {
        self.source.length()
    }

    fn traits(&self) -> SourceTraits<'_> {
        SourceTraits { ahead: None, ..self.source.traits() }
    }
}
