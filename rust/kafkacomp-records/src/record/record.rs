//! A record of a batch of any magic, by reference to the decompressed bytes.

use super::attributes::TimestampType;
use super::message::Message;
use crate::varint::take_varint;

/// A record by reference. Timestamps are in ms since the epoch, -1 for none.
#[derive(Debug, Clone, Copy)]
pub struct Record<'a> {
    /// The absolute offset.
    pub offset: i64,
    /// The timestamp in ms; -1 in magic 0.
    pub timestamp: i64,
    /// Where the timestamp comes from.
    pub timestamp_type: TimestampType,
    /// The sequence, -1 without a producer id.
    pub sequence: i32,
    /// The key, `None` for null.
    pub key: Option<&'a [u8]>,
    /// The value, `None` for null.
    pub value: Option<&'a [u8]>,
    /// The headers (magic 2).
    pub headers: Headers<'a>,
    /// The message in magic 0 and 1, which has a checksum of its own; `None` in magic 2.
    pub message: Option<Message<'a>>,
}

impl Record<'_> {
    /// A record before the first one is read.
    pub const EMPTY: Record<'static> = Record {
        offset: 0,
        timestamp: super::batch::NO_TIMESTAMP,
        timestamp_type: TimestampType::NoTimestampType,
        sequence: super::batch::NO_SEQUENCE,
        key: None,
        value: None,
        headers: Headers::EMPTY,
        message: None,
    };

    /// Whether the record has a timestamp: its format has timestamps, and it is not -1.
    #[inline]
    pub fn has_timestamp(&self) -> bool {
        self.timestamp != super::batch::NO_TIMESTAMP && self.timestamp_type != TimestampType::NoTimestampType
    }
}

/// The headers of a record. They are checked when the record is read and decoded when they are iterated over.
#[derive(Debug, Clone, Copy)]
pub struct Headers<'a> {
    raw: &'a [u8],
    count: u32,
}

impl<'a> Headers<'a> {
    /// No headers.
    pub const EMPTY: Headers<'static> = Headers { raw: &[], count: 0 };

    /// `count` headers as a record stores them, without their number. Fields that `raw` does not contain are empty keys
    /// and null values.
    pub fn new(raw: &'a [u8], count: u32) -> Self {
        Self { raw, count }
    }

    /// The number of headers.
    #[inline]
    pub fn len(&self) -> usize {
        self.count as usize
    }

    /// Whether the record has no headers.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The serialized headers, without their number.
    pub fn raw(&self) -> &'a [u8] {
        self.raw
    }

    /// The size of the serialized headers, in bytes.
    pub fn size_in_bytes(&self) -> usize {
        self.raw.len()
    }
}

/// Key (UTF-8, but not checked) and value of each header, in order.
impl<'a> IntoIterator for Headers<'a> {
    type Item = (&'a [u8], Option<&'a [u8]>);
    type IntoIter = HeaderIter<'a>;

    fn into_iter(self) -> HeaderIter<'a> {
        HeaderIter { rest: self.raw, left: self.count }
    }
}

/// Iterates over headers.
#[derive(Debug, Clone)]
pub struct HeaderIter<'a> {
    rest: &'a [u8],
    left: u32,
}

impl<'a> HeaderIter<'a> {
    /// A nullable field. The headers of a record that was read are valid; a field that is not is null.
    fn take(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(take_varint(&mut self.rest).ok()?).ok()?;
        let (bytes, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(bytes)
    }
}

impl<'a> Iterator for HeaderIter<'a> {
    type Item = (&'a [u8], Option<&'a [u8]>);

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let key = self.take().unwrap_or(&[]);
        Some((key, self.take()))
    }
}
