//! Decodes the records of internal topics: the schema follows from the topic, the record's type and its version.

use crate::fault::Unknown;
use crate::library::{Library, RecordType};
use crate::reader::Reader;
use crate::topic::Topic;
use crate::value::Message;

/// The version of the frame around the values of the metadata log.
const FRAME_VERSION: u32 = 1;

/// A record of an internal topic.
#[derive(Debug, Clone, PartialEq)]
pub enum Decoded<'a> {
    /// A record whose key has its type: of a group, transaction or share coordinator.
    Keyed {
        /// The type.
        kind: &'static RecordType,
        /// The key.
        key: Message<'a>,
        /// The value; none if the record is a tombstone.
        value: Option<Message<'a>>,
    },
    /// A record whose value has its type: of the metadata log or `__remote_log_metadata`.
    Framed {
        /// The type.
        kind: &'static RecordType,
        /// The value.
        value: Message<'a>,
    },
    /// A control record.
    Control {
        /// The type.
        id: i16,
        /// Kafka's name of the type.
        name: &'static str,
        /// The version of the key.
        key_version: i16,
        /// The value.
        value: Message<'a>,
    },
    /// A record that no schema fits.
    Unknown {
        /// Its key.
        key: Option<&'a [u8]>,
        /// Its value.
        value: Option<&'a [u8]>,
        /// Why it is not decoded.
        reason: Unknown,
    },
}

impl Topic {
    /// Decodes a record that is not a control record. What no schema fits is [`Decoded::Unknown`].
    pub fn decode<'a>(self, key: Option<&'a [u8]>, value: Option<&'a [u8]>) -> Decoded<'a> {
        let decoded = match self {
            Self::ConsumerOffsets | Self::TransactionState | Self::ShareGroupState => self.keyed(key, value),
            Self::ClusterMetadata | Self::RemoteLogMetadata => self.framed(value),
        };
        decoded.unwrap_or_else(|reason| Decoded::Unknown { key, value, reason })
    }

    /// The key begins with the record's type, the value with its version.
    fn keyed<'a>(self, key: Option<&'a [u8]>, value: Option<&'a [u8]>) -> Result<Decoded<'a>, Unknown> {
        let (id, key) = key.and_then(prefixed).ok_or(Unknown::NoType)?;
        let kind = Library::kafka().record_type(self, id).ok_or(Unknown::Type(id))?;
        // Keys have one version: a new one would be a new type.
        let schema = kind.key.as_ref().ok_or(Unknown::Type(id))?;
        let key = schema.read(key, schema.valid.first).map_err(Unknown::Key)?;
        let value = value.map(|value| {
            let (version, value) = prefixed(value).ok_or(Unknown::NoVersion)?;
            if !kind.value.valid.contains(version) {
                return Err(Unknown::Version { kind: id.to_string(), version: version.into() });
            }
            kind.value.read(value, version).map_err(Unknown::Value)
        });
        Ok(Decoded::Keyed { kind, key, value: value.transpose()? })
    }

    /// The value begins with a frame: the frame's version, the record's type and its version.
    fn framed(self, value: Option<&[u8]>) -> Result<Decoded<'_>, Unknown> {
        let mut reader = Reader::new(value.ok_or(Unknown::NoVersion)?);
        let mut next = |field| reader.varint(field).map_err(Unknown::Value);
        let (frame, id, version) = (next("frame version")?, next("type")?, next("version")?);
        if frame != FRAME_VERSION {
            return Err(Unknown::Frame(frame));
        }
        // Kafka refuses numbers above those of an int16.
        let id = i16::try_from(id).unwrap_or(-1);
        let kind = Library::kafka().record_type(self, id).ok_or(Unknown::Type(id))?;
        let unknown = || Unknown::Version { kind: kind.name.clone(), version: version as i32 };
        let version = i16::try_from(version).ok().filter(|version| kind.value.valid.contains(*version));
        let value = kind.value.read(reader.left(), version.ok_or_else(unknown)?).map_err(Unknown::Value)?;
        match value.rest {
            [] => Ok(Decoded::Framed { kind, value }),
            rest => Err(Unknown::Rest(rest.len())),
        }
    }
}

/// Decodes a control record, which any topic may have. What no schema fits is [`Decoded::Unknown`].
pub fn decode_control<'a>(key: Option<&'a [u8]>, value: Option<&'a [u8]>) -> Decoded<'a> {
    control(key, value).unwrap_or_else(|reason| Decoded::Unknown { key, value, reason })
}

/// The key has a version and the type.
fn control<'a>(key: Option<&'a [u8]>, value: Option<&'a [u8]>) -> Result<Decoded<'a>, Unknown> {
    let (key_version, key) = key.and_then(prefixed).ok_or(Unknown::NoType)?;
    let (id, _) = prefixed(key).ok_or(Unknown::NoType)?;
    let (name, schema) = match id {
        0 => ("ABORT", "EndTxnMarker"),
        1 => ("COMMIT", "EndTxnMarker"),
        2 => ("LEADER_CHANGE", "LeaderChangeMessage"),
        3 => ("SNAPSHOT_HEADER", "SnapshotHeaderRecord"),
        4 => ("SNAPSHOT_FOOTER", "SnapshotFooterRecord"),
        5 => ("KRAFT_VERSION", "KRaftVersionRecord"),
        6 => ("KRAFT_VOTERS", "VotersRecord"),
        _ => return Err(Unknown::Type(id)),
    };
    let schema = Library::kafka().data(schema).ok_or(Unknown::Type(id))?;
    let value = value.ok_or(Unknown::NoVersion)?;
    let (version, after) = prefixed(value).ok_or(Unknown::NoVersion)?;
    // The version is in front of a marker's value, but the first field of the others.
    let is_marker = id <= 1;
    // A marker of a later version begins with the fields of the first.
    let version = if is_marker && version > schema.valid.last { schema.valid.last } else { version };
    if !schema.valid.contains(version) {
        return Err(Unknown::Version { kind: name.to_owned(), version: version.into() });
    }
    let value = schema.read(if is_marker { after } else { value }, version).map_err(Unknown::Value)?;
    Ok(Decoded::Control { id, name, key_version, value })
}

/// The number in the first two bytes, and the bytes after it.
pub(crate) fn prefixed(bytes: &[u8]) -> Option<(i16, &[u8])> {
    bytes.split_first_chunk().map(|(number, rest)| (i16::from_be_bytes(*number), rest))
}
