//! The error codes with which brokers of each era answer a produced record set, and the bytes that they store.
//!
//! | broker | what it does | where |
//! |---|---|---|
//! | 0.8.2, 0.9 | assigns offsets to plain messages, recompresses all others; never checks the magic | `before_0_10` |
//! | 0.10.0, 0.10.2 | formats 0 and 1, in place or rebuilt | `v0_10` |
//! | 0.11, 1.1, 2.8 | [`LogValidator`](super::validator::LogValidator) by the rules of its [`Era`](super::validator::Era) | `modern` |
//! | 3.9, 4.3, 4.4 | [`LogValidator`](super::validator::LogValidator) | `modern` |
//!
//! The error codes changed as often as the rules: KIP-57 promised 2 for every LZ4 error, but only 0.10.0 returns it; 87 exists
//! since 2.4. Checks that depend on more than the bytes and the topic's settings are not included: transactional
//! ids, sequences against a producer's state, a null record set.
//!
//! Observed with 0.8.2.2, 0.9.0.1, 0.10.0.1, 0.10.2.2, 0.11.0.3, 1.1.1, 2.8.2 and 3.9.1; 4.3 with `LogValidator` 4.3.1, and
//! `max.decompressed.message.bytes` of 4.4 with `LogValidator` 4.4.0.

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
    /// The error code; `None` if the broker closes the connection instead.
    pub error_code: Option<i16>,
    /// The error.
    pub error: Error,
}

/// The bytes that `broker` stores for `records`, possibly none.
///
/// # Errors
/// The broker's refusal.
pub fn append(broker: Broker, topic: &Append, records: &[u8]) -> std::result::Result<Vec<u8>, Refusal> {
    let stored = match broker {
        Broker::V0_8_2 | Broker::V0_9_0 => before_0_10::append(broker, topic, records),
        Broker::V0_10_0 | Broker::V0_10_2 => v0_10::append(broker, topic, records),
        _ => modern::append(broker, topic, records),
    };
    stored.map_err(|error| Refusal { error_code: error_code::error_code(broker, topic, &error), error })
}
