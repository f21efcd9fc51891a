//! The positions of the fields of a message of formats 0 and 1; [`v0_v1`](crate::record::v0_v1) has the layout in words.

/// The position of the CRC in a message.
pub const CRC_OFFSET: usize = 0;
/// Length of the CRC.
pub const CRC_LENGTH: usize = 4;
/// The position of the magic in a message; the CRC covers the bytes from there on.
pub const MAGIC_OFFSET: usize = CRC_OFFSET + CRC_LENGTH;
/// Length of the magic.
pub const MAGIC_LENGTH: usize = 1;
/// The position of the attributes in a message.
pub const ATTRIBUTES_OFFSET: usize = MAGIC_OFFSET + MAGIC_LENGTH;
/// Length of the attributes.
pub const ATTRIBUTES_LENGTH: usize = 1;
/// The position of the timestamp (format 1).
pub const TIMESTAMP_OFFSET: usize = ATTRIBUTES_OFFSET + ATTRIBUTES_LENGTH;
/// Length of the timestamp.
pub const TIMESTAMP_LENGTH: usize = 8;
/// The position of the key's length in format 0.
pub const KEY_SIZE_OFFSET_V0: usize = ATTRIBUTES_OFFSET + ATTRIBUTES_LENGTH;
/// The position of the key's length in format 1.
pub const KEY_SIZE_OFFSET_V1: usize = TIMESTAMP_OFFSET + TIMESTAMP_LENGTH;
/// Length of a key's or value's length.
pub const SIZE_OF_LENGTH: usize = 4;
/// The size of a message of format 0 without key and value.
pub const RECORD_OVERHEAD_V0: usize = KEY_SIZE_OFFSET_V0 + SIZE_OF_LENGTH + SIZE_OF_LENGTH;
/// The size of a message of format 1 without key and value.
pub const RECORD_OVERHEAD_V1: usize = KEY_SIZE_OFFSET_V1 + SIZE_OF_LENGTH + SIZE_OF_LENGTH;

/// The size of a message of this format without key and value.
pub fn record_overhead(magic: i8) -> usize {
    if magic == 0 { RECORD_OVERHEAD_V0 } else { RECORD_OVERHEAD_V1 }
}
