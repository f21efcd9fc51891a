//! Records as Python sees them: spans into the bytes of their batch, turned into objects when asked for.

use std::sync::Arc;

use kafkacomp_core::Error;
use kafkacomp_core::record::text::decode_utf8;
use kafkacomp_core::record::varint::take_varint;
use kafkacomp_core::record::{Record, TimestampType};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyTuple};

use crate::enums::timestamp_type;
use crate::error::to_py;

/// What spans point into.
#[derive(Clone)]
pub enum Backing {
    /// The buffer that the caller gave.
    Input(Arc<PyBackedBytes>),
    /// The decompressed records of one batch.
    Decompressed(Arc<[u8]>),
}

impl Backing {
    /// What a span points at.
    pub fn bytes(&self, span: Span) -> &[u8] {
        let all: &[u8] = match self {
            Self::Input(data) => data,
            Self::Decompressed(data) => data,
        };
        all.get(span.start..span.start.saturating_add(span.length)).unwrap_or_default()
    }
}

/// A piece of the backing. While records are collected `start` is an address.
#[derive(Clone, Copy, Default)]
pub struct Span {
    start: usize,
    length: usize,
}

impl Span {
    /// Over bytes that stay where they are until [`rebase`](Self::rebase).
    pub fn of(bytes: &[u8]) -> Self {
        Self { start: bytes.as_ptr().addr(), length: bytes.len() }
    }

    /// Where the piece begins in its backing.
    pub fn start(self) -> usize {
        self.start
    }

    /// Turns the address into a place behind `from`.
    pub fn rebase(&mut self, from: usize) {
        self.start = self.start.wrapping_sub(from);
    }
}

/// A record without its bytes.
#[derive(Clone, Copy)]
pub struct RecordSpan {
    offset: i64,
    timestamp: i64,
    timestamp_type: TimestampType,
    sequence: i32,
    key: Option<Span>,
    value: Option<Span>,
    headers: Span,
    headers_count: usize,
    is_valid: Option<bool>,
}

impl RecordSpan {
    /// Over a record whose bytes stay where they are until [`rebase`](Self::rebase).
    pub fn of(record: &Record<'_>) -> Self {
        Self {
            offset: record.offset,
            timestamp: record.timestamp,
            timestamp_type: record.timestamp_type,
            sequence: record.sequence,
            key: record.key.map(Span::of),
            value: record.value.map(Span::of),
            headers: Span::of(record.headers.raw()),
            headers_count: record.headers.len(),
            is_valid: record.legacy.map(|message| message.is_valid()),
        }
    }

    /// Turns addresses into places behind `from`.
    pub fn rebase(&mut self, from: usize) {
        for span in self.key.iter_mut().chain(&mut self.value).chain([&mut self.headers]) {
            span.rebase(from);
        }
    }
}

/// Iterates over the records of a batch.
#[pyclass(module = "kafkacomp.record", name = "RecordIterator")]
pub struct Records {
    backing: Backing,
    spans: Vec<RecordSpan>,
    next: usize,
    error: Option<Error>,
}

impl Records {
    /// The records and what is wrong behind them.
    pub fn new(backing: Backing, spans: Vec<RecordSpan>, error: Option<Error>) -> Self {
        Self { backing, spans, next: 0, error }
    }
}

#[pymethods]
impl Records {
    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__(&mut self, py: Python<'_>) -> PyResult<Option<PyRecord>> {
        let Some(span) = self.spans.get(self.next) else {
            return self.error.take().map_or(Ok(None), |error| Err(to_py(py, &error, None)));
        };
        self.next = self.next.saturating_add(1);
        Ok(Some(PyRecord { backing: self.backing.clone(), span: *span }))
    }

    fn __length_hint__(&self) -> usize {
        self.spans.len().saturating_sub(self.next)
    }
}

/// One record.
#[pyclass(module = "kafkacomp.record", name = "Record", frozen)]
pub struct PyRecord {
    backing: Backing,
    span: RecordSpan,
}

impl PyRecord {
    fn field<'py>(&self, py: Python<'py>, span: Option<Span>) -> Option<Bound<'py, PyBytes>> {
        span.map(|span| PyBytes::new(py, self.backing.bytes(span)))
    }
}

#[pymethods]
impl PyRecord {
    #[getter]
    fn offset(&self) -> i64 {
        self.span.offset
    }

    #[getter]
    fn timestamp(&self) -> i64 {
        self.span.timestamp
    }

    #[getter]
    fn timestamp_type<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        timestamp_type(py, self.span.timestamp_type)
    }

    #[getter]
    fn sequence(&self) -> i32 {
        self.span.sequence
    }

    #[getter]
    fn key<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        self.field(py, self.span.key)
    }

    #[getter]
    fn value<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        self.field(py, self.span.value)
    }

    #[getter]
    fn headers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let mut rest = self.backing.bytes(self.span.headers);
        let mut next = || {
            let length = usize::try_from(take_varint(&mut rest).ok()?).ok()?;
            let (bytes, behind) = rest.split_at_checked(length)?;
            rest = behind;
            Some(bytes)
        };
        let pairs = (0..self.span.headers_count).map(|_| {
            let key = next().unwrap_or_default();
            (decode_utf8(key), next().map(|value| PyBytes::new(py, value)))
        });
        PyTuple::new(py, pairs.collect::<Vec<_>>())
    }

    #[getter]
    fn is_valid(&self) -> Option<bool> {
        self.span.is_valid
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let show = |field: Option<Bound<'_, PyBytes>>| {
            field.map_or(Ok("None".to_owned()), |f| Ok::<_, PyErr>(f.repr()?.to_string()))
        };
        Ok(format!(
            "Record(offset={}, timestamp={}, key={}, value={})",
            self.span.offset,
            self.span.timestamp,
            show(self.key(py))?,
            show(self.value(py))?
        ))
    }
}
