//! The state of `__share_group_state` as a share coordinator loads it: where each share group is in each partition.

use crate::json::Origin;
use crate::record::Decoded;
use crate::value::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The share groups of a partition of `__share_group_state`.
#[derive(Debug, Default, Clone)]
pub struct ShareGroups(BTreeMap<SharePartition, Position>);

/// A partition that a share group reads.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SharePartition {
    /// The group's id.
    pub group: String,
    /// The topic's id.
    pub topic_id: [u8; 16],
    /// The partition.
    pub partition: i32,
}

/// Where a share group is in a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// The offset of the last record about it.
    pub record_offset: i64,
    /// The first offset that is not archived or acknowledged; none before it is initialized.
    pub start_offset: Option<i64>,
    /// The epoch of the leader that wrote it.
    pub leader_epoch: i32,
    /// The epoch of the state; updates do not have it.
    pub state_epoch: i32,
}

impl ShareGroups {
    /// Applies a record. Records must come in the order of their offsets; those of other types are ignored.
    pub fn apply(&mut self, origin: Origin, record: &Decoded<'_>) {
        let Decoded::Keyed { kind, key, value } = record else { return };
        let key = &key.fields;
        let (Some(group), Some(partition)) = (key.text("groupId"), key.int("partition")) else { return };
        let Some(Value::Uuid(topic_id)) = key.get("topicId").map(Cow::into_owned) else { return };
        let key = SharePartition { group: group.into_owned(), topic_id, partition: partition as i32 };
        let Some(value) = value.as_ref().map(|value| &value.fields) else {
            // A tombstone of a snapshot ends its updates too; one of an update ends nothing.
            if kind.name == "ShareSnapshot" {
                self.0.remove(&key);
            }
            return;
        };
        let before = if kind.name == "ShareUpdate" { self.0.get(&key) } else { None };
        let int = |name| value.int(name).unwrap_or(-1);
        let position = Position {
            record_offset: origin.offset,
            // In an update, -1 means unchanged.
            start_offset: Some(int("startOffset"))
                .filter(|start| *start != -1)
                .or(before.and_then(|it| it.start_offset)),
            leader_epoch: int("leaderEpoch") as i32,
            state_epoch: value.int("stateEpoch").map_or_else(|| before.map_or(-1, |it| it.state_epoch), |it| it as i32),
        };
        self.0.insert(key, position);
    }

    /// Partitions and positions, sorted by group.
    pub fn iter(&self) -> impl Iterator<Item = (&SharePartition, &Position)> {
        self.0.iter()
    }
}
