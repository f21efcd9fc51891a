//! What can be wrong with a column of cells, and with one of them.

use arrow_schema::{ArrowError, DataType};
use kafkacomp_records::compress::{CodecError, LevelOutOfRange};
use kafkacomp_records::memory::OutOfMemory;
use kafkacomp_records::{Category, record};

use crate::columns::builder::ColumnError;

/// What happens at a bad cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnBadCell {
    /// The call returns an error.
    #[default]
    Raise,
    /// The cell becomes null.
    Null,
}

/// Why there is no result. Rows are counted from 0.
#[derive(Debug, thiserror::Error)]
pub enum CellError {
    /// An array of a type that the argument does not support.
    #[error("{argument} cannot be an array of type {data_type}: {wanted}")]
    ArrayType {
        /// The argument.
        argument: &'static str,
        /// The type found.
        data_type: DataType,
        /// The supported types.
        wanted: &'static str,
    },
    /// An array with another length than the cells.
    #[error("{argument} has {length} rows, the data have {rows}")]
    Length {
        /// The argument.
        argument: &'static str,
        /// The number of its rows.
        length: usize,
        /// The number of cells.
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
    /// The result does not fit into one array.
    #[error("the cells up to row {row} give more than {limit} bytes, which is more than one array holds: {advice}")]
    TooLarge {
        /// The first row that does not fit.
        row: usize,
        /// The most bytes.
        limit: usize,
        /// How to avoid the error.
        advice: &'static str,
    },
    /// Memory ran out for the result.
    #[error(transparent)]
    OutOfMemory(#[from] OutOfMemory),
    /// An error of Arrow for arrays that were built here.
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
    /// Whether the cell is bad; otherwise memory ran out.
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
    /// Invalid compressed data, or data that cannot be compressed.
    #[error(transparent)]
    Codec(#[from] CodecError),
    /// Invalid records.
    #[error(transparent)]
    Records(#[from] record::Error),
    /// An unknown name of a compression type.
    #[error("invalid compression type '{}': expected one of none, gzip, snappy, lz4, zstd", .name.escape_debug())]
    UnknownName {
        /// The name found; only the start of a long one.
        name: String,
    },
    /// An unknown id of a compression type.
    #[error("invalid compression type id {id}: expected one of 0 (none), 1 (gzip), 2 (snappy), 3 (lz4), 4 (zstd)")]
    UnknownId {
        /// The id found.
        id: i64,
    },
    /// An unknown magic.
    #[error("magic must be 0, 1 or 2, not {magic}")]
    Magic {
        /// The magic found.
        magic: i64,
    },
    /// A level that the compression type does not have.
    #[error(transparent)]
    Level(#[from] LevelOutOfRange),
}
