//! CRC-32C by vectors of 256 bits, for processors of x86-64 without AVX-512.
//!
//! There `crc_fast` divides the data into chains that are read at the same time. In batches of 5 to 16 KB it reaches two thirds of
//! the speed of this module if they are in the cache, and half of it or less if they are not, because processors prefetch data
//! that are read from the beginning to the end. With AVX-512 `crc_fast` reads them so, and with larger vectors.
//!
//! Four vectors are multiplied by the power of x that appends as many zeros as there are bits in four vectors, and added to the
//! next four, until fewer are left. Then each vector is added to the next one in the same way. The last vector and the bytes after
//! it are processed by the CRC-32C instruction, eight bytes at a time.
//! Method: Gopal and others, "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ Instruction". The fuzz target `checksum`
//! compares it with `crc_fast`.

#![allow(
    clippy::used_underscore_binding,
    reason = "the token is a proof; only what the macro makes of the function uses it"
)]

use std::arch::x86_64::{
    __m256i, _mm_crc32_u8, _mm_crc32_u64, _mm256_clmulepi64_epi128, _mm256_set_epi64x, _mm256_xor_si256,
};

use archmage::{SimdToken, X64V3CryptoToken, arcane};

use super::powers::APPENDS;
use super::short::LONGEST;

/// The bytes of a vector.
const VECTOR: usize = 32;

/// The checksum; `None` for short data and for processors that have other instructions.
#[inline]
pub(super) fn crc32c(data: &[u8]) -> Option<u32> {
    if data.len() < LONGEST || std::is_x86_feature_detected!("avx512vl") {
        return None;
    }
    X64V3CryptoToken::summon().map(|token| four_vectors(token, data))
}

#[arcane]
fn four_vectors(_token: X64V3CryptoToken, data: &[u8]) -> u32 {
    let (blocks, rest) = data.as_chunks::<{ 4 * VECTOR }>();
    let vectors = |block: &[u8; 4 * VECTOR]| bytemuck::must_cast::<_, [__m256i; 4]>(*block);
    // The low half of each 128 bits is followed by one word more than the high half.
    let appends = |words: usize| {
        let (low, high) = (i64::from(APPENDS[words + 1]), i64::from(APPENDS[words]));
        _mm256_set_epi64x(high, low, high, low)
    };
    let fold = |sum: __m256i, power: __m256i, next: __m256i| {
        let (low, high) = (_mm256_clmulepi64_epi128(sum, power, 0x00), _mm256_clmulepi64_epi128(sum, power, 0x11));
        _mm256_xor_si256(_mm256_xor_si256(low, high), next)
    };

    let mut sums = [_mm256_set_epi64x(0, 0, 0, 0); 4];
    // The initial value is added to the first four bytes.
    let mut initial = _mm256_set_epi64x(0, 0, 0, 0xffff_ffff);
    let power = appends(4 * VECTOR / 8);
    for block in blocks {
        for (sum, next) in sums.iter_mut().zip(vectors(block)) {
            *sum = fold(*sum, power, next);
        }
        sums[0] = _mm256_xor_si256(sums[0], initial);
        initial = _mm256_set_epi64x(0, 0, 0, 0);
    }

    let power = appends(VECTOR / 8);
    let (more, rest) = rest.as_chunks::<VECTOR>();
    let more = more.iter().map(|vector| bytemuck::must_cast(*vector));
    let sum = sums[1..].iter().copied().chain(more).fold(sums[0], |sum, next| fold(sum, power, next));

    // The last vector has the same checksum as all bytes before it together.
    let last: [u64; 4] = bytemuck::must_cast(sum);
    let (words, bytes) = rest.as_chunks::<8>();
    let words = last.into_iter().chain(words.iter().map(|word| u64::from_le_bytes(*word)));
    let sum = words.fold(0, |sum, word| _mm_crc32_u64(sum, word));
    !bytes.iter().fold(sum as u32, |sum, &byte| _mm_crc32_u8(sum, byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rest_at_every_alignment() {
        let data: Vec<u8> =
            (0..2 * LONGEST as u64).map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect();
        let is_used = X64V3CryptoToken::summon().is_some() && !std::is_x86_feature_detected!("avx512vl");
        for length in LONGEST - 1..=LONGEST + 4 * VECTOR {
            for start in 0..VECTOR {
                let data = &data[start..start + length];
                let sum = crc32c(data);
                assert!(sum.is_none_or(|sum| sum == crc_fast::crc32_iscsi(data)), "{length} at {start}");
                assert_eq!(sum.is_some(), is_used && length >= LONGEST);
            }
        }
    }
}
