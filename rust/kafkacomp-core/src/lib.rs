//! Kafka's compression and record layer: every codec and every message format that Kafka has written,
//! read as Kafka's own classes read them, without a JVM, a broker, Python or Arrow.
//!
//! | module | what |
//! |---|---|
//! | [`compress`] | the five compression types and their framings; knows nothing of records |
//! | [`io`] | standard readers and writers over the codecs' streams |
//! | [`record`] | message formats 0, 1 and 2: batches, records, headers, control records |
//! | [`message_set`] | the sets of Kafka 0.7: entries, reader, writer |
//! | [`broker`] | what brokers do with a record set that is appended: validation today, and era by era |
//! | [`log`] | segments and the files beside them: indexes, snapshots, checkpoints, scans |
//! | [`error_kind`] | what every layer says of its errors: kind, category, Kafka's code |
//! | [`limits`] | the caps that apply before memory is allocated |
//! | [`memory`] | allocations that can fail |
//! | [`uuid`] | topic and directory ids |
//! | [`varint`] | the variable-length numbers of records and of KIP-482 |
//!
//! `forbid(unsafe_code)` covers what is written in this crate. It does not see what a macro of another crate expands to:
//! `#[arcane]` in `checksum/short.rs` makes an `unsafe` call to a function with target features, which is sound because
//! its token exists only where the processor has them. Nor does it cover dependencies: the C libraries liblz4, zstd and
//! libdeflate, and the `unsafe` code of Rust crates such as zlib-rs, crc-fast and memchr.

#![forbid(unsafe_code)]

pub mod broker;
pub mod buffer;
mod bytes;
pub mod checksum;
pub mod compress;
pub mod error_kind;
mod fields;
pub mod io;
pub mod limits;
pub mod log;
pub mod memory;
pub mod message_set;
pub mod record;
pub mod uuid;
pub mod varint;

pub use compress::CompressionType;
pub use error_kind::{Category, ErrorKind, MessageSetKind};
