//! Ranges, compared with the numbers in them.

use crate::map::{ByteRange, OffsetRange};

const END: i64 = 4;

fn all() -> impl Iterator<Item = (OffsetRange, Vec<i64>)> {
    let pairs = (0..=END).flat_map(|start| (start..=END).map(move |end| (start, end)));
    pairs.map(|(start, end)| (OffsetRange::new(start, end).unwrap(), (start..end).collect()))
}

fn numbers(range: OffsetRange) -> Vec<i64> {
    (range.start()..range.end()).collect()
}

#[test]
fn a_range_is_not_inverted() {
    for (start, end) in (0..=END).flat_map(|start| (0..=END).map(move |end| (start, end))) {
        assert_eq!(OffsetRange::new(start, end).is_some(), start <= end);
        let inclusive = (start <= end).then(|| OffsetRange::new(start, end + 1).unwrap());
        assert_eq!(OffsetRange::inclusive(start, end), inclusive);
        let (from, until) = (start as u64, end as u64);
        assert_eq!(ByteRange::new(from, until).is_some(), start <= end);
        assert_eq!(ByteRange::sized(from, until), ByteRange::new(from, from + until));
    }
    assert_eq!(OffsetRange::inclusive(0, i64::MAX), None);
    assert_eq!(ByteRange::sized(1, u64::MAX), None);
    assert_eq!(OffsetRange::new(i64::MIN, i64::MAX).map(OffsetRange::len), Some(u64::MAX));
    let bytes = ByteRange::new(3, 10).unwrap();
    assert_eq!((bytes.start(), bytes.end(), bytes.len(), bytes.is_empty()), (3, 10, 7, false));
    assert!(ByteRange::new(3, 3).unwrap().is_empty());
}

#[test]
fn ranges_are_sets_of_offsets() {
    for (one, mine) in all() {
        assert_eq!((one.len(), one.is_empty()), (mine.len() as u64, mine.is_empty()));
        for bound in 0..=END {
            assert_eq!(
                numbers(one.from(bound)),
                mine.iter().copied().filter(|each| *each >= bound).collect::<Vec<_>>()
            );
            assert_eq!(
                numbers(one.below(bound)),
                mine.iter().copied().filter(|each| *each < bound).collect::<Vec<_>>()
            );
        }
        for (other, others) in all() {
            let both: Vec<i64> = mine.iter().copied().filter(|each| others.contains(each)).collect();
            assert_eq!(numbers(one.intersection(other)), both);
            if !mine.is_empty() && !others.is_empty() {
                assert_eq!(one.overlaps(other), !both.is_empty());
                assert_eq!(one.contains(other), both == others);
                let through = one.through(other);
                assert_eq!((through.start(), through.end()), (one.start(), other.end().max(one.start())));
            }
        }
    }
}
