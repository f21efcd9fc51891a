//! Control records, which brokers and KRaft controllers write in batches with the control bit. Consumers do not return them.
//!
//! ```text
//! key
//!   version   i16   0; a higher one only adds fields
//!   type      i16
//! value, by type
//!   0 ABORT, 1 COMMIT     version i16, coordinatorEpoch i32                              (KIP-98)
//!   2 LEADER_CHANGE       version i16, leaderId i32, voters [], grantingVoters [], tags  (KIP-595)
//!                           voter: voterId i32, voterDirectoryId uuid (version 1 on), tags
//!   3 SNAPSHOT_HEADER     version i16, lastContainedLogTimestamp i64, tags               (KIP-630)
//!   4 SNAPSHOT_FOOTER     version i16, tags
//!   5 KRAFT_VERSION       version i16, kRaftVersion i16, tags                            (KIP-853)
//!   6 KRAFT_VOTERS        version i16, voters [], tags
//!                           voter: voterId i32, voterDirectoryId uuid, endpoints [], kRaftVersionFeature, tags
//!                           endpoint: name, host (compact strings), port u16, tags
//!                           kRaftVersionFeature: minSupportedVersion i16, maxSupportedVersion i16, tags
//! ```
//! `[]` is a compact array: the length + 1 as an unsigned varint, then the elements; a compact string is encoded in the same way.
//! `tags`: their number as an unsigned varint, then tag, size and bytes of each (KIP-482); they are skipped.
//! The value of a marker is not a flexible message and has no tags. As in Kafka, bytes after the known fields are ignored, so that
//! values of later versions can be read.
//! (`org.apache.kafka.common.record.ControlRecordType`, `ControlRecordUtils`, `EndTransactionMarker`)

use super::control_fault::ControlFault;
use super::error::{Error, Result};
use crate::fields::Fields;
use crate::uuid::Uuid;

/// Kafka's limit on a string's bytes (`0x7fff`).
const MAX_STRING_LENGTH: usize = i16::MAX as usize;

/// The type of a control record, according to its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ControlRecordType {
    /// A transaction was aborted.
    Abort,
    /// A transaction was committed.
    Commit,
    /// A KRaft leader was elected.
    LeaderChange,
    /// The first record of a snapshot.
    SnapshotHeader,
    /// The last record of a snapshot.
    SnapshotFooter,
    /// The version of KRaft's own protocol.
    KRaftVersion,
    /// KRaft's voters.
    KRaftVoters,
    /// An unknown type, which readers ignore.
    Unknown(i16),
}

impl ControlRecordType {
    /// The type with this id.
    pub fn for_id(id: i16) -> Self {
        match id {
            0 => Self::Abort,
            1 => Self::Commit,
            2 => Self::LeaderChange,
            3 => Self::SnapshotHeader,
            4 => Self::SnapshotFooter,
            5 => Self::KRaftVersion,
            6 => Self::KRaftVoters,
            other => Self::Unknown(other),
        }
    }

    /// Reads the type from a control record's key.
    pub fn parse(key: Option<&[u8]>) -> Result<Self> {
        let Some(key) = key else {
            return fail(0, ControlFault::NullKey);
        };
        let mut fields = Fields::at(key, 0);
        let (Some(version), Some(id)) = (fields.i16(), fields.i16()) else {
            return fail(0, ControlFault::Incomplete);
        };
        if version < 0 {
            return fail(0, ControlFault::Version { version });
        }
        Ok(Self::for_id(id))
    }

    /// The id in the key.
    pub fn id(self) -> i16 {
        match self {
            Self::Abort => 0,
            Self::Commit => 1,
            Self::LeaderChange => 2,
            Self::SnapshotHeader => 3,
            Self::SnapshotFooter => 4,
            Self::KRaftVersion => 5,
            Self::KRaftVoters => 6,
            Self::Unknown(id) => id,
        }
    }

    /// The key of a control record of this type, in version 0.
    pub fn key(self) -> [u8; 4] {
        let [high, low] = self.id().to_be_bytes();
        [0, 0, high, low]
    }

    /// The name in Kafka.
    pub fn name(self) -> &'static str {
        match self {
            Self::Abort => "ABORT",
            Self::Commit => "COMMIT",
            Self::LeaderChange => "LEADER_CHANGE",
            Self::SnapshotHeader => "SNAPSHOT_HEADER",
            Self::SnapshotFooter => "SNAPSHOT_FOOTER",
            Self::KRaftVersion => "KRAFT_VERSION",
            Self::KRaftVoters => "KRAFT_VOTERS",
            Self::Unknown(_) => "UNKNOWN",
        }
    }
}

/// A control record's content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ControlRecord {
    /// The end of a transaction.
    EndTxnMarker {
        /// Whether it was committed.
        is_commit: bool,
        /// The value's version.
        version: i16,
        /// The transaction coordinator's epoch.
        coordinator_epoch: i32,
    },
    /// A new KRaft leader.
    LeaderChange(LeaderChangeMessage),
    /// The first record of a snapshot.
    SnapshotHeader {
        /// The value's version.
        version: i16,
        /// The append time of the last record of the log that the snapshot contains.
        last_contained_log_timestamp: i64,
    },
    /// The last record of a snapshot.
    SnapshotFooter {
        /// The value's version.
        version: i16,
    },
    /// The version of KRaft's own protocol.
    KRaftVersion {
        /// The value's version.
        version: i16,
        /// The protocol's version.
        kraft_version: i16,
    },
    /// KRaft's voters.
    KRaftVoters(VotersRecord),
    /// An unknown type.
    Unknown {
        /// The id in the key.
        type_id: i16,
    },
}

/// The leader and the voters of KRaft's quorum.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaderChangeMessage {
    /// The value's version.
    pub version: i16,
    /// The new leader.
    pub leader_id: i32,
    /// The quorum's voters.
    pub voters: Vec<LeaderChangeVoter>,
    /// The voters that voted for the leader.
    pub granting_voters: Vec<LeaderChangeVoter>,
}

/// A voter of [`LeaderChangeMessage`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaderChangeVoter {
    /// Its node id.
    pub voter_id: i32,
    /// Its log directory; version 0 has none.
    pub voter_directory_id: Option<Uuid>,
}

/// KRaft's voters with their endpoints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VotersRecord {
    /// The value's version.
    pub version: i16,
    /// The voters.
    pub voters: Vec<Voter>,
}

/// A voter of [`VotersRecord`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Voter {
    /// Its node id.
    pub voter_id: i32,
    /// Its log directory.
    pub voter_directory_id: Uuid,
    /// Where it listens.
    pub endpoints: Vec<VoterEndpoint>,
    /// The lowest supported version of KRaft's protocol.
    pub min_supported_version: i16,
    /// The highest supported version of KRaft's protocol.
    pub max_supported_version: i16,
}

/// Where a [`Voter`] listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VoterEndpoint {
    /// The listener's name.
    pub name: String,
    /// The host.
    pub host: String,
    /// The port.
    pub port: u16,
}

impl ControlRecord {
    /// Decodes a control record's key and value.
    pub fn parse(key: Option<&[u8]>, value: Option<&[u8]>) -> Result<Self> {
        let record_type = ControlRecordType::parse(key)?;
        if let ControlRecordType::Unknown(type_id) = record_type {
            return Ok(Self::Unknown { type_id });
        }
        let Some(value) = value else {
            return fail(0, ControlFault::NullValue);
        };
        let mut value = Value(Fields::at(value, 0));
        let version = value.i16()?;
        if version < 0 {
            return fail(0, ControlFault::Version { version });
        }
        let record = match record_type {
            ControlRecordType::Abort | ControlRecordType::Commit => {
                let is_commit = record_type == ControlRecordType::Commit;
                return Ok(Self::EndTxnMarker { is_commit, version, coordinator_epoch: value.i32()? });
            }
            ControlRecordType::LeaderChange => Self::LeaderChange(LeaderChangeMessage {
                version,
                leader_id: value.i32()?,
                voters: value.array(|value| value.leader_change_voter(version))?,
                granting_voters: value.array(|value| value.leader_change_voter(version))?,
            }),
            ControlRecordType::SnapshotHeader => {
                Self::SnapshotHeader { version, last_contained_log_timestamp: value.i64()? }
            }
            ControlRecordType::SnapshotFooter => Self::SnapshotFooter { version },
            ControlRecordType::KRaftVersion => Self::KRaftVersion { version, kraft_version: value.i16()? },
            ControlRecordType::KRaftVoters => {
                Self::KRaftVoters(VotersRecord { version, voters: value.array(Value::voter)? })
            }
            ControlRecordType::Unknown(type_id) => Self::Unknown { type_id },
        };
        value.skip_tags()?;
        Ok(record)
    }

    /// The record's type.
    pub fn control_record_type(&self) -> ControlRecordType {
        match self {
            Self::EndTxnMarker { is_commit: true, .. } => ControlRecordType::Commit,
            Self::EndTxnMarker { is_commit: false, .. } => ControlRecordType::Abort,
            Self::LeaderChange(_) => ControlRecordType::LeaderChange,
            Self::SnapshotHeader { .. } => ControlRecordType::SnapshotHeader,
            Self::SnapshotFooter { .. } => ControlRecordType::SnapshotFooter,
            Self::KRaftVersion { .. } => ControlRecordType::KRaftVersion,
            Self::KRaftVoters(_) => ControlRecordType::KRaftVoters,
            Self::Unknown { type_id } => ControlRecordType::Unknown(*type_id),
        }
    }
}

fn fail<T>(position: usize, fault: ControlFault) -> Result<T> {
    Err(Error::ControlRecord { position: position as u64, fault })
}

/// Reads the fields of a value and makes the errors.
struct Value<'a>(Fields<'a>);

impl<'a> Value<'a> {
    fn need<T>(&mut self, read: impl FnOnce(&mut Fields<'a>) -> Option<T>) -> Result<T> {
        let position = self.0.position();
        match read(&mut self.0) {
            Some(value) => Ok(value),
            None => fail(position, ControlFault::Incomplete),
        }
    }

    fn i16(&mut self) -> Result<i16> {
        self.need(Fields::i16)
    }

    fn i32(&mut self) -> Result<i32> {
        self.need(Fields::i32)
    }

    fn i64(&mut self) -> Result<i64> {
        self.need(Fields::i64)
    }

    fn uuid(&mut self) -> Result<Uuid> {
        self.need(Fields::array).map(Uuid)
    }

    /// The length of a compact array or string, which must not exceed `limit`.
    fn compact_length(&mut self, limit: impl FnOnce(&Self) -> usize) -> Result<usize> {
        let position = self.0.position();
        let Some(length) = self.need(Fields::unsigned_varint)?.checked_sub(1) else {
            return fail(position, ControlFault::NullField);
        };
        if length as usize > limit(self) {
            return fail(position, ControlFault::Length { length });
        }
        Ok(length as usize)
    }

    /// A compact array. An element has at least one byte, so the remaining bytes limit the length; the vector grows only as
    /// elements are read.
    fn array<T>(&mut self, mut element: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let length = self.compact_length(|value| value.0.remaining())?;
        let mut elements = Vec::new();
        for _ in 0..length {
            elements.push(element(self)?);
        }
        Ok(elements)
    }

    /// A compact string; malformed UTF-8 becomes U+FFFD, as in Java.
    fn string(&mut self) -> Result<String> {
        let length = self.compact_length(|_| MAX_STRING_LENGTH)?;
        let bytes = self.need(|fields| fields.bytes(length))?;
        Ok(String::from_utf8_lossy(bytes).into_owned())
    }

    fn skip_tags(&mut self) -> Result<()> {
        let count = self.need(Fields::unsigned_varint)?;
        for _ in 0..count {
            self.need(|fields| {
                fields.unsigned_varint()?;
                let size = fields.unsigned_varint()?;
                fields.bytes(size as usize)
            })?;
        }
        Ok(())
    }

    fn leader_change_voter(&mut self, version: i16) -> Result<LeaderChangeVoter> {
        let voter_id = self.i32()?;
        let voter_directory_id = if version >= 1 { Some(self.uuid()?) } else { None };
        self.skip_tags()?;
        Ok(LeaderChangeVoter { voter_id, voter_directory_id })
    }

    fn voter(&mut self) -> Result<Voter> {
        let voter_id = self.i32()?;
        let voter_directory_id = self.uuid()?;
        let endpoints = self.array(Self::endpoint)?;
        let min_supported_version = self.i16()?;
        let max_supported_version = self.i16()?;
        self.skip_tags()?;
        self.skip_tags()?;
        Ok(Voter { voter_id, voter_directory_id, endpoints, min_supported_version, max_supported_version })
    }

    fn endpoint(&mut self) -> Result<VoterEndpoint> {
        let endpoint = VoterEndpoint { name: self.string()?, host: self.string()?, port: self.need(Fields::u16)? };
        self.skip_tags()?;
        Ok(endpoint)
    }
}

/// The value of a marker that ends a transaction, in version 0.
pub(super) fn end_txn_marker_value(coordinator_epoch: i32) -> [u8; 6] {
    let [a, b, c, d] = coordinator_epoch.to_be_bytes();
    [0, 0, a, b, c, d]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn key(id: i16) -> Vec<u8> {
        [0i16.to_be_bytes(), id.to_be_bytes()].concat()
    }

    fn parse(id: i16, value: &[u8]) -> Result<ControlRecord> {
        ControlRecord::parse(Some(&key(id)), Some(value))
    }

    #[test]
    fn markers() {
        let marker = |is_commit, version, coordinator_epoch| ControlRecord::EndTxnMarker {
            is_commit,
            version,
            coordinator_epoch,
        };
        assert_eq!(parse(0, &[0, 0, 0, 0, 0, 7]), Ok(marker(false, 0, 7)));
        assert_eq!(parse(1, &[0, 0, 0xff, 0xff, 0xff, 0xff]), Ok(marker(true, 0, -1)));
        assert_eq!(parse(1, &[0, 9, 0, 0, 0, 7, 1, 2, 3]), Ok(marker(true, 9, 7)));
    }

    #[test]
    fn raft_records() {
        let value = [0, 1, 0, 0, 0, 5, 2, 0, 0, 0, 5]
            .into_iter()
            .chain([9; 16])
            .chain([0, 1, 1, 3, 2, b'x', b'y'])
            .collect::<Vec<u8>>();
        let voter = LeaderChangeVoter { voter_id: 5, voter_directory_id: Some(Uuid([9; 16])) };
        let message =
            LeaderChangeMessage { version: 1, leader_id: 5, voters: vec![voter], granting_voters: Vec::new() };
        assert_eq!(parse(2, &value), Ok(ControlRecord::LeaderChange(message)));

        let header = ControlRecord::SnapshotHeader { version: 0, last_contained_log_timestamp: 258 };
        assert_eq!(parse(3, &[0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 0]), Ok(header));
        assert_eq!(parse(4, &[0, 0, 0]), Ok(ControlRecord::SnapshotFooter { version: 0 }));
        assert_eq!(parse(5, &[0, 0, 0, 1, 0]), Ok(ControlRecord::KRaftVersion { version: 0, kraft_version: 1 }));

        let value = [0, 0, 2, 0, 0, 0, 1]
            .into_iter()
            .chain([3; 16])
            .chain([2, 2, b'C', 3, b'h', 0xff, 0x23, 0x84, 0, 0, 0, 0, 1, 0, 0, 0])
            .collect::<Vec<u8>>();
        let endpoint = VoterEndpoint { name: "C".to_owned(), host: "h\u{fffd}".to_owned(), port: 9092 };
        let voter = Voter {
            voter_id: 1,
            voter_directory_id: Uuid([3; 16]),
            endpoints: vec![endpoint],
            min_supported_version: 0,
            max_supported_version: 1,
        };
        let record = VotersRecord { version: 0, voters: vec![voter] };
        assert_eq!(parse(6, &value), Ok(ControlRecord::KRaftVoters(record)));
        for cut in 0..value.len() {
            assert!(parse(6, &value[..cut]).is_err(), "{cut}");
        }
    }

    #[test]
    fn unknown_types_are_ignored() {
        assert_eq!(ControlRecord::parse(Some(&key(77)), None), Ok(ControlRecord::Unknown { type_id: 77 }));
        assert_eq!(ControlRecordType::parse(Some(&[0, 3, 0, 1, 5, 5])), Ok(ControlRecordType::Commit));
        for id in -1..9 {
            let record_type = ControlRecordType::for_id(id);
            assert_eq!(record_type.id(), id);
            assert_eq!(record_type.name() == "UNKNOWN", !(0..7).contains(&id));
        }
    }

    #[test]
    fn errors_name_the_corrupt_byte() {
        let fault = |record: Result<ControlRecord>| match record.unwrap_err() {
            Error::ControlRecord { position, fault } => (position, fault),
            other => panic!("{other}"),
        };
        assert_eq!(fault(ControlRecord::parse(None, None)), (0, ControlFault::NullKey));
        assert_eq!(fault(ControlRecord::parse(Some(&[0, 0, 1]), None)), (0, ControlFault::Incomplete));
        assert_eq!(
            fault(ControlRecord::parse(Some(&[255, 255, 0, 1]), None)),
            (0, ControlFault::Version { version: -1 })
        );
        assert_eq!(fault(ControlRecord::parse(Some(&key(0)), None)), (0, ControlFault::NullValue));
        assert_eq!(fault(parse(1, &[0, 0, 1, 2, 3])), (2, ControlFault::Incomplete));
        assert_eq!(fault(parse(1, &[0x80, 0, 1, 2, 3, 4])), (0, ControlFault::Version { version: i16::MIN }));
        assert_eq!(fault(parse(6, &[0, 0, 0, 0])), (2, ControlFault::NullField));
        let huge = [0, 0, 0xff, 0xff, 0xff, 0xff, 0x0f];
        assert_eq!(fault(parse(6, &huge)), (2, ControlFault::Length { length: u32::MAX - 1 }));
    }

    proptest! {
        #[test]
        fn any_bytes(id in -1..9i16, value in proptest::collection::vec(any::<u8>(), 0..100)) {
            if let Ok(record) = parse(id, &value) {
                prop_assert_eq!(record.control_record_type().id(), id);
            }
            let _ = ControlRecord::parse(Some(&value), Some(&value));
        }
    }
}
