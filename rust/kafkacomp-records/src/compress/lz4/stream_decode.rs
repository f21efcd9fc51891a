//! Incremental decompression of one frame: each block is buffered, decoded into a buffer of the block size (after 64 KiB of history
//! if blocks are linked), and returned.

use super::super::input::Input;
use super::super::skippable::{self, is_skippable};
use super::super::stream::{Elements, FrameDecode, Room};
use super::super::{CodecError, CompressionType, DecodeOptions, Strictness};
use super::block::{BlockHeader, WORD};
use super::decode::{Block, HISTORY, accept, block, verify_content};
use super::header::{FrameInfo, MAGIC_LENGTH, header_length, read_header};
use super::skips_skippable;
use xxhash_rust::xxh32::Xxh32;

/// A decoder for one frame.
pub(in super::super) struct StreamDecoder {
    options: DecodeOptions,
    state: State,
    elements: Elements,
    content_size: u64,
    content_checksum: Xxh32,
    skippable: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Magic,
    SkippableSize,
    Skippable { left: u64 },
    Header,
    BlockSize { info: FrameInfo },
    Block { info: FrameInfo, length: usize },
    EndOfFrame { info: FrameInfo },
    End,
}

impl StreamDecoder {
    /// At the start of a frame.
    pub(in super::super) fn new(options: DecodeOptions) -> Self {
        Self {
            options,
            state: State::Magic,
            elements: Elements::new(CompressionType::Lz4),
            content_size: 0,
            content_checksum: Xxh32::new(0),
            skippable: false,
        }
    }

    /// Handles a complete element. Returns the next state, and whether its bytes are kept as the first part of a larger
    /// element.
    fn whole(&mut self) -> Result<(State, bool), CodecError> {
        match self.state {
            State::Magic if skips_skippable(self.options.strictness) && is_skippable(&self.elements.bytes) => {
                Ok((State::SkippableSize, true))
            }
            State::Magic => Ok((State::Header, true)),
            State::SkippableSize => {
                self.skippable = true;
                let left = u64::from(skippable::data_size(self.elements.array()?));
                Ok((if left == 0 { State::End } else { State::Skippable { left } }, false))
            }
            State::Header => {
                let mut input = Input::new(CompressionType::Lz4, &self.elements.bytes);
                let info = read_header(&mut input).and_then(|info| accept(&input, info, self.options));
                let info = info.map_err(|error| self.elements.absolute(error))?;
                self.begin(&info);
                Ok((State::BlockSize { info }, false))
            }
            State::BlockSize { info } => self.block_size(info),
            State::Block { info, .. } => Ok((self.block(&info)?, false)),
            State::EndOfFrame { info } => {
                self.end(&info)?;
                Ok((State::End, false))
            }
            State::Skippable { .. } | State::End => Ok((self.state, false)),
        }
    }

    /// Prepares the buffer for the blocks of a frame.
    fn begin(&mut self, info: &FrameInfo) {
        let history = if info.flg.block_independence() { 0 } else { HISTORY };
        self.elements.content.reset(history + info.bd.block_max_size().bytes());
        self.elements.drained = 0;
        self.content_size = 0;
        self.content_checksum.reset(0);
    }

    /// The state after the word before a block.
    fn block_size(&self, info: FrameInfo) -> Result<(State, bool), CodecError> {
        let max = info.bd.block_max_size().bytes();
        let header = BlockHeader::parse(self.elements.array()?, max, self.options.strictness);
        let header = header.map_err(|fault| self.elements.error(0, fault))?;
        if header == BlockHeader::EndMark {
            return Ok((State::EndOfFrame { info }, false));
        }
        let checksum = if info.flg.block_checksum() { WORD } else { 0 };
        Ok((State::Block { info, length: WORD + header.size() + checksum }, true))
    }

    fn block(&mut self, info: &FrameInfo) -> Result<State, CodecError> {
        let history = if info.flg.block_independence() { 0 } else { HISTORY };
        let Elements { bytes, content, drained, .. } = &mut self.elements;
        content.keep_tail(history);
        let before = content.len();
        *drained = before;
        let mut input = Input::new(CompressionType::Lz4, bytes);
        let strictness = self.options.strictness;
        let decoded = block(&mut input, info, 0, strictness, content);
        let decoded = decoded.map_err(|error| self.elements.absolute(error))?;
        let content = self.elements.content.as_slice();
        let content = content.split_at(before.min(content.len())).1;
        self.content_size += content.len() as u64;
        if info.flg.content_checksum() && strictness == Strictness::Specification {
            self.content_checksum.update(content);
        }
        Ok(match decoded {
            Block::Empty if strictness != Strictness::Specification => State::End,
            Block::Content | Block::Empty => State::BlockSize { info: *info },
            Block::EndMark => State::EndOfFrame { info: *info },
        })
    }

    fn end(&self, info: &FrameInfo) -> Result<(), CodecError> {
        if self.options.strictness != Strictness::Specification {
            return Ok(());
        }
        let input = Input::new(CompressionType::Lz4, &self.elements.bytes);
        let stored = self.elements.bytes.first_chunk::<WORD>().map(|stored| u32::from_le_bytes(*stored));
        verify_content(&input, info, self.content_size, stored, || self.content_checksum.digest())
            .map_err(|error| self.elements.absolute(error))
    }

    /// The length of the current element, or a lower bound if too few of its bytes are known.
    fn want(&self) -> usize {
        match self.state {
            State::Magic => MAGIC_LENGTH,
            State::SkippableSize => skippable::HEADER_LENGTH,
            State::Header => header_length(&self.elements.bytes),
            State::BlockSize { .. } => WORD,
            State::Block { length, .. } => length,
            State::EndOfFrame { info } if info.flg.content_checksum() => WORD,
            State::EndOfFrame { .. } | State::Skippable { .. } | State::End => 0,
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
                State::Skippable { left } => {
                    let length = input.len().min(usize::try_from(left).unwrap_or(usize::MAX));
                    *input = input.split_at(length).1;
                    self.elements.skip(length);
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
                        self.elements.advance();
                    }
                }
            }
        }
    }

    fn finish(&self) -> Result<(), CodecError> {
        if self.state == State::End && self.elements.is_drained() { Ok(()) } else { Err(self.elements.truncated()) }
    }

    fn in_header(&self) -> bool {
        matches!(self.state, State::Magic | State::SkippableSize | State::Skippable { .. } | State::Header)
    }

    fn is_skippable(&self) -> bool {
        self.skippable
    }

    fn position(&self) -> u64 {
        self.elements.position()
    }

    fn reset(&mut self) {
        self.state = State::Magic;
        self.skippable = false;
        self.elements.reset();
    }
}
