//! Detects the log format of a file by its content: the message sets of Kafka 0.7, or the batches of later versions.
//!
//! ```text
//! 0.7    Size:int32 Magic:int8 [Attributes:int8] CRC:uint32 Payload             CRC-32 of the payload
//! 0.8+   Offset:int64 Size:int32 CRC:uint32 Magic:int8(0, 1) ...                CRC-32 from the magic on
//!        Offset:int64 Size:int32 Epoch:int32 Magic:int8(2) CRC:uint32 ...       CRC-32C of what follows the CRC
//! ```
//! The magics 0 and 1 have different meanings in the two formats, so the log format must be known first. Entries are read
//! from the start of the file with both layouts. An entry that is not empty and whose checksum is right decides for its
//! layout. If the first bytes cannot be a message of 0.7, like those of a batch whose offset is less than 5 * 2^32, no entry is
//! read. Empty messages of 0.7 decide only if the file has nothing else: a log of 0.8 whose first offset is 5 * 2^32 begins like
//! one.

use super::source::read_part;
use crate::ReadAt;
use crate::error::ReadError;
use kafkacomp_records::message_set::message::{Message, SIZE_LENGTH};
use kafkacomp_records::record::batch::HEADER_SIZE_UP_TO_MAGIC;
use kafkacomp_records::record::{BatchHead, RecordBatch};

/// The least size of a message of 0.7.
const MIN_MESSAGE_LENGTH: i32 = 5;
/// The most entries that are read. If more empty messages precede the first other one, the content does not decide.
const MOST_ENTRIES: usize = 10_000;

/// If the name of the file can decide, larger entries are not read. It is more than the defaults of `max.message.size` and
/// `message.max.bytes`, which are a million bytes.
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
    /// The name in the Python package.
    pub fn name(self) -> &'static str {
        match self {
            Self::MessageSet => "0.7",
            Self::Records => "0.8+",
        }
    }

    /// The log format with this [name](Self::name).
    pub fn for_name(name: &str) -> Option<Self> {
        [Self::MessageSet, Self::Records].into_iter().find(|log_format| log_format.name() == name)
    }

    /// The log format by the suffix of a file's name, `.kafka` or `.log`: a hint for contents that do not decide.
    pub fn of_name(name: &str) -> Option<Self> {
        match name.rsplit_once('.')?.1 {
            "kafka" => Some(Self::MessageSet),
            "log" => Some(Self::Records),
            _ => None,
        }
    }

    /// The log format of `source`, which has `length` bytes; `None` if the content does not decide.
    ///
    /// # Errors
    /// The bytes cannot be read.
    pub fn of_content(source: &dyn ReadAt, length: u64) -> Result<Option<Self>, ReadError> {
        Self::of_entries(source, length, u64::MAX, None)
    }

    /// As [`of_content`](Self::of_content), for a file whose [name](Self::of_name) the caller can use where the content does not
    /// decide. If the name decides, entries of more than 1 MiB are not read, because a corrupt size may span the whole file, and
    /// bytes that neither format has are not taken for batches against the name.
    ///
    /// # Errors
    /// The bytes cannot be read.
    pub fn of_named_content(source: &dyn ReadAt, length: u64, name: &str) -> Result<Option<Self>, ReadError> {
        let named = Self::of_name(name);
        let is_bounded = named.is_some() && source.traits().bytes.is_none();
        Self::of_entries(source, length, if is_bounded { MOST_READ } else { u64::MAX }, named)
    }

    /// Decides by the entries of at most `most` bytes.
    fn of_entries(source: &dyn ReadAt, length: u64, most: u64, named: Option<Self>) -> Result<Option<Self>, ReadError> {
        let mut sides = [
            Side { log_format: Self::MessageSet, at: 0, most, outcome: Outcome::Open },
            Side { log_format: Self::Records, at: 0, most, outcome: Outcome::Open },
        ];
        // Bytes that cannot be messages of 0.7 are of a later format, unless the name is that of a log of 0.7.
        let may_be_records = named != Some(Self::MessageSet) && length >= HEADER_SIZE_UP_TO_MAGIC as u64;
        let mut buffer = Vec::new();
        for _ in 0..MOST_ENTRIES {
            for side in &mut sides {
                if side.outcome == Outcome::Open {
                    side.step(source, length, &mut buffer)?;
                }
                match side.outcome {
                    Outcome::Evidence => return Ok(Some(side.log_format)),
                    // The first batch, which may have 1 MB, need not be read.
                    Outcome::Impossible if may_be_records => return Ok(Some(Self::Records)),
                    _ => {}
                }
            }
            if sides.iter().all(|side| side.outcome != Outcome::Open) {
                break;
            }
        }
        let [message_set, _] = sides;
        Ok((message_set.outcome == Outcome::AllEmpty).then_some(Self::MessageSet))
    }
}

/// The result of reading with one layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Open,
    Evidence,
    /// The file has only empty messages.
    AllEmpty,
    /// The first bytes are invalid in this layout.
    Impossible,
    Undecided,
}

struct Side {
    log_format: LogFormat,
    at: u64,
    /// Larger entries are not read.
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

/// Up to `size` bytes from `at` on, fewer at the end.
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

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    /// The first bytes of a file, after which nothing can be read.
    struct Beginning(Vec<u8>);

    impl ReadAt for Beginning {
        fn read_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
            let range = position as usize..position as usize + buffer.len();
            buffer.copy_from_slice(self.0.get(range).ok_or_else(|| io::Error::other("not read"))?);
            Ok(buffer.len())
        }

        fn length(&self) -> io::Result<u64> {
            Ok(1 << 20)
        }
    }

    #[test]
    fn no_batch_is_read_where_the_first_bytes_cannot_begin_a_message_of_0_7() {
        let of = |offset: u64, name| {
            let beginning = Beginning(offset.to_be_bytes()[..5].to_vec());
            LogFormat::of_named_content(&beginning, 1 << 20, name)
        };
        for offset in [0, 1, (5 << 32) - 1, u64::MAX] {
            assert_eq!(of(offset, "0.log").unwrap(), Some(LogFormat::Records), "{offset}");
            // The name of a log of 0.7 speaks against it.
            assert!(of(offset, "0.kafka").is_err(), "{offset}");
        }
        assert!(of(5 << 32, "0.log").is_err());
    }
}
