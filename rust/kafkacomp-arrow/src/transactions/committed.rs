//! The pass over a partition that finds its transactions before a committed reader begins.

use std::collections::HashMap;
use std::convert::Infallible;
use std::ops::ControlFlow;
use std::sync::Arc;

use kafkacomp_core::log::continuity::order_ahead::OrderAhead;
use kafkacomp_core::log::{
    AbortedRange, ChunkReader, HeaderWalk, Hop, KeptAhead, LargeCorrupt, LogFormat, ReadAt, SegmentPart, SideFile,
    TransactionCollector, TransactionFilter, TransactionIndex, walk_chunks,
};
use kafkacomp_core::record::{Batches, RecordReader};

use crate::lookup::log_format::log_format_of;
use crate::options::{OnError, Partition, ScanOptions, Segment};
use crate::plan::known_headers::{HeaderCollector, Place};
use crate::plan::whole_batch::whole_batch;
use crate::report::ScanError;
use crate::source::unreadable::SkipUnreadable;
use crate::transactions::in_order::InOrder;
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
    /// The order of the batches after gaps, by the name of the segment, so that the scan does not read ahead again.
    pub orders: HashMap<Arc<str>, OrderAhead>,
    /// The headers of the segments that were read as a whole.
    pub headers: HeaderCollector,
}

/// Finds the transactions of `partition`. Those of segments in tiered storage are read from the indexes (`indexed.rs`). Of other
/// segments, only headers and markers are read with `on_error="raise"`, and corruption ends the pass over its segment; the scan
/// reports it later. Otherwise corrupt ranges are skipped, for which all bytes are read.
///
/// # Errors
/// An I/O error.
pub fn transaction_filter(partition: &Partition, options: &ScanOptions) -> Result<Found, ScanError> {
    let mut pass = Pass {
        collector: TransactionCollector::default(),
        in_order: InOrder::default(),
        reader: RecordReader::new(CHUNK),
        large_corrupt: HashMap::new(),
        orders: HashMap::new(),
        headers: HeaderCollector::default(),
        options,
    };
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
    pass.in_order.finish(&mut pass.collector);
    let Pass { collector, large_corrupt, orders, headers, .. } = pass;
    Ok(Found { filter: collector.finish(), warnings, large_corrupt, orders, headers })
}

/// A segment, its place if it is one of those that are scanned, and the base offset of the next one.
#[derive(Clone, Copy)]
struct Placed<'s> {
    place: Option<Place>,
    segment: &'s Segment,
    end_offset: Option<i64>,
}

fn in_order_of_offsets(partition: &Partition) -> Vec<Placed<'_>> {
    let own = partition.segments.iter().enumerate().map(|(index, segment)| (Some(Place::Index(index)), segment));
    let mut segments: Vec<_> = own
        .chain(partition.context.iter().map(|segment| (None, segment)))
        .map(|(place, segment)| Placed { place, segment, end_offset: None })
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
    in_order: InOrder,
    reader: RecordReader,
    large_corrupt: HashMap<Arc<str>, LargeCorrupt>,
    orders: HashMap<Arc<str>, OrderAhead>,
    headers: HeaderCollector,
    options: &'o ScanOptions,
}

impl Pass<'_> {
    /// Continues after segments whose indexes show the aborted transactions: the snapshot of the last one shows those that
    /// are open. Without it all of them are read.
    fn end_indexed(&mut self, indexed: &mut Vec<Placed<'_>>, warnings: &mut Vec<String>) -> Result<(), ScanError> {
        let Some(&Placed { segment: last, .. }) = indexed.last() else { return Ok(()) };
        match tiered::open_transactions(last) {
            Ok(Some(open)) => {
                self.in_order.finish(&mut self.collector);
                self.in_order = InOrder::default();
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
            OnError::Raise => self.headers(segment, source.as_ref(), length),
            OnError::Skip => {
                // As in the scan, bytes that the storage cannot read are a corrupt range.
                let source = SkipUnreadable::new(source);
                if is_message_set(&source)? { Ok(()) } else { self.batches(placed, &source, length) }
            }
        }
    }

    fn headers(&mut self, segment: &Segment, source: &dyn ReadAt, length: u64) -> Result<(), ScanError> {
        let mut walk = HeaderWalk::new(source, 0, length);
        let mut buffer = Vec::new();
        while let Hop::Batch(header) = walk.next_batch().map_err(|error| ScanError::chunk(&segment.name, error))? {
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
        let Placed { place, segment, end_offset } = placed;
        self.in_order.begin(segment.first_offset(), end_offset);
        let unreadable = source;
        let source: &dyn ReadAt = &KeptAhead::new(unreadable as &dyn ReadAt);
        let mut chunks = ChunkReader::new(0, length, true);
        let walked = walk_chunks::<Infallible>(source, &mut chunks, &mut |part, _| {
            if let SegmentPart::Batches { data, position } = part {
                for batch in Batches::whole(data, position) {
                    if let Some(place) = place {
                        self.headers.add(place, &batch);
                    }
                    if segment.has_offset(batch.last_offset()) {
                        self.in_order.push(source, &batch, &mut self.reader, &mut self.collector);
                    }
                }
            }
            ControlFlow::Continue(())
        });
        let order = self.in_order.end_segment(source, &mut self.collector);
        self.orders.insert(Arc::clone(&segment.name), order);
        walked.map_err(|error| ScanError::chunk(&segment.name, error))?;
        if unreadable.fault(0, length).is_none() {
            self.large_corrupt.insert(Arc::clone(&segment.name), chunks.take_large_corrupt());
        }
        Ok(())
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
