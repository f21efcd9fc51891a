//! The pass over a partition that finds its transactions before a committed reader begins.

use std::collections::HashMap;
use std::convert::Infallible;
use std::ops::ControlFlow;
use std::sync::Arc;

use kafkacomp_core::log::{
    AbortedRange, ChunkReader, HeaderWalk, Hop, LargeCorrupt, LogFormat, ReadAt, SegmentPart, SideFile,
    TransactionCollector, TransactionFilter, TransactionIndex, walk_chunks,
};
use kafkacomp_core::record::{Batches, RecordReader};

use crate::in_order::InOrder;
use crate::indexed;
use crate::known_headers::{HeaderCollector, Place};
use crate::log_format::log_format_of;
use crate::options::{OnError, Partition, ScanOptions, Segment};
use crate::report::ScanError;
use crate::unreadable::SkipUnreadable;
use crate::whole_batch::whole_batch;

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
        headers: HeaderCollector::default(),
        options,
    };
    let mut warnings = Vec::new();
    let own = partition.segments.iter().enumerate().map(|(index, segment)| (Some(Place::Index(index)), segment));
    let mut segments: Vec<Placed<'_>> = own.chain(partition.context.iter().map(|segment| (None, segment))).collect();
    segments.sort_by_key(|(_, segment)| segment.first_offset());
    segments.dedup_by(|(_, later), (_, earlier)| later.name == earlier.name && later.offsets == earlier.offsets);
    let mut indexed = Vec::new();
    for segment in segments {
        if indexed::add_aborted(segment.1, &mut pass.collector) {
            indexed.push(segment);
            continue;
        }
        pass.end_indexed(&mut indexed, &mut warnings)?;
        pass.read(segment, &mut warnings)?;
    }
    pass.end_indexed(&mut indexed, &mut warnings)?;
    pass.in_order.finish(&mut pass.collector);
    let Pass { collector, large_corrupt, headers, .. } = pass;
    Ok(Found { filter: collector.finish(), warnings, large_corrupt, headers })
}

/// A segment, and its place if it is one of those that are scanned.
type Placed<'s> = (Option<Place>, &'s Segment);

struct Pass<'o> {
    collector: TransactionCollector,
    in_order: InOrder,
    reader: RecordReader,
    large_corrupt: HashMap<Arc<str>, LargeCorrupt>,
    headers: HeaderCollector,
    options: &'o ScanOptions,
}

impl Pass<'_> {
    /// Continues after segments whose indexes show the aborted transactions: the snapshot of the last one shows those that
    /// are open. Without it all of them are read.
    fn end_indexed(&mut self, indexed: &mut Vec<Placed<'_>>, warnings: &mut Vec<String>) -> Result<(), ScanError> {
        let Some(&(_, last)) = indexed.last() else { return Ok(()) };
        match indexed::open_transactions(last) {
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

    fn read(&mut self, (place, segment): Placed<'_>, warnings: &mut Vec<String>) -> Result<(), ScanError> {
        match self.segment(place, segment) {
            Err(error) if self.options.on_error == OnError::Skip && error.skip_reason().is_some() => {}
            other => other?,
        }
        warnings.extend(self.index(segment));
        Ok(())
    }

    fn segment(&mut self, place: Option<Place>, segment: &Segment) -> Result<(), ScanError> {
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
                if is_message_set(&source)? { Ok(()) } else { self.batches((place, segment), &source, length) }
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

    fn batches(&mut self, (place, segment): Placed<'_>, source: &SkipUnreadable, length: u64) -> Result<(), ScanError> {
        self.in_order.begin(segment.first_offset());
        let mut chunks = ChunkReader::new(0, length, true);
        let walked = walk_chunks::<Infallible>(source, &mut chunks, &mut |part, _| {
            if let SegmentPart::Batches { data, position } = part {
                for batch in Batches::new(data, position).flatten() {
                    if let Some(place) = place {
                        self.headers.add(place, &batch);
                    }
                    if segment.has_offset(batch.last_offset()) {
                        self.in_order.push(&batch, &mut self.reader, &mut self.collector);
                    }
                }
            }
            ControlFlow::Continue(())
        });
        walked.map_err(|error| ScanError::chunk(&segment.name, error))?;
        if source.fault(0, length).is_none() {
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
