//! Surveys of whole partitions, stretches, and leader epochs.

use std::sync::Arc;

use super::reading::{CAP, batch};
use super::{Part, facts, file, map};
use crate::index::checkpoint::LeaderEpochEntry;
use crate::map::{BatchFact, ByteRange, EpochFault, Fact, LogFile, OffsetRange, SurveyedLog, map_of};
use crate::{Compaction, MemorySegment};

/// The numbers of the facts of each file, and the stretches with their offsets.
fn surveyed(files: &[(i64, &[u8])]) -> (Vec<usize>, Vec<(usize, i64, i64)>) {
    let opens: Vec<_> = files.iter().map(|(_, data)| MemorySegment(Arc::new(data.to_vec()))).collect();
    let named = files.iter().zip(&opens);
    let files: Vec<LogFile<'_>> = named.map(|(&(name, _), files)| LogFile { name, files, valid: None }).collect();
    let log = SurveyedLog::read(&files, CAP, &mut |_, _| Ok(None)).unwrap();
    let facts = log.facts();
    let map = map_of(&facts, Compaction::Unknown, &mut log.records(CAP)).unwrap();
    let counts = facts.iter().map(|file| file.facts.len()).collect();
    let stretches = map.stretches();
    (counts, stretches.iter().map(|each| (each.file, each.offsets.start(), each.offsets.end())).collect())
}

#[test]
fn batches_of_an_intact_file_are_one_fact() {
    let first = [batch(&[0, 1], ""), batch(&[2], ""), batch(&[7, 9], "")].concat();
    let second = [batch(&[10], ""), batch(&[11], "")].concat();
    assert_eq!(surveyed(&[(0, &first), (10, &second)]), (vec![2, 1], vec![(0, 0, 10), (1, 10, 12)]));
}

#[test]
fn a_file_out_of_order_and_its_neighbours_are_verified() {
    let parts = [batch(&[0, 1], ""), batch(&[2], ""), batch(&[3, 4], "")];
    let swapped = [parts[0].clone(), parts[2].clone(), parts[1].clone()].concat();
    let second = [batch(&[5], ""), batch(&[6], "")].concat();
    let third = [batch(&[7], ""), batch(&[8], "")].concat();
    let files: [(i64, &[u8]); 3] = [(0, &swapped), (5, &second), (7, &third)];
    let stretches = vec![(0, 0, 2), (0, 2, 3), (0, 3, 5), (1, 5, 7), (2, 7, 9)];
    assert_eq!(surveyed(&files), (vec![3, 2, 1], stretches));
}

#[test]
fn corrupt_bytes_do_not_divide_a_stretch() {
    let mut data = [batch(&[0, 1], ""), batch(&[2], ""), batch(&[3, 4], "")].concat();
    let at = batch(&[0, 1], "").len();
    data[at + 8..at + 12].fill(0xff);
    assert_eq!(surveyed(&[(0, &data)]), (vec![3], vec![(0, 0, 5)]));
}

/// A file of batches of 100 bytes and ten offsets with these leader epochs.
fn epochs(of: &[i32]) -> Vec<Fact> {
    let fact = |(number, &epoch): (usize, &i32)| {
        let bytes = ByteRange::sized(100 * number as u64, 100).unwrap();
        let offsets = OffsetRange::new(10 * number as i64, 10 * number as i64 + 10).unwrap();
        Fact::Batch(BatchFact::new(bytes, offsets, 0, Some(10), 2).unwrap().with_leader_epoch(epoch))
    };
    of.iter().enumerate().map(fact).collect()
}

/// The leader epochs of batches, the checkpoint, and the altered ones with what is right.
type Case<'a> = (&'a [i32], &'a [LeaderEpochEntry], &'a [(usize, i32)]);

#[test]
fn leader_epochs_that_decrease_are_restored() {
    let checkpoint = [LeaderEpochEntry { epoch: 3, start_offset: 0 }, LeaderEpochEntry { epoch: 5, start_offset: 20 }];
    let cases: [Case<'_>; 9] = [
        (&[3, 3, 5, 5], &[], &[]),
        (&[-1, -1, 3], &[], &[]),
        (&[3, 3, 900, 5, 5], &[], &[(2, 3)]),
        (&[3, 3, 900, 5, 5], &checkpoint, &[(2, 5)]),
        (&[900, 3, 3], &[], &[(0, 3)]),
        (&[3, 4, 3, 5], &[], &[(1, 3)]),
        (&[7, 7, 5], &[], &[(2, 7)]),
        (&[3, -5, 5, 5], &[], &[(1, 3)]),
        (&[-2], &[], &[]),
    ];
    for (of, checkpoint, expected) in cases {
        let facts = epochs(of);
        let segments = [file(0, &facts)];
        let found = map(&segments, Compaction::Unknown).epoch_faults(checkpoint);
        let found: Vec<_> = found.iter().map(|&EpochFault { id, right, .. }| (id.index, right)).collect();
        assert_eq!(found, expected, "{of:?}");
    }
}

#[test]
fn a_batch_that_another_file_has_is_a_stretch_of_it() {
    let part = |first, last| Part::Batch { first, last, size: 100 };
    let first = facts(&[part(0, 4), part(10, 14)]);
    let second = facts(&[part(5, 9), part(15, 19)]);
    let segments = [file(0, &first), file(15, &second)];
    let found = map(&segments, Compaction::Unknown).stretches();
    let found: Vec<_> = found.iter().map(|each| (each.file, each.facts.clone(), each.restored())).collect();
    assert_eq!(found, [(0, 0..1, None), (1, 0..1, None), (0, 1..2, None), (1, 1..2, None)]);
}
