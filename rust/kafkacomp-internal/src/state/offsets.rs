//! Committed offsets.

use super::partition::{Replay, State};
use crate::table::{Cell, ColumnOf, Kind, Rows, time};
use arrow_schema::ArrowError;
use kafkacomp_schemas::Topic;
use kafkacomp_schemas::groups::Commit;
use kafkacomp_schemas::json::uuid;
use std::collections::BTreeMap;

pub(crate) const COLUMNS: &[ColumnOf] = &[
    ("groupId", Kind::Text),
    ("topic", Kind::Text),
    ("partition", Kind::Int32),
    ("status", Kind::Text),
    ("committedOffset", Kind::Int64),
    ("leaderEpoch", Kind::Int32),
    ("metadata", Kind::Text),
    ("commitTimestamp", Kind::Time),
    ("expireTimestamp", Kind::Time),
    ("isExpired", Kind::Bool),
    ("topicId", Kind::Text),
    ("producerId", Kind::Int64),
    ("mayBeStale", Kind::Bool),
    ("completeFrom", Kind::Time),
    ("recordPartition", Kind::Int32),
    ("recordOffset", Kind::Int64),
];

/// Whose offset of which partition.
type Place<'a> = (&'a str, &'a str, i32);

/// Appends a row for each offset, sorted by group.
pub(super) fn push(partitions: &BTreeMap<i32, State>, rows: &mut Rows) -> Result<(), ArrowError> {
    let mut groups = Vec::new();
    for (number, state) in partitions {
        if let Replay::Groups(replay) = &state.replay {
            groups.extend(replay.committed().map(|(group, offsets)| (group, *number, state, offsets)));
        }
    }
    groups.sort_unstable_by_key(|(group, number, ..)| (*group, *number));
    for (group, number, state, offsets) in groups {
        for (topic, partition, commit) in offsets.iter() {
            row(rows, number, state, (group, topic, partition), commit, None)?;
        }
    }
    for (number, state) in partitions {
        if let Replay::Groups(replay) = &state.replay {
            for (producer, group, topic, partition, commit) in replay.pending().iter() {
                row(rows, *number, state, (group, topic, partition), commit, Some(producer))?;
            }
        }
        state.for_unknown(Topic::ConsumerOffsets, |name, key| {
            if !matches!(name, "OffsetCommit" | "LegacyOffsetCommit") {
                return Ok(());
            }
            let mut cells = vec![key.text("group").map_or(Cell::Null, Cell::Text)];
            cells.extend([key.text("topic").map_or(Cell::Null, Cell::Text), key.int("partition").into()]);
            cells.push("unknown".into());
            cells.extend(std::iter::repeat_n(Cell::Null, 9));
            cells.extend([state.complete_from(), (*number).into(), Cell::Null]);
            rows.push(&cells)
        })?;
    }
    Ok(())
}

fn row(
    rows: &mut Rows,
    number: i32,
    state: &State,
    (group, topic, partition): Place<'_>,
    commit: &Commit,
    producer: Option<i64>,
) -> Result<(), ArrowError> {
    let is_expired = commit.expire_timestamp.is_some_and(|expires| expires <= state.last.timestamp);
    rows.push(&[
        group.into(),
        topic.into(),
        partition.into(),
        if producer.is_some() { "pending" } else { "committed" }.into(),
        commit.offset.into(),
        commit.leader_epoch.into(),
        commit.metadata.as_str().into(),
        time(commit.commit_timestamp),
        commit.expire_timestamp.into(),
        is_expired.into(),
        commit.topic_id.as_ref().map(uuid).into(),
        producer.into(),
        state.may_be_stale(commit.record_offset),
        Cell::Null,
        number.into(),
        commit.record_offset.into(),
    ])
}
