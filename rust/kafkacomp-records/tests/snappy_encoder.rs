//! The encoder of snappy blocks: the crate `snap` decodes what it writes, and the result depends on the input only, not on earlier
//! inputs or on the other one of a pair.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs, reason = "a test")]

use std::fmt::Write as _;

use kafkacomp_records::CompressionType;
use kafkacomp_records::compress::lz4::HeaderChecksum;
use kafkacomp_records::compress::snappy::HEADER_LENGTH;
use kafkacomp_records::compress::{Compression, compress, compress_both};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

const BLOCK: usize = 32 << 10;
const CHECKSUM: HeaderChecksum = HeaderChecksum::FrameDescriptor;

fn snappy() -> Compression {
    Compression::of(CompressionType::Snappy)
}

fn alone(content: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    compress(snappy(), CHECKSUM, content, &mut out).unwrap();
    out
}

fn both(contents: [&[u8]; 2]) -> [Vec<u8>; 2] {
    let mut outs = [Vec::new(), Vec::new()];
    compress_both(snappy(), CHECKSUM, contents, outs.each_mut()).unwrap();
    outs
}

/// The content of a stream, whose blocks the library decodes.
fn decoded(stream: &[u8]) -> Vec<u8> {
    let (mut content, mut rest) = (Vec::new(), &stream[HEADER_LENGTH..]);
    while let Some((size, after)) = rest.split_first_chunk() {
        let (block, after) = after.split_at(u32::from_be_bytes(*size) as usize);
        content.extend(snap::raw::Decoder::new().decompress_vec(block).unwrap());
        rest = after;
    }
    content
}

/// The size of a stream whose blocks the library encodes.
fn library_size(content: &[u8]) -> usize {
    let block = |content| 4 + snap::raw::Encoder::new().compress_vec(content).unwrap().len();
    HEADER_LENGTH + content.chunks(BLOCK).map(block).sum::<usize>()
}

/// A piece of a content.
#[derive(Debug, Clone)]
enum Piece {
    Bytes(Vec<u8>),
    /// Bytes that repeat.
    Run(u8, usize),
    /// Some of the content so far, again.
    Again(Index, usize),
    /// The same with a byte changed.
    Almost(Index, usize, Index),
}

fn piece() -> impl Strategy<Value = Piece> {
    let length = || prop_oneof![6 => 4..40_usize, 3 => 40..300_usize, 1 => 300..20_000_usize];
    prop_oneof![
        4 => vec(any::<u8>(), 1..24).prop_map(Piece::Bytes),
        1 => vec(any::<u8>(), 24..2000).prop_map(Piece::Bytes),
        2 => vec(97..101_u8, 1..60).prop_map(Piece::Bytes),
        1 => (any::<u8>(), length()).prop_map(|(byte, length)| Piece::Run(byte, length)),
        6 => (any::<Index>(), length()).prop_map(|(from, length)| Piece::Again(from, length)),
        4 => (any::<Index>(), length(), any::<Index>()).prop_map(|(from, length, at)| Piece::Almost(from, length, at)),
    ]
}

fn joined(pieces: &[Piece], length: usize) -> Vec<u8> {
    let mut content = vec![b'k'];
    for piece in pieces.iter().cycle() {
        match piece {
            Piece::Bytes(bytes) => content.extend(bytes),
            Piece::Run(byte, length) => content.resize(content.len() + length, *byte),
            Piece::Again(from, length) | Piece::Almost(from, length, _) => {
                let from = from.index(content.len());
                let end = content.len().min(from + length);
                content.extend_from_within(from..end);
                if let Piece::Almost(_, _, at) = piece {
                    let at = from + at.index(end - from);
                    let last = content.len() - (end - at);
                    content[last] ^= 0x20;
                }
            }
        }
        if content.len() >= length {
            break;
        }
    }
    content.truncate(length);
    content
}

/// Contents of up to two blocks; most of them of the lengths of one.
fn content() -> impl Strategy<Value = Vec<u8>> {
    let length = prop_oneof![1 => 0..9000_usize, 6 => 8192..=BLOCK, 1 => BLOCK..=2 * BLOCK];
    (vec(piece(), 1..400), length).prop_map(|(pieces, length)| joined(&pieces, length))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn any_content(first in content(), second in content()) {
        let outs = both([&first, &second]);
        prop_assert_eq!(&alone(&first), &outs[0]);
        prop_assert_eq!(&alone(&second), &outs[1]);
        prop_assert!(decoded(&outs[0]) == first);
        prop_assert!(decoded(&outs[1]) == second);
    }

    #[test]
    fn a_payload_of_many_blocks(pieces in vec(piece(), 1..200), length in 0..6 * BLOCK) {
        let content = joined(&pieces, length);
        prop_assert!(decoded(&alone(&content)) == content);
    }
}

/// Matches of up to 200 bytes, at several distances from the end of the block.
#[test]
fn matches_at_the_end() {
    let text = records(9000, 3);
    for length in 1..200 {
        for after in [0, 1, 3, 4, 31, 32, 33, 35, 36, 37, 64, 100] {
            let mut content = text.clone();
            content.extend_from_within(1000..1000 + length);
            content.extend((0..after as u8).map(|byte| byte.wrapping_mul(151) ^ 0x5A));
            assert!(decoded(&alone(&content)) == content, "{length} {after}");
        }
    }
}

#[test]
fn a_thread_whose_encoder_is_new() {
    let contents: Vec<Vec<u8>> = (0..40).map(|n| records(9000 + 500 * n, n as u64)).collect();
    let here: Vec<Vec<u8>> = contents.iter().map(|content| alone(content)).collect();
    for (content, here) in contents.into_iter().zip(here) {
        assert!(std::thread::spawn(move || alone(&content)).join().unwrap() == here);
    }
}

#[test]
fn contents_are_about_as_small_as_by_the_library() {
    // The table has half as many positions as the library's.
    for (content, percent) in [(records(1 << 20, 1), 100), (words(1 << 20, 1), 104)] {
        for size in [8 << 10, 16 << 10, BLOCK, 1 << 20] {
            let (mut ours, mut library) = (0, 0);
            for content in content.chunks(size) {
                ours += alone(content).len();
                library += library_size(content);
            }
            assert!(100 * ours <= percent * library, "{size}: {ours}, {library}");
        }
    }
}

/// Random numbers below a bound, the same for a seed.
fn random(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    move |below| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    }
}

/// Words of a small vocabulary: most matches follow one another without a literal between them.
fn words(size: usize, seed: u64) -> Vec<u8> {
    let mut next = random(seed);
    let vocabulary: Vec<Vec<u8>> =
        (0..120).map(|_| (0..next(8) + 2).map(|_| b'a' + next(26) as u8).chain([b' ']).collect()).collect();
    let mut text = Vec::new();
    while text.len() < size {
        text.extend(&vocabulary[next(vocabulary.len() as u64) as usize]);
    }
    text.truncate(size);
    text
}

/// Lines as of a log of events, the same for a seed.
fn records(size: usize, seed: u64) -> Vec<u8> {
    let mut next = random(seed);
    let mut text = String::new();
    while text.len() < size {
        let carrier = ["UA", "AA", "B6", "DL"][next(4) as usize];
        let _ = writeln!(
            text,
            "{{\"year\":2013,\"month\":{},\"delay\":{}.0,\"carrier\":\"{carrier}\",\"flight\":{},\"origin\":\"EWR\",\"distance\":{}}}",
            next(12) + 1,
            next(90),
            next(9000),
            next(3000)
        );
    }
    text.truncate(size);
    text.into_bytes()
}
