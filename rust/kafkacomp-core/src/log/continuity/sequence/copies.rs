//! Whether a batch is a copy of another one of its partition.
//!
//! A batch whose offsets cannot be right where it stands may have an altered offset field, or it may be a copy of another
//! batch that was written over the one which belongs there. Restoring the field of a copy would invent records.

use std::fmt::Debug;
use std::fs;
use std::io;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use crate::log::error::ReadError;
use crate::log::read::source::{ReadAt, open_file};
use crate::log::read::walk::{SegmentPart, walk_segment};
use crate::memory;
use crate::record::{Batches, RecordBatch};

/// How many times the other segments of a partition are searched for one segment.
const MAX_SEARCHES: usize = 16;

/// The other segments of a partition.
pub trait OtherSegments: Debug + Sync {
    /// The segment that has the offset by its base offset, and a number that identifies it; `None` if there is none but
    /// the one that is asked for.
    ///
    /// # Errors
    /// The file system's.
    fn open(&self, offset: i64) -> io::Result<Option<(usize, Arc<dyn ReadAt>)>>;
}

/// The other segments in the folder of a segment.
#[derive(Debug, Clone)]
pub struct FolderSegments(
    /// The segment itself.
    pub PathBuf,
);

impl OtherSegments for FolderSegments {
    fn open(&self, offset: i64) -> io::Result<Option<(usize, Arc<dyn ReadAt>)>> {
        let Some(folder) = self.0.parent() else { return Ok(None) };
        let folder = if folder.as_os_str().is_empty() { std::path::Path::new(".") } else { folder };
        let mut found: Option<(i64, PathBuf)> = None;
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let base = name.strip_suffix(".log").and_then(|stem| stem.get(..20)?.parse::<i64>().ok());
            if let Some(base) =
                base.filter(|&base| base <= offset && found.as_ref().is_none_or(|(most, _)| base > *most))
            {
                found = Some((base, path));
            }
        }
        match found.filter(|(_, path)| path.file_name() != self.0.file_name()) {
            Some((base, path)) => Ok(Some((base as usize, Arc::new(open_file(&path)?)))),
            None => Ok(None),
        }
    }
}

/// The batches of a segment and of the others, by what identifies their bytes.
#[derive(Debug)]
pub(super) struct Copies<'a> {
    own: Option<Vec<u64>>,
    others: Option<&'a dyn OtherSegments>,
    /// The other segment that was searched last.
    other: Option<(usize, Vec<u64>)>,
    searches: usize,
}

impl<'a> Copies<'a> {
    pub(super) fn new(others: Option<&'a dyn OtherSegments>) -> Self {
        Self { own: None, others, other: None, searches: 0 }
    }

    fn own(&mut self, source: &dyn ReadAt) -> Result<&[u64], ReadError> {
        let own = match self.own.take() {
            Some(own) => own,
            None => fingerprints(source)?,
        };
        Ok(self.own.insert(own))
    }

    /// Whether the partition has these bytes at another place, too.
    pub(super) fn has(&mut self, source: &dyn ReadAt, batch: &RecordBatch<'_>) -> Result<bool, ReadError> {
        let wanted = fingerprint(batch);
        let own = self.own(source)?;
        let at = own.partition_point(|&each| each < wanted);
        if own.get(at.saturating_add(1)) == Some(&wanted) {
            return Ok(true);
        }
        self.is_elsewhere(batch.offset_field(), wanted)
    }

    /// Whether another segment has the batch. After too many searches, every batch may be a copy.
    fn is_elsewhere(&mut self, offset_field: i64, wanted: u64) -> Result<bool, ReadError> {
        let Some((number, source)) = self.others.map(|others| others.open(offset_field)).transpose()?.flatten() else {
            return Ok(false);
        };
        if self.other.as_ref().is_none_or(|(known, _)| *known != number) {
            if self.searches >= MAX_SEARCHES {
                return Ok(true);
            }
            self.searches = self.searches.saturating_add(1);
            self.other = Some((number, fingerprints(source.as_ref())?));
        }
        Ok(self.other.as_ref().is_some_and(|(_, all)| all.binary_search(&wanted).is_ok()))
    }

    /// Whether the segment that would have `offset` is there and ends before it.
    pub(super) fn ends_before(&self, offset: i64) -> Result<bool, ReadError> {
        let Some((_, source)) = self.others.map(|others| others.open(offset)).transpose()?.flatten() else {
            return Ok(false);
        };
        let walked = walk_segment(source.as_ref(), &mut |part, _| match part {
            SegmentPart::Batches { data, position } => {
                let mut batches = Batches::new(data, position).map_while(Result::ok);
                if batches.any(|batch| batch.last_offset() >= offset) {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            }
            _ => ControlFlow::Continue(()),
        })?;
        Ok(walked.is_continue())
    }

    /// Whether another batch of the segment has this offset field, as far as its low half tells.
    pub(super) fn has_offset_field(
        &mut self,
        source: &dyn ReadAt,
        batch: &RecordBatch<'_>,
        field: i64,
    ) -> Result<bool, ReadError> {
        let low = |field: i64| field as u64 & u64::from(u32::MAX);
        let own = self.own(source)?;
        let at = own.partition_point(|&each| each >> 32 < low(field));
        // The batch itself is one of them if only the high half was altered.
        let itself = usize::from(low(batch.offset_field()) == low(field));
        Ok(own.get(at.saturating_add(itself)).is_some_and(|&each| each >> 32 == low(field)))
    }
}

/// The low half of the offset field, and the checksum.
fn fingerprint(batch: &RecordBatch<'_>) -> u64 {
    (batch.offset_field() as u64) << 32 | u64::from(batch.crc())
}

/// The fingerprints of all batches of a segment, sorted.
fn fingerprints(source: &dyn ReadAt) -> Result<Vec<u64>, ReadError> {
    let mut found = Vec::new();
    let walked = walk_segment(source, &mut |part, _| {
        if let SegmentPart::Batches { data, position } = part {
            for batch in Batches::new(data, position).map_while(Result::ok) {
                if let Err(error) = memory::push(&mut found, fingerprint(&batch)) {
                    return ControlFlow::Break(error);
                }
            }
        }
        ControlFlow::Continue(())
    })?;
    if let ControlFlow::Break(error) = walked {
        return Err(io::Error::from(error).into());
    }
    found.sort_unstable();
    Ok(found)
}
