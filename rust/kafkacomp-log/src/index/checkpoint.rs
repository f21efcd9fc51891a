//! Checkpoint files: text, written to a temporary file that replaces the old one.
//!
//! ```text
//! 0                       version
//! 2                       number of entries
//! 0 0                     one entry per line, its fields separated by white space
//! 2 1275
//! ```
//! | file | entry |
//! |---|---|
//! | `leader-epoch-checkpoint`, in a partition's folder | leader epoch, its first offset (KIP-101) |
//! | `recovery-point-offset-checkpoint`, `replication-offset-checkpoint`, `log-start-offset-checkpoint`, `cleaner-offset-checkpoint`, in a log folder | topic, partition, offset |
//!
//! A file of 0 bytes has no entries: a broker creates each of these files empty when it starts, and writes to it later.
//! (`org.apache.kafka.server.common.CheckpointFile`, `LeaderEpochCheckpointFile`, `OffsetCheckpointFile`)

use super::fault::IndexFault;
use super::lines::{lines, text};
use crate::error::{ContentError, fail};
use kafkacomp_records::memory;

/// The only version so far.
pub const CURRENT_VERSION: i64 = 0;

/// A leader epoch and the offset at which it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaderEpochEntry {
    /// The leader epoch.
    pub epoch: i32,
    /// The first offset that was appended in it.
    pub start_offset: i64,
}

/// A partition's offset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OffsetCheckpointEntry {
    /// The topic.
    pub topic: String,
    /// The partition.
    pub partition: i32,
    /// Depending on the file: the recovery point, the high watermark, the log start offset, or the end of the cleaned part.
    pub offset: i64,
}

/// Reads `leader-epoch-checkpoint`.
pub fn read_leader_epoch_checkpoint(data: &[u8]) -> Result<Vec<LeaderEpochEntry>, ContentError> {
    read(data, |line| {
        let mut words = line.split_whitespace();
        let entry = LeaderEpochEntry { epoch: words.next()?.parse().ok()?, start_offset: words.next()?.parse().ok()? };
        words.next().is_none().then_some(entry)
    })
}

/// The content of a `leader-epoch-checkpoint`.
pub fn encode_leader_epoch_checkpoint(entries: &[LeaderEpochEntry]) -> String {
    let lines = entries.iter().map(|entry| format!("{} {}\n", entry.epoch, entry.start_offset));
    format!("{CURRENT_VERSION}\n{}\n{}", entries.len(), lines.collect::<String>())
}

/// Reads one of the offset checkpoints of a log folder.
pub fn read_offset_checkpoint(data: &[u8]) -> Result<Vec<OffsetCheckpointEntry>, ContentError> {
    read(data, |line| {
        let mut words = line.split_whitespace();
        let entry = OffsetCheckpointEntry {
            topic: words.next()?.to_owned(),
            partition: words.next()?.parse().ok()?,
            offset: words.next()?.parse().ok()?,
        };
        words.next().is_none().then_some(entry)
    })
}

fn read<T>(data: &[u8], parse_entry: impl Fn(&str) -> Option<T>) -> Result<Vec<T>, ContentError> {
    let text = text(data)?;
    let mut lines = lines(text);
    let truncated = IndexFault::Truncated { needed: 1, available: 0 };
    let Some(first) = lines.next() else {
        return Ok(Vec::new());
    };
    let Ok(version) = first.text.trim().parse::<i64>() else {
        return first.malformed();
    };
    if version != CURRENT_VERSION {
        return fail(first.position, IndexFault::Version { version });
    }
    let Some(second) = lines.next() else {
        return fail(data.len(), truncated);
    };
    let Ok(count) = second.text.trim().parse::<i64>() else {
        return second.malformed();
    };
    let Ok(expected) = u64::try_from(count) else {
        return fail(second.position, IndexFault::NegativeCount { count });
    };
    let mut entries = Vec::new();
    for line in lines {
        let Some(entry) = parse_entry(line.text) else {
            return line.malformed();
        };
        memory::push(&mut entries, entry)?;
    }
    if entries.len() as u64 != expected {
        return fail(second.position, IndexFault::EntryCount { expected, found: entries.len() as u64 });
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::{LeaderEpochEntry, OffsetCheckpointEntry, read_leader_epoch_checkpoint, read_offset_checkpoint};
    use crate::error::ContentError;
    use crate::index::IndexFault;
    use proptest::prelude::*;

    fn fault(data: &[u8]) -> (u64, IndexFault) {
        match read_leader_epoch_checkpoint(data).unwrap_err() {
            ContentError::IndexFile { position, fault } => (position, fault),
            other => panic!("{other}"),
        }
    }

    #[test]
    fn both_kinds() {
        let epochs = read_leader_epoch_checkpoint(b"0\n2\n0 0\n2 1275\n").unwrap();
        let entry = |epoch, start_offset| LeaderEpochEntry { epoch, start_offset };
        assert_eq!(epochs, [entry(0, 0), entry(2, 1275)]);
        assert_eq!(read_leader_epoch_checkpoint(b"0\r\n1\r\n4  5").unwrap(), [entry(4, 5)]);
        let offsets = read_offset_checkpoint(b"0\n1\na-b.c 3 99\n").unwrap();
        assert_eq!(offsets, [OffsetCheckpointEntry { topic: "a-b.c".to_owned(), partition: 3, offset: 99 }]);
        assert!(read_offset_checkpoint(b"0\n0\n").unwrap().is_empty());
    }

    #[test]
    fn an_empty_file_has_no_entries() {
        assert!(read_leader_epoch_checkpoint(b"").unwrap().is_empty());
        assert!(read_offset_checkpoint(b"").unwrap().is_empty());
    }

    #[test]
    fn errors_name_the_corrupt_byte() {
        assert_eq!(fault(b"0\n"), (2, IndexFault::Truncated { needed: 1, available: 0 }));
        assert_eq!(fault(b"1\n0\n"), (0, IndexFault::Version { version: 1 }));
        assert_eq!(fault(b"x\n0\n"), (0, IndexFault::MalformedLine { line: 1 }));
        assert_eq!(fault(b"0\n-4\n"), (2, IndexFault::NegativeCount { count: -4 }));
        assert_eq!(fault(b"0\n2\n1 1\n"), (2, IndexFault::EntryCount { expected: 2, found: 1 }));
        assert_eq!(fault(b"0\n1\n1 1\n2 2\n"), (2, IndexFault::EntryCount { expected: 1, found: 2 }));
        assert_eq!(fault(b"0\n2\n1 1\n2 2 2\n"), (8, IndexFault::MalformedLine { line: 4 }));
        assert_eq!(fault(b"0\n\xff"), (2, IndexFault::NotText));
    }

    proptest! {
        #[test]
        fn any_bytes(data in proptest::collection::vec(any::<u8>(), 0..100), text in "[0-9 \n]{0,40}") {
            let _ = read_leader_epoch_checkpoint(&data);
            let _ = read_offset_checkpoint(text.as_bytes());
            let _ = read_leader_epoch_checkpoint(text.as_bytes());
        }
    }
}
