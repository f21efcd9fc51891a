mod naive;

use std::convert::Infallible;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};

use super::*;
use crate::read::candidate::EntryLayout;
use crate::read::test_batches;
use crate::{CheckInterrupt, SourceTraits};
use crate::{ChunkBuffer, ChunkEnd, ChunkReader, EntryChunkReader, InMemory, SegmentPart, walk_chunks, walk_segment};
use kafkacomp_records::checksum::{crc32, crc32c};

/// A batch of magic 2 with one record; `crc` is added to the right checksum.
fn batch_with(value: &[u8], crc: u32) -> Vec<u8> {
    let mut data = test_batches::batch(0, 1, &test_batches::record(value));
    let sum = crc32c(&data[21..]).wrapping_add(crc);
    data[17..21].copy_from_slice(&sum.to_be_bytes());
    data
}

fn batch(value: &[u8]) -> Vec<u8> {
    batch_with(value, 0)
}

/// A header of magic 2 alone, of a batch without records.
fn empty_batch(crc: u32) -> Vec<u8> {
    let mut data = vec![0; 61];
    data[8..12].copy_from_slice(&49_i32.to_be_bytes());
    data[16] = 2;
    let sum = crc32c(&data[21..]).wrapping_add(crc);
    data[17..21].copy_from_slice(&sum.to_be_bytes());
    data
}

/// A header that could be one of a batch of this length.
fn false_header(length: usize) -> Vec<u8> {
    let mut data = empty_batch(1);
    data[8..12].copy_from_slice(&((length - 12) as i32).to_be_bytes());
    data[57..61].copy_from_slice(&1_i32.to_be_bytes());
    data.extend([0x40, 0, 0]);
    data
}

/// The same for a message of magic 0 or 1.
fn false_message(magic: u8, length: usize) -> Vec<u8> {
    let overhead = if magic == 0 { 26 } else { 34 };
    let mut data = message(magic, &[0; 8]);
    let value_length = (length - overhead) as i32;
    data[8..12].copy_from_slice(&((length - 12) as i32).to_be_bytes());
    data[overhead - 4..overhead].copy_from_slice(&value_length.to_be_bytes());
    data
}

fn message(magic: u8, value: &[u8]) -> Vec<u8> {
    let timestamp: &[u8] = if magic == 0 { &[] } else { &[0; 8] };
    let length = (value.len() as i32).to_be_bytes();
    let covered = [&[magic, 0], timestamp, &(-1_i32).to_be_bytes(), &length, value].concat();
    let size = (covered.len() as i32 + 4).to_be_bytes();
    [&[0; 8], size.as_slice(), &crc32(&covered).to_be_bytes(), &covered].concat()
}

fn entry(magic: u8, payload: &[u8]) -> Vec<u8> {
    let attributes: &[u8] = if magic == 0 { &[] } else { &[0] };
    let message = [&[magic], attributes, &crc32(payload).to_be_bytes(), payload].concat();
    [&(message.len() as i32).to_be_bytes(), message.as_slice()].concat()
}

/// A file that counts the bytes read of it.
struct Counting {
    data: Vec<u8>,
    read: AtomicU64,
}

impl Counting {
    fn new(data: Vec<u8>) -> Self {
        Self { data, read: AtomicU64::new(0) }
    }

    fn bytes_read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }
}

impl ReadAt for Counting {
    fn read_at(&self, buffer: &mut [u8], position: u64) -> std::io::Result<usize> {
        let read = InMemory(&self.data).read_at(buffer, position)?;
        self.read.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }

    fn length(&self) -> std::io::Result<u64> {
        Ok(self.data.len() as u64)
    }
}

/// What a walk finds: intact ranges, and what its searches did.
fn walk(source: &dyn ReadAt) -> (Vec<Extent>, Steps) {
    let end = source.length().unwrap();
    let mut chunks = ChunkReader::new(0, end, true);
    let mut buffer = ChunkBuffer::default();
    let mut found: Vec<Extent> = Vec::new();
    loop {
        let begin = chunks.position();
        #[allow(clippy::redundant_closure_for_method_calls, reason = "a method's name would fix the batch's lifetime")]
        let (used, ended) = chunks.read(source, &mut buffer, 4 << 20, |batch| batch.ensure_valid()).unwrap();
        if used > 0 {
            let end = begin + used as u64;
            match found.last_mut() {
                Some(last) if last.1 == begin => last.1 = end,
                _ => found.push((begin, end)),
            }
        }
        match ended {
            ChunkEnd::More => {}
            ChunkEnd::End => break,
            ChunkEnd::Corrupt(_) | ChunkEnd::Truncated(_) => {
                if chunks.resync(source).unwrap() >= end {
                    break;
                }
            }
        }
    }
    (found, chunks.resync_steps())
}

/// The file is read at most three times, and looked at in a bounded number of steps for each byte.
fn assert_linear(name: &str, data: Vec<u8>) -> Vec<Extent> {
    let length = data.len() as u64;
    let source = Counting::new(data);
    let (found, steps) = walk(&source);
    assert!(source.bytes_read() <= 3 * length, "{name}: {} bytes read of {length}", source.bytes_read());
    let Steps { headers, candidates, summed } = steps;
    assert!(headers <= 3 * length, "{name}: {headers} headers of {length} bytes");
    assert!(candidates <= 3 * length, "{name}: {candidates} candidates of {length} bytes");
    assert!(summed <= 5 * length + (4 << 20), "{name}: checksums of {summed} bytes of {length}");
    let in_memory = walk(&InMemory(&source.data)).0;
    assert_eq!(found, in_memory, "{name}");
    let mut pieces = Vec::new();
    let walked = walk_segment::<Infallible>(&source, &mut |part, next| {
        if let SegmentPart::Batches { data, position } = part
            && !data.is_empty()
        {
            pieces.push((position, next));
        }
        ControlFlow::Continue(())
    });
    assert!(walked.unwrap().is_continue());
    assert!(source.bytes_read() <= 6 * length, "{name}: {} bytes read of {length}", source.bytes_read());
    assert_eq!(found.iter().map(|range| range.1 - range.0).sum::<u64>(), pieces.iter().map(|p| p.1 - p.0).sum::<u64>());
    found
}

#[test]
fn runs_of_one_byte() {
    for byte in [0, 1, 2, 3, 0xff] {
        for length in [16_843_020, 16_850_000] {
            let found = assert_linear(&format!("{length} bytes of {byte}"), vec![byte; length]);
            assert!(found.is_empty());
        }
    }
    assert!(assert_linear("34 MB of 2", vec![2; 34_000_000]).is_empty());
}

#[test]
fn false_headers_that_reach_to_the_end() {
    for unit in [16, 24, 64, 200] {
        // With headers that overlap, too: the later one is written over the one before.
        let mut data = vec![0_u8; 6_000_000];
        for at in (0..data.len() - 100).step_by(unit) {
            let header = false_header(data.len() - at);
            data[at..at + header.len()].copy_from_slice(&header);
        }
        assert_linear(&format!("headers every {unit} bytes"), data);
    }
}

/// How far a false header at a place claims to reach.
type Reach = fn(usize) -> usize;

/// Lengths that grow, halve and alternate, so that ends come in every order.
const REACHES: [Reach; 6] = [
    |at| at / 2,
    |at| at,
    |at| 1 << (at / 64 % 22),
    |at| at.isqrt() * 64,
    |at| 3_000_000 - at % 3_000_000,
    |at| {
        if at / 64 % 2 == 0 { 5_000_000 } else { 100 }
    },
];

#[test]
fn false_headers_of_growing_lengths() {
    for (number, reach) in REACHES.iter().enumerate() {
        for magic in 0..3 {
            let mut data = vec![0x40_u8; 6_000_000];
            for at in (0..data.len() - 100).step_by(64) {
                let length = reach(at).clamp(70, data.len() - at);
                let header = if magic == 2 { false_header(length) } else { false_message(magic, length) };
                data[at..at + header.len()].copy_from_slice(&header);
            }
            assert_linear(&format!("lengths {number}, magic {magic}"), data);
        }
    }
}

#[test]
fn false_entries_of_growing_lengths() {
    for (number, reach) in REACHES.iter().enumerate() {
        let mut data = vec![0x40_u8; 6_000_000];
        for at in (0..data.len() - 100).step_by(16) {
            let length = reach(at * 4).clamp(12, data.len() - at - 4) as i32;
            data[at..at + 4].copy_from_slice(&length.to_be_bytes());
            data[at + 4..at + 6].copy_from_slice(&[1, 0]);
        }
        let length = data.len() as u64;
        let source = Counting::new(data);
        let mut chunks = EntryChunkReader::new(0, length, true);
        let mut buffer = ChunkBuffer::default();
        while chunks.position() < length {
            let (_, ended) = chunks.read(&source, &mut buffer, 4 << 20, |_| true).unwrap();
            match ended {
                ChunkEnd::Corrupt(_) | ChunkEnd::Truncated(_) => drop(chunks.resync(&source).unwrap()),
                ChunkEnd::More | ChunkEnd::End => {}
            }
        }
        let (steps, read) = (chunks.resync_steps(), source.bytes_read());
        assert!(read <= 3 * length && steps.headers <= 3 * length, "lengths {number}: {read} bytes, {steps:?}");
        assert!(steps.summed <= 5 * length + (4 << 20), "lengths {number}: {steps:?}");
    }
}

#[test]
fn false_headers_between_intact_batches() {
    let total = 6_000_000;
    for reach in [1 << 10, 1 << 20, usize::MAX] {
        let mut data = Vec::new();
        let mut intact = 0;
        while data.len() < total {
            let left = total + 999 - data.len();
            data.extend(false_header(left.min(reach)));
            data.extend([7; 11]);
            intact += empty_batch(0).len() as u64;
            data.extend(empty_batch(0));
        }
        data.resize(total + 1_000, 7);
        let found = assert_linear(&format!("headers that reach {reach} bytes"), data);
        assert_eq!(found.iter().map(|range| range.1 - range.0).sum::<u64>(), intact);
    }
}

#[test]
fn batches_with_wrong_checksums() {
    let total = 9_800_000;
    for (name, pattern) in [("all", "b"), ("every second", "bg"), ("two of three", "bbg"), ("the first", "bgggggggggg")]
    {
        for size in [0, 1_000, 100_000, 3_000_000] {
            let make = |crc| if size == 0 { empty_batch(crc) } else { batch_with(&vec![1; size], crc) };
            let (good, bad) = (make(0), make(1));
            let mut data = Vec::new();
            let mut intact = 0;
            for kind in pattern.chars().cycle() {
                if data.len() >= total {
                    break;
                }
                intact += if kind == 'g' { good.len() as u64 } else { 0 };
                data.extend(if kind == 'g' { &good } else { &bad });
            }
            let found = assert_linear(&format!("{name} of {size} bytes"), data);
            assert_eq!(found.iter().map(|range| range.1 - range.0).sum::<u64>(), intact, "{name} of {size}");
        }
    }
}

#[test]
fn batches_in_batches() {
    let mut data = batch(b"innermost");
    for level in 0..2_000 {
        data = batch_with(&data, u32::from(level % 3 != 0));
    }
    let whole = data.len() as u64;
    for front in [&[][..], &[9; 50], &empty_batch(1)] {
        let file = [front, &data, &empty_batch(0)].concat();
        let length = file.len() as u64;
        let found = assert_linear("nested", file);
        assert_eq!(found.last().unwrap().1, length);
        assert!(found[0].0 <= front.len() as u64 + whole);
    }
}

#[test]
fn zeros_between_batches() {
    let mut data = Vec::new();
    for _ in 0..4 {
        data.extend(batch(&[1; 100]));
        data.extend(vec![0; 5_000_000]);
    }
    data.extend(batch(&[1; 100]));
    assert_eq!(assert_linear("zeros", data).len(), 5);
}

#[test]
fn a_batch_larger_than_what_is_kept() {
    let large = batch(&vec![5; 20 << 20]);
    let small = batch(b"small");
    let mut corrupt = large.clone();
    corrupt[large.len() / 2] ^= 1;
    let found = assert_linear("large", [&large[..], &corrupt, &large, &small].concat());
    let size = large.len() as u64;
    assert_eq!(found, [(0, size), (2 * size, 3 * size + small.len() as u64)]);
}

#[test]
fn what_an_earlier_pass_found_is_not_read_again() {
    let large = batch(&vec![5; 20 << 20]);
    let small = batch(b"small");
    let mut corrupt = large.clone();
    corrupt[large.len() / 2] ^= 1;
    let source = Counting::new([&small[..], &corrupt, &small].concat());
    let length = source.data.len() as u64;
    let mut found = crate::LargeCorrupt::default();
    let mut errors = Vec::new();
    // The second time a chunk before the corrupt batch, and one after it.
    for most in [3 * length, 8 << 20] {
        let before = source.bytes_read();
        let mut chunks = ChunkReader::new(0, length, true).with_large_corrupt(found);
        let mut parts = Vec::new();
        let walked = walk_chunks::<Infallible>(&source, &mut chunks, &mut |part, next| {
            if let SegmentPart::Corrupt(range) = part {
                parts.push((range.position, range.error.to_string(), next));
            }
            ControlFlow::Continue(())
        });
        assert!(walked.unwrap().is_continue());
        let [(begin, error, next)] = parts.as_slice() else { panic!("{parts:?}") };
        assert_eq!((*begin, *next), (small.len() as u64, (small.len() + corrupt.len()) as u64));
        errors.push(error.clone());
        let read = source.bytes_read() - before;
        assert!(read <= most, "{read} bytes read of {length}");
        found = chunks.take_large_corrupt();
    }
    errors.dedup();
    assert_eq!(errors.len(), 1, "{errors:?}");
}

#[test]
fn a_size_that_is_false_takes_no_memory() {
    // 1 GiB that nobody has to hold: zeros after a header that claims them.
    struct Sparse(Vec<u8>);
    impl ReadAt for Sparse {
        fn read_at(&self, buffer: &mut [u8], position: u64) -> std::io::Result<usize> {
            assert!(buffer.len() <= 2 * crate::read::window::CAPACITY, "{} bytes at once", buffer.len());
            let size = buffer.len().min((self.length()? - position) as usize);
            buffer[..size].fill(0);
            let front = self.0.get(position as usize..).unwrap_or_default();
            let front = &front[..front.len().min(size)];
            buffer[..front.len()].copy_from_slice(front);
            Ok(size)
        }

        fn length(&self) -> std::io::Result<u64> {
            Ok(1 << 30)
        }
    }
    let small = batch(b"small");
    let source = Sparse([&small[..], &false_header((1 << 30) - small.len())].concat());
    assert_eq!(walk(&source).0, [(0, small.len() as u64)]);
    // Without checksums as well, and an intact batch of zeros is one.
    let mut chunks = ChunkReader::new(0, source.length().unwrap(), false);
    let mut buffer = ChunkBuffer::default();
    assert_eq!(chunks.read(&source, &mut buffer, 1, |_| Ok(())).unwrap().0, small.len());
    let (used, ended) = chunks.read(&source, &mut buffer, 1, |_| Ok(())).unwrap();
    assert!(used == 0 && matches!(ended, ChunkEnd::Corrupt(_)), "{ended:?}");
    let zeros = Counting::new(batch(&vec![0; 20 << 20]));
    let mut chunks = ChunkReader::new(0, zeros.length().unwrap(), false);
    assert_eq!(chunks.read(&zeros, &mut buffer, 1, |_| Ok(())).unwrap().0, zeros.data.len());
    assert!(zeros.bytes_read() <= 3 * zeros.length().unwrap());
}

#[test]
fn a_batch_inside_a_record_is_no_batch() {
    let inner = batch(b"inner");
    let outer = batch_with(&[&inner[..], &inner].concat(), 1);
    let after = batch(b"after");
    let file = [&outer[..], &after].concat();
    assert_eq!(walk(&InMemory(&file)).0, [(outer.len() as u64, file.len() as u64)]);
    // Two corrupt batches, one after the other, and the last one of a file.
    let file = [&outer[..], &outer, &after].concat();
    assert_eq!(walk(&InMemory(&file)).0, [(2 * outer.len() as u64, file.len() as u64)]);
    assert!(walk(&InMemory(&outer)).0.is_empty());
    // After bytes that are no batch, the one that begins first.
    let intact = batch(&inner);
    let file = [&[9; 40][..], &intact, &after].concat();
    assert_eq!(walk(&InMemory(&file)).0, [(40, file.len() as u64)]);
    // A message of magic 1 ends with its value.
    let mut outer = message(1, &message(1, b"inner"));
    outer[12] ^= 1;
    let file = [&outer[..], &after].concat();
    assert_eq!(walk(&InMemory(&file)).0, [(outer.len() as u64, file.len() as u64)]);
}

#[test]
fn a_corrupt_size_that_leads_to_a_batch() {
    let one = batch(&[3; 61]);
    assert_eq!(one.len(), 61 + 8 + 61);
    let mut file = one.repeat(6);
    // The size of three batches, in the second one.
    let size = (3 * one.len() as i32 - 12).to_be_bytes();
    file[one.len() + 8..one.len() + 12].copy_from_slice(&size);
    let size = one.len() as u64;
    assert_eq!(walk(&InMemory(&file)).0, [(0, size), (2 * size, 6 * size)]);
}

#[test]
fn a_pass_is_interrupted() {
    struct Interrupted(Vec<u8>, AtomicU64);
    impl ReadAt for Interrupted {
        fn read_at(&self, buffer: &mut [u8], position: u64) -> std::io::Result<usize> {
            InMemory(&self.0).read_at(buffer, position)
        }

        fn length(&self) -> std::io::Result<u64> {
            Ok(self.0.len() as u64)
        }

        fn traits(&self) -> SourceTraits<'_> {
            let bytes = self.1.load(Ordering::Relaxed).is_multiple_of(2).then_some(self.0.as_slice());
            SourceTraits { bytes, interrupt: Some(self), ..SourceTraits::default() }
        }
    }

    impl CheckInterrupt for Interrupted {
        fn check_interrupt(&self) -> std::io::Result<()> {
            let calls = self.1.fetch_add(2, Ordering::Relaxed);
            if calls > 20 { Err(std::io::Error::other("interrupted")) } else { Ok(()) }
        }
    }
    for (byte, is_file) in [(1, 0), (1, 1), (0, 0), (0, 1)] {
        let mut data = vec![byte; 40 << 20];
        *data.last_mut().unwrap() = 9;
        let source = Interrupted(data, AtomicU64::new(is_file));
        let stopped = walk_segment::<Infallible>(&source, &mut |_, _| ControlFlow::Continue(())).unwrap_err();
        assert_eq!(stopped.to_string(), "interrupted");
    }
}

#[test]
fn entries_of_0_7() {
    let good = entry(1, &[8; 90]);
    let mut bad = good.clone();
    bad[50] ^= 1;
    for byte in [0, 1, 8] {
        let mut data = Vec::new();
        while data.len() < 5_000_000 {
            data.extend([good.as_slice(), &bad, &[byte; 31]].concat());
        }
        let length = data.len() as u64;
        let source = Counting::new(data);
        let mut chunks = EntryChunkReader::new(0, length, true);
        let mut buffer = ChunkBuffer::default();
        let mut intact = 0;
        while chunks.position() < length {
            let (used, ended) = chunks.read(&source, &mut buffer, 4 << 20, |_| true).unwrap();
            intact += used;
            if matches!(ended, ChunkEnd::Corrupt(_) | ChunkEnd::Truncated(_)) {
                chunks.resync(&source).unwrap();
            }
        }
        assert_eq!(intact as u64, length / (2 * good.len() as u64 + 31) * good.len() as u64, "{byte}");
        let steps = chunks.resync_steps();
        assert!(source.bytes_read() <= 3 * length && steps.headers <= 2 * length && steps.summed <= 5 * length);
    }
}
