//! Work whose large allocations are refused in turn, and its input.

use std::fmt;

use kafkacomp_records::compress::{CodecError, Compression};
use kafkacomp_records::record::{self, BatchSettings, BuildFault, Headers, HeadersBuffer, RecordBatchBuilder};
use kafkacomp_records::{Category, CompressionType, ErrorKind, message_set};

use super::allocator::{counting, refusing};

pub const CAP: usize = 1 << 30;

/// The result of a step: its data, or why it ended.
pub type Answer = Result<Vec<u8>, Ended>;

/// Why a step ended, as far as this test distinguishes.
#[derive(Debug)]
pub enum Ended {
    OutOfMemory,
    Other(String),
}

impl Ended {
    pub fn of(kind: ErrorKind, error: &dyn fmt::Display) -> Self {
        match kind.category() {
            Category::Resource => Self::OutOfMemory,
            _ => Self::Other(error.to_string()),
        }
    }
}

impl From<record::Error> for Ended {
    fn from(error: record::Error) -> Self {
        Self::of(error.kind(), &error)
    }
}

impl From<message_set::Error> for Ended {
    fn from(error: message_set::Error) -> Self {
        Self::of(error.kind(), &error)
    }
}

impl From<CodecError> for Ended {
    fn from(error: CodecError) -> Self {
        Self::of(error.kind(), &error)
    }
}

impl From<std::io::Error> for Ended {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::OutOfMemory => Self::OutOfMemory,
            _ => Self::Other(error.to_string()),
        }
    }
}

impl From<BuildFault> for Ended {
    fn from(fault: BuildFault) -> Self {
        Self::of(fault.kind(), &fault)
    }
}

/// Runs `work` with each of its large allocations refused: first only this one, then also all later ones.
pub fn withstands(name: &str, mut work: impl FnMut() -> Answer) {
    let (expected, large) = counting(&mut work);
    let expected = expected.unwrap_or_else(|error| panic!("{name}: {error:?}"));
    for after in 0..large.min(60) {
        for count in [1, usize::MAX] {
            match refusing(after, count, &mut work) {
                Ok(found) => assert!(found == expected, "{name}: other data after {after} allocations"),
                Err(Ended::OutOfMemory) => {}
                Err(Ended::Other(error)) => panic!("{name}: after {after} allocations: {error}"),
            }
        }
    }
    // An earlier failure must not affect the result.
    assert!(work().unwrap() == expected, "{name}: other data afterwards");
}

/// Bytes that compress to about half their size.
pub fn plain(length: usize) -> Vec<u8> {
    let mut state = 1_u32;
    let mut next = move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8 & 0x0F
    };
    (0..length).map(|_| next()).collect()
}

pub fn batch(compression_type: CompressionType, magic: i8, base_offset: i64, values: &[&[u8]]) -> Answer {
    let compression = Compression::of(compression_type);
    let mut builder =
        RecordBatchBuilder::new(BatchSettings { magic, compression, base_offset, ..BatchSettings::default() })?;
    let mut headers = HeadersBuffer::new();
    if magic >= 2 {
        headers.push("h", Some(values[0])).map_err(|_| Ended::OutOfMemory)?;
    }
    for (offset, value) in (base_offset..).zip(values) {
        let headers = if offset == base_offset { headers.as_headers() } else { Headers::EMPTY };
        builder.append(offset, 5, None, Some(value), headers)?;
    }
    let mut out = Vec::new();
    builder.build(&mut out)?;
    Ok(out)
}
