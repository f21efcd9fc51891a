//! The headers of segments that are searched for copies of batches, so that each segment is read once for all searches.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use kafkacomp_core::log::{HeaderWalk, Hop, ReadAt, Span};
use kafkacomp_core::memory;
use kafkacomp_core::record::RecordBatch;

/// The most headers that are kept for a partition: 48 MiB.
const MOST_KEPT: usize = 1 << 20;

/// The most headers that a pass over the partition keeps for searches, which an intact log does not need: 12 MiB.
const MOST_COLLECTED: usize = 1 << 18;

/// The fields of a batch header that a search needs.
#[derive(Debug, Clone, Copy)]
pub struct Header {
    /// The offsets and the checksum.
    pub span: Span,
    /// The position of the batch.
    pub position: u64,
    /// The position after it.
    pub end: u64,
}

/// What identifies a segment in its partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Place {
    /// Its index among the segments that are scanned.
    Index(usize),
    /// The number that [`OtherSegments`](kafkacomp_core::log::read::segment_files::OtherSegments) gives it.
    Number(u64),
}

/// The headers of a segment as far as they are known.
#[derive(Debug, Default)]
struct Begun {
    headers: Vec<Header>,
    /// The position of the next header.
    next: u64,
}

/// Collects the headers of the segments of a partition while a pass reads them.
#[derive(Debug, Default)]
pub struct HeaderCollector {
    segments: HashMap<Place, Begun>,
    collected: usize,
}

impl HeaderCollector {
    /// Adds the next intact batch of a segment. The headers after a corrupt range are left out.
    pub fn add(&mut self, place: Place, batch: &RecordBatch<'_>) {
        if self.collected >= MOST_COLLECTED {
            return;
        }
        let Begun { headers, next } = self.segments.entry(place).or_default();
        let position = batch.position();
        let end = position.saturating_add(batch.size_in_bytes() as u64);
        if position == *next && memory::push(headers, Header { span: Span::of(batch), position, end }).is_ok() {
            *next = end;
            self.collected = self.collected.saturating_add(1);
        }
    }
}

/// The headers of the segments of a partition.
#[derive(Debug, Default)]
pub struct KnownHeaders(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    /// The headers up to the first corrupt batch; `None` if there are too many.
    segments: HashMap<Place, Option<Arc<Vec<Header>>>>,
    begun: HashMap<Place, Begun>,
}

impl From<HeaderCollector> for KnownHeaders {
    fn from(collector: HeaderCollector) -> Self {
        Self(Mutex::new(Known { segments: HashMap::new(), begun: collector.segments }))
    }
}

impl KnownHeaders {
    /// The headers of a segment up to the first corrupt batch; `None` if there are too many to keep, or if the segment cannot
    /// be read.
    pub fn of(&self, place: Place, source: &dyn ReadAt) -> Option<Arc<Vec<Header>>> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Known { segments, begun } = &mut *known;
        if let Some(headers) = segments.get(&place) {
            return headers.clone();
        }
        let kept: usize = segments.values().flatten().map(|headers| headers.len()).sum();
        let Begun { mut headers, next } = begun.remove(&place).unwrap_or_default();
        let mut walk = HeaderWalk::sparse(source, next, source.length().ok()?);
        // An error is not remembered: it may be an interrupt.
        while let Hop::Batch(header) = walk.next_batch().ok()? {
            let header = Header { span: header.span, position: header.position, end: header.end() };
            if kept.saturating_add(headers.len()) >= MOST_KEPT || memory::push(&mut headers, header).is_err() {
                segments.insert(place, None);
                return None;
            }
        }
        let headers = Arc::new(headers);
        segments.insert(place, Some(Arc::clone(&headers)));
        Some(headers)
    }
}

/// Whether the header of a batch that ends at or before `end` satisfies the condition. The walk ends at the first corrupt batch.
pub fn walk_headers(source: &dyn ReadAt, end: u64, is_found: &mut dyn FnMut(&Header) -> bool) -> bool {
    let Ok(length) = source.length() else { return false };
    let mut walk = HeaderWalk::sparse(source, 0, length.min(end));
    while let Ok(Hop::Batch(header)) = walk.next_batch() {
        if is_found(&Header { span: header.span, position: header.position, end: header.end() }) {
            return true;
        }
    }
    false
}
