//! A folder that appears whole or not at all: its files are written under another name beside it, brought to
//! the disk, and then the folder is renamed. What is killed before that leaves a folder of that other name.
//!
//! ```text
//! topic-0.0123456789abcdef0123456789abcdef-delete
//! ```
//! is how a broker names a partition's folder that it is about to delete: no reader takes it for a log, and a
//! broker that finds one in its log folder removes it.

use std::fs::{self, File};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::WriteError;

/// Bytes that are gathered before the operating system is called.
const BUFFER_SIZE: usize = 256 << 10;

/// A folder under way.
#[derive(Debug)]
pub struct Staging {
    target: PathBuf,
    folder: PathBuf,
    kept: bool,
}

impl Staging {
    /// A new folder that is to become `target`, whose parent is made if it is not there.
    ///
    /// # Errors
    /// `target` exists, or the operating system refuses.
    pub fn new(target: &Path) -> Result<Self, WriteError> {
        refuse_existing(target)?;
        let parent = parent_of(target);
        fs::create_dir_all(parent).map_err(|error| WriteError::io(parent, error))?;
        let mut name = target.file_name().map(ToOwned::to_owned).unwrap_or_default();
        name.push(format!(".{:016x}{:016x}-delete", random(), random()));
        let folder = parent.join(name);
        fs::create_dir(&folder).map_err(|error| WriteError::io(&folder, error))?;
        Ok(Self { target: target.to_owned(), folder, kept: false })
    }

    /// Where the files lie until then.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// A new file in the folder.
    ///
    /// # Errors
    /// The operating system refuses.
    pub fn create(&self, name: &str) -> Result<StagedFile, WriteError> {
        let path = self.folder.join(name);
        let file = File::create_new(&path).map_err(|error| WriteError::io(&path, error))?;
        Ok(StagedFile { file: io::BufWriter::with_capacity(BUFFER_SIZE, file), path })
    }

    /// A whole new file in the folder.
    ///
    /// # Errors
    /// The operating system refuses.
    pub fn write(&self, name: &str, content: &[u8]) -> Result<(), WriteError> {
        let mut file = self.create(name)?;
        file.append(content)?;
        file.finish()
    }

    /// Brings the folder to the disk and gives it its name.
    ///
    /// # Errors
    /// The target exists by now, or the operating system refuses; the folder is gone then.
    pub fn publish(mut self) -> Result<(), WriteError> {
        sync_folder(&self.folder)?;
        // A folder that is there and empty would be replaced.
        refuse_existing(&self.target)?;
        fs::rename(&self.folder, &self.target).map_err(|error| WriteError::io(&self.target, error))?;
        self.kept = true;
        sync_folder(parent_of(&self.target))
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        if !self.kept {
            // There is nobody to tell; what is left is not taken for a log.
            drop(fs::remove_dir_all(&self.folder));
        }
    }
}

/// A file of a folder under way.
#[derive(Debug)]
pub struct StagedFile {
    file: io::BufWriter<File>,
    path: PathBuf,
}

impl StagedFile {
    /// Appends `data`.
    ///
    /// # Errors
    /// The operating system refuses.
    pub fn append(&mut self, data: &[u8]) -> Result<(), WriteError> {
        self.file.write_all(data).map_err(|error| WriteError::io(&self.path, error))
    }

    /// Brings the file to the disk.
    ///
    /// # Errors
    /// The operating system refuses.
    pub fn finish(self) -> Result<(), WriteError> {
        let Self { file, path } = self;
        let file = file.into_inner().map_err(io::IntoInnerError::into_error);
        file.and_then(|file| file.sync_all()).map_err(|error| WriteError::io(&path, error))
    }
}

fn refuse_existing(target: &Path) -> Result<(), WriteError> {
    match target.symlink_metadata() {
        Ok(_) => Err(WriteError::Exists { path: target.to_owned() }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(WriteError::io(target, error)),
    }
}

/// The parent folder; the present one for a bare name.
fn parent_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Brings a folder's names to the disk. Windows cannot open a folder, and needs none of it.
fn sync_folder(folder: &Path) -> Result<(), WriteError> {
    if cfg!(unix) {
        File::open(folder).and_then(|file| file.sync_all()).map_err(|error| WriteError::io(folder, error))?;
    }
    Ok(())
}

/// A number that no other process and no other call gives: the seed of the standard library's hash maps.
fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}
