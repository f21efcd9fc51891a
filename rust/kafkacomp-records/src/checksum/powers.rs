//! Powers of x modulo the polynomial of CRC-32C. Multiplying a sum by a power appends zeros to what was summed up.

/// The polynomial; the lowest bit has the highest power.
const POLYNOMIAL: u32 = 0x82f6_3b78;

/// The number of words of 64 bits that can be appended, and one.
pub(super) const WORDS: usize = 96;

/// By the number of words of zeros, x^(64 words - 33): the product of two reversed polynomials is one bit too low, and 32 bits
/// are added either by the CRC-32C instruction or by the place of the product in a vector.
pub(super) static APPENDS: [u32; WORDS] = appends();

const fn appends() -> [u32; WORDS] {
    let mut all = [0; WORDS];
    let mut power = 1_u32;
    let mut words = 1;
    while words < WORDS {
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
