//! Incremental decompression of one frame: each block is buffered, decoded into a buffer of the block size (after 64 KiB of history
//! if blocks are linked), and returned.

use super::super::input::Input;
use super::super::skippable::{self, is_skippable};
use super::super::stream::{FrameDecode, Room, gather};
use super::super::{CodecError, CodecFault, CompressionType, DecodeOptions, Strictness};
use super::block::{BlockHeader, WORD};
use super::decode::{Block, HISTORY, accept, block, verify_content};
use super::header::{FrameInfo, MAGIC_LENGTH, header_length, read_header};
use super::skips_skippable;
use crate::buffer::OutputBuffer;
use crate::memory::OutOfMemory;
use xxhash_rust::xxh32::Xxh32;

/// A decoder for one frame.
pub(in super::super) struct StreamDecoder {
    options: DecodeOptions,
    state: State,
    /// The bytes of the current element, until it is complete.
    bytes: Vec<u8>,
    /// The content of blocks: first `drained` bytes that were returned, then the others.
    content: OutputBuffer,
    drained: usize,
    content_size: u64,
    content_checksum: Xxh32,
    /// The number of bytes of all frames before the current element.
    position: u64,
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
            bytes: Vec::new(),
            content: OutputBuffer::default(),
            drained: 0,
            content_size: 0,
            content_checksum: Xxh32::new(0),
            position: 0,
            skippable: false,
        }
    }

    /// Handles a complete element. Returns the next state, and whether its bytes are kept as the first part of a larger
    /// element.
    fn whole(&mut self) -> Result<(State, bool), CodecError> {
        match self.state {
            State::Magic if skips_skippable(self.options.strictness) && is_skippable(&self.bytes) => {
                Ok((State::SkippableSize, true))
            }
            State::Magic => Ok((State::Header, true)),
            State::SkippableSize => {
                self.skippable = true;
                let left = u64::from(skippable::data_size(self.element()?));
                Ok((if left == 0 { State::End } else { State::Skippable { left } }, false))
            }
            State::Header => {
                let mut input = Input::new(CompressionType::Lz4, &self.bytes);
                let info = read_header(&mut input).and_then(|info| accept(&input, info, self.options));
                let info = info.map_err(|error| moved(error, self.position))?;
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
        self.content.reset(history + info.bd.block_max_size().bytes());
        self.drained = 0;
        self.content_size = 0;
        self.content_checksum.reset(0);
    }

    /// The current element, which has this length.
    fn element<const N: usize>(&self) -> Result<[u8; N], CodecError> {
        self.bytes.as_slice().try_into().map_err(|_| self.refused(CodecFault::Truncated))
    }

    /// An error at the current element.
    fn refused(&self, fault: CodecFault) -> CodecError {
        CodecError { compression_type: CompressionType::Lz4, position: self.position, fault }
    }

    /// The state after the word before a block.
    fn block_size(&self, info: FrameInfo) -> Result<(State, bool), CodecError> {
        let max = info.bd.block_max_size().bytes();
        let header = BlockHeader::parse(self.element()?, max, self.options.strictness);
        let header = header.map_err(|fault| self.refused(fault))?;
        if header == BlockHeader::EndMark {
            return Ok((State::EndOfFrame { info }, false));
        }
        let checksum = if info.flg.block_checksum() { WORD } else { 0 };
        Ok((State::Block { info, length: WORD + header.size() + checksum }, true))
    }

    fn block(&mut self, info: &FrameInfo) -> Result<State, CodecError> {
        let history = if info.flg.block_independence() { 0 } else { HISTORY };
        self.content.keep_tail(history);
        let before = self.content.len();
        self.drained = before;
        let mut input = Input::new(CompressionType::Lz4, &self.bytes);
        let strictness = self.options.strictness;
        let decoded = block(&mut input, info, 0, strictness, &mut self.content);
        let decoded = decoded.map_err(|error| moved(error, self.position))?;
        let content = self.content.as_slice().split_at(before.min(self.content.len())).1;
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
        let input = Input::new(CompressionType::Lz4, &self.bytes);
        let stored = self.bytes.first_chunk::<WORD>().map(|stored| u32::from_le_bytes(*stored));
        verify_content(&input, info, self.content_size, stored, || self.content_checksum.digest())
            .map_err(|error| moved(error, self.position))
    }

    fn out_of_memory(&self, error: OutOfMemory) -> CodecError {
        CodecError { compression_type: CompressionType::Lz4, position: self.position(), fault: CodecFault::from(error) }
    }

    /// The length of the current element, or a lower bound if too few of its bytes are known.
    fn want(&self) -> usize {
        match self.state {
            State::Magic => MAGIC_LENGTH,
            State::SkippableSize => skippable::HEADER_LENGTH,
            State::Header => header_length(&self.bytes),
            State::BlockSize { .. } => WORD,
            State::Block { length, .. } => length,
            State::EndOfFrame { info } if info.flg.content_checksum() => WORD,
            State::EndOfFrame { .. } | State::Skippable { .. } | State::End => 0,
        }
    }
}

/// Converts an error of the current element to one of the whole data.
fn moved(error: CodecError, position: u64) -> CodecError {
    CodecError { position: error.position + position, ..error }
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
                State::Skippable { left } => {
                    let length = input.len().min(usize::try_from(left).unwrap_or(usize::MAX));
                    *input = input.split_at(length).1;
                    self.position += length as u64;
                    let left = left - length as u64;
                    self.state = if left == 0 { State::End } else { State::Skippable { left } };
                    if left > 0 {
                        return Ok(false);
                    }
                }
                _ => {
                    let want = self.want();
                    let whole = gather(&mut self.bytes, want, input).map_err(|error| self.out_of_memory(error))?;
                    if !whole {
                        return Ok(false);
                    }
                    // The first bytes of the header give its length.
                    if self.bytes.len() < self.want() {
                        continue;
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
        if self.state == State::End && self.drained == self.content.len() {
            return Ok(());
        }
        let position = self.position();
        Err(CodecError { compression_type: CompressionType::Lz4, position, fault: CodecFault::Truncated })
    }

    fn in_header(&self) -> bool {
        matches!(self.state, State::Magic | State::SkippableSize | State::Skippable { .. } | State::Header)
    }

    fn is_skippable(&self) -> bool {
        self.skippable
    }

    fn position(&self) -> u64 {
        self.position + self.bytes.len() as u64
    }

    fn reset(&mut self) {
        self.state = State::Magic;
        self.skippable = false;
        self.position += self.bytes.len() as u64;
        self.bytes.clear();
        self.content.reset(0);
        self.drained = 0;
    }
}
