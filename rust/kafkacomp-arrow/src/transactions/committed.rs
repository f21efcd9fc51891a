//! The pass over a partition that finds its transactions before a committed reader begins.

use std::collections::HashMap;
use std::convert::Infallible;
use std::ops::ControlFlow;
use std::sync::Arc;

use kafkacomp_log::map::InOrder;
use kafkacomp_log::{
    AbortedRange, BatchHeader, ChunkReader, HeaderWalk, Hop, LargeCorrupt, LogFormat, ReadAt, ReadError, SegmentPart,
    SideFile, TransactionCollector, TransactionFilter, TransactionIndex, walk_chunks,
};
use kafkacomp_records::record::{Batches, RecordBatch, RecordReader};

use crate::lookup::log_format::log_format_of;
use crate::options::{OnError, Partition, ScanOptions, Segment};
use crate::plan::judged::{Judged, judge};
use crate::plan::restored::RestoredBatch;
use crate::plan::whole_batch::whole_batch;
use crate::report::ScanError;
use crate::source::unreadable::SkipUnreadable;
use crate::transactions::tiered;

/// The largest size of a batch of markers, compressed and decompressed.
const CHUNK: usize = 1 << 20;

/// The result of the pass.
#[derive(Debug, Default)]
pub struct Found {
    /// The transactions of the partition.
    pub filter: TransactionFilter,
    /// Warnings.
    pub warnings: Vec<String>,
    /// Large corrupt batches, by the name of the segment.
    pub large_corrupt: HashMap<Arc<str>, LargeCorrupt>,
    /// The judgement of the partition, if a batch was not in its place.
    pub judged: Option<Judged>,
}

/// Finds the transactions of `partition`. Those of segments in tiered storage are read from the indexes (`tiered.rs`). Of other
/// segments, only headers and markers are read with `on_error="raise"`, and corruption ends the pass over its segment; the scan
/// reports it later. Otherwise corrupt ranges are skipped, for which all bytes are read.
///
/// A batch in the place of others would begin or end a transaction too early or too late. If there is one, the partition is judged,
/// and the transactions are those of the batches that are read, in the order of their offsets.
///
/// # Errors
/// An I/O error.
pub fn transaction_filter(partition: &Partition, options: &ScanOptions) -> Result<Found, ScanError> {
    let mut pass = Pass::new(options);
    let mut warnings = Vec::new();
    let mut indexed = Vec::new();
    for segment in in_order_of_offsets(partition) {
        if tiered::add_aborted(segment.segment, &mut pass.collector) {
            indexed.push(segment);
            continue;
        }
        pass.end_indexed(&mut indexed, &mut warnings)?;
        pass.read(segment, &mut warnings)?;
    }
    pass.end_indexed(&mut indexed, &mut warnings)?;
    let Pass { collector, large_corrupt, is_disordered, .. } = pass;
    if !is_disordered {
        return Ok(Found { filter: collector.finish(), warnings, large_corrupt, judged: None });
    }
    let judged = judge(partition, partition.compaction(), options)?;
    let mut pass = Pass::new(options);
    judged.pieces.iter().try_for_each(|piece| match partition.segment(piece.index) {
        Some(segment) => pass.piece(segment, piece.bytes, piece.restored),
        None => Ok(()),
    })?;
    for segment in partition.segments.iter().chain(&partition.context) {
        pass.index(segment);
    }
    Ok(Found { filter: pass.collector.finish(), warnings, large_corrupt, judged: Some(judged) })
}

/// A segment, and the base offset of the next one.
#[derive(Clone, Copy)]
struct Placed<'s> {
    segment: &'s Segment,
    end_offset: Option<i64>,
}

fn in_order_of_offsets(partition: &Partition) -> Vec<Placed<'_>> {
    let mut segments: Vec<_> = partition
        .segments
        .iter()
        .chain(&partition.context)
        .map(|segment| Placed { segment, end_offset: None })
        .collect();
    segments.sort_by_key(|each| each.segment.first_offset());
    segments.dedup_by(|Placed { segment: later, .. }, Placed { segment: earlier, .. }| {
        later.name == earlier.name && later.offsets == earlier.offsets
    });
    let mut end_offset = None;
    for each in segments.iter_mut().rev() {
        each.end_offset = end_offset;
        end_offset = each.segment.first_offset();
    }
    segments
}

struct Pass<'o> {
    collector: TransactionCollector,
    reader: RecordReader,
    large_corrupt: HashMap<Arc<str>, LargeCorrupt>,
    /// Whether a batch is not in its place.
    is_disordered: bool,
    options: &'o ScanOptions,
}

/// Follows the offsets of a segment, unless only a part of it is valid.
fn order_of(placed: Placed<'_>) -> Option<InOrder> {
    let whole = placed.segment.base_offset.filter(|_| placed.segment.offsets.is_none());
    whole.map(|name| InOrder::of_file(name, placed.end_offset))
}

fn takes(order: &mut Option<InOrder>, header: &BatchHeader) -> bool {
    order.as_mut().is_none_or(|order| order.takes(header.span.first, header.last_offset))
}

impl<'o> Pass<'o> {
    fn new(options: &'o ScanOptions) -> Self {
        let (collector, reader) = (TransactionCollector::default(), RecordReader::new(CHUNK));
        Self { collector, reader, large_corrupt: HashMap::new(), is_disordered: false, options }
    }

    /// Continues after segments whose indexes show the aborted transactions: the snapshot of the last one shows those that
    /// are open. Without it all of them are read.
    fn end_indexed(&mut self, indexed: &mut Vec<Placed<'_>>, warnings: &mut Vec<String>) -> Result<(), ScanError> {
        let Some(&Placed { segment: last, .. }) = indexed.last() else { return Ok(()) };
        match tiered::open_transactions(last) {
            Ok(Some(open)) => {
                self.collector.set_open(open);
                indexed.clear();
            }
            Ok(None) => {}
            Err(error) => warnings.push(format!("{}: .snapshot ignored: {error}", last.name)),
        }
        indexed.drain(..).try_for_each(|segment| self.read(segment, warnings))
    }

    fn read(&mut self, placed: Placed<'_>, warnings: &mut Vec<String>) -> Result<(), ScanError> {
        let segment = placed.segment;
        match self.segment(placed) {
            Err(error) if self.options.on_error == OnError::Skip && error.skip_reason().is_some() => {}
            other => other?,
        }
        warnings.extend(self.index(segment));
        Ok(())
    }

    fn segment(&mut self, placed: Placed<'_>) -> Result<(), ScanError> {
        let segment = placed.segment;
        let source = segment.files.open().map_err(|error| ScanError::io(&segment.name, error))?;
        let length = source.length().map_err(|error| ScanError::io(&segment.name, error))?;
        let is_message_set = |source: &dyn ReadAt| -> Result<bool, ScanError> {
            Ok(log_format_of(segment, source, length, self.options)? == LogFormat::MessageSet)
        };
        // Message sets have no transactions.
        match self.options.on_error {
            OnError::Raise if is_message_set(source.as_ref())? => Ok(()),
            OnError::Raise => self.headers(placed, source.as_ref(), length),
            OnError::Skip => {
                // As in the scan, bytes that the storage cannot read are a corrupt range.
                let source = SkipUnreadable::new(source);
                if is_message_set(&source)? { Ok(()) } else { self.batches(placed, &source, length) }
            }
        }
    }

    fn headers(&mut self, placed: Placed<'_>, source: &dyn ReadAt, length: u64) -> Result<(), ScanError> {
        let segment = placed.segment;
        let mut order = order_of(placed);
        let mut walk = HeaderWalk::new(source, 0, length);
        let mut buffer = Vec::new();
        while let Hop::Batch(header) = walk.next_batch().map_err(|error| ScanError::chunk(&segment.name, error))? {
            self.is_disordered |= !takes(&mut order, &header);
            if !header.is_transactional || !segment.has_offset(header.last_offset) {
                continue;
            }
            if !header.is_control_batch {
                self.collector.begin(header.producer_id, header.offset_field);
            } else if let Some(batch) =
                whole_batch(source, &header, CHUNK, &mut buffer).map_err(|error| ScanError::io(&segment.name, error))?
            {
                self.collector.observe(&batch, &mut self.reader);
            }
        }
        Ok(())
    }

    fn batches(&mut self, placed: Placed<'_>, source: &SkipUnreadable, length: u64) -> Result<(), ScanError> {
        let segment = placed.segment;
        let mut order = order_of(placed);
        let mut chunks = ChunkReader::new(0, length, true);
        let mut is_disordered = false;
        let walked = walk(source, &mut chunks, &mut |batch| {
            is_disordered |= !takes(&mut order, &BatchHeader::of(batch));
            if segment.has_offset(batch.last_offset()) {
                self.collector.observe(batch, &mut self.reader);
            }
        });
        self.is_disordered |= is_disordered;
        walked.map_err(|error| ScanError::chunk(&segment.name, error))?;
        if source.fault(0, length).is_none() {
            self.large_corrupt.insert(Arc::clone(&segment.name), chunks.take_large_corrupt());
        }
        Ok(())
    }

    /// Adds the batches of a piece of a judged partition.
    fn piece(&mut self, segment: &Segment, bytes: Option<(u64, u64)>, restored: Option<i64>) -> Result<(), ScanError> {
        let (begin, stop) = bytes.unwrap_or((0, u64::MAX));
        let source = segment.files.open().map_err(|error| ScanError::io(&segment.name, error))?;
        let source: Arc<dyn ReadAt> = Arc::new(SkipUnreadable::new(source));
        let length = source.length().map_err(|error| ScanError::io(&segment.name, error))?;
        let source = match restored {
            Some(first) => {
                let restored = RestoredBatch::new(source, begin, (first, i64::MAX));
                Arc::new(restored.map_err(|error| ScanError::io(&segment.name, error))?) as Arc<dyn ReadAt>
            }
            None => source,
        };
        let mut chunks = ChunkReader::new(begin, length.min(stop), true);
        walk(source.as_ref(), &mut chunks, &mut |batch| self.collector.observe(batch, &mut self.reader))
            .map_err(|error| ScanError::chunk(&segment.name, error))
    }

    /// Adds the entries of the `.txnindex`; returns a warning if it is invalid.
    fn index(&mut self, segment: &Segment) -> Option<String> {
        let data = match segment.files.side_file(SideFile::TransactionIndex) {
            Ok(data) => data?,
            Err(error) => return Some(format!("{}: .txnindex ignored: {error}", segment.name)),
        };
        let index = match TransactionIndex::parse(&data, segment.base_offset_or_zero()) {
            Ok(index) => index,
            Err(error) => return Some(format!("{}: .txnindex ignored: {error}", segment.name)),
        };
        for entry in index.iter().filter(|entry| segment.has_offset(entry.last_offset)) {
            let range = AbortedRange { first_offset: entry.first_offset, last_offset: entry.last_offset };
            self.collector.add_aborted(entry.producer_id, range);
        }
        None
    }
}

/// Calls `take` for each intact batch.
fn walk(
    source: &dyn ReadAt,
    chunks: &mut ChunkReader,
    take: &mut dyn FnMut(&RecordBatch<'_>),
) -> Result<(), ReadError> {
    let _ = walk_chunks::<Infallible>(source, chunks, &mut |part, _| {
        if let SegmentPart::Batches { data, position } = part {
            Batches::whole(data, position).for_each(|batch| take(&batch));
        }
        ControlFlow::Continue(())
    })?;
    Ok(())
}
