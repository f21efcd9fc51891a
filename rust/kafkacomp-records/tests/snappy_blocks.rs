//! Raw snappy blocks, built element by element, are accepted or refused as by the crate `snap`, with the same content.

#![allow(clippy::unwrap_used, missing_docs, reason = "a test")]

mod common;

use common::{ROOMY, by_specification, encode, one_shot};
use kafkacomp_records::CompressionType;
use kafkacomp_records::compress::snappy::MAGIC;
use kafkacomp_records::compress::{CodecFault, CodecFaultKind};
use proptest::prelude::*;

/// An element of a block, and its encoding.
#[derive(Debug, Clone)]
enum Element {
    /// The length, and the number of bytes that encode it; 0 if it is in the tag.
    Literal(usize, usize),
    /// Offset, length, and the number of bytes that encode the offset: 1, 2 or 4.
    Copy(usize, usize, usize),
}

/// The encoded elements of a block, and the size of their content.
#[derive(Default)]
struct Block {
    elements: Vec<u8>,
    content: usize,
}

impl Block {
    fn literal(&mut self, length: usize, bytes: usize) {
        let bytes = bytes.max(if length <= 60 { 0 } else { 4 - (length as u32 - 1).leading_zeros() as usize / 8 });
        let value = (length - 1).to_le_bytes();
        self.elements.push(if bytes == 0 { (length - 1) << 2 } else { (59 + bytes) << 2 } as u8);
        self.elements.extend(&value[..bytes]);
        let start = self.content;
        self.elements.extend((start..start + length).map(|at| (at * 7 / 3) as u8));
        self.content += length;
    }

    fn copy(&mut self, offset: usize, length: usize, bytes: usize) {
        let (offset, length) = match bytes {
            1 => (offset & 0x7FF, length.clamp(4, 11)),
            2 => (offset & 0xFFFF, length),
            _ => (offset, length),
        };
        let low = offset.to_le_bytes();
        match bytes {
            1 => self.elements.extend([(offset >> 8 << 5 | (length - 4) << 2 | 1) as u8, low[0]]),
            2 => self.elements.extend([((length - 1) << 2 | 2) as u8, low[0], low[1]]),
            _ => self.elements.extend([((length - 1) << 2 | 3) as u8, low[0], low[1], low[2], low[3]]),
        }
        self.content += length;
    }

    fn put(&mut self, element: &Element) {
        match *element {
            Element::Literal(length, bytes) => self.literal(length, bytes),
            Element::Copy(offset, length, bytes) => self.copy(offset, length, bytes),
        }
    }

    /// The block, whose declared size is `wrong` by this number of bytes.
    fn bytes(&self, wrong: isize) -> Vec<u8> {
        let mut claimed = self.content.saturating_add_signed(wrong);
        let mut block = Vec::new();
        while claimed >= 0x80 {
            block.push(claimed as u8 | 0x80);
            claimed >>= 7;
        }
        block.push(claimed as u8);
        block.extend(&self.elements);
        block
    }
}

/// Compares both decoders, and returns whether they accept the block.
fn compare(block: &[u8]) -> bool {
    let content = snap::raw::Decoder::new().decompress_vec(block).ok();
    let ours = one_shot(by_specification(CompressionType::Snappy), block, ROOMY);
    if let Err(error) = &ours {
        assert!(matches!(error.fault.kind(), CodecFaultKind::Malformed | CodecFaultKind::Truncated), "{error:?}");
        assert_eq!(error.position, 0);
    }
    assert!(ours.ok() == content, "{} bytes", block.len());
    content.is_some()
}

fn element() -> impl Strategy<Value = Element> {
    let offset = prop_oneof![4 => 1..80_usize, 2 => 1..3000_usize, 1 => 0..70_000_usize];
    let length = prop_oneof![8 => 1..=60_usize, 2 => 61..400_usize, 1 => 400..70_000_usize];
    prop_oneof![
        1 => (length, 0..=4_usize).prop_map(|(length, bytes)| Element::Literal(length, bytes)),
        3 => (offset, 1..=64_usize, prop_oneof![Just(1), Just(2), Just(4)])
            .prop_map(|(offset, length, bytes)| Element::Copy(offset, length, bytes)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_elements(first in 1..5000_usize, elements in prop::collection::vec(element(), 0..200), wrong in prop_oneof![4 => Just(0), 1 => -70..70_isize]) {
        let mut block = Block::default();
        block.literal(first, 0);
        for element in &elements {
            block.put(element);
        }
        compare(&block.bytes(wrong));
    }

    #[test]
    fn elements_that_are_right(elements in prop::collection::vec(element(), 1..2000)) {
        let mut block = Block::default();
        block.literal(1, 0);
        for element in elements {
            match element {
                Element::Copy(offset, length, bytes) => {
                    let offset = offset % (if bytes == 1 { 2047 } else { 65_535 }).min(block.content);
                    block.copy(offset.max(1), length, bytes);
                }
                Element::Literal(..) => block.put(&element),
            }
        }
        prop_assert!(compare(&block.bytes(0)));
    }

    #[test]
    fn corrupt_blocks(seed in prop::collection::vec(any::<u8>(), 1..200), times in 1..40_usize, changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4), cut in any::<prop::sample::Index>()) {
        let mut block = encode::raw_snappy(&seed.repeat(times));
        for (at, byte) in changes {
            *at.get_mut(&mut block) = byte;
        }
        if block.starts_with(&MAGIC) || declares_much(&block) {
            return Ok(());
        }
        compare(&block);
        compare(&block[..cut.index(block.len())]);
    }
}

/// Whether `snap` would allocate memory for a declared size that our decoder refuses at once.
fn declares_much(block: &[u8]) -> bool {
    snap::raw::decompress_len(block).is_ok_and(|claimed| claimed > 1 << 20)
}

/// Every length with every small offset, at the end of the content and before it.
#[test]
fn copies_that_overlap() {
    for offset in 1..=80 {
        for length in 1..=64 {
            for after in [0, 1, 17, 200] {
                for bytes in [1, 2, 4] {
                    let mut block = Block::default();
                    block.literal(80, 0);
                    block.copy(offset, length, bytes);
                    if after > 0 {
                        block.literal(after, 0);
                    }
                    assert!(compare(&block.bytes(0)), "{offset} {length} {after} {bytes}");
                }
            }
        }
    }
}

/// Elements across the positions at which the decoder refills its window, and literals longer than the window.
#[test]
fn long_blocks() {
    for first in (32_600..32_800).chain([65_400, 100_000, 1 << 20]) {
        let mut block = Block::default();
        block.literal(first, 3);
        for step in 0..40 {
            block.literal(step + 30, 0);
            block.copy(((first / 2) & 0xFFFF) | 1, 64, 2);
            block.copy(step + 1, 9, 1);
        }
        assert!(compare(&block.bytes(0)), "{first}");
        for wrong in [-1, 1] {
            assert!(!compare(&block.bytes(wrong)), "{first}");
        }
        let whole = block.bytes(0);
        assert!(!compare(&whole[..whole.len() - 1]));
    }
    let mut block = Block::default();
    block.literal(5, 0);
    for step in 0..60_000 {
        block.copy(1 + step % 5, 1 + step % 64, [1, 2, 4][step % 3]);
        block.literal(1 + step % 60, 0);
    }
    assert!(compare(&block.bytes(0)));
}

/// A copy cannot refer to earlier contents of the output buffer.
#[test]
fn copies_from_before_the_content() {
    let mut out = kafkacomp_records::buffer::OutputBuffer::new(ROOMY);
    by_specification(CompressionType::Snappy)(&encode::raw_snappy(&[b'x'; 5000]), &mut out).unwrap();
    let mut block = Block::default();
    block.literal(3, 0);
    block.copy(4, 4, 2);
    let error = by_specification(CompressionType::Snappy)(&block.bytes(0), &mut out).unwrap_err();
    assert_eq!((error.fault, error.position), (CodecFault::CorruptBlock, 0));
    assert_eq!(out.as_slice(), [b'x'; 5000]);
    out.set_limit(5003);
    let mut block = Block::default();
    block.literal(3, 0);
    by_specification(CompressionType::Snappy)(&block.bytes(0), &mut out).unwrap();
    assert_eq!(out.len(), 5003);
    block.literal(1, 0);
    let error = by_specification(CompressionType::Snappy)(&block.bytes(0), &mut out).unwrap_err();
    assert_eq!(error.fault.kind(), CodecFaultKind::OutputLimit);
}
