//! Segments in remote storage.

use super::partition::{Replay, State};
use crate::table::{Cell, ColumnOf, Kind, Rows, ints, time};
use arrow_schema::ArrowError;
use kafkacomp_schemas::json::uuid;
use std::collections::BTreeMap;

pub(crate) const COLUMNS: &[ColumnOf] = &[
    ("topic", Kind::Text),
    ("topicId", Kind::Text),
    ("partition", Kind::Int32),
    ("segmentId", Kind::Text),
    ("state", Kind::Text),
    ("startOffset", Kind::Int64),
    ("endOffset", Kind::Int64),
    ("size", Kind::Int32),
    ("brokerId", Kind::Int32),
    ("maxTimestamp", Kind::Time),
    ("eventTimestamp", Kind::Time),
    ("leaderEpochs", Kind::Ints),
    ("leaderEpochStartOffsets", Kind::Longs),
    ("customMetadata", Kind::Bytes),
    ("mayBeStale", Kind::Bool),
    ("recordPartition", Kind::Int32),
];

/// Appends a row for each segment, sorted by topic, partition and first offset.
pub(super) fn push(partitions: &BTreeMap<i32, State>, rows: &mut Rows) -> Result<(), ArrowError> {
    let mut found = Vec::new();
    for (number, state) in partitions {
        if let Replay::Remote(replay) = &state.replay {
            found.extend(replay.iter().map(|segment| (segment, *number, state)));
        }
    }
    found.sort_by_key(|((topic_id, partition, _, segment), ..)| (&segment.topic, **topic_id, *partition));
    for ((topic_id, partition, id, segment), number, state) in found {
        let epochs: Vec<_> = segment.leader_epochs.keys().copied().collect();
        rows.push(&[
            segment.topic.as_str().into(),
            uuid(topic_id).into(),
            partition.into(),
            uuid(id).into(),
            segment.state_name().into(),
            segment.start_offset.into(),
            segment.end_offset.into(),
            segment.size.into(),
            segment.broker_id.into(),
            time(segment.max_timestamp),
            time(segment.event_timestamp),
            ints(&epochs),
            Cell::Ints(segment.leader_epochs.values().copied().collect()),
            segment.custom_metadata.as_deref().map_or(Cell::Null, Cell::Bytes),
            state.may_be_stale(-1),
            number.into(),
        ])?;
    }
    Ok(())
}
