//! Incremental compression, with the same blocks as the one-shot. After a frame is flushed, the next bytes begin a new stream;
//! readers accept several streams.

use super::super::stream::{BlockEncoder, Blocks, Encoder};
use super::super::{CodecError, CompressionType};
use super::encode::{self, HEADER};
use super::xerial::BLOCK_SIZE;

/// An encoder for xerial streams.
pub(in super::super) fn encoder() -> impl Encoder {
    BlockEncoder::new(Streams::default())
}

#[derive(Default)]
struct Streams {
    encoder: encode::Encoder,
    position: u64,
}

impl Blocks for Streams {
    fn compression_type(&self) -> CompressionType {
        CompressionType::Snappy
    }

    fn block_size(&self) -> usize {
        BLOCK_SIZE
    }

    fn begin(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(&HEADER);
    }

    fn block(&mut self, content: &[u8], out: &mut Vec<u8>) -> Result<(), CodecError> {
        let position = self.position;
        self.position += content.len() as u64;
        self.encoder.block(content, position, out)
    }

    fn end(&mut self, _: &mut Vec<u8>) {}
}
