//! Files of a partition in memory, read in several ways.

use std::io;
use std::sync::Arc;

use kafkacomp_arrow::lookup::split_boundaries::SplitBoundaries;
use kafkacomp_arrow::{Checkpoints, Partition, Segment, TransactionsIn};
use kafkacomp_log::map::LogFile;
use kafkacomp_log::read::segment_files::Sibling;
use kafkacomp_log::{Compaction, InMemory, OffsetPosition, OpenSegment, ReadAt, SideFile, SourceTraits};

use crate::truth::logs::{File, Log, PAGE, Random};

/// How the bytes are read: no answer may depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// From memory, without a copy.
    Slice,
    /// As a file.
    File,
    /// At most as many bytes at once.
    Pieces(usize),
}

impl Reading {
    pub fn any(random: &mut Random) -> Self {
        *random.choice(&[Self::Slice, Self::File, Self::Pieces(1000), Self::Pieces(61)])
    }
}

/// A segment file.
#[derive(Debug)]
pub struct Stored {
    pub base_offset: i64,
    name: Arc<str>,
    bytes: Arc<Vec<u8>>,
    pub index: Option<Vec<u8>>,
}

/// The folder of a partition.
#[derive(Debug, Clone)]
pub struct Folder {
    pub files: Arc<Vec<Stored>>,
    pub compaction: Compaction,
}

/// The offset indexes of a log, by the true names of its files.
pub struct Indexes(Vec<(i64, Vec<u8>)>);

impl Indexes {
    /// None, or an entry for each batch, or as few as a broker writes.
    pub fn of(random: &mut Random, log: &Log) -> Self {
        let interval = *random.choice(&[None, Some(0), Some(PAGE)]);
        let indexes = interval.map(|interval| log.files.iter().map(move |file| (file.name, index(file, interval))));
        Self(indexes.into_iter().flatten().collect())
    }
}

fn index(file: &File, interval: usize) -> Vec<u8> {
    let (mut entries, mut since) = (Vec::new(), 0);
    for (position, (offsets, bytes)) in &file.truth {
        let entry = OffsetPosition { offset: offsets.end() - 1, position: *position as u32 };
        if since > interval
            && let Some(entry) = entry.encode(file.name)
        {
            entries.extend_from_slice(&entry);
            since = 0;
        }
        since += bytes.len();
    }
    entries
}

impl Folder {
    /// Files with the indexes that they had.
    pub fn of(files: &[File], indexes: &Indexes, compaction: Compaction) -> Self {
        let stored = |file: &File| Stored {
            base_offset: file.name,
            name: Arc::from(format!("t-0/{:020}.log", file.name)),
            bytes: Arc::new(file.bytes.clone()),
            index: indexes.0.iter().find(|(name, _)| *name == file.true_name).map(|(_, index)| index.clone()),
        };
        Self { files: Arc::new(files.iter().map(stored).collect()), compaction }
    }

    /// The folder at a path, without its indexes.
    pub fn at(path: &std::path::Path, compaction: Compaction) -> Self {
        let names = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut logs: Vec<String> =
            names.filter(|name| std::path::Path::new(name).extension() == Some("log".as_ref())).collect();
        logs.sort();
        let stored = |name: String| Stored {
            base_offset: name.trim_end_matches(".log").parse().unwrap(),
            bytes: Arc::new(std::fs::read(path.join(&name)).unwrap()),
            name: Arc::from(name),
            index: None,
        };
        Self { files: Arc::new(logs.into_iter().map(stored).collect()), compaction }
    }

    pub fn opener(&self, index: usize, reading: Reading) -> InFolder {
        InFolder { folder: self.clone(), index, reading }
    }

    pub fn name(&self, index: usize) -> Arc<str> {
        Arc::clone(&self.files[index].name)
    }

    pub fn length(&self, index: usize) -> u64 {
        self.files[index].bytes.len() as u64
    }

    pub fn segment(&self, index: usize, reading: Reading) -> Segment {
        Segment {
            name: self.name(index),
            base_offset: Some(self.files[index].base_offset),
            files: Arc::new(self.opener(index, reading)),
            range: None,
            offsets: None,
            boundaries: SplitBoundaries::default(),
            active: false,
            size: self.length(index),
            transactions_in: TransactionsIn::default(),
        }
    }

    /// The partition, as a listing makes it.
    pub fn partition(&self, reading: Reading) -> Partition {
        let cleaned_to = match self.compaction {
            Compaction::To(offset) => Some(offset),
            _ => None,
        };
        Partition {
            topic: Some(Arc::from("t")),
            partition: Some(0),
            segments: (0..self.files.len()).map(|index| self.segment(index, reading)).collect(),
            checkpoints: Checkpoints { cleaned_to, ..Checkpoints::default() },
            is_misnamed: self.is_misnamed(),
            ..Partition::default()
        }
    }

    /// Whether the first header of a file has an offset that is not between its name and the next one, as listings determine it.
    pub fn is_misnamed(&self) -> bool {
        let following = self.files.iter().skip(1).map(|file| Some(file.base_offset)).chain([None]);
        self.files.iter().zip(following).any(|(file, following)| {
            let Some(head) = file.bytes.first_chunk::<17>() else { return false };
            let offset = i64::from_be_bytes(head[..8].try_into().unwrap());
            let size = i32::from_be_bytes(head[8..12].try_into().unwrap());
            let is_header = size > 0 && (0..=2).contains(&(head[16] as i8));
            is_header && (offset < file.base_offset || following.is_some_and(|next| offset >= next))
        })
    }

    /// The files as the map takes them.
    pub fn log_files<'o>(&self, openers: &'o [InFolder]) -> Vec<LogFile<'o>> {
        let named = self.files.iter().zip(openers);
        named.map(|(file, files)| LogFile { name: file.base_offset, files, valid: None }).collect()
    }

    pub fn openers(&self, reading: Reading) -> Vec<InFolder> {
        (0..self.files.len()).map(|index| self.opener(index, reading)).collect()
    }
}

/// A file of a folder.
#[derive(Debug, Clone)]
pub struct InFolder {
    folder: Folder,
    index: usize,
    reading: Reading,
}

impl InFolder {
    fn stored(&self) -> &Stored {
        &self.folder.files[self.index]
    }
}

impl OpenSegment for InFolder {
    fn open(&self) -> io::Result<Arc<dyn ReadAt>> {
        Ok(Arc::new(Source(Arc::clone(&self.stored().bytes), self.reading)))
    }

    fn side_file(&self, kind: SideFile) -> io::Result<Option<Vec<u8>>> {
        Ok(self.stored().index.clone().filter(|_| kind == SideFile::OffsetIndex))
    }

    fn is_local(&self) -> bool {
        true
    }

    fn siblings(&self) -> io::Result<Vec<Sibling>> {
        let sibling = |index: usize| {
            let files = self.folder.opener(index, self.reading);
            let Stored { base_offset, ref name, .. } = *files.stored();
            Sibling { name: Arc::clone(name), base_offset, files: Arc::new(files) }
        };
        Ok((0..self.folder.files.len()).map(sibling).collect())
    }
}

struct Source(Arc<Vec<u8>>, Reading);

impl ReadAt for Source {
    fn read_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
        let most = if let Reading::Pieces(most) = self.1 { most } else { buffer.len() };
        let size = buffer.len().min(most);
        InMemory(&self.0[..]).read_at(&mut buffer[..size], position)
    }

    fn traits(&self) -> SourceTraits<'_> {
        SourceTraits { bytes: Some(&self.0[..]).filter(|_| self.1 == Reading::Slice), ..SourceTraits::default() }
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.0.len() as u64)
    }
}
