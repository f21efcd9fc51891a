//! The decoder of small gzip members compared with zlib-rs, on the output of two encoders and with every bit flipped.

#![allow(clippy::unwrap_used, clippy::panic, missing_docs, reason = "a test")]

mod common;

use common::{ROOMY, as_record_set, by_specification, encode, one_shot};
use flate2::bufread::GzDecoder;
use kafkacomp_records::CompressionType;
use libdeflater::{CompressionLvl, Compressor};
use proptest::prelude::*;
use std::io::Read as _;

const HEADER: usize = 10;

fn by_zlib(plain: &[u8], level: u32) -> Vec<u8> {
    encode::gzip(plain, level, 0)
}

fn by_libdeflate(plain: &[u8], level: i32) -> Vec<u8> {
    let mut compressor = Compressor::new(CompressionLvl::new(level).unwrap());
    let mut data = vec![0; compressor.gzip_compress_bound(plain.len())];
    let length = compressor.gzip_compress(plain, &mut data).unwrap();
    data.truncate(length);
    data
}

/// What zlib-rs decodes; `None` if the member is corrupt or other bytes follow it.
fn expected(data: &[u8]) -> Option<Vec<u8>> {
    let mut rest = data;
    let mut plain = Vec::new();
    GzDecoder::new(&mut rest).read_to_end(&mut plain).ok().filter(|_| rest.is_empty())?;
    Some(plain)
}

/// Texts, contents of few symbols, and symbols whose counts grow like Fibonacci numbers, which results in the longest codes.
fn plain() -> impl Strategy<Value = Vec<u8>> {
    let word = prop_oneof![
        Just(b"\"dep_time\": ".to_vec()),
        Just(b"EWR".to_vec()),
        prop::collection::vec(b'0'..=b'9', 1..8),
        prop::collection::vec(any::<u8>(), 1..12),
    ];
    let text = prop::collection::vec(word, 0..120).prop_map(|words| words.concat());
    let few = prop::collection::vec(0..4_u8, 0..1100);
    let skewed = prop::collection::vec((0..28_u32, any::<u8>()), 0..1100).prop_map(|draws| {
        let symbol = |(draw, low): (u32, u8)| (draw.min(u32::from(low).trailing_zeros() * 2 + draw % 2) * 5) as u8;
        draws.into_iter().map(symbol).collect::<Vec<u8>>()
    });
    let fibonacci = any::<u64>().prop_map(|seed| {
        let (mut counts, mut all) = ([1_usize, 1], Vec::new());
        for symbol in 0..14_u8 {
            all.extend(std::iter::repeat_n(symbol, counts[0]));
            counts = [counts[1], counts[0] + counts[1]];
        }
        let mut state = seed | 1;
        for last in (1..all.len()).rev() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            all.swap(last, (state >> 33) as usize % (last + 1));
        }
        all
    });
    prop_oneof![4 => text, 1 => few, 1 => skewed, 1 => fibonacci]
}

fn check(data: &[u8], plain: &[u8]) {
    assert_eq!(one_shot(by_specification(CompressionType::Gzip), data, ROOMY).as_deref(), Ok(plain));
    let (verdict, content) = as_record_set(CompressionType::Gzip, 2, data);
    assert_eq!(verdict, Ok(()));
    assert_eq!(content, plain);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn sound_members(plain in plain(), zlib in 1..=9_u32, libdeflate in 1..=12_i32) {
        check(&by_zlib(&plain, zlib), &plain);
        check(&by_libdeflate(&plain, libdeflate), &plain);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Each bit after the header is flipped, and the data truncated after each byte. The header is read by the same code for
    /// both decoders.
    #[test]
    fn corrupt_members(plain in plain(), zlib in 1..=9_u32) {
        let data = by_zlib(&plain, zlib);
        for at in HEADER * 8..data.len() * 8 {
            let mut corrupt = data.clone();
            corrupt[at / 8] ^= 1 << (at % 8);
            let ours = one_shot(by_specification(CompressionType::Gzip), &corrupt, ROOMY).ok();
            // A code with one symbol leaves half of its bit patterns unused. zlib refuses them. libdeflate, to which the small
            // decoder passes such data, reads the symbol, so the content is the same.
            if ours.as_ref() != Some(&plain) {
                prop_assert_eq!(ours, expected(&corrupt), "bit {}", at);
            }
        }
        for end in HEADER..data.len() {
            prop_assert!(one_shot(by_specification(CompressionType::Gzip), &data[..end], ROOMY).is_err(), "cut at {}", end);
        }
    }

    /// Random bytes in the deflate stream, with an unchanged trailer.
    #[test]
    fn corrupt_streams_with_right_trailers(plain in plain(), noise in prop::collection::vec(any::<(u16, u8)>(), 1..6)) {
        let mut data = by_libdeflate(&plain, 6);
        let length = data.len() - HEADER - 8;
        for (at, value) in noise {
            data[HEADER + usize::from(at) % length] = value;
        }
        prop_assert_eq!(one_shot(by_specification(CompressionType::Gzip), &data, ROOMY).ok(), expected(&data));
    }
}
