//! What receives the parts of a log.

use crate::error::{ContentError, Error};
use crate::map::{BatchFact, ByteRange, OffsetRange, Use};
use crate::read::source::ReadAt;
use crate::read::walk::CorruptRange;
use crate::write::LogWriter;
use kafkacomp_records::record::RecordBatch;

/// A segment of the source.
#[derive(Clone, Copy)]
pub struct Source<'a> {
    /// Its number in the job.
    pub segment: usize,
    /// Its bytes.
    pub bytes: &'a dyn ReadAt,
}

/// A batch that belongs to the log.
#[derive(Debug)]
pub struct Delivered<'a> {
    /// The batch, with the right fields.
    pub batch: &'a RecordBatch<'a>,
    /// The number of its segment in the job.
    pub segment: usize,
    /// What was wrong with its offset field.
    pub offset_text: Option<String>,
    /// What was wrong with its leader epoch.
    pub epoch_text: Option<String>,
}

/// An intact batch that is not in place.
#[derive(Debug)]
pub struct Exception<'a> {
    /// The batch.
    pub batch: &'a BatchFact,
    /// What is done with it.
    pub batch_use: Use,
    /// The same in words.
    pub text: String,
}

/// Offsets that are missing because of what is corrupt within some bytes of a segment.
#[derive(Debug, Clone, Copy)]
pub struct Missing {
    /// The number of the segment in the job.
    pub segment: usize,
    /// The bytes.
    pub bytes: ByteRange,
    /// The offsets.
    pub offsets: OffsetRange,
}

/// Receives the batches of a log in the order of their offsets, and what is not among them.
pub trait Target: Sized {
    /// Whether the first fault ends the work. Repeated batches and altered leader epochs are none.
    const IS_STRICT: bool;
    /// What was done.
    type Report;

    /// Forgets everything: the work begins again, with another writer.
    ///
    /// # Errors
    /// As for [`flush`](Self::flush).
    fn restart(&mut self) -> Result<(), Error>;

    /// Begins a segment with the next batch, because a segment of the source begins there.
    ///
    /// # Errors
    /// The log cannot be written.
    fn begin_segment(&mut self, base_offset: i64, writer: &mut LogWriter) -> Result<(), Error>;

    /// Takes a batch. The result is why it cannot be in a log.
    ///
    /// # Errors
    /// The log cannot be written, or the batch cannot be read for another reason than corruption.
    fn batch(&mut self, delivered: &Delivered<'_>, writer: &mut LogWriter) -> Result<Option<ContentError>, Error>;

    /// Takes what was not written of the batches so far: the next one is not of the same place.
    ///
    /// # Errors
    /// As for [`batch`](Self::batch).
    fn flush(&mut self, writer: &mut LogWriter) -> Result<(), Error>;

    /// Takes a batch that is not in place. It was or will be delivered, unless its use says that it is not.
    ///
    /// # Errors
    /// As for [`batch`](Self::batch).
    fn exception(&mut self, source: Source<'_>, exception: Exception<'_>, writer: &mut LogWriter) -> Result<(), Error>;

    /// Takes a corrupt range.
    ///
    /// # Errors
    /// The range itself, if the target is strict; or the log cannot be written.
    fn corrupt(&mut self, source: Source<'_>, range: &CorruptRange, writer: &mut LogWriter) -> Result<(), Error>;

    /// Takes the zeros at the end of a segment, and the offsets that are missing there.
    ///
    /// # Errors
    /// Offsets are missing, if the target is strict.
    fn zeros(&mut self, segment: usize, bytes: ByteRange, missing: Option<OffsetRange>) -> Result<(), Error>;

    /// Takes what is missing because of corruption.
    fn missing(&mut self, missing: &[Missing]);

    /// The warnings about a segment.
    fn take_warnings(&mut self, segment: usize) -> Vec<String>;

    /// Ends the work.
    ///
    /// # Errors
    /// The log cannot be written.
    fn finish(self, writer: &mut LogWriter) -> Result<Self::Report, Error>;
}
