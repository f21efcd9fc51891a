//! Why rows cannot become records.

use arrow_schema::DataType;
use kafkacomp_records::record::{BuildFault, Feature};

use crate::Column;

/// Rows that cannot become records.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// A required column is missing.
    #[error("the rows have no column {}", .column.name())]
    MissingColumn {
        /// The column.
        column: Column,
    },
    /// Two columns have the same name.
    #[error("there is more than one column {}", .column.name())]
    DuplicateColumn {
        /// The column.
        column: Column,
    },
    /// A column whose type cannot be converted to that of its field.
    #[error("column {} cannot be of type {data_type}: expected {}", .column.name(), wanted(*.column))]
    ColumnType {
        /// The column.
        column: Column,
        /// The type found.
        data_type: DataType,
    },
    /// A header key that is null or not UTF-8.
    #[error("row {row}, column headers: a header key must be a string")]
    HeaderKey {
        /// The row.
        row: usize,
    },
    /// A timestamp whose milliseconds exceed 64 bits.
    #[error("row {row}, column timestamp: the timestamp is out of range")]
    TimestampRange {
        /// The row.
        row: usize,
    },
    /// A row without a topic.
    #[error("row {row}: the topic is null; give it in the column topic or for all rows")]
    NoTopic {
        /// The row.
        row: usize,
    },
    /// An invalid name of a topic.
    #[error("row {row}: invalid topic name {topic:?}: expected 1 to 249 letters, digits, dots, underscores and dashes")]
    TopicName {
        /// The row.
        row: usize,
        /// The value in the row.
        topic: String,
    },
    /// A partition that the topic does not have.
    #[error("row {row}: partition {partition} is out of range{}", bound(*.partitions))]
    PartitionRange {
        /// The row.
        row: usize,
        /// The value in the row.
        partition: i32,
        /// The number of partitions, if it was given.
        partitions: Option<i32>,
    },
    /// The record or its batch breaks a rule.
    #[error("row {row}{}: {fault}", in_column(.fault))]
    Record {
        /// The row.
        row: usize,
        /// The rule.
        fault: BuildFault,
    },
    /// The batch cannot be built.
    #[error(transparent)]
    Batch(#[from] BuildFault),
}

impl BuildError {
    /// The same error with the row counted from `before` rows earlier.
    pub fn later(self, before: usize) -> Self {
        match self {
            Self::HeaderKey { row } => Self::HeaderKey { row: row.saturating_add(before) },
            Self::TimestampRange { row } => Self::TimestampRange { row: row.saturating_add(before) },
            Self::Record { row, fault } => Self::Record { row: row.saturating_add(before), fault },
            Self::NoTopic { row } => Self::NoTopic { row: row.saturating_add(before) },
            Self::TopicName { row, topic } => Self::TopicName { row: row.saturating_add(before), topic },
            Self::PartitionRange { row, partition, partitions } => {
                Self::PartitionRange { row: row.saturating_add(before), partition, partitions }
            }
            other => other,
        }
    }
}

/// The column to which a rule applies.
fn in_column(fault: &BuildFault) -> &'static str {
    match fault {
        BuildFault::OffsetOrder { .. } | BuildFault::OffsetBeforeBase { .. } | BuildFault::OffsetDelta { .. } => {
            ", column offset"
        }
        BuildFault::NegativeTimestamp { .. } => ", column timestamp",
        BuildFault::Unsupported { feature: Feature::Headers, .. } => ", column headers",
        _ => "",
    }
}

/// The upper bound of a partition.
fn bound(partitions: Option<i32>) -> String {
    partitions.map_or_else(String::new, |partitions| format!(": there are {partitions}"))
}

fn wanted(column: Column) -> &'static str {
    match column {
        Column::Timestamp => "a timestamp, or int64 in milliseconds",
        Column::Headers => "a list of structs of key (string) and value (binary), or a map of them",
        Column::Offset => "int64",
        Column::Topic => "string",
        Column::Partition => "int32",
        _ => "binary or string, or a dictionary of these",
    }
}
