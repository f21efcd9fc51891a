//! The encoders of all codecs.

use super::super::lz4::EncodeOptions;
use super::super::{CodecError, Compression, CompressionType, gzip, lz4, snappy, zstd};
use super::Encoder;
use super::plain::Plain;

/// The encoder that frames as Kafka's stream of this type, level and magic does.
///
/// # Errors
/// The codec could get no memory.
pub fn encoder(compression: Compression, magic: i8) -> Result<Box<dyn Encoder>, CodecError> {
    let level = compression.level();
    Ok(match compression.compression_type() {
        CompressionType::None => Box::new(Plain::default()),
        CompressionType::Gzip => Box::new(gzip::StreamEncoder::new(level)?),
        CompressionType::Snappy => Box::new(snappy::encoder()),
        CompressionType::Lz4 => Box::new(lz4::encoder(EncodeOptions::of_record_set(level, magic))),
        CompressionType::Zstd => Box::new(zstd::StreamEncoder::new(level)?),
    })
}
