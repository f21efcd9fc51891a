//! The header and the trailer of a member; the one-shot and the streaming decoder share their parser.

use super::super::{CodecFault, Strictness};
use super::TRAILER_LENGTH;

pub(super) const MAGIC: [u8; 2] = [0x1F, 0x8B];
pub(super) const METHOD_DEFLATE: u8 = 8;
/// A header without optional fields.
pub(super) const FIXED_LENGTH: usize = 10;

const FLAG_HEADER_CRC: u8 = 0x02;
const FLAG_EXTRA: u8 = 0x04;
const FLAG_NAME: u8 = 0x08;
const FLAG_COMMENT: u8 = 0x10;
const RESERVED_FLAGS: u8 = 0xE0;
/// The offset of CM, the compression method.
const METHOD_OFFSET: usize = 2;
const FLAGS_OFFSET: usize = 3;
const MTIME_OFFSET: usize = 4;
/// Length of XLEN and of CRC16.
const SHORT: usize = 2;

/// How the decoders of whole members can treat the header of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Plainness {
    /// No optional fields.
    NoFields,
    /// Fields that any decoder may skip.
    SkippableFields,
    /// A header CRC or reserved flags, or not a header.
    Other,
}

/// Classifies the header of `member`.
pub(super) fn plainness(member: &[u8]) -> Plainness {
    match member.first_chunk::<FIXED_LENGTH>() {
        Some(&[m0, m1, METHOD_DEFLATE, flags, ..]) if [m0, m1] == MAGIC => match flags {
            0 => Plainness::NoFields,
            _ if flags & (RESERVED_FLAGS | FLAG_HEADER_CRC) == 0 => Plainness::SkippableFields,
            _ => Plainness::Other,
        },
        _ => Plainness::Other,
    }
}

/// The fault of a header, and the byte of the header at which it is.
pub(super) type HeaderFault = (u64, CodecFault);

/// An incremental parser of a header.
pub(super) struct HeaderParser {
    strictness: Strictness,
    state: State,
    /// The bytes of a field of fixed size, `filled` of them.
    field: [u8; FIXED_LENGTH],
    filled: usize,
    flags: u8,
    crc: crc32fast::Hasher,
    /// The number of bytes of the header so far.
    length: u64,
    /// Where the current field begins.
    field_start: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Fixed,
    ExtraLength,
    Extra { left: usize },
    Name,
    Comment,
    HeaderCrc,
    Complete,
}

impl HeaderParser {
    /// A parser before the first byte.
    pub(super) fn new(strictness: Strictness) -> Self {
        Self {
            strictness,
            state: State::Fixed,
            field: [0; FIXED_LENGTH],
            filled: 0,
            flags: 0,
            crc: crc32fast::Hasher::new(),
            length: 0,
            field_start: 0,
        }
    }

    /// Takes bytes of the header from the front of `input`; `true` when the header is complete.
    pub(super) fn push(&mut self, input: &mut &[u8]) -> Result<bool, HeaderFault> {
        while self.state != State::Complete {
            if input.is_empty() {
                return Ok(false);
            }
            let (before, covered) = (*input, self.state != State::HeaderCrc);
            let taken = self.field(input);
            let taken_bytes = before.split_at(before.len() - input.len()).0;
            self.length += taken_bytes.len() as u64;
            if covered {
                self.crc.update(taken_bytes);
            }
            taken?;
        }
        Ok(true)
    }

    /// Whether the header is complete.
    pub(super) fn is_complete(&self) -> bool {
        self.state == State::Complete
    }

    /// The number of bytes of the header so far.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Where the incomplete field begins in the header.
    pub(super) fn truncated_at(&self) -> u64 {
        match self.state {
            State::Fixed if self.filled < METHOD_OFFSET => 0,
            State::Fixed => self.filled.min(MTIME_OFFSET) as u64,
            _ => self.field_start,
        }
    }

    /// Takes bytes of the current field.
    fn field(&mut self, input: &mut &[u8]) -> Result<(), HeaderFault> {
        match self.state {
            State::Fixed => {
                self.gather(FIXED_LENGTH, input);
                self.check_fixed()?;
                if self.filled == FIXED_LENGTH {
                    self.next_field(State::ExtraLength, FIXED_LENGTH as u64);
                }
            }
            State::ExtraLength => {
                let taken = self.gather(SHORT, input);
                if let [low, high, ..] = self.field
                    && self.filled == SHORT
                {
                    let left = usize::from(u16::from_le_bytes([low, high]));
                    self.begin(State::Extra { left }, taken);
                    if left == 0 {
                        self.next_field(State::Name, taken);
                    }
                }
            }
            State::Extra { left } => {
                let length = left.min(input.len());
                *input = input.split_at(length).1;
                self.state = State::Extra { left: left - length };
                if left == length {
                    self.next_field(State::Name, length as u64);
                }
            }
            State::Name | State::Comment => {
                let end = memchr::memchr(0, input);
                let length = end.map_or(input.len(), |end| end + 1);
                *input = input.split_at(length).1;
                if end.is_some() {
                    let next = if self.state == State::Name { State::Comment } else { State::HeaderCrc };
                    self.next_field(next, length as u64);
                }
            }
            State::HeaderCrc => {
                self.gather(SHORT, input);
                let [low, high, ..] = self.field;
                if self.filled == SHORT {
                    let (stored, computed) = (u16::from_le_bytes([low, high]), self.crc.clone().finalize() as u16);
                    if stored != computed {
                        return Err((0, CodecFault::HeaderCrc { stored, computed }));
                    }
                    self.state = State::Complete;
                }
            }
            State::Complete => {}
        }
        Ok(())
    }

    /// Takes bytes of a field of `length` bytes and returns how many.
    fn gather(&mut self, length: usize, input: &mut &[u8]) -> u64 {
        let mut taken = 0;
        while self.filled < length
            && let Some((byte, rest)) = input.split_first()
            && let Some(to) = self.field.get_mut(self.filled)
        {
            *to = *byte;
            *input = rest;
            self.filled += 1;
            taken += 1;
        }
        taken
    }

    fn begin(&mut self, state: State, taken: u64) {
        self.state = state;
        self.filled = 0;
        // The bytes of this call are counted after it.
        self.field_start = self.length + taken;
    }

    /// Advances to this field, or to the next one that the flags announce; this call has taken `taken` bytes.
    fn next_field(&mut self, field: State, taken: u64) {
        let order = [
            (State::ExtraLength, FLAG_EXTRA),
            (State::Name, FLAG_NAME),
            (State::Comment, FLAG_COMMENT),
            (State::HeaderCrc, FLAG_HEADER_CRC),
        ];
        let next = order
            .into_iter()
            .skip_while(|(candidate, _)| *candidate != field)
            .find(|(_, flag)| self.flags & flag != 0)
            .map_or(State::Complete, |(field, _)| field);
        self.begin(next, taken);
    }

    /// Checks the available bytes of the fixed part.
    fn check_fixed(&mut self) -> Result<(), HeaderFault> {
        let [m0, m1, method, flags, ..] = self.field;
        if !MAGIC.iter().zip([m0, m1]).take(self.filled).all(|(expected, found)| *expected == found) {
            return Err((0, CodecFault::BadMagic { found: [m0, m1, method, flags] }));
        }
        if self.filled > METHOD_OFFSET && method != METHOD_DEFLATE {
            return Err((0, CodecFault::CompressionMethod { method }));
        }
        if self.filled > FLAGS_OFFSET {
            if flags & RESERVED_FLAGS != 0 && self.strictness == Strictness::Specification {
                return Err((FLAGS_OFFSET as u64, CodecFault::ReservedBits { found: flags }));
            }
            self.flags = flags;
        }
        Ok(())
    }
}

/// The trailer: CRC-32 and size of the content, modulo 2^32.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Trailer {
    pub(super) crc: u32,
    pub(super) size: u32,
}

impl Trailer {
    pub(super) fn parse([c0, c1, c2, c3, s0, s1, s2, s3]: [u8; TRAILER_LENGTH]) -> Self {
        Self { crc: u32::from_le_bytes([c0, c1, c2, c3]), size: u32::from_le_bytes([s0, s1, s2, s3]) }
    }

    /// Compares it with the content.
    pub(super) fn verify(self, computed: u32, actual: u64) -> Result<(), CodecFault> {
        if self.crc != computed {
            return Err(CodecFault::ContentChecksum { stored: self.crc, computed });
        }
        if self.size != actual as u32 {
            return Err(CodecFault::ContentSize { declared: u64::from(self.size), actual });
        }
        Ok(())
    }
}
