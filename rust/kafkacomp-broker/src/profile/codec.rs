//! Decompression as in brokers before 0.10.2.
//!
//! - LZ4: 0.8.2 and 0.9 support neither content size nor content checksum and require the broken header checksum
//!   (KIP-57) for every magic; 0.10.0 accepts a missing content checksum.
//! - Snappy: 0.8.2 and 0.9 check the version of the first header and read one stream only.
//! - Gzip: 0.9 and 0.10.0 take a truncated member for the end of the messages.

use super::versions::Broker;
use kafkacomp_records::buffer::OutputBuffer;
use kafkacomp_records::compress::lz4::{self, HeaderChecksum, HeaderChecksumCheck};
use kafkacomp_records::compress::{self, CodecError, CodecFault, CompressionType, DecodeOptions, Strictness, snappy};
use kafkacomp_records::memory;
use kafkacomp_records::record::lz4_checksum::decode_options;

const CONTENT_CHECKSUM_LENGTH: usize = 4;
/// The shortest header of a gzip member.
const GZIP_HEADER_LENGTH: usize = 10;

/// Decompresses wrappers. The limit applies to the content of all of them together: a set may contain many wrappers, and in 0.8.2
/// a wrapper may contain others.
#[derive(Debug)]
pub(super) struct Unpacker {
    broker: Broker,
    left: usize,
}

impl Unpacker {
    pub(super) fn new(broker: Broker, max_output_size: usize) -> Self {
        Self { broker, left: max_output_size }
    }

    /// The content of `payload`, and the error after it.
    pub(super) fn unpack(
        &mut self,
        compression_type: CompressionType,
        magic: i8,
        payload: &[u8],
    ) -> (Vec<u8>, Result<(), CodecError>) {
        let mut content = OutputBuffer::new(self.left);
        let result = decompress(self.broker, compression_type, magic, payload, &mut content);
        self.left = self.left.saturating_sub(content.len());
        (content.into_vec(), result)
    }
}

/// Appends the content of `payload` to `out`. A truncated member that only ends the messages is not an error.
fn decompress(
    broker: Broker,
    compression_type: CompressionType,
    magic: i8,
    payload: &[u8],
    out: &mut OutputBuffer,
) -> Result<(), CodecError> {
    let old = broker <= Broker::V0_9_0;
    let options = decode_options(magic, Strictness::Kafka);
    match compression_type {
        CompressionType::Lz4 if broker < Broker::V0_10_2 => decompress_lz4(old, options, payload, out),
        CompressionType::Snappy if old => {
            snappy::check_framing_as_kafka_0_8_2(payload)?;
            compress::decompress(compression_type, options, payload, out)
        }
        CompressionType::Gzip if broker == Broker::V0_9_0 || broker == Broker::V0_10_0 => {
            match compress::decompress(compression_type, options, payload, out) {
                Err(CodecError { fault: CodecFault::Truncated, .. }) if payload.len() >= GZIP_HEADER_LENGTH => Ok(()),
                result => result,
            }
        }
        _ => compress::decompress(compression_type, options, payload, out),
    }
}

fn decompress_lz4(old: bool, options: DecodeOptions, payload: &[u8], out: &mut OutputBuffer) -> Result<(), CodecError> {
    let flg = lz4::frame_info(payload).ok().map(|info| info.flg);
    if let Some(flg) = flg.filter(|flg| old && (flg.content_size() || flg.content_checksum())) {
        let fault = CodecFault::ReservedBits { found: flg.byte() };
        return Err(CodecError { compression_type: CompressionType::Lz4, position: 0, fault });
    }
    let options = if old {
        DecodeOptions { lz4_header_checksum: HeaderChecksumCheck::Require(HeaderChecksum::WithMagic), ..options }
    } else {
        options
    };
    if flg.is_some_and(lz4::Flg::content_checksum) {
        let mut padded = memory::copy_of(payload).map_err(|error| CodecError {
            compression_type: CompressionType::Lz4,
            position: 0,
            fault: CodecFault::from(error),
        })?;
        padded.extend([0; CONTENT_CHECKSUM_LENGTH]);
        return compress::decompress(CompressionType::Lz4, options, &padded, out);
    }
    compress::decompress(CompressionType::Lz4, options, payload, out)
}
