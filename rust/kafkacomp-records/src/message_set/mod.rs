//! Message sets of Kafka 0.7, whose messages have no offsets: reading ([`Entries`], [`MessageSetReader`]) and writing
//! ([`writer`]). Magic 0 and 1 mean other formats here than in [`record`](crate::record).
//!
//! ```text
//! set     = entry*                                                       no count, no end mark
//! entry   => Size:int32 Message                                          Size is the size of the message
//! Message => Magic:int8(0) CRC:uint32 Payload                            the format before compression
//! Message => Magic:int8(1) Attributes:int8 CRC:uint32 Payload
//! Attributes: | ignored (2-7) | codec (0-1): 0 none, 1 gzip, 2 snappy |
//! ```
//! The CRC (zlib's) covers the payload alone. The payload of a compressed message, a wrapper, is a compressed set; sets nest
//! to any depth. Magic 0 is never compressed. All integers are big-endian.
//!
//! An offset is a byte position. The offset that Kafka returns with a message is the position to fetch from next: the byte
//! after the message. A message from a wrapper has the position of the outermost wrapper, and only the last one has the
//! position after it, so a consumer that stops inside a wrapper fetches the whole wrapper again.
//!
//! Kafka's iterator parses the next message of a wrapper before it returns one, so an error also hides the intact message
//! before it, one for each level. Here the intact messages come first, then the error: this is the only difference.
//! Source: release 0.7.2, `kafka.message` (`ByteBufferMessageSet`, `Message`, `CompressionUtils`).

mod codec;
#[doc(hidden)]
pub mod entries;
mod error;
#[doc(hidden)]
pub mod message;
#[doc(hidden)]
pub mod reader;
mod run;
pub mod writer;

pub use codec::MessageSetCodec;
pub use entries::{Entries, Entry};
pub use error::{Error, MessageSetFault, Result};
pub use message::Message;
pub use reader::{MessageSetReader, Unwrapped};
pub use run::{MessageRange, MessageRun};
