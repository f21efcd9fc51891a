//! Records as Python objects: spans of the bytes of their batch, from which `bytes` objects are made on access.

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use std::sync::Arc;

use kafkacomp_records::memory;
use kafkacomp_records::record::java_string::decode_utf8;
use kafkacomp_records::record::{Error, Headers, HeadersBuffer, PausedRecords, Record, TimestampType};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple};

use crate::bytes::bytes;
use crate::enums::{timestamp_type, timestamp_type_for_id};
use crate::error::to_py;
use crate::input::bytes_like;
use crate::memory::out_of_memory;
use crate::record_fields::{Int64, encode_headers};

/// The bytes that spans refer to.
#[derive(Clone)]
pub enum Backing {
    /// The buffer of the caller.
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

    /// The bytes of a span. An empty span may refer to other bytes: absent headers are a constant of the core.
    pub fn bytes(&self, span: Span) -> &[u8] {
        if span.length == 0 {
            return &[];
        }
        &self.all()[span.start..span.start + span.length]
    }
}

/// A part of the backing. While records are collected, `start` is an address.
#[derive(Clone, Copy, Default)]
pub struct Span {
    start: usize,
    length: usize,
}

impl From<Range<usize>> for Span {
    fn from(range: Range<usize>) -> Self {
        Self { start: range.start, length: range.len() }
    }
}

impl Span {
    /// The span of bytes that are not moved until [`rebase`](Self::rebase).
    pub fn of(bytes: &[u8]) -> Self {
        Self { start: bytes.as_ptr().addr(), length: bytes.len() }
    }

    /// The position in the backing.
    pub fn start(self) -> usize {
        self.start
    }

    /// Converts the address to an offset from `from`.
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
    /// The spans of a record whose bytes are not moved until [`rebase`](Self::rebase).
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

    /// Converts the addresses to offsets from `from`.
    pub fn rebase(&mut self, from: usize) {
        for span in self.key.iter_mut().chain(&mut self.value).chain([&mut self.headers]) {
            span.rebase(from);
        }
    }
}

/// The number of records that are read at a time, so that a batch needs little more memory than its bytes.
const READ_AT_ONCE: usize = 256;

/// An iterator over the records of a batch.
#[pyclass(module = "kafkacomp.record", name = "RecordIterator")]
pub struct Records {
    backing: Backing,
    /// The range of the backing from which records are read.
    range: (usize, usize),
    /// The records that are not read yet; `None` at the end.
    paused: Option<PausedRecords>,
    spans: Vec<RecordSpan>,
    next: usize,
    /// The error after the records that were read.
    error: Option<Error>,
}

impl Records {
    /// The records in these bytes of `backing`.
    pub fn new(backing: Backing, range: (usize, usize), paused: PausedRecords) -> Self {
        Self { backing, range, paused: Some(paused), spans: Vec::new(), next: 0, error: None }
    }

    /// No records, and an error.
    pub fn failed(backing: Backing, error: Error) -> Self {
        Self { backing, range: (0, 0), paused: None, spans: Vec::new(), next: 0, error: Some(error) }
    }

    /// Reads the next records.
    fn read(&mut self) {
        let Some(paused) = self.paused.take() else { return };
        let all = self.backing.all();
        let from = all.as_ptr().addr();
        let mut records = paused.resume(&all[self.range.0..self.range.1]);
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

/// Offsets, timestamps, keys and values of records, as lists.
pub fn columns<'a, 'py>(
    py: Python<'py>,
    records: impl Iterator<Item = Result<Record<'a>, Error>>,
) -> PyResult<[Bound<'py, PyList>; 4]> {
    let [offsets, timestamps, keys, values] = std::array::from_fn(|_| PyList::empty(py));
    for record in records {
        let record = record.map_err(|error| to_py(py, &error, None))?;
        offsets.append(record.offset)?;
        timestamps.append(record.timestamp)?;
        keys.append(record.key.map(|key| bytes(py, key)).transpose()?)?;
        values.append(record.value.map(|value| bytes(py, value)).transpose()?)?;
    }
    Ok([offsets, timestamps, keys, values])
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

/// One record. Records are compared by their fields, and can be hashed and pickled.
///
/// A record of a batch refers to the batch's bytes; each field is decoded on access.
#[pyclass(module = "kafkacomp.record", name = "Record", frozen)]
pub struct PyRecord {
    backing: Backing,
    span: RecordSpan,
}

impl PyRecord {
    fn field<'py>(&self, py: Python<'py>, span: Option<Span>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        self.part(span).map(|part| bytes(py, part)).transpose()
    }

    fn part(&self, span: Option<Span>) -> Option<&[u8]> {
        span.map(|span| self.backing.bytes(span))
    }

    /// The headers as a tuple, to compare them.
    fn decoded(&self) -> impl Iterator<Item = (Option<Cow<'_, str>>, Option<&[u8]>)> {
        self.pairs().map(|(key, value)| (decode_utf8(key).ok(), value))
    }

    fn pairs(&self) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> {
        Headers::new(self.backing.bytes(self.span.headers), self.span.headers_count).into_iter()
    }
}

#[pymethods]
impl PyRecord {
    /// A record with these fields. Most records are created by iterating over a batch.
    #[new]
    #[pyo3(
        signature = (value, *, key=None, offset=Int64(0), timestamp=Int64(-1), timestamp_type=0, sequence=-1, headers=None, is_valid=None),
        text_signature = "(value, *, key=None, offset=0, timestamp=-1, timestamp_type=0, sequence=-1, headers=None, is_valid=None)"
    )]
    #[expect(clippy::too_many_arguments, reason = "the fields of a record")]
    fn new(
        value: Option<&Bound<'_, PyAny>>,
        key: Option<&Bound<'_, PyAny>>,
        offset: Int64,
        timestamp: Int64,
        timestamp_type: i8,
        sequence: i32,
        headers: Option<&Bound<'_, PyAny>>,
        is_valid: Option<bool>,
    ) -> PyResult<Self> {
        let mut content = Vec::new();
        let mut add = |part: &[u8]| {
            let start = content.len();
            memory::append(&mut content, part).map_err(out_of_memory)?;
            PyResult::Ok(Span { start, length: part.len() })
        };
        let mut encoded = HeadersBuffer::new();
        if let Some(headers) = headers {
            encode_headers(headers, &mut encoded)?;
        }
        let headers = encoded.as_headers();
        let span = RecordSpan {
            offset: offset.0,
            timestamp: timestamp.0,
            timestamp_type: timestamp_type_for_id(timestamp_type)?,
            sequence,
            key: key.map(|key| add(&bytes_like("key", key)?)).transpose()?,
            value: value.map(|value| add(&bytes_like("value", value)?)).transpose()?,
            headers: add(headers.raw())?,
            headers_count: headers.len() as u32,
            is_valid,
        };
        Ok(Self { backing: Backing::Decompressed(Arc::new(content)), span })
    }

    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyTuple>, Bound<'py, PyDict>)> {
        let fields = PyDict::new(py);
        fields.set_item("key", self.key(py)?)?;
        fields.set_item("offset", self.span.offset)?;
        fields.set_item("timestamp", self.span.timestamp)?;
        fields.set_item("timestamp_type", self.span.timestamp_type as i8)?;
        fields.set_item("sequence", self.span.sequence)?;
        fields.set_item("headers", self.headers(py)?)?;
        fields.set_item("is_valid", self.span.is_valid)?;
        Ok((PyTuple::new(py, [self.value(py)?])?, fields))
    }

    fn __eq__(&self, other: &Self) -> bool {
        let (a, b) = (&self.span, &other.span);
        (a.offset, a.timestamp, a.timestamp_type as i8, a.sequence, a.is_valid)
            == (b.offset, b.timestamp, b.timestamp_type as i8, b.sequence, b.is_valid)
            && self.part(a.key) == other.part(b.key)
            && self.part(a.value) == other.part(b.value)
            && self.decoded().eq(other.decoded())
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.span.offset, self.span.timestamp, self.span.sequence).hash(&mut hasher);
        for span in [self.span.key, self.span.value] {
            self.part(span).hash(&mut hasher);
        }
        hasher.finish()
    }

    /// The absolute offset.
    #[getter]
    fn offset(&self) -> i64 {
        self.span.offset
    }

    /// Milliseconds since the epoch; -1, `kafkacomp.record.NO_TIMESTAMP`, if the record has none.
    #[getter]
    fn timestamp(&self) -> i64 {
        self.span.timestamp
    }

    /// The timestamp type.
    #[getter]
    fn timestamp_type<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        timestamp_type(py, self.span.timestamp_type)
    }

    /// The sequence number; -1 without a producer id.
    #[getter]
    fn sequence(&self) -> i32 {
        self.span.sequence
    }

    /// The key; None for null.
    #[getter]
    fn key<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        self.field(py, self.span.key)
    }

    /// The value; None for null.
    #[getter]
    fn value<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        self.field(py, self.span.value)
    }

    /// The key and value of each header, in order; invalid UTF-8 in a key becomes U+FFFD, as in Java.
    #[getter]
    fn headers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let pairs = PyList::empty(py);
        for (key, value) in self.pairs() {
            let key = PyString::from_bytes(py, decode_utf8(key).map_err(out_of_memory)?.as_bytes())?;
            pairs.append((key, value.map(|value| bytes(py, value)).transpose()?))?;
        }
        Ok(pairs.to_tuple())
    }

    /// Whether the message's checksum is correct (magic 0 and 1); None in magic 2, where only batches have one.
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
