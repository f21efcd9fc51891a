//! Internal topics: tables for `kafkacomp.internal`, and records for `kafkacomp dump`.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use arrow_schema::SchemaRef;
use kafkacomp_arrow::source::watched::Watch;
use kafkacomp_arrow::{Closer, Partition, Scan, ScanOptions, ScanReport, Step};
use kafkacomp_internal::{AsOf, InternalScan, Query, Table, View};
use kafkacomp_schemas::{Decoded, Topic, decode_control, dump_log, json, secrets};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The question of a reader, which `kafkacomp.internal` has checked.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct QueryFields {
    table: String,
    view: String,
    as_of: Option<i64>,
    as_of_offset: Option<i64>,
    show_secrets: bool,
}

impl TryFrom<QueryFields> for Query {
    type Error = PyErr;

    fn try_from(fields: QueryFields) -> PyResult<Self> {
        let unknown = || PyValueError::new_err(format!("no view {:?} of {:?}", fields.view, fields.table));
        let table = Table::for_name(&fields.table).ok_or_else(unknown)?;
        let view = table.views().iter().find(|view| view.name() == fields.view).ok_or_else(unknown)?;
        let as_of = fields.as_of.map(AsOf::Time).or(fields.as_of_offset.map(AsOf::Offset));
        Ok(Self { table, view: *view, as_of, show_secrets: fields.show_secrets })
    }
}

/// What a reader reads: the records of a scan, or a table that is made of them.
pub enum Source {
    Records(Scan),
    Internal(InternalScan),
}

impl Source {
    pub fn new(
        query: Option<Query>,
        partitions: Vec<Partition>,
        options: ScanOptions,
        total_bytes: u64,
        interrupt: Arc<dyn Watch>,
    ) -> Self {
        match query {
            None => Self::Records(Scan::new(partitions, options, total_bytes).interruptible(interrupt)),
            Some(query) => {
                Self::Internal(InternalScan::new(query, partitions, options, total_bytes).interruptible(interrupt))
            }
        }
    }

    pub fn poll(&mut self, patience: Duration) -> Step {
        match self {
            Self::Records(scan) => scan.poll(patience),
            Self::Internal(scan) => scan.poll(patience),
        }
    }

    pub fn schema(&self) -> SchemaRef {
        match self {
            Self::Records(scan) => Arc::clone(scan.schema()),
            Self::Internal(scan) => Arc::clone(scan.schema()),
        }
    }

    pub fn report(&self) -> Arc<Mutex<ScanReport>> {
        match self {
            Self::Records(scan) => scan.report(),
            Self::Internal(scan) => scan.report(),
        }
    }

    pub fn closer(&self) -> Closer {
        match self {
            Self::Records(scan) => scan.closer(),
            Self::Internal(scan) => scan.closer(),
        }
    }
}

/// The tables of internal topics: name, topic and names of the views, the default first.
#[pyfunction]
pub fn internal_tables() -> Vec<(&'static str, &'static str, Vec<&'static str>)> {
    let views = |table: Table| table.views().iter().copied().map(View::name).collect();
    Table::ALL.into_iter().map(|table| (table.name(), table.topic().name(), views(table))).collect()
}

/// The topic of that name.
fn topic_of(name: &str) -> PyResult<Topic> {
    Topic::from_name(name).ok_or_else(|| PyValueError::new_err(format!("no decoder for the topic {name:?}")))
}

/// What `kafka-dump-log` prints after `key:` and after `payload:` with the decoder of the topic, each `None` if it prints nothing.
#[pyfunction]
pub fn internal_dump_line(
    topic: &str,
    offset: i64,
    key: Option<&[u8]>,
    value: Option<&[u8]>,
    show_secrets: bool,
) -> PyResult<(Option<String>, Option<String>)> {
    let topic = topic_of(topic)?;
    let mut record = topic.decode(key, value);
    if !show_secrets {
        secrets::hide(&mut record, topic == Topic::ClusterMetadata);
    }
    let line = dump_log::line(topic, offset, &record);
    Ok((line.key, line.payload))
}

/// A record of an internal topic as one JSON object in the form of Kafka's converters.
#[pyfunction]
pub fn internal_json(
    topic: &str,
    offset: i64,
    timestamp: i64,
    key: Option<&[u8]>,
    value: Option<&[u8]>,
    is_control: bool,
    show_secrets: bool,
) -> PyResult<String> {
    let topic = topic_of(topic)?;
    let mut record: Decoded<'_> = if is_control { decode_control(key, value) } else { topic.decode(key, value) };
    if !show_secrets {
        secrets::hide(&mut record, topic == Topic::ClusterMetadata);
    }
    Ok(json::line(json::Origin { offset, timestamp, producer: None }, &record))
}
