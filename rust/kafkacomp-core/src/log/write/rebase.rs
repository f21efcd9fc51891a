//! Batches that were made before anybody knew where in the log they go: several writers stage theirs in files, offsets
//! from 0, and whoever brings them together gives each batch its place.
//!
//! Base offset and leader epoch of magic 2 lie outside its CRC (`DefaultRecordBatch`), so a batch is copied as it is,
//! but for these 12 bytes. Its checksum is looked at on the way.

use std::ops::ControlFlow;
use std::path::Path;

use super::LogWriter;

use crate::log::error::Error;
use crate::log::read::source::open_file;
use crate::log::read::walk::{SegmentPart, walk_segment};
use crate::record::layout::v0_v1::RECORD_OVERHEAD_V0;
use crate::record::{self, Batches, MutableRecordBatch};

/// Appends all batches of a file of magic 2 behind what `writer` has, in order and without gaps between them. Memory is
/// one chunk of the file, or its largest batch.
///
/// # Errors
/// Corruption in the file, or what [`LogWriter::append`] says.
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
        // An offset that no log has room for is refused when the batch is appended.
        let last_offset = next_offset.saturating_add(delta);
        batch.set_last_offset(last_offset);
        batch.set_partition_leader_epoch(leader_epoch);
        next_offset = last_offset.saturating_add(1);
        rest = behind;
    }
    Ok(())
}
