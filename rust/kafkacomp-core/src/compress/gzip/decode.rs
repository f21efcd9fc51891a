//! From members to bytes.

use super::super::context::made;
use super::super::input::Input;
use super::super::{CodecError, CodecFault, CompressionType, Strictness};
use super::small::{self, SmallInflate};
use super::{
    FLAG_COMMENT, FLAG_EXTRA, FLAG_HEADER_CRC, FLAG_NAME, FLAGS_OFFSET, HEADER_LENGTH, MAGIC, METHOD_DEFLATE,
    RESERVED_FLAGS, TRAILER_LENGTH, UNCHECKED_LENGTH,
};
use crate::buffer::{NoRoom, OutputBuffer};
use crate::limits::KAFKA_STREAM_CHUNK;
use flate2::{Decompress, FlushDecompress, Status};
use libdeflater::Decompressor as Libdeflate;
use memchr::memmem;

/// Deflate makes at most this many bytes of one.
const MAX_EXPANSION: usize = 1032;
/// Up to this size, or to [`TRUSTED_RATIO`] times the data, ISIZE is believed enough to take memory for.
const TRUSTED_SIZE: usize = 16 << 20;
const TRUSTED_RATIO: usize = 32;
/// The input buffer that Kafka gives the JDK's stream.
const JDK_INPUT: usize = 8 << 10;
/// The JDK looks for a further member only if more than this is left behind the deflate stream in its
/// input buffer, or anything beyond the buffer.
const JDK_LEAST_REST: usize = HEADER_LENGTH + 2 * TRAILER_LENGTH;

/// What is kept between members: each costs more to make than a small one to decode.
pub(in super::super) struct Decoders {
    libdeflate: Libdeflate,
    small: Box<SmallInflate>,
}

impl Decoders {
    /// Without content; `None` where memory runs out.
    pub(in super::super) fn new() -> Option<Self> {
        Some(Self { libdeflate: made(Libdeflate::new)?, small: Box::new(SmallInflate::new()) })
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

/// What Kafka's stream looks at when it is opened: the header of the first member.
pub(in super::super) fn open(data: &[u8]) -> Result<(), CodecError> {
    header(Input::new(CompressionType::Gzip, data), Strictness::RecordSet).map(drop)
}

/// Decodes data that are exactly one plain member; `false`, with nothing written, if they are not, or if
/// that is not certain.
fn whole_member(decoders: &mut Decoders, data: &[u8], out: &mut OutputBuffer) -> bool {
    // libdeflate neither checks a header CRC nor lets reserved flags pass: both go the other way.
    let plain = data.get(FLAGS_OFFSET).is_some_and(|flags| flags & (RESERVED_FLAGS | FLAG_HEADER_CRC) == 0);
    let Some((_, trailer)) = data.split_last_chunk::<TRAILER_LENGTH>() else { return false };
    let [c0, c1, c2, c3, s0, s1, s2, s3] = *trailer;
    let crc = u32::from_le_bytes([c0, c1, c2, c3]);
    let size = u32::from_le_bytes([s0, s1, s2, s3]) as usize;
    let trusted = TRUSTED_SIZE.max(data.len().saturating_mul(TRUSTED_RATIO));
    if !plain || size > trusted.min(data.len().saturating_mul(MAX_EXPANSION)) {
        return false;
    }
    let Ok(room) = out.spare_exact(size) else { return false };
    if small_member(&mut decoders.small, data, room) && libdeflater::crc32(room) == crc {
        out.advance(size);
        return true;
    }
    if decoders.libdeflate.gzip_decompress(data, room) != Ok(size) || libdeflater::crc32(room) != crc {
        return false;
    }
    // libdeflate does not say where it stopped, but it has found this trailer's very bytes there. If they
    // stand nowhere else, it was at the end of the data.
    let before_last = data.get(HEADER_LENGTH..data.len() - 1).unwrap_or_default();
    if memmem::find(before_last, trailer).is_some() {
        return false;
    }
    out.advance(size);
    true
}

/// Whether `data` are a small member without optional fields that ends with them and fills `room`.
fn small_member(small: &mut SmallInflate, data: &[u8], room: &mut [u8]) -> bool {
    let plain = data
        .first_chunk()
        .is_some_and(|[m0, m1, method, flags]| [*m0, *m1] == MAGIC && *method == METHOD_DEFLATE && *flags == 0);
    let Some(deflated) = data.get(HEADER_LENGTH..).filter(|_| plain && room.len() <= small::MOST_BYTES) else {
        return false;
    };
    small.inflate(deflated, room).is_some_and(|taken| taken + TRAILER_LENGTH == deflated.len())
}

/// Decodes member after member as the JDK's stream does.
fn members(data: &[u8], strictness: Strictness, out: &mut OutputBuffer) -> Result<(), CodecError> {
    let input = Input::new(CompressionType::Gzip, data);
    let mut position = header(input, strictness)?;
    let Some(mut inflate) = made(|| Decompress::new(false)) else { return Err(input.error(CodecFault::OutOfMemory)) };
    let mut filled = position;
    loop {
        let start = out.len();
        let (end, crc) = deflate_stream(&mut inflate, input, position, &mut filled, out)?;
        trailer(input.at(end), crc, (out.len() - start) as u64)?;
        let rest = input.at(end + TRAILER_LENGTH);
        let next = match strictness {
            Strictness::Specification => after_padding(rest)?,
            Strictness::RecordSet | Strictness::Broker => {
                let buffered = filled.saturating_sub(end);
                let unread = data.len().saturating_sub(filled.max(rest.position()));
                (unread > 0 || buffered > JDK_LEAST_REST).then_some(rest)
            }
        };
        let Some(next) = next else { return Ok(()) };
        position = match header(next, strictness) {
            Ok(position) => position,
            Err(_) if strictness != Strictness::Specification => return Ok(()),
            Err(error) => return Err(error),
        };
        filled = filled.max(position);
        inflate.reset(false);
    }
}

/// Reads a header and gives the position behind it.
fn header(mut input: Input<'_>, strictness: Strictness) -> Result<usize, CodecError> {
    let start = input;
    if !MAGIC.iter().zip(input.rest()).all(|(a, b)| a == b) {
        return Err(input.error(CodecFault::BadMagic { found: input.next_four() }));
    }
    input.take(MAGIC.len())?;
    let method = input.u8()?;
    if method != METHOD_DEFLATE {
        return Err(start.error(CodecFault::CompressionMethod { method }));
    }
    let flags = input.u8()?;
    if flags & RESERVED_FLAGS != 0 && strictness == Strictness::Specification {
        return Err(start.error_at(start.position() + FLAGS_OFFSET, CodecFault::ReservedBits { found: flags }));
    }
    input.take(UNCHECKED_LENGTH)?;
    if flags & FLAG_EXTRA != 0 {
        let length = input.u16_le()?;
        input.take(usize::from(length))?;
    }
    for flag in [FLAG_NAME, FLAG_COMMENT] {
        if flags & flag != 0 {
            let length = memchr::memchr(0, input.rest()).ok_or_else(|| input.error(CodecFault::Truncated))?;
            input.take(length + 1)?;
        }
    }
    if flags & FLAG_HEADER_CRC != 0 {
        let covered = start.rest().get(..input.position() - start.position()).unwrap_or_default();
        let computed = crc32fast::hash(covered) as u16;
        let stored = input.u16_le()?;
        if stored != computed {
            return Err(start.error(CodecFault::HeaderCrc { stored, computed }));
        }
    }
    Ok(input.position())
}

/// Decodes the deflate stream at `position` and gives its end and the checksum of its content. `filled` is
/// how far the JDK has read its input, which decides what a failing read still delivers.
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
        let source = data.get(position..*filled).unwrap_or_default();
        let mut beyond = [0];
        let (room, capped) = match out.spare(KAFKA_STREAM_CHUNK) {
            Ok(spare) => {
                let length = spare.len().min(KAFKA_STREAM_CHUNK);
                (spare.get_mut(..length).unwrap_or_default(), None)
            }
            Err(NoRoom::OutOfMemory) => return Err(input.error_at(position, CodecFault::OutOfMemory)),
            // The stream may end without a further byte.
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
        crc.update(room.get(..produced).unwrap_or_default());
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

/// Checks a member's trailer against its content.
fn trailer(mut input: Input<'_>, computed: u32, actual: u64) -> Result<(), CodecError> {
    let position = input.position();
    let (stored, declared) = (input.u32_le()?, input.u32_le()?);
    if stored != computed {
        return Err(input.error_at(position, CodecFault::ContentChecksum { stored, computed }));
    }
    if declared != actual as u32 {
        let declared = u64::from(declared);
        return Err(input.error_at(position, CodecFault::ContentSize { declared, actual }));
    }
    Ok(())
}

/// What follows a member and its zero padding: a further member, or nothing.
fn after_padding(rest: Input<'_>) -> Result<Option<Input<'_>>, CodecError> {
    let bytes = rest.rest();
    let Some(zeros) = bytes.iter().position(|byte| *byte != 0) else { return Ok(None) };
    let next = rest.at(rest.position() + zeros);
    let follows = next.rest();
    if MAGIC.iter().zip(follows).all(|(a, b)| a == b) {
        Ok(Some(next))
    } else {
        Err(next.error(CodecFault::TrailingData { length: follows.len() as u64 }))
    }
}
