//! Compressed records that Kafka reads although they violate the specification of their codec: bytes after an LZ4 end mark or
//! a gzip member, a wrong content size or content checksum of LZ4, or the header checksums of magic 0 (KIP-57). Other readers
//! refuse them, so `verify` warns of them.

use super::batch::RecordBatch;
use super::layout::v2::RECORDS_OFFSET;
use super::lz4_checksum::{decode_options, written_header_checksum};
use super::v0_v1::wrapper_payload;
use crate::CompressionType;
use crate::buffer::OutputBuffer;
use crate::compress::lz4::{HeaderChecksumCheck, HeaderChecksumFound, frame_info};
use crate::compress::{CodecError, Strictness, decompress};

/// How the compressed records of a batch violate the specification.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NonConformity {
    /// The codec's specification refuses them.
    #[error("violates the specification of its codec, though Kafka reads it: {0}")]
    Specification(#[from] CodecError),
    /// Magic 0 with the header checksum of the specification.
    #[error("the LZ4 header checksum of a message of magic 0 is not KIP-57's: clients of 0.8.2 and 0.9 refuse it")]
    StandardHeaderChecksum,
    /// Magic 0 with a header checksum that is neither of the two.
    #[error("the LZ4 header checksum of a message of magic 0 matches neither rule: clients of 0.8.2 and 0.9 refuse it")]
    NoHeaderChecksum,
}

/// Decodes the compressed records of `batch` again, by the specification, into `scratch` and within its limit. `None` if they
/// conform, and if the batch has no compressed records that can be read.
pub fn non_conformity(batch: &RecordBatch<'_>, scratch: &mut OutputBuffer) -> Option<NonConformity> {
    let compression_type = batch.compression_type().ok()?;
    if compression_type == CompressionType::None || batch.records_count() == Some(0) {
        return None;
    }
    let payload = match batch.magic() {
        0 | 1 => wrapper_payload(batch, compression_type).ok()?,
        _ => batch.data().get(RECORDS_OFFSET..)?,
    };
    scratch.reset(scratch.limit());
    let mut options = decode_options(batch.magic(), Strictness::Specification);
    if compression_type == CompressionType::Lz4 && batch.magic() == 0 {
        match frame_info(payload).ok()?.header_checksum_found() {
            HeaderChecksumFound::FrameDescriptor => return Some(NonConformity::StandardHeaderChecksum),
            HeaderChecksumFound::Neither => return Some(NonConformity::NoHeaderChecksum),
            HeaderChecksumFound::WithMagic | HeaderChecksumFound::Both => {
                options.lz4_header_checksum = HeaderChecksumCheck::Require(written_header_checksum(batch.magic()));
            }
        }
    }
    decompress(compression_type, options, payload, scratch).err().map(NonConformity::Specification)
}
