//! Assigns offsets to batches that were built without them: several writers stage batches in files, each with offsets from
//! 0, and one writer appends them to the log.
//!
//! The CRC of magic 2 does not cover base offset and leader epoch (`DefaultRecordBatch`), so only these 12 bytes of a batch
//! are changed. Its checksum is verified.

use std::ops::ControlFlow;
use std::path::Path;

use super::LogWriter;

use crate::error::Error;
use crate::read::source::open_file;
use crate::read::walk::{SegmentPart, walk_segment};
use kafkacomp_records::record::layout::v0_v1::RECORD_OVERHEAD_V0;
use kafkacomp_records::record::{self, Batches, MutableRecordBatch};

/// Appends all batches of a file of magic 2 to `writer`, in order and with consecutive offsets. It needs the memory of one
/// chunk of the file, or of its largest batch.
///
/// # Errors
/// Corruption in the file, or an error of [`LogWriter::append`].
pub fn append_file(writer: &mut LogWriter, path: &Path, leader_epoch: i32) -> Result<(), Error> {
    let file = open_file(path).map_err(|error| Error::io(path, error))?;
    let mut buffer = Vec::new();
    let walked = walk_segment(&file, &mut |part, _| {
        let appended = match part {
            SegmentPart::Batches { data, position } => {
                buffer.clear();
                buffer.extend_from_slice(data);
                rebase(&mut buffer, position, writer.log_end_offset(), leader_epoch)
                    .map_err(|error| Error::corrupt(path, error))
                    .and_then(|()| writer.append(&buffer))
            }
            SegmentPart::Corrupt(range) => Err(Error::corrupt(path, range.error)),
            SegmentPart::ZeroTail { length } => {
                let minimum = RECORD_OVERHEAD_V0 as i32;
                Err(Error::corrupt(path, record::Error::SizeTooSmall { position: length, size: 0, minimum }))
            }
        };
        appended.map_or_else(ControlFlow::Break, ControlFlow::Continue)
    });
    match walked.map_err(|error| Error::from(error).in_file(path))? {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

/// Gives the batches in `data` the offsets from `next_offset` on.
fn rebase(data: &mut [u8], position: u64, mut next_offset: i64, leader_epoch: i32) -> record::Result<()> {
    let sizes =
        Batches::new(data, position).map(|batch| Ok(batch?.size_in_bytes())).collect::<record::Result<Vec<_>>>()?;
    let mut rest = data;
    for size in sizes {
        let Some((batch, behind)) = rest.split_at_mut_checked(size) else { break };
        let mut batch = MutableRecordBatch::new(batch, position)?;
        let delta = i64::from(batch.last_offset_delta());
        // If the offset is too large, appending the batch returns the error.
        let last_offset = next_offset.saturating_add(delta);
        batch.set_last_offset(last_offset);
        batch.set_partition_leader_epoch(leader_epoch);
        next_offset = last_offset.saturating_add(1);
        rest = behind;
    }
    Ok(())
}
