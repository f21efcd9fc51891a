//! One array of the chunks of a column.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, new_empty_array};
use arrow_schema::{ArrowError, DataType};
use arrow_select::concat::concat;

/// One array of `chunks`, which all have this type.
///
/// # Errors
/// The offsets of the array would overflow, or the chunks have different types.
pub fn concatenate(chunks: &[ArrayRef], data_type: &DataType) -> Result<ArrayRef, ArrowError> {
    match chunks {
        [] => Ok(new_empty_array(data_type)),
        [one] => Ok(Arc::clone(one)),
        several => {
            let several: Vec<&dyn Array> = several.iter().map(AsRef::as_ref).collect();
            concat(&several)
        }
    }
}
