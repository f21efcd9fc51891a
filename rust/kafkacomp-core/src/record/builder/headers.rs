//! Record headers on their way into a batch: encoded once, in a buffer that is kept.

use super::v2::put_nullable;
use crate::memory::OutOfMemory;
use crate::record::Headers;

/// The headers of one record. Clear it and fill it anew for the next: its memory stays.
#[derive(Debug, Clone, Default)]
pub struct HeadersBuffer {
    raw: Vec<u8>,
    count: u32,
}

impl HeadersBuffer {
    /// Without headers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Forgets the headers.
    pub fn clear(&mut self) {
        self.raw.clear();
        self.count = 0;
    }

    /// Adds one; the same key may come more than once.
    ///
    /// # Errors
    /// Memory runs out; the headers are as they were then.
    pub fn push(&mut self, key: &str, value: Option<&[u8]>) -> Result<(), OutOfMemory> {
        let before = self.raw.len();
        put_nullable(&mut self.raw, Some(key.as_bytes()))?;
        put_nullable(&mut self.raw, value).inspect_err(|_| self.raw.truncate(before))?;
        self.count = self.count.saturating_add(1);
        Ok(())
    }

    /// What goes into [`append`](super::RecordBatchBuilder::append).
    pub fn as_headers(&self) -> Headers<'_> {
        Headers::new(&self.raw, self.count)
    }
}
