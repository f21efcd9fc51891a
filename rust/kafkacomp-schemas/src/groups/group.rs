//! Groups of all types, and their states.

use crate::value::{Struct, Value};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The type of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupType {
    /// The protocol before KIP-848; also a group that only commits offsets.
    Classic,
    /// KIP-848.
    Consumer,
    /// KIP-932.
    Share,
    /// KIP-1071.
    Streams,
}

/// A group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Group {
    /// A classic group.
    Classic(Classic),
    /// A group of another type.
    Modern {
        /// Its type.
        kind: GroupType,
        /// Its epoch.
        epoch: i32,
        /// The epoch of its target assignment.
        assignment_epoch: i32,
        /// Its members by id.
        members: BTreeMap<String, Member>,
    },
}

/// A classic group as its last record has it.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Classic {
    /// The protocol type: `consumer`, `connect`; empty if the group only commits offsets.
    pub protocol_type: String,
    /// The assignor.
    pub protocol: Option<String>,
    /// The generation.
    pub generation: i32,
    /// The leader's id.
    pub leader: Option<String>,
    /// The ids of its members.
    pub members: Vec<String>,
    /// Whether the group has no record of its own, only offsets.
    pub is_simple: bool,
}

/// A member of a group that is not classic.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Member {
    /// Its epoch.
    pub epoch: i32,
    /// Its state as the record has it: a number that depends on the type of the group.
    pub state: i8,
}

impl GroupType {
    /// The type of the group, and what of it the record has: `ConsumerGroupMemberMetadata` is `MemberMetadata` of a consumer group.
    pub(super) fn of_record(name: &str) -> Option<(Self, &str)> {
        let types = [("ConsumerGroup", Self::Consumer), ("ShareGroup", Self::Share), ("StreamsGroup", Self::Streams)];
        types.into_iter().find_map(|(prefix, kind)| name.strip_prefix(prefix).map(|part| (kind, part)))
    }

    /// Kafka's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Classic => "Classic",
            Self::Consumer => "Consumer",
            Self::Share => "Share",
            Self::Streams => "Streams",
        }
    }
}

impl Classic {
    pub(super) fn read(value: &Struct<'_>) -> Self {
        let members = value.get("members");
        let members = members.as_deref().and_then(Value::elements).unwrap_or_default();
        Self {
            protocol_type: value.text("protocolType").map(Cow::into_owned).unwrap_or_default(),
            protocol: value.text("protocol").map(Cow::into_owned),
            generation: value.int("generation").unwrap_or_default() as i32,
            leader: value.text("leader").map(Cow::into_owned),
            members: members
                .iter()
                .filter_map(Value::fields)
                .filter_map(|member| member.text("memberId").map(Cow::into_owned))
                .collect(),
            is_simple: false,
        }
    }
}

impl Group {
    /// A group that has only offsets.
    pub(super) fn simple() -> Self {
        Self::Classic(Classic { is_simple: true, ..Classic::default() })
    }

    pub(super) fn modern(kind: GroupType) -> Self {
        Self::Modern { kind, epoch: 0, assignment_epoch: 0, members: BTreeMap::new() }
    }

    /// Applies a record of a group that is not classic.
    pub(super) fn apply(&mut self, part: &str, key: &Struct<'_>, value: Option<&Struct<'_>>) {
        let Self::Modern { epoch, assignment_epoch, members, .. } = self else { return };
        let number = |name| value.and_then(|value| value.int(name)).unwrap_or_default() as i32;
        match (part, key.text("memberId").map(Cow::into_owned)) {
            ("Metadata", _) => *epoch = number("epoch"),
            ("TargetAssignmentMetadata", _) => *assignment_epoch = number("assignmentEpoch"),
            ("MemberMetadata", Some(id)) => {
                if value.is_some() {
                    members.entry(id).or_default();
                } else {
                    members.remove(&id);
                }
            }
            ("CurrentMemberAssignment", Some(id)) => {
                let now = Member { epoch: number("memberEpoch"), state: number("state") as i8 };
                if value.is_some() {
                    members.insert(id, now);
                } else if let Some(member) = members.get_mut(&id) {
                    *member = Member { epoch: -1, ..now };
                }
            }
            _ => {}
        }
    }

    /// The group's type.
    pub fn kind(&self) -> GroupType {
        match self {
            Self::Classic(_) => GroupType::Classic,
            Self::Modern { kind, .. } => *kind,
        }
    }

    /// The protocol type.
    pub fn protocol_type(&self) -> &str {
        match self {
            Self::Classic(group) => &group.protocol_type,
            Self::Modern { kind: GroupType::Share, .. } => "share",
            Self::Modern { kind: GroupType::Streams, .. } => "streams",
            Self::Modern { .. } => "consumer",
        }
    }

    /// The state after the last record. The states of a classic group's rebalance are in no record: it is then `Stable` here.
    pub fn state(&self) -> &'static str {
        match self {
            Self::Classic(group) if group.members.is_empty() => "Empty",
            Self::Modern { members, .. } if members.is_empty() => "Empty",
            Self::Classic(_) | Self::Modern { kind: GroupType::Share, .. } => "Stable",
            Self::Modern { kind, epoch, assignment_epoch, members } => {
                let stable = i8::from(*kind == GroupType::Streams);
                let is_stable = |member: &Member| member.state == stable && member.epoch == *assignment_epoch;
                if epoch > assignment_epoch {
                    "Assigning"
                } else if members.values().all(is_stable) {
                    "Stable"
                } else {
                    "Reconciling"
                }
            }
        }
    }
}
