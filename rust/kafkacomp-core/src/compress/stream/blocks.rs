//! Encoders of framings that are made of blocks.

use super::super::{CodecError, CodecFault, CompressionType};
use super::pending::{Pending, gather};
use super::{Encoder, Operation, Progress};

/// A framing made of blocks: what it writes, and where.
pub(in super::super) trait Blocks: Send {
    /// Whose framing it is, for an error.
    fn compression_type(&self) -> CompressionType;

    /// The most content that a block takes, in bytes.
    fn block_size(&self) -> usize;

    /// Appends what a frame begins with.
    fn begin(&mut self, out: &mut Vec<u8>);

    /// Appends a block of this content, of at least a byte.
    fn block(&mut self, content: &[u8], out: &mut Vec<u8>) -> Result<(), CodecError>;

    /// Appends what a frame ends with.
    fn end(&mut self, out: &mut Vec<u8>);
}

/// A stream of such frames.
pub(in super::super) struct BlockEncoder<B> {
    blocks: B,
    /// The content of a block that is not full yet.
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
    /// The frame's end waits to be handed out.
    Ended,
}

impl<B: Blocks> BlockEncoder<B> {
    /// Before the first frame.
    pub(in super::super) fn new(blocks: B) -> Self {
        Self { blocks, content: Vec::new(), pending: Pending::default(), state: State::Start }
    }

    fn flush(&mut self) -> Result<(), CodecError> {
        let result = self.blocks.block(&self.content, self.pending.bytes());
        self.content.clear();
        result
    }

    /// Takes input, and makes a block if there is more than one can take.
    fn take(&mut self, input: &mut &[u8]) -> Result<(), CodecError> {
        let size = self.blocks.block_size();
        // As Kafka's streams: a full block waits for a further byte.
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
                // An empty piece opens no frame, unless one is asked for.
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
