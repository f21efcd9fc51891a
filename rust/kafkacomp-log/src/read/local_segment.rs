//! Segments in the local file system.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::log_format::LogFormat;
use super::segment_files::{OpenSegment, Sibling, SideFile};
use super::source::{InMemory, ReadAt, open_file};
use crate::listing::names::{is_segment, leading_offset};
use kafkacomp_records::memory;

/// A segment at a path. Its index files are next to it and have the same name with other suffixes.
///
/// If a broker was killed while it replaced segments, the names of the new files end with `.swap`: all of them, or only the
/// indexes, which are renamed after the segment.
#[derive(Debug, Clone)]
pub struct LocalSegment(pub PathBuf);

impl OpenSegment for LocalSegment {
    fn open(&self) -> io::Result<Arc<dyn ReadAt>> {
        Ok(Arc::new(open_file(&self.0)?))
    }

    fn side_file(&self, kind: SideFile) -> io::Result<Option<Vec<u8>>> {
        if let SideFile::LeaderEpochCheckpoint = kind {
            return read_small(&self.0.with_file_name("leader-epoch-checkpoint"));
        }
        let swapped = self.0.extension().is_some_and(|extension| extension == SWAP);
        let name = if swapped { self.0.with_extension("") } else { self.0.clone() }.with_extension(kind.suffix());
        if !swapped && let Some(data) = read_small(&name)? {
            return Ok(Some(data));
        }
        let mut swap = name.into_os_string();
        swap.push(".");
        swap.push(SWAP);
        read_small(Path::new(&swap))
    }

    fn open_side_file(&self, kind: SideFile) -> io::Result<Option<Arc<dyn ReadAt>>> {
        match open_file(&self.0.with_extension(kind.suffix())) {
            Ok(file) => Ok(Some(Arc::new(file))),
            // It may have another name.
            Err(_) => Ok(self.side_file(kind)?.map(|data| Arc::new(InMemory(data)) as Arc<dyn ReadAt>)),
        }
    }

    fn is_local(&self) -> bool {
        true
    }

    fn siblings(&self) -> io::Result<Vec<Sibling>> {
        let Some(folder) = self.0.parent() else { return Ok(Vec::new()) };
        segments_of(if folder.as_os_str().is_empty() { Path::new(".") } else { folder }, &self.0)
    }
}

/// The segments in a folder, in any order. Their paths are next to `like`.
fn segments_of(folder: &Path, like: &Path) -> io::Result<Vec<Sibling>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        let text =
            name.to_str().filter(|name| is_segment(name) && LogFormat::of_name(name) == Some(LogFormat::Records));
        if let Some(base_offset) = text.and_then(leading_offset) {
            let path = like.with_file_name(&name);
            let name = Arc::from(path.to_string_lossy());
            found.push(Sibling { name, base_offset, files: Arc::new(LocalSegment(path)) });
        }
    }
    Ok(found)
}

/// The suffix of files that have not replaced others yet.
const SWAP: &str = "swap";

/// The most bytes of an index: enough for the batches of a segment of 2 GiB. Kafka's default of `segment.index.bytes` is
/// 10 MiB.
const MOST_BYTES: u64 = 256 << 20;

/// The content of a file, if it exists. A file that is too large for an index, such as a sparse one, is not read.
pub(crate) fn read_small(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let read = open_file(path).and_then(|file| {
        let size = file.metadata()?.len().min(MOST_BYTES).saturating_add(1);
        let mut data = memory::with_capacity(usize::try_from(size).unwrap_or(usize::MAX))?;
        file.take(MOST_BYTES.saturating_add(1)).read_to_end(&mut data)?;
        Ok(data)
    });
    match read {
        Ok(data) if data.len() as u64 > MOST_BYTES => {
            let text = format!("more than {} MiB, which no index has", MOST_BYTES >> 20);
            Err(io::Error::new(io::ErrorKind::FileTooLarge, text))
        }
        Ok(data) => Ok(Some(data)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
