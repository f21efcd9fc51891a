//! Round trips with the encoders of other libraries. Corrupt data is an error or decodes to the same content; it never causes a
//! panic or exceeds the output limit.

#![allow(clippy::unwrap_used, clippy::panic, missing_docs, reason = "a test")]

mod common;

use common::encode::{self, LZ4_PLAIN, Lz4};
use common::{ROOMY, as_record_set, by_specification, decompress_record_set, one_shot};
use kafkacomp_records::CompressionType;
use kafkacomp_records::buffer::OutputBuffer;
use kafkacomp_records::compress::{CodecError, CodecFault, CodecFaultKind};
use lzzzz::lz4f::BlockSize;
use proptest::prelude::*;

const BIG_ENDIAN: [u8; 4] = [0, 0, 0, 1];
const LITTLE_ENDIAN: [u8; 4] = [1, 0, 0, 0];

fn strict(codec: CompressionType, data: &[u8], limit: usize) -> Result<Vec<u8>, CodecError> {
    one_shot(by_specification(codec), data, limit)
}

fn both_read(codec: CompressionType, data: &[u8], plain: &[u8]) {
    assert!(strict(codec, data, ROOMY).as_deref() == Ok(plain), "{codec:?}");
    let (verdict, content) = as_record_set(codec, 2, data);
    assert_eq!(verdict, Ok(()));
    assert!(content == plain, "{codec:?}");
}

/// Words, noise and runs, so that every kind of block occurs.
fn plain() -> impl Strategy<Value = Vec<u8>> {
    let word = prop_oneof![Just(b"partition".to_vec()), Just(b"offset=".to_vec()), Just(vec![b'x'; 700])];
    let piece = prop_oneof![4 => word, 1 => prop::collection::vec(any::<u8>(), 0..600)];
    (prop::collection::vec(piece, 0..400), 1..4_usize).prop_map(|(pieces, times)| pieces.concat().repeat(times))
}

fn lz4_options() -> impl Strategy<Value = Lz4> {
    let size = prop_oneof![
        Just(BlockSize::Max64KB),
        Just(BlockSize::Max256KB),
        Just(BlockSize::Max1MB),
        Just(BlockSize::Max4MB)
    ];
    (size, any::<[bool; 4]>(), 0..12_i32).prop_map(
        |(block_size, [linked, block_checksum, content_checksum, content_size], level)| Lz4 {
            block_size,
            linked,
            block_checksum,
            content_checksum,
            content_size,
            level,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn lz4_frames(plain in plain(), options in lz4_options(), second in lz4_options(), split in any::<prop::sample::Index>()) {
        let cut = split.index(plain.len() + 1);
        let mut data = encode::skippable(3, cut % 50);
        data.extend(encode::lz4(&plain[..cut], options));
        data.extend(encode::skippable(15, 0));
        data.extend(encode::lz4(&plain[cut..], second));
        both_read(CompressionType::Lz4, &data, &plain);
        both_read(CompressionType::Lz4, &encode::lz4(&plain, options), &plain);
    }

    #[test]
    fn snappy_streams(plain in plain(), block in 1..70_000_usize, split in any::<prop::sample::Index>()) {
        let cut = split.index(plain.len() + 1);
        let mut data = encode::xerial(&plain[..cut], block, BIG_ENDIAN);
        data.extend(encode::xerial(&plain[cut..], block, LITTLE_ENDIAN));
        both_read(CompressionType::Snappy, &data, &plain);
        both_read(CompressionType::Snappy, &encode::raw_snappy(&plain), &plain);
    }

    #[test]
    fn gzip_members(plain in plain(), level in 0..10_u32, fields in 0..32_u8, zeros in 0..40_usize, split in any::<prop::sample::Index>()) {
        let cut = split.index(plain.len() + 1);
        let one = encode::gzip(&plain, level, fields & 0b1_1110);
        both_read(CompressionType::Gzip, &one, &plain);
        let mut data = encode::gzip(&plain[..cut], level, fields & 0b1_1110);
        data.extend(encode::gzip(&plain[cut..], level, 0));
        data.resize(data.len() + zeros, 0);
        both_read(CompressionType::Gzip, &data, &plain);
        let twice = [one.as_slice(), &one].concat();
        both_read(CompressionType::Gzip, &twice, &[plain.as_slice(), &plain].concat());
    }

    #[test]
    fn zstd_frames(plain in plain(), level in -5..20_i32, size in any::<bool>(), sum in any::<bool>(), split in any::<prop::sample::Index>()) {
        let cut = split.index(plain.len() + 1);
        let mut data = encode::zstd(&plain[..cut], level, size, sum);
        data.extend(encode::skippable(9, cut % 90));
        data.extend(encode::zstd(&plain[cut..], level, !size, !sum));
        both_read(CompressionType::Zstd, &data, &plain);
    }

    /// A reused context decodes correctly whatever it has decoded before, also after corrupt data.
    #[test]
    fn kept_contexts(plain in plain(), flip in any::<prop::sample::Index>()) {
        let mut out = OutputBuffer::new(ROOMY);
        let data = [
            (CompressionType::Gzip, encode::gzip(&plain, 6, 0)),
            (CompressionType::Snappy, encode::xerial(&plain, 32 << 10, BIG_ENDIAN)),
            (CompressionType::Lz4, encode::lz4(&plain, LZ4_PLAIN)),
            (CompressionType::Zstd, encode::zstd(&plain, 3, false, false)),
            (CompressionType::None, plain.clone()),
        ];
        for (codec, data) in &data {
            let mut broken = data.clone();
            if !broken.is_empty() {
                let at = flip.index(broken.len());
                broken[at] ^= 0x55;
            }
            out.reset(ROOMY);
            let _ = decompress_record_set(*codec, 2, &broken, &mut out);
            out.reset(ROOMY);
            prop_assert_eq!(decompress_record_set(*codec, 2, data, &mut out), Ok(()));
            prop_assert!(out.as_slice() == plain);
        }
    }
}

/// Small vectors of each format; the last field says that a checksum covers the content.
fn small() -> Vec<(CompressionType, Vec<u8>, Vec<u8>, bool)> {
    let mut plain = Vec::new();
    for n in 0..40_u8 {
        plain.extend(format!("record {n} of {}; ", n.wrapping_mul(89)).into_bytes());
    }
    let checked = Lz4 { content_checksum: true, content_size: true, block_checksum: true, linked: true, ..LZ4_PLAIN };
    let two = |one: &[u8], other: &[u8]| [one, other].concat();
    let (head, tail) = plain.split_at(300);
    let mut list = vec![
        (CompressionType::Lz4, encode::lz4(&plain, LZ4_PLAIN), false),
        (CompressionType::Lz4, encode::lz4(&plain, checked), true),
        (CompressionType::Lz4, two(&encode::lz4(head, checked), &encode::lz4(tail, checked)), true),
        (CompressionType::Snappy, encode::raw_snappy(&plain), false),
        (CompressionType::Snappy, encode::xerial(&plain, 100, BIG_ENDIAN), false),
        (CompressionType::Gzip, encode::gzip(&plain, 6, 0), true),
        (CompressionType::Gzip, encode::gzip(&plain, 6, 26), true),
        (CompressionType::Gzip, two(&encode::gzip(head, 6, 0), &encode::gzip(tail, 6, 0)), true),
        (CompressionType::Zstd, encode::zstd(&plain, 3, false, false), false),
        (CompressionType::Zstd, encode::zstd(&plain, 3, true, true), true),
        (CompressionType::Zstd, two(&encode::zstd(head, 3, true, true), &encode::zstd(tail, 3, false, true)), true),
    ];
    list.drain(..).map(|(codec, data, checked)| (codec, data, plain.clone(), checked)).collect()
}

#[test]
fn every_prefix() {
    for (codec, data, plain, _) in small() {
        for length in 0..data.len() {
            let cut = &data[..length];
            if let Ok(content) = strict(codec, cut, ROOMY) {
                // Data truncated between two frames, or between two snappy blocks, is valid.
                assert!(plain.starts_with(&content) && content.len() < plain.len(), "{codec:?} {length}");
                assert!(length > 15, "{codec:?} {length}");
            }
            let (_, content) = as_record_set(codec, 2, cut);
            assert!(plain.starts_with(&content), "{codec:?} {length}");
        }
    }
}

#[test]
fn every_bit() {
    const CAP: usize = 1 << 20;
    for (codec, data, plain, checked) in small() {
        for bit in 0..data.len() * 8 {
            let mut flipped = data.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            if let Ok(content) = strict(codec, &flipped, CAP) {
                // If the magic number becomes that of a skippable frame, the frame is skipped and not decoded.
                let skipped =
                    codec == CompressionType::Zstd && content.len() < plain.len() && plain.ends_with(&content);
                assert!(!checked || skipped || content == plain, "{codec:?} bit {bit}");
            }
            let mut out = OutputBuffer::new(CAP);
            for magic in [0, 2] {
                out.reset(CAP);
                let _ = decompress_record_set(codec, magic, &flipped, &mut out);
                assert!(out.len() <= CAP);
            }
        }
    }
}

#[test]
fn every_cap() {
    for (codec, data, plain, _) in small() {
        for limit in 0..plain.len() + 2 {
            let verdict = strict(codec, &data, limit);
            let mut out = OutputBuffer::new(limit);
            let read = decompress_record_set(codec, 2, &data, &mut out);
            assert!(out.len() <= limit);
            if limit < plain.len() {
                let limit = limit as u64;
                assert_eq!(verdict.unwrap_err().fault, CodecFault::OutputLimit { limit }, "{codec:?}");
                assert_eq!(read.unwrap_err().fault, CodecFault::OutputLimit { limit }, "{codec:?}");
            } else {
                assert!(verdict.as_ref() == Ok(&plain) && read == Ok(()), "{codec:?} {limit}: {read:?}");
            }
        }
    }
}

#[test]
fn bombs() {
    const CAP: usize = 1 << 20;
    let gigabyte = vec![0; 1 << 30];
    let bombs = [
        (CompressionType::Zstd, encode::zstd(&gigabyte, 3, true, false)),
        (CompressionType::Zstd, encode::zstd(&gigabyte, 3, false, false)),
        (CompressionType::Gzip, encode::gzip(&gigabyte[..100 << 20], 6, 0)),
        (CompressionType::Lz4, encode::lz4(&gigabyte[..100 << 20], Lz4 { block_size: BlockSize::Max4MB, ..LZ4_PLAIN })),
        (CompressionType::Snappy, encode::raw_snappy(&gigabyte[..100 << 20])),
        // A raw block of six bytes that declares 2 GiB.
        (CompressionType::Snappy, b"\xff\xff\xff\xff\x07\x00".to_vec()),
    ];
    drop(gigabyte);
    for (codec, data) in bombs {
        let mut out = OutputBuffer::new(CAP);
        let error = decompress_record_set(codec, 2, &data, &mut out).unwrap_err();
        assert!(out.len() <= CAP);
        let claims_too_much = matches!(error.fault, CodecFault::ImplausibleSize { .. });
        assert!(claims_too_much || error.fault.kind() == CodecFaultKind::OutputLimit, "{error}");
        assert!(strict(codec, &data, CAP).is_err());
    }
}
