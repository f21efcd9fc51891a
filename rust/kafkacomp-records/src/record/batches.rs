//! The batches of a buffer.
//!
//! A record set has neither a count nor an end mark: batches follow one another until the bytes end. The bytes after the last
//! whole batch are a [`Tail`]: nothing, a truncated batch (Kafka truncates the answer to a fetch at any byte), or zeros (a
//! preallocated file).

use super::batch::{BatchHead, HEADER_SIZE_UP_TO_MAGIC, LOG_OVERHEAD, MAGIC_OFFSET, RecordBatch, SIZE_OFFSET};
use super::error::{Error, Result};
use super::layout::v2::RECORD_BATCH_OVERHEAD;
use crate::bytes::WithHeader;

/// [`LOG_OVERHEAD`] as a number of remaining bytes.
const LOG_OVERHEAD_BYTES: u64 = LOG_OVERHEAD as u64;

/// What follows the last whole batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tail {
    /// Nothing.
    End,
    /// A truncated batch.
    Partial {
        /// Where it begins.
        position: u64,
        /// Bytes that are available.
        available: u64,
        /// Bytes of the whole batch; if its size is missing too, the bytes needed to read it.
        needed: u64,
    },
    /// Zero bytes up to the end.
    Zeros {
        /// Where they begin.
        position: u64,
        /// The number of bytes.
        length: u64,
    },
}

/// Iterates over the batches of a buffer. An error is the last item.
#[derive(Debug, Clone)]
pub struct Batches<'a> {
    rest: &'a [u8],
    position: u64,
    tail: Option<Tail>,
}

impl<'a> Batches<'a> {
    /// The batches of `data`, whose first byte is at `position` of the file or buffer that errors name.
    pub fn new(data: &'a [u8], position: u64) -> Self {
        Self { rest: data, position, tail: None }
    }

    /// Where the next batch begins; after the iteration, where it stopped.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// The bytes from the next batch on.
    #[inline]
    pub(super) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// What ended the iteration; `None` before the end and after an error.
    pub fn tail(&self) -> Option<Tail> {
        self.tail
    }

    /// The next batch if it is complete and of magic 2, as nearly all are, and the bytes after it.
    #[inline]
    pub(super) fn peek(&self) -> Option<(RecordBatch<'a>, &'a [u8])> {
        let front = WithHeader::<RECORD_BATCH_OVERHEAD>::new(self.rest)?;
        let size = usize::try_from(front.i32::<SIZE_OFFSET>()).ok().filter(|_| front.i8::<MAGIC_OFFSET>() == 2)?;
        let size = size.wrapping_add(LOG_OVERHEAD);
        let (data, rest) = self.rest.split_at_checked(size)?;
        RecordBatch::v2(data, self.position).map(|batch| (batch, rest))
    }

    /// Continues with `rest` after the batch that [`peek`](Self::peek) returned.
    #[inline]
    pub(super) fn skip_to(&mut self, batch: &RecordBatch<'a>, rest: &'a [u8]) {
        self.rest = rest;
        self.position = self.position.saturating_add(batch.size_in_bytes() as u64);
    }

    fn any_batch(&mut self) -> Result<Option<RecordBatch<'a>>> {
        let position = self.position;
        let available = self.rest.len() as u64;
        let head = match BatchHead::read(self.rest, position) {
            Err(Error::SizeTooSmall { .. }) if self.rest.iter().all(|&byte| byte == 0) => {
                self.tail = Some(Tail::Zeros { position, length: available });
                return Ok(None);
            }
            other => other?,
        };
        let Some(head) = head else {
            self.tail = Some(match available {
                0 => Tail::End,
                // Fewer zeros than offset and size have may also be the first bytes of an offset.
                LOG_OVERHEAD_BYTES.. if self.rest.iter().all(|&byte| byte == 0) => {
                    Tail::Zeros { position, length: available }
                }
                _ => Tail::Partial { position, available, needed: HEADER_SIZE_UP_TO_MAGIC as u64 },
            });
            return Ok(None);
        };
        let needed = head.size_in_bytes();
        let Some((data, rest)) = self.rest.split_at_checked(needed) else {
            self.tail = Some(Tail::Partial { position, available, needed: needed as u64 });
            return Ok(None);
        };
        let batch = RecordBatch::of_head(&head, data, position)?;
        self.rest = rest;
        self.position = position.saturating_add(needed as u64);
        Ok(Some(batch))
    }
}

impl<'a> Iterator for Batches<'a> {
    type Item = Result<RecordBatch<'a>>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let Some((batch, rest)) = self.peek() else { return self.any_other() };
        self.skip_to(&batch, rest);
        Some(Ok(batch))
    }
}

impl<'a> Batches<'a> {
    /// The next batch if it is truncated or not of magic 2.
    fn any_other(&mut self) -> Option<Result<RecordBatch<'a>>> {
        if self.tail.is_some() {
            return None;
        }
        let batch = self.any_batch().transpose();
        if matches!(batch, Some(Err(_))) {
            self.rest = &[];
        }
        batch
    }
}

/// Iterates over bytes that are whole batches, as a reader of chunks returns them. Bytes after the last whole batch are ignored.
#[derive(Debug, Clone)]
pub struct WholeBatches<'a>(Batches<'a>);

impl<'a> Batches<'a> {
    /// The batches of `data`, which were found to be whole before.
    pub fn whole(data: &'a [u8], position: u64) -> WholeBatches<'a> {
        WholeBatches(Self::new(data, position))
    }
}

impl<'a> Iterator for WholeBatches<'a> {
    type Item = RecordBatch<'a>;

    #[inline]
    fn next(&mut self) -> Option<RecordBatch<'a>> {
        self.0.next()?.ok()
    }
}
