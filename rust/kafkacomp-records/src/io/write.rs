//! A writer of a compressed stream.

use super::{ROOM, io_error};
use crate::compress::stream::{Encoder, Operation};
use std::io::{self, Write};

/// Compresses the bytes written to it and writes them to `W`. [`finish`](Self::finish) ends the frame. If the writer is dropped
/// before, the frame is incomplete and buffered bytes are lost.
#[derive(Debug)]
pub struct Writer<W, E> {
    sink: W,
    encoder: E,
    room: Box<[u8]>,
}

impl<W: Write, E: Encoder> Writer<W, E> {
    /// A writer before its first frame.
    pub fn new(sink: W, encoder: E) -> Self {
        Self { sink, encoder, room: vec![0; ROOM].into_boxed_slice() }
    }

    /// Ends the frame, which is empty if nothing was written, and returns the sink.
    ///
    /// # Errors
    /// Errors of the sink or the codec.
    pub fn finish(mut self) -> io::Result<W> {
        self.run(&[], Operation::FlushFrame)?;
        Ok(self.sink)
    }

    fn run(&mut self, mut data: &[u8], operation: Operation) -> io::Result<()> {
        loop {
            let progress = self.encoder.encode(data, &mut self.room, operation).map_err(io_error)?;
            let (written, _) = self.room.split_at(progress.written);
            self.sink.write_all(written)?;
            (_, data) = data.split_at(progress.consumed);
            if progress.done {
                return Ok(());
            }
        }
    }
}

impl<W: Write, E: Encoder> Write for Writer<W, E> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.run(data, Operation::Continue)?;
        Ok(data.len())
    }

    /// Writes all bytes so far as a block, so that a reader can decode them. The frame stays open.
    fn flush(&mut self) -> io::Result<()> {
        self.run(&[], Operation::FlushBlock)?;
        self.sink.flush()
    }
}
