//! The three checksums of Kafka's formats: CRC-32 (messages of magic 0 and 1, gzip, Kafka 0.7), CRC-32C
//! (batches of magic 2) and XXH32 (LZ4 frames).

pub(crate) mod running;
#[cfg(target_arch = "x86_64")]
mod short;

/// On other processors, short data are processed as long ones.
#[cfg(not(target_arch = "x86_64"))]
mod short {
    pub(super) fn crc32c(_: &[u8]) -> Option<u32> {
        None
    }
}

/// CRC-32 (IEEE, as zlib's) of `data`.
#[inline]
pub fn crc32(data: &[u8]) -> u32 {
    crc32fast::hash(data)
}

/// CRC-32C (Castagnoli) of `data`.
#[inline]
pub fn crc32c(data: &[u8]) -> u32 {
    short::crc32c(data).unwrap_or_else(|| crc_fast::crc32_iscsi(data))
}

/// XXH32 with seed 0 of `data`.
pub fn xxh32(data: &[u8]) -> u32 {
    xxhash_rust::xxh32::xxh32(data, 0)
}
