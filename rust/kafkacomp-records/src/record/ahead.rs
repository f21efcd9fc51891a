//! Decompressing a batch together with the next one, for callers that read them in their order.

use super::batch::{Format, RecordBatch};
use super::error::Result;
use super::layout::v2::RECORDS_COUNT_OFFSET;
use super::reader::{RecordReader, Records};
use super::v2::V2Records;
use crate::compress;

/// A batch that was decompressed together with the one before it; none by default.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ahead<'a> {
    compressed: Option<&'a [u8]>,
}

impl RecordReader {
    /// The [`records`](Self::records) of `batch` for a caller that reads batches in their order: two LZ4 batches of at most 64 KiB are
    /// decompressed at once, in less time than one after the other. `next` returns the batch after `batch`. `ahead` is what the last call of
    /// this reader has left there.
    ///
    /// # Errors
    /// As [`records`](Self::records).
    #[inline]
    pub fn records_in_order<'r, 'a: 'r>(
        &'r mut self,
        batch: &RecordBatch<'a>,
        ahead: &mut Ahead<'a>,
        next: impl FnOnce() -> Option<RecordBatch<'a>>,
    ) -> Result<Records<'r>> {
        // A batch of one record is not worth it, and each instruction counts for it.
        if batch.size_in_bytes() < compress::SHORTEST_OF_BOTH {
            self.records(batch)
        } else {
            self.with_next(batch, ahead, next)
        }
    }

    /// [`records_in_order`](Self::records_in_order) of a batch that is long enough to be decompressed together with the next one.
    #[inline(never)]
    fn with_next<'r, 'a: 'r>(
        &'r mut self,
        batch: &RecordBatch<'a>,
        ahead: &mut Ahead<'a>,
        next: impl FnOnce() -> Option<RecordBatch<'a>>,
    ) -> Result<Records<'r>> {
        let before = std::mem::take(ahead);
        let Some((count, compressed)) = paired_records(batch) else { return self.records(batch) };
        // The same bytes in memory, which nothing can have changed since.
        let is_ahead = before.compressed.is_some_and(|before| std::ptr::eq(before, compressed));
        if !(is_ahead && self.begin_ahead()) {
            let Some((_, following)) = next().as_ref().and_then(paired_records) else { return self.records(batch) };
            if !self.decompress_both(batch.magic(), [compressed, following]) {
                return self.records(batch);
            }
            ahead.compressed = Some(following);
        }
        V2Records::new(batch, count, self.payload(), true, None).map(Records::V2)
    }
}

/// The number of records of a batch of magic 2 that may be decompressed together with another one, and their compressed bytes.
fn paired_records<'a>(batch: &RecordBatch<'a>) -> Option<(i32, &'a [u8])> {
    let Format::V2(fields) = batch.format() else { return None };
    let (count, compressed) = (fields.i32::<RECORDS_COUNT_OFFSET>(), fields.body());
    let compression_type = batch.compression_type().ok()?;
    (count > 0 && compress::may_pair(compression_type, compressed.len())).then_some((count, compressed))
}
