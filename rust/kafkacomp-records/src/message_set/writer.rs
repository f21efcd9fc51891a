//! Writing message sets as Kafka 0.7 does; [`message_set`](super) has the layout.
//!
//! Release 0.7 writes only magic 1, and attributes that contain only the codec. With a codec, all messages are written into
//! one wrapper, which may contain wrappers. Without messages nothing is written, not even an empty wrapper. Source: release 0.7.2,
//! `kafka.message` (`Message`, `MessageSet.createByteBuffer`, `CompressionUtils`).

use super::codec::MessageSetCodec;
use super::error::MessageSetFault;
use super::message::{HEADER_LENGTH_V1, SIZE_LENGTH};
use crate::checksum::crc32;
use crate::compress::lz4::HeaderChecksum;
use crate::compress::{Compression, CompressionType, compress};
use crate::memory;

/// An element of a set that is written.
#[derive(Debug, Clone, Copy)]
pub enum Content<'a> {
    /// A payload, which becomes a message of magic 1.
    Payload(&'a [u8]),
    /// A message without its size, which is written unchanged; it may be a wrapper or of magic 0.
    Message(&'a [u8]),
}

/// Appends a set of `contents` to `out`, in one wrapper if there is a codec.
///
/// # Errors
/// A size that exceeds its field, or an error of the codec; `out` is unchanged then.
pub fn write_message_set<'a>(
    contents: impl IntoIterator<Item = Content<'a>>,
    codec: Option<(MessageSetCodec, Compression)>,
    out: &mut Vec<u8>,
) -> Result<(), MessageSetFault> {
    let before = out.len();
    let written = write(contents, codec, out);
    if written.is_err() {
        out.truncate(before);
    }
    written
}

fn write<'a>(
    contents: impl IntoIterator<Item = Content<'a>>,
    codec: Option<(MessageSetCodec, Compression)>,
    out: &mut Vec<u8>,
) -> Result<(), MessageSetFault> {
    let Some((codec, compression)) = codec else {
        for content in contents {
            match content {
                Content::Payload(payload) => append(0, payload, out)?,
                Content::Message(data) => {
                    let size = size_field(data.len())?;
                    memory::reserve(out, size.len().saturating_add(data.len()))?;
                    out.extend_from_slice(&size);
                    out.extend_from_slice(data);
                }
            }
        }
        return Ok(());
    };
    let mut inner = Vec::new();
    write(contents, None, &mut inner)?;
    if inner.is_empty() {
        return Ok(());
    }
    let mut payload = Vec::new();
    // Kafka 0.7 has no LZ4, so the header checksum has no effect.
    compress(compression, HeaderChecksum::default(), &inner, &mut payload)
        .map_err(|source| MessageSetFault::Codec { source })?;
    let attributes = match codec {
        MessageSetCodec::Gzip => 1,
        MessageSetCodec::Snappy => 2,
    };
    append(attributes, &payload, out)
}

fn append(attributes: u8, payload: &[u8], out: &mut Vec<u8>) -> Result<(), MessageSetFault> {
    let size = size_field(payload.len().saturating_add(HEADER_LENGTH_V1))?;
    memory::reserve(out, payload.len().saturating_add(SIZE_LENGTH + HEADER_LENGTH_V1))?;
    out.extend_from_slice(&size);
    out.extend_from_slice(&[1, attributes]);
    out.extend_from_slice(&crc32(payload).to_be_bytes());
    out.extend_from_slice(payload);
    Ok(())
}

fn size_field(size: usize) -> Result<[u8; SIZE_LENGTH], MessageSetFault> {
    i32::try_from(size).map(i32::to_be_bytes).map_err(|_| MessageSetFault::TooLarge { size })
}

/// The codec of 0.7 for a compression type, `None` for no compression.
///
/// # Errors
/// The type, if 0.7 does not have it.
pub fn codec_of(compression_type: CompressionType) -> Result<Option<MessageSetCodec>, CompressionType> {
    match compression_type {
        CompressionType::None => Ok(None),
        CompressionType::Gzip => Ok(Some(MessageSetCodec::Gzip)),
        CompressionType::Snappy => Ok(Some(MessageSetCodec::Snappy)),
        other => Err(other),
    }
}
