//! The headers of segments that are searched for copies of batches, so that each segment is read once for all searches.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use kafkacomp_core::log::{HeaderWalk, Hop, ReadAt, Span};
use kafkacomp_core::memory;

/// The most headers that are kept for a partition: 48 MiB.
const MOST_KEPT: usize = 1 << 20;

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

/// The headers of the segments of a partition.
#[derive(Debug, Default)]
pub struct KnownHeaders(Mutex<HashMap<Place, Option<Arc<Vec<Header>>>>>);

impl KnownHeaders {
    /// The headers of a segment up to the first corrupt batch; `None` if there are too many to keep, or if the segment cannot
    /// be read.
    pub fn of(&self, place: Place, source: &dyn ReadAt) -> Option<Arc<Vec<Header>>> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(headers) = known.get(&place) {
            return headers.clone();
        }
        let kept: usize = known.values().flatten().map(|headers| headers.len()).sum();
        let mut headers = Vec::new();
        let mut walk = HeaderWalk::sparse(source, 0, source.length().ok()?);
        // An error is not remembered: it may be an interrupt.
        while let Hop::Batch(header) = walk.next_batch().ok()? {
            let header = Header { span: header.span, position: header.position, end: header.end() };
            if kept.saturating_add(headers.len()) >= MOST_KEPT || memory::push(&mut headers, header).is_err() {
                known.insert(place, None);
                return None;
            }
        }
        let headers = Arc::new(headers);
        known.insert(place, Some(Arc::clone(&headers)));
        Some(headers)
    }
}

/// Whether the header of a batch that ends at or before `end` satisfies the condition. The walk ends at the first corrupt batch.
pub fn walk_headers(source: &dyn ReadAt, end: u64, is_found: &mut dyn FnMut(&Header) -> bool) -> bool {
    let end = source.length().unwrap_or_default().min(end);
    let mut walk = HeaderWalk::sparse(source, 0, end);
    while let Ok(Hop::Batch(header)) = walk.next_batch() {
        if is_found(&Header { span: header.span, position: header.position, end: header.end() }) {
            return true;
        }
    }
    false
}
