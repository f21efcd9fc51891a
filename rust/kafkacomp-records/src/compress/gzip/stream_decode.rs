//! Incremental decompression of one member.

use super::super::construct::construct;
use super::super::stream::{FrameDecode, Room, gather};
use super::super::{CodecError, CodecFault, CompressionType, Strictness};
use super::TRAILER_LENGTH;
use super::header::{HeaderParser, Trailer};
use flate2::{Decompress, FlushDecompress, Status};

/// A decoder for one member.
pub(in super::super) struct StreamDecoder {
    strictness: Strictness,
    header: HeaderParser,
    /// Made when first needed.
    inflate: Option<Decompress>,
    state: State,
    /// The bytes of the trailer, until it is complete.
    trailer: Vec<u8>,
    crc: crc32fast::Hasher,
    /// The number of bytes of all members so far.
    position: u64,
    /// Where the member begins.
    start: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Header,
    Content,
    Trailer,
    End,
}

impl StreamDecoder {
    /// At the start of a member.
    pub(in super::super) fn new(strictness: Strictness) -> Self {
        Self {
            strictness,
            header: HeaderParser::new(strictness),
            inflate: None,
            state: State::Header,
            trailer: Vec::new(),
            crc: crc32fast::Hasher::new(),
            position: 0,
            start: 0,
        }
    }

    /// Takes header bytes; returns when the input is used up or the content begins.
    fn header(&mut self, input: &mut &[u8]) -> Result<(), CodecError> {
        let complete = self.header.push(input);
        self.position = self.start + self.header.length();
        if complete.map_err(|(offset, fault)| refused(self.start + offset, fault))? {
            self.state = State::Content;
        }
        Ok(())
    }

    /// One step of inflate, which uses up the input or the room, or ends the content.
    fn content(&mut self, input: &mut &[u8], output: &mut Room<'_>) -> Result<(), CodecError> {
        if self.inflate.is_none() {
            self.inflate = construct(|| Decompress::new(false));
        }
        let Some(inflate) = &mut self.inflate else { return Err(refused(self.position, CodecFault::OutOfMemory)) };
        let (total_in, total_out) = (inflate.total_in(), inflate.total_out());
        let room = output.rest();
        let available = room.len();
        let status = inflate
            .decompress(input, room, FlushDecompress::None)
            .map_err(|_| refused(self.position, CodecFault::CorruptBlock))?;
        let consumed = (inflate.total_in() - total_in) as usize;
        let written = (inflate.total_out() - total_out) as usize;
        *input = input.split_at(consumed.min(input.len())).1;
        self.position += consumed as u64;
        self.crc.update(output.advance(written));
        if status == Status::StreamEnd {
            self.state = State::Trailer;
        } else if consumed == 0 && written == 0 && !input.is_empty() && available > 0 {
            return Err(refused(self.position, CodecFault::CorruptBlock));
        }
        Ok(())
    }

    fn trailer(&mut self, input: &mut &[u8]) -> Result<(), CodecError> {
        let before = input.len();
        gather(&mut self.trailer, TRAILER_LENGTH, input).map_err(|error| refused(self.position, error.into()))?;
        self.position += (before - input.len()) as u64;
        let Some(trailer) = self.trailer.first_chunk::<TRAILER_LENGTH>() else { return Ok(()) };
        let actual = self.inflate.as_ref().map_or(0, Decompress::total_out);
        Trailer::parse(*trailer)
            .verify(self.crc.clone().finalize(), actual)
            .map_err(|fault| refused(self.position - TRAILER_LENGTH as u64, fault))?;
        self.state = State::End;
        Ok(())
    }
}

fn refused(position: u64, fault: CodecFault) -> CodecError {
    CodecError { compression_type: CompressionType::Gzip, position, fault }
}

impl FrameDecode for StreamDecoder {
    fn run(&mut self, input: &mut &[u8], output: &mut Room<'_>) -> Result<bool, CodecError> {
        if self.state == State::Header {
            self.header(input)?;
        }
        if self.state == State::Content {
            self.content(input, output)?;
        }
        if self.state == State::Trailer {
            self.trailer(input)?;
        }
        Ok(self.state == State::End)
    }

    fn finish(&self) -> Result<(), CodecError> {
        match self.state {
            State::End => Ok(()),
            _ => Err(refused(self.position, CodecFault::Truncated)),
        }
    }

    fn in_header(&self) -> bool {
        !self.header.is_complete()
    }

    fn position(&self) -> u64 {
        self.position
    }

    fn reset(&mut self) {
        if let Some(inflate) = &mut self.inflate {
            inflate.reset(false);
        }
        self.state = State::Header;
        self.header = HeaderParser::new(self.strictness);
        self.trailer.clear();
        self.crc = crc32fast::Hasher::new();
        self.start = self.position;
    }
}
