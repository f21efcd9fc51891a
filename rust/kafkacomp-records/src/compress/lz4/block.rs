//! The word before each block; the one-shot and the streaming decoder share its parser.

use super::super::{CodecFault, Strictness};

/// Length of the word, and of a checksum.
pub(super) const WORD: usize = 4;
/// The bit of the word that marks an uncompressed block.
pub(super) const UNCOMPRESSED: u32 = 0x8000_0000;

/// The meaning of the word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlockHeader {
    /// No further block.
    EndMark,
    /// A block of compressed data.
    Compressed { size: usize },
    /// A block of uncompressed data.
    Uncompressed { size: usize },
}

impl BlockHeader {
    /// Reads the word of a block in a frame whose blocks have `max` bytes at most.
    ///
    /// # Errors
    /// The block is larger.
    pub(super) fn parse(word: [u8; WORD], max: usize, strictness: Strictness) -> Result<Self, CodecFault> {
        let word = u32::from_le_bytes(word);
        let (size, uncompressed) = ((word & !UNCOMPRESSED) as usize, word & UNCOMPRESSED != 0);
        match (uncompressed, size) {
            (false, 0) => Ok(Self::EndMark),
            // Kafka's stream ignores the bit here.
            (true, 0) if strictness != Strictness::Specification => Ok(Self::EndMark),
            (false, _) if size > max => Err(CodecFault::BlockSize { size: size as i64, max: max as i64 }),
            (true, _) if size > max => Err(CodecFault::UncompressedBlockSize { size: size as u64, max: max as u64 }),
            (false, _) => Ok(Self::Compressed { size }),
            (true, _) => Ok(Self::Uncompressed { size }),
        }
    }

    /// Bytes of the block after the word, without its checksum.
    pub(super) fn size(self) -> usize {
        match self {
            Self::EndMark => 0,
            Self::Compressed { size } | Self::Uncompressed { size } => size,
        }
    }
}
