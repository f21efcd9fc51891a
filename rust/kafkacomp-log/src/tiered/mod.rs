//! Decodes segments as Aiven's tiered storage plugin stores them: divided into chunks of equal size, each compressed with
//! Zstandard and encrypted with AES-256-GCM; the data key is wrapped with RSA-OAEP.
//!
//! It has a feature of its own, `tiered`, so that nothing else depends on ciphers. The Python package reads the manifest of a segment, which
//! has the positions of the chunks.

pub mod chunk;
pub mod key;

pub use chunk::{ChunkDecoder, ChunkFault};
pub use key::{DataKey, KeyFault};
