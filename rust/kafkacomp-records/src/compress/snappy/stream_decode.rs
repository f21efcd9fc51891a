//! Incremental decompression of snappy. A xerial stream has no end mark: it ends with the data, after a block, and further streams
//! continue it. A raw block declares the length of its content, so its end is found by counting the elements. It is buffered until
//! then and decoded in one call.

use super::super::input::Input;
use super::super::stream::{Elements, FrameDecode, Room};
use super::super::{CodecError, CodecFault, CompressionType, Strictness};
use super::decode::{KAFKA_READ, raw_block};
use super::raw_length::BlockLength;
use super::xerial::{Element, HEADER_LENGTH, Header, MAGIC, Rules, SIZE_LENGTH};

/// A decoder for streams or a raw block.
pub(in super::super) struct StreamDecoder {
    rules: Rules,
    state: State,
    elements: Elements,
    raw_length: BlockLength,
    limit: u64,
    /// Content of the blocks so far.
    produced: u64,
    /// Where the first of Kafka's reads begins; see [`KAFKA_READ`].
    reads: u64,
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
            elements: Elements::new(CompressionType::Snappy),
            raw_length: BlockLength::default(),
            limit,
            produced: 0,
            reads: 0,
        }
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

    fn header(&mut self, first: bool) -> Result<State, CodecError> {
        let header = Header::parse(self.elements.array()?);
        let checked = if first { self.rules.check_first(header) } else { self.rules.check_further(header) };
        checked.map_err(|(offset, fault)| self.elements.error(offset, fault))?;
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
        Ok(match self.rules.element(self.elements.array()?).map_err(|fault| self.elements.error(0, fault))? {
            Element::Header => (State::Header { first: false }, true),
            Element::Block { length } => (State::Block { length: SIZE_LENGTH + length }, true),
        })
    }

    /// Decodes the block that begins at this byte of the element.
    fn block(&mut self, start: usize) -> Result<(), CodecError> {
        let left = usize::try_from(self.limit - self.produced.min(self.limit)).unwrap_or(usize::MAX);
        let Elements { bytes, content, drained, .. } = &mut self.elements;
        content.reset(left);
        *drained = 0;
        let input = Input::new(CompressionType::Snappy, bytes);
        let block = bytes.split_at(start.min(bytes.len())).1;
        let decoded = raw_block(&input, 0, block, content).map_err(|error| match error.fault {
            CodecFault::OutputLimit { .. } => {
                CodecError { fault: CodecFault::OutputLimit { limit: self.limit }, ..error }
            }
            _ => error,
        });
        decoded.map_err(|error| self.elements.absolute(error))?;
        self.produced += self.elements.content.len() as u64;
        Ok(())
    }

    /// Takes the missing bytes of the current element; `true` as soon as it is complete.
    fn take(&mut self, input: &mut &[u8]) -> Result<bool, CodecError> {
        match self.state {
            State::Start => {
                // No more bytes than needed to decide: a raw block can have a single byte.
                while self.elements.bytes.len() < MAGIC.len() {
                    let want = self.elements.bytes.len() + 1;
                    if !self.elements.gather(want, input)? {
                        return Ok(false);
                    }
                    if !MAGIC.starts_with(&self.elements.bytes) {
                        self.state = State::Raw;
                        return self.take(input);
                    }
                }
                Ok(true)
            }
            State::Header { .. } => self.elements.gather(HEADER_LENGTH, input),
            State::Size => self.elements.gather(SIZE_LENGTH, input),
            State::Block { length } => self.elements.gather(length, input),
            State::Raw => self.raw(input),
            State::End | State::Ignored => Ok(true),
        }
    }

    /// Takes the bytes of a raw block, but none after it.
    fn raw(&mut self, input: &mut &[u8]) -> Result<bool, CodecError> {
        loop {
            let want = self.raw_length.advance(&self.elements.bytes, self.limit);
            let Some(want) = want.map_err(|fault| self.elements.error(0, fault))? else { return Ok(true) };
            if !self.elements.gather(want, input)? {
                return Ok(false);
            }
        }
    }
}

impl FrameDecode for StreamDecoder {
    fn run(&mut self, input: &mut &[u8], output: &mut Room<'_>) -> Result<bool, CodecError> {
        loop {
            if !self.elements.drain(output) {
                return Ok(false);
            }
            match self.state {
                State::End => return Ok(true),
                State::Ignored => {
                    self.elements.skip(input.len());
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
                        self.elements.advance();
                    }
                }
            }
        }
    }

    fn finish(&self) -> Result<(), CodecError> {
        let rest = self.elements.bytes.len();
        let whole = match self.state {
            State::End | State::Ignored => true,
            State::Size => rest == 0 || (rest < SIZE_LENGTH && self.rules.ignores_short_size),
            State::Start | State::Header { .. } | State::Block { .. } | State::Raw => false,
        };
        if whole && self.elements.is_drained() { Ok(()) } else { Err(self.elements.truncated()) }
    }

    fn in_header(&self) -> bool {
        matches!(self.state, State::Start | State::Header { first: true })
    }

    fn position(&self) -> u64 {
        self.elements.position()
    }

    fn reset(&mut self) {
        self.state = State::Start;
        self.elements.reset();
        self.raw_length = BlockLength::default();
    }
}
