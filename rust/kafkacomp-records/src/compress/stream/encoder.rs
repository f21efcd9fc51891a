//! The encoders of all codecs.

#[cfg(feature = "_gzip")]
use super::super::gzip;
use super::super::lz4::HeaderChecksum;
#[cfg(feature = "_lz4")]
use super::super::lz4::{self, EncodeOptions};
#[cfg(feature = "snappy")]
use super::super::snappy;
#[cfg(feature = "zstd")]
use super::super::zstd;
use super::super::{CodecError, Compression, CompressionType};
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
        #[cfg(feature = "_gzip")]
        CompressionType::Gzip => Box::new(gzip::StreamEncoder::new(level)?),
        #[cfg(feature = "snappy")]
        CompressionType::Snappy => Box::new(snappy::encoder()),
        #[cfg(feature = "_lz4")]
        CompressionType::Lz4 => {
            let options = EncodeOptions { level, header_checksum: lz4_header_checksum, ..EncodeOptions::default() };
            Box::new(lz4::encoder(options))
        }
        #[cfg(feature = "zstd")]
        CompressionType::Zstd => Box::new(zstd::StreamEncoder::new(level)?),
        #[cfg(not(all(feature = "_gzip", feature = "snappy", feature = "_lz4", feature = "zstd")))]
        other => return Err(CodecError::not_compiled(other)),
    })
}
