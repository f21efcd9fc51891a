//! Finds the end of the log in a partition's folder, so that new segments can continue it.
//!
//! The log ends with its last segment. A truncated or corrupt batch there is an error, because a broker that recovers the log
//! would drop everything after it; so is one with offsets that batches before it have. The producers are read from the `.snapshot` of the end. If there is none, they are read
//! from the latest snapshot at or before the base offset of the last segment, and from the batches after it; without a
//! snapshot, from all segments.
//! Source: `UnifiedLog`, `LogLoader`, `ProducerStateManager.loadFromSnapshot`.

use std::fs;
use std::io::{self, Read};
use std::ops::ControlFlow;
use std::path::Path;

use super::writer::segment_name;
use super::{LogWriter, ProducerState, WriteOptions};
use crate::error::{ContentError, Error};
use crate::index::checkpoint::{LeaderEpochEntry, read_leader_epoch_checkpoint};
use crate::index::producer_snapshot::ProducerSnapshot;
use crate::read::source::open_file;
use crate::read::walk::{SegmentPart, walk_segment};
use kafkacomp_records::error_kind::Category;
use kafkacomp_records::limits::DEFAULT_MAX_OUTPUT_SIZE;
use kafkacomp_records::memory;
use kafkacomp_records::record::{Batches, RecordReader};

/// The end of a partition's log.
#[derive(Debug, Clone, Default)]
pub struct LogEnd {
    /// One more than the last offset.
    pub end_offset: i64,
    /// The latest leader epoch; 0 if there is none.
    pub leader_epoch: i32,
    producers: ProducerState,
    epochs: Vec<LeaderEpochEntry>,
    /// Whether a producer snapshot of the end exists.
    has_snapshot: bool,
}

impl LogEnd {
    /// The end of the log in `folder`. A folder without segments ends at 0.
    ///
    /// # Errors
    /// Corruption in a segment that must be read, an invalid leader epoch checkpoint, or an I/O error.
    pub fn of_folder(folder: &Path) -> Result<Self, Error> {
        let names = names(folder)?;
        if let Some(swap) = names.iter().find(|name| name.ends_with(".log.swap")) {
            let reason = "a broker has not completed the compaction that this file is of; it does when it starts";
            return Err(Error::io(&folder.join(swap), io::Error::new(io::ErrorKind::InvalidInput, reason)));
        }
        let segments = offsets(&names, "log");
        let Some(&last) = segments.last() else { return Ok(Self::default()) };
        let snapshots = offsets(&names, "snapshot");
        let within = &snapshots[..snapshots.partition_point(|&offset| offset <= last)];
        let (known_to, producers) = latest_snapshot(folder, within)?.unwrap_or((-1, ProducerState::new()));
        let epochs = leader_epochs(folder)?;
        let leader_epoch = epochs.last().map_or(0, |entry| entry.epoch);
        let mut end = Self { end_offset: i64::MIN, leader_epoch, producers, epochs, has_snapshot: false };
        let first = segments.partition_point(|&base| base <= known_to).saturating_sub(1);
        for &base in &segments[first..] {
            end.end_offset = end.end_offset.max(base);
            end.walk(&folder.join(segment_name(base, "log")), known_to)?;
        }
        if snapshots.contains(&end.end_offset) {
            // The snapshot of a broker that stopped has more than the log: expired producers, and batches that compaction removed.
            if let Some((_, producers)) = latest_snapshot(folder, &[end.end_offset])? {
                end.producers = producers;
                end.has_snapshot = true;
            }
        }
        end.epochs.retain(|entry| entry.start_offset < end.end_offset);
        Ok(end)
    }

    fn walk(&mut self, path: &Path, known_to: i64) -> Result<(), Error> {
        let file = open_file(path).map_err(|error| Error::io(path, error))?;
        let mut reader = RecordReader::new(DEFAULT_MAX_OUTPUT_SIZE);
        let walked = walk_segment(&file, &mut |part, _| {
            let taken = match part {
                SegmentPart::Batches { data, position } => self.take(data, position, known_to, &mut reader),
                SegmentPart::Corrupt(range) => Err(range.error),
                SegmentPart::ZeroTail { .. } => Ok(()),
            };
            taken.map_or_else(ControlFlow::Break, ControlFlow::Continue)
        });
        match walked.map_err(|error| Error::from(error).in_file(path))? {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(error) => Err(Error::corrupt(path, error)),
        }
    }

    /// Adds the batches in `data`, which begin at `position` of their segment.
    fn take(
        &mut self,
        data: &[u8],
        position: u64,
        known_to: i64,
        reader: &mut RecordReader,
    ) -> Result<(), ContentError> {
        for batch in Batches::new(data, position) {
            let batch = batch?;
            let first = batch.base_offset().unwrap_or_else(|| batch.last_offset());
            if first < self.end_offset {
                let (position, stored, expected) = (batch.position(), batch.offset_field(), self.end_offset);
                return Err(ContentError::OffsetField { position, stored, expected });
            }
            self.end_offset = batch.last_offset().saturating_add(1);
            let epoch = if batch.magic() >= 2 { batch.partition_leader_epoch() } else { -1 };
            if epoch > self.epochs.last().map_or(-1, |entry| entry.epoch) {
                memory::push(&mut self.epochs, LeaderEpochEntry { epoch, start_offset: batch.offset_field() })?;
                self.leader_epoch = epoch;
            }
            if batch.last_offset() >= known_to {
                self.producers.append(&batch, reader)?;
            }
        }
        Ok(())
    }

    /// A writer of the segments that continue the log, into the new folder `target`.
    ///
    /// # Errors
    /// As [`LogWriter::create`].
    pub fn continue_in(self, target: &Path, options: WriteOptions) -> Result<LogWriter, Error> {
        let mut writer = LogWriter::create(target, self.end_offset, options)?;
        if self.end_offset > 0 && !self.has_snapshot {
            // Every segment except the first one has a snapshot, even if there are no producers.
            let name = segment_name(self.end_offset, "snapshot");
            writer.staging().write(&name, &self.producers.snapshot())?;
        }
        writer.resume(self.producers, self.epochs);
        Ok(writer)
    }
}

fn names(folder: &Path) -> Result<Vec<String>, Error> {
    let failed = |error| Error::io(folder, error);
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        names.extend(entry.map_err(failed)?.file_name().into_string());
    }
    Ok(names)
}

/// The offsets in the names of the files with this extension, in order.
fn offsets(names: &[String], extension: &str) -> Vec<i64> {
    let offset = |name: &String| {
        let (stem, found) = name.split_once('.')?;
        (found == extension && stem.len() == 20 && stem.bytes().all(|b| b.is_ascii_digit()))
            .then(|| stem.parse().ok())
            .flatten()
    };
    let mut offsets: Vec<i64> = names.iter().filter_map(offset).collect();
    offsets.sort_unstable();
    offsets
}

/// The content of a small file.
fn content(path: &Path) -> io::Result<Vec<u8>> {
    let mut data = Vec::new();
    open_file(path)?.read_to_end(&mut data)?;
    Ok(data)
}

/// The latest valid snapshot and its offset. A broker ignores corrupt ones, too.
fn latest_snapshot(folder: &Path, offsets: &[i64]) -> Result<Option<(i64, ProducerState)>, Error> {
    for &offset in offsets.iter().rev() {
        let path = folder.join(segment_name(offset, "snapshot"));
        let data = content(&path).map_err(|error| Error::io(&path, error))?;
        match ProducerSnapshot::parse(&data) {
            Ok(snapshot) => return Ok(Some((offset, ProducerState::from_entries(&snapshot.producers)))),
            Err(error) if error.category() == Category::Resource => return Err(Error::corrupt(&path, error)),
            Err(_) => {}
        }
    }
    Ok(None)
}

fn leader_epochs(folder: &Path) -> Result<Vec<LeaderEpochEntry>, Error> {
    let path = folder.join("leader-epoch-checkpoint");
    match content(&path) {
        Ok(data) => read_leader_epoch_checkpoint(&data).map_err(|error| Error::corrupt(&path, error)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(Error::io(&path, error)),
    }
}
