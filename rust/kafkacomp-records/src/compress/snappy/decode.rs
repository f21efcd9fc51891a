//! Decompression of streams and raw blocks.

use super::super::input::Input;
use super::super::{CodecError, CodecFault, CompressionType, Strictness};
use super::raw_decode;
use super::raw_length::content_length;
use super::xerial::{Element, HEADER_LENGTH, Header, MAGIC, Rules, SIZE_LENGTH};
use crate::buffer::OutputBuffer;

/// The most bytes of content for three bytes of a raw block: a copy element of 64.
const MAX_EXPANSION: (usize, usize) = (64, 3);
/// Kafka reads its snappy stream with a buffer of this size (`SnappyCompression.decompressionOutputSize`).
pub(super) const KAFKA_READ: usize = 2 << 10;

/// Decodes `data` and appends the content to `out`.
pub(in super::super) fn decode(data: &[u8], strictness: Strictness, out: &mut OutputBuffer) -> Result<(), CodecError> {
    let mut reads = KafkaReads { start: out.len() };
    let result = decode_by(Rules::of(strictness), data, &mut reads, out);
    if result.is_err() && strictness != Strictness::Specification && is_stream(Rules::of(strictness), data) {
        // A read that fails loses what it has already copied from earlier blocks.
        out.truncate(out.len() - reads.unfinished(out));
    }
    result
}

/// Whether `data` are a stream, not a raw block.
pub(super) fn is_stream(rules: Rules, data: &[u8]) -> bool {
    data.starts_with(&MAGIC) && (data.len() >= HEADER_LENGTH || !rules.short_header_is_raw)
}

/// Decodes `data` by these rules.
pub(super) fn decode_by(
    rules: Rules,
    data: &[u8],
    reads: &mut KafkaReads,
    out: &mut OutputBuffer,
) -> Result<(), CodecError> {
    let mut input = Input::new(CompressionType::Snappy, data);
    if is_stream(rules, data) { streams(&mut input, rules, reads, out) } else { raw_block(&input, 0, data, out) }
}

/// Checks what Kafka's stream checks when it is opened: the header or, without one, the whole raw block.
pub(in super::super) fn open(data: &[u8], strictness: Strictness, out: &mut OutputBuffer) -> Result<(), CodecError> {
    if is_stream(Rules::of(strictness), data) { Ok(()) } else { decode(data, strictness, out) }
}

/// Where Kafka's reads of [`KAFKA_READ`] bytes begin. It decides which bytes remain after a failure.
pub(super) struct KafkaReads {
    /// The length of the output at that point.
    pub(super) start: usize,
}

impl KafkaReads {
    /// The number of bytes at the end of the output that belong to an incomplete read.
    fn unfinished(&self, out: &OutputBuffer) -> usize {
        (out.len() - self.start) % KAFKA_READ
    }
}

/// Decodes all streams, beginning with the first header.
fn streams(
    input: &mut Input<'_>,
    rules: Rules,
    reads: &mut KafkaReads,
    out: &mut OutputBuffer,
) -> Result<(), CodecError> {
    let header = Header::parse(input.take_array()?);
    rules.check_first(header).map_err(|(offset, fault)| input.error_at(offset, fault))?;
    while !input.rest().is_empty() {
        if rules.ignores_short_size && input.rest().len() < SIZE_LENGTH {
            return Ok(());
        }
        let start = *input;
        let position = input.position();
        match rules.element(input.take_array()?).map_err(|fault| start.error(fault))? {
            Element::Header => {
                *input = start;
                let header = Header::parse(input.take_array()?);
                rules.check_further(header).map_err(|(offset, fault)| input.error_at(position + offset, fault))?;
                if !header.has_magic() {
                    // In Kafka it ends the read, and the content if the read is still empty.
                    if reads.unfinished(out) == 0 {
                        return Ok(());
                    }
                    reads.start = out.len();
                }
            }
            Element::Block { length } => {
                let block = input.take(length)?;
                raw_block(input, position, block, out)?;
            }
        }
    }
    Ok(())
}

/// Decodes one raw block, which must be complete and have exactly the declared length.
pub(super) fn raw_block(
    input: &Input<'_>,
    position: usize,
    block: &[u8],
    out: &mut OutputBuffer,
) -> Result<(), CodecError> {
    let (claimed, start) = match content_length(block) {
        Ok(Some((claimed, start))) => (claimed as usize, start),
        Ok(None) => return Err(input.error_at(position, CodecFault::Truncated)),
        Err(fault) => return Err(input.error_at(position, fault)),
    };
    let (most, bytes) = MAX_EXPANSION;
    if claimed / most > block.len() / bytes + 1 {
        let (compressed, claimed) = (block.len() as u64, claimed as u64);
        return Err(input.error_at(position, CodecFault::ImplausibleSize { compressed, claimed }));
    }
    let elements = block.split_at(start).1;
    let room = out
        .spare_with_slack(claimed, raw_decode::slack(elements))
        .map_err(|reason| input.no_room_at(position, reason))?;
    raw_decode::decode(elements, room, claimed).ok_or_else(|| input.error_at(position, CodecFault::CorruptBlock))?;
    out.advance(claimed);
    Ok(())
}
