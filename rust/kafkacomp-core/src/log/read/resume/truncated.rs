//! Whether the end of a source truncates its last batch.
//!
//! The end of a fetch response does. That is not corruption, if no batch after the header of the last one counts by the rules of
//! [`super`]. After a truncated batch whose header can be right, only positions are examined at which an offset close to its own
//! is: in an intact response, the search computes no checksum, and takes about as long as `memchr`.

use memchr::memmem::Finder;

use super::super::candidate::{BatchLayout, Layout};
use super::super::resync::{PIECE, Resync};
use super::super::source::{InMemory, ReadAt};
use super::super::window::leading_zeros;
use super::{Before, Judge};
use crate::log::error::ReadError;
use crate::record::{Batches, Error, RecordBatch, Tail};

/// The number of bytes of an offset that are the same in batches near one another.
const PREFIX: usize = 5;
/// The number of offsets after a batch in which the last offset of the next one is expected.
const FEW_OFFSETS: i64 = 1 << 16;

impl<F: Layout> Resync<F> {
    /// Where the log continues after the batch at `position`, which the end of the source may truncate; the end if it does. Only a
    /// batch with an offset close to those of the truncated one can continue the log, so that few bytes are examined.
    pub(super) fn after_truncated(
        &mut self,
        source: &dyn ReadAt,
        position: u64,
        judge: &mut Judge,
    ) -> Result<u64, ReadError> {
        let Some(stated) = judge.corrupt.as_ref().map(|corrupt| corrupt.claim) else { return Ok(self.end) };
        let next = stated.last.saturating_add(1);
        let offsets = [Some(next), next.checked_add(FEW_OFFSETS), Some(stated.least()), judge.expected()];
        let mut searched: Vec<[u8; PREFIX]> = Vec::new();
        let mut found = self.end;
        for offset in offsets.into_iter().flatten() {
            let [prefix @ .., _, _, _] = offset.to_be_bytes();
            if searched.contains(&prefix) {
                continue;
            }
            searched.push(prefix);
            let finder = Finder::new(&prefix);
            let mut from = position.saturating_add(1);
            // The checksum of the truncated batch is computed again.
            judge.corrupt = self.corrupt(source, position, judge)?;
            while let Some(start) = self.find(source, from, found, &finder)? {
                from = start.saturating_add(1);
                if let Some(claim) = F::claim(&self.header(source, start)?)
                    && self.is_after_wrong_size(source, start, &claim, judge)?
                {
                    found = start;
                }
            }
        }
        Ok(found)
    }

    /// The first position in `[from, to)` at which a batch may begin, judged by its magic, its size and the first bytes of its
    /// offset.
    fn find(&mut self, source: &dyn ReadAt, from: u64, to: u64, prefix: &Finder<'_>) -> Result<Option<u64>, ReadError> {
        let mut at = from;
        while at < to {
            let loaded = at.saturating_add(PIECE).min(self.end);
            self.window.load(source, at, loaded, self.end)?;
            let data = self.window.slice(source, at, loaded);
            let mut index = 0;
            while let Some(next) = prefix.find(&data[index..]) {
                index = index.saturating_add(next);
                let start = at.saturating_add(index as u64);
                if start >= to {
                    return Ok(None);
                }
                // No batch begins where its size would be zero.
                let zeros = data.get(index.saturating_add(F::SIZE.0)..).map_or(0, leading_zeros);
                if zeros >= F::SIZE.1 - F::SIZE.0 {
                    index = index.saturating_add(zeros.saturating_sub(F::SIZE.1 - F::SIZE.0));
                } else if F::hint(data, index, index.saturating_add(1), u64::MAX).is_some() {
                    return Ok(Some(start));
                }
                index = index.saturating_add(1);
            }
            if loaded == self.end {
                break;
            }
            // A header may begin in this piece and end in the next one.
            at = loaded.saturating_sub(F::HEADER as u64);
        }
        Ok(None)
    }
}

/// Checks that the end of a record set only truncates its last batch. `data` begin at the position `origin`, `tail` is what follows
/// its last complete batch, and `before` is that batch.
///
/// # Errors
/// [`Error::IncompleteBatch`] if the log continues after the incomplete batch, so that its size is wrong.
pub fn ensure_truncated(
    data: &[u8],
    origin: u64,
    tail: Option<Tail>,
    before: Option<&RecordBatch<'_>>,
) -> Result<(), Error> {
    let Some(Tail::Partial { position, available, needed }) = tail else { return Ok(()) };
    let (at, end) = (position.saturating_sub(origin), data.len() as u64);
    let mut search = Resync::<BatchLayout>::new(at, end);
    match search.resume(&InMemory(data), at, before.map(Before::of), true) {
        Ok(next) if next < end => Err(Error::IncompleteBatch { position, available, needed }),
        // Bytes in memory can be read.
        Ok(_) | Err(_) => Ok(()),
    }
}

/// [`ensure_truncated`] for all batches of `data`.
///
/// # Errors
/// As there; a batch that is otherwise corrupt is not an error here.
pub fn ensure_truncated_set(data: &[u8]) -> Result<(), Error> {
    let mut batches = Batches::new(data, 0);
    let last = batches.by_ref().map_while(Result::ok).last();
    ensure_truncated(data, 0, batches.tail(), last.as_ref())
}
