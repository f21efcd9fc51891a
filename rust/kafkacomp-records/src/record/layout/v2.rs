//! The positions of the fields of a batch of message format 2; [`v2`](crate::record::v2) has the layout in words.

/// Bits of a record's attributes.
pub(in crate::record) const ATTRIBUTES_BITS: u32 = 8;

/// The position of the base offset.
pub const BASE_OFFSET_OFFSET: usize = 0;
/// Length of the base offset.
pub const BASE_OFFSET_LENGTH: usize = 8;
/// The position of the length.
pub const LENGTH_OFFSET: usize = BASE_OFFSET_OFFSET + BASE_OFFSET_LENGTH;
/// Length of the length.
pub const LENGTH_LENGTH: usize = 4;
/// The position of the partition leader epoch.
pub const PARTITION_LEADER_EPOCH_OFFSET: usize = LENGTH_OFFSET + LENGTH_LENGTH;
/// Length of the partition leader epoch.
pub const PARTITION_LEADER_EPOCH_LENGTH: usize = 4;
/// The position of the magic.
pub const MAGIC_OFFSET: usize = PARTITION_LEADER_EPOCH_OFFSET + PARTITION_LEADER_EPOCH_LENGTH;
/// Length of the magic.
pub const MAGIC_LENGTH: usize = 1;
/// The position of the CRC.
pub const CRC_OFFSET: usize = MAGIC_OFFSET + MAGIC_LENGTH;
/// Length of the CRC.
pub const CRC_LENGTH: usize = 4;
/// The position of the attributes; the CRC covers the bytes from there on.
pub const ATTRIBUTES_OFFSET: usize = CRC_OFFSET + CRC_LENGTH;
/// Length of the attributes.
pub const ATTRIBUTES_LENGTH: usize = 2;
/// The position of the last offset delta.
pub const LAST_OFFSET_DELTA_OFFSET: usize = ATTRIBUTES_OFFSET + ATTRIBUTES_LENGTH;
/// Length of the last offset delta.
pub const LAST_OFFSET_DELTA_LENGTH: usize = 4;
/// The position of the base timestamp.
pub const BASE_TIMESTAMP_OFFSET: usize = LAST_OFFSET_DELTA_OFFSET + LAST_OFFSET_DELTA_LENGTH;
/// Length of the base timestamp.
pub const BASE_TIMESTAMP_LENGTH: usize = 8;
/// The position of the max timestamp.
pub const MAX_TIMESTAMP_OFFSET: usize = BASE_TIMESTAMP_OFFSET + BASE_TIMESTAMP_LENGTH;
/// Length of the max timestamp.
pub const MAX_TIMESTAMP_LENGTH: usize = 8;
/// The position of the producer id.
pub const PRODUCER_ID_OFFSET: usize = MAX_TIMESTAMP_OFFSET + MAX_TIMESTAMP_LENGTH;
/// Length of the producer id.
pub const PRODUCER_ID_LENGTH: usize = 8;
/// The position of the producer epoch.
pub const PRODUCER_EPOCH_OFFSET: usize = PRODUCER_ID_OFFSET + PRODUCER_ID_LENGTH;
/// Length of the producer epoch.
pub const PRODUCER_EPOCH_LENGTH: usize = 2;
/// The position of the base sequence.
pub const BASE_SEQUENCE_OFFSET: usize = PRODUCER_EPOCH_OFFSET + PRODUCER_EPOCH_LENGTH;
/// Length of the base sequence.
pub const BASE_SEQUENCE_LENGTH: usize = 4;
/// The position of the number of records.
pub const RECORDS_COUNT_OFFSET: usize = BASE_SEQUENCE_OFFSET + BASE_SEQUENCE_LENGTH;
/// Length of the number of records.
pub const RECORDS_COUNT_LENGTH: usize = 4;
/// Where the records begin.
pub const RECORDS_OFFSET: usize = RECORDS_COUNT_OFFSET + RECORDS_COUNT_LENGTH;
/// The size of a batch without records.
pub const RECORD_BATCH_OVERHEAD: usize = RECORDS_OFFSET;

const _: () = assert!(RECORD_BATCH_OVERHEAD == 61 && LENGTH_OFFSET + LENGTH_LENGTH == 12);

/// The size of the shortest record: one byte each for its size, attributes, timestamp, offset, key length, value length and
/// number of headers.
pub const LEAST_RECORD: usize = 7;
