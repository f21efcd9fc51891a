//! Compression and decompression of whole payloads, with contexts that the thread keeps from call to call.

#[cfg(any(feature = "_gzip", feature = "snappy", feature = "_zstd"))]
use super::contexts::with_contexts;
#[cfg(feature = "_gzip")]
use super::gzip;
use super::lz4::HeaderChecksum;
#[cfg(feature = "_lz4")]
use super::lz4::{self, EncodeOptions};
#[cfg(feature = "snappy")]
use super::snappy;
use super::{CodecError, CodecFault, Compression, CompressionType, DecodeOptions};
use crate::buffer::OutputBuffer;
use crate::memory;

/// Compresses `data` as Kafka's own stream of this type and level frames it, and appends that to `out`.
/// `lz4_header_checksum` is the one that an LZ4 frame gets; other types have none.
///
/// # Errors
/// Memory runs out; `out` is unchanged then.
pub fn compress(
    compression: Compression,
    lz4_header_checksum: HeaderChecksum,
    data: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), CodecError> {
    let start = out.len();
    let level = compression.level();
    let result = match compression.compression_type() {
        CompressionType::None => memory::append(out, data).map_err(|_| CodecError {
            compression_type: CompressionType::None,
            position: 0,
            fault: CodecFault::OutOfMemory,
        }),
        #[cfg(feature = "_gzip")]
        CompressionType::Gzip => with_contexts(|contexts| contexts.gzip_encoders.encode(level, data, out)),
        #[cfg(feature = "snappy")]
        CompressionType::Snappy => with_contexts(|contexts| contexts.snappy_encoder.encode(data, out)),
        #[cfg(feature = "_lz4")]
        CompressionType::Lz4 => {
            let options = EncodeOptions { level, header_checksum: lz4_header_checksum, ..EncodeOptions::default() };
            lz4::compress(data, options, out)
        }
        #[cfg(feature = "zstd")]
        CompressionType::Zstd => with_contexts(|contexts| contexts.zstd_encoder.encode(level, data, out)),
        #[cfg(not(all(feature = "_gzip", feature = "snappy", feature = "_lz4", feature = "zstd")))]
        other => Err(CodecError::not_compiled(other)),
    };
    if result.is_err() {
        out.truncate(start);
    }
    result
}

/// Whether two payloads of this length are compressed in less time by [`compress_both`] than one after the other.
pub(crate) fn is_faster_in_pairs(compression: Compression, length: usize) -> bool {
    #[cfg(feature = "snappy")]
    if compression.compression_type() == CompressionType::Snappy {
        return snappy::is_faster_in_pairs(length);
    }
    false
}

/// As [`compress`], for two payloads that have outputs of their own. Snappy payloads of 8 to 32 KiB are compressed
/// together, in less time than one after the other; for others there is no difference. The output of each is the same as that of [`compress`].
///
/// # Errors
/// Memory runs out; both outputs are unchanged then.
pub fn compress_both(
    compression: Compression,
    lz4_header_checksum: HeaderChecksum,
    payloads: [&[u8]; 2],
    outs: [&mut Vec<u8>; 2],
) -> Result<(), CodecError> {
    let [first_out, second_out] = outs;
    let starts = (first_out.len(), second_out.len());
    let result = match compression.compression_type() {
        #[cfg(feature = "snappy")]
        CompressionType::Snappy => {
            with_contexts(|contexts| contexts.snappy_encoder.encode_both(payloads, [first_out, second_out]))
        }
        _ => {
            let [first, second] = payloads;
            compress(compression, lz4_header_checksum, first, first_out)
                .and_then(|()| compress(compression, lz4_header_checksum, second, second_out))
        }
    };
    if result.is_err() {
        first_out.truncate(starts.0);
        second_out.truncate(starts.1);
    }
    result
}

/// Decompresses all frames of `data` and appends their content to `out`.
///
/// # Errors
/// Data that `options` do not accept, more output than the limit of `out`, or lack of memory. `out` then contains the output
/// before the refused element: as much as Kafka's own streams return before they fail, unless the
/// [`Strictness`](super::Strictness) is that of the specification.
pub fn decompress(
    compression_type: CompressionType,
    options: DecodeOptions,
    data: &[u8],
    out: &mut OutputBuffer,
) -> Result<(), CodecError> {
    let strictness = options.strictness;
    match compression_type {
        CompressionType::None => {
            out.extend(data).map_err(|reason| CodecError { compression_type, position: 0, fault: reason.into() })
        }
        #[cfg(feature = "_gzip")]
        CompressionType::Gzip => {
            with_contexts(|contexts| gzip::decode(&mut contexts.gzip_decoder, data, strictness, out))
        }
        #[cfg(feature = "snappy")]
        CompressionType::Snappy => snappy::decode(data, strictness, out),
        #[cfg(feature = "_lz4")]
        CompressionType::Lz4 => lz4::decode(data, options, out),
        #[cfg(feature = "_zstd")]
        CompressionType::Zstd => with_contexts(|contexts| contexts.zstd_decoder.decode(data, strictness, out)),
        #[cfg(not(all(feature = "_gzip", feature = "snappy", feature = "_lz4", feature = "_zstd")))]
        other => Err(CodecError::not_compiled(other)),
    }
}

/// Whether [`decompress_both`] may take less time for payloads one of which has this length.
pub(crate) fn may_pair(compression_type: CompressionType, length: usize) -> bool {
    #[cfg(feature = "_lz4")]
    if compression_type == CompressionType::Lz4 {
        return lz4::may_pair(length);
    }
    false
}

/// The length of the shortest payload that [`may_pair`].
#[cfg(feature = "_lz4")]
pub(crate) const SHORTEST_OF_BOTH: usize = lz4::SHORTEST_OF_BOTH;
/// Without LZ4 no payload may.
#[cfg(not(feature = "_lz4"))]
pub(crate) const SHORTEST_OF_BOTH: usize = usize::MAX;

/// The room after the content that [`decompress_both`] needs.
#[cfg(feature = "_lz4")]
pub(crate) const ROOM_FOR_BOTH: usize = lz4::ROOM_FOR_BOTH;
/// Without LZ4 it is not used.
#[cfg(not(feature = "_lz4"))]
pub(crate) const ROOM_FOR_BOTH: usize = 0;

/// Decompresses two payloads at once, if that takes less time than one after the other: appends the content of the first one to `out`,
/// and [keeps](OutputBuffer::keep_ahead) that of the second one after it. Otherwise, and if one of them is invalid, returns `false` and
/// leaves the content of `out` as it is.
pub fn decompress_both(
    compression_type: CompressionType,
    options: DecodeOptions,
    payloads: [&[u8]; 2],
    out: &mut OutputBuffer,
) -> bool {
    #[cfg(feature = "_lz4")]
    if compression_type == CompressionType::Lz4 {
        return lz4::decode_both(payloads, options, out).is_some();
    }
    false
}

/// Checks what Kafka's stream checks when it is opened, before anything is read from it: the first header, and all of a
/// raw snappy block, whose content goes to `out`. Opening a zstd stream reads nothing.
///
/// # Errors
/// What Kafka's stream refuses when it is opened.
pub fn open(
    compression_type: CompressionType,
    options: DecodeOptions,
    data: &[u8],
    out: &mut OutputBuffer,
) -> Result<(), CodecError> {
    match compression_type {
        CompressionType::None => Ok(()),
        #[cfg(feature = "_zstd")]
        CompressionType::Zstd => Ok(()),
        #[cfg(feature = "_gzip")]
        CompressionType::Gzip => gzip::open(data, options.strictness),
        #[cfg(feature = "snappy")]
        CompressionType::Snappy => snappy::open(data, options.strictness, out),
        #[cfg(feature = "_lz4")]
        CompressionType::Lz4 => lz4::open(data, options),
        #[cfg(not(all(feature = "_gzip", feature = "snappy", feature = "_lz4", feature = "_zstd")))]
        other => Err(CodecError::not_compiled(other)),
    }
}
