//! Several records of a batch of magic 2, field by field, for building columns: arrays of numbers that a vectorized loop can
//! convert, and keys and values as spans of the payload.

use super::common_record::CommonRecord;
use crate::varint::zig_zag;

/// The most records of a block: small enough for the first-level cache.
pub const BLOCK_RECORDS: usize = 256;

/// The range of a key or value in the payload.
#[derive(Debug, Clone, Copy)]
pub struct Span {
    start: u32,
    length: u32,
}

/// The length that means null; no record is as long.
const NULL: u32 = u32::MAX;

impl Span {
    /// Where it begins in the payload; of no meaning for null.
    #[inline]
    pub fn start(self) -> usize {
        self.start as usize
    }

    /// The number of bytes, 0 for null.
    #[inline]
    pub fn len(self) -> usize {
        if self.is_null() { 0 } else { self.length as usize }
    }

    /// Whether it is empty or null.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Whether it is null.
    #[inline]
    pub fn is_null(self) -> bool {
        self.length == NULL
    }

    /// The bytes in the payload.
    ///
    /// # Panics
    /// `payload` is not the one that the span was read from, and is too short.
    #[inline]
    pub fn bytes(self, payload: &[u8]) -> &[u8] {
        let start = self.start as usize;
        &payload[start..start + self.len()]
    }
}

/// The keys or the values of a block.
#[derive(Debug)]
pub struct Spans {
    starts: [u32; BLOCK_RECORDS],
    lengths: [u32; BLOCK_RECORDS],
    count: usize,
    bytes: usize,
    nulls: usize,
}

impl Spans {
    pub(super) const fn new() -> Self {
        Self { starts: [0; BLOCK_RECORDS], lengths: [0; BLOCK_RECORDS], count: 0, bytes: 0, nulls: 0 }
    }

    /// The ranges in the payload.
    #[inline]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Span> {
        let (starts, lengths) = (&self.starts[..self.count], &self.lengths[..self.count]);
        starts.iter().zip(lengths).map(|(&start, &length)| Span { start, length })
    }

    /// The number of keys or values.
    #[inline]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether the block has no records.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The number of bytes of all of them.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The number of nulls.
    pub fn nulls(&self) -> usize {
        self.nulls
    }

    /// Sets a range whose length is still zig-zag encoded.
    #[inline]
    pub(super) fn set(&mut self, index: usize, start: u32, length: u32) {
        self.starts[index] = start;
        self.lengths[index] = length;
    }

    /// Replaces the first `count` lengths, which are zig-zag encoded, by themselves and counts them. A vectorized loop over all
    /// of them is faster than the same for each record when it is read.
    pub(super) fn decode(&mut self, count: usize) {
        // Lengths of 20 bits in a block add up to fewer than 2^28 bytes.
        let (mut bytes, mut nulls) = (0_u32, 0_u32);
        for length in &mut self.lengths[..count] {
            let (half, sign) = (*length >> 1, *length & 1);
            let mask = sign.wrapping_neg();
            bytes = bytes.wrapping_add(half & !mask);
            nulls = nulls.wrapping_add(sign);
            *length = half | mask;
        }
        (self.count, self.bytes, self.nulls) = (count, bytes as usize, nulls as usize);
    }
}

/// The fields of consecutive records without headers; see the module. [`V2Records::fill`](super::v2::V2Records::fill) replaces
/// them by those of the next records.
#[derive(Debug)]
pub struct RecordBlock {
    offset_deltas: [i32; BLOCK_RECORDS],
    timestamp_deltas: [i32; BLOCK_RECORDS],
    keys: Spans,
    values: Spans,
}

impl Default for RecordBlock {
    fn default() -> Self {
        let zeros = [0; BLOCK_RECORDS];
        Self { offset_deltas: zeros, timestamp_deltas: zeros, keys: Spans::new(), values: Spans::new() }
    }
}

impl RecordBlock {
    /// The number of records.
    pub fn len(&self) -> usize {
        self.keys.count
    }

    /// Whether the block has no records.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The offsets, relative to the base offset of the batch.
    pub fn offset_deltas(&self) -> &[i32] {
        &self.offset_deltas[..self.len()]
    }

    /// The timestamps in ms, relative to the base timestamp of the batch.
    pub fn timestamp_deltas(&self) -> &[i32] {
        &self.timestamp_deltas[..self.len()]
    }

    /// The keys, spans of [`V2Records::payload`](super::v2::V2Records::payload).
    pub fn keys(&self) -> &Spans {
        &self.keys
    }

    /// The values, spans of the same payload.
    pub fn values(&self) -> &Spans {
        &self.values
    }

    /// Replaces the records by at most `most` records of `payload` from `start` on, up to the first that is no [`CommonRecord`];
    /// returns where they end.
    #[inline]
    pub(super) fn fill(&mut self, most: usize, payload: &[u8], start: usize) -> usize {
        let (mut count, mut at, most) = (0_usize, start, most.min(BLOCK_RECORDS));
        while count < most {
            let Some(record) = CommonRecord::read(payload, at) else { break };
            self.offset_deltas[count] = record.offset_delta as i32;
            self.timestamp_deltas[count] = record.timestamp_delta as i32;
            // The payload of a batch has fewer than 2^31 bytes.
            self.keys.set(count, record.key_start as u32, record.key_length);
            self.values.set(count, record.value_start as u32, record.value_length);
            at = record.end;
            count = count.wrapping_add(1);
        }
        self.keys.decode(count);
        self.values.decode(count);
        for deltas in [&mut self.offset_deltas, &mut self.timestamp_deltas] {
            for delta in &mut deltas[..count] {
                *delta = zig_zag(*delta as u32);
            }
        }
        at
    }
}
