//! Segments that check for an interrupt before each read: whether their scan was closed, or Ctrl-C was pressed.

use std::fmt::Debug;
use std::io;
use std::sync::Arc;

use kafkacomp_log::read::segment_files::Sibling;
use kafkacomp_log::{CheckInterrupt, OpenSegment, ReadAt, SideFile, SourceTraits};

use crate::options::Segment;

/// The check for an interrupt; an error ends the work on the segment.
pub trait Watch: Send + Sync + Debug {
    /// Called before a segment or index file is opened or read.
    ///
    /// # Errors
    /// The interruption.
    fn before_read(&self) -> io::Result<()> {
        Ok(())
    }

    /// Called at least once per megabyte, see [`SourceTraits::check_interrupt`].
    ///
    /// # Errors
    /// The interruption.
    fn check_interrupt(&self) -> io::Result<()>;
}

/// A segment that calls `watch`.
pub fn watched(segment: Segment, watch: &Arc<dyn Watch>) -> Segment {
    let files = Arc::new(WatchedFiles { inner: segment.files, watch: Arc::clone(watch) });
    Segment { files, ..segment }
}

#[derive(Debug)]
struct WatchedFiles {
    inner: Arc<dyn OpenSegment>,
    watch: Arc<dyn Watch>,
}

impl OpenSegment for WatchedFiles {
    fn open(&self) -> io::Result<Arc<dyn ReadAt>> {
        self.watch.before_read()?;
        Ok(Arc::new(Watched::new(self.inner.open()?, Arc::clone(&self.watch))))
    }

    fn side_file(&self, kind: SideFile) -> io::Result<Option<Vec<u8>>> {
        self.watch.before_read()?;
        self.inner.side_file(kind)
    }

    fn open_side_file(&self, kind: SideFile) -> io::Result<Option<Arc<dyn ReadAt>>> {
        self.watch.before_read()?;
        self.inner.open_side_file(kind)
    }

    fn may_be_truncated(&self) -> bool {
        self.inner.may_be_truncated()
    }

    fn is_local(&self) -> bool {
        self.inner.is_local()
    }

    fn siblings(&self) -> io::Result<Vec<Sibling>> {
        self.watch.before_read()?;
        let watch = |Sibling { name, base_offset, files }| {
            let files = Arc::new(Self { inner: files, watch: Arc::clone(&self.watch) });
            Sibling { name, base_offset, files }
        };
        Ok(self.inner.siblings()?.into_iter().map(watch).collect())
    }
}

/// A source that calls a watch.
pub struct Watched {
    inner: Arc<dyn ReadAt>,
    watch: Arc<dyn Watch>,
}

impl Watched {
    /// `inner`, as a source that calls `watch`.
    pub fn new(inner: Arc<dyn ReadAt>, watch: Arc<dyn Watch>) -> Self {
        Self { inner, watch }
    }
}

impl ReadAt for Watched {
    fn read_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
        self.watch.before_read()?;
        self.inner.read_at(buffer, position)
    }

    fn length(&self) -> io::Result<u64> {
        self.watch.before_read()?;
        self.inner.length()
    }

    fn traits(&self) -> SourceTraits<'_> {
        SourceTraits { ahead: None, interrupt: Some(self), ..self.inner.traits() }
    }
}

impl CheckInterrupt for Watched {
    fn check_interrupt(&self) -> io::Result<()> {
        self.watch.check_interrupt()?;
        self.inner.traits().check_interrupt()
    }
}
