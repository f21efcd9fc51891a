//! Which log format a log is of, by its content: Kafka 0.7's message sets, or what came after.
//!
//! ```text
//! 0.7    Size:int32 Magic:int8 [Attributes:int8] CRC:uint32 Payload             CRC-32 of the payload
//! 0.8+   Offset:int64 Size:int32 CRC:uint32 Magic:int8(0, 1) ...                CRC-32 from the magic on
//!        Offset:int64 Size:int32 Epoch:int32 Magic:int8(2) CRC:uint32 ...       CRC-32C of what follows it
//! ```
//! The magics 0 and 1 mean other things on each side, so the log format comes first. Entries are read from the start
//! under both layouts. One whose checksum is right over bytes that are not empty is evidence; the first layout
//! with evidence wins. Empty messages count only if there is nothing else up to the end: an 0.8 log whose first
//! offset is 5 * 2^32 begins like one.

use super::source::read_part;
use crate::log::ReadAt;
use crate::log::error::ReadError;
use crate::message_set::message::{Message, SIZE_LENGTH};
use crate::record::batch::HEADER_SIZE_UP_TO_MAGIC;
use crate::record::{BatchHead, RecordBatch};

/// The least size of a message of 0.7.
const MIN_MESSAGE_LENGTH: i32 = 5;
/// Entries that are looked at; more empty messages than that in front of the first real one are not told apart.
const MOST_ENTRIES: usize = 10_000;

/// What an entry has at most that is read where the name decides as well: more than either side's default of
/// `max.message.size` and `message.max.bytes`, a million.
const MOST_READ: u64 = 1 << 20;

/// A log format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LogFormat {
    /// Kafka 0.7: message sets, offsets are byte positions.
    MessageSet,
    /// Kafka 0.8 and later: magic 0, 1 and 2, offsets are numbers.
    Records,
}

impl LogFormat {
    /// What the name of a file says: `.kafka` or `.log`. A hint, where the content does not decide.
    pub fn of_name(name: &str) -> Option<Self> {
        match name.rsplit_once('.')?.1 {
            "kafka" => Some(Self::MessageSet),
            "log" => Some(Self::Records),
            _ => None,
        }
    }

    /// The log format of `source`, which has `length` bytes; `None` where its content does not decide.
    ///
    /// # Errors
    /// The bytes cannot be read.
    pub fn of_content(source: &dyn ReadAt, length: u64) -> Result<Option<Self>, ReadError> {
        Self::of_entries(source, length, u64::MAX, None)
    }

    /// As [`of_content`](Self::of_content), where the name may decide what the content does not. If it can, an entry of more
    /// than 1 MiB is not read: a size that is corrupt may be that of all the file.
    ///
    /// # Errors
    /// The bytes cannot be read.
    pub fn of_named_content(source: &dyn ReadAt, length: u64, name: &str) -> Result<Option<Self>, ReadError> {
        let named = Self::of_name(name);
        let is_bounded = named.is_some() && source.as_slice().is_none();
        Self::of_entries(source, length, if is_bounded { MOST_READ } else { u64::MAX }, named)
    }

    /// By the entries of `most` bytes or fewer.
    fn of_entries(source: &dyn ReadAt, length: u64, most: u64, named: Option<Self>) -> Result<Option<Self>, ReadError> {
        let mut sides = [
            Side { log_format: Self::MessageSet, at: 0, most, outcome: Outcome::Open },
            Side { log_format: Self::Records, at: 0, most, outcome: Outcome::Open },
        ];
        let mut buffer = Vec::new();
        for _ in 0..MOST_ENTRIES {
            for side in &mut sides {
                if side.outcome == Outcome::Open {
                    side.step(source, length, &mut buffer)?;
                }
                if side.outcome == Outcome::Evidence {
                    return Ok(Some(side.log_format));
                }
            }
            if sides.iter().all(|side| side.outcome != Outcome::Open) {
                break;
            }
        }
        // Bytes that cannot be messages of 0.7 are of a later log, unless the name says that they are corrupt ones of 0.7.
        let may_be_records = named != Some(Self::MessageSet) && length >= HEADER_SIZE_UP_TO_MAGIC as u64;
        Ok(match sides.map(|side| side.outcome) {
            [Outcome::AllEmpty, _] => Some(Self::MessageSet),
            [Outcome::Impossible, _] if may_be_records => Some(Self::Records),
            _ => None,
        })
    }
}

/// What reading under one layout has come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Open,
    Evidence,
    /// Nothing but empty messages up to the end.
    AllEmpty,
    /// The very first bytes cannot be of this layout.
    Impossible,
    Undecided,
}

struct Side {
    log_format: LogFormat,
    at: u64,
    /// What is larger is not read.
    most: u64,
    outcome: Outcome,
}

impl Side {
    fn step(&mut self, source: &dyn ReadAt, length: u64, buffer: &mut Vec<u8>) -> Result<(), ReadError> {
        self.outcome = match self.log_format {
            LogFormat::MessageSet => self.message(source, length, buffer)?,
            LogFormat::Records => self.batch(source, length, buffer)?,
        };
        Ok(())
    }

    fn message(&mut self, source: &dyn ReadAt, length: u64, buffer: &mut Vec<u8>) -> Result<Outcome, ReadError> {
        if self.at == length && length > 0 {
            return Ok(Outcome::AllEmpty);
        }
        let head = fill(source, self.at, SIZE_LENGTH as u64 + 1, length, buffer)?;
        let Some((size, [magic, ..])) = head.split_first_chunk() else { return Ok(Outcome::Undecided) };
        let size = i32::from_be_bytes(*size);
        if size < MIN_MESSAGE_LENGTH || *magic > 1 {
            return Ok(if self.at == 0 { Outcome::Impossible } else { Outcome::Undecided });
        }
        if u64::from(size.unsigned_abs()) > self.most {
            return Ok(Outcome::Undecided);
        }
        let start = self.at.saturating_add(SIZE_LENGTH as u64);
        let data = fill(source, start, u64::from(size.unsigned_abs()), length, buffer)?;
        let Ok(message) = Message::new(data) else { return Ok(Outcome::Undecided) };
        if data.len() != size as usize || !message.is_valid() {
            return Ok(Outcome::Undecided);
        }
        self.at = start.saturating_add(u64::from(size.unsigned_abs()));
        Ok(if message.payload().is_empty() { Outcome::Open } else { Outcome::Evidence })
    }

    fn batch(&mut self, source: &dyn ReadAt, length: u64, buffer: &mut Vec<u8>) -> Result<Outcome, ReadError> {
        let head = fill(source, self.at, HEADER_SIZE_UP_TO_MAGIC as u64, length, buffer)?;
        let Ok(Some(head)) = BatchHead::read(head, self.at) else { return Ok(Outcome::Undecided) };
        if head.check_minimum(self.at).is_err() || head.size_in_bytes() as u64 > self.most {
            return Ok(Outcome::Undecided);
        }
        let data = fill(source, self.at, head.size_in_bytes() as u64, length, buffer)?;
        let is_intact = RecordBatch::new(data, self.at).is_ok_and(|batch| batch.is_valid());
        Ok(if is_intact { Outcome::Evidence } else { Outcome::Undecided })
    }
}

/// The bytes from `at` on, as many as there are up to `size`.
fn fill<'b>(
    source: &'b dyn ReadAt,
    at: u64,
    size: u64,
    length: u64,
    buffer: &'b mut Vec<u8>,
) -> Result<&'b [u8], ReadError> {
    let size = size.min(length.saturating_sub(at)) as usize;
    Ok(read_part(source, at, size, buffer)?)
}
