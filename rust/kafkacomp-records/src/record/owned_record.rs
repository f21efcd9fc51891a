//! A record that shares the decompressed bytes of its batch.

use bytes::Bytes;

use super::attributes::TimestampType;
use super::record::Record;
use crate::memory::{self, OutOfMemory};

/// A record that borrows nothing. Key, value and headers are parts of the bytes of its batch, which are freed with the last of them.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OwnedRecord {
    /// The absolute offset.
    pub offset: i64,
    /// The timestamp in ms since the epoch; -1 in magic 0.
    pub timestamp: i64,
    /// Where the timestamp comes from.
    pub timestamp_type: TimestampType,
    /// The sequence, -1 without a producer id.
    pub sequence: i32,
    /// The key, `None` for null.
    pub key: Option<Bytes>,
    /// The value, `None` for null.
    pub value: Option<Bytes>,
    /// Key and value of each header (magic 2), in order.
    pub headers: Vec<(Bytes, Option<Bytes>)>,
}

impl OwnedRecord {
    /// The same record, which refers to `batch`: the decompressed bytes of its batch, or its own bytes if it is not compressed.
    ///
    /// # Errors
    /// The list of headers cannot be allocated.
    pub(super) fn within(batch: &Bytes, record: &Record<'_>) -> Result<Self, OutOfMemory> {
        let part = |bytes: &[u8]| batch.slice_ref(bytes);
        let mut headers = Vec::new();
        memory::reserve(&mut headers, record.headers.len())?;
        headers.extend(record.headers.into_iter().map(|(key, value)| (part(key), value.map(part))));
        Ok(Self {
            offset: record.offset,
            timestamp: record.timestamp,
            timestamp_type: record.timestamp_type,
            sequence: record.sequence,
            key: record.key.map(part),
            value: record.value.map(part),
            headers,
        })
    }
}
