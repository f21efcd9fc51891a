//! Where logs are stored: what listing them needs of a file system or an object store.

use std::fmt::Debug;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::read::local_segment::{LocalSegment, read_small};
use crate::read::segment_files::OpenSegment;
use crate::read::source::{ReadAt, open_file};

/// A file or folder of a [`Store`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its path in the store.
    pub path: PathBuf,
    /// Whether it is a folder, or in an object store a prefix of keys that ends with a slash.
    pub is_folder: bool,
    /// The bytes of a file; 0 for a folder.
    pub size: u64,
    /// Whether it is a link whose target does not exist.
    pub is_dangling: bool,
}

impl Entry {
    /// A file.
    pub fn file(path: impl Into<PathBuf>, size: u64) -> Self {
        Self { path: path.into(), is_folder: false, size, is_dangling: false }
    }

    /// A folder.
    pub fn folder(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), is_folder: true, size: 0, is_dangling: false }
    }
}

/// A file system or object store. Its paths are those of its entries; in an object store they are keys.
pub trait Store: Send + Sync + Debug {
    /// The entry of a path.
    ///
    /// # Errors
    /// `NotFound` if the path does not exist; otherwise an I/O error.
    fn entry(&self, path: &Path) -> io::Result<Entry>;

    /// The entries of a folder, in any order.
    ///
    /// # Errors
    /// `NotFound` if the folder does not exist; otherwise an I/O error.
    fn list(&self, folder: &Path) -> io::Result<Vec<Entry>>;

    /// The content of a small file, such as a checkpoint; `None` if it does not exist.
    ///
    /// # Errors
    /// An I/O error; `FileTooLarge` for a file of more than 256 MiB.
    fn read(&self, path: &Path) -> io::Result<Option<Vec<u8>>>;

    /// Opens a file for reads at positions.
    ///
    /// # Errors
    /// An I/O error.
    fn open(&self, path: &Path) -> io::Result<Arc<dyn ReadAt>>;

    /// A segment and the files next to it. Nothing is opened.
    ///
    /// # Errors
    /// An error of a store that is not in Rust.
    fn segment(&self, path: &Path) -> io::Result<Arc<dyn OpenSegment>>;

    /// What identifies a folder to which several links lead; `None` in stores without links.
    ///
    /// # Errors
    /// An I/O error other than that the folder does not exist.
    fn identity(&self, _folder: &Path) -> io::Result<Option<(u64, u64)>> {
        Ok(None)
    }
}

/// The local file system.
#[derive(Debug, Clone, Copy, Default)]
pub struct LocalStore;

impl Store for LocalStore {
    fn entry(&self, path: &Path) -> io::Result<Entry> {
        let metadata = fs::metadata(path)?;
        Ok(entry(path.to_owned(), &metadata))
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<Entry>> {
        let mut found = Vec::new();
        for listed in fs::read_dir(folder)? {
            let path = listed?.path();
            match fs::metadata(&path) {
                Ok(metadata) => found.push(entry(path, &metadata)),
                Err(error) if is_gone(&error) => {
                    // Of a segment, it is an error when it is opened. Otherwise the broker has deleted the file since.
                    if fs::symlink_metadata(&path).is_ok_and(|link| link.is_symlink()) {
                        found.push(Entry { is_dangling: true, ..Entry::file(path, 0) });
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Ok(found)
    }

    fn read(&self, path: &Path) -> io::Result<Option<Vec<u8>>> {
        read_small(path)
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn ReadAt>> {
        Ok(Arc::new(open_file(path)?))
    }

    fn segment(&self, path: &Path) -> io::Result<Arc<dyn OpenSegment>> {
        Ok(Arc::new(LocalSegment(path.to_owned())))
    }

    #[cfg(unix)]
    fn identity(&self, folder: &Path) -> io::Result<Option<(u64, u64)>> {
        use std::os::unix::fs::MetadataExt;

        match fs::metadata(folder) {
            Ok(metadata) => Ok(Some((metadata.dev(), metadata.ino()))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

fn entry(path: PathBuf, metadata: &fs::Metadata) -> Entry {
    if metadata.is_dir() { Entry::folder(path) } else { Entry::file(path, metadata.len()) }
}

/// Whether a file was deleted, or a link leads nowhere or to itself.
fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound) || error.raw_os_error() == Some(ELOOP)
}

/// The value of Linux; the BSDs have another one, where such a link is an error.
const ELOOP: i32 = if cfg!(target_os = "linux") { 40 } else { 62 };
