//! Buffers of streams: output that is not returned yet, and input that is incomplete.

use crate::memory::{self, OutOfMemory};

/// Output that is not returned yet.
#[derive(Debug, Default)]
pub(in super::super) struct Pending {
    bytes: Vec<u8>,
    position: usize,
}

impl Pending {
    /// Whether all output was returned.
    pub(in super::super) fn is_empty(&self) -> bool {
        self.position == self.bytes.len()
    }

    /// Discards the output.
    pub(in super::super) fn clear(&mut self) {
        self.bytes.clear();
        self.position = 0;
    }

    /// The buffer to which output is appended.
    pub(in super::super) fn bytes(&mut self) -> &mut Vec<u8> {
        if self.is_empty() {
            self.clear();
        }
        &mut self.bytes
    }

    /// Moves as many bytes as fit, and returns their number.
    pub(in super::super) fn drain(&mut self, output: &mut [u8]) -> usize {
        let length = copy(self.bytes.split_at(self.position).1, output);
        self.position += length;
        length
    }
}

/// Copies as many bytes as fit from the beginning of `from` to the beginning of `to`, and returns their number.
pub(in super::super) fn copy(from: &[u8], to: &mut [u8]) -> usize {
    let length = from.len().min(to.len());
    if let (Some(from), Some(to)) = (from.get(..length), to.get_mut(..length)) {
        to.copy_from_slice(from);
    }
    length
}

/// Moves bytes from the front of `input` to `buffer` until it has `want` bytes; returns whether it has them.
///
/// # Errors
/// The buffer cannot grow. No bytes are moved then.
pub(in super::super) fn gather(buffer: &mut Vec<u8>, want: usize, input: &mut &[u8]) -> Result<bool, OutOfMemory> {
    let (taken, rest) = input.split_at(want.saturating_sub(buffer.len()).min(input.len()));
    memory::append(buffer, taken)?;
    *input = rest;
    Ok(buffer.len() >= want)
}
