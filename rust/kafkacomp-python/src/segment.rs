//! Segments that Python opens: bytes, paths, and file objects of a file system.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use kafkacomp_arrow::files::{LocalSegment, MemorySegment};
use kafkacomp_arrow::seams::{Seam, Seams};
use kafkacomp_arrow::{Checkpoints, OpenSegment, Partition, Segment, SideFile};
use kafkacomp_core::log::{AbortedRange, ReadAt, TransactionFilter};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyString};

use crate::input::bytes_like;

/// A partition as Python gives it: topic, partition, bounds, segments, context, transactions, checkpoints.
pub type PartitionTuple<'py> = (
    Option<String>,
    Option<i32>,
    Option<i64>,
    Option<i64>,
    Vec<SegmentTuple<'py>>,
    Vec<SegmentTuple<'py>>,
    Known,
    CheckpointsTuple,
);

/// Log start offset, high watermark, and the offset up to which the log is compacted.
pub type CheckpointsTuple = (Option<i64>, Option<i64>, Option<i64>);

/// Transactions as they were found before: the first offset that is not stable, and aborted ones by producer id, first
/// and last offset.
pub type Transactions = (Option<i64>, Vec<(i64, i64, i64)>);

/// What is known of a partition's transactions.
pub type Known = Option<Transactions>;

/// A segment as Python gives it: name, base offset, path or bytes or opener, range, seams, whether it is active.
pub type SegmentTuple<'py> = (String, Option<i64>, Bound<'py, PyAny>, Option<(u64, u64)>, SeamsTuple, bool);

/// What a piece's ends are known by: the batch at the beginning and that behind the end by [`SeamTuple`], the segment's
/// length, where the next segment begins.
pub type SeamsTuple = Option<(Option<SeamTuple>, Option<SeamTuple>, u64, Option<i64>)>;

/// A batch's offset field, its size, and its first offset if that is known.
pub type SeamTuple = (i64, u64, Option<i64>);

/// Reads the partitions that a scan is given.
///
/// # Errors
/// `TypeError` for anything else.
pub fn partitions(tuples: Vec<PartitionTuple<'_>>) -> PyResult<Vec<Partition>> {
    tuples
        .into_iter()
        .map(|(topic, partition, start_offset, end_offset, segments, context, known, checkpoints)| {
            let (log_start_offset, high_watermark, cleaned_to) = checkpoints;
            Ok(Partition {
                topic: topic.map(Arc::from),
                partition,
                start_offset,
                end_offset,
                segments: segments.into_iter().map(segment).collect::<PyResult<_>>()?,
                context: context.into_iter().map(segment).collect::<PyResult<_>>()?,
                transactions: known.map(|known| Arc::new(filter_of(known))),
                checkpoints: Checkpoints { log_start_offset, high_watermark, cleaned_to },
            })
        })
        .collect()
}

fn filter_of((last_stable_offset, aborted): Transactions) -> TransactionFilter {
    let ranges = aborted
        .into_iter()
        .map(|(producer_id, first_offset, last_offset)| (producer_id, AbortedRange { first_offset, last_offset }));
    TransactionFilter::new(last_stable_offset, ranges)
}

/// Reads one segment.
///
/// # Errors
/// As [`partitions`].
pub fn segment((name, base_offset, source, range, known, active): SegmentTuple<'_>) -> PyResult<Segment> {
    let mut may_be_cut = false;
    let files: Arc<dyn OpenSegment> = if source.is_instance_of::<PyString>() {
        Arc::new(LocalSegment(source.extract::<PathBuf>()?))
    } else if source.hasattr("open_segment")? {
        Arc::new(PySegment { opener: source.unbind() })
    } else {
        may_be_cut = true;
        Arc::new(MemorySegment(Arc::new(SharedBytes(bytes_like(&source)?))))
    };
    let seam = |(offset, size, first_offset)| Seam { offset, size, first_offset };
    let seams = known.map_or_else(Seams::default, |(begin, end, length, next_base)| Seams {
        begin: begin.map(seam),
        end: end.map(seam),
        length,
        next_base,
    });
    Ok(Segment { name: Arc::from(name), base_offset, files, range, seams, active, may_be_cut })
}

struct SharedBytes(PyBackedBytes);

impl AsRef<[u8]> for SharedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl std::fmt::Debug for SharedBytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes", self.0.len())
    }
}

/// An object with `open_segment() -> file` and `side_file(suffix) -> bytes | None`.
#[derive(Debug)]
struct PySegment {
    opener: Py<PyAny>,
}

impl OpenSegment for PySegment {
    fn open(&self) -> io::Result<Arc<dyn ReadAt>> {
        Python::attach(|py| {
            let file = self.opener.call_method0(py, "open_segment")?;
            let length = file.call_method0(py, "size")?.extract(py)?;
            Ok::<_, PyErr>(Arc::new(PyFile { file, length }) as Arc<dyn ReadAt>)
        })
        .map_err(io::Error::other)
    }

    fn side_file(&self, kind: SideFile) -> io::Result<Option<Vec<u8>>> {
        Python::attach(|py| {
            let data = self.opener.call_method1(py, "side_file", (kind.suffix(),))?;
            data.extract::<Option<Vec<u8>>>(py)
        })
        .map_err(io::Error::other)
    }
}

/// An object with `read_at(nbytes, offset) -> bytes` and `size() -> int`, as pyarrow's files have them.
struct PyFile {
    file: Py<PyAny>,
    length: u64,
}

impl ReadAt for PyFile {
    fn read_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
        let wanted = (self.length.saturating_sub(position)).min(buffer.len() as u64);
        if wanted == 0 {
            return Ok(0);
        }
        Python::attach(|py| {
            let data = self.file.bind(py).call_method1("read_at", (wanted, position))?;
            let data = data.cast_into::<PyBytes>()?;
            let got = data.as_bytes();
            let count = got.len().min(buffer.len());
            for (to, from) in buffer.iter_mut().zip(got) {
                *to = *from;
            }
            Ok::<_, PyErr>(count)
        })
        .map_err(io::Error::other)
    }

    /// It may be far away.
    fn worth_reading(&self) -> usize {
        4 << 20
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.length)
    }
}
