//! The encoders of all codecs.

use super::super::lz4::{EncodeOptions, HeaderChecksum};
use super::super::{CodecError, Compression, CompressionType, gzip, lz4, snappy, zstd};
use super::Encoder;
use super::plain::Plain;

/// Creates an encoder that writes the frames of Kafka's stream of this type and level; LZ4 frames get this header
/// checksum.
///
/// # Errors
/// The codec cannot allocate memory.
pub fn encoder(compression: Compression, lz4_header_checksum: HeaderChecksum) -> Result<Box<dyn Encoder>, CodecError> {
    let level = compression.level();
    Ok(match compression.compression_type() {
        CompressionType::None => Box::new(Plain::default()),
        CompressionType::Gzip => Box::new(gzip::StreamEncoder::new(level)?),
        CompressionType::Snappy => Box::new(snappy::encoder()),
        CompressionType::Lz4 => {
            let options = EncodeOptions { level, header_checksum: lz4_header_checksum, ..EncodeOptions::default() };
            Box::new(lz4::encoder(options))
        }
        CompressionType::Zstd => Box::new(zstd::StreamEncoder::new(level)?),
    })
}
