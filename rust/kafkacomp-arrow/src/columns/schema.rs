//! The columns: those of Spark's Kafka source with the same names and types, so that queries can be reused, and further ones
//! that are built if they are requested.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef, TimeUnit};

use crate::columns::binary_type::BinaryType;

macro_rules! columns {
    ($($variant:ident $name:literal $doc:literal)*) => {
        /// A column that a scan can build.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Column {
            $(#[doc = $doc] $variant),*
        }

        impl Column {
            /// All columns.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The name of the column.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),* }
            }
        }
    };
}

columns! {
    Key "key" "The record's key, binary."
    Value "value" "The record's value, binary."
    Topic "topic" "The topic, string."
    Partition "partition" "The partition, int32."
    Offset "offset" "The record's offset, int64."
    Timestamp "timestamp" "The record's timestamp, UTC; null if it has none."
    TimestampType "timestampType" "0 CreateTime, 1 LogAppendTime, -1 none; int32."
    Headers "headers" "The record's headers; null when there are none."
    LeaderEpoch "leaderEpoch" "The partition leader epoch, -1 without one. int32."
    Magic "magic" "The message format, int8."
    CompressionType "compressionType" "The batch's compression type by name, string."
    BaseOffset "baseOffset" "The batch's first offset; of a wrapper of magic 0 and 1 its last one. int64."
    Position "position" "Where the batch begins in its segment, bytes. int64."
    Segment "segment" "The segment's path or name, string."
    ProducerId "producerId" "The producer id, -1 without one. int64."
    ProducerEpoch "producerEpoch" "The producer epoch, -1 without one. int16."
    Sequence "sequence" "The record's sequence, -1 without one. int32."
    IsTransactional "isTransactional" "Whether the batch belongs to a transaction."
    IsControl "isControl" "Whether the record is a control record."
}

impl Column {
    /// The default columns: those of Spark's Kafka source with headers.
    pub const DEFAULT: [Self; 8] = [
        Self::Key,
        Self::Value,
        Self::Topic,
        Self::Partition,
        Self::Offset,
        Self::Timestamp,
        Self::TimestampType,
        Self::Headers,
    ];

    /// The column with this name.
    pub fn for_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|column| column.name() == name)
    }

    /// The column's Arrow field; timestamps in `unit`, or int64 in milliseconds without one; bytes as `binary_type`. All are nullable, as in
    /// Spark's Kafka source, whose Arrow reader compares nullability too.
    pub fn field(self, unit: Option<TimeUnit>, binary_type: BinaryType) -> Field {
        let data_type = match self {
            Self::Key | Self::Value => binary_type.data_type(),
            Self::Topic | Self::CompressionType | Self::Segment => DataType::Utf8,
            Self::Timestamp => unit.map_or(DataType::Int64, |unit| DataType::Timestamp(unit, Some("UTC".into()))),
            Self::Headers => DataType::List(header_element(binary_type)),
            Self::Magic => DataType::Int8,
            Self::ProducerEpoch => DataType::Int16,
            Self::Partition | Self::TimestampType | Self::LeaderEpoch | Self::Sequence => DataType::Int32,
            Self::Offset | Self::BaseOffset | Self::Position | Self::ProducerId => DataType::Int64,
            Self::IsTransactional | Self::IsControl => DataType::Boolean,
        };
        Field::new(self.name(), data_type, true)
    }
}

/// Key and value of a header.
pub fn header_fields(binary_type: BinaryType) -> Fields {
    Fields::from(vec![Field::new("key", DataType::Utf8, true), Field::new("value", binary_type.data_type(), true)])
}

/// The element of the headers' list.
pub fn header_element(binary_type: BinaryType) -> Arc<Field> {
    Arc::new(Field::new("element", DataType::Struct(header_fields(binary_type)), true))
}

/// The schema of these columns.
pub fn schema(columns: &[Column], unit: Option<TimeUnit>, binary_type: BinaryType) -> SchemaRef {
    Arc::new(Schema::new(columns.iter().map(|column| column.field(unit, binary_type)).collect::<Vec<_>>()))
}
