//! Chooses the topic and partition of each row, as Kafka's producers do.
//!
//! | row has | partition |
//! |---|---|
//! | a `partition` | this partition |
//! | a key | murmur2 of the key modulo the topic's partitions |
//! | neither | the current partition of the topic; after about a batch of bytes, the next one |
//!
//! For records without a key, producers choose the next partition at random (KIP-794). Here it is the following one, so that
//! the same rows always go to the same partitions.

use std::collections::HashMap;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, Int32Array, RecordBatch as ArrowRecordBatch};
use kafkacomp_records::record::partitioner::partition_for_key;

use super::bytes::Bytes;
use super::{BuildError, RecordColumns, find};
use crate::Column;

/// The longest topic name.
const MAX_NAME_LENGTH: usize = 249;

/// How rows are distributed.
#[derive(Debug, Clone, Default)]
pub struct Routing {
    /// The topic of all rows, which overrides the column.
    pub topic: Option<String>,
    /// The number of partitions of every topic; a `partition` that is not less is an error.
    pub partitions: Option<i32>,
    /// The known numbers of partitions of topics; other topics have one.
    pub known: HashMap<String, i32>,
    /// The first partition for rows without a key, modulo the number of partitions.
    pub start: u32,
}

/// A topic that rows were sent to.
#[derive(Debug)]
struct Topic {
    name: String,
    partitions: i32,
    present: i32,
    present_bytes: u64,
    targets: HashMap<i32, usize>,
}

/// Chooses the target of each row, and numbers the targets.
#[derive(Debug, Default)]
pub(super) struct Router {
    routing: Routing,
    /// The number of bytes of rows without a key that go to a partition before the next one is used.
    sticky_bytes: u64,
    names: HashMap<Box<str>, usize>,
    topics: Vec<Topic>,
    targets: Vec<(String, i32)>,
}

/// The columns that determine the target of a row.
pub(super) struct RouteColumns<'a> {
    topic: Option<Bytes<'a>>,
    partition: Option<&'a Int32Array>,
}

impl<'a> RouteColumns<'a> {
    /// # Errors
    /// A column has an unsupported type, or occurs twice.
    pub(super) fn new(rows: &'a ArrowRecordBatch) -> Result<Self, BuildError> {
        let wrong = |column, array: &dyn Array| BuildError::ColumnType { column, data_type: array.data_type().clone() };
        let topic = find(rows, Column::Topic)?
            .map(|array| Bytes::of_strings(array).ok_or_else(|| wrong(Column::Topic, array)))
            .transpose()?;
        let partition = find(rows, Column::Partition)?
            .map(|array| array.as_primitive_opt::<Int32Type>().ok_or_else(|| wrong(Column::Partition, array)))
            .transpose()?;
        Ok(Self { topic, partition })
    }

    fn partition(&self, row: usize) -> Option<i32> {
        let column = self.partition.filter(|column| column.is_valid(row))?;
        column.values().get(row).copied()
    }
}

impl Router {
    pub(super) fn new(routing: Routing, sticky_bytes: u64) -> Self {
        Self { routing, sticky_bytes, ..Self::default() }
    }

    /// The topic and partition of a target.
    pub(super) fn target(&self, index: usize) -> Option<&(String, i32)> {
        self.targets.get(index)
    }

    /// The index of the row's target. A new target gets the next index.
    ///
    /// # Errors
    /// There is no topic, its name is invalid, or it does not have the partition.
    pub(super) fn place(
        &mut self,
        columns: &RecordColumns<'_>,
        routes: &RouteColumns<'_>,
        row: usize,
    ) -> Result<usize, BuildError> {
        let topic = self.topic(routes, row)?;
        let Some(state) = self.topics.get_mut(topic) else { return Err(BuildError::NoTopic { row }) };
        let partition = match (routes.partition(row), columns.key(row)) {
            (Some(partition), _) => {
                let most = self.routing.partitions.unwrap_or(i32::MAX);
                if !(0..most).contains(&partition) {
                    return Err(BuildError::PartitionRange { row, partition, partitions: self.routing.partitions });
                }
                partition
            }
            (None, Some(key)) => partition_for_key(key, state.partitions),
            (None, None) => state.stay(columns.value(row).map_or(0, <[u8]>::len), self.sticky_bytes),
        };
        if let Some(&index) = state.targets.get(&partition) {
            return Ok(index);
        }
        let index = self.targets.len();
        state.targets.insert(partition, index);
        self.targets.push((state.name.clone(), partition));
        Ok(index)
    }

    /// The index of the row's topic.
    fn topic(&mut self, routes: &RouteColumns<'_>, row: usize) -> Result<usize, BuildError> {
        let name = if let Some(name) = &self.routing.topic {
            name.as_str()
        } else {
            let found = routes.topic.and_then(|column| column.get(row)).ok_or(BuildError::NoTopic { row })?;
            std::str::from_utf8(found).map_err(|_| BuildError::NoTopic { row })?
        };
        if let Some(&index) = self.names.get(name) {
            return Ok(index);
        }
        if !is_topic_name(name) {
            return Err(BuildError::TopicName { row, topic: name.to_owned() });
        }
        let partitions = self.routing.partitions.or_else(|| self.routing.known.get(name).copied()).unwrap_or(1).max(1);
        let present = (self.routing.start % partitions as u32) as i32;
        let index = self.topics.len();
        self.names.insert(name.into(), index);
        self.topics.push(Topic {
            name: name.to_owned(),
            partitions,
            present,
            present_bytes: 0,
            targets: HashMap::new(),
        });
        Ok(index)
    }
}

impl Topic {
    /// The partition of a row without a key.
    fn stay(&mut self, size: usize, most: u64) -> i32 {
        if self.present_bytes > most {
            self.present_bytes = 0;
            self.present = self.present.saturating_add(1) % self.partitions;
        }
        // Lengths, timestamp and offset take about 8 bytes in a batch.
        self.present_bytes = self.present_bytes.saturating_add(size as u64).saturating_add(8);
        self.present
    }
}

/// Whether Kafka accepts the name of a topic.
fn is_topic_name(name: &str) -> bool {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    (1..=MAX_NAME_LENGTH).contains(&name.len()) && !matches!(name, "." | "..") && name.bytes().all(legal)
}
