//! Where a log of Kafka 0.7 continues after corrupt bytes.
//!
//! Entries have no offsets, so that a message inside a wrapper, which gzip or snappy stored as a literal, looks like an entry of
//! the log. It matters if the file ends before the entry that the corrupt bytes state: either the end truncates the entry, and all
//! of it is lost, or its size is wrong, and entries of the log follow. The size is wrong if the checksum is right for the bytes up to
//! an entry found, or if no wrapper begins at the corrupt bytes and entries fill the file from there on to the byte.

use super::candidate::{EntryLayout, Layout};
use super::resync::{Check, Resync};
use super::source::{ReadAt, read_part};
use crate::error::ReadError;
use kafkacomp_records::checksum::running::Running;
use kafkacomp_records::message_set::message::{ATTRIBUTES_OFFSET, HEADER_LENGTH_V1, MAGIC_OFFSET, SIZE_LENGTH};

/// The first bytes of a wrapper's payload, by the attributes: gzip, and snappy in the framing of the Java library.
const PAYLOADS: [(u8, [u8; 2]); 2] = [(1, [0x1f, 0x8b]), (2, [0x82, b'S'])];
const PAYLOAD_OFFSET: usize = SIZE_LENGTH + HEADER_LENGTH_V1;

impl Resync<EntryLayout> {
    /// Finds where the log continues after the corrupt entry at `position`: the position of an entry, or the source's end.
    ///
    /// # Errors
    /// [`ReadError`] if the bytes cannot be read.
    pub(super) fn resume_entries(&mut self, source: &dyn ReadAt, position: u64) -> Result<u64, ReadError> {
        let header = self.header(source, position)?;
        let stated = EntryLayout::candidate(&header, u64::MAX);
        let Some(entry) = stated.filter(|entry| position.saturating_add(entry.length) > self.end) else {
            return self.next_intact(source, position);
        };
        let is_wrapper = begins_wrapper(source, position)?;
        let mut running = Running::new(entry.polynomial);
        let mut summed_to = position.saturating_add(u64::from(entry.covered_from));
        let (mut from, mut broken_to) = (summed_to, 0);
        while let Some((start, end)) = self.first_intact(source, from, self.end)? {
            self.sum_up(source, &mut running, summed_to, start)?;
            summed_to = start;
            if running.value() == entry.stored {
                return Ok(start);
            }
            if !is_wrapper && start >= broken_to {
                broken_to = self.run_end(source, end)?;
                if broken_to == self.end {
                    return Ok(start);
                }
            }
            from = end;
        }
        Ok(self.end)
    }

    /// Where the intact entries end that follow one another from `at` on.
    fn run_end(&mut self, source: &dyn ReadAt, mut at: u64) -> Result<u64, ReadError> {
        while at < self.end
            && let Check::Intact(end) = self.check(source, at, self.end)?
        {
            at = end;
        }
        Ok(at)
    }
}

/// Whether a compressed message begins at `position`.
fn begins_wrapper(source: &dyn ReadAt, position: u64) -> Result<bool, ReadError> {
    let mut buffer = Vec::new();
    let bytes = read_part(source, position, PAYLOAD_OFFSET + 2, &mut buffer)?;
    let fields = (bytes.get(SIZE_LENGTH + MAGIC_OFFSET), bytes.get(SIZE_LENGTH + ATTRIBUTES_OFFSET));
    let payload = bytes.get(PAYLOAD_OFFSET..).unwrap_or_default();
    Ok(PAYLOADS.iter().any(|(attributes, first)| fields == (Some(&1), Some(attributes)) && payload == first))
}
