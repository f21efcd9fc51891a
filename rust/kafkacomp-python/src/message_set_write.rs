//! `kafkacomp.message_set.write_messages`.

use kafkacomp_records::memory;
use kafkacomp_records::message_set::MessageSetFault;
use kafkacomp_records::message_set::writer::{Content, codec_of, write_message_set};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use crate::bytes::bytes;
use crate::encode::{Level, compression};
use crate::enums::compression_type_for_id;
use crate::error::{codec_to_py, of_kind};
use crate::gil::iterate;
use crate::input::bytes_like;
use crate::memory::out_of_memory;
use crate::message_set::PyMessage;

/// Whether it is a message and not a payload, and its bytes.
fn content(message: &Bound<'_, PyAny>) -> PyResult<(bool, PyBackedBytes)> {
    match message.cast::<PyMessage>() {
        Ok(whole) => Ok((true, bytes_like("messages", whole.get().__bytes__(message.py())?.as_any())?)),
        Err(_) => Ok((false, bytes_like("an item of messages", message)?)),
    }
}

/// Writes a set of messages, which are unchanged, and payloads; in one wrapper if the compression type is not none.
#[pyfunction]
pub fn write_message_set_of<'py>(
    py: Python<'py>,
    messages: &Bound<'py, PyAny>,
    compression_type: u8,
    level: Option<Level>,
) -> PyResult<Bound<'py, PyBytes>> {
    let codec = codec_of(compression_type_for_id(compression_type)?)
        .map_err(|unknown| PyValueError::new_err(format!("Kafka 0.7 has no {}", unknown.name())))?;
    let codec =
        codec.map(|codec| Ok::<_, PyErr>((codec, compression(codec.compression_type(), level)?))).transpose()?;
    let mut contents = Vec::new();
    for message in iterate(messages)? {
        memory::push(&mut contents, content(&message?)?).map_err(out_of_memory)?;
    }
    let mut out = Vec::new();
    let written = py.detach(|| {
        let contents = contents
            .iter()
            .map(|(is_message, data)| if *is_message { Content::Message(data) } else { Content::Payload(data) });
        write_message_set(contents, codec, &mut out)
    });
    match written {
        Ok(()) => bytes(py, &out),
        Err(MessageSetFault::Codec { source }) => Err(codec_to_py(py, source)),
        Err(fault) => Err(of_kind(fault.kind(), fault.to_string())),
    }
}
