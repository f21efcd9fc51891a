//! Compares two overlapping files of a log of Kafka 0.7.
//!
//! An offset of 0.7 is the position of a byte, so overlapping files must have the same bytes there. The later file is read from
//! the end of the earlier one on, so a message must begin there.

use super::overlap::OverlapError;
use crate::log::error::{Error, ReadError};
use crate::log::read::batch_headers::next_entry_from;
use crate::log::read::source::{ReadAt, read_full};

/// The number of bytes that are compared at once.
const WINDOW: usize = 1 << 20;

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
/// # Errors
/// [`OverlapError`] if a file cannot be read.
pub fn compare_positions(
    earlier: PositionedFile<'_>,
    later: PositionedFile<'_>,
    first: i64,
    last: i64,
) -> Result<Option<i64>, OverlapError> {
    let (mut left, mut right) = (vec![0; WINDOW], vec![0; WINDOW]);
    let mut position = first;
    while position <= last {
        let wanted = usize::try_from(last.saturating_sub(position).saturating_add(1)).unwrap_or(WINDOW).min(WINDOW);
        let a = window(earlier, position, &mut left, wanted).map_err(OverlapError::Earlier)?;
        let b = window(later, position, &mut right, wanted).map_err(OverlapError::Later)?;
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
    let resumes =
        later.base.saturating_add_unsigned(skipped(later, last.saturating_add(1)).map_err(OverlapError::Later)?);
    Ok(Some(last.saturating_add(1)).filter(|&end| resumes != end))
}

/// The number of bytes of a file before its first message at or after `position` of the log.
///
/// # Errors
/// An I/O error.
pub fn skipped(file: PositionedFile<'_>, position: i64) -> Result<u64, Error> {
    let target = position.saturating_sub(file.base).max(0).unsigned_abs();
    let length = file.source.length().map_err(ReadError::from)?;
    // If a size is corrupt, reading the file reports it.
    let found = next_entry_from(file.source, 0, target, u64::MAX)?;
    Ok(found.map_or(target, |found| found.min(length).max(target)))
}

fn window(file: PositionedFile<'_>, position: i64, buffer: &mut [u8], wanted: usize) -> Result<usize, Error> {
    let at = position.saturating_sub(file.base).max(0).unsigned_abs();
    Ok(read_full(file.source, &mut buffer[..wanted], at).map_err(ReadError::from)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::InMemory;
    use crate::message_set::writer::{Content, write_message_set};

    fn set(payloads: &[&[u8]]) -> Vec<u8> {
        let mut set = Vec::new();
        write_message_set(payloads.iter().map(|payload| Content::Payload(payload)), None, &mut set).unwrap();
        set
    }

    fn compare(earlier: &[u8], later: &[u8], base: i64) -> Option<i64> {
        let (one, other) = (InMemory(earlier), InMemory(later));
        let last = (earlier.len() as i64).min(base + later.len() as i64) - 1;
        let (one, other) = (PositionedFile { source: &one, base: 0 }, PositionedFile { source: &other, base });
        compare_positions(one, other, base, last).unwrap()
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
