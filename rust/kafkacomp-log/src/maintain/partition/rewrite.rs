//! Recompresses, merges, converts or repairs a partition.

use std::ops::ControlFlow;

use super::deliver::Progress;
use super::error::PartitionError;
use super::findings::PartitionFindings;
use super::job::PartitionJob;
use super::written::Written;
use crate::error::ContentError;
use crate::maintain::check_batch::{BatchChecker, Verdict};
use crate::maintain::repair::{RepairReport, Repairer};
use crate::maintain::rewrite::{Rewrite, Rewriter};
use crate::write::ClosedLog;

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
    /// Corruption in the source, files that have different records at an offset, an error of `rewrite`, or an I/O error.
    pub fn rewrite<B>(
        &self,
        rewrite: &mut Rewrite,
        progress: &mut Progress<'_, B>,
    ) -> Result<ControlFlow<B, (ClosedLog, PartitionFindings)>, PartitionError> {
        let target = Rewriter::new(rewrite, self.segment_bytes.is_none());
        let written = self.write(target, &mut |_, _| Ok(None), progress)?;
        Ok(written.map_continue(|Written { log, findings, .. }| (log, findings)))
    }

    /// Writes the intact part of the partition. Corrupt bytes are copied to the file `quarantine` of the new folder, if a name
    /// is given.
    ///
    /// # Errors
    /// An I/O error, or one that is not corruption: an exceeded limit, lack of memory, an unknown compression type.
    pub fn repair<B>(
        &self,
        quarantine: Option<&str>,
        progress: &mut Progress<'_, B>,
    ) -> Result<ControlFlow<B, RepairedPartition>, PartitionError> {
        let target = Repairer::new(self.max_output_size, quarantine, self.segment_bytes.is_none());
        let mut checker = BatchChecker::new(self.max_output_size);
        let written = self.write(
            target,
            &mut |_, batch| match checker.check(batch)?.0 {
                Verdict::Corrupt(error) => Ok(Some(ContentError::from(error))),
                Verdict::Intact | Verdict::HeaderChecksumFixed { .. } => Ok(None),
            },
            progress,
        )?;
        Ok(written.map_continue(|Written { log, first_open_offset, report, findings }| RepairedPartition {
            log,
            first_open_offset,
            report,
            findings,
        }))
    }
}
