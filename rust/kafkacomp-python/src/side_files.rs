//! The files next to segments: `kafkacomp.log.read_offset_index` and similar functions.

use kafkacomp_log::{OffsetIndex, PartitionMetadata, ProducerSnapshot, TimeIndex, TransactionIndex};
use kafkacomp_records::memory;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use crate::error::to_py;
use crate::input::detached;
use crate::segment::Name;
use crate::value::{PackageClass, list};

static OFFSET_POSITION: PackageClass = PackageClass::new("kafkacomp._entries", "OffsetPosition");
static TIMESTAMP_OFFSET: PackageClass = PackageClass::new("kafkacomp._entries", "TimestampOffset");
static ABORTED_TXN: PackageClass = PackageClass::new("kafkacomp._entries", "AbortedTxn");
static PRODUCER_ENTRY: PackageClass = PackageClass::new("kafkacomp._entries", "ProducerEntry");
static LEADER_EPOCH_ENTRY: PackageClass = PackageClass::new("kafkacomp._entries", "LeaderEpochEntry");
static OFFSET_CHECKPOINT_ENTRY: PackageClass = PackageClass::new("kafkacomp._entries", "OffsetCheckpointEntry");
static PARTITION_METADATA: PackageClass = PackageClass::new("kafkacomp._entries", "PartitionMetadata");

/// A list for Python.
type Objects<'py> = PyResult<Bound<'py, PyList>>;

/// Runs `read` with the GIL released; `name` is the file in errors.
fn parsed<T: Send>(
    data: &Bound<'_, PyAny>,
    name: Option<Name>,
    read: impl FnOnce(&[u8]) -> Result<T, kafkacomp_log::ContentError> + Send,
) -> PyResult<T> {
    let name = name.map(Name::into_string);
    detached("source", data, read)?.map_err(|error| to_py(data.py(), &error, name.as_deref()))
}

/// The entries of a file as objects of `class`, made from their `fields`.
fn entries<'py, T, F>(
    data: &Bound<'py, PyAny>,
    name: Option<Name>,
    class: &PackageClass,
    read: impl FnOnce(&[u8]) -> Result<Vec<T>, kafkacomp_log::ContentError> + Send,
    fields: impl Fn(T) -> F,
) -> PyResult<Bound<'py, PyList>>
where
    T: Send,
    F: IntoPyObject<'py, Target = PyTuple, Output = Bound<'py, PyTuple>>,
    PyErr: From<F::Error>,
{
    let py = data.py();
    let found = parsed(data, name, read)?;
    list(py, found.into_iter().map(|entry| class.make(py, fields(entry))))
}

/// `OffsetPosition` objects.
#[pyfunction]
pub fn read_offset_index<'py>(data: &Bound<'py, PyAny>, base_offset: i64, name: Option<Name>) -> Objects<'py> {
    let read = |data: &[u8]| Ok(memory::collect(OffsetIndex::parse(data, base_offset)?.iter())?);
    entries(data, name, &OFFSET_POSITION, read, |entry| (entry.offset, entry.position))
}

/// `TimestampOffset` objects.
#[pyfunction]
pub fn read_time_index<'py>(data: &Bound<'py, PyAny>, base_offset: i64, name: Option<Name>) -> Objects<'py> {
    let read = |data: &[u8]| Ok(memory::collect(TimeIndex::parse(data, base_offset)?.iter())?);
    entries(data, name, &TIMESTAMP_OFFSET, read, |entry| (entry.timestamp, entry.offset))
}

/// `AbortedTxn` objects.
#[pyfunction]
pub fn read_transaction_index<'py>(data: &Bound<'py, PyAny>, base_offset: i64, name: Option<Name>) -> Objects<'py> {
    let read = |data: &[u8]| Ok(memory::collect(TransactionIndex::parse(data, base_offset)?.iter())?);
    let fields =
        |t: kafkacomp_log::AbortedTxn| (t.version, t.producer_id, t.first_offset, t.last_offset, t.last_stable_offset);
    entries(data, name, &ABORTED_TXN, read, fields)
}

/// `ProducerEntry` objects.
#[pyfunction]
pub fn read_producer_snapshot<'py>(data: &Bound<'py, PyAny>, name: Option<Name>) -> Objects<'py> {
    let fields = |entry: kafkacomp_log::ProducerEntry| {
        (
            entry.producer_id,
            entry.epoch,
            entry.last_sequence,
            entry.last_offset,
            entry.offset_delta,
            entry.timestamp,
            entry.coordinator_epoch,
            entry.open_transaction(),
            entry.first_sequence(),
        )
    };
    entries(data, name, &PRODUCER_ENTRY, |data| Ok(ProducerSnapshot::parse(data)?.producers), fields)
}

/// `LeaderEpochEntry` objects.
#[pyfunction]
pub fn read_leader_epoch_checkpoint<'py>(data: &Bound<'py, PyAny>, name: Option<Name>) -> Objects<'py> {
    let fields = |entry: kafkacomp_log::LeaderEpochEntry| (entry.epoch, entry.start_offset);
    entries(data, name, &LEADER_EPOCH_ENTRY, kafkacomp_log::read_leader_epoch_checkpoint, fields)
}

/// `OffsetCheckpointEntry` objects.
#[pyfunction]
pub fn read_offset_checkpoint<'py>(data: &Bound<'py, PyAny>, name: Option<Name>) -> Objects<'py> {
    let fields = |entry: kafkacomp_log::OffsetCheckpointEntry| (entry.topic, entry.partition, entry.offset);
    entries(data, name, &OFFSET_CHECKPOINT_ENTRY, kafkacomp_log::read_offset_checkpoint, fields)
}

/// A `PartitionMetadata`.
#[pyfunction]
pub fn read_partition_metadata<'py>(data: &Bound<'py, PyAny>, name: Option<Name>) -> PyResult<Bound<'py, PyAny>> {
    let metadata = parsed(data, name, PartitionMetadata::parse)?;
    PARTITION_METADATA.make(data.py(), (metadata.version, metadata.topic_id.to_string()))
}
