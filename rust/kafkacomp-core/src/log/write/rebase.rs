//! Batches that were made before anybody knew where in the log they go: several writers stage theirs in files, offsets
//! from 0, and whoever brings them together gives each batch its place.
//!
//! Base offset and leader epoch of magic 2 lie outside its CRC (`DefaultRecordBatch`), so a batch is copied as it is,
//! but for these 12 bytes. Its checksum is looked at on the way.

use std::path::Path;

use super::{LogWriter, WriteError};
use crate::error::{Error, Result};
use crate::log::read::chunk::ChunkError;
use crate::log::read::source::open_file;
use crate::log::read::walk::{Piece, walk_segment};
use crate::record::v0_v1::RECORD_OVERHEAD_V0;
use crate::record::{Batches, MutableRecordBatch};

/// Why a walk ended early.
pub(super) enum Stop {
    Read(ChunkError),
    Damage(Error),
    Write(WriteError),
}

impl From<ChunkError> for Stop {
    fn from(error: ChunkError) -> Self {
        Self::Read(error)
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Damage(error)
    }
}

impl Stop {
    /// The same with the file's name.
    pub(super) fn at(self, path: &Path) -> WriteError {
        match self {
            Self::Read(ChunkError::Io(error)) => WriteError::io(path, error),
            Self::Read(error) => WriteError::io(path, std::io::Error::other(error.to_string())),
            Self::Damage(error) => WriteError::damaged(path, error),
            Self::Write(error) => error,
        }
    }
}

/// Appends all batches of a file of magic 2 behind what `writer` has, in order and without gaps between them. Memory is
/// one chunk of the file, or its largest batch.
///
/// # Errors
/// Damage in the file, or what [`LogWriter::append`] says.
pub fn append_file(writer: &mut LogWriter, path: &Path, leader_epoch: i32) -> std::result::Result<(), WriteError> {
    let file = open_file(path).map_err(|error| WriteError::io(path, error))?;
    let mut buffer = Vec::new();
    let walked = walk_segment::<Stop>(&file, &mut |piece, _| match piece {
        Piece::Batches { data, position } => {
            buffer.clear();
            buffer.extend_from_slice(data);
            rebase(&mut buffer, position, writer.log_end_offset(), leader_epoch)?;
            writer.append(&buffer).map_err(Stop::Write)
        }
        Piece::Damage(damage) => Err(damage.error.into()),
        Piece::ZeroTail { length } => {
            Err(Error::SizeTooSmall { position: length, size: 0, minimum: RECORD_OVERHEAD_V0 as i32 }.into())
        }
    });
    walked.map_err(|stop| stop.at(path))
}

/// Gives the batches in `data` the offsets from `next_offset` on.
fn rebase(data: &mut [u8], position: u64, mut next_offset: i64, leader_epoch: i32) -> Result<()> {
    let sizes = Batches::new(data, position).map(|batch| Ok(batch?.size_in_bytes())).collect::<Result<Vec<_>>>()?;
    let mut rest = data;
    for size in sizes {
        let Some((batch, behind)) = rest.split_at_mut_checked(size) else { break };
        let mut batch = MutableRecordBatch::new(batch, position)?;
        let delta = i64::from(batch.batch()?.last_offset_delta());
        // An offset that no log has room for is refused when the batch is appended.
        let last_offset = next_offset.saturating_add(delta);
        batch.set_last_offset(last_offset)?;
        batch.set_partition_leader_epoch(leader_epoch)?;
        next_offset = last_offset.saturating_add(1);
        rest = behind;
    }
    Ok(())
}
