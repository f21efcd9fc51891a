//! Message sets of Kafka 0.7, before messages had offsets: reading them ([`Entries`], [`MessageSetReader`]) and writing
//! them ([`writer`]). Their magics 0 and 1 mean other things than those of [`record`](crate::record).

mod codec;
pub mod entries;
mod error;
pub mod writer;

pub use codec::MessageSetCodec;
pub use entries::{Entries, Entry, MessageSetReader, Unwrapped};
pub use error::{Error, MessageSetFault, Result};
