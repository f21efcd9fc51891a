//! One mapping from the core's errors to the package's exceptions.

use std::sync::Arc;

use kafkacomp_arrow::ScanError;
use kafkacomp_arrow::build::BuildError;
use kafkacomp_arrow::cells::{CellError, CellFault};
use kafkacomp_core::compress::CodecError;
use kafkacomp_core::log::ChunkError;
use kafkacomp_core::log::write::WriteError;
use kafkacomp_core::memory::OutOfMemory;
use kafkacomp_core::message_set::MessageSetFault;
use kafkacomp_core::record::BuildFault;
use kafkacomp_core::{Error, ErrorKind};
use pyo3::exceptions::{
    PyFileExistsError, PyMemoryError, PyOSError, PyOverflowError, PyRuntimeError, PyTypeError, PyValueError,
};
use pyo3::import_exception;
use pyo3::prelude::*;

use crate::file_object::{Carried, Exiting};

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

/// What the operating system calls a file that is there already.
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
        ErrorKind::UnknownServer => UnknownServerError::new_err(message),
        ErrorKind::OutOfMemory => PyMemoryError::new_err(message),
    }
}

/// The exception for an error of the core; `segment` names the file in front of the message.
pub fn to_py(py: Python<'_>, error: &Error, segment: Option<&str>) -> PyErr {
    let message = segment.map_or_else(|| error.to_string(), |segment| format!("{segment}: {error}"));
    let exception = with_message(py, error, message);
    if let Some(segment) = segment {
        drop(exception.value(py).setattr("segment", segment));
    }
    exception
}

fn with_message(py: Python<'_>, error: &Error, message: String) -> PyErr {
    let exception = of_kind(error.kind(), message);
    let value = exception.value(py);
    // The classes are ours and take these attributes; a subclass that does not is still the right error.
    drop(value.setattr("position", error.position()));
    if let Some(limit) = error.output_limit() {
        drop(value.setattr("limit", limit));
    }
    if let ErrorKind::MessageSet(kind) = error.kind() {
        drop(value.setattr("kind", kind.name()));
    }
    if let Error::BatchCodec { source, .. } | Error::MessageSet { fault: MessageSetFault::Codec { source }, .. } = error
        && error.kind() != ErrorKind::OutputLimit
    {
        exception.set_cause(py, Some(to_py(py, &Error::Codec(source.clone()), None)));
    }
    exception
}

/// The exception where memory ran out.
pub fn out_of_memory(error: OutOfMemory) -> PyErr {
    PyMemoryError::new_err(error.to_string())
}

/// The exception for compressed data outside a record set.
pub fn codec_to_py(py: Python<'_>, error: CodecError) -> PyErr {
    to_py(py, &Error::Codec(error), None)
}

/// The exception for a segment that could not be read.
pub fn chunk_to_py(py: Python<'_>, segment: &str, error: ChunkError) -> PyErr {
    let segment = Arc::from(segment);
    scan_to_py(
        py,
        match error {
            ChunkError::Io(error) => ScanError::Io { segment, error },
            ChunkError::Shrunk { length, expected } => ScanError::Shrunk { segment, length, expected },
        },
    )
}

/// The exception for a folder that could not be written; `segment` is what was being read.
pub fn write_to_py(py: Python<'_>, error: WriteError, segment: Option<&str>) -> PyErr {
    let message = segment.map_or_else(|| error.to_string(), |segment| format!("{segment}: {error}"));
    match error {
        WriteError::Io { path, source } => io_to_py(py, source, &path.to_string_lossy()),
        WriteError::Exists { path } => {
            PyFileExistsError::new_err((EEXIST, "File exists", path.to_string_lossy().into_owned()))
        }
        WriteError::Record(error) => to_py(py, &error, segment),
        WriteError::Damaged { path, error } => to_py(py, &error, Some(&path.to_string_lossy())),
        WriteError::OffsetOrder { .. } => OffsetsOutOfOrderError::new_err(message),
        WriteError::BatchTooLarge { .. } => RecordTooLargeError::new_err(message),
    }
}

/// The `OSError` that names a file, `MemoryError` where memory ran out. An exception of the caller's own file object comes
/// back as it was.
fn io_to_py(py: Python<'_>, error: std::io::Error, path: &str) -> PyErr {
    match error.raw_os_error() {
        _ if error.kind() == std::io::ErrorKind::OutOfMemory => PyMemoryError::new_err(format!("{path}: {error}")),
        Some(code) => {
            let name = std::io::Error::from_raw_os_error(code).to_string();
            PyOSError::new_err((code, name, path.to_owned()))
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

/// The exception for a failed scan. An exception of the caller's own file object comes back as it was.
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

/// The exception for a batch that cannot be built as asked: a wrong argument, but for what is too large.
pub fn build_to_py(py: Python<'_>, fault: BuildFault) -> PyErr {
    match fault {
        BuildFault::RecordTooLarge { .. } | BuildFault::BatchTooLarge { .. } => {
            RecordTooLargeError::new_err(fault.to_string())
        }
        BuildFault::Codec(error) => codec_to_py(py, error),
        BuildFault::OutOfMemory(error) => out_of_memory(error),
        other => PyValueError::new_err(other.to_string()),
    }
}

/// The exception for a column of cells. A cell's own has `row` beside the position in the cell.
pub fn cell_to_py(py: Python<'_>, error: CellError) -> PyErr {
    let message = error.to_string();
    match error {
        CellError::ArrayType { .. } => PyTypeError::new_err(message),
        CellError::Cell { row, fault: CellFault::Content(error) } => {
            let exception = with_message(py, &error, message);
            drop(exception.value(py).setattr("row", row));
            exception
        }
        CellError::Cell { .. } | CellError::Length { .. } => PyValueError::new_err(message),
        CellError::OutOfMemory(error) => out_of_memory(error),
        CellError::TooLarge { .. } => PyOverflowError::new_err(message),
        CellError::Arrow(_) => PyRuntimeError::new_err(message),
    }
}

/// The exception for rows that cannot become records. Takes the GIL itself where it needs it.
pub fn arrow_build_to_py(error: BuildError) -> PyErr {
    let message = error.to_string();
    match error {
        BuildError::ColumnType { .. } => PyTypeError::new_err(message),
        BuildError::Record { fault, .. } if fault.is_out_of_memory() => PyMemoryError::new_err(message),
        BuildError::Record { fault: BuildFault::RecordTooLarge { .. } | BuildFault::BatchTooLarge { .. }, .. } => {
            RecordTooLargeError::new_err(message)
        }
        BuildError::MissingColumn { .. }
        | BuildError::DuplicateColumn { .. }
        | BuildError::HeaderKey { .. }
        | BuildError::TimestampRange { .. }
        | BuildError::NoTopic { .. }
        | BuildError::TopicName { .. }
        | BuildError::PartitionRange { .. }
        | BuildError::Record { .. } => PyValueError::new_err(message),
        BuildError::Batch(fault) => Python::attach(|py| build_to_py(py, fault)),
    }
}
