//! The records of one batch for the validator. Only the fields that Kafka's validator reads are read, in the same order, so that the
//! same fault is found first.
//!
//! Messages of magic 0 or 1 are parsed lazily: if the batch is stored in place, an invalid key or value is not detected.

use kafkacomp_records::CompressionType;
use kafkacomp_records::record::partial::declared_size;
use kafkacomp_records::record::{Error, RecordFault};
use kafkacomp_records::record::{Headers, PartialRecord, Record, RecordBatch, RecordReader, Records, V0V1Entry};

/// Which of Kafka's iterators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    /// `iterator()`: the stream of a batch without records is not opened.
    Iterator,
    /// `streamingIterator()`: a compressed batch's stream is opened even if the batch declares no records.
    Streaming,
    /// `skipKeyValueIterator()`: keys and values are skipped in compressed batches of magic 2.
    Partial,
}

/// A record.
#[derive(Debug, Clone, Copy)]
pub(super) struct Item<'a, 'r> {
    pub(super) offset: i64,
    /// The size that Kafka's statistics count.
    pub(super) size_in_bytes: i32,
    pub(super) content: Content<'a, 'r>,
}

/// A record by the iterator that returned it.
#[derive(Debug, Clone, Copy)]
pub(super) enum Content<'a, 'r> {
    V2(&'r Record<'a>),
    Partial(&'r PartialRecord),
    V0V1(&'r V0V1Entry<'a>),
}

impl<'a> Item<'a, '_> {
    /// Whether the record has a key.
    pub(super) fn has_key(&self) -> std::result::Result<bool, RecordFault> {
        match self.content {
            Content::V2(record) => Ok(record.key.is_some()),
            Content::Partial(record) => Ok(record.key_size >= 0),
            Content::V0V1(entry) => entry.message.has_key(),
        }
    }

    /// The timestamp in ms.
    #[inline]
    pub(super) fn timestamp(&self) -> std::result::Result<i64, RecordFault> {
        match self.content {
            Content::V2(record) => Ok(record.timestamp),
            Content::Partial(record) => Ok(record.timestamp),
            Content::V0V1(entry) => entry.timestamp(),
        }
    }

    /// Key, value and headers; null and empty if they were skipped.
    #[expect(clippy::type_complexity, reason = "two nullable slices and the headers")]
    pub(super) fn fields(&self) -> std::result::Result<(Option<&'a [u8]>, Option<&'a [u8]>, Headers<'a>), RecordFault> {
        match self.content {
            Content::V2(record) => Ok((record.key, record.value, record.headers)),
            Content::Partial(_) => Ok((None, None, Headers::EMPTY)),
            Content::V0V1(entry) => entry.message.key_and_value().map(|(key, value)| (key, value, Headers::EMPTY)),
        }
    }
}

/// Passes the records of `batch` to `visit` until reading or `visit` fails.
pub(super) fn each_record(
    reader: &mut RecordReader,
    batch: &RecordBatch<'_>,
    reading: Reading,
    mut visit: impl FnMut(&Item<'_, '_>) -> crate::Result<()>,
) -> crate::Result<()> {
    let compressed = batch.compression_type().is_ok_and(|compression_type| compression_type != CompressionType::None);
    if reading == Reading::Partial && compressed && batch.magic() >= 2 {
        return each_partial(reader, batch, visit);
    }
    if reading == Reading::Iterator && batch.records_count() == Some(0) {
        return Ok(());
    }
    match reader.records(batch)? {
        Records::V2(mut records) => {
            let mut record = Record::EMPTY;
            let mut before = records.rest();
            while records.advance(&mut record)? {
                // The record was read, so its length is a varint.
                let size_in_bytes =
                    declared_size(before).map_err(|_| at(batch)(RecordFault::SizeVarintTooLong { index: 0 }))?;
                before = records.rest();
                visit(&Item { offset: record.offset, size_in_bytes, content: Content::V2(&record) })?;
            }
            Ok(())
        }
        Records::V0V1(mut records) => {
            while let Some(entry) = records.next_entry() {
                let entry = entry?;
                visit(&Item {
                    offset: entry.offset,
                    size_in_bytes: entry.size_in_bytes() as i32,
                    content: Content::V0V1(&entry),
                })?;
            }
            Ok(())
        }
    }
}

fn each_partial(
    reader: &mut RecordReader,
    batch: &RecordBatch<'_>,
    mut visit: impl FnMut(&Item<'_, '_>) -> crate::Result<()>,
) -> crate::Result<()> {
    let Some(mut records) = reader.partial_records(batch)? else { return Ok(()) };
    let mut record = PartialRecord::EMPTY;
    while records.advance(&mut record)? {
        visit(&Item {
            offset: record.offset,
            size_in_bytes: record.size_in_bytes,
            content: Content::Partial(&record),
        })?;
    }
    Ok(())
}

/// Makes the error for the fault of a record in `batch`.
pub(super) fn at(batch: &RecordBatch<'_>) -> impl Fn(RecordFault) -> Error {
    let position = batch.position();
    move |fault| Error::Invalid { position, fault }
}
