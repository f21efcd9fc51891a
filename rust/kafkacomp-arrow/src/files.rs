//! Segments in the local file system and in memory.

use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use kafkacomp_core::log::{InMemory, ReadAt};

use crate::options::{OpenSegment, Segment, SideFile};
use crate::seams::Seams;

/// A segment at a path; its side files lie beside it under the same name.
#[derive(Debug, Clone)]
pub struct LocalSegment(pub PathBuf);

impl OpenSegment for LocalSegment {
    fn open(&self) -> io::Result<Arc<dyn ReadAt>> {
        Ok(Arc::new(File::open(&self.0)?))
    }

    fn side_file(&self, kind: SideFile) -> io::Result<Option<Vec<u8>>> {
        match fs::read(self.0.with_extension(kind.suffix())) {
            Ok(data) => Ok(Some(data)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// A record set in memory.
#[derive(Debug, Clone)]
pub struct MemorySegment<T>(pub Arc<T>);

impl<T: AsRef<[u8]> + Send + Sync + std::fmt::Debug + 'static> MemorySegment<T> {
    /// All of it as a closed segment that begins at offset 0.
    pub fn whole(self, name: &str) -> Segment {
        Segment {
            name: Arc::from(name),
            base_offset: Some(0),
            files: Arc::new(self),
            range: None,
            seams: Seams::default(),
            active: false,
            may_be_cut: false,
        }
    }
}

impl<T: AsRef<[u8]> + Send + Sync + std::fmt::Debug + 'static> OpenSegment for MemorySegment<T> {
    fn open(&self) -> io::Result<Arc<dyn ReadAt>> {
        Ok(Arc::new(InMemory(SharedBytes(Arc::clone(&self.0)))))
    }

    fn side_file(&self, _: SideFile) -> io::Result<Option<Vec<u8>>> {
        Ok(None)
    }
}

struct SharedBytes<T>(Arc<T>);

impl<T: AsRef<[u8]>> AsRef<[u8]> for SharedBytes<T> {
    fn as_ref(&self) -> &[u8] {
        (*self.0).as_ref()
    }
}
