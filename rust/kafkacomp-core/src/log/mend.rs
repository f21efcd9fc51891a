//! What can be said of one batch, and done for it.
//!
//! Kafka before KIP-57 wrote LZ4 frames whose header checksum covers the frame's magic bytes too. In magic 0 that is the
//! rule; in magic 1 and 2 no reader takes it. Where all else of such a batch is right, the one byte is set right
//! and the batch's own checksum with it: the one-time patch that
//! [KIP-57](https://cwiki.apache.org/confluence/display/KAFKA/KIP-57+-+Interoperable+LZ4+Framing) mentions.

use crate::CompressionType;
use crate::compress::lz4::{HeaderChecksumRule, frame_info};
use crate::error::{Category, Error, Result};
use crate::memory;
use crate::record::reader::stored_records;
use crate::record::{ControlRecord, MutableRecordBatch, RecordBatch, RecordReader};

/// What a batch is.
#[derive(Debug)]
pub enum Verdict<'a> {
    /// Readers take it.
    Sound,
    /// Readers take these bytes in its place.
    Mended {
        /// The whole batch.
        data: &'a [u8],
        /// What its LZ4 header checksum was.
        rule: HeaderChecksumRule,
    },
    /// No reader takes it.
    Corrupt(Error),
}

/// Looks at one batch after another.
#[derive(Debug)]
pub struct Mender {
    reader: RecordReader,
    mended: Vec<u8>,
}

impl Mender {
    /// One that refuses a batch whose records take more than `max_output_size` bytes.
    pub fn new(max_output_size: usize) -> Self {
        Self { reader: RecordReader::new(max_output_size), mended: Vec::new() }
    }

    /// Checks checksum and records of `batch`, and mends what can be.
    ///
    /// # Errors
    /// Every one but [`Category::Corrupt`]: a limit, lack of memory, or what this library does not know says nothing
    /// against the batch.
    pub fn look(&mut self, batch: &RecordBatch<'_>) -> Result<Verdict<'_>> {
        let error = match self.check(batch) {
            Ok(()) => return Ok(Verdict::Sound),
            Err(error) if error.category() == Category::Corrupt => error,
            Err(error) => return Err(error),
        };
        Ok(match self.mend(batch, &error)? {
            Some(rule) => Verdict::Mended { data: &self.mended, rule },
            None => Verdict::Corrupt(error),
        })
    }

    fn check(&mut self, batch: &RecordBatch<'_>) -> Result<()> {
        batch.ensure_valid()?;
        for record in self.reader.records(batch)? {
            let record = record?;
            if batch.is_control_batch() {
                ControlRecord::parse(record.key, record.value)?;
            }
        }
        Ok(())
    }

    /// Sets the LZ4 header checksum of a copy of `batch` right, if nothing else is wrong with it.
    fn mend(&mut self, batch: &RecordBatch<'_>, error: &Error) -> Result<Option<HeaderChecksumRule>> {
        if !matches!(error, Error::BatchCodec { .. })
            || batch.magic() == 0
            || batch.compression_type() != Ok(CompressionType::Lz4)
        {
            return Ok(None);
        }
        let Some((at, checksum, rule)) = wrong_header_checksum(batch) else { return Ok(None) };
        let mut mended = std::mem::take(&mut self.mended);
        mended.clear();
        memory::append(&mut mended, batch.data()).map_err(|error| error.at(batch.position()))?;
        if let Some(place) = mended.get_mut(at) {
            *place = checksum;
        }
        let checked = MutableRecordBatch::new(&mut mended, batch.position())
            .and_then(|mut batch| batch.update_checksum())
            .and_then(|()| RecordBatch::new(&mended, batch.position()))
            .and_then(|batch| self.check(&batch));
        self.mended = mended;
        match checked {
            Ok(()) => Ok(Some(rule)),
            Err(error) if error.category() == Category::Corrupt => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Where the header checksum of the batch's first LZ4 frame stands, what it should be, and which rule it follows;
/// `None` if it is right.
fn wrong_header_checksum(batch: &RecordBatch<'_>) -> Option<(usize, u8, HeaderChecksumRule)> {
    let (front, stored) = stored_records(batch).ok()?;
    let info = frame_info(stored).ok()?;
    let rule = info.header_checksum_rule();
    if matches!(rule, HeaderChecksumRule::Standard | HeaderChecksumRule::Both) {
        return None;
    }
    let at = (front.len().checked_add(info.position)?.checked_add(info.header_length)?).checked_sub(1)?;
    Some((at, info.standard_header_checksum, rule))
}
