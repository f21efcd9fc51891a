//! Incremental decompression of snappy. A xerial stream has no end mark: it ends with the data, after a block, and further streams
//! continue it. A raw block declares the length of its content, so its end is found by counting the elements. It is buffered until
//! then and decoded in one call.

use super::super::input::Input;
use super::super::stream::{FrameDecode, Room, gather};
use super::super::{CodecError, CodecFault, CompressionType, Strictness};
use super::decode::{KAFKA_READ, raw_block};
use super::raw_length::BlockLength;
use super::xerial::{Element, HEADER_LENGTH, Header, MAGIC, Rules, SIZE_LENGTH};
use crate::buffer::OutputBuffer;

/// A decoder for streams or a raw block.
pub(in super::super) struct StreamDecoder {
    rules: Rules,
    state: State,
    /// The bytes of the current element, until it is complete.
    bytes: Vec<u8>,
    /// The content of a block: first `drained` bytes that were returned, then the others.
    content: OutputBuffer,
    drained: usize,
    raw_length: BlockLength,
    limit: u64,
    /// Content of the blocks so far.
    produced: u64,
    /// Where the first of Kafka's reads begins; see [`KAFKA_READ`].
    reads: u64,
    /// The number of bytes before the current element.
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
    /// The raw block is complete.
    End,
    /// Kafka's stream has ended; all other bytes are ignored.
    Ignored,
}

impl StreamDecoder {
    /// A decoder that refuses blocks with a declared length of more than `limit` bytes.
    pub(in super::super) fn new(strictness: Strictness, limit: u64) -> Self {
        Self {
            rules: Rules::of(strictness),
            state: State::Start,
            bytes: Vec::new(),
            content: OutputBuffer::default(),
            drained: 0,
            raw_length: BlockLength::default(),
            limit,
            produced: 0,
            reads: 0,
            position: 0,
        }
    }

    fn moved(&self, error: CodecError) -> CodecError {
        CodecError { position: error.position + self.position, ..error }
    }

    /// Handles a complete element. Returns the next state, and whether its bytes are kept as the first part of a larger
    /// element.
    fn whole(&mut self) -> Result<(State, bool), CodecError> {
        match self.state {
            State::Start => Ok((State::Header { first: true }, true)),
            State::Header { first } => Ok((self.header(first)?, false)),
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

    /// The current element, which has this length.
    fn element<const N: usize>(&self) -> Result<[u8; N], CodecError> {
        self.bytes.as_slice().try_into().map_err(|_| self.refused(0, CodecFault::Truncated))
    }

    /// An error at a byte of the current element.
    fn refused(&self, offset: usize, fault: CodecFault) -> CodecError {
        let position = self.position + offset as u64;
        CodecError { compression_type: CompressionType::Snappy, position, fault }
    }

    fn header(&mut self, first: bool) -> Result<State, CodecError> {
        let header = Header::parse(self.element()?);
        let checked = if first { self.rules.check_first(header) } else { self.rules.check_further(header) };
        checked.map_err(|(offset, fault)| self.refused(offset, fault))?;
        if !header.has_magic() {
            // In Kafka it ends the read, and the content if the read is still empty.
            if (self.produced - self.reads).is_multiple_of(KAFKA_READ as u64) {
                return Ok(State::Ignored);
            }
            self.reads = self.produced;
        }
        Ok(State::Size)
    }

    fn size(&self) -> Result<(State, bool), CodecError> {
        Ok(match self.rules.element(self.element()?).map_err(|fault| self.refused(0, fault))? {
            Element::Header => (State::Header { first: false }, true),
            Element::Block { length } => (State::Block { length: SIZE_LENGTH + length }, true),
        })
    }

    /// Decodes the block that begins at this byte of the element.
    fn block(&mut self, start: usize) -> Result<(), CodecError> {
        let left = usize::try_from(self.limit - self.produced.min(self.limit)).unwrap_or(usize::MAX);
        self.content.reset(left);
        self.drained = 0;
        let input = Input::new(CompressionType::Snappy, &self.bytes);
        let block = self.bytes.split_at(start.min(self.bytes.len())).1;
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

    /// Takes bytes of the current element; `true` as soon as it has `want` of them.
    fn gather(&mut self, want: usize, input: &mut &[u8]) -> Result<bool, CodecError> {
        gather(&mut self.bytes, want, input).map_err(|error| {
            let (compression_type, position) = (CompressionType::Snappy, self.position());
            CodecError { compression_type, position, fault: CodecFault::from(error) }
        })
    }

    /// Takes the missing bytes of the current element; `true` as soon as it is complete.
    fn take(&mut self, input: &mut &[u8]) -> Result<bool, CodecError> {
        match self.state {
            State::Start => {
                // No more bytes than needed to decide: a raw block can have a single byte.
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
            State::Raw => self.raw(input),
            State::End | State::Ignored => Ok(true),
        }
    }

    /// Takes the bytes of a raw block, but none after it.
    fn raw(&mut self, input: &mut &[u8]) -> Result<bool, CodecError> {
        loop {
            let error =
                |fault| CodecError { compression_type: CompressionType::Snappy, position: self.position, fault };
            let Some(want) = self.raw_length.advance(&self.bytes, self.limit).map_err(error)? else { return Ok(true) };
            if !self.gather(want, input)? {
                return Ok(false);
            }
        }
    }
}

impl FrameDecode for StreamDecoder {
    fn run(&mut self, input: &mut &[u8], output: &mut Room<'_>) -> Result<bool, CodecError> {
        loop {
            self.drained += output.put(self.content.as_slice().split_at(self.drained.min(self.content.len())).1);
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
            State::Size => rest == 0 || (rest < SIZE_LENGTH && self.rules.ignores_short_size),
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
        self.raw_length = BlockLength::default();
    }
}
