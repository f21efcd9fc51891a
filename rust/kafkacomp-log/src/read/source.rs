//! The source of a segment's bytes. It is read by position and never mapped into memory: if a log is truncated while it is
//! mapped, the process gets SIGBUS; a positional read returns an error that names the file.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use super::chunk_buffer::ChunkBuffer;
use kafkacomp_records::memory;

/// [`SourceTraits::worth_reading`] of a source whose latency is unknown: it may be an object store.
pub const UNKNOWN_WORTH_READING: usize = 4 << 20;

/// The greatest [`SourceTraits::worth_reading`] of a source that is not remote.
const LOCAL_WORTH_READING: usize = 64 << 10;

/// A source that is read by position. Reads are independent of one another, so that threads can share it.
pub trait ReadAt: Send + Sync {
    /// Reads up to `buffer.len()` bytes at `position` and returns their number; 0 only at the end or for an empty buffer.
    ///
    /// # Errors
    /// An I/O error.
    fn read_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize>;

    /// The current length in bytes.
    ///
    /// # Errors
    /// An I/O error.
    fn length(&self) -> io::Result<u64>;

    /// What a reader may rely on beyond that. A source over another one returns those of the other one, changed where it differs.
    fn traits(&self) -> SourceTraits<'_> {
        SourceTraits::default()
    }
}

/// What is known of a source.
#[derive(Clone, Copy)]
pub struct SourceTraits<'s> {
    /// All bytes, if they are in memory and can be read without a copy.
    pub bytes: Option<&'s [u8]>,
    /// The number of bytes whose transfer takes about as long as the overhead of a read. It pays to read up to as many unneeded
    /// bytes if that saves a read.
    pub worth_reading: usize,
    /// The size of the chunks in which the source is stored, each of which is fetched as a whole; 1 if there are none.
    pub chunk_size: u64,
    /// The bytes that are read ahead.
    pub ahead: Option<&'s dyn TakeAhead>,
    /// The check for an interrupt of the reader.
    pub interrupt: Option<&'s dyn CheckInterrupt>,
}

impl Default for SourceTraits<'_> {
    /// Those of a local file.
    fn default() -> Self {
        Self { bytes: None, worth_reading: 4 << 10, chunk_size: 1, ahead: None, interrupt: None }
    }
}

impl SourceTraits<'_> {
    /// Whether each read is a request to a remote store. Then an index that agrees with what was read is trusted, to avoid
    /// reading every header.
    #[must_use]
    pub fn is_remote(&self) -> bool {
        self.worth_reading > LOCAL_WORTH_READING
    }

    /// Checks whether the reader was interrupted or closed. Every operation that may take long calls it at least once per
    /// megabyte and returns its error.
    ///
    /// # Errors
    /// The interruption.
    pub fn check_interrupt(&self) -> io::Result<()> {
        self.interrupt.map_or(Ok(()), CheckInterrupt::check_interrupt)
    }
}

/// A source that reads ahead.
pub trait TakeAhead {
    /// Replaces the content of `buffer` by `before` and the bytes from `position` on, if they have been read ahead and need not be
    /// copied; otherwise returns `false` and leaves it as it is.
    ///
    /// # Errors
    /// That of reading them.
    fn take_ahead(&self, position: u64, before: &[u8], buffer: &mut ChunkBuffer) -> io::Result<bool>;
}

/// A source whose reader can be interrupted.
pub trait CheckInterrupt {
    /// See [`SourceTraits::check_interrupt`].
    ///
    /// # Errors
    /// The interruption.
    fn check_interrupt(&self) -> io::Result<()>;
}

/// Opens a file of a log. A FIFO, socket or device is refused before it is opened: opening a FIFO waits for a writer, and
/// opening a device can have effects.
///
/// # Errors
/// `InvalidInput` if it is not a regular file; otherwise an I/O error.
pub fn open_file(path: &Path) -> io::Result<File> {
    check_regular(&fs::metadata(path)?)?;
    let mut options = File::options();
    options.read(true);
    // The file may have been replaced in the meantime. With this flag, opening a FIFO does not wait; regular files ignore it.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, O_NONBLOCK);
    let file = options.open(path)?;
    check_regular(&file.metadata()?)?;
    Ok(file)
}

/// The values of Linux and of the BSDs.
#[cfg(unix)]
const O_NONBLOCK: i32 = if cfg!(any(target_os = "linux", target_os = "android")) { 0o4000 } else { 0x4 };

fn check_regular(metadata: &fs::Metadata) -> io::Result<()> {
    // Reading a folder returns the system's error.
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
        io::Read::read(&mut part(self.0.as_ref(), position, buffer.len()), buffer)
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.0.as_ref().len() as u64)
    }

    fn traits(&self) -> SourceTraits<'_> {
        SourceTraits { bytes: Some(self.0.as_ref()), ..SourceTraits::default() }
    }
}

/// A source whose bytes are in memory.
#[derive(Debug, Clone)]
pub struct InMemory<T>(pub T);

/// Up to `size` bytes at `position`, fewer at the end of the source: read into `buffer`, or borrowed from a source in memory.
///
/// # Errors
/// The error of the source.
pub(crate) fn read_part<'b>(
    source: &'b dyn ReadAt,
    position: u64,
    size: usize,
    buffer: &'b mut Vec<u8>,
) -> io::Result<&'b [u8]> {
    if let Some(all) = source.traits().bytes {
        return Ok(part(all, position, size));
    }
    memory::resize(buffer, size)?;
    let read = read_full(source, buffer, position)?;
    Ok(&buffer[..read])
}

/// Up to `size` bytes at `position` of all the bytes; none at the end and after it.
pub(super) fn part(all: &[u8], position: u64, size: usize) -> &[u8] {
    let rest = usize::try_from(position).ok().and_then(|at| all.get(at..)).unwrap_or_default();
    rest.get(..size).unwrap_or(rest)
}

/// Reads until `buffer` is full or the source ends, and returns the number of bytes read. An interrupted read is repeated.
///
/// # Errors
/// The error of the source.
pub fn read_full(source: &dyn ReadAt, buffer: &mut [u8], position: u64) -> io::Result<usize> {
    let mut done = 0;
    read_from(source, buffer, position, &mut done)?;
    Ok(done)
}

/// As [`read_full`], for a buffer of which the first `done` bytes have been read. `done` counts those that are read, also before an
/// error.
pub(super) fn read_from(source: &dyn ReadAt, buffer: &mut [u8], position: u64, done: &mut usize) -> io::Result<()> {
    while let Some(rest) = buffer.get_mut(*done..).filter(|rest| !rest.is_empty()) {
        match source.read_at(rest, position.saturating_add(*done as u64)) {
            Ok(0) => break,
            Ok(count) => *done = done.saturating_add(count),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The error code for bytes that the storage cannot read.
const EIO: i32 = 5;

/// Whether the storage cannot read the bytes. The EIO of a file object becomes [`io::ErrorKind::UnexpectedEof`].
pub fn is_unreadable(error: &io::Error) -> bool {
    error.raw_os_error() == Some(EIO) || error.kind() == io::ErrorKind::UnexpectedEof
}
