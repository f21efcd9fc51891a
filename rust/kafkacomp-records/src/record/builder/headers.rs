//! Serialized record headers for appending, in a reusable buffer.

use super::v2::put_nullable;
use crate::memory::OutOfMemory;
use crate::record::Headers;

/// The serialized headers of one record. [`clear`](Self::clear) it for the next record to reuse its memory.
#[derive(Debug, Clone, Default)]
pub struct HeadersBuffer {
    raw: Vec<u8>,
    count: u32,
}

impl HeadersBuffer {
    /// A buffer without headers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Removes the headers.
    pub fn clear(&mut self) {
        self.raw.clear();
        self.count = 0;
    }

    /// Adds a header. A key may occur more than once.
    ///
    /// # Errors
    /// Memory runs out; the headers are unchanged then.
    pub fn push(&mut self, key: &str, value: Option<&[u8]>) -> Result<(), OutOfMemory> {
        let before = self.raw.len();
        put_nullable(&mut self.raw, Some(key.as_bytes()))?;
        put_nullable(&mut self.raw, value).inspect_err(|_| self.raw.truncate(before))?;
        self.count = self.count.saturating_add(1);
        Ok(())
    }

    /// The headers as an argument of [`append`](super::RecordBatchBuilder::append).
    pub fn as_headers(&self) -> Headers<'_> {
        Headers::new(&self.raw, self.count)
    }
}
