//! Decoding the elements of a raw block; `raw_length` describes their layout.
//!
//! ```text
//! room = content | slack | window of the block | slack
//! ```
//!
//! The block is copied after the room for its content, one window at a time. Literals and copies are then the same operation: 32
//! bytes are moved from a place in the room to the end of the content, which then grows by the length of the element. The type of
//! the next element cannot be predicted, so the common path does not branch on it: a table says what its tag means. Few elements are
//! longer than 32 bytes, so that a branch on that is predicted well. Copying the block takes a fiftieth of the time of decoding it.

use super::raw_length::LONG_LITERAL;

/// The most content of an element other than a long literal.
const LONGEST: usize = 64;
/// The bytes that are moved for each element, once or twice.
const PIECE: usize = 32;
/// More bytes than an element takes, so that [`Elements::size`] needs no check.
const HEAD: usize = 256;
/// Bytes that may be overwritten after the content, and read after the window.
const SLACK: usize = HEAD;
/// The size of a window of the block.
const WINDOW: usize = 32 << 10;

/// The mark of a literal in [`Elements::offset`].
const LITERAL: u32 = 1 << 31;

/// What a tag says of its element. Tags of long literals and of offsets of four bytes have an offset of 0, which no copy can have.
struct Elements {
    /// The size of the element in the block.
    size: [u8; 256],
    /// The length of its content.
    length: [u8; 256],
    /// Which bits of the two bytes after it belong to the offset; in the upper half the bits of the offset that the tag has, or
    /// [`LITERAL`].
    offset: [u32; 256],
}

static ELEMENTS: Elements = {
    let mut elements = Elements { size: [0; 256], length: [1; 256], offset: [0; 256] };
    let mut tag = 0;
    while tag < 256 {
        let value = tag >> 2;
        let (size, length, offset) = match tag & 3 {
            0 if value < LONG_LITERAL => (value + 2, value + 1, LITERAL as usize),
            1 => (2, (value & 7) + 4, 0xFF | (value >> 3) << 24),
            2 => (3, value + 1, 0xFFFF),
            _ => (0, 1, 0),
        };
        (elements.size[tag], elements.length[tag], elements.offset[tag]) = (size as u8, length as u8, offset as u32);
        tag += 1;
    }
    elements
};

/// How much room beyond the content it takes to decode `elements`.
pub(super) fn slack(elements: &[u8]) -> usize {
    elements.len().min(WINDOW) + 2 * SLACK
}

/// Decodes `elements` to the first `claimed` bytes of `room`, which is longer than that by their [`slack`]. `None`
/// if they are invalid or have another length.
pub(super) fn decode(elements: &[u8], room: &mut [u8], claimed: usize) -> Option<()> {
    let base = claimed.checked_add(SLACK)?;
    let (mut next, mut at) = (0, 0);
    while at < claimed {
        let rest = elements.get(next..).filter(|rest| !rest.is_empty())?;
        let part = rest.get(..WINDOW).unwrap_or(rest);
        let end = base.checked_add(part.len())?;
        room.get_mut(base..end)?.copy_from_slice(part);
        // An element that may extend beyond the window is decoded from the next window.
        let stop = if part.len() == rest.len() { end } else { end.wrapping_sub(HEAD) };
        let mut from = base;
        loop {
            (from, at) = common(room, (from, at), (stop, claimed));
            if from >= stop || at >= claimed {
                break;
            }
            let (used, made) = rare(elements.get(next + (from - base)..)?, room.get_mut(..base)?, at, claimed)?;
            // After a long literal the position may be beyond the window.
            from = from.checked_add(used)?;
            at += made;
        }
        next += from - base;
    }
    (next == elements.len() && at == claimed).then_some(())
}

/// Decodes elements from the first position of `room` to the second one until one of them reaches its end, or the element is not a
/// common one. Returns both positions.
#[inline(never)]
fn common(room: &mut [u8], (mut from, mut at): (usize, usize), (stop, end): (usize, usize)) -> (usize, usize) {
    let Some(last) = room.len().checked_sub(HEAD) else { return (from, at) };
    let (stop, end) = (stop.min(last), end.min(last));
    let Some(&(mut tag)) = room.get(from) else { return (from, at) };
    while from < stop && at < end {
        let Some(head) = room.get(from..).and_then(|rest| rest.first_chunk::<HEAD>()) else { break };
        let index = usize::from(tag);
        let (size, length) = (usize::from(ELEMENTS.size[index]), usize::from(ELEMENTS.length[index]));
        let offset = ELEMENTS.offset[index];
        // A literal is a copy of what follows its tag. The mark is subtracted as an offset, so the start is as much later.
        let literal = from.wrapping_add(1 + (LITERAL >> 16) as usize);
        let start = std::hint::select_unpredictable(offset & LITERAL != 0, literal, at);
        let offset = (u32::from(u16::from_le_bytes([head[1], head[2]])) & offset) | offset >> 16;
        let source = start.wrapping_sub(offset as usize);
        if source >= last {
            break;
        }
        // A literal lies after the content, so its distance is a huge number.
        let distance = at.wrapping_sub(source);
        if distance < length && has_overlapping_pieces(distance) {
            break;
        }
        tag = head[size];
        room.copy_within(source..source + PIECE, at);
        if length > PIECE {
            room.copy_within(source + PIECE..source + 2 * PIECE, at + PIECE);
        }
        from = from.wrapping_add(size);
        at = at.wrapping_add(length);
    }
    (from, at)
}

/// Whether the pieces of a copy that overlaps its output overlap theirs. Most copies do not, so this is a function of its own.
#[cold]
#[inline(never)]
fn has_overlapping_pieces(distance: usize) -> bool {
    distance < PIECE
}

/// Decodes the first element of `rest`, which is a long literal, a copy with an offset of four bytes, or one whose distance is shorter
/// than its length and [`PIECE`]. Returns the numbers of bytes read and written. `content` has slack after the claimed length.
#[inline(never)]
fn rare(rest: &[u8], content: &mut [u8], at: usize, claimed: usize) -> Option<(usize, usize)> {
    let tag = *rest.first()?;
    let value = usize::from(tag >> 2);
    let left = claimed.checked_sub(at)?;
    let (used, length, offset) = match tag & 3 {
        0 => {
            let body = 2 + value.checked_sub(LONG_LITERAL)?;
            let bytes = rest.get(1..body)?.iter().rev();
            let length = bytes.fold(0, |length, byte| length << 8 | usize::from(*byte)).checked_add(1)?;
            let literal = rest.get(body..)?.get(..length)?;
            content.get_mut(at..claimed)?.get_mut(..length)?.copy_from_slice(literal);
            return Some((body + length, length));
        }
        1 => (2, (value & 7) + 4, value >> 3 << 8 | usize::from(*rest.get(1)?)),
        2 => (3, value + 1, usize::from(u16::from_le_bytes(*rest.get(1..)?.first_chunk()?))),
        _ => (5, value + 1, u32::from_le_bytes(*rest.get(1..)?.first_chunk()?) as usize),
    };
    if offset == 0 || offset > at || length > left {
        return None;
    }
    repeat(content, at, offset, length)?;
    Some((used, length))
}

/// Repeats the bytes that begin `offset` bytes before `at`: writes `length` of them, at most [`LONGEST`], and fewer than [`LONGEST`] more.
fn repeat(content: &mut [u8], at: usize, offset: usize, length: usize) -> Option<()> {
    const STEP: usize = 16;
    if offset == 1 {
        let byte = *content.get(at - 1)?;
        content.get_mut(at..at + LONGEST)?.fill(byte);
        return Some(());
    }
    let (source, mut to) = (at - offset, at);
    // Each step doubles the number of bytes that repeat correctly, until there is a whole step of them.
    while to - source < STEP {
        let bytes: [u8; STEP] = *content.get(source..)?.first_chunk()?;
        *content.get_mut(to..)?.first_chunk_mut()? = bytes;
        to += to - source;
    }
    let distance = to - source;
    while to < at + length {
        let bytes: [u8; STEP] = *content.get(to - distance..)?.first_chunk()?;
        *content.get_mut(to..)?.first_chunk_mut()? = bytes;
        to += STEP;
    }
    Some(())
}
