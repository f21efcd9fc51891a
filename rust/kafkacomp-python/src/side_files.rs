//! The files next to segments: `kafkacomp.log.read_offset_index` and its siblings.

use kafkacomp_core::log::{self, OffsetIndex, PartitionMetadata, ProducerSnapshot, TimeIndex, TransactionIndex};
use kafkacomp_core::memory;
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::error::to_py;
use crate::input::bytes_like;
use crate::segment::Name;
use crate::value::{PackageClass, list};

static OFFSET_POSITION: PackageClass = PackageClass::new("kafkacomp._entries", "OffsetPosition");
static TIMESTAMP_OFFSET: PackageClass = PackageClass::new("kafkacomp._entries", "TimestampOffset");
static ABORTED_TXN: PackageClass = PackageClass::new("kafkacomp._entries", "AbortedTxn");
static PRODUCER_ENTRY: PackageClass = PackageClass::new("kafkacomp._entries", "ProducerEntry");
static LEADER_EPOCH_ENTRY: PackageClass = PackageClass::new("kafkacomp._entries", "LeaderEpochEntry");
static OFFSET_CHECKPOINT_ENTRY: PackageClass = PackageClass::new("kafkacomp._entries", "OffsetCheckpointEntry");
static PARTITION_METADATA: PackageClass = PackageClass::new("kafkacomp._entries", "PartitionMetadata");

/// What is returned to Python.
type Objects<'py> = PyResult<Bound<'py, PyList>>;

/// Runs `read` with the GIL free; `name` is the file that errors name.
fn parsed<T: Send>(
    data: &Bound<'_, PyAny>,
    name: Option<Name>,
    read: impl FnOnce(&[u8]) -> Result<T, log::ContentError> + Send,
) -> PyResult<T> {
    let py = data.py();
    let data = bytes_like(data)?;
    let name = name.map(Name::into_string);
    py.detach(|| read(&data)).map_err(|error| to_py(py, &error, name.as_deref()))
}

/// `OffsetPosition` objects.
#[pyfunction]
pub fn read_offset_index<'py>(data: &Bound<'py, PyAny>, base_offset: i64, name: Option<Name>) -> Objects<'py> {
    let read = |data: &[u8]| Ok(memory::collect(OffsetIndex::parse(data, base_offset)?.iter())?);
    let entries = parsed(data, name, read)?.into_iter();
    list(data.py(), entries.map(|entry| OFFSET_POSITION.make(data.py(), (entry.offset, entry.position))))
}

/// `TimestampOffset` objects.
#[pyfunction]
pub fn read_time_index<'py>(data: &Bound<'py, PyAny>, base_offset: i64, name: Option<Name>) -> Objects<'py> {
    let read = |data: &[u8]| Ok(memory::collect(TimeIndex::parse(data, base_offset)?.iter())?);
    let entries = parsed(data, name, read)?.into_iter();
    list(data.py(), entries.map(|entry| TIMESTAMP_OFFSET.make(data.py(), (entry.timestamp, entry.offset))))
}

/// `AbortedTxn` objects.
#[pyfunction]
pub fn read_transaction_index<'py>(data: &Bound<'py, PyAny>, base_offset: i64, name: Option<Name>) -> Objects<'py> {
    let read = |data: &[u8]| Ok(memory::collect(TransactionIndex::parse(data, base_offset)?.iter())?);
    let fields = |t: log::AbortedTxn| (t.version, t.producer_id, t.first_offset, t.last_offset, t.last_stable_offset);
    let entries = parsed(data, name, read)?.into_iter();
    list(data.py(), entries.map(|entry| ABORTED_TXN.make(data.py(), fields(entry))))
}

/// `ProducerEntry` objects.
#[pyfunction]
pub fn read_producer_snapshot<'py>(data: &Bound<'py, PyAny>, name: Option<Name>) -> Objects<'py> {
    let fields = |entry: &log::ProducerEntry| {
        (
            entry.producer_id,
            entry.epoch,
            entry.last_sequence,
            entry.last_offset,
            entry.offset_delta,
            entry.timestamp,
            entry.coordinator_epoch,
            (entry.current_txn_first_offset >= 0).then_some(entry.current_txn_first_offset),
            entry.first_sequence(),
        )
    };
    let snapshot = parsed(data, name, ProducerSnapshot::parse)?;
    list(data.py(), snapshot.producers.iter().map(|entry| PRODUCER_ENTRY.make(data.py(), fields(entry))))
}

/// `LeaderEpochEntry` objects.
#[pyfunction]
pub fn read_leader_epoch_checkpoint<'py>(data: &Bound<'py, PyAny>, name: Option<Name>) -> Objects<'py> {
    let entries = parsed(data, name, log::read_leader_epoch_checkpoint)?.into_iter();
    list(data.py(), entries.map(|entry| LEADER_EPOCH_ENTRY.make(data.py(), (entry.epoch, entry.start_offset))))
}

/// `OffsetCheckpointEntry` objects.
#[pyfunction]
pub fn read_offset_checkpoint<'py>(data: &Bound<'py, PyAny>, name: Option<Name>) -> Objects<'py> {
    let entries = parsed(data, name, log::read_offset_checkpoint)?.into_iter();
    let object = |each: log::OffsetCheckpointEntry| {
        OFFSET_CHECKPOINT_ENTRY.make(data.py(), (each.topic, each.partition, each.offset))
    };
    list(data.py(), entries.map(object))
}

/// A `PartitionMetadata`.
#[pyfunction]
pub fn read_partition_metadata<'py>(data: &Bound<'py, PyAny>, name: Option<Name>) -> PyResult<Bound<'py, PyAny>> {
    let metadata = parsed(data, name, PartitionMetadata::parse)?;
    PARTITION_METADATA.make(data.py(), (metadata.version, metadata.topic_id.to_string()))
}
