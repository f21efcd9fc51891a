//! Compression to a xerial stream, as by snappy-java's `SnappyOutputStream` in Kafka.

use super::super::{CodecError, CodecFault, CompressionType};
#[cfg(target_arch = "x86_64")]
pub(super) use super::interleaved::Pairs;
#[cfg(not(target_arch = "x86_64"))]
pub(super) use super::library_only::Pairs;
use super::raw_elements::{RawBlock, literal_tag};
use super::xerial::{BLOCK_SIZE, HEADER_LENGTH, MAGIC, SIZE_LENGTH, VERSION};
use crate::memory;
use snap::raw;

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

/// The encoders of raw blocks, whose tables are reused.
pub(in super::super) struct Encoder {
    pairs: Pairs,
    library: raw::Encoder,
}

impl Default for Encoder {
    fn default() -> Self {
        Self { pairs: Pairs::default(), library: raw::Encoder::new() }
    }
}

impl Encoder {
    /// The bytes that it allocates: the library's tables, rounded up, and the memory of [`Pairs`].
    pub(in super::super) const MEMORY: usize = (64 << 10) + Pairs::MEMORY;

    /// Appends a stream to `out`: the header, even if there is no content, and blocks of 32 KiB.
    pub(in super::super) fn encode(&mut self, data: &[u8], out: &mut Vec<u8>) -> Result<(), CodecError> {
        memory::append(out, &HEADER).map_err(|_| out_of_memory(0))?;
        for (index, contents) in data.chunks(2 * BLOCK_SIZE).enumerate() {
            let position = (index * 2 * BLOCK_SIZE) as u64;
            let (first, second) = contents.split_at_checked(BLOCK_SIZE).unwrap_or((contents, &[]));
            let [first_block, second_block] =
                self.pairs.encode([first, second]).map_err(|_| out_of_memory(position))?;
            put_block(&mut self.library, first_block, first, position, out)?;
            if !second.is_empty() {
                put_block(&mut self.library, second_block, second, position + BLOCK_SIZE as u64, out)?;
            }
        }
        Ok(())
    }

    /// As [`encode`](Self::encode) for one after the other. Contents of one block each are interleaved.
    pub(in super::super) fn encode_both(
        &mut self,
        contents: [&[u8]; 2],
        outs: [&mut Vec<u8>; 2],
    ) -> Result<(), CodecError> {
        if contents.iter().any(|content| content.len() > BLOCK_SIZE || content.is_empty()) {
            return contents.into_iter().zip(outs).try_for_each(|(content, out)| self.encode(content, out));
        }
        let blocks = self.pairs.encode(contents).map_err(|_| out_of_memory(0))?;
        for ((content, block), out) in contents.into_iter().zip(blocks).zip(outs) {
            memory::append(out, &HEADER).map_err(|_| out_of_memory(0))?;
            put_block(&mut self.library, block, content, 0, out)?;
        }
        Ok(())
    }

    /// Appends one block with its size; `position` is where its content begins, for an error.
    pub(super) fn block(&mut self, content: &[u8], position: u64, out: &mut Vec<u8>) -> Result<(), CodecError> {
        let [block, _] = self.pairs.encode([content, &[]]).map_err(|_| out_of_memory(position))?;
        put_block(&mut self.library, block, content, position, out)
    }
}

/// Appends a raw block with its size: `block`, or what the library makes of `content`.
fn put_block(
    library: &mut raw::Encoder,
    block: Option<RawBlock<'_>>,
    content: &[u8],
    position: u64,
    out: &mut Vec<u8>,
) -> Result<(), CodecError> {
    let Some(RawBlock { elements, encoded }) = block else {
        return put_library_block(library, content, position, out);
    };
    let rest = content.get(encoded..).unwrap_or_default();
    let (tag, tag_size) = literal_tag(rest.len());
    let size = elements.len() + tag_size + rest.len();
    memory::reserve(out, SIZE_LENGTH + size).map_err(|_| out_of_memory(position))?;
    out.extend_from_slice(&(size as u32).to_be_bytes());
    out.extend_from_slice(elements);
    out.extend_from_slice(tag.get(..tag_size).unwrap_or_default());
    out.extend_from_slice(rest);
    Ok(())
}

fn put_library_block(
    library: &mut raw::Encoder,
    content: &[u8],
    position: u64,
    out: &mut Vec<u8>,
) -> Result<(), CodecError> {
    let failed = CodecError { compression_type: CompressionType::Snappy, position, fault: CodecFault::Encoder };
    let start = out.len();
    let body = start + SIZE_LENGTH;
    memory::resize(out, body + raw::max_compress_len(content.len())).map_err(|_| out_of_memory(position))?;
    let Some(room) = out.get_mut(body..) else { return Err(failed) };
    let Ok(length) = library.compress(content, room) else { return Err(failed) };
    out.truncate(body + length);
    if let Some(size) = out.get_mut(start..body) {
        size.copy_from_slice(&(length as u32).to_be_bytes());
    }
    Ok(())
}

fn out_of_memory(position: u64) -> CodecError {
    CodecError { compression_type: CompressionType::Snappy, position, fault: CodecFault::OutOfMemory }
}
