//! What brokers of each era answer to a record set that is produced to them, and what they store.
//!
//! | broker | what it does | where |
//! |---|---|---|
//! | 0.8.2, 0.9 | numbers plain messages, compresses all others anew; magic never looked at | `before_0_10` |
//! | 0.10.0, 0.10.2 | formats 0 and 1, in place or anew | `v0_10` |
//! | 0.11, 1.1, 2.8 | [`LogValidator`](super::validator::LogValidator) by the rules of its [`Era`](super::validator::Era) | `modern` |
//! | 3.9, 4.3 | [`LogValidator`](super::validator::LogValidator) | `modern` |
//!
//! Error codes changed as much as rules did: KIP-57 promised 2 for every LZ4 error, and only 0.10.0 kept it; 87 is
//! from 2.4 on. What hangs on more than the bytes and the topic's settings is not answered here: transactional
//! ids, sequences against a producer's state, a null record set.
//!
//! Seen with 0.8.2.2, 0.9.0.1, 0.10.0.1, 0.10.2.2, 0.11.0.3, 1.1.1, 2.8.2 and 3.9.1; 4.3 with `LogValidator` 4.3.1.

mod before_0_10;
mod codec;
mod error_code;
mod message;
mod modern;
mod request;
mod v0_10;
mod versions;

use super::Error;

pub use request::Append;
pub use versions::Broker;

/// Why a broker refuses a record set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The code that it answers; `None` where it closes the connection instead.
    pub error_code: Option<i16>,
    /// What it found.
    pub error: Error,
}

/// What `broker` stores of `records`; nothing at all is an answer too.
///
/// # Errors
/// What the broker answers instead.
pub fn append(broker: Broker, topic: &Append, records: &[u8]) -> std::result::Result<Vec<u8>, Refusal> {
    let stored = match broker {
        Broker::V0_8_2 | Broker::V0_9_0 => before_0_10::append(broker, topic, records),
        Broker::V0_10_0 | Broker::V0_10_2 => v0_10::append(broker, topic, records),
        _ => modern::append(broker, topic, records),
    };
    stored.map_err(|error| Refusal { error_code: error_code::error_code(broker, topic, &error), error })
}
