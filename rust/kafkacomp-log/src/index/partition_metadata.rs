//! `partition.metadata` (KIP-516, since 2.8): the id of the topic that the folder belongs to.
//!
//! ```text
//! version: 0
//! topic_id: 9jeJK4hpQtWzlRClxg9Xjg
//! ```
//! Later versions may add lines; these two stay, so any version from 0 on is read.
//! (`org.apache.kafka.storage.internals.checkpoint.PartitionMetadataFile`)

use super::fault::IndexFault;
use super::lines::{Line, lines, text};
use crate::error::{ContentError, fail};
use kafkacomp_records::uuid::Uuid;

/// The content of `partition.metadata`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartitionMetadata {
    /// The file's version.
    pub version: i32,
    /// The topic's id.
    pub topic_id: Uuid,
}

impl PartitionMetadata {
    /// Reads the file's content.
    pub fn parse(data: &[u8]) -> Result<Self, ContentError> {
        let text = text(data)?;
        let mut lines = lines(text);
        let (Some(first), Some(second)) = (lines.next(), lines.next()) else {
            return fail(data.len(), IndexFault::Truncated { needed: 1, available: 0 });
        };
        let Some(version) = value(&first).and_then(|value| value.parse::<i32>().ok()) else {
            return first.malformed();
        };
        if version < 0 {
            return fail(first.position, IndexFault::Version { version: i64::from(version) });
        }
        let Some(topic_id) = value(&second).and_then(Uuid::parse) else {
            return second.malformed();
        };
        if topic_id == Uuid::ZERO {
            return fail(second.position, IndexFault::ZeroTopicId);
        }
        Ok(Self { version, topic_id })
    }
}

/// As a broker writes it: without a line end after the last line.
impl std::fmt::Display for PartitionMetadata {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "version: {}\ntopic_id: {}", self.version, self.topic_id)
    }
}

/// What follows the colon and white space of a line.
fn value<'a>(line: &Line<'a>) -> Option<&'a str> {
    let (_, value) = line.text.split_once(':')?;
    value.starts_with(char::is_whitespace).then(|| value.trim())
}

#[cfg(test)]
mod tests {
    use super::PartitionMetadata;
    use crate::error::ContentError;
    use crate::index::IndexFault;
    use proptest::prelude::*;

    #[test]
    fn a_file_of_4_3() {
        let read = PartitionMetadata::parse(b"version: 0\ntopic_id: 9jeJK4hpQtWzlRClxg9Xjg").unwrap();
        assert_eq!((read.version, read.topic_id.to_string().as_str()), (0, "9jeJK4hpQtWzlRClxg9Xjg"));
    }

    #[test]
    fn errors_name_the_corrupt_byte() {
        for (text, position, fault) in [
            ("", 0, IndexFault::Truncated { needed: 1, available: 0 }),
            ("version: 0\n", 11, IndexFault::Truncated { needed: 1, available: 0 }),
            ("version:0\ntopic_id: x", 0, IndexFault::MalformedLine { line: 1 }),
            ("version: -1\ntopic_id: x", 0, IndexFault::Version { version: -1 }),
            ("version: 0\ntopic_id: x", 11, IndexFault::MalformedLine { line: 2 }),
            ("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA", 11, IndexFault::ZeroTopicId),
        ] {
            let error = PartitionMetadata::parse(text.as_bytes()).unwrap_err();
            assert_eq!(error, ContentError::IndexFile { position, fault }, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text(text in "(version: )?[0-9]{0,3}\n(topic_id: )?\\PC{0,30}") {
            let _ = PartitionMetadata::parse(text.as_bytes());
        }
    }
}
