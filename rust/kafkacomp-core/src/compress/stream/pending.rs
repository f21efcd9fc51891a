//! Bytes on their way: what a stream has made and not yet handed out, and what it has taken and cannot use
//! yet.

use crate::memory::{self, OutOfMemory};

/// Output that waits for room.
#[derive(Debug, Default)]
pub(in super::super) struct Pending {
    bytes: Vec<u8>,
    position: usize,
}

impl Pending {
    /// Whether nothing waits.
    pub(in super::super) fn is_empty(&self) -> bool {
        self.position == self.bytes.len()
    }

    /// Drops what waits.
    pub(in super::super) fn clear(&mut self) {
        self.bytes.clear();
        self.position = 0;
    }

    /// Where more output is appended to.
    pub(in super::super) fn bytes(&mut self) -> &mut Vec<u8> {
        if self.is_empty() {
            self.clear();
        }
        &mut self.bytes
    }

    /// Moves as much as there is room for and says how much that was.
    pub(in super::super) fn drain(&mut self, output: &mut [u8]) -> usize {
        let length = copy(self.bytes.split_at(self.position).1, output);
        self.position += length;
        length
    }
}

/// Copies as much as fits from the front of `from` to the front of `to` and says how much that was.
pub(in super::super) fn copy(from: &[u8], to: &mut [u8]) -> usize {
    let length = from.len().min(to.len());
    if let (Some(from), Some(to)) = (from.get(..length), to.get_mut(..length)) {
        to.copy_from_slice(from);
    }
    length
}

/// Moves bytes from the front of `input` to `buffer` until that has `want` bytes. `true` when it has them.
///
/// # Errors
/// The buffer cannot grow; nothing is moved then.
pub(in super::super) fn gather(buffer: &mut Vec<u8>, want: usize, input: &mut &[u8]) -> Result<bool, OutOfMemory> {
    let (taken, rest) = input.split_at(want.saturating_sub(buffer.len()).min(input.len()));
    memory::append(buffer, taken)?;
    *input = rest;
    Ok(buffer.len() >= want)
}
