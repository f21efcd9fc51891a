//! Any bytes as a raw snappy block: accepted or refused as by the crate `snap`, with the same content.
//!
//! Input: the block.

#![no_main]

use kafkacomp_records::CompressionType;
use kafkacomp_records::buffer::OutputBuffer;
use kafkacomp_records::compress::{DecodeOptions, decompress, snappy};
use libfuzzer_sys::fuzz_target;

const LIMIT: usize = 1 << 20;

fn ours(data: &[u8]) -> Option<Vec<u8>> {
    let mut out = OutputBuffer::new(LIMIT);
    decompress(CompressionType::Snappy, DecodeOptions::default(), data, &mut out).ok().map(|()| out.into_vec())
}

fuzz_target!(|data: &[u8]| {
    if !data.starts_with(&snappy::MAGIC) && snap::raw::decompress_len(data).is_ok_and(|length| length <= LIMIT) {
        assert_eq!(ours(data), snap::raw::Decoder::new().decompress_vec(data).ok());
    }
});
