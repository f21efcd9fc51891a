//! CRC-32C of the few hundred bytes that a batch of one record has, by the processor's own instruction.
//!
//! The instruction takes eight bytes and gives its sum three cycles later, so that one chain of sums leaves two
//! thirds of them unused; and a loop over the bytes in front of the first whole word, whose number differs from batch
//! to batch, costs a wrong guess of the processor, which is as much as 30 words. So the data are three pieces of
//! equal length with a chain each, and what is left over goes in front of them without a loop:
//!
//! ```text
//! | 1 to 8 bytes | 0 to 2 words | k words | k words | k words |
//! ```
//! Zeros in front do not change a sum that begins at zero, so the first bytes are a word whose low end is zero,
//! and the initial value is added to the first four of them. A sum is moved over the bytes behind it by a product with
//! a power of x. Method: Gopal and others, "Fast CRC Computation for iSCSI Polynomial Using CRC32 Instruction".

//!
//! Without it, batches of one record of 100 bytes took 7 to 15% longer to read and to build (`cargo bench --bench batches`,
//! medians of ten paired runs); from 1,000 bytes on there was no difference.

#![allow(
    clippy::used_underscore_binding,
    reason = "the token is a proof; only what the macro makes of the function uses it"
)]

use std::arch::x86_64::{_mm_clmulepi64_si128, _mm_crc32_u64, _mm_cvtsi64_si128, _mm_cvtsi128_si64, _mm_xor_si128};

use archmage::{SimdToken, X64CryptoToken, arcane};

/// Below it there are not three words.
const SHORTEST: usize = 32;
/// From here on folding by vectors is faster.
const LONGEST: usize = 768;

/// The polynomial, its highest power at the low end.
const POLYNOMIAL: u32 = 0x82f6_3b78;
/// What the sum begins with, and what is added to it at the end.
const ALL_ONES: u64 = 0xffff_ffff;

const SHIFTS: usize = LONGEST / 8;
/// By the number of words behind a sum, the power of x that moves it over them: x^(64 words - 33), because the
/// product of two reversed polynomials stands one bit too low and the instruction adds 32.
static SHIFT: [u32; SHIFTS] = shifts();

const fn shifts() -> [u32; SHIFTS] {
    let mut all = [0; SHIFTS];
    let mut power = 1_u32;
    let mut words = 1;
    while words < SHIFTS {
        all[words] = power;
        let mut bit = 0;
        while bit < 64 {
            power = if power & 1 == 0 { power >> 1 } else { power >> 1 ^ POLYNOMIAL };
            bit += 1;
        }
        words += 1;
    }
    all
}

/// The sum of data of such a length on a processor that has the instructions.
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
    let words = data.get(first..).unwrap_or_default().as_chunks::<8>().0;
    let third = words.len() / 3;
    let over = words.len().wrapping_sub(third.wrapping_mul(3));
    let word_at = |at: usize| words.get(at).map_or(0, |word| u64::from_le_bytes(*word));

    let bits = first.wrapping_mul(8) as u32;
    let head = data.first_chunk().map_or(0, |head| u64::from_le_bytes(*head)) ^ ALL_ONES;
    // What of the initial value the first bytes were too few for falls to those behind them.
    let left = ALL_ONES.checked_shr(bits).unwrap_or_default();
    let mut sum = _mm_crc32_u64(0, head.wrapping_shl(64_u32.wrapping_sub(bits))) ^ left;
    // Taken or not, but always computed: no guess.
    let one_more = _mm_crc32_u64(sum, word_at(0));
    sum = if over > 0 { one_more } else { sum };
    let two_more = _mm_crc32_u64(sum, word_at(1));
    sum = if over > 1 { two_more } else { sum };

    let pieces = words.get(over..).unwrap_or_default();
    let (one, pieces) = pieces.split_at_checked(third).unwrap_or_default();
    let (two, three) = pieces.split_at_checked(third).unwrap_or_default();
    let mut sums = [sum, 0, 0];
    for ((one, two), three) in one.iter().zip(two).zip(three) {
        sums[0] = _mm_crc32_u64(sums[0], u64::from_le_bytes(*one));
        sums[1] = _mm_crc32_u64(sums[1], u64::from_le_bytes(*two));
        sums[2] = _mm_crc32_u64(sums[2], u64::from_le_bytes(*three));
    }
    let moved = |sum: u64, words: usize| {
        let power = SHIFT.get(words).copied().unwrap_or_default();
        _mm_clmulepi64_si128(_mm_cvtsi64_si128(sum as i64), _mm_cvtsi64_si128(i64::from(power)), 0)
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
