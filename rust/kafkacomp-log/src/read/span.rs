//! The offsets that the header of a batch states.

use kafkacomp_records::record::RecordBatch;

/// The offsets that the header of a batch states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The first offset; `None` for a wrapper, whose first offset only its records show.
    pub first: Option<i64>,
    /// The last offset.
    pub last: i64,
    /// The stored checksum: two batches with the same offsets and checksum are copies of one another.
    pub crc: u32,
}

impl Span {
    /// The offsets of `batch`.
    #[inline]
    pub fn of(batch: &RecordBatch<'_>) -> Self {
        Self { first: batch.base_offset(), last: batch.last_offset(), crc: batch.crc() }
    }
}
