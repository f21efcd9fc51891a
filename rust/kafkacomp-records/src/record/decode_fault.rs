//! Why a record of magic 2 cannot be read, and the error that it becomes; for both iterators over such records.

use super::error::Error;
use super::fault::RecordFault;
use crate::compress::CodecError;
use crate::varint::VarintError;

/// Why a record could not be read, in a few bytes, so that an iterator does not move a large error through every return.
#[derive(Debug, Clone, Copy)]
pub(super) enum DecodeFault {
    /// The size, or a field of a record whose size is ignored, cannot be read.
    Size(VarintError),
    /// This size is negative or exceeds the payload.
    Body(i32),
    /// A field inside the record's size cannot be read.
    Field(VarintError),
    /// The size of the body, and how many bytes of it no field uses.
    Length(usize, usize),
    /// An invalid number of headers.
    HeaderCount(i32),
    /// An invalid size of a header key.
    HeaderKeySize(i32),
    /// Something follows the last record.
    NotTheEnd,
}

/// Where an iteration over the records of a batch failed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Failed {
    /// Where the batch begins.
    pub(super) position: u64,
    /// Whether it is compressed.
    pub(super) is_compressed: bool,
    /// The number of records that it declares.
    pub(super) count: i32,
    /// The index of the record.
    pub(super) index: i32,
    /// The bytes of the payload after what was read.
    pub(super) available: usize,
}

impl DecodeFault {
    /// The error. If the payload ends early because its codec failed, the error is the codec's.
    #[cold]
    pub(super) fn into_error(self, at: Failed, codec_error: &mut Option<CodecError>) -> Error {
        let Failed { position, is_compressed, count, index, available } = at;
        let is_cut = match self {
            Self::Size(VarintError::End) | Self::Body(0..) => true,
            Self::NotTheEnd => available == 0,
            _ => false,
        };
        if let Some(source) = codec_error.take_if(|_| is_cut) {
            return Error::BatchCodec { position, source };
        }
        let fault = match self {
            Self::Size(VarintError::End) => RecordFault::PrematureEnd { count, read: index },
            Self::Size(VarintError::TooLong) if is_compressed => RecordFault::VarintTooLong { index },
            Self::Size(VarintError::TooLong) => RecordFault::SizeVarintTooLong { index },
            Self::Body(size) => RecordFault::RecordSize { index, size, available },
            Self::Field(VarintError::End) => RecordFault::FieldOverrun { index },
            Self::Field(VarintError::TooLong) => RecordFault::VarintTooLong { index },
            Self::Length(size, left) => {
                RecordFault::RecordLength { index, size: size as i32, used: size.saturating_sub(left) }
            }
            Self::HeaderCount(count) => RecordFault::HeaderCount { index, count },
            Self::HeaderKeySize(size) => RecordFault::HeaderKeySize { index, size },
            Self::NotTheEnd => RecordFault::RecordsRemaining { count },
        };
        Error::Invalid { position, fault }
    }
}
