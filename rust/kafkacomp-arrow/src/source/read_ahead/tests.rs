//! Blocks that threads read ahead are those of the source.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::*;

/// Bytes that cannot be read from a position on, as long as a flag is set.
struct Faulty {
    data: Vec<u8>,
    from: usize,
    panics: bool,
    fails: AtomicBool,
}

impl Faulty {
    fn new(length: usize) -> Self {
        let data = (0..length).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        Self { data, from: usize::MAX, panics: false, fails: AtomicBool::new(true) }
    }
}

impl ReadAt for Faulty {
    fn read_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
        let at = position as usize;
        if at + buffer.len() > self.from && self.fails.load(Ordering::Relaxed) {
            assert!(!self.panics, "in a read");
            return Err(io::Error::other("in a read"));
        }
        let rest = self.data.get(at..).unwrap_or_default();
        let size = rest.len().min(buffer.len());
        buffer[..size].copy_from_slice(&rest[..size]);
        Ok(size)
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.data.len() as u64)
    }
}

/// The next chunk of a reader that keeps the bytes from `begin` to `position`, of at least `least` bytes.
fn chunk(ahead: &ReadAhead, data: &[u8], begin: usize, position: usize, least: usize) -> io::Result<ChunkBuffer> {
    let mut buffer = ChunkBuffer::default();
    let before = &data[begin..position];
    if !ahead.take_ahead(position as u64, before, &mut buffer)? {
        buffer = ChunkBuffer::new(before.to_vec(), 0..before.len());
    }
    let mut bytes = buffer.to_vec();
    let (there, end) = (bytes.len(), data.len().min(begin + least.max(buffer.len())));
    bytes.resize(end - begin, 0);
    let read = read_full(ahead, &mut bytes[there..], (begin + there) as u64)?;
    Ok(ChunkBuffer::new(bytes, 0..there + read))
}

fn expect(ahead: &ReadAhead, begin: usize, position: usize, end: usize, used: usize, target: usize) {
    let [next, read_to, end, used] = [begin, position, end, used].map(|each| each as u64);
    ahead.expect(&Plan { next, read_to, end, used, target, is_compressed: false });
}

#[test]
fn a_block_is_taken_without_a_copy_and_with_the_bytes_before_it() {
    let source = Arc::new(Faulty::new(1_000_000));
    let ahead = ReadAhead::new(Arc::clone(&source) as Arc<dyn ReadAt>, Arc::default());
    let mut buffer = ChunkBuffer::default();
    // Nothing is expected yet.
    assert!(!ahead.read_next(2, &mut buffer));
    assert!(lock(&ahead.state).blocks.is_empty());
    expect(&ahead, 90_000, 100_000, 900_000, 90_000, 200_000);
    for _ in 0..3 {
        assert!(ahead.read_next(2, &mut ChunkBuffer::default()));
    }
    // No more than two blocks.
    assert_eq!(lock(&ahead.state).next, 500_000);
    assert!(ahead.take_ahead(100_000, &source.data[90_000..100_000], &mut buffer).unwrap());
    assert!(*buffer == source.data[90_000..300_000]);
    // The rest of a block of which the beginning was copied.
    let mut copied = vec![0; 70_000];
    assert_eq!(read_full(&ahead, &mut copied, 300_000).unwrap(), 70_000);
    assert!(copied == source.data[300_000..370_000]);
    assert!(ahead.take_ahead(370_000, &copied, &mut buffer).unwrap());
    assert!(*buffer == source.data[300_000..500_000]);
    // The last block ends where nothing more is needed.
    expect(&ahead, 500_000, 500_000, 600_000, 200_000, 200_000);
    ahead.read_next(2, &mut buffer);
    ahead.read_next(2, &mut buffer);
    assert_eq!(lock(&ahead.state).next, 600_000);
    assert_eq!(lock(&ahead.state).blocks.len(), 1);
}

#[test]
fn incomplete_batches_larger_than_the_least_room_are_put_in_front() {
    let source = Arc::new(Faulty::new(1_000_000));
    let ahead = ReadAhead::new(Arc::clone(&source) as Arc<dyn ReadAt>, Arc::default());
    // 150,000 bytes are kept.
    expect(&ahead, 100_000, 250_000, 1_000_000, 300_000, 300_000);
    ahead.read_next(2, &mut ChunkBuffer::default());
    let (before, mut buffer) = (&source.data[100_000..250_000], ChunkBuffer::default());
    assert!(ahead.take_ahead(250_000, before, &mut buffer).unwrap());
    assert!(buffer.len() > before.len() && source.data[100_000..].starts_with(&buffer));
    // The room stays, and does not grow beyond its limit.
    expect(&ahead, 500_000, 500_000, 1_000_000, 300_000, 300_000);
    assert_eq!(lock(&ahead.state).room, 187_500);
    expect(&ahead, 0, 1_000_000, 1_000_000, 300_000, 300_000);
    assert_eq!(lock(&ahead.state).room, MOST_ROOM);
}

#[test]
fn a_chunk_that_begins_near_the_end_of_a_block_is_in_the_memory_of_the_next_one() {
    let source = Arc::new(Faulty { from: 700_000, ..Faulty::new(1_000_000) });
    let (mut buffer, data) = (ChunkBuffer::default(), &source.data);
    let blocks = || {
        let ahead = ReadAhead::new(Arc::clone(&source) as Arc<dyn ReadAt>, Arc::default());
        expect(&ahead, 100_000, 100_000, 1_000_000, 200_000, 200_000);
        assert!((0..4).all(|_| ahead.read_next(4, &mut ChunkBuffer::default())));
        ahead
    };
    let ahead = blocks();
    // The chunk before ended 5,000 bytes before the end of a block, and 7,000 are kept.
    assert!(ahead.take_ahead(295_000, &data[288_000..295_000], &mut buffer).unwrap());
    assert!(*buffer == data[288_000..500_000]);
    assert_eq!(buffer.room(), ROOM - 12_000);
    assert_eq!(lock(&ahead.state).taken, Some(200_000));
    // The next block cannot be read: the bytes before it come first.
    assert!(ahead.take_ahead(695_000, &[], &mut buffer).unwrap());
    assert!(*buffer == data[695_000..700_000]);
    assert_eq!(ahead.take_ahead(700_000, &[], &mut buffer).unwrap_err().to_string(), "in a read");
    // The next block has too little room.
    assert!(blocks().take_ahead(295_000, &data[225_000..295_000], &mut buffer).unwrap());
    assert!(*buffer == data[225_000..300_000]);
}

#[test]
fn a_block_is_read_into_returned_memory() {
    let (source, pool) = (Arc::new(Faulty::new(1_000_000)), Arc::new(BufferPool::default()));
    let ahead = ReadAhead::new(Arc::clone(&source) as Arc<dyn ReadAt>, Arc::clone(&pool));
    let returned = vec![7_u8; 400_000];
    let address = returned.as_ptr();
    pool.give(returned);
    expect(&ahead, 0, 0, 1_000_000, 200_000, 200_000);
    // The memory of the buffer is too small for a block.
    assert!(ahead.read_next(2, &mut ChunkBuffer::new(vec![8; 100_000], 0..100_000)));
    let mut buffer = ChunkBuffer::new(vec![9; 350_000], 0..0);
    assert!(ahead.take_ahead(0, &[], &mut buffer).unwrap());
    assert!(*buffer == source.data[..200_000]);
    let (data, chunk) = buffer.into_parts();
    let room = ChunkBuffer::fast_room(&data, ROOM, 0);
    assert!((ROOM..ROOM + 64).contains(&room));
    assert_eq!((data.as_ptr(), chunk), (address, room..room + 200_000));
    // Bytes of the memory that no chunk needs are not filled again.
    assert!(data.len() == 400_000 && data[room + 200_000..].iter().all(|&byte| byte == 7));
    // The memory of the buffer that the block replaced is for the next one.
    assert!(ahead.read_next(2, &mut ChunkBuffer::default()));
    expect(&ahead, 200_000, 200_000, 1_000_000, 200_000, 200_000);
    let mut buffer = ChunkBuffer::default();
    assert!(ahead.take_ahead(200_000, &[], &mut buffer).unwrap());
    assert!(*buffer == source.data[200_000..400_000]);
    assert_eq!(buffer.capacity(), 350_000);
}

#[test]
fn a_thread_gives_way_to_one_that_reads_a_block_before_its_own() {
    let source = Arc::new(Faulty::new(600_000));
    let ahead = ReadAhead::new(Arc::clone(&source) as Arc<dyn ReadAt>, Arc::default());
    expect(&ahead, 0, 0, 600_000, 200_000, 200_000);
    // Another thread is reading the first block.
    lock(&ahead.state).next = 200_000;
    lock(&ahead.state).blocks.push_back(Block { position: 0, length: 200_000, bytes: Bytes::Awaited });
    thread::scope(|scope| {
        let second = scope.spawn(|| ahead.read_next(2, &mut ChunkBuffer::default()));
        while !matches!(lock(&ahead.state).block_at(200_000), Some(Block { bytes: Bytes::Read(_), .. })) {
            thread::yield_now();
        }
        lock(&ahead.state).block_at(0).unwrap().bytes = Bytes::Read(ChunkBuffer::new(vec![1; 200_000], 0..200_000));
        assert!(ahead.take_ahead(0, &[], &mut ChunkBuffer::default()).unwrap());
        assert!(second.join().unwrap());
    });
    // A block that nobody takes is not waited for: its reader may never plan.
    lock(&ahead.state).blocks.push_front(Block { position: 0, length: 200_000, bytes: Bytes::Awaited });
    assert!(ahead.read_next(3, &mut ChunkBuffer::default()));
}

#[test]
fn the_memory_of_blocks_returns_to_the_pool() {
    let (source, pool) = (Arc::new(Faulty::new(600_000)), Arc::new(BufferPool::default()));
    let ahead = ReadAhead::new(Arc::clone(&source) as Arc<dyn ReadAt>, Arc::clone(&pool));
    expect(&ahead, 0, 0, 600_000, 200_000, 200_000);
    assert!(ahead.is_empty() && ahead.read_next(2, &mut ChunkBuffer::default()) && !ahead.is_empty());
    drop(ahead);
    assert!(pool.take_returned(200_000).is_some() && pool.take_returned(200_000).is_none());
}

#[test]
fn random_chunks_are_those_of_the_source() {
    for seed in 0..40_u64 {
        let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut next = |most: usize| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            (random % most as u64) as usize
        };
        let source = Arc::new(Faulty::new(3_000_000 + next(1_000_000)));
        let ahead = Arc::new(ReadAhead::new(Arc::clone(&source) as Arc<dyn ReadAt>, Arc::default()));
        let slot = Arc::new(AheadOf::default());
        slot.set(Some(Arc::clone(&ahead)));
        let ended = Arc::new(AtomicBool::new(false));
        let readers: Vec<_> = (0..3)
            .map(|_| {
                let (slot, ended) = (Arc::clone(&slot), Arc::clone(&ended));
                thread::spawn(move || {
                    let mut buffer = ChunkBuffer::default();
                    while !ended.load(Ordering::Relaxed) {
                        slot.read(3, true, &mut buffer);
                        thread::yield_now();
                    }
                })
            })
            .collect();
        let (data, target) = (&source.data, 64 << 10 << next(4));
        let (mut begin, mut position) = (0, 0);
        while begin < data.len() {
            let found = chunk(&ahead, data, begin, position, 1 + next(2 * target)).unwrap();
            assert!(*found == data[begin..begin + found.len()], "seed {seed}, at {begin}");
            // Some of the bytes are kept, at most all of a large batch; sometimes the reader goes elsewhere.
            let used = found.len() - next(found.len().min(200_000));
            (position, begin) = (begin + found.len(), begin + used);
            if next(20) == 0 {
                begin = next(data.len());
                position = begin;
            }
            expect(&ahead, begin, position, data.len() - next(2) * next(50_000), used, target);
            assert!(lock(&ahead.state).blocks.len() <= 3);
        }
        ended.store(true, Ordering::Relaxed);
        for reader in readers {
            reader.join().unwrap();
        }
    }
}

#[test]
fn nothing_is_read_ahead_of_compressed_batches_unless_the_planner_is_awaited() {
    let source = Arc::new(Faulty::new(1_000_000));
    let ahead = Arc::new(ReadAhead::new(source as Arc<dyn ReadAt>, Arc::default()));
    let slot = AheadOf::default();
    slot.set(Some(Arc::clone(&ahead)));
    let plan =
        Plan { next: 100_000, read_to: 100_000, end: 1_000_000, used: 100_000, target: 200_000, is_compressed: true };
    ahead.expect(&plan);
    let waiting = || lock(&ahead.state).blocks.len();
    let read = |planner_is_awaited| slot.read(3, planner_is_awaited, &mut ChunkBuffer::default());
    assert!(!read(false));
    assert_eq!(waiting(), 0);
    assert!(read(true));
    assert_eq!(waiting(), 1);
    // The planner takes the block that waits, and no other is read.
    assert!(read(false));
    assert_eq!(waiting(), 1);
    ahead.expect(&Plan { is_compressed: false, ..plan });
    assert!(read(false));
    assert_eq!(waiting(), 2);
}

#[test]
fn a_block_that_cannot_be_read_is_read_again_after_its_error() {
    for panics in [false, true] {
        let source = Arc::new(Faulty { from: 300_000, panics, ..Faulty::new(1_000_000) });
        let ahead = ReadAhead::new(Arc::clone(&source) as Arc<dyn ReadAt>, Arc::default());
        expect(&ahead, 100_000, 100_000, 1_000_000, 100_000, 200_000);
        assert!((0..3).all(|_| ahead.read_next(3, &mut ChunkBuffer::default())));
        let mut buffer = ChunkBuffer::default();
        assert!(ahead.take_ahead(100_000, &[], &mut buffer).unwrap());
        assert!(*buffer == source.data[100_000..300_000]);
        let second = ahead.take_ahead(300_000, &[], &mut buffer);
        assert_eq!(second.map_err(|error| error.to_string()), if panics { Ok(false) } else { Err("in a read".into()) });
        source.fails.store(false, Ordering::Relaxed);
        let found = chunk(&ahead, &source.data, 300_000, 300_000, 1).unwrap();
        assert!(*found == source.data[300_000..=300_000]);
    }
}
