//! The records of one Kafka batch as an Arrow batch, without a scan around it.

use arrow_array::RecordBatch as ArrowRecordBatch;
use arrow_schema::TimeUnit;
use kafkacomp_records::memory;
use kafkacomp_records::record::{Error, RecordBatch, RecordBlock, RecordReader};

use crate::columns::batch_runs::Place;
use crate::columns::binary_type::BinaryType;
use crate::columns::builder::{ColumnBuilder, ColumnError};
use crate::columns::pool::BufferPool;
use crate::columns::schema::Column;
use crate::columns::view_buffers::{Origin, SharedBytes};

/// The columns of [`batch_records`].
const COLUMNS: [Column; 4] = [Column::Offset, Column::Timestamp, Column::Key, Column::Value];

/// Why the records of a batch were not read.
#[derive(Debug, thiserror::Error)]
pub enum BatchRecordsError {
    /// The batch is corrupt, or too large.
    #[error(transparent)]
    Content(#[from] Error),
    /// The columns were not built.
    #[error(transparent)]
    Columns(#[from] ColumnError),
}

/// Offset, timestamp (ms), key and value of all records of `batch`. Keys and values are views of its decompressed bytes, or of a
/// copy of an uncompressed batch. As in Kafka's iterators, the checksum is not verified.
///
/// # Errors
/// As [`RecordReader::records`] and its iterator; lack of memory.
pub fn batch_records(
    reader: &mut RecordReader,
    batch: &RecordBatch<'_>,
) -> Result<ArrowRecordBatch, BatchRecordsError> {
    let pool = BufferPool::shared();
    let mut builder = ColumnBuilder::new(&COLUMNS, Some(TimeUnit::Millisecond), BinaryType::BinaryView, &pool);
    let paused = reader.records(batch)?.pause();
    let out_of_memory = |error| Error::out_of_memory(error, batch.position());
    let (content, length) = if reader.payload().is_empty() {
        let mut copy = pool.take(batch.data().len());
        memory::append(&mut copy, batch.data()).map_err(out_of_memory)?;
        (copy, batch.data().len())
    } else {
        let length = reader.payload().len();
        // The next batch is probably as large, and memory with old content need not be zeroed.
        let next = pool.take_filled(length).map_err(out_of_memory)?;
        (reader.replace_storage(next), length)
    };
    // The buffer is kept even if the views need little of it: no other batch shares it.
    builder.set_buffer(Origin::Decompressed, SharedBytes { pinned: 0, bytes: pool.lend(content) });
    let bytes = builder.decompressed();
    let content = bytes.get(..length).unwrap_or(&[]);
    builder.begin_values(Origin::Decompressed, content, 0);
    builder.push_records(paused.resume(content), &mut RecordBlock::default(), usize::MAX)?;
    if let Some(error) = builder.out_of_memory() {
        return Err(Error::out_of_memory(error, batch.position()).into());
    }
    builder.end_batch(batch, &Place { topic: None, partition: None, segment: "".into() });
    builder.end_values();
    Ok(builder.finish()?)
}
