//! The three checksums of Kafka's formats: CRC-32 (messages of magic 0 and 1, gzip, Kafka 0.7), CRC-32C
//! (batches of magic 2) and XXH32 (LZ4 frames).

#[cfg(target_arch = "x86_64")]
mod folding;
#[cfg(target_arch = "x86_64")]
mod powers;
#[doc(hidden)]
pub mod running;
#[cfg(target_arch = "x86_64")]
mod short;

/// CRC-32 (IEEE, as zlib's) of `data`.
#[inline]
pub fn crc32(data: &[u8]) -> u32 {
    crc32fast::hash(data)
}

/// CRC-32C (Castagnoli) of `data`.
#[inline]
pub fn crc32c(data: &[u8]) -> u32 {
    #[cfg(target_arch = "x86_64")]
    if let Some(sum) = short::crc32c(data).or_else(|| folding::crc32c(data)) {
        return sum;
    }
    crc_fast::crc32_iscsi(data)
}

/// XXH32 with seed 0 of `data`.
pub fn xxh32(data: &[u8]) -> u32 {
    xxhash_rust::xxh32::xxh32(data, 0)
}
