//! The records of an Arrow batch of a scan.

use crate::as_of::At;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int8Type, Int16Type, Int32Type, Int64Type};
use arrow_array::{Array, RecordBatch};
use kafkacomp_arrow::{BinaryType, Column, ScanOptions};
use kafkacomp_schemas::json::{Origin, Producer};
use kafkacomp_schemas::{Decoded, Topic, decode_control};

/// The columns of the scan.
const COLUMNS: [Column; 11] = [
    Column::Key,
    Column::Value,
    Column::Topic,
    Column::Partition,
    Column::Offset,
    Column::Timestamp,
    Column::ProducerId,
    Column::ProducerEpoch,
    Column::IsTransactional,
    Column::IsControl,
    Column::Magic,
];
/// The first message format with producers.
const MAGIC_WITH_PRODUCER: i8 = 2;

/// The options of a scan whose batches [`for_each`] takes.
#[allow(clippy::needless_pass_by_value, reason = "only its columns are replaced")]
pub(crate) fn options(options: ScanOptions) -> ScanOptions {
    ScanOptions {
        columns: COLUMNS.to_vec(),
        include_control: true,
        timestamp_unit: None,
        binary_type: BinaryType::BinaryView,
        ..options
    }
}

/// A record of an internal topic.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row<'a> {
    /// The topic as the scan has it; the name of a snapshot's file.
    pub topic: &'a str,
    pub partition: i32,
    pub origin: Origin,
    pub is_control: bool,
    pub key: Option<&'a [u8]>,
    pub value: Option<&'a [u8]>,
}

impl<'a> Row<'a> {
    /// Its place in time.
    pub(crate) fn at(&self) -> At {
        At { offset: self.origin.offset, timestamp: self.origin.timestamp }
    }

    pub(crate) fn decode(&self, topic: Topic) -> Decoded<'a> {
        if self.is_control { decode_control(self.key, self.value) } else { topic.decode(self.key, self.value) }
    }
}

/// Calls a function with each record of a batch, until it fails.
pub(crate) fn for_each<'a, E>(batch: &'a RecordBatch, mut each: impl FnMut(Row<'a>) -> Result<(), E>) -> Result<(), E> {
    let [key, value, topic, partition, offset, timestamp, id, epoch, transactional, control, magic] = batch.columns()
    else {
        return Ok(());
    };
    let (key, value, topic) = (key.as_binary_view(), value.as_binary_view(), topic.as_string::<i32>());
    let (partition, offset) = (partition.as_primitive::<Int32Type>(), offset.as_primitive::<Int64Type>());
    let timestamp = timestamp.as_primitive::<Int64Type>();
    let (id, epoch) = (id.as_primitive::<Int64Type>(), epoch.as_primitive::<Int16Type>());
    let (transactional, control, magic) =
        (transactional.as_boolean(), control.as_boolean(), magic.as_primitive::<Int8Type>());
    for at in 0..batch.num_rows() {
        let producer = (magic.value(at) >= MAGIC_WITH_PRODUCER).then(|| Producer {
            id: id.value(at),
            epoch: epoch.value(at),
            is_transactional: transactional.value(at),
        });
        let timestamp = if timestamp.is_null(at) { -1 } else { timestamp.value(at) };
        each(Row {
            topic: if topic.is_null(at) { "" } else { topic.value(at) },
            partition: if partition.is_null(at) { -1 } else { partition.value(at) },
            origin: Origin { offset: offset.value(at), timestamp, producer },
            is_control: control.value(at),
            key: key.is_valid(at).then(|| key.value(at)),
            value: value.is_valid(at).then(|| value.value(at)),
        })?;
    }
    Ok(())
}
