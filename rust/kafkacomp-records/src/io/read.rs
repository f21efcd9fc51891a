//! A reader of the content of a compressed stream.

use super::io_error;
use crate::compress::stream::Decoder;
use std::io::{self, BufRead, Read};

/// Reads the content of the compressed stream in `R`. With a decoder of one frame the content ends with that frame, and the
/// source is then positioned after it; [`MultiFrameDecoder`](crate::compress::stream::MultiFrameDecoder) reads all frames.
#[derive(Debug)]
pub struct Reader<R, D> {
    source: R,
    decoder: D,
    done: bool,
}

impl<R: BufRead, D: Decoder> Reader<R, D> {
    /// A reader at the start of the content.
    pub fn new(source: R, decoder: D) -> Self {
        Self { source, decoder, done: false }
    }

    /// The source, after the bytes that were decoded.
    pub fn into_inner(self) -> R {
        self.source
    }
}

impl<R: BufRead, D: Decoder> Read for Reader<R, D> {
    /// Returns `InvalidData` if the stream is corrupt, `UnexpectedEof` if it ends too early, and the errors of the source.
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while !self.done && !out.is_empty() {
            let input = self.source.fill_buf()?;
            let ended = input.is_empty();
            let progress = self.decoder.decode(input, out).map_err(io_error)?;
            self.source.consume(progress.consumed);
            self.done = progress.done;
            if progress.written > 0 {
                return Ok(progress.written);
            }
            if ended && !self.done {
                self.decoder.finish().map_err(io_error)?;
                self.done = true;
            }
        }
        Ok(0)
    }
}
