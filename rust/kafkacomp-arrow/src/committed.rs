//! The pass over a partition that finds its transactions, before a committed reader begins.

use std::sync::{Mutex, PoisonError};

use kafkacomp_core::log::recover::next_sound_batch;
use kafkacomp_core::log::{
    AbortedRange, ChunkEnd, ChunkReader, Family, ReadAt, TransactionCollector, TransactionFilter, TransactionIndex,
};
use kafkacomp_core::record::{Batches, RecordReader};

use crate::family::family_of;
use crate::options::{OnError, Partition, ScanOptions, Segment, SideFile};
use crate::plan::chunk_bytes;
use crate::report::{ScanError, ScanReport};

/// How much of a segment is looked at at once.
const CHUNK: usize = 1 << 20;

/// Finds what a committed reader of `partition` sees. Damage ends the pass over its segment with
/// `on_error="raise"` (the scan itself will say so when it gets there) and is stepped over otherwise.
///
/// # Errors
/// What the file system says.
pub fn transaction_filter(
    partition: &Partition,
    options: &ScanOptions,
    report: &Mutex<ScanReport>,
) -> Result<TransactionFilter, ScanError> {
    let mut pass = Pass { collector: TransactionCollector::default(), reader: RecordReader::new(CHUNK), options };
    let mut segments: Vec<&Segment> = partition.segments.iter().chain(&partition.context).collect();
    segments.sort_by_key(|segment| segment.base_offset);
    segments.dedup_by(|later, earlier| later.name == earlier.name);
    for segment in segments {
        match pass.segment(segment) {
            Err(_) if options.on_error == OnError::Skip => {}
            other => other?,
        }
        if let Some(warning) = pass.index(segment) {
            report.lock().unwrap_or_else(PoisonError::into_inner).warnings.push(warning);
        }
    }
    Ok(pass.collector.finish())
}

struct Pass<'o> {
    collector: TransactionCollector,
    reader: RecordReader,
    options: &'o ScanOptions,
}

impl Pass<'_> {
    fn segment(&mut self, segment: &Segment) -> Result<(), ScanError> {
        let source = segment.files.open().map_err(|error| ScanError::io(&segment.name, error))?;
        let length = source.length().map_err(|error| ScanError::io(&segment.name, error))?;
        if family_of(segment, source.as_ref(), length, self.options)? == Family::MessageSet {
            return Ok(()); // There were no transactions.
        }
        let mut chunks = ChunkReader::new(0, length);
        let mut buffer = Vec::new();
        loop {
            let begin = chunks.position();
            let skip = self.options.on_error == OnError::Skip;
            let (used, end) = chunks
                .read(source.as_ref(), &mut buffer, CHUNK, |batch| if skip { batch.ensure_valid() } else { Ok(()) })
                .map_err(|error| ScanError::chunk(&segment.name, error))?;
            for batch in Batches::new(chunk_bytes(source.as_ref(), &buffer, begin, used), begin).flatten() {
                self.collector.observe(&batch, &mut self.reader);
            }
            match end {
                ChunkEnd::More => {}
                ChunkEnd::Bad(_) | ChunkEnd::Cut(_) if skip => step_over(&mut chunks, segment, source.as_ref())?,
                _ => return Ok(()),
            }
        }
    }

    /// Takes what the `.txnindex` says; a warning when it says nothing sensible.
    fn index(&mut self, segment: &Segment) -> Option<String> {
        let data = match segment.files.side_file(SideFile::TransactionIndex) {
            Ok(data) => data?,
            Err(error) => return Some(format!("{}: .txnindex ignored: {error}", segment.name)),
        };
        let index = match TransactionIndex::parse(&data, segment.base_offset.unwrap_or_default()) {
            Ok(index) => index,
            Err(error) => return Some(format!("{}: .txnindex ignored: {error}", segment.name)),
        };
        for entry in index.iter() {
            let range = AbortedRange { first_offset: entry.first_offset, last_offset: entry.last_offset };
            self.collector.add_aborted(entry.producer_id, range);
        }
        None
    }
}

/// Goes on behind damage, at the next batch that is sound.
fn step_over(chunks: &mut ChunkReader, segment: &Segment, source: &dyn ReadAt) -> Result<(), ScanError> {
    let next = next_sound_batch(source, chunks.position(), chunks.end())
        .map_err(|error| ScanError::chunk(&segment.name, error))?;
    chunks.seek(next);
    Ok(())
}
