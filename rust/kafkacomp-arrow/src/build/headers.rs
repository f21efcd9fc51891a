//! A column of record headers: a list of key and value, or a map.

use arrow_array::cast::AsArray;
use arrow_array::{Array, OffsetSizeTrait, StructArray};
use arrow_buffer::NullBuffer;
use arrow_schema::DataType;
use kafkacomp_records::memory::OutOfMemory;
use kafkacomp_records::record::{BuildFault, HeadersBuffer};

use super::bytes::Bytes;
use super::error::BuildError;

/// The fields of a header, as in Spark's Kafka source.
const KEY: &str = "key";
const VALUE: &str = "value";

/// Headers by row.
#[derive(Clone, Copy)]
pub(super) enum HeaderColumn<'a> {
    Small(Lists<'a, i32>),
    Large(Lists<'a, i64>),
}

/// The offset at which the headers of each row begin among those of all rows.
#[derive(Clone, Copy)]
pub(super) struct Lists<'a, O> {
    starts: &'a [O],
    nulls: Option<&'a NullBuffer>,
    entries: &'a StructArray,
    keys: Bytes<'a>,
    values: Bytes<'a>,
}

/// Why headers are invalid.
pub(super) enum BadHeader {
    /// A key that is null or not UTF-8.
    Key,
    /// Memory ran out.
    OutOfMemory(OutOfMemory),
}

impl BadHeader {
    /// The error of the row.
    pub(super) fn at(self, row: usize) -> BuildError {
        match self {
            Self::Key => BuildError::HeaderKey { row },
            Self::OutOfMemory(error) => BuildError::Record { row, fault: BuildFault::OutOfMemory(error) },
        }
    }
}

impl<'a> HeaderColumn<'a> {
    /// The column; `None` if it has another type.
    pub(super) fn of(array: &'a dyn Array) -> Option<Self> {
        match array.data_type() {
            DataType::List(_) => {
                let list = array.as_list::<i32>();
                Lists::new(list.value_offsets(), list.nulls(), list.values()).map(Self::Small)
            }
            DataType::LargeList(_) => {
                let list = array.as_list::<i64>();
                Lists::new(list.value_offsets(), list.nulls(), list.values()).map(Self::Large)
            }
            DataType::Map(..) => {
                let map = array.as_map();
                Lists::new(map.value_offsets(), map.nulls(), map.entries()).map(Self::Small)
            }
            _ => None,
        }
    }

    /// Puts the row's headers into `out`, which is empty.
    pub(super) fn get(&self, row: usize, out: &mut HeadersBuffer) -> Result<(), BadHeader> {
        match self {
            Self::Small(lists) => lists.get(row, out),
            Self::Large(lists) => lists.get(row, out),
        }
    }
}

impl<'a, O: OffsetSizeTrait> Lists<'a, O> {
    fn new(starts: &'a [O], nulls: Option<&'a NullBuffer>, entries: &'a dyn Array) -> Option<Self> {
        let entries = entries.as_struct_opt()?;
        // By name, in any order. The entries of a map may have other names; then the first one is the key.
        let (keys, values) = match (entries.column_by_name(KEY), entries.column_by_name(VALUE)) {
            (Some(keys), Some(values)) => (keys, values),
            (None, None) => {
                let [keys, values] = entries.columns() else { return None };
                (keys, values)
            }
            _ => return None,
        };
        let (keys, values) = (Bytes::of_strings(keys)?, Bytes::of(values)?);
        Some(Self { starts, nulls, entries, keys, values })
    }

    fn get(&self, row: usize, out: &mut HeadersBuffer) -> Result<(), BadHeader> {
        if self.nulls.is_some_and(|nulls| nulls.is_null(row)) {
            return Ok(());
        }
        let bounds = self.starts.get(row..).and_then(<[O]>::first_chunk::<2>);
        let Some([start, end]) = bounds else { return Ok(()) };
        // A list that extends past its entries, which Arrow does not allow.
        if end.as_usize() > self.entries.len() {
            return Err(BadHeader::Key);
        }
        for entry in start.as_usize()..end.as_usize() {
            // A null entry has no key either.
            let key = if self.entries.is_null(entry) { None } else { self.keys.get(entry) };
            let key = key.and_then(|key| std::str::from_utf8(key).ok()).ok_or(BadHeader::Key)?;
            out.push(key, self.values.get(entry)).map_err(BadHeader::OutOfMemory)?;
        }
        Ok(())
    }
}
