//! Building the batch from the records that were appended.

use super::size::check_batch_size;
use super::{BatchSettings, RecordBatchBuilder, State, v0_v1, v2};
use crate::compress::{compress, compress_both, is_faster_in_pairs};
use crate::memory;
use crate::record::batch::NO_TIMESTAMP;
use crate::record::build_fault::BuildFault;
use crate::record::lz4_checksum::written_header_checksum;

impl RecordBatchBuilder {
    /// Appends the batch to `out`, closes the builder and returns the number of bytes. Without records it is 0, as in Kafka.
    ///
    /// # Errors
    /// An invalid producer state, a batch above 2^31 - 1 bytes, lack of memory. `out` is unchanged then.
    pub fn build(&mut self, out: &mut Vec<u8>) -> Result<usize, BuildFault> {
        self.check_build()?;
        let start = out.len();
        if self.records_count > 0 {
            let put = if self.settings.is_compressed() {
                self.put_compressed(out)
            } else {
                self.seal().and_then(|()| Ok(memory::append(out, &self.buffer)?))
            };
            put.inspect_err(|_| out.truncate(start))?;
        }
        let size = out.len().saturating_sub(start);
        self.state = State::Built(size);
        Ok(size)
    }

    /// As [`build`](Self::build), into memory of its own.
    ///
    /// # Errors
    /// As [`build`](Self::build).
    pub fn build_bytes(&mut self) -> Result<Vec<u8>, BuildFault> {
        let mut out = Vec::new();
        // Callers may set any ratio, so an estimate above the uncompressed size is not reserved.
        let expected = self.estimated_size_in_bytes().min(self.uncompressed_bytes_written());
        memory::reserve_exact(&mut out, expected)?;
        self.build(&mut out)?;
        Ok(out)
    }

    /// As [`build`](Self::build), but the batch cannot be built again: if it is not compressed and `out` is empty, the buffers of
    /// builder and `out` are swapped instead of copied.
    ///
    /// # Errors
    /// As [`build`](Self::build).
    pub fn finish(&mut self, out: &mut Vec<u8>) -> Result<usize, BuildFault> {
        let size = if out.is_empty() && self.records_count > 0 && !self.settings.is_compressed() {
            self.check_build()?;
            self.seal()?;
            std::mem::swap(&mut self.buffer, out);
            out.len()
        } else {
            self.build(out)?
        };
        self.state = State::Finished(size);
        Ok(size)
    }

    /// Whether the batch and another one are compressed in less time by [`finish_both`](Self::finish_both).
    pub(super) fn is_faster_in_pairs(&self) -> bool {
        is_faster_in_pairs(self.settings.compression, self.records_size())
    }

    /// Appends this batch to `out` and that of `next` to `next_out`, as [`finish`](Self::finish) does for one after the other, but
    /// compresses both at once. Both have records and the same compression type, and can be built ([`check_build`](Self::check_build)).
    ///
    /// # Errors
    /// As [`build`](Self::build). Outputs and builders are unchanged then.
    pub(super) fn finish_both(
        &mut self,
        next: &mut Self,
        out: &mut Vec<u8>,
        next_out: &mut Vec<u8>,
    ) -> Result<(), BuildFault> {
        let (start, next_start) = (out.len(), next_out.len());
        self.put_both(next, out, next_out).inspect_err(|_| {
            out.truncate(start);
            next_out.truncate(next_start);
        })?;
        self.state = State::Finished(out.len().saturating_sub(start));
        next.state = State::Finished(next_out.len().saturating_sub(next_start));
        Ok(())
    }

    fn put_both(&mut self, next: &mut Self, out: &mut Vec<u8>, next_out: &mut Vec<u8>) -> Result<(), BuildFault> {
        let BatchSettings { magic, compression, .. } = self.settings;
        let start = self.begin_compressed(out)?;
        let next_start = next.begin_compressed(next_out)?;
        let payloads = [self.records(), next.records()];
        compress_both(compression, written_header_checksum(magic), payloads, [&mut *out, &mut *next_out])?;
        self.complete_compressed(out, start)?;
        next.complete_compressed(next_out, next_start)
    }

    pub(super) fn check_build(&self) -> Result<(), BuildFault> {
        match self.state {
            State::Open | State::Built(_) => self.settings.check_producer(),
            State::Finished(_) => Err(BuildFault::Closed),
            State::Aborted => Err(BuildFault::Aborted),
        }
    }

    /// Completes an uncompressed batch in its buffer.
    fn seal(&mut self) -> Result<(), BuildFault> {
        check_batch_size(self.buffer.len())?;
        if self.settings.magic >= 2 {
            let fields = self.header_fields();
            v2::write_header(&mut self.buffer, &self.settings, &fields);
        }
        Ok(())
    }

    fn put_compressed(&mut self, out: &mut Vec<u8>) -> Result<(), BuildFault> {
        let BatchSettings { magic, compression, .. } = self.settings;
        let start = self.begin_compressed(out)?;
        compress(compression, written_header_checksum(magic), self.records(), out)?;
        self.complete_compressed(out, start)
    }

    /// Appends what is before the compressed records, and returns the position of the batch.
    fn begin_compressed(&self, out: &mut Vec<u8>) -> Result<usize, BuildFault> {
        let BatchSettings { magic, compression, timestamp_type, .. } = self.settings;
        let start = out.len();
        if magic >= 2 {
            memory::resize(out, start.saturating_add(self.settings.batch_header_size_in_bytes()))?;
        } else {
            let head = v0_v1::Head {
                magic,
                compression_type: compression.compression_type(),
                timestamp_type,
                timestamp: self.info().max_timestamp,
            };
            v0_v1::put_wrapper(out, self.last_offset.unwrap_or(self.settings.base_offset), &head)?;
        }
        Ok(start)
    }

    /// Completes the header of the batch that begins at `start`.
    fn complete_compressed(&mut self, out: &mut [u8], start: usize) -> Result<(), BuildFault> {
        let (_, batch) = out.split_at_mut(start);
        check_batch_size(batch.len())?;
        if self.settings.magic >= 2 {
            v2::write_header(batch, &self.settings, &self.header_fields());
        } else {
            v0_v1::finish_wrapper(batch, self.settings.magic);
        }
        let header_size = self.settings.batch_header_size_in_bytes();
        self.compression_ratio = ratio(batch.len().saturating_sub(header_size), self.records_size());
        Ok(())
    }

    fn header_fields(&self) -> v2::HeaderFields {
        let base_offset = self.settings.base_offset;
        v2::HeaderFields {
            last_offset_delta: self.last_offset.unwrap_or(base_offset).wrapping_sub(base_offset) as i32,
            base_timestamp: self.base_timestamp.unwrap_or(NO_TIMESTAMP),
            max_timestamp: self.info().max_timestamp,
            records_count: self.records_count,
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a float in Kafka too")]
fn ratio(compressed: usize, uncompressed: usize) -> f32 {
    compressed as f32 / uncompressed as f32
}
