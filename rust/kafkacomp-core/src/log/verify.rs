//! Checks one segment as a whole: every checksum, every record, the order of offsets, and whether the
//! indexes beside it lead to where they say.
//!
//! Damage does not end the check: it goes on at the next sound batch. What no reader minds but some may
//! stumble over is a warning ([`Deviation`](crate::record::Deviation)).

mod indexes;

use indexes::IndexChecks;

use super::chunk::ChunkError;
use super::source::ReadAt;
use super::walk::{Damage, Piece, walk_segment};
use crate::CompressionType;
use crate::buffer::OutputBuffer;
use crate::record::{Batches, ControlRecord, RecordBatch, RecordReader, deviation};

/// The most findings that are kept; a file of noise would otherwise fill the memory with them. More are
/// counted.
const MAX_FINDINGS: usize = 10_000;

/// Which file a finding is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FindingFile {
    /// The segment.
    Log,
    /// `.index`.
    OffsetIndex,
    /// `.timeindex`.
    TimeIndex,
    /// `.txnindex`.
    TransactionIndex,
}

impl FindingFile {
    /// The file's suffix, without the dot.
    pub fn suffix(self) -> &'static str {
        match self {
            Self::Log => "log",
            Self::OffsetIndex => "index",
            Self::TimeIndex => "timeindex",
            Self::TransactionIndex => "txnindex",
        }
    }
}

/// Something wrong, or odd.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The file that it is in.
    pub file: FindingFile,
    /// The byte of that file.
    pub position: u64,
    /// Whether it is damage, or merely odd.
    pub is_error: bool,
    /// What it is, with the byte.
    pub message: String,
}

/// The counts of one compression type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CodecCounts {
    /// Batches whose checksum and records are right.
    pub batches: u64,
    /// Their records.
    pub records: u64,
    /// Their bytes as stored, with headers.
    pub stored_bytes: u64,
    /// The bytes that their records decompress to; as stored where they are not compressed.
    pub records_bytes: u64,
}

/// What a check has found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SegmentReport {
    /// By compression type's id.
    pub by_compression_type: [CodecCounts; CompressionType::ALL.len()],
    /// Batches with damage.
    pub bad_batches: u64,
    /// Bytes of batches whose checksum is wrong, and bytes in which no batch can be found.
    pub unreadable_bytes: u64,
    /// Zero bytes behind the last batch (a preallocated file).
    pub zero_tail_bytes: u64,
    /// The segment's length.
    pub length: u64,
    /// The first offset that was read.
    pub first_offset: Option<i64>,
    /// The last.
    pub last_offset: Option<i64>,
    /// The findings in the order in which they were met.
    pub findings: Vec<Finding>,
    /// Findings beyond those kept.
    pub more_findings: u64,
    /// Errors among all findings.
    pub errors: u64,
    /// Warnings among all findings.
    pub warnings: u64,
}

impl SegmentReport {
    pub(super) fn add(&mut self, file: FindingFile, position: u64, is_error: bool, message: String) {
        if is_error {
            self.errors += 1;
        } else {
            self.warnings += 1;
        }
        if self.findings.len() < MAX_FINDINGS {
            self.findings.push(Finding { file, position, is_error, message });
        } else {
            self.more_findings += 1;
        }
    }
}

/// The files beside the segment, as far as there are any.
#[derive(Debug, Clone, Copy, Default)]
pub struct SideFiles<'a> {
    /// `.index`.
    pub offset_index: Option<&'a [u8]>,
    /// `.timeindex`.
    pub time_index: Option<&'a [u8]>,
    /// `.txnindex`.
    pub transaction_index: Option<&'a [u8]>,
}

/// What a check is told.
#[derive(Debug, Clone, Copy)]
pub struct VerifyOptions {
    /// The offset in the segment's name; `None` for a record set, whose offsets need not rise.
    pub base_offset: Option<i64>,
    /// The most bytes that one batch's records may decompress to.
    pub max_output_size: usize,
    /// Whether an incomplete batch at the end is no damage, as in a fetch answer.
    pub may_be_cut: bool,
}

/// Checks a segment. `progress` is called with the bytes done, now and then; its error ends the check.
///
/// # Errors
/// The file system's, or that of `progress`. Damage is no error but a finding.
pub fn verify_segment<E: From<ChunkError>>(
    source: &dyn ReadAt,
    side_files: SideFiles<'_>,
    options: VerifyOptions,
    progress: &mut dyn FnMut(u64) -> Result<(), E>,
) -> Result<SegmentReport, E> {
    let end = source.length().map_err(ChunkError::from)?;
    let mut check = Check::new(side_files, options, end);
    walk_segment(source, &mut |piece, behind| {
        match piece {
            Piece::Batches { data, position } => {
                for batch in Batches::new(data, position).map_while(Result::ok) {
                    check.batch(&batch);
                }
            }
            Piece::Damage(damage) => check.damage(&damage, options.may_be_cut),
            Piece::ZeroTail { length } => check.report.zero_tail_bytes = length,
        }
        progress(behind)
    })?;
    progress(end)?;
    Ok(check.finish())
}

/// The state of a check between two batches.
struct Check<'a> {
    report: SegmentReport,
    indexes: IndexChecks<'a>,
    reader: RecordReader,
    scratch: OutputBuffer,
    base_offset: Option<i64>,
}

impl<'a> Check<'a> {
    fn new(side_files: SideFiles<'a>, options: VerifyOptions, length: u64) -> Self {
        let mut report = SegmentReport { length, ..SegmentReport::default() };
        let indexes = IndexChecks::new(side_files, options.base_offset.unwrap_or_default(), &mut report);
        Self {
            report,
            indexes,
            reader: RecordReader::new(options.max_output_size),
            scratch: OutputBuffer::new(options.max_output_size),
            base_offset: options.base_offset,
        }
    }

    fn damage(&mut self, damage: &Damage, may_be_cut: bool) {
        let Damage { position, length, error, .. } = damage;
        let tolerated = may_be_cut && damage.is_cut;
        self.report.bad_batches += u64::from(!tolerated);
        self.report.unreadable_bytes += length;
        let next = position + length;
        let left_out = format!("{error}; {length} bytes left out, up to byte {next}");
        self.report.add(FindingFile::Log, *position, !tolerated, left_out);
        self.indexes.unreadable();
    }

    fn batch(&mut self, batch: &RecordBatch<'_>) {
        match self.records(batch) {
            Ok((first, records)) => self.sound(batch, first, records),
            Err(error) => {
                self.report.bad_batches += 1;
                self.report.add(FindingFile::Log, batch.position(), true, error.to_string());
                self.indexes.bad_batch(batch);
            }
        }
    }

    /// Reads all records of a batch whose checksum is right; the first offset and their number.
    fn records(&mut self, batch: &RecordBatch<'_>) -> crate::Result<(Option<i64>, u64)> {
        let (mut first, mut count, mut bad_inner) = (None, 0_u64, 0_u64);
        for record in self.reader.records(batch)? {
            let record = record?;
            first.get_or_insert(record.offset);
            count += 1;
            if batch.is_control_batch() {
                ControlRecord::parse(record.key, record.value)?;
            }
            bad_inner += u64::from(record.legacy.is_some_and(|message| !message.is_valid()));
        }
        if bad_inner > 0 {
            let at = batch.position();
            let odd = format!("wrong checksums of {bad_inner} messages inside the wrapper at byte {at}");
            self.report.add(FindingFile::Log, at, false, odd);
        }
        Ok((first, count))
    }

    fn sound(&mut self, batch: &RecordBatch<'_>, first_record: Option<i64>, records: u64) {
        let at = batch.position();
        let first = batch.base_offset().or(first_record).unwrap_or_else(|| batch.last_offset());
        if let Ok(kind) = batch.compression_type()
            && let Some(counts) = self.report.by_compression_type.get_mut(usize::from(kind.id()))
        {
            counts.batches += 1;
            counts.records += records;
            counts.stored_bytes += batch.size_in_bytes() as u64;
            let decompressed = self.reader.payload().len();
            counts.records_bytes += if decompressed == 0 { batch.size_in_bytes() } else { decompressed } as u64;
        }
        if let Some(odd) = deviation(batch, &mut self.scratch) {
            self.report.add(FindingFile::Log, at, false, format!("the batch at byte {at} is {odd}"));
        }
        if let Some(base_offset) = self.base_offset {
            let floor = self.report.last_offset.map_or(base_offset, |last| last.saturating_add(1));
            if first < floor || batch.last_offset() < first {
                let last = batch.last_offset();
                let order = format!("offsets {first} to {last} in the batch at byte {at} where {floor} is the least");
                self.report.add(FindingFile::Log, at, true, order);
            }
        }
        self.indexes.batch(batch, first, self.report.last_offset, &mut self.report);
        self.report.first_offset.get_or_insert(first);
        self.report.last_offset =
            Some(self.report.last_offset.map_or(batch.last_offset(), |l| l.max(batch.last_offset())));
    }

    fn finish(mut self) -> SegmentReport {
        self.indexes.finish(&mut self.report);
        self.report
    }
}

#[cfg(test)]
mod tests;
