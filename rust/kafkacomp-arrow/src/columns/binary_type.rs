//! The Arrow type of keys, values and header values.

use arrow_schema::DataType;

/// The Arrow type of keys, values and header values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BinaryType {
    /// Offsets of 32 bits. Values are copied into a buffer of the column.
    #[default]
    Binary,
    /// Offsets of 64 bits. Values are copied into a buffer of the column.
    LargeBinary,
    /// Views of the decompressed Kafka batches and, for uncompressed batches, of the chunks that were read. Values are not
    /// copied; those of at most 12 bytes are part of their view.
    BinaryView,
}

impl BinaryType {
    /// All types.
    pub const ALL: [Self; 3] = [Self::Binary, Self::LargeBinary, Self::BinaryView];

    /// The name in options.
    pub fn name(self) -> &'static str {
        match self {
            Self::Binary => "binary",
            Self::LargeBinary => "large_binary",
            Self::BinaryView => "binary_view",
        }
    }

    /// The type with this name.
    pub fn for_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|each| each.name() == name)
    }

    /// The Arrow type.
    pub fn data_type(self) -> DataType {
        match self {
            Self::Binary => DataType::Binary,
            Self::LargeBinary => DataType::LargeBinary,
            Self::BinaryView => DataType::BinaryView,
        }
    }

    /// The bytes that a row takes in addition to its value.
    pub(crate) fn row_bytes(self) -> usize {
        match self {
            Self::Binary => 4,
            Self::LargeBinary => 8,
            Self::BinaryView => 16,
        }
    }
}
