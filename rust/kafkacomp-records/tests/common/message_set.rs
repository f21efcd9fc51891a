//! Message sets of Kafka 0.7.

/// An entry of a message set, of the magic that has attributes.
pub fn entry(payload: &[u8], attributes: u8) -> Vec<u8> {
    let mut out = (payload.len() as u32 + 6).to_be_bytes().to_vec();
    out.extend([1, attributes]);
    out.extend(crc32fast::hash(payload).to_be_bytes());
    out.extend(payload);
    out
}
