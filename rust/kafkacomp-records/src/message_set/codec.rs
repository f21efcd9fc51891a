//! The two codecs of Kafka 0.7.

use crate::buffer::OutputBuffer;
#[cfg(feature = "snappy")]
use crate::compress::snappy;
use crate::compress::{CodecError, CompressionType, DecodeOptions, Strictness, decompress};

/// What Kafka 0.7 compresses with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MessageSetCodec {
    /// RFC 1952 members.
    Gzip,
    /// Snappy-java 1.0.4.1's stream of blocks, or one raw block.
    Snappy,
}

impl MessageSetCodec {
    /// The codec as one of all compression types.
    pub fn compression_type(self) -> CompressionType {
        match self {
            Self::Gzip => CompressionType::Gzip,
            Self::Snappy => CompressionType::Snappy,
        }
    }

    /// Decompresses `payload` of a wrapper and appends the content to `out`. Gzip is read as by later releases, snappy as by
    /// snappy-java 1.0.4.1.
    ///
    /// # Errors
    /// Data that Kafka 0.7 refuses, or more output than the limit of `out`. The content added to `out` is then undefined.
    pub(super) fn decompress(self, payload: &[u8], out: &mut OutputBuffer) -> Result<(), CodecError> {
        match self {
            Self::Gzip => {
                let options = DecodeOptions { strictness: Strictness::Tolerant, ..DecodeOptions::default() };
                decompress(CompressionType::Gzip, options, payload, out)
            }
            #[cfg(feature = "snappy")]
            Self::Snappy => snappy::decompress_as_kafka_0_7(payload, out),
            #[cfg(not(feature = "snappy"))]
            Self::Snappy => Err(CodecError::not_compiled(CompressionType::Snappy)),
        }
    }
}
