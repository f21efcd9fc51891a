//! Rows as JSON lines, by the writer of the crate `arrow-json`.

use arrow_array::RecordBatch as ArrowRecordBatch;
use arrow_json::writer::{LineDelimited, WriterBuilder};
use arrow_schema::ArrowError;

/// The rows of a stream as JSON objects, one for each line. Every object has all columns; a null is written as `null`.
///
/// # Errors
/// An error of the stream, or a column whose type JSON cannot represent.
pub fn json_lines(rows: impl IntoIterator<Item = Result<ArrowRecordBatch, ArrowError>>) -> Result<Vec<u8>, ArrowError> {
    let mut writer = WriterBuilder::new().with_explicit_nulls(true).build::<_, LineDelimited>(Vec::new());
    for rows in rows {
        writer.write(&rows?)?;
    }
    writer.finish()?;
    Ok(writer.into_inner())
}
