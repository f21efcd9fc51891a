//! Hand-written batches for the tests and the benchmark.

#![allow(dead_code, reason = "the benchmark and the tests each use a part")]

use kafkacomp_records::checksum::crc32c;

/// Appends a zig-zag varlong.
pub fn varint(out: &mut Vec<u8>, value: i64) {
    let mut raw = ((value << 1) ^ (value >> 63)) as u64;
    while raw >= 0x80 {
        out.push((raw as u8 & 0x7f) | 0x80);
        raw >>= 7;
    }
    out.push(raw as u8);
}

/// An uncompressed batch of magic 2, in the layout of KIP-98.
pub fn batch(base_offset: i64, values: &[&[u8]], attributes: i16, producer_id: i64) -> Vec<u8> {
    batch_of(base_offset, values, attributes, producer_id, |records| records)
}

/// A [`batch`] whose records `compress` has compressed.
pub fn batch_of(
    base_offset: i64,
    values: &[&[u8]],
    attributes: i16,
    producer_id: i64,
    compress: impl FnOnce(Vec<u8>) -> Vec<u8>,
) -> Vec<u8> {
    let mut records = Vec::new();
    for (delta, value) in values.iter().enumerate() {
        let mut body = vec![0];
        varint(&mut body, delta as i64);
        varint(&mut body, delta as i64);
        varint(&mut body, -1);
        varint(&mut body, value.len() as i64);
        body.extend_from_slice(value);
        varint(&mut body, 0);
        varint(&mut records, body.len() as i64);
        records.extend_from_slice(&body);
    }
    let mut covered = Vec::new();
    covered.extend_from_slice(&attributes.to_be_bytes());
    covered.extend_from_slice(&(values.len() as i32 - 1).to_be_bytes());
    covered.extend_from_slice(&(1000 + base_offset).to_be_bytes());
    covered.extend_from_slice(&(1000 + base_offset + values.len() as i64).to_be_bytes());
    covered.extend_from_slice(&producer_id.to_be_bytes());
    covered.extend_from_slice(&0_i16.to_be_bytes());
    covered.extend_from_slice(&0_i32.to_be_bytes());
    covered.extend_from_slice(&(values.len() as i32).to_be_bytes());
    covered.extend_from_slice(&compress(records));
    let mut out = Vec::new();
    out.extend_from_slice(&base_offset.to_be_bytes());
    out.extend_from_slice(&(covered.len() as i32 + 9).to_be_bytes());
    out.extend_from_slice(&0_i32.to_be_bytes());
    out.push(2);
    out.extend_from_slice(&crc32c(&covered).to_be_bytes());
    out.extend_from_slice(&covered);
    out
}
