//! Batches for tests, byte by byte.

use kafkacomp_records::checksum::crc32c;
use kafkacomp_records::record::layout::v2::RECORD_BATCH_OVERHEAD;

/// A batch of `count` offsets of magic 2 whose content is `records`, with the right checksum.
pub fn batch(base: i64, count: i32, records: &[u8]) -> Vec<u8> {
    let mut data = vec![0; RECORD_BATCH_OVERHEAD];
    data[..8].copy_from_slice(&base.to_be_bytes());
    data[8..12].copy_from_slice(&((RECORD_BATCH_OVERHEAD - 12 + records.len()) as i32).to_be_bytes());
    data[16] = 2;
    data[23..27].copy_from_slice(&(count - 1).to_be_bytes());
    data[43..57].fill(0xff);
    data[57..61].copy_from_slice(&count.to_be_bytes());
    data.extend(records);
    let crc = crc32c(&data[21..]);
    data[17..21].copy_from_slice(&crc.to_be_bytes());
    data
}

/// The content of a batch with one record and this value.
pub fn record(value: &[u8]) -> Vec<u8> {
    let varint = |number: usize| {
        let mut raw = number * 2;
        let mut bytes = Vec::new();
        while raw >= 0x80 {
            bytes.push(raw as u8 | 0x80);
            raw >>= 7;
        }
        bytes.push(raw as u8);
        bytes
    };
    let body = [&[0, 0, 0, 1], varint(value.len()).as_slice(), value, &[0]].concat();
    [varint(body.len()), body].concat()
}
