//! Rows whose values are not copied: views of the chunk, or of the decompressed bytes.

use std::sync::Arc;

use kafkacomp_records::memory::OutOfMemory;
use kafkacomp_records::record::{RecordBatch, RecordReader};

use super::following::Following;
use super::{Taken, Worker, fills_too_many};
use crate::columns::builder::{ColumnBuilder, ColumnError};
use crate::columns::pool::BufferPool;
use crate::columns::view_buffers::{Origin, SharedBytes};
use crate::decode::chunk_offsets::ChunkOffsets;
use crate::decode::record_filter::RecordFilter;
use crate::decode::rows::{BatchError, Rows, Sink};
use crate::options::ScanOptions;
use crate::plan::context::Context;

/// The number of decompressed bytes that are collected in one buffer if values are not copied: otherwise there would be a buffer
/// for each Kafka batch.
const STORAGE_BYTES: usize = 1 << 20;

impl Worker {
    /// Appends the rows of a batch as views.
    pub(super) fn batch_of_views<'c>(
        &mut self,
        batch: &RecordBatch<'c>,
        following: &mut Following<'c>,
        context: &Context,
        filter: &RecordFilter,
        chunk_offsets: &mut ChunkOffsets<'_>,
        sink: Sink<'_>,
    ) -> Result<Taken, BatchError> {
        let rows = self.builder.rows();
        let is_compressed = batch.attributes().compression_id() != 0;
        if is_compressed {
            // Without storage, the reader still has the payload of the batch before, to which rows refer.
            self.make_storage().map_err(|error| BatchError::Scan(ColumnError::from(error).into()))?;
        }
        let taken = if is_compressed {
            self.compressed_batch_of_views(batch, following, context, filter, chunk_offsets, sink)
        } else {
            self.builder.begin_chunk_values();
            self.other_batch(batch, following, context, filter, chunk_offsets, sink)
        };
        self.builder.end_values();
        if self.builder.rows() == rows {
            self.reader.drop_payload();
        }
        if std::mem::take(&mut self.is_shared) {
            let released = self.builder.release_values(Origin::Decompressed);
            released.map_err(|error| BatchError::Scan(ColumnError::from(error).into()))?;
        }
        taken
    }

    /// Appends the rows of a compressed batch as views. If its rows may fill an Arrow batch before they end, the decompressed bytes
    /// get their reference count before the first row, otherwise when the buffer is complete.
    pub(super) fn compressed_batch_of_views<'c>(
        &mut self,
        batch: &RecordBatch<'c>,
        following: &mut Following<'c>,
        context: &Context,
        filter: &RecordFilter,
        chunk_offsets: &mut ChunkOffsets<'_>,
        sink: Sink<'_>,
    ) -> Result<Taken, BatchError> {
        let offset = self.reader.retained().saturating_add(self.reader.payload().len());
        let records = following.records(&mut self.reader, batch).map_err(BatchError::record)?;
        let (count, payload) = records.content();
        if self.collects && fills_too_many(&self.options, &self.builder, (count, payload.len())) {
            return Ok(self.leave(batch));
        }
        self.last_payload = payload.len();
        self.builder.begin_values(Origin::Decompressed, payload, offset);
        let mut shared = None;
        let records = if may_fill(&self.options, &self.builder, (count, payload.len())) {
            let (length, paused) = (payload.len(), records.pause());
            share_decompressed(&mut self.reader, &mut self.builder, &self.pool);
            let bytes = shared.insert(self.builder.decompressed());
            let payload = &bytes[offset..offset + length];
            self.builder.begin_values(Origin::Decompressed, payload, offset);
            paused.resume(payload)
        } else {
            records
        };
        let mut rows =
            Rows::new(&mut self.builder, &mut self.seen, (&self.options, &self.report), batch, context, filter);
        let taken = rows.take_records(records, batch, chunk_offsets, &mut self.block, sink);
        self.is_shared = shared.is_some();
        taken.map(|()| Taken::All)
    }

    /// Completes the buffer of the decompressed bytes that rows of earlier batches refer to, if the rows of this uncompressed `batch`
    /// may fill an Arrow batch before they end: while its records are read, the earlier rows are returned.
    #[inline]
    pub(super) fn complete_earlier_views(&mut self, batch: &RecordBatch<'_>) -> Result<(), BatchError> {
        if !self.builder.awaits_decompressed() || batch.attributes().compression_id() != 0 {
            return Ok(());
        }
        // An uncompressed batch of magic 0 or 1 is one message.
        let count = batch.records_count().map_or(1, |count| count.max(0) as usize);
        if may_fill(&self.options, &self.builder, (count, batch.size_in_bytes())) {
            self.release_decompressed().map_err(|error| BatchError::Scan(ColumnError::from(error).into()))?;
        }
        Ok(())
    }

    /// Replaces the storage before the next batch is decompressed, if it probably has too little room.
    pub(super) fn make_storage(&mut self) -> Result<(), OutOfMemory> {
        let expected = self.last_payload.saturating_add(self.last_payload / 8);
        let retained = self.reader.retained().saturating_add(self.reader.payload().len());
        if retained >= STORAGE_BYTES || (retained > 0 && self.reader.room() < expected) {
            self.release_decompressed()?;
        }
        if self.reader.room() < expected.max(1) {
            let storage = self.pool.take_filled(STORAGE_BYTES.saturating_add(expected))?;
            self.pool.give(self.reader.replace_storage(storage));
        }
        Ok(())
    }

    /// Releases the decompressed bytes so far, to which no further rows refer.
    pub(super) fn release_decompressed(&mut self) -> Result<(), OutOfMemory> {
        if !self.has_views() {
            return Ok(());
        }
        share_decompressed(&mut self.reader, &mut self.builder, &self.pool);
        self.builder.release_values(Origin::Decompressed)
    }
}

/// Whether the rows of a Kafka batch, which are at most so many in so many bytes, may fill the Arrow batch before they end.
#[inline]
fn may_fill(options: &ScanOptions, builder: &ColumnBuilder, (count, payload): (usize, usize)) -> bool {
    builder.rows().saturating_add(count) > options.batch_rows
        || builder.bytes().saturating_add(builder.most_bytes_of(count, payload)) > options.arrow_batch_bytes
}

/// Makes a shared buffer of the decompressed bytes that rows refer to; the next ones are written to other storage.
fn share_decompressed(reader: &mut RecordReader, builder: &mut ColumnBuilder, pool: &Arc<BufferPool>) {
    if builder.awaits_decompressed() {
        let storage = reader.replace_storage(Vec::new());
        let shared = SharedBytes { pinned: storage.capacity(), bytes: pool.lend(storage) };
        builder.set_buffer(Origin::Decompressed, shared);
    }
}
