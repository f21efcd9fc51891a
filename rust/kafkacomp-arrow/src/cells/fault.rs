//! What can be wrong with a column of cells, and with one of them.

use arrow_schema::{ArrowError, DataType};
use kafkacomp_core::compress::{CodecError, LevelOutOfRange};
use kafkacomp_core::memory::OutOfMemory;
use kafkacomp_core::{Category, record};

use crate::columns::ColumnError;

/// What a bad cell does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnBadCell {
    /// It ends the whole call with an error.
    #[default]
    Raise,
    /// It becomes a null.
    Null,
}

/// Why there is no result. Rows count from 0 in the arrays that were given.
#[derive(Debug, thiserror::Error)]
pub enum CellError {
    /// An array of a type that the argument cannot have.
    #[error("{argument} cannot be an array of type {data_type}: {wanted}")]
    ArrayType {
        /// Which one.
        argument: &'static str,
        /// The type found.
        data_type: DataType,
        /// What it can be.
        wanted: &'static str,
    },
    /// An array that is not as long as the cells'.
    #[error("{argument} has {length} rows, the data have {rows}")]
    Length {
        /// Which one.
        argument: &'static str,
        /// Its rows.
        length: usize,
        /// The cells' rows.
        rows: usize,
    },
    /// A bad cell.
    #[error("row {row}: {fault}")]
    Cell {
        /// Its row.
        row: usize,
        /// What is wrong with it.
        fault: CellFault,
    },
    /// The cells together give more than one array holds.
    #[error("the cells up to row {row} give more than {limit} bytes, which is more than one array holds: {advice}")]
    TooLarge {
        /// The row that has no room.
        row: usize,
        /// The most bytes.
        limit: usize,
        /// What helps.
        advice: &'static str,
    },
    /// Memory ran out for the result.
    #[error(transparent)]
    OutOfMemory(#[from] OutOfMemory),
    /// What Arrow says of arrays that were built here.
    #[error(transparent)]
    Arrow(#[from] ArrowError),
}

impl From<ColumnError> for CellError {
    fn from(error: ColumnError) -> Self {
        match error {
            ColumnError::OutOfMemory(error) => Self::OutOfMemory(error),
            ColumnError::Arrow(error) => Self::Arrow(error),
        }
    }
}

impl CellFault {
    /// Whether something is wrong with the cell, and not that memory ran out.
    pub(crate) fn is_the_cells(&self) -> bool {
        let category = match self {
            Self::Codec(error) => error.kind().category(),
            Self::Records(error) => error.category(),
            Self::UnknownName { .. } | Self::UnknownId { .. } | Self::Magic { .. } | Self::Level(_) => {
                Category::Argument
            }
        };
        category != Category::Resource
    }
}

/// What is wrong with a cell.
#[derive(Debug, thiserror::Error)]
pub enum CellFault {
    /// Its compressed data, or data that do not compress.
    #[error(transparent)]
    Codec(#[from] CodecError),
    /// Its records.
    #[error(transparent)]
    Records(#[from] record::Error),
    /// A compression type's name that Kafka does not have.
    #[error("invalid compression type '{}': expected one of none, gzip, snappy, lz4, zstd", .name.escape_debug())]
    UnknownName {
        /// The name found, or the beginning of a long one.
        name: String,
    },
    /// A compression type's id that Kafka does not have.
    #[error("invalid compression type id {id}: expected one of 0 (none), 1 (gzip), 2 (snappy), 3 (lz4), 4 (zstd)")]
    UnknownId {
        /// The id found.
        id: i64,
    },
    /// A magic that there is not.
    #[error("magic must be 0, 1 or 2, not {magic}")]
    Magic {
        /// The magic found.
        magic: i64,
    },
    /// A level that the compression type does not have.
    #[error(transparent)]
    Level(#[from] LevelOutOfRange),
}
