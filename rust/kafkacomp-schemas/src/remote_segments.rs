//! The state of `__remote_log_metadata` as Kafka's `RemoteLogMetadataCache` loads it: the segments in remote storage.

use crate::metadata::Uuid;
use crate::record::Decoded;
use crate::value::{Struct, Value};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The segments in remote storage, by topic id, partition and segment id.
#[derive(Debug, Default, Clone)]
pub struct RemoteSegments(BTreeMap<(Uuid, i32), BTreeMap<Uuid, RemoteSegment>>);

/// A segment in remote storage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteSegment {
    /// The topic.
    pub topic: String,
    /// Its first offset.
    pub start_offset: i64,
    /// Its last offset.
    pub end_offset: i64,
    /// The broker that wrote the last event.
    pub broker_id: i32,
    /// The greatest timestamp in it, in milliseconds.
    pub max_timestamp: i64,
    /// When the last event was written, in milliseconds.
    pub event_timestamp: i64,
    /// The first offset of each leader epoch in it.
    pub leader_epochs: BTreeMap<i32, i64>,
    /// Its size in bytes.
    pub size: i32,
    /// What the plugin keeps with it.
    pub custom_metadata: Option<Vec<u8>>,
    /// Its state: a number that [`RemoteSegment::state_name`] names.
    pub state: i8,
}

/// Kafka's `RemoteLogSegmentState`, by number.
pub const STATES: [&str; 4] =
    ["COPY_SEGMENT_STARTED", "COPY_SEGMENT_FINISHED", "DELETE_SEGMENT_STARTED", "DELETE_SEGMENT_FINISHED"];

impl RemoteSegments {
    /// Applies a record. As in Kafka, an update of an unknown segment, or to a state that cannot follow, is ignored.
    pub fn apply(&mut self, record: &Decoded<'_>) {
        let Decoded::Framed { kind, value } = record else { return };
        let value = &value.fields;
        match kind.name.as_str() {
            "RemotePartitionDeleteMetadataRecord" => {
                if let Some((_, partition)) = with_struct(value, "topicIdPartition", partition) {
                    self.0.remove(&partition);
                }
            }
            "RemoteLogSegmentMetadataRecord" => {
                let Some((topic, partition, id)) = segment_id(value) else { return };
                let segment = RemoteSegment::read(topic, value);
                self.0.entry(partition).or_default().insert(id, segment);
            }
            "RemoteLogSegmentMetadataUpdateRecord" => {
                let Some((_, partition, id)) = segment_id(value) else { return };
                if let Some(segment) = self.0.get_mut(&partition).and_then(|segments| segments.get_mut(&id)) {
                    segment.update(value);
                }
            }
            _ => {}
        }
    }

    /// Topic id, partition, segment id and segment, sorted by topic id, partition and first offset.
    pub fn iter(&self) -> impl Iterator<Item = (&Uuid, i32, &Uuid, &RemoteSegment)> {
        self.0.iter().flat_map(|((topic, partition), segments)| {
            let mut segments: Vec<_> = segments.iter().collect();
            segments.sort_by_key(|(_, segment)| segment.start_offset);
            segments.into_iter().map(move |(id, segment)| (topic, *partition, id, segment))
        })
    }
}

impl RemoteSegment {
    /// Kafka's name of the state; none if it is a number that no known version has.
    pub fn state_name(&self) -> Option<&'static str> {
        STATES.get(usize::try_from(self.state).ok()?).copied()
    }

    fn read(topic: String, value: &Struct<'_>) -> Self {
        let int = |name| value.int(name).unwrap_or(-1);
        let epochs = value.get("segmentLeaderEpochs");
        let epochs = epochs.as_deref().and_then(Value::elements).unwrap_or_default();
        let epoch = |each: &Struct<'_>| Some((each.int("leaderEpoch")? as i32, each.int("offset")?));
        Self {
            topic,
            start_offset: int("startOffset"),
            end_offset: int("endOffset"),
            broker_id: int("brokerId") as i32,
            max_timestamp: int("maxTimestampMs"),
            event_timestamp: int("eventTimestampMs"),
            leader_epochs: epochs.iter().filter_map(Value::fields).filter_map(epoch).collect(),
            size: int("segmentSizeInBytes") as i32,
            custom_metadata: custom_metadata(value),
            state: int("remoteLogSegmentState") as i8,
        }
    }

    fn update(&mut self, value: &Struct<'_>) {
        let state = value.int("remoteLogSegmentState").unwrap_or(-1) as i8;
        let follows = matches!((self.state, state), (0, 1 | 2) | (1, 2) | (2, 3)) || self.state == state;
        if follows {
            self.state = state;
            self.broker_id = value.int("brokerId").unwrap_or(-1) as i32;
            self.event_timestamp = value.int("eventTimestampMs").unwrap_or(-1);
            self.custom_metadata = custom_metadata(value);
        }
    }
}

fn custom_metadata(value: &Struct<'_>) -> Option<Vec<u8>> {
    match value.get("customMetadata").as_deref() {
        Some(Value::Bytes(bytes)) => Some(bytes.to_vec()),
        _ => None,
    }
}

fn uuid(value: &Struct<'_>, name: &str) -> Option<Uuid> {
    match value.get(name).as_deref() {
        Some(Value::Uuid(id)) => Some(*id),
        _ => None,
    }
}

/// Reads a struct in a field.
fn with_struct<T>(value: &Struct<'_>, name: &str, read: impl Fn(&Struct<'_>) -> Option<T>) -> Option<T> {
    read(value.get(name)?.fields()?)
}

/// The topic's name, and the topic's id with the partition.
fn partition(value: &Struct<'_>) -> Option<(String, (Uuid, i32))> {
    let topic = value.text("name").map(Cow::into_owned)?;
    Some((topic, (uuid(value, "id")?, value.int("partition")? as i32)))
}

/// The topic's name, the partition and the segment's id.
fn segment_id(value: &Struct<'_>) -> Option<(String, (Uuid, i32), Uuid)> {
    with_struct(value, "remoteLogSegmentId", |id| {
        let (topic, partition) = with_struct(id, "topicIdPartition", partition)?;
        Some((topic, partition, uuid(id, "id")?))
    })
}
