//! Why rows cannot become records.

use arrow_schema::DataType;
use kafkacomp_core::record::{BuildFault, Feature};

use crate::Column;

/// Rows that cannot become records.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// A column that must be there is not.
    #[error("there is no column {}", .column.name())]
    MissingColumn {
        /// Which one.
        column: Column,
    },
    /// Two columns of one name: which one is meant?
    #[error("there is more than one column {}", .column.name())]
    DuplicateColumn {
        /// Which one.
        column: Column,
    },
    /// A column of a type that its field cannot be made of.
    #[error("column {} cannot be of type {data_type}: {}", .column.name(), wanted(*.column))]
    ColumnType {
        /// Which one.
        column: Column,
        /// The type found.
        data_type: DataType,
    },
    /// A header key that is null or no UTF-8.
    #[error("row {row}, column headers: a header key must be a string")]
    HeaderKey {
        /// The row.
        row: usize,
    },
    /// A timestamp that is more milliseconds than 63 bits hold.
    #[error("row {row}, column timestamp: the timestamp is out of range")]
    TimestampRange {
        /// The row.
        row: usize,
    },
    /// A row that goes to no topic.
    #[error("row {row}: the topic is null; give it in the column topic or for all rows")]
    NoTopic {
        /// The row.
        row: usize,
    },
    /// A name that no topic can have.
    #[error("row {row}: invalid topic name {topic:?}: expected 1 to 249 letters, digits, dots, underscores and dashes")]
    TopicName {
        /// The row.
        row: usize,
        /// What it says.
        topic: String,
    },
    /// A partition that the topic does not have.
    #[error("row {row}: partition {partition} is out of range{}", bound(*.partitions))]
    PartitionRange {
        /// The row.
        row: usize,
        /// What it says.
        partition: i32,
        /// How many there are, if that is said.
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
    /// The same, where `before` rows came in front.
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

/// The column that a rule is about.
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

/// What a partition must be below.
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
