//! Incremental decompression of one frame: each block is buffered until it is complete.

use super::super::super::input::Input;
use super::super::super::skippable::{self, is_skippable};
use super::super::super::stream::{Elements, FrameDecode, Room};
use super::super::super::{CodecError, CodecFault, CompressionType, Strictness};
use super::super::frame_bounds::{
    BLOCK_SIZE_MAX, CHECKSUM_LENGTH, Header, MAGIC, MAGIC_LENGTH, header_length, supported_header,
};
use super::frame::Frame;

/// The length of a block's header.
const BLOCK_HEADER: usize = 3;

/// A decoder for one frame.
pub(in super::super::super) struct StreamDecoder {
    elements: Elements,
    state: State,
    header: Option<Header>,
    frame: Option<Frame>,
    /// The bytes of the frame before the current element.
    length: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Magic,
    SkippableSize,
    Skippable {
        left: u64,
    },
    Header,
    BlockHeader,
    Block {
        length: usize,
    },
    /// All blocks are decoded; their content is not returned yet.
    LastContent,
    End,
}

impl StreamDecoder {
    /// At the start of a frame. All strictnesses accept the same frames.
    pub(in super::super::super) fn new(_: Strictness) -> Self {
        let elements = Elements::new(CompressionType::Zstd);
        Self { elements, state: State::Magic, header: None, frame: None, length: 0 }
    }

    /// Handles a complete element. Returns the next state, and whether its bytes are kept as the first part of a larger element.
    fn whole(&mut self) -> Result<(State, bool), CodecError> {
        match self.state {
            State::Magic if is_skippable(&self.elements.bytes) => Ok((State::SkippableSize, true)),
            State::Magic => {
                let found = self.elements.array()?;
                if u32::from_le_bytes(found) != MAGIC {
                    return Err(self.elements.error(0, CodecFault::BadMagic { found }));
                }
                Ok((State::Header, true))
            }
            State::SkippableSize => {
                let left = u64::from(skippable::data_size(self.elements.array()?));
                Ok((if left == 0 { State::End } else { State::Skippable { left } }, false))
            }
            State::Header => {
                let mut input = Input::new(CompressionType::Zstd, &self.elements.bytes).at(MAGIC_LENGTH);
                let header = supported_header(&mut input).map_err(|error| self.elements.absolute(error))?;
                let frame = Frame::begin(&header, u64::MAX).map_err(|fault| self.elements.error(0, fault))?;
                (self.header, self.frame) = (Some(header), Some(frame));
                Ok((State::BlockHeader, false))
            }
            State::BlockHeader => Ok((State::Block { length: self.block_length()? }, true)),
            State::Block { .. } => {
                let Some(frame) = &mut self.frame else { return Ok((self.state, false)) };
                let is_last = frame.block(&mut self.elements.bytes.as_slice());
                let is_last = is_last.map_err(|fault| self.elements.error(0, fault))?;
                Ok((if is_last { State::LastContent } else { State::BlockHeader }, false))
            }
            State::Skippable { .. } | State::LastContent | State::End => Ok((self.state, false)),
        }
    }

    /// The length of the block with this header, with its header and the checksum that may follow it.
    fn block_length(&self) -> Result<usize, CodecError> {
        let [b0, b1, b2] = self.elements.array()?;
        let word = u32::from_le_bytes([b0, b1, b2, 0]);
        let size = u64::from(word >> 3);
        if size > BLOCK_SIZE_MAX || word >> 1 & 3 == 3 {
            return Err(self.elements.error(0, CodecFault::CorruptBlock));
        }
        let is_run = word >> 1 & 3 == 1;
        let checksum = word & 1 != 0 && self.header.is_some_and(|header| header.checksum);
        Ok(BLOCK_HEADER + if is_run { 1 } else { size as usize } + if checksum { CHECKSUM_LENGTH } else { 0 })
    }

    /// Writes content to `output`; `true` as soon as all that is available is written.
    fn drain(&mut self, output: &mut Room<'_>) -> Result<bool, CodecError> {
        let Some(frame) = &mut self.frame else { return Ok(true) };
        while frame.available() > 0 && !output.rest().is_empty() {
            let length = frame.read(output.rest()).map_err(|fault| self.elements.error(0, fault))?;
            output.advance(length);
        }
        Ok(frame.available() == 0)
    }

    /// Compares the content with the size and the checksum of the frame.
    fn verify(&self) -> Result<(), CodecError> {
        let Some(frame) = &self.frame else { return Ok(()) };
        if let Some(declared) = self.header.and_then(|header| header.content_size)
            && declared != frame.produced()
        {
            return Err(self.elements.error(0, CodecFault::ContentSize { declared, actual: frame.produced() }));
        }
        frame.verify_checksum().map_err(|fault| self.elements.error(0, fault))
    }

    /// The length of the current element, or a lower bound if too few of its bytes are known.
    fn want(&self) -> usize {
        match self.state {
            State::Magic => MAGIC_LENGTH,
            State::SkippableSize => skippable::HEADER_LENGTH,
            State::Header => header_length(&self.elements.bytes),
            State::BlockHeader => BLOCK_HEADER,
            State::Block { length } => length,
            State::Skippable { .. } | State::LastContent | State::End => 0,
        }
    }
}

impl FrameDecode for StreamDecoder {
    fn run(&mut self, input: &mut &[u8], output: &mut Room<'_>) -> Result<bool, CodecError> {
        loop {
            if !self.drain(output)? {
                return Ok(false);
            }
            match self.state {
                State::End => return Ok(true),
                State::LastContent => {
                    self.verify()?;
                    self.state = State::End;
                }
                State::Skippable { left } => {
                    let length = input.len().min(usize::try_from(left).unwrap_or(usize::MAX));
                    *input = input.split_at(length).1;
                    self.elements.skip(length);
                    self.length += length as u64;
                    let left = left - length as u64;
                    self.state = if left == 0 { State::End } else { State::Skippable { left } };
                    if left > 0 {
                        return Ok(false);
                    }
                }
                _ => {
                    let want = self.want();
                    if !self.elements.gather(want, input)? {
                        return Ok(false);
                    }
                    // The first bytes of the header give its length.
                    if self.elements.bytes.len() < self.want() {
                        continue;
                    }
                    let (state, stays) = self.whole()?;
                    self.state = state;
                    if !stays {
                        self.length += self.elements.bytes.len() as u64;
                        self.elements.advance();
                    }
                }
            }
        }
    }

    fn finish(&self) -> Result<(), CodecError> {
        if self.state == State::End { Ok(()) } else { Err(self.elements.truncated()) }
    }

    fn in_header(&self) -> bool {
        self.length == 0 && self.elements.bytes.len() < MAGIC_LENGTH
    }

    fn lacking(&self) -> u64 {
        match self.state {
            State::Skippable { left } => left,
            _ => 0,
        }
    }

    fn position(&self) -> u64 {
        self.elements.position()
    }

    fn reset(&mut self) {
        self.elements.reset();
        (self.state, self.header, self.frame, self.length) = (State::Magic, None, None, 0);
    }
}
