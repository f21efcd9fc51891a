//! Decodes a stored chunk, which is compressed with Zstandard and then encrypted with AES-256-GCM.
//!
//! ```text
//! encrypted chunk => IV:12 ciphertext tag:16       the IV is random, the AAD the segment's own
//! compressed chunk => one Zstandard frame
//! ```

use aes_gcm::aead::{AeadInPlace, KeyInit};
use aes_gcm::{Aes256Gcm, Nonce, Tag};
use kafkacomp_records::buffer::{NoRoom, OutputBuffer};
use kafkacomp_records::compress::{self, CodecError, CompressionType, DecodeOptions};
use kafkacomp_records::memory::{self, OutOfMemory};

use crate::tiered::key::DataKey;

const IV_LENGTH: usize = 12;
const TAG_LENGTH: usize = 16;

/// Why a chunk cannot be decoded.
#[derive(Debug, thiserror::Error)]
pub enum ChunkFault {
    /// It is too short for an IV and a tag.
    #[error("an encrypted chunk of {0} bytes: at least 28 are needed")]
    TooShort(usize),
    /// The tag does not match the bytes.
    #[error("the chunk does not authenticate: it is corrupt or of another segment, or key or AAD are others")]
    Authentication,
    /// Zstandard cannot decompress it.
    #[error("{0}")]
    Codec(#[from] CodecError),
    /// There is not enough memory for its content.
    #[error("{0}")]
    Memory(#[from] OutOfMemory),
    /// The length of its content is not that of the chunk index.
    #[error("the chunk has {found} bytes of the segment, {expected} by the chunk index")]
    Length {
        /// The length in the chunk index.
        expected: usize,
        /// The decoded length.
        found: usize,
    },
}

/// Decodes the chunks of a segment.
pub struct ChunkDecoder {
    cipher: Option<(Aes256Gcm, Vec<u8>)>,
}

impl std::fmt::Debug for ChunkDecoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChunkDecoder").field("is_encrypted", &self.cipher.is_some()).finish_non_exhaustive()
    }
}

impl ChunkDecoder {
    /// A decoder for chunks that are encrypted with a data key and an AAD; `None` for chunks that are not encrypted.
    pub fn new(encryption: Option<(&DataKey, Vec<u8>)>) -> Self {
        Self { cipher: encryption.map(|(key, aad)| (Aes256Gcm::new(key.bytes().into()), aad)) }
    }

    /// Decodes a chunk into `out`, which is empty; its content must be `expected` bytes.
    ///
    /// # Errors
    /// [`ChunkFault`]. At most the memory for `expected` bytes and for the chunk is allocated.
    pub fn decode(
        &self,
        stored: &[u8],
        expected: usize,
        is_compressed: bool,
        out: &mut OutputBuffer,
    ) -> Result<(), ChunkFault> {
        out.set_limit(expected);
        let mut plain = Vec::new();
        let content = match &self.cipher {
            None => stored,
            Some((cipher, aad)) => {
                let short = || ChunkFault::TooShort(stored.len());
                let (iv, rest) = stored.split_at_checked(IV_LENGTH).ok_or_else(short)?;
                let length = rest.len().checked_sub(TAG_LENGTH).ok_or_else(short)?;
                let (ciphertext, tag) = rest.split_at_checked(length).ok_or_else(short)?;
                memory::append(&mut plain, ciphertext)?;
                cipher
                    .decrypt_in_place_detached(Nonce::from_slice(iv), aad, &mut plain, Tag::from_slice(tag))
                    .map_err(|_| ChunkFault::Authentication)?;
                plain.as_slice()
            }
        };
        if is_compressed {
            compress::decompress(CompressionType::Zstd, DecodeOptions::default(), content, out)?;
        } else if content.len() == expected {
            out.extend(content).map_err(|no_room| match no_room {
                NoRoom::OutOfMemory => ChunkFault::Memory(OutOfMemory::of::<u8>(content.len())),
                NoRoom::LimitReached { .. } => ChunkFault::Length { expected, found: content.len() },
            })?;
        } else {
            return Err(ChunkFault::Length { expected, found: content.len() });
        }
        if out.len() == expected { Ok(()) } else { Err(ChunkFault::Length { expected, found: out.len() }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(stored: &[u8], expected: usize, is_compressed: bool) -> Result<Vec<u8>, ChunkFault> {
        let mut out = OutputBuffer::new(0);
        ChunkDecoder::new(None).decode(stored, expected, is_compressed, &mut out).map(|()| out.into_vec())
    }

    #[test]
    fn a_plain_chunk_is_as_long_as_the_index_says() {
        assert_eq!(decode(b"abc", 3, false).ok(), Some(b"abc".to_vec()));
        assert!(matches!(decode(b"abc", 2, false), Err(ChunkFault::Length { expected: 2, found: 3 })));
        assert!(matches!(decode(b"abc", usize::MAX, false), Err(ChunkFault::Length { found: 3, .. })));
    }

    #[test]
    fn what_is_no_frame_is_an_error() {
        assert!(matches!(decode(b"abcdefgh", 3, true), Err(ChunkFault::Codec(_))));
    }
}
