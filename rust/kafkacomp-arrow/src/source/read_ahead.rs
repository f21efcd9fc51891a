//! Reading a segment ahead of the planner, with several threads at once.
//!
//! Where a chunk begins is known only when the one before it is planned, so planning is done by one thread at a time. Reading
//! the bytes takes longer than planning them, and up to half the time of an uncompressed scan. Therefore each thread reads
//! the next bytes of the segment before it asks for the planner, wherever batches begin, and the planner takes what was read
//! instead of reading. Most bytes are not copied: a block has room for the end of the chunk before it.
//!
//! If batches are compressed, decoding a chunk takes much longer than reading it, and the planner is free most of the time. Unless
//! a thread waits for the planner, nothing is read ahead then: the planner reads its own chunk, which is in the cache of its core
//! afterwards. A block that another thread reads could begin within that chunk, whose length is not known yet, and the planner would
//! wait until it is read.

use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kafkacomp_log::read::source::read_full;
use kafkacomp_log::{ChunkBuffer, ReadAt, SourceTraits, TakeAhead, is_unreadable};
use kafkacomp_records::memory;

use crate::columns::pool::BufferPool;
use crate::sync::lock;

/// The least room before the bytes of a block, and the most. The planner puts the incomplete batch there with which the chunk
/// before it ends.
const ROOM: usize = 64 << 10;
const MOST_ROOM: usize = 1 << 20;

/// Smaller reads are those of headers. Where batches are small, many headers are read at once, without those that are known already.
const LEAST_BYTES: usize = ROOM / 2;

/// The size from which on nothing is read ahead: batches as large as that are rare, and each thread would need the memory.
const MOST_BYTES: usize = 4 << 20;

/// The most buffers that are kept for other blocks.
const MOST_SPARE: usize = 4;

/// How often a thread looks whether another one has read a block, and how long it pauses between two looks, before it waits:
/// for about the time of reading a block, which is less than that of waking a thread.
const SPINS: usize = 500;
const PAUSES: usize = 16;

/// How long a thread waits for a block before it checks for an interrupt.
const TICK: Duration = Duration::from_millis(50);

/// The segment that threads read ahead: the one that the planner reads, if it is a local file.
#[derive(Debug, Default)]
pub struct AheadOf(Mutex<Option<Arc<ReadAhead>>>);

impl AheadOf {
    /// Continues with another segment, or with none.
    pub fn set(&self, segment: Option<Arc<ReadAhead>>) {
        *lock(&self.0) = segment;
    }

    /// Reads the next block with the memory of `buffer`, unless `most` of them wait for the planner, or batches are compressed and
    /// no thread waits for it. Returns whether any block waits: otherwise the planner reads the next chunk itself.
    pub fn read(&self, most: usize, planner_is_awaited: bool, buffer: &mut ChunkBuffer) -> bool {
        let segment = lock(&self.0).clone();
        segment.is_some_and(|segment| {
            let reads = planner_is_awaited || !lock(&segment.state).is_compressed;
            segment.read_next(if reads { most } else { 0 }, buffer)
        })
    }
}

/// What the planner reads next.
#[derive(Debug)]
pub struct Plan {
    /// Where the next chunk begins.
    pub next: u64,
    /// The position up to which the source was read: the bytes from `next` on are kept for the next chunk.
    pub read_to: u64,
    /// Where the last chunk ends, as far as that is known.
    pub end: u64,
    /// The size of the chunk before, without the bytes that were read to complete its last batch.
    pub used: u64,
    /// The size of a chunk, unless a batch is larger.
    pub target: usize,
    /// Whether the batches of the chunk before are compressed.
    pub is_compressed: bool,
}

/// A source whose next bytes are read by the threads before they ask for the planner.
pub struct ReadAhead {
    source: Arc<dyn ReadAt>,
    pool: Arc<BufferPool>,
    state: Mutex<State>,
    /// Notified when a block was read.
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Consecutive blocks, which end at `next`.
    blocks: VecDeque<Block>,
    /// The position of the next block.
    next: u64,
    /// Where the bytes end that the planner has read itself; those of batches after a gap are kept until their chunk is read.
    read_by_planner: u64,
    /// Where reading ahead ends.
    end: u64,
    /// The size of a block; 0 before the first chunk, and above [`MOST_BYTES`].
    size: usize,
    /// The room before a block: a quarter more than the largest incomplete batch so far.
    room: usize,
    /// The length of the block that the last chunk was taken from.
    taken: Option<usize>,
    /// Whether a batch is larger than a chunk should be.
    are_large: bool,
    /// Whether batches are compressed.
    is_compressed: bool,
    /// Memory of blocks that were not needed.
    spare: Vec<Vec<u8>>,
    /// The number of threads that sleep until a block is read.
    waiting: usize,
}

/// A part of the source.
#[derive(Debug)]
struct Block {
    position: u64,
    length: usize,
    bytes: Bytes,
}

#[derive(Debug)]
enum Bytes {
    /// A thread is reading them.
    Awaited,
    Read(ChunkBuffer),
    /// The error of reading them, until it has been returned.
    Failed(Option<io::Error>),
}

impl Block {
    fn end(&self) -> u64 {
        self.position.saturating_add(self.length as u64)
    }
}

impl State {
    /// Keeps memory for another block.
    fn keep(&mut self, buffer: ChunkBuffer) {
        if buffer.capacity() > 0 && self.spare.len() < MOST_SPARE {
            self.spare.push(buffer.into_parts().0);
        }
    }

    /// Drops the first blocks, up to the one that ends after `position`.
    fn drop_until(&mut self, position: u64) {
        while self.blocks.front().is_some_and(|block| block.end() <= position)
            && let Some(block) = self.blocks.pop_front()
        {
            if let Bytes::Read(buffer) = block.bytes {
                self.keep(buffer);
            }
        }
    }

    /// The block that has the byte at `position`.
    fn block_at(&mut self, position: u64) -> Option<&mut Block> {
        self.blocks.iter_mut().find(|block| (block.position..block.end()).contains(&position))
    }
}

impl std::fmt::Debug for ReadAhead {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ReadAhead").field("state", &self.state).finish_non_exhaustive()
    }
}

impl Drop for ReadAhead {
    fn drop(&mut self) {
        let State { blocks, spare, .. } = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        let unused = blocks.drain(..).filter_map(|block| match block.bytes {
            Bytes::Read(buffer) => Some(buffer.into_parts().0),
            Bytes::Awaited | Bytes::Failed(_) => None,
        });
        spare.drain(..).chain(unused).for_each(|memory| self.pool.give(memory));
    }
}

impl ReadAhead {
    /// Over `source`, into memory of `pool`; nothing is read ahead before the first chunk.
    pub fn new(source: Arc<dyn ReadAt>, pool: Arc<BufferPool>) -> Self {
        Self { source, pool, state: Mutex::default(), changed: Condvar::new() }
    }

    /// Tells what the planner reads next.
    pub fn expect(&self, plan: &Plan) {
        let mut state = lock(&self.state);
        let used = usize::try_from(plan.used).unwrap_or(usize::MAX);
        let kept = usize::try_from(plan.read_to.saturating_sub(plan.next)).unwrap_or(usize::MAX);
        state.room = state.room.max(kept.saturating_add(kept / 4)).clamp(ROOM, MOST_ROOM);
        let is_near = used <= plan.target.saturating_add(ROOM);
        let was_block = used <= state.taken.take().unwrap_or(plan.target).saturating_add(ROOM);
        state.are_large = !was_block || (state.are_large && !is_near);
        // If each chunk is one large batch, a block should be as long: else ever more of the next block would be copied.
        let size = if is_near || state.are_large { used.max(plan.target) } else { plan.target };
        let size = size.saturating_sub(kept.saturating_sub(ROOM / 2));
        // Somewhat more than a large batch, about `ROOM / 16` bytes: if it ends just after its block, the planner waits for the next
        // one. Slowly, because the next blocks may have been read with an earlier size.
        let size = if state.are_large { size.saturating_add(ROOM / 64).saturating_sub(kept / 4) } else { size };
        state.size = if size > MOST_BYTES { 0 } else { size.max(ROOM) };
        state.end = plan.end;
        state.is_compressed = plan.is_compressed;
        state.drop_until(plan.read_to);
        let is_elsewhere = plan.read_to >= state.read_by_planner && plan.read_to != state.next;
        if is_elsewhere && state.block_at(plan.read_to).is_none() {
            state.drop_until(u64::MAX);
            state.next = plan.read_to;
        }
    }

    /// Whether no block waits for the planner.
    pub fn is_empty(&self) -> bool {
        lock(&self.state).blocks.is_empty()
    }

    fn read_next(&self, most: usize, buffer: &mut ChunkBuffer) -> bool {
        let mut state = lock(&self.state);
        let left = state.end.saturating_sub(state.next);
        let length = state.size.min(usize::try_from(left).unwrap_or(usize::MAX));
        if length == 0 || state.blocks.len() >= most {
            return !state.blocks.is_empty();
        }
        let (position, room) = (state.next, state.room);
        state.next = position.saturating_add(length as u64);
        state.blocks.push_back(Block { position, length, bytes: Bytes::Awaited });
        let mut data = std::mem::take(buffer).into_parts().0;
        if data.capacity() == 0 {
            data = state.spare.pop().unwrap_or_default();
        }
        drop(state);
        // After a panic the planner reads the bytes itself, and its panic becomes an error that names the segment.
        let read = catch_unwind(AssertUnwindSafe(|| self.fill(&mut data, room, position, length))).unwrap_or(Ok(None));
        let bytes = match read {
            Ok(Some(block)) => Bytes::Read(ChunkBuffer::new(data, block)),
            Ok(None) => Bytes::Failed(None),
            // The planner gets the bytes before those that the storage cannot read.
            Err(error) if is_unreadable(&error) => Bytes::Failed(None),
            Err(error) => Bytes::Failed(Some(error)),
        };
        let mut state = lock(&self.state);
        let is_this = |block: &&mut Block| {
            (block.position, block.length) == (position, length) && matches!(block.bytes, Bytes::Awaited)
        };
        if let Some(block) = state.blocks.iter_mut().find(is_this) {
            block.bytes = bytes;
        } else if let Bytes::Read(buffer) = bytes {
            // The planner has gone elsewhere.
            state.keep(buffer);
        }
        let is_awaited = state.waiting > 0;
        drop(state);
        // Waking takes a system call.
        if is_awaited {
            self.changed.notify_all();
        }
        self.give_way(position);
        true
    }

    /// Lets the threads plan first that read the blocks before the one at `position`: each thread should decode what it has read, and
    /// one that asks for the planner would wait for these blocks anyway.
    fn give_way(&self, position: u64) {
        for _ in 0..SPINS {
            if lock(&self.state).blocks.front().is_none_or(|block| block.position >= position) {
                return;
            }
            (0..PAUSES).for_each(|_| std::hint::spin_loop());
        }
    }

    /// Reads a block to memory after at least `room` bytes, and returns where; `None` if the source ends within it.
    fn fill(&self, data: &mut Vec<u8>, room: usize, position: u64, length: usize) -> io::Result<Option<Range<usize>>> {
        let needed = ChunkBuffer::most_room(room).saturating_add(length);
        if data.capacity() < needed {
            // The memory that is too small is freed: from the pool, columns would take it. New memory has room for somewhat longer
            // blocks. A vector that grows would double: too much for the views that retain it.
            *data = match self.pool.take_returned(needed) {
                Some(returned) => returned,
                None => memory::zeroed(needed.saturating_add(ROOM))?,
            };
        }
        if data.len() < needed {
            memory::resize(data, needed)?;
        }
        let begin = ChunkBuffer::fast_room(data, room, position);
        let block = begin..begin.saturating_add(length);
        Ok((read_full(self.source.as_ref(), &mut data[block.clone()], position)? == length).then_some(block))
    }

    /// Waits until the block with the byte at `position` has been read. `None` if there is no such block, or it could not be read
    /// and the error was returned.
    fn at(&self, position: u64) -> io::Result<Option<MutexGuard<'_, State>>> {
        let mut state = self.when_read(position)?;
        match state.block_at(position).map(|block| &mut block.bytes) {
            Some(Bytes::Read(_)) => Ok(Some(state)),
            Some(Bytes::Failed(error)) => error.take().map_or(Ok(None), Err),
            Some(Bytes::Awaited) | None => Ok(None),
        }
    }

    /// Waits while a thread reads the block with the byte at `position`.
    fn when_read(&self, position: u64) -> io::Result<MutexGuard<'_, State>> {
        let mut state = lock(&self.state);
        let mut spins = 0;
        while let Some(Block { bytes: Bytes::Awaited, .. }) = state.block_at(position) {
            if spins < SPINS {
                drop(state);
                spins += 1;
                (0..PAUSES).for_each(|_| std::hint::spin_loop());
                state = lock(&self.state);
                continue;
            }
            state.waiting += 1;
            let (waited, time) = self.changed.wait_timeout(state, TICK).unwrap_or_else(PoisonError::into_inner);
            state = waited;
            state.waiting -= 1;
            if time.timed_out() {
                drop(state);
                self.source.traits().check_interrupt()?;
                state = lock(&self.state);
            }
        }
        Ok(state)
    }

    /// For a chunk that begins near the end of a block, `before` and then the byte at `position`: `before` with the rest of that
    /// block, and the position of the next block. `None` if the chunk begins elsewhere, or the next block has no room for them.
    ///
    /// In the memory of the first block, the chunk would have to grow, and its bytes would be copied from the next one.
    fn near_end(&self, position: u64, before: &[u8]) -> io::Result<Option<(Vec<u8>, u64)>> {
        let mut state = lock(&self.state);
        let Some(block) = state.block_at(position) else { return Ok(None) };
        let (next, Bytes::Read(bytes)) = (block.end(), &block.bytes) else { return Ok(None) };
        let rest = usize::try_from(next.saturating_sub(position)).unwrap_or(usize::MAX);
        if rest >= LEAST_BYTES || rest >= bytes.len() || before.len() > MOST_ROOM {
            return Ok(None);
        }
        let mut joined = Vec::new();
        memory::append(&mut joined, before)?;
        memory::append(&mut joined, &bytes[bytes.len().saturating_sub(rest)..])?;
        drop(state);
        let mut state = self.when_read(next)?;
        let Some(Block { bytes: Bytes::Read(bytes), .. }) = state.block_at(next) else { return Ok(None) };
        Ok((joined.len() <= bytes.room()).then_some((joined, next)))
    }
}

impl ReadAt for ReadAhead {
    fn read_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
        if let Some(mut state) = self.at(position)?
            && let Some(Block { position: begin, bytes: Bytes::Read(bytes), .. }) = state.block_at(position)
        {
            let from = usize::try_from(position.saturating_sub(*begin)).unwrap_or(usize::MAX);
            let rest = bytes.get(from..).unwrap_or_default();
            let size = rest.len().min(buffer.len());
            buffer[..size].copy_from_slice(&rest[..size]);
            return Ok(size);
        }
        if buffer.len() >= LEAST_BYTES {
            // The planner reads what no thread has read yet; the next block comes after it. Headers that are read at once begin with
            // one, and not where the bytes before them end.
            let mut state = lock(&self.state);
            let end = position.saturating_add(buffer.len() as u64);
            if position <= state.next.saturating_add(LEAST_BYTES as u64) && end > state.next {
                state.next = end;
                state.read_by_planner = end;
            }
        }
        self.source.read_at(buffer, position)
    }

    fn length(&self) -> io::Result<u64> {
        self.source.length()
    }

    fn traits(&self) -> SourceTraits<'_> {
        SourceTraits { ahead: Some(self), ..self.source.traits() }
    }
}

impl TakeAhead for ReadAhead {
    fn take_ahead(&self, position: u64, before: &[u8], buffer: &mut ChunkBuffer) -> io::Result<bool> {
        if self.at(position)?.is_none() {
            return Ok(false);
        }
        let joined = self.near_end(position, before)?;
        let (before, position) =
            joined.as_ref().map_or((before, position), |(joined, next)| (joined.as_slice(), *next));
        let mut state = lock(&self.state);
        let Some(index) = state.blocks.iter().position(|block| (block.position..block.end()).contains(&position))
        else {
            return Ok(false);
        };
        let Some(Block { position: begin, length, bytes: Bytes::Read(bytes) }) = state.blocks.get_mut(index) else {
            return Ok(false);
        };
        let from = usize::try_from(position.saturating_sub(*begin)).unwrap_or(usize::MAX);
        if bytes.room().saturating_add(from) < before.len() {
            return Ok(false);
        }
        bytes.advance(from);
        bytes.prepend(before);
        let taken = Some(*length);
        let old = std::mem::replace(buffer, std::mem::take(bytes));
        state.blocks.drain(..=index);
        state.taken = taken;
        state.keep(old);
        Ok(true)
    }
}

#[cfg(test)]
mod tests;
