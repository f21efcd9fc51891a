//! Encoders of frames that consist of blocks.

use super::super::{CodecError, CodecFault, CompressionType};
use super::pending::{Pending, gather};
use super::{Encoder, Operation, Progress};

/// A frame format that consists of blocks.
pub(in super::super) trait Blocks: Send {
    /// The compression type, for errors.
    fn compression_type(&self) -> CompressionType;

    /// The most content of a block, in bytes.
    fn block_size(&self) -> usize;

    /// Appends the beginning of a frame.
    fn begin(&mut self, out: &mut Vec<u8>);

    /// Appends a block with this content, which is not empty.
    fn block(&mut self, content: &[u8], out: &mut Vec<u8>) -> Result<(), CodecError>;

    /// Appends the end of a frame.
    fn end(&mut self, out: &mut Vec<u8>);
}

/// An encoder of a stream of such frames.
pub(in super::super) struct BlockEncoder<B> {
    blocks: B,
    /// The content of the current block, which is not complete yet.
    content: Vec<u8>,
    pending: Pending,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// No frame is open.
    Start,
    /// A frame is open.
    Open,
    /// The end of the frame is pending output.
    Ended,
}

impl<B: Blocks> BlockEncoder<B> {
    /// Creates an encoder before its first frame.
    pub(in super::super) fn new(blocks: B) -> Self {
        Self { blocks, content: Vec::new(), pending: Pending::default(), state: State::Start }
    }

    fn flush(&mut self) -> Result<(), CodecError> {
        let result = self.blocks.block(&self.content, self.pending.bytes());
        self.content.clear();
        result
    }

    /// Takes input, and writes a block if there is more content than fits into it.
    fn take(&mut self, input: &mut &[u8]) -> Result<(), CodecError> {
        let size = self.blocks.block_size();
        // Like Kafka's streams, a full block is written only when a further byte arrives.
        if self.content.len() == size {
            return self.flush();
        }
        if self.content.is_empty() && input.len() > size {
            let (content, rest) = input.split_at(size);
            *input = rest;
            return self.blocks.block(content, self.pending.bytes());
        }
        gather(&mut self.content, size, input).map(drop).map_err(|error| CodecError {
            compression_type: self.blocks.compression_type(),
            position: 0,
            fault: CodecFault::from(error),
        })
    }
}

impl<B: Blocks> Encoder for BlockEncoder<B> {
    fn encode(&mut self, input: &[u8], output: &mut [u8], operation: Operation) -> Result<Progress, CodecError> {
        let mut rest = input;
        let mut written = 0;
        loop {
            written += self.pending.drain(output.split_at_mut(written).1);
            if !self.pending.is_empty() {
                return Ok(Progress { consumed: input.len() - rest.len(), written, done: false });
            }
            match self.state {
                // Empty input opens a frame only for `FlushFrame`.
                State::Start if !rest.is_empty() || operation == Operation::FlushFrame => {
                    self.blocks.begin(self.pending.bytes());
                    self.state = State::Open;
                }
                State::Open if !rest.is_empty() => self.take(&mut rest)?,
                State::Open if operation != Operation::Continue && !self.content.is_empty() => self.flush()?,
                State::Open if operation == Operation::FlushFrame => {
                    self.blocks.end(self.pending.bytes());
                    self.state = State::Ended;
                }
                state => {
                    if state == State::Ended {
                        self.state = State::Start;
                    }
                    return Ok(Progress { consumed: input.len() - rest.len(), written, done: true });
                }
            }
        }
    }
}
