//! Rule 11: what says that a log was longer, and zeros.

use super::{Part, facts, file, map};
use crate::log::continuity::compaction::Compaction;
use crate::log::continuity::missing::MissingReason;
use crate::log::map::{EndSource, EndWitness, LogEnd, LogTail, MissingOffsets, OffsetRange};

const ALL: [EndSource; 6] = [
    EndSource::RecoveryPoint,
    EndSource::HighWatermark,
    EndSource::ProducerSnapshot,
    EndSource::LeaderEpoch,
    EndSource::OffsetIndex,
    EndSource::TimeIndex,
];

/// Offsets 100 to 109, and then these parts.
fn tail(after: &[Part], is_preallocated: bool) -> LogTail {
    let parts = [&[Part::Batch { first: 100, last: 109, size: 100 }], after].concat();
    let facts = facts(&parts);
    LogTail::of(&map(&[file(100, &facts)], Compaction::Unknown), is_preallocated).unwrap()
}

fn missing(end: i64, reason: MissingReason, source: EndSource) -> LogEnd {
    LogEnd::Missing {
        missing: MissingOffsets { offsets: OffsetRange::new(110, end).unwrap(), reason, file: 0 },
        source,
    }
}

#[test]
fn each_source_shows_that_the_log_was_longer() {
    for source in ALL {
        let is_entry = matches!(source, EndSource::OffsetIndex | EndSource::TimeIndex);
        let reached = if is_entry { 109 } else { 110 };
        for offset in [i64::MIN, -1, 0, reached] {
            assert_eq!(
                tail(&[], false).judge([EndWitness::new(source, offset)]),
                LogEnd::Intact,
                "{source:?} {offset}"
            );
        }
        let expected = missing(111, MissingReason::Truncated, source);
        assert_eq!(tail(&[], false).judge([EndWitness::new(source, reached + 1)]), expected);
    }
}

#[test]
fn the_greatest_offset_counts_and_of_equals_the_most_reliable_source() {
    let tail = tail(&[], false);
    let greatest = [
        EndWitness::new(EndSource::RecoveryPoint, 111),
        EndWitness::new(EndSource::TimeIndex, 119),
        EndWitness::new(EndSource::LeaderEpoch, 115),
    ];
    let expected = missing(120, MissingReason::Truncated, EndSource::TimeIndex);
    assert_eq!(tail.judge(greatest), expected);
    assert_eq!(tail.judge(greatest.into_iter().rev()), expected);
    for (number, source) in ALL.into_iter().enumerate() {
        let equal = ALL[number..].iter().map(|&source| {
            let is_entry = matches!(source, EndSource::OffsetIndex | EndSource::TimeIndex);
            EndWitness::new(source, 120 - i64::from(is_entry))
        });
        let expected = missing(120, MissingReason::Truncated, source);
        assert_eq!(tail.judge(equal.clone()), expected);
        assert_eq!(tail.judge(equal.rev()), expected);
    }
}

#[test]
fn bytes_after_the_last_batch_are_corrupt_if_the_log_was_longer() {
    let watermark = EndWitness::new(EndSource::HighWatermark, 120);
    let repeat = Part::Batch { first: 100, last: 109, size: 100 };
    for (after, reason) in [
        (&[][..], MissingReason::Truncated),
        (&[Part::Zeros(50)], MissingReason::Corrupt),
        (&[Part::Corrupt(50)], MissingReason::Corrupt),
        (&[Part::Corrupt(50), Part::Zeros(50)], MissingReason::Corrupt),
        (&[repeat], MissingReason::Corrupt),
    ] {
        for is_preallocated in [false, true] {
            let expected = missing(120, reason, EndSource::HighWatermark);
            assert_eq!(tail(after, is_preallocated).judge([watermark]), expected, "{after:?}");
        }
    }
}

#[test]
fn zeros_are_a_warning_unless_the_file_was_preallocated() {
    let reached = EndWitness::new(EndSource::HighWatermark, 110);
    for (after, is_preallocated, expected) in [
        (&[][..], false, LogEnd::Intact),
        (&[Part::Corrupt(50)], false, LogEnd::Intact),
        (&[Part::Zeros(50)], true, LogEnd::Intact),
        (&[Part::Zeros(50)], false, LogEnd::Zeros { bytes: 50 }),
        (&[Part::Corrupt(7), Part::Zeros(50)], false, LogEnd::Zeros { bytes: 50 }),
    ] {
        assert_eq!(tail(after, is_preallocated).judge([reached]), expected, "{after:?}");
        assert_eq!(tail(after, is_preallocated).judge([]), expected, "{after:?}");
    }
}

#[test]
fn the_end_of_a_log_is_that_of_all_files() {
    let batch = |first, last| Part::Batch { first, last, size: 100 };
    let end = |files: &[(i64, &[Part])]| {
        let facts: Vec<_> = files.iter().map(|(_, parts)| facts(parts)).collect();
        let files: Vec<_> = files.iter().zip(&facts).map(|((name, _), facts)| file(*name, facts)).collect();
        LogTail::of(&map(&files, Compaction::Unknown), false).map(|tail| (tail.end, tail.is_corrupt, tail.zeros))
    };
    assert_eq!(end(&[]), None);
    assert_eq!(end(&[(7, &[])]), Some((7, false, 0)));
    assert_eq!(end(&[(7, &[Part::Zeros(12)])]), Some((7, false, 12)));
    assert_eq!(end(&[(0, &[batch(0, 9)]), (20, &[])]), Some((20, false, 0)));
    assert_eq!(end(&[(0, &[batch(0, 9)]), (10, &[batch(10, 19)])]), Some((20, false, 0)));
    // Zeros at the end of another file are not at the end of the log.
    assert_eq!(end(&[(0, &[batch(0, 9), Part::Zeros(12)]), (10, &[batch(10, 19)])]), Some((20, false, 0)));
    // The last file has the offsets between the other two.
    let moved = [(0, &[batch(0, 9)][..]), (20, &[batch(20, 29)]), (40, &[batch(10, 19)])];
    assert_eq!(end(&moved), Some((40, false, 0)));
}

#[test]
fn no_offset_overflows() {
    let tail = LogTail { end: i64::MIN, ..LogTail::default() };
    let LogEnd::Missing { missing, .. } = tail.judge([EndWitness::new(EndSource::OffsetIndex, i64::MAX)]) else {
        panic!("nothing is missing");
    };
    assert_eq!(missing.offsets.len(), u64::MAX);
}
