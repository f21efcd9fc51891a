//! Reading a segment in chunks of whole batches.
//!
//! A chunk contains the complete batches of one positional read. The bytes after the last complete batch are kept for the
//! next chunk, as are those that a search after a corrupt batch has read, so that no byte is read twice. If they are most of a
//! large batch, its rest is read instead: they would be copied twice. For a batch that is larger than a chunk, a buffer of its size
//! is allocated once its checksum is known to be right.

use std::io;
use std::ops::ControlFlow;

use super::candidate::BatchLayout;
use super::chunk_buffer::ChunkBuffer;
use super::continuation::Continuation;
use super::large_corrupt::LargeCorrupt;
use super::resume::Before;
use super::resync::{Resync, Steps};
use super::source::{ReadAt, is_unreadable, part, read_part};
use super::window::{CAPACITY, extend_chunk, leading_zeros};
use crate::error::{ContentError, ReadError};
use kafkacomp_records::record::{self, Batches, RecordBatch, Tail};

/// The least number of bytes of a read: below it, the system call takes longer than the copy.
const MIN_READ: usize = 64 << 10;
/// The number of bytes of a read where zeros are expected.
const ZEROS: usize = 1 << 20;
/// The block size of sparse files.
const BLOCK: usize = 4 << 10;

/// Why a chunk ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChunkEnd {
    /// More batches may follow.
    More,
    /// The segment's end, after whole batches or the zeros that follow them.
    End,
    /// The end of the segment truncates the last batch.
    Truncated(ContentError),
    /// There is no intact batch at this position.
    Corrupt(ContentError),
}

impl ChunkEnd {
    /// Whether another chunk may follow; at the end of the last one, whether it is an error. With `may_be_truncated`, a
    /// truncated last batch is not one.
    ///
    /// # Errors
    /// The segment ends with a corrupt batch, or without `may_be_truncated` within one.
    pub fn has_more(self, may_be_truncated: bool) -> Result<bool, ContentError> {
        match self {
            Self::More => Ok(true),
            Self::End => Ok(false),
            Self::Truncated(_) if may_be_truncated => Ok(false),
            Self::Truncated(error) | Self::Corrupt(error) => Err(error),
        }
    }
}

/// What follows the complete batches of a chunk.
pub(super) enum Stopped {
    /// The end of the bytes.
    End,
    /// A batch that the caller does not take.
    Unwanted,
    /// An incomplete batch of this many bytes.
    Partial(u64),
    /// Nothing but zeros.
    Zeros,
    /// A corrupt batch.
    Corrupt(ContentError),
}

/// Reads `[position, end)` of a source, chunk by chunk; `F` is the layout of its batches or entries.
#[derive(Debug, Clone)]
pub struct Chunks<F> {
    position: u64,
    end: u64,
    pub(super) layout: F,
    verifies: bool,
    search: Resync<F>,
    /// [`completed`](Self::completed).
    completed: usize,
    /// The last batches of the last two chunks that have any.
    seen: [Option<Before>; 2],
    /// Whether nothing but the bytes themselves determines the offsets: see [`super::resume`].
    is_record_set: bool,
}

/// Reads a segment, chunk by chunk.
pub type ChunkReader = Chunks<BatchLayout>;

impl<F> Chunks<F> {
    /// The position at which the next chunk begins.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// The position up to which the source was read: after a chunk, that of the bytes which are not kept for the next one.
    pub fn read_to(&self) -> u64 {
        self.position.saturating_add(self.search.window.rest(self.position, usize::MAX).len() as u64)
    }

    /// The number of bytes of the last chunk that were read to complete its last batch, rather than to keep what was there of it.
    pub fn completed(&self) -> usize {
        self.completed
    }

    /// The source's length as far as it is read.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// The offset after the last complete batch that was read before the position.
    pub fn end_offset(&self) -> Option<i64> {
        self.seen[1].map(|seen| seen.end_offset())
    }

    /// The number of bytes of the truncated last batch after a chunk that ended so; 0 after any other.
    pub fn partial_bytes(&self, ended: &ChunkEnd) -> u64 {
        if matches!(ended, ChunkEnd::Truncated(_)) { self.left() } else { 0 }
    }

    /// The number of bytes from the position on.
    fn left(&self) -> u64 {
        self.end.saturating_sub(self.position)
    }
}

impl<F: Continuation> Chunks<F> {
    pub(super) fn with_layout(layout: F, position: u64, end: u64, verifies: bool) -> Self {
        let position = position.min(end);
        let search = Resync::new(position, end);
        Self { position, end, layout, verifies, search, completed: 0, seen: [None; 2], is_record_set: false }
    }

    /// Reads a record set, or a file whose name has no base offset, instead of a segment of a log.
    #[must_use]
    pub fn with_record_set(mut self, is_record_set: bool) -> Self {
        self.is_record_set = is_record_set;
        self
    }

    /// Begins at the offset after a batch that is not read again.
    #[must_use]
    pub fn after(mut self, end_offset: i64) -> Self {
        self.seen[1] = Some(Before::unread(self.position, end_offset));
        self
    }

    /// Continues at another position.
    pub fn seek(&mut self, position: u64) {
        self.position = position.min(self.end);
        // A chunk that is read again is not before itself.
        while self.seen[1].is_some_and(|seen| seen.end > self.position) {
            self.seen = [None, self.seen[0]];
        }
    }

    /// Continues where the log does after the corrupt batch that ended the last chunk (see [`super::resume`]), and returns that
    /// position.
    ///
    /// # Errors
    /// [`ReadError`] if the bytes cannot be read.
    pub fn resync(&mut self, source: &dyn ReadAt) -> Result<u64, ReadError> {
        let next = self.next(source)?;
        self.seek(next);
        Ok(next)
    }

    fn next(&mut self, source: &dyn ReadAt) -> Result<u64, ReadError> {
        F::resume(&mut self.search, source, self.position, self.seen[1], self.is_record_set)
    }

    /// Reuses what an earlier pass over the same file has found, so that it is not read again.
    #[must_use]
    pub fn with_large_corrupt(mut self, found: LargeCorrupt) -> Self {
        *self.search.large_corrupt() = found;
        self
    }

    /// The large corrupt batches found so far, for the next pass.
    pub fn take_large_corrupt(&mut self) -> LargeCorrupt {
        std::mem::take(self.search.large_corrupt())
    }

    /// The work that searches after corrupt batches have done so far.
    pub fn resync_steps(&self) -> Steps {
        self.search.steps()
    }

    /// Reads about `target` bytes of batches that `take` accepts, and continues after them. `take` gets bytes and their
    /// position, and returns how many of them are complete batches.
    pub(super) fn read_layout(
        &mut self,
        source: &dyn ReadAt,
        buffer: &mut ChunkBuffer,
        target: usize,
        mut take: impl FnMut(&mut F, &[u8], u64) -> (usize, Stopped),
    ) -> Result<(usize, ChunkEnd), ReadError> {
        source.traits().check_interrupt()?;
        let (position, left) = (self.position, self.left());
        let size = |wanted: u64| usize::try_from(left.min(wanted)).unwrap_or(usize::MAX);
        let mut wanted = size(target.max(MIN_READ) as u64);
        // The number of bytes in the buffer that are read. The others are overwritten, which saves filling it with zeros.
        let mut filled = 0;
        if buffer.capacity() > CAPACITY.max(wanted.saturating_mul(2)) {
            // The last batch was larger than usual: free the memory.
            *buffer = ChunkBuffer::default();
        }
        let in_memory = source.traits().bytes;
        let mut in_window = in_memory.is_none();
        let mut unreadable = None;
        let mut used = 0;
        // Where the rest of the last batch begins, if it is read.
        let mut completed_from = usize::MAX;
        loop {
            let data = match in_memory {
                Some(all) => part(all, position, wanted),
                None if in_window => self.search.window.rest(position, wanted),
                None => {
                    match extend_chunk(source, position, filled, wanted, buffer) {
                        // The complete batches before these bytes come first. The next chunk reads them again.
                        Err(error) if is_unreadable(&error) => unreadable = Some(error),
                        read => read?,
                    }
                    &**buffer
                }
            };
            let known = data.len();
            let (more, stopped) = take(&mut self.layout, &data[used..], position.saturating_add(used as u64));
            used = used.saturating_add(more);
            let is_short = used == 0 && known as u64 != left;
            if is_short && !matches!(stopped, Stopped::Corrupt(_) | Stopped::Unwanted) {
                if in_window {
                    in_window = false;
                    filled = self.begin_buffer(source, buffer)?;
                    wanted = wanted.max(filled);
                    continue;
                }
                // The complete batches before this position were returned with the chunk before.
                if let Some(error) = unreadable {
                    return Err(error.into());
                }
                if known < wanted {
                    return Err(ReadError::Shrunk { length: source.length()?, expected: self.end });
                }
            }
            if !in_window
                && unreadable.is_none()
                && known >= wanted
                && let Some(whole) = self.worth_completing(source, &stopped, used, known)
            {
                (completed_from, filled, wanted) = (known, known, whole);
                continue;
            }
            let ended = match self.ended(source, buffer, stopped, used, known)? {
                ControlFlow::Break(ended) => ended,
                ControlFlow::Continue(needed) => {
                    filled = buffer.len();
                    wanted = size(needed).max(wanted);
                    continue;
                }
            };
            self.completed = used.saturating_sub(completed_from);
            self.position = position.saturating_add(used as u64);
            if in_window {
                buffer.replace(self.search.window.rest(position, used)).map_err(io::Error::from)?;
            } else if in_memory.is_none() {
                if !buffer.is_empty() {
                    self.search.window.keep(self.position, &buffer[used..])?;
                }
                buffer.truncate(used);
            }
            return Ok((used, ended));
        }
    }

    /// The length of a chunk with the batch that `known` bytes contain a part of, after `used` bytes of complete ones, if reading its
    /// rest costs less than keeping that part.
    fn worth_completing(&self, source: &dyn ReadAt, stopped: &Stopped, used: usize, known: usize) -> Option<usize> {
        let Stopped::Partial(needed) = *stopped else { return None };
        let (kept, whole) = (known.saturating_sub(used), (used as u64).saturating_add(needed));
        let missing = whole.saturating_sub(known as u64);
        let is_worth = used > 0 && kept >= MIN_READ && missing <= kept as u64 && whole <= self.left();
        // A request to a remote store takes longer than copying a batch.
        (is_worth && source.traits().bytes.is_none() && !source.traits().is_remote())
            .then_some(usize::try_from(whole).ok()?)
    }

    /// Why the chunk ends, of whose `known` bytes `used` are complete batches; or the size of its first batch, if that must
    /// be read first.
    fn ended(
        &mut self,
        source: &dyn ReadAt,
        buffer: &mut ChunkBuffer,
        stopped: Stopped,
        used: usize,
        known: usize,
    ) -> Result<ControlFlow<ChunkEnd, u64>, ReadError> {
        let left = self.left();
        let at_end = known as u64 == left;
        let is_short = used == 0 && !at_end;
        Ok(ControlFlow::Break(match stopped {
            Stopped::Partial(needed) if is_short && needed <= left => {
                match self.verify_large(source, buffer, needed)? {
                    Ok(()) => return Ok(ControlFlow::Continue(needed)),
                    Err(error) => ChunkEnd::Corrupt(error.into()),
                }
            }
            Stopped::Zeros if is_short => self.rest_is_zero(source, known as u64)?,
            Stopped::Partial(needed) if used == 0 || at_end => {
                let position = self.position.saturating_add(used as u64);
                let available = left.saturating_sub(used as u64);
                ChunkEnd::Truncated(record::Error::IncompleteBatch { position, available, needed }.into())
            }
            Stopped::Corrupt(error) => ChunkEnd::Corrupt(error),
            Stopped::Unwanted => ChunkEnd::End,
            Stopped::End | Stopped::Zeros if at_end => ChunkEnd::End,
            Stopped::Partial(_) | Stopped::Zeros | Stopped::End => ChunkEnd::More,
        }))
    }

    /// Verifies a batch that is larger than the window before memory is allocated for it, because its size may be corrupt.
    /// If checksums are not verified, a batch that mostly consists of holes is refused: a sparse file takes no space on disk.
    /// `buffer` has its first bytes.
    fn verify_large(
        &mut self,
        source: &dyn ReadAt,
        buffer: &mut ChunkBuffer,
        size: u64,
    ) -> Result<record::Result<()>, ReadError> {
        if size <= CAPACITY as u64 || source.traits().bytes.is_some() {
            return Ok(Ok(()));
        }
        if !self.verifies && !is_hollow(source, self.position, size)? {
            return Ok(Ok(()));
        }
        self.search.window.keep(self.position, buffer)?;
        buffer.clear();
        let verdict = self.search.verify(source, self.position, size)?;
        if verdict.is_ok() {
            self.search.window.hand_over(self.position, buffer)?;
        }
        Ok(verdict)
    }

    /// Moves the bytes of the chunk that are known to the front of `buffer`, and returns their number: those that the window
    /// has, and those after them that the source has read ahead.
    fn begin_buffer(&mut self, source: &dyn ReadAt, buffer: &mut ChunkBuffer) -> io::Result<usize> {
        let kept = self.search.window.rest(self.position, usize::MAX);
        if let Some(ahead) = source.traits().ahead
            && ahead.take_ahead(self.position.saturating_add(kept.len() as u64), kept, buffer)?
        {
            self.search.window.keep(self.position, &[])?;
            return Ok(buffer.len());
        }
        self.search.window.hand_over(self.position, buffer)
    }

    /// Checks whether only zeros are left; the first `known` bytes are zeros.
    fn rest_is_zero(&mut self, source: &dyn ReadAt, known: u64) -> Result<ChunkEnd, ReadError> {
        let mut window = Vec::new();
        let mut at = self.position.saturating_add(known);
        while at < self.end {
            source.traits().check_interrupt()?;
            let size = self.end.saturating_sub(at).min(ZEROS as u64) as usize;
            let piece = read_part(source, at, size, &mut window)?;
            if piece.len() < size {
                return Err(ReadError::Shrunk { length: source.length()?, expected: self.end });
            }
            let zeros = leading_zeros(piece);
            if zeros < size {
                self.search.note_zeros(self.position, at.saturating_add(zeros as u64));
                let minimum = kafkacomp_records::record::layout::v0_v1::RECORD_OVERHEAD_V0 as i32;
                return Ok(ChunkEnd::Corrupt(
                    record::Error::SizeTooSmall { position: self.position, size: 0, minimum }.into(),
                ));
            }
            at = at.saturating_add(size as u64);
        }
        Ok(ChunkEnd::End)
    }
}

/// Whether the blocks of zeros have more bytes than the other blocks, by more than the capacity of the window.
fn is_hollow(source: &dyn ReadAt, position: u64, size: u64) -> Result<bool, ReadError> {
    let mut window = Vec::new();
    let (mut at, end) = (position, position.saturating_add(size));
    let (mut zeros, mut others) = (0_u64, CAPACITY as u64);
    while at < end {
        source.traits().check_interrupt()?;
        let piece = read_part(source, at, end.saturating_sub(at).min(ZEROS as u64) as usize, &mut window)?;
        if piece.is_empty() {
            break;
        }
        for block in piece.chunks(BLOCK) {
            let is_zero = leading_zeros(block) == block.len();
            let count = if is_zero { &mut zeros } else { &mut others };
            *count = count.saturating_add(block.len() as u64);
        }
        at = at.saturating_add(piece.len() as u64);
        // The rest cannot change the result.
        if others.saturating_sub(zeros) > end.saturating_sub(at) {
            return Ok(false);
        }
    }
    Ok(zeros > others)
}

/// The `length` bytes of the chunk that begins at `position`: in `buffer`, or in the source if it is in memory.
pub fn chunk_bytes<'b>(source: &'b dyn ReadAt, buffer: &'b [u8], position: u64, length: usize) -> &'b [u8] {
    source.traits().bytes.map_or_else(|| part(buffer, 0, length), |all| part(all, position, length))
}

impl ChunkReader {
    /// A reader from the batch that begins at `position` to the segment's length `end`. `verifies` says that the caller refuses
    /// batches whose checksum is wrong.
    pub fn new(position: u64, end: u64, verifies: bool) -> Self {
        Self::with_layout(BatchLayout, position, end, verifies)
    }

    /// What ended a chunk of a source whose last batch may be truncated: such a batch is corrupt if the log continues after it.
    ///
    /// # Errors
    /// [`ReadError`] if the bytes cannot be read.
    pub fn truncated_or_corrupt(&mut self, source: &dyn ReadAt, ended: ChunkEnd) -> Result<ChunkEnd, ReadError> {
        Ok(match ended {
            ChunkEnd::Truncated(error) if self.next(source)? < self.end => ChunkEnd::Corrupt(error),
            ended => ended,
        })
    }

    /// Reads about `target` bytes of complete batches and returns their size. A batch that `check` refuses ends the chunk
    /// before it. The batches are in `buffer`, or in the source if it is in memory; see [`chunk_bytes`].
    ///
    /// # Errors
    /// [`ReadError`] if the bytes cannot be read.
    pub fn read(
        &mut self,
        source: &dyn ReadAt,
        buffer: &mut ChunkBuffer,
        target: usize,
        mut check: impl FnMut(&RecordBatch<'_>) -> record::Result<()>,
    ) -> Result<(usize, ChunkEnd), ReadError> {
        let mut last = None;
        let read = self.read_layout(source, buffer, target, |_, data, begin| {
            let (used, stopped, found) = whole_batches(data, begin, &mut check);
            last = found.or(last);
            (used, stopped)
        })?;
        if last.is_some() {
            self.seen = [self.seen[1], last];
        }
        Ok(read)
    }
}

/// The size of the complete batches at the start of `data`, what follows them, and the last one.
fn whole_batches(
    data: &[u8],
    begin: u64,
    check: &mut impl FnMut(&RecordBatch<'_>) -> record::Result<()>,
) -> (usize, Stopped, Option<Before>) {
    let mut batches = Batches::new(data, begin);
    let (mut intact, mut last) = (begin, begin);
    let used = |intact: u64| intact.saturating_sub(begin) as usize;
    let at = |last: u64| {
        let data = data.get(used(last)..).unwrap_or_default();
        RecordBatch::new(data, last).ok().map(|batch| Before::of(&batch))
    };
    while let Some(next) = batches.next() {
        if let Err(error) = next.and_then(|batch| check(&batch)) {
            let before = if intact > begin { at(last) } else { None };
            return (used(intact), Stopped::Corrupt(error.into()), before);
        }
        (last, intact) = (intact, batches.position());
    }
    let before = if intact > begin { at(last) } else { None };
    let stopped = match batches.tail() {
        Some(Tail::Partial { needed, .. }) => Stopped::Partial(needed),
        Some(Tail::Zeros { .. }) => Stopped::Zeros,
        Some(Tail::End) | None => Stopped::End,
    };
    (used(intact), stopped, before)
}
