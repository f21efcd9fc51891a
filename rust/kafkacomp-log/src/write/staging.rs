//! Writes a folder that appears complete or not at all: its files are written to a temporary folder in the same parent and
//! synced, then the folder is renamed.
//!
//! ```text
//! kafkacomp-2.0123456789abcdef0123456789abcdef-delete
//! ```
//! is a name that a broker gives to a folder that it is about to delete: readers ignore it, and a broker that finds it in its
//! log directory removes it. The length of the name does not depend on the target.
//!
//! If the process is killed, the temporary folder remains. The writer holds a lock on it, which the system releases with the
//! process. The next writer in the same parent removes folders whose lock is free. On Windows, and on file systems that
//! cannot lock folders, they remain.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};

use crate::error::Error;

/// The size of the write buffer.
const BUFFER_SIZE: usize = 256 << 10;
/// The prefix and suffix of the names of temporary folders, with an id in between.
const PREFIX: &str = "kafkacomp-2.";
const SUFFIX: &str = "-delete";
/// The number of names that are tried for a folder.
const ATTEMPTS: usize = 16;

/// A folder that is being written.
#[derive(Debug)]
pub struct Staging {
    target: PathBuf,
    folder: PathBuf,
    /// The lock, held until the folder is renamed or removed.
    _lock: Option<File>,
    /// The process that writes it; a forked child does not remove it.
    process: u32,
    kept: bool,
}

impl Staging {
    /// Creates a temporary folder for `target`, and the parent of `target` if it does not exist. Abandoned temporary folders
    /// in the parent are removed.
    ///
    /// # Errors
    /// `target` exists, or an I/O error.
    pub fn new(target: &Path) -> Result<Self, Error> {
        refuse_existing(target)?;
        let parent = parent_of(target);
        fs::create_dir_all(parent).map_err(|error| Error::io(parent, error))?;
        remove_abandoned(target);
        let (folder, lock) = create(parent)?;
        Ok(Self { target: target.to_owned(), folder, _lock: lock, process: std::process::id(), kept: false })
    }

    /// The temporary folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Creates a file in the folder.
    ///
    /// # Errors
    /// An I/O error, with the path in the target.
    pub fn create(&self, name: &str) -> Result<StagedFile, Error> {
        let path = self.target.join(name);
        let file = File::create_new(self.folder.join(name)).map_err(|error| Error::io(&path, error))?;
        Ok(StagedFile { file: io::BufWriter::with_capacity(BUFFER_SIZE, file), path })
    }

    /// Writes and syncs a new file in the folder.
    ///
    /// # Errors
    /// An I/O error.
    pub fn write(&self, name: &str, content: &[u8]) -> Result<(), Error> {
        let mut file = self.create(name)?;
        file.append(content)?;
        file.finish()
    }

    /// Syncs the folder and renames it to the target.
    ///
    /// # Errors
    /// The target was created in the meantime, or an I/O error; the folder is removed.
    pub fn publish(mut self) -> Result<(), Error> {
        sync(&self.folder).map_err(|error| Error::io(&self.target, error))?;
        // Renaming would replace an empty folder.
        refuse_existing(&self.target)?;
        fs::rename(&self.folder, &self.target).map_err(|error| Error::io(&self.target, error))?;
        self.kept = true;
        let parent = parent_of(&self.target);
        sync(parent).map_err(|error| Error::io(parent, error))
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        if !self.kept && self.process == std::process::id() {
            // `drop` cannot return an error; readers ignore what remains.
            drop(fs::remove_dir_all(&self.folder));
        }
    }
}

/// A file in the temporary folder.
#[derive(Debug)]
pub struct StagedFile {
    file: io::BufWriter<File>,
    /// Its path in the target.
    path: PathBuf,
}

impl StagedFile {
    /// Appends `data`.
    ///
    /// # Errors
    /// An I/O error.
    pub fn append(&mut self, data: &[u8]) -> Result<(), Error> {
        self.file.write_all(data).map_err(|error| Error::io(&self.path, error))
    }

    /// Flushes and syncs the file.
    ///
    /// # Errors
    /// An I/O error.
    pub fn finish(self) -> Result<(), Error> {
        let Self { file, path } = self;
        let file = file.into_inner().map_err(io::IntoInnerError::into_error);
        file.and_then(|file| file.sync_all()).map_err(|error| Error::io(&path, error))
    }
}

fn refuse_existing(target: &Path) -> Result<(), Error> {
    match target.symlink_metadata() {
        Ok(_) => Err(Error::Exists { path: target.to_owned() }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(Error::io(target, error)),
    }
}

/// The parent folder; `.` for a bare name.
fn parent_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Syncs the entries of a folder. Windows cannot open a folder and does not need this.
fn sync(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

/// Creates a folder in `parent` and locks it, if the file system supports locks.
fn create(parent: &Path) -> Result<(PathBuf, Option<File>), Error> {
    for _ in 0..ATTEMPTS {
        let id = random_id().map_err(|error| Error::io(parent, error))?;
        let folder = parent.join(format!("{PREFIX}{id:032x}{SUFFIX}"));
        match fs::create_dir(&folder) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            Err(error) => return Err(Error::io(&folder, error)),
        }
        match lock(&folder) {
            Lock::Held(lock) => return Ok((folder, Some(lock))),
            Lock::Unsupported => return Ok((folder, None)),
            // Another process has taken it for abandoned before it was locked.
            Lock::Taken => {}
        }
    }
    let reason = "no name for a new folder: others exist or were removed at once";
    Err(Error::io(parent, io::Error::new(io::ErrorKind::AlreadyExists, reason)))
}

/// Removes the temporary folders next to `target` that processes have left which have ended. Errors are ignored. A run calls it
/// at its beginning, so that it removes them even if it fails.
pub fn remove_abandoned(target: &Path) {
    let parent = parent_of(target);
    if is_staged(parent) {
        return;
    }
    let Ok(entries) = fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        let is_ours = entry.file_name().to_str().is_some_and(is_staging_name);
        // The type of the entry itself: symbolic links are not followed.
        if is_ours && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            let folder = entry.path();
            if let Lock::Held(_lock) = lock(&folder) {
                drop(fs::remove_dir_all(&folder));
            }
        }
    }
}

fn is_staging_name(name: &str) -> bool {
    let id = name.strip_prefix(PREFIX).and_then(|rest| rest.strip_suffix(SUFFIX));
    id.is_some_and(|id| id.len() == 32 && id.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')))
}

/// Whether a folder is inside a temporary one. That one is removed as a whole, and nothing in it is older than its writer.
fn is_staged(folder: &Path) -> bool {
    folder.components().any(|component| {
        let Component::Normal(name) = component else { return false };
        name.to_str().is_some_and(|name| name.starts_with("kafkacomp-") && name.ends_with(SUFFIX))
    })
}

/// The result of locking a folder.
enum Lock {
    /// The lock is held as long as the file is open.
    Held(File),
    /// Another process holds it, or has removed the folder.
    Taken,
    /// The file system has no locks.
    Unsupported,
}

#[cfg(unix)]
fn lock(folder: &Path) -> Lock {
    use std::os::unix::fs::MetadataExt;

    let file = match File::open(folder) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Lock::Taken,
        Err(_) => return Lock::Unsupported,
    };
    match file.try_lock() {
        Ok(()) => {}
        Err(fs::TryLockError::WouldBlock) => return Lock::Taken,
        Err(fs::TryLockError::Error(_)) => return Lock::Unsupported,
    }
    // The name must still belong to the folder that was locked, without following a link.
    match (folder.symlink_metadata(), file.metadata()) {
        (Ok(named), Ok(locked)) if (named.dev(), named.ino()) == (locked.dev(), locked.ino()) => Lock::Held(file),
        _ => Lock::Taken,
    }
}

/// Windows does not open a folder as a file.
#[cfg(not(unix))]
fn lock(_folder: &Path) -> Lock {
    Lock::Unsupported
}

/// A number of the system's random generator: one seeded by the process would repeat after a fork.
fn random_id() -> io::Result<u128> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(u128::from_le_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::{PREFIX, SUFFIX, Staging, is_staging_name};
    use std::fs;
    use std::path::{Path, PathBuf};

    /// A folder for a test, removed at its end.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("kafkacomp-staging-{name}-{}", std::process::id()));
            drop(fs::remove_dir_all(&path));
            fs::create_dir_all(&path).unwrap();
            Self(path)
        }

        fn names(&self) -> Vec<String> {
            let entries = fs::read_dir(&self.0).unwrap();
            let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
            names.sort();
            names
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).unwrap();
        }
    }

    fn abandoned(parent: &Path, id: char) -> PathBuf {
        let folder = parent.join(format!("{PREFIX}{}{SUFFIX}", id.to_string().repeat(32)));
        fs::create_dir_all(folder.join("t-0")).unwrap();
        fs::write(folder.join("t-0/00000000000000000000.log"), b"x").unwrap();
        folder
    }

    #[cfg(unix)]
    #[test]
    fn what_a_dead_process_left_is_removed_and_what_a_live_one_writes_is_not() {
        let folder = Folder::new("abandoned");
        let live = Staging::new(&folder.0.join("a")).unwrap();
        live.write("file", b"x").unwrap();
        abandoned(&folder.0, '0');
        let outside = Folder::new("outside");
        let kept = abandoned(&outside.0, '1');
        std::os::unix::fs::symlink(&kept, folder.0.join(kept.file_name().unwrap())).unwrap();
        fs::create_dir(folder.0.join("kafkacomp-2.0123-delete")).unwrap();
        let second = Staging::new(&folder.0.join("b")).unwrap();
        let mut expected = vec![
            kept.file_name().unwrap().to_str().unwrap().to_owned(),
            "kafkacomp-2.0123-delete".to_owned(),
            live.folder().file_name().unwrap().to_str().unwrap().to_owned(),
            second.folder().file_name().unwrap().to_str().unwrap().to_owned(),
        ];
        expected.sort();
        assert_eq!(folder.names(), expected);
        assert!(kept.join("t-0").exists());
        live.publish().unwrap();
        second.publish().unwrap();
        assert_eq!(fs::read(folder.0.join("a/file")).unwrap(), b"x");
        // A folder that is being written is not searched: what is in it is its writer's.
        let outer = Staging::new(&folder.0.join("c")).unwrap();
        let inside = abandoned(outer.folder(), '2');
        drop(Staging::new(&outer.folder().join("t-1")).unwrap());
        assert!(inside.exists());
    }

    #[test]
    fn names_are_short_and_differ() {
        let folder = Folder::new("names");
        let long = "x".repeat(255);
        let first = Staging::new(&folder.0.join(&long)).unwrap();
        let names = folder.names();
        assert!(names.iter().all(|name| is_staging_name(name) && name.len() == 51), "{names:?}");
        assert_ne!(first.folder(), Staging::new(&folder.0.join("y")).unwrap().folder());
        first.publish().unwrap();
        assert_eq!(folder.names(), [long]);
    }
}
