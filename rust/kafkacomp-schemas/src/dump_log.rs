//! Keys and values as `kafka-dump-log` 4.3 prints them with the decoder of the topic.
//!
//! Differences: a reason why a record cannot be decoded is in words of this crate, unless its type is unknown.

use crate::consumer_protocol::{assignment, subscription};
use crate::fault::Unknown;
use crate::json;
use crate::record::Decoded;
use crate::remote_segments::STATES;
use crate::topic::Topic;
use crate::value::{Message, Struct, Value};
use std::fmt::Write;

/// Kafka's `RemotePartitionDeleteState`.
const DELETE_STATES: [&str; 3] = ["DELETE_PARTITION_MARKED", "DELETE_PARTITION_STARTED", "DELETE_PARTITION_FINISHED"];

/// The texts after `key:` and `payload:`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The key; none where it is not printed.
    pub key: Option<String>,
    /// The value; none where it is not printed.
    pub payload: Option<String>,
}

/// The texts of a record of a topic at an offset. Control records have none: `kafka-dump-log` prints them without a decoder.
pub fn line(topic: Topic, offset: i64, record: &Decoded<'_>) -> Line {
    let is_keyed = !matches!(topic, Topic::ClusterMetadata | Topic::RemoteLogMetadata);
    match record {
        Decoded::Keyed { kind, key, value } => Line {
            key: Some(format!("{{\"type\":\"{}\",\"data\":{}}}", kind.id, json::object(&key.fields))),
            payload: Some(value.as_ref().map_or_else(|| "<DELETE>".to_owned(), |value| payload(&kind.name, value))),
        },
        Decoded::Framed { kind, value } => {
            let fields = &value.fields;
            let text = match kind.name.as_str() {
                "RemoteLogSegmentMetadataRecord" => remote_segment(fields),
                "RemoteLogSegmentMetadataUpdateRecord" => remote_update(fields),
                "RemotePartitionDeleteMetadataRecord" => remote_delete(fields),
                name => {
                    let data = json::object(fields);
                    format!("{{\"type\":\"{name}\",\"version\":{},\"data\":{data}}}", value.version)
                }
            };
            Line { key: None, payload: Some(text) }
        }
        Decoded::Control { .. } => Line { key: None, payload: None },
        Decoded::Unknown { reason: Unknown::Type(id), .. } if is_keyed => {
            Line { key: Some(format!("Unknown record type {id} at offset {offset}, skipping.")), payload: None }
        }
        Decoded::Unknown { reason, .. } if is_keyed => {
            Line { key: Some(format!("Error at offset {offset}, skipping. {reason}")), payload: None }
        }
        Decoded::Unknown { reason, .. } => {
            Line { key: None, payload: Some(format!("Error at {offset}, skipping. {reason}")) }
        }
    }
}

/// A value; the members of a consumer group with their subscriptions and assignments decoded.
fn payload(kind: &str, value: &Message<'_>) -> String {
    let is_consumer = value.fields.text("protocolType").as_deref() == Some("consumer");
    let data = if kind == "GroupMetadata" && is_consumer {
        let mut fields = value.fields.clone();
        if let Some(Value::Array(members)) = fields.value_mut("members") {
            for member in members {
                if let Value::Struct(member) = member {
                    decode(member, "subscription", subscription);
                    decode(member, "assignment", assignment);
                }
            }
        }
        json::object(&fields)
    } else {
        json::object(&value.fields)
    };
    format!("{{\"version\":\"{}\",\"data\":{data}}}", value.version)
}

/// Replaces bytes by what they mean, if they can be decoded.
fn decode<'a>(member: &mut Struct<'a>, name: &str, read: impl Fn(&'a [u8]) -> Result<Message<'a>, Unknown>) {
    if let Some(place) = member.value_mut(name)
        && let Value::Bytes(bytes) = *place
        && let Ok(message) = read(bytes)
    {
        *place = Value::Struct(message.fields);
    }
}

/// A uuid in a field.
fn uuid(fields: &Struct<'_>, name: &str) -> String {
    match fields.get(name).as_deref() {
        Some(Value::Uuid(id)) => json::uuid(id),
        _ => String::new(),
    }
}

/// What a function makes of a struct in a field; nothing if there is none.
fn of_struct(fields: &Struct<'_>, name: &str, print: impl Fn(&Struct<'_>) -> String) -> String {
    fields.get(name).as_deref().and_then(Value::fields).map(print).unwrap_or_default()
}

fn topic_id_partition(fields: &Struct<'_>) -> String {
    of_struct(fields, "topicIdPartition", |of| {
        let name = of.text("name").unwrap_or_default();
        format!("{}:{name}-{}", uuid(of, "id"), of.int("partition").unwrap_or(-1))
    })
}

fn segment_id(fields: &Struct<'_>) -> String {
    of_struct(fields, "remoteLogSegmentId", |id| {
        format!("RemoteLogSegmentId{{topicIdPartition={}, id={}}}", topic_id_partition(id), uuid(id, "id"))
    })
}

fn custom_metadata(fields: &Struct<'_>) -> String {
    match fields.get("customMetadata").as_deref() {
        Some(Value::Bytes(bytes)) => format!("Optional[CustomMetadata{{{} bytes}}]", bytes.len()),
        _ => "Optional.empty".to_owned(),
    }
}

fn name_of(names: &[&str], fields: &Struct<'_>, field: &str) -> String {
    let id = fields.int(field).unwrap_or(-1);
    let name = usize::try_from(id).ok().and_then(|at| names.get(at));
    name.map_or_else(|| id.to_string(), |name| (*name).to_owned())
}

fn remote_segment(fields: &Struct<'_>) -> String {
    let int = |name| fields.int(name).unwrap_or(-1);
    let epochs = fields.get("segmentLeaderEpochs");
    let epochs = epochs.as_deref().and_then(Value::elements).unwrap_or_default().iter().filter_map(Value::fields);
    let mut epochs: Vec<_> = epochs.filter_map(|each| Some((each.int("leaderEpoch")?, each.int("offset")?))).collect();
    epochs.sort_unstable();
    let epochs: Vec<_> = epochs.iter().map(|(epoch, offset)| format!("{epoch}={offset}")).collect();
    let is_empty = matches!(fields.get("txnIndexEmpty").as_deref(), Some(Value::Bool(true)));
    let mut text = format!(
        "RemoteLogSegmentMetadata{{remoteLogSegmentId={}, startOffset={}, endOffset={}, brokerId={}, \
         maxTimestampMs={}, eventTimestampMs={}, ",
        segment_id(fields),
        int("startOffset"),
        int("endOffset"),
        int("brokerId"),
        int("maxTimestampMs"),
        int("eventTimestampMs"),
    );
    // Writing to a string does not fail.
    let _ = write!(
        text,
        "segmentLeaderEpochs={{{}}}, segmentSizeInBytes={}, customMetadata={}, state={}, txnIdxEmpty={is_empty}}}",
        epochs.join(", "),
        int("segmentSizeInBytes"),
        custom_metadata(fields),
        name_of(&STATES, fields, "remoteLogSegmentState"),
    );
    text
}

fn remote_update(fields: &Struct<'_>) -> String {
    format!(
        "RemoteLogSegmentMetadataUpdate{{remoteLogSegmentId={}, customMetadata={}, state={}, eventTimestampMs={}, \
         brokerId={}}}",
        segment_id(fields),
        custom_metadata(fields),
        name_of(&STATES, fields, "remoteLogSegmentState"),
        fields.int("eventTimestampMs").unwrap_or(-1),
        fields.int("brokerId").unwrap_or(-1),
    )
}

fn remote_delete(fields: &Struct<'_>) -> String {
    format!(
        "RemotePartitionDeleteMetadata{{topicPartition={}, state={}, eventTimestampMs={}, brokerId={}}}",
        topic_id_partition(fields),
        name_of(&DELETE_STATES, fields, "remotePartitionDeleteState"),
        fields.int("eventTimestampMs").unwrap_or(-1),
        fields.int("brokerId").unwrap_or(-1),
    )
}
