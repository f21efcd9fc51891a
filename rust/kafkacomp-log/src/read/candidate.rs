//! Positions at which an intact batch or entry may begin, judged by the header alone.
//!
//! A header passes if any reader could accept the batch. Some checks are stricter than the layout requires: the number of
//! records, the first record, the first bytes of compressed records, the lengths of key and value. They refuse only batches
//! whose records no reader can decode. They reduce the number of candidates, and so the work, but not what is found.

use kafkacomp_records::CompressionType;
use kafkacomp_records::bytes::be_i32;
use kafkacomp_records::checksum::running::Polynomial;
use kafkacomp_records::message_set::message::{
    CRC_OFFSET_V0, CRC_OFFSET_V1, HEADER_LENGTH_V0, HEADER_LENGTH_V1, MAGIC_OFFSET as ENTRY_MAGIC_OFFSET, SIZE_LENGTH,
};
use kafkacomp_records::record::RecordBatch;
use kafkacomp_records::record::batch::{BatchHead, HEADER_SIZE_UP_TO_MAGIC, LOG_OVERHEAD, MAGIC_OFFSET, SIZE_OFFSET};
use kafkacomp_records::record::layout::v0_v1::{self, RECORD_OVERHEAD_V0, RECORD_OVERHEAD_V1};
use kafkacomp_records::record::layout::v2::{ATTRIBUTES_OFFSET, LEAST_RECORD, RECORD_BATCH_OVERHEAD};
use kafkacomp_records::varint::take_varint;

/// A possible batch: its length and its checksum according to the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidate {
    /// The length of the batch in bytes.
    pub(super) length: u64,
    /// The first byte that the checksum covers, from the start of the batch; it covers everything up to the end.
    pub(super) covered_from: u8,
    /// The checksum in the header.
    pub(super) stored: u32,
    pub(super) polynomial: Polynomial,
}

/// What the header of a batch states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Claim {
    pub(super) candidate: Candidate,
    /// The first offset; `None` for a wrapper, whose first offset only its records show.
    pub(super) first: Option<i64>,
    pub(super) last: i64,
    /// Whether it is a message of magic 0 or 1 that is not compressed, as those inside a wrapper are.
    pub(super) is_message: bool,
    /// Whether all its fields have values that Kafka writes.
    pub(super) is_regular: bool,
}

impl Claim {
    /// The least offset that the batch may have according to its header.
    pub(super) fn least(&self) -> i64 {
        self.first.unwrap_or(self.last)
    }

    /// Whether it is a compressed message of magic 0 or 1.
    pub(super) fn is_wrapper(&self) -> bool {
        self.first.is_none()
    }

    /// Whether both are headers of the same batch.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let key = |claim: &Self| (claim.first, claim.last, claim.candidate.stored);
        key(self) == key(other)
    }
}

/// The batches of Kafka 0.8 and later.
#[derive(Debug, Clone)]
pub struct BatchLayout;

/// The entries of Kafka 0.7.
#[derive(Debug, Clone)]
pub struct EntryLayout {
    pub(super) verify_crc: bool,
}

/// The layout of the batches or entries of a log format, as needed for reading in chunks and for resynchronization.
pub trait Layout {
    /// The number of bytes that are examined.
    const HEADER: usize;
    /// The fewest bytes of a batch.
    const LEAST: usize;
    /// The start and end of the size field, which is never 0.
    const SIZE: (usize, usize);

    /// The candidate that begins with `header`, if `left` bytes are left from its start on. `header` has [`Self::HEADER`]
    /// bytes, or all that are left.
    fn candidate(header: &[u8], left: u64) -> Option<Candidate>;

    /// The first position in `from..bound` of `data` at which a candidate may begin, judged by magic and size alone; `left`
    /// bytes follow from `from` on. A position with the size 0 is returned, too: the caller skips the zeros from there.
    fn hint(data: &[u8], from: usize, bound: usize, left: u64) -> Option<usize>;

    /// The length that a batch declares, even if other fields of its header are invalid.
    fn stated_length(header: &[u8]) -> Option<u64>;

    /// Whether batches in the payload of the batch that begins with `header` may end where it ends; also true if its size is
    /// known to be right.
    fn may_enclose_up_to_its_end(header: &[u8]) -> bool;

    /// What `header` states, if it can be that of a batch of any size. `None` for entries, which have no offsets.
    fn claim(header: &[u8]) -> Option<Claim>;

    /// As [`claim`](Self::claim), with the size that the lengths of key and value add up to, for a message of magic 0 or 1
    /// whose size field differs from it.
    fn claim_by_lengths(header: &[u8]) -> Option<Claim>;
}

/// The first of `most` positions in `data` with a possible size and, in the last of `FIELDS` bytes, a possible magic, or with
/// the size 0. A batch has `overhead` bytes more than its size; `left` bytes follow from the start of the first one on.
#[inline]
fn first_possible<const FIELDS: usize>(
    data: &[u8],
    most: usize,
    left: u64,
    overhead: usize,
    last_magic: u8,
) -> Option<usize> {
    // The size is at most what follows. Negative sizes are greater as unsigned numbers.
    let largest = u32::try_from(left.saturating_sub(overhead as u64)).unwrap_or(i32::MAX as u32).min(i32::MAX as u32);
    data.windows(FIELDS).take(most).position(|fields| {
        let [a, b, c, d, .., magic] = *fields else { return false };
        magic <= last_magic && u32::from_be_bytes([a, b, c, d]) <= largest
    })
}

impl Layout for BatchLayout {
    const HEADER: usize = RECORD_BATCH_OVERHEAD + 16;
    const LEAST: usize = LOG_OVERHEAD + RECORD_OVERHEAD_V0;
    const SIZE: (usize, usize) = (SIZE_OFFSET, LOG_OVERHEAD);

    fn candidate(header: &[u8], left: u64) -> Option<Candidate> {
        let head = BatchHead::read(header, 0).ok()??;
        let length = head.size_in_bytes() as u64;
        if head.offset < 0 || length > left || head.check_minimum(0).is_err() {
            return None;
        }
        let batch = RecordBatch::of_header(header, 0, head.magic)?;
        let (possible, covered_from, polynomial) = if head.magic >= 2 {
            (v2_is_possible(&batch, header, head.size_in_bytes()), ATTRIBUTES_OFFSET, Polynomial::Crc32c)
        } else {
            (lengths_add_up(header, &head) != Some(false), MAGIC_OFFSET, Polynomial::Crc32)
        };
        possible.then(|| Candidate { length, covered_from: covered_from as u8, stored: batch.crc(), polynomial })
    }

    #[inline]
    fn hint(data: &[u8], from: usize, bound: usize, left: u64) -> Option<usize> {
        const FIELDS: usize = HEADER_SIZE_UP_TO_MAGIC - SIZE_OFFSET;
        let fields = data.get(from.saturating_add(SIZE_OFFSET)..)?;
        first_possible::<FIELDS>(fields, bound.saturating_sub(from), left, LOG_OVERHEAD, 2)
            .map(|at| from.saturating_add(at))
    }

    fn stated_length(header: &[u8]) -> Option<u64> {
        let size = be_i32(header.get(..HEADER_SIZE_UP_TO_MAGIC)?, SIZE_OFFSET)?;
        let size = u64::try_from(size).ok().filter(|&size| size >= RECORD_OVERHEAD_V0 as u64)?;
        Some(size.saturating_add(LOG_OVERHEAD as u64))
    }

    /// A record of magic 2 ends with its headers, a message of magic 0 or 1 with its value.
    fn may_enclose_up_to_its_end(header: &[u8]) -> bool {
        BatchHead::read(header, 0)
            .ok()
            .flatten()
            .is_some_and(|head| head.magic < 2 && lengths_add_up(header, &head) != Some(false))
    }

    fn claim(header: &[u8]) -> Option<Claim> {
        let candidate = Self::candidate(header, u64::MAX)?;
        let batch = RecordBatch::of_header(header, 0, BatchHead::read(header, 0).ok()??.magic)?;
        let (first, last) = (batch.base_offset(), batch.last_offset());
        let is_message = batch.magic() < 2 && first.is_some();
        Some(Claim { candidate, first, last, is_message, is_regular: is_regular(&batch) })
    }

    fn claim_by_lengths(header: &[u8]) -> Option<Claim> {
        let magic = *header.get(MAGIC_OFFSET)?;
        let overhead = if magic == 0 { RECORD_OVERHEAD_V0 } else { RECORD_OVERHEAD_V1 };
        let key_at = LOG_OVERHEAD.saturating_add(key_size_offset(magic as i8));
        let key = be_i32(header, key_at).filter(|&key| key >= -1)?.max(0);
        let value_at = key_at.saturating_add(v0_v1::SIZE_OF_LENGTH).saturating_add(key as usize);
        let value = be_i32(header, value_at).filter(|&value| value >= -1)?.max(0);
        let size = i32::try_from(overhead as i64 + i64::from(key) + i64::from(value)).ok()?;
        let mut fixed = [0; Self::HEADER];
        let length = header.len().min(Self::HEADER);
        fixed.get_mut(..length)?.copy_from_slice(header.get(..length)?);
        fixed.get_mut(SIZE_OFFSET..LOG_OVERHEAD)?.copy_from_slice(&size.to_be_bytes());
        let fixed = fixed.get(..length).filter(|fixed| magic < 2 && *fixed != header)?;
        Self::claim(fixed)
    }
}

fn has_known_attributes(batch: &RecordBatch<'_>) -> bool {
    let known = match batch.magic() {
        0 => 0x03,
        1 => 0x0b,
        _ => 0x7f,
    };
    batch.raw_attributes() & !known == 0 && batch.compression_type().is_ok()
}

/// Whether the attributes, the number of records and the producer of a batch have values that Kafka writes.
fn is_regular(batch: &RecordBatch<'_>) -> bool {
    let count = batch.records_count().map_or(0, i64::from);
    has_known_attributes(batch)
        && count <= i64::from(batch.last_offset_delta()) + 1
        && batch.producer_id() >= -1
        && batch.base_timestamp() >= -1
        && batch.max_timestamp() >= -1
}

/// Where the length of the key is, after offset and size.
fn key_size_offset(magic: i8) -> usize {
    if magic == 0 { v0_v1::KEY_SIZE_OFFSET_V0 } else { v0_v1::KEY_SIZE_OFFSET_V1 }
}

/// Whether a batch of magic 2 may have these fields and these first bytes of records.
fn v2_is_possible(batch: &RecordBatch<'_>, header: &[u8], length: usize) -> bool {
    let (Some(count), true) = (batch.records_count(), batch.last_offset_delta() >= 0) else { return false };
    let records = length.saturating_sub(RECORD_BATCH_OVERHEAD);
    if count <= 0 || records == 0 {
        return count >= 0;
    }
    let Some(first) = header.get(RECORD_BATCH_OVERHEAD..) else { return false };
    match batch.compression_type() {
        Ok(CompressionType::None) => {
            let mut rest = first;
            count as usize <= records / LEAST_RECORD
                && take_varint(&mut rest).is_ok_and(|size| size >= LEAST_RECORD as i32 - 1 && (size as usize) < records)
        }
        Ok(CompressionType::Gzip) => first.starts_with(&[0x1f, 0x8b]),
        Ok(CompressionType::Lz4) => first.starts_with(&[0x04, 0x22, 0x4d, 0x18]),
        // Raw snappy, which some clients write, begins with the decompressed length.
        Ok(CompressionType::Snappy) => {
            first.starts_with(&[0x82, b'S', b'N', b'A', b'P', b'P', b'Y', 0])
                || first.iter().take(5).position(|&byte| byte < 0x80).is_some_and(|last| {
                    // The first element is a literal: there is no output yet that a copy could refer to.
                    first.get(last.saturating_add(1)).is_none_or(|tag| tag.trailing_zeros() >= 2)
                })
        }
        // A frame, or a skippable frame before it.
        Ok(CompressionType::Zstd) => {
            first.starts_with(&[0x28, 0xb5, 0x2f, 0xfd])
                || first.get(1..4).is_some_and(|rest| rest == [0x2a, 0x4d, 0x18])
        }
        // The format of an unknown compression type is unknown.
        Err(_) => true,
    }
}

/// Whether the lengths of key and value add up to the size of a message of magic 0 or 1; `None` if the length of the value is
/// not within `header`.
fn lengths_add_up(header: &[u8], head: &BatchHead) -> Option<bool> {
    let overhead = if head.magic == 0 { RECORD_OVERHEAD_V0 } else { RECORD_OVERHEAD_V1 };
    let content = i64::from(head.size) - overhead as i64;
    let key_at = LOG_OVERHEAD.saturating_add(key_size_offset(head.magic));
    let key = i64::from(be_i32(header, key_at)?).max(0);
    if key > content {
        return Some(false);
    }
    let value_at = key_at.saturating_add(v0_v1::SIZE_OF_LENGTH).saturating_add(key as usize);
    let value = be_i32(header, value_at)?;
    Some(i64::from(value).max(0) == content - key)
}

impl Layout for EntryLayout {
    const HEADER: usize = SIZE_LENGTH + HEADER_LENGTH_V1;
    const LEAST: usize = SIZE_LENGTH + HEADER_LENGTH_V0 + 1;
    const SIZE: (usize, usize) = (0, SIZE_LENGTH);

    /// Only entries with a payload are candidates: the checksum of an empty one is 0, and zeros occur everywhere.
    fn candidate(header: &[u8], left: u64) -> Option<Candidate> {
        let (crc_offset, minimum) = match header.get(SIZE_LENGTH + ENTRY_MAGIC_OFFSET)? {
            0 => (CRC_OFFSET_V0, HEADER_LENGTH_V0),
            1 => (CRC_OFFSET_V1, HEADER_LENGTH_V1),
            _ => return None,
        };
        let size = u64::try_from(be_i32(header, 0)?).ok().filter(|&size| size > minimum as u64)?;
        let length = size.saturating_add(SIZE_LENGTH as u64);
        let stored = be_i32(header, SIZE_LENGTH.saturating_add(crc_offset))? as u32;
        let covered_from = SIZE_LENGTH.saturating_add(minimum) as u8;
        (length <= left).then_some(Candidate { length, covered_from, stored, polynomial: Polynomial::Crc32 })
    }

    #[inline]
    fn hint(data: &[u8], from: usize, bound: usize, left: u64) -> Option<usize> {
        const FIELDS: usize = SIZE_LENGTH + ENTRY_MAGIC_OFFSET + 1;
        first_possible::<FIELDS>(data.get(from..)?, bound.saturating_sub(from), left, SIZE_LENGTH, 1)
            .map(|at| from.saturating_add(at))
    }

    fn stated_length(header: &[u8]) -> Option<u64> {
        let size = be_i32(header, 0)?;
        let size = u64::try_from(size).ok().filter(|&size| size >= HEADER_LENGTH_V0 as u64)?;
        Some(size.saturating_add(SIZE_LENGTH as u64))
    }

    /// A message ends with its payload.
    fn may_enclose_up_to_its_end(_: &[u8]) -> bool {
        true
    }

    fn claim(_: &[u8]) -> Option<Claim> {
        None
    }

    fn claim_by_lengths(_: &[u8]) -> Option<Claim> {
        None
    }
}
