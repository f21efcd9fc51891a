//! The last file of a log: what its indexes and the leader epochs show of its end, and whether a broker is writing it.

use super::log_end::{EndSource, EndWitness};
use super::truncation::{COMPARED_ENTRIES, agreement};
use crate::error::ReadError;
use crate::index::checkpoint::read_leader_epoch_checkpoint;
use crate::index::entries::IndexEntries;
use crate::index::offset::{self, OffsetIndex, OffsetPosition};
use crate::index::time::{self, TimeIndex, TimestampOffset};
use crate::read::batch_headers::{HeaderWalk, Hop};
use crate::read::segment_files::{OpenSegment, SideFile};
use crate::read::source::{ReadAt, read_part};

/// The default of `segment.bytes`, to which brokers preallocate files if `preallocate` is set.
const DEFAULT_SEGMENT_BYTES: u64 = 1 << 30;

/// The bytes after the last batch that show whether zeros were replaced by a batch: its header up to the magic number.
const HEADER_BYTES: u64 = 17;

/// The last file of a log as it was read.
#[derive(Clone, Copy)]
pub struct LastFile<'a> {
    /// The base offset in its name.
    pub name: i64,
    /// Opens it, and its indexes.
    pub files: &'a dyn OpenSegment,
    /// Its bytes.
    pub source: &'a dyn ReadAt,
    /// The position after its last batch.
    pub position: u64,
    /// The offset after its last batch, as the header of that states it.
    pub end: i64,
    /// Its length.
    pub length: u64,
    /// Whether all bytes after its last batch are zeros.
    pub has_zero_tail: bool,
    /// Whether its indexes and the leader epochs are read.
    pub reads_indexes: bool,
}

impl LastFile<'_> {
    /// What its indexes and the leader epochs show.
    pub(super) fn witnesses(&self, end: i64) -> Result<[Option<EndWitness>; 3], ReadError> {
        let epoch = self.last_leader_epoch().map(|offset| EndWitness::new(EndSource::LeaderEpoch, offset));
        let Some(offsets) = index::<{ offset::ENTRY_SIZE }>(self.files, SideFile::OffsetIndex) else {
            return Ok([epoch, None, None]);
        };
        let indexed = offsets.last().and_then(|entry| offset_entry(entry, self.name));
        let indexed = indexed.map(|entry| EndWitness::new(EndSource::OffsetIndex, entry.offset));
        let timestamps = index::<{ time::ENTRY_SIZE }>(self.files, SideFile::TimeIndex);
        let timed = timestamps.as_ref().and_then(IndexEntries::last).and_then(|entry| self.time_entry(entry));
        let timed = timed.map(|entry| EndWitness::new(EndSource::TimeIndex, entry.offset));
        let is_beyond = |witness: Option<EndWitness>| witness.is_some_and(|witness| witness.end() > end);
        if !is_beyond(indexed) && !is_beyond(timed) {
            return Ok([epoch, None, None]);
        }
        let is_within = |entry: &[u8; offset::ENTRY_SIZE]| {
            offset_entry(*entry, self.name).is_some_and(|entry| u64::from(entry.position) < self.position)
        };
        let within: Vec<_> = offsets.before(COMPARED_ENTRIES, is_within).collect();
        let within: Vec<_> = within.into_iter().filter_map(|entry| offset_entry(entry, self.name)).collect();
        let is_own = agreement(self.source, within.iter().copied())? == Some(true);
        let indexed = indexed.filter(|_| is_own);
        let Some(timestamps) = timestamps.filter(|_| is_own && is_beyond(timed)) else {
            return Ok([epoch, indexed, None]);
        };
        let is_below =
            |entry: &[u8; time::ENTRY_SIZE]| self.time_entry(*entry).is_some_and(|entry| entry.offset < self.end);
        let below: Vec<_> = timestamps.before(COMPARED_ENTRIES, is_below).collect();
        let below = below.into_iter().filter_map(|entry| self.time_entry(entry));
        let agrees = self.agree(below, &within)?;
        Ok([epoch, indexed, timed.filter(|_| agrees)])
    }

    /// Whether at least one entry of the time index has the greatest timestamp of the batch with its offset, and no other does not.
    /// The batch is found by the entries of the offset index.
    fn agree(
        &self,
        entries: impl Iterator<Item = TimestampOffset>,
        offsets: &[OffsetPosition],
    ) -> Result<bool, ReadError> {
        let mut agrees = false;
        for entry in entries {
            let before = offsets.partition_point(|indexed| indexed.offset < entry.offset);
            let from =
                before.checked_sub(1).and_then(|at| offsets.get(at)).map_or(0, |indexed| indexed.position.into());
            let mut walk = HeaderWalk::new(self.source, from, self.length);
            while let Hop::Batch(header) = walk.next_batch()? {
                if header.last_offset >= entry.offset {
                    if header.max_timestamp != entry.timestamp {
                        return Ok(false);
                    }
                    agrees = true;
                    break;
                }
            }
        }
        Ok(agrees)
    }

    /// The start offset of the last leader epoch.
    fn last_leader_epoch(&self) -> Option<i64> {
        let data = self.files.side_file(SideFile::LeaderEpochCheckpoint).ok().flatten()?;
        read_leader_epoch_checkpoint(&data).ok()?.last().map(|epoch| epoch.start_offset)
    }

    fn time_entry(&self, entry: [u8; time::ENTRY_SIZE]) -> Option<TimestampOffset> {
        TimeIndex::parse(&entry, self.name).ok().filter(|index| !index.is_zero())?.last()
    }

    /// Whether a broker has appended to the log since it was read.
    pub(super) fn is_being_written(&self) -> Result<bool, ReadError> {
        let source = self.files.open()?;
        if source.length()? != self.length {
            return Ok(true);
        }
        if self.has_zero_tail {
            let mut buffer = Vec::new();
            let left = self.length.saturating_sub(self.position).min(HEADER_BYTES) as usize;
            if read_part(source.as_ref(), self.position, left, &mut buffer)?.iter().any(|&byte| byte != 0) {
                return Ok(true);
            }
        }
        let siblings = self.files.siblings()?;
        Ok(siblings.iter().any(|sibling| sibling.base_offset > self.name))
    }

    /// Whether a broker preallocated the zeros at the end of a file: it is as long as the default of `segment.bytes`, or its offset
    /// index ends with zeros too.
    pub fn is_preallocated(files: &dyn OpenSegment, length: u64) -> bool {
        let index = || index::<{ offset::ENTRY_SIZE }>(files, SideFile::OffsetIndex);
        length == DEFAULT_SEGMENT_BYTES || index().is_some_and(|index| index.is_preallocated())
    }
}

/// The last entry of the offset index of a segment with this base offset, without reading the others.
pub fn last_indexed(files: &dyn OpenSegment, name: i64) -> Option<OffsetPosition> {
    let entries = index::<{ offset::ENTRY_SIZE }>(files, SideFile::OffsetIndex)?;
    entries.last().and_then(|entry| offset_entry(entry, name))
}

fn offset_entry(entry: [u8; offset::ENTRY_SIZE], name: i64) -> Option<OffsetPosition> {
    OffsetIndex::parse(&entry, name).ok()?.get(0)
}

/// An index. There is none if it cannot be read, because it is derived from the segment.
fn index<const N: usize>(files: &dyn OpenSegment, kind: SideFile) -> Option<IndexEntries<N>> {
    IndexEntries::new(files.open_side_file(kind).ok().flatten()?).ok()
}
