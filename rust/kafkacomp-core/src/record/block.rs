//! Several records of a batch of magic 2, field by field, for building columns: arrays of numbers that a vectorized loop can
//! convert, and keys and values as spans of the payload.

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
    /// The content of a block before it is filled.
    const NULL: Self = Self { start: 0, length: NULL };

    /// A key or value of `length` bytes at `start`; `None` is null.
    #[inline]
    pub(super) fn new(start: usize, length: Option<u32>) -> Self {
        Self { start: start as u32, length: length.unwrap_or(NULL) }
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
    all: [Span; BLOCK_RECORDS],
    count: usize,
    bytes: usize,
    nulls: usize,
}

impl Spans {
    const fn new() -> Self {
        Self { all: [Span::NULL; BLOCK_RECORDS], count: 0, bytes: 0, nulls: 0 }
    }

    /// The ranges in the payload.
    pub fn as_slice(&self) -> &[Span] {
        &self.all[..self.count]
    }

    /// The number of bytes of all of them.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The number of nulls.
    pub fn nulls(&self) -> usize {
        self.nulls
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

    /// Replaces the records by at most `most` new ones, as long as `next` returns one: its deltas of offset and timestamp, its
    /// key and its value.
    #[inline]
    pub(super) fn fill(&mut self, most: usize, mut next: impl FnMut() -> Option<(i32, i32, Span, Span)>) {
        let (mut count, mut bytes, mut nulls) = (0_usize, [0_usize; 2], [0_usize; 2]);
        let deltas = self.offset_deltas.iter_mut().zip(&mut self.timestamp_deltas);
        let spans = self.keys.all.iter_mut().zip(&mut self.values.all);
        for ((offset_delta, timestamp_delta), (key, value)) in deltas.zip(spans).take(most) {
            let Some(record) = next() else { break };
            (*offset_delta, *timestamp_delta, *key, *value) = record;
            count = count.wrapping_add(1);
            bytes = [bytes[0].wrapping_add(key.len()), bytes[1].wrapping_add(value.len())];
            nulls = [nulls[0] + usize::from(key.is_null()), nulls[1] + usize::from(value.is_null())];
        }
        (self.keys.count, self.keys.bytes, self.keys.nulls) = (count, bytes[0], nulls[0]);
        (self.values.count, self.values.bytes, self.values.nulls) = (count, bytes[1], nulls[1]);
    }
}
