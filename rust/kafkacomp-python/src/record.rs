//! Records as Python sees them: spans into the bytes of their batch, turned into objects when asked for.

use std::sync::Arc;

use kafkacomp_core::record::java_string::decode_utf8;
use kafkacomp_core::record::{Error, Headers, PausedRecords, Record, TimestampType};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyList, PyString, PyTuple};

use crate::bytes::bytes;
use crate::enums::timestamp_type;
use crate::error::to_py;
use crate::memory::out_of_memory;

/// What spans point into.
#[derive(Clone)]
pub enum Backing {
    /// The buffer that the caller gave.
    Input(Arc<PyBackedBytes>),
    /// The decompressed records of one batch.
    Decompressed(Arc<Vec<u8>>),
}

impl Backing {
    /// All bytes.
    pub fn all(&self) -> &[u8] {
        match self {
            Self::Input(data) => data,
            Self::Decompressed(data) => data,
        }
    }

    /// What a span points at.
    pub fn bytes(&self, span: Span) -> &[u8] {
        self.all().get(span.start..span.start.saturating_add(span.length)).unwrap_or_default()
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
    headers_count: u32,
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
            headers_count: record.headers.len() as u32,
            is_valid: record.message.map(|message| message.is_valid()),
        }
    }

    /// Turns addresses into places behind `from`.
    pub fn rebase(&mut self, from: usize) {
        for span in self.key.iter_mut().chain(&mut self.value).chain([&mut self.headers]) {
            span.rebase(from);
        }
    }
}

/// So many records are read at once: a batch of any size is not more in memory than its bytes.
const READ_AT_ONCE: usize = 256;

/// Iterates over the records of a batch.
#[pyclass(module = "kafkacomp.record", name = "RecordIterator")]
pub struct Records {
    backing: Backing,
    /// Where the bytes that records are read from begin and end in the backing.
    range: (usize, usize),
    /// What is still to be read; `None` at the end.
    paused: Option<PausedRecords>,
    spans: Vec<RecordSpan>,
    next: usize,
    /// What is wrong after the records that were read.
    error: Option<Error>,
}

impl Records {
    /// The records that stand in these bytes of `backing`.
    pub fn new(backing: Backing, range: (usize, usize), paused: PausedRecords) -> Self {
        Self { backing, range, paused: Some(paused), spans: Vec::new(), next: 0, error: None }
    }

    /// No record, but what is wrong.
    pub fn failed(backing: Backing, error: Error) -> Self {
        Self { backing, range: (0, 0), paused: None, spans: Vec::new(), next: 0, error: Some(error) }
    }

    /// Reads the next records.
    fn read(&mut self) {
        let Some(paused) = self.paused.take() else { return };
        let all = self.backing.all();
        let from = all.as_ptr().addr();
        let mut records = paused.resume(all.get(self.range.0..self.range.1).unwrap_or_default());
        self.spans.clear();
        self.next = 0;
        for record in records.by_ref().take(READ_AT_ONCE) {
            match record {
                Ok(record) => {
                    let mut span = RecordSpan::of(&record);
                    span.rebase(from);
                    self.spans.push(span);
                }
                Err(error) => {
                    self.error = Some(error);
                    return;
                }
            }
        }
        if self.spans.len() == READ_AT_ONCE {
            self.paused = Some(records.pause());
        }
    }
}

#[pymethods]
impl Records {
    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__(&mut self, py: Python<'_>) -> PyResult<Option<PyRecord>> {
        if self.next == self.spans.len() && self.paused.is_some() {
            self.read();
        }
        let Some(span) = self.spans.get(self.next) else {
            return self.error.take().map_or(Ok(None), |error| Err(to_py(py, &error, None)));
        };
        self.next = self.next.saturating_add(1);
        Ok(Some(PyRecord { backing: self.backing.clone(), span: *span }))
    }

    fn __length_hint__(&self) -> usize {
        let more = self.paused.as_ref().map_or(0, PausedRecords::most);
        self.spans.len().saturating_sub(self.next).saturating_add(more)
    }
}

/// One record.
#[pyclass(module = "kafkacomp.record", name = "Record", frozen)]
pub struct PyRecord {
    backing: Backing,
    span: RecordSpan,
}

impl PyRecord {
    fn field<'py>(&self, py: Python<'py>, span: Option<Span>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        span.map(|span| bytes(py, self.backing.bytes(span))).transpose()
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
    fn key<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        self.field(py, self.span.key)
    }

    #[getter]
    fn value<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        self.field(py, self.span.value)
    }

    #[getter]
    fn headers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let pairs = PyList::empty(py);
        for (key, value) in Headers::new(self.backing.bytes(self.span.headers), self.span.headers_count) {
            let key = PyString::from_bytes(py, decode_utf8(key).map_err(out_of_memory)?.as_bytes())?;
            pairs.append((key, value.map(|value| bytes(py, value)).transpose()?))?;
        }
        Ok(pairs.to_tuple())
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
            show(self.key(py)?)?,
            show(self.value(py)?)?
        ))
    }
}
