//! Snappy as old Kafka releases read it: one stream, whose version is checked.
//!
//! ```text
//! stream = header | (size, 4 | raw block)* | up to 3 bytes that are ignored
//! header = 82 53 4E 41 50 50 59 00 | version, 4 | compatible version, 4
//! ```
//!
//! Unlike later releases they read a further header as a block of negative size, and they require a version of at least 1
//! whatever the compatible version is. As in [`snappy`](super), data that do not begin with the magic or are too short for a header
//! are one raw block. Therefore empty data are an error, and so is a block of size 0, which does not contain the length of its
//! content.

use super::super::{CodecError, CompressionType};
use super::decode::{KafkaReads, decode_by};
use super::xerial::{Element, HEADER_LENGTH, Header, MAGIC, Rules, SIZE_LENGTH};
use crate::buffer::OutputBuffer;

/// Decodes `data` as Kafka 0.7 does, with the `SnappyInputStream` of snappy-java 1.0.4.1, and appends the content to
/// `out`.
///
/// # Errors
/// The data are refused by snappy-java 1.0.4.1 or exceed the limit of `out`; `out` then contains the content before the error.
pub fn decompress_as_kafka_0_7(data: &[u8], out: &mut OutputBuffer) -> Result<(), CodecError> {
    let mut reads = KafkaReads { start: out.len() };
    decode_by(Rules::ONE_STREAM, data, &mut reads, out)
}

/// Checks the framing as Kafka 0.8.2 and 0.9 do. Blocks are not decoded, and truncated data pass: the decoder refuses them.
///
/// # Errors
/// A version below 1, or a further header.
pub fn check_framing_as_kafka_0_8_2(data: &[u8]) -> Result<(), CodecError> {
    let fail = |position: usize, fault| CodecError {
        compression_type: CompressionType::Snappy,
        position: position as u64,
        fault,
    };
    if !data.starts_with(&MAGIC) {
        return Ok(());
    }
    // A missing version is 0.
    let mut header = [0; HEADER_LENGTH];
    for (to, from) in header.iter_mut().zip(data) {
        *to = *from;
    }
    let rules = Rules::ONE_STREAM;
    rules.check_first(Header::parse(header)).map_err(|(offset, fault)| fail(offset, fault))?;
    let mut position = HEADER_LENGTH;
    while let Some(size) = data.get(position..).and_then(<[u8]>::first_chunk) {
        match rules.element(*size).map_err(|fault| fail(position, fault))? {
            Element::Block { length } => position = position.saturating_add(SIZE_LENGTH).saturating_add(length),
            Element::Header => return Ok(()),
        }
    }
    Ok(())
}
