//! CRC-32C of the few hundred bytes of a batch with one record, by the instruction of x86-64.
//!
//! The instruction processes eight bytes with a latency of three cycles, so a single chain would leave two thirds of the cycles
//! unused. A loop over the bytes before the first whole word, whose number differs from batch to batch, would be mispredicted,
//! which costs as much as 30 words. Therefore the data are divided into three parts of equal length with a chain each, and the
//! bytes before them are processed without a loop:
//!
//! ```text
//! | 1 to 8 bytes | 0 to 2 words | k words | k words | k words |
//! ```
//! Leading zeros do not change a sum that begins at zero, so the first bytes are shifted to the upper end of a word, and the
//! initial value is added to the first four of them. Multiplying a sum by a power of x appends zeros, which combines the chains.
//! Method: Gopal and others, "Fast CRC Computation for iSCSI Polynomial Using CRC32 Instruction".
//!
//! Without this module, reading and building batches of one record of 100 bytes took 7 to 15% longer (`cargo bench --bench
//! batches`, medians of ten paired runs); from 1,000 bytes on there was no difference. The fuzz target
//! `checksum` compares it with `crc_fast`.

#![allow(
    clippy::used_underscore_binding,
    reason = "the token is a proof; only what the macro makes of the function uses it"
)]

use std::arch::x86_64::{_mm_clmulepi64_si128, _mm_crc32_u64, _mm_cvtsi64_si128, _mm_cvtsi128_si64, _mm_xor_si128};

use archmage::{SimdToken, X64CryptoToken, arcane};

use super::powers::{APPENDS, WORDS};

/// Shorter data do not have three words.
const SHORTEST: usize = 32;
/// From this length on, vectors are faster.
pub(super) const LONGEST: usize = 8 * WORDS;

/// The initial value of the sum, which is also added at the end.
const ALL_ONES: u64 = 0xffff_ffff;

/// The checksum; `None` for other lengths and for processors without the instructions.
#[inline]
pub(super) fn crc32c(data: &[u8]) -> Option<u32> {
    if !(SHORTEST..LONGEST).contains(&data.len()) {
        return None;
    }
    X64CryptoToken::summon().map(|token| three_chains(token, data))
}

#[arcane]
fn three_chains(_token: X64CryptoToken, data: &[u8]) -> u32 {
    let first = (data.len().wrapping_sub(1) & 7).wrapping_add(1);
    let words = data[first..].as_chunks::<8>().0;
    let third = words.len() / 3;
    let over = words.len().wrapping_sub(third.wrapping_mul(3));
    let word_at = |at: usize| words.get(at).map_or(0, |word| u64::from_le_bytes(*word));

    let bits = first.wrapping_mul(8) as u32;
    let head = data.first_chunk().map_or(0, |head| u64::from_le_bytes(*head)) ^ ALL_ONES;
    // If there are fewer than four first bytes, the rest of the initial value is added to the bytes after them.
    let left = ALL_ONES.checked_shr(bits).unwrap_or_default();
    let mut sum = _mm_crc32_u64(0, head.wrapping_shl(64_u32.wrapping_sub(bits))) ^ left;
    // Both sums are always computed, so that no branch is mispredicted.
    let one_more = _mm_crc32_u64(sum, word_at(0));
    sum = if over > 0 { one_more } else { sum };
    let two_more = _mm_crc32_u64(sum, word_at(1));
    sum = if over > 1 { two_more } else { sum };

    let pieces = &words[over..];
    let (one, pieces) = pieces.split_at(third);
    let (two, three) = pieces.split_at(third);
    let mut sums = [sum, 0, 0];
    for ((one, two), three) in one.iter().zip(two).zip(three) {
        sums[0] = _mm_crc32_u64(sums[0], u64::from_le_bytes(*one));
        sums[1] = _mm_crc32_u64(sums[1], u64::from_le_bytes(*two));
        sums[2] = _mm_crc32_u64(sums[2], u64::from_le_bytes(*three));
    }
    let moved = |sum: u64, words: usize| {
        let power = i64::from(APPENDS[words]);
        _mm_clmulepi64_si128(_mm_cvtsi64_si128(sum as i64), _mm_cvtsi64_si128(power), 0)
    };
    let both = _mm_xor_si128(moved(sums[0], third.wrapping_mul(2)), moved(sums[1], third));
    !((_mm_crc32_u64(0, _mm_cvtsi128_si64(both) as u64) ^ sums[2]) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_at_every_alignment() {
        let data: Vec<u8> =
            (0..LONGEST as u64 + 16).map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect();
        for length in 0..LONGEST + 8 {
            for start in 0..8 {
                let data = &data[start..start + length];
                let sum = crc32c(data);
                assert!(sum.is_none_or(|sum| sum == crc_fast::crc32_iscsi(data)), "{length} at {start}");
                assert_eq!(sum.is_some(), X64CryptoToken::summon().is_some() && (SHORTEST..LONGEST).contains(&length));
            }
        }
    }
}
