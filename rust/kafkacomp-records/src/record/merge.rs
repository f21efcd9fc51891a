//! Merging small batches into larger ones, which compress better.
//!
//! A run is merged as long as its batches have one format, timestamp type (and append time), producer id and epoch,
//! transactional flag and partition leader epoch, and offsets and, with a producer id, sequences without a gap. So a
//! merged batch never contains records of two producers, two transactions or two leader epochs, the state of each producer
//! does not change, and missing offsets stay visible between two batches: in a batch, they would look like compaction. Control batches, batches emptied by compaction and batches with a delete horizon are never merged. Plain
//! messages of magic 0 and 1 are merged only if they are compressed into a wrapper.
//!
//! A merged batch keeps the offsets and timestamps of the records; its base timestamp is that of its first record. Without a
//! producer id the sequence has no meaning and becomes -1.

use super::batch::increment_sequence;
use super::batch::{NO_PRODUCER_ID, NO_SEQUENCE};
use super::builder::BatchSettings;
use super::convert::converted_settings;
use super::error::{Error, Result};
use super::{Recompressor, RecordBatch, TimestampType};
use crate::CompressionType;
use crate::compress::Compression;
use crate::error_kind::ErrorKind;
use crate::memory;

/// The fields that all batches of a run have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Common {
    magic: i8,
    timestamp_type: TimestampType,
    log_append_time: Option<i64>,
    producer_id: i64,
    producer_epoch: i16,
    is_transactional: bool,
    partition_leader_epoch: i32,
}

impl Common {
    fn of(batch: &RecordBatch<'_>) -> Self {
        let timestamp_type = batch.timestamp_type();
        Self {
            magic: batch.magic(),
            timestamp_type,
            log_append_time: (timestamp_type == TimestampType::LogAppendTime).then(|| batch.max_timestamp()),
            producer_id: batch.producer_id(),
            producer_epoch: batch.producer_epoch(),
            is_transactional: batch.is_transactional(),
            partition_leader_epoch: batch.partition_leader_epoch(),
        }
    }
}

/// The current run.
#[derive(Debug)]
struct Run {
    common: Common,
    next_offset: i64,
    next_sequence: i32,
}

/// Merges batches and recompresses them; see the module.
#[derive(Debug)]
pub struct Merger {
    recompressor: Recompressor,
    batch_bytes: usize,
    run: Option<Run>,
    /// The batches of the run, one after the other,
    gathered: Vec<u8>,
    /// and where each begins, here and in its file.
    starts: Vec<(usize, u64)>,
}

impl Merger {
    /// A merger that closes a batch as soon as its uncompressed records have `batch_bytes` bytes.
    pub fn new(compression: Compression, batch_bytes: usize, max_output_size: usize) -> Self {
        Self {
            recompressor: Recompressor::new(compression, max_output_size),
            batch_bytes,
            run: None,
            gathered: Vec::new(),
            starts: Vec::new(),
        }
    }

    /// Adds `batch` to the current run, or appends the merged run to `out` and begins a new one.
    ///
    /// # Errors
    /// As [`Recompressor::push`], for this batch or one of the run.
    pub fn push(&mut self, batch: &RecordBatch<'_>, out: &mut Vec<u8>) -> Result<()> {
        batch.ensure_valid()?;
        if !self.is_joinable(batch) {
            self.finish(out)?;
            return self.recompressor.push(batch, out);
        }
        if !self.continues(batch) {
            self.finish(out)?;
        }
        let start = self.gathered.len();
        let kept = memory::append(&mut self.gathered, batch.data());
        kept.and_then(|()| memory::push(&mut self.starts, (start, batch.position())))
            .map_err(|error| Error::out_of_memory(error, batch.position()))?;
        self.run = Some(Run {
            common: Common::of(batch),
            next_offset: batch.last_offset().wrapping_add(1),
            next_sequence: increment_sequence(batch.last_sequence(), 1),
        });
        Ok(())
    }

    fn is_joinable(&self, batch: &RecordBatch<'_>) -> bool {
        let compressed = self.recompressor.compression().compression_type() != CompressionType::None;
        !batch.is_control_batch()
            && batch.records_count() != Some(0)
            && batch.delete_horizon_ms().is_none()
            && (batch.magic() >= 2 || compressed)
    }

    fn continues(&self, batch: &RecordBatch<'_>) -> bool {
        let Some(run) = &self.run else { return true };
        // The header of a wrapper does not have its first offset: see `join`.
        let unbroken = batch.base_offset().is_none_or(|first| first == run.next_offset)
            && (batch.producer_id() == NO_PRODUCER_ID || batch.base_sequence() == run.next_sequence);
        run.common == Common::of(batch) && unbroken && self.gathered.len() < self.batch_bytes
    }

    /// Appends the current run to `out`.
    ///
    /// # Errors
    /// As [`Recompressor::push`].
    pub fn finish(&mut self, out: &mut Vec<u8>) -> Result<()> {
        self.run = None;
        let gathered = std::mem::take(&mut self.gathered);
        let starts = std::mem::take(&mut self.starts);
        let start = out.len();
        let joined = match starts.len() {
            0 => Ok(true),
            1 => Ok(false),
            _ => self.join(&gathered, &starts, out),
        };
        if !joined? {
            // One batch, or records that our builder refuses, such as those with negative timestamps.
            out.truncate(start);
            for batch in batches(&gathered, &starts) {
                self.recompressor.push(&batch?, out)?;
            }
        }
        self.gathered = gathered;
        self.gathered.clear();
        self.starts = starts;
        self.starts.clear();
        Ok(())
    }

    /// Appends the merged batches; `false` if the records cannot be built.
    fn join(&mut self, gathered: &[u8], starts: &[(usize, u64)], out: &mut Vec<u8>) -> Result<bool> {
        let mut begun = false;
        let mut last = None;
        for batch in batches(gathered, starts) {
            let batch = batch?;
            let appended = match self.append(&batch, begun) {
                Ok(false) => {
                    let built = last.map_or(Ok(true), |last| self.build(&last, out))?;
                    if !built {
                        return Ok(false);
                    }
                    self.append(&batch, false)
                }
                appended => appended,
            };
            match appended {
                Ok(_) => {}
                Err(Error::Rebuild { fault, .. }) if fault.kind() != ErrorKind::OutOfMemory => return Ok(false),
                Err(error) => return Err(error),
            }
            begun = true;
            last = Some(batch);
            let (_, builder) = self.recompressor.parts();
            if builder.uncompressed_bytes_written() >= self.batch_bytes {
                if !self.build(&batch, out)? {
                    return Ok(false);
                }
                (begun, last) = (false, None);
            }
        }
        last.map_or(Ok(true), |batch| self.build(&batch, out))
    }

    /// Appends the records of `batch` to the merged batch, which begins with them if `begun` is false. Appends nothing and
    /// returns `false` if offsets are missing between the two.
    fn append(&mut self, batch: &RecordBatch<'_>, mut begun: bool) -> Result<bool> {
        let compression = self.recompressor.compression();
        let (reader, builder) = self.recompressor.parts();
        let position = batch.position();
        let fail = |fault| Error::Rebuild { position, fault };
        let mut is_first = true;
        for record in reader.records(batch)? {
            let record = record?;
            record.message.map_or(Ok(()), |message| message.ensure_valid(position))?;
            if !begun {
                let settings = merged_settings(batch, batch.base_offset().unwrap_or(record.offset))?;
                builder.reset(BatchSettings { compression, ..settings }).map_err(fail)?;
                begun = true;
            } else if is_first && batch.base_offset().is_none() && record.offset > builder.next_offset() {
                return Ok(false);
            }
            is_first = false;
            builder.append_record(&record).map_err(fail)?;
        }
        Ok(true)
    }

    /// Closes the merged batch, whose last source is `batch`; `false` if it cannot be built.
    fn build(&mut self, batch: &RecordBatch<'_>, out: &mut Vec<u8>) -> Result<bool> {
        let (_, builder) = self.recompressor.parts();
        // Compaction may have removed the last records. A wrapper's offset must be its last message's.
        let ended = if batch.magic() >= 2 { builder.override_last_offset(batch.last_offset()) } else { Ok(()) };
        match ended.and_then(|()| builder.build(out)) {
            Err(fault) if fault.kind() == ErrorKind::OutOfMemory => {
                Err(Error::Rebuild { position: batch.position(), fault })
            }
            built => Ok(built.is_ok()),
        }
    }
}

/// The settings of the batch merged from `batch` and its successors, except the compression.
pub(super) fn merged_settings(batch: &RecordBatch<'_>, base_offset: i64) -> Result<BatchSettings> {
    let producer_id = batch.producer_id();
    Ok(BatchSettings {
        producer_id,
        producer_epoch: batch.producer_epoch(),
        base_sequence: if producer_id == NO_PRODUCER_ID { NO_SEQUENCE } else { batch.base_sequence() },
        is_transactional: batch.is_transactional(),
        partition_leader_epoch: batch.partition_leader_epoch(),
        ..converted_settings(batch, batch.magic(), base_offset)?
    })
}

fn batches<'a>(gathered: &'a [u8], starts: &'a [(usize, u64)]) -> impl Iterator<Item = Result<RecordBatch<'a>>> {
    starts.iter().map(|&(start, position)| {
        let (available, needed) = (gathered.len() as u64, start as u64);
        let data = gathered.get(start..).ok_or(Error::IncompleteBatch { position, available, needed })?;
        RecordBatch::new(data, position)
    })
}
