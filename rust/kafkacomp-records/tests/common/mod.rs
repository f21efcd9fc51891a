//! Shared by the tests: the folders of vectors, a function for each way of decoding, and data of other libraries and old formats.
#![allow(dead_code, clippy::unwrap_used, reason = "each test binary uses a part")]

pub mod encode;
pub mod message_set;

use kafkacomp_records::CompressionType;
use kafkacomp_records::buffer::OutputBuffer;
use kafkacomp_records::compress::{CodecError, Compression, DecodeOptions, Strictness, compress, decompress};
use kafkacomp_records::record::lz4_checksum::{decode_options, written_header_checksum};
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::path::PathBuf;

/// An output limit that no valid vector reaches.
pub const ROOMY: usize = 64 << 20;

/// The folder of a set of vectors: the full set next to the repository if it exists, otherwise the part in the repository.
/// `None` with a message if neither exists.
pub fn vectors(folder: &str) -> Option<PathBuf> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let found = ["../shared/vectors", "tests/vectors"]
        .map(|base| root.join(base).join(folder))
        .into_iter()
        .find(|path| path.is_dir());
    if found.is_none() {
        eprintln!("SKIPPED: no vectors {folder} in tests/vectors or ../shared/vectors");
    }
    found
}

/// SHA-256 in hex.
pub fn sha256(data: &[u8]) -> String {
    Sha256::digest(data).iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// Decompresses as the records of a batch of `magic` are decompressed: the result, and the content up to an error.
pub fn as_record_set(codec: CompressionType, magic: i8, data: &[u8]) -> (Result<(), CodecError>, Vec<u8>) {
    let mut out = OutputBuffer::new(ROOMY);
    let verdict = decompress_record_set(codec, magic, data, &mut out);
    (verdict, out.into_vec())
}

/// Decompresses as the records of a batch of `magic` are decompressed.
pub fn decompress_record_set(
    codec: CompressionType,
    magic: i8,
    data: &[u8],
    out: &mut OutputBuffer,
) -> Result<(), CodecError> {
    decompress(codec, decode_options(magic, Strictness::Tolerant), data, out)
}

/// Compresses as the records of a batch of `magic` are compressed.
pub fn compress_record_set(compression: Compression, magic: i8, data: &[u8], out: &mut Vec<u8>) {
    compress(compression, written_header_checksum(magic), data, out).unwrap();
}

/// Decompresses by the codec's specification.
pub fn by_specification(codec: CompressionType) -> impl Fn(&[u8], &mut OutputBuffer) -> Result<(), CodecError> {
    move |data, out| decompress(codec, DecodeOptions::default(), data, out)
}

/// What `decode` returns with this output limit.
pub fn one_shot(
    decode: impl FnOnce(&[u8], &mut OutputBuffer) -> Result<(), CodecError>,
    data: &[u8],
    limit: usize,
) -> Result<Vec<u8>, CodecError> {
    let mut out = OutputBuffer::new(limit);
    let verdict = decode(data, &mut out);
    assert!(out.len() <= limit, "{} bytes with a limit of {limit}", out.len());
    verdict.map(|()| out.into_vec())
}
