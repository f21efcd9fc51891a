#![doc = include_str!("../README.md")]
//! ## Modules
//!
//! | module | what |
//! |---|---|
//! | [`compress`] | the five compression types and their framings; knows nothing of records |
//! | [`io`] | standard readers and writers over the codecs' streams |
//! | [`record`] | message formats 0, 1 and 2: batches, records, headers, control records |
//! | [`message_set`] | the sets of Kafka 0.7: entries, reader, writer |
//! | [`error_kind`] | the kind of an error, which decides its category and Kafka's error code |
//! | [`limits`] | the limits that are checked before memory is allocated |
//! | [`buffer`] | a growing output buffer with a limit |
//! | [`uuid`] | topic and directory ids |
//!
//! `forbid(unsafe_code)` covers the code of this crate. It does not cover the expansion of macros of other crates: `#[arcane]` in
//! `checksum/short.rs` and `checksum/folding.rs` expands to an `unsafe` call of a function with target features. The call is
//! sound, because its token exists only on processors with these features. Nor does it cover dependencies: the C libraries
//! liblz4, zstd and libdeflate, and the `unsafe` code of Rust crates such as zlib-rs, crc-fast and memchr.

#![forbid(unsafe_code)]
#![cfg_attr(
    not(all(feature = "gzip", feature = "snappy", feature = "lz4", feature = "zstd")),
    allow(unused, reason = "what codecs share, and what only a C library needs")
)]

pub mod buffer;
#[doc(hidden)]
pub mod bytes;
#[doc(hidden)]
pub mod checksum;
pub mod compress;
pub mod error_kind;
#[doc(hidden)]
pub mod fields;
pub mod io;
pub mod limits;
#[doc(hidden)]
pub mod memory;
pub mod message_set;
pub mod record;
pub mod uuid;
#[doc(hidden)]
pub mod varint;

pub use compress::CompressionType;
pub use error_kind::{Category, ErrorKind, MessageSetKind};
