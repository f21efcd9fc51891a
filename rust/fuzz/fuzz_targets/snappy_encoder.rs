//! Two contents, compressed to snappy together and one by one: the bytes are the same, and the crate `snap` decodes the blocks.
//!
//! Input: the length of a piece and the number of its repetitions, 2 bytes each; then two halves, one for each content. The first
//! bytes of each are repeated in its middle, so that contents are long enough for all encoders.

#![no_main]

use kafkacomp_records::CompressionType;
use kafkacomp_records::compress::lz4::HeaderChecksum;
use kafkacomp_records::compress::snappy::HEADER_LENGTH;
use kafkacomp_records::compress::{Compression, compress, compress_both};
use libfuzzer_sys::fuzz_target;

const CHECKSUM: HeaderChecksum = HeaderChecksum::FrameDescriptor;
const LONGEST: usize = 80 << 10;

fn alone(content: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    compress(Compression::of(CompressionType::Snappy), CHECKSUM, content, &mut out).expect("memory");
    out
}

fn decoded(stream: &[u8]) -> Vec<u8> {
    let (mut content, mut rest) = (Vec::new(), &stream[HEADER_LENGTH..]);
    while let Some((size, after)) = rest.split_first_chunk() {
        let (block, after) = after.split_at(u32::from_be_bytes(*size) as usize);
        content.extend(snap::raw::Decoder::new().decompress_vec(block).expect("a block"));
        rest = after;
    }
    content
}

/// `data`, with its first `length` bytes repeated `times` times between its halves.
fn content(data: &[u8], length: usize, times: usize) -> Vec<u8> {
    let (first, second) = data.split_at(data.len() / 2);
    let piece = &data[..length.min(data.len())];
    let mut content = [first, &piece.repeat(times.min(LONGEST / piece.len().max(1))), second].concat();
    content.truncate(LONGEST);
    content
}

fuzz_target!(|data: &[u8]| {
    let Some((&[l0, l1, t0, t1], rest)) = data.split_first_chunk() else { return };
    let (length, times) = (u16::from_le_bytes([l0, l1]), u16::from_le_bytes([t0, t1]));
    let (first, second) = rest.split_at(rest.len() / 2);
    let contents = [first, second].map(|data| content(data, usize::from(length), usize::from(times)));
    let mut outs = [Vec::new(), Vec::new()];
    let [first, second] = &contents;
    compress_both(Compression::of(CompressionType::Snappy), CHECKSUM, [first, second], outs.each_mut())
        .expect("memory");
    for (content, out) in contents.iter().zip(&outs) {
        assert!(alone(content) == *out);
        assert!(decoded(out) == *content);
    }
});
