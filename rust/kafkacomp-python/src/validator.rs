//! `kafkacomp.broker`: the validation of record sets by a broker.

use kafkacomp_broker::profile::{self, Append, Broker};
use kafkacomp_broker::validator::{
    self, AnalyzeOptions, AppendOrigin, BrokerCompressionType, InterBrokerProtocolVersion, RecordError, ValidatorConfig,
};
use kafkacomp_records::compress::CompressionType;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::bytes::bytes;
use crate::encode::{Level, compression};
use crate::enums::{self, compression_type_for_id, timestamp_type_for_id};
use crate::error::{of_kind, to_py};
use crate::input::detached;
use crate::shared::Shared;
use crate::value::PackageClass;

static RECORD_ERROR: PackageClass = PackageClass::new("kafkacomp.exceptions", "RecordError");
static VALIDATION_RESULT: PackageClass = PackageClass::new("kafkacomp.broker._validator", "ValidationResult");
static RECORD_VALIDATION_STATS: PackageClass =
    PackageClass::new("kafkacomp.broker._validator", "RecordValidationStats");
static LOG_APPEND_INFO: PackageClass = PackageClass::new("kafkacomp.broker._validator", "LogAppendInfo");

/// `kafkacomp.broker.ValidatorConfig`, which has checked its fields.
#[derive(FromPyObject)]
struct Settings {
    source_compression_type: u8,
    target_compression_type: Target,
    compression_level: Option<Level>,
    compacted: bool,
    to_magic: i8,
    timestamp_type: i8,
    timestamp_before_max_ms: i64,
    timestamp_after_max_ms: i64,
    partition_leader_epoch: i32,
    origin: u8,
    inter_broker_protocol_version: Option<String>,
    max_decompressed_message_bytes: i32,
    max_output_size: usize,
}

/// A codec's id, or the member `PRODUCER` of `kafkacomp.broker.BrokerCompressionType`.
#[derive(FromPyObject)]
enum Target {
    Codec(u8),
    Broker { value: String },
}

impl Target {
    /// The compression type that a broker stores for records with `source`.
    fn of(&self, source: CompressionType) -> PyResult<CompressionType> {
        match self {
            Self::Codec(id) => compression_type_for_id(*id),
            Self::Broker { value } => Ok(broker_compression_type(value)?.target_compression_type(source)),
        }
    }
}

fn broker_compression_type(value: &str) -> PyResult<BrokerCompressionType> {
    BrokerCompressionType::for_config(value).ok_or_else(|| {
        let expected = "uncompressed, zstd, lz4, snappy, gzip, producer";
        PyValueError::new_err(format!("compression.type must be one of {expected}, not {value:?}"))
    })
}

fn append_origin(id: u8) -> PyResult<AppendOrigin> {
    AppendOrigin::for_id(id).ok_or_else(|| PyValueError::new_err(format!("unknown append origin: {id}")))
}

fn version(text: &str) -> PyResult<InterBrokerProtocolVersion> {
    InterBrokerProtocolVersion::parse(text)
        .ok_or_else(|| PyValueError::new_err(format!("invalid inter_broker_protocol_version {text:?}")))
}

impl Settings {
    fn config(self) -> PyResult<ValidatorConfig> {
        let source = compression_type_for_id(self.source_compression_type)?;
        let target_compression = compression(self.target_compression_type.of(source)?, self.compression_level)?;
        Ok(ValidatorConfig {
            compacted: self.compacted,
            to_magic: self.to_magic,
            timestamp_type: timestamp_type_for_id(self.timestamp_type)?,
            timestamp_before_max_ms: self.timestamp_before_max_ms,
            timestamp_after_max_ms: self.timestamp_after_max_ms,
            partition_leader_epoch: self.partition_leader_epoch,
            origin: append_origin(self.origin)?,
            inter_broker_protocol_version: self.inter_broker_protocol_version.as_deref().map(version).transpose()?,
            max_decompressed_message_bytes: self.max_decompressed_message_bytes,
            max_output_size: self.max_output_size,
            ..ValidatorConfig::new(source, target_compression)
        })
    }
}

/// The validator of a topic; `kafkacomp.broker.LogValidator` is the public one.
#[pyclass(frozen, module = "kafkacomp._kafkacomp")]
pub struct Validator {
    inner: Shared<validator::LogValidator>,
}

#[pymethods]
impl Validator {
    #[new]
    fn new(config: Settings) -> PyResult<Self> {
        Ok(Self { inner: Shared::new(validator::LogValidator::new(config.config()?)) })
    }

    /// A `ValidationResult`: the records to store, with their offsets and times.
    fn validate<'py>(&self, records: &Bound<'py, PyAny>, offset: i64, now: i64) -> PyResult<Bound<'py, PyAny>> {
        let py = records.py();
        let validated =
            detached("records", records, |records| PyResult::Ok(self.inner.lock()?.validate(records, offset, now)))??;
        let (result, stored) = validated.map_err(|error| refusal_to_py(py, &error))?;
        let stats = result.record_validation_stats;
        let stats = RECORD_VALIDATION_STATS.make(py, (stats.temporary_memory_bytes, stats.num_records_converted))?;
        let fields = (
            bytes(py, &stored)?,
            result.max_timestamp_ms,
            result.log_append_time_ms,
            result.next_offset,
            result.message_size_maybe_changed,
            stats,
        );
        VALIDATION_RESULT.make(py, fields)
    }
}

/// The pass over batch headers, as a `LogAppendInfo`. Without `max_message_size` batches may have any size.
#[pyfunction]
pub fn analyze_and_validate_records<'py>(
    records: &Bound<'py, PyAny>,
    origin: u8,
    require_offsets_monotonic: bool,
    leader_epoch: i32,
    max_message_size: Option<i32>,
    max_output_size: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let py = records.py();
    let options = AnalyzeOptions {
        origin: append_origin(origin)?,
        require_offsets_monotonic,
        leader_epoch,
        max_message_size,
        max_output_size,
    };
    let info = detached("records", records, |records| validator::analyze_and_validate_records(records, &options))?;
    let info = info.map_err(|error| refusal_to_py(py, &error))?;
    let fields = (
        info.first_offset,
        info.last_offset,
        info.last_offset_of_first_batch,
        info.last_leader_epoch,
        info.max_timestamp,
        enums::compression_type(py, info.source_compression)?,
        info.valid_bytes,
    );
    LOG_APPEND_INFO.make(py, fields)
}

/// The settings of `kafkacomp.broker.BrokerProfile.append`, which has checked them: an object with these attributes.
#[derive(FromPyObject)]
pub struct TopicSettings {
    compression_type: String,
    compacted: bool,
    message_format: Option<i8>,
    timestamp_type: i8,
    timestamp_before_max_ms: i64,
    timestamp_after_max_ms: i64,
    max_message_size: i32,
    max_decompressed_message_bytes: i32,
    offset: i64,
    now: i64,
    partition_leader_epoch: i32,
    produce_version: Option<i16>,
    max_output_size: usize,
}

impl TopicSettings {
    fn append(self) -> PyResult<Append> {
        let compression_type = broker_compression_type(&self.compression_type)?;
        Ok(Append {
            compression_type,
            compacted: self.compacted,
            message_format: self.message_format,
            timestamp_type: timestamp_type_for_id(self.timestamp_type)?,
            timestamp_before_max_ms: self.timestamp_before_max_ms,
            timestamp_after_max_ms: self.timestamp_after_max_ms,
            max_message_size: self.max_message_size,
            max_decompressed_message_bytes: self.max_decompressed_message_bytes,
            offset: self.offset,
            now: self.now,
            partition_leader_epoch: self.partition_leader_epoch,
            produce_version: self.produce_version,
            max_output_size: self.max_output_size,
        })
    }
}

/// The records that the broker of this version stores. An exception has its error code as `error_code`, which is None if the broker
/// closes the connection.
#[pyfunction]
pub fn profile_append<'py>(
    broker: &str,
    topic: TopicSettings,
    records: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyBytes>> {
    let py = records.py();
    let broker =
        Broker::for_name(broker).ok_or_else(|| PyValueError::new_err(format!("unknown broker version: {broker:?}")))?;
    let settings = topic.append()?;
    let stored =
        detached("records", records, |records| profile::append(broker, &settings, records))?.map_err(|refusal| {
            let exception = refusal_to_py(py, &refusal.error);
            drop(exception.value(py).setattr("error_code", refusal.error_code));
            exception
        })?;
    bytes(py, &stored)
}

/// The versions of brokers that have a profile.
#[pyfunction]
pub fn profile_names() -> Vec<&'static str> {
    Broker::ALL.iter().map(|broker| broker.name()).collect()
}

/// The version whose profile is used for this one; `None` if there is no profile.
#[pyfunction]
pub fn profile_name(version: &str) -> Option<&'static str> {
    Broker::for_name(version).map(Broker::name)
}

/// The exception for a record set that is not appended; refused records are its `record_errors`.
fn refusal_to_py(py: Python<'_>, error: &kafkacomp_broker::Error) -> PyErr {
    match error {
        kafkacomp_broker::Error::Record(_) | kafkacomp_broker::Error::Codec(_) => to_py(py, error, None),
        kafkacomp_broker::Error::Refused { position, fault } => {
            let exception = of_kind(fault.kind(), error.to_string());
            let value = exception.value(py);
            drop(value.setattr("position", position));
            let errors = fault.record_errors();
            if !errors.is_empty() {
                drop(record_errors(py, errors).and_then(|errors| value.setattr("record_errors", errors)));
            }
            exception
        }
    }
}

/// Refused records as a tuple of `RecordError`.
fn record_errors<'py>(py: Python<'py>, errors: &[RecordError]) -> PyResult<Bound<'py, PyTuple>> {
    let made: PyResult<Vec<_>> =
        errors.iter().map(|error| RECORD_ERROR.make(py, (error.batch_index, error.message()))).collect();
    PyTuple::new(py, made?)
}
