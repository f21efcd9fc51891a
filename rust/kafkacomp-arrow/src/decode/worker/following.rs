//! The batches of a chunk that are not read yet.

use kafkacomp_records::record::{Ahead, Batches, RecordBatch, RecordReader, Records, Result};

/// The batches that follow; the next one may already be decompressed.
#[derive(Debug)]
pub(super) struct Following<'c> {
    pub(super) batches: Batches<'c>,
    ahead: Ahead<'c>,
}

impl<'c> Following<'c> {
    pub(super) fn new(batches: Batches<'c>) -> Self {
        Self { batches, ahead: Ahead::default() }
    }

    /// The records of a batch, which may be decompressed together with the next one.
    ///
    /// # Errors
    /// As [`RecordReader::records`].
    #[inline]
    pub(super) fn records<'r>(&mut self, reader: &'r mut RecordReader, batch: &RecordBatch<'c>) -> Result<Records<'r>>
    where
        'c: 'r,
    {
        let Self { batches, ahead } = self;
        reader.records_in_order(batch, ahead, || batches.clone().next()?.ok())
    }
}
