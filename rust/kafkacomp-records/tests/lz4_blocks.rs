//! Pairs of LZ4 blocks, built sequence by sequence, are accepted or refused as by liblz4, with the same content.

#![allow(clippy::unwrap_used, missing_docs, reason = "a test")]

mod common;

use common::{ROOMY, by_specification};
use kafkacomp_records::CompressionType;
use kafkacomp_records::buffer::OutputBuffer;
use kafkacomp_records::compress::CodecFault;
use proptest::prelude::*;

/// A frame header with independent blocks of at most 64 KiB, as Kafka's producer writes it.
const HEADER: [u8; 7] = [0x04, 0x22, 0x4D, 0x18, 0x60, 0x40, 0x82];
const MOST: usize = 64 << 10;
/// Blocks of fewer bytes are left to liblz4.
const SHORTEST: usize = 4 << 10;

/// The length of a literal, the offset of a match, and its length.
type Sequence = (usize, usize, usize);

/// The encoded sequences of a block, and the size of their content.
#[derive(Default)]
struct Block {
    bytes: Vec<u8>,
    content: usize,
}

impl Block {
    fn length(&mut self, length: usize) {
        if let Some(mut more) = length.checked_sub(15) {
            while more >= 255 {
                self.bytes.push(255);
                more -= 255;
            }
            self.bytes.push(more as u8);
        }
    }

    fn literal(&mut self, length: usize, match_length: usize) {
        self.bytes.push((length.min(15) << 4 | match_length.min(15)) as u8);
        self.length(length);
        self.bytes.extend((self.content..self.content + length).map(|at| (at * 7 / 3) as u8));
        self.content += length;
    }

    /// A sequence. A `right` match refers to what is in the content, and one that would make it too large is left out.
    fn put(&mut self, (literal, offset, length): Sequence, right: bool) {
        let before = self.content + literal;
        let (offset, length) = (offset & 0xFFFF, length.max(4));
        if right && (before == 0 || before + length + 100 > MOST) {
            return;
        }
        self.literal(literal, length - 4);
        let offset = if right { 1 + offset % before.min(65_535) } else { offset };
        self.bytes.extend((offset as u16).to_le_bytes());
        self.length(length - 4);
        self.content += length;
    }

    fn last(mut self, literal: usize) -> Vec<u8> {
        self.literal(literal, 0);
        self.bytes
    }
}

/// Compares the content, and the number of blocks that are accepted, which it returns.
fn compare(blocks: &[Vec<u8>]) -> usize {
    let mut expected = Vec::new();
    let (mut accepted, mut position, mut room) = (0, HEADER.len(), vec![0; MOST]);
    let mut frame = HEADER.to_vec();
    for block in blocks {
        frame.extend((block.len() as u32).to_le_bytes());
        frame.extend(block);
    }
    frame.extend([0; 4]);
    for block in blocks {
        let Ok(length) = lzzzz::lz4::decompress(block, &mut room) else { break };
        expected.extend(&room[..length]);
        (accepted, position) = (accepted + 1, position + 4 + block.len());
    }
    // Memory that held something else before, as that of a scan does.
    let mut out = OutputBuffer::with_storage(vec![0xA5; 4 * MOST], ROOMY);
    let result = by_specification(CompressionType::Lz4)(&frame, &mut out);
    assert!(out.as_slice() == expected, "{} bytes instead of {}", out.len(), expected.len());
    match result {
        Ok(()) => assert_eq!(accepted, blocks.len()),
        Err(error) => {
            assert!(accepted < blocks.len(), "{error:?}");
            let position = position as u64;
            // liblz4 accepts a larger block than the frame may have.
            assert!(matches!(error.fault, CodecFault::CorruptBlock | CodecFault::BlockSize { .. }), "{error:?}");
            assert_eq!(error.position, position);
        }
    }
    accepted
}

fn sequence() -> impl Strategy<Value = Sequence> {
    let literal = prop_oneof![20 => 0..15_usize, 2 => 15..300_usize, 1 => 300..3000_usize];
    let offset = prop_oneof![4 => 1..150_usize, 4 => 1..3000_usize, 2 => 0..65_536_usize];
    let length = prop_oneof![12 => 4..20_usize, 4 => 19..150_usize, 1 => 150..600_usize];
    (literal, offset, length)
}

fn block() -> impl Strategy<Value = Vec<u8>> {
    (prop::collection::vec(sequence(), 400..2000), 5..40_usize).prop_map(|(sequences, last)| {
        let mut block = Block::default();
        for sequence in sequences {
            block.put(sequence, true);
        }
        block.last(last)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn right_blocks(blocks in prop::collection::vec(block(), 1..6)) {
        prop_assert_eq!(compare(&blocks), blocks.len());
    }

    #[test]
    fn any_sequences(block in block(), sequences in prop::collection::vec(sequence(), 400..700), wrong in 0..600_usize, last in 0..40_usize, first in any::<bool>()) {
        let mut other = Block::default();
        for (at, sequence) in sequences.into_iter().enumerate() {
            other.put(sequence, at != wrong);
        }
        let other = other.last(last);
        compare(&if first { [other, block] } else { [block, other] });
    }

    #[test]
    fn corrupt_blocks(first in block(), second in block(), changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4), cut in prop_oneof![0..1_usize, 0..100_usize], swap in any::<bool>()) {
        let mut corrupt = second;
        for (at, byte) in changes {
            *at.get_mut(&mut corrupt) = byte;
        }
        corrupt.truncate(corrupt.len() - cut);
        compare(&if swap { [corrupt, first] } else { [first, corrupt] });
    }
}

/// As many sequences as a block of the largest content has, whose last ones end in each distance from its end.
#[test]
fn full_blocks() {
    for last in 0..30 {
        for length in [4, 18, 19, 32, 33, 64, 65, 128, 129] {
            for content in MOST - 3..MOST + 3 {
                let mut block = Block::default();
                block.put((1, 1, 1000), true);
                while block.content + 12 + length + last <= content {
                    block.put((12, 500, length), false);
                }
                // What is missing is a literal before the last one, which is not the last sequence.
                let missing = content - block.content - last;
                if missing >= 4 {
                    block.put((missing - 4, 500, 4), false);
                }
                let block = block.last(last);
                assert!(block.len() >= SHORTEST);
                compare(&[block.clone(), block]);
            }
        }
    }
}

/// Every length with every small offset.
#[test]
fn matches_that_overlap() {
    for offset in 1..=140 {
        let mut blocks = [Block::default(), Block::default()];
        for block in &mut blocks {
            block.put((2000, 1, 4), true);
            for length in 4..300 {
                block.put((length % 17, offset - 1, length), true);
            }
        }
        let blocks = blocks.map(|block| block.last(12));
        assert!(blocks.iter().all(|block| block.len() >= SHORTEST));
        assert_eq!(compare(&blocks), 2, "{offset}");
    }
}

/// A match of the second block cannot refer to the content of the first one.
#[test]
fn matches_from_before_the_block() {
    let first = || {
        let mut block = Block::default();
        block.put((1, 1, 50_000), true);
        block.put((SHORTEST, 1, 10), true);
        block
    };
    for literal in [0, 1, 14, 15, 1000] {
        for excess in [0, 1, 1000] {
            let mut second = Block::default();
            second.put((literal, literal + excess, 20), false);
            second.put((SHORTEST, 50, 20), false);
            // liblz4 accepts an offset of 0.
            let accepted = 1 + usize::from(excess == 0);
            assert_eq!(compare(&[first().last(20), second.last(20)]), accepted, "{literal} {excess}");
        }
    }
}

/// With less room than two blocks may need, blocks are decoded one at a time.
#[test]
fn a_limit_within_the_blocks() {
    let mut block = Block::default();
    block.put((SHORTEST, 1500, 30_000), true);
    let content = block.content + 20;
    let block = block.last(20);
    let mut frame = HEADER.to_vec();
    for _ in 0..2 {
        frame.extend((block.len() as u32).to_le_bytes());
        frame.extend(&block);
    }
    frame.extend([0; 4]);
    for (limit, length) in
        [(2 * content, 2 * content), (2 * content - 1, content), (content, content), (content - 1, 0)]
    {
        let mut out = OutputBuffer::new(limit);
        let result = by_specification(CompressionType::Lz4)(&frame, &mut out);
        assert_eq!(out.len(), length);
        match result {
            Ok(()) => assert_eq!(limit, 2 * content),
            Err(error) => assert_eq!(error.fault, CodecFault::OutputLimit { limit: limit as u64 }),
        }
    }
}
