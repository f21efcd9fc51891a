//! A segment that was opened to see what it is, and stays open until it is read.
//!
//! Names decide which files are segments, and their first bytes whether the names may be right. Readers open every segment again, so
//! the file is kept: a segment is opened once. What is kept is limited, because a partition may have more segments than a process may
//! open. Before it is used, the path is looked up: a file that was deleted or replaced in the meantime is opened anew.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use kafkacomp_records::record::batch::HEADER_SIZE_UP_TO_MAGIC;

use super::container::Container;
use crate::read::local_segment::LocalSegment;
use crate::read::segment_files::{OpenSegment, Sibling, SideFile};
use crate::read::source::{ReadAt, open_file, read_full};

/// The most files that a process keeps open.
const MOST_KEPT: usize = 256;
static KEPT: AtomicUsize = AtomicUsize::new(0);

/// The first bytes of a file that are compared with those of archives and compressed files.
const MAGIC_BYTES: usize = 8;

/// A local segment whose first bytes were read.
#[derive(Debug)]
pub struct InspectedSegment {
    segment: LocalSegment,
    head: [u8; HEADER_SIZE_UP_TO_MAGIC],
    length: usize,
    kept: Mutex<Option<Kept>>,
}

/// A file that counts among those that are kept.
#[derive(Debug)]
struct Kept(Arc<File>);

impl Kept {
    fn new(file: File) -> Option<Self> {
        let kept =
            KEPT.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |kept| (kept < MOST_KEPT).then_some(kept + 1));
        kept.is_ok().then(|| Self(Arc::new(file)))
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        KEPT.fetch_sub(1, Ordering::Relaxed);
    }
}

impl InspectedSegment {
    /// Opens a segment and reads its first bytes. One that cannot be read has none; the error comes when it is read.
    pub fn open(path: &Path) -> Self {
        let mut head = [0; HEADER_SIZE_UP_TO_MAGIC];
        let read = open_file(path).and_then(|file| Ok((read_full(&file, &mut head, 0)?, file)));
        let (length, kept) = read.map_or((0, None), |(length, file)| (length, Kept::new(file)));
        Self { segment: LocalSegment(path.to_owned()), head, length, kept: Mutex::new(kept) }
    }

    /// What the file is, if it is an archive or a compressed file.
    pub fn container(&self) -> Option<Container> {
        Container::of_content(self.head.get(..self.length.min(MAGIC_BYTES))?)
    }

    /// Whether the segment may have its name: its first batch has offsets from `base` to the next name.
    ///
    /// What is not the header of a batch shows nothing. That of a compressed message has its last offset.
    pub fn may_begin(&self, base: i64, next: Option<i64>) -> bool {
        let field = |at: usize| self.head.get(at..).and_then(<[u8]>::first_chunk::<4>).copied();
        let offset = self.head.first_chunk::<8>().copied().map(i64::from_be_bytes);
        let (Some(offset), Some(size)) = (offset, field(8).map(i32::from_be_bytes)) else { return true };
        let is_batch = self.length == self.head.len() && size > 0 && self.head.last().is_some_and(|magic| *magic <= 2);
        !is_batch || (base <= offset && next.is_none_or(|next| offset < next || base == next))
    }

    /// The file, if it is kept and still the one at the path.
    fn take(&self) -> Option<Arc<File>> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        is_same(&fs::metadata(&self.segment.0).ok()?, &kept.0.metadata().ok()?).then(|| Arc::clone(&kept.0))
    }
}

#[cfg(unix)]
fn is_same(one: &fs::Metadata, other: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;

    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

/// Elsewhere, nothing identifies a file.
#[cfg(not(unix))]
fn is_same(_: &fs::Metadata, _: &fs::Metadata) -> bool {
    false
}

impl OpenSegment for InspectedSegment {
    fn open(&self) -> io::Result<Arc<dyn ReadAt>> {
        match self.take() {
            Some(file) => Ok(file),
            None => self.segment.open(),
        }
    }

    fn side_file(&self, kind: SideFile) -> io::Result<Option<Vec<u8>>> {
        self.segment.side_file(kind)
    }

    fn open_side_file(&self, kind: SideFile) -> io::Result<Option<Arc<dyn ReadAt>>> {
        self.segment.open_side_file(kind)
    }

    fn is_local(&self) -> bool {
        true
    }

    fn siblings(&self) -> io::Result<Vec<Sibling>> {
        self.segment.siblings()
    }
}

/// Whether the first batch of one of the segments, in the order of their names, has offsets that it should not have by its name.
pub fn are_misnamed(segments: &[(Option<i64>, &InspectedSegment)]) -> bool {
    let following = segments.iter().skip(1).map(|(base, _)| *base).chain([None]);
    segments
        .iter()
        .zip(following)
        .any(|((base, segment), next)| base.is_some_and(|base| !segment.may_begin(base, next)))
}
