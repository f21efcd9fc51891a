//! Finding the next good batch behind a damaged one.
//!
//! First the place where the damaged batch says that it ends: then only that batch is lost. Otherwise
//! every byte, until a batch stands there whose checksum is right.

use super::chunk::ChunkError;
use super::source::{ReadAt, read_full, read_part};
use crate::record::batch::HEADER_SIZE_UP_TO_MAGIC;
use crate::record::{BatchHead, RecordBatch};

/// How much is looked at at once.
const WINDOW: usize = 1 << 20;

/// Finds the position of the first sound batch after the damaged one at `position`, or `end` when the rest
/// of the segment has none. Zeros up to `end` count as the end.
///
/// # Errors
/// [`ChunkError`] when the bytes cannot be read.
pub fn next_sound_batch(source: &dyn ReadAt, position: u64, end: u64) -> Result<u64, ChunkError> {
    let mut scratch = Vec::new();
    if let Some(head) = head_at(source, position, end)? {
        let next = position.saturating_add(head.size_in_bytes() as u64);
        if next == end || (next < end && is_sound(source, next, end, &mut scratch)?) {
            return Ok(next);
        }
    }
    let mut window = Vec::new();
    let mut at = position.saturating_add(1);
    while at < end {
        let size = end.saturating_sub(at).min(WINDOW as u64) as usize;
        let seen = read_part(source, at, size, &mut window)?;
        if seen.len() < HEADER_SIZE_UP_TO_MAGIC {
            break;
        }
        for (offset, head) in seen.windows(HEADER_SIZE_UP_TO_MAGIC).enumerate() {
            let candidate = at.saturating_add(offset as u64);
            if plausible(head, candidate, end) && is_sound(source, candidate, end, &mut scratch)? {
                return Ok(candidate);
            }
        }
        at = at.saturating_add(seen.len().saturating_sub(HEADER_SIZE_UP_TO_MAGIC - 1) as u64);
    }
    Ok(end)
}

fn plausible(head: &[u8], position: u64, end: u64) -> bool {
    match BatchHead::read(head, position) {
        Ok(Some(head)) => {
            head.offset >= 0
                && head.check_minimum(position).is_ok()
                && position.saturating_add(head.size_in_bytes() as u64) <= end
        }
        _ => false,
    }
}

fn head_at(source: &dyn ReadAt, position: u64, end: u64) -> Result<Option<BatchHead>, ChunkError> {
    let mut head = [0_u8; HEADER_SIZE_UP_TO_MAGIC];
    let read = read_full(source, &mut head, position)?;
    let head = head.get(..read).unwrap_or_default();
    Ok(BatchHead::read(head, position).ok().flatten().filter(|_| plausible(head, position, end)))
}

fn is_sound(source: &dyn ReadAt, position: u64, end: u64, scratch: &mut Vec<u8>) -> Result<bool, ChunkError> {
    let Some(head) = head_at(source, position, end)? else { return Ok(false) };
    let data = read_part(source, position, head.size_in_bytes(), scratch)?;
    Ok(data.len() == head.size_in_bytes() && RecordBatch::new(data, position).is_ok_and(|batch| batch.is_valid()))
}
