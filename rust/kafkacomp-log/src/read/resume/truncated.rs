//! Whether the end of a source truncates its last batch.
//!
//! The end of a fetch response does. That is not corruption, if no batch after the header of the last one counts by the rules of
//! [`super`]. After a truncated batch whose header can be right, only positions are examined at which an offset close to its own
//! is: in an intact response, the search computes no checksum, and takes about as long as `memchr`.

use memchr::memchr_iter;
use memchr::memmem::Finder;

use super::super::candidate::{BatchLayout, Claim, Layout};
use super::super::resync::{PIECE, Resync};
use super::super::source::{InMemory, ReadAt};
use super::{Before, Judge};
use crate::error::ReadError;
use kafkacomp_records::record::batch::{MAGIC_OFFSET, SIZE_OFFSET};
use kafkacomp_records::record::layout::v0_v1::RECORD_OVERHEAD_V0;
use kafkacomp_records::record::{Batches, Error, RecordBatch, Tail};

/// The number of bytes of an offset that are the same in batches near one another.
const PREFIX: usize = 5;
/// The number of offsets after a batch in which the last offset of the next one is expected.
const FEW_OFFSETS: i64 = 1 << 16;
/// The number of positions that are examined at once.
const BLOCK: usize = 128;

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
            let mut from = position.saturating_add(1);
            // The checksum of the truncated batch is computed again.
            judge.corrupt = self.corrupt(source, position, judge)?;
            while let Some((start, claim)) = self.find(source, from, found, prefix)? {
                from = start.saturating_add(1);
                if self.is_after_wrong_size(source, start, &claim, judge)? {
                    found = start;
                }
            }
        }
        Ok(found)
    }

    /// The first position in `[from, to)` at which the header of a batch with these first bytes of its offset may be.
    fn find(
        &mut self,
        source: &dyn ReadAt,
        from: u64,
        to: u64,
        prefix: [u8; PREFIX],
    ) -> Result<Option<(u64, Claim)>, ReadError> {
        let finder = Finder::new(&prefix);
        let mut at = from;
        while at < to {
            let loaded = at.saturating_add(PIECE).min(self.end);
            self.window.load(source, at, loaded, self.end)?;
            let data = self.window.slice(source, at, loaded);
            let mut index = 0;
            while let Some(next) = data.get(index..).and_then(|rest| finder.find(rest)) {
                index = index.saturating_add(next);
                let rest = data.get(index..).unwrap_or_default();
                for offset in memchr_iter(0, &ruled_out(rest, prefix)) {
                    let start = at.saturating_add(index.saturating_add(offset) as u64);
                    let header = rest.get(offset..).unwrap_or_default();
                    // In the next piece, all of the header is there.
                    if start >= to || (header.len() < F::HEADER && loaded < self.end) {
                        break;
                    }
                    if let Some(claim) = F::claim(header.get(..F::HEADER).unwrap_or(header)) {
                        return Ok(Some((start, claim)));
                    }
                }
                index = index.saturating_add(BLOCK);
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

/// For each of the first positions of `data`, 0 if a batch with these first bytes of its offset may begin there, judged by its size and
/// its magic. Values may be full of such bytes, as those of integers and low offsets are zeros, so that many positions are examined at
/// once, by the vector instructions that the compiler makes of this.
fn ruled_out(data: &[u8], prefix: [u8; PREFIX]) -> [u8; BLOCK] {
    let mut block = [0; BLOCK + MAGIC_OFFSET];
    let length = data.len().min(block.len());
    block[..length].copy_from_slice(&data[..length]);
    let [first, second, third, fourth, fifth] = prefix;
    let mut found = [0; BLOCK];
    for (at, found) in found.iter_mut().enumerate() {
        let start = (block[at] ^ first) | (block[at + 1] ^ second) | (block[at + 2] ^ third);
        let other = start | (block[at + 3] ^ fourth) | (block[at + 4] ^ fifth);
        let size = at + SIZE_OFFSET;
        let low = block[size + 3].saturating_sub(RECORD_OVERHEAD_V0 as u8 - 1);
        let is_too_small = 1_u8.saturating_sub(block[size] | block[size + 1] | block[size + 2] | low);
        *found = other | is_too_small | block[at + MAGIC_OFFSET].saturating_sub(2);
    }
    found
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
