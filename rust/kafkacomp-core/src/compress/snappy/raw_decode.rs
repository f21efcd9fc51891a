//! Decoding the elements of a raw block; `raw_length` describes their layout.
//!
//! ```text
//! room = content | slack | window of the block | slack
//! ```
//!
//! The block is copied after the room for its content, one window at a time. Literals and copies are then the same operation: 64
//! bytes are moved from a place in the room to the end of the content, which then grows by the length of the element. The type of
//! the next element cannot be predicted, so the common path does not branch on it. Copying the block takes a fiftieth of the time
//! of decoding it.

/// The bytes that are moved for each element: the longest element, except for long literals.
const PIECE: usize = 64;
/// The bytes from a tag to the last position that the next one can have, both included.
const HEAD: usize = 66;
/// Bytes that may be overwritten after the content, and read after the window.
const SLACK: usize = 128;
/// The size of a window of the block.
const WINDOW: usize = 32 << 10;
/// From this value on the length of a literal follows its tag.
const LONG_LITERAL: u32 = 60;

/// The mark of a literal in [`ELEMENTS`].
const LITERAL: u32 = 1 << 31;
/// What a tag encodes: the length of its content in bits 0 to 6, its three bits of the offset in 8 to 10, the bits of the
/// offset after it in 16 to 20, and [`LITERAL`]. A tag that does not encode the whole element has length 1 and
/// offset 0, which no copy can have.
static ELEMENTS: [u32; 256] = {
    let mut elements = [0; 256];
    let mut tag = 0;
    while tag < elements.len() {
        let value = tag as u32 >> 2;
        elements[tag] = match tag & 3 {
            0 if value < LONG_LITERAL => (value + 1) | LITERAL,
            1 => ((value & 7) + 4) | (value >> 3) << 8 | 8 << 16,
            2 => (value + 1) | 16 << 16,
            _ => 1,
        };
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
    let last = room.len().checked_sub(HEAD)?;
    let (mut next, mut at) = (0, 0);
    while at < claimed {
        let rest = elements.get(next..).filter(|rest| !rest.is_empty())?;
        let part = rest.get(..WINDOW).unwrap_or(rest);
        let end = base.checked_add(part.len())?;
        room.get_mut(base..end)?.copy_from_slice(part);
        // An element that may extend beyond the window is decoded from the next window.
        let stop = if part.len() == rest.len() { end } else { end.wrapping_sub(HEAD) };
        let mut from = base;
        let mut tag = *room.get(from)?;
        while from < stop && at < claimed {
            if from > last || at > last {
                return None;
            }
            let head: &[u8; HEAD] = room.get(from..)?.first_chunk()?;
            let (kind, value) = (usize::from(tag & 3), usize::from(tag >> 2));
            // The next tag has one of two positions. Both are read, because waiting for the right one would take longer.
            let (after_literal, after_copy) = (head[value + 2], head[kind + 1]);
            let element = ELEMENTS[usize::from(tag)];
            let length = (element & 0x7F) as usize;
            let offset_bytes =
                u32::from_le_bytes([head[1], head[2], head[3], head[4]]) & !(u32::MAX << ((element >> 16) & 31));
            let offset = (offset_bytes | (element & 0x700)) as usize;
            let literal = element & LITERAL != 0;
            let source = (if literal { from.wrapping_add(1) } else { at }).wrapping_sub(offset);
            // A literal is after the content, and so far away from it.
            if at.wrapping_sub(source) < length {
                let (used, made) = rare(elements.get(next + (from - base)..)?, room.get_mut(..base)?, at, claimed)?;
                from = from.checked_add(used)?;
                at += made;
                // After a long literal the position may be beyond the window.
                if from >= stop {
                    break;
                }
                tag = *room.get(from)?;
                continue;
            }
            if source > last {
                return None;
            }
            room.copy_within(source..source + PIECE, at);
            from = from.wrapping_add(if kind == 0 { value + 2 } else { kind + 1 });
            tag = if kind == 0 { after_literal } else { after_copy };
            at = at.wrapping_add(length);
        }
        next += from - base;
    }
    (next == elements.len() && at == claimed).then_some(())
}

/// Decodes the first element of `rest`, which is a long literal, a copy with an offset of four bytes, or a copy that overlaps its
/// own output. Returns the numbers of bytes read and written. `content` has slack after the claimed length.
#[inline(never)]
fn rare(rest: &[u8], content: &mut [u8], at: usize, claimed: usize) -> Option<(usize, usize)> {
    let tag = *rest.first()?;
    let value = usize::from(tag >> 2);
    let left = claimed.checked_sub(at)?;
    let (used, length, offset) = match tag & 3 {
        0 => {
            let body = 1 + value.checked_sub(LONG_LITERAL as usize - 1)?;
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

/// Repeats the bytes that begin `offset` bytes before `at`: writes `length` of them, at most [`PIECE`], and up to 31 more.
fn repeat(content: &mut [u8], at: usize, offset: usize, length: usize) -> Option<()> {
    const STEP: usize = 16;
    if offset == 1 {
        let byte = *content.get(at - 1)?;
        content.get_mut(at..at + PIECE)?.fill(byte);
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
