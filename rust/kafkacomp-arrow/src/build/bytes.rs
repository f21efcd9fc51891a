//! Byte strings of any Arrow layout, by row.

use arrow_array::cast::AsArray;
use arrow_array::types::{GenericBinaryType, GenericStringType};
use arrow_array::{Array, BinaryViewArray, FixedSizeBinaryArray, GenericByteArray, OffsetSizeTrait, StringViewArray};
use arrow_buffer::NullBuffer;
use arrow_schema::DataType;

/// A column of byte strings. A string column is one too: its bytes are its UTF-8.
#[derive(Clone, Copy)]
pub(super) enum Bytes<'a> {
    /// A column that is not there, or of type null: every row is null.
    Null,
    Small(Offsets<'a, i32>),
    Large(Offsets<'a, i64>),
    View(&'a BinaryViewArray),
    StringView(&'a StringViewArray),
    Fixed(&'a FixedSizeBinaryArray),
}

/// The bytes of all rows end to end, and where each begins.
#[derive(Clone, Copy)]
pub(super) struct Offsets<'a, O> {
    starts: &'a [O],
    values: &'a [u8],
    nulls: Option<&'a NullBuffer>,
}

impl<'a, O: OffsetSizeTrait> Offsets<'a, O> {
    fn binary(array: &'a GenericByteArray<GenericBinaryType<O>>) -> Self {
        Self { starts: array.value_offsets(), values: array.value_data(), nulls: array.nulls() }
    }

    fn string(array: &'a GenericByteArray<GenericStringType<O>>) -> Self {
        Self { starts: array.value_offsets(), values: array.value_data(), nulls: array.nulls() }
    }

    #[inline]
    fn get(&self, row: usize) -> Option<&'a [u8]> {
        if self.nulls.is_some_and(|nulls| nulls.is_null(row)) {
            return None;
        }
        let [start, end] = self.starts.get(row..)?.first_chunk().copied()?;
        self.values.get(start.as_usize()..end.as_usize())
    }
}

impl<'a> Bytes<'a> {
    /// The column, `None` where it holds anything else. The elements' own type was looked at, nothing else.
    pub(super) fn of(array: &'a dyn Array) -> Option<Self> {
        Some(match array.data_type() {
            DataType::Binary => Self::Small(Offsets::binary(array.as_binary())),
            DataType::LargeBinary => Self::Large(Offsets::binary(array.as_binary())),
            DataType::BinaryView => Self::View(array.as_binary_view()),
            DataType::FixedSizeBinary(_) => Self::Fixed(array.as_fixed_size_binary()),
            DataType::Null => Self::Null,
            _ => return Self::of_strings(array),
        })
    }

    /// The same for a column that must hold strings.
    pub(super) fn of_strings(array: &'a dyn Array) -> Option<Self> {
        match array.data_type() {
            DataType::Utf8 => Some(Self::Small(Offsets::string(array.as_string()))),
            DataType::LargeUtf8 => Some(Self::Large(Offsets::string(array.as_string()))),
            DataType::Utf8View => Some(Self::StringView(array.as_string_view())),
            _ => None,
        }
    }

    #[inline]
    pub(super) fn get(&self, row: usize) -> Option<&'a [u8]> {
        match self {
            Self::Null => None,
            Self::Small(column) => column.get(row),
            Self::Large(column) => column.get(row),
            Self::View(column) => column.is_valid(row).then(|| column.value(row)),
            Self::StringView(column) => column.is_valid(row).then(|| column.value(row).as_bytes()),
            Self::Fixed(column) => column.is_valid(row).then(|| column.value(row)),
        }
    }
}
