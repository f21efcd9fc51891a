//! Access to byte strings of any Arrow layout by row.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ByteViewType, GenericBinaryType, GenericStringType, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, FixedSizeBinaryArray, GenericByteArray, GenericByteViewArray, OffsetSizeTrait};
use arrow_buffer::{Buffer, NullBuffer};
use arrow_schema::DataType;

use crate::columns::view_buffers::MOST_INLINE;

/// A column of byte strings; the bytes of a string column are its UTF-8. A dictionary is looked up row by row and never
/// unpacked, because a large value may occur many times.
#[derive(Clone, Copy)]
pub(crate) struct Bytes<'a> {
    values: Values<'a>,
    indices: Option<Indices<'a>>,
}

/// The values of the rows, or of a dictionary.
#[derive(Clone, Copy)]
enum Values<'a> {
    /// A column that does not exist, or has the type null: every row is null.
    Null,
    Small(Offsets<'a, i32>),
    Large(Offsets<'a, i64>),
    View(Views<'a>),
    Fixed(&'a FixedSizeBinaryArray),
}

/// The indexes of the rows' values in a dictionary, or other numbers with nulls.
#[derive(Clone, Copy)]
pub(crate) struct Indices<'a> {
    indices: Integers<'a>,
    nulls: Option<&'a NullBuffer>,
}

/// Integers of any width.
#[derive(Clone, Copy)]
enum Integers<'a> {
    Int8(&'a [i8]),
    Int16(&'a [i16]),
    Int32(&'a [i32]),
    Int64(&'a [i64]),
    UInt8(&'a [u8]),
    UInt16(&'a [u16]),
    UInt32(&'a [u32]),
    UInt64(&'a [u64]),
}

impl<'a> Indices<'a> {
    /// The numbers of an array of integers, `None` of any other type.
    pub(crate) fn of(array: &'a dyn Array) -> Option<Self> {
        let indices = match array.data_type() {
            DataType::Int8 => Integers::Int8(array.as_primitive::<Int8Type>().values()),
            DataType::Int16 => Integers::Int16(array.as_primitive::<Int16Type>().values()),
            DataType::Int32 => Integers::Int32(array.as_primitive::<Int32Type>().values()),
            DataType::Int64 => Integers::Int64(array.as_primitive::<Int64Type>().values()),
            DataType::UInt8 => Integers::UInt8(array.as_primitive::<UInt8Type>().values()),
            DataType::UInt16 => Integers::UInt16(array.as_primitive::<UInt16Type>().values()),
            DataType::UInt32 => Integers::UInt32(array.as_primitive::<UInt32Type>().values()),
            DataType::UInt64 => Integers::UInt64(array.as_primitive::<UInt64Type>().values()),
            _ => return None,
        };
        Some(Self { indices, nulls: array.nulls() })
    }

    /// The number of the row; numbers of 2^63 and more become 2^63 - 1.
    pub(crate) fn number(&self, row: usize) -> Option<i64> {
        if is_null(self.nulls, row) {
            return None;
        }
        match self.indices {
            Integers::Int8(indices) => indices.get(row).map(|&index| i64::from(index)),
            Integers::Int16(indices) => indices.get(row).map(|&index| i64::from(index)),
            Integers::Int32(indices) => indices.get(row).map(|&index| i64::from(index)),
            Integers::Int64(indices) => indices.get(row).copied(),
            Integers::UInt8(indices) => indices.get(row).map(|&index| i64::from(index)),
            Integers::UInt16(indices) => indices.get(row).map(|&index| i64::from(index)),
            Integers::UInt32(indices) => indices.get(row).map(|&index| i64::from(index)),
            Integers::UInt64(indices) => indices.get(row).map(|&index| i64::try_from(index).unwrap_or(i64::MAX)),
        }
    }

    /// The index of the row's value in the dictionary. A negative one becomes one that is out of range.
    fn get(&self, row: usize) -> Option<usize> {
        self.number(row).map(|index| index as usize)
    }
}

/// The bytes of all rows, and the offset at which each begins.
#[derive(Clone, Copy)]
pub(crate) struct Offsets<'a, O> {
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
        let [start, end] = self.starts.get(row..)?.first_chunk().copied()?;
        if is_null(self.nulls, row) {
            return None;
        }
        self.values.get(start.as_usize()..end.as_usize())
    }
}

/// Views of bytes, which are inline or in one of several buffers. Arrow's accessors rely on views that were validated once.
/// Here each view is checked when it is read, because a producer may pass invalid ones, or write to them later.
#[derive(Clone, Copy)]
struct Views<'a> {
    words: &'a [u128],
    /// The views as bytes.
    inline: &'a [u8],
    buffers: &'a [Buffer],
    nulls: Option<&'a NullBuffer>,
}

impl<'a> Views<'a> {
    fn of<T: ByteViewType>(array: &'a GenericByteViewArray<T>) -> Self {
        let words = array.views();
        Self { words, inline: words.inner().as_slice(), buffers: array.data_buffers(), nulls: array.nulls() }
    }

    #[inline]
    fn get(&self, row: usize) -> Option<&'a [u8]> {
        let view = *self.words.get(row)?;
        if is_null(self.nulls, row) {
            return None;
        }
        let length = view as u32 as usize;
        if length <= MOST_INLINE {
            let start = row.checked_mul(size_of::<u128>())?.checked_add(size_of::<u32>())?;
            return self.inline.get(start..)?.get(..length);
        }
        let (buffer, start) = ((view >> 64) as u32 as usize, (view >> 96) as u32 as usize);
        self.buffers.get(buffer)?.as_slice().get(start..)?.get(..length)
    }
}

impl<'a> Bytes<'a> {
    /// A column that does not exist.
    pub(crate) const NULL: Self = Self { values: Values::Null, indices: None };

    /// The column; `None` if it has another type. Only the type is checked.
    pub(crate) fn of(array: &'a dyn Array) -> Option<Self> {
        Self::by(array, Values::of)
    }

    /// The same for a column that must contain strings.
    pub(crate) fn of_strings(array: &'a dyn Array) -> Option<Self> {
        Self::by(array, Values::of_strings)
    }

    fn by(array: &'a dyn Array, values: impl Fn(&'a dyn Array) -> Option<Values<'a>>) -> Option<Self> {
        match array.as_any_dictionary_opt() {
            None => Some(Self { values: values(array)?, indices: None }),
            Some(dictionary) => {
                let indices = Indices::of(dictionary.keys())?;
                Some(Self { values: values(dictionary.values().as_ref())?, indices: Some(indices) })
            }
        }
    }

    /// The bytes of the row. A row whose index is not in the dictionary, which Arrow does not allow, is null.
    #[inline]
    pub(crate) fn get(&self, row: usize) -> Option<&'a [u8]> {
        match &self.indices {
            None => self.values.get(row),
            Some(indices) => self.values.get(indices.get(row)?),
        }
    }
}

impl<'a> Values<'a> {
    fn of(array: &'a dyn Array) -> Option<Self> {
        Some(match array.data_type() {
            DataType::Binary => Self::Small(Offsets::binary(array.as_binary())),
            DataType::LargeBinary => Self::Large(Offsets::binary(array.as_binary())),
            DataType::BinaryView => Self::View(Views::of(array.as_binary_view())),
            DataType::FixedSizeBinary(_) => Self::Fixed(array.as_fixed_size_binary()),
            DataType::Null => Self::Null,
            _ => return Self::of_strings(array),
        })
    }

    fn of_strings(array: &'a dyn Array) -> Option<Self> {
        match array.data_type() {
            DataType::Utf8 => Some(Self::Small(Offsets::string(array.as_string()))),
            DataType::LargeUtf8 => Some(Self::Large(Offsets::string(array.as_string()))),
            DataType::Utf8View => Some(Self::View(Views::of(array.as_string_view()))),
            _ => None,
        }
    }

    #[inline]
    fn get(&self, row: usize) -> Option<&'a [u8]> {
        match self {
            Self::Null => None,
            Self::Small(column) => column.get(row),
            Self::Large(column) => column.get(row),
            Self::View(column) => column.get(row),
            Self::Fixed(column) => holds(*column, row).then(|| column.value(row)),
        }
    }
}

/// Whether the row is null. A row after the end of the bitmap is not null.
#[inline]
fn is_null(nulls: Option<&NullBuffer>, row: usize) -> bool {
    nulls.is_some_and(|nulls| row < nulls.len() && nulls.is_null(row))
}

/// Whether the column has a value at this index.
#[inline]
fn holds(column: &impl Array, row: usize) -> bool {
    row < column.len() && column.is_valid(row)
}
