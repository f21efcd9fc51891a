//! Compression to one frame. The default options are those of Kafka's `Lz4BlockOutputStream`: independent blocks of 64 KiB, no
//! checksums, no content size. A block that does not shrink is stored uncompressed.

use super::super::{CodecError, CodecFault, Compression, CompressionType};
use super::block::UNCOMPRESSED;
use super::header::{BlockMaxSize, FrameHeader, HeaderChecksum, LONGEST_HEADER};
use super::liblz4;
use crate::checksum::xxh32;
use crate::memory;

/// What follows the last block.
pub(super) const END_MARK: [u8; 4] = [0; 4];

/// The options of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EncodeOptions {
    /// A level of [`Compression`]: 9 is the fast compressor, all others are the high-compression one.
    pub level: i32,
    /// The header checksum of the frame.
    pub header_checksum: HeaderChecksum,
    /// The largest block.
    pub block_max_size: BlockMaxSize,
    /// Whether each block has a checksum of its stored bytes.
    pub block_checksum: bool,
    /// Whether a checksum of the content follows the `EndMark`.
    pub content_checksum: bool,
    /// Whether the header contains the size of the content.
    pub content_size: bool,
}

impl Default for EncodeOptions {
    /// The options of Kafka since 0.10.
    fn default() -> Self {
        Self {
            level: Compression::LZ4_FAST,
            header_checksum: HeaderChecksum::FrameDescriptor,
            block_max_size: BlockMaxSize::Max64Kb,
            block_checksum: false,
            content_checksum: false,
            content_size: false,
        }
    }
}

/// Appends one frame with `data` as its content to `out`.
///
/// # Errors
/// Memory runs out.
pub fn compress(data: &[u8], options: EncodeOptions, out: &mut Vec<u8>) -> Result<(), CodecError> {
    let out_of_memory =
        |position| CodecError { compression_type: CompressionType::Lz4, position, fault: CodecFault::OutOfMemory };
    memory::reserve(out, LONGEST_HEADER).map_err(|_| out_of_memory(0))?;
    header(options, data.len() as u64).write(out);
    let mut position = 0;
    for content in data.chunks(options.block_max_size.bytes()) {
        block(content, options, out).map_err(|fault| CodecError {
            compression_type: CompressionType::Lz4,
            position,
            fault,
        })?;
        position += content.len() as u64;
    }
    memory::reserve(out, END_MARK.len() + size_of::<u32>()).map_err(|_| out_of_memory(position))?;
    out.extend_from_slice(&END_MARK);
    if options.content_checksum {
        out.extend_from_slice(&xxh32(data).to_le_bytes());
    }
    Ok(())
}

/// The header of a frame with these options.
pub(super) fn header(options: EncodeOptions, content_size: u64) -> FrameHeader {
    FrameHeader {
        block_max_size: options.block_max_size,
        block_checksum: options.block_checksum,
        content_checksum: options.content_checksum,
        content_size: options.content_size.then_some(content_size),
        header_checksum: options.header_checksum,
    }
}

/// Appends one block: size, bytes and, if the options include it, their checksum.
pub(super) fn block(content: &[u8], options: EncodeOptions, out: &mut Vec<u8>) -> Result<(), CodecFault> {
    let start = out.len();
    // Room for the size, the largest block and the checksum: nothing below allocates.
    let most = liblz4::max_compressed_size(content.len()).max(content.len());
    memory::reserve(out, most.saturating_add(size_of::<u64>()))?;
    out.extend_from_slice(&[0; 4]);
    let body = out.len();
    let length = liblz4::compress(content, options.level, out)?;
    let word = if length < content.len() {
        length as u32
    } else {
        out.truncate(body);
        out.extend_from_slice(content);
        content.len() as u32 | UNCOMPRESSED
    };
    if let Some(size) = out.get_mut(start..body) {
        size.copy_from_slice(&word.to_le_bytes());
    }
    if options.block_checksum {
        let checksum = xxh32(out.split_at(body.min(out.len())).1);
        out.extend_from_slice(&checksum.to_le_bytes());
    }
    Ok(())
}
