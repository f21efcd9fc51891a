//! A frame that ruzstd decodes block by block.

use std::io::Read as _;

use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use super::super::super::CodecFault;
use super::super::frame_bounds::{BLOCK_SIZE_MAX, Header, MAGIC};

/// The least window that a header can declare (`ZSTD_WINDOWLOG_ABSOLUTEMIN`).
const MIN_WINDOW: u64 = 1 << 10;
/// Above every window that is passed to ruzstd.
const MAX_WINDOW: u64 = 1 << 28;
/// The bit of the descriptor for a checksum.
const CHECKSUM: u8 = 4;

/// The decoder of one frame.
pub(super) struct Frame {
    decoder: FrameDecoder,
    produced: u64,
}

impl Frame {
    /// Begins a frame with `header`, of whose content at most `limit` bytes are needed. ruzstd keeps a window of content, so it gets a
    /// header with the smallest window that suffices.
    pub(super) fn begin(header: &Header, limit: u64) -> Result<Self, CodecFault> {
        // Blocks may be as long as the window, so it must not be smaller than a block.
        let enough = limit.saturating_add(1).max(BLOCK_SIZE_MAX);
        let mut bytes = [0; 6];
        let (magic, rest) = bytes.split_at_mut(size_of::<u32>());
        magic.copy_from_slice(&MAGIC.to_le_bytes());
        rest.copy_from_slice(&[if header.checksum { CHECKSUM } else { 0 }, window_byte(header.window.min(enough))]);
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(MAX_WINDOW);
        decoder.init(bytes.as_slice()).map_err(|_| CodecFault::CorruptBlock)?;
        Ok(Self { decoder, produced: 0 })
    }

    /// Decodes the block at the start of `source`, and reads the checksum after the last one; returns whether it was the last one.
    pub(super) fn block(&mut self, source: &mut &[u8]) -> Result<bool, CodecFault> {
        self.decoder.decode_blocks(source, BlockDecodingStrategy::UptoBlocks(1)).map_err(|_| CodecFault::CorruptBlock)
    }

    /// The number of bytes of content that [`read`](Self::read) returns.
    pub(super) fn available(&self) -> usize {
        self.decoder.can_collect()
    }

    /// Moves content to `room`, and returns its length.
    pub(super) fn read(&mut self, room: &mut [u8]) -> Result<usize, CodecFault> {
        let length = self.decoder.read(room).map_err(|_| CodecFault::CorruptBlock)?;
        self.produced += length as u64;
        Ok(length)
    }

    /// The number of bytes of content that were read.
    pub(super) fn produced(&self) -> u64 {
        self.produced
    }

    /// Compares the checksum with the content, all of which was read.
    pub(super) fn verify_checksum(&self) -> Result<(), CodecFault> {
        let stored = self.decoder.get_checksum_from_data();
        if stored.is_some() && stored != self.decoder.get_calculated_checksum() {
            return Err(CodecFault::ContentHash);
        }
        Ok(())
    }
}

/// The window byte of the smallest window of at least `size` bytes: five bits of exponent, three of mantissa.
fn window_byte(size: u64) -> u8 {
    let size = size.max(MIN_WINDOW);
    let exponent = size.ilog2() - MIN_WINDOW.ilog2();
    let base = MIN_WINDOW << exponent;
    // Eight eighths carry over into the exponent.
    let eighths = (size - base).div_ceil(base >> 3);
    ((u64::from(exponent) << 3) + eighths) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_the_smallest_that_suffice() {
        let window = |byte: u8| {
            let base = MIN_WINDOW << (byte >> 3);
            base + (base >> 3) * u64::from(byte & 7)
        };
        for size in (0..4096).chain([1 << 20, (1 << 20) + 1, (1 << 21) - 1, 1 << 27, (1 << 27) + 1]) {
            let byte = window_byte(size);
            assert!(window(byte) >= size, "{size}");
            assert!(byte == 0 || window(byte - 1) < size, "{size}");
        }
    }
}
