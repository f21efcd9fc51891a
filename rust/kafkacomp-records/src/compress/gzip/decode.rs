//! Decompression of members.

use super::super::after_frame::{AfterFrame, Further};
use super::super::construct::construct;
use super::super::input::Input;
use super::super::{CodecError, CodecFault, CompressionType, Strictness};
use super::header::{FIXED_LENGTH, HeaderParser, MAGIC, Plainness, Trailer, plainness};
use super::libdeflate::{Inflate, crc32};
use super::small::{self, SmallInflate};
use super::{TRAILER_LENGTH, after_frame};
use crate::buffer::{NoRoom, OutputBuffer};
use crate::limits::{KAFKA_STREAM_CHUNK, trusted_size};
use flate2::{Decompress, FlushDecompress, Status};
use memchr::memmem;

/// The most bytes of content for one byte of deflate.
const MAX_EXPANSION: usize = 1032;
/// The input buffer that Kafka gives the JDK's stream.
const JDK_INPUT: usize = 8 << 10;
/// The bytes that [`Decoders`] allocate, rounded up.
pub(in super::super) const DECODERS_MEMORY: usize = 64 << 10;

/// Decoders that are reused: making one takes longer than decoding a small member.
pub(in super::super) struct Decoders {
    libdeflate: Inflate,
    small: Box<SmallInflate>,
}

impl Decoders {
    /// New decoders; `None` if memory runs out.
    pub(in super::super) fn new() -> Option<Self> {
        Some(Self { libdeflate: Inflate::new()?, small: Box::new(SmallInflate::new()) })
    }
}

pub(in super::super) fn decode(
    decoders: &mut Option<Decoders>,
    data: &[u8],
    strictness: Strictness,
    out: &mut OutputBuffer,
) -> Result<(), CodecError> {
    if decoders.is_none() {
        *decoders = Decoders::new();
    }
    let Some(decoders) = decoders else {
        return Err(Input::new(CompressionType::Gzip, data).error(CodecFault::OutOfMemory));
    };
    if whole_member(decoders, data, out) { Ok(()) } else { members(data, strictness, out) }
}

/// Checks what Kafka's stream checks when it is opened: the header of the first member.
pub(in super::super) fn open(data: &[u8], strictness: Strictness) -> Result<(), CodecError> {
    header(Input::new(CompressionType::Gzip, data), strictness).map(drop)
}

/// Decodes data that are exactly one plain member; `false`, with nothing written, if they are not or may not be.
fn whole_member(decoders: &mut Decoders, data: &[u8], out: &mut OutputBuffer) -> bool {
    // libdeflate neither verifies a header CRC nor accepts reserved flags: the stream decodes these members.
    let plainness = plainness(data);
    let Some((_, trailer)) = data.split_last_chunk::<TRAILER_LENGTH>() else { return false };
    let Trailer { crc, size } = Trailer::parse(*trailer);
    let size = size as usize;
    if plainness == Plainness::Other || size > trusted_size(data.len()).min(data.len().saturating_mul(MAX_EXPANSION)) {
        return false;
    }
    let Ok(room) = out.spare_exact(size) else { return false };
    let plain = plainness == Plainness::NoFields;
    if plain && small_member(&mut decoders.small, data, room) && crc32(room) == crc {
        out.advance(size);
        return true;
    }
    if !decoders.libdeflate.member(data, room) || !ends_with_data(data, crc, room) {
        return false;
    }
    out.advance(size);
    true
}

/// Whether the member that libdeflate has decoded to `content` ends with `data`, whose last bytes are a trailer with `crc` and
/// the size of the content. libdeflate does not report where it stopped, but it has verified the trailer that it found there.
fn ends_with_data(data: &[u8], crc: u32, content: &[u8]) -> bool {
    let (Some(before_last), Some((_, trailer))) =
        (data.get(FIXED_LENGTH..data.len() - 1), data.split_last_chunk::<TRAILER_LENGTH>())
    else {
        return false;
    };
    // If the bytes of the size occur nowhere else, libdeflate found them at the end of the data, and the checksum is not
    // computed a second time. Otherwise that is known only if the whole trailer occurs nowhere else.
    let size = trailer.split_at(size_of::<u32>()).1;
    memmem::find(before_last, size).is_none() || (crc32(content) == crc && memmem::find(before_last, trailer).is_none())
}

/// Whether `data`, a member without optional fields, is small, ends with the data and fills `room`.
fn small_member(small: &mut SmallInflate, data: &[u8], room: &mut [u8]) -> bool {
    let Some(deflated) = data.get(FIXED_LENGTH..).filter(|_| room.len() <= small::MOST_BYTES) else { return false };
    small.inflate(deflated, room).is_some_and(|taken| taken + TRAILER_LENGTH == deflated.len())
}

/// Decodes all members like the JDK's stream.
fn members(data: &[u8], strictness: Strictness, out: &mut OutputBuffer) -> Result<(), CodecError> {
    let input = Input::new(CompressionType::Gzip, data);
    let rules = after_frame(strictness);
    let mut position = header(input, strictness)?;
    let Some(mut inflate) = construct(|| Decompress::new(false)) else {
        return Err(input.error(CodecFault::OutOfMemory));
    };
    let mut filled = position;
    loop {
        let start = out.len();
        let (end, crc) = deflate_stream(&mut inflate, input, position, &mut filled, out)?;
        trailer(input.at(end), crc, (out.len() - start) as u64)?;
        let Some(next) = next_member(rules, input.at(end + TRAILER_LENGTH), filled)? else { return Ok(()) };
        position = match header(next, strictness) {
            Ok(position) => position,
            Err(error) if rules.ignores(&error.fault, true) => return Ok(()),
            Err(error) => return Err(error),
        };
        filled = filled.max(position);
        inflate.reset(false);
    }
}

/// Where a further member may begin after a trailer; `filled` is the end of the bytes that the JDK has read.
fn next_member(rules: AfterFrame, rest: Input<'_>, filled: usize) -> Result<Option<Input<'_>>, CodecError> {
    match rules.further {
        Further::FramesWithValidHeaders { ignored_length } => {
            let buffered = filled.saturating_sub(rest.position());
            let beyond = rest.rest().len().saturating_sub(buffered);
            Ok((beyond > 0 || buffered > ignored_length).then_some(rest))
        }
        _ => after_padding(rules, rest),
    }
}

/// Reads a header and returns the position after it.
fn header(input: Input<'_>, strictness: Strictness) -> Result<usize, CodecError> {
    let mut header = HeaderParser::new(strictness);
    let at = |offset: u64| input.position() + offset as usize;
    match header.push(&mut input.rest()) {
        Ok(true) => Ok(at(header.length())),
        Ok(false) => Err(input.error_at(at(header.truncated_at()), CodecFault::Truncated)),
        Err((offset, fault)) => Err(input.error_at(at(offset), fault)),
    }
}

/// Decodes the deflate stream at `position`; returns its end and the checksum of its content. `filled` is the end of the bytes
/// that the JDK has read, which decides how many bytes a failing read still returns.
fn deflate_stream(
    inflate: &mut Decompress,
    input: Input<'_>,
    mut position: usize,
    filled: &mut usize,
    out: &mut OutputBuffer,
) -> Result<(usize, u32), CodecError> {
    let data = input.at(0).rest();
    let mut crc = crc32fast::Hasher::new();
    loop {
        let Some(source) = data.get(position..*filled) else {
            return Err(input.error_at(position, CodecFault::Truncated));
        };
        let mut beyond = [0];
        let (room, capped) = match out.spare(KAFKA_STREAM_CHUNK) {
            Ok(spare) => {
                let length = spare.len().min(KAFKA_STREAM_CHUNK);
                (spare.split_at_mut(length).0, None)
            }
            Err(NoRoom::OutOfMemory) => return Err(input.error_at(position, CodecFault::OutOfMemory)),
            // The stream may end without another byte of output.
            Err(reached) => (beyond.as_mut_slice(), Some(reached)),
        };
        let (consumed, produced) = (inflate.total_in(), inflate.total_out());
        let status = inflate
            .decompress(source, room, FlushDecompress::None)
            .map_err(|_| input.error_at(position, CodecFault::CorruptBlock))?;
        let consumed = (inflate.total_in() - consumed) as usize;
        let produced = (inflate.total_out() - produced) as usize;
        position += consumed;
        match capped {
            Some(reached) if produced > 0 => return Err(input.no_room_at(position, reached)),
            _ => {}
        }
        crc.update(room.split_at(produced.min(room.len())).0);
        if capped.is_none() {
            out.advance(produced);
        }
        if status == Status::StreamEnd {
            return Ok((position, crc.finalize()));
        }
        if produced == 0 {
            if position < *filled {
                if consumed == 0 {
                    return Err(input.error_at(position, CodecFault::CorruptBlock));
                }
            } else if *filled >= data.len() {
                return Err(input.error_at(data.len(), CodecFault::Truncated));
            } else {
                *filled = data.len().min(filled.saturating_add(JDK_INPUT));
            }
        }
    }
}

/// Compares the trailer of a member with its content.
fn trailer(mut input: Input<'_>, computed: u32, actual: u64) -> Result<(), CodecError> {
    let position = input.position();
    let trailer = Trailer { crc: input.u32_le()?, size: input.u32_le()? };
    trailer.verify(computed, actual).map_err(|fault| input.error_at(position, fault))
}

/// What follows a member and its padding: another member or nothing.
fn after_padding(rules: AfterFrame, rest: Input<'_>) -> Result<Option<Input<'_>>, CodecError> {
    let bytes = rest.rest();
    let padding = if rules.zero_padding { bytes.iter().take_while(|byte| **byte == 0).count() } else { 0 };
    let next = rest.at(rest.position() + padding);
    let follows = next.rest();
    if follows.is_empty() {
        Ok(None)
    } else if MAGIC.iter().zip(follows).all(|(a, b)| a == b) {
        Ok(Some(next))
    } else {
        Err(next.error(CodecFault::TrailingData { length: follows.len() as u64 }))
    }
}
