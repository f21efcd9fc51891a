//! Arguments that are one value for all cells, or a column with one value for each cell.

use arrow_array::Array;
use arrow_array::cast::AsArray;
use kafkacomp_records::CompressionType;
use kafkacomp_records::compress::Compression;

use super::fault::{CellError, CellFault};
use crate::build::bytes::{Bytes, Indices};

/// The most characters of an unknown name that an error repeats.
const MOST_NAME: usize = 40;

/// One value for all cells, or an array with one for each.
#[derive(Debug, Clone, Copy)]
pub enum Parameter<'a, T> {
    /// One value for all cells.
    Constant(T),
    /// One value for each cell.
    Column(&'a dyn Array),
}

impl<'a, T> Parameter<'a, T> {
    /// The array, if the argument is one; an error if its length is wrong.
    fn column(&self, argument: &'static str, rows: usize) -> Result<Option<&'a dyn Array>, CellError> {
        match self {
            Self::Column(array) if array.len() != rows => {
                Err(CellError::Length { argument, length: array.len(), rows })
            }
            Self::Column(array) => Ok(Some(*array)),
            Self::Constant(_) => Ok(None),
        }
    }
}

/// The cells' compression types.
#[derive(Clone, Copy)]
pub(super) enum Types<'a> {
    Constant(CompressionType),
    Names(Bytes<'a>),
    Ids(Indices<'a>),
}

impl<'a> Types<'a> {
    /// Names are strings (or their bytes), ids are integers of any width.
    pub(super) fn of(parameter: Parameter<'a, CompressionType>, rows: usize) -> Result<Self, CellError> {
        let argument = "compression_type";
        let Some(array) = parameter.column(argument, rows)? else {
            return Ok(match parameter {
                Parameter::Constant(constant) => Self::Constant(constant),
                Parameter::Column(_) => Self::Names(Bytes::NULL),
            });
        };
        let wanted = "names are strings, ids integers";
        let wrong = || CellError::ArrayType { argument, data_type: array.data_type().clone(), wanted };
        match Indices::of(array) {
            Some(ids) => Ok(Self::Ids(ids)),
            None => Bytes::of(array).map(Self::Names).ok_or_else(wrong),
        }
    }

    #[inline]
    pub(super) fn get(&self, row: usize) -> Result<Option<CompressionType>, CellFault> {
        match self {
            Self::Constant(constant) => Ok(Some(*constant)),
            Self::Names(names) => names.get(row).map(for_name).transpose(),
            Self::Ids(ids) => ids.number(row).map(for_id).transpose(),
        }
    }
}

fn for_name(name: &[u8]) -> Result<CompressionType, CellFault> {
    let known = CompressionType::ALL.into_iter().find(|each| each.name().as_bytes() == name);
    known
        .ok_or_else(|| CellFault::UnknownName { name: String::from_utf8_lossy(name).chars().take(MOST_NAME).collect() })
}

fn for_id(id: i64) -> Result<CompressionType, CellFault> {
    let known = u8::try_from(id).ok().and_then(CompressionType::for_id);
    known.ok_or(CellFault::UnknownId { id })
}

/// Numbers that the cells have or share.
#[derive(Clone, Copy)]
pub(super) enum Numbers<'a> {
    Constant(Option<i64>),
    Column(Indices<'a>),
}

impl<'a> Numbers<'a> {
    pub(super) fn of<T: Into<i64> + Copy>(
        argument: &'static str,
        parameter: Parameter<'a, Option<T>>,
        rows: usize,
    ) -> Result<Self, CellError> {
        let Some(array) = parameter.column(argument, rows)? else {
            return Ok(match parameter {
                Parameter::Constant(constant) => Self::Constant(constant.map(Into::into)),
                Parameter::Column(_) => Self::Constant(None),
            });
        };
        if array.as_any().is::<arrow_array::NullArray>() {
            return Ok(Self::Constant(None));
        }
        // Some writers encode a column with few different integers as a dictionary.
        let wrong =
            || CellError::ArrayType { argument, data_type: array.data_type().clone(), wanted: "it must hold integers" };
        if array.as_any_dictionary_opt().is_some() {
            return Err(wrong());
        }
        Indices::of(array).map(Self::Column).ok_or_else(wrong)
    }

    #[inline]
    fn get(&self, row: usize) -> Option<i64> {
        match self {
            Self::Constant(constant) => *constant,
            Self::Column(column) => column.number(row),
        }
    }

    /// The number of the row as a magic.
    #[inline]
    pub(super) fn magic(&self, row: usize) -> Result<Option<i8>, CellFault> {
        match self.get(row) {
            None => Ok(None),
            Some(magic @ 0..=2) => Ok(Some(magic as i8)),
            Some(magic) => Err(CellFault::Magic { magic }),
        }
    }

    /// The number of the row as a level of this type; null is Kafka's default.
    pub(super) fn level(&self, compression_type: CompressionType, row: usize) -> Result<Compression, CellFault> {
        let level = self.get(row).map(|level| level.clamp(i32::MIN.into(), i32::MAX.into()) as i32);
        Ok(Compression::new(compression_type, level)?)
    }
}
