//! Functions on columns whose cells are Kafka data. Each takes an array and returns one with as many rows.
//!
//! | function | cell | result |
//! |---|---|---|
//! | [`decompress`] | the compressed part of a batch or message | its content, binary |
//! | [`compress`] | any bytes, or the UTF-8 of a string | compressed as by Kafka's stream, binary |
//! | [`parse_records`] | a record set: batches of magic 0, 1 and 2 | a list of structs, one for each record |
//!
//! Binary arguments can have any Arrow layout, including dictionaries. The result has one buffer for all cells, with 64-bit
//! offsets (`large_binary`) if the argument has them, otherwise with 32-bit offsets, which limit it to 2^31 - 1 bytes. The
//! compression type and the magic are one value for all cells, or a column. A null in any argument makes the result null.

mod codec;
mod concatenate;
mod fault;
mod parameter;
mod records;

pub use codec::{CompressOptions, DecompressOptions, compress, decompress};
pub use concatenate::concatenate;
pub use fault::{CellError, CellFault, OnBadCell};
pub use parameter::Parameter;
pub use records::{ParseOptions, parse_records};
