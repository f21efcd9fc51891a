//! Compares two overlapping files of a log of Kafka 0.7.
//!
//! An offset of 0.7 is the position of a byte, so overlapping files must have the same bytes there. The later file is read from
//! the end of the earlier one on, so a message must begin there.

use crate::error::{Error, ReadError};
use crate::read::batch_headers::next_entry_from;
use crate::read::source::{ReadAt, read_full};
use kafkacomp_records::bytes::be_i32;
use kafkacomp_records::message_set::message::{HEADER_LENGTH_V0, SIZE_LENGTH};

/// The number of bytes that are compared at once.
const WINDOW: usize = 1 << 20;

/// Which of two files cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum OverlapError {
    /// The first file could not be read.
    #[error("{0}")]
    Earlier(Error),
    /// The second file could not be read.
    #[error("{0}")]
    Later(Error),
}

/// A file and its position in the log.
#[derive(Clone, Copy)]
pub struct PositionedFile<'a> {
    /// Its bytes.
    pub source: &'a dyn ReadAt,
    /// The number in its name.
    pub base: i64,
}

/// The least of the positions `first` to `last`, inclusive, at which two files have different bytes, or the one after
/// `last` if no message of the later file begins there.
///
/// `message` is a position at which a message of the later file begins: at first its base. It is moved along, so that the file is
/// not read again from its base on where it overlaps several others.
///
/// # Errors
/// [`OverlapError`] if a file cannot be read.
pub fn compare_positions(
    earlier: PositionedFile<'_>,
    later: PositionedFile<'_>,
    first: i64,
    last: i64,
    message: &mut i64,
) -> Result<Option<i64>, OverlapError> {
    let (mut left, mut right) = (vec![0; WINDOW], vec![0; WINDOW]);
    let mut position = first;
    while position <= last {
        let wanted = usize::try_from(last.saturating_sub(position).saturating_add(1)).unwrap_or(WINDOW).min(WINDOW);
        let a = window(earlier, position, &mut left, wanted).map_err(OverlapError::Earlier)?;
        let b = window(later, position, &mut right, wanted).map_err(OverlapError::Later)?;
        follow(later, message, position, &right[..b]).map_err(OverlapError::Later)?;
        let common = a.min(b);
        let differs = left.iter().zip(&right).take(common).position(|(x, y)| x != y);
        if let Some(at) = differs {
            return Ok(Some(position.saturating_add_unsigned(at as u64)));
        }
        if common < wanted {
            return Ok(None);
        }
        position = position.saturating_add_unsigned(wanted as u64);
    }
    let end = last.saturating_add(1);
    if *message == end {
        return Ok(None);
    }
    let resumes = later.base.saturating_add_unsigned(skipped(later, end, *message).map_err(OverlapError::Later)?);
    Ok(Some(end).filter(|&end| resumes != end))
}

/// Moves `message` to the first message of a file at or after the end of `bytes`, which it has at `position`, unless a size is
/// corrupt.
fn follow(file: PositionedFile<'_>, message: &mut i64, position: i64, bytes: &[u8]) -> Result<(), Error> {
    let end = position.saturating_add_unsigned(bytes.len() as u64);
    while (position..end).contains(message) {
        let at = usize::try_from(message.saturating_sub(position)).unwrap_or(usize::MAX);
        let size = if let Some(size) = be_i32(bytes, at) {
            size
        } else {
            let mut size = [0; SIZE_LENGTH];
            if window(file, *message, &mut size, SIZE_LENGTH)? < SIZE_LENGTH {
                return Ok(());
            }
            i32::from_be_bytes(size)
        };
        if size < HEADER_LENGTH_V0 as i32 {
            return Ok(());
        }
        *message = message.saturating_add(SIZE_LENGTH as i64).saturating_add(i64::from(size));
    }
    Ok(())
}

/// The number of bytes of a file before its first message at or after `position` of the log. At `message` one of its messages
/// begins.
///
/// # Errors
/// An I/O error.
pub fn skipped(file: PositionedFile<'_>, position: i64, message: i64) -> Result<u64, Error> {
    let after_base = |position: i64| position.saturating_sub(file.base).max(0).unsigned_abs();
    let target = after_base(position);
    let length = file.source.length().map_err(ReadError::from)?;
    let known = if message <= position { after_base(message) } else { 0 };
    // If a size is corrupt, reading the file reports it.
    let found = next_entry_from(file.source, known, target, u64::MAX)?;
    Ok(found.map_or(target, |found| found.min(length).max(target)))
}

fn window(file: PositionedFile<'_>, position: i64, buffer: &mut [u8], wanted: usize) -> Result<usize, Error> {
    let at = position.saturating_sub(file.base).max(0).unsigned_abs();
    Ok(read_full(file.source, &mut buffer[..wanted], at).map_err(ReadError::from)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::InMemory;
    use kafkacomp_records::message_set::writer::{Content, write_message_set};

    fn set(payloads: &[&[u8]]) -> Vec<u8> {
        let mut set = Vec::new();
        write_message_set(payloads.iter().map(|payload| Content::Payload(payload)), None, &mut set).unwrap();
        set
    }

    fn compare(earlier: &[u8], later: &[u8], base: i64) -> Option<i64> {
        let (one, other) = (InMemory(earlier), InMemory(later));
        let last = (earlier.len() as i64).min(base + later.len() as i64) - 1;
        let (one, other) = (PositionedFile { source: &one, base: 0 }, PositionedFile { source: &other, base });
        let mut message = base;
        compare_positions(one, other, base, last, &mut message).unwrap()
    }

    #[test]
    fn files_agree_if_their_bytes_do_and_a_message_begins_where_one_ends() {
        let whole = set(&[b"a", b"bb", b"ccc"]);
        let second = set(&[b"a"]).len();
        assert_eq!(compare(&whole, &[&whole[second..], &set(&[b"d"])].concat(), second as i64), None);
        assert_eq!(compare(&whole, &whole[second..], second as i64), None);
        let other = [set(&[b"bx"]), set(&[b"ccc"]), set(&[b"d"])].concat();
        assert!(compare(&whole, &other, second as i64).is_some_and(|at| at < whole.len() as i64));
        // The common byte happens to be the same: 0.
        let end = whole.len() as i64;
        let zero = [whole, vec![0]].concat();
        assert_eq!(compare(&zero, &set(&[b"d", b"e"]), end), Some(end + 1));
    }
}
