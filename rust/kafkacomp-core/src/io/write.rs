//! A writer of a compressed stream.

use super::{ROOM, io_error};
use crate::compress::stream::{Encoder, Operation};
use std::io::{self, Write};

/// Compresses what is written to it and writes that to `W`. [`finish`](Self::finish) ends the frame; a writer that is
/// dropped before leaves it open, and what no block was made of is lost.
#[derive(Debug)]
pub struct Writer<W, E> {
    sink: W,
    encoder: E,
    room: Box<[u8]>,
}

impl<W: Write, E: Encoder> Writer<W, E> {
    /// Before the first frame.
    pub fn new(sink: W, encoder: E) -> Self {
        Self { sink, encoder, room: vec![0; ROOM].into_boxed_slice() }
    }

    /// Ends the frame, an empty one if nothing was written, and gives the sink back.
    ///
    /// # Errors
    /// The sink's, or the codec's.
    pub fn finish(mut self) -> io::Result<W> {
        self.run(&[], Operation::FlushFrame)?;
        Ok(self.sink)
    }

    fn run(&mut self, mut data: &[u8], operation: Operation) -> io::Result<()> {
        loop {
            let progress = self.encoder.encode(data, &mut self.room, operation).map_err(io_error)?;
            self.sink.write_all(self.room.get(..progress.written).unwrap_or_default())?;
            data = data.get(progress.consumed..).unwrap_or_default();
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

    /// Writes all so far, as a block of its own, so that a reader gets it. The frame stays open.
    fn flush(&mut self) -> io::Result<()> {
        self.run(&[], Operation::FlushBlock)?;
        self.sink.flush()
    }
}
