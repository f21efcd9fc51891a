//! The settings of topics and brokers on which the validation of a batch depends.

use std::fmt;

use kafkacomp_records::CompressionType;
use kafkacomp_records::compress::Compression;
use kafkacomp_records::limits::DEFAULT_MAX_OUTPUT_SIZE;
use kafkacomp_records::record::TimestampType;

/// Who appends. Only batches of clients are checked for records that only brokers may write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AppendOrigin {
    /// A follower that copies its leader's log.
    Replication,
    /// The group or transaction coordinator.
    Coordinator,
    /// A producer.
    Client,
    /// The leader of the metadata quorum.
    RaftLeader,
}

impl AppendOrigin {
    /// All of them, in Kafka's order.
    pub const ALL: [Self; 4] = [Self::Replication, Self::Coordinator, Self::Client, Self::RaftLeader];

    /// The origin with this ordinal in Kafka's enum.
    pub fn for_id(id: u8) -> Option<Self> {
        Self::ALL.get(usize::from(id)).copied()
    }
}

/// `compression.type` of a broker or topic. Unlike that of a producer it may be `producer`, which keeps the compression type of
/// the producer, and no compression is `uncompressed` and not `none` (KIP-110, `BrokerCompressionType`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BrokerCompressionType {
    /// `producer`: the compression type of the producer is kept.
    Producer,
    /// No compression.
    Uncompressed,
    /// gzip.
    Gzip,
    /// snappy.
    Snappy,
    /// lz4.
    Lz4,
    /// zstd.
    Zstd,
}

impl BrokerCompressionType {
    /// All of them, in Kafka's order.
    pub const ALL: [Self; 6] = [Self::Uncompressed, Self::Zstd, Self::Lz4, Self::Snappy, Self::Gzip, Self::Producer];

    /// The name in configurations.
    pub fn name(self) -> &'static str {
        match self {
            Self::Producer => "producer",
            Self::Uncompressed => "uncompressed",
            Self::Gzip => "gzip",
            Self::Snappy => "snappy",
            Self::Lz4 => "lz4",
            Self::Zstd => "zstd",
        }
    }

    /// The type with this name; the case is ignored, as in Kafka.
    pub fn for_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|t| t.name() == name.to_lowercase())
    }

    /// The type with this name in a configuration, where the case matters.
    pub fn for_config(value: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|t| t.name() == value)
    }

    /// The compression type that a broker with this setting stores for a batch with `source`.
    pub fn target_compression_type(self, source: CompressionType) -> CompressionType {
        match self {
            Self::Producer => source,
            Self::Uncompressed => CompressionType::None,
            Self::Gzip => CompressionType::Gzip,
            Self::Snappy => CompressionType::Snappy,
            Self::Lz4 => CompressionType::Lz4,
            Self::Zstd => CompressionType::Zstd,
        }
    }
}

/// `inter.broker.protocol.version`. Its only effect here is that zstd is refused below 2.1 (KIP-110).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InterBrokerProtocolVersion {
    major: u16,
    minor: u16,
}

impl InterBrokerProtocolVersion {
    const FIRST_WITH_ZSTD: Self = Self { major: 2, minor: 1 };

    /// Parses a version from a configuration: `2.0`, `0.10.2`, `3.9-IV0`. `None` if it is not a version.
    pub fn parse(text: &str) -> Option<Self> {
        let (numbers, step) = text.split_once("-IV").map_or((text, None), |(numbers, step)| (numbers, Some(step)));
        if step.is_some_and(|step| step.parse::<u16>().is_err()) {
            return None;
        }
        let mut numbers = numbers.split('.').map(|number| number.parse::<u16>().ok());
        let (major, minor) = (numbers.next()??, numbers.next()??);
        numbers.all(|number| number.is_some()).then_some(Self { major, minor })
    }

    /// Whether brokers of this version may store zstd.
    pub fn allows_zstd(self) -> bool {
        self >= Self::FIRST_WITH_ZSTD
    }
}

impl fmt::Display for InterBrokerProtocolVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// The versions whose rules differ; later rules are stricter. Error codes differ in more versions, see
/// [`profile`](crate::profile).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Era {
    /// 0.11: any number of batches, the offset range is not checked.
    V0_11,
    /// 1.1: offset range and number of records must agree.
    V1_1,
    /// 2.8: a single batch for compressed records and magic 2, all batches of one magic, refused records collected.
    V2_8,
    /// 3.9 and later.
    #[default]
    Latest,
}

impl Era {
    /// Whether compressed records and magic 2 must come in one batch, and all batches have one magic.
    pub(super) fn requires_one_batch(self) -> bool {
        self >= Self::V2_8
    }

    /// Whether all refused records of a batch are reported, and not only the first one.
    pub(super) fn collects_errors(self) -> bool {
        self >= Self::V2_8
    }

    /// Whether keys and values are skipped without comparing them with the length of the record, as 2.8 does.
    pub(super) fn ignores_record_length(self) -> bool {
        self == Self::Latest
    }

    /// Whether a batch with LogAppendTime is accepted by a topic with CreateTime if its timestamps are in range.
    pub(super) fn accepts_append_time(self) -> bool {
        self == Self::Latest
    }
}

/// Kafka's default of `max.decompressed.message.bytes`, and the most that it may be set to.
pub const MAX_DECOMPRESSED_MESSAGE_BYTES: i32 = i32::MAX - 8;

/// The configuration of a [`LogValidator`](super::LogValidator), with a field for each of Kafka's arguments.
#[derive(Debug, Clone)]
pub struct ValidatorConfig {
    /// The compression type of the record set: see [`LogAppendInfo::source_compression`](super::LogAppendInfo).
    pub source_compression_type: CompressionType,
    /// The compression type to store, with the level for recompressing.
    pub target_compression: Compression,
    /// Whether the topic is compacted, so that every record needs a key.
    pub compacted: bool,
    /// The topic's message format, 0 to 2.
    pub to_magic: i8,
    /// The topic's timestamp type: create time or append time.
    pub timestamp_type: TimestampType,
    /// `message.timestamp.before.max.ms`.
    pub timestamp_before_max_ms: i64,
    /// `message.timestamp.after.max.ms`.
    pub timestamp_after_max_ms: i64,
    /// The partition leader epoch for the batch.
    pub partition_leader_epoch: i32,
    /// Who appends.
    pub origin: AppendOrigin,
    /// The brokers' common version; `None` is the newest.
    pub inter_broker_protocol_version: Option<InterBrokerProtocolVersion>,
    /// `max.decompressed.message.bytes` of Kafka 4.4: the most bytes that a record of a compressed batch may have.
    pub max_decompressed_message_bytes: i32,
    /// The most bytes that one batch may decompress to.
    pub max_output_size: usize,
    /// The version whose rules apply.
    pub era: Era,
    /// Whether to fail, as Kafka does, if records must be rebuilt whose keys and values were skipped.
    pub fails_on_skipped: bool,
}

impl ValidatorConfig {
    /// A producer's batch on a topic of magic 2 with default settings.
    pub fn new(source_compression_type: CompressionType, target_compression: Compression) -> Self {
        Self {
            source_compression_type,
            target_compression,
            compacted: false,
            to_magic: 2,
            timestamp_type: TimestampType::CreateTime,
            timestamp_before_max_ms: i64::MAX,
            timestamp_after_max_ms: i64::MAX,
            partition_leader_epoch: 0,
            origin: AppendOrigin::Client,
            inter_broker_protocol_version: None,
            max_decompressed_message_bytes: MAX_DECOMPRESSED_MESSAGE_BYTES,
            max_output_size: DEFAULT_MAX_OUTPUT_SIZE,
            era: Era::Latest,
            fails_on_skipped: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions() {
        let of = |text| InterBrokerProtocolVersion::parse(text).map(InterBrokerProtocolVersion::allows_zstd);
        for (text, allows) in [
            ("0.8.2", Some(false)),
            ("0.10.2-IV0", Some(false)),
            ("2.0", Some(false)),
            ("2.0-IV1", Some(false)),
            ("2.1-IV0", Some(true)),
            ("2.1", Some(true)),
            ("3.9", Some(true)),
            ("10.0", Some(true)),
            ("2", None),
            ("2.x", None),
            ("2.1-", None),
            ("2.1-IVx", None),
            ("", None),
        ] {
            assert_eq!(of(text), allows, "{text}");
        }
    }

    #[test]
    fn names() {
        for setting in BrokerCompressionType::ALL {
            assert_eq!(BrokerCompressionType::for_config(setting.name()), Some(setting));
            assert_eq!(BrokerCompressionType::for_name(&setting.name().to_uppercase()), Some(setting));
            assert_eq!(BrokerCompressionType::for_config(&setting.name().to_uppercase()), None);
        }
        assert_eq!(BrokerCompressionType::for_name("none"), None);
    }
}
