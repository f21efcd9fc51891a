//! Frozen classes for the results of functions, if the package has no class for them.

use std::path::PathBuf;

use kafkacomp_arrow::build;
use kafkacomp_log::write::WriteReport;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::value::value_methods;

/// The log of a partition that was written.
#[pyclass(module = "kafkacomp._kafkacomp", frozen, get_all, eq)]
#[derive(Clone, PartialEq, Eq)]
pub struct WrittenLog {
    /// Segments.
    pub segments: u64,
    /// Batches.
    pub batches: u64,
    /// Bytes of all segments.
    pub bytes: u64,
    /// The base offset of the first segment.
    pub log_start_offset: i64,
    /// The offset after the last one.
    pub log_end_offset: i64,
}

value_methods!(WrittenLog { segments, batches, bytes, log_start_offset, log_end_offset });

impl From<WriteReport> for WrittenLog {
    fn from(report: WriteReport) -> Self {
        let WriteReport { segments, batches, bytes, log_start_offset, log_end_offset } = report;
        Self { segments, batches, bytes, log_start_offset, log_end_offset }
    }
}

/// A file of batches of one partition.
#[pyclass(module = "kafkacomp._kafkacomp", frozen, get_all, eq)]
#[derive(Clone, PartialEq, Eq)]
pub struct StagedFile {
    /// The topic.
    pub topic: String,
    /// The partition's number.
    pub partition: i32,
    /// The file.
    pub path: PathBuf,
    /// Its bytes.
    pub bytes: u64,
    /// Its batches.
    pub batches: u64,
    /// Its records.
    pub records: u64,
}

value_methods!(StagedFile { topic, partition, path, bytes, batches, records });

impl From<build::StagedFile> for StagedFile {
    fn from(file: build::StagedFile) -> Self {
        let build::StagedFile { topic, partition, path, bytes, batches, records } = file;
        Self { topic, partition, path, bytes, batches, records }
    }
}

/// The findings in the segments of a partition that was rewritten.
#[pyclass(module = "kafkacomp._kafkacomp", frozen, get_all)]
pub struct PartitionFindings {
    /// Offsets that the partition lacks: `MissingRange` objects.
    pub missing: Py<PyTuple>,
    /// Further ranges.
    pub more_missing: u64,
    /// The offset up to which compaction explains missing offsets, if it has removed records.
    pub compacted_to: Option<i64>,
    /// Warnings.
    pub warnings: Vec<String>,
}

value_methods!(PartitionFindings { missing, more_missing, compacted_to, warnings });

/// Two segment files that have offsets in common.
#[pyclass(module = "kafkacomp._kafkacomp", frozen, get_all, eq)]
#[derive(Clone, PartialEq, Eq)]
pub struct Overlap {
    /// The index of the file with the lesser base offset.
    pub earlier: usize,
    /// The index of the other one.
    pub later: usize,
    /// The first offset that both may have.
    pub first_offset: i64,
    /// The last one.
    pub last_offset: i64,
}

value_methods!(Overlap { earlier, later, first_offset, last_offset });

/// Offsets that no file of a partition has.
#[pyclass(module = "kafkacomp._kafkacomp", frozen, get_all, eq)]
#[derive(Clone, PartialEq, Eq)]
pub struct MissingOffsets {
    /// The index of the file that should have them.
    pub file: usize,
    /// The first one.
    pub first_offset: i64,
    /// The last one.
    pub last_offset: i64,
    /// The reason.
    pub reason: &'static str,
}

value_methods!(MissingOffsets { file, first_offset, last_offset, reason });

/// How the segment files of a partition fit together.
#[pyclass(module = "kafkacomp._kafkacomp", frozen, get_all, eq)]
#[derive(Clone, PartialEq, Eq)]
pub struct PartitionOffsets {
    /// The offsets that the partition lacks.
    pub missing: Vec<MissingOffsets>,
    /// Further ranges.
    pub more_missing: u64,
    /// The number of offsets that at least one file has.
    pub covered: u64,
    /// The files that have offsets in common.
    pub overlaps: Vec<Overlap>,
}

value_methods!(PartitionOffsets { missing, more_missing, covered, overlaps });
