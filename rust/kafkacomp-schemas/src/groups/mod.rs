//! The state of `__consumer_offsets` as a group coordinator loads it: committed offsets and groups.
//!
//! [`Groups`] takes the records of one partition of the topic in the order of their offsets. Each group has all its records in one
//! partition. Records of an unknown type are ignored, as the coordinator does. Time does not matter: an offset is committed until its
//! tombstone is written, whatever its expire timestamp.

mod group;
mod offsets;

use crate::json::Origin;
use crate::record::Decoded;
use crate::value::Struct;
pub use group::{Classic, Group, GroupType, Member};
pub use offsets::{Commit, Offsets, Pending};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The groups of a partition of `__consumer_offsets`. Memory is proportional to the number of groups, members and committed partitions.
#[derive(Debug, Default, Clone)]
pub struct Groups {
    by_id: BTreeMap<String, Group>,
    offsets: BTreeMap<String, Offsets>,
    pending: Pending,
}

impl Groups {
    /// Applies a record. Records must come in the order of their offsets.
    pub fn apply(&mut self, origin: Origin, record: &Decoded<'_>) {
        match record {
            Decoded::Keyed { kind, key, value } => {
                let value = value.as_ref().map(|value| &value.fields);
                match kind.name.as_str() {
                    "OffsetCommit" | "LegacyOffsetCommit" => self.commit(origin, &key.fields, value),
                    name => self.group(name, &key.fields, value),
                }
            }
            // A marker is for the producer of its batch.
            Decoded::Control { id: id @ (0 | 1), .. } => {
                let Some(producer) = origin.producer else { return };
                let commits = self.pending.end(producer.id);
                if *id == 1 {
                    for (group, topic, partition, commit) in commits {
                        let put = |offsets: &mut Offsets| offsets.put_if_later(&topic, partition, commit);
                        offsets::put(&mut self.offsets, &group, put);
                    }
                }
            }
            _ => {}
        }
    }

    /// The groups, sorted by id: those that the coordinator lists.
    pub fn groups(&self) -> impl Iterator<Item = (&str, &Group)> {
        self.by_id.iter().map(|(id, group)| (id.as_str(), group))
    }

    /// The committed offsets of a group.
    pub fn offsets(&self, group: &str) -> Option<&Offsets> {
        self.offsets.get(group)
    }

    /// The ids with committed offsets, sorted. A group that was deleted may have offsets until their tombstones are written.
    pub fn committed(&self) -> impl Iterator<Item = (&str, &Offsets)> {
        self.offsets.iter().map(|(id, offsets)| (id.as_str(), offsets))
    }

    /// Offsets in transactions that are open: they count from the COMMIT marker on.
    pub fn pending(&self) -> &Pending {
        &self.pending
    }

    fn commit(&mut self, origin: Origin, key: &Struct<'_>, value: Option<&Struct<'_>>) {
        let (Some(id), Some(topic), Some(partition)) = (key.text("group"), key.text("topic"), key.int("partition"))
        else {
            return;
        };
        let partition = partition as i32;
        let Some(value) = value else {
            if let Some(offsets) = self.offsets.get_mut(&*id) {
                offsets.remove(&topic, partition);
                if offsets.is_empty() {
                    self.offsets.remove(&*id);
                }
            }
            self.pending.remove(&id, &topic, partition);
            return;
        };
        if !self.by_id.contains_key(&*id) {
            // Also by an offset in a transaction that is aborted later.
            self.by_id.insert(id.clone().into_owned(), Group::simple());
        }
        let commit = Commit::read(origin.offset, value);
        match origin.producer.filter(|producer| producer.is_transactional) {
            Some(producer) => self.pending.put(producer.id, &id, &topic, partition, commit),
            None => offsets::put(&mut self.offsets, &id, |offsets| offsets.put(&topic, partition, commit)),
        }
    }

    fn group(&mut self, name: &str, key: &Struct<'_>, value: Option<&Struct<'_>>) {
        if name == "GroupMetadata" {
            let Some(id) = key.text("group").map(Cow::into_owned) else { return };
            match value {
                Some(value) => drop(self.by_id.insert(id, Group::Classic(Classic::read(value)))),
                // Whatever the type of the group, as in Kafka.
                None => drop(self.by_id.remove(&id)),
            }
            return;
        }
        let Some((kind, part)) = GroupType::of_record(name) else { return };
        if matches!(part, "PartitionMetadata" | "StatePartitionMetadata") {
            return; // of the partitions that a group reads, and does not make a group
        }
        let Some(id) = key.text("groupId").map(Cow::into_owned) else { return };
        let is_of_kind = self.by_id.get(&id).is_some_and(|group| group.kind() == kind);
        match value {
            None if is_of_kind && part == "Metadata" => drop(self.by_id.remove(&id)),
            None if !is_of_kind => {}
            // A simple or empty classic group becomes one of another type with the first record of that type.
            Some(_) if !is_of_kind => {
                let mut group = Group::modern(kind);
                group.apply(part, key, value);
                self.by_id.insert(id, group);
            }
            _ => {
                if let Some(group) = self.by_id.get_mut(&id) {
                    group.apply(part, key, value);
                }
            }
        }
    }
}
