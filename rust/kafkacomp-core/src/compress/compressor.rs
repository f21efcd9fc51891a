//! Encoding for the record layer, with contexts that are kept between batches.

use super::lz4::EncodeOptions;
use super::{CodecError, CodecFault, Compression, CompressionType, gzip, lz4, snappy, zstd};
use crate::memory;
use std::cell::RefCell;
use std::fmt;

/// Encodes what goes into a record set, framed as Kafka's own streams frame it. One per thread: the codecs'
/// contexts are made once, when first needed.
#[derive(Default)]
pub struct Compressor {
    gzip: gzip::Encoders,
    snappy: snappy::Encoder,
    zstd: zstd::Encoder,
}

impl Compressor {
    /// Without contexts yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Compresses `data` for a batch or message of this `magic` and appends the whole framing to `out`.
    /// Magic 0 has the broken LZ4 header checksum (KIP-57).
    ///
    /// # Errors
    /// The codec could get no memory. `out` is then as it was.
    pub fn compress(
        &mut self,
        compression: Compression,
        magic: i8,
        data: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        let start = out.len();
        let result = match compression.compression_type() {
            CompressionType::None => {
                let (compression_type, fault) = (CompressionType::None, CodecFault::OutOfMemory);
                memory::append(out, data).map_err(|_| CodecError { compression_type, position: 0, fault })
            }
            CompressionType::Gzip => self.gzip.encode(compression.level(), data, out),
            CompressionType::Snappy => self.snappy.encode(data, out),
            CompressionType::Lz4 => {
                let options = EncodeOptions::of_record_set(compression.level(), magic);
                lz4::compress(data, options, out)
            }
            CompressionType::Zstd => self.zstd.encode(compression.level(), data, out),
        };
        if result.is_err() {
            out.truncate(start);
        }
        result
    }
}

impl fmt::Debug for Compressor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Compressor").finish_non_exhaustive()
    }
}

/// Compresses with this thread's contexts.
///
/// # Errors
/// As [`Compressor::compress`].
pub fn compress(compression: Compression, magic: i8, data: &[u8], out: &mut Vec<u8>) -> Result<(), CodecError> {
    thread_local! {
        static KEPT: RefCell<Compressor> = RefCell::default();
    }
    let mut kept = KEPT.take();
    let result = kept.compress(compression, magic, data, out);
    KEPT.set(kept);
    result
}
