//! What brokers of each era answer to a record set that is produced to them, and what they store.
//!
//! | broker | what it does | where |
//! |---|---|---|
//! | 0.8.2, 0.9 | numbers plain messages, compresses all others anew; magic never looked at | `before_0_10` |
//! | 0.10.0, 0.10.2 | formats 0 and 1, in place or anew | `v0_10` |
//! | 0.11, 1.1, 2.8 | [`LogValidator`] by the rules of its [`Era`] | `modern` |
//! | 3.9, 4.3 | [`LogValidator`] | `modern` |
//!
//! Error codes changed as much as rules did: KIP-57 promised 2 for every LZ4 error, and only 0.10.0 kept it; 87 is
//! from 2.4 on. What hangs on more than the bytes and the topic's settings is not answered here: transactional
//! ids, sequences against a producer's state, a null record set.
//!
//! Seen with 0.8.2.2, 0.9.0.1, 0.10.0.1, 0.10.2.2, 0.11.0.3, 1.1.1, 2.8.2 and 3.9.1; 4.3 with `LogValidator` 4.3.1.

mod before_0_10;
mod code;
mod codec;
mod message;
mod modern;
mod v0_10;

use crate::broker::validator::{AnalyzeOptions, BrokerCompressionType, Era, LogValidator, ValidatorConfig};
use crate::error::{Error, Result};
use crate::limits::DEFAULT_MAX_OUTPUT_SIZE;
use crate::record::TimestampType;

/// A broker's version, as far as they differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Broker {
    /// 0.8.2.
    V0_8_2,
    /// 0.9.0.
    V0_9_0,
    /// 0.10.0 and 0.10.1.
    V0_10_0,
    /// 0.10.2.
    V0_10_2,
    /// 0.11.0 and 1.0.
    V0_11_0,
    /// 1.1 to 2.3.
    V1_1,
    /// 2.4 to 2.8.
    V2_8,
    /// 3.x.
    V3_9,
    /// 4.x.
    V4_3,
}

impl Broker {
    /// All of them, the oldest first.
    pub const ALL: [Self; 9] = [
        Self::V0_8_2,
        Self::V0_9_0,
        Self::V0_10_0,
        Self::V0_10_2,
        Self::V0_11_0,
        Self::V1_1,
        Self::V2_8,
        Self::V3_9,
        Self::V4_3,
    ];

    /// The version that stands for the era.
    pub fn name(self) -> &'static str {
        match self {
            Self::V0_8_2 => "0.8.2",
            Self::V0_9_0 => "0.9.0",
            Self::V0_10_0 => "0.10.0",
            Self::V0_10_2 => "0.10.2",
            Self::V0_11_0 => "0.11.0",
            Self::V1_1 => "1.1",
            Self::V2_8 => "2.8",
            Self::V3_9 => "3.9",
            Self::V4_3 => "4.3",
        }
    }

    /// The broker of a version, with or without further numbers (`0.10.2.2`); `4.x` is 4.3.
    pub fn for_name(name: &str) -> Option<Self> {
        let whole = |known: &str| name.strip_prefix(known).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        match name {
            "4.x" => Some(Self::V4_3),
            "0.9" => Some(Self::V0_9_0),
            "0.11" => Some(Self::V0_11_0),
            _ => Self::ALL.into_iter().find(|broker| whole(broker.name())),
        }
    }

    /// The newest message format that it stores.
    fn newest_magic(self) -> i8 {
        match self {
            Self::V0_8_2 | Self::V0_9_0 => 0,
            Self::V0_10_0 | Self::V0_10_2 => 1,
            _ => 2,
        }
    }

    /// The format for `message.format.version`; 3.0 and later store the newest whatever it says.
    fn to_magic(self, message_format: Option<i8>) -> i8 {
        let newest = self.newest_magic();
        if self >= Self::V3_9 { newest } else { message_format.unwrap_or(newest).min(newest) }
    }
}

/// A topic's settings and the circumstances of the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Append {
    /// The topic's `compression.type`; 0.8.2 does not know it.
    pub compression_type: BrokerCompressionType,
    /// `cleanup.policy` has compact; 0.8.2 takes records without keys all the same.
    pub compacted: bool,
    /// The magic of `message.format.version`, from 0.10.0 to 2.8.
    pub message_format: Option<i8>,
    /// `message.timestamp.type`, from 0.10.0 on.
    pub timestamp_type: TimestampType,
    /// `message.timestamp.before.max.ms`; before 3.6 `message.timestamp.difference.max.ms`.
    pub timestamp_before_max_ms: i64,
    /// `message.timestamp.after.max.ms`, from 3.6 on.
    pub timestamp_after_max_ms: i64,
    /// `max.message.bytes`.
    pub max_message_size: i32,
    /// The first offset.
    pub offset: i64,
    /// The time of the append, ms.
    pub now: i64,
    /// The epoch that batches of magic 2 get.
    pub partition_leader_epoch: i32,
    /// The version of the produce request; `None` leaves out what hangs on it.
    pub produce_version: Option<i16>,
    /// The most bytes that one batch may decompress to.
    pub max_output_size: usize,
}

impl Default for Append {
    /// A topic with nothing set.
    fn default() -> Self {
        Self {
            compression_type: BrokerCompressionType::Producer,
            compacted: false,
            message_format: None,
            timestamp_type: TimestampType::CreateTime,
            timestamp_before_max_ms: i64::MAX,
            timestamp_after_max_ms: i64::MAX,
            max_message_size: AnalyzeOptions::default().max_message_size,
            offset: 0,
            now: 0,
            partition_leader_epoch: 0,
            produce_version: None,
            max_output_size: DEFAULT_MAX_OUTPUT_SIZE,
        }
    }
}

/// Why a broker refuses a record set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The code that it answers; `None` where it closes the connection instead.
    pub error_code: Option<i16>,
    /// What it found.
    pub error: Error,
}

/// What `broker` stores of `records`; nothing at all is an answer too.
///
/// # Errors
/// What the broker answers instead.
pub fn append(broker: Broker, topic: &Append, records: &[u8]) -> std::result::Result<Vec<u8>, Refusal> {
    let stored = match broker {
        Broker::V0_8_2 | Broker::V0_9_0 => before_0_10::append(broker, topic, records),
        Broker::V0_10_0 | Broker::V0_10_2 => v0_10::append(broker, topic, records),
        _ => modern::append(broker, topic, records),
    };
    stored.map_err(|error| Refusal { error_code: code::error_code(broker, topic, &error), error })
}
