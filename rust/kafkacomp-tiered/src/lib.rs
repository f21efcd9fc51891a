//! How Aiven's tiered storage plugin stores a segment: cut into chunks of equal size, each compressed with Zstandard, each
//! encrypted with AES-256-GCM, the data key wrapped with RSA-OAEP.
//!
//! A crate of its own, so that the core needs no ciphers. Which chunk is where, the segment's manifest says; it is read by
//! the Python package.

#![forbid(unsafe_code)]

pub mod chunk;
pub mod key;

pub use chunk::{ChunkDecoder, ChunkFault};
pub use key::{DataKey, KeyFault};
