//! Compares the records that two files of a partition have at the same offsets.

use crate::continuity::positions::OverlapError;
use crate::continuity::positions::{PositionedFile, compare_positions};
use crate::error::{Error, ReadError};
use crate::map::{Agreement, CompareRecords, LogFile, Placement, StoredRecords};

/// The files of a partition, for comparisons.
pub(super) enum Stored<'s> {
    /// Batches have records.
    Records(Box<StoredRecords<'s>>),
    /// In Kafka 0.7 offsets are positions, at which files have the same bytes.
    Positions(&'s [LogFile<'s>]),
}

impl Stored<'_> {
    /// The least offset at which two batches that share offsets have different records.
    pub(super) fn difference(&mut self, one: Placement, other: Placement) -> Result<Option<i64>, Error> {
        match self {
            Self::Records(records) => records.difference(one, other),
            Self::Positions(files) => difference(files, one, other),
        }
    }
}

impl CompareRecords for Stored<'_> {
    type Error = Error;

    fn compare(&mut self, one: Placement, other: Placement) -> Result<Agreement, Error> {
        match self {
            Self::Records(records) => records.compare(one, other),
            Self::Positions(files) => Ok(match difference(files, one, other)? {
                Some(_) => Agreement::Different,
                None => Agreement::Same,
            }),
        }
    }
}

fn difference(files: &[LogFile<'_>], one: Placement, other: Placement) -> Result<Option<i64>, Error> {
    let (earlier, later) = if one.id.file < other.id.file { (one, other) } else { (other, one) };
    let (Some(earlier), Some(later)) = (files.get(earlier.id.file), files.get(later.id.file)) else { return Ok(None) };
    let open = |file: &LogFile<'_>| file.files.open().map_err(ReadError::Io);
    let (one_source, other_source) = (open(earlier)?, open(later)?);
    let shared = one.offsets.intersection(other.offsets);
    let found = compare_positions(
        PositionedFile { source: one_source.as_ref(), base: earlier.name },
        PositionedFile { source: other_source.as_ref(), base: later.name },
        shared.start(),
        shared.end() - 1,
        &mut { later.name },
    );
    found.map_err(|(OverlapError::Earlier(error) | OverlapError::Later(error))| error)
}
