//! Incremental compression, with the same blocks as the one-shot.

use super::super::stream::{BlockEncoder, Blocks, Encoder};
use super::super::{CodecError, CompressionType};
use super::encode::{END_MARK, EncodeOptions, block, header};
use xxhash_rust::xxh32::Xxh32;

/// An encoder for frames with these options, like Kafka's `Lz4BlockOutputStream`. The size of the content is not known in advance,
/// so `content_size` is ignored.
pub fn encoder(options: EncodeOptions) -> impl Encoder {
    let options = EncodeOptions { content_size: false, ..options };
    BlockEncoder::new(Frames { options, content_checksum: Xxh32::new(0), position: 0 })
}

struct Frames {
    options: EncodeOptions,
    content_checksum: Xxh32,
    position: u64,
}

impl Blocks for Frames {
    fn compression_type(&self) -> CompressionType {
        CompressionType::Lz4
    }

    fn block_size(&self) -> usize {
        self.options.block_max_size.bytes()
    }

    fn begin(&mut self, out: &mut Vec<u8>) {
        header(self.options, 0).write(out);
        self.content_checksum.reset(0);
    }

    fn block(&mut self, content: &[u8], out: &mut Vec<u8>) -> Result<(), CodecError> {
        if self.options.content_checksum {
            self.content_checksum.update(content);
        }
        let position = self.position;
        self.position += content.len() as u64;
        block(content, self.options, out).map_err(|fault| CodecError {
            compression_type: CompressionType::Lz4,
            position,
            fault,
        })
    }

    fn end(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(&END_MARK);
        if self.options.content_checksum {
            out.extend_from_slice(&self.content_checksum.digest().to_le_bytes());
        }
    }
}
