//! The files by which a partition is judged.

use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::Arc;

use kafkacomp_log::map::{LogFile, OffsetRange};
use kafkacomp_log::read::segment_files::Sibling;
use kafkacomp_log::{MemorySegment, OpenSegment, ReadAt, SideFile, SourceTraits};

use crate::lookup::segment_ends::end_offset;
use crate::options::{OnError, Partition, ScanOptions, Segment};
use crate::report::ScanError;
use crate::source::unreadable::SkipUnreadable;

/// The files of a partition in the order of their names.
pub(super) struct Files<'p> {
    pub(super) opened: Vec<OpenedFile<'p>>,
}

pub(super) struct OpenedFile<'p> {
    /// Its index among the segments that are read and those of the context.
    pub(super) index: usize,
    pub(super) segment: &'p Segment,
    pub(super) name: i64,
    length: u64,
    /// The offset after its last one, if other files have the same name.
    end: Option<i64>,
    files: Box<dyn OpenSegment>,
    /// Why it cannot be opened.
    pub(super) error: Option<ScanError>,
}

impl<'p> Files<'p> {
    pub(super) fn of(partition: &'p Partition, options: &ScanOptions) -> Result<Self, ScanError> {
        let mut opened: Vec<OpenedFile<'p>> = Vec::new();
        let (mut known, mut counts) = (HashSet::new(), HashMap::<i64, usize>::new());
        for (index, segment) in partition.segments.iter().chain(&partition.context).enumerate() {
            if let Some(name) = segment.base_offset
                && known.insert((&segment.name, segment.offsets))
            {
                opened.push(OpenedFile::new(index, segment, name, options)?);
                *counts.entry(name).or_default() += 1;
            }
        }
        for each in opened.iter_mut().filter(|each| counts.get(&each.name).is_some_and(|&count| count > 1)) {
            each.end = end_offset(each.segment, options).ok().flatten();
        }
        // Of files with the same name, the last one is believed: the one with the most offsets.
        opened.sort_by(|one, other| {
            let key = |each: &OpenedFile<'_>| (each.name, each.end, each.length);
            key(one).cmp(&key(other)).then_with(|| one.segment.name.cmp(&other.segment.name))
        });
        Ok(Self { opened })
    }

    /// Ends a file where its bytes end; `None` if nothing is left out by that.
    pub(super) fn shorten(&mut self, segment: &Arc<str>) -> Option<u64> {
        let file = self.opened.iter_mut().find(|file| file.segment.name == *segment)?;
        let length = end_of(file.segment.files.open().ok()?.as_ref(), file.length).ok()?;
        if length >= file.length {
            return None;
        }
        file.length = length;
        file.files = Box::new(Readable { files: Arc::clone(&file.segment.files), length });
        Some(length)
    }

    pub(super) fn name(&self, file: usize) -> &Arc<str> {
        static NONE: std::sync::LazyLock<Arc<str>> = std::sync::LazyLock::new(|| Arc::from(""));
        self.opened.get(file).map_or(&NONE, |file| &file.segment.name)
    }
}

impl<'p> OpenedFile<'p> {
    fn new(index: usize, segment: &'p Segment, name: i64, options: &ScanOptions) -> Result<Self, ScanError> {
        let length = segment.files.open().and_then(|source| source.length());
        let files: Box<dyn OpenSegment> = Box::new(Readable { files: Arc::clone(&segment.files), length: u64::MAX });
        match length {
            Ok(length) => Ok(Self { index, segment, name, length, end: None, files, error: None }),
            Err(error) => {
                let error = ScanError::io(&segment.name, error);
                if options.on_error == OnError::Raise || error.skip_reason().is_none() {
                    return Err(error);
                }
                let files = Box::new(MemorySegment(Arc::new([0_u8; 0])));
                Ok(Self { index, segment, name, length: 0, end: None, files, error: Some(error) })
            }
        }
    }

    pub(super) fn log_file(&self) -> LogFile<'_> {
        let valid = self.segment.offsets.and_then(|(first, end)| OffsetRange::new(first, end));
        LogFile { name: self.name, files: self.files.as_ref(), valid }
    }
}

/// Where the bytes of a source end, which may be before the length that it states.
fn end_of(source: &dyn ReadAt, length: u64) -> io::Result<u64> {
    let (mut begin, mut end) = (0, length);
    while begin < end {
        let middle = begin + (end - begin) / 2;
        if source.read_at(&mut [0], middle)? > 0 {
            begin = middle + 1;
        } else {
            end = middle;
        }
    }
    Ok(end)
}

/// A segment whose unreadable bytes are corrupt ones, and of which at most so many bytes are read.
#[derive(Debug)]
struct Readable {
    files: Arc<dyn OpenSegment>,
    length: u64,
}

impl OpenSegment for Readable {
    fn open(&self) -> io::Result<Arc<dyn ReadAt>> {
        let source = SkipUnreadable::new(self.files.open()?);
        if self.length == u64::MAX {
            return Ok(Arc::new(source));
        }
        Ok(Arc::new(Shorter { source, length: self.length }))
    }

    fn side_file(&self, kind: SideFile) -> io::Result<Option<Vec<u8>>> {
        self.files.side_file(kind)
    }

    fn open_side_file(&self, kind: SideFile) -> io::Result<Option<Arc<dyn ReadAt>>> {
        self.files.open_side_file(kind)
    }

    fn siblings(&self) -> io::Result<Vec<Sibling>> {
        self.files.siblings()
    }
}

/// The beginning of a source.
struct Shorter {
    source: SkipUnreadable,
    length: u64,
}

impl ReadAt for Shorter {
    fn read_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
        let left = usize::try_from(self.length.saturating_sub(position)).unwrap_or(usize::MAX);
        let size = left.min(buffer.len());
        self.source.read_at(buffer.get_mut(..size).unwrap_or_default(), position)
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.source.length()?.min(self.length))
    }

    fn traits(&self) -> SourceTraits<'_> {
        let inner = self.source.traits();
        let end = usize::try_from(self.length).unwrap_or(usize::MAX);
        SourceTraits { bytes: inner.bytes.map(|all| all.get(..end).unwrap_or(all)), ahead: None, ..inner }
    }
}
