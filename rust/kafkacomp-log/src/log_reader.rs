//! The records of a partition's folder, one after another.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::{iter, vec};

use kafkacomp_records::limits::Limits;
use kafkacomp_records::memory;
use kafkacomp_records::record::{OwnedRecord, RecordBatches};

use crate::continuity::compaction::Compaction;
use crate::continuity::missing::{MissingRange, MissingReason};
use crate::error::{Error, ReadError};
use crate::listing::{All, ListError, ListedPartition, ListedSegment, LocalStore, list_folder};
use crate::map::{ByteRange, FileError, LogFile, LogMap, SurveyedLog, map_of};
use crate::read::local_segment::LocalSegment;
use crate::read::segment_files::Sibling;
use crate::read::source::{ReadAt, read_full};

/// The most bytes that are read at once, unless a batch is larger.
const CHUNK: u64 = 1 << 20;

/// Iterates over the records of a log: those of the partition whose folder it opens, in the order of their offsets.
///
/// Opening verifies all batches and judges which of them belong to the log ([`map`](crate::map)): copies and batches of other logs
/// are left out, and records are returned at the offsets that the log has them at. Where offsets are missing, unless compaction
/// removed them, an error says so, and the iteration continues after them. Records of aborted transactions are returned.
///
/// ```no_run
/// use kafkacomp_log::LogReader;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// for record in LogReader::open("/var/lib/kafka/orders-0")? {
///     let record = record?;
///     println!("{}: {:?}", record.offset, record.value);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct LogReader {
    segments: Vec<Sibling>,
    steps: vec::IntoIter<Step>,
    records: RecordBatches,
    /// The file that was read last, which stays open.
    open: Option<(usize, OpenFile)>,
}

/// A segment that is open.
struct OpenFile(Arc<dyn ReadAt>);

impl std::fmt::Debug for OpenFile {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("OpenFile")
    }
}

/// Why a record cannot be returned.
#[derive(Debug, thiserror::Error)]
pub enum LogReaderError {
    /// A batch or a file cannot be read.
    #[error(transparent)]
    Log(#[from] Error),
    /// The log lacks offsets.
    #[error("offsets {} to {} are missing: {}", .0.first_offset, .0.last_offset, .0.reason.name())]
    Missing(MissingRange),
}

/// What is done next.
#[derive(Debug)]
enum Step {
    /// Read the batches in `bytes` of a file. If there is `restored`, it is one batch, whose offset field must be this.
    Read {
        file: usize,
        bytes: ByteRange,
        restored: Option<i64>,
    },
    Missing(MissingRange),
}

impl LogReader {
    /// Opens a partition's folder.
    ///
    /// # Errors
    /// The folder has no segment, or a file cannot be read.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self, LogReaderError> {
        Self::with_limits(folder, Limits::default())
    }

    /// Opens a partition's folder; a batch that exceeds `limits` is an error.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    pub fn with_limits(folder: impl AsRef<Path>, limits: Limits) -> Result<Self, LogReaderError> {
        let folder = folder.as_ref();
        let listing = list_folder(&LocalStore, folder, &All, false).map_err(|error| match error {
            ListError::Io { path, error } => Error::io(&path, error),
            other => Error::io(folder, io::Error::new(io::ErrorKind::InvalidData, other.to_string())),
        })?;
        // A folder of folders is not that of a partition.
        let own = |partition: &ListedPartition| {
            partition.segments.first().is_some_and(|one| one.path.parent() == Some(folder))
        };
        let Some(partition) = listing.partitions.into_iter().find(own) else {
            let error = io::Error::new(io::ErrorKind::NotFound, "the folder has no segment");
            return Err(Error::io(folder, error).into());
        };
        let segments: Vec<Sibling> = partition.segments.into_iter().filter_map(sibling).collect();
        let topic = partition.owner.map(|(topic, _)| topic);
        let steps = steps(&segments, topic.as_deref(), limits)?;
        let records = RecordBatches::new(Vec::new(), limits);
        Ok(Self { segments, steps: steps.into_iter(), records, open: None })
    }

    /// Reads the bytes of a step.
    fn read(&mut self, file: usize, bytes: ByteRange, restored: Option<i64>) -> Result<(), Error> {
        let Some(segment) = self.segments.get(file) else { return Ok(()) };
        let path = Path::new(&*segment.name);
        let source = match &self.open {
            Some((open, source)) if *open == file => Arc::clone(&source.0),
            _ => segment.files.open().map_err(|error| Error::io(path, error))?,
        };
        self.open = Some((file, OpenFile(Arc::clone(&source))));
        let length = usize::try_from(bytes.len()).unwrap_or(usize::MAX);
        let mut data = memory::zeroed(length).map_err(|error| Error::io(path, error.into()))?;
        let read = read_full(source.as_ref(), &mut data, bytes.start()).map_err(|error| Error::io(path, error))?;
        if read < length {
            let shrunk = ReadError::Shrunk { length: bytes.start() + read as u64, expected: bytes.end() };
            return Err(Error::from(shrunk).in_file(path));
        }
        if let (Some(offset), Some(field)) = (restored, data.first_chunk_mut()) {
            *field = offset.to_be_bytes();
        }
        self.records.continue_with(data, bytes.start());
        Ok(())
    }
}

impl Iterator for LogReader {
    type Item = Result<OwnedRecord, LogReaderError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(record) = self.records.next() {
                return Some(record.map_err(|error| LogReaderError::Log(error.into())));
            }
            match self.steps.next()? {
                Step::Missing(range) => return Some(Err(LogReaderError::Missing(range))),
                Step::Read { file, bytes, restored } => {
                    if let Err(error) = self.read(file, bytes, restored) {
                        return Some(Err(error.into()));
                    }
                }
            }
        }
    }
}

fn sibling(segment: ListedSegment) -> Option<Sibling> {
    let name = Arc::from(segment.path.to_string_lossy());
    Some(Sibling { name, base_offset: segment.base_offset?, files: Arc::new(LocalSegment(segment.path)) })
}

/// What is read and what is missing, in the order of offsets.
fn steps(segments: &[Sibling], topic: Option<&str>, limits: Limits) -> Result<Vec<Step>, Error> {
    let in_file = |error: FileError| match segments.get(error.file) {
        Some(segment) => error.error.in_file(Path::new(&*segment.name)),
        None => error.error,
    };
    let files: Vec<LogFile<'_>> = segments.iter().map(log_file).collect();
    let surveyed = SurveyedLog::verified(&files, limits.output_size(), &mut |_, _| Ok(None)).map_err(in_file)?;
    let facts = surveyed.facts();
    let mut records = surveyed.records(limits.output_size());
    let map = map_of(&facts, Compaction::of(topic, None), &mut records)?;
    let mut missing = missing(&map).peekable();
    let mut steps = Vec::new();
    for placement in map.in_offset_order() {
        let Some(batch) = map.batch(placement.id) else { continue };
        let start = placement.offsets.start();
        while let Some(range) = missing.next_if(|range| range.first_offset < start) {
            memory::push(&mut steps, Step::Missing(range))?;
        }
        let (file, bytes) = (placement.id.file, batch.bytes());
        let is_restored = batch.offsets() != placement.offsets;
        // The field of a wrapper is its last offset.
        let field = if batch.magic() < 2 { placement.offsets.end() - 1 } else { start };
        match steps.last_mut() {
            Some(Step::Read { file: of, bytes: before, restored: None })
                if !is_restored && *of == file && before.end() == bytes.start() && before.len() < CHUNK =>
            {
                *before = before.through(bytes);
            }
            _ => memory::push(&mut steps, Step::Read { file, bytes, restored: is_restored.then_some(field) })?,
        }
    }
    for range in missing {
        memory::push(&mut steps, Step::Missing(range))?;
    }
    Ok(steps)
}

fn log_file(segment: &Sibling) -> LogFile<'_> {
    LogFile { name: segment.base_offset, files: segment.files.as_ref(), valid: None }
}

/// What is missing and not compacted. Parts of a range that several files have are one.
fn missing(map: &LogMap<'_>) -> impl Iterator<Item = MissingRange> {
    let parts = map.missing().iter().filter(|missing| missing.reason != MissingReason::Compacted);
    let mut parts = parts
        .map(|missing| MissingRange {
            first_offset: missing.offsets.start(),
            last_offset: missing.offsets.end() - 1,
            reason: missing.reason,
        })
        .peekable();
    iter::from_fn(move || {
        let mut range = parts.next()?;
        while let Some(next) = parts.next_if(|next| range.continues_with(next)) {
            range.last_offset = next.last_offset;
        }
        Some(range)
    })
}
