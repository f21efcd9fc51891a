//! From streams and blocks to bytes.

use super::super::input::Input;
use super::super::{CodecError, CodecFault, CompressionType, Strictness};
use super::walk::length;
use super::{HEADER_LENGTH, MAGIC, VERSION, raw_decode};
use crate::buffer::OutputBuffer;

/// The first half of the magic, read as a block's size: how a reader tells a further header.
pub(super) const MAGIC_HEAD: i32 = i32::from_be_bytes([0x82, b'S', b'N', b'A']);
/// The largest block that snappy-java takes, compressed.
pub(super) const MAX_BLOCK_SIZE: i32 = 512 << 20;
/// The most bytes that three bytes of a raw block make: one copy element of 64.
const MAX_EXPANSION: (usize, usize) = (64, 3);
/// Kafka reads its snappy stream in pieces of this size (`SnappyCompression.decompressionOutputSize`).
pub(super) const KAFKA_READ: usize = 2 << 10;

/// Decodes `data` by the specification and appends the content to `out`.
///
/// # Errors
/// Data that end too early or break the format; `out` then holds what was decoded before.
pub fn decompress(data: &[u8], out: &mut OutputBuffer) -> Result<(), CodecError> {
    decode(data, Strictness::Specification, out)
}

pub(in super::super) fn decode(data: &[u8], strictness: Strictness, out: &mut OutputBuffer) -> Result<(), CodecError> {
    let mut input = Input::new(CompressionType::Snappy, data);
    if data.is_empty() {
        return Err(input.error(CodecFault::Truncated));
    }
    if !data.starts_with(&MAGIC) || (data.len() < HEADER_LENGTH && strictness != Strictness::Specification) {
        return raw_block(&input, 0, data, out);
    }
    let mut reads = KafkaReads { start: out.len() };
    let result = streams(&mut input, strictness, &mut reads, out);
    if result.is_err() && strictness != Strictness::Specification {
        // The read that fails takes with it what it had already copied from earlier blocks.
        out.truncate(out.len() - reads.unfinished(out));
    }
    result
}

/// What Kafka's stream looks at when it is opened: the header, or, without one, all of the raw block.
pub(in super::super) fn open(data: &[u8], out: &mut OutputBuffer) -> Result<(), CodecError> {
    if data.starts_with(&MAGIC) && data.len() >= HEADER_LENGTH {
        return Ok(());
    }
    decode(data, Strictness::RecordSet, out)
}

/// Where Kafka's reads of [`KAFKA_READ`] bytes begin, which decides what a failure leaves.
struct KafkaReads {
    start: usize,
}

impl KafkaReads {
    /// How much of the output belongs to a read that is not full yet.
    fn unfinished(&self, out: &OutputBuffer) -> usize {
        (out.len() - self.start) % KAFKA_READ
    }
}

/// Streams one after another, from the first header on.
fn streams(
    input: &mut Input<'_>,
    strictness: Strictness,
    reads: &mut KafkaReads,
    out: &mut OutputBuffer,
) -> Result<(), CodecError> {
    header(input, strictness, true)?;
    while !input.rest().is_empty() {
        if strictness != Strictness::Specification && input.rest().len() < 4 {
            return Ok(());
        }
        let position = input.position();
        let size = input.i32_be()?;
        if size == MAGIC_HEAD {
            *input = input.at(position);
            let real = header(input, strictness, false)?;
            if !real && reads.unfinished(out) == 0 {
                return Ok(());
            } else if !real {
                reads.start = out.len();
            }
            continue;
        }
        if !(0..=MAX_BLOCK_SIZE).contains(&size) {
            let (size, max) = (i64::from(size), i64::from(MAX_BLOCK_SIZE));
            return Err(input.error_at(position, CodecFault::BlockSize { size, max }));
        }
        let block = input.take(size as usize)?;
        raw_block(input, position, block, out)?;
    }
    Ok(())
}

/// One header; `false` for one whose magic is right in its first half only, which a record set may have.
pub(super) fn header(input: &mut Input<'_>, strictness: Strictness, first: bool) -> Result<bool, CodecError> {
    let position = input.position();
    let magic = input.take(MAGIC.len())?;
    let version_position = input.position();
    let version = input.i32_be()?;
    let compatible = input.i32_be()?;
    let supported = match strictness {
        Strictness::RecordSet | Strictness::Broker => first || magic != MAGIC || version >= VERSION,
        Strictness::Specification if magic != MAGIC => {
            return Err(input.error_at(position, CodecFault::BadMagic { found: input.at(position).next_four() }));
        }
        Strictness::Specification => compatible == VERSION || compatible.swap_bytes() == VERSION,
    };
    if supported {
        Ok(magic == MAGIC)
    } else {
        let version = i64::from(version);
        Err(input.error_at(version_position, CodecFault::UnsupportedVersion { version }))
    }
}

/// One raw block, which must be whole and fill exactly the length that it claims.
pub(in super::super) fn raw_block(
    input: &Input<'_>,
    position: usize,
    block: &[u8],
    out: &mut OutputBuffer,
) -> Result<(), CodecError> {
    let (claimed, start) = match length(block) {
        Ok(Some((claimed, start))) => (claimed as usize, start),
        Ok(None) => return Err(input.error_at(position, CodecFault::Truncated)),
        Err(fault) => return Err(input.error_at(position, fault)),
    };
    let (most, bytes) = MAX_EXPANSION;
    if claimed / most > block.len() / bytes + 1 {
        let (compressed, claimed) = (block.len() as u64, claimed as u64);
        return Err(input.error_at(position, CodecFault::ImplausibleSize { compressed, claimed }));
    }
    let elements = block.get(start..).unwrap_or_default();
    let room = out
        .spare_with_slack(claimed, raw_decode::slack(elements))
        .map_err(|reached| input.no_room_at(position, reached))?;
    raw_decode::decode(elements, room, claimed).ok_or_else(|| input.error_at(position, CodecFault::CorruptBlock))?;
    out.advance(claimed);
    Ok(())
}
