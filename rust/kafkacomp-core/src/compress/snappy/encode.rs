//! Compression to a xerial stream, as by snappy-java's `SnappyOutputStream` in Kafka.

use super::super::{CodecError, CodecFault, CompressionType};
use super::xerial::{HEADER_LENGTH, MAGIC, SIZE_LENGTH, VERSION};
use crate::memory;
use snap::raw;

/// The content of a block, the default of `SnappyOutputStream`.
pub(super) const BLOCK_SIZE: usize = 32 << 10;
/// The magic and, twice, the version.
pub(super) const HEADER: [u8; HEADER_LENGTH] = {
    let mut header = [0; HEADER_LENGTH];
    let (magic, versions) = header.split_at_mut(MAGIC.len());
    magic.copy_from_slice(&MAGIC);
    let (version, compatible) = versions.split_at_mut(VERSION.to_be_bytes().len());
    version.copy_from_slice(&VERSION.to_be_bytes());
    compatible.copy_from_slice(&VERSION.to_be_bytes());
    header
};

/// The raw encoder, whose tables are reused.
pub(in super::super) struct Encoder(raw::Encoder);

impl Default for Encoder {
    fn default() -> Self {
        Self(raw::Encoder::new())
    }
}

impl Encoder {
    /// The bytes that it allocates: a table of 2^14 entries, and a smaller one inside.
    pub(in super::super) const MEMORY: usize = 64 << 10;

    /// Appends a stream to `out`: the header, even if there is no content, and blocks of 32 KiB.
    pub(in super::super) fn encode(&mut self, data: &[u8], out: &mut Vec<u8>) -> Result<(), CodecError> {
        let (compression_type, fault) = (CompressionType::Snappy, CodecFault::OutOfMemory);
        memory::append(out, &HEADER).map_err(|_| CodecError { compression_type, position: 0, fault })?;
        for (index, content) in data.chunks(BLOCK_SIZE).enumerate() {
            let position = (index * BLOCK_SIZE) as u64;
            self.block(content, position, out)?;
        }
        Ok(())
    }

    /// Appends one block with its size; `position` is where its content begins, for an error.
    pub(super) fn block(&mut self, content: &[u8], position: u64, out: &mut Vec<u8>) -> Result<(), CodecError> {
        let failed = CodecError { compression_type: CompressionType::Snappy, position, fault: CodecFault::Encoder };
        let start = out.len();
        let body = start + SIZE_LENGTH;
        memory::resize(out, body + raw::max_compress_len(content.len()))
            .map_err(|_| CodecError { fault: CodecFault::OutOfMemory, ..failed })?;
        let Some(room) = out.get_mut(body..) else { return Err(failed) };
        let Ok(length) = self.0.compress(content, room) else { return Err(failed) };
        out.truncate(body + length);
        if let Some(size) = out.get_mut(start..body) {
            size.copy_from_slice(&(length as u32).to_be_bytes());
        }
        Ok(())
    }
}
