//! Checksums of any range of a stream that is read once.
//!
//! For two adjacent parts `A` and `B`, `crc(AB) = crc(A) * x^(8 |B|) + crc(B)` over GF(2), modulo the polynomial. So the
//! checksum of a range follows from the checksums of two prefixes: up to its start and up to its end. The powers of x are
//! computed from a table, with one product for each hexadecimal digit of the length.
//! Source: zlib's `crc32_combine`.

use super::{crc32, crc32c};

/// One of the two checksums of batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Polynomial {
    /// CRC-32, of messages of magic 0 and 1 and of Kafka 0.7.
    Crc32,
    /// CRC-32C, of magic 2.
    Crc32c,
}

const CRC32: u32 = 0xedb8_8320;
const CRC32C: u32 = 0x82f6_3b78;

/// x^0; the lowest bit has the highest power.
const ONE: u32 = 1 << 31;
const DIGITS: usize = 16;
/// The number of hexadecimal digits of a length below 2^32.
const PLACES: usize = 8;

/// By place and digit: `x^(8 * digit * 16^place)`.
type Powers = [[u32; DIGITS]; PLACES];

static CRC32_POWERS: Powers = powers(CRC32);
static CRC32C_POWERS: Powers = powers(CRC32C);

/// The product of two polynomials, without branches that could be mispredicted.
const fn multiply(polynomial: u32, mut a: u32, mut b: u32) -> u32 {
    let mut product = 0;
    let mut bit = 0;
    while bit < 32 {
        product ^= b & (a >> 31).wrapping_neg();
        a <<= 1;
        b = (b >> 1) ^ (polynomial & (b & 1).wrapping_neg());
        bit += 1;
    }
    product
}

const fn powers(polynomial: u32) -> Powers {
    let mut all = [[ONE; DIGITS]; PLACES];
    // x^8
    let mut step = 1 << 23;
    let mut place = 0;
    while place < PLACES {
        let mut digit = 1;
        while digit < DIGITS {
            all[place][digit] = multiply(polynomial, all[place][digit - 1], step);
            digit += 1;
        }
        step = multiply(polynomial, all[place][DIGITS - 1], step);
        place += 1;
    }
    all
}

impl Polynomial {
    /// The checksum of all of `data`.
    pub fn of(self, data: &[u8]) -> u32 {
        match self {
            Self::Crc32 => crc32(data),
            Self::Crc32c => crc32c(data),
        }
    }

    /// The checksum of the last `length` bytes of a stream, from the checksum of the whole stream and that of the bytes before.
    pub fn of_range(self, whole: u32, before: u32, length: u32) -> u32 {
        let (polynomial, powers) = match self {
            Self::Crc32 => (CRC32, &CRC32_POWERS),
            Self::Crc32c => (CRC32C, &CRC32C_POWERS),
        };
        let mut moved = before;
        for (place, powers) in powers.iter().enumerate() {
            let digit = (length >> (4 * place)) as usize % DIGITS;
            if let Some(&power) = powers.get(digit).filter(|_| digit > 0) {
                moved = multiply(polynomial, power, moved);
            }
        }
        whole ^ moved
    }
}

/// The checksum of the part of a stream that was read.
#[derive(Debug, Clone, Copy)]
pub struct Running {
    polynomial: Polynomial,
    value: u32,
}

impl Running {
    pub fn new(polynomial: Polynomial) -> Self {
        Self { polynomial, value: 0 }
    }

    pub fn update(&mut self, data: &[u8]) {
        self.value = match self.polynomial {
            Polynomial::Crc32 => {
                let mut hasher = crc32fast::Hasher::new_with_initial(self.value);
                hasher.update(data);
                hasher.finalize()
            }
            // `crc32c` is faster for short data.
            Polynomial::Crc32c if self.value == 0 => crc32c(data),
            Polynomial::Crc32c => {
                let inverted = u64::from(!self.value);
                let mut digest = crc_fast::Digest::new_with_init_state(crc_fast::CrcAlgorithm::Crc32Iscsi, inverted);
                digest.update(data);
                digest.finalize() as u32
            }
        };
    }

    pub fn value(self) -> u32 {
        self.value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_range_of_a_stream() {
        let data: Vec<u8> = (0..70_000_u64).map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect();
        for (polynomial, of) in [(Polynomial::Crc32, crc32 as fn(&[u8]) -> u32), (Polynomial::Crc32c, crc32c)] {
            for (start, end) in [(0, 0), (0, 1), (1, 1), (7, 300), (300, 4_397), (12, 65_548), (69_999, 70_000)] {
                let mut running = Running::new(polynomial);
                running.update(&data[..start]);
                let before = running.value();
                running.update(&data[start..end]);
                let found = polynomial.of_range(running.value(), before, (end - start) as u32);
                assert_eq!(found, of(&data[start..end]), "{polynomial:?} of {start}..{end}");
            }
        }
    }
}
