//! Any bytes as two LZ4 blocks of a frame: accepted or refused as by liblz4, with the same content.
//!
//! Input: length of the first block, 2 bytes; the first block; the second block. Each is preceded by a literal of 5 KB, because
//! short blocks are always left to liblz4.

#![no_main]

use kafkacomp_records::CompressionType;
use kafkacomp_records::buffer::OutputBuffer;
use kafkacomp_records::compress::{DecodeOptions, decompress};
use libfuzzer_sys::fuzz_target;

const MOST: usize = 64 << 10;
/// A sequence whose match has offset 1 and length 4.
const LITERAL: usize = 5 << 10;

fn block(data: &[u8]) -> Vec<u8> {
    let (count, last) = ((LITERAL - 15) / 255, (LITERAL - 15) % 255);
    [&[0xF0][..], &vec![255; count], &[last as u8], &[b'x'; LITERAL], &[1, 0], data].concat()
}

fuzz_target!(|data: &[u8]| {
    let Some((length, data)) = data.split_first_chunk() else { return };
    let (first, second) = data.split_at(data.len().min(usize::from(u16::from_le_bytes(*length))));
    let blocks = [block(first), block(second)];
    if blocks.iter().any(|block| block.len() > MOST) {
        return;
    }
    let mut frame = vec![0x04, 0x22, 0x4D, 0x18, 0x60, 0x40, 0x82];
    let mut content = Some(Vec::new());
    let mut room = vec![0; MOST];
    for block in &blocks {
        frame.extend((block.len() as u32).to_le_bytes());
        frame.extend(block);
        content = content.and_then(|mut content| {
            let length = lzzzz::lz4::decompress(block, &mut room).ok()?;
            content.extend(&room[..length]);
            Some(content)
        });
    }
    frame.extend([0; 4]);
    let mut out = OutputBuffer::new(4 * MOST);
    let ours = decompress(CompressionType::Lz4, DecodeOptions::default(), &frame, &mut out);
    assert_eq!(ours.ok().map(|()| out.into_vec()), content);
});
