//! The buffers that the views of an Arrow batch refer to.
//!
//! A view refers to its value in the chunk of the segment, or, if its Kafka batch is compressed, in the decompressed bytes.
//! Both are buffers with a reference count, which return to the pool when the consumer has freed the last batch that refers to
//! them.
//!
//! If an Arrow batch uses only a small part of a buffer, few rows would retain much memory. Therefore a buffer larger than
//! [`MOST_PINNED`] times the rows that refer to it is not retained: their values are copied, and the buffer is released.

use std::sync::Arc;

use arrow_array::builder::make_view;
use arrow_buffer::Buffer;
use kafkacomp_records::memory::{self, OutOfMemory};
use kafkacomp_records::record::Spans;

use crate::columns::pool::BufferPool;

/// The largest size of a retained buffer, as a multiple of the bytes of its rows.
pub const MOST_PINNED: usize = 4;

/// Values up to this size are part of their view: Arrow's format.
pub const MOST_INLINE: usize = 12;

/// The end of the last value in a buffer: Arrow's format has offsets of 32 bits with a sign.
const MOST_OFFSET: usize = i32::MAX as usize;

/// A buffer and the memory that it retains.
#[derive(Debug, Clone)]
pub struct SharedBytes {
    /// The bytes.
    pub bytes: Buffer,
    /// The memory that is retained as long as the bytes are used.
    pub pinned: usize,
}

/// Where the values of a Kafka batch are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// In the chunk.
    Chunk,
    /// In the decompressed bytes.
    Decompressed,
}

/// A buffer that rows of the current Arrow batch may refer to.
#[derive(Debug, Default)]
struct Source {
    /// The buffer; `None` while decompressed bytes are still added.
    buffer: Option<SharedBytes>,
    /// Its index, if rows may refer to it.
    index: Option<u32>,
    /// The lengths of the columns when it got the index.
    first: [usize; COLUMNS],
    /// The bytes of the rows that refer to it.
    used: usize,
}

/// Columns with views: keys, values and header values.
pub const COLUMNS: usize = 3;

/// The Kafka batch whose rows are appended.
#[derive(Debug, Clone, Copy)]
struct Payload {
    origin: Origin,
    /// The address of its bytes; views have the distance from it.
    address: usize,
    length: usize,
    /// The offset of its bytes in the buffer.
    offset: usize,
    /// [`Source::index`].
    index: u32,
    /// Bytes of column data before the batch.
    bytes_before: usize,
}

/// No bytes: every value is copied.
const NO_PAYLOAD: Payload =
    Payload { origin: Origin::Chunk, address: 0, length: 0, offset: 0, index: 0, bytes_before: 0 };

/// The buffers of an Arrow batch; see the module.
#[derive(Debug)]
pub struct ViewBuffers {
    pool: Arc<BufferPool>,
    /// The buffers by index; those that are not complete yet are empty.
    buffers: Vec<Buffer>,
    pinned: usize,
    chunk: Source,
    decompressed: Source,
    /// The Kafka batch whose rows are appended, while `is_open`.
    current: Payload,
    is_open: bool,
    /// Values that are in no source, or in one that is not retained.
    copies: Vec<u8>,
    copies_index: Option<u32>,
}

impl ViewBuffers {
    /// No buffers yet.
    pub fn new(pool: &Arc<BufferPool>) -> Self {
        Self {
            pool: Arc::clone(pool),
            buffers: Vec::new(),
            pinned: 0,
            chunk: Source::default(),
            decompressed: Source::default(),
            current: NO_PAYLOAD,
            is_open: false,
            copies: Vec::new(),
            copies_index: None,
        }
    }

    /// The memory of the buffers that the current Arrow batch certainly retains.
    pub fn pinned(&self) -> usize {
        self.pinned
    }

    /// Sets the buffer of an origin: the chunk that is read, or the decompressed bytes when they are complete.
    pub fn set_buffer(&mut self, origin: Origin, buffer: SharedBytes) {
        self.source(origin).buffer = Some(buffer);
    }

    /// The buffer of an origin, if it is known.
    pub fn buffer(&self, origin: Origin) -> Option<SharedBytes> {
        match origin {
            Origin::Chunk => self.chunk.buffer.clone(),
            Origin::Decompressed => self.decompressed.buffer.clone(),
        }
    }

    /// Whether rows refer to decompressed bytes whose buffer is not known yet.
    pub fn awaits_decompressed(&self) -> bool {
        self.decompressed.index.is_some() && self.decompressed.buffer.is_none()
    }

    #[inline]
    fn source(&mut self, origin: Origin) -> &mut Source {
        match origin {
            Origin::Chunk => &mut self.chunk,
            Origin::Decompressed => &mut self.decompressed,
        }
    }

    /// Sets that the values of the following rows are in `bytes`, which begin at `offset` of the buffer of `origin`. `lengths`
    /// are the lengths of the columns, `bytes_before` their bytes.
    pub fn begin(
        &mut self,
        origin: Origin,
        bytes: &[u8],
        offset: usize,
        lengths: [usize; COLUMNS],
        bytes_before: usize,
    ) {
        self.begin_at(origin, (bytes.as_ptr().addr(), bytes.len()), offset, lengths, bytes_before);
    }

    /// Sets that the values of the following rows are in the chunk.
    #[inline]
    pub fn begin_chunk(&mut self, lengths: [usize; COLUMNS], bytes_before: usize) {
        if let Some(SharedBytes { bytes, .. }) = &self.chunk.buffer {
            let place = (bytes.as_ptr().addr(), bytes.len());
            self.begin_at(Origin::Chunk, place, 0, lengths, bytes_before);
        }
    }

    #[inline]
    fn begin_at(
        &mut self,
        origin: Origin,
        (address, length): (usize, usize),
        offset: usize,
        lengths: [usize; COLUMNS],
        bytes_before: usize,
    ) {
        let next = self.buffers.len() as u32;
        let source = self.source(origin);
        let index = if let Some(index) = source.index {
            index
        } else {
            (source.index, source.first, source.used) = (Some(next), lengths, 0);
            self.buffers.push(Buffer::default());
            next
        };
        let length = length.min(MOST_OFFSET.saturating_sub(offset));
        self.current = Payload { origin, address, length, offset, index, bytes_before };
        self.is_open = true;
    }

    /// Ends the Kafka batch, whose rows have been appended; the columns have `bytes` now.
    #[inline]
    pub fn end(&mut self, bytes: usize) {
        if std::mem::take(&mut self.is_open) {
            let Payload { origin, bytes_before, .. } = self.current;
            self.source(origin).used += bytes.saturating_sub(bytes_before);
        }
        // Every value is copied.
        self.current.length = 0;
    }

    /// The view of a value.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "the hot loop; two callers")]
    pub fn view(&mut self, value: &[u8]) -> Result<u128, OutOfMemory> {
        let Some(long) = LongValue::new(value) else { return Ok(make_view(value, 0, 0)) };
        let at = value.as_ptr().addr().wrapping_sub(self.current.address);
        if at < self.current.length && value.len() <= self.current.length - at {
            return Ok(long.view(self.current.index, (self.current.offset + at) as u32));
        }
        self.copy(value)
    }

    /// Appends the views of the values in `payload` that `spans` refer to, 0 for null. A copy that fails is noted in
    /// `out_of_memory`.
    pub fn extend(
        &mut self,
        views: &mut Vec<u128>,
        spans: &Spans,
        payload: &[u8],
        out_of_memory: &mut Option<OutOfMemory>,
    ) {
        let Payload { address, length, offset, index, .. } = self.current;
        let at = payload.as_ptr().addr().wrapping_sub(address);
        if at > length || payload.len() > length - at {
            views.extend(spans.iter().map(|span| {
                self.view(span.bytes(payload)).unwrap_or_else(|error| {
                    *out_of_memory = Some(error);
                    0
                })
            }));
            return;
        }
        let first = (offset + at) as u32;
        views.extend(spans.iter().map(|span| {
            let value = span.bytes(payload);
            match LongValue::new(value) {
                Some(long) => long.view(index, first.wrapping_add(span.start() as u32)),
                None => inline_view(value, payload, span.start()),
            }
        }));
    }

    /// The view of a copy of a value.
    #[cold]
    fn copy(&mut self, value: &[u8]) -> Result<u128, OutOfMemory> {
        let index = if let Some(index) = self.copies_index {
            index
        } else {
            let index = self.buffers.len() as u32;
            self.buffers.push(Buffer::default());
            *self.copies_index.insert(index)
        };
        let offset = self.copies.len();
        memory::append(&mut self.copies, value)?;
        Ok(make_view(value, index, offset as u32))
    }

    /// Ends the source of `origin`: no further rows of the current Arrow batch refer to it. If its memory is too large for the
    /// rows that do, their values are copied; `columns` are the views of all columns.
    pub fn settle(&mut self, origin: Origin, columns: [&mut [u128]; COLUMNS]) -> Result<(), OutOfMemory> {
        let source = self.source(origin);
        let Source { index: Some(index), first, used, .. } = *source else { return Ok(()) };
        source.index = None;
        let Some(SharedBytes { bytes, pinned }) = source.buffer.clone() else { return Ok(()) };
        if pinned <= used.saturating_mul(MOST_PINNED) {
            if let Some(slot) = self.buffers.get_mut(index as usize) {
                *slot = bytes;
            }
            self.pinned += pinned;
            return Ok(());
        }
        for (views, from) in columns.into_iter().zip(first) {
            for view in &mut views[from..] {
                if let Some(value) = value_in(*view, index, &bytes) {
                    *view = self.copy(value)?;
                }
            }
        }
        if self.buffers.len() == index as usize + 1 {
            self.buffers.pop();
        }
        Ok(())
    }

    /// Drops the buffer of `origin`.
    pub fn release(&mut self, origin: Origin) {
        *self.source(origin) = Source::default();
    }

    /// The buffers of the finished Arrow batch. All sources must be settled.
    pub fn finish(&mut self) -> Vec<Buffer> {
        if let Some(index) = self.copies_index.take()
            && let Some(slot) = self.buffers.get_mut(index as usize)
        {
            *slot = self.pool.lend(std::mem::take(&mut self.copies));
        }
        self.copies.clear();
        self.pinned = 0;
        std::mem::take(&mut self.buffers)
    }

    /// Continues the Kafka batch in the next Arrow batch, after [`finish`](Self::finish).
    pub fn resume(&mut self, payload: Option<(Origin, usize, usize, usize)>) {
        let Some((origin, address, length, offset)) = payload else { return };
        let index = self.buffers.len() as u32;
        self.buffers.push(Buffer::default());
        let source = self.source(origin);
        (source.index, source.first, source.used) = (Some(index), [0; COLUMNS], 0);
        self.current = Payload { origin, address, length, offset, index, bytes_before: 0 };
        self.is_open = true;
    }

    /// The argument for [`resume`](Self::resume), if a Kafka batch is not complete.
    pub fn unfinished(&self) -> Option<(Origin, usize, usize, usize)> {
        let Payload { origin, address, length, offset, .. } = self.current;
        self.is_open.then_some((origin, address, length, offset))
    }
}

/// The length and the first bytes of a value that is too long to be in its view.
struct LongValue {
    length: usize,
    prefix: [u8; 4],
}

impl LongValue {
    /// `None` for a value of at most [`MOST_INLINE`] bytes.
    #[inline]
    fn new(value: &[u8]) -> Option<Self> {
        let prefix = *value.first_chunk()?;
        (value.len() > MOST_INLINE).then_some(Self { length: value.len(), prefix })
    }

    /// The view of a value at `offset` of a buffer. Arrow's function for both kinds of views is not inlined.
    #[inline]
    fn view(&self, index: u32, offset: u32) -> u128 {
        let prefix = u32::from_le_bytes(self.prefix);
        self.length as u128 | u128::from(prefix) << 32 | u128::from(index) << 64 | u128::from(offset) << 96
    }
}

/// The view of a value of at most [`MOST_INLINE`] bytes that begins at `start` of `payload`.
#[inline]
fn inline_view(value: &[u8], payload: &[u8], start: usize) -> u128 {
    let word = payload.get(start..).and_then(<[u8]>::first_chunk);
    let Some(word) = word else { return make_view(value, 0, 0) };
    let mask = (1_u128 << (8 * value.len().min(MOST_INLINE))) - 1;
    (u128::from_le_bytes(*word) & mask) << 32 | value.len() as u128
}

/// The value of a view, if it is in the buffer with this index.
fn value_in(view: u128, index: u32, buffer: &[u8]) -> Option<&[u8]> {
    let (length, offset) = (view as u32 as usize, (view >> 96) as u32 as usize);
    if length <= MOST_INLINE || (view >> 64) as u32 != index {
        return None;
    }
    buffer.get(offset..offset.saturating_add(length))
}
