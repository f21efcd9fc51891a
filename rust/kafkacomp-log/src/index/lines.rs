//! Lines of the small text files next to segments, with the byte at which each begins.

use super::fault::IndexFault;
use crate::error::{ContentError, fail};

/// A line, without its line end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line<'a> {
    /// The byte of the file at which it begins.
    pub(super) position: usize,
    /// Its number, from 1.
    pub(super) number: u64,
    /// Its text.
    pub(super) text: &'a str,
}

impl Line<'_> {
    /// The error for a line that does not have the expected form.
    pub(super) fn malformed<T>(&self) -> Result<T, ContentError> {
        fail(self.position, IndexFault::MalformedLine { line: self.number })
    }
}

/// The file as text.
pub(super) fn text(data: &[u8]) -> Result<&str, ContentError> {
    match std::str::from_utf8(data) {
        Ok(text) => Ok(text),
        Err(error) => fail(error.valid_up_to(), IndexFault::NotText),
    }
}

/// The lines of a text. Each ends with LF or CRLF, which the last one may lack.
pub(super) fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    let mut position = 0;
    text.split_inclusive('\n').zip(1..).map(move |(line, number)| {
        let begins = position;
        position += line.len();
        let line = line.strip_suffix('\n').unwrap_or(line);
        Line { position: begins, number, text: line.strip_suffix('\r').unwrap_or(line) }
    })
}
