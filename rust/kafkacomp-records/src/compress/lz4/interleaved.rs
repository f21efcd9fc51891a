//! Decoding two independent blocks, interleaved, with AVX2.
//!
//! ```text
//! sequence = token | [length of the literal, 255* and a byte] | literal | offset, 2 | [length of the match, 255* and a byte]
//! token    = length of the literal, 4 bits | length of the match - 4, 4 bits
//! ```
//!
//! The position of a token is known only when the token before it is decoded, and the length of a literal or of a match cannot be
//! predicted. So each step decodes one sequence without branches that are unpredictable, and the steps of two blocks alternate:
//! while one waits for its token, the processor executes the other. A step copies 16 bytes of a literal and 32 of a match, also if
//! they are shorter; what is too much is overwritten by the next one. For longer matches it branches: in JSON, one in twenty.
//!
//! Rare are literals of 15 bytes or more, matches of more than 128, and matches that overlap what they write. The last sequences of
//! a block are left to liblz4, with the content before them as its dictionary: so what may end a block is decided by it alone. A match
//! from before the block, or with an offset of 0, is refused here: the caller then decodes the first block by liblz4.

use super::liblz4;
use archmage::{SimdToken, X64V3Token, arcane};

/// The most content of a block that is decoded here: the offset of a match cannot be larger.
pub(super) const CONTENT: usize = 64 << 10;

/// The length of the shortest block that is worth it.
pub(super) const SHORTEST: usize = 4 << 10;

/// The room for the content of a block.
pub(super) type Room = [u8; CONTENT];

/// The bytes that a step reads: those of its sequence, and at least those that liblz4 requires after a sequence that is not the last.
const HEAD: usize = 32;
/// The bytes that are copied for a literal.
const LITERAL: usize = 16;
/// The value in a token that means that more of the length follows.
const LONG: u32 = 15;
/// The shortest match.
const SHORTEST_MATCH: usize = 4;
/// The bytes that are copied for a match, once, twice or four times.
const PIECE: usize = 32;
/// The longest match of a step.
const LONGEST: usize = 4 * PIECE;
/// What a length byte adds if another one follows.
const MORE: usize = 255;

/// A step begins before this position in the room, and ends at least [`MARGIN`] bytes before its end.
const END: usize = CONTENT - LITERAL - LONGEST - MARGIN;
/// More bytes than liblz4 requires between a sequence that is not the last and the end of the room.
const MARGIN: usize = 16;

/// What a token says of its sequence, in one word: a step takes about thirty instructions, and each one that it saves counts.
///
/// ```text
/// bits 0 to 7    which bits of the byte after the offset belong to the length of the match
/// bits 8 to 15   the length of the match without that byte
/// bits 27 to 31  the bytes of the sequence
/// ```
#[derive(Clone, Copy)]
struct Token(u32);

static TOKENS: [Token; 256] = {
    let mut tokens = [Token(0); 256];
    let mut token = 0;
    while token < tokens.len() {
        tokens[token] = Token::new(token as u32 >> 4, token as u32 & LONG);
        token += 1;
    }
    tokens
};

impl Token {
    const fn new(literal: u32, length: u32) -> Self {
        let is_long = length == LONG;
        // A literal whose length follows is not common: with this length, `common` refuses the sequence.
        let length = if literal == LONG { u8::MAX as u32 } else { SHORTEST_MATCH as u32 + length };
        Self(if is_long { u8::MAX as u32 } else { 0 } | length << 8 | (1 + literal + 2 + is_long as u32) << 27)
    }

    /// The length of the match, if `next` is the byte after the offset.
    #[inline]
    fn match_length(self, next: u8) -> usize {
        usize::from((self.0 >> 8) as u8).wrapping_add((self.0 & u32::from(next)) as usize)
    }

    /// The bytes of the sequence.
    #[inline]
    const fn sequence_length(self) -> usize {
        (self.0 >> 27) as usize
    }
}

/// The progress of a block.
#[derive(Clone, Copy)]
struct State<'b> {
    /// The sequences that are not decoded yet.
    rest: &'b [u8],
    /// The length of the content so far.
    written: usize,
}

/// Decodes two blocks at a time.
#[derive(Clone, Copy)]
pub(super) struct Pairs(X64V3Token);

impl Pairs {
    /// `None` if the processor lacks the instructions.
    pub(super) fn available() -> Option<Self> {
        X64V3Token::summon().map(Self)
    }

    /// Decodes a block to the beginning of each room, and returns the lengths of both contents; `None` if they are left to liblz4.
    pub(super) fn decode(self, blocks: [&[u8]; 2], rooms: [&mut Room; 2]) -> Option<[usize; 2]> {
        let [first_room, second_room] = rooms;
        let mut states = blocks.map(|rest| State { rest, written: 0 });
        sequences(self.0, &mut states, [&mut *first_room, &mut *second_room])?;
        let [first, second] = states;
        Some([last_sequences(first, first_room)?, last_sequences(second, second_room)?])
    }
}

/// Decodes the last sequences of a block, and returns the length of its content.
fn last_sequences(state: State<'_>, room: &mut Room) -> Option<usize> {
    let (content, rest) = room.split_at_mut_checked(state.written)?;
    let length = liblz4::decompress(state.rest, rest, content)?;
    Some(state.written.wrapping_add(length))
}

/// Decodes all sequences but the last ones.
#[arcane]
#[allow(clippy::used_underscore_binding, reason = "the expansion of `arcane` passes it on")]
fn sequences(_token: X64V3Token, states: &mut [State<'_>; 2], rooms: [&mut Room; 2]) -> Option<()> {
    // Copies, which the compiler keeps in registers.
    let [mut first, mut second] = *states;
    let [first_room, second_room] = rooms;
    while advance(first_room, &mut first)? && advance(second_room, &mut second)? {}
    while advance(first_room, &mut first)? {}
    while advance(second_room, &mut second)? {}
    *states = [first, second];
    Some(())
}

/// Decodes a sequence; `false` if what is left is for liblz4.
#[inline(always)]
#[expect(clippy::inline_always, reason = "the hot loop, whose state stays in registers")]
fn advance(room: &mut Room, state: &mut State<'_>) -> Option<bool> {
    let Some(head) = state.rest.first_chunk() else { return Some(false) };
    if state.written >= END {
        return Some(false);
    }
    if let Some((sequence, end)) = common(head, room, state.written) {
        state.rest = state.rest.split_at(sequence).1;
        state.written = end;
        return Some(true);
    }
    // A copy, so that the state stays in registers.
    let mut next = *state;
    let is_decoded = rare(room, &mut next)?;
    *state = next;
    Some(is_decoded)
}

/// Decodes a common sequence, and returns its length and the end of its content.
#[inline(always)]
#[expect(clippy::inline_always, reason = "the hot loop")]
fn common(head: &[u8; HEAD], room: &mut Room, written: usize) -> Option<(usize, usize)> {
    let token = TOKENS[usize::from(head[0])];
    let literal = usize::from(head[0] >> 4);
    copy_literal(head, room, written)?;
    let start = written.wrapping_add(literal);
    let offset = usize::from(u16::from_le_bytes([head[literal + 1], head[literal + 2]]));
    let length = token.match_length(head[literal + 3]);
    let source = start.checked_sub(offset)?;
    if offset < length {
        return None;
    }
    copy_piece(room, source, start)?;
    if length > PIECE {
        copy_piece(room, source.wrapping_add(PIECE), start.wrapping_add(PIECE))?;
        if length > 2 * PIECE {
            if length > LONGEST {
                return None;
            }
            copy_piece(room, source.wrapping_add(2 * PIECE), start.wrapping_add(2 * PIECE))?;
            copy_piece(room, source.wrapping_add(3 * PIECE), start.wrapping_add(3 * PIECE))?;
        }
    }
    Some((token.sequence_length(), start.wrapping_add(length)))
}

#[inline(always)]
#[expect(clippy::inline_always, reason = "the hot loop")]
fn copy_literal(head: &[u8; HEAD], room: &mut Room, to: usize) -> Option<()> {
    *room.get_mut(to..to.wrapping_add(LITERAL))?.first_chunk_mut::<LITERAL>()? = *head[1..].first_chunk()?;
    Some(())
}

/// Copies a piece of a match.
#[inline(always)]
#[expect(clippy::inline_always, reason = "the hot loop")]
fn copy_piece(room: &mut Room, from: usize, to: usize) -> Option<()> {
    let piece: [u8; PIECE] = *room.get(from..from.wrapping_add(PIECE))?.first_chunk()?;
    *room.get_mut(to..to.wrapping_add(PIECE))?.first_chunk_mut()? = piece;
    Some(())
}

/// Decodes any sequence but one of the last, for which it returns `false`.
#[inline(never)]
fn rare(room: &mut Room, state: &mut State<'_>) -> Option<bool> {
    let (&token, rest) = state.rest.split_first()?;
    let (literal, rest) = length(usize::from(token >> 4), rest)?;
    let start = state.written.checked_add(literal)?;
    let Some((literal, rest)) = rest.split_at_checked(literal) else { return Some(false) };
    let Some((offset, rest)) = rest.split_first_chunk() else { return Some(false) };
    let (length, rest) = length(usize::from(token & 15), rest)?;
    let (length, offset) = (length.checked_add(SHORTEST_MATCH)?, usize::from(u16::from_le_bytes(*offset)));
    let end = start.checked_add(length)?;
    if rest.len() < HEAD || end > CONTENT - MARGIN {
        return Some(false);
    }
    room.get_mut(state.written..start)?.copy_from_slice(literal);
    if offset == 0 {
        return None;
    }
    let source = start.checked_sub(offset)?;
    let mut to = start;
    while to < end {
        // What was written repeats, too: each round doubles it.
        let piece = (to - source).min(end - to);
        room.copy_within(source..source + piece, to);
        to += piece;
    }
    *state = State { rest, written: end };
    Some(true)
}

/// A length whose first part is `value`, and what follows it.
fn length(value: usize, rest: &[u8]) -> Option<(usize, &[u8])> {
    if value < 15 {
        return Some((value, rest));
    }
    let more = rest.iter().take_while(|byte| usize::from(**byte) == MORE).count();
    let (last, rest) = rest.get(more..)?.split_first()?;
    Some((value + more * MORE + usize::from(*last), rest))
}
