//! The deflate stream of a small member: one block with Huffman codes of its own,
//! [RFC 1951](https://www.rfc-editor.org/rfc/rfc1951), 3.2.7.
//!
//! ```text
//! block   = BFINAL, 1 bit, set | BTYPE, 2, dynamic
//!           | HLIT, 5 | HDIST, 5 | HCLEN, 4 | (HCLEN + 4) lengths of 3 bits, in the order of ORDER
//!           | lengths of HLIT + 257 literal and length codes and of HDIST + 1 distance codes, run-length coded
//!           | (literal | length code, extra bits, distance code, extra bits)* | end of block
//! ```
//!
//! Batches of one record and cells of a column are such members. A decoder for long streams spends half of its time for one of them
//! on tables that it hardly uses. Here the tables have the size of the longest code and contain only the codes that occur. If the
//! data are not such a block, or are corrupt, the general decoders decode them and report the errors.

/// Above this size the general decoders are faster, because their inner loop is.
pub(super) const MOST_BYTES: usize = 1 << 10;

/// The longest code that the tables support. Longer codes occur only with a thousand symbols or more.
const MOST_BITS: usize = 11;
const TABLE: usize = 1 << MOST_BITS;
const LITERALS: usize = 286;
const DISTANCES: usize = 30;
const LENGTH_CODES: usize = 19;
const END_OF_BLOCK: u32 = 256;
/// BFINAL and a BTYPE of 2.
const LAST_DYNAMIC: u64 = 0b101;

const ORDER: [u8; LENGTH_CODES] = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
/// First length and extra bits of the codes from 257.
const LENGTH: [(u16, u8); 29] = [
    (3, 0),
    (4, 0),
    (5, 0),
    (6, 0),
    (7, 0),
    (8, 0),
    (9, 0),
    (10, 0),
    (11, 1),
    (13, 1),
    (15, 1),
    (17, 1),
    (19, 2),
    (23, 2),
    (27, 2),
    (31, 2),
    (35, 3),
    (43, 3),
    (51, 3),
    (59, 3),
    (67, 4),
    (83, 4),
    (99, 4),
    (115, 4),
    (131, 5),
    (163, 5),
    (195, 5),
    (227, 5),
    (258, 0),
];
/// First distance and extra bits.
const DISTANCE: [(u16, u8); DISTANCES] = [
    (1, 0),
    (2, 0),
    (3, 0),
    (4, 0),
    (5, 1),
    (7, 1),
    (9, 2),
    (13, 2),
    (17, 3),
    (25, 3),
    (33, 4),
    (49, 4),
    (65, 5),
    (97, 5),
    (129, 6),
    (193, 6),
    (257, 7),
    (385, 7),
    (513, 8),
    (769, 8),
    (1025, 9),
    (1537, 9),
    (2049, 10),
    (3073, 10),
    (4097, 11),
    (6145, 11),
    (8193, 12),
    (12289, 12),
    (16385, 13),
    (24577, 13),
];

/// Tables that are refilled for each member without being cleared.
pub struct SmallInflate {
    literals: Code,
    distances: Code,
    used: [Used; 2],
}

impl Default for SmallInflate {
    fn default() -> Self {
        Self::new()
    }
}

impl SmallInflate {
    /// Empty tables.
    pub fn new() -> Self {
        Self { literals: Code::new(), distances: Code::new(), used: [Used::new(), Used::new()] }
    }

    /// Decodes the block at the start of `data` into `out` and returns its length in bytes; `None` if it is
    /// not such a block or does not fill `out` exactly. The content of `out` is undefined then.
    pub fn inflate(&mut self, data: &[u8], out: &mut [u8]) -> Option<usize> {
        let mut bits = Bits { data, position: 0, held: 0, count: 0 };
        bits.refill();
        if bits.take(3) != LAST_DYNAMIC {
            return None;
        }
        let bits = self.codes(bits)?;
        content(&self.literals, &self.distances, bits, out)
    }

    /// Reads the lengths of both codes and builds their tables.
    #[inline(never)]
    fn codes<'d>(&mut self, mut bits: Bits<'d>) -> Option<Bits<'d>> {
        let literals = bits.take(5) as usize + 257;
        let distances = bits.take(5) as usize + 1;
        let lengths = bits.take(4) as usize + 4;
        if literals > LITERALS || distances > DISTANCES {
            return None;
        }
        let mut by_symbol = [0_u8; LENGTH_CODES];
        bits.refill();
        for &symbol in ORDER.get(..lengths)? {
            // 19 lengths of 3 bits have one bit more than a refill guarantees.
            if bits.count < 3 {
                bits.refill();
            }
            *by_symbol.get_mut(usize::from(symbol))? = bits.take(3) as u8;
        }
        // The tables of the two codes are not built yet: one of them contains the table for the code lengths.
        let [literal, distance] = &mut self.used;
        literal.clear();
        for (symbol, length) in (0..).zip(by_symbol) {
            literal.push(symbol, length)?;
        }
        self.distances.make(literal)?;

        literal.clear();
        distance.clear();
        let mut symbol = 0;
        let mut last = None;
        while symbol < literals + distances {
            // A code of at most 7 bits, and 7 extra bits.
            if bits.count < 14 {
                bits.refill();
            }
            let code = self.distances.next(&mut bits);
            if code < 16 {
                let length = code as u8;
                last = Some(length);
                match symbol.checked_sub(literals) {
                    None => literal.push(symbol as u16, length)?,
                    Some(symbol) => distance.push(symbol as u16, length)?,
                }
                symbol += 1;
                continue;
            }
            let (length, times) = match code {
                16 => (last?, 3 + bits.take(2) as usize),
                17 => (0, 3 + bits.take(3) as usize),
                _ => (0, 11 + bits.take(7) as usize),
            };
            last = Some(length);
            let end = symbol + times;
            if end > literals + distances {
                return None;
            }
            if length > 0 {
                for symbol in symbol..end {
                    match symbol.checked_sub(literals) {
                        None => literal.push(symbol as u16, length)?,
                        Some(symbol) => distance.push(symbol as u16, length)?,
                    }
                }
            }
            symbol = end;
        }
        self.distances.make(distance)?;
        self.literals.make(literal)?;
        Some(bits)
    }
}

/// Decodes literals and matches up to the end of the block, and returns the end of its bytes. A separate function that takes the
/// bits by value keeps them in registers.
#[inline(never)]
fn content(literals: &Code, distances: &Code, mut bits: Bits<'_>, out: &mut [u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        // A match takes at most 11 + 5 and 11 + 13 bits; several literals fit into one refill.
        if bits.count < 40 {
            bits.refill();
        }
        let symbol = literals.next(&mut bits);
        if symbol < END_OF_BLOCK {
            *out.get_mut(at)? = symbol as u8;
            at += 1;
            continue;
        }
        if symbol == END_OF_BLOCK {
            return bits.end().filter(|_| at == out.len());
        }
        let &(first, extra) = LENGTH.get(symbol as usize - 257)?;
        let length = usize::from(first) + bits.take(u32::from(extra)) as usize;
        let &(first, extra) = DISTANCE.get(distances.next(&mut bits) as usize)?;
        let distance = usize::from(first) + bits.take(u32::from(extra)) as usize;
        let from = at.checked_sub(distance)?;
        let end = at + length;
        if distance >= length {
            if end > out.len() {
                return None;
            }
            out.copy_within(from..from + length, at);
        } else {
            let window = out.get_mut(from..end)?;
            for index in distance..window.len() {
                *window.get_mut(index)? = *window.get(index - distance)?;
            }
        }
        at = end;
    }
}

/// Bits, the lowest of each byte first. Zeros follow the end of the data; [`Bits::end`] detects that they were used.
struct Bits<'d> {
    data: &'d [u8],
    /// The next byte to load.
    position: usize,
    held: u64,
    count: u32,
}

impl Bits<'_> {
    /// Loads bits until there are at least 56: bits beyond whole bytes are loaded again next time.
    #[inline]
    fn refill(&mut self) {
        let next = self.data.get(self.position..).and_then(|rest| rest.first_chunk());
        let next = next.map_or_else(|| self.last_bytes(), |bytes| u64::from_le_bytes(*bytes));
        self.held |= next << self.count;
        self.position += ((63 - self.count) >> 3) as usize;
        self.count |= 0b11_1000;
    }

    /// Fewer than eight bytes are left, or none: `position` may be after the end, and the bits there are zeros.
    #[cold]
    fn last_bytes(&self) -> u64 {
        let rest = self.data.get(self.position..).unwrap_or_default();
        rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
    }

    /// At most as many bits as are held.
    #[inline]
    fn take(&mut self, count: u32) -> u64 {
        let bits = self.held & ((1 << count) - 1);
        self.skip(count);
        bits
    }

    #[inline]
    fn skip(&mut self, count: u32) {
        self.held >>= count;
        self.count = self.count.wrapping_sub(count);
    }

    /// The number of bytes of which at least one bit was taken; `None` if the data have fewer.
    fn end(&self) -> Option<usize> {
        let taken = self.position - (self.count / 8) as usize;
        (taken <= self.data.len()).then_some(taken)
    }
}

/// The symbols of a code with a length, in order.
struct Used {
    entries: [u16; LITERALS],
    length: usize,
    counts: [u16; 16],
}

impl Used {
    fn new() -> Self {
        Self { entries: [0; LITERALS], length: 0, counts: [0; 16] }
    }

    fn clear(&mut self) {
        self.length = 0;
        self.counts = [0; 16];
    }

    #[inline]
    fn push(&mut self, symbol: u16, length: u8) -> Option<()> {
        if length > 0 {
            *self.counts.get_mut(usize::from(length))? += 1;
            *self.entries.get_mut(self.length)? = symbol << 4 | u16::from(length);
            self.length += 1;
        }
        Some(())
    }
}

/// A code as a table by the next bits: the symbol, and in the low four bits the length of its code.
struct Code {
    table: [u16; TABLE],
    bits: u32,
}

impl Code {
    fn new() -> Self {
        Self { table: [0; TABLE], bits: 0 }
    }

    /// The next symbol.
    #[inline]
    fn next(&self, bits: &mut Bits<'_>) -> u32 {
        let index = bits.held as usize & ((1 << self.bits) - 1) & (TABLE - 1);
        let entry = self.table[index];
        bits.skip(u32::from(entry & 15));
        u32::from(entry >> 4)
    }

    /// Builds the table of a complete code; `None` for incomplete codes and for codes that are too long.
    fn make(&mut self, used: &Used) -> Option<()> {
        let mut starts = [0_u16; 16];
        let mut start = 0;
        let mut space = 0_u32;
        for (length, (count, place)) in used.counts.iter().zip(&mut starts).enumerate() {
            *place = start;
            start += count;
            space += u32::from(*count) << (15 - length);
        }
        if space != 1 << 15 {
            return None;
        }
        let mut sorted = [0_u16; LITERALS];
        for entry in used.entries.get(..used.length)? {
            let place = starts.get_mut(usize::from(entry & 15))?;
            *sorted.get_mut(usize::from(*place))? = *entry;
            *place += 1;
        }
        self.fill(sorted.get(..used.length)?)
    }

    /// Codes increase from their highest bit, which is read first, so the table of the shorter codes is both halves of the table
    /// of the codes that are one bit longer.
    fn fill(&mut self, sorted: &[u16]) -> Option<()> {
        let mut bits = usize::from(sorted.first()? & 15);
        let mut code = 0;
        for &entry in sorted {
            while bits < usize::from(entry & 15) {
                let half = 1 << bits;
                if bits == MOST_BITS {
                    return None;
                }
                self.table.copy_within(..half, half);
                bits += 1;
            }
            *self.table.get_mut(code)? = entry;
            let zeros = !code & ((1 << bits) - 1);
            // The last code has no zeros and no successor.
            let highest = 1 << zeros.checked_ilog2().unwrap_or_default();
            code = code & (highest - 1) | highest;
        }
        self.bits = bits as u32;
        Some(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]

    use super::SmallInflate;

    /// In the other tests a member that this decoder refuses is decoded by another one.
    #[test]
    fn takes_what_it_is_for() {
        let text: Vec<u8> = (0..90_u32).flat_map(|n| format!("{},", n * n * 7919 % 10_007).into_bytes()).collect();
        let mut compressor = libdeflater::Compressor::new(libdeflater::CompressionLvl::new(6).unwrap());
        let mut data = vec![0; 1000];
        let length = compressor.deflate_compress(&text, &mut data).unwrap();
        let mut out = vec![0; text.len()];
        assert_eq!(SmallInflate::new().inflate(&data, &mut out), Some(length));
        assert_eq!(out, text);
    }
}
