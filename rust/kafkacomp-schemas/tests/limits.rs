//! Counts and lengths: those of Kafka 4.4's readers, and memory in proportion to the input.
#![allow(clippy::unwrap_used, unsafe_code, reason = "a test that counts allocations")]

mod common;

use common::random::{Random, Writer};
use kafkacomp_schemas::library::{Library, SOURCES};
use kafkacomp_schemas::{FaultKind, Schema, Topic};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    /// Bytes that this thread has, and the most it had.
    static USED: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
}

struct Counting;

fn count(added: usize, removed: usize) {
    let _ = USED.try_with(|used| {
        let (now, most) = used.get();
        let now = now.saturating_add(added).saturating_sub(removed);
        used.set((now, most.max(now)));
    });
}

// SAFETY: every call is passed on unchanged to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 0);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count(0, layout.size());
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The most memory that was used at once.
fn most_used<T>(work: impl FnOnce() -> T) -> usize {
    let (before, _) = USED.get();
    USED.set((before, before));
    drop(work());
    let (_, most) = USED.get();
    most - before
}

fn schemas() -> Vec<Schema> {
    SOURCES.iter().flat_map(|(_, texts)| texts.iter()).map(|text| Schema::parse(text).unwrap()).collect()
}

/// Prefixes of real messages followed by bytes that are read as the largest counts or the smallest elements.
#[test]
fn a_kibibyte_never_takes_a_mebibyte() {
    let (mut random, mut most) = (Random(1), (0, String::new()));
    for schema in schemas() {
        for version in schema.valid.first..=schema.valid.last {
            let mut inputs: Vec<Vec<u8>> = (0..=255).map(|byte| vec![byte; 1024]).collect();
            for _ in 0..400 {
                let (mut bytes, _) = Writer::message(&schema, version, &mut random);
                let large: &[u8] =
                    [&[0x80, 0x07][..], &[0, 0, 3, 0x80], &[0xff, 0x7f], &[2], &[0, 0, 0, 2]][random.below(5)];
                bytes.truncate(random.below(bytes.len().min(200) + 1));
                bytes.extend_from_slice(large);
                let filler = [0, 1, 2, 0x80, 0xff][random.below(5)];
                bytes.resize(1024, filler);
                inputs.push(bytes);
            }
            for bytes in &inputs {
                let used = most_used(|| schema.read(bytes, version).ok());
                if used > most.0 {
                    most = (used, format!("{} {version}", schema.name));
                }
            }
        }
    }
    println!("at most {} bytes of memory for 1,024 bytes of input: {}", most.0, most.1);
    assert!(most.0 < 1 << 20, "{most:?}");
    assert!(most.0 > 10_000, "no input was expensive: {most:?}");
}

/// Reads a `TransactionLogValue` that claims so many partitions and has so many bytes after the claim.
fn claim(count: u32, left: usize) -> Result<(), FaultKind> {
    let mut bytes = vec![0; 8 + 2 + 4 + 1];
    bytes.extend(count.to_be_bytes());
    bytes.resize(bytes.len() + left, 0);
    let schema = &Library::kafka().record_type(Topic::TransactionState, 0).unwrap().value;
    schema.read(&bytes, 0).map(drop).map_err(|fault| fault.kind)
}

#[test]
fn an_array_has_no_more_elements_than_bytes_are_left_and_a_million() {
    assert!(matches!(claim(11, 10), Err(FaultKind::Count { count: 11, limit: 10, .. })));
    assert!(matches!(claim(10, 10), Err(FaultKind::Truncated { .. })));
    let left = 6 * 1_000_001 + 16;
    assert!(claim(1_000_000, left).is_ok());
    assert!(matches!(claim(1_000_001, left), Err(FaultKind::Count { count: 1_000_001, limit: 1_000_000, .. })));
    assert!(claim(u32::MAX, 16).is_ok(), "null, and two timestamps");
    assert!(claim(0x8000_0000, 16).is_ok(), "every negative count is null");
}

fn tagged_fields(count: usize) -> Result<usize, FaultKind> {
    let mut bytes = Vec::new();
    let mut number = count;
    while number > 0x7f {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    (0..count).for_each(|_| bytes.extend([99, 0]));
    let schema = Library::kafka().record_type(Topic::ClusterMetadata, 20).unwrap();
    assert_eq!(schema.name, "NO_OP_RECORD");
    let message = schema.value.read(&bytes, 0).map_err(|fault| fault.kind)?;
    Ok(message.fields.unknown_tagged_fields().len())
}

#[test]
fn a_struct_has_at_most_10_000_tagged_fields() {
    assert_eq!(tagged_fields(10_000), Ok(10_000));
    assert!(matches!(tagged_fields(10_001), Err(FaultKind::Count { count: 10_001, limit: 10_000, .. })));
}

#[test]
fn a_string_has_at_most_32_767_bytes() {
    let schema = &Library::kafka().record_type(Topic::ClusterMetadata, 12).unwrap().value;
    let read = |length: usize| {
        // FeatureLevelRecord: a compact string, an int16, no tagged fields.
        let claim = length + 1;
        let mut bytes = vec![claim as u8 | 0x80, (claim >> 7) as u8 | 0x80, (claim >> 14) as u8];
        bytes.resize(3 + length + 3, b'a');
        *bytes.last_mut().unwrap() = 0;
        schema.read(&bytes, 0).map(|message| message.rest.len()).map_err(|fault| fault.kind)
    };
    assert_eq!(schema.name, "FeatureLevelRecord");
    assert_eq!(read(32_767), Ok(0));
    assert!(matches!(read(32_768), Err(FaultKind::Length { length: 32_768, .. })));
}
