//! Encoding raw blocks, two of them interleaved, with AVX2.
//!
//! Each step looks at four positions of an input. It hashes the four bytes at each of them, takes the latest position with that hash
//! from a table, where it stores its own, and compares 32 bytes. It takes the longest match; one that starts n positions later must
//! be 2n bytes longer, because n bytes become a literal, and the match before it is lost. Then it writes the literal before the match,
//! and a copy. Its branches are rare: no match, a match of 32 bytes or more, one of more than 64, and a literal of more than 32.
//!
//! Branches between the positions would be mispredicted so often that they take half of the time of snappy's own encoder. Without
//! them, a step waits for the one before it: hash, table, comparison and length depend on each other. So the steps of two inputs
//! alternate; while one waits, the processor executes the other. The block of an input does not depend on the other one.
//!
//! Where many steps have no match, one position at a time is faster, as in snappy's own encoder, and the rest of the input is encoded
//! so. Short inputs are left to the library.

use std::arch::x86_64::{_mm256_cmpeq_epi8, _mm256_movemask_epi8};
use std::ops::RangeInclusive;

use archmage::{SimdToken, X64V3Token, arcane, rite};

use super::raw_elements::{LONGEST_COPY, RawBlock, copy, long_copy, long_literal, put_length};
use super::xerial::BLOCK_SIZE;
use crate::memory::{self, OutOfMemory};

/// The size of a comparison.
const VECTOR: usize = 32;
/// The positions of a step.
const POSITIONS: usize = 4;
/// The bytes that a step reads from its first position on.
const WINDOW: usize = VECTOR + POSITIONS;
/// The shortest match: its bytes are hashed.
const SHORTEST: usize = 4;
/// The longest literal that is copied as one vector.
const SHORT_LITERAL: usize = VECTOR;
/// The bits of a hash.
const TABLE_BITS: u32 = 13;
/// The multiplier of snappy's own hash.
const MULTIPLIER: u32 = 0x1e35_a7bd;

/// The steps whose matches are counted together.
const STEPS: u32 = 128;
/// The most of the first, second, third and of all later [`STEPS`] that may be without a match. The first ones know few positions.
const MOST_MISSES: [u32; 4] = [112, 76, 62, 56];

/// The size of the copy of an input. All positions of 16 bits are in it, with a vector after them, so that one from the table needs no
/// check.
const INPUT: usize = (1 << 16) + VECTOR;
/// The size of a table of positions.
const TABLE: usize = 2 << TABLE_BITS;
/// The size of an output: snappy's own bound, and what is written as a whole vector. A copy takes no more than the bytes it stands
/// for; only the length of the input and the tags of literals of more than 60 bytes make a block larger than its input.
const OUTPUT: usize = BLOCK_SIZE + BLOCK_SIZE / 6 + 2 * VECTOR;
/// The size of the buffers of one input.
const BUFFERS: usize = INPUT + TABLE + OUTPUT;

/// The buffers of one input. They are one piece of memory, so that few registers address those of both.
struct Buffers<'m> {
    input: &'m mut [u8; INPUT],
    table: &'m mut [[u8; 2]; 1 << TABLE_BITS],
    out: &'m mut [u8; OUTPUT],
}

impl<'m> Buffers<'m> {
    #[inline]
    fn of(memory: &'m mut [u8; BUFFERS]) -> Option<Self> {
        let (input, rest) = memory.split_first_chunk_mut()?;
        let (table, out) = rest.split_first_chunk_mut::<TABLE>()?;
        let (table, _) = table.as_chunks_mut();
        Some(Self { input, table: table.first_chunk_mut()?, out: out.first_chunk_mut()? })
    }

    /// Begins a block. An input that is left to the library has no steps.
    fn begin(&mut self, input: &[u8]) -> Option<State> {
        let length = input.len();
        if !Pairs::LENGTHS.contains(&length) {
            return Some(State::default());
        }
        self.input.get_mut(..length)?.copy_from_slice(input);
        self.table.as_flattened_mut().fill(0);
        let written = put_length(length, self.out)?;
        Some(State { position: 1, end: length.saturating_sub(WINDOW), length, written, ..State::default() })
    }

    /// What was written, unless the input was left to the library.
    fn finish(self, state: &State) -> Option<RawBlock<'m>> {
        let elements = self.out.get(..state.written).filter(|elements| !elements.is_empty())?;
        Some(RawBlock { elements, encoded: state.encoded })
    }
}

/// The buffers of two inputs.
#[inline]
fn buffers(memory: &mut [u8; Pairs::MEMORY]) -> Option<[Buffers<'_>; 2]> {
    let (first, second) = memory.split_first_chunk_mut()?;
    Some([Buffers::of(first)?, Buffers::of(second.first_chunk_mut()?)?])
}

/// The progress of a block.
#[derive(Clone, Copy, Default)]
struct State {
    /// The first position of the next step.
    position: usize,
    /// Steps start before this position; 0 if few of them have matches, so that the rest is encoded by single positions.
    end: usize,
    /// The length of the input.
    length: usize,
    /// The position up to which elements are written.
    encoded: usize,
    /// The bytes written.
    written: usize,
    /// The steps without a match.
    misses: u32,
}

/// Encodes two inputs at a time.
#[derive(Default)]
pub(super) struct Pairs {
    /// Empty before the first block.
    memory: Vec<u8>,
}

impl Pairs {
    /// The lengths of the inputs that this encoder takes. For shorter ones, clearing the table costs more than it saves.
    pub(super) const LENGTHS: RangeInclusive<usize> = 8 << 10..=BLOCK_SIZE;
    /// The bytes that it allocates for its first input.
    pub(super) const MEMORY: usize = 2 * BUFFERS;

    /// Whether inputs of this length are encoded in less time two at once.
    pub(super) fn are_faster(length: usize) -> bool {
        Self::LENGTHS.contains(&length) && X64V3Token::summon().is_some()
    }

    /// The raw blocks of both inputs; `None` for one that is left to the library.
    #[inline]
    pub(super) fn encode(&mut self, inputs: [&[u8]; 2]) -> Result<[Option<RawBlock<'_>>; 2], OutOfMemory> {
        if inputs.iter().any(|input| Self::LENGTHS.contains(&input.len())) {
            self.encode_long(inputs)
        } else {
            Ok([None, None])
        }
    }

    #[inline(never)]
    fn encode_long(&mut self, inputs: [&[u8]; 2]) -> Result<[Option<RawBlock<'_>>; 2], OutOfMemory> {
        let Some(token) = X64V3Token::summon() else { return Ok([None, None]) };
        if self.memory.is_empty() {
            self.memory = memory::zeroed(Self::MEMORY)?;
        }
        Ok(self.encode_with(token, inputs).unwrap_or_default())
    }

    fn encode_with(&mut self, token: X64V3Token, inputs: [&[u8]; 2]) -> Option<[Option<RawBlock<'_>>; 2]> {
        let memory = self.memory.first_chunk_mut()?;
        let mut states = [State::default(); 2];
        for ((buffers, input), state) in buffers(memory)?.iter_mut().zip(inputs).zip(&mut states) {
            *state = buffers.begin(input)?;
        }
        encode_interleaved(token, memory, &mut states)?;
        let [first, second] = buffers(memory)?;
        Some([first.finish(&states[0]), second.finish(&states[1])])
    }
}

#[arcane]
fn encode_interleaved(token: X64V3Token, memory: &mut [u8; Pairs::MEMORY], states: &mut [State; 2]) -> Option<()> {
    let equal = |left: &[u8; VECTOR], right: &[u8; VECTOR]| equal_bytes(token, left, right);
    let [mut first_buffers, mut second_buffers] = buffers(memory)?;
    // Copies, which the compiler keeps in registers.
    let [mut first, mut second] = *states;
    let mut round = 0_usize;
    while first.position < first.end || second.position < second.end {
        for _ in 0..STEPS {
            if first.position < first.end {
                step(&mut first_buffers, &mut first, equal)?;
            }
            if second.position < second.end {
                step(&mut second_buffers, &mut second, equal)?;
            }
        }
        first.count_misses(round);
        second.count_misses(round);
        round = round.wrapping_add(1);
    }
    one_by_one(&mut first_buffers, &mut first, equal)?;
    one_by_one(&mut second_buffers, &mut second, equal)?;
    *states = [first, second];
    Some(())
}

impl State {
    /// Goes on position by position if too few of the last steps found a match. `round` counts from 0.
    fn count_misses(&mut self, round: usize) {
        let [.., last] = MOST_MISSES;
        if self.misses > *MOST_MISSES.get(round).unwrap_or(&last) {
            self.end = 0;
        }
        self.misses = 0;
    }
}

/// The number of bytes before the first that differs.
#[rite]
fn equal_bytes(_token: X64V3Token, left: &[u8; VECTOR], right: &[u8; VECTOR]) -> u32 {
    let equal = _mm256_cmpeq_epi8(bytemuck::must_cast(*left), bytemuck::must_cast(*right));
    (!_mm256_movemask_epi8(equal)).trailing_zeros()
}

/// One step. `None` cannot happen: it would be a position outside of a buffer.
#[inline(always)]
#[expect(clippy::inline_always, reason = "the hot loop, whose state stays in registers; two callers")]
fn step(
    buffers: &mut Buffers<'_>,
    state: &mut State,
    equal: impl Fn(&[u8; VECTOR], &[u8; VECTOR]) -> u32,
) -> Option<()> {
    let input = &*buffers.input;
    let window: &[u8; WINDOW] = chunk_at(input, state.position)?;
    // The last position of the match before is a source, too, as in the library.
    let before = state.position.wrapping_sub(1);
    let word = u64::from_le_bytes(*chunk_at(input, before)?);
    look_up(buffers.table, word as u32, before)?;
    let word = word >> 8;
    let mut sources = [0; POSITIONS];
    for (position, source) in sources.iter_mut().enumerate() {
        *source = look_up(buffers.table, (word >> (8 * position)) as u32, state.position.wrapping_add(position))?;
    }
    // A match counts eight times its length, and 15 for each position that it is before the last one. The lowest bits tell that
    // number of positions: they are its negation. Two or three equal bytes may win over a match of eight or less at a later
    // position, which is then lost; that is rare.
    let mut best = 0;
    for (position, source) in sources.iter().enumerate() {
        let length = equal(chunk_at(window, position)?, chunk_at(input, *source)?);
        let before_last = (POSITIONS - 1 - position) as u32;
        best = best.max((length << 3).wrapping_add(15 * before_last));
    }
    let before_last = best.wrapping_neg() & 3;
    let length = (best.wrapping_add(before_last) >> 3).wrapping_sub(2 * before_last) as usize;
    let start = state.position;
    if length < SHORTEST {
        let run = start.wrapping_sub(state.encoded);
        // From 256 bytes without a match on, positions are skipped.
        state.position = start.wrapping_add(POSITIONS).wrapping_add(run.wrapping_mul(run) >> 16);
        state.misses = state.misses.wrapping_add(1);
        return Some(());
    }
    let position = POSITIONS - 1 - before_last as usize;
    put_match(buffers, state, start.wrapping_add(position), *sources.get(position)?, length)
}

/// Writes the literal before a match, and the match, whose `length` is that of its first [`VECTOR`] bytes.
#[inline(always)]
#[expect(clippy::inline_always, reason = "the hot loop")]
fn put_match(
    buffers: &mut Buffers<'_>,
    state: &mut State,
    start: usize,
    source: usize,
    mut length: usize,
) -> Option<()> {
    let (input, out) = (&*buffers.input, &mut *buffers.out);
    if length == VECTOR {
        length = longer(input.get(..state.length)?, start, source);
    }
    let run = start.wrapping_sub(state.encoded);
    if run > SHORT_LITERAL {
        state.written = long_literal(input.get(state.encoded..start)?, out, state.written)?;
    } else {
        // The tag is overwritten if there is no literal.
        let literal: &[u8; SHORT_LITERAL] = chunk_at(input, state.encoded)?;
        let put: &mut [u8; 1 + SHORT_LITERAL] = chunk_at_mut(out, state.written)?;
        put[0] = (run.wrapping_sub(1) << 2) as u8;
        let tag = usize::from(run > 0);
        *chunk_at_mut(put, tag)? = *literal;
        state.written = state.written.wrapping_add(run).wrapping_add(tag);
    }
    state.position = start.wrapping_add(length);
    state.encoded = state.position;
    let offset = start.wrapping_sub(source);
    if length > LONGEST_COPY {
        (state.written, length) = long_copy(offset, length, out, state.written)?;
    }
    let (element, size) = copy(offset, length);
    *chunk_at_mut(out, state.written)? = element;
    state.written = state.written.wrapping_add(size);
    Some(())
}

/// Encodes the rest of a block position by position, as the library does: after the last step, or where few steps have matches.
#[inline(always)]
#[expect(clippy::inline_always, reason = "for the vectors of its caller")]
fn one_by_one(
    buffers: &mut Buffers<'_>,
    state: &mut State,
    equal: impl Fn(&[u8; VECTOR], &[u8; VECTOR]) -> u32,
) -> Option<()> {
    let end = state.length.saturating_sub(SHORTEST);
    // As in the library: the more bytes have no match, the more positions are skipped.
    let mut skipped = 32_usize;
    while state.position < end {
        let start = state.position;
        let word = u32::from_le_bytes(*chunk_at(buffers.input, start)?);
        let source = look_up(buffers.table, word, start)?;
        if word != u32::from_le_bytes(*chunk_at(buffers.input, source)?) {
            let distance = skipped >> 5;
            state.position = start.wrapping_add(distance);
            skipped = skipped.wrapping_add(distance);
            continue;
        }
        skipped = 32;
        // The comparison may go beyond the end of the input.
        let left = state.length.saturating_sub(start);
        let length = left.min(equal(chunk_at(buffers.input, start)?, chunk_at(buffers.input, source)?) as usize);
        put_match(buffers, state, start, source, length)?;
        if state.position < end {
            let before = state.position.wrapping_sub(1);
            look_up(buffers.table, u32::from_le_bytes(*chunk_at(buffers.input, before)?), before)?;
        }
    }
    Some(())
}

/// The last position with the same four bytes, probably; the table then has `position` instead.
#[inline(always)]
#[expect(clippy::inline_always, reason = "the hot loop")]
fn look_up(table: &mut [[u8; 2]; 1 << TABLE_BITS], word: u32, position: usize) -> Option<usize> {
    let hash = word.wrapping_mul(MULTIPLIER) >> (u32::BITS - TABLE_BITS);
    let entry = table.get_mut(hash as usize)?;
    Some(usize::from(u16::from_le_bytes(std::mem::replace(entry, (position as u16).to_le_bytes()))))
}

/// The length of a match of at least [`VECTOR`] bytes.
#[inline(never)]
fn longer(input: &[u8], start: usize, source: usize) -> usize {
    let from = |position: usize| input.get(position.wrapping_add(VECTOR)..).unwrap_or_default();
    let (words, rest) = from(start).as_chunks::<8>();
    let (source_words, _) = from(source).as_chunks::<8>();
    let mut length = VECTOR;
    for (word, source_word) in words.iter().zip(source_words) {
        let differing = u64::from_le_bytes(*word) ^ u64::from_le_bytes(*source_word);
        if differing != 0 {
            return length.wrapping_add(differing.trailing_zeros() as usize / 8);
        }
        length = length.wrapping_add(8);
    }
    let source_rest = input.get(source.wrapping_add(length)..).unwrap_or_default();
    length.wrapping_add(rest.iter().zip(source_rest).take_while(|(left, right)| left == right).count())
}

#[inline(always)]
#[expect(clippy::inline_always, reason = "the hot loop")]
fn chunk_at<const N: usize>(bytes: &[u8], position: usize) -> Option<&[u8; N]> {
    bytes.get(position..position.wrapping_add(N))?.first_chunk()
}

#[inline(always)]
#[expect(clippy::inline_always, reason = "the hot loop")]
fn chunk_at_mut<const N: usize>(bytes: &mut [u8], position: usize) -> Option<&mut [u8; N]> {
    bytes.get_mut(position..position.wrapping_add(N))?.first_chunk_mut()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]

    use super::*;

    /// Which of the inputs are not left to the library.
    fn taken(inputs: [&[u8]; 2]) -> [bool; 2] {
        Pairs::default().encode(inputs).unwrap().map(|block| block.is_some())
    }

    #[test]
    fn what_is_left_to_the_library() {
        if X64V3Token::summon().is_none() {
            return;
        }
        let text = b"{\"offset\": 17, \"timestamp\": 1700000000000}, ".repeat(1000);
        let (shortest, longest) = (*Pairs::LENGTHS.start(), *Pairs::LENGTHS.end());
        let text = |length: usize| text.get(..length).unwrap();
        assert_eq!(taken([text(shortest - 1), text(shortest)]), [false, true]);
        assert_eq!(taken([text(longest + 1), text(longest)]), [false, true]);
        assert_eq!(taken([text(shortest), &[]]), [true, false]);
    }

    /// Bytes without matches, others for each seed.
    fn noise(length: usize, seed: u64) -> Vec<u8> {
        (0..length as u64).map(|n| ((n ^ seed << 20).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33) as u8).collect()
    }

    /// A block of copies of 20 bytes, with this many bytes of noise between them.
    fn copies(between: usize) -> Vec<u8> {
        let text = noise(70, 0);
        let piece = |n: usize| [text.iter().skip(n % 50).take(20).copied().collect(), noise(between, n as u64 + 1)];
        let pieces = (0..BLOCK_SIZE).flat_map(piece).flatten();
        text.iter().copied().chain(pieces).take(BLOCK_SIZE).collect()
    }

    #[test]
    fn where_few_steps_find_matches() {
        let Some(token) = X64V3Token::summon() else { return };
        let mut memory = memory::zeroed(Pairs::MEMORY).unwrap();
        let memory = memory.first_chunk_mut().unwrap();
        for (input, is_single) in
            [(copies(2), false), (copies(60), true), (noise(BLOCK_SIZE, 1), true), (vec![7; BLOCK_SIZE], false)]
        {
            let [mut first, _] = buffers(memory).unwrap();
            let mut states = [first.begin(&input).unwrap(), State::default()];
            encode_interleaved(token, memory, &mut states).unwrap();
            assert_eq!(states[0].end == 0, is_single);
        }
    }
}
