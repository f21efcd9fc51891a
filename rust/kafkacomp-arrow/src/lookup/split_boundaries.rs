//! The boundaries of a split: the batches at its ends when the segment was split. They identify the split in a file that was
//! replaced.

use std::io;

use kafkacomp_log::read::source::read_full;
use kafkacomp_log::{BatchHeader, ReadAt};
use kafkacomp_records::record::batch::HEADER_SIZE_UP_TO_MAGIC;
use kafkacomp_records::record::{BatchHead, RecordBatch, RecordReader};

/// The batch at a boundary between two splits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SplitBoundary {
    /// Its offset field.
    pub offset: i64,
    /// Its size in bytes.
    pub size: u64,
    /// Its first offset; `None` for a wrapper that cannot be decompressed.
    pub first_offset: Option<i64>,
}

impl SplitBoundary {
    /// The boundary at a batch.
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

/// The boundaries of a split. By default they are unknown, and the range is not checked.
#[derive(Debug, Clone, Copy, Default)]
pub struct SplitBoundaries {
    /// The batch at the start of the range.
    pub begin: Option<SplitBoundary>,
    /// The batch after the range; `None` at the end of the segment.
    pub end: Option<SplitBoundary>,
    /// The length of the segment when it was split.
    pub length: u64,
    /// The base offset of the next segment.
    pub next_base: Option<i64>,
}

impl SplitBoundaries {
    /// The base offset of the next segment, if the range ends with its own segment.
    pub fn following_base(&self) -> Option<i64> {
        self.next_base.filter(|_| self.end.is_none())
    }
}
