//! Any bytes as the compressed records of every codec and magic: the result is within the limit, and the same if repeated.
//!
//! Input: one byte that selects codec and magic, then the compressed data.

#![no_main]

use kafkacomp_records::CompressionType;
use kafkacomp_records::buffer::OutputBuffer;
use kafkacomp_records::compress::{Strictness, decompress};
use kafkacomp_records::record::lz4_checksum::decode_options;
use libfuzzer_sys::fuzz_target;

const LIMIT: usize = 1 << 20;

fuzz_target!(|data: &[u8]| {
    let Some((&choice, data)) = data.split_first() else { return };
    let compression_type = CompressionType::ALL[usize::from(choice) % CompressionType::ALL.len()];
    let magic = (choice / 8 % 3).cast_signed();
    let options = decode_options(magic, Strictness::Tolerant);
    let mut out = OutputBuffer::new(LIMIT);
    let first = decompress(compression_type, options, data, &mut out);
    assert!(out.len() <= LIMIT);
    let content = out.as_slice().to_vec();
    // A reused context must not depend on the frame before, not even on a corrupt one.
    out.reset(LIMIT);
    let second = decompress(compression_type, options, data, &mut out);
    assert_eq!(first.is_ok(), second.is_ok());
    assert_eq!(content, out.as_slice());
});
