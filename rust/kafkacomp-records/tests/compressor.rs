//! The one-shot compressor: for every type, level and magic, the decompressor returns the content, and the framing is that of
//! Kafka's streams.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]

mod common;

use common::{compress_record_set, decompress_record_set};
use kafkacomp_records::CompressionType;
use kafkacomp_records::buffer::OutputBuffer;
use kafkacomp_records::compress::lz4::{self, BlockMaxSize, EncodeOptions, HeaderChecksum, HeaderChecksumCheck};
use kafkacomp_records::compress::{Compression, DecodeOptions, decompress};
use proptest::prelude::*;

fn compressed(compression: Compression, magic: i8, plain: &[u8]) -> Vec<u8> {
    let mut out = b"before".to_vec();
    compress_record_set(compression, magic, plain, &mut out);
    assert!(out.starts_with(b"before"));
    out.split_off(6)
}

fn decompressed(compression_type: CompressionType, magic: i8, data: &[u8]) -> Vec<u8> {
    let mut out = OutputBuffer::new(1 << 30);
    decompress_record_set(compression_type, magic, data, &mut out).unwrap();
    out.into_vec()
}

/// A selection of the levels of a type.
fn levels(compression_type: CompressionType) -> Vec<Option<i32>> {
    match compression_type {
        CompressionType::None | CompressionType::Snappy => vec![None],
        CompressionType::Gzip => (1..=9).chain([-1]).map(Some).chain([None]).collect(),
        CompressionType::Lz4 => (1..=17).map(Some).chain([None]).collect(),
        CompressionType::Zstd => [-131_072, -5, -1, 0, 1, 3, 9, 19, 22].map(Some).into_iter().chain([None]).collect(),
    }
}

fn text(length: usize) -> Vec<u8> {
    (0_u32..)
        .flat_map(|n| format!("record {} of {}, ", n.wrapping_mul(2_654_435_761), n % 7).into_bytes())
        .take(length)
        .collect()
}

#[test]
fn round_trips() {
    for compression_type in CompressionType::ALL {
        for level in levels(compression_type) {
            let compression = Compression::new(compression_type, level).unwrap();
            for length in [0, 1, 13, 300, 32 << 10, (32 << 10) + 1, 64 << 10, 200_000] {
                for magic in 0..=2 {
                    let plain = text(length);
                    let data = compressed(compression, magic, &plain);
                    assert!(decompressed(compression_type, magic, &data) == plain, "{compression:?} {length} {magic}");
                }
            }
        }
    }
}

#[test]
fn levels_are_checked() {
    for (compression_type, bad) in [
        (CompressionType::None, vec![0, 1]),
        (CompressionType::Snappy, vec![-1, 0, 9]),
        (CompressionType::Gzip, vec![-2, 0, 10]),
        (CompressionType::Lz4, vec![-1, 0, 18]),
        (CompressionType::Zstd, vec![-131_073, 23]),
    ] {
        for level in bad {
            let error = Compression::new(compression_type, Some(level)).unwrap_err();
            assert_eq!((error.compression_type, error.level), (compression_type, level));
            assert!(error.to_string().contains(compression_type.name()), "{error}");
        }
    }
    let of = |compression_type| Compression::of(compression_type).level();
    assert_eq!(CompressionType::ALL.map(of), [0, -1, 0, 9, 3]);
}

#[test]
fn lz4_is_framed_as_kafka_frames_it() {
    let compression = Compression::of(CompressionType::Lz4);
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let noise: Vec<u8> = std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 56) as u8
    })
    .take(100_000)
    .collect();
    for (magic, hc) in [(0, 0x1A), (1, 0x82), (2, 0x82)] {
        let empty = compressed(compression, magic, b"");
        assert_eq!(empty, [0x04, 0x22, 0x4D, 0x18, 0x60, 0x40, hc, 0, 0, 0, 0]);
        let frame = compressed(compression, magic, &noise);
        assert_eq!(frame[..7], empty[..7]);
        // Two uncompressed blocks: 64 KiB and the rest.
        assert_eq!(frame[7..11], (0x8000_0000_u32 | 65_536).to_le_bytes());
        assert_eq!(frame[11..65_547], noise[..65_536]);
        assert_eq!(frame[65_547..65_551], (0x8000_0000_u32 + 34_464).to_le_bytes());
        assert_eq!(frame[frame.len() - 4..], [0; 4]);
    }
}

#[test]
fn headers_of_the_others() {
    let gzip = compressed(Compression::of(CompressionType::Gzip), 2, b"abc");
    assert_eq!(gzip[..10], [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 0xFF]);
    let snappy = compressed(Compression::of(CompressionType::Snappy), 2, &text(40_000));
    assert_eq!(snappy[..16], *b"\x82SNAPPY\0\0\0\0\x01\0\0\0\x01");
    let first = u32::from_be_bytes(snappy[16..20].try_into().unwrap()) as usize;
    assert_eq!(snap::raw::decompress_len(&snappy[20..20 + first]).unwrap(), 32 << 10);
    let zstd = compressed(Compression::of(CompressionType::Zstd), 2, &text(40_000));
    // The frame has no content size, checksum or dictionary, and therefore a window descriptor.
    assert_eq!(zstd[..5], [0x28, 0xB5, 0x2F, 0xFD, 0]);
}

proptest! {
    #[test]
    fn lz4_options(
        length in 0_usize..300_000,
        noise in proptest::collection::vec(any::<u8>(), 0..3_000),
        level in 1_i32..=17,
        broken: bool,
        size in 0_usize..4,
        block_checksum: bool,
        content_checksum: bool,
        content_size: bool,
    ) {
        let plain = [text(length), noise].concat();
        let header_checksum = if broken { HeaderChecksum::WithMagic } else { HeaderChecksum::FrameDescriptor };
        let sizes = [BlockMaxSize::Max64Kb, BlockMaxSize::Max256Kb, BlockMaxSize::Max1Mb, BlockMaxSize::Max4Mb];
        let options = EncodeOptions {
            level,
            header_checksum,
            block_max_size: sizes[size],
            block_checksum,
            content_checksum,
            content_size,
        };
        let mut frame = Vec::new();
        lz4::compress(&plain, options, &mut frame).unwrap();
        let info = lz4::frame_info(&frame).unwrap();
        prop_assert_eq!(info.bd.block_max_size(), sizes[size]);
        prop_assert_eq!(info.flg.block_checksum(), block_checksum);
        prop_assert_eq!(info.flg.content_checksum(), content_checksum);
        prop_assert_eq!(info.content_size, content_size.then_some(plain.len() as u64));
        prop_assert!(info.flg.block_independence());
        let mut out = OutputBuffer::new(1 << 30);
        let options = DecodeOptions {
            lz4_header_checksum: HeaderChecksumCheck::Require(header_checksum),
            ..DecodeOptions::default()
        };
        decompress(CompressionType::Lz4, options, &frame, &mut out).unwrap();
        prop_assert!(out.as_slice() == plain);
    }
}
