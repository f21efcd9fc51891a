//! One-shot compression and decompression of one member by libdeflate.

use super::super::construct::construct;
use super::super::{CodecError, CodecFault, CompressionType};
use super::TRAILER_LENGTH;
use super::encode::{HEADER, ZLIB_DEFAULT};
use super::header::FIXED_LENGTH;
use crate::memory;
use libdeflater::{CompressionLvl, Compressor, Decompressor};

/// A decoder of one member.
pub(super) struct Inflate(Decompressor);

impl Inflate {
    /// `None` if memory runs out.
    pub(super) fn new() -> Option<Self> {
        construct(Decompressor::new).map(Self)
    }

    /// Decodes the member at the start of `data`, with its trailer; whether it fills `room` exactly.
    #[inline]
    pub(super) fn member(&mut self, data: &[u8], room: &mut [u8]) -> bool {
        let size = room.len();
        self.0.gzip_decompress(data, room) == Ok(size)
    }
}

/// The checksum of a member's content.
#[inline]
pub(super) fn crc32(content: &[u8]) -> u32 {
    libdeflater::crc32(content)
}

/// The level of libdeflate for each level of zlib from 1 to 9: the lowest whose output was never more than 1%
/// larger than zlib's, over seven kinds of data in batches of 16 and 100 KB.
const LEVELS: [i32; 9] = [1, 1, 3, 3, 5, 6, 6, 8, 8];

/// One context per level of libdeflate, made on first use.
#[derive(Default)]
pub(in super::super) struct Encoders([Option<Compressor>; LEVELS.len()]);

impl Encoders {
    /// The most bytes that one context allocates: libdeflate's match finder and sequence store take 0.7 MB.
    const MEMORY: usize = 1 << 20;

    /// The bytes that the contexts have allocated, rounded up.
    pub(in super::super) fn memory(&self) -> usize {
        self.0.iter().flatten().count() * Self::MEMORY
    }

    /// Appends one member to `out`.
    pub(in super::super) fn encode(&mut self, level: i32, data: &[u8], out: &mut Vec<u8>) -> Result<(), CodecError> {
        let failed = CodecError { compression_type: CompressionType::Gzip, position: 0, fault: CodecFault::Encoder };
        let out_of_memory = CodecError { fault: CodecFault::OutOfMemory, ..failed };
        let Some(compressor) = self.for_level(level) else { return Err(out_of_memory) };
        let start = out.len();
        let body = start.saturating_add(FIXED_LENGTH);
        let most = compressor.deflate_compress_bound(data.len()).saturating_add(TRAILER_LENGTH);
        memory::resize(out, body.saturating_add(most)).map_err(|_| out_of_memory)?;
        if let Some(header) = out.get_mut(start..body) {
            header.copy_from_slice(&HEADER);
        }
        let Some(room) = out.get_mut(body..) else { return Err(failed) };
        let Ok(length) = compressor.deflate_compress(data, room) else { return Err(failed) };
        out.truncate(body + length);
        out.extend_from_slice(&libdeflater::crc32(data).to_le_bytes());
        out.extend_from_slice(&(data.len() as u32).to_le_bytes());
        Ok(())
    }

    /// The context of this level, which [`Compression`](super::super::Compression) has checked; `None` if memory
    /// runs out.
    fn for_level(&mut self, level: i32) -> Option<&mut Compressor> {
        let level = if level < 0 { ZLIB_DEFAULT } else { level };
        let level = *LEVELS.get(usize::try_from(level).ok()?.checked_sub(1)?)?;
        let kept = self.0.get_mut(usize::try_from(level).ok()?)?;
        let level = CompressionLvl::new(level).ok()?;
        if kept.is_none() {
            *kept = construct(|| Compressor::new(level));
        }
        kept.as_mut()
    }
}
