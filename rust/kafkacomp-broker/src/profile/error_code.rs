//! The error code that a broker returns for an error.

use super::request::Append;
use super::versions::Broker;
use crate::validator::ValidationFault;
use kafkacomp_records::compress::{CodecError, CodecFault, CompressionType};
use kafkacomp_records::error_kind::ErrorKind;
use kafkacomp_records::record::{Error, RecordFault};

const UNKNOWN_SERVER_ERROR: i16 = -1;
const CORRUPT_MESSAGE: i16 = 2;
const INVALID_RECORD: i16 = 87;

/// The code for `error`; `None` if the broker closes the connection.
pub(super) fn error_code(broker: Broker, topic: &Append, error: &crate::Error) -> Option<i16> {
    let closes = matches!(
        error,
        crate::Error::Record(Error::UnknownMagic { .. })
            | crate::Error::Refused {
                fault: ValidationFault::NoBatches
                    | ValidationFault::MoreThanOneBatch
                    | ValidationFault::ProduceMagic { .. },
                ..
            }
    );
    if closes && broker < Broker::V2_8 && topic.produce_version.is_some_and(|version| version >= 3) {
        return None;
    }
    Some(match error {
        crate::Error::Codec(source) | crate::Error::Record(Error::BatchCodec { source, .. }) => {
            codec_code(broker, source)
        }
        crate::Error::Record(Error::Invalid { fault, .. }) => fault_code(broker, fault),
        _ => match error.kind() {
            ErrorKind::InvalidRecord => invalid_record(broker),
            kind => kind.error_code().unwrap_or(UNKNOWN_SERVER_ERROR),
        },
    })
}

/// 87 exists since 2.4 (KAFKA-8729); before, the code for invalid records was that for corrupt ones.
fn invalid_record(broker: Broker) -> i16 {
    if broker >= Broker::V2_8 { INVALID_RECORD } else { CORRUPT_MESSAGE }
}

fn fault_code(broker: Broker, fault: &RecordFault) -> i16 {
    match fault {
        RecordFault::InnerSize { .. } => CORRUPT_MESSAGE,
        RecordFault::MessageField { .. } | RecordFault::SizeVarintTooLong { .. } => UNKNOWN_SERVER_ERROR,
        RecordFault::NullWrapper | RecordFault::EmptyWrapper if broker <= Broker::V0_10_2 => UNKNOWN_SERVER_ERROR,
        RecordFault::InnerMagic { .. } if broker == Broker::V0_10_0 => UNKNOWN_SERVER_ERROR,
        _ => invalid_record(broker),
    }
}

/// KIP-57 promised 2 for every LZ4 error; 0.10.0 returns it if its stream throws an `IOException`.
fn codec_code(broker: Broker, error: &CodecError) -> i16 {
    if broker == Broker::V0_10_0 && is_io_exception(error) { CORRUPT_MESSAGE } else { UNKNOWN_SERVER_ERROR }
}

fn is_io_exception(error: &CodecError) -> bool {
    match error.fault {
        CodecFault::ReservedBits { .. }
        | CodecFault::UnsupportedVersion { .. }
        | CodecFault::BlockMaxSize { .. }
        | CodecFault::Dictionary { .. }
        | CodecFault::LinkedBlocks => error.compression_type != CompressionType::Lz4,
        // There the size of an uncompressed block is negative: it passes the check, and allocating the array fails.
        CodecFault::UncompressedBlockSize { .. } => false,
        _ => true,
    }
}
