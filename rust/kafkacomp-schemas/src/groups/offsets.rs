//! Committed offsets, and those of open transactions.

use crate::value::{Struct, Value};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// A committed offset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// The offset of the record in `__consumer_offsets`.
    pub record_offset: i64,
    /// The committed offset: that of the next record to be read.
    pub offset: i64,
    /// The leader epoch of the last record that was read.
    pub leader_epoch: Option<i32>,
    /// What the client said of it.
    pub metadata: String,
    /// When it was committed, in milliseconds.
    pub commit_timestamp: i64,
    /// When it expires, in milliseconds, if the request said so.
    pub expire_timestamp: Option<i64>,
    /// The topic's id, from Kafka 4.1 on.
    pub topic_id: Option<[u8; 16]>,
}

/// The committed offsets of a group, by topic and partition.
#[derive(Debug, Default, Clone)]
pub struct Offsets(BTreeMap<String, BTreeMap<i32, Commit>>);

/// The offsets of open transactions, by the producer's id.
#[derive(Debug, Default, Clone)]
pub struct Pending(BTreeMap<i64, BTreeMap<String, Offsets>>);

/// Changes the value of a name. Most records are of a name that is known, which is then not copied.
pub(super) fn put<T: Default>(map: &mut BTreeMap<String, T>, name: &str, change: impl FnOnce(&mut T)) {
    match map.get_mut(name) {
        Some(value) => change(value),
        None => change(map.entry(name.to_owned()).or_default()),
    }
}

impl Commit {
    /// Takes the value of a record; `record_offset` is where the record is.
    pub(super) fn read(record_offset: i64, value: &Struct<'_>) -> Self {
        let known = |name| value.int(name).filter(|number| *number != -1);
        Self {
            record_offset,
            offset: value.int("offset").unwrap_or(-1),
            leader_epoch: known("leaderEpoch").map(|epoch| epoch as i32),
            metadata: value.text("metadata").map(Cow::into_owned).unwrap_or_default(),
            commit_timestamp: value.int("commitTimestamp").unwrap_or(-1),
            expire_timestamp: known("expireTimestamp"),
            topic_id: match value.get("topicId").as_deref() {
                Some(Value::Uuid(id)) if *id != [0; 16] => Some(*id),
                _ => None,
            },
        }
    }
}

impl Offsets {
    /// The committed offset of a partition.
    pub fn get(&self, topic: &str, partition: i32) -> Option<&Commit> {
        self.0.get(topic)?.get(&partition)
    }

    /// Topic, partition and committed offset, sorted.
    pub fn iter(&self) -> impl Iterator<Item = (&str, i32, &Commit)> {
        let of_topic = |(topic, partitions)| {
            let partitions: &BTreeMap<_, _> = partitions;
            let topic: &String = topic;
            partitions.iter().map(|(partition, commit)| (topic.as_str(), *partition, commit))
        };
        self.0.iter().flat_map(of_topic)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn put(&mut self, topic: &str, partition: i32, commit: Commit) {
        put(&mut self.0, topic, |partitions| drop(partitions.insert(partition, commit)));
    }

    /// An offset of a transaction counts only if its record is above that of the one which is there.
    pub(super) fn put_if_later(&mut self, topic: &str, partition: i32, commit: Commit) {
        let existing = self.get(topic, partition);
        if existing.is_none_or(|existing| commit.record_offset > existing.record_offset) {
            self.put(topic, partition, commit);
        }
    }

    pub(super) fn remove(&mut self, topic: &str, partition: i32) {
        if let Some(partitions) = self.0.get_mut(topic) {
            partitions.remove(&partition);
            if partitions.is_empty() {
                self.0.remove(topic);
            }
        }
    }
}

impl Pending {
    /// Producer, group, topic, partition and offset, sorted.
    pub fn iter(&self) -> impl Iterator<Item = (i64, &str, &str, i32, &Commit)> {
        let all = self.0.iter().flat_map(|(id, groups)| groups.iter().map(|(group, offsets)| (*id, group, offsets)));
        all.flat_map(|(id, group, offsets)| {
            offsets.iter().map(move |(topic, partition, commit)| (id, group.as_str(), topic, partition, commit))
        })
    }

    pub(super) fn put(&mut self, producer: i64, group: &str, topic: &str, partition: i32, commit: Commit) {
        put(self.0.entry(producer).or_default(), group, |offsets| offsets.put(topic, partition, commit));
    }

    /// A tombstone drops the offsets of its key in all transactions.
    pub(super) fn remove(&mut self, group: &str, topic: &str, partition: i32) {
        for groups in self.0.values_mut() {
            if let Some(offsets) = groups.get_mut(group) {
                offsets.remove(topic, partition);
            }
        }
    }

    /// The offsets of a transaction that ends.
    pub(super) fn end(&mut self, producer: i64) -> Vec<(String, String, i32, Commit)> {
        let groups = self.0.remove(&producer).unwrap_or_default();
        groups
            .into_iter()
            .flat_map(|(group, offsets)| offsets.0.into_iter().map(move |(topic, each)| (group.clone(), topic, each)))
            .flat_map(|(group, topic, partitions)| {
                partitions.into_iter().map(move |(partition, commit)| (group.clone(), topic.clone(), partition, commit))
            })
            .collect()
    }
}
