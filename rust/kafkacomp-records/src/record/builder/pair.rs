//! Batches that are built one after the other, two of them at once where that takes less time.

use super::{BatchSettings, RecordBatchBuilder, State};
use crate::memory;
use crate::record::build_fault::BuildFault;

/// Builds the batches of a stream of records. Two consecutive snappy batches with 8 to 32 KiB of uncompressed records are compressed
/// together, which takes less time; so such a batch waits for the next [`close`](Self::close) or [`flush`](Self::flush). The
/// batches are the same as those of [`RecordBatchBuilder::finish`].
///
/// ```
/// use kafkacomp_records::CompressionType;
/// use kafkacomp_records::compress::Compression;
/// use kafkacomp_records::record::{BatchSettings, Batches, Headers, PairedBuilder};
///
/// let compression = Compression::of(CompressionType::Snappy);
/// let settings = BatchSettings { compression, ..BatchSettings::default() };
/// let (mut builder, mut out) = (PairedBuilder::default(), Vec::new());
/// for offset in 0..2 {
///     builder.reset(BatchSettings { base_offset: offset, ..settings })?;
///     builder.current().append(offset, 1_700_000_000_000, None, Some(b"value"), Headers::EMPTY)?;
///     builder.close(&mut out)?;
/// }
/// builder.flush(&mut out)?;
/// assert_eq!(Batches::new(&out, 0).count(), 2);
/// # Ok::<(), kafkacomp_records::record::BuildFault>(())
/// ```
#[derive(Debug, Default)]
pub struct PairedBuilder {
    current: RecordBatchBuilder,
    waiting: RecordBatchBuilder,
    is_waiting: bool,
    /// The second batch of a pair.
    second: Vec<u8>,
}

impl PairedBuilder {
    /// Drops the records of the current batch and begins another one ([`RecordBatchBuilder::reset`]). A closed batch is kept.
    ///
    /// # Errors
    /// What the magic does not have.
    pub fn reset(&mut self, settings: BatchSettings) -> Result<(), BuildFault> {
        self.current.reset(settings)
    }

    /// Drops all batches that are not in the output, and begins another one.
    ///
    /// # Errors
    /// What the magic does not have; nothing is dropped then.
    pub fn restart(&mut self, settings: BatchSettings) -> Result<(), BuildFault> {
        self.current.reset(settings)?;
        self.is_waiting = false;
        Ok(())
    }

    /// The builder of the current batch; of none between [`close`](Self::close) and [`reset`](Self::reset).
    #[inline]
    pub fn current(&mut self) -> &mut RecordBatchBuilder {
        &mut self.current
    }

    /// Closes the current batch, after which [`reset`](Self::reset) must begin another one. It is appended to `out` at once, or
    /// together with the next. Nothing is appended for a batch without records.
    ///
    /// # Errors
    /// As [`RecordBatchBuilder::build`]. `out` ends with a complete batch then, batches that are not in it are kept, and the call can be
    /// repeated.
    pub fn close(&mut self, out: &mut Vec<u8>) -> Result<(), BuildFault> {
        if !self.current.is_faster_in_pairs() {
            self.flush(out)?;
            return self.current.finish(out).map(drop);
        }
        let Self { current, waiting, is_waiting, second } = self;
        current.check_build()?;
        if *is_waiting {
            second.clear();
            waiting.finish_both(current, out, second)?;
            *is_waiting = false;
            memory::append(out, second).inspect_err(|_| current.state = State::Open)?;
            return Ok(());
        }
        std::mem::swap(current, waiting);
        current.state = State::Finished(0);
        current.estimated_compression_ratio = waiting.estimated_compression_ratio;
        *is_waiting = true;
        Ok(())
    }

    /// Appends the batch that is closed and not in the output yet, if there is one.
    ///
    /// # Errors
    /// As [`close`](Self::close).
    pub fn flush(&mut self, out: &mut Vec<u8>) -> Result<(), BuildFault> {
        if self.is_waiting {
            self.waiting.finish(out)?;
            self.is_waiting = false;
        }
        Ok(())
    }
}
