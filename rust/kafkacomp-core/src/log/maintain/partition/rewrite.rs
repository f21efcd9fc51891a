//! Recompresses, merges, converts or repairs a partition.

use std::cell::Cell;
use std::ops::ControlFlow;

use super::error::PartitionError;
use super::job::PartitionJob;
use super::order::{PartitionFindings, SegmentTask, SegmentsInOrder};
use crate::log::error::{Error, ReadError};
use crate::log::maintain::repair::{RepairReport, Repairer};
use crate::log::maintain::rewrite::{Rewrite, SegmentRewritten, rewrite_segment};
use crate::log::write::{ClosedLog, LogWriter};

/// A callback for the number of bytes of the partition read so far; [`ControlFlow::Break`] ends the work.
type Progress<'p, B> = dyn FnMut(u64) -> ControlFlow<B> + 'p;

/// A repaired partition whose folder is not published yet.
#[derive(Debug)]
pub struct RepairedPartition {
    /// Its folder.
    pub log: ClosedLog,
    /// The first offset of the earliest transaction that is open at the end of the log.
    pub first_open_offset: Option<i64>,
    /// The repairs.
    pub report: RepairReport,
    /// The findings in the segments.
    pub findings: PartitionFindings,
}

impl PartitionJob {
    /// Passes all batches through `rewrite` into the new folder, which the caller publishes.
    ///
    /// # Errors
    /// Corruption in the source, an error of `rewrite`, or an I/O error.
    pub fn rewrite<B>(
        &self,
        rewrite: &mut Rewrite,
        progress: &mut Progress<'_, B>,
    ) -> Result<ControlFlow<B, (ClosedLog, PartitionFindings)>, PartitionError> {
        self.catching_panics(|current| {
            let mut writer = self.writer()?;
            let found = self.each_segment(current, &mut writer, progress, |task, writer, progress| {
                let SegmentTask { source, bounds, from, .. } = task;
                let mut sink = |out: &[u8]| writer.append(out);
                let found = rewrite_segment(source, bounds, from, self.max_output_size, rewrite, &mut sink, progress)?;
                if found.is_continue() {
                    rewrite.finish(&mut sink)?;
                }
                Ok(found)
            })?;
            let found = match found {
                ControlFlow::Continue(found) => found,
                ControlFlow::Break(broken) => return Ok(ControlFlow::Break(broken)),
            };
            let log = writer.close().map_err(|error| self.at(current.get(), error))?;
            Ok(ControlFlow::Continue((log, found)))
        })
    }

    /// Writes the intact part of the partition. Corrupt bytes are copied to the file `quarantine` of the new folder, if a name
    /// is given.
    ///
    /// # Errors
    /// An I/O error, or one that is not corruption; see [`Repairer::segment`].
    pub fn repair<B>(
        &self,
        quarantine: Option<&str>,
        progress: &mut Progress<'_, B>,
    ) -> Result<ControlFlow<B, RepairedPartition>, PartitionError> {
        self.catching_panics(|current| {
            let mut writer = self.writer()?;
            let mut repairer = Repairer::new(self.max_output_size, quarantine);
            let found = self.each_segment(current, &mut writer, progress, |task, writer, progress| {
                let SegmentTask { source, bounds, from, index } = task;
                let done = repairer.segment(source, index, bounds, from, writer, progress)?;
                Ok(done.map_continue(|sequence| SegmentRewritten { sequence, ..SegmentRewritten::default() }))
            })?;
            let findings = match found {
                ControlFlow::Continue(found) => found,
                ControlFlow::Break(broken) => return Ok(ControlFlow::Break(broken)),
            };
            let report = repairer.finish().map_err(|error| self.at(current.get(), error))?;
            let first_open_offset = writer.producers().first_open_offset();
            let log = writer.close().map_err(|error| self.at(current.get(), error))?;
            Ok(ControlFlow::Continue(RepairedPartition { log, first_open_offset, report, findings }))
        })
    }

    /// Calls `work` for each segment in order. `current` is set to the index of the segment.
    fn each_segment<B>(
        &self,
        current: &Cell<usize>,
        writer: &mut LogWriter,
        progress: &mut Progress<'_, B>,
        mut work: impl FnMut(
            SegmentTask<'_>,
            &mut LogWriter,
            &mut Progress<'_, B>,
        ) -> Result<ControlFlow<B, SegmentRewritten>, Error>,
    ) -> Result<ControlFlow<B, PartitionFindings>, PartitionError> {
        let mut done = 0_u64;
        let mut segments = SegmentsInOrder::new(self)?;
        while let Some(index) = segments.next_index() {
            current.set(index);
            let source = self.open(index)?;
            segments.compare(source.as_ref())?;
            let length = source.length().map_err(|error| self.at(index, ReadError::Io(error)))?;
            let base_offset = segments.base_offset().filter(|_| self.segment_bytes.is_none());
            let mut rewritten = || {
                if let Some(base_offset) = base_offset {
                    writer.begin_segment(base_offset)?;
                }
                work(segments.task(source.as_ref())?, writer, &mut |now| progress(done.saturating_add(now)))
            };
            match rewritten().map_err(|error| self.at(index, error))? {
                ControlFlow::Continue(found) => segments.add(found),
                ControlFlow::Break(broken) => return Ok(ControlFlow::Break(broken)),
            }
            done = done.saturating_add(length);
        }
        Ok(ControlFlow::Continue(segments.finish()))
    }
}
