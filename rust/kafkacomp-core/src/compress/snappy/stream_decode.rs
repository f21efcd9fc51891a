//! Snappy read piece by piece. Nothing marks the end of a xerial stream: what it holds ends where the data do,
//! at a block's end, and further streams belong to it. A raw block, on the other hand, says how much it holds: its
//! elements are walked, so that it ends by itself. It is kept whole until then, and decoded at once.

use super::super::input::Input;
use super::super::stream::{Frame, Room, gather};
use super::super::{CodecError, CodecFault, CompressionType, Strictness};
use super::decode::{KAFKA_READ, MAGIC_HEAD, MAX_BLOCK_SIZE, header, raw_block};
use super::walk::Walk;
use super::{HEADER_LENGTH, MAGIC};
use crate::buffer::OutputBuffer;

/// Length of a block's size.
const SIZE_LENGTH: usize = 4;

/// Streams, or a raw block, that are being read.
pub(in super::super) struct Stream {
    strictness: Strictness,
    state: State,
    /// The bytes of the element at hand, until they are all there.
    bytes: Vec<u8>,
    /// What a block holds: first what was handed out, `drained`, then what waits.
    content: OutputBuffer,
    drained: usize,
    walk: Walk,
    limit: u64,
    /// Content of the blocks so far.
    produced: u64,
    /// Where Kafka's reads began to count; see [`KAFKA_READ`].
    reads: u64,
    /// Bytes so far, without those of the element at hand.
    position: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Xerial's magic, or the first bytes of a raw block.
    Start,
    Header {
        first: bool,
    },
    Size,
    Block {
        length: usize,
    },
    Raw,
    /// The raw block is whole.
    End,
    /// Kafka's stream has ended, whatever follows.
    Ignored,
}

impl Stream {
    /// At the start; blocks that claim more than `limit` bytes are not decoded.
    pub(in super::super) fn new(strictness: Strictness, limit: u64) -> Self {
        Self {
            strictness,
            state: State::Start,
            bytes: Vec::new(),
            content: OutputBuffer::default(),
            drained: 0,
            walk: Walk::default(),
            limit,
            produced: 0,
            reads: 0,
            position: 0,
        }
    }

    fn moved(&self, error: CodecError) -> CodecError {
        CodecError { position: error.position + self.position, ..error }
    }

    /// What follows an element that is all there, and whether its bytes stay, because they are but the head of
    /// a larger one.
    fn whole(&mut self) -> Result<(State, bool), CodecError> {
        match self.state {
            State::Start => Ok((State::Header { first: true }, true)),
            State::Header { first } => {
                let mut input = Input::new(CompressionType::Snappy, &self.bytes);
                let real = header(&mut input, self.strictness, first).map_err(|error| self.moved(error))?;
                if !real && (self.produced - self.reads).is_multiple_of(KAFKA_READ as u64) {
                    return Ok((State::Ignored, false));
                } else if !real {
                    self.reads = self.produced;
                }
                Ok((State::Size, false))
            }
            State::Size => self.size(),
            State::Block { .. } => {
                self.block(SIZE_LENGTH)?;
                Ok((State::Size, false))
            }
            State::Raw => {
                self.block(0)?;
                Ok((State::End, false))
            }
            State::End | State::Ignored => Ok((self.state, false)),
        }
    }

    fn size(&self) -> Result<(State, bool), CodecError> {
        let size = self.bytes.first_chunk::<SIZE_LENGTH>().map_or(0, |size| i32::from_be_bytes(*size));
        if size == MAGIC_HEAD {
            return Ok((State::Header { first: false }, true));
        }
        if !(0..=MAX_BLOCK_SIZE).contains(&size) {
            let (size, max) = (i64::from(size), i64::from(MAX_BLOCK_SIZE));
            let input = Input::new(CompressionType::Snappy, &self.bytes);
            return Err(self.moved(input.error(CodecFault::BlockSize { size, max })));
        }
        Ok((State::Block { length: SIZE_LENGTH + size as usize }, true))
    }

    /// Decodes the block that begins at this byte of the element.
    fn block(&mut self, start: usize) -> Result<(), CodecError> {
        let left = usize::try_from(self.limit - self.produced.min(self.limit)).unwrap_or(usize::MAX);
        self.content.reset(left);
        self.drained = 0;
        let input = Input::new(CompressionType::Snappy, &self.bytes);
        let block = self.bytes.get(start..).unwrap_or_default();
        let decoded = raw_block(&input, 0, block, &mut self.content).map_err(|error| match error.fault {
            CodecFault::OutputLimit { .. } => {
                CodecError { fault: CodecFault::OutputLimit { limit: self.limit }, ..error }
            }
            _ => error,
        });
        decoded.map_err(|error| self.moved(error))?;
        self.produced += self.content.len() as u64;
        Ok(())
    }

    /// Takes bytes of the element at hand; `true` when it has `want` of them.
    fn gather(&mut self, want: usize, input: &mut &[u8]) -> Result<bool, CodecError> {
        gather(&mut self.bytes, want, input).map_err(|error| {
            let (compression_type, position) = (CompressionType::Snappy, self.position());
            CodecError { compression_type, position, fault: CodecFault::from(error) }
        })
    }

    /// Takes what the element at hand lacks; `true` when it is all there.
    fn take(&mut self, input: &mut &[u8]) -> Result<bool, CodecError> {
        match self.state {
            State::Start => {
                // Not a byte more than tells: a raw block can be as short as one.
                while self.bytes.len() < MAGIC.len() {
                    let want = self.bytes.len() + 1;
                    if !self.gather(want, input)? {
                        return Ok(false);
                    }
                    if !MAGIC.starts_with(&self.bytes) {
                        self.state = State::Raw;
                        return self.take(input);
                    }
                }
                Ok(true)
            }
            State::Header { .. } => self.gather(HEADER_LENGTH, input),
            State::Size => self.gather(SIZE_LENGTH, input),
            State::Block { length } => self.gather(length, input),
            State::Raw => self.walk(input),
            State::End | State::Ignored => Ok(true),
        }
    }

    /// Takes the bytes of a raw block, and none behind it.
    fn walk(&mut self, input: &mut &[u8]) -> Result<bool, CodecError> {
        loop {
            let error =
                |fault| CodecError { compression_type: CompressionType::Snappy, position: self.position, fault };
            let Some(want) = self.walk.on(&self.bytes, self.limit).map_err(error)? else { return Ok(true) };
            if !self.gather(want, input)? {
                return Ok(false);
            }
        }
    }
}

impl Frame for Stream {
    fn run(&mut self, input: &mut &[u8], output: &mut Room<'_>) -> Result<bool, CodecError> {
        loop {
            self.drained += output.put(self.content.as_slice().get(self.drained..).unwrap_or_default());
            if self.drained < self.content.len() {
                return Ok(false);
            }
            match self.state {
                State::End => return Ok(true),
                State::Ignored => {
                    self.position += input.len() as u64;
                    *input = &[];
                    return Ok(false);
                }
                _ => {
                    if !self.take(input)? {
                        return Ok(false);
                    }
                    let (state, stays) = self.whole()?;
                    self.state = state;
                    if !stays {
                        self.position += self.bytes.len() as u64;
                        self.bytes.clear();
                    }
                }
            }
        }
    }

    fn finish(&self) -> Result<(), CodecError> {
        let rest = self.bytes.len();
        let whole = match self.state {
            State::End | State::Ignored => true,
            State::Size => rest == 0 || (rest < SIZE_LENGTH && self.strictness != Strictness::Specification),
            State::Start | State::Header { .. } | State::Block { .. } | State::Raw => false,
        };
        if whole && self.drained == self.content.len() {
            return Ok(());
        }
        let position = self.position();
        Err(CodecError { compression_type: CompressionType::Snappy, position, fault: CodecFault::Truncated })
    }

    fn in_header(&self) -> bool {
        matches!(self.state, State::Start | State::Header { first: true })
    }

    fn position(&self) -> u64 {
        self.position + self.bytes.len() as u64
    }

    fn reset(&mut self) {
        self.state = State::Start;
        self.position += self.bytes.len() as u64;
        self.bytes.clear();
        self.content.reset(0);
        self.drained = 0;
        self.walk = Walk::default();
    }
}
