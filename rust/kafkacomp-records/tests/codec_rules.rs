//! The rules of the formats: for each, data that breaks it, and the error with its position.

#![allow(clippy::unwrap_used, missing_docs, reason = "a test")]

mod common;

use common::encode::{self, LZ4_PLAIN, Lz4};
use common::{ROOMY, as_record_set, by_specification, one_shot};
use kafkacomp_records::CompressionType;
use kafkacomp_records::compress::{CodecFault, lz4};

/// A copy of `bytes` with `new` at the position `at`.
fn patched(bytes: &[u8], at: usize, new: &[u8]) -> Vec<u8> {
    let mut patched = bytes.to_vec();
    patched.splice(at..at + new.len(), new.iter().copied());
    patched
}

fn cat(parts: &[&[u8]]) -> Vec<u8> {
    parts.concat()
}

/// A copy of the frame with the right header checksum.
fn with_header_checksum(frame: &[u8]) -> Vec<u8> {
    let info = lz4::frame_info(frame).unwrap();
    patched(frame, info.position + info.header_length - 1, &[info.checksum_of_descriptor])
}

/// The fault of corrupt data and its position; `None` if the data is accepted.
type Verdict = Option<(CodecFault, u64)>;

fn check(codec: CompressionType, data: &[u8], strict: &Verdict, record_set: &Verdict, plain: &[u8]) {
    let verdict = one_shot(by_specification(codec), data, ROOMY);
    let said = verdict.as_ref().err().map(|error| (error.fault.clone(), error.position));
    assert_eq!(&said, strict, "{codec:?} by its specification: {data:02x?}");
    if let Ok(content) = verdict {
        assert_eq!(content, plain);
    }
    let (verdict, content) = as_record_set(codec, 2, data);
    let said = verdict.as_ref().err().map(|error| (error.fault.clone(), error.position));
    assert_eq!(&said, record_set, "{codec:?} in a record set: {data:02x?}");
    if verdict.is_ok() {
        assert_eq!(content, plain);
    }
}

#[test]
fn lz4_rules() {
    let plain = b"offset offset offset offset offset".repeat(20);
    let frame = encode::lz4(&plain, LZ4_PLAIN);
    let length = frame.len() as u64;
    let sized = encode::lz4(&plain, Lz4 { content_size: true, content_checksum: true, ..LZ4_PLAIN });
    let stored_sum = u32::from_le_bytes(*sized.last_chunk().unwrap());
    let wrong_sum = patched(&sized, sized.len() - 4, &(stored_sum ^ 1).to_le_bytes());
    let wrong_size = with_header_checksum(&patched(&sized, 6, &7_u64.to_le_bytes()));
    let dictionary = with_header_checksum(&cat(&[&frame[..4], &[0x61, 0x40, 9, 0, 0, 0, 0], &frame[7..]]));
    let at_end = |fault: CodecFault| Some((fault, length));
    let both = |data: &[u8], fault: CodecFault, position: u64| {
        let verdict = Some((fault, position));
        check(CompressionType::Lz4, data, &verdict, &verdict, &plain);
    };
    check(CompressionType::Lz4, &frame, &None, &None, &plain);
    both(b"", CodecFault::Truncated, 0);
    both(&frame[..3], CodecFault::Truncated, 0);
    both(&frame[..5], CodecFault::Truncated, 5);
    both(&frame[..length as usize - 4], CodecFault::Truncated, length - 4);
    both(b"not lz4 at all", CodecFault::BadMagic { found: *b"not " }, 0);
    both(&patched(&frame, 4, &[0xA0]), CodecFault::UnsupportedVersion { version: 2 }, 4);
    both(&patched(&frame, 4, &[0x62]), CodecFault::ReservedBits { found: 0x62 }, 4);
    both(&patched(&frame, 5, &[0x41]), CodecFault::ReservedBits { found: 0x41 }, 5);
    both(&patched(&frame, 5, &[0x30]), CodecFault::BlockMaxSize { id: 3 }, 5);
    both(&patched(&frame, 6, &[0x1A]), CodecFault::HeaderChecksum { stored: 0x1A, standard: 0x82, broken: 0x1A }, 6);
    both(&patched(&frame, 7, &[1, 0, 1, 0]), CodecFault::BlockSize { size: 65_537, max: 65_536 }, 7);
    both(&dictionary, CodecFault::Dictionary { id: 9 }, 0);
    let trailing = CodecFault::TrailingData { length: 3 };
    check(CompressionType::Lz4, &cat(&[&frame, b"abc"]), &at_end(trailing), &None, &plain);
    let computed = stored_sum;
    let sum = CodecFault::ContentChecksum { stored: stored_sum ^ 1, computed };
    check(CompressionType::Lz4, &wrong_sum, &Some((sum, sized.len() as u64 - 4)), &None, &plain);
    let size = CodecFault::ContentSize { declared: 7, actual: plain.len() as u64 };
    check(CompressionType::Lz4, &wrong_size, &Some((size, 0)), &None, &plain);
    // In a record set, bytes after the first frame that are not a complete frame are ignored.
    check(
        CompressionType::Lz4,
        &cat(&[&frame, &frame[..20]]),
        &Some((CodecFault::Truncated, length + 11)),
        &None,
        &plain,
    );
}

#[test]
fn snappy_rules() {
    let plain = b"producer producer producer".repeat(9);
    let raw = encode::raw_snappy(&plain);
    let stream = encode::xerial(&plain, 1 << 20, [0, 0, 0, 1]);
    let length = stream.len() as u64;
    let both = |data: &[u8], fault: CodecFault, position: u64| {
        let verdict = Some((fault, position));
        check(CompressionType::Snappy, data, &verdict, &verdict, &plain);
    };
    check(CompressionType::Snappy, &raw, &None, &None, &plain);
    both(b"", CodecFault::Truncated, 0);
    both(&[0x80, 0x80], CodecFault::Truncated, 0);
    both(&[0xFF; 9], CodecFault::CorruptBlock, 0);
    both(b"\xff\xff\xff\x7f\x00\x00", CodecFault::ImplausibleSize { compressed: 6, claimed: 0x0FFF_FFFF }, 0);
    both(&raw[..raw.len() - 1], CodecFault::CorruptBlock, 0);
    both(&stream[..stream.len() - 1], CodecFault::Truncated, 20);
    both(
        &patched(&stream, 16, &[0x80]),
        CodecFault::BlockSize { size: i64::from(i32::MIN) + raw.len() as i64, max: 1 << 29 },
        16,
    );
    let version = Some((CodecFault::UnsupportedVersion { version: 1 }, 8));
    check(CompressionType::Snappy, &patched(&stream, 12, &[0, 0, 0, 2]), &version, &None, &plain);
    check(CompressionType::Snappy, &cat(&[&stream, &[0, 0]]), &Some((CodecFault::Truncated, length)), &None, &plain);
    let twice = plain.repeat(2);
    let second = patched(&stream, 8, &[0; 8]);
    let version = Some((CodecFault::UnsupportedVersion { version: 0 }, length + 8));
    check(CompressionType::Snappy, &cat(&[&stream, &second]), &version, &version, &twice);
}

#[test]
fn gzip_rules() {
    let plain = b"consumer consumer consumer".repeat(9);
    let member = encode::gzip(&plain, 6, 0);
    let length = member.len();
    let crc = crc32fast::hash(&plain);
    let both = |data: &[u8], fault: CodecFault, position: usize| {
        let verdict = Some((fault, position as u64));
        check(CompressionType::Gzip, data, &verdict, &verdict, &plain);
    };
    check(CompressionType::Gzip, &member, &None, &None, &plain);
    both(b"", CodecFault::Truncated, 0);
    both(b"\x1f\x8c", CodecFault::BadMagic { found: [0x1F, 0x8C, 0, 0] }, 0);
    both(&patched(&member, 2, &[7]), CodecFault::CompressionMethod { method: 7 }, 0);
    both(&member[..9], CodecFault::Truncated, 4);
    both(&member[..length - 8], CodecFault::Truncated, length - 8);
    both(&member[..length - 9], CodecFault::Truncated, length - 9);
    let stored = crc ^ 0xFF;
    both(
        &patched(&member, length - 8, &stored.to_le_bytes()),
        CodecFault::ContentChecksum { stored, computed: crc },
        length - 8,
    );
    let size = CodecFault::ContentSize { declared: 5, actual: plain.len() as u64 };
    both(&patched(&member, length - 4, &[5, 0, 0, 0]), size, length - 8);
    let with_crc = encode::gzip(&plain, 6, 10);
    let at = 10 + "a name".len() + 1;
    let computed = crc32fast::hash(&with_crc[..at]) as u16;
    both(&patched(&with_crc, at, &(!computed).to_le_bytes()), CodecFault::HeaderCrc { stored: !computed, computed }, 0);
    let reserved = Some((CodecFault::ReservedBits { found: 0x20 }, 3));
    check(CompressionType::Gzip, &patched(&member, 3, &[0x20]), &reserved, &None, &plain);
    let trailing = Some((CodecFault::TrailingData { length: 4 }, length as u64 + 2));
    check(CompressionType::Gzip, &cat(&[&member, b"\0\0tail"]), &trailing, &None, &plain);
    // Kafka's reader stops at zero padding; a reader by the specification continues with a member after it.
    check(CompressionType::Gzip, &cat(&[&member, &[0; 100]]), &None, &None, &plain);
    // The JDK looks for a further header only if 19 bytes or more follow.
    check(
        CompressionType::Gzip,
        &cat(&[&member, &member[..18]]),
        &Some((CodecFault::Truncated, length as u64 + 18)),
        &None,
        &plain,
    );
    let cut = Some((CodecFault::Truncated, length as u64 + 19));
    check(CompressionType::Gzip, &cat(&[&member, &member[..19]]), &cut, &cut, &plain);
}

#[test]
fn zstd_rules() {
    let plain = b"partition partition partition".repeat(9);
    let frame = encode::zstd(&plain, 3, false, false);
    let length = frame.len();
    let checked = encode::zstd(&plain, 3, true, true);
    let both = |data: &[u8], fault: CodecFault, position: usize| {
        let verdict = Some((fault, position as u64));
        check(CompressionType::Zstd, data, &verdict, &verdict, &plain);
    };
    check(CompressionType::Zstd, &frame, &None, &None, &plain);
    check(CompressionType::Zstd, b"", &Some((CodecFault::Truncated, 0)), &None, b"");
    both(b"nothing", CodecFault::BadMagic { found: *b"noth" }, 0);
    both(&frame[..3], CodecFault::Truncated, 0);
    both(&frame[..length - 1], CodecFault::Truncated, 9);
    both(&patched(&frame, 4, &[8]), CodecFault::ReservedBits { found: 8 }, 4);
    both(&cat(&[&frame[..4], &[1], &frame[5..6], &[77], &frame[6..]]), CodecFault::Dictionary { id: 77 }, 4);
    // The largest window is 128 MiB, whatever the size of the content.
    check(CompressionType::Zstd, &patched(&frame, 5, &[17 << 3]), &None, &None, &plain);
    both(&patched(&frame, 5, &[18 << 3]), CodecFault::WindowSize { window: 1 << 28, max: (1 << 27) + 1 }, 0);
    both(&patched(&frame, 6, &[frame[6] | 6]), CodecFault::CorruptBlock, 6);
    both(&patched(&checked, checked.len() - 1, &[checked[checked.len() - 1] ^ 1]), CodecFault::ContentHash, 0);
    both(&cat(&[&frame, b"tail"]), CodecFault::TrailingData { length: 4 }, length);
    // zstd-jni accepts a truncated second frame that begins in the same read of its input.
    check(
        CompressionType::Zstd,
        &cat(&[&frame, &frame[..9]]),
        &Some((CodecFault::Truncated, length as u64 + 9)),
        &None,
        &plain,
    );
    // But not a skippable frame that lacks 2^32 - 119 bytes or more: zstd-jni takes their number for an error code.
    let truncated = Some((CodecFault::Truncated, length as u64 + 8));
    let lacking = |bytes: u32, present: u8| {
        cat(&[
            &frame,
            &encode::skippable(7, 0)[..4],
            &(bytes + u32::from(present)).to_le_bytes(),
            &vec![1; present.into()],
        ])
    };
    for present in [0, 1, 100] {
        check(CompressionType::Zstd, &lacking(u32::MAX - 119, present), &truncated, &None, &plain);
        check(CompressionType::Zstd, &lacking(u32::MAX - 118, present), &truncated, &truncated, &plain);
    }
    check(CompressionType::Zstd, &lacking(u32::MAX - 255, 255), &truncated, &None, &plain);
    check(CompressionType::Zstd, &lacking(u32::MAX, 0), &truncated, &truncated, &plain);
}
