//! One mapping from the core's errors to the package's exceptions.

use std::fmt::Display;
use std::sync::Arc;

use kafkacomp_arrow::ScanError;
use kafkacomp_arrow::build::BuildError;
use kafkacomp_arrow::cells::{CellError, CellFault};
use kafkacomp_log::{ContentError, ReadError};
use kafkacomp_records::ErrorKind;
use kafkacomp_records::compress::{CodecError, CodecFault};
use kafkacomp_records::message_set::{self, MessageSetFault};
use kafkacomp_records::record::{self, BuildFault};
use pyo3::exceptions::{
    PyFileExistsError, PyMemoryError, PyOSError, PyOverflowError, PyRuntimeError, PyTypeError, PyValueError,
};
use pyo3::import_exception;
use pyo3::prelude::*;

use crate::file_object::Carried;
use crate::memory::out_of_memory;
use crate::process::Exiting;

import_exception!(kafkacomp.exceptions, KafkaCompError);
import_exception!(kafkacomp.exceptions, CompressionError);
import_exception!(kafkacomp.exceptions, DecompressionError);
import_exception!(kafkacomp.exceptions, TruncatedError);
import_exception!(kafkacomp.exceptions, OutputLimitError);
import_exception!(kafkacomp.exceptions, CorruptRecordError);
import_exception!(kafkacomp.exceptions, MessageSetError);
import_exception!(kafkacomp.exceptions, RecordTooLargeError);
import_exception!(kafkacomp.exceptions, InvalidRecordError);
import_exception!(kafkacomp.exceptions, UnsupportedCompressionTypeError);
import_exception!(kafkacomp.exceptions, InvalidTimestampError);
import_exception!(kafkacomp.exceptions, UnsupportedForMessageFormatError);
import_exception!(kafkacomp.exceptions, OffsetsOutOfOrderError);
import_exception!(kafkacomp.exceptions, UnknownServerError);

/// `errno` of a file that exists already.
const EEXIST: i32 = 17;
/// `errno` of an invalid argument, on all systems.
const EINVAL: i32 = 22;

/// The exception of the class for `kind`.
pub fn of_kind(kind: ErrorKind, message: String) -> PyErr {
    match kind {
        ErrorKind::Compression => CompressionError::new_err(message),
        ErrorKind::Decompression => DecompressionError::new_err(message),
        ErrorKind::Truncated => TruncatedError::new_err(message),
        ErrorKind::OutputLimit => OutputLimitError::new_err(message),
        ErrorKind::CorruptRecord => CorruptRecordError::new_err(message),
        ErrorKind::MessageSet(_) => MessageSetError::new_err(message),
        ErrorKind::RecordTooLarge => RecordTooLargeError::new_err(message),
        ErrorKind::InvalidRecord => InvalidRecordError::new_err(message),
        ErrorKind::InvalidTimestamp => InvalidTimestampError::new_err(message),
        ErrorKind::UnsupportedForMessageFormat => UnsupportedForMessageFormatError::new_err(message),
        ErrorKind::OffsetsOutOfOrder => OffsetsOutOfOrderError::new_err(message),
        ErrorKind::UnsupportedCompressionType => UnsupportedCompressionTypeError::new_err(message),
        ErrorKind::UnknownServer | ErrorKind::UnknownCompressionType | ErrorKind::Rebuild => {
            UnknownServerError::new_err(message)
        }
        ErrorKind::Io => PyOSError::new_err(message),
        ErrorKind::Exists => PyFileExistsError::new_err(message),
        ErrorKind::OutOfMemory => PyMemoryError::new_err(message),
    }
}

/// The properties of an error of any layer from which its exception is made.
pub trait Failure: Display {
    /// The kind, which decides the class.
    fn kind(&self) -> ErrorKind;
    /// The byte that the error names.
    fn position(&self) -> u64;
    /// The limit that was reached.
    fn output_limit(&self) -> Option<u64>;
    /// The error of the codec, which is the cause.
    fn codec(&self) -> Option<&CodecError>;
}

impl Failure for CodecError {
    fn kind(&self) -> ErrorKind {
        self.kind()
    }

    fn position(&self) -> u64 {
        self.position
    }

    fn output_limit(&self) -> Option<u64> {
        match self.fault {
            CodecFault::OutputLimit { limit } => Some(limit),
            _ => None,
        }
    }

    fn codec(&self) -> Option<&CodecError> {
        None
    }
}

impl Failure for record::Error {
    fn kind(&self) -> ErrorKind {
        self.kind()
    }

    fn position(&self) -> u64 {
        self.position()
    }

    fn output_limit(&self) -> Option<u64> {
        self.output_limit()
    }

    fn codec(&self) -> Option<&CodecError> {
        match self {
            Self::BatchCodec { source, .. } => Some(source),
            _ => None,
        }
    }
}

impl Failure for kafkacomp_broker::Error {
    fn kind(&self) -> ErrorKind {
        self.kind()
    }

    fn position(&self) -> u64 {
        self.position()
    }

    fn output_limit(&self) -> Option<u64> {
        match self {
            Self::Record(error) => error.output_limit(),
            Self::Codec(error) => error.output_limit(),
            Self::Refused { .. } => None,
        }
    }

    fn codec(&self) -> Option<&CodecError> {
        match self {
            Self::Record(error) => error.codec(),
            Self::Codec(_) | Self::Refused { .. } => None,
        }
    }
}

impl Failure for message_set::Error {
    fn kind(&self) -> ErrorKind {
        self.kind()
    }

    fn position(&self) -> u64 {
        self.position
    }

    fn output_limit(&self) -> Option<u64> {
        self.fault.output_limit()
    }

    fn codec(&self) -> Option<&CodecError> {
        match &self.fault {
            MessageSetFault::Codec { source } => Some(source),
            _ => None,
        }
    }
}

impl Failure for ContentError {
    fn kind(&self) -> ErrorKind {
        self.kind()
    }

    fn position(&self) -> u64 {
        self.position()
    }

    fn output_limit(&self) -> Option<u64> {
        self.output_limit()
    }

    fn codec(&self) -> Option<&CodecError> {
        match self {
            Self::Record(error) => error.codec(),
            Self::MessageSet(error) => error.codec(),
            Self::OffsetField { .. }
            | Self::LeaderEpoch { .. }
            | Self::TruncatedSegment { .. }
            | Self::IndexFile { .. } => None,
        }
    }
}

/// The exception for an error of the core; `segment` names the file in front of the message.
pub fn to_py(py: Python<'_>, error: &impl Failure, segment: Option<&str>) -> PyErr {
    let message = segment.map_or_else(|| error.to_string(), |segment| format!("{segment}: {error}"));
    let exception = with_message(py, error, message);
    if let Some(segment) = segment {
        drop(exception.value(py).setattr("segment", segment));
    }
    exception
}

fn with_message(py: Python<'_>, error: &impl Failure, message: String) -> PyErr {
    let kind = error.kind();
    let exception = of_kind(kind, message);
    let value = exception.value(py);
    // The classes accept these attributes. If a subclass does not, it is still the right error.
    drop(value.setattr("position", error.position()));
    if let Some(limit) = error.output_limit() {
        drop(value.setattr("limit", limit));
    }
    if let ErrorKind::MessageSet(kind) = kind {
        drop(value.setattr("kind", kind.name()));
    }
    if let Some(source) = error.codec()
        && kind != ErrorKind::OutputLimit
    {
        exception.set_cause(py, Some(to_py(py, source, None)));
    }
    exception
}

/// The exception for compressed data outside a record set.
#[expect(clippy::needless_pass_by_value, reason = "as the other mappings, for map_err")]
pub fn codec_to_py(py: Python<'_>, error: CodecError) -> PyErr {
    to_py(py, &error, None)
}

/// The exception for a segment that could not be read.
pub fn read_to_py(py: Python<'_>, segment: &str, error: ReadError) -> PyErr {
    let segment = Arc::from(segment);
    scan_to_py(
        py,
        match error {
            ReadError::Io(error) => ScanError::Io { segment, error },
            ReadError::Shrunk { length, expected } => ScanError::Shrunk { segment, length, expected },
        },
    )
}

/// The exception for a log that cannot be read or written; `segment` is what was being read.
pub fn log_to_py(py: Python<'_>, error: kafkacomp_log::Error, segment: Option<&str>) -> PyErr {
    let message = segment.map_or_else(|| error.to_string(), |segment| format!("{segment}: {error}"));
    match error {
        kafkacomp_log::Error::Read(error) => read_to_py(py, segment.unwrap_or_default(), error),
        kafkacomp_log::Error::Content(error) => to_py(py, &error, segment),
        kafkacomp_log::Error::Io { path, source } => io_to_py(py, source, &path.to_string_lossy()),
        kafkacomp_log::Error::Exists { path } => {
            let reason = "the target exists: choose another one, or remove it";
            PyFileExistsError::new_err((EEXIST, reason, path.to_string_lossy().into_owned()))
        }
        kafkacomp_log::Error::Corrupt { path, error } => to_py(py, error.as_ref(), Some(&path.to_string_lossy())),
        kafkacomp_log::Error::OffsetOrder { .. } | kafkacomp_log::Error::BatchTooLarge { .. } => {
            of_kind(error.kind(), message)
        }
    }
}

/// An `OSError` that names the file, or `MemoryError` if memory ran out. An exception of the caller's own file object is returned
/// unchanged.
fn io_to_py(py: Python<'_>, error: std::io::Error, path: &str) -> PyErr {
    match error.raw_os_error() {
        _ if error.kind() == std::io::ErrorKind::OutOfMemory => PyMemoryError::new_err(format!("{path}: {error}")),
        Some(code) => {
            // Python writes the code before the text.
            let text = std::io::Error::from_raw_os_error(code).to_string();
            let text = text.trim_end_matches(&format!(" (os error {code})")).to_owned();
            PyOSError::new_err((code, text, path.to_owned()))
        }
        None => match error.downcast::<Carried>() {
            Ok(carried) => carried.error(py).unwrap_or_else(|| PyOSError::new_err(carried.to_string())),
            Err(error) if error.get_ref().is_some_and(<dyn std::error::Error + Send + Sync>::is::<Exiting>) => {
                PyRuntimeError::new_err(format!("{path}: {error}"))
            }
            Err(error) if error.kind() == std::io::ErrorKind::InvalidInput => {
                PyOSError::new_err((EINVAL, error.to_string(), path.to_owned()))
            }
            Err(error) => PyErr::from(error),
        },
    }
}

/// The exception for a failed scan. An exception of the caller's own file object is returned unchanged.
pub fn scan_to_py(py: Python<'_>, error: ScanError) -> PyErr {
    match error {
        ScanError::Record { segment, error } => to_py(py, &error, Some(&segment)),
        ScanError::Io { segment, error } => io_to_py(py, error, &segment),
        ScanError::Shrunk { ref segment, length, .. } => {
            let exception = CorruptRecordError::new_err(error.message());
            drop(exception.value(py).setattr("position", length));
            drop(exception.value(py).setattr("segment", segment.to_string()));
            exception
        }
        ScanError::Misplaced { ref segment, position, .. } | ScanError::ZeroTail { ref segment, position, .. } => {
            let exception = CorruptRecordError::new_err(error.message());
            drop(exception.value(py).setattr("position", position));
            drop(exception.value(py).setattr("segment", segment.to_string()));
            exception
        }
        ScanError::Conflict { ref later, .. } => {
            let exception = CorruptRecordError::new_err(error.message());
            drop(exception.value(py).setattr("segment", later.to_string()));
            exception
        }
        ScanError::Undecided { .. } | ScanError::Closed => PyValueError::new_err(error.message()),
        ScanError::Replaced { .. } => KafkaCompError::new_err(error.message()),
        ScanError::OutOfMemory(error) => out_of_memory(error),
        ScanError::Thread(_) | ScanError::Panicked { .. } => PyRuntimeError::new_err(error.message()),
    }
}

/// The exception for a batch that cannot be built: `ValueError` for a wrong argument, except if it is too large.
pub fn build_to_py(py: Python<'_>, fault: BuildFault) -> PyErr {
    match fault {
        BuildFault::Codec(error) => codec_to_py(py, error),
        fault => match fault.kind() {
            // Wrong arguments, which are known before any data.
            ErrorKind::Rebuild | ErrorKind::UnsupportedCompressionType => PyValueError::new_err(fault.to_string()),
            kind => of_kind(kind, fault.to_string()),
        },
    }
}

/// The exception for a column of cells. If a cell is the reason, it has its `row`, and the position in the cell.
pub fn cell_to_py(py: Python<'_>, error: CellError) -> PyErr {
    let message = error.to_string();
    match error {
        CellError::ArrayType { .. } => PyTypeError::new_err(message),
        CellError::Cell { row, fault: CellFault::Codec(error) } => cell_content_to_py(py, row, &error, message),
        CellError::Cell { row, fault: CellFault::Records(error) } => cell_content_to_py(py, row, &error, message),
        CellError::Cell { .. } | CellError::Length { .. } => PyValueError::new_err(message),
        CellError::OutOfMemory(error) => out_of_memory(error),
        CellError::TooLarge { .. } => PyOverflowError::new_err(message),
        CellError::Arrow(_) => PyRuntimeError::new_err(message),
    }
}

fn cell_content_to_py(py: Python<'_>, row: usize, error: &impl Failure, message: String) -> PyErr {
    let exception = with_message(py, error, message);
    drop(exception.value(py).setattr("row", row));
    exception
}

/// The exception for rows that cannot become records. Takes the GIL if it needs it.
pub fn arrow_build_to_py(error: BuildError) -> PyErr {
    let message = error.to_string();
    match error {
        BuildError::ColumnType { .. } => PyTypeError::new_err(message),
        BuildError::Record { fault, .. } => match fault.kind() {
            kind @ (ErrorKind::OutOfMemory | ErrorKind::RecordTooLarge) => of_kind(kind, message),
            _ => PyValueError::new_err(message),
        },
        BuildError::MissingColumn { .. }
        | BuildError::DuplicateColumn { .. }
        | BuildError::HeaderKey { .. }
        | BuildError::TimestampRange { .. }
        | BuildError::NoTopic { .. }
        | BuildError::TopicName { .. }
        | BuildError::PartitionRange { .. } => PyValueError::new_err(message),
        BuildError::Batch(fault) => Python::attach(|py| build_to_py(py, fault)),
    }
}
