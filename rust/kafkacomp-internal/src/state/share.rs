//! Positions of share groups.

use super::partition::{Replay, State};
use crate::table::{Cell, ColumnOf, Kind, Rows};
use arrow_schema::ArrowError;
use kafkacomp_schemas::json::uuid;
use kafkacomp_schemas::{Topic, Value};
use std::collections::BTreeMap;

pub(crate) const COLUMNS: &[ColumnOf] = &[
    ("groupId", Kind::Text),
    ("topicId", Kind::Text),
    ("partition", Kind::Int32),
    ("status", Kind::Text),
    ("startOffset", Kind::Int64),
    ("stateEpoch", Kind::Int32),
    ("leaderEpoch", Kind::Int32),
    ("mayBeStale", Kind::Bool),
    ("completeFrom", Kind::Time),
    ("recordPartition", Kind::Int32),
    ("recordOffset", Kind::Int64),
];

/// Appends a row for each group and partition, sorted by group.
pub(super) fn push(partitions: &BTreeMap<i32, State>, rows: &mut Rows) -> Result<(), ArrowError> {
    let mut found = Vec::new();
    for (number, state) in partitions {
        if let Replay::Share(replay) = &state.replay {
            found.extend(replay.iter().map(|(place, position)| (place, *number, state, position)));
        }
    }
    found.sort_unstable_by_key(|(place, number, ..)| (*place, *number));
    for (place, number, state, position) in found {
        rows.push(&[
            place.group.as_str().into(),
            uuid(&place.topic_id).into(),
            place.partition.into(),
            "known".into(),
            position.start_offset.into(),
            position.state_epoch.into(),
            position.leader_epoch.into(),
            state.may_be_stale(position.record_offset),
            Cell::Null,
            number.into(),
            position.record_offset.into(),
        ])?;
    }
    for (number, state) in partitions {
        state.for_unknown(Topic::ShareGroupState, |name, key| {
            // An update has no meaning without its snapshot.
            if name != "ShareSnapshot" {
                return Ok(());
            }
            let topic_id = match key.get("topicId").as_deref() {
                Some(Value::Uuid(id)) => uuid(id).into(),
                _ => Cell::Null,
            };
            let group = key.text("groupId").map_or(Cell::Null, Cell::Text);
            let mut cells = vec![group, topic_id, key.int("partition").into(), "unknown".into()];
            cells.extend(std::iter::repeat_n(Cell::Null, 4));
            cells.extend([state.complete_from(), (*number).into(), Cell::Null]);
            rows.push(&cells)
        })?;
    }
    Ok(())
}
