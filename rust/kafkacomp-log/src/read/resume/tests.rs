use super::*;
use crate::read::resync::PIECE;
use crate::read::test_batches::{batch, record};
use crate::{BatchLayout, InMemory};
use kafkacomp_records::checksum::crc32;

fn text(base: i64) -> Vec<u8> {
    batch(base, 1, &record(format!("value {base} ").repeat(200).as_bytes()))
}

/// A message of magic 0 or 1; with a codec, a wrapper.
fn message(magic: u8, codec: u8, offset: i64, value: &[u8]) -> Vec<u8> {
    let timestamp: &[u8] = if magic == 0 { &[] } else { &[0; 8] };
    let length = (value.len() as i32).to_be_bytes();
    let covered = [&[magic, codec], timestamp, &(-1_i32).to_be_bytes(), &length, value].concat();
    let size = (covered.len() as i32 + 4).to_be_bytes();
    [&offset.to_be_bytes(), size.as_slice(), &crc32(&covered).to_be_bytes(), &covered].concat()
}

/// Where the set continues after the batch at `position`, and the bytes that went into checksums.
fn next(data: &[u8], position: usize, before: Option<&[u8]>, is_record_set: bool) -> (usize, u64) {
    let mut search = Resync::<BatchLayout>::new(position as u64, data.len() as u64);
    let before = before.map(|data| Before::of(&RecordBatch::new(data, 0).unwrap()));
    let found = search.resume(&InMemory(data), position as u64, before, is_record_set).unwrap();
    (found as usize, search.steps().summed)
}

#[test]
fn the_end_of_a_response_costs_no_checksums() {
    let whole: Vec<_> = (0..10).map(text).collect();
    let data = whole.concat();
    let at = data.len() - whole[9].len();
    for length in at + 1..data.len() {
        assert_eq!(next(&data[..length], at, Some(&whole[8]), true), (length, 0));
    }
}

#[test]
fn batches_in_a_truncated_value_are_not_of_the_log() {
    for base in [0, 5, 11, 500] {
        let backup: Vec<u8> = (base..base + 30).flat_map(text).collect();
        let before = text(9);
        let last = batch(10, 1, &record(&backup));
        let data = [before.as_slice(), &last].concat();
        // The batches of the value may have the offsets that come next.
        for length in (before.len() + 1..data.len()).step_by(97) {
            let (found, summed) = next(&data[..length], before.len(), Some(&before), true);
            assert_eq!(found, length, "{base}");
            assert!(summed <= 3 * length as u64, "{summed} of {length}");
            assert_eq!(next(&data[..length], before.len(), Some(&before), false).0, length, "in a log");
        }
    }
}

#[test]
fn a_wrong_size_is_proven_by_the_checksum_or_by_the_next_offset() {
    let whole: Vec<_> = (0..10).map(|base| batch(base * 3, 1, &record(b"a value"))).collect();
    for size in [0, 13, 48, 49, 70, 500, 100_000, i32::MAX, -1, i32::MIN] {
        for at in 0..9 {
            let mut batches = whole.clone();
            batches[at][8..12].copy_from_slice(&size.to_be_bytes());
            let position = batches[..at].concat().len();
            let before = at.checked_sub(1).map(|before| whole[before].as_slice());
            for is_record_set in [false, true] {
                let found = next(&batches.concat(), position, before, is_record_set).0;
                assert_eq!(found, position + whole[at].len(), "{size} of batch {at}");
            }
        }
    }
    // The checksum is wrong, too, and the offsets continue.
    let mut batches: Vec<_> = (0..10).map(text).collect();
    batches[4][8..21].copy_from_slice(&[0x7f, 0, 0, 0, 0, 0, 0, 0, 2, 1, 2, 3, 4]);
    let position = batches[..4].concat().len();
    assert_eq!(next(&batches.concat(), position, Some(&text(3)), true).0, position + batches[4].len());
}

#[test]
fn the_batch_after_a_wrong_size_is_found_among_zeros_and_wherever_a_piece_ends() {
    let before = text(9);
    for number in [0_i64, 5] {
        for length in (PIECE as usize - 150..PIECE as usize).step_by(3) {
            let value: Vec<u8> = number.to_be_bytes().into_iter().cycle().take(length).collect();
            let mut large = batch(10, 1, &record(&value));
            large[8] = 0x7f;
            let end = before.len() + large.len();
            let data = [before.as_slice(), &large, &text(11)].concat();
            assert_eq!(next(&data, before.len(), Some(&before), true).0, end, "{number}, {length}");
        }
    }
}

#[test]
fn messages_in_a_wrapper_are_not_of_the_log() {
    for magic in [0, 1] {
        let inner: Vec<u8> =
            (0..5).flat_map(|at| message(magic, 0, i64::from(magic == 0) * 10 + at, b"a value")).collect();
        // Snappy stores what it does not compress.
        let stored = [b"\xff\xff\x7f".as_slice(), &[0xf4, 0, 0], &inner].concat();
        let before = message(magic, 2, 9, b"anything");
        let wrapper = message(magic, 2, 14, &stored);
        let after = message(magic, 2, 19, b"anything else");
        let data = [before.as_slice(), &wrapper].concat();
        for length in before.len() + 1..data.len() {
            for is_record_set in [false, true] {
                assert_eq!(next(&data[..length], before.len(), Some(&before), is_record_set).0, length);
            }
        }
        // A hole that reaches into the next wrapper.
        let mut data = [data.as_slice(), &after, &message(magic, 2, 29, b"the end")].concat();
        let end = before.len() + wrapper.len();
        data[end - 4..end + 17].fill(7);
        for is_record_set in [false, true] {
            assert_eq!(next(&data, before.len(), Some(&before), is_record_set).0, end + after.len());
        }
    }
}

#[test]
fn batches_that_lead_across_the_stated_end_are_of_the_log_whatever_their_offsets() {
    let before = text(50);
    // The first bytes of a batch of elsewhere, and batches of the log, which are not in the order of offsets.
    let foreign = batch(51, 1, &record(&[b'x'; 900]));
    let log: Vec<_> = (20..30).map(text).collect();
    for length in [80, 200, foreign.len() - 1] {
        let data = [before.as_slice(), &foreign[..length], &log.concat()].concat();
        assert_eq!(next(&data, before.len(), Some(&before), true).0, before.len() + length, "{length}");
    }
    // Batches in a value do not lead across the end of the batch that has it, whatever follows.
    let backup: Vec<u8> = (20..30).flat_map(text).collect();
    for cut in [0, 40, 700] {
        let mut corrupt = batch(51, 1, &record(&backup[..backup.len() - cut]));
        corrupt[70] ^= 1;
        let end = before.len() + corrupt.len();
        let data = [before.as_slice(), &corrupt, &text(52), &text(53)].concat();
        assert_eq!(next(&data, before.len(), Some(&before), true).0, end, "{cut}");
    }
}

#[test]
fn many_batches_in_the_value_of_a_corrupt_batch_are_read_a_few_times_only() {
    let before = text(9);
    let small: Vec<u8> = (0..5000).flat_map(|base| batch(base, 1, &record(b"a value"))).collect();
    let mut corrupt = batch(10, 1, &record(&[small.as_slice(), b"the end"].concat()));
    corrupt[70] ^= 1;
    let data = [
        before.as_slice(),
        &corrupt,
        b"no batch is here, and these are enough bytes for a header of one, as it has 61 bytes",
    ]
    .concat();
    let (found, summed) = next(&data, before.len(), Some(&before), true);
    assert_eq!(found, data.len());
    assert!(summed <= 6 * data.len() as u64, "{summed} of {}", data.len());
}

#[test]
fn a_message_between_corrupt_ranges_counts_unless_a_wrapper_follows() {
    // The header of the first batch is lost, and a message is after it, as from the middle of a wrapper of magic 1.
    let parts = [vec![7; 120], message(1, 0, 2, b"a value"), vec![7; 90]].concat();
    let next_is = |codec: u8| {
        let after: Vec<u8> = (1005..1010).flat_map(|offset| message(1, codec, offset, b"anything")).collect();
        next(&[parts.as_slice(), &after].concat(), 0, None, true).0
    };
    assert_eq!((next_is(0), next_is(2)), (120, parts.len()));
}

#[test]
fn an_offset_far_above_those_before_is_not_believed_on_its_own() {
    let far = i64::from_be_bytes([7; 8]);
    let wrapper = |offset: i64| message(1, 2, offset, b"not decoded");
    let plain = |offset: i64| batch(offset, 1, &record(b"a value"));
    for made in [&wrapper as &dyn Fn(i64) -> Vec<u8>, &plain] {
        let before = made(9);
        let mut corrupt = made(19);
        // The hole ends within the offset of the batch after it.
        *corrupt.last_mut().unwrap() = 7;
        let position = before.len();
        let at = position + corrupt.len();
        let next_to = |after: &[Vec<u8>]| {
            let data = [&[before.clone(), corrupt.clone()], after].concat().concat();
            (next(&data, position, Some(&before), true).0, data.len())
        };
        let (found, _) = next_to(&[made(far), made(39), made(49)]);
        assert_eq!(found, at + made(far).len());
        let (found, end) = next_to(&[made(far)]);
        assert_eq!(found, end);
        assert_eq!(next_to(&[made(far), made(far + 10)]).0, at, "compaction made such segments");
        assert_eq!(next_to(&[made(19 + (1 << 31))]).0, at + made(0).len());
        assert_eq!(next_to(&[made(9 + (1 << 31))]).0, at);
        // No batch is before the corrupt one.
        let data = [corrupt.clone(), made(far), made(39)].concat();
        assert_eq!(next(&data, 0, None, true).0, corrupt.len() + made(far).len());
        let data = [corrupt, made(far)].concat();
        assert_eq!(next(&data, 0, None, true).0, data.len());
    }
}
