//! Recognizes archives, compressed files, tables and files of other systems that are in the place of a segment.
//!
//! A batch begins with its base offset, and a message of Kafka 0.7 with its size: the first bytes of these files would be an offset
//! above 2^58, or the size of a message of more than 64 MiB.

use std::fmt;

use kafkacomp_records::checksum::crc32c;

/// The number of a file's first bytes that show what it is.
pub const HEAD_BYTES: usize = 264;

const UNPACK: &str = "unpack it and give the files in it";
const DECOMPRESS: &str = "decompress it first";
const TABLE: &str = "it is a table, not a log";

/// A kind of file that is not a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Container {
    kind: &'static str,
    /// What to do; `None` if nothing can be done.
    advice: Option<&'static str>,
}

/// First bytes, the kind of file that has them, and what to do.
const SIGNATURES: [(&[u8], &str, Option<&str>); 10] = [
    (b"PK\x03\x04", "a zip archive", Some("unpack it, or give a URL such as zip://FOLDER::ARCHIVE.zip")),
    (b"\x1f\x8b\x08", "a gzip file", Some("decompress it first: kafkacomp.gzip.open")),
    (b"\x28\xb5\x2f\xfd", "a zstd file", Some("decompress it first: kafkacomp.zstd.open")),
    (b"\x04\x22\x4d\x18", "an LZ4 file", Some("decompress it first: kafkacomp.lz4.open")),
    (b"BZh", "a bzip2 file", Some(DECOMPRESS)),
    (b"\xfd7zXZ\x00", "an xz file", Some(DECOMPRESS)),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", Some(UNPACK)),
    (b"PAR1", "a Parquet file", Some(TABLE)),
    (b"ARROW1", "an Arrow file", Some(TABLE)),
    (b"PFA1", "an Iceberg manifest (Puffin)", None),
];

/// The magic of a tar archive, and its position.
const TAR: (usize, &[u8]) = (257, b"ustar");

const REDPANDA: Container = Container { kind: "a segment of Redpanda", advice: None };

/// The header of a batch of Redpanda: checksum, size, base offset, type, CRC of the records, attributes, last offset delta, first
/// and greatest timestamp, producer id and epoch, sequence, number of records; little-endian.
const REDPANDA_HEADER: usize = 61;
/// Types of its batches are small numbers.
const MOST_TYPES: i8 = 64;

impl Container {
    /// What a file is by its first bytes, of which [`HEAD_BYTES`] are enough; `None` if it may be a segment.
    ///
    /// ```
    /// use kafkacomp_log::listing::Container;
    ///
    /// let found = Container::of_content(b"\x1f\x8b\x08\x00").unwrap();
    /// assert!(found.to_string().starts_with("this is a gzip file, not a log segment"));
    /// ```
    pub fn of_content(head: &[u8]) -> Option<Self> {
        if head.get(TAR.0..).is_some_and(|rest| rest.starts_with(TAR.1)) {
            return Some(Self { kind: "a tar archive", advice: Some(UNPACK) });
        }
        let known = SIGNATURES.iter().find(|(signature, ..)| head.starts_with(signature));
        if let Some(&(_, kind, advice)) = known {
            return Some(Self { kind, advice });
        }
        is_of_redpanda(head).then_some(REDPANDA)
    }

    /// What a file is by its name, if it is a segment of another system.
    ///
    /// Redpanda names a segment by its base offset and term, and in tiered storage also by its end and size.
    pub fn of_name(name: &str) -> Option<Self> {
        let (segment, version) = name.split_once("-v")?;
        let (version, rest) = version.split_once(".log")?;
        let are_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let parts = segment.split('-').filter(|part| part.len() <= 19 && are_digits(part)).count();
        let is_name = parts == segment.split('-').count() && (2..=5).contains(&parts);
        let is_end = rest.is_empty() || rest.strip_prefix('.').is_some_and(are_digits);
        (is_name && is_end && are_digits(version)).then_some(REDPANDA)
    }
}

impl fmt::Display for Container {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.advice {
            Some(advice) => write!(f, "this is {}, not a log segment: {advice}", self.kind),
            None => write!(f, "this is {}, which kafkacomp does not read", self.kind),
        }
    }
}

/// Whether bytes begin with a batch of Redpanda, whose header has a checksum of its own.
fn is_of_redpanda(head: &[u8]) -> bool {
    fn field<const N: usize>(head: &[u8], at: usize) -> Option<[u8; N]> {
        head.get(at..)?.first_chunk().copied()
    }
    let read = || {
        let header = head.get(..REDPANDA_HEADER)?;
        let checksum = u32::from_le_bytes(field(header, 0)?);
        let size = i32::from_le_bytes(field(header, 4)?);
        let base = i64::from_le_bytes(field(header, 8)?);
        let kind = i8::from_le_bytes(field(header, 16)?);
        let last = i32::from_le_bytes(field(header, 23)?);
        let count = i32::from_le_bytes(field(header, 57)?);
        let is_plausible = size >= REDPANDA_HEADER as i32 && base >= 0 && last >= 0 && count >= 0;
        Some(is_plausible && (1..MOST_TYPES).contains(&kind) && crc32c(header.get(4..)?) == checksum)
    };
    read().unwrap_or(false)
}
