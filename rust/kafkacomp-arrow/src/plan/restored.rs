//! A batch whose offset field was altered, with the right one.

use std::io;
use std::sync::Arc;

use kafkacomp_log::read::source::read_full;
use kafkacomp_log::{ReadAt, SourceTraits};
use kafkacomp_records::record::BatchHead;
use kafkacomp_records::record::batch::HEADER_SIZE_UP_TO_MAGIC;

/// A source in which the offset field of one batch is replaced.
pub struct RestoredBatch {
    source: Arc<dyn ReadAt>,
    position: u64,
    field: [u8; 8],
}

impl RestoredBatch {
    /// The batch at `position` with these offsets: the first, and the one after the last.
    ///
    /// # Errors
    /// The header cannot be read.
    pub fn new(source: Arc<dyn ReadAt>, position: u64, (first, end): (i64, i64)) -> io::Result<Self> {
        let mut header = [0; HEADER_SIZE_UP_TO_MAGIC];
        let read = read_full(source.as_ref(), &mut header, position)?;
        let head = BatchHead::read(&header[..read], position).ok().flatten();
        // The field of a wrapper is its last offset.
        let is_wrapper = head.is_some_and(|head| head.magic < 2);
        let field = if is_wrapper { end.saturating_sub(1) } else { first };
        Ok(Self { source, position, field: field.to_be_bytes() })
    }
}

impl ReadAt for RestoredBatch {
    fn read_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
        let read = self.source.read_at(buffer, position)?;
        let bytes = buffer.get_mut(..read).unwrap_or_default();
        for (at, place) in (position..).zip(bytes) {
            let index = at.checked_sub(self.position).and_then(|index| usize::try_from(index).ok());
            if let Some(&byte) = index.and_then(|index| self.field.get(index)) {
                *place = byte;
            }
        }
        Ok(read)
    }

    fn length(&self) -> io::Result<u64> {
        self.source.length()
    }

    fn traits(&self) -> SourceTraits<'_> {
        SourceTraits { bytes: None, ahead: None, ..self.source.traits() }
    }
}
