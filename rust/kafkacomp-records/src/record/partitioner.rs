//! The partition of a record by its key, as Kafka's producers choose it.
//!
//! `partition = (murmur2(key) & 0x7fffffff) % partitions`, of the serialized key. Records without a key are not
//! partitioned by it: producers keep one partition for several records (KIP-480, KIP-794).
//! Source: `Utils.murmur2`, `BuiltInPartitioner.partitionForKey`.

const SEED: u32 = 0x9747_b28c;
const MIX: u32 = 0x5bd1_e995;

/// The 32-bit murmur hash 2 with Kafka's seed.
pub fn murmur2(data: &[u8]) -> i32 {
    let mut hash = SEED ^ data.len() as u32;
    let (words, tail) = data.as_chunks::<4>();
    for &word in words {
        let mut mixed = u32::from_le_bytes(word).wrapping_mul(MIX);
        mixed ^= mixed >> 24;
        hash = hash.wrapping_mul(MIX) ^ mixed.wrapping_mul(MIX);
    }
    if !tail.is_empty() {
        let mut last = [0; 4];
        last.iter_mut().zip(tail).for_each(|(to, from)| *to = *from);
        hash = (hash ^ u32::from_le_bytes(last)).wrapping_mul(MIX);
    }
    hash ^= hash >> 13;
    hash = hash.wrapping_mul(MIX);
    (hash ^ (hash >> 15)) as i32
}

/// The partition of a key among `partitions`, which is at least 1.
pub fn partition_for_key(key: &[u8], partitions: i32) -> i32 {
    (murmur2(key) & i32::MAX) % partitions.max(1)
}

#[cfg(test)]
mod tests {
    use super::{murmur2, partition_for_key};

    /// Kafka's own cases, from `UtilsTest.testMurmur2`.
    #[test]
    fn hashes_are_those_of_kafka() {
        for (key, hash) in [
            ("21", -973_932_308),
            ("foobar", -790_332_482),
            ("a-little-bit-long-string", -985_981_536),
            ("a-little-bit-longer-string", -1_486_304_829),
            ("lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58_897_971),
            ("abc", 479_470_107),
        ] {
            assert_eq!(murmur2(key.as_bytes()), hash, "{key}");
        }
    }

    #[test]
    fn a_negative_hash_has_its_sign_cleared() {
        assert_eq!(partition_for_key(b"21", 7), (i64::from(i32::MAX) + 1 - 973_932_308) as i32 % 7);
        assert_eq!(partition_for_key(b"", 1), 0);
    }
}
