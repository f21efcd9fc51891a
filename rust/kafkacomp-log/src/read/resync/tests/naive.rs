//! The search compared with one that tries every byte.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::*;
use kafkacomp_records::message_set::Entries;
use kafkacomp_records::record::RecordBatch;

/// The batch at `at` as anybody would look for it.
fn naive_batch(data: &[u8], at: usize, limit: usize) -> Option<usize> {
    let rest = data.get(at..limit)?;
    let batch = RecordBatch::new(rest, at as u64).ok()?;
    (batch.offset_field() >= 0 && batch.is_valid()).then(|| at + batch.size_in_bytes())
}

fn naive_entry(data: &[u8], at: usize, limit: usize) -> Option<usize> {
    let entry = Entries::new(data.get(at..limit)?).next()?.ok()?;
    (!entry.message.payload().is_empty()).then(|| at + entry.end)
}

/// What the search finds, byte by byte.
fn naive<F: Layout>(data: &[u8], position: usize, intact: fn(&[u8], usize, usize) -> Option<usize>) -> usize {
    let end = data.len();
    let first = |from: usize, limit: usize| (from..limit).find(|&at| intact(data, at, limit).is_some());
    let stated = || {
        let mut at = position + F::stated_length(&data[position..])? as usize;
        while at < end && intact(data, at, end).is_none() {
            at += F::candidate(&data[at..], (end - at) as u64)?.length as usize;
        }
        (at <= end).then_some(at)
    };
    let Some(stated) = stated() else { return first(position + 1, end).unwrap_or(end) };
    if F::may_enclose_up_to_its_end(&data[position..]) {
        return stated;
    }
    let mut from = position + 1;
    while let Some(start) = first(from, stated) {
        let mut at = start;
        while let Some(next) = intact(data, at, stated).filter(|_| at < stated) {
            at = next;
        }
        if at == stated {
            return start;
        }
        from = at;
    }
    stated
}

fn parts(entries: bool) -> impl Strategy<Value = Vec<u8>> {
    let leaf = (any::<u8>(), prop::collection::vec(any::<u8>(), 0..40), 1..2_000_usize, 1..80_usize).prop_map(
        move |(kind, value, reach, run)| match (kind % 10, entries) {
            (0..3, true) => entry(kind % 2, &value),
            (0, false) => batch(&value),
            (1, false) => message(0, &value),
            (2, false) => message(1, &value),
            (3, _) => empty_batch(0),
            (4, _) => false_header(100 + reach),
            (5, _) => vec![0; run],
            (6, _) => vec![1; run],
            (7, true) => [&(reach as i32).to_be_bytes()[..], &[kind % 2], &value].concat(),
            (7, false) => batch_with(&value, 1),
            _ => value,
        },
    );
    leaf.prop_recursive(3, 24, 4, move |inner| {
        (any::<u8>(), prop::collection::vec(inner, 1..4)).prop_map(move |(kind, inner)| {
            let value = inner.concat();
            match (kind % 6, entries) {
                (0..3, true) => entry(kind % 2, &value),
                (3, true) => {
                    let mut bad = entry(kind % 2, &value);
                    bad[6] ^= 1;
                    bad
                }
                (0, false) => batch(&value),
                (1, false) => batch_with(&value, 1),
                (2 | 3, false) => message(kind % 2, &value),
                _ => value,
            }
        })
    })
}

fn same_as_naive<F: Layout>(cases: u32, entries: bool, intact: fn(&[u8], usize, usize) -> Option<usize>) {
    let files = prop::collection::vec(parts(entries), 1..8);
    let flips = prop::collection::vec((any::<prop::sample::Index>(), 0..8_u32), 0..4);
    TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() })
        .run(&(files, flips, any::<prop::sample::Index>()), |(parts, flips, position)| {
            let mut data = parts.concat();
            if data.is_empty() {
                return Ok(());
            }
            for (at, bit) in flips {
                let at = at.index(data.len());
                data[at] ^= 1 << bit;
            }
            let length = data.len();
            // Searches that follow one another in one file, and one from anywhere.
            for position in [0, position.index(length)] {
                let counting = Counting::new(data.clone());
                let mut search = Resync::<F>::new(0, length as u64);
                let mut at = position;
                while at < length {
                    let wanted = naive::<F>(&data, at, intact);
                    let found = search.next_intact(&counting, at as u64).unwrap();
                    prop_assert_eq!(found, wanted as u64, "after {} of {:?}", at, &data);
                    at = wanted;
                }
                prop_assert!(counting.bytes_read() <= length as u64, "{} of {}", counting.bytes_read(), length);
            }
            Ok(())
        })
        .unwrap();
}

#[test]
fn the_same_as_byte_by_byte() {
    same_as_naive::<BatchLayout>(3_000, false, naive_batch);
}

#[test]
fn the_same_as_byte_by_byte_in_0_7() {
    same_as_naive::<EntryLayout>(3_000, true, naive_entry);
}

#[test]
#[ignore = "takes minutes"]
fn the_same_as_byte_by_byte_at_length() {
    same_as_naive::<BatchLayout>(300_000, false, naive_batch);
    same_as_naive::<EntryLayout>(300_000, true, naive_entry);
}
