//! `kafkacomp.message_set`: messages of Kafka 0.7 as frozen views.

use std::cell::RefCell;
use std::sync::Arc;

use kafkacomp_core::memory;
use kafkacomp_core::message_set::entries;
use kafkacomp_core::message_set::message::{Message, SIZE_LENGTH};
use kafkacomp_core::message_set::{Entries, Entry, Error, MessageSetFault, MessageSetReader};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use crate::bytes::bytes;
use crate::enums::compression_type;
use crate::error::to_py;
use crate::input::bytes_like;
use crate::record::{Backing, Span};
use crate::value::PackageClass;

/// Plain messages that are read while the GIL is released once; a wrapper is read alone.
const PLAIN_MESSAGES: usize = 256;

static MESSAGE_AND_OFFSET: PackageClass = PackageClass::new("kafkacomp.message_set", "MessageAndOffset");

thread_local! {
    /// Contexts and buffers are kept from wrapper to wrapper.
    static READER: RefCell<MessageSetReader> = RefCell::new(MessageSetReader::new(0));
}

/// Messages that share one backing, and the error after them.
struct Piece {
    backing: Backing,
    messages: Vec<(Span, i64)>,
    next: usize,
    error: Option<Error>,
}

/// Iterates over the messages of a set; made by `kafkacomp.message_set.read_messages`.
#[pyclass(module = "kafkacomp.message_set")]
pub struct MessageReader {
    data: Arc<PyBackedBytes>,
    initial_offset: i64,
    deep: bool,
    max_output_size: usize,
    position: usize,
    piece: Piece,
    finished: bool,
}

impl MessageReader {
    fn offset(&self, position: usize) -> i64 {
        // Java's long wraps as well.
        self.initial_offset.wrapping_add(position as i64)
    }

    /// Reads on: plain messages, or the content of one wrapper.
    fn read(&self) -> (Piece, usize, bool) {
        let base = self.data.as_ptr().addr();
        let mut entries = Entries::at(&self.data, self.position);
        let mut piece =
            Piece { backing: Backing::Input(Arc::clone(&self.data)), messages: Vec::new(), next: 0, error: None };
        loop {
            let before = entries.position();
            let entry = match entries.next() {
                None => return (piece, before, true),
                Some(Err(error)) => {
                    piece.error = Some(error);
                    return (piece, before, true);
                }
                Some(Ok(entry)) => entry,
            };
            if !self.deep || matches!(entry.message.codec(), Ok(None)) {
                piece.messages.push((span(&entry.message, base), self.offset(entry.end)));
                if piece.messages.len() >= PLAIN_MESSAGES {
                    return (piece, entry.end, false);
                }
                continue;
            }
            if !piece.messages.is_empty() {
                return (piece, before, false);
            }
            self.unwrap(&entry, &mut piece);
            if !piece.messages.is_empty() || piece.error.is_some() {
                let finished = piece.error.is_some();
                return (piece, entry.end, finished);
            }
        }
    }

    /// The messages inside a wrapper.
    fn unwrap(&self, entry: &Entry<'_>, piece: &mut Piece) {
        READER.with_borrow_mut(|reader| {
            reader.set_max_output_size(self.max_output_size);
            let unwrapped = reader.unwrap(entry);
            let from = unwrapped.content().as_ptr().addr();
            let messages = unwrapped.messages();
            let kept = memory::with_capacity(unwrapped.len()).and_then(|mut kept| {
                kept.extend(messages.map(|(message, position)| (span(&message, from), self.offset(position))));
                Ok((kept, memory::copy_of(unwrapped.content())?))
            });
            match kept {
                Ok((messages, content)) => {
                    piece.messages = messages;
                    if !unwrapped.is_empty() {
                        piece.backing = Backing::Decompressed(Arc::new(content));
                    }
                    piece.error = unwrapped.error;
                }
                Err(error) => piece.error = Some(Error::of_entry(entry.position as u64, error.into())),
            }
        });
    }
}

/// The span of a message in the bytes that begin at the address `from`.
fn span(message: &Message<'_>, from: usize) -> Span {
    let mut span = Span::of(message.data());
    span.rebase(from);
    span
}

#[pymethods]
impl MessageReader {
    #[new]
    fn new(data: &Bound<'_, PyAny>, initial_offset: i64, deep: bool, max_output_size: usize) -> PyResult<Self> {
        let data = Arc::new(bytes_like(data)?);
        let backing = Backing::Input(Arc::clone(&data));
        let piece = Piece { backing, messages: Vec::new(), next: 0, error: None };
        Ok(Self { data, initial_offset, deep, max_output_size, position: 0, piece, finished: false })
    }

    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        loop {
            if let Some(&(span, offset)) = self.piece.messages.get(self.piece.next) {
                self.piece.next = self.piece.next.saturating_add(1);
                let message = PyMessage { backing: self.piece.backing.clone(), span };
                return MESSAGE_AND_OFFSET.make(py, (message, offset)).map(Some);
            }
            if let Some(error) = self.piece.error.take() {
                return Err(to_py(py, &error, None));
            }
            if self.finished {
                return Ok(None);
            }
            let this = &*self;
            (self.piece, self.position, self.finished) = py.detach(|| this.read());
        }
    }
}

/// A message of Kafka 0.7.
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
    #[getter]
    fn magic(&self, py: Python<'_>) -> PyResult<i8> {
        Ok(self.view(py)?.magic())
    }

    #[getter]
    fn attributes(&self, py: Python<'_>) -> PyResult<Option<u8>> {
        Ok(self.view(py)?.attributes())
    }

    #[getter]
    fn compression_type<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let kind = self.view(py)?.compression_type().map_err(|fault| self.error(py, fault))?;
        compression_type(py, kind)
    }

    #[getter]
    fn crc(&self, py: Python<'_>) -> PyResult<u32> {
        Ok(self.view(py)?.crc())
    }

    #[getter]
    fn is_valid(&self, py: Python<'_>) -> PyResult<bool> {
        let message = self.view(py)?;
        Ok(py.detach(|| message.is_valid()))
    }

    #[getter]
    fn size_in_bytes(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.view(py)?.data().len())
    }

    #[getter]
    fn payload<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        bytes(py, self.view(py)?.payload())
    }

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
    let data = bytes_like(data)?;
    py.detach(|| entries::valid_bytes(&data)).map_err(|error| to_py(py, &error, None))
}
