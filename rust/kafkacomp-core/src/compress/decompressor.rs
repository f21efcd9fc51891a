//! Decoding for the record layer, with contexts that are kept between batches.

use super::lz4::{DecodeOptions, HeaderChecksum};
use super::{CodecError, CodecFault, CompressionType, Strictness, gzip, lz4, snappy, snappy_1_0, zstd};
use crate::buffer::OutputBuffer;
use ::zstd::zstd_safe::DCtx;
use std::cell::RefCell;
use std::fmt;

/// Decodes what a record set holds wherever Kafka's own streams read it. One per thread: the codecs'
/// contexts are made once, when first needed.
#[derive(Debug)]
pub struct Decompressor {
    kept: Kept,
    strictness: Strictness,
}

impl Decompressor {
    /// Without contexts yet.
    pub fn new() -> Self {
        Self { kept: Kept::default(), strictness: Strictness::RecordSet }
    }

    /// One that reads what Kafka's own streams read and not a byte more; see [`Strictness::Broker`].
    pub fn as_broker() -> Self {
        Self { kept: Kept::default(), strictness: Strictness::Broker }
    }

    /// Decodes `data`, the compressed part of a batch or message of this `magic`, and appends the content
    /// to `out`. Magic 0 has any LZ4 header checksum; later ones have the specification's.
    ///
    /// # Errors
    /// What Kafka refuses, the cap of `out`, or lack of memory. `out` then holds what Kafka's streams deliver before they
    /// fail.
    pub fn decompress(
        &mut self,
        compression_type: CompressionType,
        magic: i8,
        data: &[u8],
        out: &mut OutputBuffer,
    ) -> Result<(), CodecError> {
        let strictness = self.strictness;
        match compression_type {
            CompressionType::None => out.extend(data).map_err(|reason| CodecError {
                compression_type,
                position: 0,
                fault: CodecFault::from(reason),
            }),
            CompressionType::Gzip => gzip::decode(&mut self.kept.gzip, data, strictness, out),
            CompressionType::Snappy => snappy::decode(data, strictness, out),
            CompressionType::Lz4 => lz4::decompress(data, self.lz4_options(magic), out),
            CompressionType::Zstd => zstd::decode(&mut self.kept.zstd, data, strictness, out),
        }
    }

    /// Looks at what Kafka's streams look at when they are opened, before anything is read from them: headers, and all of
    /// a raw snappy block, which goes to `out`. A zstd stream is opened without a look.
    ///
    /// # Errors
    /// What Kafka refuses so early.
    pub fn open(
        &mut self,
        compression_type: CompressionType,
        magic: i8,
        data: &[u8],
        out: &mut OutputBuffer,
    ) -> Result<(), CodecError> {
        match compression_type {
            CompressionType::None | CompressionType::Zstd => Ok(()),
            CompressionType::Gzip => gzip::open(data),
            CompressionType::Snappy => snappy::open(data, out),
            CompressionType::Lz4 => lz4::open(data, self.lz4_options(magic)),
        }
    }

    fn lz4_options(&self, magic: i8) -> DecodeOptions {
        DecodeOptions { header_checksum: HeaderChecksum::of_record_set(magic), strictness: self.strictness }
    }

    /// Decodes `data`, the payload of a wrapper of Kafka 0.7, and appends the content to `out`. Its gzip
    /// streams are read as later ones are; its snappy library had rules of its own.
    ///
    /// # Errors
    /// What Kafka 0.7 refuses, or the cap of `out`, whose further content is then not defined.
    pub fn decompress_message_set(
        &mut self,
        codec: MessageSetCodec,
        data: &[u8],
        out: &mut OutputBuffer,
    ) -> Result<(), CodecError> {
        match codec {
            MessageSetCodec::Gzip => gzip::decode(&mut self.kept.gzip, data, Strictness::RecordSet, out),
            MessageSetCodec::Snappy => snappy_1_0::decode(data, out),
        }
    }
}

impl Default for Decompressor {
    fn default() -> Self {
        Self::new()
    }
}

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
}

/// The contexts that are worth keeping: each costs more to make than a small batch to decode.
#[derive(Default)]
pub(super) struct Kept {
    pub(super) gzip: Option<gzip::Decoders>,
    pub(super) zstd: Option<DCtx<'static>>,
}

impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kept").field("gzip", &self.gzip.is_some()).field("zstd", &self.zstd.is_some()).finish()
    }
}

/// Runs `decode` with this thread's contexts, for the one-shots that have none of their own.
pub(super) fn with_kept<R>(decode: impl FnOnce(&mut Kept) -> R) -> R {
    thread_local! {
        static KEPT: RefCell<Kept> = RefCell::default();
    }
    let mut kept = KEPT.take();
    let result = decode(&mut kept);
    KEPT.set(kept);
    result
}
