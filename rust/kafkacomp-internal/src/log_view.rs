//! The view of the log: a row for each record, with columns of the topic and the JSON of key and value.

use crate::query::Table;
use crate::row::Row;
use crate::table::{Cell, ColumnOf, Kind, Rows, time};
use arrow_schema::ArrowError;
use kafkacomp_schemas::json::{self, Producer};
use kafkacomp_schemas::remote_segments::STATES;
use kafkacomp_schemas::transactions::STATUSES;
use kafkacomp_schemas::{Decoded, Message, Struct, Value, secrets};
use std::borrow::Cow;

/// The columns of all topics, in front of those of the topic.
const FIRST: &[ColumnOf] = &[
    ("recordPartition", Kind::Int32),
    ("recordOffset", Kind::Int64),
    ("recordTimestamp", Kind::Time),
    ("batchProducerId", Kind::Int64),
    ("batchProducerEpoch", Kind::Int16),
    ("isTransactional", Kind::Bool),
    ("isControl", Kind::Bool),
    ("type", Kind::Text),
];
/// The columns of all topics after those of the topic.
const LAST: &[ColumnOf] = &[
    ("key", Kind::Text),
    ("valueVersion", Kind::Int16),
    ("value", Kind::Text),
    ("reason", Kind::Text),
    ("keyBytes", Kind::Bytes),
    ("valueBytes", Kind::Bytes),
];

/// Where a column of a topic is from: fields of the key or of the value, with those of structs after a dot. The first one that is there
/// counts.
#[derive(Debug, Clone, Copy)]
enum Place {
    Key(&'static [&'static str]),
    Value(&'static [&'static str]),
    /// A number in the value, shown as the name at its place.
    Named(&'static str, &'static [&'static str]),
}
use Place::{Key, Named, Value as InValue};

type TopicColumn = (&'static str, Kind, Place);

const GROUPS: &[TopicColumn] = &[
    ("groupId", Kind::Text, Key(&["group", "groupId"])),
    ("memberId", Kind::Text, Key(&["memberId"])),
    ("topic", Kind::Text, Key(&["topic"])),
    ("partition", Kind::Int32, Key(&["partition"])),
    ("topicId", Kind::Text, InValue(&["topicId"])),
    ("committedOffset", Kind::Int64, InValue(&["offset"])),
    ("leaderEpoch", Kind::Int32, InValue(&["leaderEpoch"])),
    ("metadata", Kind::Text, InValue(&["metadata"])),
    ("commitTimestamp", Kind::Time, InValue(&["commitTimestamp"])),
    ("expireTimestamp", Kind::Time, InValue(&["expireTimestamp"])),
];
const TRANSACTIONS: &[TopicColumn] = &[
    ("transactionalId", Kind::Text, Key(&["transactionalId"])),
    ("producerId", Kind::Int64, InValue(&["producerId"])),
    ("producerEpoch", Kind::Int16, InValue(&["producerEpoch"])),
    ("state", Kind::Text, Named("transactionStatus", &STATUSES)),
    ("timeoutMs", Kind::Int32, InValue(&["transactionTimeoutMs"])),
    ("startTimestamp", Kind::Time, InValue(&["transactionStartTimestampMs"])),
    ("lastUpdateTimestamp", Kind::Time, InValue(&["transactionLastUpdateTimestampMs"])),
];
const SHARE: &[TopicColumn] = &[
    ("groupId", Kind::Text, Key(&["groupId"])),
    ("topicId", Kind::Text, Key(&["topicId"])),
    ("partition", Kind::Int32, Key(&["partition"])),
    ("startOffset", Kind::Int64, InValue(&["startOffset"])),
    ("stateEpoch", Kind::Int32, InValue(&["stateEpoch"])),
    ("leaderEpoch", Kind::Int32, InValue(&["leaderEpoch"])),
    ("snapshotEpoch", Kind::Int32, InValue(&["snapshotEpoch"])),
];
const REMOTE: &[TopicColumn] = &[
    ("topic", Kind::Text, InValue(&["remoteLogSegmentId.topicIdPartition.name", "topicIdPartition.name"])),
    ("topicId", Kind::Text, InValue(&["remoteLogSegmentId.topicIdPartition.id", "topicIdPartition.id"])),
    (
        "partition",
        Kind::Int32,
        InValue(&["remoteLogSegmentId.topicIdPartition.partition", "topicIdPartition.partition"]),
    ),
    ("segmentId", Kind::Text, InValue(&["remoteLogSegmentId.id"])),
    ("state", Kind::Text, Named("remoteLogSegmentState", &STATES)),
    ("startOffset", Kind::Int64, InValue(&["startOffset"])),
    ("endOffset", Kind::Int64, InValue(&["endOffset"])),
    ("size", Kind::Int32, InValue(&["segmentSizeInBytes"])),
    ("brokerId", Kind::Int32, InValue(&["brokerId"])),
    ("eventTimestamp", Kind::Time, InValue(&["eventTimestampMs"])),
];
const CLUSTER: &[TopicColumn] = &[
    ("name", Kind::Text, InValue(&["name"])),
    ("topicId", Kind::Text, InValue(&["topicId"])),
    ("partition", Kind::Int32, InValue(&["partitionId"])),
    ("brokerId", Kind::Int32, InValue(&["brokerId"])),
    ("resourceName", Kind::Text, InValue(&["resourceName"])),
];

fn of_topic(table: Table) -> &'static [TopicColumn] {
    match table {
        Table::ConsumerOffsets | Table::Groups => GROUPS,
        Table::Transactions => TRANSACTIONS,
        Table::ShareGroupState => SHARE,
        Table::RemoteLogMetadata => REMOTE,
        Table::ClusterMetadata => CLUSTER,
    }
}

/// The columns of the view of a table.
pub(crate) fn columns(table: Table) -> Vec<ColumnOf> {
    let own = of_topic(table).iter().map(|(name, kind, _)| (*name, *kind));
    FIRST.iter().copied().chain(own).chain(LAST.iter().copied()).collect()
}

/// Appends the row of a record.
pub(crate) fn push(table: Table, show_secrets: bool, row: Row<'_>, rows: &mut Rows) -> Result<(), ArrowError> {
    let mut record = row.decode(table.topic());
    if !show_secrets {
        secrets::hide(&mut record, table == Table::ClusterMetadata);
    }
    if table == Table::Groups && !is_of_group(&record) {
        return Ok(());
    }
    let (name, key, value) = match &record {
        Decoded::Keyed { kind, key, value } => (Some(kind.name.as_str()), Some(key), value.as_ref()),
        Decoded::Framed { kind, value } => (Some(kind.name.as_str()), None, Some(value)),
        Decoded::Control { name, value, .. } => (Some(*name), None, Some(value)),
        Decoded::Unknown { .. } => (None, None, None),
    };
    let producer = row.origin.producer;
    let mut cells = vec![
        row.partition.into(),
        row.origin.offset.into(),
        time(row.origin.timestamp),
        producer.map(|Producer { id, .. }| id).into(),
        producer.map(|Producer { epoch, .. }| epoch).into(),
        producer.map(|Producer { is_transactional, .. }| is_transactional).into(),
        row.is_control.into(),
        name.into(),
    ];
    let (of_key, of_value) = if row.is_control { (None, None) } else { (key, value) };
    cells.extend(of_topic(table).iter().map(|(_, kind, from)| cell(*kind, *from, of_key, of_value)));
    let json = |message: Option<&Message<'_>>| message.map(|message| json::object(&message.fields));
    cells.extend([Cell::from(json(key)), value.map(|value| value.version).into(), json(value).into()]);
    if let Decoded::Unknown { key, value, reason } = &record {
        let bytes = |bytes: Option<_>| bytes.map_or(Cell::Null, Cell::Bytes);
        cells.extend([Cell::from(reason.to_string()), bytes(*key), bytes(*value)]);
    } else {
        cells.extend([Cell::Null, Cell::Null, Cell::Null]);
    }
    rows.push(&cells)
}

/// Whether a record of `__consumer_offsets` is about a group and not about one of its offsets.
fn is_of_group(record: &Decoded<'_>) -> bool {
    match record {
        Decoded::Keyed { kind, .. } => !matches!(kind.name.as_str(), "OffsetCommit" | "LegacyOffsetCommit"),
        Decoded::Unknown { .. } => true,
        Decoded::Framed { .. } | Decoded::Control { .. } => false,
    }
}

/// The cell of a column. Negative times and epochs of -1 are null.
fn cell<'a>(kind: Kind, from: Place, key: Option<&Message<'a>>, value: Option<&Message<'a>>) -> Cell<'a> {
    let (message, paths, names): (_, &[&str], _) = match &from {
        Key(paths) => (key, *paths, None),
        InValue(paths) => (value, *paths, None),
        Named(path, names) => (value, std::slice::from_ref(path), Some(*names)),
    };
    let Some(message) = message else { return Cell::Null };
    let found = paths.iter().find_map(|path| at(&message.fields, path));
    match (found, kind, names) {
        (Some(Value::Text(bytes)), ..) => Cell::Text(text(bytes)),
        (Some(Value::Uuid(id)), ..) if id != [0; 16] => json::uuid(&id).into(),
        (Some(value), _, Some(names)) => {
            let name = value.int().and_then(|id| usize::try_from(id).ok()).and_then(|id| names.get(id));
            name.map_or(Cell::Null, |name| Cell::from(*name))
        }
        (Some(value), Kind::Time, _) => value.int().map_or(Cell::Null, time),
        (Some(value), ..) => value.int().into(),
        (None, ..) => Cell::Null,
    }
}

fn text(bytes: &[u8]) -> Cow<'_, str> {
    Value::Text(bytes).text().unwrap_or_default()
}

/// The value at a path.
fn at<'a>(fields: &Struct<'a>, path: &str) -> Option<Value<'a>> {
    match path.split_once('.') {
        Some((first, rest)) => at(fields.get(first)?.fields()?, rest),
        None => fields.get(path).map(Cow::into_owned),
    }
}
