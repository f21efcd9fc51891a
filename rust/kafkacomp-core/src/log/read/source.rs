//! Where the bytes of a segment come from: positional reads, never a map. A live log that shrinks under a
//! map is a SIGBUS; under a positional read it is an error that names the file.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use crate::memory;

/// Something with bytes at positions. Reads are independent of one another, so that threads can share it.
pub trait ReadAt: Send + Sync {
    /// Reads up to `buffer.len()` bytes at `position`; 0 only at the end or for an empty buffer.
    ///
    /// # Errors
    /// Whatever the file system says.
    fn read_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize>;

    /// All the bytes, where they lie in memory already and need not be copied to be read.
    fn as_slice(&self) -> Option<&[u8]> {
        None
    }

    /// The bytes that take about as long to read as a read takes to begin: fewer are worth reading in vain.
    fn worth_reading(&self) -> usize {
        4 << 10
    }

    /// Whether a read is a request that takes long, so that it is better to trust an index that agrees with what was read than
    /// to go from header to header.
    fn is_remote(&self) -> bool {
        self.worth_reading() > 64 << 10
    }

    /// The size of the chunks that the source is stored in, each of which is fetched whole; 1 if it is not stored in chunks.
    fn chunk_size(&self) -> u64 {
        1
    }

    /// Called at least once for each megabyte that is gone through, by everything that may take long. An error ends it;
    /// for a source whose reader may be interrupted or closed.
    ///
    /// # Errors
    /// The interruption.
    fn check_interrupt(&self) -> io::Result<()> {
        Ok(())
    }

    /// The length in bytes, as it is now.
    ///
    /// # Errors
    /// Whatever the file system says.
    fn length(&self) -> io::Result<u64>;
}

/// Opens a file of a log. A FIFO, socket or device of its name is refused before it is opened: opening a FIFO waits for a
/// writer, and opening a device can have effects.
///
/// # Errors
/// `InvalidInput` for what is not a regular file, or what the file system says.
pub fn open_file(path: &Path) -> io::Result<File> {
    check_regular(&fs::metadata(path)?)?;
    let mut options = File::options();
    options.read(true);
    // Another file may have come to the name meanwhile. Opened so, a FIFO does not wait; a regular file is read as ever.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, O_NONBLOCK);
    let file = options.open(path)?;
    check_regular(&file.metadata()?)?;
    Ok(file)
}

/// As the systems define it.
#[cfg(unix)]
const O_NONBLOCK: i32 = if cfg!(any(target_os = "linux", target_os = "android")) { 0o4000 } else { 0x4 };

fn check_regular(metadata: &fs::Metadata) -> io::Result<()> {
    // Reading a folder fails as it always does.
    if metadata.is_file() || metadata.is_dir() {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"))
}

impl ReadAt for File {
    #[cfg(unix)]
    fn read_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
        std::os::unix::fs::FileExt::read_at(self, buffer, position)
    }

    #[cfg(windows)]
    fn read_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
        std::os::windows::fs::FileExt::seek_read(self, buffer, position)
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }
}

impl<T: AsRef<[u8]> + Send + Sync> ReadAt for InMemory<T> {
    fn read_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
        let rest = usize::try_from(position).ok().and_then(|at| self.0.as_ref().get(at..)).unwrap_or_default();
        io::Read::read(&mut { rest }, buffer)
    }

    fn as_slice(&self) -> Option<&[u8]> {
        Some(self.0.as_ref())
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.0.as_ref().len() as u64)
    }
}

/// Bytes in memory as a source.
#[derive(Debug, Clone)]
pub struct InMemory<T>(pub T);

/// Up to `size` bytes at `position`, fewer where the source ends: in `buffer`, or where the source has them in memory.
///
/// # Errors
/// Whatever the source says.
pub(super) fn read_part<'b>(
    source: &'b dyn ReadAt,
    position: u64,
    size: usize,
    buffer: &'b mut Vec<u8>,
) -> io::Result<&'b [u8]> {
    if let Some(all) = source.as_slice() {
        return Ok(part(all, position, size));
    }
    memory::resize(buffer, size)?;
    let read = read_full(source, buffer, position)?;
    Ok(buffer.get(..read).unwrap_or_default())
}

/// Up to `size` bytes at `position` of all the bytes.
pub(super) fn part(all: &[u8], position: u64, size: usize) -> &[u8] {
    let rest = usize::try_from(position).ok().and_then(|at| all.get(at..)).unwrap_or_default();
    rest.get(..size).unwrap_or(rest)
}

/// Reads until `buffer` is full or the source ends; the number of bytes read.
///
/// # Errors
/// Whatever the source says; an interrupted read is taken up again.
pub fn read_full(source: &dyn ReadAt, buffer: &mut [u8], position: u64) -> io::Result<usize> {
    let mut done = 0_usize;
    while let Some(rest) = buffer.get_mut(done..).filter(|rest| !rest.is_empty()) {
        match source.read_at(rest, position.saturating_add(done as u64)) {
            Ok(0) => break,
            Ok(count) => done = done.saturating_add(count),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}
