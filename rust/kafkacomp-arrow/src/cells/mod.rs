//! Columns whose every cell is something of Kafka's: one array in, one array of as many rows out.
//!
//! | function | a cell is | it becomes |
//! |---|---|---|
//! | [`decompress`] | the compressed part of a batch or message | its content, binary |
//! | [`compress`] | any bytes, or a string's UTF-8 | them as Kafka's stream frames them, binary |
//! | [`parse_records`] | a record set: batches of magic 0, 1, 2 one after another | a list of structs, one a record |
//!
//! Bytes come in any of Arrow's layouts, dictionaries too, and go out in one buffer that all cells share: with 64-bit
//! offsets (`large_binary`) where they came with such, else with 32-bit ones, which end at 2^31 - 1 bytes for all
//! cells together. The compression type and the magic are one value for all cells or a column beside them. A null
//! makes a null, whichever of the arguments it stands in.

mod codec;
mod fault;
mod parameter;
mod records;

pub use codec::{CompressOptions, DecompressOptions, compress, decompress};
pub use fault::{CellError, CellFault, OnBadCell};
pub use parameter::Parameter;
pub use records::{ParseOptions, parse_records};
