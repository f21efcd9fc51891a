//! Standard readers and writers over the [streams](crate::compress::stream) of the codecs.
//!
//! ```
//! use kafkacomp_records::compress::stream::{DecoderOptions, MultiFrameDecoder, encoder};
//! use kafkacomp_records::compress::lz4::HeaderChecksum;
//! use kafkacomp_records::compress::{Compression, CompressionType};
//! use kafkacomp_records::io::{Reader, Writer};
//! use std::io::{Read, Write};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let encoder = encoder(Compression::of(CompressionType::Zstd), HeaderChecksum::FrameDescriptor)?;
//! let mut writer = Writer::new(Vec::new(), encoder);
//! writer.write_all(b"as Kafka's stream writes it")?;
//! let compressed = writer.finish()?;
//!
//! let frames = MultiFrameDecoder::new(CompressionType::Zstd, DecoderOptions::default());
//! let mut content = String::new();
//! Reader::new(compressed.as_slice(), frames).read_to_string(&mut content)?;
//! assert_eq!(content, "as Kafka's stream writes it");
//! # Ok(())
//! # }
//! ```

mod read;
mod write;

pub use read::Reader;
pub use write::Writer;

use crate::compress::{CodecError, CodecFaultKind};
use std::io;

/// The number of bytes of output that are reserved at a time.
const ROOM: usize = 64 << 10;

/// The codec's error as an [`io::Error`]; [`io::Error::downcast`] returns it.
fn io_error(error: CodecError) -> io::Error {
    let kind = match error.fault.kind() {
        CodecFaultKind::Truncated => io::ErrorKind::UnexpectedEof,
        CodecFaultKind::OutputLimit | CodecFaultKind::Malformed => io::ErrorKind::InvalidData,
        CodecFaultKind::OutOfMemory => io::ErrorKind::OutOfMemory,
        CodecFaultKind::Encoding => io::ErrorKind::Other,
        CodecFaultKind::Unsupported => io::ErrorKind::Unsupported,
    };
    io::Error::new(kind, error)
}
