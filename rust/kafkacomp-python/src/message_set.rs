//! `kafkacomp.message_set`: messages of Kafka 0.7 as frozen views.

use std::cell::RefCell;
use std::sync::Arc;

use kafkacomp_records::message_set::entries;
use kafkacomp_records::message_set::message::{Message, SIZE_LENGTH};
use kafkacomp_records::message_set::{Error, MessageRange, MessageRun, MessageSetFault, MessageSetReader};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use crate::bytes::bytes;
use crate::enums::compression_type;
use crate::error::to_py;
use crate::input::{bytes_like, detached};
use crate::record::{Backing, Span};
use crate::value::PackageClass;

static MESSAGE_AND_OFFSET: PackageClass = PackageClass::new("kafkacomp.message_set", "MessageAndOffset");

thread_local! {
    /// Contexts and buffers are kept from wrapper to wrapper.
    static READER: RefCell<MessageSetReader> = RefCell::new(MessageSetReader::new(0));
}

/// Messages that share one backing, and the error after them.
struct Run {
    backing: Backing,
    messages: std::vec::IntoIter<MessageRange>,
    error: Option<Error>,
}

/// An iterator over the messages of a set of Kafka 0.7: see `kafkacomp.message_set.read_messages`.
#[pyclass(module = "kafkacomp.message_set")]
pub struct MessageReader {
    data: Arc<PyBackedBytes>,
    initial_offset: i64,
    deep: bool,
    max_output_size: usize,
    /// Where the next messages are read; `None` at the end.
    position: Option<usize>,
    run: Run,
}

impl MessageReader {
    fn offset(&self, position: usize) -> i64 {
        // Java's long wraps as well.
        self.initial_offset.wrapping_add(position as i64)
    }

    /// Reads the next run of messages.
    fn read(&self, position: usize) -> (Run, Option<usize>) {
        READER.with_borrow_mut(|reader| {
            reader.set_max_output_size(self.max_output_size);
            let MessageRun { content, messages, error, next } =
                MessageRun::read(&self.data, position, self.deep, reader);
            let input = || Backing::Input(Arc::clone(&self.data));
            let backing = content.map_or_else(input, |content| Backing::Decompressed(Arc::new(content)));
            (Run { backing, messages: messages.into_iter(), error }, next)
        })
    }
}

#[pymethods]
impl MessageReader {
    #[new]
    fn new(data: &Bound<'_, PyAny>, initial_offset: i64, deep: bool, max_output_size: usize) -> PyResult<Self> {
        let data = Arc::new(bytes_like("data", data)?);
        let backing = Backing::Input(Arc::clone(&data));
        let run = Run { backing, messages: Vec::new().into_iter(), error: None };
        Ok(Self { data, initial_offset, deep, max_output_size, position: Some(0), run })
    }

    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        loop {
            if let Some(MessageRange { bytes, next }) = self.run.messages.next() {
                let message = PyMessage { backing: self.run.backing.clone(), span: Span::from(bytes) };
                return MESSAGE_AND_OFFSET.make(py, (message, self.offset(next))).map(Some);
            }
            if let Some(error) = self.run.error.take() {
                return Err(to_py(py, &error, None));
            }
            let Some(position) = self.position.take() else {
                return Ok(None);
            };
            let this = &*self;
            (self.run, self.position) = py.detach(|| this.read(position));
        }
    }
}

/// A message of Kafka 0.7: a read-only view of the set that it was read from.
#[pyclass(module = "kafkacomp.message_set", name = "Message", frozen)]
pub struct PyMessage {
    backing: Backing,
    span: Span,
}

impl PyMessage {
    fn view(&self, py: Python<'_>) -> PyResult<Message<'_>> {
        Message::new(self.backing.bytes(self.span)).map_err(|fault| self.error(py, fault))
    }

    /// An error about this message, which begins at its size field.
    fn error(&self, py: Python<'_>, fault: MessageSetFault) -> PyErr {
        let position = self.span.start().saturating_sub(SIZE_LENGTH) as u64;
        to_py(py, &Error::of_entry(position, fault), None)
    }
}

#[pymethods]
impl PyMessage {
    /// 0, the format without compression, or 1.
    #[getter]
    fn magic(&self, py: Python<'_>) -> PyResult<i8> {
        Ok(self.view(py)?.magic())
    }

    /// The attributes byte as stored, 0 to 255; None in magic 0, which has none.
    #[getter]
    fn attributes(&self, py: Python<'_>) -> PyResult<Option<u8>> {
        Ok(self.view(py)?.attributes())
    }

    /// NONE, GZIP or SNAPPY; raises `MessageSetError` (`unknown_codec`) for codec 3.
    #[getter]
    fn compression_type<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let found = self.view(py)?.compression_type().map_err(|fault| self.error(py, fault))?;
        compression_type(py, found)
    }

    /// The checksum as stored: CRC-32 of the payload only.
    #[getter]
    fn crc(&self, py: Python<'_>) -> PyResult<u32> {
        Ok(self.view(py)?.crc())
    }

    /// Whether the stored checksum is correct.
    #[getter]
    fn is_valid(&self, py: Python<'_>) -> PyResult<bool> {
        let message = self.view(py)?;
        Ok(py.detach(|| message.is_valid()))
    }

    /// The message's size with its header, without the four bytes of the size field.
    #[getter]
    fn size_in_bytes(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.view(py)?.data().len())
    }

    /// The payload that the producer sent; for a compressed message, the compressed set.
    #[getter]
    fn payload<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        bytes(py, self.view(py)?.payload())
    }

    /// The message as stored, from the magic on, without its size.
    pub fn __bytes__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        bytes(py, self.view(py)?.data())
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let message = self.view(py)?;
        let attributes = message.attributes().map_or_else(|| "None".to_owned(), |byte| byte.to_string());
        let payload = bytes(py, message.payload())?.repr()?;
        Ok(format!("Message(magic={}, attributes={attributes}, payload={payload})", message.magic()))
    }
}

/// The length of the complete entries at the start of a set.
#[pyfunction]
pub fn valid_bytes(py: Python<'_>, data: &Bound<'_, PyAny>) -> PyResult<usize> {
    detached("data", data, entries::valid_bytes)?.map_err(|error| to_py(py, &error, None))
}
