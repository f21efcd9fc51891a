//! One member read piece by piece.

use super::super::context::made;
use super::super::stream::{Frame, Room, copy, gather};
use super::super::{CodecError, CodecFault, CompressionType, Strictness};
use super::{
    FLAG_COMMENT, FLAG_EXTRA, FLAG_HEADER_CRC, FLAG_NAME, FLAGS_OFFSET, HEADER_LENGTH, MAGIC, METHOD_DEFLATE,
    RESERVED_FLAGS, TRAILER_LENGTH,
};
use flate2::{Decompress, FlushDecompress, Status};

/// The offset of the compression method in a header.
const METHOD_OFFSET: usize = 2;
const EXTRA_LENGTH: usize = 2;
const HEADER_CRC_LENGTH: usize = 2;

/// A member that is being read.
pub(in super::super) struct Member {
    strictness: Strictness,
    /// Made when first needed.
    inflate: Option<Decompress>,
    state: State,
    /// The bytes of a fixed field, until they are all there.
    field: Vec<u8>,
    flags: u8,
    header_crc: crc32fast::Hasher,
    crc: crc32fast::Hasher,
    /// Bytes of all frames so far.
    position: u64,
    start: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The ten bytes that every header has.
    Fixed,
    ExtraLength,
    Extra {
        left: usize,
    },
    Name,
    Comment,
    HeaderCrc,
    Content,
    Trailer,
    End,
}

impl Member {
    /// At the start of a member.
    pub(in super::super) fn new(strictness: Strictness) -> Self {
        Self {
            strictness,
            inflate: None,
            state: State::Fixed,
            field: Vec::with_capacity(HEADER_LENGTH),
            flags: 0,
            header_crc: crc32fast::Hasher::new(),
            crc: crc32fast::Hasher::new(),
            position: 0,
            start: 0,
        }
    }

    /// Takes bytes of the fixed field at hand; `true` when it has `want` of them.
    fn gather(&mut self, want: usize, input: &mut &[u8]) -> Result<bool, CodecError> {
        gather(&mut self.field, want, input).map_err(|error| refused(self.position, error.into()))
    }

    /// Takes header bytes; returns when the input is used up or the content begins.
    fn header(&mut self, input: &mut &[u8]) -> Result<(), CodecError> {
        while self.in_header() && !input.is_empty() {
            let before = *input;
            let covered = self.state != State::HeaderCrc;
            let field = self.header_field(input);
            let taken = before.get(..before.len() - input.len()).unwrap_or_default();
            self.position += taken.len() as u64;
            if covered {
                self.header_crc.update(taken);
            }
            if field? {
                self.field.clear();
            }
        }
        Ok(())
    }

    /// Takes bytes of one field; `true` when it is whole.
    fn header_field(&mut self, input: &mut &[u8]) -> Result<bool, CodecError> {
        match self.state {
            State::Fixed => {
                let whole = self.gather(HEADER_LENGTH, input)?;
                self.fixed()?;
                if whole {
                    self.go_on(State::ExtraLength);
                }
                Ok(whole)
            }
            State::ExtraLength => {
                let whole = self.gather(EXTRA_LENGTH, input)?;
                if let Some(&[low, high]) = self.field.first_chunk::<EXTRA_LENGTH>() {
                    self.state = State::Extra { left: usize::from(u16::from_le_bytes([low, high])) };
                    self.skip_extra(0);
                }
                Ok(whole)
            }
            State::Extra { left } => {
                let length = left.min(input.len());
                *input = input.get(length..).unwrap_or_default();
                self.skip_extra(length);
                Ok(false)
            }
            State::Name | State::Comment => {
                let end = memchr::memchr(0, input);
                *input = input.get(end.map_or(input.len(), |end| end + 1)..).unwrap_or_default();
                if end.is_some() && self.state == State::Name {
                    self.go_on(State::Comment);
                } else if end.is_some() {
                    self.go_on(State::HeaderCrc);
                }
                Ok(false)
            }
            State::HeaderCrc => {
                let whole = self.gather(HEADER_CRC_LENGTH, input)?;
                if let Some(&field) = self.field.first_chunk::<HEADER_CRC_LENGTH>() {
                    let (stored, computed) = (u16::from_le_bytes(field), self.header_crc.clone().finalize() as u16);
                    if stored != computed {
                        return Err(refused(self.start, CodecFault::HeaderCrc { stored, computed }));
                    }
                    self.state = State::Content;
                }
                Ok(whole)
            }
            State::Content | State::Trailer | State::End => Ok(false),
        }
    }

    /// Goes on to this field, or to the next one that is there.
    fn go_on(&mut self, field: State) {
        let order = [
            (State::ExtraLength, FLAG_EXTRA),
            (State::Name, FLAG_NAME),
            (State::Comment, FLAG_COMMENT),
            (State::HeaderCrc, FLAG_HEADER_CRC),
        ];
        self.state = order
            .into_iter()
            .skip_while(|(candidate, _)| *candidate != field)
            .find(|(_, flag)| self.flags & flag != 0)
            .map_or(State::Content, |(field, _)| field);
    }

    fn skip_extra(&mut self, length: usize) {
        if let State::Extra { left } = self.state {
            self.state = State::Extra { left: left - length };
            if left == length {
                self.go_on(State::Name);
            }
        }
    }

    /// Judges what is there of the fixed part.
    fn fixed(&mut self) -> Result<(), CodecError> {
        if !MAGIC.iter().zip(&self.field).all(|(a, b)| a == b) {
            let mut found = [0; 4];
            copy(&self.field, &mut found);
            return Err(refused(self.start, CodecFault::BadMagic { found }));
        }
        match self.field.get(METHOD_OFFSET) {
            Some(&method) if method != METHOD_DEFLATE => {
                return Err(refused(self.start, CodecFault::CompressionMethod { method }));
            }
            _ => {}
        }
        match self.field.get(FLAGS_OFFSET) {
            Some(&found) if found & RESERVED_FLAGS != 0 && self.strictness == Strictness::Specification => {
                Err(refused(self.start + FLAGS_OFFSET as u64, CodecFault::ReservedBits { found }))
            }
            flags => {
                self.flags = flags.copied().unwrap_or_default();
                Ok(())
            }
        }
    }

    /// One step of inflate, which uses up the input or the room, or ends the content.
    fn content(&mut self, input: &mut &[u8], output: &mut Room<'_>) -> Result<(), CodecError> {
        if self.inflate.is_none() {
            self.inflate = made(|| Decompress::new(false));
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
        *input = input.get(consumed..).unwrap_or_default();
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
        let whole = self.gather(TRAILER_LENGTH, input)?;
        self.position += (before - input.len()) as u64;
        let Some(&[c0, c1, c2, c3, s0, s1, s2, s3]) = self.field.first_chunk::<TRAILER_LENGTH>() else {
            return Ok(());
        };
        let position = self.position - TRAILER_LENGTH as u64;
        let (stored, computed) = (u32::from_le_bytes([c0, c1, c2, c3]), self.crc.clone().finalize());
        if stored != computed {
            return Err(refused(position, CodecFault::ContentChecksum { stored, computed }));
        }
        let (declared, actual) =
            (u32::from_le_bytes([s0, s1, s2, s3]), self.inflate.as_ref().map_or(0, Decompress::total_out));
        if declared != actual as u32 {
            let declared = u64::from(declared);
            return Err(refused(position, CodecFault::ContentSize { declared, actual }));
        }
        if whole {
            self.field.clear();
            self.state = State::End;
        }
        Ok(())
    }
}

fn refused(position: u64, fault: CodecFault) -> CodecError {
    CodecError { compression_type: CompressionType::Gzip, position, fault }
}

impl Frame for Member {
    fn run(&mut self, input: &mut &[u8], output: &mut Room<'_>) -> Result<bool, CodecError> {
        self.header(input)?;
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
        !matches!(self.state, State::Content | State::Trailer | State::End)
    }

    fn position(&self) -> u64 {
        self.position
    }

    fn reset(&mut self) {
        if let Some(inflate) = &mut self.inflate {
            inflate.reset(false);
        }
        self.state = State::Fixed;
        self.field.clear();
        self.header_crc = crc32fast::Hasher::new();
        self.crc = crc32fast::Hasher::new();
        self.start = self.position;
    }
}
