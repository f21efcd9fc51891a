//! The top-level entries of a message set.

use super::error::{Error, MessageSetFault, Result};
use super::message::{Message, SIZE_LENGTH};

/// A top-level entry.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    /// The byte of the set at which the entry begins.
    pub position: usize,
    /// The byte after it.
    pub end: usize,
    /// The message.
    pub message: Message<'a>,
}

/// Iterates over the top-level entries of a set, Kafka's shallow iterator. After an error it is finished.
#[derive(Debug, Clone)]
pub struct Entries<'a> {
    set: &'a [u8],
    position: usize,
    verify_crc: bool,
    finished: bool,
}

impl<'a> Entries<'a> {
    /// The entries of `set`.
    pub fn new(set: &'a [u8]) -> Self {
        Self::at(set, 0)
    }

    /// The entries from byte `position` on, which is 0 or the end of an entry.
    pub fn at(set: &'a [u8], position: usize) -> Self {
        Self { set, position, verify_crc: true, finished: false }
    }

    /// The entries of `set`, whatever their checksums are.
    pub fn unverified(set: &'a [u8]) -> Self {
        Self { verify_crc: false, ..Self::new(set) }
    }

    /// Where the next entry begins; after the iteration, the number of bytes in whole entries.
    pub fn position(&self) -> usize {
        self.position
    }
}

impl<'a> Iterator for Entries<'a> {
    type Item = Result<Entry<'a>>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.finished {
            return None;
        }
        let position = self.position;
        match take_entry(self.set, position, self.verify_crc) {
            Ok(Some((message, end))) => {
                self.position = end;
                Some(Ok(Entry { position, end, message }))
            }
            Ok(None) => {
                self.finished = true;
                None
            }
            Err(fault) => {
                self.finished = true;
                Some(Err(Error::of_entry(position as u64, fault)))
            }
        }
    }
}

/// How many bytes at the front of `set` are whole entries: Kafka's `validBytes`. Wrappers are not opened.
///
/// # Errors
/// As the shallow iterator.
pub fn valid_bytes(set: &[u8]) -> Result<usize> {
    let mut entries = Entries::new(set);
    for entry in &mut entries {
        entry?;
    }
    Ok(entries.position())
}

/// The message that begins at byte `at` of `set`, checked, and where the next one begins. `None` is the end of the set: no
/// more bytes, fewer than a size field has, or a truncated entry. If the truncated entry is the first one, it is an error.
#[inline]
pub(super) fn take_entry(
    set: &[u8],
    at: usize,
    verify_crc: bool,
) -> std::result::Result<Option<(Message<'_>, usize)>, MessageSetFault> {
    let Some((size, body)) = set.get(at..).and_then(|rest| rest.split_first_chunk::<SIZE_LENGTH>()) else {
        return Ok(None);
    };
    let size = i32::from_be_bytes(*size);
    let invalid = || MessageSetFault::InvalidMessageSize { size, available: body.len() };
    let length = usize::try_from(size).map_err(|_| invalid())?;
    let Some(data) = body.get(..length) else {
        return if at == 0 { Err(invalid()) } else { Ok(None) };
    };
    let message = Message::new(data)?;
    if verify_crc {
        message.ensure_valid()?;
    }
    Ok(Some((message, at + SIZE_LENGTH + length)))
}
