//! What the ends of a split are known by: the batches that stood there when the segment was split.

use std::io;

use kafkacomp_core::log::read::source::read_full;
use kafkacomp_core::log::{BatchHeader, ReadAt};
use kafkacomp_core::record::batch::HEADER_SIZE_UP_TO_MAGIC;
use kafkacomp_core::record::{BatchHead, RecordBatch, RecordReader};

/// The batch that stood where a segment was cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SplitBoundary {
    /// Its offset field.
    pub offset: i64,
    /// Its size in bytes.
    pub size: u64,
    /// Its first offset; `None` for compressed messages of magic 0 and 1 that cannot be decompressed.
    pub first_offset: Option<i64>,
}

impl SplitBoundary {
    /// That of a batch.
    pub(crate) fn of(header: &BatchHeader, batch: &RecordBatch<'_>, reader: &mut RecordReader) -> Self {
        Self { offset: header.offset_field, size: header.size, first_offset: reader.base_offset(batch).ok() }
    }

    pub(crate) fn is_at(&self, source: &dyn ReadAt, position: u64) -> io::Result<bool> {
        let mut head = [0_u8; HEADER_SIZE_UP_TO_MAGIC];
        let read = read_full(source, &mut head, position)?;
        let head = BatchHead::read(&head[..read], position);
        Ok(head
            .ok()
            .flatten()
            .is_some_and(|head| head.offset == self.offset && head.size_in_bytes() as u64 == self.size))
    }
}

/// What is known of a piece's ends. The default knows nothing: then the range is taken as it is.
#[derive(Debug, Clone, Copy, Default)]
pub struct SplitBoundaries {
    /// At the beginning of the range.
    pub begin: Option<SplitBoundary>,
    /// Behind its end; `None` at the segment's.
    pub end: Option<SplitBoundary>,
    /// The segment's length when it was found.
    pub length: u64,
    /// Where the next segment begins.
    pub next_base: Option<i64>,
}
