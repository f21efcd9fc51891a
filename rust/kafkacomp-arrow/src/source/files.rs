//! Segments in memory.

use std::sync::Arc;

use kafkacomp_log::MemorySegment;

use crate::lookup::split_boundaries::SplitBoundaries;
use crate::options::{Segment, TransactionsIn};

/// A record set in memory as a segment that begins at offset 0 and that no broker is writing.
pub fn in_memory<T: AsRef<[u8]> + Send + Sync + std::fmt::Debug + 'static>(data: Arc<T>, name: &str) -> Segment {
    Segment {
        name: Arc::from(name),
        base_offset: Some(0),
        size: (*data).as_ref().len() as u64,
        files: Arc::new(MemorySegment(data)),
        range: None,
        boundaries: SplitBoundaries::default(),
        offsets: None,
        active: false,
        transactions_in: TransactionsIn::default(),
    }
}
