//! Gzip data that libdeflate decodes in one call although the size in the last trailer, or the whole trailer, also occurs
//! before the end: each is read as zlib-rs reads it.

#![allow(clippy::unwrap_used, missing_docs, reason = "a test")]

mod common;

use common::{ROOMY, by_specification, encode, one_shot};
use flate2::bufread::MultiGzDecoder;
use kafkacomp_records::CompressionType;
use std::io::Read as _;

/// More bytes than the decoder of small members takes.
const SIZE: usize = 3000;
const TRAILER: usize = 8;

fn member(plain: &[u8], level: u32) -> Vec<u8> {
    encode::gzip(plain, level, 0)
}

/// `SIZE` bytes that begin with `first`.
fn content(first: &[u8], seed: u8) -> Vec<u8> {
    let rest = (first.len()..SIZE).map(|at| (at as u8).wrapping_mul(seed));
    first.iter().copied().chain(rest).collect()
}

/// What zlib-rs decodes; `None` if `data` is not a sequence of members.
fn expected(data: &[u8]) -> Option<Vec<u8>> {
    let mut rest = data;
    let mut plain = Vec::new();
    MultiGzDecoder::new(&mut rest).read_to_end(&mut plain).ok().filter(|_| rest.is_empty())?;
    Some(plain)
}

#[test]
fn the_bytes_of_a_trailer_before_the_end() {
    let size = (SIZE as u32).to_le_bytes();
    let (one, other) = (content(b"", 7), content(b"", 11));
    let one_member = member(&one, 6);
    let trailer = one_member[one_member.len() - TRAILER..].to_vec();
    // An uncompressed block contains the bytes of its content, and so the size, or the trailer of another member.
    let of_size = member(&content(&size, 3), 0);
    let of_trailer = member(&content(&trailer, 3), 0);
    assert!(of_size.windows(4).filter(|bytes| *bytes == size).count() == 2);
    let wrong_sum = {
        let mut wrong = of_size.clone();
        wrong[of_size.len() - TRAILER] ^= 1;
        wrong
    };
    let all: [&[&[u8]]; 11] = [
        &[&one_member],
        &[&of_size],
        &[&of_trailer],
        &[&wrong_sum],
        &[&one_member, &one_member],
        &[&one_member, &member(&other, 6)],
        &[&of_trailer, &one_member],
        &[&one_member, &trailer],
        &[&one_member, b"rest", &size],
        &[&of_size, b"rest", &size],
        &[&one_member, &member(&[0; SIZE], 6)],
    ];
    for parts in all {
        let data = parts.concat();
        let ours = one_shot(by_specification(CompressionType::Gzip), &data, ROOMY).ok();
        assert_eq!(ours, expected(&data), "{} parts of {} bytes", parts.len(), data.len());
    }
}
